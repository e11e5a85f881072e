//===- pad.c - Pad ----------------------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every subscript of the result is mapped to one of the input; negative
// amounts crop. Amounts may be values of the run. Along the last dim there
// are three loops: before the input, a copy of it, which vectorizes, and
// behind.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <string.h>

/// Padding of one dim: operand element `begin` and `end` of pads; -1: none.
typedef struct fe_pad_axis {
  int begin, end;
} fe_pad_axis;

/// What is known of `axes` when compiling.
typedef struct fe_pad_axes {
  bool known;   // else dim[] is unused: any dim may be padded
  bool counted; // else only the run knows n, the most there can be
  unsigned n;   // how many
  fe_pad_axis dim[FE_MAX_RANK];
} fe_pad_axes;

static fe_status upgrade_pad(fe_node *n) {
  if (n->opset >= 11)
    return FE_OK;
  fe_node_attr *old = fe_node_attr_find(n, "paddings"); // opset 1
  if (old)
    old->name = "pads";
  if (!fe_node_attr_find(n, "pads"))
    return fe_error(n->ir->diags, n->where, "give the attribute pads",
                    "the attribute 'pads' is missing");
  fe_node_attr *value = fe_node_attr_find(n, "value");
  double v = value ? value->f : 0;
  fe_node_attr_remove(n, "value");
  fe_node_attr_to_input(n, "pads", 1, FE_I64);
  if (v != 0 && n->in.n && !fe_is_null(n->in.at[0]))
    fe_node_input_scalar(n, 2, fe_dtype_of_elem(fe_elem_of(n->in.at[0])), v);
  return FE_OK;
}

/// Which elements of pads belong to each dim.
static fe_status read_axes(fe_ir *ir, fe_where where, MlirValue axes,
                           unsigned rank, fe_pad_axes *out) {
  int64_t list[FE_MAX_RANK];
  int n = (int)rank;
  bool given = !fe_is_null(axes) && !mlirTypeIsANone(mlirValueGetType(axes));
  if (given)
    n = fe_const_ints(ir, axes, list, FE_MAX_RANK);
  out->known = n >= 0;
  out->counted = true;
  if (n < 0) {
    fe_dims d;
    if (!fe_dims_of(ir, axes, &d) || d.rank != 1)
      return fe_error(ir->diags, where, NULL, "the axes must be a list");
    out->counted = fe_dim_static(d.d[0]) != FE_DYN;
    n = out->counted ? (int)fe_dim_static(d.d[0]) : (int)rank;
  }
  if (n > (int)rank)
    return fe_error(ir->diags, where, NULL, "%d axes for %u dims", n, rank);
  out->n = (unsigned)n;
  for (unsigned i = 0; i < rank; i++)
    out->dim[i] = (fe_pad_axis){-1, -1};
  for (int i = 0; out->known && i < n; i++) {
    int64_t a = given ? list[i] : i;
    a = a < 0 ? a + rank : a;
    if (a < 0 || a >= rank || out->dim[a].begin >= 0)
      return fe_error(ir->diags, where, NULL,
                      "axis %d is out of range or given twice", i);
    out->dim[a] = (fe_pad_axis){i, n + i};
  }
  return FE_OK;
}

