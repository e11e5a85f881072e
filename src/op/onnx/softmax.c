//===- softmax.c - Softmax, LogSoftmax, Hardmax ------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Along one dim. Before opset 13 it was along all dims from `axis` on, as one:
// such nodes get a Flatten in front where that makes a difference. Halves are
// computed in f32.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>
#include <math.h>

//===-- Import --------------------------------------------------------------//

static fe_status expand_softmax(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_dims d;
  if (n->opset >= 13 || n->in.n != 1 || !fe_dims_of(ir, n->in.at[0], &d))
    return FE_OK;
  fe_node_attr *a = fe_node_attr_find(n, "axis");
  int64_t given = a ? a->i : 1, axis = given < 0 ? given + d.rank : given;
  fe_where where = n->where;
  where.op = n->row->name;
  where.attr = "axis";
  if (axis < 0 || axis > d.rank)
    return fe_error(ir->diags, where, NULL,
                    "axis %" PRId64 " is out of range for rank %u", given,
                    d.rank);
  unsigned wide = 0; // dims from axis on that are not 1
  int64_t only = axis;
  for (unsigned i = (unsigned)axis; i < d.rank; ++i)
    if (fe_dim_static(d.d[i]) != 1) {
      ++wide;
      only = i;
    }
  if (wide <= 1 && axis < d.rank) {
    fe_node_set_int(n, "axis", only);
    return FE_OK;
  }
  MlirValue x = n->in.at[0], shape = fe_onnx1(ir, "Shape", x);
  MlirNamedAttribute flatten = fe_at_i64(ir, "axis", axis);
  MlirNamedAttribute last = fe_at_i64(ir, "axis", 1);
  x = fe_first(fe_onnx(ir, "Flatten", 1, &x, 1, 1, &flatten));
  if (!fe_is_null(x))
    x = fe_first(fe_onnx(ir, n->row->name, 1, &x, 1, 1, &last));
  // A size of 0 is one, not the wish to copy that of the flat tensor.
  MlirNamedAttribute allow_zero = fe_at_i64(ir, "allowzero", 1);
  MlirValue both[] = {x, shape};
  if (!fe_is_null(x) && !fe_is_null(shape))
    results[0] = fe_first(fe_onnx(ir, "Reshape", 2, both, 1, 1, &allow_zero));
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

static fe_status infer_softmax(fe_infer *f) {
  fe_dims d;
  unsigned axis;
  if (fe_in_dims(f, 0, &d) ||
      (d.rank && fe_axis(f, fe_attr_i64(f->attrs, "axis", -1), d.rank, &axis)))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &d);
  return FE_OK;
}

//===-- Softmax, LogSoftmax -------------------------------------------------//

static unsigned axis_of(const fe_lower *l) {
  unsigned rank = fe_rank(l->in[0]);
  return rank ? fe_attr_axis(l->op, "axis", -1, rank) : 0;
}

/// A scalar as a vector of one element.
static MlirValue at_least_1d(fe_lower *l, MlirValue x) {
  MlirValue one = fe_index(l->ir, 1);
  return fe_rank(x) ? x : fe_reshape(l, x, fe_elem_of(x), 1, &one);
}

static MlirValue exp_of_difference(fe_ir *ir, const MlirValue *x,
                                   const void *user) {
  (void)user;
  return fe_math(ir, "exp", fe_sub(ir, x[0], x[1]));
}

/// By generics, for types that the row kernel does not have.
static MlirValue by_steps(fe_lower *l, MlirValue x, fe_dtype t, unsigned axis,
                          bool log) {
  const fe_reduction max = {
      .type = t, .combine = fe_element_max, .init = -INFINITY};
  const fe_reduction add = {.type = t, .combine = fe_element_add};
  MlirValue m = fe_reduce(l, x, t, 1u << axis, true, &max);
  MlirValue e = fe_map2(l, x, m, t, exp_of_difference, NULL);
  MlirValue s = fe_reduce(l, e, t, 1u << axis, true, &add);
  if (!log)
    return fe_map2(l, e, s, t, fe_element_div, NULL);
  s = fe_map1(l, s, t, t, fe_element_log, NULL);
  x = fe_map2(l, x, m, t, fe_element_sub, NULL);
  return fe_map2(l, x, s, t, fe_element_sub, NULL);
}

