//===- fold.c - computing constants when compiling ------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: ops that depend on constants only are copied into a module of their
// own, compiled and run in this process by the same lowerings as everything
// else (so that folding cannot disagree with running), and what the rest of
// the model needs of them becomes constants. One compilation for all of them.
// Results that would take much more room than what they are made from stay.
// Needs and leaves: the onnx form.
//
//===----------------------------------------------------------------------===//
#include "op/op.h"
#include "pass/pass.h"

#include <string.h>

typedef struct fe_folding {
  fe_ir *ir;
  fe_map constant;           // op -> itself, when it depends on constants only
  fe_map copies;             // value -> its copy in the new module
  fe_vec(MlirOperation) ops; // in order, without onnx.constant
  fe_vec(MlirValue) wanted;  // results that others use
} fe_folding;

/// Growth of a constant that folding may cause.
enum { MAX_GROWTH = 4, FREE_BYTES = 1 << 20 };

static double bytes_of(MlirValue v) {
  double n = fe_dtype_bytes(fe_dtype_of_elem(fe_elem_of(v)));
  for (unsigned i = 0; i < fe_rank(v); i++)
    n *= (double)fe_static_dim(v, i);
  return n;
}

/// Numbers of static shape.
static bool is_plain(MlirValue v) {
  MlirType t = mlirValueGetType(v);
  if (!mlirTypeIsARankedTensor(t) || !mlirShapedTypeHasStaticShape(t))
    return false;
  fe_dtype d = fe_dtype_of_elem(fe_elem_of(v));
  return fe_dtype_bytes(d) > 0;
}

static bool is_constant(const fe_folding *f, MlirValue v) {
  if (mlirTypeIsANone(mlirValueGetType(v)))
    return true;
  MlirOperation def = fe_def(v);
  return fe_op_is(def, "onnx.constant") ||
         (!mlirOperationIsNull(def) && fe_map_get_ptr(&f->constant, def.ptr));
}

static bool may_fold(const fe_folding *f, MlirOperation op) {
  const fe_op_row *row = fe_op_row_of(op);
  if (!fe_op_in(op, "onnx") || !row || (row->flags & FE_IMPURE) ||
      (!row->lower && !row->scalar) || !fe_n_results(op))
    return false;
  double in = FREE_BYTES, out = 0;
  for (unsigned i = 0; i < fe_n_operands(op); i++) {
    MlirValue v = fe_operand(op, i);
    if (!is_constant(f, v) || fe_dtype_of_elem(fe_elem_of(v)) == FE_STRING)
      return false;
    if (!mlirTypeIsANone(mlirValueGetType(v)))
      in += MAX_GROWTH * bytes_of(v);
  }
  for (unsigned i = 0; i < fe_n_results(op); i++) {
    MlirValue r = fe_result(op, i);
    if (!is_plain(r))
      return false;
    out += bytes_of(r);
  }
  return out <= in;
}

static void visit(MlirOperation op, void *user) {
  fe_folding *f = user;
  if (fe_op_is(op, "onnx.constant") || !may_fold(f, op))
    return;
  fe_map_set_ptr(f->ir->arena, &f->constant, op.ptr, op.ptr);
  fe_push(f->ir->arena, &f->ops, op);
}

static bool used_elsewhere(const fe_folding *f, MlirValue v) {
  MlirOpOperand u = mlirValueGetFirstUse(v);
  for (; !mlirOpOperandIsNull(u); u = mlirOpOperandGetNextUse(u))
    if (!fe_map_get_ptr(&f->constant, mlirOpOperandGetOwner(u).ptr))
      return true;
  return false;
}

/// The value's copy; constants are copied when first asked for.
static MlirValue copy_of(fe_folding *f, MlirValue v) {
  MlirValue c = {fe_map_get_ptr(&f->copies, v.ptr)};
  if (!fe_is_null(c))
    return c;
  MlirOperation copy = mlirOperationClone(fe_def(v));
  mlirBlockAppendOwnedOperation(f->ir->block, copy);
  for (unsigned i = 0; i < fe_n_results(copy); i++)
    fe_map_set_ptr(f->ir->arena, &f->copies, fe_result(fe_def(v), i).ptr,
                   (void *)fe_result(copy, i).ptr);
  return (MlirValue){fe_map_get_ptr(&f->copies, v.ptr)};
}

static MlirModule copy_ops(fe_folding *f) {
  fe_ir *ir = f->ir;
  MlirModule m = mlirModuleCreateEmpty(mlirLocationUnknownGet(ir->ctx));
  fe_point saved = fe_point_save(ir);
  MlirOperation func = fe_func_begin(ir, m, "main", false, 0, NULL);
  fe_point_at_end(ir, fe_func_block(func));
  for (size_t i = 0; i < f->ops.n; i++) {
    MlirOperation op = f->ops.at[i], copy = mlirOperationClone(op);
    for (unsigned k = 0; k < fe_n_operands(op); k++)
      mlirOperationSetOperand(copy, k, copy_of(f, fe_operand(op, k)));
    mlirBlockAppendOwnedOperation(ir->block, copy);
    for (unsigned k = 0; k < fe_n_results(op); k++)
      fe_map_set_ptr(ir->arena, &f->copies, fe_result(op, k).ptr,
                     (void *)fe_result(copy, k).ptr);
  }
  MlirValue *results = FE_NEW_N(ir->arena, MlirValue, f->wanted.n + 1);
  for (size_t i = 0; i < f->wanted.n; i++)
    results[i] = copy_of(f, f->wanted.at[i]);
  fe_func_end(ir, func, (unsigned)f->wanted.n, results);
  fe_point_restore(ir, saved);
  return m;
}

static void replace(fe_folding *f, MlirValue old, const void *data) {
  fe_ir *ir = f->ir;
  int64_t dims[FE_MAX_RANK];
  unsigned rank = fe_rank(old);
  for (unsigned i = 0; i < rank; i++)
    dims[i] = fe_static_dim(old, i);
  fe_point saved = fe_point_save(ir);
  fe_point_before(ir, fe_def(old));
  ir->loc = mlirOperationGetLocation(fe_def(old));
  MlirValue c = fe_constant(ir, "folded", fe_dtype_of_elem(fe_elem_of(old)),
                            rank, dims, data);
  fe_point_restore(ir, saved);
  if (!fe_is_null(c))
    fe_replace(old, c);
}

fe_status fe_pass_fold(fe_ir *ir, MlirModule *module,
                       const fe_pass_options *o) {
  fe_folding f = {.ir = ir};
  MlirOperation main_op = fe_func_find(*module, "main");
  if (mlirOperationIsNull(main_op) || !o->evaluate)
    return FE_OK;
  fe_walk(fe_func_block(main_op), visit, &f);
  for (size_t i = 0; i < f.ops.n; i++)
    for (unsigned k = 0; k < fe_n_results(f.ops.at[i]); k++)
      if (used_elsewhere(&f, fe_result(f.ops.at[i], k)))
        fe_push(ir->arena, &f.wanted, fe_result(f.ops.at[i], k));
  if (!f.wanted.n)
    return FE_OK;
  const void **data = FE_NEW_N(ir->arena, const void *, f.wanted.n);
  if (o->evaluate(ir, copy_ops(&f), o, (unsigned)f.wanted.n, data) != FE_OK)
    return FE_FAILED;
  for (size_t i = 0; i < f.wanted.n; i++)
    replace(&f, f.wanted.at[i], data[i]);
  for (size_t i = f.ops.n; i-- > 0;)
    fe_erase(f.ops.at[i]);
  return FE_OK;
}
