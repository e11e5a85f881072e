//===- bench.c - ferrule bench --------------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times runs of a model. With --vs onnxruntime, ONNX Runtime runs the same
// model on the same inputs in a child process (python3 with the package
// onnxruntime), in turns with Ferrule, so that both meet the same machine.
//
//===----------------------------------------------------------------------===//
#include "base/base.h"
#include "cli/model.h"
#include "cli/npy.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INPUT, THREADS, SECONDS, VS };
const fe_cli_option fe_bench_options[] = {
    [INPUT] = {"input", 'i', "NAME=FILE", "a .npy file for an input"},
    [THREADS] = {"threads", 't', "N", "threads of the run (default 1)"},
    [SECONDS] = {"seconds", 's', "S", "how long to measure (default 3)"},
    [VS] = {"vs", 0, "PEER", "compare with a peer: onnxruntime"},
    {0}};

typedef struct fe_times {
  double *at;
  size_t n, cap;
} fe_times;

static bool add_time(fe_times *t, double seconds) {
  if (t->n == t->cap) {
    size_t cap = t->cap ? 2 * t->cap : 256;
    double *at = realloc(t->at, cap * sizeof *at);
    if (!at)
      return false;
    t->at = at;
    t->cap = cap;
  }
  t->at[t->n++] = seconds;
  return true;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(fe_times *t, double q) {
  qsort(t->at, t->n, sizeof *t->at, ascending);
  return t->at[(size_t)(q * (double)(t->n - 1) + 0.5)];
}

static void report(const char *who, fe_times *t) {
  printf("%-14s median %9.4f ms, fastest %9.4f, 90 %% below %9.4f, %zu runs\n",
         who, 1e3 * quantile(t, 0.5), 1e3 * quantile(t, 0),
         1e3 * quantile(t, 0.9), t->n);
}

//===-- The peer ------------------------------------------------------------//

typedef struct fe_peer {
  pid_t pid;
  FILE *to, *from;
  char folder[64]; // inputs as .npy
  unsigned n_inputs;
} fe_peer;

/// Protocol: "ready" when loaded, then for each line "N" the seconds of N runs,
/// one a line.
static const char peer_script[] =
    "import sys, time\n"
    "import numpy as np, onnxruntime as rt\n"
    "model, folder, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])\n"
    "o = rt.SessionOptions()\n"
    "o.intra_op_num_threads, o.inter_op_num_threads = threads, 1\n"
    "s = rt.InferenceSession(model, o, providers=['CPUExecutionProvider'])\n"
    "feed = {x.name: np.load(f'{folder}/{i}.npy')\n"
    "        for i, x in enumerate(s.get_inputs())}\n"
    "s.run(None, feed)\n"
    "print('ready', rt.__version__, flush=True)\n"
    "for line in sys.stdin:\n"
    "    for _ in range(int(line)):\n"
    "        start = time.perf_counter()\n"
    "        s.run(None, feed)\n"
    "        print(time.perf_counter() - start)\n"
    "    sys.stdout.flush()\n";

static bool write_inputs(fe_cli *c, fe_peer *p, const fe_loaded *m) {
  const char *tmp = getenv("TMPDIR");
  snprintf(p->folder, sizeof p->folder, "%s/ferrule-bench-XXXXXX",
           tmp && strlen(tmp) < 32 ? tmp : "/tmp");
  if (!mkdtemp(p->folder)) {
    p->folder[0] = 0;
    fe_cli_error(c, "cannot make a temporary folder");
    return false;
  }
  for (; p->n_inputs < m->model->n_inputs; p->n_inputs++) {
    char path[128];
    snprintf(path, sizeof path, "%s/%u.npy", p->folder, p->n_inputs);
    const char *wrong = fe_npy_write(path, &m->inputs[p->n_inputs]);
    if (wrong) {
      fe_cli_error(c, "%s: %s", path, wrong);
      return false;
    }
  }
  return true;
}

static bool start_peer(fe_cli *c, fe_peer *p, const fe_loaded *m,
                       const char *model, int threads) {
  int to[2], from[2];
  char count[16], line[128];
  if (!write_inputs(c, p, m))
    return false;
  snprintf(count, sizeof count, "%d", threads);
  signal(SIGPIPE, SIG_IGN); // a peer that died is an error of fflush
  if (pipe(to) || pipe(from) || (p->pid = fork()) < 0) {
    fe_cli_error(c, "cannot start a process");
    return false;
  }
  if (!p->pid) {
    dup2(to[0], 0);
    dup2(from[1], 1);
    close(to[1]);
    close(from[0]);
    execlp("python3", "python3", "-c", peer_script, model, p->folder, count,
           (char *)NULL);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  p->to = fdopen(to[1], "w");
  p->from = fdopen(from[0], "r");
  if (!p->to || !p->from || !fgets(line, sizeof line, p->from) ||
      strncmp(line, "ready", 5)) {
    fe_cli_error(c, "ONNX Runtime did not start; it needs python3 with the "
                    "packages onnxruntime and numpy (pip install onnxruntime)");
    return false;
  }
  line[strcspn(line, "\n")] = 0;
  printf("ONNX Runtime%s\n", line + 5);
  return true;
}

static bool peer_runs(fe_peer *p, int n, fe_times *times) {
  char line[64];
  if (fprintf(p->to, "%d\n", n) < 0 || fflush(p->to))
    return false;
  for (int i = 0; i < n; i++)
    if (!fgets(line, sizeof line, p->from) ||
        !add_time(times, strtod(line, NULL)))
      return false;
  return true;
}

static void stop_peer(fe_peer *p) {
  if (p->to)
    fclose(p->to);
  if (p->from)
    fclose(p->from);
  if (p->pid > 0)
    waitpid(p->pid, NULL, 0);
  for (unsigned i = 0; i < p->n_inputs; i++) {
    char path[128];
    snprintf(path, sizeof path, "%s/%u.npy", p->folder, i);
    unlink(path);
  }
  if (p->folder[0])
    rmdir(p->folder);
}

//===-- The command ---------------------------------------------------------//

/// Rounds of a tenth of a second each, Ferrule and the peer in turns.
static int measure(fe_cli *c, fe_loaded *m, fe_peer *peer, double seconds) {
  fe_times mine = {0}, theirs = {0};
  int code = fe_loaded_run(c, m); // warm
  double start = fe_now();
  if (!code)
    code = fe_loaded_run(c, m);
  double once = fe_now() - start;
  int round = once < 0.1 ? (int)(0.1 / (once + 1e-9)) : 1;
  round = round < 1 ? 1 : round > 100000 ? 100000 : round;
  double end = fe_now() + seconds;
  do {
    for (int i = 0; i < round && !code; i++) {
      double t = fe_now();
      code = fe_loaded_run(c, m);
      if (!code && !add_time(&mine, fe_now() - t))
        code = EXIT_REFUSED;
    }
    if (!code && peer && !peer_runs(peer, round, &theirs)) {
      fe_cli_error(c, "ONNX Runtime stopped");
      code = EXIT_REFUSED;
    }
  } while (!code && fe_now() < end);
  if (!code) {
    report("Ferrule", &mine);
    if (peer) {
      report("ONNX Runtime", &theirs);
      printf("%-14s %.2f times as fast\n", "Ferrule is",
             quantile(&theirs, 0.5) / quantile(&mine, 0.5));
    }
  }
  free(mine.at);
  free(theirs.at);
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

int fe_cmd_bench(fe_cli *c) {
  const char *value, *inputs[64];
  int n_inputs = 0, o;
  double threads = 1, seconds = 3;
  bool versus = false;
  while ((o = fe_cli_next(c, &value)) >= 0) {
    if (o == INPUT) {
      if (n_inputs == (int)FE_COUNT(inputs))
        return fe_cli_usage(c, "more than %zu --input", FE_COUNT(inputs));
      inputs[n_inputs++] = value;
    } else if (o == VS) {
      if (strcmp(value, "onnxruntime"))
        return fe_cli_usage(c, "the peer is onnxruntime, not '%s'", value);
      versus = true;
    } else if (!positive(c, value, o == THREADS ? &threads : &seconds)) {
      return EXIT_USAGE;
    }
  }
  if (o == -2)
    return EXIT_USAGE;
  if (c->n_positional != 1)
    return fe_cli_usage(c, "one model is wanted");
  const char *path = c->positional[0];
  if (versus && fe_is_library(path))
    return fe_cli_usage(c, "--vs wants the .onnx, not a compiled model");
  fe_loaded m;
  fe_peer peer = {0};
  int code = fe_loaded_open(c, path, &m);
  for (int i = 0; i < n_inputs && !code; i++)
    code = fe_loaded_input_option(c, &m, inputs[i]);
  if (!code)
    code = fe_loaded_randomize(c, &m, 0);
  if (!code)
    code = fe_loaded_prepare(c, &m, (int)threads);
  if (!code && m.program)
    printf("compiled in %.0f ms; ", 1e3 * m.compile_seconds);
  if (!code)
    printf("%s, %d thread%s, arena %.1f MB\n", m.model->cpu, (int)threads,
           (int)threads == 1 ? "" : "s", (double)m.arena_size / 1e6);
  if (!code && versus && !start_peer(c, &peer, &m, path, (int)threads))
    code = EXIT_REFUSED;
  if (!code)
    code = measure(c, &m, versus ? &peer : NULL, seconds);
  stop_peer(&peer);
  fe_loaded_close(&m);
  return code;
}
