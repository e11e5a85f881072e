//===- patterns_basic.c - identities and data movement --------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pass/rewrite.h"

/// Where the types are the same.
static bool forward_operand(fe_ir *ir, MlirOperation op) {
  (void)ir;
  return fe_n_uses(fe_result(op, 0)) &&
         fe_pattern_replace(op, fe_operand(op, 0));
}

/// reshape(reshape(x)) keeps the last shape only.
static bool reshape_of_reshape(fe_ir *ir, MlirOperation op) {
  MlirOperation inner = fe_def(fe_operand(op, 0));
  static const char *const movers[] = {"onnx.reshape", "onnx.flatten",
                                       "onnx.squeeze", "onnx.unsqueeze"};
  for (size_t i = 0; i < FE_COUNT(movers); i++) {
    if (!fe_op_is(inner, movers[i]))
      continue;
    // a 0 in the shape means "as in the input", so the input must stay
    int64_t shape[FE_MAX_RANK];
    int n = fe_const_ints(ir, fe_operand(op, 1), shape, FE_MAX_RANK);
    for (int k = 0; k < n; k++)
      if (shape[k] == 0)
        return false;
    if (n < 0)
      return false;
    mlirOperationSetOperand(op, 0, fe_operand(inner, 0));
    return true;
  }
  return false;
}

static bool is_identity(unsigned n, const int64_t *perm) {
  for (unsigned i = 0; i < n; i++)
    if (perm[i] != (int64_t)i)
      return false;
  return true;
}

/// Transposes that change nothing go; two in a row become one.
static bool transpose(fe_ir *ir, MlirOperation op) {
  int64_t perm[FE_MAX_RANK], first[FE_MAX_RANK], both[FE_MAX_RANK];
  unsigned n = fe_attr_i64s(op, "perm", perm, FE_MAX_RANK);
  if (n && is_identity(n, perm))
    return forward_operand(ir, op);
  MlirOperation inner = fe_def(fe_operand(op, 0));
  if (!n || !fe_op_is(inner, "onnx.transpose") ||
      fe_attr_i64s(inner, "perm", first, FE_MAX_RANK) != n)
    return false;
  for (unsigned i = 0; i < n; i++)
    both[i] = first[perm[i]];
  MlirValue x = fe_operand(inner, 0);
  MlirNamedAttribute a = fe_at_i64s(ir, "perm", n, both);
  fe_replace(fe_result(op, 0),
             fe_first(fe_onnx(ir, "Transpose", 1, &x, 1, 1, &a)));
  return true;
}

const fe_pattern fe_patterns_basic[] = {
    {"onnx.identity", forward_operand, "identity"},
    {"onnx.cast", forward_operand, "cast to the same type"},
    {"onnx.reshape", forward_operand, "reshape to the same shape"},
    {"onnx.reshape", reshape_of_reshape, "reshape of a reshape"},
    {"onnx.transpose", transpose, "transposes"},
    {0}};
