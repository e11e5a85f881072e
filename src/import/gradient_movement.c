//===- gradient_movement.c - derivatives of what moves elements --*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is not simply moved back: the operator is applied to the numbers of the
// elements, from 1 on, which says where each element of its result comes from;
// 0 is what it fills in. The derivatives are added up there.
//
//===----------------------------------------------------------------------===//
#include "import/gradient.h"

#include <string.h>

//===-- In general ----------------------------------------------------------//

static MlirValue scattered(const fe_step *s, const char *op, MlirValue into,
                           MlirValue at, MlirValue v, int64_t axis) {
  MlirValue in[3] = {into, at, v};
  bool elements = !strcmp(op, "ScatterElements");
  MlirNamedAttribute how[2] = {fe_at_str(s->ir, "reduction", "add"),
                               fe_at_i64(s->ir, "axis", axis)};
  return fe_first(fe_onnx(s->ir, op, 3, in, 1, elements ? 2 : 1, how));
}

static MlirValue moved(const fe_step *s) {
  fe_ir *ir = s->ir;
  MlirValue one = fe_constant_scalar(ir, FE_I64, 1);
  MlirValue end = fe_d_two(s, "Add", fe_d_one(s, "Size", s->x[0]), one);
  MlirValue list[3] = {one, end, one};
  MlirValue numbers = fe_first(fe_onnx(ir, "Range", 3, list, 1, 0, NULL));
  numbers = fe_d_reshaped(s, numbers, s->x[0]);
  MlirValue from = fe_d_again(s, 1, &numbers);
  if (fe_is_null(from))
    return from;
  MlirValue length = fe_d_in_shape(s, end, fe_d_int(s, 1));
  MlirValue zeros = fe_d_two(s, "Expand", fe_d_number(s, 0), length);
  // Lists of no elements have no -1 for their size.
  MlirValue many = fe_d_in_shape(s, fe_d_one(s, "Size", s->dy), fe_d_int(s, 1));
  MlirValue sum =
      scattered(s, "ScatterElements", zeros, fe_d_in_shape(s, from, many),
                fe_d_in_shape(s, s->dy, many), 0);
  sum = fe_onnx1(ir, "Slice", sum, fe_d_int(s, 1), fe_d_int(s, INT64_MAX));
  return fe_d_reshaped(s, sum, s->x[0]);
}

//===-- Parts ---------------------------------------------------------------//

static MlirValue cut(const fe_step *s, MlirValue v, MlirValue from,
                     MlirValue to, MlirValue axes) {
  return fe_onnx1(s->ir, "Slice", v, from, to, axes);
}

static MlirValue d_concat(const fe_step *s) {
  int64_t axis = fe_attr_i64(s->op, "axis", 0);
  axis += axis < 0 ? fe_rank(s->y) : 0;
  MlirValue from = fe_d_int(s, 0), size = {0};
  for (unsigned i = 0; i <= s->operand; i++) {
    MlirValue part = fe_d_operand(s, i);
    if (fe_is_null(part))
      continue;
    if (!fe_is_null(size))
      from = fe_d_two(s, "Add", from, size);
    size = fe_d_size_at(s, fe_d_one(s, "Shape", part), axis);
  }
  return cut(s, s->dy, from, fe_d_two(s, "Add", from, size), fe_d_int(s, axis));
}

static bool all_ones(fe_ir *ir, MlirValue v) {
  int64_t steps[FE_MAX_RANK];
  if (fe_is_null(v))
    return true;
  int n = fe_const_ints(ir, v, steps, FE_MAX_RANK);
  for (int i = 0; i < n; i++)
    if (steps[i] != 1)
      return false;
  return n >= 0;
}

