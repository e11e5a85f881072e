//===- reduce.c - ReduceSum, ReduceMean, ReduceMax, ... ----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table: what is done with an element, how two are combined, what is done
// with the sum. Axes known at compile time make a generic reduction. Others,
// whose number must be known, a kernel with a loop over the result and one over
// the reduced part of every dim, of which one has a single iteration.
//
// Halves are accumulated in f32. Integers stay integers but for roots and
// logarithms, computed in f64. A mean of integers is that of the sum as it is,
// not as it would wrap: of less than 64 bits in 64, else the sum is kept as
// quotients by the count and remainders. No elements at all give the neutral
// element.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct state {
  fe_dtype work;
  MlirValue count; // elements per result, index
  MlirValue shift; // logsumexp: what is subtracted first; null: nothing
} state;

typedef struct kind {
  const char *name;
  fe_element_fn element, combine, after; // NULL: as it is
  double init;                           // of floats
  enum { ZERO, ONE, SMALLEST, LARGEST } init_int;
  bool real; // integers are computed in f64
} kind;

//===-- Functions of elements -----------------------------------------------//

static MlirValue absolute(fe_ir *ir, const MlirValue *x, const void *user) {
  const state *s = user;
  if (fe_dtype_is_unsigned(s->work))
    return x[0];
  return fe_math(ir, fe_dtype_is_float(s->work) ? "absf" : "absi", x[0]);
}

static MlirValue larger(fe_ir *ir, const MlirValue *x, const void *user) {
  const state *s = user;
  if (s->work == FE_BOOL)
    return fe_or(ir, x[0], x[1]);
  return fe_dtype_is_unsigned(s->work) ? fe_maxu(ir, x[0], x[1])
                                       : fe_max(ir, x[0], x[1]);
}
static MlirValue smaller(fe_ir *ir, const MlirValue *x, const void *user) {
  const state *s = user;
  if (s->work == FE_BOOL)
    return fe_and(ir, x[0], x[1]);
  return fe_dtype_is_unsigned(s->work) ? fe_minu(ir, x[0], x[1])
                                       : fe_min(ir, x[0], x[1]);
}

static MlirValue mean(fe_ir *ir, const MlirValue *x, const void *user) {
  const state *s = user;
  MlirType t = mlirValueGetType(x[0]);
  MlirValue n = fe_convert(ir, s->count, t, false, false);
  if (fe_dtype_is_float(s->work))
    return fe_div(ir, x[0], n);
  n = fe_max(ir, n, fe_int(ir, t, 1));
  return fe_dtype_is_unsigned(s->work) ? fe_divu(ir, x[0], n)
                                       : fe_div(ir, x[0], n);
}

/// x = n * quotient + remainder, 0 <= remainder < n = the count.
static MlirValue quotient(fe_ir *ir, const MlirValue *x, const void *user) {
  const state *s = user;
  MlirType t = mlirValueGetType(x[0]);
  MlirValue n = fe_convert(ir, s->count, t, false, false);
  n = fe_max(ir, n, fe_int(ir, t, 1));
  if (fe_dtype_is_unsigned(s->work))
    return fe_divu(ir, x[0], n);
  MlirValue zero = fe_int(ir, t, 0), q = fe_div(ir, x[0], n);
  MlirValue above = fe_cmp(ir, FE_LT, fe_rem(ir, x[0], n), zero);
  return fe_select(ir, above, fe_sub(ir, q, fe_int(ir, t, 1)), q);
}
static MlirValue remainder_of(fe_ir *ir, const MlirValue *x, const void *user) {
  const state *s = user;
  MlirType t = mlirValueGetType(x[0]);
  MlirValue n = fe_convert(ir, s->count, t, false, false);
  return fe_sub(ir, x[0], fe_mul(ir, quotient(ir, x, user), n));
}

