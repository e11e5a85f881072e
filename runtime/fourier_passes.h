//===- fourier_passes.h - the passes of fast Fourier transforms --*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Included once for each kind of element: REAL, the type of its numbers; VALUE,
// a number, or one of each of several lines (a vector); FE_NAME(x), what to
// call x. Decimation in frequency that leaves the frequencies in order: a pass
// of factor p reads [k][p][i] and writes [p][k][i].
//
//===----------------------------------------------------------------------===//

typedef struct FE_NAME(value) {
  VALUE re, im;
} FE_NAME(value);

/// Real and imaginary parts.
typedef struct FE_NAME(line) {
  VALUE *re, *im;
} FE_NAME(line);

FE_INLINE FE_NAME(value) FE_NAME(sum)(FE_NAME(value) a, FE_NAME(value) b) {
  return (FE_NAME(value)){a.re + b.re, a.im + b.im};
}

FE_INLINE FE_NAME(value)
    FE_NAME(difference)(FE_NAME(value) a, FE_NAME(value) b) {
  return (FE_NAME(value)){a.re - b.re, a.im - b.im};
}

FE_INLINE FE_NAME(value) FE_NAME(turned)(FE_NAME(value) a, REAL re, REAL im) {
  return (FE_NAME(value)){a.re * re - a.im * im, a.re * im + a.im * re};
}

/// The transform of v[p], p odd; roots: its p-th roots of unity.
FE_INLINE void FE_NAME(odd)(int64_t p, const REAL *re, const REAL *im,
                            FE_NAME(value) * v) {
  int64_t half = p / 2;
  FE_NAME(value) first = v[0], all = first;
  FE_NAME(value) s[FE_FFT_PRIME / 2 + 1], d[FE_FFT_PRIME / 2 + 1];
  for (int64_t m = 1; m <= half; ++m) {
    s[m] = FE_NAME(sum)(v[m], v[p - m]);
    d[m] = FE_NAME(difference)(v[m], v[p - m]);
    all = FE_NAME(sum)(all, s[m]);
  }
  v[0] = all;
  for (int64_t u = 1; u <= half; ++u) {
    int64_t at = u;
    FE_NAME(value)
    across = {first.re + s[1].re * re[at], first.im + s[1].im * re[at]};
    FE_NAME(value) up = {d[1].im * im[at], d[1].re * im[at]};
    for (int64_t m = 2; m <= half; ++m) {
      at = at + u < p ? at + u : at + u - p;
      across.re += s[m].re * re[at];
      across.im += s[m].im * re[at];
      up.re += d[m].im * im[at];
      up.im += d[m].re * im[at];
    }
    up.re = -up.re;
    v[u] = FE_NAME(sum)(across, up);
    v[p - u] = FE_NAME(difference)(across, up);
  }
}

FE_INLINE void FE_NAME(two)(FE_NAME(value) * v) {
  FE_NAME(value) a = v[0];
  v[0] = FE_NAME(sum)(a, v[1]);
  v[1] = FE_NAME(difference)(a, v[1]);
}

FE_INLINE void FE_NAME(four)(FE_NAME(value) * v) {
  FE_NAME(value) a = FE_NAME(sum)(v[0], v[2]);
  FE_NAME(value) b = FE_NAME(difference)(v[0], v[2]);
  FE_NAME(value) c = FE_NAME(sum)(v[1], v[3]);
  FE_NAME(value) d = FE_NAME(difference)(v[1], v[3]);
  FE_NAME(value) up = {-d.im, d.re};
  v[0] = FE_NAME(sum)(a, c);
  v[1] = FE_NAME(sum)(b, up);
  v[2] = FE_NAME(difference)(a, c);
  v[3] = FE_NAME(difference)(b, up);
}

typedef struct FE_NAME(pass) {
  int64_t ido, l1;               // elements of a run, runs
  const REAL *re, *im;           // [p - 1][ido] roots of unity
  const REAL *root_re, *root_im; // p-th roots
  FE_NAME(line) in, out;
} FE_NAME(pass);

FE_INLINE void FE_NAME(step)(const FE_NAME(pass) * t, int64_t p, int64_t k,
                             int64_t i, bool turn) {
  FE_NAME(value) v[FE_FFT_PRIME];
  const VALUE *restrict from_re = t->in.re, *restrict from_im = t->in.im;
  VALUE *restrict to_re = t->out.re, *restrict to_im = t->out.im;
  for (int64_t m = 0; m < p; ++m) {
    int64_t at = i + t->ido * (m + p * k);
    v[m] = (FE_NAME(value)){from_re[at], from_im[at]};
  }
  if (p == 2)
    FE_NAME(two)(v);
  else if (p == 4)
    FE_NAME(four)(v);
  else
    FE_NAME(odd)(p, t->root_re, t->root_im, v);
  for (int64_t m = 0; m < p; ++m) {
    int64_t at = i + t->ido * (k + t->l1 * m), root = i + t->ido * (m - 1);
    if (turn && m)
      v[m] = FE_NAME(turned)(v[m], t->re[root], t->im[root]);
    to_re[at] = v[m].re;
    to_im[at] = v[m].im;
  }
}

