//===- gradient.c - Gradient of ai.onnx.preview.training ---------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The node names a value y of its graph and values x that y depends on; its
// inputs are where to take the derivatives. Method: reverse accumulation over
// the ops between them, which have been made already; they are made again where
// the node's inputs are other values than those named. Tables have, for each
// operator, the derivatives by its operands, written in operators: so they
// fuse, fold and are differentiated like any others; or the operator itself
// written in others, over which the accumulation then goes. The sum of y is
// differentiated when y is more than one number.
//
//===----------------------------------------------------------------------===//
#include "import/gradient_graph.h"
#include "ir/value_type.h"

#include <string.h>

bool fe_names_values(const onnx_NodeProto *n) {
  return n->op_type && !strcmp(n->op_type, "Gradient") &&
         !strcmp(fe_domain(n), "ai.onnx.preview.training");
}

void fe_note_named(fe_import *im, const onnx_NodeProto *n) {
  for (size_t i = 0; i < n->attribute.n; i++) {
    const onnx_AttributeProto *a = FE_PROTO_AT(AttributeProto, n->attribute, i);
    for (size_t k = 0; k < a->strings.n; k++) {
      fe_raw raw = FE_RAW_AT(a->strings, k);
      const char *name = fe_strndup(im->arena, (const char *)raw.at, raw.n);
      fe_map_set(im->arena, &im->named, name, im);
    }
  }
}

/// v as another value, which y is not known to use.
static MlirValue apart(fe_ir *ir, MlirValue v) {
  return fe_first(
      FE_OP(ir, "tensor.cast", FE_VALUES(v), FE_TYPES(mlirValueGetType(v))));
}

static bool is_float_tensor(MlirValue v) {
  return mlirTypeIsARankedTensor(mlirValueGetType(v)) &&
         fe_dtype_is_float(fe_d_type(v));
}

MlirValue fe_named_apart(const fe_import *im, const char *name, MlirValue v) {
  return im->named.n && fe_map_get(&im->named, name) && !fe_is_null(v) &&
                 is_float_tensor(v)
             ? apart(im->ir, v)
             : v;
}

static const fe_derivative *derivative_of(MlirOperation op) {
  static const fe_derivative *const tables[] = {
      fe_d_basic,  fe_d_movement,  fe_d_window,   fe_d_composed,
      fe_d_linear, fe_d_attention, fe_d_recurrent};
  const fe_op_row *row = fe_op_row_of(op);
  if (!row || (row->domain && *row->domain))
    return NULL;
  for (size_t i = 0; i < FE_COUNT(tables); i++)
    for (const fe_derivative *d = tables[i]; d->op; d++)
      if (!strcmp(d->op, row->name))
        return d;
  return NULL;
}

//===-- The graph between x and y -------------------------------------------//

/// Numbers that may have derivatives, also in a sequence. Floats of 8 bits or
/// fewer are steps, like integers.
static bool holds_floats(MlirType t) {
  while (fe_type_is_sequence(t) || fe_type_is_optional(t))
    t = fe_type_held(t);
  if (mlirTypeIsNull(t) || fe_type_is_object(t))
    return false;
  fe_dtype type = fe_dtype_of_elem(
      mlirTypeIsATensor(t) ? mlirShapedTypeGetElementType(t) : t);
  return fe_dtype_is_float(type) && fe_dtype_bits(type) > 8;
}

bool fe_gradient_needs(const fe_gradient *g, MlirValue v) {
  if (fe_is_null(v) ||
      !(mlirTypeIsARankedTensor(mlirValueGetType(v)) ||
        fe_type_is_object(mlirValueGetType(v))) ||
      !holds_floats(mlirValueGetType(v)))
    return false;
  if (fe_map_get_ptr(&g->needs, v.ptr))
    return true;
  MlirOperation def = fe_def(v);
  return !mlirOperationIsNull(def) && fe_map_get_ptr(&g->needs, def.ptr);
}

static bool is_named(fe_gradient *g, MlirValue v) {
  for (; g->n_noted < g->n_x + g->n_z; g->n_noted++) {
    const void *name = g->named[g->n_noted].ptr;
    fe_map_set_ptr(g->arena, &g->names, name, g);
  }
  return !fe_is_null(v) && fe_map_get_ptr(&g->names, v.ptr);
}

/// The op that is to be looked at for v; null: none.
static MlirOperation source(fe_gradient *g, MlirValue v) {
  MlirOperation def = fe_def(v);
  bool counts = !mlirOperationIsNull(def) && !is_named(g, v) &&
                (mlirBlockIsNull(g->inside) ||
                 mlirBlockEqual(mlirOperationGetBlock(def), g->inside));
  return counts ? def : (MlirOperation){0};
}

