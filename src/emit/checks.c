//===- checks.c - conditions that end a run ----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A return from the middle of a function cannot be said in structured control
// flow. So a check is a call of a marker until loops and ifs have become
// branches; then its block is split there, with a branch to the block that
// returns the status.
//
//===----------------------------------------------------------------------===//
#include "../../runtime/run.h"
#include "emit/parts.h"

#include <string.h>

#define MARKER "fe.check"

//===-- Numbering -----------------------------------------------------------//

typedef struct numbering {
  fe_ir *ir;
  fe_map statuses; // message -> (void *)(status)
  fe_vec(const char *) messages;
  bool any, heap;
} numbering;

static bool is_call_of(MlirOperation op, const char *name) {
  MlirAttribute callee = fe_attr(op, "callee");
  if (mlirAttributeIsNull(callee) || !mlirAttributeIsAFlatSymbolRef(callee))
    return false;
  MlirStringRef s = mlirFlatSymbolRefAttrGetValue(callee);
  return s.length == strlen(name) && !memcmp(s.data, name, s.length);
}

/// Calls of the runtime, but for those that never allocate.
static bool takes_memory(MlirOperation op) {
  static const char *const modest[] = {"fe_rt_parallel", "fe_rt_profile",
                                       "fe_rt_free", "fe_rt_output",
                                       "fe_rt_amx_allow"};
  if (!fe_op_is(op, "llvm.call"))
    return false;
  for (size_t i = 0; i < FE_COUNT(modest); ++i)
    if (is_call_of(op, modest[i]))
      return false;
  return true;
}

static void number_check(MlirOperation op, void *user) {
  numbering *n = user;
  fe_ir *ir = n->ir;
  n->heap |= takes_memory(op);
  if (!fe_op_is(op, "krnl.check"))
    return;
  n->any = true;
  const char *message = fe_attr_str(ir->arena, op, "message", "check failed");
  // A status of its own says that the run has one.
  bool own = fe_has_attr(op, "status");
  intptr_t status = own ? (intptr_t)fe_attr_i64(op, "status", FE_RUN_STATUS)
                        : (intptr_t)fe_map_get(&n->statuses, message);
  if (!status) {
    fe_push(ir->arena, &n->messages, message);
    status = (intptr_t)n->messages.n;
    fe_map_set(ir->arena, &n->statuses, message, (void *)status);
  }
  fe_point_before(ir, op);
  MlirValue args[] = {fe_operand(op, 0), fe_int(ir, ir->i32, status)};
  fe_call(ir, MARKER, 2, args, 0, NULL);
  fe_erase(op);
}

void fe_checks_number(fe_ir *ir, MlirModule module, fe_model_info *info) {
  numbering n = {.ir = ir};
  fe_point outer = fe_point_save(ir);
  fe_walk(mlirModuleGetBody(module), number_check, &n);
  if (n.any)
    fe_func_declare(ir, module, MARKER, 2, (MlirType[]){ir->i1, ir->i32}, 0,
                    NULL);
  fe_point_restore(ir, outer);
  info->n_messages = (unsigned)n.messages.n;
  info->messages = n.messages.at;
  info->heap = n.heap;
}

//===-- Branches ------------------------------------------------------------//

static bool is_check(MlirOperation op) {
  return is_call_of(op, MARKER) || is_call_of(op, "fe_rt_alloc") ||
         is_call_of(op, "fe_rt_output");
}

/// Condition under which check `op` lets the run go on, and the status
/// otherwise; built after the op, the status last.
static void condition_of(fe_ir *ir, MlirOperation op, MlirValue *go_on,
                         MlirValue *status) {
  if (is_call_of(op, MARKER)) {
    *go_on = fe_operand(op, 0);
    *status = fe_operand(op, 1);
    return;
  }
  fe_point_after(ir, op);
  MlirValue null = fe_first(FE_OP(ir, "llvm.mlir.zero", FE_TYPES(ir->ptr)));
  *go_on = fe_first(FE_OP(ir, "llvm.icmp", FE_VALUES(fe_result(op, 0), null),
                          FE_TYPES(ir->i1),
                          FE_ATTRS(fe_at_i64(ir, "predicate", 1))));
  *status = fe_int(ir, ir->i32, FE_RUN_STATUS);
}

/// Moves what follows `op` in its block to a new block behind it.
static MlirBlock split_after(MlirOperation op) {
  MlirBlock block = mlirOperationGetBlock(op);
  MlirBlock rest = mlirBlockCreate(0, NULL, NULL);
  mlirRegionInsertOwnedBlockAfter(mlirBlockGetParentRegion(block), block, rest);
  for (;;) {
    MlirOperation next = mlirOperationGetNextInBlock(op);
    if (mlirOperationIsNull(next))
      return rest;
    mlirOperationRemoveFromParent(next);
    mlirBlockAppendOwnedOperation(rest, next);
  }
}

static void branch(fe_ir *ir, MlirBlock at, MlirValue go_on, MlirValue status,
                   MlirBlock rest, MlirBlock leave) {
  MlirOperationState state =
      mlirOperationStateGet(fe_str("cf.cond_br"), ir->loc);
  mlirOperationStateAddOperands(&state, 2, (MlirValue[]){go_on, status});
  mlirOperationStateAddSuccessors(&state, 2, (MlirBlock[]){rest, leave});
  MlirNamedAttribute segments = fe_named(
      ir, "operandSegmentSizes", fe_attr_parse(ir, "array<i32: 1, 0, 1>"));
  mlirOperationStateAddAttributes(&state, 1, &segments);
  mlirBlockAppendOwnedOperation(at, mlirOperationCreate(&state));
}

/// From the end of each block on, so that every op moves once.
static void branch_in(fe_ir *ir, MlirOperation func) {
  MlirRegion region = mlirOperationGetRegion(func, 0);
  MlirBlock leave = {NULL};
  for (MlirBlock b = mlirRegionGetFirstBlock(region), after;
       !mlirBlockIsNull(b); b = after) {
    after = mlirBlockGetNextInRegion(b);
    fe_vec(MlirOperation) ops = {0};
    for (MlirOperation op = mlirBlockGetFirstOperation(b);
         !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
      if (is_check(op))
        fe_push(ir->arena, &ops, op);
    while (ops.n) {
      MlirOperation op = ops.at[--ops.n];
      if (mlirBlockIsNull(leave)) {
        leave = mlirBlockCreate(1, &ir->i32, &ir->loc);
        mlirRegionAppendOwnedBlock(region, leave);
        fe_point_at_end(ir, leave);
        FE_OP(ir, "func.return", FE_VALUES(fe_block_arg(leave, 0)));
      }
      MlirValue go_on, status;
      condition_of(ir, op, &go_on, &status);
      bool marker = is_call_of(op, MARKER);
      MlirBlock rest = split_after(marker ? op : fe_def(status));
      branch(ir, b, go_on, status, rest, leave);
      if (marker)
        fe_erase(op);
    }
  }
}

void fe_checks_branch(fe_ir *ir, MlirModule module) {
  fe_point outer = fe_point_save(ir);
  MlirOperation marker = {NULL};
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (!fe_op_is(op, "func.func"))
      continue;
    if (!strcmp(fe_attr_str(ir->arena, op, "sym_name", ""), MARKER))
      marker = op;
    else if (!mlirBlockIsNull(
                 mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0))))
      branch_in(ir, op);
  }
  if (!mlirOperationIsNull(marker))
    fe_erase(marker);
  fe_point_restore(ir, outer);
}
