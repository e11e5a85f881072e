//===- ir.c - tests of the checked layer over MLIR ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every helper is used on good operands, in functions that are verified and
// lowered to LLVM IR, and on null operands, which must not crash.
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "ir/ir.h"

#include <llvm-c/Core.h>
#include <mlir-c/Target/LLVMIR.h>
#include <string.h>

static const char irdl[] = "irdl.dialect @onnx {\n"
                           "  irdl.operation @relu {\n"
                           "    %0 = irdl.any\n"
                           "    irdl.operands(x: %0)\n"
                           "    irdl.results(y: %0)\n"
                           "  }\n"
                           "}\n";

static const char lowering[] =
    "builtin.module(convert-linalg-to-loops,canonicalize,cse,"
    "convert-vector-to-scf,convert-scf-to-cf,expand-strided-metadata,"
    "lower-affine,convert-vector-to-llvm{reassociate-fp-reductions=1},"
    "finalize-memref-to-llvm,convert-math-to-llvm,convert-math-to-libm,"
    "convert-func-to-llvm,convert-to-llvm,reconcile-unrealized-casts)";

typedef struct fixture {
  unit *u;
  fe_ir ir;
  fe_blobs blobs;
  MlirModule m;
} fixture;

static fixture *begin(void) {
  unit *u = unit_begin();
  fixture *f = FE_NEW(u->arena, fixture);
  f->u = u;
  f->blobs.arena = u->arena;
  const char *text = irdl;
  MlirContext ctx = fe_context_create(&u->diags, &text, 1);
  assert_non_null(ctx.ptr);
  fe_ir_init(&f->ir, ctx, u->arena, &u->diags, &f->blobs);
  f->m = mlirModuleCreateEmpty(f->ir.loc);
  return f;
}

static void end(fixture *f) {
  mlirModuleDestroy(f->m);
  mlirContextDestroy(f->ir.ctx);
  unit_end(f->u);
}

/// Verifies the module, lowers it and gives LLVM IR as text.
static const char *to_llvm(fixture *f) {
  fe_status ok = fe_ir_ok(&f->ir, "test", f->m);
  if (ok != FE_OK)
    print_error("%s\n%s\n", f->u->messages->at,
                f->ir.failed ? f->ir.failure : "");
  assert_int_equal(ok, FE_OK);
  MlirOperation op = mlirModuleGetOperation(f->m);
  ok = fe_run_passes(&f->ir, op, lowering);
  if (ok != FE_OK)
    print_error("%s\n", f->u->messages->at);
  assert_int_equal(ok, FE_OK);
  LLVMContextRef lc = LLVMContextCreate();
  LLVMModuleRef lm = mlirTranslateModuleToLLVMIR(op, lc);
  if (!lm)
    print_error("%s\n", f->u->messages->at);
  assert_non_null(lm);
  char *text = LLVMPrintModuleToString(lm);
  const char *copy = fe_strdup(f->u->arena, text);
  LLVMDisposeMessage(text);
  LLVMDisposeModule(lm);
  LLVMContextDispose(lc);
  assert_int_equal(f->u->diags.errors, 0);
  return copy;
}

static void smoke(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  int64_t dims[] = {FE_DYN};
  MlirType m = fe_memref_type(ir, ir->f32, 1, dims);
  MlirOperation func = fe_func_begin(ir, f->m, "k", false, 1, &m);
  MlirValue x = fe_block_arg(ir->block, 0);
  fe_region loop = fe_loop(ir, fe_dim(ir, x, 0));
  MlirValue v = fe_load(ir, x, FE_IDX(loop.iv));
  fe_store(ir, fe_add(ir, v, v), x, FE_IDX(loop.iv));
  fe_loop_end(ir, &loop);
  fe_func_end(ir, func, 0, NULL);
  assert_non_null(strstr(to_llvm(f), "fadd contract float"));
  end(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(smoke)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