/// None behind named values. The graph may be deep, so with a stack of its own.
void fe_gradient_collect(fe_gradient *g, MlirValue y) {
  fe_vec(MlirOperation) stack = {0};
  MlirOperation def = source(g, y);
  if (!mlirOperationIsNull(def))
    fe_push(g->arena, &stack, def);
  while (stack.n) {
    MlirOperation op = stack.at[stack.n - 1];
    if (fe_map_get_ptr(&g->visited, op.ptr)) {
      stack.n--;
      continue;
    }
    size_t before = stack.n;
    unsigned n = fe_gradient_n_in(g, op);
    for (unsigned i = 0; i < n; i++) {
      def = source(g, fe_gradient_in(g, op, i));
      if (!mlirOperationIsNull(def) && !fe_map_get_ptr(&g->visited, def.ptr))
        fe_push(g->arena, &stack, def);
    }
    if (stack.n > before)
      continue;
    stack.n--;
    fe_map_set_ptr(g->arena, &g->visited, op.ptr, op.ptr);
    bool used = false, varies = false;
    for (unsigned i = 0; i < n; i++) {
      MlirValue v = fe_gradient_in(g, op, i);
      def = fe_def(v);
      used = used || is_named(g, v) ||
             (!mlirOperationIsNull(def) && fe_map_get_ptr(&g->copies, def.ptr));
      varies = varies || fe_gradient_needs(g, v);
    }
    if (!used)
      continue;
    fe_push(g->arena, &g->ops, op);
    fe_map_set_ptr(g->arena, &g->copies, op.ptr, op.ptr); // to be made again
    if (varies)
      fe_map_set_ptr(g->arena, &g->needs, op.ptr, op.ptr);
  }
}

/// The ops again, from the node's inputs; named values, ops and what needs them
/// are then the new ones. What y uses beside that happens to be an input is
/// another value than this.
static void repeat(fe_gradient *g, MlirValue *y) {
  fe_map now = {0};
  MlirValue *in = FE_NEW_N(g->arena, MlirValue, g->n_x + g->n_z + 1);
  for (size_t i = 0; i < g->n_x + g->n_z; i++) {
    in[i] =
        is_float_tensor(g->c->in[i]) ? apart(g->ir, g->c->in[i]) : g->c->in[i];
    fe_map_set_ptr(g->arena, &now, g->named[i].ptr, (void *)in[i].ptr);
  }
  for (size_t i = 0; i < g->ops.n; i++) {
    MlirOperation op = g->ops.at[i];
    g->ops.at[i] = fe_gradient_copy(g->ir, op, &now);
    if (fe_map_get_ptr(&g->needs, op.ptr))
      fe_map_set_ptr(g->arena, &g->needs, g->ops.at[i].ptr, g->ops.at[i].ptr);
  }
  const void *copy = fe_map_get_ptr(&now, y->ptr);
  *y = copy ? (MlirValue){copy} : *y;
  g->names = (fe_map){0};
  g->n_noted = 0;
  for (size_t i = 0; i < g->n_x + g->n_z; i++) {
    g->named[i] = in[i];
    if (i < g->n_x)
      fe_map_set_ptr(g->arena, &g->needs, g->named[i].ptr, g->ir);
  }
}

//===-- Accumulation --------------------------------------------------------//

fe_status fe_gradient_add(fe_gradient *g, MlirValue v, MlirValue d) {
  if (fe_is_null(d))
    return FE_FAILED;
  const void *had = fe_map_get_ptr(&g->sums, v.ptr);
  if (had)
    d = fe_onnx1(g->ir, "Add", (MlirValue){had}, d);
  fe_map_set_ptr(g->arena, &g->sums, v.ptr, (void *)d.ptr);
  return fe_is_null(d) ? FE_FAILED : FE_OK;
}

MlirValue fe_gradient_sum(const fe_gradient *g, MlirValue v) {
  return (MlirValue){fe_map_get_ptr(&g->sums, v.ptr)};
}

static fe_status not_known(const fe_gradient *g, MlirOperation op,
                           unsigned operand) {
  const fe_op_row *row = fe_op_row_of(op);
  const char *node = fe_loc_node(g->ir, mlirOperationGetLocation(op));
  return fe_error(g->ir->diags, g->c->where,
                  "export the model with the derivatives written out",
                  "the derivative of %s (node '%s') by input %u is not known",
                  row ? row->name : "control flow", node ? node : "", operand);
}

