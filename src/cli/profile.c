//===- profile.c - ferrule profile ----------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a model spends its time: it is compiled with a clock around every
// kernel. Operations are the compiler's own estimate per kernel, bytes those of
// the tensors a kernel reads and writes.
//
//===----------------------------------------------------------------------===//
#include "base/base.h"
#include "cli/model.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { INPUT, THREADS, SECONDS, ALL };
const fe_cli_option fe_profile_options[] = {
    [INPUT] = {"input", 'i', "NAME=FILE", "a .npy file for an input"},
    [THREADS] = {"threads", 't', "N", "threads of the run (default 1)"},
    [SECONDS] = {"seconds", 's', "S", "how long to measure (default 2)"},
    [ALL] = {"all", 'a', NULL, "list every kernel, not only the first 30"},
    {0}};
#define ROWS 30

//===-- The peak ------------------------------------------------------------//

#if defined(__x86_64__)
#define CHAINS 12 // enough independent ones for two units of latency 4 to 5
#define PEAK_STEPS 4096

__attribute__((target("avx512f"))) static double peak_avx512(void) {
  __m512 a[CHAINS], x = _mm512_set1_ps(0.5f), y = _mm512_set1_ps(0.25f);
  for (int i = 0; i < CHAINS; i++)
    a[i] = y;
  for (int k = 0; k < PEAK_STEPS; k++)
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++)
      a[i] = _mm512_fmadd_ps(a[i], x, y);
  for (int i = 1; i < CHAINS; i++)
    a[0] = _mm512_add_ps(a[0], a[i]);
  volatile float sink = _mm512_cvtss_f32(a[0]);
  (void)sink;
  return 2.0 * 16 * CHAINS * PEAK_STEPS;
}

__attribute__((target("avx2,fma"))) static double peak_avx2(void) {
  __m256 a[CHAINS], x = _mm256_set1_ps(0.5f), y = _mm256_set1_ps(0.25f);
  for (int i = 0; i < CHAINS; i++)
    a[i] = y;
  for (int k = 0; k < PEAK_STEPS; k++)
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++)
      a[i] = _mm256_fmadd_ps(a[i], x, y);
  for (int i = 1; i < CHAINS; i++)
    a[0] = _mm256_add_ps(a[0], a[i]);
  volatile float sink = _mm256_cvtss_f32(a[0]);
  (void)sink;
  return 2.0 * 8 * CHAINS * PEAK_STEPS;
}

/// Multiply-adds of f32 that one core can do, in operations per nanosecond.
static double measure_peak(void) {
  double (*loop)(void) = __builtin_cpu_supports("avx512f") ? peak_avx512
                         : __builtin_cpu_supports("fma")   ? peak_avx2
                                                           : NULL;
  double best = 0;
  for (int i = 0; loop && i < 200; i++) {
    double start = fe_now(), operations = loop();
    double rate = operations / (fe_now() - start) * 1e-9;
    best = rate > best ? rate : best;
  }
  return best;
}
#else
static double measure_peak(void) { return 0; } // not known
#endif

//===-- The table -----------------------------------------------------------//

static int slowest_first(const void *a, const void *b) {
  const ferrule_profile_entry *x = a, *y = b;
  if (x->nanoseconds != y->nanoseconds)
    return x->nanoseconds < y->nanoseconds ? 1 : -1;
  return strcmp(x->kernel, y->kernel);
}

static void print_row(const ferrule_profile_entry *e, double runs, double total,
                      double peak) {
  double ns = (double)e->nanoseconds;
  printf("%10.1f %5.1f%%", ns / runs * 1e-3, 100 * ns / total);
  // Of the shortest call: the others may have met other work on the machine.
  double best = (double)e->best_nanoseconds;
  double flops = best > 0 ? (double)e->best_operations / best : 0;
  double bytes = ns > 0 ? (double)e->bytes / ns : 0;
  printf(" %9.1f", flops);
  if (peak > 0)
    printf(" %5.0f%%", 100 * flops / peak);
  printf(" %7.1f  %-16s %s\n", bytes, e->kernel, e->node);
}

