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
/// The points of F(4x4): 0, +-A, +-B, infinity.
#define FE_WINOGRAD_A 0.625
#define FE_WINOGRAD_B 1.5

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

/// An image on its way to products.
typedef struct fe_winograd_source {
  const fe_gen *g;
  int64_t tile, n, lanes, blocks, block, row;
  int64_t pad[4];
  MlirValue in, out; // flat memrefs
  MlirValue height, width;
  fe_winograd_grid grid;
  // Of the tile being emitted:
  MlirValue plane; // first element of the channels' plane
  MlirValue y, x;  // of its input, perhaps outside of the image
  MlirValue at;    // element of `out`, product 0
} fe_winograd_source;
/// From a root's attributes tile, block and pads.
void fe_winograd_source_of(fe_winograd_source *p, const fe_gen *g,
                           MlirValue image, MlirValue in, MlirValue out);
/// Emits the transform of one block of tiles and one of channels; the block's
/// products lie from element `base` of `out` on.
void fe_winograd_input_block(fe_winograd_source *p, MlirValue block,
                             MlirValue channels, MlirValue base);

#endif
