//===- arithmetic.c - Add to Sign --------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers wrap around. Division rounds towards zero; where the processor
// would trap the result is defined: x / 0 is x, and the smallest number
// divided by -1 stays what it is. Mod follows its attribute: the sign of the
// divisor, or with fmod that of the dividend.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/scalar.h"

static MlirType type_of(MlirValue v) { return mlirValueGetType(v); }

//===-- Scalars -------------------------------------------------------------//

FE_SCALAR(add) {
  FE_UNUSED;
  return fe_add(ir, x[0], x[1]);
}
FE_SCALAR(sub) {
  FE_UNUSED;
  return fe_sub(ir, x[0], x[1]);
}
FE_SCALAR(mul) {
  FE_UNUSED;
  return fe_mul(ir, x[0], x[1]);
}

/// b, but 1 where dividing by it would trap.
static MlirValue safe_divisor(fe_ir *ir, fe_dtype t, MlirValue b) {
  MlirValue one = fe_int(ir, type_of(b), 1);
  MlirValue trap = fe_cmp(ir, FE_EQ, b, fe_int(ir, type_of(b), 0));
  if (fe_dtype_is_signed(t))
    trap = fe_or(ir, trap, fe_cmp(ir, FE_EQ, b, fe_int(ir, type_of(b), -1)));
  return fe_select(ir, trap, one, b);
}

FE_SCALAR(divide) {
  FE_UNUSED;
  if (fe_dtype_is_float(in))
    return fe_div(ir, x[0], x[1]);
  MlirValue b = safe_divisor(ir, in, x[1]);
  if (fe_dtype_is_unsigned(in))
    return fe_divu(ir, x[0], b);
  MlirValue minus = fe_cmp(ir, FE_EQ, x[1], fe_int(ir, type_of(b), -1));
  return fe_select(ir, minus, fe_neg(ir, x[0]), fe_div(ir, x[0], b));
}

FE_SCALAR(mod) {
  (void)out, (void)n;
  MlirType t = type_of(x[0]);
  bool is_float = fe_dtype_is_float(in);
  MlirValue b = is_float ? x[1] : safe_divisor(ir, in, x[1]);
  if (fe_dtype_is_unsigned(in))
    return fe_remu(ir, x[0], b);
  MlirValue r = fe_rem(ir, x[0], b);
  if (fe_attr_i64(op, "fmod", 0))
    return r;
  MlirValue zero = fe_number(ir, t, 0);
  MlirValue differ =
      fe_xor(ir, fe_cmp(ir, FE_LT, r, zero), fe_cmp(ir, FE_LT, b, zero));
  MlirValue some = fe_not(ir, fe_cmp(ir, FE_EQ, r, zero));
  return fe_select(ir, fe_and(ir, some, differ), fe_add(ir, r, b), r);
}

/// x ** k for the exponents that have a cheap form; null for others.
static MlirValue cheap_power(fe_ir *ir, MlirValue x, double k) {
  if (k == 1)
    return x;
  if (k == 2)
    return fe_mul(ir, x, x);
  if (k == 3)
    return fe_mul(ir, fe_mul(ir, x, x), x);
  if (!fe_type_is_float(type_of(x)))
    return (MlirValue){0};
  if (k == 0.5)
    return fe_math(ir, "sqrt", x);
  MlirValue one = fe_float(ir, type_of(x), 1);
  if (k == -1)
    return fe_div(ir, one, x);
  if (k == -0.5)
    return fe_div(ir, one, fe_math(ir, "sqrt", x));
  return (MlirValue){0};
}

static fe_dtype dtype_of(MlirValue v) {
  return fe_dtype_of_elem(fe_elem_of(v));
}

