//===- node.c - one node of a graph ---------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: inputs and attributes are resolved in the scope; then a function of
// the model, one of the operators below, or the row of the operator table does
// the rest.
//
//===----------------------------------------------------------------------===//
#include "import/import.h"
#include "ir/value_type.h"
#include "op/sequence.h"

#include <inttypes.h>
#include <string.h>

typedef struct builtin {
  const char *domain, *op_type;
  fe_site_fn make;
} builtin;
static const builtin builtins[] = {
    {"", "Constant", fe_import_constant},
    {"", "If", fe_import_if},
    {"", "Loop", fe_import_loop},
    {"", "Scan", fe_import_scan},
    {"", "SequenceMap", fe_import_sequence_map},
    {"ai.onnx.preview", "FlexAttention", fe_import_flex_attention},
    {"ai.onnx.preview.training", "Gradient", fe_import_gradient}};

fe_site_fn fe_site_builtin(const char *domain, const char *op_type) {
  for (size_t i = 0; i < FE_COUNT(builtins); i++)
    if (!strcmp(builtins[i].domain, domain) &&
        !strcmp(builtins[i].op_type, op_type))
      return builtins[i].make;
  return NULL;
}

const char *fe_node_label(const onnx_NodeProto *n) {
  if (n->name && *n->name)
    return n->name;
  for (size_t i = 0; i < n->output.n; i++)
    if (*FE_NAME_AT(n->output, i))
      return FE_NAME_AT(n->output, i);
  return n->op_type ? n->op_type : "?";
}

//===-- Attributes ----------------------------------------------------------//

const fe_bound_attr *fe_site_attr(const fe_call_site *c, const char *name) {
  for (size_t i = 0; i < c->n_attrs; i++)
    if (!strcmp(c->attrs[i].name, name))
      return &c->attrs[i];
  return NULL;
}

int64_t fe_site_int(const fe_call_site *c, const char *name, int64_t absent) {
  const fe_bound_attr *a = fe_site_attr(c, name);
  return a ? a->attr->i : absent;
}

fe_status fe_site_ints(const fe_call_site *c, const char *name, size_t n,
                       const int64_t **out) {
  const fe_bound_attr *a = fe_site_attr(c, name);
  fe_where where = c->where;
  where.attr = name;
  int64_t *v;
  size_t have;
  if (!a) {
    *out = FE_NEW_N(c->scope->im->arena, int64_t, n);
    return FE_OK;
  }
  if (!fe_raw_i64s(c->scope->im->arena, a->attr->ints, &v, &have) || have != n)
    return fe_error(c->scope->im->diags, where, NULL,
                    "the attribute must have %zu integers", n);
  *out = v;
  return FE_OK;
}

fe_scope *fe_scope_again(const fe_scope *s) {
  fe_scope *again = FE_NEW(s->im->arena, fe_scope);
  *again = *s;
  again->values = (fe_map){0};
  again->rest = NULL;
  again->inlined_in = NULL;
  return again;
}

fe_status fe_site_graph(const fe_call_site *c, const char *name, size_t n_in,
                        size_t n_out, fe_body *out, fe_scope **scope) {
  fe_diags *d = c->scope->im->diags;
  const fe_bound_attr *a = fe_site_attr(c, name);
  fe_where where = c->where;
  where.attr = name;
  if (!a || !a->attr->g)
    return fe_error(d, where, NULL,
                    "the attribute '%s' with a graph is missing", name);
  *out = fe_body_of_graph(c->scope->im, a->attr->g);
  *scope = fe_scope_again(a->scope);
  (*scope)->outer = a->scope;
  if (out->n_in != n_in || out->n_out < n_out)
    return fe_error(d, where, NULL,
                    "the graph has %zu inputs and %zu outputs, the node needs "
                    "%zu and %zu",
                    out->n_in, out->n_out, n_in, n_out);
  return FE_OK;
}

/// Gives c->attrs: the node's own, those of the function's call in place of
/// references to them. A reference to what the call does not give is absent.
static fe_status resolve_attrs(fe_call_site *c) {
  fe_scope *s = c->scope;
  const fe_list *list = &c->node->attribute;
  c->attrs = FE_NEW_N(s->im->arena, fe_bound_attr, list->n);
  for (size_t i = 0; i < list->n; i++) {
    const onnx_AttributeProto *a = FE_PROTO_AT(AttributeProto, *list, i);
    fe_where where = c->where;
    where.attr = a->name;
    s->im->nodes += (a->ints.n + a->floats.n + a->s.n) / 4096; // their copies
    if (!a->name || !*a->name)
      return fe_error(s->im->diags, where, NULL, "an attribute has no name");
    if (fe_site_attr(c, a->name))
      return fe_error(s->im->diags, where, NULL,
                      "the attribute is there twice");
    if (!a->ref_attr_name || !*a->ref_attr_name) {
      c->attrs[c->n_attrs++] = (fe_bound_attr){a->name, a, s};
      continue;
    }
    for (size_t k = 0; k < s->attrs.n; k++)
      if (!strcmp(s->attrs.at[k].name, a->ref_attr_name)) {
        c->attrs[c->n_attrs] = s->attrs.at[k];
        c->attrs[c->n_attrs++].name = a->name;
        break;
      }
  }
  return FE_OK;
}

