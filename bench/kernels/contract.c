//===- contract.c - speed of generated matrix products -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: bench_contract [M N K FORM [TAIL [TARGET]]]
//   FORM: rows columns panels, d before it: dynamic M ("dpanels")
//   TAIL: none bias gelu
// Without arguments: a table of common sizes. Prints the best of many runs on
// one core against the measured rate of independent fused multiply-adds.
//
//===----------------------------------------------------------------------===//
#include "kernel_bench.h"
#include "unit/kernel_jit.h"

#include <math.h>

static const char *text_of(fe_arena *a, int64_t m, int64_t n, int64_t k,
                           int64_t width, const char *form, const char *tail) {
  bool dynamic = form[0] == 'd';
  form += dynamic;
  const char *rows = dynamic ? "?" : fe_printf(a, "%lld", (long long)m);
  const char *ta = fe_printf(a, "tensor<%sx%lldxf32>", rows, (long long)k);
  const char *td = fe_printf(a, "tensor<%sx%lldxf32>", rows, (long long)n);
  const char *tn = fe_printf(a, "tensor<%lldxf32>", (long long)n);
  int64_t panels = (n + width - 1) / width;
  const char *tb =
      *form == 'p'
          ? fe_printf(a, "tensor<%lldx%lldx%lldxf32>", (long long)panels,
                      (long long)k, (long long)width)
      : *form == 'r'
          ? fe_printf(a, "tensor<%lldx%lldxf32>", (long long)k, (long long)n)
          : fe_printf(a, "tensor<%lldx%lldxf32>", (long long)n, (long long)k);
  fe_buf t = {0};
  fe_buf_printf(
      a, &t,
      "func.func private @k(%%a: %s, %%b: %s, %%c: %s, %%d: %s) -> %s "
      "attributes {krnl.kernel, krnl.root = \"contract\"} {\n"
      "%%h = arith.constant 0.5 : f32\n%%o = arith.constant 1.0 : f32\n"
      "%%q = arith.constant 0.70710678 : f32\n"
      "%%0 = \"krnl.contract\"(%%a, %%b, %%d) {trans_a = 0 : i64, b = \"%s\"} "
      ": (%s, %s, %s) -> %s\n",
      ta, tb, tn, td, td, form, ta, tb, td, td);
  if (strcmp(tail, "none")) {
    fe_buf_printf(
        a, &t,
        "%%1 = linalg.generic {indexing_maps = [affine_map<(d0,d1) -> "
        "(d0,d1)>, affine_map<(d0,d1) -> (d1)>, affine_map<(d0,d1) -> "
        "(d0,d1)>], iterator_types = [\"parallel\", \"parallel\"]} ins(%%0, "
        "%%c : %s, %s) outs(%%d : %s) {\n^bb0(%%x: f32, %%y: f32, %%z: f32):\n"
        "%%s = arith.addf %%x, %%y : f32\n",
        td, tn, td);
    if (!strcmp(tail, "gelu"))
      fe_buf_printf(a, &t,
                    "%%u = arith.mulf %%s, %%q : f32\n"
                    "%%v = math.erf %%u : f32\n"
                    "%%w = arith.addf %%v, %%o : f32\n"
                    "%%p = arith.mulf %%s, %%h : f32\n"
                    "%%r = arith.mulf %%p, %%w : f32\n"
                    "linalg.yield %%r : f32\n");
    else
      fe_buf_printf(a, &t, "linalg.yield %%s : f32\n");
    fe_buf_printf(a, &t, "} -> %s\nreturn %%1 : %s\n}\n", td, td);
  } else {
    fe_buf_printf(a, &t, "return %%0 : %s\n}\n", td);
  }
  return t.at;
}

