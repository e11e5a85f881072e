//===- conv_pack.c - blocking of channels, order of weights ------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: a register tile is `rows` pixels by `panel` vectors of output
// channels; with its weights and one broadcast it has to fit into the vector
// registers, one being left to the compiler. The panel is the one with the
// least cycles over all tiles of the image, each step of a tile costing its
// multiplications, its loads, or the latency of a multiplication.
//
//===----------------------------------------------------------------------===//
#include "kernel/conv.h"

#include "kernel/window.h"

#define MAX_PANEL 14
#define LATENCY 8 // multiplications in flight: 4 cycles, 2 a cycle

fe_panels fe_conv_panels(int64_t blocks, int64_t panel) {
  fe_panels p = {.main = blocks / panel, .panel = panel};
  int64_t rest = blocks % panel;
  if (rest == 1 && p.main > 0) {
    --p.main;
    p.last = panel + 1;
  } else {
    p.last = rest;
  }
  return p;
}

//===-- Groups that are not whole blocks ------------------------------------//

static bool is_spanning(const fe_conv_shape *s, int64_t lanes) {
  return s->groups > 1 &&
         (s->channels % lanes != 0 || s->out_channels / s->groups % lanes != 0);
}

bool fe_conv_spans(const fe_target *t, const fe_conv_shape *s) {
  return is_spanning(s, fe_conv_block(t));
}

/// Channels [first, end) of the input, from a whole block on, that the output
/// channels [k0, k0 + width) see.
static void see(const fe_conv_shape *s, int64_t lanes, int64_t k0,
                int64_t width, int64_t *first, int64_t *end) {
  int64_t k1 = k0 + width < s->out_channels ? k0 + width : s->out_channels;
  int64_t group = s->out_channels / s->groups, all = s->channels * s->groups;
  *first = k0 / group * s->channels / lanes * lanes;
  *end = ((k1 - 1) / group + 1) * s->channels;
  *end = (*end + lanes - 1) / lanes * lanes;
  *end = *end < all ? *end : all;
}

/// Channels that all panels see; *most: one of them.
static int64_t span_of_panels(const fe_conv_shape *s, int64_t lanes,
                              int64_t panel, int64_t *most) {
  int64_t blocks = (s->out_channels + lanes - 1) / lanes, sum = 0;
  fe_panels p = fe_conv_panels(blocks, panel);
  *most = 0;
  for (int64_t i = 0; i < p.main + (p.last ? 1 : 0); ++i) {
    int64_t width = i < p.main ? panel : p.last, first, end;
    see(s, lanes, i * panel * lanes, width * lanes, &first, &end);
    sum += (end - first) * width * lanes;
    *most = end - first > *most ? end - first : *most;
  }
  return sum;
}

int64_t fe_conv_span(const fe_conv_shape *s, int64_t lanes, int64_t panel) {
  int64_t most;
  span_of_panels(s, lanes, panel, &most);
  return most;
}

double fe_conv_span_waste(const fe_conv_shape *s, int64_t lanes,
                          int64_t panel) {
  int64_t most;
  return (double)span_of_panels(s, lanes, panel, &most) /
         (double)(s->out_channels * s->channels);
}

//===-- Tiles and panels ----------------------------------------------------//

unsigned fe_conv_rows(const fe_target *t, fe_dot dot, int64_t panel) {
  int64_t free = (int64_t)t->vector_registers - 2 - panel;
  // Without fused multiply-add a product needs a register too, and two pairs of
  // bytes one more than a number. (Weights that are used at once, as many
  // again, may be operands in memory.)
  if (dot == FE_DOT_S16)
    free -= 2;
  else if (!t->fma)
    --free;
  int64_t rows = free / panel;
  int64_t most = FE_WINDOW_TILE - 4;
  return (unsigned)(rows < 1 ? 1 : rows > most ? most : rows);
}

static double tiles_cost(const fe_target *t, fe_dot dot, int64_t panel,
                         int64_t pixels) {
  int64_t rows = fe_conv_rows(t, dot, panel);
  int64_t tiles = (pixels + rows - 1) / rows;
  double m = (double)pixels / (double)tiles, n = (double)panel;
  // Taking a word apart is half the work of its products with a vector; only
  // sums wait for each other, so there is no latency to hide.
  if (dot == FE_DOT_S16)
    return (double)tiles * (m * (0.5 + n) + 0.3 * n + 0.5);
  double step = m * n;
  if (step < LATENCY)
    step = LATENCY;
  // One accumulator per pixel folds the broadcast into the multiplication:
  // as many loads as multiplications, about 85 % of the speed.
  if (panel == 1)
    step *= 1.15;
  return (double)tiles * (step + 0.3);
}

bool fe_conv_panel_fits(const fe_target *t, const fe_conv_shape *s,
                        int64_t panel) {
  int64_t lanes = fe_conv_block(t);
  int64_t blocks = (s->out_channels + lanes - 1) / lanes;
  bool free = s->groups == 1 || is_spanning(s, lanes);
  int64_t group = free ? blocks : blocks / s->groups;
  return panel >= 1 && panel <= MAX_PANEL && panel <= group &&
         (free || group % panel == 0) &&
         (panel == 1 || panel * 2 + 2 <= (int64_t)t->vector_registers);
}

