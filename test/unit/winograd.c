//===- winograd.c - tests of minimal filtering --------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transforms of weights and input and the products, each a kernel of its
// own, one after the other (or the latter two in one), for sizes that the tiles
// do not divide; compared with sums in double over plain images.
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "images.h"
#include "kernel/conv.h"

typedef struct image_case {
  int64_t tile, block, n, c, k, h, w, pad;
  bool fused, math; // math: an epilogue that needs the loop
  bool dynamic;     // sizes
} image_case;

/// Compiles @k of `text` and runs all items, in two parts.
static void run(unit *u, fe_ir *ir, const fe_target *t, const char *text,
                unsigned n, kj_array *const *args, const unsigned *ranks) {
  kernel_jit k = {0};
  if (!kj_compile(&k, ir, t, text, "k"))
    fail_msg("%s\n%s", u->messages->at, text);
  int64_t items = kj_items(&k, n, args, ranks);
  kj_run(&k, items / 3, items, n, args);
  kj_run(&k, 0, items / 3, n, args);
  kj_free(&k);
}

static const char *product_text(fe_arena *a, const image_case *s,
                                const char *ti, int64_t n_weights,
                                const char *tb, const char *td, int64_t panel) {
  fe_buf b = {0};
  fe_buf_printf(
      a, &b,
      "func.func private @k(%%i: %s, %%w: tensor<%lldxf32>, %%b: %s, %%d: %s) "
      "-> %s attributes {krnl.kernel, krnl.root = \"winograd\"} {\n"
      "%%0 = \"krnl.winograd\"(%%i, %%w, %%b, %%d) {tile = %lld : i64, block = "
      "%lld : i64, channels = %lld : i64, panel = %lld : i64, pads = "
      "array<i64: %lld, %lld, %lld, %lld>} : (%s, tensor<%lldxf32>, %s, %s) -> "
      "%s\n"
      "%%1 = linalg.generic {indexing_maps = [" IMAGE_MAP ", " IMAGE_MAP
      "], iterator_types = [\"parallel\", \"parallel\", \"parallel\", "
      "\"parallel\", \"parallel\"]} ins(%%0 : %s) outs(%%d : %s) {\n"
      "^bb0(%%x: f32, %%o: f32):\n%%m = %s %%x : f32\n"
      "linalg.yield %%m : f32\n} -> %s\nreturn %%1 : %s\n}\n",
      ti, (long long)n_weights, tb, td, td, (long long)s->tile,
      (long long)s->block, (long long)s->c, (long long)panel, (long long)s->pad,
      (long long)s->pad, (long long)s->pad, (long long)s->pad, ti,
      (long long)n_weights, tb, td, td, td, td,
      s->math ? "math.tanh" : "arith.negf", td, td);
  return b.at;
}

static double expected(const image_case *s, const float *in, const float *w,
                       const float *bias, int64_t n, int64_t k, int64_t y,
                       int64_t x) {
  double sum = bias[k];
  for (int64_t c = 0; c < s->c; ++c)
    for (int64_t r = 0; r < 3; ++r)
      for (int64_t q = 0; q < 3; ++q) {
        int64_t iy = y + r - s->pad, ix = x + q - s->pad;
        if (iy >= 0 && ix >= 0 && iy < s->h && ix < s->w)
          sum += (double)in[((n * s->c + c) * s->h + iy) * s->w + ix] *
                 w[((k * s->c + c) * 3 + r) * 3 + q];
      }
  return s->math ? tanh(sum) : -sum;
}

/// The compiler's own transform of weights, in double, beside the kernel's.
static void check_stored(const fe_winograd_packing *how, const float *kernels) {
  int64_t n = fe_winograd_packed_count(how);
  size_t size = (size_t)n * sizeof(float);
  float *stored = calloc((size_t)n, sizeof *stored);
  if (!stored)
    return;
  fe_blob_put(&(fe_blob){.size = size,
                         .parts = fe_winograd_packed_parts(how),
                         .fill = fe_winograd_pack_weights,
                         .recipe = how},
              stored);
  for (int64_t i = 0; i < n; ++i)
    if (!(fabsf(stored[i] - kernels[i]) < 2e-6f)) // weights are below 1
      fail_msg("tile %lld, %lld to %lld channels: weight %lld is %g, not %g",
               (long long)how->tile, (long long)how->conv.shape.channels,
               (long long)how->conv.shape.out_channels, (long long)i, stored[i],
               kernels[i]);
  free(stored);
}

