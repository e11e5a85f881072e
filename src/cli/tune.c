//===- tune.c - ferrule tune ----------------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: hill climbing on all kernels at once. A round changes one number of
// every kernel that takes some time, compiles the model into this process and
// runs it in turns with the best one so far, each kernel under a clock: so
// every candidate meets the caches and the data that it will have. What was
// faster by more than noise, and is so again in a second series of runs, is
// kept. How convolutions are done comes first, as that decides which kernels
// there are. The file is written whenever something is kept.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "cli/tune.h"
#include "api/session.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OUTPUT, INPUT, SECONDS, THREADS };
const fe_cli_option fe_tune_options[] = {
    [OUTPUT] = {"output", 'o', "FILE", "the schedule to write"},
    [INPUT] = {"input", 'i', "NAME=FILE", "a .npy file for an input"},
    [SECONDS] = {"seconds", 's', "S",
                 "how long to search (default 60; compiling is not cut short)"},
    [THREADS] = {"threads", 't', "N", "threads of the runs (default 1)"},
    {0}};

//===-- Stopping ------------------------------------------------------------//

static volatile sig_atomic_t interrupted;
static struct sigaction before;

/// The first time the search ends in order; then as it would have.
static void on_interrupt(int number) {
  interrupted = 1;
  sigaction(number, &before, NULL);
}

static void catch_interrupt(void) {
  struct sigaction action = {.sa_handler = on_interrupt,
                             .sa_flags = SA_RESTART};
  if (!sigaction(SIGINT, NULL, &before) && before.sa_handler != SIG_IGN)
    sigaction(SIGINT, &action, NULL);
}

bool fe_tune_interrupted(void) { return interrupted; }

bool fe_tune_ends(const fe_tune *t) {
  return interrupted || fe_now() >= t->end;
}

//===-- Schedules -----------------------------------------------------------//

void fe_tune_set(fe_tune *t, fe_lines *lines, const char *root, uint64_t key,
                 const char *knob, int64_t value) {
  fe_schedule_line *l = NULL;
  for (size_t i = 0; i < lines->n && !l; i++)
    if (lines->at[i].key == key && !strcmp(lines->at[i].root, root) &&
        !strcmp(lines->at[i].cpu, t->target->cpu))
      l = &lines->at[i];
  if (!l) {
    fe_schedule_line fresh = {.cpu = t->target->cpu, .root = root, .key = key};
    fe_push(t->arena, lines, fresh);
    l = &lines->at[lines->n - 1];
  }
  unsigned at = 0;
  while (at < l->n && strcmp(l->knob[at].name, knob) < 0)
    at++;
  if (at == l->n || strcmp(l->knob[at].name, knob)) {
    memmove(&l->knob[at + 1], &l->knob[at], (l->n - at) * sizeof *l->knob);
    l->n++;
  }
  l->knob[at] = (fe_knob_value){knob, value};
}

static fe_lines copy_of(fe_tune *t, const fe_lines *from) {
  fe_lines to = {0};
  for (size_t i = 0; i < from->n; i++)
    fe_push(t->arena, &to, from->at[i]);
  return to;
}

int fe_tune_use(fe_tune *t, const fe_lines *lines) {
  const char *text = fe_schedules_text(t->arena, lines->n, lines->at);
  size_t n = strlen(text);
  t->cli->options.schedule = t->path;
  if (!ftruncate(t->file, 0) && pwrite(t->file, text, n, 0) == (ssize_t)n)
    return 0;
  fe_cli_error(t->cli, "there is no memory for a schedule");
  return EXIT_REFUSED;
}

static void forward(void *user, const fe_diag *d) {
  ferrule_diagnostic out = {.severity = FERRULE_ERROR,
                            .file = d->where.file,
                            .message = d->message,
                            .hint = d->hint};
  fe_cli_diagnostic(user, &out);
}

static int write_best(fe_tune *t) {
  fe_diags diags = {.arena = t->arena, .fn = forward, .user = t->cli};
  const char *text = fe_schedules_text(t->arena, t->best.n, t->best.at);
  return fe_file_write(&diags, t->output, text, strlen(text)) == FE_OK
             ? 0
             : EXIT_REFUSED;
}

/// The file to go on from, if --schedule names one.
static int read_first(fe_tune *t) {
  const char *path = t->cli->options.schedule;
  fe_diags diags = {.arena = t->arena, .fn = forward, .user = t->cli};
  fe_file file;
  fe_schedules s;
  if (!path)
    return 0;
  if (fe_file_map(&diags, path, &file) != FE_OK)
    return EXIT_REFUSED;
  fe_status status =
      fe_schedules_read(&s, &diags, t->arena, path, file.data, file.size);
  fe_file_unmap(&file);
  for (size_t i = 0; status == FE_OK && i < s.lines.n; i++)
    fe_push(t->arena, &t->best, s.lines.at[i]);
  return status == FE_OK ? 0 : EXIT_REFUSED;
}

//===-- Programs ------------------------------------------------------------//

/// Lines of the schedule that a compilation has refused.
typedef struct fe_refusals {
  fe_tune *tune;
  fe_vec(unsigned) lines;
  unsigned others; // messages about something else
} fe_refusals;

