//===- contrib_group_query.c - GroupQueryAttention, caches, rotary *- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX Runtime's attention of generating models. Every sequence of the batch
// has a length of its own in the cache: seqlens_k + 1 keys, the last ones of
// which are new. An op of our own appends the new rows to each; the standard's
// Attention does the rest, with a mask that says which keys a row may attend.
// A smooth softmax, or a sink of a head, is one key more, whose score is 0, or
// the sink, and whose value is 0.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

//===-- CacheAppend: rows of a cache, then new ones, then zeros -------------//

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
  fill(&a, old, start, (MlirValue){0}, zero, true);
  fill(&a, end, length, (MlirValue){0}, zero, true);
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

//===-- Rotary --------------------------------------------------------------//

typedef struct rotation {
  MlirValue ids, cos, sin; // ids [batch][sequence]
  int64_t size;            // of the part that is rotated; 0: all
  bool interleaved;
} rotation;

/// x of rank 3 needs `heads`.
static MlirValue rotated(fe_ir *ir, MlirValue x, const rotation *r,
                         int64_t heads) {
  return FE_COMPOSE(ir, "RotaryEmbedding", FE_VALUES(x, r->cos, r->sin, r->ids),
                    FE_ATTRS(fe_at_i64(ir, "num_heads", heads),
                             fe_at_i64(ir, "rotary_embedding_dim", r->size),
                             fe_at_i64(ir, "interleaved", r->interleaved)));
}

static fe_status expand_rotary(fe_node *n, MlirValue *results) {
  enum { INPUT, IDS, COS, SIN };
  fe_ir *ir = n->ir;
  fe_dims x, ids, c;
  if (fe_node_require(n, 4) || fe_node_dims(n, COS, 2, &c))
    return FE_FAILED;
  MlirValue v = fe_node_in(n, INPUT);
  rotation r = {.ids = fe_node_in(n, IDS),
                .cos = fe_node_in(n, COS),
                .sin = fe_node_in(n, SIN),
                .size = fe_node_int(n, "rotary_embedding_dim", 0),
                .interleaved = fe_node_int(n, "interleaved", 0) != 0};
  if (!fe_dims_of(ir, v, &x) || (x.rank != 3 && x.rank != 4) ||
      !fe_dims_of(ir, r.ids, &ids) || ids.rank < 1 || ids.rank > 2)
    return fe_node_error(n, NULL,
                         "the input must have rank 3 or 4, position_ids 1 or "
                         "2");
  if (fe_node_int(n, "is_packed_batching", 0))
    return fe_node_error(n, NULL, "packed batches are not supported");
  unsigned s = x.rank == 3 ? 1 : 2;
  if (ids.rank == 1) { // where the first row is
    MlirValue count = fe_x_size(ir, v, s);
    const MlirValue shape[2] = {fe_x_size(ir, v, 0), count};
    MlirValue row = FE_X(ir, "Add", fe_x_range(ir, count), r.ids);
    r.ids = FE_X(ir, "Expand", row, fe_x_concat(ir, 0, 2, shape));
  }
  int64_t heads = fe_node_int(n, "num_heads", 0), half = fe_dim_static(c.d[1]);
  if (x.rank == 4)
    return fe_node_done(rotated(ir, v, &r, heads), results);
  if (heads > 0)
    return fe_node_done(rotated(ir, v, &r, heads), results);
  if (r.size)
    return fe_node_error(n, NULL, "rotary_embedding_dim needs num_heads, too");
  int64_t wide = fe_dim_static(x.d[2]);
  if (wide != FE_DYN && half != FE_DYN && half > 0)
    return fe_node_done(rotated(ir, v, &r, wide / (2 * half)), results);
  // As many heads as there are, known to the run.
  const int64_t order[4] = {0, 2, 1, 3}, open[3] = {0, 0, -1};
  MlirValue size = FE_X(ir, "Mul", fe_x_size(ir, r.cos, 1), fe_x_int(ir, 2));
  const MlirValue split[2] = {fe_x_ints(ir, 3, open), size};
  MlirValue y = FE_X(ir, "Reshape", v, fe_x_concat(ir, 0, 2, split));
  y = rotated(ir, fe_x_transpose(ir, y, 4, order), &r, 0);
  y = fe_x_transpose(ir, y, 4, order);
  return fe_node_done(FE_X(ir, "Reshape", y, FE_X(ir, "Shape", v)), results);
}

