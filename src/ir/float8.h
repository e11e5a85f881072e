//===- float8.h - floats of 8 and 4 bits by integer arithmetic ---*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of src/ir only. No target has instructions for all of these.
//
//===----------------------------------------------------------------------===//
#ifndef FE_IR_FLOAT8_H
#define FE_IR_FLOAT8_H

#include "ir/ir.h"

/// Whether `elem` is a float8 or float4 type.
bool fe_is_small_float(MlirType elem);
/// Exact value as f32 (scalar or vector).
MlirValue fe_small_decode(fe_ir *ir, MlirValue v);
/// f32 to the float type `elem`: nearest even, too large values become the
/// largest finite one (ONNX Cast with saturate=1). E8M0 rounds up.
MlirValue fe_small_encode(fe_ir *ir, MlirValue v, MlirType elem);

#endif
