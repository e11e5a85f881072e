//===- attention.c - Attention -----------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: two matrix products around a softmax, on [batch][heads][..] tensors
// of f32 (or f64). With fewer heads of K than of Q, the queries of the heads
// that share one are rows of one product, so nothing is repeated. Mask, causal
// frontier, window and padding are one pointwise op: what may not be attended
// is -inf whatever its score is. A row where nothing may be attended becomes
// zeros behind the softmax, which gives NaN for it. Where the scores are not
// asked for and what a query sees ends at a frontier, all of it is
// krnl.attention or krnl.attention_cached.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { Q, K, V, MASK, PAST_K, PAST_V, NONPAD };
enum { Y, PRESENT_K, PRESENT_V, SCORES };

//===-- Inference -----------------------------------------------------------//

/// Dims of an operand as [batch][heads][sequence][size].
static fe_status dims_4d(fe_infer *f, unsigned i, const char *heads,
                         fe_dims *out) {
  fe_dims d;
  if (fe_in_dims(f, i, &d))
    return FE_FAILED;
  if (d.rank == 4) {
    *out = d;
    return FE_OK;
  }
  int64_t n = fe_attr_i64(f->attrs, heads, 0);
  if (d.rank != 3 || n <= 0)
    return fe_infer_error(f, NULL,
                          "Q, K and V must have rank 4, or rank 3 and the "
                          "attributes with the numbers of heads");
  int64_t wide = fe_dim_static(d.d[2]);
  if (wide != FE_DYN && wide % n)
    return fe_infer_error(
        f, NULL, "%" PRId64 " heads do not fit into %" PRId64 " elements", n,
        wide);
  MlirAffineExpr count = fe_dim_const(f->ir, n);
  *out = (fe_dims){
      .rank = 4, .d = {d.d[0], count, d.d[1], fe_dim_floordiv(d.d[2], count)}};
  return FE_OK;
}

static bool differ(MlirAffineExpr a, MlirAffineExpr b) {
  int64_t x = fe_dim_static(a), y = fe_dim_static(b);
  return x != FE_DYN && y != FE_DYN && x != y;
}

static bool present(const fe_infer *f, unsigned i) {
  return i < f->n_in && !fe_is_null(f->in[i]);
}

static fe_status infer_attention(fe_infer *f) {
  fe_dims q, k, v, pk, pv, in;
  if (dims_4d(f, Q, "q_num_heads", &q) || dims_4d(f, K, "kv_num_heads", &k) ||
      dims_4d(f, V, "kv_num_heads", &v) || fe_in_dims(f, Q, &in))
    return FE_FAILED;
  if (differ(q.d[0], k.d[0]) || differ(q.d[0], v.d[0]) ||
      differ(k.d[1], v.d[1]) || differ(k.d[2], v.d[2]) ||
      differ(q.d[3], k.d[3]))
    return fe_infer_error(f, NULL, "the shapes of Q, K and V do not agree");
  int64_t hq = fe_dim_static(q.d[1]), hk = fe_dim_static(k.d[1]);
  if (hq != FE_DYN && hk != FE_DYN && (hk == 0 ? hq != 0 : hq % hk != 0))
    return fe_infer_error(
        f, NULL, "%" PRId64 " heads of Q cannot share %" PRId64 " heads of K",
        hq, hk);
  if (present(f, PAST_K) != present(f, PAST_V))
    return fe_infer_error(f, NULL, "past_key and past_value go together");
  if (present(f, PAST_K)) {
    if (fe_in_dims(f, PAST_K, &pk) || fe_in_dims(f, PAST_V, &pv))
      return FE_FAILED;
    if (pk.rank != 4 || pv.rank != 4 || differ(pk.d[1], k.d[1]) ||
        differ(pv.d[1], k.d[1]) || differ(pk.d[3], k.d[3]) ||
        differ(pv.d[3], v.d[3]) || differ(pk.d[2], pv.d[2]) ||
        differ(pk.d[0], q.d[0]) || differ(pv.d[0], q.d[0]))
      return fe_infer_error(f, NULL, "the past's shape does not fit");
    k.d[2] = fe_dim_add(pk.d[2], k.d[2]);
    v.d[2] = fe_dim_add(pv.d[2], v.d[2]);
  }
  if (present(f, MASK)) {
    fe_dims m;
    if (fe_in_dims(f, MASK, &m))
      return FE_FAILED;
    const MlirAffineExpr whole[4] = {q.d[0], q.d[1], q.d[2], k.d[2]};
    bool fits = m.rank >= 1 && m.rank <= 4;
    for (unsigned i = 0; fits && i + 1 < m.rank; ++i)
      fits =
          fe_dim_static(m.d[i]) == 1 || !differ(m.d[i], whole[4 - m.rank + i]);
    int64_t last = fits ? fe_dim_static(m.d[m.rank - 1]) : FE_DYN;
    int64_t total = fe_dim_static(k.d[2]);
    if (!fits || (last != FE_DYN && total != FE_DYN && last > total))
      return fe_infer_error(f, NULL, "the mask's shape does not fit");
  }
  fe_dims y = {.rank = 4, .d = {q.d[0], q.d[1], q.d[2], v.d[3]}};
  if (in.rank == 3)
    y = (fe_dims){.rank = 3, .d = {q.d[0], q.d[2], fe_dim_mul(q.d[1], v.d[3])}};
  fe_dims scores = {.rank = 4, .d = {q.d[0], q.d[1], q.d[2], k.d[2]}};
  fe_out_tensor(f, Y, fe_in_dtype(f, Q), &y);
  fe_out_tensor(f, PRESENT_K, fe_in_dtype(f, K), &k);
  fe_out_tensor(f, PRESENT_V, fe_in_dtype(f, V), &v);
  fe_out_tensor(f, SCORES, fe_in_dtype(f, Q), &scores);
  return FE_OK;
}

