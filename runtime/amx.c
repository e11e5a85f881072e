//===- amx.c - leave to use the tiles of AMX ------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linux gives the registers of AMX, 8 KiB of state, only to processes that ask
// for them; without leave the first instruction ends the process. Leave is for
// all threads and for good. To ask again is harmless: the call takes a tenth of
// a microsecond, and a model that ran before may be in a process that forked.
//
// Needs: x86-64; the build compiles it for that wherever it runs. No libc.
// Reference: Linux, Documentation/arch/x86/xstate.rst.
//
//===----------------------------------------------------------------------===//
#include "run.h"

#define SYS_ARCH_PRCTL 158
#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA 18

int32_t fe_rt_amx_allow(void) {
#ifdef __linux__
  long result = SYS_ARCH_PRCTL;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"((long)ARCH_REQ_XCOMP_PERM),
                     "S"((long)XFEATURE_XTILEDATA)
                   : "rcx", "r11", "memory");
  return result == 0;
#else
  return 0;
#endif
}
