//===- attention_pack.c - blocks of K and V on their way to the tiles -----===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// K is transposed into panels, V copied where its rows lie apart; halves become
// floats.
//
//===----------------------------------------------------------------------===//
#include "kernel/attention.h"

/// `wanted` elements of an argument, as f32.
static MlirValue loaded(fe_attention *a, unsigned arg, MlirValue at,
                        int64_t wanted) {
  fe_ir *ir = a->g.ir;
  MlirValue m = a->g.flat[arg];
  MlirValue v =
      wanted >= a->lanes
          ? fe_vload(ir, a->lanes, m, 1, &at)
          : fe_vload_masked(ir, a->lanes, fe_index(ir, wanted), m, 1, &at);
  return mlirTypeEqual(fe_elem_of(m), ir->f32)
             ? v
             : fe_convert(ir, v, a->vec, false, false);
}

//===-- Packing K -----------------------------------------------------------//

/// lanes keys from `key` of the block on, lanes elements from `d` on. `last`:
/// stands in for keys behind it, whose scores nobody uses (null: there are
/// enough). Masked loads of what is not there would be very slow where no
/// memory is.
static void pack_square(fe_attention *a, MlirValue key, int64_t d,
                        MlirValue last) {
  fe_ir *ir = a->g.ir;
  unsigned n = a->lanes;
  int64_t wanted = a->depth - d < n ? a->depth - d : n;
  MlirValue rows[64];
  for (unsigned i = 0; i < n; ++i) {
    MlirValue number = fe_add_static(ir, key, i);
    if (!fe_is_null(last))
      number = fe_min(ir, number, last);
    number = fe_add(ir, a->first_key, number);
    MlirValue at = fe_attention_at(ir, a->k.start, number, a->k.seq);
    at = fe_add_static(ir, at, d);
    rows[i] = loaded(a, a->k.arg, at, wanted);
  }
  fe_vtranspose(ir, n, rows);
  MlirValue width = fe_index(ir, a->width);
  MlirValue panel = fe_divu(ir, key, width), column = fe_remu(ir, key, width);
  MlirValue to =
      fe_add(ir, fe_mul(ir, panel, fe_index(ir, a->depth * a->width)), column);
  for (int64_t i = 0; i < wanted; ++i) {
    MlirValue at = fe_add_static(ir, to, (d + i) * a->width);
    fe_vstore(ir, rows[i], a->panels, 1, &at);
  }
}

/// The block of K, filled up to whole panels.
void fe_attention_pack_keys(fe_attention *a) {
  fe_ir *ir = a->g.ir;
  MlirValue n = fe_index(ir, a->lanes), zero = fe_index(ir, 0);
  MlirValue full = fe_mul(ir, fe_divu(ir, a->count, n), n);
  fe_region r = fe_for_begin(ir, zero, full, n, 0, NULL);
  for (int64_t d = 0; d < a->depth; d += a->lanes)
    pack_square(a, r.iv, d, (MlirValue){0});
  fe_for_end(ir, &r, 0, NULL);
  if (!a->ragged)
    return;
  MlirValue width = fe_index(ir, a->width);
  MlirValue end = fe_mul(ir, fe_ceildiv(ir, a->count, width), width);
  r = fe_for_begin(ir, full, end, n, 0, NULL);
  for (int64_t d = 0; d < a->depth; d += a->lanes)
    pack_square(a, r.iv, d, fe_add_static(ir, a->count, -1));
  fe_for_end(ir, &r, 0, NULL);
}

/// V rows that lie apart, those of all heads side by side, fall into few sets
/// of the caches: they are copied together.
void fe_attention_pack_values(fe_attention *a) {
  fe_ir *ir = a->g.ir;
  fe_region r = fe_loop(ir, a->count);
  MlirValue key = fe_add(ir, a->first_key, r.iv);
  MlirValue from = fe_attention_at(ir, a->v.start, key, a->v.seq);
  MlirValue to = fe_mul(ir, r.iv, fe_index(ir, a->row_v));
  for (int64_t d = 0; d < a->depth_v; d += a->lanes) {
    MlirValue at = fe_add_static(ir, from, d);
    MlirValue v = loaded(a, a->v.arg, at, a->depth_v - d);
    at = fe_add_static(ir, to, d);
    fe_vstore(ir, v, a->values, 1, &at);
  }
  fe_loop_end(ir, &r);
}
