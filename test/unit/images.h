//===- images.h - data for tests of kernels over packed images ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_TEST_IMAGES_H
#define FE_TEST_IMAGES_H

#include "kernel_jit.h"

#include <math.h>

static inline float *fill(fe_arena *a, int64_t n, unsigned seed) {
  float *x = fe_alloc(a, (size_t)(n + 64) * sizeof *x);
  for (int64_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)((int)(seed >> 9) - (1 << 22)) / (float)(1 << 22);
  }
  return x;
}

static inline const char *image_type(fe_arena *a, bool dynamic, int64_t n,
                                     int64_t b, int64_t h, int64_t w,
                                     int64_t lanes) {
  const char *last = lanes ? fe_printf(a, "%lldx", (long long)lanes) : "";
  if (dynamic)
    return fe_printf(a, "tensor<?x%lldx?x?x%sf32>", (long long)b, last);
  return fe_printf(a, "tensor<%lldx%lldx%lldx%lldx%sf32>", (long long)n,
                   (long long)b, (long long)h, (long long)w, last);
}

static inline const char *list(fe_arena *a, unsigned n, const int64_t *v) {
  fe_buf b = {0};
  for (unsigned i = 0; i < n; ++i)
    fe_buf_printf(a, &b, "%s%lld", i ? ", " : "array<i64: ", (long long)v[i]);
  fe_buf_printf(a, &b, ">");
  return b.at;
}

#define IMAGE_MAP "affine_map<(d0,d1,d2,d3,d4) -> (d0,d1,d2,d3,d4)>"

/// Plain to packed; NaN where there is no channel.
static inline float *pack(fe_arena *a, const float *x, int64_t n, int64_t c,
                          int64_t pixels, int64_t lanes) {
  int64_t blocks = (c + lanes - 1) / lanes, count = n * blocks * pixels * lanes;
  float *out = fe_alloc(a, (size_t)(count + 64) * sizeof *out);
  for (int64_t i = 0; i < count; ++i) {
    int64_t lane = i % lanes, p = i / lanes % pixels;
    int64_t b = i / lanes / pixels % blocks, im = i / lanes / pixels / blocks;
    int64_t ch = b * lanes + lane;
    out[i] = ch < c ? x[(im * c + ch) * pixels + p] : NAN;
  }
  return out;
}

#endif
