//===- half_product.c - matrix products of 16-bit floats ---------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands that are f16 or bf16, or f32 that may be rounded to bf16
// (--precision=bf16); sums are f32. Three ways, by what the processor has:
//
//   pairs     A and B bf16, for dot products of pairs: A is rounded once, in
//             whatever makes it, its rows filled up to whole pairs; B as
//             constant panels, or copied and rounded by the kernel.
//   widened   A f32, B of 16 bits, which the kernel widens as it reads it.
//   f32       where neither saves anything.
//
// Results of other types than f32 are rounded once, in the kernel's epilogue.
//
//===----------------------------------------------------------------------===//
#include "op/half_product.h"
#include "kernel/kernel.h"
#include "op/common.h"
#include "op/lowering.h"
#include "target/target.h"

#define FEW_ROWS 16   // below, copying run-time B costs more than it saves
#define LEAST 16      // of K and N
#define TILE_DEPTH 32 // of K, for tiles of AMX

typedef enum way { F32, WIDENED, PAIRS } way;

typedef struct product {
  fe_lower *l;
  MlirValue a, b;
  bool trans_a, trans_b, constant;
  fe_dtype type;
  int64_t m, n, k; // FE_DYN when unknown
} product;

static bool at_least(int64_t size, int64_t least) {
  return size == FE_DYN || size >= least;
}

static way way_of(const product *p) {
  const fe_lowering *s = p->l->state;
  const fe_target *t = p->l->target;
  bool pays = at_least(p->n, LEAST) && at_least(p->k, LEAST);
  bool many = at_least(p->m, FEW_ROWS);
  bool tiles = t->amx_bf16 && p->constant && many && p->k != FE_DYN &&
               p->k % TILE_DEPTH == 0;
  bool dots = t->dot_bf16 || tiles;
  switch (p->type) {
  case FE_BF16:
    return dots && pays && (p->constant || many) ? PAIRS : WIDENED;
  case FE_F16:
    return p->l->ir->soft_half ? F32 : WIDENED;
  case FE_F32:
    if (!s->bf16 || !pays)
      return F32;
    if (dots)
      return p->constant || many ? PAIRS : F32;
    return p->constant ? WIDENED : F32;
  default:
    return F32;
  }
}

//===-- A -------------------------------------------------------------------//

static MlirValue to_bf16(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)user;
  return fe_round_bf16(ir, x[0]);
}

static MlirValue through_bf16(fe_ir *ir, const MlirValue *x, const void *user) {
  const fe_target *t = user;
  MlirValue v = t->bf16 ? fe_round_bf16(ir, x[0])
                        : fe_convert(ir, x[0], ir->bf16, false, false);
  return fe_convert(ir, v, ir->f32, false, false);
}

static MlirValue same(fe_ir *ir, const MlirValue *x, const void *user) {
  (void)ir, (void)user;
  return x[0];
}

static MlirValue transposed(fe_lower *l, MlirValue a) {
  unsigned rank = fe_rank(a), perm[FE_MAX_RANK];
  MlirValue sizes[FE_MAX_RANK];
  for (unsigned i = 0; i < rank; ++i)
    perm[i] = i + 2 < rank ? i : 2 * rank - 3 - i;
  for (unsigned i = 0; i < rank; ++i)
    sizes[i] = fe_size(l, a, perm[i]);
  return fe_lower_transpose(l, a, rank, perm, sizes);
}

/// As bf16, rows of an odd length filled up with a zero.
static MlirValue paired(const product *p, MlirValue a) {
  fe_lower *l = p->l;
  fe_ir *ir = l->ir;
  if (p->k != FE_DYN && p->k % 2 == 0)
    return p->type == FE_BF16 ? a
                              : fe_map1(l, a, p->type, FE_BF16, to_bf16, NULL);
  unsigned rank = fe_rank(a);
  MlirValue sizes[FE_MAX_RANK], at[FE_MAX_RANK], two = fe_index(ir, 2);
  for (unsigned i = 0; i < rank; ++i)
    sizes[i] = fe_size(l, a, i);
  MlirValue k = sizes[rank - 1];
  sizes[rank - 1] = fe_mul(ir, fe_ceildiv(ir, k, two), two);
  fe_generic *g = fe_generic_begin(l, rank, sizes, 0, NULL, NULL, NULL);
  for (unsigned i = 0; i < rank; ++i)
    at[i] = fe_iter(g, i);
  MlirValue inside = fe_cmp(ir, FE_LT, at[rank - 1], k);
  at[rank - 1] = fe_min(ir, at[rank - 1], fe_sub(ir, k, fe_index(ir, 1)));
  MlirValue v = fe_at(g, a, p->type, rank, at);
  v = fe_select(ir, inside, v, fe_float(ir, ir->f32, 0));
  return fe_generic_end(g, FE_BF16, fe_round_bf16(ir, v));
}

