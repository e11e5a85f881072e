//===- unit.c - one unit from MLIR to an object file -------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers a module to the LLVM dialect, translates it, links in the math
// library (kernels) or the runtime and the model's constant (main), optimizes
// and generates code. Runs in any thread with a context of its own; LLVM's
// targets have been initialised before.
//
//===----------------------------------------------------------------------===//
#include "emit/parts.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <mlir-c/Pass.h>
#include <mlir-c/Target/LLVMIR.h>
#include <string.h>

// Affine loops become scf before scf becomes branches; the expansion of strided
// metadata makes affine.apply again. vector.reduction may be reassociated.
#define KERNELS_TO_LLVM                                                        \
  "builtin.module(lower-affine,convert-vector-to-scf{full-unroll=1},"          \
  "canonicalize,convert-scf-to-cf,expand-strided-metadata,lower-affine,"       \
  "convert-vector-to-llvm{reassociate-fp-reductions=1 "                        \
  "vector-transpose-lowering=shuffle16x16},finalize-memref-to-llvm,"           \
  "convert-math-to-llvm,convert-math-to-libm,convert-func-to-llvm,"            \
  "convert-to-llvm,canonicalize,reconcile-unrealized-casts)"
#define MAIN_TO_BRANCHES "builtin.module(lower-affine,convert-scf-to-cf)"
#define MAIN_TO_LLVM                                                           \
  "builtin.module(convert-math-to-llvm,convert-math-to-libm,"                  \
  "convert-func-to-llvm,convert-to-llvm,reconcile-unrealized-casts)"

char *fe_symbol_name(fe_arena *arena, const char *prefix, const char *name) {
  return fe_printf(arena, "%s.%s", prefix, name);
}

static void report_text(MlirStringRef s, void *user) {
  fe_report(user, FE_SEV_INTERNAL, (fe_where){0}, NULL, "%.*s", (int)s.length,
            s.data);
}

/// Without the verifier between passes, which takes half of the time.
static fe_status run_passes(fe_ir *ir, MlirModule m, const char *pipeline) {
  unsigned before = ir->diags->errors;
  MlirPassManager pm = mlirPassManagerCreate(ir->ctx);
  mlirPassManagerEnableVerifier(pm, false);
  MlirLogicalResult result =
      mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(pm),
                            fe_str(pipeline), report_text, ir->diags);
  if (mlirLogicalResultIsSuccess(result))
    result = mlirPassManagerRunOnOp(pm, mlirModuleGetOperation(m));
  mlirPassManagerDestroy(pm);
  if (mlirLogicalResultIsSuccess(result))
    return FE_OK;
  if (ir->diags->errors == before)
    fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
              "the lowering to LLVM failed: %s", pipeline);
  return FE_FAILED;
}

/// Loops around vector.fma were unrolled by whoever wrote them as far as there
/// are registers; LLVM would multiply the code of the ends of a matrix.
static void keep_rolled(MlirOperation op, void *user) {
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

/// The lowering leaves the annotation where the translation does not look.
static MlirWalkResult annotate_branch(MlirOperation op, void *user) {
  (void)user;
  MlirAttribute a = mlirOperationGetDiscardableAttributeByName(
      op, fe_str("llvm.loop_annotation"));
  if (!mlirAttributeIsNull(a) && fe_op_in(op, "llvm"))
    mlirOperationSetInherentAttributeByName(op, fe_str("loop_annotation"), a);
  return MlirWalkResultAdvance;
}

static fe_status to_llvm_dialect(fe_ir *ir, MlirModule m, unsigned kinds) {
  if (kinds & FE_UNIT_KERNELS) {
    MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(m));
    for (MlirOperation next; !mlirOperationIsNull(op); op = next) {
      next = mlirOperationGetNextInBlock(op);
      if (fe_has_attr(op, "krnl.kernel"))
        fe_abi_kernel(ir, m, op);
    }
    fe_mathlib_calls(ir, m);
    fe_walk(mlirModuleGetBody(m), keep_rolled, ir);
  }
  if (kinds & FE_UNIT_MAIN) {
    if (run_passes(ir, m, MAIN_TO_BRANCHES) == FE_FAILED)
      return FE_FAILED;
    fe_checks_branch(ir, m);
  }
  if (fe_ir_ok(ir, "emit", m) == FE_FAILED)
    return FE_FAILED;
  if (run_passes(ir, m,
                 kinds & FE_UNIT_KERNELS ? KERNELS_TO_LLVM : MAIN_TO_LLVM) ==
      FE_FAILED)
    return FE_FAILED;
  mlirOperationWalk(mlirModuleGetOperation(m), annotate_branch, NULL,
                    MlirWalkPostOrder);
  return FE_OK;
}

