//===- resize.c - Resize, Upsample -------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upsample, and Resize of opset 10, become Resize with asymmetric coordinates.
//
// Nearest is one gather by tables of subscripts, or by a division where the
// scale is an integer. Interpolation is one pass per dim, see
// op/interpolation.h. Of integers the sums are kept in f32.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/complex.h"
#include "op/interpolation.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { X, ROI, SCALES, SIZES };

//===-- Import --------------------------------------------------------------//

static void move_inputs(fe_node *n, unsigned scales) {
  MlirValue s = scales < n->in.n ? n->in.at[scales] : (MlirValue){0};
  while (n->in.n <= SCALES)
    fe_push(n->ir->arena, &n->in, (MlirValue){0});
  n->in.at[ROI] = (MlirValue){0};
  n->in.at[SCALES] = s;
}

static void as_upsample(fe_node *n) {
  fe_node_attr *mode = fe_node_attr_find(n, "mode");
  if (mode && mode->s && !strcmp(mode->s, "bilinear"))
    fe_node_set_str(n, "mode", "linear");
  fe_node_set_str(n, "coordinate_transformation_mode", "asymmetric");
  fe_node_set_str(n, "nearest_mode", "simple");
}

static fe_status upgrade_resize(fe_node *n) {
  if (n->opset > 10)
    return FE_OK;
  move_inputs(n, 1);
  as_upsample(n);
  return FE_OK;
}

