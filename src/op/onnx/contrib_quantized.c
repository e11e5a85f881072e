//===- contrib_quantized.c - ONNX Runtime's QLinear operators ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators on integers of 8 bits with a scale and a zero point each. Sums are
// exact, in 32 bits; what is done in f32 is done in the order in which ONNX
// Runtime does it on x86, and products are rounded before they are added where
// it does so, too: results are the same to the last bit. Requantize and Rescale
// are what the expansions here, and those of quantized convolutions, are made
// of.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"
#include "op/quantized.h"
#include "op/scalar.h"
#include "op/sliding.h"

#include <math.h>
#include <string.h>

//===-- Of single elements --------------------------------------------------//

/// Two operands and the result, each with scale and zero point.
enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C_SCALE, C_ZERO };
/// One operand and the result.
enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };

static MlirValue number(fe_ir *ir, fe_dtype t, MlirValue v) {
  return fe_convert(ir, v, ir->f32, fe_dtype_is_unsigned(t), false);
}

/// (x - zero) * scale
static MlirValue dequantized(fe_ir *ir, fe_dtype t, MlirValue x,
                             MlirValue scale, MlirValue zero) {
  return fe_mul(ir, scale, fe_sub(ir, number(ir, t, x), number(ir, t, zero)));
}

/// round(v / scale) + zero
static MlirValue quantized(fe_ir *ir, fe_dtype t, MlirValue v, MlirValue scale,
                           MlirValue zero) {
  v = fe_math(ir, "roundeven", fe_div(ir, v, scale));
  return fe_saturated(ir, t, fe_add(ir, v, number(ir, t, zero)));
}

/// One product and addition after the other, as one instruction where there is
/// one, around a part that does not depend on the elements.
FE_SCALAR(q_add) {
  FE_UNUSED;
  MlirValue ra = fe_div(ir, x[A_SCALE], x[C_SCALE]);
  MlirValue rb = fe_div(ir, x[B_SCALE], x[C_SCALE]);
  MlirValue fixed = fe_add(ir, fe_mul(ir, ra, number(ir, in, x[A_ZERO])),
                           fe_mul(ir, rb, number(ir, in, x[B_ZERO])));
  fixed = fe_sub(ir, number(ir, in, x[C_ZERO]), fixed);
  MlirValue v = fe_add(ir, fe_mul(ir, number(ir, in, x[B]), rb), fixed);
  v = fe_add(ir, fe_mul(ir, number(ir, in, x[A]), ra), v);
  return fe_saturated(ir, out, fe_math(ir, "roundeven", v));
}

FE_SCALAR(q_mul) {
  FE_UNUSED;
  MlirAttribute contract = fe_strict_begin(ir);
  MlirValue ratio = fe_mul(ir, x[A_SCALE], x[B_SCALE]);
  ratio = fe_div(ir, ratio, x[C_SCALE]);
  MlirValue a = fe_sub(ir, number(ir, in, x[A]), number(ir, in, x[A_ZERO]));
  MlirValue b = fe_sub(ir, number(ir, in, x[B]), number(ir, in, x[B_ZERO]));
  MlirValue v = fe_mul(ir, fe_mul(ir, a, b), ratio);
  v = fe_add(ir, v, number(ir, in, x[C_ZERO]));
  fe_strict_end(ir, contract);
  return fe_saturated(ir, out, fe_math(ir, "roundeven", v));
}

FE_SCALAR(q_leaky_relu) {
  FE_UNUSED;
  MlirValue v = dequantized(ir, in, x[X], x[X_SCALE], x[X_ZERO]);
  MlirValue zero = fe_float(ir, mlirValueGetType(v), 0);
  MlirValue alpha =
      fe_float(ir, mlirValueGetType(v), fe_attr_f64(op, "alpha", 0.01));
  v = fe_select(ir, fe_cmp(ir, FE_GE, v, zero), v, fe_mul(ir, alpha, v));
  return quantized(ir, out, v, x[Y_SCALE], x[Y_ZERO]);
}

