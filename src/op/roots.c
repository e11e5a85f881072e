//===- roots.c - lowering to roots of kernels -----------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products of floats become krnl.contract, those of other types a
// generic with the loop over K outside that over N, so that the innermost loop
// runs along rows of b and of the result.
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"
#include "op/common.h"
#include "op/half_product.h"
#include "op/lowering.h"

#include <string.h>

/// Rows of a, in a product with one matrix b or several.
static int64_t rows_of(MlirValue a, bool trans_a, bool several) {
  unsigned rank = fe_rank(a);
  int64_t rows = fe_static_dim(a, rank - 2 + trans_a);
  for (unsigned i = 0; i + 2 < rank && !several && rows != FE_DYN; ++i) {
    int64_t size = fe_static_dim(a, i);
    rows = size == FE_DYN ? FE_DYN : rows * size;
  }
  return rows;
}

/// Constant b in panels, and the form of these; null when it is not constant.
static MlirValue panels_of(fe_lower *l, MlirValue a, bool trans_a, MlirValue b,
                           bool trans_b, const char **form) {
  fe_ir *ir = l->ir;
  MlirOperation def = fe_def(b);
  if (!fe_op_is(def, "krnl.weight"))
    return (MlirValue){0};
  const char *name = fe_attr_str(ir->arena, def, "blob", "");
  fe_blob *blob = fe_blob_find(ir->blobs, name);
  if (!blob || !fe_blob_data(ir->blobs, blob))
    return (MlirValue){0};
  unsigned rank = fe_rank(b),
           bits = fe_dtype_bits(fe_dtype_of_elem(fe_elem_of(b)));
  int64_t dims[FE_MAX_RANK + 1], batch = 1;
  for (unsigned i = 0; i < rank; ++i) {
    dims[i] = fe_static_dim(b, i);
    batch *= i + 2 < rank ? dims[i] : 1;
  }
  int64_t k = dims[rank - 1 - !trans_b], n = dims[rank - 2 + !trans_b];
  if (rank == FE_MAX_RANK || batch * k * n == 0)
    return (MlirValue){0};
  const fe_lowering *state = l->state;
  MlirType elem = fe_elem_of(b);
  int64_t width = fe_contract_panel(l->target, bits, n);
  dims[rank - 2] = (n + width - 1) / width;
  dims[rank - 1] = k;
  dims[rank] = width;
  const fe_blob *packed;
  bool fixed = !state->strict && mlirTypeEqual(elem, ir->f32) &&
               fe_fixed_pays(l->target, rows_of(a, trans_a, batch > 1), n, k) &&
               fe_fixed_fits(l->target, blob->data, batch, k, n, trans_b);
  *form = fixed ? "fixed" : "panels";
  if (fixed) {
    packed = fe_fixed_pack(ir, l->target, blob, batch, k, n, trans_b);
    dims[rank - 1] = fe_fixed_rows(k);
    dims[rank] = width * FE_FIXED_BYTES;
    elem = ir->i8;
  } else {
    packed = fe_contract_pack(ir, l->target, bits, blob, batch, k, n, trans_b);
  }
  MlirType type = fe_tensor_plain(ir, elem, rank + 1, dims);
  return fe_first(FE_OP(ir, "krnl.weight", FE_TYPES(type),
                        FE_ATTRS(fe_at_str(ir, "blob", packed->name))));
}

static MlirValue contract_root(fe_lower *l, MlirValue a, bool trans_a,
                               MlirValue b, bool trans_b, fe_dtype t,
                               unsigned rank, const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  const char *form = trans_b ? "columns" : "rows";
  int64_t depth = fe_static_dim(b, fe_rank(b) - 1 - !trans_b);
  MlirValue packed = panels_of(l, a, trans_a, b, trans_b, &form);
  if (!fe_is_null(packed))
    b = packed;
  MlirValue dest =
      fe_empty_tensor(l->state, fe_storage_type(ir, t), rank, sizes);
  MlirType type = mlirValueGetType(dest);
  MlirValue r = fe_first(FE_OP(
      ir, "krnl.contract", FE_VALUES(a, b, dest), FE_TYPES(type),
      FE_ATTRS(fe_at_i64(ir, "trans_a", trans_a), fe_at_str(ir, "b", form))));
  if (!strcmp(form, "fixed"))
    fe_set_attr(ir, fe_def(r), fe_at_i64(ir, "depth", depth));
  fe_note_sizes(l->state, r, rank, sizes);
  return r;
}

