//===- select.c - NonZero, Compress ------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How large the result is, only the data tell: a first kernel counts, main
// reads the count and makes the result, a second kernel fills it.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/sliding.h"
#include "op/text.h"

/// Whether an element (compute type) is not 0.
static MlirValue is_set(fe_ir *ir, fe_dtype t, MlirValue v) {
  if (t == FE_BOOL)
    return v;
  MlirType type = fe_compute_type(ir, t);
  if (t == FE_C64 || t == FE_C128) { // the bits of both parts but their signs
    MlirValue half = fe_int(ir, type, fe_dtype_bits(t) / 2);
    MlirValue one = fe_int(ir, type, 1), low = fe_shl(ir, v, half);
    v = fe_or(ir, fe_shl(ir, fe_shru(ir, v, half), fe_add(ir, half, one)),
              fe_shl(ir, low, one));
  }
  return fe_cmp(ir, FE_NE, v, fe_number(ir, type, 0));
}

/// Number of elements of a flat tensor that are not zero, in main; `limit`:
/// only the first so many are looked at.
static MlirValue count_set(fe_lower *l, MlirValue flat, fe_dtype t,
                           MlirValue limit) {
  fe_ir *ir = l->ir;
  MlirValue one = fe_index(ir, 1), zero = fe_index(ir, 0);
  MlirValue dest = fe_tensor_empty(l, FE_I64, 1, &one);
  fe_kernel k;
  fe_kernel_begin(&k, l, "count_set", 1, &flat, 1, &dest, 1, &limit);
  one = fe_index(ir, 1);
  zero = fe_index(ir, 0);
  fe_region each = fe_for_begin(ir, zero, k.scalar[0], one, 1, &zero);
  MlirValue v = fe_get(&k, k.in[0], t, 1, &each.iv);
  MlirValue set = is_set(ir, t, v);
  MlirValue n = fe_block_arg(each.body, 1);
  MlirValue next = fe_select(ir, set, fe_add(ir, n, one), n);
  fe_for_end(ir, &each, 1, &next);
  MlirValue total =
      fe_convert(ir, fe_result(each.op, 0), ir->i64, false, false);
  fe_store(ir, total, k.out[0], 1, &zero);
  fe_kernel_end(&k, (MlirAffineExpr){0}, fe_kernel_scalar(&k, 0));
  return fe_read_index(l, k.result[0], 0);
}

//===-- NonZero -------------------------------------------------------------//

static fe_status infer_non_zero(fe_infer *f) {
  fe_dims x;
  if (fe_in_dims(f, 0, &x))
    return FE_FAILED;
  if (fe_in_dtype(f, 0) == FE_STRING)
    return fe_infer_error(f, NULL, "strings are compared with an empty one");
  fe_dims out = {.rank = 2,
                 .d = {fe_dim_const(f->ir, x.rank), fe_fresh_dim(f)}};
  fe_out_tensor(f, 0, FE_I64, &out);
  return FE_OK;
}

/// Of strings: those that are not empty.
static fe_status expand_non_zero(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (n->in.n != 1 || !fe_is_text(n->in.at[0]))
    return FE_OK;
  const fe_text nothing = {"", 0};
  MlirValue none = fe_constant_strings(ir, "none", 0, NULL, &nothing);
  MlirValue equal = fe_text_equal(ir, n->in.at[0], none);
  if (fe_is_null(equal))
    return FE_FAILED;
  results[0] = fe_onnx1(ir, "NonZero", fe_onnx1(ir, "Not", equal));
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

static fe_status lower_non_zero(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  fe_dtype t = l->in_type[0];
  MlirValue total = fe_sizes_product(l, l->in[0], 0, rank);
  MlirValue dims[FE_MAX_RANK], scalars[FE_MAX_RANK + 1];
  MlirValue flat = fe_reshape(l, l->in[0], fe_storage_type(ir, t), 1, &total);
  fe_sizes_of(l, l->in[0], scalars);
  MlirValue sizes[2] = {fe_index(ir, rank), count_set(l, flat, t, total)};
  MlirValue out = fe_out_empty(l, 0, sizes);
  fe_kernel k;
  fe_kernel_begin(&k, l, "non_zero", 1, &flat, 1, &out, rank, scalars);
  for (unsigned i = 0; i < rank; ++i)
    dims[i] = k.scalar[i];
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1), at[FE_MAX_RANK];
  fe_region each =
      fe_for_begin(ir, zero, fe_dim(ir, k.in[0], 0), one, 1, &zero);
  MlirValue n = fe_block_arg(each.body, 1);
  MlirValue v = fe_get(&k, k.in[0], t, 1, &each.iv);
  MlirValue set = is_set(ir, t, v);
  // The count is of the same data; the comparison keeps stores inside anyway.
  set = fe_and(ir, set, fe_cmp(ir, FE_LT, n, fe_dim(ir, k.out[0], 1)));
  fe_region here = fe_if_begin(ir, set, 1, &ir->index, true);
  fe_unravel(ir, each.iv, rank, dims, at);
  for (unsigned i = 0; i < rank; ++i) {
    MlirValue to[2] = {fe_index(ir, i), n};
    fe_store(ir, fe_convert(ir, at[i], ir->i64, false, false), k.out[0], 2, to);
  }
  MlirValue next = fe_add(ir, n, one);
  fe_if_else(ir, &here, 1, &next);
  fe_if_end(ir, &here, 1, &n);
  next = fe_result(here.op, 0);
  fe_for_end(ir, &each, 1, &next);
  fe_kernel_end(&k, (MlirAffineExpr){0}, fe_kernel_dim(&k, 0, 0));
  l->out[0] = k.result[0];
  return FE_OK;
}

