//===- types.c - element types, vectors, memrefs -----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table row per element type of the ONNX standard, and the types made of
// them. The dims of the onnx phase are in dims.c.
//
//===----------------------------------------------------------------------===//
#include "ir/ir.h"

#include "ir/shape.h"

//===-- Element types -------------------------------------------------------//

enum { FLOAT = 1, SIGNED = 2, UNSIGNED = 4 };

typedef struct dtype_row {
  const char *name; // as in TensorProto.DataType
  const char *short_name;
  unsigned char bits, kind;
  MlirType (*make)(MlirContext ctx); // NULL: integer, or see make_type
} dtype_row;

static MlirType make_complex(MlirContext ctx) {
  return mlirComplexTypeGet(mlirF32TypeGet(ctx));
}

static MlirType make_complex128(MlirContext ctx) {
  return mlirComplexTypeGet(mlirF64TypeGet(ctx));
}

static const dtype_row dtypes[FE_DTYPE_COUNT] = {
    [FE_UNDEFINED] = {"undefined", "none", 0, 0, NULL},
    [FE_F32] = {"float", "f32", 32, FLOAT, mlirF32TypeGet},
    [FE_U8] = {"uint8", "u8", 8, UNSIGNED, NULL},
    [FE_I8] = {"int8", "i8", 8, SIGNED, NULL},
    [FE_U16] = {"uint16", "u16", 16, UNSIGNED, NULL},
    [FE_I16] = {"int16", "i16", 16, SIGNED, NULL},
    [FE_I32] = {"int32", "i32", 32, SIGNED, NULL},
    [FE_I64] = {"int64", "i64", 64, SIGNED, NULL},
    [FE_STRING] = {"string", "str", 128, 0, NULL},
    [FE_BOOL] = {"bool", "bool", 8, 0, NULL},
    [FE_F16] = {"float16", "f16", 16, FLOAT, mlirF16TypeGet},
    [FE_F64] = {"double", "f64", 64, FLOAT, mlirF64TypeGet},
    [FE_U32] = {"uint32", "u32", 32, UNSIGNED, NULL},
    [FE_U64] = {"uint64", "u64", 64, UNSIGNED, NULL},
    [FE_C64] = {"complex64", "c64", 64, 0, make_complex},
    [FE_C128] = {"complex128", "c128", 128, 0, make_complex128},
    [FE_BF16] = {"bfloat16", "bf16", 16, FLOAT, mlirBF16TypeGet},
    [FE_F8E4M3FN] = {"float8e4m3fn", "f8e4m3fn", 8, FLOAT,
                     mlirFloat8E4M3FNTypeGet},
    [FE_F8E4M3FNUZ] = {"float8e4m3fnuz", "f8e4m3fnuz", 8, FLOAT,
                       mlirFloat8E4M3FNUZTypeGet},
    [FE_F8E5M2] = {"float8e5m2", "f8e5m2", 8, FLOAT, mlirFloat8E5M2TypeGet},
    [FE_F8E5M2FNUZ] = {"float8e5m2fnuz", "f8e5m2fnuz", 8, FLOAT,
                       mlirFloat8E5M2FNUZTypeGet},
    [FE_U4] = {"uint4", "u4", 4, UNSIGNED, NULL},
    [FE_I4] = {"int4", "i4", 4, SIGNED, NULL},
    [FE_F4E2M1] = {"float4e2m1", "f4e2m1", 4, FLOAT, mlirFloat4E2M1FNTypeGet},
    [FE_F8E8M0] = {"float8e8m0", "f8e8m0", 8, FLOAT, mlirFloat8E8M0FNUTypeGet},
    [FE_U2] = {"uint2", "u2", 2, UNSIGNED, NULL},
    [FE_I2] = {"int2", "i2", 2, SIGNED, NULL},
    [FE_F6E2M3] = {"float6e2m3", "f6e2m3", 6, FLOAT, mlirFloat6E2M3FNTypeGet},
    [FE_F6E3M2] = {"float6e3m2", "f6e3m2", 6, FLOAT, mlirFloat6E3M2FNTypeGet},
};

static const dtype_row *row_of(fe_dtype t) {
  return &dtypes[(unsigned)t < FE_DTYPE_COUNT ? t : FE_UNDEFINED];
}

