//===- conv.c - convolutions over packed images -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: direct convolution. A register tile is m pixels by a panel of output
// channels (conv_pack.c). For each tap and input channel it loads the panel's
// weights, which lie one behind the other, broadcasts the channel of each
// pixel and multiplies. The loop over the channels of a block is not unrolled:
// larger bodies run slower on every machine tried. Bias is what accumulators
// start with; the rest of the epilogue works on them before they are stored.
//
// Bytes (krnl.conv_bytes): the same over words of four channels each. A word of
// a pixel is broadcast, and the products of its bytes with the weights, which
// are a word or two (fe_dot_words), are added to a lane of 32 bits. Of two, the
// loop takes two words of the pixel at once: blocks have few.
//
// `interleave`: blocks of output channels are pixels of the result beside each
// other, as of a transposed convolution whose kernel is its stride.
//
// Items are (image, panel, part of the image), ordered so that what is reused
// stays in cache: parts of the image outside when all weights do or the image
// does not; otherwise panels outside. Where the weights take more than a part
// of L2, each tile prefetches its share of the next panel. Where the results of
// floats do, or nobody knows, and come after few steps, each tile prefetches
// the places of the next one's results, and what is added to those; behind the
// last one that may be beyond the result, which prefetching does not mind.
//
//===----------------------------------------------------------------------===//
#include "kernel/conv.h"
#include "kernel/cost.h"
#include "kernel/window.h"

#define MAX_ACC 32
#define LINE 16          // elements of a line of the cache
#define PART_CYCLES 3500 // work that is worth the arithmetic of an item
#define TILE_CYCLES 8    // to begin and end a tile, beside its results
#define PATTERN_MAX 100  // pixels of images that are cut regardless of rows

typedef enum conv_order {
  PANEL_IMAGE_PART,
  IMAGE_PANEL_PART,
  IMAGE_PART_PANEL
} conv_order;
typedef enum conv_parts { WHOLE_PATTERN, TILES_OF_ROW, ROWS } conv_parts;

typedef struct conv {
  fe_gen g;
  fe_epilogue epilogue;
  fe_window win; // as iterated, perhaps flat
  bool plain;
  fe_dot dot;    // of bytes; FE_DOT_NONE: floats
  bool flip;     // the input's bytes are signed
  int64_t words; // of weights for a channel and a filter
  unsigned lanes;
  // Channels are words where the input is bytes.
  int64_t channels, groups, blocks, full_blocks, rest;
  int64_t spread[2]; // pixels of the result for each of the window's: 1, 1
  int64_t in_block;  // channels of a block of the input
  // Groups that are not whole blocks (fe_conv_spans); `channels` is then what a
  // panel's weights have room for. 0: they are.
  int64_t group_in, group_out, out_channels;
  int64_t step; // elements from a pixel of the input to the next
  fe_panels panels;
  conv_order order;
  conv_parts parts;
  int64_t rows_of_part;
  int64_t tiles_of_part; // when it is a piece of a row
  bool prefetch;
  MlirValue in, weights, bias, scratch; // flat memrefs
  MlirValue n_images, n_parts, n_panels;
  // Of the item being emitted:
  int64_t panel; // blocks of this panel
  MlirValue image, block, in_base, w_base;
  MlirValue span, span_rest; // blocks that the panel sees; 1: `rest` too
  MlirValue y0;              // first row of the part
  int64_t part_pixels;       // of a visit of the panel; FE_DYN
  // Of the tile being emitted:
  const fe_tile *tile;
  MlirValue prefetch_base;
  int64_t prefetch_lines;
  MlirValue stream;       // from where the steps to come fetch; null: nowhere
  MlirValue results;      // of the tile to come; null: not fetched
  MlirValue results_from; // steps before those to come
  int64_t results_lines;  // of each step
  MlirValue added;        // by the epilogue, fetched too; null: nothing
  MlirValue acc[MAX_ACC]; // [pixel][block]
} conv;

static MlirValue times(fe_ir *ir, MlirValue a, int64_t k) {
  return k == 1 ? a : fe_mul(ir, a, fe_index(ir, k));
}
static MlirValue plus(fe_ir *ir, MlirValue a, int64_t k) {
  return k == 0 ? a : fe_add(ir, a, fe_index(ir, k));
}

/// Elements of a panel's weights for a channel (or a word of four) at one tap.
static int64_t row_of(const conv *c) { return c->words * c->panel * c->lanes; }
static unsigned tile_rows(const conv *c, int64_t panel) {
  return fe_conv_rows(c->g.target, c->dot, panel);
}

//===-- The tile ------------------------------------------------------------//

/// A loop whose body stays as it is.
static fe_region rolled(fe_ir *ir, MlirValue lb, MlirValue ub, unsigned n,
                        const MlirValue *init) {
  fe_region r = fe_for_begin(ir, lb, ub, fe_index(ir, 1), n, init);
  fe_set_attr(ir, r.op,
              fe_named(ir, "llvm.loop_annotation",
                       fe_attr_parse(ir, "#llvm.loop_annotation<unroll = "
                                         "<disable = true>>")));
  return r;
}

/// Begins a loop that carries all accumulators.
static fe_region acc_loop(conv *c, MlirValue lb, MlirValue ub) {
  unsigned n = c->tile->m * (unsigned)c->panel;
  fe_region r = rolled(c->g.ir, lb, ub, n, c->acc);
  for (unsigned i = 0; i < n; ++i)
    c->acc[i] = fe_block_arg(r.body, 1 + i);
  return r;
}

