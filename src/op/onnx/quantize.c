//===- quantize.c - QuantizeLinear, MatMulInteger, ... -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scales and zero points are one number, one per index of an axis, or one per
// block along an axis. Arithmetic is in f32, quotients are rounded to a
// narrower type where the standard divides in it; results are rounded to even
// and limited to their type.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"
#include "op/product.h"
#include "op/quantized.h"

#include <string.h>

//===-- Scales --------------------------------------------------------------//

typedef enum granularity { TENSOR, AXIS, BLOCK } granularity;

/// How a scale of `rank` dims goes with x; its first dim may be unknown: then
/// AXIS is that or one number.
static granularity granularity_of(MlirOperation op, unsigned x_rank,
                                  unsigned rank, int64_t count) {
  int64_t block = fe_attr_i64(op, "block_size", 0);
  int64_t axis = fe_attr_i64(op, "axis", 1);
  if (rank == 0 || (rank == 1 && count == 1 && !block))
    return TENSOR;
  // There is no such axis, so it can only be one number.
  if (rank == 1 && count == FE_DYN && !block &&
      (axis >= (int64_t)x_rank || axis < -(int64_t)x_rank))
    return TENSOR;
  return rank == 1 && (x_rank != 1 || !block) ? AXIS : BLOCK;
}

static fe_status check_scale(fe_infer *f, const fe_dims *x, unsigned operand,
                             granularity *out) {
  fe_dims s;
  if (fe_in_dims(f, operand, &s))
    return FE_FAILED;
  int64_t block = fe_attr_i64(f->attrs, "block_size", 0);
  int64_t count = s.rank == 1 ? fe_dim_static(s.d[0]) : 0;
  granularity g = granularity_of(f->attrs, x->rank, s.rank, count);
  *out = g;
  if (g == TENSOR)
    return FE_OK;
  unsigned axis;
  if (fe_axis(f, fe_attr_i64(f->attrs, "axis", 1), x->rank, &axis))
    return FE_FAILED;
  bool fits = g == AXIS || s.rank == x->rank;
  for (unsigned i = 0; fits && i < x->rank; ++i) {
    int64_t n = fe_dim_static(x->d[i]);
    int64_t m = fe_dim_static(s.d[g == AXIS ? 0 : i]);
    if (g == AXIS && i != axis)
      continue;
    if (g == BLOCK && i == axis) {
      fits = block <= 0
                 ? m == FE_DYN || m > 0
                 : n == FE_DYN || m == FE_DYN || m == (n + block - 1) / block;
      continue;
    }
    fits = n == FE_DYN || m == FE_DYN || n == m;
  }
  if (!fits)
    return fe_infer_error(f, NULL, "the scale's shape does not fit x");
  return FE_OK;
}

/// Reads a scale or zero point for the current element of the generic.
typedef struct scale_operand {
  MlirValue v;
  fe_dtype type;
  granularity g;
  unsigned rank, axis; // of x
  MlirValue block;     // elements per block, index
  MlirAffineMap map;   // null: by subscripts
  MlirValue is_one;    // AXIS: whether it is one number; null: it is not
  bool constant;
  double value;
} scale_operand;

