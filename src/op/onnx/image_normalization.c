//===- image_normalization.c - InstanceNormalization, LRN, ... ---*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instance and group normalization are one kernel: channels of an image lie
// together, so a group is a row of memory, and an instance a group of one
// channel. Mean, variance about the mean and result are three passes over a row
// that is in the cache. Sums are kept in f32, of f64 in f64.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>

static fe_status check_channels(fe_infer *f, const fe_dims *x, unsigned operand,
                                int64_t want) {
  fe_dims d;
  if (fe_in_dims(f, operand, &d))
    return FE_FAILED;
  int64_t n = d.rank == 1 ? fe_dim_static(d.d[0]) : -1;
  if (x->rank < 2)
    return fe_infer_error(f, NULL, "the input must have rank 2 or more");
  if (n == -1 || (n != FE_DYN && want != FE_DYN && n != want))
    return fe_infer_error(f, NULL,
                          "operand %u must have one dimension of size %" PRId64,
                          operand, want);
  return FE_OK;
}

static fe_status infer_instance(fe_infer *f) {
  fe_dims x;
  if (fe_in_dims(f, 0, &x))
    return FE_FAILED;
  int64_t channels = x.rank < 2 ? -1 : fe_dim_static(x.d[1]);
  if (check_channels(f, &x, 1, channels) || check_channels(f, &x, 2, channels))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  return FE_OK;
}

static fe_status upgrade_group(fe_node *n) {
  if (n->opset < 21)
    fe_node_set_int(n, "per_group", 1);
  return FE_OK;
}

static fe_status infer_group(fe_infer *f) {
  fe_dims x;
  if (fe_in_dims(f, 0, &x))
    return FE_FAILED;
  int64_t channels = x.rank < 2 ? -1 : fe_dim_static(x.d[1]);
  int64_t groups = fe_attr_i64(f->attrs, "num_groups", 0);
  if (groups < 1 || groups > INT32_MAX ||
      (channels != FE_DYN && channels % groups))
    return fe_infer_error(
        f, NULL, "%" PRId64 " channels cannot be cut into %" PRId64 " groups",
        channels, groups);
  int64_t want = fe_attr_i64(f->attrs, "per_group", 0) ? groups : channels;
  if (check_channels(f, &x, 1, want) || check_channels(f, &x, 2, want))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  return FE_OK;
}

//===-- The kernel ----------------------------------------------------------//

typedef struct group_norm {
  fe_lower *l;
  fe_ir *ir;
  fe_kernel k;
  fe_dtype type;
  MlirType sum;
  MlirValue row;
} group_norm;

static MlirValue element(group_norm *g, MlirValue channel, MlirValue i) {
  MlirValue at[3] = {g->row, channel, i};
  MlirValue v = fe_get(&g->k, g->k.in[0], g->type, 3, at);
  return fe_convert(g->ir, v, g->sum, false, false);
}

/// Sum in any order, so that it vectorizes.
static MlirValue add_freely(fe_ir *ir, MlirValue a, MlirValue b) {
  MlirValue v = fe_add(ir, a, b);
  fe_set_attr(ir, fe_def(v),
              fe_named(ir, "fastmath",
                       fe_attr_parse(ir, "#arith.fastmath<reassoc,contract>")));
  return v;
}

/// Mean over the row of x, or of (x - mean)^2.
static MlirValue row_mean(group_norm *g, MlirValue channels, MlirValue size,
                          MlirValue count, MlirValue mean) {
  fe_ir *ir = g->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue start = fe_float(ir, g->sum, 0);
  fe_region c = fe_for_begin(ir, zero, channels, one, 1, &start);
  MlirValue before = fe_block_arg(c.body, 1);
  fe_region i = fe_for_begin(ir, zero, size, one, 1, &before);
  MlirValue v = element(g, c.iv, i.iv);
  if (!fe_is_null(mean)) {
    v = fe_sub(ir, v, mean);
    v = fe_mul(ir, v, v);
  }
  v = add_freely(ir, fe_block_arg(i.body, 1), v);
  fe_for_end(ir, &i, 1, &v);
  v = fe_result(i.op, 0);
  fe_for_end(ir, &c, 1, &v);
  return fe_div(ir, fe_result(c.op, 0), count);
}

