//===- fourier32.c - fast Fourier transforms of f32 ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#define REAL float
#define PART fe_rt_fourier32_
#include "fourier_part.h"
