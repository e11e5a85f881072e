//===- kernel.c - writing imperative kernels ------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel is a private function over memrefs in the form that the `lower`
// phase leaves (docs/architecture.md), plus the kernel.call in main.
//
//===----------------------------------------------------------------------===//
#include "op/lowering.h"

#include <string.h>

void fe_kernel_begin(fe_kernel *k, fe_lower *l, const char *name, unsigned n_in,
                     const MlirValue *in, unsigned n_out, const MlirValue *out,
                     unsigned n_scalar, const MlirValue *scalar) {
  fe_ir *ir = l->ir;
  fe_lowering *s = l->state;
  *k = (fe_kernel){.l = l, .n_in = n_in, .n_out = n_out, .n_scalar = n_scalar};
  k->outer = fe_point_save(ir);
  unsigned n = 2 + n_in + n_out + n_scalar;
  MlirType *types = FE_NEW_N(ir->arena, MlirType, n);
  types[0] = types[1] = ir->index;
  for (unsigned i = 0; i < n_in + n_out; i++) {
    MlirValue t = i < n_in ? in[i] : out[i - n_in];
    if (fe_is_null(t)) {
      ir->failed = true;
      ir->failure = name;
      t = n_out ? out[0] : in[0];
    }
    types[2 + i] = fe_memref_of(ir, t);
  }
  for (unsigned i = 0; i < n_scalar; i++)
    types[2 + n_in + n_out + i] = ir->index;
  k->call_in = fe_memdup(ir->arena, in, n_in * sizeof *in);
  k->call_out = fe_memdup(ir->arena, out, n_out * sizeof *out);
  k->call_scalar = fe_memdup(ir->arena, scalar, n_scalar * sizeof *scalar);
  const char *symbol = fe_printf(ir->arena, "%s_%u", name, s->n_kernels++);
  k->func = fe_func_begin(ir, l->module, symbol, true, n, types);
  fe_set_attr(ir, k->func, fe_at_unit(ir, "krnl.kernel"));
  fe_set_attr(ir, k->func, fe_at_i64(ir, "krnl.outs", n_out));
  MlirBlock body = fe_func_block(k->func);
  fe_point_at_end(ir, body);
  k->begin = fe_block_arg(body, 0);
  k->end = fe_block_arg(body, 1);
  k->in = FE_NEW_N(ir->arena, MlirValue, n_in + 1);
  k->out = FE_NEW_N(ir->arena, MlirValue, n_out + 1);
  k->scalar = FE_NEW_N(ir->arena, MlirValue, n_scalar + 1);
  for (unsigned i = 0; i < n_in; i++)
    k->in[i] = fe_block_arg(body, 2 + i);
  for (unsigned i = 0; i < n_out; i++)
    k->out[i] = fe_block_arg(body, 2 + n_in + i);
  for (unsigned i = 0; i < n_scalar; i++)
    k->scalar[i] = fe_block_arg(body, 2 + n_in + n_out + i);
}

MlirAffineExpr fe_kernel_dim(const fe_kernel *k, unsigned a, unsigned d) {
  fe_ir *ir = k->l->ir;
  unsigned position = 0;
  for (unsigned i = 0; i < k->n_in + k->n_out; i++) {
    MlirValue m = i < k->n_in ? k->in[i] : k->out[i - k->n_in];
    if (i == a) {
      int64_t fixed = fe_static_dim(m, d);
      return fixed != FE_DYN ? fe_dim_const(ir, fixed)
                             : mlirAffineSymbolExprGet(ir->ctx, position + d);
    }
    position += fe_rank(m);
  }
  return fe_dim_const(ir, 1);
}

/// Dims of all memref arguments.
static unsigned count_dims(const fe_kernel *k) {
  unsigned n = 0;
  for (unsigned i = 0; i < k->n_in + k->n_out; i++)
    n += fe_rank(i < k->n_in ? k->in[i] : k->out[i - k->n_in]);
  return n;
}

MlirAffineExpr fe_kernel_scalar(const fe_kernel *k, unsigned i) {
  return mlirAffineSymbolExprGet(k->l->ir->ctx, count_dims(k) + i);
}

void fe_kernel_end(fe_kernel *k, MlirAffineExpr items, MlirAffineExpr cost) {
  fe_lower *l = k->l;
  fe_ir *ir = l->ir;
  fe_func_end(ir, k->func, 0, NULL);
  fe_point_restore(ir, k->outer);
  MlirAffineExpr one = fe_dim_const(ir, 1);
  MlirAffineExpr results[2] = {mlirAffineExprIsNull(items) ? one : items,
                               mlirAffineExprIsNull(cost) ? one : cost};
  MlirAffineMap map =
      mlirAffineMapGet(ir->ctx, 0, count_dims(k) + k->n_scalar, 2, results);
  fe_set_attr(ir, k->func,
              fe_named(ir, "krnl.extent", mlirAffineMapAttrGet(map)));

  unsigned n = k->n_in + k->n_out + k->n_scalar;
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, n + 1);
  MlirType *types = FE_NEW_N(ir->arena, MlirType, k->n_out + 1);
  memcpy(operands, k->call_in, k->n_in * sizeof *operands);
  memcpy(operands + k->n_in, k->call_out, k->n_out * sizeof *operands);
  memcpy(operands + k->n_in + k->n_out, k->call_scalar,
         k->n_scalar * sizeof *operands);
  for (unsigned i = 0; i < k->n_out; i++)
    if (!fe_is_null(k->call_out[i]))
      types[i] = mlirValueGetType(k->call_out[i]);
  MlirAttribute callee = mlirFlatSymbolRefAttrGet(
      ir->ctx, mlirStringAttrGetValue(fe_attr(k->func, "sym_name")));
  MlirOperation call = FE_OP(
      ir, "kernel.call", .n_operands = n, .operands = operands,
      .n_results = k->n_out, .results = types,
      FE_ATTRS(fe_named(ir, "callee", callee), fe_at_i64(ir, "ins", k->n_in),
               fe_at_i64(ir, "outs", k->n_out)));
  k->result = FE_NEW_N(ir->arena, MlirValue, k->n_out + 1);
  fe_lowering *s = l->state;
  for (unsigned i = 0; i < k->n_out; i++) {
    k->result[i] = fe_result(call, i);
    MlirValue *sizes = fe_map_get_ptr(&s->sizes, k->call_out[i].ptr);
    if (sizes)
      fe_note_sizes(s, k->result[i], fe_rank(k->call_out[i]), sizes);
  }
}

MlirValue fe_get(fe_kernel *k, MlirValue memref, fe_dtype t, unsigned n,
                 const MlirValue *idx) {
  return fe_to_compute(k->l->ir, t, fe_load(k->l->ir, memref, n, idx));
}

void fe_put(fe_kernel *k, MlirValue v, MlirValue memref, fe_dtype t, unsigned n,
            const MlirValue *idx) {
  fe_store(k->l->ir, fe_to_storage(k->l->ir, t, v), memref, n, idx);
}