const char *fe_dtype_name(fe_dtype t) { return row_of(t)->name; }
const char *fe_dtype_short(fe_dtype t) { return row_of(t)->short_name; }
unsigned fe_dtype_bits(fe_dtype t) { return row_of(t)->bits; }
unsigned fe_dtype_bytes(fe_dtype t) { return (row_of(t)->bits + 7) / 8; }
bool fe_dtype_is_float(fe_dtype t) { return row_of(t)->kind == FLOAT; }
bool fe_dtype_is_signed(fe_dtype t) { return row_of(t)->kind == SIGNED; }
bool fe_dtype_is_unsigned(fe_dtype t) { return row_of(t)->kind == UNSIGNED; }

static MlirType make_type(fe_ir *ir, fe_dtype t, bool is_storage) {
  const dtype_row *row = row_of(t);
  if (is_storage && row->bits && row->bits < 8)
    return ir->i8;
  if (is_storage && (t == FE_C64 || t == FE_C128)) // they are only moved
    return mlirIntegerTypeGet(ir->ctx, row->bits);
  if (row->make)
    return row->make(ir->ctx);
  if (row->bits == 0) {
    fe_ir_fail(ir, "there is no type for element type %d", (int)t);
    return (MlirType){0};
  }
  if (t == FE_BOOL)
    return is_storage ? ir->i8 : ir->i1;
  return row->kind == UNSIGNED && !is_storage
             ? mlirIntegerTypeUnsignedGet(ir->ctx, row->bits)
             : mlirIntegerTypeGet(ir->ctx, row->bits);
}

MlirType fe_elem_type(fe_ir *ir, fe_dtype t) { return make_type(ir, t, false); }

MlirType fe_storage_type(fe_ir *ir, fe_dtype t) {
  return make_type(ir, t, true);
}

fe_dtype fe_dtype_of_elem(MlirType elem) {
  if (mlirTypeIsNull(elem))
    return FE_UNDEFINED;
  if (mlirTypeIsAInteger(elem)) {
    unsigned bits = mlirIntegerTypeGetWidth(elem);
    if (bits == 1)
      return FE_BOOL;
    if (bits == 128)
      return FE_STRING;
    unsigned kind = mlirIntegerTypeIsUnsigned(elem) ? UNSIGNED : SIGNED;
    for (unsigned t = 0; t < FE_DTYPE_COUNT; t++)
      if (dtypes[t].kind == kind && dtypes[t].bits == bits)
        return (fe_dtype)t;
    return FE_UNDEFINED;
  }
  MlirContext ctx = mlirTypeGetContext(elem);
  for (unsigned t = 0; t < FE_DTYPE_COUNT; t++)
    if (dtypes[t].make && mlirTypeEqual(dtypes[t].make(ctx), elem))
      return (fe_dtype)t;
  return FE_UNDEFINED;
}

//===-- Shaped types --------------------------------------------------------//

static MlirType elem_of_type(MlirType t) {
  return !mlirTypeIsNull(t) && mlirTypeIsAShaped(t)
             ? mlirShapedTypeGetElementType(t)
             : t;
}

MlirType fe_elem_of(MlirValue v) {
  return mlirValueIsNull(v) ? (MlirType){0} : elem_of_type(mlirValueGetType(v));
}

bool fe_type_is_float(MlirType t) {
  t = elem_of_type(t);
  return !mlirTypeIsNull(t) && mlirTypeIsAFloat(t);
}

MlirType fe_vector_type(fe_ir *ir, int64_t n, MlirType elem) {
  if (n <= 0 || mlirTypeIsNull(elem) ||
      !(mlirTypeIsAFloat(elem) || mlirTypeIsAInteger(elem) ||
        mlirTypeIsAIndex(elem))) {
    fe_ir_fail(ir, "malformed vector type");
    return (MlirType){0};
  }
  return mlirVectorTypeGet(1, &n, elem);
}

static bool shape_ok(fe_ir *ir, MlirType elem, unsigned rank,
                     const int64_t *dims) {
  bool ok = !mlirTypeIsNull(elem);
  for (unsigned i = 0; i < rank; i++)
    ok = ok && (dims[i] >= 0 || dims[i] == FE_DYN);
  if (!ok)
    fe_ir_fail(ir, "malformed shaped type");
  return ok;
}

