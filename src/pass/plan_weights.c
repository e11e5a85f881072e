//===- plan_weights.c - constants among the weights --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Equal bytes lie there once, whatever they are called: also those that another
// level of the processor, planned before, has put there already.
//
// Method: constants of one size that begin alike are compared in full; others
// are not looked at, as reading all weights would take longer than planning.
//
//===----------------------------------------------------------------------===//
#include "pass/plan.h"

#include <string.h>

#define BEGINNING 4096u

/// A constant in its place.
typedef struct placed {
  const fe_blob *blob;
  int64_t offset;
  const struct placed *next; // of the same size and beginning
} placed;

/// What most constants differ in.
typedef struct looks {
  uint64_t size, hash;
} looks;

static looks looks_of(const fe_blobs *blobs, const fe_blob *b) {
  size_t n = b->size < BEGINNING ? b->size : BEGINNING;
  char beginning[BEGINNING] = {0};
  fe_blob_begin(blobs, b, n, beginning);
  return (looks){b->size, fe_hash(beginning, n, 0)};
}

static const placed *find(const fe_blobs *blobs, const fe_weights *w,
                          const looks *l, const fe_blob *b) {
  const placed *p = fe_map_get_bytes(&w->by_looks, l, sizeof *l);
  while (p && !fe_blob_same(blobs, p->blob, b))
    p = p->next;
  return p;
}

static int64_t take_room(fe_weights *w, int64_t bytes) {
  int64_t offset = w->bytes;
  w->bytes =
      (offset + bytes + FE_PLAN_ALIGN - 1) / FE_PLAN_ALIGN * FE_PLAN_ALIGN;
  w->own_bytes += w->bytes - offset;
  return offset;
}

static int64_t list(fe_plan_state *s, const char *name, int64_t bytes) {
  int64_t offset = take_room(s->weights, bytes);
  fe_push(s->ir->arena, &s->blob_names, fe_strdup(s->ir->arena, name));
  fe_push(s->ir->arena, &s->blob_offsets, offset);
  return offset;
}

/// Where the bytes of `b` are, or will be from now on.
static int64_t place(fe_plan_state *s, const fe_blob *b) {
  fe_weights *w = s->weights;
  const fe_blobs *blobs = s->ir->blobs;
  looks l = looks_of(blobs, b);
  const placed *p = find(blobs, w, &l, b);
  if (p)
    return p->offset;
  for (const fe_weights *below = w->below; below && !p; below = below->below)
    p = find(blobs, below, &l, b);
  // Of equal ones the one that is listed, whose bytes stay.
  placed *mine = FE_NEW(s->ir->arena, placed);
  *mine = (placed){.blob = p ? p->blob : b,
                   .next = fe_map_get_bytes(&w->by_looks, &l, sizeof l)};
  if (p) {
    mine->offset = p->offset;
    w->own_bytes +=
        ((int64_t)b->size + FE_PLAN_ALIGN - 1) / FE_PLAN_ALIGN * FE_PLAN_ALIGN;
  } else {
    mine->offset = list(s, b->name, (int64_t)b->size);
  }
  fe_map_set_bytes(s->ir->arena, &w->by_looks, &l, sizeof l, mine);
  return mine->offset;
}

int64_t fe_plan_blob(fe_plan_state *s, const char *name, int64_t bytes) {
  fe_arena *arena = s->ir->arena;
  void *old = fe_map_get(&s->blobs, name);
  if (old)
    return (int64_t)((intptr_t)old - 1);
  const fe_blob *blob = s->ir->blobs ? fe_blob_find(s->ir->blobs, name) : NULL;
  if (blob && (int64_t)blob->size < bytes) {
    fe_report(s->ir->diags, FE_SEV_INTERNAL, (fe_where){.attr = name}, NULL,
              "the constant has %zu bytes, its tensor needs %lld", blob->size,
              (long long)bytes);
    s->bad = true;
  }
  int64_t offset;
  if (blob && blob->size)
    offset = place(s, blob);
  else // an empty one has an address, too, so that there are some weights
    offset = list(s, name, blob || !bytes ? 1 : bytes);
  fe_map_set(arena, &s->blobs, fe_strdup(arena, name),
             (void *)(intptr_t)(offset + 1));
  return offset;
}
