//===- lowering.c - sizes, reads, checks and views in main ----------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes are index values of main. One that follows from the symbols bound at
// the function's entry is computed once, in the entry block, whatever op asks
// for it: equal sizes are then the same SSA value, and the planner sees which
// ones are known before anything runs.
//
//===----------------------------------------------------------------------===//
#include "op/lowering.h"

#include <string.h>

bool fe_index_const(MlirValue v, int64_t *out) {
  MlirOperation def = fe_def(v);
  if (!fe_op_is(def, "arith.constant"))
    return false;
  MlirAttribute a = fe_attr(def, "value");
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAInteger(a))
    return false;
  *out = mlirIntegerAttrGetValueInt(a);
  return true;
}

void fe_note_sizes(fe_lowering *s, MlirValue tensor, unsigned rank,
                   const MlirValue *sizes) {
  if (fe_is_null(tensor) || rank == 0)
    return;
  fe_map_set_ptr(s->ir->arena, &s->sizes, tensor.ptr,
                 fe_memdup(s->ir->arena, sizes, rank * sizeof(MlirValue)));
}

/// Plain tensor type with static dims where the size is a constant.
static MlirType type_of_sizes(fe_ir *ir, MlirType elem, unsigned rank,
                              const MlirValue *sizes) {
  int64_t dims[FE_MAX_RANK];
  for (unsigned i = 0; i < rank; i++)
    if (!fe_index_const(sizes[i], &dims[i]) || dims[i] < 0)
      dims[i] = FE_DYN;
  return fe_tensor_plain(ir, elem, rank, dims);
}

MlirValue fe_empty_tensor(fe_lowering *s, MlirType elem, unsigned rank,
                          const MlirValue *sizes) {
  MlirType type = type_of_sizes(s->ir, elem, rank, sizes);
  MlirValue dynamic[FE_MAX_RANK];
  unsigned n = 0;
  int64_t c;
  for (unsigned i = 0; i < rank; i++)
    if (!fe_index_const(sizes[i], &c) || c < 0)
      dynamic[n++] = sizes[i];
  MlirValue v =
      fe_first(FE_OP(s->ir, "tensor.empty", .n_operands = n,
                     .operands = dynamic, .n_results = 1, .results = &type));
  fe_note_sizes(s, v, rank, sizes);
  return v;
}

//===-- Symbolic sizes ------------------------------------------------------//

/// Marks in `used` the symbols of e; false when it is not over symbols only.
static bool symbols_of(MlirAffineExpr e, bool *used, unsigned n) {
  if (mlirAffineExprIsAConstant(e))
    return true;
  if (mlirAffineExprIsASymbol(e)) {
    intptr_t p = mlirAffineSymbolExprGetPosition(e);
    if (p < 0 || (unsigned)p >= n)
      return false;
    used[p] = true;
    return true;
  }
  if (!mlirAffineExprIsABinary(e))
    return false;
  return symbols_of(mlirAffineBinaryOpExprGetLHS(e), used, n) &&
         symbols_of(mlirAffineBinaryOpExprGetRHS(e), used, n);
}

/// Evaluates e in arith: affine.apply demands that one side of a product or
/// the divisor is constant, which symbolic dims need not obey.
static MlirValue evaluate(fe_ir *ir, MlirAffineExpr e, const MlirValue *sym) {
  if (mlirAffineExprIsAConstant(e))
    return fe_index(ir, mlirAffineConstantExprGetValue(e));
  if (mlirAffineExprIsASymbol(e))
    return sym[mlirAffineSymbolExprGetPosition(e)];
  MlirValue a = evaluate(ir, mlirAffineBinaryOpExprGetLHS(e), sym);
  MlirValue b = evaluate(ir, mlirAffineBinaryOpExprGetRHS(e), sym);
  if (mlirAffineExprIsAAdd(e))
    return fe_add(ir, a, b);
  if (mlirAffineExprIsAMul(e))
    return fe_mul(ir, a, b);
  if (!mlirAffineExprIsAConstant(mlirAffineBinaryOpExprGetRHS(e))) {
    // 1 where dividing would trap, as in Div (arithmetic.c).
    MlirValue none = fe_cmp(ir, FE_EQ, b, fe_index(ir, 0));
    b = fe_select(ir, none, fe_index(ir, 1), b);
  }
  if (mlirAffineExprIsAFloorDiv(e))
    return fe_floordiv(ir, a, b);
  if (mlirAffineExprIsACeilDiv(e))
    return fe_ceildiv(ir, a, b);
  // mod: the result has the divisor's sign, divisors are positive
  return fe_sub(ir, a, fe_mul(ir, fe_floordiv(ir, a, b), b));
}

