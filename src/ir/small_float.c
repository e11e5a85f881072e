//===- small_float.c - floats below 32 bits by integer arithmetic -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats: ONNX "Float stored in 8 bits", OCP microscaling formats v1.0.
// Decode: the magnitude's bits, moved to where f32 has exponent and mantissa,
// read as f32 and scaled by 2^(127 - bias); exact for subnormals as well.
// Encode: round to nearest even on f32's bits; below the smallest normal
// number, adding 2^k so that the unit in the last place of the sum is the
// format's smallest step lets the addition round.
// Both are straight-line code that vectorizes. Round to odd: S. Boldo,
// G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008.
//
//===----------------------------------------------------------------------===//
#include "ir/small_float.h"

#include "ir/shape.h"

#include <math.h>

typedef struct format {
  fe_dtype dtype;
  unsigned bits, mantissa, bias;
  int64_t max;    // magnitude of the largest finite number
  int64_t limit;  // what is too large becomes this
  int64_t nan;    // code written for NaN; -0 where there is none
  bool zero_nan;  // "-0" is the only NaN, and there is no -0
  bool inf;       // exponent all ones: infinities and NaNs
  bool exponents; // E8M0: unsigned, powers of two
} format;

static const format formats[] = {
    {FE_F8E4M3FN, 8, 3, 7, 0x7e, 0x7e, 0x7f, false, false, false},
    {FE_F8E4M3FNUZ, 8, 3, 8, 0x7f, 0x7f, 0x80, true, false, false},
    {FE_F8E5M2, 8, 2, 15, 0x7b, 0x7b, 0x7f, false, true, false},
    {FE_F8E5M2FNUZ, 8, 2, 16, 0x7f, 0x7f, 0x80, true, false, false},
    {FE_F4E2M1, 4, 1, 1, 0x7, 0x7, 0x8, false, false, false},
    {FE_F6E2M3, 6, 3, 1, 0x1f, 0x1f, 0x20, false, false, false},
    {FE_F6E3M2, 6, 2, 3, 0x1f, 0x1f, 0x20, false, false, false},
    {FE_F16, 16, 10, 15, 0x7bff, 0x7c00, 0x7e00, false, true, false},
    {FE_F8E8M0, 8, 0, 127, 0xfe, 0xfe, 0xff, false, false, true},
};

static const format *format_named(fe_dtype t) {
  for (unsigned i = 0; i < FE_COUNT(formats); i++)
    if (formats[i].dtype == t)
      return &formats[i];
  return NULL;
}

static const format *format_of(MlirType elem) {
  return format_named(fe_dtype_of_elem(elem));
}

double fe_small_value(fe_dtype t, uint8_t code) {
  const format *f = format_named(t);
  if (!f || f->bits > 8)
    return 0;
  if (f->exponents)
    return code == f->nan ? NAN : ldexp(1, code - 127);
  int mag = code & ((1 << (f->bits - 1)) - 1), sign = code >> (f->bits - 1) & 1;
  int e = mag >> f->mantissa, m = mag & ((1 << f->mantissa) - 1);
  int bias = (int)f->bias, shift = (int)f->mantissa;
  double v = e ? ldexp(m + (1 << shift), e - bias - shift)
               : ldexp(m, 1 - bias - shift);
  if (f->inf && mag > f->max)
    v = mag == f->max + 1 ? INFINITY : NAN;
  else if (f->zero_nan ? code == f->nan : mag > f->max)
    v = NAN;
  return sign ? -v : v;
}

uint8_t fe_small_code(fe_dtype t, double v) {
  const format *f = format_named(t);
  if (!f || f->bits > 8)
    return 0;
  if (isnan(v))
    return (uint8_t)f->nan;
  unsigned sign = 1u << (f->bits - 1), best = 0;
  if (f->exponents || !signbit(v) || (f->zero_nan && v == 0))
    sign = 0;
  double a = f->exponents ? v : fabs(v), least = INFINITY;
  for (unsigned c = 0; c <= f->max; c++) {
    double d = fabs(fe_small_value(t, (uint8_t)c) - a);
    if (isinf(a) ? c == f->max : d < least || (d == least && c % 2 == 0)) {
      least = d;
      best = c;
    }
  }
  return (uint8_t)(best | sign);
}

bool fe_small_decodes(const fe_ir *ir, MlirType elem) {
  return mlirTypeEqual(elem, ir->f16) ? ir->soft_half : format_of(elem) != NULL;
}

