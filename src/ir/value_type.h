//===- value_type.h - types of values that are not tensors -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the onnx phase these are builtin tuples, which the C API can take apart
// and stock mlir-opt prints:
//
//   sequence of T    tuple<T>
//   optional T       tuple<none, T>
//   map from K to V  tuple<tensor<?xK>, tensor<?xV>, none>
//
// Tensors in them have no symbols: a size is a number or open, also the rank
// may be (tensor<*xT>). What a sequence that is empty would hold is just an
// element type, tuple<f32>, or not known at all, tuple<none>. From `lower` on
// all of them are tensor<i64>: a pointer to an object of
// include/ferrule/model.h, which never changes.
//
//===----------------------------------------------------------------------===//
#ifndef FE_IR_VALUE_TYPE_H
#define FE_IR_VALUE_TYPE_H

#include "ir/ir.h"

/// Null of a null value.
MlirType fe_type_of(MlirValue v);
/// A type as it stands in a tuple: symbols are gone.
MlirType fe_type_inner(fe_ir *ir, MlirType t);
/// Null of a null type, and beyond 16 within each other.
MlirType fe_type_sequence(fe_ir *ir, MlirType item);
MlirType fe_type_optional(fe_ir *ir, MlirType of);
MlirType fe_type_map(fe_ir *ir, fe_dtype key, fe_dtype value);
bool fe_type_is_sequence(MlirType t); // false for a null type
bool fe_type_is_optional(MlirType t);
bool fe_type_is_map(MlirType t);
/// One of these three.
bool fe_type_is_object(MlirType t);
/// What a sequence or an optional holds.
MlirType fe_type_held(MlirType t);
/// Tensors of a map: 0 keys, 1 values.
MlirType fe_type_map_part(MlirType t, unsigned part);
/// Number for ferrule_tensor.dtype of any value's type.
int fe_type_number(MlirType t);
/// "sequence of float[?,3]", "float[batch,3]": for people.
const char *fe_type_text(fe_ir *ir, MlirType t);
/// The one type of which both are: sizes that differ are open, the rank too,
/// where `t` is in a tuple. Null: there is none.
MlirType fe_type_join_inner(fe_ir *ir, MlirType a, MlirType b);
/// The type of a value taken out of a tuple: open sizes are new symbols. Null
/// where the rank is open.
MlirType fe_type_outer(fe_ir *ir, MlirType t);

#endif
