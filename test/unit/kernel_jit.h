//===- kernel_jit.h - compiling one kernel in this process -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tests and benchmarks of the generators: text of a kernel in tensor form
// in, a function that takes arrays out. Not the way models are compiled.
//
//===----------------------------------------------------------------------===//
#ifndef FE_TEST_KERNEL_JIT_H
#define FE_TEST_KERNEL_JIT_H

#include "kernel/kernel.h"
#include "op/op.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <mlir-c/Target/LLVMIR.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KJ_MAX_ARGS 8

/// Processor time: for measurements on machines that do other things, too.
static inline double kj_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/// A tensor argument: MLIR's descriptor of a memref.
typedef struct kj_array {
  void *base, *data;
  int64_t offset, numbers[2 * FE_MAX_RANK]; // sizes, then strides
} kj_array;

typedef struct kernel_jit {
  LLVMOrcLLJITRef jit;
  void *function;
  int64_t items; // not for dynamic shapes: kj_items
  MlirAffineExpr extent;
  const char *asm_path; // where to write assembly; NULL: nowhere
} kernel_jit;

static inline kj_array kj_make(void *data, unsigned rank, const int64_t *dims) {
  kj_array a = {.base = data, .data = data};
  int64_t stride = 1;
  for (unsigned i = rank; i-- > 0; stride *= dims[i]) {
    a.numbers[i] = dims[i];
    a.numbers[rank + i] = stride;
  }
  return a;
}

static inline void kj_die(const char *what, LLVMErrorRef e) {
  if (!e)
    return;
  fprintf(stderr, "%s: %s\n", what, LLVMGetErrorMessage(e));
  exit(1);
}

/// Every pointer argument but the unused first one of a descriptor.
static inline void kj_noalias(LLVMContextRef c, LLVMValueRef f) {
  unsigned kind = LLVMGetEnumAttributeKindForName("noalias", 7);
  bool second = false;
  for (unsigned i = 0, n = LLVMCountParams(f); i < n; ++i) {
    LLVMTypeRef t = LLVMTypeOf(LLVMGetParam(f, i));
    if (LLVMGetTypeKind(t) != LLVMPointerTypeKind)
      continue;
    if (second)
      LLVMAddAttributeAtIndex(f, i + 1, LLVMCreateEnumAttribute(c, kind, 0));
    second = !second;
  }
}

static inline LLVMTargetMachineRef kj_machine(const fe_target *t) {
  LLVMTargetRef target;
  char *error = NULL;
  if (LLVMGetTargetFromTriple(t->triple, &target, &error)) {
    fprintf(stderr, "%s\n", error);
    exit(1);
  }
  return LLVMCreateTargetMachine(target, t->triple, t->cpu, t->features,
                                 LLVMCodeGenLevelAggressive, LLVMRelocPIC,
                                 LLVMCodeModelDefault);
}

static const char kj_pipeline[] =
    "builtin.module(canonicalize,cse,convert-scf-to-cf,expand-strided-metadata,"
    "lower-affine,convert-vector-to-llvm{reassociate-fp-reductions=1},"
    "finalize-memref-to-llvm,convert-math-to-llvm,convert-math-to-libm,"
    "convert-func-to-llvm,convert-to-llvm,reconcile-unrealized-casts)";

/// As emit does: loops around vector.fma are not unrolled any further.
static inline void kj_keep_rolled(MlirOperation op, void *user) {
  fe_ir *ir = user;
  if (!fe_op_is(op, "scf.for"))
    return;
  MlirOperation in = mlirBlockGetFirstOperation(fe_region_block(op, 0));
  while (!mlirOperationIsNull(in) && !fe_op_is(in, "vector.fma"))
    in = mlirOperationGetNextInBlock(in);
  if (!mlirOperationIsNull(in))
    fe_set_attr(ir, op,
                fe_named(ir, "llvm.loop_annotation",
                         fe_attr_parse(ir, "#llvm.loop_annotation<unroll = "
                                           "<disable = true>>")));
}
static inline MlirWalkResult kj_annotate(MlirOperation op, void *user) {
  (void)user;
  MlirAttribute a = mlirOperationGetDiscardableAttributeByName(
      op, fe_str("llvm.loop_annotation"));
  if (!mlirAttributeIsNull(a) && fe_op_in(op, "llvm"))
    mlirOperationSetInherentAttributeByName(op, fe_str("loop_annotation"), a);
  return MlirWalkResultAdvance;
}

