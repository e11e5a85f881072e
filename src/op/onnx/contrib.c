//===- contrib.c - ONNX Runtime's quantized products -------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products of integers whose result is in floats, rewritten at import
// into operators of the standard.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"

/// MatMulInteger of a and b, times both scales, plus bias.
static MlirValue scaled_product(fe_ir *ir, const MlirValue in[4],
                                MlirValue a_scale, MlirValue b_scale,
                                MlirValue bias) {
  MlirValue v = fe_first(fe_onnx(ir, "MatMulInteger", 4, in, 1, 0, NULL));
  v = fe_x_cast(ir, v, fe_x_type(b_scale));
  v = FE_X(ir, "Mul", v, FE_X(ir, "Mul", a_scale, b_scale));
  return fe_x_plus(ir, v, bias);
}

static fe_status expand_integer_to_float(fe_node *n, MlirValue *results) {
  if (fe_node_require(n, 4))
    return FE_FAILED;
  const MlirValue in[4] = {fe_node_in(n, 0), fe_node_in(n, 1), fe_node_in(n, 4),
                           fe_node_in(n, 5)};
  return fe_node_done(scaled_product(n->ir, in, fe_node_in(n, 2),
                                     fe_node_in(n, 3), fe_node_in(n, 6)),
                      results);
}

static fe_status expand_dynamic_product(fe_node *n, MlirValue *results) {
  if (fe_node_require(n, 3))
    return FE_FAILED;
  MlirValue a = fe_node_in(n, 0), q[3] = {{0}};
  if (fe_node_over(n, "DynamicQuantizeLinear", 1, &a, 3, q))
    return FE_FAILED;
  const MlirValue in[4] = {q[0], fe_node_in(n, 1), q[2], fe_node_in(n, 3)};
  return fe_node_done(
      scaled_product(n->ir, in, q[1], fe_node_in(n, 2), fe_node_in(n, 4)),
      results);
}

const fe_op_row fe_family_contrib[] = {
    FE_MS_ROW("MatMulIntegerToFloat",
              "A:T1, B:T2, a_scale:T3, b_scale:T3, a_zero_point?:T1, "
              "b_zero_point?:T2, bias?:T3",
              "Y:T3", "T1=i8,u8;T2=i8,u8;T3=f32,f16", expand_integer_to_float,
              .attrs = NULL,
              .sizes = "B:_ n, b_scale:n?, b_zero_point:n?, bias:n"),
    FE_MS_ROW("DynamicQuantizeMatMul",
              "A:T1, B:T2, b_scale:T1, b_zero_point?:T2, bias?:T1", "Y:T1",
              "T1=f32;T2=i8,u8", expand_dynamic_product, .attrs = NULL,
              .sizes = "B:_ n, b_scale:n?, b_zero_point:n?, bias:n"),
    {0}};