static void check(const fe_target *t, const image_case *s) {
  unit *u = unit_begin();
  fe_arena *a = u->arena;
  fe_blobs blobs = {.arena = a};
  const char *irdl = fe_krnl_irdl;
  MlirContext ctx = fe_context_create(&u->diags, &irdl, 1);
  fe_ir ir;
  fe_ir_init(&ir, ctx, a, &u->diags, &blobs);

  unsigned lanes = fe_conv_block(t);
  int64_t oh = s->h + 2 * s->pad - 2, ow = s->w + 2 * s->pad - 2;
  int64_t in_blocks = (s->c + lanes - 1) / lanes;
  int64_t blocks = (s->k + lanes - 1) / lanes;
  int64_t tiles =
      s->n * ((oh + s->tile - 1) / s->tile) * ((ow + s->tile - 1) / s->tile);
  int64_t products = fe_winograd_products(s->tile);
  float *x = fill(a, s->n * s->c * s->h * s->w, 1);
  float *w = fill(a, s->k * s->c * 9, 2), *b = fill(a, s->k, 3);
  fe_conv_shape shape = {.out_channels = s->k,
                         .channels = s->c,
                         .groups = 1,
                         .kernel = {3, 3},
                         .stride = {1, 1},
                         .out = {oh, ow}};
  int64_t panel = fe_conv_choose_panel(t, &shape), n_bias;
  fe_conv_packing how = {lanes, panel, shape, w};
  int64_t n_plain = fe_conv_packed_count(&how);
  float *plain = FE_NEW_N(a, float, (size_t)n_plain);
  fe_blob_put(&(fe_blob){.size = (size_t)n_plain * sizeof *plain,
                         .parts = fe_conv_packed_parts(&how),
                         .fill = fe_conv_pack_weights,
                         .recipe = &how},
              plain);
  float *bias = fe_conv_pack_channels(a, lanes, s->k, 1, b, &n_bias);
  float *in = pack(a, x, s->n, s->c, s->h * s->w, lanes);
  int64_t n_weights =
      fe_winograd_weights_size(lanes, s->tile, s->c, s->k, panel);
  int64_t dv[] = {(tiles + s->block - 1) / s->block, products,
                  fe_winograd_input_row(lanes, s->c, s->block)};
  float *weights = FE_NEW_N(a, float, (size_t)n_weights);
  float *v = fill(a, dv[0] * dv[1] * dv[2], 7);
  int64_t count = s->n * blocks * oh * ow * lanes;
  float *out = fill(a, count, 5);
  for (int i = 0; i < 64; ++i)
    out[count + i] = 7;

  int64_t di[] = {s->n, in_blocks, s->h, s->w, lanes};
  int64_t db[] = {blocks, lanes}, dd[] = {s->n, blocks, oh, ow, lanes};
  kj_array xi = kj_make(in, 5, di), xp = kj_make(plain, 1, &n_plain);
  kj_array xw = kj_make(weights, 1, &n_weights), xv = kj_make(v, 3, dv);
  kj_array xb = kj_make(bias, 2, db), xd = kj_make(out, 5, dd);
  const char *ti =
      image_type(a, s->dynamic, s->n, in_blocks, s->h, s->w, lanes);
  const char *td = image_type(a, s->dynamic, s->n, blocks, oh, ow, lanes);
  const char *tb =
      fe_printf(a, "tensor<%lldx%uxf32>", (long long)blocks, lanes);
  const char *tv = fe_printf(a, "tensor<%lldx%lldx%lldxf32>", (long long)dv[0],
                             (long long)dv[1], (long long)dv[2]);
  run(u, &ir, t,
      fe_printf(a,
                "func.func private @k(%%i: tensor<%lldxf32>, %%d: "
                "tensor<%lldxf32>) -> tensor<%lldxf32> attributes "
                "{krnl.kernel, krnl.root = \"winograd_weights\"} {\n"
                "%%0 = \"krnl.winograd_weights\"(%%i, %%d) {tile = %lld : i64, "
                "channels = %lld : i64, panel = %lld : i64} : "
                "(tensor<%lldxf32>, tensor<%lldxf32>) -> tensor<%lldxf32>\n"
                "return %%0 : tensor<%lldxf32>\n}\n",
                (long long)n_plain, (long long)n_weights, (long long)n_weights,
                (long long)s->tile, (long long)s->c, (long long)panel,
                (long long)n_plain, (long long)n_weights, (long long)n_weights,
                (long long)n_weights),
      2, (kj_array *const[]){&xp, &xw}, (unsigned[]){1, 1});
  check_stored(&(fe_winograd_packing){how, s->tile}, weights);
  if (!s->fused)
    run(u, &ir, t,
        fe_printf(a,
                  "func.func private @k(%%i: %s, %%d: %s) -> %s attributes "
                  "{krnl.kernel, krnl.root = \"winograd_input\"} {\n"
                  "%%0 = \"krnl.winograd_input\"(%%i, %%d) {tile = %lld : i64, "
                  "block = %lld : i64, pads = array<i64: %lld, %lld, %lld, "
                  "%lld>} : (%s, %s) -> %s\nreturn %%0 : %s\n}\n",
                  ti, tv, tv, (long long)s->tile, (long long)s->block,
                  (long long)s->pad, (long long)s->pad, (long long)s->pad,
                  (long long)s->pad, ti, tv, tv, tv),
        2, (kj_array *const[]){&xi, &xv}, (unsigned[]){5, 3});
  run(u, &ir, t,
      product_text(a, s, s->fused ? ti : tv, n_weights, tb, td, panel), 4,
      (kj_array *const[]){s->fused ? &xi : &xv, &xw, &xb, &xd},
      (unsigned[]){s->fused ? 5 : 3, 1, 2, 5});

  double worst = 0, largest = 0;
  for (int64_t i = 0; i < s->n * s->k * oh * ow; ++i) {
    int64_t px = i % ow, y = i / ow % oh, c = i / ow / oh % s->k;
    int64_t n = i / ow / oh / s->k;
    double want = expected(s, x, w, b, n, c, y, px);
    int64_t at =
        (((n * blocks + c / lanes) * oh + y) * ow + px) * lanes + c % lanes;
    double e = fabs(out[at] - want);
    worst = e <= worst ? worst : e;
    largest = fabs(want) > largest ? fabs(want) : largest;
  }
  bool ok = worst < 4e-6 * largest;
  for (int i = 0; i < 64; ++i)
    ok &= out[count + i] == 7;
  if (!ok)
    fail_msg("%s: tile %lld block %lld n %lld c %lld k %lld %lldx%lld: error "
             "%g of %g\n",
             t->name, (long long)s->tile, (long long)s->block, (long long)s->n,
             (long long)s->c, (long long)s->k, (long long)s->h, (long long)s->w,
             worst, largest);
  mlirContextDestroy(ctx);
  unit_end(u);
}

