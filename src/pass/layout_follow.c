//===- layout_follow.c - ops that follow a packed operand --------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools, pointwise ops, concatenations and batch normalizations on packed
// images. What lanes beyond the channels hold is never read by anything that
// mixes channels, so pointwise ops may leave there what they like.
//
//===----------------------------------------------------------------------===//
#include "kernel/conv.h"
#include "op/sliding.h"
#include "pass/layout.h"

#include <math.h>
#include <string.h>

//===-- Pools ---------------------------------------------------------------//

/// reduce_mean over all dims of the image and nothing else.
static bool is_image_mean(fe_layout *l, MlirOperation op,
                          const fe_image_dims *in) {
  int64_t axes[FE_MAX_RANK];
  int n = fe_n_operands(op) > 1
              ? fe_const_ints(l->ir, fe_operand(op, 1), axes, FE_MAX_RANK)
              : -1;
  if (n != (int)in->rank - 2)
    return false;
  uint32_t seen = 0;
  for (int i = 0; i < n; ++i)
    seen |= 1u << (axes[i] < 0 ? axes[i] + in->rank : axes[i]);
  return seen == (in->rank == 4 ? 0xcu : 0x4u);
}

static MlirValue pool_root(fe_layout *l, MlirValue x, const char *kind,
                           const fe_layout_window *w,
                           const fe_image_dims *result) {
  fe_ir *ir = l->ir;
  MlirNamedAttribute attrs[] = {fe_at_str(ir, "kind", kind),
                                fe_at_i64s(ir, "kernel", 2, w->kernel),
                                fe_at_i64s(ir, "strides", 2, w->stride),
                                fe_at_i64s(ir, "dilations", 2, w->dilation),
                                fe_at_i64s(ir, "pads", 4, w->pad)};
  return fe_layout_root(l, "krnl.pool", 1, &x, result, FE_COUNT(attrs), attrs);
}

/// A mean that drops the dims it reduced: behind the pool, on plain values.
static bool mean_without_dims(fe_layout *l, MlirOperation op, MlirValue pooled,
                              const fe_image_dims *d) {
  fe_ir *ir = l->ir;
  fe_dims plain = {
      4, {d->n, fe_dim_const(ir, d->channels), d->size[0], d->size[1]}};
  MlirType type = fe_tensor_type(ir, ir->f32, &plain);
  MlirValue v =
      fe_first(FE_OP(ir, "krnl.unpack", FE_VALUES(pooled), FE_TYPES(type)));
  v = fe_onnx1(ir, "Squeeze", v, fe_constant_i64s(ir, 2, (int64_t[]){2, 3}));
  fe_replace(fe_result(op, 0), v);
  return true;
}

bool fe_layout_pool(fe_layout *l, MlirOperation op) {
  fe_ir *ir = l->ir;
  MlirValue x = fe_operand(op, 0), y = fe_result(op, 0);
  fe_image_dims in, out;
  bool mean = fe_op_is(op, "onnx.reduce_mean");
  bool max =
      fe_op_is(op, "onnx.max_pool") || fe_op_is(op, "onnx.global_max_pool");
  if (!fe_image_dims_any(ir, x, &in) || in.type == FE_I32 ||
      (in.type != FE_F32 && !max) ||
      (fe_n_results(op) > 1 && fe_n_uses(fe_result(op, 1))))
    return false;
  bool known = !fe_is_null(fe_layout_known(l, x));
  fe_layout_window w = {{0}, {1, 1}, {1, 1}, {0}};
  const char *kind = in.type == FE_U8   ? "max_u8"
                     : in.type == FE_I8 ? "max_i8"
                     : max              ? "max"
                                        : "average";
  if (mean || fe_op_is(op, "onnx.global_average_pool") ||
      fe_op_is(op, "onnx.global_max_pool")) {
    if (!known || (mean && !is_image_mean(l, op, &in)))
      return false;
    out = in;
    out.size[0] = out.size[1] = fe_dim_const(ir, 1);
    MlirValue pooled = pool_root(l, fe_layout_known(l, x), kind, &w, &out);
    if (mean && !fe_attr_i64(op, "keepdims", 1))
      return mean_without_dims(l, op, pooled, &out);
    fe_layout_replace(l, y, pooled);
    return true;
  }
  int64_t kernel[2];
  // A plain image is faster as it is than put into blocks and back.
  if (!known || !fe_image_dims_any(ir, y, &out) ||
      fe_attr_i64s(op, "kernel_shape", kernel, 2) != in.rank - 2 ||
      !fe_layout_window_of(l, op, &in, kernel, &w) ||
      (!max && fe_attr_i64(op, "count_include_pad", 0) == FE_COUNT_WINDOW))
    return false;
  if (!max && fe_attr_i64(op, "count_include_pad", 0))
    kind = "average_padded";
  fe_layout_replace(l, y, pool_root(l, fe_layout_pack(l, x), kind, &w, &out));
  return true;
}

