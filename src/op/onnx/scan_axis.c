//===- scan_axis.c - CumSum, CumProd -----------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass along the axis, which may be known at run time only: then the sizes
// of [outer][axis][inner] are. Halves are summed in f32.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <string.h>

static fe_status infer_scan(fe_infer *f) {
  fe_dims d;
  int64_t axis;
  unsigned at;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  if (fe_const_ints(f->ir, f->in[1], &axis, 1) == 1 &&
      fe_axis(f, axis, d.rank, &at))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &d);
  return FE_OK;
}

/// Sizes before, of and behind the axis.
static void sizes_around(fe_lower *l, MlirValue flat[3]) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  int64_t fixed;
  if (fe_const_ints(ir, fe_operand(l->op, 1), &fixed, 1) == 1) {
    unsigned axis = (unsigned)(fixed < 0 ? fixed + rank : fixed);
    flat[0] = fe_sizes_product(l, l->in[0], 0, axis);
    flat[1] = fe_size(l, l->in[0], axis);
    flat[2] = fe_sizes_product(l, l->in[0], axis + 1, rank);
    return;
  }
  MlirValue one = fe_index(ir, 1), zero = fe_index(ir, 0),
            n = fe_index(ir, rank);
  MlirValue axis = fe_read_index(l, l->in[1], 0);
  axis =
      fe_select(ir, fe_cmp(ir, FE_LT, axis, zero), fe_add(ir, axis, n), axis);
  fe_check(
      l, fe_and(ir, fe_cmp(ir, FE_GE, axis, zero), fe_cmp(ir, FE_LT, axis, n)),
      "the axis is out of range");
  flat[0] = flat[1] = flat[2] = one;
  for (unsigned i = 0; i < rank; ++i) {
    MlirValue d = fe_index(ir, i), size = fe_size(l, l->in[0], i);
    const fe_cmp_kind kinds[3] = {FE_LT, FE_EQ, FE_GT};
    for (unsigned k = 0; k < 3; ++k)
      flat[k] = fe_mul(ir, flat[k],
                       fe_select(ir, fe_cmp(ir, kinds[k], d, axis), size, one));
  }
}

static fe_status lower_scan(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0];
  bool product = !strcmp(l->row->name, "CumProd");
  bool exclusive = fe_attr_i64(l->op, "exclusive", 0);
  bool reverse = fe_attr_i64(l->op, "reverse", 0);
  MlirValue flat[3], sizes[FE_MAX_RANK];
  sizes_around(l, flat);
  fe_sizes_of(l, l->in[0], sizes);
  MlirValue x = fe_reshape(l, l->in[0], fe_elem_of(l->in[0]), 3, flat);
  MlirValue dest = fe_tensor_empty(l, t, 3, flat);
  fe_kernel k;
  fe_kernel_begin(&k, l, "scan", 1, &x, 1, &dest, 0, NULL);
  MlirValue one = fe_index(ir, 1), n = fe_dim(ir, k.in[0], 1),
            inner = fe_dim(ir, k.in[0], 2);
  fe_region item = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  MlirValue o = fe_divu(ir, item.iv, inner), i = fe_remu(ir, item.iv, inner);
  MlirValue start = fe_number(ir, fe_compute_type(ir, t), product);
  fe_region a = fe_for_begin(ir, fe_index(ir, 0), n, one, 1, &start);
  MlirValue at = reverse ? fe_sub(ir, fe_sub(ir, n, one), a.iv) : a.iv;
  MlirValue v = fe_get(&k, k.in[0], t, FE_IDX(o, at, i));
  MlirValue before = fe_block_arg(a.body, 1);
  MlirValue after = product ? fe_mul(ir, before, v) : fe_add(ir, before, v);
  fe_put(&k, exclusive ? before : after, k.out[0], t, FE_IDX(o, at, i));
  fe_for_end(ir, &a, 1, &after);
  fe_loop_end(ir, &item);
  fe_kernel_end(&k,
                fe_dim_mul(fe_kernel_dim(&k, 0, 0), fe_kernel_dim(&k, 0, 2)),
                fe_dim_mul(fe_kernel_dim(&k, 0, 1), fe_dim_const(ir, 4)));
  l->out[0] =
      fe_reshape(l, k.result[0], fe_out_elem(l, 0), fe_rank(l->in[0]), sizes);
  return FE_OK;
}

static const fe_attr_def scan_attrs[] = {
    {"exclusive", FE_A_INT, "0"}, {"reverse", FE_A_INT, "0"}, {0}};

#define ALONG_AXIS(op_name, first)                                             \
  {.name = op_name,                                                            \
   .since = first,                                                             \
   .inputs = "x:T, axis:T2",                                                   \
   .outputs = "y:T",                                                           \
   .types = "T=real;T2=i32,i64",                                               \
   .attrs = scan_attrs,                                                        \
   .infer = infer_scan,                                                        \
   .lower = lower_scan}

const fe_op_row fe_family_scan_axis[] = {
    ALONG_AXIS("CumSum", 11), ALONG_AXIS("CumProd", 26), {0}};
