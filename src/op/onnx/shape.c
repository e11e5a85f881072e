//===- shape.c - Shape, Size, Reshape, Flatten, Squeeze, ... -----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What reads a shape, and what gives the same elements another one. Nothing is
// moved: the latter become krnl.reshape. A rank must be known when compiling.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>
#include <string.h>

/// The operand's integers as a set of axes of a tensor of `rank`; known is
/// false when they are values of the run.
static fe_status axes_of(fe_infer *f, unsigned operand, unsigned rank,
                         bool is_axis[FE_MAX_RANK], bool *known) {
  int64_t axes[FE_MAX_RANK];
  memset(is_axis, 0, FE_MAX_RANK * sizeof *is_axis);
  int n = fe_const_ints(f->ir, f->in[operand], axes, FE_MAX_RANK);
  *known = n >= 0;
  if (n > FE_MAX_RANK)
    return fe_infer_error(f, NULL, "there are more than %d axes", FE_MAX_RANK);
  for (int i = 0; i < n; ++i) {
    unsigned axis;
    if (fe_axis(f, axes[i], rank, &axis))
      return FE_FAILED;
    if (is_axis[axis])
      return fe_infer_error(f, NULL, "axis %u is given twice", axis);
    is_axis[axis] = true;
  }
  return FE_OK;
}

/// Number of axes that an operand holds.
static fe_status n_axes(fe_infer *f, unsigned operand, unsigned *out) {
  fe_dims d;
  if (fe_in_dims(f, operand, &d))
    return FE_FAILED;
  int64_t n = d.rank ? fe_dim_static(d.d[0]) : 1;
  if (d.rank > 1 || (n != FE_DYN && n > FE_MAX_RANK))
    return fe_infer_error(f, NULL, "the axes must be a list of at most %d",
                          FE_MAX_RANK);
  if (n == FE_DYN)
    return fe_need_size(f, operand, 0);
  *out = (unsigned)n;
  return FE_OK;
}

/// The same when lowering; false when they are values of the run.
static bool known_axes(fe_lower *l, unsigned rank, bool is_axis[FE_MAX_RANK]) {
  int64_t axes[FE_MAX_RANK];
  int n = fe_const_ints(l->ir, fe_operand(l->op, 1), axes, FE_MAX_RANK);
  memset(is_axis, 0, FE_MAX_RANK * sizeof *is_axis);
  for (int i = 0; i < n; ++i)
    is_axis[axes[i] < 0 ? axes[i] + rank : axes[i]] = true;
  return n >= 0;
}

/// For each dim of a tensor of `rank`, in main, whether it is among the axes.
static void axes_flags(fe_lower *l, unsigned rank, MlirValue *flags) {
  fe_ir *ir = l->ir;
  int64_t n = fe_rank(l->in[1]) ? fe_static_dim(l->in[1], 0) : 1;
  for (unsigned i = 0; i < rank; ++i)
    flags[i] = fe_int(ir, ir->i1, 0);
  for (int64_t k = 0; k < n; ++k) {
    MlirValue axis = fe_read_index(l, l->in[1], k);
    axis = fe_select(ir, fe_cmp(ir, FE_LT, axis, fe_index(ir, 0)),
                     fe_add(ir, axis, fe_index(ir, rank)), axis);
    for (unsigned i = 0; i < rank; ++i)
      flags[i] = fe_or(ir, flags[i], fe_cmp(ir, FE_EQ, axis, fe_index(ir, i)));
  }
}

static fe_status axes_to_input(fe_node *n) {
  if (n->opset < 13)
    fe_node_attr_to_input(n, "axes", 1, FE_I64);
  return FE_OK;
}

//===-- Shape, Size ---------------------------------------------------------//

/// Dims [first, last) that Shape gives.
static void shape_range(MlirOperation op, unsigned rank, unsigned *first,
                        unsigned *last) {
  int64_t r = rank, s = fe_attr_i64(op, "start", 0),
          e = fe_attr_i64(op, "end", INT64_MAX);
  s = s < 0 ? s + r : s;
  e = e < 0 ? e + r : e;
  s = s < 0 ? 0 : s > r ? r : s;
  e = e < s ? s : e > r ? r : e;
  *first = (unsigned)s;
  *last = (unsigned)e;
}

static fe_status infer_shape(fe_infer *f) {
  fe_dims in;
  unsigned first, last;
  if (fe_in_dims(f, 0, &in))
    return FE_FAILED;
  shape_range(f->attrs, in.rank, &first, &last);
  fe_dims out = {.rank = 1, .d = {fe_dim_const(f->ir, last - first)}};
  fe_out_tensor(f, 0, FE_I64, &out);
  return FE_OK;
}

