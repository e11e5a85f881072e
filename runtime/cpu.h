//===- cpu.h - what levels of a processor need -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the compiler's rows (src/target) and by what artifacts for several
// levels ask the machine (dispatch.c).
//
//===----------------------------------------------------------------------===//
#ifndef FE_CPU_H
#define FE_CPU_H

/// The levels of the x86-64 psABI; each also says that the system saves the
/// registers. A machine has all below its highest.
enum {
  FE_CPU_X86_64_V2 = 1 << 0,
  FE_CPU_X86_64_V3 = 1 << 1,
  FE_CPU_X86_64_V4 = 1 << 2
};

#endif
