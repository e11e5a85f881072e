//===- depth_windows.c - slices of a volume as channels ----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DepthWindows is an operator of Ferrule's own, which windows over volumes
// become (src/pass/volume.c): of [N][C][D][H][W] the images [N * places][C *
// taps][H][W]. Image `place` holds, channel by channel, the slices that a
// window over the depth sees there; zeros where it looks beyond the volume.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/sliding.h"

/// The window as one of a single dim.
static fe_sliding window_of(fe_ir *ir, MlirOperation op) {
  int64_t pads[2] = {0, 0};
  fe_attr_i64s(op, "pads", pads, 2);
  fe_sliding w = {.n = 1};
  w.kernel[0] = fe_attr_i64(op, "kernel", 1);
  w.size[0] = fe_dim_const(ir, w.kernel[0]);
  w.stride[0] = fe_attr_i64(op, "stride", 1);
  w.dilation[0] = fe_attr_i64(op, "dilation", 1);
  w.begin[0] = pads[0];
  w.end[0] = pads[1];
  return w;
}

/// Dims of operand `i`, a volume, and the places of the window.
static fe_status infer_places(fe_infer *f, unsigned i, const fe_sliding *w,
                              fe_dims *x, MlirAffineExpr *places) {
  if (fe_in_dims(f, i, x))
    return FE_FAILED;
  if (x->rank != 5)
    return fe_infer_error(f, NULL, "the input must have rank 5");
  return fe_sliding_out(f, w, 0, x->d[2], places);
}

static fe_status infer_depth_windows(fe_infer *f) {
  fe_ir *ir = f->ir;
  fe_dims x;
  MlirAffineExpr places;
  fe_sliding w = window_of(ir, f->attrs);
  if (infer_places(f, 0, &w, &x, &places))
    return FE_FAILED;
  fe_dims y = {4,
               {fe_dim_mul(x.d[0], places),
                fe_dim_mul(x.d[1], fe_dim_const(ir, w.kernel[0])), x.d[3],
                x.d[4]}};
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &y);
  return FE_OK;
}

static fe_status infer_depth_images(fe_infer *f) {
  fe_dims x, y;
  MlirAffineExpr places;
  fe_sliding w = window_of(f->ir, f->attrs);
  if (fe_in_dims(f, 0, &y) || infer_places(f, 1, &w, &x, &places))
    return FE_FAILED;
  if (y.rank != 4)
    return fe_infer_error(f, NULL, "the images must have rank 4");
  fe_dims out = {5, {x.d[0], y.d[1], places, y.d[2], y.d[3]}};
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

/// Places of the window over x, checked where only the run knows the depth.
static MlirValue count_places(fe_lower *l, MlirValue x, const fe_sliding *w) {
  fe_ir *ir = l->ir;
  int64_t extent = (w->kernel[0] - 1) * w->dilation[0] + 1;
  MlirValue room = fe_add(ir, fe_size(l, x, 2),
                          fe_index(ir, w->begin[0] + w->end[0] - extent));
  fe_check(l, fe_cmp(ir, FE_GE, room, fe_index(ir, 0)),
           "the kernel is larger than the input with its padding");
  return fe_add(ir, fe_floordiv(ir, room, fe_index(ir, w->stride[0])),
                fe_index(ir, 1));
}

static fe_status lower_depth_windows(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0];
  MlirType elem = fe_elem_of(l->in[0]);
  fe_sliding w = window_of(ir, l->op);
  MlirValue sizes[5], taps = fe_index(ir, w.kernel[0]);
  fe_sizes_of(l, l->in[0], sizes);
  MlirValue places = count_places(l, l->in[0], &w),
            plane = fe_mul(ir, sizes[3], sizes[4]);
  MlirValue from[4] = {sizes[0], sizes[1], sizes[2], plane};
  MlirValue to[5] = {sizes[0], places, sizes[1], taps, plane};
  MlirValue x = fe_reshape(l, l->in[0], elem, 4, from);
  MlirValue dest = fe_tensor_empty(l, t, 5, to);
  fe_kernel k;
  fe_kernel_begin(&k, l, "depth_windows", 1, &x, 1, &dest, 0, NULL);
  MlirValue depth = fe_dim(ir, k.in[0], 2), width = fe_dim(ir, k.in[0], 3);
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue nothing = fe_number(ir, elem, 0);
  MlirValue counts[4], at[4];
  for (unsigned i = 0; i < 4; ++i)
    counts[i] = fe_dim(ir, k.out[0], i);
  fe_region item = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_unravel(ir, item.iv, 4, counts, at);
  MlirValue d = fe_add(ir, fe_mul(ir, at[1], fe_index(ir, w.stride[0])),
                       fe_mul(ir, at[3], fe_index(ir, w.dilation[0])));
  d = fe_sub(ir, d, fe_index(ir, w.begin[0]));
  MlirValue inside =
      fe_and(ir, fe_cmp(ir, FE_GE, d, zero), fe_cmp(ir, FE_LT, d, depth));
  fe_region in = fe_if_begin(ir, inside, 0, NULL, true);
  fe_region copy = fe_for_begin(ir, zero, width, one, 0, NULL);
  MlirValue v = fe_load(ir, k.in[0], FE_IDX(at[0], at[2], d, copy.iv));
  fe_store(ir, v, k.out[0], FE_IDX(at[0], at[1], at[2], at[3], copy.iv));
  fe_loop_end(ir, &copy);
  fe_if_else(ir, &in, 0, NULL);
  fe_region clear = fe_for_begin(ir, zero, width, one, 0, NULL);
  fe_store(ir, nothing, k.out[0], FE_IDX(at[0], at[1], at[2], at[3], clear.iv));
  fe_loop_end(ir, &clear);
  fe_if_end(ir, &in, 0, NULL);
  fe_loop_end(ir, &item);
  MlirAffineExpr items = fe_dim_const(ir, 1);
  for (unsigned i = 0; i < 4; ++i)
    items = fe_dim_mul(items, fe_kernel_dim(&k, 1, i));
  fe_kernel_end(&k, items, fe_kernel_dim(&k, 0, 3));
  MlirValue result[4] = {fe_mul(ir, sizes[0], places),
                         fe_mul(ir, sizes[1], taps), sizes[3], sizes[4]};
  l->out[0] = fe_reshape(l, k.result[0], elem, 4, result);
  return FE_OK;
}

