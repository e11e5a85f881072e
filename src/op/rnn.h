//===- rnn.h - recurrent layers: RNN, GRU, LSTM ------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_RNN_H
#define FE_OP_RNN_H

#include "op/common.h"

typedef enum fe_rnn_cell { FE_RNN, FE_GRU, FE_LSTM } fe_rnn_cell;

/// An activation function with its parameters; `function` indexes a table.
typedef struct fe_rnn_function {
  unsigned function;
  double alpha, beta;
} fe_rnn_function;

typedef struct fe_rnn {
  fe_rnn_cell cell;
  unsigned gates;      // 1, 3, 4
  unsigned directions; // 1 or 2
  bool reverse;        // the first direction is
  bool batch_first;    // layout 1
  bool linear_before_reset, input_forget;
  double clip;             // 0: none
  fe_rnn_function f[2][3]; // of each direction
} fe_rnn;

/// Reads the attributes; reports what is wrong with them.
FE_NODISCARD fe_status fe_rnn_parse(fe_ir *ir, fe_where where,
                                    MlirOperation attrs, fe_rnn_cell cell,
                                    fe_rnn *out);
/// In small letters.
const char *fe_rnn_function_name(const fe_rnn_function *f);
MlirValue fe_rnn_apply(fe_ir *ir, const fe_rnn_function *f, MlirValue x);

/// The operands in the type that is computed in, f32 or f64; null: absent.
typedef struct fe_rnn_operands {
  fe_dtype type;
  MlirValue x;        // [T][B][I], batch first: [B][T][I]
  MlirValue w, r;     // [D][gates * H][I], [D][gates * H][H]
  MlirValue bias;     // [D][2 * gates * H]
  MlirValue lengths;  // [B] of i32
  MlirValue h, c, p;  // initial states, peepholes [D][3 * H]
  MlirValue hidden;   // H, of main
  const void *r_data; // of a constant r
  bool wants_y;
} fe_rnn_operands;
/// Y, Y_h, Y_c in `type`; null what does not exist.
void fe_rnn_lower(fe_lower *l, const fe_rnn *n, const fe_rnn_operands *o,
                  MlirValue out[3]);

#endif
