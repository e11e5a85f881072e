//===- transpose.c - permuting dims ---------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: dims of size 1 vanish and dims that stay neighbours become one. If
// the last dim stays last, its runs are copied. Otherwise squares, as wide as a
// vector, of the dims that are last in input and result are transposed in
// registers; the innermost loop runs along the result's last dim, so that
// results are written as streams. Edges are masked.
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"

typedef struct dim {
  MlirValue size, from, to; // elements; distance in x and in the result
  MlirAffineExpr expr;      // of size
  int64_t fixed;            // FE_DYN when unknown
  unsigned last;            // dim of x that it ends with
} dim;

typedef struct transpose {
  fe_gen g;
  unsigned x;
  unsigned rank; // after merging
  dim d[FE_MAX_RANK];
  unsigned contiguous; // the dim that is last in x
  unsigned lanes;
  MlirType elem, moved; // moved: integers where the element has no shuffles
} transpose;

static const MlirValue all = {0};

/// Dims in the result's order, merged; distances.
static void merge_dims(transpose *t, const int64_t *permutation) {
  fe_gen *g = &t->g;
  fe_ir *ir = g->ir;
  MlirValue m = g->arg[t->x];
  MlirValue distance[FE_MAX_RANK], step = fe_index(ir, 1);
  for (unsigned i = g->rank; i-- > 0;) {
    distance[i] = step;
    step = fe_mul(ir, step, fe_dim(ir, m, i));
  }
  unsigned last_of_x = 0;
  for (unsigned i = 0; i < g->rank; ++i) {
    unsigned p = (unsigned)permutation[i];
    if (fe_static_dim(m, p) == 1)
      continue;
    last_of_x = p > last_of_x ? p : last_of_x;
    dim *before = t->rank ? &t->d[t->rank - 1] : NULL;
    unsigned next = before ? before->last + 1 : 0;
    while (before && next < p && fe_static_dim(m, next) == 1)
      ++next;
    MlirValue size = fe_dim(ir, m, p);
    int64_t fixed = fe_static_dim(m, p);
    MlirAffineExpr expr = fe_gen_dim(g, t->x, p);
    if (before && next == p) {
      before->size = fe_mul(ir, before->size, size);
      before->expr = fe_dim_mul(before->expr, expr);
      before->fixed = before->fixed == FE_DYN || fixed == FE_DYN
                          ? FE_DYN
                          : before->fixed * fixed;
      before->from = distance[p];
      before->last = p;
      continue;
    }
    t->d[t->rank++] = (dim){size, distance[p], {0}, expr, fixed, p};
  }
  if (!t->rank)
    t->d[t->rank++] = (dim){.size = fe_index(ir, 1),
                            .from = fe_index(ir, 1),
                            .expr = fe_dim_const(ir, 1),
                            .fixed = 1};
  step = fe_index(ir, 1);
  for (unsigned i = t->rank; i-- > 0;) {
    t->d[i].to = step;
    step = fe_mul(ir, step, t->d[i].size);
    if (t->d[i].last == last_of_x)
      t->contiguous = i;
  }
}

static MlirValue get(transpose *t, MlirValue at, MlirValue active) {
  fe_ir *ir = t->g.ir;
  MlirValue m = t->g.flat[t->x];
  MlirValue v = fe_is_null(active)
                    ? fe_vload(ir, t->lanes, m, 1, &at)
                    : fe_vload_masked(ir, t->lanes, active, m, 1, &at);
  return mlirTypeEqual(t->elem, t->moved)
             ? v
             : fe_bitcast(ir, v, fe_vector_type(ir, t->lanes, t->moved));
}

static void put(transpose *t, MlirValue v, MlirValue at, MlirValue active) {
  fe_ir *ir = t->g.ir;
  MlirValue m = t->g.flat[t->g.n_args - 1];
  if (!mlirTypeEqual(t->elem, t->moved))
    v = fe_bitcast(ir, v, fe_vector_type(ir, t->lanes, t->elem));
  if (fe_is_null(active))
    fe_vstore(ir, v, m, 1, &at);
  else
    fe_vstore_masked(ir, v, active, m, 1, &at);
}

/// Adds subscripts of the dims in `skip`'s complement, taken from `rest`, to
/// the positions.
static void outer_position(transpose *t, MlirValue rest, unsigned skip_a,
                           unsigned skip_b, MlirValue *from, MlirValue *to) {
  fe_ir *ir = t->g.ir;
  for (unsigned i = t->rank; i-- > 0;) {
    if (i == skip_a || i == skip_b)
      continue;
    MlirValue index = fe_remu(ir, rest, t->d[i].size);
    rest = fe_divu(ir, rest, t->d[i].size);
    *from = fe_add(ir, *from, fe_mul(ir, index, t->d[i].from));
    *to = fe_add(ir, *to, fe_mul(ir, index, t->d[i].to));
  }
}

