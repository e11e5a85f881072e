//===- contrib_rotary.c - RotaryEmbedding, MRotaryEmbedding ------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotations of com.microsoft as the standard's RotaryEmbedding.
// MRotaryEmbedding has three positions for each token, of time, height and
// width; every pair of elements is turned by the angle of one of them.
//
//===----------------------------------------------------------------------===//
#include "op/group_query.h"

#include <inttypes.h>

MlirValue fe_rotated(fe_ir *ir, MlirValue x, const fe_rotation *r,
                     int64_t heads) {
  return FE_COMPOSE(ir, "RotaryEmbedding",
                    FE_VALUES(x, r->cos, r->sin,
                              fe_is_null(r->ids) ? fe_x_absent(ir) : r->ids),
                    FE_ATTRS(fe_at_i64(ir, "num_heads", heads),
                             fe_at_i64(ir, "rotary_embedding_dim", r->size),
                             fe_at_i64(ir, "interleaved", r->interleaved)));
}

enum { INPUT, IDS, COS, SIN };

/// Reads all but the positions.
static fe_status read_rotation(fe_node *n, fe_dims *x, fe_rotation *r) {
  fe_dims c;
  if (fe_node_require(n, 4) || fe_node_dims(n, COS, 2, &c) ||
      fe_node_dims(n, SIN, 2, &c))
    return FE_FAILED;
  *r = (fe_rotation){.cos = fe_node_in(n, COS),
                     .sin = fe_node_in(n, SIN),
                     .size = fe_node_int(n, "rotary_embedding_dim", 0),
                     .interleaved = fe_node_int(n, "interleaved", 0) != 0};
  if (!fe_dims_of(n->ir, fe_node_in(n, INPUT), x) ||
      (x->rank != 3 && x->rank != 4))
    return fe_node_error(n, NULL, "the input must have rank 3 or 4");
  if (fe_node_int(n, "is_packed_batching", 0))
    return fe_node_refuse(n, "is_packed_batching",
                          "packed batches are not supported");
  return FE_OK;
}

/// The input, rotated; `half`: elements of a row of cos and sin.
static fe_status rotate(fe_node *n, const fe_dims *x, const fe_rotation *r,
                        MlirValue half, int64_t known_half,
                        MlirValue *results) {
  fe_ir *ir = n->ir;
  MlirValue v = fe_node_in(n, INPUT);
  int64_t heads = fe_node_int(n, "num_heads", 0);
  if (x->rank == 4 || heads > 0)
    return fe_node_done(fe_rotated(ir, v, r, heads), results);
  if (r->size)
    return fe_node_error(n, NULL, "rotary_embedding_dim needs num_heads, too");
  int64_t wide = fe_dim_static(x->d[2]);
  if (wide != FE_DYN && known_half != FE_DYN && known_half > 0)
    return fe_node_done(fe_rotated(ir, v, r, wide / (2 * known_half)), results);
  // As many heads as there are, known to the run.
  const int64_t order[4] = {0, 2, 1, 3}, open[3] = {0, 0, -1};
  MlirValue size = FE_X(ir, "Mul", half, fe_x_int(ir, 2));
  const MlirValue split[2] = {fe_x_ints(ir, 3, open), size};
  MlirValue y = FE_X(ir, "Reshape", v, fe_x_concat(ir, 0, 2, split));
  y = fe_rotated(ir, fe_x_transpose(ir, y, 4, order), r, 0);
  y = fe_x_transpose(ir, y, 4, order);
  return fe_node_done(FE_X(ir, "Reshape", y, FE_X(ir, "Shape", v)), results);
}

static fe_status expand_rotary(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_rotation r;
  fe_dims x, ids, c;
  if (read_rotation(n, &x, &r) || fe_node_dims(n, COS, 2, &c))
    return FE_FAILED;
  MlirValue v = fe_node_in(n, INPUT);
  r.ids = fe_node_in(n, IDS);
  if (!fe_dims_of(ir, r.ids, &ids) || ids.rank < 1 || ids.rank > 2)
    return fe_node_error(n, NULL, "position_ids must have rank 1 or 2");
  if (ids.rank == 1) { // where the first row is
    MlirValue count = fe_x_size(ir, v, x.rank == 3 ? 1 : 2);
    const MlirValue shape[2] = {fe_x_size(ir, v, 0), count};
    MlirValue row = FE_X(ir, "Add", fe_x_range(ir, count), r.ids);
    r.ids = FE_X(ir, "Expand", row, fe_x_concat(ir, 0, 2, shape));
  }
  return rotate(n, &x, &r, fe_x_size(ir, r.cos, 1), fe_dim_static(c.d[1]),
                results);
}

//===-- MRotaryEmbedding ----------------------------------------------------//

