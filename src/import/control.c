//===- control.c - If, Loop, Scan -----------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: the graphs become regions of scf.if and scf.while; what they take
// from outside is simply used in them. An If whose condition is known leaves
// only the branch that is taken. An If whose branches give tensors of different
// rank takes all that follows it in its graph into both branches, where the
// rank is known (and what follows the graph, where it has no region of its
// own); graphs made for either rank (exporters' "squeeze if the dim
// is 1") then fold to one path in each.
//
//===----------------------------------------------------------------------===//
#include "import/import.h"
#include "op/sequence.h"

#include <string.h>

//===-- If ------------------------------------------------------------------//

typedef struct branch {
  MlirRegion region;
  MlirBlock block;
  MlirValue *out;
} branch;

static fe_status make_branch(fe_call_site *c, const char *name, branch *out) {
  fe_import *im = c->scope->im;
  fe_ir *ir = im->ir;
  fe_body b;
  fe_scope *s;
  if (fe_site_graph(c, name, 0, c->n_out, &b, &s) != FE_OK)
    return FE_FAILED;
  b.n_out = c->n_out;
  out->out = FE_NEW_N(im->arena, MlirValue, b.n_out);
  out->region = mlirRegionCreate();
  out->block = mlirBlockCreate(0, NULL, NULL);
  mlirRegionAppendOwnedBlock(out->region, out->block);
  fe_point outside = fe_point_save(ir);
  MlirLocation loc = ir->loc;
  fe_point_at_end(ir, out->block);
  fe_status ok = fe_body_make(s, &b, NULL, out->out);
  fe_point_restore(ir, outside);
  ir->loc = loc;
  return ok;
}

/// What add_rest found wrong, kept back: the branch may never be taken.
typedef struct kept_back {
  fe_arena *arena;
  const char *text; // NULL: nothing
} kept_back;

static void keep_back(void *user, const fe_diag *d) {
  kept_back *k = user;
  if (!k->text && d->severity >= FE_SEV_ERROR)
    k->text =
        fe_printf(k->arena, "%s%s%s%s%s", d->where.op ? d->where.op : "",
                  d->where.node ? " '" : "", d->where.node ? d->where.node : "",
                  d->where.node ? "': " : "", d->message);
}

static void end_branch(fe_ir *ir, branch *b, size_t n, const MlirType *types) {
  fe_point outside = fe_point_save(ir);
  fe_point_at_end(ir, b->block);
  for (size_t i = 0; i < n; i++)
    b->out[i] = fe_value_cast(ir, b->out[i], types[i]);
  FE_OP(ir, "scf.yield", .n_operands = (unsigned)n, .operands = b->out);
  fe_point_restore(ir, outside);
}

static bool is_tensor(MlirValue v) {
  return mlirTypeIsARankedTensor(mlirValueGetType(v));
}

static bool ranks_differ(const branch *a, const branch *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (is_tensor(a->out[i]) && is_tensor(b->out[i]) &&
        fe_rank(a->out[i]) != fe_rank(b->out[i]))
      return true;
  return false;
}

/// Puts the rest of the graph into the branch; its results are then the
/// graph's. Gives what is wrong with that, NULL when all is well.
static const char *add_rest(fe_call_site *c, branch *b) {
  fe_ir *ir = c->scope->im->ir;
  MlirValue *out = FE_NEW_N(ir->arena, MlirValue, c->scope->body->n_out + 1);
  fe_point outside = fe_point_save(ir);
  MlirLocation loc = ir->loc;
  kept_back kept = {.arena = ir->arena};
  fe_diags before = *ir->diags;
  bool failed = ir->failed;
  const char *failure = ir->failure;
  ir->diags->fn = keep_back;
  ir->diags->user = &kept;
  fe_point_at_end(ir, b->block);
  fe_status ok = fe_rest_make(c, b->out, out);
  *ir->diags = before;
  if (kept.text) { // what was malformed goes with the branch
    ir->failed = failed;
    ir->failure = failure;
  }
  fe_point_restore(ir, outside);
  ir->loc = loc;
  b->out = out;
  return kept.text ? kept.text : ok == FE_OK ? NULL : "it cannot be compiled";
}

