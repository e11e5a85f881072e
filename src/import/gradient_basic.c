//===- gradient_basic.c - derivatives of elements, products ------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "import/gradient.h"

#include <math.h>
#include <string.h>

static MlirValue d_same(const fe_step *s) { return s->dy; }
static MlirValue d_minus(const fe_step *s) { return fe_d_one(s, "Neg", s->dy); }
static MlirValue d_mul_0(const fe_step *s) {
  return fe_d_mul(s, s->dy, s->x[1]);
}
static MlirValue d_mul_1(const fe_step *s) {
  return fe_d_mul(s, s->dy, s->x[0]);
}
static MlirValue d_div_0(const fe_step *s) {
  return fe_d_two(s, "Div", s->dy, s->x[1]);
}
static MlirValue d_div_1(const fe_step *s) {
  return fe_d_one(s, "Neg",
                  fe_d_two(s, "Div", fe_d_mul(s, s->dy, s->y), s->x[1]));
}
static MlirValue d_pow_0(const fe_step *s) {
  MlirValue less = fe_d_two(s, "Sub", s->x[1],
                            fe_constant_scalar(s->ir, fe_d_type(s->x[1]), 1));
  MlirValue by = s->x[1];
  if (fe_d_type(by) != fe_d_type(s->dy))
    by = fe_d_cast(s, by, fe_d_type(s->dy));
  return fe_d_mul(s, fe_d_mul(s, s->dy, by), fe_d_two(s, "Pow", s->x[0], less));
}
static MlirValue d_pow_1(const fe_step *s) {
  return fe_d_mul(s, fe_d_mul(s, s->dy, s->y), fe_d_one(s, "Log", s->x[0]));
}
static MlirValue d_exp(const fe_step *s) { return fe_d_mul(s, s->dy, s->y); }
static MlirValue d_log(const fe_step *s) {
  return fe_d_two(s, "Div", s->dy, s->x[0]);
}
static MlirValue d_sqrt(const fe_step *s) {
  return fe_d_two(s, "Div", fe_d_scaled(s, 0.5, s->dy), s->y);
}
static MlirValue d_reciprocal(const fe_step *s) {
  return fe_d_one(s, "Neg", fe_d_mul(s, s->dy, fe_d_mul(s, s->y, s->y)));
}
static MlirValue d_sin(const fe_step *s) {
  return fe_d_mul(s, s->dy, fe_d_one(s, "Cos", s->x[0]));
}
static MlirValue d_cos(const fe_step *s) {
  return fe_d_one(s, "Neg", fe_d_mul(s, s->dy, fe_d_one(s, "Sin", s->x[0])));
}
static MlirValue d_sinh(const fe_step *s) {
  return fe_d_mul(s, s->dy, fe_d_one(s, "Cosh", s->x[0]));
}
static MlirValue d_cosh(const fe_step *s) {
  return fe_d_mul(s, s->dy, fe_d_one(s, "Sinh", s->x[0]));
}
static MlirValue d_tanh(const fe_step *s) {
  return fe_d_mul(
      s, s->dy, fe_d_two(s, "Sub", fe_d_number(s, 1), fe_d_mul(s, s->y, s->y)));
}
static MlirValue d_sigmoid(const fe_step *s) {
  return fe_d_mul(
      s, s->dy, fe_d_mul(s, s->y, fe_d_two(s, "Sub", fe_d_number(s, 1), s->y)));
}
static MlirValue d_softplus(const fe_step *s) {
  return fe_d_mul(s, s->dy, fe_d_one(s, "Sigmoid", s->x[0]));
}
static MlirValue d_abs(const fe_step *s) {
  return fe_d_mul(s, s->dy, fe_d_one(s, "Sign", s->x[0]));
}
static MlirValue d_erf(const fe_step *s) {
  MlirValue bell =
      fe_d_one(s, "Exp", fe_d_one(s, "Neg", fe_d_mul(s, s->x[0], s->x[0])));
  return fe_d_mul(s, s->dy,
                  fe_d_scaled(s, 2 / sqrt(3.14159265358979323846), bell));
}
static MlirValue d_relu(const fe_step *s) {
  return fe_d_where(s, fe_d_two(s, "Greater", s->x[0], fe_d_number(s, 0)),
                    s->dy, fe_d_number(s, 0));
}
static MlirValue d_leaky_relu(const fe_step *s) {
  double alpha = fe_attr_f64(s->op, "alpha", 0.01);
  return fe_d_where(s, fe_d_two(s, "Less", s->x[0], fe_d_number(s, 0)),
                    fe_d_scaled(s, alpha, s->dy), s->dy);
}
/// Of equal operands the first counts.
static MlirValue d_max_0(const fe_step *s) {
  return fe_d_where(s, fe_d_two(s, "GreaterOrEqual", s->x[0], s->x[1]), s->dy,
                    fe_d_number(s, 0));
}
static MlirValue d_max_1(const fe_step *s) {
  return fe_d_where(s, fe_d_two(s, "GreaterOrEqual", s->x[0], s->x[1]),
                    fe_d_number(s, 0), s->dy);
}
static MlirValue d_min_0(const fe_step *s) {
  return fe_d_where(s, fe_d_two(s, "LessOrEqual", s->x[0], s->x[1]), s->dy,
                    fe_d_number(s, 0));
}
static MlirValue d_min_1(const fe_step *s) {
  return fe_d_where(s, fe_d_two(s, "LessOrEqual", s->x[0], s->x[1]),
                    fe_d_number(s, 0), s->dy);
}
static MlirValue d_where_1(const fe_step *s) {
  return fe_d_where(s, s->x[0], s->dy, fe_d_number(s, 0));
}
static MlirValue d_where_2(const fe_step *s) {
  return fe_d_where(s, s->x[0], fe_d_number(s, 0), s->dy);
}
static MlirValue d_cast(const fe_step *s) {
  return fe_d_cast(s, s->dy, fe_d_type(s->x[0]));
}
static MlirValue d_reshape(const fe_step *s) {
  return fe_d_reshaped(s, s->dy, s->x[0]);
}
static MlirValue d_transpose(const fe_step *s) {
  int64_t perm[FE_MAX_RANK], back[FE_MAX_RANK] = {0};
  unsigned rank = fe_rank(s->y);
  unsigned n = fe_attr_i64s(s->op, "perm", perm, FE_MAX_RANK);
  for (unsigned i = 0; i < rank; i++)
    back[n ? perm[i] : rank - 1 - i] = i;
  return fe_d_transposed(s, s->dy, rank, back);
}

