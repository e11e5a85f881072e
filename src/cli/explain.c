//===- explain.c - compile --explain --------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernels a model became, of which nodes, how each was scheduled, what it
// should take by the cost model, and what it takes.
//
//===----------------------------------------------------------------------===//
#include "cli/explain.h"
#include "cli/measure.h"

#include <string.h>

static void read_nodes(fe_session *s, MlirLocation loc, fe_layer *l) {
  unsigned n =
      mlirLocationIsAFused(loc) ? mlirLocationFusedGetNumLocations(loc) : 1;
  MlirLocation *parts = FE_NEW_N(s->arena, MlirLocation, n + 1);
  if (mlirLocationIsAFused(loc))
    mlirLocationFusedGetLocations(loc, parts);
  else
    parts[0] = loc;
  l->nodes = FE_NEW_N(s->arena, const char *, n + 1);
  for (unsigned i = 0; i < n; i++) {
    const char *node = fe_loc_node(&s->ir, parts[i]);
    l->nodes[l->n_nodes++] = node ? node : "";
  }
}

/// The profile has the calls in the same order, but for those that plan does.
static const ferrule_profile_entry *
measured(fe_explained *e, const char *kernel, MlirLocation loc) {
  const char *node = fe_loc_node(&e->s->ir, loc);
  for (size_t i = e->next; i < e->n_entries; i++)
    if (!strcmp(e->entries[i].kernel, kernel) &&
        !strcmp(e->entries[i].node, node ? node : "")) {
      e->next = i + 1;
      return e->entries[i].calls ? &e->entries[i] : NULL;
    }
  return NULL;
}

static void see_call(MlirOperation op, void *user) {
  fe_explained *e = user;
  fe_session *s = e->s;
  if (!fe_op_is(op, "kernel.call"))
    return;
  MlirStringRef callee = mlirFlatSymbolRefAttrGetValue(fe_attr(op, "callee"));
  fe_layer l = {.kernel = fe_strndup(s->arena, callee.data, callee.length)};
  MlirLocation loc = mlirOperationGetLocation(op);
  read_nodes(s, loc, &l);
  MlirOperation kernel = fe_func_find(s->module, l.kernel);
  const char *root = fe_strndup(s->arena, l.kernel, strcspn(l.kernel, "."));
  l.algorithm = root;
  if (!mlirOperationIsNull(kernel)) {
    l.plan = fe_attr_str(s->arena, kernel, "krnl.plan", NULL);
    l.algorithm = fe_attr_str(s->arena, kernel, "krnl.algorithm", root);
    l.known = fe_cost_work_of(&s->ir, kernel, &l.work);
  }
  const ferrule_profile_entry *p = measured(e, l.kernel, loc);
  if (p) { // what was done is better than what follows from the types
    l.known = true;
    l.work.operations = (double)p->operations / e->runs;
    l.work.bytes = (double)p->bytes / e->runs;
    // As if all calls went like the shortest: others wait for the machine.
    double best = (double)p->best_nanoseconds;
    double done = (double)p->best_operations;
    l.gflops = best > 0 ? done / best : 0;
    l.ms = done > 0 ? l.work.operations / done * best / 1e6
                    : best * (double)p->calls / e->runs / 1e6;
  }
  if (l.known)
    l.expected = fe_cost_expected(s->pass.target, &l.work);
  fe_push(s->arena, &e->layers, l);
}

double fe_explained_roof(const fe_explained *e, const fe_layer *l) {
  return e->roof * fe_cost_products(&l->work);
}

double fe_explained_clock(const fe_explained *e) {
  return e->roof / fe_cost_peak(e->s->pass.target, 32);
}

//===-- For people ----------------------------------------------------------//

static void print_head(const fe_explained *e) {
  const fe_target *t = e->s->pass.target;
  printf("for %s (%s): %u-bit vectors, %u registers, %.0f operations of f32 a "
         "cycle, L1 %u KB, L2 %u KB, L3 %u KB\n",
         t->name, t->cpu, t->vector_bits, t->vector_registers,
         fe_cost_peak(t, 32), t->l1_bytes >> 10, t->l2_bytes >> 10,
         t->l3_bytes >> 10);
  if (e->roof > 0)
    printf("this core: %.1f GFLOP/s at most, as at %.2f GHz\n", e->roof,
           fe_explained_clock(e));
  printf("\n%-16s %-16s %11s %6s %-10s ", "kernel", "algorithm", "cycles",
         "peak", "limit");
  if (e->measured)
    printf("%9s %9s %6s ", "ms", "took ms", "peak");
  printf("nodes\n");
}

