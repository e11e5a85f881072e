//===- row.c - softmax and normalization along one dim --------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: x is [outer][axis][inner]. Without inner dims a row is contiguous:
// vectors run along it, four accumulators at a time, the rest masked; several
// passes over a row that stays in the first cache. With inner dims vectors run
// along those, each lane a row of its own. Sums of squares are of differences
// from the mean, which loses nothing where the mean is large.
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

typedef enum row_kind { SOFTMAX, LOG_SOFTMAX, LAYER_NORM, RMS_NORM } row_kind;
static const char *const kinds[] = {"softmax", "log_softmax", "layer_norm",
                                    "rms_norm"};
/// Scalar operations per element, roughly.
static const int64_t costs[] = {24, 24, 8, 5};

#define FE_UNROLL 4
#define FE_LOG2E 1.4426950408889634

typedef struct row {
  fe_gen g;
  row_kind kind;
  unsigned axis, x, dest, n_params, param[2];
  double epsilon;
  unsigned lanes;
  MlirType vec;
  MlirValue size, inner; // elements along the axis, behind it
  MlirValue start;       // of the row, or of its first lane's
  // of the current row, scalars or vectors
  MlirValue shift;  // maximum, mean, or what is subtracted
  MlirValue factor; // what is multiplied with
} row;

static MlirValue wide(row *r, MlirValue v) {
  return mlirTypeIsAVector(mlirValueGetType(v))
             ? v
             : fe_splat(r->g.ir, v, r->lanes);
}

//===-- The arithmetic of an element ----------------------------------------//

/// What is done with an element: `acc` null in passes without accumulator; the
/// result is the new accumulator, or the element to be stored.
typedef struct element {
  MlirValue x, old; // the input, the destination's present value
  MlirValue scale, bias;
} element;
typedef struct pass {
  MlirValue (*step)(row *r, const element *e);
  double start; // of the accumulator
  double pad;   // what a masked lane adds
  bool stores, reads_dest, uses_params, is_max;
} pass;

static MlirValue identity(row *r, const element *e) {
  (void)r;
  return e->x;
}
static MlirValue exponential(row *r, const element *e) {
  fe_ir *ir = r->g.ir;
  MlirValue d = fe_sub(ir, e->x, wide(r, r->shift));
  return fe_vexp2(&r->g, fe_mul(ir, d, fe_float(ir, r->vec, FE_LOG2E)));
}
static MlirValue square(row *r, const element *e) {
  fe_ir *ir = r->g.ir;
  MlirValue d = e->x;
  if (r->kind == LAYER_NORM)
    d = fe_sub(ir, d, wide(r, r->shift));
  return fe_mul(ir, d, d);
}
static MlirValue scaled(row *r, const element *e) {
  return fe_mul(r->g.ir, e->old, wide(r, r->factor));
}
static MlirValue shifted(row *r, const element *e) {
  return fe_sub(r->g.ir, e->x, wide(r, r->shift));
}
static MlirValue normal(row *r, const element *e) {
  fe_ir *ir = r->g.ir;
  MlirValue d = e->x;
  if (r->kind == LAYER_NORM)
    d = fe_sub(ir, d, wide(r, r->shift));
  d = fe_mul(ir, d, wide(r, r->factor));
  if (!fe_is_null(e->scale))
    d = fe_is_null(e->bias) ? fe_mul(ir, d, e->scale)
                            : fe_vfma(&r->g, d, e->scale, e->bias);
  return d;
}

static const pass find_max = {identity, -INFINITY, -INFINITY, .is_max = true};
static const pass sum_exp = {exponential, 0, 0, .stores = true};
static const pass sum_exp_only = {exponential, 0, 0, .stores = false};
static const pass sum = {identity, 0, 0, .stores = false};
static const pass sum_square = {square, 0, 0, .stores = false};
static const pass scale = {scaled, 0, 0, .stores = true, .reads_dest = true};
static const pass shift = {shifted, 0, 0, .stores = true};
static const pass normalize = {normal, 0, 0, .stores = true,
                               .uses_params = true};

