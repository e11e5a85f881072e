//===- contrib_misc.c - small operators of ONNX Runtime's domain -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that the standard has too, by now, or that are a few of its
// operators; and MurmurHash3, a function of single elements, or of texts.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"
#include "op/scalar.h"

#include <string.h>

//===-- As in the standard --------------------------------------------------//

static fe_status expand_trilu(fe_node *n, MlirValue *results) {
  return fe_node_as(n, "Trilu", results);
}

static fe_status expand_gather_nd(fe_node *n, MlirValue *results) {
  if (fe_node_require(n, 2))
    return FE_FAILED;
  n->in.at[1] = fe_x_cast(n->ir, n->in.at[1], FE_I64);
  return fe_node_as(n, "GatherND", results);
}

/// One number, in whatever shape, as scalar.
static MlirValue scalar(fe_ir *ir, MlirValue v) {
  return fe_is_null(v) ? v : fe_x_reshape(ir, v, 0, NULL);
}

static fe_status expand_range(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (fe_node_require(n, 2))
    return FE_FAILED;
  MlirValue delta = fe_node_in(n, 2);
  const MlirValue in[3] = {
      scalar(ir, n->in.at[0]), scalar(ir, n->in.at[1]),
      fe_is_null(delta) ? fe_constant_scalar(ir, fe_x_type(n->in.at[0]), 1)
                        : scalar(ir, delta)};
  return fe_node_done(FE_X(ir, "Range", in[0], in[1], in[2]), results);
}

static fe_status expand_pad(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  const int64_t flat = -1;
  if (fe_node_require(n, 2))
    return FE_FAILED;
  n->in.at[1] = fe_x_reshape(ir, n->in.at[1], 1, &flat);
  if (n->in.n > 2)
    n->in.at[2] = scalar(ir, n->in.at[2]);
  return fe_node_as(n, "Pad", results);
}

static fe_status expand_dims(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  int64_t axis;
  if (fe_node_require(n, 2))
    return FE_FAILED;
  if (fe_const_ints(ir, n->in.at[1], &axis, 1) != 1)
    return fe_node_error(n, "give the axis as a constant",
                         "the axis must be known when compiling");
  return fe_node_done(fe_x_unsqueeze(ir, n->in.at[0], axis), results);
}

/// In the order in which the values occur.
static fe_status expand_unique(fe_node *n, MlirValue *results) {
  fe_dims d;
  if (fe_node_dims(n, 0, 1, &d))
    return FE_FAILED;
  MlirNamedAttribute unsorted = fe_at_i64(n->ir, "sorted", 0);
  MlirOperation op = fe_onnx(n->ir, "Unique", 1, n->in.at, 4, 1, &unsorted);
  if (mlirOperationIsNull(op))
    return FE_FAILED;
  static const unsigned which[3] = {0, 2, 3}; // values, places, counts
  for (unsigned i = 0; i < n->n_out && i < 3; ++i)
    results[i] = fe_result(op, which[i]);
  return FE_OK;
}

//===-- Fourier transforms --------------------------------------------------//

/// Transform of one axis of x [..][2]; as for DFT.
static MlirValue transformed(fe_ir *ir, MlirValue x, int64_t axis,
                             bool onesided, bool inverse) {
  MlirValue in[3] = {x, {0}, fe_constant_scalar(ir, FE_I64, (double)axis)};
  const MlirNamedAttribute attrs[2] = {fe_at_i64(ir, "onesided", onesided),
                                       fe_at_i64(ir, "inverse", inverse)};
  return fe_is_null(x) ? x : fe_first(fe_onnx(ir, "DFT", 3, in, 1, 2, attrs));
}

static fe_status check_transform(fe_node *n, int64_t *dims) {
  *dims = fe_node_int(n, "signal_ndim", 1);
  if (!fe_node_int(n, "onesided", 1) || fe_node_int(n, "normalized", 0))
    return fe_node_error(n, NULL,
                         "only onesided transforms without "
                         "normalization are supported");
  return *dims >= 1 && *dims <= 3
             ? fe_node_require(n, 1)
             : fe_node_error(n, NULL, "signal_ndim must be 1, 2 or 3");
}

