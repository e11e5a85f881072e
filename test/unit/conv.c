//===- conv.c - tests of kernels over packed images ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions, depthwise convolutions and pools are generated for static and
// dynamic sizes, compiled for this machine (and narrower vectors), and compared
// with sums in double over plain images. Lanes without a channel hold NaN.
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "images.h"
#include "kernel/conv.h"

typedef enum { CONV, DEPTHWISE, MAX, AVERAGE, AVERAGE_PADDED } what;
typedef enum { NONE, RESIDUAL_RELU, TANH } tail;

typedef struct image_case {
  what what;
  int64_t n, c, k, h, w;
  int64_t kernel[2], stride[2], dilation[2], pad[4];
  int64_t groups;
  bool plain, ceil;
  tail tail;
} image_case;

typedef struct sizes {
  int64_t oh, ow, group_in, group_out, blocks_in, blocks_out;
  unsigned lanes;
} sizes;

static int64_t out_size(const image_case *s, unsigned i) {
  int64_t in = i ? s->w : s->h;
  int64_t span = in + s->pad[i] + s->pad[2 + i] -
                 ((s->kernel[i] - 1) * s->dilation[i] + 1);
  int64_t n = (s->ceil ? span + s->stride[i] - 1 : span) / s->stride[i] + 1;
  // A window may not begin behind the image.
  return s->ceil && (n - 1) * s->stride[i] >= in + s->pad[i] ? n - 1 : n;
}

static const char *text_of(fe_arena *a, const image_case *s, const sizes *z,
                           bool dynamic, int64_t panel, int64_t n_weights) {
  const char *ti = s->plain ? image_type(a, dynamic, s->n, s->c, s->h, s->w, 0)
                            : image_type(a, dynamic, s->n, z->blocks_in, s->h,
                                         s->w, z->lanes);
  const char *td =
      image_type(a, dynamic, s->n, z->blocks_out, z->oh, z->ow, z->lanes);
  const char *tw =
      s->what == CONV
          ? fe_printf(a, "tensor<%lldxf32>", (long long)n_weights)
          : fe_printf(a, "tensor<%lldx%lldx%lldx%uxf32>",
                      (long long)z->blocks_out, (long long)s->kernel[0],
                      (long long)s->kernel[1], z->lanes);
  const char *tb =
      fe_printf(a, "tensor<%lldx%uxf32>", (long long)z->blocks_out, z->lanes);
  static const char *const names[] = {"conv", "depthwise", "pool", "pool",
                                      "pool"};
  static const char *const kinds[] = {"", "", "kind = \"max\", ",
                                      "kind = \"average\", ",
                                      "kind = \"average_padded\", "};
  bool pool = s->what >= MAX;
  fe_buf t = {0};
  fe_buf_printf(
      a, &t,
      "func.func private @k(%%i: %s, %%w: %s, %%b: %s, %%r: %s, %%d: %s) -> %s "
      "attributes {krnl.kernel, krnl.root = \"%s\"} {\n"
      "%%z = arith.constant 0.0 : f32\n"
      "%%0 = \"krnl.%s\"(%%i, %s%%d) {%skernel = %s, strides = %s, dilations = "
      "%s, pads = %s",
      ti, tw, tb, td, td, td, names[s->what], names[s->what],
      pool ? "" : "%w, %b, ", kinds[s->what], list(a, 2, s->kernel),
      list(a, 2, s->stride), list(a, 2, s->dilation), list(a, 4, s->pad));
  if (s->what == CONV)
    fe_buf_printf(a, &t,
                  ", channels = %lld : i64, groups = %lld : i64, "
                  "panel = %lld : i64",
                  (long long)z->group_in, (long long)s->groups,
                  (long long)panel);
  fe_buf_printf(a, &t, "} : (%s, %s%s) -> %s\n", ti,
                pool ? "" : fe_printf(a, "%s, %s, ", tw, tb), td, td);
  if (s->tail == NONE) {
    fe_buf_printf(a, &t, "return %%0 : %s\n}\n", td);
    return t.at;
  }
  bool residual = s->tail == RESIDUAL_RELU;
  fe_buf_printf(a, &t,
                "%%1 = linalg.generic {indexing_maps = [%s" IMAGE_MAP
                ", " IMAGE_MAP "], iterator_types = [\"parallel\", "
                "\"parallel\", \"parallel\", \"parallel\", \"parallel\"]} "
                "ins(%%0%s : %s%s) outs(%%d : %s) {\n"
                "^bb0(%%x: f32, %s%%o: f32):\n%s"
                "linalg.yield %%m : f32\n} -> %s\nreturn %%1 : %s\n}\n",
                residual ? IMAGE_MAP ", " : "", residual ? ", %r" : "", td,
                residual ? fe_printf(a, ", %s", td) : "", td,
                residual ? "%y: f32, " : "",
                residual ? "%s = arith.addf %x, %y : f32\n"
                           "%c = arith.cmpf ogt, %z, %s : f32\n"
                           "%m = arith.select %c, %z, %s : f32\n"
                         : "%m = math.tanh %x : f32\n",
                td, td);
  return t.at;
}

