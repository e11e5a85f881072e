//===- external.c - data in files beside the model ------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: each file is mapped once per source. A location is a path below the
// model's folder, by its text alone: a symbolic link that the user has put
// there is followed.
//
//===----------------------------------------------------------------------===//
#include "import/external.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct opened {
  const char *path;
  fe_file file;
} opened;

void fe_source_init(fe_source *s, fe_diags *d, fe_arena *arena,
                    const char *path, const uint8_t *data, size_t size) {
  *s = (fe_source){.diags = d,
                   .arena = arena,
                   .path = path,
                   .bytes = {.data = data, .size = size}};
}

void fe_source_close(fe_source *s) {
  for (size_t i = 0; i < s->external.n; i++)
    fe_file_unmap(&((opened *)s->external.entries[i].value)->file);
  s->external = (fe_map){0};
}

/// Decimal digits only; false when there is anything else, or too many.
static bool parse_number(const char *text, uint64_t *out) {
  uint64_t v = 0;
  const char *p = text;
  for (; *p >= '0' && *p <= '9'; p++)
    if (__builtin_mul_overflow(v, 10, &v) ||
        __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
      return false;
  *out = v;
  return p != text && !*p;
}

/// A relative path without `..`, under the rules of every system.
static bool stays_inside(const char *location) {
  if (!*location || strchr("/\\", *location) || strchr(location, ':'))
    return false;
  for (const char *p = location; *p;) {
    size_t n = strcspn(p, "/\\");
    if (n == 2 && p[0] == '.' && p[1] == '.')
      return false;
    p += n + (p[n] != 0);
  }
  return true;
}

static const opened *open_file(fe_source *s, fe_where where,
                               const char *location) {
  opened *o = fe_map_get(&s->external, location);
  if (o)
    return o;
  if (!s->path) {
    fe_error(s->diags, where, "compile the model from a file",
             "data lies in the file '%s', but the model was given in memory",
             location);
    return NULL;
  }
  const char *slash = strrchr(s->path, '/');
  const char *path =
      fe_printf(s->arena, "%.*s%s", slash ? (int)(slash + 1 - s->path) : 0,
                s->path, location);
  struct stat st;
  if (stat(path, &st) || !S_ISREG(st.st_mode)) {
    fe_error(s->diags, where, "put the file into the model's folder",
             "data lies in the file '%s', which is missing", location);
    return NULL;
  }
  o = FE_NEW(s->arena, opened);
  o->path = path;
  if (st.st_size > 0 && fe_file_map(s->diags, path, &o->file) != FE_OK)
    return NULL;
  fe_map_set(s->arena, &s->external, location, o);
  return o;
}

fe_status fe_external_data(fe_source *s, fe_where where,
                           const onnx_TensorProto *p, size_t size,
                           fe_tensor *out) {
  const char *location = NULL;
  uint64_t offset = 0, length = size;
  for (size_t i = 0; i < p->external_data.n; i++) {
    const onnx_StringStringEntryProto *e =
        FE_PROTO_AT(StringStringEntryProto, p->external_data, i);
    const char *key = e->key ? e->key : "", *value = e->value ? e->value : "";
    uint64_t *number = !strcmp(key, "offset")   ? &offset
                       : !strcmp(key, "length") ? &length
                                                : NULL;
    if (number && !parse_number(value, number))
      return fe_error(s->diags, where, NULL,
                      "the external data's %s '%s' is not a number", key,
                      value);
    if (!strcmp(key, "location"))
      location = value;
  }
  if (!location)
    return fe_error(s->diags, where, NULL,
                    "external data without the name of a file");
  if (!stays_inside(location))
    return fe_error(s->diags, where,
                    "external data must be named by a path below the model's "
                    "folder, without '..'",
                    "external data in '%s' is refused", location);
  if (length != size)
    return fe_error(s->diags, where, NULL,
                    "external data has %llu bytes, its shape and type need "
                    "%zu",
                    (unsigned long long)length, size);
  const opened *o = open_file(s, where, location);
  if (!o)
    return FE_FAILED;
  if (offset > o->file.size || size > o->file.size - offset)
    return fe_error(s->diags, where, "the file may be cut off; get it again",
                    "data at bytes %llu to %llu of '%s', which has only %zu "
                    "bytes",
                    (unsigned long long)offset,
                    (unsigned long long)(offset + size), location,
                    o->file.size);
  out->data = o->file.data + offset;
  out->file = o->path;
  out->offset = offset;
  return FE_OK;
}