/// Map from the space to the subscripts of an operand whose last dims are the
/// iterators `x` and `y`; batch dims of size 1 are broadcast.
static MlirAffineMap operand_map(fe_ir *ir, MlirValue v, unsigned n_iters,
                                 unsigned n_batch, unsigned x, unsigned y) {
  MlirAffineExpr e[FE_MAX_RANK];
  unsigned rank = fe_rank(v), own = rank - 2;
  for (unsigned i = 0; i < own; ++i)
    e[i] = fe_static_dim(v, i) == 1
               ? mlirAffineConstantExprGet(ir->ctx, 0)
               : mlirAffineDimExprGet(ir->ctx, n_batch - own + i);
  e[rank - 2] = mlirAffineDimExprGet(ir->ctx, x);
  e[rank - 1] = mlirAffineDimExprGet(ir->ctx, y);
  return mlirAffineMapGet(ir->ctx, n_iters, 0, rank, e);
}

static MlirValue same_element(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)ir, (void)user;
  return x[0];
}

/// v, but written out where a batch dim may or may not be 1 at run time.
static MlirValue known_batch(fe_lower *l, MlirValue v, fe_dtype t,
                             unsigned rank, const MlirValue *sizes) {
  unsigned own = fe_rank(v);
  bool known = true;
  MlirValue full[FE_MAX_RANK];
  for (unsigned i = 0; i < rank; ++i)
    full[i] = sizes[i];
  for (unsigned i = 0; i < own; ++i) {
    MlirValue size = fe_size(l, v, i);
    if (i + 2 >= own)
      full[rank - own + i] = size;
    else
      known &=
          fe_static_dim(v, i) != FE_DYN || fe_same(size, sizes[rank - own + i]);
  }
  return known ? v
               : fe_pointwise(l, rank, full, 1, &v, &t, t, same_element, NULL);
}

/// As a generic: over M, K, N, or, where K is the last dim of both operands, M,
/// N, K.
static MlirValue contract_generic(fe_lower *l, MlirValue a, bool trans_a,
                                  MlirValue b, bool trans_b, fe_dtype t,
                                  unsigned rank, const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  a = known_batch(l, a, t, rank, sizes);
  b = known_batch(l, b, t, rank, sizes);
  bool column = fe_static_dim(b, fe_rank(b) - 1 - trans_b) == 1;
  bool dot = !trans_a && (trans_b || column);
  unsigned n_batch = rank - 2, m = n_batch, k = m + 1 + dot, n = m + 2 - dot;
  MlirValue dims[FE_MAX_RANK + 1], in[2] = {a, b};
  for (unsigned i = 0; i <= m; ++i)
    dims[i] = sizes[i];
  dims[k] = fe_size(l, a, fe_rank(a) - 1 - trans_a);
  dims[n] = sizes[rank - 1];
  MlirAffineMap maps[2] = {
      operand_map(ir, a, rank + 1, n_batch, trans_a ? k : m, trans_a ? m : k),
      operand_map(ir, b, rank + 1, n_batch, trans_b ? n : k, trans_b ? k : n)};
  fe_dtype types[2] = {t, t};
  fe_generic *g = fe_generic_begin(l, rank + 1, dims, 2, in, types, maps);
  MlirValue x = fe_arg(g, 0), y = fe_arg(g, 1);
  MlirType type = mlirValueGetType(x);
  fe_generic_reduce(g, 1u << k, false, t, fe_number(ir, type, 0));
  return fe_generic_end(g, t, fe_add(ir, fe_acc(g), fe_mul(ir, x, y)));
}

/// Whether a product is better done by a generic: nothing to be computed, or
/// dot products of rows that lie contiguous.
static bool is_generic(MlirValue a, bool trans_a, MlirValue b, bool trans_b) {
  unsigned ra = fe_rank(a), rb = fe_rank(b);
  for (unsigned i = 0; i < ra; ++i)
    if (fe_static_dim(a, i) == 0)
      return true;
  for (unsigned i = 0; i < rb; ++i)
    if (fe_static_dim(b, i) == 0)
      return true;
  if (trans_a)
    return false;
  bool constant = fe_op_is(fe_def(b), "krnl.weight");
  return fe_static_dim(b, rb - 1 - trans_b) == 1 ||
         (fe_static_dim(a, ra - 2) == 1 && trans_b && !constant);
}

MlirValue fe_lower_product(fe_lower *l, MlirValue a, bool trans_a, MlirValue b,
                           bool trans_b, fe_dtype t, unsigned rank,
                           const MlirValue *sizes) {
  if (t == FE_F32 && !is_generic(a, trans_a, b, trans_b)) {
    MlirValue r = fe_half_product(l, a, trans_a, b, trans_b, t, rank, sizes);
    if (!fe_is_null(r))
      return r;
  }
  return fe_lower_contract(l, a, trans_a, b, trans_b, t, rank, sizes);
}

