//===- fixed.c - constant panels in fixed point ---------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of few rows waits for its weights. Here they have three bytes, and
// 128 of a column have one scale, a power of two above the largest of them,
// times 2^-31. The bytes are the upper ones of an integer of 32 bits whose
// lowest byte is the same as the one above it: so one shuffle makes it of the
// bytes in memory, and it becomes a float and is scaled. The integer is the one
// nearest to the weight (off by at most 128, as if the lowest byte were zero).
//
// A matrix is stored so only if that changes no column by more than 2^-21 of
// its Euclidean norm, the largest weight of each scale left out; a part of what
// sums in f32 are off by (docs/design/contraction.md).
//
// A panel is K rows of 3 * width bytes, little endian, then as many such rows
// as hold the scales, [ceil(K / 128)][width] of f32. So a vector can be read
// beyond its end.
//
//===----------------------------------------------------------------------===//
#include "kernel/contract.h"

#include <math.h>
#include <string.h>

#define BLOCK 128          // of K, that have one scale
#define LEAST_EXPONENT -90 // no scale is a denormal, nor what it makes
#define ADMITTED 0x1p-21   // of a column's norm

int64_t fe_fixed_rows(int64_t k) {
  int64_t scales = (k + BLOCK - 1) / BLOCK;
  return k + (scales * (int64_t)sizeof(float) + FE_FIXED_BYTES - 1) /
                 FE_FIXED_BYTES;
}

//===-- When compiling ------------------------------------------------------//

typedef struct matrix {
  const float *b;
  int64_t k, n, width;
  size_t row, column; // distances of elements
} matrix;

static matrix matrix_of(const fe_target *t, const void *b, int64_t k, int64_t n,
                        bool transposed) {
  return (matrix){.b = b,
                  .k = k,
                  .n = n,
                  .width = fe_contract_panel(t, 32, n),
                  .row = transposed ? 1 : (size_t)n,
                  .column = transposed ? (size_t)k : 1};
}

/// A block of a column, its elements one behind the other; gives their number.
static int64_t block_of(const matrix *m, const float *b, int64_t k, int64_t j,
                        float *out) {
  int64_t count = m->k - k < BLOCK ? m->k - k : BLOCK;
  b += (size_t)k * m->row + (size_t)j * m->column;
  for (int64_t i = 0; i < count; i++)
    out[i] = b[(size_t)i * m->row];
  return count;
}

/// 2^(e - 31), of integers of 32 bits, for the least e that makes every |x| <
/// 2^e; 0 for zeros alone. False: not finite, or too small.
static bool scale_of(int64_t n, const float *x, float *scale) {
  float largest = 0, sum = 0; // NaN gets into the sum only
  for (int64_t i = 0; i < n; i++) {
    float size = fabsf(x[i]);
    largest = size > largest ? size : largest;
    sum += size * 0;
  }
  int e;
  frexpf(largest, &e);
  *scale = largest > 0 ? ldexpf(1, e - 31) : 0;
  return sum == 0 && (largest == 0 || e >= LEAST_EXPONENT);
}

static double per_scale(float scale) { return scale > 0 ? 1. / scale : 0; }

/// To the nearest whole number, the even one of two.
static inline double whole(double x) { return x + 0x1.8p52 - 0x1.8p52; }

/// The three bytes for x, given 1 / scale: the integers of 32 bits go by steps
/// of 257 from one multiple of 65536 to the last below the next one.
static inline int32_t fixed_of(float x, double per_scale) {
  double at = x * per_scale, high = whole((at - 0x7fff.8p0) * 0x1p-16);
  double low = whole((at - high * 0x1p16) * (1. / 257));
  low = low < 0 ? 0 : low > 255 ? 255 : low;
  return (int32_t)(high * 256 + low);
}

/// As the kernel computes it.
static inline float weight_of(int32_t fixed, float scale) {
  uint32_t v = (uint32_t)fixed;
  return (float)(int32_t)(v << 8 | (v & 255)) * scale;
}

/// Column j of one matrix of a batch.
static bool column_fits(const matrix *m, const float *b, int64_t j) {
  double norm = 0, error = 0;
  for (int64_t k = 0; k < m->k; k += BLOCK) {
    float x[BLOCK], scale;
    int64_t n = block_of(m, b, k, j, x);
    if (!scale_of(n, x, &scale))
      return false;
    double per = per_scale(scale);
    int64_t top = 0; // may be an outlier that has the scale to itself
    for (int64_t i = 1; i < n; i++)
      top = fabsf(x[i]) > fabsf(x[top]) ? i : top;
    if (!isfinite(weight_of(fixed_of(x[top], per), scale)))
      return false; // rounded up to more than the largest number
    for (int64_t i = 0; i < n; i++) {
      if (i == top)
        continue;
      double off = (double)weight_of(fixed_of(x[i], per), scale) - x[i];
      norm += (double)x[i] * x[i];
      error += off * off;
    }
  }
  return error <= ADMITTED * ADMITTED * norm; // false for NaN
}

