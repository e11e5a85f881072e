//===- contrib_fused.c - ONNX Runtime's fused operators ----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ONNX Runtime's optimizer fuses, taken apart again: the standard's
// operators fuse here anyway. Images with the channels last are transposed.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"

#include <string.h>

//===-- Activations ---------------------------------------------------------//

/// What an activation is called, and its parameters with their defaults.
static const struct {
  const char *name;
  unsigned n;
  const char *attrs[2];
  float defaults[2];
} activations[] = {
    {"Relu", 0, {0}, {0}},
    {"Tanh", 0, {0}, {0}},
    {"Sigmoid", 0, {0}, {0}},
    {"Softplus", 0, {0}, {0}},
    {"Softsign", 0, {0}, {0}},
    {"HardSwish", 0, {0}, {0}},
    {"Elu", 1, {"alpha"}, {1}},
    {"LeakyRelu", 1, {"alpha"}, {0.01f}},
    {"ThresholdedRelu", 1, {"alpha"}, {1}},
    {"HardSigmoid", 2, {"alpha", "beta"}, {0.2f, 0.5f}},
    {"Selu", 2, {"alpha", "gamma"}, {1.67326319f, 1.05070102f}},
};

/// v through activation `name`; parameters: as many as are given.
static MlirValue activated(fe_node *n, MlirValue v, const char *name,
                           size_t given, const float *parameters) {
  fe_ir *ir = n->ir;
  if (fe_is_null(v) || !*name)
    return v;
  if (!strcmp(name, "Clip")) {
    if (given != 2) {
      if (fe_node_error(n, NULL, "Clip has two activation_params"))
        return (MlirValue){0};
    }
    fe_dtype t = fe_x_type(v);
    return FE_X(ir, "Clip", v, fe_constant_scalar(ir, t, parameters[0]),
                fe_constant_scalar(ir, t, parameters[1]));
  }
  for (size_t i = 0; i < FE_COUNT(activations); ++i) {
    if (strcmp(name, activations[i].name))
      continue;
    MlirNamedAttribute attrs[2];
    for (unsigned k = 0; k < activations[i].n; ++k)
      attrs[k] =
          fe_at_f32(ir, activations[i].attrs[k],
                    k < given ? parameters[k] : activations[i].defaults[k]);
    const fe_op_args args = {.n_operands = 1,
                             .operands = &v,
                             .n_attrs = activations[i].n,
                             .attrs = attrs};
    return fe_compose(ir, name, &args);
  }
  if (fe_node_error(n, "use the operator itself behind this one",
                    "the activation '%s' is not supported", name))
    return (MlirValue){0};
  return v;
}

static fe_status expand_gemm(fe_node *n, MlirValue *results) {
  float given[2];
  size_t count = 0;
  static const char *const names[] = {"activation_alpha", "activation_beta",
                                      "activation_gamma"};
  for (unsigned i = 0; i < 3; ++i) {
    const fe_node_attr *a = fe_node_attr_find(n, names[i]);
    if (a && count < 2)
      given[count++] = (float)a->f;
  }
  MlirValue v = {0};
  if (fe_node_over(n, "Gemm", (unsigned)n->in.n, n->in.at, 1, &v))
    return FE_FAILED;
  return fe_node_done(
      activated(n, v, fe_node_str(n, "activation", ""), count, given), results);
}

//===-- Images --------------------------------------------------------------//

/// Channels put in front of the spatial dims, or back behind them.
static MlirValue moved(fe_ir *ir, MlirValue v, bool to_front) {
  fe_dims d;
  int64_t order[FE_MAX_RANK] = {0};
  if (fe_is_null(v) || !fe_dims_of(ir, v, &d) || d.rank < 3)
    return v;
  for (unsigned i = 1; i < d.rank; ++i)
    order[i] = to_front ? (i == 1 ? d.rank - 1 : i - 1)
                        : (i + 1 == d.rank ? 1 : i + 1);
  return fe_x_transpose(ir, v, d.rank, order);
}

