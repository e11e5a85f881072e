//===- block_product.c - products with weights of few bits -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BlockProduct is an operator of Ferrule's own: MatMulNBits and products with
// what DequantizeLinear makes of constant blocks become it. The weights are
// read as they are packed here, which is what a product with few rows waits
// for; they become floats in registers:
//
//   words  [groups][words of a row][COLUMNS]  numbers of one column, along k,
//                                             the first in the lowest bits
//   scales [groups][blocks of a row][COLUMNS]
//   zeros  the same; absent: half of the range
//
// A number of up to 8 bits becomes a float without a conversion: below the
// exponent of 2^23 it is 2^23 + number, from which 2^23 + zero is subtracted,
// exactly where zero is a whole number.
//
// With many rows a panel of PANEL_K numbers by COLUMNS columns is written out
// once and multiplied with all rows. Groups of columns are the parallel extent.
//
//===----------------------------------------------------------------------===//
#include "op/block_product.h"
#include "op/common.h"
#include "op/compose.h"
#include "target/target.h"

enum { X, WORDS, SCALES, ZEROS };
enum {
  COLUMNS = 32,    // of a group
  VECTORS = 2,     // of columns at a time
  IN_FLIGHT = 8,   // sums that hide the latency of an addition
  PANEL_ROWS = 16, // from so many rows on a panel pays
  PANEL_TILE = 8,  // rows at a time then; with few registers half
  PANEL_BYTES = 1 << 15
};
#define MAGIC 8388608.0 // 2^23
#define MAGIC_BITS 0x4B000000

static int64_t per_word(unsigned bits) { return 32 / bits; }

//===-- Packing -------------------------------------------------------------//

bool fe_blocks_pack(const fe_blocks *b) {
  return b->size % per_word(b->bits) == 0;
}

MlirValue fe_block_product(fe_ir *ir, MlirValue a, const fe_blocks *b) {
  int64_t each = per_word(b->bits), groups = (b->n + COLUMNS - 1) / COLUMNS;
  int64_t words = (b->k + each - 1) / each;
  int64_t blocks = (b->k + b->size - 1) / b->size;
  int64_t n_words = groups * words * COLUMNS,
          n_scales = groups * blocks * COLUMNS;
  uint32_t *packed = FE_NEW_N(ir->arena, uint32_t, (size_t)n_words);
  float *scales = FE_NEW_N(ir->arena, float, (size_t)n_scales);
  float *zeros = FE_NEW_N(ir->arena, float, (size_t)n_scales);
  double half = 1 << (b->bits - 1);
  bool has_zeros = false, whole = true;
  for (int64_t row = 0; row < b->n; ++row) {
    int64_t group = row / COLUMNS, column = row % COLUMNS;
    uint32_t *to = packed + group * words * COLUMNS + column;
    for (int64_t i = 0; i < b->k; ++i)
      to[i / each * COLUMNS] |= (uint32_t)b->number(b->user, row, i)
                                << i % each * b->bits;
    for (int64_t i = 0; i < blocks; ++i) {
      int64_t at = (group * blocks + i) * COLUMNS + column;
      double zero = b->zero(b->user, row, i);
      scales[at] = (float)b->scale(b->user, row, i);
      zeros[at] = (float)zero;
      has_zeros |= zero != half;
      whole &= zero >= 0 && zero <= 255 && zero == (int)zero;
    }
  }
  if (words * each > b->k) { // x reaches as far as the words do
    fe_dims d;
    if (!fe_dims_of(ir, a, &d))
      return (MlirValue){0};
    int64_t pads[2 * FE_MAX_RANK] = {0};
    pads[2 * d.rank - 1] = words * each - b->k;
    a = FE_X(ir, "Pad", a, fe_x_ints(ir, 2 * d.rank, pads));
  }
  const int64_t word_dims[3] = {groups, words, COLUMNS};
  const int64_t scale_dims[3] = {groups, blocks, COLUMNS};
  MlirValue in[4] = {a,
                     fe_constant(ir, "weights", FE_I32, 3, word_dims, packed),
                     fe_constant(ir, "scales", FE_F32, 3, scale_dims, scales)};
  if (has_zeros)
    in[ZEROS] = fe_constant(ir, "zeros", FE_F32, 3, scale_dims, zeros);
  const MlirNamedAttribute attrs[4] = {
      fe_at_i64(ir, "N", b->n), fe_at_i64(ir, "bits", b->bits),
      fe_at_i64(ir, "block_size", b->size), fe_at_i64(ir, "whole", whole)};
  return fe_first(fe_onnx(ir, "ms_block_product", 4, in, 1, 4, attrs));
}

