//===- loop.c - loops over tensors ----------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: scf.while carries the iteration number, the condition where it is
// not always true, the model's values, and one stack per stacked
// result. The types of what is carried are found by making the body with the
// types of the first iteration and joining them with those of its results: a
// dim that changes becomes a fresh symbol, until nothing changes. A body that
// only fails with such too exact types is made again with all dims unknown.
//
// A stacked result whose elements have sizes that are known before the loop, as
// the number of iterations is, is memory for all of them, into which each
// iteration puts its own. Any other is a list of the runtime's, which becomes a
// tensor after the loop. See src/op/onnx/stack.c.
//
//===----------------------------------------------------------------------===//
#include "import/import.h"
#include "ir/value_type.h"
#include "op/sequence.h"

#include <string.h>

//===-- Types ---------------------------------------------------------------//

static bool contains(const fe_dim_list *list, MlirAffineExpr e) {
  for (size_t i = 0; list && i < list->n; i++)
    if (fe_dim_same(list->at[i], e))
      return true;
  return false;
}

static MlirAffineExpr fresh_dim(fe_ir *ir, fe_dim_list *list) {
  MlirAffineExpr e = fe_dim_symbol(ir, fe_symbol(ir, NULL));
  if (list)
    fe_push(ir->arena, list, e);
  return e;
}

fe_status fe_join_types(fe_call_site *c, const char *what, MlirValue a,
                        MlirValue b, fe_dim_list *open, MlirType *out) {
  fe_import *im = c->scope->im;
  fe_dims da, db;
  *out = mlirValueGetType(a);
  if (mlirTypeEqual(*out, mlirValueGetType(b)))
    return FE_OK;
  if (!fe_dims_of(im->ir, a, &da) || !fe_dims_of(im->ir, b, &db)) {
    MlirType ta = *out, tb = mlirValueGetType(b);
    *out = (MlirType){0};
    if (fe_type_is_object(ta) || fe_type_is_object(tb))
      *out = fe_value_join(im->ir, ta, tb);
    if (!mlirTypeIsNull(*out))
      return FE_OK;
    return fe_error(im->diags, c->where, NULL,
                    "%s is %s here and %s there, which have no type in common",
                    what, fe_type_text(im->ir, ta), fe_type_text(im->ir, tb));
  }
  if (!mlirTypeEqual(fe_elem_of(a), fe_elem_of(b)))
    return fe_error(im->diags, c->where, NULL,
                    "%s is of type %s here and %s there", what,
                    fe_dtype_name(fe_dtype_of_elem(fe_elem_of(a))),
                    fe_dtype_name(fe_dtype_of_elem(fe_elem_of(b))));
  if (da.rank != db.rank)
    return fe_error(im->diags, c->where, NULL,
                    "%s has %u dimensions here and %u there, which is not "
                    "supported",
                    what, da.rank, db.rank);
  for (unsigned i = 0; i < da.rank; i++)
    if (!fe_dim_same(da.d[i], db.d[i]) && !contains(open, da.d[i]))
      da.d[i] = fresh_dim(im->ir, open);
  *out = fe_tensor_type(im->ir, fe_elem_of(a), &da);
  return FE_OK;
}

fe_status fe_check_scalar(const fe_call_site *c, const char *what, MlirValue v,
                          fe_dtype t) {
  fe_import *im = c->scope->im;
  fe_dims d;
  bool fits = !fe_is_null(v) && fe_dims_of(im->ir, v, &d) &&
              fe_dtype_of_elem(fe_elem_of(v)) == t;
  for (unsigned i = 0; fits && i < d.rank; i++) {
    int64_t n = fe_dim_static(d.d[i]);
    fits = n == 1 || n == FE_DYN;
  }
  return fits ? FE_OK
              : fe_error(im->diags, c->where, NULL,
                         "%s must be one value of type %s", what,
                         fe_dtype_name(t));
}

MlirValue fe_scalar_tensor(fe_ir *ir, MlirValue v) {
  return fe_rank(v) == 0
             ? v
             : fe_onnx1(ir, "Reshape", v, fe_constant_i64s(ir, 0, NULL));
}

