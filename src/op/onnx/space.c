//===- space.c - DepthToSpace, SpaceToDepth, CenterCropPad -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first two are a transpose between two reshapes. CenterCropPad copies
// rows; a row is zeros, elements, zeros.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>
#include <string.h>

//===-- Blocks --------------------------------------------------------------//

/// Dims of the input, which has rank 4, and the block size.
static fe_status block_dims(fe_infer *f, fe_dims *x, int64_t *block) {
  if (fe_in_dims(f, 0, x))
    return FE_FAILED;
  *block = fe_attr_i64(f->attrs, "blocksize", 0);
  if (x->rank != 4 || *block < 1 || *block > INT16_MAX)
    return fe_infer_error(f, NULL,
                          "the input must have rank 4 and blocksize must be "
                          "positive");
  return FE_OK;
}

static fe_status check_multiple(fe_infer *f, MlirAffineExpr e, int64_t of,
                                unsigned dim) {
  int64_t n = fe_dim_static(e);
  if (n != FE_DYN && n % of)
    return fe_infer_error(f, NULL,
                          "dimension %u has size %" PRId64
                          ", which is no multiple of %" PRId64,
                          dim, n, of);
  return FE_OK;
}

static fe_status infer_to_space(fe_infer *f) {
  fe_dims x;
  int64_t b;
  if (block_dims(f, &x, &b) || check_multiple(f, x.d[1], b * b, 1))
    return FE_FAILED;
  MlirAffineExpr block = fe_dim_const(f->ir, b);
  x.d[1] = fe_dim_floordiv(x.d[1], fe_dim_const(f->ir, b * b));
  x.d[2] = fe_dim_mul(x.d[2], block);
  x.d[3] = fe_dim_mul(x.d[3], block);
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  return FE_OK;
}

static fe_status infer_to_depth(fe_infer *f) {
  fe_dims x;
  int64_t b;
  if (block_dims(f, &x, &b) || check_multiple(f, x.d[2], b, 2) ||
      check_multiple(f, x.d[3], b, 3))
    return FE_FAILED;
  MlirAffineExpr block = fe_dim_const(f->ir, b);
  x.d[1] = fe_dim_mul(x.d[1], fe_dim_const(f->ir, b * b));
  x.d[2] = fe_dim_floordiv(x.d[2], block);
  x.d[3] = fe_dim_floordiv(x.d[3], block);
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  return FE_OK;
}

/// size / by, checked at run time unless it is known to fit.
static MlirValue divided(fe_lower *l, MlirValue size, int64_t by) {
  fe_ir *ir = l->ir;
  int64_t n;
  if (fe_size_known(size, &n))
    return fe_index(ir, n / by);
  MlirValue divisor = fe_index(ir, by);
  fe_check_equal(l, fe_remu(ir, size, divisor), fe_index(ir, 0),
                 "a dimension is no multiple of the block");
  return fe_divu(ir, size, divisor);
}

static MlirValue multiplied(fe_lower *l, MlirValue size, int64_t by) {
  int64_t n;
  if (fe_size_known(size, &n))
    return fe_index(l->ir, n * by);
  return fe_mul(l->ir, size, fe_index(l->ir, by));
}

/// Input to six dims, those permuted, to the dims of the result.
static void move_blocks(fe_lower *l, const MlirValue *six, const unsigned *perm,
                        const MlirValue *result) {
  MlirType elem = fe_out_elem(l, 0);
  MlirValue permuted[6];
  for (unsigned i = 0; i < 6; ++i)
    permuted[i] = six[perm[i]];
  MlirValue v = fe_reshape(l, l->in[0], elem, 6, six);
  v = fe_lower_transpose(l, v, 6, perm, permuted);
  l->out[0] = fe_reshape(l, v, elem, 4, result);
}

/// Whether a pixel's place comes after its channel, mode CRD, or before.
static fe_status channel_first(fe_lower *l, bool *crd) {
  const char *mode = fe_attr_str(l->ir->arena, l->op, "mode", "DCR");
  *crd = !strcmp(mode, "CRD");
  if (!*crd && strcmp(mode, "DCR"))
    return fe_lower_error(l, NULL, "mode cannot be '%s'", mode);
  return FE_OK;
}