/// What several products take as their A is rounded once.
typedef struct rounded {
  MlirValue value;
  MlirBlock block;
  way way;
  bool trans;
} rounded;

static MlirValue first_operand(const product *p, way w) {
  fe_lower *l = p->l;
  fe_ir *ir = l->ir;
  fe_lowering *s = l->state;
  const rounded *known = fe_map_get_ptr(&s->rounded, p->a.ptr);
  if (known && known->way == w && known->trans == p->trans_a &&
      mlirBlockEqual(known->block, ir->block))
    return known->value;
  MlirValue a = w == PAIRS && p->trans_a ? transposed(l, p->a) : p->a;
  if (w == PAIRS)
    a = paired(p, a);
  else if (p->type == FE_F32)
    a = fe_map1(l, a, FE_F32, FE_F32, through_bf16, l->target);
  else
    a = fe_map1(l, a, p->type, FE_F32, same, NULL);
  rounded *now = FE_NEW(ir->arena, rounded);
  *now = (rounded){a, ir->block, w, p->trans_a};
  fe_map_set_ptr(ir->arena, &s->rounded, p->a.ptr, now);
  return a;
}

//===-- B -------------------------------------------------------------------//

/// Constant B in panels of 16 bits.
static MlirValue panels(const product *p, way w) {
  fe_ir *ir = p->l->ir;
  const char *name = fe_attr_str(ir->arena, fe_def(p->b), "blob", "");
  fe_blob *blob = fe_blob_find(ir->blobs, name);
  unsigned rank = fe_rank(p->b);
  int64_t dims[FE_MAX_RANK + 1], batch = 1;
  for (unsigned i = 0; i + 2 < rank; ++i)
    batch *= dims[i] = fe_static_dim(p->b, i);
  bool pairs = w == PAIRS;
  const fe_blob *packed = fe_contract_pack_half(
      ir, p->l->target, p->type, pairs, blob, batch, p->k, p->n, p->trans_b);
  int64_t width = fe_contract_panel(p->l->target, 32, p->n);
  dims[rank - 2] = (p->n + width - 1) / width;
  dims[rank - 1] = pairs ? (p->k + 1) / 2 : p->k;
  dims[rank] = pairs ? 2 * width : width;
  MlirType elem = p->type == FE_F16 ? ir->f16 : ir->bf16;
  MlirType type = fe_tensor_plain(ir, elem, rank + 1, dims);
  return fe_first(FE_OP(ir, "krnl.weight", FE_TYPES(type),
                        FE_ATTRS(fe_at_str(ir, "blob", packed->name))));
}

static bool is_constant(fe_ir *ir, MlirValue b) {
  MlirOperation def = fe_def(b);
  if (!fe_op_is(def, "krnl.weight") || fe_rank(b) == FE_MAX_RANK)
    return false;
  fe_blob *blob =
      fe_blob_find(ir->blobs, fe_attr_str(ir->arena, def, "blob", ""));
  return blob && fe_blob_data(ir->blobs, blob);
}

MlirValue fe_half_product(fe_lower *l, MlirValue a, bool trans_a, MlirValue b,
                          bool trans_b, fe_dtype t, unsigned rank,
                          const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  unsigned rank_b = fe_rank(b);
  product p = {.l = l,
               .a = a,
               .b = b,
               .trans_a = trans_a,
               .trans_b = trans_b,
               .constant = is_constant(ir, b),
               .type = t,
               .m = fe_static_dim(a, fe_rank(a) - 2 + trans_a),
               .n = fe_static_dim(b, rank_b - 1 - trans_b),
               .k = fe_static_dim(b, rank_b - 2 + trans_b)};
  way w = way_of(&p);
  if (w == F32)
    return (MlirValue){0};
  MlirValue left = first_operand(&p, w);
  MlirValue right = p.constant ? panels(&p, w) : b;
  const char *form = p.constant ? "panels" : trans_b ? "columns" : "rows";
  MlirValue dest = fe_empty_tensor(l->state, ir->f32, rank, sizes);
  MlirType type = mlirValueGetType(dest);
  MlirNamedAttribute trans = fe_at_i64(ir, "trans_a", trans_a && w != PAIRS);
  MlirValue r = fe_first(FE_OP(ir, "krnl.contract",
                               FE_VALUES(left, right, dest), FE_TYPES(type),
                               FE_ATTRS(trans, fe_at_str(ir, "b", form))));
  fe_note_sizes(l->state, r, rank, sizes);
  return t == FE_F32 ? r : fe_map1(l, r, FE_F32, t, same, NULL);
}
