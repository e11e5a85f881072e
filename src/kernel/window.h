//===- window.h - sliding windows over images, in register tiles -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What convolutions and pools share: cutting the result into tiles of
// neighbouring pixels and finding which taps of the window meet the image. No
// padded copy is ever made: vertically the loop over taps is shortened, row by
// row; horizontally the tiles at the borders are code of their own, in which
// each tap knows its pixels.
//
//===----------------------------------------------------------------------===//
#ifndef FE_WINDOW_H
#define FE_WINDOW_H

#include "ir/ir.h"

/// Pixels of a tile at most.
#define FE_WINDOW_TILE 32

/// [0] is vertical, [1] horizontal.
typedef struct fe_window {
  int64_t kernel[2], stride[2], dilation[2];
  int64_t pad[4];        // top, left, bottom, right
  int64_t in[2], out[2]; // static sizes or FE_DYN
  MlirValue in_size[2], out_size[2];
  /// How far the last window may reach beyond the image: the padding, and
  /// stride - 1 more where the result's size was rounded up.
  int64_t reach[2];
} fe_window;

/// Reads kernel, strides, dilations and pads of a root; sizes from a packed
/// or plain `input` and the packed `result` (memrefs or tensors; their sizes
/// become values at the insertion point).
void fe_window_read(fe_ir *ir, MlirOperation root, MlirValue input,
                    MlirValue result, fe_window *out);
/// A 1x1 window with stride 1 and no padding sees the image as one row.
bool fe_window_is_flat(const fe_window *w);
void fe_window_flatten(fe_ir *ir, fe_window *w);

/// Pixels of the result and the taps that count for them.
typedef struct fe_tile {
  unsigned m;
  MlirValue y, x;             // of the first pixel, index
  int32_t dy[FE_WINDOW_TILE]; // of the others, from there
  int32_t dx[FE_WINDOW_TILE];
  MlirValue r0, r1; // vertical taps [r0, r1) meet the image
  bool all_rows;    // they are all of them, known statically
  MlirValue s0, s1; // horizontal taps, when m is 1; else null
  /// Bit m of mask[s]: tap s meets the image at pixel m. NULL: all do, or s0
  /// and s1 say which. A pattern: mask[r * kernel width + s], r0 and r1 unused.
  const uint32_t *mask;
  bool pattern;
} fe_tile;
typedef void (*fe_tile_fn)(void *user, const fe_tile *tile);

/// Tiles in a row of the result, of at most `m` pixels.
MlirValue fe_window_tiles(fe_ir *ir, const fe_window *w, unsigned m);
int64_t fe_window_static_tiles(const fe_window *w, unsigned m); // or FE_DYN
/// Emits row y of the result: loops around calls of `fn`, once for each kind of
/// tile. `t0`, `t1`: only tiles [t0, t1) (null: all).
void fe_window_row(fe_ir *ir, const fe_window *w, unsigned m, MlirValue y,
                   MlirValue t0, MlirValue t1, fe_tile_fn fn, void *user);
/// Small images of static size: tiles of at most m consecutive pixels of the
/// whole image, each of them code of its own.
void fe_window_pattern(fe_ir *ir, const fe_window *w, unsigned m, fe_tile_fn fn,
                       void *user);

/// Calls `fn` for every tap of a tile (not of a pattern): in a loop around the
/// rows that meet the image, and for each of its columns, with the pixels that
/// see it. acc[0, n) are carried through; `fn` replaces them.
typedef void (*fe_tap_fn)(void *user, MlirValue r, MlirValue s, uint32_t mask,
                          MlirValue *acc);
void fe_window_taps(fe_ir *ir, const fe_window *w, const fe_tile *t, unsigned n,
                    MlirValue *acc, fe_tap_fn fn, void *user);
/// Offset, in pixels of the input, of tap (0, 0) of the tile's first pixel, and
/// of tap (r, s) from there; of pixel i from the first.
MlirValue fe_window_origin(fe_ir *ir, const fe_window *w, const fe_tile *t);
MlirValue fe_window_tap(fe_ir *ir, const fe_window *w, MlirValue r,
                        MlirValue s);
static inline int64_t fe_window_pixel(const fe_window *w, const fe_tile *t,
                                      unsigned i) {
  return t->dx[i] * w->stride[1];
}
/// Taps of dim i that lie before the end of the padding behind the image.
MlirValue fe_window_padded_taps(fe_ir *ir, const fe_window *w, unsigned i,
                                MlirValue at);

#endif
