//===- scalar.c - arithmetic on scalars and vectors --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the arith or math operation by the operands' element type. Floats
// carry fastmath<contract>: each backend fuses multiply and add where it can.
//
//===----------------------------------------------------------------------===//
#include "ir/ir.h"

#include "ir/shape.h"

#include <math.h>
#include <string.h>

static const MlirValue null_value = {0};

//===-- Constants -----------------------------------------------------------//

static MlirValue constant(fe_ir *ir, MlirType t, MlirAttribute a) {
  if (!mlirAttributeIsNull(a) && mlirTypeIsAVector(t))
    a = mlirDenseElementsAttrSplatGet(t, a);
  return fe_first(FE_OP(ir, "arith.constant", FE_TYPES(t),
                        FE_ATTRS(fe_named(ir, "value", a))));
}

MlirValue fe_index(fe_ir *ir, int64_t v) { return fe_int(ir, ir->index, v); }

MlirValue fe_int(fe_ir *ir, MlirType t, int64_t v) {
  MlirType elem = fe_scalar_of(t);
  if (mlirTypeIsNull(elem) ||
      !(mlirTypeIsAIndex(elem) || mlirTypeIsAInteger(elem))) {
    fe_ir_fail(ir, "integer constant of another type");
    return null_value;
  }
  return constant(ir, t, mlirIntegerAttrGet(elem, v));
}

MlirValue fe_float(fe_ir *ir, MlirType t, double v) {
  MlirType elem = fe_scalar_of(t);
  if (mlirTypeIsNull(elem) || !mlirTypeIsAFloat(elem)) {
    fe_ir_fail(ir, "float constant of another type");
    return null_value;
  }
  return constant(ir, t, mlirFloatAttrDoubleGet(ir->ctx, elem, v));
}

MlirValue fe_number(fe_ir *ir, MlirType t, double v) {
  if (fe_type_is_float(t))
    return fe_float(ir, t, v);
  int64_t i = 0;
  if (v >= 0x1p63) // the upper half of unsigned 64-bit integers
    i = v < 0x1p64 ? (int64_t)(uint64_t)v : -1;
  else if (v >= -0x1p63)
    i = (int64_t)v;
  return fe_int(ir, t, i);
}

//===-- Operands ------------------------------------------------------------//

/// Brings two operands to one type: a scalar is broadcast to a vector.
static bool meet(fe_ir *ir, const char *what, MlirValue *a, MlirValue *b) {
  if (mlirValueIsNull(*a) || mlirValueIsNull(*b)) {
    fe_ir_fail(ir, "%s: operand %d is null", what, mlirValueIsNull(*a) ? 0 : 1);
    return false;
  }
  MlirType s = mlirValueGetType(*a), t = mlirValueGetType(*b);
  if (mlirTypeEqual(s, t))
    return true;
  if (mlirTypeEqual(fe_scalar_of(s), fe_scalar_of(t))) {
    if (mlirTypeIsAVector(s) && !mlirTypeIsAVector(t)) {
      *b = fe_broadcast(ir, *b, s);
      return true;
    }
    if (mlirTypeIsAVector(t) && !mlirTypeIsAVector(s)) {
      *a = fe_broadcast(ir, *a, t);
      return true;
    }
  }
  fe_ir_fail(ir, "%s: the operands' types differ", what);
  return false;
}

static MlirValue op_of(fe_ir *ir, const char *name, MlirType result, unsigned n,
                       const MlirValue *v, bool is_float) {
  MlirNamedAttribute fast = fe_named(ir, "fastmath", ir->contract);
  return fe_first(FE_OP(ir, name, .n_operands = n, .operands = v,
                        FE_TYPES(result), .n_attrs = is_float, .attrs = &fast));
}

