//===- plan_control.c - branches and loops of main ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor that leaves or enters a region is a pointer and those dims that
// nothing outside says; see plan_live.c for who holds the memory.
//
//===----------------------------------------------------------------------===//
#include "pass/plan.h"

#define NULL_VALUE ((MlirValue){NULL})

typedef fe_vec(MlirValue) value_list;
typedef fe_vec(MlirType) type_list;

static fe_buffer *buffer(fe_plan_state *s, unsigned n) {
  return s->buffers.at[n];
}

/// Dim d of v is known from v only.
static bool own_dim(fe_plan_state *s, MlirValue v, unsigned d) {
  fe_pdim x = fe_pdim_of(s, v, d);
  return x.kind == FE_PDIM_OF && fe_same(x.v, v) && x.d == d;
}

/// What stands for `shape`'s value in lists of operands: pointer and dims of
/// `v`, or the scalar.
static void pass(fe_plan_state *s, value_list *list, MlirValue shape,
                 MlirValue v, MlirValue ptr) {
  fe_arena *arena = s->ir->arena;
  if (!fe_is_tensor(shape)) {
    fe_push(arena, list, fe_plan_scalar(s, v));
    return;
  }
  fe_push(arena, list, ptr);
  for (unsigned d = 0; d < fe_rank(shape); ++d)
    if (own_dim(s, shape, d))
      fe_push(arena, list, fe_plan_dim(s, v, d));
}

static MlirValue next(MlirBlock block, MlirOperation op, unsigned *i) {
  unsigned k = (*i)++;
  return mlirBlockIsNull(block) ? fe_result(op, k) : fe_block_arg(block, k);
}

/// The other end of `pass`: arguments of `block`, or results of `op`.
static MlirValue receive(fe_plan_state *s, MlirValue v, MlirBlock block,
                         MlirOperation op, unsigned *i) {
  MlirValue first = next(block, op, i);
  if (!fe_is_tensor(v)) {
    fe_plan_set_scalar(s, v, first);
    return first;
  }
  fe_pvalue *p = fe_pvalue_of(s, v);
  p->ptr = first;
  for (unsigned d = 0; d < fe_rank(v); ++d)
    if (own_dim(s, v, d))
      p->dims[d] = next(block, op, i);
  return first;
}

/// Heap memory with the contents of y that the receiver of a block's yield
/// holds from now on: y's own when the block holds it, else a copy.
static MlirValue hand_over(fe_plan_state *s, MlirValue y, MlirOperation yield) {
  const fe_pvalue *v = fe_pvalue_of(s, y);
  fe_buffer *b = v->n == 1 ? buffer(s, v->at[0]) : NULL;
  bool mine = b && (b->place == FE_IN_HEAP || b->place == FE_GIVEN) &&
              !b->kept && !b->moved && !b->swaps &&
              mlirBlockEqual(b->block, mlirOperationGetBlock(yield));
  if (mine) {
    b->moved = true;
    return v->ptr;
  }
  MlirValue bytes = fe_plan_tensor_bytes(s, y);
  MlirValue p = fe_plan_alloc(s, bytes);
  fe_llvm_copy(s->ir, p, v->ptr, bytes);
  return p;
}

//===-- Branches ------------------------------------------------------------//

static value_list branch(fe_plan_state *s, MlirOperation op, unsigned region) {
  MlirBlock block = fe_region_block(op, region);
  MlirOperation yield = fe_terminator(block);
  const fe_opinfo *info = fe_opinfo_of(s, op);
  value_list out = {0};
  fe_plan_emit_block(s, block);
  for (unsigned k = 0; k < fe_n_results(op); ++k) {
    MlirValue r = fe_result(op, k), y = fe_operand(yield, k), p = NULL_VALUE;
    if (fe_is_tensor(r))
      p = info->merge[k] == FE_NO_BUFFER ? fe_pvalue_of(s, y)->ptr
                                         : hand_over(s, y, yield);
    pass(s, &out, r, y, p);
  }
  fe_plan_free_after(s, yield);
  return out;
}

