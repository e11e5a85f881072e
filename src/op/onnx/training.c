//===- training.c - Adagrad, Adam, Momentum ----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewritten at import into elementwise operators, for each of the tensors that
// a node updates: inputs R, T, then all X, all gradients, all states.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <string.h>

typedef struct update {
  fe_node *n;
  fe_ir *ir;
  fe_dtype type;        // of the tensors
  MlirValue rate, step; // R and T; T converted to the tensors' type
  MlirValue x, g;       // g with the regularization term
} update;

static double attr(const update *u, const char *name, double absent) {
  const fe_node_attr *a = fe_node_attr_find(u->n, name);
  return a ? a->f : absent;
}

static MlirValue number(const update *u, double v) {
  return fe_constant_scalar(u->ir, u->type, v);
}

static MlirValue two(const update *u, const char *op, MlirValue a,
                     MlirValue b) {
  return fe_onnx1(u->ir, op, a, b);
}

static MlirValue scaled(const update *u, double by, MlirValue v) {
  return two(u, "Mul", number(u, by), v);
}

/// a where T > 0, else b.
static MlirValue when_started(const update *u, MlirValue a, MlirValue b) {
  MlirValue started = two(u, "Greater", u->step, number(u, 0));
  return fe_onnx1(u->ir, "Where", started, a, b);
}

/// sqrt(h) + epsilon
static MlirValue root(const update *u, MlirValue h) {
  return two(u, "Add", fe_onnx1(u->ir, "Sqrt", h),
             number(u, attr(u, "epsilon", 1e-6)));
}

static void adagrad(const update *u, const MlirValue *state, MlirValue *out) {
  MlirValue decay = two(u, "Add", number(u, 1),
                        scaled(u, attr(u, "decay_factor", 0), u->step));
  MlirValue rate = two(u, "Div", u->rate, decay);
  MlirValue h = two(u, "Add", state[0], two(u, "Mul", u->g, u->g));
  MlirValue step = two(u, "Div", two(u, "Mul", rate, u->g), root(u, h));
  out[0] = two(u, "Sub", u->x, step);
  out[1] = h;
}

static void adam(const update *u, const MlirValue *state, MlirValue *out) {
  double alpha = attr(u, "alpha", 0.9), beta = attr(u, "beta", 0.999);
  MlirValue one = number(u, 1);
  MlirValue v =
      two(u, "Add", scaled(u, alpha, state[0]), scaled(u, 1 - alpha, u->g));
  MlirValue h = two(u, "Add", scaled(u, beta, state[1]),
                    scaled(u, 1 - beta, two(u, "Mul", u->g, u->g)));
  // Both averages start at zero; the rate makes up for that.
  MlirValue above = two(u, "Sub", one, two(u, "Pow", number(u, beta), u->step));
  MlirValue below =
      two(u, "Sub", one, two(u, "Pow", number(u, alpha), u->step));
  MlirValue rate = two(
      u, "Div", two(u, "Mul", u->rate, fe_onnx1(u->ir, "Sqrt", above)), below);
  rate = when_started(u, rate, u->rate);
  MlirValue step = two(u, "Mul", rate, two(u, "Div", v, root(u, h)));
  double post = attr(u, "norm_coefficient_post", 0);
  out[0] = scaled(u, 1 - post, two(u, "Sub", u->x, step));
  out[1] = v;
  out[2] = h;
}

static void momentum(const update *u, const MlirValue *state, MlirValue *out) {
  double alpha = attr(u, "alpha", 0);
  const fe_node_attr *mode = fe_node_attr_find(u->n, "mode");
  MlirValue beta = when_started(u, number(u, attr(u, "beta", 0)), number(u, 1));
  MlirValue v =
      two(u, "Add", scaled(u, alpha, state[0]), two(u, "Mul", beta, u->g));
  MlirValue direction = v;
  if (!strcmp(mode->s, "nesterov"))
    direction = two(u, "Add", u->g, scaled(u, alpha, v));
  out[0] = two(u, "Sub", u->x, two(u, "Mul", u->rate, direction));
  out[1] = v;
}