/// The branch's ops go to the insertion point.
static void inline_branch(fe_ir *ir, branch *b) {
  MlirOperation op;
  while (!mlirOperationIsNull(op = mlirBlockGetFirstOperation(b->block))) {
    mlirOperationRemoveFromParent(op);
    if (mlirOperationIsNull(ir->before))
      mlirBlockAppendOwnedOperation(ir->block, op);
    else
      mlirBlockInsertOwnedOperationBefore(ir->block, ir->before, op);
  }
  mlirRegionDestroy(b->region);
}

/// Both branches with the rest of the graph. Where that is impossible in one,
/// the model fails when it takes that branch: true, and the other is in place.
static bool take_rest(const fe_call_site *c, fe_call_site *level, branch *yes,
                      branch *no, fe_status *status) {
  fe_ir *ir = c->scope->im->ir;
  const char *wrong[2] = {add_rest(level, yes), add_rest(level, no)};
  *status = FE_OK;
  if (!wrong[0] && !wrong[1])
    return false;
  if (wrong[0] && wrong[1]) {
    *status =
        fe_error(ir->diags, c->where, NULL,
                 "whichever branch is taken, what follows fails: %s", wrong[0]);
    return false;
  }
  MlirValue taken = fe_extract_scalar(ir, c->in[0]);
  if (wrong[0])
    taken = fe_not(ir, taken);
  const char *message =
      fe_printf(ir->arena, "If '%s' takes its %s branch: %s",
                c->where.node ? c->where.node : "", wrong[0] ? "then" : "else",
                wrong[wrong[0] ? 0 : 1]);
  FE_OP(ir, "krnl.check", FE_VALUES(taken),
        FE_ATTRS(fe_at_str(ir, "message", message)));
  inline_branch(ir, wrong[0] ? no : yes);
  mlirRegionDestroy((wrong[0] ? yes : no)->region);
  level->scope->rest = (wrong[0] ? no : yes)->out;
  return true;
}

static fe_status make_known_branch(fe_call_site *c, const char *name) {
  fe_body b;
  fe_scope *s;
  if (fe_site_graph(c, name, 0, c->n_out, &b, &s) != FE_OK)
    return FE_FAILED;
  b.n_out = c->n_out;
  s->inlined_in = c;
  return fe_body_make(s, &b, NULL, c->out);
}

fe_status fe_import_if(fe_call_site *c) {
  fe_import *im = c->scope->im;
  fe_ir *ir = im->ir;
  MlirValue cond = c->n_in == 1 ? c->in[0] : (MlirValue){0};
  if (fe_check_scalar(c, "the condition", cond, FE_BOOL) != FE_OK)
    return FE_FAILED;
  double known;
  if (fe_const_scalar(ir, cond, &known))
    return make_known_branch(c, known ? "then_branch" : "else_branch");
  branch yes = {0}, no = {0};
  size_t n = c->n_out;
  fe_status ok = make_branch(c, "then_branch", &yes);
  if (ok == FE_OK)
    ok = make_branch(c, "else_branch", &no);
  fe_call_site *last = NULL; // whose rest the branches have taken
  for (fe_call_site *level = c;
       level && ok == FE_OK && ranks_differ(&yes, &no, n);
       level = level->scope->inlined_in) {
    memcpy(level->out, yes.out, n * sizeof(*c->out)); // no user is left
    n = level->scope->body->n_out;
    if (take_rest(c, level, &yes, &no, &ok))
      return FE_OK;
    level->scope->rest = yes.out; // nor here, should the next level follow
    last = level;
  }
  MlirType *types = FE_NEW_N(im->arena, MlirType, n + 1);
  for (size_t i = 0; ok == FE_OK && i < n; i++)
    ok = fe_join_types(c, fe_printf(im->arena, "output %zu of the branches", i),
                       yes.out[i], no.out[i], NULL, &types[i]);
  if (ok != FE_OK) {
    for (fe_call_site *level = last ? c : NULL; level;
         level = level == last ? NULL : level->scope->inlined_in)
      level->scope->rest = NULL;
    if (yes.region.ptr)
      mlirRegionDestroy(yes.region);
    if (no.region.ptr)
      mlirRegionDestroy(no.region);
    return FE_FAILED;
  }
  end_branch(ir, &yes, n, types);
  end_branch(ir, &no, n, types);
  MlirRegion regions[] = {yes.region, no.region};
  MlirOperation op = FE_OP(ir, "scf.if", FE_VALUES(fe_extract_scalar(ir, cond)),
                           .n_results = (unsigned)n, .results = types,
                           .n_regions = 2, .regions = regions);
  MlirValue *results = FE_NEW_N(im->arena, MlirValue, n + 1);
  for (size_t i = 0; i < n; i++)
    results[i] = fe_result(op, (unsigned)i);
  if (last)
    last->scope->rest = results;
  else
    memcpy(c->out, results, n * sizeof(*c->out));
  return FE_OK;
}

