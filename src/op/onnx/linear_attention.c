//===- linear_attention.c - LinearAttention, CausalConvWithState -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method of the attention: the recurrence over the tokens as the standard has
// it, in float32. Heads of keys are independent, so they are the parallel
// extent; all inner loops run along the values, which are contiguous.
//
// The convolution adds, tap by tap, the row that is shifted by the tap: first
// the part that lies in the carried state, then the one in the input.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/sliding.h"

#include <string.h>

static bool has(unsigned n_in, const MlirValue *in, unsigned i) {
  return i < n_in && !fe_is_null(in[i]);
}

//===-- LinearAttention -----------------------------------------------------//

enum { QUERY, KEY, VALUE, PAST, DECAY, BETA };

typedef struct rule {
  bool gated, delta;
  int64_t q_heads, kv_heads;
} rule;

static fe_status read_rule(fe_ir *ir, fe_where where, MlirOperation op,
                           unsigned n_in, const MlirValue *in, rule *r) {
  static const char *const names[] = {"linear", "gated", "delta",
                                      "gated_delta"};
  const char *name = fe_attr_str(ir->arena, op, "update_rule", "gated_delta");
  unsigned i = 0;
  while (i < 4 && strcmp(names[i], name))
    ++i;
  if (i == 4)
    return fe_error(ir->diags, where, NULL, "update_rule cannot be '%s'", name);
  r->gated = i & 1;
  r->delta = i & 2;
  r->q_heads = fe_attr_i64(op, "q_num_heads", 0);
  r->kv_heads = fe_attr_i64(op, "kv_num_heads", 0);
  if (r->kv_heads < 1 || r->q_heads < 1 || r->q_heads % r->kv_heads)
    return fe_error(ir->diags, where, NULL,
                    "q_num_heads must be a positive multiple of kv_num_heads");
  if (r->gated != has(n_in, in, DECAY) || r->delta != has(n_in, in, BETA))
    return fe_error(ir->diags, where, NULL, "update rule '%s' needs %s and %s",
                    name, r->gated ? "decay" : "no decay",
                    r->delta ? "beta" : "no beta");
  return FE_OK;
}

static fe_status infer_attention(fe_infer *f) {
  fe_ir *ir = f->ir;
  fe_dims q, k, v;
  rule r;
  if (fe_in_dims(f, QUERY, &q) || fe_in_dims(f, KEY, &k) ||
      fe_in_dims(f, VALUE, &v) ||
      read_rule(ir, f->where, f->attrs, f->n_in, f->in, &r))
    return FE_FAILED;
  if (q.rank != 3 || k.rank != 3 || v.rank != 3)
    return fe_infer_error(f, NULL, "query, key and value must have rank 3");
  const struct {
    MlirAffineExpr dim;
    int64_t heads;
  } packed[] = {
      {q.d[2], r.q_heads}, {k.d[2], r.kv_heads}, {v.d[2], r.kv_heads}};
  for (unsigned i = 0; i < 3; ++i) {
    int64_t n = fe_dim_static(packed[i].dim);
    if (n != FE_DYN && n % packed[i].heads)
      return fe_infer_error(f, NULL,
                            "the last dimension of %s is no multiple of the "
                            "number of heads",
                            i == 0   ? "query"
                            : i == 1 ? "key"
                                     : "value");
  }
  MlirAffineExpr heads = fe_dim_const(ir, r.kv_heads);
  fe_dims state = {.rank = 4};
  state.d[0] = q.d[0];
  state.d[1] = heads;
  state.d[2] = fe_dim_floordiv(k.d[2], heads);
  state.d[3] = fe_dim_floordiv(v.d[2], heads);
  q.d[2] = fe_dim_mul(state.d[3], fe_dim_const(ir, r.q_heads));
  fe_dtype t = fe_in_dtype(f, 0);
  fe_out_tensor(f, 0, t, &q);
  fe_out_tensor(f, 1, has(f->n_in, f->in, PAST) ? fe_in_dtype(f, PAST) : t,
                &state);
  return FE_OK;
}

