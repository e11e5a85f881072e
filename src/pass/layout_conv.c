//===- layout_conv.c - convolutions to packed roots --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which root computes an onnx.conv, and puts its weights in order.
//   - one filter per channel: krnl.depthwise;
//   - groups of whole blocks: krnl.conv with groups;
//   - smaller groups: neighbours are put together until they are whole blocks,
//     with zeros between them, as long as that pays; else one dense group;
//   - or, where that means less zeros, panels see the blocks that hold the
//     groups of their channels;
//   - few channels of a plain image: krnl.conv reads the planes.
// Convolutions whose weights are not constant stay onnx.conv.
//
//===----------------------------------------------------------------------===//
#include "kernel/conv.h"
#include "pass/layout.h"

/// Products that a merged or dense group may have for each that counts.
#define MAX_WASTE 16
/// What zeros between groups may cost before panels that see several are
/// better.
#define SPAN_PAYS 0.9
/// Multiplications per output element below which moving data dominates.
#define MIN_PRODUCTS 8

typedef fe_layout_conv_op conv_op;

bool fe_layout_conv_shape(fe_layout_conv_op *c, int64_t groups) {
  fe_conv_shape *s = &c->shape;
  *s = (fe_conv_shape){.out_channels = c->out.channels, .groups = groups};
  if (groups < 1 || c->in.channels % groups || s->out_channels % groups)
    return false;
  s->channels = c->in.channels / groups;
  for (unsigned i = 0; i < 2; ++i) {
    s->kernel[i] = c->win.kernel[i];
    s->stride[i] = c->win.stride[i];
    s->pad[i] = c->win.pad[i];
    s->pad[2 + i] = c->win.pad[2 + i];
    s->out[i] = fe_dim_static(c->out.size[i]);
  }
  return true;
}

static bool read(fe_layout *l, MlirOperation op, conv_op *c) {
  fe_ir *ir = l->ir;
  fe_dims d;
  fe_const w, b;
  MlirValue weights = fe_operand(op, 1), bias = fe_operand(op, 2);
  if (!fe_image_dims_of(ir, fe_operand(op, 0), &c->in) ||
      !fe_image_dims_of(ir, fe_result(op, 0), &c->out) ||
      !fe_dims_of(ir, weights, &d) || d.rank != c->in.rank ||
      !fe_const_of(ir, weights, &w))
    return false;
  int64_t kernel[2];
  for (unsigned i = 2; i < d.rank; ++i)
    kernel[i - 2] = fe_dim_static(d.d[i]);
  if (!fe_layout_window_of(l, op, &c->in, kernel, &c->win))
    return false;
  if (!fe_layout_conv_shape(c, fe_attr_i64(op, "group", 1)))
    return false;
  fe_conv_shape *s = &c->shape;
  c->weights = w.data;
  bool has_bias = !fe_is_null(bias) && !mlirTypeIsANone(mlirValueGetType(bias));
  if (has_bias && (!fe_const_of(ir, bias, &b) || b.count != s->out_channels))
    return false;
  c->bias = has_bias ? b.data : NULL;
  return w.count == s->out_channels * s->channels * kernel[0] *
                        (d.rank == 4 ? kernel[1] : 1);
}

static MlirValue bias_of(fe_layout *l, const conv_op *c) {
  fe_ir *ir = l->ir;
  int64_t n = c->shape.out_channels, count;
  const fe_float_at *data =
      c->bias ? c->bias : FE_NEW_N(ir->arena, fe_float_at, (size_t)n);
  float *packed =
      fe_conv_pack_channels(ir->arena, l->lanes, n, 1, data, &count);
  int64_t dims[2] = {count / l->lanes, l->lanes};
  return fe_constant(ir, "bias", FE_F32, 2, dims, packed);
}

