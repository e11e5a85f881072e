//===- loss.c - NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss *- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One generic gives the losses of all positions, one the weights that a mean
// divides by. A target out of range counts as the nearest class, unless it is
// ignore_index. SoftmaxCrossEntropyLoss is a LogSoftmax in front.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <string.h>

enum { SCORES, TARGET, WEIGHT };

static fe_status infer_nll(fe_infer *f) {
  fe_dims x, t, w, out = {0};
  if (fe_in_dims(f, SCORES, &x) || fe_in_dims(f, TARGET, &t))
    return FE_FAILED;
  bool fits = x.rank >= 2 && t.rank + 1 == x.rank;
  for (unsigned i = 0; fits && i < t.rank; ++i) {
    int64_t a = fe_dim_static(x.d[i ? i + 1 : 0]), b = fe_dim_static(t.d[i]);
    fits = a == FE_DYN || b == FE_DYN || a == b;
  }
  if (!fits)
    return fe_infer_error(f, NULL, "the target's shape does not fit");
  if (fe_dim_static(x.d[1]) == 0)
    return fe_infer_error(f, NULL, "there are no classes");
  if (f->n_in > WEIGHT && fe_dims_of(f->ir, f->in[WEIGHT], &w)) {
    int64_t a = fe_dim_static(x.d[1]);
    int64_t b = w.rank == 1 ? fe_dim_static(w.d[0]) : -1;
    if (b == -1 || (a != FE_DYN && b != FE_DYN && a != b))
      return fe_infer_error(f, NULL, "there must be a weight per class");
  }
  const char *reduction =
      fe_attr_str(f->ir->arena, f->attrs, "reduction", "mean");
  bool none = !strcmp(reduction, "none");
  if (!none && strcmp(reduction, "mean") && strcmp(reduction, "sum"))
    return fe_infer_error(f, NULL, "there is no reduction '%s'", reduction);
  fe_out_tensor(f, 0, fe_in_dtype(f, SCORES), none ? &t : &out);
  return FE_OK;
}

typedef struct loss {
  fe_lower *l;
  fe_dtype work;
  unsigned rank; // of the target
  MlirValue sizes[FE_MAX_RANK], classes;
} loss;

/// Per position: the loss, or just its weight.
static MlirValue positions(loss *p, bool weights_only) {
  fe_lower *l = p->l;
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[TARGET];
  MlirAffineMap id = mlirAffineMapMultiDimIdentityGet(ir->ctx, p->rank);
  fe_generic *g =
      fe_generic_begin(l, p->rank, p->sizes, 1, &l->in[TARGET], &t, &id);
  MlirValue target = fe_arg(g, 0), zero = fe_index(ir, 0);
  MlirValue class = fe_to_index(ir, target);
  MlirValue last = fe_sub(ir, p->classes, fe_index(ir, 1));
  class = fe_max(ir, fe_min(ir, class, last), zero);
  MlirType type = fe_storage_type(ir, p->work);
  MlirValue v = fe_float(ir, type, 1);
  if (l->n_in > WEIGHT && !fe_is_null(l->in[WEIGHT]))
    v = fe_convert(ir, fe_at(g, l->in[WEIGHT], l->in_type[WEIGHT], 1, &class),
                   type, false, false);
  if (!weights_only) {
    MlirValue at[FE_MAX_RANK] = {fe_iter(g, 0), class};
    for (unsigned i = 1; i < p->rank; ++i)
      at[i + 1] = fe_iter(g, i);
    MlirValue x = fe_at(g, l->in[SCORES], l->in_type[SCORES], p->rank + 1, at);
    x = fe_convert(ir, x, type, false, false);
    v = fe_neg(ir, fe_mul(ir, v, x));
  }
  int64_t ignored = fe_attr_i64(l->op, "ignore_index", INT64_MIN);
  if (ignored != INT64_MIN) {
    MlirValue is = fe_cmp(ir, FE_EQ, target,
                          fe_int(ir, mlirValueGetType(target), ignored));
    v = fe_select(ir, is, fe_float(ir, type, 0), v);
  }
  return fe_generic_end(g, p->work, v);
}

