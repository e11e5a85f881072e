//===- rotary.c - RotaryEmbedding --------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs of elements of a head are rotated together: a kernel whose inner loop
// has no conditions, so that it becomes vectors. Position ids out of range are
// moved into it.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>

enum { X, COS, SIN, POSITIONS };

static fe_status infer_rotary(fe_infer *f) {
  fe_dims x, c, s;
  if (fe_in_dims(f, X, &x) || fe_in_dims(f, COS, &c) || fe_in_dims(f, SIN, &s))
    return FE_FAILED;
  int64_t heads = fe_attr_i64(f->attrs, "num_heads", 0);
  if (x.rank != 4 && (x.rank != 3 || heads <= 0))
    return fe_infer_error(f, NULL,
                          "X must have rank 4, or rank 3 and num_heads");
  bool has_ids = f->n_in > POSITIONS && !fe_is_null(f->in[POSITIONS]);
  unsigned rank = has_ids ? 2 : 3;
  fe_dims ids;
  if (has_ids && fe_in_dims(f, POSITIONS, &ids))
    return FE_FAILED;
  if (has_ids && ids.rank != 2)
    return fe_infer_error(f, NULL, "position_ids must have rank 2");
  if (c.rank != rank || s.rank != rank)
    return fe_infer_error(f, NULL, "cos_cache and sin_cache must have rank %u",
                          rank);
  int64_t wide = fe_dim_static(x.d[x.rank - 1]);
  if (x.rank == 3 && wide != FE_DYN && wide % heads)
    return fe_infer_error(
        f, NULL, "%" PRId64 " heads do not fit into %" PRId64 " elements",
        heads, wide);
  fe_out_tensor(f, 0, fe_in_dtype(f, X), &x);
  return FE_OK;
}

typedef struct rotary {
  fe_lower *l;
  bool flat; // X is [batch][sequence][heads * size]
  bool interleaved;
  MlirValue x, sizes[4];
  MlirValue rotated, half; // elements of a head
} rotary;

/// Checks that the caches have what will be read.
static void check_caches(rotary *r) {
  fe_lower *l = r->l;
  fe_ir *ir = l->ir;
  MlirValue ids = l->n_in > POSITIONS ? l->in[POSITIONS] : (MlirValue){0};
  MlirValue batch = r->sizes[0], rows = r->sizes[r->flat ? 1 : 2];
  for (unsigned i = COS; i <= SIN; ++i) {
    unsigned rank = fe_rank(l->in[i]);
    fe_check_equal(l, fe_size(l, l->in[i], rank - 1), r->half,
                   "the caches do not fit the rotated part of a head");
    if (rank == 3) {
      fe_check_equal(l, fe_size(l, l->in[i], 0), batch,
                     "the caches are not of the batch's size");
      fe_check_equal(l, fe_size(l, l->in[i], 1), rows,
                     "the caches are not of the sequence's length");
    }
  }
  if (!fe_is_null(ids)) {
    fe_check_equal(l, fe_size(l, ids, 0), batch,
                   "position_ids are not of the batch's size");
    fe_check_equal(l, fe_size(l, ids, 1), rows,
                   "position_ids are not of the sequence's length");
    fe_check_equal(l, fe_size(l, l->in[COS], 0), fe_size(l, l->in[SIN], 0),
                   "the caches have different sizes");
    fe_check(l, fe_cmp(ir, FE_GT, fe_size(l, l->in[COS], 0), fe_index(ir, 0)),
             "the caches are empty");
  }
  fe_check(l,
           fe_and(ir, fe_cmp(ir, FE_LE, r->rotated, r->sizes[3]),
                  fe_cmp(ir, FE_GT, r->half, fe_index(ir, 0))),
           "the rotated part is empty or larger than a head");
}

/// The row of the caches for position [b][s]: its subscripts.
static unsigned cache_row(rotary *r, fe_kernel *k, MlirValue b, MlirValue s,
                          MlirValue at[3]) {
  fe_ir *ir = r->l->ir;
  if (fe_rank(k->in[COS]) == 3) {
    at[0] = b;
    at[1] = s;
    return 2;
  }
  MlirValue id = fe_to_index(
      ir, fe_get(k, k->in[POSITIONS], FE_I64, 2, (MlirValue[]){b, s}));
  at[0] = fe_wrapped_index(ir, id, fe_dim(ir, k->in[COS], 0));
  return 1;
}

