//===- gradient_composed.c - operators by others -----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators written in others whose derivatives are known, and what is shorter
// by itself. Only the derivatives of these expressions are used; where a branch
// is not taken, nothing of it may be infinite.
//
//===----------------------------------------------------------------------===//
#include "import/gradient.h"

#include <math.h>
#include <string.h>

static MlirValue add(const fe_step *s, MlirValue a, MlirValue b) {
  return fe_d_two(s, "Add", a, b);
}
static MlirValue sub(const fe_step *s, MlirValue a, MlirValue b) {
  return fe_d_two(s, "Sub", a, b);
}
static MlirValue quotient(const fe_step *s, MlirValue a, MlirValue b) {
  return fe_d_two(s, "Div", a, b);
}
static double attr(const fe_step *s, const char *name, double absent) {
  return fe_attr_f64(s->op, name, absent);
}
static MlirValue above(const fe_step *s, double limit) {
  return fe_d_two(s, "Greater", s->x[0], fe_d_number(s, limit));
}
/// exp(min(x, 0) / by) - 1
static MlirValue decay(const fe_step *s, double by) {
  MlirValue x = fe_d_two(s, "Min", s->x[0], fe_d_number(s, 0));
  MlirValue e = fe_d_one(s, "Exp", fe_d_scaled(s, 1 / by, x));
  return sub(s, e, fe_d_number(s, 1));
}
static MlirValue between(const fe_step *s, MlirValue x, double low,
                         double high) {
  return fe_onnx1(s->ir, "Clip", x, fe_d_number(s, low), fe_d_number(s, high));
}

//===-- Functions of one number ---------------------------------------------//

static MlirValue as_elu(const fe_step *s) {
  return fe_d_where(s, above(s, 0), s->x[0],
                    fe_d_scaled(s, attr(s, "alpha", 1), decay(s, 1)));
}
static MlirValue as_selu(const fe_step *s) {
  MlirValue v = fe_d_scaled(s, attr(s, "alpha", 1.6732632), decay(s, 1));
  return fe_d_scaled(s, attr(s, "gamma", 1.0507010),
                     fe_d_where(s, above(s, 0), s->x[0], v));
}
static MlirValue as_celu(const fe_step *s) {
  double alpha = attr(s, "alpha", 1);
  return fe_d_where(s, above(s, 0), s->x[0],
                    fe_d_scaled(s, alpha, decay(s, alpha)));
}
static MlirValue as_thresholded_relu(const fe_step *s) {
  return fe_d_where(s, above(s, attr(s, "alpha", 1)), s->x[0],
                    fe_d_number(s, 0));
}
static MlirValue as_hard_sigmoid(const fe_step *s) {
  MlirValue v = fe_d_scaled(s, attr(s, "alpha", 0.2), s->x[0]);
  return between(s, add(s, v, fe_d_number(s, attr(s, "beta", 0.5))), 0, 1);
}
static MlirValue as_hard_swish(const fe_step *s) {
  MlirValue v = add(s, fe_d_scaled(s, 1. / 6, s->x[0]), fe_d_number(s, 0.5));
  return fe_d_mul(s, s->x[0], between(s, v, 0, 1));
}
static MlirValue as_softsign(const fe_step *s) {
  return quotient(s, s->x[0],
                  add(s, fe_d_number(s, 1), fe_d_one(s, "Abs", s->x[0])));
}
static MlirValue as_gelu(const fe_step *s) {
  const char *kind = fe_attr_str(s->ir->arena, s->op, "approximate", "none");
  MlirValue x = s->x[0], v;
  if (!strcmp(kind, "tanh")) {
    MlirValue cube = fe_d_mul(s, fe_d_mul(s, x, x), x);
    v = add(s, x, fe_d_scaled(s, 0.044715, cube));
    v = fe_d_one(s, "Tanh", fe_d_scaled(s, sqrt(2 / acos(-1)), v));
  } else {
    v = fe_d_one(s, "Erf", fe_d_scaled(s, sqrt(0.5), x));
  }
  return fe_d_scaled(s, 0.5, fe_d_mul(s, x, add(s, v, fe_d_number(s, 1))));
}
static MlirValue as_mish(const fe_step *s) {
  return fe_d_mul(s, s->x[0],
                  fe_d_one(s, "Tanh", fe_d_one(s, "Softplus", s->x[0])));
}
static MlirValue as_swish(const fe_step *s) {
  MlirValue v = fe_d_scaled(s, attr(s, "alpha", 1), s->x[0]);
  return fe_d_mul(s, s->x[0], fe_d_one(s, "Sigmoid", v));
}
static MlirValue as_shrink(const fe_step *s) {
  double limit = attr(s, "lambd", 0.5);
  MlirValue bias = fe_d_number(s, attr(s, "bias", 0)), zero = fe_d_number(s, 0);
  MlirValue below = fe_d_two(s, "Less", s->x[0], fe_d_number(s, -limit));
  return fe_d_where(
      s, below, add(s, s->x[0], bias),
      fe_d_where(s, above(s, limit), sub(s, s->x[0], bias), zero));
}

