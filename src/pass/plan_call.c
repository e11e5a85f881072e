//===- plan_call.c - calls of kernels ----------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call writes its arguments into 8-byte slots on main's stack (for every
// memref its pointer, then its dynamic dims; then the scalars) and hands them
// to the runtime with the number of parallel items, which krnl.extent gives.
// The slots are the same for all calls: the runtime returns when all is done.
//
//===----------------------------------------------------------------------===//
#include "pass/plan.h"

#include "kernel/cost.h"

typedef struct call {
  MlirOperation op, kernel;
  const char *name;
  MlirType type;
  unsigned ins, outs, n;
} call;

static bool is_memref(MlirType t) { return mlirTypeIsAMemRef(t); }

/// Reports when call and kernel do not fit.
static bool resolve(fe_plan_state *s, MlirOperation op, call *c) {
  fe_arena *arena = s->ir->arena;
  MlirAttribute callee = fe_attr(op, "callee");
  c->op = op;
  c->ins = (unsigned)fe_attr_i64(op, "ins", 0);
  c->outs = (unsigned)fe_attr_i64(op, "outs", 0);
  c->n = fe_n_operands(op);
  c->name = "";
  if (!mlirAttributeIsNull(callee) && mlirAttributeIsAFlatSymbolRef(callee)) {
    MlirStringRef r = mlirFlatSymbolRefAttrGetValue(callee);
    c->name = fe_strndup(arena, r.data, r.length);
  }
  c->kernel = (MlirOperation){fe_map_get(&s->kernels, c->name)};
  bool ok = !mlirOperationIsNull(c->kernel) && c->ins + c->outs <= c->n &&
            fe_n_results(op) == c->outs;
  if (ok) {
    c->type = mlirTypeAttrGetValue(fe_attr(c->kernel, "function_type"));
    ok = mlirFunctionTypeGetNumInputs(c->type) == (intptr_t)c->n + 2;
  }
  for (unsigned i = 0; ok && i < c->n; ++i) {
    MlirType t = mlirFunctionTypeGetInput(c->type, i + 2);
    bool tensor = i < c->ins + c->outs;
    ok = is_memref(t) == tensor && fe_is_tensor(fe_operand(op, i)) == tensor;
    if (ok && tensor)
      ok = mlirShapedTypeGetRank(t) == (int64_t)fe_rank(fe_operand(op, i));
  }
  if (!ok && !s->bad)
    fe_report(s->ir->diags, FE_SEV_INTERNAL, fe_plan_where(s, op), NULL,
              "call and kernel '%s' do not fit", c->name);
  s->bad = s->bad || !ok;
  return ok;
}

unsigned fe_plan_call_slots(fe_plan_state *s, MlirOperation op) {
  call c;
  if (!resolve(s, op, &c))
    return 0;
  unsigned slots = c.n;
  for (unsigned i = 0; i < c.ins + c.outs; ++i) {
    MlirType t = mlirFunctionTypeGetInput(c.type, i + 2);
    for (intptr_t d = 0; d < mlirShapedTypeGetRank(t); ++d)
      slots += mlirShapedTypeIsDynamicDim(t, d);
  }
  return slots;
}

//===-- Extents -------------------------------------------------------------//

typedef struct numbers {
  fe_ir *ir;
  unsigned n_dims, n;
  const MlirValue *at; // the map's dims, then its symbols
} numbers;

static MlirValue fold(fe_ir *ir, MlirAffineExpr e, MlirValue a, MlirValue b) {
  bool ka, kb;
  int64_t x = fe_const_index(a, &ka), y = fe_const_index(b, &kb);
  bool known = ka && kb,
       division = !mlirAffineExprIsAAdd(e) && !mlirAffineExprIsAMul(e);
  if (known && (!division || (y > 0 && x >= 0))) {
    if (mlirAffineExprIsAAdd(e))
      return fe_index(ir, (int64_t)((uint64_t)x + (uint64_t)y));
    if (mlirAffineExprIsAMul(e))
      return fe_index(ir, (int64_t)((uint64_t)x * (uint64_t)y));
    if (mlirAffineExprIsAMod(e))
      return fe_index(ir, x % y);
    return fe_index(ir, mlirAffineExprIsAFloorDiv(e) ? x / y
                                                     : x / y + (x % y != 0));
  }
  if (mlirAffineExprIsAAdd(e))
    return ka && x == 0 ? b : kb && y == 0 ? a : fe_add(ir, a, b);
  if (mlirAffineExprIsAMul(e))
    return ka && x == 1 ? b : kb && y == 1 ? a : fe_mul(ir, a, b);
  if (kb && y == 1)
    return mlirAffineExprIsAMod(e) ? fe_index(ir, 0) : a;
  if (mlirAffineExprIsACeilDiv(e))
    return fe_ceildiv(ir, a, b);
  MlirValue q = fe_floordiv(ir, a, b);
  return mlirAffineExprIsAFloorDiv(e) ? q : fe_sub(ir, a, fe_mul(ir, q, b));
}

