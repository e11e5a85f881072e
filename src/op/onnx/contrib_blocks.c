//===- contrib_blocks.c - weights of few bits, in blocks ---------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MatMulNBits: constant weights of 2, 4 and 8 bits with a scale per block,
// which BlockProduct multiplies as they are; where g_idx has blocks out of
// order, the columns of A are put into the order of the blocks. Weights that
// only the run knows, and the 4 bits of MatMulBnb4, are written out as floats.
// GatherBlockQuantized takes rows as they lie and makes
// floats of those only.
//
//===----------------------------------------------------------------------===//
#include "op/block_product.h"
#include "op/compose.h"

#include <inttypes.h>
#include <math.h>

static MlirValue gather(fe_ir *ir, MlirValue v, MlirValue indices,
                        int64_t axis) {
  return FE_COMPOSE(ir, "Gather", FE_VALUES(v, indices),
                    FE_ATTRS(fe_at_i64(ir, "axis", axis)));
}

//===-- MatMulNBits ---------------------------------------------------------//

typedef struct blocks {
  int64_t n, k, size, bits; // size: elements of a block
  int64_t per_row;          // blocks
  fe_const data, scales, zeros, groups;
  bool has_zeros, packed_zeros, has_groups;
  const int64_t *order; // column i of the blocks is column order[i] of A
} blocks;

/// Number i of a row of packed numbers.
static unsigned unpack(const uint8_t *row, int64_t i, int64_t bits) {
  int64_t bit = i * bits;
  return (unsigned)(row[bit / 8] >> bit % 8) & ((1u << bits) - 1);
}

static fe_status read_numbers(fe_node *n, blocks *b) {
  b->n = fe_node_int(n, "N", 0);
  b->k = fe_node_int(n, "K", 0);
  b->bits = fe_node_int(n, "bits", 4);
  b->size = fe_node_int(n, "block_size", 0);
  if (b->n <= 0 || b->k <= 0 || b->size <= 0 || b->n > INT32_MAX ||
      b->k > INT32_MAX || b->size > INT32_MAX ||
      (b->bits != 2 && b->bits != 4 && b->bits != 8))
    return fe_node_error(
        n, NULL, "N, K and block_size must be positive, bits 2, 4 or 8");
  b->per_row = (b->k + b->size - 1) / b->size;
  return FE_OK;
}

enum { A, B, SCALES, ZEROS, GROUPS, BIAS };

/// Whether the weights are constants, which are read.
static bool are_constants(fe_node *n, blocks *b) {
  fe_ir *ir = n->ir;
  MlirValue zeros = fe_node_in(n, ZEROS), groups = fe_node_in(n, GROUPS);
  b->has_zeros = !fe_is_null(zeros);
  b->has_groups = !fe_is_null(groups);
  return fe_const_of(ir, fe_node_in(n, B), &b->data) &&
         fe_const_of(ir, fe_node_in(n, SCALES), &b->scales) &&
         (!b->has_zeros || fe_const_of(ir, zeros, &b->zeros)) &&
         (!b->has_groups || fe_const_of(ir, groups, &b->groups));
}

static fe_status check_blocks(fe_node *n, blocks *b) {
  int64_t row = b->per_row * ((b->size * b->bits + 7) / 8);
  int64_t zero_row = (b->per_row * b->bits + 7) / 8;
  b->packed_zeros = b->has_zeros && b->zeros.dtype == FE_U8;
  if (b->data.count != b->n * row || b->scales.count != b->n * b->per_row ||
      (b->has_zeros &&
       b->zeros.count != b->n * (b->packed_zeros ? zero_row : b->per_row)) ||
      (b->has_groups && b->groups.count < b->k))
    return fe_node_error(
        n, NULL, "the weights do not have the size that N and K demand");
  for (int64_t i = 0; b->has_groups && i < b->k; ++i) {
    int64_t group = fe_const_i64(&b->groups, i);
    if (group < 0 || group >= b->per_row)
      return fe_node_error(n, NULL, "g_idx names a block that is not there");
  }
  return FE_OK;
}

static unsigned number_at(const void *user, int64_t row, int64_t at) {
  const blocks *b = user;
  int64_t blob = (b->size * b->bits + 7) / 8;
  const uint8_t *data = b->data.data;
  if (b->order)
    at = b->order[at];
  return unpack(data + (row * b->per_row + at / b->size) * blob, at % b->size,
                b->bits);
}

