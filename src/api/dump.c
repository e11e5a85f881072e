//===- dump.c - phases as files that can be read back ---------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text refers to large constants by name. `ferrule.blobs` says where their
// bytes are: [name, file, offset, size]; the file is the model's own, or
// `<dump>.bin` for what the compiler computed (packed, folded weights).
//
//===----------------------------------------------------------------------===//
#include "api/session.h"

#include <stdio.h>
#include <string.h>

static MlirAttribute blob_entry(fe_ir *ir, const fe_blob *b, const char *file,
                                uint64_t offset) {
  MlirAttribute entry[4] = {
      mlirStringAttrGet(ir->ctx, fe_str(b->name)),
      mlirStringAttrGet(ir->ctx, fe_str(file)),
      mlirIntegerAttrGet(ir->i64, (int64_t)offset),
      mlirIntegerAttrGet(ir->i64, (int64_t)b->size),
  };
  return mlirArrayAttrGet(ir->ctx, 4, entry);
}

/// Data in a file that the dump replaces has to be written again.
static bool is_elsewhere(const fe_blob *b, const char *bin) {
  return b->file && !fe_same_file(b->file, bin);
}

/// The text and its data, which belong together.
static fe_status write_pair(fe_diags *d, const char *path, const char *text,
                            const char *bin, const fe_buf *data) {
  fe_output main = {0}, side = {0};
  int error = fe_output_open(&main, path);
  if (error)
    return fe_file_error(d, path, "create the file", error);
  if (data->n && (error = fe_output_open(&side, bin))) {
    error = fe_output_close(&main, error);
    return fe_file_error(d, bin, "create the file", error);
  }
  error = fe_output_write(&main, text, strlen(text));
  if (data->n) {
    if (!error)
      error = fe_output_write(&side, data->at, data->n);
    error = fe_output_close(&side, error);
  }
  error = fe_output_close(&main, error);
  return error ? fe_file_error(d, path, "write the file", error) : FE_OK;
}

fe_status fe_dump_write(fe_session *s, const char *path) {
  fe_ir *ir = &s->ir;
  MlirOperation op = mlirModuleGetOperation(s->module);
  bool to_screen = !strcmp(path, "-");
  fe_buf data = {0};
  const char *bin = fe_printf(s->arena, "%s.bin", path);
  MlirAttribute *entries =
      FE_NEW_N(s->arena, MlirAttribute, s->blobs.by_name.n + 1);
  size_t n = s->blobs.by_name.n;
  for (size_t i = 0; i < n && !to_screen; i++) {
    fe_blob *b = s->blobs.by_name.entries[i].value;
    if (is_elsewhere(b, bin)) {
      if (fe_same_file(b->file, path))
        return fe_error(&s->diags, (fe_where){.file = path},
                        "give the dump another name",
                        "the file has data of the model");
      entries[i] = blob_entry(ir, b, b->file, b->offset);
      continue;
    }
    entries[i] = blob_entry(ir, b, bin, data.n);
    fe_buf_add(s->arena, &data, fe_blob_data(&s->blobs, b), b->size);
  }
  fe_set_attr(ir, op, fe_at_str(ir, "ferrule.phase", s->phase));
  if (!to_screen)
    fe_set_attr(ir, op,
                fe_named(ir, "ferrule.blobs",
                         mlirArrayAttrGet(ir->ctx, (intptr_t)n, entries)));
  char *text = fe_print(s->arena, op);
  if (to_screen)
    return fputs(text, stdout) < 0 || fputc('\n', stdout) < 0 ? FE_FAILED
                                                              : FE_OK;
  return write_pair(&s->diags, path, text, bin, &data);
}

/// Maps `path` once.
static fe_status side_file(fe_session *s, fe_map *known, const char *path,
                           fe_file **out) {
  *out = fe_map_get(known, path);
  if (*out)
    return FE_OK;
  fe_file *f = FE_NEW(s->arena, fe_file);
  if (fe_file_map(&s->diags, path, f) != FE_OK)
    return FE_FAILED;
  fe_push(s->arena, &s->side_files, *f);
  fe_map_set(s->arena, known, path, f);
  *out = f;
  return FE_OK;
}

