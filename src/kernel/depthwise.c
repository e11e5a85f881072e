//===- depthwise.c - one filter per channel, over packed images --*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: a tile is a row of pixels of one block of channels, one accumulator
// each; every tap multiplies the tile's input, shifted, with one vector of
// weights. Bound by loads from the first-level cache.
//
//===----------------------------------------------------------------------===//
#include "kernel/conv.h"
#include "kernel/cost.h"
#include "kernel/image.h"

#define TILE_CYCLES 8 // to begin and end a tile, beside its results

typedef struct depthwise {
  fe_image image;
  MlirValue weights, bias; // flat
  const fe_tile *tile;
  MlirValue origin; // of the tile's input, in elements
  MlirValue filter; // of the block's weights, in elements
} depthwise;

static void tap(void *user, MlirValue r, MlirValue s, uint32_t mask,
                MlirValue *acc) {
  depthwise *d = user;
  fe_image *m = &d->image;
  fe_ir *ir = m->g.ir;
  MlirValue lanes = fe_index(ir, m->lanes);
  MlirValue number =
      fe_add(ir, fe_mul(ir, r, fe_index(ir, m->win.kernel[1])), s);
  MlirValue w =
      fe_vload(ir, m->lanes, d->weights,
               FE_IDX(fe_add(ir, d->filter, fe_mul(ir, number, lanes))));
  MlirValue at = fe_add(ir, d->origin,
                        fe_mul(ir, fe_window_tap(ir, &m->win, r, s), lanes));
  for (unsigned i = 0; i < d->tile->m; ++i) {
    if (!(mask >> i & 1))
      continue;
    int64_t pixel = fe_window_pixel(&m->win, d->tile, i) * m->lanes;
    MlirValue x = fe_vload(ir, m->lanes, m->in,
                           FE_IDX(fe_add(ir, at, fe_index(ir, pixel))));
    acc[i] = fe_vfma(&m->g, x, w, acc[i]);
  }
}

static void tile(void *user, const fe_tile *t) {
  depthwise *d = user;
  fe_image *m = &d->image;
  fe_ir *ir = m->g.ir;
  MlirValue lanes = fe_index(ir, m->lanes), acc[FE_WINDOW_TILE];
  MlirValue bias =
      fe_vload(ir, m->lanes, d->bias, FE_IDX(fe_mul(ir, m->block, lanes)));
  for (unsigned i = 0; i < t->m; ++i)
    acc[i] = bias;
  d->tile = t;
  d->filter =
      fe_mul(ir, m->block,
             fe_index(ir, m->win.kernel[0] * m->win.kernel[1] * m->lanes));
  d->origin = fe_image_origin(m, t);
  fe_window_taps(ir, &m->win, t, t->m, acc, tap, d);
  fe_image_store(m, t, acc);
}

fe_status fe_generate_depthwise(fe_ir *ir, const fe_target *target,
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
  int64_t taps = m->win.kernel[0] * m->win.kernel[1];
  int64_t pixels = fe_image_tile_pixels(m);
  fe_gen_explain(&m->g, "depthwise",
                 fe_printf(ir->arena, "register tile %lld pixels x %u channels",
                           (long long)pixels, m->lanes));
  // Pixels are loads of whole vectors, which cost like those of scalars.
  fe_gen_tile(&m->g, (fe_cost_tile){.rows = pixels,
                                    .vectors = 1,
                                    .steps = taps,
                                    .extra = pixels + TILE_CYCLES});
  fe_image_rows(m, 2 * taps, tile, d);
  return FE_OK;
}
