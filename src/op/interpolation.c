//===- interpolation.c - tables and passes of resizing -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coordinates are computed in f32, as ONNX Runtime does. Weights follow from
// the distance between a place and an element alone, so antialiasing is the
// same formula with distances times the scale, over more elements.
//
//===----------------------------------------------------------------------===//
#include "op/interpolation.h"

#include "op/common.h"

#include <math.h>
#include <string.h>

static MlirValue f32(fe_ir *ir, double v) { return fe_float(ir, ir->f32, v); }
static MlirValue to_f32(fe_ir *ir, MlirValue v) {
  return fe_convert(ir, v, ir->f32, false, false);
}

//===-- Coordinates ---------------------------------------------------------//

typedef struct place {
  fe_ir *ir;
  MlirValue x;              // in the resized dim, f32
  MlirValue in, out, width; // sizes, f32; width: scale * in
  MlirValue scale, start, end;
} place;

static MlirValue half_pixel(const place *p) {
  MlirValue center = fe_add(p->ir, p->x, f32(p->ir, 0.5));
  return fe_sub(p->ir, fe_div(p->ir, center, p->scale), f32(p->ir, 0.5));
}
static MlirValue asymmetric(const place *p) {
  return fe_div(p->ir, p->x, p->scale);
}
static MlirValue pytorch_half_pixel(const place *p) {
  MlirValue many = fe_cmp(p->ir, FE_GT, p->out, f32(p->ir, 1));
  return fe_select(p->ir, many, half_pixel(p), f32(p->ir, 0));
}
/// Half a pixel off even where nothing is scaled, if one took it at its word;
/// the other programs leave such a dim as it is.
static MlirValue tf_half_pixel_for_nn(const place *p) {
  fe_ir *ir = p->ir;
  MlirValue same = fe_cmp(ir, FE_EQ, p->scale, f32(ir, 1));
  MlirValue v = fe_div(ir, fe_add(ir, p->x, f32(ir, 0.5)), p->scale);
  return fe_select(ir, same, p->x, v);
}
static MlirValue half_pixel_symmetric(const place *p) {
  fe_ir *ir = p->ir;
  MlirValue adjustment = fe_div(ir, p->out, p->width);
  MlirValue center = fe_mul(ir, p->in, f32(ir, 0.5));
  MlirValue offset = fe_mul(ir, center, fe_sub(ir, f32(ir, 1), adjustment));
  return fe_add(ir, offset, half_pixel(p));
}

/// x * (in - 1) / (width - 1), or `alone` where there is one place only;
/// rounded as the standard writes it, as halves decide which element is
/// nearest.
static MlirValue stretched(const place *p, MlirValue x, MlirValue alone) {
  fe_ir *ir = p->ir;
  MlirValue one = f32(ir, 1);
  MlirValue is_one = fe_cmp(ir, FE_EQ, p->width, one);
  MlirValue steps = fe_select(ir, is_one, one, fe_sub(ir, p->width, one));
  MlirValue span = fe_sub(ir, p->in, one);
  x = fe_div(ir, fe_mul(ir, x, span), steps);
  return fe_select(ir, is_one, alone, x);
}
static MlirValue align_corners(const place *p) {
  fe_ir *ir = p->ir;
  return stretched(p, p->x, f32(ir, 0));
}
static MlirValue tf_crop_and_resize(const place *p) {
  fe_ir *ir = p->ir;
  MlirValue last = fe_sub(ir, p->in, f32(ir, 1));
  MlirValue x = fe_mul(ir, p->x, fe_sub(ir, p->end, p->start));
  MlirValue middle =
      fe_mul(ir, f32(ir, 0.5), fe_mul(ir, fe_add(ir, p->start, p->end), last));
  MlirValue from = fe_mul(ir, p->start, last);
  MlirValue alone = fe_sub(ir, middle, from);
  return fe_add(ir, from, stretched(p, x, alone));
}

static const struct {
  const char *name;
  MlirValue (*fn)(const place *p);
} transforms[] = {{"half_pixel", half_pixel},
                  {"asymmetric", asymmetric},
                  {"align_corners", align_corners},
                  {"pytorch_half_pixel", pytorch_half_pixel},
                  {"half_pixel_symmetric", half_pixel_symmetric},
                  {"tf_half_pixel_for_nn", tf_half_pixel_for_nn},
                  {"tf_crop_and_resize", tf_crop_and_resize}};

