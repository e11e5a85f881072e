//===- amx.c - matrix products of tiles -----------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The intrinsics that name registers by number: they neither allocate nor save
// them, so a kernel must not call what might use tiles too.
//
//===----------------------------------------------------------------------===//
#include "kernel/amx.h"

#include <mlir-c/BuiltinAttributes.h>

/// The configuration in memory: bytes.
#define CONFIG_BYTES 64
#define ROW_BYTES_AT 16 // u16 for each tile
#define ROWS_AT 48      // u8 for each tile
#define PALETTE 1

static void call(fe_ir *ir, const char *name, unsigned n,
                 const MlirValue *operands) {
  int32_t segments[2] = {(int32_t)n, 0};
  FE_OP(ir, "llvm.call_intrinsic", .n_operands = n, .operands = operands,
        FE_ATTRS(fe_at_str(ir, "intrin", name),
                 fe_named(ir, "op_bundle_sizes",
                          mlirDenseI32ArrayGet(ir->ctx, 0, NULL)),
                 fe_named(ir, "operandSegmentSizes",
                          mlirDenseI32ArrayGet(ir->ctx, 2, segments))));
}

/// An operand that has to be a number in the instruction.
static MlirValue immediate(fe_ir *ir, unsigned number) {
  return fe_first(FE_OP(
      ir, "llvm.mlir.constant", FE_TYPES(ir->i8),
      FE_ATTRS(fe_named(ir, "value", mlirIntegerAttrGet(ir->i8, number)))));
}

static MlirValue pointer(fe_ir *ir, MlirValue memref, MlirValue at) {
  MlirValue base = fe_first(FE_OP(ir, "memref.extract_aligned_pointer_as_index",
                                  FE_VALUES(memref), FE_TYPES(ir->index)));
  int64_t bytes = fe_dtype_bytes(fe_dtype_of_elem(fe_elem_of(memref)));
  base = fe_add(ir, base, fe_mul(ir, at, fe_index(ir, bytes)));
  base = fe_convert(ir, base, ir->i64, false, false);
  return fe_first(
      FE_OP(ir, "llvm.inttoptr", FE_VALUES(base), FE_TYPES(ir->ptr)));
}

MlirValue fe_amx_begin(fe_gen *g) {
  int64_t size = CONFIG_BYTES;
  fe_set_attr(g->ir, g->func, fe_at_unit(g->ir, "krnl.amx"));
  return fe_alloca(g->ir, fe_memref_type(g->ir, g->ir->i8, 1, &size));
}

void fe_amx_shape(fe_ir *ir, MlirValue memory, MlirValue rows, unsigned full) {
  MlirValue zero = fe_index(ir, 0), value[CONFIG_BYTES];
  MlirValue few = fe_convert(ir, rows, ir->i8, false, false);
  for (unsigned i = 0; i < CONFIG_BYTES; ++i)
    value[i] = fe_int(ir, ir->i8, i == 0 ? PALETTE : 0);
  for (unsigned i = 0; i < FE_AMX_TILES; ++i) {
    value[ROW_BYTES_AT + 2 * i] = fe_int(ir, ir->i8, FE_AMX_BYTES);
    value[ROWS_AT + i] = i < full ? few : fe_int(ir, ir->i8, FE_AMX_ROWS);
  }
  for (unsigned i = 0; i < CONFIG_BYTES; ++i)
    fe_store(ir, value[i], memory, FE_IDX(fe_index(ir, i)));
  MlirValue at = pointer(ir, memory, zero);
  call(ir, "llvm.x86.ldtilecfg", 1, &at);
}

void fe_amx_end(fe_ir *ir) { call(ir, "llvm.x86.tilerelease", 0, NULL); }

void fe_amx_zero(fe_ir *ir, unsigned tile) {
  MlirValue number = immediate(ir, tile);
  call(ir, "llvm.x86.tilezero", 1, &number);
}

static void move(fe_ir *ir, const char *name, unsigned tile, MlirValue memref,
                 MlirValue at, MlirValue row) {
  MlirValue in[3] = {immediate(ir, tile), pointer(ir, memref, at),
                     fe_convert(ir, row, ir->i64, false, false)};
  call(ir, name, 3, in);
}

void fe_amx_load(fe_ir *ir, unsigned tile, MlirValue memref, MlirValue at,
                 MlirValue row) {
  move(ir, "llvm.x86.tileloadd64", tile, memref, at, row);
}

void fe_amx_store(fe_ir *ir, unsigned tile, MlirValue memref, MlirValue at,
                  MlirValue row) {
  move(ir, "llvm.x86.tilestored64", tile, memref, at, row);
}

void fe_amx_product(fe_ir *ir, fe_amx_kind kind, unsigned sums, unsigned a,
                    unsigned b) {
  static const char *const names[] = {[FE_AMX_U8S8] = "llvm.x86.tdpbusd",
                                      [FE_AMX_BF16] = "llvm.x86.tdpbf16ps"};
  MlirValue in[3] = {immediate(ir, sums), immediate(ir, a), immediate(ir, b)};
  call(ir, names[kind], 3, in);
}
