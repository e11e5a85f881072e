//===- product.c - operands of matrix products -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numpy's rules for shapes: batch dims are broadcast, a vector on the left is
// a row, on the right a column.
//
//===----------------------------------------------------------------------===//
#include "op/product.h"

#include <inttypes.h>

/// Dims of the product. Rank 1: [K], which `trans` does not concern.
fe_status fe_product_dims(fe_infer *f, unsigned ia, unsigned ib, fe_dims *out) {
  fe_dims a, b, batch_a = {0}, batch_b = {0};
  if (fe_in_dims(f, ia, &a) || fe_in_dims(f, ib, &b))
    return FE_FAILED;
  if (!a.rank || !b.rank)
    return fe_infer_error(f, NULL, "an operand is a scalar");
  bool trans_a = a.rank > 1 && fe_attr_i64(f->attrs, "transA", 0);
  bool trans_b = b.rank > 1 && fe_attr_i64(f->attrs, "transB", 0);
  MlirAffineExpr ka = a.d[a.rank - 1 - trans_a];
  MlirAffineExpr kb = b.rank == 1 ? b.d[0] : b.d[b.rank - 2 + trans_b];
  int64_t na = fe_dim_static(ka), nb = fe_dim_static(kb);
  if (na != FE_DYN && nb != FE_DYN && na != nb)
    return fe_infer_error(f, NULL,
                          "rows of the first operand have %" PRId64
                          " elements but columns of the second %" PRId64,
                          na, nb);
  for (unsigned i = 0; i + 2 < a.rank; ++i)
    batch_a.d[batch_a.rank++] = a.d[i];
  for (unsigned i = 0; i + 2 < b.rank; ++i)
    batch_b.d[batch_b.rank++] = b.d[i];
  if (fe_broadcast_dims(f, &batch_a, &batch_b, out))
    return FE_FAILED;
  if (out->rank + 2 > FE_MAX_RANK)
    return fe_infer_error(f, NULL, "the rank is too large");
  if (a.rank > 1)
    out->d[out->rank++] = a.d[a.rank - 2 + trans_a];
  if (b.rank > 1)
    out->d[out->rank++] = b.d[b.rank - 1 - trans_b];
  return FE_OK;
}

/// Common size of two dims of which one may be 1; checked at run time where it
/// is not known.
static MlirValue common_size(fe_lower *l, MlirValue a, MlirValue b) {
  fe_ir *ir = l->ir;
  int64_t na = FE_DYN, nb = FE_DYN;
  fe_size_known(a, &na);
  fe_size_known(b, &nb);
  if (fe_same(a, b) || nb == 1)
    return a;
  if (na == 1)
    return b;
  if (na != FE_DYN && nb != FE_DYN)
    return a; // equal: inference has compared them
  MlirValue one = fe_index(ir, 1);
  MlirValue same = fe_cmp(ir, FE_EQ, a, b);
  MlirValue a_one = fe_cmp(ir, FE_EQ, a, one),
            b_one = fe_cmp(ir, FE_EQ, b, one);
  if (na == FE_DYN)
    same = fe_or(ir, same, a_one);
  if (nb == FE_DYN)
    same = fe_or(ir, same, b_one);
  fe_check(l, same, "the batch dimensions do not broadcast");
  return na != FE_DYN ? a : nb != FE_DYN ? b : fe_select(ir, a_one, b, a);
}

/// A vector with a dim of size 1 in front, or behind.
static MlirValue as_matrix(fe_lower *l, MlirValue v, bool behind) {
  if (fe_rank(v) != 1)
    return v;
  MlirValue size = fe_size(l, v, 0), one = fe_index(l->ir, 1);
  MlirValue sizes[2] = {behind ? size : one, behind ? one : size};
  return fe_reshape(l, v, fe_elem_of(v), 2, sizes);
}

void fe_matrices_prepare(fe_lower *l, fe_matrices *m) {
  fe_ir *ir = l->ir;
  m->vector_a = fe_rank(m->a) == 1;
  m->vector_b = fe_rank(m->b) == 1;
  m->trans_a &= !m->vector_a;
  m->trans_b &= !m->vector_b;
  m->a = as_matrix(l, m->a, false);
  m->b = as_matrix(l, m->b, true);
  unsigned rank_a = fe_rank(m->a), rank_b = fe_rank(m->b);
  unsigned rank = rank_a > rank_b ? rank_a : rank_b;
  for (unsigned i = 0; i + 2 < rank; ++i) {
    bool in_a = i + rank_a >= rank, in_b = i + rank_b >= rank;
    MlirValue sa = in_a ? fe_size(l, m->a, i + rank_a - rank) : (MlirValue){0};
    MlirValue sb = in_b ? fe_size(l, m->b, i + rank_b - rank) : (MlirValue){0};
    m->sizes[i] = in_a && in_b ? common_size(l, sa, sb) : in_a ? sa : sb;
  }
  m->rank = rank;
  m->sizes[rank - 2] = fe_size(l, m->a, rank_a - 2 + m->trans_a);
  m->sizes[rank - 1] = fe_size(l, m->b, rank_b - 1 - m->trans_b);
  MlirValue ka = fe_size(l, m->a, rank_a - 1 - m->trans_a);
  MlirValue kb = fe_size(l, m->b, rank_b - 2 + m->trans_b);
  int64_t na, nb;
  if (!fe_same(ka, kb) && !(fe_size_known(ka, &na) && fe_size_known(kb, &nb)))
    fe_check(l, fe_cmp(ir, FE_EQ, ka, kb),
             "rows of A and columns of B have different sizes");
}

MlirValue fe_matrices_result(fe_lower *l, const fe_matrices *m, MlirValue r) {
  if (!m->vector_a && !m->vector_b)
    return r;
  MlirValue kept[FE_MAX_RANK];
  unsigned n = 0;
  for (unsigned i = 0; i < m->rank; ++i)
    if (!(i == m->rank - 2 && m->vector_a) &&
        !(i == m->rank - 1 && m->vector_b))
      kept[n++] = m->sizes[i];
  return fe_reshape(l, r, fe_elem_of(r), n, kept);
}
