//===- deform_conv.c - DeformConv --------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: a kernel samples the image, linearly in each dim and zero outside, at
// the taps moved by their offsets; that gives a matrix per image,
// [channels * taps][places], which the weights are multiplied with. In f32, of
// f64 in f64.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/sliding.h"

#include <inttypes.h>
#include <string.h>

enum { X, W, OFFSET, BIAS, MASK };

static fe_status upgrade(fe_node *n) { return fe_sliding_upgrade(n, W); }

static fe_status must_be(fe_infer *f, const char *what, MlirAffineExpr e,
                         int64_t want) {
  int64_t n = fe_dim_static(e);
  if (n == FE_DYN || want == FE_DYN || n == want)
    return FE_OK;
  return fe_infer_error(f, NULL, "%s is %" PRId64 " but should be %" PRId64,
                        what, n, want);
}

/// One number for each tap of each group, FE_DYN: only the run knows.
static fe_status count_taps(fe_infer *f, const fe_sliding *win, int64_t fields,
                            int64_t *taps) {
  *taps = 1;
  for (unsigned i = 0; i < win->n; ++i) {
    bool open = *taps == FE_DYN || win->kernel[i] == FE_DYN;
    if (win->kernel[i] > INT16_MAX ||
        (!open && __builtin_mul_overflow(*taps, win->kernel[i], taps)))
      return fe_infer_error(f, NULL, "the kernel is too large");
    if (open)
      *taps = FE_DYN;
  }
  int64_t most;
  if (*taps != FE_DYN &&
      __builtin_mul_overflow(*taps, fields * FE_MAX_RANK, &most))
    return fe_infer_error(f, NULL, "the kernel is too large");
  return FE_OK;
}

/// Offsets and masks: `each` per tap, at every place of the result.
static fe_status check_fields(fe_infer *f, unsigned i, const char *what,
                              int64_t count, const fe_dims *out) {
  fe_dims d;
  if (f->n_in <= i || fe_is_null(f->in[i]))
    return FE_OK;
  if (fe_in_dims(f, i, &d))
    return FE_FAILED;
  if (d.rank != out->rank)
    return fe_infer_error(f, NULL, "the %s must have the input's rank, %u",
                          what, out->rank);
  if (must_be(f, fe_printf(f->ir->arena, "the number of %s", what), d.d[1],
              count))
    return FE_FAILED;
  for (unsigned k = 2; k < d.rank; ++k)
    if (must_be(f, fe_printf(f->ir->arena, "a size of the %s", what), d.d[k],
                fe_dim_static(out->d[k])))
      return FE_FAILED;
  return FE_OK;
}

static fe_status infer(fe_infer *f) {
  fe_ir *ir = f->ir;
  fe_dims x, w, other;
  fe_sliding win;
  int64_t taps, group = fe_attr_i64(f->attrs, "group", 1);
  int64_t fields = fe_attr_i64(f->attrs, "offset_group", 1);
  if (fe_in_dims(f, X, &x) || fe_in_dims(f, W, &w) ||
      fe_sliding_read(ir, f->where, f->attrs, &x, &w, &win))
    return FE_FAILED;
  int64_t channels = fe_dim_static(x.d[1]);
  if (channels > INT32_MAX || group > INT16_MAX || fields > INT16_MAX)
    return fe_infer_error(f, NULL, "the input is too large");
  if (group < 1 || fields < 1 ||
      (channels != FE_DYN && (channels % group || channels % fields)))
    return fe_infer_error(f, NULL, "the channels cannot be cut into groups");
  if (count_taps(f, &win, fields, &taps))
    return FE_FAILED;
  int64_t filters = fe_dim_static(w.d[0]);
  if (filters != FE_DYN && filters % group)
    return fe_infer_error(f, NULL, "the filters cannot be cut into groups");
  if (must_be(f, "the weights' number of channels", w.d[1],
              channels == FE_DYN ? FE_DYN : channels / group))
    return FE_FAILED;
  fe_dims out = {.rank = win.n + 2, .d = {x.d[0], w.d[0]}};
  for (unsigned i = 0; i < win.n; ++i)
    if (fe_sliding_out(f, &win, i, x.d[2 + i], &out.d[2 + i]))
      return FE_FAILED;
  int64_t masks = taps == FE_DYN ? FE_DYN : fields * taps;
  int64_t offsets = masks == FE_DYN ? FE_DYN : masks * win.n;
  if (check_fields(f, OFFSET, "offsets", offsets, &out) ||
      check_fields(f, MASK, "masks", masks, &out))
    return FE_FAILED;
  if (f->n_in > BIAS && !fe_is_null(f->in[BIAS])) {
    if (fe_in_dims(f, BIAS, &other))
      return FE_FAILED;
    if (other.rank != 1)
      return fe_infer_error(f, NULL, "the bias must have rank 1");
    if (must_be(f, "the size of the bias", other.d[0], filters))
      return FE_FAILED;
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, X), &out);
  return FE_OK;
}

