//===- fourier.h - plans of fast Fourier transforms --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A length is taken apart into factors; from the factors follows how large the
// tables and the room to work in are. Shared by the compiler, which makes the
// tables of lengths that it knows, and the runtime, which makes the others.
//
// All transforms here have the positive exponent, exp(2 pi i j k / n); with
// real and imaginary parts exchanged before and after they are the other ones.
//
//===----------------------------------------------------------------------===//
#ifndef FE_FOURIER_H
#define FE_FOURIER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
  FE_FFT_LANES = 64, // bytes of the lines that are transformed at a time
  FE_FFT_LEAST_PARALLEL = 16384, // operations; fewer are not split
  FE_FFT_SLICES = 32, // parts that work at the same time, each with own room
  FE_FFT_PRIME = 128, // passes of larger factors are not made
  FE_FFT_SPLIT = 4096 // from which length on one line is a matrix of lines
};
#define FE_FFT_MAX (INT64_C(1) << 40)

/// One length. With a prime factor that is too large, Bluestein's algorithm: a
/// convolution of length m.
typedef struct fe_fft_plan {
  int64_t n, m;
  int64_t roots; // of all odd factors together
  int n_factors;
  int64_t factor[64];
} fe_fft_plan;

/// b > 0: lines of n elements are matrices [a][b], whose columns and then rows
/// are transformed.
typedef struct fe_fft {
  int64_t n, a, b;
  fe_fft_plan first, second; // of a (of n), of b
} fe_fft;

/// Fours, a two in front of them, then odd ones in their order.
static inline void fe_fft_factors(fe_fft_plan *p) {
  int64_t n = p->m;
  p->n_factors = 0;
  p->roots = 0;
  for (; n % 4 == 0; n /= 4)
    p->factor[p->n_factors++] = 4;
  if (n % 2 == 0) {
    n /= 2;
    p->factor[p->n_factors++] = p->factor[0];
    p->factor[0] = 2;
  }
  for (int64_t f = 3; n > 1; f += 2) {
    if (f * f > n)
      f = n;
    for (; n % f == 0; n /= f) {
      p->factor[p->n_factors++] = f;
      p->roots += f;
    }
  }
}

static inline fe_fft_plan fe_fft_plan_of(int64_t n) {
  fe_fft_plan p = {.n = n, .m = n};
  fe_fft_factors(&p);
  int64_t largest = p.n_factors ? p.factor[p.n_factors - 1] : 1, bits = 1;
  while (n >> bits)
    ++bits;
  // What an element costs: some `largest` steps, or two transforms of twice
  // the length.
  if (largest <= 5 || (largest <= FE_FFT_PRIME && largest <= 10 * bits))
    return p;
  // The shortest of the lengths 2^i 3^j 5^k that are long enough.
  int64_t best = 1;
  while (best < 2 * n - 1)
    best *= 2;
  for (int64_t five = 1; five < best; five *= 5)
    for (int64_t three = five; three < best; three *= 3) {
      int64_t m = three;
      while (m < 2 * n - 1)
        m *= 2;
      best = m < best ? m : best;
    }
  p.m = best;
  fe_fft_factors(&p);
  return p;
}

static inline fe_fft fe_fft_of(int64_t n) {
  fe_fft f = {.n = n, .a = n, .first = fe_fft_plan_of(n)};
  if (n < FE_FFT_SPLIT || f.first.m != n)
    return f;
  int64_t root = 1;
  while (root * root <= n / 4)
    root *= 2;
  while ((root + 1) * (root + 1) <= n)
    ++root;
  for (int64_t a = root; a >= 16 && !f.b; --a)
    if (n % a == 0) {
      f.a = a;
      f.b = n / a;
    }
  fe_fft_plan columns = fe_fft_plan_of(f.a);
  f.second = fe_fft_plan_of(f.b ? f.b : 1);
  if (f.b && f.b <= 16 * f.a && columns.m == f.a && f.second.m == f.b) {
    f.first = columns;
    return f;
  }
  f.a = n;
  f.b = 0;
  return f;
}

/// Numbers in the tables of a plan: roots of the passes, of the odd factors, of
/// Bluestein's chirp and its transform; real parts before imaginary ones.
static inline int64_t fe_fft_plan_size(const fe_fft_plan *p) {
  return 2 * (p->m + p->roots + (p->m == p->n ? 0 : p->n + p->m));
}

static inline int64_t fe_fft_tables_size(const fe_fft *f) {
  return fe_fft_plan_size(&f->first) +
         (f->b ? fe_fft_plan_size(&f->second) + 2 * f->n : 0);
}

/// Numbers of room that making the tables takes.
static inline int64_t fe_fft_fill_room(const fe_fft *f) {
  return f->first.m == f->first.n ? 0 : 4 * f->first.m;
}

/// How many parts the work on `lines` lines has at most; lanes: lines in a
/// vector.
static inline int64_t fe_fft_slices(int64_t lines, int64_t lanes) {
  int64_t groups = lines < lanes ? lines : (lines + lanes - 1) / lanes;
  return groups < FE_FFT_SLICES ? groups : FE_FFT_SLICES;
}

/// Numbers of room to work in: for each slice two complex buffers of lines; for
/// a matrix one more, of all.
static inline int64_t fe_fft_room(const fe_fft *f, int64_t lines,
                                  int64_t bytes) {
  int64_t lanes = FE_FFT_LANES / bytes;
  if (!f->b)
    return fe_fft_slices(lines, lanes) * 4 * f->first.m *
           (lines < lanes ? 1 : lanes);
  int64_t longer = f->a > f->b ? f->a : f->b;
  return lines ? 2 * f->n + FE_FFT_SLICES * 4 * longer * lanes : 0;
}

/// cos and sin of 2 pi i / n, 0 <= i < n, from the angle's part in the first
/// octant, so that symmetric roots have the same digits.
static inline void fe_root(int64_t i, int64_t n, double *c, double *s) {
  int64_t x = 8 * i;
  bool below = x > 4 * n;
  x = below ? 8 * n - x : x;
  bool left = x > 2 * n;
  x = left ? 4 * n - x : x;
  bool high = x > n;
  x = high ? 2 * n - x : x;
  double t = 0.78539816339744830962 * ((double)x / (double)n), q = t * t;
  static const double odd[] = {-1 / 6.0,
                               1 / 120.0,
                               -1 / 5040.0,
                               1 / 362880.0,
                               -1 / 39916800.0,
                               1 / 6227020800.0,
                               -1 / 1307674368000.0,
                               1 / 355687428096000.0};
  static const double even[] = {-1 / 2.0,           1 / 24.0,
                                -1 / 720.0,         1 / 40320.0,
                                -1 / 3628800.0,     1 / 479001600.0,
                                -1 / 87178291200.0, 1 / 20922789888000.0};
  double sine = 0, cosine = -1 / 6402373705728000.0;
  for (int k = 7; k >= 0; --k) { // Taylor: t <= pi / 4
    sine = q * (odd[k] + sine);
    cosine = q * cosine + even[k];
  }
  sine = t + t * sine;
  cosine = 1 + q * cosine;
  double across = high ? sine : cosine, up = high ? cosine : sine;
  *c = left ? -across : across;
  *s = below ? -up : up;
}

#endif