/// The mean from the sums of quotients and of remainders, rounded to zero.
static MlirValue wide_mean(fe_ir *ir, const MlirValue *x, const void *user) {
  MlirType t = mlirValueGetType(x[0]);
  MlirValue zero = fe_int(ir, t, 0);
  MlirValue below = fe_add(ir, x[0], quotient(ir, &x[1], user));
  if (fe_dtype_is_unsigned(((const state *)user)->work))
    return below;
  MlirValue up = fe_and(ir, fe_cmp(ir, FE_LT, below, zero),
                        fe_cmp(ir, FE_NE, remainder_of(ir, &x[1], user), zero));
  return fe_select(ir, up, fe_add(ir, below, fe_int(ir, t, 1)), below);
}

static MlirValue root(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_math(ir, "sqrt", x[0]);
}

/// The largest element, but 0 where it is infinite: infinities have no
/// difference.
static MlirValue finite(fe_ir *ir, MlirValue m) {
  MlirType t = mlirValueGetType(m);
  MlirValue inf = fe_float(ir, t, INFINITY);
  MlirValue is = fe_cmp(ir, FE_EQ, fe_math(ir, "absf", m), inf);
  return fe_select(ir, is, fe_float(ir, t, 0), m);
}
static MlirValue exp_shifted(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_math(ir, "exp", fe_sub(ir, x[0], finite(ir, x[1])));
}
static MlirValue log_shifted(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_add(ir, fe_math(ir, "log", x[0]), finite(ir, x[1]));
}

static const kind kinds[] = {
    {"ReduceSum", NULL, fe_element_add, NULL, 0, ZERO, false},
    {"ReduceMean", NULL, fe_element_add, mean, 0, ZERO, false},
    {"ReduceProd", NULL, fe_element_mul, NULL, 1, ONE, false},
    {"ReduceMax", NULL, larger, NULL, -INFINITY, SMALLEST, false},
    {"ReduceMin", NULL, smaller, NULL, INFINITY, LARGEST, false},
    {"ReduceL1", absolute, fe_element_add, NULL, 0, ZERO, false},
    {"ReduceL2", fe_element_square, fe_element_add, root, 0, ZERO, true},
    {"ReduceLogSum", NULL, fe_element_add, fe_element_log, 0, ZERO, true},
    {"ReduceLogSumExp", NULL, fe_element_add, fe_element_log, 0, ZERO, true},
    {"ReduceSumSquare", fe_element_square, fe_element_add, NULL, 0, ZERO,
     false},
};
enum { MEAN = 1, MAX_KIND = 3, LOG_SUM_EXP = 8 };
static const kind mean_parts[2] = {
    {"ReduceMean", quotient, fe_element_add, NULL, 0, ZERO, false},
    {"ReduceMean", remainder_of, fe_element_add, NULL, 0, ZERO, false}};

/// What the sum of elements of type t is kept in.
static fe_dtype work_type(const kind *k, fe_dtype t) {
  if (!fe_dtype_is_int(t))
    return fe_work_type(t);
  if (k == &kinds[MEAN] && t != FE_BOOL)
    return fe_dtype_is_unsigned(t) ? FE_U64 : FE_I64;
  return k->real ? FE_F64 : fe_work_type(t);
}

static bool is_wide_mean(const kind *k, fe_dtype t) {
  return k == &kinds[MEAN] && (t == FE_I64 || t == FE_U64);
}

static int64_t integer_init(const kind *k, fe_dtype t) {
  unsigned bits = fe_dtype_bits(t);
  bool is_signed = fe_dtype_is_signed(t);
  switch (k->init_int) {
  case SMALLEST:
    return is_signed ? (int64_t)(UINT64_C(1) << (bits - 1)) : 0;
  case LARGEST:
    if (t == FE_BOOL)
      return 1;
    return is_signed ? (int64_t)((UINT64_C(1) << (bits - 1)) - 1) : -1;
  case ONE:
    return 1;
  default:
    return 0;
  }
}

//===-- Axes ----------------------------------------------------------------//

typedef enum which { GIVEN, ALL, NONE, UNKNOWN } which;

