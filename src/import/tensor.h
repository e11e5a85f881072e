//===- tensor.h - tensors of ONNX files ---------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TensorProto in all its encodings to one plain form: dims and bytes. Used for
// the constants of models and for the values of test data.
//
//===----------------------------------------------------------------------===//
#ifndef FE_IMPORT_TENSOR_H
#define FE_IMPORT_TENSOR_H

#include "import/proto.h"
#include "ir/ir.h"

/// A file being read, and the files with external data beside it. Everything
/// read from it points into these, so close it after all else.
typedef struct fe_source {
  fe_diags *diags;
  fe_arena *arena;
  const char *path;   // NULL: bytes in memory, without files beside
  fe_file bytes;      // not owned
  fe_map external;    // mapped files, by location
  uint64_t allocated; // bytes of decoded data, see FE_TENSOR_MAX_DECODED
} fe_source;
void fe_source_init(fe_source *s, fe_diags *d, fe_arena *arena,
                    const char *path, const uint8_t *data, size_t size);
void fe_source_close(fe_source *s);

/// Bytes that one source may need for data that cannot be used where it lies.
#define FE_TENSOR_MAX_DECODED ((uint64_t)1 << 30)

typedef struct fe_tensor {
  const char *name; // "": none
  fe_dtype dtype;
  unsigned rank;
  int64_t dims[FE_MAX_RANK];
  int64_t count;      // elements
  const void *data;   // little endian, row-major, as in memory: types below 8
                      // bits have a byte each (fe_dtype_bytes); bool is 0 or
                      // 1. May be unaligned when large: read with memcpy.
  size_t size;        // bytes at data
  const fe_raw *text; // FE_STRING: `count` strings instead of data
  const char *file;   // file that holds the same bytes at `offset`; or NULL
  uint64_t offset;
} fe_tensor;

FE_NODISCARD fe_status fe_tensor_read(fe_source *s, fe_where where,
                                      const onnx_TensorProto *p,
                                      fe_tensor *out);
/// A sparse tensor, expanded.
FE_NODISCARD fe_status fe_tensor_read_sparse(fe_source *s, fe_where where,
                                             const onnx_SparseTensorProto *p,
                                             fe_tensor *out);
/// Elements of `dims`; false when one is negative or the product of these and
/// `bits` is beyond what memory can hold.
bool fe_tensor_count(unsigned rank, const int64_t *dims, unsigned bits,
                     int64_t *out);

/// Contents of a test data file (input_0.pb).
typedef enum fe_value_kind {
  FE_VALUE_TENSOR,
  FE_VALUE_SEQUENCE,
  FE_VALUE_OPTIONAL // an absent one has no items
} fe_value_kind;
typedef struct fe_value {
  fe_value_kind kind;
  fe_tensor tensor; // FE_VALUE_TENSOR
  size_t n;         // others
  struct fe_value *items;
} fe_value;
/// The file does not tell its kind: the model's type of that value does.
FE_NODISCARD fe_status fe_value_read(fe_source *s, fe_value_kind kind,
                                     fe_value *out);

#endif
