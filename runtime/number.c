//===- number.c - numbers as texts -------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As ONNX Runtime has it: eight digits, INF, NaN; reading stops where the
// number does. The C library's functions follow the locale's decimal point, so
// it is put in and taken out.
//
//===----------------------------------------------------------------------===//
#include "run.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// For the text of any number; with a fixed number of digits f64 may have 309
/// before the point.
enum { ROOM = 32, FIXED_ROOM = 320 };

static int is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == 'e';
}

/// `digits` behind the point, in which form names of what has none are small;
/// -1: as many as f32 needs.
static int64_t print_float(char *out, double v, int64_t digits) {
  bool fixed = digits >= 0;
  if (v != v)
    return memcpy(out, fixed ? "nan" : "NaN", 3), 3;
  if (v - v != 0) {
    const char *name = fixed ? "-inf" : "-INF";
    memcpy(out, v < 0 ? name : name + 1, v < 0 ? 4 : 3);
    return v < 0 ? 4 : 3;
  }
  int64_t n = fixed ? snprintf(out, FIXED_ROOM, "%.*f", (int)digits, v)
                    : snprintf(out, ROOM, "%.8g", v);
  int64_t to = 0;
  for (int64_t i = 0; i < n; i++) {
    if (is_of_number(out[i]))
      out[to++] = out[i];
    else if (out[to - 1] != '.') // a point of several bytes is one
      out[to++] = '.';
  }
  return to;
}

static int64_t print(char *out, int32_t dtype, const void *data, int64_t i,
                     int64_t digits) {
  switch (dtype) {
  case FERRULE_F32:
    return print_float(out, ((const float *)data)[i], digits);
  case FERRULE_F64:
    return print_float(out, ((const double *)data)[i], digits);
  case FERRULE_U64:
    return snprintf(out, ROOM, "%llu",
                    (unsigned long long)((const uint64_t *)data)[i]);
  default:
    return snprintf(out, ROOM, "%lld", (long long)((const int64_t *)data)[i]);
  }
}

/// args: f32, f64, i64 or u64; texts. number: digits of floats.
int32_t fe_rt_number_print(fe_run *run, ferrule_tensor *args,
                           int64_t *numbers) {
  ferrule_string *out = args[1].data;
  int64_t n = fe_rt_count(&args[0]);
  char *at = fe_rt_object(run, n * (numbers[0] < 0 ? ROOM : FIXED_ROOM));
  if (!at)
    return FE_RUN_STATUS;
  for (int64_t i = 0; i < n; i++) {
    out[i] = (ferrule_string){
        at, print(at, args[0].dtype, args[0].data, i, numbers[0])};
    at += out[i].size;
  }
  return 0;
}

/// Puts the locale's decimal point in; 0: the text has none.
static int localize(char *text, size_t n, size_t room) {
  const char *point = localeconv()->decimal_point;
  char *dot = memchr(text, '.', n);
  size_t size = strlen(point);
  if (!dot || !strcmp(point, ".") || n + size >= room)
    return 0;
  memmove(dot + size, dot + 1, n - (size_t)(dot - text));
  memcpy(dot, point, size);
  return 1;
}

/// 1: not a number, or an integer that 64 bits do not hold.
static int32_t parse(char *text, size_t n, size_t room, int32_t dtype,
                     void *out, int64_t i) {
  char *end = text;
  errno = 0;
  if (dtype == FERRULE_F64) {
    localize(text, n, room);
    // Too large is infinity, too small zero or nearly so.
    ((double *)out)[i] = strtod(text, &end);
    errno = 0;
  } else if (dtype == FERRULE_U64) {
    ((uint64_t *)out)[i] = strtoull(text, &end, 10);
  } else {
    ((int64_t *)out)[i] = strtoll(text, &end, 10);
  }
  return end == text || errno == ERANGE;
}

/// args: texts; f64, i64 or u64. Message 1: a text is not such a number.
int32_t fe_rt_number_parse(fe_run *run, ferrule_tensor *args,
                           int64_t *numbers) {
  (void)numbers;
  const ferrule_string *in = args[0].data;
  int64_t n = fe_rt_count(&args[0]), longest = 0;
  for (int64_t i = 0; i < n; i++)
    longest = in[i].size > longest ? in[i].size : longest;
  // One place for all, with a zero behind and room for a decimal point.
  int64_t room = longest + 16;
  char *text = fe_rt_object(run, room);
  if (!text)
    return FE_RUN_STATUS;
  for (int64_t i = 0; i < n; i++) {
    if (in[i].size)
      memcpy(text, in[i].data, (size_t)in[i].size);
    text[in[i].size] = 0;
    if (parse(text, (size_t)in[i].size, (size_t)room, args[1].dtype,
              args[1].data, i))
      return 1;
  }
  return 0;
}
