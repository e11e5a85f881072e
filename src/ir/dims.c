//===- dims.c - symbolic dimensions ------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dims are MLIR affine expressions over symbols, uniqued in the context, so
// equality is pointer equality once simplified. MLIR simplifies sums and
// divisions by constants; products of symbols, as reshapes make them, are
// cancelled here: (s0 * s1 * 12) floordiv (s1 * 3) is s0 * 4. A symbol is
// taken to be positive for that.
//
// All functions accept null expressions and give null for them, and for
// results that do not exist (overflow, division by a constant below 1).
//
//===----------------------------------------------------------------------===//
#include "ir/ir.h"

static const MlirAffineExpr null_expr = {0};

static bool is_null(MlirAffineExpr e) { return mlirAffineExprIsNull(e); }

static bool is_const(MlirAffineExpr e, int64_t *v) {
  if (is_null(e) || !mlirAffineExprIsAConstant(e))
    return false;
  *v = mlirAffineConstantExprGetValue(e);
  return true;
}

/// One more than the highest symbol in `e`.
static unsigned n_symbols(MlirAffineExpr e) {
  if (is_null(e))
    return 0;
  if (mlirAffineExprIsASymbol(e))
    return (unsigned)mlirAffineSymbolExprGetPosition(e) + 1;
  if (!mlirAffineExprIsABinary(e))
    return 0;
  unsigned l = n_symbols(mlirAffineBinaryOpExprGetLHS(e));
  unsigned r = n_symbols(mlirAffineBinaryOpExprGetRHS(e));
  return l > r ? l : r;
}

static MlirAffineExpr simplify(MlirAffineExpr e) {
  return is_null(e) ? e : mlirSimplifyAffineExpr(e, 0, n_symbols(e));
}

//===-- Products ------------------------------------------------------------//

#define MAX_FACTORS 32

typedef struct product {
  int64_t factor;
  unsigned n;
  MlirAffineExpr at[MAX_FACTORS];
} product;

/// Splits nested multiplications; false when there are too many factors.
static bool split(MlirAffineExpr e, product *p) {
  int64_t v;
  if (is_const(e, &v))
    return !__builtin_mul_overflow(p->factor, v, &p->factor);
  if (mlirAffineExprIsAMul(e))
    return split(mlirAffineBinaryOpExprGetLHS(e), p) &&
           split(mlirAffineBinaryOpExprGetRHS(e), p);
  if (p->n == MAX_FACTORS)
    return false;
  p->at[p->n++] = e;
  return true;
}

static MlirAffineExpr join(MlirContext ctx, const product *p) {
  MlirAffineExpr e = null_expr;
  for (unsigned i = 0; i < p->n; i++)
    e = is_null(e) ? p->at[i] : mlirAffineMulExprGet(e, p->at[i]);
  MlirAffineExpr factor = mlirAffineConstantExprGet(ctx, p->factor);
  return is_null(e) ? factor : mlirAffineMulExprGet(e, factor);
}

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}

/// Removes what a and b have in common as factors.
static void cancel(MlirAffineExpr *a, MlirAffineExpr *b) {
  product p = {.factor = 1}, q = {.factor = 1};
  if (!split(*a, &p) || !split(*b, &q) || q.n == 0 || p.factor == INT64_MIN ||
      q.factor == INT64_MIN)
    return;
  bool changed = false;
  for (unsigned i = 0; i < q.n;) {
    unsigned k = 0;
    while (k < p.n && !mlirAffineExprEqual(p.at[k], q.at[i]))
      k++;
    if (k == p.n) {
      i++;
      continue;
    }
    p.at[k] = p.at[--p.n];
    q.at[i] = q.at[--q.n];
    changed = true;
  }
  int64_t g = gcd(p.factor, q.factor);
  if (!changed || g == 0)
    return;
  p.factor /= g;
  q.factor /= g;
  MlirContext ctx = mlirAffineExprGetContext(*a);
  *a = join(ctx, &p);
  *b = join(ctx, &q);
}