//===-- The kernel ----------------------------------------------------------//

typedef struct product {
  fe_kernel k;
  fe_ir *ir;
  int64_t n, bits, size, words, blocks, lanes, tile;
  bool whole, has_zeros, fma;
  MlirType floats, ints;
  MlirValue group, column;       // of the first vector, in the group
  MlirValue panel, first, count; // the part of k that is written out
} product;

static MlirValue fused(const product *p, MlirValue a, MlirValue b,
                       MlirValue c) {
  return p->fma ? fe_fma(p->ir, a, b, c)
                : fe_add(p->ir, fe_mul(p->ir, a, b), c);
}

static MlirValue vector_of(const product *p, unsigned operand, MlirValue row,
                           unsigned v) {
  fe_ir *ir = p->ir;
  MlirValue column = fe_add(ir, p->column, fe_index(ir, v * p->lanes));
  MlirValue at[3] = {p->group, row, column};
  return fe_vload(ir, p->lanes, p->k.in[operand], 3, at);
}

/// What is subtracted from 2^23 + number.
static MlirValue zero_of(const product *p, MlirValue block, unsigned v) {
  fe_ir *ir = p->ir;
  if (!p->has_zeros)
    return fe_float(ir, p->floats, MAGIC + (1 << (p->bits - 1)));
  MlirValue zero = vector_of(p, ZEROS, block, v);
  return p->whole ? fe_add(ir, zero, fe_float(ir, p->floats, MAGIC)) : zero;
}

/// number - zero, of place i in the words.
static MlirValue number_of(const product *p, MlirValue words, int64_t i,
                           MlirValue zero) {
  fe_ir *ir = p->ir;
  MlirValue v = words;
  if (i)
    v = fe_shru(ir, v, fe_int(ir, p->ints, i * p->bits));
  v = fe_and(ir, v, fe_int(ir, p->ints, (1 << p->bits) - 1));
  v = fe_bitcast(ir, fe_or(ir, v, fe_int(ir, p->ints, MAGIC_BITS)), p->floats);
  if (!p->whole)
    v = fe_sub(ir, v, fe_float(ir, p->floats, MAGIC));
  return fe_sub(ir, v, zero);
}

static MlirValue row_at(const product *p, MlirValue row, unsigned i) {
  return fe_add(p->ir, row, fe_index(p->ir, i));
}

static MlirValue element(const product *p, MlirValue row, MlirValue k) {
  MlirValue at[2] = {row, k};
  return fe_splat(p->ir, fe_load(p->ir, p->k.in[X], 2, at), p->lanes);
}

/// The columns that there are of a vector, from `column` of the group.
static MlirValue result_column(const product *p, unsigned v) {
  fe_ir *ir = p->ir;
  MlirValue first = fe_mul(ir, p->group, fe_index(ir, COLUMNS));
  first = fe_add(ir, first, p->column);
  return fe_add(ir, first, fe_index(ir, v * p->lanes));
}

static MlirValue active(const product *p, MlirValue column) {
  fe_ir *ir = p->ir;
  MlirValue left = fe_sub(ir, fe_index(ir, p->n), column);
  return fe_max(ir, fe_min(ir, left, fe_index(ir, p->lanes)), fe_index(ir, 0));
}

static void store_result(const product *p, MlirValue row, unsigned v,
                         MlirValue sum) {
  MlirValue at[2] = {row, result_column(p, v)};
  if (p->n % COLUMNS == 0)
    fe_vstore(p->ir, sum, p->k.out[0], 2, at);
  else
    fe_vstore_masked(p->ir, sum, active(p, at[1]), p->k.out[0], 2, at);
}

/// The words of a block: [from, to).
static void words_of(const product *p, MlirValue block, MlirValue *from,
                     MlirValue *to) {
  fe_ir *ir = p->ir;
  MlirValue each = fe_index(ir, p->size / per_word((unsigned)p->bits));
  *from = fe_mul(ir, block, each);
  *to = fe_min(ir, fe_add(ir, *from, each), fe_index(ir, p->words));
}

