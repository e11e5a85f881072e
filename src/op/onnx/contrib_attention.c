//===- contrib_attention.c - ONNX Runtime's attention ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, QAttention, MultiHeadAttention and DecoderMaskedMultiHeadAttention
// of com.microsoft become the standard's Attention. Their masks (lengths,
// starts, one number per key, query and key) are one float tensor that is added
// to the scores, broadcast where the mask is. Caches in a buffer longer than
// what is valid: attention sees the valid part, the new rows are written into
// the buffer.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

typedef struct attention {
  fe_node *n;
  MlirValue q, k, v;        // rank 3, or 4 with heads before the sequence
  MlirValue past_k, past_v; // null: none
  MlirValue length;         // valid part of the past, 1-D; null: all of it
  MlirValue beams;          // of which beam a row is; null: of its own
  MlirValue mask, bias;     // mask as the operator has it; added to scores
  int64_t heads;
  MlirValue batch, rows, total; // sizes, 1-D
} attention;

//===-- Masks ---------------------------------------------------------------//

/// `filter` where `keep` is false, else 0.
static MlirValue filtered(attention *a, MlirValue keep) {
  fe_ir *ir = a->n->ir;
  double filter = fe_node_float(a->n, "mask_filter_value", -10000);
  return FE_X(ir, "Where", keep, fe_constant_scalar(ir, FE_F32, 0),
              fe_constant_scalar(ir, FE_F32, filter));
}

/// Lengths [batch], then starts [batch] where there are twice as many; of
/// 3 * batch + 2 numbers the first ones are the lengths, too.
static MlirValue by_lengths(attention *a, MlirValue mask) {
  fe_ir *ir = a->n->ir;
  MlirValue zero = fe_x_int(ir, 0);
  MlirValue twice = FE_X(ir, "Add", a->batch, a->batch);
  MlirValue is_twice = FE_X(ir, "Equal", fe_x_size(ir, mask, 0), twice);
  MlirValue end = fe_x_slice(ir, mask, 0, zero, a->batch);
  // Starts are there in either case, so that the slice has all of them.
  const MlirValue longer[2] = {mask, fe_x_zeros(ir, FE_I32, a->batch)};
  MlirValue start =
      fe_x_slice(ir, fe_x_concat(ir, 0, 2, longer), 0, a->batch, twice);
  start = FE_X(ir, "Where", is_twice, start, fe_constant_scalar(ir, FE_I32, 0));
  MlirValue key = fe_x_cast(ir, fe_x_range(ir, a->total), FE_I32);
  end = fe_x_behind(ir, end, 1);
  start = fe_x_behind(ir, start, 1);
  MlirValue keep = FE_X(ir, "And", FE_X(ir, "Less", key, end),
                        FE_X(ir, "GreaterOrEqual", key, start));
  return fe_x_unsqueeze(ir, fe_x_unsqueeze(ir, filtered(a, keep), 1), 1);
}

/// What is added to the scores, of rank 4; null: nothing.
static fe_status added(attention *a, MlirValue *out) {
  fe_ir *ir = a->n->ir;
  *out = a->bias;
  if (fe_is_null(a->mask))
    return FE_OK;
  fe_dims d;
  MlirValue v = a->mask, zero = fe_constant_scalar(ir, FE_I32, 0);
  if (!fe_dims_of(ir, v, &d) || d.rank < 1 || d.rank > 4)
    return fe_node_error(a->n, NULL, "the mask must have rank 1 to 4");
  if (d.rank == 1) {
    v = by_lengths(a, v);
  } else {
    if (d.rank == 4) { // as large as sequences may become
      MlirValue past = FE_X(ir, "Sub", a->total, a->rows);
      v = fe_x_slice(ir, v, 2, past, a->total);
      v = fe_x_slice(ir, v, 3, fe_x_int(ir, 0), a->total);
    }
    v = filtered(a, FE_X(ir, "Greater", v, zero));
    for (unsigned i = d.rank; i < 4; ++i)
      v = fe_x_unsqueeze(ir, v, 1);
  }
  v = fe_is_null(a->bias) ? v
                          : FE_X(ir, "Add", v, fe_x_cast(ir, a->bias, FE_F32));
  *out = v;
  return fe_is_null(v) ? FE_FAILED : FE_OK;
}

