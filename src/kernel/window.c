//===- window.c - sliding windows over images, in register tiles -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method. Static width: near-equal tiles; neighbours with equal masks share a
// loop, so that an inner part, a left and a right tile remain. Dynamic width:
// a left tile, inner ones, and a right one that ends at the border and
// overlaps its neighbour (results are pure, so doing some twice is harmless);
// how far the last window reaches beyond the image is one of few numbers, and
// each has its code. Images too narrow for that go pixel by pixel, with the
// taps found at run time.
//
//===----------------------------------------------------------------------===//
#include "kernel/window.h"

#include <string.h>

/// Code of a tile with masks has a copy per horizontal tap, and there is one
/// for each kind of tile; beyond these numbers borders go pixel by pixel.
#define MAX_MASKED_TAPS 32
#define MAX_KINDS 12

void fe_window_read(fe_ir *ir, MlirOperation root, MlirValue input,
                    MlirValue result, fe_window *w) {
  *w = (fe_window){0};
  fe_attr_i64s(root, "kernel", w->kernel, 2);
  fe_attr_i64s(root, "strides", w->stride, 2);
  fe_attr_i64s(root, "dilations", w->dilation, 2);
  fe_attr_i64s(root, "pads", w->pad, 4);
  for (unsigned i = 0; i < 2; ++i) {
    w->in[i] = fe_static_dim(input, 2 + i);
    w->out[i] = fe_static_dim(result, 2 + i);
    w->in_size[i] = fe_dim(ir, input, 2 + i);
    w->out_size[i] = fe_dim(ir, result, 2 + i);
    w->reach[i] = w->pad[2 + i];
  }
}

bool fe_window_is_flat(const fe_window *w) {
  for (unsigned i = 0; i < 2; ++i)
    if (w->kernel[i] != 1 || w->stride[i] != 1 || w->pad[i] || w->pad[2 + i])
      return false;
  return true;
}

void fe_window_flatten(fe_ir *ir, fe_window *w) {
  bool dynamic = w->out[0] == FE_DYN || w->out[1] == FE_DYN;
  int64_t n = dynamic ? FE_DYN : w->out[0] * w->out[1];
  MlirValue size =
      dynamic ? fe_mul(ir, w->out_size[0], w->out_size[1]) : fe_index(ir, n);
  w->in[0] = w->out[0] = 1;
  w->in_size[0] = w->out_size[0] = fe_index(ir, 1);
  w->in[1] = w->out[1] = n;
  w->in_size[1] = w->out_size[1] = size;
}

