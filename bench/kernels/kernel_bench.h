//===- kernel_bench.h - what the benchmarks of kernels share ------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_BENCH_KERNEL_BENCH_H
#define FE_BENCH_KERNEL_BENCH_H

#include "../chains.h"
#include "unit/kernel_jit.h"

/// What a kernel is compiled with.
typedef struct kb_context {
  fe_arena *arena;
  fe_diags diags;
  fe_blobs blobs;
  fe_ir ir;
} kb_context;

static inline void kb_receive(void *user, const fe_diag *d) {
  (void)user;
  fprintf(stderr, "%s\n", d->message);
}

static inline void kb_begin(kb_context *b) {
  const char *irdl = fe_krnl_irdl;
  b->arena = fe_arena_create(NULL);
  b->diags = (fe_diags){.arena = b->arena, .fn = kb_receive};
  b->blobs = (fe_blobs){.arena = b->arena};
  MlirContext ctx = fe_context_create(&b->diags, &irdl, 1);
  fe_ir_init(&b->ir, ctx, b->arena, &b->diags, &b->blobs);
}

static inline void kb_end(kb_context *b) {
  mlirContextDestroy(b->ir.ctx);
  fe_arena_destroy(b->arena);
}

/// Seconds of the best of many runs on one core.
static inline double kb_best(kernel_jit *j, int64_t items, unsigned n,
                             kj_array **args) {
  double best = 1e9, total = 0;
  for (int i = 0; i < 3000 && (total < 0.3 || i < 4); ++i) {
    double start = kj_now();
    kj_run(j, 0, items, n, args);
    double time = kj_now() - start;
    total += time;
    best = time < best ? time : best;
  }
  return best;
}

/// GFLOP/s of multiply-adds on one core.
static inline double kb_peak(void) {
  volatile float kept = 0; // or the work would not be done
  double best = 0;
  for (int round = 0; round < 20; ++round) {
    double start = kj_now();
    kept = run_chains();
    double rate = 2.0 * STEPS * CHAINS * LANES / (kj_now() - start) / 1e9;
    best = rate > best ? rate : best;
  }
  (void)kept;
  return best;
}

#endif
