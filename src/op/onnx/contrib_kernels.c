//===- contrib_kernels.c - operators of ORT with loops of their own -------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CropAndResize and NGramRepeatBlock: subscripts that come from the
// data are brought into their tensors.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <math.h>
#include <string.h>

//===-- CropAndResize -------------------------------------------------------//

enum { CROP_X, CROP_ROIS, CROP_BATCH, CROP_SIZE };

static fe_status infer_crop(fe_infer *f) {
  fe_dims x, rois, batch, size;
  if (fe_in_dims(f, CROP_X, &x) || fe_in_dims(f, CROP_ROIS, &rois) ||
      fe_in_dims(f, CROP_BATCH, &batch) || fe_in_dims(f, CROP_SIZE, &size))
    return FE_FAILED;
  int64_t corners = rois.rank == 2 ? fe_dim_static(rois.d[1]) : 0;
  if (x.rank != 4 || rois.rank != 2 || batch.rank != 1 || size.rank != 1 ||
      (corners != FE_DYN && corners != 4))
    return fe_infer_error(f, NULL,
                          "X must have rank 4, rois be [regions][4], "
                          "batch_indices and crop_size have rank 1");
  fe_contents c;
  bool known = fe_contents_of(f->ir, f->in[CROP_SIZE], &c) && c.n == 2;
  fe_dims out = {.rank = 4, .d = {rois.d[0], x.d[1]}};
  for (unsigned i = 0; i < 2; ++i)
    out.d[2 + i] = known ? c.at[i] : fe_fresh_dim(f);
  fe_out_tensor(f, 0, fe_in_dtype(f, CROP_X), &out);
  return FE_OK;
}

typedef struct crop {
  fe_lower *l;
  fe_generic *g;
  MlirType t;        // of coordinates
  MlirValue size[4]; // of the image
  MlirValue out[4];  // of the result
  MlirValue image, channel;
} crop;

static MlirValue to_real(crop *c, MlirValue v) {
  return fe_convert(c->l->ir, v, c->t, false, false);
}

/// Place in the image of row (axis 0) or column (axis 1) of the result.
static MlirValue place(crop *c, unsigned axis) {
  fe_ir *ir = c->l->ir;
  MlirValue r = fe_iter(c->g, 0), at = fe_iter(c->g, 2 + axis);
  MlirValue from = fe_at(c->g, c->l->in[CROP_ROIS], c->l->in_type[CROP_ROIS],
                         FE_IDX(r, fe_index(ir, axis)));
  MlirValue to = fe_at(c->g, c->l->in[CROP_ROIS], c->l->in_type[CROP_ROIS],
                       FE_IDX(r, fe_index(ir, 2 + axis)));
  MlirValue one = fe_index(ir, 1), n = c->out[2 + axis];
  MlirValue last = to_real(c, fe_sub(ir, c->size[2 + axis], one));
  MlirValue steps = to_real(c, fe_max(ir, fe_sub(ir, n, one), one));
  MlirValue scale = fe_div(ir, fe_mul(ir, fe_sub(ir, to, from), last), steps);
  MlirValue v =
      fe_add(ir, fe_mul(ir, from, last), fe_mul(ir, to_real(c, at), scale));
  // The corners exactly, whatever rounding does.
  MlirValue is_last = fe_cmp(ir, FE_EQ, at, fe_sub(ir, n, one));
  v = fe_select(ir, is_last, fe_mul(ir, to, last), v);
  MlirValue is_first = fe_cmp(ir, FE_EQ, at, fe_index(ir, 0));
  v = fe_select(ir, is_first, fe_mul(ir, from, last), v);
  MlirValue middle = fe_mul(
      ir, fe_mul(ir, fe_float(ir, c->t, 0.5), fe_add(ir, from, to)), last);
  return fe_select(ir, fe_cmp(ir, FE_GT, n, one), v, middle);
}

/// i1: v lies in the image.
static MlirValue inside(crop *c, unsigned axis, MlirValue v) {
  fe_ir *ir = c->l->ir;
  MlirValue last = to_real(c, fe_sub(ir, c->size[2 + axis], fe_index(ir, 1)));
  return fe_and(ir, fe_cmp(ir, FE_GE, v, fe_float(ir, c->t, 0)),
                fe_cmp(ir, FE_LE, v, last));
}

