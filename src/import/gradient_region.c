//===- gradient_region.c - derivatives of If, Loop, Scan ---------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: an scf.if becomes one whose branches are made again, with the
// accumulation behind them. An scf.while is run again for as many iterations as
// it had, keeping what it carried into each; then a loop goes backwards over
// these, makes each iteration again, and carries the derivatives by what was
// carried and by what the body uses from outside. Of what is used only element
// by element, as Scan's inputs are, the derivatives are stacked instead, so
// that an iteration does not touch all of it.
//
//===----------------------------------------------------------------------===//
#include "import/gradient_graph.h"
#include "op/sequence.h"

#include <string.h>

typedef fe_vec(MlirValue) values;

//===-- Regions -------------------------------------------------------------//

typedef struct captured {
  values list;
} captured;

/// Lists what is used in the op's regions and not defined there.
static void list_captured(fe_arena *arena, MlirOperation op, fe_map *own,
                          fe_map *seen, values *out) {
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); r++) {
    MlirBlock b = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
    if (mlirBlockIsNull(b))
      continue;
    for (intptr_t i = 0; i < mlirBlockGetNumArguments(b); i++)
      fe_map_set_ptr(arena, own, mlirBlockGetArgument(b, i).ptr, own);
    for (MlirOperation o = mlirBlockGetFirstOperation(b);
         !mlirOperationIsNull(o); o = mlirOperationGetNextInBlock(o)) {
      for (unsigned i = 0; i < fe_n_operands(o); i++) {
        MlirValue v = fe_operand(o, i);
        if (fe_map_get_ptr(own, v.ptr) || fe_map_get_ptr(seen, v.ptr))
          continue;
        fe_map_set_ptr(arena, seen, v.ptr, seen);
        fe_push(arena, out, v);
      }
      list_captured(arena, o, own, seen, out);
      for (unsigned i = 0; i < fe_n_results(o); i++)
        fe_map_set_ptr(arena, own, fe_result(o, i).ptr, own);
    }
  }
}

static const values *captured_by(fe_gradient *g, MlirOperation op) {
  captured *c = (captured *)fe_map_get_ptr(&g->captured, op.ptr);
  if (c)
    return &c->list;
  fe_map own = {0}, seen = {0};
  c = FE_NEW(g->arena, captured);
  list_captured(g->arena, op, &own, &seen, &c->list);
  fe_map_set_ptr(g->arena, &g->captured, op.ptr, c);
  return &c->list;
}

unsigned fe_gradient_n_in(fe_gradient *g, MlirOperation op) {
  unsigned n = fe_n_operands(op);
  return mlirOperationGetNumRegions(op) ? n + (unsigned)captured_by(g, op)->n
                                        : n;
}

MlirValue fe_gradient_in(fe_gradient *g, MlirOperation op, unsigned i) {
  unsigned n = fe_n_operands(op);
  return i < n ? fe_operand(op, i) : captured_by(g, op)->at[i - n];
}

//===-- Copies --------------------------------------------------------------//

static MlirValue now_of(const fe_map *now, MlirValue v) {
  const void *p = fe_is_null(v) ? NULL : fe_map_get_ptr(now, v.ptr);
  return p ? (MlirValue){p} : v;
}

static void replace_operands(MlirOperation op, const fe_map *now) {
  for (unsigned i = 0; i < fe_n_operands(op); i++)
    mlirOperationSetOperand(op, i, now_of(now, fe_operand(op, i)));
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); r++) {
    MlirBlock b = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
    if (mlirBlockIsNull(b))
      continue;
    for (MlirOperation o = mlirBlockGetFirstOperation(b);
         !mlirOperationIsNull(o); o = mlirOperationGetNextInBlock(o))
      replace_operands(o, now);
  }
}

/// A copy draws the numbers that the op draws: those of its number, which it
/// gets here and keeps.
static void number_draws(fe_ir *ir, MlirOperation op) {
  static const char *const random[] = {
      "Bernoulli",        "Dropout",       "Multinomial",      "RandomNormal",
      "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  const fe_op_row *row = fe_op_row_of(op);
  for (size_t i = 0; i < FE_COUNT(random) && row; i++)
    if (!strcmp(row->name, random[i]) && !fe_has_attr(op, "draw"))
      fe_set_attr(ir, op, fe_at_i64(ir, "draw", ++ir->draws));
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); r++) {
    MlirBlock b = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
    for (MlirOperation o = mlirBlockIsNull(b) ? (MlirOperation){0}
                                              : mlirBlockGetFirstOperation(b);
         !mlirOperationIsNull(o); o = mlirOperationGetNextInBlock(o))
      number_draws(ir, o);
  }
}

