//===- patterns_quantized.c - quantized convolutions in floats ------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sums of a quantized convolution with constant weights are computed by
// float convolutions of the same whole numbers, whose kernels are the best
// there are. Floats hold whole numbers exactly up to 2^24. Where the sums over
// all input channels might exceed that, each convolution takes so many channels
// that its sums do not, and those are added up as integers: every result is
// exact.
//
// Products with constant weights that DequantizeLinear makes of blocks keep the
// weights as they are: BlockProduct.
//
//===----------------------------------------------------------------------===//
#include "op/block_product.h"
#include "op/compose.h"
#include "pass/rewrite.h"

#include <math.h>
#include <string.h>

enum { MAX_EXACT = 1 << 24, MAX_PARTS = 16 };

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

/// A convolution of integers: what it is made of and how it is cut.
typedef struct sums {
  MlirOperation op;
  MlirValue x, w;
  parameter x_zero, w_zero;
  fe_dims d; // of the weights
  int64_t dims[FE_MAX_RANK];
  int64_t channels; // of a part
  float *weights;   // minus their zero points
  double largest;   // absolute value a sum may have
} sums;

static float *float_weights(fe_ir *ir, const sums *s) {
  fe_const c;
  if (!fe_const_of(ir, s->w, &c))
    return NULL;
  float *out = FE_NEW_N(ir->arena, float, (size_t)c.count + 1);
  int64_t each = s->dims[0] ? c.count / s->dims[0] : 0;
  for (int64_t i = 0; i < c.count; i++)
    out[i] = (float)(fe_const_f64(&c, i) - parameter_at(&s->w_zero, i / each));
  return out;
}

/// The largest sum of absolute weights of one filter over so many channels.
static double largest_sum(const sums *s, int64_t channels) {
  int64_t taps = 1, all = s->dims[1];
  double most = 0;
  for (unsigned i = 2; i < s->d.rank; i++)
    taps *= s->dims[i];
  for (int64_t k = 0; k < s->dims[0]; k++)
    for (int64_t c = 0; c < all; c += channels) {
      int64_t n = (c + channels < all ? channels : all - c) * taps;
      const float *w = s->weights + (k * all + c) * taps;
      double sum = 0;
      for (int64_t i = 0; i < n; i++)
        sum += fabsf(w[i]);
      most = sum > most ? sum : most;
    }
  return most;
}

/// Reads the operands and finds how many channels a part may have.
static bool read_sums(fe_ir *ir, sums *s) {
  if (!fe_dims_of(ir, s->w, &s->d) || s->d.rank < 3)
    return false;
  for (unsigned i = 0; i < s->d.rank; i++)
    s->dims[i] = fe_dim_static(s->d.d[i]);
  s->weights = float_weights(ir, s);
  if (!s->weights)
    return false;
  double zero = parameter_at(&s->x_zero, 0);
  bool is_unsigned = fe_dtype_of_elem(fe_elem_of(s->x)) == FE_U8;
  double low = is_unsigned ? 0 : -128, high = low + 255;
  double most = fmax(fabs(low - zero), fabs(high - zero));
  s->channels = s->dims[1];
  s->largest = largest_sum(s, s->channels) * most;
  int64_t parts = 1;
  double sum = s->largest;
  while (sum >= MAX_EXACT && s->channels > 1 && parts < MAX_PARTS) {
    parts++;
    s->channels = (s->dims[1] + parts - 1) / parts;
    sum = largest_sum(s, s->channels) * most;
  }
  return sum < MAX_EXACT && s->largest < INT32_MAX &&
         (parts == 1 || fe_attr_i64(s->op, "group", 1) == 1);
}

/// x minus its zero point convolved, for input channels [from, to).
static MlirValue part_of(fe_ir *ir, const sums *s, MlirValue x, int64_t from,
                         int64_t to) {
  int64_t dims[FE_MAX_RANK], taps = 1, n = to - from;
  memcpy(dims, s->dims, sizeof dims);
  for (unsigned i = 2; i < s->d.rank; i++)
    taps *= dims[i];
  dims[1] = n;
  float *w = s->weights;
  if (n != s->dims[1]) {
    w = FE_NEW_N(ir->arena, float, (size_t)(dims[0] * n * taps) + 1);
    for (int64_t k = 0; k < dims[0]; k++)
      memcpy(w + k * n * taps, s->weights + (k * s->dims[1] + from) * taps,
             (size_t)(n * taps) * sizeof *w);
    int64_t axis = 1;
    x = fe_onnx1(ir, "Slice", x, fe_constant_i64s(ir, 1, &from),
                 fe_constant_i64s(ir, 1, &to), fe_constant_i64s(ir, 1, &axis));
  }
  unsigned n_attrs = (unsigned)mlirOperationGetNumAttributes(s->op);
  MlirNamedAttribute *attrs =
      FE_NEW_N(ir->arena, MlirNamedAttribute, n_attrs + 1);
  for (unsigned i = 0; i < n_attrs; i++)
    attrs[i] = mlirOperationGetAttribute(s->op, i);
  MlirValue in[2] = {
      x, fe_constant(ir, "integer.weight", FE_F32, s->d.rank, dims, w)};
  return fe_first(fe_onnx(ir, "Conv", 2, in, 1, n_attrs, attrs));
}

