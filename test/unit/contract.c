//===- contract.c - tests of generated matrix products -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels are generated for all forms of B, static and dynamic sizes around the
// tile sizes, compiled for this machine and compared with sums in double. The
// memory behind every result is checked to be untouched.
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "kernel_jit.h"

#include <math.h>

typedef enum { ROWS, COLUMNS, PANELS } form;
typedef enum { PLAIN, BIAS_RELU, RESIDUAL, TANH } tail;

typedef struct shape {
  int64_t batch, m, n, k;
  form b;
  bool trans_a, shared_b; // B without batch
  bool dynamic_m, dynamic_n, dynamic_k, dynamic_batch;
  tail tail;
} shape;

static float *fill(fe_arena *a, int64_t n, unsigned seed) {
  float *x = fe_alloc(a, (size_t)(n + 64) * sizeof *x);
  for (int64_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)((int)(seed >> 9) - (1 << 22)) / (float)(1 << 22);
  }
  return x;
}

static const char *dim(fe_arena *a, int64_t v, bool dynamic) {
  return dynamic ? "?" : fe_printf(a, "%lld", (long long)v);
}

static const char *text_of(fe_arena *a, const shape *s, int64_t width,
                           int64_t panels) {
  const char *m = dim(a, s->m, s->dynamic_m), *n = dim(a, s->n, s->dynamic_n);
  const char *k = dim(a, s->k, s->dynamic_k);
  const char *batch = fe_printf(a, "%sx", dim(a, s->batch, s->dynamic_batch));
  const char *b_batch = s->shared_b ? "" : batch;
  const char *ta = s->trans_a ? fe_printf(a, "%s%sx%s", batch, k, m)
                              : fe_printf(a, "%s%sx%s", batch, m, k);
  const char *tb = s->b == ROWS ? fe_printf(a, "%s%sx%s", b_batch, k, n)
                   : s->b == COLUMNS
                       ? fe_printf(a, "%s%sx%s", b_batch, n, k)
                       : fe_printf(a, "%s%lldx%sx%lld", b_batch,
                                   (long long)panels, k, (long long)width);
  const char *td = fe_printf(a, "%s%sx%s", batch, m, n);
  static const char *const forms[] = {"rows", "columns", "panels"};
  fe_buf t = {0};
  fe_buf_printf(a, &t,
                "func.func private @k(%%a: tensor<%sxf32>, %%b: tensor<%sxf32>,"
                " %%bias: tensor<%sxf32>, %%more: tensor<%sxf32>, "
                "%%d: tensor<%sxf32>) -> tensor<%sxf32> attributes "
                "{krnl.kernel, krnl.root = \"contract\"} {\n"
                "  %%zero = arith.constant 0.0 : f32\n"
                "  %%0 = \"krnl.contract\"(%%a, %%b, %%d) {trans_a = %d : i64, "
                "b = \"%s\"} : (tensor<%sxf32>, tensor<%sxf32>, "
                "tensor<%sxf32>) -> tensor<%sxf32>\n",
                ta, tb, n, td, td, td, s->trans_a, forms[s->b], ta, tb, td, td);
  const char *head =
      "  %%%d = linalg.generic {indexing_maps = [affine_map<(d0,d1,d2) -> "
      "(d0,d1,d2)>, affine_map<(d0,d1,d2) -> (%s)>, "
      "affine_map<(d0,d1,d2) -> (d0,d1,d2)>], iterator_types = [\"parallel\", "
      "\"parallel\", \"parallel\"]} ins(%%%d, %%%s : tensor<%sxf32>, "
      "tensor<%sxf32>) outs(%%d : tensor<%sxf32>) {\n"
      "  ^bb0(%%x: f32, %%y: f32, %%z: f32):\n"
      "    %%s = arith.addf %%x, %%y fastmath<contract> : f32\n";
  const char *done = "  return %%%d : tensor<%sxf32>\n}\n";
  if (s->tail == BIAS_RELU || s->tail == TANH) {
    fe_buf_printf(a, &t, head, 1, "d2", 0, "bias", td, n, td);
    fe_buf_printf(
        a, &t, "%s    linalg.yield %%t : f32\n  } -> tensor<%sxf32>\n",
        s->tail == TANH ? "    %t = math.tanh %s : f32\n"
                        : "    %c = arith.cmpf ogt, %zero, %s : f32\n"
                          "    %t = arith.select %c, %zero, %s : f32\n",
        td);
    fe_buf_printf(a, &t, done, 1, td);
  } else if (s->tail == RESIDUAL) {
    fe_buf_printf(a, &t, head, 1, "d2", 0, "bias", td, n, td);
    fe_buf_printf(a, &t, "    linalg.yield %%s : f32\n  } -> tensor<%sxf32>\n",
                  td);
    fe_buf_printf(a, &t, head, 2, "d0,d1,d2", 1, "more", td, td, td);
    fe_buf_printf(a, &t, "    linalg.yield %%s : f32\n  } -> tensor<%sxf32>\n",
                  td);
    fe_buf_printf(a, &t, done, 2, td);
  } else {
    fe_buf_printf(a, &t, done, 0, td);
  }
  return t.at;
}