static void print_table(ferrule_profile_entry *entries, size_t n, double runs,
                        double seconds, double peak, bool all) {
  double total = 0;
  for (size_t i = 0; i < n; i++)
    total += (double)entries[i].nanoseconds;
  total = total > 0 ? total : 1;
  qsort(entries, n, sizeof *entries, slowest_first);
  printf("%10s %6s %9s%s %7s  %-16s %s\n", "us", "share", "GFLOP/s",
         peak > 0 ? "   peak" : "", "GB/s", "kernel", "node");
  size_t shown = all || n < ROWS ? n : ROWS;
  for (size_t i = 0; i < shown; i++)
    print_row(&entries[i], runs, total, peak);
  if (shown < n) {
    ferrule_profile_entry rest = {.kernel = "", .node = ""};
    for (size_t i = shown; i < n; i++) {
      rest.nanoseconds += entries[i].nanoseconds;
      rest.operations += entries[i].operations;
      rest.bytes += entries[i].bytes;
      rest.best_nanoseconds += entries[i].best_nanoseconds;
      rest.best_operations += entries[i].best_operations;
    }
    char text[64];
    snprintf(text, sizeof text, "%zu more (--all)", n - shown);
    rest.kernel = text;
    print_row(&rest, runs, total, peak);
  }
  printf("%10.1f us per run, %.1f %% of them in kernels; %.0f runs\n",
         seconds / runs * 1e6, 100 * total * 1e-9 / seconds, runs);
}

//===-- The command ---------------------------------------------------------//

static int measure(fe_cli *c, fe_loaded *m, double seconds, double peak,
                   bool all) {
  size_t n;
  ferrule_profile_entry *entries = ferrule_program_profile(m->program, &n);
  int code = fe_loaded_run(c, m); // warm
  for (size_t i = 0; i < n; i++)
    entries[i].calls = entries[i].nanoseconds = entries[i].operations =
        entries[i].bytes = entries[i].best_nanoseconds =
            entries[i].best_operations = 0;
  double start = fe_now(), now = start, runs = 0;
  while (!code && (now < start + seconds || runs < 1)) {
    code = fe_loaded_run(c, m);
    runs++;
    now = fe_now();
  }
  if (!code)
    print_table(entries, n, runs, now - start, peak, all);
  return code;
}

static bool positive(fe_cli *c, const char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  if (*text && !*end && *out > 0 && *out < 1e6)
    return true;
  fe_cli_usage(c, "'%s' is not a positive number", text);
  return false;
}

int fe_cmd_profile(fe_cli *c) {
  const char *value, *inputs[64];
  int n_inputs = 0, o;
  double threads = 1, seconds = 2;
  bool all = false;
  while ((o = fe_cli_next(c, &value)) >= 0) {
    if (o == INPUT) {
      if (n_inputs == (int)FE_COUNT(inputs))
        return fe_cli_usage(c, "more than %zu --input", FE_COUNT(inputs));
      inputs[n_inputs++] = value;
    } else if (o == ALL) {
      all = true;
    } else if (!positive(c, value, o == THREADS ? &threads : &seconds)) {
      return EXIT_USAGE;
    }
  }
  if (o == -2)
    return EXIT_USAGE;
  if (c->n_positional != 1)
    return fe_cli_usage(c, "one model is wanted");
  c->options.profile = true;
  fe_loaded m;
  int code = fe_loaded_open(c, c->positional[0], &m);
  if (!code && !m.program)
    code = fe_cli_usage(c, "profile wants the .onnx, not a compiled model");
  for (int i = 0; i < n_inputs && !code; i++) {
    const char *eq = strchr(inputs[i], '=');
    char *name = eq ? strndup(inputs[i], (size_t)(eq - inputs[i])) : NULL;
    code = fe_loaded_input(c, &m, name, 0, eq ? eq + 1 : inputs[i]);
    free(name);
  }
  if (!code)
    code = fe_loaded_randomize(c, &m, 0);
  if (!code)
    code = fe_loaded_prepare(c, &m, (int)threads);
  if (!code) {
    double peak = measure_peak() * (double)(int)threads;
    printf("%s, %d thread%s", m.model->cpu, (int)threads,
           (int)threads == 1 ? "" : "s");
    if (peak > 0)
      printf(", peak %.0f GFLOP/s", peak);
    printf("\n");
    code = measure(c, &m, seconds, peak, all);
  }
  fe_loaded_close(&m);
  return code;
}
