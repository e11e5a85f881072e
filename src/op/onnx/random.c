//===- random.c - random numbers, Bernoulli, Multinomial, Dropout -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A node with a seed has the numbers that numpy.random.RandomState(seed) gives,
// as in onnx's reference implementation (mersenne.c). One without has for
// element i a hash (the finalizer of SplitMix64) of i and of its name and place
// in the model: two such nodes differ, two runs do not, whatever the number of
// threads.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/lowering.h"
#include "op/mersenne.h"

#include <math.h>
#include <string.h>

//===-- Seeds ---------------------------------------------------------------//

/// Only a node that has a seed says so.
static fe_status upgrade_seed(fe_node *n) {
  if (fe_node_attr_find(n, "seed"))
    fe_node_set_int(n, "seeded", 1);
  return FE_OK;
}

/// The seed that the node has: a float, in Dropout an integer.
static bool has_seed(fe_lower *l, uint32_t *out) {
  if (!fe_attr_i64(l->op, "seeded", 0))
    return false;
  double real = fe_attr_f64(l->op, "seed", 0);
  int64_t whole = fe_attr_i64(l->op, "seed", 0);
  if (isnan(real)) // stands for none
    return false;
  if (fabs(real) < 0x1p63 && real != 0)
    whole = (int64_t)real;
  *out = (uint32_t)whole;
  return true;
}

/// `draw`: copies of the op, for derivatives, have the same numbers.
static int64_t seed_of(fe_lower *l) {
  const fe_lowering *s = l->state;
  const char *node = l->where.node ? l->where.node : "";
  uint64_t draw = (uint64_t)fe_attr_i64(l->op, "draw", 0) << 32;
  return (int64_t)fe_hash(node, strlen(node), draw ? draw : s->n_kernels);
}

static MlirValue mixed(fe_ir *ir, MlirValue z, unsigned shift, uint64_t by) {
  z = fe_xor(ir, z, fe_shru(ir, z, fe_int(ir, ir->i64, shift)));
  return by ? fe_mul(ir, z, fe_int(ir, ir->i64, (int64_t)by)) : z;
}

/// Evenly distributed 64 bits for `counter` (i64).
static MlirValue random_bits(fe_ir *ir, int64_t seed, MlirValue counter) {
  MlirValue step = fe_int(ir, ir->i64, (int64_t)0x9e3779b97f4a7c15u);
  MlirValue z =
      fe_add(ir, fe_int(ir, ir->i64, seed), fe_mul(ir, counter, step));
  z = mixed(ir, z, 30, 0xbf58476d1ce4e5b9u);
  z = mixed(ir, z, 27, 0x94d049bb133111ebu);
  return mixed(ir, z, 31, 0);
}

/// In [0, 1), of the float type t.
static MlirValue unit(fe_ir *ir, MlirType t, int64_t seed, MlirValue counter) {
  bool wide = mlirTypeEqual(t, ir->f64);
  unsigned bits = wide ? 53 : 24;
  MlirValue z = fe_shru(ir, random_bits(ir, seed, counter),
                        fe_int(ir, ir->i64, 64 - bits));
  return fe_mul(ir, fe_convert(ir, z, t, false, false),
                fe_float(ir, t, wide ? 0x1p-53 : 0x1p-24));
}

/// Normally distributed: Box and Muller.
static MlirValue normal(fe_ir *ir, MlirType t, int64_t seed,
                        MlirValue counter) {
  MlirValue one = fe_int(ir, ir->i64, 1);
  MlirValue even = fe_shl(ir, counter, one);
  MlirValue u = unit(ir, t, seed, even);
  MlirValue v = unit(ir, t, seed, fe_or(ir, even, one));
  u = fe_sub(ir, fe_float(ir, t, 1), u); // not 0
  MlirValue radius = fe_math(
      ir, "sqrt", fe_mul(ir, fe_float(ir, t, -2), fe_math(ir, "log", u)));
  MlirValue angle = fe_mul(ir, fe_float(ir, t, 2 * 3.14159265358979323846), v);
  return fe_mul(ir, radius, fe_math(ir, "cos", angle));
}

//===-- Shapes and types ----------------------------------------------------//

