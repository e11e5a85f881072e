//===- build.c - checked construction of operations --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where operations are made. MLIR crashes on null operands,
// types and attributes and accepts unknown names, so these are refused here.
//
//===----------------------------------------------------------------------===//
#include "ir/ir.h"

#include <string.h>

//===-- Insertion points ----------------------------------------------------//

fe_point fe_point_save(const fe_ir *ir) {
  return (fe_point){.block = ir->block, .before = ir->before};
}

void fe_point_restore(fe_ir *ir, fe_point p) {
  ir->block = p.block;
  ir->before = p.before;
}

void fe_point_at_end(fe_ir *ir, MlirBlock block) {
  fe_point_restore(ir, (fe_point){.block = block});
}

void fe_point_at_start(fe_ir *ir, MlirBlock block) {
  fe_point p = {.block = block};
  if (!mlirBlockIsNull(block))
    p.before = mlirBlockGetFirstOperation(block);
  fe_point_restore(ir, p);
}

void fe_point_before(fe_ir *ir, MlirOperation op) {
  if (mlirOperationIsNull(op)) {
    fe_ir_fail(ir, "insertion before a null operation");
    return;
  }
  fe_point_restore(
      ir, (fe_point){.block = mlirOperationGetBlock(op), .before = op});
}

void fe_point_after(fe_ir *ir, MlirOperation op) {
  if (mlirOperationIsNull(op)) {
    fe_ir_fail(ir, "insertion after a null operation");
    return;
  }
  fe_point_restore(ir, (fe_point){.block = mlirOperationGetBlock(op),
                                  .before = mlirOperationGetNextInBlock(op)});
}

//===-- Operations ----------------------------------------------------------//

static bool is_registered(fe_ir *ir, const char *name) {
  if (mlirContextIsRegisteredOperation(ir->ctx, fe_str(name)))
    return true;
  // The ops that no dialect declares, see docs/architecture.md.
  if (!strcmp(name, "kernel.call") || !strcmp(name, "kernel.runtime") ||
      !strcmp(name, "kernel.insert"))
    return true;
  // Dialects are loaded on first use.
  const char *dot = strchr(name, '.');
  if (!dot)
    return false;
  MlirStringRef dialect = mlirStringRefCreate(name, (size_t)(dot - name));
  return !mlirDialectIsNull(mlirContextGetOrLoadDialect(ir->ctx, dialect)) &&
         mlirContextIsRegisteredOperation(ir->ctx, fe_str(name));
}

static bool args_ok(fe_ir *ir, const char *name, const fe_op_args *a) {
  if (!is_registered(ir, name)) {
    fe_ir_fail(ir, "%s: unknown operation", name);
    return false;
  }
  for (unsigned i = 0; i < a->n_operands; i++)
    if (mlirValueIsNull(a->operands[i])) {
      fe_ir_fail(ir, "%s: operand %u is null", name, i);
      return false;
    }
  for (unsigned i = 0; i < a->n_results; i++)
    if (mlirTypeIsNull(a->results[i])) {
      fe_ir_fail(ir, "%s: the type of result %u is null", name, i);
      return false;
    }
  for (unsigned i = 0; i < a->n_attrs; i++)
    if (!a->attrs[i].name.ptr || mlirAttributeIsNull(a->attrs[i].attribute)) {
      fe_ir_fail(ir, "%s: attribute %u is null", name, i);
      return false;
    }
  return true;
}

MlirOperation fe_op(fe_ir *ir, const char *name, const fe_op_args *args) {
  MlirOperation none = {0};
  if (!args_ok(ir, name, args)) {
    if (args->regions)
      for (unsigned i = 0; i < args->n_regions; i++)
        mlirRegionDestroy(args->regions[i]);
    return none;
  }
  MlirOperationState state = mlirOperationStateGet(fe_str(name), ir->loc);
  mlirOperationStateAddOperands(&state, args->n_operands, args->operands);
  mlirOperationStateAddResults(&state, args->n_results, args->results);
  mlirOperationStateAddAttributes(&state, args->n_attrs, args->attrs);
  for (unsigned i = 0; i < args->n_regions; i++) {
    MlirRegion r = args->regions ? args->regions[i] : mlirRegionCreate();
    if (!args->regions && args->blocks)
      mlirRegionAppendOwnedBlock(r, mlirBlockCreate(0, NULL, NULL));
    mlirOperationStateAddOwnedRegions(&state, 1, &r);
  }
  MlirOperation op = mlirOperationCreate(&state);
  if (mlirOperationIsNull(op)) {
    fe_ir_fail(ir, "%s: not created", name);
    return none;
  }
  if (!mlirOperationIsNull(ir->before))
    mlirBlockInsertOwnedOperationBefore(ir->block, ir->before, op);
  else if (!mlirBlockIsNull(ir->block))
    mlirBlockAppendOwnedOperation(ir->block, op);
  return op;
}