//===-- Pointwise -----------------------------------------------------------//

/// [a][C][h][w] to [a][C/b][h][w][b].
static MlirValue pack_constant(fe_layout *l, const fe_const *c,
                               const int64_t *dims) {
  fe_ir *ir = l->ir;
  int64_t channels = dims[1], pixels = dims[2] * dims[3], b = l->lanes;
  int64_t blocks = (channels + b - 1) / b;
  float *out =
      FE_NEW_N(ir->arena, float, (size_t)(dims[0] * blocks * pixels * b));
  const fe_float_at *data = c->data;
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t k = 0; k < channels; ++k)
      for (int64_t i = 0; i < pixels; ++i)
        out[((n * blocks + k / b) * pixels + i) * b + k % b] =
            data[(n * channels + k) * pixels + i];
  int64_t packed[5] = {dims[0], blocks, dims[2], dims[3], b};
  return fe_constant(ir, "packed", FE_F32, 5, packed, out);
}

/// Dims of an operand aligned with a result of rank `rank`, as [N][C][H][W].
static bool align(fe_ir *ir, MlirValue v, unsigned rank, fe_dims *out) {
  fe_dims d;
  if (!fe_dims_of(ir, v, &d) || d.rank > rank)
    return false;
  MlirAffineExpr one = fe_dim_const(ir, 1);
  MlirAffineExpr full[4] = {one, one, one, one};
  for (unsigned i = 0; i < d.rank; ++i)
    full[rank - d.rank + i] = d.d[i];
  *out = (fe_dims){4, {full[0], full[1], full[2], full[3]}};
  if (rank == 3) {
    out->d[3] = full[2];
    out->d[2] = one;
  }
  return true;
}

typedef enum operand_kind {
  AS_IT_IS, // absent, or one element
  CONSTANT, // put in order here
  CHANNELS, // has the result's channels: packed
  SPATIAL,  // one channel for all: a dim of 1 is added
  IMPOSSIBLE
} operand_kind;

static operand_kind kind_of(fe_layout *l, MlirValue v, const fe_image_dims *y) {
  fe_ir *ir = l->ir;
  fe_dims d;
  fe_const c;
  if (fe_is_null(v) || mlirTypeIsANone(mlirValueGetType(v)))
    return AS_IT_IS;
  if (!align(ir, v, y->rank, &d))
    return IMPOSSIBLE;
  bool one = true;
  for (unsigned i = 0; i < 4; ++i)
    one &= fe_dim_static(d.d[i]) == 1;
  fe_dtype t = fe_dtype_of_elem(fe_elem_of(v));
  bool bytes = t == FE_U8 || t == FE_I8 || t == FE_I32;
  if (one && (bytes || t == FE_F32))
    return AS_IT_IS;
  int64_t channels = fe_dim_static(d.d[1]);
  if (channels == y->channels && channels != 1 && bytes)
    return fe_const_of(ir, v, &c) ? IMPOSSIBLE : CHANNELS;
  if (t != FE_F32)
    return IMPOSSIBLE;
  if (channels == y->channels && channels != 1)
    return fe_const_of(ir, v, &c) ? CONSTANT : CHANNELS;
  return channels == 1 ? SPATIAL : IMPOSSIBLE;
}

/// v with leading dims of 1 up to `rank`.
static MlirValue at_rank(fe_layout *l, MlirValue v, unsigned rank) {
  unsigned n = rank - fe_rank(v);
  int64_t axes[4] = {0, 1, 2, 3};
  return n ? fe_onnx1(l->ir, "Unsqueeze", v, fe_constant_i64s(l->ir, n, axes))
           : v;
}

