//===- gradient_window.c - derivatives of convolutions and pools -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `full` is the part of the padded image that windows reach. With the image
// padded or cut to it, a convolution by x is a transposed one of dy, and by the
// weights a convolution of the image with dy as the window, whose steps are the
// distances of the taps: both exactly, whatever does not divide. Sizes may be
// what only the run knows.
//
//===----------------------------------------------------------------------===//
#include "import/gradient.h"
#include "op/sliding.h"

#include <string.h>

typedef struct window {
  const fe_step *s;
  unsigned n; // spatial dims
  fe_sliding win;
  MlirValue kernel, in, out, full, begin; // lists of sizes; in: of the image
} window;

static MlirValue spatial(const fe_step *s, MlirValue v) {
  MlirNamedAttribute start = fe_at_i64(s->ir, "start", 2);
  return fe_first(fe_onnx(s->ir, "Shape", 1, &v, 1, 1, &start));
}

static MlirValue list(const fe_step *s, unsigned n, const int64_t *v) {
  return fe_constant_i64s(s->ir, n, v);
}

/// `places`: of windows in each dim; `image`: what they slide over.
static void measure(window *w, MlirValue places, MlirValue image) {
  const fe_step *s = w->s;
  fe_ir *ir = s->ir;
  MlirValue one = fe_constant_scalar(ir, FE_I64, 1);
  w->in = spatial(s, image);
  w->out = spatial(s, places);
  MlirValue steps = fe_d_mul(s, fe_d_two(s, "Sub", w->out, one),
                             list(s, w->n, w->win.stride));
  MlirValue taps = fe_d_mul(s, fe_d_two(s, "Sub", w->kernel, one),
                            list(s, w->n, w->win.dilation));
  w->full = fe_d_two(s, "Add", fe_d_two(s, "Add", steps, taps), one);
  w->begin = list(s, w->n, w->win.begin);
  if (w->win.same == FE_SAME_NO)
    return;
  MlirValue total = fe_d_two(s, "Max", fe_d_two(s, "Sub", w->full, w->in),
                             fe_constant_scalar(ir, FE_I64, 0));
  if (w->win.same == FE_SAME_LOWER)
    total = fe_d_two(s, "Add", total, one);
  w->begin = fe_d_two(s, "Div", total, fe_constant_scalar(ir, FE_I64, 2));
}

/// v [N, C, ..] with so much put in before and behind its spatial dims.
static MlirValue padded(const window *w, MlirValue v, MlirValue before,
                        MlirValue behind) {
  const fe_step *s = w->s;
  int64_t axes[FE_MAX_RANK];
  for (unsigned i = 0; i < w->n; i++)
    axes[i] = 2 + i;
  MlirValue parts[2] = {before, behind};
  MlirValue in[4] = {v, fe_d_concat(s, 2, parts, 0), {0}, list(s, w->n, axes)};
  return fe_first(fe_onnx(s->ir, "Pad", 4, in, 1, 0, NULL));
}

/// The image as far as windows reach.
static MlirValue to_full(const window *w, MlirValue v) {
  const fe_step *s = w->s;
  MlirValue end = fe_d_two(s, "Sub", w->full, w->in);
  return padded(w, v, w->begin, fe_d_two(s, "Sub", end, w->begin));
}
/// And back.
static MlirValue from_full(const window *w, MlirValue v) {
  const fe_step *s = w->s;
  MlirValue end = fe_d_two(s, "Sub", w->in, w->full);
  return padded(w, v, fe_d_one(s, "Neg", w->begin),
                fe_d_two(s, "Add", end, w->begin));
}

static MlirValue convolved(const window *w, const char *op, MlirValue v,
                           MlirValue weights, int64_t group, bool swapped) {
  fe_ir *ir = w->s->ir;
  const int64_t *stride = swapped ? w->win.dilation : w->win.stride;
  const int64_t *dilation = swapped ? w->win.stride : w->win.dilation;
  MlirNamedAttribute how[3] = {fe_at_i64s(ir, "strides", w->n, stride),
                               fe_at_i64s(ir, "dilations", w->n, dilation),
                               fe_at_i64(ir, "group", group)};
  MlirValue in[2] = {v, weights};
  return fe_first(fe_onnx(ir, op, 2, in, 1, 3, how));
}

/// The first two dims exchanged.
static MlirValue swapped(const window *w, MlirValue v) {
  int64_t perm[FE_MAX_RANK] = {1, 0};
  for (unsigned i = 2; i < w->n + 2; i++)
    perm[i] = i;
  return fe_d_transposed(w->s, v, w->n + 2, perm);
}