static void note_refusal(void *user, const ferrule_diagnostic *d) {
  fe_refusals *r = user;
  size_t n = strlen(r->tune->path);
  if (d->severity < FERRULE_ERROR)
    return;
  if (d->file && !strncmp(d->file, r->tune->path, n) && d->file[n] == ':')
    fe_push(r->tune->arena, &r->lines,
            (unsigned)strtoul(d->file + n + 1, NULL, 10));
  else if (!r->others++)
    fe_cli_diagnostic(r->tune->cli, d);
}

static int open_program(fe_tune *t, const fe_lines *lines, fe_loaded *m,
                        fe_refusals *refusals) {
  ferrule_options *o = &t->cli->options, saved = *o;
  int code = fe_tune_use(t, lines);
  o->progress = NULL;
  if (refusals) {
    o->diagnostic = note_refusal;
    o->user = refusals;
  }
  if (!code)
    code = fe_measure_open(t->cli, t->model, t->inputs, t->n_inputs, t->threads,
                           m);
  *o = saved;
  o->schedule = t->path;
  return code;
}

/// Marks the units that changed in those lines; false: there are none.
static bool mark_refused(fe_tune *t, const fe_lines *lines,
                         const fe_refusals *r) {
  fe_schedules s;
  fe_diags diags = {.arena = t->arena};
  const char *text = fe_schedules_text(t->arena, lines->n, lines->at);
  bool any = false;
  if (fe_schedules_read(&s, &diags, t->arena, t->path, text, strlen(text)) !=
      FE_OK)
    return false;
  for (size_t i = 0; i < r->lines.n; i++)
    for (size_t k = 0; k < s.lines.n; k++)
      for (size_t u = 0; u < t->units.n; u++) {
        fe_unit *unit = &t->units.at[u];
        if (s.lines.at[k].line == r->lines.at[i] && unit->changing &&
            unit->now.key == s.lines.at[k].key &&
            !strcmp(unit->now.root, s.lines.at[k].root)) {
          unit->changing = false;
          any = true;
        }
      }
  return any;
}

/// The best schedule with all changes of this round. Changes that generators
/// refuse are dropped. *left: whether any is left; then m is open.
static int open_candidate(fe_tune *t, fe_loaded *m, bool *left) {
  for (;;) {
    fe_lines lines = copy_of(t, &t->best);
    *left = false;
    for (size_t i = 0; i < t->units.n; i++) {
      const fe_unit *u = &t->units.at[i];
      *left |= u->changing;
      if (u->changing)
        fe_tune_set(t, &lines, u->now.root, u->now.key,
                    u->now.knob[u->knob].name, u->value);
    }
    if (!*left)
      return 0;
    fe_refusals refusals = {.tune = t};
    int code = open_program(t, &lines, m, &refusals);
    if (!code)
      return 0;
    fe_loaded_close(m);
    if (refusals.others || !mark_refused(t, &lines, &refusals))
      return code;
  }
}

//===-- The search ----------------------------------------------------------//

static void show_progress(fe_tune *t) {
  unsigned n = 0;
  for (size_t i = 0; i < t->units.n; i++)
    n += t->units.at[i].changing;
  double left = t->end - fe_now();
  if (t->cli->quiet || !isatty(2))
    return;
  fprintf(
      stderr,
      "\r\033[Kround %u: %u of %zu %s changed, %u changes kept, %.0f s left",
      t->rounds, n, t->units.n, t->of_nodes ? "convolutions" : "kernels",
      t->kept, left > 0 ? left : 0);
  fflush(stderr);
  t->cli->line_open = true;
}

/// Takes over what was better in both series; gives how many.
static unsigned keep_better(fe_tune *t, const fe_pairs *first,
                            const fe_pairs *second) {
  unsigned n = 0;
  for (size_t i = 0; i < t->units.n; i++) {
    fe_unit *u = &t->units.at[i];
    if (!u->changing || !fe_pairs_better(t, first, i) ||
        !fe_pairs_better(t, second, i))
      continue;
    fe_knob_value *k = &u->now.knob[u->knob];
    fe_cli_done(t->cli);
    printf("%-20s %s %lld -> %lld: %.1f %% less time, of %.1f %%\n", u->names,
           k->name, (long long)k->value, (long long)u->value,
           100 - 100 * fe_pairs_median(t, second, i), 100 * u->share);
    fflush(stdout);
    k->value = u->value;
    fe_tune_set(t, &t->best, u->now.root, u->now.key, k->name, k->value);
    n++;
  }
  t->kept += n;
  return n;
}

static bool any_better(const fe_tune *t, const fe_pairs *p) {
  for (size_t i = 0; i < t->units.n; i++)
    if (t->units.at[i].changing && fe_pairs_better(t, p, i))
      return true;
  return false;
}

