//===- make.c - making onnx ops ----------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fe_onnx is the one door: operands are checked against the signature and the
// admitted element types, attributes completed with their defaults, result
// types inferred. Messages name the operator and the input as the standard
// does.
//
//===----------------------------------------------------------------------===//
#include "op/signature.h"
#include "op/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct maker {
  fe_ir *ir;
  const fe_op_row *row;
  fe_where where;
  unsigned n_in;
  MlirValue in[FE_MAX_OPERANDS + FE_MAX_VARIADIC]; // absent: null
  fe_sig inputs, outputs;
  MlirNamedAttribute attrs[FE_MAX_OPERANDS];
  unsigned n_attrs;
} maker;

//===-- Operands ------------------------------------------------------------//

/// The inputs of what an operator is made of may be results of what was refused
/// before: one message is enough.
static fe_status refuse_missing(maker *m, fe_where where, const char *name) {
  const fe_ir *ir = m->ir;
  if (ir->expanding && ir->diags->errors != ir->errors_before)
    return FE_FAILED;
  return fe_error(ir->diags, where, NULL, "input '%s' is missing", name);
}

static fe_status check_counts(maker *m, unsigned n_in, unsigned n_out) {
  unsigned least = 0, most = m->inputs.n;
  for (unsigned i = 0; i < m->inputs.n; ++i) {
    if (m->inputs.at[i].variadic)
      most = m->inputs.n - 1 + FE_MAX_VARIADIC;
    if (!m->inputs.at[i].optional)
      least = i + 1;
  }
  fe_diags *d = m->ir->diags;
  if (n_in < least || n_in > most)
    return fe_error(d, m->where, NULL,
                    least == most ? "has %u inputs but takes %u"
                                  : "has %u inputs but takes %u to %u",
                    n_in, least, most);
  if (n_out > m->outputs.n)
    return fe_error(d, m->where, NULL, "has %u outputs but gives %u", n_out,
                    m->outputs.n);
  return FE_OK;
}

static const fe_sig_arg *input_arg(const maker *m, unsigned i) {
  return &m->inputs.at[i < m->inputs.n ? i : m->inputs.n - 1];
}

static fe_status check_type(maker *m, unsigned i, uint32_t mask) {
  fe_where where = m->where;
  const fe_sig_arg *arg = input_arg(m, i);
  where.attr = arg->name;
  MlirType type = mlirValueGetType(m->in[i]);
  if (!mlirTypeIsARankedTensor(type))
    return fe_error(m->ir->diags, where, NULL, "input '%s' is not a tensor",
                    arg->name);
  fe_dtype t = fe_dtype_of_elem(mlirShapedTypeGetElementType(type));
  if (!(mask >> t & 1))
    return fe_error(m->ir->diags, where, NULL,
                    "input '%s' has element type %s; admitted are %s",
                    arg->name, fe_dtype_name(t),
                    fe_sig_types_text(m->ir->arena, mask));
  for (unsigned k = 0; k < i; ++k) {
    const fe_sig_arg *other = input_arg(m, k);
    if (strcmp(other->var, arg->var) || fe_is_null(m->in[k]))
      continue;
    fe_dtype u = fe_dtype_of_elem(fe_elem_of(m->in[k]));
    if (u == t)
      break;
    return fe_error(m->ir->diags, where,
                    "put a Cast in front of one of the two",
                    "input '%s' has element type %s but input '%s' has %s; "
                    "they must be the same",
                    arg->name, fe_dtype_name(t), other->name, fe_dtype_name(u));
  }
  return FE_OK;
}

static fe_status take_operands(maker *m, unsigned n_in, const MlirValue *in,
                               unsigned n_out) {
  if (check_counts(m, n_in, n_out))
    return FE_FAILED;
  bool variadic = m->inputs.n && m->inputs.at[m->inputs.n - 1].variadic;
  m->n_in = variadic || n_in > m->inputs.n ? n_in : m->inputs.n;
  for (unsigned i = 0; i < m->n_in; ++i) {
    const fe_sig_arg *arg = input_arg(m, i);
    MlirValue v = i < n_in ? in[i] : (MlirValue){0};
    if (!fe_is_null(v) && fe_op_is(fe_def(v), "onnx.none"))
      v = (MlirValue){0};
    m->in[i] = v;
    fe_where where = m->where;
    where.attr = arg->name;
    if (fe_is_null(v)) {
      if (!arg->optional)
        return refuse_missing(m, where, arg->name);
      continue;
    }
    uint32_t mask = fe_sig_types(m->row->types, arg->var);
    if (!(mask & FE_SIG_ANY) && check_type(m, i, mask))
      return FE_FAILED;
  }
  return FE_OK;
}

