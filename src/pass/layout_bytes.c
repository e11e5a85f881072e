//===- layout_bytes.c - convolutions of bytes to packed roots ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized convolutions with constant weights become krnl.conv_bytes, and the
// scaling and rounding behind it an epilogue: images stay bytes from one to the
// next, in the same blocks of channels as those of floats.
//
// The kernel multiplies unsigned bytes x by weights w and knows no zero points.
// Weights are less theirs already: signed bytes, or numbers of 16 bits. x is u,
// or u - 128 where it is signed; with z its zero point as an unsigned byte
//
//   sum (u - z) w = sum u w - z sum w
//
// whose second part is in the bias. What a window has outside of the image must
// be z then: unless z is 0, the image gets a border of it.
//
//===----------------------------------------------------------------------===//
#include "pass/layout.h"

#include <string.h>

/// Multiplications per output element below which moving data dominates.
#define MIN_PRODUCTS 8
/// Taps of a row of a depthwise window; each has its code.
#define MAX_TAPS 16

typedef struct byte_conv {
  fe_q_conv q;
  fe_layout_conv_op c;
  int64_t zero;   // z
  bool depthwise; // one filter per channel: krnl.depthwise_bytes
} byte_conv;

static bool has_signed_bytes(const fe_layout_conv_op *c) {
  const fe_conv_shape *s = &c->shape;
  int64_t n = s->out_channels * s->channels * s->kernel[0] * s->kernel[1];
  for (int64_t i = 0; i < n; ++i)
    if (!(c->weights[i] >= -128 && c->weights[i] <= 127))
      return false;
  return true;
}

/// False: it is not for this kernel.
static bool read(fe_layout *l, byte_conv *b) {
  const fe_q_conv *q = &b->q;
  fe_layout_conv_op *c = &b->c;
  fe_conv_shape *s = &c->shape;
  if (!fe_image_dims_any(l->ir, q->x, &c->in) ||
      !fe_image_dims_any(l->ir, fe_result(q->op, 0), &c->out) ||
      q->d.rank != c->in.rank ||
      !fe_layout_window_of(l, q->op, &c->in, q->dims + 2, &c->win))
    return false;
  if (!fe_layout_conv_shape(c, fe_attr_i64(q->op, "group", 1)))
    return false;
  c->weights = q->weights;
  b->zero = (int64_t)q->x_zero + (q->is_signed ? 128 : 0);
  b->depthwise = s->groups > 1 && s->channels == 1 &&
                 s->groups == s->out_channels && s->kernel[1] <= MAX_TAPS;
  if (s->groups > 1 && s->channels == 1 && !b->depthwise)
    return false; // the kernel's groups are whole blocks
  if (q->dims[0] != s->out_channels || q->dims[1] != s->channels)
    return false;
  s->dot = fe_dot_choose_bytes(l->target, has_signed_bytes(c));
  return s->dot != FE_DOT_NONE &&
         s->channels * s->kernel[0] * s->kernel[1] >= MIN_PRODUCTS &&
         (b->depthwise || fe_layout_fit_groups(l, c));
}

bool fe_layout_takes_bytes(fe_ir *ir, const fe_target *t, const fe_q_conv *q) {
  fe_layout l = {.ir = ir, .target = t, .lanes = fe_conv_block(t)};
  byte_conv b = {.q = *q};
  return read(&l, &b);
}

//===-- Constants -----------------------------------------------------------//

typedef struct words {
  int32_t *at;
  const fe_layout_conv_op *c;
  int64_t block; // channels in a block of the input
} words;

/// The panel of `width` filters from k0 on.
static void pack_panel(words *w, int64_t k0, int64_t width) {
  const fe_conv_shape *s = &w->c->shape;
  int64_t taps = s->kernel[0] * s->kernel[1];
  for (int64_t c0 = 0; c0 < s->channels; c0 += w->block) {
    int64_t end = c0 + w->block < s->channels ? c0 + w->block : s->channels;
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t word = c0; word < end; word += FE_DOT_BYTES) {
        for (int64_t k = k0; k < k0 + width && k < s->out_channels; ++k)
          for (int64_t i = word; i < word + FE_DOT_BYTES && i < s->channels;
               ++i)
            fe_dot_put(s->dot, w->at, width, k - k0, (unsigned)(i - word),
                       (int)w->c->weights[(k * s->channels + i) * taps + tap]);
        w->at += fe_dot_words(s->dot) * width;
      }
  }
}

