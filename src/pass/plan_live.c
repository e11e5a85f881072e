//===- plan_live.c - which memory a tensor lies in, and how long -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: main's operations are numbered in the order in which they stand;
// what a loop holds is needed until its end when it came from outside. Every
// tensor value has the set of buffers it may lie in: one, except behind
// branches. Views (reshape, cast) share the set of what they view.
//
// Loops. A carried tensor whose size never changes has one buffer, into which
// the body's result is copied, unless it is the same buffer with an element put
// into it (kernel.insert). Where a kernel makes that result and it is large,
// two buffers take turns instead. Another one gets new heap memory each time. A
// branch whose result lies in memory taken from the heap inside hands that
// over. So whoever holds a heap buffer is always one block, which frees it.
//
// Keeps: a buffer is never alive together with an operation's operand and
// result (kernels' pointers do not alias).
//
//===----------------------------------------------------------------------===//
#include "pass/plan.h"

//===-- Numbering -----------------------------------------------------------//

fe_opinfo *fe_opinfo_of(fe_plan_state *s, MlirOperation op) {
  return fe_map_get_ptr(&s->ops, op.ptr);
}

fe_pvalue *fe_pvalue_of(fe_plan_state *s, MlirValue v) {
  return fe_map_get_ptr(&s->values, v.ptr);
}

static fe_ploop *make_loop(fe_plan_state *s, MlirOperation op) {
  fe_ploop *l = FE_NEW(s->ir->arena, fe_ploop);
  l->op = op;
  l->is_while = fe_op_is(op, "scf.while");
  l->first = fe_region_block(op, 0);
  l->body = fe_region_block(op, l->is_while ? 1 : 0);
  if (l->is_while)
    l->condition = fe_terminator(l->first);
  unsigned skip = l->is_while ? 0 : 3; // bounds and step
  l->n = fe_n_operands(op) - skip;
  l->at = FE_NEW_N(s->ir->arena, fe_carried, l->n + 1);
  MlirOperation yield = fe_terminator(l->body);
  for (unsigned k = 0; k < l->n; ++k)
    l->at[k] = (fe_carried){
        .init = fe_operand(op, skip + k),
        .arg = fe_block_arg(l->first, l->is_while ? k : k + 1),
        .yield = fe_operand(yield, k),
        .buffer = FE_NO_BUFFER,
        .temp = FE_NO_BUFFER,
        .exit = FE_NO_BUFFER,
    };
  fe_push(s->ir->arena, &s->loops, l);
  return l;
}

static void number(fe_plan_state *s, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    fe_opinfo *info = FE_NEW(s->ir->arena, fe_opinfo);
    fe_map_set_ptr(s->ir->arena, &s->ops, op.ptr, info);
    info->pos = info->end = s->positions++;
    if (fe_op_is(op, "scf.for") || fe_op_is(op, "scf.while"))
      info->loop = make_loop(s, op);
    if (fe_op_is(op, "scf.if") || info->loop) {
      for (unsigned r = 0; r < (unsigned)mlirOperationGetNumRegions(op); ++r) {
        MlirBlock inner = fe_region_block(op, r);
        if (!mlirBlockIsNull(inner))
          number(s, inner);
      }
      info->end = s->positions++;
    } else if (mlirOperationGetNumRegions(op)) {
      fe_report(s->ir->diags, FE_SEV_INTERNAL, fe_plan_where(s, op), NULL,
                "main has an operation that plan does not know: %s",
                fe_op_name(s->ir->arena, op));
      s->bad = true;
    }
  }
}

//===-- Buffers -------------------------------------------------------------//

/// A buffer for tensors like `v`, needed from `op` on, held by `block`.
static unsigned make_buffer(fe_plan_state *s, MlirOperation op, MlirBlock block,
                            MlirValue v, bool given) {
  fe_buffer *b = FE_NEW(s->ir->arena, fe_buffer);
  unsigned number = (unsigned)s->buffers.n;
  fe_push(s->ir->arena, &s->buffers, b);
  b->block = block;
  b->top = mlirBlockEqual(block, s->top);
  b->offset = -1;
  b->parent = FE_NO_BUFFER;
  b->first = b->last = fe_opinfo_of(s, op)->pos;
  b->until = op;
  for (unsigned d = 0; d < fe_rank(v); ++d)
    b->dims[d] = fe_pdim_of(s, v, d);
  b->place = FE_GIVEN;
  if (given)
    return number;
  b->size = fe_psize_of(s, v);
  b->place = FE_IN_HEAP;
  if (b->size == FE_NO_BUFFER || s->sizes.at[b->size]->entry)
    b->place = FE_IN_ARENA;
  return number;
}