int64_t fe_conv_choose_panel(const fe_target *t, const fe_conv_shape *s) {
  int64_t lanes = fe_conv_block(t);
  int64_t blocks = (s->out_channels + lanes - 1) / lanes;
  bool spans = is_spanning(s, lanes);
  // Each group has its own panels.
  int64_t group = spans ? blocks : blocks / s->groups;
  bool flat = s->kernel[0] == 1 && s->kernel[1] == 1 && s->stride[0] == 1 &&
              s->stride[1] == 1 && !s->plain;
  int64_t pixels = 1000; // of a row, or of what is treated like one
  if (s->out[1] != FE_DYN) {
    pixels = s->out[1];
    bool small = s->out[0] != FE_DYN && s->out[0] * s->out[1] <= 100;
    if (s->out[0] != FE_DYN && (flat || small))
      pixels *= s->out[0];
  }
  int64_t best = 1;
  double best_cost = 0;
  for (int64_t n = 1; n <= MAX_PANEL && n <= group; ++n) {
    if (!fe_conv_panel_fits(t, s, n))
      continue;
    fe_panels p = fe_conv_panels(group, n);
    double cost = (double)p.main * tiles_cost(t, s->dot, n, pixels);
    if (p.last)
      cost += tiles_cost(t, s->dot, p.last, pixels);
    if (spans)
      cost *= fe_conv_span_waste(s, lanes, n);
    // Two is the best measured; others have to be better by some percent.
    if (n != 2 && s->dot != FE_DOT_S16)
      cost *= 1.03;
    if (n == 1 || cost < best_cost) {
      best = n;
      best_cost = cost;
    }
  }
  return best;
}

static int64_t blocks_of(const fe_conv_packing *p) {
  return (p->shape.out_channels + p->lanes - 1) / p->lanes;
}

/// Channels of a panel's weights.
static int64_t channels_of(const fe_conv_packing *p) {
  const fe_conv_shape *s = &p->shape;
  return is_spanning(s, p->lanes) ? fe_conv_span(s, p->lanes, p->panel)
                                  : s->channels;
}

int64_t fe_conv_packed_count(const fe_conv_packing *p) {
  const fe_conv_shape *s = &p->shape;
  return blocks_of(p) * p->lanes * channels_of(p) * s->kernel[0] * s->kernel[1];
}

size_t fe_conv_packed_parts(const fe_conv_packing *p) {
  fe_panels panels = fe_conv_panels(blocks_of(p), p->panel);
  return panels.last || !panels.main ? 1 : (size_t)panels.main;
}

/// The panel of `width` channels from k0 on; returns its end.
static float *pack_panel(const fe_conv_packing *how, int64_t k0, int64_t width,
                         float *at) {
  const fe_conv_shape *s = &how->shape;
  const fe_float_at *w = how->weights;
  int64_t taps = s->kernel[0] * s->kernel[1];
  // In plain input, blocks of one channel.
  int64_t block = s->plain ? 1 : how->lanes;
  int64_t real = s->out_channels - k0 < width ? s->out_channels - k0 : width;
  for (int64_t c0 = 0; c0 < s->channels; c0 += block) {
    int64_t n = s->channels - c0 < block ? s->channels - c0 : block;
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = c0; c < c0 + n; ++c, at += width)
        for (int64_t k = 0; k < real; ++k)
          at[k] = w[((k0 + k) * s->channels + c) * taps + tap];
  }
  return at;
}

/// The same where groups are not whole blocks: every panel takes as much.
static float *pack_span(const fe_conv_packing *how, int64_t k0, int64_t width,
                        float *at) {
  const fe_conv_shape *s = &how->shape;
  int64_t lanes = how->lanes, taps = s->kernel[0] * s->kernel[1], first, end;
  int64_t real = s->out_channels - k0 < width ? s->out_channels - k0 : width;
  int64_t group = s->out_channels / s->groups;
  float *next = at + width * taps * channels_of(how);
  see(s, lanes, k0, width, &first, &end);
  for (int64_t c0 = first; c0 < end; c0 += lanes)
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = c0; c < c0 + lanes && c < end; ++c, at += width)
        for (int64_t k = 0; k < real; ++k) {
          int64_t in = c - (k0 + k) / group * s->channels;
          if (in >= 0 && in < s->channels)
            at[k] = how->weights[((k0 + k) * s->channels + in) * taps + tap];
        }
  return next;
}

void fe_conv_pack_weights(const void *packing, size_t part, void *out) {
  const fe_conv_packing *how = packing;
  fe_panels p = fe_conv_panels(blocks_of(how), how->panel);
  int64_t width = how->panel * how->lanes;
  float *(*pack)(const fe_conv_packing *, int64_t, int64_t, float *) =
      is_spanning(&how->shape, how->lanes) ? pack_span : pack_panel;
  if (fe_conv_packed_parts(how) > 1) {
    pack(how, (int64_t)part * width, width, out);
    return;
  }
  float *at = out;
  for (int64_t i = 0; i < p.main; ++i)
    at = pack(how, i * width, width, at);
  if (p.last)
    pack(how, p.main * width, p.last * how->lanes, at);
}

float *fe_conv_pack_channels(fe_arena *arena, unsigned lanes, int64_t channels,
                             int64_t n, const fe_float_at *data,
                             int64_t *count) {
  int64_t blocks = (channels + lanes - 1) / lanes;
  *count = blocks * n * lanes;
  float *out = FE_NEW_N(arena, float, (size_t)*count);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < n; ++i)
      out[((c / lanes) * n + i) * lanes + c % lanes] = data[c * n + i];
  return out;
}
