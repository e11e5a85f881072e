//===- target.c - descriptions of processors ---------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows, and how the machine Ferrule runs on is matched with them: the
// features LLVM finds decide the vector width, the system knows the caches.
// Cache sizes of the rows are those of common processors of the level.
//
//===----------------------------------------------------------------------===//
#define _DEFAULT_SOURCE // syscall
#include "target/processors.h"

#include "cpu.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define KIB 1024u
#define X86_LINUX "x86_64-pc-linux-gnu"
#define AARCH64_LINUX "aarch64-unknown-linux-gnu"
/// LLVM otherwise splits what its own vectorizer makes into 256 bits.
#define USE_512 "-prefer-256-bit"

/// What code for a level may use, by LLVM's names (psABI, 3.1.1).
#define V2_HAS "+cx16,+popcnt,+sahf,+sse4.2,+ssse3"
#define V3_HAS V2_HAS ",+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"
#define V4_HAS V3_HAS ",+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl"

static const fe_target x86_64_v2 = {
    .name = "x86-64-v2",
    .triple = X86_LINUX,
    .cpu = "x86-64-v2",
    .features = "",
    .vector_bits = 128,
    .vector_registers = 16,
    .fma_units = 2,
    .l1_bytes = 32 * KIB,
    .l2_bytes = 256 * KIB,
    .l3_bytes = 8192 * KIB,
    .dot_s16 = true,
    .has = V2_HAS,
    .needs = FE_CPU_X86_64_V2,
    .least = "x86-64",
};

static const fe_target x86_64_v3 = {
    .name = "x86-64-v3",
    .triple = X86_LINUX,
    .cpu = "x86-64-v3",
    .features = "",
    .vector_bits = 256,
    .vector_registers = 16,
    .fma_units = 2,
    .l1_bytes = 32 * KIB,
    .l2_bytes = 512 * KIB,
    .l3_bytes = 16384 * KIB,
    .fma = true,
    .half = true,
    .dot_s16 = true,
    .has = V3_HAS,
    .needs = FE_CPU_X86_64_V3,
    .least = "x86-64",
};

static const fe_target x86_64_v4 = {
    .name = "x86-64-v4",
    .triple = X86_LINUX,
    .cpu = "x86-64-v4",
    .features = USE_512,
    .vector_bits = 512,
    .vector_registers = 32,
    .fma_units = 2,
    .l1_bytes = 32 * KIB,
    .l2_bytes = 1024 * KIB,
    .l3_bytes = 32768 * KIB,
    .fma = true,
    .half = true,
    .masks = true,
    .dot_s16 = true,
    .has = V4_HAS,
    .needs = FE_CPU_X86_64_V4,
    .least = "x86-64",
};

/// Zen 4 and later.
static const fe_target x86_64_v4_bf16 = {
    .name = "x86-64-v4-bf16",
    .triple = X86_LINUX,
    .cpu = "x86-64-v4",
    .features = "+avx512bf16," USE_512,
    .vector_bits = 512,
    .vector_registers = 32,
    .fma_units = 2,
    .l1_bytes = 32 * KIB,
    .l2_bytes = 1024 * KIB,
    .l3_bytes = 32768 * KIB,
    .fma = true,
    .half = true,
    .masks = true,
    .dot_s16 = true,
    .bf16 = true,
    .dot_bf16 = true,
    .has = V4_HAS ",+avx512bf16",
};

static const fe_target aarch64 = {
    .name = "aarch64",
    .triple = AARCH64_LINUX,
    .cpu = "generic",
    .features = "+neon",
    .vector_bits = 128,
    .vector_registers = 32,
    .fma_units = 2,
    .l1_bytes = 32 * KIB,
    .l2_bytes = 512 * KIB,
    .l3_bytes = 4096 * KIB,
    .fma = true,
    .half = true,
};

const fe_target *const fe_targets[] = {&x86_64_v2,      &x86_64_v3, &x86_64_v4,
                                       &x86_64_v4_bf16, &aarch64,   NULL};

//===-- The host ------------------------------------------------------------//

/// What is found once per process and never changes afterwards: fe_target
/// refers to text that has to outlive every session.
typedef struct host {
  bool known;
  fe_target target;
  char triple[128], cpu[64], features[8192];
} host;

static bool has(const char *features, const char *name) {
  size_t n = strlen(name);
  for (const char *at = features; (at = strstr(at, name)); at += n)
    if (at > features && at[-1] == '+' && (at[n] == ',' || at[n] == '\0'))
      return true;
  return false;
}

/// Whether all of a list, "+a,+b", are there.
static bool has_all(const char *features, const char *list) {
  char name[32];
  for (const char *at = list; at && *at; at += *at == ',') {
    size_t n = strcspn(at, ",");
    if (n >= sizeof name)
      return false;
    memcpy(name, at + 1, n - 1);
    name[n - 1] = '\0';
    if (!has(features, name))
      return false;
    at += n;
  }
  return true;
}

/// Widest row whose kernels the host can run; NULL for other architectures.
/// Virtual machines may lack something of a level that no kernel asks for by
/// itself: LLVM is told exactly what there is.
static const fe_target *best_row(const char *triple, const char *features) {
  if (strncmp(triple, "aarch64", 7) == 0)
    return &aarch64;
  if (strncmp(triple, "x86_64", 6) != 0)
    return NULL;
  if (has_all(features, "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd"))
    return &x86_64_v4;
  if (has_all(features, "+avx2,+fma,+f16c,+bmi2"))
    return &x86_64_v3;
  return has_all(features, "+sse4.2,+popcnt") ? &x86_64_v2 : NULL;
}

