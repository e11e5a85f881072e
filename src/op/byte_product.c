//===- byte_product.c - products of bytes by dot instructions ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: vpdpbusd adds four products of an unsigned by a signed byte to every
// 32-bit lane. So A is taken as unsigned and B as signed, by flipping the sign
// bits and moving the zero points by 128 where they are the other kind.
// Constant B lies in panels [K / 4][width][4]; a register tile of rows x panel
// width runs over all of K, four bytes of A broadcast at a time. What the zero
// points change follows from the sums of B's columns, known when compiling, and
// of A's rows, which are needed only where B has a zero point.
//
//   sum (a - za)(b - zb) = sum a b - za sum (b - zb) - zb sum a
//
// Rows that do not fill tiles: the last tile overlaps rows that are done.
//
//===----------------------------------------------------------------------===//
#include "op/product.h"
#include "target/target.h"

#include <string.h>

#define VECTORS 3    // of a panel
#define ROW_BLOCK 64 // rows of an item

typedef struct bytes {
  fe_lower *l;
  unsigned lanes, height; // i32 in a vector, rows of a tile
  int64_t width, k, steps, n, panels;
  bool has_zero;                            // B has zero points
  MlirValue panel_data, column_sums, zeros; // tensors
} bytes;

//===-- Constant B ----------------------------------------------------------//

static MlirValue weight(bytes *p, const char *name, MlirType elem,
                        unsigned rank, const int64_t *dims, void *data,
                        size_t size) {
  fe_ir *ir = p->l->ir;
  const fe_blob *blob = fe_blob_add(ir->blobs, name, data, size, NULL, 0);
  MlirType type = fe_tensor_plain(ir, elem, rank, dims);
  return fe_first(FE_OP(ir, "krnl.weight", FE_TYPES(type),
                        FE_ATTRS(fe_at_str(ir, "blob", blob->name))));
}

/// Panels, sums of columns and zero points of constant B [K][N].
static void pack(bytes *p, const fe_const *b, const fe_const *zero) {
  fe_ir *ir = p->l->ir;
  int64_t columns = p->panels * p->width, flip = b->dtype == FE_U8 ? 128 : 0;
  size_t size = (size_t)(columns * p->steps * 4);
  int8_t *data = fe_alloc(ir->arena, size);
  int32_t *sums = FE_NEW_N(ir->arena, int32_t, (size_t)columns);
  int32_t *zeros = FE_NEW_N(ir->arena, int32_t, (size_t)columns);
  for (int64_t y = 0; y < p->n; ++y) {
    int64_t z = zero ? fe_const_i64(zero, zero->count == 1 ? 0 : y) : 0;
    zeros[y] = (int32_t)(z - flip);
    p->has_zero |= zeros[y] != 0;
    int64_t sum = 0;
    int8_t *panel = data + y / p->width * p->steps * p->width * 4;
    for (int64_t x = 0; x < p->k; ++x) {
      int64_t v = fe_const_i64(b, x * p->n + y) - flip;
      panel[(x / 4 * p->width + y % p->width) * 4 + x % 4] = (int8_t)v;
      sum += v - zeros[y];
    }
    sums[y] = (int32_t)(uint32_t)sum;
  }
  int64_t dims[3] = {p->panels, p->steps, p->width * 4};
  p->panel_data = weight(p, "bytes.panels", ir->i8, 3, dims, data, size);
  size_t line = (size_t)columns * sizeof(int32_t);
  p->column_sums = weight(p, "bytes.sums", ir->i32, 1, &columns, sums, line);
  p->zeros = weight(p, "bytes.zeros", ir->i32, 1, &columns, zeros, line);
}

//===-- A -------------------------------------------------------------------//

