//===- generic.c - writing linalg.generic ---------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body is built in a detached block while the callback runs; the op is
// made at the end, when result type and reduction are known. Half types are
// accumulated in f32: the reduction's tensor has the compute type, and a
// second generic stores it.
//
//===----------------------------------------------------------------------===//
#include "op/lowering.h"

#include <string.h>

struct fe_generic {
  fe_lower *l;
  unsigned n_iters, n_in, n_args;
  MlirValue dims[FE_MAX_RANK * 2];
  MlirValue *in; // operands that have a map
  fe_dtype *types;
  MlirAffineMap *maps;
  int *arg_of; // input -> block argument, -1
  MlirBlock body;
  fe_point outer;
  // reduction
  bool reduces, keep;
  uint32_t reduced;
  fe_dtype acc_type;
  MlirValue init;
};

static MlirLocation loc_of(fe_ir *ir) { return ir->loc; }

fe_generic *fe_generic_begin(fe_lower *l, unsigned n_iters,
                             const MlirValue *dims, unsigned n_in,
                             const MlirValue *in, const fe_dtype *types,
                             const MlirAffineMap *maps) {
  fe_ir *ir = l->ir;
  fe_generic *g = FE_NEW(ir->arena, fe_generic);
  g->l = l;
  g->n_iters = n_iters;
  g->n_in = n_in;
  if (n_iters)
    memcpy(g->dims, dims, n_iters * sizeof(MlirValue));
  g->in = FE_NEW_N(ir->arena, MlirValue, n_in + 1);
  g->types = FE_NEW_N(ir->arena, fe_dtype, n_in + 1);
  g->maps = FE_NEW_N(ir->arena, MlirAffineMap, n_in + 1);
  g->arg_of = FE_NEW_N(ir->arena, int, n_in + 1);
  g->body = mlirBlockCreate(0, NULL, NULL);
  for (unsigned i = 0; i < n_in; i++) {
    g->arg_of[i] = -1;
    g->types[i] = types[i];
    if (!maps || mlirAffineMapIsNull(maps[i]))
      continue;
    if (fe_is_null(in[i])) {
      ir->failed = true;
      ir->failure = "linalg.generic";
      continue;
    }
    g->arg_of[i] = (int)g->n_args;
    g->in[g->n_args] = in[i];
    g->maps[g->n_args] = maps[i];
    mlirBlockAddArgument(g->body, fe_elem_of(in[i]), loc_of(ir));
    g->n_args++;
  }
  g->outer = fe_point_save(ir);
  fe_point_at_end(ir, g->body);
  return g;
}

MlirValue fe_arg(fe_generic *g, unsigned i) {
  if (i >= g->n_in || g->arg_of[i] < 0) {
    g->l->ir->failed = true;
    g->l->ir->failure = "linalg.generic argument";
    return (MlirValue){0};
  }
  return fe_to_compute(g->l->ir, g->types[i],
                       fe_block_arg(g->body, (unsigned)g->arg_of[i]));
}

MlirValue fe_iter(fe_generic *g, unsigned i) {
  fe_ir *ir = g->l->ir;
  return fe_first(FE_OP(ir, "linalg.index", FE_TYPES(ir->index),
                        FE_ATTRS(fe_at_i64(ir, "dim", i))));
}

MlirValue fe_at(fe_generic *g, MlirValue tensor, fe_dtype t, unsigned n,
                const MlirValue *idx) {
  fe_ir *ir = g->l->ir;
  if (fe_is_null(tensor))
    return (MlirValue){0};
  MlirType elem = fe_elem_of(tensor);
  MlirValue operands[1 + FE_MAX_RANK] = {tensor};
  memcpy(operands + 1, idx, n * sizeof(MlirValue));
  MlirValue v =
      fe_first(FE_OP(ir, "tensor.extract", .n_operands = 1 + n,
                     .operands = operands, .n_results = 1, .results = &elem));
  return fe_to_compute(ir, t, v);
}

