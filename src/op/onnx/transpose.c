//===- transpose.c - Transpose -----------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A permutation that keeps the order of all dims but those of size 1 moves
// nothing and is a reshape. One that keeps the last dim is a generic whose
// input is read through the permutation, so that it can become part of what
// uses it. All others are krnl.transpose, done in registers.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

/// Dim i of the result is dim perm[i] of the operand. The attribute is empty
/// for "reversed". False when it is no permutation.
static bool permutation_of(MlirOperation op, unsigned rank,
                           unsigned perm[FE_MAX_RANK]) {
  int64_t given[FE_MAX_RANK];
  unsigned n = fe_attr_i64s(op, "perm", given, FE_MAX_RANK);
  uint32_t seen = 0;
  if (n && n != rank)
    return false;
  for (unsigned i = 0; i < rank; ++i) {
    int64_t p = n ? given[i] : (int64_t)rank - 1 - i;
    if (p < 0 || p >= rank || seen >> p & 1)
      return false;
    seen |= 1u << p;
    perm[i] = (unsigned)p;
  }
  return true;
}

static fe_status infer_transpose(fe_infer *f) {
  fe_dims in;
  unsigned perm[FE_MAX_RANK];
  if (fe_in_dims(f, 0, &in))
    return FE_FAILED;
  if (!permutation_of(f->attrs, in.rank, perm))
    return fe_infer_error(
        f, NULL, "'perm' is not a permutation of %u dimensions", in.rank);
  fe_dims out = {.rank = in.rank};
  for (unsigned i = 0; i < in.rank; ++i)
    out.d[i] = in.d[perm[i]];
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

static bool contents_transpose(fe_ir *ir, MlirOperation op, fe_contents *out) {
  return out->dims.rank < 2 && fe_contents_first(ir, op, out);
}

static fe_status lower_transpose(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]), perm[FE_MAX_RANK];
  permutation_of(l->op, rank, perm);
  MlirValue sizes[FE_MAX_RANK];
  MlirAffineExpr from[FE_MAX_RANK];
  bool moves = false;
  unsigned last = 0, greatest = 0; // of the dims that are not 1
  for (unsigned i = 0; i < rank; ++i) {
    sizes[i] = fe_size(l, l->in[0], perm[i]);
    from[perm[i]] = mlirAffineDimExprGet(ir->ctx, i);
    if (fe_static_dim(l->in[0], perm[i]) == 1)
      continue;
    moves |= perm[i] < last;
    last = perm[i];
    greatest = last > greatest ? last : greatest;
  }
  if (!moves) {
    l->out[0] = fe_reshape(l, l->in[0], fe_out_elem(l, 0), rank, sizes);
    return FE_OK;
  }
  if (last != greatest) {
    l->out[0] = fe_lower_transpose(l, l->in[0], rank, perm, sizes);
    return FE_OK;
  }
  MlirAffineMap map = mlirAffineMapGet(ir->ctx, rank, 0, rank, from);
  fe_generic *g = fe_generic_begin(l, rank, sizes, 1, l->in, l->in_type, &map);
  l->out[0] = fe_generic_end(g, l->out_type[0], fe_arg(g, 0));
  return FE_OK;
}

static const fe_attr_def attrs[] = {{"perm", FE_A_INTS, ""}, {0}};

const fe_op_row fe_family_transpose[] = {{.name = "Transpose",
                                          .since = 1,
                                          .inputs = "data:T",
                                          .outputs = "transposed:T",
                                          .types = "T=all",
                                          .attrs = attrs,
                                          .infer = infer_transpose,
                                          .contents = contents_transpose,
                                          .lower = lower_transpose},
                                         {0}};