//===-- Loop ----------------------------------------------------------------//

typedef struct graph_body {
  fe_body b;
  fe_scope *scope; // made afresh for each attempt
} graph_body;

/// Calls of functions share their nodes: no two of them are the same loop.
static const void *loop_key(const fe_call_site *c) {
  return *c->scope->prefix ? NULL : c->node;
}

static fe_status loop_body(fe_model_loop *l, MlirValue iter, MlirValue cond,
                           const MlirValue *carried, MlirValue *go_on,
                           MlirValue *carried_out, MlirValue *scan_out) {
  const graph_body *g = l->user;
  fe_arena *arena = g->scope->im->arena;
  MlirValue *in = FE_NEW_N(arena, MlirValue, g->b.n_in);
  MlirValue *out = FE_NEW_N(arena, MlirValue, g->b.n_out);
  in[0] = iter;
  in[1] = cond;
  if (l->n_carried)
    memcpy(in + 2, carried, l->n_carried * sizeof(*in));
  if (fe_body_make(fe_scope_again(g->scope), &g->b, in, out) != FE_OK)
    return FE_FAILED;
  *go_on = out[0];
  for (size_t i = 0; i < l->n_carried; i++)
    carried_out[i] = out[1 + i];
  for (size_t i = 0; i < l->n_scan; i++)
    scan_out[i] = out[1 + l->n_carried + i];
  return FE_OK;
}

/// The trip count as a dim, where it is a number or a size.
static MlirAffineExpr trips_of(fe_ir *ir, MlirValue trip) {
  fe_contents *known = FE_NEW(ir->arena, fe_contents);
  if (!fe_contents_of(ir, trip, known) || known->n != 1)
    return (MlirAffineExpr){0};
  int64_t n = fe_dim_static(known->at[0]);
  if (n != FE_DYN)
    return fe_dim_const(ir, n < 0 ? 0 : n);
  return mlirAffineExprIsASymbol(known->at[0]) ? known->at[0]
                                               : (MlirAffineExpr){0};
}

static fe_status make_loop(fe_model_loop *l) {
  fe_call_site *c = l->site;
  MlirValue *out =
      FE_NEW_N(c->scope->im->arena, MlirValue, l->n_carried + l->n_scan);
  if (fe_model_loop_make(l, out) != FE_OK)
    return FE_FAILED;
  if (c->n_out)
    memcpy(c->out, out, c->n_out * sizeof(*out));
  return FE_OK;
}

