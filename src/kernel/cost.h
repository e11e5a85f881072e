//===- cost.h - what a kernel should take ------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles of one core, from the target's description and from what a generator
// says of its inner loop (docs/design/schedules.md). Clocks differ: time is for
// whoever has measured how many operations a second the machine does.
//
//===----------------------------------------------------------------------===//
#ifndef FE_COST_H
#define FE_COST_H

#include "kernel/kernel.h"

/// The inner loop of a generator. Each of `steps` steps loads `vectors` vectors
/// and `rows` scalars and makes rows * vectors multiply-adds; then the results
/// of the tile take `extra` cycles. Written by fe_gen_tile, as the attribute
/// `krnl.tile = array<i64: rows, vectors, steps, extra, products>`.
typedef struct fe_cost_tile {
  int64_t rows, vectors; // 0: no such loop
  int64_t steps;         // 0: not known, many
  int64_t extra;
  int64_t products; // of a lane in a multiply-add; 0: one
} fe_cost_tile;
void fe_gen_tile(fe_gen *g, fe_cost_tile tile);
/// The tile of a kernel in memref form; rows = 0: it has none.
fe_cost_tile fe_cost_tile_of(MlirOperation func);

/// Operations of a call from which on it pays to split it: some two
/// microseconds' work.
int64_t fe_cost_least_parallel(MlirOperation func);

/// What one call does.
typedef struct fe_cost_work {
  fe_cost_tile tile;
  unsigned elem_bits;
  double operations, bytes;
} fe_cost_work;
/// From the kernel's extent and the types of its memrefs. False: some size is
/// not known when compiling (the tile and elem_bits are set even so).
bool fe_cost_work_of(fe_ir *ir, MlirOperation func, fe_cost_work *out);

typedef enum fe_cost_limit {
  FE_LIMIT_ARITHMETIC,
  FE_LIMIT_LOADS,   // of the inner loop, from L1
  FE_LIMIT_LATENCY, // of a multiply-add: too few at a time
  FE_LIMIT_L2,
  FE_LIMIT_L3,
  FE_LIMIT_MEMORY
} fe_cost_limit;
extern const char *const fe_cost_limit_names[];

typedef struct fe_cost {
  double cycles;
  double share; // of the peak; 0 when there is nothing to compute
  fe_cost_limit limit;
} fe_cost;
fe_cost fe_cost_expected(const fe_target *t, const fe_cost_work *work);
/// How many times the peak of its type a kernel may reach: more than one where
/// an instruction adds several products to each lane.
double fe_cost_products(const fe_cost_work *work);
/// Most operations per cycle of one core, a multiply-add being two.
double fe_cost_peak(const fe_target *t, unsigned elem_bits);

#endif
