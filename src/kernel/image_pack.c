//===- image_pack.c - planes of channels to blocks and back ------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: squares of one vector of pixels by one block of channels are
// transposed in registers. The last square of a plane ends with the plane and
// overlaps its neighbour; planes smaller than a vector go element by element.
//
//===----------------------------------------------------------------------===//
#include "kernel/conv.h"

#define MAX_LANES 16

typedef struct packing {
  fe_gen g;
  fe_epilogue epilogue;
  bool unpack;
  unsigned lanes;
  int64_t channels, blocks;
  MlirValue plain, packed; // flat memrefs
  MlirValue size;          // pixels of a plane
  MlirValue image, block;  // of the item
} packing;

static MlirValue times(fe_ir *ir, MlirValue a, int64_t k) {
  return fe_mul(ir, a, fe_index(ir, k));
}
static MlirValue plus(fe_ir *ir, MlirValue a, int64_t k) {
  return fe_add(ir, a, fe_index(ir, k));
}

/// First element of channel `lane` of the block, in the plain tensor.
static MlirValue plane(packing *p, MlirValue lane) {
  fe_ir *ir = p->g.ir;
  MlirValue channel = fe_add(ir, times(ir, p->block, p->lanes), lane);
  MlirValue number = fe_add(ir, times(ir, p->image, p->channels), channel);
  return fe_mul(ir, number, p->size);
}

/// Element of a pixel's vector in the packed tensor.
static MlirValue vector_at(packing *p, MlirValue pixel) {
  fe_ir *ir = p->g.ir;
  MlirValue number = fe_add(ir, times(ir, p->image, p->blocks), p->block);
  MlirValue at = fe_add(ir, fe_mul(ir, number, p->size), pixel);
  return times(ir, at, p->lanes);
}

/// A square of 16 by 16 bytes.
static void bytes(packing *p, unsigned n, MlirValue pixel) {
  fe_ir *ir = p->g.ir;
  MlirValue channels[16], pixels[4], at = vector_at(p, pixel), plain[16];
  for (unsigned i = 0; i < 16; ++i)
    plain[i] = fe_add(ir, plane(p, fe_index(ir, i)), pixel);
  if (p->unpack) {
    for (unsigned i = 0; i < 4; ++i)
      pixels[i] = fe_vload(ir, 64, p->packed, FE_IDX(plus(ir, at, 64 * i)));
    fe_bytes_to_channels(ir, pixels, channels);
    for (unsigned i = 0; i < n; ++i)
      fe_vstore(ir, channels[i], p->plain, FE_IDX(plain[i]));
    return;
  }
  MlirValue zero = fe_int(ir, fe_vector_type(ir, 16, ir->i8), 0);
  for (unsigned i = 0; i < 16; ++i)
    channels[i] = i < n ? fe_vload(ir, 16, p->plain, FE_IDX(plain[i])) : zero;
  fe_bytes_to_pixels(ir, channels, pixels);
  for (unsigned i = 0; i < 4; ++i)
    fe_vstore(ir, pixels[i], p->packed, FE_IDX(plus(ir, at, 64 * i)));
}

/// A square from `pixel` on, of `n` channels.
static void square(packing *p, unsigned n, MlirValue pixel) {
  fe_ir *ir = p->g.ir;
  if (p->lanes == 16 && mlirTypeEqual(fe_elem_of(p->plain), ir->i8)) {
    bytes(p, n, pixel);
    return;
  }
  MlirValue rows[MAX_LANES];
  MlirType type = fe_vector_type(ir, p->lanes, fe_elem_of(p->plain));
  for (unsigned i = 0; i < p->lanes; ++i) {
    MlirValue lane = fe_index(ir, i);
    if (p->unpack)
      rows[i] = fe_vload(ir, p->lanes, p->packed,
                         FE_IDX(vector_at(p, plus(ir, pixel, i))));
    else if (i < n)
      rows[i] = fe_vload(ir, p->lanes, p->plain,
                         FE_IDX(fe_add(ir, plane(p, lane), pixel)));
    else
      rows[i] = fe_number(ir, type, 0);
  }
  fe_vtranspose(ir, p->lanes, rows);
  for (unsigned i = 0; i < p->lanes; ++i) {
    MlirValue lane = fe_index(ir, i);
    if (!p->unpack)
      fe_vstore(ir, rows[i], p->packed,
                FE_IDX(vector_at(p, plus(ir, pixel, i))));
    else if (i < n)
      fe_vstore(ir, rows[i], p->plain,
                FE_IDX(fe_add(ir, plane(p, lane), pixel)));
  }
}

