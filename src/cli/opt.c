//===- opt.c - ferrule opt, ferrule dialect -------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tools for looking at IR.
//
//===----------------------------------------------------------------------===//
#include "api/session.h"
#include "cli/cli.h"
#include "op/op.h"

#include <stdlib.h>
#include <string.h>

enum { PASSES };
const fe_cli_option fe_opt_options[] = {
    [PASSES] = {"passes", 'p', "A,B", "passes to run, in order"}, {0}};

typedef struct fe_opt_request {
  const char *path;
  char *passes; // cut up on the way
} fe_opt_request;

void fe_opt_passes(FILE *to) {
  fputs("\nPasses, in the order of a compilation:\n", to);
  for (const fe_phase *p = fe_phases; p->name; p++)
    for (const fe_pass *q = p->passes; q->name; q++)
      fprintf(to, "  %-14s %s\n", q->name, q->what);
}

static ferrule_status run_passes(fe_session *s, void *user) {
  const char *path = ((fe_opt_request *)user)->path;
  char *passes = ((fe_opt_request *)user)->passes;
  if (fe_file_map(&s->diags, path, &s->file) != FE_OK)
    return FERRULE_REFUSED;
  const char *text =
      fe_strndup(s->arena, (const char *)s->file.data, s->file.size);
  s->diags.file = path;
  s->module = fe_parse(&s->ir, text, path);
  if (mlirModuleIsNull(s->module))
    return fe_session_failed(s);
  fe_symbols_load(&s->ir, s->module);
  if (fe_dump_blobs(s) != FE_OK)
    return fe_session_failed(s);
  char *rest = NULL;
  for (char *name = strtok_r(passes, ",", &rest); name;
       name = strtok_r(NULL, ",", &rest)) {
    const fe_pass *p = fe_pass_find(name);
    if (!p) {
      fe_report(&s->diags, FE_SEV_ERROR, (fe_where){0},
                "'ferrule opt --help' lists the passes",
                "there is no pass '%s'", name);
      return FERRULE_USAGE;
    }
    if (p->run(&s->ir, &s->module, &s->pass) != FE_OK || s->diags.errors)
      return fe_session_failed(s);
    if (fe_ir_ok(&s->ir, name, s->module) != FE_OK)
      return FERRULE_INTERNAL;
  }
  fe_symbols_store(&s->ir, s->module);
  puts(fe_print(s->arena, mlirModuleGetOperation(s->module)));
  return FERRULE_OK;
}

int fe_cmd_opt(fe_cli *c) {
  const char *value;
  char *passes = strdup("");
  int o;
  while ((o = fe_cli_next(c, &value)) >= 0) {
    free(passes);
    passes = strdup(value);
  }
  int status = EXIT_USAGE;
  if (o != -2 && c->n_positional != 1)
    fe_cli_usage(c, "one file is wanted");
  else if (o != -2 && passes && !*passes)
    fe_cli_usage(c, "which passes? give --passes=A,B");
  else if (o != -2 && passes)
    status = (int)fe_session_do(&c->options, c->positional[0], run_passes,
                                &(fe_opt_request){c->positional[0], passes});
  free(passes);
  return status;
}

int fe_cmd_dialect(fe_cli *c) {
  const char *value;
  if (fe_cli_next(c, &value) == -2)
    return EXIT_USAGE;
  if (c->n_positional != 1)
    return fe_cli_usage(c, "one dialect is wanted: onnx or krnl");
  const char *name = c->positional[0];
  if (!strcmp(name, "krnl")) {
    fputs(fe_krnl_irdl, stdout);
    return 0;
  }
  if (strcmp(name, "onnx"))
    return fe_cli_usage(c, "there is no dialect '%s': onnx or krnl", name);
  fe_arena *arena = fe_arena_create(NULL);
  fputs(fe_onnx_irdl(arena), stdout);
  fe_arena_destroy(arena);
  return 0;
}
