//===- volume.c - convolutions of volumes as those of images -----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution over three dims is one of images whose channels are all slices
// that the window sees (DepthWindows, DepthImages), or an image as it is where
// the kernel has size 1 in the depth and vertically, or in both other dims. A
// transposed one whose kernel is as deep as its stride goes slice by slice.
//
// Needs: f32, constant weights, padding that is known. Everything else stays
// and is lowered as it is, filters for one channel each too: their slices would
// be groups, and they are as fast without.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"
#include "op/sliding.h"
#include "pass/pass.h"

#include <string.h>

//===-- Shapes --------------------------------------------------------------//

/// Of a shape: dims [from, to) of v, all in one if `joined`.
typedef struct part {
  MlirValue v;
  unsigned from, to;
  bool joined;
} part;

#define DIMS(value, a, b) {.v = (value), .from = (a), .to = (b)}
#define JOINED(value, a, b)                                                    \
  {.v = (value), .from = (a), .to = (b), .joined = true}

static MlirValue sizes_of(fe_ir *ir, MlirValue v, unsigned from, unsigned to) {
  return FE_COMPOSE(
      ir, "Shape", FE_VALUES(v),
      FE_ATTRS(fe_at_i64(ir, "start", from), fe_at_i64(ir, "end", to)));
}

static MlirValue reshape_to(fe_ir *ir, MlirValue v, unsigned n,
                            const MlirValue *list) {
  MlirValue both[2] = {v, fe_x_concat(ir, 0, n, list)};
  MlirNamedAttribute zeros = fe_at_i64(ir, "allowzero", 1);
  return fe_first(fe_onnx(ir, "Reshape", 2, both, 1, 1, &zeros));
}

static MlirValue reshaped(fe_ir *ir, MlirValue v, unsigned n, const part *p) {
  MlirValue list[4];
  for (unsigned i = 0; i < n; ++i) {
    list[i] = sizes_of(ir, p[i].v, p[i].from, p[i].to);
    if (p[i].joined && p[i].to != p[i].from + 1)
      list[i] = FE_X(ir, "ReduceProd", list[i]);
  }
  return reshape_to(ir, v, n, list);
}
#define RESHAPED(ir, v, ...)                                                   \
  reshaped(ir, v, sizeof((part[]){__VA_ARGS__}) / sizeof(part),                \
           (part[]){__VA_ARGS__})

/// Replaces the op if `v` is what it gives.
static bool replace(MlirOperation op, MlirValue v) {
  MlirValue old = fe_result(op, 0);
  if (fe_is_null(v) ||
      !mlirTypeEqual(mlirValueGetType(v), mlirValueGetType(old)))
    return false;
  fe_replace(old, v);
  fe_erase(op);
  return true;
}

static bool trivial(const fe_sliding *w, unsigned i) {
  return w->kernel[i] == 1 && w->stride[i] == 1 && !w->begin[i] && !w->end[i];
}

/// Attributes of a window over dims `a` and `b` of w; -1: a dim that is left
/// alone.
static unsigned window_attrs(fe_ir *ir, MlirOperation op, const fe_sliding *w,
                             int a, int b, MlirNamedAttribute *out) {
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1},
          pads[4] = {0};
  const int from[2] = {a, b};
  for (unsigned i = 0; i < 2; ++i) {
    int d = from[i];
    if (d < 0)
      continue;
    kernel[i] = w->kernel[d];
    stride[i] = w->stride[d];
    dilation[i] = w->dilation[d];
    pads[i] = w->begin[d];
    pads[2 + i] = w->end[d];
  }
  const char *how = w->same == FE_SAME_NO
                        ? "NOTSET"
                        : fe_attr_str(ir->arena, op, "auto_pad", "NOTSET");
  out[0] = fe_at_i64s(ir, "kernel_shape", 2, kernel);
  out[1] = fe_at_i64s(ir, "strides", 2, stride);
  out[2] = fe_at_i64s(ir, "dilations", 2, dilation);
  out[3] = fe_at_i64s(ir, "pads", 4, pads);
  out[4] = fe_at_str(ir, "auto_pad", how);
  return 5;
}

//===-- Convolutions --------------------------------------------------------//

typedef struct volume {
  fe_ir *ir;
  MlirOperation op;
  fe_sliding w;
  MlirValue x, weights, bias;
  int64_t out, in; // channels; in: of one group
} volume;

