//===- columns.c - convolutions as products of matrices ----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the matrix are copies of rows of the image, moved by the tap and with
// zeros where it lies outside. Costs memory: taps times the input.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/sliding.h"

//===-- The matrix ----------------------------------------------------------//

typedef struct filler {
  fe_ir *ir;
  fe_kernel k;
  const fe_sliding *w;
  MlirValue in[FE_MAX_RANK], out[FE_MAX_RANK]; // spatial sizes
  MlirValue tap[FE_MAX_RANK], pad[FE_MAX_RANK];
} filler;

static MlirValue times(fe_ir *ir, MlirValue v, int64_t by) {
  return by == 1 ? v : fe_mul(ir, v, fe_index(ir, by));
}

/// First place whose element is not before `v`: ceil(v / stride), from 0 on.
static MlirValue place_from(fe_ir *ir, MlirValue v, int64_t stride,
                            MlirValue limit) {
  v = fe_max(ir, v, fe_index(ir, 0));
  if (stride > 1)
    v = fe_divu(ir, fe_add(ir, v, fe_index(ir, stride - 1)),
                fe_index(ir, stride));
  return fe_min(ir, v, limit);
}

/// One row of one tap: x_at and y_at without their last subscripts; nothing is
/// inside the image unless `inside` (null: all is).
static void fill_row(filler *f, MlirValue inside, MlirValue *x_at,
                     MlirValue *y_at) {
  fe_ir *ir = f->ir;
  unsigned last = f->w->n - 1;
  int64_t stride = f->w->stride[last];
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue offset =
      fe_sub(ir, times(ir, f->tap[last], f->w->dilation[last]), f->pad[last]);
  MlirValue low =
      place_from(ir, fe_sub(ir, zero, offset), stride, f->out[last]);
  MlirValue high =
      place_from(ir, fe_sub(ir, f->in[last], offset), stride, f->out[last]);
  if (!fe_is_null(inside)) {
    low = fe_select(ir, inside, low, f->out[last]);
    high = fe_select(ir, inside, high, f->out[last]);
  }
  const MlirValue parts[4] = {zero, low, high, f->out[last]};
  MlirType elem = fe_elem_of(f->k.out[0]);
  for (unsigned part = 0; part < 3; ++part) {
    fe_region i = fe_for_begin(ir, parts[part], parts[part + 1], one, 0, NULL);
    y_at[2 + last] = i.iv;
    MlirValue v = fe_float(ir, elem, 0);
    if (part == 1) {
      x_at[2 + last] = fe_add(ir, times(ir, i.iv, stride), offset);
      v = fe_load(ir, f->k.in[0], 2 + f->w->n, x_at);
    }
    fe_store(ir, v, f->k.out[0], 2 + f->w->n, y_at);
    fe_loop_end(ir, &i);
  }
}

