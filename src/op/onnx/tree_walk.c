//===- tree_walk.c - the walk that all TreeEnsemble* share -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TreeWalk is an operator of Ferrule's own: the rewrites of ml_tree.c put it
// in. Its tables are constants of the model, made by tree_table.c:
//
//   nodes   [4 * rows]   of all trees, then of all leaves
//   splits  [rows]       of f64 only; f32 has them in the nodes
//   roots   [trees]      filled up to a multiple of FE_TREE_AT_ONCE
//   leaves  [l + 1]      where the entries of a leaf begin
//   targets, weights [entries], or weights [l][targets], or neither
//
// A walk waits for memory at each step, so sixteen of them go on at the same
// time: of sixteen rows of the input through one tree, which stays in the cache
// for all rows of a block, or, of the rows that are left and for a single one,
// through sixteen trees. Either way a row's scores are summed in the order of
// the trees. Rows are the parallel extent.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/ml.h"
#include "op/tree_table.h"

enum { X, NODES, SPLITS, ROOTS, LEAVES, TARGETS, WEIGHTS };
enum {
  WALKS = FE_TREE_AT_ONCE,
  BLOCK = 256,   // rows that go through a tree before the next one is loaded
  STEPS = 2,     // between two looks at whether all have arrived
  OPERATIONS = 8 // of a step
};

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

typedef struct walker {
  fe_kernel k;
  fe_ir *ir;
  MlirType type; // of input and scores
  int64_t aggregate, form, n_nodes, n_targets;
  bool negated, wide; // wide: f64
} walker;

/// Word `field` of the row that is `at`.
static MlirValue word(walker *w, MlirValue at, int64_t field) {
  MlirValue i =
      fe_add(w->ir, at, fe_index(w->ir, FE_TREE_WORDS * w->n_nodes + field));
  return fe_load(w->ir, w->k.in[NODES], 1, &i);
}

/// A row's split, or the weight of a leaf.
static MlirValue split_of(walker *w, MlirValue at) {
  fe_ir *ir = w->ir;
  if (!w->wide)
    return fe_bitcast(ir, word(w, at, FE_TREE_SPLIT), w->type);
  MlirValue row = fe_add(ir, at, fe_index(ir, FE_TREE_WORDS * w->n_nodes));
  row = fe_divu(ir, row, fe_index(ir, FE_TREE_WORDS));
  return fe_load(ir, w->k.in[SPLITS], 1, &row);
}

/// One question at row `at`. The features lie at `offset` of x.
static MlirValue step(walker *w, MlirValue at, MlirValue x, MlirValue offset) {
  fe_ir *ir = w->ir;
  MlirValue feature = word(w, at, FE_TREE_FEATURE), sign = {0};
  if (w->negated) {
    sign = fe_and(ir, feature, fe_int(ir, ir->i32, FE_TREE_NEGATED));
    feature = fe_and(ir, feature, fe_int(ir, ir->i32, ~FE_TREE_NEGATED));
  }
  MlirValue i = fe_add(ir, fe_to_index(ir, feature), offset);
  MlirValue v = fe_load(ir, x, 1, &i);
  if (w->negated) {
    MlirType bits = w->wide ? ir->i64 : ir->i32;
    if (w->wide)
      sign = fe_shl(ir, fe_convert(ir, sign, bits, true, false),
                    fe_int(ir, bits, 32));
    v = fe_bitcast(ir, fe_xor(ir, fe_bitcast(ir, v, bits), sign), w->type);
  }
  MlirValue yes = fe_cmp(ir, FE_LE, v, split_of(w, at));
  yes = fe_to_index(ir, fe_convert(ir, yes, ir->i32, true, false));
  return fe_to_index(ir, word(w, fe_add(ir, at, yes), FE_TREE_NO));
}

/// Walks from `at` until all are at leaves; at: where, changed to the leaves.
static void walk(walker *w, MlirValue at[WALKS], const MlirValue x[WALKS],
                 const MlirValue offset[WALKS]) {
  fe_ir *ir = w->ir;
  fe_region loop = fe_while_begin(ir, WALKS, at);
  MlirValue any = fe_block_arg(loop.body, 0), state[WALKS];
  for (unsigned i = 0; i < WALKS; ++i)
    state[i] = fe_block_arg(loop.body, i);
  for (unsigned i = 1; i < WALKS; ++i)
    any = fe_or(ir, any, state[i]);
  fe_while_do(ir, &loop, fe_cmp(ir, FE_LT, any, fe_index(ir, 0)), WALKS, state);
  for (unsigned i = 0; i < WALKS; ++i)
    state[i] = fe_block_arg(loop.body, i);
  for (unsigned s = 0; s < STEPS; ++s)
    for (unsigned i = 0; i < WALKS; ++i)
      state[i] = step(w, state[i], x[i], offset[i]);
  fe_while_end(ir, &loop, WALKS, state);
  for (unsigned i = 0; i < WALKS; ++i)
    at[i] = fe_result(loop.op, i);
}

