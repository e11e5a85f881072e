//===- tree_walk.c - the walk that all TreeEnsemble* share -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TreeWalk is an operator of Ferrule's own: the rewrites of ml_tree.c put it
// in. Its tables are constants of the model:
//
//   nodes   [n][4]   feature, child when true, child when false, how; a child
//                    below zero is leaf ~child; how = mode + 8 when NaN is true
//   splits  [n]      threshold; of set nodes the first member (as a number)
//   members [m]      of sets, each ended by a NaN
//   roots   [trees]
//   leaves  [l + 1]  where the entries of a leaf begin
//   targets, weights [entries]
//
// Rows of the input are independent, so they are the parallel extent. When all
// nodes compare alike, the kernel holds that comparison only. A walk ends
// after as many steps as there are nodes, whatever the tables say.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/ml.h"

enum { X, NODES, SPLITS, MEMBERS, ROOTS, LEAVES, TARGETS, WEIGHTS };

static fe_status infer_walk(fe_infer *f) {
  fe_dims x;
  if (fe_in_dims(f, X, &x))
    return FE_FAILED;
  if (x.rank != 2)
    return fe_infer_error(f, NULL, "the input must have rank 2");
  int64_t features = fe_dim_static(x.d[1]);
  if (features != FE_DYN && features < fe_attr_i64(f->attrs, "features", 0))
    return fe_infer_error(f, NULL, "the input has too few features");
  x.d[1] = fe_dim_const(f->ir, fe_attr_i64(f->attrs, "n_targets", 1));
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  return FE_OK;
}

/// Whether x is in the set whose members begin at `first`.
static MlirValue is_member(fe_ir *ir, MlirValue members, MlirValue x,
                           MlirValue first) {
  MlirValue zero = fe_int(ir, ir->i1, 0), one = fe_index(ir, 1);
  MlirValue init[2] = {first, zero};
  fe_region w = fe_while_begin(ir, 2, init);
  MlirValue i = fe_block_arg(w.body, 0), found = fe_block_arg(w.body, 1);
  MlirValue inside = fe_cmp(ir, FE_LT, i, fe_dim(ir, members, 0));
  MlirValue at = fe_select(ir, inside, i, fe_index(ir, 0));
  MlirValue v = fe_load(ir, members, 1, &at);
  MlirValue go = fe_and(ir, inside, fe_cmp(ir, FE_EQ, v, v));
  go = fe_and(ir, go, fe_not(ir, found));
  MlirValue args[3] = {i, found, v};
  fe_while_do(ir, &w, go, 3, args);
  i = fe_block_arg(w.body, 0);
  v = fe_block_arg(w.body, 2);
  MlirValue next[2] = {fe_add(ir, i, one), fe_cmp(ir, FE_EQ, x, v)};
  fe_while_end(ir, &w, 2, next);
  return fe_result(w.op, 1);
}

static const fe_cmp_kind kinds[] = {FE_LE, FE_LT, FE_GE, FE_GT, FE_EQ, FE_NE};

/// Result of a node's test; `mode` is i32 where nodes differ.
static MlirValue test(fe_kernel *k, int64_t uniform, MlirValue mode,
                      MlirValue x, MlirValue split) {
  fe_ir *ir = k->l->ir;
  if (uniform >= 0)
    return fe_cmp(ir, kinds[uniform], x, split);
  MlirValue v = fe_cmp(ir, kinds[0], x, split);
  for (unsigned i = 1; i < FE_COUNT(kinds); ++i)
    v = fe_select(ir, fe_cmp(ir, FE_EQ, mode, fe_int(ir, ir->i32, i)),
                  fe_cmp(ir, kinds[i], x, split), v);
  MlirValue set = fe_cmp(ir, FE_EQ, mode, fe_int(ir, ir->i32, FE_TREE_MEMBER));
  fe_region r = fe_if_begin(ir, set, 1, &ir->i1, true);
  MlirValue first =
      fe_to_index(ir, fe_convert(ir, split, ir->i64, false, false));
  MlirValue found = is_member(ir, k->in[MEMBERS], x, first);
  fe_if_else(ir, &r, 1, &found);
  fe_if_end(ir, &r, 1, &v);
  return fe_result(r.op, 0);
}

/// Leaf at which `row` ends in the tree at `root`.
static MlirValue walk(fe_kernel *k, int64_t uniform, bool nan_is_true,
                      MlirValue row, MlirValue root) {
  fe_ir *ir = k->l->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue limit = fe_dim(ir, k->in[NODES], 0);
  MlirValue init[2] = {root, zero};
  fe_region w = fe_while_begin(ir, 2, init);
  MlirValue state[2] = {fe_block_arg(w.body, 0), fe_block_arg(w.body, 1)};
  MlirValue go = fe_and(ir, fe_cmp(ir, FE_GE, state[0], zero),
                        fe_cmp(ir, FE_LE, state[1], limit));
  fe_while_do(ir, &w, go, 2, state);
  MlirValue node = fe_block_arg(w.body, 0), steps = fe_block_arg(w.body, 1);
  MlirValue field[4];
  for (unsigned i = 0; i < 4; ++i) {
    MlirValue at[2] = {node, fe_index(ir, i)};
    field[i] = i < 3 || uniform < 0 || nan_is_true
                   ? fe_load(ir, k->in[NODES], 2, at)
                   : (MlirValue){0};
  }
  MlirValue at[2] = {row, fe_to_index(ir, field[0])};
  MlirValue x = fe_load(ir, k->in[X], 2, at);
  MlirValue split = fe_load(ir, k->in[SPLITS], 1, &node), mode = {0};
  if (uniform < 0)
    mode = fe_and(ir, field[3], fe_int(ir, ir->i32, 7));
  MlirValue yes = test(k, uniform, mode, x, split);
  if (nan_is_true) {
    MlirValue flag = fe_cmp(ir, FE_GE, field[3], fe_int(ir, ir->i32, 8));
    yes = fe_or(ir, yes, fe_and(ir, flag, fe_not(ir, fe_cmp(ir, FE_EQ, x, x))));
  }
  MlirValue next[2] = {fe_to_index(ir, fe_select(ir, yes, field[1], field[2])),
                       fe_add(ir, steps, one)};
  fe_while_end(ir, &w, 2, next);
  MlirValue leaf = fe_sub(ir, fe_index(ir, -1), fe_result(w.op, 0));
  return fe_max(ir, leaf, zero);
}

