//===- bytes.c - vector code for bytes ------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limiting: converting rounds, and packing limits: two thirds of the
// instructions that it takes to round and limit floats, and whole vectors of
// bytes to store. Squares of bytes: four rows in a vector, so that groups of
// four bytes are transposed like numbers of 32 bits, and then within vectors.
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"

static unsigned lanes_of(MlirValue v) {
  return (unsigned)mlirShapedTypeGetDimSize(mlirValueGetType(v), 0);
}

static MlirValue cast(fe_ir *ir, MlirValue v, unsigned n, MlirType elem) {
  return fe_first(FE_OP(ir, "vector.bitcast", FE_VALUES(v),
                        FE_TYPES(fe_vector_type(ir, n, elem))));
}

/// Pairs of vectors to one of elements half as wide, limited, within each 128
/// bits: "ssdw", "uswb" or "sswb".
static MlirValue pack(fe_ir *ir, const char *kind, MlirValue a, MlirValue b) {
  unsigned bits = fe_dtype_bits(fe_dtype_of_elem(fe_elem_of(a))) / 2;
  unsigned n = 2 * lanes_of(a);
  MlirValue in[2] = {a, b};
  const char *name = fe_printf(ir->arena,
                               n * bits == 512   ? "llvm.x86.avx512.pack%s.512"
                               : n * bits == 256 ? "llvm.x86.avx2.pack%s"
                                                 : "llvm.x86.sse2.pack%s.128",
                               kind);
  return fe_intrinsic(ir, name, 2, in,
                      fe_vector_type(ir, n, bits == 16 ? ir->i16 : ir->i8));
}

/// A vector of one number, twice as long and of i16.
static MlirValue as_words(fe_ir *ir, MlirValue v) {
  unsigned n = lanes_of(v);
  int64_t lanes[64] = {0};
  v = fe_convert(ir, v, fe_vector_type(ir, n, ir->i32), false, false);
  v = fe_convert(ir, v, fe_vector_type(ir, n, ir->i16), false, false);
  return fe_shuffle(ir, v, v, 2 * n, lanes);
}

bool fe_limits_bytes(const fe_gen *g, unsigned lanes) {
  return g->target->dot_s16 && (lanes == 4 || lanes == 8 || lanes == 16);
}

MlirValue fe_limited_bytes(const fe_gen *g, unsigned n, const MlirValue *v,
                           MlirValue zero, bool is_signed) {
  fe_ir *ir = g->ir;
  unsigned lanes = lanes_of(v[0]), quads = lanes / 4;
  MlirType type = mlirValueGetType(v[0]);
  MlirType whole = fe_vector_type(ir, lanes, ir->i32);
  // What is too large for i32 would become the smallest number, as do NaN and
  // what is too small.
  MlirValue large = fe_float(ir, type, 1e9), r[4];
  for (unsigned i = 0; i < n; ++i) {
    MlirValue x = fe_select(ir, fe_cmp(ir, FE_LT, v[i], large), v[i], large);
    r[i] = fe_intrinsic(ir, "llvm.lrint", 1, &x, whole);
  }
  for (unsigned i = n; i < 4; ++i)
    r[i] = r[i - n];
  MlirValue a = pack(ir, "ssdw", r[0], r[1]);
  MlirValue b = n > 2 ? pack(ir, "ssdw", r[2], r[3]) : a;
  if (!fe_is_null(zero)) {
    MlirValue in[2] = {a, as_words(ir, zero)};
    a = fe_intrinsic(ir, "llvm.sadd.sat", 2, in, mlirValueGetType(a));
    in[0] = b;
    b = n > 2 ? fe_intrinsic(ir, "llvm.sadd.sat", 2, in, mlirValueGetType(b))
              : a;
  }
  MlirValue all = pack(ir, is_signed ? "sswb" : "uswb", a, b);
  // Every 128 bits hold four lanes of each vector.
  int64_t order[64];
  for (unsigned i = 0; i < n; ++i)
    for (unsigned q = 0; q < quads; ++q)
      order[i * quads + q] = 4 * q + i;
  all = cast(ir, all, lanes, ir->i32);
  all = fe_shuffle(ir, all, all, n * quads, order);
  return cast(ir, all, n * lanes, ir->i8);
}

//===-- Squares -------------------------------------------------------------//

/// Lane i: channel i / 4, pixel i % 4, from pixels one behind the other; or
/// back.
static MlirValue by_fours(fe_ir *ir, MlirValue v, bool to_pixels) {
  int64_t order[64];
  for (unsigned channel = 0; channel < 16; ++channel)
    for (unsigned pixel = 0; pixel < 4; ++pixel) {
      unsigned a = 4 * channel + pixel, b = 16 * pixel + channel;
      order[to_pixels ? b : a] = to_pixels ? a : b;
    }
  return fe_shuffle(ir, v, v, 64, order);
}

MlirValue fe_joined(fe_ir *ir, MlirValue a, MlirValue b) {
  int64_t order[64];
  unsigned n = lanes_of(a);
  for (unsigned i = 0; i < 2 * n; ++i)
    order[i] = i;
  return fe_shuffle(ir, a, b, 2 * n, order);
}

void fe_bytes_to_pixels(fe_ir *ir, const MlirValue *channels,
                        MlirValue *pixels) {
  for (unsigned j = 0; j < 4; ++j) {
    MlirValue v = fe_joined(ir, fe_joined(ir, channels[j], channels[4 + j]),
                            fe_joined(ir, channels[8 + j], channels[12 + j]));
    pixels[j] = cast(ir, v, 16, ir->i32);
  }
  fe_vtranspose_quads(ir, 16, pixels);
  for (unsigned j = 0; j < 4; ++j)
    pixels[j] = by_fours(ir, cast(ir, pixels[j], 64, ir->i8), true);
}

void fe_bytes_to_channels(fe_ir *ir, const MlirValue *pixels,
                          MlirValue *channels) {
  MlirValue v[4];
  for (unsigned j = 0; j < 4; ++j)
    v[j] = cast(ir, by_fours(ir, pixels[j], false), 16, ir->i32);
  fe_vtranspose_quads(ir, 16, v);
  for (unsigned j = 0; j < 4; ++j) {
    MlirValue bytes = cast(ir, v[j], 64, ir->i8);
    for (unsigned l = 0; l < 4; ++l) {
      int64_t order[16];
      for (unsigned i = 0; i < 16; ++i)
        order[i] = 16 * l + i;
      channels[4 * l + j] = fe_shuffle(ir, bytes, bytes, 16, order);
    }
  }
}
