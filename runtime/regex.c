//===- regex.c - whether texts match -----------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes time linear in the text, whatever the expression is.
//
//===----------------------------------------------------------------------===//
#include "regex_program.h"
#include "run.h"

#include <string.h>

typedef struct text {
  const uint8_t *at;
  int64_t n;
} text;

static int match_table(const fe_regex_header *h, text t) {
  const int32_t *classes = (const int32_t *)(h + 1);
  const int32_t *rows = classes + 256;
  int64_t width = h->columns + 1, state = 0;
  for (int64_t i = 0; i < t.n && state >= 0; i++)
    state = rows[state * width + 1 + classes[t.at[i]]];
  return state >= 0 && rows[state * width];
}

/// Sets of nodes: members in any order, and where each is among them.
typedef struct nodes {
  const fe_regex_node *at;
  int32_t *now, *next, *place;
  int32_t n_now, n_next;
} nodes;

static void add(nodes *s, int32_t node) {
  int32_t p = s->place[node];
  if (p < s->n_next && s->next[p] == node)
    return;
  s->place[node] = s->n_next;
  s->next[s->n_next++] = node;
}

/// Adds what is reached from the members without a byte; 1: the end is.
static int close_over(nodes *s, unsigned facts) {
  int accepts = 0;
  for (int32_t i = 0; i < s->n_next; i++) {
    const fe_regex_node *n = &s->at[s->next[i]];
    accepts |= n->kind == FE_REGEX_ACCEPT;
    if (n->kind == FE_REGEX_SPLIT ||
        (n->kind == FE_REGEX_ASK && (n->ask & facts)))
      add(s, n->next);
    if (n->kind == FE_REGEX_SPLIT)
      add(s, n->other);
  }
  return accepts;
}

static int match_nodes(nodes *s, text t) {
  s->n_next = 0;
  add(s, 0);
  for (int64_t i = 0;; i++) {
    int before = i ? t.at[i - 1] : -1, after = i < t.n ? t.at[i] : -1;
    int accepts = close_over(s, fe_regex_facts(before, after));
    if (i == t.n)
      return accepts;
    int32_t *swap = s->now;
    s->now = s->next;
    s->next = swap;
    s->n_now = s->n_next;
    s->n_next = 0;
    for (int32_t k = 0; k < s->n_now; k++) {
      const fe_regex_node *n = &s->at[s->now[k]];
      if (n->kind == FE_REGEX_RANGE && after >= n->first && after <= n->last)
        add(s, n->next);
    }
    if (!s->n_next)
      return 0;
  }
}

/// args: texts, program, results (bool).
int32_t fe_rt_regex_match(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)numbers;
  const ferrule_string *in = args[0].data;
  const fe_regex_header *h = args[1].data;
  uint8_t *out = args[2].data;
  int64_t n = fe_rt_count(&args[0]), count = h->count;
  nodes s = {.at = (const fe_regex_node *)(h + 1)};
  if (h->form == FE_REGEX_NODES) {
    s.now = fe_rt_object(run, 3 * count * (int64_t)sizeof *s.now);
    if (!s.now)
      return FE_RUN_STATUS;
    memset(s.now, 0, (size_t)(3 * count) * sizeof *s.now);
    s.next = s.now + count;
    s.place = s.next + count;
  }
  for (int64_t i = 0; i < n; i++) {
    text t = {(const uint8_t *)in[i].data, in[i].size};
    out[i] = (uint8_t)(h->form == FE_REGEX_TABLE ? match_table(h, t)
                                                 : match_nodes(&s, t));
  }
  return 0;
}
