//===- schedules.h - choices kept in a file ----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule file says, for single kernels on one processor, what else to
// choose than the generators would (docs/design/schedules.md). Text, a line per
// kernel:
//
//   ferrule schedule 1
//   znver5 contract 09f3a1c27be4d856 k_block=0 row_block=128 rows=6
//
// processor, root, key (a hash of the kernel's structure), knobs. Beside
// kernels there is the root `convolution`: how an onnx.conv becomes kernels.
//
//===----------------------------------------------------------------------===//
#ifndef FE_SCHEDULES_H
#define FE_SCHEDULES_H

#include "base/base.h"
#include "target/target.h"

/// How the values of a knob lie: which ones are neighbours.
typedef enum fe_knob_kind {
  FE_KNOB_CHOICE, // no order
  FE_KNOB_EVEN,   // no order, even numbers only
  FE_KNOB_COUNT,  // one more or less
  FE_KNOB_SIZE    // twice or half
} fe_knob_kind;

/// All knobs there are. `low`..`high`: what is admitted; a generator may refuse
/// combinations.
typedef struct fe_knob_info {
  const char *root, *name;
  int64_t low, high;
  fe_knob_kind kind;
} fe_knob_info;
extern const fe_knob_info fe_knob_infos[]; // ends with a NULL root
const fe_knob_info *fe_knob_info_find(const char *root, const char *name);
/// " rows row_block k_block"; "" for a root without knobs.
const char *fe_knob_names(fe_arena *arena, const char *root);

#define FE_MAX_KNOBS 8
typedef struct fe_knob_value {
  const char *name;
  int64_t value;
} fe_knob_value;
/// A line of a file.
typedef struct fe_schedule_line {
  const char *cpu, *root;
  uint64_t key;
  unsigned line; // its number
  bool used;
  unsigned n;
  fe_knob_value knob[FE_MAX_KNOBS]; // by name
} fe_schedule_line;

/// What has been chosen for something that a schedule could say.
typedef struct fe_chosen {
  const char *root;
  uint64_t key;
  const char *kernel, *node; // "conv.3"; either may be NULL
  unsigned n;
  fe_knob_value knob[FE_MAX_KNOBS];
} fe_chosen;

typedef struct fe_schedules {
  fe_arena *arena;
  const char *path;
  fe_vec(fe_schedule_line) lines;
  fe_map index;
  fe_vec(fe_chosen) chosen; // filled by the passes, in the model's order
} fe_schedules;

/// Reads the text of a file. Reports what is wrong, with its line.
FE_NODISCARD fe_status fe_schedules_read(fe_schedules *s, fe_diags *diags,
                                         fe_arena *arena, const char *path,
                                         const void *text, size_t size);
/// NULL: nothing is said (or there are no schedules). Marks it as used.
const fe_schedule_line *fe_schedules_find(fe_schedules *s,
                                          const fe_target *target,
                                          const char *root, uint64_t key);
/// Sets *value to what the line (may be NULL) says of the knob, if it does.
void fe_schedule_take(const fe_schedule_line *line, const char *name,
                      int64_t *value);
/// "FILE:LINE", for messages.
const char *fe_schedule_place(const fe_schedules *s,
                              const fe_schedule_line *line);
void fe_schedules_note(fe_schedules *s, const fe_chosen *chosen);
/// Lines that nothing has asked for.
size_t fe_schedules_unused(const fe_schedules *s);
/// A file with these lines, sorted.
char *fe_schedules_text(fe_arena *arena, size_t n,
                        const fe_schedule_line *lines);

#endif
