//===- patterns_const.c - constants that only change their shape -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reshapes of constants become constants of the other shape over the same
// data; one element expanded becomes a splat, which costs no memory either.
//
//===----------------------------------------------------------------------===//
#include "pass/rewrite.h"

static bool replace(fe_ir *ir, MlirOperation op, MlirNamedAttribute data) {
  MlirType type = mlirValueGetType(fe_result(op, 0));
  MlirValue v = fe_first(
      FE_OP(ir, "onnx.constant", FE_TYPES(type), .n_attrs = 1, .attrs = &data));
  if (fe_is_null(v))
    return false;
  fe_replace(fe_result(op, 0), v);
  return true;
}

static bool is_static(MlirValue v) {
  MlirType t = mlirValueGetType(v);
  return mlirTypeIsARankedTensor(t) && mlirShapedTypeHasStaticShape(t) &&
         fe_dtype_of_elem(fe_elem_of(v)) != FE_STRING;
}

static bool reshape(fe_ir *ir, MlirOperation op) {
  MlirValue x = fe_operand(op, 0), y = fe_result(op, 0);
  MlirOperation constant = fe_def(x);
  if (!fe_op_is(constant, "onnx.constant") || !is_static(x) || !is_static(y))
    return false;
  if (fe_has_attr(constant, "blob"))
    return replace(ir, op, fe_named(ir, "blob", fe_attr(constant, "blob")));
  MlirAttribute a = fe_attr(constant, "value");
  if (!mlirAttributeIsADenseElements(a))
    return false;
  MlirAttribute b = mlirDenseElementsAttrReshapeGet(a, mlirValueGetType(y));
  return replace(ir, op, fe_named(ir, "value", b));
}

/// Splats are written out by whoever reads them: not without limit.
#define MAX_EXPANDED (INT64_C(1) << 27)

static bool expand(fe_ir *ir, MlirOperation op) {
  MlirValue x = fe_operand(op, 0), y = fe_result(op, 0);
  MlirOperation constant = fe_def(x);
  if (!fe_op_is(constant, "onnx.constant") || !is_static(x) || !is_static(y))
    return false;
  MlirAttribute a = fe_attr(constant, "value");
  int64_t count = 1;
  for (unsigned i = 0; i < fe_rank(y); ++i)
    if (__builtin_mul_overflow(count, fe_static_dim(y, i), &count) ||
        count > MAX_EXPANDED)
      return false;
  if (mlirAttributeIsNull(a) || !mlirAttributeIsADenseElements(a) ||
      !mlirDenseElementsAttrIsSplat(a))
    return false;
  MlirAttribute b = mlirDenseElementsAttrSplatGet(
      mlirValueGetType(y), mlirDenseElementsAttrGetSplatValue(a));
  return replace(ir, op, fe_named(ir, "value", b));
}

const fe_pattern fe_patterns_const[] = {
    {"onnx.reshape", reshape, "reshaped constants"},
    {"onnx.flatten", reshape, "reshaped constants"},
    {"onnx.squeeze", reshape, "reshaped constants"},
    {"onnx.unsqueeze", reshape, "reshaped constants"},
    {"onnx.expand", expand, "expanded constants"},
    {0}};
