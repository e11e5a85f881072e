//===- info.c - what a planned module says about the model -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the module's attributes (docs/architecture.md, "plan"), and prints the
// header of a model from them.
//
//===----------------------------------------------------------------------===//
#include "emit/parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *string_of(fe_arena *arena, MlirAttribute a) {
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAString(a))
    return NULL;
  MlirStringRef s = mlirStringAttrGetValue(a);
  return fe_strndup(arena, s.data, s.length);
}

static bool int_of(MlirAttribute a, int64_t *out) {
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAInteger(a))
    return false;
  *out = mlirIntegerAttrGetValueInt(a);
  return true;
}

static unsigned array_size(MlirAttribute a) {
  bool is_array = !mlirAttributeIsNull(a) && mlirAttributeIsAArray(a);
  return is_array ? (unsigned)mlirArrayAttrGetNumElements(a) : 0;
}

/// Values within values are deeper than this in no sensible model.
enum { MAX_NESTING = 64 };

/// Outer values (depth 0) have a name and dims.
static bool read_value(fe_arena *arena, MlirAttribute a, unsigned depth,
                       ferrule_value_info *out) {
  if (!mlirAttributeIsADictionary(a) || depth > MAX_NESTING)
    return false;
  int64_t dtype;
  MlirAttribute dims = mlirDictionaryAttrGetElementByName(a, fe_str("dims"));
  out->name =
      string_of(arena, mlirDictionaryAttrGetElementByName(a, fe_str("name")));
  if (!out->name && depth)
    out->name = "";
  bool open = depth && mlirAttributeIsNull(dims);
  if (!out->name ||
      (!open &&
       (mlirAttributeIsNull(dims) || !mlirAttributeIsADenseI64Array(dims))) ||
      !int_of(mlirDictionaryAttrGetElementByName(a, fe_str("dtype")), &dtype))
    return false;
  out->dtype = (int32_t)dtype;
  if (dtype >= FERRULE_SEQUENCE) {
    MlirAttribute held =
        mlirDictionaryAttrGetElementByName(a, fe_str("element"));
    unsigned n = dtype == FERRULE_MAP ? 2 : 1;
    ferrule_value_info *element = FE_NEW_N(arena, ferrule_value_info, n);
    if (array_size(held) != n)
      return false;
    for (unsigned i = 0; i < n; i++)
      if (!read_value(arena, mlirArrayAttrGetElement(held, i), depth + 1,
                      &element[i]))
        return false;
    out->element = element;
  }
  if (open) {
    out->rank = -1;
    return true;
  }
  out->rank = (int32_t)mlirDenseArrayGetNumElements(dims);
  if (out->rank > FERRULE_MAX_RANK)
    return false;
  int64_t *d = FE_NEW_N(arena, int64_t, (size_t)out->rank + 1);
  for (int32_t i = 0; i < out->rank; i++)
    d[i] = mlirDenseI64ArrayGetElement(dims, i);
  out->dims = d;
  return true;
}

static bool read_values(fe_ir *ir, MlirOperation module, const char *name,
                        unsigned *n, ferrule_value_info **out) {
  MlirAttribute list = fe_attr(module, name);
  *n = array_size(list);
  *out = FE_NEW_N(ir->arena, ferrule_value_info, *n + 1);
  for (unsigned i = 0; i < *n; i++)
    if (!read_value(ir->arena, mlirArrayAttrGetElement(list, i), 0, &(*out)[i]))
      return false;
  return true;
}

static bool read_symbols(fe_ir *ir, MlirOperation module, fe_model_info *out) {
  MlirAttribute list = fe_attr(module, "krnl.symbols");
  out->n_symbols = array_size(list);
  out->symbols = FE_NEW_N(ir->arena, const char *, out->n_symbols + 1);
  for (unsigned i = 0; i < out->n_symbols; i++) {
    out->symbols[i] = string_of(ir->arena, mlirArrayAttrGetElement(list, i));
    if (!out->symbols[i])
      return false;
  }
  return true;
}