/// Does `e` contain a symbol numbered `first` or above?
static bool has_symbol_from(MlirAffineExpr e, intptr_t first) {
  if (mlirAffineExprIsASymbol(e))
    return mlirAffineSymbolExprGetPosition(e) >= first;
  return mlirAffineExprIsABinary(e) &&
         (has_symbol_from(mlirAffineBinaryOpExprGetLHS(e), first) ||
          has_symbol_from(mlirAffineBinaryOpExprGetRHS(e), first));
}

//===-- One attempt at the body ---------------------------------------------//

typedef struct stacked {
  int64_t axis;
  bool in_place; // see may_stay
  bool reverse;
  MlirType type;   // of the tensor, elements along the first dim
  MlirValue sizes; // of elements, that are not in the type; or none
} stacked;

typedef struct attempt {
  fe_model_loop *l;
  fe_ir *ir;
  bool with_cond;   // the condition is carried
  MlirType *types;  // of the carried values
  fe_dim_list open; // dims in these that may change with each iteration
  MlirValue *carried, *carried_out, *scan_out;
  stacked *stack;              // of each stacked result
  MlirValue count;             // of iterations, at most; null: any number
  MlirAffineExpr trips;        // the same as a dim, when known
  MlirValue zero, first_cond;  // before the loop
  MlirValue iter, cond, go_on; // in the body
  intptr_t first_symbol; // symbols from here on are known in the body only
  MlirRegion region;
  MlirBlock block;
  fe_point outside;     // the insertion point around the loop
  fe_vec(MlirType) all; // types of everything that is carried
  fe_vec(MlirValue) all_init, all_yield;
} attempt;

typedef enum outcome { FITS, CHANGED, FAILED } outcome;

/// Adds one carried value: its type and what it is at first.
static MlirValue carry(attempt *t, MlirType type, MlirValue init) {
  fe_arena *arena = t->ir->arena;
  fe_push(arena, &t->all, type);
  fe_push(arena, &t->all_init, init);
  return mlirBlockAddArgument(t->block, type, t->ir->loc);
}

static void begin_block(attempt *t) {
  t->region = mlirRegionCreate();
  t->block = mlirBlockCreate(0, NULL, NULL);
  mlirRegionAppendOwnedBlock(t->region, t->block);
}

static MlirValue strip_identity(MlirValue v) {
  while (fe_op_is(fe_def(v), "onnx.identity"))
    v = fe_operand(fe_def(v), 0);
  return v;
}

static bool always_true(const attempt *t, MlirValue v) {
  double number;
  v = strip_identity(v);
  return fe_is_null(v) || fe_same(v, strip_identity(t->cond)) ||
         (fe_const_scalar(t->ir, v, &number) && number != 0);
}

/// Compares what the body gives with what it was given.
static outcome compare_types(attempt *t) {
  fe_model_loop *l = t->l;
  outcome result = FITS;
  if (!fe_is_null(t->go_on) && fe_check_scalar(l->site, "the loop's condition",
                                               t->go_on, FE_BOOL) != FE_OK)
    return FAILED;
  if (!t->with_cond && !always_true(t, t->go_on)) {
    t->with_cond = true;
    result = CHANGED;
  }
  for (size_t i = 0; i < l->n_carried; i++) {
    MlirType joined;
    const char *what =
        fe_printf(t->ir->arena, "value %zu carried by the loop", i);
    if (fe_join_types(l->site, what, t->carried[i], t->carried_out[i], &t->open,
                      &joined) != FE_OK)
      return FAILED;
    if (mlirTypeEqual(joined, t->types[i]))
      continue;
    t->types[i] = joined;
    result = CHANGED;
  }
  return result;
}

