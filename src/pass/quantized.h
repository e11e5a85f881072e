//===- quantized.h - convolutions of integers --------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_QUANTIZED_H
#define FE_QUANTIZED_H

#include "op/op.h"

/// A ConvInteger or QLinearConv whose weights and parameters are constant.
typedef struct fe_q_conv {
  MlirOperation op;
  MlirValue x;
  bool linear; // QLinearConv: bias, factor and zero count
  bool is_signed;
  double x_zero;
  fe_dims d; // of the weights
  int64_t dims[FE_MAX_RANK];
  const float *weights; // minus their zero points, whole numbers
  const int32_t *bias;  // NULL: none
  const float *factor;  // n_factors: 1, or one per filter
  int64_t n_factors;
  fe_dtype type; // of the result
  double y_zero;
} fe_q_conv;
bool fe_q_conv_read(fe_ir *ir, MlirOperation op, fe_q_conv *out);

#endif
