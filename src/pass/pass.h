//===- pass.h - the phases of a compilation ----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each leaves in the module: docs/architecture.md.
//
//===----------------------------------------------------------------------===//
#ifndef FE_PASS_H
#define FE_PASS_H

#include "ir/ir.h"

/// Tensors of main become addresses: arena offsets, weights, caller's memory.
FE_NODISCARD fe_status fe_plan(fe_ir *ir, MlirModule module);

#endif
