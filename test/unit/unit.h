//===- unit.h - what every unit test includes --------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cmocka, an arena and a sink that keeps the messages for comparison.
//
//   static void adds(void **state) {
//     unit *u = unit_begin();
//     ...
//     assert_int_equal(u->diags.errors, 0);
//     unit_end(u);
//   }
//   int main(void) {
//     const struct CMUnitTest tests[] = {cmocka_unit_test(adds)};
//     return cmocka_run_group_tests(tests, NULL, NULL);
//   }
//
//===----------------------------------------------------------------------===//
#ifndef FE_TEST_UNIT_H
#define FE_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

typedef struct unit {
  fe_arena *arena;
  fe_buf *messages; // one line per diagnostic: "severity: node: message"
  fe_diags diags;
} unit;

static inline void unit_receive(void *user, const fe_diag *diag) {
  static const char *const names[] = {"note", "warning", "error", "internal"};
  unit *u = user;
  fe_buf_printf(u->arena, u->messages, "%s: %s%s%s\n", names[diag->severity],
                diag->where.node ? diag->where.node : "",
                diag->where.node ? ": " : "", diag->message);
}

static inline unit *unit_begin(void) {
  fe_arena *arena = fe_arena_create(NULL);
  unit *u = FE_NEW(arena, unit);
  u->arena = arena;
  u->messages = FE_NEW(arena, fe_buf);
  fe_buf_add(arena, u->messages, "", 0);
  u->diags = (fe_diags){.arena = arena, .fn = unit_receive, .user = u};
  return u;
}

static inline void unit_end(unit *u) { fe_arena_destroy(u->arena); }

#endif
