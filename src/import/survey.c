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
  if (fe_names_values(n))
    fe_note_named(v->im, n);
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

/// What to do about operators that no row will ever serve; the first that fits.
static const struct {
  const char *domain; // NULL: any
  const char *op;     // NULL: any; "*Name": ends so
  const char *remedy;
} remedies[] = {
    {"com.microsoft", "*BeamSearch",
     "make a model of the graph in its attribute 'decoder' (as exporters write "
     "it without a search) and keep the beams outside, a run per token"},
    {"com.microsoft", "*Search",
     "make a model of the graph in its attribute 'decoder' (as exporters write "
     "it without a search) and choose the tokens outside, a run per token"},
    {"com.microsoft", "Sampling",
     "make a model of the graph in its attribute 'decoder' (as exporters write "
     "it without a search) and draw the tokens outside, a run per token"},
    {"com.microsoft", "*Grad",
     "export the model for inference, or ask for derivatives with Gradient of "
     "ai.onnx.preview.training"},
    {"com.microsoft", "EPContext",
     "take the model from before an execution provider compiled parts of it"},
    {"com.microsoft.nchwc", NULL,
     "save the model without ONNX Runtime's optimization of layouts: at most "
     "at level ORT_ENABLE_EXTENDED"},
    {"com.ms.internal.nhwc", NULL,
     "save the model without ONNX Runtime's optimization of layouts: at most "
     "at level ORT_ENABLE_EXTENDED"},
    {"org.pytorch.aten", NULL,
     "export the model without a fallback to ATen: with the operators of ONNX, "
     "or a function for each that has none"},
    {"ai.onnx.contrib", NULL,
     "leave what belongs to onnxruntime-extensions (tokenizers, images) out of "
     "the model and do it before the run"},
    {"ai.onnx.training", NULL,
     "export the model for inference: the step of training is the caller's"},
    {NULL, NULL,
     "docs/operators.md lists what is supported; rewrite these nodes with such "
     "operators, or add a function of this name and domain to the model that "
     "does"},
};

static bool fits(const char *pattern, const char *text) {
  if (!pattern)
    return true;
  size_t n = strlen(text), part = strlen(pattern);
  if (*pattern != '*')
    return !strcmp(pattern, text);
  return n >= part - 1 && !strcmp(text + n - (part - 1), pattern + 1);
}

static const char *remedy_of(const missing *m) {
  size_t i = 0;
  while (!fits(remedies[i].domain, m->domain) || !fits(remedies[i].op, m->op))
    i++; // the last fits all
  return remedies[i].remedy;
}

static void report(survey *v, const missing *m) {
  fe_arena *arena = v->im->arena;
  fe_buf nodes = {0};
  for (size_t i = 0; i < m->count && i < MAX_SHOWN; i++)
    fe_buf_printf(arena, &nodes, "%s'%.100s'", i ? ", " : "", m->node[i]);
  fe_error(v->im->diags, (fe_where){.node = m->node[0], .op = m->op},
           remedy_of(m), "%s (domain %s, opset %d): %zu node%s, %s%s",
           reason(arena, m), *m->domain ? m->domain : "ai.onnx", m->opset,
           m->count, m->count == 1 ? "" : "s", nodes.at,
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