/// `rows` rows from `row` on, each number used as soon as it is a float. A
/// block's sum is multiplied with the scale.
static void direct_tile(const product *p, unsigned rows, MlirValue row) {
  fe_ir *ir = p->ir;
  unsigned n = rows * VECTORS, chains = IN_FLIGHT / n ? IN_FLIGHT / n : 1;
  unsigned each = (unsigned)per_word((unsigned)p->bits);
  chains = chains > each ? each : chains;
  MlirValue zero = fe_float(ir, p->floats, 0), total[IN_FLIGHT], sum[IN_FLIGHT];
  for (unsigned i = 0; i < n; ++i)
    total[i] = zero;
  fe_region blocks = fe_for_begin(ir, fe_index(ir, 0), fe_index(ir, p->blocks),
                                  fe_index(ir, 1), n, total);
  MlirValue from, to, point[VECTORS];
  words_of(p, blocks.iv, &from, &to);
  for (unsigned v = 0; v < VECTORS; ++v)
    point[v] = zero_of(p, blocks.iv, v);
  for (unsigned i = 0; i < n * chains; ++i)
    sum[i] = zero;
  fe_region words =
      fe_for_begin(ir, from, to, fe_index(ir, 1), n * chains, sum);
  for (unsigned i = 0; i < n * chains; ++i)
    sum[i] = fe_block_arg(words.body, 1 + i);
  MlirValue packed[VECTORS], k = fe_mul(ir, words.iv, fe_index(ir, each));
  for (unsigned v = 0; v < VECTORS; ++v)
    packed[v] = vector_of(p, WORDS, words.iv, v);
  for (unsigned i = 0; i < each; ++i) {
    MlirValue q[VECTORS], at = fe_add(ir, k, fe_index(ir, i));
    for (unsigned v = 0; v < VECTORS; ++v)
      q[v] = number_of(p, packed[v], i, point[v]);
    for (unsigned r = 0; r < rows; ++r) {
      MlirValue x = element(p, row_at(p, row, r), at);
      for (unsigned v = 0; v < VECTORS; ++v) {
        MlirValue *s = &sum[i % chains * n + r * VECTORS + v];
        *s = fused(p, x, q[v], *s);
      }
    }
  }
  fe_for_end(ir, &words, n * chains, sum);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue s = fe_result(words.op, i);
    for (unsigned c = 1; c < chains; ++c)
      s = fe_add(ir, s, fe_result(words.op, c * n + i));
    MlirValue scale = vector_of(p, SCALES, blocks.iv, i % VECTORS);
    total[i] = fused(p, s, scale, fe_block_arg(blocks.body, 1 + i));
  }
  fe_for_end(ir, &blocks, n, total);
  for (unsigned i = 0; i < n; ++i)
    store_result(p, row_at(p, row, i / VECTORS), i % VECTORS,
                 fe_result(blocks.op, i));
}

typedef void tile_fn(const product *p, unsigned rows, MlirValue row);

/// Rows [from, end) that fill tiles of `rows`; gives where they end.
static MlirValue each_tile(const product *p, unsigned rows, MlirValue from,
                           MlirValue end, tile_fn *tile) {
  fe_ir *ir = p->ir;
  MlirValue step = fe_index(ir, rows);
  MlirValue whole = fe_divu(ir, fe_sub(ir, end, from), step);
  MlirValue to = fe_add(ir, from, fe_mul(ir, whole, step));
  fe_region loop = fe_for_begin(ir, from, to, step, 0, NULL);
  tile(p, rows, loop.iv);
  fe_loop_end(ir, &loop);
  return to;
}

static void all_tiles(const product *p, unsigned rows, MlirValue end,
                      tile_fn *tile) {
  MlirValue from = fe_index(p->ir, 0);
  for (; rows; rows /= 2)
    from = each_tile(p, rows, from, end, tile);
}

static void direct(const product *p, MlirValue rows) {
  all_tiles(p, p->tile / 2, rows, direct_tile);
}

/// The words [from, to) as floats: [numbers][VECTORS * lanes].
static void write_panel(const product *p, MlirValue from, MlirValue to) {
  fe_ir *ir = p->ir;
  int64_t each = per_word((unsigned)p->bits);
  fe_region words = fe_for_begin(ir, from, to, fe_index(ir, 1), 0, NULL);
  MlirValue block = fe_divu(ir, words.iv, fe_index(ir, p->size / each));
  MlirValue k = fe_mul(ir, fe_sub(ir, words.iv, from), fe_index(ir, each));
  for (unsigned v = 0; v < VECTORS; ++v) {
    MlirValue packed = vector_of(p, WORDS, words.iv, v);
    MlirValue scale = vector_of(p, SCALES, block, v);
    MlirValue zero = zero_of(p, block, v);
    for (int64_t i = 0; i < each; ++i) {
      MlirValue x = fe_mul(ir, number_of(p, packed, i, zero), scale);
      MlirValue at[2] = {fe_add(ir, k, fe_index(ir, i)),
                         fe_index(ir, v * p->lanes)};
      fe_vstore(ir, x, p->panel, 2, at);
    }
  }
  fe_loop_end(ir, &words);
}