static double expected(const shape *s, const float *a, const float *b,
                       const float *bias, const float *more, int64_t i,
                       int64_t m, int64_t n, double *size) {
  const float *pa = a + i * s->m * s->k;
  const float *pb = b + (s->shared_b ? 0 : i * s->k * s->n);
  double sum = 0;
  *size = 1;
  for (int64_t k = 0; k < s->k; ++k) {
    double x = s->trans_a ? pa[k * s->m + m] : pa[m * s->k + k];
    double y = s->b == COLUMNS ? pb[n * s->k + k] : pb[k * s->n + n];
    sum += x * y;
    *size += fabs(x * y);
  }
  switch (s->tail) {
  case PLAIN:
    return sum;
  case BIAS_RELU:
    sum += bias[n];
    return sum < 0 ? 0 : sum;
  case RESIDUAL:
    return sum + bias[n] + more[(i * s->m + m) * s->n + n];
  case TANH:
    return tanh(sum + bias[n]);
  }
  return 0;
}

static void check(const fe_target *t, const shape *s) {
  unit *u = unit_begin();
  fe_blobs blobs = {.arena = u->arena};
  const char *irdl = fe_krnl_irdl;
  MlirContext ctx = fe_context_create(&u->diags, &irdl, 1);
  fe_ir ir;
  fe_ir_init(&ir, ctx, u->arena, &u->diags, &blobs);

  int64_t width = fe_contract_panel(t, 32, s->n);
  int64_t panels = (s->n + width - 1) / width;
  int64_t nb = s->shared_b ? 1 : s->batch, count = s->batch * s->m * s->n;
  float *a = fill(u->arena, s->batch * s->m * s->k, 1);
  float *b = fill(u->arena, nb * s->k * s->n, 2);
  float *bias = fill(u->arena, s->n, 3), *more = fill(u->arena, count, 4);
  float *d = fill(u->arena, count, 5), *packed = b;
  fe_blob *blob = fe_blob_add(&blobs, "b", b,
                              (size_t)(nb * s->k * s->n) * sizeof *b, NULL, 0);
  if (s->b == PANELS)
    packed = (float *)fe_blob_data(
        &blobs, fe_contract_pack(&ir, t, 32, blob, nb, s->k, s->n, false));
  for (int i = 0; i < 64; ++i)
    d[count + i] = 7;

  kernel_jit k = {0};
  const char *text = text_of(u->arena, s, width, panels);
  if (!kj_compile(&k, &ir, t, text, "k"))
    fail_msg("%s\n%s", u->messages->at, text);
  int64_t da[] = {s->batch, s->trans_a ? s->k : s->m, s->trans_a ? s->m : s->k};
  int64_t db[] = {nb, 0, 0, 0}, dd[] = {s->batch, s->m, s->n};
  unsigned rb = s->b == PANELS ? 4 : 3;
  if (s->b == PANELS)
    memcpy(db + 1, (int64_t[]){panels, s->k, width}, 3 * sizeof *db);
  else
    memcpy(db + 1,
           (int64_t[]){s->b == ROWS ? s->k : s->n, s->b == ROWS ? s->n : s->k},
           2 * sizeof *db);
  kj_array xa = kj_make(a, 3, da),
           xb = kj_make(packed, rb - s->shared_b, db + s->shared_b);
  kj_array xbias = kj_make(bias, 1, &s->n), xmore = kj_make(more, 3, dd);
  kj_array xd = kj_make(d, 3, dd);
  kj_array *args[] = {&xa, &xb, &xbias, &xmore, &xd};
  // Number of items when unknown at compile time: as the generator counts.
  int64_t items = k.items;
  if (items < 0) {
    bool collapsed = s->shared_b && !s->trans_a;
    int64_t m = collapsed ? s->batch * s->m : s->m;
    bool dm = s->dynamic_m || (collapsed && s->dynamic_batch);
    fe_contract_plan p = fe_contract_choose(
        t, 32, dm ? FE_DYN : m, s->dynamic_n ? FE_DYN : s->n,
        s->dynamic_k ? FE_DYN : s->k, s->b == PANELS, s->b == COLUMNS);
    items = (collapsed ? 1 : s->batch) * panels *
            ((m + p.row_block - 1) / p.row_block);
  }
  // In two parts, as threads would.
  kj_run(&k, 0, items / 3, 5, args);
  kj_run(&k, items / 3, items, 5, args);

  double worst = 0;
  int64_t at = -1;
  for (int64_t i = 0; i < count; ++i) {
    double size, want = expected(s, a, b, bias, more, i / (s->m * s->n),
                                 i / s->n % s->m, i % s->n, &size);
    double e = fabs(d[i] - want) / size;
    if (!(e <= worst)) {
      worst = e;
      at = i;
    }
  }
  bool ok = worst < 4e-7;
  for (int i = 0; i < 64; ++i)
    ok &= d[count + i] == 7;
  if (!ok)
    fail_msg("batch %lld m %lld n %lld k %lld form %d tail %d: error %g at "
             "%lld (%g)\n",
             (long long)s->batch, (long long)s->m, (long long)s->n,
             (long long)s->k, s->b, s->tail, worst, (long long)at, d[at]);
  kj_free(&k);
  mlirContextDestroy(ctx);
  unit_end(u);
}

