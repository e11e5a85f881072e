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

/// [batch][heads][..][same], with the third dim as it comes.
static MlirValue with_heads(fe_ir *ir, MlirValue v, int64_t heads) {
  int64_t shape[4] = {0, heads, -1, 0};
  return fe_onnx1(ir, "Reshape", v, fe_constant_i64s(ir, 4, shape));
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

/// Numbers of heads and the size of one, all of which must be known.
static fe_status read_heads(const fe_call_site *c, int64_t *heads,
                            int64_t *kv_heads, int64_t *size) {
  fe_ir *ir = c->scope->im->ir;
  fe_dims d[3];
  for (unsigned i = 0; i < 3; i++)
    if (i >= c->n_in || fe_is_null(c->in[i]) ||
        !fe_dims_of(ir, c->in[i], &d[i]) || d[i].rank != 4)
      return fe_error(ir->diags, c->where, NULL,
                      "Q, K and V must be tensors of rank 4");
  *heads = fe_dim_static(d[0].d[1]);
  *kv_heads = fe_dim_static(d[1].d[1]);
  *size = fe_dim_static(d[0].d[3]);
  if (*heads == FE_DYN || *kv_heads == FE_DYN || *size == FE_DYN)
    return fe_error(ir->diags, c->where, NULL,
                    "the numbers of heads and their size must be known when "
                    "compiling");
  if (*kv_heads < 1 || *heads % *kv_heads)
    return fe_error(ir->diags, c->where, NULL,
                    "the heads of Q must be a multiple of those of K");
  return FE_OK;
}

fe_status fe_import_flex_attention(fe_call_site *c) {
  fe_ir *ir = c->scope->im->ir;
  int64_t heads = 1, kv_heads = 1, size = 1;
  if (read_heads(c, &heads, &kv_heads, &size) != FE_OK)
    return FE_FAILED;
  bool grouped = heads != kv_heads;
  fe_dtype t = type_of(c->in[0]);
  fe_dtype precision = (fe_dtype)fe_site_int(c, "softmax_precision",
                                             t == FE_F64 ? FE_F64 : FE_F32);
  if (precision != FE_F16 && precision != FE_BF16 && precision != FE_F32 &&
      precision != FE_F64)
    return fe_error(ir->diags, c->where, NULL,
                    "softmax_precision must be a float type");
  const fe_bound_attr *scale = fe_site_attr(c, "scale");
  double by = scale ? scale->attr->f : 1 / sqrt((double)size);
  MlirValue q = grouped ? with_heads(ir, c->in[0], kv_heads) : c->in[0];
  const int64_t swapped[4] = {0, 1, 3, 2};
  MlirNamedAttribute perm = fe_at_i64s(ir, "perm", 4, swapped);
  MlirValue k = fe_first(fe_onnx(ir, "transpose", 1, &c->in[1], 1, 1, &perm));
  MlirValue v = cast(ir, fe_onnx1(ir, "MatMul", q, k), precision);
  v = fe_onnx1(ir, "Mul", v, fe_constant_scalar(ir, precision, by));
  v = grouped ? with_heads(ir, v, heads) : v;
  if (fe_is_null(v) || modify(c, "score_mod", &v) != FE_OK)
    return FE_FAILED;
  MlirNamedAttribute axis = fe_at_i64(ir, "axis", -1);
  v = fe_first(fe_onnx(ir, "softmax", 1, &v, 1, 1, &axis));
  if (fe_is_null(v) || modify(c, "prob_mod", &v) != FE_OK)
    return FE_FAILED;
  v = cast(ir, grouped ? with_heads(ir, v, kv_heads) : v, t);
  v = fe_onnx1(ir, "MatMul", v, c->in[2]);
  c->out[0] = grouped ? with_heads(ir, v, heads) : v;
  return fe_is_null(c->out[0]) ? FE_FAILED : FE_OK;
}
