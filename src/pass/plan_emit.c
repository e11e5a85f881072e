//===- plan_emit.c - the new main --------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: the old main is walked once and written anew, operation by
// operation; scalars are copied, tensors become pointers. The old one is
// erased. Control flow is in plan_control.c, calls in plan_call.c.
//
//===----------------------------------------------------------------------===//
#include "pass/plan.h"

#include "ferrule/model.h"

#define NULL_TYPE ((MlirType){NULL})

//===-- Values --------------------------------------------------------------//

void fe_plan_declare(fe_plan_state *s, const char *name, const char *type) {
  if (fe_map_get(&s->declared, name))
    return;
  fe_map_set(s->ir->arena, &s->declared, fe_strdup(s->ir->arena, name), s);
  fe_llvm_declare(s->ir, s->module, name, type);
}

void fe_plan_set_scalar(fe_plan_state *s, MlirValue v, MlirValue now) {
  fe_map_set_ptr(s->ir->arena, &s->scalars, v.ptr,
                 fe_memdup(s->ir->arena, &now, sizeof now));
}

MlirValue fe_plan_scalar(fe_plan_state *s, MlirValue v) {
  const MlirValue *now = fe_map_get_ptr(&s->scalars, v.ptr);
  return now ? *now : (MlirValue){NULL};
}

static MlirValue dim_value(fe_plan_state *s, fe_pdim d) {
  if (d.kind == FE_PDIM_CONST)
    return fe_index(s->ir, d.c);
  return d.kind == FE_PDIM_VALUE ? fe_plan_scalar(s, d.v)
                                 : fe_pvalue_of(s, d.v)->dims[d.d];
}

MlirValue fe_plan_dim(fe_plan_state *s, MlirValue v, unsigned d) {
  return dim_value(s, fe_pdim_of(s, v, d));
}

MlirValue fe_plan_input_dim(fe_plan_state *s, unsigned i, unsigned d) {
  fe_ir *ir = s->ir;
  int64_t at = (int64_t)(i * sizeof(ferrule_tensor) +
                         offsetof(ferrule_tensor, dims) + d * sizeof(int64_t));
  return fe_convert(ir,
                    fe_llvm_load(ir, ir->i64, fe_llvm_at(ir, s->inputs, at)),
                    ir->index, false, false);
}

//===-- Memory --------------------------------------------------------------//

static MlirValue bytes_of(fe_plan_state *s, unsigned elem, unsigned rank,
                          const fe_pdim *dims) {
  MlirValue x[FE_MAX_RANK];
  for (unsigned d = 0; d < rank; ++d)
    x[d] = dim_value(s, dims[d]);
  return fe_plan_bytes(s->ir, elem, rank, x);
}

MlirValue fe_plan_tensor_bytes(fe_plan_state *s, MlirValue v) {
  fe_pdim dims[FE_MAX_RANK];
  for (unsigned d = 0; d < fe_rank(v); ++d)
    dims[d] = fe_pdim_of(s, v, d);
  return bytes_of(s, fe_elem_bytes(fe_elem_of(v)), fe_rank(v), dims);
}

static void check(fe_ir *ir, MlirValue cond, const char *message) {
  FE_OP(ir, "krnl.check", FE_VALUES(cond),
        FE_ATTRS(fe_at_str(ir, "message", message)));
}

void fe_plan_check_bytes(fe_ir *ir, MlirValue bytes, const fe_psize *z) {
  static const char what[] =
      "would have a negative size, or one beyond all bounds";
  bool is;
  if (fe_const_index(bytes, &is) < 0 || !is)
    check(ir, fe_cmp(ir, FE_GE, bytes, fe_int(ir, ir->i64, 0)),
          z && z->node
              ? fe_printf(ir->arena, "node '%s': its result %s", z->node, what)
              : fe_printf(ir->arena, "a tensor %s", what));
}

MlirValue fe_plan_alloc(fe_plan_state *s, MlirValue bytes) {
  fe_plan_declare(s, "fe_rt_alloc", "!llvm.func<ptr (ptr, i64)>");
  return fe_llvm_call(s->ir, "fe_rt_alloc", 2, (MlirValue[]){s->run, bytes},
                      s->ir->ptr);
}

void fe_plan_free(fe_plan_state *s, MlirValue p) {
  fe_plan_declare(s, "fe_rt_free", "!llvm.func<void (ptr, ptr)>");
  fe_llvm_call(s->ir, "fe_rt_free", 2, (MlirValue[]){s->run, p}, NULL_TYPE);
}

