//===- model.h - a model to run, from any file -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For run, bench and profile: a compiled .so, or a model that is compiled into
// this process; its inputs, outputs and arena.
//
//===----------------------------------------------------------------------===//
#ifndef FE_CLI_MODEL_H
#define FE_CLI_MODEL_H

#include "base/base.h"
#include "cli/cli.h"

typedef struct fe_loaded {
  const ferrule_model *model;
  ferrule_program *program; // or
  void *library;
  ferrule_tensor *inputs, *outputs;
  fe_arena *values; // what inputs point to
  void *arena;
  int64_t arena_size;
  ferrule_pool *pool;
  ferrule_run_options options;
  double compile_seconds;
} fe_loaded;

/// By the name: a compiled model, not one to be compiled.
bool fe_is_library(const char *path);
/// Opens a compiled .so, with c's --prefix; an exit code. *library is to be
/// closed in any case, when it is not NULL.
int fe_library_open(fe_cli *c, const char *path, void **library,
                    const ferrule_model **model);
/// Whether it can be run with these options on this machine; an exit code. Of a
/// model for several levels *model becomes the one that --cpu names.
int fe_library_fits(fe_cli *c, const char *path, const ferrule_model **model);
/// Of several levels the one that this machine takes; NULL: none.
const char *fe_library_level(const ferrule_model *model);
/// What --dim says of a symbol; -1: nothing.
int64_t fe_symbol_option(const fe_cli *c, const char *symbol);

/// Opens `path`; an exit code, 0 when done. Always close.
int fe_loaded_open(fe_cli *c, const char *path, fe_loaded *m);
void fe_loaded_close(fe_loaded *m);
/// Sets input `name` (NULL: number `i`) from a .npy file, or several where it
/// is no tensor (cli/values.h).
int fe_loaded_input(fe_cli *c, fe_loaded *m, const char *name, unsigned i,
                    const char *path);
/// The same from the value of --input: NAME=FILE, or FILE for a sole input.
int fe_loaded_input_option(fe_cli *c, fe_loaded *m, const char *text);
/// Gives the inputs that are not set yet random values; symbolic dims take the
/// values of --dim, of the inputs that are set, or 1.
int fe_loaded_randomize(fe_cli *c, fe_loaded *m, uint64_t seed);
/// Names the first input that is not set; NULL: all are.
const char *fe_loaded_missing(const fe_loaded *m);
/// Makes arena and threads ready for these inputs.
int fe_loaded_prepare(fe_cli *c, fe_loaded *m, int threads);
/// One run. Outputs keep their memory from run to run.
int fe_loaded_run(fe_cli *c, fe_loaded *m);

#endif
