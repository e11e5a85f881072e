//===- tune_units.c - what can be chosen, and what it takes ---------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "api/session.h"
#include "cli/tune.h"

#include <stdlib.h>
#include <string.h>

#define WORTH 0.003    // of the model's time: what takes less is left alone
#define BETTER 0.98    // of the time before
#define PAIRS_TIME 0.4 // seconds of a comparison, if that is enough
enum { FEWEST_PAIRS = 7, MOST_PAIRS = 41 };

//===-- Units ---------------------------------------------------------------//

static void add_name(fe_tune *t, const char *name, size_t unit) {
  if (name && *name && !fe_map_get(&t->by_name, name))
    fe_map_set(t->arena, &t->by_name, name, (void *)(uintptr_t)(unit + 1));
}

/// What a session has noted, in memory that outlives it.
static void add_unit(fe_tune *t, const fe_chosen *c) {
  const char *name = t->of_nodes ? c->node : c->kernel;
  size_t i = 0;
  while (i < t->units.n && (t->units.at[i].now.key != c->key ||
                            strcmp(t->units.at[i].now.root, c->root)))
    i++;
  if (!name || !*name)
    return;
  name = fe_strdup(t->arena, name);
  if (i == t->units.n) {
    fe_unit u = {.now = *c, .names = name};
    u.now.root = fe_knob_info_find(c->root, NULL)->root;
    for (unsigned k = 0; k < c->n; k++)
      u.now.knob[k].name = fe_knob_info_find(c->root, c->knob[k].name)->name;
    fe_push(t->arena, &t->units, u);
  }
  add_name(t, name, i);
}

static ferrule_status look(fe_session *s, void *user) {
  fe_tune *t = user;
  s->schedules.arena = s->arena;
  s->pass.schedules = &s->schedules;
  ferrule_status status = fe_session_read(s, t->model);
  if (status == FERRULE_OK)
    status = fe_session_run(s, t->of_nodes ? "optimize" : "schedule");
  if (status != FERRULE_OK)
    return status;
  for (size_t i = 0; i < s->schedules.chosen.n; i++) {
    const fe_chosen *c = &s->schedules.chosen.at[i];
    if (t->of_nodes == !strcmp(c->root, "convolution"))
      add_unit(t, c);
  }
  return FERRULE_OK;
}

int fe_tune_units(fe_tune *t, bool of_nodes) {
  t->of_nodes = of_nodes;
  t->units.n = 0;
  t->by_name = (fe_map){0};
  int code = fe_tune_use(t, &t->best);
  return code ? code : (int)fe_session_do(&t->cli->options, t->model, look, t);
}

//===-- Neighbours ----------------------------------------------------------//

static unsigned values_near(const fe_knob_info *k, int64_t v, int64_t *out) {
  unsigned n = 0;
  int64_t near[8];
  unsigned n_near = 0;
  switch (k->kind) {
  case FE_KNOB_CHOICE:
    for (int64_t x = k->low; x <= k->high && n_near < FE_COUNT(near); x++)
      near[n_near++] = x;
    break;
  case FE_KNOB_EVEN:
    for (int64_t x = k->low; x <= k->high && n_near < FE_COUNT(near); x += 2)
      near[n_near++] = x;
    break;
  case FE_KNOB_COUNT:
    for (int64_t d = 1; d <= 2; d++) {
      near[n_near++] = v - d;
      near[n_near++] = v + d;
    }
    break;
  case FE_KNOB_SIZE:
    near[n_near++] = v ? v * 2 : 1024;
    near[n_near++] = v ? v / 2 : 256;
    if (!k->low)
      near[n_near++] = 0;
    break;
  }
  for (unsigned i = 0; i < n_near; i++)
    if (near[i] != v && near[i] >= k->low && near[i] <= k->high)
      out[n++] = near[i];
  return n;
}

