//===- patterns_qdq.c - operators between DequantizeLinear and QuantizeLinear //
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized models are often written in floats, with a DequantizeLinear before
// and a QuantizeLinear behind every operator. What stands between them becomes
// the operator on bytes, as in ONNX Runtime: Conv becomes QLinearConv, Add
// QLinearAdd, Concat one of rescaled bytes, MatMul and Gemm products of
// integers, whether a QuantizeLinear follows or not; what only moves elements
// or takes the largest does so with bytes. Rounding and limiting are monotonic,
// so Relu and Clip before a QuantizeLinear limit its result to their quantized
// bounds.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"
#include "pass/rewrite.h"

#include <math.h>
#include <string.h>

static bool is_null_or_none(MlirValue v) {
  return fe_is_null(v) || mlirTypeIsANone(mlirValueGetType(v));
}

static bool is_byte(fe_dtype t) { return t == FE_U8 || t == FE_I8; }

static double lowest(fe_dtype t) { return t == FE_U8 ? 0 : -128; }

/// Bytes with one scale and zero point.
typedef struct quantized {
  MlirValue x; // of a DequantizeLinear
  fe_dtype type;
  double scale, zero;
} quantized;

/// One number, or 0 where it is absent.
static bool one_number(fe_ir *ir, MlirValue v, double *out) {
  fe_const c;
  *out = 0;
  if (is_null_or_none(v))
    return true;
  if (!fe_const_of(ir, v, &c) || c.count != 1)
    return false;
  *out = fe_const_f64(&c, 0);
  return true;
}

/// Scale and zero point of a quantization, both constant, in f32.
static bool read_scale(fe_ir *ir, MlirOperation op, quantized *q) {
  MlirValue scale = fe_operand(op, 1);
  return fe_attr_i64(op, "block_size", 0) == 0 && !is_null_or_none(scale) &&
         fe_dtype_of_elem(fe_elem_of(scale)) == FE_F32 &&
         one_number(ir, scale, &q->scale) &&
         one_number(ir, fe_operand(op, 2), &q->zero);
}

/// v is what DequantizeLinear makes of bytes.
static bool dequantized(fe_ir *ir, MlirValue v, quantized *q) {
  MlirOperation op = fe_def(v);
  if (mlirOperationIsNull(op) || !fe_op_is(op, "onnx.dequantize_linear") ||
      fe_dtype_of_elem(fe_elem_of(v)) != FE_F32)
    return false;
  q->x = fe_operand(op, 0);
  q->type = fe_dtype_of_elem(fe_elem_of(q->x));
  return is_byte(q->type) && read_scale(ir, op, q);
}

static MlirValue scale_of(fe_ir *ir, const quantized *q) {
  return fe_constant_scalar(ir, FE_F32, q->scale);
}
static MlirValue zero_of(fe_ir *ir, const quantized *q) {
  return fe_constant_scalar(ir, q->type, q->zero);
}

//===-- QuantizeLinear ------------------------------------------------------//

/// A QuantizeLinear, and the op before it whose result it limits.
typedef struct result {
  quantized y;
  double low, high; // limits
  MlirOperation op; // null: the operand is an argument
} result;

static double quantize(const quantized *q, double v) {
  float divided = (float)v / (float)q->scale;
  double low = lowest(q->type);
  return fmin(fmax(rint((double)divided) + q->zero, low), low + 255);
}

/// A bound of Clip; `absent` where there is none.
static bool bound(fe_ir *ir, MlirValue v, double absent, double *out) {
  if (is_null_or_none(v)) {
    *out = absent;
    return true;
  }
  return one_number(ir, v, out) && !isnan(*out);
}

