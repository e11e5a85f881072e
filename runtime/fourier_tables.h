//===- fourier_tables.h - tables of fast Fourier transforms ------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Included once for each REAL, behind fourier_passes.h for single lines.
//
//===----------------------------------------------------------------------===//

/// fe_fft_plan_size(p) numbers; room: see fe_fft_fill_room.
static void FE_NAME(fill_plan)(const fe_fft_plan *p, REAL *out, REAL *room) {
  int64_t n = p->n, m = p->m, l1 = 1, ido = m, at = 0;
  double c, s;
  REAL *re = out, *im = out + m;
  for (int f = 0; f < p->n_factors; ++f) {
    int64_t by = p->factor[f];
    ido /= by;
    for (int64_t k = 1; k < by; ++k)
      for (int64_t i = 0; i < ido; ++i, ++at) {
        fe_root(k * i * l1, m, &c, &s);
        re[at] = (REAL)c;
        im[at] = (REAL)s;
      }
    l1 *= by;
  }
  re[at] = im[at] = 0; // a pass of n elements has n - 1 roots
  re = im + m;
  im = re + p->roots;
  for (int f = 0; f < p->n_factors; ++f) {
    int64_t by = p->factor[f];
    for (int64_t k = 0; by % 2 && k < by; ++k) {
      fe_root(k, by, &c, &s);
      *re++ = (REAL)c;
      *im++ = (REAL)s;
    }
  }
  if (m == n)
    return;
  // The chirp exp(pi i j^2 / n), and the transform of its conjugate: of a
  // symmetric sequence that is the conjugate of the transform.
  FE_NAME(line) v = {room, room + m}, other = {v.im + m, v.im + 2 * m};
  memset(room, 0, sizeof(REAL) * 2 * (size_t)m);
  re = im;
  im = re + n;
  for (int64_t j = 0, square = 0; j < n; ++j) {
    fe_root(square, 2 * n, &c, &s);
    re[j] = (REAL)c;
    im[j] = (REAL)s;
    int64_t mirrored = j ? m - j : 0;
    v.re[j] = v.re[mirrored] = (REAL)(c / (double)m);
    v.im[j] = v.im[mirrored] = (REAL)(-s / (double)m);
    square = (square + 2 * j + 1) % (2 * n);
  }
  FE_NAME(passes)(p, out, &v, &other);
  memcpy(im + n, v.re, sizeof(REAL) * (size_t)m);
  memcpy(im + n + m, v.im, sizeof(REAL) * (size_t)m);
}

/// fe_fft_tables_size(f) numbers: those of the plans; for a matrix [a][b] the
/// roots between its columns and its rows.
static void FE_NAME(fill_tables)(const fe_fft *f, REAL *out, REAL *room) {
  FE_NAME(fill_plan)(&f->first, out, room);
  if (!f->b)
    return;
  out += fe_fft_plan_size(&f->first);
  FE_NAME(fill_plan)(&f->second, out, room);
  REAL *re = out + fe_fft_plan_size(&f->second), *im = re + f->n;
  for (int64_t k = 0; k < f->a; ++k)
    for (int64_t j = 0; j < f->b; ++j) {
      double c, s;
      fe_root(k * j, f->n, &c, &s);
      re[k * f->b + j] = (REAL)c;
      im[k * f->b + j] = (REAL)s;
    }
}
