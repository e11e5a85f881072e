//===- dispatch.h - one model for several levels -----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions behind a model that is there for several levels of a processor.
//
//===----------------------------------------------------------------------===//
#ifndef FE_DISPATCH_H
#define FE_DISPATCH_H

#include "cpu.h"
#include "ferrule/model.h"

typedef struct fe_rt_level {
  const ferrule_model *model; // NULL: the end
  uint32_t needs;             // FE_CPU_*
  /// Number of the messages that come before the level's own; at the end the
  /// status of a run on a machine that has none of the levels.
  int32_t status;
} fe_rt_level;
/// The best first. The compiler writes it (src/emit/levels.c).
extern const fe_rt_level fe_rt_levels[];

/// What cpuid and xgetbv say.
typedef struct fe_cpu_words {
  uint32_t ecx1, ebx7, ecx_extended; // leaves 1, 7, 80000001h
  uint32_t saved;                    // low word of XCR0; 0 without xgetbv
} fe_cpu_words;
/// FE_CPU_* of a machine that says this.
uint32_t fe_rt_dispatch_levels(const fe_cpu_words *w);

/// ferrule_model.arena_size and ferrule_model.run of the best level that this
/// machine has. Where it has none: INT64_MAX, and a status that says so.
int64_t fe_rt_dispatch_arena_size(const int64_t *symbols);
int32_t fe_rt_dispatch_run(const ferrule_tensor *inputs,
                           ferrule_tensor *outputs, void *arena,
                           const ferrule_run_options *options);

#endif
