//===- infer.c - helpers of shape inference ----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dims are uniqued affine expressions, so equal sizes are the same object.
// Where two different symbolic sizes meet, nothing is known but that they agree
// at run time or that one is 1: the result is a fresh symbol.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/signature.h"

#include <inttypes.h>

fe_status fe_in_dims(fe_infer *f, unsigned i, fe_dims *out) {
  if (i < f->n_in && fe_dims_of(f->ir, f->in[i], out))
    return FE_OK;
  fe_sig sig;
  fe_sig_parse(f->row->inputs, &sig);
  fe_where where = f->where;
  where.attr = i < sig.n ? sig.at[i].name : NULL;
  return fe_error(f->ir->diags, where, NULL, "the input %s",
                  i < f->n_in && !fe_is_null(f->in[i]) ? "is not a tensor"
                                                       : "is missing");
}

fe_dtype fe_in_dtype(const fe_infer *f, unsigned i) {
  if (i >= f->n_in || fe_is_null(f->in[i]))
    return FE_UNDEFINED;
  return fe_dtype_of_elem(fe_elem_of(f->in[i]));
}

void fe_out_tensor(fe_infer *f, unsigned i, fe_dtype t, const fe_dims *d) {
  if (i >= f->n_out)
    return;
  for (unsigned k = 0; k < d->rank; ++k)
    if (mlirAffineExprIsNull(d->d[k])) {
      fe_report(f->ir->diags, FE_SEV_ERROR, f->where, NULL,
                "dimension %u of result %u is too large", k, i);
      return;
    }
  f->out[i] = fe_tensor_type(f->ir, fe_elem_type(f->ir, t), d);
}

MlirAffineExpr fe_fresh_dim(fe_infer *f) {
  return fe_dim_symbol(f->ir, fe_symbol(f->ir, NULL));
}

/// Notes the symbols of e; gives the name of one of them.
static const char *decisive_symbols(fe_ir *ir, MlirAffineExpr e) {
  if (mlirAffineExprIsNull(e))
    return NULL;
  if (mlirAffineExprIsASymbol(e)) {
    size_t s = (size_t)mlirAffineSymbolExprGetPosition(e);
    if (s >= ir->symbols.n)
      return NULL;
    fe_push(ir->arena, &ir->decisive, ir->symbols.at[s]);
    return ir->symbols.at[s];
  }
  if (!mlirAffineExprIsABinary(e))
    return NULL;
  const char *l = decisive_symbols(ir, mlirAffineBinaryOpExprGetLHS(e));
  const char *r = decisive_symbols(ir, mlirAffineBinaryOpExprGetRHS(e));
  return l ? l : r;
}

fe_status fe_need_known(fe_infer *f, unsigned i, unsigned dim,
                        const char *what) {
  fe_dims d;
  if (fe_in_dims(f, i, &d))
    return FE_FAILED;
  fe_sig sig;
  fe_sig_parse(f->row->inputs, &sig);
  fe_where where = f->where;
  where.attr = sig.n ? sig.at[i < sig.n ? i : sig.n - 1].name : NULL;
  const char *symbol = dim < d.rank ? decisive_symbols(f->ir, d.d[dim]) : NULL;
  return fe_error(
      f->ir->diags, where,
      symbol ? fe_printf(f->ir->arena, "fix the size, as in --dim %s=2", symbol)
             : NULL,
      "%s depends on a size of input %u that is only known in the "
      "run",
      what, i);
}

fe_status fe_need_size(fe_infer *f, unsigned i, unsigned dim) {
  return fe_need_known(f, i, dim, "the number of dimensions of the result");
}

fe_status fe_rank_from(fe_infer *f, unsigned i, unsigned *out) {
  fe_dims d;
  if (fe_in_dims(f, i, &d))
    return FE_FAILED;
  int64_t n = d.rank == 1 ? fe_dim_static(d.d[0]) : -1;
  if (n == FE_DYN)
    return fe_need_size(f, i, 0);
  if (n < 0 || n > FE_MAX_RANK)
    return fe_infer_error(
        f, NULL, "input %u must be a list of at most %d sizes", i, FE_MAX_RANK);
  *out = (unsigned)n;
  return FE_OK;
}

fe_status fe_broadcast_dims(fe_infer *f, const fe_dims *a, const fe_dims *b,
                            fe_dims *out) {
  fe_dims r = {.rank = a->rank > b->rank ? a->rank : b->rank};
  for (unsigned i = 0; i < r.rank; ++i) {
    unsigned from_end = r.rank - i;
    if (from_end > a->rank || from_end > b->rank) {
      r.d[i] = from_end > a->rank ? b->d[b->rank - from_end]
                                  : a->d[a->rank - from_end];
      continue;
    }
    MlirAffineExpr x = a->d[a->rank - from_end], y = b->d[b->rank - from_end];
    int64_t nx = fe_dim_static(x), ny = fe_dim_static(y);
    if (fe_dim_same(x, y) || ny == 1)
      r.d[i] = x;
    else if (nx == 1)
      r.d[i] = y;
    else if (nx != FE_DYN && ny != FE_DYN)
      return fe_infer_error(f, NULL,
                            "sizes %" PRId64 " and %" PRId64
                            " in dimension %u of the result cannot be "
                            "broadcast together",
                            nx, ny, i);
    else if (nx != FE_DYN || ny != FE_DYN)
      r.d[i] = nx != FE_DYN ? x : y; // the other is that at run time, or 1
    else if (fe_dim_is_cut(f->ir, x, y) || fe_dim_is_cut(f->ir, y, x))
      r.d[i] = fe_dim_is_cut(f->ir, x, y) ? y : x;
    else
      r.d[i] = fe_fresh_dim(f);
  }
  *out = r;
  return FE_OK;
}

fe_status fe_need_fitting(fe_infer *f, const fe_dims *data,
                          const fe_dims *indices, unsigned axis) {
  for (unsigned i = 0; i < data->rank; ++i) {
    int64_t n = fe_dim_static(data->d[i]), m = fe_dim_static(indices->d[i]);
    if (i != axis && n != FE_DYN && m != FE_DYN && m > n)
      return fe_infer_error(f, NULL,
                            "the indices have %" PRId64
                            " elements in dimension %u but the data %" PRId64,
                            m, i, n);
  }
  return FE_OK;
}

fe_status fe_axis(fe_infer *f, int64_t axis, unsigned rank, unsigned *out) {
  int64_t r = rank;
  if (axis < -r || axis >= r)
    return fe_infer_error(
        f, NULL, "axis %" PRId64 " is out of range for rank %u", axis, rank);
  *out = (unsigned)(axis < 0 ? axis + r : axis);
  return FE_OK;
}