FE_SCALAR(q_sigmoid) {
  FE_UNUSED;
  MlirValue v = dequantized(ir, in, x[X], x[X_SCALE], x[X_ZERO]);
  MlirValue one = fe_float(ir, mlirValueGetType(v), 1);
  v = fe_div(ir, one, fe_add(ir, one, fe_math(ir, "exp", fe_neg(ir, v))));
  return quantized(ir, out, v, x[Y_SCALE], x[Y_ZERO]);
}

FE_SCALAR(rescale) {
  FE_UNUSED;
  MlirValue v = dequantized(ir, in, x[X], x[X_SCALE], x[X_ZERO]);
  return quantized(ir, out, v, x[Y_SCALE], x[Y_ZERO]);
}

/// Sum, factor, zero point.
FE_SCALAR(requantize) {
  FE_UNUSED;
  MlirValue v = fe_mul(ir, fe_convert(ir, x[0], ir->f32, false, false), x[1]);
  v = fe_math(ir, "roundeven", v);
  return fe_saturated(ir, out, fe_add(ir, v, number(ir, out, x[2])));
}

/// Number, scale, zero point, which is added before rounding.
FE_SCALAR(quantize_shifted) {
  FE_UNUSED;
  MlirValue v = fe_div(ir, x[0], x[1]);
  v = fe_add(ir, v, number(ir, out, x[2]));
  return fe_saturated(ir, out, fe_math(ir, "roundeven", v));
}

static fe_status infer_requantize(fe_infer *f) {
  fe_dims d = {0}, next;
  for (unsigned i = 0; i < f->n_in; ++i)
    if (fe_in_dims(f, i, &next) || fe_broadcast_dims(f, &d, &next, &d))
      return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 2), &d);
  return FE_OK;
}

//===-- Scalars at import ---------------------------------------------------//

/// Parameter i as scalar; an absent zero point is 0.
static fe_status scalar_in(fe_node *n, unsigned i, fe_dtype t) {
  fe_ir *ir = n->ir;
  while (n->in.n <= i)
    fe_push(ir->arena, &n->in, (MlirValue){0});
  MlirValue *v = &n->in.at[i];
  fe_dims d;
  if (fe_is_null(*v))
    *v = fe_constant_scalar(ir, t, 0);
  else if (fe_dims_of(ir, *v, &d) && d.rank)
    *v = fe_x_reshape(ir, *v, 0, NULL); // one element, or it is reported
  return fe_is_null(*v) ? FE_FAILED : FE_OK;
}

/// Every input is a scalar but those whose bit is set in `tensors`.
static fe_status scalars(fe_node *n, unsigned count, uint32_t tensors,
                         uint32_t optional) {
  unsigned errors = n->ir->diags->errors;
  for (unsigned i = 0; i < count; ++i)
    if (!(optional >> i & 1) && fe_is_null(fe_node_in(n, i)))
      return fe_node_error(n, NULL, "input %u is missing", i);
  fe_dtype t = fe_x_type(fe_node_in(n, 0));
  for (unsigned i = 0; i < count; ++i)
    if (!(tensors >> i & 1) && scalar_in(n, i, t))
      return n->ir->diags->errors != errors
                 ? FE_FAILED
                 : fe_node_error(n, NULL, "input %u must be one number", i);
  return FE_OK;
}

static bool is_one(fe_ir *ir, MlirValue v) {
  fe_dims d;
  if (!fe_dims_of(ir, v, &d))
    return false;
  for (unsigned i = 0; i < d.rank; ++i)
    if (fe_dim_static(d.d[i]) != 1)
      return false;
  return true;
}

