//===- signature.h - the text fields of a row, parsed ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_SIGNATURE_H
#define FE_OP_SIGNATURE_H

#include "op/op.h"

typedef struct fe_sig_arg {
  char name[32];
  char var[8]; // type variable
  bool optional, variadic;
} fe_sig_arg;

typedef struct fe_sig {
  unsigned n;
  fe_sig_arg at[FE_MAX_OPERANDS];
} fe_sig;

/// Parses "X:T, B?:T2"; NULL text: no arguments.
void fe_sig_parse(const char *text, fe_sig *out);

/// Element types admitted for `var`, a bit per fe_dtype; FE_SIG_ANY: also what
/// is no tensor.
#define FE_SIG_ANY (1u << 31)
uint32_t fe_sig_types(const char *types, const char *var);
/// "float, double": for messages.
const char *fe_sig_types_text(fe_arena *arena, uint32_t mask);
/// Newest row by IR name, without "onnx." ("ml_scaler"), or standard name.
const fe_op_row *fe_op_row_named(const char *name);
/// False for rows that are always expanded and so have no op.
bool fe_row_has_op(const fe_op_row *row);

#endif
