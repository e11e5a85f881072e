//===- tf_idf.c - TfIdfVectorizer --------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The n-grams of the pool become a tree of tokens, which every row is walked
// through. The rewrite puts in NgramCount, an operator of Ferrule's own, whose
// tables are constants of the model:
//
//   first   [nodes + 1]  where the edges of a node begin; node 0 is the root
//   tokens  [edges]      of one node: rising
//   child   [edges]      the node that the edge leads to
//   column  [nodes]      of the result; -1: no n-gram of the pool ends here
//   weights [nodes]      of that n-gram
//
// Rows are independent, so they are the parallel extent.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/ml.h"
#include "op/text.h"

#include <stdlib.h>
#include <string.h>

enum { X, FIRST, TOKENS, CHILD, COLUMN, WEIGHTS };

//===-- The tree ------------------------------------------------------------//

typedef struct gram {
  const int64_t *tokens;
  int64_t n;
  int32_t column;
  float weight;
} gram;

/// By tokens; one that begins another comes before it.
static int compare_grams(const void *a, const void *b) {
  const gram *x = a, *y = b;
  for (int64_t i = 0; i < x->n && i < y->n; ++i)
    if (x->tokens[i] != y->tokens[i])
      return x->tokens[i] < y->tokens[i] ? -1 : 1;
  if (x->n != y->n)
    return x->n < y->n ? -1 : 1;
  // Of equal ones the pool's last counts, which sorts last by its place.
  return x->tokens < y->tokens ? -1 : x->tokens > y->tokens;
}

typedef struct tree {
  int32_t *first, *child, *column;
  int64_t *tokens;
  float *weights;
  int64_t n_nodes;
} tree;

/// Nodes are numbered in the order of the sorted n-grams, so the edges of each
/// node come in rising order.
static tree plant(fe_arena *arena, gram *grams, size_t n, int64_t longest) {
  qsort(grams, n, sizeof *grams, compare_grams);
  size_t most = 1;
  for (size_t i = 0; i < n; ++i)
    most += (size_t)grams[i].n;
  int32_t *parent = FE_NEW_N(arena, int32_t, most);
  int64_t *token = FE_NEW_N(arena, int64_t, most);
  int32_t *path = FE_NEW_N(arena, int32_t, (size_t)longest + 1);
  tree t = {.column = FE_NEW_N(arena, int32_t, most),
            .weights = FE_NEW_N(arena, float, most)};
  path[0] = 0;
  t.column[0] = -1;
  t.weights[0] = 0;
  t.n_nodes = 1;
  for (size_t i = 0; i < n; ++i) {
    const gram *g = &grams[i];
    int64_t shared = 0;
    while (i && shared < g->n && shared < g[-1].n &&
           g->tokens[shared] == g[-1].tokens[shared])
      ++shared;
    for (int64_t k = shared; k < g->n; ++k) {
      int32_t node = (int32_t)t.n_nodes++;
      parent[node] = path[k];
      token[node] = g->tokens[k];
      t.column[node] = -1;
      t.weights[node] = 0;
      path[k + 1] = node;
    }
    t.column[path[g->n]] = g->column;
    t.weights[path[g->n]] = g->weight;
  }
  t.first = FE_NEW_N(arena, int32_t, t.n_nodes + 1);
  t.child = FE_NEW_N(arena, int32_t, t.n_nodes);
  t.tokens = FE_NEW_N(arena, int64_t, t.n_nodes);
  memset(t.first, 0, ((size_t)t.n_nodes + 1) * sizeof *t.first);
  for (int64_t i = 1; i < t.n_nodes; ++i)
    t.first[parent[i] + 1]++;
  for (int64_t i = 0; i < t.n_nodes; ++i)
    t.first[i + 1] += t.first[i];
  int32_t *next = fe_memdup(arena, t.first, (size_t)t.n_nodes * sizeof *next);
  for (int64_t i = 1; i < t.n_nodes; ++i) {
    int32_t edge = next[parent[i]]++;
    t.child[edge] = (int32_t)i;
    t.tokens[edge] = token[i];
  }
  return t;
}

//===-- NgramCount ----------------------------------------------------------//

