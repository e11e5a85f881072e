//===- gradient_write.c - operators for derivatives -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "import/gradient.h"

#include <string.h>

//===-- Writing operators ---------------------------------------------------//

fe_dtype fe_d_type(MlirValue v) { return fe_dtype_of_elem(fe_elem_of(v)); }

MlirValue fe_d_one(const fe_step *s, const char *op, MlirValue a) {
  return fe_onnx1(s->ir, op, a);
}

MlirValue fe_d_two(const fe_step *s, const char *op, MlirValue a, MlirValue b) {
  return fe_onnx1(s->ir, op, a, b);
}

MlirValue fe_d_mul(const fe_step *s, MlirValue a, MlirValue b) {
  return fe_d_two(s, "Mul", a, b);
}

MlirValue fe_d_number(const fe_step *s, double v) {
  return fe_constant_scalar(s->ir, fe_d_type(s->dy), v);
}

MlirValue fe_d_scaled(const fe_step *s, double by, MlirValue v) {
  return fe_d_mul(s, fe_d_number(s, by), v);
}

/// v in this shape, of as many elements; sizes of 0 are meant.
MlirValue fe_d_in_shape(const fe_step *s, MlirValue v, MlirValue shape) {
  MlirValue in[2] = {v, shape};
  MlirNamedAttribute zero = fe_at_i64(s->ir, "allowzero", 1);
  return fe_first(fe_onnx(s->ir, "Reshape", 2, in, 1, 1, &zero));
}

MlirValue fe_d_reshaped(const fe_step *s, MlirValue v, MlirValue like) {
  return fe_d_in_shape(s, v, fe_d_one(s, "Shape", like));
}

MlirValue fe_d_expanded(const fe_step *s, MlirValue v, MlirValue like) {
  return fe_d_two(s, "Expand", v, fe_d_one(s, "Shape", like));
}

MlirValue fe_d_summed(const fe_step *s, MlirValue v, unsigned n,
                      const int64_t *axes, bool keep) {
  fe_ir *ir = s->ir;
  if (!n)
    return v;
  MlirValue in[2] = {v, fe_constant_i64s(ir, n, axes)};
  MlirNamedAttribute attr = fe_at_i64(ir, "keepdims", keep);
  return fe_first(fe_onnx(ir, "ReduceSum", 2, in, 1, 1, &attr));
}

MlirValue fe_d_transposed(const fe_step *s, MlirValue v, unsigned rank,
                          const int64_t *perm) {
  MlirNamedAttribute attr = fe_at_i64s(s->ir, "perm", rank, perm);
  return fe_first(fe_onnx(s->ir, "Transpose", 1, &v, 1, 1, &attr));
}

/// The last two dims exchanged.
MlirValue fe_d_flipped(const fe_step *s, MlirValue v) {
  int64_t perm[FE_MAX_RANK];
  unsigned rank = fe_rank(v);
  for (unsigned i = 0; i < rank; i++)
    perm[i] = i + 2 < rank ? i : 2 * (int64_t)rank - 3 - i;
  return fe_d_transposed(s, v, rank, perm);
}

/// Element i of a list of sizes, as a list.
MlirValue fe_d_size_at(const fe_step *s, MlirValue sizes, int64_t i) {
  return fe_d_two(s, "Gather", sizes, fe_constant_i64s(s->ir, 1, &i));
}

/// Summed over those of the marked dims that `like` has one of, where only the
/// run knows which: each is taken for its repetitions and `like`'s size.
static MlirValue sum_open(const fe_step *s, MlirValue v, MlirValue like,
                          unsigned rank, const bool *open) {
  fe_ir *ir = s->ir;
  MlirValue have = fe_d_one(s, "Shape", v), want = fe_d_one(s, "Shape", like);
  MlirValue parts[2 * FE_MAX_RANK];
  int64_t axes[FE_MAX_RANK], least = 1;
  unsigned n = 0, n_axes = 0;
  for (unsigned i = 0; i < rank; i++) {
    MlirValue size = fe_d_size_at(s, want, i);
    if (open[i]) {
      MlirValue some =
          fe_d_two(s, "Max", size, fe_constant_i64s(ir, 1, &least));
      axes[n_axes++] = n;
      parts[n++] = fe_d_two(s, "Div", fe_d_size_at(s, have, i), some);
    }
    parts[n++] = size;
  }
  MlirNamedAttribute axis = fe_at_i64(ir, "axis", 0);
  v = fe_d_in_shape(s, v,
                    fe_first(fe_onnx(ir, "Concat", n, parts, 1, 1, &axis)));
  return fe_d_reshaped(s, fe_d_summed(s, v, n_axes, axes, false), like);
}

