//===- constant.c - making and reading onnx.constant -------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small constants are dense attributes, so that dumps can be read; the rest
// are blobs. Readers see plain bytes either way: splats are written out and
// MLIR's i1 becomes a byte per element. Types below 8 bits have a byte per
// element too, and are always blobs save for splats.
//
//===----------------------------------------------------------------------===//
#include "op/op.h"

#include <math.h>
#include <string.h>

enum { INLINE_COUNT = 64 };

static MlirValue constant_op(fe_ir *ir, MlirType type, MlirNamedAttribute a) {
  return fe_first(FE_OP(ir, "onnx.constant", FE_TYPES(type), FE_ATTRS(a)));
}

/// Null where a dense attribute would not do.
static MlirAttribute dense(MlirType type, fe_dtype t, int64_t count,
                           const void *data) {
  if (count > INLINE_COUNT || fe_dtype_bits(t) < 8 || t == FE_STRING)
    return (MlirAttribute){0};
  if (t == FE_BOOL) {
    int flags[INLINE_COUNT];
    for (int64_t i = 0; i < count; ++i)
      flags[i] = ((const uint8_t *)data)[i] != 0;
    return mlirDenseElementsAttrBoolGet(type, count, flags);
  }
  if (!count)
    return mlirDenseElementsAttrGet(type, 0, NULL);
  return mlirDenseElementsAttrRawBufferGet(
      type, (size_t)count * fe_dtype_bytes(t), data);
}

MlirValue fe_constant(fe_ir *ir, const char *name, fe_dtype t, unsigned rank,
                      const int64_t *dims, const void *data) {
  int64_t count = 1;
  if (t == FE_STRING)
    return fe_constant_strings(ir, name, rank, dims, data);
  for (unsigned i = 0; i < rank; ++i)
    count *= dims[i];
  MlirType type = fe_tensor_static(ir, fe_elem_type(ir, t), rank, dims);
  MlirAttribute value = dense(type, t, count, data);
  if (!mlirAttributeIsNull(value))
    return constant_op(ir, type, fe_named(ir, "value", value));
  size_t size = (size_t)count * fe_dtype_bytes(t);
  fe_blob *blob =
      fe_blob_add(ir->blobs, name ? name : "constant", data, size, NULL, 0);
  return constant_op(ir, type, fe_at_str(ir, "blob", blob->name));
}

MlirValue fe_constant_promise(fe_ir *ir, const char *name, fe_dtype t,
                              unsigned rank, const int64_t *dims, size_t parts,
                              fe_blob_fill fill, const void *recipe) {
  size_t size = fe_dtype_bytes(t);
  for (unsigned i = 0; i < rank; ++i)
    size *= (size_t)dims[i];
  if (size <= INLINE_COUNT * fe_dtype_bytes(t)) {
    void *data = fe_alloc(ir->arena, size + 1);
    fe_blob_put(
        &(fe_blob){
            .size = size, .parts = parts, .fill = fill, .recipe = recipe},
        data);
    return fe_constant(ir, name, t, rank, dims, data);
  }
  MlirType type = fe_tensor_static(ir, fe_elem_type(ir, t), rank, dims);
  fe_blob *blob = fe_blob_promise(ir->blobs, name, size, parts, fill, recipe);
  return constant_op(ir, type, fe_at_str(ir, "blob", blob->name));
}

MlirValue fe_constant_strings(fe_ir *ir, const char *name, unsigned rank,
                              const int64_t *dims, const fe_text *text) {
  size_t count = 1, size = 0;
  for (unsigned i = 0; i < rank; ++i)
    count *= (size_t)dims[i];
  for (size_t i = 0; i < count; ++i)
    size += 8 + text[i].size;
  char *data = fe_alloc(ir->arena, size + 1), *at = data + 8 * count;
  for (size_t i = 0; i < count; ++i) {
    int64_t n = (int64_t)text[i].size;
    memcpy(data + 8 * i, &n, sizeof n);
    if (n)
      memcpy(at, text[i].data, (size_t)n);
    at += n;
  }
  fe_blob *blob =
      fe_blob_add(ir->blobs, name ? name : "strings", data, size, NULL, 0);
  return constant_op(
      ir, fe_tensor_static(ir, fe_elem_type(ir, FE_STRING), rank, dims),
      fe_at_str(ir, "blob", blob->name));
}

