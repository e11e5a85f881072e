//===- model.c - the constant that describes a compiled model ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds `const ferrule_model <prefix>_model` (include/ferrule/model.h) in the
// module of main, and the function behind its `run`, which goes through the
// runtime. The runtime is linked in here and made internal; only functions of
// ferrule/model.h stay visible, weak, where the artifact is for linking.
//
//===----------------------------------------------------------------------===//
#include "emit/parts.h"

#include <string.h>

extern const unsigned char fe_runtime_run_bc[], fe_runtime_model_bc[],
    fe_runtime_half_bc[];
extern const size_t fe_runtime_run_bc_size, fe_runtime_model_bc_size,
    fe_runtime_half_bc_size;

// Parts for some models only: all of runtime/*.c that is not named above.
#define FE_RUNTIME(stem)                                                       \
  extern const unsigned char fe_runtime_##stem##_bc[];                         \
  extern const size_t fe_runtime_##stem##_bc_size;
#include "fe_runtime.inc"
#undef FE_RUNTIME
static const struct {
  const char *name;
  const unsigned char *data;
  const size_t *size;
} parts[] = {
#define FE_RUNTIME(stem)                                                       \
  {#stem, fe_runtime_##stem##_bc, &fe_runtime_##stem##_bc_size},
#include "fe_runtime.inc"
#undef FE_RUNTIME
};

typedef struct builder {
  LLVMModuleRef module;
  LLVMContextRef c;
  LLVMTypeRef ptr, i32, i64;
} builder;

static builder builder_of(LLVMModuleRef m) {
  LLVMContextRef c = LLVMGetModuleContext(m);
  return (builder){m, c, LLVMPointerTypeInContext(c, 0),
                   LLVMInt32TypeInContext(c), LLVMInt64TypeInContext(c)};
}

static LLVMValueRef int32(const builder *b, uint32_t v) {
  return LLVMConstInt(b->i32, v, false);
}

/// Address of a private constant.
static LLVMValueRef constant(const builder *b, LLVMValueRef value) {
  LLVMValueRef g = LLVMAddGlobal(b->module, LLVMTypeOf(value), "");
  LLVMSetInitializer(g, value);
  LLVMSetGlobalConstant(g, true);
  LLVMSetLinkage(g, LLVMPrivateLinkage);
  LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
  return g;
}

static LLVMValueRef string(const builder *b, const char *s) {
  return constant(b, LLVMConstStringInContext2(b->c, s, strlen(s), false));
}

/// Address of an array of constants; null when it is empty.
static LLVMValueRef array(const builder *b, LLVMTypeRef type, unsigned n,
                          LLVMValueRef *v) {
  return n ? constant(b, LLVMConstArray2(type, v, n)) : LLVMConstNull(b->ptr);
}

static LLVMValueRef strings(fe_arena *arena, const builder *b, unsigned n,
                            const char *const *s) {
  LLVMValueRef *v = FE_NEW_N(arena, LLVMValueRef, n + 1);
  for (unsigned i = 0; i < n; i++)
    v[i] = string(b, s[i]);
  return array(b, b->ptr, n, v);
}

/// An array of ferrule_value_info.
static LLVMValueRef values(fe_arena *arena, const builder *b, unsigned n,
                           const ferrule_value_info *info) {
  LLVMTypeRef members[] = {b->ptr, b->i32, b->i32, b->ptr, b->ptr};
  LLVMTypeRef type =
      LLVMStructTypeInContext(b->c, members, FE_COUNT(members), false);
  LLVMValueRef *v = FE_NEW_N(arena, LLVMValueRef, n + 1);
  for (unsigned i = 0; i < n; i++) {
    LLVMValueRef dims[FERRULE_MAX_RANK];
    unsigned rank = info[i].rank < 0 ? 0 : (unsigned)info[i].rank;
    for (unsigned d = 0; d < rank; d++)
      dims[d] = LLVMConstInt(b->i64, (uint64_t)info[i].dims[d], true);
    unsigned held = info[i].dtype < FERRULE_SEQUENCE ? 0
                    : info[i].dtype == FERRULE_MAP   ? 2
                                                     : 1;
    LLVMValueRef fields[] = {
        string(b, info[i].name), int32(b, (uint32_t)info[i].dtype),
        int32(b, (uint32_t)info[i].rank), array(b, b->i64, rank, dims),
        values(arena, b, held, info[i].element)};
    v[i] = LLVMConstStructInContext(b->c, fields, FE_COUNT(fields), false);
  }
  return array(b, type, n, v);
}

/// int32_t <prefix>.run(inputs, outputs, arena, options)
///   { return fe_rt_enter(main, inputs, outputs, arena, options); }
static LLVMValueRef make_run(const builder *b, LLVMValueRef main, bool heap) {
  LLVMTypeRef params[] = {b->ptr, b->ptr, b->ptr, b->ptr};
  LLVMValueRef run = LLVMAddFunction(
      b->module, "run",
      LLVMFunctionType(b->i32, params, FE_COUNT(params), false));
  LLVMSetLinkage(run, LLVMInternalLinkage);
  LLVMBuilderRef at = LLVMCreateBuilderInContext(b->c);
  LLVMPositionBuilderAtEnd(at, LLVMAppendBasicBlockInContext(b->c, run, ""));
  LLVMValueRef enter = LLVMGetNamedFunction(b->module, heap ? "fe_rt_enter_heap"
                                                            : "fe_rt_enter");
  LLVMValueRef args[] = {main, LLVMGetParam(run, 0), LLVMGetParam(run, 1),
                         LLVMGetParam(run, 2), LLVMGetParam(run, 3)};
  LLVMBuildRet(at, LLVMBuildCall2(at, LLVMGlobalGetValueType(enter), enter,
                                  args, FE_COUNT(args), ""));
  LLVMDisposeBuilder(at);
  return run;
}

static bool is_public(const char *name) {
  return !strncmp(name, "ferrule_", strlen("ferrule_"));
}

/// Whether the module calls fe_rt_<part>_..., without having it.
static bool calls_part(LLVMModuleRef m, const char *part) {
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
       f = LLVMGetNextFunction(f)) {
    size_t n, k = strlen(part);
    const char *name = LLVMGetValueName2(f, &n);
    if (LLVMIsDeclaration(f) && n > 7 + k && !strncmp(name, "fe_rt_", 6) &&
        !memcmp(name + 6, part, k) && name[6 + k] == '_')
      return true;
  }
  return false;
}