static MlirValue weights_of(fe_layout *l, const byte_conv *b, int64_t panel,
                            int64_t block) {
  const fe_conv_shape *s = &b->c.shape;
  int64_t blocks = (s->out_channels + l->lanes - 1) / l->lanes;
  fe_panels p = fe_conv_panels(blocks, panel);
  int64_t count = (s->channels + FE_DOT_BYTES - 1) / FE_DOT_BYTES * blocks *
                  l->lanes * s->kernel[0] * s->kernel[1] * fe_dot_words(s->dot);
  int32_t *data = FE_NEW_N(l->ir->arena, int32_t, (size_t)count);
  words w = {data, &b->c, block};
  int64_t width = panel * l->lanes;
  for (int64_t i = 0; i < p.main; ++i)
    pack_panel(&w, i * width, width);
  if (p.last)
    pack_panel(&w, p.main * width, p.last * l->lanes);
  return fe_constant(l->ir, "weights", FE_I32, 1, &count, data);
}

/// Of krnl.conv_tiles.
static MlirValue tiles_of(fe_layout *l, const byte_conv *b) {
  int64_t count = fe_conv_tiled_words(&b->c.shape);
  int32_t *data = FE_NEW_N(l->ir->arena, int32_t, (size_t)count);
  fe_conv_tile_weights(&b->c.shape, b->c.weights, (int8_t *)data);
  return fe_constant(l->ir, "weights", FE_I32, 1, &count, data);
}

/// Of krnl.depthwise_bytes.
static MlirValue filters_of(fe_layout *l, const byte_conv *b) {
  const fe_conv_shape *s = &b->c.shape;
  int64_t quads = (s->kernel[1] + FE_DOT_BYTES - 1) / FE_DOT_BYTES;
  int64_t width = fe_dot_words(s->dot) * l->lanes;
  int64_t dims[4] = {(s->out_channels + l->lanes - 1) / l->lanes, s->kernel[0],
                     quads, width};
  int64_t block = s->kernel[0] * quads * width;
  int32_t *data = FE_NEW_N(l->ir->arena, int32_t, (size_t)(dims[0] * block));
  const fe_float_at *from = b->c.weights;
  for (int64_t k = 0; k < s->out_channels; ++k)
    for (int64_t r = 0; r < s->kernel[0]; ++r)
      for (int64_t i = 0; i < s->kernel[1]; ++i, ++from) {
        int64_t quad =
            k / l->lanes * block + (r * quads + i / FE_DOT_BYTES) * width;
        fe_dot_put(s->dot, data + quad, l->lanes, k % l->lanes,
                   (unsigned)(i % FE_DOT_BYTES), (int)*from);
      }
  return fe_constant(l->ir, "weights", FE_I32, 4, dims, data);
}

/// What the sums start with.
static MlirValue bias_of(fe_layout *l, const byte_conv *b) {
  const fe_conv_shape *s = &b->c.shape;
  int64_t n = s->out_channels, each = s->channels * s->kernel[0] * s->kernel[1];
  int64_t dims[2] = {(n + l->lanes - 1) / l->lanes, l->lanes};
  int32_t *data = FE_NEW_N(l->ir->arena, int32_t, (size_t)(dims[0] * dims[1]));
  for (int64_t k = 0; k < n; ++k) {
    int64_t sum = b->q.bias ? b->q.bias[k] : 0;
    for (int64_t i = 0; i < each; ++i)
      sum -= b->zero * (int64_t)b->c.weights[k * each + i];
    data[k] = (int32_t)(uint32_t)sum;
  }
  return fe_constant(l->ir, "bias", FE_I32, 2, dims, data);
}

static MlirValue factor_of(fe_layout *l, const byte_conv *b) {
  const fe_q_conv *q = &b->q;
  if (q->n_factors == 1)
    return fe_constant_scalar(l->ir, FE_F32, q->factor[0]);
  int64_t count;
  float *data = fe_conv_pack_channels(l->ir->arena, l->lanes, q->n_factors, 1,
                                      q->factor, &count);
  int64_t dims[4] = {count / l->lanes, 1, 1, l->lanes};
  return fe_constant(l->ir, "factor", FE_F32, 4, dims, data);
}

//===-- The ops -------------------------------------------------------------//

