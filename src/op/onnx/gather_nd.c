//===- gather_nd.c - GatherElements, GatherND --------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GatherElements is a generic that reads at computed subscripts, GatherND a
// kernel that copies slices. Negative indices count from the end; one out of
// range is moved to the nearest valid one, so that no foreign memory is read.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

/// Checks that a dim to be indexed has elements, or that nothing is read.
static void check_readable(fe_lower *l, MlirValue dim, unsigned indices) {
  fe_ir *ir = l->ir;
  int64_t n;
  if (fe_size_known(dim, &n) && n > 0)
    return;
  MlirValue zero = fe_index(ir, 0);
  MlirValue count =
      fe_sizes_product(l, l->in[indices], 0, fe_rank(l->in[indices]));
  fe_check(
      l,
      fe_or(ir, fe_cmp(ir, FE_GT, dim, zero), fe_cmp(ir, FE_EQ, count, zero)),
      "indices into a dimension without elements");
}

//===-- GatherElements ------------------------------------------------------//

static fe_status infer_elements(fe_infer *f) {
  fe_dims data, indices;
  unsigned axis;
  if (fe_in_dims(f, 0, &data) || fe_in_dims(f, 1, &indices) ||
      fe_axis(f, fe_attr_i64(f->attrs, "axis", 0), data.rank, &axis))
    return FE_FAILED;
  if (data.rank != indices.rank)
    return fe_infer_error(f, NULL,
                          "data has rank %u but the indices have rank %u",
                          data.rank, indices.rank);
  if (fe_need_fitting(f, &data, &indices, axis))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &indices);
  return FE_OK;
}

static fe_status lower_elements(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  unsigned axis = fe_attr_axis(l->op, "axis", 0, rank);
  fe_dims data, indices;
  if (!fe_dims_of(ir, fe_operand(l->op, 0), &data) ||
      !fe_dims_of(ir, fe_operand(l->op, 1), &indices))
    return FE_FAILED;
  MlirValue sizes[FE_MAX_RANK], at[FE_MAX_RANK];
  fe_sizes_of(l, l->in[1], sizes);
  for (unsigned i = 0; i < rank; ++i) {
    bool is_static = fe_dim_static(data.d[i]) != FE_DYN &&
                     fe_dim_static(indices.d[i]) != FE_DYN;
    if (i != axis && !is_static && !fe_dim_same(data.d[i], indices.d[i]))
      fe_check(l, fe_cmp(ir, FE_LE, sizes[i], fe_size(l, l->in[0], i)),
               "the indices have more elements than the data");
  }
  MlirValue dim = fe_size(l, l->in[0], axis);
  check_readable(l, dim, 1);
  MlirAffineMap maps[2] = {{0},
                           mlirAffineMapMultiDimIdentityGet(ir->ctx, rank)};
  fe_generic *g = fe_generic_begin(l, rank, sizes, 2, l->in, l->in_type, maps);
  for (unsigned i = 0; i < rank; ++i)
    at[i] = i == axis ? fe_wrapped_index(ir, fe_to_index(ir, fe_arg(g, 1)), dim)
                      : fe_iter(g, i);
  MlirValue v = fe_at(g, l->in[0], l->in_type[0], rank, at);
  l->out[0] = fe_generic_end(g, l->out_type[0], v);
  return FE_OK;
}

//===-- GatherND ------------------------------------------------------------//

/// Number of subscripts that one row of the indices holds.
static fe_status tuple_size(fe_infer *f, const fe_dims *data,
                            const fe_dims *indices, int64_t batch,
                            unsigned *out) {
  int64_t n = indices->rank ? fe_dim_static(indices->d[indices->rank - 1]) : -1;
  if (batch < 0 || batch >= indices->rank || batch > data->rank)
    return fe_infer_error(f, NULL, "batch_dims is out of range");
  if (n == FE_DYN)
    return fe_need_size(f, 1, indices->rank - 1);
  if (n < 0 || n > data->rank - batch)
    return fe_infer_error(f, NULL,
                          "the last dimension of the indices is above the rank "
                          "of the data");
  *out = (unsigned)n;
  return FE_OK;
}