static fe_status infer_count(fe_infer *f) {
  fe_dims x;
  if (fe_in_dims(f, X, &x))
    return FE_FAILED;
  if (x.rank != 2)
    return fe_infer_error(f, NULL, "the input must have rank 2");
  x.d[1] = fe_dim_const(f->ir, fe_attr_i64(f->attrs, "columns", 1));
  fe_out_tensor(f, 0, FE_F32, &x);
  return FE_OK;
}

/// Node below `node` by the edge `token`; -1: there is none.
static MlirValue step(fe_kernel *k, MlirValue node, MlirValue token) {
  fe_ir *ir = k->l->ir;
  MlirValue one = fe_index(ir, 1), behind = fe_add(ir, node, one);
  MlirValue end = fe_to_index(ir, fe_load(ir, k->in[FIRST], 1, &behind));
  MlirValue init[2] = {fe_to_index(ir, fe_load(ir, k->in[FIRST], 1, &node)),
                       end};
  fe_region w = fe_while_begin(ir, 2, init);
  MlirValue range[2] = {fe_block_arg(w.body, 0), fe_block_arg(w.body, 1)};
  fe_while_do(ir, &w, fe_cmp(ir, FE_LT, range[0], range[1]), 2, range);
  MlirValue low = fe_block_arg(w.body, 0), high = fe_block_arg(w.body, 1);
  MlirValue middle = fe_divu(ir, fe_add(ir, low, high), fe_index(ir, 2));
  MlirValue below =
      fe_cmp(ir, FE_LT, fe_load(ir, k->in[TOKENS], 1, &middle), token);
  MlirValue next[2] = {fe_select(ir, below, fe_add(ir, middle, one), low),
                       fe_select(ir, below, high, middle)};
  fe_while_end(ir, &w, 2, next);
  MlirValue edge = fe_result(w.op, 0), inside = fe_cmp(ir, FE_LT, edge, end);
  MlirValue at = fe_select(ir, inside, edge, fe_index(ir, 0));
  MlirValue found = fe_and(
      ir, inside, fe_cmp(ir, FE_EQ, fe_load(ir, k->in[TOKENS], 1, &at), token));
  MlirValue child = fe_to_index(ir, fe_load(ir, k->in[CHILD], 1, &at));
  return fe_select(ir, found, child, fe_index(ir, -1));
}

/// Adds up (or with `once` puts in) the weights of the n-grams of at least
/// `shortest` tokens that begin at `start` of `row`, with `distance` from token
/// to token.
static void walk(fe_kernel *k, bool once, MlirValue row, MlirValue start,
                 MlirValue distance, MlirValue shortest, MlirValue longest) {
  fe_ir *ir = k->l->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue init[3] = {zero, start, one};
  fe_region w = fe_while_begin(ir, 3, init);
  MlirValue state[3];
  for (unsigned i = 0; i < 3; ++i)
    state[i] = fe_block_arg(w.body, i);
  MlirValue go =
      fe_and(ir, fe_cmp(ir, FE_GE, state[0], zero),
             fe_and(ir, fe_cmp(ir, FE_LT, state[1], fe_dim(ir, k->in[X], 1)),
                    fe_cmp(ir, FE_LE, state[2], longest)));
  fe_while_do(ir, &w, go, 3, state);
  for (unsigned i = 0; i < 3; ++i)
    state[i] = fe_block_arg(w.body, i);
  MlirValue at[2] = {row, state[1]};
  MlirValue node = step(k, state[0], fe_load(ir, k->in[X], 2, at));
  MlirValue safe = fe_max(ir, node, zero); // the root ends no n-gram
  MlirValue column = fe_to_index(ir, fe_load(ir, k->in[COLUMN], 1, &safe));
  MlirValue counts = fe_and(ir, fe_cmp(ir, FE_GE, state[2], shortest),
                            fe_cmp(ir, FE_GE, column, zero));
  fe_region hit = fe_if_begin(ir, counts, 0, NULL, false);
  at[1] = column;
  MlirValue v = fe_load(ir, k->in[WEIGHTS], 1, &safe);
  if (!once)
    v = fe_add(ir, fe_load(ir, k->out[0], 2, at), v);
  fe_store(ir, v, k->out[0], 2, at);
  fe_if_end(ir, &hit, 0, NULL);
  MlirValue next[3] = {node, fe_add(ir, state[1], distance),
                       fe_add(ir, state[2], one)};
  fe_while_end(ir, &w, 3, next);
}