//===-- Compress ------------------------------------------------------------//

static fe_status infer_compress(fe_infer *f) {
  fe_dims x, condition;
  unsigned axis = 0;
  int64_t given = fe_attr_i64(f->attrs, "axis", FE_FLAT);
  if (fe_in_dims(f, 0, &x) || fe_in_dims(f, 1, &condition) ||
      (given != FE_FLAT && fe_axis(f, given, x.rank, &axis)))
    return FE_FAILED;
  if (condition.rank != 1)
    return fe_infer_error(f, NULL, "the condition must have rank 1");
  if (given == FE_FLAT)
    x.rank = 1;
  x.d[axis] = fe_fresh_dim(f);
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  return FE_OK;
}

static fe_status lower_compress(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned axis;
  MlirValue x = fe_flat_or_axis(l, &axis), sizes[FE_MAX_RANK], shape[3];
  unsigned rank = fe_rank(x);
  fe_sizes_of(l, x, sizes);
  x = fe_around_axis(l, x, axis);
  fe_sizes_of(l, x, shape);
  MlirValue limit = fe_min(ir, fe_size(l, l->in[1], 0), shape[1]);
  MlirValue in[2] = {x, l->in[1]};
  MlirValue count = count_set(l, in[1], FE_BOOL, limit);
  MlirValue out_shape[3] = {shape[0], count, shape[2]};
  MlirValue out = fe_tensor_empty(l, l->out_type[0], 3, out_shape);
  fe_kernel k;
  fe_kernel_begin(&k, l, "compress", 2, in, 1, &out, 1, &limit);
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  fe_region outer = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_region each = fe_for_begin(ir, zero, k.scalar[0], one, 1, &zero);
  MlirValue n = fe_block_arg(each.body, 1);
  MlirValue set = fe_get(&k, k.in[1], FE_BOOL, 1, &each.iv);
  set = fe_and(ir, set, fe_cmp(ir, FE_LT, n, fe_dim(ir, k.out[0], 1)));
  fe_region here = fe_if_begin(ir, set, 1, &ir->index, true);
  fe_region copy = fe_loop(ir, fe_dim(ir, k.in[0], 2));
  MlirValue from[3] = {outer.iv, each.iv, copy.iv};
  MlirValue to[3] = {outer.iv, n, copy.iv};
  fe_store(ir, fe_load(ir, k.in[0], 3, from), k.out[0], 3, to);
  fe_loop_end(ir, &copy);
  MlirValue next = fe_add(ir, n, one);
  fe_if_else(ir, &here, 1, &next);
  fe_if_end(ir, &here, 1, &n);
  next = fe_result(here.op, 0);
  fe_for_end(ir, &each, 1, &next);
  fe_loop_end(ir, &outer);
  fe_kernel_end(&k, fe_kernel_dim(&k, 0, 0),
                fe_dim_mul(fe_kernel_dim(&k, 0, 1), fe_kernel_dim(&k, 0, 2)));
  sizes[axis] = count;
  l->out[0] = fe_reshape(l, k.result[0], fe_out_elem(l, 0), rank, sizes);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def compress_attrs[] = {{"axis", FE_A_INT, "-2147483648"},
                                             {0}};

const fe_op_row fe_family_select[] = {
    {.name = "NonZero",
     .since = 9,
     .inputs = "X:T",
     .outputs = "Y:I",
     .types = "T=real,bool,small,c64,c128,str;I=i64",
     .flags = FE_FUNCTION,
     .expand = expand_non_zero,
     .infer = infer_non_zero,
     .lower = lower_non_zero},
    {.name = "Compress",
     .since = 9,
     .inputs = "input:T, condition:B",
     .outputs = "output:T",
     .types = "T=all;B=bool",
     .attrs = compress_attrs,
     .infer = infer_compress,
     .lower = lower_compress},
    {0}};