/// Zeros for the first panel, then what is there.
static void sums_so_far(const product *p, unsigned rows, MlirValue row,
                        MlirValue *sum) {
  fe_ir *ir = p->ir;
  unsigned n = rows * VECTORS;
  MlirType types[PANEL_TILE * VECTORS];
  for (unsigned i = 0; i < n; ++i) {
    types[i] = p->floats;
    sum[i] = fe_float(ir, p->floats, 0);
  }
  MlirValue none = fe_cmp(ir, FE_EQ, p->first, fe_index(ir, 0));
  fe_region first = fe_if_begin(ir, none, n, types, true);
  fe_if_else(ir, &first, n, sum);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue column = result_column(p, i % VECTORS);
    MlirValue at[2] = {row_at(p, row, i / VECTORS), column};
    sum[i] = p->n % COLUMNS ? fe_vload_masked(ir, p->lanes, active(p, column),
                                              p->k.out[0], 2, at)
                            : fe_vload(ir, p->lanes, p->k.out[0], 2, at);
  }
  fe_if_end(ir, &first, n, sum);
  for (unsigned i = 0; i < n; ++i)
    sum[i] = fe_result(first.op, i);
}

static void panel_tile(const product *p, unsigned rows, MlirValue row) {
  fe_ir *ir = p->ir;
  unsigned n = rows * VECTORS;
  MlirValue sum[PANEL_TILE * VECTORS], w[VECTORS];
  sums_so_far(p, rows, row, sum);
  fe_region loop =
      fe_for_begin(ir, fe_index(ir, 0), p->count, fe_index(ir, 1), n, sum);
  MlirValue k = fe_add(ir, p->first, loop.iv);
  for (unsigned v = 0; v < VECTORS; ++v) {
    MlirValue at[2] = {loop.iv, fe_index(ir, v * p->lanes)};
    w[v] = fe_vload(ir, p->lanes, p->panel, 2, at);
  }
  for (unsigned r = 0; r < rows; ++r) {
    MlirValue x = element(p, row_at(p, row, r), k);
    for (unsigned v = 0; v < VECTORS; ++v) {
      unsigned i = r * VECTORS + v;
      sum[i] = fused(p, x, w[v], fe_block_arg(loop.body, 1 + i));
    }
  }
  fe_for_end(ir, &loop, n, sum);
  for (unsigned i = 0; i < n; ++i)
    store_result(p, row_at(p, row, i / VECTORS), i % VECTORS,
                 fe_result(loop.op, i));
}

static void panels(product *p, MlirValue rows) {
  fe_ir *ir = p->ir;
  int64_t each = per_word((unsigned)p->bits);
  int64_t width = VECTORS * p->lanes, words = PANEL_BYTES / 4 / width / each;
  const int64_t dims[2] = {words * each, width};
  p->panel = fe_alloca(ir, fe_memref_type(ir, ir->f32, 2, dims));
  fe_region loop = fe_for_begin(ir, fe_index(ir, 0), fe_index(ir, p->words),
                                fe_index(ir, words), 0, NULL);
  MlirValue to = fe_min(ir, fe_add(ir, loop.iv, fe_index(ir, words)),
                        fe_index(ir, p->words));
  write_panel(p, loop.iv, to);
  p->first = fe_mul(ir, loop.iv, fe_index(ir, each));
  p->count = fe_mul(ir, fe_sub(ir, to, loop.iv), fe_index(ir, each));
  all_tiles(p, (unsigned)p->tile, rows, panel_tile);
  fe_loop_end(ir, &loop);
}

//===-- The operator --------------------------------------------------------//

static fe_status infer_block_product(fe_infer *f) {
  fe_dims x;
  if (fe_in_dims(f, X, &x))
    return FE_FAILED;
  if (!x.rank)
    return fe_infer_error(f, NULL, "the input must have a dimension");
  x.d[x.rank - 1] = fe_dim_const(f->ir, fe_attr_i64(f->attrs, "N", 0));
  fe_out_tensor(f, 0, FE_F32, &x);
  return FE_OK;
}

