//===- slice.c - Slice, Split ------------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts, ends, axes and steps may all be values of the run, lists of a length
// that only the run knows, too. What is known when compiling gives exact sizes:
// [2:] of n is a symbol called max(n - 2, 0). Bounds that are expressions over
// symbols and may lie outside of the tensor give a symbol of their own that
// remembers what it is inside (fe_cut_dim). Split is a row of slices.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <string.h>

/// Bounds from here on mean "to the end", in either direction.
#define FAR INT32_MAX

//===-- What is known of the operands ---------------------------------------//

typedef struct range {
  bool sliced;     // false: the whole dim
  bool known_step; // false: step is a value of the run
  int64_t step;
  MlirAffineExpr s, e; // null: a value of the run
  int operand_index;   // position in starts, ends, ...
} range;

static bool is_operand(MlirValue v) {
  return !fe_is_null(v) && !fe_op_is(fe_def(v), "onnx.none");
}

/// A bound or step that the model gives. The least number there is, which
/// stands for what is not known, is as far away as the next.
static MlirAffineExpr given(fe_ir *ir, MlirAffineExpr e) {
  if (!mlirAffineExprIsNull(e) && mlirAffineExprIsAConstant(e) &&
      mlirAffineConstantExprGetValue(e) == INT64_MIN)
    return fe_dim_const(ir, -INT64_MAX);
  return e;
}

/// One range per dim; false when the axes are values of the run.
static bool ranges_of(fe_ir *ir, unsigned n_in, const MlirValue *in,
                      unsigned rank, range *r, bool *bad_axis) {
  memset(r, 0, rank * sizeof *r);
  *bad_axis = false;
  fe_dims d;
  if (!fe_dims_of(ir, in[1], &d) || d.rank != 1)
    return false;
  int64_t n = fe_dim_static(d.d[0]);
  int64_t axes[FE_MAX_RANK];
  if (n > FE_MAX_RANK || n < 0)
    return false;
  if (n_in > 3 && is_operand(in[3])) {
    if (fe_const_ints(ir, in[3], axes, FE_MAX_RANK) != n)
      return false;
  } else {
    for (int64_t i = 0; i < n; ++i)
      axes[i] = i;
  }
  fe_contents *c = FE_NEW_N(ir->arena, fe_contents, 3);
  bool starts = fe_contents_partial(ir, in[1], &c[0]);
  bool ends = fe_contents_partial(ir, in[2], &c[1]);
  bool has_steps = n_in > 4 && is_operand(in[4]);
  bool steps = has_steps && fe_contents_partial(ir, in[4], &c[2]);
  for (int64_t i = 0; i < n; ++i) {
    int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank || r[axis].sliced) {
      *bad_axis = true;
      return false;
    }
    range *x = &r[axis];
    *x = (range){.sliced = true,
                 .known_step = !has_steps,
                 .step = 1,
                 .operand_index = (int)i};
    if (starts)
      x->s = given(ir, c[0].at[i]);
    if (ends)
      x->e = given(ir, c[1].at[i]);
    if (steps && !mlirAffineExprIsNull(c[2].at[i])) {
      x->step = fe_dim_static(given(ir, c[2].at[i]));
      x->known_step = x->step != FE_DYN;
    }
  }
  return true;
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi) {
  return v < lo ? lo : v > hi ? hi : v;
}

/// First subscript and number of elements when all is static.
static void static_range(const range *r, int64_t dim, int64_t *first,
                         int64_t *length) {
  int64_t s = fe_dim_static(r->s), e = fe_dim_static(r->e), k = r->step;
  s = s < 0 ? s + dim : s;
  e = e < 0 ? e + dim : e;
  if (k > 0) {
    s = clamp(s, 0, dim);
    e = clamp(e, 0, dim);
    *length = e > s ? (e - s - 1) / k + 1 : 0;
  } else {
    s = clamp(s, dim > 0 ? 0 : -1, dim - 1);
    e = clamp(e, -1, dim - 1);
    *length = s > e ? (s - e - 1) / -k + 1 : 0;
  }
  *first = s;
}

static bool is_static(const range *r, MlirAffineExpr dim) {
  return !r->sliced ||
         (r->known_step && r->step && fe_dim_static(dim) != FE_DYN &&
          !mlirAffineExprIsNull(r->s) && fe_dim_static(r->s) != FE_DYN &&
          !mlirAffineExprIsNull(r->e) && fe_dim_static(r->e) != FE_DYN);
}