//===-- Operands ------------------------------------------------------------//

typedef struct attention {
  fe_lower *l;
  fe_dtype work;
  MlirValue batch, heads, kv_heads, rows, total, size, v_size;
  MlirValue past; // length of the past, null: none
} attention;

/// Sizes of operand i as [batch][heads][sequence][size].
static void sizes_4d(fe_lower *l, unsigned i, const char *heads,
                     MlirValue out[4]) {
  fe_ir *ir = l->ir;
  if (fe_rank(l->in[i]) == 4) {
    fe_sizes_of(l, l->in[i], out);
    return;
  }
  MlirValue wide = fe_size(l, l->in[i], 2);
  out[0] = fe_size(l, l->in[i], 0);
  out[1] = fe_index(ir, fe_attr_i64(l->op, heads, 1));
  out[2] = fe_size(l, l->in[i], 1);
  out[3] = fe_divu(ir, wide, out[1]);
  int64_t n;
  if (fe_size_known(wide, &n))
    out[3] = fe_index(ir, n / fe_attr_i64(l->op, heads, 1));
  else
    fe_check_equal(l, fe_mul(ir, out[1], out[3]), wide,
                   "the heads do not fit into the last dimension");
}

/// Operand i as [batch][heads][sequence][size] of type t, times `factor`.
static MlirValue as_4d(fe_lower *l, unsigned i, const MlirValue size[4],
                       fe_dtype t, double factor) {
  fe_ir *ir = l->ir;
  MlirValue x = l->in[i];
  bool flat = fe_rank(x) == 3;
  if (!flat && factor == 1)
    return fe_to_type(l, x, l->in_type[i], t);
  unsigned order[4] = {0, 1, 2, 3};
  if (flat) {
    MlirValue split[4] = {size[0], size[2], size[1], size[3]};
    x = fe_reshape(l, x, fe_elem_of(x), 4, split);
    order[1] = 2;
    order[2] = 1;
  }
  MlirAffineExpr e[4];
  for (unsigned d = 0; d < 4; ++d)
    e[d] = mlirAffineDimExprGet(ir->ctx, order[d]);
  MlirAffineMap map = mlirAffineMapGet(ir->ctx, 4, 0, 4, e);
  fe_generic *g = fe_generic_begin(l, 4, size, 1, &x, &l->in_type[i], &map);
  MlirValue v = fe_arg(g, 0);
  if (!mlirTypeEqual(mlirValueGetType(v), fe_compute_type(ir, t)))
    v = fe_convert(ir, v, fe_compute_type(ir, t), false, false);
  if (factor != 1)
    v = fe_mul(ir, v, fe_float(ir, mlirValueGetType(v), factor));
  return fe_generic_end(g, t, v);
}

