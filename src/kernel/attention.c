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
#include "kernel/cost.h"

#include <math.h>
#include <string.h>

#define FE_LOG2E 1.4426950408889634
#define FE_KEYS 512       // in a block, when their number is unknown
#define FE_SCRATCH 65536  // elements of K in a block, at most
#define FE_QUERIES 256    // rows of Q in an item
#define FE_ROWS 6         // of a tile
#define FE_LOWEST (-1e38) // a maximum of nothing; its difference stays finite

/// One of Q, K, V, mask, result: number of the argument, distances per dim.
typedef struct access {
  unsigned arg;
  MlirValue batch, seq, head, depth; // null: broadcast
  MlirValue start;                   // of the item's head
} access;

typedef struct attention {
  fe_gen g;
  access q, k, v, mask, out;
  bool masked, causal;
  double scale;
  unsigned lanes, vectors;
  int64_t width; // of a tile: vectors * lanes
  MlirType vec;
  int64_t depth, depth_v;    // sizes of a head
  int64_t n_queries, n_keys; // FE_DYN when unknown
  MlirValue batches, heads, heads_kv, queries, keys;
  int64_t block, query_block; // keys, queries
  int64_t row;                // distance of rows of scores: not a power of two
  bool one_block;
  MlirValue panels; // K [block / width][depth][width], flat
  MlirValue scores; // [FE_ROWS][row], flat
  bool pack_v;
  int64_t row_v;         // distance of rows of the copy and of `results`
  MlirValue values;      // copy of a block of V [block][row_v], flat
  MlirValue top, shrink; // [FE_ROWS]: maximum now, factor for what was before
  MlirValue inverse;     // [FE_ROWS]: 1 / sum
  MlirValue results, maxima, sums; // of tiles, between blocks of keys
  // of the current item and block of keys
  MlirValue first_query, first_key, count; // count: keys in the block
  MlirValue is_first, is_last;             // null with one block
} attention;

static MlirValue offset(fe_ir *ir, MlirValue at, MlirValue index,
                        MlirValue distance) {
  return fe_is_null(distance) ? at
                              : fe_add(ir, at, fe_mul(ir, index, distance));
}

//===-- Packing K -----------------------------------------------------------//

/// lanes keys from `key` of the block on, lanes elements from `d` on. `last`:
/// stands in for keys behind it, whose scores nobody uses (null: there are
/// enough). Masked loads of what is not there would be very slow where no
/// memory is.
static void pack_square(attention *a, MlirValue key, int64_t d,
                        MlirValue last) {
  fe_ir *ir = a->g.ir;
  unsigned n = a->lanes;
  int64_t wanted = a->depth - d < n ? a->depth - d : n;
  MlirValue rows[64], m = a->g.flat[a->k.arg];
  for (unsigned i = 0; i < n; ++i) {
    MlirValue number = fe_add_static(ir, key, i);
    if (!fe_is_null(last))
      number = fe_min(ir, number, last);
    number = fe_add(ir, a->first_key, number);
    MlirValue at = offset(ir, a->k.start, number, a->k.seq);
    at = fe_add_static(ir, at, d);
    rows[i] = wanted == n
                  ? fe_vload(ir, n, m, 1, &at)
                  : fe_vload_masked(ir, n, fe_index(ir, wanted), m, 1, &at);
  }
  fe_vtranspose(ir, n, rows);
  MlirValue width = fe_index(ir, a->width);
  MlirValue panel = fe_divu(ir, key, width), column = fe_remu(ir, key, width);
  MlirValue to =
      fe_add(ir, fe_mul(ir, panel, fe_index(ir, a->depth * a->width)), column);
  for (int64_t i = 0; i < wanted; ++i) {
    MlirValue at = fe_add_static(ir, to, (d + i) * a->width);
    fe_vstore(ir, rows[i], a->panels, 1, &at);
  }
}