/// The size that is max(e, 0), or min(e, most) with a `most`: a symbol with
/// that for a name, so that equal ones are the same. Its value is what the
/// run's tensor has.
static MlirAffineExpr clamped(fe_ir *ir, MlirAffineExpr e, int64_t most) {
  const char *text = fe_dims_text(ir, 1, &e);
  return fe_dim_symbol(ir, fe_symbol(ir, fe_printf(ir->arena, "%s%s %lld",
                                                   most ? "min " : "max ", text,
                                                   (long long)most)));
}

/// A bound as an expression. `back`: how far from the end, 0 when it is not
/// counted from there. Null when it is not clear.
static MlirAffineExpr bound(fe_ir *ir, MlirAffineExpr b, MlirAffineExpr dim,
                            bool is_end, int64_t *back) {
  *back = 0;
  if (mlirAffineExprIsNull(b))
    return b;
  int64_t v = fe_dim_static(b), n = fe_dim_static(dim);
  if (v == FE_DYN)
    return fe_dim_nonneg(fe_dim_sub(ir, fe_dim_const(ir, -1), b))
               ? fe_dim_add(dim, b)
               : b;
  if (v >= FAR)
    return dim;
  if (v <= -FAR)
    return fe_dim_const(ir, 0);
  if (n != FE_DYN)
    return fe_dim_const(ir, clamp(v < 0 ? v + n : v, 0, n));
  if (v < 0) {
    *back = -v;
    return fe_dim_add(dim, b);
  }
  return is_end && v > 0 ? (MlirAffineExpr){0} : b; // min(v, n)
}

/// Number of elements from one bound to the other, clamped to the dim. *own:
/// it is a symbol made for it, which no other tensor has.
static MlirAffineExpr span(fe_ir *ir, const range *r, MlirAffineExpr dim,
                           bool *own) {
  *own = false;
  int64_t from_back, to_back;
  MlirAffineExpr from = bound(ir, r->s, dim, false, &from_back),
                 to = bound(ir, r->e, dim, true, &to_back);
  if (mlirAffineExprIsNull(from) || mlirAffineExprIsNull(to))
    return (MlirAffineExpr){0};
  MlirAffineExpr e = fe_dim_sub(ir, to, from);
  if (fe_dim_static(r->s) == FE_DYN || fe_dim_static(r->e) == FE_DYN) {
    if (fe_dim_nonneg(from) && fe_dim_nonneg(e) &&
        fe_dim_nonneg(fe_dim_sub(ir, dim, to)))
      return e;
    *own = true;
    MlirAffineExpr cut[] = {from, to, dim};
    return fe_cut_dim(ir, e, 3, cut);
  }
  bool inside = !from_back || fe_dim_nonneg(from);
  if (inside && fe_dim_nonneg(e))
    return e;
  if (!inside && !fe_dim_same(to, dim))
    return (MlirAffineExpr){0};
  *own = true;
  return inside ? clamped(ir, e, 0) : clamped(ir, dim, from_back);
}

/// Size of the sliced dim; null: a value of the run.
static MlirAffineExpr symbolic_length(fe_ir *ir, const range *r,
                                      MlirAffineExpr dim) {
  const MlirAffineExpr unknown = {0};
  if (!r->known_step || !r->step)
    return unknown;
  int64_t s = mlirAffineExprIsNull(r->s) ? FE_DYN : fe_dim_static(r->s);
  int64_t e = mlirAffineExprIsNull(r->e) ? FE_DYN : fe_dim_static(r->e);
  if (r->step < 0) { // only the whole dim, backwards
    bool whole = (s == -1 || s >= FAR) && e != FE_DYN && e <= -FAR;
    return whole ? fe_dim_ceildiv(dim, fe_dim_const(ir, -r->step)) : unknown;
  }
  bool own;
  MlirAffineExpr length = span(ir, r, dim, &own);
  return own && r->step != 1
             ? unknown
             : fe_dim_ceildiv(length, fe_dim_const(ir, r->step));
}

//===-- Slice: inference ----------------------------------------------------//

/// Before opset 10 starts, ends and axes are attributes.
static fe_status upgrade_slice(fe_node *n) {
  if (n->opset >= 10)
    return FE_OK;
  fe_node_attr_to_input(n, "starts", 1, FE_I64);
  fe_node_attr_to_input(n, "ends", 2, FE_I64);
  fe_node_attr_to_input(n, "axes", 3, FE_I64);
  return FE_OK;
}