static MlirValue coordinate(const fe_resize *r, const place *p) {
  for (size_t i = 0; i < FE_COUNT(transforms); ++i)
    if (!strcmp(transforms[i].name, r->transform))
      return transforms[i].fn(p);
  return half_pixel(p); // names are checked by inference
}

/// x + 0.5 may be rounded up to the next integer.
static MlirValue nearest_up(fe_ir *ir, MlirValue x) {
  MlirValue low = fe_math(ir, "floor", x);
  MlirValue up = fe_cmp(ir, FE_GE, fe_sub(ir, x, low), f32(ir, 0.5));
  return fe_select(ir, up, fe_add(ir, low, f32(ir, 1)), low);
}

static MlirValue rounded(const fe_resize *r, const place *p, MlirValue x) {
  fe_ir *ir = p->ir;
  if (!strcmp(r->nearest, "floor"))
    return fe_math(ir, "floor", x);
  if (!strcmp(r->nearest, "ceil"))
    return fe_math(ir, "ceil", x);
  if (!strcmp(r->nearest, "round_prefer_ceil"))
    return nearest_up(ir, x);
  if (!strcmp(r->nearest, "simple")) // up when the image shrinks
    return fe_select(ir, fe_cmp(ir, FE_LT, p->scale, f32(ir, 1)),
                     fe_math(ir, "ceil", x), fe_math(ir, "floor", x));
  return fe_math(ir, "ceil", fe_sub(ir, x, f32(ir, 0.5)));
}

//===-- Weights -------------------------------------------------------------//

static MlirValue linear_weight(fe_ir *ir, MlirValue distance) {
  return fe_max(ir, fe_sub(ir, f32(ir, 1), distance), f32(ir, 0));
}

static MlirValue cubic_weight(fe_ir *ir, double a, MlirValue d) {
  // near: ((a + 2) d - (a + 3)) d^2 + 1; far: ((a d - 5 a) d + 8 a) d - 4 a
  MlirValue near = fe_sub(ir, fe_mul(ir, d, f32(ir, a + 2)), f32(ir, a + 3));
  near = fe_add(ir, fe_mul(ir, near, fe_mul(ir, d, d)), f32(ir, 1));
  MlirValue far = fe_sub(ir, fe_mul(ir, d, f32(ir, a)), f32(ir, 5 * a));
  far = fe_add(ir, fe_mul(ir, far, d), f32(ir, 8 * a));
  far = fe_sub(ir, fe_mul(ir, far, d), f32(ir, 4 * a));
  MlirValue v =
      fe_select(ir, fe_cmp(ir, FE_LT, d, f32(ir, 2)), far, f32(ir, 0));
  return fe_select(ir, fe_cmp(ir, FE_LE, d, f32(ir, 1)), near, v);
}

//===-- The table -----------------------------------------------------------//

typedef struct builder {
  fe_lower *l;
  fe_ir *ir;
  const fe_resize *r;
  const fe_resize_dim *d;
  fe_kernel k;
  MlirValue in, out, taps; // in the kernel
  MlirValue scales, roi;
} builder;

static MlirValue roi_at(builder *b, unsigned i) {
  MlirValue at = fe_index(b->ir, i);
  MlirValue v = fe_get(&b->k, b->roi, b->d->roi_type, 1, &at);
  return fe_convert(b->ir, v, b->ir->f32, false, false);
}

static place place_of(builder *b, MlirValue o) {
  fe_ir *ir = b->ir;
  const fe_resize_dim *d = b->d;
  place p = {.ir = ir,
             .x = to_f32(ir, o),
             .in = to_f32(ir, b->in),
             .out = to_f32(ir, b->out)};
  MlirValue entry = fe_index(ir, d->entry);
  if (d->scale > 0)
    p.scale = f32(ir, d->scale);
  else if (!fe_is_null(b->scales))
    p.scale = fe_get(&b->k, b->scales, FE_F32, 1, &entry);
  else
    p.scale =
        fe_div(ir, to_f32(ir, b->k.scalar[3]), to_f32(ir, b->k.scalar[4]));
  bool from_size = d->scale <= 0 && fe_is_null(b->scales);
  p.width = from_size ? p.out : fe_mul(ir, p.scale, p.in);
  p.start = fe_is_null(b->roi) ? f32(ir, 0) : roi_at(b, d->entry);
  p.end = fe_is_null(b->roi) ? f32(ir, 1) : roi_at(b, d->n_roi + d->entry);
  return p;
}