/// NULL names are operations that do not exist for such operands.
static MlirValue binary(fe_ir *ir, const char *on_float, const char *on_int,
                        MlirValue a, MlirValue b) {
  if (!meet(ir, on_int ? on_int : on_float, &a, &b))
    return null_value;
  MlirType t = mlirValueGetType(a);
  bool is_float = fe_type_is_float(t);
  const char *name = is_float ? on_float : on_int;
  if (!name) {
    fe_ir_fail(ir, "%s: operands of the wrong kind",
               is_float ? on_int : on_float);
    return null_value;
  }
  MlirValue folded;
  if (mlirTypeIsAIndex(t) && fe_fold_index(ir, name, a, b, &folded))
    return folded;
  return op_of(ir, name, t, 2, (MlirValue[]){a, b}, is_float);
}

//===-- Arithmetic ----------------------------------------------------------//

MlirValue fe_add(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, "arith.addf", "arith.addi", a, b);
}
MlirValue fe_sub(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, "arith.subf", "arith.subi", a, b);
}
MlirValue fe_mul(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, "arith.mulf", "arith.muli", a, b);
}
MlirValue fe_div(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, "arith.divf", "arith.divsi", a, b);
}
MlirValue fe_divu(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, NULL, "arith.divui", a, b);
}
MlirValue fe_rem(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, "arith.remf", "arith.remsi", a, b);
}
MlirValue fe_remu(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, NULL, "arith.remui", a, b);
}
MlirValue fe_floordiv(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, NULL, "arith.floordivsi", a, b);
}
MlirValue fe_ceildiv(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, NULL, "arith.ceildivsi", a, b);
}
MlirValue fe_min(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, "arith.minimumf", "arith.minsi", a, b);
}
MlirValue fe_max(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, "arith.maximumf", "arith.maxsi", a, b);
}
MlirValue fe_minu(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, NULL, "arith.minui", a, b);
}
MlirValue fe_maxu(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, NULL, "arith.maxui", a, b);
}
MlirValue fe_and(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, NULL, "arith.andi", a, b);
}
MlirValue fe_or(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, NULL, "arith.ori", a, b);
}
MlirValue fe_xor(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, NULL, "arith.xori", a, b);
}
MlirValue fe_shl(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, NULL, "arith.shli", a, b);
}
MlirValue fe_shru(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, NULL, "arith.shrui", a, b);
}
MlirValue fe_shrs(fe_ir *ir, MlirValue a, MlirValue b) {
  return binary(ir, NULL, "arith.shrsi", a, b);
}

static bool present(fe_ir *ir, const char *what, MlirValue v) {
  if (mlirValueIsNull(v))
    fe_ir_fail(ir, "%s: operand 0 is null", what);
  return !mlirValueIsNull(v);
}

MlirValue fe_neg(fe_ir *ir, MlirValue a) {
  if (!present(ir, "negation", a))
    return null_value;
  MlirType t = mlirValueGetType(a);
  if (fe_type_is_float(t))
    return op_of(ir, "arith.negf", t, 1, &a, true);
  return fe_sub(ir, fe_int(ir, t, 0), a);
}

MlirValue fe_not(fe_ir *ir, MlirValue a) {
  if (!present(ir, "complement", a))
    return null_value;
  return fe_xor(ir, a, fe_int(ir, mlirValueGetType(a), -1));
}

//===-- Comparison and selection --------------------------------------------//

static MlirValue compare(fe_ir *ir, const int64_t *on_float,
                         const int64_t *on_int, fe_cmp_kind k, MlirValue a,
                         MlirValue b) {
  if (!meet(ir, "comparison", &a, &b))
    return null_value;
  MlirType t = mlirValueGetType(a);
  bool is_float = fe_type_is_float(t);
  if ((unsigned)k > FE_GE || (is_float && !on_float)) {
    fe_ir_fail(ir, "comparison of the wrong kind");
    return null_value;
  }
  return fe_first(
      FE_OP(ir, is_float ? "arith.cmpf" : "arith.cmpi", FE_VALUES(a, b),
            FE_TYPES(fe_type_like(ir, t, ir->i1)),
            FE_ATTRS(fe_at_i64(ir, "predicate",
                               is_float ? on_float[k] : on_int[k]))));
}