/// Where `unidirectional` hides a key, ONNX Runtime has the smallest number
/// instead of a score. That is -inf but in rows without any visible key, when
/// the mask's filter is as small: all keys count the same there.
static MlirValue causal(attention *a, MlirValue mask) {
  fe_ir *ir = a->n->ir;
  MlirValue past = FE_X(ir, "Sub", a->total, a->rows);
  MlirValue row = FE_X(ir, "Add", fe_x_range(ir, a->rows), past);
  MlirValue hidden =
      FE_X(ir, "Less", fe_x_behind(ir, row, 1), fe_x_range(ir, a->total));
  return FE_X(ir, "Where", hidden, fe_constant_scalar(ir, FE_F32, -FLT_MAX),
              mask);
}

//===-- The operator --------------------------------------------------------//

/// New rows in a buffer: [batch][heads][longest][size].
static MlirValue written(attention *a, MlirValue buffer, MlirValue rows) {
  fe_ir *ir = a->n->ir;
  fe_dims d;
  if (fe_is_null(rows) || !fe_dims_of(ir, rows, &d))
    return (MlirValue){0};
  if (d.rank == 3) {
    const int64_t split[4] = {0, 0, a->heads, -1}, order[4] = {0, 2, 1, 3};
    rows = fe_x_transpose(ir, fe_x_reshape(ir, rows, 4, split), 4, order);
  }
  MlirValue at = FE_X(ir, "Expand", a->length, a->batch);
  return FE_X(ir, "TensorScatter", buffer, rows, at);
}

/// The past [batch * beams][heads][rows][size], every row of the beam that
/// a->beams [batch][beams][at least as many rows] names.
static MlirValue of_beams(attention *a, MlirValue past) {
  fe_ir *ir = a->n->ir;
  MlirValue beams = a->beams, rows = fe_x_size(ir, past, 2);
  MlirValue at = fe_x_slice(ir, beams, 2, fe_x_int(ir, 0), rows);
  at = fe_x_unsqueeze(ir, fe_x_unsqueeze(ir, at, 2), 4);
  const MlirValue wide[5] = {fe_x_size(ir, beams, 0), fe_x_size(ir, beams, 1),
                             fe_x_size(ir, past, 1), rows,
                             fe_x_size(ir, past, 3)};
  MlirValue shape = fe_x_concat(ir, 0, 5, wide);
  MlirValue v = FE_COMPOSE(ir, "GatherElements",
                           FE_VALUES(FE_X(ir, "Reshape", past, shape),
                                     FE_X(ir, "Expand", at, shape)),
                           FE_ATTRS(fe_at_i64(ir, "axis", 1)));
  return FE_X(ir, "Reshape", v, FE_X(ir, "Shape", past));
}

/// Results: output, presents, scores.
static fe_status make(attention *a, MlirValue out[4]) {
  fe_node *n = a->n;
  fe_ir *ir = n->ir;
  fe_dims k;
  if (fe_is_null(a->q) || fe_is_null(a->k) || fe_is_null(a->v) ||
      !fe_dims_of(ir, a->k, &k))
    return FE_FAILED;
  if (fe_is_null(a->past_k) != fe_is_null(a->past_v))
    return fe_node_error(n, NULL, "the pasts of key and value go together");
  MlirValue past[2] = {a->past_k, a->past_v}, buffer[2] = {{0}};
  if (fe_is_null(past[0]))
    a->length = (MlirValue){0};
  for (unsigned i = 0; i < 2 && !fe_is_null(a->length); ++i) {
    buffer[i] = past[i];
    past[i] = fe_x_slice(ir, past[i], 2, fe_x_int(ir, 0), a->length);
    if (!fe_is_null(a->beams))
      past[i] = of_beams(a, past[i]);
    if (fe_is_null(past[i]))
      return FE_FAILED;
  }
  a->batch = fe_x_size(ir, a->q, 0);
  a->rows = fe_x_size(ir, a->q, 1);
  a->total = fe_x_size(ir, a->k, k.rank == 3 ? 1 : 2);
  if (!fe_is_null(past[0]))
    a->total = FE_X(ir, "Add", a->total, fe_x_size(ir, past[0], 2));
  MlirValue mask;
  if (added(a, &mask))
    return FE_FAILED;
  bool is_causal = fe_node_int(n, "unidirectional", 0) != 0;
  if (is_causal && !fe_is_null(a->mask) &&
      fe_node_float(n, "mask_filter_value", -10000) < -1e30) {
    mask = causal(a, mask);
    is_causal = false;
    if (fe_is_null(mask))
      return FE_FAILED;
  }
  const MlirValue in[6] = {a->q, a->k, a->v, mask, past[0], past[1]};
  const MlirNamedAttribute attrs[] = {
      fe_at_i64(ir, "q_num_heads", a->heads),
      fe_at_i64(ir, "kv_num_heads", a->heads),
      fe_at_f32(ir, "scale", fe_node_float(n, "scale", 0)),
      fe_at_i64(ir, "qk_matmul_output_mode", 2),
      fe_at_i64(ir, "is_causal", is_causal)};
  MlirOperation op = fe_onnx(ir, "Attention", 6, in, 4, FE_COUNT(attrs), attrs);
  if (mlirOperationIsNull(op))
    return FE_FAILED;
  for (unsigned i = 0; i < 4; ++i)
    out[i] = fe_result(op, i);
  if (!fe_is_null(a->length))
    for (unsigned i = 0; i < 2; ++i) {
      out[1 + i] = written(a, buffer[i], i ? a->v : a->k);
      if (fe_is_null(out[1 + i]))
        return FE_FAILED;
    }
  return FE_OK;
}

