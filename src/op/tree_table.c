//===- tree_table.c - ensembles of trees as tables ------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every comparison becomes one or more nodes that ask "x <= split" or
// "-x <= split", both false for NaN:
//
//   x < s     x <= the number before s
//   x >= s    -x <= -s
//   NaN goes to yes    the opposite question, with the children exchanged
//   x == s    two questions, one after the other
//   x in a set    a search by halves, then x == the member that is left
//
// Nodes may be shared (a tree that asks for several values, one after the
// other, has them lead to the same child); circles are refused. Such a chain of
// == on one feature is a set.
//
//===----------------------------------------------------------------------===//
#include "op/tree_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct maker {
  fe_arena *arena;
  const fe_trees *t;
  fe_tree_table *out;
  int32_t *uses;          // of a node: how many lead to it
  int64_t *row_of;        // its first row
  fe_vec(double) members; // of the set being made, ascending
  int64_t next;           // row to be made
} maker;

//===-- Sets ----------------------------------------------------------------//

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/// Whether `next`, which `node` leads to when its question is answered with no,
/// asks for one more value of the same set. A node that others lead to as well
/// stays what it is.
static bool goes_on(const maker *m, const fe_tree_node *node,
                    const fe_tree_node *head, int32_t next) {
  if (next < 0 || m->uses[next] != 1 || node->mode != FE_TREE_EQ)
    return false;
  const fe_tree_node *n = &m->t->nodes[next];
  return n->mode == FE_TREE_EQ && n->feature == head->feature &&
         n->yes == head->yes && (!n->nan_is_yes || head->nan_is_yes);
}

/// Puts the set of a node that compares for equality into m->members and gives
/// the node where it ends: that node's `no` is the set's.
static const fe_tree_node *set_of(maker *m, const fe_tree_node *head) {
  const fe_trees *t = m->t;
  const fe_tree_node *end = head;
  m->members.n = 0;
  if (head->mode == FE_TREE_MEMBER) {
    for (int64_t i = (int64_t)head->split;
         i < t->n_members && !isnan(t->members[i]); ++i)
      fe_push(m->arena, &m->members, t->members[i]);
  } else {
    if (!isnan(head->split))
      fe_push(m->arena, &m->members, head->split);
    while (goes_on(m, end, head, end->no)) {
      end = &t->nodes[end->no];
      if (!isnan(end->split))
        fe_push(m->arena, &m->members, end->split);
    }
  }
  if (!m->members.n)
    return end;
  qsort(m->members.at, m->members.n, sizeof *m->members.at, ascending);
  size_t n = 1; // without doubles
  for (size_t i = 1; i < m->members.n; ++i)
    if (m->members.at[i] != m->members.at[n - 1])
      m->members.at[n++] = m->members.at[i];
  m->members.n = n;
  return end;
}

/// How many rows a node becomes; *end: where its chain ends.
static int64_t rows_of(maker *m, const fe_tree_node *node,
                       const fe_tree_node **end) {
  *end = node;
  if (node->mode < FE_TREE_EQ)
    return 1;
  *end = set_of(m, node);
  int64_t n = (int64_t)m->members.n;
  return n ? 3 * n - 1 + node->nan_is_yes : 1;
}

//===-- Order ---------------------------------------------------------------//

/// Gives rows to the nodes that are reached from `root`, a node before what
/// follows it: it then often shares a cache line with it. False when there is
/// a circle.
static bool number_from(maker *m, int32_t root, int8_t *state, int32_t *stack) {
  enum { NEW, FIRST, SECOND, DONE };
  int64_t top = 0;
  if (root < 0 || state[root] == DONE)
    return true;
  stack[top++] = root;
  while (top) {
    int32_t i = stack[top - 1];
    const fe_tree_node *end;
    int64_t rows = rows_of(m, &m->t->nodes[i], &end);
    if (state[i] == NEW) {
      m->row_of[i] = m->next;
      m->next += rows;
    }
    if (++state[i] == DONE) {
      --top;
      continue;
    }
    int32_t child = state[i] == FIRST ? end->no : end->yes;
    if (child < 0 || state[child] == DONE)
      continue;
    if (state[child])
      return false;
    stack[top++] = child;
  }
  return true;
}