//===-- Sampling ------------------------------------------------------------//

typedef struct sampler {
  fe_lower *l;
  fe_ir *ir;
  fe_kernel k;
  const fe_sliding *win;
  fe_dtype type, work;
  MlirType real;
  int64_t fields; // groups of offsets
  bool masked;
  // Index values of the kernel, as long as it is made; before, of main.
  MlirValue pad[FE_MAX_RANK], kernel[FE_MAX_RANK], taps, channels, per_field;
  MlirValue image, channel;
} sampler;

static MlirValue real(sampler *s, double v) {
  return fe_float(s->ir, s->real, v);
}

typedef struct between {
  MlirValue at[2], weight[2], inside[2];
} between;

/// The two elements around a coordinate.
static between around(sampler *s, MlirValue v, MlirValue size) {
  fe_ir *ir = s->ir;
  MlirValue zero = fe_index(ir, 0), last = fe_sub(ir, size, fe_index(ir, 1));
  // NaN and what is far off: outside.
  MlirValue near = fe_and(ir, fe_cmp(ir, FE_GE, v, real(s, -1e9)),
                          fe_cmp(ir, FE_LE, v, real(s, 1e9)));
  v = fe_select(ir, near, v, real(s, -1e9));
  MlirValue low = fe_math(ir, "floor", v);
  between b;
  b.weight[1] = fe_sub(ir, v, low);
  b.weight[0] = fe_sub(ir, real(s, 1), b.weight[1]);
  MlirValue i = fe_to_index(ir, fe_convert(ir, low, ir->i64, false, false));
  for (unsigned t = 0; t < 2; ++t) {
    MlirValue at = t ? fe_add(ir, i, fe_index(ir, 1)) : i;
    b.inside[t] =
        fe_and(ir, fe_cmp(ir, FE_GE, at, zero), fe_cmp(ir, FE_LE, at, last));
    b.at[t] = fe_max(ir, fe_min(ir, at, last), zero);
  }
  return b;
}

static MlirValue read(sampler *s, unsigned argument, MlirValue *at) {
  return fe_get(&s->k, s->k.in[argument], s->type, s->win->n + 2, at);
}

/// sum + the corner of the cell that has the upper of two elements in the dims
/// whose flag in `upper` is set, times its weight.
static MlirValue add_corner(sampler *s, MlirValue sum, const between *b,
                            const MlirValue *upper) {
  fe_ir *ir = s->ir;
  MlirValue at[FE_MAX_RANK] = {s->image, s->channel}, weight = real(s, 1);
  MlirValue inside = fe_int(ir, ir->i1, 1);
  for (unsigned d = 0; d < s->win->n; ++d) {
    at[2 + d] = fe_select(ir, upper[d], b[d].at[1], b[d].at[0]);
    MlirValue in = fe_select(ir, upper[d], b[d].inside[1], b[d].inside[0]);
    MlirValue by = fe_select(ir, upper[d], b[d].weight[1], b[d].weight[0]);
    inside = d ? fe_and(ir, inside, in) : in;
    weight = d ? fe_mul(ir, weight, by) : by;
  }
  MlirValue v = fe_select(ir, inside, read(s, 0, at), real(s, 0));
  return fe_add(ir, sum, fe_mul(ir, v, weight));
}