fe_status fe_import_loop(fe_call_site *c) {
  fe_import *im = c->scope->im;
  // Absent values at the end are dropped, but those carried may be many.
  size_t n_carried = c->node->input.n < 2 ? 0 : c->node->input.n - 2;
  MlirValue trip = c->n_in > 0 ? c->in[0] : (MlirValue){0};
  MlirValue cond = c->n_in > 1 ? c->in[1] : (MlirValue){0};
  if (!fe_is_null(trip) &&
      fe_check_scalar(c, "the trip count", trip, FE_I64) != FE_OK)
    return FE_FAILED;
  if (!fe_is_null(cond) &&
      fe_check_scalar(c, "the condition", cond, FE_BOOL) != FE_OK)
    return FE_FAILED;
  for (size_t i = 0; i < n_carried; i++)
    if (fe_is_null(c->in[2 + i]))
      return fe_error(im->diags, c->where, NULL,
                      "value %zu carried by the loop is missing", i);
  graph_body g;
  size_t n_out = c->n_out > n_carried ? c->n_out : n_carried;
  if (fe_site_graph(c, "body", 2 + n_carried, 1 + n_out, &g.b, &g.scope) !=
      FE_OK)
    return FE_FAILED;
  fe_model_loop l = {.site = c,
                     .key = loop_key(c),
                     .trip = trip,
                     .cond = cond,
                     .n_carried = n_carried,
                     .init = c->in + 2,
                     .n_scan = g.b.n_out - 1 - n_carried,
                     .user = &g,
                     .body = loop_body};
  if (!fe_is_null(trip))
    l.trips = trips_of(im->ir, trip);
  return make_loop(&l);
}

//===-- Scan ----------------------------------------------------------------//

typedef struct scan {
  graph_body g;
  size_t n_state, n_in;
  const MlirValue *in; // scanned inputs
  const int64_t *axis, *reverse;
  MlirValue count; // scalar tensor: number of iterations
  MlirAffineExpr trips;
  MlirValue length; // the same, where less than there is may be scanned
} scan;

static MlirValue gather(fe_ir *ir, MlirValue data, MlirValue index,
                        int64_t axis) {
  MlirNamedAttribute at = fe_at_i64(ir, "axis", axis);
  return fe_first(
      fe_onnx(ir, "Gather", 2, (MlirValue[]){data, index}, 1, 1, &at));
}

static fe_status scan_body(fe_model_loop *l, MlirValue iter, MlirValue cond,
                           const MlirValue *carried, MlirValue *go_on,
                           MlirValue *carried_out, MlirValue *scan_out) {
  (void)cond;
  (void)go_on;
  const scan *s = l->user;
  fe_ir *ir = s->g.scope->im->ir;
  MlirValue *in = FE_NEW_N(ir->arena, MlirValue, s->g.b.n_in);
  MlirValue *out = FE_NEW_N(ir->arena, MlirValue, s->g.b.n_out);
  MlirValue last = {0};
  for (size_t i = 0; i < s->n_state; i++)
    in[i] = carried[i];
  for (size_t i = 0; i < s->n_in; i++) {
    MlirValue index = iter;
    if (s->reverse[i]) {
      if (fe_is_null(last))
        last = fe_onnx1(ir, "Sub", s->count, fe_constant_scalar(ir, FE_I64, 1));
      index = fe_onnx1(ir, "Sub", last, iter);
    }
    in[s->n_state + i] = gather(ir, s->in[i], index, s->axis[i]);
    if (fe_is_null(in[s->n_state + i]))
      return FE_FAILED;
  }
  if (fe_body_make(fe_scope_again(s->g.scope), &s->g.b, in, out) != FE_OK)
    return FE_FAILED;
  for (size_t i = 0; i < l->n_carried; i++)
    carried_out[i] = out[i];
  for (size_t i = 0; i < l->n_scan; i++)
    scan_out[i] = out[l->n_carried + i];
  return FE_OK;
}

/// Size of a dim as a scalar tensor and as an expression.
static fe_status size_of(fe_call_site *c, MlirValue v, int64_t axis,
                         MlirValue *size, MlirAffineExpr *expr) {
  fe_ir *ir = c->scope->im->ir;
  fe_dims d;
  if (fe_is_null(v) || !fe_dims_of(ir, v, &d))
    return fe_error(ir->diags, c->where, NULL, "a scanned input is no tensor");
  fe_where where = c->where;
  where.attr = "scan_input_axes";
  if (axis < -(int64_t)d.rank || axis >= (int64_t)d.rank)
    return fe_error(ir->diags, where, NULL,
                    "axis %lld is not in a scanned input's %u dimensions",
                    (long long)axis, d.rank);
  axis += axis < 0 ? d.rank : 0;
  *expr = d.d[axis];
  int64_t n = fe_dim_static(*expr);
  if (n != FE_DYN) {
    *size = fe_constant(ir, NULL, FE_I64, 0, NULL,
                        fe_memdup(ir->arena, &n, sizeof(n)));
    return FE_OK;
  }
  MlirNamedAttribute range[] = {fe_at_i64(ir, "start", axis),
                                fe_at_i64(ir, "end", axis + 1)};
  *size =
      fe_scalar_tensor(ir, fe_first(fe_onnx(ir, "Shape", 1, &v, 1, 2, range)));
  return FE_OK;
}

