//===- quantized.h - arithmetic of quantized operators -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_QUANTIZED_H
#define FE_OP_QUANTIZED_H

#include "op/op.h"

/// A float, rounded already, limited to integers of type t and converted. NaN
/// is the smallest.
MlirValue fe_saturated(fe_ir *ir, fe_dtype t, MlirValue v);
/// x / scale of f32, where many x are divided by the same scale: rounded as the
/// division is, made of its reciprocal.
MlirValue fe_quotient(fe_ir *ir, const struct fe_target *target, MlirValue x,
                      MlirValue scale);
/// Until the end, products are rounded before they are added.
MlirAttribute fe_strict_begin(fe_ir *ir);
void fe_strict_end(fe_ir *ir, MlirAttribute before);

#endif
