//===- fourier64.c - fast Fourier transforms of f64 ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#define REAL double
#define PART fe_rt_fourier64_
#include "fourier_part.h"
