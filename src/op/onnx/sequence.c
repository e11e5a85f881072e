//===- sequence.c - sequences of tensors -------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known when compiling becomes ops on tensors at import
// (op/sequence.h); the rest are calls of runtime/sequence.c. SequenceMap is
// import's: it has a graph.
//
//===----------------------------------------------------------------------===//
#include "op/sequence.h"

#include "ir/value_type.h"
#include "op/common.h"

#include <string.h>

static const char *const bad_position =
    "the position is outside of the sequence";
static const char *const bad_rank =
    "an item has another number of dimensions than its type says";
static const char *const bad_size =
    "an item has another size than its type says";

static fe_status want_sequence(fe_infer *f, unsigned i) {
  MlirType t = fe_type_of(f->in[i]);
  return fe_type_is_sequence(t)
             ? FE_OK
             : fe_infer_error(f, NULL, "input %u is %s but must be a sequence",
                              i, fe_type_text(f->ir, t));
}

static fe_status want_position(fe_infer *f, unsigned i) {
  fe_dims d;
  if (i >= f->n_in || fe_is_null(f->in[i]))
    return FE_OK;
  fe_dtype t = fe_in_dtype(f, i);
  if (fe_in_dims(f, i, &d))
    return FE_FAILED;
  int64_t n = d.rank == 1 ? fe_dim_static(d.d[0]) : 1;
  if (d.rank < 2 && (n == 1 || n == FE_DYN) && (t == FE_I32 || t == FE_I64))
    return FE_OK;
  return fe_infer_error(f, NULL,
                        "the position must be one integer (int32 or int64)");
}

/// The result is a sequence of `item`.
static fe_status give_sequence(fe_infer *f, MlirType item) {
  f->out[0] = fe_type_sequence(f->ir, item);
  return mlirTypeIsNull(f->out[0])
             ? fe_infer_error(f, NULL,
                              "values are too deeply within each other")
             : FE_OK;
}

static MlirValue handle(fe_lower *l) {
  return fe_tensor_empty(l, FE_I64, 0, NULL);
}

//===-- SequenceEmpty, SequenceConstruct ------------------------------------//

static fe_status infer_empty(fe_infer *f) {
  int64_t t = fe_attr_i64(f->attrs, "dtype", FE_F32);
  if (t <= FE_UNDEFINED || t >= FE_DTYPE_COUNT)
    return fe_infer_error(f, NULL, "dtype cannot be %lld", (long long)t);
  f->out[0] = fe_type_sequence(f->ir, fe_elem_type(f->ir, (fe_dtype)t));
  return FE_OK;
}

static fe_status lower_make(fe_lower *l) {
  MlirValue n = fe_index(l->ir, l->n_in);
  fe_runtime_result(l, "sequence_make", l->n_in, handle(l), 1, &n, 0, NULL);
  return FE_OK;
}

static fe_status infer_construct(fe_infer *f) {
  MlirType t = fe_type_of(f->in[0]);
  for (unsigned i = 1; i < f->n_in; ++i) {
    MlirType next = fe_type_of(f->in[i]),
             joined = fe_type_join_inner(f->ir, t, next);
    if (mlirTypeIsNull(joined))
      return fe_infer_error(f, "put a Cast in front of one of them",
                            "input %u is %s, others are %s", i,
                            fe_type_text(f->ir, next), fe_type_text(f->ir, t));
    t = joined;
  }
  return give_sequence(f, t);
}

/// More inputs than an op may have follow one by one.
static fe_status expand_construct(fe_node *n, MlirValue *results) {
  if (n->in.n <= FE_MAX_VARIADIC)
    return FE_OK;
  MlirValue v = fe_first(fe_onnx(n->ir, "SequenceConstruct", FE_MAX_VARIADIC,
                                 n->in.at, 1, 0, NULL));
  for (size_t i = FE_MAX_VARIADIC; i < n->in.n && !fe_is_null(v); ++i)
    v = fe_onnx1(n->ir, "SequenceInsert", v, n->in.at[i]);
  results[0] = v;
  return fe_is_null(v) ? FE_FAILED : FE_OK;
}

//===-- SequenceAt, SequenceLength ------------------------------------------//

static bool known_position(fe_node *n, unsigned i, int64_t *out) {
  return i < n->in.n && !fe_is_null(n->in.at[i]) &&
         fe_const_ints(n->ir, n->in.at[i], out, 1) == 1;
}

static fe_status expand_at(fe_node *n, MlirValue *results) {
  int64_t at;
  if (n->in.n == 2 && !fe_is_null(n->in.at[0]) && known_position(n, 1, &at))
    results[0] = fe_sequence_item(n->ir, n->in.at[0], at);
  return FE_OK;
}

