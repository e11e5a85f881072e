//===- pair_coupling.c - probabilities of classes from those of pairs
//------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PairCoupling is an operator of Ferrule's own: SVMClassifier's probabilities.
// Given for each pair (i, j), i < j, the probability that i is it of the two,
// it finds those of the classes by the second method of Wu, Lin and Weng
// ("Probability Estimates for Multi-class Classification by Pairwise Coupling",
// 2004): the minimum of p' Q p with the p of a row having the sum 1, by
// coordinate descent. Steps and the end of the iteration are those of ONNX
// Runtime, which has them from the paper.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

enum { ROUNDS = 100 };
#define ENOUGH 0.005 // divided by the number of classes

static fe_status infer_coupling(fe_infer *f) {
  fe_dims d;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  int64_t n = fe_attr_i64(f->attrs, "classes", 2);
  if (d.rank != 2 || n < 2 || fe_dim_static(d.d[1]) != n * (n - 1) / 2)
    return fe_infer_error(f, NULL, "the input has not one column per pair");
  d.d[1] = fe_dim_const(f->ir, n);
  fe_out_tensor(f, 0, FE_F32, &d);
  return FE_OK;
}

/// What one row is computed with. Q and Qp lie in the row of a second result.
typedef struct coupling {
  fe_kernel *k;
  fe_ir *ir;
  MlirValue row;
  int64_t n;
} coupling;

static MlirValue get_p(coupling *c, MlirValue i) {
  return fe_load(c->ir, c->k->out[0], FE_IDX(c->row, i));
}

static void set_p(coupling *c, MlirValue i, MlirValue v) {
  fe_store(c->ir, v, c->k->out[0], FE_IDX(c->row, i));
}

/// Column n of Q is Qp.
static MlirValue get_q(coupling *c, MlirValue i, MlirValue j) {
  return fe_load(c->ir, c->k->out[1], FE_IDX(c->row, i, j));
}

static void set_q(coupling *c, MlirValue i, MlirValue j, MlirValue v) {
  fe_store(c->ir, v, c->k->out[1], FE_IDX(c->row, i, j));
}

static MlirValue get_qp(coupling *c, MlirValue i) {
  return get_q(c, i, fe_index(c->ir, c->n));
}

static void set_qp(coupling *c, MlirValue i, MlirValue v) {
  set_q(c, i, fe_index(c->ir, c->n), v);
}

/// Q and the p to begin with. Pairs are few: written out one after the other.
static void begin(coupling *c) {
  fe_ir *ir = c->ir;
  MlirValue zero = fe_float(ir, ir->f32, 0), one = fe_float(ir, ir->f32, 1);
  fe_region each = fe_loop(ir, fe_index(ir, c->n));
  set_p(c, each.iv, fe_float(ir, ir->f32, 1.0 / (double)c->n));
  set_q(c, each.iv, each.iv, zero);
  fe_loop_end(ir, &each);
  fe_region first = fe_loop(ir, fe_index(ir, c->n));
  MlirValue i = first.iv, next = fe_add(ir, i, fe_index(ir, 1));
  fe_region second =
      fe_for_begin(ir, next, fe_index(ir, c->n), fe_index(ir, 1), 0, NULL);
  MlirValue j = second.iv;
  // The pair's number: those of the classes before i, then those from i + 1.
  MlirValue twice = fe_mul(ir, i, fe_sub(ir, fe_index(ir, 2 * c->n - 1), i));
  MlirValue pair =
      fe_add(ir, fe_divu(ir, twice, fe_index(ir, 2)), fe_sub(ir, j, next));
  MlirValue r = fe_load(ir, c->k->in[0], FE_IDX(c->row, pair));
  MlirValue other = fe_sub(ir, one, r), both = fe_neg(ir, fe_mul(ir, r, other));
  set_q(c, i, j, both);
  set_q(c, j, i, both);
  set_q(c, i, i, fe_add(ir, get_q(c, i, i), fe_mul(ir, other, other)));
  set_q(c, j, j, fe_add(ir, get_q(c, j, j), fe_mul(ir, r, r)));
  fe_loop_end(ir, &second);
  fe_loop_end(ir, &first);
}