/// Upsample is rewritten as Resize.
static fe_status expand_upsample(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (n->in.n && fe_is_complex(n->in.at[0]))
    return fe_expand_complex(n, results);
  fe_where where = n->where;
  where.op = n->row->name;
  MlirValue scales = n->in.n > 1 ? n->in.at[1] : (MlirValue){0};
  fe_node_attr *list = fe_node_attr_find(n, "scales");
  fe_node_attr *height = fe_node_attr_find(n, "height_scale");
  fe_node_attr *width = fe_node_attr_find(n, "width_scale");
  if (list && list->kind == FE_A_FLOATS && list->n) {
    int64_t count = (int64_t)list->n;
    scales = fe_constant(
        ir, "scales", FE_F32, 1, &count,
        fe_memdup(ir->arena, list->floats, list->n * sizeof(float)));
  } else if (height && width && height->f > 0 && width->f > 0) {
    float four[4] = {1, 1, (float)height->f, (float)width->f};
    int64_t count = 4;
    scales = fe_constant(ir, "scales", FE_F32, 1, &count,
                         fe_memdup(ir->arena, four, sizeof four));
  }
  if (n->in.n < 1 || fe_is_null(scales))
    return fe_error(ir->diags, where, NULL, "the scales are missing");
  fe_node_attr *mode = fe_node_attr_find(n, "mode");
  const char *name = mode && mode->s ? mode->s : "nearest";
  if (!strcmp(name, "bilinear"))
    name = "linear";
  MlirNamedAttribute attrs[] = {
      fe_at_str(ir, "mode", name),
      fe_at_str(ir, "coordinate_transformation_mode", "asymmetric"),
      fe_at_str(ir, "nearest_mode", "simple")};
  MlirValue in[3] = {n->in.at[0], {0}, scales};
  results[0] =
      fe_first(fe_onnx(ir, "Resize", 3, in, 1, FE_COUNT(attrs), attrs));
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

//===-- Attributes ----------------------------------------------------------//

typedef struct request {
  fe_resize r;
  unsigned n; // dims that are resized
  unsigned dim[FE_MAX_RANK];
  bool by_sizes;
  enum { STRETCH, NOT_LARGER, NOT_SMALLER } aspect;
} request;

static bool one_of(const char *name, const char *const *names) {
  while (*names && strcmp(*names, name))
    ++names;
  return *names;
}

/// An operand that is there and is not the empty list that stands for none.
static bool given(fe_ir *ir, MlirValue v) {
  fe_dims d;
  return !fe_is_null(v) && fe_dims_of(ir, v, &d) &&
         !(d.rank == 1 && fe_dim_static(d.d[0]) == 0);
}

static fe_status read_request(fe_ir *ir, fe_where where, MlirOperation op,
                              unsigned rank, unsigned n_in, const MlirValue *in,
                              request *q) {
  static const char *const transforms[] = {
      "half_pixel",           "asymmetric",
      "align_corners",        "pytorch_half_pixel",
      "tf_crop_and_resize",   "tf_half_pixel_for_nn",
      "half_pixel_symmetric", NULL};
  static const char *const nearest[] = {"round_prefer_floor",
                                        "round_prefer_ceil",
                                        "floor",
                                        "ceil",
                                        "simple",
                                        NULL};
  fe_arena *arena = ir->arena;
  *q = (request){0};
  const char *mode = fe_attr_str(arena, op, "mode", "nearest");
  const char *aspect =
      fe_attr_str(arena, op, "keep_aspect_ratio_policy", "stretch");
  q->r.transform =
      fe_attr_str(arena, op, "coordinate_transformation_mode", "half_pixel");
  q->r.nearest = fe_attr_str(arena, op, "nearest_mode", "round_prefer_floor");
  q->r.antialias = fe_attr_i64(op, "antialias", 0);
  q->r.exclude_outside = fe_attr_i64(op, "exclude_outside", 0);
  q->r.a = fe_attr_f64(op, "cubic_coeff_a", -0.75);
  q->r.extrapolation = fe_attr_f64(op, "extrapolation_value", 0);
  q->r.mode = !strcmp(mode, "linear")  ? FE_RESIZE_LINEAR
              : !strcmp(mode, "cubic") ? FE_RESIZE_CUBIC
                                       : FE_RESIZE_NEAREST;
  q->aspect = !strcmp(aspect, "not_larger")    ? NOT_LARGER
              : !strcmp(aspect, "not_smaller") ? NOT_SMALLER
                                               : STRETCH;
  if (q->r.mode == FE_RESIZE_NEAREST && strcmp(mode, "nearest"))
    return fe_error(ir->diags, where, NULL, "mode cannot be '%s'", mode);
  if (q->aspect == STRETCH && strcmp(aspect, "stretch"))
    return fe_error(ir->diags, where, NULL,
                    "keep_aspect_ratio_policy cannot be '%s'", aspect);
  if (!one_of(q->r.transform, transforms))
    return fe_error(ir->diags, where, NULL,
                    "coordinate_transformation_mode cannot be '%s'",
                    q->r.transform);
  if (!one_of(q->r.nearest, nearest))
    return fe_error(ir->diags, where, NULL, "nearest_mode cannot be '%s'",
                    q->r.nearest);
  int64_t axes[FE_MAX_RANK];
  q->n = fe_attr_i64s(op, "axes", axes, FE_MAX_RANK);
  uint32_t seen = 0;
  for (unsigned i = 0; i < q->n; ++i) {
    int64_t a = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (a < 0 || a >= (int64_t)rank || seen >> a & 1)
      return fe_error(ir->diags, where, NULL,
                      "axis %" PRId64 " is out of range or given twice",
                      axes[i]);
    seen |= 1u << a;
    q->dim[i] = (unsigned)a;
  }
  if (!q->n)
    for (q->n = 0; q->n < rank; ++q->n)
      q->dim[q->n] = q->n;
  q->by_sizes = SIZES < n_in && given(ir, in[SIZES]);
  bool by_scales = SCALES < n_in && given(ir, in[SCALES]);
  if (q->by_sizes == by_scales)
    return fe_error(ir->diags, where, NULL,
                    "either scales or sizes must be given");
  fe_dims d;
  unsigned operand = q->by_sizes ? SIZES : SCALES;
  if (!fe_dims_of(ir, in[operand], &d) || d.rank != 1 ||
      (fe_dim_static(d.d[0]) != q->n && fe_dim_static(d.d[0]) != FE_DYN))
    return fe_error(ir->diags, where, NULL,
                    "%s must have one number per resized dimension, %u",
                    q->by_sizes ? "sizes" : "scales", q->n);
  bool crops = !strcmp(q->r.transform, "tf_crop_and_resize");
  if (crops && !given(ir, in[ROI]))
    return fe_error(ir->diags, where, NULL,
                    "the region of interest is missing");
  if (crops &&
      (!fe_dims_of(ir, in[ROI], &d) || d.rank != 1 ||
       (fe_dim_static(d.d[0]) != 2 * q->n && fe_dim_static(d.d[0]) != FE_DYN)))
    return fe_error(ir->diags, where, NULL,
                    "roi must have a start and an end per resized dimension");
  return FE_OK;
}

//===-- Sizes ---------------------------------------------------------------//

/// Of a list of constant floats; 0 when it is not constant.
static double constant_scale(fe_ir *ir, MlirValue v, unsigned i) {
  fe_const c;
  return fe_const_of(ir, v, &c) && i < c.count ? fe_const_f64(&c, i) : 0;
}

static MlirAffineExpr scaled(fe_infer *f, MlirAffineExpr in, double scale) {
  int64_t n = fe_dim_static(in);
  if (scale == 1)
    return in;
  float size = floorf((float)scale * (float)n);
  if (scale > 0 && n != FE_DYN && size < (float)INT32_MAX)
    return fe_dim_const(f->ir, (int64_t)size);
  if (scale > 1 && scale < INT32_MAX && scale == floor(scale))
    return fe_dim_mul(in, fe_dim_const(f->ir, (int64_t)scale));
  int exponent;
  if (scale > 1e-6 && scale < 1 && frexp(scale, &exponent) == 0.5)
    return fe_dim_floordiv(in, fe_dim_const(f->ir, (int64_t)(1 / scale)));
  return fe_fresh_dim(f);
}

/// Keeping the aspect ratio: all dims by the one scale numerator / denominator,
/// the least or the largest of those asked for.
static bool common_scale(const request *q, const fe_dims *x,
                         const fe_contents *sizes, int64_t *numerator,
                         int64_t *denominator) {
  for (unsigned i = 0; i < q->n; ++i) {
    MlirAffineExpr e = sizes->at[i];
    int64_t in = fe_dim_static(x->d[q->dim[i]]);
    int64_t out = mlirAffineExprIsNull(e) ? FE_DYN : fe_dim_static(e);
    if (in <= 0 || out < 0 || in > INT32_MAX || out > INT32_MAX)
      return false;
    bool less = i && out * *denominator < *numerator * in;
    if (i && less != (q->aspect == NOT_LARGER))
      continue;
    *numerator = out;
    *denominator = in;
  }
  return q->n > 0;
}

static fe_status infer_resize(fe_infer *f) {
  fe_ir *ir = f->ir;
  fe_dims x, out;
  request q;
  if (fe_in_dims(f, X, &x) ||
      read_request(ir, f->where, f->attrs, x.rank, f->n_in, f->in, &q))
    return FE_FAILED;
  fe_dtype t = fe_in_dtype(f, X);
  if (q.r.mode != FE_RESIZE_NEAREST && (t == FE_BOOL || t == FE_STRING))
    return fe_infer_error(f, NULL, "%s can only be resized by 'nearest'",
                          t == FE_BOOL ? "bool" : "strings");
  out = x;
  fe_contents sizes;
  bool known = q.by_sizes && fe_contents_partial(ir, f->in[SIZES], &sizes) &&
               sizes.n == q.n;
  int64_t numerator = 0, denominator = 1;
  bool common = known && q.aspect != STRETCH &&
                common_scale(&q, &x, &sizes, &numerator, &denominator);
  for (unsigned i = 0; i < q.n; ++i) {
    MlirAffineExpr *d = &out.d[q.dim[i]];
    fe_const scales;
    if (!q.by_sizes && fe_const_of(ir, f->in[SCALES], &scales) &&
        i < scales.count && !(fe_const_f64(&scales, i) > 0))
      return fe_infer_error(f, NULL, "the scales must be positive");
    if (!q.by_sizes)
      *d = scaled(f, *d, constant_scale(ir, f->in[SCALES], i));
    else if (common)
      *d = fe_dim_const(ir, (2 * numerator * fe_dim_static(*d) + denominator) /
                                (2 * denominator));
    else if (known && q.aspect == STRETCH && !mlirAffineExprIsNull(sizes.at[i]))
      *d = sizes.at[i];
    else
      *d = fe_fresh_dim(f);
    int64_t from = fe_dim_static(x.d[q.dim[i]]), to = fe_dim_static(*d);
    if (to != FE_DYN && (to < 0 || (to > 0 && from == 0)))
      return fe_infer_error(f, NULL, "dimension %u cannot get size %" PRId64,
                            q.dim[i], to);
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, X), &out);
  return FE_OK;
}