static fe_status infer_slice(fe_infer *f) {
  fe_dims in, out;
  range r[FE_MAX_RANK];
  bool bad_axis;
  if (fe_in_dims(f, 0, &in))
    return FE_FAILED;
  for (unsigned i = 1; i < f->n_in; ++i) {
    fe_dims n;
    if (fe_is_null(f->in[i]))
      continue;
    if (fe_in_dims(f, i, &n))
      return FE_FAILED;
    if (n.rank != 1)
      return fe_infer_error(f, NULL,
                            "starts, ends, axes and steps must be lists");
  }
  bool known = ranges_of(f->ir, f->n_in, f->in, in.rank, r, &bad_axis);
  if (bad_axis)
    return fe_infer_error(
        f, NULL, "an axis is out of range or given twice (rank %u)", in.rank);
  out = in;
  for (unsigned i = 0; i < in.rank; ++i) {
    if (!known) {
      out.d[i] = fe_fresh_dim(f);
      continue;
    }
    if (r[i].known_step && r[i].sliced && !r[i].step)
      return fe_infer_error(f, NULL, "the step in dimension %u is 0", i);
    if (!r[i].sliced)
      continue;
    int64_t first, length;
    if (is_static(&r[i], in.d[i])) {
      static_range(&r[i], fe_dim_static(in.d[i]), &first, &length);
      out.d[i] = fe_dim_const(f->ir, length);
      continue;
    }
    MlirAffineExpr e = symbolic_length(f->ir, &r[i], in.d[i]);
    bool usable = !mlirAffineExprIsNull(e) &&
                  (fe_dim_static(e) == FE_DYN || fe_dim_static(e) >= 0);
    out.d[i] = usable ? e : fe_fresh_dim(f);
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

static void operands_of(MlirOperation op, MlirValue in[5]) {
  for (unsigned i = 0; i < 5; ++i)
    in[i] = fe_operand(op, i);
}

static bool contents_slice(fe_ir *ir, MlirOperation op, fe_contents *out) {
  MlirValue in[5];
  fe_contents c;
  range r[FE_MAX_RANK];
  bool bad_axis;
  operands_of(op, in);
  if (!fe_contents_partial(ir, in[0], &c) ||
      !ranges_of(ir, 5, in, c.dims.rank, r, &bad_axis))
    return false;
  int64_t first[FE_MAX_RANK] = {0}, length;
  for (unsigned k = 0; k < c.dims.rank; ++k) {
    if (!is_static(&r[k], c.dims.d[k]))
      return false;
    if (r[k].sliced)
      static_range(&r[k], fe_dim_static(c.dims.d[k]), &first[k], &length);
  }
  for (unsigned i = 0; i < out->n; ++i) {
    int64_t at = 0, stride = 1, rest = i;
    for (unsigned k = c.dims.rank; k-- > 0;) {
      int64_t n = fe_dim_static(out->dims.d[k]);
      at += (first[k] + rest % n * (r[k].sliced ? r[k].step : 1)) * stride;
      rest /= n;
      stride *= fe_dim_static(c.dims.d[k]);
    }
    out->at[i] = c.at[at];
  }
  return true;
}

//===-- Slice: lowering -----------------------------------------------------//

/// A dim's range as index values of main.
typedef struct run_range {
  MlirValue first, step, length;
} run_range;

static MlirValue clamp_value(fe_ir *ir, MlirValue v, MlirValue lo,
                             MlirValue hi) {
  return fe_min(ir, fe_max(ir, v, lo), hi);
}

/// From bounds as the model gives them to those inside of the dim.
static run_range normalize(fe_ir *ir, MlirValue s, MlirValue e, MlirValue step,
                           MlirValue dim) {
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  step =
      fe_max(ir, step, fe_index(ir, -INT64_MAX)); // so that it has a negative
  MlirValue back = fe_cmp(ir, FE_LT, step, zero);
  // [0, dim] forwards; backwards from [0, dim - 1] to [-1, dim - 1].
  MlirValue last = fe_sub(ir, dim, one);
  MlirValue least = fe_select(ir, back, fe_min(ir, zero, last), zero);
  MlirValue lo = fe_select(ir, back, fe_index(ir, -1), zero);
  MlirValue hi = fe_select(ir, back, last, dim);
  s = fe_select(ir, fe_cmp(ir, FE_LT, s, zero), fe_add(ir, s, dim), s);
  e = fe_select(ir, fe_cmp(ir, FE_LT, e, zero), fe_add(ir, e, dim), e);
  s = clamp_value(ir, s, least, hi);
  e = clamp_value(ir, e, lo, hi);
  MlirValue span = fe_select(ir, back, fe_sub(ir, s, e), fe_sub(ir, e, s));
  MlirValue pace = fe_select(ir, back, fe_neg(ir, step), step);
  MlirValue length =
      fe_ceildiv(ir, fe_max(ir, span, zero), fe_max(ir, pace, one));
  return (run_range){.first = s, .step = step, .length = length};
}

/// An element of starts, ends or steps: a constant where it is known.
static MlirValue read_bound(fe_lower *l, unsigned operand, unsigned i) {
  fe_contents c;
  if (fe_contents_partial(l->ir, fe_operand(l->op, operand), &c) && i < c.n &&
      !mlirAffineExprIsNull(c.at[i]) && fe_dim_static(c.at[i]) != FE_DYN)
    return fe_index(l->ir, fe_dim_static(c.at[i]));
  return fe_read_index(l, l->in[operand], i);
}

/// Axes that are values of the run, or lists whose length is one: every dim
/// asks every axis.
static void run_time_axes(fe_lower *l, unsigned rank, run_range *out) {
  fe_ir *ir = l->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  int64_t known = fe_static_dim(l->in[1], 0);
  unsigned n = known == FE_DYN ? rank : (unsigned)known;
  MlirValue none = fe_index(ir, INT32_MAX);
  if (known == FE_DYN)
    fe_check(l, fe_cmp(ir, FE_LE, fe_list_length(l, l->in[1]), fe_index(ir, n)),
             "there are more starts and ends than dimensions");
  for (unsigned d = 0; d < rank; ++d) {
    MlirValue dim = fe_size(l, l->in[0], d);
    MlirValue s = zero, e = dim, step = one;
    for (unsigned k = 0; k < n; ++k) {
      MlirValue i = fe_index(ir, k);
      if (fe_is_null(l->in[3]) && k != d)
        continue;
      MlirValue axis =
          fe_is_null(l->in[3]) ? i : fe_list_element(l, l->in[3], i, none);
      axis = fe_select(ir, fe_cmp(ir, FE_LT, axis, zero),
                       fe_add(ir, axis, fe_index(ir, rank)), axis);
      MlirValue here = fe_cmp(ir, FE_EQ, axis, fe_index(ir, d));
      s = fe_select(ir, here, fe_list_element(l, l->in[1], i, s), s);
      e = fe_select(ir, here, fe_list_element(l, l->in[2], i, e), e);
      if (!fe_is_null(l->in[4]))
        step = fe_select(ir, here, fe_list_element(l, l->in[4], i, step), step);
    }
    out[d] = normalize(ir, s, e, step, dim);
  }
}

static run_range run_time_range(fe_lower *l, const range *r, unsigned d) {
  fe_ir *ir = l->ir;
  MlirValue dim = fe_size(l, l->in[0], d);
  if (!r->sliced)
    return (run_range){fe_index(ir, 0), fe_index(ir, 1), dim};
  if (fe_static_dim(l->in[0], d) != FE_DYN &&
      is_static(r, fe_dim_const(ir, fe_static_dim(l->in[0], d)))) {
    int64_t first, length;
    static_range(r, fe_static_dim(l->in[0], d), &first, &length);
    return (run_range){fe_index(ir, first), fe_index(ir, r->step),
                       fe_index(ir, length)};
  }
  unsigned i = (unsigned)r->operand_index;
  MlirValue step = r->known_step ? fe_index(ir, r->step) : read_bound(l, 4, i);
  return normalize(ir, read_bound(l, 1, i), read_bound(l, 2, i), step, dim);
}

/// Whether the dim is read from 0 on, one by one: then nothing is to check.
static bool from_start(const range *r) {
  return !r->sliced ||
         (r->known_step && r->step == 1 && !mlirAffineExprIsNull(r->s) &&
          fe_dim_static(r->s) == 0 && !mlirAffineExprIsNull(r->e) &&
          fe_dim_static(r->e) >= FAR);
}

static fe_status lower_slice(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  MlirValue in[5], sizes[FE_MAX_RANK] = {{0}}, idx[FE_MAX_RANK];
  range r[FE_MAX_RANK];
  run_range run[FE_MAX_RANK];
  bool bad_axis, whole = true;
  operands_of(l->op, in);
  for (unsigned i = 2; i < 5; ++i)
    if (!fe_is_null(l->in[i]))
      fe_check_equal(l, fe_size(l, l->in[i], 0), fe_size(l, l->in[1], 0),
                     "starts, ends, axes and steps differ in length");
  bool known = ranges_of(ir, 5, in, rank, r, &bad_axis);
  if (!known)
    run_time_axes(l, rank, run);
  fe_out_sizes(l, 0, sizes);
  for (unsigned d = 0; d < rank; ++d) {
    if (known)
      run[d] = run_time_range(l, &r[d], d);
    whole &= known && from_start(&r[d]);
    if (fe_is_null(sizes[d]))
      sizes[d] = run[d].length;
    else if (!known || !from_start(&r[d]))
      fe_check_equal(l, run[d].length, sizes[d],
                     "the bounds lie outside of the tensor");
  }
  if (whole) {
    l->out[0] = l->in[0];
    return FE_OK;
  }
  // Not by an indexing map: linalg takes the sizes of loops from the operands.
  MlirAffineMap map = {0};
  fe_generic *g = fe_generic_begin(l, rank, sizes, 1, l->in, l->in_type, &map);
  for (unsigned d = 0; d < rank; ++d) {
    idx[d] = fe_iter(g, d);
    if (!known || !from_start(&r[d]))
      idx[d] = fe_add(ir, fe_mul(ir, idx[d], run[d].step), run[d].first);
  }
  MlirValue v = fe_at(g, l->in[0], l->in_type[0], rank, idx);
  l->out[0] = fe_generic_end(g, l->out_type[0], v);
  return FE_OK;
}

//===-- Split ---------------------------------------------------------------//

static fe_status split_error(fe_node *n, const char *message) {
  fe_where where = n->where;
  where.op = n->row->name;
  return fe_error(n->ir->diags, where, NULL, "%s", message);
}

static MlirValue one_int(fe_ir *ir, int64_t v) {
  return fe_constant_i64s(ir, 1, &v);
}

/// Sizes of the parts as a 1-D tensor of constants or, with a dynamic dim,
/// computed; the last part gets what is left.
static MlirValue part_size(fe_node *n, unsigned axis, MlirAffineExpr dim,
                           unsigned parts) {
  fe_ir *ir = n->ir;
  int64_t size = fe_dim_static(dim);
  if (size != FE_DYN)
    return one_int(ir, (size + parts - 1) / parts);
  MlirNamedAttribute range_attrs[] = {fe_at_i64(ir, "start", axis),
                                      fe_at_i64(ir, "end", axis + 1)};
  MlirValue shape =
      fe_first(fe_onnx(ir, "Shape", 1, n->in.at, 1, 2, range_attrs));
  MlirValue up = fe_onnx1(ir, "Add", shape, one_int(ir, parts - 1));
  return fe_onnx1(ir, "Div", up, one_int(ir, parts));
}

/// Ends the run unless the sizes, values of the run, are those of n->n_out
/// parts of the dim.
static void check_sizes(fe_node *n, MlirValue sizes, unsigned axis) {
  fe_ir *ir = n->ir;
  MlirNamedAttribute range_attrs[] = {fe_at_i64(ir, "start", axis),
                                      fe_at_i64(ir, "end", axis + 1)};
  MlirValue whole =
      fe_first(fe_onnx(ir, "Shape", 1, n->in.at, 1, 2, range_attrs));
  MlirValue count = fe_onnx1(ir, "Shape", sizes);
  MlirValue least = fe_onnx1(ir, "ReduceMin", sizes);
  MlirValue holds[] = {
      fe_onnx1(ir, "Equal", fe_onnx1(ir, "ReduceSum", sizes), whole),
      fe_onnx1(ir, "Equal", count, one_int(ir, n->n_out)),
      fe_onnx1(ir, "GreaterOrEqual", least, one_int(ir, 0))};
  MlirValue all = fe_onnx1(ir, "And", holds[0], holds[1]);
  all = fe_onnx1(ir, "And", all, holds[2]);
  if (fe_is_null(all))
    return;
  MlirValue operands[1 + FE_MAX_RANK] = {all};
  unsigned rank = fe_rank(all);
  for (unsigned i = 0; i < rank; ++i)
    operands[1 + i] = fe_index(ir, 0);
  MlirValue holds_all =
      fe_first(FE_OP(ir, "tensor.extract", .n_operands = 1 + rank,
                     .operands = operands, .n_results = 1, .results = &ir->i1));
  FE_OP(ir, "krnl.check", FE_VALUES(holds_all),
        FE_ATTRS(fe_at_str(
            ir, "message",
            fe_printf(ir->arena,
                      "Split '%s': the sizes do not add up to the dimension's, "
                      "or there is not one per output",
                      n->where.node ? n->where.node : ""))));
}

static fe_status expand_split(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_dims d;
  if (!n->in.n || !fe_dims_of(ir, n->in.at[0], &d))
    return split_error(n, "the input is missing or no tensor");
  fe_node_attr *a = fe_node_attr_find(n, "axis");
  int64_t axis = a ? a->i : 0;
  axis = axis < 0 ? axis + d.rank : axis;
  if (axis < 0 || axis >= d.rank)
    return split_error(n, "the axis is out of range");
  MlirValue sizes = n->in.n > 1 ? n->in.at[1] : (MlirValue){0};
  fe_dims sizes_dims;
  if (!fe_is_null(sizes) &&
      (!fe_dims_of(ir, sizes, &sizes_dims) || sizes_dims.rank != 1 ||
       !fe_dim_may_be(sizes_dims.d[0], n->n_out)))
    return split_error(n, "'split' does not have one size per output");
  int64_t *known = FE_NEW_N(ir->arena, int64_t, n->n_out + 1), begin = 0;
  bool constant = !fe_is_null(sizes) &&
                  fe_const_ints(ir, sizes, known, n->n_out) == (int)n->n_out;
  int64_t whole = fe_dim_static(d.d[axis]), sum = 0;
  for (unsigned i = 0; constant && i < n->n_out; ++i) {
    sum = known[i] < 0 ? -1 : sum < 0 ? sum : sum + known[i];
  }
  if (constant && (sum < 0 || (whole != FE_DYN && sum != whole)))
    return split_error(n, "the sizes do not add up to the dimension's");
  fe_node_attr *num = fe_node_attr_find(n, "num_outputs");
  unsigned parts = num && num->i > 0 ? (unsigned)num->i : n->n_out;
  MlirValue part = {0}, axis_value = one_int(ir, axis);
  if (fe_is_null(sizes))
    part = part_size(n, (unsigned)axis, d.d[axis], parts);
  fe_contents symbolic;
  if (!fe_is_null(sizes) && !constant && !fe_contents_of(ir, sizes, &symbolic))
    check_sizes(n, sizes, (unsigned)axis);
  int64_t chunk = 0;
  bool even = fe_is_null(sizes) && fe_const_ints(ir, part, &chunk, 1) == 1;
  MlirValue from = one_int(ir, 0);
  for (unsigned i = 0; i < n->n_out; ++i) {
    MlirValue to;
    if (constant || even) {
      begin += constant ? known[i] : chunk;
      to = one_int(ir, begin);
    } else {
      MlirValue size = part;
      if (!fe_is_null(sizes))
        size = fe_onnx1(ir, "Gather", sizes, one_int(ir, i));
      to = fe_onnx1(ir, "Add", from, size);
    }
    if (fe_is_null(sizes) && i + 1 == parts)
      to = one_int(ir, INT64_MAX);
    results[i] = fe_onnx1(ir, "Slice", n->in.at[0], from, to, axis_value);
    if (fe_is_null(results[i]))
      return FE_FAILED;
    from = to;
  }
  return FE_OK;
}

/// Opset 1 may have the sizes as attribute or as input; attribute until 13.
static fe_status upgrade_split(fe_node *n) {
  if (n->opset < 13)
    fe_node_attr_to_input(n, "split", 1, FE_I64);
  return FE_OK;
}

static const fe_attr_def split_attrs[] = {
    {"axis", FE_A_INT, "0"}, {"num_outputs", FE_A_INT, "0"}, {0}};

const fe_op_row fe_family_slice[] = {
    {.name = "Slice",
     .since = 1,
     .inputs = "data:T, starts:I, ends:I, axes?:I, steps?:I",
     .outputs = "output:T",
     .types = "T=all;I=i32,i64",
     .upgrade = upgrade_slice,
     .infer = infer_slice,
     .contents = contents_slice,
     .lower = lower_slice},
    {.name = "Split",
     .since = 1,
     .inputs = "input:T, split?:I",
     .outputs = "outputs*:T",
     .types = "T=all;I=i64",
     .attrs = split_attrs,
     .flags = FE_FUNCTION,
     .upgrade = upgrade_split,
     .expand = expand_split},
    {0}};