static bool read_result(fe_ir *ir, MlirOperation op, result *r) {
  MlirValue v = fe_operand(op, 0);
  r->y.type = fe_dtype_of_elem(fe_elem_of(fe_result(op, 0)));
  if (!is_byte(r->y.type) || fe_dtype_of_elem(fe_elem_of(v)) != FE_F32 ||
      fe_attr_i64(op, "precision", 0) || !read_scale(ir, op, &r->y) ||
      !(r->y.scale > 0) || !isfinite(r->y.scale))
    return false;
  r->low = lowest(r->y.type);
  r->high = r->low + 255;
  r->op = fe_def(v);
  if (mlirOperationIsNull(r->op) || fe_n_uses(v) != 1)
    return false;
  double low = -INFINITY, high = INFINITY;
  if (fe_op_is(r->op, "onnx.relu"))
    low = 0;
  else if (!fe_op_is(r->op, "onnx.clip"))
    return true;
  else if (!bound(ir, fe_operand(r->op, 1), -INFINITY, &low) ||
           !bound(ir, fe_operand(r->op, 2), INFINITY, &high) || low > high)
    return false;
  r->low = quantize(&r->y, low);
  r->high = quantize(&r->y, high);
  v = fe_operand(r->op, 0);
  r->op = fe_def(v);
  return !mlirOperationIsNull(r->op) && fe_n_uses(v) == 1;
}

static bool is_limited(const result *r) {
  double low = lowest(r->y.type);
  return r->low > low || r->high < low + 255;
}

/// v, bytes of r's scale, within its limits.
static bool replace(fe_ir *ir, MlirOperation op, const result *r, MlirValue v) {
  if (fe_is_null(v))
    return false;
  if (is_limited(r))
    v = fe_onnx1(ir, "Clip", v, fe_constant_scalar(ir, r->y.type, r->low),
                 fe_constant_scalar(ir, r->y.type, r->high));
  return fe_pattern_replace(op, v);
}

static const MlirNamedAttribute *attrs_of(fe_ir *ir, MlirOperation op,
                                          unsigned *n) {
  *n = (unsigned)mlirOperationGetNumAttributes(op);
  MlirNamedAttribute *attrs = FE_NEW_N(ir->arena, MlirNamedAttribute, *n + 1);
  for (unsigned i = 0; i < *n; i++)
    attrs[i] = mlirOperationGetAttribute(op, i);
  return attrs;
}

//===-- Conv ----------------------------------------------------------------//

/// Weights: bytes with a scale for all or for each filter.
static bool read_weights(fe_ir *ir, MlirValue v, fe_const *scale,
                         MlirValue in[3]) {
  MlirOperation op = fe_def(v);
  fe_const c;
  fe_dims d;
  if (mlirOperationIsNull(op) || !fe_op_is(op, "onnx.dequantize_linear") ||
      fe_attr_i64(op, "block_size", 0) || !fe_dims_of(ir, v, &d))
    return false;
  for (unsigned i = 0; i < 3; i++)
    in[i] = fe_operand(op, i);
  fe_dtype t = fe_dtype_of_elem(fe_elem_of(in[0]));
  int64_t axis = fe_attr_i64(op, "axis", 1);
  if (!is_byte(t) || !fe_const_of(ir, in[0], &c) ||
      !fe_const_of(ir, in[1], scale) || scale->dtype != FE_F32)
    return false;
  bool per_filter = scale->count == fe_dim_static(d.d[0]) &&
                    (axis == 0 || axis == -(int64_t)d.rank);
  if (scale->count != 1 && !per_filter)
    return false;
  if (is_null_or_none(in[2]))
    in[2] = fe_constant_scalar(ir, t, 0);
  return true;
}

