//===- patterns_attention.c - attention in one op -------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MatMul(Softmax(MatMul(q, transposed k) * scale + mask), v) over [batch][head]
// becomes krnl.attention, with the transposes between heads and sequence taken
// in: its kernel reads and writes through strides and never has the scores in
// memory.
//
//===----------------------------------------------------------------------===//
#include "pass/rewrite.h"

#include <string.h>

static bool is_f32(MlirValue v) {
  return fe_dtype_of_elem(fe_elem_of(v)) == FE_F32;
}

static bool is_transpose(MlirValue v, const int64_t *want) {
  MlirOperation op = fe_def(v);
  int64_t perm[FE_MAX_RANK];
  return fe_op_is(op, "onnx.transpose") &&
         fe_attr_i64s(op, "perm", perm, FE_MAX_RANK) == 4 &&
         !memcmp(perm, want, 4 * sizeof *perm);
}
static const int64_t heads_out[] = {0, 2, 1, 3};  // [b][s][h][d], [b][h][s][d]
static const int64_t last_two[] = {0, 1, 3, 2};   // [..][s][d], [..][d][s]
static const int64_t heads_last[] = {0, 2, 3, 1}; // both

/// x * c or x / c: gives x and multiplies the scale.
static bool peel_scale(fe_ir *ir, MlirValue *v, double *scale) {
  MlirOperation op = fe_def(*v);
  double c;
  if (fe_n_uses(*v) != 1)
    return false;
  if (fe_op_is(op, "onnx.div") && fe_const_scalar(ir, fe_operand(op, 1), &c) &&
      c != 0) {
    *scale /= c;
    *v = fe_operand(op, 0);
    return true;
  }
  if (!fe_op_is(op, "onnx.mul"))
    return false;
  for (unsigned i = 0; i < 2; ++i)
    if (fe_const_scalar(ir, fe_operand(op, i), &c)) {
      *scale *= c;
      *v = fe_operand(op, 1 - i);
      return true;
    }
  return false;
}

/// The tensor behind heads first, and its layout.
static const char *peel_heads(MlirValue *v) {
  if (!is_transpose(*v, heads_out))
    return "bhsd";
  *v = fe_operand(fe_def(*v), 0);
  return "bshd";
}

/// Whether every dim of the mask is 1 or surely that of the scores.
static bool mask_fits(fe_ir *ir, MlirValue mask, MlirValue scores) {
  fe_dims m, s;
  if (!is_f32(mask) || !fe_dims_of(ir, mask, &m) ||
      !fe_dims_of(ir, scores, &s) || m.rank > 4 || s.rank != 4)
    return false;
  for (unsigned i = 0; i < m.rank; ++i)
    if (fe_dim_static(m.d[i]) != 1 && !fe_dim_same(m.d[i], s.d[4 - m.rank + i]))
      return false;
  return true;
}

static bool is_softmax_of_last(MlirOperation op) {
  int64_t axis = fe_attr_i64(op, "axis", -1);
  return fe_op_is(op, "onnx.softmax") && (axis == -1 || axis == 3) &&
         fe_n_uses(fe_result(op, 0)) == 1;
}

/// Scores that are replaced by a very low constant where a condition does not
/// hold: the same as adding it there. Gives the mask.
static MlirValue mask_of_where(fe_ir *ir, MlirValue v, MlirValue *scores) {
  MlirOperation op = fe_def(v);
  if (!fe_op_is(op, "onnx.where") || fe_n_uses(v) != 1)
    return (MlirValue){0};
  double low;
  for (unsigned i = 1; i < 3; ++i) {
    if (!fe_const_scalar(ir, fe_operand(op, i), &low) || !(low < -1e30))
      continue;
    *scores = fe_operand(op, 3 - i);
    MlirValue zero = fe_constant_scalar(ir, FE_F32, 0);
    MlirValue in[3] = {fe_operand(op, 0), zero, zero};
    in[i] = fe_operand(op, i);
    return fe_first(fe_onnx(ir, "Where", 3, in, 1, 0, NULL));
  }
  return (MlirValue){0};
}

typedef struct parts {
  MlirValue q, k, v, mask;
  const char *layouts[4];
  double scale;
} parts;

