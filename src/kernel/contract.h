//===- contract.h - a matrix product being generated -------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between contract.c, which writes the tiles, and contract_b.c, which knows how
// B lies.
//
// A step of k is what one multiply-add takes of a row of A: an element, or,
// where both operands are bf16, a pair of them (`dots`). Sizes and distances
// along K are in steps, and a step of B's panels is as many bytes as an
// accumulator.
//
//===----------------------------------------------------------------------===//
#ifndef FE_KERNEL_CONTRACT_H
#define FE_KERNEL_CONTRACT_H

#include "kernel/cost.h"

typedef enum fe_b_form { FE_B_ROWS, FE_B_COLUMNS, FE_B_PANELS } fe_b_form;

typedef struct fe_contract {
  fe_gen g;
  fe_epilogue e;
  fe_contract_plan p;
  unsigned a, b; // arguments
  fe_b_form form;
  bool trans_a;
  bool collapsed; // the batch dims of A are rows: B has none
  unsigned n_batch;
  bool dots;     // A is bf16: products of pairs
  bool fixed;    // B's panels are in fixed point: fixed.c
  fe_dot dot;    // of elements that hold several integers
  MlirType elem; // of the accumulators
  unsigned elem_bytes;
  MlirType b_elem; // of B, converted on the way when another
  int64_t width;   // of a panel
  int64_t m, n, k; // FE_DYN when unknown; k in steps
  MlirValue M, N, K;
  MlirValue panel_rows; // from one constant panel to the next
  int64_t k_elements;   // of B; may be odd in pairs
  MlirValue K_elements;
  MlirValue n_panels, n_blocks;
  MlirValue buffer;  // results for the epilogue's loop [rows][width]
  MlirValue scratch; // packed block of B [k][width], flat
  MlirValue waiting; // accumulators between blocks of K
                     // [item][tile][row][width]; those of tiles of AMX
  bool tiles;        // contract_amx.c
  MlirValue shape;   // its memory
} fe_contract;

/// A block of K, done by some items one after the other.
typedef struct fe_part_of_k {
  MlirValue first;  // step of K
  MlirValue slot;   // of the item among them
  MlirValue is_end; // whether it is the last of them
} fe_part_of_k;

/// What a tile needs to know about where it works.
typedef struct fe_tile_place {
  MlirValue batch[FE_MAX_RANK]; // subscripts of the batch dims
  MlirValue a, b, dest;         // start of the matrices, in elements
  MlirValue panel, column;      // number of the panel, its first column
  MlirValue row, rows;          // of the block of rows
  int64_t static_rows;          // FE_DYN when unknown
  unsigned groups;              // panels done at once
  unsigned vectors;             // of each panel
  int64_t columns;              // valid columns of the panel; FE_DYN: unknown
  MlirValue active;             // the same at run time; null: all
  MlirValue b_memref, b_start;  // what the tiles read as B; start in steps
  MlirValue b_next;             // what is to be read after this
  MlirValue b_row;              // distance of its rows
  MlirValue k_first, k_count;   // the block of K
  MlirValue is_first, is_last;  // blocks of K, null without blocks
  MlirValue waits_at;           // where in `waiting` the panel's tiles begin
  const fe_part_of_k *part;     // null without blocks
} fe_tile_place;

/// Subscript of the first element of step `at` of an operand; of B.
MlirValue fe_contract_element(const fe_contract *c, MlirValue at);
MlirValue fe_contract_b_element(const fe_contract *c, MlirValue at);
/// Valid columns from vector j of a panel on, when that vector is not full.
MlirValue fe_contract_active(fe_contract *c, const fe_tile_place *p,
                             unsigned j);
/// Vector j of row k (within the block of K) of B as a multiply-add takes it.
MlirValue fe_contract_load_b(fe_contract *c, const fe_tile_place *p,
                             MlirValue k, unsigned j);
/// The step of A from element `at` on, for all columns.
MlirValue fe_contract_splat_a(fe_contract *c, MlirValue at);
/// Copies the block of K of the panel to scratch memory, as panels.
void fe_contract_copy_b(fe_contract *c, const fe_tile_place *p);
/// acc + a * b; `dots`: a and b are pairs.
MlirValue fe_contract_product(fe_contract *c, MlirValue a, MlirValue b,
                              MlirValue acc);

//===-- Tiles of AMX: contract_amx.c ----------------------------------------//

/// Whether the product is done so: of bytes, or of pairs of bf16, by constant
/// panels.
bool fe_contract_takes_tiles(const fe_contract *c);
void fe_contract_plan_tiles(fe_contract *c);
/// The rows of the place, all of K. Registers are shaped for each place.
void fe_contract_tiles(fe_contract *c, const fe_tile_place *p);
void fe_contract_explain_tiles(fe_contract *c);
void fe_contract_tile_cost(fe_contract *c);
/// The epilogue on one row of the place: sums[vectors].
void fe_contract_finish_row(fe_contract *c, const fe_tile_place *p,
                            MlirValue row, MlirValue *sums);

//===-- Panels in fixed point: fixed.c --------------------------------------//

/// Columns [column, column + lanes) of row `row` of `depth` in the panel that
/// begins at byte `panel`, as f32.
MlirValue fe_fixed_load(fe_ir *ir, MlirValue memref, MlirValue panel,
                        MlirValue row, MlirValue depth, int64_t width,
                        int64_t column, int64_t lanes);

#endif
