//===- conv.h - packed convolutions: blocking and weights -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What layout assignment must know of the generators in conv.c: how channels
// are blocked and in which order weights lie (src/op/krnl.irdl.mlir says the
// same in words).
//
//===----------------------------------------------------------------------===//
#ifndef FE_CONV_H
#define FE_CONV_H

#include "kernel/kernel.h"

/// Channels in a block of the packed layout.
static inline unsigned fe_conv_block(const fe_target *t) {
  return fe_lanes_f32(t);
}

/// How the blocks of output channels are cut into panels: `main` panels of
/// `panel` blocks, then, unless `last` is 0, one of `last` blocks.
typedef struct fe_panels {
  int64_t main, last, panel;
} fe_panels;
fe_panels fe_conv_panels(int64_t blocks, int64_t panel);

/// Pixels of a register tile `panel` blocks wide; dot: how bytes are
/// multiplied, FE_DOT_NONE of floats.
unsigned fe_conv_rows(const fe_target *t, fe_dot dot, int64_t panel);

typedef struct fe_conv_shape {
  int64_t out_channels, channels; // in all; per group
  int64_t groups;
  int64_t kernel[2], stride[2], pad[4];
  int64_t out[2]; // FE_DYN when not known
  bool plain;     // input is [N][C][H][W]
  fe_dot dot;     // of bytes
} fe_conv_shape;
/// Groups that are not whole blocks: a panel of output channels sees the groups
/// that its channels are of, so the blocks of the input that hold those, with
/// zeros among its weights for what is not of a channel's own group.
bool fe_conv_spans(const fe_target *t, const fe_conv_shape *s);
/// Channels of the input that panels of `panel` blocks see, at most.
int64_t fe_conv_span(const fe_conv_shape *s, int64_t lanes, int64_t panel);
/// Products of all panels, for each that counts.
double fe_conv_span_waste(const fe_conv_shape *s, int64_t lanes, int64_t panel);
/// Whether blocks of output channels can be cut into panels of `panel`.
bool fe_conv_panel_fits(const fe_target *t, const fe_conv_shape *s,
                        int64_t panel);
/// Attribute `panel` of krnl.conv.
int64_t fe_conv_choose_panel(const fe_target *t, const fe_conv_shape *s);
/// Weights [K][C/groups][R][S] in panels of `panel` blocks of `lanes` channels.
typedef struct fe_conv_packing {
  unsigned lanes;
  int64_t panel;
  fe_conv_shape shape;
  const fe_float_at *weights;
} fe_conv_packing;
int64_t fe_conv_packed_count(const fe_conv_packing *p);
/// Panels, when they are all alike, else 1.
size_t fe_conv_packed_parts(const fe_conv_packing *p);
/// Writes a part to zeroed memory: the fe_blob_fill of an fe_conv_packing.
void fe_conv_pack_weights(const void *packing, size_t part, void *out);
/// [C][n] to [ceil(C/lanes)][n][lanes], zero-padded: depthwise weights, and
/// with n = 1 biases and other per-channel data.
float *fe_conv_pack_channels(fe_arena *arena, unsigned lanes, int64_t channels,
                             int64_t n, const fe_float_at *data,
                             int64_t *count);

/// Convolutions of bytes by tiles of AMX (krnl.conv_tiles): whether they are
/// done so, words of the weights, and these, to zeroed memory.
bool fe_conv_takes_tiles(const fe_target *t, const fe_conv_shape *s,
                         const int64_t *dilation);
int64_t fe_conv_tiled_words(const fe_conv_shape *s);
void fe_conv_tile_weights(const fe_conv_shape *s, const fe_float_at *from,
                          int8_t *out);

/// Fewer items than this are not left for threads where there can be more, nor
/// an odd number of them.
#define FE_FEW_ITEMS 8

/// Winograd's minimal filtering for 3x3 windows with stride 1. tile 0: does not
/// pay. `block`: tiles of all images that are multiplied together. `fused`: the
/// input is transformed block by block in the kernel.
typedef struct fe_winograd_plan {
  int64_t tile, block;
  bool fused;
} fe_winograd_plan;
/// Where transformed weights come from.
typedef enum fe_winograd_weights {
  FE_WEIGHTS_MADE,   // in every run
  FE_WEIGHTS_STORED, // read from memory in every run
  FE_WEIGHTS_CACHED  // those of the whole model stay in the last cache
} fe_winograd_weights;
/// `images`: FE_DYN when not known.
fe_winograd_plan fe_winograd_choose(const fe_target *t, const fe_conv_shape *s,
                                    int64_t images,
                                    fe_winograd_weights weights);
/// The plan for a tile of 2 or 4, whether it pays or not; *most: largest block
/// that may be chosen instead of the plan's. tile 0: it cannot be done.
fe_winograd_plan fe_winograd_plan_for(const fe_target *t,
                                      const fe_conv_shape *s, int64_t images,
                                      int64_t tile, int64_t *most);
/// Products per tile; elements of winograd_input's last dim; elements of
/// winograd_weights' result.
static inline int64_t fe_winograd_products(int64_t tile) {
  return (tile + 2) * (tile + 2);
}
int64_t fe_winograd_input_row(unsigned lanes, int64_t channels, int64_t block);
int64_t fe_winograd_weights_size(unsigned lanes, int64_t tile, int64_t channels,
                                 int64_t out_channels, int64_t panel);
/// Transformed weights of krnl.winograd, from those of krnl.conv: a recipe and
/// its fe_blob_fill, with as many elements and parts as the others say.
typedef struct fe_winograd_packing {
  fe_conv_packing conv;
  int64_t tile;
} fe_winograd_packing;
int64_t fe_winograd_packed_count(const fe_winograd_packing *p);
size_t fe_winograd_packed_parts(const fe_winograd_packing *p);
void fe_winograd_pack_weights(const void *packing, size_t part, void *out);

fe_status fe_generate_winograd(fe_ir *ir, const fe_target *target,
                               MlirModule module, MlirOperation func);
fe_status fe_generate_winograd_input(fe_ir *ir, const fe_target *target,
                                     MlirModule module, MlirOperation func);
fe_status fe_generate_winograd_weights(fe_ir *ir, const fe_target *target,
                                       MlirModule module, MlirOperation func);
fe_status fe_generate_conv(fe_ir *ir, const fe_target *target,
                           MlirModule module, MlirOperation func);
fe_status fe_generate_conv_tiles(fe_ir *ir, const fe_target *target,
                                 MlirModule module, MlirOperation func);
fe_status fe_generate_depthwise(fe_ir *ir, const fe_target *target,
                                MlirModule module, MlirOperation func);
fe_status fe_generate_depthwise_bytes(fe_ir *ir, const fe_target *target,
                                      MlirModule module, MlirOperation func);
fe_status fe_generate_pool(fe_ir *ir, const fe_target *target,
                           MlirModule module, MlirOperation func);
fe_status fe_generate_interleave(fe_ir *ir, const fe_target *target,
                                 MlirModule module, MlirOperation func);
fe_status fe_generate_widen(fe_ir *ir, const fe_target *target,
                            MlirModule module, MlirOperation func);
fe_status fe_generate_pack(fe_ir *ir, const fe_target *target,
                           MlirModule module, MlirOperation func);
fe_status fe_generate_pack_bytes(fe_ir *ir, const fe_target *target,
                                 MlirModule module, MlirOperation func);
fe_status fe_generate_unpack(fe_ir *ir, const fe_target *target,
                             MlirModule module, MlirOperation func);

#endif