/// cache_indirection, input i, of a past of which past_sequence_length rows
/// count.
static fe_status read_beams(attention *a, unsigned i) {
  fe_dims d;
  a->beams = fe_node_in(a->n, i);
  if (fe_is_null(a->beams))
    return FE_OK;
  if (fe_is_null(a->past_k) || fe_is_null(a->length))
    return fe_node_error(a->n, "give the pasts as buffers, with their length",
                         "cache_indirection needs past_key, past_value and "
                         "past_sequence_length");
  return fe_node_dims(a->n, i, 3, &d);
}

static fe_status read_heads(attention *a) {
  a->heads = fe_node_int(a->n, "num_heads", 0);
  if (a->heads <= 0)
    return fe_node_error(a->n, NULL, "num_heads must be positive");
  return FE_OK;
}

/// The length of the past in a shared buffer, 1-D int64.
static MlirValue length_of(fe_node *n, MlirValue v) {
  const int64_t one = 1;
  return fe_is_null(v)
             ? v
             : fe_x_reshape(n->ir, fe_x_cast(n->ir, v, FE_I64), 1, &one);
}

//===-- Attention, QAttention -----------------------------------------------//

/// q, k and v from x [batch][sequence][all of them].
static fe_status split(attention *a, MlirValue x) {
  fe_node *n = a->n;
  fe_ir *ir = n->ir;
  const fe_node_attr *sizes = fe_node_attr_find(n, "qkv_hidden_sizes");
  MlirValue *parts[3] = {&a->q, &a->k, &a->v};
  if (fe_is_null(x))
    return FE_FAILED;
  fe_dims d;
  int64_t wide = fe_dims_of(ir, x, &d) ? fe_dim_static(d.d[2]) : 0, from = 0;
  int64_t each[3] = {wide / 3, wide / 3, wide / 3};
  if (sizes && sizes->n) {
    if (sizes->n != 3)
      return fe_node_error(n, NULL, "qkv_hidden_sizes must be three numbers");
    memcpy(each, sizes->ints, sizeof each);
  } else if (wide == FE_DYN) {
    MlirValue third = FE_X(ir, "Div", fe_x_size(ir, x, 2), fe_x_int(ir, 3));
    MlirValue at = fe_x_int(ir, 0);
    for (unsigned i = 0; i < 3; ++i) {
      MlirValue to = FE_X(ir, "Add", at, third);
      *parts[i] = fe_x_slice(ir, x, 2, at, to);
      at = to;
    }
    return FE_OK;
  }
  if (wide != FE_DYN && each[0] + each[1] + each[2] != wide)
    return fe_node_error(n, NULL,
                         "the weights have %" PRId64 " columns, which are not "
                         "those of query, key and value",
                         wide);
  for (unsigned i = 0; i < 3; ++i) {
    if (each[i] <= 0 || each[i] % a->heads)
      return fe_node_error(
          n, NULL, "%" PRId64 " columns cannot be cut into %" PRId64 " heads",
          each[i], a->heads);
    *parts[i] = fe_x_part(ir, x, 2, from, from + each[i]);
    from += each[i];
  }
  return FE_OK;
}