void fe_plan_free_after(fe_plan_state *s, MlirOperation op) {
  const fe_opinfo *info = fe_opinfo_of(s, op);
  for (size_t i = 0; i < info->dies.n; ++i) {
    const fe_buffer *b = s->buffers.at[info->dies.at[i]];
    if (!b->moved)
      fe_plan_free(s, b->ptr);
  }
}

static MlirValue output_at(fe_plan_state *s, unsigned i, size_t member) {
  return fe_llvm_at(s->ir, s->outputs,
                    (int64_t)(i * sizeof(ferrule_tensor) + member));
}

static MlirValue open_output(fe_plan_state *s, unsigned i, MlirValue bytes) {
  fe_plan_declare(s, "fe_rt_output", "!llvm.func<ptr (ptr, ptr, i64)>");
  return fe_llvm_call(s->ir, "fe_rt_output", 3,
                      (MlirValue[]){s->run, output_at(s, i, 0), bytes},
                      s->ir->ptr);
}

MlirValue fe_plan_open(fe_plan_state *s, unsigned buffer) {
  fe_ir *ir = s->ir;
  fe_buffer *b = s->buffers.at[buffer];
  const fe_psize *z = s->sizes.at[b->size];
  if ((!fe_is_null(b->ptr) && b->joined) || b->place == FE_SWAPPED)
    return b->ptr; // opened for its first part; or by the loop
  if (b->parent != FE_NO_BUFFER) {
    b->ptr = fe_llvm_at(ir, fe_plan_open(s, b->parent), b->delta);
  } else if (b->place == FE_IN_ARENA && b->offset >= 0) {
    b->ptr = fe_llvm_at(ir, s->arena, b->offset);
  } else if (b->place == FE_IN_ARENA) {
    if (!z->always)
      fe_plan_check_bytes(ir, z->now, z);
    b->ptr = fe_llvm_at_value(ir, s->arena, s->slot_offsets[b->slot]);
  } else {
    MlirValue bytes = bytes_of(s, z->elem, z->rank, b->dims);
    fe_plan_check_bytes(ir, bytes, z);
    b->ptr = b->place == FE_IN_HEAP ? fe_plan_alloc(s, bytes)
                                    : open_output(s, b->output, bytes);
  }
  return b->ptr;
}

//===-- Operations ----------------------------------------------------------//

static void emit_weight(fe_plan_state *s, MlirOperation op, int64_t offset) {
  fe_pvalue_of(s, fe_result(op, 0))->ptr =
      fe_llvm_at(s->ir, fe_llvm_address(s->ir, "weights"), offset);
}

static int64_t static_bytes(MlirValue v) {
  int64_t n = fe_elem_bytes(fe_elem_of(v));
  for (unsigned d = 0; d < fe_rank(v); ++d)
    n *= fe_static_dim(v, d);
  return n;
}

static void emit_krnl_weight(fe_plan_state *s, MlirOperation op) {
  const char *name = fe_attr_str(s->ir->arena, op, "blob", "");
  emit_weight(s, op, fe_plan_blob(s, name, static_bytes(fe_result(op, 0))));
}

static void copy_scalar_op(fe_plan_state *s, MlirOperation op);

static void emit_constant(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  MlirValue r = fe_result(op, 0);
  if (!fe_is_tensor(r)) {
    copy_scalar_op(s, op);
    return;
  }
  unsigned buffer = fe_opinfo_of(s, op)->buffer[0];
  if (buffer == FE_NO_BUFFER) {
    emit_weight(s, op, fe_plan_constant(s, op));
    return;
  }
  MlirValue p = fe_pvalue_of(s, r)->ptr = fe_plan_open(s, buffer);
  MlirAttribute a = mlirDenseElementsAttrGetSplatValue(fe_attr(op, "value"));
  MlirType elem = fe_elem_of(r);
  int64_t size = fe_elem_bytes(elem);
  MlirValue v = fe_first(FE_OP(ir, "arith.constant", FE_TYPES(elem),
                               FE_ATTRS(fe_named(ir, "value", a))));
  fe_region loop = fe_loop(ir, fe_index(ir, static_bytes(r) / size));
  MlirValue at =
      fe_mul(ir, fe_plan_i64(ir, loop.iv), fe_int(ir, ir->i64, size));
  fe_llvm_store(ir, v, fe_llvm_at_value(ir, p, at));
  fe_loop_end(ir, &loop);
}

