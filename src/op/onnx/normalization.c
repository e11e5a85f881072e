//===- normalization.c - LayerNormalization and its kin ----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LayerNormalization, RMSNormalization, SimplifiedLayerNormalization and ORT's
// Skip forms normalize all dims from `axis` on, as one. f32, and halves
// converted to f32, are done by the row kernel, with scale and bias where they
// have exactly the normalized dims; otherwise those are pointwise ops behind
// it. f64 is done by generics, as are mean and deviation as outputs, whose type
// is `stash_type`, of f64 too.
// LpNormalization divides by ReduceL1 or ReduceL2.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>
#include <string.h>

//===-- Inference -----------------------------------------------------------//

static fe_status infer_normalization(fe_infer *f) {
  fe_dims d, p, both;
  unsigned axis;
  if (fe_in_dims(f, 0, &d) ||
      fe_axis(f, fe_attr_i64(f->attrs, "axis", -1), d.rank, &axis))
    return FE_FAILED;
  for (unsigned i = 1; i < f->n_in; ++i) {
    if (fe_is_null(f->in[i]))
      continue;
    if (fe_in_dims(f, i, &p) || fe_broadcast_dims(f, &d, &p, &both))
      return FE_FAILED;
    if (both.rank != d.rank)
      return fe_infer_error(f, NULL, "a parameter has a larger rank than X");
    for (unsigned k = 0; k < d.rank; ++k)
      if (fe_dim_static(d.d[k]) == 1 && fe_dim_static(both.d[k]) != 1)
        return fe_infer_error(f, NULL, "a parameter is larger than X");
  }
  bool is_layer = !strcmp(f->row->name, "LayerNormalization");
  fe_out_tensor(f, 0, fe_in_dtype(f, is_layer ? 0 : 1), &d);
  for (unsigned i = axis; i < d.rank; ++i)
    d.d[i] = fe_dim_const(f->ir, 1);
  int64_t stash = fe_attr_i64(f->attrs, "stash_type", FE_F32);
  bool known = stash == FE_BF16 || stash == FE_F16 || stash == FE_F64;
  fe_dtype t = known ? (fe_dtype)stash : FE_F32;
  for (unsigned i = 1; i < f->n_out; ++i)
    fe_out_tensor(f, i, t, &d);
  return FE_OK;
}

//===-- Statistics ----------------------------------------------------------//

typedef struct statistics {
  double epsilon;
  MlirValue count; // elements of a row, index
} statistics;

static MlirValue divide_count(fe_ir *ir, const MlirValue *x, const void *user) {
  const statistics *s = user;
  MlirType t = mlirValueGetType(x[0]);
  return fe_div(ir, x[0], fe_convert(ir, s->count, t, false, false));
}

static MlirValue inverse_deviation(fe_ir *ir, const MlirValue *x,
                                   const void *user) {
  const statistics *s = user;
  MlirType t = mlirValueGetType(x[0]);
  MlirValue v =
      fe_add(ir, divide_count(ir, x, user), fe_float(ir, t, s->epsilon));
  return fe_div(ir, fe_float(ir, t, 1), fe_math(ir, "sqrt", v));
}

/// Of x [rows][columns], each [rows][1].
static void row_statistics(fe_lower *l, MlirValue x, fe_dtype t,
                           const statistics *s, MlirValue *mean,
                           MlirValue *inverse) {
  const fe_reduction add = {.type = t, .combine = fe_element_add};
  const fe_reduction squares = {
      .type = t, .element = fe_element_square, .combine = fe_element_add};
  if (mean) {
    *mean = fe_reduce(l, x, t, 2, true, &add);
    *mean = fe_map1(l, *mean, t, t, divide_count, s);
    x = fe_map2(l, x, *mean, t, fe_element_sub, NULL);
  }
  MlirValue v = fe_reduce(l, x, t, 2, true, &squares);
  *inverse = fe_map1(l, v, t, t, inverse_deviation, s);
}

//===-- Lowering ------------------------------------------------------------//

/// Whether parameter p has exactly the dims of x from `axis` on.
static bool is_row(fe_lower *l, MlirValue p, MlirValue x, unsigned axis) {
  unsigned rank = fe_rank(x), own = fe_rank(p);
  if (own != rank - axis)
    return false;
  for (unsigned i = 0; i < own; ++i) {
    int64_t a = fe_static_dim(p, i), b = fe_static_dim(x, axis + i);
    if (a != b ||
        (a == FE_DYN && !fe_same(fe_size(l, p, i), fe_size(l, x, axis + i))))
      return false;
  }
  return true;
}

