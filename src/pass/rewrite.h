//===- rewrite.h - patterns over onnx ops ------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pattern looks at one op and what feeds it, and when it applies makes new
// ops before it (fe_onnx, fe_constant: the insertion point and location are
// set), replaces the results' uses and gives true; the driver drops what is
// dead. Patterns never change what a model computes beyond rounding.
//
//===----------------------------------------------------------------------===//
#ifndef FE_REWRITE_H
#define FE_REWRITE_H

#include "op/op.h"

typedef struct fe_pattern {
  const char *root; // "onnx.add"; NULL ends a table
  bool (*apply)(fe_ir *ir, MlirOperation op);
  const char *what; // one line
} fe_pattern;

/// Result 0 of `op` becomes v, unless v is null or of another type.
bool fe_pattern_replace(MlirOperation op, MlirValue v);

// Tables, one file each.
extern const fe_pattern fe_patterns_basic[]; // identities, movement, constants
extern const fe_pattern fe_patterns_const[]; // shapes of constants
extern const fe_pattern fe_patterns_attention[]; // attention in one op
extern const fe_pattern fe_patterns_fuse[];      // Gelu, normalizations
extern const fe_pattern fe_patterns_quantized[]; // weights of few bits
extern const fe_pattern fe_patterns_qdq[];       // operators on bytes
extern const fe_pattern fe_patterns_conv[];      // what folds into convolutions

#endif
