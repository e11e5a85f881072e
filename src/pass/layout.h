//===- layout.h - networks of packed images ----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of layout assignment share.
//
//===----------------------------------------------------------------------===//
#ifndef FE_LAYOUT_H
#define FE_LAYOUT_H

#include "kernel/conv.h"
#include "kernel/schedules.h"
#include "op/op.h"
#include "pass/quantized.h"
#include "target/target.h"

typedef struct fe_layout {
  fe_ir *ir;
  const fe_target *target;
  unsigned lanes;          // channels of a block
  fe_map packed;           // plain value -> packed value
  fe_schedules *schedules; // NULL: none
  bool direct;             // no fast filtering
  fe_winograd_weights winograd_weights;
} fe_layout;

/// A plain tensor [N][C][W] or [N][C][H][W] whose C is known: of f32, or of
/// bytes and their sums (u8, i8, i32).
typedef struct fe_image_dims {
  unsigned rank;
  fe_dtype type;
  int64_t channels;
  MlirAffineExpr n, size[2];
} fe_image_dims;
bool fe_image_dims_of(fe_ir *ir, MlirValue v, fe_image_dims *out); // f32
bool fe_image_dims_any(fe_ir *ir, MlirValue v, fe_image_dims *out);
/// [N][blocks][H][W][lanes].
MlirType fe_layout_type(fe_layout *l, const fe_image_dims *d);

/// The packed form, null when there is none yet; and making one: krnl.pack
/// stands behind the definition of v, so that all later users can share it.
MlirValue fe_layout_known(const fe_layout *l, MlirValue v);
MlirValue fe_layout_pack(fe_layout *l, MlirValue v);
/// As [N][C][H][W], behind the definition of v.
MlirValue fe_layout_plane(fe_layout *l, MlirValue v);
/// `old`, a plain value, is from now on the unpacked form of `packed`.
void fe_layout_replace(fe_layout *l, MlirValue old, MlirValue packed);
/// A krnl op before the current one.
MlirValue fe_layout_root(fe_layout *l, const char *name, unsigned n_in,
                         const MlirValue *in, const fe_image_dims *result,
                         unsigned n_attrs, const MlirNamedAttribute *attrs);

/// Window attributes of a conv or pool as two dims: [0] vertical.
typedef struct fe_layout_window {
  int64_t kernel[2], stride[2], dilation[2], pad[4];
} fe_layout_window;
/// kernel: of the `rank` - 2 dims of the image. False: not to be had
/// statically.
bool fe_layout_window_of(fe_layout *l, MlirOperation op,
                         const fe_image_dims *in, const int64_t *kernel,
                         fe_layout_window *out);

/// A convolution to be made: out is its packed result.
typedef struct fe_layout_conv_op {
  fe_image_dims in, out;
  fe_layout_window win;
  fe_conv_shape shape;
  const fe_float_at *weights, *bias; // bias NULL: none
  /// Not NULL: groups of channels are pixels of this result (the attribute
  /// interleave of krnl.conv), `spread` of them each way.
  const fe_image_dims *spread_out;
  int64_t spread[2];
} fe_layout_conv_op;
/// Fills in `shape` from in, out and win; false: the groups do not divide the
/// channels.
bool fe_layout_conv_shape(fe_layout_conv_op *c, int64_t groups);
/// Makes groups whole blocks; false: it does not pay.
bool fe_layout_fit_groups(fe_layout *l, fe_layout_conv_op *c);
/// krnl.conv or krnl.winograd of the plain value x, before the current op.
MlirValue fe_layout_conv_root(fe_layout *l, MlirValue x, fe_layout_conv_op *c);

/// Each gives true when it has replaced the op.
bool fe_layout_conv(fe_layout *l, MlirOperation op);
/// Whether fe_layout_bytes will take it (layout_bytes.c).
bool fe_layout_takes_bytes(fe_ir *ir, const fe_target *t, const fe_q_conv *q);
bool fe_layout_bytes(fe_layout *l, MlirOperation op);
bool fe_layout_scaled(fe_layout *l, MlirOperation op);
bool fe_layout_pool(fe_layout *l, MlirOperation op);
bool fe_layout_pointwise(fe_layout *l, MlirOperation op);
bool fe_layout_concat(fe_layout *l, MlirOperation op);
bool fe_layout_conv_transpose(fe_layout *l, MlirOperation op);
bool fe_layout_depth_to_space(fe_layout *l, MlirOperation op);
bool fe_layout_resize(fe_layout *l, MlirOperation op);
bool fe_layout_slice(fe_layout *l, MlirOperation op);
bool fe_layout_batch_norm(fe_layout *l, MlirOperation op);

#endif
