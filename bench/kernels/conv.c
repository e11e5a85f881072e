//===- conv.c - speed of generated convolutions -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: bench_conv [C K H W R S STRIDE PAD [TARGET]]
// Without arguments: the convolutions of some networks. Prints the best of many
// runs on one core against the measured rate of independent fused
// multiply-adds, the error of some elements against sums in double, and how
// often loops around multiplications touch the stack (registers spilled). Work
// that meets the padding counts, though it is not done: more than 100 % occurs.
//
//===----------------------------------------------------------------------===//
#include "kernel/conv.h"
#include "kernel_bench.h"
#include "unit/kernel_jit.h"

#include <math.h>
#include <unistd.h>

#define LAYER(c_, k_, h_, w_, kernel_, stride_, pad_)                          \
  .c = c_, .k = k_, .h = h_, .w = w_, .kernel = {kernel_, kernel_},            \
  .stride = stride_, .pad = pad_
typedef struct layer {
  int64_t c, k, h, w, kernel[2], stride, pad;
  bool plain, residual, dynamic;
} layer;

static float *numbers(int64_t n, int seed) {
  float *x = aligned_alloc(4096, ((size_t)n * 4 + 8191) / 4096 * 4096);
  for (int64_t i = 0; i < n; ++i)
    x[i] = (float)((i * 7 + seed) % 1013 - 506) / 506;
  return x;
}

static const char *type(fe_arena *a, bool dynamic, int64_t c, int64_t h,
                        int64_t w, int64_t lanes) {
  const char *last = lanes ? fe_printf(a, "%lldx", (long long)lanes) : "";
  return dynamic ? fe_printf(a, "tensor<?x%lldx?x?x%sf32>", (long long)c, last)
                 : fe_printf(a, "tensor<1x%lldx%lldx%lldx%sf32>", (long long)c,
                             (long long)h, (long long)w, last);
}

static const char *text_of(fe_arena *a, const layer *l, int64_t lanes,
                           int64_t blocks, int64_t oh, int64_t ow,
                           int64_t panel, int64_t n_weights) {
#define MAP "affine_map<(d0,d1,d2,d3,d4) -> (d0,d1,d2,d3,d4)>"
  const char *ti =
      type(a, l->dynamic, l->plain ? l->c : (l->c + lanes - 1) / lanes, l->h,
           l->w, l->plain ? 0 : lanes);
  const char *td = type(a, l->dynamic, blocks, oh, ow, lanes);
  fe_buf t = {0};
  fe_buf_printf(
      a, &t,
      "func.func private @k(%%i: %s, %%w: tensor<%lldxf32>, %%b: "
      "tensor<%lldx%lldxf32>, %%r: %s, %%d: %s) -> %s attributes "
      "{krnl.kernel, krnl.root = \"conv\"} {\n"
      "%%z = arith.constant 0.0 : f32\n"
      "%%0 = \"krnl.conv\"(%%i, %%w, %%b, %%d) {kernel = array<i64: %lld, "
      "%lld>, strides = array<i64: %lld, %lld>, dilations = array<i64: 1, 1>, "
      "pads = array<i64: %lld, %lld, %lld, %lld>, channels = %lld : i64, "
      "groups = 1 : i64, panel = %lld : i64} : (%s, tensor<%lldxf32>, "
      "tensor<%lldx%lldxf32>, %s) -> %s\n",
      ti, (long long)n_weights, (long long)blocks, (long long)lanes, td, td, td,
      (long long)l->kernel[0], (long long)l->kernel[1], (long long)l->stride,
      (long long)l->stride, (long long)l->pad, (long long)l->pad,
      (long long)l->pad, (long long)l->pad, (long long)l->c, (long long)panel,
      ti, (long long)n_weights, (long long)blocks, (long long)lanes, td, td);
  fe_buf_printf(
      a, &t,
      "%%1 = linalg.generic {indexing_maps = [" MAP ", " MAP ", " MAP
      "], iterator_types = [\"parallel\", \"parallel\", \"parallel\", "
      "\"parallel\", \"parallel\"]} ins(%%0, %%r : %s, %s) outs(%%d : %s) {\n"
      "^bb0(%%x: f32, %%y: f32, %%o: f32):\n"
      "%%s = arith.addf %%x, %s : f32\n"
      "%%c = arith.cmpf ogt, %%z, %%s : f32\n"
      "%%m = arith.select %%c, %%z, %%s : f32\n"
      "linalg.yield %%m : f32\n} -> %s\nreturn %%1 : %s\n}\n",
      td, td, td, l->residual ? "%y" : "%z", td, td);
#undef MAP
  return t.at;
}

