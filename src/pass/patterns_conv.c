//===- patterns_conv.c - what folds into convolutions ---------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Affine maps per output channel after a convolution with constant weights go
// into its weights and bias; zero padding before one goes into its pads;
// averages of what a 1x1 convolution computes are taken before it.
// Arithmetic on weights is done in double and rounded once.
//
//===----------------------------------------------------------------------===//
#include "pass/rewrite.h"

#include <math.h>
#include <string.h>

/// A convolution whose only user is the op at hand, with f32 constants.
typedef struct fe_conv_parts {
  MlirOperation op;
  MlirValue x;
  fe_const weights, bias; // bias.data NULL: none
  int64_t dims[FE_MAX_RANK];
  unsigned rank;
  bool transposed;  // ConvTranspose: weights [in][out][kernel]
  int64_t channels; // of the output
  int64_t run;      // weights of one output channel that lie together
} fe_conv_parts;

static bool is_conv(fe_ir *ir, MlirValue v, fe_conv_parts *c) {
  memset(c, 0, sizeof *c);
  c->op = fe_def(v);
  c->transposed = fe_op_is(c->op, "onnx.conv_transpose");
  if ((!fe_op_is(c->op, "onnx.conv") && !c->transposed) || fe_n_uses(v) != 1 ||
      (c->transposed && fe_attr_i64(c->op, "group", 1) != 1))
    return false;
  c->x = fe_operand(c->op, 0);
  MlirValue w = fe_operand(c->op, 1);
  fe_dims d;
  if (!fe_const_of(ir, w, &c->weights) || c->weights.dtype != FE_F32 ||
      !fe_dims_of(ir, w, &d) || d.rank < 2)
    return false;
  for (unsigned i = 0; i < d.rank; i++)
    c->dims[i] = fe_dim_static(d.d[i]);
  c->rank = d.rank;
  int64_t outer = c->transposed ? c->dims[0] : 1;
  c->channels = c->dims[c->transposed];
  c->run = c->channels && outer ? c->weights.count / c->channels / outer : 0;
  MlirValue b = fe_operand(c->op, 2);
  if (!fe_is_null(b) && !mlirTypeIsANone(mlirValueGetType(b)) &&
      (!fe_const_of(ir, b, &c->bias) || c->bias.dtype != FE_F32))
    return false;
  return c->channels > 0 && c->run > 0;
}

/// New convolution: y = old * scale[channel] + shift[channel], instead of the
/// result of `op`.
static bool replace_scaled(fe_ir *ir, MlirOperation op, const fe_conv_parts *c,
                           const double *scale, const double *shift) {
  const fe_float_at *w = c->weights.data, *b = c->bias.data;
  float *new_w = fe_alloc(ir->arena, (size_t)c->weights.count * sizeof *new_w);
  float *new_b = FE_NEW_N(ir->arena, float, (size_t)c->channels);
  for (int64_t at = 0, k = 0; at < c->weights.count;
       k = k + 1 < c->channels ? k + 1 : 0)
    for (int64_t i = 0; i < c->run; i++, at++)
      new_w[at] = (float)(w[at] * scale[k]);
  for (int64_t k = 0; k < c->channels; k++)
    new_b[k] = (float)((b ? b[k] : 0.0) * scale[k] + shift[k]);
  MlirValue in[3] = {
      c->x, fe_constant(ir, "folded.weight", FE_F32, c->rank, c->dims, new_w),
      fe_constant(ir, "folded.bias", FE_F32, 1, &c->channels, new_b)};
  unsigned n = (unsigned)mlirOperationGetNumAttributes(c->op);
  MlirNamedAttribute *attrs = FE_NEW_N(ir->arena, MlirNamedAttribute, n + 1);
  for (unsigned i = 0; i < n; i++)
    attrs[i] = mlirOperationGetAttribute(c->op, i);
  MlirValue y = fe_first(fe_onnx(ir, c->transposed ? "ConvTranspose" : "Conv",
                                 3, in, 1, n, attrs));
  return fe_pattern_replace(op, y);
}

static bool channel_constant(fe_ir *ir, MlirValue v, int64_t channels,
                             fe_const *out) {
  return fe_const_of(ir, v, out) && out->dtype == FE_F32 &&
         out->count == channels;
}