/// Of weights [O, C / group, ..] that take `image` [N, C, full] to `places`
/// [N, O, ..].
static MlirValue by_weights(const window *w, MlirValue image, MlirValue places,
                            int64_t group) {
  const fe_step *s = w->s;
  if (group != 1) {
    MlirValue shape = fe_d_one(s, "Shape", image), parts[4];
    MlirValue groups = fe_d_int(s, group), n = fe_d_size_at(s, shape, 0);
    MlirValue each = fe_d_two(s, "Div", fe_d_size_at(s, shape, 1), groups);
    int64_t perm[FE_MAX_RANK] = {2, 1, 0};
    for (unsigned i = 3; i < w->n + 3; i++)
      perm[i] = i;
    parts[0] = n;
    parts[1] = groups;
    parts[2] = each;
    parts[3] = w->full;
    image = fe_d_in_shape(s, image, fe_d_concat(s, 4, parts, 0));
    image = fe_d_transposed(s, image, w->n + 3, perm);
    parts[0] = each;
    parts[1] = fe_d_mul(s, groups, n);
    parts[2] = w->full;
    image = fe_d_in_shape(s, image, fe_d_concat(s, 3, parts, 0));
  } else {
    image = swapped(w, image);
  }
  return swapped(w,
                 convolved(w, "Conv", image, swapped(w, places), group, true));
}

static MlirValue by_bias(const fe_step *s) {
  int64_t axes[FE_MAX_RANK];
  unsigned n = 0;
  for (unsigned i = 0; i < fe_rank(s->y); i++)
    if (i != 1)
      axes[n++] = i;
  return fe_d_summed(s, s->dy, n, axes, false);
}

//===-- Convolutions --------------------------------------------------------//

static bool read_window(window *w, const fe_step *s, MlirValue weights) {
  fe_where where = {0};
  fe_dims x, k;
  *w = (window){.s = s};
  if (!fe_dims_of(s->ir, s->x[0], &x) || x.rank < 3 ||
      (!fe_is_null(weights) && !fe_dims_of(s->ir, weights, &k)) ||
      fe_sliding_read(s->ir, where, s->op, &x, fe_is_null(weights) ? NULL : &k,
                      &w->win))
    return false;
  w->n = w->win.n;
  w->kernel =
      fe_is_null(weights) ? list(s, w->n, w->win.kernel) : spatial(s, weights);
  return true;
}

static MlirValue d_conv(const fe_step *s) {
  window w;
  int64_t group = fe_attr_i64(s->op, "group", 1);
  if (s->operand == 2)
    return by_bias(s);
  if (!read_window(&w, s, s->x[1]))
    return (MlirValue){0};
  measure(&w, s->y, s->x[0]);
  MlirValue d = s->operand ? by_weights(&w, to_full(&w, s->x[0]), s->dy, group)
                           : from_full(&w, convolved(&w, "ConvTranspose", s->dy,
                                                     s->x[1], group, false));
  return fe_d_reshaped(s, d, s->x[s->operand]);
}

/// The windows slide over its result.
static MlirValue d_conv_transpose(const fe_step *s) {
  window w;
  fe_unsliding u;
  fe_dims x, k;
  fe_where where = {0};
  int64_t group = fe_attr_i64(s->op, "group", 1);
  if (s->operand == 2)
    return by_bias(s);
  if (!read_window(&w, s, s->x[1]) || !fe_dims_of(s->ir, s->x[0], &x) ||
      !fe_dims_of(s->ir, s->x[1], &k) ||
      fe_unsliding_read(s->ir, where, s->op, &x, &k, &u))
    return (MlirValue){0};
  w.win = u.win;
  for (unsigned i = 0; i < w.n; i++)
    if (u.late[i])
      return (MlirValue){0};
  measure(&w, s->x[0], s->dy);
  MlirValue image = to_full(&w, s->dy);
  MlirValue d = s->operand
                    ? by_weights(&w, image, s->x[0], group)
                    : convolved(&w, "Conv", image, s->x[1], group, false);
  return fe_d_reshaped(s, d, s->x[s->operand]);
}

//===-- Pools ---------------------------------------------------------------//

/// Every window's number to all that it covers: [N, C, ..] to x's shape.
static MlirValue spread(const window *w, MlirValue v, MlirValue ones) {
  const fe_step *s = w->s;
  MlirValue shape = fe_d_one(s, "Shape", s->x[0]);
  MlirValue parts[3] = {
      fe_d_mul(s, fe_d_size_at(s, shape, 0), fe_d_size_at(s, shape, 1)),
      fe_d_int(s, 1), w->out};
  v = fe_d_in_shape(s, v, fe_d_concat(s, 3, parts, 0));
  v = convolved(w, "ConvTranspose", v, ones, 1, false);
  return fe_d_reshaped(s, from_full(w, v), s->x[0]);
}

static MlirValue ones_of(const window *w, MlirValue sizes) {
  const fe_step *s = w->s;
  MlirValue parts[2] = {fe_d_ints(s, 2, 1), sizes};
  return fe_d_two(s, "Expand", fe_d_number(s, 1), fe_d_concat(s, 2, parts, 0));
}