typedef struct data {
  const float *in, *weights, *bias, *residual; // plain, but residual packed
} data;

static double expected(const image_case *s, const sizes *z, const data *d,
                       int64_t n, int64_t k, int64_t y, int64_t x, double more,
                       double *size) {
  int64_t c0 = s->what == CONV ? k / z->group_out * z->group_in : k;
  int64_t nc = s->what == CONV ? z->group_in : 1;
  double sum = s->what == MAX         ? -INFINITY
               : s->what <= DEPTHWISE ? d->bias[k]
                                      : 0;
  double count = 0, padded = 0;
  *size = 1;
  for (int64_t r = 0; r < s->kernel[0]; ++r)
    for (int64_t q = 0; q < s->kernel[1]; ++q) {
      int64_t iy = y * s->stride[0] + r * s->dilation[0] - s->pad[0];
      int64_t ix = x * s->stride[1] + q * s->dilation[1] - s->pad[1];
      padded += iy < s->h + s->pad[2] && ix < s->w + s->pad[3];
      if (iy < 0 || ix < 0 || iy >= s->h || ix >= s->w)
        continue;
      ++count;
      for (int64_t c = 0; c < nc; ++c) {
        double v = d->in[((n * s->c + c0 + c) * s->h + iy) * s->w + ix];
        if (s->what <= DEPTHWISE)
          v *= d->weights[((k * nc + c) * s->kernel[0] + r) * s->kernel[1] + q];
        sum = s->what == MAX ? fmax(sum, v) : sum + v;
        *size += s->what == MAX ? 0 : fabs(v);
      }
    }
  if (s->what == AVERAGE)
    sum /= count;
  if (s->what == AVERAGE_PADDED)
    sum /= padded;
  if (s->tail == RESIDUAL_RELU)
    sum = fmax(sum + more, 0);
  return s->tail == TANH ? tanh(sum) : sum;
}

