//===- winograd.h - transforms of minimal filtering --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_WINOGRAD_H
#define FE_WINOGRAD_H

#include "kernel/conv.h"

#define FE_WINOGRAD_MAX 6 // products along one dim

/// The one-dimensional transforms on vectors: n = tile + 2 inputs to n
/// products; 3 taps to n products; n products to `tile` outputs.
void fe_winograd_in(const fe_gen *g, int64_t tile, const MlirValue *d,
                    MlirValue *out);
void fe_winograd_taps(const fe_gen *g, int64_t tile, const MlirValue *w,
                      MlirValue *out);
void fe_winograd_out(const fe_gen *g, int64_t tile, const MlirValue *m,
                     MlirValue *out);

/// Tiles of the images: where tile number `id` begins.
typedef struct fe_winograd_grid {
  MlirValue rows, columns, total; // of tiles; in all images
} fe_winograd_grid;
fe_winograd_grid fe_winograd_grid_of(fe_ir *ir, int64_t tile, MlirValue images,
                                     MlirValue height, MlirValue width);
void fe_winograd_place(fe_ir *ir, const fe_winograd_grid *grid, int64_t tile,
                       MlirValue id, MlirValue *image, MlirValue *y,
                       MlirValue *x);

#endif