/// The image as the kernel reads it, in blocks of *block channels.
static MlirValue image_of(fe_layout *l, byte_conv *b, int64_t *block) {
  fe_ir *ir = l->ir;
  fe_layout_conv_op *c = &b->c;
  const int64_t *pad = c->win.pad;
  MlirValue x = b->q.x, known = fe_layout_known(l, x);
  bool border = b->zero && (pad[0] || pad[1] || pad[2] || pad[3]);
  // Nobody else wants so narrow blocks.
  bool narrow =
      fe_is_null(known) && !b->depthwise && c->in.channels <= FE_DOT_BYTES;
  *block = narrow ? FE_DOT_BYTES : l->lanes;
  if (!border && !narrow)
    return fe_layout_pack(l, x);
  int64_t none[4] = {0};
  MlirNamedAttribute attrs[] = {fe_at_i64s(ir, "pads", 4, border ? pad : none),
                                fe_at_i64(ir, "value", (int64_t)b->q.x_zero)};
  fe_image_dims d = c->in;
  for (unsigned i = 0; i < 2 && border; ++i) {
    d.size[i] = fe_dim_add(d.size[i], fe_dim_const(ir, pad[i] + pad[2 + i]));
    c->win.pad[i] = c->win.pad[2 + i] = 0;
  }
  MlirValue in = fe_is_null(known) ? fe_layout_plane(l, x) : known;
  int64_t blocks = (d.channels + *block - 1) / *block;
  fe_dims dims = {5,
                  {d.n, fe_dim_const(ir, blocks), d.size[0], d.size[1],
                   fe_dim_const(ir, *block)}};
  MlirType type = fe_tensor_type(ir, fe_elem_type(ir, d.type), &dims);
  return fe_first(FE_OP(ir, "krnl.pack_bytes", FE_VALUES(in), FE_TYPES(type),
                        .n_attrs = FE_COUNT(attrs), .attrs = attrs));
}

bool fe_layout_bytes(fe_layout *l, MlirOperation op) {
  fe_ir *ir = l->ir;
  byte_conv b = {0};
  if (!fe_q_conv_read(ir, op, &b.q) || !read(l, &b))
    return false;
  fe_layout_conv_op *c = &b.c;
  const fe_layout_window *w = &c->win;
  bool tiles =
      !b.depthwise && fe_conv_takes_tiles(l->target, &c->shape, w->dilation);
  int64_t block, panel = fe_conv_choose_panel(l->target, &c->shape);
  MlirValue in[3] = {image_of(l, &b, &block)};
  in[1] = b.depthwise ? filters_of(l, &b)
          : tiles     ? tiles_of(l, &b)
                      : weights_of(l, &b, panel, block);
  in[2] = bias_of(l, &b);
  const char *root = b.depthwise ? "krnl.depthwise_bytes"
                     : tiles     ? "krnl.conv_tiles"
                                 : "krnl.conv_bytes";
  MlirNamedAttribute attrs[] = {fe_at_i64s(ir, "kernel", 2, w->kernel),
                                fe_at_i64s(ir, "strides", 2, w->stride),
                                fe_at_i64s(ir, "dilations", 2, w->dilation),
                                fe_at_i64s(ir, "pads", 4, w->pad),
                                fe_at_i64(ir, "signed", b.q.is_signed),
                                fe_at_i64(ir, "channels", c->shape.channels),
                                fe_at_str(ir, "dot", fe_dot_name(c->shape.dot)),
                                fe_at_i64(ir, "groups", c->shape.groups),
                                fe_at_i64(ir, "panel", panel)};
  unsigned n_attrs = FE_COUNT(attrs) - (tiles ? 3 : 0);
  if (b.depthwise) { // no channels, groups and panel
    attrs[5] = attrs[6];
    n_attrs -= 3;
  }
  fe_image_dims sums = c->out;
  sums.type = FE_I32;
  MlirValue v = fe_layout_root(l, root, 3, in, &sums, n_attrs, attrs);
  if (b.q.linear) {
    MlirValue zero = fe_constant_scalar(ir, b.q.type, b.q.y_zero);
    v = fe_onnx1(ir, "ms_requantize", v, factor_of(l, &b), zero);
    if (fe_is_null(v))
      return false;
    mlirValueSetType(v, fe_layout_type(l, &c->out));
  }
  fe_layout_replace(l, fe_result(op, 0), v);
  return true;
}