static MlirAttribute iterator_types(fe_ir *ir, unsigned n, uint32_t reduced) {
  MlirAttribute kinds[FE_MAX_RANK * 2];
  for (unsigned i = 0; i < n; i++)
    kinds[i] = reduced >> i & 1 ? ir->reduction : ir->parallel;
  return mlirArrayAttrGet(ir->ctx, n, kinds);
}

/// Map from the space to the iterators that are not reduced.
static MlirAffineMap output_map(fe_ir *ir, unsigned n, uint32_t reduced) {
  MlirAffineExpr e[FE_MAX_RANK * 2];
  unsigned k = 0;
  for (unsigned i = 0; i < n; i++)
    if (!(reduced >> i & 1))
      e[k++] = mlirAffineDimExprGet(ir->ctx, i);
  return mlirAffineMapGet(ir->ctx, n, 0, k, e);
}

static MlirValue make_generic(fe_generic *g, MlirValue dest,
                              MlirValue yielded) {
  fe_ir *ir = g->l->ir;
  FE_OP(ir, "linalg.yield", FE_VALUES(yielded));
  fe_point_restore(ir, g->outer);
  if (fe_is_null(yielded) || fe_is_null(dest)) {
    ir->failed = true;
    if (!ir->failure)
      ir->failure = "linalg.generic";
    mlirBlockDestroy(g->body);
    return (MlirValue){0};
  }
  MlirAttribute *maps = FE_NEW_N(ir->arena, MlirAttribute, g->n_args + 1);
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, g->n_args + 1);
  for (unsigned i = 0; i < g->n_args; i++) {
    maps[i] = mlirAffineMapAttrGet(g->maps[i]);
    operands[i] = g->in[i];
  }
  uint32_t reduced = g->reduces ? g->reduced : 0;
  maps[g->n_args] = mlirAffineMapAttrGet(output_map(ir, g->n_iters, reduced));
  operands[g->n_args] = dest;
  int32_t segments[2] = {(int32_t)g->n_args, 1};
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, g->body);
  MlirType type = mlirValueGetType(dest);
  return fe_first(
      FE_OP(ir, "linalg.generic", .n_operands = g->n_args + 1,
            .operands = operands, .n_results = 1, .results = &type,
            FE_ATTRS(fe_named(ir, "indexing_maps",
                              mlirArrayAttrGet(ir->ctx, g->n_args + 1, maps)),
                     fe_named(ir, "iterator_types",
                              iterator_types(ir, g->n_iters, reduced)),
                     fe_named(ir, "operandSegmentSizes",
                              mlirDenseI32ArrayGet(ir->ctx, 2, segments))),
            .n_regions = 1, .regions = &region));
}

/// Accumulators are kept in compute type, save bool, which memory has as i8.
static MlirType acc_storage(fe_ir *ir, fe_dtype t) {
  return t == FE_BOOL ? ir->i8 : fe_compute_type(ir, t);
}

/// The accumulator is the last block argument.
void fe_generic_reduce(fe_generic *g, uint32_t reduced, bool keep, fe_dtype t,
                       MlirValue init) {
  fe_ir *ir = g->l->ir;
  g->reduces = true;
  g->reduced = reduced;
  g->keep = keep;
  g->acc_type = t;
  g->init = init;
  mlirBlockAddArgument(g->body, acc_storage(ir, t), loc_of(ir));
  // The initial value was made in the body; it belongs before the op.
  MlirOperation def = fe_def(init);
  if (!mlirOperationIsNull(def) &&
      mlirBlockEqual(mlirOperationGetBlock(def), g->body)) {
    mlirOperationRemoveFromParent(def);
    if (mlirOperationIsNull(g->outer.before))
      mlirBlockAppendOwnedOperation(g->outer.block, def);
    else
      mlirBlockInsertOwnedOperationBefore(g->outer.block, g->outer.before, def);
  }
}

MlirValue fe_acc(fe_generic *g) {
  MlirValue v = fe_block_arg(g->body, g->n_args);
  return g->acc_type == FE_BOOL ? fe_to_compute(g->l->ir, FE_BOOL, v) : v;
}