static fe_status expand_rfft(fe_node *n, MlirValue *results) {
  int64_t dims;
  if (check_transform(n, &dims))
    return FE_FAILED;
  MlirValue v = fe_x_unsqueeze(n->ir, fe_node_in(n, 0), -1);
  for (int64_t i = 0; i < dims; ++i)
    v = transformed(n->ir, v, -2 - i, i == 0, false);
  return fe_node_done(v, results);
}

/// The half that is not there is the conjugate of the other one.
static fe_status expand_irfft(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  int64_t dims;
  if (check_transform(n, &dims))
    return FE_FAILED;
  MlirValue v = fe_node_in(n, 0);
  fe_dims d;
  if (!fe_dims_of(ir, v, &d) || d.rank < (unsigned)dims + 1)
    return fe_node_error(n, NULL, "X has too few dimensions");
  if (fe_dim_static(d.d[d.rank - 1]) != 2) { // known to the run only
    int64_t shape[FE_MAX_RANK] = {0};
    shape[d.rank - 1] = 2;
    v = fe_x_reshape(ir, v, d.rank, shape);
  }
  for (int64_t i = dims - 1; i > 0; --i)
    v = transformed(ir, v, -2 - i, false, true);
  MlirValue back = FE_X(ir, "Slice", v, fe_x_int(ir, -2), fe_x_int(ir, 0),
                        fe_x_int(ir, -2), fe_x_int(ir, -1));
  fe_dtype t = fe_x_type(v);
  if (fe_is_null(back))
    return FE_FAILED;
  const float signs[2] = {1, -1};
  const int64_t two = 2;
  MlirValue sign = fe_constant(ir, "conjugate", FE_F32, 1, &two,
                               fe_memdup(ir->arena, signs, sizeof signs));
  back = FE_X(ir, "Mul", back, fe_x_cast(ir, sign, t));
  const MlirValue both[2] = {v, back};
  v = transformed(ir, fe_x_concat(ir, -2, 2, both), -2, false, true);
  return fe_node_done(fe_x_pick(ir, v, -1, 0), results);
}

//===-- WordConvEmbedding ---------------------------------------------------//

/// Convolutions over the embedded letters of a word, tanh, and the largest of
/// each filter. A word ends at its last letter but is as long as a filter; one
/// without letters (0 in front) gives zeros, as does all the rest behind a
/// word.
static fe_status expand_word_conv(fe_node *n, MlirValue *results) {
  enum { SEQUENCE, W, B, C };
  fe_ir *ir = n->ir;
  fe_dims s, w, c;
  if (fe_node_dims(n, SEQUENCE, 2, &s) || fe_node_dims(n, W, 4, &w) ||
      fe_node_require(n, 4) || fe_node_dims(n, C, 2, &c))
    return FE_FAILED;
  int64_t width = fe_dim_static(w.d[2]);
  if (width == FE_DYN)
    return fe_node_error(n, NULL, "the width of the filters must be known");
  MlirValue letters = n->in.at[SEQUENCE];
  MlirValue zero = fe_constant_scalar(ir, FE_I32, 0);
  MlirValue is_letter =
      fe_x_cast(ir, FE_X(ir, "Greater", letters, zero), FE_I32);
  MlirValue count = FE_X(ir, "ReduceSum", is_letter, fe_x_int(ir, 1));
  count = FE_X(ir, "Mul", count, fe_x_part(ir, is_letter, 1, 0, 1));
  MlirValue length =
      FE_X(ir, "Max", count, fe_constant_scalar(ir, FE_I32, (double)width));
  // [words][1][letters][size]
  MlirValue x = FE_X(ir, "Gather", n->in.at[C], letters);
  MlirValue y =
      FE_X(ir, "Conv", fe_x_unsqueeze(ir, x, 1), n->in.at[W], n->in.at[B]);
  y = FE_X(ir, "Tanh", FE_X(ir, "Squeeze", y, fe_x_int(ir, 3)));
  // Places beyond the word's end do not count: [words][filters][places].
  MlirValue place = fe_x_cast(ir, fe_x_range(ir, fe_x_size(ir, y, 2)), FE_I32);
  MlirValue last =
      FE_X(ir, "Sub", length, fe_constant_scalar(ir, FE_I32, (double)width));
  MlirValue counts = FE_X(ir, "LessOrEqual", place, last);
  y = FE_X(ir, "Where", fe_x_unsqueeze(ir, counts, 1), y,
           fe_constant_scalar(ir, FE_F32, -2));
  y = FE_COMPOSE(ir, "ReduceMax", FE_VALUES(y, fe_x_int(ir, 2)),
                 FE_ATTRS(fe_at_i64(ir, "keepdims", 0)));
  MlirValue is_word = FE_X(ir, "Greater", count, zero);
  return fe_node_done(
      FE_X(ir, "Where", is_word, y, fe_constant_scalar(ir, FE_F32, 0)),
      results);
}

