//===- base.c - tests of src/base --------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Sizes around the chunk sizes: memory is zeroed, aligned, and no two overlap.
static void arena_sizes(void **state) {
  (void)state;
  unit *u = unit_begin();
  unsigned char *at[400];
  size_t size[400];
  for (size_t i = 0; i < 400; i++) {
    size[i] = i * i * 7 % 70000;
    at[i] = fe_alloc(u->arena, size[i]);
    assert_int_equal((uintptr_t)at[i] % 16, 0);
    for (size_t k = 0; k < size[i]; k++)
      assert_int_equal(at[i][k], 0);
    memset(at[i], (int)(i % 255) + 1, size[i]);
  }
  for (size_t i = 0; i < 400; i++)
    for (size_t k = 0; k < size[i]; k++)
      assert_int_equal(at[i][k], i % 255 + 1);
  unit_end(u);
}

static void arena_out_of_memory(void **state) {
  (void)state;
  jmp_buf oom;
  fe_arena *volatile arena = NULL;
  if (setjmp(oom) == 0) {
    arena = fe_arena_create(&oom);
    fe_alloc(arena, SIZE_MAX / 2);
    fail_msg("a request for half the address space succeeded");
  }
  if (setjmp(oom) == 0) {
    fe_alloc(arena, SIZE_MAX);
    fail_msg("a request for the address space succeeded");
  }
  assert_non_null(fe_alloc(arena, 100)); // still usable
  fe_arena_destroy(arena);
}

static void arena_give_back(void **state) {
  (void)state;
  unit *u = unit_begin();
  char *at[9]; // a large one, small ones around it
  for (size_t round = 0; round < 3; round++) {
    for (size_t i = 0; i < 9; i++) {
      size_t size = i == 4 ? (size_t)8 << 20 : 1000;
      at[i] = memset(fe_alloc(u->arena, size), (int)i + 1, size);
    }
    fe_arena_give_back(u->arena, at[4] + 16, 1000); // not a whole one: stays
    assert_int_equal(at[4][(8 << 20) - 1], 5);
    fe_arena_give_back(u->arena, at[4], (size_t)8 << 20);
    fe_arena_give_back(u->arena, at[3], 1000); // has no memory of its own
    for (size_t i = 0; i < 9; i++)
      for (size_t k = 0; i != 4 && k < 1000; k++)
        assert_int_equal(at[i][k], i + 1);
  }
  unit_end(u);
}

static void vectors(void **state) {
  (void)state;
  unit *u = unit_begin();
  fe_vec(int) v = {0};
  for (int i = 0; i < 1000; i++)
    fe_push(u->arena, &v, i * 3);
  assert_int_equal(v.n, 1000);
  for (int i = 0; i < 1000; i++)
    assert_int_equal(v.at[i], i * 3);
  unit_end(u);
}

static void maps(void **state) {
  (void)state;
  unit *u = unit_begin();
  fe_map m = {0};
  assert_null(fe_map_get(&m, "absent"));
  int values[1000];
  for (int i = 0; i < 1000; i++)
    fe_map_set(u->arena, &m, fe_printf(u->arena, "key%d", i), &values[i]);
  fe_map_set(u->arena, &m, "", &values[0]);
  fe_map_set(u->arena, &m, "key7", &values[8]); // replaces, keeps its place
  assert_int_equal(m.n, 1001);
  for (int i = 0; i < 1000; i++) {
    const char *key = fe_printf(u->arena, "key%d", i);
    assert_string_equal(m.entries[i].key, key);
    assert_ptr_equal(fe_map_get(&m, key), &values[i == 7 ? 8 : i]);
  }
  assert_ptr_equal(fe_map_get(&m, ""), &values[0]);
  assert_null(fe_map_get(&m, "key"));
  assert_null(fe_map_get(&m, "key1000"));

  fe_map p = {0};
  for (int i = 0; i < 1000; i++)
    fe_map_set_ptr(u->arena, &p, &values[i], &values[999 - i]);
  for (int i = 0; i < 1000; i++)
    assert_ptr_equal(fe_map_get_ptr(&p, &values[i]), &values[999 - i]);
  assert_null(fe_map_get_ptr(&p, &p));
  unit_end(u);
}

static void text(void **state) {
  (void)state;
  unit *u = unit_begin();
  fe_buf b = {0};
  for (int i = 0; i < 100; i++)
    fe_buf_printf(u->arena, &b, "%d,", i);
  fe_buf_add(u->arena, &b, "a\0b", 3);
  assert_int_equal(b.n, 10 * 2 + 90 * 3 + 3);
  assert_int_equal(strncmp(b.at, "0,1,2,", 6), 0);
  assert_memory_equal(b.at + b.n - 6, "99,a\0b", 7);
  assert_string_equal(fe_printf(u->arena, "%s", ""), "");
  assert_string_equal(fe_strndup(u->arena, "abcdef", 3), "abc");
  unit_end(u);
}

static void diagnostics(void **state) {
  (void)state;
  unit *u = unit_begin();
  fe_report(&u->diags, FE_SEV_WARNING, (fe_where){0}, NULL, "odd %d", 1);
  assert_int_equal(u->diags.errors, 0);
  assert_int_equal(
      fe_error(&u->diags, (fe_where){.node = "n1"}, "hint", "bad %s", "dim"),
      FE_FAILED);
  fe_report(&u->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL, "oops");
  assert_int_equal(u->diags.errors, 2);
  assert_int_equal(u->diags.internal, 1);
  assert_string_equal(u->messages->at,
                      "warning: odd 1\nerror: n1: bad dim\ninternal: oops\n");
  unit_end(u);
}

static void files(void **state) {
  (void)state;
  unit *u = unit_begin();
  char dir[] = "/tmp/ferrule-unit-XXXXXX";
  assert_non_null(mkdtemp(dir));
  const char *path = fe_printf(u->arena, "%s/file", dir);
  fe_file f;
  assert_int_equal(fe_file_map(&u->diags, path, &f), FE_FAILED);
  assert_int_equal(fe_file_map(&u->diags, dir, &f), FE_FAILED);
  assert_int_equal(u->diags.errors, 2);

  assert_int_equal(fe_file_write(&u->diags, path, "one", 3), FE_OK);
  assert_int_equal(fe_file_write(&u->diags, path, "again", 5), FE_OK);
  assert_int_equal(fe_file_map(&u->diags, path, &f), FE_OK);
  assert_int_equal(f.size, 5);
  assert_true(f.mapped);
  assert_memory_equal(f.data, "again", 5);
  fe_file_unmap(&f);

  assert_int_equal(fe_file_write(&u->diags, path, "", 0), FE_OK);
  assert_int_equal(fe_file_map(&u->diags, path, &f), FE_OK);
  assert_int_equal(f.size, 0);
  fe_file_unmap(&f);

  const char *below = fe_printf(u->arena, "%s/file/below", dir);
  assert_int_equal(fe_file_write(&u->diags, below, "x", 1), FE_FAILED);
  assert_int_equal(u->diags.errors, 3);
  unlink(path);
  assert_int_equal(rmdir(dir), 0); // no temporary was left
  assert_true(fe_now() > 0);
  unit_end(u);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arena_sizes),
      cmocka_unit_test(arena_give_back),
      cmocka_unit_test(arena_out_of_memory),
      cmocka_unit_test(vectors),
      cmocka_unit_test(maps),
      cmocka_unit_test(text),
      cmocka_unit_test(diagnostics),
      cmocka_unit_test(files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
