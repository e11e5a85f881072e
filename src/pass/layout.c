//===- layout.c - convolution networks in blocks of channels -----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: one forward walk. A convolution with constant weights becomes
// krnl.conv (or krnl.depthwise) over [N][C/b][H][W][b]; its result is unpacked
// for whoever wants it plain. Pools, pointwise ops, concatenations of whole
// blocks and batch normalizations follow when their operand has a packed form,
// and take that. In the end unpacked forms that nobody reads are dropped, so
// krnl.pack and krnl.unpack remain at the borders only.
// Needs: the onnx form, inferred types. What does not fit stays as it is.
// Cost: linear in ops, and in weights, which are put in order here.
//
//===----------------------------------------------------------------------===//
#include "pass/layout.h"
#include "kernel/conv.h"
#include "pass/pass.h"

#include <string.h>

bool fe_image_dims_any(fe_ir *ir, MlirValue v, fe_image_dims *out) {
  fe_dims d;
  if (fe_is_null(v) || !fe_dims_of(ir, v, &d) || (d.rank != 3 && d.rank != 4))
    return false;
  out->type = fe_dtype_of_elem(fe_elem_of(v));
  if (out->type != FE_F32 && out->type != FE_U8 && out->type != FE_I8 &&
      out->type != FE_I32)
    return false;
  out->rank = d.rank;
  out->channels = fe_dim_static(d.d[1]);
  out->n = d.d[0];
  out->size[0] = d.rank == 4 ? d.d[2] : fe_dim_const(ir, 1);
  out->size[1] = d.d[d.rank - 1];
  return out->channels != FE_DYN && out->channels > 0;
}

bool fe_image_dims_of(fe_ir *ir, MlirValue v, fe_image_dims *out) {
  return fe_image_dims_any(ir, v, out) && out->type == FE_F32;
}

MlirType fe_layout_type(fe_layout *l, const fe_image_dims *d) {
  int64_t blocks = (d->channels + l->lanes - 1) / l->lanes;
  fe_dims dims = {5,
                  {d->n, fe_dim_const(l->ir, blocks), d->size[0], d->size[1],
                   fe_dim_const(l->ir, l->lanes)}};
  return fe_tensor_type(l->ir, fe_elem_type(l->ir, d->type), &dims);
}

MlirValue fe_layout_known(const fe_layout *l, MlirValue v) {
  return (MlirValue){fe_map_get_ptr(&l->packed, v.ptr)};
}

static void set_known(fe_layout *l, MlirValue plain, MlirValue packed) {
  fe_map_set_ptr(l->ir->arena, &l->packed, plain.ptr, (void *)packed.ptr);
}

/// Behind the definition of v; gives the point to return to.
static fe_point go_behind(fe_layout *l, MlirValue v) {
  fe_point saved = fe_point_save(l->ir);
  if (mlirValueIsABlockArgument(v))
    fe_point_at_start(l->ir, mlirBlockArgumentGetOwner(v));
  else
    fe_point_after(l->ir, fe_def(v));
  return saved;
}

MlirValue fe_layout_plane(fe_layout *l, MlirValue v) {
  if (fe_rank(v) == 4)
    return v;
  fe_point saved = go_behind(l, v);
  MlirValue axis = fe_constant_i64s(l->ir, 1, (int64_t[]){2});
  MlirValue plane = fe_onnx1(l->ir, "Unsqueeze", v, axis);
  fe_point_restore(l->ir, saved);
  return plane;
}

MlirValue fe_layout_root(fe_layout *l, const char *name, unsigned n_in,
                         const MlirValue *in, const fe_image_dims *result,
                         unsigned n_attrs, const MlirNamedAttribute *attrs) {
  MlirType type = fe_layout_type(l, result);
  return fe_first(FE_OP(l->ir, name, .n_operands = n_in, .operands = in,
                        .n_results = 1, .results = &type, .n_attrs = n_attrs,
                        .attrs = attrs));
}

MlirValue fe_layout_pack(fe_layout *l, MlirValue v) {
  MlirValue known = fe_layout_known(l, v);
  fe_image_dims d;
  if (!fe_is_null(known) || !fe_image_dims_any(l->ir, v, &d))
    return known;
  MlirValue plane = fe_layout_plane(l, v);
  fe_point saved = go_behind(l, plane);
  MlirValue packed = fe_layout_root(l, "krnl.pack", 1, &plane, &d, 0, NULL);
  fe_point_restore(l->ir, saved);
  set_known(l, v, packed);
  return packed;
}

