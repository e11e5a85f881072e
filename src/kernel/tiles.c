//===- tiles.c - covering rows by register tiles --------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"

MlirValue fe_add_static(fe_ir *ir, MlirValue v, int64_t c) {
  return c ? fe_add(ir, v, fe_index(ir, c)) : v;
}

int64_t fe_tiles_most(unsigned tallest, int64_t rows) {
  int64_t most = rows / tallest + 1; // and one per smaller height, two of 1
  for (unsigned h = tallest; h; h /= 2)
    ++most;
  return most;
}

/// `count` tiles of one height from tile `first`, row `row` on.
static void equal_tiles(fe_ir *ir, int64_t first, int64_t count, int64_t height,
                        int64_t row, fe_rows_fn emit, void *user) {
  if (!count)
    return;
  fe_region r = fe_loop(ir, fe_index(ir, count));
  MlirValue at = fe_mul(ir, r.iv, fe_index(ir, height));
  emit(user, (unsigned)height, fe_add_static(ir, at, row),
       fe_add_static(ir, r.iv, first));
  fe_loop_end(ir, &r);
}

/// The tallest tile of heights H, H/2, ... 1 that is more than half filled.
static void halving_tiles(fe_ir *ir, unsigned tallest, MlirValue rows,
                          fe_rows_fn emit, void *user) {
  MlirValue zero = fe_index(ir, 0), state[2] = {zero, zero};
  fe_region w = fe_while_begin(ir, 2, state);
  state[0] = fe_block_arg(w.body, 0);
  state[1] = fe_block_arg(w.body, 1);
  fe_while_do(ir, &w, fe_cmp(ir, FE_LT, state[0], rows), 2, state);
  MlirValue done = fe_block_arg(w.body, 0), number = fe_block_arg(w.body, 1);
  MlirValue left = fe_sub(ir, rows, done), next;
  fe_region nest[8];
  unsigned depth = 0;
  for (unsigned h = tallest; h > 1; h /= 2) {
    MlirValue high = fe_index(ir, h);
    MlirValue fits = fe_cmp(ir, FE_GE, rows, high);
    MlirValue filled = fe_cmp(ir, FE_GT, left, fe_index(ir, h / 2));
    nest[depth] =
        fe_if_begin(ir, fe_and(ir, fits, filled), 1, &ir->index, true);
    MlirValue start = fe_min(ir, done, fe_sub(ir, rows, high));
    emit(user, h, start, number);
    next = fe_add(ir, start, high);
    fe_if_else(ir, &nest[depth++], 1, &next);
  }
  emit(user, 1, done, number);
  next = fe_add_static(ir, done, 1);
  while (depth--) {
    fe_if_end(ir, &nest[depth], 1, &next);
    next = fe_result(nest[depth].op, 0);
  }
  MlirValue yield[2] = {next, fe_add_static(ir, number, 1)};
  fe_while_end(ir, &w, 2, yield);
}

void fe_tiles(fe_ir *ir, unsigned tallest, int64_t fixed, MlirValue rows,
              fe_rows_fn emit, void *user) {
  if (fixed == FE_DYN) {
    halving_tiles(ir, tallest, rows, emit, user);
    return;
  }
  int64_t tiles = (fixed + tallest - 1) / tallest;
  int64_t low = tiles ? fixed / tiles : 0, taller = fixed - low * tiles;
  equal_tiles(ir, 0, taller, low + 1, 0, emit, user);
  equal_tiles(ir, taller, tiles - taller, low, taller * (low + 1), emit, user);
}
