//===- matrix.c - Det, Inverse, Trilu, EyeLike -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

//===-- Elimination ---------------------------------------------------------//

static fe_status square_dims(fe_infer *f, fe_dims *d) {
  if (fe_in_dims(f, 0, d))
    return FE_FAILED;
  int64_t a = d->rank < 2 ? 0 : fe_dim_static(d->d[d->rank - 2]);
  int64_t b = d->rank < 2 ? 1 : fe_dim_static(d->d[d->rank - 1]);
  if (d->rank < 2 || (a != FE_DYN && b != FE_DYN && a != b))
    return fe_infer_error(f, NULL, "the matrices are not square");
  return FE_OK;
}

/// Operand 0 as [matrices][n][n]; `flat`: these sizes.
static MlirValue square_matrices(fe_lower *l, MlirValue flat[3]) {
  unsigned rank = fe_rank(l->in[0]);
  flat[0] = fe_sizes_product(l, l->in[0], 0, rank - 2);
  flat[1] = flat[2] = fe_size(l, l->in[0], rank - 1);
  fe_check_equal(l, fe_size(l, l->in[0], rank - 2), flat[1],
                 "the matrices are not square");
  return fe_reshape(l, l->in[0], fe_elem_of(l->in[0]), 3, flat);
}

/// Row of the largest element of column c, from row c on.
static MlirValue pivot_row(fe_ir *ir, MlirValue w, MlirValue m, MlirValue c,
                           MlirValue n) {
  MlirValue one = fe_index(ir, 1);
  MlirValue start[2] = {c,
                        fe_math(ir, "absf", fe_load(ir, w, FE_IDX(m, c, c)))};
  fe_region r = fe_for_begin(ir, fe_add(ir, c, one), n, one, 2, start);
  MlirValue v = fe_math(ir, "absf", fe_load(ir, w, FE_IDX(m, r.iv, c)));
  MlirValue more = fe_cmp(ir, FE_GT, v, fe_block_arg(r.body, 2));
  MlirValue next[2] = {fe_select(ir, more, r.iv, fe_block_arg(r.body, 1)),
                       fe_select(ir, more, v, fe_block_arg(r.body, 2))};
  fe_for_end(ir, &r, 2, next);
  return fe_result(r.op, 0);
}

//===-- Det -----------------------------------------------------------------//

static fe_status infer_det(fe_infer *f) {
  fe_dims d;
  if (square_dims(f, &d))
    return FE_FAILED;
  d.rank -= 2;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &d);
  return FE_OK;
}

/// One step of the elimination; gives the factor of the determinant.
static MlirValue eliminate(fe_ir *ir, MlirValue w, MlirValue m, MlirValue c,
                           MlirValue n) {
  MlirType t = fe_elem_of(w);
  MlirValue one = fe_index(ir, 1), next = fe_add(ir, c, one);
  MlirValue p = pivot_row(ir, w, m, c, n);
  fe_region j = fe_for_begin(ir, c, n, one, 0, NULL);
  MlirValue a = fe_load(ir, w, FE_IDX(m, c, j.iv));
  MlirValue b = fe_load(ir, w, FE_IDX(m, p, j.iv));
  fe_store(ir, a, w, FE_IDX(m, p, j.iv));
  fe_store(ir, b, w, FE_IDX(m, c, j.iv));
  fe_loop_end(ir, &j);
  MlirValue pivot = fe_load(ir, w, FE_IDX(m, c, c));
  MlirValue zero = fe_float(ir, t, 0);
  MlirValue singular = fe_cmp(ir, FE_EQ, pivot, zero);
  fe_region r = fe_for_begin(ir, next, n, one, 0, NULL);
  MlirValue factor = fe_div(ir, fe_load(ir, w, FE_IDX(m, r.iv, c)), pivot);
  factor = fe_select(ir, singular, zero, factor);
  j = fe_for_begin(ir, next, n, one, 0, NULL);
  MlirValue v = fe_load(ir, w, FE_IDX(m, r.iv, j.iv));
  MlirValue above = fe_load(ir, w, FE_IDX(m, c, j.iv));
  fe_store(ir, fe_sub(ir, v, fe_mul(ir, factor, above)), w,
           FE_IDX(m, r.iv, j.iv));
  fe_loop_end(ir, &j);
  fe_loop_end(ir, &r);
  MlirValue same = fe_cmp(ir, FE_EQ, p, c);
  return fe_select(ir, same, pivot, fe_neg(ir, pivot));
}

