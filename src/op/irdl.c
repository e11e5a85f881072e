//===- irdl.c - the onnx dialect as IRDL text --------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: one irdl.operation per row that has an op, newest row of a name.
// What IRDL asks for and how it is met:
// - A constraint variable binds to one type per op: each operand, result and
//   attribute gets its own, also each member of a variadic operand.
// - Operand names have no capitals: they are written in lower case, with a
//   number where two become the same.
// - Constraints say "ranked tensor" or the kind of attribute; element types
//   are checked by fe_onnx, with better messages.
//
//===----------------------------------------------------------------------===//
#include "op/signature.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

typedef struct irdl {
  fe_arena *arena;
  fe_buf text;
  unsigned next; // constraint variable of the current op
} irdl;
#define OUT(p, ...) fe_buf_printf((p)->arena, &(p)->text, __VA_ARGS__)

static const struct {
  fe_attr_kind kind;
  const char *base;
} attr_bases[] = {
    {FE_A_INT, "#builtin.integer"},        {FE_A_FLOAT, "#builtin.float"},
    {FE_A_STRING, "#builtin.string"},      {FE_A_INTS, "#builtin.dense_array"},
    {FE_A_FLOATS, "#builtin.dense_array"}, {FE_A_STRINGS, "#builtin.array"},
    {FE_A_TYPE, "#builtin.type"},
};

static unsigned type_constraint(irdl *p, bool any, bool optional) {
  if (any) {
    OUT(p, "    %%%u = irdl.any\n", p->next);
    return p->next++;
  }
  OUT(p, "    %%%u = irdl.base \"!builtin.tensor\"\n", p->next);
  if (!optional)
    return p->next++;
  OUT(p, "    %%%u = irdl.is none\n", p->next + 1);
  OUT(p, "    %%%u = irdl.any_of(%%%u, %%%u)\n", p->next + 2, p->next,
      p->next + 1);
  p->next += 3;
  return p->next - 1;
}

static void lower_name(const fe_sig *sig, unsigned k, char *out) {
  size_t n = 0;
  for (const char *s = sig->at[k].name; *s; ++s)
    out[n++] = (char)tolower((unsigned char)*s);
  out[n] = 0;
  for (unsigned i = 0; i < k; ++i)
    if (!strcasecmp(sig->at[i].name, sig->at[k].name)) {
      out[n++] = (char)('0' + k % 10);
      out[n] = 0;
      return;
    }
}

static void print_args(irdl *p, const fe_op_row *row, const char *text,
                       const char *what, bool results) {
  fe_sig sig;
  fe_sig_parse(text, &sig);
  if (!sig.n)
    return;
  fe_buf list = {0};
  for (unsigned k = 0; k < sig.n; ++k) {
    const fe_sig_arg *a = &sig.at[k];
    bool any = fe_sig_types(row->types, a->var) & FE_SIG_ANY;
    char name[40];
    lower_name(&sig, k, name);
    const char *comma = k ? ", " : "";
    if (!a->variadic) {
      unsigned c = type_constraint(p, any, a->optional && !results);
      fe_buf_printf(p->arena, &list, "%s%s: %%%u", comma, name, c);
      continue;
    }
    for (unsigned i = 0; i < FE_MAX_VARIADIC; ++i) {
      unsigned c = type_constraint(p, any, false);
      fe_buf_printf(p->arena, &list, "%s%s_%u: optional %%%u", i ? ", " : comma,
                    name, i, c);
    }
  }
  OUT(p, "    irdl.%s(%s)\n", what, list.at);
}

static void print_attrs(irdl *p, const fe_op_row *row) {
  fe_buf list = {0};
  for (const fe_attr_def *d = row->attrs; d && d->name; ++d)
    for (size_t k = 0; k < FE_COUNT(attr_bases); ++k)
      if (attr_bases[k].kind == d->kind) {
        OUT(p, "    %%%u = irdl.base \"%s\"\n", p->next, attr_bases[k].base);
        fe_buf_printf(p->arena, &list, "%s\"%s\" = %%%u", list.n ? ", " : "",
                      d->name, p->next++);
      }
  if (list.n)
    OUT(p, "    irdl.attributes {%s}\n", list.at);
}

static const char dialect_begin[] =
    "// The onnx dialect, printed from the operator table.\n"
    "irdl.dialect @onnx {\n"
    "  // An operand that is absent.\n"
    "  irdl.operation @none {\n"
    "    %0 = irdl.is none\n"
    "    irdl.results(result: %0)\n"
    "  }\n"
    "  // Has either `value`, dense elements, or `blob`, the name of data "
    "that\n"
    "  // lies beside the module.\n"
    "  irdl.operation @constant {\n"
    "    %0 = irdl.base \"!builtin.tensor\"\n"
    "    irdl.results(result: %0)\n"
    "  }\n";

char *fe_onnx_irdl(fe_arena *arena) {
  irdl p = {.arena = arena};
  OUT(&p, "%s", dialect_begin);
  for (unsigned f = 0; fe_op_families[f]; ++f)
    for (const fe_op_row *row = fe_op_families[f]; row->name; ++row) {
      // Older rows of a name have no op: nodes are upgraded to the newest.
      if (!fe_row_has_op(row) || fe_op_find(row->domain, row->name, 0) != row)
        continue;
      p.next = 0;
      OUT(&p, "  irdl.operation @%s {\n", fe_op_ir_name(arena, row));
      print_args(&p, row, row->inputs, "operands", false);
      print_args(&p, row, row->outputs, "results", true);
      print_attrs(&p, row);
      OUT(&p, "  }\n");
    }
  OUT(&p, "}\n");
  return p.text.at;
}