void fe_plan_emit_if(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  type_list types = {0};
  for (unsigned k = 0; k < fe_n_results(op); ++k) {
    MlirValue r = fe_result(op, k);
    bool tensor = fe_is_tensor(r);
    fe_push(ir->arena, &types, tensor ? ir->ptr : mlirValueGetType(r));
    for (unsigned d = 0; tensor && d < fe_rank(r); ++d)
      if (own_dim(s, r, d))
        fe_push(ir->arena, &types, ir->index);
  }
  bool has_else = !mlirBlockIsNull(fe_region_block(op, 1));
  fe_region r = fe_if_begin(ir, fe_plan_scalar(s, fe_operand(op, 0)),
                            (unsigned)types.n, types.at, has_else);
  value_list y = branch(s, op, 0);
  if (has_else) {
    fe_if_else(ir, &r, (unsigned)y.n, y.at);
    y = branch(s, op, 1);
  }
  fe_if_end(ir, &r, (unsigned)y.n, y.at);
  unsigned i = 0;
  for (unsigned k = 0; k < fe_n_results(op); ++k) {
    MlirValue p = receive(s, fe_result(op, k), (MlirBlock){NULL}, r.op, &i);
    unsigned m = fe_opinfo_of(s, op)->merge[k];
    if (m != FE_NO_BUFFER)
      buffer(s, m)->ptr = p;
  }
}

//===-- Loops ---------------------------------------------------------------//

static bool passed(const fe_carried *c) {
  return c->kind == FE_CARRY_SCALAR || c->kind == FE_CARRY_HEAP ||
         c->kind == FE_CARRY_SWAP;
}

/// The second buffers of those that take turns are passed behind all others.
static void pass_others(fe_plan_state *s, fe_ploop *l, value_list *list,
                        bool turned) {
  for (unsigned k = 0; k < l->n; ++k)
    if (l->at[k].kind == FE_CARRY_SWAP)
      fe_push(s->ir->arena, list, turned ? l->at[k].now : l->at[k].other);
}

/// Memory of the carried tensors before the first iteration.
static value_list begin_loop(fe_plan_state *s, fe_ploop *l) {
  value_list init = {0};
  for (unsigned k = 0; k < l->n; ++k) {
    fe_carried *c = &l->at[k];
    MlirValue p = NULL_VALUE;
    if (c->kind != FE_CARRY_SCALAR)
      p = fe_pvalue_of(s, c->init)->ptr;
    if (c->kind != FE_CARRY_SCALAR && c->kind != FE_CARRY_SAME) {
      MlirValue bytes = fe_plan_tensor_bytes(s, c->init), from = p;
      p = c->kind == FE_CARRY_HEAP ? fe_plan_alloc(s, bytes)
                                   : fe_plan_open(s, c->buffer);
      if (c->kind == FE_CARRY_SWAP)
        c->other = fe_plan_open(s, c->spare);
      if (!fe_is_null(from)) // null: it starts empty
        fe_llvm_copy(s->ir, p, from, bytes);
    }
    if (passed(c))
      pass(s, &init, c->arg, c->init, p);
    else
      fe_pvalue_of(s, c->arg)->ptr = p;
  }
  pass_others(s, l, &init, false);
  return init;
}

static void receive_carried(fe_plan_state *s, fe_ploop *l, MlirBlock block,
                            unsigned i) {
  for (unsigned k = 0; k < l->n; ++k) {
    fe_carried *c = &l->at[k];
    if (!passed(c))
      continue;
    MlirValue p = receive(s, c->arg, block, (MlirOperation){NULL}, &i);
    if (c->kind == FE_CARRY_HEAP)
      buffer(s, c->buffer)->ptr = p;
    c->now = p;
  }
  for (unsigned k = 0; k < l->n; ++k)
    if (l->at[k].kind == FE_CARRY_SWAP)
      buffer(s, l->at[k].made)->ptr = l->at[k].other =
          next(block, (MlirOperation){NULL}, &i);
}

/// The end of an iteration: what is read is read before any fixed buffer
/// changes.
static value_list end_iteration(fe_plan_state *s, fe_ploop *l) {
  fe_ir *ir = s->ir;
  MlirOperation yield = fe_terminator(l->body);
  value_list out = {0};
  for (unsigned k = 0; k < l->n; ++k) {
    fe_carried *c = &l->at[k];
    if (c->temp != FE_NO_BUFFER)
      fe_llvm_copy(ir, fe_plan_open(s, c->temp), fe_pvalue_of(s, c->yield)->ptr,
                   fe_plan_tensor_bytes(s, c->yield));
  }
  for (unsigned k = 0; k < l->n; ++k) {
    fe_carried *c = &l->at[k];
    if (passed(c))
      pass(s, &out, c->arg, c->yield,
           c->kind == FE_CARRY_HEAP   ? hand_over(s, c->yield, yield)
           : c->kind == FE_CARRY_SWAP ? fe_pvalue_of(s, c->yield)->ptr
                                      : NULL_VALUE);
  }
  pass_others(s, l, &out, true);
  for (unsigned k = 0; k < l->n; ++k) {
    fe_carried *c = &l->at[k];
    if (c->kind != FE_CARRY_FIXED)
      continue;
    const fe_pvalue *y = fe_pvalue_of(s, c->yield);
    if (y->n == 1 && y->at[0] == c->buffer)
      continue;
    fe_llvm_copy(ir, buffer(s, c->buffer)->ptr,
                 c->temp != FE_NO_BUFFER ? buffer(s, c->temp)->ptr : y->ptr,
                 fe_plan_tensor_bytes(s, c->yield));
  }
  fe_plan_free_after(s, yield);
  for (unsigned k = 0; k < l->n; ++k)
    if (l->at[k].kind == FE_CARRY_HEAP)
      fe_plan_free(s, buffer(s, l->at[k].buffer)->ptr);
  return out;
}