static fe_status lower_to_space(fe_lower *l) {
  static const unsigned by_depth[] = {0, 3, 4, 1, 5, 2},
                        by_column[] = {0, 1, 4, 2, 5, 3};
  fe_ir *ir = l->ir;
  int64_t b = fe_attr_i64(l->op, "blocksize", 1);
  bool crd;
  if (channel_first(l, &crd))
    return FE_FAILED;
  MlirValue x[4], block = fe_index(ir, b);
  fe_sizes_of(l, l->in[0], x);
  MlirValue channels = divided(l, x[1], b * b);
  MlirValue six[6] = {
      x[0], crd ? channels : block, block, crd ? block : channels, x[2], x[3]};
  MlirValue result[4] = {x[0], channels, multiplied(l, x[2], b),
                         multiplied(l, x[3], b)};
  move_blocks(l, six, crd ? by_column : by_depth, result);
  return FE_OK;
}

static fe_status lower_to_depth(fe_lower *l) {
  static const unsigned by_depth[] = {0, 3, 5, 1, 2, 4},
                        by_column[] = {0, 1, 3, 5, 2, 4};
  fe_ir *ir = l->ir;
  int64_t b = fe_attr_i64(l->op, "blocksize", 1);
  bool crd;
  if (channel_first(l, &crd))
    return FE_FAILED;
  MlirValue x[4], block = fe_index(ir, b);
  fe_sizes_of(l, l->in[0], x);
  MlirValue h = divided(l, x[2], b), w = divided(l, x[3], b);
  MlirValue six[6] = {x[0], x[1], h, block, w, block};
  MlirValue result[4] = {x[0], multiplied(l, x[1], b * b), h, w};
  move_blocks(l, six, crd ? by_column : by_depth, result);
  return FE_OK;
}

//===-- CenterCropPad -------------------------------------------------------//

/// The dims that are cut or padded; gives their number, -1 when the attribute
/// is wrong.
static int centered_dims(MlirOperation op, unsigned rank, unsigned *dims) {
  int64_t axes[FE_MAX_RANK];
  unsigned n = fe_attr_i64s(op, "axes", axes, FE_MAX_RANK);
  uint32_t seen = 0;
  for (unsigned i = 0; i < n; ++i) {
    int64_t a = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (a < 0 || a >= (int64_t)rank || seen >> a & 1)
      return -1;
    seen |= 1u << a;
    dims[i] = (unsigned)a;
  }
  if (n)
    return (int)n;
  for (unsigned i = 0; i < rank; ++i)
    dims[i] = i;
  return (int)rank;
}