static int by_offset(const void *a, const void *b) {
  const fe_placed_blob *x = a, *y = b;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool read_blobs(fe_ir *ir, MlirOperation module, fe_model_info *out) {
  MlirAttribute list = fe_attr(module, "krnl.blobs");
  out->n_blobs = array_size(list);
  out->blobs = FE_NEW_N(ir->arena, fe_placed_blob, out->n_blobs + 1);
  int64_t bytes = fe_attr_i64(module, "krnl.weight_bytes", 0);
  out->weight_bytes = (uint64_t)bytes;
  out->own_bytes = (uint64_t)fe_attr_i64(module, "krnl.own_bytes", bytes);
  for (unsigned i = 0; i < out->n_blobs; i++) {
    MlirAttribute pair = mlirArrayAttrGetElement(list, i);
    int64_t offset = 0;
    if (array_size(pair) != 2 ||
        !int_of(mlirArrayAttrGetElement(pair, 1), &offset))
      return false;
    const char *name = string_of(ir->arena, mlirArrayAttrGetElement(pair, 0));
    fe_blob *blob = name ? fe_blob_find(ir->blobs, name) : NULL;
    if (!blob || offset < 0 || (uint64_t)offset > out->weight_bytes ||
        blob->size > out->weight_bytes - (uint64_t)offset)
      return false;
    out->blobs[i] = (fe_placed_blob){blob, (uint64_t)offset};
  }
  qsort(out->blobs, out->n_blobs, sizeof *out->blobs, by_offset);
  for (unsigned i = 1; i < out->n_blobs; i++)
    if (out->blobs[i - 1].offset + out->blobs[i - 1].blob->size >
        out->blobs[i].offset)
      return false;
  return true;
}

/// What arena_size returns, when that is a constant; -1 otherwise.
static int64_t constant_arena(MlirModule module) {
  MlirOperation f = fe_func_find(module, "arena_size");
  if (mlirOperationIsNull(f))
    return -1;
  MlirOperation size =
      fe_def(fe_operand(mlirBlockGetTerminator(fe_func_block(f)), 0));
  int64_t bytes;
  if (!fe_op_is(size, "arith.constant") &&
      !fe_op_is(size, "llvm.mlir.constant"))
    return -1;
  return int_of(fe_attr(size, "value"), &bytes) ? bytes : -1;
}

fe_status fe_model_info_read(fe_ir *ir, MlirModule module,
                             const fe_emit_options *options,
                             fe_model_info *out) {
  MlirOperation m = mlirModuleGetOperation(module);
  *out = (fe_model_info){0};
  const char *prefix = fe_prefix(options);
  out->prefix = options->level
                    ? fe_symbol_name(ir->arena, prefix, options->target->name)
                    : prefix;
  out->weights = fe_symbol_name(ir->arena, prefix, "weights");
  out->name = options->name ? options->name : prefix;
  out->compiler = options->compiler ? options->compiler : "ferrule";
  out->cpu = options->target->cpu;
  out->arena_bytes = constant_arena(module);
  if (read_values(ir, m, "krnl.inputs", &out->n_inputs, &out->inputs) &&
      read_values(ir, m, "krnl.outputs", &out->n_outputs, &out->outputs) &&
      read_symbols(ir, m, out) && read_blobs(ir, m, out))
    return FE_OK;
  fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
            "the attributes that describe the model are malformed");
  return FE_FAILED;
}

//===-- The model's own header ----------------------------------------------//

/// A name in a comment: nothing that ends the line, or continues it.
static const char *in_comment(fe_arena *arena, const char *name) {
  char *text = fe_strdup(arena, name);
  for (char *c = text; *c; c++)
    if ((unsigned char)*c < ' ' || *c == '\\')
      *c = '?';
  return text;
}