/// Conv, with a sum and an activation behind it where there are any.
static fe_status expand_conv(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  bool last = !strncmp(n->row->name, "Nhwc", 4);
  if (fe_node_require(n, 2))
    return FE_FAILED;
  MlirValue in[3] = {fe_node_in(n, 0), fe_node_in(n, 1), fe_node_in(n, 2)};
  if (last)
    in[0] = moved(ir, in[0], true);
  MlirValue v = {0}, more = fe_node_in(n, 3);
  if (fe_node_over(n, "Conv", fe_is_null(in[2]) ? 2 : 3, in, 1, &v))
    return FE_FAILED;
  if (!fe_is_null(more))
    v = FE_X(ir, "Add", v, last ? moved(ir, more, true) : more);
  const fe_node_attr *p = fe_node_attr_find(n, "activation_params");
  v = activated(n, v, fe_node_str(n, "activation", ""), p ? p->n : 0,
                p ? p->floats : NULL);
  return fe_node_done(last ? moved(ir, v, false) : v, results);
}

static fe_status expand_max_pool(fe_node *n, MlirValue *results) {
  if (fe_node_require(n, 1))
    return FE_FAILED;
  MlirValue x = moved(n->ir, fe_node_in(n, 0), true), v = {0};
  if (fe_node_over(n, "MaxPool", 1, &x, 1, &v))
    return FE_FAILED;
  return fe_node_done(moved(n->ir, v, false), results);
}

/// Pads and output shape are the last but one input here.
static fe_status expand_conv_transpose(fe_node *n, MlirValue *results) {
  enum { X, W, PADS, B };
  if (fe_node_require(n, 2))
    return FE_FAILED;
  MlirValue pads = fe_node_in(n, PADS), bias = fe_node_in(n, B);
  if (!fe_is_null(pads)) {
    int64_t list[2 * FE_MAX_RANK];
    int count = fe_const_ints(n->ir, pads, list, FE_COUNT(list));
    if (count < 0)
      return fe_node_error(n, "give the padding as a constant",
                           "padding that only the run knows is not supported");
    fe_node_set_ints(n, "pads", (unsigned)count, list);
  }
  const MlirValue in[3] = {fe_node_in(n, X), fe_node_in(n, W), bias};
  return fe_node_over(n, "ConvTranspose", fe_is_null(bias) ? 2 : 3, in, 1,
                      results);
}

/// Groups of channels normalized; SiLU behind it where `activation` says so.
static fe_status expand_group_norm(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  enum { X, GAMMA, BETA, SKIP, BIAS };
  fe_dims d, s;
  bool last = fe_node_int(n, "channels_last", 1) != 0;
  bool skips = !strncmp(n->row->name, "Skip", 4);
  if (fe_node_require(n, skips ? 4 : 3) || !fe_dims_of(ir, n->in.at[X], &d))
    return FE_FAILED;
  if (d.rank < 3)
    return fe_node_error(n, NULL, "X must have rank 3 or more");
  MlirValue x = fe_node_in(n, X), sum = x;
  fe_dtype t = fe_x_type(x);
  if (skips) {
    MlirValue skip = fe_node_in(n, SKIP), bias = fe_node_in(n, BIAS);
    if (!fe_dims_of(ir, skip, &s))
      return FE_FAILED;
    if (s.rank == 2) // [batch][channels]
      for (unsigned i = 2; i < d.rank; ++i)
        skip = fe_x_unsqueeze(ir, skip, last ? 1 : 2);
    if (!last && !fe_is_null(bias))
      bias = fe_x_behind(ir, bias, d.rank - 2);
    // What is nearly equal in a group would magnify how a half is rounded.
    fe_dtype work = fe_work_type(t);
    x = FE_X(ir, "Add", fe_x_cast(ir, x, work), fe_x_cast(ir, skip, work));
    x = fe_x_plus(ir, x, fe_x_cast(ir, bias, work));
    sum = fe_x_cast(ir, x, t);
  }
  x = last ? moved(ir, x, true) : x;
  MlirValue v = FE_COMPOSE(
      ir, "GroupNormalization",
      FE_VALUES(fe_x_cast(ir, x, FE_F32),
                fe_x_cast(ir, fe_node_in(n, GAMMA), FE_F32),
                fe_x_cast(ir, fe_node_in(n, BETA), FE_F32)),
      FE_ATTRS(fe_at_i64(ir, "num_groups", fe_node_int(n, "groups", 1)),
               fe_at_f32(ir, "epsilon", fe_node_float(n, "epsilon", 1e-5))));
  if (fe_node_int(n, "activation", 0) && !fe_is_null(v))
    v = FE_X(ir, "Mul", v, FE_X(ir, "Sigmoid", v));
  v = fe_x_cast(ir, last ? moved(ir, v, false) : v, t);
  if (n->n_out > 1)
    results[1] = sum;
  return fe_node_done(v, results);
}

