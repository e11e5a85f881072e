//===- plan_size.c - what the sizes of main's tensors follow from *- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: every dim is traced back to a number, an index value or the tensor
// that binds it (an argument, or a loop's or branch's tensor whose size only
// the run knows). Loops: assume that no carried tensor changes size, drop the
// assumptions that the loop's body contradicts, until none is.
//
//===----------------------------------------------------------------------===//
#include "pass/plan.h"

/// Sizes from here on are refused, so that sums of two cannot overflow.
#define SIZE_LIMIT (INT64_C(1) << 62)

//===-- Small things --------------------------------------------------------//

bool fe_is_tensor(MlirValue v) {
  return mlirTypeIsARankedTensor(mlirValueGetType(v));
}

unsigned fe_elem_bytes(MlirType elem) {
  if (mlirTypeIsAIndex(elem))
    return 8;
  if (mlirTypeIsAComplex(elem))
    return 2 * fe_elem_bytes(mlirComplexTypeGetElementType(elem));
  unsigned bits = mlirTypeIsAInteger(elem) ? mlirIntegerTypeGetWidth(elem)
                  : mlirTypeIsAFloat(elem) ? mlirFloatTypeGetWidth(elem)
                                           : 0;
  return (bits + 7) / 8;
}

int64_t fe_const_index(MlirValue v, bool *is) {
  MlirOperation def = fe_def(v);
  MlirAttribute a = fe_op_is(def, "arith.constant") ? fe_attr(def, "value")
                                                    : mlirAttributeGetNull();
  *is = !mlirAttributeIsNull(a) && mlirAttributeIsAInteger(a);
  return *is ? mlirIntegerAttrGetValueInt(a) : 0;
}

MlirOperation fe_terminator(MlirBlock b) { return mlirBlockGetTerminator(b); }

fe_where fe_plan_where(fe_plan_state *s, MlirOperation op) {
  return (fe_where){.node = fe_loc_node(s->ir, mlirOperationGetLocation(op))};
}

//===-- Tracing -------------------------------------------------------------//

static fe_pdim pdim_const(int64_t c) {
  return (fe_pdim){.kind = FE_PDIM_CONST, .c = c};
}

bool fe_pdim_same(fe_pdim a, fe_pdim b) {
  if (a.kind != b.kind)
    return false;
  if (a.kind == FE_PDIM_CONST)
    return a.c == b.c;
  return fe_same(a.v, b.v) && (a.kind == FE_PDIM_VALUE || a.d == b.d);
}

static fe_pdim of_index(fe_plan_state *s, MlirValue v);

/// What two known numbers give; false: not known, or not defined.
static bool fold(MlirOperation op, int64_t a, int64_t b, int64_t *out) {
  bool divides = b > 0 && a >= 0;
  if (fe_op_is(op, "arith.addi"))
    return !__builtin_add_overflow(a, b, out);
  if (fe_op_is(op, "arith.subi"))
    return !__builtin_sub_overflow(a, b, out);
  if (fe_op_is(op, "arith.muli"))
    return !__builtin_mul_overflow(a, b, out);
  if (fe_op_is(op, "arith.maxsi"))
    return *out = a > b ? a : b, true;
  if (fe_op_is(op, "arith.minsi"))
    return *out = a < b ? a : b, true;
  if (divides && (fe_op_is(op, "arith.divsi") || fe_op_is(op, "arith.divui") ||
                  fe_op_is(op, "arith.floordivsi")))
    return *out = a / b, true;
  if (divides &&
      (fe_op_is(op, "arith.ceildivsi") || fe_op_is(op, "arith.ceildivui")))
    return *out = a / b + (a % b != 0), true;
  if (divides && (fe_op_is(op, "arith.remsi") || fe_op_is(op, "arith.remui")))
    return *out = a % b, true;
  return false;
}

static fe_pdim trace_index(fe_plan_state *s, MlirValue v) {
  bool is;
  int64_t c = fe_const_index(v, &is);
  if (is)
    return pdim_const(c);
  MlirOperation def = fe_def(v);
  if (fe_op_is(def, "tensor.dim")) {
    c = fe_const_index(fe_operand(def, 1), &is);
    if (is && c >= 0 && c < fe_rank(fe_operand(def, 0)))
      return fe_pdim_of(s, fe_operand(def, 0), (unsigned)c);
  }
  if (fe_op_in(def, "arith") && fe_n_operands(def) == 2 &&
      fe_n_results(def) == 1 && mlirTypeIsAIndex(mlirValueGetType(v))) {
    fe_pdim a = of_index(s, fe_operand(def, 0));
    fe_pdim b = of_index(s, fe_operand(def, 1));
    if (a.kind == FE_PDIM_CONST && b.kind == FE_PDIM_CONST &&
        fold(def, a.c, b.c, &c))
      return pdim_const(c);
  }
  return (fe_pdim){.kind = FE_PDIM_VALUE, .v = v};
}