//===-- LLVM
//---------------------------------------------------------------===//

LLVMTargetMachineRef fe_unit_machine(fe_diags *diags, const fe_emit_options *o,
                                     LLVMModuleRef m) {
  char *error = NULL;
  LLVMTargetRef target;
  if (LLVMGetTargetFromTriple(o->target->triple, &target, &error)) {
    fe_error(diags, (fe_where){0}, NULL, "no code generator for %s: %s",
             o->target->triple, error);
    LLVMDisposeMessage(error);
    return NULL;
  }
  static const LLVMCodeGenOptLevel levels[] = {
      LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
      LLVMCodeGenLevelAggressive};
  LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
      target, o->target->triple, o->target->cpu, o->target->features,
      levels[o->opt & 3], LLVMRelocPIC, LLVMCodeModelDefault);
  LLVMSetTarget(m, o->target->triple);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
  LLVMSetModuleDataLayout(m, layout);
  LLVMDisposeTargetData(layout);
  return machine;
}

static LLVMAttributeRef enum_attr(LLVMContextRef c, const char *name) {
  return LLVMCreateEnumAttribute(
      c, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0);
}

static void string_attr(LLVMContextRef c, LLVMValueRef f, const char *key,
                        const char *value) {
  LLVMAddAttributeAtIndex(
      f, LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(c, key, (unsigned)strlen(key), value,
                                (unsigned)strlen(value)));
}

bool fe_name_ends(const char *s, size_t n, const char *end) {
  size_t m = strlen(end);
  return n >= m && !memcmp(s + n - m, end, m);
}

/// The definitions of thin functions take the place of their declarations.
static void bind_parts(LLVMModuleRef m) {
  for (LLVMValueRef f = LLVMGetFirstFunction(m), next; f; f = next) {
    next = LLVMGetNextFunction(f);
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    if (!fe_name_ends(name, n, FE_PART_DEFINITION))
      continue;
    n -= strlen(FE_PART_DEFINITION) - strlen(FE_PART);
    LLVMValueRef declared = LLVMGetNamedFunctionWithLength(m, name, n);
    if (!declared) {
      LLVMSetValueName2(f, name, n);
      continue;
    }
    LLVMReplaceAllUsesWith(declared, f);
    if (next == declared)
      next = LLVMGetNextFunction(next);
    LLVMDeleteFunction(declared);
    LLVMSetValueName2(f, name, n);
  }
}

/// Names are unique among all models linked into one program: kernels and the
/// weights carry the prefix. All but the public constant is hidden.
static void set_symbols(fe_arena *arena, LLVMModuleRef m,
                        const fe_unit_job *job) {
  const char *prefix = job->info->prefix;
  LLVMContextRef c = LLVMGetModuleContext(m);
  LLVMValueRef weights = LLVMGetNamedGlobal(m, "weights");
  LLVMValueRef profile = LLVMGetNamedGlobal(m, FE_PROFILE_TABLE);
  if (profile) { // declared like the weights, but it is written to
    LLVMSetGlobalConstant(profile, false);
    LLVMSetAlignment(profile, 8);
  }
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
       f = LLVMGetNextFunction(f)) {
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    bool part = fe_name_ends(name, n, FE_PART);
    if (!part && LLVMIsDeclaration(f))
      continue;
    name = fe_symbol_name(arena, prefix, fe_strndup(arena, name, n));
    LLVMSetValueName2(f, name, strlen(name));
    if (part) {
      // In a process the units may come to lie far apart; see weights.
      if (job->options->artifact != FE_ARTIFACT_JIT)
        LLVMSetVisibility(f, LLVMHiddenVisibility);
      continue;
    }
    LLVMSetLinkage(f, LLVMInternalLinkage);
    // Inlined into its .part, a kernel would lose its noalias arguments.
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                            enum_attr(c, "noinline"));
  }
  if (weights) {
    // Not hidden: its address comes through the global offset table, which
    // reaches any distance (the linker makes it direct when it is near).
    const char *name = job->info->weights;
    LLVMSetValueName2(weights, name, strlen(name));
  }
}