/// The bias as i32 of the scale that the sums have; *out is null without one.
static bool read_bias(fe_ir *ir, MlirValue v, double x_scale,
                      const fe_const *w_scale, MlirValue *out) {
  *out = (MlirValue){0};
  if (is_null_or_none(v))
    return true;
  MlirOperation op = fe_def(v);
  fe_const scale, zero;
  if (mlirOperationIsNull(op) || !fe_op_is(op, "onnx.dequantize_linear") ||
      fe_attr_i64(op, "block_size", 0))
    return false;
  *out = fe_operand(op, 0);
  if (fe_dtype_of_elem(fe_elem_of(*out)) != FE_I32 ||
      !fe_const_of(ir, fe_operand(op, 1), &scale) || scale.dtype != FE_F32)
    return false;
  if (!is_null_or_none(fe_operand(op, 2))) {
    if (!fe_const_of(ir, fe_operand(op, 2), &zero))
      return false;
    for (int64_t i = 0; i < zero.count; i++)
      if (fe_const_f64(&zero, i) != 0)
        return false;
  }
  int64_t n = scale.count > w_scale->count ? scale.count : w_scale->count;
  if ((scale.count != 1 && scale.count != n) ||
      (w_scale->count != 1 && w_scale->count != n))
    return false;
  for (int64_t i = 0; i < n; i++) {
    double want = x_scale * fe_const_f64(w_scale, w_scale->count == 1 ? 0 : i);
    double got = fe_const_f64(&scale, scale.count == 1 ? 0 : i);
    if (!(fabs(got - want) <= 1e-5 * fabs(want)))
      return false;
  }
  return true;
}

static MlirValue conv(fe_ir *ir, const result *r) {
  quantized x;
  fe_const scale;
  MlirValue w[3], bias;
  if (!dequantized(ir, fe_operand(r->op, 0), &x) ||
      !read_weights(ir, fe_operand(r->op, 1), &scale, w) ||
      !read_bias(ir, fe_operand(r->op, 2), x.scale, &scale, &bias))
    return (MlirValue){0};
  MlirValue in[9] = {x.x,  scale_of(ir, &x),    zero_of(ir, &x),    w[0], w[1],
                     w[2], scale_of(ir, &r->y), zero_of(ir, &r->y), bias};
  unsigned n;
  const MlirNamedAttribute *attrs = attrs_of(ir, r->op, &n);
  return fe_first(
      fe_onnx(ir, "QLinearConv", fe_is_null(bias) ? 8 : 9, in, 1, n, attrs));
}

//===-- Add, Concat, movement -----------------------------------------------//

static MlirValue add(fe_ir *ir, const result *r) {
  quantized a, b;
  // With limits it stays in floats, as in ONNX Runtime: sums of bytes are often
  // halfway between two results, which are not rounded alike there.
  if (is_limited(r) || !dequantized(ir, fe_operand(r->op, 0), &a) ||
      !dequantized(ir, fe_operand(r->op, 1), &b) || a.type != r->y.type ||
      b.type != r->y.type)
    return (MlirValue){0};
  return fe_onnx1(ir, "ms_q_linear_add", a.x, scale_of(ir, &a), zero_of(ir, &a),
                  b.x, scale_of(ir, &b), zero_of(ir, &b), scale_of(ir, &r->y),
                  zero_of(ir, &r->y));
}

static bool same_scale(const quantized *a, const quantized *b) {
  return a->type == b->type && a->scale == b->scale && a->zero == b->zero;
}

static MlirValue concat(fe_ir *ir, const result *r) {
  unsigned n = fe_n_operands(r->op);
  quantized *x = FE_NEW_N(ir->arena, quantized, n + 1);
  MlirValue *in = FE_NEW_N(ir->arena, MlirValue, n + 1);
  for (unsigned i = 0; i < n; i++)
    if (!dequantized(ir, fe_operand(r->op, i), &x[i]) || x[i].type != r->y.type)
      return (MlirValue){0};
  for (unsigned i = 0; i < n; i++)
    in[i] = same_scale(&x[i], &r->y)
                ? x[i].x
                : fe_onnx1(ir, "ms_rescale", x[i].x, scale_of(ir, &x[i]),
                           zero_of(ir, &x[i]), scale_of(ir, &r->y),
                           zero_of(ir, &r->y));
  const MlirNamedAttribute axis =
      fe_at_i64(ir, "axis", fe_attr_i64(r->op, "axis", 0));
  return fe_first(fe_onnx(ir, "Concat", n, in, 1, 1, &axis));
}

