//===- explain.h - what compile --explain knows ------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_CLI_EXPLAIN_H
#define FE_CLI_EXPLAIN_H

#include "api/session.h"
#include "kernel/cost.h"

/// A call of a kernel.
typedef struct fe_layer {
  const char *kernel, *algorithm, *plan; // plan may be NULL
  unsigned n_nodes;
  const char **nodes;
  bool known; // sizes, and so `expected`
  fe_cost_work work;
  fe_cost expected;
  double ms, gflops; // measured, per run; 0: not
} fe_layer;

typedef struct fe_explained {
  fe_session *s;
  fe_vec(fe_layer) layers;
  bool measured;
  double roof; // GFLOP/s of one core, 0: not measured
  double runs;
  const ferrule_profile_entry *entries;
  size_t n_entries, next;
} fe_explained;

/// What this core can do for the layer at most, in GFLOP/s.
double fe_explained_roof(const fe_explained *e, const fe_layer *l);
/// Cycles per nanosecond that the roof means; 0: not known.
double fe_explained_clock(const fe_explained *e);
void fe_explain_table(const fe_explained *e);
void fe_explain_json(const fe_explained *e);

#endif
