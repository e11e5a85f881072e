//===- sequence.h - what is known of a sequence when compiling ---*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters put tensors into sequences only to take them out again. Where all
// of that is constant, no sequence is made: these look through the ops.
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_SEQUENCE_H
#define FE_OP_SEQUENCE_H

#include "op/op.h"

/// Number of items; -1: only the run knows.
int64_t fe_sequence_count(fe_ir *ir, MlirValue sequence);
/// Item `at` (from the end when negative), made of ops on tensors where it is a
/// part of a split. Null: not known, or there is none.
MlirValue fe_sequence_item(fe_ir *ir, MlirValue sequence, int64_t at);
/// `v` as a value of type `t`, of which its type is a special case: a tensor or
/// sequence becomes an optional where that is wanted.
MlirValue fe_value_cast(fe_ir *ir, MlirValue v, MlirType t);
/// The one type of two values that meet; null: there is none.
MlirType fe_value_join(fe_ir *ir, MlirType a, MlirType b);
/// The type of an item of `sequence`, as the result `name` of an op. Reports
/// where its rank is not known.
FE_NODISCARD fe_status fe_item_type(fe_infer *f, MlirValue sequence,
                                    MlirType *out);

#endif
