//===- order.c - which nodes of a graph are needed, in which order --------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: producers by name; a walk from the outputs marks the nodes that are
// needed; a depth-first walk in the file's order then puts each node after
// those it depends on, which leaves a file that is sorted as it is, and finds
// cycles. Both walks are iterative: graphs may be long. What the graphs inside
// a node (If, Loop, Scan) take from outside counts as its inputs.
//
//===----------------------------------------------------------------------===//
#include "import/import.h"

#include <string.h>

typedef struct order {
  fe_scope *s;
  const fe_body *b;
  fe_map producers;      // name: node number + 1
  fe_vec(uint32_t) deps; // of all nodes, one after the other
  size_t *first_dep;     // of each node; NONE: not gathered
  size_t *end_dep;
  uint8_t *state;
  fe_vec(uint32_t) stack;
  fe_vec(size_t) cursor; // next dependency of each node on the stack
  fe_vec(uint32_t) sorted;
  const onnx_NodeProto *node; // being looked at, for messages
  fe_map undefined;           // names reported
  bool failed;
} order;

enum { NEEDED = 1, OPEN = 2, DONE = 4 };
#define NONE SIZE_MAX

static const onnx_NodeProto *node_at(const order *o, size_t i) {
  return FE_PROTO_AT(NodeProto, o->b->nodes, i);
}

static fe_where where_node(const onnx_NodeProto *n) {
  return n ? (fe_where){.node = fe_node_label(n), .op = n->op_type}
           : (fe_where){0};
}

static void twice(order *o, const onnx_NodeProto *n, const char *name) {
  fe_error(o->s->im->diags, where_node(n), "every value needs its own name",
           "the value '%s' is defined twice", name);
  o->failed = true;
}

static void declare(order *o) {
  const fe_body *b = o->b;
  const onnx_GraphProto *g = b->graph;
  fe_map is_input = {0};
  for (size_t i = 0; i < b->n_in; i++) {
    if (fe_map_get(&o->s->values, b->in[i]))
      twice(o, NULL, b->in[i]);
    fe_scope_add(o->s, b->in[i]);
    fe_map_set(o->s->im->arena, &is_input, b->in[i], o);
  }
  for (size_t i = 0; g && i < g->initializer.n; i++) {
    const onnx_TensorProto *t = FE_PROTO_AT(TensorProto, g->initializer, i);
    const char *name = t->name ? t->name : "";
    if (fe_map_get(&is_input, name))
      continue; // a default that the caller's value replaces
    if (fe_map_get(&o->s->values, name))
      twice(o, NULL, name);
    fe_scope_add(o->s, name)->tensor = t;
  }
  for (size_t i = 0; g && i < g->sparse_initializer.n; i++) {
    const onnx_SparseTensorProto *t =
        FE_PROTO_AT(SparseTensorProto, g->sparse_initializer, i);
    const char *name = t->values && t->values->name ? t->values->name : "";
    if (fe_map_get(&o->s->values, name))
      twice(o, NULL, name);
    fe_scope_add(o->s, name)->sparse = t;
  }
  for (size_t i = 0; i < b->nodes.n; i++) {
    const onnx_NodeProto *n = node_at(o, i);
    for (size_t k = 0; k < n->output.n; k++) {
      const char *name = FE_NAME_AT(n->output, k);
      if (!*name)
        continue;
      if (fe_map_get(&o->producers, name) || fe_map_get(&o->s->values, name))
        twice(o, n, name);
      fe_map_set(o->s->im->arena, &o->producers, name,
                 (void *)(uintptr_t)(i + 1));
    }
  }
}

/// A name that is used: of a node here, of an input, or of an outer scope.
static void use(order *o, const char *name) {
  if (!*name)
    return;
  uintptr_t producer = (uintptr_t)fe_map_get(&o->producers, name);
  if (producer) {
    fe_push(o->s->im->arena, &o->deps, (uint32_t)(producer - 1));
    return;
  }
  fe_slot *slot = fe_map_get(&o->s->values, name);
  if (slot) {
    slot->used = true;
    return;
  }
  if (fe_scope_find(o->s, name) || fe_map_get(&o->undefined, name))
    return;
  fe_map_set(o->s->im->arena, &o->undefined, name, o);
  o->failed = true;
  if (o->node)
    fe_error(o->s->im->diags, where_node(o->node), NULL,
             "the input '%s' is made by no node and is no input of the %s",
             name, o->b->what);
  else
    fe_error(o->s->im->diags, (fe_where){0}, NULL,
             "the output '%s' of the %s is made by no node", name, o->b->what);
}

/// Names of enclosing scopes as a linked list of what each inner graph defines.
typedef struct hidden {
  const struct hidden *outer;
  fe_map names;
} hidden;

static bool is_hidden(const hidden *h, const char *name) {
  for (; h; h = h->outer)
    if (fe_map_get(&h->names, name))
      return true;
  return false;
}

static void use_inner(order *o, const onnx_GraphProto *g, const hidden *outer);

static void use_text(order *o, fe_raw text, const hidden *h) {
  const char *name = fe_strndup(o->s->im->arena, (const char *)text.at, text.n);
  if (!is_hidden(h, name))
    use(o, name);
}

static void use_node(order *o, const onnx_NodeProto *n, const hidden *h) {
  for (size_t k = 0; k < n->input.n; k++)
    if (!is_hidden(h, FE_NAME_AT(n->input, k)))
      use(o, FE_NAME_AT(n->input, k));
  for (size_t k = 0; k < n->attribute.n; k++) {
    const onnx_AttributeProto *a = FE_PROTO_AT(AttributeProto, n->attribute, k);
    if (a->g)
      use_inner(o, a->g, h);
    if (!fe_names_values(n))
      continue;
    if (a->s.n)
      use_text(o, a->s, h);
    for (size_t i = 0; i < a->strings.n; i++)
      use_text(o, FE_RAW_AT(a->strings, i), h);
  }
}