/// A plane smaller than a vector.
static void elements(packing *p, unsigned n) {
  fe_ir *ir = p->g.ir;
  fe_region pixel = fe_loop(ir, p->size);
  MlirValue at = vector_at(p, pixel.iv);
  if (!p->unpack)
    fe_vstore(
        ir,
        fe_number(ir, fe_vector_type(ir, p->lanes, fe_elem_of(p->plain)), 0),
        p->packed, FE_IDX(at));
  fe_region lane = fe_loop(ir, fe_index(ir, n));
  MlirValue packed = fe_add(ir, at, lane.iv);
  MlirValue plain = fe_add(ir, plane(p, lane.iv), pixel.iv);
  if (p->unpack)
    fe_store(ir, fe_load(ir, p->packed, FE_IDX(packed)), p->plain,
             FE_IDX(plain));
  else
    fe_store(ir, fe_load(ir, p->plain, FE_IDX(plain)), p->packed,
             FE_IDX(packed));
  fe_loop_end(ir, &lane);
  fe_loop_end(ir, &pixel);
}

/// A block of n channels.
static void block(packing *p, unsigned n) {
  fe_ir *ir = p->g.ir;
  MlirValue lanes = fe_index(ir, p->lanes);
  fe_region wide =
      fe_if_begin(ir, fe_cmp(ir, FE_GE, p->size, lanes), 0, NULL, true);
  fe_region r = fe_loop(ir, fe_ceildiv(ir, p->size, lanes));
  square(p, n,
         fe_min(ir, times(ir, r.iv, p->lanes), fe_sub(ir, p->size, lanes)));
  fe_loop_end(ir, &r);
  fe_if_else(ir, &wide, 0, NULL);
  elements(p, n);
  fe_if_end(ir, &wide, 0, NULL);
}

static fe_status generate(fe_ir *ir, const fe_target *target, MlirModule module,
                          MlirOperation func, bool unpack) {
  packing p = {.unpack = unpack};
  fe_gen *g = &p.g;
  if (fe_gen_begin(g, ir, target, module, func))
    return FE_FAILED;
  unsigned in;
  if (fe_gen_operand(g, 0, &in) || fe_epilogue_parse(&p.epilogue, g))
    return fe_gen_abandon(g);
  unsigned dest = g->n_args - 1;
  MlirValue packed = g->arg[unpack ? in : dest];
  MlirValue plain = g->arg[unpack ? dest : in];
  p.lanes = (unsigned)fe_static_dim(packed, 4);
  p.blocks = fe_static_dim(packed, 1);
  p.channels = fe_static_dim(plain, 1);
  if (p.epilogue.n || p.lanes > MAX_LANES || (p.lanes & (p.lanes - 1))) {
    fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
              "krnl.%s with an epilogue or blocks of %u channels",
              unpack ? "unpack" : "pack", p.lanes);
    return fe_gen_abandon(g);
  }
  p.packed = g->flat[unpack ? in : dest];
  p.plain = g->flat[unpack ? dest : in];
  p.size = fe_mul(ir, fe_dim(ir, plain, 2), fe_dim(ir, plain, 3));
  MlirValue blocks = fe_index(ir, p.blocks);
  fe_region r = fe_for_begin(ir, g->begin, g->end, fe_index(ir, 1), 0, NULL);
  p.image = fe_divu(ir, r.iv, blocks);
  p.block = fe_remu(ir, r.iv, blocks);
  unsigned rest = (unsigned)(p.channels % p.lanes);
  int64_t full = p.channels / p.lanes;
  if (!rest || !full) {
    block(&p, rest ? rest : p.lanes);
  } else {
    MlirValue inner = fe_cmp(ir, FE_LT, p.block, fe_index(ir, full));
    fe_region c = fe_if_begin(ir, inner, 0, NULL, true);
    block(&p, p.lanes);
    fe_if_else(ir, &c, 0, NULL);
    block(&p, rest);
    fe_if_end(ir, &c, 0, NULL);
  }
  fe_for_end(ir, &r, 0, NULL);
  MlirAffineExpr pixels =
      fe_dim_mul(fe_gen_dim(g, in, 2), fe_gen_dim(g, in, 3));
  MlirAffineExpr items =
      fe_dim_mul(fe_gen_dim(g, in, 0), fe_dim_const(ir, p.blocks));
  fe_gen_end(g, items, fe_dim_mul(pixels, fe_dim_const(ir, p.lanes)));
  return FE_OK;
}

fe_status fe_generate_pack(fe_ir *ir, const fe_target *target,
                           MlirModule module, MlirOperation func) {
  return generate(ir, target, module, func, false);
}

fe_status fe_generate_unpack(fe_ir *ir, const fe_target *target,
                             MlirModule module, MlirOperation func) {
  return generate(ir, target, module, func, true);
}
