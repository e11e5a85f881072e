//===- order.c - ArgMax, ArgMin, TopK ----------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All work on [outer][axis][inner]. ArgMax keeps the best elements so far of a
// chunk of inner positions, so that the innermost loop runs along memory. TopK
// keeps the best k in a heap whose root is the worst of them, in the outputs
// themselves, and sorts it in the end. Of equal elements the first is better.
// Where k is a good part of the row, the row is sorted by its bytes instead:
// the branches of a heap are hard to predict.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <string.h>

//===-- ArgMax, ArgMin ------------------------------------------------------//

static fe_status infer_arg(fe_infer *f) {
  fe_dims d, out = {0};
  unsigned axis;
  if (fe_in_dims(f, 0, &d) ||
      fe_axis(f, fe_attr_i64(f->attrs, "axis", 0), d.rank, &axis))
    return FE_FAILED;
  if (fe_dim_static(d.d[axis]) == 0)
    return fe_infer_error(f, NULL, "dimension %u is empty", axis);
  bool keep = fe_attr_i64(f->attrs, "keepdims", 1);
  for (unsigned i = 0; i < d.rank; ++i)
    if (i != axis)
      out.d[out.rank++] = d.d[i];
    else if (keep)
      out.d[out.rank++] = fe_dim_const(f->ir, 1);
  fe_out_tensor(f, 0, FE_I64, &out);
  return FE_OK;
}

static MlirValue beyond(fe_ir *ir, fe_cmp_kind kind, fe_dtype t, MlirValue a,
                        MlirValue b) {
  return fe_dtype_is_unsigned(t) ? fe_cmpu(ir, kind, a, b)
                                 : fe_cmp(ir, kind, a, b);
}

#define FE_CHUNK 256 // inner positions done at once

/// Body of the kernel for positions [first, first + FE_CHUNK) of row o.
static void arg_chunk(fe_kernel *k, fe_dtype t, fe_cmp_kind kind, MlirValue o,
                      MlirValue first) {
  fe_ir *ir = k->l->ir;
  MlirValue x = k->in[0], out = k->out[0], zero = fe_index(ir, 0),
            one = fe_index(ir, 1), n = fe_dim(ir, x, 1),
            inner = fe_dim(ir, x, 2);
  int64_t chunk = FE_CHUNK, fixed = fe_static_dim(x, 2);
  chunk = fixed != FE_DYN && fixed < chunk ? fixed : chunk;
  MlirValue last = fe_min(ir, fe_add(ir, first, fe_index(ir, chunk)), inner);
  MlirValue best =
      fe_alloca(ir, fe_memref_type(ir, fe_compute_type(ir, t), 1, &chunk));
  fe_region i = fe_for_begin(ir, first, last, one, 0, NULL);
  MlirValue at = fe_sub(ir, i.iv, first);
  fe_store(ir, fe_get(k, x, t, FE_IDX(o, zero, i.iv)), best, 1, &at);
  fe_store(ir, fe_int(ir, ir->i64, 0), out, FE_IDX(o, i.iv));
  fe_loop_end(ir, &i);
  fe_region a = fe_for_begin(ir, one, n, one, 0, NULL);
  MlirValue number = fe_convert(ir, a.iv, ir->i64, false, false);
  i = fe_for_begin(ir, first, last, one, 0, NULL);
  at = fe_sub(ir, i.iv, first);
  MlirValue v = fe_get(k, x, t, FE_IDX(o, a.iv, i.iv));
  MlirValue old = fe_load(ir, best, 1, &at);
  MlirValue better = beyond(ir, kind, t, v, old);
  fe_store(ir, fe_select(ir, better, v, old), best, 1, &at);
  MlirValue was = fe_load(ir, out, FE_IDX(o, i.iv));
  fe_store(ir, fe_select(ir, better, number, was), out, FE_IDX(o, i.iv));
  fe_loop_end(ir, &i);
  fe_loop_end(ir, &a);
}

