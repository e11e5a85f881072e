//===- patterns_quantized.c - quantized convolutions in floats ------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sums of a quantized convolution with constant weights are computed by a
// float convolution of the same whole numbers, whose kernels are the best there
// are. Floats hold whole numbers exactly up to 2^24. Where the weights cannot
// exceed that, all is exact; else a sum is off by a few units in 2^24, which a
// QLinearConv scales down to much less than one step of its result. A
// ConvInteger must be exact.
//
//===----------------------------------------------------------------------===//
#include "pass/rewrite.h"

#include <math.h>
#include <string.h>

enum { MAX_EXACT = 1 << 24 };

static bool present(MlirValue v) {
  return !fe_is_null(v) && !mlirTypeIsANone(mlirValueGetType(v));
}

/// One number or one per filter; absent: 0.
typedef struct parameter {
  fe_const c;
  bool given;
} parameter;

static bool read_parameter(fe_ir *ir, MlirValue v, int64_t filters,
                           parameter *p) {
  p->given = present(v);
  return !p->given || (fe_const_of(ir, v, &p->c) &&
                       (p->c.count == 1 || p->c.count == filters));
}

static double parameter_at(const parameter *p, int64_t filter) {
  if (!p->given)
    return 0;
  return fe_const_f64(&p->c, p->c.count == 1 ? 0 : filter);
}

/// The weights minus their zero points, in f32. `largest`: of the sums of
/// their absolute values.
static MlirValue float_weights(fe_ir *ir, MlirValue w, const parameter *zero,
                               double *largest) {
  fe_const c;
  fe_dims d;
  int64_t dims[FE_MAX_RANK];
  if (!fe_const_of(ir, w, &c) || !fe_dims_of(ir, w, &d) || d.rank < 3)
    return (MlirValue){0};
  for (unsigned i = 0; i < d.rank; i++)
    dims[i] = fe_dim_static(d.d[i]);
  float *out = FE_NEW_N(ir->arena, float, (size_t)c.count + 1);
  int64_t each = dims[0] ? c.count / dims[0] : 0;
  *largest = 0;
  for (int64_t k = 0; k < dims[0]; k++) {
    double sum = 0, z = parameter_at(zero, k);
    for (int64_t i = k * each; i < (k + 1) * each; i++) {
      double v = fe_const_f64(&c, i) - z;
      out[i] = (float)v;
      sum += fabs(v);
    }
    *largest = sum > *largest ? sum : *largest;
  }
  return fe_constant(ir, "integer.weight", FE_F32, d.rank, dims, out);
}

/// x minus its zero point, in f32, convolved.
static MlirValue float_conv(fe_ir *ir, MlirOperation op, MlirValue x,
                            const parameter *x_zero, MlirValue w,
                            MlirValue bias) {
  MlirNamedAttribute to = fe_at_i64(ir, "to", FE_F32);
  MlirValue v = fe_first(fe_onnx(ir, "Cast", 1, &x, 1, 1, &to));
  double zero = parameter_at(x_zero, 0);
  if (zero != 0)
    v = fe_onnx1(ir, "Sub", v, fe_constant_scalar(ir, FE_F32, zero));
  unsigned n = (unsigned)mlirOperationGetNumAttributes(op);
  MlirNamedAttribute *attrs = FE_NEW_N(ir->arena, MlirNamedAttribute, n + 1);
  for (unsigned i = 0; i < n; i++)
    attrs[i] = mlirOperationGetAttribute(op, i);
  MlirValue in[3] = {v, w, bias};
  return fe_first(fe_onnx(ir, "Conv", 3, in, 1, n, attrs));
}

static bool replace(MlirOperation op, MlirValue v) {
  MlirValue old = fe_result(op, 0);
  if (fe_is_null(v) ||
      !mlirTypeEqual(mlirValueGetType(v), mlirValueGetType(old)))
    return false;
  fe_replace(old, v);
  return true;
}

static int64_t filters_of(fe_ir *ir, MlirValue w) {
  fe_dims d;
  int64_t n = fe_dims_of(ir, w, &d) && d.rank > 2 ? fe_dim_static(d.d[0]) : 0;
  return n == FE_DYN ? 0 : n;
}