static MlirValue clamped(builder *b, MlirValue i) {
  fe_ir *ir = b->ir;
  MlirValue last = fe_sub(ir, b->in, fe_index(ir, 1));
  return fe_max(ir, fe_min(ir, i, last), fe_index(ir, 0));
}

/// Float to index; far-off values, and NaN, are cut to what an index can hold.
static MlirValue index_of(builder *b, MlirValue v) {
  fe_ir *ir = b->ir;
  v = fe_select(ir, fe_cmp(ir, FE_GE, v, f32(ir, -1e9)), v, f32(ir, -1e9));
  v = fe_select(ir, fe_cmp(ir, FE_LE, v, f32(ir, 1e9)), v, f32(ir, 1e9));
  return fe_to_index(ir, fe_convert(ir, v, ir->i64, false, false));
}

/// `v`, or -1 where the coordinate is outside and that is not extrapolated by
/// clamping.
static MlirValue marked(builder *b, const place *p, MlirValue x, MlirValue v) {
  fe_ir *ir = b->ir;
  if (strcmp(b->r->transform, "tf_crop_and_resize"))
    return v;
  MlirValue last = fe_sub(ir, p->in, f32(ir, 1));
  MlirValue inside =
      fe_and(ir, fe_cmp(ir, FE_GE, x, f32(ir, 0)), fe_cmp(ir, FE_LE, x, last));
  return fe_select(ir, inside, v, fe_index(ir, -1));
}

static void store_subscript(builder *b, MlirValue v, MlirValue at) {
  fe_put(&b->k, fe_convert(b->ir, v, b->ir->i64, false, false), b->k.out[0],
         FE_I64, 1, &at);
}

static void nearest_entry(builder *b, MlirValue o) {
  place p = place_of(b, o);
  MlirValue x = coordinate(b->r, &p);
  MlirValue i = clamped(b, index_of(b, rounded(b->r, &p, x)));
  store_subscript(b, marked(b, &p, x, i), o);
}

static void weighted_entries(builder *b, MlirValue o) {
  fe_ir *ir = b->ir;
  const fe_resize *r = b->r;
  place p = place_of(b, o);
  MlirValue x = coordinate(r, &p), one = fe_index(ir, 1);
  MlirValue base = index_of(b, fe_math(ir, "floor", x));
  MlirValue before = fe_sub(ir, fe_divu(ir, b->taps, fe_index(ir, 2)), one);
  MlirValue first = fe_sub(ir, base, before);
  MlirValue shrink =
      r->antialias ? fe_min(ir, p.scale, f32(ir, 1)) : f32(ir, 1);
  MlirValue row = fe_mul(ir, o, b->taps), zero = f32(ir, 0);
  fe_region taps = fe_for_begin(ir, fe_index(ir, 0), b->taps, one, 1, &zero);
  MlirValue i = fe_add(ir, first, taps.iv), at = fe_add(ir, row, taps.iv);
  MlirValue distance = fe_math(ir, "absf", fe_sub(ir, to_f32(ir, i), x));
  distance = fe_mul(ir, distance, shrink);
  MlirValue w = r->mode == FE_RESIZE_LINEAR ? linear_weight(ir, distance)
                                            : cubic_weight(ir, r->a, distance);
  MlirValue inside = clamped(b, i);
  if (r->exclude_outside)
    w = fe_select(ir, fe_cmp(ir, FE_EQ, i, inside), w, zero);
  store_subscript(b, marked(b, &p, x, inside), at);
  fe_put(&b->k, w, b->k.out[1], FE_F32, 1, &at);
  MlirValue sum = fe_add(ir, fe_block_arg(taps.body, 1), w);
  fe_for_end(ir, &taps, 1, &sum);
  if (!r->antialias && !r->exclude_outside)
    return;
  sum = fe_result(taps.op, 0);
  taps = fe_loop(ir, b->taps);
  at = fe_add(ir, row, taps.iv);
  w = fe_get(&b->k, b->k.out[1], FE_F32, 1, &at);
  fe_put(&b->k, fe_div(ir, w, sum), b->k.out[1], FE_F32, 1, &at);
  fe_loop_end(ir, &taps);
}

