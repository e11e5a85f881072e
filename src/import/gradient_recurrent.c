//===- gradient_recurrent.c - RNN, GRU, LSTM by other operators --*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each direction is a product for all steps and a loop over them that carries
// the states: its derivatives are those of loops. Backward directions turn the
// sequences around before and behind it. Halves are computed as f32, as the
// operators do.
//
//===----------------------------------------------------------------------===//
#include "import/gradient.h"
#include "op/rnn.h"

#include <string.h>

enum { X, W, R, B, LENGTHS, H, C, P };

typedef struct layer {
  fe_step s; // of the op, its dy of the type that is computed in
  fe_dtype type;
  fe_rnn rnn;
  unsigned d;              // direction
  MlirValue x, lengths;    // [T][B][I], [B]; null: all of them are T
  MlirValue time;          // scalar
  MlirAffineExpr steps;    // the same
  MlirValue hidden, batch; // lists of one
  bool turned;
  MlirValue sums;          // [T][B][gates * H]
  MlirValue r, r_of_reset; // transposed; GRU's last gate by itself or null
  MlirValue bias_of_reset, peep[3];
} layer;

static MlirValue operand(const layer *l, unsigned i) {
  MlirValue v = fe_d_operand(&l->s, i);
  return fe_is_null(v) || fe_d_type(v) == l->type
             ? v
             : fe_d_cast(&l->s, v, l->type);
}
static MlirValue add(const fe_step *s, MlirValue a, MlirValue b) {
  return fe_d_two(s, "Add", a, b);
}

/// Element i of dim `axis`.
static MlirValue picked(const fe_step *s, MlirValue v, int64_t i,
                        int64_t axis) {
  MlirNamedAttribute at = fe_at_i64(s->ir, "axis", axis);
  MlirValue in[2] = {v, fe_constant_scalar(s->ir, FE_I64, (double)i)};
  return fe_first(fe_onnx(s->ir, "Gather", 2, in, 1, 1, &at));
}

/// Gates [first, first + n) of dim `axis`.
static MlirValue gates(const layer *l, MlirValue v, int64_t axis, int64_t first,
                       int64_t n) {
  const fe_step *s = &l->s;
  MlirValue from = fe_d_mul(s, l->hidden, fe_d_int(s, first));
  MlirValue to = fe_d_mul(s, l->hidden, fe_d_int(s, first + n));
  return fe_onnx1(s->ir, "Slice", v, from, to, fe_d_int(s, axis));
}

static MlirValue turned(const layer *l, MlirValue v) {
  const fe_step *s = &l->s;
  MlirValue lengths = l->lengths;
  if (fe_is_null(lengths))
    lengths = fe_d_two(s, "Expand", l->time, l->batch);
  // What has no steps stays as it is.
  lengths = fe_d_two(s, "Max", lengths, fe_constant_scalar(s->ir, FE_I64, 1));
  MlirValue in[2] = {v, lengths};
  MlirNamedAttribute how[2] = {fe_at_i64(s->ir, "time_axis", 0),
                               fe_at_i64(s->ir, "batch_axis", 1)};
  return fe_first(fe_onnx(s->ir, "ReverseSequence", 2, in, 1, 2, how));
}

//===-- A step --------------------------------------------------------------//

