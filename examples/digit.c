//===- digit.c - reads a handwritten digit -----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How to use a model that is a shared library: dlopen, one constant, run.
//
//   ferrule compile models/mnist8/model.onnx -o mnist8.so
//   cc -std=c17 -Iinclude examples/digit.c -o digit
//   ./digit ./mnist8.so models/mnist8/digit.npy
//
// Draws the image, and prints what the model sees and how long it took.
//
//===----------------------------------------------------------------------===//
#define _POSIX_C_SOURCE 200809L
#include <ferrule/model.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 28, DIGITS = 10, RUNS = 1001 };

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/// The data of a .npy file with exactly SIDE * SIDE floats in [0, 255].
static int read_image(const char *path, float *image) {
  unsigned char head[10];
  FILE *f = fopen(path, "rb");
  if (!f)
    return 0;
  int ok = fread(head, 1, sizeof head, f) == sizeof head &&
           memcmp(head, "\x93NUMPY\1", 7) == 0 &&
           fseek(f, head[8] | head[9] << 8, SEEK_CUR) == 0 &&
           fread(image, sizeof *image, SIDE * SIDE, f) == SIDE * SIDE &&
           fgetc(f) == EOF;
  fclose(f);
  for (int i = 0; ok && i < SIDE * SIDE; i++)
    ok = image[i] >= 0 && image[i] <= 255;
  return ok;
}

static void draw(const float *image) {
  static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
  for (int y = 0; y < SIDE; y++) {
    fputs("    ", stdout);
    for (int x = 0; x < SIDE; x++) {
      const char *shade = shades[(int)(image[y * SIDE + x] * (4.99f / 255))];
      printf("%s%s", shade, shade);
    }
    putchar('\n');
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: digit MODEL.so IMAGE.npy\n");
    return 2;
  }
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  const ferrule_model *model = library ? dlsym(library, "ferrule_model") : NULL;
  if (!model) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  if (model->abi_version != FERRULE_ABI_VERSION || model->n_inputs != 1 ||
      model->n_outputs != 1 || model->n_symbols) {
    fprintf(stderr, "%s: not a model of one image\n", argv[1]);
    return 1;
  }
  static float image[SIDE * SIDE];
  if (!read_image(argv[2], image)) {
    fprintf(stderr, "%s: not an image of 28 x 28 floats\n", argv[2]);
    return 1;
  }
  draw(image);

  // The caller owns all memory. No dim is symbolic, so the arena has one size.
  float scores[DIGITS];
  ferrule_tensor in = {.data = image,
                       .dtype = FERRULE_F32,
                       .rank = 4,
                       .dims = {1, 1, SIDE, SIDE}};
  ferrule_tensor out = {.data = scores, .capacity = sizeof scores};
  size_t units = (size_t)model->arena_size(NULL) / FERRULE_ARENA_ALIGN + 1;
  void *arena = aligned_alloc(FERRULE_ARENA_ALIGN, units * FERRULE_ARENA_ALIGN);
  static double times[RUNS];
  for (int i = 0; i < RUNS; i++) {
    double start = now_us();
    int status =
        arena ? model->run(&in, &out, arena, NULL) : FERRULE_RUN_NO_MEMORY;
    times[i] = now_us() - start;
    if (status) {
      fprintf(stderr, "%s: the run gave %d\n", argv[1], status);
      return 1;
    }
  }
  qsort(times, RUNS, sizeof *times, by_value);

  int best = 0, next = -1;
  for (int d = 1; d < DIGITS; d++)
    if (scores[d] > scores[best])
      best = d;
  for (int d = 0; d < DIGITS; d++)
    if (d != best && (next < 0 || scores[d] > scores[next]))
      next = d;
  printf("\n  seen         a %d (score %.0f; next is %d with %.0f)\n", best,
         scores[best], next, scores[next]);
  printf("  run time     %.1f us (median of %d, one thread)\n", times[RUNS / 2],
         RUNS);
  free(arena);
  dlclose(library);
  return 0;
}
