//===- layout_upsample.c - images that grow, packed --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transposed convolution with stride s computes s * s pixels of its result
// per pixel of the input: an ordinary convolution with so many groups of output
// channels (the taps dealt out to them), and krnl.interleave puts the pixels
// into their places. Shi et al., "Real-time single image super-resolution",
// 2016. Resize works on packed images as it does on others, on dims 2 and 3.
//
//===----------------------------------------------------------------------===//
#include "pass/layout.h"

#include <string.h>

//===-- ConvTranspose -------------------------------------------------------//

typedef struct transposed {
  fe_image_dims in, out;
  fe_layout_window win;
  int64_t channels, out_channels;
  int64_t taps[2]; // of the convolution: ceil(kernel / stride)
  const fe_float_at *weights, *bias; // [C][K][R][S]; bias NULL: none
} transposed;

static bool read(fe_layout *l, MlirOperation op, transposed *t) {
  fe_ir *ir = l->ir;
  fe_dims d;
  fe_const w, b;
  MlirValue weights = fe_operand(op, 1), bias = fe_operand(op, 2);
  int64_t kernel[2], extra[2], unused[4];
  if (!fe_image_dims_of(ir, fe_operand(op, 0), &t->in) ||
      !fe_image_dims_of(ir, fe_result(op, 0), &t->out) ||
      !fe_dims_of(ir, weights, &d) || d.rank != t->in.rank ||
      !fe_const_of(ir, weights, &w) || fe_attr_i64(op, "group", 1) != 1 ||
      strcmp(fe_attr_str(ir->arena, op, "auto_pad", "NOTSET"), "NOTSET") ||
      fe_attr_i64s(op, "output_shape", unused, 4))
    return false;
  unsigned n = d.rank - 2;
  for (unsigned i = 0; i < n; ++i)
    kernel[i] = fe_dim_static(d.d[2 + i]);
  if (!fe_layout_window_of(l, op, &t->in, kernel, &t->win))
    return false;
  bool has_extra = fe_attr_i64s(op, "output_padding", extra, 2) == n;
  for (unsigned i = 0; i < 2; ++i) {
    const fe_layout_window *v = &t->win;
    t->taps[i] = (v->kernel[i] + v->stride[i] - 1) / v->stride[i];
    int64_t more = has_extra && i >= 2 - n ? extra[i - (2 - n)] : 0;
    // What the convolution computes behind the result's end must not be short.
    if (v->dilation[i] != 1 ||
        v->stride[i] * t->taps[i] - v->kernel[i] + v->pad[2 + i] - more < 0)
      return false;
  }
  // Taps that the dealing out adds are multiplied, too.
  if (t->win.stride[0] * t->win.stride[1] * t->taps[0] * t->taps[1] >
      4 * t->win.kernel[0] * t->win.kernel[1])
    return false;
  t->channels = t->in.channels;
  t->out_channels = t->out.channels;
  t->weights = w.data;
  bool has_bias = !fe_is_null(bias) && !mlirTypeIsANone(mlirValueGetType(bias));
  if (has_bias && (!fe_const_of(ir, bias, &b) || b.count != t->out_channels))
    return false;
  t->bias = has_bias ? b.data : NULL;
  return w.count ==
         t->channels * t->out_channels * t->win.kernel[0] * t->win.kernel[1];
}

