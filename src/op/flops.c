//===- flops.c - how much an op computes ----------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "op/flops.h"

#include <string.h>

int64_t fe_dim_evaluate(MlirAffineExpr e, const int64_t *symbols,
                        unsigned n_symbols) {
  if (mlirAffineExprIsAConstant(e))
    return mlirAffineConstantExprGetValue(e);
  if (mlirAffineExprIsASymbol(e)) {
    intptr_t s = mlirAffineSymbolExprGetPosition(e);
    return s < (intptr_t)n_symbols ? symbols[s] : 1;
  }
  if (!mlirAffineExprIsABinary(e))
    return 1;
  int64_t a = fe_dim_evaluate(mlirAffineBinaryOpExprGetLHS(e), symbols,
                              n_symbols),
          b = fe_dim_evaluate(mlirAffineBinaryOpExprGetRHS(e), symbols,
                              n_symbols);
  if (mlirAffineExprIsAAdd(e))
    return a + b;
  if (mlirAffineExprIsAMul(e))
    return a * b;
  if (b <= 0)
    return 1;
  int64_t q = a / b - (a % b < 0);
  if (mlirAffineExprIsAFloorDiv(e))
    return q;
  if (mlirAffineExprIsACeilDiv(e))
    return q + (a % b != 0);
  return a - q * b;
}

typedef struct fe_sizes {
  unsigned rank;
  double d[FE_MAX_RANK], count;
} fe_sizes;

static bool sizes_of(fe_ir *ir, MlirValue v, const int64_t *symbols,
                     unsigned n_symbols, fe_sizes *out) {
  fe_dims d;
  if (fe_is_null(v) || !fe_dims_of(ir, v, &d))
    return false;
  out->rank = d.rank;
  out->count = 1;
  for (unsigned i = 0; i < d.rank; i++) {
    out->d[i] = (double)fe_dim_evaluate(d.d[i], symbols, n_symbols);
    out->count *= out->d[i];
  }
  return true;
}

/// What is multiplied per element of the result, by kind of op.
typedef enum fe_flops_kind {
  PER_WEIGHT,    // weights (operand 1) of one output channel
  PER_INPUT,     // transposed: every input element meets operand 1's [1:]
  PER_INNER,     // last dim of operand 0
  PER_INNER_GEMM // the same, minding transA
} fe_flops_kind;

static const struct {
  const char *op;
  fe_flops_kind kind;
} products[] = {
    {"onnx.conv", PER_WEIGHT},
    {"onnx.conv_integer", PER_WEIGHT},
    {"onnx.q_linear_conv", PER_WEIGHT},
    {"onnx.conv_transpose", PER_INPUT},
    {"onnx.mat_mul", PER_INNER},
    {"onnx.mat_mul_integer", PER_INNER},
    {"onnx.q_linear_mat_mul", PER_INNER},
    {"onnx.gemm", PER_INNER_GEMM},
};

/// Ops that only move data.
static const char *const movement[] = {
    "onnx.constant",
    "onnx.none",
    "onnx.reshape",
    "onnx.transpose",
    "onnx.concat",
    "onnx.slice",
    "onnx.split",
    "onnx.gather",
    "onnx.shape",
    "onnx.squeeze",
    "onnx.unsqueeze",
    "onnx.flatten",
    "onnx.expand",
    "onnx.tile",
    "onnx.pad",
    "onnx.size",
    "onnx.constant_of_shape",
    "onnx.range",
};

double fe_op_flops(fe_ir *ir, MlirOperation op, const int64_t *symbols,
                   unsigned n_symbols) {
  for (size_t i = 0; i < FE_COUNT(movement); i++)
    if (fe_op_is(op, movement[i]))
      return 0;
  fe_sizes out, a, b;
  if (!fe_op_in(op, "onnx") ||
      !sizes_of(ir, fe_result(op, 0), symbols, n_symbols, &out))
    return 0;
  for (size_t i = 0; i < FE_COUNT(products); i++) {
    if (!fe_op_is(op, products[i].op))
      continue;
    if (!sizes_of(ir, fe_operand(op, 0), symbols, n_symbols, &a) ||
        !sizes_of(ir, fe_operand(op, 1), symbols, n_symbols, &b) || !a.rank)
      return 0;
    switch (products[i].kind) {
    case PER_WEIGHT:
      return b.rank && b.d[0] > 0 ? 2 * out.count * b.count / b.d[0] : 0;
    case PER_INPUT:
      return b.rank && b.d[0] > 0 ? 2 * a.count * b.count / b.d[0] : 0;
    case PER_INNER:
      return 2 * out.count * a.d[a.rank - 1];
    case PER_INNER_GEMM:
      return 2 * out.count * a.d[fe_attr_i64(op, "transA", 0) ? 0 : a.rank - 1];
    }
  }
  // what shrinks (reductions, pooling) looks at every input element
  return sizes_of(ir, fe_operand(op, 0), symbols, n_symbols, &a) &&
                 a.count > out.count
             ? a.count
             : out.count;
}
