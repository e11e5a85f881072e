//===- patterns_fuse.c - operators written out in simpler ones ------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters of older opsets write Gelu, Swish, HardSwish and normalizations as
// a dozen ops. As one op each is pointwise or one kernel, and can be fused
// further.
//
//===----------------------------------------------------------------------===//
#include "pass/rewrite.h"

#include <math.h>
#include <string.h>

static bool near(double a, double b) { return fabs(a - b) <= 1e-5 * fabs(b); }

static bool is_constant(fe_ir *ir, MlirValue v, double want) {
  double c;
  return fe_const_scalar(ir, v, &c) && near(c, want);
}

/// v is `op` of a constant scalar and x, in any order where it commutes.
static bool with_constant(fe_ir *ir, MlirValue v, const char *op, MlirValue *x,
                          double *c) {
  MlirOperation def = fe_def(v);
  if (!fe_op_is(def, op))
    return false;
  bool ordered = !strcmp(op, "onnx.div") || !strcmp(op, "onnx.pow") ||
                 !strcmp(op, "onnx.sub");
  for (unsigned i = 2; i-- > 0;) {
    if (fe_const_scalar(ir, fe_operand(def, i), c)) {
      *x = fe_operand(def, 1 - i);
      return true;
    }
    if (ordered)
      return false;
  }
  return false;
}

/// A product taken apart: constant factor and up to four others.
typedef struct product {
  double constant;
  unsigned n;
  MlirValue at[4];
  unsigned seen; // values looked at
} product;

enum { MAX_SEEN = 32 }; // of a product: it may be part of a long chain

static bool add_factor(fe_ir *ir, product *p, MlirValue v, bool top) {
  MlirOperation op = fe_def(v);
  double c;
  if (++p->seen > MAX_SEEN)
    return false;
  if (fe_const_scalar(ir, v, &c)) {
    p->constant *= c;
    return true;
  }
  if (fe_op_is(op, "onnx.mul") && (top || fe_n_uses(v) == 1))
    return add_factor(ir, p, fe_operand(op, 0), false) &&
           add_factor(ir, p, fe_operand(op, 1), false);
  if (fe_op_is(op, "onnx.div") && (top || fe_n_uses(v) == 1) &&
      fe_const_scalar(ir, fe_operand(op, 1), &c) && c != 0) {
    p->constant /= c;
    return add_factor(ir, p, fe_operand(op, 0), false);
  }
  if (p->n == FE_COUNT(p->at))
    return false;
  p->at[p->n++] = v;
  return true;
}

//===-- Activations ---------------------------------------------------------//

/// c1 * (x + c2 * x^3), or c1 * x * (1 + c2 * x^2), of Gelu's approximation.
static bool is_cubic(fe_ir *ir, MlirValue v, MlirValue x) {
  const double outer = 0.7978845608028654, inner = 0.044715;
  product p = {.constant = 1};
  if (!add_factor(ir, &p, v, true) || !near(p.constant, outer))
    return false;
  MlirValue sum = p.at[0];
  bool factored = p.n == 2;
  if (factored) {
    unsigned i = fe_same(p.at[0], x) ? 0 : 1;
    if (!fe_same(p.at[i], x))
      return false;
    sum = p.at[1 - i];
  } else if (p.n != 1) {
    return false;
  }
  MlirOperation add = fe_def(sum);
  if (!fe_op_is(add, "onnx.add"))
    return false;
  for (unsigned i = 0; i < 2; ++i) {
    MlirValue first = fe_operand(add, i), power = fe_operand(add, 1 - i);
    if (factored ? !is_constant(ir, first, 1) : !fe_same(first, x))
      continue;
    product q = {.constant = 1};
    if (!add_factor(ir, &q, power, true) || !near(q.constant, inner))
      continue;
    unsigned want = factored ? 2 : 3, n = 0;
    for (unsigned k = 0; k < q.n; ++k) {
      MlirValue base;
      double e;
      if (fe_same(q.at[k], x))
        n += 1;
      else if (with_constant(ir, q.at[k], "onnx.pow", &base, &e) &&
               fe_same(base, x))
        n += (unsigned)e;
      else
        n = 100;
    }
    if (n == want)
      return true;
  }
  return false;
}

/// x / sqrt(2).
static bool is_erf_argument(fe_ir *ir, MlirValue v, MlirValue x) {
  product p = {.constant = 1};
  return add_factor(ir, &p, v, true) && p.n == 1 && fe_same(p.at[0], x) &&
         near(p.constant, 0.7071067811865476);
}