static fe_status infer_at(fe_infer *f) {
  if (want_sequence(f, 0) || want_position(f, 1))
    return FE_FAILED;
  return fe_item_type(f, f->in[0], &f->out[0]);
}

/// The sizes of the result, which runtime function `name` finds; two messages.
static void sizes_by(fe_lower *l, const char *name, unsigned n,
                     const MlirValue *numbers, const char *const *messages,
                     unsigned rank, MlirValue *sizes) {
  fe_runtime_op(l,
                (fe_runtime){.name = name,
                             .n_in = 1,
                             .n_numbers = n,
                             .numbers = numbers,
                             .n_results = rank,
                             .n_messages = 2,
                             .messages = messages},
                NULL, sizes);
  fe_sizes_as_typed(l, sizes, bad_size);
}

static fe_status lower_at(fe_lower *l) {
  fe_ir *ir = l->ir;
  const char *const messages[] = {bad_position, bad_rank};
  MlirValue r = fe_result(l->op, 0), dest, sizes[FE_MAX_RANK];
  MlirValue numbers[2] = {fe_read_index(l, l->in[1], 0)};
  if (fe_type_is_object(fe_type_of(r))) {
    dest = handle(l);
  } else {
    unsigned rank = fe_rank(r);
    numbers[1] = fe_index(ir, rank);
    sizes_by(l, "sequence_dims", 2, numbers, messages, rank, sizes);
    dest = fe_out_empty(l, 0, sizes);
  }
  fe_runtime_result(l, "sequence_at", 1, dest, 1, numbers, 1, messages);
  return FE_OK;
}

static fe_status expand_length(fe_node *n, MlirValue *results) {
  int64_t count = n->in.n == 1 && !fe_is_null(n->in.at[0])
                      ? fe_sequence_count(n->ir, n->in.at[0])
                      : -1;
  if (count >= 0)
    results[0] = fe_constant(n->ir, NULL, FE_I64, 0, NULL,
                             fe_memdup(n->ir->arena, &count, sizeof count));
  return FE_OK;
}

static fe_status infer_length(fe_infer *f) {
  fe_dims scalar = {0};
  if (want_sequence(f, 0))
    return FE_FAILED;
  fe_out_tensor(f, 0, FE_I64, &scalar);
  return FE_OK;
}

static fe_status lower_length(fe_lower *l) {
  MlirValue n = {0};
  fe_runtime_op(
      l, (fe_runtime){.name = "sequence_length", .n_in = 1, .n_results = 1},
      NULL, &n);
  l->out[0] = fe_index_scalar(l, n);
  return FE_OK;
}

//===-- SequenceInsert, SequenceErase ---------------------------------------//

static fe_status infer_insert(fe_infer *f) {
  if (want_sequence(f, 0) || want_position(f, 2))
    return FE_FAILED;
  MlirType held = fe_type_held(fe_type_of(f->in[0])),
           item = fe_type_of(f->in[1]);
  MlirType joined = fe_type_join_inner(f->ir, held, item);
  if (mlirTypeIsNull(joined))
    return fe_infer_error(f, NULL, "%s cannot be put into a %s",
                          fe_type_text(f->ir, item),
                          fe_type_text(f->ir, fe_type_of(f->in[0])));
  return give_sequence(f, joined);
}

static fe_status lower_insert(fe_lower *l) {
  bool append = l->n_in < 3 || fe_is_null(l->in[2]);
  MlirValue at = append ? fe_index(l->ir, 0) : fe_read_index(l, l->in[2], 0);
  fe_runtime_result(l, append ? "sequence_append" : "sequence_insert", 2,
                    handle(l), 1, &at, append ? 0 : 1, &bad_position);
  return FE_OK;
}

static fe_status infer_erase(fe_infer *f) {
  if (want_sequence(f, 0) || want_position(f, 1))
    return FE_FAILED;
  f->out[0] = fe_type_of(f->in[0]);
  return FE_OK;
}

static fe_status lower_erase(fe_lower *l) {
  bool last = l->n_in < 2 || fe_is_null(l->in[1]);
  MlirValue at = last ? fe_index(l->ir, -1) : fe_read_index(l, l->in[1], 0);
  fe_runtime_result(l, "sequence_erase", 1, handle(l), 1, &at, 1,
                    &bad_position);
  return FE_OK;
}

//===-- SplitToSequence -----------------------------------------------------//