void fe_plan_emit_for(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  fe_ploop *l = fe_opinfo_of(s, op)->loop;
  value_list v = begin_loop(s, l);
  MlirValue bound[3];
  for (unsigned i = 0; i < 3; ++i)
    bound[i] = fe_plan_scalar(s, fe_operand(op, i));
  fe_region r =
      fe_for_begin(ir, bound[0], bound[1], bound[2], (unsigned)v.n, v.at);
  fe_plan_set_scalar(s, fe_block_arg(l->body, 0), r.iv);
  receive_carried(s, l, r.body, 1);
  fe_plan_emit_block(s, l->body);
  v = end_iteration(s, l);
  fe_for_end(ir, &r, (unsigned)v.n, v.at);
  unsigned i = 0;
  for (unsigned k = 0; k < l->n; ++k) {
    fe_carried *c = &l->at[k];
    MlirValue result = fe_result(op, k);
    if (!passed(c)) {
      fe_pvalue_of(s, result)->ptr = fe_pvalue_of(s, c->arg)->ptr;
      continue;
    }
    MlirValue p = receive(s, result, (MlirBlock){NULL}, r.op, &i);
    if (c->kind == FE_CARRY_HEAP)
      buffer(s, c->exit)->ptr = p;
  }
}

/// What the condition passes on, to the body and out of the loop; then the
/// carried heap memory, for who has to free it.
static value_list end_condition(fe_plan_state *s, fe_ploop *l) {
  value_list out = {0};
  for (unsigned j = 0; j < fe_n_results(l->op); ++j) {
    MlirValue x = fe_operand(l->condition, 1 + j);
    pass(s, &out, fe_result(l->op, j), x,
         fe_is_tensor(x) ? fe_pvalue_of(s, x)->ptr : NULL_VALUE);
  }
  for (unsigned k = 0; k < l->n; ++k)
    if (l->at[k].kind == FE_CARRY_HEAP)
      fe_push(s->ir->arena, &out, buffer(s, l->at[k].buffer)->ptr);
  pass_others(s, l, &out, true);
  pass_others(s, l, &out, false);
  return out;
}

static void receive_passed(fe_plan_state *s, fe_ploop *l, MlirBlock block,
                           MlirOperation op) {
  bool inside = !mlirBlockIsNull(block);
  unsigned i = 0;
  for (unsigned j = 0; j < fe_n_results(l->op); ++j)
    receive(s, inside ? fe_block_arg(l->body, j) : fe_result(l->op, j), block,
            op, &i);
  for (unsigned k = 0; k < l->n; ++k) {
    fe_carried *c = &l->at[k];
    if (c->kind == FE_CARRY_HEAP)
      buffer(s, inside ? c->buffer : c->exit)->ptr = next(block, op, &i);
  }
  for (unsigned k = 0; k < 2 * l->n && inside; ++k) {
    fe_carried *c = &l->at[k % l->n];
    if (c->kind != FE_CARRY_SWAP)
      continue;
    MlirValue p = next(block, op, &i);
    if (k < l->n)
      c->now = p;
    else
      buffer(s, c->made)->ptr = c->other = p;
  }
}

void fe_plan_emit_while(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  fe_ploop *l = fe_opinfo_of(s, op)->loop;
  value_list v = begin_loop(s, l);
  fe_region r = fe_while_begin(ir, (unsigned)v.n, v.at);
  receive_carried(s, l, r.body, 0);
  fe_plan_emit_block(s, l->first);
  v = end_condition(s, l);
  fe_while_do(ir, &r, fe_plan_scalar(s, fe_operand(l->condition, 0)),
              (unsigned)v.n, v.at);
  receive_passed(s, l, r.body, (MlirOperation){NULL});
  fe_plan_emit_block(s, l->body);
  v = end_iteration(s, l);
  fe_while_end(ir, &r, (unsigned)v.n, v.at);
  receive_passed(s, l, (MlirBlock){NULL}, r.op);
}
