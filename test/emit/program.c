//===- program.c - a program around two compiled models
//--------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs test/emit/dense.mlir, compiled under two prefixes, without a single
// allocation: whoever calls malloc ends the program. Exit status 0: right.
//
//===----------------------------------------------------------------------===//
#include "ferrule/model.h"

#include <math.h>
#include <stdlib.h>

extern const ferrule_model dense_model, other_model;

void *malloc(size_t size) {
  (void)size;
  abort();
}
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *block, size_t size) {
  (void)block;
  return malloc(size);
}

static float number(unsigned *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (float)((double)*seed / 0x1p31 - 1.0);
}

#define ROWS 5
static float w[8 * 16], b[16], x[ROWS * 8], y[ROWS * 16];
static _Alignas(FERRULE_ARENA_ALIGN) char arena[ROWS * 64];

static int run(const ferrule_model *model) {
  ferrule_tensor in = {
      .data = x, .dtype = FERRULE_F32, .rank = 2, .dims = {ROWS, 8}};
  ferrule_tensor out = {.data = y, .capacity = sizeof y};
  int64_t symbols[FERRULE_MAX_SYMBOLS];
  if (ferrule_model_symbols(model, &in, symbols))
    return 1;
  if (model->arena_size(symbols) > (int64_t)sizeof arena)
    return 2;
  if (ferrule_model_run(model, &in, &out, arena, NULL))
    return 3;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < 16; j++) {
      double s = b[j];
      for (int k = 0; k < 8; k++)
        s += (double)x[i * 8 + k] * w[k * 16 + j];
      if (!(fabs(tanh(s) - y[i * 16 + j]) < 1e-6))
        return 4;
    }
  return 0;
}

int main(void) {
  unsigned seed = 1;
  for (int i = 0; i < 8 * 16; i++)
    w[i] = number(&seed);
  for (int i = 0; i < 16; i++)
    b[i] = number(&seed);
  for (int i = 0; i < ROWS * 8; i++)
    x[i] = number(&seed);
  int first = run(&dense_model);
  return first ? first : run(&other_model);
}
