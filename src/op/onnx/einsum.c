//===- einsum.c - Einsum -----------------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: operands are combined two by two from the left; a label that neither
// the result nor a later operand has is summed over as soon as it can be. Two
// operands are a matrix product where their labels are batch, row, column and
// inner ones: transposes and reshapes around fe_lower_contract. Everything else
// (diagonals, outer products, dims of size 1) is one generic over all labels.
//
//===----------------------------------------------------------------------===//
#include "op/einsum.h"
#include "op/common.h"

#include <ctype.h>
#include <string.h>

enum { LETTERS = FE_EINSUM_LETTERS, N_LABELS = FE_EINSUM_LABELS };
typedef fe_einsum_term term;
typedef fe_equation equation;

//===-- The equation --------------------------------------------------------//

static bool label_of(char c, unsigned *out) {
  if (!isalpha((unsigned char)c))
    return false;
  *out = islower((unsigned char)c) ? (unsigned)(c - 'a')
                                   : (unsigned)(c - 'A') + 26;
  return true;
}

/// Reads [s, end) for a tensor whose ellipsis has `wide` dims; false:
/// malformed.
static bool parse_term(const char *s, const char *end, unsigned wide, term *t) {
  bool dots = false;
  t->rank = 0;
  while (s < end) {
    unsigned label;
    if (label_of(*s, &label)) {
      if (t->rank == FE_MAX_RANK)
        return false;
      t->label[t->rank++] = label;
      ++s;
      continue;
    }
    if (dots || end - s < 3 || memcmp(s, "...", 3) ||
        t->rank + wide > FE_MAX_RANK)
      return false;
    dots = true;
    for (unsigned i = wide; i-- > 0;)
      t->label[t->rank++] = LETTERS + i;
    s += 3;
  }
  return true;
}

static unsigned letters_in(const char *s, const char *end) {
  unsigned n = 0, label;
  for (; s < end; ++s)
    n += label_of(*s, &label);
  return n;
}

bool fe_einsum_parse(fe_arena *arena, const char *text, unsigned n,
                     const unsigned *rank, fe_equation *q) {
  char *s = fe_strdup(arena, text), *to = s;
  for (const char *p = s; *p; ++p)
    if (*p != ' ')
      *to++ = *p;
  *to = 0;
  const char *arrow = strstr(s, "->"), *end = arrow ? arrow : s + strlen(s);
  unsigned count[N_LABELS] = {0}, wide = 0;
  const char *at = s;
  q->n = n;
  for (unsigned i = 0; i < n; ++i) {
    const char *comma = memchr(at, ',', (size_t)(end - at));
    const char *stop = comma ? comma : end;
    if ((i + 1 < n) != (comma != NULL))
      return false;
    unsigned letters = letters_in(at, stop);
    bool dots = memchr(at, '.', (size_t)(stop - at)) != NULL;
    if (letters > rank[i] || (!dots && letters != rank[i]) ||
        !parse_term(at, stop, rank[i] - letters, &q->in[i]))
      return false;
    wide = rank[i] - letters > wide ? rank[i] - letters : wide;
    for (unsigned d = 0; d < q->in[i].rank; ++d)
      ++count[q->in[i].label[d]];
    at = stop + (stop < end);
  }
  if (arrow) {
    if (!parse_term(arrow + 2, arrow + 2 + strlen(arrow + 2), wide, &q->out))
      return false;
    bool seen[N_LABELS] = {0};
    for (unsigned d = 0; d < q->out.rank; ++d) {
      if (!count[q->out.label[d]] || seen[q->out.label[d]])
        return false;
      seen[q->out.label[d]] = true;
    }
    return true;
  }
  // Implicit: the ellipsis, then what occurs once, capitals first.
  q->out.rank = 0;
  for (unsigned i = wide; i-- > 0;)
    q->out.label[q->out.rank++] = LETTERS + i;
  for (unsigned k = 0; k < LETTERS; ++k) {
    unsigned label = k < 26 ? k + 26 : k - 26;
    if (count[label] != 1)
      continue;
    if (q->out.rank == FE_MAX_RANK)
      return false;
    q->out.label[q->out.rank++] = label;
  }
  return true;
}

