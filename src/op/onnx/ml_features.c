//===- ml_features.c - ai.onnx.ml: preparation of features -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binarizer, Scaler, Normalizer, Imputer, FeatureVectorizer, OneHotEncoder,
// ArrayFeatureExtractor.
//
//===----------------------------------------------------------------------===//
#include "op/ml.h"
#include "op/text.h"

#include <math.h>
#include <string.h>

/// The only input, a tensor of numbers.
static bool one_input(const fe_node *n) {
  return n->in.n == 1 && !fe_is_null(n->in.at[0]) &&
         fe_x_type(n->in.at[0]) != FE_STRING &&
         fe_x_type(n->in.at[0]) != FE_UNDEFINED;
}

#define NEEDS_ONE_INPUT(n)                                                     \
  if (!one_input(n))                                                           \
  return fe_node_refuse((n), NULL, "the input must be one tensor of numbers")

//===-- Elementwise ---------------------------------------------------------//

static fe_status expand_binarizer(fe_node *n, MlirValue *results) {
  NEEDS_ONE_INPUT(n);
  fe_ir *ir = n->ir;
  MlirValue x = n->in.at[0];
  fe_dtype t = fe_x_type(x), as = fe_dtype_is_float(t) ? t : FE_F64;
  const fe_node_attr *a = fe_ml_attr(n, "threshold");
  MlirValue above = fe_onnx1(ir, "Greater", fe_x_cast(ir, x, as),
                             fe_constant_scalar(ir, as, a ? a->f : 0));
  return fe_node_done(fe_x_cast(ir, above, t), results);
}

static fe_status expand_scaler(fe_node *n, MlirValue *results) {
  NEEDS_ONE_INPUT(n);
  fe_ir *ir = n->ir;
  MlirValue x = n->in.at[0];
  fe_dtype t = fe_x_type(x) == FE_F64 ? FE_F64 : FE_F32;
  static const struct {
    const char *attr, *op;
  } steps[] = {{"offset", "Sub"}, {"scale", "Mul"}};
  x = fe_x_cast(ir, x, t);
  for (unsigned i = 0; i < FE_COUNT(steps); ++i) {
    const fe_node_attr *a = fe_ml_attr(n, steps[i].attr);
    fe_dims d;
    int64_t features =
        fe_dims_of(ir, x, &d) && d.rank ? fe_dim_static(d.d[d.rank - 1]) : 0;
    if (a && a->n != 1 && features != FE_DYN && features != (int64_t)a->n)
      return fe_node_refuse(n, steps[i].attr,
                            "there must be one number, or one per feature");
    if (a)
      x = fe_onnx1(ir, steps[i].op, x,
                   fe_x_cast(ir, fe_ml_floats(ir, a->n, a->floats), t));
  }
  return fe_node_done(fe_x_cast(ir, x, FE_F32), results);
}

/// Divides by the norm of the last dim; rows of zeros stay.
static fe_status expand_normalizer(fe_node *n, MlirValue *results) {
  NEEDS_ONE_INPUT(n);
  fe_ir *ir = n->ir;
  MlirValue x = fe_x_cast(ir, n->in.at[0], FE_F32);
  const fe_node_attr *norm = fe_ml_attr(n, "norm");
  const char *name = norm ? norm->s : "MAX";
  MlirValue by = {0}, axes = fe_x_int(ir, -1);
  if (!strcmp(name, "MAX"))
    by = fe_onnx1(ir, "ReduceMax", fe_onnx1(ir, "Abs", x), axes);
  else if (!strcmp(name, "L1"))
    by = fe_onnx1(ir, "ReduceL1", x, axes);
  else if (!strcmp(name, "L2"))
    by = fe_onnx1(ir, "ReduceL2", x, axes);
  else
    return fe_node_refuse(n, "norm", "the norm must be MAX, L1 or L2");
  MlirValue zero = fe_ml_number(ir, 0), one = fe_ml_number(ir, 1);
  by = fe_onnx1(ir, "Where", fe_onnx1(ir, "Equal", by, zero), one, by);
  return fe_node_done(fe_onnx1(ir, "Div", x, by), results);
}