/// Attention over the projected x; past and present are one tensor of both.
static fe_status self_attention(attention *a, MlirValue x, MlirValue past,
                                MlirValue *results) {
  fe_node *n = a->n;
  fe_ir *ir = n->ir;
  if (fe_node_int(n, "do_rotary", 0))
    return fe_node_error(n,
                         "export it as MultiHeadAttention, with "
                         "RotaryEmbedding on its query and key",
                         "do_rotary is not supported");
  if (split(a, x))
    return FE_FAILED;
  bool shared = fe_node_int(n, "past_present_share_buffer", 0) != 0;
  if (shared && (fe_is_null(past) || fe_is_null(a->length)))
    return fe_node_error(n, NULL,
                         "past_present_share_buffer needs past and "
                         "past_sequence_length");
  if (!shared)
    a->length = (MlirValue){0};
  if (!fe_is_null(past)) {
    a->past_k = fe_x_pick(ir, past, 0, 0);
    a->past_v = fe_x_pick(ir, past, 0, 1);
    if (fe_is_null(a->past_k) || fe_is_null(a->past_v))
      return FE_FAILED;
  }
  MlirValue out[4] = {{0}};
  if (make(a, out))
    return FE_FAILED;
  results[0] = out[0];
  if (n->n_out > 1) {
    const MlirValue both[2] = {fe_x_unsqueeze(ir, out[1], 0),
                               fe_x_unsqueeze(ir, out[2], 0)};
    results[1] = fe_x_concat(ir, 0, 2, both);
    if (fe_is_null(results[1]))
      return FE_FAILED;
  }
  return FE_OK;
}

static fe_status expand_attention(fe_node *n, MlirValue *results) {
  enum { INPUT, WEIGHTS, BIAS, MASK, PAST, ADDED, LENGTH };
  fe_dims x, w;
  if (fe_node_dims(n, INPUT, 3, &x) || fe_node_dims(n, WEIGHTS, 2, &w))
    return FE_FAILED;
  attention a = {.n = n,
                 .mask = fe_node_in(n, MASK),
                 .bias = fe_node_in(n, ADDED),
                 .length = length_of(n, fe_node_in(n, LENGTH))};
  if (read_heads(&a))
    return FE_FAILED;
  MlirValue v =
      FE_X(n->ir, "MatMul", fe_node_in(n, INPUT), fe_node_in(n, WEIGHTS));
  v = fe_x_plus(n->ir, v, fe_node_in(n, BIAS));
  return self_attention(&a, v, fe_node_in(n, PAST), results);
}

static fe_status expand_q_attention(fe_node *n, MlirValue *results) {
  enum { INPUT, WEIGHT, BIAS, X_SCALE, W_SCALE, MASK, X_ZERO, W_ZERO, PAST };
  fe_ir *ir = n->ir;
  fe_dims x, w;
  if (fe_node_dims(n, INPUT, 3, &x) || fe_node_dims(n, WEIGHT, 2, &w) ||
      fe_node_require(n, MASK))
    return FE_FAILED;
  attention a = {.n = n, .mask = fe_node_in(n, MASK)};
  if (read_heads(&a))
    return FE_FAILED;
  const MlirValue in[4] = {fe_node_in(n, INPUT), fe_node_in(n, WEIGHT),
                           fe_node_in(n, X_ZERO), fe_node_in(n, W_ZERO)};
  MlirValue v = fe_first(fe_onnx(ir, "MatMulInteger", 4, in, 1, 0, NULL));
  v = fe_x_cast(ir, v, FE_F32);
  MlirValue scale =
      FE_X(ir, "Mul", fe_node_in(n, X_SCALE), fe_node_in(n, W_SCALE));
  v = fe_x_plus(ir, FE_X(ir, "Mul", v, scale), fe_node_in(n, BIAS));
  return self_attention(&a, v, fe_node_in(n, PAST), results);
}

//===-- MultiHeadAttention --------------------------------------------------//

/// Part i of x [batch][sequence][heads][parts][size], with the heads of a row
/// side by side.
static MlirValue packed_part(fe_ir *ir, MlirValue x, const fe_dims *d,
                             int64_t i) {
  int64_t h = fe_dim_static(d->d[2]), s = fe_dim_static(d->d[4]);
  const int64_t flat[3] = {0, 0, h == FE_DYN || s == FE_DYN ? -1 : h * s};
  return fe_x_reshape(ir, fe_x_pick(ir, x, 3, i), 3, flat);
}

