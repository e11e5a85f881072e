//===- mersenne.c - the random numbers of a seed -----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MT19937: M. Matsumoto, T. Nishimura, "Mersenne Twister: A 623-dimensionally
// equidistributed uniform pseudorandom number generator", 1998; seeded as
// numpy.random.RandomState(seed) is, whose numbers these are. Two words make
// one number. Normal ones come in pairs by the polar method: G. Marsaglia, T.
// Bray, "A convenient method for generating normal variables", 1964.
//
// A number depends on all before it, so the kernels here are not parallel.
//
//===----------------------------------------------------------------------===//
#include "op/mersenne.h"

#include "op/common.h"

#define STATE_WORDS 625 // of the int32 tensor that holds the state

enum { N = STATE_WORDS - 1, M = 397, AT = N }; // AT: the next word's place

static MlirValue word(fe_ir *ir, int64_t v) { return fe_int(ir, ir->i32, v); }

static MlirValue get(fe_ir *ir, MlirValue state, MlirValue i) {
  return fe_load(ir, state, 1, &i);
}

static void put(fe_ir *ir, MlirValue state, MlirValue i, MlirValue v) {
  fe_store(ir, v, state, 1, &i);
}

static MlirValue shifted_xor(fe_ir *ir, MlirValue v, unsigned right) {
  return fe_xor(ir, v, fe_shru(ir, v, word(ir, right)));
}

/// Writes the state of `seed`; in a kernel.
static void seed_state(fe_ir *ir, MlirValue state, uint32_t seed) {
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue first = word(ir, (int32_t)seed);
  put(ir, state, zero, first);
  fe_region r = fe_for_begin(ir, one, fe_index(ir, N), one, 1, &first);
  MlirValue v = shifted_xor(ir, fe_block_arg(r.body, 1), 30);
  v = fe_add(ir, fe_mul(ir, v, word(ir, 1812433253)),
             fe_convert(ir, r.iv, ir->i32, false, false));
  put(ir, state, r.iv, v);
  fe_for_end(ir, &r, 1, &v);
  put(ir, state, fe_index(ir, AT), word(ir, N));
}

/// (i + by) mod N, for i and by below N.
static MlirValue around(fe_ir *ir, MlirValue i, int64_t by) {
  MlirValue sum = fe_add(ir, i, fe_index(ir, by)), n = fe_index(ir, N);
  return fe_select(ir, fe_cmp(ir, FE_GE, sum, n), fe_sub(ir, sum, n), sum);
}

/// Makes the next N words.
static void refill(fe_ir *ir, MlirValue state) {
  fe_region r = fe_loop(ir, fe_index(ir, N));
  MlirValue high = fe_and(ir, get(ir, state, r.iv), word(ir, INT32_MIN));
  MlirValue low =
      fe_and(ir, get(ir, state, around(ir, r.iv, 1)), word(ir, INT32_MAX));
  MlirValue y = fe_or(ir, high, low);
  MlirValue odd = fe_cmp(ir, FE_NE, fe_and(ir, y, word(ir, 1)), word(ir, 0));
  MlirValue twist =
      fe_select(ir, odd, word(ir, (int32_t)0x9908b0dfu), word(ir, 0));
  MlirValue v = fe_xor(ir, get(ir, state, around(ir, r.iv, M)),
                       fe_shru(ir, y, word(ir, 1)));
  put(ir, state, r.iv, fe_xor(ir, v, twist));
  fe_loop_end(ir, &r);
}

/// Word i, tempered, without its lowest `drop` bits, as f64.
static MlirValue tempered(fe_ir *ir, MlirValue state, MlirValue i,
                          unsigned drop) {
  static const struct {
    unsigned left;
    uint32_t mask;
  } steps[] = {{7, 0x9d2c5680u}, {15, 0xefc60000u}};
  MlirValue y = shifted_xor(ir, get(ir, state, i), 11);
  for (size_t k = 0; k < FE_COUNT(steps); ++k)
    y = fe_xor(ir, y,
               fe_and(ir, fe_shl(ir, y, word(ir, steps[k].left)),
                      word(ir, (int32_t)steps[k].mask)));
  y = fe_shru(ir, shifted_xor(ir, y, 18), word(ir, drop));
  return fe_convert(ir, y, ir->f64, true, false);
}