static fe_status out_type(fe_infer *f, fe_dtype absent,
                          bool (*admits)(fe_dtype), fe_dtype *out) {
  int64_t t = fe_attr_i64(f->attrs, "dtype", 0);
  *out = t ? (fe_dtype)t : absent;
  if (t < 0 || t >= FE_DTYPE_COUNT || !admits(*out))
    return fe_infer_error(f, NULL, "the result cannot have this dtype");
  return FE_OK;
}

static bool is_plain_float(fe_dtype t) {
  return t == FE_F16 || t == FE_BF16 || t == FE_F32 || t == FE_F64;
}

static bool is_number(fe_dtype t) {
  return is_plain_float(t) || t == FE_BOOL ||
         (fe_dtype_is_int(t) && fe_dtype_bits(t) >= 8);
}

static fe_status infer_shaped(fe_infer *f) {
  int64_t shape[FE_MAX_RANK + 1];
  fe_dtype t;
  fe_dims out = {.rank =
                     fe_attr_i64s(f->attrs, "shape", shape, FE_MAX_RANK + 1)};
  if (out_type(f, FE_F32, is_plain_float, &t))
    return FE_FAILED;
  if (out.rank > FE_MAX_RANK)
    return fe_infer_error(f, NULL, "the rank is above %d", FE_MAX_RANK);
  for (unsigned i = 0; i < out.rank; ++i) {
    if (shape[i] < 0)
      return fe_infer_error(f, NULL, "the shape has a negative size");
    out.d[i] = fe_dim_const(f->ir, shape[i]);
  }
  fe_out_tensor(f, 0, t, &out);
  return FE_OK;
}

static fe_status infer_like(fe_infer *f) {
  fe_dims x;
  fe_dtype t, own = fe_in_dtype(f, 0);
  if (fe_in_dims(f, 0, &x) ||
      out_type(f, is_plain_float(own) ? own : FE_F32, is_plain_float, &t))
    return FE_FAILED;
  fe_out_tensor(f, 0, t, &x);
  return FE_OK;
}

static fe_status infer_bernoulli(fe_infer *f) {
  fe_dims x;
  fe_dtype t;
  if (fe_in_dims(f, 0, &x) || out_type(f, fe_in_dtype(f, 0), is_number, &t))
    return FE_FAILED;
  fe_out_tensor(f, 0, t, &x);
  return FE_OK;
}

//===-- Lowering ------------------------------------------------------------//

/// A kernel over the elements of flat tensors. Between begin and end the
/// insertion point is at element `i`, whose number is `counter`.
typedef struct elements {
  fe_kernel k;
  fe_region each;
  MlirValue sizes[FE_MAX_RANK], counter;
  int64_t seed;
  unsigned rank;
  bool seeded, is_normal; // the last input has the seed's numbers
} elements;

/// The element's random number: with a seed f64, else of type t.
static MlirValue drawn(elements *e, MlirType t) {
  fe_ir *ir = e->k.l->ir;
  if (e->seeded)
    return fe_get(&e->k, e->k.in[e->k.n_in - 1], FE_F64, 1, &e->each.iv);
  return e->is_normal ? normal(ir, t, e->seed, e->counter)
                      : unit(ir, t, e->seed, e->counter);
}

/// n_in tensors, the first of which has the result's shape; the others have
/// one element. n_out results.
static void elements_begin(elements *e, fe_lower *l, const char *name,
                           unsigned n_in, const MlirValue *in, unsigned n_out) {
  fe_ir *ir = l->ir;
  e->seed = seed_of(l);
  e->rank = fe_out_rank(l, 0);
  if (n_in)
    fe_sizes_of(l, l->in[0], e->sizes);
  else
    fe_out_sizes(l, 0, e->sizes);
  MlirValue total = fe_index(ir, 1), one = total, flat[5], out[2];
  for (unsigned i = 0; i < e->rank; ++i)
    total = i ? fe_mul(ir, total, e->sizes[i]) : e->sizes[i];
  for (unsigned i = 0; i < n_in; ++i)
    flat[i] = fe_reshape(l, in[i], fe_elem_of(in[i]), 1, i ? &one : &total);
  for (unsigned i = 0; i < n_out; ++i)
    out[i] = fe_tensor_empty(l, l->out_type[i], 1, &total);
  uint32_t seed;
  e->seeded = has_seed(l, &seed);
  if (e->seeded)
    flat[n_in++] = fe_mersenne_numbers(l, seed, e->is_normal, total);
  fe_kernel_begin(&e->k, l, name, n_in, flat, n_out, out, 0, NULL);
  e->each = fe_for_begin(ir, e->k.begin, e->k.end, fe_index(ir, 1), 0, NULL);
  e->counter = fe_convert(ir, e->each.iv, ir->i64, false, false);
}