static void winograd(void **state) {
  (void)state;
  static const image_case s[] = {
      {.tile = 4,
       .block = 10,
       .n = 2,
       .c = 20,
       .k = 40,
       .h = 14,
       .w = 17,
       .pad = 1},
      {.tile = 2,
       .block = 5,
       .n = 1,
       .c = 32,
       .k = 16,
       .h = 7,
       .w = 9,
       .pad = 0,
       .math = true},
      {.tile = 4,
       .block = 7,
       .n = 2,
       .c = 33,
       .k = 48,
       .h = 13,
       .w = 18,
       .pad = 1,
       .fused = true},
      {.tile = 2,
       .block = 30,
       .n = 1,
       .c = 8,
       .k = 20,
       .h = 12,
       .w = 5,
       .pad = 2,
       .fused = true,
       .math = true},
      {.tile = 4,
       .block = 12,
       .n = 2,
       .c = 16,
       .k = 32,
       .h = 15,
       .w = 10,
       .pad = 1,
       .fused = true,
       .dynamic = true},
      // Input that exceeds the cache: several panels at once, one left over.
      {.tile = 4,
       .block = 49,
       .n = 2,
       .c = 100,
       .k = 300,
       .h = 27,
       .w = 28,
       .pad = 1},
  };
  fe_target storage;
  const fe_target *native = fe_target_find("native", &storage);
  for (unsigned i = 0; i < FE_COUNT(s); ++i) {
    check(native, &s[i]);
    fe_target other;
    const fe_target *v3 = fe_target_find("x86-64-v3", &other);
    if (i % 2 && native->vector_bits > v3->vector_bits)
      check(v3, &s[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(winograd)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
