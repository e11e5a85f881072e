//===- integer_product.c - products of 8-bit integers ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: krnl.integer_contract, with B in panels. Where the processor has dot
// products of bytes, A is taken as unsigned and B as signed, by flipping the
// sign bits and moving the zero points by 128 where they are the other kind;
// what zero points change follows from the sums of B's columns and of A's rows,
// the latter needed only where B has a zero point:
//
//   sum (a - za)(b - zb) = sum a b - za (sum b - K zb) - zb sum a
//
// Both are subtracted behind the product, by its kernel. Elsewhere both
// operands less their zero points become numbers of 16 bits, whose products are
// exact.
//
//===----------------------------------------------------------------------===//
#include "op/integer_product.h"
#include "op/lowering.h"

#include <string.h>

typedef struct product {
  fe_lower *l;
  const fe_matrices *m;
  const unsigned *operands;
  fe_integer_panels p;
  MlirValue za, zb; // null: absent
  MlirValue k;      // index
} product;

enum { A, B, A_ZERO, B_ZERO }; // of `operands`

static fe_dtype type_of(const product *p, unsigned which) {
  return p->l->in_type[p->operands[which]];
}

static MlirValue zero_point(const product *p, unsigned which) {
  unsigned i = p->operands[which];
  return i < p->l->n_in ? p->l->in[i] : (MlirValue){0};
}

static bool constant_of(const product *p, unsigned which, fe_const *c) {
  return fe_const_of(p->l->ir, fe_operand(p->l->op, p->operands[which]), c);
}

/// Whether a zero point is sure to be one number.
static bool is_single(MlirValue z) {
  bool one = true;
  for (unsigned i = 0; i < fe_rank(z); ++i)
    one &= fe_static_dim(z, i) == 1;
  return one;
}

/// One number per row as a column; what has more dims has v's already.
static MlirValue per_row(fe_lower *l, MlirValue z) {
  if (fe_rank(z) != 1 || is_single(z))
    return z;
  MlirValue sizes[2] = {fe_size(l, z, 0), fe_index(l->ir, 1)};
  return fe_reshape(l, z, fe_elem_of(z), 2, sizes);
}

//===-- Elements ------------------------------------------------------------//

