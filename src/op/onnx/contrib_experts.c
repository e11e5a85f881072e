//===- contrib_experts.c - mixtures of experts -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MoE, QMoE: every expert's two products are done for all tokens, as batched
// products, and added up with weights that are 0 but for the chosen experts.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"

#include <math.h>
#include <string.h>

/// Weights [experts][out][in] and biases [experts][out] of the layers; null:
/// not there.
typedef struct experts {
  fe_node *n;
  MlirValue x, router;
  MlirValue mixing;                // what the chosen count; null: by `router`
  MlirValue weights[3], biases[3]; // of fc1, fc2, fc3
} experts;

/// x [1 or experts][tokens][in] by layer i: [experts][tokens][out].
static MlirValue layer(experts *e, MlirValue x, unsigned i) {
  fe_ir *ir = e->n->ir;
  const int64_t order[3] = {0, 2, 1};
  MlirValue w =
      fe_x_transpose(ir, fe_x_cast(ir, e->weights[i], FE_F32), 3, order);
  MlirValue y = FE_X(ir, "MatMul", x, w);
  if (fe_is_null(e->biases[i]))
    return y;
  return FE_X(ir, "Add", y,
              fe_x_unsqueeze(ir, fe_x_cast(ir, e->biases[i], FE_F32), 1));
}

static MlirValue number(fe_ir *ir, double v) {
  return fe_constant_scalar(ir, FE_F32, v);
}

/// gate * sigmoid(alpha * gate) * (linear + beta), both within the limit.
static MlirValue swiglu(experts *e, MlirValue gate, MlirValue linear) {
  fe_node *n = e->n;
  fe_ir *ir = n->ir;
  double limit = fe_node_float(n, "swiglu_limit", INFINITY);
  if (isfinite(limit)) {
    gate = FE_X(ir, "Min", gate, number(ir, limit));
    linear = FE_X(ir, "Clip", linear, number(ir, -limit), number(ir, limit));
  }
  double alpha = fe_node_float(n, "activation_alpha", 1);
  MlirValue s = FE_X(ir, "Sigmoid", FE_X(ir, "Mul", gate, number(ir, alpha)));
  linear = FE_X(ir, "Add", linear,
                number(ir, fe_node_float(n, "activation_beta", 0)));
  return FE_X(ir, "Mul", FE_X(ir, "Mul", gate, s), linear);
}

/// What an activation of one number gives; null: reported.
static MlirValue activated(experts *e, const char *name, MlirValue h) {
  fe_ir *ir = e->n->ir;
  if (!strcmp(name, "relu"))
    return FE_X(ir, "Relu", h);
  if (!strcmp(name, "gelu"))
    return FE_COMPOSE(ir, "Gelu", FE_VALUES(h),
                      FE_ATTRS(fe_at_str(ir, "approximate", "tanh")));
  if (!strcmp(name, "silu"))
    return FE_X(ir, "Mul", h, FE_X(ir, "Sigmoid", h));
  if (!strcmp(name, "identity"))
    return h;
  fe_node_error(e->n, "use relu, gelu, silu, swiglu or identity",
                "the activation '%s' is not known", name);
  return (MlirValue){0};
}

/// Sizes of 0 mean themselves.
static MlirValue reshaped(fe_ir *ir, MlirValue x, MlirValue shape) {
  return FE_COMPOSE(ir, "Reshape", FE_VALUES(x, shape),
                    FE_ATTRS(fe_at_i64(ir, "allowzero", 1)));
}

/// [experts][tokens][inner] behind the first layer, or the first and third.
static MlirValue inner(experts *e, MlirValue x) {
  fe_node *n = e->n;
  fe_ir *ir = n->ir;
  const char *name = fe_node_str(n, "activation_type", "relu");
  int64_t fusion = fe_node_int(n, "swiglu_fusion", 0);
  MlirValue h = layer(e, x, 0);
  bool third = !fe_is_null(e->weights[2]);
  if (strcmp(name, "swiglu")) {
    h = activated(e, name, h);
    return third && !fe_is_null(h) ? FE_X(ir, "Mul", h, layer(e, x, 2)) : h;
  }
  if (fusion == 0 && third)
    return swiglu(e, h, layer(e, x, 2));
  if ((fusion != 1 && fusion != 2) || third) {
    fe_node_error(n, "use swiglu_fusion 1 or 2 without, 0 with fc3",
                  "swiglu needs two layers");
    return (MlirValue){0};
  }
  unsigned axis = fusion == 1 ? 3 : 2;
  MlirValue two = fe_x_int(ir, 2);
  MlirValue half = FE_X(ir, "Div", fe_x_size(ir, h, 2), two);
  const MlirValue split[4] = {fe_x_size(ir, h, 0), fe_x_size(ir, h, 1),
                              fusion == 1 ? half : two,
                              fusion == 1 ? two : half};
  h = reshaped(ir, h, fe_x_concat(ir, 0, 4, split));
  return swiglu(e, fe_x_pick(ir, h, axis, 0), fe_x_pick(ir, h, axis, 1));
}