/// One vector: element number `at`, number `a` along the axis. Gives the new
/// accumulator.
static MlirValue visit(row *r, const pass *p, MlirValue at, MlirValue a,
                       MlirValue active, MlirValue acc) {
  fe_gen *g = &r->g;
  fe_ir *ir = g->ir;
  bool along = fe_is_null(r->inner), full = fe_is_null(active);
  element e = {
      .x = full ? fe_vload(ir, r->lanes, g->flat[r->x], 1, &at)
                : fe_vload_masked(ir, r->lanes, active, g->flat[r->x], 1, &at)};
  if (p->reads_dest)
    e.old =
        full ? fe_vload(ir, r->lanes, g->flat[r->dest], 1, &at)
             : fe_vload_masked(ir, r->lanes, active, g->flat[r->dest], 1, &at);
  MlirValue params[2] = {{0}};
  for (unsigned i = 0; p->uses_params && i < r->n_params; ++i) {
    MlirValue m = g->flat[r->param[i]];
    params[i] = !along ? wide(r, fe_load(ir, m, 1, &a))
                : full ? fe_vload(ir, r->lanes, m, 1, &a)
                       : fe_vload_masked(ir, r->lanes, active, m, 1, &a);
  }
  e.scale = params[0];
  e.bias = params[1];
  MlirValue v = p->step(r, &e);
  if (p->stores && full)
    fe_vstore(ir, v, g->flat[r->dest], 1, &at);
  else if (p->stores)
    fe_vstore_masked(ir, v, active, g->flat[r->dest], 1, &at);
  if (!full && along) {
    MlirValue mask =
        fe_first(FE_OP(ir, "vector.create_mask", FE_VALUES(active),
                       FE_TYPES(fe_vector_type(ir, r->lanes, ir->i1))));
    v = fe_select(ir, mask, v, fe_float(ir, r->vec, p->pad));
  }
  return p->is_max ? fe_vmax(ir, v, acc) : fe_add(ir, acc, v);
}

//===-- Rows along vectors --------------------------------------------------//

/// A contiguous row; the accumulator as a scalar.
static MlirValue along_row(row *r, const pass *p) {
  fe_ir *ir = r->g.ir;
  int64_t lanes = r->lanes, fixed = fe_static_dim(r->g.arg[r->x], r->axis);
  MlirValue acc[FE_UNROLL];
  for (unsigned u = 0; u < FE_UNROLL; ++u)
    acc[u] = fe_float(ir, r->vec, p->start);
  MlirValue done = fe_index(ir, 0);
  for (unsigned unroll = FE_UNROLL; unroll; unroll = unroll > 1 ? 1 : 0) {
    if (fixed != FE_DYN && fixed < unroll * lanes)
      continue;
    MlirValue step = fe_index(ir, unroll * lanes);
    MlirValue left = fe_sub(ir, r->size, done);
    MlirValue end = fe_sub(ir, r->size, fe_remu(ir, left, step));
    fe_region loop = fe_for_begin(ir, done, end, step, unroll, acc);
    MlirValue next[FE_UNROLL];
    for (unsigned u = 0; u < unroll; ++u) {
      MlirValue a = fe_add(ir, loop.iv, fe_index(ir, u * lanes));
      next[u] = visit(r, p, fe_add(ir, r->start, a), a, (MlirValue){0},
                      fe_block_arg(loop.body, 1 + u));
    }
    fe_for_end(ir, &loop, unroll, next);
    for (unsigned u = 0; u < unroll; ++u)
      acc[u] = fe_result(loop.op, u);
    for (unsigned n = unroll / 2; n; n /= 2) // as a tree
      for (unsigned u = 0; u < n; ++u)
        acc[u] = p->is_max ? fe_vmax(ir, acc[u], acc[u + n])
                           : fe_add(ir, acc[u], acc[u + n]);
    done = end;
  }
  if (fixed == FE_DYN || fixed % lanes) {
    MlirValue left = fe_sub(ir, r->size, done);
    MlirValue some = fe_cmp(ir, FE_GT, left, fe_index(ir, 0));
    fe_region rest = fe_if_begin(ir, some, 1, &r->vec, true);
    MlirValue v = visit(r, p, fe_add(ir, r->start, done), done, left, acc[0]);
    fe_if_else(ir, &rest, 1, &v);
    fe_if_end(ir, &rest, 1, acc);
    acc[0] = fe_result(rest.op, 0);
  }
  return p->is_max ? fe_vmax_lanes(ir, acc[0]) : fe_vreduce(ir, "add", acc[0]);
}