MlirValue fe_cmp(fe_ir *ir, fe_cmp_kind k, MlirValue a, MlirValue b) {
  // Ordered, except "not equal", which holds for NaN: as in C.
  static const int64_t on_float[] = {1, 13, 4, 5, 2, 3};
  static const int64_t on_int[] = {0, 1, 2, 3, 4, 5};
  return compare(ir, on_float, on_int, k, a, b);
}

MlirValue fe_cmpu(fe_ir *ir, fe_cmp_kind k, MlirValue a, MlirValue b) {
  static const int64_t on_int[] = {0, 1, 6, 7, 8, 9};
  return compare(ir, NULL, on_int, k, a, b);
}

MlirValue fe_select(fe_ir *ir, MlirValue c, MlirValue a, MlirValue b) {
  if (!present(ir, "arith.select", c) || !meet(ir, "arith.select", &a, &b))
    return null_value;
  MlirType t = mlirValueGetType(c);
  if (mlirTypeIsAVector(t) && !mlirTypeIsAVector(mlirValueGetType(a))) {
    MlirType wide = fe_type_like(ir, t, mlirValueGetType(a));
    a = fe_broadcast(ir, a, wide);
    b = fe_broadcast(ir, b, wide);
  }
  if (mlirValueIsNull(a))
    return null_value;
  return op_of(ir, "arith.select", mlirValueGetType(a), 3,
               (MlirValue[]){c, a, b}, false);
}

//===-- Functions -----------------------------------------------------------//

static MlirValue math(fe_ir *ir, const char *op, unsigned n,
                      const MlirValue *v) {
  MlirType t = mlirValueGetType(v[0]);
  // isnan, isinf, ... are the ones that do not keep the type.
  MlirType result = strncmp(op, "is", 2) ? t : fe_type_like(ir, t, ir->i1);
  return op_of(ir, fe_printf(ir->arena, "math.%s", op), result, n, v,
               fe_type_is_float(t));
}

MlirValue fe_math(fe_ir *ir, const char *op, MlirValue a) {
  return present(ir, op, a) ? math(ir, op, 1, &a) : null_value;
}

MlirValue fe_math2(fe_ir *ir, const char *op, MlirValue a, MlirValue b) {
  if (!present(ir, op, a) || !present(ir, op, b))
    return null_value;
  // fpowi takes an integer exponent; all others have operands of one type.
  if (strcmp(op, "fpowi") && !meet(ir, op, &a, &b))
    return null_value;
  return math(ir, op, 2, (MlirValue[]){a, b});
}

MlirValue fe_fma(fe_ir *ir, MlirValue a, MlirValue b, MlirValue c) {
  if (!meet(ir, "vector.fma", &a, &b) || !meet(ir, "vector.fma", &a, &c) ||
      !meet(ir, "vector.fma", &b, &c))
    return null_value;
  MlirType t = mlirValueGetType(a);
  // A scalar math.fma would be a library call on targets without it.
  if (!mlirTypeIsAVector(t) || !fe_type_is_float(t))
    return fe_add(ir, fe_mul(ir, a, b), c);
  return fe_first(FE_OP(ir, "vector.fma", FE_VALUES(a, b, c), FE_TYPES(t)));
}

MlirValue fe_bitcast(fe_ir *ir, MlirValue v, MlirType to) {
  if (!present(ir, "arith.bitcast", v))
    return null_value;
  MlirType from = mlirValueGetType(v);
  if (!mlirTypeIsNull(to) && mlirTypeEqual(from, to))
    return v;
  // Lanes of another width: a vector is seen as other lanes.
  bool lanes =
      !mlirTypeIsNull(to) && mlirTypeIsAVector(from) && mlirTypeIsAVector(to) &&
      mlirShapedTypeGetDimSize(from, 0) != mlirShapedTypeGetDimSize(to, 0);
  return fe_first(FE_OP(ir, lanes ? "vector.bitcast" : "arith.bitcast",
                        FE_VALUES(v), FE_TYPES(to)));
}

MlirValue fe_splat(fe_ir *ir, MlirValue scalar, int64_t n) {
  return fe_broadcast(ir, scalar, fe_vector_type(ir, n, fe_elem_of(scalar)));
}