static scale_operand scale_of(fe_lower *l, unsigned operand) {
  fe_ir *ir = l->ir;
  scale_operand s = {.v = l->in[operand], .type = l->in_type[operand]};
  s.rank = fe_rank(l->in[0]);
  unsigned rank = fe_rank(s.v);
  int64_t block = fe_attr_i64(l->op, "block_size", 0);
  s.axis = fe_attr_axis(l->op, "axis", 1, s.rank);
  s.g = granularity_of(l->op, s.rank, rank,
                       rank == 1 ? fe_static_dim(s.v, 0) : 0);
  MlirAffineExpr e[1] = {mlirAffineConstantExprGet(ir->ctx, 0)};
  fe_const c;
  if (s.g == TENSOR && fe_const_of(ir, fe_operand(l->op, operand), &c) &&
      fe_dtype_bits(s.type) <= 32)
    s.constant = fe_const_scalar(ir, fe_operand(l->op, operand), &s.value);
  if (s.g == TENSOR) {
    fe_check_equal(l, fe_list_length(l, s.v), fe_index(ir, 1),
                   "the scale is not one number");
    s.map = mlirAffineMapGet(ir->ctx, s.rank, 0, rank, e);
  }
  if (s.g == AXIS) {
    MlirValue n = fe_size(l, s.v, 0), want = fe_size(l, l->in[0], s.axis);
    bool same = fe_same(n, want);
    if (!same && fe_static_dim(s.v, 0) == FE_DYN) {
      s.is_one = fe_cmp(ir, FE_EQ, n, fe_index(ir, 1));
      fe_check(l, fe_or(ir, s.is_one, fe_cmp(ir, FE_EQ, n, want)),
               "the scale's size is not the axis'");
    } else {
      fe_check_equal(l, n, want, "the scale's size is not the axis'");
      e[0] = mlirAffineDimExprGet(ir->ctx, s.axis);
      s.map = mlirAffineMapGet(ir->ctx, s.rank, 0, 1, e);
    }
  }
  if (s.g == BLOCK) {
    MlirValue n = fe_size(l, l->in[0], s.axis), m = fe_size(l, s.v, s.axis);
    MlirValue one = fe_index(ir, 1);
    s.block = block > 0
                  ? fe_index(ir, block)
                  : fe_max(ir, fe_ceildiv(ir, n, fe_max(ir, m, one)), one);
    for (unsigned i = 0; i < rank; ++i) {
      MlirValue want = fe_size(l, l->in[0], i);
      if (i == s.axis)
        want = fe_ceildiv(ir, want, s.block);
      fe_check_equal(l, fe_size(l, s.v, i), want,
                     "the scale's shape does not fit x");
    }
  }
  return s;
}

static MlirValue scale_element(fe_lower *l, fe_generic *g, unsigned arg,
                               const scale_operand *s) {
  fe_ir *ir = l->ir;
  if (s->constant)
    return fe_number(ir, fe_compute_type(ir, s->type), s->value);
  MlirValue idx[FE_MAX_RANK];
  if (!fe_is_null(s->is_one)) {
    idx[0] = fe_select(ir, s->is_one, fe_index(ir, 0), fe_iter(g, s->axis));
    return fe_at(g, s->v, s->type, 1, idx);
  }
  if (s->g != BLOCK)
    return fe_arg(g, arg);
  for (unsigned i = 0; i < s->rank; ++i) {
    idx[i] = fe_iter(g, i);
    if (i == s->axis)
      idx[i] = fe_divu(ir, idx[i], s->block);
  }
  return fe_at(g, s->v, s->type, s->rank, idx);
}

/// Generic over x with scale (operand 1) and zero point (operand 2, may be
/// absent) at hand; values of compute types.
typedef struct elements {
  fe_generic *g;
  MlirValue x, scale, zero;
} elements;

static elements begin_elements(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]), n = 2;
  MlirValue sizes[FE_MAX_RANK], in[3] = {l->in[0]};
  fe_dtype types[3] = {l->in_type[0]};
  MlirAffineMap maps[3] = {mlirAffineMapMultiDimIdentityGet(ir->ctx, rank)};
  scale_operand s[2];
  fe_sizes_of(l, l->in[0], sizes);
  if (l->n_in > 2 && !fe_is_null(l->in[2]))
    n = 3;
  for (unsigned i = 1; i < n; ++i) {
    s[i - 1] = scale_of(l, i);
    in[i] = s[i - 1].v;
    types[i] = s[i - 1].type;
    maps[i] = s[i - 1].constant ? (MlirAffineMap){0} : s[i - 1].map;
  }
  elements e = {.g = fe_generic_begin(l, rank, sizes, n, in, types, maps)};
  e.x = fe_arg(e.g, 0);
  e.scale = scale_element(l, e.g, 1, &s[0]);
  if (n == 3)
    e.zero = scale_element(l, e.g, 2, &s[1]);
  return e;
}

/// The number in f32.
static MlirValue as_f32(fe_ir *ir, fe_dtype t, MlirValue v) {
  return fe_convert(ir, v, ir->f32, fe_dtype_is_unsigned(t), false);
}