static bool read_conv(fe_ir *ir, MlirOperation op, volume *v) {
  fe_dims x, w;
  fe_const c;
  *v = (volume){.ir = ir, .op = op};
  v->x = fe_operand(op, 0);
  v->weights = fe_operand(op, 1);
  v->bias = fe_operand(op, 2);
  if (!fe_dims_of(ir, v->x, &x) || x.rank != 5 ||
      !fe_const_of(ir, v->weights, &c) || c.dtype != FE_F32 ||
      !fe_dims_of(ir, v->weights, &w) ||
      fe_sliding_read(ir, (fe_where){0}, op, &x, &w, &v->w) ||
      v->w.same != FE_SAME_NO)
    return false;
  v->out = fe_dim_static(w.d[0]);
  v->in = fe_dim_static(w.d[1]);
  return v->out > 0 && v->in > 0;
}

/// A convolution of images over dims a and b of the window, `channels` of each
/// group.
static MlirValue conv(const volume *v, MlirValue x, int64_t channels, int a,
                      int b) {
  fe_ir *ir = v->ir;
  int64_t dims[4] = {v->out, channels, a < 0 ? 1 : v->w.kernel[a],
                     b < 0 ? 1 : v->w.kernel[b]};
  fe_const c;
  if (!fe_const_of(ir, v->weights, &c))
    return (MlirValue){NULL};
  MlirValue in[3] = {x,
                     fe_constant(ir, "volume.weight", FE_F32, 4, dims,
                                 fe_memdup(ir->arena, c.data, c.size)),
                     v->bias};
  MlirNamedAttribute at[6];
  unsigned n = window_attrs(ir, v->op, &v->w, a, b, at);
  at[n++] = fe_at_i64(ir, "group", fe_attr_i64(v->op, "group", 1));
  return fe_first(fe_onnx(ir, "Conv", 3, in, 1, n, at));
}

/// All slices that a window sees are channels: the weights, [out][in][depth]
/// [..], already are in that order.
static MlirValue conv_of_slices(const volume *v) {
  fe_ir *ir = v->ir;
  const fe_sliding *w = &v->w;
  MlirNamedAttribute at[] = {
      fe_at_i64(ir, "kernel", w->kernel[0]),
      fe_at_i64(ir, "stride", w->stride[0]),
      fe_at_i64(ir, "dilation", w->dilation[0]),
      fe_at_i64s(ir, "pads", 2, (int64_t[]){w->begin[0], w->end[0]})};
  MlirValue images =
      fe_first(fe_onnx(ir, "ms_depth_windows", 1, &v->x, 1, FE_COUNT(at), at));
  if (fe_is_null(images))
    return images;
  MlirValue y = conv(v, images, v->in * w->kernel[0], 1, 2);
  MlirValue both[2] = {y, v->x};
  return fe_is_null(y) ? y
                       : fe_first(fe_onnx(ir, "ms_depth_images", 2, both, 1,
                                          FE_COUNT(at), at));
}

static void flatten_conv(fe_ir *ir, MlirOperation op) {
  volume v;
  if (!read_conv(ir, op, &v))
    return;
  const fe_sliding *w = &v.w;
  int64_t group = fe_attr_i64(op, "group", 1);
  if (trivial(w, 1) && trivial(w, 2)) {
    MlirValue y = RESHAPED(ir, v.x, DIMS(v.x, 0, 3), JOINED(v.x, 3, 5));
    y = conv(&v, y, v.in, 0, -1);
    replace(op, RESHAPED(ir, y, DIMS(y, 0, 3), DIMS(v.x, 3, 5)));
  } else if (trivial(w, 0) && trivial(w, 1)) {
    MlirValue y =
        RESHAPED(ir, v.x, DIMS(v.x, 0, 2), JOINED(v.x, 2, 4), DIMS(v.x, 4, 5));
    y = conv(&v, y, v.in, -1, 2);
    replace(op, RESHAPED(ir, y, DIMS(y, 0, 2), DIMS(v.x, 2, 4), DIMS(y, 3, 4)));
  } else if (group == 1 || v.in > 1) {
    replace(op, conv_of_slices(&v));
  }
}

//===-- Transposed convolutions ---------------------------------------------//

