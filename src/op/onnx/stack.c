//===- stack.c - results of loops, element by element ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What import makes of the stacked results of Loop and Scan. Where the number
// of iterations and the elements' sizes are known before the loop, StackBegin
// is memory for all of them, and StackInsert puts one where it will stay. Else
// StackList is a list of runtime/stack.c, StackAppend copies an element into
// it, and StackTensor makes a tensor of it and the list's end.
//
// Keeps: only these and the loop around them use the stack, one after the
// other, before it is complete. Planning relies on that: the new stack lies
// where the old one does; and the list changes.
//
//===----------------------------------------------------------------------===//
#include "ir/value_type.h"
#include "op/common.h"
#include "op/lowering.h"

static const char bad_size[] = "the elements that a loop stacks differ in size";

/// One call that gives the op's result.
static void call(fe_lower *l, const char *name, unsigned n_in, MlirValue dest,
                 unsigned n_numbers, const MlirValue *numbers) {
  const char *const messages[] = {bad_size};
  fe_runtime_result(l, name, n_in, dest, n_numbers, numbers, 1, messages);
}

/// What messages call the op: models do not have it.
static void say_loop(fe_lower *l) { l->where.op = "loop"; }

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
static fe_status infer_nothing(fe_infer *f) {
  return fe_infer_error(f, NULL, "a stack's type cannot be inferred");
}

/// What is known of the sizes: of the result's type and, where that does not
/// say, of the list.
static void sizes_of_elements(fe_lower *l, MlirValue *sizes) {
  fe_out_sizes(l, 0, sizes);
  for (unsigned i = 1; i < fe_out_rank(l, 0); ++i)
    if (fe_is_null(sizes[i]) && !fe_is_null(l->in[1]))
      sizes[i] = fe_read_index(l, l->in[1], i - 1);
}

static fe_status lower_begin(fe_lower *l) {
  fe_ir *ir = l->ir;
  say_loop(l);
  MlirValue sizes[FE_MAX_RANK] = {{0}};
  sizes_of_elements(l, sizes);
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
  say_loop(l);
  MlirValue stack = l->in[0], sizes[FE_MAX_RANK];
  unsigned rank = fe_rank(stack);
  fe_sizes_of(l, stack, sizes);
  for (unsigned i = 1; i < rank; ++i)
    fe_check_dims(l, 1, i - 1, 0, i, bad_size);
  MlirValue at = fe_read_index(l, l->in[2], 0);
  if (fe_attr_i64(l->op, "reverse", 0))
    at = fe_sub(ir, fe_sub(ir, sizes[0], fe_index(ir, 1)), at);
  l->out[0] =
      fe_first(FE_OP(ir, "kernel.insert", FE_VALUES(stack, l->in[1], at),
                     FE_TYPES(mlirValueGetType(stack))));
  fe_note_sizes(l->state, l->out[0], rank, sizes);
  return FE_OK;
}

static MlirValue handle(fe_lower *l) {
  return fe_tensor_empty(l, FE_I64, 0, NULL);
}

/// The list that has nothing is a null pointer.
static fe_status lower_list(fe_lower *l) {
  call(l, "stack_list", 0, handle(l), 0, NULL);
  return FE_OK;
}

static fe_status infer_append(fe_infer *f) {
  f->out[0] = fe_type_of(f->in[0]);
  return FE_OK;
}

static fe_status lower_append(fe_lower *l) {
  say_loop(l);
  call(l, "stack_append", 2, handle(l), 0, NULL);
  return FE_OK;
}

static fe_status lower_tensor(fe_lower *l) {
  fe_ir *ir = l->ir;
  say_loop(l);
  unsigned rank = fe_rank(fe_result(l->op, 0));
  MlirValue known[FE_MAX_RANK] = {{0}}, sizes[FE_MAX_RANK],
            numbers[FE_MAX_RANK] = {{0}};
  fe_out_sizes(l, 0, known);
  sizes_of_elements(l, numbers); // of a list that is empty
  numbers[0] = fe_index(ir, rank - 1);
  for (unsigned i = 1; i < rank; ++i)
    if (fe_is_null(numbers[i]))
      numbers[i] = fe_index(ir, 0);
  fe_runtime_op(l,
                (fe_runtime){.name = "stack_sizes",
                             .n_in = 1,
                             .n_numbers = rank,
                             .numbers = numbers,
                             .n_results = rank},
                NULL, sizes);
  for (unsigned i = 0; i < rank; ++i)
    if (!fe_is_null(known[i])) {
      fe_check_equal(l, sizes[i], known[i], bad_size);
      sizes[i] = known[i];
    }
  MlirValue reverse = fe_index(ir, fe_attr_i64(l->op, "reverse", 0));
  call(l, "stack_tensor", 1, fe_out_empty(l, 0, sizes), 1, &reverse);
  return FE_OK;
}

static const fe_attr_def reverse_attrs[] = {{"reverse", FE_A_INT, "0"}, {0}};

const fe_op_row fe_family_stack[] = {
    {.name = "StackBegin",
     .domain = "com.microsoft",
     .since = 1,
     .flags = FE_INTERNAL | FE_IMPURE, // two stacks are never one
     .inputs = "count:I, sizes?:I",
     .outputs = "stack:T",
     .types = "I=i64;T=all",
     .infer = infer_nothing,
     .lower = lower_begin},
    {.name = "StackInsert",
     .domain = "com.microsoft",
     .since = 1,
     .flags = FE_INTERNAL,
     .inputs = "stack:T, element:T, index:I",
     .outputs = "grown:T",
     .types = "I=i64;T=all",
     .attrs = reverse_attrs,
     .infer = infer_insert,
     .lower = lower_insert},
    {.name = "StackList",
     .domain = "com.microsoft",
     .since = 1,
     .flags = FE_INTERNAL | FE_IMPURE,
     .inputs = "",
     .outputs = "list:S",
     .types = "S=any",
     .infer = infer_nothing,
     .lower = lower_list},
    {.name = "StackAppend",
     .domain = "com.microsoft",
     .since = 1,
     .flags = FE_INTERNAL | FE_IMPURE,
     .inputs = "list:S, element:T",
     .outputs = "longer:S",
     .types = "S=any;T=all",
     .infer = infer_append,
     .lower = lower_append},
    {.name = "StackTensor",
     .domain = "com.microsoft",
     .since = 1,
     .flags = FE_INTERNAL | FE_IMPURE,
     .inputs = "list:S, sizes?:I",
     .outputs = "tensor:T",
     .types = "S=any;I=i64;T=all",
     .attrs = reverse_attrs,
     .infer = infer_nothing,
     .lower = lower_tensor},
    {0}};