/// Number of elements per head, checked.
static MlirValue per_head(fe_lower *l, unsigned operand, int64_t heads) {
  fe_ir *ir = l->ir;
  MlirValue n = fe_size(l, l->in[operand], 2), by = fe_index(ir, heads);
  int64_t known;
  if (!fe_size_known(n, &known))
    fe_check_equal(l, fe_remu(ir, n, by), fe_index(ir, 0),
                   "a dimension is no multiple of the number of heads");
  return fe_divu(ir, n, by);
}

/// exp(decay) times row d of the state.
static void decay_row(fe_kernel *k, MlirValue decay, fe_dtype t,
                      const MlirValue *token, MlirValue channel,
                      MlirValue *state_at, MlirValue width) {
  fe_ir *ir = k->l->ir;
  MlirValue at[3] = {token[0], token[1], channel};
  MlirValue g =
      fe_convert(ir, fe_get(k, decay, t, 3, at), ir->f32, false, false);
  g = fe_math(ir, "exp", g);
  fe_region m = fe_loop(ir, width);
  state_at[3] = m.iv;
  fe_store(ir, fe_mul(ir, fe_load(ir, k->out[1], 4, state_at), g), k->out[1], 4,
           state_at);
  fe_loop_end(ir, &m);
}

/// Adds factor * (row d of the state) to dest[at], or, with `into_state`, the
/// other way round.
static void multiply_add(fe_kernel *k, MlirValue factor, MlirValue row,
                         unsigned row_rank, MlirValue *row_at,
                         MlirValue *state_at, MlirValue width, MlirValue offset,
                         bool into_state) {
  fe_ir *ir = k->l->ir;
  fe_region m = fe_loop(ir, width);
  state_at[3] = m.iv;
  row_at[row_rank - 1] = fe_is_null(offset) ? m.iv : fe_add(ir, offset, m.iv);
  MlirValue a = fe_load(ir, k->out[1], 4, state_at);
  MlirValue b = fe_load(ir, row, row_rank, row_at);
  MlirValue from = into_state ? b : a, to = into_state ? a : b;
  MlirValue sum = fe_add(ir, to, fe_mul(ir, factor, from));
  if (into_state)
    fe_store(ir, sum, k->out[1], 4, state_at);
  else
    fe_store(ir, sum, row, row_rank, row_at);
  fe_loop_end(ir, &m);
}

/// Element of a packed operand as f32.
static MlirValue packed(fe_kernel *k, unsigned operand, const MlirValue *token,
                        MlirValue channel) {
  fe_ir *ir = k->l->ir;
  MlirValue at[3] = {token[0], token[1], channel};
  MlirValue v = fe_get(k, k->in[operand], k->l->in_type[operand], 3, at);
  return fe_convert(ir, v, ir->f32, false, false);
}