/// Lets LLVM vectorize the reduction: only the combining op may reassociate.
static void allow_reassociation(fe_ir *ir, MlirValue v) {
  MlirOperation def = fe_def(v);
  if (fe_op_is(def, "arith.addf") || fe_op_is(def, "arith.mulf"))
    fe_set_attr(
        ir, def,
        fe_named(ir, "fastmath",
                 fe_attr_parse(ir, "#arith.fastmath<reassoc,contract>")));
}

static MlirValue convert_tensor(fe_lower *l, MlirValue v, unsigned rank,
                                const MlirValue *dims, fe_dtype t) {
  fe_ir *ir = l->ir;
  MlirAffineMap id = mlirAffineMapMultiDimIdentityGet(ir->ctx, rank);
  fe_dtype as = fe_dtype_of_elem(fe_elem_of(v));
  fe_generic *g = fe_generic_begin(l, rank, dims, 1, &v, &as, &id);
  return fe_generic_end(g, t, fe_arg(g, 0));
}

MlirValue fe_generic_end(fe_generic *g, fe_dtype t, MlirValue value) {
  fe_lower *l = g->l;
  fe_ir *ir = l->ir;
  if (!g->reduces) {
    MlirValue stored = fe_to_storage(ir, t, value);
    fe_point body = fe_point_save(ir);
    fe_point_restore(ir, g->outer);
    MlirValue dest =
        fe_empty_tensor(l->state, fe_storage_type(ir, t), g->n_iters, g->dims);
    g->outer = fe_point_save(ir);
    fe_point_restore(ir, body);
    mlirBlockAddArgument(g->body, fe_storage_type(ir, t), loc_of(ir));
    MlirValue r = make_generic(g, dest, stored);
    fe_note_sizes(l->state, r, g->n_iters, g->dims);
    return r;
  }
  allow_reassociation(ir, value);
  if (g->acc_type == FE_BOOL)
    value = fe_to_storage(ir, FE_BOOL, value);
  fe_point body = fe_point_save(ir);
  fe_point_restore(ir, g->outer);
  MlirValue dims[FE_MAX_RANK * 2], kept[FE_MAX_RANK * 2];
  unsigned n = 0, n_kept = 0;
  MlirValue one = fe_index(ir, 1);
  for (unsigned i = 0; i < g->n_iters; i++) {
    bool gone = g->reduced >> i & 1;
    kept[n_kept++] = gone ? one : g->dims[i];
    if (!gone)
      dims[n++] = g->dims[i];
  }
  MlirType acc = acc_storage(ir, g->acc_type);
  if (g->acc_type == FE_BOOL)
    g->init = fe_to_storage(ir, FE_BOOL, g->init);
  MlirValue empty = fe_empty_tensor(l->state, acc, n, dims);
  MlirType type = mlirValueGetType(empty);
  // linalg.fill, written as the generic it stands for
  MlirRegion region = mlirRegionCreate();
  MlirLocation loc = loc_of(ir);
  MlirType block_types[2] = {acc, acc};
  MlirBlock fill = mlirBlockCreate(2, block_types, (MlirLocation[]){loc, loc});
  mlirRegionAppendOwnedBlock(region, fill);
  fe_point at = fe_point_save(ir);
  fe_point_at_end(ir, fill);
  FE_OP(ir, "linalg.yield", FE_VALUES(fe_block_arg(fill, 0)));
  fe_point_restore(ir, at);
  int32_t segments[2] = {1, 1};
  MlirValue dest = fe_first(
      FE_OP(ir, "linalg.fill", FE_VALUES(g->init, empty), .n_results = 1,
            .results = &type,
            FE_ATTRS(fe_named(ir, "operandSegmentSizes",
                              mlirDenseI32ArrayGet(ir->ctx, 2, segments))),
            .n_regions = 1, .regions = &region));
  g->outer = fe_point_save(ir);
  fe_point_restore(ir, body);
  MlirValue r = make_generic(g, dest, value);
  fe_note_sizes(l->state, r, n, dims);
  if (!mlirTypeEqual(acc, fe_storage_type(ir, t)))
    r = convert_tensor(l, r, n, dims, t);
  if (g->keep && n_kept != n)
    r = fe_reshape(l, r, fe_storage_type(ir, t), n_kept, kept);
  return r;
}