/// From the scores down to q and k.
static bool read_scores(fe_ir *ir, MlirValue s, parts *p) {
  while (peel_scale(ir, &s, &p->scale))
    ;
  MlirOperation add = fe_def(s);
  MlirValue chosen, where = {0};
  if (p->scale == 1)
    where = mask_of_where(ir, s, &chosen);
  if (!fe_is_null(where) && mask_fits(ir, where, chosen)) {
    p->mask = where;
    s = chosen;
    while (peel_scale(ir, &s, &p->scale))
      ;
  } else if (p->scale == 1 && fe_op_is(add, "onnx.add") && fe_n_uses(s) == 1) {
    // The mask is what does not come from a product.
    for (unsigned i = 0; i < 2 && fe_is_null(p->mask); ++i) {
      MlirValue scores = fe_operand(add, i), mask = fe_operand(add, 1 - i);
      double ignored = 1;
      MlirValue inner = scores;
      while (peel_scale(ir, &inner, &ignored))
        ;
      if (!fe_op_is(fe_def(inner), "onnx.mat_mul") ||
          !mask_fits(ir, mask, scores))
        continue;
      p->mask = mask;
      s = scores;
    }
    while (peel_scale(ir, &s, &p->scale))
      ;
  }
  MlirOperation product = fe_def(s);
  if (!fe_op_is(product, "onnx.mat_mul") || fe_n_uses(s) != 1)
    return false;
  p->q = fe_operand(product, 0);
  p->k = fe_operand(product, 1);
  while (peel_scale(ir, &p->q, &p->scale))
    ;
  while (peel_scale(ir, &p->k, &p->scale))
    ;
  p->layouts[0] = peel_heads(&p->q);
  if (is_transpose(p->k, heads_last)) {
    p->k = fe_operand(fe_def(p->k), 0);
    p->layouts[1] = "bshd";
  } else if (is_transpose(p->k, last_two)) {
    p->k = fe_operand(fe_def(p->k), 0);
    while (peel_scale(ir, &p->k, &p->scale))
      ;
    p->layouts[1] = peel_heads(&p->k);
  } else {
    return false;
  }
  return true;
}

/// Dims of v as b s h d.
static bool logical_dims(fe_ir *ir, MlirValue v, const char *layout,
                         MlirAffineExpr out[4]) {
  fe_dims d;
  if (!fe_dims_of(ir, v, &d) || d.rank != 4)
    return false;
  for (unsigned i = 0; i < 4; ++i)
    out[strchr("bshd", layout[i]) - "bshd"] = d.d[i];
  return true;
}

static bool sizes_fit(fe_ir *ir, const parts *p) {
  MlirAffineExpr q[4], k[4], v[4];
  return logical_dims(ir, p->q, p->layouts[0], q) &&
         logical_dims(ir, p->k, p->layouts[1], k) &&
         logical_dims(ir, p->v, p->layouts[2], v) && fe_dim_same(q[0], k[0]) &&
         fe_dim_same(q[0], v[0]) && fe_dim_same(q[2], k[2]) &&
         fe_dim_same(q[2], v[2]) && fe_dim_same(k[1], v[1]) &&
         fe_dim_same(q[3], k[3]) && fe_dim_static(q[3]) > 0 &&
         fe_dim_static(v[3]) > 0;
}

static MlirValue make(fe_ir *ir, const parts *p, MlirType type) {
  const int64_t pick[3] = {0};
  MlirValue operands[] = {p->q, p->k, p->v, p->mask};
  bool masked = !fe_is_null(p->mask);
  return fe_first(FE_OP(
      ir, masked ? "krnl.attention_masked" : "krnl.attention",
      .n_operands = masked ? 4 : 3, .operands = operands, FE_TYPES(type),
      FE_ATTRS(fe_at_f32(ir, "scale", p->scale), fe_at_i64(ir, "causal", 0),
               fe_at_strs(ir, "layouts", 4, p->layouts),
               fe_at_i64s(ir, "pick", 3, pick))));
}

static bool make_attention(fe_ir *ir, MlirOperation op) {
  MlirOperation softmax = fe_def(fe_operand(op, 0));
  MlirValue result = fe_result(op, 0);
  if (!is_softmax_of_last(softmax) || fe_rank(result) != 4 || !is_f32(result))
    return false;
  parts p = {.v = fe_operand(op, 1), .scale = 1};
  if (!read_scores(ir, fe_operand(softmax, 0), &p))
    return false;
  p.layouts[2] = peel_heads(&p.v);
  p.layouts[3] = "bhsd";
  if (!sizes_fit(ir, &p))
    return false;
  fe_replace(result, make(ir, &p, mlirValueGetType(result)));
  return true;
}

/// The transpose behind it decides how the result is written.
static bool absorb_transpose(fe_ir *ir, MlirOperation op) {
  MlirValue x = fe_operand(op, 0), result = fe_result(op, 0);
  MlirOperation a = fe_def(x);
  bool masked = fe_op_is(a, "krnl.attention_masked");
  if ((!masked && !fe_op_is(a, "krnl.attention")) || fe_n_uses(x) != 1 ||
      !is_transpose(result, heads_out))
    return false;
  MlirAttribute layouts = fe_attr(a, "layouts");
  parts p = {.q = fe_operand(a, 0),
             .k = fe_operand(a, 1),
             .v = fe_operand(a, 2),
             .mask = masked ? fe_operand(a, 3) : (MlirValue){0},
             .scale = fe_attr_f64(a, "scale", 1)};
  for (unsigned i = 0; i < 4; ++i) {
    MlirStringRef s =
        mlirStringAttrGetValue(mlirArrayAttrGetElement(layouts, i));
    p.layouts[i] = fe_strndup(ir->arena, s.data, s.length);
  }
  if (strcmp(p.layouts[3], "bhsd"))
    return false;
  p.layouts[3] = "bshd";
  fe_replace(result, make(ir, &p, mlirValueGetType(result)));
  return true;
}

const fe_pattern fe_patterns_attention[] = {
    {"onnx.mat_mul", make_attention, "softmax(q k^T) v is attention"},
    {"onnx.transpose", absorb_transpose, "attention writes heads side by side"},
    {0}};