/// The past, if any, and K or V behind it, in their own type.
static MlirValue with_past(attention *a, unsigned i, unsigned past,
                           const MlirValue size[4]) {
  fe_lower *l = a->l;
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[i];
  MlirValue x = as_4d(l, i, size, t, 1);
  if (fe_is_null(a->past))
    return x;
  fe_kernel k;
  MlirValue heads = fe_mul(ir, size[0], size[1]);
  MlirValue old[3] = {heads, a->past, size[3]};
  MlirValue added[3] = {heads, size[2], size[3]};
  MlirValue both[3] = {heads, a->total, size[3]};
  MlirType elem = fe_storage_type(ir, t);
  MlirValue in[2] = {fe_reshape(l, l->in[past], elem, 3, old),
                     fe_reshape(l, x, elem, 3, added)};
  MlirValue dest = fe_tensor_empty(l, t, 3, both);
  fe_kernel_begin(&k, l, "append", 2, in, 1, &dest, 0, NULL);
  fe_region head = fe_for_begin(ir, k.begin, k.end, fe_index(ir, 1), 0, NULL);
  MlirValue columns = fe_dim(ir, k.out[0], 2), start = fe_index(ir, 0);
  for (unsigned part = 0; part < 2; ++part) {
    MlirValue n = fe_dim(ir, k.in[part], 1);
    fe_region r = fe_loop(ir, n), c = fe_loop(ir, columns);
    MlirValue v = fe_load(ir, k.in[part], FE_IDX(head.iv, r.iv, c.iv));
    fe_store(ir, v, k.out[0], FE_IDX(head.iv, fe_add(ir, start, r.iv), c.iv));
    fe_loop_end(ir, &c);
    fe_loop_end(ir, &r);
    start = n;
  }
  fe_loop_end(ir, &head);
  fe_kernel_end(&k, fe_kernel_dim(&k, 2, 0),
                fe_dim_mul(fe_kernel_dim(&k, 2, 1), fe_kernel_dim(&k, 2, 2)));
  MlirValue whole[4] = {size[0], size[1], a->total, size[3]};
  return fe_reshape(l, k.result[0], elem, 4, whole);
}

//===-- Scores --------------------------------------------------------------//

static MlirValue soft_cap(fe_ir *ir, const MlirValue *x, const void *user) {
  const double *cap = user;
  MlirValue c = fe_float(ir, mlirValueGetType(x[0]), *cap);
  return fe_mul(ir, fe_math(ir, "tanh", fe_div(ir, x[0], c)), c);
}

/// i1: whether query row i may attend key j, but for the mask; null: always.
static MlirValue allowed(attention *a, fe_generic *g) {
  fe_lower *l = a->l;
  fe_ir *ir = l->ir;
  bool causal = fe_attr_i64(l->op, "is_causal", 0);
  int64_t left = fe_attr_i64(l->op, "left_window_size", -1);
  int64_t right = fe_attr_i64(l->op, "right_window_size", -1);
  MlirValue nonpad = l->n_in > NONPAD ? l->in[NONPAD] : (MlirValue){0};
  MlirValue conditions[4], j = fe_iter(g, 3), count = {0};
  unsigned n = 0;
  if (!fe_is_null(nonpad)) {
    MlirValue b = fe_iter(g, 0);
    count = fe_to_index(ir, fe_at(g, nonpad, FE_I64, 1, &b));
    conditions[n++] = fe_cmp(ir, FE_LT, j, count);
  }
  if (causal || left >= 0 || right >= 0) {
    MlirValue p = fe_iter(g, 2);
    if (!fe_is_null(a->past))
      p = fe_add(ir, p, a->past);
    else if (!fe_is_null(count))
      p = fe_add(ir, p, fe_sub(ir, count, a->rows));
    if (causal)
      conditions[n++] = fe_cmp(ir, FE_LE, j, p);
    if (left >= 0)
      conditions[n++] = fe_cmp(ir, FE_GE, fe_add(ir, j, fe_index(ir, left)), p);
    if (right >= 0)
      conditions[n++] =
          fe_cmp(ir, FE_LE, j, fe_add(ir, p, fe_index(ir, right)));
  }
  for (unsigned i = 1; i < n; ++i)
    conditions[0] = fe_and(ir, conditions[0], conditions[i]);
  return n ? conditions[0] : (MlirValue){0};
}

/// What lies beyond a mask shorter than the keys is not attended.
typedef struct mask {
  MlirValue one[4]; // i1: the dim is 1; null: it is not
  MlirValue last;   // size of the last dim, null: all keys
} mask;

/// Checks in main that the mask fits.
static mask mask_of(attention *a) {
  fe_lower *l = a->l;
  fe_ir *ir = l->ir;
  mask m = {0};
  MlirValue v = l->in[MASK];
  unsigned rank = fe_rank(v);
  const MlirValue whole[4] = {a->batch, a->heads, a->rows, a->total};
  for (unsigned i = 0; i < rank; ++i) {
    MlirValue size = fe_size(l, v, i), want = whole[4 - rank + i], fits;
    int64_t n, w;
    bool known = fe_size_known(size, &n) && fe_size_known(want, &w);
    if (fe_same(size, want) || (known && n == w))
      continue;
    if (i + 1 == rank) {
      m.last = size;
      fits = fe_and(ir, fe_cmp(ir, FE_LE, size, want),
                    fe_cmp(ir, FE_GT, size, fe_index(ir, 0)));
    } else {
      m.one[i] = fe_cmp(ir, FE_EQ, size, fe_index(ir, 1));
      fits = fe_or(ir, m.one[i], fe_cmp(ir, FE_EQ, size, want));
    }
    if (!known)
      fe_check(l, fits, "the mask's shape does not fit");
  }
  return m;
}

