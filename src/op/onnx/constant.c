//===- constant.c - Constant -------------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All forms of the attribute become onnx.constant.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

static fe_status expand_constant(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_where where = n->where;
  where.op = n->row->name;
  if (n->attrs.n != 1)
    return fe_error(ir->diags, where, NULL,
                    "has %zu attributes but takes exactly one", n->attrs.n);
  const fe_node_attr *a = &n->attrs.at[0];
  int64_t count = (int64_t)a->n;
  switch (a->kind) {
  case FE_A_TENSOR:
    results[0] = a->value;
    break;
  case FE_A_INT:
    results[0] = fe_constant(ir, NULL, FE_I64, 0, NULL,
                             fe_memdup(ir->arena, &a->i, sizeof a->i));
    break;
  case FE_A_FLOAT:
    results[0] = fe_constant_scalar(ir, FE_F32, a->f);
    break;
  case FE_A_INTS:
    results[0] = fe_constant_i64s(ir, (unsigned)a->n, a->ints);
    break;
  case FE_A_FLOATS:
    results[0] =
        fe_constant(ir, NULL, FE_F32, 1, &count,
                    fe_memdup(ir->arena, a->floats, a->n * sizeof(float)));
    break;
  default:
    break;
  }
  if (!fe_is_null(results[0]))
    return FE_OK;
  where.attr = a->name;
  return fe_error(ir->diags, where, NULL,
                  "constants of this kind cannot be compiled");
}

/// Absent ones must not get a default: none is required, one is given.
static const fe_attr_def attrs[] = {
    {"value", FE_A_TENSOR, NULL},        {"value_int", FE_A_INT, "0"},
    {"value_float", FE_A_FLOAT, "0"},    {"value_ints", FE_A_INTS, ""},
    {"value_floats", FE_A_FLOATS, ""},   {"value_string", FE_A_STRING, ""},
    {"value_strings", FE_A_STRINGS, ""}, {0}};

const fe_op_row fe_family_constant[] = {{.name = "Constant",
                                         .since = 1,
                                         .outputs = "output:T",
                                         .types = "T=all",
                                         .attrs = attrs,
                                         .flags = FE_FUNCTION,
                                         .expand = expand_constant},
                                        {0}};
