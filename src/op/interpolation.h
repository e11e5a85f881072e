//===- interpolation.h - resizing one dim at a time --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interpolation in several dims is one pass per dim. A pass reads a table: for
// each place in the resized dim the elements that it is made of (subscripts,
// -1: none, the place gets the extrapolation value) and their weights. Tables
// are computed by a kernel, since sizes and scales may be known only then.
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_INTERPOLATION_H
#define FE_OP_INTERPOLATION_H

#include "op/op.h"

typedef enum fe_resize_mode {
  FE_RESIZE_NEAREST,
  FE_RESIZE_LINEAR,
  FE_RESIZE_CUBIC
} fe_resize_mode;

typedef struct fe_resize {
  fe_resize_mode mode;
  const char *transform; // coordinate_transformation_mode
  const char *nearest;   // nearest_mode, or "simple" of opsets below 11
  bool antialias, exclude_outside;
  double a; // cubic_coeff_a
  double extrapolation;
} fe_resize;

/// How one dim is resized. The scale is a constant, an element of `scales`, or
/// numerator / denominator.
typedef struct fe_resize_dim {
  unsigned dim;
  MlirValue in, out; // sizes, in main
  double scale;      // > 0: constant
  MlirValue scales;  // tensor of f32, or null
  MlirValue numerator, denominator;
  unsigned entry; // of this dim in `scales` and among the starts in `roi`
  unsigned n_roi; // starts
  MlirValue roi;  // tensor, or null
  fe_dtype roi_type;
} fe_resize_dim;

typedef struct fe_resize_table {
  MlirValue subscripts; // i64 [out * taps]
  MlirValue weights;    // f32 [out * taps]; null for nearest
  MlirValue taps;       // index
  int64_t fixed_taps;   // or FE_DYN
} fe_resize_table;

fe_resize_table fe_resize_make_table(fe_lower *l, const fe_resize *r,
                                     const fe_resize_dim *d);
/// A weighted sum v (f32, f64) of elements as an element of type t, which is
/// what they are, in compute type: integers are cut off and saturate.
MlirValue fe_interpolated(fe_ir *ir, fe_dtype t, MlirValue v);
/// x with dim d->dim resized; sizes: of x, updated. Elements of type `from`
/// become `to`.
MlirValue fe_resize_pass(fe_lower *l, const fe_resize *r,
                         const fe_resize_dim *d, const fe_resize_table *t,
                         MlirValue x, fe_dtype from, fe_dtype to,
                         MlirValue *sizes);

#endif