static double scale_at(const void *user, int64_t row, int64_t block) {
  const blocks *b = user;
  return fe_const_f64(&b->scales, row * b->per_row + block);
}

static double zero_at(const void *user, int64_t row, int64_t block) {
  const blocks *b = user;
  int64_t zero_row = (b->per_row * b->bits + 7) / 8;
  if (!b->has_zeros)
    return (double)(1 << (b->bits - 1));
  if (!b->packed_zeros)
    return fe_const_f64(&b->zeros, row * b->per_row + block);
  const uint8_t *zeros = b->zeros.data;
  return unpack(zeros + row * zero_row, block, b->bits);
}

/// The weights as [K][N].
static MlirValue written_out(fe_ir *ir, const blocks *b) {
  float *out = FE_NEW_N(ir->arena, float, (size_t)(b->n * b->k));
  for (int64_t y = 0; y < b->n; ++y)
    for (int64_t x = 0; x < b->k; ++x) {
      int64_t block = b->has_groups ? fe_const_i64(&b->groups, x) : x / b->size;
      double v = number_at(b, y, x) - zero_at(b, y, block);
      out[x * b->n + y] = (float)(v * scale_at(b, y, block));
    }
  const int64_t dims[2] = {b->k, b->n};
  return fe_constant(ir, "weights", FE_F32, 2, dims, out);
}

/// Whether element i is of block i / size.
static bool in_order(const blocks *b) {
  for (int64_t i = 0; b->has_groups && i < b->k; ++i)
    if (fe_const_i64(&b->groups, i) != i / b->size)
      return false;
  return true;
}

/// a by weights of f32, plus bias.
static fe_status product(fe_node *n, MlirValue weights, MlirValue bias,
                         MlirValue *results) {
  fe_ir *ir = n->ir;
  MlirValue a = fe_node_in(n, 0);
  MlirValue v = FE_X(ir, "MatMul", fe_x_cast(ir, a, FE_F32), weights);
  return fe_node_done(fe_x_plus(ir, fe_x_cast(ir, v, fe_x_type(a)), bias),
                      results);
}

/// The columns of A in the order of their blocks; NULL where a block has not as
/// many as those of A in their own order.
static const int64_t *order_of(fe_ir *ir, const blocks *b) {
  int64_t *order = FE_NEW_N(ir->arena, int64_t, (size_t)b->k);
  int64_t *next = FE_NEW_N(ir->arena, int64_t, (size_t)b->per_row);
  for (int64_t g = 0; g < b->per_row; ++g)
    next[g] = g * b->size;
  for (int64_t i = 0; i < b->k; ++i) {
    int64_t g = fe_const_i64(&b->groups, i), at = next[g]++;
    if (at >= (g + 1) * b->size || at >= b->k)
      return NULL;
    order[at] = i;
  }
  return order;
}

/// Bytes [n][..] of packed numbers as f32, [n][count].
static MlirValue as_numbers(fe_ir *ir, MlirValue v, int64_t n, int64_t bits,
                            int64_t bytes, int64_t count) {
  const int64_t rows[2] = {n, bytes};
  v = fe_x_unpacked(ir, fe_x_reshape(ir, v, 2, rows), bits);
  if (bytes * (8 / bits) != count)
    v = fe_x_part(ir, v, 1, 0, count);
  return fe_x_cast(ir, v, FE_F32);
}

