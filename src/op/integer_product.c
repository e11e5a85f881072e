//===- integer_product.c - products of 8-bit integers ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: both operands less their zero points fit into 16 bits; B is laid out
// by columns, when compiling if it is constant. Then every result is a dot
// product of two contiguous rows, which LLVM turns into multiply-add
// instructions of 16-bit pairs. An item is a block of rows by a block of
// columns, so that the columns stay in cache; four columns share the loads of
// a row.
//
//===----------------------------------------------------------------------===//
#include "op/product.h"

#include <string.h>

#define ROWS 64
#define COLUMNS 32
#define TOGETHER 4

typedef struct signs {
  bool x, zero;
} signs;

static MlirValue difference(fe_ir *ir, const MlirValue *x, const void *user) {
  const signs *s = user;
  return fe_sub(ir, fe_convert(ir, x[0], ir->i16, !s->x, false),
                fe_convert(ir, x[1], ir->i16, !s->zero, false));
}
static MlirValue widened(fe_ir *ir, const MlirValue *x, const void *user) {
  const signs *s = user;
  return fe_convert(ir, x[0], ir->i16, !s->x, false);
}

/// v - zero as i16. A zero point per row is [M], or has v's rank already.
static MlirValue less_zero(fe_lower *l, MlirValue v, unsigned operand,
                           unsigned zero, bool rows) {
  fe_dtype t = l->in_type[operand];
  signs s = {fe_dtype_is_signed(t), true};
  MlirValue z = zero < l->n_in ? l->in[zero] : (MlirValue){0};
  if (fe_is_null(z))
    return fe_map1(l, v, t, FE_I16, widened, &s);
  s.zero = fe_dtype_is_signed(l->in_type[zero]);
  if (rows && fe_rank(z) == 1) {
    MlirValue sizes[2] = {fe_size(l, z, 0), fe_index(l->ir, 1)};
    z = fe_reshape(l, z, fe_elem_of(z), 2, sizes);
  }
  MlirValue sizes[FE_MAX_RANK], in[2] = {v, z};
  fe_dtype types[2] = {t, l->in_type[zero]};
  fe_sizes_of(l, v, sizes);
  return fe_pointwise(l, fe_rank(v), sizes, 2, in, types, FE_I16, difference,
                      &s);
}

/// Constant B less a constant zero point as [batch][N][K]; null: not constant.
static MlirValue constant_columns(fe_lower *l, MlirValue b, unsigned operand,
                                  unsigned zero) {
  fe_ir *ir = l->ir;
  fe_const c, z = {0};
  unsigned rank = fe_rank(b);
  bool has_zero = zero < l->n_in && !fe_is_null(l->in[zero]);
  if (!fe_const_of(ir, fe_operand(l->op, operand), &c) ||
      (has_zero && !fe_const_of(ir, fe_operand(l->op, zero), &z)))
    return (MlirValue){0};
  int64_t dims[FE_MAX_RANK], batch = 1;
  for (unsigned i = 0; i < rank; ++i) {
    dims[i] = fe_static_dim(b, i);
    batch *= i + 2 < rank ? dims[i] : 1;
  }
  int64_t k = dims[rank - 2], n = dims[rank - 1];
  if (has_zero && z.count != 1 && z.count != n)
    return (MlirValue){0};
  size_t size = (size_t)(batch * n * k) * sizeof(int16_t);
  int16_t *data = fe_alloc(ir->arena, size + 1), *to = data;
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t y = 0; y < n; ++y)
      for (int64_t x = 0; x < k; ++x) {
        int64_t less = has_zero ? fe_const_i64(&z, z.count == 1 ? 0 : y) : 0;
        *to++ = (int16_t)(fe_const_i64(&c, (i * k + x) * n + y) - less);
      }
  dims[rank - 2] = n;
  dims[rank - 1] = k;
  const fe_blob *blob = fe_blob_add(ir->blobs, "integers", data, size, NULL, 0);
  MlirType type = fe_tensor_plain(ir, ir->i16, rank, dims);
  return fe_first(FE_OP(ir, "krnl.weight", FE_TYPES(type),
                        FE_ATTRS(fe_at_str(ir, "blob", blob->name))));
}

static MlirValue transposed(fe_lower *l, MlirValue b) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(b);
  MlirValue sizes[FE_MAX_RANK];
  MlirAffineExpr e[FE_MAX_RANK];
  fe_sizes_of(l, b, sizes);
  MlirValue k = sizes[rank - 2];
  sizes[rank - 2] = sizes[rank - 1];
  sizes[rank - 1] = k;
  for (unsigned i = 0; i < rank; ++i)
    e[i] = mlirAffineDimExprGet(ir->ctx, i);
  MlirAffineExpr last = e[rank - 1];
  e[rank - 1] = e[rank - 2];
  e[rank - 2] = last;
  MlirAffineMap map = mlirAffineMapGet(ir->ctx, rank, 0, rank, e);
  fe_dtype t = FE_I16;
  fe_generic *g = fe_generic_begin(l, rank, sizes, 1, &b, &t, &map);
  return fe_generic_end(g, t, fe_arg(g, 0));
}

//===-- The kernel ----------------------------------------------------------//

typedef struct integer {
  fe_ir *ir;
  MlirValue a, b, out; // memrefs
  unsigned n_batch;
  MlirValue batch[FE_MAX_RANK]; // subscripts
} integer;

