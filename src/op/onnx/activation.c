//===- activation.c - Relu to Swish ------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparisons are written so that NaN goes through and each is one machine
// instruction. `x` may be a vector: epilogues of contractions use these too.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/scalar.h"

static MlirValue number(fe_ir *ir, MlirValue like, double v) {
  return fe_number(ir, mlirValueGetType(like), v);
}
static MlirValue attr_number(fe_ir *ir, MlirOperation op, const char *name,
                             MlirValue like) {
  return number(ir, like, fe_attr_f64(op, name, 0));
}

/// min(max(x, lo), hi) that keeps NaN.
static MlirValue clamp(fe_ir *ir, MlirValue x, MlirValue lo, MlirValue hi) {
  x = fe_select(ir, fe_cmp(ir, FE_GT, lo, x), lo, x);
  return fe_select(ir, fe_cmp(ir, FE_LT, hi, x), hi, x);
}

FE_SCALAR(relu) {
  FE_UNUSED;
  MlirValue zero = number(ir, x[0], 0);
  return fe_select(ir, fe_cmp(ir, FE_GT, zero, x[0]), zero, x[0]);
}

/// x where x >= 0, else `negative`.
static MlirValue below_zero(fe_ir *ir, MlirValue x, MlirValue negative) {
  MlirValue is_negative = fe_cmp(ir, FE_LT, x, number(ir, x, 0));
  return fe_select(ir, is_negative, negative, x);
}

FE_SCALAR(leaky_relu) {
  FE_UNUSED;
  MlirValue slope = attr_number(ir, op, "alpha", x[0]);
  return below_zero(ir, x[0], fe_mul(ir, x[0], slope));
}

FE_SCALAR(prelu) {
  FE_UNUSED;
  if (fe_dtype_is_unsigned(in)) // never below zero
    return x[0];
  return below_zero(ir, x[0], fe_mul(ir, x[0], x[1]));
}

static MlirValue sigmoid_of(fe_ir *ir, MlirValue x) {
  MlirValue one = number(ir, x, 1);
  return fe_div(ir, one, fe_add(ir, one, fe_math(ir, "exp", fe_neg(ir, x))));
}

FE_SCALAR(sigmoid) {
  FE_UNUSED;
  return sigmoid_of(ir, x[0]);
}

FE_SCALAR(hard_sigmoid) {
  FE_UNUSED;
  MlirValue v = fe_add(ir, fe_mul(ir, x[0], attr_number(ir, op, "alpha", x[0])),
                       attr_number(ir, op, "beta", x[0]));
  return clamp(ir, v, number(ir, v, 0), number(ir, v, 1));
}

FE_SCALAR(hard_swish) {
  FE_UNUSED;
  MlirValue v = fe_add(ir, fe_mul(ir, x[0], number(ir, x[0], 1.0 / 6)),
                       number(ir, x[0], 0.5));
  return fe_mul(ir, x[0], clamp(ir, v, number(ir, v, 0), number(ir, v, 1)));
}

FE_SCALAR(hyperbolic_tangent) {
  FE_UNUSED;
  return fe_math(ir, "tanh", x[0]);
}

/// scale * (exp(x / shape) - 1)
static MlirValue exponential_part(fe_ir *ir, MlirValue x, MlirValue scale) {
  return fe_mul(ir, scale, fe_math(ir, "expm1", x));
}

FE_SCALAR(elu) {
  FE_UNUSED;
  MlirValue alpha = attr_number(ir, op, "alpha", x[0]);
  return below_zero(ir, x[0], exponential_part(ir, x[0], alpha));
}

FE_SCALAR(selu) {
  FE_UNUSED;
  MlirValue alpha = attr_number(ir, op, "alpha", x[0]);
  MlirValue v = below_zero(ir, x[0], exponential_part(ir, x[0], alpha));
  return fe_mul(ir, v, attr_number(ir, op, "gamma", x[0]));
}

FE_SCALAR(celu) {
  FE_UNUSED;
  MlirValue alpha = attr_number(ir, op, "alpha", x[0]);
  MlirValue v = exponential_part(ir, fe_div(ir, x[0], alpha), alpha);
  return below_zero(ir, x[0], v);
}