/// The dims of an element of result k, and where its stack has the other one.
static fe_status element_of(attempt *t, size_t k, fe_dims *d, int64_t *axis) {
  fe_ir *ir = t->ir;
  if (!fe_dims_of(ir, t->scan_out[k], d) || d->rank == FE_MAX_RANK)
    return fe_error(ir->diags, t->l->site->where, NULL,
                    "result %zu of the loop's body cannot be stacked", k);
  int64_t rank = d->rank + 1, given = t->l->scan_axis ? t->l->scan_axis[k] : 0;
  fe_where where = t->l->site->where;
  where.attr = "scan_output_axes";
  if (given < -rank || given >= rank)
    return fe_error(ir->diags, where, NULL,
                    "axis %lld of stacked result %zu is not in its %lld "
                    "dimensions",
                    (long long)given, k, (long long)rank);
  *axis = given < 0 ? given + rank : given;
  return FE_OK;
}

/// Does `e` follow from the sizes of the model's inputs?
static bool known_at_entry(const attempt *t, MlirAffineExpr e) {
  const fe_import *im = t->l->site->scope->im;
  if (mlirAffineExprIsAConstant(e))
    return true;
  if (mlirAffineExprIsABinary(e))
    return known_at_entry(t, mlirAffineBinaryOpExprGetLHS(e)) &&
           known_at_entry(t, mlirAffineBinaryOpExprGetRHS(e));
  for (size_t i = 0; i < im->n_args; i++) {
    fe_dims d;
    if (fe_dims_of(t->ir, im->args[i], &d))
      for (unsigned k = 0; k < d.rank; k++)
        if (fe_dim_same(d.d[k], e))
          return true;
  }
  return false;
}

/// Does `e` stand for another size in each iteration, or is it known in the
/// body only?
static bool is_open(const attempt *t, MlirAffineExpr e) {
  if (mlirAffineExprIsABinary(e))
    return is_open(t, mlirAffineBinaryOpExprGetLHS(e)) ||
           is_open(t, mlirAffineBinaryOpExprGetRHS(e));
  return contains(&t->open, e) || has_symbol_from(e, t->first_symbol);
}

/// The size `e` as a list, before the loop: a dim of a value from outside that
/// `element` comes from. Null when none has it.
static MlirValue size_outside(attempt *t, MlirValue element, MlirAffineExpr e) {
  fe_arena *arena = t->ir->arena;
  fe_map seen = {0};
  fe_vec(MlirValue) stack = {0};
  fe_push(arena, &stack, element);
  while (stack.n) {
    MlirValue v = stack.at[--stack.n];
    MlirOperation def = fe_def(v);
    bool inside = !mlirOperationIsNull(def) &&
                  mlirBlockEqual(mlirOperationGetBlock(def), t->block);
    for (size_t i = 0; i < t->l->n_carried; i++)
      if (fe_same(v, t->carried[i]))
        v = t->l->init[i];
    if (inside && !fe_map_get_ptr(&seen, def.ptr)) {
      fe_map_set_ptr(arena, &seen, def.ptr, def.ptr);
      for (unsigned i = 0; i < fe_n_operands(def); i++)
        fe_push(arena, &stack, fe_operand(def, i));
    }
    fe_dims d;
    if (inside || !fe_dims_of(t->ir, v, &d))
      continue;
    for (unsigned i = 0; i < d.rank; i++)
      if (fe_dim_same(d.d[i], e)) {
        MlirNamedAttribute range[] = {fe_at_i64(t->ir, "start", i),
                                      fe_at_i64(t->ir, "end", i + 1)};
        return fe_first(fe_onnx(t->ir, "Shape", 1, &v, 1, 2, range));
      }
  }
  return (MlirValue){0};
}

