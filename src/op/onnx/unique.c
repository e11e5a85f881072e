//===- unique.c - Unique -----------------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: the slices along the axis (elements, without one) are sorted by a
// merge sort of their numbers, which is stable: the first of equal slices is
// the first occurrence. A group's number is its rank in that order, or among
// the first occurrences when `sorted` is 0. Main reads the number of groups,
// makes the results, and a second kernel fills them. NaNs are equal and last.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/complex.h"
#include "op/text.h"

static fe_status infer_unique(fe_infer *f) {
  fe_dims x;
  unsigned axis = 0;
  int64_t given = fe_attr_i64(f->attrs, "axis", FE_FLAT);
  if (fe_in_dtype(f, 0) == FE_STRING)
    return fe_infer_error(f, NULL, "strings are compared by their ranks");
  if (fe_in_dims(f, 0, &x) ||
      (given != FE_FLAT && fe_axis(f, given, x.rank, &axis)))
    return FE_FAILED;
  fe_dims list = {.rank = 1};
  MlirAffineExpr all =
      given != FE_FLAT ? x.d[axis] : fe_dims_product(f->ir, &x, 0, x.rank);
  if (given == FE_FLAT)
    x.rank = 1;
  x.d[axis] = list.d[0] = fe_fresh_dim(f);
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  fe_out_tensor(f, 1, FE_I64, &list);
  fe_out_tensor(f, 3, FE_I64, &list);
  list.d[0] = all;
  fe_out_tensor(f, 2, FE_I64, &list);
  return FE_OK;
}

static MlirValue less(fe_ir *ir, fe_dtype t, MlirValue a, MlirValue b) {
  if (!fe_dtype_is_float(t)) {
    bool is_unsigned = fe_dtype_is_unsigned(t) || t == FE_BOOL;
    return is_unsigned ? fe_cmpu(ir, FE_LT, a, b) : fe_cmp(ir, FE_LT, a, b);
  }
  MlirValue number = fe_cmp(ir, FE_EQ, a, a);
  MlirValue nan = fe_not(ir, fe_cmp(ir, FE_EQ, b, b));
  return fe_or(ir, fe_cmp(ir, FE_LT, a, b), fe_and(ir, number, nan));
}

/// Compares slices a and b of the kernel's first input [outer][slices][inner]:
/// -1, 0, 1 as i64.
static MlirValue compare(fe_kernel *k, fe_dtype t, MlirValue a, MlirValue b) {
  fe_ir *ir = k->l->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue inner = fe_dim(ir, k->in[0], 2);
  MlirValue total = fe_mul(ir, fe_dim(ir, k->in[0], 0), inner);
  MlirValue none = fe_int(ir, ir->i64, 0);
  MlirValue init[2] = {zero, none};
  fe_region w = fe_while_begin(ir, 2, init);
  MlirValue i = fe_block_arg(w.body, 0), result = fe_block_arg(w.body, 1);
  MlirValue go =
      fe_and(ir, fe_cmp(ir, FE_LT, i, total), fe_cmp(ir, FE_EQ, result, none));
  MlirValue args[2] = {i, result};
  fe_while_do(ir, &w, go, 2, args);
  i = fe_block_arg(w.body, 0);
  MlirValue o = fe_divu(ir, i, inner), r = fe_remu(ir, i, inner);
  MlirValue at_a[3] = {o, a, r}, at_b[3] = {o, b, r};
  MlirValue x = fe_get(k, k->in[0], t, 3, at_a);
  MlirValue y = fe_get(k, k->in[0], t, 3, at_b);
  MlirValue v =
      fe_select(ir, less(ir, t, x, y), fe_int(ir, ir->i64, -1),
                fe_select(ir, less(ir, t, y, x), fe_int(ir, ir->i64, 1), none));
  MlirValue next[2] = {fe_add(ir, i, one), v};
  fe_while_end(ir, &w, 2, next);
  return fe_result(w.op, 1);
}

static MlirValue as_i64(fe_ir *ir, MlirValue v) {
  return fe_convert(ir, v, ir->i64, false, false);
}

