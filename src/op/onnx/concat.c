//===- concat.c - Concat -----------------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All tensors are seen as [outer][inner], inner from the axis on: each row of
// the result is the rows of the inputs one after the other. The kernel does a
// range of rows; many inputs are joined in groups first.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/lowering.h"

static fe_status upgrade_concat(fe_node *n) {
  if (n->opset < 4 && !fe_node_attr_find(n, "axis"))
    fe_node_set_int(n, "axis", 1);
  fe_node_attr *axis = fe_node_attr_find(n, "axis");
  while (axis && n->in.n > FE_MAX_VARIADIC) {
    MlirNamedAttribute attr = fe_at_i64(n->ir, "axis", axis->i);
    size_t kept = 0;
    for (size_t i = 0; i < n->in.n; i += FE_MAX_VARIADIC) {
      size_t rest = n->in.n - i;
      unsigned k = rest < FE_MAX_VARIADIC ? (unsigned)rest : FE_MAX_VARIADIC;
      MlirValue part =
          fe_first(fe_onnx(n->ir, "Concat", k, n->in.at + i, 1, 1, &attr));
      if (fe_is_null(part))
        return FE_FAILED;
      n->in.at[kept++] = part;
    }
    n->in.n = kept;
  }
  return FE_OK;
}

static fe_status infer_concat(fe_infer *f) {
  fe_dims out, next;
  unsigned axis;
  if (fe_in_dims(f, 0, &out) ||
      fe_axis(f, fe_attr_i64(f->attrs, "axis", 0), out.rank, &axis))
    return FE_FAILED;
  for (unsigned i = 1; i < f->n_in; ++i) {
    if (fe_in_dims(f, i, &next))
      return FE_FAILED;
    if (next.rank != out.rank)
      return fe_infer_error(f, NULL, "input %u has rank %u, not %u", i,
                            next.rank, out.rank);
    for (unsigned k = 0; k < out.rank; ++k) {
      int64_t a = fe_dim_static(out.d[k]), b = fe_dim_static(next.d[k]);
      if (k == axis)
        out.d[k] = fe_dim_add(out.d[k], next.d[k]);
      else if (a == FE_DYN)
        out.d[k] = b == FE_DYN ? out.d[k] : next.d[k];
      else if (b != FE_DYN && a != b)
        return fe_infer_error(f, NULL,
                              "the inputs differ in dimension %u, which is "
                              "not the axis",
                              k);
    }
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

static bool contents_concat(fe_ir *ir, MlirOperation op, fe_contents *out) {
  unsigned axis = fe_attr_axis(op, "axis", 0, out->dims.rank), n = 0;
  for (unsigned i = 0; i < axis; ++i)
    if (fe_dim_static(out->dims.d[i]) != 1)
      return false;
  fe_contents in;
  bool any = false;
  for (unsigned i = 0; i < fe_n_operands(op); ++i) {
    MlirValue v = fe_operand(op, i);
    fe_dims d;
    if (!fe_dims_of(ir, v, &d))
      return false;
    int64_t count = 1;
    for (unsigned k = 0; k < d.rank; ++k)
      if (fe_dim_static(d.d[k]) == FE_DYN)
        return false;
      else
        count *= fe_dim_static(d.d[k]);
    if (n + count > out->n)
      return false;
    bool known = fe_contents_partial(ir, v, &in) && in.n == count;
    any |= known;
    for (unsigned k = 0; k < count; ++k)
      out->at[n++] = known ? in.at[k] : (MlirAffineExpr){0};
  }
  return any && n == out->n;
}

/// Copies `length` elements from row `row` of `from` to column `at` of `to`.
static void copy_row(fe_ir *ir, MlirValue row, MlirValue from, MlirValue to,
                     MlirValue at, MlirValue length) {
  fe_region loop = fe_loop(ir, length);
  MlirValue v = fe_load(ir, from, FE_IDX(row, loop.iv));
  fe_store(ir, v, to, FE_IDX(row, fe_add(ir, at, loop.iv)));
  fe_loop_end(ir, &loop);
}

static fe_status lower_concat(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]),
           axis = fe_attr_axis(l->op, "axis", 0, rank);
  MlirType elem = fe_out_elem(l, 0);
  MlirValue flat[FE_MAX_VARIADIC], sizes[FE_MAX_RANK];
  MlirValue inner = fe_index(ir, 0), outer = {0}, along = {0};
  unsigned n = 0;
  for (unsigned i = 1; i < l->n_in; ++i)
    for (unsigned k = 0; k < rank; ++k)
      if (k != axis)
        fe_check_dims(l, 0, k, i, k, "the inputs differ beside the axis");
  for (unsigned i = 0; i < l->n_in; ++i) {
    if (fe_static_dim(l->in[i], axis) == 0)
      continue;
    MlirValue two[2] = {fe_sizes_product(l, l->in[i], 0, axis),
                        fe_sizes_product(l, l->in[i], axis, rank)};
    MlirValue size = fe_size(l, l->in[i], axis);
    inner = n ? fe_add(ir, inner, two[1]) : two[1];
    along = n ? fe_add(ir, along, size) : size;
    outer = two[0];
    flat[n++] = fe_reshape(l, l->in[i], elem, 2, two);
  }
  for (unsigned k = 0; k < rank; ++k)
    sizes[k] = fe_size(l, l->in[0], k);
  if (n < 2) { // nothing is joined
    for (unsigned i = 0; i < l->n_in; ++i)
      if (!n || fe_static_dim(l->in[i], axis) != 0)
        l->out[0] = l->in[i];
    return FE_OK;
  }
  sizes[axis] = along;
  // Sizes that inference knows are the same values, but shared.
  MlirValue known[FE_MAX_RANK] = {{0}};
  fe_out_sizes(l, 0, known);
  for (unsigned k = 0; k < rank; ++k)
    sizes[k] = fe_is_null(known[k]) ? sizes[k] : known[k];
  MlirValue whole[2] = {outer, inner};
  MlirValue dest = fe_empty_tensor(l->state, elem, 2, whole);
  fe_kernel k;
  fe_kernel_begin(&k, l, "concat", n, flat, 1, &dest, 0, NULL);
  fe_region rows = fe_for_begin(ir, k.begin, k.end, fe_index(ir, 1), 0, NULL);
  MlirValue at = fe_index(ir, 0);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue length = fe_dim(ir, k.in[i], 1);
    copy_row(ir, rows.iv, k.in[i], k.out[0], at, length);
    at = fe_add(ir, at, length);
  }
  fe_for_end(ir, &rows, 0, NULL);
  fe_kernel_end(&k, fe_kernel_dim(&k, 0, 0), fe_kernel_dim(&k, n, 1));
  fe_set_attr(ir, k.func, fe_at_unit(ir, "krnl.concat"));
  l->out[0] = fe_reshape(l, k.result[0], elem, rank, sizes);
  return FE_OK;
}

static const fe_attr_def attrs[] = {{"axis", FE_A_INT, NULL}, {0}};

const fe_op_row fe_family_concat[] = {{.name = "Concat",
                                       .since = 1,
                                       .inputs = "inputs*:T",
                                       .outputs = "concat_result:T",
                                       .types = "T=all",
                                       .attrs = attrs,
                                       .upgrade = upgrade_concat,
                                       .infer = infer_concat,
                                       .contents = contents_concat,
                                       .lower = lower_concat},
                                      {0}};
