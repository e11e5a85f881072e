//===- batch_normalization.c - BatchNormalization ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = x * a + b with a = scale / sqrt(variance + epsilon), b = bias - mean * a
// computed once per channel. In training mode mean and variance are those of
// the batch, and the running ones are results; before opset 14 those of the
// batch, too; y = (x - mean) * a + bias, as the variance may be 0 and a large.
// Parameters may be of another float type than the data; computed in f64 if any
// of them is, else in f32.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

/// Before opset 14 training was meant by is_test = 0 (until 6) or by asking for
/// more than one output, and inference was what models were exported for.
static fe_status upgrade(fe_node *n) {
  fe_where where = n->where;
  where.op = n->row->name;
  if (n->opset < 7)
    fe_node_attr_remove(n, "is_test");
  if (n->opset < 14 && n->n_out > 1)
    fe_node_set_int(n, "training_mode", 1);
  if (n->opset >= 14 && n->n_out > 3)
    return fe_error(n->ir->diags, where, NULL,
                    "from opset 14 on there are three outputs");
  return FE_OK;
}

/// spatial = 0 of opsets below 9: parameters for every element of the image.
static fe_status expand(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_node_attr *spatial = fe_node_attr_find(n, "spatial");
  fe_node_attr *epsilon = fe_node_attr_find(n, "epsilon");
  bool by_element = spatial && !spatial->i && n->in.n == 5;
  fe_node_attr_remove(n, "spatial");
  if (!by_element)
    return FE_OK;
  MlirValue *in = n->in.at;
  fe_dtype t = fe_dtype_of_elem(fe_elem_of(in[0]));
  MlirValue e = fe_constant_scalar(ir, t, epsilon ? epsilon->f : 1e-5);
  MlirValue deviation = fe_onnx1(ir, "Sqrt", fe_onnx1(ir, "Add", in[4], e));
  MlirValue v = fe_onnx1(ir, "Sub", in[0], in[3]);
  v = fe_onnx1(ir, "Mul", fe_onnx1(ir, "Div", v, deviation), in[1]);
  results[0] = fe_onnx1(ir, "Add", v, in[2]);
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

static fe_status infer(fe_infer *f) {
  fe_dims x, p;
  if (fe_in_dims(f, 0, &x))
    return FE_FAILED;
  MlirAffineExpr channels = x.rank < 2 ? fe_dim_const(f->ir, 1) : x.d[1];
  int64_t n = fe_dim_static(channels);
  for (unsigned i = 1; i < 5; ++i) {
    if (fe_in_dims(f, i, &p))
      return FE_FAILED;
    int64_t size = p.rank == 1 ? fe_dim_static(p.d[0]) : -1;
    if (size == -1 || (size != FE_DYN && n != FE_DYN && size != n))
      return fe_infer_error(f, NULL,
                            "operand %u must have one dimension of the number "
                            "of channels",
                            i);
    if (n == FE_DYN && size != FE_DYN)
      channels = p.d[0];
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  fe_dims list = {.rank = 1, .d = {channels}};
  for (unsigned i = 1; i < 5; ++i)
    fe_out_tensor(f, i, fe_in_dtype(f, 3), &list);
  return FE_OK;
}

typedef struct norm {
  fe_lower *l;
  fe_ir *ir;
  unsigned rank;
  fe_dtype type; // computed in
  MlirValue sizes[FE_MAX_RANK], channels;
  MlirAffineMap image, list, by_channel; // of the image's space; of channels
} norm;

static MlirValue converted(norm *m, MlirValue v) {
  return fe_convert(m->ir, v, fe_compute_type(m->ir, m->type), false, false);
}

/// Sum over everything but the channels of x, or of (x - mean)^2.
static MlirValue channel_sum(norm *m, MlirValue mean) {
  fe_lower *l = m->l;
  fe_ir *ir = m->ir;
  bool squares = !fe_is_null(mean);
  MlirValue in[2] = {l->in[0], mean};
  fe_dtype types[2] = {l->in_type[0], m->type};
  MlirAffineMap maps[2] = {m->image, m->by_channel};
  fe_generic *g =
      fe_generic_begin(l, m->rank, m->sizes, 1 + squares, in, types, maps);
  MlirValue v = converted(m, fe_arg(g, 0));
  if (squares) {
    v = fe_sub(ir, v, fe_arg(g, 1));
    v = fe_mul(ir, v, v);
  }
  uint32_t reduced = ((1u << m->rank) - 1) & (m->rank < 2 ? ~0u : ~2u);
  fe_generic_reduce(g, reduced, m->rank < 2, m->type,
                    fe_float(ir, fe_compute_type(ir, m->type), 0));
  return fe_generic_end(g, m->type, fe_add(ir, fe_acc(g), v));
}

/// sum / n for each channel.
static MlirValue channel_mean(norm *m, MlirValue sum, MlirValue n) {
  fe_ir *ir = m->ir;
  fe_generic *g =
      fe_generic_begin(m->l, 1, &m->channels, 1, &sum, &m->type, &m->list);
  MlirValue count =
      fe_convert(ir, n, fe_compute_type(ir, m->type), false, false);
  return fe_generic_end(g, m->type, fe_div(ir, fe_arg(g, 0), count));
}

/// running * momentum + current * (1 - momentum)
static MlirValue running(norm *m, unsigned operand, MlirValue current) {
  fe_lower *l = m->l;
  fe_ir *ir = m->ir;
  MlirType t = fe_compute_type(ir, m->type);
  double momentum = fe_attr_f64(l->op, "momentum", 0.9);
  MlirValue in[2] = {l->in[operand], current};
  fe_dtype types[2] = {l->in_type[operand], m->type};
  MlirAffineMap maps[2] = {m->list, m->list};
  fe_generic *g = fe_generic_begin(l, 1, &m->channels, 2, in, types, maps);
  MlirValue old =
      fe_mul(ir, converted(m, fe_arg(g, 0)), fe_float(ir, t, momentum));
  MlirValue now = fe_mul(ir, fe_arg(g, 1), fe_float(ir, t, 1 - momentum));
  MlirValue v = fe_add(ir, old, now);
  v = fe_convert(ir, v, fe_compute_type(ir, l->in_type[operand]), false, false);
  return fe_generic_end(g, l->in_type[operand], v);
}

/// a of the header, or b (`offset`).
static MlirValue factor(norm *m, MlirValue mean, fe_dtype mean_type,
                        MlirValue variance, fe_dtype variance_type,
                        bool offset) {
  fe_lower *l = m->l;
  fe_ir *ir = m->ir;
  MlirType t = fe_compute_type(ir, m->type);
  MlirValue in[4] = {l->in[1], variance, l->in[2], mean};
  fe_dtype types[4] = {l->in_type[1], variance_type, l->in_type[2], mean_type};
  MlirAffineMap maps[4] = {m->list, m->list, m->list, m->list};
  fe_generic *g =
      fe_generic_begin(l, 1, &m->channels, offset ? 4 : 2, in, types, maps);
  MlirValue v = converted(m, fe_arg(g, 1));
  v = fe_add(ir, v, fe_float(ir, t, fe_attr_f64(l->op, "epsilon", 1e-5)));
  MlirValue a = fe_div(ir, converted(m, fe_arg(g, 0)), fe_math(ir, "sqrt", v));
  if (offset) {
    MlirValue moved = fe_mul(ir, converted(m, fe_arg(g, 3)), a);
    a = fe_sub(ir, converted(m, fe_arg(g, 2)), moved);
  }
  return fe_generic_end(g, m->type, a);
}

static fe_status lower(fe_lower *l) {
  fe_ir *ir = l->ir;
  MlirValue x = l->in[0], one = fe_index(ir, 1);
  norm m = {.l = l, .ir = ir, .rank = fe_rank(x), .type = FE_F32};
  for (unsigned i = 0; i < 5; ++i)
    if (l->in_type[i] == FE_F64)
      m.type = FE_F64;
  for (unsigned i = 0; i < m.rank; ++i)
    m.sizes[i] = fe_size(l, x, i);
  m.channels = m.rank < 2 ? one : m.sizes[1];
  for (unsigned i = 1; i < 5; ++i)
    if (fe_static_dim(l->in[i], 0) == FE_DYN ||
        (m.rank > 1 && fe_static_dim(x, 1) == FE_DYN))
      fe_check(l, fe_cmp(ir, FE_EQ, fe_size(l, l->in[i], 0), m.channels),
               "a parameter does not have one number per channel");
  MlirAffineExpr channel = m.rank < 2 ? mlirAffineConstantExprGet(ir->ctx, 0)
                                      : mlirAffineDimExprGet(ir->ctx, 1);
  m.image = mlirAffineMapMultiDimIdentityGet(ir->ctx, m.rank);
  m.by_channel = mlirAffineMapGet(ir->ctx, m.rank, 0, 1, &channel);
  m.list = mlirAffineMapMultiDimIdentityGet(ir->ctx, 1);
  MlirValue mean = l->in[3], variance = l->in[4];
  fe_dtype mean_type = l->in_type[3], variance_type = l->in_type[4];
  bool training = fe_attr_i64(l->op, "training_mode", 0);
  if (training) {
    MlirValue n = one;
    for (unsigned i = 0; i < m.rank; ++i)
      if (i != 1)
        n = fe_mul(ir, n, m.sizes[i]);
    mean = channel_mean(&m, channel_sum(&m, (MlirValue){0}), n);
    variance = channel_mean(&m, channel_sum(&m, mean), n);
    mean_type = variance_type = m.type;
    if (fe_n_uses(fe_result(l->op, 1)))
      l->out[1] = running(&m, 3, mean);
    if (fe_n_uses(fe_result(l->op, 2)))
      l->out[2] = running(&m, 4, variance);
    if (fe_n_uses(fe_result(l->op, 3)))
      l->out[3] = fe_to_type(l, mean, m.type, l->in_type[3]);
    if (fe_n_uses(fe_result(l->op, 4)))
      l->out[4] = fe_to_type(l, variance, m.type, l->in_type[3]);
  } else {
    for (unsigned i = 1; i < 5; ++i)
      l->out[i] = l->in[3 + (i + 1) % 2];
  }
  MlirValue a = factor(&m, mean, mean_type, variance, variance_type, false);
  MlirValue in[4] = {x, a, l->in[2], mean};
  fe_dtype types[4] = {l->in_type[0], m.type, l->in_type[2], mean_type};
  MlirAffineMap maps[4] = {m.image, m.by_channel, m.by_channel, m.by_channel};
  if (!training) {
    in[2] = factor(&m, mean, mean_type, variance, variance_type, true);
    types[2] = m.type;
  }
  fe_generic *g =
      fe_generic_begin(l, m.rank, m.sizes, 3 + training, in, types, maps);
  MlirValue v = converted(&m, fe_arg(g, 0));
  if (training)
    v = fe_sub(ir, v, fe_arg(g, 3));
  v = fe_mul(ir, v, fe_arg(g, 1));
  v = fe_add(ir, v, converted(&m, fe_arg(g, 2)));
  v = fe_convert(ir, v, fe_compute_type(ir, types[0]), false, false);
  l->out[0] = fe_generic_end(g, types[0], v);
  return FE_OK;
}

static const fe_attr_def attrs[] = {{"epsilon", FE_A_FLOAT, "1e-5"},
                                    {"momentum", FE_A_FLOAT, "0.9"},
                                    {"training_mode", FE_A_INT, "0"},
                                    {"spatial", FE_A_INT, "1"},
                                    {0}};

const fe_op_row fe_family_batch_normalization[] = {
    {.name = "BatchNormalization",
     .since = 1,
     .inputs = "X:T, scale:T1, B:T1, input_mean:T2, input_var:T2",
     .outputs = "Y:T, running_mean?:T2, running_var?:T2, saved_mean?:T2, "
                "saved_var?:T2",
     .types = "T=float;T1=float;T2=float",
     .attrs = attrs,
     .flags = FE_FUNCTION,
     .upgrade = upgrade,
     .expand = expand,
     .infer = infer,
     .lower = lower},
    {0}};
