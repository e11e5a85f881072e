//===- embed.c - models inside a program --------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How to link compiled models into a program, two at once, each with its own
// prefix, and to run them in static memory: nothing here allocates.
//
//   ferrule compile models/mnist8/model.onnx -o mnist.o --prefix mnist
//   ferrule compile models/blazeface_front/model.onnx -o face.a --prefix face
//   cc -std=c17 -Iinclude examples/embed.c mnist.o face.a -lm -o embed
//   ./embed models/mnist8/input_0.npy models/blazeface_front/input_0.npy
//
// Prints all outputs, a number per line.
//
//===----------------------------------------------------------------------===//
#include <ferrule/model.h>

#include <stdio.h>
#include <string.h>

extern const ferrule_model mnist_model, face_model;

enum { ARENA = 8 << 20, VALUES = 1 << 16, OUTPUTS = 4 };
static _Alignas(FERRULE_ARENA_ALIGN) unsigned char arena[ARENA];
static float image[VALUES], results[OUTPUTS][VALUES];

/// The floats of a .npy file, up to the size of `image`.
static size_t read_floats(const char *path) {
  unsigned char head[10];
  FILE *f = fopen(path, "rb");
  size_t n = 0;
  if (f && fread(head, 1, sizeof head, f) == sizeof head &&
      memcmp(head, "\x93NUMPY\1", 7) == 0 &&
      fseek(f, head[8] | head[9] << 8, SEEK_CUR) == 0)
    n = fread(image, sizeof *image, VALUES, f);
  if (f)
    fclose(f);
  return n;
}

/// One run of a model with one float input of fixed size.
static int run(const ferrule_model *model, const char *path) {
  ferrule_tensor in = {
      .data = image, .dtype = FERRULE_F32, .rank = model->inputs[0].rank};
  ferrule_tensor out[OUTPUTS] = {0};
  int64_t symbols[FERRULE_MAX_SYMBOLS];
  size_t n = 1;
  for (int d = 0; d < in.rank; d++) {
    in.dims[d] = model->inputs[0].dims[d];
    n *= (size_t)in.dims[d];
  }
  for (uint32_t i = 0; i < OUTPUTS; i++)
    out[i] =
        (ferrule_tensor){.data = results[i], .capacity = sizeof results[i]};
  if (model->n_outputs > OUTPUTS || read_floats(path) != n) {
    fprintf(stderr, "%s: not an input of %s\n", path, model->name);
    return 1;
  }
  int status = ferrule_model_symbols(model, &in, symbols);
  if (!status && model->arena_size(symbols) > ARENA) {
    fprintf(stderr, "%s needs an arena of %lld bytes\n", model->name,
            (long long)model->arena_size(symbols));
    return 1;
  }
  if (!status)
    status = ferrule_model_run(model, &in, out, arena, NULL);
  if (status) {
    fprintf(stderr, "%s: %s\n", model->name,
            ferrule_model_message(model, status));
    return 1;
  }
  for (uint32_t i = 0; i < model->n_outputs; i++) {
    n = 1;
    for (int d = 0; d < out[i].rank; d++)
      n *= (size_t)out[i].dims[d];
    for (size_t k = 0; k < n; k++)
      printf("%.9g\n", (double)results[i][k]);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: embed DIGIT.npy FACE.npy\n");
    return 2;
  }
  return run(&mnist_model, argv[1]) || run(&face_model, argv[2]);
}