/// An index value of main.
static fe_pdim of_index(fe_plan_state *s, MlirValue v) {
  fe_pdim *memo = fe_map_get_ptr(&s->index_memo, v.ptr);
  if (!memo) {
    fe_pdim d = trace_index(s, v);
    memo = fe_memdup(s->ir->arena, &d, sizeof d);
    fe_map_set_ptr(s->ir->arena, &s->index_memo, v.ptr, memo);
  }
  return *memo;
}

static MlirBlock home(MlirValue v) {
  return mlirValueIsABlockArgument(v)
             ? mlirBlockArgumentGetOwner(v)
             : mlirOperationGetBlock(mlirOpResultGetOwner(v));
}

/// True when what `dim` stands for is there before `op` begins.
static bool outside(fe_pdim dim, MlirOperation op) {
  if (dim.kind == FE_PDIM_CONST)
    return true;
  if (mlirOperationEqual(fe_def(dim.v), op))
    return false;
  for (MlirBlock b = home(dim.v);;) {
    MlirOperation parent = mlirBlockGetParentOperation(b);
    if (mlirOperationIsNull(parent) || fe_op_is(parent, "func.func"))
      return true;
    if (mlirOperationEqual(parent, op))
      return false;
    b = mlirOperationGetBlock(parent);
  }
}

static fe_ploop *loop_of(fe_plan_state *s, MlirOperation op) {
  fe_opinfo *info = fe_map_get_ptr(&s->ops, op.ptr);
  return info ? info->loop : NULL;
}

static bool unchanging(const fe_carried *c) {
  return c->kind == FE_CARRY_SAME || c->kind == FE_CARRY_FIXED ||
         c->kind == FE_CARRY_SWAP;
}

static unsigned nth_dynamic(MlirType t, unsigned d) {
  unsigned n = 0;
  for (unsigned i = 0; i < d; ++i)
    n += mlirShapedTypeIsDynamicDim(t, i);
  return n;
}

static fe_pdim trace_arg(fe_plan_state *s, MlirValue v, unsigned d) {
  MlirBlock block = mlirBlockArgumentGetOwner(v);
  unsigned k = (unsigned)mlirBlockArgumentGetArgNumber(v);
  fe_ploop *l = loop_of(s, mlirBlockGetParentOperation(block));
  fe_pdim own = {.kind = FE_PDIM_OF, .v = v, .d = d};
  if (!l)
    return own;
  if (l->is_while && mlirBlockEqual(block, l->body)) {
    fe_pdim r = fe_pdim_of(s, fe_operand(l->condition, 1 + k), d);
    return outside(r, l->op) ? r : own;
  }
  fe_carried *c = &l->at[l->is_while ? k : k - 1];
  return unchanging(c) ? fe_pdim_of(s, c->init, d) : own;
}

static fe_pdim trace_result(fe_plan_state *s, MlirValue v, unsigned d) {
  MlirOperation op = mlirOpResultGetOwner(v);
  unsigned k = (unsigned)mlirOpResultGetResultNumber(v);
  fe_pdim own = {.kind = FE_PDIM_OF, .v = v, .d = d};
  if (fe_op_is(op, "tensor.empty"))
    return of_index(s, fe_operand(op, nth_dynamic(mlirValueGetType(v), d)));
  if (fe_op_is(op, "krnl.reshape"))
    return of_index(s, fe_operand(op, 1 + d));
  if (fe_op_is(op, "tensor.cast") || fe_op_is(op, "kernel.insert"))
    return fe_pdim_of(s, fe_operand(op, 0), d);
  if (fe_op_is(op, "kernel.call") || fe_op_is(op, "kernel.runtime"))
    return fe_pdim_of(
        s, fe_operand(op, (unsigned)fe_attr_i64(op, "ins", 0) + k), d);
  if (fe_op_is(op, "scf.if")) {
    fe_pdim a =
        fe_pdim_of(s, fe_operand(fe_terminator(fe_region_block(op, 0)), k), d);
    fe_pdim b =
        fe_pdim_of(s, fe_operand(fe_terminator(fe_region_block(op, 1)), k), d);
    return fe_pdim_same(a, b) && outside(a, op) ? a : own;
  }
  fe_ploop *l = loop_of(s, op);
  if (l && l->is_while) {
    fe_pdim r = fe_pdim_of(s, fe_operand(l->condition, 1 + k), d);
    return outside(r, op) ? r : own;
  }
  if (l && unchanging(&l->at[k]))
    return fe_pdim_of(s, l->at[k].init, d);
  return own;
}