/// One head, at[0..2]; the caches' row in `row`, of n subscripts.
static void rotate(rotary *r, fe_kernel *k, const MlirValue at[3],
                   MlirValue row[3], unsigned n) {
  fe_lower *l = r->l;
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[X];
  MlirValue size = fe_dim(ir, k->in[X], 3), two = fe_index(ir, 2);
  MlirValue half = k->scalar[0];
  int64_t known;
  if (fe_size_known(r->half, &known)) // loops of a constant length
    half = fe_index(ir, known);
  fe_region p = fe_loop(ir, half);
  MlirValue first = r->interleaved ? fe_mul(ir, p.iv, two) : p.iv;
  MlirValue second = r->interleaved ? fe_add(ir, first, fe_index(ir, 1))
                                    : fe_add(ir, p.iv, half);
  row[n] = p.iv;
  MlirValue c = fe_get(k, k->in[COS], l->in_type[COS], n + 1, row);
  MlirValue s = fe_get(k, k->in[SIN], l->in_type[SIN], n + 1, row);
  MlirValue a[4] = {at[0], at[1], at[2], first};
  MlirValue b[4] = {at[0], at[1], at[2], second};
  MlirValue x = fe_get(k, k->in[X], t, 4, a), y = fe_get(k, k->in[X], t, 4, b);
  fe_put(k, fe_sub(ir, fe_mul(ir, c, x), fe_mul(ir, s, y)), k->out[0], t, 4, a);
  fe_put(k, fe_add(ir, fe_mul(ir, c, y), fe_mul(ir, s, x)), k->out[0], t, 4, b);
  fe_loop_end(ir, &p);
  fe_region rest =
      fe_for_begin(ir, fe_mul(ir, half, two), size, fe_index(ir, 1), 0, NULL);
  a[3] = rest.iv;
  fe_store(ir, fe_load(ir, k->in[X], 4, a), k->out[0], 4, a);
  fe_loop_end(ir, &rest);
}

/// Items are the first two dims of x [batch][..][..][size], of which the second
/// is the sequence where the heads lie side by side.
static MlirValue by_kernel(rotary *r) {
  fe_lower *l = r->l;
  fe_ir *ir = l->ir;
  MlirValue in[4] = {r->x, l->in[COS], l->in[SIN]};
  unsigned n_in = 3;
  if (l->n_in > POSITIONS && !fe_is_null(l->in[POSITIONS]))
    in[n_in++] = l->in[POSITIONS];
  MlirValue dest = fe_tensor_empty(l, l->out_type[0], 4, r->sizes);
  fe_kernel k;
  fe_kernel_begin(&k, l, "rotary", n_in, in, 1, &dest, 1, &r->half);
  MlirValue outer = fe_dim(ir, k.in[X], 1);
  fe_region item = fe_for_begin(ir, k.begin, k.end, fe_index(ir, 1), 0, NULL);
  MlirValue b = fe_divu(ir, item.iv, outer), o = fe_remu(ir, item.iv, outer);
  MlirValue row[3];
  unsigned n = r->flat ? cache_row(r, &k, b, o, row) : 0;
  fe_region inner = fe_loop(ir, fe_dim(ir, k.in[X], 2));
  if (!r->flat)
    n = cache_row(r, &k, b, inner.iv, row);
  const MlirValue at[3] = {b, o, inner.iv};
  rotate(r, &k, at, row, n);
  fe_loop_end(ir, &inner);
  fe_loop_end(ir, &item);
  fe_kernel_end(
      &k, fe_dim_mul(fe_kernel_dim(&k, 0, 0), fe_kernel_dim(&k, 0, 1)),
      fe_dim_mul(fe_dim_mul(fe_kernel_dim(&k, 0, 2), fe_kernel_dim(&k, 0, 3)),
                 fe_dim_const(ir, 3)));
  return k.result[0];
}

static fe_status lower_rotary(fe_lower *l) {
  fe_ir *ir = l->ir;
  rotary r = {.l = l,
              .flat = fe_rank(l->in[X]) == 3,
              .interleaved = fe_attr_i64(l->op, "interleaved", 0) != 0,
              .x = l->in[X]};
  MlirValue whole[4];
  fe_sizes_of(l, r.x, whole);
  if (r.flat) {
    MlirValue heads = fe_index(ir, fe_attr_i64(l->op, "num_heads", 1));
    r.sizes[0] = whole[0];
    r.sizes[1] = whole[1];
    r.sizes[2] = heads;
    r.sizes[3] = fe_divu(ir, whole[2], heads);
    int64_t n;
    if (fe_size_known(whole[2], &n))
      r.sizes[3] = fe_index(ir, n / fe_attr_i64(l->op, "num_heads", 1));
    else
      fe_check_equal(l, fe_mul(ir, heads, r.sizes[3]), whole[2],
                     "the heads do not fit into the last dimension");
    r.x = fe_reshape(l, r.x, fe_elem_of(r.x), 4, r.sizes);
  } else {
    fe_sizes_of(l, r.x, r.sizes);
  }
  int64_t part = fe_attr_i64(l->op, "rotary_embedding_dim", 0), n;
  r.rotated = part > 0 ? fe_index(ir, part) : r.sizes[3];
  r.half = fe_size_known(r.rotated, &n)
               ? fe_index(ir, n / 2)
               : fe_divu(ir, r.rotated, fe_index(ir, 2));
  r.rotated = fe_mul(ir, r.half, fe_index(ir, 2));
  check_caches(&r);
  MlirValue y = by_kernel(&r);
  l->out[0] = r.flat ? fe_reshape(l, y, fe_elem_of(y), 3, whole) : y;
  return FE_OK;
}

static const fe_attr_def rotary_attrs[] = {
    {"interleaved", FE_A_INT, "0"},
    {"num_heads", FE_A_INT, "0"},
    {"rotary_embedding_dim", FE_A_INT, "0"},
    {0}};

const fe_op_row fe_family_rotary[] = {
    {.name = "RotaryEmbedding",
     .since = 23,
     .inputs = "X:T, cos_cache:T, sin_cache:T, position_ids?:M",
     .outputs = "Y:T",
     .types = "T=float;M=i64",
     .attrs = rotary_attrs,
     .infer = infer_rotary,
     .lower = lower_rotary},
    {0}};