bool fe_small_encodes(const fe_ir *ir, MlirType elem) {
  return fe_small_decodes(ir, elem) || mlirTypeEqual(elem, ir->bf16);
}

#define F32_INF 0x7f800000
#define F32_NAN 0x7fc00000

/// Arithmetic on 32-bit lanes.
typedef struct lanes {
  fe_ir *ir;
  MlirType i32, f32;
} lanes;

static MlirValue num(const lanes *l, int64_t v) {
  return fe_int(l->ir, l->i32, v);
}
static MlirValue when(const lanes *l, fe_cmp_kind k, MlirValue a, int64_t b,
                      MlirValue yes, MlirValue no) {
  return fe_select(l->ir, fe_cmpu(l->ir, k, a, num(l, b)), yes, no);
}
static MlirValue shift_left(const lanes *l, MlirValue v, unsigned n) {
  return n ? fe_shl(l->ir, v, num(l, n)) : v;
}
static MlirValue shift_right(const lanes *l, MlirValue v, unsigned n) {
  return n ? fe_shru(l->ir, v, num(l, n)) : v;
}
static MlirValue mask(const lanes *l, MlirValue v, int64_t bits) {
  return fe_and(l->ir, v, num(l, bits));
}

static lanes lanes_like(fe_ir *ir, MlirValue v) {
  MlirType t = mlirValueGetType(v);
  return (lanes){ir, fe_type_like(ir, t, ir->i32),
                 fe_type_like(ir, t, ir->f32)};
}

MlirValue fe_small_decode(fe_ir *ir, MlirValue v) {
  const format *f = format_of(fe_elem_of(v));
  if (!f) {
    fe_ir_fail(ir, "conversion from a float that is not small");
    return (MlirValue){0};
  }
  lanes l = lanes_like(ir, v);
  MlirType narrow = fe_type_like(ir, mlirValueGetType(v),
                                 mlirIntegerTypeGet(ir->ctx, f->bits));
  MlirValue x = fe_bitcast(ir, v, narrow);
  x = fe_first(FE_OP(ir, "arith.extui", FE_VALUES(x), FE_TYPES(l.i32)));
  MlirValue out;
  if (f->exponents) {
    out = shift_left(&l, x, 23);
    out = when(&l, FE_EQ, x, 0, num(&l, 0x00400000), out); // 2^-127
    out = when(&l, FE_EQ, x, f->nan, num(&l, F32_NAN), out);
    return fe_bitcast(ir, out, l.f32);
  }
  MlirValue mag = mask(&l, x, (1 << (f->bits - 1)) - 1);
  MlirValue sign = shift_left(&l, shift_right(&l, x, f->bits - 1), 31);
  MlirValue placed = shift_left(&l, mag, 23 - f->mantissa);
  double scale = (double)((uint64_t)1 << 62) * (double)((uint64_t)1 << 62);
  for (unsigned e = 124; e > 127 - f->bias; e--)
    scale /= 2;
  for (unsigned e = 124; e < 127 - f->bias; e++)
    scale *= 2;
  out = fe_bitcast(
      ir, fe_mul(ir, fe_bitcast(ir, placed, l.f32), fe_float(ir, l.f32, scale)),
      l.i32);
  if (f->inf)
    out =
        when(&l, FE_GT, mag, f->max, fe_or(ir, placed, num(&l, F32_INF)), out);
  out = fe_or(ir, out, sign);
  bool has_nan = f->zero_nan || !(f->nan >> (f->bits - 1)); // or else -0
  if (!f->inf && has_nan)
    out = when(&l, FE_EQ, f->zero_nan ? x : mag, f->nan, num(&l, F32_NAN), out);
  return fe_bitcast(ir, out, l.f32);
}

/// Magnitude of |v| (bits `a`) in the format, not yet limited.
static MlirValue round_magnitude(const lanes *l, const format *f, MlirValue a) {
  fe_ir *ir = l->ir;
  unsigned drop = 23 - f->mantissa;
  MlirValue odd = mask(l, shift_right(l, a, drop), 1);
  MlirValue up = fe_add(ir, a, num(l, ((int64_t)1 << (drop - 1)) - 1));
  MlirValue normal = fe_sub(ir, shift_right(l, fe_add(ir, up, odd), drop),
                            num(l, (int64_t)(127 - f->bias) << f->mantissa));
  // 2^(24 - bias - mantissa) as f32 bits.
  int64_t magic = (int64_t)(127 + 24 - f->bias - f->mantissa) << 23;
  MlirValue sum = fe_add(ir, fe_bitcast(ir, a, l->f32),
                         fe_bitcast(ir, num(l, magic), l->f32));
  MlirValue small = fe_sub(ir, fe_bitcast(ir, sum, l->i32), num(l, magic));
  int64_t smallest_normal = (int64_t)(128 - f->bias) << 23;
  return when(l, FE_LT, a, smallest_normal, small, normal);
}

