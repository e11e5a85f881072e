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

#include <math.h>
#include <string.h>

/// Tables of one node while they are made.
typedef struct trees {
  fe_node *n;
  fe_dtype type; // of input, thresholds and weights
  int64_t n_nodes, n_targets, n_leaves, n_entries, n_members, n_roots;
  int32_t *nodes; // [n_nodes][4]
  double *splits, *members, *weights;
  int32_t *roots, *leaves, *targets;
  int64_t features, mode, aggregate;
  bool nan_is_true;
} trees;

static MlirValue int_table(fe_ir *ir, unsigned rank, int64_t n, int64_t m,
                           const int32_t *v) {
  int64_t dims[2] = {n, m};
  size_t size = (size_t)(n * m) * sizeof *v;
  return fe_constant(ir, NULL, FE_I32, rank, dims,
                     fe_memdup(ir->arena, v, size));
}

static MlirValue float_table(const trees *t, int64_t n, const double *v) {
  fe_ir *ir = t->n->ir;
  if (t->type == FE_F64)
    return fe_constant(ir, NULL, FE_F64, 1, &n,
                       fe_memdup(ir->arena, v, (size_t)n * sizeof *v));
  float *out = FE_NEW_N(ir->arena, float, (size_t)n + 1);
  for (int64_t i = 0; i < n; ++i)
    out[i] = (float)v[i];
  return fe_constant(ir, NULL, FE_F32, 1, &n, out);
}

/// The walk itself; null after a report. Finds out what is common to all nodes.
static MlirValue walk(trees *t, MlirValue x) {
  fe_ir *ir = t->n->ir;
  t->mode = t->n_nodes ? t->nodes[3] & 7 : 0;
  for (int64_t i = 0; i < t->n_nodes; ++i) {
    const int32_t *node = t->nodes + 4 * i;
    if (node[0] < 0 || node[0] == INT32_MAX) {
      (void)fe_ml_error(t->n, "nodes_featureids", "a feature is out of range");
      return (MlirValue){0};
    }
    for (unsigned c = 1; c < 3; ++c)
      if (node[c] >= t->n_nodes || ~node[c] >= t->n_leaves) {
        (void)fe_ml_error(t->n,
                          c == 1 ? "nodes_truenodeids" : "nodes_falsenodeids",
                          "a node that does not exist is named");
        return (MlirValue){0};
      }
    if (node[0] >= t->features)
      t->features = node[0] + 1;
    if ((node[3] & 7) != t->mode || (node[3] & 7) == FE_TREE_MEMBER)
      t->mode = -1;
    t->nan_is_true |= node[3] >= 8;
  }
  for (int64_t i = 0; i < t->n_entries; ++i)
    if (t->targets[i] < 0 || t->targets[i] >= t->n_targets) {
      (void)fe_ml_error(t->n, NULL, "a target is out of range");
      return (MlirValue){0};
    }
  if (!t->n_members) { // not read, but a kernel's operand has an element
    t->n_members = 1;
    t->members = FE_NEW_N(ir->arena, double, 1);
    t->members[0] = NAN;
  }
  MlirValue in[8] = {fe_ml_cast(ir, x, t->type),
                     int_table(ir, 2, t->n_nodes, 4, t->nodes),
                     float_table(t, t->n_nodes, t->splits),
                     float_table(t, t->n_members, t->members),
                     int_table(ir, 1, t->n_roots, 1, t->roots),
                     int_table(ir, 1, t->n_leaves + 1, 1, t->leaves),
                     int_table(ir, 1, t->n_entries, 1, t->targets),
                     float_table(t, t->n_entries, t->weights)};
  MlirNamedAttribute attrs[5] = {fe_at_i64(ir, "aggregate", t->aggregate),
                                 fe_at_i64(ir, "features", t->features),
                                 fe_at_i64(ir, "mode", t->mode),
                                 fe_at_i64(ir, "n_targets", t->n_targets),
                                 fe_at_i64(ir, "nan_is_true", t->nan_is_true)};
  return fe_first(fe_onnx(ir, "ml_tree_walk", 8, in, 1, 5, attrs));
}

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

/// The input, a tensor of numbers, and the type that the walk has.
static fe_status read_input(trees *t, MlirValue *x) {
  *x = t->n->in.n == 1 ? t->n->in.at[0] : (MlirValue){0};
  if (fe_is_null(*x))
    return fe_ml_error(t->n, NULL, "the input must be one tensor of numbers");
  t->type = fe_ml_type(*x) == FE_F64 ? FE_F64 : FE_F32;
  return FE_OK;
}

//===-- TreeEnsemble --------------------------------------------------------//