//===-- DynamicQuantizeLSTM -------------------------------------------------//

/// Weights [directions][inputs][4 * hidden] of bytes as the standard has them.
/// Scales are one number per direction, or one per column.
static MlirValue lstm_weights(fe_node *n, unsigned weight, unsigned scale) {
  fe_ir *ir = n->ir;
  fe_dims d;
  MlirValue s = n->in.at[scale], z = n->in.at[scale + 1];
  if (!fe_dims_of(ir, s, &d) || d.rank < 1 || d.rank > 2)
    return (MlirValue){0};
  bool per_column = d.rank == 2;
  s = per_column ? fe_x_unsqueeze(ir, s, 1) : fe_x_behind(ir, s, 2);
  if (!fe_dims_of(ir, z, &d) || d.rank < 1 || d.rank > 2)
    return (MlirValue){0};
  z = d.rank == 2 ? fe_x_unsqueeze(ir, z, 1) : fe_x_behind(ir, z, 2);
  MlirValue w = FE_X(ir, "Sub", fe_x_cast(ir, n->in.at[weight], FE_F32),
                     fe_x_cast(ir, z, FE_F32));
  static const int64_t order[3] = {0, 2, 1};
  return fe_x_transpose(ir, FE_X(ir, "Mul", w, s), 3, order);
}

static fe_status expand_lstm(fe_node *n, MlirValue *results) {
  enum { X, W, R, B, LENGTHS, H, C, P, W_SCALE, W_ZERO, R_SCALE, R_ZERO };
  fe_dims d;
  if (n->in.n != R_ZERO + 1 || fe_node_dims(n, X, 3, &d) ||
      fe_node_dims(n, W, 3, &d) || fe_node_dims(n, R, 3, &d))
    return fe_node_error(n, NULL, "takes 12 inputs, X, W and R of rank 3");
  for (unsigned i = W_SCALE; i <= R_ZERO; ++i)
    if (fe_is_null(n->in.at[i]))
      return fe_node_error(n, NULL, "a scale or zero point is missing");
  MlirValue in[P + 1];
  memcpy(in, n->in.at, sizeof in);
  in[W] = lstm_weights(n, W, W_SCALE);
  in[R] = lstm_weights(n, R, R_SCALE);
  if (fe_is_null(in[W]) || fe_is_null(in[R]))
    return fe_node_error(n, NULL, "the scales do not fit the weights");
  return fe_node_over(n, "LSTM", P + 1, in, n->n_out, results);
}

//===-- MurmurHash3 ---------------------------------------------------------//

static MlirValue i32(fe_ir *ir, MlirValue like, uint32_t v) {
  return fe_int(ir, mlirValueGetType(like), (int32_t)v);
}