/// log(1 + exp(x)) that neither overflows nor loses small results.
static MlirValue softplus_of(fe_ir *ir, MlirValue x) {
  MlirValue zero = number(ir, x, 0);
  MlirValue positive = fe_select(ir, fe_cmp(ir, FE_GT, zero, x), zero, x);
  MlirValue e = fe_math(ir, "exp", fe_neg(ir, fe_math(ir, "absf", x)));
  return fe_add(ir, positive, fe_math(ir, "log1p", e));
}

FE_SCALAR(softplus) {
  FE_UNUSED;
  return softplus_of(ir, x[0]);
}

FE_SCALAR(softsign) {
  FE_UNUSED;
  return fe_div(ir, x[0],
                fe_add(ir, number(ir, x[0], 1), fe_math(ir, "absf", x[0])));
}

FE_SCALAR(thresholded_relu) {
  FE_UNUSED;
  MlirValue alpha = attr_number(ir, op, "alpha", x[0]);
  return fe_select(ir, fe_cmp(ir, FE_GT, x[0], alpha), x[0],
                   number(ir, x[0], 0));
}

FE_SCALAR(gelu) {
  FE_UNUSED;
  const char *form = fe_attr_str(ir->arena, op, "approximate", "none");
  MlirValue half = number(ir, x[0], 0.5), one = number(ir, x[0], 1), t;
  if (form[0] == 't') {
    // tanh(sqrt(2 / pi) * (x + 0.044715 x^3))
    MlirValue xx = fe_mul(ir, x[0], x[0]);
    MlirValue inner =
        fe_add(ir, one, fe_mul(ir, xx, number(ir, x[0], 0.044715)));
    inner = fe_mul(ir, fe_mul(ir, x[0], inner),
                   number(ir, x[0], 0.79788456080286535588));
    t = fe_math(ir, "tanh", inner);
  } else {
    t = fe_math(ir, "erf",
                fe_mul(ir, x[0], number(ir, x[0], 0.70710678118654752440)));
  }
  return fe_mul(ir, fe_mul(ir, x[0], half), fe_add(ir, one, t));
}

FE_SCALAR(error_function) {
  FE_UNUSED;
  if (fe_dtype_is_float(in))
    return fe_math(ir, "erf", x[0]);
  // Of integers, cut off: 0 but where erf rounds to 1 in single precision.
  MlirValue one = number(ir, x[0], 1), zero = number(ir, x[0], 0);
  MlirValue bound = number(ir, x[0], 4);
  if (fe_dtype_is_unsigned(in))
    return fe_select(ir, fe_cmpu(ir, FE_GE, x[0], bound), one, zero);
  MlirValue v = fe_select(ir, fe_cmp(ir, FE_GE, x[0], bound), one, zero);
  MlirValue below = fe_cmp(ir, FE_LE, x[0], number(ir, x[0], -4));
  return fe_select(ir, below, number(ir, x[0], -1), v);
}

FE_SCALAR(mish) {
  FE_UNUSED;
  return fe_mul(ir, x[0], fe_math(ir, "tanh", softplus_of(ir, x[0])));
}

FE_SCALAR(swish) {
  FE_UNUSED;
  MlirValue alpha = attr_number(ir, op, "alpha", x[0]);
  return fe_mul(ir, x[0], sigmoid_of(ir, fe_mul(ir, alpha, x[0])));
}

/// In float for integers too: lambd and bias need not be whole.
FE_SCALAR(shrink) {
  (void)n;
  bool is_float = fe_dtype_is_float(in);
  MlirValue v =
      is_float ? x[0]
               : fe_convert(ir, x[0], ir->f64, fe_dtype_is_unsigned(in), false);
  MlirValue lambd = attr_number(ir, op, "lambd", v);
  MlirValue bias = attr_number(ir, op, "bias", v);
  MlirValue r = fe_select(ir, fe_cmp(ir, FE_GT, v, lambd), fe_sub(ir, v, bias),
                          number(ir, v, 0));
  r = fe_select(ir, fe_cmp(ir, FE_LT, v, fe_neg(ir, lambd)),
                fe_add(ir, v, bias), r);
  return is_float ? r
                  : fe_convert(ir, r, mlirValueGetType(x[0]), false,
                               fe_dtype_is_unsigned(out));
}

