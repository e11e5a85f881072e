//===- attention.c - softmax(scale * Q K^T + mask) V
//-----------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: an item is one head and a block of query rows. Keys are taken in
// blocks that stay in L2: a block of K is copied into transposed panels, then
// for every tile of a few query rows the scores are computed into a small
// buffer, turned into exponentials there, and multiplied with V. Q, K, V and
// the result are read and written through their strides, so the transposes
// between heads and sequence cost nothing.
//
// Where there is more than one block of keys, each tile keeps its running
// maximum, sum and result in scratch memory and rescales them when the maximum
// grows (Milakov and Gimelshein, Online normalizer calculation for softmax,
// 2018; Dao et al., FlashAttention, 2022). Exponentials are to base 2, with
// log2(e) in the scale.
//
//===----------------------------------------------------------------------===//
#include "kernel/attention.h"

#include <math.h>
#include <string.h>

#define FE_LOG2E 1.4426950408889634
#define FE_LOWEST (-1e38) // a maximum of nothing; its difference stays finite

//===-- Scores --------------------------------------------------------------//

typedef struct tile {
  unsigned height;
  MlirValue row, number; // in the item's block of rows
  MlirValue from, count; // keys [from, count) of the block may be seen
} tile;

static MlirValue row_of(fe_attention *a, const tile *t, unsigned i) {
  fe_ir *ir = a->g.ir;
  return fe_add(ir, a->first_row, fe_add_static(ir, t->row, i));
}

static MlirValue query_of(fe_attention *a, MlirValue row) {
  fe_ir *ir = a->g.ir;
  return a->group == 1 ? row : fe_divu(ir, row, fe_index(ir, a->group));
}

/// Where the row of an operand begins.
static MlirValue place_of(fe_attention *a, const fe_access *x, MlirValue row) {
  fe_ir *ir = a->g.ir;
  MlirValue at = fe_attention_at(ir, x->start, query_of(a, row), x->seq);
  if (a->group == 1)
    return at;
  MlirValue head = fe_remu(ir, row, fe_index(ir, a->group));
  return fe_attention_at(ir, at, head, x->head);
}

/// Keys of the block that the row sees: those below the result.
static MlirValue seen_by(fe_attention *a, MlirValue row) {
  fe_ir *ir = a->g.ir;
  MlirValue end = a->frontier;
  if (a->causal)
    end = fe_add(ir, end, query_of(a, row));
  return fe_sub(ir, end, a->first_key);
}

static MlirValue lanes_below(fe_attention *a, MlirValue active) {
  fe_ir *ir = a->g.ir;
  return fe_first(FE_OP(ir, "vector.create_mask", FE_VALUES(active),
                        FE_TYPES(fe_vector_type(ir, a->lanes, ir->i1))));
}

/// cap * tanh(score / cap)
static MlirValue capped(fe_attention *a, MlirValue score) {
  fe_ir *ir = a->g.ir;
  score = fe_mul(ir, score, fe_float(ir, a->vec, 1 / a->cap));
  return fe_mul(ir, fe_math(ir, "tanh", score), fe_float(ir, a->vec, a->cap));
}

/// The product with row i of the tile, keys from `key` on, scaled, capped and
/// masked; in units of log2. The mask of an operator is added before, where its
/// rounding is that of everybody: it may be all that tells keys apart.
static MlirValue masked(fe_attention *a, const tile *t, unsigned i,
                        MlirValue key, MlirValue active, MlirValue score) {
  fe_ir *ir = a->g.ir;
  MlirValue row = row_of(a, t, i), log2e = fe_float(ir, a->vec, FE_LOG2E);
  bool plain = a->cap <= 0 && !(a->masked && a->cached);
  double scale = plain ? a->scale * FE_LOG2E : a->scale;
  score = fe_mul(ir, score, fe_float(ir, a->vec, scale));
  if (a->cap > 0)
    score = capped(a, score);
  if (a->masked) {
    MlirValue m = a->g.flat[a->mask.arg], v;
    MlirValue number = fe_add(ir, a->first_key, key);
    MlirValue at = place_of(a, &a->mask, row);
    at = fe_attention_at(ir, at, number, a->mask.depth);
    if (fe_is_null(a->mask.depth))
      v = fe_splat(ir, fe_load(ir, m, 1, &at), a->lanes);
    else if (fe_is_null(active))
      v = fe_vload(ir, a->lanes, m, 1, &at);
    else
      v = fe_vload_masked(ir, a->lanes, active, m, 1, &at);
    score = plain ? fe_vfma(&a->g, v, log2e, score) : fe_add(ir, score, v);
  }
  if (!plain)
    score = fe_mul(ir, score, log2e);
  MlirValue low = fe_float(ir, a->vec, -INFINITY);
  if (a->limited) {
    MlirValue seen = fe_sub(ir, seen_by(a, row), key);
    score = fe_select(ir, lanes_below(a, seen), score, low);
    if (a->window) {
      MlirValue hidden = fe_add_static(ir, seen, -a->window);
      score = fe_select(ir, lanes_below(a, hidden), low, score);
    }
  }
  if (!fe_is_null(active))
    score = fe_select(ir, lanes_below(a, active), score, low);
  return score;
}

