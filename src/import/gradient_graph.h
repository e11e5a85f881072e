//===- gradient_graph.h - reverse accumulation over ops ----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For gradient.c and gradient_region.c only.
//
//===----------------------------------------------------------------------===//
#ifndef FE_IMPORT_GRADIENT_GRAPH_H
#define FE_IMPORT_GRADIENT_GRAPH_H

#include "import/gradient.h"

typedef struct fe_gradient {
  fe_call_site *c;
  fe_ir *ir;
  fe_arena *arena;
  MlirBlock inside; // ops elsewhere are not looked at; null: all are
  size_t n_x, n_z;
  MlirValue *named;          // x, then z
  fe_map names;              // the first n_noted of them
  size_t n_noted;
  fe_map needs;              // op or named value -> itself: y may vary with it
  fe_map visited;            // ops
  fe_map copies;             // ops that depend on a named value
  fe_map captured;           // op with regions -> fe_captured
  fe_map sums;               // value -> derivative of y by it
  fe_vec(MlirOperation) ops; // each after those it depends on
} fe_gradient;

bool fe_gradient_needs(const fe_gradient *g, MlirValue v);
/// Puts the ops that `y` comes from into order, behind those that are there.
void fe_gradient_collect(fe_gradient *g, MlirValue y);
/// Adds d to the derivative by v; reports nothing.
FE_NODISCARD fe_status fe_gradient_add(fe_gradient *g, MlirValue v,
                                       MlirValue d);
/// Null: nothing was added.
MlirValue fe_gradient_sum(const fe_gradient *g, MlirValue v);
/// Backwards through g->ops, from the derivatives that are there.
FE_NODISCARD fe_status fe_gradient_accumulate(fe_gradient *g);
/// By one op.
FE_NODISCARD fe_status fe_gradient_through(fe_gradient *g, MlirOperation op);

/// Operands, then what its regions use of what is outside.
unsigned fe_gradient_n_in(fe_gradient *g, MlirOperation op);
MlirValue fe_gradient_in(fe_gradient *g, MlirOperation op, unsigned i);

/// A copy of op at the insertion point; `now` says what stands for values, in
/// its regions too, and gets the results.
MlirOperation fe_gradient_copy(fe_ir *ir, MlirOperation op, fe_map *now);

/// The derivatives of scf.if and scf.while. *known: whether they are; then
/// nothing was reported.
FE_NODISCARD fe_status fe_gradient_of_region(fe_gradient *g, MlirOperation op,
                                             bool *known);
/// Of what import makes around loops: casts, stacks.
FE_NODISCARD fe_status fe_gradient_of_frame(fe_gradient *g, MlirOperation op,
                                            MlirValue dy, bool *known);

#endif
