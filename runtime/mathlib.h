//===- mathlib.h - the math library linked into models --------------*- C
//-*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emit replaces calls of LLVM's math intrinsics and of libm's functions by
// these. They are inlined, and vectorized with the loop around them.
//
//===----------------------------------------------------------------------===//
#ifndef FE_MATHLIB_H
#define FE_MATHLIB_H

float fe_expf(float x);
float fe_exp2f(float x);
float fe_exp10f(float x);
float fe_expm1f(float x);
float fe_logf(float x);
float fe_log2f(float x);
float fe_log10f(float x);
float fe_log1pf(float x);
float fe_powf(float x, float y);
float fe_tanhf(float x);
float fe_erff(float x);
float fe_sinf(float x);
float fe_cosf(float x);
float fe_tanf(float x);

#endif
