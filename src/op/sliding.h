//===- sliding.h - sliding windows of convolutions and pools ------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Conv, the pools and their relatives have in common: the attributes
// kernel_shape, strides, dilations, pads and auto_pad; sizes of the result; and
// a kernel's loops over rows of the result and taps of the window.
//
// Canonical attributes, as `upgrade` leaves them: the lists are complete (one
// or two numbers per spatial dim), auto_pad is NOTSET unless it is SAME_UPPER
// or SAME_LOWER and the padding depends on sizes known at run time.
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_SLIDING_H
#define FE_OP_SLIDING_H

#include "op/op.h"

typedef enum fe_same { FE_SAME_NO, FE_SAME_UPPER, FE_SAME_LOWER } fe_same_pad;

/// count_include_pad, beyond the standard: all of every window counts, also
/// what ceil_mode adds behind the padding.
enum { FE_COUNT_WINDOW = 2 };

typedef struct fe_sliding {
  unsigned n;                       // spatial dims
  int64_t kernel[FE_MAX_RANK];      // FE_DYN: only run time knows
  MlirAffineExpr size[FE_MAX_RANK]; // the same as expression
  int64_t stride[FE_MAX_RANK], dilation[FE_MAX_RANK];
  int64_t begin[FE_MAX_RANK], end[FE_MAX_RANK]; // padding, unless `same`
  fe_same_pad same;
  bool ceil; // ceil_mode
} fe_sliding;

/// Completes the attributes of a node. `weights`: dims 2 and up are the kernel
/// where kernel_shape is absent; -1: no such operand.
fe_status fe_sliding_upgrade(fe_node *n, int weights);
/// Reads a window from the attributes of an op over the input `x`; `w` as
/// above, NULL: kernel_shape is required.
fe_status fe_sliding_read(fe_ir *ir, fe_where where, MlirOperation attrs,
                          const fe_dims *x, const fe_dims *w, fe_sliding *out);
/// Size of the result in spatial dim i; reports when the kernel does not fit.
fe_status fe_sliding_out(fe_infer *f, const fe_sliding *w, unsigned i,
                         MlirAffineExpr in, MlirAffineExpr *out);

/// A window that goes over the result, as of ConvTranspose.
typedef struct fe_unsliding {
  fe_sliding win;             // begin, end: the padding, where known
  int64_t extra[FE_MAX_RANK]; // output_padding
  int64_t want[FE_MAX_RANK];  // output_shape; FE_DYN: not given
  bool upper;                 // odd padding: less before than behind
  bool late[FE_MAX_RANK];     // the padding is known at run time only
} fe_unsliding;
fe_status fe_unsliding_read(fe_ir *ir, fe_where where, MlirOperation op,
                            const fe_dims *x, const fe_dims *w,
                            fe_unsliding *s);

//===-- Lowering ------------------------------------------------------------//

/// Fills in members of sizes[2..] (result 0) that inference left to run time,
/// and checks at run time what it could not. `w`: the weights or null.
void fe_sliding_sizes(fe_lower *l, const fe_sliding *win, MlirValue x,
                      MlirValue w, MlirValue *sizes);
/// Padding before the first element in each dim: index values of main.
void fe_sliding_pads(fe_lower *l, const fe_sliding *win, MlirValue x,
                     MlirValue w, const MlirValue *sizes, MlirValue *pads);

/// Elements of a row that are computed together.
enum { FE_TILE = 256 };

/// Loops of a kernel over [N][C][rows..][width], window by window. Between
/// fe_sweep_begin and fe_sweep_end: one piece of a row. Between fe_taps_begin
/// and fe_taps_end: one tap; between fe_tap_begin and fe_tap_end: one element
/// of the piece whose tap lies in the image.
typedef struct fe_sweep {
  fe_kernel *k;
  const fe_sliding *w;
  MlirValue in[FE_MAX_RANK], out[FE_MAX_RANK]; // sizes of spatial dims
  MlirValue kernel[FE_MAX_RANK], pad[FE_MAX_RANK];
  MlirValue at[FE_MAX_RANK];                       // N, C, rows of the piece
  MlirValue first[FE_MAX_RANK], last[FE_MAX_RANK]; // taps per dim
  MlirValue piece, width;                          // where it starts; size
  MlirValue tap[FE_MAX_RANK], source[FE_MAX_RANK]; // tap; spatial subscript
  MlirValue offset;                                // of the last dim's tap
  MlirValue x, i;                                  // in the row; the piece
  fe_region rows, pieces, taps[FE_MAX_RANK], elements;
} fe_sweep;
/// `input`, `output`: memrefs; `pad` index values in the kernel; `weights` a
/// memref with the kernel sizes in its dims 2 and up, or null.
void fe_sweep_begin(fe_sweep *s, fe_kernel *k, const fe_sliding *w,
                    MlirValue input, MlirValue output, MlirValue weights,
                    const MlirValue *pad);
void fe_sweep_end(fe_sweep *s);
void fe_taps_begin(fe_sweep *s);
void fe_taps_end(fe_sweep *s);
void fe_tap_begin(fe_sweep *s);
void fe_tap_end(fe_sweep *s);
/// Taps of dim i at result index `o` that lie in [-before, in + behind).
void fe_sliding_taps(fe_ir *ir, const fe_sliding *w, unsigned i, MlirValue o,
                     MlirValue pad, MlirValue kernel, MlirValue before,
                     MlirValue limit, MlirValue *first, MlirValue *last);
/// Loop over [0, s->width) of a piece, for setting up and storing: sets s->i
/// and s->x.
void fe_piece_begin(fe_sweep *s);
void fe_piece_end(fe_sweep *s);
/// Items and cost of such a kernel: rows of the output; `per` operations per
/// element of the result. `output` is the argument's number.
void fe_sweep_extent(fe_kernel *k, unsigned output, MlirAffineExpr per,
                     MlirAffineExpr *items, MlirAffineExpr *cost);
/// Subscripts of a linear index (row-major).
void fe_unravel(fe_ir *ir, MlirValue linear, unsigned n, const MlirValue *sizes,
                MlirValue *at);

//===-- Columns -------------------------------------------------------------//

/// Convolution as a product of matrices: of each image, rows for [channel][tap]
/// and a column per place of the result. In type `work`, f32 or f64.
///
/// The matrix of a plain convolution of operand 0; sizes: of the result.
MlirValue fe_columns(fe_lower *l, const fe_sliding *win, const MlirValue *pads,
                     const MlirValue *sizes);
/// Times the weights, plus the bias (-1: none), operands of the op.
MlirValue fe_columns_product(fe_lower *l, MlirValue columns, unsigned weights,
                             int bias, int64_t group, fe_dtype work,
                             const MlirValue *sizes);

#endif
