//===- expr.c - symbolic contents shared by operator families ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Affine expressions divide towards minus infinity, ONNX integers towards
// zero: divisions are known only where nothing can be negative.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <string.h>

bool fe_dim_nonneg(MlirAffineExpr e) {
  if (mlirAffineExprIsNull(e))
    return false;
  if (mlirAffineExprIsASymbol(e))
    return true;
  if (mlirAffineExprIsAConstant(e))
    return mlirAffineConstantExprGetValue(e) >= 0;
  if (!mlirAffineExprIsABinary(e))
    return false;
  MlirAffineExpr a = mlirAffineBinaryOpExprGetLHS(e);
  MlirAffineExpr b = mlirAffineBinaryOpExprGetRHS(e);
  if (mlirAffineExprIsAMod(e)) // of MLIR: never negative
    return true;
  return fe_dim_nonneg(a) && fe_dim_nonneg(b);
}

bool fe_dim_may_be(MlirAffineExpr e, int64_t n) {
  int64_t known = fe_dim_static(e);
  return known == n || known == FE_DYN;
}

MlirAffineExpr fe_dims_product(fe_ir *ir, const fe_dims *d, unsigned from,
                               unsigned to) {
  MlirAffineExpr e = fe_dim_const(ir, 1);
  for (unsigned i = from; i < to; ++i)
    e = fe_dim_mul(e, d->d[i]);
  return e;
}

const char *fe_dims_text(fe_ir *ir, unsigned n, MlirAffineExpr *e) {
  fe_printed t = {.arena = ir->arena};
  mlirAttributePrint(mlirAffineMapAttrGet(mlirAffineMapGet(
                         ir->ctx, 0, (intptr_t)ir->symbols.n, n, e)),
                     fe_printed_add, &t);
  // Without the list of symbols, which grows.
  const char *arrow = strstr(t.buf.at, "-> "), *end = strrchr(t.buf.at, '>');
  if (!arrow || !end || end <= arrow + 3)
    return t.buf.at;
  return fe_strndup(ir->arena, arrow + 3, (size_t)(end - arrow - 3));
}

/// How the names of symbols begin that are at most `whole`.
static const char *cut_name(fe_ir *ir, MlirAffineExpr whole) {
  return fe_printf(ir->arena, "cut %s by ", fe_dims_text(ir, 1, &whole));
}

MlirAffineExpr fe_cut_dim(fe_ir *ir, MlirAffineExpr whole, unsigned n,
                          MlirAffineExpr *by) {
  const char *name = fe_printf(ir->arena, "%s%s", cut_name(ir, whole),
                               fe_dims_text(ir, n, by));
  return fe_dim_symbol(ir, fe_symbol(ir, name));
}

bool fe_dim_is_cut(fe_ir *ir, MlirAffineExpr e, MlirAffineExpr whole) {
  if (!mlirAffineExprIsASymbol(e))
    return false;
  size_t s = (size_t)mlirAffineSymbolExprGetPosition(e);
  if (s >= ir->symbols.n || strncmp(ir->symbols.at[s], "cut ", 4))
    return false;
  const char *name = cut_name(ir, whole);
  return !strncmp(ir->symbols.at[s], name, strlen(name));
}

unsigned fe_broadcast_element(const fe_dims *to, const fe_dims *from,
                              unsigned i) {
  unsigned at = 0, stride = 1;
  for (unsigned k = 1; k <= from->rank; ++k) {
    unsigned n = (unsigned)fe_dim_static(to->d[to->rank - k]);
    unsigned m = (unsigned)fe_dim_static(from->d[from->rank - k]);
    if (m != 1)
      at += i % n * stride;
    i /= n;
    stride *= m;
  }
  return at;
}

/// `out->dims` and `out->n` are the result's.
static void combine(fe_ir *ir, const fe_contents *a, const fe_contents *b,
                    fe_contents *out, fe_expr_fn fn) {
  for (unsigned i = 0; i < out->n; ++i) {
    MlirAffineExpr x = a->at[fe_broadcast_element(&out->dims, &a->dims, i)];
    MlirAffineExpr y = b->at[fe_broadcast_element(&out->dims, &b->dims, i)];
    out->at[i] = mlirAffineExprIsNull(x) || mlirAffineExprIsNull(y)
                     ? (MlirAffineExpr){0}
                     : fn(ir, x, y);
  }
}

bool fe_contents_binary(fe_ir *ir, MlirOperation op, fe_contents *out,
                        fe_expr_fn fn) {
  fe_contents a, b;
  if (!fe_contents_partial(ir, fe_operand(op, 0), &a) ||
      !fe_contents_partial(ir, fe_operand(op, 1), &b))
    return false;
  combine(ir, &a, &b, out, fn);
  return true;
}

bool fe_contents_first(fe_ir *ir, MlirOperation op, fe_contents *out) {
  fe_dims dims = out->dims;
  unsigned n = out->n;
  if (!fe_contents_partial(ir, fe_operand(op, 0), out) || out->n != n)
    return false;
  out->dims = dims;
  return true;
}

static MlirAffineExpr divide_down(fe_ir *ir, MlirAffineExpr a,
                                  MlirAffineExpr b) {
  (void)ir;
  bool known = fe_dim_nonneg(a) && fe_dim_nonneg(b) && fe_dim_static(b) != 0;
  return known ? fe_dim_floordiv(a, b) : (MlirAffineExpr){0};
}

static MlirAffineExpr divide_up(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b) {
  (void)ir;
  bool known = fe_dim_nonneg(a) && fe_dim_nonneg(b) && fe_dim_static(b) != 0;
  return known ? fe_dim_ceildiv(a, b) : (MlirAffineExpr){0};
}

bool fe_contents_rounded(fe_ir *ir, MlirValue v, bool up, fe_contents *out) {
  MlirOperation op = fe_def(v);
  if (!fe_op_is(op, "onnx.div"))
    return fe_contents_partial(ir, v, out);
  fe_contents a, b;
  if (!fe_contents_partial(ir, fe_operand(op, 0), &a) ||
      !fe_contents_partial(ir, fe_operand(op, 1), &b))
    return false;
  combine(ir, &a, &b, out, up ? divide_up : divide_down);
  return true;
}
