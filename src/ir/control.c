//===- control.c - loops and branches ----------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scf.for, scf.if and scf.while with their regions. When an operation could
// not be made, its region is null and code for the body goes on at the outer
// insertion point, where nobody will look at it.
//
//===----------------------------------------------------------------------===//
#include "ir/ir.h"

static MlirBlock add_block(fe_ir *ir, MlirOperation op, unsigned region,
                           unsigned n, const MlirType *types) {
  MlirBlock b = mlirBlockCreate(0, NULL, NULL);
  for (unsigned i = 0; i < n; i++)
    mlirBlockAddArgument(b, types[i], ir->loc);
  mlirRegionAppendOwnedBlock(mlirOperationGetRegion(op, region), b);
  return b;
}

/// Types of values, null where a value is; room for one more in front.
static MlirType *types_of(fe_ir *ir, unsigned n, const MlirValue *v) {
  MlirType *types = FE_NEW_N(ir->arena, MlirType, n + 1);
  for (unsigned i = 0; i < n; i++)
    if (!mlirValueIsNull(v[i]))
      types[i + 1] = mlirValueGetType(v[i]);
  return types;
}

static void end_block(fe_ir *ir, fe_region *r, const char *terminator,
                      unsigned n, const MlirValue *yield) {
  if (mlirOperationIsNull(r->op))
    return;
  FE_OP(ir, terminator, .n_operands = n, .operands = yield);
}

static void leave(fe_ir *ir, fe_region *r) { fe_point_restore(ir, r->outer); }

static void enter(fe_ir *ir, fe_region *r, MlirBlock b) {
  r->body = b;
  fe_point_at_end(ir, b);
}

//===-- scf.for -------------------------------------------------------------//

fe_region fe_for_begin(fe_ir *ir, MlirValue lb, MlirValue ub, MlirValue step,
                       unsigned n_iter, const MlirValue *init) {
  fe_region r = {.outer = fe_point_save(ir)};
  MlirType *types = types_of(ir, n_iter, init);
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, n_iter + 3);
  operands[0] = lb;
  operands[1] = ub;
  operands[2] = step;
  for (unsigned i = 0; i < n_iter; i++)
    operands[3 + i] = init[i];
  r.op = FE_OP(ir, "scf.for", .n_operands = n_iter + 3, .operands = operands,
               .n_results = n_iter, .results = types + 1, .n_regions = 1);
  if (mlirOperationIsNull(r.op))
    return r;
  types[0] = mlirValueGetType(lb);
  enter(ir, &r, add_block(ir, r.op, 0, n_iter + 1, types));
  r.iv = fe_block_arg(r.body, 0);
  return r;
}

void fe_for_end(fe_ir *ir, fe_region *r, unsigned n, const MlirValue *yield) {
  end_block(ir, r, "scf.yield", n, yield);
  leave(ir, r);
}

fe_region fe_loop(fe_ir *ir, MlirValue n) {
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  return fe_for_begin(ir, zero, n, one, 0, NULL);
}

void fe_loop_end(fe_ir *ir, fe_region *r) { fe_for_end(ir, r, 0, NULL); }

//===-- scf.if --------------------------------------------------------------//

fe_region fe_if_begin(fe_ir *ir, MlirValue cond, unsigned n_results,
                      const MlirType *results, bool has_else) {
  fe_region r = {.outer = fe_point_save(ir)};
  r.op = FE_OP(ir, "scf.if", FE_VALUES(cond), .n_results = n_results,
               .results = results, .n_regions = 2);
  if (mlirOperationIsNull(r.op))
    return r;
  if (has_else)
    add_block(ir, r.op, 1, 0, NULL);
  enter(ir, &r, add_block(ir, r.op, 0, 0, NULL));
  return r;
}

void fe_if_else(fe_ir *ir, fe_region *r, unsigned n, const MlirValue *yield) {
  if (mlirOperationIsNull(r->op))
    return;
  end_block(ir, r, "scf.yield", n, yield);
  MlirBlock other = fe_region_block(r->op, 1);
  if (mlirBlockIsNull(other)) {
    fe_ir_fail(ir, "scf.if: begun without else");
    return;
  }
  enter(ir, r, other);
}

void fe_if_end(fe_ir *ir, fe_region *r, unsigned n, const MlirValue *yield) {
  end_block(ir, r, "scf.yield", n, yield);
  leave(ir, r);
}

//===-- scf.while -----------------------------------------------------------//

static MlirOperation make_while(fe_ir *ir, unsigned n, const MlirValue *init,
                                unsigned n_results, const MlirType *results) {
  return FE_OP(ir, "scf.while", .n_operands = n, .operands = init,
               .n_results = n_results, .results = results, .n_regions = 2);
}

fe_region fe_while_begin(fe_ir *ir, unsigned n, const MlirValue *init) {
  fe_region r = {.outer = fe_point_save(ir)};
  MlirType *types = types_of(ir, n, init) + 1;
  r.op = make_while(ir, n, init, n, types);
  if (!mlirOperationIsNull(r.op))
    enter(ir, &r, add_block(ir, r.op, 0, n, types));
  return r;
}

void fe_while_do(fe_ir *ir, fe_region *r, MlirValue cond, unsigned n,
                 const MlirValue *args) {
  if (mlirOperationIsNull(r->op))
    return;
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, n + 1);
  operands[0] = cond;
  for (unsigned i = 0; i < n; i++)
    operands[1 + i] = args[i];
  if (mlirOperationIsNull(FE_OP(ir, "scf.condition", .n_operands = n + 1,
                                .operands = operands)))
    return;
  MlirType *types = types_of(ir, n, args) + 1;
  // The results are what the condition passes on, known only now: the op made
  // so far had the types of the initial values.
  bool same = n == fe_n_results(r->op);
  for (unsigned i = 0; same && i < n; i++)
    same = mlirTypeEqual(types[i], mlirValueGetType(fe_result(r->op, i)));
  if (!same) {
    unsigned n_init = fe_n_operands(r->op);
    MlirValue *init = FE_NEW_N(ir->arena, MlirValue, n_init + 1);
    for (unsigned i = 0; i < n_init; i++)
      init[i] = fe_operand(r->op, i);
    fe_point_before(ir, r->op);
    MlirOperation op = make_while(ir, n_init, init, n, types);
    mlirRegionTakeBody(mlirOperationGetRegion(op, 0),
                       mlirOperationGetRegion(r->op, 0));
    mlirOperationDestroy(r->op);
    r->op = op;
  }
  enter(ir, r, add_block(ir, r->op, 1, n, types));
}

void fe_while_end(fe_ir *ir, fe_region *r, unsigned n, const MlirValue *yield) {
  end_block(ir, r, "scf.yield", n, yield);
  leave(ir, r);
}

MlirValue fe_extract_scalar(fe_ir *ir, MlirValue v) {
  MlirValue operands[1 + FE_MAX_RANK] = {v};
  unsigned rank = fe_rank(v);
  for (unsigned i = 0; i < rank; i++)
    operands[1 + i] = fe_index(ir, 0);
  return fe_first(FE_OP(ir, "tensor.extract", .n_operands = 1 + rank,
                        .operands = operands, FE_TYPES(fe_elem_of(v))));
}