/// The sizes of an element as a list that is there before the loop, where they
/// do not follow from the model's inputs (then there are zeros); none: they all
/// do. *known: whether all are known before the loop.
static MlirValue sizes_outside(attempt *t, MlirValue element, const fe_dims *d,
                               bool *known) {
  fe_ir *ir = t->ir;
  MlirValue parts[FE_MAX_RANK], list;
  bool any = false;
  fe_point inside = fe_point_save(ir);
  fe_point_restore(ir, t->outside);
  *known = true;
  for (unsigned i = 0; i < d->rank; i++) {
    int64_t zero = 0;
    parts[i] = (MlirValue){0};
    if (!known_at_entry(t, d->d[i])) {
      if (!is_open(t, d->d[i]))
        parts[i] = size_outside(t, element, d->d[i]);
      any = any || !fe_is_null(parts[i]);
      *known = *known && !fe_is_null(parts[i]);
    }
    if (fe_is_null(parts[i]))
      parts[i] = fe_constant_i64s(ir, 1, &zero);
  }
  MlirNamedAttribute at = fe_at_i64(ir, "axis", 0);
  list = fe_first(any ? fe_onnx(ir, "Concat", d->rank, parts, 1, 1, &at)
                      : FE_OP(ir, "onnx.none", FE_TYPES(ir->none)));
  fe_point_restore(ir, inside);
  return list;
}

/// Can stacked result k have its place before the loop? Of a loop that may end
/// early if it is small: then what was not reached is cut off.
static bool may_stay(attempt *t, const fe_dims *element) {
  enum { MOST_UNUSED = 1 << 18 }; // elements
  int64_t n = mlirAffineExprIsNull(t->trips) ? FE_DYN : fe_dim_static(t->trips);
  if (fe_is_null(t->count) || (t->with_cond && n == FE_DYN))
    return false;
  for (unsigned i = 0; i < element->rank; i++) {
    int64_t d = fe_dim_static(element->d[i]);
    if (t->with_cond && (d == FE_DYN || __builtin_mul_overflow(n, d, &n)))
      return false;
  }
  return !t->with_cond || n <= MOST_UNUSED;
}

/// Carries stacked result k. `t` stands behind the body's nodes.
static fe_status stack_result(attempt *t, size_t k) {
  fe_ir *ir = t->ir;
  fe_dims d;
  stacked *to = &t->stack[k];
  MlirValue element = t->scan_out[k];
  if (element_of(t, k, &d, &to->axis) != FE_OK)
    return FE_FAILED;
  bool known;
  to->sizes = sizes_outside(t, element, &d, &known);
  to->in_place = known && may_stay(t, &d);
  to->reverse = t->l->prepend && t->l->prepend[k];
  for (unsigned i = d.rank++; i > 0; i--)
    d.d[i] = is_open(t, d.d[i - 1]) ? fe_dim_symbol(ir, fe_symbol(ir, NULL))
                                    : d.d[i - 1];
  d.d[0] = mlirAffineExprIsNull(t->trips) || (t->with_cond && !to->in_place)
               ? fe_dim_symbol(ir, fe_symbol(ir, NULL))
               : t->trips;
  to->type = fe_tensor_type(ir, fe_elem_of(element), &d);
  MlirType type = to->type;
  if (!to->in_place)
    type = fe_type_sequence(ir, fe_type_inner(ir, mlirValueGetType(element)));
  fe_point inside = fe_point_save(ir);
  fe_point_restore(ir, t->outside);
  MlirValue init = fe_first(
      to->in_place ? FE_OP(ir, "onnx.ms_stack_begin",
                           FE_VALUES(t->count, to->sizes), FE_TYPES(type))
                   : FE_OP(ir, "onnx.ms_stack_list", FE_TYPES(type)));
  fe_point_restore(ir, inside);
  MlirValue in[] = {carry(t, type, init), element, t->iter};
  MlirNamedAttribute reverse = fe_at_i64(ir, "reverse", to->reverse);
  MlirValue grown =
      to->in_place
          ? fe_first(fe_onnx(ir, "ms_stack_insert", 3, in, 1, 1, &reverse))
          : fe_first(fe_onnx(ir, "ms_stack_append", 2, in, 1, 0, NULL));
  fe_push(ir->arena, &t->all_yield, grown);
  return fe_is_null(grown) ? FE_FAILED : FE_OK;
}

static MlirValue as_list(fe_ir *ir, MlirValue scalar) {
  int64_t one = 1;
  return fe_onnx1(ir, "Reshape", scalar, fe_constant_i64s(ir, 1, &one));
}

