//===- loop.c - loops over tensors ----------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: scf.while carries the iteration number, the condition where it is
// not always true, the model's values, and one growing tensor per stacked
// result. The types of what is carried are found by making the body with the
// types of the first iteration and joining them with those of its results: a
// dim that changes becomes a fresh symbol, until nothing changes. A body that
// only fails with such too exact types is made again with all dims unknown.
//
// A stacked result whose elements have sizes that are known before the loop, as
// the number of iterations is, is memory for all of them, into which each
// iteration puts its own (src/op/onnx/stack.c). Any other starts empty and each
// iteration appends to it. Where a dim of the elements is one of no value from
// outside the loop, the first iteration takes its element instead, since only
// that says how large it is.
// Appending copies, so a loop that may be long is several nested ones: the
// inner one stacks up to CHUNK elements, the next puts CHUNK such chunks
// together, and so on: an element is copied CHUNK / 2 times at each level.
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

/// A power of two; where the next level would not pay any more.
enum { CHUNK = 16, LARGEST_CHUNK = CHUNK * CHUNK * CHUNK };

typedef struct stacked {
  int64_t axis;
  bool known;     // all dims but that of the axis, when the loop begins
  MlirType type;  // as carried by the (inner) loop
  MlirValue init; // an empty tensor, its unknown dims 0; in place: the memory
} stacked;

