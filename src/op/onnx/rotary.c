//===- rotary.c - RotaryEmbedding --------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pairs of elements of a head are rotated: one generic, in which every element
// reads its partner. Position ids out of range are moved into it.
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

static MlirValue cached(rotary *r, fe_generic *g, unsigned cache,
                        MlirValue pair) {
  fe_lower *l = r->l;
  fe_ir *ir = l->ir;
  MlirValue b = fe_iter(g, 0), s = fe_iter(g, r->flat ? 1 : 2);
  if (fe_rank(l->in[cache]) == 3)
    return fe_at(g, l->in[cache], l->in_type[cache], FE_IDX(b, s, pair));
  MlirValue id =
      fe_to_index(ir, fe_at(g, l->in[POSITIONS], FE_I64, FE_IDX(b, s)));
  id = fe_wrapped_index(ir, id, fe_size(l, l->in[cache], 0));
  return fe_at(g, l->in[cache], l->in_type[cache], FE_IDX(id, pair));
}

static MlirValue rotate(rotary *r, fe_generic *g) {
  fe_ir *ir = r->l->ir;
  fe_dtype t = r->l->in_type[X];
  MlirValue at[4];
  for (unsigned i = 0; i < 4; ++i)
    at[i] = fe_iter(g, i);
  MlirValue d = at[3], one = fe_index(ir, 1), two = fe_index(ir, 2);
  MlirValue pair, partner, is_first;
  if (r->interleaved) {
    MlirValue low = fe_remu(ir, d, two);
    is_first = fe_cmp(ir, FE_EQ, low, fe_index(ir, 0));
    pair = fe_divu(ir, d, two);
    partner = fe_select(ir, is_first, fe_add(ir, d, one), fe_sub(ir, d, one));
  } else {
    is_first = fe_cmp(ir, FE_LT, d, r->half);
    pair = fe_select(ir, is_first, d, fe_sub(ir, d, r->half));
    partner = fe_select(ir, is_first, fe_add(ir, d, r->half), pair);
  }
  // Behind the rotated part everything is read that exists.
  MlirValue inside = fe_cmp(ir, FE_LT, d, r->rotated);
  pair = fe_min(ir, pair, fe_sub(ir, r->half, one));
  MlirValue x = fe_at(g, r->x, t, 4, at);
  at[3] = fe_select(ir, inside, partner, d);
  MlirValue y = fe_at(g, r->x, t, 4, at);
  MlirValue c = cached(r, g, COS, pair), s = cached(r, g, SIN, pair);
  // first: cos * x - sin * y; second: cos * x + sin * y
  s = fe_select(ir, is_first, fe_neg(ir, s), s);
  MlirValue turned = fe_add(ir, fe_mul(ir, c, x), fe_mul(ir, s, y));
  return fe_select(ir, inside, turned, x);
}

static fe_status lower_rotary(fe_lower *l) {
  fe_ir *ir = l->ir;
  rotary r = {.l = l,
              .flat = fe_rank(l->in[X]) == 3,
              .interleaved = fe_attr_i64(l->op, "interleaved", 0) != 0,
              .x = l->in[X]};
  fe_dtype t = l->in_type[X];
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
  fe_generic *g = fe_generic_begin(l, 4, r.sizes, 0, NULL, NULL, NULL);
  MlirValue y = fe_generic_end(g, t, rotate(&r, g));
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
