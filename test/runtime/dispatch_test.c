//===- dispatch_test.c - which level a machine takes ----------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words such as processors of each kind give, also where a hypervisor or an old
// system takes something away; and a model that has no level for any machine:
// a run ends with its message, not with a signal.
//
//===----------------------------------------------------------------------===//
#include "dispatch.h"

#include <stdio.h>

static int failures;
#define CHECK(x)                                                               \
  ((x) ? (void)0 : (failures++, (void)printf("line %d: %s\n", __LINE__, #x)))

static int32_t never(const ferrule_tensor *inputs, ferrule_tensor *outputs,
                     void *arena, const ferrule_run_options *options) {
  (void)inputs, (void)outputs, (void)arena, (void)options;
  CHECK(!"code for a level that the machine lacks is run");
  return 0;
}

static const ferrule_model above = {.run = never};
const fe_rt_level fe_rt_levels[] = {{&above, UINT32_C(1) << 30, 0},
                                    {NULL, 0, 7}};

int main(void) {
  enum {
    V2 = FE_CPU_X86_64_V2,
    V3 = V2 | FE_CPU_X86_64_V3,
    V4 = V3 | FE_CPU_X86_64_V4
  };
  // Leaf 1 ecx; leaf 7 ebx; 80000001h ecx; XCR0.
  const struct {
    fe_cpu_words says;
    uint32_t has;
  } machines[] = {
      {{0x00000000, 0x00000000, 0x00000000, 0x00}, 0},  // says nothing
      {{0x0000e3bd, 0x00000000, 0x00000001, 0x00}, 0},  // Core 2: no sse4.2
      {{0x00802009, 0x00000000, 0x00003fff, 0x00}, 0},  // Phenom II: no ssse3
      {{0x029ee3ff, 0x00000000, 0x00000001, 0x00}, V2}, // Westmere
      {{0x1fbae3ff, 0x00000000, 0x00000001, 0x07}, V2}, // Sandy Bridge
      {{0x7ffafbff, 0x000027ab, 0x00000021, 0x07}, V3}, // Haswell
      {{0x73fafbff, 0x000027ab, 0x00000021, 0x00}, V2}, // ... OS saves no avx
      {{0x7ffafbff, 0x000027ab, 0x00000021, 0x03}, V2}, // ... only xmm
      {{0x7ffefbff, 0xd39ffffb, 0x00000121, 0xe7}, V4}, // Skylake server
      {{0x7ffefbff, 0xd39ffffb, 0x00000121, 0x07}, V3}, // ... no zmm saved
      {{0x7ffefbff, 0xd39ffffb, 0x00000121, 0x67}, V3}, // ... not the upper 16
      {{0x7ffefbff, 0x139ffffb, 0x00000121, 0xe7}, V3}, // ... bw, vl hidden
      {{0x7eda320b, 0x209c01a9, 0x75c237ff, 0x07}, V3}, // Zen 2
      {{0x7efa320b, 0xf1bf97a9, 0x75c237ff, 0xe7}, V4}, // Zen 4
      {{0x7e9a320b, 0x209c01a9, 0x75c237ff, 0x07}, V2}, // Zen 2, movbe hidden
      {{0x7ffafbff, 0x000027ab, 0x00000001, 0x07}, V2}, // Haswell, lzcnt hidden
  };
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
    if (fe_rt_dispatch_levels(&machines[i].says) != machines[i].has) {
      printf("machine %zu is said to have %#x\n", i,
             fe_rt_dispatch_levels(&machines[i].says));
      failures++;
    }
  for (int i = 0; i < 2; i++) { // asked, then remembered
    CHECK(fe_rt_dispatch_arena_size(NULL) == INT64_MAX);
    CHECK(fe_rt_dispatch_run(NULL, NULL, NULL, NULL) == 7);
  }
  return failures != 0;
}