/// Order of factors and terms does not matter for equality: a canonical form
/// of products sorts symbols by number.
static MlirAffineExpr sort_product(MlirAffineExpr e) {
  product p = {.factor = 1};
  if (!mlirAffineExprIsAMul(e) || !split(e, &p) || p.n < 2)
    return e;
  for (unsigned i = 1; i < p.n; i++)
    for (unsigned k = i; k > 0; k--) {
      MlirAffineExpr x = p.at[k - 1], y = p.at[k];
      bool swap = mlirAffineExprIsASymbol(y) &&
                  (!mlirAffineExprIsASymbol(x) ||
                   mlirAffineSymbolExprGetPosition(x) >
                       mlirAffineSymbolExprGetPosition(y));
      if (!swap)
        break;
      p.at[k - 1] = y;
      p.at[k] = x;
    }
  return join(mlirAffineExprGetContext(e), &p);
}

//===-- Arithmetic ----------------------------------------------------------//

MlirAffineExpr fe_dim_const(fe_ir *ir, int64_t v) {
  return mlirAffineConstantExprGet(ir->ctx, v);
}

MlirAffineExpr fe_dim_symbol(fe_ir *ir, unsigned s) {
  return mlirAffineSymbolExprGet(ir->ctx, s);
}

int64_t fe_dim_static(MlirAffineExpr e) {
  int64_t v;
  return is_const(e, &v) ? v : FE_DYN;
}

bool fe_dim_same(MlirAffineExpr a, MlirAffineExpr b) {
  return !is_null(a) && !is_null(b) && mlirAffineExprEqual(a, b);
}

MlirAffineExpr fe_dim_add(MlirAffineExpr a, MlirAffineExpr b) {
  int64_t x, y, r;
  if (is_null(a) || is_null(b))
    return null_expr;
  if (is_const(a, &x) && is_const(b, &y))
    return __builtin_add_overflow(x, y, &r)
               ? null_expr
               : mlirAffineConstantExprGet(mlirAffineExprGetContext(a), r);
  return simplify(mlirAffineAddExprGet(a, b));
}

MlirAffineExpr fe_dim_sub(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b) {
  if (fe_dim_same(a, b))
    return fe_dim_const(ir, 0);
  return fe_dim_add(a, fe_dim_mul(b, fe_dim_const(ir, -1)));
}

MlirAffineExpr fe_dim_mul(MlirAffineExpr a, MlirAffineExpr b) {
  int64_t x, y, r;
  if (is_null(a) || is_null(b))
    return null_expr;
  if (is_const(a, &x) && is_const(b, &y))
    return __builtin_mul_overflow(x, y, &r)
               ? null_expr
               : mlirAffineConstantExprGet(mlirAffineExprGetContext(a), r);
  return sort_product(simplify(mlirAffineMulExprGet(a, b)));
}

static MlirAffineExpr divide(MlirAffineExpr a, MlirAffineExpr b, bool up) {
  int64_t x, y;
  if (is_null(a) || is_null(b))
    return null_expr;
  cancel(&a, &b);
  if (is_const(b, &y)) {
    if (y < 1)
      return null_expr;
    if (is_const(a, &x)) {
      int64_t q = x / y, rest = x % y;
      if (rest != 0 && up == (x > 0))
        q += up ? 1 : -1;
      return mlirAffineConstantExprGet(mlirAffineExprGetContext(a), q);
    }
  }
  return sort_product(simplify(up ? mlirAffineCeilDivExprGet(a, b)
                                  : mlirAffineFloorDivExprGet(a, b)));
}

MlirAffineExpr fe_dim_floordiv(MlirAffineExpr a, MlirAffineExpr b) {
  return divide(a, b, false);
}

MlirAffineExpr fe_dim_ceildiv(MlirAffineExpr a, MlirAffineExpr b) {
  return divide(a, b, true);
}