void fe_layout_replace(fe_layout *l, MlirValue old, MlirValue packed) {
  fe_ir *ir = l->ir;
  fe_image_dims d;
  if (fe_is_null(packed) || !fe_image_dims_any(ir, old, &d))
    return;
  fe_dims plain = {4,
                   {d.n, fe_dim_const(ir, d.channels), d.size[0], d.size[1]}};
  MlirType type = fe_tensor_type(ir, fe_elem_type(ir, d.type), &plain);
  MlirValue v =
      fe_first(FE_OP(ir, "krnl.unpack", FE_VALUES(packed), FE_TYPES(type)));
  if (d.rank == 3)
    v = fe_onnx1(ir, "Squeeze", v, fe_constant_i64s(ir, 1, (int64_t[]){2}));
  set_known(l, v, packed);
  fe_replace(old, v);
}

/// Code is written for each kind of border, found by walking along a row: what
/// is beyond these numbers is not a network's layer.
#define MAX_WINDOW 4096
#define MAX_SIZE (1 << 24)

//===-- Windows -------------------------------------------------------------//

bool fe_layout_window_of(fe_layout *l, MlirOperation op,
                         const fe_image_dims *in, const int64_t *kernel,
                         fe_layout_window *w) {
  unsigned n = in->rank - 2, first = 2 - n;
  int64_t strides[2], dilations[2], pads[4];
  bool has_strides = fe_attr_i64s(op, "strides", strides, 2) == n;
  bool has_dilations = fe_attr_i64s(op, "dilations", dilations, 2) == n;
  bool has_pads = fe_attr_i64s(op, "pads", pads, 4) == 2 * n;
  const char *how = fe_attr_str(l->ir->arena, op, "auto_pad", "NOTSET");
  bool same = !strncmp(how, "SAME", 4), lower = !strcmp(how, "SAME_LOWER");
  *w = (fe_layout_window){{1, 1}, {1, 1}, {1, 1}, {0}};
  for (unsigned i = 0; i < n; ++i) {
    unsigned k = first + i;
    w->kernel[k] = kernel[i];
    w->stride[k] = has_strides ? strides[i] : 1;
    w->dilation[k] = has_dilations ? dilations[i] : 1;
    int64_t size = fe_dim_static(in->size[k]);
    if (w->kernel[k] < 1 || w->stride[k] < 1 || w->dilation[k] < 1 ||
        w->kernel[k] > MAX_WINDOW || w->stride[k] > MAX_WINDOW ||
        w->dilation[k] > MAX_WINDOW || (size != FE_DYN && size > MAX_SIZE))
      return false;
    if (same) {
      int64_t reach = (kernel[i] - 1) * w->dilation[k] + 1;
      int64_t total = reach - 1;
      if (size == FE_DYN && w->stride[k] != 1)
        return false;
      if (size != FE_DYN)
        total = ((size + w->stride[k] - 1) / w->stride[k] - 1) * w->stride[k] +
                reach - size;
      if (total < 0)
        total = 0;
      w->pad[k] = lower ? total - total / 2 : total / 2;
      w->pad[2 + k] = total - w->pad[k];
    } else if (has_pads && strcmp(how, "VALID")) {
      w->pad[k] = pads[i];
      w->pad[2 + k] = pads[n + i];
    }
    for (unsigned e = k; e < 4; e += 2)
      if (w->pad[e] < 0 || w->pad[e] > MAX_WINDOW)
        return false;
  }
  return true;
}

//===-- The walk ------------------------------------------------------------//

typedef struct rule {
  const char *op;
  bool (*apply)(fe_layout *l, MlirOperation op);
} rule;