/// Gaussian elimination with pivots, in a copy.
static fe_status lower_det(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0], work = fe_work_type(t);
  unsigned rank = fe_rank(l->in[0]);
  MlirValue sizes[FE_MAX_RANK], flat[3], x = square_matrices(l, flat);
  MlirValue dest[2] = {fe_tensor_empty(l, work, 1, flat),
                       fe_tensor_empty(l, work, 3, flat)};
  fe_kernel k;
  fe_kernel_begin(&k, l, "det", 1, &x, 2, dest, 0, NULL);
  MlirValue one = fe_index(ir, 1), size = fe_dim(ir, k.in[0], 1);
  fe_region m = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_region i = fe_loop(ir, size), j = fe_loop(ir, size);
  fe_store(ir, fe_get(&k, k.in[0], t, FE_IDX(m.iv, i.iv, j.iv)), k.out[1],
           FE_IDX(m.iv, i.iv, j.iv));
  fe_loop_end(ir, &j);
  fe_loop_end(ir, &i);
  MlirValue start = fe_float(ir, fe_storage_type(ir, work), 1);
  fe_region c = fe_for_begin(ir, fe_index(ir, 0), size, one, 1, &start);
  MlirValue det = fe_mul(ir, fe_block_arg(c.body, 1),
                         eliminate(ir, k.out[1], m.iv, c.iv, size));
  fe_for_end(ir, &c, 1, &det);
  fe_store(ir, fe_result(c.op, 0), k.out[0], 1, &m.iv);
  fe_loop_end(ir, &m);
  MlirAffineExpr d = fe_kernel_dim(&k, 0, 1);
  fe_kernel_end(&k, fe_kernel_dim(&k, 0, 0), fe_dim_mul(fe_dim_mul(d, d), d));
  for (unsigned a = 0; a + 2 < rank; ++a)
    sizes[a] = fe_size(l, l->in[0], a);
  MlirValue v = fe_to_type(l, k.result[0], work, t);
  l->out[0] = fe_reshape(l, v, fe_elem_of(v), rank - 2, sizes);
  return FE_OK;
}

//===-- Inverse -------------------------------------------------------------//

static fe_status infer_inverse(fe_infer *f) {
  fe_dims d;
  if (square_dims(f, &d))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &d);
  return FE_OK;
}

typedef struct inversion {
  fe_ir *ir;
  MlirValue w, y; // memrefs: the matrix being eliminated, the result
  MlirValue m, n; // which one, and its size
} inversion;

/// Rows a and b of both change places.
static void swap_rows(inversion *v, MlirValue a, MlirValue b) {
  fe_ir *ir = v->ir;
  const MlirValue both[2] = {v->w, v->y};
  fe_region j = fe_loop(ir, v->n);
  for (unsigned i = 0; i < 2; ++i) {
    MlirValue p = fe_load(ir, both[i], FE_IDX(v->m, a, j.iv));
    MlirValue q = fe_load(ir, both[i], FE_IDX(v->m, b, j.iv));
    fe_store(ir, q, both[i], FE_IDX(v->m, a, j.iv));
    fe_store(ir, p, both[i], FE_IDX(v->m, b, j.iv));
  }
  fe_loop_end(ir, &j);
}