MlirOperation fe_gradient_copy(fe_ir *ir, MlirOperation op, fe_map *now) {
  number_draws(ir, op);
  MlirOperation copy = mlirOperationClone(op);
  replace_operands(copy, now);
  if (mlirOperationIsNull(ir->before))
    mlirBlockAppendOwnedOperation(ir->block, copy);
  else
    mlirBlockInsertOwnedOperationBefore(ir->block, ir->before, copy);
  for (unsigned i = 0; i < fe_n_results(op); i++)
    fe_map_set_ptr(ir->arena, now, fe_result(op, i).ptr,
                   (void *)fe_result(copy, i).ptr);
  return copy;
}

static bool is_stack(MlirOperation op) {
  return fe_op_is(op, "onnx.ms_stack_insert") ||
         fe_op_is(op, "onnx.ms_stack_append");
}

/// The ops of a block at the insertion point, but for its end, stacks, and
/// checks, which were made where the op is.
static void copy_block(fe_ir *ir, MlirBlock b, fe_map *now) {
  MlirOperation end = mlirBlockGetTerminator(b);
  for (MlirOperation o = mlirBlockGetFirstOperation(b);
       !mlirOperationEqual(o, end); o = mlirOperationGetNextInBlock(o))
    if (fe_n_results(o) && !is_stack(o))
      fe_gradient_copy(ir, o, now);
}

//===-- What is the same in both --------------------------------------------//

static void name_variable(fe_gradient *part, MlirValue v) {
  part->named[part->n_x++] = v;
  fe_map_set_ptr(part->arena, &part->needs, v.ptr, part->ir);
}

static fe_gradient part_of(const fe_gradient *g, MlirBlock inside, size_t n) {
  return (fe_gradient){.c = g->c,
                       .ir = g->ir,
                       .arena = g->arena,
                       .inside = inside,
                       .named = FE_NEW_N(g->arena, MlirValue, n + 1)};
}

/// Accumulates from y, whose derivative is dy.
static fe_status seed(fe_gradient *part, MlirValue y, MlirValue dy) {
  if (fe_is_null(dy))
    return FE_FAILED;
  fe_gradient_collect(part, y);
  if (!fe_gradient_needs(part, y))
    return FE_OK;
  return fe_gradient_add(part, y,
                         fe_value_cast(part->ir, dy, mlirValueGetType(y)));
}

static MlirValue zeros_like(fe_ir *ir, MlirValue v) {
  fe_step s = {.ir = ir, .dy = v};
  return fe_d_zeros(&s, v);
}

static MlirValue of_type(fe_ir *ir, MlirValue v, MlirType t) {
  return fe_is_null(v) ? v : fe_value_cast(ir, v, t);
}

/// What y needs derivatives by, of all that is used in the regions.
static values variables_of(fe_gradient *g, MlirOperation op) {
  const values *all = captured_by(g, op);
  values out = {0};
  for (size_t i = 0; i < all->n; i++)
    if (fe_gradient_needs(g, all->at[i]))
      fe_push(g->arena, &out, all->at[i]);
  return out;
}

//===-- If ------------------------------------------------------------------//

