//===- common.h - what several operator families share -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_COMMON_H
#define FE_OP_COMMON_H

#include "op/op.h"

//===-- Expressions ---------------------------------------------------------//

/// Surely not negative, whatever the symbols are (they are sizes).
bool fe_dim_nonneg(MlirAffineExpr e);
/// Product of dims [from, to).
MlirAffineExpr fe_dims_product(fe_ir *ir, const fe_dims *d, unsigned from,
                               unsigned to);

//===-- Symbolic contents ---------------------------------------------------//

/// Binary operation with broadcasting; fn gives null for "not known" and is
/// not called on unknown elements.
typedef MlirAffineExpr (*fe_expr_fn)(fe_ir *ir, MlirAffineExpr a,
                                     MlirAffineExpr b);
bool fe_contents_binary(fe_ir *ir, MlirOperation op, fe_contents *out,
                        fe_expr_fn fn);
/// Those of operand 0, element by element in row-major order: reshapes.
bool fe_contents_first(fe_ir *ir, MlirOperation op, fe_contents *out);
/// Contents of a value rounded down (or up) to integers: sees through a float
/// division of integers.
bool fe_contents_rounded(fe_ir *ir, MlirValue v, bool up, fe_contents *out);
/// Row-major element of `from` that broadcasting puts at element i of `to`.
/// Both shapes static.
unsigned fe_broadcast_element(const fe_dims *to, const fe_dims *from,
                              unsigned i);

//===-- Upgrades ------------------------------------------------------------//

/// `axis` and `broadcast` of opsets below 7: operand 1 gets trailing dims.
fe_status fe_upgrade_broadcast(fe_node *n);
/// x with dims of size 1 put in at `axes` (of the result).
MlirValue fe_unsqueezed(fe_ir *ir, MlirValue x, unsigned n,
                        const int64_t *axes);
/// Reduces n->in pairwise by the binary op `name`; one input: itself.
fe_status fe_expand_pairwise(fe_node *n, const char *name, MlirValue *result);

//===-- Lowering ------------------------------------------------------------//

/// Product of the sizes of dims [from, to), in main.
MlirValue fe_sizes_product(fe_lower *l, MlirValue tensor, unsigned from,
                           unsigned to);
/// Checks, at run time unless it is clear, that dim i of operand a and dim j of
/// operand b are equal.
void fe_check_dims(fe_lower *l, unsigned a, unsigned i, unsigned b, unsigned j,
                   const char *message);
/// Checks that two index values of main are equal.
void fe_check_equal(fe_lower *l, MlirValue a, MlirValue b, const char *message);
/// An index of the model for a dim: negative ones count from the end; then
/// moved into the dim, so that nothing outside is read.
MlirValue fe_wrapped_index(fe_ir *ir, MlirValue index, MlirValue dim);
/// Operand i repeated along dims of size 1 to `sizes`; checks that it fits.
MlirValue fe_broadcast_to(fe_lower *l, unsigned i, unsigned rank,
                          const MlirValue *sizes);
/// int64 tensors [n] and scalar from index values of main.
MlirValue fe_index_list(fe_lower *l, unsigned n, const MlirValue *values);
MlirValue fe_index_scalar(fe_lower *l, MlirValue value);

#endif
