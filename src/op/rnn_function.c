//===- rnn_function.c - attributes of recurrent layers -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activation functions by name, and how lists of their parameters are handed
// out: in order, to the functions that take them.
//
//===----------------------------------------------------------------------===//
#include "op/rnn.h"

#include <ctype.h>
#include <string.h>

static MlirValue number(fe_ir *ir, MlirValue like, double v) {
  return fe_float(ir, mlirValueGetType(like), v);
}

#define FUNCTION(name)                                                         \
  static MlirValue name(fe_ir *ir, MlirValue x, MlirValue a, MlirValue b)
#define UNUSED (void)a, (void)b

FUNCTION(relu) {
  UNUSED;
  MlirValue zero = number(ir, x, 0);
  return fe_select(ir, fe_cmp(ir, FE_GT, zero, x), zero, x);
}
FUNCTION(tangent) {
  UNUSED;
  return fe_math(ir, "tanh", x);
}
FUNCTION(sigmoid) {
  UNUSED;
  MlirValue one = number(ir, x, 1);
  return fe_div(ir, one, fe_add(ir, one, fe_math(ir, "exp", fe_neg(ir, x))));
}
FUNCTION(affine) { return fe_add(ir, fe_mul(ir, a, x), b); }
FUNCTION(leaky_relu) {
  UNUSED;
  MlirValue negative = fe_cmp(ir, FE_LT, x, number(ir, x, 0));
  return fe_select(ir, negative, fe_mul(ir, a, x), x);
}
FUNCTION(thresholded_relu) {
  UNUSED;
  return fe_select(ir, fe_cmp(ir, FE_GE, x, a), x, number(ir, x, 0));
}
FUNCTION(scaled_tangent) {
  return fe_mul(ir, a, fe_math(ir, "tanh", fe_mul(ir, b, x)));
}
FUNCTION(hard_sigmoid) {
  MlirValue zero = number(ir, x, 0), one = number(ir, x, 1);
  MlirValue v = fe_add(ir, fe_mul(ir, a, x), b);
  v = fe_select(ir, fe_cmp(ir, FE_GT, zero, v), zero, v);
  return fe_select(ir, fe_cmp(ir, FE_LT, one, v), one, v);
}
FUNCTION(elu) {
  UNUSED;
  MlirValue negative = fe_cmp(ir, FE_LT, x, number(ir, x, 0));
  return fe_select(ir, negative, fe_mul(ir, a, fe_math(ir, "expm1", x)), x);
}
FUNCTION(softsign) {
  UNUSED;
  MlirValue d = fe_add(ir, number(ir, x, 1), fe_math(ir, "absf", x));
  return fe_div(ir, x, d);
}
FUNCTION(softplus) {
  UNUSED;
  MlirValue e = fe_math(ir, "exp", fe_neg(ir, fe_math(ir, "absf", x)));
  return fe_add(ir, relu(ir, x, a, b), fe_math(ir, "log1p", e));
}

static const struct {
  const char *name;
  MlirValue (*make)(fe_ir *ir, MlirValue x, MlirValue a, MlirValue b);
  bool has_alpha, has_beta;
  double alpha, beta;
} functions[] = {
    {"sigmoid", sigmoid, false, false, 0, 0},
    {"tanh", tangent, false, false, 0, 0},
    {"relu", relu, false, false, 0, 0},
    {"affine", affine, true, true, 1, 0},
    {"leakyrelu", leaky_relu, true, false, 0.01, 0},
    {"thresholdedrelu", thresholded_relu, true, false, 1, 0},
    {"scaledtanh", scaled_tangent, true, true, 1, 1},
    {"hardsigmoid", hard_sigmoid, true, true, 0.2, 0.5},
    {"elu", elu, true, false, 1, 0},
    {"softsign", softsign, false, false, 0, 0},
    {"softplus", softplus, false, false, 0, 0},
};
enum { SIGMOID, TANH };

