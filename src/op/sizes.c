//===- sizes.c - sizes that inputs must have in common --------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a row says in its field `sizes`: what is known to differ is refused,
// what only the run knows it checks, before anything of the node is computed.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"
#include "op/signature.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 24

/// A size, and where it has been met: dim `at` of an input; input NULL: it is
/// what the word says, a number or an attribute.
typedef struct size {
  const char *word; // n characters
  size_t n;
  MlirAffineExpr dim;
  const char *input;
  MlirValue value;
  unsigned at;
} size;

typedef struct sizes {
  fe_node *n;
  size known[MAX_NAMES];
  unsigned count;
} sizes;

/// The dim as an i64 of the run.
static MlirValue number(fe_ir *ir, const size *s) {
  int64_t fixed = fe_dim_static(s->dim);
  if (fixed != FE_DYN)
    return fe_int(ir, ir->i64, fixed);
  return fe_extract_scalar(
      ir, fe_x_reshape(ir, fe_x_size(ir, s->value, s->at), 0, NULL));
}

static const char *place(const sizes *z, const size *s) {
  fe_arena *arena = z->n->ir->arena;
  if (s->input)
    return fe_printf(arena, "input '%s' (dim %u)", s->input, s->at);
  const char *word = fe_strndup(arena, s->word, s->n);
  return *word == '$' ? fe_printf(arena, "attribute '%s'", word + 1) : word;
}

void fe_node_check(fe_node *n, MlirValue condition, const char *what) {
  fe_ir *ir = n->ir;
  const char *message = fe_printf(ir->arena, "%s '%s': %s", n->row->name,
                                  n->where.node ? n->where.node : "", what);
  FE_OP(ir, "krnl.check", FE_VALUES(condition),
        FE_ATTRS(fe_at_str(ir, "message", message)));
}

static fe_status compare(sizes *z, const size *a, const size *b) {
  fe_node *n = z->n;
  fe_ir *ir = n->ir;
  int64_t x = fe_dim_static(a->dim), y = fe_dim_static(b->dim);
  if (fe_dim_same(a->dim, b->dim) || (b->word[b->n - 1] == '?' && y == 1))
    return FE_OK;
  if (x != FE_DYN && y != FE_DYN)
    return fe_node_error(n, NULL,
                         "the size of %s must be that of %s: it is %lld, not "
                         "%lld",
                         place(z, b), place(z, a), (long long)y, (long long)x);
  MlirValue x_now = number(ir, a), y_now = number(ir, b);
  MlirValue fits = fe_cmp(ir, FE_EQ, x_now, y_now);
  if (b->word[b->n - 1] == '?')
    fits = fe_or(ir, fits, fe_cmp(ir, FE_EQ, y_now, fe_int(ir, ir->i64, 1)));
  fe_node_check(n, fits,
                fe_printf(ir->arena, "the size of %s must be that of %s",
                          place(z, b), place(z, a)));
  return FE_OK;
}

static fe_status meet(sizes *z, size s) {
  size_t n = s.n - (s.word[s.n - 1] == '?');
  for (unsigned i = 0; i < z->count; ++i)
    if (z->known[i].n == n && !memcmp(z->known[i].word, s.word, n))
      return compare(z, &z->known[i], &s);
  s.n = n;
  if (z->count < MAX_NAMES)
    z->known[z->count++] = s;
  return FE_OK;
}

/// "b s $K 4": the dims of an input, if it has as many.
static fe_status read_input(sizes *z, const char *text, size_t length,
                            const char *name, MlirValue v) {
  fe_ir *ir = z->n->ir;
  const char *end = text + length, *at = text;
  unsigned rank = 0;
  fe_dims d;
  for (; at < end; at += strcspn(at, " ,"), ++rank)
    at += strspn(at, " ");
  if (fe_is_null(v) || !mlirTypeIsARankedTensor(mlirValueGetType(v)) ||
      !fe_dims_of(ir, v, &d) || d.rank != rank)
    return FE_OK;
  at = text;
  for (unsigned k = 0; k < rank; ++k) {
    at += strspn(at, " ");
    size s = {at, strcspn(at, " ,"), d.d[k], name, v, k};
    at += s.n;
    if (*s.word == '_')
      continue;
    bool attr = *s.word == '$';
    if (attr || (*s.word >= '0' && *s.word <= '9')) {
      char *word = fe_strndup(ir->arena, s.word + attr, s.n - attr);
      int64_t fixed =
          attr ? fe_node_int(z->n, word, 0) : strtoll(word, NULL, 10);
      size given = {.word = s.word, .n = s.n, .dim = fe_dim_const(ir, fixed)};
      if (fixed > 0 && compare(z, &given, &s) != FE_OK)
        return FE_FAILED;
      continue;
    }
    if (meet(z, s) != FE_OK)
      return FE_FAILED;
  }
  return FE_OK;
}

fe_status fe_node_check_sizes(fe_node *n) {
  sizes z = {.n = n};
  fe_sig sig;
  fe_sig_parse(n->row->inputs, &sig);
  for (const char *at = n->row->sizes; at && *at;) {
    at += strspn(at, " ,");
    size_t name = strcspn(at, ":"), length = strcspn(at + name, ",");
    const char *text = at + name + 1;
    for (unsigned i = 0; i < sig.n && i < n->in.n; ++i)
      if (strlen(sig.at[i].name) == name && !memcmp(sig.at[i].name, at, name) &&
          read_input(&z, text, length - 1, sig.at[i].name, n->in.at[i]) !=
              FE_OK)
        return FE_FAILED;
    at = at + name + length;
  }
  return FE_OK;
}
