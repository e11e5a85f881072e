//===- einsum.h - equations of Einsum ----------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Labels are numbers: letters 0 to 51, dims of the ellipsis from 52 on, counted
// from its end.
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_EINSUM_H
#define FE_OP_EINSUM_H

#include "op/op.h"

enum {
  FE_EINSUM_LETTERS = 52,
  FE_EINSUM_LABELS = FE_EINSUM_LETTERS + FE_MAX_RANK
};

/// One tensor of an equation.
typedef struct fe_einsum_term {
  unsigned rank;
  unsigned label[FE_MAX_RANK];
} fe_einsum_term;

typedef struct fe_equation {
  unsigned n; // operands
  fe_einsum_term in[FE_MAX_VARIADIC];
  fe_einsum_term out;
} fe_equation;

/// `rank` of each of the n operands; false: malformed or it does not fit.
bool fe_einsum_parse(fe_arena *arena, const char *text, unsigned n,
                     const unsigned *rank, fe_equation *q);
bool fe_einsum_has(const fe_einsum_term *t, unsigned label);

#endif