static void acc_loop_end(conv *c, fe_region *r) {
  unsigned n = c->tile->m * (unsigned)c->panel;
  fe_for_end(c->g.ir, r, n, c->acc);
  for (unsigned i = 0; i < n; ++i)
    c->acc[i] = fe_result(r->op, i);
}

/// One channel at one tap for the pixels in `mask`.
static void multiply(conv *c, uint32_t mask, MlirValue in, MlirValue w,
                     MlirValue *acc) {
  fe_ir *ir = c->g.ir;
  const fe_tile *t = c->tile;
  unsigned nk = (unsigned)c->panel, used = 0;
  MlirValue weights[MAX_ACC][2];
  for (unsigned i = 0; i < c->words; ++i)
    for (unsigned k = 0; k < nk; ++k)
      weights[k][i] =
          fe_vload(ir, c->lanes, c->weights,
                   FE_IDX(plus(ir, w, (int64_t)(i * nk + k) * c->lanes)));
  MlirValue row_step = times(ir, c->win.in_size[1], c->win.stride[0] * c->step);
  for (unsigned i = 0; i < t->m; ++i) {
    if (!(mask >> i & 1))
      continue;
    MlirValue at = plus(ir, in, t->dx[i] * c->win.stride[1] * c->step);
    if (t->dy[i])
      at = fe_add(ir, at, times(ir, row_step, t->dy[i]));
    MlirValue x = c->dot
                      ? fe_dot_word(&c->g, c->in, at, c->lanes, c->flip)
                      : fe_splat(ir, fe_load(ir, c->in, FE_IDX(at)), c->lanes);
    for (unsigned k = 0; k < nk; ++k, ++used)
      acc[used] = c->dot ? fe_dot_four(&c->g, c->dot, acc[used], x, weights[k])
                         : fe_vfma(&c->g, x, weights[k][0], acc[used]);
  }
}

/// `count` channels at one tap.
static void several(conv *c, uint32_t mask, int64_t count, int64_t in_step,
                    MlirValue in, MlirValue w, MlirValue *acc) {
  for (int64_t i = 0; i < count; ++i)
    multiply(c, mask, plus(c->g.ir, in, i * in_step),
             plus(c->g.ir, w, i * row_of(c)), acc);
}

/// Elements of the next panel that belong to a step.
static int64_t stream_step(const conv *c) {
  return c->prefetch_lines * LINE / c->lanes;
}

/// Step `number` fetches its share of what the next tile will write, and adds.
static void prefetch_results(conv *c, MlirValue number) {
  fe_ir *ir = c->g.ir;
  int64_t pixels = 1;
  while (pixels < c->tile->m)
    pixels *= 2;
  MlirValue plane =
      times(ir, fe_mul(ir, c->win.out_size[0], c->win.out_size[1]), c->lanes);
  number = times(ir, fe_add(ir, c->results_from, number), c->results_lines);
  for (int64_t i = 0; i < c->results_lines; ++i) {
    MlirValue line = plus(ir, number, i);
    MlirValue pixel = fe_remu(ir, line, fe_index(ir, pixels));
    MlirValue block = fe_remu(ir, fe_divu(ir, line, fe_index(ir, pixels)),
                              fe_index(ir, c->panel));
    MlirValue at =
        fe_add(ir, fe_mul(ir, block, plane), times(ir, pixel, c->lanes));
    at = fe_add(ir, c->results, at);
    fe_prefetch_write(ir, c->g.flat[c->g.n_args - 1], at);
    if (!fe_is_null(c->added))
      fe_prefetch(ir, c->added, at, 3);
  }
}

/// `count` steps of `in_step` elements of input and a row of the panel each.
static void steps(conv *c, uint32_t mask, int64_t count, int64_t in_step,
                  MlirValue in, MlirValue w) {
  fe_ir *ir = c->g.ir;
  unsigned nk = (unsigned)c->panel, n = 0, where[MAX_ACC];
  MlirValue acc[MAX_ACC];
  for (unsigned i = 0; i < c->tile->m; ++i)
    for (unsigned k = 0; k < nk; ++k)
      if (mask >> i & 1) {
        where[n] = i * nk + k;
        acc[n] = c->acc[where[n]];
        ++n;
      }
  if (!n)
    return;
  int64_t once = c->dot == FE_DOT_S16 && count % 2 == 0 ? 2 : 1;
  if (count == once) {
    several(c, mask, once, in_step, in, w, acc);
  } else {
    fe_region r =
        rolled(ir, fe_index(ir, 0), fe_index(ir, count / once), n, acc);
    for (unsigned i = 0; i < n; ++i)
      acc[i] = fe_block_arg(r.body, 1 + i);
    if (!fe_is_null(c->stream))
      fe_prefetch(ir, c->weights,
                  fe_add(ir, c->stream, times(ir, r.iv, stream_step(c))), 2);
    if (!fe_is_null(c->results))
      prefetch_results(c, r.iv);
    several(c, mask, once, in_step,
            fe_add(ir, in, times(ir, r.iv, once * in_step)),
            fe_add(ir, w, times(ir, r.iv, once * row_of(c))), acc);
    fe_for_end(ir, &r, n, acc);
    for (unsigned i = 0; i < n; ++i)
      acc[i] = fe_result(r.op, i);
  }
  for (unsigned i = 0; i < n; ++i)
    c->acc[where[i]] = acc[i];
}

