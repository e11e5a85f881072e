//===- jit.h - functions of the IR layer, compiled and called -----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module under construction, its lowering to LLVM IR, and its address.
//
//===----------------------------------------------------------------------===//
#ifndef FE_TEST_JIT_H
#define FE_TEST_JIT_H

#include "unit.h"

#include "ir/ir.h"

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>
#include <mlir-c/Target/LLVMIR.h>
#include <string.h>

static const char unit_irdl[] = "irdl.dialect @onnx {\n"
                                "  irdl.operation @relu {\n"
                                "    %0 = irdl.any\n"
                                "    irdl.operands(x: %0)\n"
                                "    irdl.results(y: %0)\n"
                                "  }\n"
                                "}\n";

static const char unit_lowering[] =
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
  LLVMOrcLLJITRef jit;
} fixture;

static inline fixture *begin(void) {
  unit *u = unit_begin();
  fixture *f = FE_NEW(u->arena, fixture);
  f->u = u;
  f->blobs.arena = u->arena;
  const char *text = unit_irdl;
  MlirContext ctx = fe_context_create(&u->diags, &text, 1);
  assert_non_null(ctx.ptr);
  fe_ir_init(&f->ir, ctx, u->arena, &u->diags, &f->blobs);
  f->m = mlirModuleCreateEmpty(f->ir.loc);
  return f;
}

static inline void end(fixture *f) {
  if (f->jit)
    LLVMConsumeError(LLVMOrcDisposeLLJIT(f->jit));
  mlirModuleDestroy(f->m);
  mlirContextDestroy(f->ir.ctx);
  unit_end(f->u);
}

static inline void expect_ok(fixture *f, fe_status ok) {
  if (ok != FE_OK)
    print_error("%s\n%s\n", f->u->messages->at,
                f->ir.failed ? f->ir.failure : "");
  assert_int_equal(ok, FE_OK);
  assert_int_equal(f->u->diags.errors, 0);
}

/// Verifies the module, lowers it, compiles it, gives the address of `name`.
static inline void *compile(fixture *f, const char *name) {
  expect_ok(f, fe_ir_ok(&f->ir, "test", f->m));
  MlirOperation op = mlirModuleGetOperation(f->m);
  expect_ok(f, fe_run_passes(&f->ir, op, unit_lowering));
  LLVMOrcThreadSafeContextRef tsc = LLVMOrcCreateNewThreadSafeContext();
  LLVMContextRef lc = LLVMContextCreate();
  LLVMOrcDisposeThreadSafeContext(tsc);
  tsc = LLVMOrcCreateNewThreadSafeContextFromLLVMContext(lc);
  LLVMModuleRef lm = mlirTranslateModuleToLLVMIR(op, lc);
  if (!lm)
    print_error("%s\n", f->u->messages->at);
  assert_non_null(lm);
  assert_int_equal(f->u->diags.errors, 0);
  LLVMErrorRef e = LLVMOrcCreateLLJIT(&f->jit, NULL);
  assert_null(e);
  e = LLVMOrcLLJITAddLLVMIRModule(f->jit, LLVMOrcLLJITGetMainJITDylib(f->jit),
                                  LLVMOrcCreateNewThreadSafeModule(lm, tsc));
  assert_null(e);
  LLVMOrcDisposeThreadSafeContext(tsc);
  LLVMOrcDefinitionGeneratorRef process;
  e = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
      &process, LLVMOrcLLJITGetGlobalPrefix(f->jit), NULL, NULL);
  assert_null(e);
  LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(f->jit), process);
  LLVMOrcExecutorAddress at;
  e = LLVMOrcLLJITLookup(f->jit, &at, name);
  if (e)
    print_error("%s\n", LLVMGetErrorMessage(e));
  assert_null(e);
  return (void *)(uintptr_t)at;
}

static inline MlirType flat(fe_ir *ir, MlirType elem) {
  return fe_memref_type(ir, elem, 1, (int64_t[]){FE_DYN});
}

/// How a memref<?xT> is passed.
#define FLAT_PARAMS void *, void *, int64_t, int64_t, int64_t
#define FLAT(array, n) (array), (array), 0, (n), 1

/// What a test program needs once.
static inline void jit_init(void) {
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
}

#endif