/// floor(in * scale) for every resized dim, as tensor.
static MlirValue scaled_sizes(fe_lower *l, const request *q) {
  fe_ir *ir = l->ir;
  MlirValue extent = fe_index(ir, q->n);
  MlirAffineMap id = mlirAffineMapMultiDimIdentityGet(ir->ctx, 1);
  fe_generic *g = fe_generic_begin(l, 1, &extent, 1, &l->in[SCALES],
                                   &l->in_type[SCALES], &id);
  MlirValue i = fe_iter(g, 0), in = fe_index(ir, 0);
  for (unsigned k = 0; k < q->n; ++k)
    in = fe_select(ir, fe_cmp(ir, FE_EQ, i, fe_index(ir, k)),
                   fe_size(l, l->in[X], q->dim[k]), in);
  MlirValue v =
      fe_mul(ir, fe_convert(ir, in, ir->f32, false, false), fe_arg(g, 0));
  v = fe_math(ir, "floor", v);
  v = fe_min(ir, v, fe_float(ir, ir->f32, 2e9));
  v = fe_select(ir, fe_cmp(ir, FE_GE, v, fe_float(ir, ir->f32, 0)), v,
                fe_float(ir, ir->f32, 0));
  return fe_generic_end(g, FE_I64, fe_convert(ir, v, ir->i64, false, false));
}

