//===- lone_stores.c - masked stores of one element --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What remains of a loop of constant length is a masked store, with a mask of
// one true element where one number remains. For AVX-512 LLVM 22 joins such a
// store with the truncation of what it stores, and then writes the element as
// wide as it was before: up to three bytes behind it are lost. So it is made a
// plain store of the element here.
//
//===----------------------------------------------------------------------===//
#include "emit/parts.h"

#include <string.h>

/// The only true element of a constant mask; -1: there is none. Undefined ones
/// are taken as false, as LLVM does.
static int lone_element(LLVMValueRef mask) {
  LLVMTypeRef type = LLVMTypeOf(mask);
  if (!LLVMIsConstant(mask) || LLVMGetTypeKind(type) != LLVMVectorTypeKind)
    return -1;
  int found = -1;
  unsigned n = LLVMGetVectorSize(type);
  for (unsigned i = 0; i < n; i++) {
    LLVMValueRef e = LLVMGetAggregateElement(mask, i);
    if (e && LLVMIsUndef(e))
      continue;
    if (!e || !LLVMIsAConstantInt(e))
      return -1;
    if (!LLVMConstIntGetZExtValue(e))
      continue;
    if (found >= 0)
      return -1;
    found = (int)i;
  }
  return found;
}

static bool is_masked_store(LLVMValueRef i) {
  static const char prefix[] = "llvm.masked.store.";
  if (!LLVMIsACallInst(i))
    return false;
  LLVMValueRef f = LLVMGetCalledValue(i);
  if (!f || !LLVMIsAFunction(f))
    return false;
  size_t n;
  const char *name = LLVMGetValueName2(f, &n);
  return n > sizeof prefix - 1 && !memcmp(name, prefix, sizeof prefix - 1);
}

/// Of the pointer, the second argument.
static unsigned alignment(LLVMValueRef call) {
  static const char name[] = "align";
  LLVMAttributeRef a = LLVMGetCallSiteEnumAttribute(
      call, 2, LLVMGetEnumAttributeKindForName(name, sizeof name - 1));
  return a ? (unsigned)LLVMGetEnumAttributeValue(a) : 1;
}

static void replace(LLVMBuilderRef b, LLVMValueRef call, int at) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(
      LLVMGetModuleContext(LLVMGetGlobalParent(LLVMGetCalledValue(call))));
  LLVMValueRef vector = LLVMGetOperand(call, 0), to = LLVMGetOperand(call, 1);
  LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(vector));
  LLVMPositionBuilderBefore(b, call);
  LLVMValueRef index = LLVMConstInt(i32, (unsigned)at, 0);
  LLVMValueRef v = LLVMBuildExtractElement(b, vector, index, "");
  unsigned align = alignment(call);
  if (at) {
    to = LLVMBuildGEP2(b, element, to, &index, 1, "");
    align = 1;
  }
  LLVMSetAlignment(LLVMBuildStore(b, v, to), align);
  LLVMInstructionEraseFromParent(call);
}

void fe_lone_stores_make(LLVMModuleRef m) {
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        int at = is_masked_store(i) ? lone_element(LLVMGetOperand(i, 2)) : -1;
        if (at >= 0)
          replace(builder, i, at);
      }
  LLVMDisposeBuilder(builder);
}