static MlirValue parameter(group_norm *g, unsigned operand, MlirValue at) {
  MlirValue v = fe_get(&g->k, g->k.in[operand], g->l->in_type[operand], 1, &at);
  return fe_convert(g->ir, v, g->sum, false, false);
}

/// `groups`: of the channels, index value; null: one per channel.
static fe_status lower_groups(fe_lower *l, MlirValue groups, bool per_group) {
  fe_ir *ir = l->ir;
  MlirValue x = l->in[0];
  unsigned rank = fe_rank(x);
  MlirValue sizes[FE_MAX_RANK], one = fe_index(ir, 1);
  fe_sizes_of(l, x, sizes);
  MlirValue channels = sizes[1], each = one;
  if (fe_is_null(groups))
    groups = channels;
  else
    each = fe_divu(ir, channels, groups);
  int64_t fixed, known;
  if (fe_size_known(channels, &fixed) && fe_size_known(groups, &known) &&
      known > 0)
    each = fe_index(ir, fixed / known);
  MlirValue parameters = per_group ? groups : channels;
  fe_check_equal(l, fe_size(l, l->in[1], 0), parameters,
                 "the scale has a wrong number of elements");
  fe_check_equal(l, fe_size(l, l->in[2], 0), parameters,
                 "the bias has a wrong number of elements");
  MlirValue three[3] = {fe_sizes_product(l, x, 0, 1), each,
                        fe_sizes_product(l, x, 2, rank)};
  three[0] = fe_mul(ir, three[0], groups);
  if (fe_size_known(sizes[0], &fixed) && fe_size_known(groups, &known))
    three[0] = fe_index(ir, fixed * known);
  group_norm g = {.l = l, .ir = ir, .type = l->in_type[0]};
  g.sum = fe_compute_type(ir, fe_work_type(g.type));
  MlirType elem = fe_storage_type(ir, g.type);
  MlirValue in[3] = {fe_reshape(l, x, elem, 3, three), l->in[1], l->in[2]};
  MlirValue out = fe_tensor_empty(l, g.type, 3, three);
  fe_kernel_begin(&g.k, l, "group_norm", 3, in, 1, &out, 1, &groups);
  one = fe_index(ir, 1); // in the kernel
  MlirValue per = fe_dim(ir, g.k.in[0], 1), size = fe_dim(ir, g.k.in[0], 2);
  MlirValue count = fe_convert(ir, fe_mul(ir, per, size), g.sum, false, false);
  fe_region rows = fe_for_begin(ir, g.k.begin, g.k.end, one, 0, NULL);
  g.row = rows.iv;
  MlirValue mean = row_mean(&g, per, size, count, (MlirValue){0});
  MlirValue variance = row_mean(&g, per, size, count, mean);
  MlirValue epsilon = fe_float(ir, g.sum, fe_attr_f64(l->op, "epsilon", 1e-5));
  MlirValue deviation = fe_math(ir, "sqrt", fe_add(ir, variance, epsilon));
  MlirValue group = fe_remu(ir, rows.iv, g.k.scalar[0]);
  fe_region c = fe_loop(ir, per);
  MlirValue at = per_group ? group : fe_add(ir, fe_mul(ir, group, per), c.iv);
  MlirValue factor = fe_div(ir, parameter(&g, 1, at), deviation);
  MlirValue bias = parameter(&g, 2, at);
  fe_region i = fe_loop(ir, size);
  MlirValue v = fe_sub(ir, element(&g, c.iv, i.iv), mean);
  v = fe_add(ir, fe_mul(ir, v, factor), bias);
  v = fe_convert(ir, v, fe_compute_type(ir, g.type), false, false);
  MlirValue to[3] = {rows.iv, c.iv, i.iv};
  fe_put(&g.k, v, g.k.out[0], g.type, 3, to);
  fe_loop_end(ir, &i);
  fe_loop_end(ir, &c);
  fe_loop_end(ir, &rows);
  MlirAffineExpr cost =
      fe_dim_mul(fe_kernel_dim(&g.k, 0, 1), fe_kernel_dim(&g.k, 0, 2));
  fe_kernel_end(&g.k, fe_kernel_dim(&g.k, 0, 0),
                fe_dim_mul(cost, fe_dim_const(ir, 6)));
  l->out[0] = fe_reshape(l, g.k.result[0], elem, rank, sizes);
  return FE_OK;
}