static fe_status lower_rows(fe_lower *l, bool log) {
  fe_dtype t = l->in_type[0], work = fe_work_type(t);
  MlirValue x = fe_to_type(l, at_least_1d(l, l->in[0]), t, work);
  unsigned axis = axis_of(l);
  MlirValue y = work == FE_F32
                    ? fe_lower_row(l, log ? "log_softmax" : "softmax", x, axis,
                                   0, NULL, 0)
                    : by_steps(l, x, work, axis, log);
  y = fe_to_type(l, y, work, t);
  l->out[0] = fe_rank(l->in[0]) ? y : fe_reshape(l, y, fe_elem_of(y), 0, NULL);
  return FE_OK;
}

static fe_status lower_softmax(fe_lower *l) { return lower_rows(l, false); }
static fe_status lower_log_softmax(fe_lower *l) { return lower_rows(l, true); }

//===-- Hardmax -------------------------------------------------------------//

/// 1 at the first of the largest elements, else 0.
static fe_status lower_hardmax(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0];
  MlirValue x = at_least_1d(l, l->in[0]), sizes[3], whole[FE_MAX_RANK];
  unsigned axis = axis_of(l);
  fe_sizes_of(l, l->in[0], whole);
  x = fe_around_axis(l, x, axis);
  fe_sizes_of(l, x, sizes);
  MlirValue dest = fe_tensor_empty(l, t, 3, sizes);
  fe_kernel k;
  fe_kernel_begin(&k, l, "hardmax", 1, &x, 1, &dest, 0, NULL);
  MlirValue in = k.in[0], out = k.out[0], zero = fe_index(ir, 0),
            one = fe_index(ir, 1), n = fe_dim(ir, in, 1),
            inner = fe_dim(ir, in, 2);
  MlirType compute = fe_compute_type(ir, t);
  // An empty dim has no first element.
  MlirValue end = fe_select(ir, fe_cmp(ir, FE_EQ, n, zero), k.begin, k.end);
  fe_region item = fe_for_begin(ir, k.begin, end, one, 0, NULL);
  MlirValue o = fe_divu(ir, item.iv, inner), i = fe_remu(ir, item.iv, inner);
  MlirValue start[2] = {zero, fe_get(&k, in, t, FE_IDX(o, zero, i))};
  fe_region best = fe_for_begin(ir, one, n, one, 2, start);
  MlirValue at = fe_block_arg(best.body, 1), max = fe_block_arg(best.body, 2);
  MlirValue v = fe_get(&k, in, t, FE_IDX(o, best.iv, i));
  MlirValue more = fe_cmp(ir, FE_GT, v, max);
  MlirValue next[2] = {fe_select(ir, more, best.iv, at),
                       fe_select(ir, more, v, max)};
  fe_for_end(ir, &best, 2, next);
  fe_region set = fe_loop(ir, n);
  MlirValue hit = fe_cmp(ir, FE_EQ, set.iv, fe_result(best.op, 0));
  fe_put(&k,
         fe_select(ir, hit, fe_float(ir, compute, 1), fe_float(ir, compute, 0)),
         out, t, FE_IDX(o, set.iv, i));
  fe_loop_end(ir, &set);
  fe_for_end(ir, &item, 0, NULL);
  MlirAffineExpr size = fe_kernel_dim(&k, 0, 1);
  MlirAffineExpr rows =
      fe_dim_mul(fe_kernel_dim(&k, 0, 0), fe_kernel_dim(&k, 0, 2));
  fe_kernel_end(&k, rows, fe_dim_mul(size, fe_dim_const(ir, 3)));
  l->out[0] =
      fe_reshape(l, k.result[0], fe_out_elem(l, 0), fe_rank(l->in[0]), whole);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def softmax_attrs[] = {{"axis", FE_A_INT, "-1"}, {0}};

#define ALONG_AXIS(op_name, fn)                                                \
  {.name = op_name,                                                            \
   .since = 1,                                                                 \
   .inputs = "input:T",                                                        \
   .outputs = "output:T",                                                      \
   .types = "T=float",                                                         \
   .attrs = softmax_attrs,                                                     \
   .flags = FE_FUNCTION,                                                       \
   .expand = expand_softmax,                                                   \
   .infer = infer_softmax,                                                     \
   .lower = fn}

const fe_op_row fe_family_softmax[] = {
    ALONG_AXIS("Softmax", lower_softmax),
    ALONG_AXIS("LogSoftmax", lower_log_softmax),
    ALONG_AXIS("Hardmax", lower_hardmax),
    {0}};
