//===- run.h - what compiled code calls while a model runs -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime is compiled to LLVM IR when Ferrule is built and linked into
// every model with internal linkage, so what a model does not use is gone:
// only models with tensors of sizes unknown before the run refer to malloc.
//
//===----------------------------------------------------------------------===//
#ifndef FE_RUN_H
#define FE_RUN_H

#include "ferrule/model.h"

/// One run of a model; lives on the stack of the run.
typedef struct fe_run {
  const ferrule_run_options *options;          // never NULL
  void *(*allocate)(void *user, size_t bytes); // NULL: none given
  void (*release)(void *user, void *block);
  struct fe_block *blocks; // of fe_rt_alloc, released at the end
  int32_t status;          // why fe_rt_alloc or fe_rt_output gave NULL
} fe_run;

/// A kernel over a part [begin, end) of its parallel extent. `slots`: 8 bytes
/// each; for every memref argument its pointer then its dynamic dims, then the
/// scalars.
typedef void (*fe_kernel_fn)(const void *slots, int64_t begin, int64_t end);
/// What `main` returns to say that run->status holds the status.
#define FE_RUN_STATUS INT32_MIN
/// What `plan` makes of the model.
typedef int32_t (*fe_main_fn)(const ferrule_tensor *inputs,
                              ferrule_tensor *outputs, void *arena,
                              fe_run *run);

/// fn(slots, begin, end) for parts that cover [0, n), by the options' threads
/// when n * cost scalar operations are worth it.
void fe_rt_parallel(fe_run *run, fe_kernel_fn fn, const void *slots, int64_t n,
                    int64_t cost);
/// The same with the time it took, and the rest, added to `entry`.
struct ferrule_profile_entry;
void fe_rt_profile(fe_run *run, fe_kernel_fn fn, const void *slots, int64_t n,
                   int64_t cost, int64_t bytes,
                   struct ferrule_profile_entry *entry);
/// 64-byte aligned memory that lives until the end of the run. NULL when there
/// is none (the compiled code then returns run->status).
void *fe_rt_alloc(fe_run *run, int64_t bytes);
/// Releases memory of fe_rt_alloc before the end of the run.
void fe_rt_free(fe_run *run, void *data);
/// Where to write output `out` of `bytes` bytes: the caller's memory, or new
/// memory when out->data is NULL (then stored there). Sets out->capacity of new
/// memory only. NULL: too small (see run->status). Dims, rank and dtype are
/// the compiled code's to write.
void *fe_rt_output(fe_run *run, ferrule_tensor *out, int64_t bytes);

/// Set-up and clean-up around `main`. The first is for models that never call
/// fe_rt_alloc: without an allocator in the options an output's data must not
/// be NULL. The second falls back to malloc and free.
int32_t fe_rt_enter(fe_main_fn main, const ferrule_tensor *inputs,
                    ferrule_tensor *outputs, void *arena,
                    const ferrule_run_options *options);
int32_t fe_rt_enter_heap(fe_main_fn main, const ferrule_tensor *inputs,
                         ferrule_tensor *outputs, void *arena,
                         const ferrule_run_options *options);

#endif