MlirAffineExpr fe_dim_mod(MlirAffineExpr a, MlirAffineExpr b) {
  int64_t x, y;
  if (is_null(a) || is_null(b))
    return null_expr;
  MlirContext ctx = mlirAffineExprGetContext(a);
  if (is_const(b, &y)) {
    if (y < 1)
      return null_expr;
    if (is_const(a, &x))
      return mlirAffineConstantExprGet(ctx, (x % y + y) % y);
  }
  MlirAffineExpr p = a, q = b;
  cancel(&p, &q);
  if (is_const(q, &y) && y == 1)
    return mlirAffineConstantExprGet(ctx, 0);
  return simplify(mlirAffineModExprGet(a, b));
}

//===-- Tensor types --------------------------------------------------------//

MlirType fe_tensor_type(fe_ir *ir, MlirType elem, const fe_dims *dims) {
  MlirType none = {0};
  int64_t shape[FE_MAX_RANK];
  MlirAffineExpr exprs[FE_MAX_RANK];
  unsigned symbols = 0;
  bool is_static = true;
  if (mlirTypeIsNull(elem) || dims->rank > FE_MAX_RANK) {
    fe_ir_fail(ir, "malformed tensor type");
    return none;
  }
  for (unsigned i = 0; i < dims->rank; i++) {
    if (is_null(dims->d[i])) {
      fe_ir_fail(ir, "malformed tensor type: dim %u is null", i);
      return none;
    }
    exprs[i] = dims->d[i];
    shape[i] = fe_dim_static(dims->d[i]);
    is_static = is_static && shape[i] != FE_DYN;
    unsigned n = n_symbols(dims->d[i]);
    symbols = n > symbols ? n : symbols;
  }
  if (is_static)
    return fe_tensor_plain(ir, elem, dims->rank, shape);
  for (unsigned i = 0; i < dims->rank; i++)
    if (shape[i] < 0 && shape[i] != FE_DYN) {
      fe_ir_fail(ir, "malformed tensor type: dim %u is negative", i);
      return none;
    }
  MlirAffineMap map = mlirAffineMapGet(ir->ctx, 0, symbols, dims->rank, exprs);
  MlirType t = mlirRankedTensorTypeGetChecked(ir->loc, dims->rank, shape, elem,
                                              mlirAffineMapAttrGet(map));
  if (mlirTypeIsNull(t))
    fe_ir_fail(ir, "malformed tensor type");
  return t;
}

MlirType fe_tensor_static(fe_ir *ir, MlirType elem, unsigned rank,
                          const int64_t *dims) {
  for (unsigned i = 0; i < rank; i++)
    if (dims[i] < 0) {
      fe_ir_fail(ir, "malformed static tensor type");
      return (MlirType){0};
    }
  return fe_tensor_plain(ir, elem, rank, dims);
}

bool fe_dims_of(fe_ir *ir, MlirValue v, fe_dims *out) {
  *out = (fe_dims){0};
  if (mlirValueIsNull(v))
    return false;
  MlirType t = mlirValueGetType(v);
  if (!mlirTypeIsARankedTensor(t) || fe_rank(v) > FE_MAX_RANK)
    return false;
  out->rank = fe_rank(v);
  MlirAttribute encoding = mlirRankedTensorTypeGetEncoding(t);
  MlirAffineMap map = {0};
  if (!mlirAttributeIsNull(encoding) && mlirAttributeIsAAffineMap(encoding)) {
    map = mlirAffineMapAttrGetValue(encoding);
    if (mlirAffineMapGetNumResults(map) != out->rank)
      map = (MlirAffineMap){0};
  }
  for (unsigned i = 0; i < out->rank; i++) {
    int64_t size = fe_static_dim(v, i);
    if (size != FE_DYN)
      out->d[i] = fe_dim_const(ir, size);
    else if (!mlirAffineMapIsNull(map))
      out->d[i] = mlirAffineMapGetResult(map, i);
  }
  return true;
}
