//===- flops.h - how much an op computes -------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_FLOPS_H
#define FE_OP_FLOPS_H

#include "op/op.h"

/// Floating point operations of an onnx op, a multiplication with addition
/// counting two: exact for matrix products and convolutions (what the standard
/// defines, whatever algorithm computes it), one per result element for other
/// arithmetic, none for data movement. `symbols`: values of the symbolic dims.
double fe_op_flops(fe_ir *ir, MlirOperation op, const int64_t *symbols,
                   unsigned n_symbols);

/// Value of a dim; unknown symbols count as 1.
int64_t fe_dim_evaluate(MlirAffineExpr e, const int64_t *symbols,
                        unsigned n_symbols);

#endif