MlirValue fe_first(MlirOperation op) { return fe_result(op, 0); }

//===-- Attributes ----------------------------------------------------------//

MlirStringRef fe_str(const char *s) {
  return mlirStringRefCreate(s ? s : "", s ? strlen(s) : 0);
}

MlirNamedAttribute fe_named(fe_ir *ir, const char *name, MlirAttribute a) {
  if (mlirAttributeIsNull(a))
    fe_ir_fail(ir, "attribute %s is null", name);
  return (MlirNamedAttribute){.name = mlirIdentifierGet(ir->ctx, fe_str(name)),
                              .attribute = a};
}

MlirAttribute fe_attr_parse(fe_ir *ir, const char *text) {
  MlirAttribute a = mlirAttributeParseGet(ir->ctx, fe_str(text));
  if (mlirAttributeIsNull(a))
    fe_ir_fail(ir, "malformed attribute %s", text);
  return a;
}

MlirNamedAttribute fe_at_unit(fe_ir *ir, const char *name) {
  return fe_named(ir, name, mlirUnitAttrGet(ir->ctx));
}

MlirNamedAttribute fe_at_i64(fe_ir *ir, const char *name, int64_t v) {
  return fe_named(ir, name, mlirIntegerAttrGet(ir->i64, v));
}

MlirNamedAttribute fe_at_f32(fe_ir *ir, const char *name, double v) {
  return fe_named(ir, name, mlirFloatAttrDoubleGet(ir->ctx, ir->f32, v));
}

MlirNamedAttribute fe_at_str(fe_ir *ir, const char *name, const char *v) {
  return fe_named(ir, name, mlirStringAttrGet(ir->ctx, fe_str(v)));
}

MlirNamedAttribute fe_at_type(fe_ir *ir, const char *name, MlirType t) {
  MlirAttribute none = {0};
  return fe_named(ir, name, mlirTypeIsNull(t) ? none : mlirTypeAttrGet(t));
}

MlirNamedAttribute fe_at_i64s(fe_ir *ir, const char *name, unsigned n,
                              const int64_t *v) {
  return fe_named(ir, name, mlirDenseI64ArrayGet(ir->ctx, n, v));
}

MlirNamedAttribute fe_at_f32s(fe_ir *ir, const char *name, unsigned n,
                              const float *v) {
  return fe_named(ir, name, mlirDenseF32ArrayGet(ir->ctx, n, v));
}

MlirNamedAttribute fe_at_strs(fe_ir *ir, const char *name, unsigned n,
                              const char *const *v) {
  MlirAttribute *a = FE_NEW_N(ir->arena, MlirAttribute, n + 1);
  for (unsigned i = 0; i < n; i++)
    a[i] = mlirStringAttrGet(ir->ctx, fe_str(v[i]));
  return fe_named(ir, name, mlirArrayAttrGet(ir->ctx, n, a));
}

void fe_set_attr(fe_ir *ir, MlirOperation op, MlirNamedAttribute a) {
  if (mlirOperationIsNull(op) || !a.name.ptr ||
      mlirAttributeIsNull(a.attribute)) {
    fe_ir_fail(ir, "setting a null attribute, or on a null operation");
    return;
  }
  mlirOperationSetAttributeByName(op, mlirIdentifierStr(a.name), a.attribute);
}

//===-- Functions -----------------------------------------------------------//

static bool types_ok(fe_ir *ir, const char *what, unsigned n,
                     const MlirType *types) {
  for (unsigned i = 0; i < n; i++)
    if (mlirTypeIsNull(types[i])) {
      fe_ir_fail(ir, "%s: type %u is null", what, i);
      return false;
    }
  return true;
}

