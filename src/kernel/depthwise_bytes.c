//===- depthwise_bytes.c - one filter of bytes per channel -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: neighbouring pixels of a block of channels lie one behind the other,
// so a vector has four of them. A shuffle brings the four bytes of a channel
// together, and a dot product (or two) multiplies them with the channel's
// weights of four taps of a row. Taps beyond the window have zero weights,
// pixels beyond the image are zeros and not loaded.
//
//===----------------------------------------------------------------------===//
#include "kernel/conv.h"
#include "kernel/image.h"

typedef struct depthwise {
  fe_image image;
  bool flip;
  fe_dot dot;
  MlirValue weights, bias; // flat
  int64_t quads;           // of a row of taps
  int64_t quad;            // elements of weights of one
  const fe_tile *tile;
  MlirValue origin; // of the tile's input, in elements
  MlirValue filter; // of the block's weights, in elements
} depthwise;

static MlirValue plus(fe_ir *ir, MlirValue a, int64_t k) {
  return k ? fe_add(ir, a, fe_index(ir, k)) : a;
}

/// `n` bytes of the input as unsigned ones.
static MlirValue bytes_at(depthwise *d, MlirValue at, unsigned n) {
  fe_ir *ir = d->image.g.ir;
  MlirValue x = fe_vload(ir, n, d->image.in, FE_IDX(at));
  return d->flip ? fe_xor(ir, x, fe_int(ir, mlirValueGetType(x), -128)) : x;
}

static MlirValue joined(fe_ir *ir, MlirValue a, MlirValue b, unsigned n) {
  int64_t order[64];
  for (unsigned i = 0; i < 2 * n; ++i)
    order[i] = i;
  return fe_shuffle(ir, a, b, 2 * n, order);
}

/// Four pixels from `at` on, `step` elements apart; zeros where a bit of
/// `valid` is clear. Lane i: channel i / 4, pixel i % 4.
static MlirValue pixels_at(depthwise *d, MlirValue at, int64_t step,
                           unsigned valid) {
  fe_ir *ir = d->image.g.ir;
  unsigned lanes = d->image.lanes;
  bool dense = step == lanes;
  MlirValue part[2], all;
  if (dense && valid == 15) {
    all = bytes_at(d, at, 4 * lanes);
  } else {
    for (unsigned h = 0; h < 2; ++h) {
      unsigned bits = valid >> 2 * h & 3;
      MlirValue first = plus(ir, at, 2 * (int64_t)h * step);
      if (dense && bits == 3) {
        part[h] = bytes_at(d, first, 2 * lanes);
        continue;
      }
      MlirValue zero = fe_int(ir, fe_vector_type(ir, lanes, ir->i8), 0);
      MlirValue a = bits & 1 ? bytes_at(d, first, lanes) : zero;
      MlirValue b = bits & 2 ? bytes_at(d, plus(ir, first, step), lanes) : zero;
      part[h] = joined(ir, a, b, lanes);
    }
    all = joined(ir, part[0], part[1], 2 * lanes);
  }
  int64_t order[64];
  for (unsigned i = 0; i < 4 * lanes; ++i)
    order[i] = i % 4 * lanes + i / 4;
  return fe_shuffle(ir, all, all, 4 * lanes, order);
}

/// The taps of a row. `in`: where the first pixel has tap 0; `w`: the weights.
static void row(depthwise *d, MlirValue in, MlirValue w, MlirValue *acc) {
  fe_image *m = &d->image;
  fe_ir *ir = m->g.ir;
  const fe_tile *t = d->tile;
  int64_t taps = m->win.kernel[1], step = m->win.dilation[1] * m->lanes;
  for (int64_t q = 0; q < d->quads; ++q) {
    MlirValue weights[2];
    for (unsigned i = 0; i < fe_dot_words(d->dot); ++i)
      weights[i] = fe_vload(ir, m->lanes, d->weights,
                            FE_IDX(plus(ir, w, q * d->quad + i * m->lanes)));
    for (unsigned i = 0; i < t->m; ++i) {
      unsigned valid = 0;
      for (unsigned j = 0; j < 4; ++j) {
        int64_t s = 4 * q + j;
        bool hit = s < taps && (!t->mask || t->mask[s] >> i & 1);
        valid |= (unsigned)hit << j;
      }
      if (!valid)
        continue;
      int64_t pixel = fe_window_pixel(&m->win, t, i) * m->lanes;
      MlirValue x =
          pixels_at(d, plus(ir, in, pixel + 4 * q * step), step, valid);
      MlirType words = mlirValueGetType(acc[i]);
      x = fe_first(FE_OP(ir, "vector.bitcast", FE_VALUES(x), FE_TYPES(words)));
      acc[i] = fe_dot_four(&m->g, d->dot, acc[i], x, weights);
    }
  }
}