static MlirValue packed_operand(fe_layout *l, MlirValue v, operand_kind kind,
                                const fe_image_dims *y) {
  fe_ir *ir = l->ir;
  fe_const c;
  fe_dims d;
  int64_t dims[4];
  switch (kind) {
  case CONSTANT:
    align(ir, v, y->rank, &d);
    for (unsigned i = 0; i < 4; ++i)
      dims[i] = fe_dim_static(d.d[i]);
    if (!fe_const_of(ir, v, &c))
      return (MlirValue){NULL};
    return pack_constant(l, &c, dims);
  case CHANNELS:
    return fe_layout_pack(l, at_rank(l, v, y->rank));
  case SPATIAL: {
    int64_t axes[2] = {y->rank == 4 ? 4 : 2, 4};
    return fe_onnx1(ir, "Unsqueeze", at_rank(l, v, y->rank),
                    fe_constant_i64s(ir, y->rank == 4 ? 1 : 2, axes));
  }
  default:
    return v;
  }
}

static MlirOperation same_op(fe_layout *l, MlirOperation op, unsigned n,
                             const MlirValue *in) {
  fe_ir *ir = l->ir;
  unsigned n_attrs = (unsigned)mlirOperationGetNumAttributes(op);
  MlirNamedAttribute *attrs =
      FE_NEW_N(ir->arena, MlirNamedAttribute, n_attrs + 1);
  for (unsigned i = 0; i < n_attrs; ++i)
    attrs[i] = mlirOperationGetAttribute(op, i);
  return fe_onnx(ir, fe_op_name(ir->arena, op), n, in, 1, n_attrs, attrs);
}

/// The op of packed operands, in its place; y: its result as an image.
static bool packed_op(fe_layout *l, MlirOperation op, unsigned n,
                      const MlirValue *in, const fe_image_dims *y) {
  MlirOperation made = same_op(l, op, n, in);
  if (mlirOperationIsNull(made))
    return false;
  MlirValue v = fe_first(made);
  mlirValueSetType(v, fe_layout_type(l, y));
  fe_layout_replace(l, fe_result(op, 0), v);
  return true;
}

bool fe_layout_pointwise(fe_layout *l, MlirOperation op) {
  fe_ir *ir = l->ir;
  const fe_op_row *row = fe_op_row_of(op);
  fe_image_dims y;
  if (!row || !(row->flags & FE_POINTWISE) || fe_n_results(op) != 1 ||
      !fe_image_dims_any(ir, fe_result(op, 0), &y))
    return false;
  unsigned n = fe_n_operands(op), packed = 0, plain = 0;
  operand_kind *kind = FE_NEW_N(ir->arena, operand_kind, n + 1);
  MlirValue *in = FE_NEW_N(ir->arena, MlirValue, n + 1);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue v = fe_operand(op, i);
    kind[i] = kind_of(l, v, &y);
    if (kind[i] == IMPOSSIBLE)
      return false;
    if (kind[i] != CHANNELS)
      continue;
    fe_image_dims d;
    bool full = fe_image_dims_any(ir, v, &d) && fe_dim_static(d.size[1]) != 1;
    if (!fe_is_null(fe_layout_known(l, v)))
      ++packed;
    else if (full)
      ++plain;
  }
  // Not worth it when more has to be packed than is packed already.
  if (!packed || plain > packed)
    return false;
  for (unsigned i = 0; i < n; ++i)
    in[i] = packed_operand(l, fe_operand(op, i), kind[i], &y);
  return packed_op(l, op, n, in, &y);
}

/// (De)quantization with one scale for all.
bool fe_layout_scaled(fe_layout *l, MlirOperation op) {
  fe_ir *ir = l->ir;
  MlirValue x = fe_operand(op, 0), known = fe_layout_known(l, x);
  fe_image_dims y;
  if (fe_is_null(known) || !fe_image_dims_any(ir, fe_result(op, 0), &y))
    return false;
  unsigned n = fe_n_operands(op);
  MlirValue *in = FE_NEW_N(ir->arena, MlirValue, n + 1);
  in[0] = known;
  for (unsigned i = 1; i < n; ++i) {
    fe_dims d;
    in[i] = fe_operand(op, i);
    if (mlirTypeIsANone(mlirValueGetType(in[i])))
      continue;
    // One number in a list of one would be looked for along an axis.
    if (!fe_dims_of(ir, in[i], &d) || d.rank)
      return false;
  }
  return packed_op(l, op, n, in, &y);
}

//===-- Concatenation -------------------------------------------------------//

/// Constant zeros, whatever their size.
static bool is_zero(MlirValue v) {
  MlirOperation op = fe_def(v);
  if (!fe_op_is(op, "onnx.constant") || !fe_has_attr(op, "value"))
    return false;
  MlirAttribute a = fe_attr(op, "value");
  return mlirAttributeIsADenseElements(a) && mlirDenseElementsAttrIsSplat(a) &&
         mlirDenseElementsAttrGetFloatSplatValue(a) == 0;
}

