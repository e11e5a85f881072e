//===- sequence.c - what is known of a sequence when compiling ------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: a walk from the sequence to the op that made it, one op at a time.
//
//===----------------------------------------------------------------------===//
#include "op/sequence.h"

#include "ir/value_type.h"
#include "op/common.h"

/// Ops that a walk goes through: sequences longer than this are the run's.
enum { MAX_STEPS = 1 << 12 };

static MlirValue behind_casts(MlirValue v) {
  while (fe_op_is(fe_def(v), "builtin.unrealized_conversion_cast"))
    v = fe_operand(fe_def(v), 0);
  return v;
}

static bool present(MlirValue v) {
  return !fe_is_null(v) && !fe_op_is(fe_def(v), "onnx.none");
}

static bool const_position(fe_ir *ir, MlirValue v, int64_t *out) {
  return fe_const_ints(ir, v, out, 1) == 1;
}

//===-- Splits --------------------------------------------------------------//

typedef struct split {
  MlirValue input;
  unsigned axis;
  int64_t dim, n, each; // each: size of all but the last, or 0: see sizes
  bool keep;
  int64_t sizes[FE_MAX_CONTENTS];
} split;

static bool read_split(fe_ir *ir, MlirOperation op, split *s) {
  fe_dims d;
  s->input = fe_operand(op, 0);
  if (!fe_dims_of(ir, s->input, &d))
    return false;
  s->axis = fe_attr_axis(op, "axis", 0, d.rank);
  s->dim = fe_dim_static(d.d[s->axis]);
  MlirValue sizes = fe_operand(op, 1);
  s->keep = present(sizes) || fe_attr_i64(op, "keepdims", 1);
  s->each = 1;
  if (present(sizes)) {
    int n = fe_const_ints(ir, sizes, s->sizes, FE_MAX_CONTENTS);
    if (n < 0)
      return false;
    if (fe_rank(sizes) == 1) { // what is wrong with them is the run's to say
      int64_t sum = 0;
      for (int i = 0; i < n; ++i)
        if (s->sizes[i] < 0 || __builtin_add_overflow(sum, s->sizes[i], &sum))
          return false;
      s->n = n;
      s->each = 0;
      return sum == s->dim;
    }
    s->each = s->sizes[0];
  }
  if (s->dim == FE_DYN || s->each <= 0)
    return false;
  s->n = s->dim / s->each + (s->dim % s->each != 0);
  return true;
}

static MlirValue split_item(fe_ir *ir, const split *s, int64_t at) {
  int64_t from = at * s->each, to = from + s->each;
  for (int64_t i = 0; !s->each && i < at; ++i)
    from += s->sizes[i];
  if (!s->each)
    to = from + s->sizes[at];
  to = to > s->dim ? s->dim : to;
  int64_t axis = s->axis;
  MlirValue v =
      fe_onnx1(ir, "Slice", s->input, fe_constant_i64s(ir, 1, &from),
               fe_constant_i64s(ir, 1, &to), fe_constant_i64s(ir, 1, &axis));
  return s->keep ? v
                 : fe_onnx1(ir, "Squeeze", v, fe_constant_i64s(ir, 1, &axis));
}

//===-- Walking -------------------------------------------------------------//

int64_t fe_sequence_count(fe_ir *ir, MlirValue v) {
  int64_t more = 0;
  for (unsigned step = 0; step < MAX_STEPS; ++step) {
    v = behind_casts(v);
    MlirOperation op = fe_def(v);
    if (fe_op_is(op, "onnx.sequence_empty"))
      return more;
    if (fe_op_is(op, "onnx.sequence_construct"))
      return more + fe_n_operands(op);
    if (fe_op_is(op, "onnx.split_to_sequence")) {
      split *s = FE_NEW(ir->arena, split);
      return read_split(ir, op, s) ? more + s->n : -1;
    }
    if (fe_op_is(op, "onnx.sequence_insert"))
      more++;
    else if (fe_op_is(op, "onnx.sequence_erase"))
      more--;
    else
      return -1;
    v = fe_operand(op, 0);
  }
  return -1;
}

MlirValue fe_sequence_item(fe_ir *ir, MlirValue v, int64_t at) {
  const MlirValue none = {0};
  int64_t count = fe_sequence_count(ir, v);
  if (count < 0)
    return none;
  at += at < 0 ? count : 0;
  for (; at >= 0 && at < count; v = fe_operand(fe_def(v), 0)) {
    v = behind_casts(v);
    MlirOperation op = fe_def(v);
    if (fe_op_is(op, "onnx.sequence_construct"))
      return fe_operand(op, (unsigned)at);
    if (fe_op_is(op, "onnx.split_to_sequence")) {
      split *s = FE_NEW(ir->arena, split);
      return read_split(ir, op, s) ? split_item(ir, s, at) : none;
    }
    bool insert = fe_op_is(op, "onnx.sequence_insert");
    if (!insert && !fe_op_is(op, "onnx.sequence_erase"))
      return none;
    count += insert ? -1 : 1; // of the operand
    int64_t where = insert ? count : count - 1;
    MlirValue position = fe_operand(op, insert ? 2 : 1);
    if (present(position) && !const_position(ir, position, &where))
      return none;
    where += where < 0 ? count : 0;
    if (where < 0 || where >= count + insert)
      return none;
    if (insert && at == where)
      return fe_operand(op, 1);
    if (insert)
      at -= at > where;
    else
      at += at >= where;
  }
  return none;
}

//===-- Types ---------------------------------------------------------------//

MlirType fe_value_join(fe_ir *ir, MlirType a, MlirType b) {
  MlirType joined = fe_type_join_inner(ir, a, b);
  if (!mlirTypeIsNull(joined))
    return joined;
  // Of an optional and what it may hold.
  if (fe_type_is_optional(a) == fe_type_is_optional(b))
    return joined;
  bool first = fe_type_is_optional(a);
  return fe_type_join_inner(ir, first ? a : fe_type_optional(ir, a),
                            first ? fe_type_optional(ir, b) : b);
}

MlirValue fe_value_cast(fe_ir *ir, MlirValue v, MlirType t) {
  if (fe_is_null(v) || mlirTypeEqual(mlirValueGetType(v), t))
    return v;
  if (mlirTypeIsARankedTensor(t))
    return fe_first(FE_OP(ir, "tensor.cast", FE_VALUES(v), FE_TYPES(t)));
  if (fe_type_is_optional(t) && !fe_type_is_optional(mlirValueGetType(v)))
    return fe_value_cast(ir, fe_onnx1(ir, "Optional", v), t);
  return fe_first(FE_OP(ir, "builtin.unrealized_conversion_cast", FE_VALUES(v),
                        FE_TYPES(t)));
}

fe_status fe_item_type(fe_infer *f, MlirValue holder, MlirType *out) {
  MlirType held = fe_type_held(mlirValueGetType(holder));
  if (!mlirTypeIsNull(held) && !mlirTypeIsATensor(held) &&
      !fe_type_is_object(held))
    return fe_infer_error(f, NULL, "the sequence is always empty");
  *out = fe_type_outer(f->ir, held);
  return mlirTypeIsNull(*out)
             ? fe_infer_error(f,
                              "declare the shape of what it holds in the model",
                              "how many dimensions its result has is not known "
                              "when compiling (it comes out of a %s)",
                              fe_type_text(f->ir, mlirValueGetType(holder)))
             : FE_OK;
}