//===-- GroupQueryAttention -------------------------------------------------//

enum {
  QUERY,
  KEY,
  VALUE,
  PAST_K,
  PAST_V,
  SEQLENS,
  TOTAL,
  COS,
  SIN,
  IDS,
  BIAS,
  SINK,
  K_SCALE,
  V_SCALE,
  Q_NORM,
  K_NORM,
  QUERY_SEQLENS
};

typedef struct group_query {
  fe_node *n;
  MlirValue q, k, v; // [batch][sequence][heads * size]
  int64_t heads, kv_heads;
  MlirValue batch, rows; // sizes, 1-D
  MlirValue total;       // 1-D, int64
  MlirValue starts;      // [batch] position of the first new row
  MlirValue counts;      // [batch] new rows
  MlirValue ends;        // [batch] keys
  MlirValue may;         // which keys a row may attend
} group_query;

static fe_status refuse(fe_node *n) {
  const char *k = fe_node_str(n, "k_quant_type", "NONE");
  const char *v = fe_node_str(n, "v_quant_type", "NONE");
  if (!fe_is_null(fe_node_in(n, K_SCALE)) ||
      !fe_is_null(fe_node_in(n, V_SCALE)) || strcmp(k, "NONE") ||
      strcmp(v, "NONE"))
    return fe_node_error(n, "keep the cache in floats",
                         "quantized caches are not supported");
  if (fe_node_int(n, "sliding_window_cache", 0))
    return fe_node_error(n, "use caches that hold the whole sequence",
                         "sliding_window_cache is not supported");
  return FE_OK;
}

/// Packed query, keys and values apart.
static fe_status unpack(group_query *g) {
  fe_node *n = g->n;
  fe_ir *ir = n->ir;
  fe_dims d;
  g->q = fe_node_in(n, QUERY);
  g->k = fe_node_in(n, KEY);
  g->v = fe_node_in(n, VALUE);
  if (fe_node_dims(n, QUERY, 3, &d))
    return FE_FAILED;
  if (fe_is_null(g->k) != fe_is_null(g->v))
    return fe_node_error(n, NULL, "key and value go together");
  if (!fe_is_null(g->k))
    return fe_node_dims(n, KEY, 3, &d) || fe_node_dims(n, VALUE, 3, &d)
               ? FE_FAILED
               : FE_OK;
  int64_t all = g->heads + 2 * g->kv_heads, wide = fe_dim_static(d.d[2]);
  int64_t size = wide == FE_DYN ? -1 : wide / all;
  if (wide != FE_DYN && wide % all)
    return fe_node_error(n, NULL, "the heads do not fit into the query");
  const int64_t split[4] = {0, 0, all, size};
  const int64_t heads[3] = {g->heads, g->kv_heads, g->kv_heads};
  MlirValue x = fe_x_reshape(ir, g->q, 4, split),
            *parts[3] = {&g->q, &g->k, &g->v};
  for (int64_t i = 0, from = 0; i < 3; from += heads[i++]) {
    const int64_t flat[3] = {0, 0, size < 0 ? -1 : heads[i] * size};
    *parts[i] =
        fe_x_reshape(ir, fe_x_part(ir, x, 2, from, from + heads[i]), 3, flat);
    if (fe_is_null(*parts[i]))
      return FE_FAILED;
  }
  return FE_OK;
}