static fe_status lower_instance(fe_lower *l) {
  return lower_groups(l, (MlirValue){0}, false);
}

static fe_status lower_group(fe_lower *l) {
  fe_ir *ir = l->ir;
  MlirValue groups = fe_index(ir, fe_attr_i64(l->op, "num_groups", 1));
  if (fe_static_dim(l->in[0], 1) == FE_DYN)
    fe_check_equal(l, fe_remu(ir, fe_size(l, l->in[0], 1), groups),
                   fe_index(ir, 0), "the channels cannot be cut into groups");
  return lower_groups(l, groups, fe_attr_i64(l->op, "per_group", 0));
}

//===-- LRN -----------------------------------------------------------------//

static fe_status infer_lrn(fe_infer *f) {
  fe_dims x;
  if (fe_in_dims(f, 0, &x))
    return FE_FAILED;
  int64_t size = fe_attr_i64(f->attrs, "size", 0);
  if (x.rank < 2 || size < 1 || size > INT32_MAX)
    return fe_infer_error(f, NULL,
                          "the input must have channels, and size must be "
                          "positive and not too large");
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  return FE_OK;
}

enum { TILE = 256 };

/// Squares of the channels around one are summed, a piece of an image at once.
static fe_status lower_lrn(fe_lower *l) {
  fe_ir *ir = l->ir;
  MlirValue x = l->in[0], sizes[FE_MAX_RANK], three[3];
  unsigned rank = fe_rank(x);
  fe_dtype t = l->in_type[0];
  MlirType elem = fe_storage_type(ir, t), sum = fe_compute_type(ir, t);
  fe_sizes_of(l, x, sizes);
  three[0] = sizes[0];
  three[1] = sizes[1];
  three[2] = fe_sizes_product(l, x, 2, rank);
  MlirValue in = fe_reshape(l, x, elem, 3, three);
  MlirValue out = fe_tensor_empty(l, t, 3, three);
  int64_t window = fe_attr_i64(l->op, "size", 1), tile_size = TILE;
  double beta = fe_attr_f64(l->op, "beta", 0.75);
  fe_kernel k;
  fe_kernel_begin(&k, l, "lrn", 1, &in, 1, &out, 0, NULL);
  MlirValue sums = fe_alloca(ir, fe_memref_type(ir, sum, 1, &tile_size));
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue tile = fe_index(ir, TILE);
  MlirValue channels = fe_dim(ir, k.in[0], 1), size = fe_dim(ir, k.in[0], 2);
  fe_region rows = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  MlirValue n = fe_divu(ir, rows.iv, channels);
  MlirValue c = fe_remu(ir, rows.iv, channels);
  MlirValue first =
      fe_max(ir, fe_sub(ir, c, fe_index(ir, (window - 1) / 2)), zero);
  MlirValue last =
      fe_min(ir, fe_add(ir, c, fe_index(ir, window / 2 + 1)), channels);
  fe_region pieces = fe_for_begin(ir, zero, size, tile, 0, NULL);
  MlirValue width = fe_min(ir, tile, fe_sub(ir, size, pieces.iv));
  fe_region i = fe_loop(ir, width);
  fe_store(ir, fe_float(ir, sum, 0), sums, 1, &i.iv);
  fe_loop_end(ir, &i);
  fe_region near = fe_for_begin(ir, first, last, one, 0, NULL);
  i = fe_loop(ir, width);
  MlirValue at[3] = {n, near.iv, fe_add(ir, pieces.iv, i.iv)};
  MlirValue v = fe_get(&k, k.in[0], t, 3, at);
  v = fe_add(ir, fe_load(ir, sums, 1, &i.iv), fe_mul(ir, v, v));
  fe_store(ir, v, sums, 1, &i.iv);
  fe_loop_end(ir, &i);
  fe_loop_end(ir, &near);
  i = fe_loop(ir, width);
  at[1] = c;
  at[2] = fe_add(ir, pieces.iv, i.iv);
  double alpha = fe_attr_f64(l->op, "alpha", 1e-4) / (double)window;
  v = fe_mul(ir, fe_load(ir, sums, 1, &i.iv), fe_float(ir, sum, alpha));
  v = fe_add(ir, v, fe_float(ir, sum, fe_attr_f64(l->op, "bias", 1)));
  v = fe_math2(ir, "powf", v, fe_float(ir, sum, -beta));
  v = fe_mul(ir, fe_get(&k, k.in[0], t, 3, at), v);
  fe_put(&k, v, k.out[0], t, 3, at);
  fe_loop_end(ir, &i);
  fe_loop_end(ir, &pieces);
  fe_loop_end(ir, &rows);
  fe_kernel_end(
      &k, fe_dim_mul(fe_kernel_dim(&k, 0, 0), fe_kernel_dim(&k, 0, 1)),
      fe_dim_mul(fe_kernel_dim(&k, 0, 2), fe_dim_const(ir, window + 16)));
  l->out[0] = fe_reshape(l, k.result[0], elem, rank, sizes);
  return FE_OK;
}

