//===- measure.h - what kernels take on this machine -------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For profile, compile --explain --measure, and tune.
//
//===----------------------------------------------------------------------===//
#ifndef FE_CLI_MEASURE_H
#define FE_CLI_MEASURE_H

#include "cli/model.h"
#include "target/target.h"

/// The target that c's options name; NULL: there is none, or several.
const fe_target *fe_measure_target(const fe_cli *c, fe_target *storage);
/// GFLOP/s of multiply-adds of f32 in registers, on one core and with vectors
/// of the target's width. 0: not known for this kind of machine.
double fe_measure_peak(const fe_target *target);

/// Compiles the model with a clock around every kernel and makes it ready:
/// inputs from `inputs` (of --input), the others random. An exit code; always
/// close.
int fe_measure_open(fe_cli *c, const char *path, const char *const *inputs,
                    int n_inputs, int threads, fe_loaded *m);
/// Sets all entries of its profile to zero.
void fe_measure_clear(fe_loaded *m);
/// Runs it `*runs` times (0: for about a second, then *runs says how often),
/// after a run that does not count. An exit code.
int fe_measure_runs(fe_cli *c, fe_loaded *m, int *runs);

#endif