static fe_status lower_depth_images(fe_lower *l) {
  static const unsigned permutation[4] = {0, 2, 1, 3};
  fe_ir *ir = l->ir;
  MlirType elem = fe_elem_of(l->in[0]);
  fe_sliding w = window_of(ir, l->op);
  MlirValue y[4], n = fe_size(l, l->in[1], 0),
                  places = count_places(l, l->in[1], &w);
  fe_sizes_of(l, l->in[0], y);
  MlirValue plane = fe_mul(ir, y[2], y[3]);
  MlirValue apart[4] = {n, places, y[1], plane};
  MlirValue together[4] = {n, y[1], places, plane};
  MlirValue result[5] = {n, y[1], places, y[2], y[3]};
  MlirValue v = fe_reshape(l, l->in[0], elem, 4, apart);
  v = fe_lower_transpose(l, v, 4, permutation, together);
  l->out[0] = fe_reshape(l, v, elem, 5, result);
  return FE_OK;
}

static const fe_attr_def attrs[] = {{"kernel", FE_A_INT, NULL},
                                    {"stride", FE_A_INT, "1"},
                                    {"dilation", FE_A_INT, "1"},
                                    {"pads", FE_A_INTS, "0,0"},
                                    {0}};

const fe_op_row fe_family_depth_windows[] = {{.name = "DepthWindows",
                                              .domain = "com.microsoft",
                                              .since = 1,
                                              .flags = FE_INTERNAL,
                                              .inputs = "X:T",
                                              .outputs = "Y:T",
                                              .types = "T=real",
                                              .attrs = attrs,
                                              .infer = infer_depth_windows,
                                              .lower = lower_depth_windows},
                                             {.name = "DepthImages",
                                              .domain = "com.microsoft",
                                              .since = 1,
                                              .flags = FE_INTERNAL,
                                              .inputs = "images:T, X:T",
                                              .outputs = "Y:T",
                                              .types = "T=real",
                                              .attrs = attrs,
                                              .infer = infer_depth_images,
                                              .lower = lower_depth_images},
                                             {0}};