/// Ends the run unless `fits`.
static void check_scan(const fe_call_site *c, MlirValue fits,
                       const char *what) {
  fe_ir *ir = c->scope->im->ir;
  const char *message = fe_printf(ir->arena, "Scan '%s': %s",
                                  c->where.node ? c->where.node : "", what);
  FE_OP(ir, "krnl.check", FE_VALUES(fits),
        FE_ATTRS(fe_at_str(ir, "message", message)));
}

/// Dim `axis` of v must be of size `want`, which is `expr`.
static fe_status must_have(fe_call_site *c, MlirValue v, int64_t axis,
                           MlirValue want, MlirAffineExpr expr,
                           const char *what) {
  fe_ir *ir = c->scope->im->ir;
  MlirValue size;
  MlirAffineExpr mine;
  if (size_of(c, v, axis, &size, &mine) != FE_OK)
    return FE_FAILED;
  if (fe_dim_same(mine, expr))
    return FE_OK;
  int64_t have = fe_dim_static(mine), need = fe_dim_static(expr);
  if (have != FE_DYN && need != FE_DYN)
    return fe_error(ir->diags, c->where, NULL, "%s: %lld and %lld", what,
                    (long long)have, (long long)need);
  check_scan(c,
             fe_cmp(ir, FE_EQ, fe_extract_scalar(ir, size),
                    fe_extract_scalar(ir, want)),
             what);
  return FE_OK;
}

/// All scanned inputs have the same number of elements to scan.
static fe_status scan_count(fe_call_site *c, scan *s) {
  if (size_of(c, s->in[0], s->axis[0], &s->count, &s->trips) != FE_OK)
    return FE_FAILED;
  for (size_t i = 1; i < s->n_in; i++)
    if (must_have(c, s->in[i], s->axis[i], s->count, s->trips,
                  "the scanned inputs have different lengths along "
                  "scan_input_axes") != FE_OK)
      return FE_FAILED;
  return FE_OK;
}

static bool *flags(fe_arena *arena, size_t n, const int64_t *v) {
  bool *out = FE_NEW_N(arena, bool, n);
  for (size_t i = 0; i < n; i++)
    out[i] = v[i] != 0;
  return out;
}

/// The directions of n inputs or results: 0 forward, 1 backward.
static fe_status scan_directions(const fe_call_site *c, const char *name,
                                 size_t n, const int64_t **out) {
  fe_where where = c->where;
  where.attr = name;
  if (fe_site_ints(c, name, n, out) != FE_OK)
    return FE_FAILED;
  for (size_t i = 0; i < n; i++)
    if ((*out)[i] != 0 && (*out)[i] != 1)
      return fe_error(c->scope->im->diags, where,
                      "it can be: 0 (forward), 1 (backward)",
                      "direction %zu cannot be %lld", i, (long long)(*out)[i]);
  return FE_OK;
}

static fe_status scan_loop(fe_call_site *c, scan *s, const MlirValue *states,
                           const int64_t *out_axes, const int64_t *out_reverse,
                           MlirValue *out) {
  if (scan_count(c, s) != FE_OK)
    return FE_FAILED;
  if (!fe_is_null(s->length)) {
    s->count = s->length;
    s->trips = (MlirAffineExpr){0};
  }
  size_t n_scan = s->g.b.n_out - s->n_state;
  fe_model_loop l = {.site = c,
                     .key = loop_key(c),
                     .trip = s->count,
                     .trips = s->trips,
                     .n_carried = s->n_state,
                     .init = states,
                     .n_scan = n_scan,
                     .scan_axis = out_axes,
                     .prepend = flags(c->scope->im->arena, n_scan, out_reverse),
                     .user = s,
                     .body = scan_body};
  return fe_model_loop_make(&l, out);
}