/// Index value of an expression over entry-bound symbols; null when it has a
/// fresh one.
static MlirValue entry_dim(fe_lowering *s, MlirAffineExpr e) {
  fe_ir *ir = s->ir;
  if (mlirAffineExprIsAConstant(e))
    return fe_index(ir, mlirAffineConstantExprGetValue(e));
  void *known = fe_map_get_ptr(&s->entry_dims, e.ptr);
  if (known)
    return (MlirValue){known};
  bool *used = FE_NEW_N(ir->arena, bool, s->n_symbols + 1);
  if (!symbols_of(e, used, s->n_symbols))
    return (MlirValue){0};
  for (unsigned i = 0; i < s->n_symbols; i++)
    if (used[i] && fe_is_null(s->symbols[i]))
      return (MlirValue){0};
  fe_point saved = fe_point_save(ir);
  fe_point_before(ir, s->prologue);
  MlirValue v = evaluate(ir, e, s->symbols);
  fe_point_restore(ir, saved);
  fe_map_set_ptr(ir->arena, &s->entry_dims, e.ptr, (void *)v.ptr);
  return v;
}

void fe_bind_local(fe_lowering *s, MlirValue like, MlirValue tensor) {
  fe_dims d;
  if (fe_is_null(tensor) || !fe_dims_of(s->ir, like, &d))
    return;
  MlirValue *noted = fe_map_get_ptr(&s->sizes, tensor.ptr);
  for (unsigned i = 0; i < d.rank; i++) {
    if (!mlirAffineExprIsASymbol(d.d[i]))
      continue;
    unsigned p = (unsigned)mlirAffineSymbolExprGetPosition(d.d[i]);
    if (p < s->n_symbols && fe_is_null(s->symbols[p]) &&
        fe_is_null(s->local[p]))
      s->local[p] = noted ? noted[i] : fe_dim(s->ir, tensor, i);
  }
}

/// Expression with fresh symbols: each must be, alone, a dim of an operand or
/// of another tensor in scope.
static MlirValue operand_dim(fe_lower *l, MlirAffineExpr e) {
  fe_lowering *s = l->state;
  fe_ir *ir = l->ir;
  bool *used = FE_NEW_N(ir->arena, bool, s->n_symbols + 1);
  if (!symbols_of(e, used, s->n_symbols))
    return (MlirValue){0};
  MlirValue *sym =
      fe_memdup(ir->arena, s->symbols, (s->n_symbols + 1) * sizeof(MlirValue));
  for (unsigned p = 0; p < s->n_symbols; p++) {
    for (unsigned i = 0; used[p] && fe_is_null(sym[p]) && i < l->n_in; i++) {
      fe_dims d;
      if (fe_is_null(l->in[i]) || !fe_dims_of(ir, fe_operand(l->op, i), &d))
        continue;
      for (unsigned k = 0; k < d.rank && fe_is_null(sym[p]); k++)
        if (mlirAffineExprIsASymbol(d.d[k]) &&
            mlirAffineSymbolExprGetPosition(d.d[k]) == (intptr_t)p)
          sym[p] = fe_size(l, l->in[i], k);
    }
    if (used[p] && fe_is_null(sym[p]))
      sym[p] = s->local[p];
    if (used[p] && fe_is_null(sym[p]))
      return (MlirValue){0};
  }
  return evaluate(ir, e, sym);
}

MlirValue fe_size(fe_lower *l, MlirValue tensor, unsigned i) {
  fe_lowering *s = l->state;
  fe_ir *ir = l->ir;
  if (fe_is_null(tensor))
    return (MlirValue){0};
  int64_t fixed = fe_static_dim(tensor, i);
  if (fixed != FE_DYN)
    return fe_index(ir, fixed);
  for (unsigned k = 0; k < l->n_in; k++) {
    fe_dims d;
    if (fe_is_null(l->in[k]) || !fe_same(l->in[k], tensor) ||
        !fe_dims_of(ir, fe_operand(l->op, k), &d) || i >= d.rank)
      continue;
    MlirValue v = entry_dim(s, d.d[i]);
    if (!fe_is_null(v))
      return v;
  }
  MlirValue *noted = fe_map_get_ptr(&s->sizes, tensor.ptr);
  return noted ? noted[i] : fe_dim(ir, tensor, i);
}

void fe_out_sizes(fe_lower *l, unsigned k, MlirValue *sizes) {
  fe_dims d;
  if (!fe_dims_of(l->ir, fe_result(l->op, k), &d))
    return;
  for (unsigned i = 0; i < d.rank; i++) {
    sizes[i] = entry_dim(l->state, d.d[i]);
    if (fe_is_null(sizes[i]))
      sizes[i] = operand_dim(l, d.d[i]);
  }
}

unsigned fe_out_rank(const fe_lower *l, unsigned k) {
  return fe_rank(fe_result(l->op, k));
}

MlirType fe_out_elem(const fe_lower *l, unsigned k) {
  return fe_storage_type(l->ir, l->out_type[k]);
}