MlirValue fe_lower_contract(fe_lower *l, MlirValue a, bool trans_a, MlirValue b,
                            bool trans_b, fe_dtype t, unsigned rank,
                            const MlirValue *sizes) {
  if ((t == FE_F32 || t == FE_F64) && !is_generic(a, trans_a, b, trans_b))
    return contract_root(l, a, trans_a, b, trans_b, t, rank, sizes);
  if ((t == FE_F16 || t == FE_BF16) && !is_generic(a, trans_a, b, trans_b)) {
    MlirValue r = fe_half_product(l, a, trans_a, b, trans_b, t, rank, sizes);
    if (!fe_is_null(r))
      return r;
  }
  return contract_generic(l, a, trans_a, b, trans_b, t, rank, sizes);
}

MlirValue fe_lower_row(fe_lower *l, const char *kind, MlirValue x,
                       unsigned axis, unsigned n_parameters,
                       const MlirValue *parameters, double epsilon) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(x);
  MlirValue sizes[FE_MAX_RANK], *operands;
  for (unsigned i = 0; i < rank; ++i)
    sizes[i] = fe_size(l, x, i);
  operands = FE_NEW_N(ir->arena, MlirValue, n_parameters + 2);
  operands[0] = x;
  for (unsigned i = 0; i < n_parameters; ++i)
    operands[1 + i] = parameters[i];
  operands[1 + n_parameters] =
      fe_empty_tensor(l->state, fe_elem_of(x), rank, sizes);
  MlirType type = mlirValueGetType(operands[1 + n_parameters]);
  MlirValue r = fe_first(
      FE_OP(ir, "krnl.row", .n_operands = n_parameters + 2,
            .operands = operands, .n_results = 1, .results = &type,
            FE_ATTRS(fe_at_str(ir, "kind", kind), fe_at_i64(ir, "axis", axis),
                     fe_at_f32(ir, "epsilon", epsilon))));
  fe_note_sizes(l->state, r, rank, sizes);
  return r;
}

MlirValue fe_lower_transpose(fe_lower *l, MlirValue in, unsigned rank,
                             const unsigned *perm, const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  int64_t permutation[FE_MAX_RANK];
  for (unsigned i = 0; i < rank; ++i)
    permutation[i] = perm[i];
  MlirValue dest = fe_empty_tensor(l->state, fe_elem_of(in), rank, sizes);
  MlirType type = mlirValueGetType(dest);
  MlirValue r = fe_first(
      FE_OP(ir, "krnl.transpose", FE_VALUES(in, dest), FE_TYPES(type),
            FE_ATTRS(fe_at_i64s(ir, "permutation", rank, permutation))));
  fe_note_sizes(l->state, r, rank, sizes);
  return r;
}

MlirValue fe_lower_attention(fe_lower *l, const fe_attention_call *c) {
  fe_ir *ir = l->ir;
  MlirValue dest = fe_tensor_empty(l, FE_F32, 4, c->sizes);
  MlirValue operands[7] = {c->q, c->k, c->v, c->frontiers};
  bool masked = !fe_is_null(c->mask), sink = !fe_is_null(c->sinks);
  unsigned n = 4;
  if (masked)
    operands[n++] = c->mask;
  if (sink)
    operands[n++] = c->sinks;
  operands[n++] = dest;
  const char *segments =
      fe_printf(ir->arena, "array<i32: 1, 1, 1, 1, %d, %d, 1>", masked, sink);
  const int64_t pick[3] = {0};
  MlirValue y = fe_first(FE_OP(
      ir, "krnl.attention_cached", .n_operands = n, .operands = operands,
      FE_TYPES(mlirValueGetType(dest)),
      FE_ATTRS(
          fe_at_f32(ir, "scale", c->scale),
          fe_at_f32(ir, "softcap", c->softcap),
          fe_at_i64(ir, "causal", c->causal),
          fe_at_i64(ir, "window", c->window), fe_at_i64(ir, "masked", masked),
          fe_at_i64(ir, "sink", sink), fe_at_strs(ir, "layouts", 4, c->layouts),
          fe_at_i64s(ir, "pick", 3, pick),
          fe_named(ir, "operandSegmentSizes", fe_attr_parse(ir, segments)))));
  return fe_reshape(l, y, fe_elem_of(y), 4, c->sizes);
}