extern const unsigned char fe_runtime_math_bc[];
extern const size_t fe_runtime_math_bc_size;

/// Math functions are inlined from the runtime's library, as in models.
static inline void kj_link_math(LLVMContextRef c, LLVMModuleRef module) {
  static const char *const names[] = {"llvm.exp.f32", "llvm.log.f32", "logf",
                                      "erff",         "tanhf",        "expf"};
  bool needed = false;
  for (unsigned i = 0; i < FE_COUNT(names); ++i)
    needed |= LLVMGetNamedFunction(module, names[i]) != NULL;
  if (!needed)
    return;
  LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRange(
      (const char *)fe_runtime_math_bc, fe_runtime_math_bc_size, "math", 0);
  LLVMModuleRef math;
  if (LLVMParseBitcodeInContext2(c, text, &math) ||
      LLVMLinkModules2(module, math))
    exit(1);
  LLVMDisposeMemoryBuffer(text);
  unsigned inlined = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
       f = LLVMGetNextFunction(f)) {
    size_t n;
    char own[64] = "", base[48] = "";
    const char *name = LLVMGetValueName2(f, &n);
    if (!strncmp(name, "fe_", 3)) {
      LLVMSetLinkage(f, LLVMInternalLinkage);
      LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                              LLVMCreateEnumAttribute(c, inlined, 0));
      continue;
    }
    if (!LLVMIsDeclaration(f))
      continue;
    if (sscanf(name, "llvm.%40[a-z0-9].f32", base) == 1)
      snprintf(own, sizeof own, "fe_%sf", base);
    else
      snprintf(own, sizeof own, "fe_%.50s", name);
    LLVMValueRef to = LLVMGetNamedFunction(module, own);
    if (to)
      LLVMReplaceAllUsesWith(f, to);
  }
}

/// Generates and compiles function `name` of the text; false: reported.
static inline bool kj_compile(kernel_jit *k, fe_ir *ir, const fe_target *t,
                              const char *text, const char *name) {
  MlirModule m = fe_parse(ir, text, "kernel");
  if (mlirModuleIsNull(m))
    return false;
  MlirOperation f = fe_func_find(m, name);
  const fe_generator *g =
      fe_generator_find(fe_attr_str(ir->arena, f, "krnl.root", NULL));
  if (!g || g->generate(ir, t, m, f) || fe_ir_ok(ir, "schedule", m))
    return false;
  if (getenv("KJ_DUMP"))
    fprintf(stderr, "%s\n", fe_print(ir->arena, mlirModuleGetOperation(m)));
  f = fe_func_find(m, name);
  MlirAffineMap extent = mlirAffineMapAttrGetValue(fe_attr(f, "krnl.extent"));
  MlirAffineExpr items = mlirAffineMapGetResult(extent, 0);
  k->extent = items;
  k->items = mlirAffineExprIsAConstant(items)
                 ? mlirAffineConstantExprGetValue(items)
                 : -1;
  fe_set_attr(ir, f, fe_at_unit(ir, "llvm.emit_c_interface"));
  fe_set_attr(ir, f, fe_at_str(ir, "sym_visibility", "public"));
  fe_walk(mlirModuleGetBody(m), kj_keep_rolled, ir);
  if (fe_run_passes(ir, mlirModuleGetOperation(m), kj_pipeline))
    return false;
  mlirOperationWalk(mlirModuleGetOperation(m), kj_annotate, NULL,
                    MlirWalkPostOrder);

  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  LLVMOrcThreadSafeContextRef tsc;
  LLVMContextRef c = LLVMContextCreate();
  LLVMModuleRef module =
      mlirTranslateModuleToLLVMIR(mlirModuleGetOperation(m), c);
  mlirModuleDestroy(m);
  if (!module)
    return false;
  LLVMTargetMachineRef tm = kj_machine(t);
  LLVMSetTarget(module, t->triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
  LLVMSetModuleDataLayout(module, layout);
  kj_link_math(c, module);
  for (LLVMValueRef v = LLVMGetFirstFunction(module); v;
       v = LLVMGetNextFunction(v)) {
    size_t n;
    if (!strcmp(LLVMGetValueName2(v, &n), name))
      kj_noalias(c, v);
    LLVMAddTargetDependentFunctionAttr(v, "target-cpu", t->cpu);
    LLVMAddTargetDependentFunctionAttr(v, "target-features", t->features);
  }
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  kj_die("passes", LLVMRunPasses(module, "default<O3>", tm, options));
  if (k->asm_path) {
    char *error = NULL;
    if (LLVMTargetMachineEmitToFile(tm, module, (char *)k->asm_path,
                                    LLVMAssemblyFile, &error))
      fprintf(stderr, "%s\n", error);
  }
  LLVMDisposePassBuilderOptions(options);
  LLVMOrcJITTargetMachineBuilderRef builder =
      LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(tm);
  LLVMOrcLLJITBuilderRef jb = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(jb, builder);
  kj_die("jit", LLVMOrcCreateLLJIT(&k->jit, jb));
  LLVMOrcDefinitionGeneratorRef symbols;
  kj_die("symbols",
         LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
             &symbols, LLVMOrcLLJITGetGlobalPrefix(k->jit), NULL, NULL));
  LLVMOrcJITDylibRef lib = LLVMOrcLLJITGetMainJITDylib(k->jit);
  LLVMOrcJITDylibAddGenerator(lib, symbols);
  tsc = LLVMOrcCreateNewThreadSafeContextFromLLVMContext(c);
  kj_die("add",
         LLVMOrcLLJITAddLLVMIRModule(
             k->jit, lib, LLVMOrcCreateNewThreadSafeModule(module, tsc)));
  LLVMOrcDisposeThreadSafeContext(tsc);
  LLVMOrcExecutorAddress address;
  kj_die("lookup",
         LLVMOrcLLJITLookup(k->jit, &address,
                            fe_printf(ir->arena, "_mlir_ciface_%s", name)));
  k->function = (void *)(uintptr_t)address;
  LLVMDisposeTargetData(layout);
  return true;
}