static void emit_empty(fe_plan_state *s, MlirOperation op) {
  unsigned buffer = fe_opinfo_of(s, op)->buffer[0];
  if (buffer != FE_NO_BUFFER)
    fe_pvalue_of(s, fe_result(op, 0))->ptr = fe_plan_open(s, buffer);
}

static void emit_view(fe_plan_state *s, MlirOperation op) {
  fe_pvalue_of(s, fe_result(op, 0))->ptr =
      fe_pvalue_of(s, fe_operand(op, 0))->ptr;
}

/// An element is put into its place of the buffer that both stacks share.
static void emit_insert(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  MlirValue stack = fe_operand(op, 0), element = fe_operand(op, 1);
  MlirValue bytes = fe_plan_tensor_bytes(s, element);
  MlirValue at = fe_plan_i64(ir, fe_plan_scalar(s, fe_operand(op, 2)));
  MlirValue p = fe_pvalue_of(s, stack)->ptr;
  fe_llvm_copy(ir, fe_llvm_at_value(ir, p, fe_mul(ir, at, bytes)),
               fe_pvalue_of(s, element)->ptr, bytes);
  fe_pvalue_of(s, fe_result(op, 0))->ptr = p;
}

static void emit_dim(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  MlirValue v = fe_operand(op, 0), i = fe_operand(op, 1), r = fe_index(ir, 0);
  bool is;
  int64_t c = fe_const_index(i, &is);
  if (is && c >= 0 && c < fe_rank(v))
    r = fe_plan_dim(s, v, (unsigned)c);
  for (unsigned d = 0; !is && d < fe_rank(v); ++d)
    r = fe_select(ir, fe_cmp(ir, FE_EQ, fe_plan_scalar(s, i), fe_index(ir, d)),
                  fe_plan_dim(s, v, d), r);
  fe_plan_set_scalar(s, fe_result(op, 0), r);
}

static void emit_extract(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  MlirValue v = fe_operand(op, 0), at = {NULL};
  int64_t known = 0, size = fe_elem_bytes(fe_elem_of(v));
  bool is = true;
  for (unsigned d = 0; d < fe_rank(v); ++d) {
    bool k;
    int64_t i = fe_const_index(fe_operand(op, 1 + d), &k);
    is = is && k && fe_static_dim(v, d) != FE_DYN;
    known = is ? known * fe_static_dim(v, d) + i : 0;
  }
  for (unsigned d = 0; !is && d < fe_rank(v); ++d) {
    MlirValue i = fe_plan_scalar(s, fe_operand(op, 1 + d));
    at = d == 0 ? i : fe_add(ir, fe_mul(ir, at, fe_plan_dim(s, v, d)), i);
  }
  MlirValue base = fe_pvalue_of(s, v)->ptr;
  MlirValue p = is ? fe_llvm_at(ir, base, known * size)
                   : fe_llvm_at_value(ir, base,
                                      fe_mul(ir, fe_plan_i64(ir, at),
                                             fe_int(ir, ir->i64, size)));
  fe_plan_set_scalar(s, fe_result(op, 0), fe_llvm_load(ir, fe_elem_of(v), p));
}

static void emit_elements(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  MlirValue r = fe_result(op, 0);
  MlirValue p = fe_pvalue_of(s, r)->ptr =
      fe_plan_open(s, fe_opinfo_of(s, op)->buffer[0]);
  int64_t size = fe_elem_bytes(fe_elem_of(r));
  for (unsigned i = 0; i < fe_n_operands(op); ++i)
    fe_llvm_store(ir, fe_plan_scalar(s, fe_operand(op, i)),
                  fe_llvm_at(ir, p, i * size));
}

static void emit_check(fe_plan_state *s, MlirOperation op) {
  check(s->ir, fe_plan_scalar(s, fe_operand(op, 0)),
        fe_attr_str(s->ir->arena, op, "message", ""));
}

