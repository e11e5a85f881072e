//===- stack.c - results of loops, element by element ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What import makes of the stacked results of Loop and Scan where the number of
// iterations and the elements' sizes are known before the loop: StackBegin is
// memory for all of them, and StackInsert puts one where it will stay.
//
// Keeps: only StackInsert and the loop around it use the stack before it is
// complete. Planning relies on that: the new stack lies where the old one does.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/lowering.h"

static fe_status infer_insert(fe_infer *f) {
  fe_dims stack, element;
  if (fe_in_dims(f, 0, &stack) || fe_in_dims(f, 1, &element))
    return FE_FAILED;
  if (stack.rank != element.rank + 1)
    return fe_infer_error(f, NULL, "the stack must have one dim more");
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &stack);
  return FE_OK;
}

/// The type is given by who makes it: no operand has the elements' sizes.
static fe_status infer_begin(fe_infer *f) {
  return fe_infer_error(f, NULL, "a stack's type cannot be inferred");
}

static fe_status lower_begin(fe_lower *l) {
  fe_ir *ir = l->ir;
  MlirValue sizes[FE_MAX_RANK] = {{0}};
  fe_out_sizes(l, 0, sizes);
  if (fe_is_null(sizes[0]))
    sizes[0] = fe_max(ir, fe_read_index(l, l->in[0], 0), fe_index(ir, 0));
  for (unsigned i = 1; i < fe_out_rank(l, 0); ++i)
    if (fe_is_null(sizes[i]))
      return fe_error(ir->diags, l->where, NULL,
                      "size %u of what the loop stacks is not known", i);
  l->out[0] = fe_out_empty(l, 0, sizes);
  return FE_OK;
}

static fe_status lower_insert(fe_lower *l) {
  fe_ir *ir = l->ir;
  MlirValue stack = l->in[0], sizes[FE_MAX_RANK];
  unsigned rank = fe_rank(stack);
  fe_sizes_of(l, stack, sizes);
  for (unsigned i = 1; i < rank; ++i)
    fe_check_dims(l, 1, i - 1, 0, i,
                  "the elements that a loop stacks differ in size");
  MlirValue at = fe_read_index(l, l->in[2], 0);
  if (fe_attr_i64(l->op, "reverse", 0))
    at = fe_sub(ir, fe_sub(ir, sizes[0], fe_index(ir, 1)), at);
  l->out[0] =
      fe_first(FE_OP(ir, "kernel.insert", FE_VALUES(stack, l->in[1], at),
                     FE_TYPES(mlirValueGetType(stack))));
  fe_note_sizes(l->state, l->out[0], rank, sizes);
  return FE_OK;
}

static const fe_attr_def insert_attrs[] = {{"reverse", FE_A_INT, "0"}, {0}};

const fe_op_row fe_family_stack[] = {
    {.name = "StackBegin",
     .domain = "com.microsoft",
     .since = 1,
     .flags = FE_INTERNAL | FE_IMPURE, // two stacks are never one
     .inputs = "count:I",
     .outputs = "stack:T",
     .types = "I=i64;T=all",
     .infer = infer_begin,
     .lower = lower_begin},
    {.name = "StackInsert",
     .domain = "com.microsoft",
     .since = 1,
     .flags = FE_INTERNAL,
     .inputs = "stack:T, element:T, index:I",
     .outputs = "grown:T",
     .types = "I=i64;T=all",
     .attrs = insert_attrs,
     .infer = infer_insert,
     .lower = lower_insert},
    {0}};
