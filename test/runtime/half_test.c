//===- half_test.c - conversions to and from f16, against the definition --===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For every f16 and the next one: both, the middle (goes to the even one) and
// points close to the middle (go to the nearer one), from float and double.
//
//===----------------------------------------------------------------------===//
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

_Float16 __truncsfhf2(float x);
_Float16 __truncdfhf2(double x);
float __extendhfsf2(_Float16 x);

static unsigned wrong;

static uint16_t bits_of(_Float16 h) {
  uint16_t u;
  memcpy(&u, &h, sizeof u);
  return u;
}

static void expect(double x, uint16_t want, const char *what) {
  uint16_t d = bits_of(__truncdfhf2(x)), f = bits_of(__truncsfhf2((float)x));
  // where a float can tell the point at all
  if (d != want || ((float)x == x && f != want)) {
    if (wrong++ < 10)
      printf("%s %a: from double %04x, from float %04x, should be %04x\n", what,
             x, d, f, want);
  }
}

/// Value by the definition of the format.
static double value(uint16_t h) {
  int exponent = h >> 10 & 31, mantissa = h & 1023;
  double v = ldexp(exponent ? mantissa + 1024 : mantissa,
                   (exponent ? exponent : 1) - 25);
  return h >> 15 ? -v : v;
}

int main(void) {
  for (unsigned sign = 0; sign < 2; sign++)
    for (unsigned h = 0; h < 0x7c00; h++) {
      uint16_t low = (uint16_t)(h | sign << 15), high = (uint16_t)(low + 1);
      double a = value(low),
             b = h == 0x7bff ? (sign ? -65536.0 : 65536.0) : value(high),
             middle = (a + b) / 2;
      _Float16 as_half;
      memcpy(&as_half, &low, sizeof low);
      if ((double)__extendhfsf2(as_half) != a && wrong++ < 10)
        printf("%04x widens to %a\n", low, (double)__extendhfsf2(as_half));
      expect(a, low, "exact");
      expect(middle, h & 1 ? high : low, "middle");
      expect(middle + (a - middle) * 0x1p-30, low, "below");
      expect(middle + (b - middle) * 0x1p-30, high, "above");
      expect(middle + (b - middle) * 0x1p-8, high, "above");
    }
  expect(INFINITY, 0x7c00, "infinity");
  expect(-1e300, 0xfc00, "large");
  expect(1e-300, 0, "tiny");
  if (!isnan((double)__extendhfsf2(__truncsfhf2(NAN))) && wrong++ < 10)
    printf("NaN is lost\n");
  printf("%u wrong\n", wrong);
  return wrong != 0;
}