/// 1 / scale is at most in / out, since out is scale * in rounded down.
static void count_taps(fe_ir *ir, const fe_resize *r, const fe_resize_dim *d,
                       fe_resize_table *t) {
  int64_t reach = r->mode == FE_RESIZE_NEAREST  ? 0
                  : r->mode == FE_RESIZE_LINEAR ? 1
                                                : 2;
  int64_t in, out;
  t->fixed_taps = reach ? 2 * reach : 1;
  if (r->antialias && reach) {
    t->fixed_taps = FE_DYN;
    if (fe_size_known(d->in, &in) && fe_size_known(d->out, &out) && out > 0 &&
        in < INT32_MAX && out < INT32_MAX)
      t->fixed_taps = 2 * ((reach * (in > out ? in : out) + out - 1) / out + 1);
  }
  if (t->fixed_taps != FE_DYN) {
    t->taps = fe_index(ir, t->fixed_taps);
    return;
  }
  MlirValue some = fe_max(ir, d->out, fe_index(ir, 1));
  MlirValue widest = fe_mul(ir, fe_max(ir, d->in, some), fe_index(ir, reach));
  t->taps =
      fe_mul(ir, fe_add(ir, fe_ceildiv(ir, widest, some), fe_index(ir, 1)),
             fe_index(ir, 2));
}

fe_resize_table fe_resize_make_table(fe_lower *l, const fe_resize *r,
                                     const fe_resize_dim *d) {
  fe_ir *ir = l->ir;
  fe_resize_table t = {0};
  builder b = {.l = l, .ir = ir, .r = r, .d = d};
  count_taps(ir, r, d, &t);
  int64_t out;
  MlirValue size = fe_size_known(d->out, &out) && t.fixed_taps != FE_DYN
                       ? fe_index(ir, out * t.fixed_taps)
                       : fe_mul(ir, d->out, t.taps);
  bool weighted = r->mode != FE_RESIZE_NEAREST;
  MlirValue in[2], outs[2], scalars[5] = {d->in, d->out, t.taps};
  unsigned n_in = 0;
  bool by_scales = d->scale <= 0 && !fe_is_null(d->scales);
  if (by_scales)
    in[n_in++] = d->scales;
  if (!fe_is_null(d->roi))
    in[n_in++] = d->roi;
  scalars[3] = fe_is_null(d->numerator) ? d->out : d->numerator;
  scalars[4] = fe_is_null(d->denominator) ? d->in : d->denominator;
  outs[0] = fe_tensor_empty(l, FE_I64, 1, &size);
  if (weighted)
    outs[1] = fe_tensor_empty(l, FE_F32, 1, &size);
  fe_kernel_begin(&b.k, l, "resize_table", n_in, in, 1 + weighted, outs, 5,
                  scalars);
  b.in = b.k.scalar[0];
  b.out = b.k.scalar[1];
  b.taps = t.fixed_taps != FE_DYN ? fe_index(ir, t.fixed_taps) : b.k.scalar[2];
  if (by_scales)
    b.scales = b.k.in[0];
  if (!fe_is_null(d->roi))
    b.roi = b.k.in[by_scales];
  fe_region places =
      fe_for_begin(ir, b.k.begin, b.k.end, fe_index(ir, 1), 0, NULL);
  (weighted ? weighted_entries : nearest_entry)(&b, places.iv);
  fe_loop_end(ir, &places);
  MlirAffineExpr cost =
      fe_dim_mul(fe_kernel_scalar(&b.k, 2), fe_dim_const(ir, 16));
  fe_kernel_end(&b.k, fe_kernel_scalar(&b.k, 1), cost);
  t.subscripts = b.k.result[0];
  if (weighted)
    t.weights = b.k.result[1];
  return t;
}

//===-- A pass --------------------------------------------------------------//

enum { TILE = 256 };

typedef struct pass {
  fe_lower *l;
  fe_ir *ir;
  const fe_resize *r;
  const fe_resize_table *t;
  fe_dtype from, to;
  MlirType sum; // f32 or f64
  fe_kernel k;
  MlirValue taps;
} pass;

