//===- text.h - strings in the rewrites of operators -------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_TEXT_H
#define FE_OP_TEXT_H

#include "op/op.h"

/// Whether v is a tensor of strings.
bool fe_is_text(MlirValue v);
/// What an attribute is as a text.
fe_text fe_text_of(const char *s);
/// a == b, broadcast.
MlirValue fe_text_equal(fe_ir *ir, MlirValue a, MlirValue b);
/// Strings to another type, or another type to strings.
MlirValue fe_text_cast(fe_ir *ir, MlirValue v, fe_dtype to);
/// Numbers as texts; floats with so many digits behind the point, or as Cast
/// writes them (-1).
MlirValue fe_text_print(fe_ir *ir, MlirValue v, int64_t digits);
/// For each string its number (int64) among n > 0 keys; n when it is none of
/// them. Of equal keys the first counts, or the last.
MlirValue fe_text_find(fe_ir *ir, MlirValue x, size_t n, const fe_text *keys,
                       bool last);
/// Dense ranks (int64) of the strings in the order of their bytes.
MlirValue fe_text_rank(fe_ir *ir, MlirValue x);

#endif