static bool in_set(const fe_pvalue *v, unsigned buffer) {
  for (unsigned i = 0; i < v->n; ++i)
    if (v->at[i] == buffer)
      return true;
  return false;
}

static void add(fe_plan_state *s, fe_pvalue *v, unsigned buffer) {
  if (in_set(v, buffer))
    return;
  unsigned *at = FE_NEW_N(s->ir->arena, unsigned, v->n + 1);
  for (unsigned i = 0; i < v->n; ++i)
    at[i] = v->at[i];
  at[v->n++] = buffer;
  v->at = at;
}

static void add_all(fe_plan_state *s, fe_pvalue *v, const fe_pvalue *from) {
  for (unsigned i = 0; from && i < from->n; ++i)
    add(s, v, from->at[i]);
}

static fe_pvalue *make_value(fe_plan_state *s, MlirValue v) {
  fe_pvalue *p = FE_NEW(s->ir->arena, fe_pvalue);
  fe_map_set_ptr(s->ir->arena, &s->values, v.ptr, p);
  return p;
}

static void value_in(fe_plan_state *s, MlirValue v, unsigned buffer) {
  add(s, make_value(s, v), buffer);
}

static void value_like(fe_plan_state *s, MlirValue v, MlirValue other) {
  add_all(s, make_value(s, v), fe_pvalue_of(s, other));
}

//===-- What lies where -----------------------------------------------------//

/// Operand i of a call is a destination that starts empty.
static bool is_dest(MlirOperation op, unsigned i) {
  if (!fe_op_is(op, "kernel.call") && !fe_op_is(op, "kernel.runtime"))
    return false;
  int64_t ins = fe_attr_i64(op, "ins", 0), outs = fe_attr_i64(op, "outs", 0);
  return i >= ins && i < ins + outs &&
         fe_op_is(fe_def(fe_operand(op, i)), "tensor.empty");
}

/// Operand i of a loop has contents only if `v` is more than an empty tensor:
/// the loop has memory of its own for it.
static bool starts_loop(fe_plan_state *s, MlirOperation op, unsigned i) {
  const fe_ploop *l = fe_opinfo_of(s, op)->loop;
  unsigned skip = l && !l->is_while ? 3 : 0;
  return l && i >= skip && l->at[i - skip].kind == FE_CARRY_FIXED;
}

/// An empty tensor that is more than a destination has memory of its own.
static bool empty_is_used(fe_plan_state *s, MlirValue v) {
  for (MlirOpOperand u = mlirValueGetFirstUse(v); !mlirOpOperandIsNull(u);
       u = mlirOpOperandGetNextUse(u)) {
    MlirOperation op = mlirOpOperandGetOwner(u);
    unsigned i = (unsigned)mlirOpOperandGetOperandNumber(u);
    if (!fe_op_is(op, "tensor.dim") && !is_dest(op, i) &&
        !starts_loop(s, op, i))
      return true;
  }
  return false;
}

static void place_block(fe_plan_state *s, MlirBlock block);

static void place_if(fe_plan_state *s, MlirOperation op, fe_opinfo *info) {
  place_block(s, fe_region_block(op, 0));
  if (!mlirBlockIsNull(fe_region_block(op, 1)))
    place_block(s, fe_region_block(op, 1));
  info->merge = FE_NEW_N(s->ir->arena, unsigned, fe_n_results(op) + 1);
  for (unsigned k = 0; k < fe_n_results(op); ++k) {
    info->merge[k] = FE_NO_BUFFER;
    MlirValue r = fe_result(op, k);
    if (!fe_is_tensor(r))
      continue;
    fe_pvalue *v = make_value(s, r);
    bool own = false; // heap memory of a branch
    for (unsigned i = 0; i < 2; ++i) {
      MlirBlock b = fe_region_block(op, i);
      fe_pvalue *y = fe_pvalue_of(s, fe_operand(fe_terminator(b), k));
      add_all(s, v, y);
      for (unsigned j = 0; y && j < y->n; ++j) {
        const fe_buffer *x = s->buffers.at[y->at[j]];
        own = own || ((x->place == FE_IN_HEAP || x->place == FE_GIVEN) &&
                      mlirBlockEqual(x->block, b));
      }
    }
    if (own) {
      info->merge[k] = make_buffer(s, op, mlirOperationGetBlock(op), r, true);
      *v = (fe_pvalue){0};
      add(s, v, info->merge[k]);
    }
  }
}

