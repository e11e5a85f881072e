//===- plan_memory.c - packing of lifetimes ----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: greedy, largest first. Known sizes: each item goes into the
// tightest gap between those placed that are alive at the same time. Sizes
// only known at run time: each goes into the slot that is free during its life
// and closest in size. Reference: Pisarchyk and Lee, "Efficient Memory
// Management for Deep Neural Net Inference", 2020.
//
//===----------------------------------------------------------------------===//
#include "pass/plan.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b) {
  const fe_plan_item *x = *(fe_plan_item *const *)a;
  const fe_plan_item *y = *(fe_plan_item *const *)b;
  if (x->size != y->size)
    return x->size > y->size ? -1 : 1;
  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  return x < y ? -1 : x > y;
}

static fe_plan_item **sorted(fe_arena *arena, unsigned n, fe_plan_item *items) {
  fe_plan_item **order = FE_NEW_N(arena, fe_plan_item *, n + 1);
  for (unsigned i = 0; i < n; ++i)
    order[i] = &items[i];
  qsort(order, n, sizeof *order, by_size);
  return order;
}

static bool together(const fe_plan_item *a, const fe_plan_item *b) {
  return a->first <= b->last && b->first <= a->last;
}

int64_t fe_plan_pack(fe_arena *arena, unsigned n, fe_plan_item *items,
                     int64_t align) {
  fe_plan_item **order = sorted(arena, n, items);
  // Those placed, by offset.
  fe_plan_item **placed = FE_NEW_N(arena, fe_plan_item *, n + 1);
  int64_t total = 0;
  for (unsigned i = 0; i < n; ++i) {
    fe_plan_item *x = order[i];
    int64_t size = (int64_t)x->size, end = 0, best = -1, best_gap = INT64_MAX;
    for (unsigned k = 0; k < i; ++k) {
      const fe_plan_item *p = placed[k];
      if (!together(x, p))
        continue;
      int64_t gap = p->offset - end;
      if (gap >= size && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      int64_t after = p->offset + (int64_t)p->size;
      after = (after + align - 1) / align * align;
      end = after > end ? after : end;
    }
    x->offset = best >= 0 ? best : end;
    if (x->offset + size > total)
      total = x->offset + size;
    unsigned k = i;
    for (; k > 0 && placed[k - 1]->offset > x->offset; --k)
      placed[k] = placed[k - 1];
    placed[k] = x;
  }
  return (total + align - 1) / align * align;
}

unsigned fe_plan_slots(fe_arena *arena, unsigned n, fe_plan_item *items) {
  fe_plan_item **order = sorted(arena, n, items);
  double *size = FE_NEW_N(arena, double, n + 1); // of a slot's largest item
  unsigned slots = 0;
  for (unsigned i = 0; i < n; ++i) {
    fe_plan_item *x = order[i];
    bool *taken = FE_NEW_N(arena, bool, slots + 1);
    for (unsigned k = 0; k < i; ++k)
      if (together(x, order[k]))
        taken[order[k]->slot] = true;
    unsigned best = slots;
    for (unsigned k = 0; k < slots; ++k)
      if (!taken[k] && (best == slots ||
                        fabs(size[k] - x->size) < fabs(size[best] - x->size)))
        best = k;
    x->slot = best;
    if (best == slots)
      size[slots++] = x->size;
  }
  return slots;
}
