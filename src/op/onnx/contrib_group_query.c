//===- contrib_group_query.c - GroupQueryAttention ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX Runtime's attention of generating models. Every sequence of the batch
// has a length of its own in the cache: seqlens_k + 1 keys, the last ones of
// which are new. An op of our own appends the new rows to each, another attends
// them where they lie; where the scores are asked for, the standard's
// Attention, with a mask that says which keys a row may attend. A smooth
// softmax, or a sink of a head, is one key more, whose score is 0, or the sink,
// and whose value is 0.
//
//===----------------------------------------------------------------------===//
#include "op/group_query.h"

#include <math.h>
#include <string.h>

//===-- GroupQueryAttention -------------------------------------------------//

/// How the keys or values in a cache are stored.
typedef struct store {
  bool quantized;
  int64_t bits;
  MlirValue scale; // broadcasts over [heads][1][size]
} store;

typedef struct group_query {
  fe_node *n;
  const MlirValue *in; // by FE_GQ_*
  bool keep;           // what the caches have behind the new rows
  MlirValue q, k, v;   // [batch][sequence][heads * size]
  int64_t heads, kv_heads;
  MlirValue batch, rows; // sizes, 1-D
  MlirValue total;       // 1-D, int64
  MlirValue starts;      // [batch] position of the first new row
  MlirValue counts;      // [batch] new rows
  MlirValue ends;        // [batch] keys
  MlirValue may;         // which keys a row may attend
  store store[2];        // of keys, of values
} group_query;

static fe_status read_store(group_query *g, bool value, store *s) {
  fe_node *n = g->n;
  fe_ir *ir = n->ir;
  const char *mode =
      fe_node_str(n, value ? "v_quant_type" : "k_quant_type", "NONE");
  MlirValue scale = g->in[value ? FE_GQ_V_SCALE : FE_GQ_K_SCALE];
  *s = (store){.bits = fe_node_int(n, "kv_cache_bit_width", 0)};
  bool whole = !strcmp(mode, "PER_TENSOR");
  if (!strcmp(mode, "NONE"))
    return fe_is_null(scale)
               ? FE_OK
               : fe_node_error(n, "say how by k_quant_type and v_quant_type",
                               "a scale of a cache that is not quantized");
  if (!whole && strcmp(mode, "PER_CHANNEL"))
    return fe_node_error(n, "use NONE, PER_TENSOR or PER_CHANNEL",
                         "a cache cannot be quantized '%s'", mode);
  if (fe_is_null(scale))
    return fe_node_error(n, NULL, "a quantized cache needs a scale");
  fe_dtype t = fe_x_type(g->in[value ? FE_GQ_PAST_V : FE_GQ_PAST_K]);
  if (!s->bits)
    s->bits = t == FE_U8 ? 4 : 8;
  if ((s->bits != 4 && s->bits != 8) ||
      (t != FE_UNDEFINED && t != (s->bits == 4 ? FE_U8 : FE_I8)))
    return fe_node_error(n, "use int8 with 8 bits, uint8 with 4",
                         "type and bits of a quantized cache do not fit");
  s->quantized = true;
  const int64_t one = 1, shape[3] = {g->kv_heads, 1, -1};
  s->scale = fe_x_reshape(ir, scale, whole ? 1 : 3, whole ? &one : shape);
  return fe_is_null(s->scale) ? FE_FAILED : FE_OK;
}

