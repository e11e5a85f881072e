//===- amx.h - matrix products of tiles --------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AMX has eight registers of 16 rows of 64 bytes. A product adds, to a tile of
// 16 x 16 sums of 32 bits, a tile of 16 rows of A times one of B whose rows
// hold, for each of 16 columns, the 4 bytes along K that a lane of 32 bits has:
// what dot products of vectors take too (dot.c), of 64 bytes of K at once.
//
// Which registers hold what is the caller's to say; LLVM knows nothing of them.
// Reference: Intel 64 manual, volume 1, chapter 18.
//
//===----------------------------------------------------------------------===//
#ifndef FE_KERNEL_AMX_H
#define FE_KERNEL_AMX_H

#include "kernel/kernel.h"

#define FE_AMX_ROWS 16  // of a tile; columns of sums too
#define FE_AMX_BYTES 64 // of a row
#define FE_AMX_TILES 8

typedef enum fe_amx_kind { FE_AMX_U8S8, FE_AMX_BF16 } fe_amx_kind;

/// Memory for fe_amx_shape, and the mark by which main asks the system first.
MlirValue fe_amx_begin(fe_gen *g);
/// All tiles get 64 bytes a row, those before `full` only `rows` rows (1 to
/// 16), the others 16.
void fe_amx_shape(fe_ir *ir, MlirValue memory, MlirValue rows, unsigned full);
/// Gives the registers back. At the end of a kernel.
void fe_amx_end(fe_ir *ir);

void fe_amx_zero(fe_ir *ir, unsigned tile);
/// From (to) element `at` of a flat memref on; `row`: bytes to the next row.
void fe_amx_load(fe_ir *ir, unsigned tile, MlirValue memref, MlirValue at,
                 MlirValue row);
void fe_amx_store(fe_ir *ir, unsigned tile, MlirValue memref, MlirValue at,
                  MlirValue row);
/// sums += a * b
void fe_amx_product(fe_ir *ir, fe_amx_kind kind, unsigned sums, unsigned a,
                    unsigned b);

#endif