/// The block of K, filled up to whole panels.
static void pack_keys(attention *a) {
  fe_ir *ir = a->g.ir;
  MlirValue n = fe_index(ir, a->lanes), zero = fe_index(ir, 0);
  MlirValue full = fe_mul(ir, fe_divu(ir, a->count, n), n);
  fe_region r = fe_for_begin(ir, zero, full, n, 0, NULL);
  for (int64_t d = 0; d < a->depth; d += a->lanes)
    pack_square(a, r.iv, d, (MlirValue){0});
  fe_for_end(ir, &r, 0, NULL);
  if (a->n_keys != FE_DYN && a->n_keys % a->width == 0)
    return;
  MlirValue width = fe_index(ir, a->width);
  MlirValue end = fe_mul(ir, fe_ceildiv(ir, a->count, width), width);
  r = fe_for_begin(ir, full, end, n, 0, NULL);
  for (int64_t d = 0; d < a->depth; d += a->lanes)
    pack_square(a, r.iv, d, fe_add_static(ir, a->count, -1));
  fe_for_end(ir, &r, 0, NULL);
}

/// V rows that lie apart, those of all heads side by side, fall into few sets
/// of the caches: they are copied together.
static void pack_values(attention *a) {
  fe_ir *ir = a->g.ir;
  fe_region r = fe_loop(ir, a->count);
  MlirValue key = fe_add(ir, a->first_key, r.iv);
  MlirValue from = offset(ir, a->v.start, key, a->v.seq);
  MlirValue to = fe_mul(ir, r.iv, fe_index(ir, a->row_v));
  for (int64_t d = 0; d < a->depth_v; d += a->lanes) {
    MlirValue at = fe_add_static(ir, from, d), m = a->g.flat[a->v.arg];
    int64_t left = a->depth_v - d;
    MlirValue v =
        left >= a->lanes
            ? fe_vload(ir, a->lanes, m, 1, &at)
            : fe_vload_masked(ir, a->lanes, fe_index(ir, left), m, 1, &at);
    at = fe_add_static(ir, to, d);
    fe_vstore(ir, v, a->values, 1, &at);
  }
  fe_loop_end(ir, &r);
}

//===-- Scores --------------------------------------------------------------//

typedef struct tile {
  unsigned height;
  MlirValue row, number; // in the item's block of queries
  MlirValue count;       // keys that its rows may see
} tile;

static MlirValue lanes_below(attention *a, MlirValue active) {
  fe_ir *ir = a->g.ir;
  return fe_first(FE_OP(ir, "vector.create_mask", FE_VALUES(active),
                        FE_TYPES(fe_vector_type(ir, a->lanes, ir->i1))));
}

/// Mask of row i of the tile, keys from `key` on; in units of log2.
static MlirValue masked(attention *a, const tile *t, unsigned i, MlirValue key,
                        MlirValue active, MlirValue score) {
  fe_ir *ir = a->g.ir;
  MlirValue query = fe_add(ir, a->first_query, fe_add_static(ir, t->row, i));
  if (a->masked) {
    MlirValue m = a->g.flat[a->mask.arg], v;
    MlirValue number = fe_add(ir, a->first_key, key);
    MlirValue at = offset(ir, a->mask.start, query, a->mask.seq);
    at = offset(ir, at, number, a->mask.depth);
    if (fe_is_null(a->mask.depth))
      v = fe_splat(ir, fe_load(ir, m, 1, &at), a->lanes);
    else if (fe_is_null(active))
      v = fe_vload(ir, a->lanes, m, 1, &at);
    else
      v = fe_vload_masked(ir, a->lanes, active, m, 1, &at);
    score = fe_vfma(&a->g, v, fe_float(ir, a->vec, FE_LOG2E), score);
  }
  MlirValue low = fe_float(ir, a->vec, -INFINITY);
  if (a->causal) { // keys up to the query's own, counted from the ends
    MlirValue seen = fe_add(ir, query, fe_sub(ir, a->keys, a->queries));
    seen = fe_sub(ir, fe_add_static(ir, seen, 1), a->first_key);
    seen = fe_sub(ir, seen, key);
    score = fe_select(ir, lanes_below(a, seen), score, low);
  }
  if (!fe_is_null(active))
    score = fe_select(ir, lanes_below(a, active), score, low);
  return score;
}

