//===- ir_convert.c - tests of conversion between numeric types ---*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compared with C, and for floats of 8 bits with the formats' definition.
//
//===----------------------------------------------------------------------===//
#include "jit.h"

#include <math.h>

//===-- Conversion ----------------------------------------------------------//

static MlirType numeric_type(fe_ir *ir, unsigned t) {
  if (t == FE_BOOL)
    return ir->i1;
  if (t == FE_UNDEFINED)
    return ir->index;
  return fe_storage_type(ir, (fe_dtype)t);
}

/// Every pair of types, scalar and vector: is valid and can be lowered.
static void convert_all(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  for (unsigned t = 0; t < FE_DTYPE_COUNT; t++) {
    if (t == FE_STRING || t == FE_C64 || t == FE_C128)
      continue;
    MlirType type = numeric_type(ir, t);
    MlirType args[] = {type, fe_vector_type(ir, 8, type)};
    MlirOperation func = fe_func_begin(
        ir, f->m, fe_printf(ir->arena, "from%u", t), false, 2, args);
    MlirBlock entry = ir->block;
    for (unsigned to = 0; to < FE_DTYPE_COUNT; to++) {
      if (to == FE_STRING || to == FE_C64 || to == FE_C128)
        continue;
      MlirType want = numeric_type(ir, to);
      for (unsigned i = 0; i < 2; i++) {
        MlirValue v = fe_convert(ir, fe_block_arg(entry, i), want,
                                 fe_dtype_is_unsigned((fe_dtype)t),
                                 fe_dtype_is_unsigned((fe_dtype)to));
        assert_false(fe_is_null(v));
        assert_true(mlirTypeEqual(fe_elem_of(v), want));
        assert_int_equal(fe_rank(v), i);
      }
      MlirValue v = fe_convert(ir, fe_block_arg(entry, 0),
                               fe_vector_type(ir, 4, want), false, false);
      assert_int_equal(fe_static_dim(v, 0), 4);
    }
    fe_func_end(ir, func, 0, NULL);
  }
  compile(f, "from1");
  end(f);
}

/// f(in, out): out[i] = (to)in[i].
static void (*converter(fixture *f, MlirType from, MlirType to, bool u,
                        bool v))(FLAT_PARAMS, FLAT_PARAMS) {
  fe_ir *ir = &f->ir;
  MlirType args[] = {flat(ir, from), flat(ir, to)};
  MlirOperation func = fe_func_begin(ir, f->m, "k", false, 2, args);
  MlirBlock entry = ir->block;
  MlirValue in = fe_block_arg(entry, 0), out = fe_block_arg(entry, 1);
  fe_region l = fe_loop(ir, fe_dim(ir, in, 0));
  MlirValue x = fe_load(ir, in, FE_IDX(l.iv));
  fe_store(ir, fe_convert(ir, x, to, u, v), out, FE_IDX(l.iv));
  fe_loop_end(ir, &l);
  fe_func_end(ir, func, 0, NULL);
  return (void (*)(FLAT_PARAMS, FLAT_PARAMS))compile(f, "k");
}

/// Value of a code by the formats' definition.
static float small_value(fe_dtype t, unsigned code) {
  static const struct {
    fe_dtype t;
    int mantissa, bias;
  } formats[] = {{FE_F8E4M3FN, 3, 7},
                 {FE_F8E4M3FNUZ, 3, 8},
                 {FE_F8E5M2, 2, 15},
                 {FE_F8E5M2FNUZ, 2, 16}};
  if (t == FE_F8E8M0)
    return code == 255 ? NAN : ldexpf(1, (int)code - 127);
  unsigned i = 0;
  while (formats[i].t != t)
    i++;
  int m = formats[i].mantissa, e = (int)(code & 127) >> m;
  int low = (int)code & ((1 << m) - 1);
  if ((t == FE_F8E4M3FNUZ || t == FE_F8E5M2FNUZ) && code == 128)
    return NAN;
  if (t == FE_F8E4M3FN && (code & 127) == 127)
    return NAN;
  if (t == FE_F8E5M2 && e == 31)
    return low ? NAN : code & 128 ? -INFINITY : INFINITY;
  float v = e ? ldexpf((float)((1 << m) + low), e - formats[i].bias - m)
              : ldexpf((float)low, 1 - formats[i].bias - m);
  return code & 128 ? -v : v;
}

