//===- small_float.h - floats below 32 bits by integer arithmetic -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of src/ir only. No target has instructions for all of these, and
// where there are none LLVM calls functions that neither libc nor libm has.
//
//===----------------------------------------------------------------------===//
#ifndef FE_IR_SMALL_FLOAT_H
#define FE_IR_SMALL_FLOAT_H

#include "ir/ir.h"

/// Whether a value of float type `elem` has to be read by fe_small_decode, or
/// written by fe_small_encode.
bool fe_small_decodes(const fe_ir *ir, MlirType elem);
bool fe_small_encodes(const fe_ir *ir, MlirType elem);
/// Exact value as f32 (scalar or vector). Not for bf16.
MlirValue fe_small_decode(fe_ir *ir, MlirValue v);
/// f32 to the float type `elem`: nearest even. f16 and bf16 overflow to
/// infinity; in the others too large values become the largest finite one, and
/// infinity itself stays infinity or NaN where the format has one or -0 is NaN,
/// else it becomes the largest number too. E8M0 rounds up.
MlirValue fe_small_encode(fe_ir *ir, MlirValue v, MlirType elem);
/// f64 to f32, inexact results to the neighbour with odd last bit: rounding
/// once more to a narrower type is then as if done at once.
MlirValue fe_round_to_odd(fe_ir *ir, MlirValue v);

#endif