//===-- Attributes ----------------------------------------------------------//

static bool default_attr(fe_ir *ir, const fe_attr_def *d,
                         MlirNamedAttribute *out) {
  int64_t ints[16];
  float floats[16];
  unsigned n = 0;
  const char *s = d->def;
  switch (d->kind) {
  case FE_A_INT:
    *out = fe_at_i64(ir, d->name, strtoll(s, NULL, 10));
    return true;
  case FE_A_FLOAT:
    *out = fe_at_f32(ir, d->name, strtod(s, NULL));
    return true;
  case FE_A_STRING:
    *out = fe_at_str(ir, d->name, fe_strndup(ir->arena, s, strcspn(s, "|")));
    return true;
  case FE_A_INTS:
    for (char *end; *s && n < FE_COUNT(ints); s = end + (*end == ','))
      ints[n++] = strtoll(s, &end, 10);
    *out = fe_at_i64s(ir, d->name, n, ints);
    return true;
  case FE_A_FLOATS:
    for (char *end; *s && n < FE_COUNT(floats); s = end + (*end == ','))
      floats[n++] = strtof(s, &end);
    *out = fe_at_f32s(ir, d->name, n, floats);
    return true;
  case FE_A_STRINGS:
    *out = fe_at_strs(ir, d->name, 0, NULL);
    return true;
  case FE_A_TYPE:
    *out = fe_at_type(ir, d->name, ir->none);
    return true;
  case FE_A_TENSOR: // never on an op: gone after import
  case FE_A_GRAPH:
    break;
  }
  return false;
}

static bool named(MlirNamedAttribute a, const char *name) {
  MlirStringRef s = mlirIdentifierStr(a.name);
  return s.length == strlen(name) && !memcmp(s.data, name, s.length);
}

static fe_status take_attrs(maker *m, unsigned n,
                            const MlirNamedAttribute *in) {
  fe_where where = m->where;
  for (const fe_attr_def *d = m->row->attrs; d && d->name; ++d) {
    unsigned k = 0;
    while (k < n && !named(in[k], d->name))
      ++k;
    where.attr = d->name;
    if (k < n)
      m->attrs[m->n_attrs++] = in[k];
    else if (d->def && *d->def != '|')
      m->n_attrs += default_attr(m->ir, d, &m->attrs[m->n_attrs]);
    else if (d->kind != FE_A_TENSOR && d->kind != FE_A_GRAPH)
      return fe_error(m->ir->diags, where, NULL,
                      "the required attribute '%s' is missing", d->name);
  }
  if (m->inputs.n && m->inputs.at[m->inputs.n - 1].variadic) {
    unsigned fixed = m->inputs.n - 1;
    int32_t sizes[FE_MAX_OPERANDS + FE_MAX_VARIADIC] = {0};
    for (unsigned i = 0; i < m->n_in; ++i)
      sizes[i] = 1;
    m->attrs[m->n_attrs++] = fe_named(
        m->ir, "operandSegmentSizes",
        mlirDenseI32ArrayGet(m->ir->ctx, fixed + FE_MAX_VARIADIC, sizes));
  }
  return FE_OK;
}

//===-- Result types --------------------------------------------------------//

/// Broadcast of all operands; element type from the row or the first operand.
static fe_status infer_pointwise(fe_infer *f) {
  fe_dims dims = {0}, next;
  for (unsigned i = 0; i < f->n_in; ++i)
    if (!fe_is_null(f->in[i]) &&
        (fe_in_dims(f, i, &next) || fe_broadcast_dims(f, &dims, &next, &dims)))
      return FE_FAILED;
  fe_dtype t = f->row->result ? f->row->result : fe_in_dtype(f, 0);
  fe_out_tensor(f, 0, t, &dims);
  return FE_OK;
}