MlirValue fe_constant_i64s(fe_ir *ir, unsigned n, const int64_t *v) {
  int64_t dim = n;
  return fe_constant(ir, NULL, FE_I64, 1, &dim,
                     fe_memdup(ir->arena, v, n * sizeof *v));
}

MlirValue fe_constant_scalar(fe_ir *ir, fe_dtype t, double v) {
  if (t == FE_C64 || t == FE_C128) {
    double wide[2] = {v, 0};
    float narrow[2] = {(float)v, 0};
    return fe_constant(ir, NULL, t, 0, NULL,
                       fe_memdup(ir->arena,
                                 t == FE_C64 ? (void *)narrow : (void *)wide,
                                 fe_dtype_bytes(t)));
  }
  MlirType elem = fe_elem_type(ir, t);
  MlirType type = fe_tensor_static(ir, elem, 0, NULL);
  MlirAttribute e;
  if (t == FE_STRING)
    return fe_constant_strings(ir, NULL, 0, NULL, &(fe_text){"", 0});
  if (mlirTypeIsAFloat(elem))
    e = mlirFloatAttrDoubleGet(ir->ctx, elem, v);
  else if (t == FE_BOOL)
    e = mlirIntegerAttrGet(elem, v != 0);
  else if (v >= 0x1p63)
    e = mlirIntegerAttrGet(elem, (int64_t)(uint64_t)v);
  else
    e = mlirIntegerAttrGet(elem, (int64_t)v);
  return constant_op(
      ir, type, fe_named(ir, "value", mlirDenseElementsAttrSplatGet(type, e)));
}

//===-- Reading -------------------------------------------------------------//

static bool read_dense(fe_ir *ir, MlirAttribute a, fe_const *c) {
  if (!mlirAttributeIsADenseElements(a))
    return false;
  bool splat = c->count > 1 && mlirDenseElementsAttrIsSplat(a);
  size_t n = (size_t)c->count, width = fe_dtype_bytes(c->dtype);
  if (c->dtype == FE_BOOL) {
    uint8_t *bytes = fe_alloc(ir->arena, n);
    if (splat)
      memset(bytes, mlirDenseElementsAttrGetBoolSplatValue(a), n);
    else
      for (size_t i = 0; i < n; ++i)
        bytes[i] = mlirDenseElementsAttrGetBoolValue(a, (intptr_t)i);
    c->data = bytes;
    return true;
  }
  if (!width || c->dtype == FE_STRING)
    return false;
  const uint8_t *raw = mlirDenseElementsAttrGetRawData(a);
  c->data = raw;
  unsigned bits = fe_dtype_bits(c->dtype);
  if (bits < 8) { // MLIR leaves the upper bits of its bytes open
    uint8_t *bytes = fe_alloc(ir->arena, n);
    unsigned sign = fe_dtype_is_signed(c->dtype) ? 1u << (bits - 1) : 0;
    for (size_t i = 0; i < n; ++i) {
      unsigned code = raw[splat ? 0 : i] & ((1u << bits) - 1);
      bytes[i] = (uint8_t)((code ^ sign) - sign);
    }
    c->data = bytes;
    return true;
  }
  if (splat) {
    uint8_t *bytes = fe_alloc(ir->arena, n * width);
    for (size_t i = 0; i < n; ++i)
      memcpy(bytes + i * width, raw, width);
    c->data = bytes;
  }
  return true;
}

