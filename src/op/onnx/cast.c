//===- cast.c - Cast, CastLike -----------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As C converts. Floats outside a small integer type wrap around, as with a
// conversion through int; outside int64 the result is unspecified. What is too
// large for a float of 8 bits becomes the largest one, infinities included, or
// without `saturate` infinity where the type has it and else NaN. Floats of 4
// and 6 bits have neither and always become the largest; NaN becomes -0.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/scalar.h"
#include "op/text.h"

#include <float.h>
#include <math.h>
#include <string.h>

/// Admitted by operand and result.
#define CAST_TYPES "bool,real,small"

static bool is_number(int64_t t) {
  return t == FE_BOOL || fe_dtype_is_int((fe_dtype)t) ||
         fe_dtype_is_float((fe_dtype)t);
}

/// Opset 1 has the type as text, "FLOAT16".
static fe_status upgrade_cast(fe_node *n) {
  fe_node_attr *a = fe_node_attr_find(n, "to");
  if (!a || a->kind != FE_A_STRING)
    return FE_OK;
  static const struct {
    const char *name;
    fe_dtype t;
  } names[] = {{"FLOAT", FE_F32},    {"FLOAT16", FE_F16}, {"DOUBLE", FE_F64},
               {"INT8", FE_I8},      {"INT16", FE_I16},   {"INT32", FE_I32},
               {"INT64", FE_I64},    {"UINT8", FE_U8},    {"UINT16", FE_U16},
               {"UINT32", FE_U32},   {"UINT64", FE_U64},  {"BOOL", FE_BOOL},
               {"STRING", FE_STRING}};
  for (size_t i = 0; i < FE_COUNT(names); ++i)
    if (!strcmp(a->s, names[i].name)) {
      fe_node_set_int(n, "to", names[i].t);
      return FE_OK;
    }
  fe_where where = n->where;
  where.op = n->row->name;
  where.attr = "to";
  return fe_error(n->ir->diags, where, NULL, "there is no type '%s'", a->s);
}

/// Texts are read and written by the runtime.
static fe_status expand_cast(fe_node *n, MlirValue *results) {
  const fe_node_attr *to = fe_node_attr_find(n, "to");
  if (n->in.n != 1 || fe_is_null(n->in.at[0]) || !to)
    return FE_OK; // reported when the operator is made
  bool known = to->i > 0 && to->i < FE_DTYPE_COUNT &&
               (to->i == FE_STRING || is_number(to->i));
  if (known && (to->i == FE_STRING || fe_is_text(n->in.at[0])))
    results[0] = fe_text_cast(n->ir, n->in.at[0], (fe_dtype)to->i);
  return FE_OK;
}

static fe_status infer_cast(fe_infer *f) {
  fe_dims d;
  int64_t to = fe_attr_i64(f->attrs, "to", 0);
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  if (to <= 0 || to >= FE_DTYPE_COUNT || !is_number(to) ||
      fe_in_dtype(f, 0) == FE_STRING)
    return fe_infer_error(f, NULL, "cannot convert to %s",
                          to > 0 && to < FE_DTYPE_COUNT
                              ? fe_dtype_name((fe_dtype)to)
                              : "an unknown type");
  const char *mode = fe_attr_str(f->ir->arena, f->attrs, "round_mode", "up");
  if (strcmp(mode, "up") && strcmp(mode, "down") && strcmp(mode, "nearest"))
    return fe_infer_error(f, "it is up, down or nearest",
                          "there is no 'round_mode' \"%s\"", mode);
  fe_out_tensor(f, 0, (fe_dtype)to, &d);
  return FE_OK;
}

static MlirValue float_to_int(fe_ir *ir, MlirValue x, fe_dtype out,
                              MlirType to) {
  unsigned bits = fe_dtype_bits(out);
  if (bits == 64)
    return fe_convert(ir, x, to, false, fe_dtype_is_unsigned(out));
  // Wider, then cut off; int32 itself goes directly, as processors have it.
  bool direct = out == FE_I32;
  MlirType wide = direct || bits < 32 ? ir->i32 : ir->i64;
  MlirValue v = fe_convert(ir, x, wide, false, false);
  return direct ? v : fe_convert(ir, v, to, false, false);
}