static void use_inner(order *o, const onnx_GraphProto *g, const hidden *outer) {
  fe_arena *arena = o->s->im->arena;
  hidden h = {.outer = outer};
  for (size_t i = 0; i < g->input.n; i++) {
    const onnx_ValueInfoProto *v = FE_PROTO_AT(ValueInfoProto, g->input, i);
    fe_map_set(arena, &h.names, v->name ? v->name : "", o);
  }
  for (size_t i = 0; i < g->initializer.n; i++) {
    const onnx_TensorProto *t = FE_PROTO_AT(TensorProto, g->initializer, i);
    fe_map_set(arena, &h.names, t->name ? t->name : "", o);
  }
  for (size_t i = 0; i < g->sparse_initializer.n; i++) {
    const onnx_SparseTensorProto *t =
        FE_PROTO_AT(SparseTensorProto, g->sparse_initializer, i);
    if (t->values && t->values->name)
      fe_map_set(arena, &h.names, t->values->name, o);
  }
  for (size_t i = 0; i < g->node.n; i++) {
    const onnx_NodeProto *n = FE_PROTO_AT(NodeProto, g->node, i);
    for (size_t k = 0; k < n->output.n; k++)
      fe_map_set(arena, &h.names, FE_NAME_AT(n->output, k), o);
  }
  for (size_t i = 0; i < g->node.n; i++)
    use_node(o, FE_PROTO_AT(NodeProto, g->node, i), &h);
  for (size_t i = 0; i < g->output.n; i++) {
    const onnx_ValueInfoProto *v = FE_PROTO_AT(ValueInfoProto, g->output, i);
    if (v->name && !is_hidden(&h, v->name))
      use(o, v->name);
  }
}

static void gather_deps(order *o, size_t i) {
  if (o->first_dep[i] != NONE)
    return;
  o->node = node_at(o, i);
  o->first_dep[i] = o->deps.n;
  use_node(o, o->node, NULL);
  o->end_dep[i] = o->deps.n;
}

static void need(order *o, uint32_t i) {
  if (o->state[i] & NEEDED)
    return;
  o->state[i] |= NEEDED;
  fe_push(o->s->im->arena, &o->stack, i);
}

static void mark_needed(order *o) {
  for (size_t k = 0; k < o->b->n_out; k++) {
    size_t before = o->deps.n;
    o->node = NULL;
    use(o, o->b->out[k]);
    if (o->deps.n > before)
      need(o, o->deps.at[before]);
  }
  while (o->stack.n) {
    uint32_t i = o->stack.at[--o->stack.n];
    gather_deps(o, i);
    for (size_t k = o->first_dep[i]; k < o->end_dep[i]; k++)
      need(o, o->deps.at[k]);
  }
}

static void report_cycle(order *o, uint32_t from) {
  fe_arena *arena = o->s->im->arena;
  fe_buf text = {0};
  size_t start = o->stack.n;
  while (o->stack.at[--start] != from)
    ;
  // A dependency is deeper on the stack: read backwards, data flows forwards.
  fe_buf_printf(arena, &text, "%s", fe_node_label(node_at(o, from)));
  size_t shown = 0;
  for (size_t i = o->stack.n; i-- > start; shown++) {
    if (shown == 8) {
      fe_buf_printf(arena, &text, " -> ...");
      break;
    }
    fe_buf_printf(arena, &text, " -> %s",
                  fe_node_label(node_at(o, o->stack.at[i])));
  }
  fe_error(o->s->im->diags, where_node(node_at(o, from)), NULL,
           "the nodes form a cycle: %s", text.at);
  o->failed = true;
}

static void open_node(order *o, uint32_t i) {
  o->state[i] |= OPEN;
  fe_push(o->s->im->arena, &o->stack, i);
  fe_push(o->s->im->arena, &o->cursor, o->first_dep[i]);
}

static void sort(order *o) {
  for (uint32_t root = 0; root < o->b->nodes.n && !o->failed; root++) {
    if (o->state[root] != NEEDED)
      continue;
    open_node(o, root);
    while (o->stack.n && !o->failed) {
      uint32_t i = o->stack.at[o->stack.n - 1];
      size_t *next = &o->cursor.at[o->cursor.n - 1];
      if (*next == o->end_dep[i]) {
        o->state[i] |= DONE;
        o->stack.n--;
        o->cursor.n--;
        fe_push(o->s->im->arena, &o->sorted, i);
        continue;
      }
      uint32_t dep = o->deps.at[(*next)++];
      if (o->state[dep] & DONE)
        continue;
      if (o->state[dep] & OPEN)
        report_cycle(o, dep);
      else
        open_node(o, dep);
    }
  }
}

fe_status fe_body_order(fe_scope *s, const fe_body *b, fe_order *out) {
  order o = {.s = s, .b = b};
  fe_arena *arena = s->im->arena;
  size_t n = b->nodes.n;
  o.first_dep = FE_NEW_N(arena, size_t, n);
  o.end_dep = FE_NEW_N(arena, size_t, n);
  o.state = FE_NEW_N(arena, uint8_t, n);
  for (size_t i = 0; i < n; i++)
    o.first_dep[i] = NONE;
  declare(&o);
  if (!o.failed)
    mark_needed(&o);
  if (!o.failed)
    sort(&o);
  out->at = o.sorted.at;
  out->n = o.sorted.n;
  return o.failed ? FE_FAILED : FE_OK;
}