static bool contents_shape(fe_ir *ir, MlirOperation op, fe_contents *out) {
  fe_dims in;
  unsigned first, last;
  if (!fe_dims_of(ir, fe_operand(op, 0), &in))
    return false;
  shape_range(op, in.rank, &first, &last);
  for (unsigned i = first; i < last; ++i)
    out->at[i - first] = in.d[i];
  return true;
}

static fe_status lower_shape(fe_lower *l) {
  unsigned first, last;
  shape_range(l->op, fe_rank(l->in[0]), &first, &last);
  MlirValue sizes[FE_MAX_RANK];
  for (unsigned i = first; i < last; ++i)
    sizes[i - first] = fe_size(l, l->in[0], i);
  l->out[0] = fe_index_list(l, last - first, sizes);
  return FE_OK;
}

static fe_status infer_size(fe_infer *f) {
  fe_dims in, out = {0};
  if (fe_in_dims(f, 0, &in))
    return FE_FAILED;
  fe_out_tensor(f, 0, FE_I64, &out);
  return FE_OK;
}

static bool contents_size(fe_ir *ir, MlirOperation op, fe_contents *out) {
  fe_dims in;
  if (!fe_dims_of(ir, fe_operand(op, 0), &in))
    return false;
  out->at[0] = fe_dims_product(ir, &in, 0, in.rank);
  return true;
}

static fe_status lower_size(fe_lower *l) {
  MlirValue size = fe_sizes_product(l, l->in[0], 0, fe_rank(l->in[0]));
  l->out[0] = fe_index_scalar(l, size);
  return FE_OK;
}

//===-- Reshape -------------------------------------------------------------//

static fe_status upgrade_reshape(fe_node *n) {
  if (n->opset < 5)
    fe_node_attr_to_input(n, "shape", 1, FE_I64);
  return FE_OK;
}

/// Output dims from the wanted shape; a dim that is not known is fresh.
static fe_status reshape_dims(fe_infer *f, const fe_dims *in,
                              const fe_contents *shape, fe_dims *out) {
  bool zero_is_zero = fe_attr_i64(f->attrs, "allowzero", 0);
  int rest = -1;
  bool known = true;
  MlirAffineExpr others = fe_dim_const(f->ir, 1);
  out->rank = shape->n;
  for (unsigned i = 0; i < shape->n; ++i) {
    MlirAffineExpr e = shape->at[i];
    int64_t n = mlirAffineExprIsNull(e) ? FE_DYN : fe_dim_static(e);
    if (mlirAffineExprIsNull(e)) {
      e = fe_fresh_dim(f);
      known = false; // it might be the -1
    } else if (n == -1) {
      if (rest >= 0)
        return fe_infer_error(f, NULL, "the shape has more than one -1");
      rest = (int)i;
      continue;
    } else if (n == 0 && !zero_is_zero) {
      if (i >= in->rank)
        return fe_infer_error(f, NULL,
                              "the shape copies dimension %u but the input "
                              "has rank %u",
                              i, in->rank);
      e = in->d[i];
    } else if (n < 0 && n != FE_DYN) {
      return fe_infer_error(f, NULL, "the shape holds %" PRId64, n);
    }
    out->d[i] = e;
    others = fe_dim_mul(others, e);
  }
  MlirAffineExpr total = fe_dims_product(f->ir, in, 0, in->rank);
  if (mlirAffineExprIsNull(total) || mlirAffineExprIsNull(others))
    return fe_infer_error(f, NULL, "the tensor is too large");
  int64_t n_total = fe_dim_static(total), n_others = fe_dim_static(others);
  bool fits = n_total == FE_DYN || n_others == FE_DYN ||
              (rest < 0   ? n_total == n_others
               : n_others ? n_total % n_others == 0
                          : n_total == 0);
  if (!fits)
    return fe_infer_error(
        f, NULL, "%" PRId64 " elements do not fit into the shape", n_total);
  if (rest >= 0 && !known)
    out->d[rest] = fe_fresh_dim(f);
  else if (rest >= 0 && n_others == 0)
    out->d[rest] = fe_dim_const(f->ir, 0);
  else if (rest >= 0)
    out->d[rest] = fe_dim_floordiv(total, others);
  return FE_OK;
}