/// All 2^n corners: written out where they are few.
static MlirValue interpolated(sampler *s, const between *b) {
  enum { MOST_DIMS = 4 };
  fe_ir *ir = s->ir;
  unsigned n = s->win->n;
  int64_t corners = (int64_t)1 << n;
  MlirValue upper[FE_MAX_RANK], sum = real(s, 0), one = fe_index(ir, 1);
  if (n <= MOST_DIMS) {
    for (int64_t c = 0; c < corners; ++c) {
      for (unsigned d = 0; d < n; ++d)
        upper[d] = fe_int(ir, ir->i1, c >> (n - 1 - d) & 1);
      sum = add_corner(s, sum, b, upper);
    }
    return sum;
  }
  fe_region c =
      fe_for_begin(ir, fe_index(ir, 0), fe_index(ir, corners), one, 1, &sum);
  for (unsigned d = 0; d < n; ++d) {
    MlirValue bit = fe_shru(ir, c.iv, fe_index(ir, n - 1 - d));
    upper[d] = fe_cmp(ir, FE_EQ, fe_and(ir, bit, one), one);
  }
  MlirValue next = add_corner(s, fe_block_arg(c.body, 1), b, upper);
  fe_for_end(ir, &c, 1, &next);
  return fe_result(c.op, 0);
}

/// Sampled element for one tap at one place of the result.
static MlirValue sampled(sampler *s, MlirValue tap, MlirValue field,
                         const MlirValue *place) {
  fe_ir *ir = s->ir;
  const fe_sliding *w = s->win;
  MlirValue tap_at[FE_MAX_RANK], at[FE_MAX_RANK] = {s->image};
  between b[FE_MAX_RANK];
  fe_unravel(ir, tap, w->n, s->kernel, tap_at);
  MlirValue number = fe_add(ir, fe_mul(ir, field, s->taps), tap);
  for (unsigned d = 0; d < w->n; ++d)
    at[2 + d] = place[d];
  for (unsigned d = 0; d < w->n; ++d) {
    MlirValue base =
        fe_sub(ir, fe_mul(ir, place[d], fe_index(ir, w->stride[d])), s->pad[d]);
    base =
        fe_add(ir, base, fe_mul(ir, tap_at[d], fe_index(ir, w->dilation[d])));
    at[1] = fe_add(ir, fe_mul(ir, number, fe_index(ir, w->n)), fe_index(ir, d));
    MlirValue v =
        fe_add(ir, fe_convert(ir, base, s->real, false, false), read(s, 1, at));
    b[d] = around(s, v, fe_dim(ir, s->k.in[0], 2 + d));
  }
  MlirValue sum = interpolated(s, b);
  if (!s->masked)
    return sum;
  at[1] = number;
  return fe_mul(ir, sum, read(s, 2, at));
}

/// A size in the kernel: the scalar argument, or the constant that it is.
static MlirValue in_kernel(sampler *s, MlirValue size, unsigned scalar) {
  int64_t known;
  return fe_size_known(size, &known) ? fe_index(s->ir, known)
                                     : s->k.scalar[scalar];
}

