//===- memory.c - speed of generated row and transpose kernels ---*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the best of many runs on one core, and bytes read and written per
// second.
//
//===----------------------------------------------------------------------===//
#include "kernel_bench.h"

static void run(const char *name, const char *text, unsigned rank,
                const int64_t *in, const int64_t *out) {
  kb_context context;
  kb_begin(&context);
  fe_target storage;
  kernel_jit j = {.asm_path = "/tmp/memory.s"};
  if (!kj_compile(&j, &context.ir, fe_target_find("native", &storage), text,
                  "k"))
    exit(1);
  int64_t n = 1;
  for (unsigned i = 0; i < rank; ++i)
    n *= in[i];
  float *x = aligned_alloc(4096, (size_t)(n + 4096) * 4);
  float *y = aligned_alloc(4096, (size_t)(n + 4096) * 4);
  for (int64_t i = 0; i < n; ++i)
    x[i] = (float)((i * 7) % 13 - 6) / 2;
  kj_array ax = kj_make(x, rank, in), ay = kj_make(y, rank, out);
  kj_array ap = kj_make(x, 1, &in[rank - 1]);
  kj_array *args[] = {&ax, &ap, &ap, &ay};
  double best = kb_best(&j, j.items, 4, args);
  printf("%-34s %8.1f us %6.1f GB/s\n", name, best * 1e6,
         8.0 * (double)n / best / 1e9);
  kj_free(&j);
  free(x), free(y);
  kb_end(&context);
}

static void row(const char *kind, int64_t rows, int64_t size) {
  char text[2048], name[64];
  long long r = rows, s = size;
  unsigned n = kind[0] == 'l' ? 2 : 0;
  const char *types[] = {"", "", ", tensor<%lldxf32>, tensor<%lldxf32>"};
  char params[128] = "";
  if (n)
    snprintf(params, sizeof params, types[n], s, s);
  snprintf(name, sizeof name, "%s %lldx%lld", kind, r, s);
  snprintf(text, sizeof text,
           "func.func private @k(%%x: tensor<%lldx%lldxf32>, %%p: "
           "tensor<%lldxf32>, %%q: tensor<%lldxf32>, %%d: "
           "tensor<%lldx%lldxf32>) -> tensor<%lldx%lldxf32> attributes "
           "{krnl.kernel, krnl.root = \"row\"} {\n%%0 = \"krnl.row\"(%%x%s, "
           "%%d) {kind = \"%s\", axis = 1 : i64, epsilon = 1.0e-5 : f32} : "
           "(tensor<%lldx%lldxf32>%s, tensor<%lldx%lldxf32>) -> "
           "tensor<%lldx%lldxf32>\nreturn %%0 : tensor<%lldx%lldxf32>\n}\n",
           r, s, s, s, r, s, r, s, n ? ", %p, %q" : "", kind, r, s, params, r,
           s, r, s, r, s);
  run(name, text, 2, (int64_t[]){r, s}, (int64_t[]){r, s});
}

static void transpose(unsigned rank, const int64_t *dims,
                      const int64_t *permutation) {
  char text[2048], name[96] = "transpose", a[96] = "", b[96] = "", p[64] = "";
  int64_t out[8];
  size_t na = 0, nb = 0, np = 0, nn = strlen(name);
  for (unsigned i = 0; i < rank; ++i) {
    out[i] = dims[permutation[i]];
    na += (size_t)snprintf(a + na, sizeof a - na, "%lldx", (long long)dims[i]);
    nb += (size_t)snprintf(b + nb, sizeof b - nb, "%lldx", (long long)out[i]);
    np += (size_t)snprintf(p + np, sizeof p - np, "%s%lld", i ? ", " : "",
                           (long long)permutation[i]);
    nn += (size_t)snprintf(name + nn, sizeof name - nn, " %lld",
                           (long long)dims[i]);
  }
  snprintf(name + nn, sizeof name - nn, " (%s)", p);
  snprintf(text, sizeof text,
           "func.func private @k(%%x: tensor<%sf32>, %%p: tensor<%lldxf32>, "
           "%%q: tensor<%lldxf32>, %%d: tensor<%sf32>) -> tensor<%sf32> "
           "attributes {krnl.kernel, krnl.root = \"transpose\"} {\n%%0 = "
           "\"krnl.transpose\"(%%x, %%d) {permutation = array<i64: %s>} : "
           "(tensor<%sf32>, tensor<%sf32>) -> tensor<%sf32>\nreturn %%0 : "
           "tensor<%sf32>\n}\n",
           a, (long long)dims[rank - 1], (long long)dims[rank - 1], b, b, p, a,
           b, b, b);
  run(name, text, rank, dims, out);
}

int main(void) {
  row("softmax", 12 * 128, 128);
  row("softmax", 12 * 384, 384);
  row("softmax", 64, 1000);
  row("log_softmax", 64, 1000);
  row("layer_norm", 128, 768);
  row("rms_norm", 128, 768);
  transpose(2, (int64_t[]){128, 768}, (int64_t[]){1, 0});
  transpose(2, (int64_t[]){768, 768}, (int64_t[]){1, 0});
  transpose(2, (int64_t[]){1024, 1024}, (int64_t[]){1, 0});
  transpose(3, (int64_t[]){128, 12, 64}, (int64_t[]){1, 0, 2});
  transpose(3, (int64_t[]){128, 12, 64}, (int64_t[]){1, 2, 0});
  transpose(3, (int64_t[]){3, 224, 224}, (int64_t[]){1, 2, 0});
  transpose(3, (int64_t[]){224, 224, 3}, (int64_t[]){2, 0, 1});
  return 0;
}