/// A packed image with channels of zeros behind it.
static bool widen(fe_layout *l, MlirOperation op, const fe_image_dims *y) {
  fe_ir *ir = l->ir;
  MlirValue x = fe_operand(op, 0), known = fe_layout_known(l, x);
  fe_image_dims d;
  if (fe_is_null(known) || !fe_image_dims_of(ir, x, &d))
    return false;
  for (unsigned i = 1; i < fe_n_operands(op); ++i)
    if (!is_zero(fe_operand(op, i)))
      return false;
  MlirNamedAttribute attr = fe_at_i64(ir, "channels", d.channels);
  fe_layout_replace(l, fe_result(op, 0),
                    fe_layout_root(l, "krnl.widen", 1, &known, y, 1, &attr));
  return true;
}

/// Blocks of a result that have code of their own (JoinBlocks).
#define MAX_JOINED 128

/// Whether a reader of v is likely to take it packed.
static bool wants_packed(MlirValue v) {
  static const char *const readers[] = {
      "onnx.conv",   "onnx.conv_transpose",      "onnx.concat",
      "onnx.resize", "onnx.batch_normalization", "onnx.global_average_pool"};
  MlirOpOperand u = mlirValueGetFirstUse(v);
  for (; !mlirOpOperandIsNull(u); u = mlirOpOperandGetNextUse(u)) {
    MlirOperation op = mlirOpOperandGetOwner(u);
    const fe_op_row *row = fe_op_row_of(op);
    for (size_t i = 0; i < FE_COUNT(readers); ++i)
      if (fe_op_is(op, readers[i]))
        return true;
    if (row && (row->flags & FE_POINTWISE))
      return true;
  }
  return false;
}

/// Channels that are not whole blocks: one copy, where unpacking, joining and
/// packing would be three.
static bool join(fe_layout *l, MlirOperation op, const fe_image_dims *y) {
  fe_ir *ir = l->ir;
  unsigned n = fe_n_operands(op);
  int64_t channels[FE_MAX_VARIADIC];
  MlirValue in[FE_MAX_VARIADIC];
  if (y->type != FE_F32 || n > FE_MAX_VARIADIC ||
      y->channels > (int64_t)(MAX_JOINED * l->lanes) ||
      !wants_packed(fe_result(op, 0)))
    return false;
  for (unsigned i = 0; i < n; ++i) {
    fe_image_dims d;
    if (!fe_image_dims_of(ir, fe_operand(op, i), &d))
      return false;
    channels[i] = d.channels;
  }
  for (unsigned i = 0; i < n; ++i)
    in[i] = fe_layout_pack(l, fe_operand(op, i));
  MlirNamedAttribute attr = fe_at_i64s(ir, "channels", n, channels);
  MlirValue v = fe_first(fe_onnx(ir, "ms_join_blocks", n, in, 1, 1, &attr));
  if (fe_is_null(v))
    return false;
  mlirValueSetType(v, fe_layout_type(l, y));
  fe_layout_replace(l, fe_result(op, 0), v);
  return true;
}

bool fe_layout_concat(fe_layout *l, MlirOperation op) {
  fe_ir *ir = l->ir;
  fe_image_dims y, d;
  if (!fe_image_dims_any(ir, fe_result(op, 0), &y))
    return false;
  int64_t axis = fe_attr_i64(op, "axis", 0);
  if (axis < 0)
    axis += y.rank;
  unsigned n = fe_n_operands(op), packed = 0;
  if (axis != 1)
    return false;
  if (y.type == FE_F32 && widen(l, op, &y))
    return true;
  bool whole = true;
  for (unsigned i = 0; i < n; ++i) {
    MlirValue v = fe_operand(op, i);
    if (!fe_image_dims_any(ir, v, &d))
      return false;
    whole &= d.channels % l->lanes == 0;
    packed += !fe_is_null(fe_layout_known(l, v));
  }
  if (2 * packed < n || !packed)
    return false;
  if (!whole)
    return packed == n && join(l, op, &y);
  MlirValue *in = FE_NEW_N(ir->arena, MlirValue, n + 1);
  for (unsigned i = 0; i < n; ++i)
    in[i] = fe_layout_pack(l, fe_operand(op, i));
  MlirNamedAttribute attr = fe_at_i64(ir, "axis", 1);
  MlirValue v = fe_first(fe_onnx(ir, "Concat", n, in, 1, 1, &attr));
  if (fe_is_null(v))
    return false;
  mlirValueSetType(v, fe_layout_type(l, &y));
  fe_layout_replace(l, fe_result(op, 0), v);
  return true;
}