static void elements_end(elements *e) {
  fe_lower *l = e->k.l;
  fe_ir *ir = l->ir;
  fe_loop_end(ir, &e->each);
  fe_kernel_end(&e->k, fe_kernel_dim(&e->k, e->k.n_in, 0),
                fe_dim_const(ir, 30));
  for (unsigned i = 0; i < e->k.n_out; ++i)
    l->out[i] =
        fe_reshape(l, e->k.result[i], fe_out_elem(l, i), e->rank, e->sizes);
}

/// v with the digits of t, in its compute type.
static MlirValue rounded(fe_ir *ir, fe_dtype t, MlirValue v) {
  return fe_to_compute(ir, t, fe_to_storage(ir, t, v));
}

/// factor * v + term, each step rounded to t; the numbers are f32, as
/// attributes are.
static MlirValue scaled(fe_ir *ir, fe_dtype t, MlirValue v, float factor,
                        float term) {
  v = rounded(ir, t, v);
  MlirType type = mlirValueGetType(v);
  // Not fused: no fast-math attribute.
  v = fe_first(FE_OP(ir, "arith.mulf",
                     FE_VALUES(v, fe_float(ir, type, (double)factor)),
                     FE_TYPES(type)));
  v = fe_add(ir, rounded(ir, t, v), fe_float(ir, type, (double)term));
  return rounded(ir, t, v);
}

static fe_status lower_numbers(fe_lower *l, bool is_normal) {
  fe_ir *ir = l->ir;
  elements e = {.is_normal = is_normal};
  fe_dtype t = l->out_type[0];
  MlirType type = fe_compute_type(ir, t);
  elements_begin(&e, l, is_normal ? "random_normal" : "random_uniform",
                 l->n_in ? 1 : 0, l->in, 1);
  float a = (float)fe_attr_f64(l->op, is_normal ? "mean" : "low", 0);
  float b = (float)fe_attr_f64(l->op, is_normal ? "scale" : "high", 1);
  MlirValue v = scaled(ir, t, drawn(&e, type), is_normal ? b : b - a, a);
  fe_put(&e.k, v, e.k.out[0], t, 1, &e.each.iv);
  elements_end(&e);
  return FE_OK;
}

static fe_status lower_normal(fe_lower *l) { return lower_numbers(l, true); }
static fe_status lower_uniform(fe_lower *l) { return lower_numbers(l, false); }

/// Whether a trial that succeeds with probability p does. With a seed as
/// numpy's binomial numbers are made: by inversion, of the rarer outcome.
static MlirValue succeeds(elements *e, MlirValue p) {
  fe_ir *ir = e->k.l->ir;
  MlirType t = mlirValueGetType(p);
  MlirValue u = drawn(e, t);
  if (!e->seeded)
    return fe_cmp(ir, FE_LT, u, p);
  t = ir->f64;
  p = fe_convert(ir, p, t, false, false);
  MlirValue one = fe_float(ir, t, 1), q = fe_sub(ir, one, p);
  return fe_select(ir, fe_cmp(ir, FE_LE, p, fe_float(ir, t, 0.5)),
                   fe_cmp(ir, FE_GT, u, q),
                   fe_cmp(ir, FE_LE, u, fe_sub(ir, one, q)));
}

