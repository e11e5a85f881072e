//===- convert.c - conversion between numeric types --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signless integers are read as the caller says; i1 is 0 or 1, and anything
// but zero becomes 1. Floats below 32 bits are computed with as f32; conversion
// to them is rounded once, whatever it comes from.
//
//===----------------------------------------------------------------------===//
#include "ir/ir.h"

#include "ir/shape.h"
#include "ir/small_float.h"

static MlirValue cast(fe_ir *ir, const char *name, MlirValue v, MlirType elem) {
  if (mlirValueIsNull(v))
    return v;
  MlirType t = fe_type_like(ir, mlirValueGetType(v), elem);
  return fe_first(FE_OP(ir, name, FE_VALUES(v), FE_TYPES(t)));
}

static bool is_narrow(MlirType elem) {
  return mlirFloatTypeGetWidth(elem) < 32;
}

static MlirValue float_to_float(fe_ir *ir, MlirValue v, MlirType to) {
  MlirType from = fe_elem_of(v);
  if (mlirValueIsNull(v) || mlirTypeEqual(from, to))
    return v;
  if (is_narrow(from) && !mlirTypeEqual(to, ir->f32)) {
    v = float_to_float(ir, v, ir->f32);
    return float_to_float(ir, v, to);
  }
  if (is_narrow(to) && !mlirTypeEqual(from, ir->f32))
    return float_to_float(ir, fe_round_to_odd(ir, v), to);
  if (fe_small_decodes(ir, from))
    return fe_small_decode(ir, v);
  if (fe_small_encodes(ir, to))
    return fe_small_encode(ir, v, to);
  unsigned have = mlirFloatTypeGetWidth(from), want = mlirFloatTypeGetWidth(to);
  return cast(ir, have < want ? "arith.extf" : "arith.truncf", v, to);
}

static MlirValue int_to_int(fe_ir *ir, MlirValue v, MlirType to,
                            bool from_unsigned) {
  MlirType from = fe_elem_of(v);
  bool from_bool = mlirTypeEqual(from, ir->i1);
  from_unsigned = from_unsigned || from_bool;
  if (mlirTypeEqual(from, to))
    return v;
  if (mlirTypeEqual(to, ir->i1))
    return fe_cmp(ir, FE_NE, v, fe_int(ir, mlirValueGetType(v), 0));
  if (mlirTypeIsAIndex(from) || mlirTypeIsAIndex(to))
    return cast(ir, from_unsigned ? "arith.index_castui" : "arith.index_cast",
                v, to);
  unsigned have = mlirIntegerTypeGetWidth(from);
  unsigned want = mlirIntegerTypeGetWidth(to);
  if (have > want)
    return cast(ir, "arith.trunci", v, to);
  return cast(ir, from_unsigned ? "arith.extui" : "arith.extsi", v, to);
}

static MlirValue int_to_float(fe_ir *ir, MlirValue v, MlirType to,
                              bool from_unsigned) {
  MlirType from = fe_elem_of(v);
  if (mlirTypeIsAIndex(from)) {
    v = int_to_int(ir, v, ir->i64, from_unsigned);
    from = ir->i64;
  }
  bool is_unsigned = from_unsigned || mlirTypeEqual(from, ir->i1);
  // f32 holds all integers below the largest number of the narrow types but
  // bf16, which f64 has to round for.
  MlirType direct = to;
  if (is_narrow(to))
    direct = mlirTypeEqual(to, ir->bf16) && mlirIntegerTypeGetWidth(from) > 24
                 ? ir->f64
                 : ir->f32;
  v = cast(ir, is_unsigned ? "arith.uitofp" : "arith.sitofp", v, direct);
  return float_to_float(ir, v, to);
}

static MlirValue float_to_int(fe_ir *ir, MlirValue v, MlirType to,
                              bool to_unsigned) {
  if (is_narrow(fe_elem_of(v)))
    v = float_to_float(ir, v, ir->f32);
  if (mlirValueIsNull(v))
    return v;
  if (mlirTypeEqual(to, ir->i1))
    return fe_cmp(ir, FE_NE, v, fe_float(ir, mlirValueGetType(v), 0));
  MlirType direct = mlirTypeIsAIndex(to) ? ir->i64 : to;
  v = cast(ir, to_unsigned ? "arith.fptoui" : "arith.fptosi", v, direct);
  return mlirValueIsNull(v) ? v : int_to_int(ir, v, to, to_unsigned);
}

static bool is_int(MlirType t) {
  return mlirTypeIsAIndex(t) ||
         (mlirTypeIsAInteger(t) && mlirIntegerTypeIsSignless(t));
}

MlirValue fe_convert(fe_ir *ir, MlirValue v, MlirType to, bool from_unsigned,
                     bool to_unsigned) {
  MlirValue none = {0};
  if (mlirValueIsNull(v) || mlirTypeIsNull(to)) {
    fe_ir_fail(ir, "conversion of or to null");
    return none;
  }
  MlirType from = fe_scalar_of(mlirValueGetType(v)), elem = fe_scalar_of(to);
  bool from_float = mlirTypeIsAFloat(from), to_float = mlirTypeIsAFloat(elem);
  if (!(from_float || is_int(from)) || !(to_float || is_int(elem))) {
    fe_ir_fail(ir, "conversion between types that are not numbers");
    return none;
  }
  if (from_float && to_float)
    v = float_to_float(ir, v, elem);
  else if (from_float)
    v = float_to_int(ir, v, elem, to_unsigned);
  else if (to_float)
    v = int_to_float(ir, v, elem, from_unsigned);
  else
    v = int_to_int(ir, v, elem, from_unsigned);
  bool widen = mlirTypeIsAVector(to) && !mlirValueIsNull(v) &&
               !mlirTypeIsAVector(mlirValueGetType(v));
  return widen ? fe_broadcast(ir, v, to) : v;
}

MlirValue fe_float_of_byte(fe_ir *ir, fe_dtype t, MlirValue v) {
  MlirType bits = mlirIntegerTypeGet(ir->ctx, fe_dtype_bits(t));
  v = fe_convert(ir, v, bits, false, false);
  if (mlirValueIsNull(v))
    return v;
  MlirType shape = mlirValueGetType(v);
  v = fe_bitcast(ir, v, fe_type_like(ir, shape, fe_elem_type(ir, t)));
  return fe_convert(ir, v, ir->f32, false, false);
}

MlirValue fe_byte_of_float(fe_ir *ir, fe_dtype t, MlirValue v) {
  v = fe_convert(ir, v, fe_elem_type(ir, t), false, false);
  if (mlirValueIsNull(v))
    return v;
  MlirType bits = mlirIntegerTypeGet(ir->ctx, fe_dtype_bits(t));
  v = fe_bitcast(ir, v, fe_type_like(ir, mlirValueGetType(v), bits));
  return fe_convert(ir, v, ir->i8, true, false);
}

MlirValue fe_to_index(fe_ir *ir, MlirValue v) {
  return fe_convert(ir, v, ir->index, false, false);
}
