//===- vector.c - vector code that generators have in common --------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"

#include <mlir-c/BuiltinAttributes.h>

MlirValue fe_vfma(const fe_gen *g, MlirValue a, MlirValue b, MlirValue c) {
  // Without the instruction vector.fma would become calls of fmaf.
  return g->target->fma ? fe_fma(g->ir, a, b, c)
                        : fe_add(g->ir, fe_mul(g->ir, a, b), c);
}

MlirValue fe_round_bf16(fe_ir *ir, MlirValue v) {
  MlirType t = mlirValueGetType(v);
  if (mlirTypeEqual(fe_elem_of(v), ir->bf16))
    return v;
  return fe_first(FE_OP(ir, "arith.truncf", FE_VALUES(v),
                        FE_TYPES(fe_type_like(ir, t, ir->bf16))));
}

MlirValue fe_splat_pair(fe_ir *ir, MlirValue pair, unsigned lanes) {
  MlirValue word = fe_bitcast(ir, pair, fe_vector_type(ir, 1, ir->i32));
  word = fe_first(
      FE_OP(ir, "vector.extract", FE_VALUES(word), FE_TYPES(ir->i32),
            FE_ATTRS(fe_at_i64s(ir, "static_position", 1, (int64_t[]){0}))));
  return fe_bitcast(ir, fe_splat(ir, word, lanes),
                    fe_vector_type(ir, 2 * (int64_t)lanes, ir->bf16));
}

MlirValue fe_dot_bf16(const fe_gen *g, MlirValue acc, MlirValue a,
                      MlirValue b) {
  fe_ir *ir = g->ir;
  const char *name = fe_printf(ir->arena, "llvm.x86.avx512bf16.dpbf16ps.%u",
                               g->target->vector_bits);
  MlirValue in[3] = {acc, a, b};
  return fe_intrinsic(ir, name, 3, in, mlirValueGetType(acc));
}

unsigned fe_gen_lanes(const fe_gen *g, MlirType elem) {
  unsigned bits = fe_dtype_bits(fe_dtype_of_elem(elem));
  unsigned lanes = bits ? g->target->vector_bits / bits : 4;
  return lanes < 4 && bits < 64 ? 4 : lanes;
}

MlirValue fe_shuffle(fe_ir *ir, MlirValue a, MlirValue b, unsigned n,
                     const int64_t *lanes) {
  MlirType type = fe_vector_type(ir, n, fe_elem_of(a));
  return fe_first(FE_OP(ir, "vector.shuffle", FE_VALUES(a, b), FE_TYPES(type),
                        FE_ATTRS(fe_at_i64s(ir, "mask", n, lanes))));
}

/// Lane l of the result: from a, at l + from_a, where bit d of l is clear, else
/// from b. One step of exchanging blocks of d lanes between two rows.
static void exchange(fe_ir *ir, unsigned n, unsigned d, MlirValue *a,
                     MlirValue *b) {
  int64_t low[64], high[64];
  for (unsigned l = 0; l < n; ++l) {
    low[l] = l & d ? n + l - d : l;
    high[l] = l & d ? n + l : l + d;
  }
  MlirValue x = fe_shuffle(ir, *a, *b, n, low);
  *b = fe_shuffle(ir, *a, *b, n, high);
  *a = x;
}

/// By unpck and shufps patterns, which x86 has as single instructions.
void fe_vtranspose_quads(fe_ir *ir, unsigned n, MlirValue *r) {
  int64_t lo1[64], hi1[64], lo2[64], hi2[64];
  for (unsigned q = 0; q < n; q += 4)
    for (unsigned l = 0; l < 4; ++l) {
      unsigned other = l & 1 ? n : 0, upper = l & 2 ? n : 0;
      lo1[q + l] = other + q + l / 2;
      hi1[q + l] = other + q + l / 2 + 2;
      lo2[q + l] = upper + q + (l & 1);
      hi2[q + l] = upper + q + (l & 1) + 2;
    }
  MlirValue t[4] = {
      fe_shuffle(ir, r[0], r[1], n, lo1), fe_shuffle(ir, r[0], r[1], n, hi1),
      fe_shuffle(ir, r[2], r[3], n, lo1), fe_shuffle(ir, r[2], r[3], n, hi1)};
  for (unsigned i = 0; i < 2; ++i) {
    r[2 * i] = fe_shuffle(ir, t[i], t[i + 2], n, lo2);
    r[2 * i + 1] = fe_shuffle(ir, t[i], t[i + 2], n, hi2);
  }
}