/// Null when the expression needs a number that is not there.
static MlirValue evaluate(const numbers *x, MlirAffineExpr e) {
  fe_ir *ir = x->ir;
  if (mlirAffineExprIsAConstant(e))
    return fe_index(ir, mlirAffineConstantExprGetValue(e));
  if (mlirAffineExprIsADim(e) || mlirAffineExprIsASymbol(e)) {
    intptr_t i = mlirAffineExprIsADim(e)
                     ? mlirAffineDimExprGetPosition(e)
                     : x->n_dims + mlirAffineSymbolExprGetPosition(e);
    return i < (intptr_t)x->n ? x->at[i] : (MlirValue){NULL};
  }
  MlirValue a = evaluate(x, mlirAffineBinaryOpExprGetLHS(e));
  MlirValue b = evaluate(x, mlirAffineBinaryOpExprGetRHS(e));
  return fe_is_null(a) || fe_is_null(b) ? (MlirValue){NULL} : fold(ir, e, a, b);
}

//===-- The call ------------------------------------------------------------//

static void put(fe_plan_state *s, unsigned *slot, MlirValue v) {
  if (mlirTypeIsAIndex(mlirValueGetType(v)))
    v = fe_plan_i64(s->ir, v);
  fe_llvm_store(s->ir, v, fe_llvm_at(s->ir, s->slots, 8 * (int64_t)*slot));
  ++*slot;
}

void fe_plan_open_results(fe_plan_state *s, MlirOperation op, unsigned ins,
                          unsigned outs) {
  const fe_opinfo *info = fe_opinfo_of(s, op);
  for (unsigned k = 0; k < outs; ++k) {
    MlirValue dest = fe_operand(op, ins + k);
    fe_pvalue *r = fe_pvalue_of(s, fe_result(op, k));
    r->ptr = fe_plan_open(s, info->buffer[k]);
    if (!fe_op_is(fe_def(dest), "tensor.empty"))
      fe_llvm_copy(s->ir, r->ptr, fe_pvalue_of(s, dest)->ptr,
                   fe_plan_tensor_bytes(s, dest));
  }
}

void fe_plan_emit_call(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  call c;
  if (!resolve(s, op, &c))
    return;
  fe_plan_open_results(s, op, c.ins, c.outs);
  if (fe_plan_is_join(s, op)) {
    fe_plan_emit_join(s, op);
    return;
  }
  MlirValue *number = FE_NEW_N(ir->arena, MlirValue, c.n * FE_MAX_RANK + 1);
  unsigned slot = 0, n = 0;
  for (unsigned i = 0; i < c.n; ++i) {
    MlirValue v = fe_operand(op, i);
    if (i >= c.ins + c.outs) {
      number[n] = fe_plan_scalar(s, v);
      put(s, &slot, number[n++]);
      continue;
    }
    bool out = i >= c.ins;
    MlirValue at = out ? fe_result(op, i - c.ins) : v;
    put(s, &slot, fe_pvalue_of(s, at)->ptr);
    MlirType t = mlirFunctionTypeGetInput(c.type, i + 2);
    for (unsigned d = 0; d < fe_rank(v); ++d) {
      number[n] = fe_plan_dim(s, v, d);
      if (mlirShapedTypeIsDynamicDim(t, d))
        put(s, &slot, number[n]);
      n++;
    }
  }
  MlirValue items = fe_index(ir, 1), cost = items;
  MlirAttribute extent = fe_attr(c.kernel, "krnl.extent");
  if (!mlirAttributeIsNull(extent)) {
    MlirAffineMap map = mlirAffineMapAttrGetValue(extent);
    numbers x = {ir, (unsigned)mlirAffineMapGetNumDims(map), n, number};
    items = evaluate(&x, mlirAffineMapGetResult(map, 0));
    cost = evaluate(&x, mlirAffineMapGetResult(map, 1));
  }
  if (fe_is_null(items) || fe_is_null(cost)) {
    fe_report(ir->diags, FE_SEV_INTERNAL, fe_plan_where(s, op), NULL,
              "krnl.extent of kernel '%s' has too many variables", c.name);
    s->bad = true;
    return;
  }
  const char *part = fe_printf(ir->arena, "%s.part", c.name);
  fe_plan_declare(s, part, "!llvm.func<void (ptr, i64, i64)>");
  fe_plan_declare(s, "fe_rt_parallel",
                  "!llvm.func<void (ptr, ptr, ptr, i64, i64, i64)>");
  MlirValue least = fe_int(ir, ir->i64, fe_cost_least_parallel(c.kernel));
  fe_llvm_call(ir, "fe_rt_parallel", 6,
               (MlirValue[]){s->run, fe_llvm_address(ir, part), s->slots,
                             fe_plan_i64(ir, items), fe_plan_i64(ir, cost),
                             least},
               (MlirType){NULL});
}
