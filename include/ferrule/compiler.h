//===- compiler.h - the compiler as a library --------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a model to an artifact or into this process. There is no global
// state: any number of compilations may run at once, each on its own thread.
//
//   ferrule_options o = {.target = "native"};
//   ferrule_status s = ferrule_compile("mnist.onnx", "mnist.so", &o);
//
//===----------------------------------------------------------------------===//
#ifndef FERRULE_COMPILER_H
#define FERRULE_COMPILER_H

#include "ferrule/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// "0.1.0"
const char *ferrule_version(void);

typedef enum ferrule_status {
  FERRULE_OK = 0,
  FERRULE_REFUSED = 1, // the model cannot be compiled; see the diagnostics
  FERRULE_USAGE = 2,   // an option is wrong
  FERRULE_INTERNAL = 3 // a defect of Ferrule
} ferrule_status;

typedef enum ferrule_severity {
  FERRULE_NOTE,
  FERRULE_WARNING,
  FERRULE_ERROR,
  FERRULE_BUG // a defect of Ferrule
} ferrule_severity;

/// One message. Members other than severity and message may be NULL. Valid
/// during the callback only.
typedef struct ferrule_diagnostic {
  ferrule_severity severity;
  const char *file;
  const char *node;      // the model's name of the node
  const char *op;        // operator, in the standard's spelling
  const char *attribute; // attribute, input or field
  const char *message;
  const char *hint; // the next step
} ferrule_diagnostic;

/// Fixes a dim of the inputs: {"batch", 1}. A dim is called what the model
/// calls it; each one also INPUT.dimN, as in "x.dim0". '*' in a name stands for
/// any text. What fits several is decided by the last one.
typedef struct ferrule_dim {
  const char *name;
  int64_t value;
} ferrule_dim;

/// Leaves a dim of the inputs open, whatever size the model gives it, before
/// `dims` fixes any: {"x.dim0", "batch"}. Dims of one name have one size. A
/// name with '*' leaves those out on whose size the number of dims of another
/// value depends, such as the length of the shape of a Reshape.
typedef struct ferrule_open_dim {
  const char *name;
  const char *symbol; // its name from then on; NULL: the one that it has
} ferrule_open_dim;

/// How to compile; zero means the default everywhere.
typedef struct ferrule_options {
  /// "native" (default), "x86-64-v2", "-v3", "-v4", "-v4-bf16"; for code that
  /// chooses among several when it is run "x86-64-v2,x86-64-v4" and so on, or
  /// "multi": all.
  /// In this process the best of them is taken.
  const char *target;
  const char *prefix; // of exported symbols; default "ferrule"
  const char *name;   // of the model; default: the file's name
  int opt_level;      // 1..3; 0: the default, 3
  int threads;        // of the compiler; 0: one per core
  const ferrule_dim *dims;
  size_t n_dims;
  bool weights_beside; // the weights in a file beside the artifact
  bool profile;        // ferrule_load only: see ferrule_program_profile
  /// Called for every message, on the calling thread. NULL: silence.
  void (*diagnostic)(void *user, const ferrule_diagnostic *d);
  /// Called when a phase begins ("import", ..., "emit"). May be NULL.
  void (*progress)(void *user, const char *phase);
  void *user;
  const char *header; // ferrule_compile: a C header to write; NULL: none
  const ferrule_open_dim *open_dims;
  size_t n_open_dims;
  const char *schedule; // a file that `ferrule tune` has written; NULL: none
  /// When weights of convolutions are brought into the form of fast filtering,
  /// which may be four times as large: "compile" (default), kept in the
  /// artifact; "run", in every run.
  const char *prepack;
  /// "f32" (default), or "bf16": operands of matrix products of f32 are rounded
  /// to bf16, where that saves time or memory; sums stay f32; or "strict":
  /// slower, without what f32 does to weights so that a result is off by up to
  /// 3e-6 of the largest one: fast filtering, weights of 24 bits.
  const char *precision;
} ferrule_options;

/// Compiles the model at `path` (.onnx, or a phase's dump .mlir) into `output`,
/// whose ending says what to make: .so .o .a .ll .s. Nothing is left behind on
/// failure. `options` may be NULL.
ferrule_status ferrule_compile(const char *path, const char *output,
                               const ferrule_options *options);
/// The same for a model in memory; `path` is for messages and for finding
/// external data (NULL: neither). The bytes must stay until the call returns.
ferrule_status ferrule_compile_memory(const void *model, size_t size,
                                      const char *path, const char *output,
                                      const ferrule_options *options);
/// Writes the form that `phase` leaves (import, optimize, lower, group,
/// schedule, plan) to `output` ("-": standard output, without large data).
ferrule_status ferrule_print(const char *path, const char *phase,
                             const char *output,
                             const ferrule_options *options);

/// A model compiled into this process.
typedef struct ferrule_program ferrule_program;
/// Compiles for this machine (FERRULE_USAGE for a target that it cannot run).
/// `*out` is to be destroyed by the caller.
ferrule_status ferrule_load(const char *path, const ferrule_options *options,
                            ferrule_program **out);
ferrule_status ferrule_load_memory(const void *model, size_t size,
                                   const char *path,
                                   const ferrule_options *options,
                                   ferrule_program **out);
/// Valid until the program is destroyed.
const ferrule_model *ferrule_program_model(const ferrule_program *program);
void ferrule_program_destroy(ferrule_program *program);

/// What one call of a kernel in the model has taken, in all runs so far.
typedef struct ferrule_profile_entry {
  const char *kernel; // "conv.3": equal nodes share a kernel
  const char *node;   // the model's name of (one of) its nodes; may be ""
  uint64_t calls, nanoseconds;
  uint64_t operations; // scalar, as estimated for the decision to use threads
  uint64_t bytes;      // of its inputs, weights and outputs
  uint64_t best_nanoseconds; // of the shortest call,
  uint64_t best_operations;  // and what it did
} ferrule_profile_entry;
/// The entries in the order of the model; NULL unless it was loaded with
/// options.profile. They may be set to zero between runs; such a program must
/// not be run by two threads at once. Valid as long as the program is.
ferrule_profile_entry *ferrule_program_profile(const ferrule_program *program,
                                               size_t *n);

#ifdef __cplusplus
}
#endif
#endif