fe_pdim fe_pdim_of(fe_plan_state *s, MlirValue v, unsigned d) {
  int64_t c = fe_static_dim(v, d);
  if (c != FE_DYN)
    return pdim_const(c);
  fe_pdim *memo = fe_map_get_ptr(&s->dim_memo, v.ptr);
  if (!memo) {
    memo = FE_NEW_N(s->ir->arena, fe_pdim, FE_MAX_RANK);
    fe_map_set_ptr(s->ir->arena, &s->dim_memo, v.ptr, memo);
  }
  // A zeroed entry is the constant 0, which no dynamic dim is traced to twice:
  // it is merely traced again.
  if (memo[d].kind == FE_PDIM_CONST && memo[d].c == 0)
    memo[d] = mlirValueIsABlockArgument(v) ? trace_arg(s, v, d)
                                           : trace_result(s, v, d);
  return memo[d];
}

//===-- Loops ---------------------------------------------------------------//

/// The carried tensor never changes: the body hands on what it got.
static bool handed_on(const fe_ploop *l, const fe_carried *c) {
  MlirValue y = c->yield;
  if (l->is_while && mlirValueIsABlockArgument(y) &&
      mlirBlockEqual(mlirBlockArgumentGetOwner(y), l->body))
    y = fe_operand(l->condition,
                   1 + (unsigned)mlirBlockArgumentGetArgNumber(y));
  return fe_same(y, c->arg);
}

static bool keeps_sizes(fe_plan_state *s, const fe_carried *c) {
  for (unsigned d = 0, rank = fe_rank(c->arg); d < rank; ++d)
    if (!fe_pdim_same(fe_pdim_of(s, c->yield, d), fe_pdim_of(s, c->arg, d)))
      return false;
  return true;
}

void fe_plan_loops(fe_plan_state *s) {
  for (size_t i = 0; i < s->loops.n; ++i)
    for (unsigned k = 0; k < s->loops.at[i]->n; ++k) {
      fe_carried *c = &s->loops.at[i]->at[k];
      c->kind = !fe_is_tensor(c->arg)          ? FE_CARRY_SCALAR
                : handed_on(s->loops.at[i], c) ? FE_CARRY_SAME
                                               : FE_CARRY_FIXED;
    }
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < s->loops.n; ++i)
      for (unsigned k = 0; k < s->loops.at[i]->n; ++k) {
        fe_carried *c = &s->loops.at[i]->at[k];
        if (c->kind == FE_CARRY_FIXED && !keeps_sizes(s, c)) {
          c->kind = FE_CARRY_HEAP;
          again = true;
        }
      }
    s->dim_memo = s->index_memo = (fe_map){0};
  }
}

//===-- What follows from the arguments -------------------------------------//

static bool computes(MlirOperation op) {
  return !mlirOperationIsNull(op) && mlirOperationGetNumRegions(op) == 0 &&
         fe_n_results(op) == 1 &&
         (fe_op_in(op, "arith") || fe_op_in(op, "affine") ||
          fe_op_in(op, "math"));
}

static bool entry_value(fe_plan_state *s, MlirValue v) {
  enum { UNKNOWN, NO, YES };
  static const char known[3];
  const char *memo = fe_map_get_ptr(&s->entry_memo, v.ptr);
  if (memo)
    return memo - known == YES;
  MlirOperation op = fe_def(v);
  bool is = false;
  if (fe_op_is(op, "tensor.dim")) {
    fe_pdim d = of_index(s, v);
    is = !(d.kind == FE_PDIM_VALUE && fe_same(d.v, v)) && fe_pdim_entry(s, d);
  } else if (computes(op)) {
    is = true;
    for (unsigned i = 0; is && i < fe_n_operands(op); ++i)
      is = entry_value(s, fe_operand(op, i));
  }
  fe_map_set_ptr(s->ir->arena, &s->entry_memo, v.ptr,
                 (void *)&known[is ? YES : NO]);
  return is;
}