/// New rows [batch][sequence][heads * size] as the cache stores them.
static MlirValue stored(group_query *g, MlirValue rows, const store *s) {
  fe_ir *ir = g->n->ir;
  if (!s->quantized)
    return rows;
  const int64_t split[4] = {0, 0, g->kv_heads, -1}, flat[3] = {0, 0, -1};
  fe_dims d;
  // The scale's dims are [heads][1][size]; here the heads follow the rows.
  MlirValue scale = s->scale;
  if (fe_dims_of(ir, scale, &d) && d.rank == 3) {
    const int64_t per_head[2] = {g->kv_heads, -1};
    scale = fe_x_reshape(ir, scale, 2, per_head);
  }
  MlirValue x = fe_x_reshape(ir, fe_x_cast(ir, rows, FE_F32), 4, split);
  x = FE_X(ir, "Round", FE_X(ir, "Div", x, scale));
  double half = s->bits == 4 ? 8 : 128;
  x = FE_X(ir, "Clip", x, fe_constant_scalar(ir, FE_F32, -half),
           fe_constant_scalar(ir, FE_F32, half - 1));
  if (s->bits == 8)
    return fe_x_reshape(ir, fe_x_cast(ir, x, FE_I8), 3, flat);
  // Codes 0 to 15, the first of two in the lower half of a byte.
  x = fe_x_cast(ir, FE_X(ir, "Add", x, fe_constant_scalar(ir, FE_F32, half)),
                FE_U8);
  const int64_t pairs[5] = {0, 0, g->kv_heads, -1, 2};
  x = fe_x_reshape(ir, x, 5, pairs);
  MlirValue high = FE_X(ir, "Mul", fe_x_pick(ir, x, 4, 1),
                        fe_constant_scalar(ir, FE_U8, 16));
  x = FE_X(ir, "Add", fe_x_pick(ir, x, 4, 0), high);
  return fe_x_reshape(ir, x, 3, flat);
}

/// A cache [batch][heads][rows][size] as numbers.
static MlirValue restored(group_query *g, MlirValue cache, const store *s) {
  fe_ir *ir = g->n->ir;
  if (!s->quantized)
    return cache;
  if (s->bits == 4) {
    const MlirValue parts[2] = {
        fe_x_unsqueeze(
            ir,
            FE_X(ir, "BitwiseAnd", cache, fe_constant_scalar(ir, FE_U8, 15)),
            -1),
        fe_x_unsqueeze(
            ir, FE_X(ir, "Div", cache, fe_constant_scalar(ir, FE_U8, 16)), -1)};
    fe_dims d;
    int64_t flat[4] = {0, 0, 0, -1};
    if (fe_dims_of(ir, cache, &d) && fe_dim_static(d.d[3]) != FE_DYN)
      flat[3] = 2 * fe_dim_static(d.d[3]);
    cache = fe_x_reshape(ir, fe_x_concat(ir, -1, 2, parts), 4, flat);
  }
  MlirValue x = fe_x_cast(ir, cache, FE_F32);
  if (s->bits == 4)
    x = FE_X(ir, "Sub", x, fe_constant_scalar(ir, FE_F32, 8));
  return FE_X(ir, "Mul", x, s->scale);
}

//===-- Caches of a window --------------------------------------------------//

/// Rows of a cache of the window's size after `total` tokens: it holds the last
/// ones, and loses `gap` at once when it is full.
static MlirValue resident(group_query *g, MlirValue total, MlirValue room) {
  fe_ir *ir = g->n->ir;
  int64_t window = fe_node_int(g->n, "local_window_size", -1);
  MlirValue gap = FE_X(ir, "Sub", room, fe_x_int(ir, window - 1));
  MlirValue beyond = FE_X(ir, "Max", FE_X(ir, "Sub", total, room),
                          fe_constant_scalar(ir, FE_I64, 0));
  MlirValue steps =
      FE_X(ir, "Div",
           FE_X(ir, "Add", beyond, FE_X(ir, "Sub", gap, fe_x_int(ir, 1))), gap);
  return FE_X(ir, "Sub", total, FE_X(ir, "Mul", steps, gap));
}

/// `room` rows of every sequence from `first` [batch] on.
static MlirValue rows_from(fe_ir *ir, MlirValue cache, MlirValue first,
                           MlirValue room) {
  MlirValue last = FE_X(ir, "Sub", fe_x_size(ir, cache, 2), fe_x_int(ir, 1));
  MlirValue at =
      FE_X(ir, "Add", fe_x_behind(ir, first, 1), fe_x_range(ir, room));
  at = fe_x_behind(ir, FE_X(ir, "Min", at, last), 0); // [batch][room]
  at = fe_x_unsqueeze(ir, fe_x_unsqueeze(ir, at, 1), 3);
  const MlirValue shape[4] = {fe_x_size(ir, cache, 0), fe_x_size(ir, cache, 1),
                              room, fe_x_size(ir, cache, 3)};
  at = FE_X(ir, "Expand", at, fe_x_concat(ir, 0, 4, shape));
  return FE_COMPOSE(ir, "GatherElements", FE_VALUES(cache, at),
                    FE_ATTRS(fe_at_i64(ir, "axis", 2)));
}

