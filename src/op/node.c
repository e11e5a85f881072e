//===- node.c - editing nodes on their way into the IR -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the `upgrade` functions of rows use to bring a node of an old opset
// into the newest form, and the step from a node to its op.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"
#include "op/signature.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

fe_node_attr *fe_node_attr_find(fe_node *n, const char *name) {
  for (size_t i = 0; i < n->attrs.n; ++i)
    if (!strcmp(n->attrs.at[i].name, name))
      return &n->attrs.at[i];
  return NULL;
}

void fe_node_attr_remove(fe_node *n, const char *name) {
  fe_node_attr *a = fe_node_attr_find(n, name);
  if (!a)
    return;
  size_t i = (size_t)(a - n->attrs.at);
  memmove(a, a + 1, (n->attrs.n - i - 1) * sizeof *a);
  --n->attrs.n;
}

/// The attribute, emptied; a new one when there is none.
static fe_node_attr *fresh_attr(fe_node *n, const char *name,
                                fe_attr_kind kind) {
  fe_node_attr *a = fe_node_attr_find(n, name);
  if (!a) {
    fe_push(n->ir->arena, &n->attrs, (fe_node_attr){0});
    a = &n->attrs.at[n->attrs.n - 1];
  }
  *a = (fe_node_attr){.name = name, .kind = kind};
  return a;
}

void fe_node_set_int(fe_node *n, const char *name, int64_t v) {
  fresh_attr(n, name, FE_A_INT)->i = v;
}

void fe_node_set_ints(fe_node *n, const char *name, unsigned count,
                      const int64_t *v) {
  int64_t *own = fe_memdup(n->ir->arena, v, count * sizeof *v);
  fe_node_attr *a = fresh_attr(n, name, FE_A_INTS);
  a->ints = own;
  a->n = count;
}

void fe_node_set_str(fe_node *n, const char *name, const char *v) {
  const char *own = fe_strdup(n->ir->arena, v);
  fe_node_attr *a = fresh_attr(n, name, FE_A_STRING);
  a->s = own;
  a->n = strlen(own);
}

static void set_input(fe_node *n, unsigned index, MlirValue v) {
  while (n->in.n <= index)
    fe_push(n->ir->arena, &n->in, (MlirValue){0});
  n->in.at[index] = v;
}

void fe_node_input_ints(fe_node *n, unsigned index, unsigned count,
                        const int64_t *v) {
  set_input(n, index, fe_constant_i64s(n->ir, count, v));
}

void fe_node_input_scalar(fe_node *n, unsigned index, fe_dtype t, double v) {
  set_input(n, index, fe_constant_scalar(n->ir, t, v));
}

void fe_node_attr_to_input(fe_node *n, const char *name, unsigned index,
                           fe_dtype t) {
  fe_node_attr *a = fe_node_attr_find(n, name);
  if (!a)
    return;
  if (a->kind == FE_A_INTS)
    fe_node_input_ints(n, index, (unsigned)a->n, a->ints);
  else if (a->kind == FE_A_INT)
    fe_node_input_scalar(n, index, t, (double)a->i);
  else if (a->kind == FE_A_FLOAT)
    fe_node_input_scalar(n, index, t, a->f);
  fe_node_attr_remove(n, name);
}

//===-- From node to op -----------------------------------------------------//

static bool to_ir_attr(fe_node *n, const fe_node_attr *a,
                       MlirNamedAttribute *out) {
  fe_ir *ir = n->ir;
  switch (a->kind) {
  case FE_A_INT:
    *out = fe_at_i64(ir, a->name, a->i);
    return true;
  case FE_A_FLOAT:
    *out = fe_at_f32(ir, a->name, a->f);
    return true;
  case FE_A_STRING:
    *out = fe_at_str(ir, a->name, a->s ? a->s : "");
    return true;
  case FE_A_INTS:
    *out = fe_at_i64s(ir, a->name, (unsigned)a->n, a->ints);
    return true;
  case FE_A_FLOATS:
    *out = fe_at_f32s(ir, a->name, (unsigned)a->n, a->floats);
    return true;
  case FE_A_STRINGS:
    *out = fe_at_strs(ir, a->name, (unsigned)a->n, a->strings);
    return true;
  case FE_A_TYPE:
    *out = fe_at_type(ir, a->name, a->type);
    return true;
  case FE_A_TENSOR:
  case FE_A_GRAPH:
    break;
  }
  return false;
}

static const char *const kind_names[] = {
    "an integer",         "a float",          "a string",
    "a list of integers", "a list of floats", "a list of strings",
    "a tensor",           "a graph",          "a type"};

//===-- Enumerations --------------------------------------------------------//

typedef struct fe_choice {
  const char *at;
  size_t n;
} fe_choice;

/// Goes on to the next value of an enumeration; false: there is none.
static bool next_choice(const char **rest, fe_choice *out) {
  if (!**rest)
    return false;
  *out = (fe_choice){*rest, strcspn(*rest, "|")};
  *rest += out->n + ((*rest)[out->n] == '|');
  return true;
}