FE_SCALAR(power) {
  (void)out, (void)n;
  double k;
  if (fe_const_scalar(ir, fe_operand(op, 1), &k)) {
    MlirValue cheap = cheap_power(ir, x[0], k);
    if (!fe_is_null(cheap))
      return cheap;
  }
  fe_dtype exponent = dtype_of(fe_operand(op, 1));
  bool float_base = fe_dtype_is_float(in);
  // Integers are exact up to 2^53 this way, as in ONNX Runtime.
  MlirType t = float_base ? type_of(x[0]) : ir->f64;
  MlirValue a = fe_convert(ir, x[0], t, fe_dtype_is_unsigned(in), false);
  MlirValue b = fe_convert(ir, x[1], t, fe_dtype_is_unsigned(exponent), false);
  MlirValue r = fe_math2(ir, "powf", a, b);
  if (float_base)
    return r;
  if (fe_dtype_is_int(exponent)) // an error of one ULP must not be cut off
    r = fe_math(ir, "roundeven", r);
  return fe_convert(ir, r, type_of(x[0]), false, fe_dtype_is_unsigned(in));
}

FE_SCALAR(negate) {
  FE_UNUSED;
  return fe_neg(ir, x[0]);
}
FE_SCALAR(absolute) {
  FE_UNUSED;
  if (fe_dtype_is_unsigned(in))
    return x[0];
  return fe_math(ir, fe_dtype_is_float(in) ? "absf" : "absi", x[0]);
}
FE_SCALAR(reciprocal) {
  FE_UNUSED;
  return fe_div(ir, fe_float(ir, type_of(x[0]), 1), x[0]);
}

FE_SCALAR(sign) {
  FE_UNUSED;
  MlirType t = type_of(x[0]);
  MlirValue zero = fe_number(ir, t, 0), one = fe_number(ir, t, 1);
  if (fe_dtype_is_unsigned(in))
    return fe_select(ir, fe_cmp(ir, FE_EQ, x[0], zero), zero, one);
  // Zero and NaN stay.
  MlirValue r = fe_select(ir, fe_cmp(ir, FE_GT, x[0], zero), one, x[0]);
  return fe_select(ir, fe_cmp(ir, FE_LT, x[0], zero), fe_number(ir, t, -1), r);
}

FE_SCALAR_MATH(square_root, "sqrt")
FE_SCALAR_MATH(exponential, "exp")
FE_SCALAR_MATH(logarithm, "log")
FE_SCALAR_MATH(round_down, "floor")
FE_SCALAR_MATH(round_up, "ceil")
FE_SCALAR_MATH(round_even, "roundeven")

//===-- Contents ------------------------------------------------------------//

static const MlirAffineExpr unknown = {0};

static bool is_float_result(MlirOperation op) {
  return fe_dtype_is_float(dtype_of(fe_result(op, 0)));
}

static MlirAffineExpr expr_add(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b) {
  (void)ir;
  return fe_dim_add(a, b);
}
static MlirAffineExpr expr_mul(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b) {
  (void)ir;
  return fe_dim_mul(a, b);
}

static MlirAffineExpr expr_div(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b) {
  int64_t x = fe_dim_static(a), y = fe_dim_static(b);
  if (y == 0 || (y == -1 && x == INT64_MIN))
    return unknown;
  if (x != FE_DYN && y != FE_DYN)
    return fe_dim_const(ir, x / y);
  return fe_dim_nonneg(a) && fe_dim_nonneg(b) ? fe_dim_floordiv(a, b) : unknown;
}

/// Of floats: known only where nothing is left over.
static MlirAffineExpr expr_div_exact(fe_ir *ir, MlirAffineExpr a,
                                     MlirAffineExpr b) {
  int64_t x = fe_dim_static(a), y = fe_dim_static(b);
  if (y == 1)
    return a;
  if (x != FE_DYN && y != FE_DYN && y != 0 && x % y == 0)
    return fe_dim_const(ir, x / y);
  return unknown;
}

static MlirAffineExpr expr_mod(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b) {
  int64_t x = fe_dim_static(a), y = fe_dim_static(b);
  if (y <= 0 && y != FE_DYN)
    return unknown;
  if (x != FE_DYN && y != FE_DYN)
    return x >= 0 ? fe_dim_const(ir, x % y) : unknown;
  return fe_dim_nonneg(a) && fe_dim_nonneg(b) ? fe_dim_mod(a, b) : unknown;
}