static fe_status lower_bernoulli(fe_lower *l) {
  fe_ir *ir = l->ir;
  elements e = {0};
  elements_begin(&e, l, "bernoulli", 1, l->in, 1);
  MlirValue p = fe_get(&e.k, e.k.in[0], l->in_type[0], 1, &e.each.iv);
  MlirType to = fe_storage_type(ir, l->out_type[0]);
  MlirValue hit = succeeds(&e, p);
  MlirValue v = fe_select(ir, hit, fe_number(ir, to, 1), fe_number(ir, to, 0));
  fe_store(ir, v, e.k.out[0], 1, &e.each.iv);
  elements_end(&e);
  return FE_OK;
}

//===-- Multinomial ---------------------------------------------------------//

static fe_status infer_multinomial(fe_infer *f) {
  fe_dims x;
  int64_t t = fe_attr_i64(f->attrs, "dtype", FE_I32);
  int64_t n = fe_attr_i64(f->attrs, "sample_size", 1);
  if (fe_in_dims(f, 0, &x))
    return FE_FAILED;
  if (x.rank != 2 || (t != FE_I32 && t != FE_I64) || n < 1)
    return fe_infer_error(f, NULL,
                          "the input must have rank 2, dtype must be int32 or "
                          "int64, sample_size positive");
  x.d[1] = fe_dim_const(f->ir, n);
  fe_out_tensor(f, 0, (fe_dtype)t, &x);
  return FE_OK;
}

/// exp(x - highest) of one element of a row.
static MlirValue weight(fe_kernel *k, fe_dtype t, const MlirValue *at,
                        MlirValue highest) {
  fe_ir *ir = k->l->ir;
  MlirValue x = fe_get(k, k->in[0], t, 2, at);
  return fe_math(ir, "exp", fe_sub(ir, x, highest));
}

static fe_status lower_multinomial(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0];
  MlirType type = fe_compute_type(ir, t), to = fe_out_elem(l, 0);
  int64_t seed = seed_of(l);
  MlirValue sizes[2] = {fe_size(l, l->in[0], 0),
                        fe_index(ir, fe_attr_i64(l->op, "sample_size", 1))};
  MlirValue out = fe_out_empty(l, 0, sizes);
  MlirValue in[2] = {l->in[0]};
  uint32_t given;
  bool seeded = has_seed(l, &given);
  if (seeded)
    in[1] =
        fe_mersenne_numbers(l, given, false, fe_mul(ir, sizes[0], sizes[1]));
  fe_kernel k;
  fe_kernel_begin(&k, l, "multinomial", seeded ? 2 : 1, in, 1, &out, 0, NULL);
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1), at[2];
  MlirValue classes = fe_dim(ir, k.in[0], 1), none = fe_float(ir, type, 0);
  MlirValue lowest = fe_float(ir, type, -__builtin_inf());
  fe_region rows = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  at[0] = rows.iv;
  fe_region m = fe_for_begin(ir, zero, classes, one, 1, &lowest);
  at[1] = m.iv;
  MlirValue v =
      fe_max(ir, fe_block_arg(m.body, 1), fe_get(&k, k.in[0], t, 2, at));
  fe_for_end(ir, &m, 1, &v);
  MlirValue highest = fe_result(m.op, 0);
  fe_region s = fe_for_begin(ir, zero, classes, one, 1, &none);
  at[1] = s.iv;
  v = fe_add(ir, fe_block_arg(s.body, 1), weight(&k, t, at, highest));
  fe_for_end(ir, &s, 1, &v);
  MlirValue total = fe_result(s.op, 0), n = fe_dim(ir, k.out[0], 1);
  fe_region samples = fe_loop(ir, n);
  MlirValue number = fe_add(ir, fe_mul(ir, rows.iv, n), samples.iv);
  MlirValue u = seeded ? fe_convert(ir, fe_get(&k, k.in[1], FE_F64, 1, &number),
                                    type, false, false)
                       : unit(ir, type, seed,
                              fe_convert(ir, number, ir->i64, false, false));
  u = fe_mul(ir, u, total);
  // The class is the number of running sums that u has reached.
  MlirValue init[2] = {none, zero};
  fe_region c = fe_for_begin(ir, zero, classes, one, 2, init);
  at[1] = c.iv;
  MlirValue sum =
      fe_add(ir, fe_block_arg(c.body, 1), weight(&k, t, at, highest));
  MlirValue count = fe_block_arg(c.body, 2);
  MlirValue next[2] = {sum, fe_select(ir, fe_cmp(ir, FE_GE, u, sum),
                                      fe_add(ir, count, one), count)};
  fe_for_end(ir, &c, 2, next);
  MlirValue last = fe_max(ir, fe_sub(ir, classes, one), zero);
  MlirValue chosen = fe_min(ir, fe_result(c.op, 1), last);
  at[1] = samples.iv;
  fe_store(ir, fe_convert(ir, chosen, to, false, false), k.out[0], 2, at);
  fe_loop_end(ir, &samples);
  fe_loop_end(ir, &rows);
  MlirAffineExpr cost =
      fe_dim_mul(fe_kernel_dim(&k, 0, 1), fe_dim_const(ir, 30));
  fe_kernel_end(&k, fe_kernel_dim(&k, 0, 0),
                fe_dim_mul(cost, fe_kernel_dim(&k, 1, 1)));
  l->out[0] = k.result[0];
  return FE_OK;
}