static MlirValue d_zero(const fe_step *s) { return fe_d_zeros(s, s->x[0]); }
static MlirValue square_and(const fe_step *s, double by, double plus) {
  MlirValue square = fe_d_mul(s, s->x[0], s->x[0]);
  return add(s, fe_d_scaled(s, by, square), fe_d_number(s, plus));
}
static MlirValue over_root(const fe_step *s, double by, double plus) {
  return quotient(s, s->dy, fe_d_one(s, "Sqrt", square_and(s, by, plus)));
}
static MlirValue d_asin(const fe_step *s) { return over_root(s, -1, 1); }
static MlirValue d_acos(const fe_step *s) {
  return fe_d_one(s, "Neg", d_asin(s));
}
static MlirValue d_asinh(const fe_step *s) { return over_root(s, 1, 1); }
static MlirValue d_acosh(const fe_step *s) { return over_root(s, 1, -1); }
static MlirValue d_atan(const fe_step *s) {
  return quotient(s, s->dy, square_and(s, 1, 1));
}
static MlirValue d_atanh(const fe_step *s) {
  return quotient(s, s->dy, square_and(s, -1, 1));
}
static MlirValue d_tan(const fe_step *s) {
  return fe_d_mul(s, s->dy, add(s, fe_d_mul(s, s->y, s->y), fe_d_number(s, 1)));
}

static MlirValue d_prelu(const fe_step *s) {
  MlirValue below = fe_d_two(s, "Less", s->x[0], fe_d_number(s, 0));
  MlirValue other = s->x[s->operand ? 0 : 1];
  return fe_d_where(s, below, fe_d_mul(s, s->dy, other),
                    s->operand ? fe_d_number(s, 0) : s->dy);
}

/// At the bounds the data counts.
static MlirValue d_clip(const fe_step *s) {
  MlirValue low = fe_d_operand(s, 1), high = fe_d_operand(s, 2);
  MlirValue zero = fe_d_number(s, 0), d = s->dy;
  MlirValue x = s->x[0];
  if (s->operand == 1) {
    d = fe_d_where(s, fe_d_two(s, "Less", x, low), d, zero);
    // With bounds the wrong way round the upper one is the result.
    return fe_is_null(high)
               ? d
               : fe_d_where(s, fe_d_two(s, "Greater", low, high), zero, d);
  }
  if (s->operand == 2) {
    MlirValue v = fe_is_null(low) ? x : fe_d_two(s, "Max", x, low);
    return fe_d_where(s, fe_d_two(s, "Greater", v, high), d, zero);
  }
  if (!fe_is_null(low))
    d = fe_d_where(s, fe_d_two(s, "Less", x, low), zero, d);
  if (!fe_is_null(high))
    d = fe_d_where(s, fe_d_two(s, "Greater", x, high), zero, d);
  return d;
}