/// AttributeProto.AttributeType
enum {
  A_FLOAT = 1,
  A_INT,
  A_STRING,
  A_TENSOR,
  A_GRAPH,
  A_FLOATS,
  A_INTS,
  A_STRINGS,
  A_TYPE = 13
};

/// The kind an attribute says it has; files before IR version 2 leave it out.
static int attr_type(const onnx_AttributeProto *a) {
  if (a->type)
    return a->type;
  return a->has_f       ? A_FLOAT
         : a->has_i     ? A_INT
         : a->t         ? A_TENSOR
         : a->g         ? A_GRAPH
         : a->floats.n  ? A_FLOATS
         : a->strings.n ? A_STRINGS
         : a->ints.n    ? A_INTS
         : a->s.at      ? A_STRING
         : a->tp        ? A_TYPE
                        : 0;
}

static const char *copy_text(fe_import *im, fe_raw raw) {
  return fe_strndup(im->arena, (const char *)raw.at, raw.n);
}

static fe_status convert_attr(const fe_call_site *c, const fe_bound_attr *b,
                              fe_node_attr *out) {
  fe_import *im = c->scope->im;
  const onnx_AttributeProto *a = b->attr;
  fe_where where = c->where;
  where.attr = b->name;
  *out = (fe_node_attr){.name = b->name};
  switch (attr_type(a)) {
  case A_INT:
    out->kind = FE_A_INT;
    out->i = a->i;
    return FE_OK;
  case A_FLOAT:
    out->kind = FE_A_FLOAT;
    out->f = a->f;
    return FE_OK;
  case A_STRING:
    out->kind = FE_A_STRING;
    out->s = copy_text(im, a->s);
    out->n = a->s.n;
    return FE_OK;
  case A_INTS: {
    int64_t *v;
    out->kind = FE_A_INTS;
    if (!fe_raw_i64s(im->arena, a->ints, &v, &out->n))
      return fe_error(im->diags, where, NULL, "the integers are unreadable");
    out->ints = v;
    return FE_OK;
  }
  case A_FLOATS:
    out->kind = FE_A_FLOATS;
    out->n = a->floats.n / sizeof(float);
    out->floats = fe_memdup(im->arena, a->floats.at, out->n * sizeof(float));
    return FE_OK;
  case A_STRINGS: {
    out->kind = FE_A_STRINGS;
    out->n = a->strings.n;
    const char **v = FE_NEW_N(im->arena, const char *, out->n);
    for (size_t i = 0; i < out->n; i++)
      v[i] = copy_text(im, FE_RAW_AT(a->strings, i));
    out->strings = v;
    return FE_OK;
  }
  case A_TENSOR: {
    fe_tensor t;
    out->kind = FE_A_TENSOR;
    if (!a->t)
      return fe_error(im->diags, where, NULL, "the tensor is missing");
    if (fe_tensor_read(im->source, where, a->t, &t) != FE_OK)
      return FE_FAILED;
    out->value = fe_import_tensor(im, &t);
    return fe_is_null(out->value) ? FE_FAILED : FE_OK;
  }
  case A_TYPE:
    out->kind = FE_A_TYPE;
    out->type = fe_import_type(im->ir, a->tp);
    return mlirTypeIsNull(out->type)
               ? fe_error(im->diags, where, NULL,
                          "the type is incomplete, or not one of tensor, "
                          "sequence, optional and map")
               : FE_OK;
  default:
    return fe_error(im->diags, where, NULL,
                    "attributes of kind %d are not supported", attr_type(a));
  }
}

//===-- Nodes ---------------------------------------------------------------//

/// False when an input's own node failed.
static bool resolve_inputs(fe_call_site *c) {
  const fe_list *names = &c->node->input;
  c->in = FE_NEW_N(c->scope->im->arena, MlirValue, names->n);
  for (size_t i = 0; i < names->n; i++) {
    const char *name = FE_NAME_AT(*names, i);
    if (!*name)
      continue;
    const fe_slot *slot = fe_scope_find(c->scope, name);
    if (!slot || (fe_is_null(slot->value) && !slot->absent))
      return false;
    c->in[i] = slot->value;
  }
  c->n_in = names->n;
  while (c->n_in && fe_is_null(c->in[c->n_in - 1]))
    c->n_in--;
  return true;
}