//===-- MeanVarianceNormalization -------------------------------------------//

static fe_status expand_mvn(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  static const int64_t usual[] = {0, 2, 3};
  fe_node_attr *given = fe_node_attr_find(n, "axes");
  if (n->in.n != 1)
    return fe_error(ir->diags, n->where, NULL, "has %zu inputs but takes 1",
                    n->in.n);
  MlirValue x = n->in.at[0];
  MlirValue axes = given ? fe_constant_i64s(ir, (unsigned)given->n, given->ints)
                         : fe_constant_i64s(ir, 3, usual);
  fe_dtype t = fe_dtype_of_elem(fe_elem_of(x));
  MlirValue mean = fe_onnx1(ir, "ReduceMean", x, axes);
  MlirValue centered = fe_onnx1(ir, "Sub", x, mean);
  MlirValue squares = fe_onnx1(ir, "Mul", centered, centered);
  MlirValue variance = fe_onnx1(ir, "ReduceMean", squares, axes);
  MlirValue tiny = fe_constant_scalar(ir, t, 1e-9);
  MlirValue deviation = fe_onnx1(ir, "Sqrt", variance);
  results[0] =
      fe_onnx1(ir, "Div", centered, fe_onnx1(ir, "Add", deviation, tiny));
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def instance_attrs[] = {{"epsilon", FE_A_FLOAT, "1e-5"},
                                             {0}};
static const fe_attr_def group_attrs[] = {
    {"epsilon", FE_A_FLOAT, "1e-5"},
    {"num_groups", FE_A_INT, NULL},
    {"per_group", FE_A_INT, "0"},
    {"stash_type", FE_A_INT, "1|10|11|16"},
    {0}};
static const fe_attr_def lrn_attrs[] = {{"alpha", FE_A_FLOAT, "1e-4"},
                                        {"beta", FE_A_FLOAT, "0.75"},
                                        {"bias", FE_A_FLOAT, "1"},
                                        {"size", FE_A_INT, NULL},
                                        {0}};
static const fe_attr_def mvn_attrs[] = {{"axes", FE_A_INTS, "0,2,3"}, {0}};

const fe_op_row fe_family_image_normalization[] = {
    {.name = "InstanceNormalization",
     .since = 1,
     .inputs = "input:T, scale:T, B:T",
     .outputs = "output:T",
     .types = "T=float",
     .attrs = instance_attrs,
     .infer = infer_instance,
     .lower = lower_instance},
    {.name = "GroupNormalization",
     .since = 18,
     .inputs = "X:T, scale:T, bias:T",
     .outputs = "Y:T",
     .types = "T=float",
     .attrs = group_attrs,
     .upgrade = upgrade_group,
     .infer = infer_group,
     .lower = lower_group},
    {.name = "LRN",
     .since = 1,
     .inputs = "X:T",
     .outputs = "Y:T",
     .types = "T=float",
     .attrs = lrn_attrs,
     .infer = infer_lrn,
     .lower = lower_lrn},
    {.name = "MeanVarianceNormalization",
     .since = 9,
     .inputs = "X:T",
     .outputs = "Y:T",
     .types = "T=float",
     .attrs = mvn_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_mvn},
    {0}};
