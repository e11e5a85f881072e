//===- grid_sample.c - GridSample, AffineGrid --------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: for one place of the grid the elements and weights of each dim are
// computed once, then all channels are sampled with their products. Coordinates
// may be anything, NaN too: they are cut to numbers that an index can hold, and
// subscripts are brought into the image.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/complex.h"
#include "op/interpolation.h"
#include "op/sliding.h"

#include <inttypes.h>
#include <string.h>

//===-- GridSample ----------------------------------------------------------//

static fe_status upgrade_sample(fe_node *n) {
  fe_node_attr *mode = fe_node_attr_find(n, "mode");
  if (mode && mode->s && !strcmp(mode->s, "bilinear"))
    fe_node_set_str(n, "mode", "linear");
  else if (mode && mode->s && !strcmp(mode->s, "bicubic"))
    fe_node_set_str(n, "mode", "cubic");
  return FE_OK;
}

static fe_status infer_sample(fe_infer *f) {
  fe_dims x, grid;
  if (fe_in_dims(f, 0, &x) || fe_in_dims(f, 1, &grid))
    return FE_FAILED;
  unsigned n = x.rank - 2;
  if (x.rank < 3 || grid.rank != x.rank)
    return fe_infer_error(f, NULL,
                          "the input must have rank 3 or more and the grid the "
                          "same rank");
  int64_t coordinates = fe_dim_static(grid.d[x.rank - 1]);
  if (coordinates != FE_DYN && coordinates != n)
    return fe_infer_error(f, NULL,
                          "the grid has %" PRId64 " coordinates per place but "
                          "the image has %u dimensions",
                          coordinates, n);
  int64_t batch = fe_dim_static(x.d[0]), places = fe_dim_static(grid.d[0]);
  if (batch != FE_DYN && places != FE_DYN && batch != places)
    return fe_infer_error(f, NULL, "input and grid differ in the batch");
  for (unsigned i = 2; i < x.rank; ++i)
    if (fe_dim_static(x.d[i]) == 0)
      return fe_infer_error(f, NULL, "the image is empty");
  const char *mode = fe_attr_str(f->ir->arena, f->attrs, "mode", "");
  const char *padding = fe_attr_str(f->ir->arena, f->attrs, "padding_mode", "");
  bool nearest = !strcmp(mode, "nearest");
  if (!nearest && strcmp(mode, "linear") && strcmp(mode, "cubic"))
    return fe_infer_error(f, NULL, "mode cannot be '%s'", mode);
  if (strcmp(padding, "zeros") && strcmp(padding, "border") &&
      strcmp(padding, "reflection"))
    return fe_infer_error(f, NULL, "padding_mode cannot be '%s'", padding);
  if (!nearest && fe_in_dtype(f, 0) == FE_STRING)
    return fe_infer_error(f, NULL, "strings can only be sampled by 'nearest'");
  fe_dims out = {.rank = x.rank, .d = {x.d[0], x.d[1]}};
  for (unsigned i = 0; i < n; ++i)
    out.d[2 + i] = grid.d[1 + i];
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

enum { MAX_TAPS = 4 };

typedef struct sampler {
  fe_lower *l;
  fe_ir *ir;
  fe_kernel k;
  unsigned n, taps;
  bool zeros, border, aligned, nearest;
  MlirType real;                          // of coordinates and weights
  MlirType sum;                           // of weighted elements
  MlirValue index[FE_MAX_RANK][MAX_TAPS]; // per dim
  MlirValue weight[FE_MAX_RANK][MAX_TAPS];
  MlirValue valid[FE_MAX_RANK][MAX_TAPS]; // zeros: inside the image
} sampler;

static MlirValue real(sampler *s, double v) {
  return fe_float(s->ir, s->real, v);
}

static MlirValue clamp(fe_ir *ir, MlirValue v, MlirValue low, MlirValue high) {
  // As selects, a NaN becomes `low`.
  v = fe_select(ir, fe_cmp(ir, FE_GE, v, low), v, low);
  return fe_select(ir, fe_cmp(ir, FE_LE, v, high), v, high);
}

/// Back from the borders until it lies between them.
static MlirValue reflect(sampler *s, MlirValue v, MlirValue low,
                         MlirValue high) {
  fe_ir *ir = s->ir;
  MlirValue range = fe_sub(ir, high, low), zero = real(s, 0);
  MlirValue some = fe_cmp(ir, FE_GT, range, zero);
  MlirValue divisor = fe_select(ir, some, range, real(s, 1));
  MlirValue below = fe_cmp(ir, FE_LT, v, low);
  MlirValue above = fe_cmp(ir, FE_GT, v, high);
  MlirValue beyond =
      fe_select(ir, below, fe_sub(ir, low, v), fe_sub(ir, v, high));
  MlirValue times = fe_math(ir, "floor", fe_div(ir, beyond, divisor));
  MlirValue rest = fe_sub(ir, beyond, fe_mul(ir, times, divisor));
  MlirValue half = fe_mul(ir, times, real(s, 0.5));
  MlirValue even = fe_cmp(ir, FE_EQ, half, fe_math(ir, "floor", half));
  MlirValue from_low = fe_add(ir, low, rest),
            from_high = fe_sub(ir, high, rest);
  MlirValue up = fe_xor(ir, even, above); // even and below, or odd and above
  MlirValue inside = fe_select(ir, up, from_low, from_high);
  v = fe_select(ir, fe_or(ir, below, above), inside, v);
  return fe_select(ir, some, v, low);
}

/// Subscript of one tap at whole coordinate `at`.
static void place_tap(sampler *s, unsigned d, unsigned t, MlirValue at,
                      MlirValue size, MlirValue low, MlirValue high) {
  fe_ir *ir = s->ir;
  MlirValue zero = real(s, 0), last = fe_sub(ir, size, real(s, 1));
  if (s->zeros)
    s->valid[d][t] =
        fe_and(ir, fe_cmp(ir, FE_GE, at, zero), fe_cmp(ir, FE_LE, at, last));
  else if (!s->border) // towards zero, as a conversion does
    at = fe_math(ir, "trunc", reflect(s, at, low, high));
  at = clamp(ir, at, zero, last);
  s->index[d][t] = fe_to_index(ir, fe_convert(ir, at, ir->i64, false, false));
}

/// Taps of dim d at coordinate v of the grid.
static void locate(sampler *s, unsigned d, MlirValue v, MlirValue size) {
  fe_ir *ir = s->ir;
  MlirValue one = real(s, 1), zero = real(s, 0);
  size = fe_convert(ir, size, s->real, false, false);
  MlirValue last = fe_sub(ir, size, one);
  MlirValue low = s->aligned ? zero : real(s, -0.5);
  MlirValue high = s->aligned ? last : fe_sub(ir, size, real(s, 0.5));
  MlirValue x = fe_add(ir, v, one);
  if (s->aligned)
    x = fe_mul(ir, fe_mul(ir, x, real(s, 0.5)), last);
  else
    x = fe_mul(ir, fe_sub(ir, fe_mul(ir, x, size), one), real(s, 0.5));
  x = clamp(ir, x, real(s, -1e9), real(s, 1e9));
  if (s->nearest)
    x = fe_math(ir, "roundeven", x);
  if (s->border) {
    MlirValue outside =
        fe_or(ir, fe_cmp(ir, FE_LT, x, low), fe_cmp(ir, FE_GT, x, high));
    x = fe_select(ir, outside, clamp(ir, x, zero, last), x);
  } else if (!s->zeros) {
    x = reflect(s, x, low, high);
  }
  if (s->nearest) {
    place_tap(s, d, 0, fe_math(ir, "trunc", x), size, low, high);
    return;
  }
  MlirValue base = fe_math(ir, "floor", x), r = fe_sub(ir, x, base);
  MlirValue rest = fe_sub(ir, one, r);
  if (s->taps == 2) {
    s->weight[d][0] = rest;
    s->weight[d][1] = r;
    place_tap(s, d, 0, base, size, low, high);
    place_tap(s, d, 1, fe_add(ir, base, one), size, low, high);
    return;
  }
  const double a = -0.75;
  for (unsigned t = 0; t < 4; ++t) {
    bool near = t == 1 || t == 2;
    MlirValue q = t == 0   ? fe_add(ir, r, one)
                  : t == 1 ? r
                  : t == 2 ? rest
                           : fe_add(ir, rest, one);
    MlirValue w;
    if (near) {
      w = fe_sub(ir, fe_mul(ir, q, real(s, a + 2)), real(s, a + 3));
      w = fe_add(ir, fe_mul(ir, w, fe_mul(ir, q, q)), one);
    } else {
      w = fe_sub(ir, fe_mul(ir, q, real(s, a)), real(s, 5 * a));
      w = fe_add(ir, fe_mul(ir, w, q), real(s, 8 * a));
      w = fe_sub(ir, fe_mul(ir, w, q), real(s, 4 * a));
    }
    s->weight[d][t] = w;
    MlirValue at = fe_add(ir, base, real(s, (double)t - 1));
    place_tap(s, d, t, at, size, low, high);
  }
}

/// Places whose taps are found before any channel is sampled: each plane of the
/// image then stays in the cache, and results are written in order.
#define FE_PLACES 64

/// Memory for the taps of FE_PLACES places, by dimension, then tap.
typedef struct taps {
  MlirValue index, weight, valid; // the last are bytes; null: none needed
} taps;

static taps tap_memory(sampler *s) {
  fe_ir *ir = s->ir;
  int64_t dims[2] = {s->n * s->taps, FE_PLACES};
  taps m = {.index = fe_alloca(ir, fe_memref_type(ir, ir->index, 2, dims))};
  if (!s->nearest)
    m.weight = fe_alloca(ir, fe_memref_type(ir, s->real, 2, dims));
  if (s->zeros)
    m.valid = fe_alloca(ir, fe_memref_type(ir, ir->i8, 2, dims));
  return m;
}

static void keep_taps(sampler *s, const taps *m, MlirValue place) {
  fe_ir *ir = s->ir;
  MlirValue yes = fe_int(ir, ir->i8, 1), no = fe_int(ir, ir->i8, 0);
  for (unsigned d = 0; d < s->n; ++d)
    for (unsigned t = 0; t < s->taps; ++t) {
      MlirValue at[2] = {fe_index(ir, d * s->taps + t), place};
      fe_store(ir, s->index[d][t], m->index, 2, at);
      if (!s->nearest)
        fe_store(ir, s->weight[d][t], m->weight, 2, at);
      if (s->zeros)
        fe_store(ir, fe_select(ir, s->valid[d][t], yes, no), m->valid, 2, at);
    }
}

/// Row `row` of the memory, a tap of dim d, becomes s->index[d][t] and so on.
static void recall_tap(sampler *s, const taps *m, MlirValue place, unsigned d,
                       unsigned t, MlirValue row) {
  fe_ir *ir = s->ir;
  MlirValue at[2] = {row, place}, no = fe_int(ir, ir->i8, 0);
  s->index[d][t] = fe_load(ir, m->index, 2, at);
  if (!s->nearest)
    s->weight[d][t] = fe_load(ir, m->weight, 2, at);
  if (s->zeros)
    s->valid[d][t] = fe_cmp(ir, FE_NE, fe_load(ir, m->valid, 2, at), no);
}

/// sum + the element at tap[d] of each dim, times its weight; nearest: the
/// element.
static MlirValue add_element(sampler *s, MlirValue sum, MlirValue *at,
                             const unsigned *tap) {
  fe_ir *ir = s->ir;
  fe_dtype t = s->l->in_type[0];
  MlirValue weight = {0}, valid = {0};
  for (unsigned d = s->n; d-- > 0;) {
    unsigned i = tap[d];
    at[2 + d] = s->index[d][i];
    if (s->zeros)
      valid = fe_is_null(valid) ? s->valid[d][i]
                                : fe_and(ir, valid, s->valid[d][i]);
    if (!s->nearest)
      weight = fe_is_null(weight) ? s->weight[d][i]
                                  : fe_mul(ir, weight, s->weight[d][i]);
  }
  MlirValue v = fe_get(&s->k, s->k.in[0], t, 2 + s->n, at);
  if (s->zeros)
    v = fe_select(ir, valid, v, fe_number(ir, mlirValueGetType(v), 0));
  if (s->nearest)
    return v;
  bool is_unsigned = fe_dtype_is_unsigned(t) || t == FE_BOOL;
  v = fe_convert(ir, v, s->sum, is_unsigned, false);
  v = fe_mul(ir, v, fe_convert(ir, weight, s->sum, false, false));
  return fe_is_null(sum) ? v : fe_add(ir, sum, v);
}

/// Sum over all combinations of taps, written out where they are few.
static MlirValue sum_of_elements(sampler *s, const taps *m, MlirValue place,
                                 MlirValue *at) {
  enum { MOST_ELEMENTS = 256 };
  fe_ir *ir = s->ir;
  unsigned tap[FE_MAX_RANK] = {0};
  int64_t total = 1;
  for (unsigned d = 0; d < s->n; ++d)
    total *= s->taps;
  MlirValue sum = {0}, taps_n = fe_index(ir, s->taps);
  if (total <= MOST_ELEMENTS) {
    for (unsigned d = 0; d < s->n; ++d)
      for (unsigned t = 0; t < s->taps; ++t)
        recall_tap(s, m, place, d, t, fe_index(ir, d * s->taps + t));
    for (unsigned i = 0; i < total; ++i) {
      for (unsigned d = s->n, rest = i; d-- > 0; rest /= s->taps)
        tap[d] = rest % s->taps;
      sum = add_element(s, sum, at, tap);
    }
    return sum;
  }
  sum = fe_float(ir, s->sum, 0);
  fe_region i = fe_for_begin(ir, fe_index(ir, 0), fe_index(ir, total),
                             fe_index(ir, 1), 1, &sum);
  MlirValue rest = i.iv;
  for (unsigned d = s->n; d-- > 0; rest = fe_divu(ir, rest, taps_n)) {
    MlirValue first = fe_index(ir, d * s->taps);
    recall_tap(s, m, place, d, 0, fe_add(ir, first, fe_remu(ir, rest, taps_n)));
  }
  MlirValue next = add_element(s, fe_block_arg(i.body, 1), at, tap);
  fe_for_end(ir, &i, 1, &next);
  return fe_result(i.op, 0);
}

/// Value of the channel whose batch and channel are at[0], at[1].
static MlirValue sample(sampler *s, const taps *m, MlirValue place,
                        MlirValue *at) {
  fe_dtype t = s->l->in_type[0];
  MlirValue v = sum_of_elements(s, m, place, at);
  if (s->nearest)
    return v;
  if (!fe_dtype_is_float(t))
    v = fe_math(s->ir, "roundeven", v);
  return fe_interpolated(s->ir, t, v);
}

static fe_status lower_sample(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  const char *mode = fe_attr_str(ir->arena, l->op, "mode", "linear");
  const char *padding = fe_attr_str(ir->arena, l->op, "padding_mode", "zeros");
  sampler s = {.l = l,
               .ir = ir,
               .n = rank - 2,
               .zeros = !strcmp(padding, "zeros"),
               .border = !strcmp(padding, "border"),
               .aligned = fe_attr_i64(l->op, "align_corners", 0),
               .nearest = !strcmp(mode, "nearest")};
  s.taps = s.nearest ? 1 : !strcmp(mode, "linear") ? 2 : 4;
  bool doubles = l->in_type[0] == FE_F64 || l->in_type[1] == FE_F64;
  s.real = doubles ? ir->f64 : ir->f32;
  bool single = fe_dtype_is_float(l->in_type[0]) && l->in_type[0] != FE_F64;
  s.sum = single ? ir->f32 : ir->f64;
  MlirValue sizes[FE_MAX_RANK];
  sizes[0] = fe_size(l, l->in[0], 0);
  sizes[1] = fe_size(l, l->in[0], 1);
  fe_check_dims(l, 0, 0, 1, 0, "input and grid differ in the batch");
  fe_check_equal(l, fe_size(l, l->in[1], rank - 1), fe_index(ir, s.n),
                 "the grid has a wrong number of coordinates");
  for (unsigned i = 0; i < s.n; ++i) {
    sizes[2 + i] = fe_size(l, l->in[1], 1 + i);
    if (fe_static_dim(l->in[0], 2 + i) == FE_DYN)
      fe_check(l,
               fe_cmp(ir, FE_GT, fe_size(l, l->in[0], 2 + i), fe_index(ir, 0)),
               "the image is empty");
  }
  MlirValue out = fe_out_empty(l, 0, sizes);
  fe_kernel_begin(&s.k, l, "grid_sample", 2, l->in, 1, &out, 0, NULL);
  MlirValue at[FE_MAX_RANK], grid[FE_MAX_RANK], rows[FE_MAX_RANK];
  for (unsigned i = 0; i < s.n; ++i)
    rows[i] = fe_dim(ir, s.k.in[1], i);
  fe_region row =
      fe_for_begin(ir, s.k.begin, s.k.end, fe_index(ir, 1), 0, NULL);
  fe_unravel(ir, row.iv, s.n, rows, grid);
  taps memory = tap_memory(&s);
  MlirValue places = fe_dim(ir, s.k.in[1], s.n);
  MlirValue some = fe_index(ir, FE_PLACES), zero = fe_index(ir, 0);
  fe_region chunk = fe_for_begin(ir, zero, places, some, 0, NULL);
  MlirValue count = fe_min(ir, some, fe_sub(ir, places, chunk.iv));
  fe_region place = fe_loop(ir, count);
  grid[s.n] = fe_add(ir, chunk.iv, place.iv);
  for (unsigned d = 0; d < s.n; ++d) {
    grid[s.n + 1] = fe_index(ir, s.n - 1 - d); // x comes first
    MlirValue v = fe_get(&s.k, s.k.in[1], l->in_type[1], rank, grid);
    v = fe_convert(ir, v, s.real, false, false);
    locate(&s, d, v, fe_dim(ir, s.k.in[0], 2 + d));
  }
  keep_taps(&s, &memory, place.iv);
  fe_loop_end(ir, &place);
  fe_region channel = fe_loop(ir, fe_dim(ir, s.k.in[0], 1));
  place = fe_loop(ir, count);
  grid[s.n] = fe_add(ir, chunk.iv, place.iv);
  at[0] = grid[0];
  at[1] = channel.iv;
  MlirValue v = sample(&s, &memory, place.iv, at);
  for (unsigned d = 0; d < s.n; ++d)
    at[2 + d] = grid[1 + d];
  fe_put(&s.k, v, s.k.out[0], l->out_type[0], rank, at);
  fe_loop_end(ir, &place);
  fe_loop_end(ir, &channel);
  fe_loop_end(ir, &chunk);
  fe_loop_end(ir, &row);
  MlirAffineExpr items = fe_kernel_dim(&s.k, 1, 0);
  for (unsigned i = 1; i < s.n; ++i)
    items = fe_dim_mul(items, fe_kernel_dim(&s.k, 1, i));
  MlirAffineExpr cost =
      fe_dim_mul(fe_kernel_dim(&s.k, 1, s.n), fe_kernel_dim(&s.k, 0, 1));
  fe_kernel_end(&s.k, items, fe_dim_mul(cost, fe_dim_const(ir, 16)));
  l->out[0] = s.k.result[0];
  return FE_OK;
}

//===-- AffineGrid ----------------------------------------------------------//

static fe_status infer_affine(fe_infer *f) {
  fe_dims theta, size;
  if (fe_in_dims(f, 0, &theta) || fe_in_dims(f, 1, &size))
    return FE_FAILED;
  int64_t rank = size.rank == 1 ? fe_dim_static(size.d[0]) : -1;
  int64_t rows = theta.rank == 3 ? fe_dim_static(theta.d[1]) : -1;
  int64_t columns = theta.rank == 3 ? fe_dim_static(theta.d[2]) : -1;
  if (rank == FE_DYN && rows != FE_DYN) // theta knows as well
    rank = rows + 2;
  else if (rank == FE_DYN && columns != FE_DYN)
    rank = columns + 1;
  if (rank == FE_DYN)
    return fe_need_size(f, 1, 0);
  if (rank != 4 && rank != 5)
    return fe_infer_error(f, NULL, "size must have 4 or 5 elements");
  unsigned n = (unsigned)rank - 2;
  if ((rows != n && rows != FE_DYN) || (columns != n + 1 && columns != FE_DYN))
    return fe_infer_error(f, NULL, "theta must be matrices of %u x %u", n,
                          n + 1);
  fe_contents c;
  bool known = fe_contents_partial(f->ir, f->in[1], &c);
  fe_dims out = {.rank = n + 2, .d = {theta.d[0]}};
  for (unsigned i = 0; i < n; ++i) {
    bool here = known && !mlirAffineExprIsNull(c.at[2 + i]);
    out.d[1 + i] = here ? c.at[2 + i] : fe_fresh_dim(f);
    int64_t fixed = fe_dim_static(out.d[1 + i]);
    if (fixed < 0 && fixed != FE_DYN)
      return fe_infer_error(f, NULL, "size holds %" PRId64, fixed);
  }
  out.d[n + 1] = fe_dim_const(f->ir, n);
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

/// Coordinate of place i among `size` in [-1, 1].
static MlirValue grid_coordinate(fe_ir *ir, MlirType t, MlirValue i,
                                 MlirValue size, bool aligned) {
  MlirValue one = fe_float(ir, t, 1), two = fe_float(ir, t, 2);
  MlirValue n = fe_convert(ir, size, t, false, false);
  MlirValue x = fe_mul(ir, fe_convert(ir, i, t, false, false), two);
  if (!aligned)
    return fe_sub(ir, fe_div(ir, fe_add(ir, x, one), n), one);
  MlirValue many = fe_cmp(ir, FE_GT, n, one);
  MlirValue steps = fe_select(ir, many, fe_sub(ir, n, one), one);
  x = fe_sub(ir, fe_div(ir, x, steps), one);
  return fe_select(ir, many, x, fe_float(ir, t, 0));
}

static fe_status lower_affine(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_out_rank(l, 0), n = rank - 2;
  bool aligned = fe_attr_i64(l->op, "align_corners", 0);
  MlirValue sizes[FE_MAX_RANK] = {{0}};
  fe_out_sizes(l, 0, sizes);
  sizes[0] = fe_size(l, l->in[0], 0);
  fe_check_equal(l, fe_list_length(l, l->in[1]), fe_index(ir, rank),
                 "size has another number of elements than theta is for");
  fe_check_equal(l, fe_size(l, l->in[0], 1), fe_index(ir, n),
                 "theta has a wrong size");
  fe_check_equal(l, fe_size(l, l->in[0], 2), fe_index(ir, n + 1),
                 "theta has a wrong size");
  for (unsigned i = 0; i < n; ++i) {
    if (!fe_is_null(sizes[1 + i]))
      continue;
    sizes[1 + i] = fe_read_index(l, l->in[1], 2 + i);
    fe_check(l, fe_cmp(ir, FE_GE, sizes[1 + i], fe_index(ir, 0)),
             "size holds a negative number");
  }
  fe_dtype t = l->in_type[0];
  MlirType type = fe_compute_type(ir, t);
  fe_generic *g = fe_generic_begin(l, rank, sizes, 0, NULL, NULL, NULL);
  MlirValue at[3] = {fe_iter(g, 0), fe_iter(g, n + 1)}, sum = {0};
  for (unsigned i = 0; i <= n; ++i) {
    at[2] = fe_index(ir, i);
    MlirValue v = fe_at(g, l->in[0], t, 3, at);
    if (i < n) // x, the last dim, comes first
      v = fe_mul(
          ir, v,
          grid_coordinate(ir, type, fe_iter(g, n - i), sizes[n - i], aligned));
    sum = fe_is_null(sum) ? v : fe_add(ir, sum, v);
  }
  l->out[0] = fe_generic_end(g, t, sum);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def sample_attrs[] = {
    {"align_corners", FE_A_INT, "0"},
    {"mode", FE_A_STRING, "linear|nearest|cubic"},
    {"padding_mode", FE_A_STRING, "zeros|border|reflection"},
    {0}};
static const fe_attr_def affine_attrs[] = {{"align_corners", FE_A_INT, "0"},
                                           {0}};

const fe_op_row fe_family_grid_sample[] = {
    {.name = "GridSample",
     .since = 16,
     .inputs = "X:T1, grid:T2",
     .outputs = "Y:T1",
     .types = "T1=numeric,bool,str;T2=float",
     .attrs = sample_attrs,
     .flags = FE_FUNCTION,
     .expand = fe_expand_complex,
     .upgrade = upgrade_sample,
     .infer = infer_sample,
     .lower = lower_sample},
    {.name = "AffineGrid",
     .since = 20,
     .inputs = "theta:T1, size:T2",
     .outputs = "grid:T1",
     .types = "T1=float;T2=i64",
     .attrs = affine_attrs,
     .infer = infer_affine,
     .lower = lower_affine},
    {0}};
