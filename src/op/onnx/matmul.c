//===- matmul.c - MatMul, Gemm, FusedMatMul ----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All become one matrix product of operands of rank two or more
// (fe_lower_product); a vector gets a dim of size 1, which the result loses.
// A factor goes into the constant operand when there is one, else it is a
// pointwise op behind the product, as is the addition of Gemm's C: both can be
// done by the product's kernel.
//
//===----------------------------------------------------------------------===//
#include "op/product.h"

//===-- Inference -----------------------------------------------------------//

static fe_status infer_matmul(fe_infer *f) {
  fe_dims out;
  if (fe_product_dims(f, 0, 1, &out))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

static fe_status infer_gemm(fe_infer *f) {
  fe_dims a, b, c, out, with_c;
  if (fe_in_dims(f, 0, &a) || fe_in_dims(f, 1, &b))
    return FE_FAILED;
  if (a.rank != 2 || b.rank != 2)
    return fe_infer_error(f, NULL, "A and B must be matrices");
  if (fe_product_dims(f, 0, 1, &out))
    return FE_FAILED;
  if (fe_dims_of(f->ir, f->in[2], &c)) {
    if (fe_broadcast_dims(f, &out, &c, &with_c))
      return FE_FAILED;
    bool fits = with_c.rank == 2;
    for (unsigned i = 0; fits && i < 2; ++i) // what may be 1, the run checks
      fits = fe_dim_static(out.d[i]) == FE_DYN ||
             fe_dim_same(out.d[i], with_c.d[i]) ||
             (fe_dim_static(out.d[i]) == 1 &&
              fe_dim_static(with_c.d[i]) == FE_DYN);
    if (!fits)
      return fe_infer_error(f, NULL, "C does not fit into the product");
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

//===-- The product ---------------------------------------------------------//

/// Constant operand times alpha, as a new constant; null: not constant.
static MlirValue scaled_constant(fe_lower *l, unsigned operand, double alpha) {
  fe_ir *ir = l->ir;
  fe_const c;
  fe_dtype t = l->in_type[operand];
  if ((t != FE_F32 && t != FE_F64) ||
      !fe_const_of(ir, fe_operand(l->op, operand), &c))
    return (MlirValue){0};
  void *data = fe_alloc(ir->arena, c.size + 1);
  for (int64_t i = 0; i < c.count; ++i) {
    double v = fe_const_f64(&c, i) * alpha;
    if (t == FE_F32)
      ((float *)data)[i] = (float)v;
    else
      ((double *)data)[i] = v;
  }
  const fe_blob *blob = fe_blob_add(ir->blobs, "scaled", data, c.size, NULL, 0);
  MlirType type = mlirValueGetType(l->in[operand]);
  return fe_first(FE_OP(ir, "krnl.weight", FE_TYPES(type),
                        FE_ATTRS(fe_at_str(ir, "blob", blob->name))));
}

/// x times a factor given as double; integers are cut off behind the point.
static MlirValue times(fe_ir *ir, fe_dtype t, MlirValue x, double factor) {
  if (factor == 1)
    return x;
  MlirType type = mlirValueGetType(x);
  if (!fe_dtype_is_int(t))
    return fe_mul(ir, x, fe_float(ir, type, factor));
  bool is_unsigned = fe_dtype_is_unsigned(t);
  MlirValue v = fe_convert(ir, x, ir->f64, is_unsigned, false);
  v = fe_mul(ir, v, fe_float(ir, ir->f64, factor));
  return fe_convert(ir, v, type, false, is_unsigned);
}

typedef struct scaling {
  fe_dtype type;
  double factor;
} scaling;

static MlirValue scaled(fe_ir *ir, const MlirValue *x, const void *user) {
  const scaling *s = user;
  return times(ir, s->type, x[0], s->factor);
}

/// Product of operands ia and ib, times alpha.
static MlirValue lower_product(fe_lower *l, unsigned ia, unsigned ib) {
  fe_dtype t = l->in_type[ia];
  double alpha = fe_attr_f64(l->op, "alpha", 1);
  fe_matrices m = {.a = l->in[ia],
                   .b = l->in[ib],
                   .trans_a = fe_attr_i64(l->op, "transA", 0) != 0,
                   .trans_b = fe_attr_i64(l->op, "transB", 0) != 0};
  if (alpha != 1) {
    MlirValue scaled = scaled_constant(l, ib, alpha);
    m.b = fe_is_null(scaled) ? m.b : scaled;
    alpha = fe_is_null(scaled) ? alpha : 1;
  }
  fe_matrices_prepare(l, &m);
  MlirValue r =
      fe_lower_product(l, m.a, m.trans_a, m.b, m.trans_b, t, m.rank, m.sizes);
  if (alpha != 1)
    r = fe_map1(l, r, t, t, scaled, &(scaling){t, alpha});
  return fe_matrices_result(l, &m, r);
}

static fe_status lower_matmul(fe_lower *l) {
  l->out[0] = lower_product(l, 0, 1);
  return FE_OK;
}

//===-- Gemm ----------------------------------------------------------------//

/// The product plus beta * c.
static MlirValue sum(fe_ir *ir, const MlirValue *x, const void *user) {
  const scaling *s = user;
  return fe_add(ir, x[0], times(ir, s->type, x[1], s->factor));
}

static fe_status lower_gemm(fe_lower *l) {
  MlirValue r = lower_product(l, 0, 1);
  fe_dtype t = l->in_type[0];
  scaling beta = {t, fe_attr_f64(l->op, "beta", 1)};
  if (l->n_in > 2 && !fe_is_null(l->in[2]) && beta.factor != 0)
    r = fe_map2(l, r, l->in[2], t, sum, &beta);
  l->out[0] = r;
  return FE_OK;
}

/// Before opset 7 C was broadcast when an attribute said so.
static fe_status upgrade_gemm(fe_node *n) {
  fe_node_attr_remove(n, "broadcast");
  return FE_OK;
}

//===-- FusedMatMul ---------------------------------------------------------//

/// transBatchA: dim 0 belongs behind the batch dims.
static fe_status upgrade_fused(fe_node *n) {
  static const char *const names[] = {"transBatchA", "transBatchB"};
  for (unsigned i = 0; i < 2 && i < n->in.n; ++i) {
    fe_node_attr *a = fe_node_attr_find(n, names[i]);
    bool moves = a && a->i;
    fe_node_attr_remove(n, names[i]);
    fe_dims d;
    if (!moves || !fe_dims_of(n->ir, n->in.at[i], &d) || d.rank < 3)
      continue;
    int64_t perm[FE_MAX_RANK];
    for (unsigned k = 0; k + 2 < d.rank; ++k)
      perm[k] = k + 1;
    perm[d.rank - 2] = 0;
    perm[d.rank - 1] = d.rank - 1;
    MlirNamedAttribute attr = fe_at_i64s(n->ir, "perm", d.rank, perm);
    n->in.at[i] =
        fe_first(fe_onnx(n->ir, "Transpose", 1, &n->in.at[i], 1, 1, &attr));
    if (fe_is_null(n->in.at[i]))
      return FE_FAILED;
  }
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def gemm_attrs[] = {{"alpha", FE_A_FLOAT, "1"},
                                         {"beta", FE_A_FLOAT, "1"},
                                         {"transA", FE_A_INT, "0"},
                                         {"transB", FE_A_INT, "0"},
                                         {0}};
static const fe_attr_def fused_attrs[] = {{"alpha", FE_A_FLOAT, "1"},
                                          {"transA", FE_A_INT, "0"},
                                          {"transB", FE_A_INT, "0"},
                                          {0}};

#define PRODUCT_TYPES "T=float,i32,i64,u32,u64"

const fe_op_row fe_family_matmul[] = {{.name = "MatMul",
                                       .since = 1,
                                       .inputs = "A:T, B:T",
                                       .outputs = "Y:T",
                                       .types = PRODUCT_TYPES,
                                       .infer = infer_matmul,
                                       .lower = lower_matmul},
                                      {.name = "Gemm",
                                       .since = 1,
                                       .inputs = "A:T, B:T, C?:T",
                                       .outputs = "Y:T",
                                       .types = PRODUCT_TYPES,
                                       .attrs = gemm_attrs,
                                       .upgrade = upgrade_gemm,
                                       .infer = infer_gemm,
                                       .lower = lower_gemm},
                                      {.name = "FusedMatMul",
                                       .domain = "com.microsoft",
                                       .since = 1,
                                       .inputs = "A:T, B:T",
                                       .outputs = "Y:T",
                                       .types = PRODUCT_TYPES,
                                       .attrs = fused_attrs,
                                       .upgrade = upgrade_fused,
                                       .infer = infer_matmul,
                                       .lower = lower_matmul},
                                      {.name = "TransposeMatMul",
                                       .domain = "com.microsoft",
                                       .since = 1,
                                       .inputs = "A:T, B:T",
                                       .outputs = "Y:T",
                                       .types = PRODUCT_TYPES,
                                       .attrs = fused_attrs,
                                       .upgrade = upgrade_fused,
                                       .infer = infer_matmul,
                                       .lower = lower_matmul},
                                      {0}};