static const rule rules[] = {
    {"onnx.conv", fe_layout_conv},
    {"onnx.conv_integer", fe_layout_bytes},
    {"onnx.q_linear_conv", fe_layout_bytes},
    {"onnx.quantize_linear", fe_layout_scaled},
    {"onnx.dequantize_linear", fe_layout_scaled},
    {"onnx.max_pool", fe_layout_pool},
    {"onnx.average_pool", fe_layout_pool},
    {"onnx.global_average_pool", fe_layout_pool},
    {"onnx.global_max_pool", fe_layout_pool},
    {"onnx.reduce_mean", fe_layout_pool},
    {"onnx.concat", fe_layout_concat},
    {"onnx.batch_normalization", fe_layout_batch_norm},
    {"onnx.conv_transpose", fe_layout_conv_transpose},
    {"onnx.depth_to_space", fe_layout_depth_to_space},
    {"onnx.resize", fe_layout_resize},
    {"onnx.slice", fe_layout_slice},
};

static bool apply_rules(fe_layout *l, MlirOperation op) {
  for (size_t i = 0; i < FE_COUNT(rules); ++i)
    if (fe_op_is(op, rules[i].op))
      return rules[i].apply(l, op);
  return fe_layout_pointwise(l, op);
}

static bool has_uses(MlirOperation op) {
  for (unsigned i = 0; i < fe_n_results(op); ++i)
    if (fe_n_uses(fe_result(op, i)))
      return true;
  return false;
}

static void walk(fe_layout *l, MlirBlock block) {
  MlirOperation next;
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = next) {
    next = mlirOperationGetNextInBlock(op);
    for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r) {
      MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
      if (!mlirBlockIsNull(inner))
        walk(l, inner);
    }
    if (!fe_op_in(op, "onnx"))
      continue;
    l->ir->loc = mlirOperationGetLocation(op);
    fe_point_before(l->ir, op);
    if (apply_rules(l, op) && !has_uses(op))
      fe_erase(op);
  }
}

/// Drops what the walk left without uses, users before producers.
static void sweep(fe_layout *l, MlirBlock block) {
  static const char *const pure[] = {"krnl.pack", "krnl.unpack", "onnx.squeeze",
                                     "onnx.unsqueeze", "onnx.constant"};
  fe_vec(MlirOperation) ops = {0};
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    fe_push(l->ir->arena, &ops, op);
  while (ops.n) {
    MlirOperation op = ops.at[--ops.n];
    for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r) {
      MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
      if (!mlirBlockIsNull(inner))
        sweep(l, inner);
    }
    bool drop = false;
    for (size_t i = 0; i < FE_COUNT(pure); ++i)
      drop |= fe_op_is(op, pure[i]);
    if (drop && !has_uses(op))
      fe_erase(op);
  }
}

/// Constants of this size stay in the last cache from one run to the next: a
/// quarter of it, but no more than one of its many users may count on.
#define CACHED_MOST (8 << 20)

/// Bytes of all constants of f32.
static double constant_bytes(MlirBlock block) {
  double sum = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); ++r) {
      MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
      if (!mlirBlockIsNull(inner))
        sum += constant_bytes(inner);
    }
    if (!fe_op_is(op, "onnx.constant") ||
        fe_dtype_of_elem(fe_elem_of(fe_result(op, 0))) != FE_F32)
      continue;
    double count = sizeof(float);
    for (unsigned d = 0; d < fe_rank(fe_result(op, 0)); ++d)
      count *= (double)fe_static_dim(fe_result(op, 0), d);
    sum += count;
  }
  return sum;
}

static fe_winograd_weights weights_from(MlirBlock block,
                                        const fe_pass_options *o) {
  double most = (double)o->target->l3_bytes / 4;
  if (o->small_weights)
    return FE_WEIGHTS_MADE;
  return constant_bytes(block) <= (most < CACHED_MOST ? most : CACHED_MOST)
             ? FE_WEIGHTS_CACHED
             : FE_WEIGHTS_STORED;
}

fe_status fe_pass_layout(fe_ir *ir, MlirModule *module,
                         const fe_pass_options *o) {
  MlirOperation func = fe_func_find(*module, "main");
  if (mlirOperationIsNull(func))
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "the module has no function @main");
  fe_layout l = {.ir = ir,
                 .direct = o->strict,
                 .target = o->target,
                 .lanes = fe_conv_block(o->target),
                 .schedules = o->schedules,
                 .winograd_weights = weights_from(fe_func_block(func), o)};
  fe_point saved = fe_point_save(ir);
  walk(&l, fe_func_block(func));
  sweep(&l, fe_func_block(func));
  fe_point_restore(ir, saved);
  fe_symbols_store(ir, *module);
  return FE_OK;
}
