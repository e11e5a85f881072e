//===- tensor.c - tensors of ONNX files -----------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: the standard stores a type's elements as raw bytes, in an external
// file, or in the typed field of the table below. What already has the memory
// layout is used where it lies; varints are decoded into the arena. All sizes
// are checked against the shape before anything is read or allocated.
//
//===----------------------------------------------------------------------===//
#include "import/tensor.h"
#include "import/external.h"

#include <inttypes.h>
#include <string.h>

/// Data that is not aligned for its type is copied up to this size, so that
/// code which looks at small constants may use plain pointers.
#define ALIGN_COPY_MAX ((size_t)64 << 10)

typedef enum field {
  F_NONE,
  F_FLOAT,
  F_DOUBLE,
  F_INT32,
  F_INT64,
  F_UINT64,
  F_STRING,
  F_COUNT
} field;

static const char *const field_names[F_COUNT] = {
    [F_FLOAT] = "float_data",   [F_DOUBLE] = "double_data",
    [F_INT32] = "int32_data",   [F_INT64] = "int64_data",
    [F_UINT64] = "uint64_data", [F_STRING] = "string_data"};

/// Which typed field holds the elements of a type.
static const field field_of[FE_DTYPE_COUNT] = {
    [FE_F32] = F_FLOAT,    [FE_C64] = F_FLOAT,        [FE_F64] = F_DOUBLE,
    [FE_C128] = F_DOUBLE,  [FE_I64] = F_INT64,        [FE_U32] = F_UINT64,
    [FE_U64] = F_UINT64,   [FE_STRING] = F_STRING,    [FE_I32] = F_INT32,
    [FE_I16] = F_INT32,    [FE_I8] = F_INT32,         [FE_U16] = F_INT32,
    [FE_U8] = F_INT32,     [FE_BOOL] = F_INT32,       [FE_F16] = F_INT32,
    [FE_BF16] = F_INT32,   [FE_F8E4M3FN] = F_INT32,   [FE_F8E4M3FNUZ] = F_INT32,
    [FE_F8E5M2] = F_INT32, [FE_F8E5M2FNUZ] = F_INT32, [FE_F8E8M0] = F_INT32,
    [FE_F4E2M1] = F_INT32, [FE_U4] = F_INT32,         [FE_I4] = F_INT32,
    [FE_U2] = F_INT32,     [FE_I2] = F_INT32,         [FE_F6E2M3] = F_INT32,
    [FE_F6E3M2] = F_INT32,
};

bool fe_tensor_count(unsigned rank, const int64_t *dims, unsigned bits,
                     int64_t *out) {
  // Zero sizes do not excuse the others: the product of these must fit too.
  int64_t count = 1, bound = 1;
  for (unsigned i = 0; i < rank; i++) {
    if (dims[i] < 0 ||
        __builtin_mul_overflow(bound, dims[i] ? dims[i] : 1, &bound))
      return false;
    count *= dims[i] ? 1 : 0;
  }
  *out = count ? bound : 0;
  return !__builtin_mul_overflow(bound, (int64_t)(bits ? bits : 8), &bound);
}

static fe_status read_dims(fe_source *s, fe_where where, fe_raw raw,
                           fe_tensor *out) {
  int64_t *dims;
  size_t rank = fe_raw_count(raw);
  if (rank > FE_MAX_RANK)
    return fe_error(s->diags, where, NULL,
                    "%zu dimensions; at most %d are supported", rank,
                    FE_MAX_RANK);
  if (!fe_raw_i64s(s->arena, raw, &dims, &rank))
    return fe_error(s->diags, where, "the file is damaged; get it again",
                    "the dimensions of the tensor are unreadable");
  out->rank = (unsigned)rank;
  for (size_t i = 0; i < rank; i++) {
    out->dims[i] = dims[i];
    if (dims[i] < 0)
      return fe_error(s->diags, where, NULL,
                      "dimension %zu of the tensor is negative (%" PRId64 ")",
                      i, dims[i]);
  }
  if (!fe_tensor_count(out->rank, out->dims, fe_dtype_bits(out->dtype),
                       &out->count))
    return fe_error(s->diags, where, NULL,
                    "the tensor's dimensions are too large to be real");
  return FE_OK;
}

static fe_status wrong_size(fe_source *s, fe_where where, uint64_t have,
                            uint64_t need, const char *unit,
                            const char *field) {
  return fe_error(s->diags, where, "the file is damaged; get it again",
                  "the tensor has %" PRIu64 " %s in %s, its shape and type "
                  "need %" PRIu64,
                  have, unit, field, need);
}

static fe_status decode_room(fe_source *s, fe_where where, uint64_t size) {
  s->allocated += size;
  if (s->allocated > FE_TENSOR_MAX_DECODED)
    return fe_error(s->diags, where,
                    "store the tensors of the model as raw data",
                    "more than 1 GiB of tensors cannot be used where they lie "
                    "in the file");
  return FE_OK;
}