static void depthwise(fe_layout *l, MlirOperation op, const conv_op *c) {
  fe_ir *ir = l->ir;
  const fe_layout_window *w = &c->win;
  int64_t count, taps = w->kernel[0] * w->kernel[1];
  float *data = fe_conv_pack_channels(
      ir->arena, l->lanes, c->shape.out_channels, taps, c->weights, &count);
  int64_t dims[4] = {count / taps / l->lanes, w->kernel[0], w->kernel[1],
                     l->lanes};
  MlirValue in[3] = {fe_layout_pack(l, fe_operand(op, 0)),
                     fe_constant(ir, "weights", FE_F32, 4, dims, data),
                     bias_of(l, c)};
  MlirNamedAttribute attrs[] = {fe_at_i64s(ir, "kernel", 2, w->kernel),
                                fe_at_i64s(ir, "strides", 2, w->stride),
                                fe_at_i64s(ir, "dilations", 2, w->dilation),
                                fe_at_i64s(ir, "pads", 4, w->pad)};
  fe_layout_replace(l, fe_result(op, 0),
                    fe_layout_root(l, "krnl.depthwise", 3, in, &c->out,
                                   FE_COUNT(attrs), attrs));
}

/// Puts `merge` neighbouring groups together: their weights become blocks on
/// the diagonal of one group's.
static void merge_groups(fe_layout *l, conv_op *c, int64_t merge) {
  fe_conv_shape *s = &c->shape;
  int64_t taps = s->kernel[0] * s->kernel[1],
          k_of = s->out_channels / s->groups;
  int64_t old = s->channels * taps, row = merge * old;
  float *w = FE_NEW_N(l->ir->arena, float, (size_t)(s->out_channels * row));
  for (int64_t k = 0; k < s->out_channels; ++k) {
    int64_t place = k / k_of % merge;
    for (int64_t i = 0; i < old; ++i)
      w[k * row + place * old + i] = c->weights[k * old + i];
  }
  c->weights = w;
  s->channels *= merge;
  s->groups /= merge;
}

bool fe_layout_fit_groups(fe_layout *l, conv_op *c) {
  fe_conv_shape *s = &c->shape;
  if (s->groups == 1)
    return true;
  int64_t k_of = s->out_channels / s->groups;
  double span = MAX_WASTE + 1;
  if (fe_conv_spans(l->target, s))
    span = fe_conv_span_waste(s, l->lanes, fe_conv_choose_panel(l->target, s)) /
           SPAN_PAYS;
  for (int64_t n = 1; n <= s->groups && n <= MAX_WASTE && n <= span; ++n)
    if (s->groups % n == 0 &&
        (n == s->groups ||
         (n * s->channels % l->lanes == 0 && n * k_of % l->lanes == 0))) {
      if (n > 1)
        merge_groups(l, c, n);
      return true;
    }
  return false;
}

/// The constant weights, in panels.
static MlirValue weights_of(fe_layout *l, const fe_conv_packing *p) {
  fe_ir *ir = l->ir;
  int64_t count = fe_conv_packed_count(p);
  return fe_constant_promise(ir, "weights", FE_F32, 1, &count,
                             fe_conv_packed_parts(p), fe_conv_pack_weights,
                             fe_memdup(ir->arena, p, sizeof *p));
}

/// The same in products.
static MlirValue product_weights(fe_layout *l, const fe_conv_packing *p,
                                 int64_t t) {
  fe_ir *ir = l->ir;
  const fe_winograd_packing packing = {*p, t};
  int64_t count = fe_winograd_packed_count(&packing);
  if (l->winograd_weights != FE_WEIGHTS_MADE)
    return fe_constant_promise(ir, "weights", FE_F32, 1, &count,
                               fe_winograd_packed_parts(&packing),
                               fe_winograd_pack_weights,
                               fe_memdup(ir->arena, &packing, sizeof packing));
  MlirType row = fe_tensor_static(ir, ir->f32, 1, &count);
  MlirNamedAttribute attrs[] = {fe_at_i64(ir, "tile", t),
                                fe_at_i64(ir, "channels", p->shape.channels),
                                fe_at_i64(ir, "panel", p->panel)};
  MlirValue plain = weights_of(l, p);
  return fe_first(FE_OP(ir, "krnl.winograd_weights", FE_VALUES(plain),
                        FE_TYPES(row), .n_attrs = FE_COUNT(attrs),
                        .attrs = attrs));
}