//===-- Rows across vectors -------------------------------------------------//

static MlirValue across_rows(row *r, const pass *p, MlirValue active) {
  fe_ir *ir = r->g.ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue acc = fe_float(ir, r->vec, p->start);
  fe_region loop = fe_for_begin(ir, zero, r->size, one, 1, &acc);
  MlirValue at = fe_add(ir, r->start, fe_mul(ir, loop.iv, r->inner));
  MlirValue next = visit(r, p, at, loop.iv, active, fe_block_arg(loop.body, 1));
  fe_for_end(ir, &loop, 1, &next);
  return fe_result(loop.op, 0);
}

/// Logarithm: scalars have it in the math library, vectors lane by lane.
static MlirValue logarithm(row *r, MlirValue v) {
  fe_ir *ir = r->g.ir;
  if (!mlirTypeIsAVector(mlirValueGetType(v)))
    return fe_math(ir, "log", v);
  int64_t lanes = r->lanes;
  MlirValue zero = fe_index(ir, 0);
  MlirValue buffer = fe_alloca(ir, fe_memref_type(ir, ir->f32, 1, &lanes));
  fe_vstore(ir, v, buffer, 1, &zero);
  fe_region loop = fe_loop(ir, fe_index(ir, lanes));
  MlirValue x = fe_load(ir, buffer, 1, &loop.iv);
  fe_store(ir, fe_math(ir, "log", x), buffer, 1, &loop.iv);
  fe_loop_end(ir, &loop);
  return fe_vload(ir, lanes, buffer, 1, &zero);
}

//===-- The kernel ----------------------------------------------------------//

static MlirValue run(row *r, const pass *p, MlirValue active) {
  return fe_is_null(r->inner) ? along_row(r, p) : across_rows(r, p, active);
}

static void one_row(row *r, MlirValue active) {
  fe_ir *ir = r->g.ir;
  MlirType t = fe_is_null(r->inner) ? ir->f32 : r->vec;
  MlirValue one = fe_float(ir, t, 1);
  if (r->kind == SOFTMAX || r->kind == LOG_SOFTMAX) {
    r->shift = run(r, &find_max, active);
    bool plain = r->kind == SOFTMAX;
    MlirValue total = run(r, plain ? &sum_exp : &sum_exp_only, active);
    if (plain)
      r->factor = fe_div(ir, one, total);
    else
      r->shift = fe_add(ir, r->shift, logarithm(r, total));
    run(r, plain ? &scale : &shift, active);
    return;
  }
  MlirValue count = fe_convert(ir, r->size, ir->f32, false, false);
  if (!fe_is_null(r->inner))
    count = wide(r, count);
  if (r->kind == LAYER_NORM)
    r->shift = fe_div(ir, run(r, &sum, active), count);
  MlirValue variance = fe_div(ir, run(r, &sum_square, active), count);
  variance = fe_add(ir, variance, fe_float(ir, t, r->epsilon));
  r->factor = fe_div(ir, one, fe_math(ir, "sqrt", variance));
  run(r, &normalize, active);
}

static void one_item(row *r, MlirValue item) {
  fe_ir *ir = r->g.ir;
  if (fe_is_null(r->inner)) {
    r->start = fe_mul(ir, item, r->size);
    one_row(r, (MlirValue){0});
    return;
  }
  MlirValue lanes = fe_index(ir, r->lanes);
  MlirValue chunks = fe_ceildiv(ir, r->inner, lanes);
  MlirValue column = fe_mul(ir, fe_remu(ir, item, chunks), lanes);
  MlirValue outer = fe_divu(ir, item, chunks);
  MlirValue block = fe_mul(ir, r->size, r->inner);
  r->start = fe_add(ir, fe_mul(ir, outer, block), column);
  MlirValue left = fe_sub(ir, r->inner, column);
  fe_region full =
      fe_if_begin(ir, fe_cmp(ir, FE_GE, left, lanes), 0, NULL, true);
  one_row(r, (MlirValue){0});
  fe_if_else(ir, &full, 0, NULL);
  one_row(r, left);
  fe_if_end(ir, &full, 0, NULL);
}

