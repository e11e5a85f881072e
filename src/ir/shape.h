//===- shape.h - scalar and vector types seen as one -------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of src/ir only.
//
//===----------------------------------------------------------------------===//
#ifndef FE_IR_SHAPE_H
#define FE_IR_SHAPE_H

#include "ir/ir.h"

/// Element type of a vector, else the type itself; null for null.
MlirType fe_scalar_of(MlirType t);
/// vector.broadcast of a scalar to a vector type; `v` itself when it has it.
MlirValue fe_broadcast(fe_ir *ir, MlirValue v, MlirType to);
/// Value of an integer or index arith.constant.
bool fe_const_int(MlirValue v, int64_t *out);
/// Result of an operation ("arith.addi") on index values, where constants make
/// the operation unnecessary.
bool fe_fold_index(fe_ir *ir, const char *op, MlirValue a, MlirValue b,
                   MlirValue *out);

#endif
