//===- contents.c - what is known of small integer tensors -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: shape computations (Shape, Gather, Concat, arithmetic) are evaluated
// backwards from the value asked for, over affine expressions, by the
// `contents` functions of the rows. A value with several uses is evaluated
// once per question: results lie in fe_ir's memo until the outermost call
// ends, as the IR does not change meanwhile. Too deep a chain counts as
// unknown, which is always right.
//
//===----------------------------------------------------------------------===//
#include "op/op.h"

#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 200 };

static bool of_constant(fe_ir *ir, MlirValue v, fe_contents *out) {
  fe_const c;
  if (!fe_const_of(ir, v, &c) || c.count > FE_MAX_CONTENTS)
    return false;
  bool is_float = fe_dtype_is_float(c.dtype);
  if (!is_float && !fe_dtype_is_int(c.dtype) && c.dtype != FE_BOOL)
    return false;
  out->n = (unsigned)c.count;
  for (unsigned i = 0; i < out->n; ++i) {
    if (is_float) {
      double x = fe_const_f64(&c, i);
      if (x != floor(x) || fabs(x) > 0x1p53)
        return false;
    }
    out->at[i] = fe_dim_const(ir, fe_const_i64(&c, i));
  }
  return true;
}

static bool evaluate(fe_ir *ir, MlirValue v, fe_contents *out) {
  MlirOperation op = fe_def(v);
  if (mlirOperationIsNull(op) || !fe_dims_of(ir, v, &out->dims))
    return false;
  int64_t count = 1;
  for (unsigned i = 0; i < out->dims.rank; ++i) {
    int64_t n = fe_dim_static(out->dims.d[i]);
    if (n == FE_DYN || n > FE_MAX_CONTENTS || count * n > FE_MAX_CONTENTS)
      return false;
    count *= n;
  }
  out->n = (unsigned)count;
  if (fe_op_is(op, "onnx.constant"))
    return of_constant(ir, v, out);
  const fe_op_row *row = fe_op_row_of(op);
  if (!row || !row->contents || !fe_same(fe_result(op, 0), v))
    return false;
  return row->contents(ir, op, out);
}

typedef struct memo {
  bool known;
  unsigned n;
  fe_dims dims;
  MlirAffineExpr at[];
} memo;

bool fe_contents_partial(fe_ir *ir, MlirValue v, fe_contents *out) {
  if (fe_is_null(v) || ir->contents_depth >= MAX_DEPTH)
    return false;
  if (!ir->contents_depth)
    ir->contents_memo = (fe_map){0};
  bool shared = mlirOperationIsNull(fe_def(v)) ? false : fe_n_uses(v) > 1;
  if (shared) {
    memo *m = fe_map_get_ptr(&ir->contents_memo, v.ptr);
    if (m) {
      out->n = m->n;
      out->dims = m->dims;
      memcpy(out->at, m->at, m->n * sizeof *m->at);
      return m->known;
    }
  }
  ++ir->contents_depth;
  bool known = evaluate(ir, v, out);
  --ir->contents_depth;
  if (shared && ir->contents_depth) {
    unsigned n = known ? out->n : 0;
    memo *m = fe_alloc(ir->arena, sizeof *m + n * sizeof *m->at);
    m->known = known;
    m->n = n;
    m->dims = out->dims;
    memcpy(m->at, out->at, n * sizeof *m->at);
    fe_map_set_ptr(ir->arena, &ir->contents_memo, v.ptr, m);
  }
  return known;
}

bool fe_contents_of(fe_ir *ir, MlirValue v, fe_contents *out) {
  if (!fe_contents_partial(ir, v, out))
    return false;
  for (unsigned i = 0; i < out->n; ++i)
    if (mlirAffineExprIsNull(out->at[i]))
      return false;
  return true;
}

int fe_const_ints(fe_ir *ir, MlirValue v, int64_t *out, unsigned cap) {
  fe_const c;
  if (fe_const_of(ir, v, &c)) {
    if (!fe_dtype_is_int(c.dtype) && c.dtype != FE_BOOL)
      return -1;
    for (int64_t i = 0; i < c.count && i < cap; ++i)
      out[i] = fe_const_i64(&c, i);
    return c.count > INT32_MAX ? -1 : (int)c.count;
  }
  fe_contents known;
  if (!fe_contents_of(ir, v, &known))
    return -1;
  for (unsigned i = 0; i < known.n; ++i) {
    int64_t n = fe_dim_static(known.at[i]);
    if (n == FE_DYN)
      return -1;
    if (i < cap)
      out[i] = n;
  }
  return (int)known.n;
}

/// Whether the type says that v may be one element. Asked first: patterns ask
/// for scalars in long chains of what is none.
static bool may_be_scalar(MlirValue v) {
  MlirType t = fe_is_null(v) ? (MlirType){0} : mlirValueGetType(v);
  if (mlirTypeIsNull(t) || !mlirTypeIsARankedTensor(t))
    return true;
  for (int64_t i = 0; i < mlirShapedTypeGetRank(t); ++i)
    if (!mlirShapedTypeIsDynamicDim(t, i) &&
        mlirShapedTypeGetDimSize(t, i) != 1)
      return false;
  return true;
}

bool fe_const_scalar(fe_ir *ir, MlirValue v, double *out) {
  fe_const c;
  if (!may_be_scalar(v))
    return false;
  if (fe_const_of(ir, v, &c)) {
    bool numeric = fe_dtype_is_float(c.dtype) || fe_dtype_is_int(c.dtype) ||
                   c.dtype == FE_BOOL;
    if (c.count != 1 || !numeric)
      return false;
    *out = fe_const_f64(&c, 0);
    return true;
  }
  int64_t n;
  if (fe_const_ints(ir, v, &n, 1) != 1)
    return false;
  *out = (double)n;
  return true;
}