//===-- Rows ----------------------------------------------------------------//

/// What a row holds for a child of the model.
static int32_t place_of(const maker *m, int32_t child) {
  return child < 0
             ? FE_TREE_WORDS * ~child
             : FE_TREE_WORDS * (int32_t)(m->row_of[child] - m->out->n_nodes);
}

static int32_t place_of_row(const maker *m, int64_t row) {
  return FE_TREE_WORDS * (int32_t)(row - m->out->n_nodes);
}

static double number_before(fe_dtype t, double v) {
  return t == FE_F64 ? nextafter(v, -HUGE_VAL)
                     : (double)nextafterf((float)v, -HUGE_VALF);
}

/// Fills in m->next with a question that NaN answers with no.
static void ask(maker *m, const fe_tree_node *node, int mode, double s,
                int32_t yes, int32_t no) {
  fe_dtype type = m->t->type;
  bool negated = mode == FE_TREE_GTE || mode == FE_TREE_GT;
  if (negated)
    s = -s;
  if (mode == FE_TREE_LT || mode == FE_TREE_GT)
    s = s == -HUGE_VAL ? NAN : number_before(type, s);
  int32_t *row = m->out->words + FE_TREE_WORDS * m->next;
  float narrow = (float)s;
  memcpy(&row[FE_TREE_SPLIT], &narrow, sizeof narrow);
  row[FE_TREE_FEATURE] = node->feature | (negated ? FE_TREE_NEGATED : 0);
  row[FE_TREE_NO] = no;
  row[FE_TREE_YES] = yes;
  m->out->splits[m->next++] = s;
  m->out->negated |= negated;
}

/// x == v, NaN being unequal.
static void ask_equal(maker *m, const fe_tree_node *node, double v, int32_t yes,
                      int32_t no) {
  ask(m, node, FE_TREE_LEQ, v, place_of_row(m, m->next + 1), no);
  ask(m, node, FE_TREE_GTE, v, yes, no);
}

/// x is one of members [from, to). At most as deep as their number has digits.
static void ask_set(maker *m, const fe_tree_node *node, size_t from, size_t to,
                    int32_t yes, int32_t no) {
  if (to - from == 1) {
    ask_equal(m, node, m->members.at[from], yes, no);
    return;
  }
  size_t middle = from + (to - from) / 2;
  int64_t left = m->next + 1, right = left + 3 * (int64_t)(middle - from) - 1;
  ask(m, node, FE_TREE_LEQ, m->members.at[middle - 1], place_of_row(m, left),
      place_of_row(m, right));
  ask_set(m, node, from, middle, yes, no);
  ask_set(m, node, middle, to, yes, no);
}

static void make_rows(maker *m, const fe_tree_node *node) {
  static const int opposite[] = {[FE_TREE_LEQ] = FE_TREE_GT,
                                 [FE_TREE_LT] = FE_TREE_GTE,
                                 [FE_TREE_GTE] = FE_TREE_LT,
                                 [FE_TREE_GT] = FE_TREE_LEQ};
  const fe_tree_node *end;
  (void)rows_of(m, node, &end);
  int32_t yes = place_of(m, node->yes), no = place_of(m, end->no);
  if (node->mode == FE_TREE_NEQ) { // NaN is unequal to all
    int32_t other = yes;
    yes = no;
    no = other;
  }
  bool empty = node->mode < FE_TREE_EQ ? isnan(node->split) : !m->members.n;
  if (empty) {
    // Only NaN can be answered with yes: no number is more than infinity.
    bool nan = node->nan_is_yes && node->mode != FE_TREE_NEQ;
    ask(m, node, FE_TREE_LEQ, HUGE_VAL, no, nan ? yes : no);
  } else if (node->mode < FE_TREE_EQ) {
    if (node->nan_is_yes)
      ask(m, node, opposite[node->mode], node->split, no, yes);
    else
      ask(m, node, node->mode, node->split, yes, no);
  } else {
    if (node->nan_is_yes) // those that are numbers go on
      ask(m, node, FE_TREE_LEQ, HUGE_VAL, place_of_row(m, m->next + 1),
          node->mode == FE_TREE_NEQ ? no : yes);
    ask_set(m, node, 0, m->members.n, yes, no);
  }
}