FE_INLINE void FE_NAME(pass_of)(const FE_NAME(pass) * t, int64_t p) {
  if (t->ido == 1) {
    for (int64_t k = 0; k < t->l1; ++k)
      FE_NAME(step)(t, p, k, 0, false);
    return;
  }
  for (int64_t k = 0; k < t->l1; ++k) {
    FE_NAME(step)(t, p, k, 0, false);
    for (int64_t i = 1; i < t->ido; ++i)
      FE_NAME(step)(t, p, k, i, true);
  }
}

FE_APART static void FE_NAME(pass2)(const FE_NAME(pass) * t) {
  FE_NAME(pass_of)(t, 2);
}
FE_APART static void FE_NAME(pass3)(const FE_NAME(pass) * t) {
  FE_NAME(pass_of)(t, 3);
}
FE_APART static void FE_NAME(pass4)(const FE_NAME(pass) * t) {
  FE_NAME(pass_of)(t, 4);
}
FE_APART static void FE_NAME(pass5)(const FE_NAME(pass) * t) {
  FE_NAME(pass_of)(t, 5);
}
FE_APART static void FE_NAME(pass_odd)(const FE_NAME(pass) * t, int64_t p) {
  FE_NAME(pass_of)(t, p);
}

/// All passes of a plan from and to v; `other`: room of the same size. Which of
/// the two has the result is exchanged.
static void FE_NAME(passes)(const fe_fft_plan *p, const REAL *tables,
                            FE_NAME(line) * v, FE_NAME(line) * other) {
  FE_NAME(pass) t = {.l1 = 1, .ido = p->m};
  const REAL *roots = tables + 2 * p->m;
  t.re = tables;
  t.im = tables + p->m;
  for (int f = 0; f < p->n_factors; ++f) {
    int64_t by = p->factor[f];
    t.ido /= by;
    t.root_re = roots;
    t.root_im = roots + p->roots;
    t.in = *v;
    t.out = *other;
    if (by == 4)
      FE_NAME(pass4)(&t);
    else if (by == 2)
      FE_NAME(pass2)(&t);
    else if (by == 3)
      FE_NAME(pass3)(&t);
    else if (by == 5)
      FE_NAME(pass5)(&t);
    else
      FE_NAME(pass_odd)(&t, by);
    *other = *v;
    *v = t.out;
    t.re += (by - 1) * t.ido;
    t.im += (by - 1) * t.ido;
    t.l1 *= by;
    roots += by % 2 ? by : 0;
  }
}

/// The transform of v, which has room for p->m elements.
static inline void FE_NAME(transform)(const fe_fft_plan *p, const REAL *tables,
                                      FE_NAME(line) * v,
                                      FE_NAME(line) * other) {
  int64_t n = p->n, m = p->m;
  if (m == n) {
    FE_NAME(passes)(p, tables, v, other);
    return;
  }
  // j k = (j^2 + k^2 - (k - j)^2) / 2: multiplied with a chirp before and
  // after, it is a convolution with the chirp's conjugate.
  const REAL *re = tables + 2 * (m + p->roots), *im = re + n;
  const REAL *by_re = im + n, *by_im = by_re + m;
  const VALUE zero = {0};
  for (int64_t j = 0; j < n; ++j) {
    FE_NAME(value) x = {v->re[j], v->im[j]};
    x = FE_NAME(turned)(x, re[j], im[j]);
    v->re[j] = x.re;
    v->im[j] = x.im;
  }
  for (int64_t j = n; j < m; ++j)
    v->re[j] = v->im[j] = zero;
  FE_NAME(passes)(p, tables, v, other);
  for (int64_t j = 0; j < m; ++j) { // parts exchanged: then the inverse
    FE_NAME(value) x = {v->re[j], v->im[j]};
    x = FE_NAME(turned)(x, by_re[j], by_im[j]);
    v->re[j] = x.im;
    v->im[j] = x.re;
  }
  FE_NAME(passes)(p, tables, v, other);
  for (int64_t j = 0; j < n; ++j) {
    FE_NAME(value) x = {v->im[j], v->re[j]};
    x = FE_NAME(turned)(x, re[j], im[j]);
    v->re[j] = x.re;
    v->im[j] = x.im;
  }
}