/// One panel of keys: scores into the buffer, maxima carried in `top`.
static void score_panel(fe_attention *a, const tile *t, MlirValue key,
                        bool full, MlirValue *top) {
  fe_ir *ir = a->g.ir;
  unsigned n = t->height * a->vectors;
  MlirValue acc[FE_ROWS * 4], next[FE_ROWS * 4];
  for (unsigned i = 0; i < n; ++i)
    acc[i] = fe_float(ir, a->vec, 0);
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue from = fe_mul(ir, key, fe_index(ir, a->depth));
  fe_region r = fe_for_begin(ir, zero, fe_index(ir, a->depth), one, n, acc);
  MlirValue b[4];
  for (unsigned j = 0; j < a->vectors; ++j) {
    MlirValue at = fe_add(ir, from, fe_mul(ir, r.iv, fe_index(ir, a->width)));
    at = fe_add_static(ir, at, j * a->lanes);
    b[j] = fe_vload(ir, a->lanes, a->panels, 1, &at);
  }
  for (unsigned i = 0; i < t->height; ++i) {
    MlirValue at = fe_add(ir, place_of(a, &a->q, row_of(a, t, i)), r.iv);
    MlirValue x = fe_load(ir, a->g.flat[a->q.arg], 1, &at);
    x = fe_splat(ir, x, a->lanes);
    for (unsigned j = 0; j < a->vectors; ++j) {
      unsigned p = i * a->vectors + j;
      next[p] = fe_vfma(&a->g, x, b[j], fe_block_arg(r.body, 1 + p));
    }
  }
  fe_for_end(ir, &r, n, next);
  for (unsigned i = 0; i < t->height; ++i)
    for (unsigned j = 0; j < a->vectors; ++j) {
      MlirValue s = fe_result(r.op, i * a->vectors + j), active = {0};
      MlirValue column = fe_add_static(ir, key, j * a->lanes);
      if (!full)
        active = fe_sub(ir, a->count, column);
      s = masked(a, t, i, column, active, s);
      top[i] = fe_vmax(ir, s, top[i]);
      MlirValue at = fe_add_static(ir, column, i * a->row);
      fe_vstore(ir, s, a->scores, 1, &at);
    }
}

/// All scores of the tile; gives the maxima as scalars.
static void score(fe_attention *a, const tile *t, MlirValue *top) {
  fe_ir *ir = a->g.ir;
  unsigned h = t->height;
  MlirType types[FE_ROWS];
  MlirValue carried[FE_ROWS];
  for (unsigned i = 0; i < h; ++i) {
    types[i] = a->vec;
    top[i] = fe_float(ir, a->vec, FE_LOWEST);
  }
  MlirValue width = fe_index(ir, a->width);
  MlirValue full = fe_mul(ir, fe_divu(ir, a->count, width), width);
  full = fe_min(ir, full, fe_mul(ir, fe_ceildiv(ir, t->count, width), width));
  fe_region r = fe_for_begin(ir, t->from, full, width, h, top);
  for (unsigned i = 0; i < h; ++i)
    carried[i] = fe_block_arg(r.body, 1 + i);
  score_panel(a, t, r.iv, true, carried);
  fe_for_end(ir, &r, h, carried);
  for (unsigned i = 0; i < h; ++i)
    top[i] = fe_result(r.op, i);
  if (a->ragged) {
    MlirValue some = fe_cmp(ir, FE_LT, full, t->count);
    fe_region rest = fe_if_begin(ir, some, h, types, true);
    memcpy(carried, top, h * sizeof *top);
    score_panel(a, t, full, false, carried);
    fe_if_else(ir, &rest, h, carried);
    fe_if_end(ir, &rest, h, top);
    for (unsigned i = 0; i < h; ++i)
      top[i] = fe_result(rest.op, i);
  }
  for (unsigned i = 0; i < h; ++i)
    top[i] = fe_vmax_lanes(ir, top[i]);
}

