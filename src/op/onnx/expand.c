//===- expand.c - Expand, Tile, Range, ConstantOfShape -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors made larger by repetition, or from numbers. All are generics, so that
// what uses the result need not see it in memory. ConstantOfShape is Expand of
// a scalar.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <math.h>
#include <string.h>

/// Contents of an operand, all elements unknown when nothing is known.
static void contents_or_unknown(fe_infer *f, unsigned operand, unsigned n,
                                fe_contents *out) {
  if (fe_contents_partial(f->ir, f->in[operand], out))
    return;
  out->n = n;
  memset(out->at, 0, n * sizeof *out->at);
}

//===-- Expand --------------------------------------------------------------//

static fe_status infer_expand(fe_infer *f) {
  fe_dims in, shape = {0};
  fe_contents c;
  if (fe_in_dims(f, 0, &in) || fe_rank_from(f, 1, &shape.rank))
    return FE_FAILED;
  contents_or_unknown(f, 1, shape.rank, &c);
  for (unsigned i = 0; i < shape.rank; ++i) {
    if (!mlirAffineExprIsNull(c.at[i])) {
      int64_t n = fe_dim_static(c.at[i]);
      if (n < 0 && n != FE_DYN)
        return fe_infer_error(f, NULL, "the shape has a negative size");
      shape.d[i] = c.at[i];
      continue;
    }
    // Unknown, but not smaller than a dim that is not 1.
    unsigned from_end = shape.rank - i;
    int64_t own =
        from_end <= in.rank ? fe_dim_static(in.d[in.rank - from_end]) : 1;
    shape.d[i] =
        own != 1 && own != FE_DYN ? fe_dim_const(f->ir, own) : fe_fresh_dim(f);
  }
  fe_dims out;
  if (fe_broadcast_dims(f, &in, &shape, &out))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

static bool contents_expand(fe_ir *ir, MlirOperation op, fe_contents *out) {
  fe_contents in;
  if (!fe_contents_partial(ir, fe_operand(op, 0), &in))
    return false;
  for (unsigned i = 0; i < out->n; ++i)
    out->at[i] = in.at[fe_broadcast_element(&out->dims, &in.dims, i)];
  return true;
}

static fe_status lower_expand(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_out_rank(l, 0), in_rank = fe_rank(l->in[0]);
  unsigned given = (unsigned)fe_static_dim(l->in[1], 0);
  MlirValue sizes[FE_MAX_RANK] = {{0}}, one = fe_index(ir, 1);
  fe_out_sizes(l, 0, sizes);
  for (unsigned i = 0; i < rank; ++i) {
    int k = (int)(i + in_rank) - (int)rank, g = (int)(i + given) - (int)rank;
    MlirValue own = k >= 0 ? fe_size(l, l->in[0], (unsigned)k) : one;
    if (fe_is_null(sizes[i])) {
      MlirValue wanted = g >= 0 ? fe_read_index(l, l->in[1], g) : one;
      sizes[i] = fe_select(ir, fe_cmp(ir, FE_EQ, wanted, one), own, wanted);
    }
  }
  l->out[0] = fe_broadcast_to(l, 0, rank, sizes);
  return FE_OK;
}

//===-- ConstantOfShape -----------------------------------------------------//

static fe_status expand_constant_of_shape(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_node_attr *a = fe_node_attr_find(n, "value");
  MlirValue value = {0};
  fe_const c;
  fe_where where = n->where;
  where.op = n->row->name;
  if (!a)
    value = fe_constant_scalar(ir, FE_F32, 0);
  else if (fe_const_of(ir, a->value, &c) && c.count == 1)
    value = fe_constant(ir, NULL, c.dtype, 0, NULL,
                        fe_memdup(ir->arena, c.data, c.size));
  else
    return fe_error(ir->diags, where, NULL,
                    "'value' must be a tensor of one number");
  if (n->in.n != 1)
    return fe_error(ir->diags, where, NULL, "has %zu inputs but takes 1",
                    n->in.n);
  results[0] = fe_onnx1(ir, "Expand", value, n->in.at[0]);
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

//===-- Tile ----------------------------------------------------------------//

/// Opset 1: the operands `tiles` and `axis` are scalars.
static fe_status upgrade_tile(fe_node *n) {
  fe_dims d;
  double tiles, axis;
  if (n->opset >= 6 || n->in.n != 3)
    return FE_OK;
  fe_where where = n->where;
  where.op = n->row->name;
  if (!fe_dims_of(n->ir, n->in.at[0], &d) ||
      !fe_const_scalar(n->ir, n->in.at[1], &tiles) ||
      !fe_const_scalar(n->ir, n->in.at[2], &axis) || axis < 0 || axis >= d.rank)
    return fe_error(n->ir->diags, where, NULL,
                    "'tiles' and 'axis' must be constants, the axis in range");
  int64_t repeats[FE_MAX_RANK];
  for (unsigned i = 0; i < d.rank; ++i)
    repeats[i] = i == (unsigned)axis ? (int64_t)tiles : 1;
  fe_node_input_ints(n, 1, d.rank, repeats);
  n->in.n = 2;
  return FE_OK;
}

static fe_status infer_tile(fe_infer *f) {
  fe_dims in, repeats;
  fe_contents c;
  if (fe_in_dims(f, 0, &in) || fe_in_dims(f, 1, &repeats))
    return FE_FAILED;
  unsigned n = in.rank;
  int64_t given = repeats.rank == 1 ? fe_dim_static(repeats.d[0]) : -1;
  if (given != FE_DYN && given != n)
    return fe_infer_error(f, NULL, "'repeats' must be a list of %u numbers", n);
  contents_or_unknown(f, 1, n, &c);
  fe_dims out = {.rank = n};
  for (unsigned i = 0; i < n; ++i) {
    bool known = !mlirAffineExprIsNull(c.at[i]);
    if (known && fe_dim_static(c.at[i]) != FE_DYN && fe_dim_static(c.at[i]) < 0)
      return fe_infer_error(f, NULL, "'repeats' has a negative number");
    out.d[i] = known ? fe_dim_mul(in.d[i], c.at[i]) : fe_fresh_dim(f);
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

static bool contents_tile(fe_ir *ir, MlirOperation op, fe_contents *out) {
  fe_contents in;
  if (out->dims.rank != 1 || !fe_contents_partial(ir, fe_operand(op, 0), &in))
    return false;
  for (unsigned i = 0; i < out->n; ++i)
    out->at[i] = in.at[i % in.n];
  return true;
}

/// The space has two iterators per repeated dim, copy and subscript: no
/// division in the body. The result is reshaped.
static fe_status lower_tile(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]), n = 0;
  MlirValue space[2 * FE_MAX_RANK], sizes[FE_MAX_RANK] = {{0}};
  MlirAffineExpr at[FE_MAX_RANK];
  fe_contents c;
  bool known = fe_contents_partial(ir, fe_operand(l->op, 1), &c);
  fe_check_equal(l, fe_list_length(l, l->in[1]), fe_index(ir, rank),
                 "there is not one repeat per dimension");
  fe_out_sizes(l, 0, sizes);
  for (unsigned i = 0; i < rank; ++i) {
    int64_t fixed = known && !mlirAffineExprIsNull(c.at[i])
                        ? fe_dim_static(c.at[i])
                        : FE_DYN;
    MlirValue dim = fe_size(l, l->in[0], i);
    MlirValue repeat =
        fixed != FE_DYN ? fe_index(ir, fixed) : fe_read_index(l, l->in[1], i);
    if (fixed != 1)
      space[n++] = fe_max(ir, repeat, fe_index(ir, 0));
    at[i] = mlirAffineDimExprGet(ir->ctx, n);
    space[n++] = dim;
    if (fe_is_null(sizes[i]))
      sizes[i] = fe_mul(ir, dim, repeat);
    else if (fixed == FE_DYN)
      fe_check_equal(l, fe_mul(ir, dim, repeat), sizes[i],
                     "the repeats are negative");
  }
  if (n > FE_MAX_RANK)
    return fe_lower_error(l, NULL, "more than %u dimensions are repeated",
                          FE_MAX_RANK - rank);
  MlirAffineMap map = mlirAffineMapGet(ir->ctx, n, 0, rank, at);
  fe_generic *g = fe_generic_begin(l, n, space, 1, l->in, l->in_type, &map);
  MlirValue v = fe_generic_end(g, l->out_type[0], fe_arg(g, 0));
  l->out[0] = n == rank ? v : fe_reshape(l, v, fe_out_elem(l, 0), rank, sizes);
  return FE_OK;
}

//===-- Range ---------------------------------------------------------------//

/// Number of elements, null when a value of the run. With a step of 1 a limit
/// below the start is refused at run time.
static MlirAffineExpr range_length(fe_ir *ir, const MlirValue *in) {
  const MlirAffineExpr unknown = {0};
  double x[3];
  if (fe_const_scalar(ir, in[0], &x[0]) && fe_const_scalar(ir, in[1], &x[1]) &&
      fe_const_scalar(ir, in[2], &x[2])) {
    double n = ceil((x[1] - x[0]) / x[2]);
    return n > 0x1p40 || isnan(n) ? unknown
                                  : fe_dim_const(ir, n > 0 ? (int64_t)n : 0);
  }
  fe_contents start, limit;
  if (!fe_const_scalar(ir, in[2], &x[2]) || x[2] < 1 || x[2] != floor(x[2]) ||
      !fe_contents_of(ir, in[0], &start) || !fe_contents_of(ir, in[1], &limit))
    return unknown;
  return fe_dim_ceildiv(fe_dim_sub(ir, limit.at[0], start.at[0]),
                        fe_dim_const(ir, (int64_t)x[2]));
}

static fe_status infer_range(fe_infer *f) {
  for (unsigned i = 0; i < 3; ++i) {
    fe_dims d;
    if (fe_in_dims(f, i, &d))
      return FE_FAILED;
    if (d.rank > 1 || (d.rank == 1 && fe_dim_static(d.d[0]) != 1))
      return fe_infer_error(f, NULL, "start, limit and delta must be scalars");
  }
  double delta;
  if (fe_const_scalar(f->ir, f->in[2], &delta) && delta == 0)
    return fe_infer_error(f, NULL, "delta is 0");
  MlirAffineExpr n = range_length(f->ir, f->in);
  fe_dims out = {.rank = 1,
                 .d = {mlirAffineExprIsNull(n) ? fe_fresh_dim(f) : n}};
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

static bool contents_range(fe_ir *ir, MlirOperation op, fe_contents *out) {
  fe_contents start, delta;
  if (!fe_contents_of(ir, fe_operand(op, 0), &start) ||
      !fe_contents_of(ir, fe_operand(op, 2), &delta))
    return false;
  for (unsigned i = 0; i < out->n; ++i)
    out->at[i] =
        fe_dim_add(start.at[0], fe_dim_mul(delta.at[0], fe_dim_const(ir, i)));
  return true;
}

static MlirValue run_time_length(fe_lower *l, const MlirValue x[3]) {
  fe_ir *ir = l->ir;
  MlirValue zero = fe_index(ir, 0), n;
  if (fe_dtype_is_float(l->in_type[0])) {
    n = fe_math(ir, "ceil", fe_div(ir, fe_sub(ir, x[1], x[0]), x[2]));
    n = fe_to_index(ir, n);
  } else {
    MlirValue span = fe_sub(ir, fe_to_index(ir, x[1]), fe_to_index(ir, x[0]));
    MlirValue step = fe_to_index(ir, x[2]);
    MlirValue back = fe_cmp(ir, FE_LT, step, zero);
    span = fe_select(ir, back, fe_neg(ir, span), span);
    step = fe_select(ir, back, fe_neg(ir, step), step);
    n = fe_ceildiv(ir, span, fe_max(ir, step, fe_index(ir, 1)));
  }
  return fe_max(ir, n, zero);
}

static fe_status lower_range(fe_lower *l) {
  fe_ir *ir = l->ir;
  MlirValue x[3], size = {0};
  for (unsigned i = 0; i < 3; ++i)
    x[i] = fe_read_scalar(l, i);
  fe_out_sizes(l, 0, &size);
  MlirValue n = run_time_length(l, x);
  double unused;
  bool fixed = fe_const_scalar(ir, fe_operand(l->op, 0), &unused) &&
               fe_const_scalar(ir, fe_operand(l->op, 1), &unused);
  if (fe_is_null(size))
    size = n;
  else if (!fixed)
    fe_check_equal(l, n, size, "the limit lies before the start");
  fe_generic *g = fe_generic_begin(l, 1, &size, 0, NULL, NULL, NULL);
  MlirValue i =
      fe_convert(ir, fe_iter(g, 0), mlirValueGetType(x[0]), false, false);
  l->out[0] =
      fe_generic_end(g, l->out_type[0], fe_add(ir, x[0], fe_mul(ir, i, x[2])));
  return FE_OK;
}

static const fe_attr_def fill_attrs[] = {{"value", FE_A_TENSOR, NULL}, {0}};
static const fe_attr_def range_attrs[] = {
    {"stash_type", FE_A_INT, "1|10|11|16"}, {0}};

const fe_op_row fe_family_expand[] = {{.name = "Expand",
                                       .since = 8,
                                       .inputs = "input:T, shape:I",
                                       .outputs = "output:T",
                                       .types = "T=all;I=i64",
                                       .infer = infer_expand,
                                       .contents = contents_expand,
                                       .lower = lower_expand},
                                      {.name = "ConstantOfShape",
                                       .since = 9,
                                       .inputs = "input:I",
                                       .outputs = "output:T",
                                       .types = "I=i64;T=all",
                                       .attrs = fill_attrs,
                                       .flags = FE_FUNCTION,
                                       .expand = expand_constant_of_shape},
                                      {.name = "Tile",
                                       .since = 1,
                                       .inputs = "input:T, repeats:I",
                                       .outputs = "output:T",
                                       .types = "T=all;I=i64",
                                       .upgrade = upgrade_tile,
                                       .infer = infer_tile,
                                       .contents = contents_tile,
                                       .lower = lower_tile},
                                      {.name = "Range",
                                       .since = 11,
                                       .inputs = "start:T, limit:T, delta:T",
                                       .outputs = "output:T",
                                       .types = "T=float,i16,i32,i64",
                                       .attrs = range_attrs,
                                       .infer = infer_range,
                                       .contents = contents_range,
                                       .lower = lower_range},
                                      {0}};