/// Every shape for this machine, and in turns for narrower ones.
static void check_all(const shape *s, unsigned n) {
  static const char *const narrower[] = {"x86-64-v3", "x86-64-v2"};
  static unsigned turn;
  fe_target native, other;
  const fe_target *t = fe_target_find("native", &native);
  for (unsigned i = 0; i < n; ++i) {
    check(t, &s[i]);
    const fe_target *u = fe_target_find(narrower[turn++ % 2], &other);
    if (t->vector_bits > u->vector_bits)
      check(u, &s[i]);
  }
}

static void constant_b(void **state) {
  (void)state;
  static const shape s[] = {
      {1, 1, 1, 1, PANELS, .shared_b = true},
      {1, 17, 100, 33, PANELS, .shared_b = true, .tail = BIAS_RELU},
      {2, 13, 50, 20, PANELS, .shared_b = true, .tail = RESIDUAL},
      {1, 9, 49, 16, PANELS, .shared_b = true, .tail = TANH},
      {1, 1, 300, 64, PANELS, .shared_b = true, .tail = TANH},
      {3, 5, 31, 7, PANELS, .trans_a = true, .shared_b = true},
      {3, 5, 31, 7, PANELS, .tail = PLAIN},
      {1, 10, 50, 5000, PANELS, .shared_b = true, .tail = BIAS_RELU},
      // Blocks of K, of several panels in turns, and of rows.
      {1, 10, 500, 9000, PANELS, .shared_b = true, .tail = RESIDUAL},
      {1, 140, 250, 3001, PANELS, .shared_b = true, .tail = TANH},
      {1, 300, 70, 3001, PANELS, .shared_b = true, .tail = BIAS_RELU},
      {2, 70, 130, 2500, PANELS, .tail = PLAIN},
  };
  check_all(s, FE_COUNT(s));
}

