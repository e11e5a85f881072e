//===- compare.c - a result against the expected one -------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rule of the official runner (numpy.testing.assert_allclose):
// |got - want| <= atol + rtol * |want|, NaN equals NaN, infinities are equal
// when they are the same.
//
//===----------------------------------------------------------------------===//
#include "conformance.h"

#include <math.h>
#include <string.h>

static const double rtol = 1e-3, atol = 1e-7;

static double from_half(uint16_t h) {
  int exponent = h >> 10 & 31, mantissa = h & 1023;
  double v = exponent == 31  ? (mantissa ? NAN : INFINITY)
             : exponent == 0 ? ldexp(mantissa, -24)
                             : ldexp(mantissa + 1024, exponent - 25);
  return h >> 15 ? -v : v;
}

static double from_bfloat(uint16_t b) {
  uint32_t bits = (uint32_t)b << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return (double)f;
}

/// Element i as a double; only for the types with a tolerance.
static double element(const void *data, fe_dtype t, int64_t i) {
  union {
    float f;
    double d;
    uint16_t u;
  } v;
  size_t size = fe_dtype_bytes(t);
  memcpy(&v, (const char *)data + (size_t)i * size, size);
  return t == FE_F32   ? (double)v.f
         : t == FE_F64 ? v.d
         : t == FE_F16 ? from_half(v.u)
                       : from_bfloat(v.u);
}

static bool has_tolerance(fe_dtype t) {
  return t == FE_F32 || t == FE_F64 || t == FE_F16 || t == FE_BF16;
}

static const char *shape_text(fe_arena *arena, unsigned rank,
                              const int64_t *dims) {
  fe_buf b = {0};
  for (unsigned i = 0; i < rank; i++)
    fe_buf_printf(arena, &b, "%s%lld", i ? "x" : "", (long long)dims[i]);
  return rank ? b.at : "scalar";
}

static const char *compare_floats(fe_arena *arena, const void *got,
                                  const fe_tensor *want) {
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < want->count; i++) {
    double g = element(got, want->dtype, i);
    double w = element(want->data, want->dtype, i);
    bool same = isnan(w)   ? isnan(g)
                : isinf(w) ? g == w
                           : fabs(g - w) <= atol + rtol * fabs(w);
    if (!same && wrong++ == 0)
      first = i;
  }
  if (!wrong)
    return NULL;
  return fe_printf(arena, "%lld of %lld differ, [%lld] is %g, should be %g",
                   (long long)wrong, (long long)want->count, (long long)first,
                   element(got, want->dtype, first),
                   element(want->data, want->dtype, first));
}

/// Complex numbers as pairs of real ones.
static fe_tensor numbers_of(const fe_tensor *t) {
  fe_tensor out = *t;
  if (t->dtype == FE_C64 || t->dtype == FE_C128) {
    out.dtype = t->dtype == FE_C64 ? FE_F32 : FE_F64;
    out.count *= 2;
  }
  return out;
}

/// Whether the byte is a NaN of a float8 type: each has its own, several with
/// different signs or payloads, all of which stand for the same.
static bool is_nan8(fe_dtype t, unsigned char b) {
  switch (t) {
  case FE_F8E4M3FN:
    return (b & 0x7f) == 0x7f;
  case FE_F8E5M2:
    return (b & 0x7c) == 0x7c && (b & 3);
  case FE_F8E4M3FNUZ:
  case FE_F8E5M2FNUZ:
    return b == 0x80;
  default:
    return false;
  }
}

static const char *compare_strings(fe_arena *arena, const ferrule_string *got,
                                   const fe_tensor *want) {
  for (int64_t i = 0; i < want->count; i++) {
    const fe_raw *w = &want->text[i];
    if (got[i].size != (int64_t)w->n ||
        (w->n && memcmp(got[i].data, w->at, w->n)))
      return fe_printf(arena, "[%lld] is \"%.*s\", should be \"%.*s\"",
                       (long long)i, (int)got[i].size, got[i].data, (int)w->n,
                       (const char *)w->at);
  }
  return NULL;
}

const char *compare_values(fe_arena *arena, const ferrule_tensor *got,
                           const fe_value *want) {
  if (want->kind == FE_VALUE_TENSOR)
    return compare(arena, got, &want->tensor);
  bool sequence = want->kind == FE_VALUE_SEQUENCE;
  if (got->dtype != (sequence ? FERRULE_SEQUENCE : FERRULE_OPTIONAL))
    return fe_printf(arena, "type is %d, should be %s", got->dtype,
                     sequence ? "a sequence" : "an optional");
  const void *object = *(const void *const *)got->data;
  const ferrule_sequence *s = object;
  const ferrule_tensor *items = sequence ? s->items : object;
  size_t n = sequence ? (size_t)s->count : object != NULL;
  if (n != want->n)
    return fe_printf(arena, "has %zu items, should have %zu", n, want->n);
  for (size_t i = 0; i < n; i++) {
    const char *why = compare_values(arena, &items[i], &want->items[i]);
    if (why)
      return fe_printf(arena, "item %zu: %s", i, why);
  }
  return NULL;
}

const char *compare(fe_arena *arena, const ferrule_tensor *got,
                    const fe_tensor *want) {
  if (got->dtype != (int32_t)want->dtype)
    return fe_printf(arena, "type is %s, should be %s",
                     fe_dtype_name((fe_dtype)got->dtype),
                     fe_dtype_name(want->dtype));
  if (got->rank != (int32_t)want->rank ||
      memcmp(got->dims, want->dims, want->rank * sizeof *want->dims) != 0)
    return fe_printf(arena, "shape is %s, should be %s",
                     shape_text(arena, (unsigned)got->rank, got->dims),
                     shape_text(arena, want->rank, want->dims));
  if (want->dtype == FE_STRING)
    return compare_strings(arena, got->data, want);
  fe_tensor numbers = numbers_of(want);
  if (has_tolerance(numbers.dtype))
    return compare_floats(arena, got->data, &numbers);
  const unsigned char *g = got->data, *w = want->data;
  size_t bytes = fe_dtype_bytes(want->dtype);
  unsigned bits = fe_dtype_bits(want->dtype);
  unsigned mask = bits < 8 ? (1u << bits) - 1 : 0xff; // bits that count
  for (size_t i = 0; i < want->size; i++)
    if ((g[i] ^ w[i]) & mask &&
        !(is_nan8(want->dtype, g[i]) && is_nan8(want->dtype, w[i])))
      return fe_printf(arena, "[%zu] differs (byte %02x, should be %02x)",
                       i / bytes, g[i], w[i]);
  return NULL;
}

bool admissible(const ferrule_tensor *got, const fe_tensor *want) {
  if (got->dtype != (int32_t)want->dtype || got->rank != (int32_t)want->rank ||
      memcmp(got->dims, want->dims, want->rank * sizeof *want->dims) != 0 ||
      !has_tolerance(want->dtype))
    return false;
  double low = INFINITY, high = -INFINITY;
  bool whole = true;
  for (int64_t i = 0; i < want->count; i++) {
    double w = element(want->data, want->dtype, i);
    whole = whole && w == floor(w);
    low = fmin(low, w);
    high = fmax(high, w);
  }
  for (int64_t i = 0; i < want->count; i++) {
    double g = element(got->data, want->dtype, i);
    if (!isfinite(g) || (whole && (g != floor(g) || g < low || g > high)))
      return false;
  }
  return true;
}
