//===- pass.h - passes and the phases they make up ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_PASS_H
#define FE_PASS_H

#include "ir/ir.h"
#include "kernel/schedules.h"
#include "target/target.h"

/// Constants that have a place among the weights. Those of several levels of a
/// processor lie together: one begins behind the level below it, and shares
/// what that, or one below that, has.
typedef struct fe_weights {
  const struct fe_weights *below; // complete; its blobs are still there
  int64_t bytes;                  // the end; at first that of `below`
  int64_t own_bytes;              // that this level uses
  fe_map by_looks;                // see plan_weights.c
} fe_weights;

/// What passes may ask about the compilation.
typedef struct fe_pass_options {
  const fe_target *target;
  int opt_level; // 0..3
  bool bf16;     // operands of matrix products may be rounded to bf16
  bool strict;   // none is changed at all, nor weights of convolutions
  /// Compiles `module` (onnx form, main without arguments; consumed) for this
  /// machine, runs it and gives the bytes of its `n` results, in ir->arena.
  /// NULL: constants are not folded. Here as a pointer because passes know
  /// nothing of what comes after them.
  fe_status (*evaluate)(fe_ir *ir, MlirModule module,
                        const struct fe_pass_options *o, unsigned n,
                        const void **data);
  /// Choices from a file, and notes of what is chosen; NULL: neither.
  fe_schedules *schedules;
  fe_weights *weights; // for plan; NULL: its own
  bool small_weights;  // transformed in every run, not here
} fe_pass_options;

/// One pass: rewrites the module in place (or replaces *module). On failure
/// everything has been reported.
typedef struct fe_pass {
  const char *name; // for `ferrule opt` and --stop-after
  fe_status (*run)(fe_ir *ir, MlirModule *module, const fe_pass_options *o);
  const char *what; // one line for --help
} fe_pass;

// The passes, one file each; the table is in pipeline.c.
fe_status fe_pass_canonicalize(fe_ir *, MlirModule *, const fe_pass_options *);
fe_status fe_pass_fold(fe_ir *, MlirModule *, const fe_pass_options *);
fe_status fe_pass_quantized(fe_ir *, MlirModule *, const fe_pass_options *);
fe_status fe_pass_volume(fe_ir *, MlirModule *, const fe_pass_options *);
fe_status fe_pass_deconv(fe_ir *, MlirModule *, const fe_pass_options *);
fe_status fe_pass_layout(fe_ir *, MlirModule *, const fe_pass_options *);
fe_status fe_pass_lower(fe_ir *, MlirModule *, const fe_pass_options *);
fe_status fe_pass_group(fe_ir *, MlirModule *, const fe_pass_options *);
fe_status fe_pass_schedule(fe_ir *, MlirModule *, const fe_pass_options *);
/// Tensors of main become addresses: arena offsets, weights, caller's memory.
FE_NODISCARD fe_status fe_plan(fe_ir *ir, MlirModule module,
                               fe_weights *weights);

/// The phases in order; a phase is one or more passes. `import` and `emit`
/// frame them and are not passes.
typedef struct fe_phase {
  const char *name;
  const fe_pass *passes; // terminated by a NULL name
} fe_phase;
extern const fe_phase fe_phases[]; // terminated by a NULL name
const fe_pass *fe_pass_find(const char *name);
/// Runs the phases after `from` (NULL: all) up to `until` (NULL: all).
/// `progress` (may be NULL) is called when a phase begins.
FE_NODISCARD fe_status
fe_run_phases(fe_ir *ir, MlirModule *module, const fe_pass_options *o,
              const char *from, const char *until,
              void (*progress)(void *user, const char *phase), void *user);

#endif
