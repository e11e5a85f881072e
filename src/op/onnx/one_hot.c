//===- one_hot.c - OneHot, ReverseSequence, BitCast --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generics over the result, and a view of the same bytes.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>

//===-- OneHot --------------------------------------------------------------//

static fe_status infer_one_hot(fe_infer *f) {
  fe_dims indices, depth, values, out = {0};
  unsigned axis;
  if (fe_in_dims(f, 0, &indices) || fe_in_dims(f, 1, &depth) ||
      fe_in_dims(f, 2, &values) ||
      fe_axis(f, fe_attr_i64(f->attrs, "axis", -1), indices.rank + 1, &axis))
    return FE_FAILED;
  if (indices.rank + 1 > FE_MAX_RANK)
    return fe_infer_error(f, NULL, "the rank of the result is above %d",
                          FE_MAX_RANK);
  if (depth.rank > 1 || (depth.rank == 1 && !fe_dim_may_be(depth.d[0], 1)) ||
      values.rank != 1 || !fe_dim_may_be(values.d[0], 2))
    return fe_infer_error(f, NULL,
                          "depth must be one number and values must be two");
  fe_contents known;
  double number;
  MlirAffineExpr size;
  if (fe_contents_of(f->ir, f->in[1], &known) && known.n == 1)
    size = known.at[0];
  else if (fe_const_scalar(f->ir, f->in[1], &number) && number >= 0 &&
           number < INT32_MAX)
    size = fe_dim_const(f->ir, (int64_t)number);
  else
    size = fe_fresh_dim(f);
  if (fe_dim_static(size) < 0 && fe_dim_static(size) != FE_DYN)
    return fe_infer_error(f, NULL, "depth is negative");
  for (unsigned i = 0; i <= indices.rank; ++i)
    out.d[out.rank++] = i < axis    ? indices.d[i]
                        : i == axis ? size
                                    : indices.d[i - 1];
  fe_out_tensor(f, 0, fe_in_dtype(f, 2), &out);
  return FE_OK;
}

static fe_status lower_one_hot(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_out_rank(l, 0);
  unsigned axis = fe_attr_axis(l->op, "axis", -1, rank);
  MlirValue sizes[FE_MAX_RANK] = {{0}};
  MlirAffineExpr e[FE_MAX_RANK];
  fe_out_sizes(l, 0, sizes);
  fe_check_equal(l, fe_list_length(l, l->in[1]), fe_index(ir, 1),
                 "depth must be one number");
  fe_check_equal(l, fe_list_length(l, l->in[2]), fe_index(ir, 2),
                 "values must be two numbers");
  for (unsigned i = 0; i + 1 < rank; ++i) {
    unsigned d = i < axis ? i : i + 1;
    sizes[d] = fe_size(l, l->in[0], i);
    e[i] = mlirAffineDimExprGet(ir->ctx, d);
  }
  if (fe_is_null(sizes[axis])) {
    bool is_unsigned = fe_dtype_is_unsigned(l->in_type[1]);
    MlirValue depth =
        fe_convert(ir, fe_read_scalar(l, 1), ir->i64, is_unsigned, false);
    sizes[axis] = fe_to_index(ir, depth);
    fe_check(l, fe_cmp(ir, FE_GE, sizes[axis], fe_index(ir, 0)),
             "depth is negative");
  }
  MlirAffineMap map = mlirAffineMapGet(ir->ctx, rank, 0, rank - 1, e);
  fe_generic *g =
      fe_generic_begin(l, rank, sizes, 1, &l->in[0], &l->in_type[0], &map);
  MlirValue v = fe_convert(ir, fe_arg(g, 0), ir->i64,
                           fe_dtype_is_unsigned(l->in_type[0]), false);
  MlirValue index = fe_to_index(ir, v), zero = fe_index(ir, 0);
  index = fe_select(ir, fe_cmp(ir, FE_LT, index, zero),
                    fe_add(ir, index, sizes[axis]), index);
  MlirValue hot = fe_cmp(ir, FE_EQ, index, fe_iter(g, axis));
  MlirValue which = fe_select(ir, hot, fe_index(ir, 1), zero);
  l->out[0] = fe_generic_end(g, l->out_type[0],
                             fe_at(g, l->in[2], l->in_type[2], 1, &which));
  return FE_OK;
}

//===-- ReverseSequence -----------------------------------------------------//

static fe_status infer_reverse(fe_infer *f) {
  fe_dims x, lengths;
  unsigned batch, time;
  if (fe_in_dims(f, 0, &x) || fe_in_dims(f, 1, &lengths) ||
      fe_axis(f, fe_attr_i64(f->attrs, "batch_axis", 1), x.rank, &batch) ||
      fe_axis(f, fe_attr_i64(f->attrs, "time_axis", 0), x.rank, &time))
    return FE_FAILED;
  if (batch == time || lengths.rank != 1)
    return fe_infer_error(f, NULL,
                          "batch_axis and time_axis must differ, and "
                          "sequence_lens must have rank 1");
  int64_t n = fe_dim_static(x.d[batch]), m = fe_dim_static(lengths.d[0]);
  if (n != FE_DYN && m != FE_DYN && n != m)
    return fe_infer_error(
        f, NULL, "there are %" PRId64 " lengths for %" PRId64 " sequences", m,
        n);
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  return FE_OK;
}

