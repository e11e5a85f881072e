//===- quantized.c - convolutions of integers in floats -------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized convolutions with constant weights that layout assignment will not
// do on bytes (layout_bytes.c) are computed by float convolutions of the same
// whole numbers, whose kernels are the best there are besides. Floats hold
// whole numbers exactly up to 2^24. Where the sums over all input channels
// might exceed that, each convolution takes so many channels that its sums do
// not, and those are added up as integers: every result is exact.
//
//===----------------------------------------------------------------------===//
#include "pass/quantized.h"
#include "op/compose.h"
#include "pass/layout.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

#include <math.h>
#include <string.h>

enum { MAX_EXACT = 1 << 24, MAX_PARTS = 16 };

static bool present(MlirValue v) {
  return !fe_is_null(v) && !mlirTypeIsANone(mlirValueGetType(v));
}

/// One number or one per filter; absent: 0.
typedef struct parameter {
  fe_const c;
  bool given;
} parameter;

static bool read_parameter(fe_ir *ir, MlirValue v, int64_t filters,
                           parameter *p) {
  p->given = present(v);
  return !p->given || (fe_const_of(ir, v, &p->c) &&
                       (p->c.count == 1 || p->c.count == filters));
}

static double parameter_at(const parameter *p, int64_t filter) {
  if (!p->given)
    return 0;
  return fe_const_f64(&p->c, p->c.count == 1 ? 0 : filter);
}

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, B };

static int64_t filters_of(fe_ir *ir, MlirValue w) {
  fe_dims d;
  int64_t n = fe_dims_of(ir, w, &d) && d.rank > 2 ? fe_dim_static(d.d[0]) : 0;
  return n == FE_DYN ? 0 : n;
}

static bool read_weights(fe_ir *ir, fe_q_conv *q, MlirValue w,
                         const parameter *zero) {
  fe_const c;
  if (!fe_dims_of(ir, w, &q->d) || q->d.rank < 3 || !fe_const_of(ir, w, &c))
    return false;
  for (unsigned i = 0; i < q->d.rank; i++)
    q->dims[i] = fe_dim_static(q->d.d[i]);
  float *out = FE_NEW_N(ir->arena, float, (size_t)c.count + 1);
  int64_t each = q->dims[0] ? c.count / q->dims[0] : 0;
  for (int64_t i = 0; i < c.count; i++)
    out[i] = (float)(fe_const_f64(&c, i) - parameter_at(zero, i / each));
  q->weights = out;
  return true;
}

static bool read_integer(fe_ir *ir, fe_q_conv *q) {
  MlirOperation op = q->op;
  parameter x, w;
  int64_t filters = filters_of(ir, fe_operand(op, 1));
  if (!filters || !read_parameter(ir, fe_operand(op, 2), 1, &x) ||
      !read_parameter(ir, fe_operand(op, 3), filters, &w))
    return false;
  q->x_zero = parameter_at(&x, 0);
  return read_weights(ir, q, fe_operand(op, 1), &w);
}

static bool read_linear(fe_ir *ir, fe_q_conv *q) {
  int64_t filters = filters_of(ir, fe_operand(q->op, W));
  parameter p[B + 1];
  for (unsigned i = X_SCALE; i <= B; i++) {
    bool per_filter = i == W_SCALE || i == W_ZERO || i == B;
    if (i != W &&
        (!filters || !read_parameter(ir, fe_operand(q->op, i),
                                     per_filter ? filters : 1, &p[i])))
      return false;
  }
  q->x_zero = parameter_at(&p[X_ZERO], 0);
  q->y_zero = parameter_at(&p[Y_ZERO], 0);
  if (!read_weights(ir, q, fe_operand(q->op, W), &p[W_ZERO]))
    return false;
  if (p[B].given) {
    int32_t *bias = FE_NEW_N(ir->arena, int32_t, (size_t)filters);
    for (int64_t k = 0; k < filters; k++)
      bias[k] = (int32_t)parameter_at(&p[B], k);
    q->bias = bias;
  }
  q->n_factors = p[W_SCALE].c.count == 1 ? 1 : filters;
  float *factor = FE_NEW_N(ir->arena, float, (size_t)q->n_factors);
  float x_scale = (float)parameter_at(&p[X_SCALE], 0);
  float y_scale = (float)parameter_at(&p[Y_SCALE], 0);
  for (int64_t k = 0; k < q->n_factors; k++) {
    // In this order, each step rounded, as ONNX Runtime does.
    factor[k] = x_scale * (float)parameter_at(&p[W_SCALE], k);
    factor[k] /= y_scale;
  }
  q->factor = factor;
  return true;
}