/// [experts][tokens][1]: how much an expert counts, 0 where it is not chosen.
static MlirValue gates(experts *e) {
  fe_node *n = e->n;
  fe_ir *ir = n->ir;
  MlirValue p = fe_x_cast(ir, e->router, FE_F32);
  if (fe_is_null(e->mixing))
    p = FE_COMPOSE(ir, "Softmax", FE_VALUES(p),
                   FE_ATTRS(fe_at_i64(ir, "axis", -1)));
  if (fe_is_null(p))
    return p;
  const MlirValue in[2] = {p, fe_x_int(ir, fe_node_int(n, "k", 1))};
  MlirOperation top = fe_onnx(ir, "TopK", 2, in, 2, 0, NULL);
  if (mlirOperationIsNull(top))
    return (MlirValue){0};
  MlirValue v = fe_result(top, 0);
  if (!fe_is_null(e->mixing))
    v = FE_COMPOSE(
        ir, "GatherElements",
        FE_VALUES(fe_x_cast(ir, e->mixing, FE_F32), fe_result(top, 1)),
        FE_ATTRS(fe_at_i64(ir, "axis", 1)));
  if (fe_node_int(n, "normalize_routing_weights", 0))
    v = FE_X(ir, "Div", v, FE_X(ir, "ReduceSum", v, fe_x_int(ir, 1)));
  MlirValue none = fe_x_zeros(ir, FE_F32, FE_X(ir, "Shape", p));
  v = FE_COMPOSE(ir, "ScatterElements", FE_VALUES(none, fe_result(top, 1), v),
                 FE_ATTRS(fe_at_i64(ir, "axis", 1)));
  const int64_t order[2] = {1, 0};
  return fe_x_unsqueeze(ir, fe_x_transpose(ir, v, 2, order), 2);
}

static fe_status mixture(experts *e, MlirValue *results) {
  fe_node *n = e->n;
  fe_ir *ir = n->ir;
  fe_dims d, r;
  if (!fe_dims_of(ir, e->x, &d) || (d.rank != 2 && d.rank != 3) ||
      !fe_dims_of(ir, e->router, &r) || r.rank != 2)
    return fe_node_error(n, NULL,
                         "the input must have rank 2 or 3, router_probs 2");
  if (fe_node_int(n, "k", 1) <= 0)
    return fe_node_error(n, NULL, "k must be positive");
  if (fe_node_int(n, "swiglu_limit_after_activation", 0))
    return fe_node_refuse(n, "swiglu_limit_after_activation",
                          "only limits before the activation are supported");
  MlirValue x = fe_x_cast(ir, e->x, FE_F32), count = fe_x_size(ir, e->x, 0);
  if (d.rank == 3)
    count = FE_X(ir, "Mul", count, fe_x_size(ir, e->x, 1));
  const MlirValue tokens[3] = {fe_x_int(ir, 1), count,
                               fe_x_size(ir, e->x, d.rank - 1)};
  x = reshaped(ir, x, fe_x_concat(ir, 0, 3, tokens));
  MlirValue h = inner(e, x), gate = gates(e);
  if (fe_is_null(h) || fe_is_null(gate))
    return FE_FAILED;
  // What is not chosen does not count, whatever came out of it.
  MlirValue y = FE_X(ir, "Mul", layer(e, h, 1), gate);
  y = FE_X(ir, "Where", FE_X(ir, "Equal", gate, number(ir, 0)), number(ir, 0),
           y);
  y = FE_COMPOSE(ir, "ReduceSum", FE_VALUES(y, fe_x_int(ir, 0)),
                 FE_ATTRS(fe_at_i64(ir, "keepdims", 0)));
  y = fe_x_cast(ir, y, fe_x_type(e->x));
  return fe_node_done(
      d.rank == 2 ? y : reshaped(ir, y, FE_X(ir, "Shape", e->x)), results);
}

