//===- gradient_attention.c - Attention by other operators -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two products around a softmax, on [batch][heads][sequence][size]. What may
// not be attended gets a very low score and its share is then put to 0, so that
// rows without anything to attend have no derivatives. Halves are computed as
// f32, as the operator does.
//
//===----------------------------------------------------------------------===//
#include "import/gradient.h"

#include <math.h>
#include <string.h>

enum { Q, K, V, MASK, PAST_K, PAST_V, NONPAD };

typedef struct attention {
  const fe_step *s; // of the op, its dy of the type that is computed in
  fe_dtype type;
  MlirValue q, k, v;
  MlirValue batch, heads, kv_heads, rows, total; // lists of one
  MlirValue past;                                // length of it; null: none
} attention;

/// Operand i of rank 4, in its own type.
static MlirValue in_heads(const fe_step *s, unsigned i, const char *heads) {
  static const int64_t perm[4] = {0, 2, 1, 3};
  MlirValue v = fe_d_operand(s, i), shape = fe_d_one(s, "Shape", v);
  if (fe_rank(v) == 4)
    return v;
  MlirValue n = fe_d_int(s, fe_attr_i64(s->op, heads, 1));
  MlirValue parts[4] = {fe_d_size_at(s, shape, 0), fe_d_size_at(s, shape, 1), n,
                        fe_d_two(s, "Div", fe_d_size_at(s, shape, 2), n)};
  v = fe_d_in_shape(s, v, fe_d_concat(s, 4, parts, 0));
  return fe_d_transposed(s, v, 4, perm);
}

static MlirValue behind(const fe_step *s, unsigned past, MlirValue v) {
  MlirValue parts[2] = {fe_d_operand(s, past), v};
  return fe_is_null(parts[0]) ? v : fe_d_concat(s, 2, parts, 2);
}

static MlirValue in_type(const fe_step *s, MlirValue v, fe_dtype t) {
  return fe_d_type(v) == t ? v : fe_d_cast(s, v, t);
}

static MlirValue shaped(const attention *a, MlirValue v, MlirValue heads,
                        MlirValue rows, MlirValue size) {
  MlirValue parts[4] = {a->batch, heads, rows, size};
  return fe_d_in_shape(a->s, v, fe_d_concat(a->s, 4, parts, 0));
}
/// For each head of `by` the product of those of x that share it.
static MlirValue product(const attention *a, MlirValue x, MlirValue by) {
  const fe_step *s = a->s;
  fe_dims d, e;
  if (fe_dims_of(s->ir, x, &d) && fe_dims_of(s->ir, by, &e) &&
      fe_dim_same(d.d[1], e.d[1]))
    return fe_d_two(s, "MatMul", x, by);
  MlirValue one = fe_d_int(s, 1);
  MlirValue some = fe_d_two(s, "Max", a->kv_heads, one);
  MlirValue wide = fe_d_mul(s, fe_d_two(s, "Div", a->heads, some), a->rows);
  MlirValue inner = fe_d_size_at(s, fe_d_one(s, "Shape", x), 3);
  MlirValue columns = fe_d_size_at(s, fe_d_one(s, "Shape", by), 3);
  x = fe_d_two(s, "MatMul", shaped(a, x, a->kv_heads, wide, inner), by);
  return shaped(a, x, a->heads, a->rows, columns);
}

//===-- What may be attended ------------------------------------------------//

static MlirValue both(const fe_step *s, MlirValue a, MlirValue b) {
  return fe_is_null(a) ? b : fe_is_null(b) ? a : fe_d_two(s, "And", a, b);
}
static MlirValue scalar(const fe_step *s, MlirValue list) {
  return fe_d_in_shape(s, list, fe_constant_i64s(s->ir, 0, NULL));
}
static MlirValue numbers_to(const fe_step *s, MlirValue end) {
  return fe_onnx1(s->ir, "Range", fe_constant_scalar(s->ir, FE_I64, 0),
                  scalar(s, end), fe_constant_scalar(s->ir, FE_I64, 1));
}

/// Frontiers: a bool for what of [batch][1][rows][total] is before them; null:
/// all.
static MlirValue in_sight(const attention *a) {
  const fe_step *s = a->s;
  static const int64_t outer[3] = {1, 2, 3}, column = 1;
  bool causal = fe_attr_i64(s->op, "is_causal", 0);
  int64_t left = fe_attr_i64(s->op, "left_window_size", -1);
  int64_t right = fe_attr_i64(s->op, "right_window_size", -1);
  MlirValue counts = fe_d_operand(s, NONPAD), ok = {0};
  MlirValue keys = numbers_to(s, a->total);
  if (!fe_is_null(counts)) {
    counts =
        fe_d_two(s, "Unsqueeze", counts, fe_constant_i64s(s->ir, 3, outer));
    ok = fe_d_two(s, "Less", keys, counts);
  }
  if (!causal && left < 0 && right < 0)
    return ok;
  MlirValue at = fe_d_two(s, "Unsqueeze", numbers_to(s, a->rows),
                          fe_constant_i64s(s->ir, 1, &column));
  if (!fe_is_null(a->past))
    at = fe_d_two(s, "Add", at, a->past);
  else if (!fe_is_null(counts))
    at = fe_d_two(s, "Add", at, fe_d_two(s, "Sub", counts, a->rows));
  if (causal)
    ok = both(s, ok, fe_d_two(s, "LessOrEqual", keys, at));
  if (left >= 0)
    ok = both(s, ok,
              fe_d_two(s, "GreaterOrEqual",
                       fe_d_two(s, "Add", keys, fe_d_int(s, left)), at));
  if (right >= 0)
    ok = both(s, ok,
              fe_d_two(s, "LessOrEqual", keys,
                       fe_d_two(s, "Add", at, fe_d_int(s, right))));
  return ok;
}