/// [images][channels * taps][places ..]
static MlirValue columns_of(sampler *s, MlirValue *sizes, MlirValue *pads) {
  fe_lower *l = s->l;
  fe_ir *ir = s->ir;
  const fe_sliding *w = s->win;
  unsigned n = w->n, rank = n + 2, known = 2 + s->masked;
  MlirValue each[2] = {s->channels, s->taps}, out_sizes[FE_MAX_RANK];
  memcpy(out_sizes, sizes, rank * sizeof *sizes);
  out_sizes[1] = fe_known_product(ir, 2, each);
  MlirValue out = fe_tensor_empty(l, s->work, rank, out_sizes);
  MlirValue in[3] = {l->in[X], l->in[OFFSET]};
  if (s->masked)
    in[2] = l->in[MASK];
  MlirValue scalars[2 * FE_MAX_RANK + 2];
  for (unsigned d = 0; d < n; ++d) {
    scalars[d] = pads[d];
    scalars[n + d] = s->kernel[d];
  }
  scalars[2 * n] = s->taps;
  scalars[2 * n + 1] = s->per_field;
  fe_kernel_begin(&s->k, l, "deform_sample", known, in, 1, &out, 2 * n + 2,
                  scalars);
  for (unsigned d = 0; d < n; ++d) {
    s->pad[d] =
        w->same == FE_SAME_NO ? fe_index(ir, w->begin[d]) : s->k.scalar[d];
    s->kernel[d] = in_kernel(s, s->kernel[d], n + d);
  }
  s->taps = in_kernel(s, s->taps, 2 * n);
  s->per_field = in_kernel(s, s->per_field, 2 * n + 1);
  fe_region rows =
      fe_for_begin(ir, s->k.begin, s->k.end, fe_index(ir, 1), 0, NULL);
  MlirValue lines = fe_dim(ir, s->k.out[0], 1);
  MlirValue line = fe_remu(ir, rows.iv, lines);
  s->image = fe_divu(ir, rows.iv, lines);
  s->channel = fe_divu(ir, line, s->taps);
  MlirValue tap = fe_remu(ir, line, s->taps);
  MlirValue field = fe_divu(ir, s->channel, s->per_field);
  MlirValue at[FE_MAX_RANK] = {s->image, line};
  fe_region places[FE_MAX_RANK];
  for (unsigned d = 0; d < n; ++d) {
    places[d] = fe_loop(ir, fe_dim(ir, s->k.out[0], 2 + d));
    at[2 + d] = places[d].iv;
  }
  MlirValue v = sampled(s, tap, field, at + 2);
  fe_put(&s->k, v, s->k.out[0], s->work, rank, at);
  for (unsigned d = n; d-- > 0;)
    fe_loop_end(ir, &places[d]);
  fe_loop_end(ir, &rows);
  MlirAffineExpr cost = fe_dim_const(ir, 10 * ((int64_t)1 << n));
  for (unsigned d = 0; d < n; ++d)
    cost = fe_dim_mul(fe_kernel_dim(&s->k, known, 2 + d), cost);
  fe_kernel_end(&s->k,
                fe_dim_mul(fe_kernel_dim(&s->k, known, 0),
                           fe_kernel_dim(&s->k, known, 1)),
                cost);
  return s->k.result[0];
}

//===-- Lowering ------------------------------------------------------------//