static void write_kernel(product *p) {
  fe_ir *ir = p->ir;
  MlirValue rows = fe_dim(ir, p->k.in[X], 0);
  fe_region groups =
      fe_for_begin(ir, p->k.begin, p->k.end, fe_index(ir, 1), 0, NULL);
  p->group = groups.iv;
  fe_region columns = fe_for_begin(ir, fe_index(ir, 0), fe_index(ir, COLUMNS),
                                   fe_index(ir, VECTORS * p->lanes), 0, NULL);
  p->column = columns.iv;
  int64_t known = fe_static_dim(p->k.in[X], 0);
  if (known != FE_DYN) {
    if (known >= PANEL_ROWS)
      panels(p, rows);
    else
      direct(p, rows);
  } else {
    MlirValue many = fe_cmp(ir, FE_GE, rows, fe_index(ir, PANEL_ROWS));
    fe_region which = fe_if_begin(ir, many, 0, NULL, true);
    panels(p, rows);
    fe_if_else(ir, &which, 0, NULL);
    direct(p, rows);
    fe_if_end(ir, &which, 0, NULL);
  }
  fe_loop_end(ir, &columns);
  fe_loop_end(ir, &groups);
}

static fe_status lower_block_product(fe_lower *l) {
  fe_ir *ir = l->ir;
  product p = {.ir = ir,
               .n = fe_attr_i64(l->op, "N", 0),
               .bits = fe_attr_i64(l->op, "bits", 4),
               .size = fe_attr_i64(l->op, "block_size", 0),
               .whole = fe_attr_i64(l->op, "whole", 1) != 0,
               .words = fe_static_dim(l->in[WORDS], 1),
               .blocks = fe_static_dim(l->in[SCALES], 1),
               .has_zeros = l->n_in > ZEROS && !fe_is_null(l->in[ZEROS]),
               .lanes = fe_lanes_f32(l->target),
               .fma = l->target->fma};
  // Wider than the groups' halves no processor is yet.
  if (p.lanes > COLUMNS / VECTORS)
    p.lanes = COLUMNS / VECTORS;
  p.tile = l->target->vector_registers < 32 ? PANEL_TILE / 2 : PANEL_TILE;
  p.floats = fe_vector_type(ir, p.lanes, ir->f32);
  p.ints = fe_vector_type(ir, p.lanes, ir->i32);
  unsigned rank = fe_rank(l->in[X]);
  MlirValue sizes[FE_MAX_RANK], rows = fe_index(ir, 1);
  fe_sizes_of(l, l->in[X], sizes);
  for (unsigned i = 0; i + 1 < rank; ++i)
    rows = fe_mul(ir, rows, sizes[i]);
  MlirValue flat[2] = {rows, sizes[rank - 1]};
  MlirValue in[4] = {fe_reshape(l, l->in[X], ir->f32, 2, flat)};
  for (unsigned i = 1; i < 3u + p.has_zeros; ++i)
    in[i] = l->in[i];
  flat[1] = fe_index(ir, p.n);
  MlirValue out = fe_tensor_empty(l, FE_F32, 2, flat);
  fe_kernel_begin(&p.k, l, "block_product", 3u + p.has_zeros, in, 1, &out, 0,
                  NULL);
  write_kernel(&p);
  MlirAffineExpr cost =
      fe_dim_const(ir, 2 * COLUMNS * p.words * per_word((unsigned)p.bits));
  fe_kernel_end(&p.k, fe_kernel_dim(&p.k, WORDS, 0),
                fe_dim_mul(fe_kernel_dim(&p.k, X, 0), cost));
  sizes[rank - 1] = flat[1];
  l->out[0] = fe_reshape(l, p.k.result[0], ir->f32, rank, sizes);
  return FE_OK;
}

static const fe_attr_def attrs[] = {{"N", FE_A_INT, NULL},
                                    {"bits", FE_A_INT, NULL},
                                    {"block_size", FE_A_INT, NULL},
                                    {"whole", FE_A_INT, NULL},
                                    {0}};

const fe_op_row fe_family_block_product[] = {
    {.name = "BlockProduct",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "X:T, words:I, scales:T, zeros?:T",
     .outputs = "Y:T",
     .types = "T=f32;I=i32",
     .attrs = attrs,
     .infer = infer_block_product,
     .lower = lower_block_product,
     .limits = "internal: what MatMulNBits and blocks of constants become"},
    {0}};
