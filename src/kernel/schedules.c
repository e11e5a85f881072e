//===- schedules.c - choices kept in a file -------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel/schedules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char first_line[] = "ferrule schedule 1";

const fe_knob_info fe_knob_infos[] = {
    {"contract", "rows", 1, 32, FE_KNOB_COUNT},
    {"contract", "row_block", 1, 1 << 20, FE_KNOB_SIZE},
    {"contract", "k_block", 0, 1 << 16, FE_KNOB_SIZE},
    {"integer_contract", "rows", 1, 32, FE_KNOB_COUNT},
    {"integer_contract", "row_block", 1, 1 << 20, FE_KNOB_SIZE},
    {"integer_contract", "k_block", 0, 1 << 16, FE_KNOB_SIZE},
    {"conv", "order", 0, 2, FE_KNOB_CHOICE},
    {"conv", "prefetch", 0, 1, FE_KNOB_CHOICE},
    {"conv", "tiles_of_part", 1, 64, FE_KNOB_SIZE},
    {"conv", "rows_of_part", 1, 64, FE_KNOB_SIZE},
    {"depthwise", "pixels", 1, 32, FE_KNOB_COUNT},
    {"depthwise", "rows", 1, 1 << 12, FE_KNOB_SIZE},
    {"depthwise_bytes", "pixels", 1, 32, FE_KNOB_COUNT},
    {"depthwise_bytes", "rows", 1, 1 << 12, FE_KNOB_SIZE},
    {"pool", "pixels", 1, 32, FE_KNOB_COUNT},
    {"pool", "rows", 1, 1 << 12, FE_KNOB_SIZE},
    {"convolution", "algorithm", 0, 4, FE_KNOB_EVEN},
    {"convolution", "panel", 1, 14, FE_KNOB_COUNT},
    {"winograd", "order", 0, 1, FE_KNOB_CHOICE},
    {"winograd", "prefetch", 0, 1, FE_KNOB_CHOICE},
    {"winograd", "panels", 1, 64, FE_KNOB_SIZE},
    {NULL, NULL, 0, 0, FE_KNOB_CHOICE},
};

const fe_knob_info *fe_knob_info_find(const char *root, const char *name) {
  for (const fe_knob_info *k = fe_knob_infos; k->root; ++k)
    if (!strcmp(k->root, root) && (!name || !strcmp(k->name, name)))
      return k;
  return NULL;
}

const char *fe_knob_names(fe_arena *arena, const char *root) {
  fe_buf b = {0};
  for (const fe_knob_info *k = fe_knob_infos; k->root; ++k)
    if (!strcmp(k->root, root))
      fe_buf_printf(arena, &b, " %s", k->name);
  return b.at ? b.at : "";
}

static const char *root_names(fe_arena *arena) {
  fe_buf b = {0};
  for (const fe_knob_info *k = fe_knob_infos; k->root; ++k)
    if (k == fe_knob_infos || strcmp(k[-1].root, k->root))
      fe_buf_printf(arena, &b, " %s", k->root);
  return b.at;
}

//===-- Reading -------------------------------------------------------------//

typedef struct reader {
  fe_schedules *s;
  fe_diags *diags;
  unsigned line;
} reader;

static fe_status wrong(reader *r, const char *hint, const char *fmt, ...)
    FE_PRINTF(3, 4);
static fe_status wrong(reader *r, const char *hint, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fe_buf b = {0};
  fe_buf_vprintf(r->s->arena, &b, fmt, args);
  va_end(args);
  fe_where where = {.file =
                        fe_printf(r->s->arena, "%s:%u", r->s->path, r->line)};
  return fe_error(r->diags, where, hint, "%s", b.at);
}

/// A word as it can be shown: short, and of printing characters.
static const char *shown(reader *r, const char *word) {
  char *copy = fe_strndup(r->s->arena, word, strnlen(word, 40));
  for (char *c = copy; *c; ++c)
    if (*c < 32 || *c > 126)
      *c = '?';
  return copy;
}

/// Decimal digits only.
static bool number(const char *text, int64_t *out) {
  size_t n = strlen(text);
  if (!n || n > 12 || strspn(text, "0123456789") != n)
    return false;
  *out = strtoll(text, NULL, 10);
  return true;
}

static fe_status read_knob(reader *r, fe_schedule_line *l, char *word) {
  fe_arena *arena = r->s->arena;
  char *eq = strchr(word, '=');
  if (!eq)
    return wrong(r, "what is to be chosen is written as rows=8",
                 "'%s' is not NAME=NUMBER", shown(r, word));
  *eq = '\0';
  const fe_knob_info *k = fe_knob_info_find(l->root, word);
  if (!k)
    return wrong(r,
                 fe_printf(arena, "it has:%s", fe_knob_names(arena, l->root)),
                 "'%s' has no '%s'", l->root, shown(r, word));
  int64_t value;
  if (!number(eq + 1, &value) || value < k->low || value > k->high)
    return wrong(r, NULL,
                 "'%s' must be a number from %" PRId64 " to %" PRId64
                 ", not '%s'",
                 k->name, k->low, k->high, shown(r, eq + 1));
  if (k->kind == FE_KNOB_EVEN && value % 2)
    return wrong(r, NULL, "'%s' must be an even number", k->name);
  unsigned at = l->n;
  for (; at && strcmp(l->knob[at - 1].name, k->name) >= 0; --at)
    if (!strcmp(l->knob[at - 1].name, k->name))
      return wrong(r, NULL, "'%s' is given twice", k->name);
  memmove(&l->knob[at + 1], &l->knob[at], (l->n - at) * sizeof *l->knob);
  l->knob[at] = (fe_knob_value){k->name, value};
  l->n++;
  return FE_OK;
}