/// Subscripts of an operand: its batch dims, dims of size 1 broadcast.
static unsigned subscripts(const integer *p, MlirValue m, MlirValue x,
                           MlirValue y, MlirValue *idx) {
  fe_ir *ir = p->ir;
  unsigned rank = fe_rank(m), own = rank - 2;
  for (unsigned i = 0; i < own; ++i) {
    MlirValue one = fe_cmp(ir, FE_EQ, fe_dim(ir, m, i), fe_index(ir, 1));
    idx[i] =
        fe_select(ir, one, fe_index(ir, 0), p->batch[p->n_batch - own + i]);
  }
  idx[own] = x;
  idx[own + 1] = y;
  return rank;
}

/// Results of row x, columns [y, y + TOGETHER); columns beyond the last one
/// are the last one again.
static void dot_products(const integer *p, MlirValue x, MlirValue y,
                         MlirValue last) {
  fe_ir *ir = p->ir;
  MlirValue idx[FE_MAX_RANK], column[TOGETHER], acc[TOGETHER];
  for (unsigned c = 0; c < TOGETHER; ++c) {
    column[c] = fe_min(ir, fe_add(ir, y, fe_index(ir, c)), last);
    acc[c] = fe_int(ir, ir->i32, 0);
  }
  MlirValue size = fe_dim(ir, p->a, fe_rank(p->a) - 1);
  fe_region k =
      fe_for_begin(ir, fe_index(ir, 0), size, fe_index(ir, 1), TOGETHER, acc);
  unsigned n = subscripts(p, p->a, x, k.iv, idx);
  MlirValue a =
      fe_convert(ir, fe_load(ir, p->a, n, idx), ir->i32, false, false);
  for (unsigned c = 0; c < TOGETHER; ++c) {
    n = subscripts(p, p->b, column[c], k.iv, idx);
    MlirValue b =
        fe_convert(ir, fe_load(ir, p->b, n, idx), ir->i32, false, false);
    acc[c] = fe_add(ir, fe_block_arg(k.body, 1 + c), fe_mul(ir, a, b));
  }
  fe_for_end(ir, &k, TOGETHER, acc);
  for (unsigned c = 0; c < TOGETHER; ++c) {
    n = subscripts(p, p->out, x, column[c], idx);
    fe_store(ir, fe_result(k.op, c), p->out, n, idx);
  }
}

static MlirValue product(fe_lower *l, MlirValue a, MlirValue b, unsigned rank,
                         const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  MlirValue dest = fe_tensor_empty(l, FE_I32, rank, sizes), in[2] = {a, b};
  fe_kernel k;
  fe_kernel_begin(&k, l, "integer_product", 2, in, 1, &dest, 0, NULL);
  integer p = {.ir = ir,
               .a = k.in[0],
               .b = k.in[1],
               .out = k.out[0],
               .n_batch = rank - 2};
  MlirValue one = fe_index(ir, 1), rows = fe_index(ir, ROWS),
            columns = fe_index(ir, COLUMNS);
  MlirValue m = fe_dim(ir, p.out, rank - 2), n = fe_dim(ir, p.out, rank - 1);
  fe_region item = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  MlirValue across = fe_ceildiv(ir, n, columns);
  MlirValue down = fe_ceildiv(ir, m, rows);
  MlirValue y = fe_mul(ir, fe_remu(ir, item.iv, across), columns);
  MlirValue rest = fe_divu(ir, item.iv, across);
  MlirValue x = fe_mul(ir, fe_remu(ir, rest, down), rows);
  rest = fe_divu(ir, rest, down);
  for (unsigned d = p.n_batch; d-- > 0;) {
    MlirValue size = fe_dim(ir, p.out, d);
    p.batch[d] = fe_remu(ir, rest, size);
    rest = fe_divu(ir, rest, size);
  }
  MlirValue x_end = fe_min(ir, fe_add(ir, x, rows), m);
  MlirValue y_end = fe_min(ir, fe_add(ir, y, columns), n);
  fe_region row = fe_for_begin(ir, x, x_end, one, 0, NULL);
  fe_region column =
      fe_for_begin(ir, y, y_end, fe_index(ir, TOGETHER), 0, NULL);
  dot_products(&p, row.iv, column.iv, fe_sub(ir, n, one));
  fe_loop_end(ir, &column);
  fe_loop_end(ir, &row);
  fe_loop_end(ir, &item);
  MlirAffineExpr items = fe_dim_const(ir, 1);
  for (unsigned d = 0; d < p.n_batch; ++d)
    items = fe_dim_mul(items, fe_kernel_dim(&k, 2, d));
  items = fe_dim_mul(items, fe_dim_ceildiv(fe_kernel_dim(&k, 2, rank - 2),
                                           fe_dim_const(ir, ROWS)));
  items = fe_dim_mul(items, fe_dim_ceildiv(fe_kernel_dim(&k, 2, rank - 1),
                                           fe_dim_const(ir, COLUMNS)));
  MlirAffineExpr size = fe_kernel_dim(&k, 0, fe_rank(a) - 1);
  fe_kernel_end(&k, items,
                fe_dim_mul(size, fe_dim_const(ir, ROWS * COLUMNS / 4)));
  return k.result[0];
}

MlirValue fe_integer_product(fe_lower *l, const fe_matrices *m,
                             const unsigned operands[4]) {
  MlirValue bytes = fe_byte_product(l, m, operands);
  if (!fe_is_null(bytes))
    return bytes;
  MlirValue a = less_zero(l, m->a, operands[0], operands[2], true);
  MlirValue b = constant_columns(l, m->b, operands[1], operands[3]);
  if (fe_is_null(b))
    b = transposed(l, less_zero(l, m->b, operands[1], operands[3], false));
  return product(l, a, b, m->rank, m->sizes);
}
