//===- winograd_weights.c - products' weights, made by the compiler -*- C -*-=//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transform of krnl.winograd_weights for weights that are constant and
// whose result the artifact may hold: in double, rounded once.
//
//===----------------------------------------------------------------------===//
#include "kernel/winograd.h"

#include <string.h>

/// The widest panel: so many filters are transformed at once.
#define MAX_WIDTH 256

/// Rows of the transform of three taps: products by taps.
typedef struct matrix {
  double at[FE_WINOGRAD_MAX][3];
} matrix;

static matrix transform_of(int64_t tile) {
  if (tile == 2)
    return (matrix){{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};
  const double a = FE_WINOGRAD_A, b = FE_WINOGRAD_B, aa = a * a, bb = b * b;
  const double na = 2 * aa * (aa - bb), nb = 2 * bb * (bb - aa);
  return (matrix){{{1 / (aa * bb), 0, 0},
                   {1 / na, a / na, aa / na},
                   {1 / na, -a / na, aa / na},
                   {1 / nb, b / nb, bb / nb},
                   {1 / nb, -b / nb, bb / nb},
                   {0, 0, 1}}};
}

int64_t fe_winograd_packed_count(const fe_winograd_packing *p) {
  const fe_conv_shape *s = &p->conv.shape;
  return fe_winograd_weights_size(p->conv.lanes, p->tile, s->channels,
                                  s->out_channels, p->conv.panel);
}

size_t fe_winograd_packed_parts(const fe_winograd_packing *p) {
  return fe_conv_packed_parts(&p->conv);
}

/// Input channel c of the `real` filters from k0 on: sums over the taps, first
/// along columns, then along rows. `at`: where product 0 goes, the next one
/// lies `step` elements on.
static void channel(const fe_winograd_packing *p, const matrix *g, int64_t k0,
                    int64_t real, int64_t c, float *at, int64_t step) {
  const fe_conv_shape *s = &p->conv.shape;
  const int64_t n = p->tile + 2;
  double taps[9][MAX_WIDTH], half[FE_WINOGRAD_MAX][3][MAX_WIDTH];
  for (int64_t k = 0; k < real; ++k) {
    const fe_float_at *w = p->conv.weights + ((k0 + k) * s->channels + c) * 9;
    for (int64_t i = 0; i < 9; ++i)
      taps[i][k] = w[i];
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < 3; ++j)
      for (int64_t k = 0; k < real; ++k)
        half[i][j][k] = g->at[i][0] * taps[j][k] +
                        g->at[i][1] * taps[3 + j][k] +
                        g->at[i][2] * taps[6 + j][k];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t k = 0; k < real; ++k)
        at[(i * n + j) * step + k] =
            (float)(g->at[j][0] * half[i][0][k] + g->at[j][1] * half[i][1][k] +
                    g->at[j][2] * half[i][2][k]);
}

/// The panel of `width` filters from k0 on; returns its end.
static float *pack_panel(const fe_winograd_packing *p, const matrix *g,
                         int64_t k0, int64_t width, float *at) {
  const fe_conv_shape *s = &p->conv.shape;
  int64_t real = s->out_channels - k0 < width ? s->out_channels - k0 : width;
  int64_t step = s->channels * width + p->conv.lanes;
  for (int64_t c = 0; c < s->channels; ++c)
    channel(p, g, k0, real, c, at + c * width, step);
  return at + fe_winograd_products(p->tile) * step;
}

void fe_winograd_pack_weights(const void *packing, size_t part, void *out) {
  const fe_winograd_packing *p = packing;
  const int64_t lanes = p->conv.lanes, width = p->conv.panel * lanes;
  const matrix g = transform_of(p->tile);
  fe_panels panels = fe_conv_panels(
      (p->conv.shape.out_channels + lanes - 1) / lanes, p->conv.panel);
  if (fe_winograd_packed_parts(p) > 1) {
    pack_panel(p, &g, (int64_t)part * width, width, out);
    return;
  }
  float *at = out;
  for (int64_t i = 0; i < panels.main; ++i)
    at = pack_panel(p, &g, i * width, width, at);
  if (panels.last)
    pack_panel(p, &g, panels.main * width, panels.last * lanes, at);
}