static fe_status upgrade_binary(fe_node *n) {
  if (scalars(n, 8, 1u << A | 1u << B,
              1u << A_ZERO | 1u << B_ZERO | 1u << C_ZERO))
    return FE_FAILED;
  // A single number belongs to the part that is the same for all elements.
  if (is_one(n->ir, n->in.at[A]) && !is_one(n->ir, n->in.at[B]))
    for (unsigned i = 0; i < 3; ++i) {
      MlirValue a = n->in.at[A + i];
      n->in.at[A + i] = n->in.at[B + i];
      n->in.at[B + i] = a;
    }
  return FE_OK;
}

static fe_status upgrade_unary(fe_node *n) {
  return scalars(n, 5, 1u << X, 1u << X_ZERO | 1u << Y_ZERO);
}

/// Operands of Rescale: x with its parameters to those of the result.
static MlirValue rescaled(fe_ir *ir, MlirValue x, MlirValue scale,
                          MlirValue zero, MlirValue y_scale, MlirValue y_zero) {
  return FE_X(ir, "ms_rescale", x, scale, zero, y_scale, y_zero);
}

//===-- Concat, Where -------------------------------------------------------//

static fe_status expand_concat(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (n->in.n < 5 || (n->in.n - 2) % 3)
    return fe_node_error(n, NULL, "every input must have scale and zero point");
  if (scalars(n, 2, 0, 0))
    return FE_FAILED;
  unsigned count = (unsigned)(n->in.n - 2) / 3;
  MlirValue *parts = FE_NEW_N(ir->arena, MlirValue, count);
  for (unsigned i = 0; i < count; ++i) {
    for (unsigned k = 0; k < 3; ++k)
      if (fe_is_null(n->in.at[2 + 3 * i + k]) ||
          (k && scalar_in(n, 2 + 3 * i + k, FE_F32)))
        return fe_node_error(n, NULL, "input %u must be one number",
                             2 + 3 * i + k);
    const MlirValue *x = &n->in.at[2 + 3 * i];
    parts[i] = rescaled(ir, x[0], x[1], x[2], n->in.at[0], n->in.at[1]);
    if (fe_is_null(parts[i]))
      return FE_FAILED;
  }
  return fe_node_done(fe_x_concat(ir, fe_node_int(n, "axis", 0), count, parts),
                      results);
}

static fe_status expand_where(fe_node *n, MlirValue *results) {
  enum { IF, WX, WX_SCALE, WX_ZERO, WY, WY_SCALE, WY_ZERO, Z_SCALE, Z_ZERO };
  fe_ir *ir = n->ir;
  if (scalars(n, 9, 1u << IF | 1u << WX | 1u << WY, 0))
    return FE_FAILED;
  const MlirValue *in = n->in.at;
  MlirValue x =
      rescaled(ir, in[WX], in[WX_SCALE], in[WX_ZERO], in[Z_SCALE], in[Z_ZERO]);
  MlirValue y =
      rescaled(ir, in[WY], in[WY_SCALE], in[WY_ZERO], in[Z_SCALE], in[Z_ZERO]);
  return fe_node_done(FE_X(ir, "Where", in[IF], x, y), results);
}

//===-- Means ---------------------------------------------------------------//

/// Channels put in front of the spatial dims, or back behind them.
static MlirValue channels_moved(fe_ir *ir, MlirValue v, bool to_front) {
  fe_dims d;
  int64_t order[FE_MAX_RANK] = {0};
  if (fe_is_null(v) || !fe_dims_of(ir, v, &d) || d.rank < 3)
    return (MlirValue){0};
  for (unsigned i = 1; i < d.rank; ++i)
    order[i] = to_front ? (i == 1 ? d.rank - 1 : i - 1)
                        : (i + 1 == d.rank ? 1 : i + 1);
  return fe_x_transpose(ir, v, d.rank, order);
}

/// x in f32; parameters are those of a unary operator.
static MlirValue in_floats(fe_node *n, MlirValue x) {
  return FE_X(n->ir, "DequantizeLinear", x, n->in.at[X_SCALE],
              n->in.at[X_ZERO]);
}

