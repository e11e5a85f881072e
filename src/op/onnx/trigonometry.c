//===- trigonometry.c - Sin to Atanh -----------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each is one function of the math dialect.
//
//===----------------------------------------------------------------------===//
#include "op/scalar.h"

FE_SCALAR_MATH(sine, "sin")
FE_SCALAR_MATH(cosine, "cos")
FE_SCALAR_MATH(tangent, "tan")
FE_SCALAR_MATH(arc_sine, "asin")
FE_SCALAR_MATH(arc_cosine, "acos")
FE_SCALAR_MATH(arc_tangent, "atan")
FE_SCALAR_MATH(hyperbolic_sine, "sinh")
FE_SCALAR_MATH(hyperbolic_cosine, "cosh")
FE_SCALAR_MATH(area_sine, "asinh")
FE_SCALAR_MATH(area_cosine, "acosh")
FE_SCALAR_MATH(area_tangent, "atanh")

const fe_op_row fe_family_trigonometry[] = {
    FE_UNARY("Sin", 7, "float", .scalar = sine),
    FE_UNARY("Cos", 7, "float", .scalar = cosine),
    FE_UNARY("Tan", 7, "float", .scalar = tangent),
    FE_UNARY("Asin", 7, "float", .scalar = arc_sine),
    FE_UNARY("Acos", 7, "float", .scalar = arc_cosine),
    FE_UNARY("Atan", 7, "float", .scalar = arc_tangent),
    FE_UNARY("Sinh", 9, "float", .scalar = hyperbolic_sine),
    FE_UNARY("Cosh", 9, "float", .scalar = hyperbolic_cosine),
    FE_UNARY("Asinh", 9, "float", .scalar = area_sine),
    FE_UNARY("Acosh", 9, "float", .scalar = area_cosine),
    FE_UNARY("Atanh", 9, "float", .scalar = area_tangent),
    {0}};
