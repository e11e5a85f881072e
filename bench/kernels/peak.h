//===- peak.h - what the processor can do at most -----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured on one core; needs -march=native.
//
//===----------------------------------------------------------------------===//
#ifndef FE_BENCH_PEAK_H
#define FE_BENCH_PEAK_H

#include "unit/kernel_jit.h"

typedef float lanes __attribute__((vector_size(64)));

#ifdef __AVX512F__
#define FMA(acc, x, y)                                                         \
  __asm__ volatile("vfmadd231ps %1, %2, %0" : "+v"(acc) : "v"(x), "v"(y))
#else
#define FMA(acc, x, y) acc += x * y
#endif

/// GFLOP/s of 16 independent chains.
static inline double peak(void) {
  lanes acc[16] = {{0}}, x = {1.0000001f}, y = {1e-9f};
  double best = 0;
  for (int round = 0; round < 20; ++round) {
    double start = kj_now();
    for (int i = 0; i < 1000000; ++i) {
#pragma GCC unroll 16
      for (int j = 0; j < 16; ++j)
        FMA(acc[j], x, y);
    }
    double rate = 1e6 * 16 * 32 / (kj_now() - start) / 1e9;
    best = rate > best ? rate : best;
  }
  return best;
}

#endif