/// Which axes an op with this axes operand (of the onnx phase) reduces. GIVEN:
/// those in `axes`, n of them; UNKNOWN: n at run time.
static which axes_of(fe_ir *ir, MlirOperation attrs, MlirValue operand,
                     int64_t *axes, int64_t *n) {
  bool noop = fe_attr_i64(attrs, "noop_with_empty_axes", 0);
  fe_dims d;
  *n = 0;
  if (fe_is_null(operand) || !fe_dims_of(ir, operand, &d))
    return noop ? NONE : ALL;
  *n = d.rank ? fe_dim_static(d.d[0]) : 1;
  if (*n == 0)
    return noop ? NONE : ALL;
  if (*n > 0 && *n <= FE_MAX_RANK &&
      fe_const_ints(ir, operand, axes, FE_MAX_RANK) == *n)
    return GIVEN;
  return UNKNOWN;
}

static fe_status infer_reduce(fe_infer *f) {
  fe_ir *ir = f->ir;
  fe_dims in, out = {0};
  int64_t axes[FE_MAX_RANK], n;
  if (fe_in_dims(f, 0, &in))
    return FE_FAILED;
  bool keep = fe_attr_i64(f->attrs, "keepdims", 1);
  MlirValue operand = f->n_in > 1 ? f->in[1] : (MlirValue){0};
  fe_dims list = {0};
  if (!fe_is_null(operand) && fe_in_dims(f, 1, &list))
    return FE_FAILED;
  if (list.rank > 1)
    return fe_infer_error(f, NULL, "the axes must be a list");
  which w = axes_of(ir, f->attrs, operand, axes, &n);
  if (w == UNKNOWN) {
    if (n == FE_DYN && !keep)
      return fe_need_size(f, 1, 0);
    if (n != FE_DYN && (n < 0 || n > in.rank))
      return fe_infer_error(f, NULL, "there are more axes than dimensions");
    out.rank = keep ? in.rank : in.rank - (unsigned)n;
    for (unsigned i = 0; i < out.rank; ++i)
      out.d[i] =
          keep && fe_dim_static(in.d[i]) == 1 ? in.d[i] : fe_fresh_dim(f);
    fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
    return FE_OK;
  }
  bool gone[FE_MAX_RANK] = {0};
  for (int64_t i = 0; i < n; ++i) {
    unsigned axis;
    if (fe_axis(f, axes[i], in.rank, &axis))
      return FE_FAILED;
    gone[axis] = true;
  }
  for (unsigned i = 0; i < in.rank; ++i) {
    if (w != ALL && !gone[i])
      out.d[out.rank++] = in.d[i];
    else if (keep)
      out.d[out.rank++] = fe_dim_const(ir, 1);
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

//===-- Axes known ----------------------------------------------------------//

static MlirValue by_generic(fe_lower *l, const kind *k, uint32_t reduced,
                            bool keep) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0];
  state s = {.work = work_type(k, t)};
  MlirValue x = l->in[0], shift = {0};
  unsigned rank = fe_rank(x);
  s.count = fe_index(ir, 1);
  for (unsigned i = 0; i < rank; ++i)
    if (reduced >> i & 1)
      s.count = fe_mul(ir, s.count, fe_size(l, x, i));
  fe_reduction r = {.type = s.work,
                    .element = k->element,
                    .combine = k->combine,
                    .init = k->init,
                    .init_int = integer_init(k, s.work),
                    .user = &s};
  if (is_wide_mean(k, t)) {
    MlirValue part[2];
    for (unsigned i = 0; i < 2; ++i) {
      r.element = mean_parts[i].element;
      part[i] = fe_reduce(l, x, t, reduced, keep, &r);
    }
    return fe_map2(l, part[0], part[1], t, wide_mean, &s);
  }
  bool shifts = k == &kinds[LOG_SUM_EXP];
  if (t != s.work)
    x = fe_to_type(l, x, t, s.work);
  if (shifts) {
    const fe_reduction max = {
        .type = s.work, .combine = larger, .init = -INFINITY, .user = &s};
    shift = fe_reduce(l, x, s.work, reduced, true, &max);
    x = fe_map2(l, x, shift, s.work, exp_shifted, NULL);
  }
  MlirValue v = fe_reduce(l, x, s.work, reduced, keep || shifts, &r);
  if (shifts) {
    v = fe_map2(l, v, shift, s.work, log_shifted, NULL);
    MlirValue kept[FE_MAX_RANK];
    unsigned n = 0;
    for (unsigned i = 0; i < rank; ++i)
      if (!(reduced >> i & 1))
        kept[n++] = fe_size(l, x, i);
    if (!keep && reduced)
      v = fe_reshape(l, v, fe_elem_of(v), n, kept);
  } else if (k->after) {
    v = fe_map1(l, v, s.work, s.work, k->after, &s);
  }
  return fe_to_type(l, v, s.work, t);
}

