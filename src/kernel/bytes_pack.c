//===- bytes_pack.c - images of bytes with a border --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: an item is a row of a block of the result. Planes are put together
// from squares of pixels by channels, transposed in registers; rows that are
// packed already are copied. The last square of a row ends with it and overlaps
// its neighbour; rows shorter than a square go pixel by pixel.
//
//===----------------------------------------------------------------------===//
#include "kernel/conv.h"

#define MAX_LANES 16
#define INTERLEAVED 16 // pixels of a square of four channels
#define COPIED 64      // bytes copied at once

typedef struct packing {
  fe_gen g;
  bool plain;
  unsigned lanes;
  int64_t channels, blocks, pads[4];
  MlirValue in, out; // flat memrefs
  MlirValue in_size[2], out_size[2];
  MlirValue border; // a pixel of it
  // Of the item:
  MlirValue image, block, from, to; // its row in `in` (if plain of channel 0)
} packing;

static MlirValue times(fe_ir *ir, MlirValue a, int64_t k) {
  return fe_mul(ir, a, fe_index(ir, k));
}

/// Pixels [first, first + n) of the row become the border.
static void fill(packing *p, MlirValue first, MlirValue n) {
  fe_ir *ir = p->g.ir;
  fe_region r = fe_loop(ir, n);
  MlirValue at = times(ir, fe_add(ir, first, r.iv), p->lanes);
  fe_vstore(ir, p->border, p->out, FE_IDX(fe_add(ir, p->to, at)));
  fe_loop_end(ir, &r);
}

/// Element of the plain input: channel `lane` of the block.
static MlirValue plain_at(packing *p, unsigned lane, MlirValue pixel) {
  fe_ir *ir = p->g.ir;
  MlirValue plane = fe_mul(ir, p->in_size[0], p->in_size[1]);
  MlirValue at = fe_add(ir, p->from, fe_mul(ir, plane, fe_index(ir, lane)));
  return fe_add(ir, at, pixel);
}

/// a0 b0 a1 b1 ..
static MlirValue interleave(fe_ir *ir, MlirValue a, MlirValue b, unsigned n) {
  int64_t lanes[2 * COPIED];
  for (unsigned i = 0; i < n; ++i) {
    lanes[2 * i] = i;
    lanes[2 * i + 1] = n + i;
  }
  return fe_shuffle(ir, a, b, 2 * n, lanes);
}

/// Pixels from `pixel` on, of `n` channels.
static void square(packing *p, unsigned n, MlirValue pixel) {
  fe_ir *ir = p->g.ir;
  bool four = p->lanes == FE_DOT_BYTES;
  unsigned width = four ? INTERLEAVED : p->lanes;
  MlirValue rows[MAX_LANES], left = fe_index(ir, p->pads[1]);
  for (unsigned i = 0; i < p->lanes; ++i)
    rows[i] = i < n ? fe_vload(ir, width, p->in, FE_IDX(plain_at(p, i, pixel)))
                    : fe_int(ir, fe_vector_type(ir, width, ir->i8), 0);
  MlirValue at =
      fe_add(ir, p->to, times(ir, fe_add(ir, pixel, left), p->lanes));
  if (four) {
    MlirValue even = interleave(ir, rows[0], rows[2], width);
    MlirValue odd = interleave(ir, rows[1], rows[3], width);
    fe_vstore(ir, interleave(ir, even, odd, 2 * width), p->out, FE_IDX(at));
    return;
  }
  if (p->lanes == 16) {
    MlirValue pixels[4];
    fe_bytes_to_pixels(ir, rows, pixels);
    for (unsigned i = 0; i < 4; ++i)
      fe_vstore(ir, pixels[i], p->out,
                FE_IDX(fe_add(ir, at, fe_index(ir, i * 64))));
    return;
  }
  fe_vtranspose(ir, p->lanes, rows);
  for (unsigned i = 0; i < p->lanes; ++i)
    fe_vstore(ir, rows[i], p->out,
              FE_IDX(fe_add(ir, at, fe_index(ir, i * p->lanes))));
}

static void pixel(packing *p, unsigned n, MlirValue pixel) {
  fe_ir *ir = p->g.ir;
  MlirValue left = fe_index(ir, p->pads[1]);
  MlirValue at =
      fe_add(ir, p->to, times(ir, fe_add(ir, pixel, left), p->lanes));
  fe_vstore(ir, p->border, p->out, FE_IDX(at));
  for (unsigned i = 0; i < n; ++i)
    fe_store(ir, fe_load(ir, p->in, FE_IDX(plain_at(p, i, pixel))), p->out,
             FE_IDX(fe_add(ir, at, fe_index(ir, i))));
}

/// [0, size) in steps of `width`, the last one moved back, or one by one where
/// it is less.
static void cover(packing *p, unsigned n, MlirValue size, unsigned width,
                  void (*some)(packing *, unsigned, MlirValue),
                  void (*one)(packing *, unsigned, MlirValue)) {
  fe_ir *ir = p->g.ir;
  MlirValue step = fe_index(ir, width);
  fe_region wide =
      fe_if_begin(ir, fe_cmp(ir, FE_GE, size, step), 0, NULL, true);
  fe_region r = fe_loop(ir, fe_ceildiv(ir, size, step));
  some(p, n, fe_min(ir, times(ir, r.iv, width), fe_sub(ir, size, step)));
  fe_loop_end(ir, &r);
  fe_if_else(ir, &wide, 0, NULL);
  r = fe_loop(ir, size);
  one(p, n, r.iv);
  fe_loop_end(ir, &r);
  fe_if_end(ir, &wide, 0, NULL);
}