/// The tensor that stack k, which `loop` leaves, is.
static MlirValue finish_stack(attempt *t, size_t k, MlirOperation loop) {
  fe_ir *ir = t->ir;
  const stacked *s = &t->stack[k];
  size_t plain = t->all.n - t->l->n_scan;
  MlirValue v = fe_result(loop, (unsigned)(plain + k));
  if (!s->in_place) {
    v = fe_first(FE_OP(ir, "onnx.ms_stack_tensor", FE_VALUES(v, s->sizes),
                       FE_TYPES(s->type),
                       FE_ATTRS(fe_at_i64(ir, "reverse", s->reverse))));
  } else if (t->with_cond) {
    MlirValue from = fe_constant_scalar(ir, FE_I64, 0), to = fe_result(loop, 0);
    if (s->reverse) {
      from = fe_onnx1(ir, "Sub", t->count, to);
      to = t->count;
    }
    v = fe_onnx1(ir, "Slice", v, as_list(ir, from), as_list(ir, to));
  }
  if (s->axis == 0)
    return v;
  int64_t perm[FE_MAX_RANK];
  for (unsigned i = 0; i < fe_rank(v); i++)
    perm[i] = i < s->axis ? i + 1 : i == s->axis ? 0 : i;
  MlirNamedAttribute at = fe_at_i64s(ir, "perm", fe_rank(v), perm);
  return fe_first(fe_onnx(ir, "Transpose", 1, &v, 1, 1, &at));
}

/// Completes the block of an attempt whose types fit.
static fe_status end_block(attempt *t) {
  fe_ir *ir = t->ir;
  fe_model_loop *l = t->l;
  MlirValue next =
      fe_onnx1(ir, "Add", t->iter, fe_constant_scalar(ir, FE_I64, 1));
  fe_push(ir->arena, &t->all_yield, next);
  if (t->with_cond)
    fe_push(ir->arena, &t->all_yield, fe_scalar_tensor(ir, t->go_on));
  for (size_t i = 0; i < l->n_carried; i++)
    fe_push(ir->arena, &t->all_yield,
            fe_value_cast(ir, t->carried_out[i], t->types[i]));
  for (size_t k = 0; k < l->n_scan; k++)
    if (stack_result(t, k) != FE_OK)
      return FE_FAILED;
  FE_OP(ir, "scf.yield", .n_operands = (unsigned)t->all_yield.n,
        .operands = t->all_yield.at);
  if (!t->with_cond && !fe_n_uses(t->cond))
    fe_erase(fe_def(t->cond));
  return FE_OK;
}

/// Makes the body with the types as they are known so far. On FITS the block
/// is complete, else it is gone.
static outcome try_body(attempt *t) {
  fe_ir *ir = t->ir;
  fe_model_loop *l = t->l;
  t->outside = fe_point_save(ir);
  MlirLocation loc = ir->loc;
  if (t->with_cond && fe_is_null(t->first_cond))
    t->first_cond = fe_constant_scalar(ir, FE_BOOL, 1);
  begin_block(t);
  fe_point_at_end(ir, t->block);
  t->all.n = t->all_init.n = t->all_yield.n = 0;
  t->iter = carry(t, mlirValueGetType(t->zero), t->zero);
  t->cond = t->with_cond
                ? carry(t, mlirValueGetType(t->first_cond), t->first_cond)
                : fe_constant_scalar(ir, FE_BOOL, 1);
  for (size_t i = 0; i < l->n_carried; i++)
    t->carried[i] = carry(t, t->types[i], l->init[i]);
  t->first_symbol = (intptr_t)ir->symbols.n;
  t->go_on = (MlirValue){0};
  outcome result = FAILED;
  if (l->body(l, t->iter, t->cond, t->carried, &t->go_on, t->carried_out,
              t->scan_out) == FE_OK)
    result = compare_types(t);
  ir->loc = loc;
  if (result == FITS && end_block(t) != FE_OK)
    result = FAILED;
  fe_point_restore(ir, t->outside);
  if (result != FITS)
    mlirRegionDestroy(t->region);
  return result;
}