/// f32 with no more digits than t has.
static MlirValue rounded(fe_ir *ir, fe_dtype t, MlirValue v) {
  return fe_to_compute(ir, t, fe_to_storage(ir, t, v));
}

//===-- QuantizeLinear ------------------------------------------------------//

/// Of the same integers and floats as the operators' types below.
static bool quantizes_to(fe_dtype t) {
  return fe_dtype_is_int(t)
             ? fe_dtype_bits(t) <= 16
             : fe_dtype_is_float(t) && fe_dtype_bits(t) <= 8 && t != FE_F8E8M0;
}

/// The type that x is divided by the scale in.
static fe_dtype precision_of(MlirOperation op, fe_dtype scale) {
  int64_t given = fe_attr_i64(op, "precision", 0);
  return given ? (fe_dtype)given : scale;
}

static fe_status infer_quantize(fe_infer *f) {
  fe_dims x;
  granularity scale, zero;
  if (fe_in_dims(f, 0, &x) || check_scale(f, &x, 1, &scale))
    return FE_FAILED;
  int64_t given = fe_attr_i64(f->attrs, "output_dtype", 0);
  fe_dtype t = fe_in_dtype(f, 2);
  if (t != FE_UNDEFINED && check_scale(f, &x, 2, &zero))
    return FE_FAILED;
  if (t == FE_UNDEFINED)
    t = given ? (fe_dtype)given : FE_U8;
  if (given && t != (fe_dtype)given)
    return fe_infer_error(f, NULL, "output_dtype is not the zero point's type");
  fe_dtype p = precision_of(f->attrs, fe_in_dtype(f, 1));
  if (fe_has_attr(f->attrs, "precision") && p != fe_in_dtype(f, 1) &&
      p != FE_F32 && p != FE_F16 && p != FE_BF16)
    return fe_infer_error(f, NULL, "cannot divide in the 'precision' %s",
                          fe_dtype_name(p));
  if ((unsigned)t >= FE_DTYPE_COUNT || !quantizes_to(t))
    return fe_infer_error(f,
                          "'output_dtype', or the zero point, says which type: "
                          "an integer of 2 to 16 bits, a float of 4 or 8",
                          "cannot quantize to %s",
                          (unsigned)t < FE_DTYPE_COUNT ? fe_dtype_name(t)
                                                       : "an unknown type");
  fe_out_tensor(f, 0, t, &x);
  return FE_OK;
}

static fe_status lower_quantize(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->out_type[0];
  elements e = begin_elements(l);
  fe_dtype precision = precision_of(l->op, l->in_type[1]);
  MlirValue x = as_f32(ir, l->in_type[0], e.x);
  MlirValue scale = as_f32(ir, l->in_type[1], e.scale);
  bool narrow = precision == FE_F16 || precision == FE_BF16;
  if (narrow) {
    if (l->in_type[0] != precision)
      x = rounded(ir, precision, x);
    if (l->in_type[1] != precision)
      scale = rounded(ir, precision, scale);
  }
  // One scale for all: its reciprocal is found once.
  int64_t count = fe_rank(l->in[1]) == 1 ? fe_static_dim(l->in[1], 0) : 0;
  bool one = granularity_of(l->op, fe_rank(l->in[0]), fe_rank(l->in[1]),
                            count) == TENSOR;
  MlirValue v =
      one ? fe_quotient(ir, l->target, x, scale) : fe_div(ir, x, scale);
  if (narrow)
    v = rounded(ir, precision, v);
  bool integer = fe_dtype_is_int(t);
  if (integer)
    v = fe_math(ir, "roundeven", v);
  if (!fe_is_null(e.zero))
    v = fe_add(ir, v, as_f32(ir, l->in_type[2], e.zero));
  v = integer ? fe_saturated(ir, t, v)
              : fe_limit_float8(ir, t, fe_attr_i64(l->op, "saturate", 1), v);
  l->out[0] = fe_generic_end(e.g, t, v);
  return FE_OK;
}

//===-- DequantizeLinear ----------------------------------------------------//