static fe_status infer_split(fe_infer *f) {
  fe_dims d, sizes = {0};
  unsigned axis;
  if (fe_in_dims(f, 0, &d) ||
      fe_axis(f, fe_attr_i64(f->attrs, "axis", 0), d.rank, &axis))
    return FE_FAILED;
  bool given = f->n_in > 1 && !fe_is_null(f->in[1]);
  if (given && fe_in_dims(f, 1, &sizes))
    return FE_FAILED;
  if (sizes.rank > 1)
    return fe_infer_error(f, NULL,
                          "the sizes must be one number or a list, not of "
                          "rank %u",
                          sizes.rank);
  int64_t dims[FE_MAX_RANK], parts[FE_MAX_CONTENTS];
  int n = given ? fe_const_ints(f->ir, f->in[1], parts, FE_MAX_CONTENTS) : 0;
  for (unsigned i = 0; i < d.rank; ++i)
    dims[i] = fe_dim_static(d.d[i]);
  int64_t dim = dims[axis];
  dims[axis] = given ? FE_DYN : 1;
  if (n > 0) { // all of one size
    bool same = true;
    for (int i = 1; i < n; ++i)
      same = same && parts[i] == parts[0];
    if (same && parts[0] >= 0 &&
        (sizes.rank == 1 ||
         (dim != FE_DYN && parts[0] > 0 && dim % parts[0] == 0)))
      dims[axis] = parts[0];
  }
  if (!given && !fe_attr_i64(f->attrs, "keepdims", 1)) {
    d.rank--;
    memmove(dims + axis, dims + axis + 1, (d.rank - axis) * sizeof *dims);
  }
  f->out[0] = fe_type_sequence(
      f->ir, fe_tensor_plain(f->ir, fe_elem_of(f->in[0]), d.rank, dims));
  return FE_OK;
}

static fe_status lower_split(fe_lower *l) {
  static const char *const messages[] = {
      "a size is negative, or the one size for all parts is not positive",
      "the sizes of the parts do not add up to the dimension"};
  fe_ir *ir = l->ir;
  bool given = l->n_in > 1 && !fe_is_null(l->in[1]);
  MlirValue numbers[] = {
      fe_index(ir, fe_attr_axis(l->op, "axis", 0, fe_rank(l->in[0]))),
      fe_index(ir, given), fe_index(ir, fe_attr_i64(l->op, "keepdims", 1))};
  fe_runtime_result(l, "sequence_split", given ? 2 : 1, handle(l), 3, numbers,
                    2, messages);
  return FE_OK;
}

//===-- ConcatFromSequence --------------------------------------------------//

/// As many as wanted: more than one op takes are joined in groups.
static MlirValue concat(fe_ir *ir, size_t n, MlirValue *in, int64_t axis) {
  MlirNamedAttribute at = fe_at_i64(ir, "axis", axis);
  for (size_t kept = 0; n > 1; n = kept, kept = 0)
    for (size_t i = 0; i < n; i += FE_MAX_VARIADIC) {
      unsigned k =
          (unsigned)(n - i < FE_MAX_VARIADIC ? n - i : FE_MAX_VARIADIC);
      in[kept++] = k == 1
                       ? in[i]
                       : fe_first(fe_onnx(ir, "Concat", k, in + i, 1, 1, &at));
      if (fe_is_null(in[kept - 1]))
        return in[kept - 1];
    }
  return in[0];
}

/// Pieces of splits that are joined one by one; more are the runtime's.
enum { MAX_JOINED = 1024 };