/// Steps of one: the rest are zeros around it.
static MlirValue d_slice(const fe_step *s) {
  fe_dims d;
  int64_t n;
  MlirValue starts = fe_d_operand(s, 1), axes = fe_d_operand(s, 3);
  if (!all_ones(s->ir, fe_d_operand(s, 4)) || !fe_dims_of(s->ir, starts, &d) ||
      d.rank != 1 || (n = fe_dim_static(d.d[0])) == FE_DYN)
    return moved(s);
  if (fe_is_null(axes)) {
    int64_t list[FE_MAX_RANK];
    for (int64_t i = 0; i < n; i++)
      list[i] = i;
    axes = fe_constant_i64s(s->ir, (unsigned)n, list);
  }
  MlirValue zero = fe_constant_scalar(s->ir, FE_I64, 0);
  axes = fe_d_cast(s, axes, FE_I64);
  starts = fe_d_cast(s, starts, FE_I64);
  MlirValue size = fe_d_two(s, "Gather", fe_d_one(s, "Shape", s->x[0]), axes);
  MlirValue left = fe_d_two(s, "Gather", fe_d_one(s, "Shape", s->y), axes);
  MlirValue behind = fe_d_two(s, "Max", fe_d_two(s, "Add", starts, size), zero);
  MlirValue before = fe_d_where(s, fe_d_two(s, "Less", starts, zero), behind,
                                fe_d_two(s, "Min", starts, size));
  MlirValue after = fe_d_two(s, "Sub", fe_d_two(s, "Sub", size, before), left);
  MlirValue pads[2] = {before, after};
  MlirValue in[4] = {s->dy, fe_d_concat(s, 2, pads, 0), {0}, axes};
  return fe_d_reshaped(s, fe_first(fe_onnx(s->ir, "Pad", 4, in, 1, 0, NULL)),
                       s->x[0]);
}

static MlirValue d_pad(const fe_step *s) {
  const char *mode = fe_attr_str(s->ir->arena, s->op, "mode", "constant");
  if (strcmp(mode, "constant"))
    return moved(s);
  MlirValue in[4] = {
      s->dy, fe_d_one(s, "Neg", s->x[1]), {0}, fe_d_operand(s, 3)};
  return fe_d_reshaped(s, fe_first(fe_onnx(s->ir, "Pad", 4, in, 1, 0, NULL)),
                       s->x[0]);
}
/// By what is put in: all that does not go to the data.
static MlirValue d_pad_value(const fe_step *s) {
  int64_t axes[FE_MAX_RANK];
  unsigned rank = fe_rank(s->y);
  for (unsigned i = 0; i < rank; i++)
    axes[i] = i;
  MlirValue data = fe_d_summed(s, d_pad(s), rank, axes, false);
  MlirValue all = fe_d_summed(s, s->dy, rank, axes, false);
  return fe_d_reshaped(s, fe_d_two(s, "Sub", all, data), s->x[2]);
}

static MlirValue d_tile(const fe_step *s) {
  unsigned rank = fe_rank(s->y);
  MlirValue parts[2 * FE_MAX_RANK], shape = fe_d_one(s, "Shape", s->x[0]);
  int64_t axes[FE_MAX_RANK];
  if (2 * rank > FE_MAX_RANK)
    return moved(s);
  for (unsigned i = 0; i < rank; i++) {
    parts[2 * i] = fe_d_size_at(s, s->x[1], i);
    parts[2 * i + 1] = fe_d_size_at(s, shape, i);
    axes[i] = 2 * i;
  }
  if (!rank)
    return s->dy;
  MlirValue v = fe_d_in_shape(s, s->dy, fe_d_concat(s, 2 * rank, parts, 0));
  return fe_d_reshaped(s, fe_d_summed(s, v, rank, axes, false), s->x[0]);
}

//===-- By indices ----------------------------------------------------------//