/// Every function is for the target; nothing unwinds.
static void set_attributes(LLVMModuleRef m, const fe_target *target) {
  LLVMContextRef c = LLVMGetModuleContext(m);
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
       f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f))
      continue;
    string_attr(c, f, "target-cpu", target->cpu);
    string_attr(c, f, "target-features", target->features);
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                            enum_attr(c, "nounwind"));
  }
}

fe_status fe_bitcode_link(fe_diags *diags, LLVMModuleRef module,
                          const unsigned char *data, size_t size) {
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(
      (const char *)data, size, "runtime", false);
  LLVMModuleRef library;
  bool failed = LLVMParseBitcodeInContext2(LLVMGetModuleContext(module), buffer,
                                           &library);
  LLVMDisposeMemoryBuffer(buffer);
  if (failed)
    return fe_error(diags, (fe_where){0}, NULL,
                    "the built-in runtime cannot be read");
  // The library is for no target in particular; these come from clang.
  static const char *const own[] = {"target-cpu",    "target-features",
                                    "tune-cpu",      "min-legal-vector-width",
                                    "frame-pointer", "no-builtins"};
  for (LLVMValueRef f = LLVMGetFirstFunction(library); f;
       f = LLVMGetNextFunction(f))
    for (size_t i = 0; i < FE_COUNT(own); i++)
      LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex, own[i],
                                       (unsigned)strlen(own[i]));
  LLVMSetTarget(library, LLVMGetTarget(module));
  LLVMSetDataLayout(library, LLVMGetDataLayoutStr(module));
  if (LLVMLinkModules2(module, library))
    return fe_error(diags, (fe_where){0}, NULL,
                    "the built-in runtime cannot be linked in");
  return FE_OK;
}

static fe_status verify(fe_diags *diags, LLVMModuleRef m) {
  char *message = NULL;
  if (LLVMVerifyModule(m, LLVMReturnStatusAction, &message))
    fe_report(diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
              "invalid LLVM IR: %.1000s", message);
  else
    diags = NULL;
  LLVMDisposeMessage(message);
  return diags ? FE_FAILED : FE_OK;
}

// main is long and runs once: it fills tables and calls. What it is linked with
// of the runtime is optimized code but for vectorization, which is left to the
// target. No inlining, which would repeat the runtime's loops at every call.
#define SIMPLIFY                                                               \
  "simplifycfg<bonus-inst-threshold=1;switch-range-to-icmp;keep-loops;"        \
  "speculate-blocks;simplify-cond-branch>"
#define COMBINE "instcombine<max-iterations=1;no-verify-fixpoint>"
#define MAIN_PASSES                                                            \
  "always-inline,globaldce,function<eager-inv>(sroa<modify-cfg>,"              \
  "early-cse<memssa>," SIMPLIFY "," COMBINE ",loop-mssa(loop-rotate<header-"   \
  "duplication>,licm<allowspeculation>),loop(loop-idiom,indvars,"              \
  "loop-deletion)," SIMPLIFY ",loop-vectorize," COMBINE                        \
  ",loop-unroll<O3>," SIMPLIFY "),globaldce"