/// Fetches this tile's share of the next panel for the steps that follow,
/// number `group` (index) of their kind.
static void prefetch(conv *c, MlirValue group, int64_t n_groups) {
  fe_ir *ir = c->g.ir;
  int64_t lines = c->prefetch_lines * n_groups;
  MlirValue at =
      fe_add(ir, c->prefetch_base, times(ir, group, c->prefetch_lines * 16));
  for (int64_t i = 0; i < lines; ++i)
    fe_prefetch(ir, c->weights, plus(ir, at, i * 16), 2);
}

/// All taps of row r for `n` channels of a block. `in`, `w`: tap (r, 0).
static void taps_of_row(conv *c, int64_t n, MlirValue in, MlirValue w,
                        const uint32_t *mask, MlirValue group) {
  fe_ir *ir = c->g.ir;
  const fe_tile *t = c->tile;
  int64_t taps = c->win.kernel[1];
  int64_t in_step = c->win.dilation[1] * c->step;
  int64_t w_step = n * row_of(c);
  uint32_t full = (uint32_t)((UINT64_C(1) << t->m) - 1);
  c->stream = (MlirValue){NULL};
  c->results_from = times(ir, group, c->plain ? taps : c->in_block);
  if (!fe_is_null(t->s0)) {
    fe_region r = acc_loop(c, t->s0, t->s1);
    steps(c, full, n, 1, fe_add(ir, in, times(ir, r.iv, in_step)),
          fe_add(ir, w, times(ir, r.iv, w_step)));
    acc_loop_end(c, &r);
    return;
  }
  MlirValue stream = {NULL};
  if (c->prefetch_lines && n == c->lanes && stream_step(c) > 0 &&
      stream_step(c) <= LINE)
    stream = fe_add(ir, c->prefetch_base,
                    times(ir, group, c->prefetch_lines * LINE));
  else if (c->prefetch_lines)
    prefetch(c, group, taps);
  c->stream = stream;
  if (mask) {
    for (int64_t s = 0; s < taps; ++s) {
      if (!fe_is_null(stream))
        c->stream = plus(ir, stream, s * c->prefetch_lines * LINE);
      steps(c, mask[s], n, 1, plus(ir, in, s * in_step),
            plus(ir, w, s * w_step));
    }
  } else if (c->plain) {
    steps(c, full, taps, in_step, in, w);
  } else if (taps == 1 || (in_step == n && n == c->in_block)) {
    // The channels of the next tap follow: one loop.
    steps(c, full, taps * n, 1, in, w);
  } else {
    fe_region r = acc_loop(c, fe_index(ir, 0), fe_index(ir, taps));
    if (!fe_is_null(stream))
      c->stream = fe_add(ir, stream, times(ir, r.iv, c->prefetch_lines * LINE));
    steps(c, full, n, 1, fe_add(ir, in, times(ir, r.iv, in_step)),
          fe_add(ir, w, times(ir, r.iv, w_step)));
    acc_loop_end(c, &r);
  }
}

/// All taps for `n` channels. `in`: tap (0, 0); `w`: this block's weights.
static void taps(conv *c, int64_t n, MlirValue in, MlirValue w,
                 MlirValue block) {
  fe_ir *ir = c->g.ir;
  const fe_tile *t = c->tile;
  int64_t rows = c->win.kernel[0], width = c->win.kernel[1];
  MlirValue in_row = times(ir, c->win.in_size[1], c->win.dilation[0] * c->step);
  int64_t w_row = width * n * row_of(c);
  MlirValue group = times(ir, block, rows * width);
  if (t->pattern && t->mask) {
    for (int64_t r = 0; r < rows; ++r)
      taps_of_row(c, n, fe_add(ir, in, times(ir, in_row, r)),
                  plus(ir, w, r * w_row), t->mask + r * width,
                  plus(ir, group, r * width));
  } else if (t->all_rows && rows == 1) {
    taps_of_row(c, n, in, w, t->mask, group);
  } else {
    fe_region r = acc_loop(c, t->r0, t->r1);
    taps_of_row(c, n, fe_add(ir, in, fe_mul(ir, in_row, r.iv)),
                fe_add(ir, w, times(ir, r.iv, w_row)), t->mask,
                fe_add(ir, group, times(ir, r.iv, width)));
    acc_loop_end(c, &r);
  }
}

/// Whether blocks of output channels are pixels of the result (`interleave`).
static bool is_spread(const conv *c) {
  return c->spread[0] != 1 || c->spread[1] != 1;
}

static fe_coords coords_of(const conv *c, MlirValue block, MlirValue y,
                           MlirValue x) {
  fe_ir *ir = c->g.ir;
  int64_t blocks = c->blocks;
  MlirValue size[2] = {c->win.out_size[0], c->win.out_size[1]};
  if (is_spread(c)) {
    blocks /= c->spread[0] * c->spread[1];
    MlirValue phase = fe_divu(ir, block, fe_index(ir, blocks));
    MlirValue across = fe_index(ir, c->spread[1]);
    block = fe_remu(ir, block, fe_index(ir, blocks));
    y = fe_add(ir, times(ir, y, c->spread[0]), fe_divu(ir, phase, across));
    x = fe_add(ir, times(ir, x, c->spread[1]), fe_remu(ir, phase, across));
    for (unsigned i = 0; i < 2; ++i)
      size[i] = times(ir, size[i], c->spread[i]);
  }
  fe_coords at = {{c->image, block, y, x, fe_index(ir, 0)}, {NULL}};
  MlirValue flat = fe_add(ir, times(ir, c->image, blocks), block);
  flat = fe_add(ir, fe_mul(ir, flat, size[0]), y);
  flat = fe_add(ir, fe_mul(ir, flat, size[1]), x);
  at.flat = times(ir, flat, c->lanes);
  return at;
}

