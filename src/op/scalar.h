//===- scalar.h - writing the scalar functions of rows -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The signature of `scalar` once, as most functions use half of it.
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_SCALAR_H
#define FE_OP_SCALAR_H

#include "op/op.h"

#define FE_SCALAR(name)                                                        \
  static MlirValue name(fe_ir *ir, MlirOperation op, fe_dtype in,              \
                        fe_dtype out, unsigned n, const MlirValue *x)
#define FE_UNUSED (void)ir, (void)op, (void)in, (void)out, (void)n

/// A pointwise row with operand X and result Y of one type.
#define FE_UNARY(op_name, first, admitted, ...)                                \
  {.name = op_name,                                                            \
   .since = first,                                                             \
   .inputs = "X:T",                                                            \
   .outputs = "Y:T",                                                           \
   .types = "T=" admitted,                                                     \
   .flags = FE_POINTWISE,                                                      \
   __VA_ARGS__}
/// One function of the math dialect.
#define FE_SCALAR_MATH(name, math_op)                                          \
  FE_SCALAR(name) {                                                            \
    FE_UNUSED;                                                                 \
    return fe_math(ir, math_op, x[0]);                                         \
  }

#endif
