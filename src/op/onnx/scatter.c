//===- scatter.c - ScatterElements, ScatterND, TensorScatter -----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: the parallel extent are parts of the result that no two iterations
// share: lines along the axis, rows of the indexed dims, or prefixes of the
// cache. An iteration copies its part of the data, then applies, in the order
// of the standard, the updates that fall into it. So repeated indices have one
// result whatever the number of threads.
//
// Negative indices count from the end; updates whose index is out of range are
// left out.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/sliding.h"

#include <inttypes.h>
#include <string.h>

enum reduction { NONE, ADD, MUL, MAX, MIN };
static const char *const reductions[] = {"none", "add", "mul", "max", "min"};

static bool is_complex(fe_dtype t) { return t == FE_C64 || t == FE_C128; }

static fe_status read_reduction(fe_lower *l, enum reduction *out) {
  const char *name = fe_attr_str(l->ir->arena, l->op, "reduction", "none");
  for (unsigned i = 0; i < FE_COUNT(reductions); ++i)
    if (!strcmp(name, reductions[i])) {
      *out = (enum reduction)i;
      fe_dtype t = l->out_type[0];
      bool computes = t == FE_BOOL ||
                      (fe_dtype_is_float(t) && t != FE_F8E8M0) ||
                      (fe_dtype_is_int(t) && fe_dtype_bits(t) >= 8);
      computes = computes || (is_complex(t) && *out != MAX && *out != MIN);
      if (*out != NONE && !computes)
        return fe_lower_error(
            l,
            is_complex(t) ? "use 'add' or 'mul': complex numbers have no order"
                          : NULL,
            "%ss have no reduction '%s'", fe_dtype_name(t), name);
      return FE_OK;
    }
  return fe_lower_error(l, NULL, "reduction cannot be '%s'", name);
}

typedef struct parts {
  MlirValue real, imaginary;
} parts;

/// Of a complex number, which is stored as one integer.
static parts parts_of(fe_ir *ir, fe_dtype t, MlirValue v) {
  unsigned bits = fe_dtype_bits(t) / 2;
  MlirType half = mlirIntegerTypeGet(ir->ctx, bits);
  MlirType number = fe_storage_type(ir, t == FE_C64 ? FE_F32 : FE_F64);
  MlirValue high = fe_shru(ir, v, fe_int(ir, mlirValueGetType(v), bits));
  return (parts){
      fe_bitcast(ir, fe_convert(ir, v, half, true, true), number),
      fe_bitcast(ir, fe_convert(ir, high, half, true, true), number)};
}

static MlirValue of_parts(fe_ir *ir, fe_dtype t, parts p) {
  unsigned bits = fe_dtype_bits(t) / 2;
  MlirType half = mlirIntegerTypeGet(ir->ctx, bits);
  MlirType whole = fe_storage_type(ir, t);
  MlirValue low = fe_bitcast(ir, p.real, half);
  MlirValue high = fe_bitcast(ir, p.imaginary, half);
  return fe_or(ir, fe_convert(ir, low, whole, true, true),
               fe_shl(ir, fe_convert(ir, high, whole, true, true),
                      fe_int(ir, whole, bits)));
}

static MlirValue combine_complex(fe_ir *ir, enum reduction r, fe_dtype t,
                                 MlirValue old, MlirValue v) {
  parts a = parts_of(ir, t, old), b = parts_of(ir, t, v), c;
  if (r == ADD) {
    c = (parts){fe_add(ir, a.real, b.real),
                fe_add(ir, a.imaginary, b.imaginary)};
  } else {
    MlirValue squares = fe_mul(ir, a.imaginary, b.imaginary);
    c.real = fe_sub(ir, fe_mul(ir, a.real, b.real), squares);
    c.imaginary = fe_add(ir, fe_mul(ir, a.real, b.imaginary),
                         fe_mul(ir, a.imaginary, b.real));
  }
  return of_parts(ir, t, c);
}

