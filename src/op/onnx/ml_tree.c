//===- ml_tree.c - TreeEnsemble* ---------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attributes of all forms become the tables of TreeWalk, checked on the
// way: every child, feature and target that a table names exists. What follows
// the scores is made of elementwise operators, as ONNX Runtime does it.
//
//===----------------------------------------------------------------------===//
#include "op/ml.h"
#include "op/tree_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// One node's trees while they are read.
typedef struct trees {
  fe_node *n;
  fe_trees t;
  int64_t aggregate;
} trees;

static MlirValue int_table(fe_ir *ir, int64_t n, const int32_t *v) {
  return fe_constant(ir, NULL, FE_I32, 1, &n,
                     fe_memdup(ir->arena, v, (size_t)n * sizeof *v));
}

static MlirValue float_table(const trees *t, int64_t n, const double *v) {
  fe_ir *ir = t->n->ir;
  if (t->t.type == FE_F64)
    return fe_constant(ir, NULL, FE_F64, 1, &n,
                       fe_memdup(ir->arena, v, (size_t)n * sizeof *v));
  float *out = FE_NEW_N(ir->arena, float, (size_t)n + 1);
  for (int64_t i = 0; i < n; ++i)
    out[i] = (float)v[i];
  return fe_constant(ir, NULL, FE_F32, 1, &n, out);
}

//===-- The walk ------------------------------------------------------------//

/// How the weights of leaves lie: see FE_TREE_* in ml.h.
static int64_t form_of(const trees *t) {
  bool sums = t->aggregate == FE_TREE_SUM || t->aggregate == FE_TREE_AVERAGE;
  int64_t most = 0, cells = t->t.n_leaves * t->t.n_targets;
  for (int64_t i = 0; i < t->t.n_leaves; ++i)
    if (t->t.leaves[i + 1] - t->t.leaves[i] > most)
      most = t->t.leaves[i + 1] - t->t.leaves[i];
  if (sums && t->t.n_targets == 1 && most <= 1)
    return FE_TREE_IN_LEAVES;
  return sums && cells / 2 <= t->t.n_entries && cells < INT32_MAX
             ? FE_TREE_DENSE
             : FE_TREE_SPARSE;
}

/// Puts the weights where the form has them: into the leaves of the table, or
/// into what this gives, [n].
static const double *weights_of(const trees *t, int64_t form,
                                fe_tree_table *table, int64_t *n) {
  const fe_trees *r = &t->t;
  *n = r->n_entries;
  if (form == FE_TREE_SPARSE)
    return r->weights;
  // A leaf without a weight has one that changes nothing.
  int64_t cells = table->n_leaves * r->n_targets;
  double *v = form == FE_TREE_DENSE
                  ? FE_NEW_N(t->n->ir->arena, double, (size_t)cells)
                  : table->splits + table->n_nodes;
  for (int64_t i = 0; i < cells; ++i)
    v[i] = -0.0;
  for (int64_t i = 0; i < r->n_leaves; ++i)
    for (int64_t e = r->leaves[i]; e < r->leaves[i + 1]; ++e)
      v[i * r->n_targets + r->targets[e]] += r->weights[e];
  *n = form == FE_TREE_DENSE ? cells : 0;
  if (form == FE_TREE_DENSE)
    return v;
  for (int64_t i = 0; i < cells; ++i) {
    float narrow = (float)v[i];
    memcpy(&table->words[FE_TREE_WORDS * (table->n_nodes + i) + FE_TREE_SPLIT],
           &narrow, sizeof narrow);
  }
  return v;
}

