//===- sequence_map.c - SequenceMap ---------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: a loop over the first sequence's items that carries the results, to
// which each iteration appends. A few items that are known become as many
// bodies and no loop.
//
//===----------------------------------------------------------------------===//
#include "import/import.h"
#include "ir/value_type.h"
#include "op/sequence.h"

#include <string.h>

enum { MAX_UNROLLED = 8 };

typedef struct mapping {
  fe_call_site *site;
  fe_body body;
  fe_scope *scope; // made afresh for each body
} mapping;

static bool is_sequence(MlirValue v) {
  return fe_type_is_sequence(mlirValueGetType(v));
}

static MlirValue item(fe_call_site *c, MlirValue v, MlirValue at) {
  fe_ir *ir = c->scope->im->ir;
  if (!is_sequence(v))
    return v;
  int64_t known;
  MlirValue r = {0};
  if (fe_const_ints(ir, at, &known, 1) == 1)
    r = fe_sequence_item(ir, v, known);
  return fe_is_null(r) ? fe_onnx1(ir, "SequenceAt", v, at) : r;
}

/// The body for item `at`.
static fe_status apply(const mapping *m, MlirValue at, MlirValue *out) {
  fe_call_site *c = m->site;
  MlirValue *in = FE_NEW_N(c->scope->im->arena, MlirValue, m->body.n_in);
  for (size_t i = 0; i < m->body.n_in; i++) {
    MlirValue v = fe_with_rank(c, c->in[i], m->body.graph, m->body.in[i], 0);
    in[i] = item(c, v, at);
    if (fe_is_null(in[i]))
      return FE_FAILED;
  }
  return fe_body_make(fe_scope_again(m->scope), &m->body, in, out);
}

static fe_status iteration(fe_model_loop *l, MlirValue iter, MlirValue cond,
                           const MlirValue *carried, MlirValue *go_on,
                           MlirValue *carried_out, MlirValue *scan_out) {
  (void)cond;
  (void)go_on;
  (void)scan_out;
  const mapping *m = l->user;
  fe_import *im = l->site->scope->im;
  MlirValue *out = FE_NEW_N(im->arena, MlirValue, m->body.n_out);
  if (apply(m, iter, out) != FE_OK)
    return FE_FAILED;
  for (size_t i = 0; i < l->n_carried; i++) {
    carried_out[i] = fe_onnx1(im->ir, "SequenceInsert", carried[i], out[i]);
    if (fe_is_null(carried_out[i]))
      return FE_FAILED;
  }
  return FE_OK;
}

/// A sequence without items, of which the type is open.
static MlirValue nothing(fe_ir *ir) {
  MlirValue v = fe_first(fe_onnx(ir, "SequenceEmpty", 0, NULL, 1, 0, NULL));
  return fe_value_cast(ir, v, fe_type_sequence(ir, ir->none));
}

static fe_status unroll(const mapping *m, int64_t count) {
  fe_call_site *c = m->site;
  fe_ir *ir = c->scope->im->ir;
  size_t n = m->body.n_out;
  MlirValue *out =
      FE_NEW_N(c->scope->im->arena, MlirValue, n * (size_t)count + n);
  for (int64_t i = 0; i < count; i++) {
    MlirValue at = fe_constant(ir, NULL, FE_I64, 0, NULL,
                               fe_memdup(ir->arena, &i, sizeof i));
    if (apply(m, at, out + n * (size_t)i) != FE_OK)
      return FE_FAILED;
  }
  for (size_t k = 0; k < c->n_out; k++) {
    MlirValue items[MAX_UNROLLED];
    for (int64_t i = 0; i < count; i++)
      items[i] = out[n * (size_t)i + k];
    c->out[k] = fe_first(
        fe_onnx(ir, "SequenceConstruct", (unsigned)count, items, 1, 0, NULL));
    if (fe_is_null(c->out[k]))
      return FE_FAILED;
  }
  return FE_OK;
}

static MlirValue length_of(fe_ir *ir, MlirValue v) {
  int64_t count = fe_sequence_count(ir, v);
  if (count < 0)
    return fe_onnx1(ir, "SequenceLength", v);
  return fe_constant(ir, NULL, FE_I64, 0, NULL,
                     fe_memdup(ir->arena, &count, sizeof count));
}

/// All sequences are as long as the first.
static fe_status check_lengths(fe_call_site *c, MlirValue length,
                               int64_t count) {
  fe_ir *ir = c->scope->im->ir;
  for (size_t i = 1; i < c->n_in; i++) {
    if (!is_sequence(c->in[i]) || fe_same(c->in[i], c->in[0]))
      continue;
    int64_t other = fe_sequence_count(ir, c->in[i]);
    if (count >= 0 && other >= 0 && count != other)
      return fe_error(ir->diags, c->where, NULL,
                      "the sequences have different lengths, %lld and %lld",
                      (long long)count, (long long)other);
    if (count >= 0 && other >= 0)
      continue;
    MlirValue same = fe_cmp(ir, FE_EQ, fe_extract_scalar(ir, length),
                            fe_extract_scalar(ir, length_of(ir, c->in[i])));
    const char *message = fe_printf(
        ir->arena, "SequenceMap '%s': the sequences have different lengths",
        c->where.node ? c->where.node : "");
    FE_OP(ir, "krnl.check", FE_VALUES(same),
          FE_ATTRS(fe_at_str(ir, "message", message)));
  }
  return FE_OK;
}

fe_status fe_import_sequence_map(fe_call_site *c) {
  fe_import *im = c->scope->im;
  fe_ir *ir = im->ir;
  mapping m = {.site = c};
  for (size_t i = 0; i < c->n_in; i++)
    if (fe_is_null(c->in[i]))
      return fe_error(im->diags, c->where, NULL, "input %zu is missing", i);
  if (!c->n_in || !is_sequence(c->in[0]))
    return fe_error(im->diags, c->where, NULL,
                    "the first input must be a sequence");
  if (fe_site_graph(c, "body", c->n_in, c->n_out, &m.body, &m.scope) != FE_OK)
    return FE_FAILED;
  int64_t count = fe_sequence_count(ir, c->in[0]);
  MlirValue length = length_of(ir, c->in[0]);
  if (check_lengths(c, length, count) != FE_OK)
    return FE_FAILED;
  if (count > 0 && count <= MAX_UNROLLED)
    return unroll(&m, count);
  MlirValue *init = FE_NEW_N(im->arena, MlirValue, m.body.n_out);
  MlirValue *out = FE_NEW_N(im->arena, MlirValue, m.body.n_out);
  for (size_t i = 0; i < m.body.n_out; i++)
    init[i] = nothing(ir);
  fe_model_loop l = {.site = c,
                     .key = *c->scope->prefix ? NULL : c->node,
                     .trip = length,
                     .n_carried = m.body.n_out,
                     .init = init,
                     .user = &m,
                     .body = iteration};
  if (count >= 0)
    l.trips = fe_dim_const(ir, count);
  if (fe_model_loop_make(&l, out) != FE_OK)
    return FE_FAILED;
  if (c->n_out)
    memcpy(c->out, out, c->n_out * sizeof(*out));
  return FE_OK;
}
