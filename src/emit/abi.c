//===- abi.c - kernels from memrefs to pointers ------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's memref argument becomes a pointer and its dynamic dims. The
// memref is rebuilt at the start of the function: all layouts are identity, so
// a descriptor with offset 0 and strides from the dims. Constants in it fold
// through the lowering, which leaves plain address arithmetic. The pointers
// are noalias: inputs are only read, outputs overlap nothing.
//
//===----------------------------------------------------------------------===//
#include "emit/parts.h"

#include <string.h>

static MlirValue insert(fe_ir *ir, MlirValue into, MlirValue v, unsigned n,
                        const int64_t *at) {
  return fe_first(FE_OP(ir, "llvm.insertvalue", FE_VALUES(into, v),
                        FE_TYPES(mlirValueGetType(into)),
                        FE_ATTRS(fe_at_i64s(ir, "position", n, at))));
}

static MlirValue llvm_i64(fe_ir *ir, int64_t v) {
  return fe_first(
      FE_OP(ir, "llvm.mlir.constant", FE_TYPES(ir->i64),
            FE_ATTRS(fe_named(ir, "value", mlirIntegerAttrGet(ir->i64, v)))));
}

static MlirValue cast(fe_ir *ir, MlirValue v, MlirType to) {
  return fe_first(FE_OP(ir, "builtin.unrealized_conversion_cast", FE_VALUES(v),
                        FE_TYPES(to)));
}

/// The memref of contiguous memory at `pointer`; `dims`: the dynamic ones.
static MlirValue memref_at(fe_ir *ir, MlirType type, MlirValue pointer,
                           const MlirValue *dims) {
  unsigned rank = (unsigned)mlirShapedTypeGetRank(type);
  const char *text =
      rank ? fe_printf(ir->arena,
                       "!llvm.struct<(ptr, ptr, i64, array<%u x i64>, "
                       "array<%u x i64>)>",
                       rank, rank)
           : "!llvm.struct<(ptr, ptr, i64)>";
  MlirType descriptor = mlirTypeParseGet(ir->ctx, fe_str(text));
  MlirValue d = fe_first(FE_OP(ir, "llvm.mlir.poison", FE_TYPES(descriptor)));
  d = insert(ir, d, pointer, 1, (int64_t[]){0});
  d = insert(ir, d, pointer, 1, (int64_t[]){1});
  d = insert(ir, d, llvm_i64(ir, 0), 1, (int64_t[]){2});
  MlirValue size[FE_MAX_RANK];
  for (unsigned i = 0; i < rank; i++) {
    int64_t n = mlirShapedTypeGetDimSize(type, i);
    size[i] = n == FE_DYN ? *dims++ : llvm_i64(ir, n);
    d = insert(ir, d, size[i], 2, (int64_t[]){3, i});
  }
  MlirValue stride = llvm_i64(ir, 1);
  for (unsigned i = rank; i-- > 0;) {
    d = insert(ir, d, stride, 2, (int64_t[]){4, i});
    if (i)
      stride = fe_first(
          FE_OP(ir, "llvm.mul", FE_VALUES(stride, size[i]), FE_TYPES(ir->i64)));
  }
  return cast(ir, d, type);
}

static unsigned n_dynamic(MlirType type) {
  unsigned n = 0;
  for (intptr_t i = 0; i < mlirShapedTypeGetRank(type); i++)
    n += mlirShapedTypeIsDynamicDim(type, i);
  return n;
}

/// Appends an argument to the function's list.
typedef struct signature {
  fe_ir *ir;
  MlirBlock block;
  fe_vec(MlirType) types;
  fe_vec(MlirAttribute) attrs;
} signature;

static MlirValue add_arg(signature *s, MlirType type, const char *attrs) {
  fe_push(s->ir->arena, &s->types, type);
  fe_push(s->ir->arena, &s->attrs, fe_attr_parse(s->ir, attrs));
  return mlirBlockAddArgument(s->block, type, s->ir->loc);
}

