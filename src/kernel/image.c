//===- image.c - kernels that work block by block of an image ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: items are (image, block, some rows of the result); rows are cut into
// tiles by window.c.
//
//===----------------------------------------------------------------------===//
#include "kernel/image.h"

/// Vectors of the result that are worth an item.
#define ITEM_VECTORS 1024

/// Tiles of half of the registers, the rest hold what is loaded; items that are
/// worth their start.
static fe_status choose(fe_image *m) {
  const fe_window *w = &m->win;
  unsigned registers = m->g.target->vector_registers;
  m->pixels = registers < 8 ? 2 : registers / 2 - 2;
  m->rows = 8;
  if (w->out[1] != FE_DYN)
    m->rows = (ITEM_VECTORS + w->out[1] - 1) / (w->out[1] ? w->out[1] : 1);
  if (w->out[0] != FE_DYN && m->rows > w->out[0])
    m->rows = w->out[0] ? w->out[0] : 1;
  const fe_knob knobs[] = {{"pixels", &m->pixels}, {"rows", &m->rows}};
  return fe_schedule(&m->g, w->kernel[0] ? FE_COUNT(knobs) : 0, knobs);
}

fe_status fe_image_begin(fe_image *m, fe_ir *ir, const fe_target *target,
                         MlirModule module, MlirOperation func) {
  fe_gen *g = &m->g;
  if (fe_gen_begin(g, ir, target, module, func))
    return FE_FAILED;
  unsigned in;
  if (fe_gen_operand(g, 0, &in) || fe_epilogue_parse(&m->epilogue, g))
    return fe_gen_abandon(g);
  m->lanes = (unsigned)fe_static_dim(g->dest, 4);
  m->blocks = fe_static_dim(g->dest, 1);
  m->in = g->flat[in];
  m->out = g->flat[g->n_args - 1];
  fe_window_read(ir, g->root, g->arg[in], g->dest, &m->win);
  if (choose(m))
    return fe_gen_abandon(g);
  if (fe_epilogue_has_loop(&m->epilogue)) {
    int64_t dims[2] = {FE_WINDOW_TILE, m->lanes};
    m->scratch = fe_alloca(ir, fe_memref_type(ir, m->epilogue.mid, 2, dims));
  }
  return FE_OK;
}

int64_t fe_image_tile_pixels(const fe_image *m) {
  int64_t most = m->pixels, width = m->win.out[1];
  if (width == FE_DYN || width <= 0)
    return most;
  int64_t tiles = (width + most - 1) / most;
  return (width + tiles - 1) / tiles;
}

void fe_image_rows(fe_image *m, int64_t cost, fe_tile_fn tile, void *user) {
  fe_gen *g = &m->g;
  fe_ir *ir = g->ir;
  const fe_window *w = &m->win;
  unsigned dest = g->n_args - 1;
  MlirValue step = fe_index(ir, m->rows), blocks = fe_index(ir, m->blocks);
  MlirValue parts = fe_ceildiv(ir, w->out_size[0], step);
  fe_region item = fe_for_begin(ir, g->begin, g->end, fe_index(ir, 1), 0, NULL);
  MlirValue part = fe_remu(ir, item.iv, parts);
  MlirValue rest = fe_divu(ir, item.iv, parts);
  m->block = fe_remu(ir, rest, blocks);
  m->image = fe_divu(ir, rest, blocks);
  MlirValue first = fe_mul(ir, part, step);
  MlirValue last = fe_min(ir, fe_add(ir, first, step), w->out_size[0]);
  fe_region row = fe_for_begin(ir, first, last, fe_index(ir, 1), 0, NULL);
  MlirValue none = {NULL};
  fe_window_row(ir, w, (unsigned)m->pixels, row.iv, none, none, tile, user);
  fe_for_end(ir, &row, 0, NULL);
  fe_for_end(ir, &item, 0, NULL);
  MlirAffineExpr height = fe_gen_dim(g, dest, 2);
  MlirAffineExpr items = fe_dim_mul(
      fe_dim_mul(fe_gen_dim(g, dest, 0), fe_dim_const(ir, m->blocks)),
      fe_dim_ceildiv(height, fe_dim_const(ir, m->rows)));
  MlirAffineExpr each = fe_dim_mul(fe_gen_dim(g, dest, 3),
                                   fe_dim_const(ir, m->rows * m->lanes * cost));
  fe_gen_end(g, items, each);
}