/// The upper half of f32's bits, rounded.
static MlirValue encode_bf16(fe_ir *ir, MlirValue v) {
  lanes l = lanes_like(ir, v);
  MlirValue u = fe_bitcast(ir, v, l.i32);
  MlirValue high = shift_right(&l, u, 16);
  MlirValue up = fe_add(ir, u, fe_add(ir, mask(&l, high, 1), num(&l, 0x7fff)));
  MlirValue quiet = fe_or(ir, high, num(&l, 0x40));
  MlirValue out =
      fe_select(ir, fe_cmp(ir, FE_NE, v, v), quiet, shift_right(&l, up, 16));
  MlirType t = mlirValueGetType(v);
  out = fe_first(FE_OP(ir, "arith.trunci", FE_VALUES(out),
                       FE_TYPES(fe_type_like(ir, t, ir->i16))));
  return fe_bitcast(ir, out, fe_type_like(ir, t, ir->bf16));
}

MlirValue fe_round_to_odd(fe_ir *ir, MlirValue v) {
  if (mlirValueIsNull(v)) {
    fe_ir_fail(ir, "conversion of null");
    return v;
  }
  lanes l = lanes_like(ir, v);
  MlirType t = mlirValueGetType(v);
  MlirValue near =
      fe_first(FE_OP(ir, "arith.truncf", FE_VALUES(v), FE_TYPES(l.f32)));
  MlirValue back =
      fe_first(FE_OP(ir, "arith.extf", FE_VALUES(near), FE_TYPES(t)));
  MlirValue over =
      fe_cmp(ir, FE_GT, fe_math(ir, "absf", back), fe_math(ir, "absf", v));
  MlirValue one = num(&l, 1), zero = num(&l, 0);
  MlirValue bits = fe_bitcast(ir, near, l.i32);
  bits = fe_sub(ir, bits, fe_select(ir, over, one, zero));
  MlirValue inexact = fe_cmp(ir, FE_NE, back, v);
  bits = fe_or(ir, bits, fe_select(ir, inexact, one, zero));
  return fe_bitcast(ir, bits, l.f32);
}

MlirValue fe_small_encode(fe_ir *ir, MlirValue v, MlirType elem) {
  if (!mlirValueIsNull(v) && mlirTypeEqual(elem, ir->bf16))
    return encode_bf16(ir, v);
  const format *f = format_of(elem);
  if (!f || mlirValueIsNull(v)) {
    fe_ir_fail(ir, "conversion to a float that is not small");
    return (MlirValue){0};
  }
  lanes l = lanes_like(ir, v);
  MlirValue u = fe_bitcast(ir, v, l.i32);
  MlirValue a = mask(&l, u, 0x7fffffff);
  MlirValue out;
  if (f->exponents) {
    out = shift_right(&l, fe_add(ir, a, num(&l, 0x7fffff)), 23);
    out = when(&l, FE_LE, a, 0x00400000, num(&l, 0), out);
    out = fe_minu(ir, out, num(&l, f->limit));
  } else {
    out = fe_minu(ir, round_magnitude(&l, f, a), num(&l, f->limit));
    if (f->inf)
      out = when(&l, FE_EQ, a, F32_INF, num(&l, f->max + 1), out);
    MlirValue sign = shift_left(&l, shift_right(&l, u, 31), f->bits - 1);
    MlirValue with_sign = fe_or(ir, out, sign);
    out = f->zero_nan ? when(&l, FE_EQ, out, 0, out, with_sign) : with_sign;
  }
  // Where -0 is NaN, infinity becomes NaN as well.
  out = when(&l, f->zero_nan ? FE_GE : FE_GT, a, F32_INF, num(&l, f->nan), out);
  MlirType t = mlirValueGetType(v);
  MlirType narrow = fe_type_like(ir, t, mlirIntegerTypeGet(ir->ctx, f->bits));
  out = fe_first(FE_OP(ir, "arith.trunci", FE_VALUES(out), FE_TYPES(narrow)));
  return fe_bitcast(ir, out, fe_type_like(ir, t, elem));
}
