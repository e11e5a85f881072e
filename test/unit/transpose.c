//===- transpose.c - tests of generated transposes ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Permutations of all kinds, sizes around the width of vectors, elements of 8
// to 64 bits, static and dynamic, against a loop over all elements.
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "kernel_jit.h"

typedef struct shape {
  const char *elem;
  unsigned bytes, rank;
  int64_t dims[5], permutation[5];
  bool dynamic;
  int64_t items; // when dynamic: 16 lanes
} shape;

static void check(const fe_target *t, const shape *s) {
  unit *u = unit_begin();
  fe_blobs blobs = {.arena = u->arena};
  const char *irdl = fe_krnl_irdl;
  MlirContext ctx = fe_context_create(&u->diags, &irdl, 1);
  fe_ir ir;
  fe_ir_init(&ir, ctx, u->arena, &u->diags, &blobs);
  fe_buf from = {0}, to = {0}, permutation = {0};
  int64_t count = 1, out[5];
  for (unsigned i = 0; i < s->rank; ++i) {
    out[i] = s->dims[s->permutation[i]];
    count *= out[i];
    const char *dynamic = "?x";
    fe_buf_printf(u->arena, &from, "%s",
                  s->dynamic
                      ? dynamic
                      : fe_printf(u->arena, "%lldx", (long long)s->dims[i]));
    fe_buf_printf(u->arena, &to, "%s",
                  s->dynamic ? dynamic
                             : fe_printf(u->arena, "%lldx", (long long)out[i]));
    fe_buf_printf(u->arena, &permutation, "%s%lld", i ? ", " : "",
                  (long long)s->permutation[i]);
  }
  const char *a = fe_printf(u->arena, "tensor<%s%s>", from.at, s->elem);
  const char *b = fe_printf(u->arena, "tensor<%s%s>", to.at, s->elem);
  const char *text = fe_printf(
      u->arena,
      "func.func private @k(%%x: %s, %%d: %s) -> %s attributes {krnl.kernel, "
      "krnl.root = \"transpose\"} {\n  %%0 = \"krnl.transpose\"(%%x, %%d) "
      "{permutation = array<i64: %s>} : (%s, %s) -> %s\n  return %%0 : %s\n}\n",
      a, b, b, permutation.at, a, b, b, b);
  unsigned char *x = fe_alloc(u->arena, (size_t)count * s->bytes + 64);
  unsigned char *y = fe_alloc(u->arena, (size_t)count * s->bytes + 64);
  for (int64_t i = 0; i < count * s->bytes; ++i)
    x[i] = (unsigned char)(i * 131 >> (i & 3));
  kernel_jit k = {0};
  if (!kj_compile(&k, &ir, t, text, "k"))
    fail_msg("%s\n%s", u->messages->at, text);
  kj_array ax = kj_make(x, s->rank, s->dims), ay = kj_make(y, s->rank, out);
  kj_array *args[] = {&ax, &ay};
  int64_t items = k.items < 0 ? s->items : k.items;
  kj_run(&k, 0, items / 2, 2, args);
  kj_run(&k, items / 2, items, 2, args);
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0, index[5];
    for (unsigned d = s->rank; d-- > 0; rest /= out[d])
      index[s->permutation[d]] = rest % out[d];
    for (unsigned d = 0; d < s->rank; ++d)
      at = at * s->dims[d] + index[d];
    if (memcmp(y + i * s->bytes, x + at * s->bytes, s->bytes))
      fail_msg("%s: element %lld", text, (long long)i);
  }
  for (unsigned i = 0; i < 64; ++i)
    assert_int_equal(y[count * s->bytes + i], 0);
  kj_free(&k);
  mlirContextDestroy(ctx);
  unit_end(u);
}

static void all_kinds(void **state) {
  (void)state;
  static const shape s[] = {
      {"f32", 4, 2, {64, 48}, {1, 0}, false, 0},
      {"f32", 4, 2, {33, 50}, {1, 0}, false, 0},
      {"f32", 4, 3, {2, 100, 3}, {0, 2, 1}, false, 0},
      {"f32", 4, 4, {2, 3, 17, 20}, {0, 2, 3, 1}, false, 0},
      {"f32", 4, 4, {2, 10, 4, 24}, {0, 2, 1, 3}, false, 0},
      {"f32", 4, 4, {5, 3, 4, 6}, {3, 2, 1, 0}, false, 0},
      {"f32", 4, 3, {1, 7, 1}, {2, 1, 0}, false, 0},
      {"i8", 1, 2, {40, 35}, {1, 0}, false, 0},
      {"f16", 2, 2, {40, 35}, {1, 0}, false, 0},
      {"i64", 8, 3, {3, 20, 11}, {1, 0, 2}, false, 0},
      {"f64", 8, 2, {30, 17}, {1, 0}, false, 0},
      {"f32", 4, 2, {33, 50}, {1, 0}, true, 4},
      {"f32", 4, 4, {2, 3, 17, 20}, {0, 3, 1, 2}, true, 4},
      {"i8", 1, 4, {2, 3, 17, 20}, {0, 2, 1, 3}, true, 34},
  };
  fe_target native, v3;
  const fe_target *t = fe_target_find("native", &native);
  const fe_target *narrow = t;
  for (unsigned i = 0; i < FE_COUNT(s); ++i) {
    if (!s[i].dynamic || t->vector_bits == 512)
      check(t, &s[i]);
    narrow = fe_target_find(i % 2 ? "x86-64-v2" : "x86-64-v3", &v3);
    if (t->vector_bits > narrow->vector_bits && !s[i].dynamic)
      check(narrow, &s[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_kinds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