static void copy(packing *p, MlirValue byte, unsigned width) {
  fe_ir *ir = p->g.ir;
  MlirValue left = fe_index(ir, p->pads[1] * p->lanes);
  MlirValue v = fe_vload(ir, width, p->in, FE_IDX(fe_add(ir, p->from, byte)));
  fe_vstore(ir, v, p->out, FE_IDX(fe_add(ir, p->to, fe_add(ir, byte, left))));
}
static void copy_many(packing *p, unsigned n, MlirValue byte) {
  (void)n;
  copy(p, byte, COPIED);
}
static void copy_one(packing *p, unsigned n, MlirValue byte) {
  (void)n;
  copy(p, byte, 1);
}

/// The pixels of the image in the row.
static void inside(packing *p) {
  fe_ir *ir = p->g.ir;
  if (!p->plain) {
    cover(p, 0, times(ir, p->in_size[1], p->lanes), COPIED, copy_many,
          copy_one);
    return;
  }
  unsigned width = p->lanes == FE_DOT_BYTES ? INTERLEAVED : p->lanes;
  unsigned rest = (unsigned)(p->channels % p->lanes);
  int64_t full = p->channels / p->lanes;
  if (!rest || !full) {
    cover(p, rest ? rest : p->lanes, p->in_size[1], width, square, pixel);
    return;
  }
  MlirValue inner = fe_cmp(ir, FE_LT, p->block, fe_index(ir, full));
  fe_region c = fe_if_begin(ir, inner, 0, NULL, true);
  cover(p, p->lanes, p->in_size[1], width, square, pixel);
  fe_if_else(ir, &c, 0, NULL);
  cover(p, rest, p->in_size[1], width, square, pixel);
  fe_if_end(ir, &c, 0, NULL);
}

static void item(packing *p, MlirValue number) {
  fe_ir *ir = p->g.ir;
  MlirValue blocks = fe_index(ir, p->blocks);
  MlirValue y = fe_remu(ir, number, p->out_size[0]);
  MlirValue plane = fe_divu(ir, number, p->out_size[0]);
  p->image = fe_divu(ir, plane, blocks);
  p->block = fe_remu(ir, plane, blocks);
  p->to = times(ir, fe_mul(ir, number, p->out_size[1]), p->lanes);
  MlirValue row = fe_sub(ir, y, fe_index(ir, p->pads[0]));
  MlirValue first = p->plain ? fe_add(ir, times(ir, p->image, p->channels),
                                      times(ir, p->block, p->lanes))
                             : plane;
  first = fe_add(ir, fe_mul(ir, first, p->in_size[0]), row);
  p->from =
      times(ir, fe_mul(ir, first, p->in_size[1]), p->plain ? 1 : p->lanes);
  MlirValue zero = fe_index(ir, 0);
  MlirValue hit = fe_and(ir, fe_cmp(ir, FE_GE, row, zero),
                         fe_cmp(ir, FE_LT, row, p->in_size[0]));
  fe_region r = fe_if_begin(ir, hit, 0, NULL, true);
  fill(p, zero, fe_index(ir, p->pads[1]));
  inside(p);
  fill(p, fe_add(ir, p->in_size[1], fe_index(ir, p->pads[1])),
       fe_index(ir, p->pads[3]));
  fe_if_else(ir, &r, 0, NULL);
  fill(p, zero, p->out_size[1]);
  fe_if_end(ir, &r, 0, NULL);
}

fe_status fe_generate_pack_bytes(fe_ir *ir, const fe_target *target,
                                 MlirModule module, MlirOperation func) {
  packing p = {0};
  fe_gen *g = &p.g;
  if (fe_gen_begin(g, ir, target, module, func))
    return FE_FAILED;
  unsigned in;
  fe_epilogue e;
  if (fe_gen_operand(g, 0, &in) || fe_epilogue_parse(&e, g))
    return fe_gen_abandon(g);
  MlirValue x = g->arg[in];
  p.plain = fe_rank(x) == 4;
  p.lanes = (unsigned)fe_static_dim(g->dest, 4);
  p.blocks = fe_static_dim(g->dest, 1);
  p.channels = fe_static_dim(x, 1);
  if (e.n || p.lanes > MAX_LANES || (p.lanes & (p.lanes - 1)) ||
      fe_attr_i64s(g->root, "pads", p.pads, 4) != 4) {
    fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
              "krnl.pack_bytes with an epilogue or blocks of %u channels",
              p.lanes);
    return fe_gen_abandon(g);
  }
  p.in = g->flat[in];
  p.out = g->flat[g->n_args - 1];
  for (unsigned i = 0; i < 2; ++i) {
    p.in_size[i] = fe_dim(ir, x, 2 + i);
    p.out_size[i] = fe_dim(ir, g->dest, 2 + i);
  }
  p.border = fe_int(ir, fe_vector_type(ir, p.lanes, ir->i8),
                    (int8_t)fe_attr_i64(g->root, "value", 0));
  fe_region r = fe_for_begin(ir, g->begin, g->end, fe_index(ir, 1), 0, NULL);
  item(&p, r.iv);
  fe_for_end(ir, &r, 0, NULL);
  unsigned dest = g->n_args - 1;
  MlirAffineExpr items =
      fe_dim_mul(fe_gen_dim(g, dest, 0), fe_dim_const(ir, p.blocks));
  items = fe_dim_mul(items, fe_gen_dim(g, dest, 2));
  fe_gen_end(g, items,
             fe_dim_mul(fe_gen_dim(g, dest, 3), fe_dim_const(ir, p.lanes)));
  return FE_OK;
}
