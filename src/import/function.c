//===- function.c - functions of the model --------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: a call makes the nodes of the function's body in its place, in a
// scope without outer names. A function wins over an operator of the same name:
// the model's author has said what is meant.
//
//===----------------------------------------------------------------------===//
#include "import/import.h"

#include <string.h>

/// Functions of one name; they differ in domain or overload.
typedef struct function {
  const onnx_FunctionProto *proto;
  struct function *next;
} function;

static bool same_text(const char *a, const char *b) {
  return !strcmp(a ? a : "", b ? b : "");
}

static const onnx_FunctionProto *find(const fe_import *im, const char *name,
                                      const char *domain,
                                      const char *overload) {
  const function *f = fe_map_get(&im->functions, name ? name : "");
  for (; f; f = f->next)
    if (same_text(f->proto->domain, domain) &&
        same_text(f->proto->overload, overload))
      return f->proto;
  return NULL;
}

fe_status fe_functions_index(fe_import *im) {
  const fe_list *list = &im->model->functions;
  for (size_t i = 0; i < list->n; i++) {
    const onnx_FunctionProto *p = FE_PROTO_AT(FunctionProto, *list, i);
    const char *name = p->name ? p->name : "";
    if (find(im, name, p->domain, p->overload))
      return fe_error(im->diags, (fe_where){.op = name}, NULL,
                      "the model has two functions '%s' in domain '%s'", name,
                      p->domain ? p->domain : "");
    function *f = FE_NEW(im->arena, function);
    *f = (function){p, fe_map_get(&im->functions, name)};
    fe_map_set(im->arena, &im->functions, name, f);
  }
  return FE_OK;
}

const onnx_FunctionProto *fe_function_find(const fe_import *im,
                                           const onnx_NodeProto *n) {
  return im->functions.n ? find(im, n->op_type, n->domain, n->overload) : NULL;
}

/// What the body's references to attributes mean: the call's attributes, then
/// the function's defaults.
static void bind_attrs(fe_scope *s, const fe_call_site *c,
                       const onnx_FunctionProto *f) {
  fe_arena *arena = s->im->arena;
  for (size_t i = 0; i < c->n_attrs; i++)
    fe_push(arena, &s->attrs, c->attrs[i]);
  for (size_t i = 0; i < f->attribute_proto.n; i++) {
    const onnx_AttributeProto *a =
        FE_PROTO_AT(AttributeProto, f->attribute_proto, i);
    if (a->name && !fe_site_attr(c, a->name))
      fe_push(arena, &s->attrs, ((fe_bound_attr){a->name, a, s}));
  }
}

fe_status fe_function_inline(fe_call_site *c, const onnx_FunctionProto *f) {
  fe_import *im = c->scope->im;
  fe_body b = fe_body_of_function(f);
  if (c->n_in > b.n_in || c->n_out > b.n_out)
    return fe_error(im->diags, c->where, NULL,
                    "the call has %zu inputs and %zu outputs, the function "
                    "only %zu and %zu",
                    c->n_in, c->n_out, b.n_in, b.n_out);
  if (im->calls == FE_IMPORT_MAX_CALLS)
    return fe_error(im->diags, c->where, NULL,
                    "functions call each other more than %d deep",
                    FE_IMPORT_MAX_CALLS);
  b.n_out = c->n_out; // the rest is not needed
  fe_scope *s = FE_NEW(im->arena, fe_scope);
  *s = (fe_scope){.im = im,
                  .opsets = f->opset_import.n ? &f->opset_import
                                              : &im->model->opset_import,
                  .prefix = fe_printf(im->arena, "%.400s/", c->where.node),
                  .inlined_in = c};
  bind_attrs(s, c, f);
  MlirValue *in = FE_NEW_N(im->arena, MlirValue, b.n_in);
  if (c->n_in)
    memcpy(in, c->in, c->n_in * sizeof(*in));
  im->calls++;
  fe_status ok = fe_body_make(s, &b, in, c->out);
  im->calls--;
  return ok;
}
