//===- host.c - small integer tensors made from sizes ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape, Size and their like: index values of main become a tensor through a
// generic that selects by its position. The lists are as short as ranks.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

MlirValue fe_sizes_product(fe_lower *l, MlirValue tensor, unsigned from,
                           unsigned to) {
  MlirValue product = fe_index(l->ir, 1);
  for (unsigned i = from; i < to; ++i)
    product = i == from ? fe_size(l, tensor, i)
                        : fe_mul(l->ir, product, fe_size(l, tensor, i));
  return product;
}

MlirValue fe_index_list(fe_lower *l, unsigned n, const MlirValue *values) {
  fe_ir *ir = l->ir;
  MlirValue extent = fe_index(ir, n);
  fe_generic *g = fe_generic_begin(l, 1, &extent, 0, NULL, NULL, NULL);
  MlirValue i = fe_iter(g, 0), v = n ? values[0] : fe_index(ir, 0);
  for (unsigned k = 1; k < n; ++k)
    v = fe_select(ir, fe_cmp(ir, FE_EQ, i, fe_index(ir, k)), values[k], v);
  return fe_generic_end(g, FE_I64, fe_convert(ir, v, ir->i64, false, false));
}

MlirValue fe_index_scalar(fe_lower *l, MlirValue value) {
  fe_generic *g = fe_generic_begin(l, 0, NULL, 0, NULL, NULL, NULL);
  return fe_generic_end(g, FE_I64,
                        fe_convert(l->ir, value, l->ir->i64, false, false));
}
