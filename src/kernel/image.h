//===- image.h - kernels that work block by block of an image ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of depthwise convolutions and pools: every block of channels is on
// its own, and a tile is a row of pixels, one accumulator each.
//
//===----------------------------------------------------------------------===//
#ifndef FE_IMAGE_H
#define FE_IMAGE_H

#include "kernel/kernel.h"
#include "kernel/window.h"

typedef struct fe_image {
  fe_gen g;
  fe_epilogue epilogue;
  fe_window win;
  unsigned lanes;
  int64_t blocks;
  int64_t pixels; // of a tile, at most
  int64_t rows;   // of an item
  MlirValue in, out, scratch; // flat memrefs; scratch: [pixel][lane]
  // Of the item being emitted:
  MlirValue image, block;
  const fe_tile *tile;
} fe_image;

/// Begins the function of a root whose operand 0 is a packed image. Choices
/// that a schedule may make: `pixels` and `rows`.
FE_NODISCARD fe_status fe_image_begin(fe_image *m, fe_ir *ir,
                                      const fe_target *target,
                                      MlirModule module, MlirOperation func);
/// Emits the loops over items and rows around `tile` and ends the function.
/// `cost`: operations per element of the result.
void fe_image_rows(fe_image *m, int64_t cost, fe_tile_fn tile, void *user);
/// Pixels of its tiles: the most, or those of the widest that a row is cut
/// into.
int64_t fe_image_tile_pixels(const fe_image *m);
/// Element of the input where the tile's first pixel has tap (0, 0).
MlirValue fe_image_origin(fe_image *m, const fe_tile *t);
/// Epilogue and stores for the pixels of a tile.
void fe_image_store(fe_image *m, const fe_tile *t, MlirValue *acc);

#endif