/// Varints to elements; of 4 and 2 bits each one stands for a packed byte.
static fe_status decode_ints(fe_source *s, fe_where where, fe_raw raw,
                             fe_tensor *out, const char *field) {
  unsigned bits = fe_dtype_bits(out->dtype);
  size_t unit = bits < 8 ? 1 : bits / 8, n = out->size / unit;
  size_t have = fe_raw_count(raw);
  if (have != n)
    return wrong_size(s, where, have, n, "numbers", field);
  if (decode_room(s, where, out->size) != FE_OK)
    return FE_FAILED;
  uint8_t *to = fe_alloc(s->arena, out->size);
  const uint8_t *at = raw.at, *end = raw.at + raw.n;
  out->data = to;
  for (size_t i = 0; i < n; i++, to += unit) {
    uint64_t v;
    if (!fe_varint(&at, end, &v))
      return fe_error(s->diags, where, "the file is damaged; get it again",
                      "the tensor has an unreadable number in %s", field);
    memcpy(to, &v, unit);
  }
  return FE_OK;
}

static fe_status read_strings(fe_source *s, fe_where where,
                              const onnx_TensorProto *p, fe_tensor *out) {
  if ((uint64_t)out->count != p->string_data.n)
    return wrong_size(s, where, p->string_data.n, (uint64_t)out->count,
                      "strings", "string_data");
  out->text = p->string_data.at;
  return FE_OK;
}

static void use_in_place(const fe_source *s, fe_raw raw, fe_tensor *out) {
  out->data = raw.at;
  if (!raw.cap && s->path) {
    out->file = s->path;
    out->offset = (uint64_t)(raw.at - s->bytes.data);
  }
}

static fe_status read_data(fe_source *s, fe_where where,
                           const onnx_TensorProto *p, fe_tensor *out) {
  if (p->data_location == 1)
    return fe_external_data(s, where, p, out->size, out);
  if (p->data_location != 0)
    return fe_error(s->diags, where, NULL, "unknown data location %d",
                    p->data_location);
  if (p->raw_data.n) {
    if (p->raw_data.n != out->size)
      return wrong_size(s, where, p->raw_data.n, out->size, "bytes",
                        "raw_data");
    use_in_place(s, p->raw_data, out);
    return FE_OK;
  }
  field f = field_of[out->dtype];
  const fe_raw raws[F_COUNT] = {[F_FLOAT] = p->float_data,
                                [F_DOUBLE] = p->double_data,
                                [F_INT32] = p->int32_data,
                                [F_INT64] = p->int64_data,
                                [F_UINT64] = p->uint64_data};
  if (f != F_FLOAT && f != F_DOUBLE)
    return decode_ints(s, where, raws[f], out, field_names[f]);
  if (raws[f].n != out->size)
    return wrong_size(s, where, raws[f].n, out->size, "bytes", field_names[f]);
  use_in_place(s, raws[f], out);
  return FE_OK;
}

/// The standard packs elements below 8 bits one after the other, the first in
/// the lowest bits; in memory each has a byte. `stride`: bits from one to the
/// next in the file. At most four times the file's bytes come out of it.
static void unpack(fe_source *s, unsigned stride, fe_tensor *out) {
  unsigned bits = fe_dtype_bits(out->dtype);
  unsigned sign = fe_dtype_is_signed(out->dtype) ? 1u << (bits - 1) : 0;
  const uint8_t *from = out->data;
  uint8_t *to = fe_alloc(s->arena, (size_t)out->count);
  for (size_t i = 0; i < (size_t)out->count; i++) {
    size_t bit = i * stride, at = bit / 8;
    unsigned pair = from[at];
    if (at + 1 < out->size)
      pair |= (unsigned)from[at + 1] << 8;
    unsigned code = pair >> bit % 8 & ((1u << bits) - 1);
    to[i] = (uint8_t)((code ^ sign) - sign);
  }
  out->data = to;
  out->size = (size_t)out->count;
  out->file = NULL;
}

/// Any byte but 0 is true to the standard's tools; here it must be 1.
static fe_status normalise_bools(fe_source *s, fe_where where, fe_tensor *out) {
  const uint8_t *from = out->data;
  size_t bad = 0;
  while (bad < out->size && from[bad] <= 1)
    bad++;
  if (bad == out->size)
    return FE_OK;
  if (decode_room(s, where, out->size) != FE_OK)
    return FE_FAILED;
  uint8_t *to = fe_alloc(s->arena, out->size);
  for (size_t i = 0; i < out->size; i++)
    to[i] = from[i] != 0;
  out->data = to;
  out->file = NULL;
  return FE_OK;
}

