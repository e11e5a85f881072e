//===- plan_join.c - concatenations without copies ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call of a kernel marked krnl.concat (inputs [outer][n_i], result
// [outer][sum of n_i]) with outer = 1 puts the bytes of its inputs one after
// the other. Where possible the inputs are computed there: their buffers become
// parts of the result's. What remains is copied.
//
// Method: from the last join to the first. One whose inputs follow each other
// in a larger result already is a part of that (DenseNet: every layer joins all
// earlier ones); else it takes those inputs that no other join has.
//
// Keeps: parts are written before the whole comes into being, by kernels that
// read other parts at most, so pointers do not alias. The largest buffer lives
// from the first write of a part to the last use of any.
//
//===----------------------------------------------------------------------===//
#include "pass/plan.h"

bool fe_plan_is_join(fe_plan_state *s, MlirOperation op) {
  MlirAttribute callee = fe_attr(op, "callee");
  if (!fe_op_is(op, "kernel.call") || mlirAttributeIsNull(callee) ||
      !mlirAttributeIsAFlatSymbolRef(callee))
    return false;
  MlirStringRef r = mlirFlatSymbolRefAttrGetValue(callee);
  MlirOperation kernel = {
      fe_map_get(&s->kernels, fe_strndup(s->ir->arena, r.data, r.length))};
  if (mlirOperationIsNull(kernel) || !fe_has_attr(kernel, "krnl.concat") ||
      fe_n_results(op) != 1 || fe_rank(fe_result(op, 0)) != 2)
    return false;
  fe_pdim outer = fe_pdim_of(s, fe_result(op, 0), 0);
  return outer.kind == FE_PDIM_CONST && outer.c == 1;
}

static fe_buffer *buffer(fe_plan_state *s, unsigned n) {
  return s->buffers.at[n];
}

/// The one buffer that a value lies in, when it may be moved; else none.
static unsigned movable(fe_plan_state *s, MlirValue v, MlirBlock block) {
  const fe_pvalue *p = fe_pvalue_of(s, v);
  if (!p || p->n != 1)
    return FE_NO_BUFFER;
  const fe_buffer *b = buffer(s, p->at[0]);
  return b->place == FE_IN_ARENA && !b->swaps && s->sizes.at[b->size]->fixed &&
                 mlirBlockEqual(b->block, block)
             ? p->at[0]
             : FE_NO_BUFFER;
}

/// The largest buffer that b is a part of, and where in it.
static unsigned root(fe_plan_state *s, unsigned b, int64_t *at) {
  *at = 0;
  for (; buffer(s, b)->parent != FE_NO_BUFFER; b = buffer(s, b)->parent)
    *at += buffer(s, b)->delta;
  return b;
}

static bool is_part(fe_plan_state *s, unsigned b) {
  return b != FE_NO_BUFFER && buffer(s, b)->parent != FE_NO_BUFFER;
}

/// The inputs follow each other in a buffer already: so the result is there.
static bool already_joined(fe_plan_state *s, MlirOperation op,
                           unsigned result) {
  MlirBlock block = buffer(s, result)->block;
  unsigned n = (unsigned)fe_attr_i64(op, "ins", 0), in = FE_NO_BUFFER;
  int64_t begin = 0, end = 0;
  if (is_part(s, result) || buffer(s, result)->place != FE_IN_ARENA)
    return false;
  for (unsigned i = 0; i < n; ++i) {
    unsigned b = movable(s, fe_operand(op, i), block);
    if (!is_part(s, b))
      return false;
    int64_t at;
    unsigned r = root(s, b, &at);
    if (i == 0) {
      in = r;
      begin = end = at;
    }
    if (r != in || at != end)
      return false;
    end += s->sizes.at[buffer(s, b)->size]->bytes;
  }
  if (in == FE_NO_BUFFER || in == result ||
      !mlirBlockEqual(buffer(s, in)->block, block))
    return false;
  buffer(s, result)->parent = in;
  buffer(s, result)->delta = begin;
  return true;
}

static void take_inputs(fe_plan_state *s, MlirOperation op, unsigned result) {
  MlirBlock block = buffer(s, result)->block;
  unsigned n = (unsigned)fe_attr_i64(op, "ins", 0);
  int64_t at = 0;
  for (unsigned i = 0; i < n; ++i) {
    MlirValue v = fe_operand(op, i);
    unsigned size = fe_psize_of(s, v); // may move the list
    const fe_psize *z = s->sizes.at[size];
    if (!z->fixed)
      return; // where the next ones begin is not known
    unsigned b = movable(s, v, block);
    if (b != FE_NO_BUFFER && b != result && !is_part(s, b)) {
      buffer(s, b)->parent = result;
      buffer(s, b)->delta = at;
      buffer(s, result)->joined = true;
    }
    at += z->bytes;
  }
}

typedef fe_vec(MlirOperation) op_list;

static void find_joins(fe_plan_state *s, MlirBlock block, op_list *list) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (fe_plan_is_join(s, op))
      fe_push(s->ir->arena, list, op);
    for (unsigned r = 0; r < (unsigned)mlirOperationGetNumRegions(op); ++r)
      if (!mlirBlockIsNull(fe_region_block(op, r)))
        find_joins(s, fe_region_block(op, r), list);
  }
}

void fe_plan_join(fe_plan_state *s) {
  op_list joins = {0};
  find_joins(s, s->top, &joins);
  for (size_t i = joins.n; i-- > 0;) {
    MlirOperation op = joins.at[i];
    unsigned result = fe_opinfo_of(s, op)->buffer[0];
    const fe_buffer *b = buffer(s, result);
    if ((b->place == FE_IN_ARENA || b->place == FE_IN_OUTPUT) &&
        s->sizes.at[b->size]->fixed && !already_joined(s, op, result))
      take_inputs(s, op, result);
  }
  for (unsigned i = 0; i < s->buffers.n; ++i) {
    int64_t at;
    const fe_buffer *b = buffer(s, i);
    if (!is_part(s, i))
      continue;
    fe_buffer *whole = buffer(s, root(s, i, &at));
    whole->joined = true;
    whole->first = b->first < whole->first ? b->first : whole->first;
    whole->last = b->last > whole->last ? b->last : whole->last;
  }
}

void fe_plan_emit_join(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  unsigned result = fe_opinfo_of(s, op)->buffer[0];
  MlirValue to = fe_pvalue_of(s, fe_result(op, 0))->ptr;
  unsigned n = (unsigned)fe_attr_i64(op, "ins", 0);
  int64_t whole_at, known = 0;
  unsigned whole = root(s, result, &whole_at);
  MlirValue at = {NULL}; // null: `known`
  for (unsigned i = 0; i < n; ++i) {
    MlirValue v = fe_operand(op, i), bytes = fe_plan_tensor_bytes(s, v);
    const fe_pvalue *p = fe_pvalue_of(s, v);
    bool there = false, is;
    int64_t part_at;
    if (p->n == 1 && is_part(s, p->at[0]))
      there = root(s, p->at[0], &part_at) == whole && fe_is_null(at) &&
              part_at == whole_at + known;
    if (!there)
      fe_llvm_copy(ir,
                   fe_is_null(at) ? fe_llvm_at(ir, to, known)
                                  : fe_llvm_at_value(ir, to, at),
                   p->ptr, bytes);
    int64_t size = fe_const_index(bytes, &is);
    if (is && fe_is_null(at))
      known += size;
    else
      at = fe_add(ir, fe_is_null(at) ? fe_int(ir, ir->i64, known) : at, bytes);
  }
}