/// Parts may call each other.
static fe_status link_parts(fe_diags *diags, LLVMModuleRef m) {
  bool linked[FE_COUNT(parts)] = {false};
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < FE_COUNT(parts); i++) {
      if (linked[i] || !calls_part(m, parts[i].name))
        continue;
      if (fe_bitcode_link(diags, m, parts[i].data, *parts[i].size) == FE_FAILED)
        return FE_FAILED;
      linked[i] = more = true;
    }
  }
  return FE_OK;
}

void fe_runtime_bind(LLVMModuleRef m) {
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
       f = LLVMGetNextFunction(f)) {
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);
    if (!LLVMIsDeclaration(f) && !strncmp(name, "fe_rt_", strlen("fe_rt_")))
      LLVMSetLinkage(f, LLVMInternalLinkage);
    else if (is_public(name))
      LLVMSetLinkage(f, LLVMWeakAnyLinkage);
  }
}

/// What any model may call by name is in the unit that chooses a level, where
/// there are several.
static fe_status link_runtime(fe_diags *diags, LLVMModuleRef m, bool level,
                              bool linkable) {
  if (fe_bitcode_link(diags, m, fe_runtime_run_bc, fe_runtime_run_bc_size) ==
          FE_FAILED ||
      (!level && fe_bitcode_link(diags, m, fe_runtime_half_bc,
                                 fe_runtime_half_bc_size) == FE_FAILED) ||
      (!level && linkable &&
       fe_bitcode_link(diags, m, fe_runtime_model_bc,
                       fe_runtime_model_bc_size) == FE_FAILED) ||
      link_parts(diags, m) == FE_FAILED)
    return FE_FAILED;
  fe_runtime_bind(m);
  return FE_OK;
}

LLVMValueRef fe_model_add(fe_arena *arena, LLVMModuleRef m,
                          const fe_model_info *info, LLVMValueRef run,
                          LLVMValueRef arena_size, unsigned n_levels,
                          LLVMValueRef *levels) {
  builder b = builder_of(m);
  LLVMValueRef fields[] = {
      int32(&b, FERRULE_ABI_VERSION),
      string(&b, info->name),
      string(&b, info->compiler),
      string(&b, info->cpu),
      int32(&b, info->n_inputs),
      int32(&b, info->n_outputs),
      int32(&b, info->n_symbols),
      int32(&b, info->n_messages),
      values(arena, &b, info->n_inputs, info->inputs),
      values(arena, &b, info->n_outputs, info->outputs),
      strings(arena, &b, info->n_symbols, info->symbols),
      strings(arena, &b, info->n_messages, info->messages),
      LLVMConstInt(b.i64, n_levels ? info->weight_bytes : info->own_bytes,
                   false),
      arena_size,
      run,
      array(&b, b.ptr, n_levels, levels),
      int32(&b, n_levels),
  };
  LLVMValueRef value =
      LLVMConstStructInContext(b.c, fields, FE_COUNT(fields), false);
  const char *name = fe_printf(arena, "%s_model", info->prefix);
  LLVMValueRef model = LLVMAddGlobal(m, LLVMTypeOf(value), name);
  LLVMSetInitializer(model, value);
  LLVMSetGlobalConstant(model, true);
  return model;
}

fe_status fe_model_build(fe_diags *diags, LLVMModuleRef m,
                         const fe_unit_job *job) {
  const fe_model_info *info = job->info;
  fe_arena *arena = diags->arena;
  fe_artifact artifact = job->options->artifact;
  bool level = job->options->level;
  bool linkable = artifact != FE_ARTIFACT_SO && artifact != FE_ARTIFACT_JIT;
  if (link_runtime(diags, m, level, linkable) == FE_FAILED)
    return FE_FAILED;
  builder b = builder_of(m);
  LLVMValueRef main =
      LLVMGetNamedFunction(m, fe_symbol_name(arena, info->prefix, "main"));
  LLVMValueRef arena_size = LLVMGetNamedFunction(
      m, fe_symbol_name(arena, info->prefix, "arena_size"));
  if (!main || !arena_size)
    return fe_error(diags, (fe_where){0}, NULL,
                    "the module has no main or no arena_size");
  LLVMValueRef model = fe_model_add(
      arena, m, info, make_run(&b, main, info->heap), arena_size, 0, NULL);
  if (level)
    LLVMSetVisibility(model, LLVMHiddenVisibility);
  return FE_OK;
}