static void run(double roof, int64_t m, int64_t n, int64_t k, const char *form,
                const char *tail, const char *target, bool assembly) {
  kb_context context;
  kb_begin(&context);
  fe_arena *arena = context.arena;
  fe_target storage;
  const fe_target *t = fe_target_find(target, &storage);
  int64_t width = fe_contract_panel(t, 32, n), panels = (n + width - 1) / width;
  float *a = aligned_alloc(4096, (size_t)(m * k + 4096) * 4);
  float *b = aligned_alloc(4096, (size_t)(n * k + 4096) * 4);
  float *d = aligned_alloc(4096, (size_t)(m * n + 4096) * 4);
  float *c = calloc((size_t)n + 64, 4);
  for (int64_t i = 0; i < m * k; ++i)
    a[i] = (float)((i * 7) % 13 - 6) / 13;
  for (int64_t i = 0; i < n * k; ++i)
    b[i] = (float)((i * 5) % 17 - 8) / 17;
  bool dynamic = form[0] == 'd';
  char f = form[dynamic];
  void *pb = b;
  if (f == 'p') {
    fe_blob *blob = fe_blob_add(context.ir.blobs, "b", b,
                                (size_t)(n * k) * sizeof *b, NULL, 0);
    blob = fe_contract_pack(&context.ir, t, 32, blob, 1, k, n, false);
    pb = aligned_alloc(4096, (blob->size + 4095) / 4096 * 4096);
    fe_blob_put(blob, pb);
  }
  kernel_jit j = {.asm_path = assembly ? "/tmp/contract.s" : NULL};
  if (!kj_compile(&j, &context.ir, t,
                  text_of(arena, m, n, k, width, form, tail), "k"))
    exit(1);
  int64_t da[] = {m, k}, dd[] = {m, n};
  kj_array xa = kj_make(a, 2, da), xc = kj_make(c, 1, &n),
           xd = kj_make(d, 2, dd);
  int64_t db[3] = {panels, k, width};
  if (f != 'p') {
    db[0] = f == 'r' ? k : n;
    db[1] = f == 'r' ? n : k;
  }
  kj_array xb = kj_make(pb, f == 'p' ? 3 : 2, db);
  kj_array *args[] = {&xa, &xb, &xc, &xd};
  fe_contract_plan p =
      fe_contract_choose(t, 32, dynamic ? FE_DYN : m, n, k, f == 'p', f == 'c');
  int64_t items = panels * ((m + p.row_block - 1) / p.row_block);
  double best = kb_best(&j, items, 4, args);
  double worst = 0;
  for (int s = 0; s < 200; ++s) {
    int64_t y = (s * 7919) % m, x = (s * 104729) % n;
    double sum = 0;
    for (int64_t i = 0; i < k; ++i)
      sum += (double)a[y * k + i] * (f == 'c' ? b[x * k + i] : b[i * n + x]);
    if (!strcmp(tail, "gelu"))
      sum = sum / 2 * (1 + erf(sum * 0.70710678));
    double e = fabs(sum - d[y * n + x]);
    worst = e > worst ? e : worst;
  }
  double rate = 2.0 * m * n * k / best / 1e9;
  printf("%5lld %5lld %5lld %-8s %-5s %-10s %9.1f us %6.1f GFLOP/s %5.1f%% "
         "error %.1e; %s\n",
         (long long)m, (long long)n, (long long)k, form, tail, t->name,
         best * 1e6, rate, 100 * rate / roof, worst,
         fe_contract_explain(arena, &p));
  fflush(stdout);
  kj_free(&j);
  free(a), free(b), free(c), free(d);
  if (pb != b)
    free(pb);
  kb_end(&context);
}

int main(int argc, char **argv) {
  double roof = kb_peak();
  printf("%.1f GFLOP/s of fused multiply-adds\n", roof);
  if (argc > 4) {
    run(roof, atol(argv[1]), atol(argv[2]), atol(argv[3]), argv[4],
        argc > 5 ? argv[5] : "none", argc > 6 ? argv[6] : "native", true);
    return 0;
  }
  static const struct {
    int64_t m, n, k;
    const char *form, *tail;
  } cases[] = {{1024, 1024, 1024, "panels", "none"},
               {1024, 1024, 1024, "rows", "none"},
               {1024, 1024, 1024, "columns", "none"},
               {1024, 1024, 1024, "dpanels", "none"},
               {128, 768, 768, "panels", "bias"},
               {128, 768, 768, "dpanels", "bias"},
               {128, 3072, 768, "panels", "gelu"},
               {128, 768, 3072, "panels", "bias"},
               {384, 768, 3072, "panels", "bias"},
               {1, 3072, 768, "panels", "bias"},
               {1, 3072, 768, "dpanels", "bias"},
               {4, 3072, 768, "panels", "bias"},
               {8, 3072, 768, "panels", "bias"},
               {9, 3072, 768, "panels", "bias"},
               {16, 3072, 768, "dpanels", "bias"},
               {100, 100, 100, "panels", "none"},
               {197, 197, 64, "columns", "none"},
               {197, 64, 197, "rows", "none"},
               {129, 513, 1000, "panels", "none"},
               {512, 1024, 12288, "panels", "none"},
               {4096, 32, 64, "panels", "none"}};
  for (unsigned i = 0; i < FE_COUNT(cases); ++i)
    run(roof, cases[i].m, cases[i].n, cases[i].k, cases[i].form, cases[i].tail,
        "native", false);
  return 0;
}