/// The same for one pixel and taps [s0, s1).
static void row_at_run_time(depthwise *d, MlirValue in, MlirValue w,
                            MlirValue *acc) {
  fe_image *m = &d->image;
  fe_ir *ir = m->g.ir;
  const fe_tile *t = d->tile;
  MlirType type = mlirValueGetType(acc[0]);
  int64_t step = m->win.dilation[1] * m->lanes;
  fe_region r = fe_for_begin(ir, t->s0, t->s1, fe_index(ir, 1), 1, acc);
  MlirValue at = fe_add(ir, in, fe_mul(ir, r.iv, fe_index(ir, step)));
  MlirValue x = fe_convert(ir, bytes_at(d, at, m->lanes), type, true, false);
  MlirValue four = fe_index(ir, 4), tap = fe_remu(ir, r.iv, four);
  MlirValue quad = fe_mul(ir, fe_divu(ir, r.iv, four), fe_index(ir, d->quad));
  // The tap's word, its place in that, and there the number with its sign.
  unsigned words = fe_dot_words(d->dot), bits = 8 * words;
  MlirValue n = fe_index(ir, words);
  MlirValue of = fe_mul(ir, fe_remu(ir, tap, n), fe_index(ir, m->lanes));
  MlirValue word = fe_vload(ir, m->lanes, d->weights,
                            FE_IDX(fe_add(ir, fe_add(ir, w, quad), of)));
  MlirValue shift = fe_convert(ir, fe_divu(ir, tap, n), ir->i32, true, true);
  shift = fe_sub(ir, fe_int(ir, ir->i32, 32 - bits),
                 fe_mul(ir, shift, fe_int(ir, ir->i32, bits)));
  word = fe_shl(ir, word, fe_splat(ir, shift, m->lanes));
  word = fe_shrs(ir, word, fe_int(ir, type, 32 - bits));
  MlirValue sum = fe_add(ir, fe_block_arg(r.body, 1), fe_mul(ir, x, word));
  fe_for_end(ir, &r, 1, &sum);
  acc[0] = fe_result(r.op, 0);
}

static void tile(void *user, const fe_tile *t) {
  depthwise *d = user;
  fe_image *m = &d->image;
  fe_ir *ir = m->g.ir;
  const fe_window *w = &m->win;
  MlirValue lanes = fe_index(ir, m->lanes), acc[FE_WINDOW_TILE];
  MlirValue bias =
      fe_vload(ir, m->lanes, d->bias, FE_IDX(fe_mul(ir, m->block, lanes)));
  for (unsigned i = 0; i < t->m; ++i)
    acc[i] = bias;
  d->tile = t;
  int64_t row_weights = d->quads * d->quad;
  d->filter = fe_mul(ir, m->block, fe_index(ir, w->kernel[0] * row_weights));
  d->origin = fe_image_origin(m, t);
  fe_region r = fe_for_begin(ir, t->r0, t->r1, fe_index(ir, 1), t->m, acc);
  for (unsigned i = 0; i < t->m; ++i)
    acc[i] = fe_block_arg(r.body, 1 + i);
  MlirValue in = fe_mul(ir, w->in_size[1], fe_index(ir, w->dilation[0]));
  in = fe_add(ir, d->origin, fe_mul(ir, fe_mul(ir, in, r.iv), lanes));
  MlirValue weights =
      fe_add(ir, d->filter, fe_mul(ir, r.iv, fe_index(ir, row_weights)));
  if (fe_is_null(t->s0))
    row(d, in, weights, acc);
  else
    row_at_run_time(d, in, weights, acc);
  fe_for_end(ir, &r, t->m, acc);
  for (unsigned i = 0; i < t->m; ++i)
    acc[i] = fe_result(r.op, i);
  fe_image_store(m, t, acc);
}

fe_status fe_generate_depthwise_bytes(fe_ir *ir, const fe_target *target,
                                      MlirModule module, MlirOperation func) {
  depthwise *d = FE_NEW(ir->arena, depthwise);
  fe_image *m = &d->image;
  if (fe_image_begin(m, ir, target, module, func))
    return FE_FAILED;
  unsigned weights, bias;
  if (fe_gen_operand(&m->g, 1, &weights) || fe_gen_operand(&m->g, 2, &bias))
    return fe_gen_abandon(&m->g);
  d->weights = m->g.flat[weights];
  d->bias = m->g.flat[bias];
  d->flip = fe_attr_i64(m->g.root, "signed", 0);
  d->dot = fe_dot_named(fe_attr_str(ir->arena, m->g.root, "dot", ""));
  d->quads = (m->win.kernel[1] + 3) / 4;
  d->quad = fe_dot_words(d->dot) * m->lanes;
  fe_gen_explain(&m->g, "depthwise bytes",
                 fe_printf(ir->arena, "register tile %lld pixels x %u channels",
                           (long long)fe_image_tile_pixels(m), m->lanes));
  fe_image_rows(m, 2 * m->win.kernel[0] * d->quads * fe_dot_words(d->dot), tile,
                d);
  return FE_OK;
}