/// Dumps can be edited: the sizes must be those of the characters there.
static bool strings_fit(const fe_blob *b, uint64_t count) {
  if (b->size / 8 < count)
    return false;
  uint64_t left = b->size - 8 * count;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t n;
    memcpy(&n, (const char *)b->data + 8 * i, sizeof n);
    if (n > left)
      return false;
    left -= n;
  }
  return true;
}

bool fe_const_of(fe_ir *ir, MlirValue v, fe_const *out) {
  MlirOperation op = fe_def(v);
  if (!fe_op_is(op, "onnx.constant"))
    return false;
  MlirType type = mlirValueGetType(v);
  if (!mlirTypeIsARankedTensor(type) || !mlirShapedTypeHasStaticShape(type))
    return false;
  *out = (fe_const){.dtype = fe_dtype_of_elem(fe_elem_of(v)), .count = 1};
  for (unsigned i = 0, rank = fe_rank(v); i < rank; ++i)
    out->count *= fe_static_dim(v, i);
  out->size = (size_t)out->count * fe_dtype_bytes(out->dtype);
  const char *name = fe_attr_str(ir->arena, op, "blob", NULL);
  if (!name)
    return read_dense(ir, fe_attr(op, "value"), out);
  fe_blob *blob = fe_blob_find(ir->blobs, name);
  if (!blob)
    return false;
  if (out->dtype == FE_STRING) { // sizes, then characters
    if (!strings_fit(blob, (uint64_t)out->count))
      return false;
    out->size = blob->size;
  }
  if (blob->size < out->size)
    return false;
  out->data = fe_blob_data(ir->blobs, blob);
  return true;
}

static double half_to_double(uint16_t h) {
  int exponent = h >> 10 & 31, mantissa = h & 1023;
  double v = exponent == 31  ? mantissa ? NAN : INFINITY
             : exponent == 0 ? ldexp(mantissa, -24)
                             : ldexp(mantissa + 1024, exponent - 25);
  return h & 0x8000 ? -v : v;
}

#define LOAD(T, var)                                                           \
  T var;                                                                       \
  memcpy(&var, (const char *)c->data + i * (int64_t)sizeof(T), sizeof(T))
#define INTEGERS(X)                                                            \
  X(FE_U8, uint8_t)                                                            \
  X(FE_I8, int8_t)                                                             \
  X(FE_U16, uint16_t)                                                          \
  X(FE_I16, int16_t)                                                           \
  X(FE_U32, uint32_t)                                                          \
  X(FE_I32, int32_t)                                                           \
  X(FE_U64, uint64_t)                                                          \
  X(FE_I64, int64_t)                                                           \
  X(FE_BOOL, uint8_t)                                                          \
  X(FE_I4, int8_t)                                                             \
  X(FE_U4, uint8_t)                                                            \
  X(FE_I2, int8_t)                                                             \
  X(FE_U2, uint8_t)

double fe_const_f64(const fe_const *c, int64_t i) {
  switch (c->dtype) {
  case FE_F32: {
    LOAD(float, x);
    return x;
  }
  case FE_F64: {
    LOAD(double, x);
    return x;
  }
  case FE_F16: {
    LOAD(uint16_t, x);
    return half_to_double(x);
  }
  case FE_BF16: {
    LOAD(uint16_t, x);
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
  }
#define X(t, T)                                                                \
  case t: {                                                                    \
    LOAD(T, x);                                                                \
    return (double)x;                                                          \
  }
    INTEGERS(X)
#undef X
  default:
    if (fe_dtype_is_float(c->dtype))
      return fe_small_value(c->dtype, ((const uint8_t *)c->data)[i]);
    return 0;
  }
}

int64_t fe_const_i64(const fe_const *c, int64_t i) {
  switch (c->dtype) {
#define X(t, T)                                                                \
  case t: {                                                                    \
    LOAD(T, x);                                                                \
    return (int64_t)x;                                                         \
  }
    INTEGERS(X)
#undef X
  default: {
    double v = fe_const_f64(c, i);
    return v > -0x1p63 && v < 0x1p63 ? (int64_t)v : 0;
  }
  }
}