/// The walk itself; null after a report.
static MlirValue walk(trees *t, MlirValue x) {
  fe_ir *ir = t->n->ir;
  fe_tree_table table;
  const char *wrong = fe_tree_table_make(ir->arena, &t->t, &table);
  if (wrong) {
    (void)fe_node_refuse(t->n, NULL, wrong);
    return (MlirValue){0};
  }
  int64_t form = form_of(t), n_weights;
  const double *weights = weights_of(t, form, &table, &n_weights);
  int64_t rows = table.n_nodes + table.n_leaves;
  // The leaf that was added has no entries.
  int32_t *leaves = FE_NEW_N(ir->arena, int32_t, (size_t)table.n_leaves + 1);
  memcpy(leaves, t->t.leaves, (size_t)table.n_leaves * sizeof *leaves);
  leaves[table.n_leaves] = leaves[table.n_leaves - 1];
  bool sparse = form == FE_TREE_SPARSE;
  // Tables that are not read have an element, as a kernel's operands do.
  MlirValue in[7] = {
      fe_x_cast(ir, x, t->t.type),
      int_table(ir, FE_TREE_WORDS * rows, table.words),
      float_table(t, t->t.type == FE_F64 ? rows : 1, table.splits),
      int_table(ir, table.n_roots, table.roots),
      int_table(ir, sparse ? table.n_leaves + 1 : 1, leaves),
      int_table(ir, sparse ? t->t.n_entries : 1, t->t.targets),
      float_table(t, n_weights ? n_weights : 1, weights)};
  MlirNamedAttribute attrs[7] = {fe_at_i64(ir, "aggregate", t->aggregate),
                                 fe_at_i64(ir, "features", table.features),
                                 fe_at_i64(ir, "form", form),
                                 fe_at_i64(ir, "n_nodes", table.n_nodes),
                                 fe_at_i64(ir, "n_targets", t->t.n_targets),
                                 fe_at_i64(ir, "n_trees", t->t.n_roots),
                                 fe_at_i64(ir, "negated", table.negated)};
  return fe_first(fe_onnx(ir, "ml_tree_walk", 7, in, 1, 7, attrs));
}

//===-- Attributes ----------------------------------------------------------//

/// Numbers of an attribute, a tensor or a list; 0 when there are none.
static int64_t numbers(fe_node *n, const char *name, const char *tensor,
                       double **out) {
  fe_ir *ir = n->ir;
  const fe_node_attr *a = tensor ? fe_ml_attr(n, tensor) : NULL;
  fe_const c;
  if (a && a->kind == FE_A_TENSOR && fe_const_of(ir, a->value, &c)) {
    *out = FE_NEW_N(ir->arena, double, (size_t)c.count + 1);
    for (int64_t i = 0; i < c.count; ++i)
      (*out)[i] = fe_const_f64(&c, i);
    return c.count;
  }
  a = name ? fe_ml_attr(n, name) : NULL;
  if (!a || (a->kind != FE_A_FLOATS && a->kind != FE_A_INTS))
    return 0;
  *out = FE_NEW_N(ir->arena, double, a->n + 1);
  for (size_t i = 0; i < a->n; ++i)
    (*out)[i] = a->kind == FE_A_INTS ? (double)a->ints[i] : a->floats[i];
  return (int64_t)a->n;
}

/// Integers of attribute `name`; NULL when they are not `count`.
static const int64_t *ints(fe_node *n, const char *name, int64_t count) {
  const fe_node_attr *a = fe_ml_attr(n, name);
  return a && a->kind == FE_A_INTS && (int64_t)a->n == count ? a->ints : NULL;
}

static int32_t narrow(int64_t v) {
  return v < INT32_MIN || v > INT32_MAX ? INT32_MAX : (int32_t)v;
}

/// The input, a matrix or one row of numbers, and the type that the walk has.
static fe_status read_input(trees *t, MlirValue *x) {
  fe_ir *ir = t->n->ir;
  fe_dims d;
  *x = t->n->in.n == 1 ? t->n->in.at[0] : (MlirValue){0};
  if (fe_is_null(*x) || !fe_dims_of(ir, *x, &d))
    return fe_node_refuse(t->n, NULL,
                          "the input must be one tensor of numbers");
  if (d.rank == 1)
    *x = fe_ml_as_row(ir, *x);
  t->t.type = fe_x_type(*x) == FE_F64 ? FE_F64 : FE_F32;
  return fe_is_null(*x) ? FE_FAILED : FE_OK;
}

//===-- TreeEnsemble --------------------------------------------------------//

/// Where the sets lie: in the order of their nodes, each ended by a NaN.
static void find_sets(fe_trees *t) {
  int64_t member = 0;
  for (int64_t i = 0; i < t->n_nodes; ++i) {
    if (t->nodes[i].mode != FE_TREE_MEMBER)
      continue;
    t->nodes[i].split = (double)member;
    while (member < t->n_members && !isnan(t->members[member]))
      ++member;
    ++member;
  }
}

