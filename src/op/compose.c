//===- compose.c - nodes rewritten at import ---------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"
#include "op/signature.h"

#include <string.h>

//===-- The node ------------------------------------------------------------//

MlirValue fe_node_in(const fe_node *n, size_t i) {
  return i < n->in.n ? n->in.at[i] : (MlirValue){0};
}

int64_t fe_node_int(fe_node *n, const char *name, int64_t absent) {
  const fe_node_attr *a = fe_node_attr_find(n, name);
  return a ? a->i : absent;
}

double fe_node_float(fe_node *n, const char *name, double absent) {
  const fe_node_attr *a = fe_node_attr_find(n, name);
  return a ? a->f : absent;
}

const char *fe_node_str(fe_node *n, const char *name, const char *absent) {
  const fe_node_attr *a = fe_node_attr_find(n, name);
  return a && a->s ? a->s : absent;
}

fe_where fe_node_where(const fe_node *n) {
  fe_where where = n->where;
  where.op = n->row->name;
  return where;
}

fe_status fe_node_refuse(const fe_node *n, const char *attr,
                         const char *message) {
  fe_where where = fe_node_where(n);
  where.attr = attr;
  return fe_error(n->ir->diags, where, NULL, "%s", message);
}

fe_status fe_node_require(const fe_node *n, unsigned least) {
  fe_sig s;
  fe_sig_parse(n->row->inputs, &s);
  for (unsigned i = 0; i < least; ++i)
    if (fe_is_null(fe_node_in(n, i)))
      return fe_node_error(n, NULL, "input '%s' is missing",
                           i < s.n ? s.at[i].name : "");
  return FE_OK;
}

fe_status fe_node_dims(const fe_node *n, unsigned i, unsigned rank,
                       fe_dims *out) {
  fe_sig s;
  fe_sig_parse(n->row->inputs, &s);
  const char *name = i < s.n ? s.at[i].name : "";
  MlirValue v = fe_node_in(n, i);
  if (fe_is_null(v) || !fe_dims_of(n->ir, v, out))
    return fe_node_error(n, NULL, "input '%s' is missing", name);
  if (out->rank != rank)
    return fe_node_error(n, NULL, "input '%s' has %u dimensions, not %u", name,
                         out->rank, rank);
  return FE_OK;
}

fe_status fe_node_done(MlirValue v, MlirValue *results) {
  results[0] = v;
  return fe_is_null(v) ? FE_FAILED : FE_OK;
}

static bool knows(const fe_op_row *row, const char *attr) {
  for (const fe_attr_def *d = row->attrs; d && d->name; ++d)
    if (!strcmp(d->name, attr))
      return true;
  return false;
}

fe_status fe_node_over(fe_node *n, const char *name, unsigned n_in,
                       const MlirValue *in, unsigned n_out,
                       MlirValue *results) {
  const fe_op_row *row = fe_op_find("", name, 0);
  if (!row)
    return fe_node_error(n, NULL, "there is no operator %s", name);
  fe_node as = {.ir = n->ir, .row = row, .where = n->where, .n_out = n_out};
  as.opset = 1 << 20; // the newest form
  for (unsigned i = 0; i < n_in; ++i)
    fe_push(n->ir->arena, &as.in, in[i]);
  for (size_t i = 0; i < n->attrs.n; ++i)
    if (knows(row, n->attrs.at[i].name))
      fe_push(n->ir->arena, &as.attrs, n->attrs.at[i]);
  return fe_node_make(&as, results);
}

fe_status fe_node_as(fe_node *n, const char *name, MlirValue *results) {
  return fe_node_over(n, name, (unsigned)n->in.n, n->in.at, n->n_out, results);
}

//===-- Operators -----------------------------------------------------------//

MlirValue fe_compose(fe_ir *ir, const char *name, const fe_op_args *args) {
  for (unsigned i = 0; i < args->n_operands; ++i)
    if (fe_is_null(args->operands[i]))
      return (MlirValue){0};
  const fe_op_row *row = fe_op_find("", name, 0);
  if (row && !fe_row_has_op(row)) {
    fe_node n = {.ir = ir, .row = row, .opset = 1 << 20, .n_out = 1};
    n.where.node = fe_loc_node(ir, ir->loc);
    for (unsigned i = 0; i < args->n_operands; ++i)
      fe_push(ir->arena, &n.in, args->operands[i]);
    MlirValue v = {0};
    return fe_node_make(&n, &v) ? (MlirValue){0} : v;
  }
  return fe_first(fe_onnx(ir, name, args->n_operands, args->operands, 1,
                          args->n_attrs, args->attrs));
}

fe_dtype fe_x_type(MlirValue v) {
  return fe_is_null(v) ? FE_UNDEFINED : fe_dtype_of_elem(fe_elem_of(v));
}

MlirValue fe_x_absent(fe_ir *ir) {
  return fe_first(FE_OP(ir, "onnx.none", FE_TYPES(ir->none)));
}