static fe_status align_data(fe_source *s, fe_where where, fe_tensor *out) {
  unsigned bits = fe_dtype_bits(out->dtype);
  size_t align = bits > 64 ? 8 : bits / 8;
  if (align <= 1 || out->size > ALIGN_COPY_MAX ||
      (uintptr_t)out->data % align == 0)
    return FE_OK;
  if (decode_room(s, where, out->size) != FE_OK)
    return FE_FAILED;
  out->data = fe_memdup(s->arena, out->data, out->size);
  return FE_OK;
}

fe_status fe_tensor_read(fe_source *s, fe_where where,
                         const onnx_TensorProto *p, fe_tensor *out) {
  *out = (fe_tensor){.name = p->name ? p->name : "", .data = ""};
  if (!where.file)
    where.file = s->path;
  if (!where.attr)
    where.attr = p->name;
  if (p->data_type <= FE_UNDEFINED || p->data_type >= FE_DTYPE_COUNT)
    return fe_error(s->diags, where, NULL,
                    "the tensor's element type %d is not supported",
                    p->data_type);
  out->dtype = (fe_dtype)p->data_type;
  if (p->segment)
    return fe_error(s->diags, where, "store the tensor in one piece",
                    "tensors in segments are not supported");
  if (read_dims(s, where, p->dims, out) != FE_OK)
    return FE_FAILED;
  if (out->dtype == FE_STRING)
    return read_strings(s, where, p, out);
  unsigned bits_of = fe_dtype_bits(out->dtype);
  uint64_t bits = bits_of * (uint64_t)out->count;
  out->size = (size_t)(bits / 8 + (bits % 8 != 0));
  if (out->size == 0)
    return FE_OK;
  // Only floats of 6 bits have an int32 for each.
  bool packed = bits_of != 6 || p->raw_data.n || p->data_location == 1;
  if (!packed)
    out->size = (size_t)out->count;
  if (read_data(s, where, p, out) != FE_OK)
    return FE_FAILED;
  if (bits_of < 8)
    unpack(s, packed ? bits_of : 8, out);
  if (out->dtype == FE_BOOL && normalise_bools(s, where, out) != FE_OK)
    return FE_FAILED;
  return align_data(s, where, out);
}

/// Position in the dense tensor of the k-th value: indices are [n] positions
/// or [n, rank] subscripts. False when outside.
static bool sparse_position(const fe_tensor *indices, size_t k,
                            const fe_tensor *dense, uint64_t *out) {
  uint64_t flat = 0;
  size_t per_value = indices->rank == 2 ? dense->rank : 1;
  for (size_t i = 0; i < per_value; i++) {
    int64_t v, dim = indices->rank == 2 ? dense->dims[i] : dense->count;
    memcpy(&v, (const char *)indices->data + (k * per_value + i) * sizeof(v),
           sizeof(v));
    if (v < 0 || v >= dim)
      return false;
    flat = flat * (uint64_t)dim + (uint64_t)v;
  }
  *out = flat;
  return true;
}

fe_status fe_tensor_read_sparse(fe_source *s, fe_where where,
                                const onnx_SparseTensorProto *p,
                                fe_tensor *out) {
  fe_tensor values, indices;
  if (!p->values || !p->indices)
    return fe_error(s->diags, where, NULL,
                    "a sparse tensor without values or indices");
  if (fe_tensor_read(s, where, p->values, &values) != FE_OK ||
      fe_tensor_read(s, where, p->indices, &indices) != FE_OK)
    return FE_FAILED;
  if (!where.attr)
    where.attr = values.name;
  *out = (fe_tensor){.name = values.name, .dtype = values.dtype, .data = ""};
  if (read_dims(s, where, p->dims, out) != FE_OK)
    return FE_FAILED;
  bool shapes_fit =
      values.rank == 1 && indices.dtype == FE_I64 &&
      (indices.rank == 1 || (indices.rank == 2 && out->rank > 0 &&
                             indices.dims[1] == (int64_t)out->rank)) &&
      indices.dims[0] == values.count;
  if (!shapes_fit)
    return fe_error(s->diags, where, NULL,
                    "indices of the sparse tensor do not fit its values");
  size_t element = fe_dtype_bytes(values.dtype);
  out->size = (size_t)out->count * element;
  if (decode_room(s, where, out->size) != FE_OK)
    return FE_FAILED;
  char *to = fe_alloc(s->arena, out->size);
  out->data = to;
  for (size_t k = 0; k < (size_t)values.count; k++) {
    uint64_t position;
    if (!sparse_position(&indices, k, out, &position))
      return fe_error(s->diags, where, NULL,
                      "an index of the sparse tensor is outside its shape");
    memcpy(to + position * element, (const char *)values.data + k * element,
           element);
  }
  return FE_OK;
}