static fe_status lower(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dims xd, wd;
  fe_sliding win;
  if (!fe_dims_of(ir, fe_operand(l->op, X), &xd) ||
      !fe_dims_of(ir, fe_operand(l->op, W), &wd) ||
      fe_sliding_read(ir, l->where, l->op, &xd, &wd, &win))
    return FE_FAILED;
  int64_t group = fe_attr_i64(l->op, "group", 1);
  sampler s = {.l = l,
               .ir = ir,
               .win = &win,
               .type = l->in_type[X],
               .work = fe_work_type(l->in_type[X]),
               .fields = fe_attr_i64(l->op, "offset_group", 1),
               .masked = l->n_in > MASK && !fe_is_null(l->in[MASK])};
  s.real = fe_compute_type(ir, s.work);
  unsigned dims = win.n;
  MlirValue sizes[FE_MAX_RANK] = {{0}}, pads[FE_MAX_RANK];
  MlirValue zero = fe_index(ir, 0);
  fe_out_sizes(l, 0, sizes);
  sizes[0] = fe_size(l, l->in[X], 0);
  sizes[1] = fe_size(l, l->in[W], 0);
  fe_sliding_sizes(l, &win, l->in[X], l->in[W], sizes);
  fe_sliding_pads(l, &win, l->in[X], l->in[W], sizes, pads);
  MlirValue groups = fe_index(ir, group), fields_n = fe_index(ir, s.fields);
  for (unsigned d = 0; d < dims; ++d)
    s.kernel[d] = win.kernel[d] != FE_DYN ? fe_index(ir, win.kernel[d])
                                          : fe_size(l, l->in[W], 2 + d);
  s.taps = fe_known_product(ir, dims, s.kernel);
  s.channels = fe_size(l, l->in[X], 1);
  int64_t n;
  bool known = fe_size_known(s.channels, &n);
  s.per_field =
      known ? fe_index(ir, n / s.fields) : fe_divu(ir, s.channels, fields_n);
  if (!known) {
    fe_check_equal(l, fe_mul(ir, s.per_field, fields_n), s.channels,
                   "the channels cannot be cut into groups of offsets");
    fe_check_equal(l, fe_mul(ir, fe_divu(ir, s.channels, groups), groups),
                   s.channels, "the channels cannot be cut into groups");
  }
  int64_t filters;
  if (!fe_size_known(sizes[1], &filters))
    fe_check_equal(l, fe_remu(ir, sizes[1], groups), zero,
                   "the filters cannot be cut into groups");
  fe_check_equal(l, fe_size(l, l->in[W], 1),
                 known ? fe_index(ir, n / group)
                       : fe_divu(ir, s.channels, groups),
                 "the weights are for another number of channels");
  const unsigned fields[] = {OFFSET, MASK};
  for (unsigned i = 0; i < 1u + s.masked; ++i) {
    MlirValue field = l->in[fields[i]];
    MlirValue factors[2] = {s.taps, fe_index(ir, s.fields * (i ? 1 : dims))};
    MlirValue count = fe_known_product(ir, 2, factors);
    fe_check_equal(l, fe_size(l, field, 0), sizes[0], "batches differ");
    fe_check_equal(l, fe_size(l, field, 1), count, "offsets or masks differ");
    for (unsigned d = 2; d < dims + 2; ++d)
      fe_check_equal(l, fe_size(l, field, d), sizes[d],
                     "offsets or masks are for another number of places");
  }
  if (l->n_in > BIAS && !fe_is_null(l->in[BIAS]))
    fe_check_equal(l, fe_size(l, l->in[BIAS], 0), sizes[1],
                   "the bias does not have one number per filter");
  for (unsigned d = 2; d < dims + 2; ++d)
    if (fe_static_dim(l->in[X], d) <= 0) // or dynamic
      fe_check(l, fe_cmp(ir, FE_GT, fe_size(l, l->in[X], d), zero),
               "the image is empty");
  MlirValue columns = columns_of(&s, sizes, pads);
  bool biased = l->n_in > BIAS && !fe_is_null(l->in[BIAS]);
  l->out[0] = fe_columns_product(l, columns, W, biased ? BIAS : -1, group,
                                 s.work, sizes);
  return FE_OK;
}

static const fe_attr_def attrs[] = {{"auto_pad", FE_A_STRING, "NOTSET"},
                                    {"dilations", FE_A_INTS, ""},
                                    {"group", FE_A_INT, "1"},
                                    {"kernel_shape", FE_A_INTS, ""},
                                    {"offset_group", FE_A_INT, "1"},
                                    {"pads", FE_A_INTS, ""},
                                    {"strides", FE_A_INTS, ""},
                                    {0}};

const fe_op_row fe_family_deform_conv[] = {
    {.name = "DeformConv",
     .since = 19,
     .inputs = "X:T, W:T, offset:T, B?:T, mask?:T",
     .outputs = "Y:T",
     .types = "T=float",
     .attrs = attrs,
     .upgrade = upgrade,
     .infer = infer,
     .lower = lower},
    {0}};
