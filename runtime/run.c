//===- run.c - what compiled code calls while a model runs
//-----------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of a run is a list of blocks, released at its end. Work is split by
// the caller's parallel_for when it pays, else done on the calling thread.
// malloc and free are referred to by fe_rt_enter_heap only.
//
//===----------------------------------------------------------------------===//
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include "ferrule/compiler.h"

#include <stdlib.h>
#include <time.h>

static const ferrule_run_options no_options;

typedef struct part {
  fe_kernel_fn fn;
  const void *slots;
} part;

static void run_part(void *context, int64_t begin, int64_t end) {
  const part *p = context;
  p->fn(p->slots, begin, end);
}

void fe_rt_parallel(fe_run *run, fe_kernel_fn fn, const void *slots, int64_t n,
                    int64_t cost, int64_t least) {
  const ferrule_run_options *o = run->options;
  if (n <= 0)
    return;
  // cost * n may exceed 64 bits, its quotient may not.
  if (!o->parallel_for || o->threads < 2 || n == 1 || cost <= least / n) {
    fn(slots, 0, n);
    return;
  }
  part p = {fn, slots};
  o->parallel_for(o->user, run_part, &p, n);
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void fe_rt_profile(fe_run *run, fe_kernel_fn fn, const void *slots, int64_t n,
                   int64_t cost, int64_t least, int64_t bytes,
                   ferrule_profile_entry *entry) {
  uint64_t begin = now();
  fe_rt_parallel(run, fn, slots, n, cost, least);
  uint64_t took = now() - begin, operations = (uint64_t)n * (uint64_t)cost;
  if (!entry->calls || took < entry->best_nanoseconds) {
    entry->best_nanoseconds = took;
    entry->best_operations = operations;
  }
  entry->nanoseconds += took;
  entry->calls++;
  entry->operations += operations;
  entry->bytes += (uint64_t)bytes;
}

typedef struct fe_block {
  struct fe_block *next;
  void *base; // as the allocator gave it
} fe_block;

void *fe_rt_alloc(fe_run *run, int64_t bytes) {
  size_t extra = sizeof(fe_block) + FERRULE_ARENA_ALIGN;
  char *base = NULL;
  if (bytes >= 0 && run->allocate && (uint64_t)bytes <= SIZE_MAX - extra)
    base = run->allocate(run->options->user, (size_t)bytes + extra);
  if (!base) {
    // Sizes follow from the inputs: a negative one is their fault.
    run->status = bytes < 0 ? FERRULE_RUN_BAD_INPUT : FERRULE_RUN_NO_MEMORY;
    return NULL;
  }
  uintptr_t data = (uintptr_t)base + sizeof(fe_block);
  data = (data + FERRULE_ARENA_ALIGN - 1) & -(uintptr_t)FERRULE_ARENA_ALIGN;
  fe_block *block = (fe_block *)data - 1;
  *block = (fe_block){run->blocks, base};
  run->blocks = block;
  return (void *)data;
}

void fe_rt_free(fe_run *run, void *data) {
  fe_block **at = &run->blocks, *block = (fe_block *)data - 1;
  while (*at && *at != block)
    at = &(*at)->next;
  if (!*at)
    return;
  *at = block->next;
  if (run->release)
    run->release(run->options->user, block->base);
}

int64_t fe_rt_bytes(int32_t dtype, int64_t n) {
  // By number; the small types at the end have a byte each.
  static const uint8_t bytes[] = {0,  4, 1, 1, 2, 2, 4, 8, 16, 1, 2, 8, 4, 8, 8,
                                  16, 2, 1, 1, 1, 1, 1, 1, 1,  1, 1, 1, 1, 1};
  if (dtype >= FERRULE_SEQUENCE)
    return n * (int64_t)sizeof(void *);
  return dtype < 0 || dtype >= (int32_t)sizeof bytes ? 0 : n * bytes[dtype];
}

/// Objects are taken from pieces of this size; large ones are their own.
#define OBJECTS ((int64_t)64 << 10)

void *fe_rt_object(fe_run *run, int64_t bytes) {
  if (bytes > OBJECTS / 4 || bytes < 0)
    return fe_rt_alloc(run, bytes);
  size_t size = ((size_t)bytes + 15) & ~(size_t)15;
  size += size ? 0 : 16; // NULL is a failure
  if (size > run->objects_left) {
    char *more = fe_rt_alloc(run, OBJECTS);
    if (!more)
      return NULL;
    run->objects = more;
    run->objects_left = (size_t)OBJECTS;
  }
  void *object = run->objects;
  run->objects += size;
  run->objects_left -= size;
  return object;
}

void *fe_rt_output(fe_run *run, ferrule_tensor *out, int64_t bytes) {
  if (bytes < 0) {
    run->status = FERRULE_RUN_BAD_INPUT;
    return NULL;
  }
  if (out->data) {
    if (out->capacity >= bytes)
      return out->data;
    run->status = FERRULE_RUN_SMALL_OUTPUT;
    return NULL;
  }
  if (!run->allocate) {
    run->status = FERRULE_RUN_SMALL_OUTPUT;
    return NULL;
  }
  // An empty output still gets an address: NULL means failure to the caller.
  out->data = run->allocate(run->options->user, bytes > 0 ? (size_t)bytes : 1);
  if (!out->data) {
    run->status = FERRULE_RUN_NO_MEMORY;
    return NULL;
  }
  out->capacity = bytes;
  return out->data;
}

static inline int32_t enter(fe_main_fn main, const ferrule_tensor *inputs,
                            ferrule_tensor *outputs, void *arena, fe_run *run) {
  int32_t status = main(inputs, outputs, arena, run);
  for (fe_block *b = run->blocks; b;) {
    fe_block *next = b->next;
    if (run->release)
      run->release(run->options->user, b->base);
    b = next;
  }
  return status == FE_RUN_STATUS ? run->status : status;
}

int32_t fe_rt_enter(fe_main_fn main, const ferrule_tensor *inputs,
                    ferrule_tensor *outputs, void *arena,
                    const ferrule_run_options *options) {
  const ferrule_run_options *o = options ? options : &no_options;
  fe_run run = {.options = o, .allocate = o->allocate, .release = o->release};
  return enter(main, inputs, outputs, arena, &run);
}

static void *heap_allocate(void *user, size_t bytes) {
  (void)user;
  return malloc(bytes);
}

static void heap_release(void *user, void *block) {
  (void)user;
  free(block);
}

int32_t fe_rt_enter_heap(fe_main_fn main, const ferrule_tensor *inputs,
                         ferrule_tensor *outputs, void *arena,
                         const ferrule_run_options *options) {
  const ferrule_run_options *o = options ? options : &no_options;
  fe_run run = {.options = o, .allocate = o->allocate, .release = o->release};
  if (!o->allocate) {
    run.allocate = heap_allocate;
    run.release = heap_release;
  }
  return enter(main, inputs, outputs, arena, &run);
}