static const fe_dtype small_types[] = {FE_F8E4M3FN, FE_F8E4M3FNUZ, FE_F8E5M2,
                                       FE_F8E5M2FNUZ, FE_F8E8M0};

static void float8_decode(void **state) {
  (void)state;
  for (unsigned i = 0; i < FE_COUNT(small_types); i++) {
    fixture *f = begin();
    uint8_t in[256];
    float out[256];
    for (unsigned c = 0; c < 256; c++)
      in[c] = (uint8_t)c;
    converter(f, fe_storage_type(&f->ir, small_types[i]), f->ir.f32, false,
              false)(FLAT(in, 256), FLAT(out, 256));
    for (unsigned c = 0; c < 256; c++) {
      float want = small_value(small_types[i], c);
      if (isnan(want))
        assert_true(isnan(out[c]));
      else
        assert_memory_equal(&out[c], &want, sizeof want);
    }
    end(f);
  }
}

/// Nearest finite code to x, ties to the even one (E8M0: next above).
static unsigned nearest_code(fe_dtype t, float x) {
  unsigned best = 0;
  float error = INFINITY;
  for (unsigned c = 0; c < 256; c++) {
    float v = small_value(t, c);
    if (!isfinite(v) || signbit(v) != signbit(x))
      continue;
    float e = fabsf(v - x);
    if (t == FE_F8E8M0 && v < x && c != 254)
      continue;
    if (e < error || (e == error && (c & 1) == 0)) {
      error = e;
      best = c;
    }
  }
  return best;
}

static void float8_encode(void **state) {
  (void)state;
  enum { N = 4000 };
  for (unsigned i = 0; i < FE_COUNT(small_types); i++) {
    fixture *f = begin();
    fe_dtype t = small_types[i];
    static float in[N];
    static uint8_t out[N];
    uint32_t seed = 1;
    for (unsigned k = 0; k < N; k++) {
      seed = seed * 1664525 + 1013904223;
      // Random magnitudes around the range, then all codes and midpoints.
      in[k] = ldexpf(1 + (float)(seed >> 9) * 0x1p-23f, (int)(seed & 63) - 40);
      if (seed & 64)
        in[k] = -in[k];
    }
    for (unsigned c = 0; c + 1 < 127; c++) {
      in[2 * c] = small_value(t, c);
      in[2 * c + 1] = (small_value(t, c) + small_value(t, c + 1)) / 2;
    }
    in[300] = NAN;
    in[301] = INFINITY;
    in[302] = -0.0f;
    converter(f, f->ir.f32, fe_storage_type(&f->ir, t), false,
              false)(FLAT(in, N), FLAT(out, N));
    unsigned largest = t == FE_F8E8M0 ? 254 : 127;
    while (!isfinite(small_value(t, largest)))
      largest--;
    bool no_inf = t == FE_F8E4M3FNUZ || t == FE_F8E5M2FNUZ;
    for (unsigned k = 0; k < N; k++) {
      float x = t == FE_F8E8M0 ? fabsf(in[k]) : in[k];
      if (isnan(x) || (isinf(x) && no_inf)) {
        assert_true(isnan(small_value(t, out[k])));
      } else if (isinf(x) && t == FE_F8E5M2) {
        assert_int_equal(out[k], signbit(x) ? 0xfc : 0x7c);
      } else if (x == 0) {
        assert_int_equal(out[k], signbit(x) && !no_inf ? 128 : 0);
      } else {
        float top = small_value(t, largest);
        unsigned want = nearest_code(t, fabsf(x) > top ? copysignf(top, x) : x);
        if (x < 0 && no_inf && small_value(t, want) == 0)
          want = 0;
        // Where there is no -0 negative values may round to 0.
        if (x < 0 && no_inf && fabsf(x) <= small_value(t, 1) / 2)
          want = 0;
        if (out[k] != want)
          print_error("%s: %a: %x, not %x\n", fe_dtype_name(t), (double)in[k],
                      out[k], want);
        assert_int_equal(out[k], want);
      }
    }
    end(f);
  }
}