/// RMS normalization of every head of x.
static MlirValue normalized(group_query *g, MlirValue x, int64_t heads,
                            unsigned weight, const char *epsilon) {
  fe_ir *ir = g->n->ir;
  MlirValue w = fe_node_in(g->n, weight);
  if (fe_is_null(w))
    return x;
  double common = fe_node_float(g->n, "qk_norm_epsilon", 1e-6);
  const int64_t split[4] = {0, 0, heads, -1};
  MlirValue y = FE_COMPOSE(
      ir, "SimplifiedLayerNormalization",
      FE_VALUES(fe_x_reshape(ir, x, 4, split), w),
      FE_ATTRS(fe_at_f32(ir, "epsilon", fe_node_float(g->n, epsilon, common))));
  return FE_X(ir, "Reshape", y, FE_X(ir, "Shape", x));
}

static fe_status rotate(group_query *g) {
  fe_node *n = g->n;
  fe_ir *ir = n->ir;
  fe_dims c;
  if (!fe_node_int(n, "do_rotary", 0))
    return FE_OK;
  if (fe_node_dims(n, COS, 2, &c) || fe_node_dims(n, SIN, 2, &c))
    return FE_FAILED;
  rotation r = {.ids = fe_node_in(n, IDS),
                .cos = fe_node_in(n, COS),
                .sin = fe_node_in(n, SIN),
                .interleaved = fe_node_int(n, "rotary_interleaved", 0) != 0};
  int64_t half = fe_dim_static(c.d[1]);
  r.size = half == FE_DYN ? 0 : 2 * half;
  if (fe_is_null(r.ids))
    r.ids =
        FE_X(ir, "Add", fe_x_behind(ir, g->starts, 1), fe_x_range(ir, g->rows));
  g->q = rotated(ir, g->q, &r, g->heads);
  g->k = rotated(ir, g->k, &r, g->kv_heads);
  return fe_is_null(g->q) || fe_is_null(g->k) ? FE_FAILED : FE_OK;
}

/// past, then the new rows: of the length of the sequences, or at least as long
/// as the past (`whole`).
static MlirValue appended(group_query *g, MlirValue rows, unsigned past,
                          bool whole) {
  fe_ir *ir = g->n->ir;
  MlirValue old = fe_node_in(g->n, past);
  return FE_COMPOSE(ir, "ms_cache_append",
                    FE_VALUES(fe_is_null(old) ? fe_x_absent(ir) : old, rows,
                              g->starts, g->counts, g->total),
                    FE_ATTRS(fe_at_i64(ir, "heads", g->kv_heads),
                             fe_at_i64(ir, "whole", whole)));
}

/// What is added to the scores: -inf where a row may not attend a key.
static MlirValue mask_of(group_query *g) {
  fe_node *n = g->n;
  fe_ir *ir = n->ir;
  int64_t window = fe_node_int(n, "local_window_size", -1);
  MlirValue key = fe_x_range(ir, g->total), may;
  if (fe_node_int(n, "causal", 1)) {
    MlirValue row = FE_X(ir, "Add", fe_x_behind(ir, g->starts, 1),
                         fe_x_range(ir, g->rows)); // [batch][sequence]
    row = fe_x_behind(ir, row, 1);
    may = FE_X(ir, "LessOrEqual", key, row);
    if (window > 0) {
      MlirValue first =
          FE_X(ir, "Sub", row, fe_constant_scalar(ir, FE_I64, window));
      may = FE_X(ir, "And", may, FE_X(ir, "Greater", key, first));
    }
  } else {
    may = FE_X(ir, "Less", key, fe_x_behind(ir, g->ends, 2));
  }
  g->may = may = fe_x_unsqueeze(ir, may, 1);
  MlirValue bias = fe_node_in(n, BIAS);
  bias = fe_is_null(bias) ? fe_constant_scalar(ir, FE_F32, 0)
                          : fe_x_cast(ir, bias, FE_F32);
  return FE_X(ir, "Where", may, bias,
              fe_constant_scalar(ir, FE_F32, -INFINITY));
}