static fe_status lower_count(fe_lower *l) {
  fe_ir *ir = l->ir;
  int64_t shortest = fe_attr_i64(l->op, "shortest", 1);
  int64_t longest = fe_attr_i64(l->op, "longest", 1);
  int64_t skips = fe_attr_i64(l->op, "skips", 0);
  bool once = fe_attr_i64(l->op, "once", 0) != 0;
  MlirValue sizes[2] = {fe_size(l, l->in[X], 0),
                        fe_index(ir, fe_attr_i64(l->op, "columns", 1))};
  MlirValue out = fe_out_empty(l, 0, sizes);
  fe_kernel k;
  fe_kernel_begin(&k, l, "ngram_count", l->n_in, l->in, 1, &out, 0, NULL);
  MlirValue one = fe_index(ir, 1), length = fe_dim(ir, k.in[X], 1);
  fe_region rows = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_region clear = fe_loop(ir, fe_dim(ir, k.out[0], 1));
  MlirValue at[2] = {rows.iv, clear.iv};
  fe_store(ir, fe_float(ir, ir->f32, 0), k.out[0], 2, at);
  fe_loop_end(ir, &clear);
  fe_region skip = fe_for_begin(ir, one, fe_index(ir, skips + 2), one, 0, NULL);
  // Single tokens have no distance: they are counted once.
  MlirValue least =
      fe_select(ir, fe_cmp(ir, FE_EQ, skip.iv, one), fe_index(ir, shortest),
                fe_index(ir, shortest > 2 ? shortest : 2));
  fe_region start = fe_loop(ir, length);
  walk(&k, once, rows.iv, start.iv, skip.iv, least, fe_index(ir, longest));
  fe_loop_end(ir, &start);
  fe_loop_end(ir, &skip);
  fe_loop_end(ir, &rows);
  MlirAffineExpr cost =
      fe_dim_mul(fe_kernel_dim(&k, X, 1),
                 fe_dim_const(ir, 40 * (skips < 1000 ? skips + 1 : 1000)));
  fe_kernel_end(&k, fe_kernel_dim(&k, X, 0), cost);
  l->out[0] = k.result[0];
  return FE_OK;
}

//===-- TfIdfVectorizer -----------------------------------------------------//

/// What the node says.
typedef struct vectorizer {
  fe_node *node;
  int64_t shortest, longest, skips, columns;
  const fe_node_attr *counts, *indexes, *weights;
  const int64_t *pool;
  int64_t n_pool;
  bool weighted, once; // by the mode
} vectorizer;

static fe_status read_numbers(vectorizer *v) {
  fe_node *n = v->node;
  static const struct {
    const char *name;
    size_t at;
  } numbers[] = {{"min_gram_length", offsetof(vectorizer, shortest)},
                 {"max_gram_length", offsetof(vectorizer, longest)},
                 {"max_skip_count", offsetof(vectorizer, skips)}};
  for (size_t i = 0; i < FE_COUNT(numbers); ++i) {
    const fe_node_attr *a = fe_ml_attr(n, numbers[i].name);
    int64_t least = i < 2 ? 1 : 0;
    if (!a || a->i < least || a->i > INT32_MAX)
      return fe_node_refuse(n, numbers[i].name,
                            least ? "the length must be at least 1"
                                  : "the number must not be negative");
    *(int64_t *)((char *)v + numbers[i].at) = a->i;
  }
  if (v->longest < v->shortest)
    return fe_node_refuse(n, "max_gram_length",
                          "it must not be below min_gram_length");
  const char *mode = fe_ml_text(n, "mode", "");
  v->once = !strcmp(mode, "IDF");
  v->weighted = v->once || !strcmp(mode, "TFIDF");
  if (!v->weighted && strcmp(mode, "TF") != 0)
    return fe_node_refuse(n, "mode", "the mode must be TF, IDF or TFIDF");
  v->counts = fe_ml_attr(n, "ngram_counts");
  v->indexes = fe_ml_attr(n, "ngram_indexes");
  v->weights = fe_ml_attr(n, "weights");
  if (!v->counts || !v->indexes)
    return fe_node_refuse(n, v->counts ? "ngram_indexes" : "ngram_counts",
                          "the list must not be empty");
  for (size_t i = 0; i < v->indexes->n; ++i) {
    int64_t index = v->indexes->ints[i];
    if (index < 0 || index >= INT32_MAX)
      return fe_node_refuse(n, "ngram_indexes", "an index is out of range");
    if (v->columns <= index)
      v->columns = index + 1;
  }
  if (v->weights && v->weights->n != v->indexes->n)
    return fe_node_refuse(n, "weights",
                          "there must be one weight per n-gram of the pool");
  return FE_OK;
}

