//===- target.h - descriptions of processors ---------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One const struct per target. The kernel generators take every tile size
// from here, so a new processor is a new row, not new code.
//
//===----------------------------------------------------------------------===//
#ifndef FE_TARGET_H
#define FE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct fe_target {
  const char *name;          // "x86-64-v4"
  const char *triple;        // "x86_64-pc-linux-gnu"
  const char *cpu;           // for LLVM
  const char *features;      // for LLVM
  unsigned vector_bits;      // 512
  unsigned vector_registers; // 32
  unsigned fma_units; // multiply-adds (without fma: either) begun per cycle
  unsigned l1_bytes, l2_bytes, l3_bytes; // data, per core; l3 shared
  bool fma;
  bool masks;      // masked loads and stores are cheap
  bool dot_u8s8;   // VNNI
  bool dot_s16;    // pmaddwd: sums of two products of 16 bits
  bool bf16;       // rounds f32 to bf16 and multiplies pairs of it
  bool dot_bf16;   // so fast that products of bf16 pay: not on Intel's cores
  bool amx_bytes;  // tiles of 16 rows of 64 bytes, and their products: of bytes
  bool amx_bf16;   // and of bf16
  bool half;       // converts between f16 and f32
  const char *has; // what a machine must have, "+a,+b" by LLVM's names
  /// A level, one of several for which an artifact may hold a model: FE_CPU_*
  /// of runtime/cpu.h. 0: it cannot be one.
  unsigned needs;
  /// LLVM's name of the least processor of the kind, which has to do for the
  /// code that chooses a level.
  const char *least;
} fe_target;

/// Lanes of f32 in a vector: 4, 8 or 16.
static inline unsigned fe_lanes_f32(const fe_target *t) {
  return t->vector_bits / 32;
}
extern const fe_target *const fe_targets[]; // NULL-terminated
/// By name: a row of the table; "native", the machine Ferrule runs on (the best
/// matching row with the host's cpu name and features, kept in *storage); or a
/// processor of processors.h (in *storage too). NULL: unknown.
const fe_target *fe_target_find(const char *name, fe_target *storage);
/// Whether this machine has all that code for it may use.
bool fe_target_runs_here(const fe_target *t);

#endif