static fe_status branch(const fe_gradient *g, MlirOperation op, unsigned which,
                        const values *x, MlirRegion *region) {
  fe_ir *ir = g->ir;
  MlirBlock from = fe_region_block(op, which);
  MlirBlock block = mlirBlockCreate(0, NULL, NULL);
  MlirOperation end = mlirBlockGetTerminator(from);
  fe_map now = {0};
  fe_point outside = fe_point_save(ir);
  *region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(*region, block);
  fe_point_at_end(ir, block);
  copy_block(ir, from, &now);
  fe_gradient part = part_of(g, block, x->n);
  for (size_t i = 0; i < x->n; i++)
    name_variable(&part, x->at[i]);
  fe_status ok = FE_OK;
  for (unsigned i = 0; i < fe_n_results(op) && ok == FE_OK; i++) {
    MlirValue dy = fe_gradient_sum(g, fe_result(op, i));
    if (!fe_is_null(dy))
      ok = seed(&part, now_of(&now, fe_operand(end, i)), dy);
  }
  if (ok == FE_OK)
    ok = fe_gradient_accumulate(&part);
  MlirValue *out = FE_NEW_N(g->arena, MlirValue, x->n + 1);
  for (size_t i = 0; i < x->n && ok == FE_OK; i++) {
    MlirValue d = fe_gradient_sum(&part, x->at[i]);
    if (fe_is_null(d))
      d = zeros_like(ir, x->at[i]);
    out[i] = of_type(ir, d, mlirValueGetType(x->at[i]));
    ok = fe_is_null(out[i]) ? FE_FAILED : FE_OK;
  }
  if (ok == FE_OK)
    FE_OP(ir, "scf.yield", .n_operands = (unsigned)x->n, .operands = out);
  fe_point_restore(ir, outside);
  return ok;
}

static fe_status of_if(fe_gradient *g, MlirOperation op) {
  fe_ir *ir = g->ir;
  values x = variables_of(g, op);
  MlirRegion regions[2] = {{0}};
  MlirType *types = FE_NEW_N(g->arena, MlirType, x.n + 1);
  for (size_t i = 0; i < x.n; i++)
    types[i] = mlirValueGetType(x.at[i]);
  fe_status ok = branch(g, op, 0, &x, &regions[0]);
  if (ok == FE_OK)
    ok = branch(g, op, 1, &x, &regions[1]);
  if (ok != FE_OK) {
    for (unsigned i = 0; i < 2; i++)
      if (regions[i].ptr)
        mlirRegionDestroy(regions[i]);
    return FE_FAILED;
  }
  MlirOperation made = FE_OP(ir, "scf.if", FE_VALUES(fe_operand(op, 0)),
                             .n_results = (unsigned)x.n, .results = types,
                             .n_regions = 2, .regions = regions);
  for (size_t i = 0; i < x.n; i++)
    if (fe_gradient_add(g, x.at[i], fe_result(made, (unsigned)i)) != FE_OK)
      return FE_FAILED;
  return FE_OK;
}

//===-- Loops ---------------------------------------------------------------//

/// A value that the body uses by single elements only.
typedef struct sliced {
  MlirValue from;   // outside
  MlirOperation op; // the Gather
} sliced;

typedef struct loop {
  fe_gradient *g;
  MlirOperation op;
  MlirBlock body;
  MlirOperation end;
  MlirValue trips; // how many iterations there were
  unsigned n;      // values carried, number 0 is the iteration's
  bool *is_stack, *varies;
  MlirValue *kept; // what was carried into each iteration, stacked; or null
  values x;        // variables from outside, but for those used by elements
  fe_vec(sliced) parts;
} loop;

static MlirValue argument(const loop *l, unsigned k) {
  return mlirBlockGetArgument(l->body, k);
}
static MlirValue given(const loop *l, unsigned k) {
  return fe_operand(l->end, k);
}

static MlirValue element(fe_ir *ir, MlirValue v, MlirValue at) {
  MlirNamedAttribute axis = fe_at_i64(ir, "axis", 0);
  MlirValue in[2] = {v, at};
  return fe_first(fe_onnx(ir, "Gather", 2, in, 1, 1, &axis));
}

/// Reads the loop; false: it is none of those that import makes.
static bool read_loop(loop *l, fe_gradient *g, MlirOperation op) {
  *l = (loop){.g = g, .op = op, .n = fe_n_operands(op)};
  l->body = fe_region_block(op, 1);
  l->end = mlirBlockGetTerminator(l->body);
  l->is_stack = FE_NEW_N(g->arena, bool, l->n + 1);
  l->varies = FE_NEW_N(g->arena, bool, l->n + 1);
  l->kept = FE_NEW_N(g->arena, MlirValue, l->n + 1);
  if (!l->n || fe_n_results(op) != l->n || fe_n_operands(l->end) != l->n ||
      mlirBlockGetNumArguments(l->body) != (intptr_t)l->n ||
      !mlirTypeIsARankedTensor(mlirValueGetType(argument(l, 0))) ||
      fe_rank(argument(l, 0)) != 0 || fe_d_type(argument(l, 0)) != FE_I64 ||
      !fe_op_is(fe_def(given(l, 0)), "onnx.add") ||
      !fe_same(fe_operand(fe_def(given(l, 0)), 0), argument(l, 0)))
    return false;
  l->trips = fe_result(op, 0);
  for (unsigned k = 1; k < l->n; k++) {
    MlirOperation def = fe_def(given(l, k));
    l->is_stack[k] =
        is_stack(def) && fe_same(fe_operand(def, 0), argument(l, k));
    if (!l->is_stack[k] &&
        !mlirTypeIsARankedTensor(mlirValueGetType(argument(l, k))))
      return false; // a sequence, say
  }
  return true;
}

