//===- gen.c - the frame of generated kernels -----------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the memref-form function beside the tensor-form one and finally puts it
// in its place. Also the table of generators.
//
//===----------------------------------------------------------------------===//
#include "kernel/conv.h"

#include <string.h>

const fe_generator fe_generators[] = {
    {"attention", fe_generate_attention},
    {"attention_cached", fe_generate_attention},
    {"attention_masked", fe_generate_attention},
    {"contract", fe_generate_contract},
    {"conv", fe_generate_conv},
    {"conv_bytes", fe_generate_conv},
    {"conv_tiles", fe_generate_conv_tiles},
    {"depthwise", fe_generate_depthwise},
    {"depthwise_bytes", fe_generate_depthwise_bytes},
    {"integer_contract", fe_generate_contract},
    {"interleave", fe_generate_interleave},
    {"pack", fe_generate_pack},
    {"pack_bytes", fe_generate_pack_bytes},
    {"pool", fe_generate_pool},
    {"unpack", fe_generate_unpack},
    {"widen", fe_generate_widen},
    {"winograd", fe_generate_winograd},
    {"winograd_input", fe_generate_winograd_input},
    {"winograd_weights", fe_generate_winograd_weights},
    {"generic", fe_generate_generic},
    {"row", fe_generate_row},
    {"transpose", fe_generate_transpose},
    {NULL, NULL},
};

const fe_generator *fe_generator_find(const char *root) {
  for (const fe_generator *g = fe_generators; root && g->root; ++g)
    if (!strcmp(g->root, root))
      return g;
  return NULL;
}

/// The same elements as a memref of one dim, of static size where known.
static MlirValue flatten(fe_ir *ir, MlirValue memref) {
  int64_t size = 1;
  MlirValue product = fe_index(ir, 1);
  unsigned rank = fe_rank(memref);
  for (unsigned i = 0; i < rank; ++i) {
    int64_t d = fe_static_dim(memref, i);
    size = d == FE_DYN || size == FE_DYN ? FE_DYN : size * d;
    product = fe_mul(ir, product, fe_dim(ir, memref, i));
  }
  return fe_view(ir, memref, fe_index(ir, 0), 1, &size, &product);
}

static MlirOperation find_root(MlirBlock body) {
  MlirOperation op = mlirBlockGetFirstOperation(body);
  while (!mlirOperationIsNull(op) && !fe_op_in(op, "krnl"))
    op = mlirOperationGetNextInBlock(op);
  return op;
}

fe_status fe_gen_begin(fe_gen *g, fe_ir *ir, const fe_target *target,
                       MlirModule module, MlirOperation func) {
  const char *name = fe_attr_str(ir->arena, func, "sym_name", "kernel");
  *g = (fe_gen){.ir = ir, .target = target, .module = module, .tensors = func};
  MlirBlock old = fe_func_block(func);
  g->root = find_root(old);
  if (mlirOperationIsNull(g->root) || fe_n_results(g->root) != 1)
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "kernel '%s' has no root with one result", name);
  ir->loc = mlirOperationGetLocation(g->root);
  unsigned n = (unsigned)mlirBlockGetNumArguments(old);
  MlirType *types = FE_NEW_N(ir->arena, MlirType, n + 2);
  types[0] = types[1] = ir->index;
  for (unsigned i = 0; i < n; ++i) {
    MlirValue v = fe_block_arg(old, i);
    bool tensor = mlirTypeIsATensor(mlirValueGetType(v));
    if (tensor && g->n_args < i) // tensors come first
      return fe_error(ir->diags, (fe_where){0}, NULL,
                      "kernel '%s' has a tensor behind a scalar", name);
    g->n_args += tensor;
    types[2 + i] = tensor ? fe_memref_of(ir, v) : mlirValueGetType(v);
  }
  if (!g->n_args)
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "kernel '%s' has no destination", name);
  g->n_scalars = n - g->n_args;
  g->outer = fe_point_save(ir);
  g->func = fe_func_begin(ir, module, name, true, n + 2, types);
  MlirBlock body = fe_func_block(g->func);
  fe_point_at_end(ir, body);
  g->begin = fe_block_arg(body, 0);
  g->end = fe_block_arg(body, 1);
  g->arg = FE_NEW_N(ir->arena, MlirValue, g->n_args);
  g->flat = FE_NEW_N(ir->arena, MlirValue, g->n_args);
  g->scalar = FE_NEW_N(ir->arena, MlirValue, g->n_scalars + 1);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue v = fe_block_arg(body, 2 + i);
    if (i >= g->n_args) {
      g->scalar[i - g->n_args] = v;
      continue;
    }
    g->arg[i] = v;
    g->flat[i] = flatten(ir, v);
  }
  g->dest = g->arg[g->n_args - 1];
  g->rank = fe_rank(g->dest);
  return FE_OK;
}

fe_status fe_gen_operand(fe_gen *g, unsigned i, unsigned *arg) {
  MlirBlock old = fe_func_block(g->tensors);
  MlirValue v = fe_operand(g->root, i);
  for (unsigned a = 0; a < g->n_args; ++a)
    if (fe_same(fe_block_arg(old, a), v)) {
      *arg = a;
      return FE_OK;
    }
  return fe_error(g->ir->diags, (fe_where){0}, NULL,
                  "operand %u of krnl.%s is not an argument of its kernel", i,
                  fe_op_name(g->ir->arena, g->root));
}

MlirAffineExpr fe_gen_dim(const fe_gen *g, unsigned a, unsigned d) {
  int64_t size = fe_static_dim(g->arg[a], d);
  if (size != FE_DYN)
    return fe_dim_const(g->ir, size);
  for (unsigned i = 0; i < a; ++i)
    d += fe_rank(g->arg[i]);
  return fe_dim_symbol(g->ir, d);
}

void fe_gen_explain(fe_gen *g, const char *algorithm, const char *plan) {
  fe_set_attr(g->ir, g->func, fe_at_str(g->ir, "krnl.algorithm", algorithm));
  fe_set_attr(g->ir, g->func, fe_at_str(g->ir, "krnl.plan", plan));
}

void fe_gen_end(fe_gen *g, MlirAffineExpr items, MlirAffineExpr cost) {
  fe_ir *ir = g->ir;
  fe_func_end(ir, g->func, 0, NULL);
  fe_point_restore(ir, g->outer);
  unsigned n = g->n_scalars;
  for (unsigned i = 0; i < g->n_args; ++i)
    n += fe_rank(g->arg[i]);
  MlirAffineExpr one = fe_dim_const(ir, 1);
  MlirAffineExpr results[2] = {mlirAffineExprIsNull(items) ? one : items,
                               mlirAffineExprIsNull(cost) ? one : cost};
  MlirAffineMap extent = mlirAffineMapGet(ir->ctx, 0, n, 2, results);
  fe_set_attr(ir, g->func, fe_at_unit(ir, "krnl.kernel"));
  fe_set_attr(ir, g->func, fe_at_i64(ir, "krnl.outs", 1));
  fe_set_attr(ir, g->func,
              fe_named(ir, "krnl.extent", mlirAffineMapAttrGet(extent)));
  fe_erase(g->tensors);
}

fe_status fe_gen_abandon(fe_gen *g) {
  fe_func_end(g->ir, g->func, 0, NULL);
  fe_point_restore(g->ir, g->outer);
  fe_erase(g->func);
  return FE_FAILED;
}