static fe_status infer_dequantize(fe_infer *f) {
  fe_dims x;
  granularity g;
  if (fe_in_dims(f, 0, &x) || check_scale(f, &x, 1, &g) ||
      (fe_in_dtype(f, 2) != FE_UNDEFINED && check_scale(f, &x, 2, &g)))
    return FE_FAILED;
  int64_t given = fe_attr_i64(f->attrs, "output_dtype", 0);
  fe_dtype t = given ? (fe_dtype)given : fe_in_dtype(f, 1);
  if (t != FE_F32 && t != FE_F16 && t != FE_BF16)
    return fe_infer_error(
        f, "give 'output_dtype'", "the result cannot be of type %s",
        (unsigned)t < FE_DTYPE_COUNT ? fe_dtype_name(t) : "unknown");
  fe_out_tensor(f, 0, t, &x);
  return FE_OK;
}

static fe_status lower_dequantize(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0];
  elements e = begin_elements(l);
  MlirValue v = e.x;
  if (fe_dtype_is_int(t) && fe_dtype_bits(t) < 32) {
    bool is_unsigned = fe_dtype_is_unsigned(t);
    v = fe_convert(ir, v, ir->i32, is_unsigned, false);
    if (!fe_is_null(e.zero))
      v = fe_sub(ir, v, fe_convert(ir, e.zero, ir->i32, is_unsigned, false));
  } else if (!fe_is_null(e.zero)) {
    v = fe_sub(ir, v, e.zero);
  }
  v = fe_mul(ir, fe_convert(ir, v, ir->f32, false, false),
             as_f32(ir, l->in_type[1], e.scale));
  l->out[0] = fe_generic_end(e.g, l->out_type[0], v);
  return FE_OK;
}

//===-- MatMulInteger, QLinearMatMul ----------------------------------------//

static fe_status infer_integer(fe_infer *f) {
  fe_dims out;
  if (fe_product_dims(f, 0, 1, &out))
    return FE_FAILED;
  fe_out_tensor(f, 0, FE_I32, &out);
  return FE_OK;
}

static fe_status lower_integer(fe_lower *l) {
  static const unsigned operands[4] = {0, 1, 2, 3};
  fe_matrices m = {.a = l->in[0], .b = l->in[1]};
  fe_matrices_prepare(l, &m);
  l->out[0] = fe_matrices_result(l, &m, fe_integer_product(l, &m, operands));
  return FE_OK;
}

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };

static fe_status infer_qlinear(fe_infer *f) {
  fe_dims out;
  if (fe_product_dims(f, A, B, &out))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, Y_ZERO), &out);
  return FE_OK;
}

/// Floats of 8 bits are multiplied as floats.
static fe_status expand_qlinear(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  const MlirValue *in = n->in.at;
  if (fe_node_require(n, 8))
    return FE_FAILED;
  if (fe_dtype_is_int(fe_x_type(in[A])) && fe_dtype_is_int(fe_x_type(in[B])) &&
      fe_dtype_is_int(fe_x_type(in[Y_ZERO])))
    return FE_OK;
  // One number per row of A is a column; per column of B it lies along axis 1.
  MlirValue v[2];
  for (unsigned i = 0; i < 2; ++i) {
    const MlirValue *x = in + 3 * i;
    fe_dims d, scale;
    if (!fe_dims_of(ir, x[0], &d) || !fe_dims_of(ir, x[1], &scale))
      return FE_FAILED;
    int64_t axis = i && d.rank ? d.rank - 1 : d.rank > 1 ? d.rank - 2 : 0;
    v[i] = FE_COMPOSE(ir, "DequantizeLinear", FE_VALUES(x[0], x[1], x[2]),
                      FE_ATTRS(fe_at_i64(ir, "axis", axis)));
  }
  return fe_node_done(FE_X(ir, "QuantizeLinear", FE_X(ir, "MatMul", v[0], v[1]),
                           in[Y_SCALE], in[Y_ZERO]),
                      results);
}

static MlirValue requantized(fe_ir *ir, const MlirValue *x, const void *user) {
  const fe_dtype *t = user;
  MlirValue scale = fe_div(ir, fe_mul(ir, x[1], x[2]), x[3]);
  MlirValue v = fe_mul(ir, fe_convert(ir, x[0], ir->f32, false, false), scale);
  v = fe_math(ir, "roundeven", v);
  v = fe_add(ir, v, as_f32(ir, *t, x[4]));
  return fe_saturated(ir, *t, v);
}