/// Fills in sizes of the result that are known at run time only, and the common
/// scale of `d` where the aspect ratio is kept.
static void runtime_sizes(fe_lower *l, const request *q, MlirValue *sizes,
                          fe_resize_dim *d) {
  fe_ir *ir = l->ir;
  bool known = true;
  for (unsigned i = 0; i < q->n; ++i)
    known &= !fe_is_null(sizes[q->dim[i]]);
  unsigned operand = q->by_sizes ? SIZES : SCALES;
  if (fe_static_dim(l->in[operand], 0) == FE_DYN)
    fe_check(
        l, fe_cmp(ir, FE_EQ, fe_size(l, l->in[operand], 0), fe_index(ir, q->n)),
        "there is not one scale or size per resized dimension");
  if (q->by_sizes && q->aspect != STRETCH) {
    MlirValue numerator = {0}, denominator = {0};
    for (unsigned i = 0; i < q->n; ++i) {
      MlirValue in = fe_size(l, l->in[X], q->dim[i]);
      MlirValue out = fe_read_index(l, l->in[SIZES], i);
      if (i) {
        MlirValue take =
            fe_cmp(ir, q->aspect == NOT_LARGER ? FE_LT : FE_GT,
                   fe_mul(ir, out, denominator), fe_mul(ir, numerator, in));
        out = fe_select(ir, take, out, numerator);
        in = fe_select(ir, take, in, denominator);
      }
      numerator = out;
      denominator = in;
    }
    MlirValue two = fe_index(ir, 2);
    MlirValue whole = fe_max(ir, denominator, fe_index(ir, 1));
    for (unsigned i = 0; i < q->n; ++i) {
      d[i].numerator = numerator;
      d[i].denominator = denominator;
      if (!fe_is_null(sizes[q->dim[i]]))
        continue;
      MlirValue v = fe_mul(ir, fe_mul(ir, two, numerator),
                           fe_size(l, l->in[X], q->dim[i]));
      sizes[q->dim[i]] =
          fe_floordiv(ir, fe_add(ir, v, whole), fe_mul(ir, two, whole));
    }
  } else if (!known) {
    MlirValue list = q->by_sizes ? l->in[SIZES] : scaled_sizes(l, q);
    for (unsigned i = 0; i < q->n; ++i)
      if (fe_is_null(sizes[q->dim[i]]))
        sizes[q->dim[i]] = fe_read_index(l, list, i);
  }
  for (unsigned i = 0; i < q->n; ++i) {
    unsigned k = q->dim[i];
    MlirValue in = fe_size(l, l->in[X], k), zero = fe_index(ir, 0);
    if (fe_static_dim(l->in[X], k) > 0 &&
        fe_static_dim(fe_result(l->op, 0), k) != FE_DYN)
      continue;
    MlirValue empty = fe_cmp(ir, FE_EQ, sizes[k], zero);
    MlirValue ok = fe_and(ir, fe_cmp(ir, FE_GT, sizes[k], zero),
                          fe_cmp(ir, FE_GT, in, zero));
    fe_check(l, fe_or(ir, empty, ok), "a dimension cannot get this size");
  }
}

//===-- Lowering ------------------------------------------------------------//

/// Resizing this dim does nothing.
static bool is_identity(fe_lower *l, const request *q, const fe_resize_dim *d) {
  fe_dims in, out;
  return strcmp(q->r.transform, "tf_crop_and_resize") &&
         (d->scale == 1 || q->by_sizes) &&
         !(q->by_sizes && q->aspect != STRETCH) &&
         fe_dims_of(l->ir, fe_operand(l->op, X), &in) &&
         fe_dims_of(l->ir, fe_result(l->op, 0), &out) &&
         fe_dim_same(in.d[d->dim], out.d[d->dim]);
}