static fe_status read_ensemble(trees *all) {
  fe_trees *t = &all->t;
  fe_node *n = all->n;
  fe_ir *ir = n->ir;
  const fe_node_attr *a = fe_ml_attr(n, "nodes_featureids");
  int64_t count = a ? (int64_t)a->n : 0, entries = 0;
  const int64_t *child[2] = {ints(n, "nodes_truenodeids", count),
                             ints(n, "nodes_falsenodeids", count)};
  const int64_t *leaf[2] = {ints(n, "nodes_trueleafs", count),
                            ints(n, "nodes_falseleafs", count)};
  const int64_t *nan = ints(n, "nodes_missing_value_tracks_true", count);
  const fe_node_attr *roots = fe_ml_attr(n, "tree_roots");
  const fe_node_attr *targets = fe_ml_attr(n, "leaf_targetids");
  double *modes = NULL, *splits = NULL;
  if (numbers(n, NULL, "nodes_modes", &modes) != count ||
      numbers(n, NULL, "nodes_splits", &splits) != count || !count ||
      !child[0] || !child[1] || !leaf[0] || !leaf[1] || !roots || !targets)
    return fe_node_refuse(n, NULL,
                          "the attributes of the nodes do not fit "
                          "together");
  entries = numbers(n, NULL, "leaf_weights", &t->weights);
  if (entries != (int64_t)targets->n || entries > INT32_MAX / 4 ||
      count > INT32_MAX / 4)
    return fe_node_refuse(n, "leaf_weights",
                          "there is not one weight per leaf");
  t->n_members = numbers(n, NULL, "membership_values", &t->members);
  t->n_nodes = count;
  t->n_leaves = t->n_entries = entries;
  t->nodes = FE_NEW_N(ir->arena, fe_tree_node, (size_t)count);
  for (int64_t i = 0; i < count; ++i) {
    if (modes[i] < 0 || modes[i] > FE_TREE_MEMBER)
      return fe_node_refuse(n, "nodes_modes", "there is no such mode");
    int32_t to[2];
    for (unsigned c = 0; c < 2; ++c) {
      to[c] = narrow(child[c][i]);
      to[c] = to[c] < 0 ? INT32_MAX : leaf[c][i] ? ~to[c] : to[c];
    }
    t->nodes[i] = (fe_tree_node){.feature = narrow(a->ints[i]),
                                 .yes = to[0],
                                 .no = to[1],
                                 .mode = (uint8_t)modes[i],
                                 .nan_is_yes = nan && nan[i],
                                 .split = splits[i]};
  }
  find_sets(t);
  t->n_roots = (int64_t)roots->n;
  t->roots = FE_NEW_N(ir->arena, int32_t, roots->n);
  for (size_t i = 0; i < roots->n; ++i) {
    if (roots->ints[i] < 0 || roots->ints[i] >= count)
      return fe_node_refuse(n, "tree_roots", "a root does not exist");
    t->roots[i] = (int32_t)roots->ints[i];
  }
  t->leaves = FE_NEW_N(ir->arena, int32_t, (size_t)entries + 1);
  t->targets = FE_NEW_N(ir->arena, int32_t, (size_t)entries + 1);
  for (int64_t i = 0; i <= entries; ++i)
    t->leaves[i] = (int32_t)i;
  for (int64_t i = 0; i < entries; ++i)
    t->targets[i] = narrow(targets->ints[i]);
  return FE_OK;
}

static fe_status expand_ensemble(fe_node *n, MlirValue *results) {
  static const char *const posts[] = {"NONE", "SOFTMAX", "LOGISTIC",
                                      "SOFTMAX_ZERO", "PROBIT"};
  trees t = {.n = n};
  MlirValue x;
  const fe_node_attr *targets = fe_ml_attr(n, "n_targets");
  const fe_node_attr *post = fe_ml_attr(n, "post_transform");
  const fe_node_attr *aggregate = fe_ml_attr(n, "aggregate_function");
  if (read_input(&t, &x) || read_ensemble(&t))
    return FE_FAILED;
  t.t.n_targets = targets ? targets->i : 1;
  t.aggregate = aggregate ? aggregate->i : FE_TREE_SUM;
  if (t.t.n_targets < 1 || t.t.n_targets > INT32_MAX || t.aggregate < 0 ||
      t.aggregate > FE_TREE_MAX || (post && (post->i < 0 || post->i > 4)))
    return fe_node_refuse(n, NULL, "an attribute is out of range");
  MlirValue v = walk(&t, x);
  if (fe_is_null(v) || fe_ml_post(n, posts[post ? post->i : 0], &v))
    return FE_FAILED;
  results[0] = fe_x_cast(n->ir, v, fe_x_type(x));
  return FE_OK;
}