/// Row i of the scratch buffer holds pixel i / panel, block i % panel.
static void place(void *user, MlirValue row, fe_coords *out) {
  conv *c = user;
  fe_ir *ir = c->g.ir;
  const fe_tile *t = c->tile;
  MlirValue nk = fe_index(ir, c->panel);
  MlirValue pixel = fe_divu(ir, row, nk), y = t->y, x = t->x;
  if (t->pattern) { // consecutive pixels of the image
    int64_t first = t->dy[0] * c->win.out[1] + t->dx[0];
    pixel = plus(ir, pixel, first);
    y = fe_divu(ir, pixel, c->win.out_size[1]);
    x = fe_remu(ir, pixel, c->win.out_size[1]);
  } else {
    x = fe_add(ir, x, pixel);
  }
  *out = coords_of(c, fe_add(ir, c->block, fe_remu(ir, row, nk)), y, x);
}

/// Results that are bytes: of four pixels, which lie one behind the other, at
/// once.
static void finish_bytes(conv *c) {
  fe_ir *ir = c->g.ir;
  const fe_tile *t = c->tile;
  const fe_epilogue *e = &c->epilogue;
  unsigned nk = (unsigned)c->panel;
  for (unsigned k = 0; k < nk; ++k)
    for (unsigned i = 0; i < t->m; i += 4) {
      unsigned n = t->m - i < 4 ? t->m - i : 4;
      MlirValue v[4], zero = {NULL}, to = {NULL};
      for (unsigned p = 0; p < n; ++p) {
        fe_coords at =
            coords_of(c, plus(ir, c->block, k), plus(ir, t->y, t->dy[i + p]),
                      plus(ir, t->x, t->dx[i + p]));
        v[p] = fe_epilogue_number(e, c->acc[(i + p) * nk + k], c->lanes, &at,
                                  &zero);
        if (!p)
          to = at.flat;
      }
      fe_vstore(ir, fe_limited_bytes(&c->g, n, v, zero, fe_epilogue_signed(e)),
                c->g.flat[c->g.n_args - 1], FE_IDX(to));
    }
}

static void finish(conv *c) {
  fe_ir *ir = c->g.ir;
  const fe_tile *t = c->tile;
  if (c->dot && fe_epilogue_makes_bytes(&c->epilogue) &&
      fe_limits_bytes(&c->g, c->lanes)) {
    finish_bytes(c);
    return;
  }
  bool loop = fe_epilogue_has_loop(&c->epilogue);
  unsigned nk = (unsigned)c->panel;
  MlirValue dest = c->g.flat[c->g.n_args - 1], zero = fe_index(ir, 0);
  for (unsigned k = 0; k < nk; ++k)
    for (unsigned i = 0; i < t->m; ++i) {
      fe_coords at =
          coords_of(c, plus(ir, c->block, k), plus(ir, t->y, t->dy[i]),
                    plus(ir, t->x, t->dx[i]));
      MlirValue v = fe_epilogue_vector(&c->epilogue, c->acc[i * nk + k],
                                       c->lanes, (MlirValue){NULL}, &at);
      if (loop)
        fe_vstore(ir, v, c->scratch, FE_IDX(fe_index(ir, i * nk + k), zero));
      else
        fe_vstore(ir, v, dest, FE_IDX(at.flat));
    }
  if (loop)
    fe_epilogue_loop(&c->epilogue, c->scratch, fe_index(ir, t->m * nk),
                     fe_index(ir, c->lanes), place, c);
}

/// Where this tile's share of the next panel begins, and how many lines each
/// group of steps fetches so that all tiles together fetch all of it.
static void plan_prefetch(conv *c) {
  fe_ir *ir = c->g.ir;
  const fe_tile *t = c->tile;
  c->prefetch_lines = 0;
  if (!c->prefetch || c->part_pixels == FE_DYN || c->part_pixels < 8 ||
      !fe_is_null(t->s0))
    return;
  int64_t panel = c->channels * c->win.kernel[0] * c->win.kernel[1] * row_of(c);
  int64_t lines =
      (t->m * c->panel * c->lanes + c->part_pixels - 1) / c->part_pixels;
  c->prefetch_lines = lines * c->lanes / 16;
  if (!c->prefetch_lines)
    c->prefetch_lines = 1;
  MlirValue pixel;
  if (t->pattern) {
    pixel = fe_index(ir, t->dy[0] * c->win.out[1] + t->dx[0]);
  } else {
    MlirValue row = fe_is_null(c->y0) ? t->y : fe_sub(ir, t->y, c->y0);
    pixel = fe_add(ir, fe_mul(ir, row, c->win.out_size[1]), t->x);
  }
  int64_t share = panel / c->part_pixels;
  c->prefetch_base =
      plus(ir, fe_add(ir, c->w_base, times(ir, pixel, share)), panel);
}

/// Most steps for each line of a tile's results with which those are fetched.
#define RESULT_STEPS 8
#define RESULT_LINES 3 // a step fetches no more

/// The first operand that the epilogue adds pixel by pixel.
static MlirValue added_by(const fe_epilogue *e) {
  for (unsigned s = 0; s < e->n_vector; ++s)
    for (unsigned i = 0; i < e->step[s].n_in; ++i) {
      const fe_epilogue_input *in = &e->step[s].in[i];
      if (!in->is_chain && mlirAffineMapIsIdentity(in->map) &&
          mlirTypeIsAF32(fe_elem_of(e->gen->arg[in->number])))
        return e->gen->flat[in->number];
    }
  return (MlirValue){NULL};
}