/// Keeps the low bits of an integer type that has a byte in memory.
static MlirValue low_bits(fe_ir *ir, fe_dtype t, MlirValue v) {
  unsigned bits = fe_dtype_bits(t);
  if (!fe_dtype_is_int(t) || bits >= 8)
    return v;
  v = fe_convert(ir, v, mlirIntegerTypeGet(ir->ctx, bits), false, false);
  return fe_convert(ir, v, ir->i8, fe_dtype_is_unsigned(t), false);
}

/// Types of 8 bits: from which magnitude on a number is too large.
static const struct {
  fe_dtype t;
  double too_large; // half a step above the largest number
  bool itself;      // also that one: the largest is odd
  bool inf;
} float8s[] = {{FE_F8E4M3FN, 464, false, false},
               {FE_F8E4M3FNUZ, 248, true, false},
               {FE_F8E5M2, 61440, true, true},
               {FE_F8E5M2FNUZ, 61440, true, false}};

MlirValue fe_limit_float8(fe_ir *ir, fe_dtype t, bool saturate, MlirValue x) {
  MlirType type = mlirValueGetType(x);
  for (size_t i = 0; i < FE_COUNT(float8s); ++i) {
    if (float8s[i].t != t)
      continue;
    MlirValue a = fe_math(ir, "absf", x);
    if (saturate) {
      MlirValue largest =
          fe_math2(ir, "copysign", fe_float(ir, type, FLT_MAX), x);
      return fe_select(ir, fe_cmp(ir, FE_GT, a, fe_float(ir, type, FLT_MAX)),
                       largest, x);
    }
    MlirValue over = fe_float(ir, type, float8s[i].inf ? INFINITY : NAN);
    if (float8s[i].inf)
      over = fe_math2(ir, "copysign", over, x);
    return fe_select(ir,
                     fe_cmp(ir, float8s[i].itself ? FE_GE : FE_GT, a,
                            fe_float(ir, type, float8s[i].too_large)),
                     over, x);
  }
  return x;
}

/// The power of two that `round_mode` takes for |x| (f32), such that encoding
/// it is exact. Halves go up. What lies below the smallest becomes that one, or
/// without `saturate` NaN.
static MlirValue power_of_two(fe_ir *ir, MlirOperation op, MlirValue x) {
  MlirType f32 = mlirValueGetType(x), i32 = fe_type_like(ir, f32, ir->i32);
  const char *mode = fe_attr_str(ir->arena, op, "round_mode", "up");
  bool saturate = fe_attr_i64(op, "saturate", 1);
  MlirValue a = fe_math(ir, "absf", x);
  MlirValue least = fe_float(ir, f32, 0x1p-127);
  MlirValue largest = fe_float(ir, f32, 0x1p127);
  MlirValue inf = fe_float(ir, f32, INFINITY), nan = fe_float(ir, f32, NAN);
  // Next power of two at or below: the exponent's bits; below 2^-126 there is
  // but one.
  MlirValue bits =
      fe_and(ir, fe_bitcast(ir, a, i32), fe_int(ir, i32, 0x7f800000));
  MlirValue below = fe_bitcast(ir, bits, f32);
  below = fe_max(ir, below, least);
  MlirValue up = fe_cmp(ir, FE_GT, a, below);
  if (!strcmp(mode, "nearest"))
    up = fe_cmp(ir, FE_GE, a, fe_mul(ir, below, fe_float(ir, f32, 1.5)));
  MlirValue v = below;
  if (strcmp(mode, "down"))
    v = fe_select(ir, up, fe_mul(ir, below, fe_float(ir, f32, 2)), below);
  v = fe_select(ir, fe_cmp(ir, FE_LE, v, largest), v, saturate ? largest : nan);
  v = fe_select(ir, fe_cmp(ir, FE_EQ, a, inf), saturate ? largest : nan, v);
  if (!saturate)
    v = fe_select(ir, fe_cmp(ir, FE_LT, a, least), nan, v);
  return fe_select(ir, fe_cmp(ir, FE_NE, x, x), nan, v);
}

FE_SCALAR(cast) {
  FE_UNUSED;
  MlirType to = fe_compute_type(ir, out);
  bool from_unsigned = fe_dtype_is_unsigned(in) || in == FE_BOOL;
  if (fe_dtype_is_float(out) && fe_dtype_bits(out) <= 8) {
    bool exponents = out == FE_F8E8M0;
    MlirValue v = x[0];
    if (in != FE_F64 || exponents) // f64 is rounded once, when stored
      v = fe_convert(ir, v, to, from_unsigned, false);
    return exponents
               ? power_of_two(ir, op, v)
               : fe_limit_float8(ir, out, fe_attr_i64(op, "saturate", 1), v);
  }
  if (fe_type_is_float(mlirValueGetType(x[0])) && fe_dtype_is_int(out))
    return low_bits(ir, out, float_to_int(ir, x[0], out, to));
  return low_bits(
      ir, out,
      fe_convert(ir, x[0], to, from_unsigned, fe_dtype_is_unsigned(out)));
}