/// Puts `v` to `at` of the result, combined with what lies there.
static void apply(fe_kernel *k, enum reduction r, fe_dtype t, MlirValue v,
                  unsigned n, const MlirValue *at) {
  fe_ir *ir = k->l->ir;
  bool is_unsigned = fe_dtype_is_unsigned(t) || t == FE_BOOL;
  if (r != NONE && is_complex(t)) {
    MlirValue old = fe_get(k, k->out[0], t, n, at);
    v = combine_complex(ir, r, t, old, v);
  } else if (r != NONE) {
    MlirValue old = fe_get(k, k->out[0], t, n, at);
    switch (r) {
    case ADD:
      v = t == FE_BOOL ? fe_or(ir, old, v) : fe_add(ir, old, v);
      break;
    case MUL:
      v = t == FE_BOOL ? fe_and(ir, old, v) : fe_mul(ir, old, v);
      break;
    case MAX:
      v = is_unsigned ? fe_maxu(ir, old, v) : fe_max(ir, old, v);
      break;
    default:
      v = is_unsigned ? fe_minu(ir, old, v) : fe_min(ir, old, v);
    }
  }
  fe_put(k, v, k->out[0], t, n, at);
}

/// The index counted from the end when negative, and whether it is valid.
static MlirValue valid_index(fe_ir *ir, MlirValue v, MlirValue dim,
                             MlirValue *at) {
  MlirValue zero = fe_index(ir, 0), i = fe_to_index(ir, v);
  *at = fe_select(ir, fe_cmp(ir, FE_LT, i, zero), fe_add(ir, i, dim), i);
  return fe_and(ir, fe_cmp(ir, FE_GE, *at, zero), fe_cmp(ir, FE_LT, *at, dim));
}

//===-- ScatterElements -----------------------------------------------------//

static fe_status infer_elements(fe_infer *f) {
  fe_dims data, indices, updates;
  unsigned axis;
  if (fe_in_dims(f, 0, &data) || fe_in_dims(f, 1, &indices) ||
      fe_in_dims(f, 2, &updates) ||
      fe_axis(f, fe_attr_i64(f->attrs, "axis", 0), data.rank, &axis))
    return FE_FAILED;
  if (data.rank != indices.rank || data.rank != updates.rank)
    return fe_infer_error(f, NULL, "the inputs have different ranks");
  for (unsigned i = 0; i < data.rank; ++i) {
    int64_t m = fe_dim_static(indices.d[i]), u = fe_dim_static(updates.d[i]);
    if (m != FE_DYN && u != FE_DYN && m != u)
      return fe_infer_error(f, NULL,
                            "indices and updates have different shapes");
  }
  if (fe_need_fitting(f, &data, &indices, axis))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &data);
  return FE_OK;
}

static fe_status lower_elements(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  unsigned axis = fe_attr_axis(l->op, "axis", 0, rank);
  enum reduction reduction;
  if (read_reduction(l, &reduction))
    return FE_FAILED;
  MlirValue sizes[FE_MAX_RANK], at[FE_MAX_RANK], dims[FE_MAX_RANK];
  fe_sizes_of(l, l->in[0], sizes);
  for (unsigned i = 0; i < rank; ++i)
    fe_check_dims(l, 1, i, 2, i, "indices and updates have different shapes");
  MlirValue out = fe_out_empty(l, 0, sizes);
  fe_kernel k;
  fe_kernel_begin(&k, l, "scatter_elements", 3, l->in, 1, &out, 0, NULL);
  MlirValue one = fe_index(ir, 1), extent = fe_dim(ir, k.out[0], axis);
  unsigned n = 0;
  for (unsigned i = 0; i < rank; ++i)
    if (i != axis)
      dims[n++] = fe_dim(ir, k.out[0], i);
  fe_region lines = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_unravel(ir, lines.iv, n, dims, at);
  memmove(at + axis + 1, at + axis, (n - axis) * sizeof *at);
  fe_region copy = fe_loop(ir, extent);
  at[axis] = copy.iv;
  fe_store(ir, fe_load(ir, k.in[0], rank, at), k.out[0], rank, at);
  fe_loop_end(ir, &copy);
  MlirValue inside = fe_int(ir, ir->i1, 1);
  for (unsigned i = 0; i < rank; ++i)
    if (i != axis)
      inside =
          fe_and(ir, inside, fe_cmp(ir, FE_LT, at[i], fe_dim(ir, k.in[1], i)));
  fe_region has_updates = fe_if_begin(ir, inside, 0, NULL, false);
  fe_region each = fe_loop(ir, fe_dim(ir, k.in[1], axis));
  at[axis] = each.iv;
  MlirValue place, index = fe_load(ir, k.in[1], rank, at);
  MlirValue ok = valid_index(ir, index, extent, &place);
  fe_region valid = fe_if_begin(ir, ok, 0, NULL, false);
  MlirValue v = fe_get(&k, k.in[2], l->in_type[2], rank, at);
  at[axis] = place;
  apply(&k, reduction, l->out_type[0], v, rank, at);
  fe_if_end(ir, &valid, 0, NULL);
  fe_loop_end(ir, &each);
  fe_if_end(ir, &has_updates, 0, NULL);
  fe_loop_end(ir, &lines);
  MlirAffineExpr items = fe_dim_const(ir, 1);
  for (unsigned i = 0; i < rank; ++i)
    if (i != axis)
      items = fe_dim_mul(items, fe_kernel_dim(&k, 0, i));
  fe_kernel_end(
      &k, items,
      fe_dim_add(fe_kernel_dim(&k, 0, axis), fe_kernel_dim(&k, 1, axis)));
  l->out[0] = k.result[0];
  return FE_OK;
}