static MlirOperation make_func(fe_ir *ir, MlirModule m, const char *name,
                               bool is_private, MlirType type) {
  if (mlirModuleIsNull(m)) {
    fe_ir_fail(ir, "func.func %s: no module", name);
    return (MlirOperation){0};
  }
  fe_point outer = fe_point_save(ir);
  fe_point_at_end(ir, mlirModuleGetBody(m));
  MlirNamedAttribute attrs[3] = {fe_at_str(ir, "sym_name", name),
                                 fe_at_type(ir, "function_type", type)};
  unsigned n = 2;
  if (is_private)
    attrs[n++] = fe_at_str(ir, "sym_visibility", "private");
  MlirOperation f =
      FE_OP(ir, "func.func", .n_attrs = n, .attrs = attrs, .n_regions = 1);
  fe_point_restore(ir, outer);
  return f;
}

MlirOperation fe_func_begin(fe_ir *ir, MlirModule m, const char *name,
                            bool is_private, unsigned n_args,
                            const MlirType *args) {
  if (!types_ok(ir, name, n_args, args))
    return (MlirOperation){0};
  MlirType type = mlirFunctionTypeGet(ir->ctx, n_args, args, 0, NULL);
  MlirOperation f = make_func(ir, m, name, is_private, type);
  if (mlirOperationIsNull(f))
    return f;
  MlirBlock entry = mlirBlockCreate(0, NULL, NULL);
  for (unsigned i = 0; i < n_args; i++)
    mlirBlockAddArgument(entry, args[i], ir->loc);
  mlirRegionAppendOwnedBlock(mlirOperationGetRegion(f, 0), entry);
  fe_point_at_end(ir, entry);
  return f;
}

void fe_func_end(fe_ir *ir, MlirOperation func, unsigned n,
                 const MlirValue *results) {
  MlirOperation ret =
      FE_OP(ir, "func.return", .n_operands = n, .operands = results);
  MlirBlock entry = fe_func_block(func);
  if (mlirOperationIsNull(ret) || mlirBlockIsNull(entry)) {
    fe_ir_fail(ir, "func.func: no function to end");
    return;
  }
  unsigned n_args = (unsigned)mlirBlockGetNumArguments(entry);
  MlirType *types = FE_NEW_N(ir->arena, MlirType, n_args + n + 1);
  for (unsigned i = 0; i < n_args; i++)
    types[i] = mlirValueGetType(mlirBlockGetArgument(entry, i));
  for (unsigned i = 0; i < n; i++)
    types[n_args + i] = mlirValueGetType(results[i]);
  MlirType type =
      mlirFunctionTypeGet(ir->ctx, n_args, types, n, types + n_args);
  fe_set_attr(ir, func, fe_at_type(ir, "function_type", type));
}

MlirOperation fe_func_declare(fe_ir *ir, MlirModule m, const char *name,
                              unsigned n_args, const MlirType *args,
                              unsigned n_results, const MlirType *results) {
  if (!types_ok(ir, name, n_args, args) ||
      !types_ok(ir, name, n_results, results))
    return (MlirOperation){0};
  return make_func(
      ir, m, name, true,
      mlirFunctionTypeGet(ir->ctx, n_args, args, n_results, results));
}

MlirOperation fe_call(fe_ir *ir, const char *callee, unsigned n,
                      const MlirValue *operands, unsigned n_results,
                      const MlirType *results) {
  MlirAttribute symbol = mlirFlatSymbolRefAttrGet(ir->ctx, fe_str(callee));
  return FE_OP(ir, "func.call", .n_operands = n, .operands = operands,
               .n_results = n_results, .results = results,
               FE_ATTRS(fe_named(ir, "callee", symbol)));
}

MlirOperation fe_op_like(fe_ir *ir, MlirOperation op, const MlirValue *operands,
                         const MlirRegion *region) {
  unsigned n_results = fe_n_results(op);
  unsigned n_attrs = (unsigned)mlirOperationGetNumAttributes(op);
  MlirType *types = FE_NEW_N(ir->arena, MlirType, n_results + 1);
  MlirNamedAttribute *attrs =
      FE_NEW_N(ir->arena, MlirNamedAttribute, n_attrs + 1);
  for (unsigned i = 0; i < n_results; i++)
    types[i] = mlirValueGetType(fe_result(op, i));
  for (unsigned i = 0; i < n_attrs; i++)
    attrs[i] = mlirOperationGetAttribute(op, i);
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  return FE_OP(ir, fe_strndup(ir->arena, name.data, name.length),
               .n_operands = fe_n_operands(op), .operands = operands,
               .n_results = n_results, .results = types, .n_attrs = n_attrs,
               .attrs = attrs, .n_regions = region != NULL, .regions = region);
}
