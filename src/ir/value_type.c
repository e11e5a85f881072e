//===- value_type.c - types of values that are not tensors ----------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/value_type.h"

#include "ferrule/model.h"

static const MlirType null_type = {0};

static unsigned tuple_size(MlirType t) {
  return !mlirTypeIsNull(t) && mlirTypeIsATuple(t)
             ? (unsigned)mlirTupleTypeGetNumTypes(t)
             : 0;
}

/// Values within values; a loop that wraps what it carries would never end.
enum { MAX_DEPTH = 16 };

static unsigned depth(MlirType t) {
  unsigned d = 0;
  for (; tuple_size(t); d++)
    t = mlirTupleTypeGetType(t, tuple_size(t) == 2);
  return d;
}

static MlirType tuple(fe_ir *ir, unsigned n, const MlirType *at) {
  for (unsigned i = 0; i < n; i++)
    if (mlirTypeIsNull(at[i]) || depth(at[i]) >= MAX_DEPTH)
      return null_type;
  return mlirTupleTypeGet(ir->ctx, (intptr_t)n, at);
}

MlirType fe_type_of(MlirValue v) {
  return fe_is_null(v) ? null_type : mlirValueGetType(v);
}

MlirType fe_type_inner(fe_ir *ir, MlirType t) {
  if (mlirTypeIsNull(t) || !mlirTypeIsARankedTensor(t))
    return t;
  int64_t dims[FE_MAX_RANK];
  unsigned rank = fe_type_dims(t, dims);
  return fe_tensor_plain(ir, mlirShapedTypeGetElementType(t), rank, dims);
}

MlirType fe_type_sequence(fe_ir *ir, MlirType item) {
  return tuple(ir, 1, (MlirType[]){fe_type_inner(ir, item)});
}

MlirType fe_type_optional(fe_ir *ir, MlirType of) {
  return tuple(ir, 2, (MlirType[]){ir->none, fe_type_inner(ir, of)});
}

MlirType fe_type_map(fe_ir *ir, fe_dtype key, fe_dtype value) {
  int64_t open = FE_DYN;
  MlirType keys = fe_tensor_plain(ir, fe_elem_type(ir, key), 1, &open);
  MlirType values = fe_tensor_plain(ir, fe_elem_type(ir, value), 1, &open);
  return tuple(ir, 3, (MlirType[]){keys, values, ir->none});
}

bool fe_type_is_sequence(MlirType t) { return tuple_size(t) == 1; }
bool fe_type_is_optional(MlirType t) { return tuple_size(t) == 2; }
bool fe_type_is_map(MlirType t) { return tuple_size(t) == 3; }
bool fe_type_is_object(MlirType t) { return tuple_size(t) > 0; }

MlirType fe_type_held(MlirType t) {
  unsigned n = tuple_size(t);
  return n == 1 || n == 2 ? mlirTupleTypeGetType(t, n - 1) : null_type;
}

MlirType fe_type_map_part(MlirType t, unsigned part) {
  return fe_type_is_map(t) && part < 2 ? mlirTupleTypeGetType(t, part)
                                       : null_type;
}

int fe_type_number(MlirType t) {
  static const int numbers[] = {FE_UNDEFINED, FERRULE_SEQUENCE,
                                FERRULE_OPTIONAL, FERRULE_MAP};
  unsigned n = tuple_size(t);
  if (n)
    return n < FE_COUNT(numbers) ? numbers[n] : FE_UNDEFINED;
  if (!mlirTypeIsNull(t) && mlirTypeIsATensor(t))
    t = mlirShapedTypeGetElementType(t);
  return (int)fe_dtype_of_elem(t);
}

