//===- logic.c - comparisons, Where, bits ------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparisons with NaN are false. A shift by the width or more gives 0.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/scalar.h"
#include "op/text.h"

#include <math.h>

//===-- Scalars -------------------------------------------------------------//

#define BINARY_SCALAR(name, function)                                          \
  FE_SCALAR(name) {                                                            \
    FE_UNUSED;                                                                 \
    return function(ir, x[0], x[1]);                                           \
  }
BINARY_SCALAR(and_of, fe_and)
BINARY_SCALAR(or_of, fe_or)
BINARY_SCALAR(xor_of, fe_xor)

FE_SCALAR(not_of) {
  FE_UNUSED;
  return fe_not(ir, x[0]);
}

#define COMPARISON(name, kind)                                                 \
  FE_SCALAR(name) {                                                            \
    FE_UNUSED;                                                                 \
    return fe_dtype_is_unsigned(in) ? fe_cmpu(ir, kind, x[0], x[1])            \
                                    : fe_cmp(ir, kind, x[0], x[1]);            \
  }
COMPARISON(equal, FE_EQ)
COMPARISON(greater, FE_GT)
COMPARISON(greater_or_equal, FE_GE)
COMPARISON(less, FE_LT)
COMPARISON(less_or_equal, FE_LE)

FE_SCALAR(where) {
  FE_UNUSED;
  return fe_select(ir, x[0], x[1], x[2]);
}

/// By the type's width or more, and by negative amounts: all bits are new ones,
/// which are the sign's to the right of a signed number.
FE_SCALAR(bit_shift) {
  (void)out, (void)n;
  MlirType t = mlirValueGetType(x[0]);
  const char *direction = fe_attr_str(ir->arena, op, "direction", "LEFT");
  MlirValue last = fe_int(ir, t, fe_dtype_bits(in) - 1);
  MlirValue fits = fe_cmpu(ir, FE_LE, x[1], last);
  MlirValue by = fe_select(ir, fits, x[1], last);
  if (direction[0] == 'L')
    return fe_select(ir, fits, fe_shl(ir, x[0], by), fe_int(ir, t, 0));
  if (!fe_dtype_is_unsigned(in))
    return fe_shrs(ir, x[0], by);
  return fe_select(ir, fits, fe_shru(ir, x[0], by), fe_int(ir, t, 0));
}

FE_SCALAR(is_nan) {
  FE_UNUSED;
  return fe_cmp(ir, FE_NE, x[0], x[0]);
}

FE_SCALAR(is_inf) {
  FE_UNUSED;
  MlirType t = mlirValueGetType(x[0]);
  MlirValue v = fe_int(ir, ir->i1, 0);
  if (fe_attr_i64(op, "detect_positive", 1))
    v = fe_or(ir, v, fe_cmp(ir, FE_EQ, x[0], fe_float(ir, t, INFINITY)));
  if (fe_attr_i64(op, "detect_negative", 1))
    v = fe_or(ir, v, fe_cmp(ir, FE_EQ, x[0], fe_float(ir, t, -INFINITY)));
  return v;
}

//===-- Where ---------------------------------------------------------------//

static fe_status infer_where(fe_infer *f) {
  fe_dims a, b;
  for (unsigned i = 0; i < 3; ++i)
    if (fe_in_dims(f, i, i ? &b : &a) ||
        (i && fe_broadcast_dims(f, &a, &b, &a)))
      return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 1), &a);
  return FE_OK;
}

static bool contents_where(fe_ir *ir, MlirOperation op, fe_contents *out) {
  fe_contents *in = FE_NEW_N(ir->arena, fe_contents, 3);
  for (unsigned i = 0; i < 3; ++i)
    if (!fe_contents_partial(ir, fe_operand(op, i), &in[i]))
      return false;
  for (unsigned i = 0; i < out->n; ++i) {
    MlirAffineExpr x[3];
    for (unsigned k = 0; k < 3; ++k)
      x[k] = in[k].at[fe_broadcast_element(&out->dims, &in[k].dims, i)];
    int64_t c = mlirAffineExprIsNull(x[0]) ? FE_DYN : fe_dim_static(x[0]);
    bool same = !mlirAffineExprIsNull(x[1]) && !mlirAffineExprIsNull(x[2]) &&
                fe_dim_same(x[1], x[2]);
    out->at[i] =
        c == FE_DYN ? (same ? x[1] : (MlirAffineExpr){0}) : x[c ? 1 : 2];
  }
  return true;
}

//===-- Contents of conditions: 0 or 1 --------------------------------------//

/// Whether a - b >= least for all values of the symbols.
static bool at_least(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b,
                     int64_t least) {
  MlirAffineExpr d =
      fe_dim_sub(ir, fe_dim_sub(ir, a, b), fe_dim_const(ir, least));
  return fe_dim_nonneg(d);
}

static MlirAffineExpr truth(fe_ir *ir, bool yes, bool no) {
  return yes || no ? fe_dim_const(ir, yes) : (MlirAffineExpr){0};
}
static MlirAffineExpr expr_equal(fe_ir *ir, MlirAffineExpr a,
                                 MlirAffineExpr b) {
  return truth(ir, fe_dim_same(a, b),
               at_least(ir, a, b, 1) || at_least(ir, b, a, 1));
}
static MlirAffineExpr expr_greater(fe_ir *ir, MlirAffineExpr a,
                                   MlirAffineExpr b) {
  return truth(ir, at_least(ir, a, b, 1), at_least(ir, b, a, 0));
}
static MlirAffineExpr expr_greater_or_equal(fe_ir *ir, MlirAffineExpr a,
                                            MlirAffineExpr b) {
  return truth(ir, at_least(ir, a, b, 0), at_least(ir, b, a, 1));
}
static MlirAffineExpr expr_less(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b) {
  return expr_greater(ir, b, a);
}
static MlirAffineExpr expr_less_or_equal(fe_ir *ir, MlirAffineExpr a,
                                         MlirAffineExpr b) {
  return expr_greater_or_equal(ir, b, a);
}
static MlirAffineExpr expr_and(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b) {
  int64_t x = fe_dim_static(a), y = fe_dim_static(b);
  return truth(ir, x == 1 && y == 1, x == 0 || y == 0);
}
static MlirAffineExpr expr_or(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b) {
  int64_t x = fe_dim_static(a), y = fe_dim_static(b);
  return truth(ir, x == 1 || y == 1, x == 0 && y == 0);
}

