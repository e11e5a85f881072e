//===- arena.c - bump allocation, growable arrays ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: a list of chunks, the newest first; each new chunk doubles in size
// up to a limit. A request that would waste most of a chunk gets one of its
// own, placed behind the newest so that the newest goes on being filled.
//
// Chunks come from calloc: large ones are fresh pages of the system, so the
// zeroing that callers rely on costs nothing until a page is touched.
//
// Needs: an `oom` jump buffer that is live whenever the arena is used. A NULL
// `oom` is for tests and tools: there is nowhere to go then, so the thread
// waits until the system has memory again.
//
//===----------------------------------------------------------------------===//
#define _POSIX_C_SOURCE 200809L
#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ALIGN = 16, FIRST_CHUNK = 16 << 10, LARGEST_CHUNK = 4 << 20 };

typedef struct chunk {
  struct chunk *next;
  size_t used, size; // of the bytes after the header
} chunk;
// The header is padded so that what follows it is aligned.
enum { HEADER = (sizeof(chunk) + ALIGN - 1) / ALIGN * ALIGN };

struct fe_arena {
  chunk *chunks;
  size_t next_size;
  jmp_buf *oom;
};

static void *get_memory(const fe_arena *a, size_t size) {
  void *p = calloc(1, size);
  while (!p) {
    if (a->oom)
      longjmp(*a->oom, 1);
    // No error path exists: others may give memory back.
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    p = calloc(1, size);
  }
  return p;
}

fe_arena *fe_arena_create(jmp_buf *oom) {
  fe_arena bootstrap = {.oom = oom, .next_size = FIRST_CHUNK};
  fe_arena *a = get_memory(&bootstrap, sizeof *a);
  *a = bootstrap;
  return a;
}

void fe_arena_destroy(fe_arena *arena) {
  if (!arena)
    return;
  for (chunk *c = arena->chunks, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  free(arena);
}

static chunk *add_chunk(fe_arena *a, size_t size) {
  if (size > SIZE_MAX - HEADER)
    size = SIZE_MAX - HEADER; // never granted
  chunk *c = get_memory(a, HEADER + size);
  c->size = size;
  return c;
}

void *fe_alloc(fe_arena *arena, size_t size) {
  // Distinct objects get distinct addresses, empty ones too.
  size_t need = size <= ALIGN ? ALIGN : size;
  need = need > SIZE_MAX - ALIGN ? need : (need + ALIGN - 1) / ALIGN * ALIGN;
  chunk *c = arena->chunks;
  if (!c || need > c->size - c->used) {
    bool own = need > arena->next_size / 4;
    chunk *fresh = add_chunk(arena, own ? need : arena->next_size);
    if (own && c) {
      fresh->next = c->next;
      c->next = fresh;
    } else {
      fresh->next = c;
      arena->chunks = fresh;
    }
    if (!own && arena->next_size < LARGEST_CHUNK)
      arena->next_size *= 2;
    c = fresh;
  }
  void *p = (char *)c + HEADER + c->used;
  c->used += need;
  return p;
}

void fe_arena_give_back(fe_arena *arena, const void *p, size_t size) {
  if (!arena->chunks)
    return;
  // the newest one is never of a single object
  for (chunk **at = &arena->chunks->next; *at; at = &(*at)->next) {
    chunk *c = *at;
    if ((const char *)p != (const char *)c + HEADER || c->used < size ||
        c->used - size >= ALIGN)
      continue;
    *at = c->next;
    free(c);
    return;
  }
}

void *fe_memdup(fe_arena *arena, const void *data, size_t size) {
  void *p = fe_alloc(arena, size);
  if (size)
    memcpy(p, data, size);
  return p;
}

char *fe_strndup(fe_arena *arena, const char *s, size_t n) {
  char *p = fe_alloc(arena, n + 1);
  if (n)
    memcpy(p, s, n);
  return p;
}

char *fe_strdup(fe_arena *arena, const char *s) {
  return fe_strndup(arena, s, strlen(s));
}

char *fe_printf(fe_arena *arena, const char *fmt, ...) {
  fe_buf b = {0};
  va_list args;
  va_start(args, fmt);
  fe_buf_vprintf(arena, &b, fmt, args);
  va_end(args);
  return b.at;
}

void *fe_vec_grow(fe_arena *arena, void *at, size_t *cap, size_t size) {
  size_t old = *cap, bigger = old ? old * 2 : 8;
  void *p =
      fe_alloc(arena, bigger > SIZE_MAX / size ? SIZE_MAX : bigger * size);
  if (old)
    memcpy(p, at, old * size);
  *cap = bigger;
  return p;
}