/// A as unsigned bytes, rows filled up with zeros to whole steps.
static MlirValue unsigned_rows(bytes *p, MlirValue a, fe_dtype t) {
  fe_lower *l = p->l;
  fe_ir *ir = l->ir;
  if (t == FE_U8 && p->k % 4 == 0)
    return a;
  MlirValue sizes[2] = {fe_size(l, a, 0), fe_index(ir, p->steps * 4)};
  fe_generic *g = fe_generic_begin(l, 2, sizes, 0, NULL, NULL, NULL);
  MlirValue x = fe_iter(g, 1), last = fe_index(ir, p->k - 1);
  MlirValue at[2] = {fe_iter(g, 0), fe_min(ir, x, last)};
  MlirValue v = fe_at(g, a, t, 2, at);
  if (t == FE_I8)
    v = fe_xor(ir, v, fe_int(ir, ir->i8, -128));
  MlirValue inside = fe_cmp(ir, FE_LE, x, last);
  v = fe_select(ir, inside, v, fe_int(ir, ir->i8, 0));
  return fe_generic_end(g, FE_U8, v);
}

static MlirValue widen(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_convert(ir, x[0], ir->i32, true, false);
}

//===-- The kernel ----------------------------------------------------------//

typedef struct tiles {
  bytes *p;
  fe_ir *ir;
  MlirValue a, b, sums, zeros, row_sums, zero, out; // memrefs; null: absent
  MlirValue panel, column, shift;                   // shift: A's zero point
} tiles;

static MlirValue cast_lanes(fe_ir *ir, MlirValue v, unsigned n, MlirType elem) {
  return fe_first(FE_OP(ir, "vector.bitcast", FE_VALUES(v),
                        FE_TYPES(fe_vector_type(ir, n, elem))));
}

static MlirValue dot(tiles *t, MlirValue acc, MlirValue a, MlirValue b) {
  fe_ir *ir = t->ir;
  const char *name =
      fe_printf(ir->arena, "llvm.x86.avx512.vpdpbusd.%u", t->p->lanes * 32);
  int32_t segments[2] = {3, 0};
  MlirType type = mlirValueGetType(acc);
  return fe_first(
      FE_OP(ir, "llvm.call_intrinsic", FE_VALUES(acc, a, b), FE_TYPES(type),
            FE_ATTRS(fe_at_str(ir, "intrin", name),
                     fe_named(ir, "op_bundle_sizes",
                              mlirDenseI32ArrayGet(ir->ctx, 0, NULL)),
                     fe_named(ir, "operandSegmentSizes",
                              mlirDenseI32ArrayGet(ir->ctx, 2, segments)))));
}

static MlirValue column_vector(tiles *t, MlirValue m, unsigned j) {
  fe_ir *ir = t->ir;
  MlirValue at = fe_add(ir, t->column, fe_index(ir, (int64_t)j * t->p->lanes));
  return fe_vload(ir, t->p->lanes, m, 1, &at);
}

