//===- roi.c - RoiAlign, MaxRoiPool ------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions come from the data: whatever they are, subscripts are brought into
// the image and counts are bounded. One item is one channel of one region.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct regions {
  fe_lower *l;
  fe_ir *ir;
  fe_kernel k;
  fe_dtype type;
  MlirType real;
  MlirValue region, channel, image; // index values
  MlirValue height, width;          // of the image
} regions;

static MlirValue real(regions *r, double v) {
  return fe_float(r->ir, r->real, v);
}
static MlirValue to_real(regions *r, MlirValue v) {
  return fe_convert(r->ir, v, r->real, false, false);
}

/// Float to index, cut to [low, high]; NaN gives low.
static MlirValue to_index(regions *r, MlirValue v, double low, double high) {
  fe_ir *ir = r->ir;
  v = fe_select(ir, fe_cmp(ir, FE_GE, v, real(r, low)), v, real(r, low));
  v = fe_select(ir, fe_cmp(ir, FE_LE, v, real(r, high)), v, real(r, high));
  return fe_to_index(ir, fe_convert(ir, v, ir->i64, false, false));
}

/// Number i of the region, times the scale.
static MlirValue corner(regions *r, unsigned i) {
  MlirValue at[2] = {r->region, fe_index(r->ir, i)};
  MlirValue v = fe_get(&r->k, r->k.in[1], r->l->in_type[1], 2, at);
  double scale = fe_attr_f64(r->l->op, "spatial_scale", 1);
  return fe_mul(r->ir, v, real(r, scale));
}

static MlirValue element(regions *r, MlirValue y, MlirValue x) {
  MlirValue at[4] = {r->image, r->channel, y, x};
  return fe_get(&r->k, r->k.in[0], r->type, 4, at);
}