/// In training: what was kept, scaled as it was.
static MlirValue d_dropout(const fe_step *s) {
  MlirValue one = fe_d_number(s, 1), ratio = fe_d_operand(s, 1);
  ratio = fe_is_null(ratio) ? fe_d_number(s, 0.5)
                            : fe_d_cast(s, ratio, fe_d_type(s->dy));
  MlirValue by = fe_d_one(s, "Reciprocal", sub(s, one, ratio));
  MlirValue training = fe_d_operand(s, 2);
  if (!fe_is_null(training))
    by = fe_d_where(s, training, by, one);
  return fe_d_where(s, fe_result(s->op, 1), fe_d_mul(s, s->dy, by),
                    fe_d_number(s, 0));
}

/// Of both kinds: y = a - n * b, n in steps.
static MlirValue d_mod(const fe_step *s) {
  if (!s->operand)
    return s->dy;
  return fe_d_mul(s, s->dy, quotient(s, sub(s, s->y, s->x[0]), s->x[1]));
}

//===-- Reductions ----------------------------------------------------------//

static MlirValue d_extreme(const fe_step *s) { // equal ones share
  MlirValue same = fe_d_two(s, "Equal", s->x[0], fe_d_kept(s, s->y));
  same = fe_d_cast(s, same, fe_d_type(s->dy));
  MlirValue count = fe_d_kept(s, fe_d_reduced(s, "ReduceSum", same));
  return fe_d_mul(s, quotient(s, fe_d_kept(s, s->dy), count), same);
}
static MlirValue d_global_max(const fe_step *s) {
  int64_t axes[FE_MAX_RANK];
  unsigned n = 0;
  for (unsigned i = 2; i < fe_rank(s->y); i++)
    axes[n++] = i;
  MlirValue same = fe_d_two(s, "Equal", s->x[0], s->y);
  same = fe_d_cast(s, same, fe_d_type(s->dy));
  MlirValue count = fe_d_summed(s, same, n, axes, true);
  return fe_d_mul(s, quotient(s, s->dy, count), same);
}
/// The product of the others, whichever are 0.
static MlirValue d_product(const fe_step *s) {
  MlirValue zero = fe_d_number(s, 0), one = fe_d_number(s, 1);
  MlirValue is_zero = fe_d_two(s, "Equal", s->x[0], zero);
  MlirValue x = fe_d_where(s, is_zero, one, s->x[0]);
  MlirValue zeros = fe_d_cast(s, is_zero, fe_d_type(s->dy));
  MlirValue others = fe_d_kept(s, fe_d_reduced(s, "ReduceSum", zeros));
  others = sub(s, others, zeros); // zeros among them
  MlirValue rest = fe_d_kept(s, fe_d_reduced(s, "ReduceProd", x));
  rest = fe_d_where(s, fe_d_two(s, "Greater", others, zero), zero,
                    quotient(s, rest, x));
  return fe_d_mul(s, fe_d_kept(s, s->dy), rest);
}
static MlirValue as_l1(const fe_step *s) {
  return fe_d_reduced(s, "ReduceSum", fe_d_one(s, "Abs", s->x[0]));
}
static MlirValue as_sum_square(const fe_step *s) {
  return fe_d_reduced(s, "ReduceSum", fe_d_mul(s, s->x[0], s->x[0]));
}
static MlirValue as_log_sum(const fe_step *s) {
  return fe_d_one(s, "Log", fe_d_reduced(s, "ReduceSum", s->x[0]));
}
static MlirValue d_l2(const fe_step *s) {
  MlirValue y = fe_d_kept(s, s->y);
  y = fe_d_where(s, fe_d_two(s, "Equal", y, fe_d_number(s, 0)),
                 fe_d_number(s, 1), y);
  return fe_d_mul(s, quotient(s, fe_d_kept(s, s->dy), y), s->x[0]);
}
static MlirValue d_log_sum_exp(const fe_step *s) {
  MlirValue part = fe_d_one(s, "Exp", sub(s, s->x[0], fe_d_kept(s, s->y)));
  return fe_d_mul(s, fe_d_kept(s, s->dy), part);
}