static void constant_b_dynamic(void **state) {
  (void)state;
  static const int64_t rows[] = {1, 2, 3, 5, 7, 8, 11, 13, 140};
  for (unsigned i = 0; i < FE_COUNT(rows); ++i) {
    shape s = {
        1, rows[i], 250, 40, PANELS, .shared_b = true, .dynamic_m = true};
    s.tail = i % 2 ? RESIDUAL : TANH;
    check_all(&s, 1);
  }
  static const int64_t deep[] = {1, 9, 140};
  for (unsigned i = 0; i < FE_COUNT(deep); ++i) {
    shape s = {
        1, deep[i], 250, 3001, PANELS, .shared_b = true, .dynamic_m = true};
    s.tail = i % 2 ? RESIDUAL : TANH;
    check_all(&s, 1);
  }
  shape batch = {3, 5, 60, 40, PANELS, .shared_b = true, .dynamic_batch = true};
  check_all(&batch, 1);
  shape both = {3,
                5,
                60,
                40,
                PANELS,
                .shared_b = true,
                .dynamic_batch = true,
                .dynamic_m = true,
                .tail = BIAS_RELU};
  check_all(&both, 1);
}

static void run_time_b(void **state) {
  (void)state;
  static const shape s[] = {
      {2, 3, 70, 19, ROWS, .tail = PLAIN},
      {2, 40, 70, 19, ROWS, .tail = RESIDUAL},
      {2, 40, 70, 37, COLUMNS, .tail = PLAIN},
      {2, 3, 48, 32, COLUMNS, .trans_a = true},
      {1, 40, 53, 1100, ROWS, .tail = BIAS_RELU},
      {1, 21, 53, 1100, COLUMNS, .tail = TANH},
      {2, 40, 70, 19, ROWS, .dynamic_m = true, .dynamic_n = true,
       .dynamic_k = true, .dynamic_batch = true},
      {2, 5, 20, 1030, COLUMNS, .dynamic_m = true, .dynamic_n = true,
       .dynamic_k = true, .dynamic_batch = true, .tail = RESIDUAL},
      {2, 29, 96, 70, COLUMNS, .dynamic_m = true, .dynamic_n = true,
       .tail = TANH},
      {2, 29, 96, 70, ROWS, .shared_b = true, .dynamic_m = true, .tail = TANH},
  };
  check_all(s, FE_COUNT(s));
}

static void empty(void **state) {
  (void)state;
  static const shape s[] = {
      {1, 0, 20, 20, ROWS, .dynamic_m = true},
      {1, 20, 0, 20, ROWS, .dynamic_n = true},
      {1, 0, 20, 20, COLUMNS, .trans_a = true, .tail = PLAIN},
      {0, 20, 20, 20, ROWS, .dynamic_batch = true},
      {1, 20, 50, 0, ROWS, .tail = BIAS_RELU},
      {1, 3, 50, 0, ROWS, .dynamic_k = true, .tail = TANH},
      {1, 20, 50, 0, COLUMNS, .dynamic_k = true, .dynamic_m = true},
  };
  check_all(s, FE_COUNT(s));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constant_b),
      cmocka_unit_test(constant_b_dynamic),
      cmocka_unit_test(run_time_b),
      cmocka_unit_test(empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
