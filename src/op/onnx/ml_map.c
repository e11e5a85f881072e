//===- ml_map.c - ZipMap, DictVectorizer, CastMap ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewritten at import into three operators of Ferrule's own, which are calls of
// runtime/map.c, and ops on the tensors of keys and values:
//
//   MapRows   keys [m], values [n, m]: a sequence of n maps
//   MapFind   keys [m], a map, a value for keys that it has not: [1, m]
//   MapTake   a map: its keys [n] and values [n]
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include "ir/value_type.h"
#include "op/ml.h"
#include "op/text.h"

#include <string.h>

static fe_dtype part_dtype(MlirType map, unsigned part) {
  return fe_dtype_of_elem(
      mlirShapedTypeGetElementType(fe_type_map_part(map, part)));
}

//===-- The operators of Ferrule's own --------------------------------------//

static fe_status infer_rows(fe_infer *f) {
  fe_dims keys, values;
  if (fe_in_dims(f, 0, &keys) || fe_in_dims(f, 1, &values))
    return FE_FAILED;
  if (values.rank != 2)
    return fe_infer_error(f, NULL, "the values must have rank 1 or 2");
  int64_t m = fe_dim_static(keys.d[0]), columns = fe_dim_static(values.d[1]);
  if (columns != FE_DYN && columns != m)
    return fe_infer_error(f, "give one class label per column of the input",
                          "there are %lld columns, but %lld keys",
                          (long long)columns, (long long)m);
  f->out[0] = fe_type_sequence(
      f->ir, fe_type_map(f->ir, fe_in_dtype(f, 0), fe_in_dtype(f, 1)));
  return FE_OK;
}

static fe_status lower_rows(fe_lower *l) {
  fe_check_dims(l, 0, 0, 1, 1, "there is not one key per column");
  MlirValue dest = fe_tensor_empty(l, FE_I64, 0, NULL);
  fe_runtime_op(
      l, (fe_runtime){.name = "map_rows", .n_in = 2, .n_out = 1, .out = &dest},
      &l->out[0], NULL);
  return FE_OK;
}

static fe_status want_map(fe_infer *f, unsigned i) {
  MlirType t = fe_type_of(f->in[i]);
  return fe_type_is_map(t)
             ? FE_OK
             : fe_infer_error(f, NULL, "the input is %s but must be a map",
                              fe_type_text(f->ir, t));
}

static fe_status infer_find(fe_infer *f) {
  fe_dims d;
  if (want_map(f, 1) || fe_in_dims(f, 0, &d))
    return FE_FAILED;
  MlirType map = fe_type_of(f->in[1]);
  if (part_dtype(map, 0) != fe_in_dtype(f, 0))
    return fe_infer_error(f, NULL,
                          "the keys of the map have not the type of the "
                          "vocabulary");
  d.d[1] = d.d[0];
  d.d[0] = fe_dim_const(f->ir, 1);
  d.rank = 2;
  fe_out_tensor(f, 0, part_dtype(map, 1), &d);
  return FE_OK;
}

static fe_status lower_find(fe_lower *l) {
  MlirValue sizes[2] = {fe_index(l->ir, 1), fe_size(l, l->in[0], 0)};
  MlirValue dest = fe_out_empty(l, 0, sizes);
  fe_runtime_op(
      l, (fe_runtime){.name = "map_find", .n_in = 3, .n_out = 1, .out = &dest},
      &l->out[0], NULL);
  return FE_OK;
}

static fe_status infer_take(fe_infer *f) {
  if (want_map(f, 0))
    return FE_FAILED;
  fe_dims d = {.rank = 1};
  d.d[0] = fe_fresh_dim(f);
  for (unsigned i = 0; i < f->n_out; ++i)
    fe_out_tensor(f, i, part_dtype(fe_type_of(f->in[0]), i), &d);
  return FE_OK;
}

static fe_status lower_take(fe_lower *l) {
  MlirValue n, dest[2];
  fe_runtime_op(l, (fe_runtime){.name = "map_count", .n_in = 1, .n_results = 1},
                NULL, &n);
  for (unsigned i = 0; i < 2; ++i)
    dest[i] = fe_out_empty(l, i, &n);
  fe_runtime_op(
      l, (fe_runtime){.name = "map_take", .n_in = 1, .n_out = 2, .out = dest},
      l->out, NULL);
  return FE_OK;
}