typedef struct signs {
  bool x, zero; // signed
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

static MlirValue flipped(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_xor(ir, x[0], fe_int(ir, ir->i8, -128));
}

static MlirValue unsigned_i32(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_convert(ir, x[0], ir->i32, true, false);
}

/// v - zero as i16.
static MlirValue less_zero(fe_lower *l, MlirValue v, fe_dtype t, MlirValue z,
                           fe_dtype zero_type) {
  signs s = {fe_dtype_is_signed(t), fe_dtype_is_signed(zero_type)};
  if (fe_is_null(z))
    return fe_map1(l, v, t, FE_I16, widened, &s);
  MlirValue sizes[FE_MAX_RANK], in[2] = {v, z};
  fe_dtype types[2] = {t, zero_type};
  fe_sizes_of(l, v, sizes);
  return fe_pointwise(l, fe_rank(v), sizes, 2, in, types, FE_I16, difference,
                      &s);
}

//===-- A -------------------------------------------------------------------//

/// Rows of whole elements: what is added repeats the last number.
static MlirValue padded(product *p, MlirValue a, fe_dtype t, MlirValue steps) {
  fe_lower *l = p->l;
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(a);
  MlirValue sizes[FE_MAX_RANK], at[FE_MAX_RANK];
  int64_t k;
  if (fe_size_known(p->k, &k) && k % p->p.numbers == 0)
    return a;
  fe_sizes_of(l, a, sizes);
  sizes[rank - 1] = fe_mul(ir, steps, fe_index(ir, p->p.numbers));
  fe_generic *g = fe_generic_begin(l, rank, sizes, 0, NULL, NULL, NULL);
  for (unsigned i = 0; i < rank; ++i)
    at[i] = fe_iter(g, i);
  at[rank - 1] = fe_min(ir, at[rank - 1], fe_sub(ir, p->k, fe_index(ir, 1)));
  return fe_generic_end(g, t, fe_at(g, a, t, rank, at));
}

/// A in the form of the contraction.
static MlirValue left(product *p, MlirValue a) {
  fe_lower *l = p->l;
  fe_ir *ir = l->ir;
  fe_dtype t = type_of(p, A);
  unsigned rank = fe_rank(a);
  MlirValue steps = fe_ceildiv(ir, p->k, fe_index(ir, p->p.numbers));
  a = padded(p, a, t, steps);
  if (p->p.dot == FE_DOT_S16)
    a = less_zero(l, a, t, fe_is_null(p->za) ? p->za : per_row(l, p->za),
                  fe_is_null(p->za) ? t : type_of(p, A_ZERO));
  else if (t == FE_I8)
    a = fe_map1(l, a, FE_I8, FE_U8, flipped, NULL);
  MlirValue sizes[FE_MAX_RANK];
  fe_sizes_of(l, a, sizes);
  sizes[rank - 1] = steps;
  return fe_reshape(l, a, ir->i32, rank, sizes);
}

//===-- B -------------------------------------------------------------------//

/// Sums of the columns of constant bytes as they are in the panels.
static MlirValue constant_sums(product *p, const fe_integer_constant *c,
                               unsigned rank, const int64_t *dims) {
  fe_ir *ir = p->l->ir;
  const uint8_t *data = c->data.data;
  bool flip = p->p.flip;
  int32_t *sums = FE_NEW_N(ir->arena, int32_t, (size_t)(c->batch * c->n) + 1);
  for (int64_t i = 0; i < c->batch; ++i)
    for (int64_t x = 0; x < c->k; ++x)
      for (int64_t y = 0; y < c->n; ++y)
        sums[i * c->n + y] +=
            (int8_t)(data[(i * c->k + x) * c->n + y] ^ (flip ? 0x80 : 0));
  int64_t size[FE_MAX_RANK];
  memcpy(size, dims, rank * sizeof *size);
  size[rank - 2] = 1;
  const fe_blob *blob =
      fe_blob_add(ir->blobs, "integer.sums", sums,
                  (size_t)(c->batch * c->n) * sizeof *sums, NULL, 0);
  MlirType type = fe_tensor_plain(ir, ir->i32, rank, size);
  return fe_first(FE_OP(ir, "krnl.weight", FE_TYPES(type),
                        FE_ATTRS(fe_at_str(ir, "blob", blob->name))));
}

/// Constant B; false: it is not, or its zero point is not where that is needed.
static bool constant_right(product *p, MlirValue b) {
  fe_integer_constant c = {.batch = 1};
  unsigned rank = fe_rank(b);
  int64_t dims[FE_MAX_RANK];
  bool pairs = p->p.dot == FE_DOT_S16;
  if (rank == FE_MAX_RANK || !constant_of(p, B, &c.data) ||
      (pairs && !fe_is_null(p->zb) && !constant_of(p, B_ZERO, &c.zero)))
    return false;
  for (unsigned i = 0; i < rank; ++i) {
    dims[i] = fe_static_dim(b, i);
    c.batch *= i + 2 < rank ? dims[i] : 1;
  }
  c.k = dims[rank - 2];
  c.n = dims[rank - 1];
  if (c.zero.count > 1 && (c.zero.count != c.n || fe_rank(p->zb) != 1))
    return false;
  fe_integer_pack_constant(p->l, &p->p, &c, rank, dims);
  bool shifted = !fe_is_null(p->za) || type_of(p, A) == FE_I8;
  if (!pairs && shifted)
    p->p.sums = constant_sums(p, &c, rank, dims);
  return true;
}

static void right(product *p, MlirValue b) {
  if (constant_right(p, b))
    return;
  if (p->p.dot == FE_DOT_S16)
    b = less_zero(p->l, b, type_of(p, B), p->zb,
                  fe_is_null(p->zb) ? type_of(p, B) : type_of(p, B_ZERO));
  fe_integer_pack(p->l, &p->p, b);
}

//===-- Zero points ---------------------------------------------------------//

/// Inputs of what is subtracted, in this order, as far as they are there.
enum { SUM, SUMS, ZA, ZB, ROWS };
typedef struct correction {
  bool has[5];
  signs signs;     // of zero points: of A, of B
  int32_t a, b;    // added to them: bytes of the other kind
  MlirValue steps; // K, index; null: not subtracted from the sums
} correction;

/// Without SUM: za (sums - K zb), of which za may be left for later; with it,
/// SUM - za sums - zb rows.
static MlirValue corrected(fe_ir *ir, const MlirValue *x, const void *user) {
  const correction *c = user;
  MlirValue in[5] = {{0}};
  for (unsigned i = 0, n = 0; i < 5; ++i)
    if (c->has[i])
      in[i] = x[n++];
  MlirValue sums = in[SUMS], zb = fe_int(ir, ir->i32, c->b);
  if (c->has[ZB])
    zb = fe_add(ir, fe_convert(ir, in[ZB], ir->i32, !c->signs.zero, false), zb);
  if (!fe_is_null(c->steps)) {
    int64_t k;
    MlirValue steps = fe_index_const(c->steps, &k)
                          ? fe_int(ir, ir->i32, k)
                          : fe_convert(ir, c->steps, ir->i32, false, false);
    sums = fe_sub(ir, sums, fe_mul(ir, zb, steps));
  }
  MlirValue za = fe_int(ir, ir->i32, c->a);
  if (c->has[ZA])
    za = fe_add(ir, fe_convert(ir, in[ZA], ir->i32, !c->signs.x, false), za);
  if (c->has[SUMS] && (c->has[ZA] || c->a))
    sums = fe_mul(ir, za, sums);
  if (!c->has[SUM])
    return sums;
  MlirValue v = in[SUM];
  if (c->has[SUMS])
    v = fe_sub(ir, v, sums);
  return c->has[ROWS] ? fe_sub(ir, v, fe_mul(ir, zb, in[ROWS])) : v;
}

/// One number for all columns of a matrix, or a vector of them: in numpy's
/// way, as it is.
static MlirValue apply(product *p, correction *c, unsigned rank,
                       const MlirValue *sizes, const MlirValue v[5]) {
  MlirValue in[5];
  fe_dtype types[5];
  unsigned n = 0;
  for (unsigned i = 0; i < 5; ++i)
    if (c->has[i]) {
      types[n] = i == ZA   ? type_of(p, A_ZERO)
                 : i == ZB ? type_of(p, B_ZERO)
                           : FE_I32;
      in[n++] = v[i];
    }
  return fe_pointwise(p->l, rank, sizes, n, in, types, FE_I32, corrected, c);
}

/// Whether B's zero point, of signed bytes, is known to be 0.
static bool no_zero(const product *p) {
  int64_t flip = p->p.flip ? 128 : 0;
  fe_const c;
  if (fe_is_null(p->zb))
    return !flip;
  if (!constant_of(p, B_ZERO, &c))
    return false;
  for (int64_t i = 0; i < c.count; ++i)
    if (fe_const_i64(&c, i) != flip)
      return false;
  return true;
}

static MlirValue row_sums(product *p, MlirValue a) {
  if (type_of(p, A) == FE_I8)
    a = fe_map1(p->l, a, FE_I8, FE_U8, flipped, NULL);
  const fe_reduction add = {
      .type = FE_I32, .element = unsigned_i32, .combine = fe_element_add};
  return fe_reduce(p->l, a, FE_U8, 1u << (fe_rank(a) - 1), true, &add);
}

/// The sums of bytes less what their zero points make.
static MlirValue less_zeros(product *p, MlirValue a, MlirValue sum) {
  fe_lower *l = p->l;
  const fe_matrices *m = p->m;
  bool za = !fe_is_null(p->za), a_signed = type_of(p, A) == FE_I8;
  bool shifted = za || a_signed, zb = !no_zero(p);
  fe_const zero;
  double number;
  // A zero point of 0 that is known.
  if (za && !a_signed && constant_of(p, A_ZERO, &zero) && zero.count == 1 &&
      fe_const_scalar(l->ir, fe_operand(l->op, p->operands[A_ZERO]), &number))
    shifted = number != 0;
  if (!shifted && !zb)
    return sum;
  bool per_column = !fe_is_null(p->zb);
  signs signs = {za && fe_dtype_is_signed(type_of(p, A_ZERO)),
                 per_column && fe_dtype_is_signed(type_of(p, B_ZERO))};
  correction c = {.signs = signs};
  MlirValue v[5] = {sum, p->p.sums, za ? per_row(l, p->za) : p->za, p->zb};
  bool by_row = za && !is_single(p->za);
  c.b = zb && p->p.flip ? -128 : 0;
  c.a = a_signed ? 128 : 0;
  if (shifted && (!by_row || zb)) { // what all rows share is found once
    correction share = c;
    share.has[SUMS] = true;
    share.has[ZA] = za && !by_row;
    share.has[ZB] = zb && per_column;
    share.a = by_row ? 0 : c.a;
    share.steps = zb ? p->k : (MlirValue){0};
    MlirValue sizes[FE_MAX_RANK];
    fe_sizes_of(l, p->p.sums, sizes);
    v[SUMS] = apply(p, &share, fe_rank(p->p.sums), sizes, v);
  }
  c.has[SUM] = true;
  c.has[SUMS] = shifted;
  c.has[ZA] = shifted && by_row;
  c.a = by_row ? c.a : 0;
  c.has[ZB] = zb && per_column;
  c.has[ROWS] = zb;
  if (zb)
    v[ROWS] = row_sums(p, a);
  return apply(p, &c, m->rank, m->sizes, v);
}

//===-- The product ---------------------------------------------------------//

/// Nothing to be computed: numbers of 32 bits as any others.
static MlirValue of_nothing(product *p) {
  fe_lower *l = p->l;
  const fe_matrices *m = p->m;
  MlirValue a = fe_to_type(l, m->a, type_of(p, A), FE_I32);
  MlirValue b = fe_to_type(l, m->b, type_of(p, B), FE_I32);
  return fe_lower_contract(l, a, false, b, false, FE_I32, m->rank, m->sizes);
}

static bool is_empty(MlirValue v) {
  for (unsigned i = 0; i < fe_rank(v); ++i)
    if (fe_static_dim(v, i) == 0)
      return true;
  return false;
}

MlirValue fe_integer_product(fe_lower *l, const fe_matrices *m,
                             const unsigned operands[4]) {
  fe_ir *ir = l->ir;
  product p = {.l = l, .m = m, .operands = operands};
  if (is_empty(m->a) || is_empty(m->b))
    return of_nothing(&p);
  p.p.dot = fe_dot_choose(l->target, &p.p.numbers);
  p.p.flip = p.p.dot == FE_DOT_U8S8 && type_of(&p, B) == FE_U8;
  p.za = zero_point(&p, A_ZERO);
  p.zb = zero_point(&p, B_ZERO);
  bool fixed = fe_static_dim(m->b, fe_rank(m->b) - 2) != FE_DYN;
  p.k = fixed ? fe_size(l, m->b, fe_rank(m->b) - 2)
              : fe_size(l, m->a, fe_rank(m->a) - 1);
  right(&p, m->b);
  MlirValue a = left(&p, m->a);
  MlirValue dest = fe_tensor_empty(l, FE_I32, m->rank, m->sizes);
  MlirType type = mlirValueGetType(dest);
  MlirValue r = fe_first(FE_OP(
      ir, "krnl.integer_contract", FE_VALUES(a, p.p.panels, dest),
      FE_TYPES(type), FE_ATTRS(fe_at_str(ir, "dot", fe_dot_name(p.p.dot)))));
  fe_note_sizes(l->state, r, m->rank, m->sizes);
  return p.p.dot == FE_DOT_U8S8 ? less_zeros(&p, m->a, r) : r;
}