/// Column c of w becomes one of the identity.
static void clear_column(inversion *v, MlirValue c) {
  fe_ir *ir = v->ir;
  const MlirValue both[2] = {v->w, v->y};
  swap_rows(v, c, pivot_row(ir, v->w, v->m, c, v->n));
  MlirValue pivot = fe_load(ir, v->w, FE_IDX(v->m, c, c));
  fe_region j = fe_loop(ir, v->n);
  for (unsigned i = 0; i < 2; ++i) {
    MlirValue e = fe_load(ir, both[i], FE_IDX(v->m, c, j.iv));
    fe_store(ir, fe_div(ir, e, pivot), both[i], FE_IDX(v->m, c, j.iv));
  }
  fe_loop_end(ir, &j);
  fe_region r = fe_loop(ir, v->n);
  MlirValue factor = fe_load(ir, v->w, FE_IDX(v->m, r.iv, c));
  MlirValue zero = fe_float(ir, mlirValueGetType(factor), 0);
  factor = fe_select(ir, fe_cmp(ir, FE_EQ, r.iv, c), zero, factor);
  j = fe_loop(ir, v->n);
  for (unsigned i = 0; i < 2; ++i) {
    MlirValue e = fe_load(ir, both[i], FE_IDX(v->m, r.iv, j.iv));
    MlirValue p = fe_load(ir, both[i], FE_IDX(v->m, c, j.iv));
    fe_store(ir, fe_sub(ir, e, fe_mul(ir, factor, p)), both[i],
             FE_IDX(v->m, r.iv, j.iv));
  }
  fe_loop_end(ir, &j);
  fe_loop_end(ir, &r);
}

/// Gauss and Jordan, with pivots. A singular matrix gives infinities and NaN.
static fe_status lower_inverse(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0], work = fe_work_type(t);
  unsigned rank = fe_rank(l->in[0]);
  MlirValue sizes[FE_MAX_RANK], flat[3], x = square_matrices(l, flat);
  MlirValue dest[2] = {fe_tensor_empty(l, work, 3, flat),
                       fe_tensor_empty(l, work, 3, flat)};
  fe_kernel k;
  fe_kernel_begin(&k, l, "inverse", 1, &x, 2, dest, 0, NULL);
  MlirType real = fe_storage_type(ir, work);
  fe_region m = fe_for_begin(ir, k.begin, k.end, fe_index(ir, 1), 0, NULL);
  inversion v = {.ir = ir, .w = k.out[1], .y = k.out[0], .m = m.iv};
  v.n = fe_dim(ir, k.in[0], 1);
  fe_region i = fe_loop(ir, v.n), j = fe_loop(ir, v.n);
  fe_store(ir, fe_get(&k, k.in[0], t, FE_IDX(m.iv, i.iv, j.iv)), v.w,
           FE_IDX(m.iv, i.iv, j.iv));
  MlirValue same = fe_cmp(ir, FE_EQ, i.iv, j.iv);
  fe_store(ir,
           fe_select(ir, same, fe_float(ir, real, 1), fe_float(ir, real, 0)),
           v.y, FE_IDX(m.iv, i.iv, j.iv));
  fe_loop_end(ir, &j);
  fe_loop_end(ir, &i);
  fe_region c = fe_loop(ir, v.n);
  clear_column(&v, c.iv);
  fe_loop_end(ir, &c);
  fe_loop_end(ir, &m);
  MlirAffineExpr d = fe_kernel_dim(&k, 0, 1);
  fe_kernel_end(&k, fe_kernel_dim(&k, 0, 0), fe_dim_mul(fe_dim_mul(d, d), d));
  fe_sizes_of(l, l->in[0], sizes);
  MlirValue y = fe_to_type(l, k.result[0], work, t);
  l->out[0] = fe_reshape(l, y, fe_elem_of(y), rank, sizes);
  return FE_OK;
}

//===-- Trilu ---------------------------------------------------------------//

static fe_status infer_trilu(fe_infer *f) {
  fe_dims d;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  if (d.rank < 2)
    return fe_infer_error(f, NULL, "the input's rank is below 2");
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &d);
  return FE_OK;
}