static void check(const fe_target *t, const image_case *s, bool dynamic) {
  unit *u = unit_begin();
  fe_arena *a = u->arena;
  fe_blobs blobs = {.arena = a};
  const char *irdl = fe_krnl_irdl;
  MlirContext ctx = fe_context_create(&u->diags, &irdl, 1);
  fe_ir ir;
  fe_ir_init(&ir, ctx, a, &u->diags, &blobs);

  sizes z = {.oh = out_size(s, 0),
             .ow = out_size(s, 1),
             .group_in = s->c / s->groups,
             .group_out = s->k / s->groups,
             .lanes = fe_conv_block(t)};
  z.blocks_in = (s->c + z.lanes - 1) / z.lanes;
  z.blocks_out = (s->k + z.lanes - 1) / z.lanes;
  int64_t taps = s->kernel[0] * s->kernel[1];
  int64_t nc = s->what == CONV ? z.group_in : 1;
  int64_t count = s->n * z.blocks_out * z.oh * z.ow * z.lanes;
  data d = {fill(a, s->n * s->c * s->h * s->w, 1), fill(a, s->k * nc * taps, 2),
            fill(a, s->k, 3), fill(a, count, 4)};
  fe_conv_shape shape = {
      .out_channels = s->k,
      .channels = nc,
      .groups = s->groups,
      .kernel = {s->kernel[0], s->kernel[1]},
      .stride = {s->stride[0], s->stride[1]},
      .out = {dynamic ? FE_DYN : z.oh, dynamic ? FE_DYN : z.ow},
      .plain = s->plain};
  int64_t panel = fe_conv_choose_panel(t, &shape), n_weights, n_bias;
  fe_conv_packing how = {z.lanes, panel, shape, d.weights};
  float *weights;
  if (s->what == CONV) {
    n_weights = fe_conv_packed_count(&how);
    weights = FE_NEW_N(a, float, (size_t)n_weights);
    fe_blob_put(&(fe_blob){.size = (size_t)n_weights * sizeof *weights,
                           .parts = fe_conv_packed_parts(&how),
                           .fill = fe_conv_pack_weights,
                           .recipe = &how},
                weights);
  } else {
    weights =
        fe_conv_pack_channels(a, z.lanes, s->k, taps, d.weights, &n_weights);
  }
  float *bias = fe_conv_pack_channels(a, z.lanes, s->k, 1, d.bias, &n_bias);
  float *in = s->plain ? (float *)d.in
                       : pack(a, d.in, s->n, s->c, s->h * s->w, z.lanes);
  float *out = fill(a, count, 5);
  for (int i = 0; i < 64; ++i)
    out[count + i] = 7;

  kernel_jit k = {0};
  const char *text = text_of(a, s, &z, dynamic, panel, n_weights);
  if (!kj_compile(&k, &ir, t, text, "k"))
    fail_msg("%s\n%s", u->messages->at, text);
  int64_t di[] = {s->n, s->plain ? s->c : z.blocks_in, s->h, s->w, z.lanes};
  int64_t dw[] = {z.blocks_out, s->kernel[0], s->kernel[1], z.lanes};
  int64_t db[] = {z.blocks_out, z.lanes};
  int64_t dd[] = {s->n, z.blocks_out, z.oh, z.ow, z.lanes};
  unsigned ranks[] = {s->plain ? 4 : 5, s->what == CONV ? 1 : 4, 2, 5, 5};
  kj_array xi = kj_make(in, ranks[0], di);
  kj_array xw = kj_make(weights, ranks[1], s->what == CONV ? &n_weights : dw);
  kj_array xb = kj_make(bias, 2, db), xd = kj_make(out, 5, dd);
  kj_array xr = kj_make((void *)d.residual, 5, dd);
  kj_array *args[] = {&xi, &xw, &xb, &xr, &xd};
  int64_t items = kj_items(&k, 5, args, ranks);
  // In two parts, as threads would.
  kj_run(&k, items / 3, items, 5, args);
  kj_run(&k, 0, items / 3, 5, args);

  double worst = 0;
  for (int64_t i = 0; i < s->n * s->k * z.oh * z.ow; ++i) {
    int64_t x = i % z.ow, y = i / z.ow % z.oh, c = i / z.ow / z.oh % s->k;
    int64_t n = i / z.ow / z.oh / s->k;
    int64_t at =
        (((n * z.blocks_out + c / z.lanes) * z.oh + y) * z.ow + x) * z.lanes +
        c % z.lanes;
    double size;
    double want = expected(s, &z, &d, n, c, y, x, d.residual[at], &size);
    double e = fabs(out[at] - want) / size;
    worst = e <= worst ? worst : e;
  }
  bool ok = worst < 1e-6;
  for (int i = 0; i < 64; ++i)
    ok &= out[count + i] == 7;
  if (!ok)
    fail_msg("%s%s: what %d n %lld c %lld k %lld %lldx%lld kernel %lldx%lld "
             "stride %lldx%lld dilation %lldx%lld: error %g\n",
             t->name, dynamic ? " dynamic" : "", s->what, (long long)s->n,
             (long long)s->c, (long long)s->k, (long long)s->h, (long long)s->w,
             (long long)s->kernel[0], (long long)s->kernel[1],
             (long long)s->stride[0], (long long)s->stride[1],
             (long long)s->dilation[0], (long long)s->dilation[1], worst);
  kj_free(&k);
  mlirContextDestroy(ctx);
  unit_end(u);
}

/// With an argument: everything; without: each case in one form.
static bool thorough;