/// Weights [phase, channel][C][tap] of the convolution; `padded` channels per
/// phase.
static float *deal_out(fe_layout *l, const transposed *t, int64_t padded) {
  const fe_layout_window *w = &t->win;
  int64_t taps = t->taps[0] * t->taps[1];
  int64_t phases = w->stride[0] * w->stride[1];
  float *out = FE_NEW_N(l->ir->arena, float,
                        (size_t)(phases * padded * t->channels * taps));
  for (int64_t p = 0; p < phases; ++p)
    for (int64_t k = 0; k < t->out_channels; ++k)
      for (int64_t c = 0; c < t->channels; ++c)
        for (int64_t i = 0; i < taps; ++i) {
          int64_t r = p / w->stride[1] +
                      w->stride[0] * (t->taps[0] - 1 - i / t->taps[1]);
          int64_t s = p % w->stride[1] +
                      w->stride[1] * (t->taps[1] - 1 - i % t->taps[1]);
          if (r < w->kernel[0] && s < w->kernel[1])
            out[((p * padded + k) * t->channels + c) * taps + i] =
                t->weights[((c * t->out_channels + k) * w->kernel[0] + r) *
                               w->kernel[1] +
                           s];
        }
  return out;
}

/// Whether every pixel of the input gives stride^2 pixels of its own, and the
/// result is all of those: the convolution puts them there itself.
static bool is_spread(fe_ir *ir, const transposed *t) {
  bool all = true;
  for (unsigned i = 0; i < 2; ++i)
    all &= t->taps[i] == 1 && !t->win.pad[i] &&
           mlirAffineExprEqual(
               t->out.size[i],
               fe_dim_mul(t->in.size[i], fe_dim_const(ir, t->win.stride[i])));
  return all;
}

bool fe_layout_conv_transpose(fe_layout *l, MlirOperation op) {
  fe_ir *ir = l->ir;
  transposed t;
  if (!read(l, op, &t) || t.out_channels < (int64_t)l->lanes / 2 ||
      t.channels < (int64_t)l->lanes / 2)
    return false;
  const fe_layout_window *w = &t.win;
  int64_t padded = (t.out_channels + l->lanes - 1) / l->lanes * l->lanes;
  int64_t phases = w->stride[0] * w->stride[1];
  fe_layout_conv_op c = {.in = t.in, .out = t.in};
  c.out.channels = phases * padded;
  c.shape = (fe_conv_shape){
      .out_channels = c.out.channels, .channels = t.channels, .groups = 1};
  for (unsigned i = 0; i < 2; ++i) {
    int64_t reach = t.taps[i] - 1;
    c.win.kernel[i] = c.shape.kernel[i] = t.taps[i];
    c.win.stride[i] = c.shape.stride[i] = 1;
    c.win.dilation[i] = 1;
    c.win.pad[i] = c.win.pad[2 + i] = reach;
    c.shape.pad[i] = c.shape.pad[2 + i] = reach;
    c.out.size[i] = fe_dim_add(t.in.size[i], fe_dim_const(ir, reach));
    c.shape.out[i] = fe_dim_static(c.out.size[i]);
  }
  c.weights = (const fe_float_at *)deal_out(l, &t, padded);
  float *bias = FE_NEW_N(ir->arena, float, (size_t)(phases * padded));
  for (int64_t i = 0; t.bias && i < phases * padded; ++i)
    if (i % padded < t.out_channels)
      bias[i] = t.bias[i % padded];
  c.bias = (const fe_float_at *)bias;
  if (is_spread(ir, &t)) {
    c.spread_out = &t.out;
    memcpy(c.spread, w->stride, sizeof c.spread);
    fe_layout_replace(l, fe_result(op, 0),
                      fe_layout_conv_root(l, fe_operand(op, 0), &c));
    return true;
  }
  MlirValue v = fe_layout_conv_root(l, fe_operand(op, 0), &c);
  MlirNamedAttribute attrs[] = {fe_at_i64s(ir, "strides", 2, w->stride),
                                fe_at_i64s(ir, "starts", 2, w->pad)};
  fe_layout_replace(
      l, fe_result(op, 0),
      fe_layout_root(l, "krnl.interleave", 1, &v, &t.out, 2, attrs));
  return true;
}

//===-- DepthToSpace --------------------------------------------------------//

