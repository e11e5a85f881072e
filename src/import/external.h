//===- external.h - data in files beside the model ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_IMPORT_EXTERNAL_H
#define FE_IMPORT_EXTERNAL_H

#include "import/tensor.h"

/// The range of a file that holds `size` bytes of a tensor's data.
FE_NODISCARD fe_status fe_external_data(fe_source *s, fe_where where,
                                        const onnx_TensorProto *p, size_t size,
                                        fe_tensor *out);

#endif