/// The op of the body that has a use, itself or by nesting; null: none.
static MlirOperation in_body(const loop *l, MlirOpOperand use) {
  MlirOperation op = mlirOpOperandGetOwner(use);
  while (!mlirOperationIsNull(op) &&
         !mlirBlockEqual(mlirOperationGetBlock(op), l->body))
    op = mlirOperationGetParentOperation(op);
  return op;
}

/// Which carried values y varies with: those that begin so and those that
/// become so by the body. From values to their users, each once.
static void find_varying(loop *l) {
  fe_gradient *g = l->g, part = {0};
  values todo = variables_of(g, l->op);
  for (unsigned k = 1; k < l->n; k++) {
    l->varies[k] =
        !l->is_stack[k] && fe_gradient_needs(g, fe_operand(l->op, k));
    if (l->varies[k])
      fe_push(g->arena, &todo, argument(l, k));
  }
  while (todo.n) {
    MlirValue v = todo.at[--todo.n];
    for (MlirOpOperand u = mlirValueGetFirstUse(v); !mlirOpOperandIsNull(u);
         u = mlirOpOperandGetNextUse(u)) {
      MlirOperation op = in_body(l, u);
      if (mlirOperationIsNull(op) || fe_map_get_ptr(&part.needs, op.ptr))
        continue;
      if (mlirOperationEqual(op, l->end)) {
        unsigned k = mlirOpOperandGetOperandNumber(u);
        if (k && !l->is_stack[k] && !l->varies[k]) {
          l->varies[k] = true;
          fe_push(g->arena, &todo, argument(l, k));
        }
        continue;
      }
      fe_map_set_ptr(g->arena, &part.needs, op.ptr, op.ptr);
      for (unsigned r = 0; r < fe_n_results(op); r++)
        if (fe_gradient_needs(&part, fe_result(op, r)))
          fe_push(g->arena, &todo, fe_result(op, r));
    }
  }
}

/// Sorts the variables by how the body uses them.
static void find_parts(loop *l) {
  fe_arena *arena = l->g->arena;
  values all = variables_of(l->g, l->op);
  for (size_t i = 0; i < all.n; i++) {
    size_t before = l->parts.n;
    bool whole = false;
    for (MlirOpOperand u = mlirValueGetFirstUse(all.at[i]);
         !mlirOpOperandIsNull(u) && !whole; u = mlirOpOperandGetNextUse(u)) {
      MlirOperation o = in_body(l, u);
      if (mlirOperationIsNull(o))
        continue;
      whole = !fe_op_is(o, "onnx.gather") ||
              mlirOpOperandGetOperandNumber(u) != 0 ||
              fe_rank(fe_operand(o, 1)) != 0;
      if (!whole)
        fe_push(arena, &l->parts, ((sliced){all.at[i], o}));
    }
    if (!whole)
      continue;
    l->parts.n = before;
    fe_push(arena, &l->x, all.at[i]);
  }
}

/// The body's ops at the insertion point, where its arguments are `in`.
static void make_body(const loop *l, const MlirValue *in, fe_map *now) {
  fe_ir *ir = l->g->ir;
  for (unsigned k = 0; k < l->n; k++)
    if (!fe_is_null(in[k])) {
      MlirValue a = argument(l, k);
      fe_map_set_ptr(ir->arena, now, a.ptr,
                     (void *)fe_value_cast(ir, in[k], mlirValueGetType(a)).ptr);
    }
  copy_block(ir, l->body, now);
}