static void convert_values(void **state) {
  (void)state;
  fixture *f = begin();
  uint8_t bytes[] = {0, 1, 127, 128, 255};
  float floats[5];
  converter(f, f->ir.i8, f->ir.f32, true, false)(FLAT(bytes, 5),
                                                 FLAT(floats, 5));
  for (unsigned i = 0; i < 5; i++)
    assert_true(floats[i] == (float)bytes[i]);
  end(f);
  f = begin();
  int32_t ints[5];
  converter(f, f->ir.i8, f->ir.i32, false, false)(FLAT(bytes, 5),
                                                  FLAT(ints, 5));
  for (unsigned i = 0; i < 5; i++)
    assert_int_equal(ints[i], (int8_t)bytes[i]);
  end(f);
  f = begin();
  float in[] = {0, -0.0f, 0.25f, NAN, -3};
  int8_t bools[5];
  fe_ir *ir = &f->ir;
  MlirType args[] = {flat(ir, ir->f32), flat(ir, ir->i8)};
  MlirOperation func = fe_func_begin(ir, f->m, "k", false, 2, args);
  MlirBlock entry = ir->block;
  fe_region l = fe_loop(ir, fe_dim(ir, fe_block_arg(entry, 0), 0));
  MlirValue x = fe_load(ir, fe_block_arg(entry, 0), FE_IDX(l.iv));
  MlirValue b = fe_convert(ir, x, ir->i1, false, false);
  fe_store(ir, fe_convert(ir, b, ir->i8, false, false), fe_block_arg(entry, 1),
           FE_IDX(l.iv));
  fe_loop_end(ir, &l);
  fe_func_end(ir, func, 0, NULL);
  ((void (*)(FLAT_PARAMS, FLAT_PARAMS))compile(f, "k"))(FLAT(in, 5),
                                                        FLAT(bools, 5));
  assert_memory_equal(bools, ((int8_t[]){0, 0, 1, 1, 1}), 5);
  end(f);
}

//===-- f16 and bf16 --------------------------------------------------------//

/// bf16 nearest to x, ties to even, by comparing distances.
static uint16_t nearest_bf16(double x) {
  float toward_zero = (float)x;
  if (fabs((double)toward_zero) > fabs(x))
    toward_zero = nextafterf(toward_zero, 0);
  uint32_t u;
  memcpy(&u, &toward_zero, sizeof u);
  uint32_t low = u & 0xffff0000, high = low + 0x10000;
  float a, b;
  memcpy(&a, &low, sizeof a);
  memcpy(&b, &high, sizeof b);
  double top = isinf(b) ? copysign(0x1p128, x) : (double)b;
  double to_a = fabs(x - (double)a), to_b = fabs(top - x);
  bool up = to_b < to_a || (to_b == to_a && (low >> 16 & 1));
  return (uint16_t)((up ? high : low) >> 16);
}

enum { SAMPLES = 4096 };

/// Doubles around the halfway points of formats with `bits` of mantissa.
static void fill_samples(double *x, int bits, int low, int high) {
  uint64_t seed = 1;
  for (unsigned i = 0; i < SAMPLES; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    double m = 1 + (double)(seed >> 40) * 0x1p-24;
    if (i % 2) // a halfway point, moved by less than f32 can express
      m = floor(ldexp(m, bits)) * ldexp(1, -bits) + ldexp(1, -bits - 1) +
          ((int)(seed >> 20 & 3) - 1) * 0x1p-45;
    x[i] = ldexp(seed & 1 ? m : -m, low + (int)(seed >> 30) % (high - low));
  }
  x[0] = 0;
  x[1] = -0.0;
  x[2] = INFINITY;
  x[3] = -INFINITY;
  x[4] = 65520; // f16: halfway to what would be next
  x[5] = 65519.999;
}

