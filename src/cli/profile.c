//===- profile.c - ferrule profile ----------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time per kernel call of a model, beside what one core of this machine can do
// at most (measure.c).
//
//===----------------------------------------------------------------------===//
#include "cli/measure.h"

#include <stdlib.h>
#include <string.h>

enum { INPUT, THREADS, RUNS, TOP };
const fe_cli_option fe_profile_options[] = {
    [INPUT] = {"input", 'i', "NAME=FILE", "a .npy file for an input"},
    [THREADS] = {"threads", 't', "N", "threads of the run (default 1)"},
    [RUNS] = {"runs", 'n', "N", "runs to average over (default: one second)"},
    [TOP] = {"top", 0, "N", "show the N slowest only (default 40)"},
    {0}};

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

static int report(fe_cli *c, const fe_loaded *m, double runs, size_t top,
                  int threads) {
  size_t n;
  const ferrule_profile_entry *entries =
      ferrule_program_profile(m->program, &n);
  fe_target storage;
  const fe_target *target = fe_measure_target(c, &storage);
  if (!target) // the best of several levels
    target = fe_target_find("native", &storage);
  const ferrule_profile_entry **order = calloc(n + 1, sizeof *order);
  if (!order) {
    fe_cli_error(c, "out of memory");
    return EXIT_REFUSED;
  }
  double total = 0, operations = 0, roof = fe_measure_peak(target) * threads;
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
  fe_loaded m;
  int code = fe_measure_open(c, path, inputs, n_inputs, threads, &m);
  if (!code)
    code = fe_measure_runs(c, &m, &runs);
  if (!code)
    code = report(c, &m, runs, (size_t)top, threads);
  fe_loaded_close(&m);
  return code;
}