static fe_status lower_walk(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->out_type[0];
  MlirType type = fe_out_elem(l, 0);
  int64_t uniform = fe_attr_i64(l->op, "mode", -1);
  int64_t aggregate = fe_attr_i64(l->op, "aggregate", FE_TREE_SUM);
  int64_t features = fe_attr_i64(l->op, "features", 0);
  bool nan_is_true = fe_attr_i64(l->op, "nan_is_true", 0) != 0;
  if (fe_static_dim(l->in[X], 1) == FE_DYN)
    fe_check(l,
             fe_cmp(ir, FE_GE, fe_size(l, l->in[X], 1), fe_index(ir, features)),
             "the input has too few features");
  MlirValue sizes[2] = {fe_size(l, l->in[X], 0),
                        fe_index(ir, fe_attr_i64(l->op, "n_targets", 1))};
  MlirValue out = fe_out_empty(l, 0, sizes);
  fe_kernel k;
  fe_kernel_begin(&k, l, "tree_walk", l->n_in, l->in, 1, &out, 0, NULL);
  MlirValue one = fe_index(ir, 1);
  double most = t == FE_F64 ? 1.7976931348623157e308 : 3.4028234663852886e38;
  double start = aggregate == FE_TREE_MIN   ? most
                 : aggregate == FE_TREE_MAX ? -most
                                            : 0;
  fe_region rows = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_region clear = fe_loop(ir, fe_dim(ir, k.out[0], 1));
  MlirValue at[2] = {rows.iv, clear.iv};
  fe_store(ir, fe_float(ir, type, start), k.out[0], 2, at);
  fe_loop_end(ir, &clear);
  fe_region trees = fe_loop(ir, fe_dim(ir, k.in[ROOTS], 0));
  MlirValue root = fe_to_index(ir, fe_load(ir, k.in[ROOTS], 1, &trees.iv));
  MlirValue leaf = walk(&k, uniform, nan_is_true, rows.iv, root);
  MlirValue behind = fe_add(ir, leaf, one);
  MlirValue from = fe_to_index(ir, fe_load(ir, k.in[LEAVES], 1, &leaf));
  MlirValue to = fe_to_index(ir, fe_load(ir, k.in[LEAVES], 1, &behind));
  fe_region each = fe_for_begin(ir, from, to, one, 0, NULL);
  at[1] = fe_to_index(ir, fe_load(ir, k.in[TARGETS], 1, &each.iv));
  MlirValue v = fe_load(ir, k.in[WEIGHTS], 1, &each.iv);
  MlirValue old = fe_load(ir, k.out[0], 2, at);
  v = aggregate == FE_TREE_MIN   ? fe_min(ir, old, v)
      : aggregate == FE_TREE_MAX ? fe_max(ir, old, v)
                                 : fe_add(ir, old, v);
  fe_store(ir, v, k.out[0], 2, at);
  fe_loop_end(ir, &each);
  fe_loop_end(ir, &trees);
  if (aggregate == FE_TREE_AVERAGE) {
    fe_region mean = fe_loop(ir, fe_dim(ir, k.out[0], 1));
    at[1] = mean.iv;
    MlirValue n =
        fe_convert(ir, fe_dim(ir, k.in[ROOTS], 0), ir->i64, false, false);
    v = fe_div(ir, fe_load(ir, k.out[0], 2, at),
               fe_convert(ir, n, type, false, false));
    fe_store(ir, v, k.out[0], 2, at);
    fe_loop_end(ir, &mean);
  }
  fe_loop_end(ir, &rows);
  fe_kernel_end(&k, fe_kernel_dim(&k, X, 0),
                fe_dim_mul(fe_kernel_dim(&k, ROOTS, 0), fe_dim_const(ir, 60)));
  l->out[0] = k.result[0];
  return FE_OK;
}

static const fe_attr_def attrs[] = {
    {"aggregate", FE_A_INT, "1"},   {"features", FE_A_INT, NULL},
    {"mode", FE_A_INT, "-1"},       {"n_targets", FE_A_INT, NULL},
    {"nan_is_true", FE_A_INT, "0"}, {0}};

const fe_op_row fe_family_tree_walk[] = {
    {.name = "TreeWalk",
     .domain = "ai.onnx.ml",
     .since = 1,
     .inputs = "X:T, nodes:I, splits:T, members:T, roots:I, leaves:I, "
               "targets:I, weights:T",
     .outputs = "Y:T",
     .types = "T=f32,f64;I=i32",
     .attrs = attrs,
     .infer = infer_walk,
     .lower = lower_walk,
     .limits = "internal: what TreeEnsemble* become"},
    {0}};
