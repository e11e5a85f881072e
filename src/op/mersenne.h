//===- mersenne.h - the random numbers of a seed -----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_MERSENNE_H
#define FE_OP_MERSENNE_H

#include "op/op.h"

/// A flat f64 tensor of `count` numbers of the generator: uniform in [0, 1), or
/// normally distributed. In main.
MlirValue fe_mersenne_numbers(fe_lower *l, uint32_t seed, bool is_normal,
                              MlirValue count);

#endif
