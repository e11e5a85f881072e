//===- window.c - HannWindow & co., MelWeightMatrix --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the position alone, computed in double precision. Their sizes
// are operands, mostly constants: then so is the result.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>
#include <math.h>

#define PI 3.14159265358979323846

/// The size that a scalar operand gives; a fresh symbol when not known.
static fe_status size_from(fe_infer *f, unsigned operand, MlirAffineExpr *out) {
  fe_dims d;
  fe_contents c;
  if (fe_in_dims(f, operand, &d))
    return FE_FAILED;
  if (d.rank > 1 || (d.rank == 1 && fe_dim_static(d.d[0]) != 1))
    return fe_infer_error(f, NULL, "a size must be one number");
  *out = fe_contents_of(f->ir, f->in[operand], &c) ? c.at[0] : fe_fresh_dim(f);
  if (fe_dim_static(*out) < 0 && fe_dim_static(*out) != FE_DYN)
    return fe_infer_error(f, NULL, "a size is negative");
  return FE_OK;
}

static fe_status type_of(fe_infer *f, fe_dtype *out) {
  int64_t t = fe_attr_i64(f->attrs, "output_datatype", FE_F32);
  *out = (fe_dtype)t;
  bool is_number = t == FE_F16 || t == FE_BF16 || t == FE_F32 || t == FE_F64 ||
                   (t > 0 && t < FE_DTYPE_COUNT && fe_dtype_is_int(*out) &&
                    fe_dtype_bits(*out) >= 8);
  return is_number ? FE_OK
                   : fe_infer_error(f, "use a float type or an integer type",
                                    "'output_datatype' cannot be %" PRId64, t);
}

/// A size in main that is given by a scalar operand.
static MlirValue read_size(fe_lower *l, unsigned operand) {
  fe_ir *ir = l->ir;
  MlirValue n = fe_read_index(l, l->in[operand], 0);
  fe_check(l, fe_cmp(ir, FE_GE, n, fe_index(ir, 0)), "a size is negative");
  return n;
}

static MlirValue as_f64(fe_ir *ir, MlirValue index) {
  return fe_convert(ir, fe_convert(ir, index, ir->i64, false, false), ir->f64,
                    false, false);
}

//===-- Windows -------------------------------------------------------------//

/// a[0] + a[1] cos(x) + a[2] cos(2 x), x = 2 pi i / n.
static const double hann[] = {0.5, -0.5, 0},
                    hamming[] = {25.0 / 46, 25.0 / 46 - 1, 0},
                    blackman[] = {0.42, -0.5, 0.08};

static fe_status infer_window(fe_infer *f) {
  fe_dims out = {.rank = 1};
  fe_dtype t;
  if (type_of(f, &t) || size_from(f, 0, &out.d[0]))
    return FE_FAILED;
  fe_out_tensor(f, 0, t, &out);
  return FE_OK;
}

static fe_status lower_window(fe_lower *l, const double *a) {
  fe_ir *ir = l->ir;
  MlirValue n = {0};
  fe_out_sizes(l, 0, &n);
  if (fe_is_null(n))
    n = read_size(l, 0);
  MlirValue period = n, one = fe_index(ir, 1);
  if (!fe_attr_i64(l->op, "periodic", 1)) // a window of one element is 1
    period = fe_max(ir, fe_sub(ir, n, one), one);
  fe_generic *g = fe_generic_begin(l, 1, &n, 0, NULL, NULL, NULL);
  MlirValue x =
      fe_mul(ir, as_f64(ir, fe_iter(g, 0)), fe_float(ir, ir->f64, 2 * PI));
  x = fe_div(ir, x, as_f64(ir, period));
  MlirValue v = fe_float(ir, ir->f64, a[0]);
  for (unsigned k = 1; k < 3; ++k) {
    if (a[k] == 0)
      continue;
    MlirValue angle = fe_mul(ir, x, fe_float(ir, ir->f64, k));
    v = fe_add(
        ir, v,
        fe_mul(ir, fe_float(ir, ir->f64, a[k]), fe_math(ir, "cos", angle)));
  }
  MlirType to = fe_compute_type(ir, l->out_type[0]);
  v = fe_convert(ir, v, to, false, fe_dtype_is_unsigned(l->out_type[0]));
  l->out[0] = fe_generic_end(g, l->out_type[0], v);
  return FE_OK;
}

static fe_status lower_hann(fe_lower *l) { return lower_window(l, hann); }
static fe_status lower_hamming(fe_lower *l) { return lower_window(l, hamming); }
static fe_status lower_blackman(fe_lower *l) {
  return lower_window(l, blackman);
}

//===-- MelWeightMatrix -----------------------------------------------------//

static fe_status infer_mel(fe_infer *f) {
  fe_ir *ir = f->ir;
  fe_dims out = {.rank = 2};
  fe_dtype t;
  if (type_of(f, &t) || size_from(f, 1, &out.d[0]) ||
      size_from(f, 0, &out.d[1]))
    return FE_FAILED;
  out.d[0] = fe_dim_add(fe_dim_floordiv(out.d[0], fe_dim_const(ir, 2)),
                        fe_dim_const(ir, 1));
  fe_out_tensor(f, 0, t, &out);
  return FE_OK;
}