static fe_status expand_concat(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  const fe_node_attr *axis_attr = fe_node_attr_find(n, "axis"),
                     *fresh = fe_node_attr_find(n, "new_axis");
  if (n->in.n != 1 || fe_is_null(n->in.at[0]) || !axis_attr)
    return FE_OK;
  int64_t count = fe_sequence_count(ir, n->in.at[0]), axis = axis_attr->i;
  if (count < 1 || count > MAX_JOINED)
    return FE_OK;
  MlirValue *items = FE_NEW_N(ir->arena, MlirValue, (size_t)count);
  for (int64_t i = 0; i < count; ++i) {
    items[i] = fe_sequence_item(ir, n->in.at[0], i);
    if (fe_is_null(items[i]) || !mlirTypeIsARankedTensor(fe_type_of(items[i])))
      return FE_OK;
    if (fresh && fresh->i)
      items[i] =
          fe_onnx1(ir, "Unsqueeze", items[i], fe_constant_i64s(ir, 1, &axis));
    if (fe_is_null(items[i]))
      return FE_FAILED;
  }
  results[0] = concat(ir, (size_t)count, items, axis);
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

static fe_status infer_concat(fe_infer *f) {
  MlirType item;
  if (want_sequence(f, 0) || fe_item_type(f, f->in[0], &item))
    return FE_FAILED;
  if (!mlirTypeIsARankedTensor(item))
    return fe_infer_error(f, NULL, "the items are no tensors");
  fe_dtype t = fe_dtype_of_elem(mlirShapedTypeGetElementType(item));
  bool fresh = fe_attr_i64(f->attrs, "new_axis", 0);
  fe_dims d = {.rank = (unsigned)mlirShapedTypeGetRank(item) + fresh};
  unsigned axis;
  if (d.rank > FE_MAX_RANK)
    return fe_infer_error(f, NULL, "the result would have %u dimensions",
                          d.rank);
  if (fe_axis(f, fe_attr_i64(f->attrs, "axis", 0), d.rank, &axis))
    return FE_FAILED;
  for (unsigned i = 0, k = 0; i < d.rank; ++i) {
    if (i == axis) {
      d.d[i] = fe_fresh_dim(f);
      k += !fresh;
      continue;
    }
    d.d[i] = mlirShapedTypeIsDynamicDim(item, k)
                 ? fe_fresh_dim(f)
                 : fe_dim_const(f->ir, mlirShapedTypeGetDimSize(item, k));
    k++;
  }
  fe_out_tensor(f, 0, t, &d);
  return FE_OK;
}

static fe_status lower_concat(fe_lower *l) {
  static const char *const messages[] = {"the sequence is empty",
                                         "the items do not fit together"};
  fe_ir *ir = l->ir;
  MlirValue r = fe_result(l->op, 0), sizes[FE_MAX_RANK];
  unsigned rank = fe_rank(r);
  bool fresh = fe_attr_i64(l->op, "new_axis", 0);
  MlirValue numbers[] = {fe_index(ir, fe_attr_axis(l->op, "axis", 0, rank)),
                         fe_index(ir, fresh), fe_index(ir, rank - fresh)};
  sizes_by(l, "sequence_concat_dims", 3, numbers, messages, rank, sizes);
  fe_runtime_result(l, "sequence_concat", 1, fe_out_empty(l, 0, sizes), 2,
                    numbers, 0, NULL);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def empty_attrs[] = {{"dtype", FE_A_INT, "1"}, {0}};
static const fe_attr_def split_attrs[] = {
    {"axis", FE_A_INT, "0"}, {"keepdims", FE_A_INT, "1"}, {0}};
static const fe_attr_def concat_attrs[] = {
    {"axis", FE_A_INT, NULL}, {"new_axis", FE_A_INT, "0"}, {0}};

const fe_op_row fe_family_sequence[] = {
    {.name = "SequenceEmpty",
     .since = 11,
     .outputs = "output:S",
     .types = "S=any",
     .attrs = empty_attrs,
     .infer = infer_empty,
     .lower = lower_make},
    {.name = "SequenceConstruct",
     .since = 11,
     .inputs = "inputs*:T",
     .outputs = "output_sequence:S",
     .types = "T=any;S=any",
     .flags = FE_FUNCTION,
     .expand = expand_construct,
     .infer = infer_construct,
     .lower = lower_make},
    {.name = "SequenceAt",
     .since = 11,
     .inputs = "input_sequence:S, position:I",
     .outputs = "tensor:T",
     .types = "S=any;I=i32,i64;T=any",
     .flags = FE_FUNCTION,
     .expand = expand_at,
     .infer = infer_at,
     .lower = lower_at},
    {.name = "SequenceLength",
     .since = 11,
     .inputs = "input_sequence:S",
     .outputs = "length:I",
     .types = "S=any;I=i64",
     .flags = FE_FUNCTION,
     .expand = expand_length,
     .infer = infer_length,
     .lower = lower_length},
    {.name = "SequenceInsert",
     .since = 11,
     .inputs = "input_sequence:S, tensor:T, position?:I",
     .outputs = "output_sequence:S",
     .types = "S=any;I=i32,i64;T=any",
     .infer = infer_insert,
     .lower = lower_insert},
    {.name = "SequenceErase",
     .since = 11,
     .inputs = "input_sequence:S, position?:I",
     .outputs = "output_sequence:S",
     .types = "S=any;I=i32,i64",
     .infer = infer_erase,
     .lower = lower_erase},
    {.name = "SplitToSequence",
     .since = 11,
     .inputs = "input:T, split?:I",
     .outputs = "output_sequence:S",
     .types = "T=all;I=i32,i64;S=any",
     .attrs = split_attrs,
     .infer = infer_split,
     .lower = lower_split},
    {.name = "ConcatFromSequence",
     .since = 11,
     .inputs = "input_sequence:S",
     .outputs = "concat_result:T",
     .types = "S=any;T=any",
     .attrs = concat_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_concat,
     .infer = infer_concat,
     .lower = lower_concat},
    {0}};
