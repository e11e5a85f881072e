//===- quantized.c - arithmetic of quantized operators -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "op/quantized.h"

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

MlirAttribute fe_strict_begin(fe_ir *ir) {
  MlirAttribute before = ir->contract;
  ir->contract = fe_attr_parse(ir, "#arith.fastmath<none>");
  return before;
}

void fe_strict_end(fe_ir *ir, MlirAttribute before) { ir->contract = before; }