/// Number of the first vector of the block in a tensor of images of h x w.
static MlirValue plane(fe_image *m, MlirValue h, MlirValue w) {
  fe_ir *ir = m->g.ir;
  MlirValue number =
      fe_add(ir, fe_mul(ir, m->image, fe_index(ir, m->blocks)), m->block);
  return fe_mul(ir, fe_mul(ir, number, h), w);
}

MlirValue fe_image_origin(fe_image *m, const fe_tile *t) {
  fe_ir *ir = m->g.ir;
  MlirValue at = fe_add(ir, plane(m, m->win.in_size[0], m->win.in_size[1]),
                        fe_window_origin(ir, &m->win, t));
  return fe_mul(ir, at, fe_index(ir, m->lanes));
}

static fe_coords coords_of(fe_image *m, MlirValue y, MlirValue x) {
  fe_ir *ir = m->g.ir;
  fe_coords at = {{m->image, m->block, y, x, fe_index(ir, 0)}, {NULL}};
  MlirValue flat = plane(m, m->win.out_size[0], m->win.out_size[1]);
  flat = fe_add(ir, flat, fe_mul(ir, y, m->win.out_size[1]));
  at.flat = fe_mul(ir, fe_add(ir, flat, x), fe_index(ir, m->lanes));
  return at;
}

static void place(void *user, MlirValue row, fe_coords *out) {
  fe_image *m = user;
  *out = coords_of(m, m->tile->y, fe_add(m->g.ir, m->tile->x, row));
}

/// Four pixels, which lie one behind the other, at once.
static void store_bytes(fe_image *m, const fe_tile *t, const MlirValue *acc) {
  fe_ir *ir = m->g.ir;
  const fe_epilogue *e = &m->epilogue;
  for (unsigned i = 0; i < t->m; i += 4) {
    unsigned n = t->m - i < 4 ? t->m - i : 4;
    MlirValue v[4], zero = {NULL}, to = {NULL};
    for (unsigned p = 0; p < n; ++p) {
      fe_coords at = coords_of(m, t->y, fe_add(ir, t->x, fe_index(ir, i + p)));
      v[p] = fe_epilogue_number(e, acc[i + p], m->lanes, &at, &zero);
      if (!p)
        to = at.flat;
    }
    fe_vstore(ir, fe_limited_bytes(&m->g, n, v, zero, fe_epilogue_signed(e)),
              m->out, FE_IDX(to));
  }
}

void fe_image_store(fe_image *m, const fe_tile *t, MlirValue *acc) {
  fe_ir *ir = m->g.ir;
  bool loop = fe_epilogue_has_loop(&m->epilogue);
  MlirValue zero = fe_index(ir, 0);
  m->tile = t;
  if (fe_epilogue_makes_bytes(&m->epilogue) &&
      fe_limits_bytes(&m->g, m->lanes)) {
    store_bytes(m, t, acc);
    return;
  }
  for (unsigned i = 0; i < t->m; ++i) {
    fe_coords at = coords_of(m, t->y, fe_add(ir, t->x, fe_index(ir, i)));
    MlirValue v = fe_epilogue_vector(&m->epilogue, acc[i], m->lanes,
                                     (MlirValue){NULL}, &at);
    if (loop)
      fe_vstore(ir, v, m->scratch, FE_IDX(fe_index(ir, i), zero));
    else
      fe_vstore(ir, v, m->out, FE_IDX(at.flat));
  }
  if (loop)
    fe_epilogue_loop(&m->epilogue, m->scratch, fe_index(ir, t->m),
                     fe_index(ir, m->lanes), place, m);
}