enum { SWAP_BYTES = 4096 }; // less is copied as quickly

/// The buffer of a result that a kernel in the loop's body makes anew for this
/// carried value alone, or none.
static unsigned made_for(fe_plan_state *s, const fe_ploop *l,
                         const fe_carried *c) {
  MlirValue v = c->yield;
  while (fe_op_is(fe_def(v), "krnl.reshape") ||
         fe_op_is(fe_def(v), "tensor.cast"))
    v = fe_operand(fe_def(v), 0);
  MlirOperation op = fe_def(v);
  if (!fe_op_is(op, "kernel.call") || fe_plan_is_join(s, op) ||
      !mlirBlockEqual(mlirOperationGetBlock(op), l->body))
    return FE_NO_BUFFER;
  unsigned made = fe_opinfo_of(s, op)->buffer[mlirOpResultGetResultNumber(v)];
  const fe_buffer *b = s->buffers.at[made];
  if ((b->place != FE_IN_ARENA && b->place != FE_IN_HEAP) ||
      b->size == FE_NO_BUFFER ||
      (s->sizes.at[b->size]->fixed && s->sizes.at[b->size]->bytes < SWAP_BYTES))
    return FE_NO_BUFFER;
  for (unsigned k = 0; k < l->n; ++k) {
    const fe_pvalue *y =
        fe_is_tensor(l->at[k].yield) ? fe_pvalue_of(s, l->at[k].yield) : NULL;
    if (&l->at[k] != c && y && in_set(y, made))
      return FE_NO_BUFFER;
  }
  return made;
}

/// Two buffers take turns where that saves a copy. Of sets the first one stands
/// for both.
static void swap_buffers(fe_plan_state *s, fe_ploop *l) {
  for (unsigned k = 0; k < l->n; ++k) {
    fe_carried *c = &l->at[k];
    unsigned made =
        c->kind == FE_CARRY_FIXED ? made_for(s, l, c) : FE_NO_BUFFER;
    if (made == FE_NO_BUFFER)
      continue;
    c->kind = FE_CARRY_SWAP;
    c->made = made;
    c->spare =
        make_buffer(s, l->op, mlirOperationGetBlock(l->op), c->arg, false);
    s->buffers.at[made]->place = FE_SWAPPED;
    s->buffers.at[c->buffer]->swaps = s->buffers.at[c->spare]->swaps = true;
  }
}

static void place_loop(fe_plan_state *s, fe_ploop *l) {
  MlirBlock outer = mlirOperationGetBlock(l->op);
  for (unsigned k = 0; k < l->n; ++k) {
    fe_carried *c = &l->at[k];
    if (c->kind == FE_CARRY_SAME) {
      value_like(s, c->arg, c->init);
    } else if (c->kind == FE_CARRY_FIXED) {
      c->buffer = make_buffer(s, l->op, outer, c->arg, false);
      value_in(s, c->arg, c->buffer);
    } else if (c->kind == FE_CARRY_HEAP) {
      c->buffer = make_buffer(s, mlirBlockGetFirstOperation(l->first), l->first,
                              c->arg, true);
      s->buffers.at[c->buffer]->kept = true; // freed by the loop
      c->exit = make_buffer(s, l->op, outer, c->arg, true);
      value_in(s, c->arg, c->buffer);
    }
  }
  place_block(s, l->first);
  unsigned n_results = fe_n_results(l->op);
  for (unsigned j = 0; l->is_while && j < n_results; ++j)
    if (fe_is_tensor(fe_result(l->op, j)))
      value_like(s, fe_block_arg(l->body, j), fe_operand(l->condition, 1 + j));
  if (l->is_while)
    place_block(s, l->body);
  // Results: as forwarded or carried; heap of the last iteration goes outside.
  for (unsigned j = 0; j < n_results; ++j) {
    MlirValue r = fe_result(l->op, j);
    if (!fe_is_tensor(r))
      continue;
    fe_pvalue *v = make_value(s, r);
    const fe_pvalue *x = fe_pvalue_of(
        s, l->is_while ? fe_operand(l->condition, 1 + j) : l->at[j].arg);
    for (unsigned i = 0; x && i < x->n; ++i) {
      unsigned b = x->at[i];
      for (unsigned k = 0; k < l->n; ++k)
        if (l->at[k].kind == FE_CARRY_HEAP && l->at[k].buffer == b)
          b = l->at[k].exit;
      add(s, v, b);
    }
  }
  swap_buffers(s, l);
  // All fixed buffers change at once: what one yields from another is put
  // aside before.
  MlirOperation yield = fe_terminator(l->body);
  for (unsigned k = 0; k < l->n; ++k)
    for (unsigned j = 0; j < l->n; ++j) {
      fe_carried *c = &l->at[k];
      const fe_pvalue *y = fe_pvalue_of(s, c->yield);
      if (c->kind == FE_CARRY_FIXED && l->at[j].kind == FE_CARRY_FIXED &&
          j != k && c->temp == FE_NO_BUFFER && y && in_set(y, l->at[j].buffer))
        c->temp = make_buffer(s, yield, l->body, c->arg, false);
    }
}