/// score where the mask lets it through, with a mask of numbers added.
static MlirValue masked(attention *a, fe_generic *g, const mask *m,
                        MlirValue score) {
  fe_lower *l = a->l;
  fe_ir *ir = l->ir;
  MlirValue v = l->in[MASK], at[4], inside = {0};
  unsigned rank = fe_rank(v);
  for (unsigned i = 0; i < rank; ++i) {
    at[i] = fe_iter(g, 4 - rank + i);
    if (!fe_is_null(m->one[i]))
      at[i] = fe_select(ir, m->one[i], fe_index(ir, 0), at[i]);
  }
  MlirType t = mlirValueGetType(score);
  MlirValue none = fe_float(ir, t, -INFINITY);
  if (!fe_is_null(m->last)) {
    MlirValue end = fe_sub(ir, m->last, fe_index(ir, 1));
    inside = fe_cmp(ir, FE_LE, at[rank - 1], end);
    at[rank - 1] = fe_min(ir, at[rank - 1], end);
  }
  MlirValue e = fe_at(g, v, l->in_type[MASK], rank, at), out;
  if (l->in_type[MASK] == FE_BOOL) {
    out = fe_select(ir, e, score, none);
  } else {
    bool is_unsigned = fe_dtype_is_unsigned(l->in_type[MASK]);
    e = fe_convert(ir, e, t, is_unsigned, false);
    out = fe_select(ir, fe_cmp(ir, FE_EQ, e, none), none, fe_add(ir, score, e));
  }
  return fe_is_null(inside) ? out : fe_select(ir, inside, out, none);
}

/// Scores with everything that is not attended at -inf. *guard: a row may have
/// nothing to attend.
static MlirValue biased(attention *a, MlirValue scores, bool *guard) {
  fe_lower *l = a->l;
  fe_ir *ir = l->ir;
  bool has_mask = !fe_is_null(l->n_in > MASK ? l->in[MASK] : (MlirValue){0});
  mask m = has_mask ? mask_of(a) : (mask){0};
  MlirValue sizes[4] = {a->batch, a->heads, a->rows, a->total};
  MlirAffineMap id = mlirAffineMapMultiDimIdentityGet(ir->ctx, 4);
  fe_generic *g = fe_generic_begin(l, 4, sizes, 1, &scores, &a->work, &id);
  MlirValue v = fe_arg(g, 0), may = allowed(a, g);
  bool nonpad = l->n_in > NONPAD && !fe_is_null(l->in[NONPAD]);
  bool window = fe_attr_i64(l->op, "left_window_size", -1) >= 0 ||
                fe_attr_i64(l->op, "right_window_size", -1) >= 0;
  *guard = has_mask || nonpad || window;
  if (has_mask)
    v = masked(a, g, &m, v);
  if (!fe_is_null(may))
    v = fe_select(ir, may, v, fe_float(ir, mlirValueGetType(v), -INFINITY));
  return fe_generic_end(g, a->work, v);
}

static MlirValue zero_if_masked(fe_ir *ir, const MlirValue *x,
                                const void *user) {
  (void)user;
  MlirType t = mlirValueGetType(x[0]);
  MlirValue is_nan = fe_cmp(ir, FE_NE, x[0], x[0]);
  MlirValue out = fe_cmp(ir, FE_EQ, x[1], fe_float(ir, t, -INFINITY));
  return fe_select(ir, fe_and(ir, is_nan, out), fe_float(ir, t, 0), x[0]);
}

static MlirValue exp_of_difference(fe_ir *ir, const MlirValue *x,
                                   const void *user) {
  (void)user;
  return fe_math(ir, "exp", fe_sub(ir, x[0], x[1]));
}

static MlirValue softmax(attention *a, MlirValue x) {
  fe_lower *l = a->l;
  if (a->work == FE_F32)
    return fe_lower_row(l, "softmax", x, 3, 0, NULL, 0);
  const fe_reduction max = {
      .type = a->work, .combine = fe_element_max, .init = -INFINITY};
  const fe_reduction add = {.type = a->work, .combine = fe_element_add};
  MlirValue m = fe_reduce(l, x, a->work, 8, true, &max);
  MlirValue e = fe_map2(l, x, m, a->work, exp_of_difference, NULL);
  MlirValue s = fe_reduce(l, e, a->work, 8, true, &add);
  return fe_map2(l, e, s, a->work, fe_element_div, NULL);
}