static fe_status expand_grid_sample(fe_node *n, MlirValue *results) {
  return fe_node_as(n, "GridSample", results);
}

//===-- Bias and activation -------------------------------------------------//

static fe_status expand_bias_add(fe_node *n, MlirValue *results) {
  if (fe_node_require(n, 3))
    return FE_FAILED;
  MlirValue v = FE_X(n->ir, "Add", fe_node_in(n, 0), fe_node_in(n, 1));
  return fe_node_done(FE_X(n->ir, "Add", v, fe_node_in(n, 2)), results);
}

/// Half of the last dim, with the bias, times Gelu of the other half.
static fe_status expand_bias_split_gelu(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_dims d;
  if (fe_node_require(n, 2) || fe_node_dims(n, 0, 3, &d))
    return FE_FAILED;
  MlirValue x = FE_X(ir, "Add", fe_node_in(n, 0), fe_node_in(n, 1));
  MlirValue size = fe_x_size(ir, x, 2);
  MlirValue half = FE_X(ir, "Div", size, fe_x_int(ir, 2));
  MlirValue left = fe_x_slice(ir, x, 2, fe_x_int(ir, 0), half);
  MlirValue right = fe_x_slice(ir, x, 2, half, size);
  return fe_node_done(FE_X(ir, "Mul", left, FE_X(ir, "Gelu", right)), results);
}

static MlirValue gelu(fe_ir *ir, MlirValue x, const char *approximate) {
  return FE_COMPOSE(ir, "Gelu", FE_VALUES(x),
                    FE_ATTRS(fe_at_str(ir, "approximate", approximate)));
}

static fe_status expand_gelu(fe_node *n, MlirValue *results) {
  bool biased = !strcmp(n->row->name, "BiasGelu");
  bool fast = !strcmp(n->row->name, "FastGelu");
  if (fe_node_require(n, biased ? 2 : 1))
    return FE_FAILED;
  MlirValue x = fe_x_plus(n->ir, fe_node_in(n, 0), fe_node_in(n, 1));
  return fe_node_done(gelu(n->ir, x, fast ? "tanh" : "none"), results);
}

/// x * sigmoid(alpha * x)
static fe_status expand_quick_gelu(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (fe_node_require(n, 1))
    return FE_FAILED;
  MlirValue x = fe_node_in(n, 0);
  MlirValue alpha =
      fe_constant_scalar(ir, fe_x_type(x), fe_node_float(n, "alpha", 1.702f));
  MlirValue v = FE_X(ir, "Sigmoid", FE_X(ir, "Mul", x, alpha));
  return fe_node_done(FE_X(ir, "Mul", x, v), results);
}

