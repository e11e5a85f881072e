//===- wire.h - types of decoded protobuf fields ------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generated onnx.pb.h uses these for its struct members; onnx.options says
// which field gets which. Zero is "absent" for all of them.
//
//===----------------------------------------------------------------------===//
#ifndef FE_IMPORT_WIRE_H
#define FE_IMPORT_WIRE_H

#include <stddef.h>
#include <stdint.h>

/// NUL-terminated copy of a string.
typedef const char *fe_name;

/// Bytes as they are in the file: of a `bytes` field, or the concatenated
/// encodings of a repeated number. `cap` 0: they lie in the file itself.
typedef struct fe_raw {
  const uint8_t *at;
  size_t n, cap;
} fe_raw;

/// Repeated strings, bytes or messages.
typedef struct fe_list {
  void *at;
  size_t n, cap;
} fe_list;
#define FE_NAME_AT(list, i) (((const fe_name *)(list).at)[i])
#define FE_RAW_AT(list, i) (((const fe_raw *)(list).at)[i])
#define FE_PROTO_AT(T, list, i) (((const onnx_##T *const *)(list).at)[i])

#endif