//===-- In one kernel -------------------------------------------------------//

static bool absent(const fe_lower *l, unsigned i) {
  return i >= l->n_in || fe_is_null(l->in[i]);
}

static bool used(const fe_lower *l, unsigned i) {
  return i < l->n_out && fe_n_uses(fe_result(l->op, i));
}

static bool same_size(MlirValue a, MlirValue b) {
  int64_t x, y;
  return fe_same(a, b) ||
         (fe_size_known(a, &x) && fe_size_known(b, &y) && x == y);
}

/// What both kernels need.
static bool in_one_kernel(const attention *a) {
  int64_t n, h;
  bool heads = fe_same(a->heads, a->kv_heads) ||
               (fe_size_known(a->heads, &h) && fe_size_known(a->kv_heads, &h));
  return a->work == FE_F32 && heads && !used(a->l, SCORES) &&
         fe_size_known(a->size, &n) && n > 0 && fe_size_known(a->v_size, &n) &&
         n > 0;
}

/// Whether krnl.attention does the same. Its causal frontier ends at the last
/// key for the last query.
static bool is_plain(const attention *a, const MlirValue k_size[4]) {
  const fe_lower *l = a->l;
  return in_one_kernel(a) && l->in_type[K] == FE_F32 &&
         l->in_type[V] == FE_F32 && absent(l, MASK) && absent(l, NONPAD) &&
         fe_attr_i64(l->op, "left_window_size", -1) < 0 &&
         fe_attr_i64(l->op, "right_window_size", -1) < 0 &&
         fe_attr_f64(l->op, "softcap", 0) <= 0 &&
         (!fe_attr_i64(l->op, "is_causal", 0) || same_size(a->rows, k_size[2]));
}

/// What a query sees where it lies between two frontiers, which move by a key
/// with every query: the last of `window` keys, of which `ahead` are behind its
/// own.
typedef struct frontier {
  bool moves;
  int64_t ahead, window; // window 0: from the first key on
} frontier;

/// Whether krnl.attention_cached does the same.
static bool is_cached(const attention *a, frontier *f) {
  const fe_lower *l = a->l;
  int64_t left = fe_attr_i64(l->op, "left_window_size", -1), n;
  int64_t right = fe_attr_i64(l->op, "right_window_size", -1);
  bool causal = fe_attr_i64(l->op, "is_causal", 0) != 0;
  *f = (frontier){.moves = causal || right >= 0, .ahead = causal ? 0 : right};
  if (f->moves && left >= 0)
    f->window = left < INT32_MAX - f->ahead ? left + 1 + f->ahead : 0;
  if (!in_one_kernel(a) || (left >= 0 && !f->moves) || f->ahead > INT32_MAX)
    return false;
  // A length ends what is seen by its own, too.
  if (!absent(l, NONPAD) && (!fe_is_null(a->past) || f->ahead > 0))
    return false;
  // The kernel would repeat a single column.
  if (!absent(l, MASK) &&
      fe_static_dim(l->in[MASK], fe_rank(l->in[MASK]) - 1) == 1 &&
      !(fe_size_known(a->total, &n) && n == 1))
    return false;
  return true;
}

/// In what type the kernel reads K or V.
static fe_dtype cache_type(const attention *a, unsigned i) {
  fe_dtype t = a->l->in_type[i];
  return t == FE_F16 || t == FE_BF16 ? t : a->work;
}

/// [batch] keys that the first query sees.
static MlirValue frontiers_of(attention *a, const frontier *f) {
  fe_lower *l = a->l;
  fe_ir *ir = l->ir;
  fe_generic *g = fe_generic_begin(l, 1, &a->batch, 0, NULL, NULL, NULL);
  MlirValue n = a->total, b = fe_iter(g, 0);
  if (!absent(l, NONPAD))
    n = fe_to_index(ir, fe_at(g, l->in[NONPAD], FE_I64, 1, &b));
  if (f->moves) {
    if (!absent(l, NONPAD))
      n = fe_sub(ir, n, a->rows);
    else
      n = fe_is_null(a->past) ? fe_index(ir, 0) : a->past;
    n = fe_add(ir, n, fe_index(ir, f->ahead + 1));
  }
  return fe_generic_end(g, FE_I64, fe_convert(ir, n, ir->i64, false, false));
}

static MlirValue filter_of(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_select(ir, x[0], fe_float(ir, ir->f32, 0),
                   fe_float(ir, ir->f32, -INFINITY));
}