/// v, a mask, as long as there are keys; what is put in is 0.
static MlirValue for_all_keys(const attention *a, MlirValue v) {
  const fe_step *s = a->s;
  fe_dims d, k;
  if (fe_dims_of(s->ir, v, &d) && fe_dims_of(s->ir, a->k, &k) &&
      fe_dim_same(d.d[d.rank - 1], k.d[2]))
    return v;
  MlirValue have = fe_d_size_at(s, fe_d_one(s, "Shape", v), d.rank - 1);
  MlirValue pads[2] = {fe_d_int(s, 0), fe_d_two(s, "Sub", a->total, have)};
  MlirValue in[4] = {
      v, fe_d_concat(s, 2, pads, 0), {0}, fe_d_int(s, d.rank - 1)};
  return fe_first(fe_onnx(s->ir, "Pad", 4, in, 1, 0, NULL));
}

/// *ok: what it lets through. Gives what it adds to the scores; null: nothing.
static MlirValue mask_of(const attention *a, MlirValue *ok) {
  const fe_step *s = a->s;
  MlirValue mask = fe_d_operand(s, MASK), numbers = {0};
  if (fe_d_type(mask) != FE_BOOL) {
    numbers = in_type(s, mask, a->type);
    mask = fe_d_one(s, "Not",
                    fe_d_two(s, "Equal", numbers, fe_d_number(s, -INFINITY)));
    numbers = fe_d_where(s, mask, numbers, fe_d_number(s, 0));
    numbers = for_all_keys(a, numbers);
  }
  mask = for_all_keys(a, fe_d_cast(s, mask, FE_I64));
  *ok = both(s, *ok, fe_d_cast(s, mask, FE_BOOL));
  return numbers;
}

//===-- All of it -----------------------------------------------------------//

static MlirValue scaled(const attention *a, MlirValue q) {
  const fe_step *s = a->s;
  double scale = fe_attr_f64(s->op, "scale", 0);
  if (scale != 0)
    return fe_d_scaled(s, scale, q);
  MlirValue size = fe_d_size_at(s, fe_d_one(s, "Shape", q), 3);
  size = fe_d_one(s, "Sqrt", fe_d_cast(s, size, a->type));
  return fe_d_two(s, "Div", q, size);
}

static MlirValue attended(const attention *a) {
  static const int64_t perm[4] = {0, 2, 1, 3};
  const fe_step *s = a->s;
  MlirValue x = product(a, scaled(a, a->q), fe_d_flipped(s, a->k));
  double cap = fe_attr_f64(s->op, "softcap", 0);
  if (cap > 0)
    x = fe_d_scaled(s, cap, fe_d_one(s, "Tanh", fe_d_scaled(s, 1 / cap, x)));
  MlirValue ok = in_sight(a);
  if (!fe_is_null(fe_d_operand(s, MASK))) {
    MlirValue numbers = mask_of(a, &ok);
    x = fe_is_null(numbers) ? x : fe_d_two(s, "Add", x, numbers);
  }
  if (!fe_is_null(ok))
    x = fe_d_where(s, ok, x, fe_d_number(s, -1e37));
  x = fe_d_one(s, "Softmax", x);
  if (!fe_is_null(ok))
    x = fe_d_where(s, ok, x, fe_d_number(s, 0));
  x = product(a, x, a->v);
  if (fe_rank(s->y) == 4)
    return x;
  return fe_d_reshaped(s, fe_d_transposed(s, x, 4, perm), s->y);
}

static bool as_attention(const fe_step *s, MlirValue *y) {
  attention a = {.type = fe_d_type(s->x[Q])};
  fe_step in = *s;
  a.k = behind(s, PAST_K, in_heads(s, K, "kv_num_heads"));
  a.v = behind(s, PAST_V, in_heads(s, V, "kv_num_heads"));
  y[1] = a.k;
  y[2] = a.v;
  if (a.type == FE_F16 || a.type == FE_BF16)
    a.type = FE_F32;
  a.s = &in;
  a.q = in.dy = in_type(s, in_heads(s, Q, "q_num_heads"), a.type);
  a.k = in_type(s, a.k, a.type);
  a.v = in_type(s, a.v, a.type);
  MlirValue q = fe_d_one(s, "Shape", a.q), k = fe_d_one(s, "Shape", a.k);
  a.batch = fe_d_size_at(s, q, 0);
  a.heads = fe_d_size_at(s, q, 1);
  a.rows = fe_d_size_at(s, q, 2);
  a.kv_heads = fe_d_size_at(s, k, 1);
  a.total = fe_d_size_at(s, k, 2);
  MlirValue past = fe_d_operand(s, PAST_K);
  if (!fe_is_null(past))
    a.past = fe_d_size_at(s, fe_d_one(s, "Shape", past), 2);
  y[0] = in_type(s, attended(&a), fe_d_type(s->y));
  return true;
}

const fe_derivative fe_d_attention[] = {{"Attention", .as_all = as_attention},
                                        {0}};