static MlirValue as_vector(fe_lower *l, MlirValue p) {
  MlirValue size = fe_sizes_product(l, p, 0, fe_rank(p));
  return fe_reshape(l, p, fe_elem_of(p), 1, &size);
}

static fe_status lower_normalization(fe_lower *l, bool has_mean) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[0], work = fe_work_type(t);
  MlirValue x = l->in[0], sizes[FE_MAX_RANK], params[2];
  unsigned rank = fe_rank(x), n_params = 0;
  unsigned axis = fe_attr_axis(l->op, "axis", -1, rank);
  statistics s = {.epsilon = fe_attr_f64(l->op, "epsilon", 1e-5),
                  .count = fe_sizes_product(l, x, axis, rank)};
  fe_sizes_of(l, x, sizes);
  MlirValue rows[2] = {fe_sizes_product(l, x, 0, axis), s.count};
  MlirValue flat = fe_reshape(l, x, fe_elem_of(x), 2, rows);
  flat = fe_to_type(l, flat, t, work);
  bool in_kernel = work == FE_F32;
  for (unsigned i = 1; i < l->n_in && i < 3; ++i) {
    if (fe_is_null(l->in[i]))
      continue;
    in_kernel &= is_row(l, l->in[i], x, axis);
    params[n_params++] = fe_to_type(l, l->in[i], l->in_type[i], work);
  }
  bool wants_mean = has_mean && l->n_out > 1 && fe_n_uses(fe_result(l->op, 1));
  unsigned last = has_mean ? 2 : 1;
  bool wants_inverse = l->n_out > last && fe_n_uses(fe_result(l->op, last));
  MlirValue mean = {0}, inverse = {0}, y;
  if (work != FE_F32 || wants_mean || wants_inverse)
    row_statistics(l, flat, work, &s, has_mean ? &mean : NULL, &inverse);
  if (work == FE_F32) {
    MlirValue vectors[2];
    for (unsigned i = 0; i < n_params && in_kernel; ++i)
      vectors[i] = as_vector(l, params[i]);
    y = fe_lower_row(l, has_mean ? "layer_norm" : "rms_norm", flat, 1,
                     in_kernel ? n_params : 0, vectors, s.epsilon);
  } else {
    y = has_mean ? fe_map2(l, flat, mean, work, fe_element_sub, NULL) : flat;
    y = fe_map2(l, y, inverse, work, fe_element_mul, NULL);
  }
  y = fe_reshape(l, y, fe_elem_of(y), rank, sizes);
  for (unsigned i = 0; i < n_params && !in_kernel; ++i)
    y = fe_map2(l, y, params[i], work, i ? fe_element_add : fe_element_mul,
                NULL);
  l->out[0] = fe_to_type(l, y, work, l->out_type[0]);
  for (unsigned i = axis; i < rank; ++i)
    sizes[i] = fe_index(ir, 1);
  MlirValue stats[2] = {has_mean ? mean : inverse, inverse};
  bool wanted[2] = {has_mean ? wants_mean : wants_inverse, wants_inverse};
  for (unsigned i = 0; i < last && i + 1 < l->n_out; ++i)
    if (wanted[i]) {
      MlirValue v = fe_to_type(l, stats[i], work, l->out_type[1 + i]);
      l->out[1 + i] = fe_reshape(l, v, fe_elem_of(v), rank, sizes);
    }
  return FE_OK;
}

static fe_status lower_layer(fe_lower *l) {
  return lower_normalization(l, true);
}
static fe_status lower_rms(fe_lower *l) {
  return lower_normalization(l, false);
}

//===-- Rewritten at import -------------------------------------------------//

static MlirValue in_of(const fe_node *n, size_t i) {
  return i < n->in.n ? n->in.at[i] : (MlirValue){0};
}