/// By way of `y`, which are the op's results in other operators.
static fe_status through(fe_gradient *g, MlirOperation op, unsigned n_y,
                         const MlirValue *y) {
  fe_gradient part = {.c = g->c, .ir = g->ir, .arena = g->arena};
  unsigned n = fe_n_operands(op);
  part.named = FE_NEW_N(g->arena, MlirValue, n + 1);
  for (unsigned turn = 0; turn < 2; turn++) // variables first
    for (unsigned i = 0; i < n; i++) {
      MlirValue v = fe_operand(op, i);
      bool varies = fe_gradient_needs(g, v);
      if (varies != !turn || is_named(&part, v))
        continue;
      part.named[part.n_x + part.n_z] = v;
      if (turn)
        part.n_z++;
      else
        fe_map_set_ptr(g->arena, &part.needs, part.named[part.n_x++].ptr,
                       g->ir);
    }
  for (unsigned i = 0; i < n_y; i++) {
    MlirValue dy = fe_gradient_sum(g, fe_result(op, i));
    if (fe_is_null(dy))
      continue;
    fe_gradient_collect(&part, y[i]);
    if (fe_gradient_add(&part, y[i], dy) != FE_OK)
      return FE_FAILED;
  }
  if (fe_gradient_accumulate(&part) != FE_OK)
    return FE_FAILED;
  for (size_t i = 0; i < part.n_x; i++) {
    MlirValue d = fe_gradient_sum(&part, part.named[i]);
    if (!fe_is_null(d) && fe_gradient_add(g, part.named[i], d) != FE_OK)
      return FE_FAILED;
  }
  return FE_OK;
}

/// An op without regions, some of whose results have derivatives.
static fe_status propagate(fe_gradient *g, MlirOperation op) {
  unsigned n = fe_n_operands(op), n_y = fe_n_results(op);
  const fe_derivative *row = derivative_of(op);
  bool known = false, others = false;
  fe_step s = {.ir = g->ir, .site = g->c, .op = op, .y = fe_result(op, 0)};
  for (unsigned i = 0; i < n_y; i++) {
    MlirValue dy = fe_gradient_sum(g, fe_result(op, i));
    if (!fe_is_null(dy) && fe_is_null(s.dy))
      s.dy = dy;
    others = others || (i && !fe_is_null(dy));
  }
  if (fe_is_null(s.dy))
    return FE_OK;
  fe_status ok = n ? fe_gradient_of_frame(g, op, s.dy, &known) : FE_OK;
  if (known)
    return ok;
  for (unsigned i = 0; i < n && i < FE_COUNT(s.x); i++)
    s.x[i] = fe_operand(op, i);
  if (others && row && !row->as_all)
    row = NULL;
  if (row && (row->as || row->as_all)) {
    unsigned errors = g->ir->diags->errors;
    MlirValue *y = FE_NEW_N(g->arena, MlirValue, n_y + 1);
    bool made =
        row->as_all ? row->as_all(&s, y) : !fe_is_null(y[0] = row->as(&s));
    for (unsigned i = 0; i < n_y && made; i++)
      made =
          !fe_is_null(y[i]) || fe_is_null(fe_gradient_sum(g, fe_result(op, i)));
    if (made)
      return through(g, op, n_y, y);
    return g->ir->diags->errors == errors ? not_known(g, op, 0) : FE_FAILED;
  }
  for (unsigned i = 0; i < n; i++) {
    MlirValue v = fe_operand(op, i);
    if (!fe_gradient_needs(g, v))
      continue;
    fe_write by = !row                    ? NULL
                  : row->all              ? row->all
                  : i < FE_COUNT(row->by) ? row->by[i]
                                          : NULL;
    unsigned errors = g->ir->diags->errors;
    s.operand = i;
    MlirValue d = by ? by(&s) : (MlirValue){0};
    if (fe_is_null(d) && g->ir->diags->errors == errors)
      return not_known(g, op, i);
    if (fe_is_null(d) || fe_gradient_add(g, v, fe_d_sum_to(&s, d, v)) != FE_OK)
      return FE_FAILED;
  }
  return FE_OK;
}

/// Of an op with regions, by way of all results.
static fe_status propagate_region(fe_gradient *g, MlirOperation op) {
  bool any = false, known = true;
  for (unsigned i = 0; i < fe_n_results(op); i++)
    any = any || !fe_is_null(fe_gradient_sum(g, fe_result(op, i)));
  if (!any)
    return FE_OK;
  fe_status ok = fe_gradient_of_region(g, op, &known);
  return known ? ok : not_known(g, op, 0);
}