//===-- Finding the types ---------------------------------------------------//

/// Makes the sink deaf and gives back what it was.
static fe_diags mute(fe_diags *d) {
  fe_diags before = *d;
  d->fn = NULL;
  return before;
}

/// What an earlier import of the same node found, so that loops within loops
/// are not searched anew in each round of the outer ones.
typedef struct finding {
  bool with_cond;
  uint16_t *open; // of each carried value: bits of dims that change
} finding;

/// Opens the dims of the carried values that `which` names (NULL: all).
static void widen(attempt *t, const uint16_t *which) {
  fe_ir *ir = t->ir;
  for (size_t i = 0; i < t->l->n_carried; i++) {
    fe_dims d;
    if (!fe_dims_of(ir, t->l->init[i], &d) || (which && !which[i]))
      continue;
    for (unsigned k = 0; k < d.rank; k++)
      if (!which || which[i] >> k & 1)
        d.d[k] = fresh_dim(ir, &t->open);
    t->types[i] = fe_tensor_type(ir, fe_elem_of(t->l->init[i]), &d);
  }
}

static void remember(const attempt *t) {
  fe_import *im = t->l->site->scope->im;
  finding *f = FE_NEW(im->arena, finding);
  f->with_cond = t->with_cond;
  f->open = FE_NEW_N(im->arena, uint16_t, t->l->n_carried);
  for (size_t i = 0; i < t->l->n_carried; i++) {
    fe_dims first, last;
    if (!fe_dims_of(t->ir, t->l->init[i], &first) ||
        !fe_dims_of(t->ir, t->carried[i], &last))
      continue;
    for (unsigned k = 0; k < first.rank; k++)
      if (!fe_dim_same(first.d[k], last.d[k]))
        f->open[i] |= (uint16_t)(1u << k);
  }
  fe_map_set_ptr(im->arena, &im->loops, t->l->key, f);
}

static void recall(attempt *t) {
  const finding *f = fe_map_get_ptr(&t->l->site->scope->im->loops, t->l->key);
  if (!f)
    return;
  t->with_cond |= f->with_cond;
  widen(t, f->open);
}

/// Repeats until the types fit. Each round makes at least one dim a fresh
/// symbol, of which a join makes no other, so this ends.
static outcome find_types(attempt *t) {
  outcome result;
  do
    result = try_body(t);
  while (result == CHANGED);
  return result;
}

static fe_status make_body(attempt *t) {
  fe_ir *ir = t->ir;
  bool failed = ir->failed;
  const char *failure = ir->failure;
  fe_diags before = mute(ir->diags);
  outcome result = find_types(t);
  if (result == FITS) {
    ir->diags->fn = before.fn;
    return FE_OK;
  }
  *ir->diags = before;
  ir->failed = failed;
  ir->failure = failure;
  // The nodes are used up: not the types' fault.
  if (t->l->site->scope->im->nodes > FE_IMPORT_MAX_NODES)
    return fe_too_many_nodes(t->l->site);
  widen(t, NULL);
  return find_types(t) == FITS ? FE_OK : FE_FAILED;
}

//===-- The loop ------------------------------------------------------------//

/// The region that decides about the next iteration.
static MlirRegion make_before(attempt *t) {
  fe_ir *ir = t->ir;
  MlirRegion region = mlirRegionCreate();
  MlirBlock block = mlirBlockCreate(0, NULL, NULL);
  mlirRegionAppendOwnedBlock(region, block);
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, 1 + t->all.n);
  for (size_t i = 0; i < t->all.n; i++)
    operands[1 + i] = mlirBlockAddArgument(block, t->all.at[i], ir->loc);
  MlirValue limit = {0}; // before the loop
  if (!fe_is_null(t->count))
    limit = fe_extract_scalar(ir, t->count);
  fe_point outside = fe_point_save(ir);
  fe_point_at_end(ir, block);
  MlirValue go_on = {0};
  if (!fe_is_null(limit))
    go_on = fe_cmp(ir, FE_LT, fe_extract_scalar(ir, operands[1]), limit);
  if (t->with_cond) {
    MlirValue cond = fe_extract_scalar(ir, operands[2]);
    go_on = fe_is_null(go_on) ? cond : fe_and(ir, go_on, cond);
  }
  operands[0] = go_on;
  FE_OP(ir, "scf.condition", .n_operands = 1 + (unsigned)t->all.n,
        .operands = operands);
  fe_point_restore(ir, outside);
  return region;
}