/// Nearest: the factor by which every element is repeated, 0: it is not so.
static int64_t repetition(fe_lower *l, const request *q,
                          const fe_resize_dim *d) {
  double scale = d->scale;
  int64_t in = fe_static_dim(fe_operand(l->op, X), d->dim);
  int64_t out = fe_static_dim(fe_result(l->op, 0), d->dim);
  if (q->by_sizes && q->aspect == STRETCH && in > 0 && out > 0)
    scale = (double)out / (double)in;
  if (scale < 1 || scale > 1024 || scale != floor(scale))
    return 0;
  const char *nearest = q->r.nearest;
  bool down = !strcmp(nearest, "floor") || !strcmp(nearest, "simple");
  bool round = !strncmp(nearest, "round", 5);
  bool fits = !strcmp(q->r.transform, "asymmetric")
                  ? down
                  : round && (!strcmp(q->r.transform, "half_pixel") ||
                              !strcmp(q->r.transform, "pytorch_half_pixel"));
  return fits ? (int64_t)scale : 0;
}

static void lower_nearest(fe_lower *l, const request *q,
                          const fe_resize_dim *dims, MlirValue *sizes) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[X]);
  MlirValue table[FE_MAX_RANK] = {{0}};
  int64_t repeat[FE_MAX_RANK];
  for (unsigned i = 0; i < rank; ++i)
    repeat[i] = 1;
  for (unsigned i = 0; i < q->n; ++i) {
    unsigned k = dims[i].dim;
    if (is_identity(l, q, &dims[i]))
      continue;
    repeat[k] = repetition(l, q, &dims[i]);
    if (!repeat[k])
      table[k] = fe_resize_make_table(l, &q->r, &dims[i]).subscripts;
  }
  MlirValue inputs[FE_MAX_RANK];
  fe_dtype types[FE_MAX_RANK];
  MlirAffineMap maps[FE_MAX_RANK];
  unsigned n = 0, input_of[FE_MAX_RANK];
  for (unsigned i = 0; i < rank; ++i) {
    if (fe_is_null(table[i]))
      continue;
    MlirAffineExpr e = mlirAffineDimExprGet(ir->ctx, i);
    input_of[i] = n;
    inputs[n] = table[i];
    types[n] = FE_I64;
    maps[n++] = mlirAffineMapGet(ir->ctx, rank, 0, 1, &e);
  }
  fe_generic *g = fe_generic_begin(l, rank, sizes, n, inputs, types, maps);
  MlirValue at[FE_MAX_RANK], none = {0}, zero = fe_index(ir, 0);
  bool crops = !strcmp(q->r.transform, "tf_crop_and_resize");
  for (unsigned i = 0; i < rank; ++i) {
    if (!fe_is_null(table[i])) {
      at[i] = fe_to_index(ir, fe_arg(g, input_of[i]));
      if (!crops)
        continue;
      MlirValue outside = fe_cmp(ir, FE_LT, at[i], zero);
      none = fe_is_null(none) ? outside : fe_or(ir, none, outside);
      at[i] = fe_max(ir, at[i], zero);
      continue;
    }
    at[i] = fe_iter(g, i);
    if (repeat[i] > 1)
      at[i] = fe_divu(ir, at[i], fe_index(ir, repeat[i]));
  }
  fe_dtype t = l->in_type[X];
  MlirValue v = fe_at(g, l->in[X], t, rank, at);
  if (!fe_is_null(none))
    v = fe_select(ir, none,
                  fe_number(ir, fe_compute_type(ir, t), q->r.extrapolation), v);
  l->out[0] = fe_generic_end(g, t, v);
}

