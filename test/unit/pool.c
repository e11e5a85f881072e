//===- pool.c - the thread pool
//--------------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every index is done once, whatever the number of threads and items, with
// workers awake and asleep, and before the call returns, also when workers take
// so long that the caller sleeps.
//
//===----------------------------------------------------------------------===//
#include "ferrule/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#define MAX_ITEMS 1000
static atomic_int done[MAX_ITEMS];

static void count(void *context, int64_t begin, int64_t end) {
  atomic_int *counts = context;
  for (int64_t i = begin; i < end; i++)
    atomic_fetch_add(&counts[i], 1);
}

static void every_index_once(void **state) {
  (void)state;
  static const int64_t sizes[] = {1, 2, 3, 7, 64, 999, MAX_ITEMS};
  for (int threads = 1; threads <= 5; threads++) {
    ferrule_pool *pool = ferrule_pool_create(threads);
    assert_non_null(pool);
    ferrule_run_options o = ferrule_pool_options(pool);
    assert_int_equal(o.threads, threads);
    for (int round = 0; round < 200; round++) {
      int64_t n = sizes[round % 7];
      if (round % 50 == 49) // long enough for the workers to sleep
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
      for (int i = 0; i < MAX_ITEMS; i++)
        atomic_store(&done[i], 0);
      o.parallel_for(o.user, count, done, n);
      for (int i = 0; i < MAX_ITEMS; i++)
        assert_int_equal(atomic_load(&done[i]), i < n);
    }
    ferrule_pool_destroy(pool);
  }
}

static void count_slowly(void *context, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++)
    nanosleep(&(struct timespec){.tv_nsec = 50000 * (i % 8)}, NULL);
  count(context, begin, end);
}

static void slow_items_are_waited_for(void **state) {
  (void)state;
  for (int threads = 1; threads <= 5; threads++) {
    ferrule_pool *pool = ferrule_pool_create(threads);
    assert_non_null(pool);
    ferrule_run_options o = ferrule_pool_options(pool);
    for (int round = 0; round < 20; round++) {
      int64_t n = 1 + round % 9;
      for (int i = 0; i < MAX_ITEMS; i++)
        atomic_store(&done[i], 0);
      o.parallel_for(o.user, count_slowly, done, n);
      for (int i = 0; i < n; i++)
        assert_int_equal(atomic_load(&done[i]), 1);
    }
    ferrule_pool_destroy(pool);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_index_once),
      cmocka_unit_test(slow_items_are_waited_for)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