/// Rows [row, row + height) of the panel.
static void tile(tiles *t, MlirValue row, unsigned height) {
  fe_ir *ir = t->ir;
  bytes *p = t->p;
  unsigned n = height * VECTORS, lanes = p->lanes;
  MlirValue *acc = FE_NEW_N(ir->arena, MlirValue, n), line[8];
  for (unsigned i = 0; i < height; ++i)
    line[i] = fe_add(ir, row, fe_index(ir, i));
  for (unsigned j = 0; j < VECTORS; ++j) {
    MlirValue start = fe_int(ir, fe_vector_type(ir, lanes, ir->i32), 0);
    if (!fe_is_null(t->shift))
      start = fe_sub(ir, start,
                     fe_mul(ir, fe_splat(ir, t->shift, lanes),
                            column_vector(t, t->sums, j)));
    for (unsigned i = 0; i < height; ++i) {
      acc[i * VECTORS + j] = start;
      if (fe_is_null(t->row_sums))
        continue;
      MlirValue sum = fe_load(ir, t->row_sums, 1, &line[i]);
      acc[i * VECTORS + j] = fe_sub(
          ir, start,
          fe_mul(ir, fe_splat(ir, sum, lanes), column_vector(t, t->zeros, j)));
    }
  }
  fe_region k = fe_for_begin(ir, fe_index(ir, 0), fe_index(ir, p->steps),
                             fe_index(ir, 1), n, acc);
  MlirValue b[VECTORS], *next = FE_NEW_N(ir->arena, MlirValue, n);
  for (unsigned j = 0; j < VECTORS; ++j)
    b[j] =
        fe_vload(ir, lanes * 4, t->b,
                 FE_IDX(t->panel, k.iv, fe_index(ir, (int64_t)j * lanes * 4)));
  MlirValue x = fe_mul(ir, k.iv, fe_index(ir, 4));
  for (unsigned i = 0; i < height; ++i) {
    MlirValue four = fe_vload(ir, 4, t->a, FE_IDX(line[i], x));
    MlirValue one = fe_first(
        FE_OP(ir, "vector.extract", FE_VALUES(cast_lanes(ir, four, 1, ir->i32)),
              FE_TYPES(ir->i32),
              FE_ATTRS(fe_at_i64s(ir, "static_position", 1, (int64_t[]){0}))));
    MlirValue wide =
        cast_lanes(ir, fe_splat(ir, one, lanes), lanes * 4, ir->i8);
    for (unsigned j = 0; j < VECTORS; ++j)
      next[i * VECTORS + j] =
          dot(t, fe_block_arg(k.body, 1 + i * VECTORS + j), wide, b[j]);
  }
  fe_for_end(ir, &k, n, next);
  MlirValue left = fe_sub(ir, fe_index(ir, p->n), t->column);
  for (unsigned i = 0; i < height; ++i)
    for (unsigned j = 0; j < VECTORS; ++j) {
      MlirValue offset = fe_index(ir, (int64_t)j * lanes);
      MlirValue at[2] = {line[i], fe_add(ir, t->column, offset)};
      MlirValue v = fe_result(k.op, i * VECTORS + j);
      if (p->n % p->width == 0)
        fe_vstore(ir, v, t->out, 2, at);
      else
        fe_vstore_masked(ir, v, fe_sub(ir, left, offset), t->out, 2, at);
    }
}

/// Rows [first, last) in tiles of one height, the last one moved back so that
/// it fits.
static void block(tiles *t, MlirValue first, MlirValue last, unsigned height) {
  fe_ir *ir = t->ir;
  MlirValue h = fe_index(ir, height), end = fe_dim(ir, t->out, 0);
  fe_region r = fe_for_begin(ir, first, last, h, 0, NULL);
  MlirValue row = fe_min(ir, r.iv, fe_sub(ir, end, h));
  tile(t, row, height);
  fe_loop_end(ir, &r);
}

static void item(tiles *t, MlirValue number) {
  fe_ir *ir = t->ir;
  bytes *p = t->p;
  MlirValue panels = fe_index(ir, p->panels), size = fe_index(ir, ROW_BLOCK);
  MlirValue rows = fe_dim(ir, t->out, 0);
  t->panel = fe_remu(ir, number, panels);
  t->column = fe_mul(ir, t->panel, fe_index(ir, p->width));
  MlirValue first = fe_mul(ir, fe_divu(ir, number, panels), size);
  MlirValue last = fe_min(ir, fe_add(ir, first, size), rows);
  int64_t fixed = fe_static_dim(t->out, 0);
  if (fixed != FE_DYN) {
    block(t, first, last, fixed < p->height ? (unsigned)fixed : p->height);
    return;
  }
  MlirValue fits = fe_cmp(ir, FE_GE, rows, fe_index(ir, p->height));
  fe_region r = fe_if_begin(ir, fits, 0, NULL, true);
  block(t, first, last, p->height);
  fe_if_else(ir, &r, 0, NULL);
  block(t, first, last, 1);
  fe_if_end(ir, &r, 0, NULL);
}