bool fe_q_conv_read(fe_ir *ir, MlirOperation op, fe_q_conv *q) {
  *q = (fe_q_conv){.op = op, .x = fe_operand(op, 0)};
  q->linear = fe_op_is(op, "onnx.q_linear_conv");
  if (!q->linear && !fe_op_is(op, "onnx.conv_integer"))
    return false;
  q->is_signed = fe_dtype_of_elem(fe_elem_of(q->x)) == FE_I8;
  q->type = fe_dtype_of_elem(fe_elem_of(fe_result(op, 0)));
  return q->linear ? read_linear(ir, q) : read_integer(ir, q);
}

//===-- In floats -----------------------------------------------------------//

/// How a convolution is cut.
typedef struct sums {
  fe_q_conv q;
  int64_t channels; // of a part
  double largest;   // absolute value a sum may have
} sums;

/// The largest sum of absolute weights of one filter over so many channels.
static double largest_sum(const sums *s, int64_t channels) {
  int64_t taps = 1, all = s->q.dims[1];
  double most = 0;
  for (unsigned i = 2; i < s->q.d.rank; i++)
    taps *= s->q.dims[i];
  for (int64_t k = 0; k < s->q.dims[0]; k++)
    for (int64_t c = 0; c < all; c += channels) {
      int64_t n = (c + channels < all ? channels : all - c) * taps;
      const float *w = s->q.weights + (k * all + c) * taps;
      double sum = 0;
      for (int64_t i = 0; i < n; i++)
        sum += fabsf(w[i]);
      most = sum > most ? sum : most;
    }
  return most;
}

/// Finds how many channels a part may have; false: it cannot be done so.
static bool cut(sums *s) {
  const fe_q_conv *q = &s->q;
  double low = q->is_signed ? -128 : 0, high = low + 255;
  double most = fmax(fabs(low - q->x_zero), fabs(high - q->x_zero));
  s->channels = q->dims[1];
  s->largest = largest_sum(s, s->channels) * most;
  int64_t parts = 1;
  double sum = s->largest;
  while (sum >= MAX_EXACT && s->channels > 1 && parts < MAX_PARTS) {
    parts++;
    s->channels = (q->dims[1] + parts - 1) / parts;
    sum = largest_sum(s, s->channels) * most;
  }
  return sum < MAX_EXACT && s->largest < INT32_MAX &&
         (parts == 1 || fe_attr_i64(q->op, "group", 1) == 1);
}

/// x minus its zero point convolved, for input channels [from, to).
static MlirValue part_of(fe_ir *ir, const sums *s, MlirValue x, int64_t from,
                         int64_t to) {
  int64_t dims[FE_MAX_RANK], taps = 1, n = to - from;
  memcpy(dims, s->q.dims, sizeof dims);
  for (unsigned i = 2; i < s->q.d.rank; i++)
    taps *= dims[i];
  dims[1] = n;
  const float *w = s->q.weights;
  if (n != s->q.dims[1]) {
    float *own = FE_NEW_N(ir->arena, float, (size_t)(dims[0] * n * taps) + 1);
    w = own;
    for (int64_t k = 0; k < dims[0]; k++)
      memcpy(own + k * n * taps,
             s->q.weights + (k * s->q.dims[1] + from) * taps,
             (size_t)(n * taps) * sizeof *own);
    int64_t axis = 1;
    x = fe_onnx1(ir, "Slice", x, fe_constant_i64s(ir, 1, &from),
                 fe_constant_i64s(ir, 1, &to), fe_constant_i64s(ir, 1, &axis));
  }
  unsigned n_attrs = (unsigned)mlirOperationGetNumAttributes(s->q.op);
  MlirNamedAttribute *attrs =
      FE_NEW_N(ir->arena, MlirNamedAttribute, n_attrs + 1);
  for (unsigned i = 0; i < n_attrs; i++)
    attrs[i] = mlirOperationGetAttribute(s->q.op, i);
  MlirValue in[2] = {
      x, fe_constant(ir, "integer.weight", FE_F32, s->q.d.rank, dims, w)};
  return fe_first(fe_onnx(ir, "Conv", 2, in, 1, n_attrs, attrs));
}