/// RMS normalization of every scale's length of x, times an activation of the
/// gate; all in f32.
static fe_status expand_gated_norm(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_dims c;
  if (fe_node_require(n, 3) || fe_node_dims(n, 1, 1, &c))
    return FE_FAILED;
  const char *name = fe_node_str(n, "activation", "silu");
  bool gated = !strcmp(name, "silu") || !strcmp(name, "swish");
  if (!gated && strcmp(name, "sigmoid"))
    return fe_node_refuse(n, "activation", "it must be silu, swish or sigmoid");
  MlirValue x = n->in.at[0], gate = fe_x_cast(ir, n->in.at[2], FE_F32);
  fe_dims d;
  if (!fe_dims_of(ir, x, &d) || !d.rank || d.rank >= FE_MAX_RANK)
    return fe_node_error(n, NULL, "X must have 1 to %d dimensions",
                         FE_MAX_RANK - 1);
  int64_t wide = fe_dim_static(d.d[d.rank - 1]), part = fe_dim_static(c.d[0]);
  if (part == 0 || (part != FE_DYN && wide != FE_DYN && wide % part))
    return fe_node_error(n, NULL,
                         "the size of the scale must divide the last dimension "
                         "of X");
  // Rows of the scale's size, behind the dims in front of the last one.
  MlirValue size = fe_x_size(ir, n->in.at[1], 0);
  MlirValue count = FE_X(ir, "Div", fe_x_size(ir, x, d.rank - 1), size);
  MlirValue shape[FE_MAX_RANK + 1];
  for (unsigned i = 0; i + 1 < d.rank; ++i)
    shape[i] = fe_x_size(ir, x, i);
  shape[d.rank - 1] = count;
  shape[d.rank] = size;
  MlirValue y = FE_COMPOSE(ir, "Reshape",
                           FE_VALUES(fe_x_cast(ir, x, FE_F32),
                                     fe_x_concat(ir, 0, d.rank + 1, shape)),
                           FE_ATTRS(fe_at_i64(ir, "allowzero", 1)));
  y = FE_COMPOSE(
      ir, "SimplifiedLayerNormalization",
      FE_VALUES(y, fe_x_cast(ir, n->in.at[1], FE_F32)),
      FE_ATTRS(fe_at_f32(ir, "epsilon", fe_node_float(n, "epsilon", 1e-5))));
  y = FE_COMPOSE(ir, "Reshape", FE_VALUES(y, FE_X(ir, "Shape", x)),
                 FE_ATTRS(fe_at_i64(ir, "allowzero", 1)));
  MlirValue factor = FE_X(ir, "Sigmoid", gate);
  if (gated)
    factor = FE_X(ir, "Mul", gate, factor);
  return fe_node_done(fe_x_cast(ir, FE_X(ir, "Mul", y, factor), fe_x_type(x)),
                      results);
}

/// x + y * gate, of which there is one for each row; with gate_weight it is the
/// sigmoid of a product, and each step is rounded to the type.
static fe_status expand_gated_add(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (fe_node_require(n, 3))
    return FE_FAILED;
  MlirValue x = n->in.at[0], gate = n->in.at[2], weight = fe_node_in(n, 3);
  if (!fe_is_null(weight)) {
    gate = FE_X(ir, "MatMul", fe_x_cast(ir, gate, FE_F32),
                fe_x_cast(ir, weight, FE_F32));
    gate = fe_x_cast(ir, fe_x_cast(ir, gate, fe_x_type(x)), FE_F32);
    gate = fe_x_cast(ir, FE_X(ir, "Sigmoid", gate), fe_x_type(x));
  }
  MlirValue scaled = FE_X(ir, "Mul", n->in.at[1], gate);
  return fe_node_done(FE_X(ir, "Add", x, scaled), results);
}

//===-- Rows ----------------------------------------------------------------//

#define CONV_ATTRS                                                             \
  {"auto_pad", FE_A_STRING, "NOTSET"}, {"dilations", FE_A_INTS, ""},           \
      {"group", FE_A_INT, "1"}, {"kernel_shape", FE_A_INTS, ""},               \
      {"pads", FE_A_INTS, ""}, {"strides", FE_A_INTS, ""}

static const fe_attr_def gated_norm_attrs[] = {
    {"activation", FE_A_STRING, "silu|swish|sigmoid"},
    {"epsilon", FE_A_FLOAT, "1e-5"},
    {0}};
static const fe_attr_def conv_attrs[] = {CONV_ATTRS,
                                         {"activation", FE_A_STRING, ""},
                                         {"activation_params", FE_A_FLOATS, ""},
                                         {0}};
static const fe_attr_def transpose_attrs[] = {
    CONV_ATTRS, {"output_padding", FE_A_INTS, ""}, {0}};
static const fe_attr_def pool_attrs[] = {{"auto_pad", FE_A_STRING, "NOTSET"},
                                         {"ceil_mode", FE_A_INT, "0"},
                                         {"dilations", FE_A_INTS, ""},
                                         {"kernel_shape", FE_A_INTS, NULL},
                                         {"pads", FE_A_INTS, ""},
                                         {"strides", FE_A_INTS, ""},
                                         {0}};
