//===- fuzz_image.c - damaged pictures ---------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: fuzz_image TIMES FILE...
// Decodes every file as it is, which must work, then TIMES damaged copies: some
// bytes changed, the end cut off, a part repeated. Built with sanitizers; each
// copy has memory of its own size, so that reads beyond it are seen.
//
//===----------------------------------------------------------------------===//
#include "native/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (1 << 20)
#define MAX_PIXEL_BYTES ((size_t)64 << 20)

static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % n;
}

static void *last;

static void *allocate(void *user, size_t bytes) {
  (void)user;
  free(last);
  last = bytes > MAX_PIXEL_BYTES ? NULL : malloc(bytes);
  return last;
}

static int decode(const uint8_t *data, size_t size) {
  uint8_t *copy = malloc(size + !size);
  memcpy(copy, data, size);
  fe_image image = {.allocate = allocate};
  int32_t ok = fe_native_image_decode(&image, copy, size);
  uint64_t sum = 0; // all of them are there and written
  for (int64_t i = 0; ok && i < image.width * image.height * image.channels;
       i++)
    sum += image.pixels[i];
  free(last);
  last = NULL;
  free(copy);
  return ok ? 1 + (int)(sum & 1) : 0;
}

static size_t damage(uint8_t *data, size_t size) {
  if (!draw(4))
    size = draw(size + 1);
  for (uint64_t n = size ? draw(6) : 0; n > 0; n--) {
    size_t at = draw(draw(2) ? size : size < 64 ? size : 64);
    static const uint8_t odd[] = {0, 1, 127, 128, 255};
    data[at] = draw(2) ? (uint8_t)draw(256) : odd[draw(sizeof odd)];
  }
  if (size > 16 && !draw(5)) {
    size_t n = draw(size / 2), from = draw(size - n), to = draw(size - n);
    memmove(data + to, data + from, n);
  }
  return size;
}

int main(int argc, char **argv) {
  static uint8_t file[MAX_BYTES], copy[MAX_BYTES];
  int times = argc > 1 ? atoi(argv[1]) : 0, bad = 0;
  for (int i = 2; i < argc; i++) {
    FILE *f = fopen(argv[i], "rb");
    size_t size = f ? fread(file, 1, sizeof file, f) : 0;
    if (f)
      fclose(f);
    if (!decode(file, size)) {
      printf("%s: not decoded\n", argv[i]);
      bad = 1;
    }
    int decoded = 0;
    for (int k = 0; k < times; k++) {
      memcpy(copy, file, size);
      decoded += decode(copy, damage(copy, size)) != 0;
    }
    printf("%s: %d of %d damaged ones decoded\n", argv[i], decoded, times);
  }
  return bad;
}