/// One panel of keys: scores into the buffer, maxima carried in `top`.
static void score_panel(attention *a, const tile *t, MlirValue key, bool full,
                        MlirValue *top) {
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
    MlirValue query = fe_add(ir, a->first_query, fe_add_static(ir, t->row, i));
    MlirValue at = fe_add(ir, offset(ir, a->q.start, query, a->q.seq), r.iv);
    MlirValue x = fe_load(ir, a->g.flat[a->q.arg], 1, &at);
    x = fe_splat(ir, x, a->lanes);
    for (unsigned j = 0; j < a->vectors; ++j) {
      unsigned p = i * a->vectors + j;
      next[p] = fe_vfma(&a->g, x, b[j], fe_block_arg(r.body, 1 + p));
    }
  }
  fe_for_end(ir, &r, n, next);
  MlirValue scale = fe_float(ir, a->vec, a->scale * FE_LOG2E);
  for (unsigned i = 0; i < t->height; ++i)
    for (unsigned j = 0; j < a->vectors; ++j) {
      MlirValue s = fe_result(r.op, i * a->vectors + j), active = {0};
      MlirValue column = fe_add_static(ir, key, j * a->lanes);
      if (!full)
        active = fe_sub(ir, a->count, column);
      s = masked(a, t, i, column, active, fe_mul(ir, s, scale));
      top[i] = fe_vmax(ir, s, top[i]);
      MlirValue at = fe_add_static(ir, column, i * a->row);
      fe_vstore(ir, s, a->scores, 1, &at);
    }
}