static fe_status lower_qlinear(fe_lower *l) {
  static const unsigned operands[4] = {A, B, A_ZERO, B_ZERO};
  fe_ir *ir = l->ir;
  fe_matrices m = {.a = l->in[A], .b = l->in[B]};
  fe_matrices_prepare(l, &m);
  MlirValue sum = fe_integer_product(l, &m, operands);
  static const unsigned more[] = {A_SCALE, B_SCALE, Y_SCALE, Y_ZERO};
  MlirValue in[5] = {sum};
  fe_dtype types[5] = {FE_I32};
  for (unsigned i = 0; i < 4; ++i) {
    MlirValue v = l->in[more[i]];
    // One scale per row is a column.
    if (more[i] == A_SCALE && fe_rank(v) == 1 && fe_static_dim(v, 0) != 1) {
      MlirValue sizes[2] = {fe_size(l, v, 0), fe_index(ir, 1)};
      v = fe_reshape(l, v, fe_elem_of(v), 2, sizes);
    }
    in[1 + i] = v;
    types[1 + i] = l->in_type[more[i]];
  }
  MlirValue y = fe_pointwise(l, m.rank, m.sizes, 5, in, types, l->out_type[0],
                             requantized, &l->out_type[0]);
  l->out[0] = fe_matrices_result(l, &m, y);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def quantize_attrs[] = {
    {"axis", FE_A_INT, "1"},         {"saturate", FE_A_INT, "1"},
    {"block_size", FE_A_INT, "0.."}, {"output_dtype", FE_A_INT, "0"},
    {"precision", FE_A_INT, "0"},    {0}};
static const fe_attr_def dequantize_attrs[] = {{"axis", FE_A_INT, "1"},
                                               {"block_size", FE_A_INT, "0.."},
                                               {"output_dtype", FE_A_INT, "0"},
                                               {0}};

#define INTEGERS "i8,u8,i16,u16,i4,u4,i2,u2"
#define SMALL_FLOATS                                                           \
  "f8e4m3fn,f8e4m3fnuz,f8e5m2,f8e5m2fnuz,f4e2m1,f6e2m3,f6e3m2"

const fe_op_row fe_family_quantize[] = {
    {.name = "QuantizeLinear",
     .since = 10,
     .inputs = "x:T1, y_scale:T2, y_zero_point?:T3",
     .outputs = "y:T3",
     .types = "T1=f32,f16,bf16,i32;T2=f32,f16,bf16,i32,f8e8m0;"
              "T3=" INTEGERS "," SMALL_FLOATS,
     .attrs = quantize_attrs,
     .infer = infer_quantize,
     .lower = lower_quantize},
    {.name = "DequantizeLinear",
     .since = 10,
     .inputs = "x:T1, x_scale:T2, x_zero_point?:T1",
     .outputs = "y:T3",
     .types = "T1=i32," INTEGERS "," SMALL_FLOATS ";T2=f32,f16,bf16,f8e8m0;"
              "T3=f32,f16,bf16",
     .attrs = dequantize_attrs,
     .infer = infer_dequantize,
     .lower = lower_dequantize},
    {.name = "MatMulInteger",
     .since = 10,
     .inputs = "A:T1, B:T2, a_zero_point?:T1, b_zero_point?:T2",
     .outputs = "Y:T3",
     .types = "T1=i8,u8;T2=i8,u8;T3=i32",
     .infer = infer_integer,
     .lower = lower_integer},
    {.name = "QLinearMatMul",
     .since = 10,
     .inputs = "a:T1, a_scale:TS, a_zero_point:T1, b:T2, b_scale:TS, "
               "b_zero_point:T2, y_scale:TS, y_zero_point:T3",
     .outputs = "y:T3",
     .types = "T1=i8,u8,float8;T2=i8,u8,float8;T3=i8,u8,float8;"
              "TS=f32,f16,bf16",
     .flags = FE_FUNCTION,
     .expand = expand_qlinear,
     .infer = infer_qlinear,
     .lower = lower_qlinear},
    {0}};