static void place_op(fe_plan_state *s, MlirOperation op) {
  fe_opinfo *info = fe_opinfo_of(s, op);
  MlirBlock block = mlirOperationGetBlock(op);
  unsigned n = fe_n_results(op);
  if (fe_op_is(op, "scf.if")) {
    place_if(s, op, info);
  } else if (info->loop) {
    place_loop(s, info->loop);
  } else if (fe_op_is(op, "krnl.weight")) {
    value_in(s, fe_result(op, 0), 0);
  } else if (fe_op_is(op, "krnl.reshape") || fe_op_is(op, "tensor.cast") ||
             fe_op_is(op, "kernel.insert")) {
    value_like(s, fe_result(op, 0), fe_operand(op, 0));
  } else {
    info->buffer = FE_NEW_N(s->ir->arena, unsigned, n + 1);
    for (unsigned k = 0; k < n; ++k) {
      MlirValue r = fe_result(op, k);
      if (!fe_is_tensor(r))
        continue;
      fe_pvalue *v = make_value(s, r);
      info->buffer[k] = FE_NO_BUFFER;
      if (fe_op_is(op, "tensor.empty") && !empty_is_used(s, r))
        continue;
      if (fe_op_is(op, "arith.constant") && !fe_plan_filled(op)) {
        add(s, v, 0);
        continue;
      }
      info->buffer[k] = make_buffer(s, op, block, r, false);
      add(s, v, info->buffer[k]);
    }
  }
}

static void place_block(fe_plan_state *s, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    place_op(s, op);
}

//===-- Lifetimes -----------------------------------------------------------//

static bool holds(MlirBlock outer, MlirBlock inner) {
  for (;;) {
    if (mlirBlockEqual(outer, inner))
      return true;
    MlirOperation parent = mlirBlockGetParentOperation(inner);
    if (mlirOperationIsNull(parent) || fe_op_is(parent, "func.func"))
      return false;
    inner = mlirOperationGetBlock(parent);
  }
}

static void extend(fe_plan_state *s, fe_buffer *b, MlirOperation use) {
  unsigned last = fe_opinfo_of(s, use)->pos;
  for (MlirOperation at = use;;) {
    MlirBlock block = mlirOperationGetBlock(at);
    fe_opinfo *info = fe_opinfo_of(s, at);
    if (mlirBlockEqual(block, b->block) &&
        info->end >= fe_opinfo_of(s, b->until)->end)
      b->until = at;
    if (holds(block, b->block))
      break;
    at = mlirBlockGetParentOperation(block);
    if (fe_opinfo_of(s, at)->loop)
      last = fe_opinfo_of(s, at)->end;
  }
  b->last = last > b->last ? last : b->last;
}

static void lifetimes(fe_plan_state *s, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    fe_opinfo *info = fe_opinfo_of(s, op);
    bool reads = !fe_op_is(op, "tensor.dim") && !fe_op_is(op, "krnl.reshape") &&
                 !fe_op_is(op, "tensor.cast");
    for (unsigned i = 0; reads && i < fe_n_operands(op); ++i) {
      const fe_pvalue *v = fe_is_tensor(fe_operand(op, i))
                               ? fe_pvalue_of(s, fe_operand(op, i))
                               : NULL;
      for (unsigned k = 0; v && k < v->n; ++k) {
        fe_buffer *b = s->buffers.at[v->at[k]];
        if (b->place == FE_FOREIGN)
          continue;
        extend(s, b, op);
        if (fe_op_is(op, "scf.condition") && mlirBlockEqual(b->block, block))
          b->kept = true; // the body or what follows the loop uses it
      }
    }
    for (unsigned r = 0; r < (unsigned)mlirOperationGetNumRegions(op); ++r)
      if (!mlirBlockIsNull(fe_region_block(op, r)))
        lifetimes(s, fe_region_block(op, r));
    for (unsigned k = 0; info->loop && k < info->loop->n; ++k)
      if (info->loop->at[k].kind == FE_CARRY_FIXED ||
          info->loop->at[k].kind == FE_CARRY_SWAP) {
        fe_buffer *b = s->buffers.at[info->loop->at[k].buffer];
        b->last = b->last > info->end ? b->last : info->end;
      }
  }
}