//===-- The older forms -----------------------------------------------------//

enum { MODE_LEAF = FE_TREE_MEMBER };

static int mode_of(const char *name) {
  static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                      "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ",
                                      "LEAF"};
  for (unsigned i = 0; i < FE_COUNT(names); ++i)
    if (!strcmp(names[i], name))
      return (int)i;
  return -1;
}

/// Entries of leaves, named by prefix ("class", "target").
typedef struct entries {
  const int64_t *tree, *node, *id;
  double *weights;
  int64_t n;
} entries;

static fe_status read_entries(fe_node *n, const char *prefix, entries *e) {
  fe_ir *ir = n->ir;
  const char *ids = fe_printf(ir->arena, "%s_ids", prefix);
  const fe_node_attr *a = fe_ml_attr(n, ids);
  e->n = a ? (int64_t)a->n : 0;
  e->id = ints(n, ids, e->n);
  e->tree = ints(n, fe_printf(ir->arena, "%s_treeids", prefix), e->n);
  e->node = ints(n, fe_printf(ir->arena, "%s_nodeids", prefix), e->n);
  int64_t weights = numbers(
      n, fe_printf(ir->arena, "%s_weights", prefix),
      fe_printf(ir->arena, "%s_weights_as_tensor", prefix), &e->weights);
  if (!e->n || e->n > INT32_MAX || !e->id || !e->tree || !e->node ||
      weights != e->n)
    return fe_node_refuse(n, ids,
                          "the attributes of the leaves do not fit "
                          "together");
  return FE_OK;
}

/// A node by its tree and number.
typedef struct place {
  int64_t tree, id, index; // index: in the model's lists
} place;

static int by_name(const void *a, const void *b) {
  const place *x = a, *y = b;
  return x->tree != y->tree ? (x->tree > y->tree) - (x->tree < y->tree)
                            : (x->id > y->id) - (x->id < y->id);
}

/// The nodes in the order of their names; NULL when two have the same.
static place *sorted_places(fe_arena *arena, int64_t n, const int64_t *tree,
                            const int64_t *id) {
  place *p = FE_NEW_N(arena, place, (size_t)n);
  bool sorted = true;
  for (int64_t i = 0; i < n; ++i) {
    p[i] = (place){tree[i], id[i], i};
    sorted &= !i || by_name(&p[i - 1], &p[i]) < 0;
  }
  if (sorted) // as exporters write them
    return p;
  qsort(p, (size_t)n, sizeof *p, by_name);
  for (int64_t i = 1; i < n; ++i)
    if (!by_name(&p[i - 1], &p[i]))
      return NULL;
  return p;
}

static int64_t find_place(const place *p, int64_t n, int64_t tree, int64_t id) {
  place key = {tree, id, 0};
  const place *at = bsearch(&key, p, (size_t)n, sizeof *p, by_name);
  return at ? at->index : -1;
}

