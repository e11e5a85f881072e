//===- processors.c - processors known by name ----------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches are those of the usual models of a family. What a processor has beyond
// its level is what LLVM's description of it says and code for numbers may use.
//
//===----------------------------------------------------------------------===//
#include "target/processors.h"

#define VNNI "+avx512vnni"
#define ICE_LAKE                                                               \
  VNNI ",+avx512bitalg,+avx512ifma,+avx512vbmi,+avx512vbmi2,"                  \
       "+avx512vpopcntdq,+gfni"
#define BF16 ",+avx512bf16"
#define AMX ",+amx-bf16,+amx-int8,+amx-tile"
#define SAPPHIRE_RAPIDS ICE_LAKE BF16 AMX ",+avx512fp16,+avxvnni"

const fe_processor fe_processors[] = {
    {"haswell", "x86-64-v3", 32, 256, 8192, ""},
    {"broadwell", "x86-64-v3", 32, 256, 8192, ""},
    {"skylake", "x86-64-v3", 32, 256, 8192, ""},
    {"alderlake", "x86-64-v3", 48, 1280, 30720, "+avxvnni,+gfni"},
    {"skylake-avx512", "x86-64-v4", 32, 1024, 22528, ""},
    {"cascadelake", "x86-64-v4", 32, 1024, 22528, VNNI},
    {"cooperlake", "x86-64-v4", 32, 1024, 22528, VNNI BF16},
    {"icelake-server", "x86-64-v4", 48, 1280, 49152, ICE_LAKE},
    {"sapphirerapids", "x86-64-v4", 48, 2048, 107520, SAPPHIRE_RAPIDS},
    {"emeraldrapids", "x86-64-v4", 48, 2048, 266240, SAPPHIRE_RAPIDS},
    {"graniterapids", "x86-64-v4", 48, 2048, 442368, SAPPHIRE_RAPIDS},
    {"znver1", "x86-64-v3", 32, 512, 8192, "+sse4a"},
    {"znver2", "x86-64-v3", 32, 512, 16384, "+sse4a"},
    {"znver3", "x86-64-v3", 32, 512, 32768, "+sse4a"},
    {"znver4", "x86-64-v4", 32, 1024, 32768, ICE_LAKE BF16 ",+sse4a"},
    {"znver5", "x86-64-v4", 48, 1024, 32768,
     ICE_LAKE BF16 ",+avx512vp2intersect,+avxvnni,+sse4a"},
    {"cortex-a53", "aarch64", 32, 512, 0, ""},
    {"cortex-a72", "aarch64", 32, 1024, 0, ""},
    {"cortex-a76", "aarch64", 64, 512, 2048,
     "+crc,+dotprod,+fullfp16,+lse,+rcpc,+rdm"},
    {"neoverse-n1", "aarch64", 64, 1024, 32768,
     "+crc,+dotprod,+fullfp16,+lse,+rcpc,+rdm"},
    {0},
};