//===-- Exponentials --------------------------------------------------------//

/// Row `row` of the scores becomes exponentials; gives their sum.
static MlirValue exponentials(fe_attention *a, const tile *t, MlirValue row) {
  fe_ir *ir = a->g.ir;
  MlirValue top = fe_splat(ir, fe_load(ir, a->top, 1, &row), a->lanes);
  // An i32 of 0 that LLVM does not know: no item has so large a number.
  MlirValue far = fe_shru(ir, fe_add(ir, row, a->g.end), fe_index(ir, 62));
  a->zero = fe_convert(ir, far, ir->i32, false, false);
  MlirValue start = fe_mul(ir, row, fe_index(ir, a->row));
  MlirValue acc[4], next[4], done = t->from;
  for (unsigned u = 0; u < 4; ++u)
    acc[u] = fe_float(ir, a->vec, 0);
  MlirValue lanes = fe_index(ir, a->lanes);
  MlirValue end = fe_mul(ir, fe_ceildiv(ir, t->count, lanes), lanes);
  for (unsigned unroll = 4; unroll; unroll = unroll > 1 ? 1 : 0) {
    MlirValue step = fe_index(ir, unroll * a->lanes);
    MlirValue left = fe_sub(ir, end, done);
    MlirValue to = fe_sub(ir, end, fe_remu(ir, left, step));
    fe_region r = fe_for_begin(ir, done, to, step, unroll, acc);
    for (unsigned u = 0; u < unroll; ++u) {
      MlirValue at = fe_add(ir, start, r.iv);
      at = fe_add_static(ir, at, u * a->lanes);
      MlirValue x = fe_vload(ir, a->lanes, a->scores, 1, &at);
      x = fe_vexp2_in(&a->g, fe_sub(ir, x, top), a->zero);
      fe_vstore(ir, x, a->scores, 1, &at);
      next[u] = fe_add(ir, fe_block_arg(r.body, 1 + u), x);
    }
    fe_for_end(ir, &r, unroll, next);
    for (unsigned u = 0; u < unroll; ++u)
      acc[u] = fe_result(r.op, u);
    for (unsigned n = unroll / 2; n; n /= 2)
      for (unsigned u = 0; u < n; ++u)
        acc[u] = fe_add(ir, acc[u], acc[u + n]);
    done = to;
  }
  return fe_vreduce(ir, "add", acc[0]);
}

static MlirValue state_at(fe_attention *a, const tile *t, MlirValue row) {
  fe_ir *ir = a->g.ir;
  return fe_add(ir, fe_mul(ir, t->number, fe_index(ir, FE_ROWS)), row);
}

/// 2^x of a scalar.
static MlirValue power(fe_attention *a, MlirValue x) {
  fe_ir *ir = a->g.ir;
  MlirValue v = fe_vexp2(&a->g, fe_splat(ir, x, a->lanes));
  return fe_first(
      FE_OP(ir, "vector.extract", FE_VALUES(v), FE_TYPES(ir->f32),
            FE_ATTRS(fe_at_i64s(ir, "static_position", 1, (int64_t[]){0}))));
}

/// What a row's maximum is before any key.
static MlirValue maximum_before(fe_attention *a, MlirValue row) {
  fe_ir *ir = a->g.ir;
  if (!a->has_sink)
    return fe_float(ir, ir->f32, FE_LOWEST);
  MlirValue head = a->head;
  if (a->group > 1)
    head = fe_add(ir, head, fe_remu(ir, row, fe_index(ir, a->group)));
  MlirValue sink = fe_load(ir, a->g.flat[a->sinks], 1, &head);
  return fe_mul(ir, sink, fe_float(ir, ir->f32, FE_LOG2E));
}