static fe_status infer(maker *m, const char *op_name, unsigned n_out,
                       MlirType *out) {
  fe_ir *ir = m->ir;
  // Built apart from the block, for the attributes only.
  MlirOperationState state = mlirOperationStateGet(fe_str(op_name), ir->loc);
  mlirOperationStateAddAttributes(&state, m->n_attrs, m->attrs);
  MlirOperation attrs = mlirOperationCreate(&state);
  fe_infer f = {.ir = ir,
                .row = m->row,
                .where = m->where,
                .attrs = attrs,
                .n_in = m->n_in,
                .in = m->in,
                .n_out = n_out,
                .out = out};
  unsigned errors = ir->diags->errors;
  fe_status status = m->row->infer ? m->row->infer(&f) : infer_pointwise(&f);
  mlirOperationDestroy(attrs);
  if (status || ir->diags->errors != errors)
    return FE_FAILED;
  for (unsigned i = 0; i < n_out; ++i)
    if (mlirTypeIsNull(out[i])) {
      fe_report(ir->diags, FE_SEV_INTERNAL, m->where, NULL,
                "no type was inferred for output '%s'", m->outputs.at[i].name);
      return FE_FAILED;
    }
  return FE_OK;
}

/// Operators on elements have another one for strings, which the importer's
/// rewrite puts in; here for those that rewrites make. Null: it is no such.
static MlirOperation on_strings(fe_ir *ir, const fe_op_row *row, unsigned n_in,
                                const MlirValue *in, unsigned n_attrs,
                                const MlirNamedAttribute *attrs) {
  MlirValue v = {0};
  if (!strcmp(row->name, "Equal") && n_in == 2 && fe_is_text(in[0]) &&
      fe_is_text(in[1]))
    v = fe_text_equal(ir, in[0], in[1]);
  if (!strcmp(row->name, "Cast") && n_in == 1 && !fe_is_null(in[0]))
    for (unsigned i = 0; i < n_attrs; ++i)
      if (mlirStringRefEqual(mlirIdentifierStr(attrs[i].name), fe_str("to")) &&
          mlirAttributeIsAInteger(attrs[i].attribute)) {
        fe_dtype to = (fe_dtype)mlirIntegerAttrGetValueInt(attrs[i].attribute);
        if (fe_is_text(in[0]) != (to == FE_STRING))
          v = fe_text_cast(ir, in[0], to);
      }
  return fe_is_null(v) ? (MlirOperation){0} : fe_def(v);
}

MlirOperation fe_onnx(fe_ir *ir, const char *name, unsigned n_in,
                      const MlirValue *in, unsigned n_out, unsigned n_attrs,
                      const MlirNamedAttribute *attrs) {
  const MlirOperation none = {0};
  const fe_op_row *row = fe_op_row_named(name);
  maker m = {.ir = ir, .row = row};
  m.where = (fe_where){.node = fe_loc_node(ir, ir->loc),
                       .op = row ? row->name : name};
  if (ir->expanding && strcmp(ir->expanding, m.where.op))
    m.where.op = fe_printf(ir->arena, "%s (its %s)", ir->expanding, m.where.op);
  if (!row || !fe_row_has_op(row)) {
    fe_report(ir->diags, FE_SEV_INTERNAL, m.where, NULL,
              "there is no such operation in the onnx dialect");
    return none;
  }
  MlirOperation other = on_strings(ir, row, n_in, in, n_attrs, attrs);
  if (!mlirOperationIsNull(other))
    return other;
  fe_sig_parse(row->inputs, &m.inputs);
  fe_sig_parse(row->outputs, &m.outputs);
  const char *op_name =
      fe_printf(ir->arena, "onnx.%s", fe_op_ir_name(ir->arena, row));
  MlirType out[FE_MAX_OPERANDS] = {0};
  if (take_operands(&m, n_in, in, n_out) || take_attrs(&m, n_attrs, attrs) ||
      infer(&m, op_name, m.outputs.n, out))
    return none;
  for (unsigned i = 0; i < m.n_in; ++i)
    if (fe_is_null(m.in[i]))
      m.in[i] = fe_first(FE_OP(ir, "onnx.none", FE_TYPES(ir->none)));
  return FE_OP(ir, op_name, .n_operands = m.n_in, .operands = m.in,
               .n_results = m.outputs.n, .results = out, .n_attrs = m.n_attrs,
               .attrs = m.attrs);
}