//===-- ScatterND -----------------------------------------------------------//

static fe_status infer_nd(fe_infer *f) {
  fe_dims data, indices, updates;
  if (fe_in_dims(f, 0, &data) || fe_in_dims(f, 1, &indices) ||
      fe_in_dims(f, 2, &updates))
    return FE_FAILED;
  if (!indices.rank)
    return fe_infer_error(f, NULL, "the indices are a scalar");
  // How long an index tuple is follows from the ranks.
  unsigned rows = indices.rank - 1;
  unsigned tuple = rows + data.rank - updates.rank;
  if (updates.rank < rows || updates.rank > rows + data.rank ||
      !fe_dim_may_be(indices.d[rows], tuple))
    return fe_infer_error(f, NULL,
                          "indices of rank %u and updates of rank %u do not "
                          "fit data of rank %u",
                          indices.rank, updates.rank, data.rank);
  for (unsigned i = 0; i < updates.rank; ++i) {
    MlirAffineExpr want = i < rows ? indices.d[i] : data.d[tuple + i - rows];
    int64_t a = fe_dim_static(want), b = fe_dim_static(updates.d[i]);
    if (a != FE_DYN && b != FE_DYN && a != b)
      return fe_infer_error(f, NULL,
                            "dimension %u of updates is %" PRId64
                            " but must be %" PRId64,
                            i, b, a);
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &data);
  return FE_OK;
}

