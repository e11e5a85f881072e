//===- chains.h - multiply-adds that touch no memory --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a core can do at most; needs -march=native.
//
//===----------------------------------------------------------------------===//
#ifndef FE_BENCH_CHAINS_H
#define FE_BENCH_CHAINS_H

#define CHAINS 16 // enough for two units with a latency of four
#define STEPS 1000000
#define LANES 16

typedef float lanes __attribute__((vector_size(4 * LANES)));

#ifdef __AVX512F__
#define FMA(acc, x, y)                                                         \
  __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(acc) : "v"(x), "v"(y))
#else
#define FMA(acc, x, y) acc += x * y
#endif

/// STEPS multiply-adds of LANES numbers in each of CHAINS independent chains.
static inline float run_chains(void) {
  lanes acc[CHAINS] = {{0}}, x = {1.0000001f}, y = {1e-9f};
  for (int i = 0; i < STEPS; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < CHAINS; ++j)
      FMA(acc[j], x, y);
  }
#pragma GCC unroll 16 // so that the chains stay in registers
  for (int j = 1; j < CHAINS; ++j)
    acc[0] += acc[j];
  return acc[0][0];
}

#endif