/// Weights that only the run knows, [K][N].
static MlirValue weights_of_run(fe_node *n, const blocks *b) {
  fe_ir *ir = n->ir;
  int64_t blob = (b->size * b->bits + 7) / 8, all = b->per_row * b->size;
  MlirValue q =
      as_numbers(ir, n->in.at[B], b->n * b->per_row, b->bits, blob, b->size);
  const int64_t flat[2] = {b->n, all}, per_block[2] = {b->n, b->per_row};
  q = fe_x_reshape(ir, q, 2, flat);
  MlirValue scale =
      fe_x_reshape(ir, fe_x_cast(ir, n->in.at[SCALES], FE_F32), 2, per_block);
  MlirValue zero = fe_node_in(n, ZEROS), groups = fe_node_in(n, GROUPS);
  if (fe_is_null(zero)) {
    zero = FE_X(ir, "Expand",
                fe_constant_scalar(ir, FE_F32, ldexp(1, (int)b->bits - 1)),
                fe_x_ints(ir, 2, per_block));
  } else if (fe_x_type(zero) == FE_U8) {
    zero = as_numbers(ir, zero, b->n, b->bits, (b->per_row * b->bits + 7) / 8,
                      b->per_row);
  } else {
    zero = fe_x_reshape(ir, fe_x_cast(ir, zero, FE_F32), 2, per_block);
  }
  if (fe_is_null(groups)) { // every element has the block that it lies in
    groups = FE_X(ir, "Div", fe_x_range(ir, fe_x_int(ir, b->k)),
                  fe_constant_scalar(ir, FE_I64, b->size));
  } else {
    groups = fe_x_part(ir, groups, 0, 0, b->k);
  }
  q = fe_x_part(ir, q, 1, 0, b->k);
  q = FE_X(ir, "Sub", q, gather(ir, zero, groups, 1));
  q = FE_X(ir, "Mul", q, gather(ir, scale, groups, 1));
  const int64_t order[2] = {1, 0};
  return fe_x_transpose(ir, q, 2, order);
}

static fe_status expand_n_bits(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  blocks b = {0};
  if (fe_node_require(n, 3) || read_numbers(n, &b))
    return FE_FAILED;
  if (fe_node_int(n, "weight_prepacked", 0))
    return fe_node_error(n, "use the weights as they were before",
                         "prepacked weights are not supported");
  MlirValue bias = fe_node_in(n, BIAS);
  if (!are_constants(n, &b))
    return product(n, weights_of_run(n, &b), bias, results);
  if (check_blocks(n, &b))
    return FE_FAILED;
  fe_blocks packed = {b.n, b.k,       b.size,   (unsigned)b.bits,
                      &b,  number_at, scale_at, zero_at};
  bool ordered = in_order(&b);
  const int64_t *order = ordered ? NULL : order_of(ir, &b);
  if ((!ordered && !order) || !fe_blocks_pack(&packed))
    return product(n, written_out(ir, &b), bias, results);
  MlirValue a = n->in.at[A];
  fe_dtype t = fe_x_type(a);
  if (order) {
    b.order = order;
    a = gather(ir, a, fe_x_ints(ir, (unsigned)b.k, order), -1);
  }
  MlirValue v = fe_block_product(ir, fe_x_cast(ir, a, FE_F32), &packed);
  return fe_node_done(fe_x_plus(ir, fe_x_cast(ir, v, t), bias), results);
}

//===-- MatMulBnb4 ----------------------------------------------------------//

/// What the 16 codes mean, by quant_type: of floats of 4 bits, with a sign in
/// front; of quantiles of a normal distribution.
static const float codes[2][16] = {
    {0, 0.00520833333f, 0.66666667f, 1, 0.33333333f, 0.5f, 0.16666667f, 0.25f,
     -0.0f, -0.00520833333f, -0.66666667f, -1, -0.33333333f, -0.5f,
     -0.16666667f, -0.25f},
    {-1, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
     -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0,
     0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f,
     0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f,
     0.7229568362236023f, 1}};

/// Weights that only the run knows, as [rows][k].
static MlirValue codes_of_run(fe_node *n, int64_t rows, int64_t k, int64_t size,
                              int64_t type) {
  fe_ir *ir = n->ir;
  int64_t count = rows * k, bytes = (count + 1) / 2;
  int64_t n_scales = (count + size - 1) / size;
  const int64_t all = -1, column[2] = {n_scales, 1}, dim = 16;
  const int64_t wide[2] = {n_scales, size}, shape[2] = {rows, k};
  MlirValue data = fe_x_reshape(ir, n->in.at[1], 1, &bytes);
  const MlirValue halves[2] = {
      fe_x_unsqueeze(
          ir, FE_X(ir, "Div", data, fe_constant_scalar(ir, FE_U8, 16)), -1),
      fe_x_unsqueeze(
          ir, FE_X(ir, "BitwiseAnd", data, fe_constant_scalar(ir, FE_U8, 15)),
          -1)};
  MlirValue at = fe_x_reshape(ir, fe_x_concat(ir, -1, 2, halves), 1, &all);
  at = fe_x_cast(ir, fe_x_part(ir, at, 0, 0, count), FE_I32);
  MlirValue v =
      gather(ir, fe_constant(ir, "codes", FE_F32, 1, &dim, codes[type]), at, 0);
  MlirValue scale =
      fe_x_reshape(ir, fe_x_cast(ir, n->in.at[2], FE_F32), 2, column);
  scale = FE_X(ir, "Expand", scale, fe_x_ints(ir, 2, wide));
  scale = fe_x_part(ir, fe_x_reshape(ir, scale, 1, &all), 0, 0, count);
  return fe_x_reshape(ir, FE_X(ir, "Mul", v, scale), 2, shape);
}

