//===- explain_json.c - compile --explain --json --------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One object: target, layers, totals of the schedule file, and `choices`: what
// a schedule file could say otherwise, with keys.
//
//===----------------------------------------------------------------------===//
#include "cli/explain.h"

#include <inttypes.h>
#include <stdio.h>

static void string(const char *s) {
  putchar('"');
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c < 32)
      printf("\\u%04x", c);
    else if (c == '"' || c == '\\')
      printf("\\%c", c);
    else
      putchar(c);
  }
  putchar('"');
}

static void member(const char *name, const char *value) {
  printf("\"%s\": ", name);
  if (value)
    string(value);
  else
    printf("null");
}

static void layer(const fe_explained *e, const fe_layer *l) {
  printf("    {");
  member("kernel", l->kernel);
  printf(", ");
  member("algorithm", l->algorithm);
  printf(", ");
  member("plan", l->plan);
  printf(", \"nodes\": [");
  for (unsigned i = 0; i < l->n_nodes; i++) {
    printf("%s", i ? ", " : "");
    string(l->nodes[i]);
  }
  printf("]");
  if (l->known)
    printf(
        ", \"operations\": %.0f, \"bytes\": %.0f, \"expected\": {\"cycles\": "
        "%.0f, \"share\": %.4f, \"limit\": \"%s\"}",
        l->work.operations, l->work.bytes, l->expected.cycles,
        l->expected.share, fe_cost_limit_names[l->expected.limit]);
  if (e->measured && l->ms > 0) {
    printf(", \"measured\": {\"ms\": %.6f", l->ms);
    if (e->roof > 0)
      printf(", \"share\": %.4f", l->gflops / fe_explained_roof(e, l));
    printf("}");
  }
  printf("}");
}

static void choice(const fe_chosen *c) {
  printf("    {\"root\": \"%s\", \"key\": \"%016" PRIx64 "\", ", c->root,
         c->key);
  member("kernel", c->kernel);
  printf(", ");
  member("node", c->node);
  printf(", \"schedule\": {");
  for (unsigned k = 0; k < c->n; k++)
    printf("%s\"%s\": %" PRId64, k ? ", " : "", c->knob[k].name,
           c->knob[k].value);
  printf("}}");
}

void fe_explain_json(const fe_explained *e) {
  const fe_target *t = e->s->pass.target;
  const fe_schedules *s = &e->s->schedules;
  printf("{\n  \"target\": {");
  member("name", t->name);
  printf(", ");
  member("cpu", t->cpu);
  printf(
      ", \"vector_bits\": %u, \"registers\": %u, "
      "\"operations_per_cycle\": %.0f, \"l1\": %u, \"l2\": %u, \"l3\": %u},\n",
      t->vector_bits, t->vector_registers, fe_cost_peak(t, 32), t->l1_bytes,
      t->l2_bytes, t->l3_bytes);
  if (e->roof > 0)
    printf("  \"gflops\": %.2f,\n", e->roof);
  if (s->path)
    printf("  \"schedule\": {\"lines\": %zu, \"unused\": %zu},\n", s->lines.n,
           fe_schedules_unused(s));
  printf("  \"layers\": [");
  for (size_t i = 0; i < e->layers.n; i++) {
    printf("%s\n", i ? "," : "");
    layer(e, &e->layers.at[i]);
  }
  printf("\n  ],\n  \"choices\": [");
  for (size_t i = 0; i < s->chosen.n; i++) {
    printf("%s\n", i ? "," : "");
    choice(&s->chosen.at[i]);
  }
  printf("\n  ]\n}\n");
}