/// Both buffers of a carried tensor are needed as long.
static void swapped_lifetimes(fe_plan_state *s) {
  for (size_t i = 0; i < s->loops.n; ++i)
    for (unsigned k = 0; k < s->loops.at[i]->n; ++k) {
      const fe_carried *c = &s->loops.at[i]->at[k];
      if (c->kind != FE_CARRY_SWAP)
        continue;
      const fe_buffer *b = s->buffers.at[c->buffer];
      s->buffers.at[c->spare]->last = b->last;
      s->buffers.at[c->spare]->until = b->until;
    }
}

/// Results of main that can be computed where the caller wants them.
static void outputs(fe_plan_state *s) {
  for (unsigned i = 0; i < fe_n_operands(s->ret); ++i) {
    const fe_pvalue *v = fe_pvalue_of(s, fe_operand(s->ret, i));
    if (!v || v->n != 1)
      continue;
    fe_buffer *b = s->buffers.at[v->at[0]];
    if (!b->top || b->swaps ||
        (b->place != FE_IN_ARENA && b->place != FE_IN_HEAP) ||
        fe_plan_output_points(s, i))
      continue;
    b->place = FE_IN_OUTPUT;
    b->output = i;
  }
}

static void addresses(fe_plan_state *s) {
  fe_arena *arena = s->ir->arena;
  unsigned n = (unsigned)s->buffers.n, n_pack = 0, n_slot = 0;
  fe_plan_item *pack = FE_NEW_N(arena, fe_plan_item, n + 1);
  fe_plan_item *slot = FE_NEW_N(arena, fe_plan_item, n + 1);
  for (int pass = 0; pass < 2; ++pass) {
    if (pass == 1) {
      s->fixed_bytes = fe_plan_pack(arena, n_pack, pack, FE_PLAN_ALIGN);
      s->n_slots = fe_plan_slots(arena, n_slot, slot);
      n_pack = n_slot = 0;
    }
    for (unsigned i = 0; i < n; ++i) {
      fe_buffer *b = s->buffers.at[i];
      if (b->place != FE_IN_ARENA || b->parent != FE_NO_BUFFER)
        continue;
      fe_psize *z = s->sizes.at[b->size];
      fe_plan_item *item = z->fixed ? &pack[n_pack++] : &slot[n_slot++];
      if (pass == 1) {
        b->offset = z->fixed ? item->offset : -1;
        b->slot = item->slot;
        continue;
      }
      z->always = z->always || b->top;
      item->size = z->fixed ? (double)z->bytes : z->estimate;
      item->first = b->first;
      item->last = b->last;
    }
  }
}

static void deaths(fe_plan_state *s) {
  for (unsigned i = 0; i < s->buffers.n; ++i) {
    const fe_buffer *b = s->buffers.at[i];
    if (!b->kept && (b->place == FE_IN_HEAP || b->place == FE_GIVEN))
      fe_push(s->ir->arena, &fe_opinfo_of(s, b->until)->dies, i);
  }
}

fe_status fe_plan_live(fe_plan_state *s) {
  number(s, s->top);
  if (s->bad)
    return FE_FAILED;
  fe_plan_loops(s);
  fe_buffer *foreign = FE_NEW(s->ir->arena, fe_buffer);
  foreign->place = FE_FOREIGN;
  foreign->parent = FE_NO_BUFFER;
  fe_push(s->ir->arena, &s->buffers, foreign);
  for (unsigned i = 0; i < s->n_inputs; ++i)
    value_in(s, fe_block_arg(s->top, i), 0);
  place_block(s, s->top);
  if (s->bad)
    return FE_FAILED;
  lifetimes(s, s->top);
  swapped_lifetimes(s);
  outputs(s);
  fe_plan_join(s);
  addresses(s);
  deaths(s);
  return FE_OK;
}