static int64_t ceil_div(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

/// Taps [first, last) that meet the image at position `at` of dim i.
static void tap_range(fe_ir *ir, const fe_window *w, unsigned i, MlirValue at,
                      MlirValue *first, MlirValue *last) {
  MlirValue dilation = fe_index(ir, w->dilation[i]);
  MlirValue origin = fe_sub(ir, fe_index(ir, w->pad[i]),
                            fe_mul(ir, at, fe_index(ir, w->stride[i])));
  MlirValue zero = fe_index(ir, 0), taps = fe_index(ir, w->kernel[i]);
  *first =
      w->pad[i] ? fe_max(ir, zero, fe_ceildiv(ir, origin, dilation)) : zero;
  *last = taps;
  if (w->reach[i])
    *last = fe_min(
        ir, taps,
        fe_max(ir, zero,
               fe_ceildiv(ir, fe_add(ir, w->in_size[i], origin), dilation)));
}

/// How far the last window of a row reaches beyond the image; static only.
static int64_t overshoot(const fe_window *w, unsigned i) {
  return (w->out[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] +
         1 - w->pad[i] - w->in[i];
}

/// Pixel x (static) of the row sees tap s; the right end is `right` columns.
static bool tap_hits(const fe_window *w, int64_t x, int64_t s, int64_t right) {
  int64_t at = x * w->stride[1] + s * w->dilation[1] - w->pad[1];
  return at >= 0 && at < right;
}

static void tile_init(fe_tile *t, unsigned m) {
  *t = (fe_tile){.m = m};
  for (unsigned i = 0; i < m; ++i)
    t->dx[i] = (int32_t)i;
}

typedef struct row {
  fe_ir *ir;
  const fe_window *w;
  fe_tile proto; // y and the vertical taps
  MlirValue t0, t1;
  bool masked; // tiles at borders know their taps at compile time
  fe_tile_fn fn;
  void *user;
} row;

/// Pixels [from, to) one at a time, taps at run time.
static void pixels(row *r, MlirValue from, MlirValue to) {
  fe_region loop = fe_for_begin(r->ir, from, to, fe_index(r->ir, 1), 0, NULL);
  fe_tile t = r->proto;
  t.m = 1;
  t.dx[0] = 0;
  t.x = loop.iv;
  tap_range(r->ir, r->w, 1, t.x, &t.s0, &t.s1);
  r->fn(r->user, &t);
  fe_for_end(r->ir, &loop, 0, NULL);
}

static void emit(row *r, unsigned m, MlirValue x, const uint32_t *mask) {
  if (mask && !r->masked) {
    pixels(r, x, fe_add(r->ir, x, fe_index(r->ir, m)));
    return;
  }
  fe_tile t = r->proto;
  t.m = m;
  t.x = x;
  t.mask = mask;
  r->fn(r->user, &t);
}

/// Masks of a tile of m pixels from x on; NULL when they are full. `right`:
/// where the image ends.
static const uint32_t *masks(fe_ir *ir, const fe_window *w, int64_t x,
                             unsigned m, int64_t right) {
  int64_t first = x * w->stride[1] - w->pad[1];
  int64_t last =
      first + (m - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1];
  if (first >= 0 && last < right)
    return NULL;
  uint32_t *mask = FE_NEW_N(ir->arena, uint32_t, (size_t)w->kernel[1]);
  for (int64_t s = 0; s < w->kernel[1]; ++s)
    for (unsigned i = 0; i < m; ++i)
      mask[s] |= (uint32_t)tap_hits(w, x + i, s, right) << i;
  return mask;
}

static bool same_masks(const fe_window *w, const uint32_t *a,
                       const uint32_t *b) {
  return a == b ||
         (a && b && !memcmp(a, b, (size_t)w->kernel[1] * sizeof(uint32_t)));
}

/// Tiles [g0, g1) of the row, m pixels each, the first at x0.
static void group(row *r, int64_t g0, int64_t g1, int64_t x0, unsigned m,
                  const uint32_t *mask) {
  fe_ir *ir = r->ir;
  if (fe_is_null(r->t0) && g1 - g0 == 1) {
    emit(r, m, fe_index(ir, x0), mask);
    return;
  }
  MlirValue lb = fe_index(ir, g0), ub = fe_index(ir, g1);
  if (!fe_is_null(r->t0)) {
    lb = fe_max(ir, lb, r->t0);
    ub = fe_min(ir, ub, r->t1);
  }
  fe_region loop = fe_for_begin(ir, lb, ub, fe_index(ir, 1), 0, NULL);
  MlirValue x = fe_add(ir, fe_mul(ir, loop.iv, fe_index(ir, m)),
                       fe_index(ir, x0 - g0 * m));
  emit(r, m, x, mask);
  fe_for_end(ir, &loop, 0, NULL);
}

/// Tiles of a row of static width: `big` of `m` pixels, the others one less.
typedef struct split {
  int64_t tiles, big, m;
} split;

static int64_t split_at(const split *p, int64_t t) {
  return t < p->big ? t * p->m : t * (p->m - 1) + p->big;
}

/// Calls group() for runs of equal tiles, unless `emit_code` is false; gives
/// their number.
static unsigned groups(row *r, const split *p, bool emit_code) {
  const fe_window *w = r->w;
  const uint32_t *mask = NULL;
  unsigned kinds = 0;
  for (int64_t t = 0, g0 = 0; t <= p->tiles; ++t) {
    int64_t m = t < p->big ? p->m : p->m - 1;
    const uint32_t *own =
        t < p->tiles ? masks(r->ir, w, split_at(p, t), (unsigned)m, w->in[1])
                     : NULL;
    bool ends = t == p->tiles || t == p->big || !same_masks(w, own, mask);
    if (t > 0 && ends) {
      ++kinds;
      if (emit_code)
        group(r, g0, t, split_at(p, g0),
              (unsigned)(g0 < p->big ? p->m : p->m - 1), mask);
    }
    if (t == 0 || ends) {
      g0 = t;
      mask = own;
    }
  }
  return kinds;
}

static void row_static(row *r, unsigned m_max) {
  int64_t width = r->w->out[1];
  split p = {.tiles = ceil_div(width, m_max)};
  if (!p.tiles)
    return;
  p.m = ceil_div(width, p.tiles);
  p.big = width - (p.m - 1) * p.tiles;
  r->masked =
      r->w->kernel[1] <= MAX_MASKED_TAPS && groups(r, &p, false) <= MAX_KINDS;
  groups(r, &p, true);
}

/// The tile at the right border: one piece of code for each number of columns
/// by which the last window reaches beyond the image.
static void right_tile(row *r, unsigned m, MlirValue x) {
  fe_ir *ir = r->ir;
  const fe_window *w = r->w;
  // The number of columns beyond the image.
  MlirValue over = fe_sub(
      ir,
      fe_add(ir,
             fe_mul(ir, fe_sub(ir, w->out_size[1], fe_index(ir, 1)),
                    fe_index(ir, w->stride[1])),
             fe_index(ir, (w->kernel[1] - 1) * w->dilation[1] + 1 - w->pad[1])),
      w->in_size[1]);
  // Masks follow from an image whose last window is that of the tile's last
  // pixel; far enough from the left border for it not to matter.
  int64_t first = w->pad[1] + 1;
  int64_t span = (first + m - 1) * w->stride[1] +
                 (w->kernel[1] - 1) * w->dilation[1] + 1 - w->pad[1];
  fe_region open[64];
  unsigned n_open = 0;
  for (int64_t k = w->reach[1]; k >= 1; --k) {
    const uint32_t *mask = masks(ir, w, first, m, span - k);
    fe_region *c = &open[n_open++];
    *c = fe_if_begin(ir, fe_cmp(ir, FE_GE, over, fe_index(ir, k)), 0, NULL,
                     true);
    emit(r, m, x, mask);
    fe_if_else(ir, c, 0, NULL);
  }
  emit(r, m, x, NULL);
  while (n_open)
    fe_if_end(ir, &open[--n_open], 0, NULL);
}

static void row_dynamic(row *r, unsigned m_max) {
  fe_ir *ir = r->ir;
  const fe_window *w = r->w;
  MlirValue m = fe_index(ir, m_max), width = w->out_size[1];
  MlirValue tiles = fe_window_tiles(ir, w, m_max);
  MlirValue t0 = fe_is_null(r->t0) ? fe_index(ir, 0) : r->t0;
  MlirValue t1 = fe_is_null(r->t1) ? tiles : r->t1;
  MlirValue one = fe_index(ir, 1), from = fe_mul(ir, t0, m);
  MlirValue to = fe_min(ir, fe_mul(ir, t1, m), width);
  bool clips = w->pad[1] || w->reach[1];
  int64_t advance = (int64_t)m_max * w->stride[1];
  if (clips && (advance < w->pad[1] || advance < w->reach[1] ||
                w->reach[1] > 8 || w->kernel[1] > MAX_MASKED_TAPS)) {
    pixels(r, from, to);
    return;
  }
  // An inner tile moved to the left to end before the right one must still
  // begin behind the left padding.
  unsigned least = !clips ? 1 : w->pad[1] <= w->stride[1] ? 2 : 3;
  fe_region wide = fe_if_begin(
      ir, fe_cmp(ir, FE_GE, width, fe_index(ir, least * m_max)), 0, NULL, true);
  MlirValue lb = t0, ub = t1, last = fe_sub(ir, width, m);
  MlirValue inner_last = last;
  if (clips) {
    MlirValue zero = fe_index(ir, 0), before = fe_sub(ir, tiles, one);
    fe_region left =
        fe_if_begin(ir, fe_cmp(ir, FE_EQ, t0, zero), 0, NULL, false);
    emit(r, m_max, zero, masks(ir, w, 0, m_max, INT64_MAX));
    fe_if_end(ir, &left, 0, NULL);
    lb = fe_max(ir, t0, one);
    ub = fe_min(ir, t1, before);
    inner_last = fe_sub(ir, last, m);
  }
  fe_region inner = fe_for_begin(ir, lb, ub, one, 0, NULL);
  emit(r, m_max, fe_min(ir, fe_mul(ir, inner.iv, m), inner_last), NULL);
  fe_for_end(ir, &inner, 0, NULL);
  if (clips) {
    fe_region right =
        fe_if_begin(ir, fe_cmp(ir, FE_EQ, t1, tiles), 0, NULL, false);
    right_tile(r, m_max, last);
    fe_if_end(ir, &right, 0, NULL);
  }
  fe_if_else(ir, &wide, 0, NULL);
  pixels(r, from, to);
  fe_if_end(ir, &wide, 0, NULL);
}

MlirValue fe_window_padded_taps(fe_ir *ir, const fe_window *w, unsigned i,
                                MlirValue at) {
  fe_window padded = *w;
  padded.in_size[i] = fe_add(ir, w->in_size[i], fe_index(ir, w->pad[2 + i]));
  if (!padded.reach[i])
    padded.reach[i] = 1;
  MlirValue first, last;
  tap_range(ir, &padded, i, at, &first, &last);
  return last;
}

void fe_window_taps(fe_ir *ir, const fe_window *w, const fe_tile *t, unsigned n,
                    MlirValue *acc, fe_tap_fn fn, void *user) {
  uint32_t full = (uint32_t)((UINT64_C(1) << t->m) - 1);
  MlirValue zero = fe_index(ir, 0), r = zero;
  fe_region rows = {0}, columns = {0};
  bool loop = !t->all_rows || w->kernel[0] > 1;
  if (loop) {
    rows = fe_for_begin(ir, t->r0, t->r1, fe_index(ir, 1), n, acc);
    r = rows.iv;
    for (unsigned i = 0; i < n; ++i)
      acc[i] = fe_block_arg(rows.body, 1 + i);
  }
  if (fe_is_null(t->s0) && (t->mask || w->kernel[1] <= 7)) {
    for (int64_t s = 0; s < w->kernel[1]; ++s)
      if (!t->mask || t->mask[s])
        fn(user, r, fe_index(ir, s), t->mask ? t->mask[s] : full, acc);
  } else {
    bool all = fe_is_null(t->s0);
    columns = fe_for_begin(ir, all ? zero : t->s0,
                           all ? fe_index(ir, w->kernel[1]) : t->s1,
                           fe_index(ir, 1), n, acc);
    for (unsigned i = 0; i < n; ++i)
      acc[i] = fe_block_arg(columns.body, 1 + i);
    fn(user, r, columns.iv, full, acc);
    fe_for_end(ir, &columns, n, acc);
    for (unsigned i = 0; i < n; ++i)
      acc[i] = fe_result(columns.op, i);
  }
  if (!loop)
    return;
  fe_for_end(ir, &rows, n, acc);
  for (unsigned i = 0; i < n; ++i)
    acc[i] = fe_result(rows.op, i);
}

MlirValue fe_window_origin(fe_ir *ir, const fe_window *w, const fe_tile *t) {
  MlirValue at[2] = {t->y, t->x};
  for (unsigned i = 0; i < 2; ++i)
    at[i] = fe_sub(ir, fe_mul(ir, at[i], fe_index(ir, w->stride[i])),
                   fe_index(ir, w->pad[i]));
  return fe_add(ir, fe_mul(ir, at[0], w->in_size[1]), at[1]);
}

MlirValue fe_window_tap(fe_ir *ir, const fe_window *w, MlirValue r,
                        MlirValue s) {
  MlirValue row =
      fe_mul(ir, fe_mul(ir, r, fe_index(ir, w->dilation[0])), w->in_size[1]);
  return fe_add(ir, row, fe_mul(ir, s, fe_index(ir, w->dilation[1])));
}

int64_t fe_window_static_tiles(const fe_window *w, unsigned m) {
  return w->out[1] == FE_DYN ? FE_DYN : ceil_div(w->out[1], m);
}

MlirValue fe_window_tiles(fe_ir *ir, const fe_window *w, unsigned m) {
  int64_t tiles = fe_window_static_tiles(w, m);
  return tiles == FE_DYN ? fe_ceildiv(ir, w->out_size[1], fe_index(ir, m))
                         : fe_index(ir, tiles);
}

void fe_window_row(fe_ir *ir, const fe_window *w, unsigned m, MlirValue y,
                   MlirValue t0, MlirValue t1, fe_tile_fn fn, void *user) {
  row r = {.ir = ir,
           .w = w,
           .t0 = t0,
           .t1 = t1,
           .masked = w->kernel[1] <= MAX_MASKED_TAPS,
           .fn = fn,
           .user = user};
  tile_init(&r.proto, m);
  r.proto.y = y;
  // Rounded sizes may make even an unpadded last window reach beyond.
  bool below = w->out[0] == FE_DYN || w->in[0] == FE_DYN ? w->reach[0] > 0
                                                         : overshoot(w, 0) > 0;
  fe_window rows = *w;
  rows.reach[0] = below;
  tap_range(ir, &rows, 0, y, &r.proto.r0, &r.proto.r1);
  r.proto.all_rows = !w->pad[0] && !below;
  if (w->out[1] == FE_DYN || w->in[1] == FE_DYN)
    row_dynamic(&r, m);
  else
    row_static(&r, m);
}

void fe_window_pattern(fe_ir *ir, const fe_window *w, unsigned m, fe_tile_fn fn,
                       void *user) {
  int64_t n = w->out[0] * w->out[1], tiles = ceil_div(n, m);
  for (int64_t t = 0; t < tiles; ++t) {
    int64_t p0 = t * n / tiles, p1 = (t + 1) * n / tiles;
    fe_tile tile = {.m = (unsigned)(p1 - p0), .pattern = true};
    tile.y = tile.x = fe_index(ir, 0);
    size_t taps = (size_t)(w->kernel[0] * w->kernel[1]);
    uint32_t *mask = FE_NEW_N(ir->arena, uint32_t, taps);
    bool all = true;
    for (unsigned i = 0; i < tile.m; ++i) {
      tile.dy[i] = (int32_t)((p0 + i) / w->out[1]);
      tile.dx[i] = (int32_t)((p0 + i) % w->out[1]);
      for (int64_t r = 0; r < w->kernel[0]; ++r) {
        int64_t row_at =
            tile.dy[i] * w->stride[0] + r * w->dilation[0] - w->pad[0];
        for (int64_t s = 0; s < w->kernel[1]; ++s) {
          bool hit = row_at >= 0 && row_at < w->in[0] &&
                     tap_hits(w, tile.dx[i], s, w->in[1]);
          mask[r * w->kernel[1] + s] |= (uint32_t)hit << i;
          all &= hit;
        }
      }
    }
    tile.mask = all ? NULL : mask;
    tile.all_rows = true;
    tile.r0 = fe_index(ir, 0);
    tile.r1 = fe_index(ir, w->kernel[0]);
    fn(user, &tile);
  }
}