static fe_status lower_nll(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[SCORES];
  loss p = {.l = l, .work = fe_work_type(t), .rank = fe_rank(l->in[TARGET])};
  p.classes = fe_size(l, l->in[SCORES], 1);
  fe_sizes_of(l, l->in[TARGET], p.sizes);
  for (unsigned i = 0; i < p.rank; ++i)
    fe_check_equal(l, p.sizes[i], fe_size(l, l->in[SCORES], i ? i + 1 : 0),
                   "the target's shape does not fit");
  if (l->n_in > WEIGHT && !fe_is_null(l->in[WEIGHT]))
    fe_check_equal(l, fe_size(l, l->in[WEIGHT], 0), p.classes,
                   "there must be a weight per class");
  fe_check(l, fe_cmp(ir, FE_GT, p.classes, fe_index(ir, 0)),
           "there are no classes");
  MlirValue v = positions(&p, false);
  const char *reduction = fe_attr_str(ir->arena, l->op, "reduction", "mean");
  const fe_reduction add = {.type = p.work, .combine = fe_element_add};
  uint32_t all = (UINT32_C(1) << p.rank) - 1;
  if (strcmp(reduction, "none"))
    v = fe_reduce(l, v, p.work, all, false, &add);
  if (!strcmp(reduction, "mean")) {
    MlirValue w = positions(&p, true);
    w = fe_reduce(l, w, p.work, all, false, &add);
    v = fe_map2(l, v, w, p.work, fe_element_div, NULL);
  }
  l->out[0] = fe_to_type(l, v, p.work, t);
  return FE_OK;
}

static fe_status expand_cross_entropy(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_node_attr *reduction = fe_node_attr_find(n, "reduction");
  fe_node_attr *ignored = fe_node_attr_find(n, "ignore_index");
  fe_where where = n->where;
  where.op = n->row->name;
  if (n->in.n < 2 || n->in.n > 3 || fe_is_null(n->in.at[0]))
    return fe_error(ir->diags, where, NULL, "takes 2 or 3 inputs");
  MlirNamedAttribute axis = fe_at_i64(ir, "axis", 1);
  MlirNamedAttribute attrs[2] = {
      fe_at_str(ir, "reduction", reduction ? reduction->s : "mean"),
      fe_at_i64(ir, "ignore_index", ignored ? ignored->i : INT64_MIN)};
  MlirValue in[3] = {
      fe_first(fe_onnx(ir, "LogSoftmax", 1, n->in.at, 1, 1, &axis)),
      n->in.at[1]};
  if (fe_is_null(in[0]))
    return FE_FAILED;
  if (n->in.n == 3)
    in[2] = n->in.at[2];
  results[0] = fe_first(fe_onnx(ir, "NegativeLogLikelihoodLoss",
                                (unsigned)n->in.n, in, 1, 2, attrs));
  if (n->n_out > 1)
    results[1] = in[0];
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

static const fe_attr_def loss_attrs[] = {
    {"reduction", FE_A_STRING, "mean|sum|none"},
    {"ignore_index", FE_A_INT, "-9223372036854775808"}, // none
    {0}};

const fe_op_row fe_family_loss[] = {
    {.name = "NegativeLogLikelihoodLoss",
     .since = 12,
     .inputs = "input:T, target:Tind, weight?:T",
     .outputs = "loss:T",
     .types = "T=float;Tind=i32,i64",
     .attrs = loss_attrs,
     .infer = infer_nll,
     .lower = lower_nll},
    {.name = "SoftmaxCrossEntropyLoss",
     .since = 12,
     .inputs = "scores:T, labels:Tind, weights?:T",
     .outputs = "output:T, log_prob:T",
     .types = "T=float;Tind=i32,i64",
     .attrs = loss_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_cross_entropy},
    {0}};
