//===- extremum.c - Max, Min, Clip, Sum, Mean --------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operators with any number of inputs become chains of binary ones, which
// fuse to one loop. A NaN operand gives NaN.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/compose.h"
#include "op/scalar.h"

#include <float.h>
#include <math.h>

FE_SCALAR(maximum) {
  FE_UNUSED;
  return fe_dtype_is_unsigned(in) ? fe_maxu(ir, x[0], x[1])
                                  : fe_max(ir, x[0], x[1]);
}
FE_SCALAR(minimum) {
  FE_UNUSED;
  return fe_dtype_is_unsigned(in) ? fe_minu(ir, x[0], x[1])
                                  : fe_min(ir, x[0], x[1]);
}

/// `limit` where x is beyond it on the side of `kind`: keeps NaN, and is one
/// instruction.
static MlirValue limited(fe_ir *ir, fe_dtype t, fe_cmp_kind kind,
                         MlirValue limit, MlirValue x) {
  MlirValue beyond = fe_dtype_is_unsigned(t) ? fe_cmpu(ir, kind, limit, x)
                                             : fe_cmp(ir, kind, limit, x);
  return fe_select(ir, beyond, limit, x);
}

FE_SCALAR(clip) {
  FE_UNUSED;
  MlirValue v = x[0];
  if (n > 1 && !fe_is_null(x[1]))
    v = limited(ir, in, FE_GT, x[1], v);
  if (n > 2 && !fe_is_null(x[2]))
    v = limited(ir, in, FE_LT, x[2], v);
  return v;
}

//===-- Import --------------------------------------------------------------//

static fe_status expand_max(fe_node *n, MlirValue *results) {
  return n->in.n == 2 ? FE_OK : fe_expand_pairwise(n, "Max", results);
}
static fe_status expand_min(fe_node *n, MlirValue *results) {
  return n->in.n == 2 ? FE_OK : fe_expand_pairwise(n, "Min", results);
}
/// The sum of all operands, divided by their number where it is a mean. That of
/// halves is taken in f32 and rounded once.
static fe_status expand_total(fe_node *n, MlirValue *results, bool mean) {
  fe_ir *ir = n->ir;
  fe_dtype t = n->in.n ? fe_x_type(n->in.at[0]) : FE_UNDEFINED;
  bool half = t == FE_F16 || t == FE_BF16;
  bool one_rounding = half && n->in.n + mean > 2;
  for (size_t i = 0; one_rounding && i < n->in.n; ++i)
    n->in.at[i] = fe_x_cast(ir, n->in.at[i], FE_F32);
  if (fe_expand_pairwise(n, "Add", results))
    return FE_FAILED;
  if (mean && n->in.n > 1) {
    fe_dtype sum = fe_x_type(results[0]);
    results[0] = fe_onnx1(ir, "Div", results[0],
                          fe_constant_scalar(ir, sum, (double)n->in.n));
  }
  if (one_rounding)
    results[0] = fe_x_cast(ir, results[0], t);
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

static fe_status expand_sum(fe_node *n, MlirValue *results) {
  return expand_total(n, results, false);
}
static fe_status expand_mean(fe_node *n, MlirValue *results) {
  return expand_total(n, results, true);
}

/// Before opset 11 the limits are attributes; opset 6 has the largest floats
/// as defaults, which limit nothing.
/// A limit that is not given is the type's largest number, from opset 6 on, of
/// f32 before opset 11: so infinities become that.
static fe_status upgrade_clip(fe_node *n) {
  if (!n->in.n || fe_is_null(n->in.at[0]))
    return FE_OK;
  fe_dtype t = fe_x_type(n->in.at[0]);
  const char *const names[] = {"min", "max"};
  double largest = t == FE_F64    ? DBL_MAX
                   : t == FE_F16  ? 65504
                   : t == FE_BF16 ? ldexp(255, 120)
                                  : FLT_MAX;
  if (n->opset < 11)
    largest = t == FE_F16 ? INFINITY : FLT_MAX;
  for (unsigned i = 0; i < 2; ++i) {
    if (n->opset < 11)
      fe_node_attr_to_input(n, names[i], i + 1, t);
    bool given = i + 1 < n->in.n && !fe_is_null(n->in.at[i + 1]);
    if (!given && n->opset >= 6 && fe_dtype_is_float(t))
      fe_node_input_scalar(n, i + 1, t, i ? largest : -largest);
  }
  return FE_OK;
}

static fe_status infer_clip(fe_infer *f) {
  fe_dims d, limit;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  for (unsigned i = 1; i < f->n_in; ++i)
    if (fe_dims_of(f->ir, f->in[i], &limit) &&
        (limit.rank > 1 || (limit.rank == 1 && fe_dim_static(limit.d[0]) != 1)))
      return fe_infer_error(f, NULL, "the limits must be scalars");
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &d);
  return FE_OK;
}

//===-- Contents ------------------------------------------------------------//

/// 1: a >= b for all symbols; -1: a <= b; 0: not known.
static int order(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b) {
  if (fe_dim_nonneg(fe_dim_sub(ir, a, b)))
    return 1;
  return fe_dim_nonneg(fe_dim_sub(ir, b, a)) ? -1 : 0;
}

static MlirAffineExpr expr_max(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b) {
  int o = order(ir, a, b);
  return o > 0 ? a : o < 0 ? b : (MlirAffineExpr){0};
}
static MlirAffineExpr expr_min(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b) {
  int o = order(ir, a, b);
  return o > 0 ? b : o < 0 ? a : (MlirAffineExpr){0};
}
static bool contents_max(fe_ir *ir, MlirOperation op, fe_contents *out) {
  return fe_contents_binary(ir, op, out, expr_max);
}
static bool contents_min(fe_ir *ir, MlirOperation op, fe_contents *out) {
  return fe_contents_binary(ir, op, out, expr_min);
}

//===-- Rows ----------------------------------------------------------------//

#define CHAIN(op_name, admitted, ...)                                          \
  {.name = op_name,                                                            \
   .since = 1,                                                                 \
   .types = "T=" admitted,                                                     \
   .flags = FE_FUNCTION,                                                       \
   .inputs = "data_0:T, data_1*:T",                                            \
   .outputs = "result:T",                                                      \
   __VA_ARGS__}
#define EXTREMUM(op_name, ...)                                                 \
  {.name = op_name,                                                            \
   .since = 1,                                                                 \
   .inputs = "data_0:T, data_1:T",                                             \
   .outputs = "result:T",                                                      \
   .types = "T=real",                                                          \
   .flags = FE_POINTWISE | FE_FUNCTION,                                        \
   __VA_ARGS__}

const fe_op_row fe_family_extremum[] = {
    EXTREMUM("Max", .expand = expand_max, .scalar = maximum,
             .contents = contents_max),
    EXTREMUM("Min", .expand = expand_min, .scalar = minimum,
             .contents = contents_min),
    CHAIN("Sum", "float", .expand = expand_sum),
    CHAIN("Mean", "float", .expand = expand_mean),
    {.name = "Clip",
     .since = 1,
     .inputs = "input:T, min?:T, max?:T",
     .outputs = "output:T",
     .types = "T=real",
     .flags = FE_POINTWISE,
     .upgrade = upgrade_clip,
     .infer = infer_clip,
     .scalar = clip},
    {0}};