/// A vector as a matrix: one row (operand 0) or one column (operand 1).
static MlirValue as_matrix(const fe_step *s, MlirValue v, unsigned operand) {
  int64_t axis = operand;
  if (fe_rank(v) != 1)
    return v;
  return fe_d_two(s, "Unsqueeze", v, fe_constant_i64s(s->ir, 1, &axis));
}

static MlirValue d_matmul(const fe_step *s, unsigned operand) {
  MlirValue a = as_matrix(s, s->x[0], 0), b = as_matrix(s, s->x[1], 1);
  MlirValue dy = s->dy;
  int64_t column = -1, row = -2;
  if (fe_rank(s->x[1]) == 1)
    dy = fe_d_two(s, "Unsqueeze", dy, fe_constant_i64s(s->ir, 1, &column));
  if (fe_rank(s->x[0]) == 1)
    dy = fe_d_two(s, "Unsqueeze", dy, fe_constant_i64s(s->ir, 1, &row));
  MlirValue d = operand ? fe_d_two(s, "MatMul", fe_d_flipped(s, a), dy)
                        : fe_d_two(s, "MatMul", dy, fe_d_flipped(s, b));
  d = fe_d_sum_to(s, d, operand ? b : a);
  MlirValue like = s->x[operand];
  return fe_rank(like) == 1 ? fe_d_reshaped(s, d, like) : d;
}
static MlirValue d_matmul_0(const fe_step *s) { return d_matmul(s, 0); }
static MlirValue d_matmul_1(const fe_step *s) { return d_matmul(s, 1); }

