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
  RANDOM,  // as it should be but for values that the standard leaves to chance
  REFUSED, // with a diagnostic that names the reason
  FAILED,  // wrong result, wrong type or shape, or an internal error
  CRASHED, // a signal, or the time or memory limit
  OUTCOMES
} outcome;
extern const char *const outcome_names[OUTCOMES];

/// How the dims of the inputs are compiled.
typedef enum mode {
  STATIC,  // as the model has them
  DYNAMIC, // all of them open, where no rank depends on them
  MODES
} mode;
extern const char *const mode_names[MODES];

typedef struct test_case {
  const char *folder; // "node", "light", ...
  const char *name;   // "test_abs"
  const char *model;  // path
  const char *data;   // folder of the case; light: the expected output's file
  bool light;
  mode mode;
} test_case;

typedef struct result {
  outcome outcome;
  char op[64];    // that the case is about
  char why[512];  // what went wrong
  double seconds; // of the processor, for compiling
  int64_t peak;   // bytes of memory when that was done
} result;

typedef fe_vec(test_case) case_list;

/// Runs a case in this process, which it may well take down.
void case_run(fe_arena *arena, const test_case *c, result *out);

/// Compares as the official runner does: floats by tolerance, everything else
/// exactly. NULL: equal; otherwise what differs.
const char *compare(fe_arena *arena, const ferrule_tensor *got,
                    const fe_tensor *want);
/// The same for any value.
const char *compare_values(fe_arena *arena, const ferrule_tensor *got,
                           const fe_value *want);

/// Whether numbers left to chance may be these: whole ones where all expected
/// ones are, and then none beyond those; finite. Type and shape are right.
bool admissible(const ferrule_tensor *got, const fe_tensor *want);

/// Prints what failed, the tables per operator and folder, the compiles that
/// took longest and most memory. `known`: per mode, names of cases that may
/// fail. How many cases are not as they should be.
int report(fe_arena *arena, const case_list *cases, const result *results,
           const fe_map known[MODES], bool verbose);
/// One line per case.
void report_list(const char *path, const case_list *cases,
                 const result *results);

#endif