static void print_layer(const fe_explained *e, const fe_layer *l) {
  double clock = fe_explained_clock(e);
  printf("%-16s %-16s ", l->kernel, l->algorithm);
  if (l->known)
    printf("%11.0f %4.0f %% %-10s ", l->expected.cycles,
           100 * l->expected.share, fe_cost_limit_names[l->expected.limit]);
  else
    printf("%11s %6s %-10s ", "?", "", "");
  if (e->measured && !(l->known && clock > 0))
    printf("%9s ", "");
  else if (e->measured)
    printf("%9.4f ", l->expected.cycles / clock / 1e6);
  if (e->measured && l->ms > 0 && e->roof > 0)
    printf("%9.4f %4.0f %% ", l->ms, 100 * l->gflops / fe_explained_roof(e, l));
  else if (e->measured)
    printf("%9.4f %6s ", l->ms, "");
  for (unsigned i = 0; i < l->n_nodes; i++)
    printf("%s%s", i ? " + " : "", l->nodes[i]);
  putchar('\n');
  if (l->plan)
    printf("%-16s   %s\n", "", l->plan);
}

void fe_explain_table(const fe_explained *e) {
  print_head(e);
  double cycles = 0, ms = 0;
  size_t unknown = 0;
  for (size_t i = 0; i < e->layers.n; i++) {
    const fe_layer *l = &e->layers.at[i];
    print_layer(e, l);
    cycles += l->expected.cycles;
    ms += l->ms;
    unknown += !l->known;
  }
  printf("\n%zu calls of kernels, %.0f cycles expected of one core",
         e->layers.n, cycles);
  if (e->measured && e->roof > 0)
    printf(" = %.3f ms", cycles / fe_explained_clock(e) / 1e6);
  if (e->measured)
    printf("; %.3f ms measured", ms);
  putchar('\n');
  if (unknown)
    printf("?: some of its sizes are known in a run only; --dim NAME=N fixes "
           "them, --measure runs it\n");
  const fe_schedules *s = &e->s->schedules;
  size_t unused = fe_schedules_unused(s);
  if (s->path)
    printf("%zu of %zu lines of %s are used; the others are for other kernels "
           "or processors\n",
           s->lines.n - unused, s->lines.n, s->path);
}

//===-- The command ---------------------------------------------------------//

typedef struct fe_explain_request {
  const char *path;
  bool json;
  unsigned n; // explained so far
  fe_explained measured;
} fe_explain_request;

static ferrule_status explain_one(fe_session *s, void *user) {
  fe_explain_request *r = user;
  fe_explained e = r->measured;
  e.s = s;
  s->schedules.arena = s->arena;
  s->pass.schedules = &s->schedules;
  ferrule_status status = fe_session_read(s, r->path);
  if (status == FERRULE_OK)
    status = fe_session_run(s, "schedule");
  if (status != FERRULE_OK)
    return status;
  if (e.measured)
    e.roof = fe_measure_peak(s->pass.target);
  fe_walk(fe_func_block(fe_func_find(s->module, "main")), see_call, &e);
  if (r->json && r->n)
    puts(",");
  r->n++;
  if (r->json)
    fe_explain_json(&e);
  else
    fe_explain_table(&e);
  return FERRULE_OK;
}

/// One of several, with what it shares with those below it.
static ferrule_status explain_level(fe_session *s, void *user) {
  const fe_explain_request *r = user;
  ferrule_status status = explain_one(s, user);
  if (status == FERRULE_OK)
    status = fe_session_run(s, NULL);
  if (status != FERRULE_OK || r->json)
    return status;
  const fe_weights *w = s->pass.weights;
  int64_t more = w->bytes - (w->below ? w->below->bytes : 0);
  printf("%.2f MB of weights: ", (double)w->own_bytes / 1e6);
  if (w->below)
    printf("%.2f MB are those of levels before, ",
           (double)(w->own_bytes - more) / 1e6);
  printf("%.2f MB are laid out for this one", (double)more / 1e6);
  puts("\n");
  return FERRULE_OK;
}

static ferrule_status explain(fe_session *s, void *user) {
  fe_explain_request *r = user;
  if (!s->n_levels)
    return explain_one(s, user);
  if (r->measured.measured) {
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.attr = "target"},
              "name one level", "one level at a time can be measured");
    return FERRULE_USAGE;
  }
  if (r->json)
    puts("[");
  ferrule_status status = fe_session_levels(
      s,
      &(fe_levels_work){.path = r->path, .level = explain_level, .user = user});
  if (r->json)
    puts("]");
  return status;
}

int fe_cli_explain(fe_cli *c, const char *path, bool measure, bool json) {
  fe_explain_request r = {
      .path = path, .json = json, .measured.measured = measure};
  fe_loaded m = {0};
  int runs = 0, code = 0;
  if (measure) {
    code = fe_measure_open(c, path, NULL, 0, 1, &m);
    if (!code)
      code = fe_measure_runs(c, &m, &runs);
    if (!code)
      r.measured.entries =
          ferrule_program_profile(m.program, &r.measured.n_entries);
    r.measured.runs = runs;
  }
  if (!code)
    code = (int)fe_session_do(&c->options, path, explain, &r);
  if (measure)
    fe_loaded_close(&m);
  return code;
}