static fe_status lower_nd(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]), rows = fe_rank(l->in[1]) - 1;
  unsigned n = rows + rank - fe_rank(l->in[2]);
  enum reduction reduction;
  if (read_reduction(l, &reduction))
    return FE_FAILED;
  fe_dtype t = l->out_type[0];
  MlirType elem = fe_out_elem(l, 0);
  fe_check_equal(l, fe_size(l, l->in[1], rows), fe_index(ir, n),
                 "the length of the index tuples does not fit the updates");
  for (unsigned i = 0; i < rows; ++i)
    fe_check_dims(l, 1, i, 2, i, "indices and updates do not fit together");
  for (unsigned i = n; i < rank; ++i)
    fe_check_dims(l, 0, i, 2, rows + i - n, "the updates do not fit the data");
  // data [places][slice], indices [updates][n], updates [updates][slice]
  MlirValue sizes[FE_MAX_RANK], dims[FE_MAX_RANK];
  fe_sizes_of(l, l->in[0], sizes);
  MlirValue places = fe_sizes_product(l, l->in[0], 0, n);
  MlirValue slice = fe_sizes_product(l, l->in[0], n, rank);
  MlirValue updates = fe_sizes_product(l, l->in[1], 0, rows);
  for (unsigned i = 0; i < n; ++i)
    dims[i] = sizes[i];
  MlirValue data_shape[2] = {places, slice};
  MlirValue update_shape[2] = {updates, slice};
  MlirValue index_shape[2] = {updates, fe_index(ir, n)};
  MlirValue in[3] = {fe_reshape(l, l->in[0], elem, 2, data_shape),
                     fe_reshape(l, l->in[1], ir->i64, 2, index_shape),
                     fe_reshape(l, l->in[2], elem, 2, update_shape)};
  MlirValue out = fe_tensor_empty(l, t, 2, data_shape);
  fe_kernel k;
  fe_kernel_begin(&k, l, "scatter_nd", 3, in, 1, &out, n, dims);
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue width = fe_dim(ir, k.out[0], 1);
  fe_region lines = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_region copy = fe_loop(ir, width);
  MlirValue at[2] = {lines.iv, copy.iv};
  fe_store(ir, fe_load(ir, k.in[0], 2, at), k.out[0], 2, at);
  fe_loop_end(ir, &copy);
  fe_loop_end(ir, &lines);
  fe_region each = fe_loop(ir, fe_dim(ir, k.in[1], 0));
  MlirValue place = zero, ok = fe_int(ir, ir->i1, 1);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue subscript[2] = {each.iv, fe_index(ir, i)}, index;
    MlirValue v = fe_load(ir, k.in[1], 2, subscript);
    ok = fe_and(ir, ok, valid_index(ir, v, k.scalar[i], &index));
    place = fe_add(ir, fe_mul(ir, place, k.scalar[i]), index);
  }
  ok = fe_and(ir, ok,
              fe_and(ir, fe_cmp(ir, FE_GE, place, k.begin),
                     fe_cmp(ir, FE_LT, place, k.end)));
  fe_region here = fe_if_begin(ir, ok, 0, NULL, false);
  fe_region put = fe_loop(ir, width);
  MlirValue from[2] = {each.iv, put.iv}, to[2] = {place, put.iv};
  apply(&k, reduction, t, fe_get(&k, k.in[2], t, 2, from), 2, to);
  fe_loop_end(ir, &put);
  fe_if_end(ir, &here, 0, NULL);
  fe_loop_end(ir, &each);
  fe_kernel_end(&k, fe_kernel_dim(&k, 0, 0), fe_kernel_dim(&k, 0, 1));
  l->out[0] = fe_reshape(l, k.result[0], elem, rank, sizes);
  return FE_OK;
}

//===-- TensorScatter -------------------------------------------------------//

static fe_status infer_tensor(fe_infer *f) {
  fe_dims past, update, at;
  unsigned axis;
  if (fe_in_dims(f, 0, &past) || fe_in_dims(f, 1, &update) ||
      fe_axis(f, fe_attr_i64(f->attrs, "axis", -2), past.rank, &axis))
    return FE_FAILED;
  if (axis == 0 || update.rank != past.rank)
    return fe_infer_error(f, NULL,
                          "the axis cannot be the batch, and the update must "
                          "have the rank of the cache");
  if (f->n_in > 2 && !fe_is_null(f->in[2]) &&
      (fe_in_dims(f, 2, &at) || at.rank != 1))
    return fe_infer_error(f, NULL, "write_indices must have rank 1");
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &past);
  return FE_OK;
}

