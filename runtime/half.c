//===- half.c - conversions that LLVM calls by name -----------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a processor has no instruction for it, LLVM turns conversions between
// f16, bf16 and wider types, its own ones too (it keeps a vector of bf16 as
// floats), into calls of these. Compiler support libraries have them; libc and
// libm do not. Rounding to nearest, ties to even (IEEE 754-2019, 4.3.1).
//
//===----------------------------------------------------------------------===//
#include <stdint.h>

#define LIBCALL __attribute__((weak, visibility("hidden")))

typedef union {
  float f;
  uint32_t u;
} bits32;
typedef union {
  double f;
  uint64_t u;
} bits64;
typedef union {
  __bf16 f;
  uint16_t u;
} bits_bf16;
typedef union {
  _Float16 f;
  uint16_t u;
} bits_f16;

/// A float that rounds as the double does to any narrower type: the last bit is
/// set when the conversion was not exact ("round to odd", Boldo and Melquiond,
/// IEEE Transactions on Computers 57(4), 2008).
static float to_odd(double x) {
  bits32 near = {.f = (float)x};
  double back = near.f;
  if (back == x || x != x || (near.u & 1))
    return near.f;
  // one step towards x, which is odd
  near.u += (back < x) == (x > 0) ? 1 : -1;
  return near.f;
}

static uint16_t round_bf16(float x) {
  bits32 b = {.f = x};
  if (x != x)
    return (uint16_t)(b.u >> 16 | 0x40); // stays a NaN, quiet
  return (uint16_t)((b.u + 0x7fff + (b.u >> 16 & 1)) >> 16);
}

static uint16_t round_f16(float x) {
  bits32 b = {.f = x};
  uint32_t sign = b.u >> 16 & 0x8000, magnitude = b.u & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
  if (magnitude >= 0x477ff000) // rounds beyond the largest
    return (uint16_t)(sign | 0x7c00);
  if (magnitude < 0x38800000) { // subnormal: 2^-24 is one
    bits32 scaled = {.u = magnitude};
    // adding 0.5 leaves the value in units of 2^-24 in the last bits
    scaled.f += 0.5f;
    return (uint16_t)(sign | (scaled.u - 0x3f000000));
  }
  magnitude += 0xfff + (magnitude >> 13 & 1);
  return (uint16_t)(sign | ((magnitude - 0x38000000) >> 13));
}

LIBCALL __bf16 __truncsfbf2(float x) {
  return (bits_bf16){.u = round_bf16(x)}.f;
}
LIBCALL __bf16 __truncdfbf2(double x) {
  return (bits_bf16){.u = round_bf16(to_odd(x))}.f;
}
LIBCALL _Float16 __truncsfhf2(float x) {
  return (bits_f16){.u = round_f16(x)}.f;
}
LIBCALL _Float16 __truncdfhf2(double x) {
  return (bits_f16){.u = round_f16(to_odd(x))}.f;
}
LIBCALL float __extendhfsf2(_Float16 x) {
  uint32_t h = (bits_f16){.f = x}.u, sign = (h & 0x8000) << 16,
           rest = h & 0x7fff;
  bits32 b;
  if (rest >= 0x7c00)
    b.u = sign | 0x7f800000 | (rest & 0x3ff) << 13;
  else if (rest >= 0x400)
    b.u = sign | ((rest << 13) + 0x38000000);
  else {
    b.f = (float)rest * 0x1p-24f;
    b.u |= sign;
  }
  return b.f;
}
