//===- levels.c - a model for several levels of a processor ---------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which levels `--target` means, and a session for each of them. Each is opened
// within the one before, so that constants of those below are there while it
// plans its own: equal ones are shared. Their code is compiled by all threads
// at once, in the end.
//
//===----------------------------------------------------------------------===//
#include "api/session.h"

#include <string.h>

//===-- Names ---------------------------------------------------------------//

static const char *level_list(fe_arena *arena) {
  fe_buf b = {0};
  for (unsigned i = 0; fe_targets[i]; i++)
    if (fe_targets[i]->needs)
      fe_buf_printf(arena, &b, "%s%s", b.n ? ", " : "", fe_targets[i]->name);
  return b.at;
}

static void refuse(fe_session *s, const char *name) {
  fe_target storage;
  const char *hint =
      fe_printf(s->arena, "levels that go together are %s; multi is all",
                level_list(s->arena));
  fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.attr = "target"}, hint,
            fe_target_find(name, &storage)
                ? "'%s' cannot be one of several levels"
                : "there is no target called '%s'",
            name);
}

bool fe_session_find_levels(fe_session *s, const char *names) {
  bool all = !strcmp(names, "multi"), wanted[64] = {false};
  if (!all && !strchr(names, ','))
    return true;
  for (const char *at = names; !all && at;) {
    size_t n = strcspn(at, ",");
    const char *name = fe_strndup(s->arena, at, n);
    unsigned i = 0;
    while (fe_targets[i] && strcmp(fe_targets[i]->name, name))
      i++;
    if (!fe_targets[i] || !fe_targets[i]->needs) {
      refuse(s, name);
      return false;
    }
    wanted[i] = true;
    at = at[n] ? at + n + 1 : NULL;
  }
  for (unsigned i = 0; fe_targets[i] && s->n_levels < FE_MAX_LEVELS; i++)
    if (fe_targets[i]->needs && (all || wanted[i]))
      s->levels[s->n_levels++] = fe_targets[i];
  return true;
}

//===-- A session for each --------------------------------------------------//

/// Of one level, within the session of the one below it.
typedef struct step {
  const fe_session *top; // the one with the options
  unsigned level;
  fe_weights weights;
  const fe_levels_work *work;
} step;

/// What is to be said of the model is said at the first level.
static void show_error(void *user, const ferrule_diagnostic *d) {
  const ferrule_options *o = user;
  if (o->diagnostic && d->severity >= FERRULE_ERROR)
    o->diagnostic(o->user, d);
}

static void show_progress(void *user, const char *phase) {
  const ferrule_options *o = user;
  if (o->progress)
    o->progress(o->user, phase);
}

static ferrule_status climb(fe_session *s, void *user) {
  step *here = user;
  const fe_levels_work *w = here->work;
  s->pass.weights = &here->weights;
  ferrule_status status = w->level(s, w->user);
  if (status != FERRULE_OK)
    return status;
  if (here->level + 1 == here->top->n_levels)
    return w->end ? w->end(s, w->user) : FERRULE_OK;
  step next = {
      .top = here->top,
      .level = here->level + 1,
      .weights = {.below = &here->weights, .bytes = here->weights.bytes},
      .work = w};
  ferrule_options options = here->top->options;
  options.target = here->top->levels[next.level]->name;
  options.diagnostic = show_error;
  options.progress = show_progress;
  options.user = (void *)(uintptr_t)&here->top->options;
  return fe_session_do(&options, w->path, climb, &next);
}

ferrule_status fe_session_levels(const fe_session *s, const fe_levels_work *w) {
  step first = {.top = s, .work = w};
  ferrule_options options = s->options;
  options.target = s->levels[0]->name;
  return fe_session_do(&options, w->path, climb, &first);
}