/// Blocks of channels of a packed operand are phases.
bool fe_layout_depth_to_space(fe_layout *l, MlirOperation op) {
  fe_ir *ir = l->ir;
  fe_image_dims y;
  MlirValue known = fe_layout_known(l, fe_operand(op, 0));
  int64_t size = fe_attr_i64(op, "blocksize", 1);
  if (fe_is_null(known) || !fe_image_dims_of(ir, fe_result(op, 0), &y) ||
      strcmp(fe_attr_str(ir->arena, op, "mode", "DCR"), "DCR") ||
      y.channels % l->lanes)
    return false;
  int64_t strides[2] = {size, size}, starts[2] = {0, 0};
  MlirNamedAttribute attrs[] = {fe_at_i64s(ir, "strides", 2, strides),
                                fe_at_i64s(ir, "starts", 2, starts)};
  fe_layout_replace(
      l, fe_result(op, 0),
      fe_layout_root(l, "krnl.interleave", 1, &known, &y, 2, attrs));
  return true;
}

//===-- Resize --------------------------------------------------------------//

/// Elements 2 and 3 of a constant of four, whose first two are `one` (sizes:
/// those of the image); null when it is something else.
static MlirValue last_two(fe_layout *l, MlirValue v, bool sizes) {
  fe_ir *ir = l->ir;
  int64_t n[4], two = 2;
  if (sizes)
    return fe_const_ints(ir, v, n, 4) == 4 ? fe_constant_i64s(ir, 2, n + 2)
                                           : (MlirValue){NULL};
  fe_const c;
  if (!fe_const_of(ir, v, &c) || c.dtype != FE_F32 || c.count != 4)
    return (MlirValue){NULL};
  float *s = FE_NEW_N(ir->arena, float, 4);
  memcpy(s, c.data, 4 * sizeof *s);
  return s[0] == 1 && s[1] == 1 ? fe_constant(ir, NULL, FE_F32, 1, &two, s + 2)
                                : (MlirValue){NULL};
}

bool fe_layout_resize(fe_layout *l, MlirOperation op) {
  fe_ir *ir = l->ir;
  fe_image_dims y, d;
  MlirValue x = fe_operand(op, 0), known = fe_layout_known(l, x);
  int64_t axes[4];
  if (fe_is_null(known) || !fe_image_dims_of(ir, x, &d) || d.rank != 4 ||
      !fe_image_dims_of(ir, fe_result(op, 0), &y) || d.channels != y.channels ||
      fe_attr_i64s(op, "axes", axes, 4) ||
      !strcmp(fe_attr_str(ir->arena, op, "coordinate_transformation_mode", ""),
              "tf_crop_and_resize"))
    return false;
  MlirValue in[4] = {known, {NULL}, {NULL}, {NULL}};
  unsigned given = 0;
  for (unsigned i = 2; i < 4 && i < fe_n_operands(op); ++i) {
    MlirValue v = fe_operand(op, i);
    fe_dims dims;
    if (mlirTypeIsANone(mlirValueGetType(v)) ||
        (fe_dims_of(ir, v, &dims) && fe_dim_static(dims.d[0]) == 0))
      continue;
    in[i] = last_two(l, v, i == 3);
    if (fe_is_null(in[i]))
      return false;
    ++given;
  }
  if (given != 1)
    return false;
  unsigned n = (unsigned)mlirOperationGetNumAttributes(op);
  MlirNamedAttribute *attrs = FE_NEW_N(ir->arena, MlirNamedAttribute, n + 1);
  for (unsigned i = 0; i < n; ++i) {
    attrs[i] = mlirOperationGetAttribute(op, i);
    if (mlirStringRefEqual(mlirIdentifierStr(attrs[i].name), fe_str("axes")))
      attrs[i] = fe_at_i64s(ir, "axes", 2, (int64_t[]){2, 3});
  }
  MlirOperation made = fe_onnx(ir, "Resize", 4, in, 1, n, attrs);
  if (mlirOperationIsNull(made))
    return false;
  mlirValueSetType(fe_first(made), fe_layout_type(l, &y));
  fe_layout_replace(l, fe_result(op, 0), fe_first(made));
  return true;
}