/// Whether the number is kept by a conversion to t.
static bool holds(fe_dtype t, int64_t v) {
  unsigned bits = fe_dtype_bits(t);
  if (!fe_dtype_is_int(t) || bits == 64)
    return true;
  int64_t most = (int64_t)1 << (fe_dtype_is_signed(t) ? bits - 1 : bits);
  return v < most && v >= (fe_dtype_is_signed(t) ? -most : 0);
}

static bool contents_cast(fe_ir *ir, MlirOperation op, fe_contents *out) {
  fe_dtype to = fe_dtype_of_elem(fe_elem_of(fe_result(op, 0)));
  unsigned n = out->n;
  fe_dims dims = out->dims;
  bool known = fe_dtype_is_int(to)
                   ? fe_contents_rounded(ir, fe_operand(op, 0), false, out)
                   : fe_contents_partial(ir, fe_operand(op, 0), out);
  if (!known || out->n != n)
    return false;
  out->dims = dims;
  for (unsigned i = 0; i < n; ++i) {
    int64_t v =
        mlirAffineExprIsNull(out->at[i]) ? FE_DYN : fe_dim_static(out->at[i]);
    bool narrow =
        to == FE_BOOL || (fe_dtype_is_int(to) && fe_dtype_bits(to) < 32);
    if (v == FE_DYN ? narrow : to != FE_BOOL && !holds(to, v))
      out->at[i] = (MlirAffineExpr){0};
    else if (to == FE_BOOL)
      out->at[i] = fe_dim_const(ir, v != 0);
  }
  return true;
}

static fe_status expand_cast_like(fe_node *n, MlirValue *results) {
  if (n->in.n != 2 || fe_is_null(n->in.at[0]) || fe_is_null(n->in.at[1])) {
    fe_where where = n->where;
    where.op = n->row->name;
    return fe_error(n->ir->diags, where, NULL, "takes 2 inputs");
  }
  fe_dtype to = fe_dtype_of_elem(fe_elem_of(n->in.at[1]));
  if (to == FE_STRING || fe_is_text(n->in.at[0])) {
    results[0] = fe_text_cast(n->ir, n->in.at[0], to);
    return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
  }
  fe_node_attr *saturate = fe_node_attr_find(n, "saturate");
  fe_node_attr *mode = fe_node_attr_find(n, "round_mode");
  MlirNamedAttribute attrs[] = {
      fe_at_i64(n->ir, "to", to),
      fe_at_i64(n->ir, "saturate", saturate ? saturate->i : 1),
      fe_at_str(n->ir, "round_mode", mode ? mode->s : "up")};
  results[0] =
      fe_first(fe_onnx(n->ir, "Cast", 1, n->in.at, 1, FE_COUNT(attrs), attrs));
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

static const fe_attr_def cast_attrs[] = {
    {"to", FE_A_INT, NULL},
    {"saturate", FE_A_INT, "1"},
    {"round_mode", FE_A_STRING, "up|down|nearest"},
    {0}};
static const fe_attr_def cast_like_attrs[] = {
    {"saturate", FE_A_INT, "1"},
    {"round_mode", FE_A_STRING, "up|down|nearest"},
    {0}};

const fe_op_row fe_family_cast[] = {
    {.name = "Cast",
     .since = 1,
     .inputs = "input:T1",
     .outputs = "output:T2",
     .types = "T1=" CAST_TYPES ",str;T2=" CAST_TYPES ",str",
     .attrs = cast_attrs,
     .flags = FE_POINTWISE | FE_FUNCTION,
     .upgrade = upgrade_cast,
     .expand = expand_cast,
     .infer = infer_cast,
     .contents = contents_cast,
     .scalar = cast},
    {.name = "CastLike",
     .since = 15,
     .inputs = "input:T1, target_type:T2",
     .outputs = "output:T2",
     .types = "T1=" CAST_TYPES ",str;T2=" CAST_TYPES ",str",
     .attrs = cast_like_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_cast_like},
    {0}};
