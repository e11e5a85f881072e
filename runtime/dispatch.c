//===- dispatch.c - the best level of a model for this machine ------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine is asked at the first call and the answer kept: in a virtual
// machine cpuid is a trap that takes longer than a small model. Every thread
// finds the same, so a relaxed store is enough. No constructor and no ifunc: a
// static archive, or a program without a loader, has neither.
//
// Needs: x86-64, of any age; the build compiles it for that wherever it runs.
// Reference: System V ABI, AMD64 supplement, 3.1.1 (micro-architecture levels);
// Intel 64 manual, volume 1, 13.3 and 14.3 (what the system saves).
//
//===----------------------------------------------------------------------===//
#include "dispatch.h"

#include <cpuid.h>

// Of leaf 1, ecx; 7, ebx; 80000001h, ecx: bits by the manual's numbers.
#define BIT(n) (UINT32_C(1) << (n))
#define V2_ECX1                                                                \
  (BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) |                             \
   BIT(23))                // sse3 ssse3 cx16 sse4.1 sse4.2 popcnt
#define V2_EXTENDED BIT(0) // lahf
#define V3_ECX1                                                                \
  (BIT(12) | BIT(22) | BIT(27) | BIT(28) |                                     \
   BIT(29))                                // fma movbe osxsave avx f16c
#define V3_EBX7 (BIT(3) | BIT(5) | BIT(8)) // bmi1 avx2 bmi2
#define V3_EXTENDED BIT(5)                 // lzcnt
#define V4_EBX7                                                                \
  (BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31)) // avx512 f dq cd bw vl
// Of XCR0: the parts of the registers.
#define SAVED_YMM UINT32_C(0x06)
#define SAVED_ZMM UINT32_C(0xe6)

static int all(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

uint32_t fe_rt_dispatch_levels(const fe_cpu_words *w) {
  if (!all(w->ecx1, V2_ECX1) || !all(w->ecx_extended, V2_EXTENDED))
    return 0;
  if (!all(w->ecx1, V3_ECX1) || !all(w->ebx7, V3_EBX7) ||
      !all(w->ecx_extended, V3_EXTENDED) || !all(w->saved, SAVED_YMM))
    return FE_CPU_X86_64_V2;
  if (!all(w->ebx7, V4_EBX7) || !all(w->saved, SAVED_ZMM))
    return FE_CPU_X86_64_V2 | FE_CPU_X86_64_V3;
  return FE_CPU_X86_64_V2 | FE_CPU_X86_64_V3 | FE_CPU_X86_64_V4;
}

static uint32_t ask(void) {
  fe_cpu_words w = {0};
  uint32_t a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d))
    w.ecx1 = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
    w.ebx7 = b;
  if (__get_cpuid(0x80000001, &a, &b, &c, &d))
    w.ecx_extended = c;
  if (w.ecx1 & BIT(27)) { // the system lets programs ask
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    w.saved = a;
  }
  return fe_rt_dispatch_levels(&w);
}

#define KNOWN BIT(31)

/// The end of the table, where the machine has none.
static const fe_rt_level *best(void) {
  static uint32_t machine;
  uint32_t has = __atomic_load_n(&machine, __ATOMIC_RELAXED);
  if (!has) {
    has = ask() | KNOWN;
    __atomic_store_n(&machine, has, __ATOMIC_RELAXED);
  }
  const fe_rt_level *l = fe_rt_levels;
  while (l->model && (l->needs & ~has))
    l++;
  return l;
}

int64_t fe_rt_dispatch_arena_size(const int64_t *symbols) {
  const ferrule_model *m = best()->model;
  return m ? m->arena_size(symbols) : INT64_MAX;
}

int32_t fe_rt_dispatch_run(const ferrule_tensor *inputs,
                           ferrule_tensor *outputs, void *arena,
                           const ferrule_run_options *options) {
  const fe_rt_level *l = best();
  if (!l->model)
    return l->status;
  int32_t status = l->model->run(inputs, outputs, arena, options);
  return status > 0 ? status + l->status : status;
}