/// q, k and v plus their parts of the bias.
static fe_status add_bias(attention *a, MlirValue bias) {
  fe_ir *ir = a->n->ir;
  MlirValue *parts[3] = {&a->q, &a->k, &a->v}, at = fe_x_int(ir, 0);
  for (unsigned i = 0; i < 3; ++i) {
    fe_dims d;
    if (fe_is_null(*parts[i]) || !fe_dims_of(ir, *parts[i], &d) || d.rank != 3)
      return fe_node_error(a->n, NULL,
                           "a bias goes with keys and values of rank 3");
    MlirValue to = FE_X(ir, "Add", at, fe_x_size(ir, *parts[i], 2));
    MlirValue part = fe_x_slice(ir, bias, 0, at, to);
    *parts[i] = FE_X(ir, "Add", *parts[i], part);
    at = to;
    if (fe_is_null(*parts[i]))
      return FE_FAILED;
  }
  return FE_OK;
}

/// Query, key and value in the forms they may have.
static fe_status take(attention *a, MlirValue q, MlirValue k, MlirValue v) {
  fe_node *n = a->n;
  fe_ir *ir = n->ir;
  fe_dims d, e;
  if (fe_is_null(q) || !fe_dims_of(ir, q, &d))
    return fe_node_error(n, NULL, "input 'query' is missing");
  a->q = q;
  a->k = k;
  a->v = v;
  if (fe_is_null(k)) {
    if (d.rank != 5 || !fe_is_null(v))
      return fe_node_error(n, NULL,
                           "without key the query must be of rank 5 and hold "
                           "key and value, too");
    a->q = packed_part(ir, q, &d, 0);
    a->k = packed_part(ir, q, &d, 1);
    a->v = packed_part(ir, q, &d, 2);
  } else if (fe_dims_of(ir, k, &e) && e.rank == 5) {
    if (!fe_is_null(v))
      return fe_node_error(n, NULL, "a key of rank 5 holds the value, too");
    a->k = packed_part(ir, k, &e, 0);
    a->v = packed_part(ir, k, &e, 1);
  } else if (fe_is_null(v)) {
    return fe_node_error(n, NULL, "input 'value' is missing");
  }
  if (fe_is_null(a->q) || fe_is_null(a->k) || fe_is_null(a->v))
    return FE_FAILED;
  if (!fe_dims_of(ir, a->q, &d) || d.rank != 3)
    return fe_node_error(n, NULL, "input 'query' must have rank 3 or 5");
  return FE_OK;
}

static fe_status expand_multi_head(fe_node *n, MlirValue *results) {
  enum {
    QUERY,
    KEY,
    VALUE,
    BIAS,
    MASK,
    ADDED,
    PAST_K,
    PAST_V,
    LENGTH,
    INDIRECTION
  };
  attention a = {.n = n,
                 .mask = fe_node_in(n, MASK),
                 .bias = fe_node_in(n, ADDED),
                 .past_k = fe_node_in(n, PAST_K),
                 .past_v = fe_node_in(n, PAST_V),
                 .length = length_of(n, fe_node_in(n, LENGTH))};
  if (read_heads(&a))
    return FE_FAILED;
  if (read_beams(&a, INDIRECTION))
    return FE_FAILED;
  if (take(&a, fe_node_in(n, QUERY), fe_node_in(n, KEY), fe_node_in(n, VALUE)))
    return FE_FAILED;
  if (!fe_is_null(fe_node_in(n, BIAS)) && add_bias(&a, fe_node_in(n, BIAS)))
    return FE_FAILED;
  MlirValue out[4] = {{0}};
  if (make(&a, out))
    return FE_FAILED;
  memcpy(results, out, (n->n_out < 4 ? n->n_out : 4) * sizeof *out);
  return FE_OK;
}