/// Ends the run where what is carried changes its size: what came into the
/// iterations is kept as one tensor.
static void check_size(const loop *l, unsigned k, MlirValue now) {
  fe_ir *ir = l->g->ir;
  fe_dims a, b;
  const char *node = fe_loc_node(ir, mlirOperationGetLocation(l->op));
  const char *message = fe_printf(ir->arena,
                                  "Gradient: a value carried by a loop (node "
                                  "'%s') changes its size, so its "
                                  "derivatives cannot be kept",
                                  node ? node : "");
  MlirValue v[2] = {fe_operand(l->op, k), now};
  if (fe_op_is(fe_def(v[0]), "tensor.cast")) // from what is known of it
    v[0] = fe_operand(fe_def(v[0]), 0);
  if (!fe_dims_of(ir, v[0], &a) || !fe_dims_of(ir, v[1], &b))
    return;
  for (unsigned i = 0; i < a.rank; i++) {
    MlirNamedAttribute range[] = {fe_at_i64(ir, "start", i),
                                  fe_at_i64(ir, "end", i + 1)};
    MlirValue size[2];
    if (fe_dim_same(a.d[i], b.d[i]))
      continue;
    for (unsigned n = 0; n < 2; n++)
      size[n] = fe_extract_scalar(
          ir, fe_scalar_tensor(
                  ir, fe_first(fe_onnx(ir, "Shape", 1, &v[n], 1, 2, range))));
    FE_OP(ir, "krnl.check", FE_VALUES(fe_cmp(ir, FE_EQ, size[0], size[1])),
          FE_ATTRS(fe_at_str(ir, "message", message)));
  }
}

//===-- Forwards again ------------------------------------------------------//

static fe_status forwards(fe_model_loop *m, MlirValue iter, MlirValue cond,
                          const MlirValue *carried, MlirValue *go_on,
                          MlirValue *carried_out, MlirValue *scan_out) {
  (void)cond;
  (void)go_on;
  const loop *l = m->user;
  MlirValue *in = FE_NEW_N(l->g->arena, MlirValue, l->n);
  fe_map now = {0};
  size_t n = 0;
  in[0] = iter;
  for (unsigned k = 1; k < l->n; k++)
    if (!l->is_stack[k]) {
      check_size(l, k, carried[n]);
      in[k] = scan_out[n] = carried[n];
      n++;
    }
  make_body(l, in, &now);
  n = 0;
  for (unsigned k = 1; k < l->n; k++)
    if (!l->is_stack[k])
      carried_out[n++] = now_of(&now, given(l, k));
  return FE_OK;
}

static fe_status keep_states(loop *l) {
  fe_arena *arena = l->g->arena;
  MlirValue *init = FE_NEW_N(arena, MlirValue, l->n + 1);
  MlirValue *out = FE_NEW_N(arena, MlirValue, 2 * l->n + 1);
  size_t n = 0, at;
  for (unsigned k = 1; k < l->n; k++)
    if (!l->is_stack[k])
      init[n++] = fe_operand(l->op, k);
  if (!n)
    return FE_OK;
  fe_model_loop m = {.site = l->g->c,
                     .trip = l->trips,
                     .n_carried = n,
                     .init = init,
                     .n_scan = n,
                     .user = l,
                     .body = forwards};
  if (fe_model_loop_make(&m, out) != FE_OK)
    return FE_FAILED;
  at = n;
  for (unsigned k = 1; k < l->n; k++)
    if (!l->is_stack[k])
      l->kept[k] = out[at++];
  return FE_OK;
}

//===-- Backwards -----------------------------------------------------------//

/// The derivative by what iteration `t` put on stack k.
static MlirValue of_element(const loop *l, unsigned k, MlirValue t) {
  fe_ir *ir = l->g->ir;
  MlirValue dy = fe_gradient_sum(l->g, fe_result(l->op, k));
  if (fe_attr_i64(fe_def(given(l, k)), "reverse", 0)) {
    MlirNamedAttribute range[] = {fe_at_i64(ir, "start", 0),
                                  fe_at_i64(ir, "end", 1)};
    MlirValue size = fe_first(fe_onnx(ir, "Shape", 1, &dy, 1, 2, range));
    size = fe_scalar_tensor(ir, size);
    MlirValue last =
        fe_onnx1(ir, "Sub", size, fe_constant_scalar(ir, FE_I64, 1));
    t = fe_onnx1(ir, "Sub", last, t);
  }
  return element(ir, dy, t);
}