static fe_status infer_reshape(fe_infer *f) {
  fe_dims in, out = {0};
  if (fe_in_dims(f, 0, &in))
    return FE_FAILED;
  unsigned rank;
  if (fe_rank_from(f, 1, &rank))
    return FE_FAILED;
  fe_contents shape;
  if (!fe_contents_partial(f->ir, f->in[1], &shape)) {
    shape.n = rank;
    memset(shape.at, 0, rank * sizeof *shape.at);
  }
  if (reshape_dims(f, &in, &shape, &out))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

/// Sizes that inference does not know are computed from the shape operand.
static void runtime_shape(fe_lower *l, unsigned rank, MlirValue *sizes) {
  fe_ir *ir = l->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1),
            minus = fe_index(ir, -1), others = one;
  bool copies = !fe_attr_i64(l->op, "allowzero", 0);
  for (unsigned i = 0; i < rank; ++i) {
    MlirValue n = fe_read_index(l, l->in[1], i);
    if (copies && i < fe_rank(l->in[0]))
      n = fe_select(ir, fe_cmp(ir, FE_EQ, n, zero), fe_size(l, l->in[0], i), n);
    MlirValue is_rest = fe_cmp(ir, FE_EQ, n, minus);
    others = fe_mul(ir, others, fe_select(ir, is_rest, one, n));
    sizes[i] = n;
  }
  MlirValue total = fe_sizes_product(l, l->in[0], 0, fe_rank(l->in[0]));
  MlirValue rest = fe_div(ir, total, fe_max(ir, others, one));
  for (unsigned i = 0; i < rank; ++i)
    sizes[i] =
        fe_select(ir, fe_cmp(ir, FE_EQ, sizes[i], minus), rest, sizes[i]);
}

static fe_status lower_reshape(fe_lower *l) {
  MlirValue sizes[FE_MAX_RANK] = {{0}};
  unsigned rank = fe_out_rank(l, 0);
  fe_out_sizes(l, 0, sizes);
  bool known = true;
  for (unsigned i = 0; i < rank; ++i)
    known &= !fe_is_null(sizes[i]);
  if (!known)
    runtime_shape(l, rank, sizes);
  fe_dims in, out;
  bool same = fe_dims_of(l->ir, fe_operand(l->op, 0), &in) &&
              fe_dims_of(l->ir, fe_result(l->op, 0), &out) &&
              fe_dim_same(fe_dims_product(l->ir, &in, 0, in.rank),
                          fe_dims_product(l->ir, &out, 0, out.rank));
  if (!same) {
    MlirValue count = fe_index(l->ir, 1);
    for (unsigned i = 0; i < rank; ++i)
      count = fe_mul(l->ir, count, sizes[i]);
    MlirValue total = fe_sizes_product(l, l->in[0], 0, fe_rank(l->in[0]));
    fe_check(l, fe_cmp(l->ir, FE_EQ, count, total),
             "the elements do not fit into the shape");
  }
  l->out[0] = fe_reshape(l, l->in[0], fe_out_elem(l, 0), rank, sizes);
  return FE_OK;
}

//===-- Flatten, Squeeze, Unsqueeze -----------------------------------------//