//===-- Normalizations ------------------------------------------------------//

static MlirValue mean(const fe_step *s, MlirValue v, unsigned n,
                      const int64_t *axes) {
  MlirValue in[2] = {v, fe_constant_i64s(s->ir, n, axes)};
  MlirNamedAttribute keep = fe_at_i64(s->ir, "keepdims", 1);
  return fe_first(fe_onnx(s->ir, "ReduceMean", 2, in, 1, 1, &keep));
}
/// Divided by the root of the mean square.
static MlirValue by_deviation(const fe_step *s, MlirValue v, MlirValue square) {
  MlirValue e = fe_d_number(s, attr(s, "epsilon", 1e-5));
  return quotient(s, v, fe_d_one(s, "Sqrt", add(s, square, e)));
}
static MlirValue normalized(const fe_step *s, MlirValue v, unsigned n,
                            const int64_t *axes) {
  MlirValue d = sub(s, v, mean(s, v, n, axes));
  return by_deviation(s, d, mean(s, fe_d_mul(s, d, d), n, axes));
}
/// One number per channel, as it broadcasts to x.
static MlirValue per_channel(const fe_step *s, MlirValue v) {
  int64_t axes[FE_MAX_RANK];
  unsigned rank = fe_rank(s->x[0]), n = 0;
  for (unsigned i = 2; i < rank; i++)
    axes[n++] = i - 1;
  return n ? fe_d_two(s, "Unsqueeze", v, fe_constant_i64s(s->ir, n, axes)) : v;
}
static MlirValue scaled_and_moved(const fe_step *s, MlirValue v,
                                  MlirValue scale, MlirValue bias) {
  if (fe_d_type(v) != fe_d_type(scale))
    v = fe_d_cast(s, v, fe_d_type(scale));
  v = fe_d_mul(s, v, scale);
  return fe_is_null(bias) ? v : add(s, v, bias);
}
static unsigned last_axes(const fe_step *s, int64_t *axes) {
  int64_t rank = fe_rank(s->x[0]), axis = fe_attr_i64(s->op, "axis", -1);
  unsigned n = 0;
  for (axis += axis < 0 ? rank : 0; axis < rank; axis++)
    axes[n++] = axis;
  return n;
}
static MlirValue as_layer_norm(const fe_step *s) {
  int64_t axes[FE_MAX_RANK];
  unsigned n = last_axes(s, axes);
  return scaled_and_moved(s, normalized(s, s->x[0], n, axes), s->x[1],
                          fe_d_operand(s, 2));
}
static MlirValue as_rms_norm(const fe_step *s) {
  int64_t axes[FE_MAX_RANK];
  unsigned n = last_axes(s, axes);
  MlirValue square = mean(s, fe_d_mul(s, s->x[0], s->x[0]), n, axes);
  return scaled_and_moved(s, by_deviation(s, s->x[0], square), s->x[1],
                          (MlirValue){0});
}
static MlirValue as_instance_norm(const fe_step *s) {
  int64_t axes[FE_MAX_RANK];
  unsigned n = 0;
  for (unsigned i = 2; i < fe_rank(s->x[0]); i++)
    axes[n++] = i;
  return scaled_and_moved(s, normalized(s, s->x[0], n, axes),
                          per_channel(s, s->x[1]), per_channel(s, s->x[2]));
}
/// One number per group to one per channel.
static MlirValue of_groups(const fe_step *s, MlirValue v, MlirValue each) {
  if (!fe_attr_i64(s->op, "per_group", 0))
    return v;
  MlirValue size[2] = {fe_d_int(s, 1), each};
  v = fe_d_two(s, "Unsqueeze", v, fe_d_int(s, 1));
  v = fe_d_two(s, "Expand", v, fe_d_concat(s, 2, size, 0));
  return fe_d_in_shape(s, v, fe_d_int(s, -1));
}
static MlirValue as_group_norm(const fe_step *s) {
  MlirValue shape = fe_d_one(s, "Shape", s->x[0]);
  MlirValue groups = fe_d_int(s, fe_attr_i64(s->op, "num_groups", 1));
  MlirValue each = quotient(s, fe_d_size_at(s, shape, 1), groups);
  MlirValue parts[3] = {fe_d_size_at(s, shape, 0), groups, fe_d_int(s, -1)};
  MlirValue v = fe_d_in_shape(s, s->x[0], fe_d_concat(s, 3, parts, 0));
  int64_t axis = 2;
  v = fe_d_reshaped(s, normalized(s, v, 1, &axis), s->x[0]);
  return scaled_and_moved(s, v, per_channel(s, of_groups(s, s->x[1], each)),
                          per_channel(s, of_groups(s, s->x[2], each)));
}
static MlirValue as_batch_norm(const fe_step *s) {
  MlirValue v;
  if (fe_attr_i64(s->op, "training_mode", 0)) {
    int64_t axes[FE_MAX_RANK];
    unsigned n = 0;
    for (unsigned i = 0; i < fe_rank(s->x[0]); i++)
      if (i != 1)
        axes[n++] = i;
    v = normalized(s, s->x[0], n, axes);
  } else {
    v = sub(s, s->x[0], per_channel(s, fe_d_operand(s, 3)));
    v = by_deviation(s, v, per_channel(s, fe_d_operand(s, 4)));
  }
  return scaled_and_moved(s, v, per_channel(s, s->x[1]),
                          per_channel(s, s->x[2]));
}
/// The squares of neighbouring channels, averaged.
static MlirValue as_lrn(const fe_step *s) {
  int64_t size = fe_attr_i64(s->op, "size", 1), ones[2] = {1, 1};
  int64_t kernel[2] = {size, 1}, pads[4] = {(size - 1) / 2, 0, size / 2, 0};
  MlirValue shape = fe_d_one(s, "Shape", s->x[0]);
  MlirValue parts[4] = {fe_d_size_at(s, shape, 0), fe_d_int(s, 1),
                        fe_d_size_at(s, shape, 1), fe_d_int(s, -1)};
  MlirValue v = fe_d_in_shape(s, fe_d_mul(s, s->x[0], s->x[0]),
                              fe_d_concat(s, 4, parts, 0));
  MlirNamedAttribute how[] = {fe_at_i64s(s->ir, "kernel_shape", 2, kernel),
                              fe_at_i64s(s->ir, "pads", 4, pads),
                              fe_at_i64s(s->ir, "strides", 2, ones),
                              fe_at_i64s(s->ir, "dilations", 2, ones),
                              fe_at_i64(s->ir, "count_include_pad", 1)};
  v = fe_first(fe_onnx(s->ir, "AveragePool", 1, &v, 1, 5, how));
  v = fe_d_scaled(s, attr(s, "alpha", 1e-4), fe_d_reshaped(s, v, s->x[0]));
  v = add(s, v, fe_d_number(s, attr(s, "bias", 1)));
  return quotient(s, s->x[0],
                  fe_d_two(s, "Pow", v, fe_d_number(s, attr(s, "beta", 0.75))));
}