/// Elements [0, size) of a run.
static void copy_run(transpose *t, MlirValue from, MlirValue to, MlirValue size,
                     int64_t fixed) {
  fe_ir *ir = t->g.ir;
  MlirValue lanes = fe_index(ir, t->lanes), zero = fe_index(ir, 0);
  MlirValue end = fe_sub(ir, size, fe_remu(ir, size, lanes));
  fe_region r = fe_for_begin(ir, zero, end, lanes, 0, NULL);
  put(t, get(t, fe_add(ir, from, r.iv), all), fe_add(ir, to, r.iv), all);
  fe_for_end(ir, &r, 0, NULL);
  if (fixed != FE_DYN && fixed % t->lanes == 0)
    return;
  MlirValue left = fe_sub(ir, size, end);
  fe_region rest =
      fe_if_begin(ir, fe_cmp(ir, FE_GT, left, zero), 0, NULL, false);
  put(t, get(t, fe_add(ir, from, end), left), fe_add(ir, to, end), left);
  fe_if_end(ir, &rest, 0, NULL);
}

/// The last dim stays last: an item is a set of runs along the dim before it.
static void copy_runs(transpose *t, MlirValue item) {
  fe_ir *ir = t->g.ir;
  unsigned run = t->rank - 1, loop = t->rank - 2;
  MlirValue from = fe_index(ir, 0), to = from;
  outer_position(t, item, run, loop, &from, &to);
  fe_region r = fe_loop(ir, t->d[loop].size);
  copy_run(t, fe_add(ir, from, fe_mul(ir, r.iv, t->d[loop].from)),
           fe_add(ir, to, fe_mul(ir, r.iv, t->d[loop].to)), t->d[run].size,
           t->d[run].fixed);
  fe_loop_end(ir, &r);
}

/// Number i, or the last there is; `active` where i is there, else none: masked
/// accesses where no memory is would be very slow.
static MlirValue clamped(fe_ir *ir, unsigned i, MlirValue count,
                         MlirValue *active) {
  MlirValue number = fe_index(ir, i);
  if (fe_is_null(count))
    return number;
  *active =
      fe_select(ir, fe_cmp(ir, FE_LT, number, count), *active, fe_index(ir, 0));
  return fe_min(ir, number, fe_add_static(ir, count, -1));
}

/// One square; rows and columns that there are, null: all.
static void square(transpose *t, MlirValue from, MlirValue to, MlirValue rows,
                   MlirValue columns) {
  fe_ir *ir = t->g.ir;
  const dim *in = &t->d[t->contiguous], *out = &t->d[t->rank - 1];
  MlirValue v[64];
  for (unsigned i = 0; i < t->lanes; ++i) {
    MlirValue active = columns, number = clamped(ir, i, rows, &active);
    MlirValue at = fe_add(ir, from, fe_mul(ir, number, out->from));
    v[i] = get(t, at, columns);
  }
  fe_vtranspose(ir, t->lanes, v);
  for (unsigned i = 0; i < t->lanes; ++i) {
    MlirValue active = rows, number = clamped(ir, i, columns, &active);
    MlirValue at = fe_add(ir, to, fe_mul(ir, number, in->to));
    put(t, v[i], at, active);
  }
}

static bool divides(const transpose *t, const dim *d) {
  return d->fixed != FE_DYN && d->fixed % t->lanes == 0;
}
static bool never_full(const transpose *t, const dim *d) {
  return d->fixed != FE_DYN && d->fixed < t->lanes;
}

