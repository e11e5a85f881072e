//===- contrib_embed.c - embeddings of ONNX Runtime's domain -----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// EmbedLayerNormalization and its quantized form: rows of up to three tables,
// their sum, and its layer normalization. Tables of 8 bits are read as such:
// only the rows that are taken become floats.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"

/// A table and how its numbers are meant; scale and zero point may be null.
typedef struct table {
  MlirValue data, scale, zero;
} table;

/// v as floats.
static MlirValue floats(fe_ir *ir, MlirValue v, const table *t) {
  if (fe_is_null(t->scale))
    return v;
  // Scales are one number, in whatever shape.
  MlirValue scale = fe_x_reshape(ir, t->scale, 0, NULL);
  MlirValue zero = fe_x_reshape(ir, t->zero, 0, NULL);
  return FE_X(ir, "DequantizeLinear", v, scale, zero);
}

static MlirValue rows_of(fe_ir *ir, const table *t, MlirValue ids) {
  return floats(ir, FE_X(ir, "Gather", t->data, ids), t);
}

typedef struct embedding {
  MlirValue ids, segments, positions, mask;
  table word, position, segment, gamma, beta;
} embedding;

/// Sum of the rows, [batch][sequence][size].
static MlirValue sum_of(fe_ir *ir, const embedding *e) {
  MlirValue sum = rows_of(ir, &e->word, e->ids), rows;
  if (fe_is_null(e->positions)) // 0, 1, ..
    rows = floats(ir,
                  fe_x_slice(ir, e->position.data, 0, fe_x_int(ir, 0),
                             fe_x_size(ir, e->ids, 1)),
                  &e->position);
  else
    rows = rows_of(ir, &e->position, e->positions);
  sum = FE_X(ir, "Add", sum, rows);
  if (!fe_is_null(e->segments))
    sum = FE_X(ir, "Add", sum, rows_of(ir, &e->segment, e->segments));
  return sum;
}

/// How many ones each sequence of the mask has; without one 0.
static MlirValue lengths(fe_ir *ir, const embedding *e) {
  if (fe_is_null(e->mask))
    return fe_x_zeros(ir, FE_I32, fe_x_size(ir, e->ids, 0));
  MlirValue one = fe_constant_scalar(ir, FE_I32, 1);
  MlirValue ones = fe_x_cast(ir, FE_X(ir, "Equal", e->mask, one), FE_I32);
  return FE_COMPOSE(ir, "ReduceSum", FE_VALUES(ones, fe_x_int(ir, 1)),
                    FE_ATTRS(fe_at_i64(ir, "keepdims", 0)));
}

static fe_status finish(fe_node *n, const embedding *e, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (fe_is_null(e->segments) != fe_is_null(e->segment.data))
    return fe_node_error(n, NULL, "segment ids and table go together");
  MlirValue sum = sum_of(ir, e);
  MlirValue gamma = floats(ir, e->gamma.data, &e->gamma);
  MlirValue beta = floats(ir, e->beta.data, &e->beta);
  results[0] = FE_COMPOSE(
      ir, "LayerNormalization", FE_VALUES(sum, gamma, beta),
      FE_ATTRS(fe_at_f32(ir, "epsilon", fe_node_float(n, "epsilon", 1e-12))));
  if (n->n_out > 1)
    results[1] = lengths(ir, e);
  if (n->n_out > 2)
    results[2] = sum;
  for (unsigned i = 0; i < n->n_out && i < 3; ++i)
    if (fe_is_null(results[i]))
      return FE_FAILED;
  return FE_OK;
}

static fe_status expand_embed(fe_node *n, MlirValue *results) {
  enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, POSITIONS };
  fe_dims d;
  if (fe_node_dims(n, IDS, 2, &d) || fe_node_dims(n, WORD, 2, &d) ||
      fe_node_dims(n, POSITION, 2, &d) || fe_node_dims(n, GAMMA, 1, &d) ||
      fe_node_dims(n, BETA, 1, &d))
    return FE_FAILED;
  const embedding e = {.ids = fe_node_in(n, IDS),
                       .segments = fe_node_in(n, SEGMENTS),
                       .positions = fe_node_in(n, POSITIONS),
                       .mask = fe_node_in(n, MASK),
                       .word = {.data = fe_node_in(n, WORD)},
                       .position = {.data = fe_node_in(n, POSITION)},
                       .segment = {.data = fe_node_in(n, SEGMENT)},
                       .gamma = {.data = fe_node_in(n, GAMMA)},
                       .beta = {.data = fe_node_in(n, BETA)}};
  return finish(n, &e, results);
}

static fe_status expand_q_embed(fe_node *n, MlirValue *results) {
  enum { IDS, SEGMENTS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, SCALE };
  // Scales, then zero points, in the order of the tables.
  enum { TABLES = 5, ZERO = SCALE + TABLES };
  fe_dims d;
  if (fe_node_dims(n, IDS, 2, &d) || fe_node_dims(n, WORD, 2, &d) ||
      fe_node_dims(n, POSITION, 2, &d))
    return FE_FAILED;
  embedding e = {.ids = fe_node_in(n, IDS),
                 .segments = fe_node_in(n, SEGMENTS),
                 .mask = fe_node_in(n, MASK)};
  table *const tables[TABLES] = {&e.word, &e.position, &e.segment, &e.gamma,
                                 &e.beta};
  static const unsigned operands[TABLES] = {WORD, POSITION, SEGMENT, GAMMA,
                                            BETA};
  for (unsigned i = 0; i < TABLES; ++i) {
    table *t = tables[i];
    t->data = fe_node_in(n, operands[i]);
    t->scale = fe_node_in(n, SCALE + i);
    t->zero = fe_node_in(n, ZERO + i);
    if (fe_is_null(t->data) && operands[i] == SEGMENT)
      continue;
    if (fe_is_null(t->data) || fe_is_null(t->scale) || fe_is_null(t->zero))
      return fe_node_error(n, NULL,
                           "a table, its scale or zero point is missing");
  }
  return finish(n, &e, results);
}

static const fe_attr_def embed_attrs[] = {
    {"epsilon", FE_A_FLOAT, "1e-12"}, {"mask_index_type", FE_A_INT, "1"}, {0}};
static const fe_attr_def q_embed_attrs[] = {{"epsilon", FE_A_FLOAT, "1e-12"},
                                            {0}};

const fe_op_row fe_family_contrib_embed[] = {
    {.name = "EmbedLayerNormalization",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "input_ids:I, segment_ids?:I, word_embedding:T, "
               "position_embedding:T, segment_embedding?:T, gamma:T, beta:T, "
               "mask?:I, position_ids?:I",
     .outputs = "output:T, mask_index:I, embedding_sum:T",
     .types = "T=float;I=i32",
     .attrs = embed_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_embed},
    {.name = "QEmbedLayerNormalization",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "input_ids:I, segment_ids?:I, word_embedding_quant:Q, "
               "position_embedding_quant:Q, segment_embedding?:Q, "
               "gamma_quant:Q, beta_quant:Q, mask?:I, word_embedding_scale:F, "
               "position_embedding_scale:F, segment_embedding_scale?:F, "
               "gamma_scale:F, beta_scale:F, word_embedding_zero_point:Q, "
               "position_embedding_zero_point:Q, "
               "segment_embedding_zero_point?:Q, gamma_zero_point:Q, "
               "beta_zero_point:Q",
     .outputs = "layernorm_out:F, mask_index_out:I",
     .types = "F=f32;I=i32;Q=i8,u8",
     .attrs = q_embed_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_q_embed},
    {0}};
