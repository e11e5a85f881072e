//===- text.c - text buffers -------------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: the buffer doubles inside the arena; what it outgrows stays there
// until the arena goes, at most as much again as the final text.
//
// Keeps: one byte beyond the text is always there and NUL.
//
//===----------------------------------------------------------------------===//
#include "base/base.h"

#include <stdio.h>
#include <string.h>

static void reserve(fe_arena *arena, fe_buf *b, size_t more) {
  size_t need = b->n + more + 1;
  if (need <= b->cap)
    return;
  size_t cap = b->cap ? b->cap : 64;
  while (cap < need)
    cap *= 2;
  char *at = fe_alloc(arena, cap);
  if (b->n)
    memcpy(at, b->at, b->n);
  b->at = at;
  b->cap = cap;
}

void fe_buf_add(fe_arena *arena, fe_buf *b, const char *s, size_t n) {
  reserve(arena, b, n);
  if (n)
    memcpy(b->at + b->n, s, n);
  b->n += n;
  b->at[b->n] = 0;
}

void fe_buf_vprintf(fe_arena *arena, fe_buf *b, const char *fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, fmt, args);
  // Negative only for an unencodable wide character: then add nothing.
  reserve(arena, b, n > 0 ? (size_t)n : 0);
  if (n > 0)
    b->n += (size_t)vsnprintf(b->at + b->n, (size_t)n + 1, fmt, again);
  b->at[b->n] = 0;
  va_end(again);
}

void fe_buf_printf(fe_arena *arena, fe_buf *b, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fe_buf_vprintf(arena, b, fmt, args);
  va_end(args);
}
