//===- unpool.c - MaxUnpool, Col2Im ------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MaxUnpool scatters one element after the other: indices of the model may
// repeat. They count in the shape that undoes the pool, also when output_shape
// asks for another one; what falls outside is dropped.
//
// Col2Im gathers: an element of the image is the sum over the taps of the
// block that some column puts there.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/complex.h"
#include "op/sliding.h"

#include <inttypes.h>

//===-- MaxUnpool -----------------------------------------------------------//

static fe_status upgrade_unpool(fe_node *n) {
  return fe_sliding_upgrade(n, -1);
}

/// (in - 1) * stride + kernel - padding
static int64_t unpool_rest(const fe_sliding *w, unsigned i) {
  return w->kernel[i] - w->stride[i] - w->begin[i] - w->end[i];
}

static fe_status infer_unpool(fe_infer *f) {
  fe_ir *ir = f->ir;
  fe_dims x, indices, shape;
  fe_sliding w;
  if (fe_in_dims(f, 0, &x) || fe_in_dims(f, 1, &indices) ||
      fe_sliding_read(ir, f->where, f->attrs, &x, NULL, &w))
    return FE_FAILED;
  if (indices.rank != x.rank)
    return fe_infer_error(f, NULL, "the indices have another rank");
  fe_dims out = x;
  for (unsigned i = 0; i < w.n; ++i)
    out.d[2 + i] =
        fe_dim_add(fe_dim_mul(x.d[2 + i], fe_dim_const(ir, w.stride[i])),
                   fe_dim_const(ir, unpool_rest(&w, i)));
  if (f->n_in > 2 && !fe_is_null(f->in[2])) {
    if (fe_in_dims(f, 2, &shape))
      return FE_FAILED;
    if (shape.rank != 1 || !fe_dim_may_be(shape.d[0], x.rank))
      return fe_infer_error(f, NULL,
                            "output_shape must have one number per dimension");
    fe_contents c;
    bool known = fe_contents_partial(ir, f->in[2], &c);
    for (unsigned i = 0; i < x.rank; ++i)
      out.d[i] =
          known && !mlirAffineExprIsNull(c.at[i]) ? c.at[i] : fe_fresh_dim(f);
  }
  for (unsigned i = 0; i < x.rank; ++i)
    if (fe_dim_static(out.d[i]) < 0 && fe_dim_static(out.d[i]) != FE_DYN)
      return fe_infer_error(f, NULL, "dimension %u gets a negative size", i);
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

static fe_status lower_unpool(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dims xd;
  fe_sliding w;
  if (!fe_dims_of(ir, fe_operand(l->op, 0), &xd) ||
      fe_sliding_read(ir, l->where, l->op, &xd, NULL, &w))
    return FE_FAILED;
  unsigned rank = xd.rank;
  fe_dtype t = l->in_type[0];
  bool shaped = l->n_in > 2 && !fe_is_null(l->in[2]);
  MlirValue zero = fe_index(ir, 0), natural[FE_MAX_RANK];
  if (shaped)
    fe_check_equal(l, fe_list_length(l, l->in[2]), fe_index(ir, rank),
                   "output_shape must have one number per dimension");
  MlirValue sizes[FE_MAX_RANK] = {{0}};
  fe_out_sizes(l, 0, sizes);
  for (unsigned i = 0; i < rank; ++i) {
    fe_check_dims(l, 0, i, 1, i, "the indices have another shape");
    natural[i] = fe_size(l, l->in[0], i);
    if (i >= 2)
      natural[i] =
          fe_add(ir, fe_mul(ir, natural[i], fe_index(ir, w.stride[i - 2])),
                 fe_index(ir, unpool_rest(&w, i - 2)));
    if (!shaped && fe_is_null(sizes[i]))
      sizes[i] = natural[i];
    if (fe_is_null(sizes[i]))
      sizes[i] = fe_read_index(l, l->in[2], i);
    if (fe_static_dim(fe_result(l->op, 0), i) == FE_DYN)
      fe_check(l, fe_cmp(ir, FE_GE, sizes[i], zero),
               "a dimension gets a negative size");
  }
  MlirType elem = fe_storage_type(ir, t);
  MlirValue count = fe_sizes_product(l, l->in[0], 0, rank);
  MlirValue in[2] = {fe_reshape(l, l->in[0], elem, 1, &count),
                     fe_reshape(l, l->in[1], ir->i64, 1, &count)};
  MlirValue out = fe_out_empty(l, 0, sizes);
  fe_kernel k;
  fe_kernel_begin(&k, l, "max_unpool", 2, in, 1, &out, rank, natural);
  zero = fe_index(ir, 0);
  fe_region nest[FE_MAX_RANK];
  MlirValue at[FE_MAX_RANK];
  for (unsigned i = 0; i < rank; ++i) {
    nest[i] = fe_loop(ir, fe_dim(ir, k.out[0], i));
    at[i] = nest[i].iv;
  }
  fe_store(ir, fe_number(ir, elem, 0), k.out[0], rank, at);
  for (unsigned i = rank; i-- > 0;)
    fe_loop_end(ir, &nest[i]);
  MlirValue total = fe_index(ir, 1);
  for (unsigned i = 0; i < rank; ++i)
    total = fe_mul(ir, total, k.scalar[i]);
  fe_region each = fe_loop(ir, fe_dim(ir, k.in[0], 0));
  MlirValue place = fe_to_index(ir, fe_load(ir, k.in[1], 1, &each.iv));
  MlirValue ok = fe_and(ir, fe_cmp(ir, FE_GE, place, zero),
                        fe_cmp(ir, FE_LT, place, total));
  fe_region inside = fe_if_begin(ir, ok, 0, NULL, false);
  fe_unravel(ir, place, rank, k.scalar, at);
  MlirValue fits = {0};
  for (unsigned i = 0; i < rank; ++i) {
    MlirValue here = fe_cmp(ir, FE_LT, at[i], fe_dim(ir, k.out[0], i));
    fits = fe_is_null(fits) ? here : fe_and(ir, fits, here);
  }
  fe_region store = fe_if_begin(ir, fits, 0, NULL, false);
  fe_store(ir, fe_load(ir, k.in[0], 1, &each.iv), k.out[0], rank, at);
  fe_if_end(ir, &store, 0, NULL);
  fe_if_end(ir, &inside, 0, NULL);
  fe_loop_end(ir, &each);
  fe_kernel_end(&k, (MlirAffineExpr){0}, fe_kernel_dim(&k, 0, 0));
  l->out[0] = k.result[0];
  return FE_OK;
}

//===-- Col2Im --------------------------------------------------------------//

typedef struct columns {
  unsigned n; // spatial dims
  int64_t stride[FE_MAX_RANK], dilation[FE_MAX_RANK];
  int64_t begin[FE_MAX_RANK], end[FE_MAX_RANK];
} columns;

/// Number of dims of the image, which either list gives; FE_DYN: neither.
static int64_t image_rank(const fe_dims *image, const fe_dims *block) {
  int64_t n = image->rank == 1 ? fe_dim_static(image->d[0]) : -1;
  return n == FE_DYN && block->rank == 1 ? fe_dim_static(block->d[0]) : n;
}

static fe_status read_columns(fe_ir *ir, fe_where where, MlirOperation op,
                              const fe_dims *x, const fe_dims *image,
                              const fe_dims *block, columns *c) {
  int64_t n = image_rank(image, block);
  if (x->rank != 3 || n < 1 || n > FE_MAX_RANK - 2 || block->rank != 1 ||
      !fe_dim_may_be(block->d[0], n))
    return fe_error(ir->diags, where, NULL,
                    "the input must have rank 3, image_shape and block_shape "
                    "the same number of elements");
  c->n = (unsigned)n;
  int64_t strides[FE_MAX_RANK], dilations[FE_MAX_RANK], pads[2 * FE_MAX_RANK];
  unsigned n_strides = fe_attr_i64s(op, "strides", strides, FE_MAX_RANK);
  unsigned n_dilations = fe_attr_i64s(op, "dilations", dilations, FE_MAX_RANK);
  unsigned n_pads = fe_attr_i64s(op, "pads", pads, 2 * FE_MAX_RANK);
  if ((n_strides && n_strides != n) || (n_dilations && n_dilations != n) ||
      (n_pads && n_pads != 2 * n))
    return fe_error(ir->diags, where, NULL,
                    "strides, dilations and pads must have one or two numbers "
                    "per dimension of the image");
  for (unsigned i = 0; i < n; ++i) {
    c->stride[i] = n_strides && strides[i] > 0 ? strides[i] : !n_strides;
    c->dilation[i] =
        n_dilations && dilations[i] > 0 ? dilations[i] : !n_dilations;
    c->begin[i] = n_pads ? pads[i] : 0;
    c->end[i] = n_pads ? pads[n + i] : 0;
    const int64_t numbers[] = {c->stride[i] - 1, c->dilation[i] - 1,
                               c->begin[i], c->end[i]};
    for (unsigned k = 0; k < FE_COUNT(numbers); ++k)
      if (numbers[k] < 0 || numbers[k] >= INT32_MAX)
        return fe_error(ir->diags, where, NULL,
                        "strides and dilations must be positive, pads not "
                        "negative, and none too large");
  }
  return FE_OK;
}

static fe_status infer_columns(fe_infer *f) {
  fe_ir *ir = f->ir;
  fe_dims x, image, block;
  columns c;
  if (fe_in_dims(f, 0, &x) || fe_in_dims(f, 1, &image) ||
      fe_in_dims(f, 2, &block))
    return FE_FAILED;
  if (image_rank(&image, &block) == FE_DYN)
    return fe_need_size(f, 1, 0);
  if (read_columns(ir, f->where, f->attrs, &x, &image, &block, &c))
    return FE_FAILED;
  fe_contents sizes, blocks;
  fe_dims out = {.rank = 2 + c.n, .d = {x.d[0]}};
  if (fe_contents_of(ir, f->in[2], &blocks)) {
    MlirAffineExpr total = fe_dim_const(ir, 1);
    for (unsigned i = 0; i < c.n; ++i)
      total = fe_dim_mul(total, blocks.at[i]);
    int64_t n = fe_dim_static(total), rows = fe_dim_static(x.d[1]);
    if (n != FE_DYN && (n < 1 || (rows != FE_DYN && rows % n)))
      return fe_infer_error(f, NULL,
                            "the columns are no multiple of the block");
    out.d[1] = fe_dim_floordiv(x.d[1], total);
  }
  if (mlirAffineExprIsNull(out.d[1]))
    out.d[1] = fe_fresh_dim(f);
  bool known = fe_contents_partial(ir, f->in[1], &sizes);
  for (unsigned i = 0; i < c.n; ++i) {
    bool here = known && !mlirAffineExprIsNull(sizes.at[i]);
    out.d[2 + i] = here ? sizes.at[i] : fe_fresh_dim(f);
    int64_t n = fe_dim_static(out.d[2 + i]);
    if (n < 0 && n != FE_DYN)
      return fe_infer_error(f, NULL, "image_shape holds %" PRId64, n);
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

/// Blocks per dim; checks that they are as many as the columns.
static void count_blocks(fe_lower *l, const columns *c, const MlirValue *sizes,
                         const MlirValue *block, MlirValue *blocks) {
  fe_ir *ir = l->ir;
  MlirValue one = fe_index(ir, 1), total = one, zero = fe_index(ir, 0);
  for (unsigned i = 0; i < c->n; ++i) {
    MlirValue extent =
        fe_mul(ir, fe_sub(ir, block[i], one), fe_index(ir, c->dilation[i]));
    MlirValue room =
        fe_add(ir, sizes[2 + i], fe_index(ir, c->begin[i] + c->end[i] - 1));
    room = fe_sub(ir, room, extent);
    MlirValue n = fe_floordiv(ir, room, fe_index(ir, c->stride[i]));
    blocks[i] = fe_max(ir, fe_add(ir, n, one), zero);
    total = fe_mul(ir, total, blocks[i]);
  }
  fe_check_equal(l, total, fe_size(l, l->in[0], 2),
                 "the number of columns does not fit the image");
}

static void write_columns(fe_kernel *k, const columns *c) {
  fe_lower *l = k->l;
  fe_ir *ir = l->ir;
  unsigned n = c->n;
  fe_dtype t = l->in_type[0];
  const MlirValue *block = k->scalar, *blocks = k->scalar + n;
  MlirType sum_type = fe_compute_type(ir, t);
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue sizes[FE_MAX_RANK], at[FE_MAX_RANK];
  for (unsigned i = 0; i < n + 2; ++i)
    sizes[i] = fe_dim(ir, k->out[0], i);
  fe_region rows = fe_for_begin(ir, k->begin, k->end, one, 0, NULL);
  fe_unravel(ir, rows.iv, n + 1, sizes, at);
  fe_region row = fe_loop(ir, sizes[n + 1]);
  at[n + 1] = row.iv;
  fe_region taps[FE_MAX_RANK], hit[FE_MAX_RANK];
  MlirValue start = fe_number(ir, sum_type, 0);
  MlirValue sum = start, line = at[1], column = zero;
  for (unsigned i = 0; i < n; ++i) {
    taps[i] = fe_for_begin(ir, zero, block[i], one, 1, &sum);
    sum = fe_block_arg(taps[i].body, 1);
    MlirValue place = fe_add(ir, at[2 + i], fe_index(ir, c->begin[i]));
    place =
        fe_sub(ir, place, fe_mul(ir, taps[i].iv, fe_index(ir, c->dilation[i])));
    MlirValue stride = fe_index(ir, c->stride[i]);
    MlirValue which = fe_floordiv(ir, place, stride);
    MlirValue hits = fe_cmp(ir, FE_EQ, fe_mul(ir, which, stride), place);
    hits = fe_and(ir, hits, fe_cmp(ir, FE_GE, place, zero));
    hits = fe_and(ir, hits, fe_cmp(ir, FE_LT, which, blocks[i]));
    hit[i] = fe_if_begin(ir, hits, 1, &sum_type, true);
    line = fe_add(ir, fe_mul(ir, line, block[i]), taps[i].iv);
    column = fe_add(ir, fe_mul(ir, column, blocks[i]), which);
  }
  MlirValue from[3] = {at[0], line, column};
  MlirValue v = fe_get(k, k->in[0], t, 3, from);
  v = t == FE_BOOL ? fe_or(ir, sum, v) : fe_add(ir, sum, v);
  for (unsigned i = n; i-- > 0;) {
    MlirValue before = fe_block_arg(taps[i].body, 1);
    fe_if_else(ir, &hit[i], 1, &v);
    fe_if_end(ir, &hit[i], 1, &before);
    v = fe_result(hit[i].op, 0);
    fe_for_end(ir, &taps[i], 1, &v);
    v = fe_result(taps[i].op, 0);
  }
  fe_put(k, v, k->out[0], t, n + 2, at);
  fe_loop_end(ir, &row);
  fe_loop_end(ir, &rows);
}

static fe_status lower_columns(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dims x, image, block_dims;
  columns c;
  if (!fe_dims_of(ir, fe_operand(l->op, 0), &x) ||
      !fe_dims_of(ir, fe_operand(l->op, 1), &image) ||
      !fe_dims_of(ir, fe_operand(l->op, 2), &block_dims) ||
      read_columns(ir, l->where, l->op, &x, &image, &block_dims, &c))
    return FE_FAILED;
  MlirValue sizes[FE_MAX_RANK] = {{0}}, scalars[2 * FE_MAX_RANK];
  fe_out_sizes(l, 0, sizes);
  for (unsigned i = 1; i < 3; ++i)
    fe_check_equal(l, fe_list_length(l, l->in[i]), fe_index(ir, c.n),
                   "image_shape and block_shape differ in length");
  MlirValue one = fe_index(ir, 1), zero = fe_index(ir, 0), total = one;
  int64_t fixed[FE_MAX_RANK];
  bool known =
      fe_const_ints(ir, fe_operand(l->op, 2), fixed, FE_MAX_RANK) == (int)c.n;
  for (unsigned i = 0; i < c.n; ++i) {
    scalars[i] = known ? fe_index(ir, fixed[i]) : fe_read_index(l, l->in[2], i);
    if (!known)
      fe_check(l, fe_cmp(ir, FE_GT, scalars[i], zero),
               "the block has a dimension of size 0 or less");
    total = fe_mul(ir, total, scalars[i]);
    if (!fe_is_null(sizes[2 + i]))
      continue;
    sizes[2 + i] = fe_read_index(l, l->in[1], i);
    fe_check(l, fe_cmp(ir, FE_GE, sizes[2 + i], zero),
             "image_shape holds a negative size");
  }
  MlirValue rows = fe_size(l, l->in[0], 1);
  if (!known || fe_static_dim(l->in[0], 1) == FE_DYN)
    fe_check_equal(l, fe_remu(ir, rows, fe_max(ir, total, one)), zero,
                   "the columns are no multiple of the block");
  if (fe_is_null(sizes[1]))
    sizes[1] = fe_divu(ir, rows, fe_max(ir, total, one));
  count_blocks(l, &c, sizes, scalars, scalars + c.n);
  MlirValue out = fe_out_empty(l, 0, sizes);
  fe_kernel k;
  fe_kernel_begin(&k, l, "col2im", 1, &l->in[0], 1, &out, 2 * c.n, scalars);
  write_columns(&k, &c);
  MlirAffineExpr per = fe_dim_const(ir, 4), items, cost;
  for (unsigned i = 0; i < c.n; ++i)
    per = fe_dim_mul(per, fe_kernel_scalar(&k, i));
  fe_sweep_extent(&k, 1, per, &items, &cost);
  fe_kernel_end(&k, items, cost);
  l->out[0] = k.result[0];
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def unpool_attrs[] = {
    {"kernel_shape", FE_A_INTS, NULL}, {"auto_pad", FE_A_STRING, "NOTSET"},
    {"dilations", FE_A_INTS, ""},      {"pads", FE_A_INTS, ""},
    {"strides", FE_A_INTS, ""},        {0}};
static const fe_attr_def columns_attrs[] = {{"dilations", FE_A_INTS, ""},
                                            {"pads", FE_A_INTS, ""},
                                            {"strides", FE_A_INTS, ""},
                                            {0}};

const fe_op_row fe_family_unpool[] = {
    {.name = "MaxUnpool",
     .since = 9,
     .inputs = "X:T1, I:T2, output_shape?:T2",
     .outputs = "output:T1",
     .types = "T1=float;T2=i64",
     .attrs = unpool_attrs,
     .upgrade = upgrade_unpool,
     .infer = infer_unpool,
     .lower = lower_unpool},
    {.name = "Col2Im",
     .since = 18,
     .inputs = "input:T, image_shape:I, block_shape:I",
     .outputs = "output:T",
     .types = "T=numeric,bool;I=i64",
     .attrs = columns_attrs,
     .flags = FE_FUNCTION,
     .expand = fe_expand_complex,
     .infer = infer_columns,
     .lower = lower_columns},
    {0}};