/// One more key: zeros, and the sinks as its column of the mask.
static fe_status add_sink(group_query *g, MlirValue *k, MlirValue *v,
                          MlirValue *mask) {
  fe_node *n = g->n;
  fe_ir *ir = n->ir;
  MlirValue sink = fe_node_in(n, SINK), one = fe_x_int(ir, 1);
  if (fe_is_null(sink) && !fe_node_int(n, "smooth_softmax", 0))
    return FE_OK;
  MlirValue *both[2] = {k, v};
  for (unsigned i = 0; i < 2; ++i) {
    const MlirValue shape[4] = {fe_x_size(ir, *both[i], 0),
                                fe_x_size(ir, *both[i], 1), one,
                                fe_x_size(ir, *both[i], 3)};
    const MlirValue parts[2] = {
        *both[i],
        fe_x_zeros(ir, fe_x_type(*both[i]), fe_x_concat(ir, 0, 4, shape))};
    *both[i] = fe_x_concat(ir, 2, 2, parts);
  }
  const int64_t heads = g->heads;
  if (fe_is_null(sink))
    sink = fe_x_zeros(ir, FE_F32, fe_x_ints(ir, 1, &heads));
  const int64_t column[4] = {1, heads, 1, 1};
  sink = fe_x_reshape(ir, fe_x_cast(ir, sink, FE_F32), 4, column);
  // Mask and sinks to [batch][heads][rows], then side by side.
  const MlirValue sizes[4] = {g->batch, fe_x_ints(ir, 1, &heads), g->rows, one};
  const MlirValue wide[4] = {g->batch, sizes[1], g->rows, g->total};
  const MlirValue parts[2] = {
      FE_X(ir, "Expand", *mask, fe_x_concat(ir, 0, 4, wide)),
      FE_X(ir, "Expand", sink, fe_x_concat(ir, 0, 4, sizes))};
  *mask = fe_x_concat(ir, 3, 2, parts);
  return fe_is_null(*mask) || fe_is_null(*k) || fe_is_null(*v) ? FE_FAILED
                                                               : FE_OK;
}

/// starts, counts and ends of the sequences.
static void read_lengths(group_query *g) {
  fe_node *n = g->n;
  fe_ir *ir = n->ir;
  const int64_t flat = -1, one = 1;
  MlirValue lens = fe_x_cast(ir, fe_node_in(n, SEQLENS), FE_I64);
  lens = fe_x_reshape(ir, lens, 1, &flat);
  g->ends = FE_X(ir, "Add", lens, fe_x_int(ir, 1));
  g->total =
      fe_x_reshape(ir, fe_x_cast(ir, fe_node_in(n, TOTAL), FE_I64), 1, &one);
  g->batch = fe_x_size(ir, g->q, 0);
  g->rows = fe_x_size(ir, g->q, 1);
  MlirValue given_counts = fe_node_in(n, QUERY_SEQLENS);
  if (fe_is_null(given_counts)) {
    // A padded prompt is shorter than its rows.
    g->counts = FE_X(ir, "Expand", g->rows, g->batch);
    g->starts = FE_X(ir, "Max", FE_X(ir, "Sub", g->ends, g->rows),
                     fe_constant_scalar(ir, FE_I64, 0));
  } else {
    g->counts = fe_x_cast(ir, given_counts, FE_I64);
    g->starts = FE_X(ir, "Sub", g->ends, g->counts);
  }
}