MlirValue fe_x_ints(fe_ir *ir, unsigned n, const int64_t *v) {
  return fe_constant_i64s(ir, n, v);
}

MlirValue fe_x_int(fe_ir *ir, int64_t v) { return fe_constant_i64s(ir, 1, &v); }

MlirValue fe_x_cast(fe_ir *ir, MlirValue v, fe_dtype t) {
  if (fe_is_null(v) || fe_x_type(v) == t)
    return v;
  return FE_COMPOSE(ir, "Cast", FE_VALUES(v), FE_ATTRS(fe_at_i64(ir, "to", t)));
}

MlirValue fe_x_plus(fe_ir *ir, MlirValue v, MlirValue bias) {
  return fe_is_null(bias) ? v : FE_X(ir, "Add", v, bias);
}

MlirValue fe_x_slice(fe_ir *ir, MlirValue v, int64_t axis, MlirValue from,
                     MlirValue to) {
  return FE_X(ir, "Slice", v, from, to, fe_x_int(ir, axis));
}

MlirValue fe_x_part(fe_ir *ir, MlirValue v, int64_t axis, int64_t from,
                    int64_t to) {
  return fe_x_slice(ir, v, axis, fe_x_int(ir, from), fe_x_int(ir, to));
}

MlirValue fe_x_pick(fe_ir *ir, MlirValue v, int64_t axis, int64_t at) {
  return FE_X(ir, "Squeeze", fe_x_part(ir, v, axis, at, at + 1),
              fe_x_int(ir, axis));
}

MlirValue fe_x_size(fe_ir *ir, MlirValue v, unsigned i) {
  return FE_COMPOSE(ir, "Shape", FE_VALUES(v),
                    FE_ATTRS(fe_at_i64(ir, "start", i),
                             fe_at_i64(ir, "end", (int64_t)i + 1)));
}

MlirValue fe_x_reshape(fe_ir *ir, MlirValue v, unsigned n,
                       const int64_t *dims) {
  return FE_X(ir, "Reshape", v, fe_x_ints(ir, n, dims));
}

MlirValue fe_x_transpose(fe_ir *ir, MlirValue v, unsigned n,
                         const int64_t *permutation) {
  return FE_COMPOSE(ir, "Transpose", FE_VALUES(v),
                    FE_ATTRS(fe_at_i64s(ir, "perm", n, permutation)));
}

MlirValue fe_x_unsqueeze(fe_ir *ir, MlirValue v, int64_t axis) {
  return FE_X(ir, "Unsqueeze", v, fe_x_int(ir, axis));
}

MlirValue fe_x_concat(fe_ir *ir, int64_t axis, unsigned n,
                      const MlirValue *in) {
  MlirNamedAttribute a = fe_at_i64(ir, "axis", axis);
  const fe_op_args args = {
      .n_operands = n, .operands = in, .n_attrs = 1, .attrs = &a};
  return fe_compose(ir, "Concat", &args);
}

MlirValue fe_x_zeros(fe_ir *ir, fe_dtype t, MlirValue shape) {
  return FE_X(ir, "Expand", fe_constant_scalar(ir, t, 0), shape);
}

MlirValue fe_x_range(fe_ir *ir, MlirValue count) {
  MlirValue end = FE_X(ir, "Squeeze", count, fe_x_int(ir, 0));
  return FE_X(ir, "Range", fe_constant_scalar(ir, FE_I64, 0), end,
              fe_constant_scalar(ir, FE_I64, 1));
}

MlirValue fe_x_behind(fe_ir *ir, MlirValue v, unsigned behind) {
  for (unsigned i = 0; i < behind; ++i)
    v = fe_x_unsqueeze(ir, v, -1);
  return v;
}

MlirValue fe_x_unpacked(fe_ir *ir, MlirValue v, int64_t bits) {
  int64_t per_byte = 8 / bits;
  fe_dims d;
  if (per_byte == 1 || fe_is_null(v) || !fe_dims_of(ir, v, &d))
    return v;
  MlirValue parts[4];
  MlirValue mask = fe_constant_scalar(ir, FE_U8, (double)((1 << bits) - 1));
  for (int64_t i = 0; i < per_byte; ++i) {
    MlirValue shift = fe_constant_scalar(ir, FE_U8, (double)(i * bits));
    MlirValue part = FE_COMPOSE(ir, "BitShift", FE_VALUES(v, shift),
                                FE_ATTRS(fe_at_str(ir, "direction", "RIGHT")));
    parts[i] = fe_x_unsqueeze(ir, FE_X(ir, "BitwiseAnd", part, mask), -1);
  }
  int64_t flat[FE_MAX_RANK] = {0};
  flat[d.rank - 1] = -1;
  int64_t last = fe_dim_static(d.d[d.rank - 1]);
  if (last != FE_DYN)
    flat[d.rank - 1] = last * per_byte;
  return fe_x_reshape(ir, fe_x_concat(ir, -1, (unsigned)per_byte, parts),
                      d.rank, flat);
}