static fe_status lower_reverse(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  unsigned batch = fe_attr_axis(l->op, "batch_axis", 1, rank);
  unsigned time = fe_attr_axis(l->op, "time_axis", 0, rank);
  MlirValue sizes[FE_MAX_RANK], at[FE_MAX_RANK];
  fe_sizes_of(l, l->in[0], sizes);
  fe_check_dims(l, 0, batch, 1, 0, "there is not one length per sequence");
  MlirAffineExpr e = mlirAffineDimExprGet(ir->ctx, batch);
  MlirAffineMap map = mlirAffineMapGet(ir->ctx, rank, 0, 1, &e);
  fe_generic *g =
      fe_generic_begin(l, rank, sizes, 1, &l->in[1], &l->in_type[1], &map);
  MlirValue length = fe_to_index(ir, fe_arg(g, 0));
  length = fe_min(ir, length, sizes[time]);
  for (unsigned i = 0; i < rank; ++i)
    at[i] = fe_iter(g, i);
  MlirValue mirrored =
      fe_sub(ir, fe_sub(ir, length, fe_index(ir, 1)), at[time]);
  at[time] =
      fe_select(ir, fe_cmp(ir, FE_LT, at[time], length), mirrored, at[time]);
  MlirValue v = fe_at(g, l->in[0], l->in_type[0], rank, at);
  l->out[0] = fe_generic_end(g, l->out_type[0], v);
  return FE_OK;
}

//===-- BitCast -------------------------------------------------------------//

static fe_status infer_bit_cast(fe_infer *f) {
  fe_dims x;
  int64_t to = fe_attr_i64(f->attrs, "to", 0);
  if (fe_in_dims(f, 0, &x))
    return FE_FAILED;
  fe_dtype from = fe_in_dtype(f, 0);
  if (to <= 0 || to >= FE_DTYPE_COUNT || to == FE_STRING ||
      fe_dtype_bits((fe_dtype)to) != fe_dtype_bits(from))
    return fe_infer_error(f, NULL,
                          "'to' must be a type with as many bits as %s",
                          fe_dtype_name(from));
  fe_out_tensor(f, 0, (fe_dtype)to, &x);
  return FE_OK;
}

/// The bits of a byte that count, those above as the type has them.
static MlirValue own_bits(fe_ir *ir, const MlirValue *x, const void *user) {
  fe_dtype to = *(const fe_dtype *)user;
  if (to == FE_BOOL)
    return fe_cmp(ir, FE_NE, x[0], fe_int(ir, ir->i8, 0));
  MlirType bits = mlirIntegerTypeGet(ir->ctx, fe_dtype_bits(to));
  return fe_convert(ir, fe_convert(ir, x[0], bits, false, false), ir->i8,
                    !fe_dtype_is_signed(to), false);
}

static MlirValue bool_bits(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_convert(ir, x[0], ir->i8, true, false);
}

static fe_status lower_bit_cast(fe_lower *l) {
  MlirValue sizes[FE_MAX_RANK], v = l->in[0];
  unsigned rank = fe_rank(v);
  fe_dtype from = l->in_type[0], to = l->out_type[0];
  fe_sizes_of(l, v, sizes);
  if (fe_dtype_bits(to) < 8 || (to == FE_BOOL) != (from == FE_BOOL)) {
    v = fe_reshape(l, v, l->ir->i8, rank, sizes); // a float's byte too
    v = fe_map1(l, v, from == FE_BOOL ? FE_BOOL : FE_I8,
                to == FE_BOOL ? FE_BOOL : FE_I8,
                from == FE_BOOL ? bool_bits : own_bits, &to);
  }
  l->out[0] = fe_reshape(l, v, fe_out_elem(l, 0), rank, sizes);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def one_hot_attrs[] = {{"axis", FE_A_INT, "-1"}, {0}};
static const fe_attr_def reverse_attrs[] = {
    {"batch_axis", FE_A_INT, "1|0"}, {"time_axis", FE_A_INT, "0|1"}, {0}};
static const fe_attr_def bit_cast_attrs[] = {{"to", FE_A_INT, NULL}, {0}};

const fe_op_row fe_family_one_hot[] = {
    {.name = "OneHot",
     .since = 9,
     .inputs = "indices:T1, depth:T2, values:T3",
     .outputs = "output:T3",
     .types = "T1=real;T2=real;T3=all",
     .attrs = one_hot_attrs,
     .infer = infer_one_hot,
     .lower = lower_one_hot},
    {.name = "ReverseSequence",
     .since = 10,
     .inputs = "input:T, sequence_lens:I",
     .outputs = "Y:T",
     .types = "T=all;I=i64",
     .attrs = reverse_attrs,
     .infer = infer_reverse,
     .lower = lower_reverse},
    {.name = "BitCast",
     .since = 26,
     .inputs = "input:T1",
     .outputs = "output:T2",
     .types = "T1=numeric,bool,small;T2=numeric,bool,small",
     .attrs = bit_cast_attrs,
     .infer = infer_bit_cast,
     .lower = lower_bit_cast},
    {0}};
