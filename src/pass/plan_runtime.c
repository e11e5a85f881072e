//===- plan_runtime.c - calls of the runtime ---------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel.runtime becomes a call of fe_rt_<name>(run, args, numbers): tensors
// as an array of ferrule_tensor on main's stack, numbers as one of int64, which
// also takes the results. The arrays are the same for all calls. What comes
// back says whether, and by which of the call's messages, the run ends.
//
//===----------------------------------------------------------------------===//
#include "pass/plan.h"

#include "../../runtime/run.h"

#include <string.h>

typedef struct call {
  const char *name;
  unsigned ins, outs, n, n_results;
} call;

static call read_call(fe_plan_state *s, MlirOperation op) {
  call c = {.name = "",
            .ins = (unsigned)fe_attr_i64(op, "ins", 0),
            .outs = (unsigned)fe_attr_i64(op, "outs", 0),
            .n = fe_n_operands(op)};
  MlirAttribute callee = fe_attr(op, "callee");
  bool ok = !mlirAttributeIsNull(callee) &&
            mlirAttributeIsAFlatSymbolRef(callee) && c.ins + c.outs <= c.n &&
            c.outs <= fe_n_results(op);
  if (ok) {
    MlirStringRef r = mlirFlatSymbolRefAttrGetValue(callee);
    c.name = fe_strndup(s->ir->arena, r.data, r.length);
  }
  c.n_results = ok ? fe_n_results(op) - c.outs : 0;
  for (unsigned i = 0; ok && i < c.n; ++i)
    ok = fe_is_tensor(fe_operand(op, i)) == (i < c.ins + c.outs);
  for (unsigned i = 0; ok && i < fe_n_results(op); ++i)
    ok = fe_is_tensor(fe_result(op, i)) == (i < c.outs);
  if (!ok && !s->bad)
    fe_report(s->ir->diags, FE_SEV_INTERNAL, fe_plan_where(s, op), NULL,
              "a call of the runtime ('%s') does not fit", c.name);
  s->bad = s->bad || !ok;
  return c;
}

void fe_plan_count_runtime(fe_plan_state *s, MlirOperation op) {
  call c = read_call(s, op);
  unsigned tensors = c.ins + c.outs, numbers = c.n - tensors + c.n_results;
  s->max_values = tensors > s->max_values ? tensors : s->max_values;
  s->max_numbers = numbers > s->max_numbers ? numbers : s->max_numbers;
}

/// Fills in entry i of the array of values.
static void put_value(fe_plan_state *s, unsigned i, MlirValue v, int dtype) {
  fe_ir *ir = s->ir;
  int64_t at = (int64_t)(i * sizeof(ferrule_tensor));
  fe_llvm_store(ir, fe_pvalue_of(s, v)->ptr,
                fe_llvm_at(ir, s->call_values,
                           at + (int64_t)offsetof(ferrule_tensor, data)));
  fe_llvm_store(ir, fe_int(ir, ir->i32, dtype),
                fe_llvm_at(ir, s->call_values,
                           at + (int64_t)offsetof(ferrule_tensor, dtype)));
  fe_llvm_store(ir, fe_int(ir, ir->i32, fe_rank(v)),
                fe_llvm_at(ir, s->call_values,
                           at + (int64_t)offsetof(ferrule_tensor, rank)));
  for (unsigned d = 0; d < fe_rank(v); ++d)
    fe_llvm_store(
        ir, fe_plan_i64(ir, fe_plan_dim(s, v, d)),
        fe_llvm_at(ir, s->call_values,
                   at + (int64_t)(offsetof(ferrule_tensor, dims) + 8 * d)));
}

/// Ends the run unless `status` is what it is not to be.
static void check(fe_ir *ir, MlirValue status, int64_t bad,
                  const char *message) {
  MlirNamedAttribute at[] = {fe_at_str(ir, "message", message),
                             fe_at_i64(ir, "status", FE_RUN_STATUS)};
  MlirValue ok = fe_cmp(ir, FE_NE, status, fe_int(ir, ir->i32, bad));
  FE_OP(ir, "krnl.check", FE_VALUES(ok), .n_attrs = bad < 0 ? 2 : 1,
        .attrs = at);
}

void fe_plan_emit_runtime(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  call c = read_call(s, op);
  if (s->bad)
    return;
  fe_plan_open_results(s, op, c.ins, c.outs);
  int64_t *types = FE_NEW_N(ir->arena, int64_t, c.ins + c.outs + 1);
  fe_attr_i64s(op, "types", types, c.ins + c.outs);
  for (unsigned i = 0; i < c.ins + c.outs; ++i)
    put_value(s, i, i < c.ins ? fe_operand(op, i) : fe_result(op, i - c.ins),
              (int)types[i]);
  unsigned n_in = c.n - c.ins - c.outs;
  for (unsigned i = 0; i < n_in; ++i)
    fe_llvm_store(
        ir,
        fe_plan_i64(ir, fe_plan_scalar(s, fe_operand(op, c.ins + c.outs + i))),
        fe_llvm_at(ir, s->call_numbers, 8 * (int64_t)i));
  fe_plan_declare(s, c.name, "!llvm.func<i32 (ptr, ptr, ptr)>");
  MlirValue status = fe_llvm_call(
      ir, c.name, 3, (MlirValue[]){s->run, s->call_values, s->call_numbers},
      ir->i32);
  check(ir, status, FE_RUN_STATUS, "the runtime failed");
  MlirAttribute list = fe_attr(op, "messages");
  intptr_t n = mlirAttributeIsNull(list) || !mlirAttributeIsAArray(list)
                   ? 0
                   : mlirArrayAttrGetNumElements(list);
  for (intptr_t i = 0; i < n; ++i) {
    MlirAttribute a = mlirArrayAttrGetElement(list, i);
    MlirStringRef r =
        mlirAttributeIsAString(a) ? mlirStringAttrGetValue(a) : fe_str("");
    check(ir, status, i + 1, fe_strndup(ir->arena, r.data, r.length));
  }
  for (unsigned i = 0; i < c.n_results; ++i) {
    MlirValue x = fe_llvm_load(
        ir, ir->i64, fe_llvm_at(ir, s->call_numbers, 8 * (int64_t)(n_in + i)));
    fe_plan_set_scalar(s, fe_result(op, c.outs + i),
                       fe_convert(ir, x, ir->index, false, false));
  }
}

void fe_plan_emit_value_output(fe_plan_state *s, MlirValue out, MlirValue v,
                               int dtype) {
  fe_ir *ir = s->ir;
  put_value(s, 0, v, dtype);
  fe_plan_declare(s, "fe_rt_values_output", "!llvm.func<i32 (ptr, ptr, ptr)>");
  MlirValue status =
      fe_llvm_call(ir, "fe_rt_values_output", 3,
                   (MlirValue[]){s->run, out, s->call_values}, ir->i32);
  check(ir, status, FE_RUN_STATUS, "an output has no room");
}
