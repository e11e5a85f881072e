//===- generic.h - reading and merging linalg.generic ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_PASS_GENERIC_H
#define FE_PASS_GENERIC_H

#include "ir/ir.h"

unsigned fe_generic_n_iters(MlirOperation op);
MlirAffineMap fe_generic_map(MlirOperation op, unsigned operand);
bool fe_generic_iter_parallel(fe_ir *ir, MlirOperation op, unsigned iter);
bool fe_generic_is_parallel(fe_ir *ir, MlirOperation op); // all iterators
/// Every result of the map is a distinct iterator, or 0.
bool fe_map_is_projection(MlirAffineMap map);
/// Copy of the op's region, operands from outside unchanged.
MlirRegion fe_generic_clone_body(fe_ir *ir, MlirOperation op);

/// Several generics over one iteration space as one. `ops` in order; where one
/// reads another's result it reads by the identity. `outs` are the results
/// wanted, `dest` their destinations; `inside` maps outer values (tensors,
/// scalars) to those to be used, and receives cloned constants.
typedef struct fe_generic_merge {
  unsigned n, n_outs;
  const MlirOperation *ops;
  const MlirValue *outs;
  MlirValue *dest;
  fe_map *inside;
} fe_generic_merge;
MlirOperation fe_generic_merge_ops(fe_ir *ir, const fe_generic_merge *m);

#endif
