//===- contrib_sparse_attention.c - SparseAttention --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GroupQueryAttention where a query sees some blocks of keys only. Which ones
// is said by layouts in compressed rows, of which the heads have one in turn.
//
//===----------------------------------------------------------------------===//
#include "op/group_query.h"

enum { ROWS = 5, COLUMNS, TOTAL, LENGTHS, COS, SIN };

/// 1 where a row of blocks has a column, else 0: [layouts][blocks * blocks].
static MlirValue dense_blocks(fe_ir *ir, MlirValue rows, MlirValue columns) {
  MlirValue count = FE_X(ir, "Sub", fe_x_size(ir, rows, 1), fe_x_int(ir, 1));
  MlirValue from = fe_x_slice(ir, rows, 1, fe_x_int(ir, 0), count);
  MlirValue to =
      fe_x_slice(ir, rows, 1, fe_x_int(ir, 1), fe_x_size(ir, rows, 1));
  MlirValue entry =
      fe_x_cast(ir, fe_x_range(ir, fe_x_size(ir, columns, 1)), FE_I32);
  // [layouts][blocks][entries]: an entry is of a row; then by its column.
  MlirValue of_row = FE_X(
      ir, "And", FE_X(ir, "GreaterOrEqual", entry, fe_x_unsqueeze(ir, from, 2)),
      FE_X(ir, "Less", entry, fe_x_unsqueeze(ir, to, 2)));
  MlirValue of_column = FE_X(ir, "Equal", fe_x_unsqueeze(ir, columns, 2),
                             fe_x_cast(ir, fe_x_range(ir, count), FE_I32));
  MlirValue both = FE_X(ir, "MatMul", fe_x_cast(ir, of_row, FE_F32),
                        fe_x_cast(ir, of_column, FE_F32));
  const int64_t flat[2] = {0, -1};
  return fe_x_reshape(ir, both, 2, flat);
}

/// What is added to the scores: [batch][heads][rows][keys]. A row all of whose
/// keys are hidden sees them all, as they all have the same score then
/// (a score is lost in so large a number).
static MlirValue hiding(fe_node *n, MlirValue starts, MlirValue count,
                        MlirValue total, int64_t heads, int64_t block) {
  fe_ir *ir = n->ir;
  MlirValue rows = fe_node_in(n, ROWS);
  MlirValue blocks = FE_X(ir, "Sub", fe_x_size(ir, rows, 1), fe_x_int(ir, 1));
  MlirValue size = fe_constant_scalar(ir, FE_I64, (double)block);
  MlirValue key = FE_X(ir, "Div", fe_x_range(ir, total), size);
  MlirValue row =
      FE_X(ir, "Add", fe_x_behind(ir, starts, 1), fe_x_range(ir, count));
  // [batch][rows][keys] to [layouts][batch][rows][keys].
  row = FE_X(ir, "Mul", FE_X(ir, "Div", row, size), blocks);
  MlirValue at = FE_X(ir, "Add", fe_x_unsqueeze(ir, row, 2), key);
  MlirValue seen =
      FE_COMPOSE(ir, "Gather",
                 FE_VALUES(dense_blocks(ir, rows, fe_node_in(n, COLUMNS)), at),
                 FE_ATTRS(fe_at_i64(ir, "axis", 1)));
  MlirValue bias = FE_X(
      ir, "Where", FE_X(ir, "Greater", seen, fe_constant_scalar(ir, FE_F32, 0)),
      fe_constant_scalar(ir, FE_F32, 0), fe_constant_scalar(ir, FE_F32, -1e30));
  const int64_t order[4] = {1, 0, 2, 3};
  bias = fe_x_transpose(ir, bias, 4, order);
  // Head h has layout h % layouts.
  MlirValue layouts = fe_x_size(ir, rows, 0), one = fe_x_int(ir, 1);
  const MlirValue times[4] = {
      one, FE_X(ir, "Div", fe_x_int(ir, heads), layouts), one, one};
  return FE_X(ir, "Tile", bias, fe_x_concat(ir, 0, 4, times));
}