static void lower_passes(fe_lower *l, const request *q,
                         const fe_resize_dim *dims) {
  fe_ir *ir = l->ir;
  fe_dtype type = l->in_type[X], sum = type == FE_F64 ? FE_F64 : FE_F32;
  unsigned rank = fe_rank(l->in[X]), n = 0;
  const fe_resize_dim *order[FE_MAX_RANK];
  for (unsigned i = q->n; i-- > 0;)
    if (!is_identity(l, q, &dims[i]))
      order[n++] = &dims[i];
  MlirValue x = l->in[X], sizes[FE_MAX_RANK];
  for (unsigned i = 0; i < rank; ++i)
    sizes[i] = fe_size(l, x, i);
  fe_dtype from = type;
  for (unsigned i = 0; i < n; ++i) {
    fe_resize_table t = fe_resize_make_table(l, &q->r, order[i]);
    fe_dtype to = i + 1 == n ? type : sum;
    x = fe_resize_pass(l, &q->r, order[i], &t, x, from, to, sizes);
    from = to;
  }
  l->out[0] = n ? x : fe_reshape(l, x, fe_storage_type(ir, type), rank, sizes);
}

static fe_status lower_resize(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[X]);
  MlirValue operands[4] = {{0}};
  for (unsigned i = 0; i < l->n_in && i < 4; ++i)
    if (!fe_is_null(l->in[i]))
      operands[i] = fe_operand(l->op, i);
  request q;
  if (read_request(ir, l->where, l->op, rank, 4, operands, &q))
    return FE_FAILED;
  MlirValue sizes[FE_MAX_RANK] = {{0}};
  fe_out_sizes(l, 0, sizes);
  fe_resize_dim dims[FE_MAX_RANK] = {{0}};
  runtime_sizes(l, &q, sizes, dims);
  bool crops = !strcmp(q.r.transform, "tf_crop_and_resize");
  if (crops && fe_static_dim(l->in[ROI], 0) == FE_DYN)
    fe_check(
        l, fe_cmp(ir, FE_EQ, fe_size(l, l->in[ROI], 0), fe_index(ir, 2 * q.n)),
        "roi does not have a start and an end per resized dimension");
  for (unsigned i = 0; i < q.n; ++i) {
    fe_resize_dim *d = &dims[i];
    d->dim = q.dim[i];
    d->in = fe_size(l, l->in[X], d->dim);
    d->out = sizes[d->dim];
    d->entry = i;
    d->n_roi = q.n;
    if (!q.by_sizes) {
      d->scale = constant_scale(ir, operands[SCALES], i);
      d->scales = l->in[SCALES];
    }
    if (crops) {
      d->roi = l->in[ROI];
      d->roi_type = l->in_type[ROI];
    }
  }
  if (q.r.mode == FE_RESIZE_NEAREST)
    lower_nearest(l, &q, dims, sizes);
  else
    lower_passes(l, &q, dims);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def resize_attrs[] = {
    {"antialias", FE_A_INT, "0"},
    {"axes", FE_A_INTS, ""},
    {"coordinate_transformation_mode", FE_A_STRING,
     "half_pixel|asymmetric|align_corners|pytorch_half_pixel|"
     "tf_crop_and_resize|tf_half_pixel_for_nn|half_pixel_symmetric"},
    {"cubic_coeff_a", FE_A_FLOAT, "-0.75"},
    {"exclude_outside", FE_A_INT, "0"},
    {"extrapolation_value", FE_A_FLOAT, "0"},
    {"keep_aspect_ratio_policy", FE_A_STRING, "stretch|not_larger|not_smaller"},
    {"mode", FE_A_STRING, "nearest|linear|cubic"},
    {"nearest_mode", FE_A_STRING,
     "round_prefer_floor|round_prefer_ceil|floor|ceil|simple"},
    {0}};
static const fe_attr_def upsample_attrs[] = {
    {"height_scale", FE_A_FLOAT, "0"},
    {"mode", FE_A_STRING, "nearest|linear|bilinear|cubic"},
    {"scales", FE_A_FLOATS, ""},
    {"width_scale", FE_A_FLOAT, "0"},
    {0}};

const fe_op_row fe_family_resize[] = {
    {.name = "Resize",
     .since = 10,
     .inputs = "X:T1, roi?:T2, scales?:S, sizes?:I",
     .outputs = "Y:T1",
     .types = "T1=numeric,bool,str;T2=float;S=f32;I=i64",
     .attrs = resize_attrs,
     .flags = FE_FUNCTION,
     .upgrade = upgrade_resize,
     .expand = fe_expand_complex,
     .infer = infer_resize,
     .lower = lower_resize},
    {.name = "Upsample",
     .since = 1,
     .until = 9,
     .inputs = "X:T, scales?:S",
     .outputs = "Y:T",
     .types = "T=numeric,bool,str;S=f32",
     .attrs = upsample_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_upsample},
    {0}};
