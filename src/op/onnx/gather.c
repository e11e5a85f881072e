//===- gather.c - Gather -----------------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Result [data dims before the axis][indices dims][data dims behind it].
// Negative indices count from the end. An index out of range is an error of
// the caller; it is moved to the nearest valid one, so that no foreign memory
// is read.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

static fe_status infer_gather(fe_infer *f) {
  fe_dims data, indices, out = {0};
  unsigned axis;
  if (fe_in_dims(f, 0, &data) || fe_in_dims(f, 1, &indices) ||
      fe_axis(f, fe_attr_i64(f->attrs, "axis", 0), data.rank, &axis))
    return FE_FAILED;
  if (data.rank + indices.rank - 1 > FE_MAX_RANK)
    return fe_infer_error(f, NULL, "the rank of the result is above %d",
                          FE_MAX_RANK);
  for (unsigned i = 0; i < axis; ++i)
    out.d[out.rank++] = data.d[i];
  for (unsigned i = 0; i < indices.rank; ++i)
    out.d[out.rank++] = indices.d[i];
  for (unsigned i = axis + 1; i < data.rank; ++i)
    out.d[out.rank++] = data.d[i];
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

static bool contents_gather(fe_ir *ir, MlirOperation op, fe_contents *out) {
  fe_contents data, indices;
  if (!fe_contents_partial(ir, fe_operand(op, 0), &data) ||
      !fe_contents_of(ir, fe_operand(op, 1), &indices))
    return false;
  unsigned axis = fe_attr_axis(op, "axis", 0, data.dims.rank), inner = 1;
  for (unsigned i = axis + 1; i < data.dims.rank; ++i)
    inner *= (unsigned)fe_dim_static(data.dims.d[i]);
  int64_t size = fe_dim_static(data.dims.d[axis]);
  for (unsigned i = 0; i < out->n; ++i) {
    unsigned o = i / (inner * indices.n), rest = i % (inner * indices.n);
    int64_t at = fe_dim_static(indices.at[rest / inner]);
    at = at < 0 && at != FE_DYN ? at + size : at;
    if (at < 0 || at >= size)
      return false;
    out->at[i] = data.at[(o * size + at) * inner + rest % inner];
  }
  return true;
}

static fe_status lower_gather(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]), n = fe_rank(l->in[1]);
  unsigned axis = fe_attr_axis(l->op, "axis", 0, rank), out_rank = rank - 1 + n;
  MlirValue sizes[FE_MAX_RANK], at[FE_MAX_RANK];
  MlirAffineExpr e[FE_MAX_RANK];
  for (unsigned i = 0; i < out_rank; ++i)
    sizes[i] = i < axis       ? fe_size(l, l->in[0], i)
               : i < axis + n ? fe_size(l, l->in[1], i - axis)
                              : fe_size(l, l->in[0], i - n + 1);
  for (unsigned i = 0; i < n; ++i)
    e[i] = mlirAffineDimExprGet(ir->ctx, axis + i);
  MlirValue dim = fe_size(l, l->in[0], axis);
  MlirAffineMap maps[2] = {{0}, mlirAffineMapGet(ir->ctx, out_rank, 0, n, e)};
  fe_generic *g =
      fe_generic_begin(l, out_rank, sizes, 2, l->in, l->in_type, maps);
  at[axis] = fe_wrapped_index(ir, fe_to_index(ir, fe_arg(g, 1)), dim);
  for (unsigned i = 0; i < rank; ++i)
    if (i != axis)
      at[i] = fe_iter(g, i < axis ? i : i + n - 1);
  MlirValue v = fe_at(g, l->in[0], l->in_type[0], rank, at);
  l->out[0] = fe_generic_end(g, l->out_type[0], v);
  return FE_OK;
}

static const fe_attr_def attrs[] = {{"axis", FE_A_INT, "0"}, {0}};

const fe_op_row fe_family_gather[] = {{.name = "Gather",
                                       .since = 1,
                                       .inputs = "data:T, indices:I",
                                       .outputs = "output:T",
                                       .types = "T=all;I=i32,i64",
                                       .attrs = attrs,
                                       .infer = infer_gather,
                                       .contents = contents_gather,
                                       .lower = lower_gather},
                                      {0}};