/// Merges runs of `width` of the numbers in `from` into runs of twice that.
static void merge_runs(fe_kernel *k, fe_dtype t, MlirValue from, MlirValue to,
                       MlirValue width, MlirValue n) {
  fe_ir *ir = k->l->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue step = fe_add(ir, width, width);
  fe_region runs = fe_for_begin(ir, zero, n, step, 0, NULL);
  MlirValue middle = fe_min(ir, fe_add(ir, runs.iv, width), n);
  MlirValue end = fe_min(ir, fe_add(ir, runs.iv, step), n);
  MlirValue init[2] = {runs.iv, middle};
  fe_region each = fe_for_begin(ir, runs.iv, end, one, 2, init);
  MlirValue a = fe_block_arg(each.body, 1), b = fe_block_arg(each.body, 2);
  MlirValue has_a = fe_cmp(ir, FE_LT, a, middle);
  MlirValue both = fe_and(ir, has_a, fe_cmp(ir, FE_LT, b, end));
  fe_region two = fe_if_begin(ir, both, 1, &ir->i1, true);
  MlirValue x = fe_to_index(ir, fe_load(ir, from, 1, &a));
  MlirValue y = fe_to_index(ir, fe_load(ir, from, 1, &b));
  MlirValue first =
      fe_cmp(ir, FE_LE, compare(k, t, x, y), fe_int(ir, ir->i64, 0));
  fe_if_else(ir, &two, 1, &first);
  fe_if_end(ir, &two, 1, &has_a);
  MlirValue take_a = fe_result(two.op, 0);
  MlirValue source = fe_select(ir, take_a, a, b);
  fe_store(ir, fe_load(ir, from, 1, &source), to, 1, &each.iv);
  MlirValue next[2] = {fe_select(ir, take_a, fe_add(ir, a, one), a),
                       fe_select(ir, take_a, b, fe_add(ir, b, one))};
  fe_for_end(ir, &each, 2, next);
  fe_loop_end(ir, &runs);
}

/// Group of every slice, and their number. Outputs: groups [n], number [1],
/// two scratch lists [n].
static void sort_slices(fe_lower *l, MlirValue x, MlirValue n, bool sorted,
                        MlirValue *groups, MlirValue *count) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0];
  MlirValue single = fe_index(ir, 1);
  MlirValue out[4] = {
      fe_tensor_empty(l, FE_I64, 1, &n), fe_tensor_empty(l, FE_I64, 1, &single),
      fe_tensor_empty(l, FE_I64, 1, &n), fe_tensor_empty(l, FE_I64, 1, &n)};
  fe_kernel k;
  fe_kernel_begin(&k, l, "unique_sort", 1, &x, 4, out, 0, NULL);
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue size = fe_dim(ir, k.in[0], 1), a = k.out[2], b = k.out[3];
  fe_region number = fe_loop(ir, size);
  fe_store(ir, as_i64(ir, number.iv), a, 1, &number.iv);
  fe_loop_end(ir, &number);
  // Two rounds at a time, so that the result lies in `a` again; a round whose
  // runs are longer than the list copies.
  fe_region w = fe_while_begin(ir, 1, &one);
  MlirValue width = fe_block_arg(w.body, 0);
  fe_while_do(ir, &w, fe_cmp(ir, FE_LT, width, size), 1, &width);
  width = fe_block_arg(w.body, 0);
  MlirValue twice = fe_add(ir, width, width);
  merge_runs(&k, t, a, b, width, size);
  merge_runs(&k, t, b, a, twice, size);
  MlirValue next_width = fe_add(ir, twice, twice);
  fe_while_end(ir, &w, 1, &next_width);
  // out[0]: first occurrence of the slice's group; or, sorted, its rank.
  MlirValue init[2] = {zero, zero}; // groups so far, first of this group
  fe_region each = fe_for_begin(ir, zero, size, one, 2, init);
  MlirValue so_far = fe_block_arg(each.body, 1);
  MlirValue first = fe_block_arg(each.body, 2);
  MlirValue slice = fe_to_index(ir, fe_load(ir, a, 1, &each.iv));
  MlirValue is_first = fe_cmp(ir, FE_EQ, each.iv, zero);
  fe_region check = fe_if_begin(ir, is_first, 1, &ir->i1, true);
  fe_if_else(ir, &check, 1, &is_first);
  MlirValue differs =
      fe_cmp(ir, FE_NE, compare(&k, t, first, slice), fe_int(ir, ir->i64, 0));
  fe_if_end(ir, &check, 1, &differs);
  MlirValue starts = fe_result(check.op, 0);
  so_far = fe_select(ir, starts, fe_add(ir, so_far, one), so_far);
  first = fe_select(ir, starts, slice, first);
  MlirValue mark = sorted ? fe_sub(ir, so_far, one) : first;
  fe_store(ir, as_i64(ir, mark), k.out[0], 1, &slice);
  MlirValue next[2] = {so_far, first};
  fe_for_end(ir, &each, 2, next);
  fe_store(ir, as_i64(ir, fe_result(each.op, 0)), k.out[1], 1, &zero);
  if (!sorted) { // numbers in the order of first occurrence
    fe_region rename = fe_for_begin(ir, zero, size, one, 1, &zero);
    MlirValue n_so_far = fe_block_arg(rename.body, 1);
    MlirValue f = fe_to_index(ir, fe_load(ir, k.out[0], 1, &rename.iv));
    MlirValue own = fe_cmp(ir, FE_EQ, f, rename.iv);
    // An earlier first occurrence has been given its number already.
    MlirValue known = fe_load(ir, k.out[0], 1, &f);
    fe_store(ir, fe_select(ir, own, as_i64(ir, n_so_far), known), k.out[0], 1,
             &rename.iv);
    MlirValue more = fe_select(ir, own, fe_add(ir, n_so_far, one), n_so_far);
    fe_for_end(ir, &rename, 1, &more);
  }
  MlirAffineExpr cost =
      fe_dim_mul(fe_kernel_dim(&k, 0, 1), fe_dim_const(ir, 20));
  fe_kernel_end(&k, (MlirAffineExpr){0}, cost);
  *groups = k.result[0];
  *count = fe_read_index(l, k.result[1], 0);
}

