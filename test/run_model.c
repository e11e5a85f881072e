//===- run_model.c - a program around any compiled object -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: run_model IN OUT [MODEL.so]
//
// Linked with one model (prefix "model"), or loads one. Both files hold tensors
// one behind the other: element type, rank, dims, all int64, then the data.
//
//===----------------------------------------------------------------------===//
#include "ferrule/model.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

extern const ferrule_model model_model __attribute__((weak));

// Types of a byte and more, by ferrule_dtype.
static const size_t sizes[] = {0, 4, 1, 1, 2,  2, 4, 8, 0, 1, 2,
                               8, 4, 8, 8, 16, 2, 1, 1, 1, 1};

static size_t bytes_of(const ferrule_tensor *t) {
  size_t n = sizes[t->dtype];
  for (int32_t d = 0; d < t->rank; d++)
    n *= (size_t)t->dims[d];
  return n;
}

static int read_tensor(FILE *f, ferrule_tensor *t) {
  int64_t head[2];
  if (fread(head, sizeof *head, 2, f) != 2 || head[1] > FERRULE_MAX_RANK ||
      (size_t)head[0] >= sizeof sizes / sizeof *sizes)
    return 0;
  t->dtype = (int32_t)head[0];
  t->rank = (int32_t)head[1];
  if (fread(t->dims, sizeof *t->dims, (size_t)t->rank, f) != (size_t)t->rank)
    return 0;
  size_t n = bytes_of(t);
  t->data = malloc(n + 1);
  return t->data && fread(t->data, 1, n, f) == n;
}

static int write_tensor(FILE *f, const ferrule_tensor *t) {
  int64_t head[2] = {t->dtype, t->rank};
  return fwrite(head, sizeof *head, 2, f) == 2 &&
         fwrite(t->dims, sizeof *t->dims, (size_t)t->rank, f) ==
             (size_t)t->rank &&
         fwrite(t->data, 1, bytes_of(t), f) == bytes_of(t);
}

static void *take(void *user, size_t bytes) {
  (void)user;
  return malloc(bytes);
}
static void give(void *user, void *block) {
  (void)user;
  free(block);
}

static const ferrule_model *load(const char *path) {
  void *library = dlopen(path, RTLD_NOW);
  if (!library)
    fprintf(stderr, "%s\n", dlerror());
  return library ? dlsym(library, "ferrule_model") : NULL;
}

int main(int argc, char **argv) {
  const ferrule_model *m = argc == 4 ? load(argv[3]) : &model_model;
  ferrule_tensor in[16] = {0}, out[16] = {0};
  int64_t symbols[FERRULE_MAX_SYMBOLS];
  ferrule_run_options options = {.allocate = take, .release = give};
  FILE *from = argc >= 3 && m ? fopen(argv[1], "rb") : NULL;
  FILE *to = from ? fopen(argv[2], "wb") : NULL;
  if (!to || m->n_inputs > 16 || m->n_outputs > 16)
    return 2;
  for (uint32_t i = 0; i < m->n_inputs; i++)
    if (!read_tensor(from, &in[i]))
      return 3;
  int status = ferrule_model_symbols(m, in, symbols);
  void *arena = NULL;
  if (!status) {
    size_t size = (size_t)m->arena_size(symbols) + FERRULE_ARENA_ALIGN;
    arena = aligned_alloc(FERRULE_ARENA_ALIGN,
                          size / FERRULE_ARENA_ALIGN * FERRULE_ARENA_ALIGN);
    status = ferrule_model_run(m, in, out, arena, &options);
  }
  if (status)
    fprintf(stderr, "%s\n", ferrule_model_message(m, status));
  for (uint32_t i = 0; i < m->n_outputs && !status; i++)
    if (!write_tensor(to, &out[i]))
      status = 4;
  for (uint32_t i = 0; i < m->n_inputs; i++)
    free(in[i].data);
  for (uint32_t i = 0; i < m->n_outputs; i++)
    free(out[i].data);
  free(arena);
  fclose(from);
  return fclose(to) || status;
}