static inline int64_t kj_eval(MlirAffineExpr e, const int64_t *symbols) {
  if (mlirAffineExprIsAConstant(e))
    return mlirAffineConstantExprGetValue(e);
  if (mlirAffineExprIsASymbol(e))
    return symbols[mlirAffineSymbolExprGetPosition(e)];
  int64_t a = kj_eval(mlirAffineBinaryOpExprGetLHS(e), symbols);
  int64_t b = kj_eval(mlirAffineBinaryOpExprGetRHS(e), symbols);
  if (mlirAffineExprIsAAdd(e))
    return a + b;
  if (mlirAffineExprIsAMul(e))
    return a * b;
  int64_t floor = a / b - (a % b && (a < 0) != (b < 0));
  if (mlirAffineExprIsAFloorDiv(e))
    return floor;
  return mlirAffineExprIsAMod(e) ? a - floor * b : floor + (a != floor * b);
}

/// Items for these arguments, while the context lives.
static inline int64_t kj_items(const kernel_jit *k, unsigned n,
                               kj_array *const *a, const unsigned *ranks) {
  int64_t symbols[KJ_MAX_ARGS * 6];
  unsigned at = 0;
  for (unsigned i = 0; i < n; ++i)
    for (unsigned d = 0; d < ranks[i]; ++d)
      symbols[at++] = a[i]->numbers[d];
  return kj_eval(k->extent, symbols);
}

/// Calls it for items [begin, end).
static inline void kj_run(const kernel_jit *k, int64_t begin, int64_t end,
                          unsigned n, kj_array *const *a) {
  typedef void (*fn)(int64_t, int64_t, kj_array *, kj_array *, kj_array *,
                     kj_array *, kj_array *, kj_array *, kj_array *,
                     kj_array *);
  kj_array *x[KJ_MAX_ARGS] = {0};
  memcpy(x, a, n * sizeof *x);
  ((fn)k->function)(begin, end, x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
}

static inline void kj_free(kernel_jit *k) {
  if (k->jit)
    kj_die("dispose", LLVMOrcDisposeLLJIT(k->jit));
}

#endif
