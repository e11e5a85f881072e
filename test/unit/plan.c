//===- plan.c - tests of the packing of lifetimes ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "pass/plan.h"

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static bool together(const fe_plan_item *a, const fe_plan_item *b) {
  return a->first <= b->last && b->first <= a->last;
}

/// Most bytes alive at one time: no packing can be smaller.
static int64_t bound(unsigned n, const fe_plan_item *items, unsigned length) {
  int64_t most = 0;
  for (unsigned t = 0; t < length; t++) {
    int64_t sum = 0;
    for (unsigned i = 0; i < n; i++)
      if (items[i].first <= t && t <= items[i].last)
        sum += ((int64_t)items[i].size + 63) / 64 * 64;
    most = sum > most ? sum : most;
  }
  return most;
}

static void packs_random_lifetimes(void **state) {
  (void)state;
  unit *u = unit_begin();
  uint64_t seed = 1;
  for (unsigned round = 0; round < 50; round++) {
    unsigned n = 1 + (unsigned)next_random(&seed) % 120, length = 150;
    fe_plan_item *items = FE_NEW_N(u->arena, fe_plan_item, n);
    for (unsigned i = 0; i < n; i++) {
      items[i].size = (double)(next_random(&seed) % 5000);
      items[i].first = (unsigned)next_random(&seed) % length;
      items[i].last = items[i].first + (unsigned)next_random(&seed) % 20;
    }
    int64_t total = fe_plan_pack(u->arena, n, items, 64);
    for (unsigned i = 0; i < n; i++) {
      assert_int_equal(items[i].offset % 64, 0);
      assert_true(items[i].offset >= 0);
      assert_true(items[i].offset + (int64_t)items[i].size <= total);
      for (unsigned k = 0; k < i; k++)
        if (together(&items[i], &items[k]))
          assert_true(
              items[i].offset + (int64_t)items[i].size <= items[k].offset ||
              items[k].offset + (int64_t)items[k].size <= items[i].offset);
    }
    assert_true(total <= bound(n, items, length + 20) * 3 / 2);
    unsigned slots = fe_plan_slots(u->arena, n, items);
    for (unsigned i = 0; i < n; i++) {
      assert_true(items[i].slot < slots);
      for (unsigned k = 0; k < i; k++)
        if (together(&items[i], &items[k]))
          assert_int_not_equal(items[i].slot, items[k].slot);
    }
  }
  unit_end(u);
}

static void a_chain_needs_two_places(void **state) {
  (void)state;
  unit *u = unit_begin();
  fe_plan_item items[10];
  for (unsigned i = 0; i < 10; i++)
    items[i] = (fe_plan_item){.size = 1000, .first = i, .last = i + 1};
  assert_int_equal(fe_plan_pack(u->arena, 10, items, 64), 2 * 1024);
  assert_int_equal(fe_plan_slots(u->arena, 10, items), 2);
  assert_int_equal(fe_plan_pack(u->arena, 0, items, 64), 0);
  assert_int_equal(fe_plan_slots(u->arena, 0, items), 0);
  unit_end(u);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packs_random_lifetimes),
      cmocka_unit_test(a_chain_needs_two_places),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
