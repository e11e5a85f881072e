//===- attention.c - tests of generated attention ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layouts, masks, causal order, shared heads, one block of keys and several,
// static and dynamic, against sums in double.
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "kernel_jit.h"

#include <math.h>

typedef struct shape {
  int64_t batch, heads, heads_kv, queries, keys, depth;
  const char *layouts[4];
  int mask; // 0 none, 1 [b,1,1,keys], 2 [queries,keys]
  bool causal, dynamic;
} shape;

typedef struct tensor {
  float *data;
  unsigned rank;
  int64_t dims[5], strides[5]; // strides by b s h d
} tensor;

static tensor make(fe_arena *a, const char *layout, int64_t b, int64_t s,
                   int64_t h, int64_t d, unsigned seed) {
  tensor t = {.rank = (unsigned)strlen(layout)};
  int64_t n = 1;
  for (unsigned i = t.rank; i-- > 0;) {
    t.dims[i] = layout[i] == 'b'   ? b
                : layout[i] == 's' ? s
                : layout[i] == 'h' ? h
                : layout[i] == 'd' ? d
                                   : 3;
    t.strides[strchr("bshdt", layout[i]) - "bshdt"] = n;
    n *= t.dims[i];
  }
  t.data = fe_alloc(a, (size_t)(n + 64) * 4);
  for (int64_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    t.data[i] = (float)((int)(seed >> 9) - (1 << 22)) / (float)(1 << 21);
  }
  for (int i = 0; i < 64; ++i)
    t.data[n + i] = 7;
  return t;
}

static const char *type(fe_arena *a, const tensor *t, bool dynamic) {
  fe_buf b = {0};
  for (unsigned i = 0; i < t->rank; ++i)
    // sizes of heads stay known
    fe_buf_printf(a, &b, "%s",
                  dynamic && i + 1 < t->rank && t->dims[i] != 3
                      ? "?x"
                      : fe_printf(a, "%lldx", (long long)t->dims[i]));
  return fe_printf(a, "tensor<%sf32>", b.at);
}

static float at(const tensor *t, int64_t b, int64_t s, int64_t h, int64_t d,
                int64_t pick) {
  return t->data[b * t->strides[0] + s * t->strides[1] + h * t->strides[2] +
                 d * t->strides[3] + pick * t->strides[4]];
}

