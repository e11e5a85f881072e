//===- operators.c - ferrule operators ------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the operator table: for people, and as the table of
// docs/operators.md (docs/generate.py adds the tests).
//
//===----------------------------------------------------------------------===//
#include "base/base.h"
#include "cli/cli.h"
#include "op/op.h"

#include <stdlib.h>
#include <string.h>

enum { MARKDOWN };
const fe_cli_option fe_operators_options[] = {
    [MARKDOWN] = {"markdown", 0, NULL, "as the table of docs/operators.md"},
    {0}};

/// Operators with graphs inside have no row: the importer makes their ops and
/// the structured control flow.
static const fe_op_row control_flow[] = {
    {.name = "If",
     .since = 1,
     .inputs = "cond:B",
     .outputs = "outputs*:V",
     .types = "B=bool;V=any",
     .limits =
         "where the branches give tensors of different rank, what follows "
         "must be valid for one of them"},
    {.name = "Loop",
     .since = 1,
     .inputs = "M?:I, cond?:B, v_initial*:V",
     .outputs = "v_final_and_scan_outputs*:V",
     .types = "I=i64;B=bool;V=any",
     .limits = "carried values keep type and rank"},
    {.name = "Scan",
     .since = 8,
     .inputs = "initial_state_and_scan_inputs*:V",
     .outputs = "final_state_and_scan_outputs*:V",
     .types = "V=all"},
    {.name = "FlexAttention",
     .domain = "ai.onnx.preview",
     .since = 1,
     .inputs = "Q:T, K:T, V:T",
     .outputs = "Y:T",
     .types = "T=float"},
    {.name = "Gradient",
     .domain = "ai.onnx.preview.training",
     .since = 1,
     .inputs = "inputs*:T",
     .outputs = "outputs*:T",
     .types = "T=float",
     .limits =
         "not through sequences, values of a loop that "
         "change their size, STFT, "
         "DynamicQuantizeLinear, Det, Unique, Col2Im, "
         "RotaryEmbedding, what samples at computed places (GridSample, "
         "DeformConv, RoiAlign), Resize that keeps the aspect "
         "ratio but for nearest, MaxPool with storage_order, scatters by mul, "
         "max, min, updates of a ScatterND whose indices' last dim only the "
         "run knows, results after an operator's first (but for Attention, "
         "RNN, GRU, LSTM)"},
    {0}};

static int by_name(const void *a, const void *b) {
  const fe_op_row *x = *(const fe_op_row *const *)a;
  const fe_op_row *y = *(const fe_op_row *const *)b;
  int c = strcmp(x->domain ? x->domain : "", y->domain ? y->domain : "");
  c = c ? c : strcmp(x->name, y->name);
  return c ? c : x->since - y->since;
}

/// "T=f32,f64;T2=i64" -> "T: f32, f64; T2: i64"
static void print_types(const char *types) {
  for (const char *p = types; p && *p; p++)
    fputs(*p == '='   ? ": "
          : *p == ',' ? ", "
          : *p == ';' ? "; "
                      : (char[]){*p, 0},
          stdout);
}

static void print_markdown(const fe_op_row *r) {
  printf("| %s | %s | %d", r->name,
         r->domain && *r->domain ? r->domain : "ai.onnx", r->since);
  printf(r->until ? "-%d" : "+", r->until);
  printf(" | `(%s) -> (%s)` | ", r->inputs ? r->inputs : "",
         r->outputs ? r->outputs : "");
  print_types(r->types ? r->types : "any");
  printf(" | %s |\n", r->limits ? r->limits : "");
}

static void print_text(const fe_op_row *r) {
  char opsets[32];
  if (r->until)
    snprintf(opsets, sizeof opsets, "%d-%d", r->since, r->until);
  else
    snprintf(opsets, sizeof opsets, "%d+", r->since);
  printf("%-28s %-14s %-6s %s\n", r->name,
         r->domain && *r->domain ? r->domain : "ai.onnx", opsets,
         r->limits ? r->limits : "");
}

int fe_cmd_operators(fe_cli *c) {
  const char *value;
  bool markdown = false;
  int o;
  while ((o = fe_cli_next(c, &value)) >= 0)
    markdown = true;
  if (o == -2)
    return EXIT_USAGE;
  if (c->n_positional > 1)
    return fe_cli_usage(c, "one name at most");
  const fe_op_row **rows = NULL;
  size_t n = 0, cap = 0;
  for (int f = -1; f < 0 || fe_op_families[f]; f++)
    for (const fe_op_row *r = f < 0 ? control_flow : fe_op_families[f]; r->name;
         r++) {
      if (r->flags & FE_INTERNAL)
        continue;
      if (n == cap) {
        cap = cap ? 2 * cap : 256;
        const fe_op_row **more = realloc(rows, cap * sizeof *rows);
        if (!more) {
          free(rows);
          fe_cli_error(c, "out of memory");
          return EXIT_REFUSED;
        }
        rows = more;
      }
      rows[n++] = r;
    }
  qsort(rows, n, sizeof *rows, by_name);
  if (markdown)
    puts("| operator | domain | opsets | signature | types | limits |\n"
         "|---|---|---|---|---|---|");
  bool found = false;
  for (size_t i = 0; i < n; i++)
    if (!c->n_positional || !strcmp(c->positional[0], rows[i]->name)) {
      (markdown ? print_markdown : print_text)(rows[i]);
      found = true;
    }
  free(rows);
  if (!found)
    fe_cli_error(c, "the operator '%s' is not supported", c->positional[0]);
  return found ? 0 : EXIT_REFUSED;
}