//===-- Axes of run time ----------------------------------------------------//

/// One loop nest over the reduced parts of all dims; gives the accumulator.
static MlirValue reduced_part(fe_kernel *k, const kind *kd, state *s,
                              fe_dtype t, unsigned rank, const MlirValue *at) {
  fe_ir *ir = k->l->ir;
  MlirType type = fe_compute_type(ir, s->work);
  MlirValue acc = fe_type_is_float(type)
                      ? fe_float(ir, type, kd->init)
                      : fe_int(ir, type, integer_init(kd, s->work));
  fe_region open[FE_MAX_RANK];
  MlirValue idx[FE_MAX_RANK], zero = fe_index(ir, 0), one = fe_index(ir, 1);
  for (unsigned d = 0; d < rank; ++d) {
    open[d] = fe_for_begin(ir, zero, k->scalar[d], one, 1, &acc);
    acc = fe_block_arg(open[d].body, 1);
    idx[d] = fe_add(ir, at[d], open[d].iv);
  }
  MlirValue x[2] = {fe_get(k, k->in[0], t, rank, idx), s->shift};
  x[0] = fe_convert(ir, x[0], type, fe_dtype_is_unsigned(t), false);
  if (!fe_is_null(s->shift))
    x[0] = exp_shifted(ir, x, NULL);
  else if (kd->element)
    x[0] = kd->element(ir, x, s);
  MlirValue both[2] = {acc, x[0]};
  acc = kd->combine(ir, both, s);
  for (unsigned d = rank; d-- > 0;) {
    fe_for_end(ir, &open[d], 1, &acc);
    acc = fe_result(open[d].op, 0);
  }
  return acc;
}

/// Result with all dims kept, of `sizes`; `reduced`: sizes of what is summed.
static MlirValue by_kernel(fe_lower *l, const kind *kd, const MlirValue *sizes,
                           const MlirValue *reduced) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0];
  unsigned rank = fe_rank(l->in[0]);
  state s = {.work = work_type(kd, t)};
  MlirValue dest = fe_tensor_empty(l, t, rank, sizes), x = l->in[0];
  fe_kernel k;
  fe_kernel_begin(&k, l, "reduce", 1, &x, 1, &dest, rank, reduced);
  fe_region item = fe_for_begin(ir, k.begin, k.end, fe_index(ir, 1), 0, NULL);
  MlirValue at[FE_MAX_RANK], rest = item.iv;
  s.count = fe_index(ir, 1);
  for (unsigned d = rank; d-- > 0;) {
    MlirValue n = fe_dim(ir, k.out[0], d);
    at[d] = fe_remu(ir, rest, n);
    rest = fe_divu(ir, rest, n);
    s.count = fe_mul(ir, s.count, k.scalar[d]);
  }
  bool shifts = kd == &kinds[LOG_SUM_EXP];
  if (shifts)
    s.shift = reduced_part(&k, &kinds[MAX_KIND], &(state){.work = s.work}, t,
                           rank, at);
  bool wide = is_wide_mean(kd, t);
  const kind *first = wide ? &mean_parts[0] : kd;
  MlirValue v[2] = {reduced_part(&k, first, &s, t, rank, at), s.shift};
  if (wide)
    v[1] = reduced_part(&k, &mean_parts[1], &s, t, rank, at);
  if (wide)
    v[0] = wide_mean(ir, v, &s);
  else if (shifts)
    v[0] = log_shifted(ir, v, NULL);
  else if (kd->after)
    v[0] = kd->after(ir, v, &s);
  v[0] = fe_convert(ir, v[0], fe_compute_type(ir, t), false,
                    fe_dtype_is_unsigned(t));
  fe_put(&k, v[0], k.out[0], t, rank, at);
  fe_for_end(ir, &item, 0, NULL);
  MlirAffineExpr items = fe_dim_const(ir, 1), cost = items;
  for (unsigned d = 0; d < rank; ++d) {
    items = fe_dim_mul(items, fe_kernel_dim(&k, 1, d));
    cost = fe_dim_mul(cost, fe_kernel_scalar(&k, d));
  }
  fe_kernel_end(&k, items, cost);
  return k.result[0];
}