/// Where results do not stay in L2, and there are few steps between them.
static void plan_results(conv *c) {
  fe_ir *ir = c->g.ir;
  const fe_tile *t = c->tile;
  const fe_window *w = &c->win;
  c->results = (MlirValue){NULL};
  int64_t lines = t->m * c->panel;
  int64_t steps = c->channels * w->kernel[0] * w->kernel[1];
  bool known = w->out[0] != FE_DYN && w->out[1] != FE_DYN;
  int64_t bytes = known ? w->out[0] * w->out[1] * c->blocks * c->lanes * 4 : 0;
  if (c->dot || is_spread(c) || t->pattern || t->m < 4 ||
      steps > lines * RESULT_STEPS ||
      (known && bytes < (int64_t)c->g.target->l2_bytes / 2))
    return;
  c->results_lines = (lines + steps - 1) / steps;
  if (c->results_lines > RESULT_LINES)
    c->results_lines = RESULT_LINES;
  c->results = coords_of(c, c->block, t->y, plus(ir, t->x, t->m)).flat;
  c->added = added_by(&c->epilogue);
}

static void tile(void *user, const fe_tile *t) {
  conv *c = user;
  fe_ir *ir = c->g.ir;
  const fe_window *w = &c->win;
  unsigned nk = (unsigned)c->panel;
  c->tile = t;
  for (unsigned k = 0; k < nk; ++k) {
    MlirValue at = times(ir, plus(ir, c->block, k), c->lanes);
    MlirValue b = fe_vload(ir, c->lanes, c->bias, FE_IDX(at));
    for (unsigned i = 0; i < t->m; ++i)
      c->acc[i * nk + k] = b;
  }
  plan_prefetch(c);
  plan_results(c);
  MlirValue row = plus(ir, times(ir, t->y, w->stride[0]), -w->pad[0]);
  MlirValue column = plus(ir, times(ir, t->x, w->stride[1]), -w->pad[1]);
  MlirValue at = fe_add(ir, fe_mul(ir, row, w->in_size[1]), column);
  MlirValue base = fe_add(ir, c->in_base, times(ir, at, c->step));
  MlirValue plane =
      times(ir, fe_mul(ir, w->in_size[0], w->in_size[1]), c->step);
  int64_t block = c->in_block;
  int64_t w_block = block * w->kernel[0] * w->kernel[1] * row_of(c);
  MlirValue zero = fe_index(ir, 0), n = fe_index(ir, c->full_blocks);
  if (c->group_in) {
    n = c->span;
    fe_region r = acc_loop(c, zero, n);
    taps(c, block, fe_add(ir, base, fe_mul(ir, r.iv, plane)),
         fe_add(ir, c->w_base, times(ir, r.iv, w_block)), r.iv);
    acc_loop_end(c, &r);
    if (c->rest) {
      r = acc_loop(c, zero, c->span_rest);
      taps(c, c->rest, fe_add(ir, base, fe_mul(ir, n, plane)),
           fe_add(ir, c->w_base, times(ir, n, w_block)), n);
      acc_loop_end(c, &r);
    }
    finish(c);
    return;
  }
  if (c->full_blocks == 1) {
    taps(c, block, base, c->w_base, zero);
  } else if (c->full_blocks > 1) {
    fe_region r = acc_loop(c, zero, n);
    taps(c, block, fe_add(ir, base, fe_mul(ir, r.iv, plane)),
         fe_add(ir, c->w_base, times(ir, r.iv, w_block)), r.iv);
    acc_loop_end(c, &r);
  }
  if (c->rest)
    taps(c, c->rest, fe_add(ir, base, fe_mul(ir, n, plane)),
         plus(ir, c->w_base, c->full_blocks * w_block), n);
  finish(c);
}

//===-- Items ---------------------------------------------------------------//

/// Part `part` of an image for the panel set up in c.
static void part(conv *c, MlirValue part) {
  fe_ir *ir = c->g.ir;
  const fe_window *w = &c->win;
  unsigned m = tile_rows(c, c->panel);
  MlirValue none = {NULL}, zero = fe_index(ir, 0);
  bool known = w->out[0] != FE_DYN && w->out[1] != FE_DYN;
  int64_t image = known ? w->out[0] * w->out[1] : FE_DYN;
  bool whole = c->order != IMAGE_PART_PANEL; // the panel sees the whole image
  if (c->parts == WHOLE_PATTERN) {
    c->y0 = none;
    c->part_pixels = image;
    fe_window_pattern(ir, w, m, tile, c);
  } else if (c->parts == TILES_OF_ROW) {
    MlirValue tiles = fe_window_tiles(ir, w, m);
    MlirValue size = fe_ceildiv(ir, tiles, c->n_parts);
    MlirValue t0 = fe_mul(ir, part, size);
    MlirValue t1 = fe_min(ir, fe_add(ir, t0, size), tiles);
    c->y0 = none;
    c->part_pixels = whole ? image : FE_DYN;
    fe_window_row(ir, w, m, zero, t0, t1, tile, c);
  } else {
    MlirValue first = times(ir, part, c->rows_of_part);
    MlirValue last =
        fe_min(ir, plus(ir, first, c->rows_of_part), w->out_size[0]);
    c->y0 = whole ? none : first;
    c->part_pixels =
        whole || w->out[1] == FE_DYN ? image : c->rows_of_part * w->out[1];
    fe_region r = fe_for_begin(ir, first, last, fe_index(ir, 1), 0, NULL);
    fe_window_row(ir, w, m, r.iv, none, none, tile, c);
    fe_for_end(ir, &r, 0, NULL);
  }
}

