//===- row.c - tests of generated softmax and normalization ------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All kinds, along the last dim and along an inner one, static and dynamic,
// against sums in double; the memory behind the results stays untouched.
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "kernel_jit.h"

#include <math.h>

static const char *const kinds[] = {"softmax", "log_softmax", "layer_norm",
                                    "rms_norm"};

typedef struct shape {
  int64_t outer, size, inner;
  bool dynamic;
} shape;

static void reference(unsigned kind, const float *x, const float *scale,
                      const float *bias, int64_t n, int64_t stride, double *y) {
  double max = -INFINITY, sum = 0, mean = 0, square = 0;
  for (int64_t i = 0; i < n; ++i) {
    max = fmax(max, x[i * stride]);
    mean += x[i * stride] / (double)n;
  }
  if (kind == 3)
    mean = 0;
  for (int64_t i = 0; i < n; ++i) {
    sum += exp(x[i * stride] - max);
    square += pow(x[i * stride] - mean, 2);
  }
  for (int64_t i = 0; i < n; ++i) {
    double v = x[i * stride], unit = (v - mean) / sqrt(square / n + 1e-5);
    y[i * stride] = kind == 0   ? exp(v - max) / sum
                    : kind == 1 ? v - max - log(sum)
                                : unit * scale[i] + (kind == 2 ? bias[i] : 0);
  }
}

static void check(const fe_target *t, unsigned kind, const shape *s) {
  unit *u = unit_begin();
  fe_blobs blobs = {.arena = u->arena};
  const char *irdl = fe_krnl_irdl;
  MlirContext ctx = fe_context_create(&u->diags, &irdl, 1);
  fe_ir ir;
  fe_ir_init(&ir, ctx, u->arena, &u->diags, &blobs);
  int64_t count = s->outer * s->size * s->inner;
  float *x = fe_alloc(u->arena, (size_t)(count + 64) * 4);
  float *y = fe_alloc(u->arena, (size_t)(count + 64) * 4);
  float *p[2] = {fe_alloc(u->arena, (size_t)s->size * 4),
                 fe_alloc(u->arena, (size_t)s->size * 4)};
  double *want = fe_alloc(u->arena, (size_t)count * 8);
  for (int64_t i = 0; i < count; ++i)
    x[i] = (float)((i * 7919) % 1009) / 50 - 8;
  for (int64_t i = 0; i < s->size; ++i) {
    p[0][i] = (float)(i % 7) - 3;
    p[1][i] = (float)(i % 5) / 5;
  }
  for (int i = 0; i < 64; ++i)
    y[count + i] = 7;
  const char *dims =
      s->dynamic ? (s->inner == 1 ? "?x?" : "?x?x?")
      : s->inner == 1
          ? fe_printf(u->arena, "%lldx%lld", (long long)s->outer,
                      (long long)s->size)
          : fe_printf(u->arena, "%lldx%lldx%lld", (long long)s->outer,
                      (long long)s->size, (long long)s->inner);
  const char *size =
      s->dynamic ? "?" : fe_printf(u->arena, "%lld", (long long)s->size);
  unsigned n = kind < 2 ? 0 : kind == 2 ? 2 : 1;
  const char *use = n == 0 ? "" : n == 1 ? ", %p" : ", %p, %q";
  const char *types =
      n == 0 ? ""
      : n == 1
          ? fe_printf(u->arena, ", tensor<%sxf32>", size)
          : fe_printf(u->arena, ", tensor<%sxf32>, tensor<%sxf32>", size, size);
  const char *text = fe_printf(
      u->arena,
      "func.func private @k(%%x: tensor<%sxf32>, %%p: tensor<%sxf32>, "
      "%%q: tensor<%sxf32>, %%d: tensor<%sxf32>) -> tensor<%sxf32> attributes "
      "{krnl.kernel, krnl.root = \"row\"} {\n"
      "  %%0 = \"krnl.row\"(%%x%s, %%d) {kind = \"%s\", axis = 1 : i64, "
      "epsilon = 1.0e-5 : f32} : (tensor<%sxf32>%s, tensor<%sxf32>) -> "
      "tensor<%sxf32>\n  return %%0 : tensor<%sxf32>\n}\n",
      dims, size, size, dims, dims, use, kinds[kind], dims, types, dims, dims,
      dims);
  kernel_jit k = {0};
  if (!kj_compile(&k, &ir, t, text, "k"))
    fail_msg("%s\n%s", u->messages->at, text);
  int64_t d[] = {s->outer, s->size, s->inner};
  unsigned rank = s->inner == 1 ? 2 : 3;
  kj_array ax = kj_make(x, rank, d), ap = kj_make(p[0], 1, &s->size),
           aq = kj_make(p[1], 1, &s->size), ay = kj_make(y, rank, d);
  kj_array *args[] = {&ax, &ap, &aq, &ay};
  int64_t lanes = fe_lanes_f32(t);
  int64_t items =
      s->outer * (s->inner == 1 ? 1 : (s->inner + lanes - 1) / lanes);
  kj_run(&k, 0, items / 2, 4, args);
  kj_run(&k, items / 2, items, 4, args);
  for (int64_t o = 0; o < s->outer; ++o)
    for (int64_t i = 0; i < s->inner; ++i) {
      int64_t at = o * s->size * s->inner + i;
      reference(kind, x + at, p[0], p[1], s->size, s->inner, want + at);
    }
  double worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    // Differences near 0 are as good as what was subtracted.
    double least = kind == 0 ? 1e-3 : 1;
    double e = fabs(y[i] - want[i]) / (least + fabs(want[i]));
    worst = e <= worst ? worst : e;
  }
  for (int i = 0; i < 64; ++i)
    if (y[count + i] != 7)
      worst = 1;
  if (!(worst < 1e-5))
    fail_msg("%s %lldx%lldx%lld: error %g", kinds[kind], (long long)s->outer,
             (long long)s->size, (long long)s->inner, worst);
  kj_free(&k);
  mlirContextDestroy(ctx);
  unit_end(u);
}

static void all(void **state) {
  (void)state;
  static const shape s[] = {
      {3, 128, 1, false}, {2, 1, 1, false},   {4, 77, 1, false},
      {3, 5, 1, true},    {2, 1000, 1, true}, {2, 9, 20, false},
      {3, 10, 7, true},   {2, 30, 64, true},
  };
  fe_target native, v3;
  const fe_target *t = fe_target_find("native", &native);
  const fe_target *narrow = t;
  for (unsigned i = 0; i < FE_COUNT(s); ++i)
    for (unsigned kind = 0; kind < FE_COUNT(kinds); ++kind) {
      check(t, kind, &s[i]);
      narrow = fe_target_find(i / 2 % 2 ? "x86-64-v2" : "x86-64-v3", &v3);
      if (t->vector_bits > narrow->vector_bits && kind % 2 == i % 2)
        check(narrow, kind, &s[i]);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