/// Sizes of the dims that are not reduced, in order.
static void compact(fe_ir *ir, unsigned rank, const MlirValue *size,
                    const MlirValue *is_reduced, unsigned n, MlirValue *out) {
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1), before = zero;
  for (unsigned i = 0; i < n; ++i)
    out[i] = one;
  for (unsigned d = 0; d < rank; ++d) {
    MlirValue stays = fe_not(ir, is_reduced[d]);
    for (unsigned i = 0; i < n; ++i) {
      MlirValue here = fe_cmp(ir, FE_EQ, before, fe_index(ir, i));
      out[i] = fe_select(ir, fe_and(ir, stays, here), size[d], out[i]);
    }
    before = fe_add(ir, before, fe_select(ir, stays, one, zero));
  }
}

/// `n_axes`: FE_DYN where only the run knows, too, how many there are.
static fe_status runtime_axes(fe_lower *l, const kind *k, int64_t n_axes,
                              bool keep) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  unsigned most = n_axes == FE_DYN ? rank : (unsigned)n_axes;
  MlirValue size[FE_MAX_RANK], left[FE_MAX_RANK], reduced[FE_MAX_RANK];
  MlirValue axis[FE_MAX_RANK], is_reduced[FE_MAX_RANK];
  MlirValue one = fe_index(ir, 1), zero = fe_index(ir, 0), found = zero;
  fe_sizes_of(l, l->in[0], size);
  MlirValue count = fe_list_length(l, l->in[1]);
  MlirValue no_axis = fe_index(ir, INT32_MAX);
  for (unsigned i = 0; i < most; ++i) {
    axis[i] = fe_list_element(l, l->in[1], fe_index(ir, i), no_axis);
    axis[i] = fe_select(ir, fe_cmp(ir, FE_LT, axis[i], zero),
                        fe_add(ir, axis[i], fe_index(ir, rank)), axis[i]);
  }
  // No axes at all are all of them.
  bool all_or_none = n_axes == FE_DYN;
  bool noop = fe_attr_i64(l->op, "noop_with_empty_axes", 0);
  MlirValue all = all_or_none && !noop ? fe_cmp(ir, FE_EQ, count, zero)
                                       : fe_int(ir, ir->i1, 0);
  for (unsigned d = 0; d < rank; ++d) {
    MlirValue is = all;
    for (unsigned i = 0; i < most; ++i)
      is = fe_or(ir, is, fe_cmp(ir, FE_EQ, axis[i], fe_index(ir, d)));
    is_reduced[d] = is;
    left[d] = fe_select(ir, is, one, size[d]);
    reduced[d] = fe_select(ir, is, size[d], one);
    found = fe_add(ir, found, fe_select(ir, is, one, zero));
  }
  // Out of range or given twice: the result would have another rank.
  fe_check(l, fe_or(ir, all, fe_cmp(ir, FE_EQ, found, count)),
           "the axes are out of range or not distinct");
  MlirValue v = by_kernel(l, k, left, reduced);
  if (!keep) {
    MlirValue sizes[FE_MAX_RANK];
    compact(ir, rank, size, is_reduced, rank - most, sizes);
    v = fe_reshape(l, v, fe_elem_of(v), rank - most, sizes);
  }
  l->out[0] = v;
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static fe_status lower_reduce(fe_lower *l) {
  const kind *k = kinds;
  while (strcmp(k->name, l->row->name))
    ++k;
  int64_t axes[FE_MAX_RANK], n;
  bool keep = fe_attr_i64(l->op, "keepdims", 1);
  bool has_axes = l->n_in > 1 && !fe_is_null(l->in[1]);
  which w = axes_of(l->ir, l->op,
                    has_axes ? fe_operand(l->op, 1) : (MlirValue){0}, axes, &n);
  if (w == UNKNOWN)
    return runtime_axes(l, k, n, keep);
  unsigned rank = fe_rank(l->in[0]);
  uint32_t reduced = w == ALL ? (UINT32_C(1) << rank) - 1 : 0;
  for (int64_t i = 0; i < n; ++i)
    reduced |= 1u << (axes[i] < 0 ? axes[i] + rank : axes[i]);
  l->out[0] = by_generic(l, k, reduced, keep);
  return FE_OK;
}