/// Mean of the dims whose bit is set, from exact sums.
static MlirValue mean(fe_node *n, MlirValue x, uint32_t reduced, bool keep) {
  fe_ir *ir = n->ir;
  fe_dims d;
  if (!fe_dims_of(ir, x, &d))
    return (MlirValue){0};
  int64_t axes[FE_MAX_RANK];
  unsigned count = 0;
  MlirValue size = fe_x_int(ir, 1);
  for (unsigned i = 0; i < d.rank; ++i)
    if (reduced >> i & 1) {
      axes[count++] = i;
      size = FE_X(ir, "Mul", size, fe_x_size(ir, x, i));
    }
  size = fe_x_cast(ir, fe_x_reshape(ir, size, 0, NULL), FE_F32);
  MlirValue v = FE_X(ir, "Sub", fe_x_cast(ir, x, FE_I32),
                     fe_x_cast(ir, n->in.at[X_ZERO], FE_I32));
  v = FE_COMPOSE(ir, "ReduceSum", FE_VALUES(v, fe_x_ints(ir, count, axes)),
                 FE_ATTRS(fe_at_i64(ir, "keepdims", keep)));
  MlirValue factor = FE_X(ir, "Div", n->in.at[X_SCALE],
                          FE_X(ir, "Mul", n->in.at[Y_SCALE], size));
  return FE_X(ir, "ms_requantize", v, factor, n->in.at[Y_ZERO]);
}

static fe_status expand_global_pool(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_dims d;
  if (upgrade_unary(n))
    return FE_FAILED;
  MlirValue x = n->in.at[X];
  if (!fe_dims_of(ir, x, &d) || d.rank < 3)
    return fe_node_error(n, NULL, "X must have rank 3 or more");
  bool last = fe_node_int(n, "channels_last", 0) != 0;
  uint32_t spatial = ((1u << (d.rank - 2)) - 1) << (last ? 1 : 2);
  return fe_node_done(mean(n, x, spatial, true), results);
}

static fe_status expand_reduce_mean(fe_node *n, MlirValue *results) {
  fe_dims d;
  if (upgrade_unary(n))
    return FE_FAILED;
  const fe_node_attr *axes = fe_node_attr_find(n, "axes");
  if (!fe_dims_of(n->ir, n->in.at[X], &d))
    return FE_FAILED;
  uint32_t reduced = axes && axes->n ? 0 : (1u << d.rank) - 1;
  for (size_t i = 0; axes && i < axes->n; ++i) {
    int64_t axis = axes->ints[i] < 0 ? axes->ints[i] + d.rank : axes->ints[i];
    if (axis < 0 || axis >= d.rank)
      return fe_node_error(n, NULL, "an axis is out of range");
    reduced |= 1u << axis;
  }
  return fe_node_done(
      mean(n, n->in.at[X], reduced, fe_node_int(n, "keepdims", 1) != 0),
      results);
}

static fe_status expand_average_pool(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (upgrade_unary(n))
    return FE_FAILED;
  bool last = fe_node_int(n, "channels_last", 0) != 0;
  MlirValue x = n->in.at[X], v = {0};
  if (last)
    x = channels_moved(ir, x, true);
  x = in_floats(n, x);
  if (fe_is_null(x))
    return fe_node_error(n, NULL, "X must have rank 3 or more");
  // Here what ceil_mode adds behind the padding counts, too.
  if (fe_node_int(n, "ceil_mode", 0) && fe_node_int(n, "count_include_pad", 0))
    fe_node_set_int(n, "count_include_pad", FE_COUNT_WINDOW);
  if (fe_node_over(n, "AveragePool", 1, &x, 1, &v))
    return FE_FAILED;
  v = FE_X(ir, "ms_quantize_shifted", v, n->in.at[Y_SCALE], n->in.at[Y_ZERO]);
  return fe_node_done(last ? channels_moved(ir, v, false) : v, results);
}

//===-- Softmax -------------------------------------------------------------//