//===-- Upgrades ------------------------------------------------------------//

static void default_float(fe_node *n, const char *name, double v) {
  if (fe_node_attr_find(n, name))
    return;
  fe_push(n->ir->arena, &n->attrs,
          ((fe_node_attr){.name = name, .kind = FE_A_FLOAT, .f = v}));
}

static fe_status upgrade_selu(fe_node *n) {
  if (n->opset < 6) {
    default_float(n, "alpha", 1.6732);
    default_float(n, "gamma", 1.0507);
  }
  return FE_OK;
}

/// Before opset 7 the slope of [N, C, ...] is one number or one per channel.
static fe_status upgrade_prelu(fe_node *n) {
  fe_dims x, slope;
  if (n->opset >= 7 || n->in.n != 2 || !fe_dims_of(n->ir, n->in.at[0], &x) ||
      !fe_dims_of(n->ir, n->in.at[1], &slope) || slope.rank != 1 ||
      x.rank < 3 || fe_dim_static(slope.d[0]) == 1)
    return FE_OK;
  int64_t axes[FE_MAX_RANK];
  for (unsigned i = 0; i < x.rank - 2; ++i)
    axes[i] = i + 1;
  n->in.at[1] = fe_unsqueezed(n->ir, n->in.at[1], x.rank - 2, axes);
  return fe_is_null(n->in.at[1]) ? FE_FAILED : FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

#define ATTRS(name, ...) static const fe_attr_def name[] = {__VA_ARGS__, {0}}
#define F(name, text) {name, FE_A_FLOAT, text}
ATTRS(alpha_001, F("alpha", "0.01"));
ATTRS(alpha_1, F("alpha", "1"));
ATTRS(hard_sigmoid_attrs, F("alpha", "0.2"), F("beta", "0.5"));
ATTRS(selu_attrs, F("alpha", "1.67326319217681884765625"),
      F("gamma", "1.05070102214813232421875"));
ATTRS(gelu_attrs, {"approximate", FE_A_STRING, "none|tanh"});
ATTRS(shrink_attrs, F("bias", "0"), F("lambd", "0.5"));

const fe_op_row fe_family_activation[] = {
    FE_UNARY("Relu", 1, "float,sint", .scalar = relu),
    FE_UNARY("LeakyRelu", 1, "float", .attrs = alpha_001, .scalar = leaky_relu),
    {.name = "PRelu",
     .since = 1,
     .inputs = "X:T, slope:T",
     .outputs = "Y:T",
     .types = "T=real",
     .flags = FE_POINTWISE,
     .upgrade = upgrade_prelu,
     .scalar = prelu},
    FE_UNARY("Sigmoid", 1, "float", .scalar = sigmoid),
    FE_UNARY("HardSigmoid", 1, "float", .attrs = hard_sigmoid_attrs,
             .scalar = hard_sigmoid),
    FE_UNARY("HardSwish", 14, "float", .scalar = hard_swish),
    FE_UNARY("Tanh", 1, "float", .scalar = hyperbolic_tangent),
    FE_UNARY("Elu", 1, "float", .attrs = alpha_1, .scalar = elu),
    FE_UNARY("Selu", 1, "float", .attrs = selu_attrs, .upgrade = upgrade_selu,
             .scalar = selu),
    FE_UNARY("Celu", 12, "float", .attrs = alpha_1, .scalar = celu),
    FE_UNARY("Softplus", 1, "float", .scalar = softplus),
    FE_UNARY("Softsign", 1, "float", .scalar = softsign),
    FE_UNARY("ThresholdedRelu", 10, "float", .attrs = alpha_1,
             .scalar = thresholded_relu),
    FE_UNARY("Gelu", 20, "float", .attrs = gelu_attrs, .scalar = gelu),
    FE_UNARY("Erf", 9, "real", .scalar = error_function),
    FE_UNARY("Mish", 18, "float", .scalar = mish),
    FE_UNARY("Swish", 24, "float", .attrs = alpha_1, .scalar = swish),
    FE_UNARY("Shrink", 9, "real", .attrs = shrink_attrs, .scalar = shrink),
    {0}};
