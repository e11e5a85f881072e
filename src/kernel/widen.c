//===- widen.c - more channels, of zeros --------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole blocks are copied, the last one of the input lane by lane (what lies
// beyond its channels may be anything), and the blocks behind it are zero: one
// loop, in which a vector of conditions per item selects.
//
//===----------------------------------------------------------------------===//
#include "kernel/image.h"

fe_status fe_generate_widen(fe_ir *ir, const fe_target *target,
                            MlirModule module, MlirOperation func) {
  fe_image *m = FE_NEW(ir->arena, fe_image);
  fe_gen *g = &m->g;
  if (fe_image_begin(m, ir, target, module, func))
    return FE_FAILED;
  unsigned in;
  if (fe_gen_operand(g, 0, &in))
    return fe_gen_abandon(g);
  int64_t in_blocks = fe_static_dim(g->arg[in], 1);
  MlirValue one = fe_index(ir, 1), lanes = fe_index(ir, m->lanes);
  MlirValue blocks = fe_index(ir, m->blocks);
  MlirValue height = m->win.out_size[0], width = m->win.out_size[1];
  MlirType bits = fe_vector_type(ir, m->lanes, ir->index);
  MlirValue number =
      fe_first(FE_OP(ir, "vector.step", FE_TYPES(bits))); // 0, 1, 2, ...
  fe_region item = fe_for_begin(ir, g->begin, g->end, one, 0, NULL);
  m->block = fe_remu(ir, item.iv, blocks);
  m->image = fe_divu(ir, item.iv, blocks);
  MlirValue left = fe_sub(ir, fe_index(ir, fe_attr_i64(g->root, "channels", 0)),
                          fe_mul(ir, m->block, lanes));
  MlirValue keep = fe_cmp(ir, FE_LT, number, fe_splat(ir, left, m->lanes));
  MlirValue from = fe_add(ir, fe_mul(ir, m->image, fe_index(ir, in_blocks)),
                          fe_min(ir, m->block, fe_index(ir, in_blocks - 1)));
  MlirValue zero = fe_float(ir, fe_vector_type(ir, m->lanes, ir->f32), 0);
  fe_region row = fe_loop(ir, height);
  fe_region column = fe_loop(ir, width);
  MlirValue at = fe_add(ir, fe_mul(ir, from, height), row.iv);
  at = fe_add(ir, fe_mul(ir, at, width), column.iv);
  MlirValue v = fe_vload(ir, m->lanes, m->in, FE_IDX(fe_mul(ir, at, lanes)));
  v = fe_select(ir, keep, v, zero);
  fe_tile t = {.m = 1, .y = row.iv, .x = column.iv};
  fe_image_store(m, &t, &v);
  fe_loop_end(ir, &column);
  fe_loop_end(ir, &row);
  fe_for_end(ir, &item, 0, NULL);
  unsigned dest = g->n_args - 1;
  MlirAffineExpr items =
      fe_dim_mul(fe_gen_dim(g, dest, 0), fe_dim_const(ir, m->blocks));
  MlirAffineExpr pixels =
      fe_dim_mul(fe_gen_dim(g, dest, 2), fe_gen_dim(g, dest, 3));
  fe_gen_end(g, items, fe_dim_mul(pixels, fe_dim_const(ir, m->lanes)));
  return FE_OK;
}