/// Next number in [0, 1), f64 with 53 random bits.
static MlirValue next_number(fe_ir *ir, MlirValue state) {
  MlirValue at = fe_index(ir, AT), one = fe_index(ir, 1);
  // N is even and two words are taken at a time.
  MlirValue used = fe_cmp(ir, FE_GE, get(ir, state, at), word(ir, N));
  fe_region r = fe_if_begin(ir, used, 0, NULL, false);
  refill(ir, state);
  put(ir, state, at, word(ir, 0));
  fe_if_end(ir, &r, 0, NULL);
  MlirValue next = get(ir, state, at), i = fe_to_index(ir, next);
  put(ir, state, at, fe_add(ir, next, word(ir, 2)));
  MlirValue a = tempered(ir, state, i, 5);
  MlirValue b = tempered(ir, state, fe_add(ir, i, one), 6);
  MlirValue bits = fe_add(ir, fe_mul(ir, a, fe_float(ir, ir->f64, 0x1p26)), b);
  return fe_mul(ir, bits, fe_float(ir, ir->f64, 0x1p-53));
}

/// Two normally distributed numbers: a point of the unit circle but for its
/// middle, tried until one is found.
static void next_pair(fe_ir *ir, MlirValue state, MlirValue out[2]) {
  MlirType t = ir->f64;
  MlirValue one = fe_float(ir, t, 1), two = fe_float(ir, t, 2), x[3];
  fe_region w = fe_while_begin(ir, 0, NULL);
  for (unsigned i = 0; i < 2; ++i)
    x[i] = fe_sub(ir, fe_mul(ir, two, next_number(ir, state)), one);
  // Not fused: the sums are those of separate operations.
  MlirValue squares[2];
  for (unsigned i = 0; i < 2; ++i)
    squares[i] =
        fe_first(FE_OP(ir, "arith.mulf", FE_VALUES(x[i], x[i]), FE_TYPES(t)));
  x[2] = fe_add(ir, squares[0], squares[1]);
  MlirValue outside = fe_or(ir, fe_cmp(ir, FE_GE, x[2], one),
                            fe_cmp(ir, FE_EQ, x[2], fe_float(ir, t, 0)));
  fe_while_do(ir, &w, outside, 3, x);
  fe_while_end(ir, &w, 0, NULL);
  for (unsigned i = 0; i < 3; ++i)
    x[i] = fe_result(w.op, i);
  MlirValue log = fe_mul(ir, fe_float(ir, t, -2), fe_math(ir, "log", x[2]));
  MlirValue factor = fe_math(ir, "sqrt", fe_div(ir, log, x[2]));
  out[0] = fe_mul(ir, factor, x[1]);
  out[1] = fe_mul(ir, factor, x[0]);
}

MlirValue fe_mersenne_numbers(fe_lower *l, uint32_t seed, bool is_normal,
                              MlirValue count) {
  fe_ir *ir = l->ir;
  MlirValue words = fe_index(ir, STATE_WORDS);
  MlirValue out[2] = {fe_tensor_empty(l, FE_F64, 1, &count),
                      fe_tensor_empty(l, FE_I32, 1, &words)};
  fe_kernel k;
  fe_kernel_begin(&k, l, is_normal ? "mersenne_normal" : "mersenne", 0, NULL, 2,
                  out, 0, NULL);
  seed_state(ir, k.out[1], seed);
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue n = fe_dim(ir, k.out[0], 0);
  fe_region each =
      fe_for_begin(ir, zero, n, fe_index(ir, is_normal ? 2 : 1), 0, NULL);
  if (is_normal) {
    MlirValue pair[2], next = fe_add(ir, each.iv, one);
    next_pair(ir, k.out[1], pair);
    put(ir, k.out[0], each.iv, pair[0]);
    fe_region more =
        fe_if_begin(ir, fe_cmp(ir, FE_LT, next, n), 0, NULL, false);
    put(ir, k.out[0], next, pair[1]);
    fe_if_end(ir, &more, 0, NULL);
  } else {
    put(ir, k.out[0], each.iv, next_number(ir, k.out[1]));
  }
  fe_loop_end(ir, &each);
  fe_kernel_end(&k, (MlirAffineExpr){0},
                fe_dim_mul(fe_kernel_dim(&k, 0, 0), fe_dim_const(ir, 30)));
  return k.result[0];
}