static fe_status infer_flatten(fe_infer *f) {
  fe_dims in;
  if (fe_in_dims(f, 0, &in))
    return FE_FAILED;
  int64_t axis = fe_attr_i64(f->attrs, "axis", 1), rank = in.rank;
  if (axis < -rank || axis > rank)
    return fe_infer_error(f, NULL, "axis %" PRId64 " is out of range", axis);
  unsigned at = fe_attr_axis(f->attrs, "axis", 1, in.rank);
  fe_dims out = {.rank = 2,
                 .d = {fe_dims_product(f->ir, &in, 0, at),
                       fe_dims_product(f->ir, &in, at, in.rank)}};
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

static fe_status lower_flatten(fe_lower *l) {
  unsigned rank = fe_rank(l->in[0]), at = fe_attr_axis(l->op, "axis", 1, rank);
  MlirValue sizes[2] = {fe_sizes_product(l, l->in[0], 0, at),
                        fe_sizes_product(l, l->in[0], at, rank)};
  l->out[0] = fe_reshape(l, l->in[0], fe_out_elem(l, 0), 2, sizes);
  return FE_OK;
}

static fe_status infer_squeeze(fe_infer *f) {
  fe_dims in, out = {0};
  bool drop[FE_MAX_RANK], known = true;
  unsigned n = 0;
  if (fe_in_dims(f, 0, &in))
    return FE_FAILED;
  bool given = f->n_in > 1 && !fe_is_null(f->in[1]);
  if (given && (n_axes(f, 1, &n) || axes_of(f, 1, in.rank, drop, &known)))
    return FE_FAILED;
  if (n > in.rank)
    return fe_infer_error(f, NULL, "there are more axes than dimensions");
  for (unsigned i = 0; i < in.rank; ++i) {
    int64_t size = fe_dim_static(in.d[i]);
    if (given && drop[i] && size != 1 && size != FE_DYN)
      return fe_infer_error(f, NULL, "dimension %u has size %" PRId64 ", not 1",
                            i, size);
    // Without axes a dynamic dim stays: the rank cannot depend on it.
    if (given ? !drop[i] : size != 1)
      out.d[out.rank++] = in.d[i];
  }
  if (!known) {
    unsigned kept = 0; // at least
    for (unsigned i = 0; i < in.rank; ++i)
      kept += fe_dim_static(in.d[i]) != 1 && fe_dim_static(in.d[i]) != FE_DYN;
    out.rank = in.rank - n;
    if (kept > out.rank)
      return fe_infer_error(f, NULL,
                            "there are %u axes, but %u dimensions are not of "
                            "size 1",
                            n, kept);
    for (unsigned i = 0; i < out.rank; ++i)
      out.d[i] = fe_fresh_dim(f);
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

/// Axes of the run leave `kept` dims, as many as the ranks say only where none
/// is there twice.
static void check_distinct(fe_lower *l, MlirValue kept, unsigned expected) {
  fe_check(l, fe_cmp(l->ir, FE_EQ, kept, fe_index(l->ir, expected)),
           "an axis is there twice");
}

/// With axes of the run: the k-th kept dim is the one with k kept before it.
static void squeeze_at_run_time(fe_lower *l, unsigned n, MlirValue *sizes) {
  fe_ir *ir = l->ir;
  MlirValue drop[FE_MAX_RANK], one = fe_index(ir, 1), before = fe_index(ir, 0);
  unsigned rank = fe_rank(l->in[0]);
  axes_flags(l, rank, drop);
  for (unsigned k = 0; k < n; ++k)
    sizes[k] = one;
  for (unsigned i = 0; i < rank; ++i) {
    MlirValue size = fe_size(l, l->in[0], i), keep = fe_not(ir, drop[i]);
    fe_check(l, fe_or(ir, keep, fe_cmp(ir, FE_EQ, size, one)),
             "the dimension has another size than 1");
    for (unsigned k = 0; k < n; ++k) {
      MlirValue here =
          fe_and(ir, keep, fe_cmp(ir, FE_EQ, before, fe_index(ir, k)));
      sizes[k] = fe_select(ir, here, size, sizes[k]);
    }
    before = fe_select(ir, keep, fe_add(ir, before, one), before);
  }
  check_distinct(l, before, n);
}

static fe_status lower_squeeze(fe_lower *l) {
  fe_ir *ir = l->ir;
  MlirValue sizes[FE_MAX_RANK];
  unsigned rank = fe_rank(l->in[0]), n = 0;
  bool given = !fe_is_null(l->in[1]), drop[FE_MAX_RANK] = {false};
  if (given && !known_axes(l, rank, drop)) {
    n = fe_out_rank(l, 0);
    squeeze_at_run_time(l, n, sizes);
    rank = 0;
  }
  for (unsigned i = 0; i < rank; ++i) {
    MlirValue size = fe_size(l, l->in[0], i);
    if (given ? !drop[i] : fe_static_dim(fe_operand(l->op, 0), i) != 1)
      sizes[n++] = size;
    else
      fe_check_equal(l, size, fe_index(ir, 1),
                     "the dimension has another size than 1");
  }
  l->out[0] = fe_reshape(l, l->in[0], fe_out_elem(l, 0), n, sizes);
  return FE_OK;
}

static fe_status infer_unsqueeze(fe_infer *f) {
  fe_dims in, out = {0};
  bool is_new[FE_MAX_RANK], known;
  unsigned n;
  if (fe_in_dims(f, 0, &in) || n_axes(f, 1, &n))
    return FE_FAILED;
  out.rank = in.rank + n;
  if (out.rank > FE_MAX_RANK)
    return fe_infer_error(f, NULL, "the rank of the result is above %d",
                          FE_MAX_RANK);
  if (axes_of(f, 1, out.rank, is_new, &known))
    return FE_FAILED;
  for (unsigned i = 0, k = 0; i < out.rank; ++i)
    out.d[i] = !known      ? fe_fresh_dim(f)
               : is_new[i] ? fe_dim_const(f->ir, 1)
                           : in.d[k++];
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

/// With axes of the run: a dim that is not new is the one with as many others
/// before it.
static void unsqueeze_at_run_time(fe_lower *l, unsigned rank,
                                  MlirValue *sizes) {
  fe_ir *ir = l->ir;
  MlirValue is_new[FE_MAX_RANK], one = fe_index(ir, 1),
                                 before = fe_index(ir, 0);
  axes_flags(l, rank, is_new);
  for (unsigned i = 0; i < rank; ++i) {
    sizes[i] = one;
    for (unsigned k = 0; k < fe_rank(l->in[0]); ++k) {
      MlirValue here = fe_and(ir, fe_not(ir, is_new[i]),
                              fe_cmp(ir, FE_EQ, before, fe_index(ir, k)));
      sizes[i] = fe_select(ir, here, fe_size(l, l->in[0], k), sizes[i]);
    }
    before = fe_select(ir, is_new[i], before, fe_add(ir, before, one));
  }
  check_distinct(l, before, fe_rank(l->in[0]));
}

static fe_status lower_unsqueeze(fe_lower *l) {
  MlirValue sizes[FE_MAX_RANK];
  unsigned rank = fe_out_rank(l, 0);
  bool is_new[FE_MAX_RANK];
  if (known_axes(l, rank, is_new))
    for (unsigned i = 0, k = 0; i < rank; ++i)
      sizes[i] = is_new[i] ? fe_index(l->ir, 1) : fe_size(l, l->in[0], k++);
  else
    unsqueeze_at_run_time(l, rank, sizes);
  l->out[0] = fe_reshape(l, l->in[0], fe_out_elem(l, 0), rank, sizes);
  return FE_OK;
}

static fe_status expand_identity(fe_node *n, MlirValue *results) {
  if (n->in.n == 1) {
    results[0] = n->in.at[0];
    return FE_OK;
  }
  fe_where where = n->where;
  where.op = n->row->name;
  return fe_error(n->ir->diags, where, NULL, "has %zu inputs but takes 1",
                  n->in.n);
}

static const fe_attr_def shape_attrs[] = {
    {"start", FE_A_INT, "0"}, {"end", FE_A_INT, "9223372036854775807"}, {0}};
static const fe_attr_def reshape_attrs[] = {{"allowzero", FE_A_INT, "0"}, {0}};
static const fe_attr_def flatten_attrs[] = {{"axis", FE_A_INT, "1"}, {0}};

const fe_op_row fe_family_shape[] = {
    {.name = "Shape",
     .since = 1,
     .inputs = "data:T",
     .outputs = "shape:T1",
     .types = "T=all;T1=i64",
     .attrs = shape_attrs,
     .infer = infer_shape,
     .contents = contents_shape,
     .lower = lower_shape},
    {.name = "Size",
     .since = 1,
     .inputs = "data:T",
     .outputs = "size:T1",
     .types = "T=all;T1=i64",
     .infer = infer_size,
     .contents = contents_size,
     .lower = lower_size},
    {.name = "Reshape",
     .since = 1,
     .inputs = "data:T, shape:T1",
     .outputs = "reshaped:T",
     .types = "T=all;T1=i64",
     .attrs = reshape_attrs,
     .upgrade = upgrade_reshape,
     .infer = infer_reshape,
     .contents = fe_contents_first,
     .lower = lower_reshape},
    {.name = "Flatten",
     .since = 1,
     .inputs = "input:T",
     .outputs = "output:T",
     .types = "T=all",
     .attrs = flatten_attrs,
     .infer = infer_flatten,
     .contents = fe_contents_first,
     .lower = lower_flatten},
    {.name = "Squeeze",
     .since = 1,
     .inputs = "data:T, axes?:T1",
     .outputs = "squeezed:T",
     .types = "T=all;T1=i64",
     .upgrade = axes_to_input,
     .infer = infer_squeeze,
     .contents = fe_contents_first,
     .lower = lower_squeeze,
     .limits = "without axes, dynamic dimensions are kept"},
    {.name = "Unsqueeze",
     .since = 1,
     .inputs = "data:T, axes:T1",
     .outputs = "expanded:T",
     .types = "T=all;T1=i64",
     .upgrade = axes_to_input,
     .infer = infer_unsqueeze,
     .contents = fe_contents_first,
     .lower = lower_unsqueeze},
    {.name = "Identity",
     .since = 1,
     .inputs = "input:V",
     .outputs = "output:V",
     .types = "V=any",
     .flags = FE_FUNCTION,
     .expand = expand_identity},
    {0}};
