//===- half_product.h - matrix products of 16-bit floats ---------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_HALF_PRODUCT_H
#define FE_OP_HALF_PRODUCT_H

#include "op/op.h"

/// The product of fe_lower_contract with operands of 16 bits: of type f16 or
/// bf16, or f32 where the compilation may round them to bf16. Null: another way
/// is better.
MlirValue fe_half_product(fe_lower *l, MlirValue a, bool trans_a, MlirValue b,
                          bool trans_b, fe_dtype t, unsigned rank,
                          const MlirValue *sizes);

#endif