/// The same op on the bytes, which keep their scale.
static MlirValue moved(fe_ir *ir, const result *r) {
  quantized x;
  if (!dequantized(ir, fe_operand(r->op, 0), &x) || !same_scale(&x, &r->y))
    return (MlirValue){0};
  for (unsigned i = 1; i < fe_n_results(r->op); i++)
    if (fe_n_uses(fe_result(r->op, i)))
      return (MlirValue){0};
  unsigned n = fe_n_operands(r->op), n_attrs;
  MlirValue *in = FE_NEW_N(ir->arena, MlirValue, n + 1);
  in[0] = x.x;
  for (unsigned i = 1; i < n; i++)
    in[i] = fe_operand(r->op, i);
  const MlirNamedAttribute *attrs = attrs_of(ir, r->op, &n_attrs);
  return fe_first(
      fe_onnx(ir, fe_op_name(ir->arena, r->op), n, in, 1, n_attrs, attrs));
}

//===-- MatMul, Gemm --------------------------------------------------------//

/// More products than this may be more than a sum of 32 bits holds.
enum { MAX_PRODUCTS = 33000 };

/// An operand of a product: bytes with one scale, or, where `axis` is not
/// negative, one for every index of that axis. They need not be constant.
typedef struct factor {
  MlirValue x, scale, zero; // zero may be absent
} factor;

static bool read_factor(fe_ir *ir, MlirValue v, int64_t axis, factor *f) {
  MlirOperation op = fe_def(v);
  fe_dims x, scale;
  if (mlirOperationIsNull(op) || !fe_op_is(op, "onnx.dequantize_linear") ||
      fe_attr_i64(op, "block_size", 0) || !fe_dims_of(ir, v, &x) ||
      fe_dtype_of_elem(fe_elem_of(v)) != FE_F32)
    return false;
  *f = (factor){fe_operand(op, 0), fe_operand(op, 1), fe_operand(op, 2)};
  if (!is_byte(fe_dtype_of_elem(fe_elem_of(f->x))) ||
      fe_dtype_of_elem(fe_elem_of(f->scale)) != FE_F32 ||
      !fe_dims_of(ir, f->scale, &scale))
    return false;
  int64_t own = fe_attr_i64(op, "axis", 1);
  own += own < 0 ? x.rank : 0;
  if (scale.rank == 0)
    return true;
  int64_t count = scale.rank == 1 ? fe_dim_static(scale.d[0]) : FE_DYN;
  return count == 1 || (count > 1 && x.rank == 2 && own == axis);
}

typedef struct integer_product {
  factor a, b;
  fe_dims dims; // of a
} integer_product;

/// Products are added up along A's dim `sum_from_end`; columns: B's other axis.
static bool read_product(fe_ir *ir, MlirOperation op, int64_t columns,
                         unsigned sum_from_end, integer_product *p) {
  if (!read_factor(ir, fe_operand(op, 0), -1, &p->a) ||
      !read_factor(ir, fe_operand(op, 1), columns, &p->b) ||
      !fe_dims_of(ir, p->a.x, &p->dims) || p->dims.rank < sum_from_end)
    return false;
  int64_t k = fe_dim_static(p->dims.d[p->dims.rank - sum_from_end]);
  return k != FE_DYN && k > 0 && k <= MAX_PRODUCTS;
}

/// The sums, scaled: f32.
static MlirValue scaled_sums(fe_ir *ir, const integer_product *p, MlirValue a,
                             MlirValue b, MlirValue scale) {
  MlirValue in[4] = {a, b, p->a.zero, p->b.zero};
  for (unsigned i = 2; i < 4; i++)
    if (is_null_or_none(in[i]))
      in[i] = (MlirValue){0};
  MlirValue v = fe_first(fe_onnx(ir, "MatMulInteger", 4, in, 1, 0, NULL));
  return fe_onnx1(ir, "Mul", fe_x_cast(ir, v, FE_F32), scale);
}

static MlirValue both_scales(fe_ir *ir, const integer_product *p) {
  return fe_onnx1(ir, "Mul", p->a.scale, p->b.scale);
}

