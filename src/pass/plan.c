//===- plan.c - tensors become addresses -------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phase `plan`. Needs main as host code and calls of kernels, kernels in
// memref form. Leaves main(inputs, outputs, arena, run), arena_size(symbols)
// and the module's attributes that describe the model; kernels are untouched.
// See docs/architecture.md and plan.h for the order of work.
//
//===----------------------------------------------------------------------===//
#include "pass/plan.h"

#include "pass/pass.h"

static void find_kernels(fe_plan_state *s) {
  MlirBlock body = mlirModuleGetBody(s->module);
  for (MlirOperation op = mlirBlockGetFirstOperation(body);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    if (fe_op_is(op, "func.func"))
      fe_map_set(s->ir->arena, &s->kernels,
                 fe_attr_str(s->ir->arena, op, "sym_name", ""), op.ptr);
}

/// Kernels that nothing calls any more.
static void drop_kernels(fe_plan_state *s) {
  for (size_t i = 0; i < s->kernels.n; ++i) {
    MlirOperation op = {s->kernels.entries[i].value};
    const char *name = fe_attr_str(s->ir->arena, op, "sym_name", "");
    if (fe_has_attr(op, "krnl.kernel") &&
        !fe_map_get(&s->declared, fe_printf(s->ir->arena, "%s.part", name)))
      mlirOperationDestroy(op);
  }
}

fe_status fe_plan(fe_ir *ir, MlirModule module, fe_weights *weights) {
  fe_plan_state *s = FE_NEW(ir->arena, fe_plan_state);
  s->ir = ir;
  s->module = module;
  s->weights = weights ? weights : FE_NEW(ir->arena, fe_weights);
  s->func = fe_func_find(module, "main");
  s->top =
      mlirOperationIsNull(s->func) ? (MlirBlock){NULL} : fe_func_block(s->func);
  if (mlirBlockIsNull(s->top) || !fe_op_is(s->func, "func.func") ||
      !fe_op_is(fe_terminator(s->top), "func.return")) {
    fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
              "the module has no function main to plan");
    return FE_FAILED;
  }
  s->ret = fe_terminator(s->top);
  s->n_inputs = (unsigned)mlirBlockGetNumArguments(s->top);
  s->n_outputs = fe_n_operands(s->ret);
  find_kernels(s);
  if (fe_plan_inputs(s) || fe_plan_live(s) || fe_plan_emit(s))
    return FE_FAILED;
  fe_plan_describe(s);
  drop_kernels(s); // while main, which is in the map too, is there
  mlirOperationDestroy(s->func);
  if (ir->failed)
    return FE_OK; // the caller reports that, as after every pass
  const char *const names[] = {"main", "arena_size"};
  for (unsigned i = 0; i < FE_COUNT(names); ++i)
    if (fe_run_passes(ir, fe_func_find(module, names[i]), "func.func(cse)"))
      return FE_FAILED;
  return FE_OK;
}
