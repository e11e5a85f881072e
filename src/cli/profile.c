//===- profile.c - ferrule profile ----------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time per kernel call of a model, beside what one core of this machine can do
// at most (multiply-adds in registers, measured first).
//
//===----------------------------------------------------------------------===//
#include "base/base.h"
#include "cli/model.h"

#include <stdlib.h>
#include <string.h>

enum { INPUT, THREADS, RUNS, TOP };
const fe_cli_option fe_profile_options[] = {
    [INPUT] = {"input", 'i', "NAME=FILE", "a .npy file for an input"},
    [THREADS] = {"threads", 't', "N", "threads of the run (default 1)"},
    [RUNS] = {"runs", 'n', "N", "runs to average over (default: one second)"},
    [TOP] = {"top", 0, "N", "show the N slowest only (default 40)"},
    {0}};

//===-- What the machine can do ---------------------------------------------//

enum { CHAINS = 12, STEPS = 200000 };

/// GFLOP/s of independent chains of multiply-adds on vectors of `bytes`.
/// Assembly, so that each is the one instruction that is meant.
#define FE_PEAK(name, isa, bytes, fma)                                         \
  __attribute__((target(isa))) static double name(void) {                      \
    typedef float lanes __attribute__((vector_size(bytes)));                   \
    lanes acc[CHAINS] = {{0}}, x = {0}, y = {0};                               \
    double best = 0;                                                           \
    for (int round = 0; round < 10; round++) {                                 \
      double start = fe_now();                                                 \
      for (int i = 0; i < STEPS; i++) {                                        \
        _Pragma("GCC unroll 12") for (int k = 0; k < CHAINS;                   \
                                      k++) __asm__ volatile(fma :              \
                                                            "+v"(acc[k]) :     \
                                                            "v"(x), "v"(y));   \
      }                                                                        \
      double took = fe_now() - start;                                          \
      double rate = 2.0 * STEPS * CHAINS * (bytes / 4) / took / 1e9;           \
      best = rate > best ? rate : best;                                        \
    }                                                                          \
    return best;                                                               \
  }

#ifdef __x86_64__
FE_PEAK(peak_avx512, "avx512f", 64, "vfmadd231ps %1, %2, %0")
FE_PEAK(peak_avx2, "avx2,fma", 32, "vfmadd231ps %1, %2, %0")
FE_PEAK(peak_sse, "sse4.2", 16, "mulps %1, %0\n\taddps %2, %0")

static double peak(void) {
  if (__builtin_cpu_supports("avx512f"))
    return peak_avx512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return peak_avx2();
  return peak_sse();
}
#else
static double peak(void) { return 0; } // not shown
#endif

//===-- Report --------------------------------------------------------------//

static int slower(const void *a, const void *b) {
  const ferrule_profile_entry *const *x = a, *const *y = b;
  return ((*x)->nanoseconds < (*y)->nanoseconds) -
         ((*x)->nanoseconds > (*y)->nanoseconds);
}

static void print_row(const ferrule_profile_entry *e, double total, double runs,
                      double roof) {
  double ns = (double)e->nanoseconds;
  double gflops = ns > 0 ? (double)e->operations / ns : 0;
  double share = ns / total;
  char bar[11] = "";
  for (int i = 0; i < 10 && (i + 0.5) / 10 < share; i++)
    strcat(bar, "#");
  printf("%-10s %5.1f %% %10.4f %8.1f ", bar, 100 * share, ns / runs / 1e6,
         gflops);
  if (roof > 0)
    printf("%5.0f %% ", 100 * gflops / roof);
  printf("%7.1f  %-18s %s\n", ns > 0 ? (double)e->bytes / ns : 0, e->kernel,
         e->node);
}

