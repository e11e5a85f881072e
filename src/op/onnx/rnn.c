//===- rnn.c - RNN, GRU, LSTM ------------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One op for every cell; see src/op/rnn_kernel.c for how it is computed.
// Halves are converted to f32 around it.
//
//===----------------------------------------------------------------------===//
#include "op/rnn.h"

#include <inttypes.h>
#include <string.h>

static fe_rnn_cell cell_of(const fe_op_row *row) {
  return !strcmp(row->name, "LSTM")  ? FE_LSTM
         : !strcmp(row->name, "GRU") ? FE_GRU
                                     : FE_RNN;
}

enum { X, W, R, B, LENGTHS, H, C, P, N_INPUTS };

/// The attributes with their lists, for a given row-major shape.
static fe_status check_shape(fe_infer *f, unsigned i, unsigned rank,
                             const int64_t *sizes) {
  fe_dims d;
  if (i >= f->n_in || fe_is_null(f->in[i]))
    return FE_OK;
  if (fe_in_dims(f, i, &d))
    return FE_FAILED;
  bool fits = d.rank == rank;
  for (unsigned k = 0; fits && k < rank; ++k) {
    int64_t n = fe_dim_static(d.d[k]);
    fits = sizes[k] == FE_DYN || n == FE_DYN || n == sizes[k];
  }
  if (!fits)
    return fe_infer_error(f, NULL,
                          "input %u does not have the shape that %s "
                          "demands",
                          i, f->row->name);
  return FE_OK;
}

/// The number of hidden units by R, by the attribute, or by the rows of the
/// weights; FE_DYN: only the run knows.
static int64_t hidden_of(fe_infer *f, const fe_rnn *n, const fe_dims *r) {
  fe_dims w = {0};
  int64_t hidden = fe_dim_static(r->d[2]);
  int64_t given = fe_attr_i64(f->attrs, "hidden_size", 0);
  if (hidden != FE_DYN || given)
    return hidden != FE_DYN ? hidden : given;
  int64_t rows = fe_dim_static(r->d[1]);
  if (rows == FE_DYN && fe_dims_of(f->ir, f->in[W], &w) && w.rank == 3)
    rows = fe_dim_static(w.d[1]);
  return rows == FE_DYN ? FE_DYN : rows / n->gates;
}

static fe_status infer_rnn(fe_infer *f) {
  fe_dims x, r;
  if (fe_in_dims(f, X, &x) || fe_in_dims(f, R, &r))
    return FE_FAILED;
  if (x.rank != 3 || r.rank != 3)
    return fe_infer_error(f, NULL, "X and R must have rank 3");
  fe_rnn n;
  if (fe_rnn_parse(f->ir, f->where, f->attrs, cell_of(f->row), &n))
    return FE_FAILED;
  int64_t given = fe_attr_i64(f->attrs, "hidden_size", 0);
  int64_t hidden = hidden_of(f, &n, &r);
  if (hidden == 0 || given < 0)
    return fe_infer_error(f, NULL, "there must be at least one hidden unit");
  if (given && given != hidden)
    return fe_infer_error(f, NULL,
                          "hidden_size is %" PRId64 " but R is for %" PRId64,
                          given, hidden);
  MlirAffineExpr time = x.d[n.batch_first], batch = x.d[!n.batch_first];
  bool open = hidden == FE_DYN; // only the run knows
  int64_t d = n.directions, b = fe_dim_static(batch);
  int64_t g = open ? FE_DYN : n.gates * hidden;
  int64_t state[3] = {d, b, hidden}, swapped[3] = {b, d, hidden};
  const int64_t *states = n.batch_first ? swapped : state;
  if (check_shape(f, W, 3, (int64_t[]){d, g, fe_dim_static(x.d[2])}) ||
      check_shape(f, R, 3, (int64_t[]){d, g, hidden}) ||
      check_shape(f, B, 2, (int64_t[]){d, open ? g : 2 * g}) ||
      check_shape(f, LENGTHS, 1, &b) || check_shape(f, H, 3, states) ||
      check_shape(f, C, 3, states) ||
      check_shape(f, P, 2, (int64_t[]){d, open ? g : 3 * hidden}))
    return FE_FAILED;
  MlirAffineExpr dirs = fe_dim_const(f->ir, d),
                 h = open ? r.d[2] : fe_dim_const(f->ir, hidden);
  fe_dims y = {.rank = 4, .d = {time, dirs, batch, h}};
  fe_dims last = {.rank = 3, .d = {dirs, batch, h}};
  if (n.batch_first) {
    y = (fe_dims){.rank = 4, .d = {batch, time, dirs, h}};
    last = (fe_dims){.rank = 3, .d = {batch, dirs, h}};
  }
  fe_dtype t = fe_in_dtype(f, X);
  fe_out_tensor(f, 0, t, &y);
  fe_out_tensor(f, 1, t, &last);
  if (f->n_out > 2)
    fe_out_tensor(f, 2, t, &last);
  return FE_OK;
}