/// Values of main that all filters share.
typedef struct mel {
  MlirValue low, step; // in mel
  MlirValue scale;     // spectrogram bins per hertz
} mel;

static MlirValue to_mel(fe_ir *ir, MlirValue hertz) {
  MlirValue v = fe_div(ir, hertz, fe_float(ir, ir->f64, 700));
  return fe_mul(ir, fe_math(ir, "log1p", v),
                fe_float(ir, ir->f64, 2595 / log(10)));
}

/// Spectrogram bin (as f64) of edge i of the filters.
static MlirValue edge(fe_ir *ir, const mel *m, MlirValue i) {
  MlirValue v = fe_add(ir, fe_mul(ir, as_f64(ir, i), m->step), m->low);
  v = fe_math(ir, "expm1",
              fe_mul(ir, v, fe_float(ir, ir->f64, log(10) / 2595)));
  v = fe_mul(ir, v, fe_float(ir, ir->f64, 700));
  return fe_math(ir, "floor", fe_mul(ir, v, m->scale));
}

static fe_status lower_mel(fe_lower *l) {
  fe_ir *ir = l->ir;
  MlirType f64 = ir->f64;
  MlirValue one = fe_index(ir, 1), two = fe_index(ir, 2);
  MlirValue length = read_size(l, 1), bins = read_size(l, 0);
  MlirValue sizes[2] = {{0}};
  fe_out_sizes(l, 0, sizes);
  if (fe_is_null(sizes[0]))
    sizes[0] = fe_add(ir, fe_divu(ir, length, two), one);
  if (fe_is_null(sizes[1]))
    sizes[1] = bins;
  mel m;
  MlirValue edges[2];
  for (unsigned i = 0; i < 2; ++i)
    edges[i] =
        to_mel(ir, fe_convert(ir, fe_read_scalar(l, 3 + i), f64, false, false));
  m.low = edges[0];
  m.step = fe_div(ir, fe_sub(ir, edges[1], edges[0]),
                  as_f64(ir, fe_add(ir, bins, two)));
  m.scale = fe_div(ir, as_f64(ir, fe_add(ir, length, one)),
                   as_f64(ir, fe_read_index(l, l->in[2], 0)));
  fe_generic *g = fe_generic_begin(l, 2, sizes, 0, NULL, NULL, NULL);
  MlirValue j = as_f64(ir, fe_iter(g, 0)), i = fe_iter(g, 1);
  MlirValue none = fe_float(ir, f64, 0), full = fe_float(ir, f64, 1);
  MlirValue left = edge(ir, &m, i), center = edge(ir, &m, fe_add(ir, i, one));
  MlirValue right = edge(ir, &m, fe_add(ir, i, two));
  MlirValue rise = fe_sub(ir, center, left), fall = fe_sub(ir, right, center);
  MlirValue flat = fe_cmp(ir, FE_EQ, rise, none);
  MlirValue up =
      fe_div(ir, fe_sub(ir, j, left), fe_select(ir, flat, full, rise));
  up = fe_select(ir, flat, full, up);
  MlirValue from = fe_select(ir, flat, center, left);
  MlirValue rising =
      fe_and(ir, fe_cmp(ir, FE_GE, j, from), fe_cmp(ir, FE_LE, j, center));
  MlirValue falling =
      fe_and(ir, fe_cmp(ir, FE_GE, j, center), fe_cmp(ir, FE_LT, j, right));
  MlirValue down =
      fe_div(ir, fe_sub(ir, right, j), fe_select(ir, falling, fall, full));
  MlirValue v = fe_select(ir, falling, down, fe_select(ir, rising, up, none));
  MlirType to = fe_compute_type(ir, l->out_type[0]);
  v = fe_convert(ir, v, to, false, fe_dtype_is_unsigned(l->out_type[0]));
  l->out[0] = fe_generic_end(g, l->out_type[0], v);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def window_attrs[] = {
    {"output_datatype", FE_A_INT, "1"}, {"periodic", FE_A_INT, "1"}, {0}};
static const fe_attr_def mel_attrs[] = {{"output_datatype", FE_A_INT, "1"},
                                        {0}};

#define WINDOW(name_, lower_)                                                  \
  {.name = name_,                                                              \
   .since = 17,                                                                \
   .inputs = "size:T1",                                                        \
   .outputs = "output:T2",                                                     \
   .types = "T1=i32,i64;T2=real",                                              \
   .attrs = window_attrs,                                                      \
   .infer = infer_window,                                                      \
   .lower = lower_}

const fe_op_row fe_family_window[] = {
    WINDOW("HannWindow", lower_hann),
    WINDOW("HammingWindow", lower_hamming),
    WINDOW("BlackmanWindow", lower_blackman),
    {.name = "MelWeightMatrix",
     .since = 17,
     .inputs = "num_mel_bins:T1, dft_length:T1, sample_rate:T1, "
               "lower_edge_hertz:T2, upper_edge_hertz:T2",
     .outputs = "output:T3",
     .types = "T1=i32,i64;T2=float;T3=real",
     .attrs = mel_attrs,
     .infer = infer_mel,
     .lower = lower_mel},
    {0}};
