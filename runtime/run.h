//===- run.h - what compiled code calls while a model runs -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime is compiled to LLVM IR when Ferrule is built and linked into
// every model with internal linkage, so what a model does not use is gone:
// only models with tensors of sizes unknown before the run refer to malloc.
//
// What takes more than a kernel can do (strings, sequences, maps) is a function
// fe_rt_<part>_<name> in runtime/<part>.c, called from main; the part is linked
// in when a function with that prefix is called (fe_runtime in src/op/op.h).
//
//===----------------------------------------------------------------------===//
#ifndef FE_RUN_H
#define FE_RUN_H

#include "ferrule/model.h"

#include <stdbool.h>
#include <string.h>

/// One run of a model; lives on the stack of the run.
typedef struct fe_run {
  const ferrule_run_options *options;          // never NULL
  void *(*allocate)(void *user, size_t bytes); // NULL: none given
  void (*release)(void *user, void *block);
  struct fe_block *blocks; // of fe_rt_alloc, released at the end
  int32_t status;          // why fe_rt_alloc or fe_rt_output gave NULL
  char *objects;           // free room of fe_rt_object
  size_t objects_left;
  struct fe_list *lists; // of sequences made in this run
  int64_t n_lists, list_room;
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
/// when n * cost operations are more than `least`.
void fe_rt_parallel(fe_run *run, fe_kernel_fn fn, const void *slots, int64_t n,
                    int64_t cost, int64_t least);
/// The same with the time it took, and the rest, added to `entry`.
struct ferrule_profile_entry;
void fe_rt_profile(fe_run *run, fe_kernel_fn fn, const void *slots, int64_t n,
                   int64_t cost, int64_t least, int64_t bytes,
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

/// A function of a part. `args`: inputs, then destinations, which are all
/// there, of the sizes they are said to have; `numbers`: the call's, then room
/// for its results. Gives 0; k > 0: the call's message k is why the run ends;
/// or FE_RUN_STATUS, when run->status says why (fe_rt_object and its like set
/// it).
typedef int32_t (*fe_part_fn)(fe_run *run, ferrule_tensor *args,
                              int64_t *numbers);
/// Memory for an object, or the characters of strings: 16-byte aligned, lives
/// until the end of the run, whatever its end is. NULL: see run->status.
void *fe_rt_object(fe_run *run, int64_t bytes);
/// Writes a value with strings, or one that is no tensor, to output `out`: all
/// in one piece of memory. Dims, rank and dtype of `out` are not touched.
int32_t fe_rt_values_output(fe_run *run, ferrule_tensor *out,
                            const ferrule_tensor *value);
/// Elements of a tensor.
static inline int64_t fe_rt_count(const ferrule_tensor *t) {
  int64_t n = 1;
  for (int32_t d = 0; d < t->rank; d++)
    n *= t->dims[d];
  return n;
}
/// Bytes at t->data for n elements, without what these point to.
int64_t fe_rt_bytes(int32_t dtype, int64_t n);
/// `to` becomes `from` with data of its own; false: no memory.
static inline bool fe_rt_copy(fe_run *run, const ferrule_tensor *from,
                              ferrule_tensor *to) {
  int64_t bytes = fe_rt_bytes(from->dtype, fe_rt_count(from));
  void *data = fe_rt_object(run, bytes);
  if (data && bytes)
    memcpy(data, from->data, (size_t)bytes);
  *to = *from;
  to->data = data;
  to->capacity = -1;
  return data;
}
static inline bool fe_rt_same_text(const ferrule_string *a,
                                   const ferrule_string *b) {
  return a->size == b->size &&
         (!a->size || !memcmp(a->data, b->data, (size_t)a->size));
}

/// Asks the system for the tiles of AMX; 0: this process may not use them.
int32_t fe_rt_amx_allow(void);

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