/// Writes a result that was not computed in its place, and what it looks like.
static void emit_output(fe_plan_state *s, unsigned i) {
  fe_ir *ir = s->ir;
  MlirValue v = fe_operand(s->ret, i);
  const fe_pvalue *p = fe_pvalue_of(s, v);
  const fe_buffer *b = s->buffers.at[p->at[0]];
  if (fe_plan_output_points(s, i)) {
    fe_plan_emit_value_output(s, output_at(s, i, 0), v,
                              fe_plan_output_dtype(s, i));
  } else if (b->place != FE_IN_OUTPUT || b->output != i) {
    MlirValue bytes = fe_plan_tensor_bytes(s, v);
    MlirValue to = open_output(s, i, bytes);
    fe_llvm_copy(ir, to, p->ptr, bytes);
  }
  fe_llvm_store(ir, fe_int(ir, ir->i32, fe_plan_output_dtype(s, i)),
                output_at(s, i, offsetof(ferrule_tensor, dtype)));
  fe_llvm_store(ir, fe_int(ir, ir->i32, fe_rank(v)),
                output_at(s, i, offsetof(ferrule_tensor, rank)));
  for (unsigned d = 0; d < fe_rank(v); ++d)
    fe_llvm_store(
        ir, fe_plan_i64(ir, fe_plan_dim(s, v, d)),
        output_at(s, i, offsetof(ferrule_tensor, dims) + d * sizeof(int64_t)));
}

static void copy_scalar_op(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  unsigned n = fe_n_operands(op);
  bool ok = mlirOperationGetNumRegions(op) == 0;
  MlirValue *x = FE_NEW_N(ir->arena, MlirValue, n + 1);
  for (unsigned i = 0; i < n; ++i) {
    x[i] = fe_plan_scalar(s, fe_operand(op, i));
    ok = ok && !fe_is_null(x[i]);
  }
  for (unsigned i = 0; i < fe_n_results(op); ++i)
    ok = ok && !fe_is_tensor(fe_result(op, i));
  if (!ok) {
    fe_report(ir->diags, FE_SEV_INTERNAL, fe_plan_where(s, op), NULL,
              "main has an operation that plan does not know: %s",
              fe_print(ir->arena, op));
    s->bad = true;
    return;
  }
  MlirOperation copy = mlirOperationClone(op);
  for (unsigned i = 0; i < n; ++i)
    mlirOperationSetOperand(copy, i, x[i]);
  mlirBlockAppendOwnedOperation(ir->block, copy);
  for (unsigned i = 0; i < fe_n_results(op); ++i)
    fe_plan_set_scalar(s, fe_result(op, i), fe_result(copy, i));
}

static const struct {
  const char *name;
  void (*emit)(fe_plan_state *s, MlirOperation op);
} rows[] = {
    {"kernel.call", fe_plan_emit_call},
    {"kernel.runtime", fe_plan_emit_runtime},
    {"kernel.insert", emit_insert},
    {"krnl.weight", emit_krnl_weight},
    {"krnl.reshape", emit_view},
    {"krnl.check", emit_check},
    {"tensor.cast", emit_view},
    {"tensor.empty", emit_empty},
    {"tensor.dim", emit_dim},
    {"tensor.extract", emit_extract},
    {"tensor.from_elements", emit_elements},
    {"arith.constant", emit_constant},
    {"scf.if", fe_plan_emit_if},
    {"scf.for", fe_plan_emit_for},
    {"scf.while", fe_plan_emit_while},
};

void fe_plan_emit_block(fe_plan_state *s, MlirBlock block) {
  MlirOperation end = fe_terminator(block);
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationEqual(op, end) && !s->bad;
       op = mlirOperationGetNextInBlock(op)) {
    s->ir->loc = mlirOperationGetLocation(op);
    void (*emit)(fe_plan_state *, MlirOperation) = copy_scalar_op;
    for (unsigned i = 0; i < FE_COUNT(rows); ++i)
      if (fe_op_is(op, rows[i].name))
        emit = rows[i].emit;
    emit(s, op);
    if (!s->bad)
      fe_plan_free_after(s, op);
  }
}

//===-- The functions -------------------------------------------------------//

static void count_slots(fe_plan_state *s, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (fe_op_is(op, "kernel.call")) {
      unsigned n = fe_plan_call_slots(s, op);
      s->max_slots = n > s->max_slots ? n : s->max_slots;
    }
    if (fe_op_is(op, "kernel.runtime"))
      fe_plan_count_runtime(s, op);
    for (unsigned r = 0; r < (unsigned)mlirOperationGetNumRegions(op); ++r)
      if (!mlirBlockIsNull(fe_region_block(op, r)))
        count_slots(s, fe_region_block(op, r));
  }
}