static bool read_field(unsigned index, const char *field, char text[32]) {
  char path[80];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/%s",
           index, field);
  FILE *file = fopen(path, "r");
  bool ok = file && fgets(text, 32, file);
  if (file)
    fclose(file);
  return ok;
}

/// Bytes of the data cache of a level, by Linux; `otherwise` where it does not
/// say. The C library's numbers are wrong for caches shared by some cores only.
static unsigned cache_bytes(unsigned level, unsigned otherwise) {
  char text[32];
  for (unsigned i = 0; read_field(i, "level", text); i++) {
    if (strtoul(text, NULL, 10) != level || !read_field(i, "type", text) ||
        strncmp(text, "Instruction", 11) == 0 || !read_field(i, "size", text))
      continue;
    char *unit;
    unsigned long kib = strtoul(text, &unit, 10);
    if (*unit == 'K' && kib > 0 && kib < 1ul << 21)
      return (unsigned)kib * KIB;
  }
  return otherwise;
}

static bool copy(char *to, size_t size, const char *from, const char *more) {
  const char *comma = *from && *more ? "," : "";
  int n = snprintf(to, size, "%s%s%s", from, comma, more);
  return n >= 0 && (size_t)n < size;
}

/// What has no level of its own.
static void set_abilities(fe_target *t, const char *features) {
  bool wide = t->vector_bits == 512;
  t->dot_u8s8 = has(features, wide ? "avx512vnni" : "avxvnni");
  // vdpbf16ps begins as often as a multiply-add on AMD's cores, so does twice
  // its work; on Intel's (measured on Emerald Rapids) a quarter as often.
  t->bf16 = wide && has(features, "avx512bf16");
  t->dot_bf16 = t->bf16 && strncmp(t->cpu, "znver", 5) == 0;
  bool tiles = wide && has(features, "amx-tile");
  t->amx_bytes = tiles && t->dot_u8s8 && has(features, "amx-int8");
  t->amx_bf16 = tiles && t->bf16 && has(features, "amx-bf16");
}

/// Whether Linux lets this process, and so others like it, use tiles.
static bool may_use_tiles(void) {
#if defined(__linux__) && defined(__x86_64__)
  enum { request_permission = 0x1023, tile_data = 18 };
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

static void describe(host *h, const char *triple, const char *cpu,
                     const char *features) {
  const fe_target *row = best_row(triple, features);
  if (!row || !copy(h->triple, sizeof h->triple, triple, "") ||
      !copy(h->cpu, sizeof h->cpu, cpu, "") ||
      !copy(h->features, sizeof h->features, features,
            row->vector_bits == 512 ? USE_512 : ""))
    return;
  fe_target *t = &h->target;
  *t = *row;
  t->name = "native";
  t->triple = h->triple;
  t->cpu = h->cpu;
  t->features = h->features;
  t->l1_bytes = cache_bytes(1, t->l1_bytes);
  t->l2_bytes = cache_bytes(2, t->l2_bytes);
  t->l3_bytes = cache_bytes(3, t->l3_bytes);
  set_abilities(t, features);
  if (t->amx_bytes || t->amx_bf16)
    t->amx_bytes = t->amx_bf16 = may_use_tiles();
  h->known = true;
}

static host the_host;

static void find_host(void) {
  char *triple = LLVMGetDefaultTargetTriple();
  char *cpu = LLVMGetHostCPUName();
  char *features = LLVMGetHostCPUFeatures();
  if (triple && cpu && features)
    describe(&the_host, triple, cpu, features);
  LLVMDisposeMessage(triple);
  LLVMDisposeMessage(cpu);
  LLVMDisposeMessage(features);
}

static const fe_target *row_named(const char *name) {
  for (const fe_target *const *t = fe_targets; *t; t++)
    if (strcmp((*t)->name, name) == 0)
      return *t;
  return NULL;
}

static const fe_processor *processor_named(const char *name) {
  for (const fe_processor *p = fe_processors; p->name; p++)
    if (strcmp(p->name, name) == 0)
      return p;
  return NULL;
}

static const fe_target *find_processor(const char *name, fe_target *t) {
  const fe_processor *p = processor_named(name);
  if (!p)
    return NULL;
  *t = *row_named(p->like);
  t->name = t->cpu = p->name;
  t->l1_bytes = p->l1 * KIB;
  t->l2_bytes = p->l2 * KIB;
  t->l3_bytes = p->l3 * KIB;
  t->needs = 0; // artifacts for several levels choose among the psABI's
  set_abilities(t, p->has);
  return t;
}

const fe_target *fe_target_find(const char *name, fe_target *storage) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!name)
    return NULL;
  if (strcmp(name, "native") == 0) {
    pthread_once(&once, find_host);
    if (!the_host.known)
      return NULL;
    *storage = the_host.target;
    return storage;
  }
  const fe_target *row = row_named(name);
  return row ? row : find_processor(name, storage);
}

bool fe_target_runs_here(const fe_target *t) {
  fe_target storage;
  const fe_target *host = fe_target_find("native", &storage);
  if (!host || strncmp(host->triple, t->triple, strcspn(t->triple, "-") + 1))
    return false;
  if (strcmp(t->cpu, host->cpu) == 0)
    return true;
  const fe_processor *p = processor_named(t->cpu);
  return has_all(host->features, t->has) &&
         (!p || has_all(host->features, p->has));
}