/// Summed over the dims along which `like` was broadcast.
MlirValue fe_d_sum_to(const fe_step *s, MlirValue v, MlirValue like) {
  fe_dims d, to;
  fe_ir *ir = s->ir;
  if (fe_is_null(v) || !fe_dims_of(ir, v, &d) || !fe_dims_of(ir, like, &to) ||
      d.rank < to.rank)
    return (MlirValue){0};
  int64_t front[FE_MAX_RANK], ones[FE_MAX_RANK];
  bool open[FE_MAX_RANK] = {0}, any = false;
  unsigned lead = d.rank - to.rank, n = 0;
  for (unsigned i = 0; i < lead; i++)
    front[i] = i;
  for (unsigned i = 0; i < to.rank; i++) {
    if (fe_dim_same(d.d[lead + i], to.d[i]))
      continue;
    if (fe_dim_static(to.d[i]) == 1)
      ones[n++] = i;
    else
      any = open[i] = true;
  }
  v = fe_d_summed(s, fe_d_summed(s, v, lead, front, false), n, ones, true);
  return any ? sum_open(s, v, like, to.rank, open) : v;
}

MlirValue fe_d_where(const fe_step *s, MlirValue condition, MlirValue yes,
                     MlirValue no) {
  return fe_onnx1(s->ir, "Where", condition, yes, no);
}

MlirValue fe_d_int(const fe_step *s, int64_t v) {
  return fe_constant_i64s(s->ir, 1, &v);
}

MlirValue fe_d_ints(const fe_step *s, unsigned n, int64_t v) {
  int64_t list[FE_MAX_RANK];
  for (unsigned i = 0; i < n; i++)
    list[i] = v;
  return fe_constant_i64s(s->ir, n, list);
}

MlirValue fe_d_zeros(const fe_step *s, MlirValue like) {
  return fe_d_expanded(s, fe_d_number(s, 0), like);
}

MlirValue fe_d_concat(const fe_step *s, unsigned n, const MlirValue *parts,
                      int64_t axis) {
  MlirNamedAttribute at = fe_at_i64(s->ir, "axis", axis);
  return fe_first(fe_onnx(s->ir, "Concat", n, parts, 1, 1, &at));
}

MlirValue fe_d_cast(const fe_step *s, MlirValue v, fe_dtype to) {
  MlirNamedAttribute at = fe_at_i64(s->ir, "to", to);
  return fe_first(fe_onnx(s->ir, "Cast", 1, &v, 1, 1, &at));
}

MlirValue fe_d_operand(const fe_step *s, unsigned i) {
  MlirValue v =
      i < fe_n_operands(s->op) ? fe_operand(s->op, i) : (MlirValue){0};
  return fe_is_null(v) || mlirTypeIsANone(mlirValueGetType(v)) ? (MlirValue){0}
                                                               : v;
}

MlirValue fe_d_reduced(const fe_step *s, const char *op, MlirValue v) {
  MlirValue in[2] = {v, fe_d_operand(s, 1)};
  MlirNamedAttribute how[2] = {
      fe_at_i64(s->ir, "keepdims", fe_attr_i64(s->op, "keepdims", 1)),
      fe_at_i64(s->ir, "noop_with_empty_axes",
                fe_attr_i64(s->op, "noop_with_empty_axes", 0))};
  return fe_first(fe_onnx(s->ir, op, 2, in, 1, 2, how));
}

MlirValue fe_d_kept(const fe_step *s, MlirValue v) {
  MlirValue axes = fe_d_operand(s, 1);
  if (!fe_is_null(axes) && !fe_attr_i64(s->op, "keepdims", 1))
    return fe_d_two(s, "Unsqueeze", v, axes);
  return v;
}

MlirValue fe_d_again(const fe_step *s, unsigned n, const MlirValue *in) {
  MlirValue all[FE_MAX_OPERANDS + FE_MAX_VARIADIC];
  MlirNamedAttribute attrs[32];
  unsigned have = fe_n_operands(s->op), n_attrs = 0;
  intptr_t all_attrs = mlirOperationGetNumAttributes(s->op);
  if (have > FE_COUNT(all) || all_attrs > (intptr_t)FE_COUNT(attrs))
    return (MlirValue){0};
  for (unsigned i = 0; i < have; i++)
    all[i] = i < n ? in[i] : fe_d_operand(s, i);
  for (intptr_t i = 0; i < all_attrs; i++) {
    attrs[n_attrs] = mlirOperationGetAttribute(s->op, i);
    MlirStringRef name = mlirIdentifierStr(attrs[n_attrs].name);
    n_attrs += !mlirStringRefEqual(
        name, mlirStringRefCreateFromCString("operandSegmentSizes"));
  }
  return fe_first(
      fe_onnx(s->ir, fe_op_row_of(s->op)->name, have, all, 1, n_attrs, attrs));
}
