//===- integer_product.h - parts of integer products -------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_INTEGER_PRODUCT_H
#define FE_INTEGER_PRODUCT_H

#include "kernel/kernel.h"
#include "op/product.h"

/// B in the form that krnl.integer_contract takes.
typedef struct fe_integer_panels {
  fe_dot dot;
  unsigned numbers; // along K in an element
  bool flip;        // bytes are unsigned: their signs are flipped
  MlirValue panels; // [.., P, steps, width] of i32
  MlirValue sums;   // of bytes as they are in the panels: [.., 1, N]; may be
                    // null where FE_DOT_S16
} fe_integer_panels;

/// Numbers (i - zero[i % n]) of a constant [batch][K][N], 8 bits each.
typedef struct fe_integer_constant {
  fe_const data;
  fe_const zero; // count 0, 1 or N; FE_DOT_S16 only
  int64_t batch, k, n;
} fe_integer_constant;
/// `dims`: of B. Sets p->panels.
void fe_integer_pack_constant(fe_lower *l, fe_integer_panels *p,
                              const fe_integer_constant *c, unsigned rank,
                              const int64_t *dims);
/// Of B computed at run time: i8 (FE_DOT_U8S8) or i16. Sets panels and sums.
void fe_integer_pack(fe_lower *l, fe_integer_panels *p, MlirValue b);

#endif
