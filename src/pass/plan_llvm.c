//===- plan_llvm.c - the LLVM operations of a planned main -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thin: each function makes the one operation its name says.
//
//===----------------------------------------------------------------------===//
#include "pass/plan.h"

#include <limits.h>

static MlirNamedAttribute parsed(fe_ir *ir, const char *name,
                                 const char *text) {
  return fe_named(ir, name, fe_attr_parse(ir, text));
}

static MlirNamedAttribute i32s(fe_ir *ir, const char *name, unsigned n,
                               const int32_t *v) {
  return fe_named(ir, name, mlirDenseI32ArrayGet(ir->ctx, n, v));
}

static MlirValue gep(fe_ir *ir, MlirValue base, MlirValue offset, int32_t c) {
  MlirNamedAttribute at[] = {fe_at_type(ir, "elem_type", ir->i8),
                             i32s(ir, "rawConstantIndices", 1, &c)};
  return fe_first(FE_OP(ir, "llvm.getelementptr",
                        .n_operands = fe_is_null(offset) ? 1 : 2,
                        .operands = (MlirValue[]){base, offset},
                        FE_TYPES(ir->ptr), .n_attrs = 2, .attrs = at));
}

MlirValue fe_llvm_at(fe_ir *ir, MlirValue base, int64_t offset) {
  if (offset == 0)
    return base;
  if (offset > INT_MAX) // what an index in the attribute can hold
    return fe_llvm_at_value(ir, base, fe_int(ir, ir->i64, offset));
  return gep(ir, base, (MlirValue){NULL}, (int32_t)offset);
}

MlirValue fe_llvm_at_value(fe_ir *ir, MlirValue base, MlirValue offset) {
  bool is;
  int64_t c = fe_const_index(offset, &is);
  if (is && c >= 0 && c <= INT_MAX)
    return fe_llvm_at(ir, base, c);
  return gep(ir, base, offset, INT32_MIN); // INT32_MIN: the operand
}

MlirValue fe_llvm_load(fe_ir *ir, MlirType t, MlirValue p) {
  return fe_first(FE_OP(ir, "llvm.load", FE_VALUES(p), FE_TYPES(t),
                        FE_ATTRS(fe_at_i64(ir, "ordering", 0))));
}

void fe_llvm_store(fe_ir *ir, MlirValue v, MlirValue p) {
  FE_OP(ir, "llvm.store", FE_VALUES(v, p),
        FE_ATTRS(fe_at_i64(ir, "ordering", 0)));
}

void fe_llvm_copy(fe_ir *ir, MlirValue to, MlirValue from, MlirValue bytes) {
  FE_OP(ir, "llvm.intr.memcpy", FE_VALUES(to, from, bytes),
        FE_ATTRS(parsed(ir, "isVolatile", "false")));
}

MlirValue fe_llvm_stack(fe_ir *ir, int64_t n_i64) {
  MlirNamedAttribute at[] = {fe_at_type(ir, "elem_type", ir->i64),
                             fe_at_i64(ir, "alignment", 16)};
  return fe_first(FE_OP(ir, "llvm.alloca",
                        FE_VALUES(fe_int(ir, ir->i64, n_i64)),
                        FE_TYPES(ir->ptr), .n_attrs = 2, .attrs = at));
}

MlirValue fe_llvm_address(fe_ir *ir, const char *symbol) {
  return fe_first(FE_OP(
      ir, "llvm.mlir.addressof", FE_TYPES(ir->ptr),
      FE_ATTRS(fe_named(ir, "global_name",
                        mlirFlatSymbolRefAttrGet(ir->ctx, fe_str(symbol))))));
}

/// Makes a symbol with one empty region at the end of the module.
static void symbol(fe_ir *ir, MlirModule m, const char *op, unsigned n,
                   const MlirNamedAttribute *at) {
  fe_point here = fe_point_save(ir);
  fe_point_at_end(ir, mlirModuleGetBody(m));
  MlirRegion region = mlirRegionCreate();
  FE_OP(ir, op, .n_attrs = n, .attrs = at, .n_regions = 1, .regions = &region);
  fe_point_restore(ir, here);
}

void fe_llvm_declare(fe_ir *ir, MlirModule m, const char *name,
                     const char *type) {
  MlirNamedAttribute at[] = {fe_at_str(ir, "sym_name", name),
                             parsed(ir, "function_type", type),
                             parsed(ir, "linkage", "#llvm.linkage<external>"),
                             parsed(ir, "CConv", "#llvm.cconv<ccc>"),
                             fe_at_i64(ir, "unnamed_addr", 0),
                             fe_at_i64(ir, "visibility_", 0)};
  symbol(ir, m, "llvm.func", FE_COUNT(at), at);
}

void fe_llvm_global(fe_ir *ir, MlirModule m, const char *name, int64_t bytes) {
  MlirNamedAttribute at[] = {
      fe_at_str(ir, "sym_name", name),
      parsed(ir, "global_type",
             fe_printf(ir->arena, "!llvm.array<%lld x i8>", (long long)bytes)),
      parsed(ir, "linkage", "#llvm.linkage<external>"),
      fe_at_unit(ir, "constant"),
      fe_at_i64(ir, "alignment", FE_PLAN_ALIGN),
      parsed(ir, "addr_space", "0 : i32"),
      fe_at_i64(ir, "unnamed_addr", 0),
      fe_at_i64(ir, "visibility_", 0)};
  symbol(ir, m, "llvm.mlir.global", FE_COUNT(at), at);
}

MlirValue fe_llvm_call(fe_ir *ir, const char *name, unsigned n,
                       const MlirValue *operands, MlirType result) {
  MlirNamedAttribute at[] = {
      fe_named(ir, "callee", mlirFlatSymbolRefAttrGet(ir->ctx, fe_str(name))),
      parsed(ir, "CConv", "#llvm.cconv<ccc>"),
      parsed(ir, "TailCallKind", "#llvm.tailcallkind<none>"),
      parsed(ir, "fastmathFlags", "#llvm.fastmath<none>"),
      i32s(ir, "op_bundle_sizes", 0, NULL),
      i32s(ir, "operandSegmentSizes", 2, (int32_t[]){(int32_t)n, 0})};
  unsigned n_results = mlirTypeIsNull(result) ? 0 : 1;
  MlirOperation op =
      FE_OP(ir, "llvm.call", .n_operands = n, .operands = operands,
            .n_results = n_results, .results = &result, .n_attrs = FE_COUNT(at),
            .attrs = at);
  return n_results ? fe_first(op) : (MlirValue){NULL};
}