static fe_status from_row(fe_call_site *c) {
  fe_import *im = c->scope->im;
  const char *domain = fe_domain(c->node);
  int opset = fe_scope_opset(c->scope, domain);
  const fe_op_row *row =
      opset ? fe_op_find(domain, c->node->op_type, opset) : NULL;
  if (!row) // the survey has said so for all but graphs in unused attributes
    return fe_error(im->diags, c->where, NULL, "the operator is not supported");
  fe_node n = {.ir = im->ir,
               .row = row,
               .where = c->where,
               .opset = opset,
               .n_out = (unsigned)c->n_out};
  for (size_t i = 0; i < c->n_in; i++)
    fe_push(im->arena, &n.in, c->in[i]);
  for (size_t i = 0; i < c->n_attrs; i++) {
    fe_node_attr a;
    if (convert_attr(c, &c->attrs[i], &a) != FE_OK)
      return FE_FAILED;
    fe_push(im->arena, &n.attrs, a);
  }
  return fe_node_make(&n, c->out);
}

/// What nothing can hold is refused here, once for all operators.
static fe_status check_size(const fe_call_site *c, MlirValue v) {
  int64_t dims[FE_MAX_RANK], count;
  unsigned rank = mlirTypeIsARankedTensor(mlirValueGetType(v)) ? fe_rank(v) : 0;
  for (unsigned i = 0; i < rank && i < FE_MAX_RANK; i++) {
    int64_t d = fe_static_dim(v, i);
    dims[i] = d == FE_DYN ? 1 : d;
  }
  if (rank <= FE_MAX_RANK && fe_tensor_count(rank, dims, 128, &count))
    return FE_OK;
  return fe_error(c->scope->im->diags, c->where, NULL,
                  "the result is too large for any memory");
}

static fe_status bind_outputs(fe_call_site *c, fe_status made) {
  for (size_t i = 0; i < c->node->output.n; i++) {
    const char *name = FE_NAME_AT(c->node->output, i);
    if (!*name)
      continue;
    fe_slot *slot = fe_scope_add(c->scope, name);
    if (made != FE_OK)
      continue;
    if (fe_is_null(c->out[i]))
      made = fe_error(c->scope->im->diags, c->where, NULL,
                      "the operator has no output %zu ('%s')", i, name);
    else if (!c->scope->rest) // else it is gone with its branch, unused
      made = check_size(c, c->out[i]);
    if (made == FE_OK)
      slot->value = fe_named_apart(c->scope->im, name, c->out[i]);
  }
  return made;
}

//===-- Declared ranks ------------------------------------------------------//

/// Rank that a list of declared values gives `name`; -1: none.
static int declared_rank(const fe_list *list, const char *name) {
  for (size_t i = 0; i < list->n; i++) {
    const onnx_ValueInfoProto *v = FE_PROTO_AT(ValueInfoProto, *list, i);
    const onnx_TensorType *t = v->type ? v->type->tensor_type : NULL;
    if (v->name && !strcmp(v->name, name))
      return t && t->shape && t->shape->dim.n <= FE_MAX_RANK
                 ? (int)t->shape->dim.n
                 : -1;
  }
  return -1;
}

MlirValue fe_with_rank(fe_call_site *c, MlirValue v, const onnx_GraphProto *g,
                       const char *name, int less) {
  fe_ir *ir = c->scope->im->ir;
  MlirType type = fe_is_null(v) ? (MlirType){0} : mlirValueGetType(v);
  MlirType held = fe_type_held(type);
  bool nothing = !mlirTypeIsNull(held) && !mlirTypeIsATensor(held) &&
                 fe_dtype_of_elem(held) != FE_UNDEFINED; // empty so far
  if (!g || mlirTypeIsNull(held) ||
      !(nothing || mlirTypeIsAUnrankedTensor(held)))
    return v;
  int rank = declared_rank(&g->value_info, name);
  rank = rank < 0 ? declared_rank(&g->output, name) : rank;
  rank = rank < 0 ? declared_rank(&g->input, name) : rank;
  if (rank < less)
    return v;
  int64_t open[FE_MAX_RANK];
  for (int i = 0; i < rank - less; i++)
    open[i] = FE_DYN;
  held =
      fe_tensor_plain(ir, nothing ? held : mlirShapedTypeGetElementType(held),
                      (unsigned)(rank - less), open);
  return fe_value_cast(ir, v,
                       fe_type_is_sequence(type) ? fe_type_sequence(ir, held)
                                                 : fe_type_optional(ir, held));
}