static MlirValue apply(const layer *l, const fe_rnn_function *f, MlirValue v) {
  static const struct {
    const char *name, *op;
    bool alpha, beta; // attributes
  } rows[] = {{"leakyrelu", "LeakyRelu", true, false},
              {"thresholdedrelu", "ThresholdedRelu", true, false},
              {"hardsigmoid", "HardSigmoid", true, true},
              {"elu", "Elu", true, false},
              {"sigmoid", "Sigmoid", false, false},
              {"tanh", "Tanh", false, false},
              {"relu", "Relu", false, false},
              {"softsign", "Softsign", false, false},
              {"softplus", "Softplus", false, false}};
  const fe_step *s = &l->s;
  const char *name = fe_rnn_function_name(f);
  MlirNamedAttribute how[2];
  unsigned n = 0;
  if (!strcmp(name, "affine"))
    return add(s, fe_d_scaled(s, f->alpha, v), fe_d_number(s, f->beta));
  if (!strcmp(name, "scaledtanh"))
    return fe_d_scaled(s, f->alpha,
                       fe_d_one(s, "Tanh", fe_d_scaled(s, f->beta, v)));
  for (unsigned i = 0; i < FE_COUNT(rows); i++) {
    if (strcmp(name, rows[i].name))
      continue;
    if (rows[i].alpha)
      how[n++] = fe_at_f32(s->ir, "alpha", f->alpha);
    if (rows[i].beta)
      how[n++] = fe_at_f32(s->ir, "beta", f->beta);
    return fe_first(fe_onnx(s->ir, rows[i].op, 1, &v, 1, n, how));
  }
  return (MlirValue){0};
}

static MlirValue activated(const layer *l, unsigned f, MlirValue v) {
  double clip = l->rnn.clip;
  if (clip > 0)
    v = fe_onnx1(l->s.ir, "Clip", v, fe_d_number(&l->s, -clip),
                 fe_d_number(&l->s, clip));
  return apply(l, &l->rnn.f[l->d][f], v);
}

static MlirValue gru(const layer *l, MlirValue x, MlirValue h) {
  const fe_step *s = &l->s;
  MlirValue both = add(s, gates(l, x, 1, 0, 2), fe_d_two(s, "MatMul", h, l->r));
  MlirValue z = activated(l, 0, gates(l, both, 1, 0, 1));
  MlirValue reset = activated(l, 0, gates(l, both, 1, 1, 1)), v;
  if (l->rnn.linear_before_reset) {
    v = fe_d_two(s, "MatMul", h, l->r_of_reset);
    if (!fe_is_null(l->bias_of_reset))
      v = add(s, v, l->bias_of_reset);
    v = fe_d_mul(s, reset, v);
  } else {
    v = fe_d_two(s, "MatMul", fe_d_mul(s, reset, h), l->r_of_reset);
  }
  v = activated(l, 1, add(s, gates(l, x, 1, 2, 1), v));
  return add(s, v, fe_d_mul(s, z, fe_d_two(s, "Sub", h, v)));
}

static MlirValue peephole(const layer *l, MlirValue v, unsigned i,
                          MlirValue c) {
  return fe_is_null(l->peep[i]) ? v
                                : add(&l->s, v, fe_d_mul(&l->s, l->peep[i], c));
}

static MlirValue lstm(const layer *l, MlirValue x, MlirValue h, MlirValue *c) {
  const fe_step *s = &l->s;
  MlirValue all = add(s, x, fe_d_two(s, "MatMul", h, l->r));
  MlirValue i = activated(l, 0, peephole(l, gates(l, all, 1, 0, 1), 0, *c)), f;
  if (l->rnn.input_forget)
    f = fe_d_two(s, "Sub", fe_d_number(s, 1), i);
  else
    f = activated(l, 0, peephole(l, gates(l, all, 1, 2, 1), 2, *c));
  MlirValue g = activated(l, 1, gates(l, all, 1, 3, 1));
  *c = add(s, fe_d_mul(s, f, *c), fe_d_mul(s, i, g));
  MlirValue o = activated(l, 0, peephole(l, gates(l, all, 1, 1, 1), 1, *c));
  return fe_d_mul(s, o, apply(l, &l->rnn.f[l->d][2], *c));
}

