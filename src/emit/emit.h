//===- emit.h - from a planned module to artifacts ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Input: a module as `plan` leaves it (docs/architecture.md). Output: a file,
// or a model in this process.
//
//===----------------------------------------------------------------------===//
#ifndef FE_EMIT_H
#define FE_EMIT_H

#include "ferrule/compiler.h"
#include "ferrule/model.h"
#include "ir/ir.h"
#include "target/target.h"

typedef enum fe_artifact {
  FE_ARTIFACT_SO,
  FE_ARTIFACT_OBJECT,
  FE_ARTIFACT_ARCHIVE,
  FE_ARTIFACT_LLVM, // one file of LLVM IR; weights always beside
  FE_ARTIFACT_ASM,  // likewise
  FE_ARTIFACT_JIT   // no file
} fe_artifact;

typedef struct fe_emit_options {
  const fe_target *target;
  fe_artifact artifact;
  const char *path;     // of the artifact
  const char *prefix;   // NULL: "ferrule"
  const char *name;     // of the model, for ferrule_model.name; NULL: prefix
  const char *compiler; // "ferrule 0.1.0"
  int opt;              // 0..3
  unsigned threads;     // 0: one per core
  /// Weights go to `<path without extension>.weights.o` (.so: `.weights.so`),
  /// to be linked too (a .so finds it by itself, in its own folder).
  bool weights_beside;
  const char *header; // a C header for the model to write; NULL: none
  bool profile;       // FE_ARTIFACT_JIT: see ferrule_program_profile
  bool level;         // one of several in the artifact: fe_emission_add
} fe_emit_options;

/// A model in this process.
typedef struct fe_jit fe_jit;

/// Kind by the ending of `path`: .so .o .a .ll .s; false: none of them.
bool fe_artifact_of(const char *path, fe_artifact *out);

/// Consumes the contents of `module`. `jit`: for FE_ARTIFACT_JIT only, to be
/// destroyed by the caller; independent of the session afterwards.
FE_NODISCARD fe_status fe_emit(fe_ir *ir, MlirModule module,
                               const fe_emit_options *options, fe_jit **jit);

/// Several levels of a processor into one artifact (.so .o .a): each is added,
/// the lowest first, its weights planned upon those of the one before
/// (fe_weights). What `ir` refers to has to be there until the end.
typedef struct fe_emission fe_emission;
enum { FE_MAX_LEVELS = 8 };
/// Reports, before the work is done, when the artifact cannot be written.
FE_NODISCARD fe_status fe_emission_begin(fe_ir *ir,
                                         const fe_emit_options *options,
                                         fe_emission **out);
FE_NODISCARD fe_status fe_emission_add(fe_emission *e, fe_ir *ir,
                                       MlirModule module,
                                       const fe_emit_options *options);
/// Always, after the last use of `e`, with the arena of its begin.
void fe_emission_drop(fe_emission *e);
/// Compiles all; `options` of any level, but for the target.
FE_NODISCARD fe_status fe_emission_end(fe_emission *e, fe_ir *ir,
                                       const fe_emit_options *options);

const ferrule_model *fe_jit_model(const fe_jit *jit);
/// NULL unless emitted with `profile`.
ferrule_profile_entry *fe_jit_profile(const fe_jit *jit, size_t *n);
void fe_jit_destroy(fe_jit *jit);

#endif
