//===- complex.h - operators on complex numbers, by their parts --*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_COMPLEX_H
#define FE_OP_COMPLEX_H

#include "op/op.h"

/// Whether v is a tensor of complex numbers.
bool fe_is_complex(MlirValue v);
/// Complex [..] as real [.., 2], and back.
MlirValue fe_complex_parts(fe_ir *ir, MlirValue v);
MlirValue fe_complex_of_parts(fe_ir *ir, MlirValue v);
/// Of an operator with one result that is linear in its operands of complex
/// numbers, all of one type: it is made for each part. Leaves results[0] null
/// when operand 0 is not complex.
FE_NODISCARD fe_status fe_expand_complex(fe_node *n, MlirValue *results);

#endif
