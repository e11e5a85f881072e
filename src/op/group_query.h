//===- group_query.h - attention of grouped queries --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GroupQueryAttention and its kin of com.microsoft: heads of queries that share
// keys and values, rotated, in caches in which every sequence of the batch has
// a length of its own.
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_GROUP_QUERY_H
#define FE_OP_GROUP_QUERY_H

#include "op/compose.h"

/// Inputs of GroupQueryAttention.
enum {
  FE_GQ_QUERY,
  FE_GQ_KEY,
  FE_GQ_VALUE,
  FE_GQ_PAST_K,
  FE_GQ_PAST_V,
  FE_GQ_SEQLENS, // keys of every sequence - 1
  FE_GQ_TOTAL,
  FE_GQ_COS,
  FE_GQ_SIN,
  FE_GQ_IDS,
  FE_GQ_BIAS,
  FE_GQ_SINK,
  FE_GQ_K_SCALE,
  FE_GQ_V_SCALE,
  FE_GQ_Q_NORM,
  FE_GQ_K_NORM,
  FE_GQ_QUERY_SEQLENS,
  FE_GQ_INPUTS
};

/// What the operator does with these inputs (null: absent) and the attributes
/// of the node; the first five are the node's own. `keep`: what a cache has
/// behind the new rows stays, else there are zeros.
FE_NODISCARD fe_status fe_group_query(fe_node *n,
                                      const MlirValue in[FE_GQ_INPUTS],
                                      bool keep, MlirValue *results);

typedef struct fe_rotation {
  MlirValue ids;      // [batch][sequence]; null: cos, sin have a row for each
  MlirValue cos, sin; // [positions][half], or [batch][sequence][half]
  int64_t size;       // of the part that is rotated; 0: all
  bool interleaved;
} fe_rotation;

/// x [batch][sequence][heads * size], or [batch][heads][sequence][size].
MlirValue fe_rotated(fe_ir *ir, MlirValue x, const fe_rotation *r,
                     int64_t heads);

#endif
