//===- generic.c - reading and merging linalg.generic ---------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merging here instead of by linalg-fuse-elementwise-ops: that pass leaves
// producers with several uses alone (x * erf(x) would take two loops) and is
// quadratic in the length of a chain.
//
//===----------------------------------------------------------------------===//
#include "pass/generic.h"

#include <string.h>

unsigned fe_generic_n_iters(MlirOperation op) {
  return (unsigned)mlirArrayAttrGetNumElements(fe_attr(op, "iterator_types"));
}

MlirAffineMap fe_generic_map(MlirOperation op, unsigned operand) {
  MlirAttribute maps = fe_attr(op, "indexing_maps");
  return mlirAffineMapAttrGetValue(
      mlirArrayAttrGetElement(maps, (intptr_t)operand));
}

bool fe_generic_iter_parallel(fe_ir *ir, MlirOperation op, unsigned iter) {
  return mlirAttributeEqual(
      mlirArrayAttrGetElement(fe_attr(op, "iterator_types"), (intptr_t)iter),
      ir->parallel);
}

bool fe_generic_is_parallel(fe_ir *ir, MlirOperation op) {
  unsigned n = fe_generic_n_iters(op);
  for (unsigned i = 0; i < n; i++)
    if (!fe_generic_iter_parallel(ir, op, i))
      return false;
  return true;
}

bool fe_map_is_projection(MlirAffineMap map) {
  uint64_t seen = 0;
  for (intptr_t i = 0; i < mlirAffineMapGetNumResults(map); i++) {
    MlirAffineExpr e = mlirAffineMapGetResult(map, i);
    if (mlirAffineExprIsAConstant(e) && mlirAffineConstantExprGetValue(e) == 0)
      continue; // a dim of size 1 that is broadcast
    if (!mlirAffineExprIsADim(e))
      return false;
    intptr_t d = mlirAffineDimExprGetPosition(e);
    if (seen >> d & 1)
      return false;
    seen |= 1ull << d;
  }
  return true;
}

MlirRegion fe_generic_clone_body(fe_ir *ir, MlirOperation op) {
  (void)ir;
  MlirOperation copy = mlirOperationClone(op);
  MlirRegion region = mlirRegionCreate();
  mlirRegionTakeBody(region, mlirOperationGetRegion(copy, 0));
  mlirOperationDestroy(copy);
  return region;
}

//===-- Merging -------------------------------------------------------------//

typedef struct fe_merging {
  fe_ir *ir;
  const fe_generic_merge *m;
  MlirBlock body;
  fe_vec(MlirValue) in;      // operands of the merged op, kernel values
  fe_vec(MlirAttribute) map; // and their maps
  fe_map local;              // value of a member's body -> value in the body
  fe_map element;            // member result -> its element in the body
} fe_merging;

static bool is_member_result(const fe_generic_merge *m, MlirValue v) {
  MlirOperation def = fe_def(v);
  for (unsigned i = 0; i < m->n && !mlirOperationIsNull(def); i++)
    if (mlirOperationEqual(m->ops[i], def))
      return true;
  return false;
}

/// Kernel value of something from outside; constants are cloned before the op.
static MlirValue outer_value(fe_merging *g, MlirValue v) {
  fe_ir *ir = g->ir;
  MlirValue in = {fe_map_get_ptr(g->m->inside, v.ptr)};
  MlirOperation def = fe_def(v);
  if (fe_is_null(in) && fe_op_is(def, "arith.constant")) {
    MlirType t = mlirValueGetType(v);
    in =
        fe_first(FE_OP(ir, "arith.constant", FE_TYPES(t),
                       FE_ATTRS(fe_named(ir, "value", fe_attr(def, "value")))));
    fe_map_set_ptr(ir->arena, g->m->inside, v.ptr, (void *)in.ptr);
  }
  return in;
}

/// Block argument for (operand, map), shared between members.
static MlirValue input_arg(fe_merging *g, MlirValue v, MlirAttribute map) {
  for (size_t i = 0; i < g->in.n; i++)
    if (fe_same(g->in.at[i], v) && mlirAttributeEqual(g->map.at[i], map))
      return fe_block_arg(g->body, (unsigned)i);
  fe_push(g->ir->arena, &g->in, v);
  fe_push(g->ir->arena, &g->map, map);
  return mlirBlockAddArgument(g->body, fe_elem_of(v), g->ir->loc);
}

static MlirValue local_value(fe_merging *g, MlirValue v) {
  MlirValue in = {fe_map_get_ptr(&g->local, v.ptr)};
  return fe_is_null(in) ? outer_value(g, v) : in;
}

static void set_local(fe_merging *g, MlirValue from, MlirValue to) {
  fe_map_set_ptr(g->ir->arena, &g->local, from.ptr, (void *)to.ptr);
}

/// All inputs first: block arguments of outputs must come after them.
static void collect_inputs(fe_merging *g, MlirOperation op) {
  MlirBlock from = fe_region_block(op, 0);
  unsigned n_in = fe_n_operands(op) - 1;
  for (unsigned i = 0; i < n_in; i++) {
    MlirValue v = fe_operand(op, i);
    if (is_member_result(g->m, v))
      continue;
    MlirValue inner = outer_value(g, v);
    if (fe_is_null(inner)) {
      g->ir->failed = true;
      g->ir->failure = "linalg.generic (merge)";
      return;
    }
    MlirAttribute map =
        mlirArrayAttrGetElement(fe_attr(op, "indexing_maps"), (intptr_t)i);
    set_local(g, fe_block_arg(from, i), input_arg(g, inner, map));
  }
}

