//===- ml.c - what the ai.onnx.ml families share
//---------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These operators are rewritten at import into those of the default domain,
// which fuse. Where the standard is silent (two classes with one score, votes)
// they do as ONNX Runtime does; docs/semantics.md has the list.
//
//===----------------------------------------------------------------------===//
#include "op/ml.h"
#include "op/text.h"

#include <string.h>

const fe_node_attr *fe_ml_attr(fe_node *n, const char *name) {
  const fe_node_attr *a = fe_node_attr_find(n, name);
  return a && (a->n || a->kind == FE_A_INT || a->kind == FE_A_FLOAT ||
               a->kind == FE_A_TENSOR)
             ? a
             : NULL;
}

MlirValue fe_ml_strings(fe_ir *ir, unsigned rank, size_t count,
                        const char *const *v) {
  int64_t n = (int64_t)count;
  fe_text *text = FE_NEW_N(ir->arena, fe_text, count + 1);
  for (size_t i = 0; i < count; ++i)
    text[i] = fe_text_of(v[i]);
  return fe_constant(ir, NULL, FE_STRING, rank, &n, text);
}

MlirValue fe_ml_floats(fe_ir *ir, size_t count, const float *v) {
  int64_t n = (int64_t)count;
  return fe_constant(ir, NULL, FE_F32, 1, &n,
                     fe_memdup(ir->arena, v, count * sizeof *v));
}

MlirValue fe_ml_number(fe_ir *ir, double v) {
  return fe_constant_scalar(ir, FE_F32, v);
}

MlirValue fe_ml_with(fe_ir *ir, const char *op, unsigned n, const MlirValue *in,
                     const char *name, int64_t v) {
  MlirNamedAttribute a = fe_at_i64(ir, name, v);
  return fe_first(fe_onnx(ir, op, n, in, 1, 1, &a));
}

MlirValue fe_ml_beside(fe_ir *ir, MlirValue a, MlirValue b) {
  return fe_x_concat(ir, 1, 2, (MlirValue[]){a, b});
}

MlirValue fe_ml_as_row(fe_ir *ir, MlirValue v) {
  return fe_x_reshape(ir, v, 2, (int64_t[]){1, -1});
}

//===-- What follows the scores ---------------------------------------------//

static MlirValue softmax_zero(fe_ir *ir, MlirValue v) {
  MlirValue most = fe_onnx1(ir, "ReduceMax", v, fe_x_int(ir, -1));
  MlirValue large = fe_onnx1(ir, "Exp", fe_onnx1(ir, "Sub", v, most));
  MlirValue small =
      fe_onnx1(ir, "Mul", v, fe_onnx1(ir, "Exp", fe_onnx1(ir, "Neg", most)));
  MlirValue counts =
      fe_onnx1(ir, "Greater", fe_onnx1(ir, "Abs", v), fe_ml_number(ir, 1e-7));
  MlirValue e = fe_onnx1(ir, "Where", counts, large, small);
  return fe_onnx1(ir, "Div", e, fe_onnx1(ir, "ReduceSum", e, fe_x_int(ir, -1)));
}

/// log(1 - t), of which u is 1 - t, rounded.
static MlirValue log_of_rest(fe_ir *ir, MlirValue t, MlirValue u) {
  MlirValue one = fe_ml_number(ir, 1), off = fe_onnx1(ir, "Sub", one, u);
  MlirValue log =
      fe_onnx1(ir, "Mul", fe_onnx1(ir, "Log", u), fe_onnx1(ir, "Div", t, off));
  return fe_onnx1(ir, "Where", fe_onnx1(ir, "Equal", u, one),
                  fe_onnx1(ir, "Neg", t), log);
}

/// sqrt(2) times the inverse of erf at 2 v - 1, by Winitzki's approximation, in
/// forms of it that do not cancel.
static MlirValue probit(fe_ir *ir, MlirValue v) {
  MlirValue one = fe_ml_number(ir, 1);
  MlirValue x =
      fe_onnx1(ir, "Sub", fe_onnx1(ir, "Mul", v, fe_ml_number(ir, 2)), one);
  MlirValue rest = // 1 - x^2
      fe_onnx1(ir, "Mul", fe_onnx1(ir, "Mul", v, fe_ml_number(ir, 4)),
               fe_onnx1(ir, "Sub", one, v));
  MlirValue log = log_of_rest(ir, fe_onnx1(ir, "Mul", x, x), rest);
  MlirValue a =
      fe_onnx1(ir, "Add", fe_ml_number(ir, 2 / (3.14159265358979 * 0.147)),
               fe_onnx1(ir, "Mul", log, fe_ml_number(ir, 0.5)));
  MlirValue b = fe_onnx1(ir, "Mul", log, fe_ml_number(ir, 1 / 0.147));
  MlirValue root =
      fe_onnx1(ir, "Sqrt", fe_onnx1(ir, "Sub", fe_onnx1(ir, "Mul", a, a), b));
  MlirValue quotient = // root - a
      fe_onnx1(ir, "Div", fe_onnx1(ir, "Neg", b), fe_onnx1(ir, "Add", root, a));
  MlirValue positive = fe_onnx1(ir, "Greater", a, fe_ml_number(ir, 0));
  MlirValue y = fe_onnx1(
      ir, "Sqrt",
      fe_onnx1(ir, "Where", positive, quotient, fe_onnx1(ir, "Sub", root, a)));
  y = fe_onnx1(ir, "Mul", fe_onnx1(ir, "Sign", x), y);
  return fe_onnx1(ir, "Mul", y, fe_ml_number(ir, 1.41421356));
}

const char *fe_ml_text(fe_node *n, const char *name, const char *absent) {
  const fe_node_attr *a = fe_ml_attr(n, name);
  return a && a->kind == FE_A_STRING ? a->s : absent;
}