static MlirValue load_slot(fe_ir *ir, MlirValue slots, unsigned i,
                           MlirType type) {
  MlirType in_memory = mlirTypeEqual(type, ir->index) ? ir->i64 : type;
  MlirAttribute at =
      fe_attr_parse(ir, fe_printf(ir->arena, "array<i32: %u>", i));
  MlirValue p = fe_first(FE_OP(ir, "llvm.getelementptr", FE_VALUES(slots),
                               FE_TYPES(ir->ptr),
                               FE_ATTRS(fe_named(ir, "rawConstantIndices", at),
                                        fe_at_type(ir, "elem_type", ir->i64))));
  MlirValue v =
      fe_first(FE_OP(ir, "llvm.load", FE_VALUES(p), FE_TYPES(in_memory),
                     FE_ATTRS(fe_at_i64(ir, "alignment", 8))));
  return mlirTypeEqual(type, in_memory) ? v : cast(ir, v, type);
}

/// func @k.part(slots, begin, end): loads the arguments and calls @k. Under
/// another name, as the module may have the declaration that main refers to.
static void make_part(fe_ir *ir, MlirModule module, const char *name,
                      const signature *s) {
  fe_point outer = fe_point_save(ir);
  MlirOperation part = fe_func_begin(
      ir, module, fe_printf(ir->arena, "%s" FE_PART_DEFINITION, name), false, 3,
      (MlirType[]){ir->ptr, ir->i64, ir->i64});
  MlirBlock block = fe_func_block(part);
  MlirValue *args = FE_NEW_N(ir->arena, MlirValue, s->types.n);
  args[0] = cast(ir, fe_block_arg(block, 1), ir->index);
  args[1] = cast(ir, fe_block_arg(block, 2), ir->index);
  for (unsigned i = 2; i < s->types.n; i++)
    args[i] = load_slot(ir, fe_block_arg(block, 0), i - 2, s->types.at[i]);
  fe_call(ir, name, (unsigned)s->types.n, args, 0, NULL);
  fe_func_end(ir, part, 0, NULL);
  fe_point_restore(ir, outer);
}

void fe_abi_kernel(fe_ir *ir, MlirModule module, MlirOperation func) {
  MlirBlock block = fe_func_block(func);
  const char *name = fe_attr_str(ir->arena, func, "sym_name", "");
  unsigned n = (unsigned)mlirBlockGetNumArguments(block);
  signature s = {.ir = ir, .block = block};
  fe_point outer = fe_point_save(ir);
  fe_point_at_start(ir, block);
  for (unsigned i = 0; i < n; i++) {
    MlirValue old = mlirBlockGetArgument(block, i);
    MlirType type = mlirValueGetType(old);
    MlirValue new;
    if (mlirTypeIsAMemRef(type)) {
      MlirValue pointer = add_arg(&s, ir->ptr, "{llvm.noalias}");
      MlirValue dims[FE_MAX_RANK];
      for (unsigned d = 0, count = n_dynamic(type); d < count; d++)
        dims[d] = add_arg(&s, ir->i64, "{}");
      new = memref_at(ir, type, pointer, dims);
    } else {
      new = add_arg(&s, type, "{}");
    }
    fe_replace(old, new);
  }
  for (unsigned i = 0; i < n; i++)
    mlirBlockEraseArgument(block, 0);
  MlirType type =
      mlirFunctionTypeGet(ir->ctx, (intptr_t)s.types.n, s.types.at, 0, NULL);
  fe_set_attr(ir, func, fe_at_type(ir, "function_type", type));
  fe_set_attr(
      ir, func,
      fe_named(ir, "arg_attrs",
               mlirArrayAttrGet(ir->ctx, (intptr_t)s.attrs.n, s.attrs.at)));
  make_part(ir, module, name, &s);
  fe_point_restore(ir, outer);
}