static fe_status step(fe_model_loop *m, MlirValue iter, MlirValue cond,
                      const MlirValue *carried, MlirValue *go_on,
                      MlirValue *carried_out, MlirValue *scan_out) {
  (void)cond;
  (void)go_on;
  const layer *l = m->user;
  const fe_step *s = &l->s;
  MlirValue h = carried[0], y, c = {0};
  MlirValue x = fe_d_two(s, "Gather", l->sums, iter);
  if (l->rnn.cell == FE_LSTM) {
    c = carried[1];
    y = lstm(l, x, h, &c);
  } else if (l->rnn.cell == FE_GRU) {
    y = gru(l, x, h);
  } else {
    y = activated(l, 0, add(s, x, fe_d_two(s, "MatMul", h, l->r)));
  }
  carried_out[0] = scan_out[0] = y;
  if (!fe_is_null(l->lengths)) { // of sequences that have ended
    MlirValue alive = fe_d_two(
        s, "Unsqueeze", fe_d_two(s, "Less", iter, l->lengths), fe_d_int(s, 1));
    carried_out[0] = fe_d_where(s, alive, y, h);
    scan_out[0] = fe_d_where(s, alive, y, fe_d_number(s, 0));
    if (!fe_is_null(c))
      c = fe_d_where(s, alive, c, carried[1]);
  }
  if (!fe_is_null(c))
    carried_out[1] = c;
  return fe_is_null(y) || fe_is_null(carried_out[0]) ? FE_FAILED : FE_OK;
}

//===-- A direction ---------------------------------------------------------//

/// Of this direction: [B][H].
static MlirValue first_state(const layer *l, unsigned i) {
  const fe_step *s = &l->s;
  MlirValue v = operand(l, i);
  if (!fe_is_null(v))
    return picked(s, v, l->d, l->rnn.batch_first ? 1 : 0);
  MlirValue sizes[2] = {l->batch, l->hidden};
  return fe_d_two(s, "Expand", fe_d_number(s, 0), fe_d_concat(s, 2, sizes, 0));
}

static void read_weights(layer *l) {
  const fe_step *s = &l->s;
  unsigned n = l->rnn.gates;
  bool late = l->rnn.cell == FE_GRU && l->rnn.linear_before_reset;
  MlirValue b = operand(l, B), p = operand(l, P);
  MlirValue x = l->turned ? turned(l, l->x) : l->x;
  MlirValue w = fe_d_flipped(s, picked(s, operand(l, W), l->d, 0));
  l->sums = fe_d_two(s, "MatMul", x, w);
  l->bias_of_reset = (MlirValue){0};
  if (!fe_is_null(b)) {
    b = picked(s, b, l->d, 0);
    MlirValue other = gates(l, b, 0, n, late ? n - 1 : n);
    l->sums = add(s, l->sums, gates(l, b, 0, 0, n));
    if (late) {
      l->bias_of_reset = gates(l, b, 0, 2 * n - 1, 1);
      MlirValue pads[2] = {fe_d_int(s, 0), l->hidden};
      other = fe_d_two(s, "Pad", other, fe_d_concat(s, 2, pads, 0));
    }
    l->sums = add(s, l->sums, other);
  }
  l->r = fe_d_flipped(s, picked(s, operand(l, R), l->d, 0));
  if (l->rnn.cell == FE_GRU) {
    l->r_of_reset = gates(l, l->r, 1, 2, 1);
    l->r = gates(l, l->r, 1, 0, 2);
  }
  for (unsigned i = 0; i < 3 && !fe_is_null(p); i++)
    l->peep[i] = gates(l, picked(s, p, l->d, 0), 0, i, 1);
}