/// The mask as numbers that are added; null: none.
static MlirValue mask_as_numbers(attention *a) {
  fe_lower *l = a->l;
  if (absent(l, MASK))
    return (MlirValue){0};
  mask_of(a); // checks that it fits
  MlirValue v = l->in[MASK];
  return l->in_type[MASK] == FE_BOOL
             ? fe_map1(l, v, FE_BOOL, FE_F32, filter_of, NULL)
             : fe_to_type(l, v, l->in_type[MASK], FE_F32);
}

/// Q, K or V of rank 3 with heads side by side, as they lie, or else x.
static MlirValue as_it_lies(attention *a, unsigned i, MlirValue x, fe_dtype t,
                            const MlirValue size[4], const char **layout) {
  fe_lower *l = a->l;
  *layout = "bhsd";
  if (!fe_is_null(x))
    return x;
  *layout = "bshd";
  MlirValue sizes[4] = {size[0], size[2], size[1], size[3]};
  x = fe_to_type(l, l->in[i], l->in_type[i], t);
  return fe_reshape(l, x, fe_elem_of(x), 4, sizes);
}

static MlirValue plain(attention *a, const MlirValue x[3],
                       const char *const layouts[4], const MlirValue sizes[4],
                       double scale) {
  fe_lower *l = a->l;
  fe_ir *ir = l->ir;
  MlirValue dest = fe_tensor_empty(l, a->work, 4, sizes);
  MlirType type = mlirValueGetType(dest);
  const int64_t pick[3] = {0};
  return fe_first(FE_OP(
      ir, "krnl.attention", FE_VALUES(x[0], x[1], x[2], dest), FE_TYPES(type),
      FE_ATTRS(fe_at_f32(ir, "scale", scale),
               fe_at_i64(ir, "causal", fe_attr_i64(l->op, "is_causal", 0)),
               fe_at_strs(ir, "layouts", 4, layouts),
               fe_at_i64s(ir, "pick", 3, pick))));
}

static MlirValue cached(attention *a, const MlirValue x[3],
                        const char *const layouts[4], const MlirValue sizes[4],
                        double scale, const frontier *f) {
  fe_attention_call c = {.q = x[Q],
                         .k = x[K],
                         .v = x[V],
                         .frontiers = frontiers_of(a, f),
                         .mask = mask_as_numbers(a),
                         .scale = scale,
                         .softcap = fe_attr_f64(a->l->op, "softcap", 0),
                         .window = f->window,
                         .causal = f->moves};
  memcpy(c.layouts, layouts, sizeof c.layouts);
  memcpy(c.sizes, sizes, sizeof c.sizes);
  return fe_lower_attention(a->l, &c);
}

/// f: null for krnl.attention.
static MlirValue by_kernel(attention *a, const MlirValue x[3],
                           const char *const layouts[4], double scale,
                           const frontier *f) {
  fe_lower *l = a->l;
  fe_ir *ir = l->ir;
  bool flat = fe_out_rank(l, Y) == 3;
  MlirValue sizes[4] = {a->batch, a->heads, a->rows, a->v_size};
  if (flat) {
    sizes[1] = a->rows;
    sizes[2] = a->heads;
  }
  MlirValue y = f ? cached(a, x, layouts, sizes, scale, f)
                  : plain(a, x, layouts, sizes, scale);
  y = fe_reshape(l, y, fe_elem_of(y), 4, sizes);
  y = fe_to_type(l, y, a->work, l->out_type[Y]);
  if (!flat)
    return y;
  int64_t h = 0, n = 0;
  MlirValue wide = fe_size_known(a->heads, &h) && fe_size_known(a->v_size, &n)
                       ? fe_index(ir, h * n)
                       : fe_mul(ir, a->heads, a->v_size);
  MlirValue rows[3] = {a->batch, a->rows, wide};
  return fe_reshape(l, y, fe_elem_of(y), 3, rows);
}

//===-- Lowering ------------------------------------------------------------//

/// Product per head of K: a [batch][heads][rows][..] by b.
static MlirValue product(attention *a, MlirValue x, MlirValue inner,
                         MlirValue b, bool trans_b, MlirValue columns) {
  fe_lower *l = a->l;
  fe_ir *ir = l->ir;
  MlirValue kv_heads = fe_max(ir, a->kv_heads, fe_index(ir, 1));
  MlirValue group = fe_divu(ir, a->heads, kv_heads);
  int64_t h, k;
  if (fe_same(a->heads, a->kv_heads))
    group = fe_index(ir, 1);
  else if (fe_size_known(a->heads, &h) && fe_size_known(a->kv_heads, &k))
    group = fe_index(ir, k ? h / k : 1);
  else
    fe_check_equal(l, fe_mul(ir, group, a->kv_heads), a->heads,
                   "the heads of Q are not a multiple of those of K");
  MlirValue wide = fe_mul(ir, group, a->rows);
  int64_t n, g;
  if (fe_size_known(a->rows, &n) && fe_size_known(group, &g))
    wide = fe_index(ir, n * g);
  else if (fe_size_known(group, &g) && g == 1)
    wide = a->rows;
  MlirValue as[4] = {a->batch, a->kv_heads, wide, inner};
  MlirValue sizes[4] = {a->batch, a->kv_heads, wide, columns};
  MlirValue back[4] = {a->batch, a->heads, a->rows, columns};
  bool same = fe_same(wide, a->rows);
  if (!same)
    x = fe_reshape(l, x, fe_elem_of(x), 4, as);
  x = fe_lower_product(l, x, false, b, trans_b, a->work, 4, sizes);
  return same ? x : fe_reshape(l, x, fe_elem_of(x), 4, back);
}