static void emit_inputs(fe_plan_state *s) {
  fe_ir *ir = s->ir;
  MlirValue *symbol = FE_NEW_N(ir->arena, MlirValue, s->symbols.n + 1);
  for (size_t n = 0; n < s->symbols.n; ++n)
    symbol[n] =
        fe_plan_input_dim(s, s->symbol_input.at[n], s->symbol_dim.at[n]);
  for (unsigned i = 0; i < s->n_inputs; ++i) {
    MlirValue v = fe_block_arg(s->top, i);
    fe_pvalue *p = fe_pvalue_of(s, v);
    int64_t at = (int64_t)(i * sizeof(ferrule_tensor));
    p->ptr = fe_llvm_load(ir, ir->ptr, fe_llvm_at(ir, s->inputs, at));
    for (unsigned d = 0; d < fe_rank(v); ++d)
      if (fe_static_dim(v, d) == FE_DYN)
        p->dims[d] = symbol[s->input_symbol[i * FE_MAX_RANK + d]];
  }
}

/// What a kernel needs that the system gives only to those who ask.
static void ask_for_tiles(fe_plan_state *s) {
  fe_ir *ir = s->ir;
  bool any = false;
  for (size_t i = 0; i < s->kernels.n; ++i)
    any |=
        fe_has_attr((MlirOperation){s->kernels.entries[i].value}, "krnl.amx");
  if (!any)
    return;
  fe_plan_declare(s, "fe_rt_amx_allow", "!llvm.func<i32 ()>");
  MlirValue may = fe_llvm_call(ir, "fe_rt_amx_allow", 0, NULL, ir->i32);
  check(ir, fe_cmp(ir, FE_NE, may, fe_int(ir, ir->i32, 0)),
        "the system does not let this process use the processor's tiles (AMX)");
}

static void emit_main(fe_plan_state *s) {
  fe_ir *ir = s->ir;
  MlirType args[] = {ir->ptr, ir->ptr, ir->ptr, ir->ptr};
  MlirOperation f = fe_func_begin(ir, s->module, "main", false, 4, args);
  MlirBlock entry = fe_func_block(f);
  s->inputs = fe_block_arg(entry, 0);
  s->outputs = fe_block_arg(entry, 1);
  s->arena = fe_block_arg(entry, 2);
  s->run = fe_block_arg(entry, 3);
  if (s->max_slots)
    s->slots = fe_llvm_stack(ir, s->max_slots);
  for (unsigned i = 0; i < s->n_outputs && !s->max_values; ++i)
    s->max_values = fe_plan_output_points(s, i);
  if (s->max_values)
    s->call_values = fe_llvm_stack(
        ir, (int64_t)(s->max_values * sizeof(ferrule_tensor) / 8));
  if (s->max_values || s->max_numbers)
    s->call_numbers = fe_llvm_stack(ir, s->max_numbers + 1);
  ask_for_tiles(s);
  emit_inputs(s);
  if (s->n_slots) {
    s->slot_offsets = FE_NEW_N(ir->arena, MlirValue, s->n_slots);
    MlirValue ok;
    fe_plan_arena(s, (MlirValue){NULL}, &ok);
    check(ir, ok, "the model's tensors are too large for memory");
  }
  fe_plan_emit_block(s, s->top);
  for (unsigned i = 0; i < s->n_outputs && !s->bad; ++i)
    emit_output(s, i);
  MlirValue status = fe_int(ir, ir->i32, FERRULE_RUN_OK);
  fe_func_end(ir, f, 1, &status);
}

static void emit_arena_size(fe_plan_state *s) {
  fe_ir *ir = s->ir;
  MlirOperation f =
      fe_func_begin(ir, s->module, "arena_size", false, 1, &ir->ptr);
  MlirValue ok;
  MlirValue total = fe_plan_arena(s, fe_block_arg(fe_func_block(f), 0), &ok);
  if (s->n_slots) // an allocation of this size fails
    total = fe_select(ir, ok, total, fe_int(ir, ir->i64, INT64_MAX));
  fe_func_end(ir, f, 1, &total);
}

fe_status fe_plan_emit(fe_plan_state *s) {
  fe_ir *ir = s->ir;
  fe_point here = fe_point_save(ir);
  MlirLocation loc = ir->loc;
  fe_set_attr(ir, s->func, fe_at_str(ir, "sym_name", "main.tensors"));
  ir->loc = mlirOperationGetLocation(s->func);
  count_slots(s, s->top);
  if (!s->bad)
    emit_main(s);
  if (!s->bad && !ir->failed) {
    ir->loc = mlirOperationGetLocation(s->func);
    emit_arena_size(s);
    fe_llvm_global(ir, s->module, "weights", s->weights->bytes);
  }
  fe_point_restore(ir, here);
  ir->loc = loc;
  return s->bad ? FE_FAILED : FE_OK;
}
