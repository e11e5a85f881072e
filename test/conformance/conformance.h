//===- conformance.h - the official ONNX cases -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_CONFORMANCE_H
#define FE_CONFORMANCE_H

#include "ferrule/model.h"
#include "import/tensor.h"

typedef enum outcome {
  PASSED,
  REFUSED, // with a diagnostic that names the reason
  FAILED,  // wrong result, wrong type or shape, or an internal error
  CRASHED, // a signal, or the time or memory limit
  OUTCOMES
} outcome;

typedef struct test_case {
  const char *folder; // "node", "light", ...
  const char *name;   // "test_abs"
  const char *model;  // path
  const char *data;   // folder of the case; light: the expected output's file
  bool light;
} test_case;

/// Runs a case in this process, which it may well take down. Text about what
/// went wrong comes in `why`, the operator that the case is about in `op`.
outcome case_run(fe_arena *arena, const test_case *c, const char **op,
                 const char **why);

/// Compares as the official runner does: floats by tolerance, everything else
/// exactly. NULL: equal; otherwise what differs.
const char *compare(fe_arena *arena, const ferrule_tensor *got,
                    const fe_tensor *want);

#endif