/// A QuantizeLinear right behind a MatMul makes both one QLinearMatMul.
static MlirValue mat_mul(fe_ir *ir, const result *r) {
  integer_product p;
  if (is_limited(r) || !read_product(ir, r->op, 1, 1, &p))
    return (MlirValue){0};
  const factor *f[2] = {&p.a, &p.b};
  MlirValue in[8];
  for (unsigned i = 0; i < 2; i++) {
    fe_dtype t = fe_dtype_of_elem(fe_elem_of(f[i]->x));
    in[3 * i] = f[i]->x;
    in[3 * i + 1] = f[i]->scale;
    in[3 * i + 2] =
        is_null_or_none(f[i]->zero) ? fe_constant_scalar(ir, t, 0) : f[i]->zero;
  }
  in[6] = scale_of(ir, &r->y);
  in[7] = zero_of(ir, &r->y);
  return fe_first(fe_onnx(ir, "QLinearMatMul", 8, in, 1, 0, NULL));
}

/// Any other one gives floats.
static bool float_mat_mul(fe_ir *ir, MlirOperation op) {
  integer_product p;
  result r = {0};
  MlirValue v = fe_result(op, 0);
  if (!read_product(ir, op, 1, 1, &p))
    return false;
  if (fe_n_uses(v) == 1) {
    MlirOperation user = mlirOpOperandGetOwner(mlirValueGetFirstUse(v));
    if (fe_op_is(user, "onnx.quantize_linear") && read_result(ir, user, &r))
      return false;
  }
  return fe_pattern_replace(
      op, scaled_sums(ir, &p, p.a.x, p.b.x, both_scales(ir, &p)));
}

static bool gemm(fe_ir *ir, MlirOperation op) {
  bool trans_a = fe_attr_i64(op, "transA", 0) != 0;
  bool trans_b = fe_attr_i64(op, "transB", 0) != 0;
  integer_product p;
  if (!read_product(ir, op, trans_b ? 0 : 1, trans_a ? 2 : 1, &p))
    return false;
  static const int64_t swap[2] = {1, 0};
  MlirValue a = trans_a ? fe_x_transpose(ir, p.a.x, 2, swap) : p.a.x;
  MlirValue b = trans_b ? fe_x_transpose(ir, p.b.x, 2, swap) : p.b.x;
  double alpha = fe_attr_f64(op, "alpha", 1), beta = fe_attr_f64(op, "beta", 1);
  MlirValue scale = both_scales(ir, &p), c = fe_operand(op, 2);
  if (alpha != 1)
    scale = fe_onnx1(ir, "Mul", scale, fe_constant_scalar(ir, FE_F32, alpha));
  MlirValue v = scaled_sums(ir, &p, a, b, scale);
  if (!is_null_or_none(c) && beta != 0) {
    if (beta != 1)
      c = fe_onnx1(ir, "Mul", c, fe_constant_scalar(ir, FE_F32, beta));
    v = fe_onnx1(ir, "Add", v, c);
  }
  return fe_pattern_replace(op, v);
}

static bool quantize_linear(fe_ir *ir, MlirOperation op) {
  static const struct {
    const char *op;
    MlirValue (*make)(fe_ir *ir, const result *r);
  } rules[] = {{"onnx.conv", conv},
               {"onnx.mat_mul", mat_mul},
               {"onnx.add", add},
               {"onnx.concat", concat},
               {"onnx.max_pool", moved},
               {"onnx.reshape", moved},
               {"onnx.transpose", moved},
               {"onnx.flatten", moved},
               {"onnx.squeeze", moved},
               {"onnx.unsqueeze", moved},
               {"onnx.slice", moved},
               {"onnx.depth_to_space", moved},
               {"onnx.space_to_depth", moved}};
  result r = {0};
  if (!read_result(ir, op, &r))
    return false;
  for (size_t i = 0; i < FE_COUNT(rules); i++)
    if (fe_op_is(r.op, rules[i].op))
      return replace(ir, op, &r, rules[i].make(ir, &r));
  return false;
}

const fe_pattern fe_patterns_qdq[] = {
    {"onnx.quantize_linear", quantize_linear, "operators on bytes"},
    {"onnx.mat_mul", float_mat_mul, "products of bytes"},
    {"onnx.gemm", gemm, "products of bytes"},
    {0}};