/// y: all states [T][B][H], the last of each kind [B][H].
static bool direction(layer *l, MlirValue y[3]) {
  MlirValue init[2], out[3];
  bool two = l->rnn.cell == FE_LSTM;
  read_weights(l);
  init[0] = first_state(l, H);
  if (two)
    init[1] = first_state(l, C);
  if (fe_is_null(l->sums) || fe_is_null(l->r) || fe_is_null(init[0]) ||
      (two && fe_is_null(init[1])))
    return false;
  fe_model_loop m = {.site = l->s.site,
                     .trip = l->time,
                     .trips = l->steps,
                     .n_carried = two ? 2 : 1,
                     .init = init,
                     .n_scan = 1,
                     .user = l,
                     .body = step};
  if (fe_model_loop_make(&m, out) != FE_OK)
    return false;
  y[0] = l->turned ? turned(l, out[m.n_carried]) : out[m.n_carried];
  y[1] = out[0];
  y[2] = two ? out[1] : (MlirValue){0};
  return true;
}

static bool read_layer(layer *l, const fe_step *s) {
  static const int64_t perm[3] = {1, 0, 2};
  fe_dims d;
  fe_where where = {0};
  const char *name = fe_op_row_of(s->op)->name;
  fe_rnn_cell cell = !strcmp(name, "LSTM")  ? FE_LSTM
                     : !strcmp(name, "GRU") ? FE_GRU
                                            : FE_RNN;
  *l = (layer){.s = *s, .type = fe_d_type(s->x[X])};
  if (l->type == FE_F16 || l->type == FE_BF16)
    l->type = FE_F32;
  l->x = l->s.dy = operand(l, X);
  if (fe_rnn_parse(s->ir, where, s->op, cell, &l->rnn) != FE_OK)
    return false;
  if (l->rnn.batch_first)
    l->x = fe_d_transposed(s, l->x, 3, perm);
  if (fe_is_null(l->x) || !fe_dims_of(s->ir, l->x, &d))
    return false;
  l->steps = d.d[0];
  if (!mlirAffineExprIsASymbol(l->steps) &&
      !mlirAffineExprIsAConstant(l->steps))
    l->steps = (MlirAffineExpr){0};
  MlirValue shape = fe_d_one(s, "Shape", l->x);
  l->time = fe_scalar_tensor(s->ir, fe_d_size_at(s, shape, 0));
  l->batch = fe_d_size_at(s, shape, 1);
  l->hidden = fe_d_size_at(s, fe_d_one(s, "Shape", s->x[R]), 2);
  l->lengths = fe_d_operand(s, LENGTHS);
  if (!fe_is_null(l->lengths))
    l->lengths = fe_d_two(s, "Min", fe_d_cast(s, l->lengths, FE_I64), l->time);
  return true;
}

static bool as_recurrent(const fe_step *s, MlirValue *y) {
  static const int64_t batch_first[4] = {2, 0, 1, 3}, swapped[3] = {1, 0, 2};
  layer l;
  MlirValue parts[3][2];
  if (!read_layer(&l, s))
    return false;
  unsigned n_out = l.rnn.cell == FE_LSTM ? 3 : 2, n = l.rnn.directions;
  for (l.d = 0; l.d < n; l.d++) {
    MlirValue made[3];
    l.turned = n == 2 ? l.d == 1 : l.rnn.reverse;
    if (!direction(&l, made))
      return false;
    for (unsigned i = 0; i < n_out; i++)
      parts[i][l.d] = fe_d_two(s, "Unsqueeze", made[i], fe_d_int(s, i ? 0 : 1));
  }
  for (unsigned i = 0; i < n_out; i++) {
    y[i] = fe_d_concat(s, n, parts[i], i ? 0 : 1);
    if (l.rnn.batch_first)
      y[i] = i ? fe_d_transposed(s, y[i], 3, swapped)
               : fe_d_transposed(s, y[i], 4, batch_first);
    if (fe_is_null(y[i]))
      return false;
    if (l.type != fe_d_type(s->x[X]))
      y[i] = fe_d_cast(s, y[i], fe_d_type(s->x[X]));
  }
  return true;
}

const fe_derivative fe_d_recurrent[] = {{"RNN", .as_all = as_recurrent},
                                        {"GRU", .as_all = as_recurrent},
                                        {"LSTM", .as_all = as_recurrent},
                                        {0}};