static fe_status lower_unique(fe_lower *l) {
  fe_ir *ir = l->ir;
  bool sorted = fe_attr_i64(l->op, "sorted", 1) != 0;
  unsigned axis;
  MlirValue x = fe_flat_or_axis(l, &axis);
  MlirValue sizes[FE_MAX_RANK], shape[3], groups, count;
  unsigned rank = fe_rank(x);
  fe_sizes_of(l, x, sizes);
  x = fe_around_axis(l, x, axis);
  fe_sizes_of(l, x, shape);
  sort_slices(l, x, shape[1], sorted, &groups, &count);
  MlirValue out_shape[3] = {shape[0], count, shape[2]};
  MlirValue in[2] = {x, groups};
  MlirValue out[3] = {fe_tensor_empty(l, l->out_type[0], 3, out_shape),
                      fe_tensor_empty(l, FE_I64, 1, &count),
                      fe_tensor_empty(l, FE_I64, 1, &count)};
  fe_kernel k;
  fe_kernel_begin(&k, l, "unique_fill", 2, in, 3, out, 0, NULL);
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue none = fe_int(ir, ir->i64, 0);
  fe_region clear = fe_loop(ir, fe_dim(ir, k.out[2], 0));
  fe_store(ir, none, k.out[2], 1, &clear.iv);
  fe_loop_end(ir, &clear);
  fe_region each = fe_for_begin(ir, zero, fe_dim(ir, k.in[0], 1), one, 0, NULL);
  MlirValue g = fe_to_index(ir, fe_load(ir, k.in[1], 1, &each.iv));
  MlirValue seen = fe_load(ir, k.out[2], 1, &g);
  fe_store(ir, fe_add(ir, seen, fe_int(ir, ir->i64, 1)), k.out[2], 1, &g);
  fe_region first =
      fe_if_begin(ir, fe_cmp(ir, FE_EQ, seen, none), 0, NULL, false);
  fe_store(ir, as_i64(ir, each.iv), k.out[1], 1, &g);
  fe_region o = fe_loop(ir, fe_dim(ir, k.in[0], 0));
  fe_region copy = fe_loop(ir, fe_dim(ir, k.in[0], 2));
  MlirValue from[3] = {o.iv, each.iv, copy.iv}, to[3] = {o.iv, g, copy.iv};
  fe_store(ir, fe_load(ir, k.in[0], 3, from), k.out[0], 3, to);
  fe_loop_end(ir, &copy);
  fe_loop_end(ir, &o);
  fe_if_end(ir, &first, 0, NULL);
  fe_loop_end(ir, &each);
  fe_kernel_end(&k, (MlirAffineExpr){0}, fe_kernel_dim(&k, 0, 1));
  sizes[axis] = count;
  l->out[0] = fe_reshape(l, k.result[0], fe_out_elem(l, 0), rank, sizes);
  const MlirValue lists[4] = {{0}, k.result[1], groups, k.result[2]};
  for (unsigned i = 1; i < l->n_out; ++i)
    l->out[i] = lists[i];
  return FE_OK;
}