/// Combines one weight with the score of (row, target).
static void combine(walker *w, MlirValue row, MlirValue target, MlirValue v) {
  fe_ir *ir = w->ir;
  MlirValue at[2] = {row, target};
  MlirValue old = fe_load(ir, w->k.out[0], 2, at);
  if (w->aggregate == FE_TREE_MIN || w->aggregate == FE_TREE_MAX) {
    // NaN: there was none yet.
    MlirValue none = fe_cmp(ir, FE_NE, old, old);
    fe_cmp_kind better = w->aggregate == FE_TREE_MIN ? FE_LT : FE_GT;
    v = fe_select(ir, fe_or(ir, none, fe_cmp(ir, better, v, old)), v, old);
  } else {
    v = fe_add(ir, old, v);
  }
  fe_store(ir, v, w->k.out[0], 2, at);
}

/// Adds what the leaf `at` says to the scores of `row`.
static void add_leaf(walker *w, MlirValue row, MlirValue at) {
  fe_ir *ir = w->ir;
  MlirValue one = fe_index(ir, 1);
  if (w->form == FE_TREE_IN_LEAVES) {
    combine(w, row, fe_index(ir, 0), split_of(w, at));
    return;
  }
  MlirValue leaf = fe_divu(ir, at, fe_index(ir, FE_TREE_WORDS));
  if (w->form == FE_TREE_DENSE) {
    MlirValue first = fe_mul(ir, leaf, fe_index(ir, w->n_targets));
    fe_region each = fe_loop(ir, fe_index(ir, w->n_targets));
    MlirValue i = fe_add(ir, first, each.iv);
    combine(w, row, each.iv, fe_load(ir, w->k.in[WEIGHTS], 1, &i));
    fe_loop_end(ir, &each);
    return;
  }
  MlirValue behind = fe_add(ir, leaf, one);
  MlirValue from = fe_to_index(ir, fe_load(ir, w->k.in[LEAVES], 1, &leaf));
  MlirValue to = fe_to_index(ir, fe_load(ir, w->k.in[LEAVES], 1, &behind));
  fe_region each = fe_for_begin(ir, from, to, one, 0, NULL);
  MlirValue target =
      fe_to_index(ir, fe_load(ir, w->k.in[TARGETS], 1, &each.iv));
  combine(w, row, target, fe_load(ir, w->k.in[WEIGHTS], 1, &each.iv));
  fe_loop_end(ir, &each);
}

/// Features of the rows from `row` on, flat.
static MlirValue features_at(walker *w, MlirValue row, int64_t rows) {
  fe_ir *ir = w->ir;
  MlirValue columns = fe_dim(ir, w->k.in[X], 1);
  int64_t fixed = fe_static_dim(w->k.in[X], 1);
  int64_t size = fixed == FE_DYN ? FE_DYN : rows * fixed;
  MlirValue count = fe_mul(ir, columns, fe_index(ir, rows));
  return fe_view(ir, w->k.in[X], fe_mul(ir, row, columns), 1, &size, &count);
}

/// All trees for rows [from, to), a multiple of WALKS.
static void walk_rows(walker *w, MlirValue from, MlirValue to,
                      int64_t n_trees) {
  fe_ir *ir = w->ir;
  fe_region trees = fe_loop(ir, fe_index(ir, n_trees));
  MlirValue root = fe_to_index(ir, fe_load(ir, w->k.in[ROOTS], 1, &trees.iv));
  fe_region rows = fe_for_begin(ir, from, to, fe_index(ir, WALKS), 0, NULL);
  MlirValue view = features_at(w, rows.iv, WALKS);
  MlirValue at[WALKS], x[WALKS], offset[WALKS];
  for (unsigned i = 0; i < WALKS; ++i) {
    at[i] = root;
    x[i] = view;
    offset[i] = fe_mul(ir, fe_index(ir, i), fe_dim(ir, w->k.in[X], 1));
  }
  walk(w, at, x, offset);
  for (unsigned i = 0; i < WALKS; ++i)
    add_leaf(w, fe_add(ir, rows.iv, fe_index(ir, i)), at[i]);
  fe_loop_end(ir, &rows);
  fe_loop_end(ir, &trees);
}

/// All trees for rows [from, to), one row after the other.
static void walk_trees(walker *w, MlirValue from, MlirValue to) {
  fe_ir *ir = w->ir;
  fe_region rows = fe_for_begin(ir, from, to, fe_index(ir, 1), 0, NULL);
  MlirValue view = features_at(w, rows.iv, 1), zero = fe_index(ir, 0);
  fe_region trees = fe_for_begin(ir, zero, fe_dim(ir, w->k.in[ROOTS], 0),
                                 fe_index(ir, WALKS), 0, NULL);
  MlirValue at[WALKS], x[WALKS], offset[WALKS];
  for (unsigned i = 0; i < WALKS; ++i) {
    MlirValue tree = fe_add(ir, trees.iv, fe_index(ir, i));
    at[i] = fe_to_index(ir, fe_load(ir, w->k.in[ROOTS], 1, &tree));
    x[i] = view;
    offset[i] = zero;
  }
  walk(w, at, x, offset);
  for (unsigned i = 0; i < WALKS; ++i)
    add_leaf(w, rows.iv, at[i]);
  fe_loop_end(ir, &trees);
  fe_loop_end(ir, &rows);
}