static void check_all(const image_case *s, unsigned n) {
  fe_target storage;
  static const char *const targets[] = {"native", "x86-64-v3", "x86-64-v2"};
  const fe_target *native = fe_target_find("native", &storage);
  unsigned bits = native->vector_bits;
  for (unsigned i = 0; i < n; ++i)
    for (unsigned k = 0; k < FE_COUNT(targets); ++k) {
      fe_target other;
      const fe_target *t = fe_target_find(targets[k], &other);
      if (k && (!thorough || t->vector_bits >= bits))
        continue;
      for (unsigned dynamic = 0; dynamic < 2; ++dynamic)
        if (thorough || dynamic == i % 2)
          check(t, &s[i], dynamic);
    }
}

#define K(r, s) .kernel = {r, s}
#define S1 .stride = {1, 1}, .dilation = {1, 1}, .groups = 1
#define S(y, x) .stride = {y, x}, .dilation = {1, 1}, .groups = 1
#define P(n) .pad = {n, n, n, n}

static void conv(void **state) {
  (void)state;
  static const image_case s[] = {
      {CONV, 1, 32, 32, 9, 30, K(3, 3), S1, P(1), .tail = RESIDUAL_RELU},
      {CONV, 2, 20, 40, 6, 33, K(3, 3), S(2, 2), P(1)},
      {CONV, 1, 40, 24, 7, 7, K(3, 3), S1, P(1), .tail = TANH},
      {CONV, 2, 33, 70, 9, 11, K(1, 1), S1},
      {CONV, 1, 16, 48, 8, 9, K(1, 1), S(2, 2), .tail = RESIDUAL_RELU},
      {CONV, 1, 3, 33, 20, 35, K(7, 7), S(2, 2), P(3), .plain = true},
      {CONV, 2, 1, 8, 12, 13, K(5, 5), S1, P(2), .plain = true, .tail = TANH},
      {CONV, 1, 64, 64, 5, 17, K(3, 2), .stride = {1, 3}, .dilation = {1, 2},
       .groups = 2, .pad = {0, 1, 2, 3}},
      {CONV, 1, 16, 16, 4, 60, K(3, 5), .stride = {1, 1}, .dilation = {2, 4},
       .groups = 1, .pad = {2, 8, 2, 8}},
      {CONV, 1, 16, 32, 1, 200, K(1, 9), S(1, 4), .pad = {0, 4, 0, 4}},
      {CONV, 1, 32, 200, 1, 1, K(1, 1), S1},
  };
  check_all(s, FE_COUNT(s));
}

static void depthwise(void **state) {
  (void)state;
  static const image_case s[] = {
      {DEPTHWISE, 2, 40, 40, 9, 30, K(3, 3), S1, P(1), .tail = RESIDUAL_RELU},
      {DEPTHWISE, 1, 16, 16, 15, 31, K(5, 5), S(2, 2), P(2), .tail = TANH},
      {DEPTHWISE, 1, 17, 17, 7, 40, K(3, 9), .stride = {1, 1},
       .dilation = {1, 2}, .groups = 1, .pad = {1, 8, 1, 8}},
  };
  check_all(s, FE_COUNT(s));
}

static void pool(void **state) {
  (void)state;
  static const image_case s[] = {
      {MAX, 1, 20, 20, 13, 29, K(3, 3), S(2, 2), P(1), .ceil = true},
      {MAX, 2, 16, 16, 9, 33, K(2, 3), .stride = {1, 2}, .dilation = {2, 2},
       .groups = 1, .pad = {0, 1, 1, 0}},
      {AVERAGE, 1, 20, 20, 13, 30, K(3, 3), S(2, 2), P(1), .ceil = true},
      {AVERAGE_PADDED, 1, 20, 20, 13, 30, K(3, 3), S(2, 2), P(1), .ceil = true},
      {AVERAGE_PADDED, 1, 20, 20, 8, 30, K(3, 3), S1, P(1)},
      {AVERAGE, 1, 20, 20, 8, 6, K(3, 2), S1, P(1), .tail = RESIDUAL_RELU},
  };
  check_all(s, FE_COUNT(s));
}

int main(int argc, char **argv) {
  (void)argv;
  thorough = argc > 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conv),
      cmocka_unit_test(depthwise),
      cmocka_unit_test(pool),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
