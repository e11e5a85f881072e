//===- session.h - one compilation -------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the public API and the command line are made of.
//
//===----------------------------------------------------------------------===//
#ifndef FE_SESSION_H
#define FE_SESSION_H

#include "emit/emit.h"
#include "ferrule/compiler.h"
#include "import/onnx.h"
#include "ir/ir.h"
#include "pass/pass.h"

typedef struct fe_session {
  fe_arena *arena;
  fe_diags diags;
  fe_blobs blobs;
  fe_ir ir;
  ferrule_options options; // copy
  fe_target target_storage;
  /// Where the options name several: they, the lowest first; pass.target is
  /// then the best that this machine has.
  const fe_target *levels[FE_MAX_LEVELS];
  unsigned n_levels;
  fe_pass_options pass;
  fe_schedules schedules; // pass.schedules, when there is a file
  fe_file file;
  fe_source source;
  fe_vec(fe_file) side_files; // mapped for blobs of a dump
  MlirModule module;
  const char *phase; // the last phase that the module has been through
  jmp_buf oom;
} fe_session;

/// Does `work` in a session with these options (NULL: defaults) and ends it.
/// FERRULE_USAGE for a bad option; FERRULE_REFUSED, reported, when memory runs
/// out on the way. `path` is for that message.
ferrule_status fe_session_do(const ferrule_options *options, const char *path,
                             ferrule_status (*work)(fe_session *s, void *user),
                             void *user);
/// What is done at each level of a model for several.
typedef struct fe_levels_work {
  const char *path;
  /// In a session of the level, to be taken through `plan`.
  ferrule_status (*level)(fe_session *s, void *user);
  /// In the last one, with all others still open; may be NULL.
  ferrule_status (*end)(fe_session *s, void *user);
  void *user;
} fe_levels_work;
/// Does it for the levels of `s`, the lowest first.
FE_NODISCARD ferrule_status fe_session_levels(const fe_session *s,
                                              const fe_levels_work *w);
/// Fills in `levels` when `names` is several; false: reported.
bool fe_session_find_levels(fe_session *s, const char *names);

/// By the name: a dump, not an ONNX model.
bool fe_is_dump(const char *path);
/// Reads a model: .onnx, or a dump with its phase.
FE_NODISCARD ferrule_status fe_session_read(fe_session *s, const char *path);
FE_NODISCARD ferrule_status fe_session_read_memory(fe_session *s,
                                                   const void *data,
                                                   size_t size,
                                                   const char *path);
/// FERRULE_USAGE, reported, when there is no such phase (NULL is fine).
FE_NODISCARD ferrule_status fe_session_check_phase(fe_session *s,
                                                   const char *phase);
/// Runs on to the end of `phase` (NULL: all phases before emit).
FE_NODISCARD ferrule_status fe_session_run(fe_session *s, const char *phase);
/// FERRULE_REFUSED, or FERRULE_INTERNAL when an internal error was reported.
ferrule_status fe_session_failed(const fe_session *s);

/// fe_pass_options.evaluate by way of the JIT. The code is for the oldest
/// processor of the family, so that every machine gives the same constants.
fe_status fe_evaluate(fe_ir *ir, MlirModule module, const fe_pass_options *o,
                      unsigned n, const void **data);

/// Writes the module so that fe_session_read goes on from it. Data computed by
/// the compiler goes to `<path>.bin`.
FE_NODISCARD fe_status fe_dump_write(fe_session *s, const char *path);
/// Finds the blobs that the dump's `ferrule.blobs` names.
FE_NODISCARD fe_status fe_dump_blobs(fe_session *s);
/// Reports data that the module refers to and that is nowhere.
FE_NODISCARD fe_status fe_dump_check(fe_session *s);

#endif