static fe_status lower_attention(fe_lower *l) {
  fe_ir *ir = l->ir;
  rule r;
  if (read_rule(ir, l->where, l->op, l->n_in, l->in, &r))
    return FE_FAILED;
  MlirValue batch = fe_size(l, l->in[QUERY], 0);
  MlirValue tokens = fe_size(l, l->in[QUERY], 1);
  MlirValue d_k = per_head(l, KEY, r.kv_heads);
  MlirValue d_v = per_head(l, VALUE, r.kv_heads);
  MlirValue heads = fe_index(ir, r.kv_heads);
  const char *misfit = "the inputs do not fit together";
  fe_check_equal(l, per_head(l, QUERY, r.q_heads), d_k, misfit);
  for (unsigned i = KEY; i <= BETA; ++i) {
    if (!has(l->n_in, l->in, i))
      continue;
    fe_check_dims(l, QUERY, 0, i, 0, misfit);
    if (i != PAST)
      fe_check_dims(l, QUERY, 1, i, 1, misfit);
  }
  MlirValue state_sizes[4] = {batch, heads, d_k, d_v};
  bool has_past = has(l->n_in, l->in, PAST);
  for (unsigned i = 1; i < 4 && has_past; ++i)
    fe_check_equal(l, fe_size(l, l->in[PAST], i), state_sizes[i], misfit);
  // One factor per head, or one per head and key; one for all or per head.
  MlirValue one = fe_index(ir, 1), zero = fe_index(ir, 0);
  MlirValue by_key = {0}, by_head = {0};
  if (r.gated) {
    MlirValue n = fe_size(l, l->in[DECAY], 2);
    by_key = fe_cmp(ir, FE_NE, n, heads);
    fe_check(l,
             fe_or(ir, fe_cmp(ir, FE_EQ, n, heads),
                   fe_cmp(ir, FE_EQ, n, fe_mul(ir, heads, d_k))),
             misfit);
    by_key = fe_select(ir, by_key, one, zero);
  }
  if (r.delta) {
    MlirValue n = fe_size(l, l->in[BETA], 2);
    MlirValue all = fe_cmp(ir, FE_EQ, n, one);
    fe_check(l, fe_or(ir, all, fe_cmp(ir, FE_EQ, n, heads)), misfit);
    by_head = fe_select(ir, all, zero, one);
  }
  double scale = fe_attr_f64(l->op, "scale", 0);
  MlirValue scalars[5] = {d_k, d_v, r.gated ? by_key : zero,
                          r.delta ? by_head : zero, heads};
  MlirValue in[6];
  unsigned place[6] = {0}, n_in = 0;
  for (unsigned i = QUERY; i <= BETA; ++i)
    if (has(l->n_in, l->in, i)) {
      place[i] = n_in;
      in[n_in++] = l->in[i];
    }
  MlirValue out_sizes[3] = {batch, tokens,
                            fe_mul(ir, d_v, fe_index(ir, r.q_heads))};
  fe_out_sizes(l, 0, out_sizes);
  MlirValue row_sizes[3] = {batch, heads, d_v};
  MlirValue out[3] = {fe_tensor_empty(l, FE_F32, 3, out_sizes),
                      fe_tensor_empty(l, FE_F32, 4, state_sizes),
                      fe_tensor_empty(l, FE_F32, 3, row_sizes)};
  fe_kernel k;
  fe_kernel_begin(&k, l, "linear_attention", n_in, in, 3, out, 5, scalars);
  // `packed` finds operands by their number.
  MlirValue *inputs = FE_NEW_N(ir->arena, MlirValue, 6);
  for (unsigned i = QUERY; i <= BETA; ++i)
    if (has(l->n_in, l->in, i))
      inputs[i] = k.in[place[i]];
  fe_kernel view = k;
  view.in = inputs;
  one = fe_index(ir, 1);
  d_k = k.scalar[0];
  d_v = k.scalar[1];
  MlirValue none = fe_float(ir, ir->f32, 0), factor;
  if (scale != 0) {
    factor = fe_float(ir, ir->f32, scale);
  } else {
    MlirValue n = fe_convert(ir, d_k, ir->i64, false, false);
    n = fe_convert(ir, n, ir->f32, false, false);
    factor = fe_div(ir, fe_float(ir, ir->f32, 1), fe_math(ir, "sqrt", n));
  }
  MlirValue dims[2] = {fe_dim(ir, k.out[2], 0), fe_dim(ir, k.out[2], 1)};
  MlirValue at[4], token[2], row_at[3];
  fe_region each = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_unravel(ir, each.iv, 2, dims, at);
  MlirValue head = at[1];
  token[0] = row_at[0] = at[0];
  row_at[1] = head;
  fe_region d = fe_loop(ir, d_k);
  fe_region m = fe_loop(ir, d_v);
  at[2] = d.iv;
  at[3] = m.iv;
  MlirValue start = none;
  if (has_past)
    start = fe_convert(ir, fe_get(&view, inputs[PAST], l->in_type[PAST], 4, at),
                       ir->f32, false, false);
  fe_store(ir, start, k.out[1], 4, at);
  fe_loop_end(ir, &m);
  fe_loop_end(ir, &d);
  fe_region time = fe_loop(ir, fe_dim(ir, k.in[0], 1));
  token[1] = time.iv;
  MlirValue first_key = fe_mul(ir, head, d_k);
  MlirValue first_value = fe_mul(ir, head, d_v);
  if (r.gated) {
    d = fe_loop(ir, d_k);
    at[2] = d.iv;
    MlirValue keyed = fe_cmp(ir, FE_NE, k.scalar[2], fe_index(ir, 0));
    MlirValue channel = fe_select(ir, keyed, fe_add(ir, first_key, d.iv), head);
    decay_row(&view, inputs[DECAY], l->in_type[DECAY], token, channel, at, d_v);
    fe_loop_end(ir, &d);
  }
  // What is written: the value, or what of it the state does not give yet.
  if (r.delta) {
    m = fe_loop(ir, d_v);
    row_at[2] = m.iv;
    fe_store(ir, none, k.out[2], 3, row_at);
    fe_loop_end(ir, &m);
    d = fe_loop(ir, d_k);
    at[2] = d.iv;
    MlirValue key = packed(&view, KEY, token, fe_add(ir, first_key, d.iv));
    multiply_add(&k, key, k.out[2], 3, row_at, at, d_v, (MlirValue){0}, false);
    fe_loop_end(ir, &d);
  }
  m = fe_loop(ir, d_v);
  row_at[2] = m.iv;
  MlirValue v = packed(&view, VALUE, token, fe_add(ir, first_value, m.iv));
  if (r.delta) {
    MlirValue beta = packed(&view, BETA, token, fe_mul(ir, head, k.scalar[3]));
    v = fe_mul(ir, beta, fe_sub(ir, v, fe_load(ir, k.out[2], 3, row_at)));
  }
  fe_store(ir, v, k.out[2], 3, row_at);
  fe_loop_end(ir, &m);
  d = fe_loop(ir, d_k);
  at[2] = d.iv;
  MlirValue key = packed(&view, KEY, token, fe_add(ir, first_key, d.iv));
  multiply_add(&k, key, k.out[2], 3, row_at, at, d_v, (MlirValue){0}, true);
  fe_loop_end(ir, &d);
  // Every query head of the group reads the state.
  MlirValue group = fe_index(ir, r.q_heads / r.kv_heads);
  fe_region q = fe_loop(ir, group);
  MlirValue q_head = fe_add(ir, fe_mul(ir, head, group), q.iv);
  MlirValue offset = fe_mul(ir, q_head, d_v);
  MlirValue to[3] = {token[0], token[1], {0}};
  m = fe_loop(ir, d_v);
  to[2] = fe_add(ir, offset, m.iv);
  fe_store(ir, none, k.out[0], 3, to);
  fe_loop_end(ir, &m);
  d = fe_loop(ir, d_k);
  at[2] = d.iv;
  MlirValue channel = fe_add(ir, fe_mul(ir, q_head, d_k), d.iv);
  MlirValue query = fe_mul(ir, packed(&view, QUERY, token, channel), factor);
  multiply_add(&k, query, k.out[0], 3, to, at, d_v, offset, false);
  fe_loop_end(ir, &d);
  fe_loop_end(ir, &q);
  fe_loop_end(ir, &time);
  fe_loop_end(ir, &each);
  MlirAffineExpr cost =
      fe_dim_mul(fe_kernel_dim(&k, 0, 1),
                 fe_dim_mul(fe_kernel_scalar(&k, 0), fe_kernel_scalar(&k, 1)));
  fe_kernel_end(&k,
                fe_dim_mul(fe_kernel_dim(&k, n_in + 2, 0),
                           fe_kernel_dim(&k, n_in + 2, 1)),
                cost);
  l->out[0] = fe_to_type(l, k.result[0], FE_F32, l->out_type[0]);
  l->out[1] = fe_to_type(l, k.result[1], FE_F32, l->out_type[1]);
  return FE_OK;
}