//===-- Dropout -------------------------------------------------------------//

static fe_status upgrade_dropout(fe_node *n) {
  if (n->opset < 12) { // in those, what is compiled here is for inference
    fe_node_attr_remove(n, "is_test");
    fe_node_attr_remove(n, "ratio");
  }
  return upgrade_seed(n);
}

/// Whether operand i is the constant 0; `absent`: what stands for none.
static bool is_zero(fe_ir *ir, const fe_node *n, unsigned i, bool absent) {
  double v;
  if (i >= n->in.n || fe_is_null(n->in.at[i]))
    return absent;
  return fe_const_scalar(ir, n->in.at[i], &v) && v == 0;
}

/// Without training, or when nothing is dropped: the input itself and a mask
/// of ones, before opset 10 of the data's type.
static fe_status expand_dropout(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (!n->in.n || fe_is_null(n->in.at[0]) ||
      (!is_zero(ir, n, 2, true) && !is_zero(ir, n, 1, false)))
    return FE_OK;
  MlirValue x = n->in.at[0];
  results[0] = x;
  if (n->n_out < 2)
    return FE_OK;
  fe_dtype t = n->opset < 10 ? fe_dtype_of_elem(fe_elem_of(x)) : FE_BOOL;
  results[1] = fe_onnx1(ir, "Expand", fe_constant_scalar(ir, t, 1),
                        fe_onnx1(ir, "Shape", x));
  return fe_is_null(results[1]) ? FE_FAILED : FE_OK;
}

static fe_status infer_dropout(fe_infer *f) {
  fe_dims x;
  if (fe_in_dims(f, 0, &x))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  fe_out_tensor(f, 1, FE_BOOL, &x);
  return FE_OK;
}

static fe_status lower_dropout(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0];
  bool has_ratio = !fe_is_null(l->in[1]);
  MlirValue in[3] = {l->in[0], l->in[2], l->in[1]};
  elements e = {0};
  elements_begin(&e, l, "dropout", has_ratio ? 3 : 2, in, 2);
  MlirType type = fe_compute_type(ir, t);
  MlirValue zero = fe_index(ir, 0), none = fe_float(ir, type, 0);
  MlirValue p = fe_float(ir, type, 0.5), one = fe_float(ir, type, 1);
  if (has_ratio)
    p = fe_convert(ir, fe_get(&e.k, e.k.in[2], l->in_type[1], 1, &zero), type,
                   false, false);
  p = fe_select(ir, fe_get(&e.k, e.k.in[1], FE_BOOL, 1, &zero), p, none);
  MlirValue x = fe_get(&e.k, e.k.in[0], t, 1, &e.each.iv);
  MlirValue u = drawn(&e, type);
  MlirValue keep = fe_cmp(ir, FE_GE, u,
                          fe_convert(ir, p, mlirValueGetType(u), false, false));
  MlirValue kept = fe_mul(ir, x, fe_div(ir, one, fe_sub(ir, one, p)));
  fe_put(&e.k, fe_select(ir, keep, kept, none), e.k.out[0], t, 1, &e.each.iv);
  fe_put(&e.k, keep, e.k.out[1], FE_BOOL, 1, &e.each.iv);
  elements_end(&e);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