#define CONTENTS(name, fn)                                                     \
  static bool name(fe_ir *ir, MlirOperation op, fe_contents *out) {            \
    return fe_contents_binary(ir, op, out, fn);                                \
  }
CONTENTS(contents_equal, expr_equal)
CONTENTS(contents_greater, expr_greater)
CONTENTS(contents_greater_or_equal, expr_greater_or_equal)
CONTENTS(contents_less, expr_less)
CONTENTS(contents_less_or_equal, expr_less_or_equal)
CONTENTS(contents_and, expr_and)
CONTENTS(contents_or, expr_or)

static bool contents_not(fe_ir *ir, MlirOperation op, fe_contents *out) {
  if (!fe_contents_first(ir, op, out))
    return false;
  for (unsigned i = 0; i < out->n; ++i)
    if (!mlirAffineExprIsNull(out->at[i]))
      out->at[i] = fe_dim_sub(ir, fe_dim_const(ir, 1), out->at[i]);
  return true;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def shift_attrs[] = {
    {"direction", FE_A_STRING, "|LEFT|RIGHT"}, {0}};
static const fe_attr_def inf_attrs[] = {{"detect_negative", FE_A_INT, "1"},
                                        {"detect_positive", FE_A_INT, "1"},
                                        {0}};

/// Of strings, by the runtime.
static fe_status expand_equal(fe_node *n, MlirValue *results) {
  if (n->in.n == 2 && fe_is_text(n->in.at[0]) && fe_is_text(n->in.at[1]))
    results[0] = fe_text_equal(n->ir, n->in.at[0], n->in.at[1]);
  return FE_OK;
}

#define BINARY(op_name, first, admitted, ...)                                  \
  {.name = op_name,                                                            \
   .since = first,                                                             \
   .inputs = "A:T, B:T",                                                       \
   .types = "T=" admitted ";T1=bool",                                          \
   .flags = FE_POINTWISE,                                                      \
   .upgrade = fe_upgrade_broadcast,                                            \
   __VA_ARGS__}
#define COMPARE(op_name, first, admitted, ...)                                 \
  BINARY(op_name, first, admitted, .outputs = "C:T1", .result = FE_BOOL,       \
         __VA_ARGS__)

const fe_op_row fe_family_logic[] = {
    BINARY("And", 1, "bool", .outputs = "C:T", .scalar = and_of,
           .contents = contents_and),
    BINARY("Or", 1, "bool", .outputs = "C:T", .scalar = or_of,
           .contents = contents_or),
    BINARY("Xor", 1, "bool", .outputs = "C:T", .scalar = xor_of),
    FE_UNARY("Not", 1, "bool", .scalar = not_of, .contents = contents_not),
    {.name = "Equal",
     .since = 1,
     .inputs = "A:T, B:T",
     .outputs = "C:T1",
     .types = "T=bool,real,str;T1=bool",
     .flags = FE_POINTWISE | FE_FUNCTION,
     .upgrade = fe_upgrade_broadcast,
     .expand = expand_equal,
     .result = FE_BOOL,
     .scalar = equal,
     .contents = contents_equal},
    COMPARE("Greater", 1, "real", .scalar = greater,
            .contents = contents_greater),
    COMPARE("GreaterOrEqual", 12, "real", .scalar = greater_or_equal,
            .contents = contents_greater_or_equal),
    COMPARE("Less", 1, "real", .scalar = less, .contents = contents_less),
    COMPARE("LessOrEqual", 12, "real", .scalar = less_or_equal,
            .contents = contents_less_or_equal),
    {.name = "Where",
     .since = 9,
     .inputs = "condition:B, X:T, Y:T",
     .outputs = "output:T",
     .types = "B=bool;T=all",
     .flags = FE_POINTWISE,
     .infer = infer_where,
     .contents = contents_where,
     .scalar = where},
    BINARY("BitShift", 11, "int", .outputs = "C:T", .attrs = shift_attrs,
           .scalar = bit_shift),
    BINARY("BitwiseAnd", 18, "int", .outputs = "C:T", .scalar = and_of),
    BINARY("BitwiseOr", 18, "int", .outputs = "C:T", .scalar = or_of),
    BINARY("BitwiseXor", 18, "int", .outputs = "C:T", .scalar = xor_of),
    FE_UNARY("BitwiseNot", 18, "int", .scalar = not_of),
    {.name = "IsNaN",
     .since = 9,
     .inputs = "X:T",
     .outputs = "Y:T1",
     .types = "T=float,float8;T1=bool",
     .flags = FE_POINTWISE,
     .scalar = is_nan,
     .result = FE_BOOL},
    {.name = "IsInf",
     .since = 10,
     .inputs = "X:T",
     .outputs = "Y:T1",
     .types = "T=float,float8;T1=bool",
     .attrs = inf_attrs,
     .flags = FE_POINTWISE,
     .scalar = is_inf,
     .result = FE_BOOL},
    {0}};