bool fe_pdim_entry(fe_plan_state *s, fe_pdim d) {
  switch (d.kind) {
  case FE_PDIM_CONST:
    return true;
  case FE_PDIM_VALUE:
    return entry_value(s, d.v);
  case FE_PDIM_OF:
    return mlirValueIsABlockArgument(d.v) &&
           mlirBlockEqual(mlirBlockArgumentGetOwner(d.v), s->top);
  }
  return false;
}

/// A guess of a dim for the choice of slots: every symbol is 64.
static double estimate(fe_plan_state *s, fe_pdim d, unsigned depth) {
  if (d.kind == FE_PDIM_CONST)
    return (double)d.c;
  MlirOperation op =
      d.kind == FE_PDIM_VALUE ? fe_def(d.v) : (MlirOperation){NULL};
  double x[2] = {64, 64};
  if (depth > 16 || !fe_op_in(op, "arith") || fe_n_operands(op) != 2)
    return 64;
  for (unsigned i = 0; i < 2; ++i)
    x[i] = estimate(s, of_index(s, fe_operand(op, i)), depth + 1);
  if (fe_op_is(op, "arith.addi"))
    return x[0] + x[1];
  if (fe_op_is(op, "arith.subi"))
    return x[0] - x[1];
  if (fe_op_is(op, "arith.muli"))
    return x[0] * x[1];
  if (x[1] > 0 &&
      (fe_op_is(op, "arith.divsi") || fe_op_is(op, "arith.floordivsi") ||
       fe_op_is(op, "arith.ceildivsi") || fe_op_is(op, "arith.divui")))
    return x[0] / x[1];
  return x[0] > x[1] ? x[0] : x[1];
}

unsigned fe_psize_of(fe_plan_state *s, MlirValue v) {
  fe_arena *arena = s->ir->arena;
  fe_psize z = {.elem = fe_elem_bytes(fe_elem_of(v)), .rank = fe_rank(v)};
  fe_pdim *dims = FE_NEW_N(arena, fe_pdim, FE_MAX_RANK);
  z.dims = dims;
  z.entry = z.fixed = true;
  z.bytes = z.elem;
  z.estimate = z.elem;
  fe_buf key = {0};
  fe_buf_printf(arena, &key, "%u", z.elem);
  bool big = false;
  for (unsigned d = 0; d < z.rank; ++d) {
    dims[d] = fe_pdim_of(s, v, d);
    z.entry = z.entry && fe_pdim_entry(s, dims[d]);
    z.estimate *= estimate(s, dims[d], 0);
    if (dims[d].kind == FE_PDIM_CONST) {
      fe_buf_printf(arena, &key, ",%lld", (long long)dims[d].c);
      big = big || __builtin_mul_overflow(z.bytes, dims[d].c, &z.bytes);
    } else {
      fe_buf_printf(arena, &key, ",%p:%u", dims[d].v.ptr, dims[d].d);
      z.fixed = false;
    }
  }
  if (z.fixed && (big || z.bytes < 0 || z.bytes >= INT64_C(1) << 52)) {
    MlirOperation def = fe_def(v);
    fe_error(s->ir->diags,
             mlirOperationIsNull(def) ? (fe_where){0} : fe_plan_where(s, def),
             NULL, "tensor too large for memory");
    s->bad = true;
    return FE_NO_BUFFER;
  }
  void *old = fe_map_get(&s->size_memo, key.at);
  if (old)
    return (unsigned)((uintptr_t)old - 1);
  if (!mlirOperationIsNull(fe_def(v)))
    z.node = fe_plan_where(s, fe_def(v)).node;
  fe_psize *kept = fe_memdup(arena, &z, sizeof z);
  fe_push(arena, &s->sizes, kept);
  fe_map_set(arena, &s->size_memo, fe_strdup(arena, key.at),
             (void *)(uintptr_t)s->sizes.n);
  return (unsigned)s->sizes.n - 1;
}

//===-- Computing sizes -----------------------------------------------------//

static MlirValue i64(fe_ir *ir, int64_t v) { return fe_int(ir, ir->i64, v); }