static MlirValue index_of(crop *c, unsigned axis, MlirValue v) {
  fe_ir *ir = c->l->ir;
  MlirValue zero = fe_index(ir, 0);
  MlirValue last = fe_sub(ir, c->size[2 + axis], fe_index(ir, 1));
  // NaN and what is outside become valid before they are converted.
  MlirValue ok = inside(c, axis, v);
  v = fe_select(ir, ok, v, fe_float(ir, c->t, 0));
  v = fe_to_index(ir, fe_convert(ir, v, ir->i64, false, false));
  return fe_max(ir, zero, fe_min(ir, v, last));
}

static MlirValue pixel(crop *c, MlirValue y, MlirValue x) {
  return fe_at(c->g, c->l->in[CROP_X], c->l->in_type[CROP_X],
               FE_IDX(c->image, c->channel, y, x));
}

static MlirValue mix(fe_ir *ir, MlirValue a, MlirValue b, MlirValue part) {
  return fe_add(ir, a, fe_mul(ir, fe_sub(ir, b, a), part));
}

static fe_status lower_crop(fe_lower *l) {
  fe_ir *ir = l->ir;
  const char *mode = fe_attr_str(ir->arena, l->op, "mode", "bilinear");
  bool nearest = !strcmp(mode, "nearest");
  if (!nearest && strcmp(mode, "bilinear"))
    return fe_lower_error(l, NULL, "mode must be bilinear or nearest");
  crop c = {.l = l, .t = fe_compute_type(ir, l->in_type[CROP_X])};
  fe_sizes_of(l, l->in[CROP_X], c.size);
  fe_check_equal(l, fe_size(l, l->in[CROP_BATCH], 0),
                 fe_size(l, l->in[CROP_ROIS], 0),
                 "there must be one batch index for each region");
  fe_check_equal(l, fe_size(l, l->in[CROP_ROIS], 1), fe_index(ir, 4),
                 "a region must have four numbers");
  fe_check_equal(l, fe_size(l, l->in[CROP_SIZE], 0), fe_index(ir, 2),
                 "crop_size must be two numbers");
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1), some = {0};
  fe_out_sizes(l, 0, c.out);
  c.out[0] = fe_size(l, l->in[CROP_ROIS], 0);
  c.out[1] = c.size[1];
  for (unsigned i = 0; i < 2; ++i)
    if (fe_is_null(c.out[2 + i]))
      c.out[2 + i] = fe_read_index(l, l->in[CROP_SIZE], i);
  for (unsigned i = 0; i < 4; ++i) {
    MlirValue has = fe_cmp(ir, FE_GT, c.size[i], zero);
    some = i ? fe_and(ir, some, has) : has;
  }
  fe_check(l, fe_or(ir, some, fe_cmp(ir, FE_EQ, c.out[0], zero)),
           "there is no image to crop");
  c.g = fe_generic_begin(l, 4, c.out, 0, NULL, NULL, NULL);
  MlirValue r = fe_iter(c.g, 0);
  c.channel = fe_iter(c.g, 1);
  c.image = fe_to_index(
      ir, fe_at(c.g, l->in[CROP_BATCH], l->in_type[CROP_BATCH], FE_IDX(r)));
  c.image = fe_max(ir, zero, fe_min(ir, c.image, fe_sub(ir, c.size[0], one)));
  MlirValue y = place(&c, 0), x = place(&c, 1), v;
  if (nearest) {
    MlirValue ny = index_of(&c, 0, fe_math(ir, "round", y));
    v = pixel(&c, ny, index_of(&c, 1, fe_math(ir, "round", x)));
  } else {
    MlirValue fy = fe_math(ir, "floor", y), fx = fe_math(ir, "floor", x);
    MlirValue top = index_of(&c, 0, fy), left = index_of(&c, 1, fx);
    MlirValue bottom = index_of(&c, 0, fe_math(ir, "ceil", y));
    MlirValue right = index_of(&c, 1, fe_math(ir, "ceil", x));
    MlirValue px = fe_sub(ir, x, fx), py = fe_sub(ir, y, fy);
    v = mix(ir, mix(ir, pixel(&c, top, left), pixel(&c, top, right), px),
            mix(ir, pixel(&c, bottom, left), pixel(&c, bottom, right), px), py);
  }
  MlirValue other =
      fe_float(ir, c.t, fe_attr_f64(l->op, "extrapolation_value", 0));
  MlirValue in = fe_and(ir, inside(&c, 0, y), inside(&c, 1, x));
  l->out[0] = fe_generic_end(c.g, l->out_type[0], fe_select(ir, in, v, other));
  return FE_OK;
}

//===-- NGramRepeatBlock ----------------------------------------------------//