//===-- Those of the standard -----------------------------------------------//

/// The values of `keys` in `map`; where there is none `absent`, or the text.
static MlirValue find(fe_ir *ir, MlirValue keys, MlirValue map, double absent,
                      const char *text) {
  MlirType t = fe_type_of(map);
  if (!fe_type_is_map(t))
    return fe_onnx1(ir, "ml_map_find", keys, map, fe_ml_number(ir, 0));
  fe_dtype value = part_dtype(t, 1);
  return fe_onnx1(ir, "ml_map_find", keys, map,
                  value == FE_STRING ? fe_ml_strings(ir, 0, 1, &text)
                                     : fe_constant_scalar(ir, value, absent));
}

/// Keys given by the one of two attributes that is there.
static fe_status read_keys(fe_node *n, const char *ints, const char *strings,
                           MlirValue *out) {
  fe_ml_labels l;
  if (fe_ml_read_labels(n, ints, strings, &l))
    return FE_FAILED;
  *out = l.ints ? fe_constant_i64s(n->ir, (unsigned)l.n, l.ints)
                : fe_ml_strings(n->ir, 1, l.n, l.strings);
  return FE_OK;
}

static fe_status expand_zip_map(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_dims d;
  MlirValue x = n->in.n == 1 ? n->in.at[0] : (MlirValue){0}, keys;
  if (fe_is_null(x) || !fe_dims_of(ir, x, &d))
    return fe_node_refuse(n, NULL, "the input must be one tensor");
  if (read_keys(n, "classlabels_int64s", "classlabels_strings", &keys))
    return FE_FAILED;
  if (d.rank == 1)
    x = fe_ml_as_row(ir, x);
  results[0] = fe_onnx1(ir, "ml_map_rows", keys, x);
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

static fe_status expand_vectorizer(fe_node *n, MlirValue *results) {
  MlirValue keys;
  if (n->in.n != 1 || fe_is_null(n->in.at[0]))
    return fe_node_refuse(n, NULL, "the input must be one map");
  if (read_keys(n, "int64_vocabulary", "string_vocabulary", &keys))
    return FE_FAILED;
  results[0] = find(n->ir, keys, n->in.at[0], 0, "");
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

/// Values in the type that they are to have; numbers as texts have ONNX
/// Runtime's six digits behind the point.
static MlirValue values_as(fe_ir *ir, MlirValue v, fe_dtype t) {
  if (fe_is_null(v))
    return v;
  return t == FE_STRING && fe_x_type(v) != FE_STRING ? fe_text_print(ir, v, 6)
                                                     : fe_x_cast(ir, v, t);
}

/// The values of 0, 1, ..., size - 1. ONNX Runtime's text where there is none.
static MlirValue places(fe_ir *ir, MlirValue map, int64_t size, fe_dtype t) {
  const char *none = t == FE_STRING ? "0.f" : "0";
  int64_t *all = FE_NEW_N(ir->arena, int64_t, (size_t)size);
  for (int64_t i = 0; i < size; ++i)
    all[i] = i;
  MlirValue keys = fe_constant_i64s(ir, (unsigned)size, all);
  MlirValue v = find(ir, keys, map, 0, none);
  if (fe_is_null(v) || t != FE_STRING || fe_x_type(v) == FE_STRING)
    return values_as(ir, v, t);
  // A number that is there is so whatever stands for those that are not.
  MlirValue other = find(ir, keys, map, 1, none);
  MlirValue there = fe_onnx1(ir, "Equal", v, other);
  if (fe_dtype_is_float(fe_x_type(v)))
    there = fe_onnx1(ir, "Or", there, fe_onnx1(ir, "IsNaN", v));
  return fe_onnx1(ir, "Where", there, values_as(ir, v, t),
                  fe_ml_strings(ir, 0, 1, &none));
}

/// The values in the order of their keys.
static MlirValue in_order(fe_ir *ir, MlirValue map, fe_dtype t) {
  MlirOperation take = fe_onnx(ir, "ml_map_take", 1, &map, 2, 0, NULL);
  MlirNamedAttribute up = fe_at_i64(ir, "largest", 0);
  if (mlirOperationIsNull(take))
    return (MlirValue){0};
  MlirValue keys = fe_result(take, 0);
  MlirValue in[2] = {keys, fe_onnx1(ir, "Shape", keys)};
  MlirOperation sorted = fe_onnx(ir, "top_k", 2, in, 2, 1, &up);
  if (mlirOperationIsNull(sorted))
    return (MlirValue){0};
  MlirValue v =
      fe_onnx1(ir, "Gather", fe_result(take, 1), fe_result(sorted, 1));
  return values_as(ir, fe_ml_as_row(ir, v), t);
}

static fe_status expand_cast_map(fe_node *n, MlirValue *results) {
  static const struct {
    const char *name;
    fe_dtype type;
  } casts[] = {
      {"TO_FLOAT", FE_F32}, {"TO_INT64", FE_I64}, {"TO_STRING", FE_STRING}};
  fe_ir *ir = n->ir;
  const char *to = fe_ml_text(n, "cast_to", "TO_FLOAT");
  const char *form = fe_ml_text(n, "map_form", "DENSE");
  const fe_node_attr *max = fe_ml_attr(n, "max_map");
  unsigned cast = 0;
  while (cast < FE_COUNT(casts) && strcmp(casts[cast].name, to))
    ++cast;
  bool sparse = !strcmp(form, "SPARSE");
  int64_t size = max ? max->i : 1;
  if (cast == FE_COUNT(casts) || (!sparse && strcmp(form, "DENSE")))
    return fe_node_refuse(n, "cast_to", "there is no such cast or form");
  MlirValue map = n->in.n == 1 ? n->in.at[0] : (MlirValue){0}, v;
  if (!fe_type_is_map(fe_type_of(map)) ||
      part_dtype(fe_type_of(map), 0) != FE_I64)
    return fe_node_refuse(n, NULL, "the input must be a map from int64");
  if (sparse) { // the values of 0, 1, 2, ...
    if (size < 1 || size > INT32_MAX)
      return fe_node_refuse(n, "max_map", "a map has at least one place");
    v = places(ir, map, size, casts[cast].type);
  } else {
    v = in_order(ir, map, casts[cast].type);
  }
  results[0] = v;
  return fe_is_null(v) ? FE_FAILED : FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def zip_attrs[] = {
    {"classlabels_int64s", FE_A_INTS, ""},
    {"classlabels_strings", FE_A_STRINGS, ""},
    {0}};
static const fe_attr_def vectorizer_attrs[] = {
    {"int64_vocabulary", FE_A_INTS, ""},
    {"string_vocabulary", FE_A_STRINGS, ""},
    {0}};
static const fe_attr_def cast_attrs[] = {
    {"cast_to", FE_A_STRING, "TO_FLOAT|TO_STRING|TO_INT64"},
    {"map_form", FE_A_STRING, "DENSE|SPARSE"},
    {"max_map", FE_A_INT, "1"},
    {0}};

#define OWN(name_, in_, out_, types_, infer_, lower_)                          \
  {.name = name_,                                                              \
   .domain = "ai.onnx.ml",                                                     \
   .since = 1,                                                                 \
   .inputs = in_,                                                              \
   .outputs = out_,                                                            \
   .types = types_,                                                            \
   .infer = infer_,                                                            \
   .lower = lower_,                                                            \
   .limits = "internal: of ZipMap, DictVectorizer, CastMap"}

const fe_op_row fe_family_ml_map[] = {
    FE_ML_ROW("ZipMap", 1, "X:T", "Z:S", "T=f32;S=any", zip_attrs,
              expand_zip_map, NULL),
    FE_ML_ROW("DictVectorizer", 1, "X:M", "Y:T", "M=any;T=i64,f32,f64,str",
              vectorizer_attrs, expand_vectorizer, NULL),
    FE_ML_ROW("CastMap", 1, "X:M", "Y:T", "M=any;T=f32,i64,str", cast_attrs,
              expand_cast_map, NULL),
    OWN("MapRows", "keys:K, values:V", "maps:S",
        "K=i64,str;V=f32,f64,i64,str;S=any", infer_rows, lower_rows),
    OWN("MapFind", "keys:K, map:M, absent:V", "values:V",
        "K=i64,str;M=any;V=f32,f64,i64,str", infer_find, lower_find),
    OWN("MapTake", "map:M", "keys:K, values:V",
        "M=any;K=i64,str;V=f32,f64,i64,str", infer_take, lower_take),
    {0}};
