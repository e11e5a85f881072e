//===- host.c - small integer tensors made from sizes ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape, Size and their like: index values of main become a tensor through a
// generic that selects by its position. The lists are as short as ranks.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/lowering.h"

MlirValue fe_sizes_product(fe_lower *l, MlirValue tensor, unsigned from,
                           unsigned to) {
  MlirValue product = fe_index(l->ir, 1);
  for (unsigned i = from; i < to; ++i)
    product = i == from ? fe_size(l, tensor, i)
                        : fe_mul(l->ir, product, fe_size(l, tensor, i));
  return product;
}

unsigned fe_attr_axis(MlirOperation op, const char *name, int64_t absent,
                      unsigned rank) {
  int64_t axis = fe_attr_i64(op, name, absent);
  return (unsigned)(axis < 0 ? axis + rank : axis);
}

void fe_check_dims(fe_lower *l, unsigned a, unsigned i, unsigned b, unsigned j,
                   const char *message) {
  fe_dims x, y;
  if (fe_dims_of(l->ir, fe_operand(l->op, a), &x) &&
      fe_dims_of(l->ir, fe_operand(l->op, b), &y) &&
      fe_dim_same(x.d[i], y.d[j]))
    return;
  fe_check_equal(l, fe_size(l, l->in[a], i), fe_size(l, l->in[b], j), message);
}

void fe_check_equal(fe_lower *l, MlirValue a, MlirValue b,
                    const char *message) {
  int64_t x, y;
  if (fe_same(a, b) ||
      (fe_index_const(a, &x) && fe_index_const(b, &y) && x == y))
    return;
  fe_check(l, fe_cmp(l->ir, FE_EQ, a, b), message);
}

MlirValue fe_list_length(fe_lower *l, MlirValue list) {
  return fe_rank(list) ? fe_size(l, list, 0) : fe_index(l->ir, 1);
}

MlirValue fe_list_element(fe_lower *l, MlirValue list, MlirValue i,
                          MlirValue otherwise) {
  fe_ir *ir = l->ir;
  int64_t at, n = fe_rank(list) ? fe_static_dim(list, 0) : 1;
  if (fe_index_const(i, &at) && n != FE_DYN)
    return at >= 0 && at < n ? fe_read_index(l, list, at) : otherwise;
  if (!fe_rank(list))
    return fe_select(ir, fe_cmp(ir, FE_EQ, i, fe_index(ir, 0)),
                     fe_read_index(l, list, 0), otherwise);
  MlirValue inside = fe_and(ir, fe_cmp(ir, FE_GE, i, fe_index(ir, 0)),
                            fe_cmp(ir, FE_LT, i, fe_list_length(l, list)));
  fe_region r = fe_if_begin(ir, inside, 1, &ir->index, true);
  MlirType elem = fe_elem_of(list);
  MlirValue v =
      fe_to_index(ir, fe_first(FE_OP(ir, "tensor.extract", .n_operands = 2,
                                     .operands = (MlirValue[]){list, i},
                                     .n_results = 1, .results = &elem)));
  fe_if_else(ir, &r, 1, &v);
  fe_if_end(ir, &r, 1, &otherwise);
  return fe_result(r.op, 0);
}

MlirValue fe_wrapped_index(fe_ir *ir, MlirValue index, MlirValue dim) {
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue v = fe_select(ir, fe_cmp(ir, FE_LT, index, zero),
                          fe_add(ir, index, dim), index);
  return fe_max(ir, fe_min(ir, v, fe_sub(ir, dim, one)), zero);
}

MlirValue fe_broadcast_to(fe_lower *l, unsigned i, unsigned rank,
                          const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  unsigned in_rank = fe_rank(l->in[i]);
  MlirValue one = fe_index(ir, 1), zero = fe_index(ir, 0);
  MlirValue repeats[FE_MAX_RANK] = {{0}}; // i1 where only run time knows
  MlirAffineExpr at[FE_MAX_RANK];
  bool affine = true;
  for (unsigned k = 0; k < in_rank; ++k) {
    unsigned d = rank - in_rank + k;
    MlirValue own = fe_size(l, l->in[i], k);
    at[k] = fe_static_dim(l->in[i], k) == 1
                ? mlirAffineConstantExprGet(ir->ctx, 0)
                : mlirAffineDimExprGet(ir->ctx, d);
    if (fe_static_dim(l->in[i], k) == 1 || fe_same(own, sizes[d]))
      continue;
    if (fe_static_dim(l->in[i], k) == FE_DYN) {
      affine = false;
      repeats[k] = fe_cmp(ir, FE_EQ, own, one);
      fe_check(l, fe_or(ir, repeats[k], fe_cmp(ir, FE_EQ, own, sizes[d])),
               "the shape does not fit");
    } else {
      fe_check_equal(l, own, sizes[d], "the shape does not fit");
    }
  }
  MlirAffineMap map = {0};
  if (affine)
    map = mlirAffineMapGet(ir->ctx, rank, 0, in_rank, at);
  fe_generic *g =
      fe_generic_begin(l, rank, sizes, 1, &l->in[i], &l->in_type[i], &map);
  MlirValue idx[FE_MAX_RANK], v;
  for (unsigned k = 0; k < in_rank && !affine; ++k) {
    idx[k] =
        fe_static_dim(l->in[i], k) == 1 ? zero : fe_iter(g, rank - in_rank + k);
    if (!fe_is_null(repeats[k]))
      idx[k] = fe_select(ir, repeats[k], zero, idx[k]);
  }
  v = affine ? fe_arg(g, 0) : fe_at(g, l->in[i], l->in_type[i], in_rank, idx);
  return fe_generic_end(g, l->in_type[i], v);
}

MlirValue fe_known_product(fe_ir *ir, unsigned n, const MlirValue *sizes) {
  int64_t total = 1, size;
  bool known = true;
  for (unsigned i = 0; i < n && known; ++i)
    known = fe_size_known(sizes[i], &size) &&
            !__builtin_mul_overflow(total, size, &total);
  if (known)
    return fe_index(ir, total);
  MlirValue product = sizes[0];
  for (unsigned i = 1; i < n; ++i)
    product = fe_mul(ir, product, sizes[i]);
  return product;
}

MlirValue fe_index_list(fe_lower *l, unsigned n, const MlirValue *values) {
  fe_ir *ir = l->ir;
  MlirValue extent = fe_index(ir, n);
  fe_generic *g = fe_generic_begin(l, 1, &extent, 0, NULL, NULL, NULL);
  MlirValue i = fe_iter(g, 0), v = n ? values[0] : fe_index(ir, 0);
  for (unsigned k = 1; k < n; ++k)
    v = fe_select(ir, fe_cmp(ir, FE_EQ, i, fe_index(ir, k)), values[k], v);
  return fe_generic_end(g, FE_I64, fe_convert(ir, v, ir->i64, false, false));
}

MlirValue fe_index_scalar(fe_lower *l, MlirValue value) {
  fe_generic *g = fe_generic_begin(l, 0, &value, 0, NULL, NULL, NULL);
  return fe_generic_end(g, FE_I64,
                        fe_convert(l->ir, value, l->ir->i64, false, false));
}
