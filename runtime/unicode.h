//===- unicode.h - characters of UTF-8 ---------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Also for the compiler, which prepares constants as the run sees them.
//
//===----------------------------------------------------------------------===//
#ifndef FE_UNICODE_H
#define FE_UNICODE_H

#include "ferrule/model.h"
#include "unicode_case.h"

#include <string.h>

/// Bytes of the first character; 0: it is malformed, or there is none.
static inline int64_t fe_utf8_decode(const char *at, int64_t n, uint32_t *out) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const uint8_t *s = (const uint8_t *)at;
  if (n < 1)
    return 0;
  *out = s[0];
  if (s[0] < 0x80)
    return 1;
  int64_t size = s[0] < 0xc0   ? 0
                 : s[0] < 0xe0 ? 2
                 : s[0] < 0xf0 ? 3
                 : s[0] < 0xf8 ? 4
                               : 0;
  if (!size || size > n)
    return 0;
  uint32_t c = s[0] & (0x7fu >> size);
  for (int64_t i = 1; i < size; i++) {
    if ((s[i] & 0xc0) != 0x80)
      return 0;
    c = c << 6 | (s[i] & 0x3f);
  }
  *out = c;
  return c < least[size] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0
                                                                        : size;
}

/// Writes at most 4 bytes; gives their number.
static inline int64_t fe_utf8_encode(char *at, uint32_t c) {
  static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  int64_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (int64_t i = size - 1; i > 0; i--, c >>= 6)
    at[i] = (char)(0x80 | (c & 0x3f));
  at[0] = (char)(lead[size] | c);
  return size;
}

static inline int fe_is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 ||
         c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

typedef enum fe_case { FE_CASE_AS_IS, FE_CASE_LOWER, FE_CASE_UPPER } fe_case;

static inline uint32_t fe_change_case(uint32_t c, fe_case to) {
  const fe_case_row *rows = to == FE_CASE_LOWER ? fe_case_lower : fe_case_upper;
  size_t low = 0, high = to == FE_CASE_LOWER
                             ? sizeof fe_case_lower / sizeof *rows
                             : sizeof fe_case_upper / sizeof *rows;
  while (low < high) { // the first row that begins behind c
    size_t middle = (low + high) / 2;
    if (rows[middle].first <= c)
      low = middle + 1;
    else
      high = middle;
  }
  if (!low)
    return c;
  const fe_case_row *r = &rows[low - 1];
  uint32_t far = c - r->first;
  return far % r->step == 0 && far / r->step < r->count
             ? (uint32_t)((int64_t)c + r->difference)
             : c;
}

/// Writes at most twice as many bytes; gives their number. -1: not UTF-8.
static inline int64_t fe_text_change_case(const ferrule_string *s, fe_case to,
                                          char *out) {
  int64_t at = 0, n = 0;
  while (at < s->size) {
    uint32_t c;
    int64_t size = fe_utf8_decode(s->data + at, s->size - at, &c);
    if (!size)
      return -1;
    at += size;
    n += fe_utf8_encode(out + n,
                        to == FE_CASE_AS_IS ? c : fe_change_case(c, to));
  }
  return n;
}

/// By bytes, which is the order of the characters.
static inline int fe_string_compare(const ferrule_string *a,
                                    const ferrule_string *b) {
  size_t n = (size_t)(a->size < b->size ? a->size : b->size);
  int c = n ? memcmp(a->data, b->data, n) : 0;
  return c ? c : (a->size > b->size) - (a->size < b->size);
}

/// Number of `s` among rising keys; n when it is not there.
static inline int64_t fe_string_find(const ferrule_string *s,
                                     const ferrule_string *keys, int64_t n) {
  int64_t low = 0, high = n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (fe_string_compare(&keys[middle], s) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low < n && !fe_string_compare(&keys[low], s) ? low : n;
}

#endif
