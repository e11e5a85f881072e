//===- sweep.c - windows: loops of kernels -----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: rows of the result are independent, so they are the parallel extent.
// A row is done in pieces whose accumulators lie on the stack; for every tap
// the innermost loop runs over the elements of the piece whose tap is inside
// the image. So it has no conditions, its accesses are contiguous for stride 1,
// and it vectorizes.
//
//===----------------------------------------------------------------------===//
#include "op/sliding.h"

void fe_unravel(fe_ir *ir, MlirValue linear, unsigned n, const MlirValue *sizes,
                MlirValue *at) {
  for (unsigned i = n; i-- > 1;) {
    at[i] = fe_remu(ir, linear, sizes[i]);
    linear = fe_divu(ir, linear, sizes[i]);
  }
  if (n)
    at[0] = linear;
}

static MlirValue times(fe_ir *ir, MlirValue v, int64_t factor) {
  return factor == 1 ? v : fe_mul(ir, v, fe_index(ir, factor));
}

/// ceil(v / by), not below 0.
static MlirValue count_to(fe_ir *ir, MlirValue v, int64_t by) {
  v = fe_max(ir, v, fe_index(ir, 0));
  if (by == 1)
    return v;
  return fe_divu(ir, fe_add(ir, v, fe_index(ir, by - 1)), fe_index(ir, by));
}

void fe_sliding_taps(fe_ir *ir, const fe_sliding *w, unsigned i, MlirValue o,
                     MlirValue pad, MlirValue kernel, MlirValue before,
                     MlirValue limit, MlirValue *first, MlirValue *last) {
  MlirValue start = fe_sub(ir, times(ir, o, w->stride[i]), pad);
  MlirValue low = fe_sub(ir, before, start);
  *first = fe_min(ir, count_to(ir, low, w->dilation[i]), kernel);
  *last = fe_min(ir, count_to(ir, fe_sub(ir, limit, start), w->dilation[i]),
                 kernel);
}

void fe_sweep_begin(fe_sweep *s, fe_kernel *k, const fe_sliding *w,
                    MlirValue input, MlirValue output, MlirValue weights,
                    const MlirValue *pad) {
  fe_ir *ir = k->l->ir;
  *s = (fe_sweep){.k = k, .w = w};
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue rows[FE_MAX_RANK];
  for (unsigned i = 0; i < w->n; ++i) {
    s->in[i] = fe_dim(ir, input, 2 + i);
    s->out[i] = fe_dim(ir, output, 2 + i);
    s->pad[i] = pad[i];
    s->kernel[i] = w->kernel[i] != FE_DYN ? fe_index(ir, w->kernel[i])
                                          : fe_dim(ir, weights, 2 + i);
  }
  for (unsigned i = 0; i <= w->n; ++i)
    rows[i] = fe_dim(ir, output, i);
  s->rows = fe_for_begin(ir, k->begin, k->end, one, 0, NULL);
  fe_unravel(ir, s->rows.iv, w->n + 1, rows, s->at);
  for (unsigned i = 0; i + 1 < w->n; ++i)
    fe_sliding_taps(ir, w, i, s->at[2 + i], s->pad[i], s->kernel[i], zero,
                    s->in[i], &s->first[i], &s->last[i]);
  MlirValue width = s->out[w->n - 1];
  MlirValue tile = fe_index(ir, FE_TILE);
  s->pieces = fe_for_begin(ir, zero, width, tile, 0, NULL);
  s->piece = s->pieces.iv;
  s->width = fe_min(ir, tile, fe_sub(ir, width, s->piece));
}

void fe_sweep_end(fe_sweep *s) {
  fe_ir *ir = s->k->l->ir;
  fe_loop_end(ir, &s->pieces);
  fe_loop_end(ir, &s->rows);
}

void fe_piece_begin(fe_sweep *s) {
  fe_ir *ir = s->k->l->ir;
  s->elements = fe_loop(ir, s->width);
  s->i = s->elements.iv;
  s->x = fe_add(ir, s->piece, s->i);
}

void fe_piece_end(fe_sweep *s) { fe_loop_end(s->k->l->ir, &s->elements); }

void fe_taps_begin(fe_sweep *s) {
  fe_ir *ir = s->k->l->ir;
  const fe_sliding *w = s->w;
  MlirValue one = fe_index(ir, 1), zero = fe_index(ir, 0);
  for (unsigned i = 0; i < w->n; ++i) {
    bool inner = i + 1 == w->n;
    s->taps[i] = fe_for_begin(ir, inner ? zero : s->first[i],
                              inner ? s->kernel[i] : s->last[i], one, 0, NULL);
    s->tap[i] = s->taps[i].iv;
    MlirValue offset =
        fe_sub(ir, times(ir, s->tap[i], w->dilation[i]), s->pad[i]);
    if (inner)
      s->offset = offset;
    else
      s->source[i] = fe_add(ir, offset, times(ir, s->at[2 + i], w->stride[i]));
  }
}

void fe_taps_end(fe_sweep *s) {
  for (unsigned i = s->w->n; i-- > 0;)
    fe_loop_end(s->k->l->ir, &s->taps[i]);
}

void fe_tap_begin(fe_sweep *s) {
  fe_ir *ir = s->k->l->ir;
  unsigned last = s->w->n - 1;
  int64_t stride = s->w->stride[last];
  // x * stride + offset in [0, in), x in the piece
  MlirValue start = fe_add(ir, times(ir, s->piece, stride), s->offset);
  MlirValue low = count_to(ir, fe_sub(ir, fe_index(ir, 0), start), stride);
  MlirValue high = fe_min(
      ir, count_to(ir, fe_sub(ir, s->in[last], start), stride), s->width);
  s->elements = fe_for_begin(ir, low, high, fe_index(ir, 1), 0, NULL);
  s->i = s->elements.iv;
  s->x = fe_add(ir, s->piece, s->i);
  s->source[last] = fe_add(ir, start, times(ir, s->i, stride));
}

void fe_tap_end(fe_sweep *s) { fe_loop_end(s->k->l->ir, &s->elements); }

void fe_sweep_extent(fe_kernel *k, unsigned output, MlirAffineExpr per,
                     MlirAffineExpr *items, MlirAffineExpr *cost) {
  MlirValue out = k->out[output - k->n_in];
  unsigned rank = fe_rank(out);
  *items = fe_kernel_dim(k, output, 0);
  for (unsigned i = 1; i + 1 < rank; ++i)
    *items = fe_dim_mul(*items, fe_kernel_dim(k, output, i));
  *cost = fe_dim_mul(per, fe_kernel_dim(k, output, rank - 1));
}
