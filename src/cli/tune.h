//===- tune.h - searching for schedules --------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tune.c (the command and its search) and tune_units.c (what can be
// chosen, and what it takes) share.
//
//===----------------------------------------------------------------------===//
#ifndef FE_CLI_TUNE_H
#define FE_CLI_TUNE_H

#include "cli/measure.h"
#include "kernel/schedules.h"

typedef fe_vec(fe_schedule_line) fe_lines;

/// Something that a schedule can say, with all that it decides in the model:
/// calls of a kernel, or of the kernels of some nodes.
typedef struct fe_unit {
  fe_chosen now;     // by the best schedule so far
  const char *names; // "conv.3", or the first of its nodes
  double share;      // of the model's time
  bool changing;     // in this round,
  unsigned knob;     // its number,
  int64_t value;     // from now.knob[knob] to this
} fe_unit;

typedef struct fe_tune {
  fe_cli *cli;
  fe_arena *arena;
  const char *model, *output;
  const char **inputs;
  int n_inputs, threads;
  const fe_target *target;
  fe_target target_storage;
  double seconds, end; // how long; until when, as of fe_now()
  fe_lines best;
  int file; // the schedule of the next compilation, in memory
  char path[32];
  fe_vec(fe_unit) units;
  fe_map by_name; // kernel or node -> 1 + number of the unit
  bool of_nodes;  // those of convolutions, else those of kernels
  fe_map tried;
  unsigned rounds, kept;
} fe_tune;

/// Lines with one more, or with one knob set otherwise.
void fe_tune_set(fe_tune *t, fe_lines *lines, const char *root, uint64_t key,
                 const char *knob, int64_t value);
/// Makes `lines` the schedule of c's options. An exit code.
int fe_tune_use(fe_tune *t, const fe_lines *lines);

/// Fills `units` with what can be chosen: how convolutions are done, or the
/// numbers of kernels, as of the best schedule. An exit code.
int fe_tune_units(fe_tune *t, bool of_nodes);
/// Takes the next neighbour that has not been tried for every unit that takes
/// some time; false: there is none.
bool fe_tune_neighbours(fe_tune *t);

/// Interleaved runs of two programs; ratios[unit][pair] of the time that `b`
/// takes to that of `a`, and in the last row, of number units.n, of all.
typedef struct fe_pairs {
  unsigned n;
  double *ratio;
} fe_pairs;
int fe_tune_compare(fe_tune *t, fe_loaded *a, fe_loaded *b, fe_pairs *out);
double fe_pairs_median(const fe_tune *t, const fe_pairs *p, size_t unit);
/// Faster by more than noise.
bool fe_pairs_better(const fe_tune *t, const fe_pairs *p, size_t unit);

/// Somebody wants it to end.
bool fe_tune_interrupted(void);
/// Time is up, or somebody wants it to end.
bool fe_tune_ends(const fe_tune *t);

#endif