fe_status fe_ml_post(fe_node *n, const char *name, MlirValue *v) {
  fe_ir *ir = n->ir;
  if (!strcmp(name, "SOFTMAX"))
    *v = fe_ml_with(ir, "softmax", 1, v, "axis", -1);
  else if (!strcmp(name, "LOGISTIC"))
    *v = fe_onnx1(ir, "Sigmoid", *v);
  else if (!strcmp(name, "SOFTMAX_ZERO"))
    *v = softmax_zero(ir, *v);
  else if (!strcmp(name, "PROBIT"))
    *v = probit(ir, *v);
  else if (strcmp(name, "NONE"))
    return fe_node_refuse(n, "post_transform", "there is no such transform");
  return fe_is_null(*v) ? FE_FAILED : FE_OK;
}

fe_status fe_ml_two_classes(fe_node *n, bool distance, MlirValue *v) {
  fe_ir *ir = n->ir;
  const char *post = fe_ml_text(n, "post_transform", "NONE");
  bool logistic = !strcmp(post, "LOGISTIC");
  MlirValue other = distance || logistic
                        ? fe_onnx1(ir, "Neg", *v)
                        : fe_onnx1(ir, "Sub", fe_ml_number(ir, 1), *v);
  *v = fe_ml_beside(ir, other, *v);
  if (logistic || !strcmp(post, "PROBIT"))
    return fe_ml_post(n, post, v);
  return fe_is_null(*v) ? FE_FAILED : FE_OK;
}

//===-- Linear functions ---------------------------------------------------//

MlirValue fe_ml_matrix(fe_ir *ir, int64_t rows, int64_t columns,
                       const float *v) {
  int64_t dims[2] = {rows, columns};
  return fe_constant(
      ir, NULL, FE_F32, 2, dims,
      fe_memdup(ir->arena, v, (size_t)(rows * columns) * sizeof *v));
}

MlirValue fe_ml_products(fe_ir *ir, MlirValue x, int64_t rows, int64_t columns,
                         const float *v) {
  float *t = FE_NEW_N(ir->arena, float, (size_t)(rows * columns) + 1);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      t[j * rows + i] = v[i * columns + j];
  return fe_onnx1(ir, "MatMul", x, fe_ml_matrix(ir, columns, rows, t));
}

MlirValue fe_ml_features(fe_node *n, int64_t columns) {
  fe_dims d;
  MlirValue x = n->in.n == 1 ? n->in.at[0] : (MlirValue){0};
  if (fe_is_null(x) || !fe_dims_of(n->ir, x, &d) || d.rank < 1 || d.rank > 2) {
    (void)fe_node_refuse(n, NULL, "the input must be a matrix");
    return (MlirValue){0};
  }
  int64_t given = fe_dim_static(d.d[d.rank - 1]);
  if (given != FE_DYN && given != columns) {
    (void)fe_node_refuse(n, "coefficients",
                         "the coefficients do not fit the number of features");
    return (MlirValue){0};
  }
  x = fe_x_cast(n->ir, x, FE_F32);
  if (d.rank == 1)
    x = fe_ml_as_row(n->ir, x);
  return x;
}

//===-- Classes -------------------------------------------------------------//

fe_status fe_ml_read_labels(fe_node *n, const char *ints, const char *strings,
                            fe_ml_labels *out) {
  const fe_node_attr *i = fe_ml_attr(n, ints), *s = fe_ml_attr(n, strings);
  if ((i != NULL) == (s != NULL))
    return fe_node_refuse(n, ints,
                          i ? "classes have names of one kind, not of both"
                            : "the classes have no names");
  *out = i ? (fe_ml_labels){.n = i->n, .ints = i->ints}
           : (fe_ml_labels){.n = s->n, .strings = s->strings};
  return FE_OK;
}

/// Labels [from, from + n), as a tensor of rank 1 or 0.
static MlirValue label_table(fe_ir *ir, const fe_ml_labels *l, size_t from,
                             size_t n, unsigned rank) {
  int64_t dim = (int64_t)n;
  if (!l->strings)
    return fe_constant(ir, NULL, FE_I64, rank, &dim,
                       fe_memdup(ir->arena, l->ints + from, n * 8));
  return fe_ml_strings(ir, rank, n, l->strings + from);
}

MlirValue fe_ml_best(fe_ir *ir, MlirValue scores, const fe_ml_labels *labels) {
  MlirNamedAttribute attrs[2] = {fe_at_i64(ir, "axis", 1),
                                 fe_at_i64(ir, "keepdims", 0)};
  MlirValue index = fe_first(fe_onnx(ir, "arg_max", 1, &scores, 1, 2, attrs));
  return fe_onnx1(ir, "Gather", label_table(ir, labels, 0, labels->n, 1),
                  index);
}

MlirValue fe_ml_choose(fe_ir *ir, MlirValue cond, const fe_ml_labels *labels,
                       size_t yes, size_t no) {
  int64_t flat = -1;
  cond = fe_onnx1(ir, "Reshape", cond, fe_constant_i64s(ir, 1, &flat));
  return fe_onnx1(ir, "Where", cond, label_table(ir, labels, yes, 1, 0),
                  label_table(ir, labels, no, 1, 0));
}

MlirValue fe_ml_above(fe_ir *ir, MlirValue score, double threshold,
                      const fe_ml_labels *labels) {
  return fe_ml_choose(
      ir, fe_onnx1(ir, "Greater", score, fe_ml_number(ir, threshold)), labels,
      1, 0);
}

fe_status fe_ml_classified(const fe_node *n, MlirValue label, MlirValue scores,
                           MlirValue *results) {
  if (n->n_out > 1)
    results[1] = scores;
  return fe_node_done(label, results);
}