static fe_status read_ensemble(trees *t) {
  fe_node *n = t->n;
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
  double *modes = NULL;
  if (numbers(n, NULL, "nodes_modes", &modes) != count ||
      numbers(n, NULL, "nodes_splits", &t->splits) != count || !count ||
      !child[0] || !child[1] || !leaf[0] || !leaf[1] || !roots || !targets)
    return fe_ml_error(n, NULL,
                       "the attributes of the nodes do not fit "
                       "together");
  entries = numbers(n, NULL, "leaf_weights", &t->weights);
  if (entries != (int64_t)targets->n || entries > INT32_MAX ||
      count > INT32_MAX / 4)
    return fe_ml_error(n, "leaf_weights", "there is not one weight per leaf");
  t->n_members = numbers(n, NULL, "membership_values", &t->members);
  t->n_nodes = count;
  t->n_leaves = t->n_entries = entries;
  t->nodes = FE_NEW_N(ir->arena, int32_t, (size_t)(4 * count));
  int64_t member = 0;
  for (int64_t i = 0; i < count; ++i) {
    int32_t *node = t->nodes + 4 * i;
    if (modes[i] < 0 || modes[i] > FE_TREE_MEMBER)
      return fe_ml_error(n, "nodes_modes", "there is no such mode");
    node[0] = narrow(a->ints[i]);
    for (unsigned c = 0; c < 2; ++c) {
      int32_t to = narrow(child[c][i]);
      node[1 + c] = to < 0 ? INT32_MAX : leaf[c][i] ? ~to : to;
    }
    node[3] = (int32_t)modes[i] + (nan && nan[i] ? 8 : 0);
    if ((int)modes[i] != FE_TREE_MEMBER)
      continue;
    // Sets lie in the order of their nodes.
    t->splits[i] = (double)member;
    while (member < t->n_members && !isnan(t->members[member]))
      ++member;
    ++member;
  }
  t->n_roots = (int64_t)roots->n;
  t->roots = FE_NEW_N(ir->arena, int32_t, roots->n);
  for (size_t i = 0; i < roots->n; ++i) {
    if (roots->ints[i] < 0 || roots->ints[i] >= count)
      return fe_ml_error(n, "tree_roots", "a root does not exist");
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
  t.n_targets = targets ? targets->i : 1;
  t.aggregate = aggregate ? aggregate->i : FE_TREE_SUM;
  if (t.n_targets < 1 || t.n_targets > INT32_MAX || t.aggregate < 0 ||
      t.aggregate > FE_TREE_MAX || (post && (post->i < 0 || post->i > 4)))
    return fe_ml_error(n, NULL, "an attribute is out of range");
  MlirValue v = walk(&t, x);
  if (fe_is_null(v) || fe_ml_post(n, posts[post ? post->i : 0], &v))
    return FE_FAILED;
  results[0] = fe_ml_cast(n->ir, v, fe_ml_type(x));
  return FE_OK;
}

//===-- The older forms -----------------------------------------------------//

/// (tree, node) as a key of a map.
static const char *key_of(fe_ir *ir, int64_t tree, int64_t node) {
  return fe_printf(ir->arena, "%lld.%lld", (long long)tree, (long long)node);
}

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
    return fe_ml_error(n, ids,
                       "the attributes of the leaves do not fit "
                       "together");
  return FE_OK;
}