bool fe_einsum_has(const fe_einsum_term *t, unsigned label) {
  for (unsigned d = 0; d < t->rank; ++d)
    if (t->label[d] == label)
      return true;
  return false;
}

//===-- Inference -----------------------------------------------------------//

/// The first of the dims with dim k's label; occurs: it is not k.
static unsigned first_of(const term *t, unsigned k) {
  unsigned i = 0;
  while (t->label[i] != t->label[k])
    ++i;
  return i;
}
static bool occurs(const term *t, unsigned k) { return first_of(t, k) != k; }

static fe_status infer_einsum(fe_infer *f) {
  equation q;
  unsigned rank[FE_MAX_VARIADIC];
  fe_dims d[FE_MAX_VARIADIC], out = {0};
  for (unsigned i = 0; i < f->n_in; ++i) {
    if (fe_in_dims(f, i, &d[i]))
      return FE_FAILED;
    rank[i] = d[i].rank;
  }
  const char *text = fe_attr_str(f->ir->arena, f->attrs, "equation", "");
  if (!fe_einsum_parse(f->ir->arena, text, f->n_in, rank, &q))
    return fe_infer_error(f, NULL,
                          "the equation '%s' is malformed or does not fit the "
                          "operands",
                          text);
  MlirAffineExpr size[N_LABELS] = {{0}};
  for (unsigned i = 0; i < q.n; ++i)
    for (unsigned k = 0; k < q.in[i].rank; ++k) {
      MlirAffineExpr e = d[i].d[k], *s = &size[q.in[i].label[k]];
      int64_t a = mlirAffineExprIsNull(*s) ? 1 : fe_dim_static(*s);
      int64_t b = fe_dim_static(e);
      // Operands may have 1, both dims of a diagonal may not.
      int64_t other = occurs(&q.in[i], k)
                          ? fe_dim_static(d[i].d[first_of(&q.in[i], k)])
                      : a == 1 || b == 1 ? b
                                         : a;
      if (other != FE_DYN && b != FE_DYN && other != b)
        return fe_infer_error(f, NULL,
                              "a label of '%s' has sizes %lld and %lld", text,
                              (long long)other, (long long)b);
      if (mlirAffineExprIsNull(*s) || a == 1 ||
          (a == FE_DYN && b != FE_DYN && b != 1))
        *s = e;
      else if (a == FE_DYN && b == FE_DYN && !occurs(&q.in[i], k) &&
               !fe_dim_same(*s, e))
        *s = fe_fresh_dim(f); // either may be 1
    }
  out.rank = q.out.rank;
  for (unsigned k = 0; k < out.rank; ++k)
    out.d[k] = size[q.out.label[k]];
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

//===-- Lowering ------------------------------------------------------------//

/// A tensor and the labels of its dims.
typedef struct labelled {
  MlirValue v;
  term t;
} labelled;

typedef struct einsum {
  fe_lower *l;
  fe_dtype type;
  MlirValue size[N_LABELS];
} einsum;

/// The size of a label that two operands have: both, or one of them is 1.
static MlirValue common_size(fe_lower *l, MlirValue a, MlirValue b) {
  fe_ir *ir = l->ir;
  int64_t x, y;
  bool x_known = fe_size_known(a, &x), y_known = fe_size_known(b, &y);
  if (fe_same(a, b) || (x_known && y_known && x == y) || (y_known && y == 1))
    return a;
  if (x_known && x == 1)
    return b;
  MlirValue one = fe_index(ir, 1), first = fe_cmp(ir, FE_EQ, a, one);
  MlirValue fits = fe_or(ir, first, fe_cmp(ir, FE_EQ, b, one));
  fe_check(l, fe_or(ir, fits, fe_cmp(ir, FE_EQ, a, b)),
           "a label has two different sizes");
  return y_known ? b : x_known ? a : fe_select(ir, first, b, a);
}

/// x with dims that may be 1, as only the run knows, repeated.
static void widen(einsum *e, unsigned operand, labelled *x) {
  fe_lower *l = e->l;
  MlirValue sizes[FE_MAX_RANK];
  bool widens = false;
  fe_sizes_of(l, x->v, sizes);
  for (unsigned k = 0; k < x->t.rank; ++k)
    if (fe_static_dim(x->v, k) == FE_DYN &&
        !fe_same(sizes[k], e->size[x->t.label[k]])) {
      sizes[k] = e->size[x->t.label[k]];
      widens = true;
    }
  if (!widens)
    return;
  l->in[operand] = x->v;
  l->in_type[operand] = e->type;
  x->v = fe_broadcast_to(l, operand, x->t.rank, sizes);
}

/// Sizes of labels; checks at run time what inference could not.
static void find_sizes(einsum *e, unsigned n, const labelled *x) {
  fe_lower *l = e->l;
  for (unsigned i = 0; i < n; ++i)
    for (unsigned k = 0; k < x[i].t.rank; ++k) {
      MlirValue own = fe_size(l, x[i].v, k), *s = &e->size[x[i].t.label[k]];
      int64_t first, second;
      if (fe_is_null(*s)) {
        *s = own;
        continue;
      }
      // Of a diagonal both are the same; what it is in other operands, 1 or
      // not, is checked with the first of them.
      unsigned before = first_of(&x[i].t, k);
      if (before == k)
        *s = common_size(l, *s, own);
      else if (!fe_size_known(own, &first) ||
               !fe_size_known(fe_size(l, x[i].v, before), &second) ||
               first != second)
        fe_check_equal(l, own, fe_size(l, x[i].v, before),
                       "a label has two different sizes");
    }
}

static bool is_one(MlirValue size) {
  int64_t n;
  return fe_size_known(size, &n) && n == 1;
}

/// As a generic over the result's labels and those that are summed over.
static labelled by_generic(einsum *e, unsigned n, const labelled *x,
                           const term *out) {
  fe_lower *l = e->l;
  fe_ir *ir = l->ir;
  unsigned order[N_LABELS], position[N_LABELS], n_iters = 0;
  uint32_t reduced = 0;
  // Sums stand before the last dim of the result, unless that is not the last
  // one of any operand: then the sum has the contiguous rows.
  unsigned last = out->rank ? out->label[out->rank - 1] : N_LABELS;
  bool inside = true;
  for (unsigned i = 0; i < n; ++i)
    if (x[i].t.rank && x[i].t.label[x[i].t.rank - 1] == last)
      inside = false;
  for (unsigned k = 0; k < out->rank; ++k)
    if (inside || k + 1 < out->rank)
      order[n_iters++] = out->label[k];
  for (unsigned label = 0; label < N_LABELS; ++label)
    for (unsigned i = 0; i < n; ++i)
      if (fe_einsum_has(&x[i].t, label) && !fe_einsum_has(out, label)) {
        reduced |= UINT32_C(1) << n_iters;
        order[n_iters++] = label;
        break;
      }
  if (!inside)
    order[n_iters++] = last;
  MlirValue sizes[N_LABELS], in[2];
  MlirAffineMap maps[2];
  fe_dtype types[2] = {e->type, e->type};
  for (unsigned k = 0; k < n_iters; ++k) {
    position[order[k]] = k;
    sizes[k] = e->size[order[k]];
  }
  for (unsigned i = 0; i < n; ++i) {
    MlirAffineExpr at[FE_MAX_RANK];
    for (unsigned k = 0; k < x[i].t.rank; ++k) {
      unsigned label = x[i].t.label[k];
      bool repeats = fe_static_dim(x[i].v, k) == 1 && !is_one(e->size[label]);
      at[k] = repeats ? mlirAffineConstantExprGet(ir->ctx, 0)
                      : mlirAffineDimExprGet(ir->ctx, position[label]);
    }
    in[i] = x[i].v;
    maps[i] = mlirAffineMapGet(ir->ctx, n_iters, 0, x[i].t.rank, at);
  }
  fe_generic *g = fe_generic_begin(l, n_iters, sizes, n, in, types, maps);
  MlirValue v = fe_arg(g, 0);
  if (n == 2)
    v = fe_mul(ir, v, fe_arg(g, 1));
  if (reduced) {
    fe_generic_reduce(g, reduced, false, e->type,
                      fe_number(ir, mlirValueGetType(v), 0));
    v = fe_add(ir, fe_acc(g), v);
  }
  return (labelled){fe_generic_end(g, e->type, v), *out};
}

typedef struct labels {
  unsigned n;
  unsigned at[FE_MAX_RANK];
} labels;

static void add(labels *s, unsigned label) { s->at[s->n++] = label; }

static MlirValue product_of_sizes(einsum *e, const labels *s) {
  fe_ir *ir = e->l->ir;
  if (s->n == 1)
    return e->size[s->at[0]];
  MlirValue p = fe_index(ir, 1);
  int64_t fixed = 1, n;
  bool known = true;
  for (unsigned i = 0; i < s->n; ++i) {
    p = fe_mul(ir, p, e->size[s->at[i]]);
    known &= fe_size_known(e->size[s->at[i]], &n);
    fixed *= known ? n : 1;
  }
  return known ? fe_index(ir, fixed) : p;
}

/// x with its dims in the order of the three lists, each one made one dim.
static MlirValue arranged(einsum *e, const labelled *x, const labels *a,
                          const labels *b, const labels *c) {
  fe_lower *l = e->l;
  const labels *lists[3] = {a, b, c};
  unsigned perm[FE_MAX_RANK];
  MlirValue sizes[FE_MAX_RANK], wide[3], v = x->v;
  unsigned n = 0, rank = 0;
  bool moves = false;
  for (unsigned i = 0; i < 3; ++i) {
    for (unsigned k = 0; k < lists[i]->n; ++k) {
      unsigned from = 0;
      while (x->t.label[from] != lists[i]->at[k])
        ++from;
      moves |= from != n;
      sizes[n] = e->size[lists[i]->at[k]];
      perm[n++] = from;
    }
    if (i || a->n)
      wide[rank++] = product_of_sizes(e, lists[i]);
  }
  if (moves)
    v = fe_lower_transpose(l, v, n, perm, sizes);
  return fe_reshape(l, v, fe_elem_of(v), rank, wide);
}

/// Whether the order of dims of x is a, b, c as it stands.
static bool lies(const labelled *x, const labels *a, const labels *b,
                 const labels *c) {
  const labels *lists[3] = {a, b, c};
  unsigned n = 0;
  for (unsigned i = 0; i < 3; ++i)
    for (unsigned k = 0; k < lists[i]->n; ++k)
      if (x->t.label[n++] != lists[i]->at[k])
        return false;
  return true;
}

static bool has_diagonal_or_one(einsum *e, const labelled *x) {
  for (unsigned k = 0; k < x->t.rank; ++k) {
    if (fe_static_dim(x->v, k) == 1 && !is_one(e->size[x->t.label[k]]))
      return true;
    for (unsigned i = 0; i < k; ++i)
      if (x->t.label[i] == x->t.label[k])
        return true;
  }
  return false;
}

/// As a matrix product; false: it is none.
static bool by_contract(einsum *e, const labelled x[2], const term *out,
                        labelled *result) {
  labels batch = {0}, m = {0}, n = {0}, k = {0};
  const term *a = &x[0].t, *b = &x[1].t;
  if (has_diagonal_or_one(e, &x[0]) || has_diagonal_or_one(e, &x[1]))
    return false;
  for (unsigned d = 0; d < out->rank; ++d) {
    bool in_a = fe_einsum_has(a, out->label[d]),
         in_b = fe_einsum_has(b, out->label[d]);
    add(in_a && in_b ? &batch : in_a ? &m : &n, out->label[d]);
  }
  for (unsigned d = 0; d < a->rank; ++d)
    if (!fe_einsum_has(out, a->label[d])) {
      if (!fe_einsum_has(b, a->label[d]))
        return false; // a sum over one operand
      add(&k, a->label[d]);
    }
  for (unsigned d = 0; d < b->rank; ++d)
    if (!fe_einsum_has(out, b->label[d]) && !fe_einsum_has(a, b->label[d]))
      return false;
  if (!k.n || (!m.n && !n.n))
    return false;
  bool trans_a = !lies(&x[0], &batch, &m, &k) && lies(&x[0], &batch, &k, &m);
  bool trans_b = !lies(&x[1], &batch, &k, &n) && lies(&x[1], &batch, &n, &k);
  MlirValue va =
      arranged(e, &x[0], &batch, trans_a ? &k : &m, trans_a ? &m : &k);
  MlirValue vb =
      arranged(e, &x[1], &batch, trans_b ? &n : &k, trans_b ? &k : &n);
  MlirValue sizes[3], dims[FE_MAX_RANK];
  unsigned rank = 0, count = 0;
  if (batch.n)
    sizes[rank++] = product_of_sizes(e, &batch);
  sizes[rank++] = product_of_sizes(e, &m);
  sizes[rank++] = product_of_sizes(e, &n);
  MlirValue v =
      fe_lower_product(e->l, va, trans_a, vb, trans_b, e->type, rank, sizes);
  const labels *lists[3] = {&batch, &m, &n};
  for (unsigned i = 0; i < 3; ++i)
    for (unsigned d = 0; d < lists[i]->n; ++d) {
      dims[count] = e->size[lists[i]->at[d]];
      result->t.label[count++] = lists[i]->at[d];
    }
  result->t.rank = count;
  result->v = fe_reshape(e->l, v, fe_elem_of(v), count, dims);
  return true;
}

/// The result's labels in its order.
static labelled permuted(einsum *e, const labelled *x, const term *out) {
  unsigned perm[FE_MAX_RANK];
  MlirValue sizes[FE_MAX_RANK];
  bool moves = false;
  for (unsigned d = 0; d < out->rank; ++d) {
    unsigned from = 0;
    while (x->t.label[from] != out->label[d])
      ++from;
    perm[d] = from;
    moves |= from != d;
    sizes[d] = e->size[out->label[d]];
  }
  return moves ? (labelled){fe_lower_transpose(e->l, x->v, out->rank, perm,
                                               sizes),
                            *out}
               : *x;
}

static fe_status lower_einsum(fe_lower *l) {
  equation q;
  unsigned rank[FE_MAX_VARIADIC];
  fe_dtype t = l->in_type[0];
  einsum e = {.l = l, .type = fe_work_type(t)};
  labelled x[FE_MAX_VARIADIC] = {0};
  for (unsigned i = 0; i < l->n_in; ++i)
    rank[i] = fe_rank(l->in[i]);
  if (!fe_einsum_parse(l->ir->arena,
                       fe_attr_str(l->ir->arena, l->op, "equation", ""),
                       l->n_in, rank, &q))
    return fe_lower_error(l, NULL, "the equation is malformed");
  for (unsigned i = 0; i < q.n; ++i)
    x[i] = (labelled){fe_to_type(l, l->in[i], t, e.type), q.in[i]};
  find_sizes(&e, q.n, x);
  for (unsigned i = 0; i < q.n; ++i)
    widen(&e, i, &x[i]);
  labelled sum = x[0];
  if (q.n == 1)
    sum = by_generic(&e, 1, x, &q.out);
  for (unsigned i = 1; i < q.n; ++i) {
    term out = q.out; // of this step: what is needed later, too
    if (i + 1 < q.n) {
      out.rank = 0;
      for (unsigned label = 0; label < N_LABELS; ++label) {
        bool needed = fe_einsum_has(&q.out, label);
        for (unsigned k = i + 1; k < q.n; ++k)
          needed |= fe_einsum_has(&q.in[k], label);
        if (!needed ||
            !(fe_einsum_has(&sum.t, label) || fe_einsum_has(&x[i].t, label)))
          continue;
        if (out.rank == FE_MAX_RANK)
          return fe_lower_error(l, NULL,
                                "an intermediate result has more "
                                "than %d dims",
                                FE_MAX_RANK);
        out.label[out.rank++] = label;
      }
    }
    labelled both[2] = {sum, x[i]};
    sum = by_contract(&e, both, &out, &sum) ? permuted(&e, &sum, &out)
                                            : by_generic(&e, 2, both, &out);
  }
  l->out[0] = fe_to_type(l, sum.v, e.type, t);
  return FE_OK;
}

static const fe_attr_def einsum_attrs[] = {{"equation", FE_A_STRING, NULL},
                                           {0}};

const fe_op_row fe_family_einsum[] = {{.name = "Einsum",
                                       .since = 12,
                                       .inputs = "Inputs*:T",
                                       .outputs = "Output:T",
                                       .types = "T=real",
                                       .attrs = einsum_attrs,
                                       .infer = infer_einsum,
                                       .lower = lower_einsum},
                                      {0}};
