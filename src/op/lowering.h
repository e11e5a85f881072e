//===- lowering.h - state shared by the lowering helpers ---------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What fe_lower.state points to: one per function being lowered, filled in by
// src/pass/lower.c and used where lowering makes tensors, kernels and calls.
//
//===----------------------------------------------------------------------===//
#ifndef FE_LOWERING_H
#define FE_LOWERING_H

#include "op/op.h"

typedef struct fe_lowering {
  fe_ir *ir;
  MlirModule module;
  MlirBlock entry;        // of the new main
  unsigned n_symbols;     // named in onnx.symbols
  MlirValue *symbols;     // bound at entry: index value; null: fresh
  MlirValue *local;       // of fresh ones, where a tensor in scope has it
  MlirOperation prologue; // dims are computed before this op of the entry
  fe_map entry_dims;      // affine expr -> index value in the entry block
  fe_map sizes;           // lowered tensor -> MlirValue[rank]
  unsigned n_kernels;
  bool bf16;      // operands of products may be rounded to it
  bool strict;    // nor may weights be stored in fewer bits
  fe_map rounded; // first operand of a product -> see half_product.c
} fe_lowering;

/// Binds fresh symbols that `like` (a value of the onnx phase) has alone as a
/// dim to the sizes of `tensor`, its lowered form, which is in scope from here.
void fe_bind_local(fe_lowering *s, MlirValue like, MlirValue tensor);
/// Value of an arith.constant of index type.
bool fe_index_const(MlirValue v, int64_t *out);
/// Remembers the sizes of a tensor just made, so that fe_size finds them.
void fe_note_sizes(fe_lowering *s, MlirValue tensor, unsigned rank,
                   const MlirValue *sizes);
/// tensor.empty with these sizes; noted.
MlirValue fe_empty_tensor(fe_lowering *s, MlirType elem, unsigned rank,
                          const MlirValue *sizes);

#endif
