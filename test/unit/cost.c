//===- cost.c - tests of the cost model and of schedule files ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "kernel/cost.h"
#include "kernel/schedules.h"

#include <string.h>

static const fe_target *row(const char *name) {
  static fe_target storage;
  return fe_target_find(name, &storage);
}

static fe_cost cost(const fe_target *t, int64_t rows, int64_t vectors,
                    double operations, double bytes) {
  fe_cost_work w = {.tile = {rows, vectors, 512, rows * vectors},
                    .elem_bits = 32,
                    .operations = operations,
                    .bytes = bytes};
  return fe_cost_expected(t, &w);
}

/// What processors of these levels do: two multiply-adds a cycle, or, without
/// fused ones, a multiplication and an addition.
static void peaks(void **state) {
  (void)state;
  assert_true(fe_cost_peak(row("x86-64-v4"), 32) == 64);
  assert_true(fe_cost_peak(row("x86-64-v4"), 64) == 32);
  assert_true(fe_cost_peak(row("x86-64-v3"), 32) == 32);
  assert_true(fe_cost_peak(row("x86-64-v2"), 32) == 8);
}

static void limits(void **state) {
  (void)state;
  const fe_target *t = row("x86-64-v4");
  fe_cost c = cost(t, 8, 3, 1e6, 1e3);
  assert_int_equal(c.limit, FE_LIMIT_ARITHMETIC);
  assert_true(c.share > 0.9 && c.share <= 1);
  assert_true(c.cycles >= 1e6 / 64);
  assert_int_equal(cost(t, 1, 1, 1e6, 1e3).limit, FE_LIMIT_LATENCY);
  assert_int_equal(cost(t, 28, 1, 1e6, 1e3).limit, FE_LIMIT_LOADS);
  // Four accumulators of the eight that two units with four cycles can have.
  assert_true(cost(t, 4, 1, 1e6, 1e3).share < 0.51);
  assert_int_equal(cost(t, 8, 3, 1e3, t->l1_bytes + 1.0).limit, FE_LIMIT_L2);
  assert_int_equal(cost(t, 8, 3, 1e3, t->l2_bytes + 1.0).limit, FE_LIMIT_L3);
  assert_int_equal(cost(t, 8, 3, 1e3, t->l3_bytes + 1.0).limit,
                   FE_LIMIT_MEMORY);
  // More of anything never takes less.
  for (double n = 1e3; n < 1e12; n *= 10) {
    assert_true(cost(t, 8, 3, n, 1e6).cycles <=
                cost(t, 8, 3, 10 * n, 1e6).cycles);
    assert_true(cost(t, 8, 3, 1e6, n).cycles <=
                cost(t, 8, 3, 1e6, 10 * n).cycles);
  }
  assert_true(cost(t, 8, 3, 0, 0).cycles == 0);
  assert_true(cost(t, 8, 3, 0, 0).share == 0);
}

/// What is written is read as it was; the order of lines does not matter.
static void files(void **state) {
  (void)state;
  unit *u = unit_begin();
  fe_schedule_line lines[] = {
      {.cpu = "b", .root = "conv", .key = 7, .n = 1, .knob = {{"order", 2}}},
      {.cpu = "a",
       .root = "contract",
       .key = UINT64_MAX,
       .n = 2,
       .knob = {{"k_block", 0}, {"rows", 5}}}};
  char *text = fe_schedules_text(u->arena, 2, lines);
  assert_string_equal(text, "ferrule schedule 1\n"
                            "a contract ffffffffffffffff k_block=0 rows=5\n"
                            "b conv 0000000000000007 order=2\n");
  fe_schedules s;
  assert_int_equal(
      fe_schedules_read(&s, &u->diags, u->arena, "f", text, strlen(text)),
      FE_OK);
  assert_string_equal(fe_schedules_text(u->arena, s.lines.n, s.lines.at), text);
  fe_target t = {.cpu = "a"};
  const fe_schedule_line *l = fe_schedules_find(&s, &t, "contract", UINT64_MAX);
  assert_non_null(l);
  assert_string_equal(fe_schedule_place(&s, l), "f:2");
  int64_t rows = 8, block = 3, other = 1;
  fe_schedule_take(l, "rows", &rows);
  fe_schedule_take(l, "k_block", &block);
  fe_schedule_take(l, "row_block", &other);
  assert_true(rows == 5 && block == 0 && other == 1);
  assert_null(fe_schedules_find(&s, &t, "conv", 7)); // another processor's
  assert_int_equal(fe_schedules_unused(&s), 1);
  // No end of line at the end, and the ends of another system.
  static const char crlf[] = "ferrule schedule 1\r\n\r\n# x\r\n"
                             "a\tconv 0000000000000007  order=1";
  assert_int_equal(
      fe_schedules_read(&s, &u->diags, u->arena, "f", crlf, sizeof crlf - 1),
      FE_OK);
  assert_int_equal(s.lines.n, 1);
  assert_int_equal(s.lines.at[0].line, 4);
  assert_int_equal(u->diags.errors, 0);
  unit_end(u);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(peaks),
                                     cmocka_unit_test(limits),
                                     cmocka_unit_test(files)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