//===-- Slices --------------------------------------------------------------//

/// Whole blocks of channels, anything of the other dims, with known bounds.
bool fe_layout_slice(fe_layout *l, MlirOperation op) {
  fe_ir *ir = l->ir;
  MlirValue x = fe_operand(op, 0), known = fe_layout_known(l, x);
  fe_image_dims d, y;
  if (fe_is_null(known) || !fe_image_dims_any(ir, x, &d) ||
      !fe_image_dims_any(ir, fe_result(op, 0), &y))
    return false;
  int64_t v[4][4]; // starts, ends, axes, steps
  int n = fe_const_ints(ir, fe_operand(op, 1), v[0], 4);
  if (n < 1 || fe_const_ints(ir, fe_operand(op, 2), v[1], 4) != n)
    return false;
  for (unsigned k = 2; k < 4; ++k) {
    MlirValue given = fe_operand(op, k + 1);
    if (!fe_is_null(given) && !mlirTypeIsANone(mlirValueGetType(given))) {
      if (fe_const_ints(ir, given, v[k], 4) != n)
        return false;
      continue;
    }
    for (int i = 0; i < n; ++i)
      v[k][i] = k == 2 ? i : 1;
  }
  int64_t lanes = l->lanes;
  for (int i = 0; i < n; ++i) {
    int64_t *from = &v[0][i], *to = &v[1][i], *axis = &v[2][i];
    if (*axis < 0)
      *axis += d.rank;
    if (*axis >= 2)
      *axis += 4 - d.rank;
    if (*axis != 1)
      continue;
    *from += *from < 0 ? d.channels : 0;
    *to += *to < 0 ? d.channels : 0;
    *to = *to > d.channels ? d.channels : *to;
    if (*from < 0 || *from >= *to || *from % lanes || v[3][i] != 1 ||
        (*to % lanes && *to != d.channels))
      return false;
    *from /= lanes;
    *to = (*to + lanes - 1) / lanes;
  }
  MlirValue in[5] = {known};
  for (unsigned k = 0; k < 4; ++k)
    in[1 + k] = fe_constant_i64s(ir, (unsigned)n, v[k]);
  MlirValue made = fe_first(fe_onnx(ir, "Slice", 5, in, 1, 0, NULL));
  if (fe_is_null(made))
    return false;
  mlirValueSetType(made, fe_layout_type(l, &y));
  fe_layout_replace(l, fe_result(op, 0), made);
  return true;
}

//===-- Batch normalization -------------------------------------------------//

bool fe_layout_batch_norm(fe_layout *l, MlirOperation op) {
  fe_ir *ir = l->ir;
  MlirValue x = fe_operand(op, 0), known = fe_layout_known(l, x);
  fe_image_dims d;
  fe_const c[4];
  if (fe_is_null(known) || !fe_image_dims_of(ir, x, &d) ||
      fe_attr_i64(op, "training_mode", 0))
    return false;
  for (unsigned i = 1; i < fe_n_results(op); ++i)
    if (fe_n_uses(fe_result(op, i)))
      return false;
  for (unsigned i = 0; i < 4; ++i)
    if (!fe_const_of(ir, fe_operand(op, 1 + i), &c[i]) ||
        c[i].dtype != FE_F32 || c[i].count != d.channels)
      return false;
  const fe_float_at *scale = c[0].data, *bias = c[1].data, *mean = c[2].data,
                    *variance = c[3].data;
  float *factor = FE_NEW_N(ir->arena, float, (size_t)d.channels);
  float *shift = FE_NEW_N(ir->arena, float, (size_t)d.channels);
  double epsilon = fe_attr_f64(op, "epsilon", 1e-5);
  for (int64_t i = 0; i < d.channels; ++i) {
    double f = scale[i] / sqrt(variance[i] + epsilon);
    factor[i] = (float)f;
    shift[i] = (float)(bias[i] - mean[i] * f);
  }
  int64_t dims[4] = {1, d.channels, 1, 1};
  fe_const cf = {.data = factor}, cs = {.data = shift};
  MlirValue v = fe_onnx1(ir, "Mul", known, pack_constant(l, &cf, dims));
  v = fe_onnx1(ir, "Add", v, pack_constant(l, &cs, dims));
  fe_layout_replace(l, fe_result(op, 0), v);
  return true;
}