MlirValue fe_columns(fe_lower *l, const fe_sliding *win, const MlirValue *pads,
                     const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  filler f = {.ir = ir, .w = win};
  MlirValue channels = fe_size(l, l->in[0], 1);
  MlirValue lines[FE_MAX_RANK] = {channels}, dims[FE_MAX_RANK];
  MlirValue counts[FE_MAX_RANK];
  for (unsigned i = 0; i < win->n; ++i) {
    lines[1 + i] = fe_index(ir, win->kernel[i]);
    dims[2 + i] = sizes[2 + i];
  }
  dims[0] = sizes[0];
  dims[1] = fe_known_product(ir, 1 + win->n, lines);
  MlirValue out = fe_tensor_empty(l, l->in_type[0], 2 + win->n, dims);
  fe_kernel_begin(&f.k, l, "columns", 1, l->in, 1, &out, win->n, pads);
  MlirValue zero = fe_index(ir, 0);
  counts[0] = fe_dim(ir, f.k.in[0], 0);
  counts[1] = fe_dim(ir, f.k.in[0], 1);
  for (unsigned i = 0; i < win->n; ++i) {
    f.in[i] = fe_dim(ir, f.k.in[0], 2 + i);
    f.out[i] = fe_dim(ir, f.k.out[0], 2 + i);
    f.pad[i] =
        win->same == FE_SAME_NO ? fe_index(ir, win->begin[i]) : f.k.scalar[i];
    counts[2 + i] = fe_index(ir, win->kernel[i]);
  }
  MlirValue at[FE_MAX_RANK], x_at[FE_MAX_RANK], y_at[FE_MAX_RANK];
  fe_region items =
      fe_for_begin(ir, f.k.begin, f.k.end, fe_index(ir, 1), 0, NULL);
  fe_unravel(ir, items.iv, 2 + win->n, counts, at);
  x_at[0] = y_at[0] = at[0];
  x_at[1] = at[1];
  y_at[1] = fe_remu(ir, items.iv, fe_dim(ir, f.k.out[0], 1));
  fe_region rows[FE_MAX_RANK];
  MlirValue inside = {0};
  for (unsigned i = 0; i < win->n; ++i) {
    f.tap[i] = at[2 + i];
    if (i + 1 == win->n)
      break;
    rows[i] = fe_loop(ir, f.out[i]);
    y_at[2 + i] = rows[i].iv;
    MlirValue source =
        fe_sub(ir, times(ir, f.tap[i], win->dilation[i]), f.pad[i]);
    source = fe_add(ir, source, times(ir, rows[i].iv, win->stride[i]));
    x_at[2 + i] = source;
    MlirValue here = fe_and(ir, fe_cmp(ir, FE_GE, source, zero),
                            fe_cmp(ir, FE_LT, source, f.in[i]));
    inside = fe_is_null(inside) ? here : fe_and(ir, inside, here);
  }
  fill_row(&f, inside, x_at, y_at);
  for (unsigned i = win->n - 1; i-- > 0;)
    fe_loop_end(ir, &rows[i]);
  fe_loop_end(ir, &items);
  MlirAffineExpr cost = fe_dim_const(ir, 1);
  for (unsigned i = 0; i < win->n; ++i)
    cost = fe_dim_mul(cost, fe_kernel_dim(&f.k, 1, 2 + i));
  fe_kernel_end(
      &f.k, fe_dim_mul(fe_kernel_dim(&f.k, 1, 0), fe_kernel_dim(&f.k, 1, 1)),
      cost);
  return f.k.result[0];
}

//===-- The product ---------------------------------------------------------//

static MlirValue add_bias(fe_lower *l, MlirValue v, int bias, fe_dtype work,
                          unsigned rank, const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  if (bias < 0)
    return fe_to_type(l, v, work, l->out_type[0]);
  MlirValue in[2] = {v, l->in[bias]};
  fe_dtype types[2] = {work, l->in_type[bias]};
  MlirAffineExpr filter = mlirAffineDimExprGet(ir->ctx, 1);
  MlirAffineMap maps[2] = {mlirAffineMapMultiDimIdentityGet(ir->ctx, rank),
                           mlirAffineMapGet(ir->ctx, rank, 0, 1, &filter)};
  fe_generic *g = fe_generic_begin(l, rank, sizes, 2, in, types, maps);
  return fe_generic_end(g, l->out_type[0],
                        fe_add(ir, fe_arg(g, 0), fe_arg(g, 1)));
}

MlirValue fe_columns_product(fe_lower *l, MlirValue columns, unsigned weights,
                             int bias, int64_t group, fe_dtype work,
                             const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  MlirValue w = l->in[weights], groups = fe_index(ir, group);
  unsigned rank = fe_rank(w);
  MlirType elem = fe_storage_type(ir, work);
  MlirValue w_sizes[FE_MAX_RANK];
  fe_sizes_of(l, w, w_sizes);
  MlirValue each = fe_known_product(ir, rank - 1, w_sizes + 1);
  MlirValue places = fe_known_product(ir, rank - 2, sizes + 2);
  int64_t n;
  MlirValue filters = fe_size_known(sizes[1], &n)
                          ? fe_index(ir, n / group)
                          : fe_divu(ir, sizes[1], groups);
  columns = fe_reshape(l, columns, elem, 4,
                       (MlirValue[]){sizes[0], groups, each, places});
  if (l->in_type[weights] != work)
    w = fe_to_type(l, w, l->in_type[weights], work);
  w = fe_reshape(l, w, elem, 3, (MlirValue[]){groups, filters, each});
  MlirValue product =
      fe_lower_contract(l, w, false, columns, false, work, 4,
                        (MlirValue[]){sizes[0], groups, filters, places});
  product = fe_reshape(l, product, elem, rank, sizes);
  return add_bias(l, product, bias, work, rank, sizes);
}