static fe_status expand_moe(fe_node *n, MlirValue *results) {
  experts e = {.n = n};
  if (fe_node_require(n, 3))
    return FE_FAILED;
  if (fe_is_null(fe_node_in(n, 4)))
    return fe_node_error(n, NULL, "the weights of fc2 are missing");
  e.x = fe_node_in(n, 0);
  e.router = fe_node_in(n, 1);
  for (unsigned i = 0; i < 3; ++i) {
    e.weights[i] = fe_node_in(n, 2 + 2 * i);
    e.biases[i] = fe_node_in(n, 3 + 2 * i);
  }
  return mixture(&e, results);
}

/// Weights of integers as floats; `size` numbers share a scale, 0: a row.
static MlirValue restored(fe_ir *ir, MlirValue w, MlirValue scale,
                          MlirValue zero, int64_t bits) {
  fe_dims d, s;
  if (fe_is_null(w) || fe_is_null(scale) || !fe_dims_of(ir, scale, &s))
    return (MlirValue){0};
  w = fe_x_cast(ir, fe_x_unpacked(ir, w, bits), FE_F32);
  if (fe_is_null(w) || !fe_dims_of(ir, w, &d) || d.rank != 3)
    return (MlirValue){0};
  MlirValue shape = FE_X(ir, "Shape", w);
  scale = fe_x_cast(ir, scale, FE_F32);
  if (!fe_is_null(zero)) { // rows of zeros are padded to whole bytes
    zero = fe_x_unpacked(ir, zero, bits);
    zero = fe_x_slice(ir, zero, -1, fe_x_int(ir, 0),
                      fe_x_size(ir, scale, s.rank - 1));
    zero = fe_x_cast(ir, zero, FE_F32);
  } else {
    zero = number(ir, ldexp(1, (int)bits - 1));
  }
  if (fe_is_null(zero) || fe_is_null(scale))
    return (MlirValue){0};
  bool per_row = s.rank == 2;
  if (per_row)
    scale = fe_x_unsqueeze(ir, scale, 2);
  if (per_row && fe_x_type(zero) == FE_F32 && fe_rank(zero) == 2)
    zero = fe_x_unsqueeze(ir, zero, 2);
  // [experts][out][blocks][numbers of a block]
  const MlirValue blocks[4] = {fe_x_size(ir, scale, 0), fe_x_size(ir, scale, 1),
                               fe_x_size(ir, scale, 2), fe_x_int(ir, -1)};
  w = FE_X(ir, "Reshape", w, fe_x_concat(ir, 0, 4, blocks));
  if (fe_rank(zero) == 3)
    zero = fe_x_unsqueeze(ir, zero, 3);
  w = FE_X(ir, "Mul", FE_X(ir, "Sub", w, zero), fe_x_unsqueeze(ir, scale, 3));
  return FE_X(ir, "Reshape", w, shape);
}

static fe_status expand_q_moe(fe_node *n, MlirValue *results) {
  experts e = {.n = n};
  static const char *const names[3] = {"fc1_expert_weight_bits",
                                       "fc2_expert_weight_bits",
                                       "fc3_expert_weight_bits"};
  if (fe_node_require(n, 4))
    return FE_FAILED;
  if (fe_is_null(fe_node_in(n, 5)) || fe_is_null(fe_node_in(n, 6)))
    return fe_node_error(n, NULL, "weights or scales of fc2 are missing");
  if (strcmp(fe_node_str(n, "quant_type", "int"), "int"))
    return fe_node_refuse(n, "quant_type", "only 'int' is supported");
  if (fe_node_int(n, "weights_prepacked", -1) == 1)
    return fe_node_refuse(n, "weights_prepacked",
                          "only weights as they are are supported");
  e.x = fe_node_in(n, 0);
  e.router = fe_node_in(n, 1);
  e.mixing = fe_node_in(n, 14);
  for (unsigned i = 0; i < 3; ++i) {
    int64_t bits =
        fe_node_int(n, names[i], fe_node_int(n, "expert_weight_bits", 4));
    MlirValue w = fe_node_in(n, 2 + 3 * i);
    if (bits != 2 && bits != 4 && bits != 8)
      return fe_node_refuse(n, names[i], "weights must have 2, 4 or 8 bits");
    e.biases[i] = fe_node_in(n, 4 + 3 * i);
    if (fe_is_null(w))
      continue;
    e.weights[i] = restored(n->ir, w, fe_node_in(n, 3 + 3 * i),
                            fe_node_in(n, 11 + i), bits);
    if (fe_is_null(e.weights[i]))
      return fe_node_error(n, NULL, "weights and scales do not fit");
  }
  return mixture(&e, results);
}

