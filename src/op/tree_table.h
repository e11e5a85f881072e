//===- tree_table.h - ensembles of trees as tables ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's trees in any of their forms, and the table in which all nodes
// compare alike, which the operator TreeWalk reads.
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_TREE_TABLE_H
#define FE_OP_TREE_TABLE_H

#include "op/op.h"

/// Numbers of the standard for the modes of nodes, and how leaves are combined.
enum {
  FE_TREE_LEQ,
  FE_TREE_LT,
  FE_TREE_GTE,
  FE_TREE_GT,
  FE_TREE_EQ,
  FE_TREE_NEQ,
  FE_TREE_MEMBER
};
enum { FE_TREE_AVERAGE, FE_TREE_SUM, FE_TREE_MIN, FE_TREE_MAX };

/// As the model has them. A child or root below zero is leaf ~child.
typedef struct fe_tree_node {
  int32_t feature, yes, no;
  uint8_t mode;
  bool nan_is_yes;
  double split; // of MEMBER: where its set begins in `members`
} fe_tree_node;
typedef struct fe_trees {
  fe_dtype type; // of input, thresholds and weights: f32 or f64
  int64_t n_nodes, n_leaves, n_entries, n_members, n_roots, n_targets;
  fe_tree_node *nodes;
  double *members; // sets, each ended by a NaN
  int32_t *roots;
  int32_t *leaves; // [n_leaves + 1]: where the entries of a leaf begin
  int32_t *targets;
  double *weights; // [n_entries]
} fe_trees;

/// Rows of four words: nodes first, then leaves. A node goes on to `yes` when
/// its feature, negated if FE_TREE_NEGATED is set, is at most the split; so NaN
/// goes to `no`. Children and roots are 4 * (row - n_nodes): those that are
/// leaves are not negative. A leaf leads to itself.
enum { FE_TREE_SPLIT, FE_TREE_FEATURE, FE_TREE_NO, FE_TREE_YES, FE_TREE_WORDS };
#define FE_TREE_NEGATED INT32_MIN
/// The roots are filled up with leaves of no weight to a multiple of this.
enum { FE_TREE_AT_ONCE = 16 };
typedef struct fe_tree_table {
  int64_t n_nodes, n_leaves, n_roots;
  int32_t *words;
  double *splits; // [n_nodes + n_leaves]
  int32_t *roots;
  int64_t features; // how many features there must be
  bool negated;     // of any node
} fe_tree_table;
/// NULL, or what is wrong with the trees.
const char *fe_tree_table_make(fe_arena *arena, const fe_trees *t,
                               fe_tree_table *out);

#endif
