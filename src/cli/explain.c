//===- explain.c - compile --explain --------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernels a model became, of which nodes, and how each was scheduled.
//
//===----------------------------------------------------------------------===//
#include "api/session.h"
#include "cli/cli.h"

#include <string.h>

typedef struct fe_explained {
  fe_session *s;
  unsigned calls;
} fe_explained;

static void print_nodes(fe_session *s, MlirLocation loc) {
  if (!mlirLocationIsAFused(loc)) {
    const char *node = fe_loc_node(&s->ir, loc);
    printf("%s", node ? node : "");
    return;
  }
  unsigned n = mlirLocationFusedGetNumLocations(loc);
  MlirLocation *parts = FE_NEW_N(s->arena, MlirLocation, n + 1);
  mlirLocationFusedGetLocations(loc, parts);
  for (unsigned i = 0; i < n; i++) {
    const char *node = fe_loc_node(&s->ir, parts[i]);
    printf("%s%s", i ? " + " : "", node ? node : "");
  }
}

static void print_call(MlirOperation op, void *user) {
  fe_explained *e = user;
  if (!fe_op_is(op, "kernel.call"))
    return;
  MlirStringRef callee = mlirFlatSymbolRefAttrGetValue(fe_attr(op, "callee"));
  const char *name = fe_strndup(e->s->arena, callee.data, callee.length);
  MlirOperation kernel = fe_func_find(e->s->module, name);
  const char *plan = mlirOperationIsNull(kernel)
                         ? NULL
                         : fe_attr_str(e->s->arena, kernel, "krnl.plan", NULL);
  printf("%-18s ", name);
  print_nodes(e->s, mlirOperationGetLocation(op));
  putchar('\n');
  if (plan)
    printf("%-18s   %s\n", "", plan);
  e->calls++;
}

static ferrule_status explain_one(fe_session *s, void *user) {
  const char *path = user;
  ferrule_status status = fe_session_read(s, path);
  if (status == FERRULE_OK)
    status = fe_session_run(s, "schedule");
  if (status != FERRULE_OK)
    return status;
  printf("for %s: %u-bit vectors, %u registers, L1 %u KB, L2 %u KB\n\n",
         s->pass.target->name, s->pass.target->vector_bits,
         s->pass.target->vector_registers, s->pass.target->l1_bytes >> 10,
         s->pass.target->l2_bytes >> 10);
  printf("%-18s nodes, and how\n", "kernel");
  fe_explained e = {.s = s};
  fe_walk(fe_func_block(fe_func_find(s->module, "main")), print_call, &e);
  printf("\n%u calls of kernels\n", e.calls);
  return FERRULE_OK;
}

/// One of several, with what it shares with those below it.
static ferrule_status explain_level(fe_session *s, void *user) {
  ferrule_status status = explain_one(s, user);
  if (status == FERRULE_OK)
    status = fe_session_run(s, NULL);
  if (status != FERRULE_OK)
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
  if (!s->n_levels)
    return explain_one(s, user);
  return fe_session_levels(
      s, &(fe_levels_work){.path = user, .level = explain_level, .user = user});
}

int fe_cli_explain(fe_cli *c, const char *path) {
  return (int)fe_session_do(&c->options, path, explain, (void *)path);
}
