//===- conv_transpose.c - ConvTranspose --------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element i of the input adds to element i * stride + tap * dilation - padding
// of the result.
//
// Method: a row of the result is computed at once. The elements that one tap
// adds to lie `stride` apart, so the accumulators, on the stack, are sorted by
// the remainder of their place: element q * stride + r is at [r][q]. That makes
// the innermost loop contiguous on both sides. Long rows are done in pieces.
//
//===----------------------------------------------------------------------===//
#include "op/sliding.h"

#include <inttypes.h>

static fe_status infer(fe_infer *f) {
  fe_ir *ir = f->ir;
  fe_dims x, w;
  fe_unsliding s;
  if (fe_in_dims(f, 0, &x) || fe_in_dims(f, 1, &w) ||
      fe_unsliding_read(ir, f->where, f->attrs, &x, &w, &s))
    return FE_FAILED;
  const fe_sliding *win = &s.win;
  int64_t group = fe_attr_i64(f->attrs, "group", 1);
  int64_t channels = fe_dim_static(x.d[1]), of = fe_dim_static(w.d[0]);
  if (channels != FE_DYN && of != FE_DYN && channels != of)
    return fe_infer_error(f, NULL,
                          "the input has %" PRId64 " channels but the weights "
                          "are for %" PRId64,
                          channels, of);
  if (group < 1 || group > INT32_MAX || (of != FE_DYN && of % group))
    return fe_infer_error(
        f, NULL, "the channels cannot be cut into %" PRId64 " groups", group);
  fe_dims out = {.rank = x.rank,
                 .d = {x.d[0], fe_dim_mul(w.d[1], fe_dim_const(ir, group))}};
  fe_dims bias;
  if (f->n_in > 2 && !fe_is_null(f->in[2])) {
    if (fe_in_dims(f, 2, &bias))
      return FE_FAILED;
    int64_t n = bias.rank == 1 ? fe_dim_static(bias.d[0]) : -1;
    int64_t filters = fe_dim_static(out.d[1]);
    if (n == -1 || (n != FE_DYN && filters != FE_DYN && n != filters))
      return fe_infer_error(f, NULL,
                            "the bias must have one dimension of the "
                            "number of filters");
  }
  for (unsigned i = 0; i < win->n; ++i) {
    if (s.want[i] != FE_DYN) {
      out.d[2 + i] = fe_dim_const(ir, s.want[i]);
      continue;
    }
    if (s.late[i]) {
      out.d[2 + i] = fe_fresh_dim(f);
      continue;
    }
    // (in - 1) * stride + extra + (kernel - 1) * dilation + 1 - padding
    MlirAffineExpr one = fe_dim_const(ir, 1);
    MlirAffineExpr from_in = fe_dim_mul(fe_dim_sub(ir, x.d[2 + i], one),
                                        fe_dim_const(ir, win->stride[i]));
    MlirAffineExpr extent = fe_dim_mul(fe_dim_sub(ir, win->size[i], one),
                                       fe_dim_const(ir, win->dilation[i]));
    int64_t rest = s.extra[i] + 1 - win->begin[i] - win->end[i];
    out.d[2 + i] =
        fe_dim_add(fe_dim_add(from_in, extent), fe_dim_const(ir, rest));
    int64_t fixed = fe_dim_static(out.d[2 + i]);
    if (fixed < 0 && fixed != FE_DYN)
      return fe_infer_error(f, NULL,
                            "the padding removes more than there is in spatial "
                            "dimension %u",
                            i);
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

//===-- Lowering ------------------------------------------------------------//

typedef struct deconv {
  fe_lower *l;
  fe_ir *ir;
  fe_unsliding s;
  int64_t group;
  fe_kernel k;
  MlirValue x, w, bias, y;
  MlirValue pad[FE_MAX_RANK], in[FE_MAX_RANK], kernel[FE_MAX_RANK];
  MlirValue at[FE_MAX_RANK]; // of the row of the result
  MlirType sum_type;
  MlirValue sums; // [stride][piece]
  int64_t piece;
} deconv;

static MlirValue times(fe_ir *ir, MlirValue v, int64_t factor) {
  return factor == 1 ? v : fe_mul(ir, v, fe_index(ir, factor));
}

/// Loops over the taps of the dims but the last, entering where one hits an
/// element of the input. Gives how many regions were opened.
static unsigned open_taps(deconv *d, MlirValue *x_at, MlirValue *w_at,
                          fe_region *regions) {
  fe_ir *ir = d->ir;
  const fe_sliding *win = &d->s.win;
  unsigned n = 0;
  for (unsigned i = 0; i + 1 < win->n; ++i) {
    regions[n] = fe_loop(ir, d->kernel[i]);
    MlirValue tap = regions[n++].iv;
    MlirValue place = fe_add(ir, d->at[2 + i], d->pad[i]);
    place = fe_sub(ir, place, times(ir, tap, win->dilation[i]));
    MlirValue zero = fe_index(ir, 0);
    MlirValue hits = fe_cmp(ir, FE_GE, place, zero);
    MlirValue source = place;
    if (win->stride[i] > 1) {
      MlirValue stride = fe_index(ir, win->stride[i]);
      source = fe_divu(ir, place, stride);
      hits = fe_and(ir, hits,
                    fe_cmp(ir, FE_EQ, fe_mul(ir, source, stride), place));
    }
    hits = fe_and(ir, hits, fe_cmp(ir, FE_LT, source, d->in[i]));
    regions[n++] = fe_if_begin(ir, hits, 0, NULL, false);
    x_at[2 + i] = source;
    w_at[2 + i] = tap;
  }
  return n;
}

static void close_taps(deconv *d, unsigned n, fe_region *regions) {
  while (n > 0) {
    fe_if_end(d->ir, &regions[n - 1], 0, NULL);
    fe_loop_end(d->ir, &regions[n - 2]);
    n -= 2;
  }
}

/// Adds the taps of the last dim to the sums of places [start, start + size) *
/// stride of the row.
static void add_row(deconv *d, MlirValue start, MlirValue size, MlirValue *x_at,
                    MlirValue *w_at) {
  fe_ir *ir = d->ir;
  const fe_sliding *win = &d->s.win;
  unsigned last = win->n - 1;
  fe_region taps = fe_loop(ir, d->kernel[last]);
  w_at[2 + last] = taps.iv;
  MlirValue w = fe_get(&d->k, d->w, d->l->in_type[1], 2 + win->n, w_at);
  MlirValue offset =
      fe_sub(ir, times(ir, taps.iv, win->dilation[last]), d->pad[last]);
  MlirValue stride = fe_index(ir, win->stride[last]), shift = offset;
  MlirValue remainder = fe_index(ir, 0), zero = remainder;
  if (win->stride[last] > 1) {
    shift = fe_floordiv(ir, offset, stride);
    remainder = fe_sub(ir, offset, fe_mul(ir, shift, stride));
  }
  // Element i adds to place i + shift.
  MlirValue to = fe_sub(ir, shift, start);
  MlirValue low = fe_max(ir, zero, fe_sub(ir, zero, to));
  MlirValue high = fe_min(ir, d->in[last], fe_sub(ir, size, to));
  fe_region elements = fe_for_begin(ir, low, high, fe_index(ir, 1), 0, NULL);
  x_at[2 + last] = elements.iv;
  MlirValue at[2] = {remainder, fe_add(ir, elements.iv, to)};
  MlirValue x = fe_get(&d->k, d->x, d->l->in_type[0], 2 + win->n, x_at);
  MlirValue sum = fe_add(ir, fe_load(ir, d->sums, 2, at), fe_mul(ir, x, w));
  fe_store(ir, sum, d->sums, 2, at);
  fe_loop_end(ir, &elements);
  fe_loop_end(ir, &taps);
}

/// Visits the sums: sets them to `value`, or stores them when it is null.
static void each_sum(deconv *d, MlirValue start, MlirValue size,
                     MlirValue value) {
  fe_ir *ir = d->ir;
  const fe_sliding *win = &d->s.win;
  unsigned last = win->n - 1;
  MlirValue stride = fe_index(ir, win->stride[last]);
  fe_region remainders = fe_loop(ir, stride);
  fe_region places = fe_loop(ir, size);
  MlirValue at[2] = {remainders.iv, places.iv};
  if (!fe_is_null(value)) {
    fe_store(ir, value, d->sums, 2, at);
  } else {
    MlirValue o = fe_mul(ir, fe_add(ir, start, places.iv), stride);
    o = fe_add(ir, o, remainders.iv);
    MlirValue inside = fe_cmp(ir, FE_LT, o, fe_dim(ir, d->y, 2 + last));
    fe_region r = fe_if_begin(ir, inside, 0, NULL, false);
    d->at[2 + last] = o;
    fe_put(&d->k, fe_load(ir, d->sums, 2, at), d->y, d->l->out_type[0],
           2 + win->n, d->at);
    fe_if_end(ir, &r, 0, NULL);
  }
  fe_loop_end(ir, &places);
  fe_loop_end(ir, &remainders);
}

static void write_kernel(deconv *d) {
  fe_ir *ir = d->ir;
  const fe_sliding *win = &d->s.win;
  unsigned last = win->n - 1;
  int64_t stride = win->stride[last];
  d->piece = stride >= FE_TILE ? 1 : FE_TILE / stride;
  int64_t dims[2] = {stride, d->piece};
  d->sums = fe_alloca(ir, fe_memref_type(ir, d->sum_type, 2, dims));
  MlirValue rows[FE_MAX_RANK], one = fe_index(ir, 1), zero = fe_index(ir, 0);
  for (unsigned i = 0; i <= win->n; ++i)
    rows[i] = fe_dim(ir, d->y, i);
  fe_region row = fe_for_begin(ir, d->k.begin, d->k.end, one, 0, NULL);
  fe_unravel(ir, row.iv, win->n + 1, rows, d->at);
  MlirValue filters = fe_dim(ir, d->w, 1), filter = d->at[1];
  MlirValue each = fe_dim(ir, d->w, 0), first = zero;
  if (d->group > 1) {
    each = fe_divu(ir, each, fe_index(ir, d->group));
    first = fe_mul(ir, fe_divu(ir, filter, filters), each);
    filter = fe_remu(ir, filter, filters);
  }
  MlirValue bias = fe_is_null(d->bias)
                       ? fe_float(ir, d->sum_type, 0)
                       : fe_get(&d->k, d->bias, d->l->in_type[2], 1, &d->at[1]);
  MlirValue places =
      fe_ceildiv(ir, fe_dim(ir, d->y, 2 + last), fe_index(ir, stride));
  MlirValue piece = fe_index(ir, d->piece);
  fe_region pieces = fe_for_begin(ir, zero, places, piece, 0, NULL);
  MlirValue size = fe_min(ir, piece, fe_sub(ir, places, pieces.iv));
  each_sum(d, pieces.iv, size, bias);
  fe_region channels = fe_loop(ir, each), regions[2 * FE_MAX_RANK];
  MlirValue channel = fe_add(ir, first, channels.iv);
  MlirValue x_at[FE_MAX_RANK] = {d->at[0], channel};
  MlirValue w_at[FE_MAX_RANK] = {channel, filter};
  unsigned n = open_taps(d, x_at, w_at, regions);
  add_row(d, pieces.iv, size, x_at, w_at);
  close_taps(d, n, regions);
  fe_loop_end(ir, &channels);
  each_sum(d, pieces.iv, size, (MlirValue){0});
  fe_loop_end(ir, &pieces);
  fe_loop_end(ir, &row);
}

/// Sizes of the result and padding, in main.
static void sizes_of(deconv *d, MlirValue *sizes) {
  fe_lower *l = d->l;
  fe_ir *ir = d->ir;
  const fe_sliding *win = &d->s.win;
  MlirValue one = fe_index(ir, 1);
  fe_out_sizes(l, 0, sizes);
  sizes[0] = fe_size(l, l->in[0], 0);
  if (fe_is_null(sizes[1]))
    sizes[1] = times(ir, fe_size(l, l->in[1], 1), d->group);
  for (unsigned i = 0; i < win->n; ++i) {
    MlirValue in = fe_size(l, l->in[0], 2 + i);
    d->pad[i] = fe_index(ir, win->begin[i]);
    MlirValue kernel = win->kernel[i] != FE_DYN ? fe_index(ir, win->kernel[i])
                                                : fe_size(l, l->in[1], 2 + i);
    bool fixed =
        fe_static_dim(l->in[0], 2 + i) != FE_DYN && win->kernel[i] != FE_DYN;
    if (fixed)
      continue;
    MlirValue full = times(ir, fe_sub(ir, in, one), win->stride[i]);
    full =
        fe_add(ir, full, times(ir, fe_sub(ir, kernel, one), win->dilation[i]));
    full = fe_add(ir, full, fe_index(ir, d->s.extra[i] + 1));
    if (!d->s.late[i]) {
      if (fe_is_null(sizes[2 + i]))
        sizes[2 + i] =
            fe_sub(ir, full, fe_index(ir, win->begin[i] + win->end[i]));
      fe_check(l, fe_cmp(ir, FE_GE, sizes[2 + i], fe_index(ir, 0)),
               "the padding removes more than there is");
      continue;
    }
    MlirValue target = d->s.want[i] != FE_DYN ? fe_index(ir, d->s.want[i])
                                              : times(ir, in, win->stride[i]);
    MlirValue total = fe_max(ir, fe_sub(ir, full, target), fe_index(ir, 0));
    if (fe_is_null(sizes[2 + i]))
      sizes[2 + i] = fe_sub(ir, full, total);
    if (!d->s.upper)
      total = fe_add(ir, total, one);
    d->pad[i] = fe_divu(ir, total, fe_index(ir, 2));
  }
}

static fe_status lower(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dims xd, wd;
  deconv d = {.l = l, .ir = ir, .group = fe_attr_i64(l->op, "group", 1)};
  if (!fe_dims_of(ir, fe_operand(l->op, 0), &xd) ||
      !fe_dims_of(ir, fe_operand(l->op, 1), &wd) ||
      fe_unsliding_read(ir, l->where, l->op, &xd, &wd, &d.s))
    return FE_FAILED;
  const fe_sliding *win = &d.s.win;
  MlirValue sizes[FE_MAX_RANK] = {{0}};
  sizes_of(&d, sizes);
  MlirValue channels = fe_size(l, l->in[1], 0);
  if (fe_static_dim(l->in[0], 1) == FE_DYN ||
      fe_static_dim(l->in[1], 0) == FE_DYN)
    fe_check(l, fe_cmp(ir, FE_EQ, fe_size(l, l->in[0], 1), channels),
             "the weights are for another number of channels");
  if (fe_static_dim(l->in[1], 0) == FE_DYN && d.group > 1)
    fe_check(l,
             fe_cmp(ir, FE_EQ, fe_remu(ir, channels, fe_index(ir, d.group)),
                    fe_index(ir, 0)),
             "the channels cannot be cut into groups");
  bool has_bias = l->n_in > 2 && !fe_is_null(l->in[2]);
  if (has_bias && (fe_static_dim(l->in[2], 0) == FE_DYN ||
                   fe_static_dim(l->in[1], 1) == FE_DYN))
    fe_check(l, fe_cmp(ir, FE_EQ, fe_size(l, l->in[2], 0), sizes[1]),
             "the bias does not have one number per filter");
  MlirValue out = fe_out_empty(l, 0, sizes);
  fe_kernel_begin(&d.k, l, "conv_transpose", 2 + has_bias, l->in, 1, &out,
                  win->n, d.pad);
  d.x = d.k.in[0];
  d.w = d.k.in[1];
  if (has_bias)
    d.bias = d.k.in[2];
  d.y = d.k.out[0];
  d.sum_type = fe_compute_type(ir, l->in_type[0]);
  MlirAffineExpr per = fe_kernel_dim(&d.k, 1, 0), items, cost;
  for (unsigned i = 0; i < win->n; ++i) {
    d.pad[i] = d.s.late[i] ? d.k.scalar[i] : fe_index(ir, win->begin[i]);
    d.in[i] = fe_dim(ir, d.x, 2 + i);
    d.kernel[i] = fe_dim(ir, d.w, 2 + i);
    per = fe_dim_mul(per, fe_kernel_dim(&d.k, 1, 2 + i));
  }
  write_kernel(&d);
  fe_sweep_extent(&d.k, 2 + has_bias, per, &items, &cost);
  fe_kernel_end(&d.k, items, cost);
  l->out[0] = d.k.result[0];
  return FE_OK;
}

static const fe_attr_def attrs[] = {{"auto_pad", FE_A_STRING, "NOTSET"},
                                    {"dilations", FE_A_INTS, ""},
                                    {"group", FE_A_INT, "1"},
                                    {"kernel_shape", FE_A_INTS, ""},
                                    {"output_padding", FE_A_INTS, ""},
                                    {"output_shape", FE_A_INTS, ""},
                                    {"pads", FE_A_INTS, ""},
                                    {"strides", FE_A_INTS, ""},
                                    {0}};

const fe_op_row fe_family_conv_transpose[] = {{.name = "ConvTranspose",
                                               .since = 1,
                                               .inputs = "X:T, W:T, B?:T",
                                               .outputs = "Y:T",
                                               .types = "T=float",
                                               .attrs = attrs,
                                               .infer = infer,
                                               .lower = lower},
                                              {0}};