static fe_status lower_tensor(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  unsigned axis = fe_attr_axis(l->op, "axis", -2, rank);
  const char *mode = fe_attr_str(ir->arena, l->op, "mode", "linear");
  bool circular = !strcmp(mode, "circular");
  if (!circular && strcmp(mode, "linear"))
    return fe_lower_error(l, NULL, "mode cannot be '%s'", mode);
  bool indexed = l->n_in > 2 && !fe_is_null(l->in[2]);
  MlirType elem = fe_out_elem(l, 0);
  MlirValue sizes[FE_MAX_RANK];
  fe_sizes_of(l, l->in[0], sizes);
  for (unsigned i = 0; i < rank; ++i)
    if (i != axis)
      fe_check_dims(l, 0, i, 1, i, "the update does not fit the cache");
  if (indexed)
    fe_check_dims(l, 0, 0, 2, 0, "there is not one write index per batch");
  // [batch][heads and the like][sequence][rest]
  MlirValue shape[4] = {sizes[0], fe_sizes_product(l, l->in[0], 1, axis),
                        sizes[axis],
                        fe_sizes_product(l, l->in[0], axis + 1, rank)};
  MlirValue update_shape[4] = {shape[0], shape[1], fe_size(l, l->in[1], axis),
                               shape[3]};
  MlirValue in[3] = {fe_reshape(l, l->in[0], elem, 4, shape),
                     fe_reshape(l, l->in[1], elem, 4, update_shape), l->in[2]};
  MlirValue out = fe_tensor_empty(l, l->out_type[0], 4, shape);
  fe_kernel k;
  fe_kernel_begin(&k, l, "tensor_scatter", indexed ? 3 : 2, in, 1, &out, 0,
                  NULL);
  MlirValue one = fe_index(ir, 1), zero = fe_index(ir, 0);
  MlirValue length = fe_dim(ir, k.out[0], 2), width = fe_dim(ir, k.out[0], 3);
  MlirValue prefix[2] = {fe_dim(ir, k.out[0], 0), fe_dim(ir, k.out[0], 1)};
  MlirValue at[4], to[4];
  fe_region lines = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_unravel(ir, lines.iv, 2, prefix, at);
  fe_region row = fe_loop(ir, length);
  fe_region copy = fe_loop(ir, width);
  at[2] = row.iv;
  at[3] = copy.iv;
  fe_store(ir, fe_load(ir, k.in[0], 4, at), k.out[0], 4, at);
  fe_loop_end(ir, &copy);
  fe_loop_end(ir, &row);
  MlirValue start = zero;
  if (indexed)
    start = fe_to_index(ir, fe_load(ir, k.in[2], 1, &at[0]));
  fe_region each = fe_loop(ir, fe_dim(ir, k.in[1], 2));
  MlirValue place = fe_add(ir, start, each.iv);
  if (circular) // of the sign of the divisor
    place = fe_sub(
        ir, place,
        fe_mul(ir, fe_floordiv(ir, place, fe_max(ir, length, one)), length));
  MlirValue ok = fe_and(ir, fe_cmp(ir, FE_GE, place, zero),
                        fe_cmp(ir, FE_LT, place, length));
  fe_region valid = fe_if_begin(ir, ok, 0, NULL, false);
  fe_region put = fe_loop(ir, width);
  memcpy(to, at, sizeof to);
  at[2] = each.iv;
  to[2] = place;
  at[3] = to[3] = put.iv;
  fe_store(ir, fe_load(ir, k.in[1], 4, at), k.out[0], 4, to);
  fe_loop_end(ir, &put);
  fe_if_end(ir, &valid, 0, NULL);
  fe_loop_end(ir, &each);
  fe_loop_end(ir, &lines);
  fe_kernel_end(&k,
                fe_dim_mul(fe_kernel_dim(&k, 0, 0), fe_kernel_dim(&k, 0, 1)),
                fe_dim_mul(fe_kernel_dim(&k, 0, 2), fe_kernel_dim(&k, 0, 3)));
  l->out[0] = fe_reshape(l, k.result[0], elem, rank, sizes);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def elements_attrs[] = {
    {"axis", FE_A_INT, "0"},
    {"reduction", FE_A_STRING, "none|add|mul|max|min"},
    {0}};
static const fe_attr_def nd_attrs[] = {
    {"reduction", FE_A_STRING, "none|add|mul|max|min"}, {0}};
static const fe_attr_def tensor_attrs[] = {
    {"axis", FE_A_INT, "-2"}, {"mode", FE_A_STRING, "linear|circular"}, {0}};

const fe_op_row fe_family_scatter[] = {
    {.name = "ScatterElements",
     .since = 11,
     .inputs = "data:T, indices:I, updates:T",
     .outputs = "output:T",
     .types = "T=all;I=i32,i64",
     .attrs = elements_attrs,
     .infer = infer_elements,
     .lower = lower_elements},
    {.name = "Scatter",
     .since = 9,
     .inputs = "data:T, indices:I, updates:T",
     .outputs = "output:T",
     .types = "T=all;I=i32,i64",
     .attrs = elements_attrs,
     .infer = infer_elements,
     .lower = lower_elements},
    {.name = "ScatterND",
     .since = 11,
     .inputs = "data:T, indices:I, updates:T",
     .outputs = "output:T",
     .types = "T=all;I=i64",
     .attrs = nd_attrs,
     .infer = infer_nd,
     .lower = lower_nd},
    {.name = "TensorScatter",
     .since = 24,
     .inputs = "past_cache:T, update:T, write_indices?:I",
     .outputs = "present_cache:T",
     .types = "T=all;I=i64",
     .attrs = tensor_attrs,
     .infer = infer_tensor,
     .lower = lower_tensor},
    {0}};