/// Computes Qp; gives p'Qp and the largest error.
static void products(coupling *c, MlirValue *pqp, MlirValue *error) {
  fe_ir *ir = c->ir;
  MlirValue zero = fe_float(ir, ir->f32, 0), n = fe_index(ir, c->n);
  MlirValue from = fe_index(ir, 0), by = fe_index(ir, 1);
  fe_region rows = fe_for_begin(ir, from, n, by, 1, &zero);
  fe_region sum = fe_for_begin(ir, from, n, by, 1, &zero);
  MlirValue v = fe_add(ir, fe_block_arg(sum.body, 1),
                       fe_mul(ir, get_q(c, rows.iv, sum.iv), get_p(c, sum.iv)));
  fe_for_end(ir, &sum, 1, &v);
  MlirValue qp = fe_result(sum.op, 0);
  set_qp(c, rows.iv, qp);
  v = fe_add(ir, fe_block_arg(rows.body, 1), fe_mul(ir, get_p(c, rows.iv), qp));
  fe_for_end(ir, &rows, 1, &v);
  *pqp = fe_result(rows.op, 0);
  fe_region most = fe_for_begin(ir, from, n, by, 1, &zero);
  v = fe_math(ir, "absf", fe_sub(ir, get_qp(c, most.iv), *pqp));
  v = fe_select(ir, fe_cmp(ir, FE_GT, v, fe_block_arg(most.body, 1)), v,
                fe_block_arg(most.body, 1));
  fe_for_end(ir, &most, 1, &v);
  *error = fe_result(most.op, 0);
}

/// One step along each coordinate.
static void descend(coupling *c, MlirValue pqp) {
  fe_ir *ir = c->ir;
  MlirValue n = fe_index(ir, c->n), one = fe_float(ir, ir->f32, 1);
  fe_region each =
      fe_for_begin(ir, fe_index(ir, 0), n, fe_index(ir, 1), 1, &pqp);
  MlirValue i = each.iv, old = fe_block_arg(each.body, 1);
  MlirValue diagonal = get_q(c, i, i), qp = get_qp(c, i);
  MlirValue by = fe_div(ir, fe_sub(ir, old, qp), diagonal);
  MlirValue scale = fe_add(ir, one, by);
  set_p(c, i, fe_add(ir, get_p(c, i), by));
  MlirValue two = fe_mul(ir, fe_float(ir, ir->f32, 2), qp);
  MlirValue v = fe_mul(ir, by, fe_add(ir, fe_mul(ir, by, diagonal), two));
  v = fe_div(ir, fe_div(ir, fe_add(ir, old, v), scale), scale);
  fe_region all = fe_loop(ir, n);
  MlirValue q =
      fe_add(ir, get_qp(c, all.iv), fe_mul(ir, by, get_q(c, i, all.iv)));
  set_qp(c, all.iv, fe_div(ir, q, scale));
  set_p(c, all.iv, fe_div(ir, get_p(c, all.iv), scale));
  fe_loop_end(ir, &all);
  fe_for_end(ir, &each, 1, &v);
}

static fe_status lower_coupling(fe_lower *l) {
  fe_ir *ir = l->ir;
  int64_t n = fe_attr_i64(l->op, "classes", 2);
  MlirValue batch = fe_size(l, l->in[0], 0);
  MlirValue sizes[3] = {batch, fe_index(ir, n), fe_index(ir, n + 1)};
  MlirValue out[2] = {fe_out_empty(l, 0, sizes),
                      fe_tensor_empty(l, FE_F32, 3, sizes)};
  fe_kernel k;
  fe_kernel_begin(&k, l, "pair_coupling", 1, l->in, 2, out, 0, NULL);
  fe_region rows = fe_for_begin(ir, k.begin, k.end, fe_index(ir, 1), 0, NULL);
  coupling c = {&k, ir, rows.iv, n};
  begin(&c);
  MlirValue start = fe_index(ir, 0);
  fe_region rounds = fe_while_begin(ir, 1, &start);
  MlirValue round = fe_block_arg(rounds.body, 0), pqp, error;
  products(&c, &pqp, &error);
  // An error that is not a number ends it too.
  MlirValue go =
      fe_cmp(ir, FE_GE, error, fe_float(ir, ir->f32, ENOUGH / (double)n));
  go = fe_and(ir, go, fe_cmp(ir, FE_LT, round, fe_index(ir, ROUNDS)));
  MlirValue args[2] = {round, pqp};
  fe_while_do(ir, &rounds, go, 2, args);
  descend(&c, fe_block_arg(rounds.body, 1));
  MlirValue next = fe_add(ir, fe_block_arg(rounds.body, 0), fe_index(ir, 1));
  fe_while_end(ir, &rounds, 1, &next);
  fe_loop_end(ir, &rows);
  fe_kernel_end(&k, fe_kernel_dim(&k, 0, 0), fe_dim_const(ir, 40 * n * n));
  l->out[0] = k.result[0];
  return FE_OK;
}

static const fe_attr_def attrs[] = {{"classes", FE_A_INT, NULL}, {0}};

const fe_op_row fe_family_pair_coupling[] = {
    {.name = "PairCoupling",
     .domain = "ai.onnx.ml",
     .since = 1,
     .inputs = "X:T",
     .outputs = "Y:T",
     .types = "T=f32",
     .attrs = attrs,
     .infer = infer_coupling,
     .lower = lower_coupling,
     .limits = "internal: probabilities of SVMClassifier"},
    {0}};