bool fe_fixed_pays(const fe_target *t, int64_t m, int64_t n, int64_t k) {
  return m != FE_DYN && k * n * (int64_t)sizeof(float) >= t->l2_bytes &&
         m <= fe_contract_choose(t, 32, m, n, k, true, false).rows;
}

bool fe_fixed_fits(const fe_target *t, const void *b, int64_t batch, int64_t k,
                   int64_t n, bool transposed) {
  matrix m = matrix_of(t, b, k, n, transposed);
  for (int64_t i = 0; i < batch; i++)
    for (int64_t j = 0; j < n; j++)
      if (!column_fits(&m, m.b + (size_t)(i * k * n), j))
        return false;
  return true;
}

/// A part is a panel; the memory is zeroed.
static void pack(const void *how, size_t part, void *out) {
  const matrix *m = how;
  int64_t panels = (m->n + m->width - 1) / m->width;
  int64_t first = (int64_t)part % panels * m->width;
  const float *b = m->b + (size_t)((int64_t)part / panels * m->k * m->n);
  unsigned char *numbers = out;
  unsigned char *scales = numbers + FE_FIXED_BYTES * m->width * m->k;
  for (int64_t k = 0; k < m->k; k += BLOCK)
    for (int64_t j = 0; j < m->width && first + j < m->n; j++) {
      float x[BLOCK], scale;
      int64_t n = block_of(m, b, k, first + j, x);
      scale_of(n, x, &scale);
      memcpy(scales + (k / BLOCK * m->width + j) * sizeof scale, &scale,
             sizeof scale);
      double per = per_scale(scale);
      for (int64_t i = 0; i < n; i++) {
        uint32_t v = (uint32_t)fixed_of(x[i], per);
        unsigned char *to = numbers + ((k + i) * m->width + j) * FE_FIXED_BYTES;
        for (unsigned byte = 0; byte < FE_FIXED_BYTES; byte++)
          to[byte] = (unsigned char)(v >> 8 * byte);
      }
    }
}

fe_blob *fe_fixed_pack(fe_ir *ir, const fe_target *t, const fe_blob *b,
                       int64_t batch, int64_t k, int64_t n, bool transposed) {
  matrix m = matrix_of(t, b->data, k, n, transposed);
  int64_t parts = batch * ((n + m.width - 1) / m.width);
  size_t size = (size_t)(fe_fixed_rows(k) * m.width * FE_FIXED_BYTES);
  return fe_blob_promise(ir->blobs, fe_printf(ir->arena, "%s.fixed", b->name),
                         (size_t)parts * size, (size_t)parts, pack,
                         fe_memdup(ir->arena, &m, sizeof m));
}

//===-- In the kernel -------------------------------------------------------//

/// The integers of 32 bits whose upper bytes are those from `at` on.
static MlirValue numbers(fe_ir *ir, MlirValue memref, MlirValue at,
                         int64_t lanes) {
  int64_t words[64], bytes[256], size = 4 * lanes;
  // By words first, so that the bytes of four numbers are in 16 of a register,
  // as processors shuffle them.
  MlirValue v = fe_vload(ir, size, memref, 1, &at);
  v = fe_bitcast(ir, v, fe_vector_type(ir, lanes, ir->i32));
  for (int64_t i = 0; i < lanes; i++)
    words[i] = i / 4 * FE_FIXED_BYTES + i % 4 % FE_FIXED_BYTES;
  v = fe_shuffle(ir, v, v, (unsigned)lanes, words);
  v = fe_bitcast(ir, v, fe_vector_type(ir, size, ir->i8));
  for (int64_t i = 0; i < size; i++)
    bytes[i] =
        i / 16 * 16 + i % 16 / 4 * FE_FIXED_BYTES + (i % 4 ? i % 4 - 1 : 0);
  v = fe_shuffle(ir, v, v, (unsigned)size, bytes);
  return fe_bitcast(ir, v, fe_vector_type(ir, lanes, ir->i32));
}

MlirValue fe_fixed_load(fe_ir *ir, MlirValue memref, MlirValue panel,
                        MlirValue row, MlirValue depth, int64_t width,
                        int64_t column, int64_t lanes) {
  MlirValue bytes = fe_index(ir, FE_FIXED_BYTES * width);
  MlirValue at = fe_add(ir, panel, fe_mul(ir, row, bytes));
  at = fe_add_static(ir, at, FE_FIXED_BYTES * column);
  MlirValue v = numbers(ir, memref, at, lanes);
  v = fe_convert(ir, v, ir->f32, false, false);
  MlirValue block = fe_divu(ir, row, fe_index(ir, BLOCK));
  MlirValue scale_at = fe_add(ir, panel, fe_mul(ir, depth, bytes));
  scale_at = fe_add(ir, scale_at, fe_mul(ir, block, fe_index(ir, 4 * width)));
  scale_at = fe_add_static(ir, scale_at, 4 * column);
  MlirValue scale = fe_vload(ir, 4 * lanes, memref, 1, &scale_at);
  scale = fe_bitcast(ir, scale, fe_vector_type(ir, lanes, ir->f32));
  return fe_mul(ir, v, scale);
}
