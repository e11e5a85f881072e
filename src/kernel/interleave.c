//===- interleave.c - channels that are pixels to their places ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second half of transposed convolutions: the first computes, at every
// pixel of the input, all pixels of the result that belong to it as so many
// groups of channels. Vectors are moved one by one, through the epilogue.
//
//===----------------------------------------------------------------------===//
#include "kernel/image.h"

fe_status fe_generate_interleave(fe_ir *ir, const fe_target *target,
                                 MlirModule module, MlirOperation func) {
  fe_image *m = FE_NEW(ir->arena, fe_image);
  fe_gen *g = &m->g;
  if (fe_image_begin(m, ir, target, module, func))
    return FE_FAILED;
  int64_t stride[2] = {1, 1}, start[2] = {0, 0};
  fe_attr_i64s(g->root, "strides", stride, 2);
  fe_attr_i64s(g->root, "starts", start, 2);
  MlirValue one = fe_index(ir, 1), lanes = fe_index(ir, m->lanes);
  MlirValue blocks = fe_index(ir, m->blocks);
  MlirValue height = m->win.out_size[0], width = m->win.out_size[1];
  fe_region item = fe_for_begin(ir, g->begin, g->end, one, 0, NULL);
  MlirValue y = fe_remu(ir, item.iv, height);
  MlirValue rest = fe_divu(ir, item.iv, height);
  m->block = fe_remu(ir, rest, blocks);
  m->image = fe_divu(ir, rest, blocks);
  MlirValue from[2], phase[2];
  MlirValue at = fe_add(ir, y, fe_index(ir, start[0]));
  from[0] = fe_divu(ir, at, fe_index(ir, stride[0]));
  phase[0] = fe_remu(ir, at, fe_index(ir, stride[0]));
  fe_region column = fe_loop(ir, width);
  at = fe_add(ir, column.iv, fe_index(ir, start[1]));
  from[1] = fe_divu(ir, at, fe_index(ir, stride[1]));
  phase[1] = fe_remu(ir, at, fe_index(ir, stride[1]));
  MlirValue source =
      fe_add(ir, fe_mul(ir, phase[0], fe_index(ir, stride[1])), phase[1]);
  source = fe_add(ir, fe_mul(ir, source, blocks), m->block);
  source = fe_add(
      ir, fe_mul(ir, m->image, fe_index(ir, stride[0] * stride[1] * m->blocks)),
      source);
  for (unsigned i = 0; i < 2; ++i)
    source = fe_add(ir, fe_mul(ir, source, m->win.in_size[i]), from[i]);
  MlirValue v =
      fe_vload(ir, m->lanes, m->in, FE_IDX(fe_mul(ir, source, lanes)));
  fe_tile t = {.m = 1, .y = y, .x = column.iv};
  fe_image_store(m, &t, &v);
  fe_loop_end(ir, &column);
  fe_for_end(ir, &item, 0, NULL);
  unsigned dest = g->n_args - 1;
  MlirAffineExpr items =
      fe_dim_mul(fe_dim_mul(fe_gen_dim(g, dest, 0), fe_gen_dim(g, dest, 2)),
                 fe_dim_const(ir, m->blocks));
  fe_gen_end(g, items,
             fe_dim_mul(fe_gen_dim(g, dest, 3), fe_dim_const(ir, m->lanes)));
  return FE_OK;
}