MlirValue fe_plan_i64(fe_ir *ir, MlirValue v) {
  bool is;
  int64_t c = fe_const_index(v, &is);
  if (is)
    return i64(ir, c);
  MlirOperation def = fe_def(v);
  if (fe_op_is(def, "arith.index_cast") &&
      mlirTypeEqual(mlirValueGetType(fe_operand(def, 0)), ir->i64))
    return fe_operand(def, 0);
  return fe_convert(ir, v, ir->i64, false, false);
}

/// a and b, of which a may be missing.
static MlirValue both(fe_ir *ir, MlirValue a, MlirValue b) {
  return fe_is_null(a) ? b : fe_and(ir, a, b);
}

MlirValue fe_plan_bytes(fe_ir *ir, unsigned elem, unsigned rank,
                        const MlirValue *dims) {
  // Known factors first. The first unknown one is compared with what makes the
  // limit, as unsigned: negative ones are too large. Further products are exact
  // as long as no upper half is met.
  int64_t known = elem;
  bool big = false, is;
  for (unsigned d = 0; d < rank; ++d) {
    int64_t c = fe_const_index(dims[d], &is);
    if (is)
      big = big || c < 0 || __builtin_mul_overflow(known, c, &known);
  }
  if (big)
    return i64(ir, -1);
  MlirValue bytes = {NULL}, bad = {NULL};
  bool several = false;
  for (unsigned d = 0; d < rank; ++d) {
    fe_const_index(dims[d], &is);
    if (is)
      continue;
    MlirValue x = fe_plan_i64(ir, dims[d]);
    if (fe_is_null(bytes)) {
      MlirValue most = i64(ir, SIZE_LIMIT / (known > 0 ? known : 1) - 1);
      bad = fe_cmpu(ir, FE_GT, x, most);
      bytes = known == 1 ? x : fe_mul(ir, x, i64(ir, known));
      continue;
    }
    several = true;
    MlirOperation mul = FE_OP(ir, "arith.mului_extended", FE_VALUES(bytes, x),
                              FE_TYPES(ir->i64, ir->i64));
    bad = fe_or(ir, bad, fe_cmp(ir, FE_LT, x, i64(ir, 0)));
    bad = fe_or(ir, bad, fe_cmp(ir, FE_NE, fe_result(mul, 1), i64(ir, 0)));
    bytes = fe_result(mul, 0);
  }
  if (fe_is_null(bytes))
    return i64(ir, known);
  if (several)
    bad = fe_or(ir, bad, fe_cmpu(ir, FE_GE, bytes, i64(ir, SIZE_LIMIT)));
  return fe_select(ir, bad, i64(ir, -1), bytes);
}

/// Copies of what sizes follow from, at the insertion point.
typedef struct copier {
  fe_plan_state *s;
  MlirValue symbols; // null: from the inputs
  fe_map done;       // old value -> new one
  MlirValue *symbol; // per symbol, when made
} copier;

static MlirValue copy_dim(copier *c, fe_pdim d);

static bool divides(MlirOperation op) {
  static const char *const names[] = {
      "arith.divsi",     "arith.divui", "arith.floordivsi", "arith.ceildivsi",
      "arith.ceildivui", "arith.remsi", "arith.remui"};
  for (unsigned i = 0; i < FE_COUNT(names); ++i)
    if (fe_op_is(op, names[i]))
      return true;
  return false;
}

static MlirValue copy_value(copier *c, MlirValue v) {
  fe_ir *ir = c->s->ir;
  MlirValue *done = fe_map_get_ptr(&c->done, v.ptr);
  if (done)
    return *done;
  MlirOperation op = fe_def(v);
  MlirValue r;
  if (fe_op_is(op, "tensor.dim")) {
    r = copy_dim(c, of_index(c->s, v));
  } else {
    unsigned n = fe_n_operands(op);
    MlirValue *x = FE_NEW_N(ir->arena, MlirValue, n + 1);
    for (unsigned i = 0; i < n; ++i)
      x[i] = copy_value(c, fe_operand(op, i));
    // Here a division may run that a branch guards in its own place.
    if (divides(op)) {
      MlirType t = mlirValueGetType(x[1]);
      bool is;
      int64_t by = fe_const_index(x[1], &is);
      if (!is || by == 0)
        x[1] = fe_select(ir, fe_cmp(ir, FE_EQ, x[1], fe_int(ir, t, 0)),
                         fe_int(ir, t, 1), x[1]);
    }
    MlirOperation copy = mlirOperationClone(op);
    for (unsigned i = 0; i < n; ++i)
      mlirOperationSetOperand(copy, i, x[i]);
    if (mlirOperationIsNull(ir->before))
      mlirBlockAppendOwnedOperation(ir->block, copy);
    else
      mlirBlockInsertOwnedOperationBefore(ir->block, ir->before, copy);
    r = fe_first(copy);
  }
  fe_map_set_ptr(ir->arena, &c->done, v.ptr,
                 fe_memdup(ir->arena, &r, sizeof r));
  return r;
}