static bool is_range(const fe_choice *c) {
  return c->n > 2 && !memcmp(c->at + c->n - 2, "..", 2);
}

static bool admits(const fe_choice *c, const fe_node_attr *a) {
  if (a->kind == FE_A_STRING)
    return a->n == c->n && !memcmp(a->s, c->at, c->n);
  int64_t n = strtoll(c->at, NULL, 10);
  return a->i == n || (is_range(c) && a->i > n);
}

static const char *choices_text(fe_arena *arena, const fe_attr_def *d) {
  fe_buf b = {0};
  fe_choice c;
  for (const char *rest = d->def + (*d->def == '|'); next_choice(&rest, &c);)
    fe_buf_printf(arena, &b, "%s%.*s%s", b.n ? ", " : "",
                  (int)(is_range(&c) ? c.n - 2 : c.n), c.at,
                  is_range(&c) ? " or more" : "");
  return b.at;
}

/// The value of an attribute with an enumeration must be one of it.
static fe_status check_choice(const fe_node *n, fe_where where,
                              const fe_node_attr *a, const fe_attr_def *d) {
  bool listed = a->kind == FE_A_STRING || a->kind == FE_A_INT;
  const char *rest = d->def;
  if (!listed || !rest || !(strchr(rest, '|') || strstr(rest, "..")))
    return FE_OK;
  fe_choice c;
  for (rest += *rest == '|'; next_choice(&rest, &c);)
    if (admits(&c, a))
      return FE_OK;
  const char *hint =
      fe_printf(n->ir->arena, "it can be: %s", choices_text(n->ir->arena, d));
  if (a->kind == FE_A_STRING)
    return fe_error(n->ir->diags, where, hint, "attribute '%s' cannot be '%s'",
                    a->name, a->s ? a->s : "");
  return fe_error(n->ir->diags, where, hint,
                  "attribute '%s' cannot be %" PRId64, a->name, a->i);
}

/// What the row does not know must be gone after the upgrade.
static fe_status check_attrs(fe_node *n) {
  for (size_t i = 0; i < n->attrs.n; ++i) {
    const fe_node_attr *a = &n->attrs.at[i];
    const fe_attr_def *d = n->row->attrs;
    while (d && d->name && strcmp(d->name, a->name))
      ++d;
    fe_where where = n->where;
    where.op = n->row->name;
    where.attr = a->name;
    if (!d || !d->name)
      return fe_error(n->ir->diags, where, NULL,
                      "the operator has no attribute '%s'", a->name);
    // An empty list has no kind of its own in the file.
    bool list = a->kind == FE_A_INTS || a->kind == FE_A_FLOATS ||
                a->kind == FE_A_STRINGS;
    if (a->kind != d->kind && !(list && !a->n))
      return fe_error(n->ir->diags, where, NULL,
                      "attribute '%s' is %s but must be %s", a->name,
                      kind_names[a->kind], kind_names[d->kind]);
    n->attrs.at[i].kind = d->kind;
    if (check_choice(n, where, a, d))
      return FE_FAILED;
  }
  return FE_OK;
}

/// Messages about the operators that a node is made of name its own.
static fe_status expand(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  const char *outer = ir->expanding;
  if (!outer) {
    ir->expanding = n->row->name;
    ir->errors_before = ir->diags->errors;
  }
  fe_status status = n->row->expand(n, results);
  ir->expanding = outer;
  return status;
}

fe_status fe_node_make(fe_node *n, MlirValue *results) {
  memset(results, 0, n->n_out * sizeof *results);
  unsigned errors = n->ir->diags->errors;
  fe_node_attr_remove(n, "consumed_inputs"); // of opset 1, never had a meaning
  if (n->row->upgrade && n->row->upgrade(n))
    return FE_FAILED;
  if (check_attrs(n) || (n->row->sizes && fe_node_check_sizes(n)))
    return FE_FAILED;
  if (n->row->expand) {
    if (expand(n, results) || n->ir->diags->errors != errors)
      return FE_FAILED;
    if (!n->n_out || !fe_is_null(results[0]))
      return FE_OK;
  }
  MlirNamedAttribute *attrs =
      FE_NEW_N(n->ir->arena, MlirNamedAttribute, n->attrs.n + 1);
  unsigned n_attrs = 0;
  for (size_t i = 0; i < n->attrs.n; ++i)
    n_attrs += to_ir_attr(n, &n->attrs.at[i], &attrs[n_attrs]);
  MlirOperation op =
      fe_onnx(n->ir, fe_op_ir_name(n->ir->arena, n->row), (unsigned)n->in.n,
              n->in.at, n->n_out, n_attrs, attrs);
  if (mlirOperationIsNull(op))
    return FE_FAILED;
  for (unsigned i = 0; i < n->n_out; ++i)
    results[i] = fe_result(op, i);
  return FE_OK;
}