/// Maxima and factors of all rows, then the exponentials row by row.
static void normalize(fe_attention *a, const tile *t, const MlirValue *top) {
  fe_ir *ir = a->g.ir;
  MlirValue one = fe_float(ir, ir->f32, 1), none = fe_float(ir, ir->f32, 0);
  bool grows = !a->one_block || a->has_sink;
  for (unsigned i = 0; i < t->height; ++i) {
    MlirValue row = fe_index(ir, i), now = top[i];
    if (grows) {
      MlirValue at = state_at(a, t, row);
      MlirValue before = maximum_before(a, row_of(a, t, i));
      if (!a->one_block)
        before =
            fe_select(ir, a->is_first, before, fe_load(ir, a->maxima, 1, &at));
      now = fe_select(ir, fe_cmp(ir, FE_GT, now, before), now, before);
      if (!a->one_block)
        fe_store(ir, now, a->maxima, 1, &at);
      fe_store(ir, power(a, fe_sub(ir, before, now)), a->shrink, 1, &row);
    }
    fe_store(ir, now, a->top, 1, &row);
  }
  fe_region r = fe_loop(ir, fe_index(ir, t->height));
  MlirValue sum = exponentials(a, t, r.iv);
  if (grows) {
    MlirValue at = state_at(a, t, r.iv), old = a->has_sink ? one : none;
    if (!a->one_block)
      old = fe_select(ir, a->is_first, old, fe_load(ir, a->sums, 1, &at));
    sum = fe_add(ir, sum, fe_mul(ir, old, fe_load(ir, a->shrink, 1, &r.iv)));
    if (!a->one_block)
      fe_store(ir, sum, a->sums, 1, &at);
  }
  // A row that sees nothing is zero; scores that all are -inf, NaN.
  MlirValue inverse = fe_div(ir, one, sum);
  if (a->cached)
    inverse = fe_select(ir, fe_cmp(ir, FE_EQ, sum, none), none, inverse);
  else if (a->n_keys == FE_DYN)
    inverse = fe_select(ir, fe_cmp(ir, FE_EQ, a->keys, fe_index(ir, 0)), none,
                        inverse);
  fe_store(ir, inverse, a->inverse, 1, &r.iv);
  fe_loop_end(ir, &r);
}

//===-- Values --------------------------------------------------------------//

/// A panel of the result's columns: its first, vectors, valid columns of the
/// last vector when not all are.
typedef struct columns {
  int64_t first;
  unsigned vectors;
  MlirValue active;
} columns;

static MlirValue active_in(const columns *c, unsigned j) {
  return j + 1 == c->vectors ? c->active : (MlirValue){0};
}

static MlirValue result_at(fe_attention *a, const tile *t, const columns *c,
                           unsigned i, unsigned j) {
  fe_ir *ir = a->g.ir;
  MlirValue at = state_at(a, t, fe_index(ir, i));
  at = fe_mul(ir, at, fe_index(ir, a->row_v));
  return fe_add_static(ir, at, c->first + j * a->lanes);
}

/// Zeros, or the result so far, scaled to the new maximum.
static void start_values(fe_attention *a, const tile *t, const columns *c,
                         MlirValue *acc) {
  fe_ir *ir = a->g.ir;
  unsigned n = t->height * c->vectors;
  MlirType types[FE_ROWS * 4];
  for (unsigned i = 0; i < n; ++i) {
    types[i] = a->vec;
    acc[i] = fe_float(ir, a->vec, 0);
  }
  if (a->one_block)
    return;
  fe_region r = fe_if_begin(ir, a->is_first, n, types, true);
  fe_if_else(ir, &r, n, acc);
  for (unsigned i = 0; i < t->height; ++i) {
    MlirValue row = fe_index(ir, i);
    MlirValue f = fe_splat(ir, fe_load(ir, a->shrink, 1, &row), a->lanes);
    for (unsigned j = 0; j < c->vectors; ++j) {
      MlirValue at = result_at(a, t, c, i, j);
      MlirValue v = fe_vload(ir, a->lanes, a->results, 1, &at);
      acc[i * c->vectors + j] = fe_mul(ir, v, f);
    }
  }
  fe_if_end(ir, &r, n, acc);
  for (unsigned i = 0; i < n; ++i)
    acc[i] = fe_result(r.op, i);
}

