//===- math_test.c - error of the math library against libm's doubles
//------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: math_test [step]   every step-th float, in both signs (1: all)
//
//===----------------------------------------------------------------------===//
#include "mathlib.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double exp10_(double x) { return pow(10, x); }

typedef struct row {
  const char *name;
  float (*got)(float);
  double (*want)(double);
  double limit; // ULP
} row;

static const row rows[] = {
    {"exp", fe_expf, exp, 1.0},        {"exp2", fe_exp2f, exp2, 0.51},
    {"exp10", fe_exp10f, exp10_, 0.51}, {"expm1", fe_expm1f, expm1, 1.5},
    {"log", fe_logf, log, 1.0},        {"log2", fe_log2f, log2, 0.51},
    {"log10", fe_log10f, log10, 0.51}, {"log1p", fe_log1pf, log1p, 1.5},
    {"tanh", fe_tanhf, tanh, 2.5},     {"erf", fe_erff, erf, 1.5},
    {"sin", fe_sinf, sin, 0.51},       {"cos", fe_cosf, cos, 0.51},
    {"tan", fe_tanf, tan, 0.51},
};

static float from_bits(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/// Distance in units in the last place of the exact value.
static double ulps(float got, double want) {
  float nearest = (float)want;
  if (got != got || want != want)
    return got != got && want != want ? 0 : INFINITY;
  if (isinf(nearest) || isinf(got))
    return got == nearest || fabs(want) >= 0x1.fffffep127 * (1 - 0x1p-23)
               ? 0
               : INFINITY;
  if (want == 0 && !signbit(got) != !signbit(want))
    return INFINITY;
  int e;
  frexp(want, &e);
  double unit = ldexp(1, e - 24 < -149 ? -149 : e - 24);
  return fabs((double)got - want) / unit;
}

static int failures;

static void check_unary(const row *r, uint32_t step) {
  double worst = 0;
  float at = 0;
  for (uint64_t u = 0; u < UINT64_C(0x100000000); u += step) {
    float x = from_bits((uint32_t)u);
    double d = ulps(r->got(x), r->want(x));
    if (d > worst) {
      worst = d;
      at = x;
    }
  }
  printf("%-6s %.4f ulp at %.9g\n", r->name, worst, at);
  failures += !(worst <= r->limit);
}

static const float special[] = {
    0.0f,      -0.0f, 1.0f,      -1.0f,    2.0f,       -2.0f,  3.0f,
    -3.0f,     0.5f,  -0.5f,     1.5f,     -1.5f,      1e-45f, -1e-45f,
    1.17e-38f, 1e30f, -1e30f,    16777216, 8388607.5f, 3e38f,  INFINITY,
    -INFINITY, NAN,   0.999999f, 1.000001f};

static void check_pow(uint32_t step) {
  double worst = 0;
  float ax = 0, ay = 0;
  size_t n = sizeof special / sizeof *special;
  uint64_t seed = 88172645463325252u;
  uint64_t count = n * n + UINT64_C(0x40000000) / step;
  for (uint64_t i = 0; i < count; i++) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    float x = from_bits((uint32_t)seed & 0x7fffffff);
    // Exponents around what gives finite results, and anything.
    float y = (float)((double)(int32_t)(seed >> 32) / 0x1p31 * 130 /
                      (fabs(log2(x)) + 1));
    if (i % 8 == 0)
      y = from_bits((uint32_t)(seed >> 32));
    if (i < n * n) {
      x = special[i / n];
      y = special[i % n];
    }
    double d = ulps(fe_powf(x, y), pow(x, y));
    if (d > worst) {
      worst = d;
      ax = x;
      ay = y;
    }
  }
  printf("%-6s %.4f ulp at %.9g, %.9g\n", "pow", worst, ax, ay);
  failures += !(worst <= 0.51);
}

int main(int argc, char **argv) {
  uint32_t step = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20011;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    check_unary(&rows[i], step ? step : 1);
  check_pow(step ? step : 1);
  return failures != 0;
}
