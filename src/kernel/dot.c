//===- dot.c - dot products within elements -------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vpdpbusd adds four products of an unsigned by a signed byte to every lane of
// 32 bits, pmaddwd the two of signed numbers of 16 bits; none of their sums
// saturates. Where there is neither, pairs are taken apart by shifts.
//
// Four unsigned bytes are two pairs of 16 bits after a mask and a shift.
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"

#include <mlir-c/BuiltinAttributes.h>

#include <string.h>

static const struct {
  const char *name, *explain;
} kinds[] = {[FE_DOT_NONE] = {"", "outer products"},
             [FE_DOT_U8S8] = {"bytes", "dot products of four bytes"},
             [FE_DOT_S16] = {"pairs", "dot products of pairs"}};

fe_dot fe_dot_named(const char *name) {
  for (unsigned i = FE_DOT_NONE + 1; i < FE_COUNT(kinds); ++i)
    if (!strcmp(kinds[i].name, name))
      return (fe_dot)i;
  return FE_DOT_NONE;
}

const char *fe_dot_name(fe_dot dot) { return kinds[dot].name; }

const char *fe_dot_explain(fe_dot dot) { return kinds[dot].explain; }

fe_dot fe_dot_choose(const fe_target *t, unsigned *numbers) {
  *numbers = t->dot_u8s8 ? 4 : 2;
  return t->dot_u8s8 ? FE_DOT_U8S8 : FE_DOT_S16;
}

fe_dot fe_dot_choose_bytes(const fe_target *t, bool signed_bytes) {
  if (t->dot_u8s8 && signed_bytes)
    return FE_DOT_U8S8;
  return t->dot_s16 ? FE_DOT_S16 : FE_DOT_NONE;
}

MlirValue fe_intrinsic(fe_ir *ir, const char *name, unsigned n,
                       const MlirValue *operands, MlirType type) {
  int32_t segments[2] = {(int32_t)n, 0};
  return fe_first(
      FE_OP(ir, "llvm.call_intrinsic", .n_operands = n, .operands = operands,
            FE_TYPES(type),
            FE_ATTRS(fe_at_str(ir, "intrin", name),
                     fe_named(ir, "op_bundle_sizes",
                              mlirDenseI32ArrayGet(ir->ctx, 0, NULL)),
                     fe_named(ir, "operandSegmentSizes",
                              mlirDenseI32ArrayGet(ir->ctx, 2, segments)))));
}

/// Lanes of 32 bits as numbers of `elem`, of `bits`.
static MlirValue apart(fe_ir *ir, MlirValue v, MlirType elem, unsigned bits) {
  int64_t lanes = fe_static_dim(v, 0) * 32 / bits;
  return fe_first(FE_OP(ir, "vector.bitcast", FE_VALUES(v),
                        FE_TYPES(fe_vector_type(ir, lanes, elem))));
}

static MlirValue bytes(const fe_gen *g, MlirValue x, MlirValue w,
                       MlirValue acc) {
  fe_ir *ir = g->ir;
  unsigned bits = (unsigned)fe_static_dim(acc, 0) * 32;
  const char *name = fe_printf(ir->arena, "llvm.x86.avx512.vpdpbusd.%u", bits);
  MlirValue in[3] = {acc, apart(ir, x, ir->i8, 8), apart(ir, w, ir->i8, 8)};
  return fe_intrinsic(ir, name, 3, in, mlirValueGetType(acc));
}

/// The lower (or upper) 16 bits of every lane, with their sign.
static MlirValue half(fe_ir *ir, MlirValue v, bool upper) {
  MlirValue n = fe_int(ir, mlirValueGetType(v), 16);
  return fe_shrs(ir, upper ? v : fe_shl(ir, v, n), n);
}

static MlirValue pairs(const fe_gen *g, MlirValue a, MlirValue b, MlirValue c) {
  fe_ir *ir = g->ir;
  unsigned bits = (unsigned)fe_static_dim(c, 0) * 32;
  if (g->target->dot_s16) {
    const char *name = bits == 128   ? "llvm.x86.sse2.pmadd.wd"
                       : bits == 256 ? "llvm.x86.avx2.pmadd.wd"
                                     : "llvm.x86.avx512.pmaddw.d.512";
    MlirValue in[2] = {apart(ir, a, ir->i16, 16), apart(ir, b, ir->i16, 16)};
    return fe_add(ir, c, fe_intrinsic(ir, name, 2, in, mlirValueGetType(c)));
  }
  for (unsigned upper = 0; upper < 2; ++upper)
    c = fe_add(ir, c, fe_mul(ir, half(ir, a, upper), half(ir, b, upper)));
  return c;
}

MlirValue fe_vdot(const fe_gen *g, fe_dot dot, MlirValue a, MlirValue b,
                  MlirValue c) {
  switch (dot) {
  case FE_DOT_U8S8:
    return bytes(g, a, b, c);
  case FE_DOT_S16:
    return pairs(g, a, b, c);
  case FE_DOT_NONE:
    break;
  }
  return fe_vfma(g, a, b, c);
}

//===-- Images of bytes -----------------------------------------------------//

void fe_dot_put(fe_dot dot, int32_t *rows, int64_t width, int64_t lane,
                unsigned i, int value) {
  if (dot == FE_DOT_S16)
    ((int16_t *)(rows + i % 2 * width + lane))[i / 2] = (int16_t)value;
  else
    ((int8_t *)(rows + lane))[i] = (int8_t)value;
}

MlirValue fe_dot_word(const fe_gen *g, MlirValue bytes, MlirValue word,
                      unsigned lanes, bool flip) {
  fe_ir *ir = g->ir;
  MlirValue at = fe_mul(ir, word, fe_index(ir, FE_DOT_BYTES));
  MlirValue four = fe_vload(ir, FE_DOT_BYTES, bytes, FE_IDX(at));
  MlirValue one = fe_first(FE_OP(ir, "vector.bitcast", FE_VALUES(four),
                                 FE_TYPES(fe_vector_type(ir, 1, ir->i32))));
  one = fe_first(
      FE_OP(ir, "vector.extract", FE_VALUES(one), FE_TYPES(ir->i32),
            FE_ATTRS(fe_at_i64s(ir, "static_position", 1, (int64_t[]){0}))));
  MlirValue x = fe_splat(ir, one, lanes);
  return flip ? fe_xor(ir, x, fe_int(ir, mlirValueGetType(x), -2139062144)) : x;
}

MlirValue fe_dot_four(const fe_gen *g, fe_dot dot, MlirValue acc, MlirValue x,
                      const MlirValue *w) {
  if (dot != FE_DOT_S16)
    return fe_vdot(g, dot, x, w[0], acc);
  fe_ir *ir = g->ir;
  MlirType words = mlirValueGetType(x);
  MlirValue even = fe_and(ir, x, fe_int(ir, words, 0x00ff00ff));
  MlirValue odd = apart(ir, x, ir->i16, 16);
  odd = fe_shru(ir, odd, fe_int(ir, mlirValueGetType(odd), 8));
  odd = fe_bitcast(ir, odd, words);
  acc = pairs(g, even, w[0], acc);
  return pairs(g, odd, w[1], acc);
}
