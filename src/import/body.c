//===- body.c - scopes; making the nodes of a graph -----------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: initializers that are used become constants first, at the start of
// the body's block, then the nodes follow in order. A node that fails leaves
// its outputs without value and the rest goes on, so that one import lists all
// independent problems.
//
//===----------------------------------------------------------------------===//
#include "import/import.h"

#include <string.h>

fe_slot *fe_scope_find(const fe_scope *s, const char *name) {
  for (; s; s = s->outer) {
    fe_slot *slot = fe_map_get(&s->values, name);
    if (slot)
      return slot;
  }
  return NULL;
}

fe_slot *fe_scope_add(fe_scope *s, const char *name) {
  fe_slot *slot = FE_NEW(s->im->arena, fe_slot);
  fe_map_set(s->im->arena, &s->values, name, slot);
  return slot;
}

const char *fe_domain(const onnx_NodeProto *n) {
  return n->domain && strcmp(n->domain, "ai.onnx") ? n->domain : "";
}

int fe_scope_opset(const fe_scope *s, const char *domain) {
  for (size_t i = 0; i < s->opsets->n; i++) {
    const onnx_OperatorSetIdProto *o =
        FE_PROTO_AT(OperatorSetIdProto, *s->opsets, i);
    const char *d = o->domain && strcmp(o->domain, "ai.onnx") ? o->domain : "";
    if (!strcmp(d, domain))
      return o->version > 0 && o->version < INT32_MAX ? (int)o->version : 0;
  }
  return 0;
}

fe_body fe_body_of_graph(fe_import *im, const onnx_GraphProto *g) {
  fe_body b = {.what = "graph",
               .name = g->name ? g->name : "",
               .nodes = g->node,
               .n_in = g->input.n,
               .n_out = g->output.n,
               .graph = g};
  b.in = FE_NEW_N(im->arena, const char *, b.n_in);
  b.out = FE_NEW_N(im->arena, const char *, b.n_out);
  for (size_t i = 0; i < b.n_in; i++) {
    const onnx_ValueInfoProto *v = FE_PROTO_AT(ValueInfoProto, g->input, i);
    b.in[i] = v->name ? v->name : "";
  }
  for (size_t i = 0; i < b.n_out; i++) {
    const onnx_ValueInfoProto *v = FE_PROTO_AT(ValueInfoProto, g->output, i);
    b.out[i] = v->name ? v->name : "";
  }
  return b;
}

fe_body fe_body_of_function(const onnx_FunctionProto *f) {
  return (fe_body){.what = "function",
                   .name = f->name ? f->name : "",
                   .nodes = f->node,
                   .n_in = f->input.n,
                   .in = f->input.at,
                   .n_out = f->output.n,
                   .out = f->output.at};
}

MlirValue fe_import_tensor(fe_import *im, const fe_tensor *t) {
  if (t->dtype == FE_STRING) {
    fe_text *text = FE_NEW_N(im->arena, fe_text, (size_t)t->count + 1);
    for (int64_t i = 0; i < t->count; i++)
      text[i] = (fe_text){(const char *)t->text[i].at, t->text[i].n};
    return fe_constant_strings(im->ir, *t->name ? t->name : NULL, t->rank,
                               t->dims, text);
  }
  MlirValue v = fe_constant(im->ir, *t->name ? t->name : NULL, t->dtype,
                            t->rank, t->dims, t->data);
  const char *name = fe_attr_str(im->arena, fe_def(v), "blob", NULL);
  fe_blob *blob = name ? fe_blob_find(im->ir->blobs, name) : NULL;
  if (blob) {
    blob->file = t->file;
    blob->offset = t->offset;
  }
  return v;
}

static void make_initializer(fe_scope *s, fe_slot *slot) {
  fe_import *im = s->im;
  fe_tensor t;
  fe_status ok =
      slot->tensor
          ? fe_tensor_read(im->source, (fe_where){0}, slot->tensor, &t)
          : fe_tensor_read_sparse(im->source, (fe_where){0}, slot->sparse, &t);
  if (ok != FE_OK)
    return;
  im->ir->loc = fe_loc_name(im->ir, t.name);
  slot->value = fe_import_tensor(im, &t);
}

static void make_initializers(fe_scope *s) {
  for (size_t i = 0; i < s->values.n; i++) {
    fe_slot *slot = s->values.entries[i].value;
    if (slot->used && (slot->tensor || slot->sparse))
      make_initializer(s, slot);
  }
}

/// Nodes from number `from` on, then the body's results.
static fe_status make_nodes(fe_scope *s, size_t from, MlirValue *out) {
  const fe_body *b = s->body;
  for (size_t i = from; i < s->order->n; i++) {
    s->at = i;
    if (fe_node_import(s, FE_PROTO_AT(NodeProto, b->nodes, s->order->at[i])) !=
            FE_OK &&
        s->im->nodes > FE_IMPORT_MAX_NODES)
      return FE_FAILED;
    if (s->rest) {
      if (b->n_out)
        memcpy(out, s->rest, b->n_out * sizeof(*out));
      s->rest = NULL;
      return FE_OK;
    }
  }
  for (size_t i = 0; i < b->n_out; i++) {
    const fe_slot *slot = fe_scope_find(s, b->out[i]);
    out[i] = slot ? slot->value : (MlirValue){0};
    if (!fe_is_null(out[i]))
      continue;
    if (s->im->diags->errors == s->im->errors) // else that is why
      fe_error(s->im->diags, (fe_where){0}, NULL,
               "the output '%s' of the %s '%s' has no value", b->out[i],
               b->what, b->name);
    return FE_FAILED;
  }
  return FE_OK;
}

fe_status fe_rest_make(const fe_call_site *c, const MlirValue *values,
                       MlirValue *out) {
  fe_scope *s = c->scope;
  for (size_t i = 0; i < c->n_out; i++) {
    const char *name = FE_NAME_AT(c->node->output, i);
    if (*name)
      fe_scope_add(s, name)->value = values[i];
  }
  size_t at = s->at;
  fe_status made = make_nodes(s, at + 1, out);
  s->at = at;
  return made;
}

fe_status fe_body_make_ordered(fe_scope *s, const fe_body *b,
                               const fe_order *order, const MlirValue *in,
                               MlirValue *out) {
  unsigned errors = s->im->diags->errors;
  for (size_t i = 0; i < b->n_in; i++) {
    fe_slot *slot = fe_map_get(&s->values, b->in[i]);
    slot->value = fe_named_apart(s->im, b->in[i], in[i]);
    // An optional input of a function that the call leaves out.
    slot->absent = fe_is_null(in[i]);
  }
  make_initializers(s);
  s->body = b;
  s->order = order;
  if (make_nodes(s, 0, out) != FE_OK)
    return FE_FAILED;
  return s->im->diags->errors == errors ? FE_OK : FE_FAILED;
}

fe_status fe_body_make(fe_scope *s, const fe_body *b, const MlirValue *in,
                       MlirValue *out) {
  fe_order order;
  if (fe_body_order(s, b, &order) != FE_OK)
    return FE_FAILED;
  return fe_body_make_ordered(s, b, &order, in, out);
}