static fe_status backwards(fe_model_loop *m, MlirValue iter, MlirValue cond,
                           const MlirValue *carried, MlirValue *go_on,
                           MlirValue *carried_out, MlirValue *scan_out) {
  (void)cond;
  (void)go_on;
  const loop *l = m->user;
  fe_gradient *g = l->g;
  fe_ir *ir = g->ir;
  MlirValue *in = FE_NEW_N(g->arena, MlirValue, l->n);
  fe_map now = {0};
  MlirValue last =
      fe_onnx1(ir, "Sub", l->trips, fe_constant_scalar(ir, FE_I64, 1));
  MlirValue t = in[0] = fe_onnx1(ir, "Sub", last, iter);
  for (unsigned k = 1; k < l->n; k++)
    if (!fe_is_null(l->kept[k]) &&
        fe_is_null(in[k] = element(ir, l->kept[k], t)))
      return FE_FAILED;
  make_body(l, in, &now);
  fe_gradient part = part_of(g, ir->block, l->x.n + l->parts.n + l->n);
  for (size_t i = 0; i < l->x.n; i++)
    name_variable(&part, l->x.at[i]);
  for (size_t i = 0; i < l->parts.n; i++)
    name_variable(&part, now_of(&now, fe_result(l->parts.at[i].op, 0)));
  for (unsigned k = 1; k < l->n; k++)
    if (l->varies[k])
      name_variable(&part, now_of(&now, argument(l, k)));
  size_t n = 0;
  for (unsigned k = 1; k < l->n; k++) {
    fe_status ok = FE_OK;
    if (l->varies[k])
      ok = seed(&part, now_of(&now, given(l, k)), carried[n++]);
    else if (l->is_stack[k] &&
             !fe_is_null(fe_gradient_sum(g, fe_result(l->op, k))))
      ok = seed(&part, now_of(&now, fe_operand(fe_def(given(l, k)), 1)),
                of_element(l, k, t));
    if (ok != FE_OK)
      return FE_FAILED;
  }
  if (fe_gradient_accumulate(&part) != FE_OK)
    return FE_FAILED;
  n = 0;
  for (unsigned k = 1; k < l->n; k++)
    if (l->varies[k]) {
      MlirValue v = now_of(&now, argument(l, k));
      MlirValue d = fe_gradient_sum(&part, v);
      carried_out[n++] = fe_is_null(d) ? zeros_like(ir, v) : d;
    }
  for (size_t i = 0; i < l->x.n; i++, n++) {
    MlirValue d = fe_gradient_sum(&part, l->x.at[i]);
    carried_out[n] =
        fe_is_null(d) ? carried[n] : fe_onnx1(ir, "Add", carried[n], d);
  }
  for (size_t i = 0; i < l->parts.n; i++) {
    MlirOperation op = l->parts.at[i].op;
    MlirValue v = now_of(&now, fe_result(op, 0));
    MlirValue d = fe_gradient_sum(&part, v);
    scan_out[2 * i] = fe_is_null(d) ? zeros_like(ir, v) : d;
    scan_out[2 * i + 1] = now_of(&now, fe_operand(op, 1));
    if (fe_is_null(scan_out[2 * i]))
      return FE_FAILED;
  }
  for (size_t i = 0; i < n; i++)
    if (fe_is_null(carried_out[i]))
      return FE_FAILED;
  return FE_OK;
}

/// All elements that the iterations took are those of one Gather, with the
/// derivatives by them.
static fe_status add_part(fe_gradient *g, const sliced *s, MlirValue d,
                          MlirValue at) {
  MlirValue in[2] = {s->from, at};
  MlirNamedAttribute axis =
      fe_at_i64(g->ir, "axis", fe_attr_i64(s->op, "axis", 0));
  MlirOperation all = fe_onnx(g->ir, "Gather", 2, in, 1, 1, &axis);
  if (mlirOperationIsNull(all))
    return FE_FAILED;
  fe_map_set_ptr(g->arena, &g->needs, all.ptr, all.ptr);
  fe_map_set_ptr(g->arena, &g->sums, fe_result(all, 0).ptr, (void *)d.ptr);
  return fe_gradient_through(g, all);
}