static fe_status expand_bnb4(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  int64_t rows = fe_node_int(n, "N", 0), k = fe_node_int(n, "K", 0);
  int64_t size = fe_node_int(n, "block_size", 0);
  int64_t type = fe_node_int(n, "quant_type", -1);
  fe_const data, scales;
  if (fe_node_require(n, 3))
    return FE_FAILED;
  if (rows <= 0 || k <= 0 || size <= 0 || rows > INT32_MAX || k > INT32_MAX ||
      (type != 0 && type != 1))
    return fe_node_error(
        n, NULL, "N, K and block_size must be positive, quant_type 0 or 1");
  bool as_is = !fe_node_int(n, "transB", 1);
  if (!fe_const_of(ir, n->in.at[1], &data) ||
      !fe_const_of(ir, n->in.at[2], &scales)) {
    const int64_t order[2] = {1, 0};
    MlirValue w = codes_of_run(n, rows, k, size, type);
    return product(n, as_is ? w : fe_x_transpose(ir, w, 2, order),
                   (MlirValue){0}, results);
  }
  int64_t count = rows * k;
  if (data.count != (count + 1) / 2 ||
      scales.count != (count + size - 1) / size)
    return fe_node_error(
        n, NULL, "the weights do not have the size that N and K demand");
  // The first of two numbers is in the upper half of a byte.
  float *out = FE_NEW_N(ir->arena, float, (size_t)count);
  for (int64_t i = 0; i < count; ++i) {
    unsigned byte = ((const uint8_t *)data.data)[i / 2];
    float v = codes[type][i % 2 ? byte & 15 : byte >> 4] *
              (float)fe_const_f64(&scales, i / size);
    out[as_is ? i : i % k * rows + i / k] = v;
  }
  const int64_t dims[2] = {as_is ? rows : k, as_is ? k : rows};
  return product(n, fe_constant(ir, "weights", FE_F32, 2, dims, out),
                 (MlirValue){0}, results);
}

//===-- GatherBlockQuantized ------------------------------------------------//