/// One kernel for all, where the sizes of heads are known: the caches with the
/// new rows are written once, and read there. False: it cannot be used.
static bool in_one_kernel(group_query *g, MlirValue *results) {
  fe_node *n = g->n;
  fe_ir *ir = n->ir;
  fe_dims d;
  if (n->n_out > 3 || !fe_dims_of(ir, g->q, &d) || d.rank != 3 ||
      fe_dim_static(d.d[2]) <= 0 || fe_dim_static(d.d[2]) % g->heads)
    return false;
  int64_t size = fe_dim_static(d.d[2]) / g->heads;
  MlirValue rows[2] = {g->k, g->v}, present[2];
  for (unsigned i = 0; i < 2; ++i) {
    int64_t wide = fe_dims_of(ir, rows[i], &d) ? fe_dim_static(d.d[2]) : FE_DYN;
    if (wide == FE_DYN || wide % g->kv_heads ||
        (i == 0 && wide != size * g->kv_heads))
      return false;
  }
  for (unsigned i = 0; i < 2; ++i)
    present[i] = appended(g, rows[i], i ? PAST_V : PAST_K, true);
  bool causal = fe_node_int(n, "causal", 1) != 0;
  int64_t window = fe_node_int(n, "local_window_size", -1);
  MlirValue sink = fe_node_in(n, SINK), bias = fe_node_in(n, BIAS);
  MlirValue frontiers =
      causal ? FE_X(ir, "Add", g->starts, fe_x_int(ir, 1)) : g->ends;
  if (fe_is_null(sink) && fe_node_int(n, "smooth_softmax", 0))
    sink = fe_x_zeros(ir, FE_F32, fe_x_ints(ir, 1, &g->heads));
  results[0] = FE_COMPOSE(
      ir, "ms_cached_attention",
      FE_VALUES(g->q, present[0], present[1], frontiers,
                fe_is_null(bias) ? fe_x_absent(ir) : bias,
                fe_is_null(sink) ? fe_x_absent(ir) : sink),
      FE_ATTRS(fe_at_i64(ir, "num_heads", g->heads),
               fe_at_f32(ir, "scale", fe_node_float(n, "scale", 0)),
               fe_at_f32(ir, "softcap", fe_node_float(n, "softcap", 0)),
               fe_at_i64(ir, "window", causal && window > 0 ? window : 0),
               fe_at_i64(ir, "causal", causal)));
  for (unsigned i = 1; i < n->n_out; ++i)
    results[i] = present[i - 1];
  return true;
}

/// With the scores, or heads of unknown size.
static fe_status in_parts(group_query *g, MlirValue *results) {
  fe_node *n = g->n;
  fe_ir *ir = n->ir;
  MlirValue k = appended(g, g->k, PAST_K, false);
  MlirValue v = appended(g, g->v, PAST_V, false), mask = mask_of(g);
  if (fe_is_null(k) || fe_is_null(v) || fe_is_null(mask) ||
      add_sink(g, &k, &v, &mask))
    return FE_FAILED;
  int64_t shown = fe_node_int(n, "qk_output", 0);
  const MlirValue in[4] = {g->q, k, v, mask};
  const MlirNamedAttribute attrs[] = {
      fe_at_i64(ir, "q_num_heads", g->heads),
      fe_at_i64(ir, "kv_num_heads", g->kv_heads),
      fe_at_f32(ir, "scale", fe_node_float(n, "scale", 0)),
      fe_at_f32(ir, "softcap", fe_node_float(n, "softcap", 0)),
      fe_at_i64(ir, "qk_matmul_output_mode", shown == 2 ? 3 : 2)};
  MlirOperation op = fe_onnx(ir, "Attention", 4, in, 4, FE_COUNT(attrs), attrs);
  if (mlirOperationIsNull(op))
    return FE_FAILED;
  results[0] = fe_result(op, 0);
  if (n->n_out > 1)
    results[1] = appended(g, g->k, PAST_K, true);
  if (n->n_out > 2)
    results[2] = appended(g, g->v, PAST_V, true);
  if (n->n_out > 3) {
    MlirValue qk =
        fe_x_slice(ir, fe_result(op, 3), 3, fe_x_int(ir, 0), g->total);
    // Scores that are hidden are shown as zeros.
    results[3] = shown == 2 ? qk
                            : FE_X(ir, "Where", g->may, qk,
                                   fe_constant_scalar(ir, fe_x_type(qk), 0));
  }
  return FE_OK;
}