static fe_status infer_nd(fe_infer *f) {
  fe_dims data, indices, out = {0};
  int64_t batch = fe_attr_i64(f->attrs, "batch_dims", 0);
  unsigned n = 0;
  if (fe_in_dims(f, 0, &data) || fe_in_dims(f, 1, &indices) ||
      tuple_size(f, &data, &indices, batch, &n))
    return FE_FAILED;
  if (indices.rank - 1 + data.rank - (unsigned)batch - n > FE_MAX_RANK)
    return fe_infer_error(f, NULL, "the rank of the result is above %d",
                          FE_MAX_RANK);
  for (unsigned i = 0; i + 1 < indices.rank; ++i)
    out.d[out.rank++] = indices.d[i];
  for (unsigned i = (unsigned)batch + n; i < data.rank; ++i)
    out.d[out.rank++] = data.d[i];
  for (unsigned i = 0; i < batch; ++i) {
    int64_t a = fe_dim_static(data.d[i]), b = fe_dim_static(indices.d[i]);
    if (a != FE_DYN && b != FE_DYN && a != b)
      return fe_infer_error(f, NULL, "batch dimension %u has two sizes", i);
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

/// Data [batch][places][slice], indices [batch][rows][n], result
/// [batch * rows][slice]: the subscripts of a row are read once, its slice is
/// copied.
static MlirValue copy_slices(fe_lower *l, unsigned batch, unsigned n,
                             const MlirValue *dims) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]), q = fe_rank(l->in[1]);
  MlirType elem = fe_out_elem(l, 0);
  MlirValue batches = fe_sizes_product(l, l->in[0], 0, batch);
  MlirValue rows = fe_sizes_product(l, l->in[1], batch, q - 1);
  MlirValue data[3] = {batches, fe_sizes_product(l, l->in[0], batch, batch + n),
                       fe_sizes_product(l, l->in[0], batch + n, rank)};
  MlirValue tuples[2] = {fe_mul(ir, batches, rows), fe_index(ir, n)};
  MlirValue sizes[2] = {tuples[0], data[2]};
  MlirValue in[2] = {fe_reshape(l, l->in[0], elem, 3, data),
                     fe_reshape(l, l->in[1], fe_elem_of(l->in[1]), 2, tuples)};
  MlirValue out = fe_tensor_empty(l, l->out_type[0], 2, sizes);
  MlirValue scalars[FE_MAX_RANK + 1] = {rows};
  for (unsigned i = 0; i < n; ++i)
    scalars[1 + i] = dims[i];
  fe_kernel k;
  fe_kernel_begin(&k, l, "gather_nd", 2, in, 1, &out, 1 + n, scalars);
  MlirValue one = fe_index(ir, 1), place = fe_index(ir, 0);
  fe_region each = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue at[2] = {each.iv, fe_index(ir, i)};
    MlirValue v = fe_to_index(ir, fe_load(ir, k.in[1], 2, at));
    v = fe_wrapped_index(ir, v, k.scalar[1 + i]);
    place = fe_add(ir, fe_mul(ir, place, k.scalar[1 + i]), v);
  }
  MlirValue b = batch ? fe_divu(ir, each.iv, k.scalar[0]) : fe_index(ir, 0);
  fe_region copy = fe_loop(ir, fe_dim(ir, k.out[0], 1));
  MlirValue from[3] = {b, place, copy.iv}, to[2] = {each.iv, copy.iv};
  fe_store(ir, fe_load(ir, k.in[0], 3, from), k.out[0], 2, to);
  fe_loop_end(ir, &copy);
  fe_loop_end(ir, &each);
  fe_kernel_end(&k, fe_kernel_dim(&k, 2, 0), fe_kernel_dim(&k, 2, 1));
  return k.result[0];
}

static fe_status lower_nd(fe_lower *l) {
  unsigned rank = fe_rank(l->in[0]), q = fe_rank(l->in[1]);
  unsigned batch = (unsigned)fe_attr_i64(l->op, "batch_dims", 0);
  unsigned n = (unsigned)fe_static_dim(l->in[1], q - 1);
  unsigned out_rank = q - 1 + rank - batch - n;
  MlirValue sizes[FE_MAX_RANK], dims[FE_MAX_RANK];
  for (unsigned i = 0; i < out_rank; ++i)
    sizes[i] = i + 1 < q ? fe_size(l, l->in[1], i)
                         : fe_size(l, l->in[0], batch + n + i - (q - 1));
  for (unsigned i = 0; i < batch; ++i)
    fe_check_dims(l, 0, i, 1, i, "a batch dimension has two sizes");
  for (unsigned i = 0; i < n; ++i) {
    dims[i] = fe_size(l, l->in[0], batch + i);
    check_readable(l, dims[i], 1);
  }
  MlirValue v = copy_slices(l, batch, n, dims);
  l->out[0] = fe_reshape(l, v, fe_out_elem(l, 0), out_rank, sizes);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def elements_attrs[] = {{"axis", FE_A_INT, "0"}, {0}};
static const fe_attr_def nd_attrs[] = {{"batch_dims", FE_A_INT, "0"}, {0}};

const fe_op_row fe_family_gather_nd[] = {{.name = "GatherElements",
                                          .since = 11,
                                          .inputs = "data:T, indices:I",
                                          .outputs = "output:T",
                                          .types = "T=all;I=i32,i64",
                                          .attrs = elements_attrs,
                                          .infer = infer_elements,
                                          .lower = lower_elements},
                                         {.name = "GatherND",
                                          .since = 11,
                                          .inputs = "data:T, indices:I",
                                          .outputs = "output:T",
                                          .types = "T=all;I=i64",
                                          .attrs = nd_attrs,
                                          .infer = infer_nd,
                                          .lower = lower_nd},
                                         {0}};
