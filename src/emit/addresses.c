//===- addresses.c - addresses that stay as they were written ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels are nests of loops that LLVM's loop strength reduction sees as one
// sum: base, a product per loop, a constant. It tries the sum's partitions for
// every access, which takes half of the time of code generation, and keeps
// parts of it in registers through all of the nest, so that they are spilled.
// What an outer loop adds is better computed there, once. So an address that
// other blocks go on from is frozen: its value is the same, and what it is the
// sum of cannot be seen from there.
//
//===----------------------------------------------------------------------===//
#include "emit/parts.h"

typedef fe_vec(LLVMValueRef) values;

/// Those that use `v` in other blocks; a phi's use belongs to the edge into it.
static void users_elsewhere(fe_arena *arena, LLVMValueRef v, values *out) {
  LLVMBasicBlockRef home = LLVMGetInstructionParent(v);
  out->n = 0;
  for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
    LLVMValueRef user = LLVMGetUser(u);
    if (LLVMGetInstructionParent(user) != home && !LLVMIsAPHINode(user))
      fe_push(arena, out, user);
  }
}

static void freeze(LLVMBuilderRef builder, LLVMValueRef address,
                   const values *users) {
  LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(address));
  LLVMValueRef frozen = LLVMBuildFreeze(builder, address, "");
  for (size_t i = 0; i < users->n; i++) {
    unsigned n = (unsigned)LLVMGetNumOperands(users->at[i]);
    for (unsigned k = 0; k < n; k++)
      if (LLVMGetOperand(users->at[i], k) == address)
        LLVMSetOperand(users->at[i], k, frozen);
  }
}

void fe_addresses_freeze(fe_arena *arena, LLVMModuleRef m) {
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(m));
  values users = {0};
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b;
         b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef i = LLVMGetFirstInstruction(b); i;
           i = LLVMGetNextInstruction(i)) {
        // vectors of addresses are gathers'
        if (!LLVMIsAGetElementPtrInst(i) ||
            LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMPointerTypeKind)
          continue;
        users_elsewhere(arena, i, &users);
        if (users.n)
          freeze(builder, i, &users);
      }
  LLVMDisposeBuilder(builder);
}