static fe_status lower_arg(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0];
  MlirValue x = l->in[0], sizes[FE_MAX_RANK];
  unsigned axis = fe_attr_axis(l->op, "axis", 0, fe_rank(x));
  bool last = fe_attr_i64(l->op, "select_last_index", 0);
  bool max = !strcmp(l->row->name, "ArgMax");
  fe_cmp_kind kind = max ? last ? FE_GE : FE_GT : last ? FE_LE : FE_LT;
  MlirValue n = fe_size(l, x, axis);
  if (fe_static_dim(x, axis) == FE_DYN)
    fe_check(l, fe_cmp(ir, FE_GT, n, fe_index(ir, 0)),
             "the dimension is empty");
  x = fe_around_axis(l, x, axis);
  MlirValue flat[2] = {fe_size(l, x, 0), fe_size(l, x, 2)};
  MlirValue dest = fe_tensor_empty(l, FE_I64, 2, flat);
  fe_kernel k;
  fe_kernel_begin(&k, l, "arg", 1, &x, 1, &dest, 0, NULL);
  MlirValue size = fe_index(ir, FE_CHUNK);
  MlirValue chunks = fe_ceildiv(ir, fe_dim(ir, k.in[0], 2), size);
  fe_region item = fe_for_begin(ir, k.begin, k.end, fe_index(ir, 1), 0, NULL);
  arg_chunk(&k, t, kind, fe_divu(ir, item.iv, chunks),
            fe_mul(ir, fe_remu(ir, item.iv, chunks), size));
  fe_loop_end(ir, &item);
  MlirAffineExpr chunk = fe_dim_const(ir, FE_CHUNK);
  fe_kernel_end(&k,
                fe_dim_mul(fe_kernel_dim(&k, 0, 0),
                           fe_dim_ceildiv(fe_kernel_dim(&k, 0, 2), chunk)),
                fe_dim_mul(fe_kernel_dim(&k, 0, 1), chunk));
  fe_out_sizes(l, 0, sizes);
  unsigned rank = 0;
  bool keep = fe_attr_i64(l->op, "keepdims", 1);
  for (unsigned i = 0; i < fe_rank(l->in[0]); ++i)
    if (i != axis)
      sizes[rank++] = fe_size(l, l->in[0], i);
    else if (keep)
      sizes[rank++] = fe_index(ir, 1);
  l->out[0] = fe_reshape(l, k.result[0], ir->i64, rank, sizes);
  return FE_OK;
}

//===-- TopK ----------------------------------------------------------------//

static fe_status infer_topk(fe_infer *f) {
  fe_dims d, list;
  fe_contents k;
  unsigned axis;
  if (fe_in_dims(f, 0, &d) || fe_in_dims(f, 1, &list) ||
      fe_axis(f, fe_attr_i64(f->attrs, "axis", -1), d.rank, &axis))
    return FE_FAILED;
  if (list.rank > 1)
    return fe_infer_error(f, NULL, "K must be a list of one number");
  int64_t n = fe_dim_static(d.d[axis]);
  bool known = fe_contents_of(f->ir, f->in[1], &k) && k.n == 1;
  MlirAffineExpr wanted = known ? k.at[0] : fe_fresh_dim(f);
  int64_t count = fe_dim_static(wanted);
  if (count != FE_DYN && (count < 0 || (n != FE_DYN && count > n)))
    return fe_infer_error(f, NULL, "K is %lld, out of range", (long long)count);
  d.d[axis] = wanted;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &d);
  fe_out_tensor(f, 1, FE_I64, &d);
  return FE_OK;
}

typedef struct top {
  fe_kernel k;
  fe_dtype t;
  bool largest;
  MlirValue o, i; // row
} top;

typedef struct entry {
  MlirValue value, index;
} entry;