static fe_status infer_pad(fe_infer *f) {
  fe_dims in, pads;
  fe_pad_axes axes;
  if (fe_in_dims(f, 0, &in) || fe_in_dims(f, 1, &pads) ||
      read_axes(f->ir, f->where, f->n_in > 3 ? f->in[3] : (MlirValue){0},
                in.rank, &axes))
    return FE_FAILED;
  static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
  const char *mode = fe_attr_str(f->ir->arena, f->attrs, "mode", "");
  size_t m = 0;
  while (m < FE_COUNT(modes) && strcmp(modes[m], mode))
    m++;
  if (m == FE_COUNT(modes))
    return fe_infer_error(f, "use constant, reflect, edge or wrap",
                          "there is no mode '%s'", mode);
  int64_t given = pads.rank == 1 ? fe_dim_static(pads.d[0]) : -1;
  if (given != FE_DYN && axes.counted && given != 2 * (int64_t)axes.n)
    return fe_infer_error(f, NULL, "pads must be a list of %u numbers",
                          2 * axes.n);
  fe_contents *c = FE_NEW(f->ir->arena, fe_contents);
  bool known = fe_contents_of(f->ir, f->in[1], c);
  fe_dims out = in;
  for (unsigned i = 0; i < in.rank; i++) {
    fe_pad_axis a = axes.dim[i];
    if (axes.known && a.begin < 0)
      continue;
    bool both = known && axes.known;
    MlirAffineExpr b = both ? c->at[a.begin] : (MlirAffineExpr){0},
                   e = both ? c->at[a.end] : (MlirAffineExpr){0};
    if (mlirAffineExprIsNull(b) || mlirAffineExprIsNull(e)) {
      out.d[i] = fe_fresh_dim(f);
      continue;
    }
    out.d[i] = fe_dim_add(fe_dim_add(in.d[i], b), e);
    if (fe_dim_static(out.d[i]) != FE_DYN && fe_dim_static(out.d[i]) < 0)
      return fe_infer_error(f, NULL, "dim %u would have a negative size", i);
  }
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

//===-- Lowering ------------------------------------------------------------//

typedef struct fe_padding {
  fe_kernel k;
  const char *mode;
  unsigned rank;
  fe_dtype type;
  MlirValue fill;               // compute type
  MlirValue begin[FE_MAX_RANK]; // amounts, in the kernel
  MlirValue source[FE_MAX_RANK], at[FE_MAX_RANK];
  MlirValue valid; // i1 so far; null: yes
} fe_padding;

/// i modulo n, which is above 0, in [0, n).
static MlirValue modulo(fe_ir *ir, MlirValue i, MlirValue n) {
  MlirValue r = fe_rem(ir, i, n);
  return fe_select(ir, fe_cmp(ir, FE_LT, r, fe_index(ir, 0)), fe_add(ir, r, n),
                   r);
}

/// Wrap repeats what is left where pads are negative: [low, low + n) of the
/// dim's size d.
static MlirValue wrapped(fe_padding *p, MlirValue i, MlirValue d,
                         unsigned dim) {
  fe_ir *ir = p->k.l->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue begin = p->begin[dim], out = fe_dim(ir, p->k.out[0], dim);
  MlirValue end = fe_sub(ir, fe_sub(ir, out, d), begin);
  MlirValue low = fe_max(ir, fe_neg(ir, begin), zero);
  MlirValue high = fe_max(ir, fe_neg(ir, end), zero);
  MlirValue n = fe_max(ir, fe_sub(ir, d, fe_add(ir, low, high)), one);
  low = fe_min(ir, low, fe_sub(ir, d, one));
  return fe_add(ir, low, modulo(ir, fe_sub(ir, i, low), n));
}

/// Subscript of the input for `i` (already shifted) by the mode, `d` > 0, the
/// size of dim `dim`.
static MlirValue map_subscript(fe_padding *p, MlirValue i, MlirValue d,
                               unsigned dim) {
  fe_ir *ir = p->k.l->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue last = fe_sub(ir, d, one);
  if (!strcmp(p->mode, "edge") || !strcmp(p->mode, "constant"))
    return fe_min(ir, fe_max(ir, i, zero), last);
  if (!strcmp(p->mode, "wrap"))
    return wrapped(p, i, d, dim);
  // reflect repeats with period 2 (d - 1), and with d = 1 stays at 0
  MlirValue period = fe_max(ir, fe_mul(ir, last, fe_index(ir, 2)), one);
  MlirValue r = modulo(ir, i, period);
  return fe_select(ir, fe_cmp(ir, FE_GT, r, last), fe_sub(ir, period, r), r);
}

static void store_fill(fe_padding *p, MlirValue from, MlirValue to) {
  fe_ir *ir = p->k.l->ir;
  fe_region r = fe_for_begin(ir, from, to, fe_index(ir, 1), 0, NULL);
  p->at[p->rank - 1] = r.iv;
  fe_put(&p->k, p->fill, p->k.out[0], p->type, p->rank, p->at);
  fe_loop_end(ir, &r);
}

/// Copies row elements [from, to), the subscript mapped by the mode where it
/// may be outside of the input.
static void copy_row(fe_padding *p, MlirValue from, MlirValue to, bool inside) {
  fe_ir *ir = p->k.l->ir;
  unsigned last = p->rank - 1;
  fe_region r = fe_for_begin(ir, from, to, fe_index(ir, 1), 0, NULL);
  p->at[last] = r.iv;
  MlirValue i = fe_sub(ir, r.iv, p->begin[last]);
  p->source[last] =
      inside ? i : map_subscript(p, i, fe_dim(ir, p->k.in[0], last), last);
  MlirValue v = fe_load(ir, p->k.in[0], p->rank, p->source);
  fe_store(ir, v, p->k.out[0], p->rank, p->at);
  fe_loop_end(ir, &r);
}

static void pad_row(fe_padding *p) {
  fe_ir *ir = p->k.l->ir;
  unsigned last = p->rank - 1;
  MlirValue zero = fe_index(ir, 0), out = fe_dim(ir, p->k.out[0], last);
  MlirValue low = fe_min(ir, fe_max(ir, p->begin[last], zero), out);
  MlirValue high = fe_add(ir, p->begin[last], fe_dim(ir, p->k.in[0], last));
  high = fe_min(ir, fe_max(ir, high, low), out);
  if (strcmp(p->mode, "constant")) {
    copy_row(p, zero, low, false);
    copy_row(p, low, high, true);
    copy_row(p, high, out, false);
    return;
  }
  if (fe_is_null(p->valid)) {
    store_fill(p, zero, low);
    copy_row(p, low, high, true);
    store_fill(p, high, out);
    return;
  }
  fe_region r = fe_if_begin(ir, p->valid, 0, NULL, true);
  store_fill(p, zero, low);
  copy_row(p, low, high, true);
  store_fill(p, high, out);
  fe_if_else(ir, &r, 0, NULL);
  store_fill(p, zero, out);
  fe_if_end(ir, &r, 0, NULL);
}

static void pad_dim(fe_padding *p, unsigned d) {
  fe_ir *ir = p->k.l->ir;
  if (d + 1 == p->rank) {
    pad_row(p);
    return;
  }
  MlirValue zero = fe_index(ir, 0), size = fe_dim(ir, p->k.in[0], d);
  fe_region r =
      d == 0 ? fe_for_begin(ir, p->k.begin, p->k.end, fe_index(ir, 1), 0, NULL)
             : fe_loop(ir, fe_dim(ir, p->k.out[0], d));
  p->at[d] = r.iv;
  MlirValue i = fe_sub(ir, r.iv, p->begin[d]);
  MlirValue before = p->valid;
  if (!strcmp(p->mode, "constant")) {
    MlirValue inside =
        fe_and(ir, fe_cmp(ir, FE_GE, i, zero), fe_cmp(ir, FE_LT, i, size));
    p->valid = fe_is_null(before) ? inside : fe_and(ir, before, inside);
  }
  p->source[d] = map_subscript(p, i, size, d);
  pad_dim(p, d + 1);
  p->valid = before;
  fe_loop_end(ir, &r);
}

/// Padding before (or behind) dim d, in main.
static MlirValue amount(fe_lower *l, const fe_pad_axes *axes, unsigned d,
                        bool behind) {
  fe_ir *ir = l->ir;
  MlirValue sum = fe_index(ir, 0);
  fe_pad_axis a = axes->dim[d];
  if (axes->known)
    return a.begin < 0
               ? sum
               : fe_list_element(l, l->in[1],
                                 fe_index(ir, behind ? a.end : a.begin), sum);
  MlirValue zero = sum, dim = fe_index(ir, d),
            from_end = fe_index(ir, (int64_t)d - fe_out_rank(l, 0));
  MlirValue none = fe_index(ir, INT32_MAX);
  MlirValue count = fe_list_length(l, l->in[3]);
  for (unsigned i = 0; i < axes->n; i++) {
    MlirValue at = fe_index(ir, i);
    MlirValue axis = fe_list_element(l, l->in[3], at, none);
    MlirValue here = fe_or(ir, fe_cmp(ir, FE_EQ, axis, dim),
                           fe_cmp(ir, FE_EQ, axis, from_end));
    MlirValue n =
        fe_list_element(l, l->in[1], behind ? fe_add(ir, at, count) : at, zero);
    sum = fe_add(ir, sum, fe_select(ir, here, n, zero));
  }
  return sum;
}

static fe_status lower_pad(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_out_rank(l, 0);
  if (rank == 0) { // nothing to pad
    l->out[0] = l->in[0];
    return FE_OK;
  }
  fe_pad_axes axes;
  if (read_axes(ir, l->where, fe_operand(l->op, 3), rank, &axes))
    return FE_FAILED;
  MlirValue count =
      axes.counted ? fe_index(ir, axes.n) : fe_list_length(l, l->in[3]);
  fe_check_equal(l, fe_size(l, l->in[1], 0),
                 axes.counted ? fe_index(ir, 2 * (int64_t)axes.n)
                              : fe_mul(ir, count, fe_index(ir, 2)),
                 "pads has the wrong number of elements");
  if (!axes.counted)
    fe_check(l, fe_cmp(ir, FE_LE, count, fe_index(ir, axes.n)),
             "there are more axes than dimensions");
  fe_padding p = {.mode = fe_attr_str(ir->arena, l->op, "mode", "constant"),
                  .rank = rank,
                  .type = l->in_type[0]};
  bool constant = !strcmp(p.mode, "constant");
  MlirValue sizes[FE_MAX_RANK] = {{0}}, amounts[FE_MAX_RANK];
  MlirValue zero = fe_index(ir, 0);
  fe_out_sizes(l, 0, sizes);
  for (unsigned d = 0; d < rank; d++) {
    MlirValue in = fe_size(l, l->in[0], d);
    amounts[d] = amount(l, &axes, d, false);
    if (fe_is_null(sizes[d]))
      sizes[d] =
          fe_add(ir, fe_add(ir, in, amounts[d]), amount(l, &axes, d, true));
    fe_dims known;
    fe_dims_of(ir, fe_result(l->op, 0), &known);
    if (fe_dim_static(known.d[d]) == FE_DYN)
      fe_check(l, fe_cmp(ir, FE_GE, sizes[d], zero),
               "padding leaves a negative size");
    if (!constant && fe_static_dim(l->in[0], d) == FE_DYN)
      fe_check(l,
               fe_or(ir, fe_cmp(ir, FE_GT, in, zero),
                     fe_cmp(ir, FE_EQ, sizes[d], zero)),
               "an empty dim cannot be continued");
  }
  MlirValue dest = fe_out_empty(l, 0, sizes);
  bool has_value = l->n_in > 2 && !fe_is_null(l->in[2]);
  MlirValue in[2] = {l->in[0], has_value ? l->in[2] : (MlirValue){0}};
  fe_kernel_begin(&p.k, l, "pad", has_value ? 2 : 1, in, 1, &dest, rank,
                  amounts);
  for (unsigned d = 0; d < rank; d++)
    p.begin[d] = p.k.scalar[d];
  MlirValue at_zero[FE_MAX_RANK];
  for (unsigned d = 0; d < FE_MAX_RANK; d++)
    at_zero[d] = fe_index(ir, 0);
  p.fill = has_value
               ? fe_get(&p.k, p.k.in[1], p.type, fe_rank(p.k.in[1]), at_zero)
               : fe_number(ir, fe_compute_type(ir, p.type), 0);
  MlirAffineExpr items = {0}, cost = fe_dim_const(ir, 1);
  unsigned out = has_value ? 2 : 1;
  for (unsigned d = 0; d < rank; d++) {
    if (d == 0 && rank > 1)
      items = fe_kernel_dim(&p.k, out, d);
    else
      cost = fe_dim_mul(cost, fe_kernel_dim(&p.k, out, d));
  }
  pad_dim(&p, 0);
  fe_kernel_end(&p.k, items, cost);
  l->out[0] = p.k.result[0];
  return FE_OK;
}

static const fe_attr_def pad_attrs[] = {
    {"mode", FE_A_STRING, "constant|reflect|edge|wrap"}, {0}};

const fe_op_row fe_family_pad[] = {
    {.name = "Pad",
     .since = 1,
     .inputs = "data:T, pads:T1, constant_value?:T, axes?:T2",
     .outputs = "output:T",
     .types = "T=all;T1=i64;T2=i32,i64",
     .attrs = pad_attrs,
     .upgrade = upgrade_pad,
     .infer = infer_pad,
     .lower = lower_pad},
    {0}};