static MlirValue d_gemm(const fe_step *s, unsigned operand) {
  bool trans[2] = {fe_attr_i64(s->op, "transA", 0),
                   fe_attr_i64(s->op, "transB", 0)};
  MlirValue dy = fe_d_scaled(s, fe_attr_f64(s->op, "alpha", 1), s->dy);
  MlirValue other = s->x[!operand];
  // The other factor transposed, unless it is so already.
  if (!trans[!operand])
    other = fe_d_flipped(s, other);
  MlirValue d = operand ? fe_d_two(s, "MatMul", other, dy)
                        : fe_d_two(s, "MatMul", dy, other);
  return trans[operand] ? fe_d_flipped(s, d) : d;
}
static MlirValue d_gemm_0(const fe_step *s) { return d_gemm(s, 0); }
static MlirValue d_gemm_1(const fe_step *s) { return d_gemm(s, 1); }
static MlirValue d_gemm_2(const fe_step *s) {
  return fe_d_scaled(s, fe_attr_f64(s->op, "beta", 1), s->dy);
}

static MlirValue d_sum(const fe_step *s) {
  MlirValue dy = s->dy;
  bool all = fe_is_null(s->x[1]) || mlirTypeIsANone(mlirValueGetType(s->x[1]));
  if (all && fe_attr_i64(s->op, "noop_with_empty_axes", 0))
    return dy;
  if (!all && !fe_attr_i64(s->op, "keepdims", 1))
    dy = fe_d_two(s, "Unsqueeze", dy, s->x[1]);
  return fe_d_expanded(s, dy, s->x[0]);
}
static MlirValue d_mean(const fe_step *s) {
  MlirValue n[2] = {fe_d_one(s, "Size", s->x[0]), fe_d_one(s, "Size", s->y)};
  for (unsigned i = 0; i < 2; i++)
    n[i] = fe_d_cast(s, n[i], fe_d_type(s->dy));
  return fe_d_two(s, "Div", d_sum(s), fe_d_two(s, "Div", n[0], n[1]));
}
static MlirValue d_softmax(const fe_step *s) {
  int64_t axis = fe_attr_i64(s->op, "axis", -1);
  MlirValue sum = fe_d_summed(s, fe_d_mul(s, s->dy, s->y), 1, &axis, true);
  return fe_d_mul(s, fe_d_two(s, "Sub", s->dy, sum), s->y);
}
static MlirValue d_log_softmax(const fe_step *s) {
  int64_t axis = fe_attr_i64(s->op, "axis", -1);
  MlirValue sum = fe_d_summed(s, s->dy, 1, &axis, true);
  return fe_d_two(s, "Sub", s->dy, fe_d_mul(s, fe_d_one(s, "Exp", s->y), sum));
}

const fe_derivative fe_d_basic[] = {
    {"Add", .by = {d_same, d_same}},
    {"Sub", .by = {d_same, d_minus}},
    {"Mul", .by = {d_mul_0, d_mul_1}},
    {"Div", .by = {d_div_0, d_div_1}},
    {"Pow", .by = {d_pow_0, d_pow_1}},
    {"Max", .by = {d_max_0, d_max_1}},
    {"Min", .by = {d_min_0, d_min_1}},
    {"Where", .by = {NULL, d_where_1, d_where_2}},
    {"Neg", .by = {d_minus}},
    {"Exp", .by = {d_exp}},
    {"Log", .by = {d_log}},
    {"Sqrt", .by = {d_sqrt}},
    {"Reciprocal", .by = {d_reciprocal}},
    {"Sin", .by = {d_sin}},
    {"Cos", .by = {d_cos}},
    {"Sinh", .by = {d_sinh}},
    {"Cosh", .by = {d_cosh}},
    {"Tanh", .by = {d_tanh}},
    {"Sigmoid", .by = {d_sigmoid}},
    {"Softplus", .by = {d_softplus}},
    {"Relu", .by = {d_relu}},
    {"LeakyRelu", .by = {d_leaky_relu}},
    {"Abs", .by = {d_abs}},
    {"Erf", .by = {d_erf}},
    {"Cast", .by = {d_cast}},
    {"Reshape", .by = {d_reshape}},
    {"Squeeze", .by = {d_reshape}},
    {"Unsqueeze", .by = {d_reshape}},
    {"Flatten", .by = {d_reshape}},
    {"Expand", .by = {d_same}},
    {"Transpose", .by = {d_transpose}},
    {"MatMul", .by = {d_matmul_0, d_matmul_1}},
    {"Gemm", .by = {d_gemm_0, d_gemm_1, d_gemm_2}},
    {"ReduceSum", .by = {d_sum}},
    {"ReduceMean", .by = {d_mean}},
    {"Softmax", .by = {d_softmax}},
    {"LogSoftmax", .by = {d_log_softmax}},
    {0}};