//===-- Loss ----------------------------------------------------------------//

static MlirValue as_log_likelihood(const fe_step *s) {
  fe_ir *ir = s->ir;
  const char *how = fe_attr_str(ir->arena, s->op, "reduction", "mean");
  int64_t ignored = fe_attr_i64(s->op, "ignore_index", INT64_MIN);
  MlirValue target = fe_d_cast(s, s->x[1], FE_I64), weight = fe_d_operand(s, 2);
  MlirValue out = fe_d_two(s, "Equal", target, fe_d_int(s, ignored));
  target = fe_d_where(s, out, fe_constant_scalar(ir, FE_I64, 0), target);
  MlirValue in[2] = {s->x[0], fe_d_two(s, "Unsqueeze", target, fe_d_int(s, 1))};
  MlirNamedAttribute axis = fe_at_i64(ir, "axis", 1);
  MlirValue v = fe_first(fe_onnx(ir, "GatherElements", 2, in, 1, 1, &axis));
  v = fe_d_one(s, "Neg", fe_d_two(s, "Squeeze", v, fe_d_int(s, 1)));
  MlirValue by = fe_is_null(weight)
                     ? fe_d_expanded(s, fe_d_number(s, 1), target)
                     : fe_d_two(s, "Gather", weight, target);
  by = fe_d_where(s, out, fe_d_number(s, 0), by);
  v = fe_d_mul(s, v, by);
  if (!strcmp(how, "none"))
    return v;
  v = fe_d_one(s, "ReduceSum", v);
  if (!strcmp(how, "mean"))
    v = quotient(s, v, fe_d_one(s, "ReduceSum", by));
  return fe_d_in_shape(s, v, fe_constant_i64s(ir, 0, NULL));
}