static void check(const fe_target *t, const shape *s) {
  unit *u = unit_begin();
  fe_arena *a = u->arena;
  fe_blobs blobs = {.arena = a};
  const char *irdl = fe_krnl_irdl;
  MlirContext ctx = fe_context_create(&u->diags, &irdl, 1);
  fe_ir ir;
  fe_ir_init(&ir, ctx, a, &u->diags, &blobs);
  tensor q =
      make(a, s->layouts[0], s->batch, s->queries, s->heads, s->depth, 1);
  tensor k =
      make(a, s->layouts[1], s->batch, s->keys, s->heads_kv, s->depth, 2);
  tensor v =
      make(a, s->layouts[2], s->batch, s->keys, s->heads_kv, s->depth, 3);
  tensor o =
      make(a, s->layouts[3], s->batch, s->queries, s->heads, s->depth, 4);
  tensor m = {.rank = s->mask == 1 ? 4 : 2};
  if (s->mask == 1)
    memcpy(m.dims, (int64_t[]){s->batch, 1, 1, s->keys}, 32);
  else
    memcpy(m.dims, (int64_t[]){s->queries, s->keys}, 16);
  int64_t n = s->mask == 1 ? s->batch * s->keys : s->queries * s->keys;
  m.data = fe_alloc(a, (size_t)(n + 64) * 4);
  for (int64_t i = 0; i < n; ++i)
    m.data[i] = i % 5 == 2 ? -INFINITY : (float)(i % 7) / 3;
  const char *tq = type(a, &q, s->dynamic), *tk = type(a, &k, s->dynamic),
             *tv = type(a, &v, s->dynamic), *to = type(a, &o, s->dynamic);
  const char *tm = s->mask == 1
                       ? fe_printf(a,
                                   s->dynamic ? "tensor<?x1x1x?xf32>"
                                              : "tensor<%lldx1x1x%lldxf32>",
                                   (long long)s->batch, (long long)s->keys)
                       : type(a, &m, false);
  const char *text = fe_printf(
      a,
      "func.func private @k(%%q: %s, %%k: %s, %%v: %s, %%m: %s, %%d: %s) -> %s "
      "attributes {krnl.kernel, krnl.root = \"attention\"} {\n  %%0 = "
      "\"krnl.attention%s\"(%%q, %%k, %%v%s, %%d) {scale = 0.25 : f32, causal "
      "= %d : i64, layouts = [\"%s\", \"%s\", \"%s\", \"%s\"], pick = "
      "array<i64: "
      "0, 1, 2>} : (%s, %s, %s%s%s, %s) -> %s\n  return %%0 : %s\n}\n",
      tq, tk, tv, tm, to, to, s->mask ? "_masked" : "", s->mask ? ", %m" : "",
      s->causal, s->layouts[0], s->layouts[1], s->layouts[2], s->layouts[3], tq,
      tk, tv, s->mask ? ", " : "", s->mask ? tm : "", to, to, to);
  kernel_jit j = {0};
  if (!kj_compile(&j, &ir, t, text, "k"))
    fail_msg("%s\n%s", u->messages->at, text);
  kj_array xq = kj_make(q.data, q.rank, q.dims),
           xk = kj_make(k.data, k.rank, k.dims),
           xv = kj_make(v.data, v.rank, v.dims),
           xm = kj_make(m.data, m.rank, m.dims),
           xo = kj_make(o.data, o.rank, o.dims);
  kj_array *args[] = {&xq, &xk, &xv, &xm, &xo};
  // the queries of all heads with the same keys are the rows of an item
  int64_t rows = s->queries * (s->heads / s->heads_kv);
  int64_t block = s->dynamic || rows > 256 ? 256 : rows;
  int64_t items = s->batch * s->heads_kv * ((rows + block - 1) / block);
  if (j.items >= 0)
    assert_int_equal(j.items, items);
  kj_run(&j, 0, items / 2, 5, args);
  kj_run(&j, items / 2, items, 5, args);

  double worst = 0;
  double *e = fe_alloc(a, (size_t)s->keys * sizeof *e);
  for (int64_t b = 0; b < s->batch; ++b)
    for (int64_t h = 0; h < s->heads; ++h)
      for (int64_t i = 0; i < s->queries; ++i) {
        int64_t kv = h / (s->heads / s->heads_kv);
        double top = -INFINITY, sum = 0;
        for (int64_t x = 0; x < s->keys; ++x) {
          e[x] = 0;
          for (int64_t d = 0; d < s->depth; ++d)
            e[x] += 0.25 * at(&q, b, i, h, d, 0) * at(&k, b, x, kv, d, 1);
          if (s->mask)
            e[x] += m.data[s->mask == 1 ? b * s->keys + x : i * s->keys + x];
          if (s->causal && x > i + s->keys - s->queries)
            e[x] = -INFINITY;
          top = fmax(top, e[x]);
        }
        for (int64_t x = 0; x < s->keys; ++x)
          sum += e[x] = exp(e[x] - top);
        for (int64_t d = 0; d < s->depth; ++d) {
          double want = 0;
          for (int64_t x = 0; x < s->keys; ++x)
            want += e[x] / sum * at(&v, b, x, kv, d, 2);
          double error = fabs(want - at(&o, b, i, h, d, 0));
          worst = error <= worst ? worst : error;
        }
      }
  int64_t size = s->batch * s->heads * s->queries * s->depth;
  for (int i = 0; i < 64; ++i)
    if (o.data[size + i] != 7)
      worst = 1;
  if (!(worst < 3e-6))
    fail_msg("%lld queries, %lld keys: error %g", (long long)s->queries,
             (long long)s->keys, worst);
  kj_free(&j);
  mlirContextDestroy(ctx);
  unit_end(u);
}

static void all(void **state) {
  (void)state;
#define BSHD {"bshd", "bshd", "bshd", "bshd"}
  static const shape s[] = {
      {2, 3, 3, 20, 20, 64, BSHD, 1, false, false},
      {1, 2, 2, 30, 77, 32, {"bhsd", "bhsd", "bhsd", "bshd"}, 2, false, false},
      {1, 4, 2, 13, 40, 20, {"bshd", "bhsd", "bhsd", "bhsd"}, 0, false, false},
      {2,
       2,
       2,
       33,
       33,
       64,
       {"bsthd", "bsthd", "bsthd", "bshd"},
       0,
       true,
       false},
      {1, 2, 2, 9, 1100, 64, BSHD, 1, false, false},
      {1, 2, 2, 21, 1100, 64, BSHD, 0, true, true},
      {2, 2, 2, 50, 50, 64, BSHD, 1, false, true},
      {1, 2, 2, 1, 600, 96, BSHD, 0, true, true},
  };
  fe_target native, v3;
  const fe_target *t = fe_target_find("native", &native);
  const fe_target *narrow = t;
  for (unsigned i = 0; i < FE_COUNT(s); ++i) {
    check(t, &s[i]);
    narrow = fe_target_find(i % 2 ? "x86-64-v2" : "x86-64-v3", &v3);
    if (t->vector_bits > narrow->vector_bits)
      check(narrow, &s[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