/// x / norm, 0 where the norm is.
static fe_status expand_lp(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_node_attr *axis = fe_node_attr_find(n, "axis");
  fe_node_attr *p = fe_node_attr_find(n, "p");
  fe_where where = n->where;
  where.op = n->row->name;
  if (n->in.n != 1 || (p && p->i != 1 && p->i != 2))
    return fe_error(ir->diags, where, NULL, "takes 1 input, and p is 1 or 2");
  int64_t at = axis ? axis->i : -1;
  MlirValue in[2] = {in_of(n, 0), fe_constant_i64s(ir, 1, &at)};
  const char *name = p && p->i == 1 ? "ReduceL1" : "ReduceL2";
  MlirValue norm = fe_first(fe_onnx(ir, name, 2, in, 1, 0, NULL));
  if (fe_is_null(norm))
    return FE_FAILED;
  fe_dtype t = fe_dtype_of_elem(fe_elem_of(norm));
  MlirValue zero = fe_constant_scalar(ir, t, 0);
  MlirValue one = fe_constant_scalar(ir, t, 1);
  MlirValue is_zero = fe_onnx1(ir, "Equal", norm, zero);
  MlirValue divisor =
      fe_is_null(is_zero) ? is_zero : fe_onnx1(ir, "Where", is_zero, one, norm);
  if (!fe_is_null(divisor))
    results[0] = fe_onnx1(ir, "Div", in[0], divisor);
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

/// ORT's Skip forms: normalization of input + skip (+ bias). Outputs: the
/// result, mean and inverse deviation, the sum.
static fe_status expand_skip(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  bool simple = strstr(n->row->name, "Simplified") != NULL;
  fe_node_attr *epsilon = fe_node_attr_find(n, "epsilon");
  MlirValue sum = fe_onnx1(ir, "Add", in_of(n, 0), in_of(n, 1));
  MlirValue bias = in_of(n, simple ? 3 : 4);
  if (!fe_is_null(sum) && !fe_is_null(bias))
    sum = fe_onnx1(ir, "Add", sum, bias);
  if (fe_is_null(sum))
    return FE_FAILED;
  MlirNamedAttribute attr =
      fe_at_f32(ir, "epsilon", epsilon ? epsilon->f : 1e-12);
  MlirValue in[3] = {sum, in_of(n, 2), simple ? (MlirValue){0} : in_of(n, 3)};
  MlirOperation op = fe_onnx(
      ir, simple ? "SimplifiedLayerNormalization" : "LayerNormalization",
      simple ? 2 : 3, in, simple ? 2 : 3, 1, &attr);
  if (mlirOperationIsNull(op))
    return FE_FAILED;
  MlirValue all[4] = {fe_result(op, 0),
                      simple ? (MlirValue){0} : fe_result(op, 1),
                      fe_result(op, simple ? 1 : 2), sum};
  for (unsigned i = 0; i < n->n_out && i < 4; ++i)
    results[i] = all[i];
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def norm_attrs[] = {{"axis", FE_A_INT, "-1"},
                                         {"epsilon", FE_A_FLOAT, "1e-5"},
                                         {"stash_type", FE_A_INT, "1|10|11|16"},
                                         {0}};
static const fe_attr_def lp_attrs[] = {
    {"axis", FE_A_INT, "-1"}, {"p", FE_A_INT, "2|1"}, {0}};
static const fe_attr_def skip_attrs[] = {{"epsilon", FE_A_FLOAT, "1e-12"}, {0}};

#define NORMALIZATION(op_name, first, ins, outs, fn)                           \
  {.name = op_name,                                                            \
   .since = first,                                                             \
   .inputs = ins,                                                              \
   .outputs = outs,                                                            \
   .types = "T=float;V=float",                                                 \
   .attrs = norm_attrs,                                                        \
   .infer = infer_normalization,                                               \
   .lower = fn}

const fe_op_row fe_family_normalization[] = {
    NORMALIZATION("LayerNormalization", 1, "X:T, Scale:V, B?:V",
                  "Y:T, Mean:U, InvStdDev:U", lower_layer),
    NORMALIZATION("RMSNormalization", 23, "X:T, scale:V", "Y:V", lower_rms),
    NORMALIZATION("SimplifiedLayerNormalization", 1, "X:T, scale:V",
                  "Y:V, inv_std_var:U", lower_rms),
    {.name = "LpNormalization",
     .since = 1,
     .inputs = "input:T",
     .outputs = "output:T",
     .types = "T=float",
     .attrs = lp_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_lp},
    {.name = "SkipLayerNormalization",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "input:T, skip:T, gamma:T, beta?:T, bias?:T",
     .outputs = "output:T, mean:U, inv_std_var:U, input_skip_bias_sum:T",
     .types = "T=float",
     .attrs = skip_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_skip},
    {.name = "SkipSimplifiedLayerNormalization",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "input:T, skip:T, gamma:T, bias?:T",
     .outputs = "output:T, mean:U, inv_std_var:U, input_skip_bias_sum:T",
     .types = "T=float",
     .attrs = skip_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_skip},
    {0}};