/// One new row per sequence; without key and value the query has all three.
static fe_status expand_decoder(fe_node *n, MlirValue *results) {
  enum {
    QUERY,
    KEY,
    VALUE,
    MASK,
    ADDED,
    PAST_K,
    PAST_V,
    LENGTH,
    BEAM_WIDTH,
    INDIRECTION,
    BIAS
  };
  bool shared = fe_node_int(n, "past_present_share_buffer", 0) != 0;
  MlirValue length = fe_node_in(n, LENGTH), bias = fe_node_in(n, BIAS);
  attention a = {.n = n,
                 .mask = fe_node_in(n, MASK),
                 .bias = fe_node_in(n, ADDED),
                 .past_k = fe_node_in(n, PAST_K),
                 .past_v = fe_node_in(n, PAST_V)};
  fe_dims d;
  if (read_heads(&a) || fe_node_dims(n, QUERY, 3, &d))
    return FE_FAILED;
  if (shared && fe_is_null(length))
    return fe_node_error(
        n, NULL, "past_present_share_buffer needs past_sequence_length");
  if (shared)
    a.length = length_of(n, length);
  // How many beams there are is what cache_indirection says.
  if (read_beams(&a, INDIRECTION))
    return FE_FAILED;
  bool packed = fe_is_null(fe_node_in(n, KEY));
  if (packed ? split(&a, fe_node_in(n, QUERY))
             : take(&a, fe_node_in(n, QUERY), fe_node_in(n, KEY),
                    fe_node_in(n, VALUE)))
    return FE_FAILED;
  if (!fe_is_null(bias) && add_bias(&a, bias))
    return FE_FAILED;
  MlirValue out[4] = {{0}};
  if (make(&a, out))
    return FE_FAILED;
  memcpy(results, out, (n->n_out < 4 ? n->n_out : 4) * sizeof *out);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def self_attrs[] = {
    {"num_heads", FE_A_INT, NULL},
    {"scale", FE_A_FLOAT, "0"},
    {"mask_filter_value", FE_A_FLOAT, "-10000"},
    {"unidirectional", FE_A_INT, "0"},
    {"do_rotary", FE_A_INT, "0"},
    {"rotary_embedding_dim", FE_A_INT, "0"},
    {"past_present_share_buffer", FE_A_INT, "0"},
    {"qkv_hidden_sizes", FE_A_INTS, ""},
    {0}};
static const fe_attr_def multi_head_attrs[] = {
    {"num_heads", FE_A_INT, NULL},
    {"scale", FE_A_FLOAT, "0"},
    {"mask_filter_value", FE_A_FLOAT, "-10000"},
    {"unidirectional", FE_A_INT, "0"},
    {0}};

static const fe_attr_def decoder_attrs[] = {
    {"num_heads", FE_A_INT, NULL},
    {"scale", FE_A_FLOAT, "0"},
    {"mask_filter_value", FE_A_FLOAT, "-10000"},
    {"past_present_share_buffer", FE_A_INT, "0"},
    {"output_qk", FE_A_INT, "0"},
    {0}};

/// Keys and values are rows of all heads, or of each.
#define CACHED_SIZES                                                           \
  "query:b s _, key:b t _, value:b t _, key:b $num_heads k _, "                \
  "value:b $num_heads k _, past_key:b $num_heads p _, "                        \
  "past_value:b $num_heads p _"

const fe_op_row fe_family_contrib_attention[] = {
    FE_MS_ROW("Attention",
              "input:T, weights:T, bias?:T, mask_index?:M, past?:T, "
              "attention_bias?:T, past_sequence_length?:M",
              "output:T, present:T", "T=f32,f16;M=i32", expand_attention,
              .attrs = self_attrs, .limits = "without do_rotary"),
    FE_MS_ROW(
        "QAttention",
        "input:T1, weight:T2, bias:T3, input_scale:T3, weight_scale:T3, "
        "mask_index?:M, input_zero_point?:T1, weight_zero_point?:T2, past?:T3",
        "output:T3, present:T3", "T1=i8,u8;T2=i8,u8;T3=f32,f16;M=i32",
        expand_q_attention, .attrs = self_attrs,
        .limits = "without do_rotary and shared caches"),
    FE_MS_ROW("MultiHeadAttention",
              "query:T, key?:T, value?:T, bias?:T, key_padding_mask?:M, "
              "attention_bias?:T, past_key?:T, past_value?:T, "
              "past_sequence_length?:M, cache_indirection?:M",
              "output:T, present_key:T, present_value:T, qk:T",
              "T=f32,f16;M=i32", expand_multi_head, .attrs = multi_head_attrs,
              .sizes = CACHED_SIZES),
    FE_MS_ROW(
        "DecoderMaskedMultiHeadAttention",
        "query:T, key?:T, value?:T, mask_index?:M, attention_bias?:T, "
        "past_key?:T, past_value?:T, past_sequence_length?:M, beam_width?:M, "
        "cache_indirection?:M, bias?:T",
        "output:T, present_key:T, present_value:T, qk:T", "T=f32,f16;M=i32",
        expand_decoder, .attrs = decoder_attrs, .sizes = CACHED_SIZES),
    {0}};