MlirType fe_memref_type(fe_ir *ir, MlirType elem, unsigned rank,
                        const int64_t *dims) {
  if (!shape_ok(ir, elem, rank, dims))
    return (MlirType){0};
  MlirType t = mlirMemRefTypeContiguousGetChecked(ir->loc, elem, rank, dims,
                                                  mlirAttributeGetNull());
  if (mlirTypeIsNull(t))
    fe_ir_fail(ir, "malformed memref type");
  return t;
}

MlirType fe_memref_of(fe_ir *ir, MlirValue tensor) {
  MlirType t = mlirValueGetType(tensor);
  int64_t dims[FE_MAX_RANK];
  unsigned rank = fe_type_dims(t, dims);
  return fe_memref_type(ir, mlirShapedTypeGetElementType(t), rank, dims);
}

MlirType fe_tensor_plain(fe_ir *ir, MlirType elem, unsigned rank,
                         const int64_t *dims) {
  if (!shape_ok(ir, elem, rank, dims))
    return (MlirType){0};
  MlirType t = mlirRankedTensorTypeGetChecked(ir->loc, rank, dims, elem,
                                              mlirAttributeGetNull());
  if (mlirTypeIsNull(t))
    fe_ir_fail(ir, "malformed tensor type");
  return t;
}

static bool is_ranked(MlirValue v) {
  if (mlirValueIsNull(v))
    return false;
  MlirType t = mlirValueGetType(v);
  return mlirTypeIsAShaped(t) && mlirShapedTypeHasRank(t);
}

unsigned fe_rank(MlirValue v) {
  return is_ranked(v) ? (unsigned)mlirShapedTypeGetRank(mlirValueGetType(v))
                      : 0;
}

unsigned fe_type_dims(MlirType t, int64_t *dims) {
  unsigned rank = (unsigned)mlirShapedTypeGetRank(t);
  for (unsigned i = 0; i < rank; ++i)
    dims[i] = mlirShapedTypeGetDimSize(t, i);
  return rank;
}

int64_t fe_static_dim(MlirValue v, unsigned i) {
  if (i >= fe_rank(v))
    return FE_DYN;
  return mlirShapedTypeGetDimSize(mlirValueGetType(v), i);
}

//===-- Scalars and vectors -------------------------------------------------//

MlirType fe_scalar_of(MlirType t) {
  return !mlirTypeIsNull(t) && mlirTypeIsAVector(t)
             ? mlirShapedTypeGetElementType(t)
             : t;
}

MlirType fe_type_like(fe_ir *ir, MlirType shape, MlirType elem) {
  if (mlirTypeIsNull(shape) || mlirTypeIsNull(elem)) {
    fe_ir_fail(ir, "malformed vector type");
    return (MlirType){0};
  }
  if (!mlirTypeIsAVector(shape))
    return elem;
  int64_t dims[FE_MAX_RANK];
  unsigned rank = (unsigned)mlirShapedTypeGetRank(shape);
  for (unsigned i = 0; i < rank && i < FE_MAX_RANK; i++)
    dims[i] = mlirShapedTypeGetDimSize(shape, i);
  if (rank > FE_MAX_RANK) {
    fe_ir_fail(ir, "malformed vector type");
    return (MlirType){0};
  }
  return mlirVectorTypeGet(rank, dims, elem);
}

MlirValue fe_broadcast(fe_ir *ir, MlirValue v, MlirType to) {
  if (!mlirValueIsNull(v) && !mlirTypeIsNull(to) &&
      mlirTypeEqual(mlirValueGetType(v), to))
    return v;
  return fe_first(FE_OP(ir, "vector.broadcast", FE_VALUES(v), FE_TYPES(to)));
}

bool fe_const_int(MlirValue v, int64_t *out) {
  MlirAttribute a = {0};
  if (fe_op_is(fe_def(v), "arith.constant"))
    a = fe_attr(fe_def(v), "value");
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAInteger(a))
    return false;
  *out = fe_attr_i64(fe_def(v), "value", 0);
  return true;
}