static MlirValue rotated(fe_ir *ir, MlirValue v, unsigned bits) {
  return fe_or(ir, fe_shl(ir, v, i32(ir, v, bits)),
               fe_shru(ir, v, i32(ir, v, 32 - bits)));
}

/// 32 bits mixed into the hash.
static MlirValue mixed(fe_ir *ir, MlirValue hash, MlirValue k) {
  k = rotated(ir, fe_mul(ir, k, i32(ir, k, 0xcc9e2d51u)), 15);
  hash = fe_xor(ir, hash, fe_mul(ir, k, i32(ir, k, 0x1b873593u)));
  hash = fe_mul(ir, rotated(ir, hash, 13), i32(ir, k, 5));
  return fe_add(ir, hash, i32(ir, k, 0xe6546b64u));
}

FE_SCALAR(murmur_hash) {
  FE_UNUSED;
  MlirValue v = x[0];
  bool wide = fe_dtype_bits(in) == 64;
  if (fe_dtype_is_float(in))
    v = fe_bitcast(ir, v, wide ? ir->i64 : ir->i32);
  MlirValue low = v, high = {0};
  if (wide) {
    low = fe_convert(ir, v, ir->i32, true, true);
    high = fe_shru(ir, v, fe_int(ir, mlirValueGetType(v), 32));
    high = fe_convert(ir, high, ir->i32, true, true);
  }
  MlirValue hash = i32(ir, low, (uint32_t)fe_attr_i64(op, "seed", 0));
  hash = mixed(ir, hash, low);
  if (wide)
    hash = mixed(ir, hash, high);
  hash = fe_xor(ir, hash, i32(ir, hash, wide ? 8 : 4));
  static const struct {
    unsigned shift;
    uint32_t factor;
  } last[3] = {{16, 0x85ebca6bu}, {13, 0xc2b2ae35u}, {16, 1}};
  for (unsigned i = 0; i < 3; ++i) {
    hash = fe_xor(ir, hash, fe_shru(ir, hash, i32(ir, hash, last[i].shift)));
    hash = fe_mul(ir, hash, i32(ir, hash, last[i].factor));
  }
  return hash;
}

static fe_status infer_murmur_hash(fe_infer *f) {
  fe_dims d;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_attr_i64(f->attrs, "positive", 1) ? FE_U32 : FE_I32,
                &d);
  return FE_OK;
}

/// Texts are hashed by the runtime.
static fe_status expand_murmur_hash(fe_node *n, MlirValue *results) {
  if (fe_x_type(fe_node_in(n, 0)) != FE_STRING)
    return FE_OK; // the op itself
  return fe_node_done(
      FE_COMPOSE(
          n->ir, "ms_murmur_hash_text", FE_VALUES(n->in.at[0]),
          FE_ATTRS(fe_at_i64(n->ir, "positive", fe_node_int(n, "positive", 1)),
                   fe_at_i64(n->ir, "seed", fe_node_int(n, "seed", 0)))),
      results);
}