static void copy_body_op(fe_merging *g, MlirOperation op) {
  fe_ir *ir = g->ir;
  unsigned n = fe_n_operands(op), n_res = fe_n_results(op);
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, n + 1);
  for (unsigned i = 0; i < n; i++)
    operands[i] = local_value(g, fe_operand(op, i));
  MlirOperation made = fe_op_like(ir, op, operands, NULL);
  for (unsigned i = 0; i < n_res; i++)
    set_local(g, fe_result(op, i), fe_result(made, i));
}

/// Brings constants and captured values of a body into scope, outside.
static void resolve_outer(fe_merging *g, MlirOperation op) {
  MlirBlock from = fe_region_block(op, 0);
  for (MlirOperation b = mlirBlockGetFirstOperation(from);
       !mlirOperationIsNull(b); b = mlirOperationGetNextInBlock(b))
    for (unsigned i = 0; i < fe_n_operands(b); i++) {
      MlirOperation def = fe_def(fe_operand(b, i));
      if (fe_op_is(def, "arith.constant") &&
          !mlirBlockEqual(mlirOperationGetBlock(def), from))
        outer_value(g, fe_operand(b, i));
    }
}

static MlirValue destination(fe_merging *g, MlirOperation op, MlirValue dest) {
  fe_ir *ir = g->ir;
  MlirOperation fill = fe_def(fe_operand(op, fe_n_operands(op) - 1));
  if (!fe_op_is(fill, "linalg.fill"))
    return dest;
  MlirValue init = outer_value(g, fe_operand(fill, 0));
  MlirRegion region = fe_generic_clone_body(ir, fill);
  MlirType type = mlirValueGetType(dest);
  return fe_first(
      FE_OP(ir, "linalg.fill", FE_VALUES(init, dest), FE_TYPES(type),
            FE_ATTRS(fe_named(ir, "operandSegmentSizes",
                              fe_attr(fill, "operandSegmentSizes"))),
            .n_regions = 1, .regions = &region));
}

MlirOperation fe_generic_merge_ops(fe_ir *ir, const fe_generic_merge *m) {
  fe_merging g = {.ir = ir, .m = m, .body = mlirBlockCreate(0, NULL, NULL)};
  MlirOperation last = m->ops[m->n - 1];
  for (unsigned i = 0; i < m->n; i++) {
    collect_inputs(&g, m->ops[i]);
    resolve_outer(&g, m->ops[i]);
  }
  unsigned n_in = (unsigned)g.in.n;
  // outputs
  for (unsigned k = 0; k < m->n_outs; k++) {
    MlirOperation op = fe_def(m->outs[k]);
    MlirValue dest = destination(&g, op, m->dest[k]);
    fe_push(ir->arena, &g.in, dest);
    fe_push(ir->arena, &g.map,
            mlirAffineMapAttrGet(fe_generic_map(op, fe_n_operands(op) - 1)));
    MlirValue arg = mlirBlockAddArgument(g.body, fe_elem_of(dest), ir->loc);
    set_local(&g, fe_block_arg(fe_region_block(op, 0), fe_n_operands(op) - 1),
              arg);
  }
  fe_point outer = fe_point_save(ir);
  fe_point_at_end(ir, g.body);
  MlirValue *yields = FE_NEW_N(ir->arena, MlirValue, m->n_outs + 1);
  for (unsigned i = 0; i < m->n; i++) {
    MlirOperation op = m->ops[i];
    MlirBlock from = fe_region_block(op, 0);
    for (unsigned k = 0; k + 1 < fe_n_operands(op); k++) {
      MlirValue v = fe_operand(op, k);
      if (is_member_result(m, v))
        set_local(&g, fe_block_arg(from, k),
                  (MlirValue){fe_map_get_ptr(&g.element, v.ptr)});
    }
    for (MlirOperation b = mlirBlockGetFirstOperation(from);
         !mlirOperationIsNull(b); b = mlirOperationGetNextInBlock(b)) {
      if (!fe_op_is(b, "linalg.yield")) {
        copy_body_op(&g, b);
        continue;
      }
      MlirValue y = local_value(&g, fe_operand(b, 0));
      MlirValue r = fe_result(op, 0);
      fe_map_set_ptr(ir->arena, &g.element, r.ptr, (void *)y.ptr);
      for (unsigned k = 0; k < m->n_outs; k++)
        if (fe_same(m->outs[k], r))
          yields[k] = y;
    }
  }
  FE_OP(ir, "linalg.yield", .n_operands = m->n_outs, .operands = yields);
  fe_point_restore(ir, outer);
  MlirType *types = FE_NEW_N(ir->arena, MlirType, m->n_outs + 1);
  for (unsigned k = 0; k < m->n_outs; k++)
    types[k] = mlirValueGetType(m->dest[k]);
  int32_t segments[2] = {(int32_t)n_in, (int32_t)m->n_outs};
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, g.body);
  return FE_OP(
      ir, "linalg.generic", .n_operands = (unsigned)g.in.n, .operands = g.in.at,
      .n_results = m->n_outs, .results = types,
      FE_ATTRS(fe_named(ir, "indexing_maps",
                        mlirArrayAttrGet(ir->ctx, (intptr_t)g.map.n, g.map.at)),
               fe_named(ir, "iterator_types", fe_attr(last, "iterator_types")),
               fe_named(ir, "operandSegmentSizes",
                        mlirDenseI32ArrayGet(ir->ctx, 2, segments))),
      .n_regions = 1, .regions = &region);
}