static int report(fe_cli *c, const ferrule_profile_entry *entries, size_t n,
                  double runs, size_t top, int threads) {
  const ferrule_profile_entry **order = calloc(n + 1, sizeof *order);
  if (!order) {
    fe_cli_error(c, "out of memory");
    return EXIT_REFUSED;
  }
  double total = 0, operations = 0, roof = peak() * threads;
  size_t calls = 0;
  for (size_t i = 0; i < n; i++) {
    order[i] = &entries[i];
    total += (double)entries[i].nanoseconds;
    operations += (double)entries[i].operations;
    calls += entries[i].calls != 0;
  }
  total = total > 0 ? total : 1;
  qsort(order, n, sizeof *order, slower);
  printf("%.4f ms in kernels a run, %zu calls, %.1f GFLOP/s",
         total / runs / 1e6, calls, operations / total);
  if (roof > 0)
    printf(" = %.0f %% of the %.0f that %d core%s can do",
           100 * operations / total / roof, roof, threads,
           threads == 1 ? "" : "s");
  printf("\n\n%-10s %7s %10s %8s ", "", "share", "ms", "GFLOP/s");
  if (roof > 0)
    printf("%7s ", "peak");
  printf("%7s  %-18s %s\n", "GB/s", "kernel", "node");
  for (size_t i = 0; i < n && i < top && order[i]->calls; i++)
    print_row(order[i], total, runs, roof);
  if (calls > top)
    printf("... and %zu more (--top)\n", calls - top);
  free(order);
  return 0;
}

//===-- The command ---------------------------------------------------------//

static int measure(fe_cli *c, fe_loaded *m, int wanted, size_t top,
                   int threads) {
  size_t n;
  ferrule_profile_entry *entries = ferrule_program_profile(m->program, &n);
  int code = fe_loaded_run(c, m); // warm
  for (size_t i = 0; i < n && !code; i++) {
    ferrule_profile_entry *e = &entries[i];
    e->calls = e->nanoseconds = e->operations = e->bytes = 0;
    e->best_nanoseconds = e->best_operations = 0;
  }
  int runs = 0;
  double end = fe_now() + 1;
  while (!code && (wanted ? runs < wanted : runs < 3 || fe_now() < end)) {
    code = fe_loaded_run(c, m);
    runs++;
  }
  return code ? code : report(c, entries, n, runs, top, threads);
}

static bool count(fe_cli *c, const char *text, int *out) {
  char *end;
  long v = strtol(text, &end, 10);
  if (*text && !*end && v > 0 && v < 1000000) {
    *out = (int)v;
    return true;
  }
  fe_cli_usage(c, "'%s' is not a number from 1 on", text);
  return false;
}

int fe_cmd_profile(fe_cli *c) {
  const char *value, *inputs[64];
  int n_inputs = 0, threads = 1, runs = 0, top = 40, o;
  while ((o = fe_cli_next(c, &value)) >= 0) {
    if (o == INPUT) {
      if (n_inputs == (int)FE_COUNT(inputs))
        return fe_cli_usage(c, "more than %zu --input", FE_COUNT(inputs));
      inputs[n_inputs++] = value;
    } else if (!count(c, value,
                      o == THREADS ? &threads
                      : o == RUNS  ? &runs
                                   : &top)) {
      return EXIT_USAGE;
    }
  }
  if (o == -2)
    return EXIT_USAGE;
  if (c->n_positional != 1)
    return fe_cli_usage(c, "one model is wanted");
  const char *path = c->positional[0];
  if (fe_is_library(path))
    return fe_cli_usage(c, "a compiled model does not know its nodes: give the "
                           "model that it was compiled from");
  c->options.profile = true;
  fe_loaded m;
  int code = fe_loaded_open(c, path, &m);
  for (int i = 0; i < n_inputs && !code; i++)
    code = fe_loaded_input_option(c, &m, inputs[i]);
  if (!code)
    code = fe_loaded_randomize(c, &m, 0);
  if (!code)
    code = fe_loaded_prepare(c, &m, threads);
  if (!code)
    code = measure(c, &m, runs, (size_t)top, threads);
  fe_loaded_close(&m);
  return code;
}
