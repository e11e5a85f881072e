//===- survey.c - which operators a model needs ---------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: before anything is made, a walk over the needed nodes, the graphs in
// them and the functions that they call. Each function is visited once per
// import; calls that lead back to a function being visited are reported.
//
//===----------------------------------------------------------------------===//
#include "import/import.h"

#include <string.h>

/// Names of nodes that one message lists.
enum { MAX_SHOWN = 3 };

typedef struct missing {
  const char *domain, *op;
  int opset;
  size_t count;
  const char *node[MAX_SHOWN];
} missing;

typedef struct survey {
  fe_import *im;
  fe_map by_key; // missing
  fe_map visits; // by FunctionProto: &open or &done
  bool failed;
} survey;

static const char open, done; // for their addresses

static void note_missing(survey *v, const onnx_NodeProto *n, int opset) {
  fe_arena *arena = v->im->arena;
  const char *op = n->op_type ? n->op_type : "";
  const char *key = fe_printf(arena, "%s\n%s\n%d", fe_domain(n), op, opset);
  missing *m = fe_map_get(&v->by_key, key);
  if (!m) {
    m = FE_NEW(arena, missing);
    *m = (missing){.domain = fe_domain(n), .op = op, .opset = opset};
    fe_map_set(arena, &v->by_key, key, m);
  }
  if (m->count < MAX_SHOWN)
    m->node[m->count] = fe_node_label(n);
  m->count++;
}

static void visit_list(survey *v, const fe_scope *s, const fe_list *nodes);

static void visit_function(survey *v, const onnx_NodeProto *n,
                           const onnx_FunctionProto *f) {
  const void *state = fe_map_get_ptr(&v->visits, f);
  if (state == &done)
    return;
  if (state == &open) {
    fe_error(v->im->diags,
             (fe_where){.node = fe_node_label(n), .op = n->op_type}, NULL,
             "the function '%s' calls itself", f->name ? f->name : "");
    v->failed = true;
    return;
  }
  if (v->im->calls == FE_IMPORT_MAX_CALLS)
    return; // refused with the call's name when it is inlined
  v->im->calls++;
  fe_map_set_ptr(v->im->arena, &v->visits, f, (void *)&open);
  fe_scope s = {.im = v->im,
                .opsets = f->opset_import.n ? &f->opset_import
                                            : &v->im->model->opset_import};
  visit_list(v, &s, &f->node);
  fe_map_set_ptr(v->im->arena, &v->visits, f, (void *)&done);
  v->im->calls--;
}

static void visit(survey *v, const fe_scope *s, const onnx_NodeProto *n) {
  const char *op = n->op_type ? n->op_type : "";
  const onnx_FunctionProto *f = fe_function_find(v->im, n);
  int opset = fe_scope_opset(s, fe_domain(n));
  if (f)
    visit_function(v, n, f);
  else if (!fe_site_builtin(fe_domain(n), op) &&
           (!opset || !fe_op_find(fe_domain(n), op, opset)))
    note_missing(v, n, opset);
  for (size_t i = 0; i < n->attribute.n; i++) {
    const onnx_AttributeProto *a = FE_PROTO_AT(AttributeProto, n->attribute, i);
    if (a->g)
      visit_list(v, s, &a->g->node);
  }
}

static void visit_list(survey *v, const fe_scope *s, const fe_list *nodes) {
  for (size_t i = 0; i < nodes->n; i++)
    visit(v, s, FE_PROTO_AT(NodeProto, *nodes, i));
}

/// Why there is no row: wrong opset, or not at all.
static const char *reason(fe_arena *arena, const missing *m) {
  if (!m->opset)
    return fe_printf(arena, "the model imports no opset of its domain '%s'",
                     m->domain);
  int first = 0, last = -1;
  for (const fe_op_row *const *family = fe_op_families; *family; family++)
    for (const fe_op_row *row = *family; row->name; row++) {
      const char *domain = row->domain ? row->domain : "";
      if (strcmp(row->name, m->op) || strcmp(domain, m->domain))
        continue;
      first = first && first < row->since ? first : row->since;
      last = !row->until || !last ? 0 : last > row->until ? last : row->until;
    }
  if (last > 0 && m->opset > last)
    return fe_printf(arena, "the operator was removed after opset %d", last);
  if (first && m->opset < first)
    return fe_printf(arena, "the operator exists from opset %d on", first);
  return "the operator is not supported";
}

static void report(survey *v, const missing *m) {
  fe_arena *arena = v->im->arena;
  fe_buf nodes = {0};
  for (size_t i = 0; i < m->count && i < MAX_SHOWN; i++)
    fe_buf_printf(arena, &nodes, "%s'%.100s'", i ? ", " : "", m->node[i]);
  fe_error(v->im->diags, (fe_where){.node = m->node[0], .op = m->op},
           "docs/operators.md lists what is supported; rewrite these nodes "
           "with such operators",
           "%s (domain %s, opset %d): %zu node%s, %s%s", reason(arena, m),
           *m->domain ? m->domain : "ai.onnx", m->opset, m->count,
           m->count == 1 ? "" : "s", nodes.at,
           m->count > MAX_SHOWN ? ", ..." : "");
}

fe_status fe_import_survey(fe_scope *s, const fe_body *b,
                           const fe_order *order) {
  survey v = {.im = s->im};
  for (size_t i = 0; i < order->n; i++)
    visit(&v, s, FE_PROTO_AT(NodeProto, b->nodes, order->at[i]));
  for (size_t i = 0; i < v.by_key.n; i++)
    report(&v, v.by_key.entries[i].value);
  return v.failed || v.by_key.n ? FE_FAILED : FE_OK;
}