const fe_derivative fe_d_composed[] = {
    {"Elu", .as = as_elu},
    {"Selu", .as = as_selu},
    {"Celu", .as = as_celu},
    {"ThresholdedRelu", .as = as_thresholded_relu},
    {"HardSigmoid", .as = as_hard_sigmoid},
    {"HardSwish", .as = as_hard_swish},
    {"Softsign", .as = as_softsign},
    {"Gelu", .as = as_gelu},
    {"Mish", .as = as_mish},
    {"Swish", .as = as_swish},
    {"Shrink", .as = as_shrink},
    {"Floor", .by = {d_zero}},
    {"Ceil", .by = {d_zero}},
    {"Round", .by = {d_zero}},
    {"Sign", .by = {d_zero}},
    {"Hardmax", .by = {d_zero}},
    {"RandomNormalLike", .by = {d_zero}},
    {"RandomUniformLike", .by = {d_zero}},
    {"EyeLike", .by = {d_zero}},
    {"Bernoulli", .by = {d_zero}},
    {"Mod", .all = d_mod},
    {"Asin", .by = {d_asin}},
    {"Acos", .by = {d_acos}},
    {"Atan", .by = {d_atan}},
    {"Asinh", .by = {d_asinh}},
    {"Acosh", .by = {d_acosh}},
    {"Atanh", .by = {d_atanh}},
    {"Tan", .by = {d_tan}},
    {"PRelu", .all = d_prelu},
    {"Clip", .all = d_clip},
    {"Dropout", .by = {d_dropout}},
    {"ReduceMax", .by = {d_extreme}},
    {"ReduceMin", .by = {d_extreme}},
    {"ReduceProd", .by = {d_product}},
    {"ReduceL1", .as = as_l1},
    {"ReduceL2", .by = {d_l2}},
    {"ReduceLogSum", .as = as_log_sum},
    {"ReduceLogSumExp", .by = {d_log_sum_exp}},
    {"ReduceSumSquare", .as = as_sum_square},
    {"GlobalMaxPool", .by = {d_global_max}},
    {"LayerNormalization", .as = as_layer_norm},
    {"RMSNormalization", .as = as_rms_norm},
    {"SimplifiedLayerNormalization", .as = as_rms_norm},
    {"InstanceNormalization", .as = as_instance_norm},
    {"GroupNormalization", .as = as_group_norm},
    {"BatchNormalization", .as = as_batch_norm},
    {"LRN", .as = as_lrn},
    {"NegativeLogLikelihoodLoss", .as = as_log_likelihood},
    {0}};
