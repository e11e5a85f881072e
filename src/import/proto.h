//===- proto.h - decoding protobuf files --------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the messages of onnx.proto from bytes. The structs lie in the arena
// and point into the bytes for everything large, so the bytes must outlive
// them. Hostile input gives a diagnostic: nesting, memory and names are
// bounded. Meaning is not checked here.
//
//===----------------------------------------------------------------------===//
#ifndef FE_IMPORT_PROTO_H
#define FE_IMPORT_PROTO_H

#include "base/base.h"
#include "onnx.pb.h"

/// Messages inside messages; a graph within a graph takes three.
#define FE_PROTO_MAX_DEPTH 100
/// Memory for decoded structs, without the data that stays in the file.
#define FE_PROTO_MAX_MEMORY ((size_t)512 << 20)

/// Bytes of one string (not of `bytes` fields).
#define FE_PROTO_MAX_NAME ((size_t)64 << 10)

/// `path` is for messages only.
FE_NODISCARD fe_status fe_proto_model(fe_diags *d, fe_arena *arena,
                                      const char *path, const uint8_t *data,
                                      size_t size, onnx_ModelProto **out);
FE_NODISCARD fe_status fe_proto_tensor(fe_diags *d, fe_arena *arena,
                                       const char *path, const uint8_t *data,
                                       size_t size, onnx_TensorProto **out);
FE_NODISCARD fe_status fe_proto_sequence(fe_diags *d, fe_arena *arena,
                                         const char *path, const uint8_t *data,
                                         size_t size, onnx_SequenceProto **out);
FE_NODISCARD fe_status fe_proto_optional(fe_diags *d, fe_arena *arena,
                                         const char *path, const uint8_t *data,
                                         size_t size, onnx_OptionalProto **out);

/// Reads the varint at *at and moves it; false when it is cut off at `end` or
/// longer than ten bytes.
bool fe_varint(const uint8_t **at, const uint8_t *end, uint64_t *out);
/// Varints in `raw`; each is at least one byte, so raw.n bounds the count.
size_t fe_raw_count(fe_raw raw);
/// All numbers of a repeated int64 field; false when the encoding is broken.
bool fe_raw_i64s(fe_arena *arena, fe_raw raw, int64_t **out, size_t *n);

#endif
