//===- fold.c - index arithmetic on constants --------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes and subscripts are mostly known. Folding them while they are made
// keeps types static, where they follow from values, and the IR small.
//
//===----------------------------------------------------------------------===//
#include "ir/shape.h"

#include <string.h>

typedef bool (*fold_fn)(int64_t a, int64_t b, int64_t *out);

static bool add(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static bool sub(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_sub_overflow(a, b, out);
}
static bool mul(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
/// The divisions agree on what is not negative.
static bool divide(int64_t a, int64_t b, int64_t *out) {
  if (a < 0 || b <= 0)
    return false;
  *out = a / b;
  return true;
}
static bool ceiling(int64_t a, int64_t b, int64_t *out) {
  if (a < 0 || b <= 0)
    return false;
  *out = a / b + (a % b != 0);
  return true;
}
static bool remainder_of(int64_t a, int64_t b, int64_t *out) {
  if (a < 0 || b <= 0)
    return false;
  *out = a % b;
  return true;
}
static bool least(int64_t a, int64_t b, int64_t *out) {
  *out = a < b ? a : b;
  return true;
}
static bool greatest(int64_t a, int64_t b, int64_t *out) {
  *out = a > b ? a : b;
  return true;
}

static const struct {
  const char *name;
  fold_fn fold;
  bool left_zero, right_zero, right_one; // neutral operands
} rules[] = {
    {"arith.addi", add, true, true, false},
    {"arith.subi", sub, false, true, false},
    {"arith.muli", mul, false, false, true},
    {"arith.divsi", divide, false, false, true},
    {"arith.divui", divide, false, false, true},
    {"arith.floordivsi", divide, false, false, true},
    {"arith.ceildivsi", ceiling, false, false, true},
    {"arith.remsi", remainder_of, false, false, false},
    {"arith.remui", remainder_of, false, false, false},
    {"arith.minsi", least, false, false, false},
    {"arith.maxsi", greatest, false, false, false},
};

bool fe_fold_index(fe_ir *ir, const char *op, MlirValue a, MlirValue b,
                   MlirValue *out) {
  int64_t x = -1, y = -1, v;
  bool known_x = fe_const_int(a, &x), known_y = fe_const_int(b, &y);
  if (!known_x && !known_y)
    return false;
  for (size_t i = 0; i < FE_COUNT(rules); ++i) {
    if (strcmp(rules[i].name, op))
      continue;
    bool zero_left = rules[i].left_zero && known_x && x == 0;
    bool one_left = !strcmp(op, "arith.muli") && known_x && x == 1;
    if (known_x && known_y && rules[i].fold(x, y, &v))
      *out = fe_index(ir, v);
    else if (zero_left || one_left)
      *out = b;
    else if (known_y && ((rules[i].right_zero && y == 0) ||
                         (rules[i].right_one && y == 1)))
      *out = a;
    else
      return false;
    return true;
  }
  return false;
}
