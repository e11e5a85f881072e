//===- attention.h - the attention kernel's parts ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_KERNEL_ATTENTION_H
#define FE_KERNEL_ATTENTION_H

#include "kernel/cost.h"

#define FE_KEYS 512      // in a block, when their number is unknown
#define FE_SCRATCH 65536 // elements of K in a block, at most
#define FE_QUERIES 256   // rows in an item
#define FE_ROWS 6        // of a tile, at most

/// One of Q, K, V, mask, result: number of the argument, distances per dim.
typedef struct fe_access {
  unsigned arg;
  MlirValue batch, seq, head, depth; // null: broadcast
  MlirValue start;                   // of the item's head
} fe_access;

/// A row is a query of one of the `group` heads that share an item's K and V:
/// row r is query r / group of head r % group.
typedef struct fe_attention {
  fe_gen g;
  fe_access q, k, v, mask, out;
  bool masked, causal;
  bool limited;       // `frontier` says what queries see; causal ones, too
  unsigned frontiers; // argument: [batch] keys that the first query sees
  bool cached;        // there is that argument
  bool has_sink;      // one more key, of value 0, whose score is given
  unsigned sinks;     // argument: [heads]
  int64_t window;     // keys that a query sees at most; 0: all
  double scale, cap;  // cap: 0, or the limit that scores tend to
  int64_t group;
  unsigned tallest; // rows of a tile
  unsigned lanes, vectors;
  int64_t width; // of a tile: vectors * lanes
  MlirType vec;
  int64_t depth, depth_v; // sizes of a head
  int64_t n_rows, n_keys; // FE_DYN when unknown
  MlirValue batches, heads, heads_kv, queries, keys;
  int64_t block, query_block; // keys, rows
  int64_t row;                // distance of rows of scores: not a power of two
  bool one_block;
  bool ragged;      // a block may end within a panel
  MlirValue panels; // K [block / width][depth][width], flat
  MlirValue scores; // [FE_ROWS][row], flat
  bool pack_v;
  int64_t row_v;         // distance of rows of the copy and of `results`
  MlirValue values;      // copy of a block of V [block][row_v], flat
  MlirValue zero;        // see fe_vexp2_in; of the row
  MlirValue top, shrink; // [FE_ROWS]: maximum now, factor for what was before
  MlirValue inverse;     // [FE_ROWS]: 1 / sum
  MlirValue results, maxima, sums; // of tiles, between blocks of keys
  // of the current item and block of keys
  MlirValue head;                        // the first one of the group
  MlirValue frontier;                    // null: all keys are seen
  MlirValue first_row, first_key, count; // count: keys in the block
  MlirValue is_first, is_last;           // null with one block
} fe_attention;

/// Operands, attributes and sizes; reports what does not fit.
FE_NODISCARD fe_status fe_attention_read(fe_attention *a, MlirAffineExpr *items,
                                         MlirAffineExpr *cost);
/// The block of K into `panels`, filled up to whole panels.
void fe_attention_pack_keys(fe_attention *a);
/// The block of V into `values`.
void fe_attention_pack_values(fe_attention *a);

/// at + index * distance; a null distance: at.
static inline MlirValue fe_attention_at(fe_ir *ir, MlirValue at,
                                        MlirValue index, MlirValue distance) {
  return fe_is_null(distance) ? at
                              : fe_add(ir, at, fe_mul(ir, index, distance));
}

#endif
