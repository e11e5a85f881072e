//===- profile.c - main with a clock around every kernel ---------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of fe_rt_parallel become calls of fe_rt_profile, which adds to an entry
// of the table @fe_profile. What a call touches follows from the types of the
// kernel's memrefs; dynamic dims are read from the slots it is called with.
//
//===----------------------------------------------------------------------===//
#include "emit/parts.h"
#include "pass/plan.h"

#include <string.h>

typedef struct profiling {
  fe_ir *ir;
  MlirModule module;
  fe_model_info *info;
  fe_vec(ferrule_profile_entry) entries;
} profiling;

/// Symbol that `v` is the address of, without what `end` says; NULL: none.
static const char *symbol_of(fe_ir *ir, MlirValue v, const char *end) {
  MlirAttribute a = fe_attr(fe_def(v), "global_name");
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAFlatSymbolRef(a))
    return NULL;
  MlirStringRef s = mlirFlatSymbolRefAttrGetValue(a);
  size_t n = strlen(end);
  if (s.length <= n || memcmp(s.data + s.length - n, end, n))
    return NULL;
  return fe_strndup(ir->arena, s.data, s.length - n);
}

/// Bytes of all memref arguments of the kernel called with these slots.
static MlirValue bytes_of(fe_ir *ir, MlirOperation kernel, MlirValue slots) {
  MlirValue sum = fe_int(ir, ir->i64, 0);
  MlirBlock block = fe_func_block(kernel);
  int64_t slot = 0;
  for (intptr_t i = 2; i < mlirBlockGetNumArguments(block); i++, slot++) {
    MlirType type = mlirValueGetType(mlirBlockGetArgument(block, i));
    if (!mlirTypeIsAMemRef(type))
      continue;
    unsigned bits =
        fe_dtype_bits(fe_dtype_of_elem(mlirShapedTypeGetElementType(type)));
    MlirValue bytes = fe_int(ir, ir->i64, (bits + 7) / 8);
    for (intptr_t d = 0; d < mlirShapedTypeGetRank(type); d++) {
      int64_t n = mlirShapedTypeGetDimSize(type, d);
      MlirValue size =
          n == FE_DYN
              ? fe_llvm_load(ir, ir->i64, fe_llvm_at(ir, slots, 8 * ++slot))
              : fe_int(ir, ir->i64, n);
      bytes = fe_mul(ir, bytes, size);
    }
    sum = fe_add(ir, sum, bytes);
  }
  return sum;
}

static void instrument(MlirOperation op, void *user) {
  profiling *p = user;
  fe_ir *ir = p->ir;
  MlirAttribute callee = fe_attr(op, "callee");
  if (!fe_op_is(op, "llvm.call") || mlirAttributeIsNull(callee) ||
      !mlirStringRefEqual(mlirFlatSymbolRefAttrGetValue(callee),
                          fe_str("fe_rt_parallel")))
    return;
  const char *name = symbol_of(ir, fe_operand(op, 1), FE_PART);
  MlirOperation kernel =
      name ? fe_func_find(p->module, name) : (MlirOperation){NULL};
  if (mlirOperationIsNull(kernel))
    return;
  const char *node = fe_loc_node(ir, mlirOperationGetLocation(op));
  ferrule_profile_entry entry = {.kernel = name, .node = node ? node : ""};
  fe_point_before(ir, op);
  ir->loc = mlirOperationGetLocation(op);
  MlirValue args[8];
  for (unsigned i = 0; i < 6; i++)
    args[i] = fe_operand(op, i);
  args[6] = bytes_of(ir, kernel, args[2]);
  args[7] = fe_llvm_at(ir, fe_llvm_address(ir, FE_PROFILE_TABLE),
                       (int64_t)(p->entries.n * sizeof entry));
  fe_llvm_call(ir, "fe_rt_profile", 8, args, (MlirType){NULL});
  fe_push(ir->arena, &p->entries, entry);
  fe_erase(op);
}

void fe_profile_instrument(fe_ir *ir, MlirModule module, fe_model_info *info) {
  profiling p = {.ir = ir, .module = module, .info = info};
  fe_point outer = fe_point_save(ir);
  fe_llvm_declare(ir, module, "fe_rt_profile",
                  "!llvm.func<void (ptr, ptr, ptr, i64, i64, i64, i64, ptr)>");
  fe_llvm_global(ir, module, FE_PROFILE_TABLE, 8);
  fe_walk(fe_func_block(fe_func_find(module, "main")), instrument, &p);
  fe_point_restore(ir, outer);
  info->n_profile = p.entries.n;
  info->profile = p.entries.at;
}