static fe_status expand_imputer(fe_node *n, MlirValue *results) {
  NEEDS_ONE_INPUT(n);
  fe_ir *ir = n->ir;
  MlirValue x = n->in.at[0], missing, values;
  fe_dtype t = fe_x_type(x);
  const fe_node_attr *floats = fe_ml_attr(n, "imputed_value_floats");
  const fe_node_attr *ints = fe_ml_attr(n, "imputed_value_int64s");
  if (fe_dtype_is_float(t)) {
    if (!floats)
      return fe_node_refuse(n, "imputed_value_floats", "there are no values");
    const fe_node_attr *a = fe_ml_attr(n, "replaced_value_float");
    double replaced = a ? a->f : 0;
    values = fe_x_cast(ir, fe_ml_floats(ir, floats->n, floats->floats), t);
    missing = isnan(replaced) ? fe_onnx1(ir, "IsNaN", x)
                              : fe_onnx1(ir, "Equal", x,
                                         fe_constant_scalar(ir, t, replaced));
  } else {
    if (!ints)
      return fe_node_refuse(n, "imputed_value_int64s", "there are no values");
    const fe_node_attr *a = fe_ml_attr(n, "replaced_value_int64");
    int64_t *replaced = FE_NEW(ir->arena, int64_t);
    *replaced = a ? a->i : 0;
    values =
        fe_x_cast(ir, fe_constant_i64s(ir, (unsigned)ints->n, ints->ints), t);
    missing = fe_onnx1(
        ir, "Equal", x,
        fe_x_cast(ir, fe_constant(ir, NULL, FE_I64, 0, NULL, replaced), t));
  }
  return fe_node_done(fe_onnx1(ir, "Where", missing, values, x), results);
}

//===-- FeatureVectorizer, ArrayFeatureExtractor ----------------------------//

/// Its first `want` features, filled up with zeros; null after a report. A list
/// is one row, unless it should have one feature: then it is a column.
static MlirValue part_of(fe_node *n, MlirValue x, int64_t want) {
  fe_ir *ir = n->ir;
  fe_dims d;
  int64_t column[2] = {-1, 1}, flat[2] = {0, -1}, start = 0, one = 1;
  x = fe_x_cast(ir, x, FE_F32);
  if (fe_is_null(x) || !fe_dims_of(ir, x, &d) || !d.rank) {
    (void)fe_node_refuse(n, NULL, "the inputs must be tensors of features");
    return (MlirValue){0};
  }
  if (d.rank == 1 && want == 1)
    x = fe_onnx1(ir, "Reshape", x, fe_constant_i64s(ir, 2, column));
  else if (d.rank == 1)
    x = fe_ml_as_row(ir, x);
  else if (d.rank > 2)
    x = fe_onnx1(ir, "Reshape", x, fe_constant_i64s(ir, 2, flat));
  if (want < 0 || !fe_dims_of(ir, x, &d))
    return x;
  int64_t size = fe_dim_static(d.d[1]), pads[4] = {0, 0, 0, want};
  if (size == FE_DYN || size < want)
    x = fe_onnx1(ir, "Pad", x, fe_constant_i64s(ir, 4, pads));
  return size == want
             ? x
             : fe_onnx1(ir, "Slice", x, fe_constant_i64s(ir, 1, &start),
                        fe_constant_i64s(ir, 1, &want),
                        fe_constant_i64s(ir, 1, &one));
}

static fe_status expand_vectorizer(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  const fe_node_attr *dims = fe_ml_attr(n, "inputdimensions");
  if (!n->in.n || (dims && dims->n != n->in.n))
    return fe_node_refuse(n, "inputdimensions",
                          "there must be one dimension per input");
  MlirValue *parts = FE_NEW_N(ir->arena, MlirValue, n->in.n);
  for (size_t i = 0; i < n->in.n; ++i) {
    if (dims && (dims->ints[i] < 0 || dims->ints[i] > INT32_MAX))
      return fe_node_refuse(n, "inputdimensions", "a number is out of range");
    parts[i] = part_of(n, n->in.at[i], dims ? dims->ints[i] : -1);
    if (fe_is_null(parts[i]))
      return FE_FAILED;
  }
  return fe_node_done(
      fe_ml_with(ir, "concat", (unsigned)n->in.n, parts, "axis", 1), results);
}

static fe_status expand_extractor(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (n->in.n != 2 || fe_is_null(n->in.at[0]) || fe_is_null(n->in.at[1]))
    return fe_node_refuse(n, NULL, "there must be two inputs");
  int64_t flat = -1;
  fe_dims d;
  MlirValue index =
      fe_onnx1(ir, "Reshape", n->in.at[1], fe_constant_i64s(ir, 1, &flat));
  MlirValue in[2] = {n->in.at[0], index};
  if (fe_is_null(index) || !fe_dims_of(ir, in[0], &d))
    return FE_FAILED;
  MlirValue v = fe_ml_with(ir, "gather", 2, in, "axis", -1);
  if (d.rank == 1 && !fe_is_null(v))
    v = fe_ml_as_row(ir, v);
  return fe_node_done(v, results);
}

//===-- Tables of keys ------------------------------------------------------//

MlirValue fe_ml_matches(fe_ir *ir, MlirValue x, MlirValue keys) {
  int64_t last = -1;
  MlirValue wide = fe_onnx1(ir, "Unsqueeze", x, fe_constant_i64s(ir, 1, &last));
  return fe_onnx1(ir, "Equal", wide, keys);
}