static bool gelu(fe_ir *ir, MlirOperation op) {
  product p = {.constant = 1};
  if (!add_factor(ir, &p, fe_result(op, 0), true) || p.n != 2 ||
      !near(p.constant, 0.5))
    return false;
  for (unsigned i = 0; i < 2; ++i) {
    MlirValue x = p.at[i], bell;
    double one;
    if (!with_constant(ir, p.at[1 - i], "onnx.add", &bell, &one) ||
        !near(one, 1))
      continue;
    MlirOperation f = fe_def(bell);
    const char *how = NULL;
    if (fe_op_is(f, "onnx.erf") && is_erf_argument(ir, fe_operand(f, 0), x))
      how = "none";
    if (fe_op_is(f, "onnx.tanh") && is_cubic(ir, fe_operand(f, 0), x))
      how = "tanh";
    if (!how)
      continue;
    MlirNamedAttribute attr = fe_at_str(ir, "approximate", how);
    return fe_pattern_replace(
        op, fe_first(fe_onnx(ir, "Gelu", 1, &x, 1, 1, &attr)));
  }
  return false;
}

/// x * sigmoid(alpha * x).
static bool swish(fe_ir *ir, MlirOperation op) {
  for (unsigned i = 0; i < 2; ++i) {
    MlirValue x = fe_operand(op, i), s = fe_operand(op, 1 - i);
    MlirOperation sigmoid = fe_def(s);
    if (!fe_op_is(sigmoid, "onnx.sigmoid") || fe_n_uses(s) != 1)
      continue;
    MlirValue u = fe_operand(sigmoid, 0);
    double alpha = 1;
    if (!fe_same(u, x)) {
      product p = {.constant = 1};
      if (!add_factor(ir, &p, u, true) || p.n != 1 || !fe_same(p.at[0], x))
        continue;
      alpha = p.constant;
    }
    MlirNamedAttribute attr = fe_at_f32(ir, "alpha", alpha);
    return fe_pattern_replace(
        op, fe_first(fe_onnx(ir, "Swish", 1, &x, 1, 1, &attr)));
  }
  return false;
}

/// clip(x + 3, 0, 6).
static bool is_ramp(fe_ir *ir, MlirValue v, MlirValue x) {
  MlirOperation clip = fe_def(v);
  MlirValue from;
  double c;
  return fe_op_is(clip, "onnx.clip") && fe_n_uses(v) == 1 &&
         fe_const_scalar(ir, fe_operand(clip, 1), &c) && c == 0 &&
         fe_const_scalar(ir, fe_operand(clip, 2), &c) && c == 6 &&
         with_constant(ir, fe_operand(clip, 0), "onnx.add", &from, &c) &&
         c == 3 && fe_same(from, x);
}

/// x * clip(x + 3, 0, 6) / 6: HardSwish needs no division.
static bool hard_swish(fe_ir *ir, MlirOperation op) {
  product p = {.constant = 1};
  if (!add_factor(ir, &p, fe_result(op, 0), true) || p.n != 2 ||
      !near(p.constant, 1.0 / 6))
    return false;
  for (unsigned i = 0; i < 2; ++i)
    if (is_ramp(ir, p.at[1 - i], p.at[i]))
      return fe_pattern_replace(op, fe_onnx1(ir, "HardSwish", p.at[i]));
  return false;
}

//===-- Normalizations ------------------------------------------------------//

/// v is the mean of its operand along the last dim, which stays with size 1.
static bool is_mean(fe_ir *ir, MlirValue v, MlirValue *x) {
  MlirOperation op = fe_def(v);
  int64_t axis;
  if (!fe_op_is(op, "onnx.reduce_mean") || !fe_attr_i64(op, "keepdims", 1) ||
      fe_n_operands(op) < 2 ||
      fe_const_ints(ir, fe_operand(op, 1), &axis, 1) != 1)
    return false;
  *x = fe_operand(op, 0);
  return axis == -1 || axis == (int64_t)fe_rank(*x) - 1;
}

/// v is d * d.
static bool is_square(fe_ir *ir, MlirValue v, MlirValue *d) {
  double two;
  MlirOperation op = fe_def(v);
  if (with_constant(ir, v, "onnx.pow", d, &two))
    return two == 2;
  *d = fe_operand(op, 0);
  return fe_op_is(op, "onnx.mul") && fe_same(*d, fe_operand(op, 1));
}