static bool batch_norm(fe_ir *ir, MlirOperation op) {
  fe_conv_parts c;
  fe_const scale, bias, mean, var;
  if (fe_attr_i64(op, "training_mode", 0) ||
      !is_conv(ir, fe_operand(op, 0), &c) ||
      !channel_constant(ir, fe_operand(op, 1), c.channels, &scale) ||
      !channel_constant(ir, fe_operand(op, 2), c.channels, &bias) ||
      !channel_constant(ir, fe_operand(op, 3), c.channels, &mean) ||
      !channel_constant(ir, fe_operand(op, 4), c.channels, &var))
    return false;
  double epsilon = fe_attr_f64(op, "epsilon", 1e-5);
  double *a = FE_NEW_N(ir->arena, double, (size_t)c.channels);
  double *s = FE_NEW_N(ir->arena, double, (size_t)c.channels);
  for (int64_t k = 0; k < c.channels; k++) {
    a[k] = fe_const_f64(&scale, k) / sqrt(fe_const_f64(&var, k) + epsilon);
    s[k] = fe_const_f64(&bias, k) - fe_const_f64(&mean, k) * a[k];
  }
  return replace_scaled(ir, op, &c, a, s);
}

/// A constant that is one number, or one per channel: [1, C, 1, 1], [C, 1, 1].
static bool channel_operand(fe_ir *ir, MlirValue v, const fe_conv_parts *c,
                            fe_const *out) {
  fe_dims d;
  if (!fe_const_of(ir, v, out) || out->dtype != FE_F32 ||
      !fe_dims_of(ir, v, &d) || d.rank > c->rank)
    return false;
  if (out->count == 1)
    return true;
  if (out->count != c->channels || d.rank + 1 < c->rank)
    return false;
  return fe_dim_static(d.d[d.rank + 1 - c->rank]) == c->channels;
}

/// Constant added to or multiplied with the result of a convolution.
static bool scale_or_shift(fe_ir *ir, MlirOperation op, bool multiply) {
  for (unsigned side = 0; side < 2; side++) {
    fe_conv_parts c;
    fe_const k;
    if (!is_conv(ir, fe_operand(op, side), &c) ||
        !channel_operand(ir, fe_operand(op, 1 - side), &c, &k))
      continue;
    double *a = FE_NEW_N(ir->arena, double, (size_t)c.channels);
    double *s = FE_NEW_N(ir->arena, double, (size_t)c.channels);
    for (int64_t i = 0; i < c.channels; i++) {
      double v = fe_const_f64(&k, k.count == 1 ? 0 : i);
      a[i] = multiply ? v : 1;
      s[i] = multiply ? 0 : v;
    }
    return replace_scaled(ir, op, &c, a, s);
  }
  return false;
}

static bool add(fe_ir *ir, MlirOperation op) {
  return scale_or_shift(ir, op, false);
}

static bool mul(fe_ir *ir, MlirOperation op) {
  return scale_or_shift(ir, op, true);
}

/// Whether it computes each pixel from the one at its place.
static bool is_pointwise(const fe_conv_parts *c) {
  int64_t v[2 * FE_MAX_RANK];
  if (c->transposed || c->rank < 3)
    return false;
  for (unsigned i = 2; i < c->rank; i++)
    if (c->dims[i] != 1)
      return false;
  static const struct {
    const char *name;
    int64_t value;
  } same[] = {{"strides", 1}, {"pads", 0}};
  for (size_t a = 0; a < FE_COUNT(same); a++) {
    int n = fe_attr_i64s(c->op, same[a].name, v, 2 * FE_MAX_RANK);
    for (int i = 0; i < n; i++)
      if (v[i] != same[a].value)
        return false;
  }
  return true;
}

static MlirValue again(fe_ir *ir, const char *name, MlirOperation op,
                       unsigned n_in, const MlirValue *in) {
  unsigned n = (unsigned)mlirOperationGetNumAttributes(op);
  MlirNamedAttribute *attrs = FE_NEW_N(ir->arena, MlirNamedAttribute, n + 1);
  for (unsigned i = 0; i < n; i++)
    attrs[i] = mlirOperationGetAttribute(op, i);
  return fe_first(fe_onnx(ir, name, n_in, in, 1, n, attrs));
}