/// The sums: f32 of one part, i32 of several or where `integer`.
static MlirValue summed(fe_ir *ir, const sums *s, bool integer) {
  MlirValue x = fe_x_cast(ir, s->x, FE_F32), sum = {0};
  double zero = parameter_at(&s->x_zero, 0);
  if (zero != 0)
    x = fe_onnx1(ir, "Sub", x, fe_constant_scalar(ir, FE_F32, zero));
  for (int64_t c = 0; c < s->dims[1]; c += s->channels) {
    int64_t to = c + s->channels < s->dims[1] ? c + s->channels : s->dims[1];
    MlirValue v = part_of(ir, s, x, c, to);
    if (s->channels < s->dims[1] || integer)
      v = fe_x_cast(ir, v, FE_I32);
    sum = fe_is_null(sum) ? v : fe_onnx1(ir, "Add", sum, v);
  }
  return sum;
}

static int64_t filters_of(fe_ir *ir, MlirValue w) {
  fe_dims d;
  int64_t n = fe_dims_of(ir, w, &d) && d.rank > 2 ? fe_dim_static(d.d[0]) : 0;
  return n == FE_DYN ? 0 : n;
}

static bool conv_integer(fe_ir *ir, MlirOperation op) {
  sums s = {.op = op, .x = fe_operand(op, 0), .w = fe_operand(op, 1)};
  int64_t filters = filters_of(ir, s.w);
  if (!filters || !read_parameter(ir, fe_operand(op, 2), 1, &s.x_zero) ||
      !read_parameter(ir, fe_operand(op, 3), filters, &s.w_zero) ||
      !read_sums(ir, &s))
    return false;
  return fe_pattern_replace(op, summed(ir, &s, true));
}

/// One number per filter as [filters][1].. of `rank` dims, or a scalar.
static MlirValue per_filter(fe_ir *ir, const char *name, fe_dtype t,
                            unsigned rank, int64_t count, const void *data) {
  int64_t dims[FE_MAX_RANK] = {count};
  for (unsigned i = 1; i < rank; i++)
    dims[i] = 1;
  return fe_constant(ir, name, t, count == 1 ? 0 : rank, dims, data);
}

static bool q_linear_conv(fe_ir *ir, MlirOperation op) {
  enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, B };
  sums s = {.op = op, .x = fe_operand(op, X), .w = fe_operand(op, W)};
  int64_t filters = filters_of(ir, s.w), one = 1;
  parameter p[B + 1];
  for (unsigned i = X_SCALE; i <= B; i++) {
    bool per_filter = i == W_SCALE || i == W_ZERO || i == B;
    if (i != W &&
        (!filters || !read_parameter(ir, fe_operand(op, i),
                                     per_filter ? filters : one, &p[i])))
      return false;
  }
  s.x_zero = p[X_ZERO];
  s.w_zero = p[W_ZERO];
  if (!read_sums(ir, &s))
    return false;
  unsigned rank = s.d.rank - 1;
  int32_t *bias = FE_NEW_N(ir->arena, int32_t, (size_t)filters);
  float *factor = FE_NEW_N(ir->arena, float, (size_t)filters);
  float x_scale = (float)parameter_at(&p[X_SCALE], 0);
  float y_scale = (float)parameter_at(&p[Y_SCALE], 0);
  double largest = s.largest;
  for (int64_t k = 0; k < filters; k++) {
    double b = parameter_at(&p[B], k);
    bias[k] = (int32_t)b;
    largest = fmax(largest, s.largest + fabs(b));
    // In this order, each step rounded, as ONNX Runtime does.
    factor[k] = x_scale * (float)parameter_at(&p[W_SCALE], k);
    factor[k] /= y_scale;
  }
  bool integer = largest >= MAX_EXACT;
  MlirValue v = summed(ir, &s, integer);
  if (present(fe_operand(op, B))) {
    MlirValue b = per_filter(ir, "integer.bias", FE_I32, rank, filters, bias);
    bool is_float = fe_dtype_of_elem(fe_elem_of(v)) == FE_F32;
    v = fe_onnx1(ir, "Add", v, is_float ? fe_x_cast(ir, b, FE_F32) : b);
  }
  int64_t n = p[W_SCALE].c.count == 1 ? 1 : filters;
  MlirValue scale = per_filter(ir, "factor", FE_F32, rank, n, factor);
  fe_dtype t = fe_dtype_of_elem(fe_elem_of(fe_result(op, 0)));
  MlirValue zero = fe_constant_scalar(ir, t, parameter_at(&p[Y_ZERO], 0));
  return fe_pattern_replace(op, fe_onnx1(ir, "ms_requantize", v, scale, zero));
}