#define SEED {"seed", FE_A_FLOAT, "0"}, {"seeded", FE_A_INT, "0"}

static const fe_attr_def normal_attrs[] = {
    {"shape", FE_A_INTS, NULL}, {"dtype", FE_A_INT, "1"},   SEED,
    {"mean", FE_A_FLOAT, "0"},  {"scale", FE_A_FLOAT, "1"}, {0}};
static const fe_attr_def uniform_attrs[] = {
    {"shape", FE_A_INTS, NULL}, {"dtype", FE_A_INT, "1"},  SEED,
    {"low", FE_A_FLOAT, "0"},   {"high", FE_A_FLOAT, "1"}, {0}};
static const fe_attr_def normal_like_attrs[] = {{"dtype", FE_A_INT, "0"},
                                                SEED,
                                                {"mean", FE_A_FLOAT, "0"},
                                                {"scale", FE_A_FLOAT, "1"},
                                                {0}};
static const fe_attr_def uniform_like_attrs[] = {{"dtype", FE_A_INT, "0"},
                                                 SEED,
                                                 {"low", FE_A_FLOAT, "0"},
                                                 {"high", FE_A_FLOAT, "1"},
                                                 {0}};
static const fe_attr_def bernoulli_attrs[] = {
    {"dtype", FE_A_INT, "0"}, SEED, {0}};
static const fe_attr_def multinomial_attrs[] = {
    {"dtype", FE_A_INT, "6"}, {"sample_size", FE_A_INT, "1"}, SEED, {0}};
static const fe_attr_def dropout_attrs[] = {
    {"seed", FE_A_INT, "0"}, {"seeded", FE_A_INT, "0"}, {0}};

const fe_op_row fe_family_random[] = {
    {.name = "RandomNormal",
     .since = 1,
     .outputs = "output:T",
     .types = "T=float",
     .attrs = normal_attrs,
     .flags = FE_IMPURE,
     .upgrade = upgrade_seed,
     .infer = infer_shaped,
     .lower = lower_normal},
    {.name = "RandomUniform",
     .since = 1,
     .outputs = "output:T",
     .types = "T=float",
     .attrs = uniform_attrs,
     .flags = FE_IMPURE,
     .upgrade = upgrade_seed,
     .infer = infer_shaped,
     .lower = lower_uniform},
    {.name = "RandomNormalLike",
     .since = 1,
     .inputs = "input:T1",
     .outputs = "output:T2",
     .types = "T1=all;T2=float",
     .attrs = normal_like_attrs,
     .flags = FE_IMPURE,
     .upgrade = upgrade_seed,
     .infer = infer_like,
     .lower = lower_normal},
    {.name = "RandomUniformLike",
     .since = 1,
     .inputs = "input:T1",
     .outputs = "output:T2",
     .types = "T1=all;T2=float",
     .attrs = uniform_like_attrs,
     .flags = FE_IMPURE,
     .upgrade = upgrade_seed,
     .infer = infer_like,
     .lower = lower_uniform},
    {.name = "Bernoulli",
     .since = 15,
     .inputs = "input:T1",
     .outputs = "output:T2",
     .types = "T1=float;T2=real,bool",
     .attrs = bernoulli_attrs,
     .flags = FE_IMPURE,
     .upgrade = upgrade_seed,
     .infer = infer_bernoulli,
     .lower = lower_bernoulli},
    {.name = "Multinomial",
     .since = 7,
     .inputs = "input:T1",
     .outputs = "output:T2",
     .types = "T1=float;T2=i32,i64",
     .attrs = multinomial_attrs,
     .flags = FE_IMPURE,
     .upgrade = upgrade_seed,
     .infer = infer_multinomial,
     .lower = lower_multinomial},
    {.name = "Dropout",
     .since = 1,
     .inputs = "data:T, ratio?:T1, "
               "training_mode?:T2",
     .outputs = "output:T, mask?:T2",
     .types = "T=float,float8;T1=float,float8;T2=bool",
     .attrs = dropout_attrs,
     .flags = FE_IMPURE | FE_FUNCTION,
     .upgrade = upgrade_dropout,
     .expand = expand_dropout,
     .infer = infer_dropout,
     .lower = lower_dropout},
    {0}};
