//===- swi_glu.c - SwiGLU ----------------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Swish(A) * B, of two tensors of one shape.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

static fe_status expand_swi_glu(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_where where = n->where;
  where.op = n->row->name;
  if (n->in.n != 2 || fe_is_null(n->in.at[0]) || fe_is_null(n->in.at[1]))
    return fe_error(ir->diags, where, NULL, "has %zu inputs but takes 2",
                    n->in.n);
  const fe_node_attr *alpha = fe_node_attr_find(n, "alpha");
  MlirNamedAttribute attr = fe_at_f32(ir, "alpha", alpha ? alpha->f : 1);
  MlirValue gate = fe_first(fe_onnx(ir, "swish", 1, n->in.at, 1, 1, &attr));
  results[0] = fe_onnx1(ir, "Mul", gate, n->in.at[1]);
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

static const fe_attr_def attrs[] = {{"alpha", FE_A_FLOAT, "1"}, {0}};

const fe_op_row fe_family_swi_glu[] = {{.name = "SwiGLU",
                                        .since = 28,
                                        .inputs = "A:T, B:T",
                                        .outputs = "Y:T",
                                        .types = "T=float",
                                        .attrs = attrs,
                                        .flags = FE_FUNCTION,
                                        .expand = expand_swi_glu},
                                       {0}};