/// Entries in the order of the leaves: counted, then put.
static fe_status sort_entries(trees *all, const entries *e, const place *places,
                              int64_t count, const int32_t *ref) {
  fe_trees *t = &all->t;
  fe_arena *arena = all->n->ir->arena;
  t->n_entries = e->n;
  t->leaves = FE_NEW_N(arena, int32_t, (size_t)t->n_leaves + 2);
  t->targets = FE_NEW_N(arena, int32_t, (size_t)e->n);
  t->weights = FE_NEW_N(arena, double, (size_t)e->n);
  int32_t *leaf = FE_NEW_N(arena, int32_t, (size_t)e->n);
  for (int64_t i = 0; i < e->n; ++i) {
    int64_t at = find_place(places, count, e->tree[i], e->node[i]);
    if (at < 0 || ref[at] >= 0)
      return fe_node_refuse(all->n, NULL, "a weight is not at a leaf");
    leaf[i] = ~ref[at];
    ++t->leaves[leaf[i] + 1];
  }
  for (int64_t i = 0; i < t->n_leaves; ++i)
    t->leaves[i + 1] += t->leaves[i];
  int32_t *next =
      fe_memdup(arena, t->leaves, (size_t)(t->n_leaves + 1) * sizeof *next);
  for (int64_t i = 0; i < e->n; ++i) {
    int32_t at = next[leaf[i]]++;
    t->targets[at] = narrow(e->id[i]);
    t->weights[at] = e->weights[i];
  }
  return FE_OK;
}

/// The first node of a tree is its root; trees in the order of the file.
static void find_roots(fe_trees *t, fe_arena *arena, int64_t count,
                       const int64_t *tree, const place *places,
                       const int32_t *ref) {
  t->roots = FE_NEW_N(arena, int32_t, (size_t)count);
  bool *seen = FE_NEW_N(arena, bool, (size_t)count);
  for (int64_t i = 0; i < count; ++i) {
    if (i && tree[i] == tree[i - 1])
      continue;
    int64_t low = 0, high = count; // the first place of the tree
    while (low < high) {
      int64_t middle = low + (high - low) / 2;
      if (places[middle].tree < tree[i])
        low = middle + 1;
      else
        high = middle;
    }
    if (!seen[low])
      t->roots[t->n_roots++] = ref[i];
    seen[low] = true;
  }
}

/// Trees whose leaves are nodes too, named by tree and node.
static fe_status read_old(trees *all, const entries *e) {
  fe_trees *t = &all->t;
  fe_node *n = all->n;
  fe_ir *ir = n->ir;
  const fe_node_attr *a = fe_ml_attr(n, "nodes_modes");
  int64_t count = a && a->kind == FE_A_STRINGS ? (int64_t)a->n : 0;
  const int64_t *tree = ints(n, "nodes_treeids", count);
  const int64_t *id = ints(n, "nodes_nodeids", count);
  const int64_t *feature = ints(n, "nodes_featureids", count);
  const int64_t *child[2] = {ints(n, "nodes_truenodeids", count),
                             ints(n, "nodes_falsenodeids", count)};
  const int64_t *nan = ints(n, "nodes_missing_value_tracks_true", count);
  double *splits = NULL;
  if (!count || count > INT32_MAX / 4 || !tree || !id || !feature ||
      !child[0] || !child[1] ||
      numbers(n, "nodes_values", "nodes_values_as_tensor", &splits) != count)
    return fe_node_refuse(n, NULL,
                          "the attributes of the nodes do not fit "
                          "together");
  const place *places = sorted_places(ir->arena, count, tree, id);
  if (!places)
    return fe_node_refuse(n, "nodes_nodeids", "a node is there twice");
  // A node of the lists as the tables name it: a number, or ~leaf.
  int32_t *ref = FE_NEW_N(ir->arena, int32_t, (size_t)count);
  for (int64_t i = 0; i < count; ++i) {
    int mode = mode_of(a->strings[i]);
    if (mode < 0)
      return fe_node_refuse(n, "nodes_modes", "there is no such mode");
    ref[i] =
        mode == MODE_LEAF ? ~(int32_t)t->n_leaves++ : (int32_t)t->n_nodes++;
  }
  t->nodes = FE_NEW_N(ir->arena, fe_tree_node, (size_t)t->n_nodes + 1);
  for (int64_t i = 0; i < count; ++i) {
    if (ref[i] < 0)
      continue;
    int32_t to[2];
    for (unsigned c = 0; c < 2; ++c) {
      int64_t at = find_place(places, count, tree[i], child[c][i]);
      to[c] = at < 0 ? INT32_MAX : ref[at];
    }
    t->nodes[ref[i]] = (fe_tree_node){.feature = narrow(feature[i]),
                                      .yes = to[0],
                                      .no = to[1],
                                      .mode = (uint8_t)mode_of(a->strings[i]),
                                      .nan_is_yes = nan && nan[i],
                                      .split = splits[i]};
  }
  find_roots(t, ir->arena, count, tree, places, ref);
  return sort_entries(all, e, places, count, ref);
}