MlirValue fe_interpolated(fe_ir *ir, fe_dtype t, MlirValue v) {
  MlirType sum = mlirValueGetType(v), type = fe_compute_type(ir, t);
  if (fe_dtype_is_float(t))
    return fe_convert(ir, v, type, false, false);
  unsigned bits = t == FE_BOOL ? 1 : fe_dtype_bits(t);
  bool is_signed = fe_dtype_is_signed(t);
  double high = ldexp(1, (int)(bits - is_signed)), low = is_signed ? -high : 0;
  // The largest float below a large power of two.
  unsigned digits = mlirTypeEqual(sum, ir->f64) ? 53 : 24;
  high = bits > digits ? high * (1 - ldexp(1, -(int)digits)) : high - 1;
  v = fe_max(ir, fe_min(ir, v, fe_float(ir, sum, high)),
             fe_float(ir, sum, low));
  return fe_convert(ir, v, type, false, !is_signed);
}

/// A sum as an element of the result; integers are rounded after antialiasing.
static MlirValue finished(pass *p, MlirValue v) {
  if (p->r->antialias && !fe_dtype_is_float(p->to))
    v = fe_math(p->ir, "roundeven", v);
  return fe_interpolated(p->ir, p->to, v);
}

static MlirValue table_entry(pass *p, MlirValue row, MlirValue tap,
                             MlirValue *weight) {
  fe_ir *ir = p->ir;
  MlirValue at = fe_add(ir, row, tap);
  *weight = fe_convert(ir, fe_get(&p->k, p->k.in[2], FE_F32, 1, &at), p->sum,
                       false, false);
  return fe_to_index(ir, fe_get(&p->k, p->k.in[1], FE_I64, 1, &at));
}

static MlirValue element(pass *p, MlirValue outer, MlirValue i,
                         MlirValue inner) {
  MlirValue at[3] = {outer, i, inner};
  MlirValue v = fe_get(&p->k, p->k.in[0], p->from, 3, at);
  return fe_convert(p->ir, v, p->sum, fe_dtype_is_unsigned(p->from), false);
}

static void store(pass *p, MlirValue v, MlirValue outer, MlirValue o,
                  MlirValue inner) {
  MlirValue at[3] = {outer, o, inner};
  fe_put(&p->k, finished(p, v), p->k.out[0], p->to, 3, at);
}

static MlirValue extrapolated(pass *p, MlirValue first, MlirValue sum) {
  fe_ir *ir = p->ir;
  if (strcmp(p->r->transform, "tf_crop_and_resize"))
    return sum;
  MlirValue none = fe_cmp(ir, FE_LT, first, fe_index(ir, 0));
  return fe_select(ir, none, fe_float(ir, p->sum, p->r->extrapolation), sum);
}

/// The last dim: element by element.
static void along_last(pass *p) {
  fe_ir *ir = p->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue out = fe_dim(ir, p->k.out[0], 1);
  fe_region rows = fe_for_begin(ir, p->k.begin, p->k.end, one, 0, NULL);
  fe_region places = fe_loop(ir, out);
  MlirValue row = fe_mul(ir, places.iv, p->taps), weight;
  MlirValue sum = fe_float(ir, p->sum, 0);
  MlirValue first = table_entry(p, row, zero, &weight);
  if (p->t->fixed_taps != FE_DYN && p->t->fixed_taps <= 4) {
    for (int64_t t = 0; t < p->t->fixed_taps; ++t) {
      MlirValue i = table_entry(p, row, fe_index(ir, t), &weight);
      i = fe_max(ir, i, zero);
      MlirValue v = element(p, rows.iv, i, zero);
      sum = fe_add(ir, sum, fe_mul(ir, v, weight));
    }
  } else {
    fe_region taps = fe_for_begin(ir, zero, p->taps, one, 1, &sum);
    MlirValue i = table_entry(p, row, taps.iv, &weight);
    MlirValue v = element(p, rows.iv, fe_max(ir, i, zero), zero);
    sum = fe_add(ir, fe_block_arg(taps.body, 1), fe_mul(ir, v, weight));
    fe_for_end(ir, &taps, 1, &sum);
    sum = fe_result(taps.op, 0);
  }
  store(p, extrapolated(p, first, sum), rows.iv, places.iv, zero);
  fe_loop_end(ir, &places);
  fe_loop_end(ir, &rows);
}