/// Which blocks of the input the panel sees; gives the first.
static MlirValue find_span(conv *c, int64_t blocks) {
  fe_ir *ir = c->g.ir;
  MlirValue group = fe_index(ir, c->group_out), b = fe_index(ir, c->in_block);
  MlirValue k0 = times(ir, c->block, c->lanes);
  MlirValue last = fe_min(ir, plus(ir, k0, blocks * c->lanes - 1),
                          fe_index(ir, c->out_channels - 1));
  MlirValue first =
      fe_divu(ir, times(ir, fe_divu(ir, k0, group), c->group_in), b);
  MlirValue end = times(ir, plus(ir, fe_divu(ir, last, group), 1), c->group_in);
  end = fe_divu(ir, plus(ir, end, c->in_block - 1), b);
  MlirValue full = fe_min(ir, end, fe_index(ir, c->full_blocks));
  c->span = fe_sub(ir, full, first);
  c->span_rest = fe_sub(ir, end, full);
  return first;
}

/// Sets up panel `number`, `blocks` wide, for one image.
static void panel(conv *c, MlirValue number, int64_t blocks, MlirValue at) {
  fe_ir *ir = c->g.ir;
  c->panel = blocks;
  // Panels before the last have all the same width.
  c->block = times(ir, number, c->panels.panel);
  int64_t row =
      c->channels * c->win.kernel[0] * c->win.kernel[1] * c->words * c->lanes;
  c->w_base = times(ir, number, row * c->panels.panel);
  int64_t per_image = c->plain ? c->channels * c->groups
                               : c->groups * c->full_blocks + (c->rest ? 1 : 0);
  MlirValue first = times(ir, c->image, per_image);
  if (c->group_in) {
    first = fe_add(ir, first, find_span(c, blocks));
  } else if (c->groups > 1) {
    int64_t panels = c->blocks / c->groups / blocks;
    MlirValue group = fe_divu(ir, number, fe_index(ir, panels));
    first = fe_add(ir, first, times(ir, group, c->full_blocks));
  }
  MlirValue plane = fe_mul(ir, c->win.in_size[0], c->win.in_size[1]);
  c->in_base = times(ir, fe_mul(ir, first, plane), c->step);
  part(c, at);
}

static void item(conv *c, MlirValue number) {
  fe_ir *ir = c->g.ir;
  MlirValue size[3] = {c->n_panels, c->n_images, c->n_parts}, id[3];
  static const unsigned char orders[][3] = {[PANEL_IMAGE_PART] = {0, 1, 2},
                                            [IMAGE_PANEL_PART] = {1, 0, 2},
                                            [IMAGE_PART_PANEL] = {1, 2, 0}};
  const unsigned char *o = orders[c->order];
  id[o[2]] = fe_remu(ir, number, size[o[2]]);
  MlirValue rest = fe_divu(ir, number, size[o[2]]);
  id[o[1]] = fe_remu(ir, rest, size[o[1]]);
  id[o[0]] = fe_divu(ir, rest, size[o[1]]);
  c->image = id[1];
  const fe_panels *p = &c->panels;
  if (!p->last) {
    panel(c, id[0], p->panel, id[2]);
  } else if (!p->main) {
    panel(c, id[0], p->last, id[2]);
  } else {
    MlirValue inner = fe_cmp(ir, FE_LT, id[0], fe_index(ir, p->main));
    fe_region r = fe_if_begin(ir, inner, 0, NULL, true);
    panel(c, id[0], p->panel, id[2]);
    fe_if_else(ir, &r, 0, NULL);
    panel(c, id[0], p->last, id[2]);
    fe_if_end(ir, &r, 0, NULL);
  }
}

//===-- Choices -------------------------------------------------------------//

/// Whether an operand of the epilogue tells rows from columns.
static bool epilogue_needs_rows(const fe_epilogue *e) {
  for (unsigned s = 0; s < e->n; ++s)
    for (unsigned i = 0; i < e->step[s].n_in; ++i) {
      const fe_epilogue_input *in = &e->step[s].in[i];
      if (in->is_chain || mlirAffineMapIsIdentity(in->map))
        continue;
      for (intptr_t k = 0; k < mlirAffineMapGetNumResults(in->map); ++k) {
        MlirAffineExpr x = mlirAffineMapGetResult(in->map, k);
        for (intptr_t d = 2; d <= 3; ++d)
          if (mlirAffineExprIsFunctionOfDim(x, d))
            return true;
      }
    }
  return false;
}