static entry get(top *p, MlirValue j) {
  fe_ir *ir = p->k.l->ir;
  return (entry){fe_get(&p->k, p->k.out[0], p->t, FE_IDX(p->o, j, p->i)),
                 fe_load(ir, p->k.out[1], FE_IDX(p->o, j, p->i))};
}
static void put(top *p, MlirValue j, entry e) {
  fe_ir *ir = p->k.l->ir;
  fe_put(&p->k, e.value, p->k.out[0], p->t, FE_IDX(p->o, j, p->i));
  fe_store(ir, e.index, p->k.out[1], FE_IDX(p->o, j, p->i));
}
static MlirValue worse(top *p, entry a, entry b) {
  fe_ir *ir = p->k.l->ir;
  MlirValue less =
      beyond(ir, p->largest ? FE_LT : FE_GT, p->t, a.value, b.value);
  MlirValue same = fe_cmp(ir, FE_EQ, a.value, b.value);
  MlirValue later = fe_cmp(ir, FE_GT, a.index, b.index);
  return fe_or(ir, less, fe_and(ir, same, later));
}

/// Puts e, which belongs at `start` or below, where it belongs in the heap of
/// `size` entries.
static void sift(top *p, MlirValue start, MlirValue size, entry e) {
  fe_ir *ir = p->k.l->ir;
  MlirValue one = fe_index(ir, 1);
  fe_region w = fe_while_begin(ir, 1, &start);
  MlirValue at = fe_block_arg(w.body, 0), end = fe_sub(ir, size, one);
  MlirValue child = fe_add(ir, fe_add(ir, at, at), one);
  MlirValue inside = fe_cmp(ir, FE_LT, child, size);
  MlirValue left = fe_min(ir, child, end);
  MlirValue right = fe_min(ir, fe_add(ir, child, one), end);
  entry a = get(p, left), b = get(p, right);
  MlirValue take = worse(p, b, a);
  entry c = {fe_select(ir, take, b.value, a.value),
             fe_select(ir, take, b.index, a.index)};
  MlirValue to[2] = {at, fe_select(ir, take, right, left)};
  fe_while_do(ir, &w, fe_and(ir, inside, worse(p, c, e)), 2, to);
  MlirValue from = fe_block_arg(w.body, 1);
  put(p, fe_block_arg(w.body, 0), get(p, from));
  fe_while_end(ir, &w, 1, &from);
  put(p, fe_result(w.op, 0), e);
}

/// The row whose first entries become the heap.
static void top_row(top *p) {
  fe_ir *ir = p->k.l->ir;
  MlirValue x = p->k.in[0], zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue n = fe_dim(ir, x, 1), count = p->k.scalar[0];
  fe_region j = fe_loop(ir, count);
  MlirValue v = fe_get(&p->k, x, p->t, FE_IDX(p->o, j.iv, p->i));
  put(p, j.iv, (entry){v, fe_convert(ir, j.iv, ir->i64, false, false)});
  fe_loop_end(ir, &j);
  MlirValue half = fe_divu(ir, count, fe_index(ir, 2));
  j = fe_loop(ir, half);
  MlirValue from = fe_sub(ir, fe_sub(ir, half, one), j.iv);
  sift(p, from, count, get(p, from));
  fe_loop_end(ir, &j);
  j = fe_for_begin(ir, count, n, one, 0, NULL);
  v = fe_get(&p->k, x, p->t, FE_IDX(p->o, j.iv, p->i));
  entry root = get(p, zero);
  MlirValue better =
      beyond(ir, p->largest ? FE_GT : FE_LT, p->t, v, root.value);
  fe_region found = fe_if_begin(ir, better, 0, NULL, false);
  sift(p, zero, count, (entry){v, fe_convert(ir, j.iv, ir->i64, false, false)});
  fe_if_end(ir, &found, 0, NULL);
  fe_loop_end(ir, &j);
  // The worst goes to the end, again and again.
  j = fe_for_begin(ir, one, count, one, 0, NULL);
  MlirValue last = fe_sub(ir, count, j.iv);
  entry e = get(p, last);
  put(p, last, get(p, zero));
  sift(p, zero, last, e);
  fe_loop_end(ir, &j);
}

//===-- Sorting by bytes ----------------------------------------------------//