static void print_type(fe_arena *arena, fe_buf *b, const fe_model_info *info,
                       const ferrule_value_info *v) {
  if (v->dtype >= FERRULE_SEQUENCE) {
    fe_buf_printf(arena, b, "%s",
                  v->dtype == FERRULE_SEQUENCE   ? "sequence of "
                  : v->dtype == FERRULE_OPTIONAL ? "optional "
                                                 : "map from ");
    print_type(arena, b, info, v->element);
    if (v->dtype == FERRULE_MAP) {
      fe_buf_printf(arena, b, " to ");
      print_type(arena, b, info, v->element + 1);
    }
    return;
  }
  fe_buf_printf(arena, b, "%s", fe_dtype_name((fe_dtype)v->dtype));
  if (v->rank < 0)
    fe_buf_printf(arena, b, "[...]");
  for (int32_t d = 0; d < v->rank; d++) {
    int64_t dim = v->dims[d];
    fe_buf_printf(arena, b, d ? "," : "[");
    if (dim >= 0)
      fe_buf_printf(arena, b, "%" PRId64, dim);
    else if (dim == INT64_MIN || -1 - dim >= (int64_t)info->n_symbols)
      fe_buf_printf(arena, b, "?");
    else
      fe_buf_printf(arena, b, "%s", in_comment(arena, info->symbols[-1 - dim]));
  }
  if (v->rank > 0)
    fe_buf_printf(arena, b, "]");
}

static void print_values(fe_arena *arena, fe_buf *b, const fe_model_info *info,
                         const char *kind, unsigned n,
                         const ferrule_value_info *v) {
  for (unsigned i = 0; i < n; i++) {
    fe_buf_printf(arena, b, "//   %s[%u] \"%s\": ", kind, i,
                  in_comment(arena, v[i].name));
    print_type(arena, b, info, &v[i]);
    fe_buf_printf(arena, b, "\n");
  }
}

/// Macros with the bytes of the values of fixed size.
static void print_sizes(fe_arena *arena, fe_buf *b, const char *upper,
                        const char *kind, unsigned n,
                        const ferrule_value_info *v) {
  for (unsigned i = 0; i < n; i++) {
    int64_t elements = 1;
    for (int32_t d = 0; d < v[i].rank && elements >= 0; d++)
      if (v[i].dims[d] < 0 ||
          __builtin_mul_overflow(elements, v[i].dims[d], &elements))
        elements = -1;
    int64_t bytes = fe_dtype_bytes((fe_dtype)v[i].dtype);
    bool fixed = v[i].dtype != FERRULE_STRING || !strcmp(kind, "INPUT");
    if (elements >= 0 && bytes && fixed)
      fe_buf_printf(arena, b, "#define %s_%s_%u_BYTES %" PRId64 "\n", upper,
                    kind, i, elements * bytes);
  }
}

char *fe_model_header(fe_arena *arena, const fe_model_info *info) {
  char *upper = fe_strdup(arena, info->prefix);
  for (char *c = upper; *c; c++)
    *c = (char)toupper((unsigned char)*c);
  fe_buf b = {0};
  fe_buf_printf(arena, &b,
                "// %s: written by %s for %s.\n//\n// Weights: %" PRIu64
                " bytes.\n",
                in_comment(arena, info->name), info->compiler, info->cpu,
                info->weight_bytes);
  print_values(arena, &b, info, "inputs", info->n_inputs, info->inputs);
  print_values(arena, &b, info, "outputs", info->n_outputs, info->outputs);
  fe_buf_printf(arena, &b,
                "#ifndef %s_MODEL_H\n#define %s_MODEL_H\n\n"
                "#include <ferrule/model.h>\n\n"
                "#define %s_INPUTS %u\n#define %s_OUTPUTS %u\n",
                upper, upper, upper, info->n_inputs, upper, info->n_outputs);
  if (info->arena_bytes >= 0)
    fe_buf_printf(arena, &b, "#define %s_ARENA_BYTES %" PRId64 "\n", upper,
                  info->arena_bytes);
  print_sizes(arena, &b, upper, "INPUT", info->n_inputs, info->inputs);
  print_sizes(arena, &b, upper, "OUTPUT", info->n_outputs, info->outputs);
  fe_buf_printf(arena, &b,
                "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
                "extern const ferrule_model %s_model;\n"
                "#ifdef __cplusplus\n}\n#endif\n#endif\n",
                info->prefix);
  return b.at;
}
