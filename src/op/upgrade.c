//===- upgrade.c - steps from old opsets to the newest -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the `upgrade` and `expand` functions of several families.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

MlirValue fe_unsqueezed(fe_ir *ir, MlirValue x, unsigned n,
                        const int64_t *axes) {
  return fe_onnx1(ir, "unsqueeze", x, fe_constant_i64s(ir, n, axes));
}

fe_status fe_upgrade_broadcast(fe_node *n) {
  if (n->opset >= 7)
    return FE_OK;
  fe_node_attr *broadcast = fe_node_attr_find(n, "broadcast");
  fe_node_attr *axis_attr = fe_node_attr_find(n, "axis");
  fe_dims a, b;
  if (broadcast && broadcast->i && axis_attr && n->in.n == 2 &&
      fe_dims_of(n->ir, n->in.at[0], &a) &&
      fe_dims_of(n->ir, n->in.at[1], &b)) {
    int64_t axis = axis_attr->i < 0 ? axis_attr->i + a.rank : axis_attr->i;
    int64_t behind = (int64_t)a.rank - axis - b.rank;
    if (axis < 0 || behind < 0) {
      fe_where where = n->where;
      where.op = n->row->name;
      where.attr = "axis";
      return fe_error(n->ir->diags, where, NULL,
                      "the second input does not fit into the first from "
                      "this axis on");
    }
    int64_t axes[FE_MAX_RANK];
    for (int64_t i = 0; i < behind; ++i)
      axes[i] = b.rank + i;
    if (behind)
      n->in.at[1] = fe_unsqueezed(n->ir, n->in.at[1], (unsigned)behind, axes);
    if (fe_is_null(n->in.at[1]))
      return FE_FAILED;
  }
  fe_node_attr_remove(n, "broadcast");
  fe_node_attr_remove(n, "axis");
  return FE_OK;
}

fe_status fe_expand_pairwise(fe_node *n, const char *name, MlirValue *result) {
  if (!n->in.n) {
    fe_where where = n->where;
    where.op = n->row->name;
    return fe_error(n->ir->diags, where, NULL, "has no inputs");
  }
  MlirValue v = n->in.at[0];
  for (size_t i = 1; i < n->in.n; ++i) {
    v = fe_onnx1(n->ir, name, v, n->in.at[i]);
    if (fe_is_null(v))
      return FE_FAILED;
  }
  *result = v;
  return FE_OK;
}