static fe_status check_window(group_query *g) {
  fe_node *n = g->n;
  fe_dims d;
  int64_t window = fe_node_int(n, "local_window_size", -1);
  for (unsigned i = FE_GQ_PAST_K; i <= FE_GQ_PAST_V; ++i) {
    if (fe_node_dims(n, i, 4, &d))
      return FE_FAILED;
    int64_t room = fe_dim_static(d.d[2]);
    if (window <= 0 || (room != FE_DYN && room < window))
      return fe_node_error(n, "make the caches longer, or the window smaller",
                           "sliding_window_cache needs caches that hold "
                           "local_window_size rows");
  }
  if (!fe_node_int(n, "causal", 1) || !fe_is_null(g->in[FE_GQ_BIAS]))
    return fe_node_error(n, "use caches that hold the whole sequence",
                         "sliding_window_cache goes with causal attention "
                         "without attention_bias only");
  return FE_OK;
}

/// Packed query, keys and values apart.
static fe_status unpack(group_query *g) {
  fe_node *n = g->n;
  fe_ir *ir = n->ir;
  fe_dims d;
  g->q = g->in[FE_GQ_QUERY];
  g->k = g->in[FE_GQ_KEY];
  g->v = g->in[FE_GQ_VALUE];
  if (fe_node_dims(n, FE_GQ_QUERY, 3, &d))
    return FE_FAILED;
  if (fe_is_null(g->k) != fe_is_null(g->v))
    return fe_node_error(n, NULL, "key and value go together");
  if (!fe_is_null(g->k))
    return fe_node_dims(n, FE_GQ_KEY, 3, &d) ||
                   fe_node_dims(n, FE_GQ_VALUE, 3, &d)
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
  MlirValue w = g->in[weight];
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
  for (unsigned i = FE_GQ_COS; i <= FE_GQ_SIN; ++i)
    if (fe_is_null(g->in[i]) || !fe_dims_of(ir, g->in[i], &c) || c.rank != 2)
      return fe_node_error(n, NULL,
                           "do_rotary needs cos_cache and sin_cache, of rank "
                           "2");
  fe_rotation r = {.ids = g->in[FE_GQ_IDS],
                   .cos = g->in[FE_GQ_COS],
                   .sin = g->in[FE_GQ_SIN],
                   .interleaved = fe_node_int(n, "rotary_interleaved", 0) != 0};
  int64_t half = fe_dim_static(c.d[1]);
  r.size = half == FE_DYN ? 0 : 2 * half;
  if (fe_is_null(r.ids))
    r.ids =
        FE_X(ir, "Add", fe_x_behind(ir, g->starts, 1), fe_x_range(ir, g->rows));
  g->q = fe_rotated(ir, g->q, &r, g->heads);
  g->k = fe_rotated(ir, g->k, &r, g->kv_heads);
  return fe_is_null(g->q) || fe_is_null(g->k) ? FE_FAILED : FE_OK;
}

/// past, then the new rows from `starts` on: `length` rows, or at least as many
/// as the past has (`whole`).
static MlirValue put_behind(group_query *g, MlirValue rows, unsigned past,
                            MlirValue starts, MlirValue length, bool whole) {
  fe_ir *ir = g->n->ir;
  MlirValue old = g->in[past];
  return FE_COMPOSE(ir, "ms_cache_append",
                    FE_VALUES(fe_is_null(old) ? fe_x_absent(ir) : old, rows,
                              starts, g->counts, length),
                    FE_ATTRS(fe_at_i64(ir, "heads", g->kv_heads),
                             fe_at_i64(ir, "whole", whole),
                             fe_at_i64(ir, "keep", g->keep)));
}