#define EXPERT_ATTRS                                                           \
  {"k", FE_A_INT, "1.."},                                                      \
      {"activation_type", FE_A_STRING, "relu|gelu|silu|swiglu|identity"},      \
      {"normalize_routing_weights", FE_A_INT, "0"},                            \
      {"use_sparse_mixer", FE_A_INT, "0"},                                     \
      {"activation_alpha", FE_A_FLOAT, "1"},                                   \
      {"activation_beta", FE_A_FLOAT, "0"}, {"swiglu_fusion", FE_A_INT, "0"},  \
      {"swiglu_limit", FE_A_FLOAT, "inf"},                                     \
      {"swiglu_limit_after_activation", FE_A_INT, "0"}

#define EXPERT_SIZES                                                           \
  "input:r _, router_probs:r e, fc1_experts_weights:e f _, "                   \
  "fc1_experts_bias:e f, fc2_experts_weights:e h _, fc2_experts_bias:e h, "    \
  "fc3_experts_weights:e g _, fc3_experts_bias:e g"

static const fe_attr_def moe_attrs[] = {EXPERT_ATTRS, {0}};
static const fe_attr_def q_moe_attrs[] = {
    EXPERT_ATTRS,
    {"quant_type", FE_A_STRING, "int"},
    {"expert_weight_bits", FE_A_INT, "4"},
    {"fc1_expert_weight_bits", FE_A_INT, "0"},
    {"fc2_expert_weight_bits", FE_A_INT, "0"},
    {"fc3_expert_weight_bits", FE_A_INT, "0"},
    {"block_size", FE_A_INT, "0"},
    {"weights_prepacked", FE_A_INT, "-1"},
    {"accuracy_level", FE_A_INT, "0"},
    {0}};

const fe_op_row fe_family_contrib_experts[] = {
    FE_MS_ROW("MoE",
              "input:T, router_probs:T, fc1_experts_weights:T, "
              "fc1_experts_bias?:T, fc2_experts_weights:T, "
              "fc2_experts_bias?:T, fc3_experts_weights?:T, "
              "fc3_experts_bias?:T",
              "output:T", "T=f32,f16,bf16", expand_moe, .attrs = moe_attrs,
              .sizes = EXPERT_SIZES,
              .limits = "all experts are computed for all tokens"),
    FE_MS_ROW(
        "QMoE",
        "input:T, router_probs:T, fc1_experts_weights:T1, fc1_scales?:T2, "
        "fc1_experts_bias?:T, fc2_experts_weights:T1, fc2_scales?:T2, "
        "fc2_experts_bias?:T, fc3_experts_weights?:T1, fc3_scales?:T2, "
        "fc3_experts_bias?:T, fc1_zero_points?:T1, fc2_zero_points?:T1, "
        "fc3_zero_points?:T1, router_weights?:T",
        "output:T", "T=f32,f16,bf16;T1=u8;T2=f32,f16,bf16", expand_q_moe,
        .attrs = q_moe_attrs,
        .sizes = EXPERT_SIZES
        ", fc1_scales:e f, fc1_scales:e f _, fc2_scales:e h, "
        "fc2_scales:e h _, fc3_scales:e g, fc3_scales:e g _, "
        "fc1_zero_points:e _, fc1_zero_points:e f _, fc2_zero_points:e _, "
        "fc2_zero_points:e h _, fc3_zero_points:e _, fc3_zero_points:e g _, "
        "router_weights:r e",
        .limits = "integer weights, which are written out as f32; all experts "
                  "are computed for all tokens"),
    {0}};