static bool contents_add(fe_ir *ir, MlirOperation op, fe_contents *out) {
  return fe_contents_binary(ir, op, out, expr_add);
}
static bool contents_sub(fe_ir *ir, MlirOperation op, fe_contents *out) {
  return fe_contents_binary(ir, op, out, fe_dim_sub);
}
static bool contents_mul(fe_ir *ir, MlirOperation op, fe_contents *out) {
  return fe_contents_binary(ir, op, out, expr_mul);
}
static bool contents_div(fe_ir *ir, MlirOperation op, fe_contents *out) {
  return fe_contents_binary(ir, op, out,
                            is_float_result(op) ? expr_div_exact : expr_div);
}
static bool contents_mod(fe_ir *ir, MlirOperation op, fe_contents *out) {
  return fe_contents_binary(ir, op, out, expr_mod);
}

static bool contents_neg(fe_ir *ir, MlirOperation op, fe_contents *out) {
  if (!fe_contents_first(ir, op, out))
    return false;
  for (unsigned i = 0; i < out->n; ++i)
    if (!mlirAffineExprIsNull(out->at[i]))
      out->at[i] = fe_dim_sub(ir, fe_dim_const(ir, 0), out->at[i]);
  return true;
}

static bool contents_abs(fe_ir *ir, MlirOperation op, fe_contents *out) {
  if (!fe_contents_first(ir, op, out))
    return false;
  for (unsigned i = 0; i < out->n; ++i) {
    int64_t n =
        mlirAffineExprIsNull(out->at[i]) ? FE_DYN : fe_dim_static(out->at[i]);
    if (n != FE_DYN)
      out->at[i] = fe_dim_const(ir, n < 0 ? -n : n);
    else if (!fe_dim_nonneg(out->at[i]))
      out->at[i] = unknown;
  }
  return true;
}

static bool contents_floor(fe_ir *ir, MlirOperation op, fe_contents *out) {
  return fe_contents_rounded(ir, fe_operand(op, 0), false, out);
}
static bool contents_ceil(fe_ir *ir, MlirOperation op, fe_contents *out) {
  return fe_contents_rounded(ir, fe_operand(op, 0), true, out);
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def mod_attrs[] = {{"fmod", FE_A_INT, "0"}, {0}};

#define BINARY(op_name, ...)                                                   \
  {.name = op_name,                                                            \
   .since = 1,                                                                 \
   .inputs = "A:T, B:T",                                                       \
   .outputs = "C:T",                                                           \
   .types = "T=real",                                                          \
   .flags = FE_POINTWISE,                                                      \
   .upgrade = fe_upgrade_broadcast,                                            \
   __VA_ARGS__}

const fe_op_row fe_family_arithmetic[] = {
    BINARY("Add", .scalar = add, .contents = contents_add),
    BINARY("Sub", .scalar = sub, .contents = contents_sub),
    BINARY("Mul", .scalar = mul, .contents = contents_mul),
    BINARY("Div", .scalar = divide, .contents = contents_div),
    {.name = "Mod",
     .since = 10,
     .inputs = "A:T, B:T",
     .outputs = "C:T",
     .types = "T=real",
     .attrs = mod_attrs,
     .flags = FE_POINTWISE,
     .scalar = mod,
     .contents = contents_mod},
    {.name = "Pow",
     .since = 1,
     .inputs = "X:T, Y:T1",
     .outputs = "Z:T",
     .types = "T=float,i32,i64;T1=real",
     .flags = FE_POINTWISE,
     .upgrade = fe_upgrade_broadcast,
     .scalar = power},
    FE_UNARY("Neg", 1, "float,sint", .scalar = negate,
             .contents = contents_neg),
    FE_UNARY("Abs", 1, "real", .scalar = absolute, .contents = contents_abs),
    FE_UNARY("Sqrt", 1, "float", .scalar = square_root),
    FE_UNARY("Exp", 1, "float", .scalar = exponential),
    FE_UNARY("Log", 1, "float", .scalar = logarithm),
    FE_UNARY("Reciprocal", 1, "float", .scalar = reciprocal),
    FE_UNARY("Floor", 1, "float", .scalar = round_down,
             .contents = contents_floor),
    FE_UNARY("Ceil", 1, "float", .scalar = round_up, .contents = contents_ceil),
    FE_UNARY("Round", 11, "float", .scalar = round_even),
    FE_UNARY("Sign", 9, "real", .scalar = sign),
    {0}};