/// An average of pixels that are each a sum over channels is the sum of the
/// averages: of fewer pixels. Where zeros of the padding are averaged, too, the
/// bias is not added to them.
static bool average(fe_ir *ir, MlirOperation op, bool global) {
  fe_conv_parts c;
  int64_t strides[FE_MAX_RANK], all = 1;
  int n = fe_attr_i64s(op, "strides", strides, FE_MAX_RANK);
  for (int i = 0; i < n; i++)
    all *= strides[i];
  if (!is_conv(ir, fe_operand(op, 0), &c) || !is_pointwise(&c) ||
      (!global && all < 2) ||
      (c.bias.data && fe_attr_i64(op, "count_include_pad", 0)))
    return false;
  MlirValue in[3] = {c.x, fe_operand(c.op, 1), fe_operand(c.op, 2)};
  in[0] = again(ir, global ? "GlobalAveragePool" : "AveragePool", op, 1, in);
  if (fe_is_null(in[0]))
    return false;
  return fe_pattern_replace(op,
                            again(ir, "Conv", c.op, c.bias.data ? 3 : 2, in));
}

static bool average_pool(fe_ir *ir, MlirOperation op) {
  return average(ir, op, false);
}

static bool global_average(fe_ir *ir, MlirOperation op) {
  return average(ir, op, true);
}

/// Zero padding of the spatial dims before a convolution.
static bool pad(fe_ir *ir, MlirOperation op) {
  MlirOperation p = fe_def(fe_operand(op, 0));
  char *mode = NULL, *auto_pad = NULL;
  if (!fe_op_is(p, "onnx.pad") || fe_n_uses(fe_result(p, 0)) != 1)
    return false;
  mode = (char *)fe_attr_str(ir->arena, p, "mode", "constant");
  auto_pad = (char *)fe_attr_str(ir->arena, op, "auto_pad", "NOTSET");
  double value = 0;
  MlirValue v = fe_operand(p, 2), axes = fe_operand(p, 3);
  if (strcmp(mode, "constant") || strcmp(auto_pad, "NOTSET"))
    return false;
  if (!fe_is_null(v) && !mlirTypeIsANone(mlirValueGetType(v)) &&
      (!fe_const_scalar(ir, v, &value) || value != 0))
    return false;
  if (!fe_is_null(axes) && !mlirTypeIsANone(mlirValueGetType(axes)))
    return false;
  int64_t amount[2 * FE_MAX_RANK], pads[2 * FE_MAX_RANK];
  int n = fe_const_ints(ir, fe_operand(p, 1), amount, 2 * FE_MAX_RANK);
  unsigned rank = (unsigned)n / 2, spatial = rank - 2;
  if (n < 6 || fe_attr_i64s(op, "pads", pads, 2 * FE_MAX_RANK) != 2 * spatial)
    return false;
  for (unsigned i = 0; i < rank; i++)
    if (amount[i] < 0 || amount[rank + i] < 0 ||
        (i < 2 && (amount[i] || amount[rank + i])))
      return false;
  for (unsigned i = 0; i < spatial; i++) {
    pads[i] += amount[2 + i];
    pads[spatial + i] += amount[rank + 2 + i];
  }
  unsigned n_in = fe_n_operands(op);
  MlirValue in[3] = {fe_operand(p, 0), fe_operand(op, 1), fe_operand(op, 2)};
  if (n_in < 3 || mlirTypeIsANone(mlirValueGetType(in[2])))
    in[2] = (MlirValue){0};
  unsigned n_attrs = (unsigned)mlirOperationGetNumAttributes(op);
  MlirNamedAttribute *attrs =
      FE_NEW_N(ir->arena, MlirNamedAttribute, n_attrs + 1);
  MlirNamedAttribute wider = fe_at_i64s(ir, "pads", 2 * spatial, pads);
  for (unsigned i = 0; i < n_attrs; i++) {
    attrs[i] = mlirOperationGetAttribute(op, i);
    if (mlirIdentifierEqual(attrs[i].name, wider.name))
      attrs[i] = wider;
  }
  MlirValue y = fe_first(fe_onnx(ir, "Conv", 3, in, 1, n_attrs, attrs));
  return fe_pattern_replace(op, y);
}

const fe_pattern fe_patterns_conv[] = {
    {"onnx.batch_normalization", batch_norm, "normalization after a Conv"},
    {"onnx.add", add, "constant added per channel after a Conv"},
    {"onnx.mul", mul, "constant factor per channel after a Conv"},
    {"onnx.conv", pad, "zero padding before a Conv"},
    {"onnx.average_pool", average_pool,
     "average of fewer pixels before a 1x1 Conv"},
    {"onnx.global_average_pool", global_average, "the same of all pixels"},
    {0}};
