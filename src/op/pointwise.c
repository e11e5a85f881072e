//===- pointwise.c - generics that lowering needs often ----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise functions of broadcast tensors, conversions and reductions over
// lowered tensors, written with the function of one element.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/lowering.h"

bool fe_size_known(MlirValue size, int64_t *out) {
  return fe_index_const(size, out);
}

void fe_sizes_of(fe_lower *l, MlirValue v, MlirValue *sizes) {
  for (unsigned i = 0, rank = fe_rank(v); i < rank; ++i)
    sizes[i] = fe_size(l, v, i);
}

MlirValue fe_tensor_empty(fe_lower *l, fe_dtype t, unsigned rank,
                          const MlirValue *sizes) {
  return fe_empty_tensor(l->state, fe_storage_type(l->ir, t), rank, sizes);
}

MlirValue fe_flat_or_axis(fe_lower *l, unsigned *axis) {
  MlirValue x = l->in[0];
  *axis = 0;
  if (fe_attr_i64(l->op, "axis", FE_FLAT) != FE_FLAT) {
    *axis = fe_attr_axis(l->op, "axis", 0, fe_rank(x));
    return x;
  }
  MlirValue n = fe_sizes_product(l, x, 0, fe_rank(x));
  return fe_reshape(l, x, fe_elem_of(x), 1, &n);
}

MlirValue fe_around_axis(fe_lower *l, MlirValue v, unsigned axis) {
  unsigned rank = fe_rank(v);
  MlirValue sizes[3] = {fe_sizes_product(l, v, 0, axis), fe_size(l, v, axis),
                        fe_sizes_product(l, v, axis + 1, rank)};
  return fe_reshape(l, v, fe_elem_of(v), 3, sizes);
}

/// Dims of size 1 in front tell nothing, and without them an addition of
/// [1][N] is one of [N], which more kernels take as epilogue.
static MlirValue without_leading(fe_lower *l, MlirValue v) {
  unsigned rank = fe_rank(v), first = 0;
  while (first < rank && fe_static_dim(v, first) == 1)
    ++first;
  MlirValue sizes[FE_MAX_RANK];
  for (unsigned i = first; i < rank; ++i)
    sizes[i - first] = fe_size(l, v, i);
  return first ? fe_reshape(l, v, fe_elem_of(v), rank - first, sizes) : v;
}

/// How one operand is read: by a map where its dims are known to be 1 or the
/// result's, else by subscripts.
typedef struct operand {
  MlirValue v;
  unsigned rank;
  MlirAffineMap map;             // null: by subscripts
  MlirValue is_one[FE_MAX_RANK]; // i1 where only run time knows
} operand;

static operand read_operand(fe_lower *l, MlirValue v, unsigned rank,
                            const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  operand o = {.v = v};
  if (fe_rank(v) == rank && rank && fe_static_dim(v, 0) == 1) {
    int64_t n;
    if (!fe_size_known(sizes[0], &n) || n != 1)
      o.v = without_leading(l, v);
  }
  v = o.v;
  o.rank = fe_rank(v);
  MlirAffineExpr e[FE_MAX_RANK];
  bool affine = true;
  for (unsigned i = 0; i < o.rank; ++i) {
    unsigned d = rank - o.rank + i;
    MlirValue own = fe_size(l, v, i);
    int64_t fixed = fe_static_dim(v, i), n;
    bool one = fixed == 1 && !(fe_size_known(sizes[d], &n) && n == 1);
    e[i] = one ? mlirAffineConstantExprGet(ir->ctx, 0)
               : mlirAffineDimExprGet(ir->ctx, d);
    if (fixed == 1 || fe_same(own, sizes[d]) ||
        (fixed != FE_DYN && fe_size_known(sizes[d], &n)))
      continue;
    MlirValue fits = fe_cmp(ir, FE_EQ, own, sizes[d]);
    if (fixed == FE_DYN) {
      affine = false;
      o.is_one[i] = fe_cmp(ir, FE_EQ, own, fe_index(ir, 1));
      fits = fe_or(ir, fits, o.is_one[i]);
    }
    fe_check(l, fits, "the operands' shapes do not broadcast");
  }
  if (affine)
    o.map = mlirAffineMapGet(ir->ctx, rank, 0, o.rank, e);
  return o;
}

