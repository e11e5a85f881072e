//===- block_product.h - products with weights of few bits -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_BLOCK_PRODUCT_H
#define FE_BLOCK_PRODUCT_H

#include "op/op.h"

/// Constant weights [n][k] of (number - zero) * scale, where number has 2, 4
/// or 8 bits, and `size` of them along k share zero and scale.
typedef struct fe_blocks {
  int64_t n, k, size;
  unsigned bits;
  const void *user; // of the functions
  unsigned (*number)(const void *user, int64_t row, int64_t at);
  double (*scale)(const void *user, int64_t row, int64_t block);
  double (*zero)(const void *user, int64_t row, int64_t block);
} fe_blocks;

/// Whether blocks of this size can be packed.
bool fe_blocks_pack(const fe_blocks *b);
/// a [.., k] in f32 by the weights: [.., n]. The weights stay packed.
MlirValue fe_block_product(fe_ir *ir, MlirValue a, const fe_blocks *b);

#endif