//===-- Scan of opset 8: a batch of scans -----------------------------------//

typedef struct batch {
  scan s;
  const MlirValue *states, *in; // with the batch as first dim
  MlirValue lengths;            // of the sequences; null: all there is
  MlirValue whole;              // how long they may be
  MlirAffineExpr whole_dim;
  const int64_t *zeros;
} batch;

/// How long sequence `iter` is: not longer than there is.
static MlirValue batch_length(const batch *b, const fe_call_site *c,
                              MlirValue iter) {
  fe_ir *ir = c->scope->im->ir;
  MlirValue length = gather(ir, b->lengths, iter, 0);
  if (fe_is_null(length))
    return length;
  MlirValue n = fe_extract_scalar(ir, length);
  MlirValue fits =
      fe_and(ir, fe_cmp(ir, FE_GE, n, fe_int(ir, ir->i64, 0)),
             fe_cmp(ir, FE_LE, n, fe_extract_scalar(ir, b->whole)));
  check_scan(c, fits,
             "a length in sequence_lens is negative, or more than the inputs "
             "have");
  return length;
}

/// A stacked result of a shorter sequence, with zeros behind it.
static MlirValue filled(const batch *b, fe_ir *ir, MlirValue v,
                        MlirValue length) {
  fe_dims d;
  int64_t zeros[FE_MAX_RANK] = {0};
  if (fe_is_null(v) || !fe_dims_of(ir, v, &d))
    return (MlirValue){0};
  MlirValue rest =
      fe_onnx1(ir, "Reshape", fe_onnx1(ir, "Sub", b->whole, length),
               fe_constant_i64s(ir, 1, (int64_t[]){1}));
  MlirValue parts[] = {fe_constant_i64s(ir, d.rank, zeros), rest,
                       fe_constant_i64s(ir, d.rank - 1, zeros)};
  MlirNamedAttribute axis = fe_at_i64(ir, "axis", 0);
  MlirValue pads = fe_first(fe_onnx(ir, "Concat", 3, parts, 1, 1, &axis));
  v = fe_onnx1(ir, "Pad", v, pads);
  d.d[0] = b->whole_dim;
  return fe_is_null(v)
             ? v
             : fe_value_cast(ir, v, fe_tensor_type(ir, fe_elem_of(v), &d));
}

static fe_status batch_body(fe_model_loop *l, MlirValue iter, MlirValue cond,
                            const MlirValue *carried, MlirValue *go_on,
                            MlirValue *carried_out, MlirValue *scan_out) {
  (void)cond;
  (void)carried;
  (void)go_on;
  (void)carried_out;
  const batch *b = l->user;
  fe_ir *ir = l->site->scope->im->ir;
  scan s = b->s;
  MlirValue *states = FE_NEW_N(ir->arena, MlirValue, s.n_state);
  MlirValue *in = FE_NEW_N(ir->arena, MlirValue, s.n_in);
  for (size_t i = 0; i < s.n_state; i++)
    states[i] = gather(ir, b->states[i], iter, 0);
  for (size_t i = 0; i < s.n_in; i++)
    in[i] = gather(ir, b->in[i], iter, 0);
  for (size_t i = 0; i < s.n_state; i++)
    if (fe_is_null(states[i]))
      return FE_FAILED;
  s.in = in;
  if (!fe_is_null(b->lengths) &&
      fe_is_null(s.length = batch_length(b, l->site, iter)))
    return FE_FAILED;
  if (scan_loop(l->site, &s, states, b->zeros, b->zeros, scan_out) != FE_OK)
    return FE_FAILED;
  for (size_t i = s.n_state; i < s.g.b.n_out && !fe_is_null(s.length); i++)
    if (fe_is_null(scan_out[i] = filled(b, ir, scan_out[i], s.length)))
      return FE_FAILED;
  return FE_OK;
}