typedef struct attempt {
  fe_model_loop *l;
  fe_ir *ir;
  bool with_cond;   // the condition is carried
  MlirType *types;  // of the carried values
  fe_dim_list open; // dims in these that may change with each iteration
  MlirValue *carried, *carried_out, *scan_out;
  stacked *stack; // of each stacked result
  bool chunked;
  MlirValue count;             // of iterations, at most; null: any number
  MlirAffineExpr trips;        // the same as a dim, when known
  bool in_place;               // stacked results; see may_stay
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

static MlirValue concat(fe_ir *ir, MlirValue a, MlirValue b, int64_t axis) {
  MlirNamedAttribute at = fe_at_i64(ir, "axis", axis);
  return fe_first(fe_onnx(ir, "Concat", 2, (MlirValue[]){a, b}, 1, 1, &at));
}

/// `old` with `more` behind (or before) it; `more` alone where the scalar
/// `number`, which counts what is in `old`, is zero.
static MlirValue grow(attempt *t, size_t k, MlirValue old, MlirValue more,
                      MlirValue number, MlirType type) {
  fe_ir *ir = t->ir;
  const stacked *s = &t->stack[k];
  bool before = t->l->prepend && t->l->prepend[k];
  MlirValue a = before ? more : old, b = before ? old : more;
  if (s->known)
    return fe_value_cast(ir, concat(ir, a, b, s->axis), type);
  MlirValue first = fe_cmp(ir, FE_EQ, number, fe_int(ir, ir->i64, 0));
  fe_region r = fe_if_begin(ir, first, 1, &type, true);
  MlirValue alone = fe_value_cast(ir, more, type);
  fe_if_else(ir, &r, 1, &alone);
  MlirValue both = fe_value_cast(ir, concat(ir, a, b, s->axis), type);
  fe_if_end(ir, &r, 1, &both);
  return fe_first(r.op);
}

/// The dims of an element of result k, and where its stack has the other one.
static fe_status element_of(attempt *t, size_t k, fe_dims *d, int64_t *axis) {
  fe_ir *ir = t->ir;
  if (!fe_dims_of(ir, t->scan_out[k], d) || d->rank == FE_MAX_RANK)
    return fe_error(ir->diags, t->l->site->where, NULL,
                    "result %zu of the loop's body cannot be stacked", k);
  int64_t rank = d->rank + 1;
  *axis = t->l->scan_axis ? t->l->scan_axis[k] : 0;
  if (*axis < 0)
    *axis += rank;
  if (*axis < 0 || *axis >= rank)
    return fe_error(ir->diags, t->l->site->where, NULL,
                    "axis %lld of stacked result %zu is not in its %lld "
                    "dimensions",
                    (long long)*axis, k, (long long)rank);
  return FE_OK;
}

/// Is `e` a number, or does it follow from the sizes of the model's inputs?
static bool known_before(const attempt *t, MlirAffineExpr e) {
  const fe_import *im = t->l->site->scope->im;
  if (mlirAffineExprIsAConstant(e))
    return true;
  if (mlirAffineExprIsABinary(e))
    return known_before(t, mlirAffineBinaryOpExprGetLHS(e)) &&
           known_before(t, mlirAffineBinaryOpExprGetRHS(e));
  for (size_t i = 0; i < im->n_args; i++) {
    fe_dims d;
    if (fe_dims_of(t->ir, im->args[i], &d))
      for (unsigned k = 0; k < d.rank; k++)
        if (fe_dim_same(d.d[k], e))
          return true;
  }
  return false;
}

/// Can all stacked results have their place before the loop? Of one that may
/// end early if they are small: then what was not reached is cut off.
static bool may_stay(attempt *t) {
  enum { MOST_UNUSED = 1 << 18 }; // elements
  int64_t trips =
      mlirAffineExprIsNull(t->trips) ? FE_DYN : fe_dim_static(t->trips);
  if (fe_is_null(t->count) || (t->with_cond && trips == FE_DYN))
    return false;
  for (size_t k = 0; k < t->l->n_scan; k++) {
    fe_dims d;
    int64_t axis, elements = trips;
    if (element_of(t, k, &d, &axis) != FE_OK)
      return false;
    for (unsigned i = 0; i < d.rank; i++) {
      if (!known_before(t, d.d[i]))
        return false;
      int64_t n = fe_dim_static(d.d[i]);
      if (t->with_cond &&
          (n == FE_DYN || __builtin_mul_overflow(elements, n, &elements)))
        return false;
    }
    if (t->with_cond && elements > MOST_UNUSED)
      return false;
  }
  return true;
}

/// Carries stacked result k, whose elements are put where they will stay.
static fe_status stack_in_place(attempt *t, size_t k) {
  fe_ir *ir = t->ir;
  fe_dims d;
  stacked *to = &t->stack[k];
  MlirValue element = t->scan_out[k];
  if (element_of(t, k, &d, &to->axis) != FE_OK)
    return FE_FAILED;
  memmove(&d.d[1], &d.d[0], d.rank * sizeof(d.d[0]));
  d.d[0] = mlirAffineExprIsNull(t->trips)
               ? fe_dim_symbol(ir, fe_symbol(ir, NULL))
               : t->trips;
  d.rank++;
  to->type = fe_tensor_type(ir, fe_elem_of(element), &d);
  fe_point inside = fe_point_save(ir);
  fe_point_restore(ir, t->outside);
  to->init = fe_first(FE_OP(ir, "onnx.ms_stack_begin", FE_VALUES(t->count),
                            FE_TYPES(to->type)));
  fe_point_restore(ir, inside);
  MlirValue in[] = {carry(t, to->type, to->init), element, t->iter};
  MlirNamedAttribute reverse =
      fe_at_i64(ir, "reverse", t->l->prepend && t->l->prepend[k]);
  MlirValue grown =
      fe_first(fe_onnx(ir, "ms_stack_insert", 3, in, 1, 1, &reverse));
  fe_push(ir->arena, &t->all_yield, grown);
  return fe_is_null(grown) ? FE_FAILED : FE_OK;
}

static MlirValue as_list(fe_ir *ir, MlirValue scalar) {
  int64_t one = 1;
  return fe_onnx1(ir, "Reshape", scalar, fe_constant_i64s(ir, 1, &one));
}

/// What the loop leaves of a result in place, which ran `ran` times, and may
/// have ended early.
static MlirValue finish_in_place(attempt *t, size_t k, MlirValue v,
                                 MlirValue ran) {
  fe_ir *ir = t->ir;
  const stacked *s = &t->stack[k];
  if (t->with_cond) {
    MlirValue from = fe_constant_scalar(ir, FE_I64, 0), to = ran;
    if (t->l->prepend && t->l->prepend[k]) {
      to = t->count;
      from = fe_onnx1(ir, "Sub", to, ran);
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

/// A tensor without elements, before the loop, as large in its other dims as
/// `element` will be with `axis` put in; *known: whether all of them are.
static MlirValue nothing_of(attempt *t, MlirValue element, const fe_dims *d,
                            unsigned axis, bool *known) {
  fe_ir *ir = t->ir;
  MlirValue parts[FE_MAX_RANK];
  int64_t sizes[FE_MAX_RANK] = {0};
  bool repeated = false;
  fe_point inside = fe_point_save(ir);
  fe_point_restore(ir, t->outside);
  *known = true;
  for (unsigned i = 0; i < d->rank; i++) {
    int64_t n = fe_dim_static(d->d[i]), one = 1;
    parts[i] = fe_constant_i64s(ir, 1, &one); // leaves the size as it is
    if (i == axis)
      continue;
    MlirValue size = {0};
    if (n == FE_DYN && !has_symbol_from(d->d[i], t->first_symbol))
      size = size_outside(t, element, d->d[i]);
    bool found = !fe_is_null(size);
    *known = *known && (n != FE_DYN || found);
    sizes[i] = n != FE_DYN ? n : found;
    repeated = repeated || found;
    if (found)
      parts[i] = size;
  }
  fe_dtype type = fe_dtype_of_elem(fe_elem_of(element));
  MlirValue v = fe_constant(ir, NULL, type, d->rank, sizes, "");
  if (repeated) {
    MlirNamedAttribute at = fe_at_i64(ir, "axis", 0);
    MlirValue to = fe_first(fe_onnx(ir, "Concat", d->rank, parts, 1, 1, &at));
    v = fe_onnx1(ir, "Expand", v, to);
  }
  fe_point_restore(ir, inside);
  return v;
}

/// Carries stacked result k. `t` stands behind the body's nodes.
static fe_status stack_result(attempt *t, size_t k) {
  fe_ir *ir = t->ir;
  fe_dims d;
  int64_t axis;
  MlirValue element = t->scan_out[k];
  if (element_of(t, k, &d, &axis) != FE_OK)
    return FE_FAILED;
  unsigned rank = d.rank + 1;
  memmove(&d.d[axis + 1], &d.d[axis], (d.rank - axis) * sizeof(d.d[0]));
  d.d[axis] = fe_dim_symbol(ir, fe_symbol(ir, NULL));
  d.rank = rank;
  bool known;
  MlirValue nothing = nothing_of(t, element, &d, (unsigned)axis, &known);
  if (fe_is_null(nothing))
    return FE_FAILED;
  for (unsigned i = 0; i < rank; i++)
    if (has_symbol_from(d.d[i], t->first_symbol))
      d.d[i] = fe_dim_symbol(ir, fe_symbol(ir, NULL));
  stacked *to = &t->stack[k];
  *to = (stacked){.axis = axis,
                  .known = known,
                  .type = fe_tensor_type(ir, fe_elem_of(element), &d),
                  .init = nothing};
  MlirValue old = carry(t, to->type, to->init);

  element = fe_onnx1(ir, "Unsqueeze", element, fe_constant_i64s(ir, 1, &axis));
  MlirValue number = {0};
  if (!known)
    number = fe_extract_scalar(ir, t->iter);
  if (!known && t->chunked)
    number = fe_and(ir, number, fe_int(ir, ir->i64, CHUNK - 1));
  MlirValue grown = grow(t, k, old, element, number, to->type);
  fe_push(ir->arena, &t->all_yield, grown);
  return fe_is_null(grown) ? FE_FAILED : FE_OK;
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
  t->in_place = l->n_scan && may_stay(t);
  for (size_t k = 0; k < l->n_scan; k++)
    if ((t->in_place ? stack_in_place(t, k) : stack_result(t, k)) != FE_OK)
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

/// The region that decides about the next iteration of a loop that carries
/// values of `types`: iteration number, condition, others.
static MlirRegion make_before(attempt *t, const MlirType *types,
                              MlirValue limit) {
  fe_ir *ir = t->ir;
  MlirRegion region = mlirRegionCreate();
  MlirBlock block = mlirBlockCreate(0, NULL, NULL);
  mlirRegionAppendOwnedBlock(region, block);
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, 1 + t->all.n);
  for (size_t i = 0; i < t->all.n; i++)
    operands[1 + i] = mlirBlockAddArgument(block, types[i], ir->loc);
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

/// The loop over `body`, while the iteration number is below the scalar
/// `limit` (null: no limit) and the condition holds.
static MlirOperation make_while(attempt *t, const MlirType *types,
                                const MlirValue *init, MlirValue limit,
                                MlirRegion body) {
  fe_ir *ir = t->ir;
  unsigned n = (unsigned)t->all.n;
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, n);
  for (unsigned i = 0; i < n; i++)
    operands[i] = fe_value_cast(ir, init[i], types[i]);
  MlirRegion regions[] = {make_before(t, types, limit), body};
  return FE_OP(ir, "scf.while", .n_operands = n, .operands = operands,
               .n_results = n, .results = types, .n_regions = 2,
               .regions = regions);
}

/// A level of nested loops: the body of one, and the types it carries.
typedef struct level {
  MlirRegion body;
  MlirBlock block;
  MlirType *types;
} level;

/// The level around `in`: a body that runs that loop for `span` iterations at
/// most and puts what it stacked behind what there is. `around`: iterations of
/// the loop around this one, 0: all.
static level make_level(attempt *t, level in, int64_t span, int64_t around,
                        MlirValue limit) {
  fe_ir *ir = t->ir;
  size_t n = t->all.n, plain = n - t->l->n_scan;
  level out = {.body = mlirRegionCreate(),
               .block = mlirBlockCreate(0, NULL, NULL),
               .types = FE_NEW_N(ir->arena, MlirType, n)};
  MlirValue *init = FE_NEW_N(ir->arena, MlirValue, n);
  MlirValue *arg = FE_NEW_N(ir->arena, MlirValue, n);
  mlirRegionAppendOwnedBlock(out.body, out.block);
  for (size_t i = 0; i < n; i++) {
    out.types[i] = in.types[i];
    fe_dims d;
    if (i >= plain && fe_dims_of(ir, fe_block_arg(in.block, (unsigned)i), &d)) {
      d.d[t->stack[i - plain].axis] = fe_dim_symbol(ir, fe_symbol(ir, NULL));
      out.types[i] = fe_tensor_type(ir, fe_elem_of(t->all_init.at[i]), &d);
    }
    arg[i] = mlirBlockAddArgument(out.block, out.types[i], ir->loc);
    init[i] = i < plain ? arg[i] : t->stack[i - plain].init;
  }
  fe_point outside = fe_point_save(ir);
  fe_point_at_end(ir, out.block);
  MlirValue start = fe_extract_scalar(ir, arg[0]);
  MlirValue length = fe_int(ir, ir->i64, span);
  if (!fe_is_null(limit)) // start + span may be beyond int64
    length = fe_min(ir, length, fe_sub(ir, limit, start));
  MlirOperation inner =
      make_while(t, in.types, init, fe_add(ir, start, length), in.body);
  MlirValue before = start; // of this loop's iterations
  if (around)
    before = fe_and(ir, start, fe_int(ir, ir->i64, around - 1));
  for (size_t i = 0; i < n; i++) {
    init[i] = fe_result(inner, (unsigned)i);
    if (i >= plain)
      init[i] = grow(t, i - plain, arg[i], init[i], before, out.types[i]);
  }
  FE_OP(ir, "scf.yield", .n_operands = (unsigned)n, .operands = init);
  fe_point_restore(ir, outside);
  return out;
}

/// Nested loops, of which the inner ones stack a few elements each.
static MlirOperation make_chunks(attempt *t, MlirValue limit, int64_t trips) {
  level at = {t->region, t->block, t->all.at};
  for (int64_t span = CHUNK, next; span; span = next) {
    next = span * CHUNK;
    if (next > LARGEST_CHUNK || (trips != FE_DYN && trips <= next))
      next = 0;
    at = make_level(t, at, span, next, limit);
  }
  return make_while(t, at.types, t->all_init.at, limit, at.body);
}

/// A stacked result has one element per iteration.
static MlirValue with_known_count(attempt *t, MlirValue v, size_t k) {
  fe_dims d;
  if (mlirAffineExprIsNull(t->trips) || t->with_cond ||
      !fe_dims_of(t->ir, v, &d))
    return v;
  int64_t axis = t->l->scan_axis ? t->l->scan_axis[k] : 0;
  d.d[axis < 0 ? axis + d.rank : axis] = t->trips;
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
  int64_t trips =
      mlirAffineExprIsNull(t.trips) ? FE_DYN : fe_dim_static(t.trips);
  t.chunked = l->n_scan && (trips == FE_DYN || trips > CHUNK);
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
  MlirValue limit =
      fe_is_null(t.count) ? t.count : fe_extract_scalar(ir, t.count);
  MlirOperation op =
      t.chunked && !t.in_place
          ? make_chunks(&t, limit, trips)
          : make_while(&t, t.all.at, t.all_init.at, limit, t.region);
  unsigned at = 1 + t.with_cond;
  for (size_t i = 0; i < l->n_carried; i++)
    out[i] = fe_result(op, at++);
  for (size_t k = 0; k < l->n_scan; k++) {
    MlirValue v = fe_result(op, at++);
    if (t.in_place)
      v = finish_in_place(&t, k, v, fe_result(op, 0));
    out[l->n_carried + k] = with_known_count(&t, v, k);
  }
  return FE_OK;
}
