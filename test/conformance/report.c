//===- report.c - tables of the official cases -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const outcome_names[OUTCOMES] = {"passed", "random", "refused",
                                             "failed", "crashed"};
const char *const mode_names[MODES] = {"static", "dynamic"};

//===-- Tables --------------------------------------------------------------//

typedef struct row {
  const char *name;
  unsigned n[MODES][OUTCOMES];
} row;

static int by_row_name(const void *a, const void *b) {
  return strcmp((*(row *const *)a)->name, (*(row *const *)b)->name);
}

static void count(fe_arena *arena, fe_map *rows, const char *key, mode m,
                  outcome o) {
  row *r = fe_map_get(rows, key);
  if (!r) {
    r = FE_NEW(arena, row);
    r->name = fe_strdup(arena, key);
    fe_map_set(arena, rows, key, r);
  }
  r->n[m][o]++;
}

static void print_table(fe_arena *arena, const char *title, const fe_map *rows,
                        const bool shown[MODES], bool sorted) {
  row **all = FE_NEW_N(arena, row *, rows->n);
  row total = {.name = "total"};
  for (size_t i = 0; i < rows->n; i++) {
    all[i] = rows->entries[i].value;
    for (int m = 0; m < MODES; m++)
      for (int o = 0; o < OUTCOMES; o++)
        total.n[m][o] += all[i]->n[m][o];
  }
  if (sorted)
    qsort(all, rows->n, sizeof *all, by_row_name);
  printf("\n%-28s", "");
  for (int m = 0; m < MODES; m++)
    if (shown[m])
      printf("   %-*s", OUTCOMES * 8, mode_names[m]);
  printf("\n%-28s", title);
  for (int m = 0; m < MODES; m++)
    for (int o = 0; shown[m] && o < OUTCOMES; o++)
      printf("%*s", o ? 8 : 11, outcome_names[o]);
  putchar('\n');
  for (size_t i = 0; i <= rows->n; i++) {
    const row *r = i < rows->n ? all[i] : &total;
    printf("%-28s", r->name);
    for (int m = 0; m < MODES; m++)
      for (int o = 0; shown[m] && o < OUTCOMES; o++)
        printf("%*u", o ? 8 : 11, r->n[m][o]);
    putchar('\n');
  }
}

//===-- Compiles ------------------------------------------------------------//

static int by_seconds(const void *a, const void *b) {
  double x = (*(const result *const *)a)->seconds;
  double y = (*(const result *const *)b)->seconds;
  return (x < y) - (x > y);
}

static int by_peak(const void *a, const void *b) {
  int64_t x = (*(const result *const *)a)->peak;
  int64_t y = (*(const result *const *)b)->peak;
  return (x < y) - (x > y);
}

static void print_compiles(fe_arena *arena, const case_list *cases,
                           const result *results) {
  enum { SHOWN = 10 };
  const result **all = FE_NEW_N(arena, const result *, cases->n);
  double sum = 0;
  for (size_t i = 0; i < cases->n; i++) {
    all[i] = &results[i];
    sum += results[i].seconds;
  }
  for (int kind = 0; kind < 2; kind++) {
    qsort(all, cases->n, sizeof *all, kind ? by_peak : by_seconds);
    printf("\n%s\n", kind ? "most memory when compiling" : "slowest compiles");
    for (size_t i = 0; i < cases->n && i < SHOWN; i++) {
      const test_case *c = &cases->at[all[i] - results];
      printf("%8.2f s %7.0f MiB  %s/%s (%s)\n", all[i]->seconds,
             (double)all[i]->peak / (1 << 20), c->folder, c->name,
             mode_names[c->mode]);
    }
  }
  printf("\n%.1f s of compiling in all\n", sum);
}

//===-- All of it -----------------------------------------------------------//

int report(fe_arena *arena, const case_list *cases, const result *results,
           const fe_map known[MODES], bool verbose) {
  fe_map folders = {0}, ops = {0};
  bool shown[MODES] = {0};
  int bad = 0;
  for (size_t i = 0; i < cases->n; i++) {
    const test_case *c = &cases->at[i];
    const result *r = &results[i];
    shown[c->mode] = true;
    count(arena, &folders, c->folder, c->mode, r->outcome);
    count(arena, &ops, r->op, c->mode, r->outcome);
    // by name, or by folder and name
    bool listed = fe_map_get(&known[c->mode], c->name) ||
                  fe_map_get(&known[c->mode],
                             fe_printf(arena, "%s/%s", c->folder, c->name));
    const char *note = "";
    if (r->outcome == CRASHED || (r->outcome == FAILED && !listed))
      bad++;
    else if (r->outcome == FAILED)
      note = " (known)";
    else if (listed && r->outcome == PASSED) {
      printf("%s (%s) passes: take it off the list\n", c->name,
             mode_names[c->mode]);
      bad++;
    }
    if (r->outcome >= FAILED || (verbose && r->outcome == REFUSED))
      printf("%s%s, %s: %s/%s: %s\n", outcome_names[r->outcome], note,
             mode_names[c->mode], c->folder, c->name, r->why);
  }
  print_table(arena, "operator", &ops, shown, true);
  print_table(arena, "folder", &folders, shown, false);
  print_compiles(arena, cases, results);
  return bad;
}

void report_list(const char *path, const case_list *cases,
                 const result *results) {
  FILE *f = fopen(path, "w");
  if (!f) {
    perror(path);
    exit(2);
  }
  for (size_t i = 0; i < cases->n; i++)
    fprintf(f, "%s\t%s\t%s\t%s\t%s\t%.3f\t%.1f\t%s\n",
            mode_names[cases->at[i].mode], outcome_names[results[i].outcome],
            cases->at[i].folder, cases->at[i].name, results[i].op,
            results[i].seconds, (double)results[i].peak / (1 << 20),
            results[i].why);
  fclose(f);
}