static fe_status lower_rnn(fe_lower *l) {
  fe_dtype t = l->in_type[X], work = fe_work_type(t);
  MlirValue in[N_INPUTS] = {{0}};
  for (unsigned i = 0; i < l->n_in && i < N_INPUTS; ++i)
    if (!fe_is_null(l->in[i]))
      in[i] = i == LENGTHS ? l->in[i] : fe_to_type(l, l->in[i], t, work);
  fe_rnn n;
  if (fe_rnn_parse(l->ir, l->where, l->op, cell_of(l->row), &n))
    return FE_FAILED;
  // What inference could not compare.
  unsigned time = n.batch_first, batch = !time;
  fe_ir *ir = l->ir;
  int64_t hidden = fe_static_dim(fe_result(l->op, 1), 2);
  MlirValue h =
      hidden == FE_DYN ? fe_size(l, l->in[R], 2) : fe_index(ir, hidden);
  MlirValue d = fe_index(ir, n.directions), b = fe_size(l, l->in[X], batch);
  MlirValue g = fe_mul(ir, fe_index(ir, n.gates), h);
  const struct {
    unsigned input, dim;
    MlirValue size;
  } checks[] = {
      {W, 0, d},
      {W, 1, g},
      {W, 2, fe_size(l, l->in[X], 2)},
      {R, 0, d},
      {R, 1, g},
      {R, 2, h},
      {B, 0, d},
      {B, 1, fe_mul(ir, fe_index(ir, 2), g)},
      {LENGTHS, 0, b},
      {H, batch, b},
      {H, time, d},
      {H, 2, h},
      {C, batch, b},
      {C, time, d},
      {C, 2, h},
      {P, 0, d},
      {P, 1, fe_mul(ir, fe_index(ir, 3), h)},
  };
  for (unsigned i = 0; i < FE_COUNT(checks); ++i) {
    MlirValue v = in[checks[i].input];
    if (!fe_is_null(v))
      fe_check_equal(l, fe_size(l, l->in[checks[i].input], checks[i].dim),
                     checks[i].size, "the operands' sizes do not agree");
  }
  fe_const c = {0};
  bool constant = t == work && fe_const_of(l->ir, fe_operand(l->op, R), &c);
  fe_rnn_operands o = {.type = work,
                       .x = in[X],
                       .w = in[W],
                       .r = in[R],
                       .bias = in[B],
                       .lengths = in[LENGTHS],
                       .h = in[H],
                       .c = in[C],
                       .p = in[P],
                       .hidden = h,
                       .r_data = constant ? c.data : NULL,
                       .wants_y = fe_n_uses(fe_result(l->op, 0)) != 0};
  MlirValue out[3];
  fe_rnn_lower(l, &n, &o, out);
  for (unsigned i = 0; i < l->n_out; ++i)
    if (!fe_is_null(out[i]))
      l->out[i] = fe_to_type(l, out[i], work, t);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

/// output_sequence was of opset 1: whether Y is wanted.
static fe_status upgrade_rnn(fe_node *n) {
  fe_node_attr_remove(n, "output_sequence");
  return FE_OK;
}

#define COMMON_ATTRS                                                           \
  {"hidden_size", FE_A_INT, "0"},                                              \
      {"direction", FE_A_STRING, "forward|reverse|bidirectional"},             \
      {"activations", FE_A_STRINGS, ""},                                       \
      {"activation_alpha", FE_A_FLOATS, ""},                                   \
      {"activation_beta", FE_A_FLOATS, ""}, {"clip", FE_A_FLOAT, "0"},         \
      {"layout", FE_A_INT, "0|1"}

static const fe_attr_def rnn_attrs[] = {COMMON_ATTRS, {0}};
static const fe_attr_def gru_attrs[] = {
    COMMON_ATTRS, {"linear_before_reset", FE_A_INT, "0"}, {0}};
static const fe_attr_def lstm_attrs[] = {
    COMMON_ATTRS, {"input_forget", FE_A_INT, "0"}, {0}};

#define RECURRENT(op_name, op_attrs, more_in, more_out)                        \
  {.name = op_name,                                                            \
   .since = 1,                                                                 \
   .inputs = "X:T, W:T, R:T, B?:T, sequence_lens?:T1, initial_h?:T" more_in,   \
   .outputs = "Y:T, Y_h:T" more_out,                                           \
   .types = "T=float;T1=i32",                                                  \
   .attrs = op_attrs,                                                          \
   .upgrade = upgrade_rnn,                                                     \
   .infer = infer_rnn,                                                         \
   .lower = lower_rnn}

const fe_op_row fe_family_rnn[] = {
    RECURRENT("RNN", rnn_attrs, "", ""),
    RECURRENT("GRU", gru_attrs, "", ""),
    RECURRENT("LSTM", lstm_attrs, ", initial_c?:T, P?:T", ", Y_c:T"),
    {0}};