static fe_status lower_trilu(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0];
  unsigned rank = fe_rank(l->in[0]);
  bool upper = fe_attr_i64(l->op, "upper", 1);
  MlirValue sizes[FE_MAX_RANK];
  fe_sizes_of(l, l->in[0], sizes);
  MlirAffineMap id = mlirAffineMapMultiDimIdentityGet(ir->ctx, rank);
  fe_generic *g = fe_generic_begin(l, rank, sizes, 1, &l->in[0], &t, &id);
  MlirType wide = ir->i64;
  MlirValue k = fe_int(ir, wide, 0), zero = fe_index(ir, 0);
  if (l->n_in > 1 && !fe_is_null(l->in[1]))
    k = fe_at(g, l->in[1], FE_I64, fe_rank(l->in[1]), &zero);
  MlirValue row = fe_convert(ir, fe_iter(g, rank - 2), wide, false, false);
  MlirValue column = fe_convert(ir, fe_iter(g, rank - 1), wide, false, false);
  MlirValue stays =
      fe_cmp(ir, upper ? FE_GE : FE_LE, fe_sub(ir, column, row), k);
  MlirValue x = fe_arg(g, 0);
  MlirValue none = fe_number(ir, mlirValueGetType(x), 0);
  l->out[0] = fe_generic_end(g, t, fe_select(ir, stays, x, none));
  return FE_OK;
}

//===-- EyeLike -------------------------------------------------------------//

#define EYE_TYPES "bool,real"

static fe_status infer_eye(fe_infer *f) {
  fe_dims d;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  int64_t t = fe_attr_i64(f->attrs, "dtype", 0);
  fe_dtype type = t ? (fe_dtype)t : fe_in_dtype(f, 0);
  if (d.rank != 2)
    return fe_infer_error(f, NULL, "the input is not a matrix");
  if (type != FE_BOOL && type != FE_F16 && type != FE_BF16 && type != FE_F32 &&
      type != FE_F64 && !fe_dtype_is_int(type))
    return fe_infer_error(f, "'dtype' can be a float or integer type, or bool",
                          "there is no identity of the type that 'dtype' names"
                          ", or the input has");
  fe_out_tensor(f, 0, type, &d);
  return FE_OK;
}

static fe_status lower_eye(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->out_type[0];
  MlirValue sizes[2];
  fe_sizes_of(l, l->in[0], sizes);
  fe_generic *g = fe_generic_begin(l, 2, sizes, 0, NULL, NULL, NULL);
  MlirValue k = fe_index(ir, fe_attr_i64(l->op, "k", 0));
  MlirValue hit =
      fe_cmp(ir, FE_EQ, fe_sub(ir, fe_iter(g, 1), fe_iter(g, 0)), k);
  MlirType type = fe_compute_type(ir, t);
  MlirValue v = t == FE_BOOL ? hit
                             : fe_select(ir, hit, fe_number(ir, type, 1),
                                         fe_number(ir, type, 0));
  l->out[0] = fe_generic_end(g, t, v);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def trilu_attrs[] = {{"upper", FE_A_INT, "1"}, {0}};
static const fe_attr_def eye_attrs[] = {
    {"dtype", FE_A_INT, "0"}, {"k", FE_A_INT, "0"}, {0}};

const fe_op_row fe_family_matrix[] = {
    {.name = "Det",
     .since = 11,
     .inputs = "X:T",
     .outputs = "Y:T",
     .types = "T=float",
     .infer = infer_det,
     .lower = lower_det},
    {.name = "Inverse",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "X:T",
     .outputs = "Y:T",
     .types = "T=float",
     .infer = infer_inverse,
     .lower = lower_inverse},
    {.name = "Trilu",
     .since = 14,
     .inputs = "input:T, k?:T1",
     .outputs = "output:T",
     .types = "T=all;T1=i64",
     .attrs = trilu_attrs,
     .infer = infer_trilu,
     .lower = lower_trilu},
    {.name = "EyeLike",
     .since = 9,
     .inputs = "input:T1",
     .outputs = "output:T2",
     .types = "T1=" EYE_TYPES ";T2=" EYE_TYPES,
     .attrs = eye_attrs,
     .infer = infer_eye,
     .lower = lower_eye},
    {0}};