static MlirValue d_average_pool(const fe_step *s) {
  window w;
  if (!read_window(&w, s, (MlirValue){0}))
    return (MlirValue){0};
  measure(&w, s->y, s->x[0]);
  MlirValue ones = ones_of(&w, w.kernel), count;
  int64_t counted = fe_attr_i64(s->op, "count_include_pad", 0);
  if (counted == FE_COUNT_WINDOW) {
    double all = 1;
    for (unsigned i = 0; i < w.n; i++)
      all *= (double)w.win.kernel[i];
    count = fe_d_number(s, all);
  } else if (counted) { // the padding, but not what ceil_mode adds
    MlirValue padding = fe_d_two(s, "Add", w.begin, list(s, w.n, w.win.end));
    if (w.win.same != FE_SAME_NO)
      padding = fe_d_two(s, "Max", fe_d_two(s, "Sub", w.full, w.in),
                         fe_constant_scalar(s->ir, FE_I64, 0));
    MlirValue whole = fe_d_two(s, "Add", w.in, padding);
    MlirValue rest = fe_d_two(s, "Sub", w.full, whole);
    count = padded(&w, ones_of(&w, whole), fe_d_ints(s, w.n, 0), rest);
    count = convolved(&w, "Conv", count, ones, 1, false);
  } else {
    count =
        convolved(&w, "Conv", to_full(&w, ones_of(&w, w.in)), ones, 1, false);
  }
  return spread(&w, fe_d_two(s, "Div", s->dy, count), ones);
}

/// dy * y^(1 - p), 0 where y is, and |x|^(p - 1) with x's sign.
static MlirValue of_norm(const fe_step *s, double p) {
  MlirValue zero = fe_d_number(s, 0), one = fe_d_number(s, 1);
  MlirValue none = fe_d_two(s, "Equal", s->y, zero);
  MlirValue y = fe_d_where(s, none, one, s->y);
  y = fe_d_two(s, "Pow", y, fe_d_number(s, 1 - p));
  return fe_d_where(s, none, zero, fe_d_mul(s, s->dy, y));
}
static MlirValue of_power(const fe_step *s, double p) {
  MlirValue x = fe_d_one(s, "Abs", s->x[0]);
  return fe_d_mul(s, fe_d_one(s, "Sign", s->x[0]),
                  fe_d_two(s, "Pow", x, fe_d_number(s, p - 1)));
}

static MlirValue d_lp_pool(const fe_step *s) {
  window w;
  double p = (double)fe_attr_i64(s->op, "p", 2);
  if (!read_window(&w, s, (MlirValue){0}))
    return (MlirValue){0};
  measure(&w, s->y, s->x[0]);
  return fe_d_mul(s, spread(&w, of_norm(s, p), ones_of(&w, w.kernel)),
                  of_power(s, p));
}

static MlirValue d_global_lp_pool(const fe_step *s) {
  double p = (double)fe_attr_i64(s->op, "p", 2);
  return fe_d_mul(s, of_norm(s, p), of_power(s, p));
}

/// Its second result says which element each window took.
static MlirValue d_max_pool(const fe_step *s) {
  if (fe_attr_i64(s->op, "storage_order", 0))
    return (MlirValue){0};
  MlirValue one = fe_constant_scalar(s->ir, FE_I64, 1);
  MlirValue shape = fe_d_one(s, "Shape", s->x[0]);
  MlirValue images =
      fe_d_mul(s, fe_d_size_at(s, shape, 0), fe_d_size_at(s, shape, 1));
  MlirValue some = fe_d_two(s, "Max", images, one);
  MlirValue size = fe_d_two(s, "Div", fe_d_one(s, "Size", s->x[0]), some);
  MlirValue many = fe_d_two(s, "Div", fe_d_one(s, "Size", s->y), some);
  MlirValue to[2] = {images, size}, from[2] = {images, many};
  MlirValue rows = fe_d_concat(s, 2, to, 0), taken = fe_d_concat(s, 2, from, 0);
  MlirValue at = fe_d_in_shape(s, fe_result(s->op, 1), taken);
  at = fe_d_two(s, "Mod", at, fe_d_two(s, "Max", size, one));
  MlirValue in[3] = {fe_d_two(s, "Expand", fe_d_number(s, 0), rows), at,
                     fe_d_in_shape(s, s->dy, taken)};
  MlirNamedAttribute how[2] = {fe_at_i64(s->ir, "axis", 1),
                               fe_at_str(s->ir, "reduction", "add")};
  MlirValue d = fe_first(fe_onnx(s->ir, "ScatterElements", 3, in, 1, 2, how));
  return fe_d_reshaped(s, d, s->x[0]);
}

static MlirValue d_global_average(const fe_step *s) {
  MlirValue n = fe_d_two(s, "Div", fe_d_one(s, "Size", s->x[0]),
                         fe_d_one(s, "Size", s->y));
  MlirValue by = fe_d_cast(s, n, fe_d_type(s->dy));
  return fe_d_expanded(s, fe_d_two(s, "Div", s->dy, by), s->x[0]);
}

const fe_derivative fe_d_window[] = {
    {"Conv", .all = d_conv},
    {"ConvTranspose", .all = d_conv_transpose},
    {"AveragePool", .by = {d_average_pool}},
    {"LpPool", .by = {d_lp_pool}},
    {"MaxPool", .by = {d_max_pool}},
    {"GlobalAveragePool", .by = {d_global_average}},
    {"GlobalLpPool", .by = {d_global_lp_pool}},
    {0}};