/// The axis goes to the front, as indices are in front of what they take.
static MlirValue d_gather(const fe_step *s) {
  int64_t axis = fe_attr_i64(s->op, "axis", 0), last = -1;
  unsigned rank = fe_rank(s->x[0]), n = fe_rank(s->x[1]);
  axis += axis < 0 ? rank : 0;
  int64_t to_front[FE_MAX_RANK], front[FE_MAX_RANK], back[FE_MAX_RANK];
  for (unsigned i = 0; i < n + rank - 1; i++)
    to_front[i] = i < n ? axis + i : i < n + axis ? i - n : i;
  for (unsigned i = 0; i < rank; i++) {
    front[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
    back[front[i]] = i;
  }
  MlirValue dy = fe_d_transposed(s, s->dy, n + rank - 1, to_front);
  MlirValue zeros = fe_d_transposed(s, fe_d_zeros(s, s->x[0]), rank, front);
  MlirValue at = fe_d_cast(s, s->x[1], FE_I64);
  at = fe_d_two(s, "Unsqueeze", at, fe_constant_i64s(s->ir, 1, &last));
  return fe_d_transposed(s, scattered(s, "ScatterND", zeros, at, dy, 0), rank,
                         back);
}

static MlirValue d_gather_elements(const fe_step *s) {
  return scattered(s, "ScatterElements", fe_d_zeros(s, s->x[0]), s->x[1], s->dy,
                   fe_attr_i64(s->op, "axis", 0));
}

static MlirValue d_gather_nd(const fe_step *s) {
  if (fe_attr_i64(s->op, "batch_dims", 0))
    return moved(s);
  return scattered(s, "ScatterND", fe_d_zeros(s, s->x[0]), s->x[1], s->dy, 0);
}

/// Of TopK: its second result says from where.
static MlirValue d_top_k(const fe_step *s) {
  return scattered(s, "ScatterElements", fe_d_zeros(s, s->x[0]),
                   fe_result(s->op, 1), s->dy, fe_attr_i64(s->op, "axis", -1));
}

static const char *reduction_of(const fe_step *s) {
  return fe_attr_str(s->ir->arena, s->op, "reduction", "none");
}
/// What was overwritten counts no more.
static MlirValue d_scatter_0(const fe_step *s) {
  const char *how = reduction_of(s);
  if (!strcmp(how, "add"))
    return s->dy;
  if (strcmp(how, "none"))
    return (MlirValue){0};
  MlirValue in[3] = {s->dy, s->x[1], fe_d_zeros(s, s->x[2])};
  return fe_d_again(s, 3, in);
}
static bool is_added(const fe_step *s) {
  const char *how = reduction_of(s);
  return !strcmp(how, "none") || !strcmp(how, "add");
}
static MlirValue d_scatter_elements_2(const fe_step *s) {
  MlirNamedAttribute axis =
      fe_at_i64(s->ir, "axis", fe_attr_i64(s->op, "axis", 0));
  MlirValue in[2] = {s->dy, s->x[1]};
  return is_added(s)
             ? fe_first(fe_onnx(s->ir, "GatherElements", 2, in, 1, 1, &axis))
             : (MlirValue){0};
}
static MlirValue d_scatter_nd_2(const fe_step *s) {
  return is_added(s) ? fe_d_two(s, "GatherND", s->dy, s->x[1]) : (MlirValue){0};
}

//===-- The same again ------------------------------------------------------//

static MlirValue d_again(const fe_step *s) { return fe_d_again(s, 1, &s->dy); }

static MlirValue d_cum_sum(const fe_step *s) {
  MlirNamedAttribute how[2] = {
      fe_at_i64(s->ir, "exclusive", fe_attr_i64(s->op, "exclusive", 0)),
      fe_at_i64(s->ir, "reverse", !fe_attr_i64(s->op, "reverse", 0))};
  MlirValue in[2] = {s->dy, s->x[1]};
  return fe_first(fe_onnx(s->ir, "CumSum", 2, in, 1, 2, how));
}

/// Nearest: every element of the result is one of the data's.
static MlirValue d_resize(const fe_step *s) {
  const char *mode = fe_attr_str(s->ir->arena, s->op, "mode", "nearest");
  const char *where =
      fe_attr_str(s->ir->arena, s->op, "coordinate_transformation_mode", "");
  bool nearest =
      !strcmp(mode, "nearest") && strcmp(where, "tf_crop_and_resize");
  return nearest ? moved(s) : fe_d_resize(s);
}

const fe_derivative fe_d_movement[] = {
    {"Concat", .all = d_concat},
    {"Slice", .by = {d_slice}},
    {"Pad", .by = {d_pad, NULL, d_pad_value}},
    {"Tile", .by = {d_tile}},
    {"Gather", .by = {d_gather}},
    {"GatherElements", .by = {d_gather_elements}},
    {"GatherND", .by = {d_gather_nd}},
    {"ScatterElements", .by = {d_scatter_0, NULL, d_scatter_elements_2}},
    {"Scatter", .by = {d_scatter_0, NULL, d_scatter_elements_2}},
    {"ScatterND", .by = {d_scatter_0, NULL, d_scatter_nd_2}},
    {"TopK", .by = {d_top_k}},
    {"Trilu", .by = {d_again}},
    {"ReverseSequence", .by = {d_again}},
    {"CumSum", .by = {d_cum_sum}},
    {"DepthToSpace", .by = {moved}},
    {"SpaceToDepth", .by = {moved}},
    {"Compress", .by = {moved}},
    {"CenterCropPad", .by = {moved}},
    {"Resize", .by = {d_resize}},
    {0}};