static void check_sizes(attention *a, const MlirValue q[4],
                        const MlirValue k[4], const MlirValue v[4]) {
  fe_lower *l = a->l;
  static const char message[] = "the shapes of Q, K and V do not agree";
  fe_check_equal(l, q[0], k[0], message);
  fe_check_equal(l, q[0], v[0], message);
  fe_check_equal(l, k[1], v[1], message);
  fe_check_equal(l, k[2], v[2], message);
  fe_check_equal(l, q[3], k[3], message);
  if (!fe_is_null(a->past)) {
    static const char past[] = "the past's shape does not fit";
    static const unsigned which[2] = {PAST_K, PAST_V};
    for (unsigned i = 0; i < 2; ++i) {
      const MlirValue *want = i ? v : k;
      for (unsigned d = 0; d < 4; ++d)
        fe_check_equal(l, fe_size(l, l->in[which[i]], d),
                       d == 2 ? a->past : want[d], past);
    }
  }
  if (l->n_in > NONPAD && !fe_is_null(l->in[NONPAD]))
    fe_check_equal(l, fe_size(l, l->in[NONPAD], 0), q[0],
                   "nonpad_kv_seqlen is not of the batch's size");
}

/// The result; of rank 3, with the heads of a row side by side.
static MlirValue result_of(attention *a, MlirValue y) {
  fe_lower *l = a->l;
  fe_ir *ir = l->ir;
  if (fe_out_rank(l, Y) == 4)
    return fe_to_type(l, y, a->work, l->out_type[Y]);
  MlirValue sizes[4] = {a->batch, a->rows, a->heads, a->v_size};
  MlirAffineExpr e[4] = {
      mlirAffineDimExprGet(ir->ctx, 0), mlirAffineDimExprGet(ir->ctx, 2),
      mlirAffineDimExprGet(ir->ctx, 1), mlirAffineDimExprGet(ir->ctx, 3)};
  MlirAffineMap map = mlirAffineMapGet(ir->ctx, 4, 0, 4, e);
  fe_generic *g = fe_generic_begin(l, 4, sizes, 1, &y, &a->work, &map);
  y = fe_generic_end(g, l->out_type[Y], fe_arg(g, 0));
  MlirValue flat[3] = {a->batch, a->rows, fe_mul(ir, a->heads, a->v_size)};
  int64_t h, n;
  if (fe_size_known(a->heads, &h) && fe_size_known(a->v_size, &n))
    flat[2] = fe_index(ir, h * n);
  return fe_reshape(l, y, fe_elem_of(y), 3, flat);
}