/// One round beside `best`, a program of the best schedule, which is opened
/// anew when that changes.
static int search_round(fe_tune *t, fe_loaded *best) {
  fe_loaded m = {0};
  fe_pairs first, second;
  bool left;
  t->rounds++;
  show_progress(t);
  int code = open_candidate(t, &m, &left);
  if (code || !left)
    return code;
  unsigned kept = 0;
  if (!fe_tune_ends(t))
    code = fe_tune_compare(t, best, &m, &first);
  if (!code && !fe_tune_ends(t) && any_better(t, &first)) {
    code = fe_tune_compare(t, best, &m, &second);
    if (!code && !interrupted)
      kept = keep_better(t, &first, &second);
  }
  fe_loaded_close(&m);
  if (!kept)
    return code;
  code = write_best(t);
  fe_loaded_close(best);
  return code ? code : open_program(t, &t->best, best, NULL);
}

static int search(fe_tune *t, fe_loaded *best) {
  int code = 0;
  for (int of_nodes = 1; of_nodes >= 0 && !code && !fe_tune_ends(t);
       of_nodes--) {
    fe_pairs shares;
    code = fe_tune_units(t, of_nodes);
    if (!code && t->units.n) // for the share that each has of the time
      code = fe_tune_compare(t, best, best, &shares);
    while (!code && !fe_tune_ends(t) && fe_tune_neighbours(t))
      code = search_round(t, best);
  }
  return code;
}

/// In the end all that was kept together has to be better.
static int judge(fe_tune *t, const fe_lines *start, fe_loaded *best) {
  fe_loaded m = {0};
  fe_pairs p;
  int code = open_program(t, start, &m, NULL);
  if (!code)
    code = fe_tune_compare(t, &m, best, &p);
  fe_loaded_close(&m);
  if (code)
    return code;
  double ratio = fe_pairs_median(t, &p, t->units.n);
  if (ratio < 1) {
    printf("%u change%s kept: the model takes %.1f %% less time; see %s\n",
           t->kept, t->kept == 1 ? "" : "s", 100 - 100 * ratio, t->output);
    return 0;
  }
  printf("the model as a whole did not get faster: dropped\n");
  t->best = *start;
  return write_best(t);
}

static int tune(fe_tune *t) {
  fe_loaded best = {0};
  int code = read_first(t);
  fe_lines start = copy_of(t, &t->best);
  if (!code)
    code = write_best(t);
  if (!code)
    code = open_program(t, &t->best, &best, NULL);
  t->end = fe_now() + t->seconds;
  if (!code)
    code = search(t, &best);
  fe_cli_done(t->cli);
  if (!code && interrupted)
    printf("stopped: what was kept so far, %u change%s, is in %s\n", t->kept,
           t->kept == 1 ? "" : "s", t->output);
  else if (!code && t->kept)
    code = judge(t, &start, &best);
  else if (!code)
    printf("nothing was found that is faster than the compiler's choices, in "
           "%u rounds\n",
           t->rounds);
  fe_loaded_close(&best);
  return code;
}

//===-- The command ---------------------------------------------------------//

static bool number(fe_cli *c, const char *text, double most, double *out) {
  char *end;
  *out = strtod(text, &end);
  if (*text && !*end && *out > 0 && *out <= most)
    return true;
  fe_cli_usage(c, "'%s' is not a number above 0 and up to %.0f", text, most);
  return false;
}

int fe_cmd_tune(fe_cli *c) {
  const char *value, *inputs[64];
  fe_tune t = {.cli = c, .inputs = inputs, .threads = 1};
  double seconds = 60, threads = 1;
  int o;
  while ((o = fe_cli_next(c, &value)) >= 0) {
    if (o == OUTPUT) {
      t.output = value;
    } else if (o == INPUT) {
      if (t.n_inputs == (int)FE_COUNT(inputs))
        return fe_cli_usage(c, "more than %zu --input", FE_COUNT(inputs));
      inputs[t.n_inputs++] = value;
    } else if (!number(c, value, o == THREADS ? 256 : 1e6,
                       o == THREADS ? &threads : &seconds)) {
      return EXIT_USAGE;
    }
  }
  if (o == -2)
    return EXIT_USAGE;
  if (c->n_positional != 1)
    return fe_cli_usage(c, "one model is wanted");
  t.model = c->positional[0];
  if (!t.output)
    return fe_cli_usage(c, "where should the schedule go? give -o FILE");
  if (fe_is_library(t.model))
    return fe_cli_usage(c, "a compiled model cannot be tuned: give the model "
                           "that it was compiled from");
  if (fe_same_file(t.output, t.model))
    return fe_cli_usage(c, "the schedule would take the place of the model");
  t.threads = (int)threads;
  t.target = fe_measure_target(c, &t.target_storage);
  if (!t.target)
    return fe_cli_usage(c, "--target is to name one processor, not '%s'",
                        c->options.target ? c->options.target : "native");
  t.file = memfd_create("schedule", MFD_CLOEXEC);
  if (t.file < 0) {
    fe_cli_error(c, "there is no memory for a schedule");
    return EXIT_REFUSED;
  }
  snprintf(t.path, sizeof t.path, "/proc/self/fd/%d", t.file);
  t.arena = fe_arena_create(NULL);
  t.seconds = seconds;
  catch_interrupt();
  int code = tune(&t);
  fe_arena_destroy(t.arena);
  close(t.file);
  return code;
}