/// Rows are shared among so many items at most; each has memory to sort in.
#define FE_SLICES 64
/// From such a part of a row on, of at least so many elements, sorting is
/// faster than a heap.
#define FE_SORT_PART 32
#define FE_SORT_LEAST 256
#define FE_DIGITS 256

/// Whether a row is sorted; null: never, as value and index have no room in 64
/// bits.
static MlirValue sorts(fe_ir *ir, fe_dtype t, MlirValue n, MlirValue count) {
  if (!fe_order_has_key(t))
    return (MlirValue){NULL};
  int64_t a, b;
  MlirValue part = fe_mul(ir, count, fe_index(ir, FE_SORT_PART));
  MlirValue yes = fe_and(ir, fe_cmp(ir, FE_GE, part, n),
                         fe_cmp(ir, FE_GE, n, fe_index(ir, FE_SORT_LEAST)));
  if (fe_size_known(n, &a) &&
      (a < FE_SORT_LEAST || a > UINT32_MAX ||
       (fe_size_known(count, &b) && b < a / FE_SORT_PART)))
    return (MlirValue){NULL};
  return fe_and(ir, yes, fe_cmp(ir, FE_LE, n, fe_index(ir, UINT32_MAX)));
}

/// A pass over entries [from, from + n) of the slice's memory.
typedef struct pass {
  MlirValue memory, slice, from, n, shift, counts;
} pass;

static MlirValue entry_at(fe_ir *ir, const pass *s, MlirValue j) {
  return fe_load(ir, s->memory, FE_IDX(s->slice, fe_add(ir, s->from, j)));
}

static MlirValue digit(fe_ir *ir, const pass *s, MlirValue e) {
  MlirValue d =
      fe_and(ir, fe_shru(ir, e, s->shift), fe_int(ir, ir->i64, FE_DIGITS - 1));
  return fe_to_index(ir, d);
}

/// How often each digit is there.
static void count_digits(fe_ir *ir, const pass *s) {
  MlirValue digits = fe_index(ir, FE_DIGITS), one = fe_index(ir, 1);
  fe_region r = fe_loop(ir, digits);
  fe_store(ir, fe_index(ir, 0), s->counts, 1, &r.iv);
  fe_loop_end(ir, &r);
  r = fe_loop(ir, s->n);
  MlirValue d = digit(ir, s, entry_at(ir, s, r.iv));
  fe_store(ir, fe_add(ir, fe_load(ir, s->counts, 1, &d), one), s->counts, 1,
           &d);
  fe_loop_end(ir, &r);
}

/// Entries in the order of their digits to [to, to + n).
static void distribute(fe_ir *ir, const pass *s, MlirValue to) {
  MlirValue one = fe_index(ir, 1);
  fe_region r =
      fe_for_begin(ir, fe_index(ir, 0), fe_index(ir, FE_DIGITS), one, 1, &to);
  MlirValue at = fe_block_arg(r.body, 1);
  MlirValue next = fe_add(ir, at, fe_load(ir, s->counts, 1, &r.iv));
  fe_store(ir, at, s->counts, 1, &r.iv);
  fe_for_end(ir, &r, 1, &next);
  r = fe_loop(ir, s->n);
  MlirValue e = entry_at(ir, s, r.iv), d = digit(ir, s, e);
  at = fe_load(ir, s->counts, 1, &d);
  fe_store(ir, e, s->memory, FE_IDX(s->slice, at));
  fe_store(ir, fe_add(ir, at, one), s->counts, 1, &d);
  fe_loop_end(ir, &r);
}