static const char *string_at(fe_session *s, MlirAttribute array, intptr_t i) {
  MlirAttribute a = mlirArrayAttrGetElement(array, i);
  if (!mlirAttributeIsAString(a))
    return NULL;
  MlirStringRef r = mlirStringAttrGetValue(a);
  return fe_strndup(s->arena, r.data, r.length);
}

/// Reports the first constant whose data is nowhere.
static void check_blob(MlirOperation op, void *user) {
  fe_session *s = user;
  const char *name = fe_attr_str(s->arena, op, "blob", NULL);
  if (name && !s->diags.errors && !fe_blob_find(&s->blobs, name))
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){0},
              "write the file with --stop-after and -o, not from the screen",
              "the data of the constant '%s' is not there", name);
}

/// After planning, weights are offsets and only the module names them.
static void check_planned(fe_session *s) {
  MlirAttribute list = fe_attr(mlirModuleGetOperation(s->module), "krnl.blobs");
  intptr_t n = !mlirAttributeIsNull(list) && mlirAttributeIsAArray(list)
                   ? mlirArrayAttrGetNumElements(list)
                   : 0;
  for (intptr_t i = 0; i < n && !s->diags.errors; i++) {
    MlirAttribute e = mlirArrayAttrGetElement(list, i);
    const char *name =
        mlirAttributeIsAArray(e) && mlirArrayAttrGetNumElements(e) > 0
            ? string_at(s, e, 0)
            : NULL;
    if (name && !fe_blob_find(&s->blobs, name))
      fe_report(&s->diags, FE_SEV_ERROR, (fe_where){0},
                "write the file with --stop-after and -o, not from the screen",
                "the data of the weights '%s' is not there", name);
  }
}

fe_status fe_dump_check(fe_session *s) {
  fe_walk(mlirModuleGetBody(s->module), check_blob, s);
  check_planned(s);
  return s->diags.errors ? FE_FAILED : FE_OK;
}

fe_status fe_dump_blobs(fe_session *s) {
  MlirAttribute list =
      fe_attr(mlirModuleGetOperation(s->module), "ferrule.blobs");
  if (mlirAttributeIsNull(list))
    return FE_OK;
  fe_where where = {.attr = "ferrule.blobs"};
  fe_map known = {0};
  intptr_t n =
      mlirAttributeIsAArray(list) ? mlirArrayAttrGetNumElements(list) : 0;
  for (intptr_t i = 0; i < n; i++) {
    MlirAttribute e = mlirArrayAttrGetElement(list, i);
    if (!mlirAttributeIsAArray(e) || mlirArrayAttrGetNumElements(e) != 4 ||
        !string_at(s, e, 0) || !string_at(s, e, 1) ||
        !mlirAttributeIsAInteger(mlirArrayAttrGetElement(e, 2)) ||
        !mlirAttributeIsAInteger(mlirArrayAttrGetElement(e, 3)))
      return fe_error(&s->diags, where, NULL,
                      "entry %ld is not [name, file, offset, size]", (long)i);
    int64_t offset = mlirIntegerAttrGetValueInt(mlirArrayAttrGetElement(e, 2));
    int64_t size = mlirIntegerAttrGetValueInt(mlirArrayAttrGetElement(e, 3));
    fe_file *file;
    if (side_file(s, &known, string_at(s, e, 1), &file) != FE_OK)
      return FE_FAILED;
    if (offset < 0 || size < 0 || (uint64_t)offset > file->size ||
        (uint64_t)size > file->size - (uint64_t)offset)
      return fe_error(&s->diags, where, NULL,
                      "'%s' lies outside of its file '%s'", string_at(s, e, 0),
                      string_at(s, e, 1));
    fe_blob_add(&s->blobs, string_at(s, e, 0), file->data + offset,
                (size_t)size, string_at(s, e, 1), (uint64_t)offset);
  }
  return FE_OK;
}
