//===- attention.c - speed of generated attention ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: bench_attention [SEQUENCE [HEADS DEPTH [TARGET [dynamic]]]]
// One layer, [1][sequence][heads][depth], a mask over keys; best of many runs
// on one core, against the multiplications of the two matrix products.
//
//===----------------------------------------------------------------------===//
#include "kernel_bench.h"

static void run(int64_t s, int64_t h, int64_t d, const char *target,
                bool dynamic) {
  kb_context context;
  kb_begin(&context);
  fe_arena *arena = context.arena;
  fe_target storage;
  kernel_jit j = {.asm_path = "/tmp/attention.s"};
  const char *seq = dynamic ? "?" : fe_printf(arena, "%lld", (long long)s);
  const char *x = fe_printf(arena, "tensor<1x%sx%lldx%lldxf32>", seq,
                            (long long)h, (long long)d);
  const char *m = fe_printf(arena, "tensor<1x1x1x%sxf32>", seq);
  const char *text = fe_printf(
      arena,
      "func.func private @k(%%q: %s, %%k: %s, %%v: %s, %%m: %s, %%d: %s) -> %s "
      "attributes {krnl.kernel, krnl.root = \"attention_masked\"} {\n%%0 = "
      "\"krnl.attention_masked\"(%%q, %%k, %%v, %%m, %%d) {scale = 0.125 : "
      "f32, causal = 0 : i64, layouts = [\"bshd\", \"bshd\", \"bshd\", "
      "\"bshd\"], pick = array<i64: 0, 0, 0>} : (%s, %s, %s, %s, %s) -> %s\n"
      "return %%0 : %s\n}\n",
      x, x, x, m, x, x, x, x, x, m, x, x, x);
  if (!kj_compile(&j, &context.ir, fe_target_find(target, &storage), text, "k"))
    exit(1);
  int64_t n = s * h * d, dims[] = {1, s, h, d}, dm[] = {1, 1, 1, s};
  float *data[4];
  for (int i = 0; i < 4; ++i) {
    data[i] = aligned_alloc(4096, (size_t)(n + 4096) * 4);
    for (int64_t p = 0; p < n; ++p)
      data[i][p] = (float)((p * (7 + i)) % 13 - 6) / 6;
  }
  float *mask = calloc((size_t)s + 64, 4);
  kj_array a[5] = {kj_make(data[0], 4, dims), kj_make(data[1], 4, dims),
                   kj_make(data[2], 4, dims), kj_make(mask, 4, dm),
                   kj_make(data[3], 4, dims)};
  kj_array *args[] = {&a[0], &a[1], &a[2], &a[3], &a[4]};
  int64_t block = dynamic || s > 256 ? 256 : s;
  int64_t items = h * ((s + block - 1) / block);
  double best = kb_best(&j, items, 5, args);
  printf("S %5lld H %lld D %lld %-10s %-8s %9.1f us %6.1f GFLOP/s\n",
         (long long)s, (long long)h, (long long)d, target,
         dynamic ? "dynamic" : "static", best * 1e6,
         4.0 * (double)(s * s * h * d) / best / 1e9);
  kj_free(&j);
  for (int i = 0; i < 4; ++i)
    free(data[i]);
  free(mask);
  kb_end(&context);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    run(atol(argv[1]), argc > 3 ? atol(argv[2]) : 12,
        argc > 3 ? atol(argv[3]) : 64, argc > 4 ? argv[4] : "native", argc > 5);
    return 0;
  }
  static const int64_t sizes[] = {64, 128, 197, 384, 512, 1024};
  for (unsigned i = 0; i < FE_COUNT(sizes); ++i) {
    run(sizes[i], 12, 64, "native", false);
    run(sizes[i], 12, 64, "native", true);
  }
  run(384, 12, 64, "x86-64-v3", false);
  return 0;
}