static const fe_attr_def gemm_attrs[] = {{"activation", FE_A_STRING, ""},
                                         {"activation_alpha", FE_A_FLOAT, "0"},
                                         {"activation_beta", FE_A_FLOAT, "0"},
                                         {"activation_gamma", FE_A_FLOAT, "0"},
                                         {"alpha", FE_A_FLOAT, "1"},
                                         {"beta", FE_A_FLOAT, "1"},
                                         {"transA", FE_A_INT, "0"},
                                         {"transB", FE_A_INT, "0"},
                                         {0}};
static const fe_attr_def group_attrs[] = {{"activation", FE_A_INT, NULL},
                                          {"channels_last", FE_A_INT, "1"},
                                          {"epsilon", FE_A_FLOAT, "1e-5"},
                                          {"groups", FE_A_INT, NULL},
                                          {0}};
static const fe_attr_def sample_attrs[] = {
    {"align_corners", FE_A_INT, "0"},
    {"mode", FE_A_STRING, "bilinear"},
    {"padding_mode", FE_A_STRING, "zeros"},
    {0}};
static const fe_attr_def quick_attrs[] = {{"alpha", FE_A_FLOAT, "1.702"}, {0}};

const fe_op_row fe_family_contrib_fused[] = {
    FE_MS_ROW("Gelu", "X:T", "Y:T", "T=float", expand_gelu, .attrs = NULL),
    FE_MS_ROW("FastGelu", "X:T, bias?:T", "Y:T", "T=float", expand_gelu,
              .attrs = NULL),
    FE_MS_ROW("BiasGelu", "A:T, B:T", "C:T", "T=float", expand_gelu,
              .attrs = NULL),
    FE_MS_ROW("GatedRMSNorm", "X:T, scale:T, gate:T", "Y:T", "T=f32,f16,bf16",
              expand_gated_norm, .attrs = gated_norm_attrs),
    FE_MS_ROW("GatedAdd", "X:T, Y:T, gate:T, gate_weight?:T", "output:T",
              "T=f32,f16,bf16", expand_gated_add, .attrs = NULL),
    FE_MS_ROW("QuickGelu", "X:T", "Y:T", "T=float", expand_quick_gelu,
              .attrs = quick_attrs),
    FE_MS_ROW("BiasAdd", "X:T, bias:T, skip:T", "Y:T", "T=float",
              expand_bias_add, .attrs = NULL),
    FE_MS_ROW("BiasSplitGelu", "X:T, bias:T", "Y:T", "T=float",
              expand_bias_split_gelu, .attrs = NULL),
    FE_MS_ROW("FusedGemm", "A:T, B:T, C?:T", "Y:T", "T=float", expand_gemm,
              .attrs = gemm_attrs,
              .limits =
                  "activations that are operators with two numbers at most"),
    FE_MS_ROW("FusedConv", "X:T, W:T, B?:T, Z?:T", "Y:T", "T=float",
              expand_conv, .attrs = conv_attrs),
    FE_MS_ROW("NhwcConv", "X:T, W:T, B?:T", "Y:T", "T=float", expand_conv,
              .attrs = conv_attrs),
    FE_MS_ROW("NhwcFusedConv", "X:T, W:T, B?:T, Z?:T", "Y:T", "T=float",
              expand_conv, .attrs = conv_attrs),
    FE_MS_ROW("NhwcMaxPool", "x:T", "y:T", "T=float,i8,u8", expand_max_pool,
              .attrs = pool_attrs),
    FE_MS_ROW("ConvTransposeWithDynamicPads", "X:T, W:T, Pads?:I, B?:T", "Y:T",
              "T=float;I=i64", expand_conv_transpose, .attrs = transpose_attrs,
              .limits = "constant padding"),
    FE_MS_ROW("GroupNorm", "X:T, gamma:M, beta:M", "Y:T", "T=float;M=float",
              expand_group_norm, .attrs = group_attrs),
    FE_MS_ROW("SkipGroupNorm", "X:T, gamma:M, beta:M, skip:T, bias?:T",
              "Y:T, S:T", "T=float;M=float", expand_group_norm,
              .attrs = group_attrs,
              .sizes = "X:b _ _ _, skip:b _ _ _, skip:b _"),
    FE_MS_ROW("GridSample", "X:T1, Grid:T1", "Y:T2", "T1=float;T2=float",
              expand_grid_sample, .attrs = sample_attrs),
    {0}};