static fe_status expand_softmax(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_dims d;
  if (upgrade_unary(n))
    return FE_FAILED;
  MlirValue x = n->in.at[X], shape = {0};
  if (!fe_dims_of(ir, x, &d) || !d.rank)
    return fe_node_error(n, NULL, "X has no dimension");
  bool old = fe_node_int(n, "opset", 13) < 13;
  int64_t axis = fe_node_int(n, "axis", old ? 1 : -1);
  axis += axis < 0 ? d.rank : 0;
  if (axis < 0 || axis >= d.rank)
    return fe_node_error(n, NULL, "the axis is out of range");
  if (old) { // along all dims from the axis on
    shape = FE_X(ir, "Shape", x);
    x = FE_COMPOSE(ir, "Flatten", FE_VALUES(x),
                   FE_ATTRS(fe_at_i64(ir, "axis", axis)));
    axis = 1;
  }
  x = fe_x_cast(ir, x, FE_F32);
  MlirValue max = FE_X(ir, "ReduceMax", x, fe_x_int(ir, axis));
  MlirValue e = FE_X(
      ir, "Exp", FE_X(ir, "Mul", FE_X(ir, "Sub", x, max), n->in.at[X_SCALE]));
  MlirValue sum = FE_X(ir, "ReduceSum", e, fe_x_int(ir, axis));
  MlirValue steps = FE_X(
      ir, "Floor",
      FE_X(ir, "Div", fe_constant_scalar(ir, FE_F32, 1), n->in.at[Y_SCALE]));
  MlirValue v = FE_X(ir, "Div", FE_X(ir, "Mul", e, steps), sum);
  v = FE_X(ir, "ms_requantize", v, fe_constant_scalar(ir, FE_F32, 1),
           n->in.at[Y_ZERO]);
  return fe_node_done(old ? FE_X(ir, "Reshape", v, shape) : v, results);
}

//===-- Products ------------------------------------------------------------//

static fe_status expand_gemm(fe_node *n, MlirValue *results) {
  enum { GA, GA_SCALE, GA_ZERO, GB, GB_SCALE, GB_ZERO, GC, GY_SCALE, GY_ZERO };
  fe_ir *ir = n->ir;
  fe_dims d;
  if (fe_node_require(n, GC) || fe_node_dims(n, GA, 2, &d) ||
      fe_node_dims(n, GB, 2, &d))
    return FE_FAILED;
  bool has_zero = !fe_is_null(fe_node_in(n, GY_ZERO));
  if (has_zero == fe_is_null(fe_node_in(n, GY_SCALE)))
    return fe_node_error(n, NULL, "y_scale and y_zero_point go together");
  MlirValue in[4] = {n->in.at[GA], n->in.at[GB], n->in.at[GA_ZERO],
                     n->in.at[GB_ZERO]};
  static const int64_t swap[2] = {1, 0};
  if (fe_node_int(n, "transA", 0))
    in[0] = fe_x_transpose(ir, in[0], 2, swap);
  if (fe_node_int(n, "transB", 0))
    in[1] = fe_x_transpose(ir, in[1], 2, swap);
  if (scalar_in(n, GA_ZERO, FE_U8) || scalar_in(n, GA_SCALE, FE_F32))
    return FE_FAILED;
  in[2] = n->in.at[GA_ZERO];
  MlirValue v = fe_first(fe_onnx(ir, "MatMulInteger", 4, in, 1, 0, NULL));
  v = fe_x_plus(ir, v, fe_node_in(n, GC));
  MlirValue alpha =
      fe_constant_scalar(ir, FE_F32, fe_node_float(n, "alpha", 1));
  MlirValue factor = FE_X(ir, "Mul", FE_X(ir, "Mul", alpha, n->in.at[GA_SCALE]),
                          n->in.at[GB_SCALE]);
  if (!has_zero)
    return fe_node_done(FE_X(ir, "Mul", fe_x_cast(ir, v, FE_F32), factor),
                        results);
  if (scalar_in(n, GY_SCALE, FE_F32) || scalar_in(n, GY_ZERO, FE_U8))
    return FE_FAILED;
  factor = FE_X(ir, "Div", factor, n->in.at[GY_SCALE]);
  return fe_node_done(FE_X(ir, "ms_requantize", v, factor, n->in.at[GY_ZERO]),
                      results);
}