static void choose(conv *c) {
  fe_ir *ir = c->g.ir;
  const fe_target *t = c->g.target;
  fe_window *w = &c->win;
  int64_t nk = c->panels.main ? c->panels.panel : c->panels.last;
  int64_t row =
      c->channels * w->kernel[0] * w->kernel[1] * c->words * c->lanes * 4;
  int64_t weights = row * c->blocks;
  bool known = w->in[0] != FE_DYN && w->in[1] != FE_DYN;
  int64_t image =
      known ? w->in[0] * w->in[1] * 4 *
                  (c->group_in ? c->full_blocks * c->in_block + c->rest
                               : c->channels * c->groups)
            : FE_DYN;
  bool stays = known && image + row * nk < (int64_t)t->l2_bytes * 85 / 100;
  if (fe_window_is_flat(w) && !epilogue_needs_rows(&c->epilogue) &&
      !is_spread(c))
    fe_window_flatten(ir, w);
  unsigned m = tile_rows(c, nk);
  int64_t tiles = fe_window_static_tiles(w, m);
  int64_t pixels = w->out[0] == FE_DYN || w->out[1] == FE_DYN
                       ? FE_DYN
                       : w->out[0] * w->out[1];
  int64_t cycles =
      m * nk * c->channels * w->kernel[0] * w->kernel[1] * c->words / 2 + 1;
  int64_t part = PART_CYCLES / cycles;
  c->tiles_of_part = part < 4 ? 4 : part > 16 ? 16 : part;
  // (Less than one: not known, or there are no columns.)
  c->rows_of_part =
      tiles < 1 || tiles >= c->tiles_of_part ? 1 : c->tiles_of_part / tiles;
  // Few items in an odd number leave a thread waiting: twice as many then.
  int64_t panels = c->panels.main + (c->panels.last ? 1 : 0);
  if (w->out[0] == 1 && tiles != FE_DYN && tiles > 1 &&
      tiles <= c->tiles_of_part && panels % 2 && panels < FE_FEW_ITEMS &&
      fe_static_dim(c->g.dest, 0) == 1)
    c->tiles_of_part = (tiles + 1) / 2;
  c->parts = w->out[0] == 1 ? TILES_OF_ROW
             : pixels != FE_DYN && pixels <= PATTERN_MAX && w->out[1] < 12 &&
                     w->in[1] != FE_DYN &&
                     w->kernel[0] * w->kernel[1] * (pixels / m + 1) <= 64
                 ? WHOLE_PATTERN
                 : ROWS;
  c->order = !stays                               ? IMAGE_PART_PANEL
             : weights > image                    ? PANEL_IMAGE_PART
             : weights < (int64_t)t->l2_bytes / 2 ? IMAGE_PART_PANEL
                                                  : IMAGE_PANEL_PART;
  c->prefetch = weights > (int64_t)t->l2_bytes / 4 && !c->plain && !c->group_in;
}

/// The choices as knobs. `order`: 0 panels, images, parts of an image from
/// outside to inside; 1 images, panels, parts; 2 images, parts, panels.
static fe_status schedule(conv *c) {
  fe_ir *ir = c->g.ir;
  fe_window *w = &c->win;
  int64_t order = c->order, prefetch = c->prefetch;
  const fe_knob knobs[] = {{"order", &order},
                           {"prefetch", &prefetch},
                           {"tiles_of_part", &c->tiles_of_part},
                           {"rows_of_part", &c->rows_of_part}};
  if (fe_schedule(&c->g, FE_COUNT(knobs), knobs) != FE_OK)
    return FE_FAILED;
  if ((c->plain || c->group_in) && prefetch)
    return fe_schedule_refuse(
        &c->g, "a convolution of a plain image, or of groups that are not "
               "whole blocks, prefetches no weights");
  c->order = (conv_order)order;
  c->prefetch = prefetch;
  int64_t nk = c->panels.main ? c->panels.panel : c->panels.last;
  c->n_parts = fe_index(ir, 1);
  if (c->parts == TILES_OF_ROW)
    c->n_parts = fe_ceildiv(ir, fe_window_tiles(ir, w, tile_rows(c, nk)),
                            fe_index(ir, c->tiles_of_part));
  else if (c->parts == ROWS)
    c->n_parts = fe_ceildiv(ir, w->out_size[0], fe_index(ir, c->rows_of_part));
  return FE_OK;
}

/// Items and operations of each, from the sizes of the arguments.
static void extent(conv *c, unsigned in, MlirAffineExpr *items,
                   MlirAffineExpr *cost) {
  fe_ir *ir = c->g.ir;
  unsigned dest = c->g.n_args - 1;
  MlirAffineExpr n = fe_gen_dim(&c->g, in, 0);
  unsigned image = is_spread(c) ? in : dest; // of the window's pixels
  MlirAffineExpr h = fe_gen_dim(&c->g, image, 2);
  MlirAffineExpr w = fe_gen_dim(&c->g, image, 3), parts = fe_dim_const(ir, 1);
  MlirAffineExpr pixels = fe_dim_mul(h, w);
  int64_t nk = c->panels.main ? c->panels.panel : c->panels.last;
  unsigned m = tile_rows(c, nk);
  if (c->parts == TILES_OF_ROW)
    parts = fe_dim_ceildiv(fe_dim_ceildiv(pixels, fe_dim_const(ir, m)),
                           fe_dim_const(ir, c->tiles_of_part));
  else if (c->parts == ROWS)
    parts = fe_dim_ceildiv(h, fe_dim_const(ir, c->rows_of_part));
  int64_t panels = c->panels.main + (c->panels.last ? 1 : 0);
  *items = fe_dim_mul(fe_dim_mul(n, parts), fe_dim_const(ir, panels));
  int64_t each = 2 * c->channels * c->win.kernel[0] * c->win.kernel[1] * nk *
                 c->words * c->lanes;
  MlirAffineExpr size =
      c->parts == TILES_OF_ROW ? fe_dim_const(ir, m * c->tiles_of_part)
      : c->parts == ROWS ? fe_dim_mul(w, fe_dim_const(ir, c->rows_of_part))
                         : pixels;
  *cost = fe_dim_mul(size, fe_dim_const(ir, each));
}