/// krnl.winograd and what it needs before it.
static MlirValue winograd(fe_layout *l, const conv_op *c, fe_winograd_plan plan,
                          const fe_conv_packing *packing, MlirValue image) {
  fe_ir *ir = l->ir;
  const fe_conv_shape *s = &c->shape;
  int64_t t = plan.tile;
  MlirNamedAttribute tile = fe_at_i64(ir, "tile", t);
  MlirNamedAttribute block = fe_at_i64(ir, "block", plan.block);
  MlirNamedAttribute channels = fe_at_i64(ir, "channels", s->channels);
  MlirNamedAttribute width = fe_at_i64(ir, "panel", packing->panel);
  MlirNamedAttribute pads = fe_at_i64s(ir, "pads", 4, s->pad);
  MlirValue x = image;
  if (!plan.fused) {
    int64_t tiles = fe_dim_static(c->out.n) * ((s->out[0] + t - 1) / t) *
                    ((s->out[1] + t - 1) / t);
    int64_t dims[3] = {
        (tiles + plan.block - 1) / plan.block, fe_winograd_products(t),
        fe_winograd_input_row(l->lanes, s->channels, plan.block)};
    MlirType type = fe_tensor_static(ir, ir->f32, 3, dims);
    x = fe_first(FE_OP(ir, "krnl.winograd_input", FE_VALUES(image),
                       FE_TYPES(type), FE_ATTRS(tile, block, pads)));
  }
  MlirValue operands[3] = {x, product_weights(l, packing, t), bias_of(l, c)};
  MlirNamedAttribute attrs[] = {tile, block, channels, width, pads};
  return fe_layout_root(l, "krnl.winograd", 3, operands, &c->out,
                        FE_COUNT(attrs), attrs);
}

/// Weights of quantized convolutions: their sums are exact in floats, which the
/// transforms of Winograd's filtering, with their fractions, would spoil.
static bool has_whole_weights(const conv_op *c) {
  const fe_conv_shape *s = &c->shape;
  int64_t n = s->out_channels * s->channels * s->kernel[0] * s->kernel[1];
  for (int64_t i = 0; i < n; ++i) {
    float w = c->weights[i];
    if (!(w >= -512 && w <= 512) || w != (float)(int)w)
      return false;
  }
  return true;
}

/// How a convolution is done: the panel, and Winograd's filtering if its tile
/// is not 0.
typedef struct choice {
  int64_t panel;
  fe_winograd_plan plan;
} choice;

/// A hash of all that decides what can be chosen.
static uint64_t key_of(const conv_op *c, bool direct_only) {
  const fe_conv_shape *s = &c->shape;
  const fe_layout_window *w = &c->win;
  int64_t v[] = {s->out_channels,
                 s->channels,
                 s->groups,
                 s->out[0],
                 s->out[1],
                 fe_dim_static(c->in.n),
                 fe_dim_static(c->in.size[0]),
                 fe_dim_static(c->in.size[1]),
                 w->kernel[0],
                 w->kernel[1],
                 w->stride[0],
                 w->stride[1],
                 w->dilation[0],
                 w->dilation[1],
                 w->pad[0],
                 w->pad[1],
                 w->pad[2],
                 w->pad[3],
                 s->plain,
                 direct_only};
  return fe_hash(v, sizeof v, 0);
}

/// Takes what a schedule file says of this convolution, and notes the result.
static void use_file(fe_layout *l, const conv_op *c, bool direct_only,
                     choice *out) {
  static const char root[] = "convolution";
  fe_ir *ir = l->ir;
  uint64_t key = key_of(c, direct_only);
  const fe_schedule_line *line =
      fe_schedules_find(l->schedules, l->target, root, key);
  int64_t algorithm = out->plan.tile, panel = out->panel, most;
  fe_schedule_take(line, "algorithm", &algorithm);
  fe_schedule_take(line, "panel", &panel);
  fe_winograd_plan plan = {0};
  if (algorithm && !direct_only)
    plan = fe_winograd_plan_for(l->target, &c->shape, fe_dim_static(c->out.n),
                                algorithm, &most);
  fe_where where = {.file =
                        line ? fe_schedule_place(l->schedules, line) : NULL};
  if (!line)
    ; // as chosen
  else if (algorithm && !plan.tile)
    fe_error(ir->diags, where, "algorithm=0 is the direct one",
             "this convolution cannot be done by algorithm %lld",
             (long long)algorithm);
  else if (!fe_conv_panel_fits(l->target, &c->shape, panel))
    fe_error(ir->diags, where, "leave it to the compiler",
             "the output channels cannot be cut into panels of %lld",
             (long long)panel);
  else
    *out = (choice){panel, plan};
  fe_chosen chosen = {
      .root = "convolution",
      .key = key,
      .node = fe_loc_node(ir, ir->loc),
      .n = 2,
      .knob = {{"algorithm", out->plan.tile}, {"panel", out->panel}}};
  fe_schedules_note(l->schedules, &chosen);
}