/// Those of the standard came after.
static fe_status expand_quantize(fe_node *n, MlirValue *results) {
  return fe_node_as(n, n->row->name, results);
}

/// With channels behind the spatial dims where that is asked for.
static fe_status expand_conv(fe_node *n, MlirValue *results) {
  bool last = fe_node_int(n, "channels_last", 0) != 0;
  MlirValue x = fe_node_in(n, 0);
  if (fe_is_null(x))
    return fe_node_error(n, NULL, "input 'x' is missing");
  if (last) {
    n->in.at[0] = channels_moved(n->ir, x, true);
    if (fe_is_null(n->in.at[0]))
      return fe_node_error(n, NULL, "x must have rank 3 or more");
  }
  if (fe_node_as(n, "QLinearConv", results))
    return FE_FAILED;
  return last ? fe_node_done(channels_moved(n->ir, results[0], false), results)
              : FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def linear_attrs[] = {
    {"axis", FE_A_INT, "1"}, {"block_size", FE_A_INT, "0"}, {0}};
static const fe_attr_def leaky_attrs[] = {{"alpha", FE_A_FLOAT, "0.01"}, {0}};
static const fe_attr_def axis_attrs[] = {{"axis", FE_A_INT, NULL}, {0}};
static const fe_attr_def softmax_attrs[] = {
    {"axis", FE_A_INT, "-1"}, {"opset", FE_A_INT, NULL}, {0}};
static const fe_attr_def global_attrs[] = {{"channels_last", FE_A_INT, "0"},
                                           {0}};
static const fe_attr_def mean_attrs[] = {
    {"axes", FE_A_INTS, ""}, {"keepdims", FE_A_INT, "1|0"}, {0}};
static const fe_attr_def pool_attrs[] = {
    {"auto_pad", FE_A_STRING, "NOTSET"}, {"ceil_mode", FE_A_INT, "0"},
    {"channels_last", FE_A_INT, "0"},    {"count_include_pad", FE_A_INT, "0"},
    {"kernel_shape", FE_A_INTS, NULL},   {"pads", FE_A_INTS, ""},
    {"strides", FE_A_INTS, ""},          {0}};
static const fe_attr_def gemm_attrs[] = {{"alpha", FE_A_FLOAT, "1"},
                                         {"transA", FE_A_INT, "0"},
                                         {"transB", FE_A_INT, "0"},
                                         {0}};
static const fe_attr_def conv_attrs[] = {
    {"auto_pad", FE_A_STRING, "NOTSET"}, {"channels_last", FE_A_INT, "0"},
    {"dilations", FE_A_INTS, ""},        {"group", FE_A_INT, "1"},
    {"kernel_shape", FE_A_INTS, ""},     {"pads", FE_A_INTS, ""},
    {"strides", FE_A_INTS, ""},          {0}};

#define BYTES "T=i8,u8;F=f32"
#define ROW(op_name, ins, outs, types_, flags_, ...)                           \
  {.name = op_name,                                                            \
   .domain = "com.microsoft",                                                  \
   .since = 1,                                                                 \
   .inputs = ins,                                                              \
   .outputs = outs,                                                            \
   .types = types_,                                                            \
   .flags = flags_,                                                            \
   __VA_ARGS__}
#define BINARY(op_name, fn)                                                    \
  ROW(op_name,                                                                 \
      "A:T, A_scale:F, A_zero_point?:T, B:T, B_scale:F, B_zero_point?:T, "     \
      "C_scale:F, C_zero_point?:T",                                            \
      "C:T", BYTES, FE_POINTWISE, .upgrade = upgrade_binary, .scalar = fn)
#define UNARY_IN "X:T, X_scale:F, X_zero_point?:T, Y_scale:F, Y_zero_point?:T"
#define UNARY(op_name, flags_, ...)                                            \
  ROW(op_name, UNARY_IN, "Y:T", BYTES, flags_, __VA_ARGS__)

const fe_op_row fe_family_contrib_quantized[] = {
    BINARY("QLinearAdd", q_add),
    BINARY("QLinearMul", q_mul),
    UNARY("QLinearLeakyRelu", FE_POINTWISE, .upgrade = upgrade_unary,
          .attrs = leaky_attrs, .scalar = q_leaky_relu),
    UNARY("QLinearSigmoid", FE_POINTWISE, .upgrade = upgrade_unary,
          .scalar = q_sigmoid),
    UNARY("QLinearSoftmax", FE_FUNCTION, .attrs = softmax_attrs,
          .expand = expand_softmax),
    UNARY("QLinearGlobalAveragePool", FE_FUNCTION, .attrs = global_attrs,
          .expand = expand_global_pool),
    UNARY("QLinearAveragePool", FE_FUNCTION, .attrs = pool_attrs,
          .expand = expand_average_pool),
    UNARY("QLinearReduceMean", FE_FUNCTION, .attrs = mean_attrs,
          .expand = expand_reduce_mean),
    ROW("QLinearConcat", "Y_scale:F, Y_zero_point:T, inputs*:V", "Y:T",
        BYTES ";V=i8,u8,f32", FE_FUNCTION, .attrs = axis_attrs,
        .expand = expand_concat),
    ROW("QLinearWhere",
        "condition:B, X:T, x_scale:F, x_zero_point:T, Y:T, y_scale:F, "
        "y_zero_point:T, z_scale:F, z_zero_point:T",
        "Z:T", BYTES ";B=bool", FE_FUNCTION, .expand = expand_where),
    ROW("QGemm",
        "A:T, a_scale:F, a_zero_point:T, B:T2, b_scale:F, b_zero_point:T2, "
        "C?:T3, y_scale?:F, y_zero_point?:T",
        "Y:T4", BYTES ";T2=i8,u8;T3=i32;T4=i8,u8,f32", FE_FUNCTION,
        .attrs = gemm_attrs, .expand = expand_gemm),
    ROW("QLinearConv",
        "x:T, x_scale:F, x_zero_point:T, w:T2, w_scale:F, w_zero_point:T2, "
        "y_scale:F, y_zero_point:T3, B?:T4",
        "y:T3", BYTES ";T2=i8,u8;T3=i8,u8;T4=i32", FE_FUNCTION,
        .attrs = conv_attrs, .expand = expand_conv),
    ROW("QuantizeLinear", "x:T1, y_scale:T1, y_zero_point?:T2", "y:T2",
        "T1=f32,f16,bf16;T2=any", FE_FUNCTION, .attrs = linear_attrs,
        .expand = expand_quantize),
    ROW("DequantizeLinear", "x:T1, x_scale:T2, x_zero_point?:T1", "y:T2",
        "T1=any;T2=f32,f16,bf16", FE_FUNCTION, .attrs = linear_attrs,
        .expand = expand_quantize),
    UNARY("Rescale", FE_POINTWISE | FE_INTERNAL, .scalar = rescale),
    ROW("Requantize", "sum:S, factor:F, zero_point:T", "Y:T",
        "S=i32,f32;" BYTES, FE_POINTWISE | FE_INTERNAL,
        .infer = infer_requantize, .scalar = requantize),
    ROW("QuantizeShifted", "X:F, scale:F, zero_point:T", "Y:T", BYTES,
        FE_POINTWISE | FE_INTERNAL, .infer = infer_requantize,
        .scalar = quantize_shifted),
    {0}};