/// Adds base_values to the scores.
static fe_status add_base(const trees *t, MlirValue *scores) {
  double *base = NULL;
  fe_node *n = t->n;
  int64_t count = numbers(n, "base_values", "base_values_as_tensor", &base);
  if (!count)
    return FE_OK;
  if (count != 1 && count != t->t.n_targets)
    return fe_node_refuse(n, "base_values", "there is not one per target");
  *scores = fe_onnx1(n->ir, "Add", *scores, float_table(t, count, base));
  return fe_is_null(*scores) ? FE_FAILED : FE_OK;
}

static fe_status expand_regressor(fe_node *n, MlirValue *results) {
  static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  trees t = {.n = n};
  entries e;
  MlirValue x;
  const fe_node_attr *targets = fe_ml_attr(n, "n_targets");
  const char *aggregate = fe_ml_text(n, "aggregate_function", "SUM");
  while (t.aggregate < 4 && strcmp(names[t.aggregate], aggregate))
    ++t.aggregate;
  t.t.n_targets = targets ? targets->i : 1;
  if (t.aggregate == 4 || t.t.n_targets < 1 || t.t.n_targets > INT32_MAX)
    return fe_node_refuse(n, NULL, "an attribute is out of range");
  if (read_input(&t, &x) || read_entries(n, "target", &e) || read_old(&t, &e))
    return FE_FAILED;
  MlirValue v = walk(&t, x);
  if (fe_is_null(v) || add_base(&t, &v))
    return FE_FAILED;
  v = fe_x_cast(n->ir, v, FE_F32);
  if (fe_ml_post(n, fe_ml_text(n, "post_transform", "NONE"), &v))
    return FE_FAILED;
  results[0] = v;
  return FE_OK;
}

/// Two classes whose leaves score only one of them, `of`. Named after the first
/// one, the score is the probability of the second, or its distance.
static fe_status two_classes(trees *t, const entries *e, MlirValue score,
                             int64_t of, const fe_ml_labels *labels,
                             MlirValue *results) {
  fe_node *n = t->n;
  fe_ir *ir = n->ir;
  bool positive = true;
  for (int64_t i = 0; i < e->n; ++i)
    positive &= e->weights[i] >= 0;
  results[0] = fe_ml_above(ir, score, positive ? 0.5 : 0, labels);
  if (of == 1) {
    MlirValue none = fe_onnx1(ir, "Mul", score, fe_ml_number(ir, 0));
    score = fe_ml_beside(ir, none, score);
  }
  if (of == 1 ? fe_ml_post(n, fe_ml_text(n, "post_transform", "NONE"), &score)
              : fe_ml_two_classes(n, !positive, &score))
    return FE_FAILED;
  return fe_ml_classified(n, results[0], score, results);
}