static void add_text(fe_ir *ir, fe_buf *b, MlirType t) {
  fe_arena *arena = ir->arena;
  if (fe_type_is_map(t)) {
    fe_buf_printf(
        arena, b, "map from %s to %s",
        fe_dtype_name((fe_dtype)fe_type_number(fe_type_map_part(t, 0))),
        fe_dtype_name((fe_dtype)fe_type_number(fe_type_map_part(t, 1))));
    return;
  }
  if (fe_type_is_object(t)) {
    fe_buf_printf(arena, b,
                  fe_type_is_sequence(t) ? "sequence of " : "optional ");
    add_text(ir, b, fe_type_held(t));
    return;
  }
  fe_buf_printf(arena, b, "%s", fe_dtype_name((fe_dtype)fe_type_number(t)));
  if (mlirTypeIsNull(t) || !mlirTypeIsARankedTensor(t)) {
    fe_buf_printf(arena, b, "[...]");
    return;
  }
  MlirAttribute map = mlirRankedTensorTypeGetEncoding(t);
  bool named = !mlirAttributeIsNull(map) && mlirAttributeIsAAffineMap(map);
  fe_buf_printf(arena, b, "[");
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(t); d++) {
    const char *comma = d ? "," : "";
    MlirAffineExpr e = {0};
    if (!mlirShapedTypeIsDynamicDim(t, d)) {
      fe_buf_printf(arena, b, "%s%lld", comma,
                    (long long)mlirShapedTypeGetDimSize(t, d));
      continue;
    }
    if (named)
      e = mlirAffineMapGetResult(mlirAffineMapAttrGetValue(map), d);
    intptr_t s = !mlirAffineExprIsNull(e) && mlirAffineExprIsASymbol(e)
                     ? mlirAffineSymbolExprGetPosition(e)
                     : -1;
    fe_buf_printf(arena, b, "%s%s", comma,
                  s >= 0 && (size_t)s < ir->symbols.n ? ir->symbols.at[s]
                                                      : "?");
  }
  fe_buf_printf(arena, b, "]");
}

const char *fe_type_text(fe_ir *ir, MlirType t) {
  fe_buf b = {0};
  add_text(ir, &b, t);
  return b.at;
}

MlirType fe_type_join_inner(fe_ir *ir, MlirType a, MlirType b) {
  if (mlirTypeIsNull(a) || mlirTypeIsNull(b))
    return null_type;
  a = fe_type_inner(ir, a);
  b = fe_type_inner(ir, b);
  if (mlirTypeEqual(a, b))
    return a;
  // Of nothing: any type will do, or any tensor of that element type.
  for (unsigned i = 0; i < 2; i++) {
    MlirType x = i ? b : a, y = i ? a : b;
    if (mlirTypeIsANone(x))
      return y;
    if (!mlirTypeIsATensor(x) && !fe_type_is_object(x))
      return mlirTypeIsATensor(y) &&
                     mlirTypeEqual(mlirShapedTypeGetElementType(y), x)
                 ? y
                 : null_type;
  }
  if (tuple_size(a) != tuple_size(b) || fe_type_is_map(a))
    return null_type;
  if (fe_type_is_object(a)) {
    MlirType held = fe_type_join_inner(ir, fe_type_held(a), fe_type_held(b));
    return mlirTypeIsNull(held)     ? held
           : fe_type_is_sequence(a) ? fe_type_sequence(ir, held)
                                    : fe_type_optional(ir, held);
  }
  if (!mlirTypeIsATensor(a) || !mlirTypeIsATensor(b))
    return null_type;
  MlirType elem = mlirShapedTypeGetElementType(a);
  if (!mlirTypeEqual(elem, mlirShapedTypeGetElementType(b)))
    return null_type;
  if (!mlirTypeIsARankedTensor(a) || !mlirTypeIsARankedTensor(b) ||
      mlirShapedTypeGetRank(a) != mlirShapedTypeGetRank(b))
    return mlirUnrankedTensorTypeGet(elem);
  int64_t dims[FE_MAX_RANK];
  unsigned rank = (unsigned)mlirShapedTypeGetRank(a);
  for (unsigned i = 0; i < rank; i++) {
    bool open =
        mlirShapedTypeIsDynamicDim(a, i) || mlirShapedTypeIsDynamicDim(b, i) ||
        mlirShapedTypeGetDimSize(a, i) != mlirShapedTypeGetDimSize(b, i);
    dims[i] = open ? FE_DYN : mlirShapedTypeGetDimSize(a, i);
  }
  return fe_tensor_plain(ir, elem, rank, dims);
}

MlirType fe_type_outer(fe_ir *ir, MlirType t) {
  if (mlirTypeIsNull(t) || fe_type_is_object(t))
    return t;
  if (!mlirTypeIsARankedTensor(t))
    return null_type;
  fe_dims d = {.rank = (unsigned)mlirShapedTypeGetRank(t)};
  for (unsigned i = 0; i < d.rank; i++)
    d.d[i] = mlirShapedTypeIsDynamicDim(t, i)
                 ? fe_dim_symbol(ir, fe_symbol(ir, NULL))
                 : fe_dim_const(ir, mlirShapedTypeGetDimSize(t, i));
  return fe_tensor_type(ir, mlirShapedTypeGetElementType(t), &d);
}