/// Another dim: whole rows of what is behind it.
static void along_outer(pass *p) {
  fe_ir *ir = p->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue inner = fe_dim(ir, p->k.out[0], 2), tile = fe_index(ir, TILE);
  int64_t tile_size = TILE;
  MlirValue sums = fe_alloca(ir, fe_memref_type(ir, p->sum, 1, &tile_size));
  MlirValue out = fe_dim(ir, p->k.out[0], 1);
  fe_region rows = fe_for_begin(ir, p->k.begin, p->k.end, one, 0, NULL);
  MlirValue outer = fe_divu(ir, rows.iv, out), o = fe_remu(ir, rows.iv, out);
  MlirValue row = fe_mul(ir, o, p->taps), weight;
  MlirValue first = table_entry(p, row, zero, &weight);
  fe_region tiles = fe_for_begin(ir, zero, inner, tile, 0, NULL);
  MlirValue n = fe_min(ir, tile, fe_sub(ir, inner, tiles.iv));
  fe_region each = fe_loop(ir, n);
  fe_store(ir, fe_float(ir, p->sum, 0), sums, 1, &each.iv);
  fe_loop_end(ir, &each);
  fe_region taps = fe_loop(ir, p->taps);
  MlirValue i = fe_max(ir, table_entry(p, row, taps.iv, &weight), zero);
  each = fe_loop(ir, n);
  MlirValue v = element(p, outer, i, fe_add(ir, tiles.iv, each.iv));
  v = fe_add(ir, fe_load(ir, sums, 1, &each.iv), fe_mul(ir, v, weight));
  fe_store(ir, v, sums, 1, &each.iv);
  fe_loop_end(ir, &each);
  fe_loop_end(ir, &taps);
  each = fe_loop(ir, n);
  v = extrapolated(p, first, fe_load(ir, sums, 1, &each.iv));
  store(p, v, outer, o, fe_add(ir, tiles.iv, each.iv));
  fe_loop_end(ir, &each);
  fe_loop_end(ir, &tiles);
  fe_loop_end(ir, &rows);
}

MlirValue fe_resize_pass(fe_lower *l, const fe_resize *r,
                         const fe_resize_dim *d, const fe_resize_table *t,
                         MlirValue x, fe_dtype from, fe_dtype to,
                         MlirValue *sizes) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(x);
  pass p = {.l = l, .ir = ir, .r = r, .t = t, .from = from, .to = to};
  p.sum = from == FE_F64 || to == FE_F64 ? ir->f64 : ir->f32;
  bool last = d->dim + 1 == rank;
  MlirValue three[3] = {
      fe_known_product(ir, d->dim, sizes), d->in,
      fe_known_product(ir, rank - d->dim - 1, sizes + d->dim + 1)};
  MlirType from_type = fe_storage_type(ir, from);
  MlirValue in[3] = {fe_reshape(l, x, from_type, 3, three), t->subscripts,
                     t->weights};
  three[1] = sizes[d->dim] = d->out;
  MlirType to_type = fe_storage_type(ir, to);
  MlirValue out = fe_tensor_empty(l, to, 3, three);
  fe_kernel_begin(&p.k, l, last ? "resize_row" : "resize_rows", 3, in, 1, &out,
                  1, &t->taps);
  p.taps =
      t->fixed_taps != FE_DYN ? fe_index(ir, t->fixed_taps) : p.k.scalar[0];
  (last ? along_last : along_outer)(&p);
  MlirAffineExpr outer = fe_kernel_dim(&p.k, 3, 0);
  MlirAffineExpr places = fe_kernel_dim(&p.k, 3, 1);
  MlirAffineExpr taps = fe_kernel_scalar(&p.k, 0);
  if (last)
    fe_kernel_end(&p.k, outer, fe_dim_mul(places, taps));
  else
    fe_kernel_end(&p.k, fe_dim_mul(outer, places),
                  fe_dim_mul(fe_kernel_dim(&p.k, 3, 2), taps));
  return fe_reshape(l, p.k.result[0], to_type, rank, sizes);
}