static fe_status expand_gather(fe_node *n, MlirValue *results) {
  enum { DATA, INDICES, SCALES, ZEROS };
  fe_ir *ir = n->ir;
  fe_dims d, ids, s;
  if (fe_node_require(n, 3))
    return FE_FAILED;
  MlirValue data = n->in.at[DATA], indices = n->in.at[INDICES];
  MlirValue scales = n->in.at[SCALES], zeros = fe_node_in(n, ZEROS);
  int64_t bits = fe_node_int(n, "bits", 4);
  int64_t size = fe_node_int(n, "block_size", 128);
  if (!fe_dims_of(ir, data, &d) || !fe_dims_of(ir, indices, &ids) ||
      !fe_dims_of(ir, scales, &s) || s.rank != d.rank || !d.rank || size <= 0 ||
      (bits != 2 && bits != 4 && bits != 8))
    return fe_node_error(n, NULL,
                         "data and scales must have the same rank, block_size "
                         "must be positive, bits 2, 4 or 8");
  int64_t axis = fe_node_int(n, "gather_axis", 0);
  int64_t along = fe_node_int(n, "quantize_axis", 1);
  axis += axis < 0 ? d.rank : 0;
  along += along < 0 ? d.rank : 0;
  if (axis < 0 || along < 0 || axis >= d.rank || along >= d.rank)
    return fe_node_error(n, NULL, "the axes do not fit the data");
  fe_dtype t = fe_x_type(data);
  bool packed = t == FE_U8 && bits < 8;
  if (packed && along != d.rank - 1)
    return fe_node_error(n, NULL,
                         "packed data is quantized along its last dimension");
  // Elements of blocks are floats before they can be taken one by one.
  bool late = axis == along;
  unsigned rank = late ? d.rank : d.rank + ids.rank - 1;
  if (!late) {
    data = gather(ir, data, indices, axis);
    scales = gather(ir, scales, indices, axis);
    if (!fe_is_null(zeros))
      zeros = gather(ir, zeros, indices, axis);
  }
  if (fe_is_null(zeros) && t == FE_U8)
    zeros = FE_X(ir, "Expand",
                 fe_constant_scalar(ir, FE_U8, ldexp(1, (int)bits - 1)),
                 FE_X(ir, "Shape", scales));
  int64_t behind = along > axis ? along + ids.rank - 1 : along;
  if (packed) {
    data = fe_x_unpacked(ir, data, bits);
    if (!fe_is_null(fe_node_in(n, ZEROS)))
      zeros = fe_x_slice(ir, fe_x_unpacked(ir, zeros, bits), -1,
                         fe_x_int(ir, 0), fe_x_size(ir, scales, rank - 1));
  }
  if (fe_is_null(data) || fe_is_null(scales))
    return FE_FAILED;
  const MlirValue in[3] = {data, scales, zeros};
  const MlirNamedAttribute attrs[2] = {fe_at_i64(ir, "axis", behind),
                                       fe_at_i64(ir, "block_size", size)};
  MlirValue v = fe_first(fe_onnx(ir, "DequantizeLinear",
                                 fe_is_null(zeros) ? 2 : 3, in, 1, 2, attrs));
  return fe_node_done(late ? gather(ir, v, indices, axis) : v, results);
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def n_bits_attrs[] = {{"K", FE_A_INT, NULL},
                                           {"N", FE_A_INT, NULL},
                                           {"bits", FE_A_INT, "4"},
                                           {"block_size", FE_A_INT, NULL},
                                           {"accuracy_level", FE_A_INT, "0"},
                                           {"weight_prepacked", FE_A_INT, "0"},
                                           {0}};
static const fe_attr_def bnb4_attrs[] = {{"K", FE_A_INT, NULL},
                                         {"N", FE_A_INT, NULL},
                                         {"block_size", FE_A_INT, NULL},
                                         {"quant_type", FE_A_INT, NULL},
                                         {"training_mode", FE_A_INT, "0"},
                                         {"transB", FE_A_INT, "1"},
                                         {0}};
static const fe_attr_def gather_attrs[] = {{"bits", FE_A_INT, "4"},
                                           {"block_size", FE_A_INT, "128"},
                                           {"gather_axis", FE_A_INT, "0"},
                                           {"quantize_axis", FE_A_INT, "1"},
                                           {0}};

const fe_op_row fe_family_contrib_blocks[] = {
    {.name = "MatMulNBits",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "A:T1, B:T2, scales:T1, zero_points?:T3, g_idx?:T4, bias?:T1",
     .outputs = "Y:T1",
     .types = "T1=f32,f16,bf16;T2=u8;T3=u8,f32,f16,bf16;T4=i32",
     .sizes = "A:$K, A:_ $K, A:_ _ $K, A:_ _ _ $K, A:_ _ _ _ $K, B:$N b _, "
              "scales:$N b, zero_points:$N _, bias:$N",
     .attrs = n_bits_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_n_bits,
     .limits = "weights that only the run knows, or whose blocks by g_idx are "
               "of different sizes, are written out as f32"},
    {.name = "MatMulBnb4",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "A:T1, B:T2, absmax:T1",
     .outputs = "Y:T1",
     .types = "T1=f32,f16,bf16;T2=u8",
     .sizes = "A:$K, A:_ $K, A:_ _ $K, A:_ _ _ $K, A:_ _ _ _ $K",
     .attrs = bnb4_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_bnb4,
     .limits = "weights are written out as f32"},
    {.name = "GatherBlockQuantized",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "data:T1, indices:I, scales:T2, zero_points?:T1",
     .outputs = "output:T2",
     .types = "T1=u8,u4,i4;T2=f32,f16,bf16;I=i32,i64",
     .attrs = gather_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_gather},
    {0}};