static fe_status infer_center(fe_infer *f) {
  fe_dims x, shape;
  unsigned dims[FE_MAX_RANK];
  if (fe_in_dims(f, 0, &x) || fe_in_dims(f, 1, &shape))
    return FE_FAILED;
  int n = centered_dims(f->attrs, x.rank, dims);
  int64_t given = shape.rank == 1 ? fe_dim_static(shape.d[0]) : -1;
  if (n < 0)
    return fe_infer_error(f, NULL,
                          "an axis of 'axes' is out of range for rank %u, or "
                          "given twice",
                          x.rank);
  if (given != n && given != FE_DYN)
    return fe_infer_error(f, NULL,
                          "'shape' must be a list of %d sizes, one for each "
                          "axis",
                          n);
  fe_contents sizes;
  bool known =
      fe_contents_partial(f->ir, f->in[1], &sizes) && sizes.n == (unsigned)n;
  for (int i = 0; i < n; ++i) {
    bool here = known && !mlirAffineExprIsNull(sizes.at[i]);
    x.d[dims[i]] = here ? sizes.at[i] : fe_fresh_dim(f);
    int64_t size = fe_dim_static(x.d[dims[i]]);
    if (size < 0 && size != FE_DYN)
      return fe_infer_error(f, NULL, "the shape holds %" PRId64, size);
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  return FE_OK;
}

static fe_status lower_center(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]), dims[FE_MAX_RANK];
  int n_dims = centered_dims(l->op, rank, dims);
  MlirValue sizes[FE_MAX_RANK] = {{0}};
  fe_out_sizes(l, 0, sizes);
  if (fe_static_dim(l->in[1], 0) == FE_DYN)
    fe_check_equal(l, fe_size(l, l->in[1], 0), fe_index(ir, n_dims),
                   "there is not one size for each axis");
  for (int i = 0; i < n_dims; ++i) {
    if (!fe_is_null(sizes[dims[i]]))
      continue;
    sizes[dims[i]] = fe_read_index(l, l->in[1], i);
    fe_check(l, fe_cmp(ir, FE_GE, sizes[dims[i]], fe_index(ir, 0)),
             "the shape holds a negative size");
  }
  if (!rank) {
    l->out[0] = l->in[0];
    return FE_OK;
  }
  MlirValue out = fe_out_empty(l, 0, sizes);
  fe_kernel k;
  fe_kernel_begin(&k, l, "center", 1, &l->in[0], 1, &out, 0, NULL);
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1),
            two = fe_index(ir, 2);
  MlirType elem = fe_out_elem(l, 0);
  MlirValue nothing = fe_number(ir, elem, 0);
  MlirValue to[FE_MAX_RANK], shift[FE_MAX_RANK], in[FE_MAX_RANK];
  MlirValue at[FE_MAX_RANK], from[FE_MAX_RANK];
  for (unsigned i = 0; i < rank; ++i) {
    to[i] = fe_dim(ir, k.out[0], i);
    in[i] = fe_dim(ir, k.in[0], i);
    // Half of the difference, towards zero, in either direction.
    shift[i] = fe_div(ir, fe_sub(ir, to[i], in[i]), two);
  }
  fe_region rows = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  MlirValue rest = rows.iv, inside = {0};
  for (unsigned i = rank - 1; i-- > 0;) {
    at[i] = i ? fe_remu(ir, rest, to[i]) : rest;
    rest = i ? fe_divu(ir, rest, to[i]) : rest;
    from[i] = fe_sub(ir, at[i], shift[i]);
    MlirValue here = fe_and(ir, fe_cmp(ir, FE_GE, from[i], zero),
                            fe_cmp(ir, FE_LT, from[i], in[i]));
    inside = fe_is_null(inside) ? here : fe_and(ir, inside, here);
  }
  unsigned last = rank - 1;
  MlirValue low = fe_min(ir, fe_max(ir, shift[last], zero), to[last]);
  MlirValue high = fe_min(ir, fe_add(ir, shift[last], in[last]), to[last]);
  high = fe_max(ir, high, low);
  if (!fe_is_null(inside)) {
    low = fe_select(ir, inside, low, to[last]);
    high = fe_select(ir, inside, high, to[last]);
  }
  const MlirValue parts[4] = {zero, low, high, to[last]};
  for (unsigned part = 0; part < 3; ++part) {
    fe_region i = fe_for_begin(ir, parts[part], parts[part + 1], one, 0, NULL);
    at[last] = i.iv;
    from[last] = fe_sub(ir, i.iv, shift[last]);
    MlirValue v = part == 1 ? fe_load(ir, k.in[0], rank, from) : nothing;
    fe_store(ir, v, k.out[0], rank, at);
    fe_loop_end(ir, &i);
  }
  fe_loop_end(ir, &rows);
  MlirAffineExpr items = fe_dim_const(ir, 1);
  for (unsigned i = 0; i + 1 < rank; ++i)
    items = fe_dim_mul(items, fe_kernel_dim(&k, 1, i));
  fe_kernel_end(&k, items, fe_kernel_dim(&k, 1, last));
  l->out[0] = k.result[0];
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def block_attrs[] = {
    {"blocksize", FE_A_INT, NULL}, {"mode", FE_A_STRING, "DCR|CRD"}, {0}};
static const fe_attr_def center_attrs[] = {{"axes", FE_A_INTS, ""}, {0}};

const fe_op_row fe_family_space[] = {{.name = "DepthToSpace",
                                      .since = 1,
                                      .inputs = "input:T",
                                      .outputs = "output:T",
                                      .types = "T=all",
                                      .attrs = block_attrs,
                                      .infer = infer_to_space,
                                      .lower = lower_to_space},
                                     {.name = "SpaceToDepth",
                                      .since = 1,
                                      .inputs = "input:T",
                                      .outputs = "output:T",
                                      .types = "T=all",
                                      .attrs = block_attrs,
                                      .infer = infer_to_depth,
                                      .lower = lower_to_depth},
                                     {.name = "CenterCropPad",
                                      .since = 18,
                                      .inputs = "input_data:T, shape:I",
                                      .outputs = "output_data:T",
                                      .types = "T=all;I=i32,i64",
                                      .attrs = center_attrs,
                                      .infer = infer_center,
                                      .lower = lower_center},
                                     {0}};