static fe_status expand_classifier(fe_node *n, MlirValue *results) {
  trees t = {.n = n, .aggregate = FE_TREE_SUM};
  entries e;
  MlirValue x;
  fe_ml_labels labels;
  if (fe_ml_read_labels(n, "classlabels_int64s", "classlabels_strings",
                        &labels))
    return FE_FAILED;
  t.t.n_targets = (int64_t)labels.n;
  if (read_input(&t, &x) || read_entries(n, "class", &e))
    return FE_FAILED;
  double *base;
  bool single = labels.n == 2 &&
                numbers(n, "base_values", "base_values_as_tensor", &base) != 2;
  for (int64_t i = 0; i < e.n; ++i)
    single &= e.id[i] == e.id[0];
  int64_t of = e.id[0], *zeros = FE_NEW_N(n->ir->arena, int64_t, (size_t)e.n);
  if (single && (of < 0 || of > 1))
    return fe_node_refuse(n, "class_ids", "there is no such class");
  if (single) { // one column, whichever class it is named after
    t.t.n_targets = 1;
    e.id = zeros;
  }
  if (read_old(&t, &e))
    return FE_FAILED;
  MlirValue v = walk(&t, x);
  if (fe_is_null(v) || add_base(&t, &v))
    return FE_FAILED;
  v = fe_x_cast(n->ir, v, FE_F32);
  if (single)
    return two_classes(&t, &e, v, of, &labels, results);
  results[0] = fe_ml_best(n->ir, v, &labels);
  if (fe_ml_post(n, fe_ml_text(n, "post_transform", "NONE"), &v))
    return FE_FAILED;
  return fe_ml_classified(n, results[0], v, results);
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def ensemble_attrs[] = {
    {"aggregate_function", FE_A_INT, "1|0|2|3"},
    {"leaf_targetids", FE_A_INTS, NULL},
    {"leaf_weights", FE_A_TENSOR, NULL},
    {"membership_values", FE_A_TENSOR, NULL},
    {"n_targets", FE_A_INT, "1"},
    {"nodes_falseleafs", FE_A_INTS, NULL},
    {"nodes_falsenodeids", FE_A_INTS, NULL},
    {"nodes_featureids", FE_A_INTS, NULL},
    {"nodes_hitrates", FE_A_TENSOR, NULL},
    {"nodes_missing_value_tracks_true", FE_A_INTS, ""},
    {"nodes_modes", FE_A_TENSOR, NULL},
    {"nodes_splits", FE_A_TENSOR, NULL},
    {"nodes_trueleafs", FE_A_INTS, NULL},
    {"nodes_truenodeids", FE_A_INTS, NULL},
    {"post_transform", FE_A_INT, "0|1|2|3|4"},
    {"tree_roots", FE_A_INTS, NULL},
    {0}};

#define OLD_NODES                                                              \
  {"base_values", FE_A_FLOATS, ""},                                            \
      {"base_values_as_tensor", FE_A_TENSOR, NULL},                            \
      {"nodes_falsenodeids", FE_A_INTS, ""},                                   \
      {"nodes_featureids", FE_A_INTS, ""},                                     \
      {"nodes_hitrates", FE_A_FLOATS, ""},                                     \
      {"nodes_hitrates_as_tensor", FE_A_TENSOR, NULL},                         \
      {"nodes_missing_value_tracks_true", FE_A_INTS, ""},                      \
      {"nodes_modes", FE_A_STRINGS, ""}, {"nodes_nodeids", FE_A_INTS, ""},     \
      {"nodes_treeids", FE_A_INTS, ""}, {"nodes_truenodeids", FE_A_INTS, ""},  \
      {"nodes_values", FE_A_FLOATS, ""},                                       \
      {"nodes_values_as_tensor", FE_A_TENSOR, NULL},                           \
      {"post_transform", FE_A_STRING,                                          \
       "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT"}

static const fe_attr_def regressor_attrs[] = {
    OLD_NODES,
    {"aggregate_function", FE_A_STRING, "SUM|AVERAGE|MIN|MAX"},
    {"n_targets", FE_A_INT, "1"},
    {"target_ids", FE_A_INTS, ""},
    {"target_nodeids", FE_A_INTS, ""},
    {"target_treeids", FE_A_INTS, ""},
    {"target_weights", FE_A_FLOATS, ""},
    {"target_weights_as_tensor", FE_A_TENSOR, NULL},
    {0}};
static const fe_attr_def classifier_attrs[] = {
    OLD_NODES,
    {"class_ids", FE_A_INTS, ""},
    {"class_nodeids", FE_A_INTS, ""},
    {"class_treeids", FE_A_INTS, ""},
    {"class_weights", FE_A_FLOATS, ""},
    {"class_weights_as_tensor", FE_A_TENSOR, NULL},
    {"classlabels_int64s", FE_A_INTS, ""},
    {"classlabels_strings", FE_A_STRINGS, ""},
    {0}};

const fe_op_row fe_family_ml_tree[] = {
    FE_ML_ROW("TreeEnsemble", 5, "X:T", "Y:T", "T=f16,f32,f64", ensemble_attrs,
              expand_ensemble, NULL),
    FE_ML_ROW("TreeEnsembleRegressor", 1, "X:T", "Y:Z", FE_ML_SCORES,
              regressor_attrs, expand_regressor, NULL),
    FE_ML_ROW("TreeEnsembleClassifier", 1, "X:T", "Y:Y, Z:Z", FE_ML_SCORES,
              classifier_attrs, expand_classifier, NULL),
    {0}};