MlirValue fe_out_empty(fe_lower *l, unsigned k, const MlirValue *sizes) {
  return fe_empty_tensor(l->state, fe_out_elem(l, k), fe_out_rank(l, k), sizes);
}

//===-- Reads, checks, views ------------------------------------------------//

MlirValue fe_read_index(fe_lower *l, MlirValue tensor, int64_t i) {
  fe_ir *ir = l->ir;
  MlirType elem = fe_elem_of(tensor);
  if (fe_is_null(tensor))
    return (MlirValue){0};
  MlirValue operands[2] = {tensor, {0}};
  unsigned n = 1;
  if (fe_rank(tensor) > 0)
    operands[n++] = fe_index(ir, i);
  MlirValue v =
      fe_first(FE_OP(ir, "tensor.extract", .n_operands = n,
                     .operands = operands, .n_results = 1, .results = &elem));
  return fe_to_index(ir, v);
}

MlirValue fe_read_scalar(fe_lower *l, unsigned operand) {
  fe_ir *ir = l->ir;
  MlirValue tensor = l->in[operand];
  if (fe_is_null(tensor))
    return (MlirValue){0};
  MlirType elem = fe_elem_of(tensor);
  MlirValue operands[1 + FE_MAX_RANK] = {tensor};
  unsigned rank = fe_rank(tensor);
  for (unsigned i = 0; i < rank; i++)
    operands[1 + i] = fe_index(ir, 0);
  MlirValue v =
      fe_first(FE_OP(ir, "tensor.extract", .n_operands = 1 + rank,
                     .operands = operands, .n_results = 1, .results = &elem));
  return fe_to_compute(ir, l->in_type[operand], v);
}

void fe_check(fe_lower *l, MlirValue cond, const char *message) {
  fe_ir *ir = l->ir;
  const char *node = l->where.node ? l->where.node : "";
  const char *text =
      fe_printf(ir->arena, "%s '%s': %s", l->where.op ? l->where.op : "node",
                node, message);
  FE_OP(ir, "krnl.check", FE_VALUES(cond),
        FE_ATTRS(fe_at_str(ir, "message", text)));
}

MlirValue fe_reshape(fe_lower *l, MlirValue tensor, MlirType elem,
                     unsigned rank, const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  MlirType type = type_of_sizes(ir, elem, rank, sizes);
  MlirValue operands[1 + FE_MAX_RANK] = {tensor};
  memcpy(operands + 1, sizes, rank * sizeof(MlirValue));
  MlirValue v =
      fe_first(FE_OP(ir, "krnl.reshape", .n_operands = 1 + rank,
                     .operands = operands, .n_results = 1, .results = &type));
  fe_note_sizes(l->state, v, rank, sizes);
  return v;
}

//===-- Storage and compute types -------------------------------------------//

MlirType fe_compute_type(fe_ir *ir, fe_dtype t) {
  switch (t) {
  case FE_BOOL:
    return ir->i1;
  case FE_F16:
  case FE_BF16:
  case FE_F8E4M3FN:
  case FE_F8E4M3FNUZ:
  case FE_F8E5M2:
  case FE_F8E5M2FNUZ:
  case FE_F8E8M0:
  case FE_F4E2M1:
  case FE_F6E2M3:
  case FE_F6E3M2:
    return ir->f32;
  default:
    return fe_storage_type(ir, t);
  }
}

MlirValue fe_to_compute(fe_ir *ir, fe_dtype t, MlirValue v) {
  if (t == FE_BOOL)
    return fe_cmp(ir, FE_NE, v, fe_int(ir, ir->i8, 0));
  if (fe_is_null(v))
    return v;
  unsigned bits = fe_dtype_bits(t);
  if (fe_dtype_is_float(t) && bits < 8)
    return fe_float_of_byte(ir, t, v);
  if (fe_dtype_is_int(t) && bits < 8) // a caller may leave more in the byte
    v = fe_convert(ir, v, mlirIntegerTypeGet(ir->ctx, bits), false, false);
  return fe_convert(ir, v, fe_compute_type(ir, t), fe_dtype_is_unsigned(t),
                    fe_dtype_is_unsigned(t));
}

MlirValue fe_to_storage(fe_ir *ir, fe_dtype t, MlirValue v) {
  if (fe_is_null(v))
    return v;
  if (fe_dtype_is_float(t) && fe_dtype_bits(t) < 8 &&
      fe_type_is_float(mlirValueGetType(v)))
    return fe_byte_of_float(ir, t, v);
  // a bool's i1 widens to 0 or 1: read it as unsigned
  bool is_unsigned = fe_dtype_is_unsigned(t) || t == FE_BOOL;
  return fe_convert(ir, v, fe_storage_type(ir, t), is_unsigned, is_unsigned);
}
