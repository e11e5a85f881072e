//===- product.h - operands of matrix products -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_PRODUCT_H
#define FE_OP_PRODUCT_H

#include "op/common.h"

/// Dims of the product of inputs ia and ib as numpy's matmul has them; vectors
/// may be operands. Attributes transA and transB count where there are any.
FE_NODISCARD fe_status fe_product_dims(fe_infer *f, unsigned ia, unsigned ib,
                                       fe_dims *out);

/// Operands of a product being lowered.
typedef struct fe_matrices {
  MlirValue a, b; // to be set, as are trans_a and trans_b
  bool trans_a, trans_b;
  bool vector_a, vector_b; // they were
  unsigned rank;           // of the product: batch dims, M, N
  MlirValue sizes[FE_MAX_RANK];
} fe_matrices;
/// Vectors become matrices; sizes are found, and checked at run time where
/// inference could not.
void fe_matrices_prepare(fe_lower *l, fe_matrices *m);
/// The product without the dims that vectors do not have.
MlirValue fe_matrices_result(fe_lower *l, const fe_matrices *m, MlirValue r);

/// Product of integers of 8 bits, less zero points: i32 of m->sizes. Operands
/// of the op in the order A, B, A's and B's zero point; those may be absent.
MlirValue fe_integer_product(fe_lower *l, const fe_matrices *m,
                             const unsigned operands[4]);

#endif