static fe_status expand_sparse(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_dims d;
  int64_t heads = fe_node_int(n, "num_heads", 0);
  int64_t block = fe_node_int(n, "sparse_block_size", 0);
  if (heads <= 0 || block <= 0 || block > INT32_MAX)
    return fe_node_error(n, NULL,
                         "num_heads and sparse_block_size must be positive");
  if (fe_node_dims(n, FE_GQ_QUERY, 3, &d) ||
      fe_node_dims(n, FE_GQ_PAST_K, 4, &d) ||
      fe_node_dims(n, FE_GQ_PAST_V, 4, &d) || fe_node_dims(n, COLUMNS, 2, &d) ||
      fe_node_dims(n, ROWS, 2, &d))
    return FE_FAILED;
  if (fe_is_null(fe_node_in(n, TOTAL)) || fe_is_null(fe_node_in(n, LENGTHS)))
    return fe_node_error(n, NULL,
                         "total_sequence_length and "
                         "key_total_sequence_lengths must be there");
  int64_t layouts = fe_dim_static(d.d[0]);
  if (layouts != FE_DYN && (layouts <= 0 || heads % layouts))
    return fe_node_error(n, NULL,
                         "num_heads must be a multiple of the layouts of "
                         "block_row_indices");
  const int64_t flat = -1, single = 1;
  MlirValue in[FE_GQ_INPUTS] = {{0}};
  for (unsigned i = FE_GQ_QUERY; i <= FE_GQ_PAST_V; ++i)
    in[i] = fe_node_in(n, i);
  in[FE_GQ_TOTAL] = fe_node_in(n, TOTAL);
  in[FE_GQ_COS] = fe_node_in(n, COS);
  in[FE_GQ_SIN] = fe_node_in(n, SIN);
  MlirValue ends = fe_x_cast(ir, fe_node_in(n, LENGTHS), FE_I64);
  ends = fe_x_reshape(ir, ends, 1, &flat);
  in[FE_GQ_SEQLENS] = fe_x_cast(
      ir, FE_X(ir, "Sub", ends, fe_constant_scalar(ir, FE_I64, 1)), FE_I32);
  MlirValue count = fe_x_size(ir, in[FE_GQ_QUERY], 1);
  MlirValue starts = FE_X(ir, "Max", FE_X(ir, "Sub", ends, count),
                          fe_constant_scalar(ir, FE_I64, 0));
  MlirValue total =
      fe_x_reshape(ir, fe_x_cast(ir, in[FE_GQ_TOTAL], FE_I64), 1, &single);
  MlirValue blocks =
      FE_X(ir, "Sub", fe_x_size(ir, fe_node_in(n, ROWS), 1), fe_x_int(ir, 1));
  MlirValue most = FE_X(ir, "Mul", blocks, fe_x_int(ir, block));
  if (!fe_is_null(total) && !fe_is_null(most))
    fe_node_check(
        n,
        fe_cmp(ir, FE_LE,
               fe_extract_scalar(ir, fe_x_reshape(ir, total, 0, NULL)),
               fe_extract_scalar(ir, fe_x_reshape(ir, most, 0, NULL))),
        "total_sequence_length is beyond the rows of "
        "block_row_indices");
  in[FE_GQ_BIAS] = hiding(n, starts, count, total, heads, block);
  return fe_is_null(in[FE_GQ_BIAS]) ? FE_FAILED
                                    : fe_group_query(n, in, true, results);
}

static const fe_attr_def attrs[] = {{"num_heads", FE_A_INT, NULL},
                                    {"kv_num_heads", FE_A_INT, NULL},
                                    {"scale", FE_A_FLOAT, "0"},
                                    {"sparse_block_size", FE_A_INT, NULL},
                                    {"do_rotary", FE_A_INT, "0"},
                                    {"rotary_interleaved", FE_A_INT, "0"},
                                    {0}};

const fe_op_row fe_family_contrib_sparse_attention[] = {
    FE_MS_ROW("SparseAttention",
              "query:T, key?:T, value?:T, past_key:T, past_value:T, "
              "block_row_indices:M, block_col_indices:M, "
              "total_sequence_length:M, key_total_sequence_lengths:M, "
              "cos_cache?:T, sin_cache?:T",
              "output:T, present_key:T, present_value:T",
              "T=f32,f16,bf16;M=i32", expand_sparse, .attrs = attrs,
              .sizes = "query:b s _, key:b s _, value:b s _, past_key:b h m d, "
                       "past_value:b h m d, block_row_indices:l _, "
                       "block_col_indices:l _, key_total_sequence_lengths:b, "
                       "cos_cache:c r, sin_cache:c r"),
    {0}};