static MlirValue appended(group_query *g, MlirValue rows, unsigned past,
                          bool whole) {
  return put_behind(g, rows, past, g->starts, g->total, whole);
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
  MlirValue bias = g->in[FE_GQ_BIAS];
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
  MlirValue sink = g->in[FE_GQ_SINK], one = fe_x_int(ir, 1);
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
  MlirValue lens = fe_x_cast(ir, g->in[FE_GQ_SEQLENS], FE_I64);
  lens = fe_x_reshape(ir, lens, 1, &flat);
  g->ends = FE_X(ir, "Add", lens, fe_x_int(ir, 1));
  g->total =
      fe_x_reshape(ir, fe_x_cast(ir, g->in[FE_GQ_TOTAL], FE_I64), 1, &one);
  g->batch = fe_x_size(ir, g->q, 0);
  g->rows = fe_x_size(ir, g->q, 1);
  MlirValue given_counts = g->in[FE_GQ_QUERY_SEQLENS];
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
  bool sliding = fe_node_int(n, "sliding_window_cache", 0) != 0;
  MlirValue starts = g->starts, cache[2];
  for (unsigned i = 0; i < 2; ++i) {
    unsigned past = i ? FE_GQ_PAST_V : FE_GQ_PAST_K;
    MlirValue fresh = stored(g, rows[i], &g->store[i]);
    if (sliding) { // all that is seen, then what stays of it
      MlirValue room = fe_x_size(ir, g->in[past], 2);
      starts = resident(g, g->starts, room);
      cache[i] = put_behind(g, fresh, past, starts,
                            FE_X(ir, "Add", room, g->rows), false);
      MlirValue end = FE_X(ir, "Add", starts, g->counts);
      present[i] = rows_from(
          ir, cache[i], FE_X(ir, "Sub", end, resident(g, g->ends, room)), room);
    } else {
      cache[i] = present[i] = appended(g, fresh, past, true);
    }
    cache[i] = restored(g, cache[i], &g->store[i]);
  }
  bool causal = fe_node_int(n, "causal", 1) != 0;
  int64_t window = fe_node_int(n, "local_window_size", -1);
  MlirValue sink = g->in[FE_GQ_SINK], bias = g->in[FE_GQ_BIAS];
  MlirValue frontiers =
      causal ? FE_X(ir, "Add", starts, fe_x_int(ir, 1)) : g->ends;
  if (fe_is_null(sink) && fe_node_int(n, "smooth_softmax", 0))
    sink = fe_x_zeros(ir, FE_F32, fe_x_ints(ir, 1, &g->heads));
  results[0] = FE_COMPOSE(
      ir, "ms_cached_attention",
      FE_VALUES(g->q, cache[0], cache[1], frontiers,
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
  fe_dtype t = fe_x_type(g->q);
  MlirValue fresh[2] = {stored(g, g->k, &g->store[0]),
                        stored(g, g->v, &g->store[1])};
  MlirValue k =
      restored(g, appended(g, fresh[0], FE_GQ_PAST_K, false), &g->store[0]);
  MlirValue v =
      restored(g, appended(g, fresh[1], FE_GQ_PAST_V, false), &g->store[1]);
  MlirValue q = fe_x_cast(ir, g->q, fe_x_type(k)), mask = mask_of(g);
  if (fe_is_null(q) || fe_is_null(k) || fe_is_null(v) || fe_is_null(mask) ||
      add_sink(g, &k, &v, &mask))
    return FE_FAILED;
  int64_t shown = fe_node_int(n, "qk_output", 0);
  const MlirValue in[4] = {q, k, v, mask};
  const MlirNamedAttribute attrs[] = {
      fe_at_i64(ir, "q_num_heads", g->heads),
      fe_at_i64(ir, "kv_num_heads", g->kv_heads),
      fe_at_f32(ir, "scale", fe_node_float(n, "scale", 0)),
      fe_at_f32(ir, "softcap", fe_node_float(n, "softcap", 0)),
      fe_at_i64(ir, "qk_matmul_output_mode", shown == 2 ? 3 : 2)};
  MlirOperation op = fe_onnx(ir, "Attention", 4, in, 4, FE_COUNT(attrs), attrs);
  if (mlirOperationIsNull(op))
    return FE_FAILED;
  results[0] = fe_x_cast(ir, fe_result(op, 0), t);
  for (unsigned i = 0; i < 2 && i + 1 < n->n_out; ++i)
    results[1 + i] =
        appended(g, fresh[i], i ? FE_GQ_PAST_V : FE_GQ_PAST_K, true);
  if (n->n_out > 3) {
    MlirValue qk = fe_x_cast(ir, fe_result(op, 3), t);
    qk = fe_x_slice(ir, qk, 3, fe_x_int(ir, 0), g->total);
    // Scores that are hidden are shown as zeros.
    results[3] = shown == 2 ? qk
                            : FE_X(ir, "Where", g->may, qk,
                                   fe_constant_scalar(ir, fe_x_type(qk), 0));
  }
  return FE_OK;
}

fe_status fe_group_query(fe_node *n, const MlirValue in[FE_GQ_INPUTS],
                         bool keep, MlirValue *results) {
  group_query g = {.n = n,
                   .in = in,
                   .keep = keep,
                   .heads = fe_node_int(n, "num_heads", 0),
                   .kv_heads = fe_node_int(n, "kv_num_heads", 0)};
  if (g.heads > INT16_MAX)
    return fe_node_refuse(n, "num_heads", "there are too many heads");
  if (g.heads <= 0 || g.kv_heads <= 0 || g.heads % g.kv_heads)
    return fe_node_error(n, NULL,
                         "num_heads must be a multiple of kv_num_heads");
  if (fe_is_null(in[FE_GQ_SEQLENS]) || fe_is_null(in[FE_GQ_TOTAL]))
    return fe_node_error(n, NULL,
                         "seqlens_k and total_sequence_length must be there");
  bool sliding = fe_node_int(n, "sliding_window_cache", 0) != 0;
  if (read_store(&g, false, &g.store[0]) || read_store(&g, true, &g.store[1]) ||
      (sliding && check_window(&g)) || unpack(&g))
    return FE_FAILED;
  read_lengths(&g);
  g.q = normalized(&g, g.q, g.heads, FE_GQ_Q_NORM, "q_norm_epsilon");
  g.k = normalized(&g, g.k, g.kv_heads, FE_GQ_K_NORM, "k_norm_epsilon");
  if (fe_is_null(g.q) || fe_is_null(g.k) || rotate(&g))
    return FE_FAILED;
  if (!in_one_kernel(&g, results)) {
    if (sliding)
      return fe_node_error(n, "use caches that hold the whole sequence",
                           "sliding caches need heads of known size and give "
                           "no scores");
    if (in_parts(&g, results))
      return FE_FAILED;
  }
  for (unsigned i = 0; i < n->n_out && i < 4; ++i)
    if (fe_is_null(results[i]))
      return FE_FAILED;
  return FE_OK;
}

static fe_status expand_group_query(fe_node *n, MlirValue *results) {
  MlirValue in[FE_GQ_INPUTS];
  for (unsigned i = 0; i < FE_GQ_INPUTS; ++i)
    in[i] = fe_node_in(n, i);
  return fe_group_query(n, in, false, results);
}

//===-- Rows ----------------------------------------------------------------//

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
    {"qk_output", FE_A_INT, "0|1|2"},
    {"qk_norm_epsilon", FE_A_FLOAT, "1e-6"},
    {"q_norm_epsilon", FE_A_FLOAT, "1e-6"},
    {"k_norm_epsilon", FE_A_FLOAT, "1e-6"},
    {"k_quant_type", FE_A_STRING, "NONE|PER_TENSOR|PER_CHANNEL"},
    {"v_quant_type", FE_A_STRING, "NONE|PER_TENSOR|PER_CHANNEL"},
    {"kv_cache_bit_width", FE_A_INT, "0"},
    {"sliding_window_cache", FE_A_INT, "0"},
    {0}};

const fe_op_row fe_family_contrib_group_query[] = {
    {.name = "GroupQueryAttention",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "query:T, key?:T, value?:T, past_key?:C, past_value?:C, "
               "seqlens_k:M, total_sequence_length:M, cos_cache?:T, "
               "sin_cache?:T, position_ids?:I, attention_bias?:T, "
               "head_sink?:T, k_scale?:S, v_scale?:S, q_norm_weight?:T, "
               "k_norm_weight?:T, query_seqlens?:M",
     .outputs = "output:T, present_key:C, present_value:C, output_qk:T",
     .types = "T=f32,f16,bf16;C=f32,f16,bf16,i8,u8;M=i32;I=i64;S=f32",
     .sizes = "query:b s _, key:b t _, value:b t _, "
              "past_key:b $kv_num_heads p _, past_value:b $kv_num_heads p _, "
              "seqlens_k:b, cos_cache:c r, sin_cache:c r, position_ids:b s, "
              "head_sink:$num_heads, query_seqlens:b",
     .attrs = group_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_group_query,
     .limits = "sliding caches without qk_output; no caches of float8"},
    {0}};
