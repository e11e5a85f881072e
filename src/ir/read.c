//===- read.c - reading, walking and replacing operations --------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Null-safe, range-checked access: the C API checks neither.
//
//===----------------------------------------------------------------------===//
#include "ir/ir.h"

#include <string.h>

static MlirStringRef op_name(MlirOperation op) {
  return mlirOperationIsNull(op) ? (MlirStringRef){0}
                                 : mlirIdentifierStr(mlirOperationGetName(op));
}

bool fe_op_is(MlirOperation op, const char *name) {
  MlirStringRef s = op_name(op);
  return s.length == strlen(name) && s.length &&
         memcmp(s.data, name, s.length) == 0;
}

const char *fe_op_name(fe_arena *arena, MlirOperation op) {
  MlirStringRef s = op_name(op);
  const char *dot = s.length ? memchr(s.data, '.', s.length) : NULL;
  if (dot) {
    s.length -= (size_t)(dot + 1 - s.data);
    s.data = dot + 1;
  }
  return fe_strndup(arena, s.length ? s.data : "", s.length);
}

bool fe_op_in(MlirOperation op, const char *dialect) {
  MlirStringRef s = op_name(op);
  size_t n = strlen(dialect);
  return s.length > n && s.data[n] == '.' && memcmp(s.data, dialect, n) == 0;
}

unsigned fe_n_operands(MlirOperation op) {
  return mlirOperationIsNull(op) ? 0
                                 : (unsigned)mlirOperationGetNumOperands(op);
}

unsigned fe_n_results(MlirOperation op) {
  return mlirOperationIsNull(op) ? 0 : (unsigned)mlirOperationGetNumResults(op);
}

MlirValue fe_operand(MlirOperation op, unsigned i) {
  return i < fe_n_operands(op) ? mlirOperationGetOperand(op, i)
                               : (MlirValue){0};
}

MlirValue fe_result(MlirOperation op, unsigned i) {
  return i < fe_n_results(op) ? mlirOperationGetResult(op, i) : (MlirValue){0};
}

MlirOperation fe_def(MlirValue v) {
  return !mlirValueIsNull(v) && mlirValueIsAOpResult(v)
             ? mlirOpResultGetOwner(v)
             : (MlirOperation){0};
}

unsigned fe_n_uses(MlirValue v) {
  unsigned n = 0;
  if (mlirValueIsNull(v))
    return 0;
  for (MlirOpOperand use = mlirValueGetFirstUse(v); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    n++;
  return n;
}

void fe_replace(MlirValue old_value, MlirValue new_value) {
  if (!mlirValueIsNull(old_value) && !mlirValueIsNull(new_value) &&
      !mlirValueEqual(old_value, new_value))
    mlirValueReplaceAllUsesOfWith(old_value, new_value);
}

void fe_erase(MlirOperation op) {
  if (mlirOperationIsNull(op))
    return;
  for (unsigned i = 0; i < fe_n_results(op); i++)
    if (!mlirOpOperandIsNull(mlirValueGetFirstUse(fe_result(op, i))))
      return;
  mlirOperationDestroy(op);
}

bool fe_is_null(MlirValue v) { return mlirValueIsNull(v); }

bool fe_same(MlirValue a, MlirValue b) {
  return !mlirValueIsNull(a) && !mlirValueIsNull(b) && mlirValueEqual(a, b);
}

//===-- Attributes ----------------------------------------------------------//

MlirAttribute fe_attr(MlirOperation op, const char *name) {
  return mlirOperationIsNull(op)
             ? (MlirAttribute){0}
             : mlirOperationGetAttributeByName(op, fe_str(name));
}

bool fe_has_attr(MlirOperation op, const char *name) {
  return !mlirAttributeIsNull(fe_attr(op, name));
}

static bool int_of(MlirAttribute a, int64_t *out) {
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAInteger(a))
    return false;
  MlirType t = mlirAttributeGetType(a);
  if (mlirAttributeIsABool(a)) // as an integer it would be -1
    *out = mlirBoolAttrGetValue(a);
  else if (mlirTypeIsAIndex(t) || mlirIntegerTypeIsSignless(t))
    *out = mlirIntegerAttrGetValueInt(a);
  else if (mlirIntegerTypeIsUnsigned(t))
    *out = (int64_t)mlirIntegerAttrGetValueUInt(a);
  else
    *out = mlirIntegerAttrGetValueSInt(a);
  return true;
}