const char *fe_rnn_function_name(const fe_rnn_function *f) {
  return functions[f->function].name;
}

MlirValue fe_rnn_apply(fe_ir *ir, const fe_rnn_function *f, MlirValue x) {
  return functions[f->function].make(ir, x, number(ir, x, f->alpha),
                                     number(ir, x, f->beta));
}

static bool same_name(MlirStringRef s, const char *name) {
  for (size_t i = 0; i < s.length; ++i)
    if (tolower((unsigned char)s.data[i]) != name[i])
      return false;
  return !name[s.length];
}

typedef struct parameters {
  float alpha[16], beta[16];
  unsigned n_alpha, n_beta, next_alpha, next_beta;
} parameters;

static fe_status parse_functions(fe_ir *ir, fe_where where, MlirOperation attrs,
                                 fe_rnn *n) {
  static const unsigned per_cell[] = {1, 2, 3};
  static const unsigned defaults[3][3] = {
      {TANH}, {SIGMOID, TANH}, {SIGMOID, TANH, TANH}};
  unsigned per = per_cell[n->cell], given = 0;
  MlirAttribute list = fe_attr(attrs, "activations");
  if (!mlirAttributeIsNull(list) && mlirAttributeIsAArray(list))
    given = (unsigned)mlirArrayAttrGetNumElements(list);
  where.attr = "activations";
  if (given && given != per * n->directions)
    return fe_error(ir->diags, where, NULL,
                    "there must be %u activations but there are %u",
                    per * n->directions, given);
  parameters p = {0};
  p.n_alpha = fe_attr_f32s(attrs, "activation_alpha", p.alpha, 16);
  p.n_beta = fe_attr_f32s(attrs, "activation_beta", p.beta, 16);
  for (unsigned i = 0; i < per * n->directions; ++i) {
    fe_rnn_function *f = &n->f[i / per][i % per];
    f->function = defaults[n->cell][i % per];
    if (given) {
      MlirStringRef name =
          mlirStringAttrGetValue(mlirArrayAttrGetElement(list, i));
      f->function = 0;
      while (f->function < FE_COUNT(functions) &&
             !same_name(name, functions[f->function].name))
        ++f->function;
      if (f->function == FE_COUNT(functions))
        return fe_error(ir->diags, where, NULL,
                        "there is no activation function '%.*s'",
                        (int)name.length, name.data);
    }
    f->alpha = functions[f->function].alpha;
    f->beta = functions[f->function].beta;
    if (functions[f->function].has_alpha && p.next_alpha < p.n_alpha)
      f->alpha = p.alpha[p.next_alpha++];
    if (functions[f->function].has_beta && p.next_beta < p.n_beta)
      f->beta = p.beta[p.next_beta++];
  }
  return FE_OK;
}

fe_status fe_rnn_parse(fe_ir *ir, fe_where where, MlirOperation attrs,
                       fe_rnn_cell cell, fe_rnn *out) {
  static const unsigned gates[] = {1, 3, 4};
  const char *direction = fe_attr_str(ir->arena, attrs, "direction", "forward");
  bool both = !strcmp(direction, "bidirectional");
  bool reverse = !strcmp(direction, "reverse");
  if (!both && !reverse && strcmp(direction, "forward")) {
    where.attr = "direction";
    return fe_error(ir->diags, where, NULL, "there is no direction '%s'",
                    direction);
  }
  *out = (fe_rnn){.cell = cell,
                  .gates = gates[cell],
                  .directions = both ? 2 : 1,
                  .reverse = reverse,
                  .batch_first = fe_attr_i64(attrs, "layout", 0) != 0,
                  .linear_before_reset =
                      fe_attr_i64(attrs, "linear_before_reset", 0) != 0,
                  .input_forget = fe_attr_i64(attrs, "input_forget", 0) != 0,
                  .clip = fe_attr_f64(attrs, "clip", 0)};
  return parse_functions(ir, where, attrs, out);
}