static fe_status lower_attention(fe_lower *l) {
  fe_ir *ir = l->ir;
  attention a = {.l = l, .work = fe_work_type(l->in_type[Q])};
  MlirValue q_size[4], k_size[4], v_size[4];
  sizes_4d(l, Q, "q_num_heads", q_size);
  sizes_4d(l, K, "kv_num_heads", k_size);
  sizes_4d(l, V, "kv_num_heads", v_size);
  a.batch = q_size[0];
  a.heads = q_size[1];
  a.rows = q_size[2];
  a.size = q_size[3];
  a.kv_heads = k_size[1];
  a.total = k_size[2];
  a.v_size = v_size[3];
  if (l->n_in > PAST_K && !fe_is_null(l->in[PAST_K])) {
    a.past = fe_size(l, l->in[PAST_K], 2);
    MlirValue known[4] = {{0}};
    fe_out_sizes(l, PRESENT_K, known);
    a.total = fe_is_null(known[2]) ? fe_add(ir, a.past, a.total) : known[2];
  }
  check_sizes(&a, q_size, k_size, v_size);
  frontier seen;
  bool in_kernel = is_plain(&a, k_size), cached = false;
  if (!in_kernel)
    in_kernel = cached = is_cached(&a, &seen);
  bool lies = in_kernel && fe_is_null(a.past) && fe_rank(l->in[K]) == 3;
  MlirValue k = {0}, v = {0};
  if (!lies || used(l, PRESENT_K))
    k = l->out[PRESENT_K] = with_past(&a, K, PAST_K, k_size);
  if (!lies || used(l, PRESENT_V))
    v = l->out[PRESENT_V] = with_past(&a, V, PAST_V, v_size);
  // The second kernel takes halves as they are.
  fe_dtype k_type = cached ? cache_type(&a, K) : a.work;
  fe_dtype v_type = cached ? cache_type(&a, V) : a.work;
  if (!fe_is_null(k))
    k = fe_to_type(l, k, l->in_type[K], k_type);
  if (!fe_is_null(v))
    v = fe_to_type(l, v, l->in_type[V], v_type);

  // The scale is a number only when the size of a head is known.
  double scale = fe_attr_f64(l->op, "scale", 0);
  int64_t size;
  bool late = scale == 0 && !fe_size_known(a.size, &size);
  if (scale == 0 && !late)
    scale = 1 / sqrt((double)size);
  if (in_kernel) {
    MlirValue q = {0};
    if (fe_rank(l->in[Q]) == 4)
      q = fe_to_type(l, l->in[Q], l->in_type[Q], a.work);
    const char *layouts[4];
    MlirValue x[3] = {as_it_lies(&a, Q, q, a.work, q_size, &layouts[0]),
                      as_it_lies(&a, K, k, k_type, k_size, &layouts[1]),
                      as_it_lies(&a, V, v, v_type, v_size, &layouts[2])};
    layouts[3] = fe_out_rank(l, Y) == 3 ? "bshd" : "bhsd";
    l->out[Y] = by_kernel(&a, x, layouts, scale, cached ? &seen : NULL);
    return FE_OK;
  }
  MlirValue q = as_4d(l, Q, q_size, a.work, late ? 1 : scale);
  if (late) {
    MlirAffineMap id = mlirAffineMapMultiDimIdentityGet(ir->ctx, 4);
    fe_generic *g = fe_generic_begin(l, 4, q_size, 1, &q, &a.work, &id);
    MlirValue x = fe_arg(g, 0);
    MlirValue n = fe_convert(ir, a.size, mlirValueGetType(x), false, false);
    q = fe_generic_end(g, a.work, fe_div(ir, x, fe_math(ir, "sqrt", n)));
  }
  MlirValue scores = product(&a, q, a.size, k, true, a.total);
  int64_t mode = fe_attr_i64(l->op, "qk_matmul_output_mode", 0);
  MlirValue shown = scores;
  double cap = fe_attr_f64(l->op, "softcap", 0);
  if (cap > 0)
    scores = fe_map1(l, scores, a.work, a.work, soft_cap, &cap);
  if (mode == 1)
    shown = scores;
  bool guard;
  scores = biased(&a, scores, &guard);
  if (mode == 2)
    shown = scores;
  MlirValue p = softmax(&a, scores);
  if (guard)
    p = fe_map2(l, p, scores, a.work, zero_if_masked, NULL);
  if (mode == 3)
    shown = p;
  if (l->n_out > SCORES && fe_n_uses(fe_result(l->op, SCORES)))
    l->out[SCORES] = fe_to_type(l, shown, a.work, l->out_type[SCORES]);
  l->out[Y] = result_of(&a, product(&a, p, a.total, v, false, a.v_size));
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def attention_attrs[] = {
    {"is_causal", FE_A_INT, "0"},
    {"kv_num_heads", FE_A_INT, "0"},
    {"left_window_size", FE_A_INT, "-1"},
    {"q_num_heads", FE_A_INT, "0"},
    {"qk_matmul_output_mode", FE_A_INT, "0|1|2|3"},
    {"right_window_size", FE_A_INT, "-1"},
    {"scale", FE_A_FLOAT, "0"}, // 0: by the size of a head
    {"softcap", FE_A_FLOAT, "0"},
    {"softmax_precision", FE_A_INT, "0|1|10|11|16"}, // never below f32
    {0}};

const fe_op_row fe_family_attention[] = {
    {.name = "Attention",
     .since = 23,
     .inputs = "Q:T1, K:T1, V:T2, attn_mask?:U, past_key?:T1, past_value?:T2, "
               "nonpad_kv_seqlen?:T3",
     .outputs = "Y:T1, present_key:T1, present_value:T2, qk_matmul_output:T1",
     .types = "T1=float;T2=float;U=bool,real;T3=i64",
     .attrs = attention_attrs,
     .infer = infer_attention,
     .lower = lower_attention},
    {0}};
