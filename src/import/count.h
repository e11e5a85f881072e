//===- count.h - the operators of a model, with counts -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_IMPORT_COUNT_H
#define FE_IMPORT_COUNT_H

#include "base/base.h"

typedef struct fe_op_count {
  const char *domain, *name; // "" is ai.onnx
  int opset;
  size_t count;
  bool supported;
} fe_op_count;

typedef struct fe_model_counts {
  int64_t ir_version;
  const char *producer;
  fe_vec(fe_op_count) ops; // by falling count
} fe_model_counts;

/// Counts the nodes of the file, those of nested graphs and of functions too.
FE_NODISCARD fe_status fe_count_ops(fe_diags *d, fe_arena *arena,
                                    const char *path, const uint8_t *data,
                                    size_t size, fe_model_counts *out);

#endif