static fe_status of_while(fe_gradient *g, MlirOperation op, bool *known) {
  loop l;
  fe_ir *ir = g->ir;
  fe_arena *arena = g->arena;
  if (!(*known = read_loop(&l, g, op)))
    return FE_FAILED;
  find_varying(&l);
  find_parts(&l);
  for (unsigned k = 1; k < l.n; k++)
    if (!l.is_stack[k])
      check_size(&l, k, fe_result(op, k));
  if (keep_states(&l) != FE_OK)
    return FE_FAILED;
  size_t most = l.n + l.x.n + 1, n = 0, n_parts = l.parts.n;
  MlirValue *init = FE_NEW_N(arena, MlirValue, most);
  MlirValue *out = FE_NEW_N(arena, MlirValue, most + 2 * n_parts);
  int64_t *axes = FE_NEW_N(arena, int64_t, 2 * n_parts + 1);
  for (unsigned k = 1; k < l.n; k++)
    if (l.varies[k]) {
      MlirValue y = fe_result(op, k), dy = fe_gradient_sum(g, y);
      init[n++] = fe_is_null(dy) ? zeros_like(ir, y) : dy;
    }
  for (size_t i = 0; i < l.x.n; i++)
    init[n++] = zeros_like(ir, l.x.at[i]);
  for (size_t i = 0; i < n_parts; i++) {
    int64_t axis = fe_attr_i64(l.parts.at[i].op, "axis", 0);
    axes[2 * i] = axis < 0 ? axis + fe_rank(l.parts.at[i].from) : axis;
  }
  for (size_t i = 0; i < n; i++)
    if (fe_is_null(init[i]))
      return FE_FAILED;
  fe_model_loop m = {.site = g->c,
                     .trip = l.trips,
                     .n_carried = n,
                     .init = init,
                     .n_scan = 2 * n_parts,
                     .scan_axis = axes,
                     .user = &l,
                     .body = backwards};
  if (fe_model_loop_make(&m, out) != FE_OK)
    return FE_FAILED;
  n = 0;
  for (unsigned k = 1; k < l.n; k++)
    if (l.varies[k]) {
      MlirValue v = fe_operand(op, k), d = out[n++];
      if (fe_gradient_needs(g, v) &&
          fe_gradient_add(g, v, of_type(ir, d, mlirValueGetType(v))) != FE_OK)
        return FE_FAILED;
    }
  for (size_t i = 0; i < l.x.n; i++) {
    MlirValue v = l.x.at[i], d = out[n++];
    if (fe_gradient_add(g, v, of_type(ir, d, mlirValueGetType(v))) != FE_OK)
      return FE_FAILED;
  }
  for (size_t i = 0; i < n_parts; i++, n += 2)
    if (add_part(g, &l.parts.at[i], out[n], out[n + 1]) != FE_OK)
      return FE_FAILED;
  return FE_OK;
}

fe_status fe_gradient_of_region(fe_gradient *g, MlirOperation op, bool *known) {
  *known = true;
  if (fe_op_is(op, "scf.if"))
    return of_if(g, op);
  if (fe_op_is(op, "scf.while"))
    return of_while(g, op, known);
  *known = false;
  return FE_FAILED;
}

/// In the order of the iterations.
static MlirValue turned(fe_ir *ir, MlirValue v) {
  fe_step s = {.ir = ir, .dy = v};
  MlirValue in[5] = {v, fe_d_int(&s, -1), fe_d_int(&s, INT64_MIN),
                     fe_d_int(&s, 0), fe_d_int(&s, -1)};
  return fe_first(fe_onnx(ir, "Slice", 5, in, 1, 0, NULL));
}

fe_status fe_gradient_of_frame(fe_gradient *g, MlirOperation op, MlirValue dy,
                               bool *known) {
  MlirValue from = fe_operand(op, 0);
  *known = true;
  if (fe_op_is(op, "tensor.cast"))
    return fe_gradient_add(g, from,
                           fe_value_cast(g->ir, dy, mlirValueGetType(from)));
  if (fe_op_is(op, "onnx.ms_stack_tensor"))
    return fe_gradient_add(
        g, from, fe_attr_i64(op, "reverse", 0) ? turned(g->ir, dy) : dy);
  *known = false;
  return FE_FAILED;
}
