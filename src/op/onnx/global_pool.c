//===- global_pool.c - GlobalAveragePool, GlobalMaxPool, ... -----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions over all spatial dims, as generics.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <math.h>

static fe_status infer_global(fe_infer *f) {
  fe_dims x;
  if (fe_in_dims(f, 0, &x))
    return FE_FAILED;
  if (x.rank < 2)
    return fe_infer_error(f, NULL, "the input has rank %u, below 2", x.rank);
  for (unsigned i = 2; i < x.rank; ++i)
    x.d[i] = fe_dim_const(f->ir, 1);
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  return FE_OK;
}

static fe_status upgrade_lp(fe_node *n) {
  fe_node_attr *p = fe_node_attr_find(n, "p"); // a float in opset 1
  if (p && p->kind == FE_A_FLOAT)
    fe_node_set_int(n, "p", (int64_t)p->f);
  return FE_OK;
}

typedef struct reduction {
  double start;
  MlirValue (*step)(fe_lower *l, MlirValue sum, MlirValue x);
  /// `n`: elements of an image, in compute type.
  MlirValue (*finish)(fe_lower *l, MlirValue sum, MlirValue n);
} reduction;

static MlirValue step_sum(fe_lower *l, MlirValue sum, MlirValue x) {
  return fe_add(l->ir, sum, x);
}
static MlirValue step_max(fe_lower *l, MlirValue sum, MlirValue x) {
  return fe_max(l->ir, sum, x);
}
static MlirValue step_power(fe_lower *l, MlirValue sum, MlirValue x) {
  fe_ir *ir = l->ir;
  int64_t p = fe_attr_i64(l->op, "p", 2);
  MlirValue v = fe_math(ir, "absf", x);
  if (p == 2)
    v = fe_mul(ir, v, v);
  else if (p != 1)
    v = fe_math2(ir, "powf", v, fe_float(ir, mlirValueGetType(v), (double)p));
  return fe_add(ir, sum, v);
}

static MlirValue finish_average(fe_lower *l, MlirValue sum, MlirValue n) {
  return fe_div(l->ir, sum, n);
}
static MlirValue finish_root(fe_lower *l, MlirValue sum, MlirValue n) {
  (void)n;
  fe_ir *ir = l->ir;
  int64_t p = fe_attr_i64(l->op, "p", 2);
  if (p == 1)
    return sum;
  if (p == 2)
    return fe_math(ir, "sqrt", sum);
  return fe_math2(ir, "powf", sum,
                  fe_float(ir, mlirValueGetType(sum), 1.0 / (double)p));
}

/// The sum is kept in f32 or f64; a second generic finishes.
static fe_status lower_reduction(fe_lower *l, const reduction *r) {
  fe_ir *ir = l->ir;
  MlirValue x = l->in[0], sizes[FE_MAX_RANK];
  unsigned rank = fe_rank(x);
  fe_dtype t = l->in_type[0], sum = t == FE_F64 ? FE_F64 : FE_F32;
  for (unsigned i = 0; i < rank; ++i)
    sizes[i] = fe_size(l, x, i);
  MlirValue n = fe_sizes_product(l, x, 2, rank);
  MlirAffineMap id = mlirAffineMapMultiDimIdentityGet(ir->ctx, rank);
  uint32_t reduced = ((1u << rank) - 1) & ~3u;
  fe_generic *g = fe_generic_begin(l, rank, sizes, 1, &x, &t, &id);
  MlirValue v = fe_arg(g, 0);
  if (reduced) {
    fe_generic_reduce(g, reduced, true, r->finish ? sum : t,
                      fe_float(ir, fe_compute_type(ir, t), r->start));
    v = fe_generic_end(g, r->finish ? sum : t, r->step(l, fe_acc(g), v));
  } else {
    MlirValue start = fe_float(ir, fe_compute_type(ir, t), r->start);
    v = fe_generic_end(g, r->finish ? sum : t, r->step(l, start, v));
  }
  if (r->finish) {
    for (unsigned i = 2; i < rank; ++i)
      sizes[i] = fe_index(ir, 1);
    g = fe_generic_begin(l, rank, sizes, 1, &v, &sum, &id);
    MlirValue count = fe_convert(ir, n, fe_compute_type(ir, t), false, false);
    v = fe_generic_end(g, t, r->finish(l, fe_arg(g, 0), count));
  }
  l->out[0] = v;
  return FE_OK;
}

static fe_status lower_average(fe_lower *l) {
  return lower_reduction(l, &(reduction){0, step_sum, finish_average});
}
static fe_status lower_max(fe_lower *l) {
  return lower_reduction(l, &(reduction){-INFINITY, step_max, NULL});
}
static fe_status lower_lp(fe_lower *l) {
  return lower_reduction(l, &(reduction){0, step_power, finish_root});
}

static const fe_attr_def lp_attrs[] = {{"p", FE_A_INT, "2"}, {0}};

#define GLOBAL(op_name, ...)                                                   \
  {.name = op_name,                                                            \
   .since = 1,                                                                 \
   .inputs = "X:T",                                                            \
   .outputs = "Y:T",                                                           \
   .types = "T=float",                                                         \
   .infer = infer_global,                                                      \
   __VA_ARGS__}

const fe_op_row fe_family_global_pool[] = {
    GLOBAL("GlobalAveragePool", .lower = lower_average),
    GLOBAL("GlobalMaxPool", .lower = lower_max),
    GLOBAL("GlobalLpPool", .attrs = lp_attrs, .upgrade = upgrade_lp,
           .lower = lower_lp),
    {0}};