static void write_result(fe_attention *a, const tile *t, const columns *c,
                         const MlirValue *acc) {
  fe_ir *ir = a->g.ir;
  for (unsigned i = 0; i < t->height; ++i) {
    MlirValue row = fe_index(ir, i);
    MlirValue f = fe_splat(ir, fe_load(ir, a->inverse, 1, &row), a->lanes);
    MlirValue to = place_of(a, &a->out, row_of(a, t, i));
    for (unsigned j = 0; j < c->vectors; ++j) {
      MlirValue at = fe_add_static(ir, to, c->first + j * a->lanes);
      MlirValue v = fe_mul(ir, acc[i * c->vectors + j], f);
      MlirValue active = active_in(c, j);
      if (fe_is_null(active))
        fe_vstore(ir, v, a->g.flat[a->out.arg], 1, &at);
      else
        fe_vstore_masked(ir, v, active, a->g.flat[a->out.arg], 1, &at);
    }
  }
}

static void weigh_panel(fe_attention *a, const tile *t, const columns *c) {
  fe_ir *ir = a->g.ir;
  unsigned n = t->height * c->vectors;
  MlirValue acc[FE_ROWS * 4], next[FE_ROWS * 4], b[4];
  start_values(a, t, c, acc);
  fe_region r = fe_for_begin(ir, t->from, t->count, fe_index(ir, 1), n, acc);
  MlirValue key = fe_add(ir, a->first_key, r.iv), m = a->g.flat[a->v.arg];
  MlirValue from = a->pack_v ? fe_mul(ir, r.iv, fe_index(ir, a->row_v))
                             : fe_attention_at(ir, a->v.start, key, a->v.seq);
  for (unsigned j = 0; j < c->vectors; ++j) {
    MlirValue at = fe_add_static(ir, from, c->first + j * a->lanes);
    MlirValue active = active_in(c, j);
    b[j] = a->pack_v ? fe_vload(ir, a->lanes, a->values, 1, &at)
           : fe_is_null(active)
               ? fe_vload(ir, a->lanes, m, 1, &at)
               : fe_vload_masked(ir, a->lanes, active, m, 1, &at);
    if (!a->pack_v && !mlirTypeEqual(fe_elem_of(m), ir->f32))
      b[j] = fe_convert(ir, b[j], a->vec, false, false);
  }
  for (unsigned i = 0; i < t->height; ++i) {
    MlirValue at = fe_add_static(ir, r.iv, i * a->row);
    MlirValue x = fe_splat(ir, fe_load(ir, a->scores, 1, &at), a->lanes);
    for (unsigned j = 0; j < c->vectors; ++j) {
      unsigned p = i * c->vectors + j;
      next[p] = fe_vfma(&a->g, x, b[j], fe_block_arg(r.body, 1 + p));
    }
  }
  fe_for_end(ir, &r, n, next);
  for (unsigned i = 0; i < n; ++i)
    acc[i] = fe_result(r.op, i);
  if (a->one_block) {
    write_result(a, t, c, acc);
    return;
  }
  fe_region last = fe_if_begin(ir, a->is_last, 0, NULL, true);
  write_result(a, t, c, acc);
  fe_if_else(ir, &last, 0, NULL);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue at = result_at(a, t, c, i / c->vectors, i % c->vectors);
    fe_vstore(ir, acc[i], a->results, 1, &at);
  }
  fe_if_end(ir, &last, 0, NULL);
}