static fe_status expand_group_query(fe_node *n, MlirValue *results) {
  group_query g = {.n = n,
                   .heads = fe_node_int(n, "num_heads", 0),
                   .kv_heads = fe_node_int(n, "kv_num_heads", 0)};
  if (g.heads <= 0 || g.kv_heads <= 0 || g.heads % g.kv_heads)
    return fe_node_error(n, NULL,
                         "num_heads must be a multiple of kv_num_heads");
  if (fe_is_null(fe_node_in(n, SEQLENS)) || fe_is_null(fe_node_in(n, TOTAL)))
    return fe_node_error(n, NULL,
                         "seqlens_k and total_sequence_length must be there");
  if (refuse(n) || unpack(&g))
    return FE_FAILED;
  read_lengths(&g);
  g.q = normalized(&g, g.q, g.heads, Q_NORM, "q_norm_epsilon");
  g.k = normalized(&g, g.k, g.kv_heads, K_NORM, "k_norm_epsilon");
  if (fe_is_null(g.q) || fe_is_null(g.k) || rotate(&g) ||
      (!in_one_kernel(&g, results) && in_parts(&g, results)))
    return FE_FAILED;
  for (unsigned i = 0; i < n->n_out && i < 4; ++i)
    if (fe_is_null(results[i]))
      return FE_FAILED;
  return FE_OK;
}
//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def append_attrs[] = {
    {"heads", FE_A_INT, "1"}, {"whole", FE_A_INT, "0"}, {0}};
static const fe_attr_def rotary_attrs[] = {
    {"num_heads", FE_A_INT, "0"},   {"rotary_embedding_dim", FE_A_INT, "0"},
    {"interleaved", FE_A_INT, "0"}, {"is_packed_batching", FE_A_INT, "0"},
    {"scale", FE_A_FLOAT, "1"},     {0}};
static const fe_attr_def group_attrs[] = {
    {"num_heads", FE_A_INT, NULL},
    {"kv_num_heads", FE_A_INT, NULL},
    {"scale", FE_A_FLOAT, "0"},
    {"softcap", FE_A_FLOAT, "0"},
    {"local_window_size", FE_A_INT, "-1"},
    {"causal", FE_A_INT, "1"},
    {"do_rotary", FE_A_INT, "0"},
    {"rotary_interleaved", FE_A_INT, "0"},
    {"smooth_softmax", FE_A_INT, "0"},
    {"qk_output", FE_A_INT, "0"},
    {"qk_norm_epsilon", FE_A_FLOAT, "1e-6"},
    {"q_norm_epsilon", FE_A_FLOAT, "1e-6"},
    {"k_norm_epsilon", FE_A_FLOAT, "1e-6"},
    {"k_quant_type", FE_A_STRING, "NONE"},
    {"v_quant_type", FE_A_STRING, "NONE"},
    {"kv_cache_bit_width", FE_A_INT, "0"},
    {"sliding_window_cache", FE_A_INT, "0"},
    {0}};

const fe_op_row fe_family_contrib_group_query[] = {
    {.name = "CacheAppend",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "past?:T, rows:T, starts:I, counts:I, length:I",
     .outputs = "present:T",
     .types = "T=float;I=i64",
     .attrs = append_attrs,
     .flags = FE_INTERNAL,
     .infer = infer_append,
     .lower = lower_append},
    {.name = "RotaryEmbedding",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "input:T, position_ids:M, cos_cache:T, sin_cache:T",
     .outputs = "output:T",
     .types = "T=float;M=i64",
     .attrs = rotary_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_rotary,
     .limits = "no packed batches"},
    {.name = "GroupQueryAttention",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "query:T, key?:T, value?:T, past_key?:T, past_value?:T, "
               "seqlens_k:M, total_sequence_length:M, cos_cache?:T, "
               "sin_cache?:T, position_ids?:I, attention_bias?:T, "
               "head_sink?:T, k_scale?:S, v_scale?:S, q_norm_weight?:T, "
               "k_norm_weight?:T, query_seqlens?:M",
     .outputs = "output:T, present_key:T, present_value:T, output_qk:T",
     .types = "T=f32,f16,bf16;M=i32;I=i64;S=f32",
     .attrs = group_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_group_query,
     .limits = "no quantized caches, no sliding_window_cache"},
    {0}};