static void explain(conv *c) {
  static const char *const orders[] = {"panels, images, parts of the image",
                                       "images, panels, parts of the image",
                                       "images, parts of the image, panels"};
  fe_ir *ir = c->g.ir;
  int64_t nk = c->panels.main ? c->panels.panel : c->panels.last;
  int64_t rows = tile_rows(c, nk);
  const char *part =
      c->parts == WHOLE_PATTERN ? "whole images"
      : c->parts == ROWS
          ? fe_printf(ir->arena, "%lld rows", (long long)c->rows_of_part)
          : fe_printf(ir->arena, "%lld tiles", (long long)c->tiles_of_part);
  fe_gen_explain(
      &c->g,
      c->dot == FE_DOT_S16 ? "bytes by pairs"
      : c->dot             ? "bytes"
                           : "direct",
      fe_printf(ir->arena,
                "register tile %lld pixels x %lld channels, parts of %s, "
                "from outside: %s%s",
                (long long)rows, (long long)(nk * c->lanes), part,
                orders[c->order], c->prefetch ? ", prefetching weights" : ""));
  // What is not whole tiles makes all of them a little lower.
  const int64_t *out = c->win.out;
  int64_t pixels = out[1], height = rows;
  if (c->parts == WHOLE_PATTERN)
    pixels *= out[0];
  if (out[1] != FE_DYN && pixels > 0)
    height = (pixels + (pixels + rows - 1) / rows - 1) /
             ((pixels + rows - 1) / rows);
  fe_gen_tile(&c->g, (fe_cost_tile){.rows = height,
                                    .vectors = nk,
                                    .steps = c->channels * c->win.kernel[0] *
                                             c->win.kernel[1] * c->words,
                                    .extra = height * nk + TILE_CYCLES});
}

fe_status fe_generate_conv(fe_ir *ir, const fe_target *target,
                           MlirModule module, MlirOperation func) {
  conv *c = FE_NEW(ir->arena, conv);
  fe_gen *g = &c->g;
  if (fe_gen_begin(g, ir, target, module, func))
    return FE_FAILED;
  unsigned in, weights, bias;
  if (fe_gen_operand(g, 0, &in) || fe_gen_operand(g, 1, &weights) ||
      fe_gen_operand(g, 2, &bias) || fe_epilogue_parse(&c->epilogue, g))
    return fe_gen_abandon(g);
  c->dot = fe_dot_named(fe_attr_str(ir->arena, g->root, "dot", ""));
  c->words = fe_dot_words(c->dot);
  c->flip = fe_attr_i64(g->root, "signed", 0);
  c->plain = fe_rank(g->arg[in]) == 4;
  c->lanes = (unsigned)fe_static_dim(g->dest, 4);
  c->spread[0] = c->spread[1] = 1;
  fe_attr_i64s(g->root, "interleave", c->spread, 2);
  c->blocks = fe_static_dim(g->dest, 1) * c->spread[0] * c->spread[1];
  c->channels = fe_attr_i64(g->root, "channels", 0);
  c->groups = fe_attr_i64(g->root, "groups", 1);
  c->in_block = c->plain ? 1 : fe_static_dim(g->arg[in], 4);
  if (c->dot) {
    c->in_block /= FE_DOT_BYTES;
    c->channels = (c->channels + FE_DOT_BYTES - 1) / FE_DOT_BYTES;
  }
  c->out_channels = fe_attr_i64(g->root, "out_channels", 0);
  int64_t panel_blocks = fe_attr_i64(g->root, "panel", 1);
  if (c->out_channels && c->groups > 1) {
    const fe_conv_shape shape = {.out_channels = c->out_channels,
                                 .channels = c->channels,
                                 .groups = c->groups};
    c->group_in = c->channels;
    c->group_out = c->out_channels / c->groups;
    c->channels *= c->groups;
    c->groups = 1; // of the input as a whole
    c->full_blocks = c->channels / c->in_block;
    c->rest = c->channels % c->in_block;
    c->channels = fe_conv_span(&shape, c->in_block, panel_blocks);
  } else {
    c->full_blocks = c->channels / c->in_block;
    c->rest = c->channels % c->in_block;
  }
  c->step = c->in_block;
  c->panels = fe_conv_panels(c->blocks, panel_blocks);
  c->in = g->flat[in];
  c->weights = g->flat[weights];
  c->bias = g->flat[bias];
  fe_window_read(ir, g->root, g->arg[in], g->dest, &c->win);
  if (is_spread(c)) // a window of one pixel, without padding
    for (unsigned i = 0; i < 2; ++i) {
      c->win.out[i] = c->win.in[i];
      c->win.out_size[i] = c->win.in_size[i];
    }
  choose(c);
  if (schedule(c) != FE_OK)
    return fe_gen_abandon(g);
  explain(c);
  c->n_images = fe_dim(ir, g->dest, 0);
  c->n_panels = fe_index(ir, c->panels.main + (c->panels.last ? 1 : 0));
  if (fe_epilogue_has_loop(&c->epilogue)) {
    int64_t dims[2] = {MAX_ACC, c->lanes};
    c->scratch = fe_alloca(ir, fe_memref_type(ir, c->epilogue.mid, 2, dims));
  }
  fe_region r = fe_for_begin(ir, g->begin, g->end, fe_index(ir, 1), 0, NULL);
  item(c, r.iv);
  fe_for_end(ir, &r, 0, NULL);
  MlirAffineExpr items, cost;
  extent(c, in, &items, &cost);
  fe_gen_end(g, items, cost);
  return FE_OK;
}