static fe_status bad(row *r, const char *what) {
  fe_error(r->g.ir->diags, (fe_where){0}, NULL, "krnl.row: %s", what);
  return fe_gen_abandon(&r->g);
}

static fe_status read(row *r) {
  fe_gen *g = &r->g;
  fe_ir *ir = g->ir;
  fe_epilogue none;
  unsigned n = fe_n_operands(g->root);
  r->n_params = n - 2;
  r->dest = g->n_args - 1;
  if (n < 2 || r->n_params > 2)
    return bad(r, "wrong number of operands");
  if (fe_gen_operand(g, 0, &r->x) || fe_epilogue_parse(&none, g))
    return fe_gen_abandon(g);
  for (unsigned i = 0; i < r->n_params; ++i)
    if (fe_gen_operand(g, 1 + i, &r->param[i]))
      return fe_gen_abandon(g);
  if (none.n)
    return bad(r, "an epilogue");
  if (!mlirTypeEqual(fe_elem_of(g->arg[r->x]), ir->f32))
    return bad(r, "element type is not f32");
  const char *kind = fe_attr_str(ir->arena, g->root, "kind", "");
  unsigned k = 0;
  while (k < FE_COUNT(kinds) && strcmp(kinds[k], kind))
    ++k;
  int64_t axis = fe_attr_i64(g->root, "axis", -1);
  if (k == FE_COUNT(kinds) || axis < 0 || axis >= g->rank)
    return bad(r, "unknown kind or axis");
  r->kind = (row_kind)k;
  r->axis = (unsigned)axis;
  r->epsilon = fe_attr_f64(g->root, "epsilon", 0);
  return FE_OK;
}

fe_status fe_generate_row(fe_ir *ir, const fe_target *target, MlirModule module,
                          MlirOperation func) {
  row r = {0};
  if (fe_gen_begin(&r.g, ir, target, module, func) || read(&r))
    return FE_FAILED;
  r.lanes = fe_gen_lanes(&r.g, ir->f32);
  r.vec = fe_vector_type(ir, r.lanes, ir->f32);
  MlirAffineExpr outer = fe_dim_const(ir, 1), inner = outer;
  MlirValue behind = fe_index(ir, 1);
  for (unsigned d = 0; d < r.g.rank; ++d) {
    if (d < r.axis)
      outer = fe_dim_mul(outer, fe_gen_dim(&r.g, r.x, d));
    if (d <= r.axis)
      continue;
    inner = fe_dim_mul(inner, fe_gen_dim(&r.g, r.x, d));
    behind = fe_mul(ir, behind, fe_dim(ir, r.g.arg[r.x], d));
  }
  MlirAffineExpr size = fe_gen_dim(&r.g, r.x, r.axis);
  r.size = fe_dim(ir, r.g.arg[r.x], r.axis);
  MlirAffineExpr items = outer;
  MlirAffineExpr cost = fe_dim_mul(size, fe_dim_const(ir, costs[r.kind]));
  if (fe_dim_static(inner) != 1) {
    MlirAffineExpr lanes = fe_dim_const(ir, r.lanes);
    r.inner = behind;
    items = fe_dim_mul(outer, fe_dim_ceildiv(inner, lanes));
    cost = fe_dim_mul(cost, lanes);
  }
  MlirValue one = fe_index(ir, 1);
  fe_region loop = fe_for_begin(ir, r.g.begin, r.g.end, one, 0, NULL);
  one_item(&r, loop.iv);
  fe_for_end(ir, &loop, 0, NULL);
  fe_gen_end(&r.g, items, cost);
  return FE_OK;
}
