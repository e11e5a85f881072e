//===- long_main.c - code generation in linear time --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's code generation is worse than linear in the length of a function: a
// block's stores are compared with each other, and each value that is alive
// across calls with each call. main calls all kernels and runs once, so a long
// one is generated without optimization (that came before), and its values wait
// in memory.
//
//===----------------------------------------------------------------------===//
#include "emit/parts.h"

#include <string.h>

enum {
  LONG = 2000, // instructions
  FAR = 64     // instructions between a definition and a use
};

typedef struct numbered {
  fe_arena *arena;
  fe_vec(LLVMValueRef) at;
  fe_map index; // instruction -> its position
} numbered;

static void number(numbered *n, LLVMValueRef f) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
       b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
         i = LLVMGetNextInstruction(i)) {
      fe_map_set_ptr(n->arena, &n->index, i, (void *)(intptr_t)n->at.n);
      fe_push(n->arena, &n->at, i);
    }
}

static bool may_wait(LLVMValueRef v) {
  return LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMVoidTypeKind &&
         LLVMTypeIsSized(LLVMTypeOf(v)) && !LLVMIsAAllocaInst(v) &&
         !LLVMIsATerminatorInst(v);
}

/// Value k is written to the stack and read at each use that is far.
static void let_wait(const numbered *n, size_t k, LLVMBuilderRef build) {
  LLVMValueRef v = n->at.at[k];
  LLVMTypeRef type = LLVMTypeOf(v);
  fe_vec(LLVMValueRef) users = {0};
  for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
    LLVMValueRef user = LLVMGetUser(u);
    size_t at = (size_t)(intptr_t)fe_map_get_ptr(&n->index, user);
    if (!LLVMIsAPHINode(user) && (at < k || at > k + FAR))
      fe_push(n->arena, &users, user);
  }
  if (!users.n)
    return;
  LLVMPositionBuilderBefore(build, n->at.at[0]);
  LLVMValueRef slot = LLVMBuildAlloca(build, type, "");
  LLVMValueRef next = LLVMGetNextInstruction(v);
  while (LLVMIsAPHINode(next))
    next = LLVMGetNextInstruction(next);
  LLVMPositionBuilderBefore(build, next);
  LLVMBuildStore(build, v, slot);
  for (size_t i = 0; i < users.n; i++) {
    LLVMPositionBuilderBefore(build, users.at[i]);
    LLVMValueRef again = LLVMBuildLoad2(build, type, slot, "");
    for (int o = 0; o < LLVMGetNumOperands(users.at[i]); o++)
      if (LLVMGetOperand(users.at[i], (unsigned)o) == v)
        LLVMSetOperand(users.at[i], (unsigned)o, again);
  }
}

/// What plan has written, not the runtime.
static bool is_planned(LLVMValueRef f) {
  size_t n;
  const char *name = LLVMGetValueName2(f, &n);
  return !LLVMIsDeclaration(f) && (fe_name_ends(name, n, ".main") ||
                                   fe_name_ends(name, n, ".arena_size"));
}

void fe_long_main(fe_arena *arena, LLVMModuleRef module) {
  LLVMContextRef c = LLVMGetModuleContext(module);
  static const char *const attrs[] = {"noinline", "optnone"};
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
       f = LLVMGetNextFunction(f)) {
    numbered n = {.arena = arena};
    if (is_planned(f))
      number(&n, f);
    if (n.at.n < LONG)
      continue;
    LLVMBuilderRef build = LLVMCreateBuilderInContext(c);
    for (size_t k = 0; k < n.at.n; k++)
      if (may_wait(n.at.at[k]))
        let_wait(&n, k, build);
    LLVMDisposeBuilder(build);
    for (size_t i = 0; i < FE_COUNT(attrs); i++) {
      unsigned kind =
          LLVMGetEnumAttributeKindForName(attrs[i], strlen(attrs[i]));
      LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                              LLVMCreateEnumAttribute(c, kind, 0));
    }
  }
}