/// Blocks along k of weights [k][n], or [n][k] when `across`.
typedef struct block_weights {
  fe_const data, scales, zeros;
  int64_t n, k, blocks;
  bool across, has_zeros;
} block_weights;

/// The smallest number of the type, which is stored as 0.
static double lowest(const block_weights *b) {
  return fe_dtype_is_unsigned(b->data.dtype)
             ? 0
             : -ldexp(1, (int)fe_dtype_bits(b->data.dtype) - 1);
}

static unsigned block_number(const void *user, int64_t row, int64_t at) {
  const block_weights *b = user;
  int64_t i = b->across ? row * b->k + at : at * b->n + row;
  return (unsigned)((double)fe_const_i64(&b->data, i) - lowest(b));
}

static double block_scale(const void *user, int64_t row, int64_t block) {
  const block_weights *b = user;
  return fe_const_f64(&b->scales,
                      b->across ? row * b->blocks + block : block * b->n + row);
}

static double block_zero(const void *user, int64_t row, int64_t block) {
  const block_weights *b = user;
  int64_t i = b->across ? row * b->blocks + block : block * b->n + row;
  return (b->has_zeros ? (double)fe_const_i64(&b->zeros, i) : 0) - lowest(b);
}

static bool block_matmul(fe_ir *ir, MlirOperation op) {
  MlirOperation def = fe_def(fe_operand(op, 1));
  block_weights b = {0};
  if (!mlirOperationIsNull(def) && fe_op_is(def, "onnx.transpose")) {
    b.across = true;
    def = fe_def(fe_operand(def, 0));
  }
  if (mlirOperationIsNull(def) || !fe_op_is(def, "onnx.dequantize_linear"))
    return false;
  MlirValue w = fe_result(def, 0), zeros = fe_operand(def, 2);
  int64_t size = fe_attr_i64(def, "block_size", 0), axis = b.across ? 1 : 0;
  int64_t given = fe_attr_i64(def, "axis", 1);
  fe_dims d;
  b.has_zeros = present(zeros);
  // Every transpose of rank 2 that is left is one.
  if (!fe_dims_of(ir, w, &d) || d.rank != 2 || size <= 0 ||
      (given < 0 ? given + 2 : given) != axis ||
      fe_dtype_of_elem(fe_elem_of(w)) != FE_F32 ||
      !fe_const_of(ir, fe_operand(def, 0), &b.data) ||
      !fe_const_of(ir, fe_operand(def, 1), &b.scales) ||
      (b.has_zeros && !fe_const_of(ir, zeros, &b.zeros)))
    return false;
  unsigned bits = fe_dtype_bits(b.data.dtype);
  b.k = fe_dim_static(d.d[axis]);
  b.n = fe_dim_static(d.d[1 - axis]);
  b.blocks = (b.k + size - 1) / size;
  fe_blocks packed = {b.n, b.k,          size,        bits,
                      &b,  block_number, block_scale, block_zero};
  if (!fe_dtype_is_int(b.data.dtype) || (bits != 2 && bits != 4 && bits != 8) ||
      b.scales.count != b.blocks * b.n || !fe_blocks_pack(&packed))
    return false;
  return fe_pattern_replace(op,
                            fe_block_product(ir, fe_operand(op, 0), &packed));
}

const fe_pattern fe_patterns_quantized[] = {
    {"onnx.mat_mul", block_matmul, "weights of few bits stay packed"},
    {"onnx.conv_integer", conv_integer, "sums of whole numbers in floats"},
    {"onnx.q_linear_conv", q_linear_conv, "the same, scaled and rounded"},
    {0}};