static fe_status upgrade_reduce(fe_node *n) {
  if (n->opset < (strcmp(n->row->name, "ReduceSum") ? 18 : 13))
    fe_node_attr_to_input(n, "axes", 1, FE_I64);
  return FE_OK;
}

/// Of a list of sizes: their product or sum, however the axes are given.
static bool contents_of_list(fe_ir *ir, MlirOperation op, fe_contents *out,
                             MlirAffineExpr (*combine)(MlirAffineExpr,
                                                       MlirAffineExpr)) {
  fe_contents in;
  if (out->n != 1 || fe_attr_i64(op, "noop_with_empty_axes", 0) ||
      !fe_contents_of(ir, fe_operand(op, 0), &in) || in.dims.rank != 1 || !in.n)
    return false;
  out->at[0] = in.at[0];
  for (unsigned i = 1; i < in.n; ++i)
    out->at[0] = combine(out->at[0], in.at[i]);
  return true;
}
static bool contents_prod(fe_ir *ir, MlirOperation op, fe_contents *out) {
  return contents_of_list(ir, op, out, fe_dim_mul);
}
static bool contents_sum(fe_ir *ir, MlirOperation op, fe_contents *out) {
  return contents_of_list(ir, op, out, fe_dim_add);
}

static const fe_attr_def reduce_attrs[] = {
    {"keepdims", FE_A_INT, "1|0"},
    {"noop_with_empty_axes", FE_A_INT, "0"},
    {0}};

#define REDUCE(op_name, admitted, ...)                                         \
  {.name = op_name,                                                            \
   .since = 1,                                                                 \
   .inputs = "data:T, axes?:T1",                                               \
   .outputs = "reduced:T",                                                     \
   .types = "T=" admitted ";T1=i64",                                           \
   .attrs = reduce_attrs,                                                      \
   .upgrade = upgrade_reduce,                                                  \
   .infer = infer_reduce,                                                      \
   .lower = lower_reduce,                                                      \
   .limits = "without keepdims the number of axes must be known when "         \
             "compiling",                                                      \
   __VA_ARGS__}

const fe_op_row fe_family_reduce[] = {
    REDUCE("ReduceSum", "real", .contents = contents_sum),
    REDUCE("ReduceMean", "real", .contents = NULL),
    REDUCE("ReduceProd", "real", .contents = contents_prod),
    REDUCE("ReduceMax", "real,bool", .contents = NULL),
    REDUCE("ReduceMin", "real,bool", .contents = NULL),
    REDUCE("ReduceL1", "real", .contents = NULL),
    REDUCE("ReduceL2", "real", .contents = NULL),
    REDUCE("ReduceLogSum", "real", .contents = NULL),
    REDUCE("ReduceLogSumExp", "real", .contents = NULL),
    REDUCE("ReduceSumSquare", "real", .contents = NULL),
    {0}};
