//===- matmul.c - MatMul, Gemm, FusedMatMul ----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All become one matrix product of operands of rank two or more
// (fe_lower_contract); a vector gets a dim of size 1, which the result loses.
// A factor goes into the constant operand when there is one, else it is a
// pointwise op behind the product, as is the addition of Gemm's C: both can be
// done by the product's kernel.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>
#include <string.h>

/// The product that an op stands for.
typedef struct product {
  bool trans_a, trans_b;
  double alpha;
} product;

static product product_of(MlirOperation op) {
  return (product){
      .trans_a = fe_attr_i64(op, "transA", 0) != 0,
      .trans_b = fe_attr_i64(op, "transB", 0) != 0,
      .alpha = fe_attr_f64(op, "alpha", 1),
  };
}

//===-- Inference -----------------------------------------------------------//

/// Dims of the product. Rank 1: [K], which `trans` does not concern.
static fe_status product_dims(fe_infer *f, unsigned ia, unsigned ib,
                              fe_dims *out) {
  fe_dims a, b, batch_a = {0}, batch_b = {0};
  if (fe_in_dims(f, ia, &a) || fe_in_dims(f, ib, &b))
    return FE_FAILED;
  if (!a.rank || !b.rank)
    return fe_infer_error(f, NULL, "an operand is a scalar");
  product p = product_of(f->attrs);
  bool trans_a = p.trans_a && a.rank > 1, trans_b = p.trans_b && b.rank > 1;
  MlirAffineExpr ka = a.d[a.rank - 1 - trans_a];
  MlirAffineExpr kb = b.rank == 1 ? b.d[0] : b.d[b.rank - 2 + trans_b];
  int64_t na = fe_dim_static(ka), nb = fe_dim_static(kb);
  if (na != FE_DYN && nb != FE_DYN && na != nb)
    return fe_infer_error(f, NULL,
                          "rows of the first operand have %" PRId64
                          " elements but columns of the second %" PRId64,
                          na, nb);
  for (unsigned i = 0; i + 2 < a.rank; ++i)
    batch_a.d[batch_a.rank++] = a.d[i];
  for (unsigned i = 0; i + 2 < b.rank; ++i)
    batch_b.d[batch_b.rank++] = b.d[i];
  if (fe_broadcast_dims(f, &batch_a, &batch_b, out))
    return FE_FAILED;
  if (out->rank + 2 > FE_MAX_RANK)
    return fe_infer_error(f, NULL, "the rank is too large");
  if (a.rank > 1)
    out->d[out->rank++] = a.d[a.rank - 2 + trans_a];
  if (b.rank > 1)
    out->d[out->rank++] = b.d[b.rank - 1 - trans_b];
  return FE_OK;
}