/// Trees whose leaves are nodes too, named by tree and node.
static fe_status read_old(trees *t, const entries *e) {
  fe_node *n = t->n;
  fe_ir *ir = n->ir;
  const fe_node_attr *a = fe_ml_attr(n, "nodes_modes");
  int64_t count = a && a->kind == FE_A_STRINGS ? (int64_t)a->n : 0;
  const int64_t *tree = ints(n, "nodes_treeids", count);
  const int64_t *id = ints(n, "nodes_nodeids", count);
  const int64_t *feature = ints(n, "nodes_featureids", count);
  const int64_t *child[2] = {ints(n, "nodes_truenodeids", count),
                             ints(n, "nodes_falsenodeids", count)};
  const int64_t *nan = ints(n, "nodes_missing_value_tracks_true", count);
  if (!count || count > INT32_MAX / 4 || !tree || !id || !feature ||
      !child[0] || !child[1] ||
      numbers(n, "nodes_values", "nodes_values_as_tensor", &t->splits) != count)
    return fe_ml_error(n, NULL,
                       "the attributes of the nodes do not fit "
                       "together");
  // Where a node is: a place in the tables, or ~leaf.
  int32_t *place = FE_NEW_N(ir->arena, int32_t, (size_t)count);
  int64_t *leaf_of = FE_NEW_N(ir->arena, int64_t, (size_t)count + 1);
  fe_map by_name = {0}, by_tree = {0};
  for (int64_t i = 0; i < count; ++i) {
    int mode = mode_of(a->strings[i]);
    if (mode < 0)
      return fe_ml_error(n, "nodes_modes", "there is no such mode");
    const char *key = key_of(ir, tree[i], id[i]);
    if (fe_map_get(&by_name, key))
      return fe_ml_error(n, "nodes_nodeids", "a node is there twice");
    fe_map_set(ir->arena, &by_name, key, &place[i]);
    if (mode == FE_TREE_MEMBER) { // LEAF
      leaf_of[t->n_leaves] = i;
      place[i] = ~(int32_t)t->n_leaves++;
    } else {
      place[i] = (int32_t)t->n_nodes++;
    }
    key = key_of(ir, tree[i], 0);
    if (!fe_map_get(&by_tree, key)) // the first node of a tree is its root
      fe_map_set(ir->arena, &by_tree, key, &place[i]);
  }
  t->nodes = FE_NEW_N(ir->arena, int32_t, (size_t)(4 * t->n_nodes) + 4);
  double *splits = FE_NEW_N(ir->arena, double, (size_t)t->n_nodes + 1);
  for (int64_t i = 0; i < count; ++i) {
    if (place[i] < 0)
      continue;
    int32_t *node = t->nodes + 4 * place[i];
    splits[place[i]] = t->splits[i];
    node[0] = narrow(feature[i]);
    for (unsigned c = 0; c < 2; ++c) {
      int32_t *to = fe_map_get(&by_name, key_of(ir, tree[i], child[c][i]));
      node[1 + c] = to ? *to : INT32_MAX;
    }
    node[3] = mode_of(a->strings[i]) + (nan && nan[i] ? 8 : 0);
  }
  t->splits = splits;
  t->n_roots = (int64_t)by_tree.n;
  t->roots = FE_NEW_N(ir->arena, int32_t, by_tree.n + 1);
  for (size_t i = 0; i < by_tree.n; ++i)
    t->roots[i] = *(int32_t *)by_tree.entries[i].value;
  // Entries in the order of the leaves: counted, then put.
  t->n_entries = e->n;
  t->leaves = FE_NEW_N(ir->arena, int32_t, (size_t)t->n_leaves + 2);
  t->targets = FE_NEW_N(ir->arena, int32_t, (size_t)e->n);
  t->weights = FE_NEW_N(ir->arena, double, (size_t)e->n);
  int32_t *leaf = FE_NEW_N(ir->arena, int32_t, (size_t)e->n);
  for (int64_t i = 0; i < e->n; ++i) {
    int32_t *at = fe_map_get(&by_name, key_of(ir, e->tree[i], e->node[i]));
    if (!at || *at >= 0)
      return fe_ml_error(n, NULL, "a weight is not at a leaf");
    leaf[i] = ~*at;
    ++t->leaves[leaf[i] + 1];
  }
  for (int64_t i = 0; i < t->n_leaves; ++i)
    t->leaves[i + 1] += t->leaves[i];
  int32_t *next =
      fe_memdup(ir->arena, t->leaves, (size_t)(t->n_leaves + 1) * sizeof *next);
  for (int64_t i = 0; i < e->n; ++i) {
    int32_t at = next[leaf[i]]++;
    t->targets[at] = narrow(e->id[i]);
    t->weights[at] = e->weights[i];
  }
  return FE_OK;
}

/// Adds base_values to the scores.
static fe_status add_base(const trees *t, MlirValue *scores) {
  double *base = NULL;
  fe_node *n = t->n;
  int64_t count = numbers(n, "base_values", "base_values_as_tensor", &base);
  if (!count)
    return FE_OK;
  if (count != 1 && count != t->n_targets)
    return fe_ml_error(n, "base_values", "there is not one per target");
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
  t.n_targets = targets ? targets->i : 1;
  if (t.aggregate == 4 || t.n_targets < 1 || t.n_targets > INT32_MAX)
    return fe_ml_error(n, NULL, "an attribute is out of range");
  if (read_input(&t, &x) || read_entries(n, "target", &e) || read_old(&t, &e))
    return FE_FAILED;
  MlirValue v = walk(&t, x);
  if (fe_is_null(v) || add_base(&t, &v))
    return FE_FAILED;
  v = fe_ml_cast(n->ir, v, FE_F32);
  if (fe_ml_post(n, fe_ml_text(n, "post_transform", "NONE"), &v))
    return FE_FAILED;
  results[0] = v;
  return FE_OK;
}