int64_t fe_attr_i64(MlirOperation op, const char *name, int64_t absent) {
  int64_t v;
  return int_of(fe_attr(op, name), &v) ? v : absent;
}

double fe_attr_f64(MlirOperation op, const char *name, double absent) {
  MlirAttribute a = fe_attr(op, name);
  int64_t v;
  if (!mlirAttributeIsNull(a) && mlirAttributeIsAFloat(a))
    return mlirFloatAttrGetValueDouble(a);
  return int_of(a, &v) ? (double)v : absent;
}

const char *fe_attr_str(fe_arena *arena, MlirOperation op, const char *name,
                        const char *absent) {
  MlirAttribute a = fe_attr(op, name);
  if (mlirAttributeIsNull(a))
    return absent;
  MlirStringRef s;
  if (mlirAttributeIsAString(a))
    s = mlirStringAttrGetValue(a);
  else if (mlirAttributeIsAFlatSymbolRef(a))
    s = mlirFlatSymbolRefAttrGetValue(a);
  else
    return absent;
  return fe_strndup(arena, s.length ? s.data : "", s.length);
}

unsigned fe_attr_i64s(MlirOperation op, const char *name, int64_t *out,
                      unsigned cap) {
  MlirAttribute a = fe_attr(op, name);
  if (mlirAttributeIsNull(a))
    return 0;
  bool wide = mlirAttributeIsADenseI64Array(a);
  if (!wide && !mlirAttributeIsADenseI32Array(a))
    return 0;
  unsigned n = (unsigned)mlirDenseArrayGetNumElements(a);
  for (unsigned i = 0; i < n && i < cap; i++)
    out[i] = wide ? mlirDenseI64ArrayGetElement(a, i)
                  : mlirDenseI32ArrayGetElement(a, i);
  return n < cap ? n : cap;
}

unsigned fe_attr_f32s(MlirOperation op, const char *name, float *out,
                      unsigned cap) {
  MlirAttribute a = fe_attr(op, name);
  if (mlirAttributeIsNull(a) || !mlirAttributeIsADenseF32Array(a))
    return 0;
  unsigned n = (unsigned)mlirDenseArrayGetNumElements(a);
  for (unsigned i = 0; i < n && i < cap; i++)
    out[i] = mlirDenseF32ArrayGetElement(a, i);
  return n < cap ? n : cap;
}

//===-- Structure -----------------------------------------------------------//

void fe_walk(MlirBlock block, void (*fn)(MlirOperation op, void *user),
             void *user) {
  if (mlirBlockIsNull(block))
    return;
  MlirOperation next, op = mlirBlockGetFirstOperation(block);
  for (; !mlirOperationIsNull(op); op = next) {
    for (intptr_t i = 0; i < mlirOperationGetNumRegions(op); i++) {
      MlirBlock b = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, i));
      for (; !mlirBlockIsNull(b); b = mlirBlockGetNextInRegion(b))
        fe_walk(b, fn, user);
    }
    next = mlirOperationGetNextInBlock(op);
    fn(op, user);
  }
}

MlirOperation fe_func_find(MlirModule m, const char *name) {
  if (mlirModuleIsNull(m))
    return (MlirOperation){0};
  MlirStringRef wanted = fe_str(name);
  MlirStringRef key = mlirSymbolTableGetSymbolAttributeName();
  MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(m));
  for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    MlirAttribute a = mlirOperationGetAttributeByName(op, key);
    if (fe_op_is(op, "func.func") && !mlirBlockIsNull(fe_func_block(op)) &&
        !mlirAttributeIsNull(a) && mlirAttributeIsAString(a) &&
        mlirStringRefEqual(mlirStringAttrGetValue(a), wanted))
      return op;
  }
  return (MlirOperation){0};
}

MlirBlock fe_func_block(MlirOperation func) { return fe_region_block(func, 0); }

MlirBlock fe_region_block(MlirOperation op, unsigned region) {
  if (mlirOperationIsNull(op) ||
      region >= (unsigned)mlirOperationGetNumRegions(op))
    return (MlirBlock){0};
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, region));
}

MlirValue fe_block_arg(MlirBlock b, unsigned i) {
  return !mlirBlockIsNull(b) && i < (unsigned)mlirBlockGetNumArguments(b)
             ? mlirBlockGetArgument(b, i)
             : (MlirValue){0};
}
