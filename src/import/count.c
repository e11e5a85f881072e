//===- count.c - the operators of a model, with counts --------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "import/count.h"

#include "import/import.h"

#include <stdlib.h>
#include <string.h>

typedef struct fe_counting {
  fe_arena *arena;
  const onnx_ModelProto *model;
  fe_model_counts *out;
  fe_map by_key; // 1 + position
} fe_counting;

static int opset_of(const onnx_ModelProto *m, const char *domain) {
  for (size_t i = 0; i < m->opset_import.n; i++) {
    const onnx_OperatorSetIdProto *o =
        FE_PROTO_AT(OperatorSetIdProto, m->opset_import, i);
    const char *name = o->domain ? o->domain : "";
    if (!strcmp(name, "ai.onnx"))
      name = "";
    if (!strcmp(name, domain))
      return (int)o->version;
  }
  return 0;
}

static bool is_function(const onnx_ModelProto *m, const onnx_NodeProto *n) {
  for (size_t i = 0; i < m->functions.n; i++) {
    const onnx_FunctionProto *f = FE_PROTO_AT(FunctionProto, m->functions, i);
    if (f->name && n->op_type && !strcmp(f->name, n->op_type) &&
        !strcmp(f->domain ? f->domain : "", n->domain ? n->domain : ""))
      return true;
  }
  return false;
}

static void count_list(fe_counting *c, const fe_list *nodes) {
  for (size_t i = 0; i < nodes->n; i++) {
    const onnx_NodeProto *n = FE_PROTO_AT(NodeProto, *nodes, i);
    const char *op = n->op_type ? n->op_type : "", *domain = fe_domain(n);
    const char *key = fe_printf(c->arena, "%s\n%s", domain, op);
    uintptr_t at = (uintptr_t)fe_map_get(&c->by_key, key);
    if (!at) {
      int opset = opset_of(c->model, domain);
      fe_op_count fresh = {.domain = domain,
                           .name = op,
                           .opset = opset,
                           .supported =
                               is_function(c->model, n) ||
                               fe_site_builtin(domain, op) ||
                               (opset && fe_op_find(domain, op, opset))};
      fe_push(c->arena, &c->out->ops, fresh);
      at = c->out->ops.n;
      fe_map_set(c->arena, &c->by_key, key, (void *)at);
    }
    c->out->ops.at[at - 1].count++;
    for (size_t k = 0; k < n->attribute.n; k++) {
      const onnx_AttributeProto *a =
          FE_PROTO_AT(AttributeProto, n->attribute, k);
      if (a->g)
        count_list(c, &a->g->node);
    }
  }
}

static int by_count(const void *a, const void *b) {
  const fe_op_count *x = a, *y = b;
  if (x->count != y->count)
    return x->count < y->count ? 1 : -1;
  return strcmp(x->name, y->name);
}

fe_status fe_count_ops(fe_diags *d, fe_arena *arena, const char *path,
                       const uint8_t *data, size_t size, fe_model_counts *out) {
  onnx_ModelProto *model;
  memset(out, 0, sizeof *out);
  if (fe_proto_model(d, arena, path, data, size, &model) != FE_OK)
    return FE_FAILED;
  fe_counting c = {.arena = arena, .model = model, .out = out};
  out->ir_version = model->ir_version;
  out->producer = fe_printf(
      arena, "%s%s%s", model->producer_name ? model->producer_name : "",
      model->producer_version && *model->producer_version ? " " : "",
      model->producer_version ? model->producer_version : "");
  if (model->graph)
    count_list(&c, &model->graph->node);
  for (size_t i = 0; i < model->functions.n; i++)
    count_list(&c, &FE_PROTO_AT(FunctionProto, model->functions, i)->node);
  if (out->ops.n)
    qsort(out->ops.at, out->ops.n, sizeof *out->ops.at, by_count);
  return FE_OK;
}
