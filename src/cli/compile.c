//===- compile.c - ferrule compile ----------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "base/base.h"
#include "cli/cli.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { STOP_AFTER, OUTPUT, HEADER, WEIGHTS, TIME, EXPLAIN, MEASURE, JSON };
const fe_cli_option fe_compile_options[] = {
    [STOP_AFTER] = {"stop-after", 0, "PHASE",
                    "write the form after import, optimize, lower, group, "
                    "schedule or plan"},
    [OUTPUT] = {"output", 'o', "OUT", "file to write: .so .o .a .ll .s"},
    [HEADER] = {"header", 0, "FILE",
                "write a C header too: names, shapes, sizes"},
    [WEIGHTS] = {"weights", 0, "WHERE",
                 "inside (default) the artifact, or beside it"},
    [TIME] = {"time", 0, NULL, "say how long each phase took"},
    [EXPLAIN] = {"explain", 0, NULL,
                 "say which kernels the nodes became, how each is done, and "
                 "what it should take by the cost model"},
    [MEASURE] = {"measure", 0, NULL,
                 "with --explain: what each takes on this machine, on random "
                 "inputs and one thread"},
    [JSON] = {"json", 0, NULL, "with --explain: for programs"},
    {0}};

/// Phase times, for --time.
typedef struct fe_clock {
  fe_cli *cli;
  void (*progress)(void *user, const char *phase);
  const char *name[64]; // again for every level of a processor
  double start[64];
  int n;
} fe_clock;

static void tick(void *user, const char *phase) {
  fe_clock *k = user;
  if (k->n < (int)FE_COUNT(k->name)) {
    k->name[k->n] = phase;
    k->start[k->n++] = fe_now();
  }
  k->progress(k->cli, phase);
}

static void show_message(void *user, const ferrule_diagnostic *d) {
  fe_cli_diagnostic(((fe_clock *)user)->cli, d);
}

static void print_times(const fe_clock *k, double end, const char *output) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  for (int i = 0; i < k->n; i++)
    fprintf(stderr, "%-10s %8.1f ms\n", k->name[i],
            1e3 * ((i + 1 < k->n ? k->start[i + 1] : end) - k->start[i]));
  fprintf(stderr, "%-10s %8.1f ms\n", "total", 1e3 * (end - k->start[0]));
  fprintf(stderr, "%-10s %8.1f MB\n", "memory", (double)u.ru_maxrss / 1024);
  struct stat st;
  if (output && !stat(output, &st))
    fprintf(stderr, "%-10s %8.1f kB\n", "artifact", (double)st.st_size / 1e3);
}

/// After a defect in some phase: the form before it goes to a file, so that
/// the defect can be repeated without the model.
static void write_reproducer(fe_cli *c, const fe_clock *k, const char *model) {
  static const char *const order[] = {"import",   "optimize", "lower", "group",
                                      "schedule", "plan",     "emit"};
  static const char path[] = "ferrule-reproducer.mlir";
  const char *failed = k->n ? k->name[k->n - 1] : order[0];
  size_t i = FE_COUNT(order) - 1;
  while (i && strcmp(order[i], failed))
    i--;
  ferrule_options options = c->options;
  options.diagnostic = NULL;
  options.progress = NULL;
  if (i && ferrule_print(model, order[i - 1], path, &options) == FERRULE_OK)
    fprintf(stderr,
            "This is a defect of ferrule. Please report it with %s\n"
            "(and %s.bin, if there is one): the model before the phase '%s'.\n",
            path, path, failed);
  else
    fputs("This is a defect of ferrule. Please report it with the model.\n",
          stderr);
}

int fe_cmd_compile(fe_cli *c) {
  const char *output = NULL, *phase = NULL, *value;
  bool times = false, explain = false, measure = false, json = false;
  int o;
  while ((o = fe_cli_next(c, &value)) >= 0) {
    switch (o) {
    case STOP_AFTER:
      phase = value;
      break;
    case OUTPUT:
      output = value;
      break;
    case HEADER:
      c->options.header = value;
      break;
    case WEIGHTS:
      if (strcmp(value, "inside") && strcmp(value, "beside"))
        return fe_cli_usage(c, "--weights is inside or beside, not '%s'",
                            value);
      c->options.weights_beside = !strcmp(value, "beside");
      break;
    case TIME:
      times = true;
      break;
    case EXPLAIN:
      explain = true;
      break;
    case MEASURE:
      measure = true;
      break;
    case JSON:
      json = true;
      break;
    }
  }
  if (o == -2)
    return EXIT_USAGE;
  if (c->n_positional != 1)
    return fe_cli_usage(c, "one model is wanted");
  if ((measure || json) && !explain)
    return fe_cli_usage(c, "--measure and --json belong to --explain");
  if (!output && !phase && !explain)
    return fe_cli_usage(c, "where should the result go? give -o OUT");
  const char *model = c->positional[0];
  if (explain) {
    int code = fe_cli_explain(c, model, measure, json);
    if (code || (!output && !phase))
      return code;
  }
  fe_clock k = {.cli = c, .progress = c->options.progress};
  c->options.progress = tick;
  c->options.diagnostic = show_message;
  c->options.user = &k;
  ferrule_status s =
      phase ? ferrule_print(model, phase, output ? output : "-", &c->options)
            : ferrule_compile(model, output, &c->options);
  fe_cli_done(c);
  if (s == FERRULE_INTERNAL)
    write_reproducer(c, &k, model);
  if (times && k.n)
    print_times(&k, fe_now(), phase ? NULL : output);
  return (int)s;
}
