//===- charset.c - sets of characters ----------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "op/regex.h"
#include "unicode_case.h"

#include <stdlib.h>
#include <string.h>

#define LAST 0x10ffffu

typedef struct class_name {
  const char *name;
  unsigned end; // number of the range behind its own
} class_name;
#include "op/unicode_class.inc"

void fe_charset_add(fe_arena *arena, fe_charset *s, uint32_t first,
                    uint32_t last) {
  if (first <= last)
    fe_push(arena, s, ((fe_range){first, last}));
}

static int compare(const void *a, const void *b) {
  const fe_range *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first;
}

void fe_charset_order(fe_charset *s) {
  size_t n = 0;
  if (s->n)
    qsort(s->at, s->n, sizeof *s->at, compare);
  for (size_t i = 0; i < s->n; ++i) {
    fe_range r = s->at[i];
    if (n && r.first <= s->at[n - 1].last + 1) {
      if (s->at[n - 1].last < r.last)
        s->at[n - 1].last = r.last;
    } else {
      s->at[n++] = r;
    }
  }
  s->n = n;
}

void fe_charset_negate(fe_arena *arena, fe_charset *s) {
  fe_charset old = *s;
  uint32_t next = 0;
  *s = (fe_charset){0};
  for (size_t i = 0; i < old.n; ++i) {
    if (old.at[i].first > next)
      fe_charset_add(arena, s, next, old.at[i].first - 1);
    next = old.at[i].last + 1;
  }
  fe_charset_add(arena, s, next, LAST);
}

static bool contains(const fe_charset *s, uint32_t c) {
  size_t low = 0, high = s->n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (s->at[middle].last < c)
      low = middle + 1;
    else
      high = middle;
  }
  return low < s->n && s->at[low].first <= c;
}

/// Once over the rows: both ends of every pair of which one is a member.
static void add_pairs(fe_arena *arena, fe_charset *s, const fe_charset *from,
                      const fe_case_row *rows, size_t n) {
  for (size_t i = 0; i < n; ++i)
    for (uint32_t k = 0; k < rows[i].count; ++k) {
      uint32_t c = rows[i].first + k * rows[i].step;
      uint32_t other = (uint32_t)((int64_t)c + rows[i].difference);
      bool has_c = contains(from, c), has_other = contains(from, other);
      if (has_c && !has_other)
        fe_charset_add(arena, s, other, other);
      if (has_other && !has_c)
        fe_charset_add(arena, s, c, c);
    }
}

void fe_charset_fold(fe_arena *arena, fe_charset *s) {
  // Until nothing is added: k, K and the Kelvin sign are one chain.
  for (size_t size = 0; size != s->n;) {
    size = s->n;
    fe_charset from = {0};
    for (size_t i = 0; i < s->n; ++i)
      fe_push(arena, &from, s->at[i]);
    fe_charset_order(&from);
    *s = from;
    s->at = fe_memdup(arena, from.at, from.n * sizeof *from.at);
    s->cap = from.n;
    size = s->n;
    add_pairs(arena, s, &from, fe_case_upper, FE_COUNT(fe_case_upper));
    add_pairs(arena, s, &from, fe_case_lower, FE_COUNT(fe_case_lower));
  }
  fe_charset_order(s);
}

/// The classes whose name is `name`, or begins with it when `prefix`.
static bool add_classes(fe_arena *arena, fe_charset *s, const uint32_t *ranges,
                        const class_name *names, size_t n_names,
                        const char *name, size_t n, bool prefix) {
  bool found = false;
  unsigned at = 0;
  for (size_t i = 0; i < n_names; at = names[i++].end) {
    if (strncmp(names[i].name, name, n) || (!prefix && names[i].name[n]))
      continue;
    found = true;
    uint32_t c = 0;
    for (unsigned k = at; k < names[i].end; ++k) {
      c += ranges[2 * k];
      fe_charset_add(arena, s, c, c + ranges[2 * k + 1] - 1);
      c += ranges[2 * k + 1];
    }
  }
  return found;
}

bool fe_charset_class(fe_arena *arena, fe_charset *s, const char *name,
                      size_t n) {
  bool any = n == 3 && !memcmp(name, "Any", 3);
  if (any)
    fe_charset_add(arena, s, 0, LAST);
  // L is all of Lu, Ll, ...
  if (!any && !add_classes(arena, s, category_ranges, category_names,
                           FE_COUNT(category_names), name, n, n == 1))
    if (!n || !add_classes(arena, s, script_ranges, script_names,
                           FE_COUNT(script_names), name, n, false))
      return false;
  fe_charset_order(s);
  return true;
}