static bool next_of(fe_tune *t, fe_unit *u) {
  for (unsigned k = 0; k < u->now.n; k++) {
    int64_t values[8];
    const fe_knob_info *info =
        fe_knob_info_find(u->now.root, u->now.knob[k].name);
    unsigned n = values_near(info, u->now.knob[k].value, values);
    for (unsigned i = 0; i < n; i++) {
      char *name = fe_printf(t->arena, "%s %llx %s=%lld", u->now.root,
                             (unsigned long long)u->now.key, info->name,
                             (long long)values[i]);
      if (fe_map_get(&t->tried, name))
        continue;
      fe_map_set(t->arena, &t->tried, name, t);
      u->changing = true;
      u->knob = k;
      u->value = values[i];
      return true;
    }
  }
  return false;
}

bool fe_tune_neighbours(fe_tune *t) {
  bool any = false;
  for (size_t i = 0; i < t->units.n; i++) {
    fe_unit *u = &t->units.at[i];
    u->changing = false;
    if (u->share >= WORTH)
      any |= next_of(t, u);
  }
  return any;
}

//===-- Comparing -----------------------------------------------------------//

/// One run; the time of every unit and, behind them, of all kernels.
static int run(fe_tune *t, fe_loaded *m, double *times) {
  size_t n;
  const ferrule_profile_entry *e = ferrule_program_profile(m->program, &n);
  memset(times, 0, (t->units.n + 1) * sizeof *times);
  fe_measure_clear(m);
  int code = fe_loaded_run(t->cli, m);
  for (size_t i = 0; i < n; i++) {
    const char *name = t->of_nodes ? e[i].node : e[i].kernel;
    size_t unit = (size_t)(uintptr_t)fe_map_get(&t->by_name, name);
    if (unit)
      times[unit - 1] += (double)e[i].nanoseconds;
    times[t->units.n] += (double)e[i].nanoseconds;
  }
  return code;
}

int fe_tune_compare(fe_tune *t, fe_loaded *a, fe_loaded *b, fe_pairs *out) {
  size_t n = t->units.n + 1;
  double *times = FE_NEW_N(t->arena, double, 2 * n);
  double *shares = FE_NEW_N(t->arena, double, n);
  out->ratio = FE_NEW_N(t->arena, double, n *MOST_PAIRS);
  int code = run(t, a, times); // warm
  if (!code)
    code = run(t, b, times);
  double start = fe_now();
  for (out->n = 0; !code && out->n < MOST_PAIRS; out->n++) {
    if (fe_tune_interrupted() ||
        (out->n >= FEWEST_PAIRS && fe_now() - start > PAIRS_TIME))
      break;
    bool first = out->n % 2; // which one goes first changes
    code = run(t, first ? b : a, times + (first ? n : 0));
    if (!code)
      code = run(t, first ? a : b, times + (first ? 0 : n));
    for (size_t i = 0; i < n; i++) {
      bool there = times[i] > 0 && times[n + i] > 0;
      out->ratio[i * MOST_PAIRS + out->n] = there ? times[n + i] / times[i] : 1;
      shares[i] += times[i];
    }
  }
  for (size_t i = 0; i + 1 < n; i++)
    t->units.at[i].share = shares[n - 1] > 0 ? shares[i] / shares[n - 1] : 0;
  return code;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double fe_pairs_median(const fe_tune *t, const fe_pairs *p, size_t unit) {
  double *sorted =
      fe_memdup(t->arena, p->ratio + unit * MOST_PAIRS, p->n * sizeof *sorted);
  qsort(sorted, p->n, sizeof *sorted, ascending);
  return p->n ? (sorted[(p->n - 1) / 2] + sorted[p->n / 2]) / 2 : 1;
}

bool fe_pairs_better(const fe_tune *t, const fe_pairs *p, size_t unit) {
  unsigned faster = 0;
  for (unsigned i = 0; i < p->n; i++)
    faster += p->ratio[unit * MOST_PAIRS + i] < 1;
  return 4 * faster >= 3 * p->n && fe_pairs_median(t, p, unit) < BETTER;
}