/// Which of time (0), height (1) and width (2) turns pair i.
static unsigned stream_of(const int64_t section[3], bool interleaved,
                          int64_t i) {
  if (!interleaved)
    return i < section[0] ? 0 : i < section[0] + section[1] ? 1 : 2;
  unsigned s = (unsigned)(i % 3);
  return s && i < 3 * section[s] ? s : 0;
}

/// Rows of a cache [positions][half] at ids [3][batch][sequence], every column
/// of its stream: [batch][sequence][half].
static MlirValue combined(fe_ir *ir, MlirValue cache, MlirValue ids,
                          const MlirValue of[3]) {
  MlirValue v = FE_COMPOSE(ir, "Gather", FE_VALUES(cache, ids),
                           FE_ATTRS(fe_at_i64(ir, "axis", 0)));
  MlirValue y = fe_x_pick(ir, v, 0, 0);
  for (unsigned s = 1; s < 3; ++s)
    y = FE_X(ir, "Where", of[s], fe_x_pick(ir, v, 0, s), y);
  return y;
}

static fe_status expand_multi_rotary(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_rotation r;
  fe_dims x, ids, c;
  if (read_rotation(n, &x, &r) || fe_node_dims(n, IDS, 3, &ids) ||
      fe_node_dims(n, COS, 2, &c))
    return FE_FAILED;
  const fe_node_attr *section = fe_node_attr_find(n, "mrope_section");
  int64_t half = 0, layout = fe_node_int(n, "mrope_layout", 0);
  if (!section || section->n != 3)
    return fe_node_refuse(n, "mrope_section", "it must be three numbers");
  for (unsigned s = 0; s < 3; ++s) {
    if (section->ints[s] < 0 || section->ints[s] > INT16_MAX)
      return fe_node_refuse(n, "mrope_section",
                            "a section is negative, or "
                            "much too large");
    half += section->ints[s];
  }
  if (layout != 0 && layout != 1)
    return fe_node_refuse(n, "mrope_layout", "it must be 0 or 1");
  int64_t columns = fe_dim_static(c.d[1]), streams = fe_dim_static(ids.d[0]);
  if (!half || (columns != FE_DYN && columns != half))
    return fe_node_error(n, NULL,
                         "the sections are of %" PRId64 " pairs, which are not "
                         "the columns of cos_cache",
                         half);
  if (streams != FE_DYN && streams != 3)
    return fe_node_error(n, NULL, "position_ids must be of three streams");
  MlirValue of[3];
  bool *mask = FE_NEW_N(ir->arena, bool, (size_t)half);
  for (unsigned s = 1; s < 3; ++s) {
    for (int64_t i = 0; i < half; ++i)
      mask[i] = stream_of(section->ints, layout == 1, i) == s;
    of[s] = fe_constant(ir, "stream", FE_BOOL, 1, &half, mask);
  }
  MlirValue at = fe_node_in(n, IDS);
  r.cos = combined(ir, r.cos, at, of);
  r.sin = combined(ir, r.sin, at, of);
  if (fe_is_null(r.cos) || fe_is_null(r.sin))
    return FE_FAILED;
  return rotate(n, &x, &r, fe_x_int(ir, half), half, results);
}

//===-- Rows ----------------------------------------------------------------//

#define ROTARY_ATTRS                                                           \
  {"num_heads", FE_A_INT, "0"}, {"rotary_embedding_dim", FE_A_INT, "0"},       \
      {"interleaved", FE_A_INT, "0"}, {"is_packed_batching", FE_A_INT, "0"},   \
      {"scale", FE_A_FLOAT, "1"}

static const fe_attr_def rotary_attrs[] = {ROTARY_ATTRS, {0}};
static const fe_attr_def multi_attrs[] = {ROTARY_ATTRS,
                                          {"mrope_section", FE_A_INTS, NULL},
                                          {"mrope_layout", FE_A_INT, "0"},
                                          {0}};

const fe_op_row fe_family_contrib_rotary[] = {
    FE_MS_ROW("RotaryEmbedding",
              "input:T, position_ids:M, cos_cache:T, sin_cache:T", "output:T",
              "T=float;M=i64", expand_rotary, .attrs = rotary_attrs,
              .sizes = "input:b s _, input:b _ s _, position_ids:b s, "
                       "cos_cache:m h, sin_cache:m h",
              .limits = "no packed batches"),
    FE_MS_ROW("MRotaryEmbedding",
              "input:T, position_ids:M, cos_cache:T, sin_cache:T", "output:T",
              "T=float;M=i64", expand_multi_rotary, .attrs = multi_attrs,
              .sizes = "input:b s _, input:b _ s _, position_ids:3 b s, "
                       "cos_cache:m h, sin_cache:m h",
              .limits = "no packed batches"),
    {0}};