/// Instructions that use the stack in innermost loops with multiplications.
static int spills(const char *path) {
  FILE *f = fopen(path, "r");
  if (!f)
    return -1;
  char line[512];
  int stack = 0, products = 0, total = 0;
  while (fgets(line, sizeof line, f)) {
    if (line[0] == '.') {
      stack = products = 0; // a label: a block begins
    } else if (strstr(line, "\tj")) {
      total += products ? stack : 0;
      stack = products = 0;
    } else {
      stack += strstr(line, "(%rsp)") && strstr(line, "mm");
      products += strstr(line, "vfmadd") != NULL;
    }
  }
  fclose(f);
  return total;
}

static void run(double roof, const layer *l, const char *target) {
  kb_context context;
  kb_begin(&context);
  fe_arena *arena = context.arena;
  fe_target storage;
  const fe_target *t = fe_target_find(target, &storage);
  int64_t lanes = fe_conv_block(t), in_blocks = (l->c + lanes - 1) / lanes;
  int64_t blocks = (l->k + lanes - 1) / lanes;
  int64_t oh = (l->h + 2 * l->pad - l->kernel[0]) / l->stride + 1;
  int64_t ow = (l->w + 2 * l->pad - l->kernel[1]) / l->stride + 1;
  int64_t taps = l->kernel[0] * l->kernel[1], n_weights, n_bias;
  fe_conv_shape s = {
      .out_channels = l->k,
      .channels = l->c,
      .groups = 1,
      .kernel = {l->kernel[0], l->kernel[1]},
      .stride = {l->stride, l->stride},
      .out = {l->dynamic ? FE_DYN : oh, l->dynamic ? FE_DYN : ow},
      .plain = l->plain};
  int64_t panel = fe_conv_choose_panel(t, &s);
  float *plain = numbers(l->k * l->c * taps, 3), *b = numbers(l->k, 5);
  float *in = numbers((l->plain ? l->c : in_blocks * lanes) * l->h * l->w, 1);
  float *r = numbers(blocks * lanes * oh * ow, 7);
  float *d = numbers(blocks * lanes * oh * ow, 0);
  fe_conv_packing how = {(unsigned)lanes, panel, s, plain};
  n_weights = fe_conv_packed_count(&how);
  fe_blob packed = {.size = (size_t)n_weights * sizeof *plain,
                    .parts = fe_conv_packed_parts(&how),
                    .fill = fe_conv_pack_weights,
                    .recipe = &how};
  float *w = aligned_alloc(4096, (packed.size + 8191) / 4096 * 4096);
  fe_blob_put(&packed, w);
  float *bias =
      fe_conv_pack_channels(arena, (unsigned)lanes, l->k, 1, b, &n_bias);
  const char *assembly = "/tmp/bench_conv.s";
  kernel_jit j = {.asm_path = assembly};
  if (!kj_compile(&j, &context.ir, t,
                  text_of(arena, l, lanes, blocks, oh, ow, panel, n_weights),
                  "k"))
    exit(1);
  int64_t di[] = {1, l->plain ? l->c : in_blocks, l->h, l->w, lanes};
  int64_t db[] = {blocks, lanes}, dd[] = {1, blocks, oh, ow, lanes};
  unsigned ranks[] = {l->plain ? 4 : 5, 1, 2, 5, 5};
  kj_array xi = kj_make(in, ranks[0], di), xw = kj_make(w, 1, &n_weights);
  kj_array xb = kj_make(bias, 2, db), xr = kj_make(r, 5, dd);
  kj_array xd = kj_make(d, 5, dd), *args[] = {&xi, &xw, &xb, &xr, &xd};
  int64_t items = kj_items(&j, 5, args, ranks);
  double best = kb_best(&j, items, 5, args);
  double worst = 0;
  for (int64_t i = 0; i < 300; ++i) {
    int64_t k = i * 7919 % l->k, y = i * 31 % oh, x = i * 17 % ow;
    double sum = b[k];
    for (int64_t c = 0; c < l->c; ++c)
      for (int64_t q = 0; q < taps; ++q) {
        int64_t iy = y * l->stride + q / l->kernel[1] - l->pad;
        int64_t ix = x * l->stride + q % l->kernel[1] - l->pad;
        if (iy < 0 || ix < 0 || iy >= l->h || ix >= l->w)
          continue;
        int64_t at =
            (c / lanes * l->h + iy) * l->w * lanes + ix * lanes + c % lanes;
        if (l->plain)
          at = (c * l->h + iy) * l->w + ix;
        sum += (double)in[at] * plain[(k * l->c + c) * taps + q];
      }
    int64_t at = ((k / lanes * oh + y) * ow + x) * lanes + k % lanes;
    sum += l->residual ? r[at] : 0;
    double e = fabs((sum < 0 ? 0 : sum) - d[at]);
    worst = e > worst ? e : worst;
  }
  double rate = 2.0 * (double)(l->k * l->c * taps * oh * ow) / best / 1e9;
  printf(
      "%4lld -> %4lld %3lldx%-3lld kernel %lldx%lld stride %lld %s%s%s panel "
      "%lld %9.1f us %6.1f GFLOP/s %5.1f%%  error %.0e  spills %d\n",
      (long long)l->c, (long long)l->k, (long long)l->h, (long long)l->w,
      (long long)l->kernel[0], (long long)l->kernel[1], (long long)l->stride,
      l->residual ? "residual" : "        ", l->plain ? " plain" : "",
      l->dynamic ? " dynamic" : "", (long long)panel, best * 1e6, rate,
      100 * rate / roof, worst, spills(assembly));
  fflush(stdout);
  kj_free(&j);
  unlink(assembly);
  free(plain), free(b), free(in), free(r), free(d), free(w);
  kb_end(&context);
}

