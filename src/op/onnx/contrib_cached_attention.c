//===- contrib_cached_attention.c - attention over caches --------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What GroupQueryAttention and its kin become: new queries over keys and values
// that lie in a cache, [batch][heads][at least as many as valid][size]. How
// many keys a query sees is known to the run, for each sequence: no mask is
// written out for it, and nothing behind is read.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <math.h>

enum { Q, K, V, FRONTIERS, BIAS, SINKS };

static MlirValue operand(const fe_lower *l, unsigned i) {
  return i < l->n_in ? l->in[i] : (MlirValue){0};
}

static fe_status infer_cached(fe_infer *f) {
  fe_dims q, k, v;
  if (fe_in_dims(f, Q, &q) || fe_in_dims(f, K, &k) || fe_in_dims(f, V, &v))
    return FE_FAILED;
  int64_t heads = fe_attr_i64(f->attrs, "num_heads", 0);
  if (q.rank != 3 || k.rank != 4 || v.rank != 4 || heads <= 0)
    return fe_infer_error(f, NULL,
                          "the query must have rank 3, the caches rank 4");
  int64_t wide = fe_dim_static(q.d[2]), size = fe_dim_static(k.d[3]);
  int64_t kv_heads = fe_dim_static(k.d[1]);
  if (wide == FE_DYN || size == FE_DYN || kv_heads <= 0 || heads % kv_heads ||
      fe_dim_static(v.d[3]) == FE_DYN)
    return fe_infer_error(f, NULL, "sizes and numbers of heads must be known");
  if (wide != heads * size)
    return fe_infer_error(f, NULL, "the heads do not fit into the query");
  fe_dims y = q;
  y.d[2] = fe_dim_mul(fe_dim_const(f->ir, heads), v.d[3]);
  fe_out_tensor(f, 0, fe_in_dtype(f, Q), &y);
  return FE_OK;
}

/// Dims of the bias are 1 or those of the scores; it may end before the cache.
static void check_bias(fe_lower *l, const MlirValue want[3]) {
  fe_ir *ir = l->ir;
  MlirValue bias = l->in[BIAS];
  unsigned rank = fe_rank(bias);
  for (unsigned i = 0; i + 1 < rank; ++i) {
    MlirValue size = fe_size(l, bias, i), whole = want[4 - rank + i];
    if (fe_static_dim(bias, i) == 1 || fe_same(size, whole))
      continue;
    fe_check(l,
             fe_or(ir, fe_cmp(ir, FE_EQ, size, fe_index(ir, 1)),
                   fe_cmp(ir, FE_EQ, size, whole)),
             "the shape of what is added to the scores does not fit");
  }
}

static fe_status lower_cached(fe_lower *l) {
  fe_ir *ir = l->ir;
  int64_t heads = fe_attr_i64(l->op, "num_heads", 1);
  int64_t size = fe_static_dim(l->in[K], 3),
          v_size = fe_static_dim(l->in[V], 3);
  MlirValue batch = fe_size(l, l->in[Q], 0), rows = fe_size(l, l->in[Q], 1);
  MlirValue count = fe_index(ir, heads),
            q_sizes[4] = {batch, rows, count, fe_index(ir, size)};
  static const char message[] = "query and caches do not fit together";
  fe_check_equal(l, fe_size(l, l->in[K], 0), batch, message);
  fe_check_equal(l, fe_size(l, l->in[FRONTIERS], 0), batch, message);
  for (unsigned i = 0; i < 3; ++i)
    fe_check_dims(l, K, i, V, i, message);
  MlirValue bias = operand(l, BIAS), sinks = operand(l, SINKS);
  if (!fe_is_null(bias)) {
    const MlirValue want[3] = {batch, count, rows};
    check_bias(l, want);
    bias = fe_to_type(l, bias, l->in_type[BIAS], FE_F32);
  }
  if (!fe_is_null(sinks)) {
    fe_check_equal(l, fe_size(l, sinks, 0), count,
                   "there must be a sink for each head");
    sinks = fe_to_type(l, sinks, l->in_type[SINKS], FE_F32);
  }
  MlirValue q = fe_to_type(l, l->in[Q], l->in_type[Q], FE_F32);
  double scale = fe_attr_f64(l->op, "scale", 0);
  fe_attention_call c = {.q = fe_reshape(l, q, fe_elem_of(q), 4, q_sizes),
                         .k = l->in[K],
                         .v = l->in[V],
                         .frontiers = l->in[FRONTIERS],
                         .mask = bias,
                         .sinks = sinks,
                         .layouts = {"bshd", "bhsd", "bhsd", "bshd"},
                         .sizes = {batch, rows, count, fe_index(ir, v_size)},
                         .scale = scale != 0 ? scale : 1 / sqrt((double)size),
                         .softcap = fe_attr_f64(l->op, "softcap", 0),
                         .window = fe_attr_i64(l->op, "window", 0),
                         .causal = fe_attr_i64(l->op, "causal", 1) != 0};
  MlirValue y = fe_lower_attention(l, &c);
  y = fe_to_type(l, y, FE_F32, l->out_type[0]);
  MlirValue flat[3] = {batch, rows, fe_index(ir, heads * v_size)};
  l->out[0] = fe_reshape(l, y, fe_elem_of(y), 3, flat);
  return FE_OK;
}

static const fe_attr_def cached_attrs[] = {
    {"num_heads", FE_A_INT, NULL}, {"scale", FE_A_FLOAT, "0"},
    {"softcap", FE_A_FLOAT, "0"},  {"window", FE_A_INT, "0"},
    {"causal", FE_A_INT, "1"},     {0}};

const fe_op_row fe_family_contrib_cached_attention[] = {
    {.name = "CachedAttention",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "query:T, key:U, value:U, frontiers:I, bias?:B, sinks?:S",
     .outputs = "output:T",
     .types = "T=f32,f16,bf16;U=f32,f16,bf16;I=i64;B=f32,f16,bf16;S=f32,f16,"
              "bf16",
     .attrs = cached_attrs,
     .flags = FE_INTERNAL,
     .infer = infer_cached,
     .lower = lower_cached},
    {0}};