static void one_tile(void *user, unsigned height, MlirValue row,
                     MlirValue number) {
  fe_attention *a = user;
  fe_ir *ir = a->g.ir;
  MlirValue zero = fe_index(ir, 0);
  tile t = {height, row, number, zero, a->count};
  if (a->limited) // what the last row sees
    t.count = fe_min(ir, a->count,
                     fe_max(ir, seen_by(a, row_of(a, &t, height - 1)), zero));
  if (a->window) { // from the panel on in which the first row sees something
    MlirValue hidden =
        fe_add_static(ir, seen_by(a, row_of(a, &t, 0)), -a->window);
    hidden = fe_min(ir, fe_max(ir, hidden, zero), t.count);
    t.from = fe_sub(ir, hidden, fe_remu(ir, hidden, fe_index(ir, a->width)));
  }
  MlirValue top[FE_ROWS];
  score(a, &t, top);
  normalize(a, &t, top);
  for (int64_t d = 0; d < a->depth_v; d += a->width) {
    int64_t left = a->depth_v - d, n = (left + a->lanes - 1) / a->lanes;
    columns c = {d, n < a->vectors ? (unsigned)n : a->vectors, {0}};
    if (n <= a->vectors && left % a->lanes)
      c.active = fe_index(ir, left % a->lanes);
    weigh_panel(a, &t, &c);
  }
}

//===-- Items ---------------------------------------------------------------//

static MlirValue head_start(fe_attention *a, const fe_access *x,
                            MlirValue batch, MlirValue head) {
  fe_ir *ir = a->g.ir;
  MlirValue at = fe_attention_at(ir, x->start, batch, x->batch);
  return fe_attention_at(ir, at, head, x->head);
}

/// How many keys the item's first query sees.
static MlirValue frontier_of(fe_attention *a, MlirValue batch) {
  fe_ir *ir = a->g.ir;
  if (!a->cached) // the last query sees all
    return fe_add_static(ir, fe_sub(ir, a->keys, a->queries), 1);
  MlirValue n = fe_load(ir, a->g.flat[a->frontiers], 1, &batch);
  const MlirValue most = fe_index(ir, INT32_MAX / 2);
  n = fe_max(ir, fe_to_index(ir, n), fe_neg(ir, most));
  return fe_min(ir, n, most);
}

/// Blocks of keys [from, to) that some of `rows` rows see; one at least, so
/// that there are results.
static void range_of(fe_attention *a, MlirValue rows, MlirValue *from,
                     MlirValue *to) {
  fe_ir *ir = a->g.ir;
  MlirValue zero = fe_index(ir, 0);
  *from = zero;
  *to = a->keys;
  if (a->limited) {
    MlirValue last = fe_add_static(ir, fe_add(ir, a->first_row, rows), -1);
    a->first_key = zero;
    *to = fe_max(ir, zero, fe_min(ir, *to, seen_by(a, last)));
  }
  if (a->window) {
    MlirValue hidden = fe_add_static(ir, seen_by(a, a->first_row), -a->window);
    *from = fe_max(ir, zero, fe_min(ir, hidden, *to));
  }
}

static void one_item(fe_attention *outer, MlirValue item) {
  fe_attention copy = *outer, *a = &copy;
  fe_ir *ir = a->g.ir;
  MlirValue size = fe_index(ir, a->query_block), zero = fe_index(ir, 0);
  MlirValue group = fe_index(ir, a->group);
  MlirValue all = fe_mul(ir, a->queries, group);
  MlirValue blocks = fe_ceildiv(ir, all, size);
  MlirValue block = fe_remu(ir, item, blocks);
  MlirValue rest = fe_divu(ir, item, blocks);
  MlirValue groups = fe_divu(ir, a->heads, group);
  MlirValue number = fe_remu(ir, rest, groups);
  MlirValue batch = fe_divu(ir, rest, groups);
  MlirValue head = a->head = fe_mul(ir, number, group), head_kv = number;
  if (a->group == 1)
    head_kv = fe_divu(ir, head, fe_divu(ir, a->heads, a->heads_kv));
  a->q.start = head_start(a, &a->q, batch, head);
  a->k.start = head_start(a, &a->k, batch, head_kv);
  a->v.start = head_start(a, &a->v, batch, head_kv);
  a->out.start = head_start(a, &a->out, batch, head);
  if (a->masked)
    a->mask.start = head_start(a, &a->mask, batch, head);
  a->first_row = fe_mul(ir, block, size);
  MlirValue rows = fe_min(ir, size, fe_sub(ir, all, a->first_row));
  int64_t fixed = FE_DYN;
  if (a->n_rows != FE_DYN && a->n_rows % a->query_block == 0)
    fixed = a->query_block;
  if (a->limited)
    a->frontier = frontier_of(a, batch);
  a->first_key = zero;
  a->count = a->keys;
  fe_region r = {0};
  if (!a->one_block) {
    MlirValue step = fe_index(ir, a->block), from, to;
    range_of(a, rows, &from, &to);
    MlirValue least = fe_add_static(ir, from, 1);
    r = fe_for_begin(ir, from, fe_max(ir, to, least), step, 0, NULL);
    MlirValue left = fe_sub(ir, to, r.iv);
    a->first_key = r.iv;
    a->count = fe_min(ir, left, step);
    a->is_first = fe_cmp(ir, FE_EQ, r.iv, from);
    a->is_last = fe_cmp(ir, FE_LE, left, step);
  }
  fe_attention_pack_keys(a);
  if (a->pack_v)
    fe_attention_pack_values(a);
  fe_tiles(ir, a->tallest, fixed, rows, one_tile, a);
  if (!a->one_block)
    fe_for_end(ir, &r, 0, NULL);
}