static MlirOperation make_while(attempt *t) {
  fe_ir *ir = t->ir;
  unsigned n = (unsigned)t->all.n;
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, n);
  for (unsigned i = 0; i < n; i++)
    operands[i] = fe_value_cast(ir, t->all_init.at[i], t->all.at[i]);
  MlirRegion regions[] = {make_before(t), t->region};
  return FE_OP(ir, "scf.while", .n_operands = n, .operands = operands,
               .n_results = n, .results = t->all.at, .n_regions = 2,
               .regions = regions);
}

/// A stacked result has one element per iteration.
static MlirValue with_known_count(attempt *t, MlirValue v, size_t k) {
  fe_dims d;
  if (mlirAffineExprIsNull(t->trips) || t->with_cond ||
      !fe_dims_of(t->ir, v, &d))
    return v;
  d.d[t->stack[k].axis] = t->trips;
  return fe_value_cast(t->ir, v, fe_tensor_type(t->ir, fe_elem_of(v), &d));
}

fe_status fe_model_loop_make(fe_model_loop *l, MlirValue *out) {
  fe_import *im = l->site->scope->im;
  fe_ir *ir = im->ir;
  attempt t = {.l = l, .ir = ir, .trips = l->trips};
  double first;
  // A first condition that is known to hold need not be carried.
  bool asks = !fe_is_null(l->cond) &&
              !(fe_const_scalar(ir, l->cond, &first) && first != 0);
  t.types = FE_NEW_N(im->arena, MlirType, l->n_carried);
  t.carried = FE_NEW_N(im->arena, MlirValue, l->n_carried);
  t.carried_out = FE_NEW_N(im->arena, MlirValue, l->n_carried + l->n_scan);
  t.scan_out = FE_NEW_N(im->arena, MlirValue, l->n_scan);
  t.stack = FE_NEW_N(im->arena, stacked, l->n_scan);
  if (!fe_is_null(l->trip))
    t.count = fe_scalar_tensor(ir, l->trip);
  if (asks && !fe_is_null(t.count)) {
    // Where the body hands the condition on, all iterations are run or none.
    t.count = fe_onnx1(ir, "Where", fe_scalar_tensor(ir, l->cond), t.count,
                       fe_constant_scalar(ir, FE_I64, 0));
    t.trips = (MlirAffineExpr){0};
  } else {
    t.with_cond = asks;
  }
  for (size_t i = 0; i < l->n_carried; i++)
    t.types[i] = mlirValueGetType(l->init[i]);
  t.zero = fe_constant_scalar(ir, FE_I64, 0);
  if (!fe_is_null(l->cond))
    t.first_cond = fe_scalar_tensor(ir, l->cond);
  if (l->key)
    recall(&t);
  if (make_body(&t) != FE_OK)
    return FE_FAILED;
  if (l->key)
    remember(&t);
  if (fe_is_null(l->trip) && !t.with_cond) {
    mlirRegionDestroy(t.region);
    return fe_error(im->diags, l->site->where, NULL,
                    "the loop never ends: it has no trip count and its "
                    "condition is always true");
  }
  MlirOperation op = make_while(&t);
  unsigned at = 1 + t.with_cond;
  for (size_t i = 0; i < l->n_carried; i++)
    out[i] = fe_result(op, at++);
  for (size_t k = 0; k < l->n_scan; k++)
    out[l->n_carried + k] = with_known_count(&t, finish_stack(&t, k, op), k);
  return FE_OK;
}