static fe_status lower_murmur_text(fe_lower *l) {
  MlirValue sizes[FE_MAX_RANK];
  MlirValue seed = fe_index(l->ir, fe_attr_i64(l->op, "seed", 0));
  const int types[2] = {FE_STRING, (int)l->out_type[0]};
  fe_sizes_of(l, l->in[0], sizes);
  MlirValue out = fe_out_empty(l, 0, sizes);
  const fe_runtime call = {.name = "string_murmur",
                           .n_in = 1,
                           .in = l->in,
                           .n_out = 1,
                           .out = &out,
                           .types = types,
                           .n_numbers = 1,
                           .numbers = &seed};
  fe_runtime_call(l, &call, l->out, NULL);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def trilu_attrs[] = {{"upper", FE_A_INT, "1"}, {0}};
static const fe_attr_def pad_attrs[] = {
    {"mode", FE_A_STRING, "constant|reflect|edge|wrap"}, {0}};
static const fe_attr_def fft_attrs[] = {{"normalized", FE_A_INT, "0"},
                                        {"onesided", FE_A_INT, "1"},
                                        {"signal_ndim", FE_A_INT, "1"},
                                        {0}};
static const fe_attr_def word_attrs[] = {{"char_embedding_size", FE_A_INT, "0"},
                                         {"conv_window_size", FE_A_INT, "0"},
                                         {"embedding_size", FE_A_INT, "0"},
                                         {0}};
static const fe_attr_def lstm_attrs[] = {
    {"activation_alpha", FE_A_FLOATS, ""},
    {"activation_beta", FE_A_FLOATS, ""},
    {"activations", FE_A_STRINGS, ""},
    {"clip", FE_A_FLOAT, "0"},
    {"direction", FE_A_STRING, "forward|reverse|bidirectional"},
    {"hidden_size", FE_A_INT, "0"},
    {"input_forget", FE_A_INT, "0"},
    {0}};
static const fe_attr_def hash_attrs[] = {
    {"positive", FE_A_INT, "1"}, {"seed", FE_A_INT, "0"}, {0}};

const fe_op_row fe_family_contrib_misc[] = {
    FE_MS_ROW("Trilu", "X:T, k?:I", "Y:T", "T=bool,real;I=i64", expand_trilu,
              .attrs = trilu_attrs),
    FE_MS_ROW("GatherND", "data:T, indices:I", "output:T", "T=all;I=i32,i64",
              expand_gather_nd, .attrs = NULL),
    FE_MS_ROW("Range", "start:T, limit:T, delta?:T", "Y:T",
              "T=float,i16,i32,i64", expand_range, .attrs = NULL),
    FE_MS_ROW("Pad", "data:T, pads:I, value?:T", "output:T", "T=all;I=i64",
              expand_pad, .attrs = pad_attrs),
    FE_MS_ROW("ExpandDims", "X:T, axis:I", "Y:T", "T=all;I=i32", expand_dims,
              .limits = "a constant axis"),
    FE_MS_ROW("Unique", "x:T", "y:T, idx:I, counts:I", "T=real,bool;I=i64",
              expand_unique, .attrs = NULL),
    FE_MS_ROW("Rfft", "X:T", "Y:T", "T=float", expand_rfft, .attrs = fft_attrs),
    FE_MS_ROW("Irfft", "X:T", "Y:T", "T=float", expand_irfft,
              .attrs = fft_attrs),
    FE_MS_ROW("WordConvEmbedding", "Sequence:I, W:T, B:T, C:T", "Y:T",
              "T=f32;I=i32", expand_word_conv, .attrs = word_attrs),
    FE_MS_ROW(
        "DynamicQuantizeLSTM",
        "X:T, W:Q, R:Q, B?:T, sequence_lens?:I, initial_h?:T, initial_c?:T, "
        "P?:T, W_scale:T, W_zero_point:Q, R_scale:T, R_zero_point:Q",
        "Y:T, Y_h:T, Y_c:T", "T=f32;Q=i8,u8;I=i32", expand_lstm,
        .attrs = lstm_attrs,
        .limits = "weights become floats, what they are multiplied with stays "
                  "in floats"),
    {.name = "MurmurHash3",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "X:T",
     .outputs = "Y:T2",
     .types = "T=i32,u32,i64,u64,f32,f64,str;T2=i32,u32",
     .attrs = hash_attrs,
     .flags = FE_POINTWISE | FE_FUNCTION,
     .infer = infer_murmur_hash,
     .expand = expand_murmur_hash,
     .scalar = murmur_hash},
    {.name = "MurmurHashText",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "X:T",
     .outputs = "Y:T2",
     .types = "T=str;T2=i32,u32",
     .attrs = hash_attrs,
     .flags = FE_INTERNAL,
     .infer = infer_murmur_hash,
     .lower = lower_murmur_text},
    {0}};