/// What comes out of a sequence whose items may have any rank has the rank that
/// the model declares; the run checks that.
static void add_ranks(fe_call_site *c) {
  static const char *const ops[] = {"SequenceAt", "OptionalGetElement",
                                    "ConcatFromSequence"};
  for (size_t i = 0; i < FE_COUNT(ops) && c->n_in && c->n_out; i++)
    if (c->node->op_type && !strcmp(ops[i], c->node->op_type) && c->scope->body)
      c->in[0] = fe_with_rank(c, c->in[0], c->scope->body->graph,
                              FE_NAME_AT(c->node->output, 0),
                              i == 2 && fe_site_int(c, "new_axis", 0) ? 1 : 0);
}

fe_status fe_too_many_nodes(const fe_call_site *c) {
  return fe_error(c->scope->im->diags, c->where, NULL,
                  "the model has more than %d nodes once functions and loops "
                  "are expanded",
                  FE_IMPORT_MAX_NODES);
}

fe_status fe_node_import(fe_scope *s, const onnx_NodeProto *n) {
  fe_import *im = s->im;
  const char *label = fe_node_label(n);
  if (*s->prefix)
    label = fe_printf(im->arena, "%s%.200s", s->prefix, label);
  fe_call_site c = {.scope = s,
                    .node = n,
                    .where = {.node = label, .op = n->op_type},
                    .n_out = n->output.n};
  while (c.n_out && !*FE_NAME_AT(n->output, c.n_out - 1))
    c.n_out--;
  c.out = FE_NEW_N(im->arena, MlirValue, n->output.n);
  if (im->nodes++ >= FE_IMPORT_MAX_NODES)
    return bind_outputs(&c, fe_too_many_nodes(&c));
  if (!resolve_inputs(&c) || resolve_attrs(&c) != FE_OK)
    return bind_outputs(&c, FE_FAILED);
  im->ir->loc = fe_loc_name(im->ir, label);
  add_ranks(&c);
  const onnx_FunctionProto *f = fe_function_find(im, n);
  fe_site_fn make = fe_site_builtin(fe_domain(n), n->op_type ? n->op_type : "");
  return bind_outputs(&c, f      ? fe_function_inline(&c, f)
                          : make ? make(&c)
                                 : from_row(&c));
}

//===-- Constant ------------------------------------------------------------//

fe_status fe_import_constant(fe_call_site *c) {
  fe_import *im = c->scope->im;
  if (c->n_attrs != 1 || c->n_out != 1)
    return fe_error(im->diags, c->where, NULL,
                    "needs one attribute and one output, has %zu and %zu",
                    c->n_attrs, c->n_out);
  const onnx_AttributeProto *a = c->attrs[0].attr;
  fe_where where = c->where;
  where.attr = c->attrs[0].name;
  fe_tensor t = {.name = FE_NAME_AT(c->node->output, 0)};
  int type = attr_type(a);
  if (a->sparse_tensor || a->t) {
    fe_status ok =
        a->t ? fe_tensor_read(im->source, where, a->t, &t)
             : fe_tensor_read_sparse(im->source, where, a->sparse_tensor, &t);
    if (ok != FE_OK)
      return ok;
    t.name = FE_NAME_AT(c->node->output, 0);
  } else if (type == A_INT || type == A_INTS) {
    int64_t *v = fe_memdup(im->arena, &a->i, sizeof(a->i));
    size_t n = 1;
    if (type == A_INTS && !fe_raw_i64s(im->arena, a->ints, &v, &n))
      return fe_error(im->diags, where, NULL, "the integers are unreadable");
    t.dtype = FE_I64;
    t.rank = type == A_INTS;
    t.dims[0] = (int64_t)n;
    t.data = v;
  } else if (type == A_FLOAT || type == A_FLOATS) {
    size_t n = type == A_FLOATS ? a->floats.n / sizeof(float) : 1;
    t.dtype = FE_F32;
    t.rank = type == A_FLOATS;
    t.dims[0] = (int64_t)n;
    t.data = fe_memdup(im->arena,
                       type == A_FLOATS ? (const void *)a->floats.at : &a->f,
                       n * sizeof(float));
  } else if (type == A_STRING || type == A_STRINGS) {
    t.dtype = FE_STRING;
    t.rank = type == A_STRINGS;
    t.count = type == A_STRINGS ? (int64_t)a->strings.n : 1;
    t.dims[0] = t.count;
    t.text = type == A_STRINGS ? a->strings.at : &a->s;
  } else {
    return fe_error(im->diags, where, NULL, "the constant has no value");
  }
  c->out[0] = fe_import_tensor(im, &t);
  return fe_is_null(c->out[0]) ? FE_FAILED : FE_OK;
}