/// All scores of the tile; gives the maxima as scalars.
static void score(attention *a, const tile *t, MlirValue *top) {
  fe_ir *ir = a->g.ir;
  unsigned h = t->height;
  MlirType types[FE_ROWS];
  MlirValue carried[FE_ROWS];
  for (unsigned i = 0; i < h; ++i) {
    types[i] = a->vec;
    top[i] = fe_float(ir, a->vec, FE_LOWEST);
  }
  MlirValue width = fe_index(ir, a->width), zero = fe_index(ir, 0);
  MlirValue full = fe_mul(ir, fe_divu(ir, a->count, width), width);
  full = fe_min(ir, full, fe_mul(ir, fe_ceildiv(ir, t->count, width), width));
  fe_region r = fe_for_begin(ir, zero, full, width, h, top);
  for (unsigned i = 0; i < h; ++i)
    carried[i] = fe_block_arg(r.body, 1 + i);
  score_panel(a, t, r.iv, true, carried);
  fe_for_end(ir, &r, h, carried);
  for (unsigned i = 0; i < h; ++i)
    top[i] = fe_result(r.op, i);
  if (a->n_keys == FE_DYN || a->n_keys % a->width) {
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
static MlirValue exponentials(attention *a, const tile *t, MlirValue row) {
  fe_ir *ir = a->g.ir;
  MlirValue top = fe_splat(ir, fe_load(ir, a->top, 1, &row), a->lanes);
  MlirValue start = fe_mul(ir, row, fe_index(ir, a->row));
  MlirValue acc[4], next[4], done = fe_index(ir, 0);
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
      x = fe_vexp2(&a->g, fe_sub(ir, x, top));
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

static MlirValue state_at(attention *a, const tile *t, MlirValue row) {
  fe_ir *ir = a->g.ir;
  return fe_add(ir, fe_mul(ir, t->number, fe_index(ir, FE_ROWS)), row);
}

/// 2^x of a scalar.
static MlirValue power(attention *a, MlirValue x) {
  fe_ir *ir = a->g.ir;
  MlirValue v = fe_vexp2(&a->g, fe_splat(ir, x, a->lanes));
  return fe_first(
      FE_OP(ir, "vector.extract", FE_VALUES(v), FE_TYPES(ir->f32),
            FE_ATTRS(fe_at_i64s(ir, "static_position", 1, (int64_t[]){0}))));
}

/// Maxima and factors of all rows, then the exponentials row by row.
static void normalize(attention *a, const tile *t, const MlirValue *top) {
  fe_ir *ir = a->g.ir;
  MlirValue one = fe_float(ir, ir->f32, 1);
  for (unsigned i = 0; i < t->height; ++i) {
    MlirValue row = fe_index(ir, i), now = top[i];
    if (!a->one_block) {
      MlirValue at = state_at(a, t, row);
      MlirValue before = fe_load(ir, a->maxima, 1, &at);
      before =
          fe_select(ir, a->is_first, fe_float(ir, ir->f32, FE_LOWEST), before);
      now = fe_select(ir, fe_cmp(ir, FE_GT, now, before), now, before);
      fe_store(ir, now, a->maxima, 1, &at);
      fe_store(ir, power(a, fe_sub(ir, before, now)), a->shrink, 1, &row);
    }
    fe_store(ir, now, a->top, 1, &row);
  }
  fe_region r = fe_loop(ir, fe_index(ir, t->height));
  MlirValue sum = exponentials(a, t, r.iv);
  if (!a->one_block) {
    MlirValue at = state_at(a, t, r.iv);
    MlirValue old = fe_mul(ir, fe_load(ir, a->sums, 1, &at),
                           fe_load(ir, a->shrink, 1, &r.iv));
    old = fe_select(ir, a->is_first, fe_float(ir, ir->f32, 0), old);
    sum = fe_add(ir, sum, old);
    fe_store(ir, sum, a->sums, 1, &at);
  }
  fe_store(ir, fe_div(ir, one, sum), a->inverse, 1, &r.iv);
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

static MlirValue result_at(attention *a, const tile *t, const columns *c,
                           unsigned i, unsigned j) {
  fe_ir *ir = a->g.ir;
  MlirValue at = state_at(a, t, fe_index(ir, i));
  at = fe_mul(ir, at, fe_index(ir, a->row_v));
  return fe_add_static(ir, at, c->first + j * a->lanes);
}

/// Zeros, or the result so far, scaled to the new maximum.
static void start_values(attention *a, const tile *t, const columns *c,
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

static void write_result(attention *a, const tile *t, const columns *c,
                         const MlirValue *acc) {
  fe_ir *ir = a->g.ir;
  for (unsigned i = 0; i < t->height; ++i) {
    MlirValue row = fe_index(ir, i);
    MlirValue f = fe_splat(ir, fe_load(ir, a->inverse, 1, &row), a->lanes);
    MlirValue query = fe_add(ir, a->first_query, fe_add_static(ir, t->row, i));
    MlirValue to = offset(ir, a->out.start, query, a->out.seq);
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

static void weigh_panel(attention *a, const tile *t, const columns *c) {
  fe_ir *ir = a->g.ir;
  unsigned n = t->height * c->vectors;
  MlirValue acc[FE_ROWS * 4], next[FE_ROWS * 4], b[4];
  start_values(a, t, c, acc);
  fe_region r =
      fe_for_begin(ir, fe_index(ir, 0), t->count, fe_index(ir, 1), n, acc);
  MlirValue key = fe_add(ir, a->first_key, r.iv), m = a->g.flat[a->v.arg];
  MlirValue from = a->pack_v ? fe_mul(ir, r.iv, fe_index(ir, a->row_v))
                             : offset(ir, a->v.start, key, a->v.seq);
  for (unsigned j = 0; j < c->vectors; ++j) {
    MlirValue at = fe_add_static(ir, from, c->first + j * a->lanes);
    MlirValue active = active_in(c, j);
    b[j] = a->pack_v ? fe_vload(ir, a->lanes, a->values, 1, &at)
           : fe_is_null(active)
               ? fe_vload(ir, a->lanes, m, 1, &at)
               : fe_vload_masked(ir, a->lanes, active, m, 1, &at);
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
  attention *a = user;
  fe_ir *ir = a->g.ir;
  tile t = {height, row, number, a->count};
  if (a->causal) { // what the last row sees
    MlirValue seen = fe_add(ir, a->first_query, fe_add_static(ir, row, height));
    seen = fe_add(ir, seen, fe_sub(ir, a->keys, a->queries));
    seen = fe_sub(ir, seen, a->first_key);
    seen = fe_max(ir, seen, fe_index(ir, 0));
    t.count = fe_min(ir, a->count, seen);
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

static MlirValue head_start(attention *a, const access *x, MlirValue batch,
                            MlirValue head) {
  fe_ir *ir = a->g.ir;
  MlirValue at = offset(ir, x->start, batch, x->batch);
  return offset(ir, at, head, x->head);
}

static void one_item(attention *outer, MlirValue item) {
  attention copy = *outer, *a = &copy;
  fe_ir *ir = a->g.ir;
  MlirValue size = fe_index(ir, a->query_block), zero = fe_index(ir, 0);
  MlirValue blocks = fe_ceildiv(ir, a->queries, size);
  MlirValue block = fe_remu(ir, item, blocks);
  MlirValue rest = fe_divu(ir, item, blocks);
  MlirValue head = fe_remu(ir, rest, a->heads);
  MlirValue batch = fe_divu(ir, rest, a->heads);
  MlirValue shared = fe_divu(ir, a->heads, a->heads_kv);
  MlirValue head_kv = fe_divu(ir, head, shared);
  a->q.start = head_start(a, &a->q, batch, head);
  a->k.start = head_start(a, &a->k, batch, head_kv);
  a->v.start = head_start(a, &a->v, batch, head_kv);
  a->out.start = head_start(a, &a->out, batch, head);
  if (a->masked)
    a->mask.start = head_start(a, &a->mask, batch, head);
  a->first_query = fe_mul(ir, block, size);
  MlirValue rows = fe_min(ir, size, fe_sub(ir, a->queries, a->first_query));
  int64_t fixed = FE_DYN;
  if (a->n_queries != FE_DYN && a->n_queries % a->query_block == 0)
    fixed = a->query_block;
  a->first_key = zero;
  a->count = a->keys;
  fe_region r = {0};
  if (!a->one_block) {
    MlirValue step = fe_index(ir, a->block);
    r = fe_for_begin(ir, zero, a->keys, step, 0, NULL);
    MlirValue left = fe_sub(ir, a->keys, r.iv);
    a->first_key = r.iv;
    a->count = fe_min(ir, left, step);
    a->is_first = fe_cmp(ir, FE_EQ, r.iv, zero);
    a->is_last = fe_cmp(ir, FE_LE, left, step);
  }
  pack_keys(a);
  if (a->pack_v)
    pack_values(a);
  fe_tiles(ir, FE_ROWS, fixed, rows, one_tile, a);
  if (!a->one_block)
    fe_for_end(ir, &r, 0, NULL);
}

//===-- The kernel ----------------------------------------------------------//

static fe_status bad(attention *a, const char *what) {
  fe_error(a->g.ir->diags, (fe_where){0}, NULL, "krnl.attention: %s", what);
  return fe_gen_abandon(&a->g);
}

/// Distances of an operand with the given layout, one letter per dim: b, s, h,
/// d, and t for a dim of which index `pick` is taken.
static bool read_layout(attention *a, access *x, const char *layout,
                        int64_t pick, int dims[5]) {
  fe_ir *ir = a->g.ir;
  MlirValue m = a->g.arg[x->arg], step = fe_index(ir, 1);
  unsigned rank = fe_rank(m);
  static const char letters[] = "bshdt";
  MlirValue *to[] = {&x->batch, &x->seq, &x->head, &x->depth};
  for (unsigned i = 0; i < 5; ++i)
    dims[i] = -1;
  x->start = fe_index(ir, 0);
  if (strlen(layout) != rank)
    return false;
  for (unsigned i = rank; i-- > 0;) {
    const char *letter = strchr(letters, layout[i]);
    if (!letter || dims[letter - letters] >= 0)
      return false;
    dims[letter - letters] = (int)i;
    if (*letter == 't')
      x->start = fe_mul(ir, step, fe_index(ir, pick));
    else
      *to[letter - letters] = step;
    step = fe_mul(ir, step, fe_dim(ir, m, i));
  }
  return dims[0] >= 0 && dims[1] >= 0 && dims[2] >= 0 && dims[3] >= 0;
}

static MlirValue size_of(attention *a, const access *x, int dim) {
  return fe_dim(a->g.ir, a->g.arg[x->arg], (unsigned)dim);
}
static int64_t fixed_size(attention *a, const access *x, int dim) {
  return fe_static_dim(a->g.arg[x->arg], (unsigned)dim);
}

/// Dims of size 1 of the mask are broadcast.
static void read_mask(attention *a) {
  fe_ir *ir = a->g.ir;
  MlirValue m = a->g.arg[a->mask.arg], step = fe_index(ir, 1);
  unsigned rank = fe_rank(m);
  MlirValue *to[] = {&a->mask.depth, &a->mask.seq, &a->mask.head,
                     &a->mask.batch};
  a->mask.start = fe_index(ir, 0);
  for (unsigned i = 0; i < rank && i < 4; ++i) {
    unsigned d = rank - 1 - i;
    int64_t fixed = fe_static_dim(m, d);
    MlirValue size = fe_dim(ir, m, d);
    if (fixed == FE_DYN && i > 0)
      *to[i] = fe_select(ir, fe_cmp(ir, FE_EQ, size, fe_index(ir, 1)),
                         fe_index(ir, 0), step);
    else if (fixed != 1)
      *to[i] = step;
    step = fe_mul(ir, step, size);
  }
}

static fe_status read(attention *a, MlirAffineExpr *items,
                      MlirAffineExpr *cost) {
  fe_gen *g = &a->g;
  fe_ir *ir = g->ir;
  fe_epilogue none;
  a->masked = fe_op_is(g->root, "krnl.attention_masked");
  a->out.arg = g->n_args - 1;
  if (fe_gen_operand(g, 0, &a->q.arg) || fe_gen_operand(g, 1, &a->k.arg) ||
      fe_gen_operand(g, 2, &a->v.arg) ||
      (a->masked && fe_gen_operand(g, 3, &a->mask.arg)) ||
      fe_epilogue_parse(&none, g))
    return fe_gen_abandon(g);
  if (none.n)
    return bad(a, "an epilogue");
  for (unsigned i = 0; i < g->n_args; ++i)
    if (!mlirTypeEqual(fe_elem_of(g->arg[i]), ir->f32))
      return bad(a, "element type is not f32");
  a->scale = fe_attr_f64(g->root, "scale", 1);
  a->causal = fe_attr_i64(g->root, "causal", 0) != 0;
  int64_t pick[3] = {0};
  fe_attr_i64s(g->root, "pick", pick, 3);
  MlirAttribute layouts = fe_attr(g->root, "layouts");
  access *x[] = {&a->q, &a->k, &a->v, &a->out};
  int dims[4][5];
  if (mlirAttributeIsNull(layouts) || !mlirAttributeIsAArray(layouts) ||
      mlirArrayAttrGetNumElements(layouts) != 4)
    return bad(a, "no layouts");
  for (unsigned i = 0; i < 4; ++i) {
    MlirAttribute l = mlirArrayAttrGetElement(layouts, i);
    if (!mlirAttributeIsAString(l))
      return bad(a, "no layouts");
    MlirStringRef s = mlirStringAttrGetValue(l);
    const char *text = fe_strndup(ir->arena, s.data, s.length);
    if (!s.length || text[s.length - 1] != 'd' ||
        !read_layout(a, x[i], text, i < 3 ? pick[i] : 0, dims[i]))
      return bad(a, "unknown layout");
  }
  a->pack_v = dims[2][1] != dims[2][3] - 1;
  a->batches = size_of(a, &a->q, dims[0][0]);
  a->queries = size_of(a, &a->q, dims[0][1]);
  a->heads = size_of(a, &a->q, dims[0][2]);
  a->keys = size_of(a, &a->k, dims[1][1]);
  a->heads_kv = size_of(a, &a->k, dims[1][2]);
  a->n_queries = fixed_size(a, &a->q, dims[0][1]);
  a->n_keys = fixed_size(a, &a->k, dims[1][1]);
  a->depth = fixed_size(a, &a->q, dims[0][3]);
  if (a->depth == FE_DYN)
    a->depth = fixed_size(a, &a->k, dims[1][3]);
  a->depth_v = fixed_size(a, &a->v, dims[2][3]);
  if (a->depth == FE_DYN || a->depth_v == FE_DYN)
    return bad(a, "heads of unknown size");
  if (a->masked)
    read_mask(a);
  a->query_block = a->n_queries == FE_DYN || a->n_queries > FE_QUERIES
                       ? FE_QUERIES
                       : a->n_queries;
  MlirAffineExpr heads = fe_gen_dim(g, a->q.arg, (unsigned)dims[0][2]);
  MlirAffineExpr rows = fe_gen_dim(g, a->q.arg, (unsigned)dims[0][1]);
  MlirAffineExpr keys = fe_gen_dim(g, a->k.arg, (unsigned)dims[1][1]);
  MlirAffineExpr block = fe_dim_const(ir, a->query_block);
  *items = fe_dim_mul(fe_gen_dim(g, a->q.arg, (unsigned)dims[0][0]), heads);
  *items = fe_dim_mul(*items, fe_dim_ceildiv(rows, block));
  int64_t each = a->query_block * (2 * (a->depth + a->depth_v) + 16);
  *cost = fe_dim_mul(keys, fe_dim_const(ir, each));
  return FE_OK;
}

static MlirValue scratch(attention *a, int64_t n) {
  return fe_alloca(a->g.ir, fe_memref_type(a->g.ir, a->g.ir->f32, 1, &n));
}

fe_status fe_generate_attention(fe_ir *ir, const fe_target *target,
                                MlirModule module, MlirOperation func) {
  attention a = {0};
  MlirAffineExpr items, cost;
  if (fe_gen_begin(&a.g, ir, target, module, func) || read(&a, &items, &cost))
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
    int64_t rows = FE_ROWS * fe_tiles_most(FE_ROWS, a.query_block);
    a.results = scratch(&a, rows * a.row_v);
    a.maxima = scratch(&a, rows);
    a.sums = scratch(&a, rows);
  }
  fe_gen_explain(&a.g, "online softmax",
                 fe_printf(ir->arena,
                           "tiles of %u queries and %lld keys, keys in "
                           "blocks of %lld, queries of %lld",
                           FE_ROWS, (long long)a.width, (long long)a.block,
                           (long long)a.query_block));
  fe_gen_tile(&a.g, (fe_cost_tile){.rows = FE_ROWS,
                                   .vectors = a.vectors,
                                   .steps = a.depth,
                                   .extra = FE_ROWS * a.vectors * 8});
  MlirValue one = fe_index(ir, 1);
  fe_region r = fe_for_begin(ir, a.g.begin, a.g.end, one, 0, NULL);
  one_item(&a, r.iv);
  fe_for_end(ir, &r, 0, NULL);
  fe_gen_end(&a.g, items, cost);
  return FE_OK;
}