/// Where the kernel is as deep as the stride, each slice of the volume gives
/// slices of the result by itself, as many as that: they are channels of a
/// transposed convolution of images.
static void flatten_conv_transpose(fe_ir *ir, MlirOperation op) {
  MlirValue x = fe_operand(op, 0), b = fe_operand(op, 2);
  bool has_bias = !fe_is_null(b) && !mlirTypeIsANone(mlirValueGetType(b));
  fe_dims xd, wd;
  fe_const w, bias = {0};
  fe_unsliding s;
  if (!fe_dims_of(ir, x, &xd) || xd.rank != 5 ||
      !fe_const_of(ir, fe_operand(op, 1), &w) || w.dtype != FE_F32 ||
      !fe_dims_of(ir, fe_operand(op, 1), &wd) ||
      (has_bias && !fe_const_of(ir, b, &bias)) ||
      fe_attr_i64(op, "group", 1) != 1 ||
      fe_unsliding_read(ir, (fe_where){0}, op, &xd, &wd, &s))
    return;
  const fe_sliding *win = &s.win;
  for (unsigned i = 0; i < 3; ++i)
    if (s.late[i] || s.want[i] != FE_DYN || win->kernel[i] == FE_DYN)
      return;
  int64_t depth = win->kernel[0], in = fe_dim_static(wd.d[0]),
          out = fe_dim_static(wd.d[1]), plane = win->kernel[1] * win->kernel[2];
  if (depth != win->stride[0] || win->dilation[0] != 1 || win->begin[0] ||
      win->end[0] || s.extra[0] || in < 1 || out < 1)
    return;
  // [in][out][depth][plane] as [in][depth][out][plane].
  const fe_float_at *from = w.data;
  float *weights = FE_NEW_N(ir->arena, float, (size_t)w.count);
  int64_t channels = out * depth;
  for (int64_t i = 0; i < w.count; ++i) {
    int64_t p = i % plane, d = i / plane % depth, o = i / plane / depth % out;
    weights[((i / plane / channels * depth + d) * out + o) * plane + p] =
        from[i];
  }
  int64_t dims[4] = {in, channels, win->kernel[1], win->kernel[2]};
  MlirValue operands[3] = {
      fe_first(fe_onnx(ir, "ms_depth_windows", 1, &x, 1, 1,
                       (MlirNamedAttribute[]){fe_at_i64(ir, "kernel", 1)})),
      fe_constant(ir, "volume.weight", FE_F32, 4, dims, weights)};
  if (has_bias) {
    const fe_float_at *one = bias.data;
    float *all = FE_NEW_N(ir->arena, float, (size_t)channels);
    for (int64_t i = 0; i < channels; ++i)
      all[i] = one[i % out];
    operands[2] = fe_constant(ir, "volume.bias", FE_F32, 1, &channels, all);
  }
  MlirNamedAttribute at[6];
  unsigned n = window_attrs(ir, op, win, 1, 2, at);
  at[n - 1] = fe_at_str(ir, "auto_pad", "NOTSET");
  at[n++] = fe_at_i64s(ir, "output_padding", 2, &s.extra[1]);
  MlirValue y =
      fe_first(fe_onnx(ir, "ConvTranspose", 2 + has_bias, operands, 1, n, at));
  if (fe_is_null(y))
    return;
  // [N * D][depth][out][..] to [N][out][D][depth][..].
  const int64_t inner[2] = {depth, out};
  MlirValue list[4] = {sizes_of(ir, x, 0, 1), sizes_of(ir, x, 2, 3),
                       fe_constant_i64s(ir, 2, inner), sizes_of(ir, y, 2, 4)};
  y = reshape_to(ir, y, 4, list);
  MlirNamedAttribute perm =
      fe_at_i64s(ir, "perm", 6, (int64_t[]){0, 3, 1, 2, 4, 5});
  y = fe_first(fe_onnx(ir, "Transpose", 1, &y, 1, 1, &perm));
  if (!fe_is_null(y))
    replace(op, RESHAPED(ir, y, DIMS(y, 0, 2), JOINED(y, 2, 4), DIMS(y, 4, 6)));
}

//===-- The pass ------------------------------------------------------------//

static void rewrite(MlirOperation op, void *user) {
  static const struct {
    const char *op;
    void (*apply)(fe_ir *ir, MlirOperation op);
  } rules[] = {{"onnx.conv", flatten_conv},
               {"onnx.conv_transpose", flatten_conv_transpose}};
  fe_ir *ir = user;
  for (size_t i = 0; i < FE_COUNT(rules); ++i)
    if (fe_op_is(op, rules[i].op)) {
      ir->loc = mlirOperationGetLocation(op);
      fe_point_before(ir, op);
      rules[i].apply(ir, op);
      return;
    }
}

fe_status fe_pass_volume(fe_ir *ir, MlirModule *module,
                         const fe_pass_options *o) {
  (void)o;
  MlirOperation func = fe_func_find(*module, "main");
  if (mlirOperationIsNull(func))
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "the module has no function @main");
  fe_point saved = fe_point_save(ir);
  fe_walk(fe_func_block(func), rewrite, ir);
  fe_point_restore(ir, saved);
  fe_symbols_store(ir, *module);
  return FE_OK;
}