/// A stripe of squares along the result's last dim.
static void stripe(transpose *t, MlirValue item) {
  fe_ir *ir = t->g.ir;
  const dim *in = &t->d[t->contiguous], *out = &t->d[t->rank - 1];
  MlirValue lanes = fe_index(ir, t->lanes);
  MlirValue tiles = fe_ceildiv(ir, in->size, lanes);
  MlirValue column = fe_mul(ir, fe_remu(ir, item, tiles), lanes);
  MlirValue from = fe_mul(ir, column, in->from);
  MlirValue to = fe_mul(ir, column, in->to);
  outer_position(t, fe_divu(ir, item, tiles), t->contiguous, t->rank - 1, &from,
                 &to);
  MlirValue columns = fe_min(ir, lanes, fe_sub(ir, in->size, column));
  MlirValue zero = fe_index(ir, 0);
  fe_region r = fe_for_begin(ir, zero, out->size, lanes, 0, NULL);
  MlirValue rows = fe_min(ir, lanes, fe_sub(ir, out->size, r.iv));
  MlirValue x = fe_add(ir, from, fe_mul(ir, r.iv, out->from));
  MlirValue y = fe_add(ir, to, r.iv);
  if (divides(t, in) && divides(t, out)) {
    square(t, x, y, all, all);
  } else if (never_full(t, in) || never_full(t, out)) {
    square(t, x, y, rows, columns);
  } else {
    MlirValue full = fe_and(ir, fe_cmp(ir, FE_EQ, rows, lanes),
                            fe_cmp(ir, FE_EQ, columns, lanes));
    fe_region both = fe_if_begin(ir, full, 0, NULL, true);
    square(t, x, y, all, all);
    fe_if_else(ir, &both, 0, NULL);
    square(t, x, y, rows, columns);
    fe_if_end(ir, &both, 0, NULL);
  }
  fe_for_end(ir, &r, 0, NULL);
}

static fe_status bad(transpose *t, const char *what) {
  fe_error(t->g.ir->diags, (fe_where){0}, NULL, "krnl.transpose: %s", what);
  return fe_gen_abandon(&t->g);
}

static fe_status read(transpose *t, int64_t *permutation) {
  fe_gen *g = &t->g;
  fe_epilogue none;
  if (fe_gen_operand(g, 0, &t->x) || fe_epilogue_parse(&none, g))
    return fe_gen_abandon(g);
  if (none.n)
    return bad(t, "an epilogue");
  unsigned n = fe_attr_i64s(g->root, "permutation", permutation, FE_MAX_RANK);
  uint32_t seen = 0;
  for (unsigned i = 0; i < n; ++i)
    if (permutation[i] >= 0 && permutation[i] < n)
      seen |= 1u << permutation[i];
  if (n != g->rank || fe_rank(g->arg[t->x]) != n || seen != (1u << n) - 1)
    return bad(t, "the permutation does not fit");
  return FE_OK;
}

fe_status fe_generate_transpose(fe_ir *ir, const fe_target *target,
                                MlirModule module, MlirOperation func) {
  transpose t = {0};
  int64_t permutation[FE_MAX_RANK];
  if (fe_gen_begin(&t.g, ir, target, module, func) || read(&t, permutation))
    return FE_FAILED;
  t.elem = t.moved = fe_elem_of(t.g.dest);
  unsigned bits = fe_dtype_bits(fe_dtype_of_elem(t.elem));
  if (bits == 16)
    t.moved = ir->i16;
  t.lanes = target->vector_bits / (bits < 8 ? 8 : bits);
  t.lanes = t.lanes > 16 ? 16 : t.lanes;
  merge_dims(&t, permutation);
  const dim *last = &t.d[t.rank - 1], *in = &t.d[t.contiguous];
  MlirAffineExpr items = fe_dim_const(ir, 1), cost = last->expr;
  bool copies = t.contiguous == t.rank - 1;
  for (unsigned i = 0; i + 1 < t.rank; ++i)
    if (i != (copies ? t.rank - 2 : t.contiguous))
      items = fe_dim_mul(items, t.d[i].expr);
  fe_region r = {0};
  MlirValue one = fe_index(ir, 1);
  if (t.rank == 1) { // only dims of size 1 move
    MlirValue block = fe_index(ir, 4096), from;
    r = fe_for_begin(ir, t.g.begin, t.g.end, one, 0, NULL);
    from = fe_mul(ir, r.iv, block);
    MlirValue left = fe_sub(ir, last->size, from);
    copy_run(&t, from, from, fe_min(ir, block, left), last->fixed);
    items = fe_dim_ceildiv(last->expr, fe_dim_const(ir, 4096));
    cost = fe_dim_const(ir, 4096);
  } else {
    r = fe_for_begin(ir, t.g.begin, t.g.end, one, 0, NULL);
    if (copies) {
      copy_runs(&t, r.iv);
      cost = fe_dim_mul(cost, t.d[t.rank - 2].expr);
    } else {
      stripe(&t, r.iv);
      MlirAffineExpr lanes = fe_dim_const(ir, t.lanes);
      items = fe_dim_mul(items, fe_dim_ceildiv(in->expr, lanes));
      cost = fe_dim_mul(cost, lanes);
    }
  }
  fe_for_end(ir, &r, 0, NULL);
  fe_gen_end(&t.g, items, cost);
  return FE_OK;
}