/// `states` per tensor beside X; results are X and the states.
static fe_status expand(fe_node *n, MlirValue *results, unsigned states,
                        void (*rule)(const update *, const MlirValue *,
                                     MlirValue *)) {
  fe_ir *ir = n->ir;
  fe_where where = n->where;
  where.op = n->row->name;
  size_t group = states + 2, count = n->in.n < 2 ? 0 : (n->in.n - 2) / group;
  if (!count || count * group + 2 != n->in.n ||
      n->n_out != count * (states + 1))
    return fe_error(ir->diags, where, NULL,
                    "has %zu inputs and %u outputs, which do not fit together",
                    n->in.n, n->n_out);
  for (size_t i = 0; i < n->in.n; ++i)
    if (fe_is_null(n->in.at[i]))
      return fe_error(ir->diags, where, NULL, "input %zu is missing", i);
  for (size_t k = 0; k < count; ++k) {
    const MlirValue *in = n->in.at + 2 + k;
    update u = {.n = n, .ir = ir, .x = in[0]};
    u.type = fe_dtype_of_elem(fe_elem_of(u.x));
    if (u.type != FE_F32 && u.type != FE_F64)
      return fe_error(ir->diags, where, NULL,
                      "the tensors must be float or double");
    MlirNamedAttribute to = fe_at_i64(ir, "to", u.type);
    u.rate = fe_first(fe_onnx(ir, "cast", 1, &n->in.at[0], 1, 1, &to));
    u.step = fe_first(fe_onnx(ir, "cast", 1, &n->in.at[1], 1, 1, &to));
    u.g = two(&u, "Add", scaled(&u, attr(&u, "norm_coefficient", 0), u.x),
              in[count]);
    MlirValue state[2] = {{0}}, out[3] = {{0}};
    for (unsigned s = 0; s < states; ++s)
      state[s] = in[(2 + s) * count];
    rule(&u, state, out);
    for (unsigned s = 0; s <= states; ++s) {
      if (fe_is_null(out[s]))
        return FE_FAILED;
      results[s * count + k] = out[s];
    }
  }
  return FE_OK;
}

static fe_status expand_adagrad(fe_node *n, MlirValue *results) {
  return expand(n, results, 1, adagrad);
}

static fe_status expand_adam(fe_node *n, MlirValue *results) {
  return expand(n, results, 2, adam);
}

static fe_status expand_momentum(fe_node *n, MlirValue *results) {
  const fe_node_attr *mode = fe_node_attr_find(n, "mode");
  fe_where where = n->where;
  where.op = n->row->name;
  where.attr = "mode";
  if (!mode || !mode->s ||
      (strcmp(mode->s, "standard") && strcmp(mode->s, "nesterov")))
    return fe_error(n->ir->diags, where, NULL,
                    "mode must be 'standard' or 'nesterov'");
  return expand(n, results, 1, momentum);
}

static const fe_attr_def adagrad_attrs[] = {
    {"decay_factor", FE_A_FLOAT, "0"},
    {"epsilon", FE_A_FLOAT, "1e-6"},
    {"norm_coefficient", FE_A_FLOAT, "0"},
    {0}};
static const fe_attr_def adam_attrs[] = {
    {"alpha", FE_A_FLOAT, "0.9"},
    {"beta", FE_A_FLOAT, "0.999"},
    {"epsilon", FE_A_FLOAT, "1e-6"},
    {"norm_coefficient", FE_A_FLOAT, "0"},
    {"norm_coefficient_post", FE_A_FLOAT, "0"},
    {0}};
static const fe_attr_def momentum_attrs[] = {
    {"alpha", FE_A_FLOAT, NULL},
    {"beta", FE_A_FLOAT, NULL},
    {"mode", FE_A_STRING, "|standard|nesterov"},
    {"norm_coefficient", FE_A_FLOAT, NULL},
    {0}};

#define OPTIMIZER(name_, attrs_, expand_)                                      \
  {.name = name_,                                                              \
   .domain = "ai.onnx.preview.training",                                       \
   .since = 1,                                                                 \
   .inputs = "R:T1, T:T2, inputs*:T3",                                         \
   .outputs = "outputs*:T3",                                                   \
   .types = "T1=f32,f64;T2=i64;T3=f32,f64",                                    \
   .attrs = attrs_,                                                            \
   .flags = FE_FUNCTION,                                                       \
   .expand = expand_}

const fe_op_row fe_family_training[] = {
    OPTIMIZER("Adagrad", adagrad_attrs, expand_adagrad),
    OPTIMIZER("Adam", adam_attrs, expand_adam),
    OPTIMIZER("Momentum", momentum_attrs, expand_momentum),
    {0}};