void fe_vtranspose(fe_ir *ir, unsigned n, MlirValue *rows) {
  unsigned d = 1;
  if (n >= 4) {
    for (unsigned i = 0; i < n; i += 4)
      fe_vtranspose_quads(ir, n, rows + i);
    d = 4;
  }
  for (; d < n; d *= 2)
    for (unsigned i = 0; i < n; ++i)
      if (!(i & d))
        exchange(ir, n, d, &rows[i], &rows[i + d]);
}

MlirValue fe_vmax(fe_ir *ir, MlirValue a, MlirValue b) {
  return fe_select(ir, fe_cmp(ir, FE_GT, a, b), a, b);
}

MlirValue fe_vmax_lanes(fe_ir *ir, MlirValue v) {
  unsigned n = (unsigned)mlirShapedTypeGetDimSize(mlirValueGetType(v), 0);
  for (unsigned half = n / 2; half; half /= 2) {
    int64_t lanes[64];
    for (unsigned i = 0; i < n; ++i)
      lanes[i] = i ^ half;
    v = fe_vmax(ir, v, fe_shuffle(ir, v, v, n, lanes));
  }
  return fe_first(
      FE_OP(ir, "vector.extract", FE_VALUES(v), FE_TYPES(fe_elem_of(v)),
            FE_ATTRS(fe_at_i64s(ir, "static_position", 1, (int64_t[]){0}))));
}

/// A number in all lanes. `zero`, where not null, is an i32 that is 0: what
/// depends on it cannot be moved out of the loop in which that is computed.
static MlirValue held(fe_ir *ir, MlirType t, double c, MlirValue zero) {
  MlirValue v = fe_float(ir, t, c);
  if (fe_is_null(zero))
    return v;
  int64_t n = mlirShapedTypeGetDimSize(t, 0);
  MlirValue bits = fe_bitcast(ir, v, fe_vector_type(ir, n, ir->i32));
  return fe_bitcast(ir, fe_add(ir, bits, fe_splat(ir, zero, n)), t);
}

MlirValue fe_vexp2_in(const fe_gen *g, MlirValue x, MlirValue zero) {
  // 2^x = 2^n * 2^f, f in [-1/2, 1/2]; minimax polynomial (Lawson) for 2^f with
  // the constant term 1, so that whole numbers are exact; n is added to the
  // exponent's bits. Rounding by the magic number needs no instruction for it.
  static const double c[] = {0.00132647633, 0.00967151157, 0.0555073361,
                             0.240222421,   0.693146978,   1.0};
  fe_ir *ir = g->ir;
  MlirType t = mlirValueGetType(x);
  MlirValue low = held(ir, t, -127, zero);
  x = fe_select(ir, fe_cmp(ir, FE_LT, x, low), low, x);
  MlirValue magic = held(ir, t, 12582912.0, zero); // 1.5 * 2^23
  MlirValue shifted = fe_add(ir, x, magic);
  MlirValue f = fe_sub(ir, x, fe_sub(ir, shifted, magic));
  MlirValue p = held(ir, t, c[0], zero);
  for (unsigned i = 1; i < FE_COUNT(c); ++i)
    p = fe_vfma(g, p, f, held(ir, t, c[i], zero));
  // The low bits of `shifted` are n: shifted left by 23 the magic's vanish.
  MlirType bits = fe_vector_type(ir, mlirShapedTypeGetDimSize(t, 0), ir->i32);
  MlirValue n = fe_shl(ir, fe_bitcast(ir, shifted, bits), fe_int(ir, bits, 23));
  return fe_bitcast(ir, fe_add(ir, fe_bitcast(ir, p, bits), n), t);
}

MlirValue fe_vexp2(const fe_gen *g, MlirValue x) {
  return fe_vexp2_in(g, x, (MlirValue){0});
}

static void prefetch(fe_ir *ir, MlirValue memref, MlirValue index, int level,
                     bool write) {
  MlirNamedAttribute locality =
      fe_named(ir, "localityHint", mlirIntegerAttrGet(ir->i32, level));
  FE_OP(ir, "memref.prefetch", FE_VALUES(memref, index),
        FE_ATTRS(fe_named(ir, "isWrite", mlirBoolAttrGet(ir->ctx, write)),
                 locality,
                 fe_named(ir, "isDataCache", mlirBoolAttrGet(ir->ctx, 1))));
}

void fe_prefetch(fe_ir *ir, MlirValue memref, MlirValue index, int level) {
  prefetch(ir, memref, index, level, false);
}

void fe_prefetch_write(fe_ir *ir, MlirValue memref, MlirValue index) {
  prefetch(ir, memref, index, 3, true);
}