static MlirValue element(fe_lower *l, fe_generic *g, const operand *o,
                         unsigned i, fe_dtype t, unsigned rank) {
  fe_ir *ir = l->ir;
  if (!mlirAffineMapIsNull(o->map))
    return fe_arg(g, i);
  MlirValue idx[FE_MAX_RANK], zero = fe_index(ir, 0);
  for (unsigned k = 0; k < o->rank; ++k) {
    idx[k] =
        fe_static_dim(o->v, k) == 1 ? zero : fe_iter(g, rank - o->rank + k);
    if (!fe_is_null(o->is_one[k]))
      idx[k] = fe_select(ir, o->is_one[k], zero, idx[k]);
  }
  return fe_at(g, o->v, t, o->rank, idx);
}

MlirValue fe_pointwise(fe_lower *l, unsigned rank, const MlirValue *sizes,
                       unsigned n, const MlirValue *in, const fe_dtype *types,
                       fe_dtype result, fe_element_fn fn, const void *user) {
  operand o[FE_MAX_ELEMENT] = {0};
  MlirValue v[FE_MAX_ELEMENT] = {{0}}, x[FE_MAX_ELEMENT] = {{0}};
  MlirAffineMap maps[FE_MAX_ELEMENT] = {{0}};
  for (unsigned i = 0; i < n; ++i) {
    o[i] = read_operand(l, in[i], rank, sizes);
    v[i] = o[i].v;
    maps[i] = o[i].map;
  }
  fe_generic *g = fe_generic_begin(l, rank, sizes, n, v, types, maps);
  for (unsigned i = 0; i < n; ++i)
    x[i] = element(l, g, &o[i], i, types[i], rank);
  return fe_generic_end(g, result, fn(l->ir, x, user));
}

MlirValue fe_map1(fe_lower *l, MlirValue v, fe_dtype t, fe_dtype result,
                  fe_element_fn fn, const void *user) {
  MlirValue sizes[FE_MAX_RANK];
  fe_sizes_of(l, v, sizes);
  return fe_pointwise(l, fe_rank(v), sizes, 1, &v, &t, result, fn, user);
}

MlirValue fe_map2(fe_lower *l, MlirValue a, MlirValue b, fe_dtype t,
                  fe_element_fn fn, const void *user) {
  MlirValue sizes[FE_MAX_RANK], in[2] = {a, b};
  fe_dtype types[2] = {t, t};
  fe_sizes_of(l, a, sizes);
  return fe_pointwise(l, fe_rank(a), sizes, 2, in, types, t, fn, user);
}

typedef struct conversion {
  fe_dtype from, to;
} conversion;

static MlirValue convert(fe_ir *ir, const MlirValue *x, const void *user) {
  const conversion *c = user;
  return fe_convert(ir, x[0], fe_compute_type(ir, c->to),
                    fe_dtype_is_unsigned(c->from) || c->from == FE_BOOL,
                    fe_dtype_is_unsigned(c->to));
}

MlirValue fe_to_type(fe_lower *l, MlirValue v, fe_dtype from, fe_dtype to) {
  if (from == to)
    return v;
  conversion c = {from, to};
  return fe_map1(l, v, from, to, convert, &c);
}

fe_dtype fe_work_type(fe_dtype t) {
  return t == FE_F16 || t == FE_BF16 ? FE_F32 : t;
}

MlirValue fe_reduce(fe_lower *l, MlirValue v, fe_dtype t, uint32_t reduced,
                    bool keep, const fe_reduction *r) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(v);
  MlirValue sizes[FE_MAX_RANK];
  fe_sizes_of(l, v, sizes);
  MlirAffineMap id = mlirAffineMapMultiDimIdentityGet(ir->ctx, rank);
  fe_generic *g = fe_generic_begin(l, rank, sizes, 1, &v, &t, &id);
  MlirValue x = fe_arg(g, 0);
  if (r->element)
    x = r->element(ir, &x, r->user);
  MlirType type = mlirValueGetType(x);
  if (!reduced)
    return fe_generic_end(g, r->type, x);
  MlirValue init = fe_type_is_float(type) ? fe_float(ir, type, r->init)
                                          : fe_int(ir, type, r->init_int);
  fe_generic_reduce(g, reduced, keep, r->type, init);
  MlirValue both[2] = {fe_acc(g), x};
  return fe_generic_end(g, r->type, r->combine(ir, both, r->user));
}

//===-- Elements ------------------------------------------------------------//

MlirValue fe_element_add(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_add(ir, x[0], x[1]);
}
MlirValue fe_element_sub(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_sub(ir, x[0], x[1]);
}
MlirValue fe_element_mul(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_mul(ir, x[0], x[1]);
}
MlirValue fe_element_div(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_div(ir, x[0], x[1]);
}
MlirValue fe_element_max(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_max(ir, x[0], x[1]);
}
MlirValue fe_element_square(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_mul(ir, x[0], x[0]);
}
MlirValue fe_element_log(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_math(ir, "log", x[0]);
}
