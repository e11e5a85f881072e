//===- contrib_cache_append.c - caches of attention that grow ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CacheAppend: rows of a cache, then new ones, then zeros, or what the cache
// has there (`keep`), for each sequence as many as it has. Where past and
// result are one buffer, only the new rows are written.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

enum { PAST, ROWS, STARTS, COUNTS, LENGTH };

static bool given(const fe_lower *l, unsigned i) {
  return i < l->n_in && !fe_is_null(l->in[i]);
}

static fe_status infer_append(fe_infer *f) {
  fe_dims past, rows;
  if (fe_in_dims(f, ROWS, &rows))
    return FE_FAILED;
  int64_t heads = fe_attr_i64(f->attrs, "heads", 1);
  int64_t wide = rows.rank == 3 ? fe_dim_static(rows.d[2]) : 0;
  if (rows.rank != 3 || heads < 1 || (wide != FE_DYN && wide % heads))
    return fe_infer_error(f, NULL, "the heads do not fit into the new rows");
  MlirAffineExpr n = fe_dim_const(f->ir, heads), length;
  fe_contents c;
  bool known = fe_contents_of(f->ir, f->in[LENGTH], &c) && c.n == 1;
  length = known ? c.at[0] : fe_fresh_dim(f);
  if (!fe_is_null(f->in[PAST])) {
    if (fe_in_dims(f, PAST, &past))
      return FE_FAILED;
    if (past.rank != 4)
      return fe_infer_error(f, NULL, "the cache must have rank 4");
    // At least as long as the cache where that is asked for.
    int64_t a = fe_dim_static(length), b = fe_dim_static(past.d[2]);
    if (fe_attr_i64(f->attrs, "whole", 0) && !fe_dim_same(length, past.d[2])) {
      if (known && a != FE_DYN && b != FE_DYN)
        length = fe_dim_const(f->ir, a > b ? a : b);
      else if (!known || a == FE_DYN || b == FE_DYN)
        length = fe_fresh_dim(f);
    }
  }
  fe_dims out = {.rank = 4,
                 .d = {rows.d[0], n, length, fe_dim_floordiv(rows.d[2], n)}};
  fe_out_tensor(f, 0, fe_in_dtype(f, ROWS), &out);
  return FE_OK;
}

typedef struct append {
  fe_kernel k;
  MlirValue b, h;      // batch, head
  MlirValue past, out; // memrefs
  MlirValue columns;
} append;

/// Rows [from, to) of the result by `source` (null: zeros), whose row is
/// `shift` less.
static void fill(append *a, MlirValue from, MlirValue to, MlirValue source,
                 MlirValue shift, bool heads_first) {
  fe_ir *ir = a->k.l->ir;
  MlirType elem = fe_elem_of(a->out);
  fe_region r =
      fe_for_begin(ir, from, fe_max(ir, from, to), fe_index(ir, 1), 0, NULL);
  fe_region c = fe_loop(ir, a->columns);
  MlirValue v;
  if (fe_is_null(source)) {
    v = fe_number(ir, elem, 0);
  } else {
    MlirValue row = fe_sub(ir, r.iv, shift);
    v = heads_first ? fe_load(ir, source, FE_IDX(a->b, a->h, row, c.iv))
                    : fe_load(ir, source, FE_IDX(a->b, row, a->h, c.iv));
  }
  fe_store(ir, v, a->out, FE_IDX(a->b, a->h, r.iv, c.iv));
  fe_loop_end(ir, &c);
  fe_loop_end(ir, &r);
}

static MlirValue address(fe_ir *ir, MlirValue memref) {
  return fe_first(FE_OP(ir, "memref.extract_aligned_pointer_as_index",
                        FE_VALUES(memref), FE_TYPES(ir->index)));
}

/// Number of operand i for the current sequence, within [0, limit].
static MlirValue number(append *a, unsigned i, MlirValue limit) {
  fe_ir *ir = a->k.l->ir;
  MlirValue v = fe_to_index(ir, fe_get(&a->k, a->k.in[i], FE_I64, 1, &a->b));
  return fe_max(ir, fe_index(ir, 0), fe_min(ir, v, limit));
}