static MlirValue kernel(bytes *p, MlirValue a, MlirValue row_sums,
                        MlirValue zero, fe_dtype zero_type, unsigned operand) {
  fe_lower *l = p->l;
  fe_ir *ir = l->ir;
  MlirValue sizes[2] = {fe_size(l, a, 0), fe_index(ir, p->n)}, in[6];
  MlirValue dest = fe_tensor_empty(l, FE_I32, 2, sizes);
  unsigned n = 0;
  in[n++] = a;
  in[n++] = p->panel_data;
  in[n++] = p->column_sums;
  if (p->has_zero) {
    in[n++] = p->zeros;
    in[n++] = row_sums;
  }
  if (!fe_is_null(zero))
    in[n++] = zero;
  fe_kernel k;
  fe_kernel_begin(&k, l, "byte_product", n, in, 1, &dest, 0, NULL);
  tiles t = {.p = p,
             .ir = ir,
             .a = k.in[0],
             .b = k.in[1],
             .sums = k.in[2],
             .out = k.out[0]};
  if (p->has_zero) {
    t.zeros = k.in[3];
    t.row_sums = k.in[4];
  }
  // A's zero point as that of unsigned bytes; without one, 128 of signed ones.
  if (!fe_is_null(zero)) {
    MlirValue first = fe_index(ir, 0);
    bool is_unsigned = zero_type == FE_U8;
    t.shift = fe_convert(ir, fe_load(ir, k.in[n - 1], 1, &first), ir->i32,
                         is_unsigned, false);
    if (!is_unsigned)
      t.shift = fe_add(ir, t.shift, fe_int(ir, ir->i32, 128));
  } else if (l->in_type[operand] == FE_I8) {
    t.shift = fe_int(ir, ir->i32, 128);
  }
  fe_region i = fe_for_begin(ir, k.begin, k.end, fe_index(ir, 1), 0, NULL);
  item(&t, i.iv);
  fe_loop_end(ir, &i);
  MlirAffineExpr rows = fe_kernel_dim(&k, n, 0);
  MlirAffineExpr blocks = fe_dim_ceildiv(rows, fe_dim_const(ir, ROW_BLOCK));
  int64_t cost = p->width * p->k / 16 + 1;
  fe_kernel_end(&k, fe_dim_mul(blocks, fe_dim_const(ir, p->panels)),
                fe_dim_const(ir, cost * ROW_BLOCK));
  return k.result[0];
}

MlirValue fe_byte_product(fe_lower *l, const fe_matrices *m,
                          const unsigned operands[4]) {
  fe_ir *ir = l->ir;
  const MlirValue none = {0};
  fe_const b, zb;
  unsigned a_zero = operands[2], b_zero = operands[3];
  MlirValue za = a_zero < l->n_in ? l->in[a_zero] : none;
  bool has_zb = b_zero < l->n_in && !fe_is_null(l->in[b_zero]);
  if (!l->target->dot_u8s8 || fe_rank(m->b) != 2 ||
      !fe_const_of(ir, fe_operand(l->op, operands[1]), &b) || !b.count ||
      (has_zb && !fe_const_of(ir, fe_operand(l->op, b_zero), &zb)))
    return none;
  for (unsigned i = 0; !fe_is_null(za) && i < fe_rank(za); ++i)
    if (fe_static_dim(za, i) != 1)
      return none; // one per row
  bytes p = {.l = l, .k = fe_static_dim(m->b, 0), .n = fe_static_dim(m->b, 1)};
  if (has_zb && zb.count != 1 && zb.count != p.n)
    return none;
  p.lanes = l->target->vector_bits / 32;
  p.height = l->target->vector_registers >= 32 ? 8 : 4;
  p.width = (int64_t)VECTORS * p.lanes;
  p.steps = (p.k + 3) / 4;
  p.panels = (p.n + p.width - 1) / p.width;
  pack(&p, &b, has_zb ? &zb : NULL);
  unsigned rank = fe_rank(m->a);
  MlirValue flat[2] = {fe_sizes_product(l, m->a, 0, rank - 1),
                       fe_index(ir, p.k)};
  fe_dtype t = l->in_type[operands[0]];
  MlirValue a = fe_reshape(l, m->a, fe_elem_of(m->a), 2, flat);
  a = unsigned_rows(&p, a, t);
  const fe_reduction add = {
      .type = FE_I32, .element = widen, .combine = fe_element_add};
  MlirValue sums = p.has_zero ? fe_reduce(l, a, FE_U8, 2, false, &add) : none;
  MlirValue one = fe_index(ir, 1);
  if (!fe_is_null(za))
    za = fe_reshape(l, za, fe_elem_of(za), 1, &one);
  MlirValue v =
      kernel(&p, a, sums, za,
             fe_is_null(za) ? FE_UNDEFINED : l->in_type[a_zero], operands[0]);
  return fe_reshape(l, v, ir->i32, m->rank, m->sizes);
}