static fe_status infer_ngram(fe_infer *f) {
  fe_dims ids, scores;
  if (fe_in_dims(f, 0, &ids) || fe_in_dims(f, 1, &scores))
    return FE_FAILED;
  if (ids.rank != 2 || scores.rank != 2 ||
      fe_attr_i64(f->attrs, "ngram_size", 0) <= 0)
    return fe_infer_error(f, NULL,
                          "input_ids and scores must have rank 2, ngram_size "
                          "must be positive");
  fe_out_tensor(f, 0, fe_in_dtype(f, 1), &scores);
  return FE_OK;
}

/// Where the last tokens of a sequence have occurred in it before, the token
/// behind them there gets -inf.
static fe_status lower_ngram(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[1];
  int64_t size = fe_attr_i64(l->op, "ngram_size", 1);
  MlirValue sizes[2];
  fe_sizes_of(l, l->in[1], sizes);
  fe_check_equal(l, fe_size(l, l->in[0], 0), sizes[0],
                 "there must be scores for each sequence");
  MlirValue dest = fe_out_empty(l, 0, sizes);
  fe_kernel k;
  fe_kernel_begin(&k, l, "ngram", 2, l->in, 1, &dest, 0, NULL);
  MlirValue one = fe_index(ir, 1), zero = fe_index(ir, 0);
  MlirValue gram = fe_index(ir, size), head = fe_index(ir, size - 1);
  fe_region b = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  MlirValue n = fe_dim(ir, k.in[0], 1), vocabulary = fe_dim(ir, k.in[1], 1);
  fe_region c = fe_loop(ir, vocabulary);
  MlirValue v = fe_load(ir, k.in[1], FE_IDX(b.iv, c.iv));
  fe_store(ir, v, k.out[0], FE_IDX(b.iv, c.iv));
  fe_loop_end(ir, &c);
  // Starts of n-grams that end before the sequence does.
  MlirValue starts = fe_max(ir, zero, fe_add(ir, fe_sub(ir, n, gram), one));
  fe_region s = fe_loop(ir, starts);
  MlirValue yes = fe_int(ir, ir->i1, 1);
  fe_region j = fe_for_begin(ir, zero, head, one, 1, &yes);
  MlirValue a = fe_load(ir, k.in[0], FE_IDX(b.iv, fe_add(ir, s.iv, j.iv)));
  MlirValue at = fe_add(ir, fe_sub(ir, n, head), j.iv);
  MlirValue e = fe_load(ir, k.in[0], FE_IDX(b.iv, at));
  MlirValue match =
      fe_and(ir, fe_block_arg(j.body, 1), fe_cmp(ir, FE_EQ, a, e));
  fe_for_end(ir, &j, 1, &match);
  MlirValue next = fe_load(ir, k.in[0], FE_IDX(b.iv, fe_add(ir, s.iv, head)));
  next = fe_to_index(ir, next);
  MlirValue hit = fe_and(ir, fe_result(j.op, 0),
                         fe_and(ir, fe_cmp(ir, FE_GE, next, zero),
                                fe_cmp(ir, FE_LT, next, vocabulary)));
  fe_region then = fe_if_begin(ir, hit, 0, NULL, false);
  fe_put(&k, fe_float(ir, fe_compute_type(ir, t), -INFINITY), k.out[0], t,
         FE_IDX(b.iv, next));
  fe_if_end(ir, &then, 0, NULL);
  fe_loop_end(ir, &s);
  fe_loop_end(ir, &b);
  fe_kernel_end(
      &k, fe_kernel_dim(&k, 1, 0),
      fe_dim_add(fe_kernel_dim(&k, 1, 1),
                 fe_dim_mul(fe_kernel_dim(&k, 0, 1), fe_dim_const(ir, size))));
  l->out[0] = k.result[0];
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def crop_attrs[] = {
    {"extrapolation_value", FE_A_FLOAT, "0"},
    {"mode", FE_A_STRING, "bilinear|nearest"},
    {0}};
static const fe_attr_def ngram_attrs[] = {{"ngram_size", FE_A_INT, "|1.."},
                                          {0}};

const fe_op_row fe_family_contrib_kernels[] = {
    {.name = "CropAndResize",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "X:T, rois:T, batch_indices:I, crop_size:I",
     .outputs = "Y:T",
     .types = "T=float;I=i32",
     .attrs = crop_attrs,
     .infer = infer_crop,
     .lower = lower_crop},
    {.name = "NGramRepeatBlock",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "input_ids:I, scores:T",
     .outputs = "scores_out:T",
     .types = "T=float;I=i32,i64",
     .attrs = ngram_attrs,
     .infer = infer_ngram,
     .lower = lower_ngram},
    {0}};