fe_status fe_gradient_through(fe_gradient *g, MlirOperation op) {
  if (!fe_map_get_ptr(&g->needs, op.ptr))
    return FE_OK;
  if (mlirOperationGetNumRegions(op))
    return propagate_region(g, op);
  return propagate(g, op);
}

fe_status fe_gradient_accumulate(fe_gradient *g) {
  for (size_t i = g->ops.n; i-- > 0;)
    if (fe_gradient_through(g, g->ops.at[i]) != FE_OK)
      return FE_FAILED;
  return FE_OK;
}

static const char *text_of(const fe_gradient *g, fe_raw raw) {
  return fe_strndup(g->arena, (const char *)raw.at, raw.n);
}

static fe_status find_named(fe_gradient *g, const char *attr, size_t at,
                            size_t n) {
  const fe_bound_attr *a = fe_site_attr(g->c, attr);
  for (size_t i = 0; i < n; i++) {
    const char *name = text_of(g, FE_RAW_AT(a->attr->strings, i));
    const fe_slot *slot = fe_scope_find(g->c->scope, name);
    g->named[at + i] = slot ? slot->value : (MlirValue){0};
    for (size_t k = 0; k < at + i; k++)
      if (fe_same(g->named[k], g->named[at + i]))
        return fe_error(g->ir->diags, g->c->where, NULL,
                        "'%s' in %s is named before", name, attr);
    if (fe_is_null(g->named[at + i]))
      return fe_error(g->ir->diags, g->c->where, NULL,
                      "'%s' in %s is no value of the graph", name, attr);
    if (at + i >= g->c->n_in || fe_is_null(g->c->in[at + i]))
      return fe_error(g->ir->diags, g->c->where, NULL,
                      "there is no input for '%s' in %s", name, attr);
    if (!mlirTypeEqual(mlirValueGetType(g->named[at + i]),
                       mlirValueGetType(g->c->in[at + i])))
      return fe_error(g->ir->diags, g->c->where, NULL,
                      "the input for '%s' in %s has another type or shape",
                      name, attr);
  }
  return FE_OK;
}

fe_status fe_import_gradient(fe_call_site *c) {
  fe_ir *ir = c->scope->im->ir;
  fe_gradient g = {.c = c, .ir = ir, .arena = c->scope->im->arena};
  const fe_bound_attr *xs = fe_site_attr(c, "xs"), *zs = fe_site_attr(c, "zs"),
                      *target = fe_site_attr(c, "y");
  if (!xs || !target)
    return fe_error(ir->diags, c->where, NULL,
                    "the attributes xs and y are required");
  g.n_x = xs->attr->strings.n;
  g.n_z = zs ? zs->attr->strings.n : 0;
  g.named = FE_NEW_N(g.arena, MlirValue, g.n_x + g.n_z + 1);
  const char *name = text_of(&g, target->attr->s);
  const fe_slot *slot = fe_scope_find(c->scope, name);
  if (!slot || fe_is_null(slot->value))
    return fe_error(ir->diags, c->where, NULL,
                    "'%s' in y is no value of the "
                    "graph",
                    name);
  if (find_named(&g, "xs", 0, g.n_x) || find_named(&g, "zs", g.n_x, g.n_z))
    return FE_FAILED;
  MlirValue y = slot->value;
  bool same = true;
  for (size_t i = 0; i < g.n_x + g.n_z; i++) {
    same = same && fe_same(g.named[i], c->in[i]);
    if (i < g.n_x && !is_float_tensor(g.named[i]))
      return fe_error(ir->diags, c->where, NULL,
                      "derivatives are by tensors of floats only");
    if (i < g.n_x)
      fe_map_set_ptr(g.arena, &g.needs, g.named[i].ptr, ir);
  }
  if (!is_float_tensor(y))
    return fe_error(ir->diags, c->where, NULL, "'%s' is no tensor of floats",
                    name);
  fe_gradient_collect(&g, y);
  if (!same)
    repeat(&g, &y);
  fe_step s = {.ir = ir, .dy = y};
  if (fe_gradient_add(&g, y, fe_d_expanded(&s, fe_d_number(&s, 1), y)) !=
          FE_OK ||
      fe_gradient_accumulate(&g) != FE_OK)
    return FE_FAILED;
  for (size_t i = 0; i < g.n_x && i < c->n_out; i++) {
    const void *d = fe_map_get_ptr(&g.sums, g.named[i].ptr);
    s.dy = g.named[i];
    c->out[i] = d ? (MlirValue){d} : fe_d_zeros(&s, g.named[i]);
    if (fe_is_null(c->out[i]))
      return FE_FAILED;
  }
  return FE_OK;
}