static fe_status optimize(fe_diags *diags, LLVMModuleRef m,
                          LLVMTargetMachineRef machine, unsigned kinds,
                          int level) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetLoopVectorization(options, level > 1);
  LLVMPassBuilderOptionsSetLoopInterleaving(options, level > 1);
  LLVMPassBuilderOptionsSetLoopUnrolling(options, level > 1);
  LLVMPassBuilderOptionsSetSLPVectorization(options, level > 1);
  static const char *const pipelines[] = {"default<O0>", "default<O1>",
                                          "default<O2>", "default<O3>"};
  const char *passes =
      kinds == FE_UNIT_MAIN && level ? MAIN_PASSES : pipelines[level & 3];
  LLVMErrorRef error = LLVMRunPasses(m, passes, machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!error)
    return FE_OK;
  char *message = LLVMGetErrorMessage(error);
  fe_report(diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
            "LLVM's optimizer failed: %s", message);
  LLVMDisposeErrorMessage(message);
  return FE_FAILED;
}

static fe_status generate(fe_diags *diags, LLVMModuleRef m,
                          LLVMTargetMachineRef machine, fe_artifact artifact,
                          LLVMMemoryBufferRef *out) {
  if (artifact == FE_ARTIFACT_LLVM) {
    char *text = LLVMPrintModuleToString(m);
    *out = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "ll");
    LLVMDisposeMessage(text);
    return FE_OK;
  }
  char *error = NULL;
  if (!LLVMTargetMachineEmitToMemoryBuffer(
          machine, m,
          artifact == FE_ARTIFACT_ASM ? LLVMAssemblyFile : LLVMObjectFile,
          &error, out))
    return FE_OK;
  fe_report(diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
            "code generation failed: %s", error);
  LLVMDisposeMessage(error);
  return FE_FAILED;
}

fe_status fe_unit_generate(fe_diags *diags, LLVMModuleRef m,
                           LLVMTargetMachineRef machine,
                           const fe_emit_options *o, unsigned kinds,
                           LLVMMemoryBufferRef *out) {
  set_attributes(m, o->target);
  if (verify(diags, m) == FE_FAILED ||
      optimize(diags, m, machine, kinds, o->opt) == FE_FAILED)
    return FE_FAILED;
  fe_lone_stores_make(m);
  if (kinds & FE_UNIT_KERNELS)
    fe_addresses_freeze(diags->arena, m);
  else
    fe_long_main(diags->arena, m);
  return generate(diags, m, machine, o->artifact, out);
}

static fe_status compile(fe_ir *ir, const fe_unit_job *job, fe_unit *unit,
                         LLVMModuleRef m, LLVMTargetMachineRef machine) {
  fe_diags *diags = ir->diags;
  bind_parts(m);
  set_symbols(ir->arena, m, job);
  if (fe_mathlib_link(diags, m) == FE_FAILED ||
      ((unit->kinds & FE_UNIT_MAIN) &&
       fe_model_build(diags, m, job) == FE_FAILED))
    return FE_FAILED;
  unit->natives = fe_native_used(m);
  return fe_unit_generate(diags, m, machine, job->options, unit->kinds,
                          &unit->object);
}

fe_status fe_unit_emit(fe_ir *ir, fe_unit *unit) {
  const fe_unit_job *job = unit->job;
  MlirModule m = mlirModuleCreateParse(
      ir->ctx, mlirStringRefCreate(unit->bytecode, unit->bytecode_size));
  if (mlirModuleIsNull(m))
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "a unit's bytecode cannot be read back");
  fe_status status = to_llvm_dialect(ir, m, unit->kinds);
  LLVMContextRef c = LLVMContextCreate();
  LLVMModuleRef lm = NULL;
  if (status == FE_OK)
    lm = mlirTranslateModuleToLLVMIR(mlirModuleGetOperation(m), c);
  mlirModuleDestroy(m);
  if (status == FE_OK && !lm)
    status = fe_error(ir->diags, (fe_where){0}, NULL,
                      "the translation to LLVM IR failed");
  if (status == FE_OK) {
    LLVMTargetMachineRef machine = fe_unit_machine(ir->diags, job->options, lm);
    status = machine ? compile(ir, job, unit, lm, machine) : FE_FAILED;
    if (machine)
      LLVMDisposeTargetMachine(machine);
  }
  if (lm)
    LLVMDisposeModule(lm);
  LLVMContextDispose(c);
  return status;
}