static fe_status infer_matmul(fe_infer *f) {
  fe_dims out;
  if (product_dims(f, 0, 1, &out))
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
  if (product_dims(f, 0, 1, &out))
    return FE_FAILED;
  if (fe_dims_of(f->ir, f->in[2], &c)) {
    if (fe_broadcast_dims(f, &out, &c, &with_c))
      return FE_FAILED;
    bool fits = with_c.rank == 2;
    for (unsigned i = 0; fits && i < 2; ++i)
      fits = fe_dim_static(out.d[i]) == FE_DYN ||
             fe_dim_same(out.d[i], with_c.d[i]);
    if (!fits)
      return fe_infer_error(f, NULL, "C does not fit into the product");
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

//===-- The product ---------------------------------------------------------//

/// Common size of two dims of which one may be 1; checked at run time where it
/// is not known.
static MlirValue common_size(fe_lower *l, MlirValue a, MlirValue b) {
  fe_ir *ir = l->ir;
  int64_t na = FE_DYN, nb = FE_DYN;
  fe_size_known(a, &na);
  fe_size_known(b, &nb);
  if (fe_same(a, b) || nb == 1)
    return a;
  if (na == 1)
    return b;
  if (na != FE_DYN && nb != FE_DYN)
    return a; // equal: inference has compared them
  MlirValue one = fe_index(ir, 1);
  MlirValue same = fe_cmp(ir, FE_EQ, a, b);
  MlirValue a_one = fe_cmp(ir, FE_EQ, a, one),
            b_one = fe_cmp(ir, FE_EQ, b, one);
  if (na == FE_DYN)
    same = fe_or(ir, same, a_one);
  if (nb == FE_DYN)
    same = fe_or(ir, same, b_one);
  fe_check(l, same, "the batch dimensions do not broadcast");
  return na != FE_DYN ? a : nb != FE_DYN ? b : fe_select(ir, a_one, b, a);
}

/// A vector with a dim of size 1 in front, or behind.
static MlirValue as_matrix(fe_lower *l, MlirValue v, bool behind) {
  if (fe_rank(v) != 1)
    return v;
  MlirValue size = fe_size(l, v, 0), one = fe_index(l->ir, 1);
  MlirValue sizes[2] = {behind ? size : one, behind ? one : size};
  return fe_reshape(l, v, fe_elem_of(v), 2, sizes);
}

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
  fe_ir *ir = l->ir;
  product p = product_of(l->op);
  fe_dtype t = l->in_type[ia];
  bool vector_a = fe_rank(l->in[ia]) == 1, vector_b = fe_rank(l->in[ib]) == 1;
  bool trans_a = p.trans_a && !vector_a, trans_b = p.trans_b && !vector_b;
  MlirValue a = l->in[ia], b = l->in[ib];
  if (p.alpha != 1) {
    MlirValue scaled = scaled_constant(l, ib, p.alpha);
    b = fe_is_null(scaled) ? b : scaled;
    p.alpha = fe_is_null(scaled) ? p.alpha : 1;
  }
  a = as_matrix(l, a, false);
  b = as_matrix(l, b, true);
  unsigned rank_a = fe_rank(a), rank_b = fe_rank(b);
  unsigned rank = rank_a > rank_b ? rank_a : rank_b;
  MlirValue sizes[FE_MAX_RANK];
  for (unsigned i = 0; i + 2 < rank; ++i) {
    bool in_a = i + rank_a >= rank, in_b = i + rank_b >= rank;
    MlirValue sa = in_a ? fe_size(l, a, i + rank_a - rank) : (MlirValue){0};
    MlirValue sb = in_b ? fe_size(l, b, i + rank_b - rank) : (MlirValue){0};
    sizes[i] = in_a && in_b ? common_size(l, sa, sb) : in_a ? sa : sb;
  }
  sizes[rank - 2] = fe_size(l, a, rank_a - 2 + trans_a);
  sizes[rank - 1] = fe_size(l, b, rank_b - 1 - trans_b);
  MlirValue ka = fe_size(l, a, rank_a - 1 - trans_a);
  MlirValue kb = fe_size(l, b, rank_b - 2 + trans_b);
  int64_t na, nb;
  if (!fe_same(ka, kb) && !(fe_size_known(ka, &na) && fe_size_known(kb, &nb)))
    fe_check(l, fe_cmp(ir, FE_EQ, ka, kb),
             "rows of A and columns of B have different sizes");
  MlirValue r = fe_lower_contract(l, a, trans_a, b, trans_b, t, rank, sizes);
  if (p.alpha != 1)
    r = fe_map1(l, r, t, t, scaled, &(scaling){t, p.alpha});
  if (!vector_a && !vector_b)
    return r;
  MlirValue kept[FE_MAX_RANK];
  unsigned n = 0;
  for (unsigned i = 0; i < rank; ++i)
    if (!(i == rank - 2 && vector_a) && !(i == rank - 1 && vector_b))
      kept[n++] = sizes[i];
  return fe_reshape(l, r, fe_storage_type(ir, t), n, kept);
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
                                      {0}};