//===-- CausalConvWithState -------------------------------------------------//

enum { X, WEIGHT, BIAS, STATE };

static fe_status infer_conv(fe_infer *f) {
  fe_dims x, w, b;
  if (fe_in_dims(f, X, &x) || fe_in_dims(f, WEIGHT, &w) ||
      (has(f->n_in, f->in, BIAS) && fe_in_dims(f, BIAS, &b)))
    return FE_FAILED;
  if (x.rank != 3 || w.rank != 3 || (has(f->n_in, f->in, BIAS) && b.rank != 1))
    return fe_infer_error(f, NULL,
                          "input and weight must have rank 3, the bias rank 1");
  if (fe_dim_static(w.d[2]) == 0)
    return fe_infer_error(f, NULL, "the kernel has no elements");
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  x.d[2] = fe_dim_add(w.d[2], fe_dim_const(f->ir, -1));
  fe_out_tensor(f, 1, fe_in_dtype(f, 0), &x);
  return FE_OK;
}

static fe_status lower_conv(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype t = l->in_type[X];
  const char *name = fe_attr_str(ir->arena, l->op, "activation", "none");
  bool silu = !strcmp(name, "silu") || !strcmp(name, "swish");
  if (!silu && strcmp(name, "none"))
    return fe_lower_error(l, NULL, "activation cannot be '%s'", name);
  bool has_bias = has(l->n_in, l->in, BIAS);
  bool has_state = has(l->n_in, l->in, STATE);
  const char *misfit = "the inputs do not fit together";
  MlirValue one = fe_index(ir, 1), zero = fe_index(ir, 0);
  MlirValue x[3], state[3], taps = fe_size(l, l->in[WEIGHT], 2);
  fe_sizes_of(l, l->in[X], x);
  state[0] = x[0];
  state[1] = x[1];
  state[2] = fe_sub(ir, taps, one);
  fe_out_sizes(l, 1, state);
  fe_check_dims(l, X, 1, WEIGHT, 0, misfit);
  fe_check_equal(l, fe_size(l, l->in[WEIGHT], 1), one, misfit);
  if (fe_static_dim(l->in[WEIGHT], 2) == FE_DYN)
    fe_check(l, fe_cmp(ir, FE_GE, taps, one), "the kernel has no elements");
  if (has_bias)
    fe_check_dims(l, X, 1, BIAS, 0, misfit);
  for (unsigned i = 0; i < 3 && has_state; ++i)
    fe_check_equal(l, fe_size(l, l->in[STATE], i), state[i], misfit);
  MlirValue in[4] = {l->in[X], l->in[WEIGHT]}, bias = {0}, past = {0};
  unsigned n_in = 2;
  if (has_bias)
    in[n_in++] = l->in[BIAS];
  if (has_state)
    in[n_in++] = l->in[STATE];
  MlirValue out[2] = {fe_tensor_empty(l, FE_F32, 3, x),
                      fe_tensor_empty(l, t, 3, state)};
  fe_kernel k;
  fe_kernel_begin(&k, l, "causal_conv", n_in, in, 2, out, 0, NULL);
  bias = has_bias ? k.in[2] : bias;
  past = has_state ? k.in[n_in - 1] : past;
  one = fe_index(ir, 1);
  zero = fe_index(ir, 0);
  MlirValue dims[2] = {fe_dim(ir, k.in[X], 0), fe_dim(ir, k.in[X], 1)};
  MlirValue length = fe_dim(ir, k.in[X], 2), carried = fe_dim(ir, k.out[1], 2);
  MlirValue at[3], from[3];
  fe_region each = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_unravel(ir, each.iv, 2, dims, at);
  memcpy(from, at, sizeof from);
  MlirValue start = fe_float(ir, ir->f32, 0);
  if (has_bias)
    start =
        fe_convert(ir, fe_get(&k, bias, t, 1, &at[1]), ir->f32, false, false);
  fe_region clear = fe_loop(ir, length);
  at[2] = clear.iv;
  fe_store(ir, start, k.out[0], 3, at);
  fe_loop_end(ir, &clear);
  fe_region tap = fe_loop(ir, fe_dim(ir, k.in[WEIGHT], 2));
  MlirValue w_at[3] = {at[1], zero, tap.iv};
  MlirValue w = fe_convert(ir, fe_get(&k, k.in[WEIGHT], t, 3, w_at), ir->f32,
                           false, false);
  // Element i of the result takes element i + tap of state and input.
  MlirValue before = fe_sub(ir, carried, tap.iv);
  MlirValue split = fe_min(ir, before, length);
  const MlirValue bounds[3] = {zero, split, length};
  for (unsigned part = has_state ? 0 : 1; part < 2; ++part) {
    fe_region i =
        fe_for_begin(ir, bounds[part], bounds[part + 1], one, 0, NULL);
    at[2] = i.iv;
    from[2] = part ? fe_sub(ir, i.iv, before) : fe_add(ir, i.iv, tap.iv);
    MlirValue v = fe_convert(ir, fe_get(&k, part ? k.in[X] : past, t, 3, from),
                             ir->f32, false, false);
    fe_store(ir, fe_add(ir, fe_load(ir, k.out[0], 3, at), fe_mul(ir, w, v)),
             k.out[0], 3, at);
    fe_loop_end(ir, &i);
  }
  fe_loop_end(ir, &tap);
  if (silu) {
    fe_region i = fe_loop(ir, length);
    at[2] = i.iv;
    MlirValue v = fe_load(ir, k.out[0], 3, at), full = fe_float(ir, ir->f32, 1);
    MlirValue e = fe_math(ir, "exp", fe_neg(ir, v));
    fe_store(ir, fe_div(ir, v, fe_add(ir, full, e)), k.out[0], 3, at);
    fe_loop_end(ir, &i);
  }
  // The last elements of state and input are the new state.
  fe_region rest = fe_loop(ir, carried);
  at[2] = rest.iv;
  MlirValue source = fe_sub(ir, fe_add(ir, length, rest.iv), carried);
  MlirValue inside = fe_cmp(ir, FE_GE, source, zero);
  MlirType elem = fe_storage_type(ir, t);
  fe_region which = fe_if_begin(ir, inside, 1, &elem, true);
  from[2] = source;
  MlirValue v = fe_load(ir, k.in[X], 3, from);
  fe_if_else(ir, &which, 1, &v);
  if (has_state) {
    from[2] = fe_add(ir, length, rest.iv);
    v = fe_load(ir, past, 3, from);
  } else {
    v = fe_number(ir, elem, 0);
  }
  fe_if_end(ir, &which, 1, &v);
  fe_store(ir, fe_result(which.op, 0), k.out[1], 3, at);
  fe_loop_end(ir, &rest);
  fe_loop_end(ir, &each);
  fe_kernel_end(&k,
                fe_dim_mul(fe_kernel_dim(&k, 0, 0), fe_kernel_dim(&k, 0, 1)),
                fe_dim_mul(fe_kernel_dim(&k, 0, 2), fe_kernel_dim(&k, 1, 2)));
  l->out[0] = fe_to_type(l, k.result[0], FE_F32, t);
  l->out[1] = k.result[1];
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def attention_attrs[] = {
    {"chunk_size", FE_A_INT, "64"},
    {"kv_num_heads", FE_A_INT, NULL},
    {"q_num_heads", FE_A_INT, NULL},
    {"scale", FE_A_FLOAT, "0"},
    {"update_rule", FE_A_STRING, "gated_delta|linear|gated|delta"},
    {0}};
static const fe_attr_def conv_attrs[] = {
    {"activation", FE_A_STRING, "none|silu|swish"}, {0}};

const fe_op_row fe_family_linear_attention[] = {
    {.name = "LinearAttention",
     .since = 27,
     .inputs = "query:T, key:T, value:T, past_state?:S, decay?:T, beta?:T",
     .outputs = "output:T, present_state:S",
     .types = "T=f16,bf16,f32;S=f16,bf16,f32",
     .attrs = attention_attrs,
     .infer = infer_attention,
     .lower = lower_attention},
    {.name = "CausalConvWithState",
     .since = 27,
     .inputs = "input:T, weight:T, bias?:T, past_state?:T",
     .outputs = "output:T, present_state:T",
     .types = "T=f16,bf16,f32",
     .attrs = conv_attrs,
     .infer = infer_conv,
     .lower = lower_conv},
    {0}};