static fe_status scan_8(fe_call_site *c, scan *s, const MlirValue *states,
                        MlirValue *out) {
  batch b = {.states = states, .in = s->in, .lengths = c->in[0]};
  b.zeros = FE_NEW_N(c->scope->im->arena, int64_t, s->g.b.n_in + s->g.b.n_out);
  s->axis = b.zeros;
  b.s = *s;
  MlirValue count;
  MlirAffineExpr trips;
  if (size_of(c, s->in[0], 0, &count, &trips) != FE_OK)
    return FE_FAILED;
  for (size_t i = 0; i < s->n_state + s->n_in; i++)
    if (must_have(c, i < s->n_state ? states[i] : s->in[i - s->n_state], 0,
                  count, trips,
                  "the first dims of the states and scanned inputs, the "
                  "batch, differ in size") != FE_OK)
      return FE_FAILED;
  fe_dims lengths;
  if (!fe_is_null(b.lengths) &&
      (!fe_dims_of(c->scope->im->ir, b.lengths, &lengths) ||
       lengths.rank != 1 || fe_dtype_of_elem(fe_elem_of(b.lengths)) != FE_I64))
    return fe_error(c->scope->im->diags, c->where, NULL,
                    "sequence_lens is no list of int64");
  if (!fe_is_null(b.lengths) &&
      must_have(c, b.lengths, 0, count, trips,
                "sequence_lens must have a length for each sequence") != FE_OK)
    return FE_FAILED;
  if (!fe_is_null(b.lengths) &&
      size_of(c, s->in[0], 1, &b.whole, &b.whole_dim) != FE_OK)
    return FE_FAILED;
  fe_model_loop l = {.site = c,
                     .trip = count,
                     .trips = trips,
                     .n_scan = s->g.b.n_out,
                     .user = &b,
                     .body = batch_body};
  return fe_model_loop_make(&l, out);
}

fe_status fe_import_scan(fe_call_site *c) {
  fe_import *im = c->scope->im;
  bool old = fe_scope_opset(c->scope, "") < 9;
  size_t first = old; // after the lengths of the sequences
  int64_t n_in = fe_site_int(c, "num_scan_inputs", 0);
  if (n_in < 1 || (uint64_t)n_in + first > c->n_in)
    return fe_error(im->diags, c->where, NULL,
                    "num_scan_inputs is %lld, the node has %zu inputs",
                    (long long)n_in, c->n_in);
  for (size_t i = first; i < c->n_in; i++)
    if (fe_is_null(c->in[i]))
      return fe_error(im->diags, c->where, NULL, "input %zu is missing", i);
  scan s = {.n_in = (size_t)n_in, .n_state = c->n_in - first - (size_t)n_in};
  s.in = c->in + first + s.n_state;
  const MlirValue *states = c->in + first;
  size_t least = c->n_out > s.n_state ? c->n_out : s.n_state;
  if (fe_site_graph(c, "body", s.n_state + s.n_in, least, &s.g.b, &s.g.scope) !=
      FE_OK)
    return FE_FAILED;
  size_t n_scan = s.g.b.n_out - s.n_state;
  const int64_t *out_axes, *out_reverse;
  if (scan_directions(c, old ? "directions" : "scan_input_directions", s.n_in,
                      &s.reverse) != FE_OK ||
      fe_site_ints(c, "scan_input_axes", s.n_in, &s.axis) != FE_OK ||
      fe_site_ints(c, "scan_output_axes", n_scan, &out_axes) != FE_OK ||
      scan_directions(c, "scan_output_directions", n_scan, &out_reverse) !=
          FE_OK)
    return FE_FAILED;
  MlirValue *out = FE_NEW_N(im->arena, MlirValue, s.g.b.n_out);
  fe_status ok = old ? scan_8(c, &s, states, out)
                     : scan_loop(c, &s, states, out_axes, out_reverse, out);
  if (ok == FE_OK && c->n_out)
    memcpy(c->out, out, c->n_out * sizeof(*out));
  return ok;
}