/// Two classes whose leaves score only one of them, `of`. Named after the first
/// one, the score is the probability of the second or its distance; SOFTMAX
/// and SOFTMAX_ZERO then do nothing.
static fe_status two_classes(trees *t, const entries *e, MlirValue score,
                             int64_t of, const int64_t *labels,
                             MlirValue *results) {
  fe_node *n = t->n;
  fe_ir *ir = n->ir;
  const char *post = fe_ml_text(n, "post_transform", "NONE");
  bool positive = true, logistic = !strcmp(post, "LOGISTIC");
  for (int64_t i = 0; i < e->n; ++i)
    positive &= e->weights[i] >= 0;
  results[0] =
      fe_ml_above(ir, score, positive ? 0.5 : 0, false, labels[1], labels[0]);
  MlirValue other = fe_onnx1(ir, "Neg", score);
  if (of == 1)
    other = fe_onnx1(ir, "Mul", score, fe_constant_scalar(ir, FE_F32, 0));
  else if (positive && !logistic)
    other = fe_onnx1(ir, "Sub", fe_constant_scalar(ir, FE_F32, 1), score);
  MlirValue both[2] = {other, score};
  MlirNamedAttribute axis = fe_at_i64(ir, "axis", 1);
  MlirValue v = fe_first(fe_onnx(ir, "concat", 2, both, 1, 1, &axis));
  if (of == 0 && !strcmp(post, "PROBIT"))
    return fe_ml_error(n, "post_transform",
                       "PROBIT of two classes with one score is not compiled");
  if ((of == 1 || logistic) && fe_ml_post(n, post, &v))
    return FE_FAILED;
  if (n->n_out > 1)
    results[1] = v;
  return fe_is_null(v) || fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

static fe_status expand_classifier(fe_node *n, MlirValue *results) {
  trees t = {.n = n, .aggregate = FE_TREE_SUM};
  entries e;
  MlirValue x;
  const fe_node_attr *labels = fe_ml_attr(n, "classlabels_int64s");
  if (!labels || labels->n < 2)
    return fe_ml_error(n, "classlabels_int64s",
                       "only two or more integer classes are compiled");
  t.n_targets = (int64_t)labels->n;
  if (read_input(&t, &x) || read_entries(n, "class", &e))
    return FE_FAILED;
  bool single = labels->n == 2;
  for (int64_t i = 0; i < e.n; ++i)
    single &= e.id[i] == e.id[0];
  int64_t of = e.id[0], *zeros = FE_NEW_N(n->ir->arena, int64_t, (size_t)e.n);
  if (single && (of < 0 || of > 1))
    return fe_ml_error(n, "class_ids", "there is no such class");
  if (single) { // one column, whichever class it is named after
    t.n_targets = 1;
    e.id = zeros;
  }
  if (read_old(&t, &e))
    return FE_FAILED;
  MlirValue v = walk(&t, x);
  if (fe_is_null(v) || add_base(&t, &v))
    return FE_FAILED;
  v = fe_ml_cast(n->ir, v, FE_F32);
  if (single)
    return two_classes(&t, &e, v, of, labels->ints, results);
  results[0] = fe_ml_best(n->ir, v, labels->ints, labels->n);
  if (fe_ml_post(n, fe_ml_text(n, "post_transform", "NONE"), &v))
    return FE_FAILED;
  if (n->n_out > 1)
    results[1] = v;
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def ensemble_attrs[] = {
    {"aggregate_function", FE_A_INT, "1"},
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
    {"post_transform", FE_A_INT, "0"},
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
      {"post_transform", FE_A_STRING, "NONE"}

static const fe_attr_def regressor_attrs[] = {
    OLD_NODES,
    {"aggregate_function", FE_A_STRING, "SUM"},
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

#define TREES(name_, since_, out_, types_, attrs_, expand_, limits_)           \
  {.name = name_,                                                              \
   .domain = "ai.onnx.ml",                                                     \
   .since = since_,                                                            \
   .inputs = "X:T",                                                            \
   .outputs = out_,                                                            \
   .types = types_,                                                            \
   .attrs = attrs_,                                                            \
   .flags = FE_FUNCTION,                                                       \
   .expand = expand_,                                                          \
   .limits = limits_}

const fe_op_row fe_family_ml_tree[] = {
    TREES("TreeEnsemble", 5, "Y:T", "T=f16,f32,f64", ensemble_attrs,
          expand_ensemble, NULL),
    TREES("TreeEnsembleRegressor", 1, "Y:Y", "T=f32,f64,i64,i32;Y=f32",
          regressor_attrs, expand_regressor, NULL),
    TREES("TreeEnsembleClassifier", 1, "Y:Y, Z:Z",
          "T=f32,f64,i64,i32;Y=i64;Z=f32", classifier_attrs, expand_classifier,
          "no texts"),
    {0}};