/// Ends the run with a message where an element of `cond` is false.
static void check_all(fe_node *n, MlirValue cond, const char *message) {
  fe_ir *ir = n->ir;
  MlirNamedAttribute keep = fe_at_i64(ir, "keepdims", 0);
  MlirValue v = fe_x_cast(ir, cond, FE_I32);
  v = fe_first(fe_onnx(ir, "reduce_min", 1, &v, 1, 1, &keep));
  v = fe_x_cast(ir, v, FE_BOOL);
  if (fe_is_null(v))
    return;
  const char *text = fe_printf(ir->arena, "%s '%s': %s", n->row->name,
                               n->where.node ? n->where.node : "", message);
  FE_OP(ir, "krnl.check", FE_VALUES(fe_extract_scalar(ir, v)),
        FE_ATTRS(fe_at_str(ir, "message", text)));
}

static fe_status expand_one_hot(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  MlirValue x = n->in.n == 1 ? n->in.at[0] : (MlirValue){0}, keys;
  const fe_node_attr *ints = fe_ml_attr(n, "cats_int64s");
  const fe_node_attr *strings = fe_ml_attr(n, "cats_strings");
  const fe_node_attr *zeros = fe_ml_attr(n, "zeros");
  bool text = fe_x_type(x) == FE_STRING;
  if (fe_x_type(x) == FE_UNDEFINED)
    return fe_node_refuse(n, NULL, "the input must be one tensor");
  if (text ? !strings : !ints)
    return fe_node_refuse(n, text ? "cats_strings" : "cats_int64s",
                          "there are no categories of the input's type");
  if (text) { // the places of the strings, and of one that is not there
    size_t count = strings->n;
    fe_text *names = FE_NEW_N(ir->arena, fe_text, count);
    int64_t *places = FE_NEW_N(ir->arena, int64_t, count);
    for (size_t i = 0; i < count; ++i) {
      names[i] = fe_text_of(strings->strings[i]);
      places[i] = (int64_t)i;
    }
    x = fe_text_find(ir, x, count, names, true);
    keys = fe_constant_i64s(ir, (unsigned)count, places);
  } else {
    x = fe_x_cast(ir, x, FE_I64);
    keys = fe_constant_i64s(ir, (unsigned)ints->n, ints->ints);
  }
  MlirValue found = fe_x_cast(ir, fe_ml_matches(ir, x, keys), FE_F32);
  if (fe_is_null(found))
    return FE_FAILED;
  if (zeros && !zeros->i) {
    MlirValue any = fe_onnx1(ir, "ReduceMax", found, fe_x_int(ir, -1));
    check_all(n, fe_x_cast(ir, any, FE_BOOL),
              "an element is none of the categories");
  }
  return fe_node_done(found, results);
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def binarizer_attrs[] = {{"threshold", FE_A_FLOAT, "0"},
                                              {0}};
static const fe_attr_def scaler_attrs[] = {
    {"offset", FE_A_FLOATS, ""}, {"scale", FE_A_FLOATS, ""}, {0}};
static const fe_attr_def normalizer_attrs[] = {
    {"norm", FE_A_STRING, "MAX|L1|L2"}, {0}};
static const fe_attr_def imputer_attrs[] = {
    {"imputed_value_floats", FE_A_FLOATS, ""},
    {"imputed_value_int64s", FE_A_INTS, ""},
    {"replaced_value_float", FE_A_FLOAT, "0"},
    {"replaced_value_int64", FE_A_INT, "0"},
    {0}};
static const fe_attr_def vectorizer_attrs[] = {
    {"inputdimensions", FE_A_INTS, ""}, {0}};
static const fe_attr_def one_hot_attrs[] = {{"cats_int64s", FE_A_INTS, ""},
                                            {"cats_strings", FE_A_STRINGS, ""},
                                            {"zeros", FE_A_INT, "1"},
                                            {0}};
#define NUMBERS "T=f32,f64,i64,i32;Y=f32"

const fe_op_row fe_family_ml_features[] = {
    FE_ML_ROW("Binarizer", 1, "X:T", "Y:T", "T=f32,f64,i64,i32",
              binarizer_attrs, expand_binarizer, NULL),
    FE_ML_ROW("Scaler", 1, "X:T", "Y:Y", NUMBERS, scaler_attrs, expand_scaler,
              NULL),
    FE_ML_ROW("Normalizer", 1, "X:T", "Y:Y", NUMBERS, normalizer_attrs,
              expand_normalizer, NULL),
    FE_ML_ROW("Imputer", 1, "X:T", "Y:T", "T=f32,f64,i64,i32", imputer_attrs,
              expand_imputer, NULL),
    FE_ML_ROW("FeatureVectorizer", 1, "X*:T", "Y:Y", NUMBERS, vectorizer_attrs,
              expand_vectorizer, NULL),
    FE_ML_ROW("ArrayFeatureExtractor", 1, "X:T, Y:I", "Z:T",
              "T=f32,f64,i64,i32,str;I=i64", NULL, expand_extractor, NULL),
    FE_ML_ROW("OneHotEncoder", 1, "X:T", "Y:Y", "T=f32,f64,i64,i32,str;Y=f32",
              one_hot_attrs, expand_one_hot, NULL),
    {0}};