/// The sums: f32 of one part, i32 of several or where `integer`.
static MlirValue summed(fe_ir *ir, const sums *s, bool integer) {
  MlirValue x = fe_x_cast(ir, s->q.x, FE_F32), sum = {0};
  double zero = s->q.x_zero;
  if (zero != 0)
    x = fe_onnx1(ir, "Sub", x, fe_constant_scalar(ir, FE_F32, zero));
  for (int64_t c = 0; c < s->q.dims[1]; c += s->channels) {
    int64_t to =
        c + s->channels < s->q.dims[1] ? c + s->channels : s->q.dims[1];
    MlirValue v = part_of(ir, s, x, c, to);
    if (s->channels < s->q.dims[1] || integer)
      v = fe_x_cast(ir, v, FE_I32);
    sum = fe_is_null(sum) ? v : fe_onnx1(ir, "Add", sum, v);
  }
  return sum;
}

/// One number per filter as [filters][1].. of `rank` dims, or a scalar.
static MlirValue per_filter(fe_ir *ir, const char *name, fe_dtype t,
                            unsigned rank, int64_t count, const void *data) {
  int64_t dims[FE_MAX_RANK] = {count};
  for (unsigned i = 1; i < rank; i++)
    dims[i] = 1;
  return fe_constant(ir, name, t, count == 1 ? 0 : rank, dims, data);
}

/// False: it stays as it is.
static bool in_floats(fe_ir *ir, const fe_q_conv *conv) {
  sums s = {.q = *conv};
  const fe_q_conv *q = &s.q;
  if (!cut(&s))
    return false;
  if (!q->linear)
    return fe_pattern_replace(q->op, summed(ir, &s, true));
  unsigned rank = q->d.rank - 1;
  int64_t filters = q->dims[0];
  double largest = s.largest;
  for (int64_t k = 0; q->bias && k < filters; k++)
    largest = fmax(largest, s.largest + fabs((double)q->bias[k]));
  MlirValue v = summed(ir, &s, largest >= MAX_EXACT);
  if (q->bias) {
    MlirValue b =
        per_filter(ir, "integer.bias", FE_I32, rank, filters, q->bias);
    bool is_float = fe_dtype_of_elem(fe_elem_of(v)) == FE_F32;
    v = fe_onnx1(ir, "Add", v, is_float ? fe_x_cast(ir, b, FE_F32) : b);
  }
  MlirValue scale =
      per_filter(ir, "factor", FE_F32, rank, q->n_factors, q->factor);
  MlirValue zero = fe_constant_scalar(ir, q->type, q->y_zero);
  return fe_pattern_replace(q->op,
                            fe_onnx1(ir, "ms_requantize", v, scale, zero));
}

//===-- The pass ------------------------------------------------------------//

static bool walk(fe_ir *ir, MlirBlock block, const fe_target *target) {
  bool changed = false;
  MlirOperation next;
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = next) {
    next = mlirOperationGetNextInBlock(op);
    for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); r++) {
      MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
      if (!mlirBlockIsNull(inner))
        changed |= walk(ir, inner, target);
    }
    fe_q_conv q;
    if (!fe_op_in(op, "onnx") || !fe_q_conv_read(ir, op, &q) ||
        fe_layout_takes_bytes(ir, target, &q))
      continue;
    ir->loc = mlirOperationGetLocation(op);
    fe_point_before(ir, op);
    changed |= in_floats(ir, &q);
  }
  return changed;
}

fe_status fe_pass_quantized(fe_ir *ir, MlirModule *module,
                            const fe_pass_options *o) {
  MlirOperation func = fe_func_find(*module, "main");
  if (mlirOperationIsNull(func))
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "the module has no function @main");
  fe_point saved = fe_point_save(ir);
  bool changed = walk(ir, fe_func_block(func), o->target);
  fe_point_restore(ir, saved);
  return changed ? fe_pass_canonicalize(ir, module, o) : FE_OK;
}