static char *index_of(fe_arena *arena, const char *cpu, const char *root,
                      uint64_t key) {
  return fe_printf(arena, "%s %s %016" PRIx64, cpu, root, key);
}

static fe_status read_line(reader *r, char *text) {
  fe_schedules *s = r->s;
  char *rest = NULL, *words[3];
  for (unsigned i = 0; i < 3; ++i) {
    words[i] = strtok_r(i ? NULL : text, " \t", &rest);
    if (!words[i])
      return i ? wrong(r, "a line is: processor, root, key, NAME=NUMBER...",
                       "the line ends too early")
               : FE_OK;
    if (!i && *words[0] == '#')
      return FE_OK;
  }
  fe_schedule_line l = {.cpu = words[0], .line = r->line};
  const fe_knob_info *k = fe_knob_info_find(words[1], NULL);
  if (!k)
    return wrong(r, fe_printf(s->arena, "there are:%s", root_names(s->arena)),
                 "nothing can be chosen for '%s'", shown(r, words[1]));
  l.root = k->root;
  size_t digits = strspn(words[2], "0123456789abcdef");
  if (digits != 16 || words[2][16])
    return wrong(r, "keys are what 'ferrule tune' writes",
                 "'%s' is not a key of 16 hexadecimal digits",
                 shown(r, words[2]));
  l.key = strtoull(words[2], NULL, 16);
  for (char *w; (w = strtok_r(NULL, " \t", &rest));)
    if (read_knob(r, &l, w) != FE_OK)
      return FE_FAILED;
  if (!l.n)
    return wrong(r, NULL, "the line chooses nothing");
  char *index = index_of(s->arena, l.cpu, l.root, l.key);
  size_t before = (size_t)(uintptr_t)fe_map_get(&s->index, index);
  if (before)
    return wrong(r, NULL, "line %u is for the same kernel",
                 s->lines.at[before - 1].line);
  fe_push(s->arena, &s->lines, l);
  fe_map_set(s->arena, &s->index, index, (void *)(uintptr_t)s->lines.n);
  return FE_OK;
}

fe_status fe_schedules_read(fe_schedules *s, fe_diags *diags, fe_arena *arena,
                            const char *path, const void *text, size_t size) {
  *s = (fe_schedules){.arena = arena, .path = path};
  reader r = {.s = s, .diags = diags};
  fe_status status = FE_OK;
  const char *at = text, *end = at + size;
  if (size && memchr(text, 0, size)) {
    r.line = 1;
    return wrong(&r, "'ferrule tune' writes such files",
                 "this is not a schedule: it is not text");
  }
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t n = (size_t)((stop ? stop : end) - at);
    char *line = fe_strndup(arena, at, n - (n && at[n - 1] == '\r'));
    at = stop ? stop + 1 : end;
    if (++r.line == 1 && strcmp(line, first_line))
      return wrong(&r, "'ferrule tune' writes such files",
                   "this is not a schedule: it does not begin with '%s'",
                   first_line);
    if (r.line > 1 && read_line(&r, line) != FE_OK)
      status = FE_FAILED;
  }
  if (!r.line) {
    r.line = 1;
    return wrong(&r, "'ferrule tune' writes such files",
                 "this is not a schedule: it is empty");
  }
  return status;
}

//===-- Use -----------------------------------------------------------------//

const fe_schedule_line *fe_schedules_find(fe_schedules *s,
                                          const fe_target *target,
                                          const char *root, uint64_t key) {
  if (!s || !s->lines.n)
    return NULL;
  char *index = index_of(s->arena, target->cpu, root, key);
  size_t at = (size_t)(uintptr_t)fe_map_get(&s->index, index);
  if (!at)
    return NULL;
  s->lines.at[at - 1].used = true;
  return &s->lines.at[at - 1];
}

void fe_schedule_take(const fe_schedule_line *line, const char *name,
                      int64_t *value) {
  for (unsigned i = 0; line && i < line->n; ++i)
    if (!strcmp(line->knob[i].name, name))
      *value = line->knob[i].value;
}

const char *fe_schedule_place(const fe_schedules *s,
                              const fe_schedule_line *line) {
  return fe_printf(s->arena, "%s:%u", s->path, line->line);
}

void fe_schedules_note(fe_schedules *s, const fe_chosen *chosen) {
  if (s)
    fe_push(s->arena, &s->chosen, *chosen);
}

size_t fe_schedules_unused(const fe_schedules *s) {
  size_t n = 0;
  for (size_t i = 0; i < s->lines.n; ++i)
    n += !s->lines.at[i].used;
  return n;
}

//===-- Writing -------------------------------------------------------------//

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

char *fe_schedules_text(fe_arena *arena, size_t n,
                        const fe_schedule_line *lines) {
  char **text = FE_NEW_N(arena, char *, n + 1);
  for (size_t i = 0; i < n; ++i) {
    const fe_schedule_line *l = &lines[i];
    fe_buf b = {0};
    fe_buf_printf(arena, &b, "%s", index_of(arena, l->cpu, l->root, l->key));
    for (unsigned k = 0; k < l->n; ++k)
      fe_buf_printf(arena, &b, " %s=%" PRId64, l->knob[k].name,
                    l->knob[k].value);
    text[i] = b.at;
  }
  if (n)
    qsort(text, n, sizeof *text, by_text);
  fe_buf all = {0};
  fe_buf_printf(arena, &all, "%s\n", first_line);
  for (size_t i = 0; i < n; ++i)
    fe_buf_printf(arena, &all, "%s\n", text[i]);
  return all.at;
}
