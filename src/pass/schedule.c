//===- schedule.c - kernels in tensor form to loops over memory -----------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kernel that `group` outlined is handed to the generator of its root.
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"
#include "pass/pass.h"

fe_status fe_pass_schedule(fe_ir *ir, MlirModule *module,
                           const fe_pass_options *o) {
  fe_status status = FE_OK;
  fe_point saved = fe_point_save(ir);
  MlirOperation next;
  for (MlirOperation op =
           mlirBlockGetFirstOperation(mlirModuleGetBody(*module));
       !mlirOperationIsNull(op); op = next) {
    next = mlirOperationGetNextInBlock(op);
    const char *root = fe_attr_str(ir->arena, op, "krnl.root", NULL);
    if (!fe_has_attr(op, "krnl.kernel") || !root)
      continue;
    const fe_generator *g = fe_generator_find(root);
    ir->loc = mlirOperationGetLocation(op);
    if (!g) {
      fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
                "no generator for kernels of krnl.%s", root);
      status = FE_FAILED;
    } else if (g->generate(ir, o->target, *module, op) != FE_OK) {
      status = FE_FAILED;
    }
  }
  fe_point_restore(ir, saved);
  return status;
}
