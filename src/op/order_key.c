//===- order_key.c - numbers that are compared as integers -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

bool fe_order_has_key(fe_dtype t) { return fe_dtype_bits(t) <= 32; }

MlirValue fe_order_key(fe_ir *ir, fe_dtype t, MlirValue v, MlirValue index,
                       bool largest) {
  MlirType type = mlirValueGetType(v), i32 = fe_compute_type(ir, FE_I32);
  MlirValue sign = fe_int(ir, i32, INT32_MIN), bits;
  bool is_float = mlirTypeIsAFloat(type);
  if (is_float) {
    // Both zeros are one value.
    bits = fe_bitcast(ir, fe_add(ir, v, fe_float(ir, type, 0)), i32);
    MlirValue negative = fe_cmp(ir, FE_LT, bits, fe_int(ir, i32, 0));
    bits = fe_select(ir, negative, fe_not(ir, bits), fe_xor(ir, bits, sign));
  } else {
    bool is_unsigned = fe_dtype_is_unsigned(t);
    bits = fe_convert(ir, v, i32, is_unsigned, is_unsigned);
    if (!is_unsigned)
      bits = fe_xor(ir, bits, sign);
  }
  if (largest)
    bits = fe_not(ir, bits);
  if (is_float)
    bits = fe_select(ir, fe_cmp(ir, FE_EQ, v, v), bits, fe_int(ir, i32, -1));
  bits = fe_convert(ir, bits, ir->i64, true, true);
  return fe_or(ir, fe_shl(ir, bits, fe_int(ir, ir->i64, 32)),
               fe_convert(ir, index, ir->i64, false, false));
}

MlirValue fe_order_index(fe_ir *ir, MlirValue key) {
  return fe_and(ir, key, fe_int(ir, ir->i64, UINT32_MAX));
}