//===-- The kernel ----------------------------------------------------------//

static MlirValue scratch(fe_attention *a, int64_t n) {
  return fe_alloca(a->g.ir, fe_memref_type(a->g.ir, a->g.ir->f32, 1, &n));
}

fe_status fe_generate_attention(fe_ir *ir, const fe_target *target,
                                MlirModule module, MlirOperation func) {
  fe_attention a = {0};
  MlirAffineExpr items, cost;
  if (fe_gen_begin(&a.g, ir, target, module, func) ||
      fe_attention_read(&a, &items, &cost))
    return FE_FAILED;
  a.lanes = fe_gen_lanes(&a.g, ir->f32);
  a.vectors = target->vector_registers >= 32 ? 4 : 2;
  a.width = (int64_t)a.lanes * a.vectors;
  a.vec = fe_vector_type(ir, a.lanes, ir->f32);
  int64_t larger = a.depth > a.depth_v ? a.depth : a.depth_v;
  int64_t most = FE_SCRATCH / larger / a.width * a.width;
  most = most < a.width ? a.width : most;
  int64_t whole = a.n_keys == FE_DYN
                      ? FE_DYN
                      : (a.n_keys + a.width - 1) / a.width * a.width;
  a.one_block = whole != FE_DYN && whole <= most;
  a.block = a.one_block ? whole : most < FE_KEYS ? most : FE_KEYS;
  a.ragged =
      a.n_keys == FE_DYN || a.n_keys % a.width || (!a.one_block && a.limited);
  // Of few heads that share K and V, one query is a whole tile.
  a.tallest = a.n_rows == FE_DYN && a.group % 2 == 0 ? 4 : FE_ROWS;
  a.row = a.block + a.lanes;
  a.row_v = (a.depth_v + a.lanes - 1) / a.lanes * a.lanes;
  if (a.pack_v)
    a.values = scratch(&a, a.block * a.row_v);
  a.panels = scratch(&a, a.block * a.depth);
  a.scores = scratch(&a, FE_ROWS * a.row);
  a.top = scratch(&a, FE_ROWS);
  a.shrink = scratch(&a, FE_ROWS);
  a.inverse = scratch(&a, FE_ROWS);
  if (!a.one_block) {
    int64_t rows = FE_ROWS * fe_tiles_most(a.tallest, a.query_block);
    a.results = scratch(&a, rows * a.row_v);
    a.maxima = scratch(&a, rows);
    a.sums = scratch(&a, rows);
  }
  fe_gen_explain(&a.g, "online softmax",
                 fe_printf(ir->arena,
                           "tiles of %u queries and %lld keys, keys in "
                           "blocks of %lld, queries of %lld",
                           a.tallest, (long long)a.width, (long long)a.block,
                           (long long)a.query_block));
  fe_gen_tile(&a.g, (fe_cost_tile){.rows = a.tallest,
                                   .vectors = a.vectors,
                                   .steps = a.depth,
                                   .extra = a.tallest * a.vectors * 8});
  MlirValue one = fe_index(ir, 1);
  fe_region r = fe_for_begin(ir, a.g.begin, a.g.end, one, 0, NULL);
  one_item(&a, r.iv);
  fe_for_end(ir, &r, 0, NULL);
  fe_gen_end(&a.g, items, cost);
  return FE_OK;
}
