//===- flex_attention.c - FlexAttention -----------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention whose scores and probabilities go through graphs of the model. The
// node becomes matrix products and a softmax with those graphs between them,
// so that they fuse like any other ops. Query heads that share a head of keys
// are rows of one product: keys are not repeated.
//
//===----------------------------------------------------------------------===//
#include "import/import.h"

#include <math.h>

static fe_dtype type_of(MlirValue v) { return fe_dtype_of_elem(fe_elem_of(v)); }

static MlirValue cast(fe_ir *ir, MlirValue v, fe_dtype t) {
  if (fe_is_null(v) || type_of(v) == t)
    return v;
  MlirNamedAttribute to = fe_at_i64(ir, "to", t);
  return fe_first(fe_onnx(ir, "cast", 1, &v, 1, 1, &to));
}

/// Size of dim i of v, a list of one number.
static MlirValue size_of(fe_ir *ir, MlirValue v, unsigned i) {
  fe_dims d;
  if (fe_dims_of(ir, v, &d) && fe_dim_static(d.d[i]) != FE_DYN) {
    int64_t n = fe_dim_static(d.d[i]);
    return fe_constant_i64s(ir, 1, &n);
  }
  MlirNamedAttribute part[] = {fe_at_i64(ir, "start", i),
                               fe_at_i64(ir, "end", i + 1)};
  return fe_first(fe_onnx(ir, "Shape", 1, &v, 1, 2, part));
}

/// [batch][heads of `like`][..][same], with the third dim as it comes.
static MlirValue with_heads(fe_ir *ir, MlirValue v, MlirValue like) {
  const int64_t same = 0, rest = -1;
  MlirNamedAttribute axis = fe_at_i64(ir, "axis", 0);
  MlirValue parts[4] = {fe_constant_i64s(ir, 1, &same), size_of(ir, like, 1),
                        fe_constant_i64s(ir, 1, &rest),
                        fe_constant_i64s(ir, 1, &same)};
  MlirValue shape = fe_first(fe_onnx(ir, "Concat", 4, parts, 1, 1, &axis));
  return fe_onnx1(ir, "Reshape", v, shape);
}

/// What scores are multiplied with: the attribute, or 1 / sqrt(size of a head).
static MlirValue scale_of(fe_call_site *c, fe_dtype t) {
  fe_ir *ir = c->scope->im->ir;
  const fe_bound_attr *given = fe_site_attr(c, "scale");
  if (given)
    return fe_constant_scalar(ir, t, given->attr->f);
  fe_dims q;
  if (!fe_dims_of(ir, c->in[0], &q))
    return (MlirValue){0};
  int64_t size = fe_dim_static(q.d[3]);
  if (size != FE_DYN)
    return fe_constant_scalar(ir, t, 1 / sqrt((double)size));
  MlirValue root =
      fe_onnx1(ir, "Sqrt", cast(ir, size_of(ir, c->in[0], 3), FE_F64));
  return cast(ir, fe_onnx1(ir, "Reciprocal", root), t);
}

/// The tensor put through the graph of attribute `name`, if there is one.
static fe_status modify(fe_call_site *c, const char *name, MlirValue *v) {
  if (!fe_site_attr(c, name))
    return FE_OK;
  fe_ir *ir = c->scope->im->ir;
  fe_body b;
  fe_scope *s;
  MlirValue out = {0};
  if (fe_site_graph(c, name, 1, 1, &b, &s) != FE_OK)
    return FE_FAILED;
  b.n_out = 1;
  MlirLocation loc = ir->loc;
  fe_status ok = fe_body_make(s, &b, v, &out);
  ir->loc = loc;
  if (ok != FE_OK)
    return ok;
  if (!mlirTypeIsARankedTensor(mlirValueGetType(out)) ||
      fe_rank(out) != fe_rank(*v) || type_of(out) != type_of(*v))
    return fe_error(c->scope->im->diags, c->where, NULL,
                    "the graph '%s' changes the type of its input", name);
  *v = out;
  return FE_OK;
}

/// Whether heads of Q share those of K; reports what does not fit.
static fe_status check_heads(const fe_call_site *c, bool *grouped) {
  fe_ir *ir = c->scope->im->ir;
  fe_dims d[3];
  for (unsigned i = 0; i < 3; i++)
    if (i >= c->n_in || fe_is_null(c->in[i]) ||
        !fe_dims_of(ir, c->in[i], &d[i]) || d[i].rank != 4)
      return fe_error(ir->diags, c->where, NULL,
                      "Q, K and V must be tensors of rank 4");
  int64_t heads = fe_dim_static(d[0].d[1]), kv = fe_dim_static(d[1].d[1]);
  if (kv != FE_DYN && (kv < 1 || (heads != FE_DYN && heads % kv)))
    return fe_error(ir->diags, c->where, NULL,
                    "the heads of Q must be a multiple of those of K");
  *grouped = !fe_dim_same(d[0].d[1], d[1].d[1]);
  return FE_OK;
}

fe_status fe_import_flex_attention(fe_call_site *c) {
  fe_ir *ir = c->scope->im->ir;
  bool grouped = false;
  if (check_heads(c, &grouped) != FE_OK)
    return FE_FAILED;
  fe_dtype t = type_of(c->in[0]);
  fe_dtype precision = (fe_dtype)fe_site_int(c, "softmax_precision",
                                             t == FE_F64 ? FE_F64 : FE_F32);
  if (precision != FE_F16 && precision != FE_BF16 && precision != FE_F32 &&
      precision != FE_F64)
    return fe_error(ir->diags, c->where, NULL,
                    "softmax_precision must be a float type");
  MlirValue q = grouped ? with_heads(ir, c->in[0], c->in[1]) : c->in[0];
  const int64_t swapped[4] = {0, 1, 3, 2};
  MlirNamedAttribute perm = fe_at_i64s(ir, "perm", 4, swapped);
  MlirValue k = fe_first(fe_onnx(ir, "transpose", 1, &c->in[1], 1, 1, &perm));
  MlirValue v = cast(ir, fe_onnx1(ir, "MatMul", q, k), precision);
  v = fe_onnx1(ir, "Mul", v, scale_of(c, precision));
  v = grouped ? with_heads(ir, v, c->in[0]) : v;
  if (fe_is_null(v) || modify(c, "score_mod", &v) != FE_OK)
    return FE_FAILED;
  MlirNamedAttribute axis = fe_at_i64(ir, "axis", -1);
  v = fe_first(fe_onnx(ir, "softmax", 1, &v, 1, 1, &axis));
  if (fe_is_null(v) || modify(c, "prob_mod", &v) != FE_OK)
    return FE_FAILED;
  v = cast(ir, grouped ? with_heads(ir, v, c->in[1]) : v, t);
  v = fe_onnx1(ir, "MatMul", v, c->in[2]);
  c->out[0] = grouped ? with_heads(ir, v, c->in[0]) : v;
  return fe_is_null(c->out[0]) ? FE_FAILED : FE_OK;
}