static void sort_row(top *p, MlirValue slice) {
  fe_ir *ir = p->k.l->ir;
  MlirValue x = p->k.in[0], zero = fe_index(ir, 0), one = fe_index(ir, 1);
  int64_t digits = FE_DIGITS;
  pass s = {.memory = p->k.out[2], .slice = slice, .n = fe_dim(ir, x, 1)};
  s.counts = fe_alloca(ir, fe_memref_type(ir, ir->index, 1, &digits));
  fe_region j = fe_loop(ir, s.n);
  MlirValue v = fe_get(&p->k, x, p->t, FE_IDX(p->o, j.iv, p->i));
  fe_store(ir, fe_order_key(ir, p->t, v, j.iv, p->largest), s.memory,
           FE_IDX(slice, j.iv));
  fe_loop_end(ir, &j);
  // Indices are in order from the start, so only bytes of values are sorted.
  fe_region r = fe_for_begin(ir, zero, fe_index(ir, 4), one, 1, &zero);
  s.from = fe_block_arg(r.body, 1);
  MlirValue bit =
      fe_mul(ir, fe_add(ir, r.iv, fe_index(ir, 4)), fe_index(ir, 8));
  s.shift = fe_convert(ir, bit, ir->i64, false, false);
  count_digits(ir, &s);
  MlirValue first = digit(ir, &s, entry_at(ir, &s, zero));
  MlirValue same = fe_cmp(ir, FE_EQ, fe_load(ir, s.counts, 1, &first), s.n);
  fe_region c = fe_if_begin(ir, same, 1, &ir->index, true);
  fe_if_else(ir, &c, 1, &s.from);
  MlirValue to = fe_sub(ir, s.n, s.from);
  distribute(ir, &s, to);
  fe_if_end(ir, &c, 1, &to);
  to = fe_result(c.op, 0);
  fe_for_end(ir, &r, 1, &to);
  s.from = fe_result(r.op, 0);
  j = fe_loop(ir, p->k.scalar[0]);
  MlirValue index = fe_order_index(ir, entry_at(ir, &s, j.iv));
  v = fe_get(&p->k, x, p->t, FE_IDX(p->o, fe_to_index(ir, index), p->i));
  put(p, j.iv, (entry){v, index});
  fe_loop_end(ir, &j);
}

static void rows(top *p, MlirValue begin, MlirValue end, MlirValue slice) {
  fe_ir *ir = p->k.l->ir;
  MlirValue inner = fe_dim(ir, p->k.in[0], 2), zero = fe_index(ir, 0);
  // Without an entry there is no root to compare with.
  MlirValue none = fe_cmp(ir, FE_EQ, p->k.scalar[0], zero);
  end = fe_select(ir, none, begin, end);
  fe_region row = fe_for_begin(ir, begin, end, fe_index(ir, 1), 0, NULL);
  p->o = fe_divu(ir, row.iv, inner);
  p->i = fe_remu(ir, row.iv, inner);
  if (fe_is_null(slice)) {
    top_row(p);
  } else {
    MlirValue room = fe_dim(ir, p->k.out[2], 1);
    fe_region c = fe_if_begin(ir, fe_cmp(ir, FE_GT, room, zero), 0, NULL, true);
    sort_row(p, slice);
    fe_if_else(ir, &c, 0, NULL);
    top_row(p);
    fe_if_end(ir, &c, 0, NULL);
  }
  fe_loop_end(ir, &row);
}