static bool conv_integer(fe_ir *ir, MlirOperation op) {
  MlirValue x = fe_operand(op, 0), w = fe_operand(op, 1);
  parameter x_zero, w_zero;
  int64_t filters = filters_of(ir, w);
  double sum;
  if (!filters || !read_parameter(ir, fe_operand(op, 2), 1, &x_zero) ||
      !read_parameter(ir, fe_operand(op, 3), filters, &w_zero))
    return false;
  double zero = parameter_at(&x_zero, 0);
  bool is_unsigned = fe_dtype_of_elem(fe_elem_of(x)) == FE_U8;
  double low = is_unsigned ? 0 : -128, high = low + 255;
  MlirValue weights = float_weights(ir, w, &w_zero, &sum);
  if (fe_is_null(weights) ||
      sum * fmax(fabs(low - zero), fabs(high - zero)) >= MAX_EXACT)
    return false;
  MlirValue v = float_conv(ir, op, x, &x_zero, weights, (MlirValue){0});
  MlirNamedAttribute to = fe_at_i64(ir, "to", FE_I32);
  return replace(op, fe_first(fe_onnx(ir, "Cast", 1, &v, 1, 1, &to)));
}

static bool q_linear_conv(fe_ir *ir, MlirOperation op) {
  enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, B };
  MlirValue w = fe_operand(op, W), bias = fe_operand(op, B);
  int64_t filters = filters_of(ir, w), one = 1;
  parameter p[B + 1];
  for (unsigned i = X_SCALE; i <= B; i++) {
    bool per_filter = i == W_SCALE || i == W_ZERO || i == B;
    if (i != W &&
        (!filters || !read_parameter(ir, fe_operand(op, i),
                                     per_filter ? filters : one, &p[i])))
      return false;
  }
  double sum;
  MlirValue weights = float_weights(ir, w, &p[W_ZERO], &sum);
  if (fe_is_null(weights))
    return false;
  MlirValue float_bias = {0};
  float *b = FE_NEW_N(ir->arena, float, (size_t)filters);
  float *step = FE_NEW_N(ir->arena, float, (size_t)filters);
  for (int64_t k = 0; k < filters; k++) {
    b[k] = (float)parameter_at(&p[B], k);
    step[k] = (float)parameter_at(&p[Y_SCALE], 0) /
              ((float)parameter_at(&p[X_SCALE], 0) *
               (float)parameter_at(&p[W_SCALE], k));
  }
  if (present(bias))
    float_bias = fe_constant(ir, "integer.bias", FE_F32, 1, &filters, b);
  MlirValue v =
      float_conv(ir, op, fe_operand(op, X), &p[X_ZERO], weights, float_bias);
  // [K, 1, 1]; a division, because factors are folded into the weights, which
  // would not be whole numbers any more.
  int64_t dims[FE_MAX_RANK] = {p[W_SCALE].c.count == 1 ? 1 : filters};
  fe_dims d;
  if (!fe_dims_of(ir, w, &d))
    return false;
  for (unsigned i = 1; i + 1 < d.rank; i++)
    dims[i] = 1;
  MlirValue steps = fe_constant(ir, "step", FE_F32, d.rank - 1, dims, step);
  v = fe_onnx1(ir, "Round", fe_onnx1(ir, "Div", v, steps));
  double zero = parameter_at(&p[Y_ZERO], 0);
  if (zero != 0)
    v = fe_onnx1(ir, "Add", v, fe_constant_scalar(ir, FE_F32, zero));
  fe_dtype t = fe_dtype_of_elem(fe_elem_of(fe_result(op, 0)));
  double low = t == FE_U8 ? 0 : -128;
  v = fe_onnx1(ir, "Clip", v, fe_constant_scalar(ir, FE_F32, low),
               fe_constant_scalar(ir, FE_F32, low + 255));
  MlirNamedAttribute to = fe_at_i64(ir, "to", t);
  return replace(op, fe_first(fe_onnx(ir, "Cast", 1, &v, 1, 1, &to)));
}

const fe_pattern fe_patterns_quantized[] = {
    {"onnx.conv_integer", conv_integer, "sums of whole numbers in floats"},
    {"onnx.q_linear_conv", q_linear_conv, "the same, scaled and rounded"},
    {0}};
