//===- quantized.c - arithmetic of quantized operators -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "op/quantized.h"

#include "target/target.h"

#include <math.h>

MlirValue fe_saturated(fe_ir *ir, fe_dtype t, MlirValue v) {
  int bits = (int)fe_dtype_bits(t);
  bool is_signed = fe_dtype_is_signed(t);
  MlirType type = mlirValueGetType(v);
  MlirValue low = fe_float(ir, type, is_signed ? -ldexp(1, bits - 1) : 0);
  MlirValue high = fe_float(ir, type, ldexp(1, bits - (is_signed ? 1 : 0)) - 1);
  v = fe_select(ir, fe_cmp(ir, FE_GT, v, low), v, low);
  v = fe_select(ir, fe_cmp(ir, FE_LT, v, high), v, high);
  v = fe_convert(ir, v, ir->i32, false, false);
  return fe_convert(ir, v, fe_storage_type(ir, t), false, false);
}

static MlirValue fused(fe_ir *ir, MlirValue a, MlirValue b, MlirValue c) {
  return fe_first(
      FE_OP(ir, "math.fma", FE_VALUES(a, b, c), FE_TYPES(mlirValueGetType(a))));
}

// Markstein's: q = x * (1 / s), then q + (x - q s) (1 / s), where products are
// not rounded before they are added. Scales so small that 1 / s is no number
// are multiplied by 2^64, as x is; what is infinite or NaN without the second
// step stays so, and so does what is too large for the integers anyway.
MlirValue fe_quotient(fe_ir *ir, const fe_target *target, MlirValue x,
                      MlirValue scale) {
  if (!target->fma)
    return fe_div(ir, x, scale);
  MlirType t = ir->f32;
  MlirValue one = fe_float(ir, t, 1), size = fe_math(ir, "absf", scale);
  MlirValue small = fe_cmp(ir, FE_LT, size, fe_float(ir, t, ldexp(1, -64)));
  MlirValue factor = fe_select(ir, small, fe_float(ir, t, ldexp(1, 64)), one);
  scale = fe_mul(ir, scale, factor);
  x = fe_mul(ir, x, factor);
  MlirValue reciprocal = fe_div(ir, one, scale);
  MlirValue infinite =
      fe_cmp(ir, FE_GT, size, fe_float(ir, t, 3.4028234663852886e38));
  scale = fe_select(ir, infinite, fe_float(ir, t, 0), scale);
  MlirValue q = fe_mul(ir, x, reciprocal);
  MlirValue rest = fused(ir, fe_neg(ir, q), scale, x);
  MlirValue exact = fused(ir, rest, reciprocal, q);
  MlirValue fits =
      fe_cmp(ir, FE_LT, fe_math(ir, "absf", q), fe_float(ir, t, ldexp(1, 24)));
  return fe_select(ir, fits, exact, q);
}

MlirAttribute fe_strict_begin(fe_ir *ir) {
  MlirAttribute before = ir->contract;
  ir->contract = fe_attr_parse(ir, "#arith.fastmath<none>");
  return before;
}

void fe_strict_end(fe_ir *ir, MlirAttribute before) { ir->contract = before; }