/// Those n-grams of the pool that are as long as is asked for.
static fe_status read_pool(const vectorizer *v, gram *grams, size_t *n) {
  size_t number = 0;
  *n = 0;
  for (size_t i = 0; i < v->counts->n; ++i) {
    int64_t size = (int64_t)i + 1, from = v->counts->ints[i];
    int64_t to = i + 1 < v->counts->n ? v->counts->ints[i + 1] : v->n_pool;
    if (from < 0 || to < from || to > v->n_pool)
      return fe_node_refuse(v->node, "ngram_counts",
                            "the numbers must rise and stay within the pool");
    if ((to - from) % size)
      return fe_node_refuse(v->node, "ngram_counts",
                            "the pool ends within an n-gram");
    for (; from < to; from += size, ++number) {
      if (number >= v->indexes->n)
        return fe_node_refuse(v->node, "ngram_indexes",
                              "there must be one index per n-gram of the pool");
      if (size >= v->shortest && size <= v->longest)
        grams[(*n)++] =
            (gram){v->pool + from, size, (int32_t)v->indexes->ints[number],
                   v->weights && v->weighted ? v->weights->floats[number] : 1};
    }
  }
  if (number != v->indexes->n)
    return fe_node_refuse(v->node, "ngram_indexes",
                          "there must be one index per n-gram of the pool");
  return FE_OK;
}

static MlirValue ints(fe_ir *ir, fe_dtype t, int64_t n, const void *data) {
  return fe_constant(ir, NULL, t, 1, &n, data);
}

/// Counts of the rows of tokens [rows][length].
static fe_status count_grams(const vectorizer *v, MlirValue tokens,
                             MlirValue *out) {
  fe_ir *ir = v->node->ir;
  gram *grams = FE_NEW_N(ir->arena, gram, (size_t)v->n_pool + 1);
  size_t n;
  if (read_pool(v, grams, &n) == FE_FAILED)
    return FE_FAILED;
  int64_t longest = 1;
  for (size_t i = 0; i < n; ++i)
    longest = grams[i].n > longest ? grams[i].n : longest;
  tree t = plant(ir->arena, grams, n, longest);
  int64_t edges = t.n_nodes > 1 ? t.n_nodes - 1 : 1; // never without elements
  if (t.n_nodes == 1)
    t.child[0] = 0, t.tokens[0] = 0;
  MlirValue in[] = {tokens,
                    ints(ir, FE_I32, t.n_nodes + 1, t.first),
                    ints(ir, FE_I64, edges, t.tokens),
                    ints(ir, FE_I32, edges, t.child),
                    ints(ir, FE_I32, t.n_nodes, t.column),
                    ints(ir, FE_F32, t.n_nodes, t.weights)};
  // When only single tokens are asked for there is nothing to skip.
  int64_t skips = longest > 1 ? v->skips : 0;
  MlirNamedAttribute attrs[] = {
      fe_at_i64(ir, "columns", v->columns), fe_at_i64(ir, "longest", longest),
      fe_at_i64(ir, "once", v->once), fe_at_i64(ir, "shortest", v->shortest),
      fe_at_i64(ir, "skips", skips)};
  *out = fe_first(
      fe_onnx(ir, "ngram_count", FE_COUNT(in), in, 1, FE_COUNT(attrs), attrs));
  return fe_is_null(*out) ? FE_FAILED : FE_OK;
}

