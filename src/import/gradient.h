//===- gradient.h - derivatives of operators ---------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_IMPORT_GRADIENT_H
#define FE_IMPORT_GRADIENT_H

#include "import/import.h"

/// One op whose derivatives are wanted.
typedef struct fe_step {
  fe_ir *ir;
  fe_call_site *site; // the Gradient
  MlirOperation op;
  unsigned operand;  // by which, where the row has one function for all
  MlirValue x[3], y; // the first operands and the first result
  MlirValue dy;      // the derivative by y
} fe_step;

/// Null where it is not known.
typedef MlirValue (*fe_write)(const fe_step *s);

/// By operand; derivatives are then summed to the operand's shape, as operators
/// broadcast. `all`: by any operand. `as`: the first result once more, in
/// operators with derivatives of their own. `as_all`: all results, those that
/// stay null excepted; false: that is impossible.
typedef struct fe_derivative {
  const char *op; // of the standard; NULL ends the table
  fe_write by[3];
  fe_write all, as;
  bool (*as_all)(const fe_step *s, MlirValue *y);
} fe_derivative;
extern const fe_derivative fe_d_basic[], fe_d_movement[], fe_d_window[],
    fe_d_composed[], fe_d_linear[], fe_d_attention[], fe_d_recurrent[];

//===-- Writing operators ---------------------------------------------------//

fe_dtype fe_d_type(MlirValue v);
MlirValue fe_d_one(const fe_step *s, const char *op, MlirValue a);
MlirValue fe_d_two(const fe_step *s, const char *op, MlirValue a, MlirValue b);
MlirValue fe_d_mul(const fe_step *s, MlirValue a, MlirValue b);
/// Of the type of dy.
MlirValue fe_d_number(const fe_step *s, double v);
MlirValue fe_d_scaled(const fe_step *s, double by, MlirValue v);
MlirValue fe_d_int(const fe_step *s, int64_t v); // a list of one
MlirValue fe_d_ints(const fe_step *s, unsigned n, int64_t v);
MlirValue fe_d_in_shape(const fe_step *s, MlirValue v, MlirValue shape);
MlirValue fe_d_reshaped(const fe_step *s, MlirValue v, MlirValue like);
MlirValue fe_d_expanded(const fe_step *s, MlirValue v, MlirValue like);
MlirValue fe_d_zeros(const fe_step *s, MlirValue like);
MlirValue fe_d_summed(const fe_step *s, MlirValue v, unsigned n,
                      const int64_t *axes, bool keep);
MlirValue fe_d_transposed(const fe_step *s, MlirValue v, unsigned rank,
                          const int64_t *perm);
MlirValue fe_d_flipped(const fe_step *s, MlirValue v);
MlirValue fe_d_size_at(const fe_step *s, MlirValue sizes, int64_t i);
MlirValue fe_d_concat(const fe_step *s, unsigned n, const MlirValue *parts,
                      int64_t axis);
MlirValue fe_d_cast(const fe_step *s, MlirValue v, fe_dtype to);
MlirValue fe_d_where(const fe_step *s, MlirValue condition, MlirValue yes,
                     MlirValue no);
MlirValue fe_d_sum_to(const fe_step *s, MlirValue v, MlirValue like);
/// Operand i, or null where it is absent.
MlirValue fe_d_operand(const fe_step *s, unsigned i);
/// A reduction over the axes and in the manner of the op, which is one.
MlirValue fe_d_reduced(const fe_step *s, const char *op, MlirValue v);
/// What has the shape of the op's result, a reduction, as it broadcasts to x.
MlirValue fe_d_kept(const fe_step *s, MlirValue v);
/// Of a Resize: of any kind, but for those that keep the aspect ratio.
MlirValue fe_d_resize(const fe_step *s);
/// The op again, with other operands.
MlirValue fe_d_again(const fe_step *s, unsigned n, const MlirValue *in);

#endif