int main(int argc, char **argv) {
  double roof = kb_peak();
  printf("%.1f GFLOP/s of fused multiply-adds\n", roof);
  if (argc > 8) {
    int64_t v[8];
    for (int i = 0; i < 8; ++i)
      v[i] = atol(argv[1 + i]);
    layer l = {LAYER(v[0], v[1], v[2], v[3], v[4], v[6], v[7])};
    l.kernel[1] = v[5];
    run(roof, &l, argc > 9 ? argv[9] : "native");
    return 0;
  }
  static const layer layers[] = {
      {LAYER(64, 64, 56, 56, 3, 1, 1)},
      {LAYER(128, 128, 28, 28, 3, 1, 1)},
      {LAYER(256, 256, 14, 14, 3, 1, 1)},
      {LAYER(512, 512, 7, 7, 3, 1, 1)},
      {LAYER(128, 128, 56, 56, 3, 2, 1)},
      {LAYER(512, 512, 14, 14, 3, 2, 1)},
      {LAYER(64, 256, 56, 56, 1, 1, 0), .residual = true},
      {LAYER(256, 64, 56, 56, 1, 1, 0)},
      {LAYER(256, 1024, 14, 14, 1, 1, 0), .residual = true},
      {LAYER(2048, 512, 7, 7, 1, 1, 0)},
      {LAYER(1024, 2048, 14, 14, 1, 2, 0)},
      {LAYER(3, 64, 224, 224, 7, 2, 3), .plain = true},
      {LAYER(3, 32, 224, 224, 3, 2, 1), .plain = true},
      {LAYER(128, 32, 56, 56, 3, 1, 1)},
      {LAYER(16, 64, 55, 55, 3, 1, 1)},
      {LAYER(48, 192, 13, 13, 3, 1, 1)},
      {LAYER(24, 144, 56, 56, 1, 1, 0)},
      {LAYER(512, 1000, 13, 13, 1, 1, 0)},
      {LAYER(64, 64, 56, 56, 3, 1, 1), .dynamic = true},
      {LAYER(128, 128, 56, 56, 3, 2, 1), .dynamic = true},
      {LAYER(64, 256, 56, 56, 1, 1, 0), .residual = true, .dynamic = true},
  };
  for (unsigned i = 0; i < FE_COUNT(layers); ++i)
    run(roof, &layers[i], "native");
  return 0;
}