/// Before the trees (`first`), and after them.
static void each_score(walker *w, MlirValue from, MlirValue to, bool first,
                       int64_t n_trees) {
  fe_ir *ir = w->ir;
  bool extreme = w->aggregate == FE_TREE_MIN || w->aggregate == FE_TREE_MAX;
  if (!first && w->aggregate == FE_TREE_SUM)
    return;
  fe_region rows = fe_for_begin(ir, from, to, fe_index(ir, 1), 0, NULL);
  fe_region targets = fe_loop(ir, fe_index(ir, w->n_targets));
  MlirValue at[2] = {rows.iv, targets.iv}, v;
  MlirValue zero = fe_float(ir, w->type, 0);
  if (first) {
    v = extreme ? fe_float(ir, w->type, __builtin_nan("")) : zero;
  } else {
    v = fe_load(ir, w->k.out[0], 2, at);
    v = extreme ? fe_select(ir, fe_cmp(ir, FE_EQ, v, v), v, zero)
                : fe_div(ir, v, fe_float(ir, w->type, (double)n_trees));
  }
  fe_store(ir, v, w->k.out[0], 2, at);
  fe_loop_end(ir, &targets);
  fe_loop_end(ir, &rows);
}

static fe_status lower_walk(fe_lower *l) {
  fe_ir *ir = l->ir;
  walker w = {.ir = ir,
              .type = fe_out_elem(l, 0),
              .aggregate = fe_attr_i64(l->op, "aggregate", FE_TREE_SUM),
              .form = fe_attr_i64(l->op, "form", FE_TREE_SPARSE),
              .n_nodes = fe_attr_i64(l->op, "n_nodes", 0),
              .n_targets = fe_attr_i64(l->op, "n_targets", 1),
              .negated = fe_attr_i64(l->op, "negated", 0) != 0,
              .wide = l->out_type[0] == FE_F64};
  int64_t features = fe_attr_i64(l->op, "features", 0);
  int64_t n_trees = fe_attr_i64(l->op, "n_trees", 0);
  if (fe_static_dim(l->in[X], 1) == FE_DYN)
    fe_check(l,
             fe_cmp(ir, FE_GE, fe_size(l, l->in[X], 1), fe_index(ir, features)),
             "the input has too few features");
  MlirValue sizes[2] = {fe_size(l, l->in[X], 0), fe_index(ir, w.n_targets)};
  MlirValue out = fe_out_empty(l, 0, sizes);
  fe_kernel *k = &w.k;
  fe_kernel_begin(k, l, "tree_walk", l->n_in, l->in, 1, &out, 0, NULL);
  MlirValue walks = fe_index(ir, WALKS);
  fe_region blocks =
      fe_for_begin(ir, k->begin, k->end, fe_index(ir, BLOCK), 0, NULL);
  MlirValue end =
      fe_min(ir, fe_add(ir, blocks.iv, fe_index(ir, BLOCK)), k->end);
  MlirValue whole = fe_divu(ir, fe_sub(ir, end, blocks.iv), walks);
  MlirValue middle = fe_add(ir, blocks.iv, fe_mul(ir, whole, walks));
  each_score(&w, blocks.iv, end, true, n_trees);
  walk_rows(&w, blocks.iv, middle, n_trees);
  walk_trees(&w, middle, end);
  each_score(&w, blocks.iv, end, false, n_trees);
  fe_loop_end(ir, &blocks);
  int64_t depth = 1; // of a tree of the average size
  for (int64_t n = w.n_nodes / (n_trees ? n_trees : 1); n > 1; n /= 2)
    ++depth;
  fe_kernel_end(k, fe_kernel_dim(k, X, 0),
                fe_dim_const(ir, n_trees * depth * OPERATIONS));
  l->out[0] = k->result[0];
  return FE_OK;
}

static const fe_attr_def attrs[] = {
    {"aggregate", FE_A_INT, "1"},  {"features", FE_A_INT, NULL},
    {"form", FE_A_INT, NULL},      {"n_nodes", FE_A_INT, NULL},
    {"n_targets", FE_A_INT, NULL}, {"n_trees", FE_A_INT, NULL},
    {"negated", FE_A_INT, "1"},    {0}};

const fe_op_row fe_family_tree_walk[] = {
    {.name = "TreeWalk",
     .domain = "ai.onnx.ml",
     .since = 1,
     .inputs = "X:T, nodes:I, splits:T, roots:I, leaves:I, targets:I, "
               "weights:T",
     .outputs = "Y:T",
     .types = "T=f32,f64;I=i32",
     .attrs = attrs,
     .infer = infer_walk,
     .lower = lower_walk,
     .limits = "internal: what TreeEnsemble* become"},
    {0}};
