//===- number_find.c - numbers among sorted keys -----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumberFind is an operator of Ferrule's own: the place of each element among
// keys in ascending order, all different, or how many keys there are when it is
// none of them. A NaN is the last one, and equal to any NaN. The search is
// written out, a step for each bit of the number of keys, so that it fuses with
// what is around it.
//
//===----------------------------------------------------------------------===//
#include "op/ml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static fe_status infer_find(fe_infer *f) {
  fe_dims d, keys;
  if (fe_in_dims(f, 0, &d) || fe_in_dims(f, 1, &keys))
    return FE_FAILED;
  if (keys.rank != 1 || fe_dim_static(keys.d[0]) < 1)
    return fe_infer_error(f, NULL, "there must be a known number of keys");
  fe_out_tensor(f, 0, FE_I64, &d);
  return FE_OK;
}

static fe_status lower_find(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_out_rank(l, 0);
  fe_dtype t = l->in_type[0];
  int64_t n;
  MlirValue sizes[FE_MAX_RANK], keys = l->in[1];
  for (unsigned i = 0; i < rank; ++i)
    sizes[i] = fe_size(l, l->in[0], i);
  if (!fe_size_known(fe_size(l, keys, 0), &n))
    return fe_lower_error(l, NULL, "the number of keys is not known");
  MlirAffineMap map = mlirAffineMapMultiDimIdentityGet(ir->ctx, rank);
  fe_generic *g = fe_generic_begin(l, rank, sizes, 1, l->in, &t, &map);
  MlirValue x = fe_arg(g, 0), at = fe_index(ir, 0), last = fe_index(ir, n - 1);
  int64_t step = 1;
  while (2 * step < n)
    step *= 2;
  // The last key that is not above x.
  for (; step && n > 1; step /= 2) {
    MlirValue next = fe_add(ir, at, fe_index(ir, step));
    MlirValue place = fe_min(ir, next, last);
    MlirValue key = fe_at(g, keys, t, 1, &place);
    at = fe_select(
        ir,
        fe_and(ir, fe_cmp(ir, FE_LE, next, last), fe_cmp(ir, FE_LE, key, x)),
        next, at);
  }
  if (fe_dtype_is_float(t)) // NaN is above nothing, but would be the last key
    at = fe_select(ir, fe_not(ir, fe_cmp(ir, FE_EQ, x, x)), last, at);
  MlirValue key = fe_at(g, keys, t, 1, &at);
  MlirValue same = fe_cmp(ir, FE_EQ, key, x);
  if (fe_dtype_is_float(t))
    same = fe_or(ir, same,
                 fe_not(ir, fe_or(ir, fe_cmp(ir, FE_EQ, key, key),
                                  fe_cmp(ir, FE_EQ, x, x))));
  MlirValue found = fe_select(ir, same, at, fe_index(ir, n));
  l->out[0] = fe_generic_end(
      g, FE_I64, fe_convert(ir, found, fe_elem_type(ir, FE_I64), false, false));
  return FE_OK;
}

//===-- Tables --------------------------------------------------------------//

typedef struct key {
  double real;
  int64_t whole, number;
} key;

static int by_key(const void *a, const void *b) {
  const key *x = a, *y = b;
  if (isnan(x->real) != isnan(y->real))
    return isnan(x->real) ? 1 : -1;
  if (!isnan(x->real) && x->real != y->real)
    return x->real > y->real ? 1 : -1;
  if (x->whole != y->whole)
    return x->whole > y->whole ? 1 : -1;
  return x->number > y->number ? 1 : -1;
}

static bool same_key(const key *x, const key *y) {
  return x->whole == y->whole &&
         (x->real == y->real || (isnan(x->real) && isnan(y->real)));
}

MlirValue fe_number_find(fe_ir *ir, MlirValue x, MlirValue table) {
  fe_const c;
  if (fe_is_null(x) || !fe_const_of(ir, table, &c) || !c.count)
    return (MlirValue){0};
  bool real = fe_dtype_is_float(c.dtype);
  key *keys = FE_NEW_N(ir->arena, key, (size_t)c.count);
  for (int64_t i = 0; i < c.count; ++i)
    keys[i] = (key){real ? fe_const_f64(&c, i) : 0,
                    real ? 0 : fe_const_i64(&c, i), i};
  qsort(keys, (size_t)c.count, sizeof *keys, by_key);
  int64_t n = 0;
  for (int64_t i = 0; i < c.count; ++i)
    if (!i || !same_key(&keys[i], &keys[n - 1]))
      keys[n++] = keys[i];
  int64_t *numbers = FE_NEW_N(ir->arena, int64_t, (size_t)n + 1);
  size_t bytes = fe_dtype_bits(c.dtype) / 8;
  char *sorted = FE_NEW_N(ir->arena, char, (size_t)n *bytes + 8);
  for (int64_t i = 0; i < n; ++i) {
    numbers[i] = keys[i].number;
    memcpy(sorted + (size_t)i * bytes,
           (const char *)c.data + (size_t)keys[i].number * bytes, bytes);
  }
  numbers[n] = c.count;
  MlirValue place = fe_onnx1(ir, "ml_number_find", x,
                             fe_constant(ir, NULL, c.dtype, 1, &n, sorted));
  int64_t all = n + 1;
  return fe_onnx1(ir, "Gather", fe_constant(ir, NULL, FE_I64, 1, &all, numbers),
                  place);
}

const fe_op_row fe_family_number_find[] = {
    {.name = "NumberFind",
     .domain = "ai.onnx.ml",
     .since = 1,
     .inputs = "X:T, keys:T",
     .outputs = "place:I",
     .types = "T=f32,f64,i64,i32,i16;I=i64",
     .infer = infer_find,
     .lower = lower_find,
     .limits = "internal: of LabelEncoder, CategoryMapper"},
    {0}};