static choice choose(fe_layout *l, const conv_op *c) {
  const fe_layout_window *w = &c->win;
  bool direct_only = l->direct || w->dilation[0] != 1 || w->dilation[1] != 1 ||
                     fe_conv_spans(l->target, &c->shape) ||
                     has_whole_weights(c);
  choice out = {.panel = fe_conv_choose_panel(l->target, &c->shape)};
  if (!direct_only)
    out.plan = fe_winograd_choose(l->target, &c->shape, fe_dim_static(c->out.n),
                                  l->winograd_weights);
  if (l->schedules)
    use_file(l, c, direct_only, &out);
  return out;
}

MlirValue fe_layout_conv_root(fe_layout *l, MlirValue x, conv_op *c) {
  fe_ir *ir = l->ir;
  fe_conv_shape *s = &c->shape;
  bool known = !fe_is_null(fe_layout_known(l, x));
  s->plain = !known && s->groups == 1 && s->channels < (int64_t)l->lanes / 2;
  choice how = choose(l, c);
  int64_t panel = how.panel;
  fe_conv_packing packing = {l->lanes, panel, *s, c->weights};
  MlirValue image = s->plain ? fe_layout_plane(l, x) : fe_layout_pack(l, x);
  if (how.plan.tile)
    return winograd(l, c, how.plan, &packing, image);
  MlirValue in[3] = {image, weights_of(l, &packing), bias_of(l, c)};
  const fe_layout_window *w = &c->win;
  MlirNamedAttribute attrs[] = {fe_at_i64s(ir, "kernel", 2, w->kernel),
                                fe_at_i64s(ir, "strides", 2, w->stride),
                                fe_at_i64s(ir, "dilations", 2, w->dilation),
                                fe_at_i64s(ir, "pads", 4, w->pad),
                                fe_at_i64(ir, "channels", s->channels),
                                fe_at_i64(ir, "groups", s->groups),
                                fe_at_i64(ir, "panel", panel),
                                fe_at_i64(ir, "out_channels", s->out_channels)};
  if (c->spread_out) { // groups of the convolution itself: 1
    attrs[FE_COUNT(attrs) - 1] = fe_at_i64s(ir, "interleave", 2, c->spread);
    return fe_layout_root(l, "krnl.conv", 3, in, c->spread_out, FE_COUNT(attrs),
                          attrs);
  }
  // The last one tells that groups are not whole blocks.
  unsigned n_attrs = FE_COUNT(attrs) - !fe_conv_spans(l->target, s);
  return fe_layout_root(l, "krnl.conv", 3, in, &c->out, n_attrs, attrs);
}

bool fe_layout_conv(fe_layout *l, MlirOperation op) {
  conv_op c = {0};
  if (!read(l, op, &c))
    return false;
  MlirValue x = fe_operand(op, 0);
  const fe_conv_shape *s = &c.shape;
  int64_t products = s->channels * s->kernel[0] * s->kernel[1];
  if (fe_is_null(fe_layout_known(l, x)) && products < MIN_PRODUCTS)
    return false;
  if (s->groups > 1 && s->channels == 1 && s->groups == s->out_channels) {
    depthwise(l, op, &c);
    return true;
  }
  if (!fe_layout_fit_groups(l, &c))
    return false;
  fe_layout_replace(l, fe_result(op, 0), fe_layout_conv_root(l, x, &c));
  return true;
}