/// v is d / sqrt(mean(d^2) + epsilon), in one of the ways it is written.
static bool is_normalized(fe_ir *ir, MlirValue v, MlirValue *d,
                          double *epsilon) {
  MlirOperation op = fe_def(v);
  MlirValue root = {0};
  double one;
  if (fe_op_is(op, "onnx.div")) {
    *d = fe_operand(op, 0);
    root = fe_operand(op, 1);
  } else if (fe_op_is(op, "onnx.mul")) {
    for (unsigned i = 0; i < 2 && fe_is_null(root); ++i) {
      MlirOperation r = fe_def(fe_operand(op, 1 - i));
      *d = fe_operand(op, i);
      if (fe_op_is(r, "onnx.reciprocal"))
        root = fe_operand(r, 0);
      else if (fe_op_is(r, "onnx.div") &&
               fe_const_scalar(ir, fe_operand(r, 0), &one) && one == 1)
        root = fe_operand(r, 1);
    }
  }
  MlirOperation sqrt_op = fe_def(root);
  MlirValue mean, square, base;
  return fe_op_is(sqrt_op, "onnx.sqrt") &&
         with_constant(ir, fe_operand(sqrt_op, 0), "onnx.add", &mean,
                       epsilon) &&
         is_mean(ir, mean, &square) && is_square(ir, square, &base) &&
         fe_same(base, *d);
}

/// One number per element of the last dim of x.
static bool is_parameter(fe_ir *ir, MlirValue v, MlirValue x) {
  fe_dims p, d;
  return fe_dims_of(ir, v, &p) && fe_dims_of(ir, x, &d) && p.rank == 1 &&
         d.rank && fe_dim_same(p.d[0], d.d[d.rank - 1]) &&
         mlirTypeEqual(fe_elem_of(v), fe_elem_of(x));
}

static bool normalization(fe_ir *ir, MlirOperation op) {
  for (unsigned i = 0; i < 2; ++i) {
    MlirValue unit = fe_operand(op, i), d, mean, x;
    MlirValue scale = fe_operand(op, 1 - i);
    double epsilon;
    if (fe_n_uses(unit) != 1 || !is_normalized(ir, unit, &d, &epsilon) ||
        !is_parameter(ir, scale, d))
      continue;
    MlirOperation sub = fe_def(d);
    bool centred = fe_op_is(sub, "onnx.sub") &&
                   is_mean(ir, fe_operand(sub, 1), &mean) &&
                   fe_same(mean, fe_operand(sub, 0));
    x = centred ? fe_operand(sub, 0) : d;
    MlirValue in[] = {x, scale};
    MlirNamedAttribute attrs[] = {fe_at_i64(ir, "axis", -1),
                                  fe_at_f32(ir, "epsilon", epsilon)};
    const char *name = centred ? "LayerNormalization" : "RMSNormalization";
    return fe_pattern_replace(op,
                              fe_first(fe_onnx(ir, name, 2, in, 1, 2, attrs)));
  }
  return false;
}

/// A bias behind a LayerNormalization without one.
static bool normalization_bias(fe_ir *ir, MlirOperation op) {
  for (unsigned i = 0; i < 2; ++i) {
    MlirValue y = fe_operand(op, i), bias = fe_operand(op, 1 - i);
    MlirOperation norm = fe_def(y);
    if (!fe_op_is(norm, "onnx.layer_normalization") || fe_n_uses(y) != 1 ||
        !is_parameter(ir, bias, fe_operand(norm, 0)) ||
        !mlirTypeIsANone(mlirValueGetType(fe_operand(norm, 2))))
      continue;
    for (unsigned r = 1; r < fe_n_results(norm); ++r)
      if (fe_n_uses(fe_result(norm, r)))
        return false;
    int64_t rank = fe_rank(y), axis = fe_attr_i64(norm, "axis", -1);
    if (axis != -1 && axis != rank - 1)
      continue;
    MlirValue in[] = {fe_operand(norm, 0), fe_operand(norm, 1), bias};
    MlirNamedAttribute attrs[] = {
        fe_at_i64(ir, "axis", -1),
        fe_at_f32(ir, "epsilon", fe_attr_f64(norm, "epsilon", 0))};
    return fe_pattern_replace(
        op, fe_first(fe_onnx(ir, "LayerNormalization", 3, in, 1, 2, attrs)));
  }
  return false;
}

const fe_pattern fe_patterns_fuse[] = {
    {"onnx.mul", gelu, "Gelu, exact and by tanh"},
    {"onnx.div", gelu, "Gelu, exact and by tanh"},
    {"onnx.mul", swish, "x * sigmoid(x)"},
    {"onnx.mul", hard_swish, "x * clip(x + 3, 0, 6) / 6"},
    {"onnx.div", hard_swish, "x * clip(x + 3, 0, 6) / 6"},
    {"onnx.mul", normalization, "layer and RMS normalization"},
    {"onnx.add", normalization_bias, "bias of a layer normalization"},
    {0}};
