//===- patterns_quantized.c - what quantized models are made of -----------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products with constant weights that DequantizeLinear makes of blocks keep the
// weights as they are: BlockProduct.
//
//===----------------------------------------------------------------------===//
#include "op/block_product.h"
#include "op/compose.h"
#include "pass/rewrite.h"

#include <math.h>

static bool present(MlirValue v) {
  return !fe_is_null(v) && !mlirTypeIsANone(mlirValueGetType(v));
}

/// Blocks along k of weights [k][n], or [n][k] when `across`.
typedef struct block_weights {
  fe_const data, scales, zeros;
  int64_t n, k, blocks;
  bool across, has_zeros;
} block_weights;

/// The smallest number of the type, which is stored as 0.
static double lowest(const block_weights *b) {
  return fe_dtype_is_unsigned(b->data.dtype)
             ? 0
             : -ldexp(1, (int)fe_dtype_bits(b->data.dtype) - 1);
}

static unsigned block_number(const void *user, int64_t row, int64_t at) {
  const block_weights *b = user;
  int64_t i = b->across ? row * b->k + at : at * b->n + row;
  return (unsigned)((double)fe_const_i64(&b->data, i) - lowest(b));
}

static double block_scale(const void *user, int64_t row, int64_t block) {
  const block_weights *b = user;
  return fe_const_f64(&b->scales,
                      b->across ? row * b->blocks + block : block * b->n + row);
}

static double block_zero(const void *user, int64_t row, int64_t block) {
  const block_weights *b = user;
  int64_t i = b->across ? row * b->blocks + block : block * b->n + row;
  return (b->has_zeros ? (double)fe_const_i64(&b->zeros, i) : 0) - lowest(b);
}

static bool block_matmul(fe_ir *ir, MlirOperation op) {
  MlirOperation def = fe_def(fe_operand(op, 1));
  block_weights b = {0};
  if (!mlirOperationIsNull(def) && fe_op_is(def, "onnx.transpose")) {
    b.across = true;
    def = fe_def(fe_operand(def, 0));
  }
  if (mlirOperationIsNull(def) || !fe_op_is(def, "onnx.dequantize_linear"))
    return false;
  MlirValue w = fe_result(def, 0), zeros = fe_operand(def, 2);
  int64_t size = fe_attr_i64(def, "block_size", 0), axis = b.across ? 1 : 0;
  int64_t given = fe_attr_i64(def, "axis", 1);
  fe_dims d;
  b.has_zeros = present(zeros);
  // Every transpose of rank 2 that is left is one.
  if (!fe_dims_of(ir, w, &d) || d.rank != 2 || size <= 0 ||
      (given < 0 ? given + 2 : given) != axis ||
      fe_dtype_of_elem(fe_elem_of(w)) != FE_F32 ||
      !fe_const_of(ir, fe_operand(def, 0), &b.data) ||
      !fe_const_of(ir, fe_operand(def, 1), &b.scales) ||
      (b.has_zeros && !fe_const_of(ir, zeros, &b.zeros)))
    return false;
  unsigned bits = fe_dtype_bits(b.data.dtype);
  b.k = fe_dim_static(d.d[axis]);
  b.n = fe_dim_static(d.d[1 - axis]);
  b.blocks = (b.k + size - 1) / size;
  fe_blocks packed = {b.n, b.k,          size,        bits,
                      &b,  block_number, block_scale, block_zero};
  if (!fe_dtype_is_int(b.data.dtype) || (bits != 2 && bits != 4 && bits != 8) ||
      b.scales.count != b.blocks * b.n || !fe_blocks_pack(&packed))
    return false;
  return fe_pattern_replace(op,
                            fe_block_product(ir, fe_operand(op, 0), &packed));
}

const fe_pattern fe_patterns_quantized[] = {
    {"onnx.mat_mul", block_matmul, "weights of few bits stay packed"}, {0}};