/// Of complex numbers: of the parts, which are compared one after the other.
static fe_status expand_complex(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  MlirValue x = n->in.at[0];
  fe_dims d;
  const fe_node_attr *axis = fe_node_attr_find(n, "axis");
  const fe_node_attr *sorted = fe_node_attr_find(n, "sorted");
  int64_t along = axis ? axis->i : 0, flat = -1;
  if (!axis)
    x = fe_onnx1(ir, "Reshape", x, fe_constant_i64s(ir, 1, &flat));
  if (fe_is_null(x) || !fe_dims_of(ir, x, &d))
    return FE_FAILED;
  if (along < 0 && -along <= (int64_t)d.rank)
    along += d.rank;
  else if (along >= (int64_t)d.rank) // not the parts: reported
    along = INT32_MAX;
  MlirNamedAttribute a[] = {fe_at_i64(ir, "axis", along),
                            fe_at_i64(ir, "sorted", sorted ? sorted->i : 1)};
  MlirValue parts = fe_complex_parts(ir, x);
  if (fe_is_null(parts))
    return FE_FAILED;
  MlirOperation op = fe_onnx(ir, "unique", 1, &parts, 4, 2, a);
  if (mlirOperationIsNull(op))
    return FE_FAILED;
  for (unsigned i = 1; i < n->n_out && i < 4; ++i)
    results[i] = fe_result(op, i);
  results[0] = fe_complex_of_parts(ir, fe_result(op, 0));
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

/// Of strings: as of their ranks, then the strings themselves.
static fe_status expand_unique(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (n->in.n == 1 && fe_is_complex(n->in.at[0]))
    return expand_complex(n, results);
  if (n->in.n != 1 || !fe_is_text(n->in.at[0]))
    return FE_OK;
  MlirValue x = n->in.at[0], rank = fe_text_rank(ir, x);
  const fe_node_attr *axis = fe_node_attr_find(n, "axis");
  const fe_node_attr *sorted = fe_node_attr_find(n, "sorted");
  MlirNamedAttribute a[] = {fe_at_i64(ir, "axis", axis ? axis->i : FE_FLAT),
                            fe_at_i64(ir, "sorted", sorted ? sorted->i : 1)};
  MlirOperation op = fe_onnx(ir, "unique", 1, &rank, 4, 2, a);
  if (mlirOperationIsNull(op))
    return FE_FAILED;
  int64_t flat = -1;
  if (!axis)
    x = fe_onnx1(ir, "Reshape", x, fe_constant_i64s(ir, 1, &flat));
  MlirValue in[2] = {x, fe_result(op, 1)};
  MlirNamedAttribute along = fe_at_i64(ir, "axis", axis ? axis->i : 0);
  for (unsigned i = 1; i < n->n_out && i < 4; ++i)
    results[i] = fe_result(op, i);
  results[0] = fe_first(fe_onnx(ir, "gather", 2, in, 1, 1, &along));
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

static const fe_attr_def attrs[] = {
    {"axis", FE_A_INT, "-2147483648"}, {"sorted", FE_A_INT, "1"}, {0}};

const fe_op_row fe_family_unique[] = {
    {.name = "Unique",
     .since = 11,
     .inputs = "X:T",
     .outputs = "Y:T, indices?:I, inverse_indices?:I, counts?:I",
     .types = "T=numeric,bool,str;I=i64",
     .attrs = attrs,
     .flags = FE_FUNCTION,
     .expand = expand_unique,
     .infer = infer_unique,
     .lower = lower_unique},
    {0}};