static MlirValue copy_dim(copier *c, fe_pdim d) {
  fe_plan_state *s = c->s;
  fe_ir *ir = s->ir;
  if (d.kind == FE_PDIM_CONST)
    return fe_index(ir, d.c);
  if (d.kind == FE_PDIM_VALUE)
    return copy_value(c, d.v);
  unsigned input = (unsigned)mlirBlockArgumentGetArgNumber(d.v);
  unsigned n = s->input_symbol[input * FE_MAX_RANK + d.d];
  if (fe_is_null(c->symbol[n])) {
    MlirValue x;
    if (fe_is_null(c->symbols))
      x = fe_plan_input_dim(s, s->symbol_input.at[n], s->symbol_dim.at[n]);
    else
      x = fe_convert(
          ir, fe_llvm_load(ir, ir->i64, fe_llvm_at(ir, c->symbols, 8 * n)),
          ir->index, false, false);
    c->symbol[n] = x;
  }
  return c->symbol[n];
}

MlirValue fe_plan_arena(fe_plan_state *s, MlirValue symbols, MlirValue *ok) {
  fe_ir *ir = s->ir;
  fe_arena *arena = ir->arena;
  copier c = {.s = s,
              .symbols = symbols,
              .symbol = FE_NEW_N(arena, MlirValue, s->symbols.n + 1)};
  MlirValue *bytes = FE_NEW_N(arena, MlirValue, s->sizes.n + 1);
  MlirValue *slot = FE_NEW_N(arena, MlirValue, s->n_slots + 1);
  *ok = (MlirValue){NULL};
  fe_map in_slot = {0};
  for (size_t i = 0; i < s->buffers.n; ++i) {
    const fe_buffer *b = s->buffers.at[i];
    if (b->place != FE_IN_ARENA || b->offset >= 0 || b->parent != FE_NO_BUFFER)
      continue;
    fe_psize *z = s->sizes.at[b->size];
    const char *key = fe_printf(arena, "%u %u", b->slot, b->size);
    if (fe_map_get(&in_slot, key))
      continue;
    fe_map_set(arena, &in_slot, key, z);
    if (fe_is_null(bytes[b->size])) {
      MlirValue dims[FE_MAX_RANK];
      for (unsigned d = 0; d < z->rank; ++d)
        dims[d] = copy_dim(&c, z->dims[d]);
      MlirValue n = fe_plan_bytes(ir, z->elem, z->rank, dims);
      if (fe_is_null(symbols)) {
        z->now = n;
        if (z->always)
          fe_plan_check_bytes(ir, n, z);
      } else if (z->always)
        *ok = both(ir, *ok, fe_cmp(ir, FE_GE, n, i64(ir, 0)));
      // Of branches not taken the size may be anything.
      n = fe_max(ir, n, i64(ir, 0));
      n = fe_and(ir, fe_add(ir, n, i64(ir, FE_PLAN_ALIGN - 1)),
                 i64(ir, -FE_PLAN_ALIGN));
      bytes[b->size] = n;
    }
    slot[b->slot] = fe_is_null(slot[b->slot])
                        ? bytes[b->size]
                        : fe_max(ir, slot[b->slot], bytes[b->size]);
  }
  MlirValue total = i64(ir, s->fixed_bytes);
  for (unsigned k = 0; k < s->n_slots; ++k) {
    if (fe_is_null(symbols))
      s->slot_offsets[k] = total;
    total =
        k == 0 && s->fixed_bytes == 0 ? slot[k] : fe_add(ir, total, slot[k]);
    if (k > 0)
      total = fe_min(ir, total, i64(ir, SIZE_LIMIT));
  }
  if (s->n_slots)
    *ok = both(ir, *ok, fe_cmp(ir, FE_LT, total, i64(ir, SIZE_LIMIT)));
  return total;
}
