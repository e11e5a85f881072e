//===- onnx.h - ONNX models to the onnx dialect -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_IMPORT_ONNX_H
#define FE_IMPORT_ONNX_H

#include "import/tensor.h"

/// Newest versions of the standard that are known here.
#define FE_ONNX_MAX_IR 14
#define FE_ONNX_MAX_OPSET 28

/// Fixes dims of the inputs: --dim NAME=VALUE. What names mean: see
/// ferrule_dim and ferrule_open_dim in ferrule/compiler.h.
typedef struct fe_dim_value {
  const char *name;
  int64_t value;
} fe_dim_value;

/// Opens dims: --dim NAME=SYMBOL, or with NULL --dim NAME=?.
typedef struct fe_open_dim {
  const char *name, *symbol;
} fe_open_dim;

typedef struct fe_import_options {
  const fe_dim_value *dims;
  size_t n_dims;
  const fe_open_dim *open;
  size_t n_open;
} fe_import_options;

/// Builds `func.func @main` in the onnx form (docs/architecture.md) from the
/// model in `source`. Constants point into the source, which must stay open as
/// long as the module's blobs are used. All operators that are not supported
/// are reported at once. `options` may be NULL. On failure *out is null.
FE_NODISCARD fe_status fe_import_onnx(fe_ir *ir, fe_source *source,
                                      const fe_import_options *options,
                                      MlirModule *out);

#endif