static void half_from_double(void **state) {
  (void)state;
  static double x[SAMPLES];
  static float y[SAMPLES];
  static _Float16 got[SAMPLES];
  for (int soft = 0; soft < 2; soft++) {
    fill_samples(x, 10, -27, 17);
    fixture *f = begin();
    f->ir.soft_half = soft;
    converter(f, f->ir.f64, f->ir.f16, false, false)(FLAT(x, SAMPLES),
                                                     FLAT(got, SAMPLES));
    for (unsigned i = 0; i < SAMPLES; i++) {
      _Float16 want = (_Float16)x[i];
      assert_memory_equal(&got[i], &want, 2);
    }
    end(f);
    f = begin();
    f->ir.soft_half = soft;
    converter(f, f->ir.f16, f->ir.f32, false, false)(FLAT(got, SAMPLES),
                                                     FLAT(y, SAMPLES));
    for (unsigned i = 0; i < SAMPLES; i++) {
      float want = (float)got[i];
      assert_memory_equal(&y[i], &want, 4);
    }
    end(f);
    f = begin();
    f->ir.soft_half = soft;
    y[0] = NAN;
    converter(f, f->ir.f32, f->ir.f16, false, false)(FLAT(y, SAMPLES),
                                                     FLAT(got, SAMPLES));
    assert_true(got[0] != got[0]);
    for (unsigned i = 1; i < SAMPLES; i++)
      assert_true((float)got[i] == y[i]);
    end(f);
  }
}

static void bfloat_from_double(void **state) {
  (void)state;
  static double x[SAMPLES];
  static float y[SAMPLES];
  static uint16_t got[SAMPLES];
  fill_samples(x, 7, -126, 128);
  fixture *f = begin();
  converter(f, f->ir.f64, f->ir.bf16, false, false)(FLAT(x, SAMPLES),
                                                    FLAT(got, SAMPLES));
  for (unsigned i = 0; i < SAMPLES; i++)
    if (isfinite(x[i]))
      assert_int_equal(got[i], nearest_bf16(x[i]));
  assert_int_equal(got[2], 0x7f80);
  assert_int_equal(got[3], 0xff80);
  end(f);
  for (unsigned i = 0; i < SAMPLES; i++)
    y[i] = (float)x[i];
  y[6] = NAN;
  y[7] = -0x1p-140f; // subnormal
  f = begin();
  converter(f, f->ir.f32, f->ir.bf16, false, false)(FLAT(y, SAMPLES),
                                                    FLAT(got, SAMPLES));
  for (unsigned i = 0; i < SAMPLES; i++)
    if (isfinite(y[i]))
      assert_int_equal(got[i], nearest_bf16((double)y[i]));
  assert_int_equal(got[6] & 0x7fc0, 0x7fc0);
  end(f);
  static int32_t n[SAMPLES];
  for (unsigned i = 0; i < SAMPLES; i++)
    n[i] = (int32_t)(i * 2654435761u);
  f = begin();
  converter(f, f->ir.i32, f->ir.bf16, false, false)(FLAT(n, SAMPLES),
                                                    FLAT(got, SAMPLES));
  for (unsigned i = 0; i < SAMPLES; i++)
    assert_int_equal(got[i], nearest_bf16(n[i]));
  end(f);
}

int main(void) {
  jit_init();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(convert_all),      cmocka_unit_test(float8_decode),
      cmocka_unit_test(float8_encode),    cmocka_unit_test(convert_values),
      cmocka_unit_test(half_from_double), cmocka_unit_test(bfloat_from_double)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