static fe_status lower_append(fe_lower *l) {
  fe_ir *ir = l->ir;
  int64_t heads = fe_attr_i64(l->op, "heads", 1), n;
  MlirValue sizes[4], wide = fe_size(l, l->in[ROWS], 2), split[4];
  fe_out_sizes(l, 0, sizes);
  sizes[0] = fe_size(l, l->in[ROWS], 0);
  sizes[1] = fe_index(ir, heads);
  if (fe_size_known(wide, &n))
    sizes[3] = fe_index(ir, n / heads);
  else
    sizes[3] = fe_divu(ir, wide, sizes[1]);
  if (!fe_size_known(wide, &n))
    fe_check_equal(l, fe_mul(ir, sizes[3], sizes[1]), wide,
                   "the heads do not fit into the last dimension");
  MlirValue batch = sizes[0];
  if (given(l, PAST)) {
    const MlirValue want[4] = {sizes[0], sizes[1], {0}, sizes[3]};
    for (unsigned i = 0; i < 4; ++i)
      if (i != 2)
        fe_check_equal(l, fe_size(l, l->in[PAST], i), want[i],
                       "the past's shape does not fit");
  }
  for (unsigned i = STARTS; i <= COUNTS; ++i)
    fe_check_equal(l, fe_size(l, l->in[i], 0), batch,
                   "there must be one length for each sequence");
  if (fe_is_null(sizes[2])) {
    sizes[2] = fe_read_index(l, l->in[LENGTH], 0);
    if (given(l, PAST) && fe_attr_i64(l->op, "whole", 0))
      sizes[2] = fe_max(ir, sizes[2], fe_size(l, l->in[PAST], 2));
  }
  split[0] = batch;
  split[1] = fe_size(l, l->in[ROWS], 1);
  split[2] = sizes[1];
  split[3] = sizes[3];
  MlirValue rows =
      fe_reshape(l, l->in[ROWS], fe_elem_of(l->in[ROWS]), 4, split);
  MlirValue in[4] = {rows, l->in[STARTS], l->in[COUNTS], l->in[PAST]};
  unsigned n_in = given(l, PAST) ? 4 : 3;
  MlirValue dest = fe_out_empty(l, 0, sizes);
  append a = {0};
  fe_kernel_begin(&a.k, l, "cache_append", n_in, in, 1, &dest, 0, NULL);
  a.out = a.k.out[0];
  a.columns = fe_dim(ir, a.out, 3);
  MlirValue zero = fe_index(ir, 0), length = fe_dim(ir, a.out, 2);
  fe_region r = fe_for_begin(ir, a.k.begin, a.k.end, fe_index(ir, 1), 0, NULL);
  a.b = fe_divu(ir, r.iv, fe_index(ir, heads));
  a.h = fe_remu(ir, r.iv, fe_index(ir, heads));
  MlirValue start = number(&a, 1, length), old = zero;
  MlirValue added = number(&a, 2, fe_dim(ir, a.k.in[0], 1));
  MlirValue end = fe_min(ir, fe_add(ir, start, added), length);
  fe_region apart = {0};
  if (n_in == 4) { // a caller's buffer for both has what is not new
    MlirValue both =
        fe_cmp(ir, FE_EQ, address(ir, a.k.in[3]), address(ir, a.out));
    both =
        fe_and(ir, both, fe_cmp(ir, FE_EQ, fe_dim(ir, a.k.in[3], 2), length));
    apart = fe_if_begin(ir, fe_not(ir, both), 0, NULL, false);
    old = fe_min(ir, start, fe_dim(ir, a.k.in[3], 2));
    fill(&a, zero, old, a.k.in[3], zero, true);
  }
  MlirValue behind = end;
  if (n_in == 4 && fe_attr_i64(l->op, "keep", 0)) {
    behind = fe_max(ir, end, fe_min(ir, length, fe_dim(ir, a.k.in[3], 2)));
    fill(&a, end, behind, a.k.in[3], zero, true);
  }
  fill(&a, old, start, (MlirValue){0}, zero, true);
  fill(&a, behind, length, (MlirValue){0}, zero, true);
  if (n_in == 4)
    fe_if_end(ir, &apart, 0, NULL);
  fill(&a, start, end, a.k.in[0], start, false);
  fe_loop_end(ir, &r);
  unsigned out = n_in;
  fe_kernel_end(
      &a.k, fe_dim_mul(fe_kernel_dim(&a.k, out, 0), fe_dim_const(ir, heads)),
      fe_dim_mul(fe_kernel_dim(&a.k, out, 2), fe_kernel_dim(&a.k, out, 3)));
  l->out[0] = a.k.result[0];
  return FE_OK;
}

//===-- The row -------------------------------------------------------------//

static const fe_attr_def append_attrs[] = {{"heads", FE_A_INT, "1"},
                                           {"whole", FE_A_INT, "0"},
                                           {"keep", FE_A_INT, "0"},
                                           {0}};

const fe_op_row fe_family_contrib_cache_append[] = {
    {.name = "CacheAppend",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "past?:T, rows:T, starts:I, counts:I, length:I",
     .outputs = "present:T",
     .types = "T=float,i8,u8;I=i64",
     .attrs = append_attrs,
     .flags = FE_INTERNAL,
     .infer = infer_append,
     .lower = lower_append},
    {0}};