//===-- The whole -----------------------------------------------------------//

static const char *check(const fe_trees *t, maker *m) {
  for (int64_t i = 0; i < t->n_nodes; ++i) {
    const fe_tree_node *node = &t->nodes[i];
    if (node->feature < 0 || node->feature == INT32_MAX)
      return "a feature is out of range";
    if (node->yes >= t->n_nodes || node->no >= t->n_nodes ||
        ~node->yes >= t->n_leaves || ~node->no >= t->n_leaves)
      return "a node leads to one that does not exist";
    if (node->yes >= 0)
      ++m->uses[node->yes];
    if (node->no >= 0)
      ++m->uses[node->no];
    if (node->feature >= m->out->features)
      m->out->features = node->feature + 1;
  }
  for (int64_t i = 0; i < t->n_roots; ++i)
    if (t->roots[i] >= t->n_nodes || ~t->roots[i] >= t->n_leaves)
      return "a root does not exist";
    else if (t->roots[i] >= 0)
      ++m->uses[t->roots[i]];
  for (int64_t i = 0; i < t->n_entries; ++i)
    if (t->targets[i] < 0 || t->targets[i] >= t->n_targets)
      return "a target is out of range";
  return NULL;
}

const char *fe_tree_table_make(fe_arena *arena, const fe_trees *t,
                               fe_tree_table *out) {
  *out = (fe_tree_table){0};
  maker m = {.arena = arena, .t = t, .out = out};
  size_t n = (size_t)t->n_nodes;
  m.uses = FE_NEW_N(arena, int32_t, n + 1);
  m.row_of = FE_NEW_N(arena, int64_t, n + 1);
  const char *wrong = check(t, &m);
  if (wrong)
    return wrong;
  int8_t *state = FE_NEW_N(arena, int8_t, n + 1);
  int32_t *stack = FE_NEW_N(arena, int32_t, n + 1);
  for (int64_t i = 0; i < t->n_roots; ++i)
    if (!number_from(&m, t->roots[i], state, stack))
      return "its nodes lead in a circle";
  // One leaf more than the model has: that of the trees added at the end.
  out->n_nodes = m.next;
  out->n_leaves = t->n_leaves + 1;
  int64_t rows = out->n_nodes + out->n_leaves;
  if (rows > INT32_MAX / FE_TREE_WORDS)
    return "it has too many nodes";
  out->words = FE_NEW_N(arena, int32_t, (size_t)(FE_TREE_WORDS * rows));
  out->splits = FE_NEW_N(arena, double, (size_t)rows);
  for (int64_t i = 0; i < t->n_nodes; ++i)
    if (state[i]) { // it is reached
      m.next = m.row_of[i];
      make_rows(&m, &t->nodes[i]);
    }
  for (int64_t i = 0; i < out->n_leaves; ++i) {
    int32_t *row = out->words + FE_TREE_WORDS * (out->n_nodes + i);
    row[FE_TREE_NO] = row[FE_TREE_YES] = (int32_t)(FE_TREE_WORDS * i);
  }
  out->n_roots =
      (t->n_roots + FE_TREE_AT_ONCE - 1) / FE_TREE_AT_ONCE * FE_TREE_AT_ONCE;
  out->roots = FE_NEW_N(arena, int32_t, (size_t)out->n_roots + 1);
  for (int64_t i = 0; i < out->n_roots; ++i)
    out->roots[i] = i < t->n_roots ? place_of(&m, t->roots[i])
                                   : (int32_t)(FE_TREE_WORDS * t->n_leaves);
  return NULL;
}