static fe_status lower_topk(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  unsigned axis = fe_attr_axis(l->op, "axis", -1, rank);
  top p = {.t = l->in_type[0],
           .largest = fe_attr_i64(l->op, "largest", 1) != 0};
  MlirValue sizes[FE_MAX_RANK] = {{0}}, zero = fe_index(ir, 0);
  fe_sizes_of(l, l->in[0], sizes);
  MlirValue n = sizes[axis], known[FE_MAX_RANK] = {{0}};
  fe_out_sizes(l, 0, known);
  MlirValue count = known[axis];
  if (fe_is_null(count))
    count = fe_read_index(l, l->in[1], 0);
  int64_t a, b;
  if (!(fe_size_known(count, &a) && fe_size_known(n, &b)))
    fe_check(
        l,
        fe_and(ir, fe_cmp(ir, FE_GE, count, zero), fe_cmp(ir, FE_LE, count, n)),
        "K is out of range");
  MlirValue x = fe_around_axis(l, l->in[0], axis);
  MlirValue flat[3] = {fe_size(l, x, 0), count, fe_size(l, x, 2)};
  MlirValue dest[3] = {fe_tensor_empty(l, p.t, 3, flat),
                       fe_tensor_empty(l, FE_I64, 3, flat)};
  MlirValue sorted = sorts(ir, p.t, n, count);
  bool may_sort = !fe_is_null(sorted);
  if (may_sort) {
    MlirValue room[2] = {
        fe_min(ir, fe_mul(ir, flat[0], flat[2]), fe_index(ir, FE_SLICES)),
        fe_select(ir, sorted, fe_mul(ir, n, fe_index(ir, 2)), zero)};
    dest[2] = fe_tensor_empty(l, FE_I64, 2, room);
  }
  fe_kernel_begin(&p.k, l, "topk", 1, &x, 2 + may_sort, dest, 1, &count);
  MlirAffineExpr items = fe_dim_mul(fe_kernel_dim(&p.k, 0, 0),
                                    fe_kernel_dim(&p.k, 0, 2)),
                 cost =
                     fe_dim_mul(fe_kernel_dim(&p.k, 0, 1), fe_dim_const(ir, 8));
  if (may_sort) {
    cost = fe_dim_mul(cost, fe_dim_ceildiv(items, fe_dim_const(ir, FE_SLICES)));
    items = fe_kernel_dim(&p.k, 3, 0);
    MlirValue all =
        fe_mul(ir, fe_dim(ir, p.k.in[0], 0), fe_dim(ir, p.k.in[0], 2));
    MlirValue slices = fe_dim(ir, p.k.out[2], 0), one = fe_index(ir, 1);
    fe_region item = fe_for_begin(ir, p.k.begin, p.k.end, one, 0, NULL);
    MlirValue next = fe_add(ir, item.iv, one);
    rows(&p, fe_divu(ir, fe_mul(ir, item.iv, all), slices),
         fe_divu(ir, fe_mul(ir, next, all), slices), item.iv);
    fe_loop_end(ir, &item);
  } else {
    rows(&p, p.k.begin, p.k.end, (MlirValue){NULL});
  }
  fe_kernel_end(&p.k, items, cost);
  sizes[axis] = count;
  for (unsigned i = 0; i < 2; ++i)
    l->out[i] = fe_reshape(l, p.k.result[i], fe_out_elem(l, i), rank, sizes);
  return FE_OK;
}

static fe_status upgrade_topk(fe_node *n) {
  fe_node_attr *k = fe_node_attr_find(n, "k");
  if (n->opset < 10 && k) {
    int64_t count = k->i;
    fe_node_attr_remove(n, "k");
    fe_node_input_ints(n, 1, 1, &count);
  }
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def arg_attrs[] = {{"axis", FE_A_INT, "0"},
                                        {"keepdims", FE_A_INT, "1|0"},
                                        {"select_last_index", FE_A_INT, "0"},
                                        {0}};
static const fe_attr_def topk_attrs[] = {{"axis", FE_A_INT, "-1"},
                                         {"largest", FE_A_INT, "1"},
                                         {"sorted", FE_A_INT, "1"},
                                         {0}};

#define ARG(op_name)                                                           \
  {.name = op_name,                                                            \
   .since = 1,                                                                 \
   .inputs = "data:T",                                                         \
   .outputs = "reduced:T1",                                                    \
   .types = "T=real;T1=i64",                                                   \
   .attrs = arg_attrs,                                                         \
   .infer = infer_arg,                                                         \
   .lower = lower_arg}

const fe_op_row fe_family_order[] = {
    ARG("ArgMax"),
    ARG("ArgMin"),
    {.name = "TopK",
     .since = 1,
     .inputs = "X:T, K:T1",
     .outputs = "Values:T, Indices:T1",
     .types = "T=real;T1=i64",
     .attrs = topk_attrs,
     .upgrade = upgrade_topk,
     .infer = infer_topk,
     .lower = lower_topk,
     .limits = "the result is sorted whatever `sorted` says"},
    {0}};