/// The pool, and the input, as integers: strings are numbered by where the pool
/// has them first.
static fe_status read_tokens(vectorizer *v, MlirValue *x) {
  fe_node *n = v->node;
  fe_ir *ir = n->ir;
  bool text = fe_is_text(*x);
  const char *name = text ? "pool_strings" : "pool_int64s";
  const fe_node_attr *pool = fe_ml_attr(n, name);
  if (!pool)
    return fe_node_refuse(n, name, "there is no pool of the input's type");
  v->n_pool = (int64_t)pool->n;
  if (!text) {
    v->pool = pool->ints;
    *x = fe_x_cast(ir, *x, FE_I64);
    return FE_OK;
  }
  fe_text *texts = FE_NEW_N(ir->arena, fe_text, pool->n);
  int64_t *numbers = FE_NEW_N(ir->arena, int64_t, pool->n);
  fe_map first = {0};
  for (size_t i = 0; i < pool->n; ++i) {
    texts[i] = fe_text_of(pool->strings[i]);
    intptr_t known = (intptr_t)fe_map_get(&first, pool->strings[i]);
    numbers[i] = known ? known - 1 : (int64_t)i;
    if (!known)
      fe_map_set(ir->arena, &first, pool->strings[i],
                 (void *)(intptr_t)(i + 1));
  }
  v->pool = numbers;
  *x = fe_text_find(ir, *x, pool->n, texts, false);
  return FE_OK;
}

static fe_status expand_vectorizer(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  vectorizer v = {.node = n};
  fe_dims d;
  if (n->in.n != 1 || fe_is_null(n->in.at[0]) ||
      !fe_dims_of(ir, n->in.at[0], &d) || d.rank < 1 || d.rank > 2)
    return fe_node_refuse(n, NULL, "the input must have rank 1 or 2");
  if (read_numbers(&v) == FE_FAILED)
    return FE_FAILED;
  MlirValue x = n->in.at[0];
  if (read_tokens(&v, &x) == FE_FAILED)
    return FE_FAILED;
  int64_t first = 0, flat = -1;
  if (d.rank == 1)
    x = fe_onnx1(ir, "Unsqueeze", x, fe_constant_i64s(ir, 1, &first));
  MlirValue y;
  if (fe_is_null(x) || count_grams(&v, x, &y) == FE_FAILED)
    return FE_FAILED;
  if (d.rank == 1)
    y = fe_onnx1(ir, "Reshape", y, fe_constant_i64s(ir, 1, &flat));
  results[0] = y;
  return fe_is_null(y) ? FE_FAILED : FE_OK;
}

static const fe_attr_def vectorizer_attrs[] = {
    {"max_gram_length", FE_A_INT, NULL}, {"max_skip_count", FE_A_INT, NULL},
    {"min_gram_length", FE_A_INT, NULL}, {"mode", FE_A_STRING, "|TF|IDF|TFIDF"},
    {"ngram_counts", FE_A_INTS, NULL},   {"ngram_indexes", FE_A_INTS, NULL},
    {"pool_int64s", FE_A_INTS, ""},      {"pool_strings", FE_A_STRINGS, ""},
    {"weights", FE_A_FLOATS, ""},        {0}};
static const fe_attr_def count_attrs[] = {
    {"columns", FE_A_INT, NULL}, {"longest", FE_A_INT, NULL},
    {"once", FE_A_INT, "0"},     {"shortest", FE_A_INT, NULL},
    {"skips", FE_A_INT, NULL},   {0}};

const fe_op_row fe_family_tf_idf[] = {
    {.name = "TfIdfVectorizer",
     .since = 9,
     .inputs = "X:T",
     .outputs = "Y:Y",
     .types = "T=i32,i64,str;Y=f32",
     .attrs = vectorizer_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_vectorizer},
    {.name = "NgramCount",
     .since = 9,
     .inputs = "X:T, first:I, tokens:T, child:I, column:I, weights:Y",
     .outputs = "Y:Y",
     .types = "T=i64;I=i32;Y=f32",
     .attrs = count_attrs,
     .infer = infer_count,
     .lower = lower_count,
     .limits = "internal: what TfIdfVectorizer becomes"},
    {0}};
