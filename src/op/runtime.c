//===- runtime.c - calls of the runtime -----------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes kernel.runtime ops (docs/architecture.md), which plan makes calls of
// functions in runtime/.
//
//===----------------------------------------------------------------------===//
#include "op/lowering.h"

#include "ir/value_type.h"
#include "op/common.h"

#include <string.h>

static const char *message(const fe_lower *l, const char *text) {
  return fe_printf(l->ir->arena, "%s '%s': %s",
                   l->where.op ? l->where.op : "node",
                   l->where.node ? l->where.node : "", text);
}

void fe_runtime_call(fe_lower *l, const fe_runtime *c, MlirValue *result,
                     MlirValue *numbers) {
  fe_ir *ir = l->ir;
  unsigned tensors = c->n_in + c->n_out, n = tensors + c->n_numbers;
  unsigned n_results = c->n_out + c->n_results;
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, n + 1);
  MlirType *types = FE_NEW_N(ir->arena, MlirType, n_results + 1);
  int64_t *dtypes = FE_NEW_N(ir->arena, int64_t, tensors + 1);
  const char **text = FE_NEW_N(ir->arena, const char *, c->n_messages + 1);
  for (unsigned i = 0; i < n; i++) {
    operands[i] = i < c->n_in   ? c->in[i]
                  : i < tensors ? c->out[i - c->n_in]
                                : c->numbers[i - tensors];
    if (i < tensors)
      dtypes[i] = c->types ? c->types[i]
                           : (int64_t)fe_dtype_of_elem(fe_elem_of(operands[i]));
  }
  for (unsigned i = 0; i < n_results; i++)
    types[i] = i >= c->n_out           ? ir->index
               : fe_is_null(c->out[i]) ? (MlirType){0}
                                       : mlirValueGetType(c->out[i]);
  for (unsigned i = 0; i < c->n_messages; i++)
    text[i] = message(l, c->messages[i]);
  const char *callee = fe_printf(ir->arena, "fe_rt_%s", c->name);
  MlirOperation call = FE_OP(
      ir, "kernel.runtime", .n_operands = n, .operands = operands,
      .n_results = n_results, .results = types,
      FE_ATTRS(fe_named(ir, "callee",
                        mlirFlatSymbolRefAttrGet(ir->ctx, fe_str(callee))),
               fe_at_i64(ir, "ins", c->n_in), fe_at_i64(ir, "outs", c->n_out),
               fe_at_i64s(ir, "types", tensors, dtypes),
               fe_at_strs(ir, "messages", c->n_messages, text)));
  fe_lowering *s = l->state;
  for (unsigned i = 0; i < c->n_out; i++) {
    if (result)
      result[i] = fe_result(call, i);
    MlirValue *sizes =
        fe_is_null(c->out[i]) ? NULL : fe_map_get_ptr(&s->sizes, c->out[i].ptr);
    if (sizes)
      fe_note_sizes(s, fe_result(call, i), fe_rank(c->out[i]), sizes);
  }
  for (unsigned i = 0; i < c->n_results && numbers; i++)
    numbers[i] = fe_result(call, c->n_out + i);
}

void fe_runtime_op(fe_lower *l, fe_runtime call, MlirValue *result,
                   MlirValue *numbers) {
  int *types = FE_NEW_N(l->ir->arena, int, call.n_in + l->n_out);
  for (unsigned i = 0; i < call.n_in + l->n_out; i++)
    types[i] = fe_type_number(
        fe_type_of(i < call.n_in ? fe_operand(l->op, i)
                                 : fe_result(l->op, i - call.n_in)));
  call.in = l->in;
  call.types = types;
  fe_runtime_call(l, &call, result, numbers);
}

void fe_runtime_result(fe_lower *l, const char *name, unsigned n_in,
                       MlirValue dest, unsigned n_numbers,
                       const MlirValue *numbers, unsigned n_messages,
                       const char *const *messages) {
  fe_runtime_op(l,
                (fe_runtime){.name = name,
                             .n_in = n_in,
                             .n_out = 1,
                             .out = &dest,
                             .n_numbers = n_numbers,
                             .numbers = numbers,
                             .n_messages = n_messages,
                             .messages = messages},
                &l->out[0], NULL);
}

void fe_sizes_as_typed(fe_lower *l, MlirValue *sizes, const char *message) {
  MlirValue r = fe_result(l->op, 0);
  for (unsigned i = 0; i < fe_rank(r); i++)
    if (fe_static_dim(r, i) != FE_DYN) {
      MlirValue fixed = fe_index(l->ir, fe_static_dim(r, i));
      fe_check_equal(l, sizes[i], fixed, message);
      sizes[i] = fixed;
    }
}