static fe_status infer_regions(fe_infer *f, int64_t height, int64_t width,
                               unsigned numbers) {
  fe_dims x, rois;
  if (fe_in_dims(f, 0, &x) || fe_in_dims(f, 1, &rois))
    return FE_FAILED;
  if (x.rank != 4 || rois.rank != 2 || height < 1 || width < 1 ||
      height > INT16_MAX || width > INT16_MAX)
    return fe_infer_error(f, NULL,
                          "the input must have rank 4, the regions rank 2, and "
                          "the result a positive size that is not too large");
  int64_t n = fe_dim_static(rois.d[1]);
  if (n != FE_DYN && n != numbers)
    return fe_infer_error(
        f, NULL, "a region must have %u numbers, not %" PRId64, numbers, n);
  fe_dims out = {.rank = 4,
                 .d = {rois.d[0], x.d[1], fe_dim_const(f->ir, height),
                       fe_dim_const(f->ir, width)}};
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

/// Checks, the kernel and the loop over regions and channels.
static fe_region open_regions(regions *r, fe_lower *l, const char *name,
                              unsigned n_in, unsigned numbers) {
  fe_ir *ir = l->ir;
  *r = (regions){.l = l, .ir = ir, .type = l->in_type[0]};
  r->real = fe_compute_type(ir, fe_work_type(r->type));
  fe_check_equal(l, fe_size(l, l->in[1], 1), fe_index(ir, numbers),
                 "a region has a wrong number of elements");
  MlirValue sizes[4] = {fe_size(l, l->in[1], 0), fe_size(l, l->in[0], 1)};
  for (unsigned i = 2; i < 4; ++i)
    sizes[i] = fe_index(ir, fe_static_dim(fe_result(l->op, 0), i));
  const unsigned must[] = {0, 2, 3}; // dims that hold something
  for (unsigned i = 0; i < FE_COUNT(must); ++i)
    if (fe_static_dim(l->in[0], must[i]) <= 0) // or dynamic
      fe_check(
          l, fe_cmp(ir, FE_GT, fe_size(l, l->in[0], must[i]), fe_index(ir, 0)),
          "the input is empty");
  MlirValue out = fe_out_empty(l, 0, sizes);
  fe_kernel_begin(&r->k, l, name, n_in, l->in, 1, &out, 0, NULL);
  r->height = fe_dim(ir, r->k.in[0], 2);
  r->width = fe_dim(ir, r->k.in[0], 3);
  MlirValue channels = fe_dim(ir, r->k.in[0], 1);
  fe_region items =
      fe_for_begin(ir, r->k.begin, r->k.end, fe_index(ir, 1), 0, NULL);
  r->region = fe_divu(ir, items.iv, channels);
  r->channel = fe_remu(ir, items.iv, channels);
  return items;
}

static void close_regions(regions *r, fe_region *items, int64_t cost) {
  fe_lower *l = r->l;
  fe_ir *ir = r->ir;
  fe_loop_end(ir, items);
  unsigned out = r->k.n_in;
  int64_t places =
      fe_static_dim(r->k.out[0], 2) * fe_static_dim(r->k.out[0], 3);
  fe_kernel_end(
      &r->k,
      fe_dim_mul(fe_kernel_dim(&r->k, out, 0), fe_kernel_dim(&r->k, out, 1)),
      fe_dim_const(ir, places * cost));
  l->out[0] = r->k.result[0];
}

static MlirValue clamp_index(fe_ir *ir, MlirValue v, MlirValue size) {
  v = fe_min(ir, v, fe_sub(ir, size, fe_index(ir, 1)));
  return fe_max(ir, v, fe_index(ir, 0));
}

//===-- RoiAlign ------------------------------------------------------------//

static fe_status upgrade_align(fe_node *n) {
  if (n->opset < 16)
    fe_node_set_str(n, "coordinate_transformation_mode", "output_half_pixel");
  return FE_OK;
}

static fe_status infer_align(fe_infer *f) {
  const char *mode = fe_attr_str(f->ir->arena, f->attrs, "mode", "avg");
  const char *transform =
      fe_attr_str(f->ir->arena, f->attrs, "coordinate_transformation_mode", "");
  if (strcmp(mode, "avg") && strcmp(mode, "max"))
    return fe_infer_error(f, NULL, "mode cannot be '%s'", mode);
  if (strcmp(transform, "half_pixel") && strcmp(transform, "output_half_pixel"))
    return fe_infer_error(
        f, NULL, "coordinate_transformation_mode cannot be '%s'", transform);
  fe_dims batch, rois;
  if (fe_in_dims(f, 1, &rois) || fe_in_dims(f, 2, &batch))
    return FE_FAILED;
  if (batch.rank != 1)
    return fe_infer_error(f, NULL, "batch_indices must have rank 1");
  return infer_regions(f, fe_attr_i64(f->attrs, "output_height", 1),
                       fe_attr_i64(f->attrs, "output_width", 1), 4);
}

typedef struct side {            // one dim of a region
  MlirValue start, bin, samples; // real, real, index
  MlirValue size;                // of the image, index
} side;

static side side_of(regions *r, unsigned first, MlirValue size,
                    int64_t places) {
  fe_ir *ir = r->ir;
  fe_lower *l = r->l;
  const char *transform = fe_attr_str(
      ir->arena, l->op, "coordinate_transformation_mode", "half_pixel");
  bool half = !strcmp(transform, "half_pixel");
  int64_t ratio = fe_attr_i64(l->op, "sampling_ratio", 0);
  MlirValue offset = real(r, half ? 0.5 : 0);
  MlirValue start = fe_sub(ir, corner(r, first), offset);
  MlirValue end = fe_sub(ir, corner(r, first + 2), offset);
  MlirValue length = fe_sub(ir, end, start);
  if (!half) // malformed regions become 1 x 1
    length = fe_max(ir, length, real(r, 1));
  side s = {.start = start, .size = size};
  s.bin = fe_div(ir, length, real(r, (double)places));
  s.samples = ratio > 0 ? fe_index(ir, ratio)
                        : to_index(r, fe_math(ir, "ceil", s.bin), 0, 65536);
  return s;
}

typedef struct between { // two elements around a coordinate
  MlirValue low, high, low_weight, high_weight, inside;
} between;

/// Sample i of place p.
static between sample_at(regions *r, const side *s, MlirValue p, MlirValue i) {
  fe_ir *ir = r->ir;
  MlirValue one = fe_index(ir, 1), size = to_real(r, s->size);
  MlirValue v = fe_add(ir, s->start, fe_mul(ir, to_real(r, p), s->bin));
  MlirValue step = fe_mul(ir, fe_add(ir, to_real(r, i), real(r, 0.5)), s->bin);
  v = fe_add(ir, v, fe_div(ir, step, to_real(r, s->samples)));
  between b;
  b.inside =
      fe_and(ir, fe_cmp(ir, FE_GE, v, real(r, -1)), fe_cmp(ir, FE_LE, v, size));
  v = fe_max(ir, v, real(r, 0));
  b.low =
      clamp_index(ir, to_index(r, fe_math(ir, "floor", v), 0, 1e9), s->size);
  MlirValue last = fe_sub(ir, s->size, one);
  MlirValue at_end = fe_cmp(ir, FE_GE, b.low, last);
  b.high = fe_min(ir, fe_add(ir, b.low, one), last);
  b.high_weight =
      fe_select(ir, at_end, real(r, 0), fe_sub(ir, v, to_real(r, b.low)));
  b.low_weight = fe_sub(ir, real(r, 1), b.high_weight);
  return b;
}

static fe_status lower_align(fe_lower *l) {
  fe_ir *ir = l->ir;
  bool max = !strcmp(fe_attr_str(ir->arena, l->op, "mode", "avg"), "max");
  int64_t rows = fe_static_dim(fe_result(l->op, 0), 2);
  int64_t columns = fe_static_dim(fe_result(l->op, 0), 3);
  fe_check_dims(l, 1, 0, 2, 0, "there is not one batch index per region");
  regions r;
  fe_region items = open_regions(&r, l, "roi_align", 3, 4);
  MlirValue batch = fe_to_index(ir, fe_load(ir, r.k.in[2], 1, &r.region));
  r.image = clamp_index(ir, batch, fe_dim(ir, r.k.in[0], 0));
  side sx = side_of(&r, 0, r.width, columns);
  side sy = side_of(&r, 1, r.height, rows);
  MlirValue count =
      fe_max(ir, fe_mul(ir, sx.samples, sy.samples), fe_index(ir, 1));
  fe_region py = fe_loop(ir, fe_index(ir, rows));
  fe_region px = fe_loop(ir, fe_index(ir, columns));
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue start = real(&r, max ? -INFINITY : 0);
  fe_region iy = fe_for_begin(ir, zero, sy.samples, one, 1, &start);
  between y = sample_at(&r, &sy, py.iv, iy.iv);
  MlirValue carried = fe_block_arg(iy.body, 1);
  fe_region ix = fe_for_begin(ir, zero, sx.samples, one, 1, &carried);
  between x = sample_at(&r, &sx, px.iv, ix.iv);
  MlirValue inside = fe_and(ir, x.inside, y.inside), sum = {0};
  for (unsigned i = 0; i < 4; ++i) {
    MlirValue w = fe_mul(ir, i & 2 ? y.high_weight : y.low_weight,
                         i & 1 ? x.high_weight : x.low_weight);
    MlirValue v = element(&r, i & 2 ? y.high : y.low, i & 1 ? x.high : x.low);
    v = fe_mul(ir, v, w);
    sum = i == 0 ? v : max ? fe_max(ir, sum, v) : fe_add(ir, sum, v);
  }
  sum = fe_select(ir, inside, sum, real(&r, 0));
  MlirValue before = fe_block_arg(ix.body, 1);
  sum = max ? fe_max(ir, before, sum) : fe_add(ir, before, sum);
  fe_for_end(ir, &ix, 1, &sum);
  sum = fe_result(ix.op, 0);
  fe_for_end(ir, &iy, 1, &sum);
  sum = fe_result(iy.op, 0);
  if (max) { // no samples: nothing
    MlirValue some =
        fe_cmp(ir, FE_GT, fe_mul(ir, sx.samples, sy.samples), zero);
    sum = fe_select(ir, some, sum, real(&r, 0));
  } else {
    sum = fe_div(ir, sum, to_real(&r, count));
  }
  MlirValue at[4] = {r.region, r.channel, py.iv, px.iv};
  fe_put(&r.k, sum, r.k.out[0], r.type, 4, at);
  fe_loop_end(ir, &px);
  fe_loop_end(ir, &py);
  close_regions(&r, &items, 64);
  return FE_OK;
}

//===-- MaxRoiPool ----------------------------------------------------------//

static fe_status pooled_shape(fe_infer *f, int64_t shape[2]) {
  if (fe_attr_i64s(f->attrs, "pooled_shape", shape, 2) != 2)
    return fe_infer_error(f, NULL, "pooled_shape must have two numbers");
  return FE_OK;
}

static fe_status infer_pool(fe_infer *f) {
  int64_t shape[2];
  if (pooled_shape(f, shape))
    return FE_FAILED;
  return infer_regions(f, shape[0], shape[1], 5);
}

/// First and last + 1 element of place p in a dim of the region.
static void bin_of(regions *r, unsigned first, MlirValue p, int64_t places,
                   MlirValue size, MlirValue *begin, MlirValue *end) {
  fe_ir *ir = r->ir;
  MlirValue one = real(r, 1);
  // Half away from zero, as C's round does.
  MlirValue start = corner(r, first), last = corner(r, first + 2);
  MlirValue half = real(r, 0.5);
  start = fe_math(ir, "floor", fe_add(ir, start, half));
  last = fe_math(ir, "floor", fe_add(ir, last, half));
  MlirValue length = fe_max(ir, fe_add(ir, fe_sub(ir, last, start), one), one);
  MlirValue bin = fe_div(ir, length, real(r, (double)places));
  MlirValue place = to_real(r, p);
  MlirValue low = fe_math(ir, "floor", fe_mul(ir, place, bin));
  MlirValue high = fe_math(ir, "ceil", fe_mul(ir, fe_add(ir, place, one), bin));
  MlirValue zero = fe_index(ir, 0);
  low = to_index(r, fe_add(ir, low, start), 0, 1e9);
  high = to_index(r, fe_add(ir, high, start), 0, 1e9);
  *begin = fe_max(ir, fe_min(ir, low, size), zero);
  *end = fe_max(ir, fe_min(ir, high, size), zero);
}

static fe_status lower_pool(fe_lower *l) {
  fe_ir *ir = l->ir;
  int64_t rows = fe_static_dim(fe_result(l->op, 0), 2);
  int64_t columns = fe_static_dim(fe_result(l->op, 0), 3);
  regions r;
  fe_region items = open_regions(&r, l, "max_roi_pool", 2, 5);
  MlirValue first[2] = {r.region, fe_index(ir, 0)};
  MlirValue batch = fe_get(&r.k, r.k.in[1], l->in_type[1], 2, first);
  r.image =
      clamp_index(ir, to_index(&r, batch, 0, 1e9), fe_dim(ir, r.k.in[0], 0));
  fe_region py = fe_loop(ir, fe_index(ir, rows));
  fe_region px = fe_loop(ir, fe_index(ir, columns));
  MlirValue y0, y1, x0, x1, one = fe_index(ir, 1);
  bin_of(&r, 2, py.iv, rows, r.height, &y0, &y1);
  bin_of(&r, 1, px.iv, columns, r.width, &x0, &x1);
  MlirValue start = real(&r, -INFINITY);
  fe_region iy = fe_for_begin(ir, y0, y1, one, 1, &start);
  MlirValue carried = fe_block_arg(iy.body, 1);
  fe_region ix = fe_for_begin(ir, x0, x1, one, 1, &carried);
  MlirValue v = fe_max(ir, fe_block_arg(ix.body, 1), element(&r, iy.iv, ix.iv));
  fe_for_end(ir, &ix, 1, &v);
  v = fe_result(ix.op, 0);
  fe_for_end(ir, &iy, 1, &v);
  MlirValue some =
      fe_and(ir, fe_cmp(ir, FE_LT, y0, y1), fe_cmp(ir, FE_LT, x0, x1));
  v = fe_select(ir, some, fe_result(iy.op, 0), real(&r, 0));
  MlirValue at[4] = {r.region, r.channel, py.iv, px.iv};
  fe_put(&r.k, v, r.k.out[0], r.type, 4, at);
  fe_loop_end(ir, &px);
  fe_loop_end(ir, &py);
  close_regions(&r, &items, 64);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def align_attrs[] = {{"coordinate_transformation_mode",
                                           FE_A_STRING,
                                           "half_pixel|output_half_pixel"},
                                          {"mode", FE_A_STRING, "avg|max"},
                                          {"output_height", FE_A_INT, "1"},
                                          {"output_width", FE_A_INT, "1"},
                                          {"sampling_ratio", FE_A_INT, "0"},
                                          {"spatial_scale", FE_A_FLOAT, "1"},
                                          {0}};
static const fe_attr_def pool_attrs[] = {
    {"pooled_shape", FE_A_INTS, NULL}, {"spatial_scale", FE_A_FLOAT, "1"}, {0}};

const fe_op_row fe_family_roi[] = {{.name = "RoiAlign",
                                    .since = 10,
                                    .inputs = "X:T1, rois:T1, batch_indices:T2",
                                    .outputs = "Y:T1",
                                    .types = "T1=float;T2=i64",
                                    .attrs = align_attrs,
                                    .upgrade = upgrade_align,
                                    .infer = infer_align,
                                    .lower = lower_align},
                                   {.name = "MaxRoiPool",
                                    .since = 1,
                                    .inputs = "X:T, rois:T",
                                    .outputs = "Y:T",
                                    .types = "T=float",
                                    .attrs = pool_attrs,
                                    .infer = infer_pool,
                                    .lower = lower_pool},
                                   {0}};
