//===- canonicalize.c - fold, merge, drop and rewrite onnx ops ------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: forward sweeps over each block until nothing changes. A sweep drops
// dead ops, turns small integer results that are known into constants, merges
// equal ops, and tries the patterns of rewrite.h. Each sweep is linear.
// Needs and leaves: the onnx form.
//
//===----------------------------------------------------------------------===//
#include "pass/pass.h"
#include "pass/rewrite.h"

#include <string.h>

typedef struct fe_sweep {
  fe_ir *ir;
  fe_map patterns; // op name -> list of patterns
  bool changed;
} fe_sweep;

typedef struct fe_candidates {
  fe_vec(const fe_pattern *) list;
} fe_candidates;

static const fe_pattern *const tables[] = {
    fe_patterns_basic,     fe_patterns_const, fe_patterns_conv,
    fe_patterns_attention, fe_patterns_fuse,  fe_patterns_quantized,
    fe_patterns_qdq};

bool fe_pattern_replace(MlirOperation op, MlirValue v) {
  MlirValue old = fe_result(op, 0);
  if (fe_is_null(v) ||
      !mlirTypeEqual(mlirValueGetType(v), mlirValueGetType(old)))
    return false;
  fe_replace(old, v);
  return true;
}

static void index_patterns(fe_sweep *s) {
  for (size_t t = 0; t < FE_COUNT(tables); t++)
    for (const fe_pattern *p = tables[t]; p->root; p++) {
      fe_candidates *c = fe_map_get(&s->patterns, p->root);
      if (!c) {
        c = FE_NEW(s->ir->arena, fe_candidates);
        fe_map_set(s->ir->arena, &s->patterns, p->root, c);
      }
      fe_push(s->ir->arena, &c->list, p);
    }
}

static const char *full_name(fe_ir *ir, MlirOperation op) {
  MlirStringRef n = mlirIdentifierStr(mlirOperationGetName(op));
  return fe_strndup(ir->arena, n.data, n.length);
}

static bool is_pure(MlirOperation op) {
  if (fe_op_in(op, "onnx")) {
    const fe_op_row *row = fe_op_row_of(op);
    return !row || !(row->flags & FE_IMPURE);
  }
  return (fe_op_in(op, "tensor") || fe_op_in(op, "arith") ||
          fe_op_is(op, "builtin.unrealized_conversion_cast") ||
          fe_op_is(op, "krnl.weight") || fe_op_is(op, "krnl.pack") ||
          fe_op_is(op, "krnl.unpack") || fe_op_is(op, "krnl.attention") ||
          fe_op_is(op, "krnl.attention_masked"));
}

static bool is_dead(MlirOperation op) {
  unsigned n = fe_n_results(op);
  if (!n)
    return false;
  for (unsigned i = 0; i < n; i++)
    if (fe_n_uses(fe_result(op, i)))
      return false;
  return is_pure(op) || fe_op_is(op, "scf.if");
}

/// Small integer tensors known at compile time: shapes, axes, sizes.
static bool fold_contents(fe_ir *ir, MlirOperation op) {
  if (!fe_op_in(op, "onnx") || fe_op_is(op, "onnx.constant") ||
      fe_n_results(op) != 1 || !is_pure(op))
    return false;
  MlirValue r = fe_result(op, 0);
  if (!mlirTypeIsARankedTensor(mlirValueGetType(r)))
    return false;
  fe_dtype t = fe_dtype_of_elem(fe_elem_of(r));
  if (t != FE_I64 && t != FE_I32)
    return false;
  int64_t v[FE_MAX_CONTENTS];
  int n = fe_const_ints(ir, r, v, FE_MAX_CONTENTS);
  fe_dims d;
  if (n < 0 || !fe_dims_of(ir, r, &d))
    return false;
  int64_t dims[FE_MAX_RANK], count = 1;
  for (unsigned i = 0; i < d.rank; i++) {
    dims[i] = fe_dim_static(d.d[i]);
    if (dims[i] == FE_DYN)
      return false;
    count *= dims[i];
  }
  if (count != n)
    return false;
  int32_t narrow[FE_MAX_CONTENTS];
  for (int i = 0; i < n; i++)
    narrow[i] = (int32_t)v[i];
  const void *data = t == FE_I64 ? (const void *)v : (const void *)narrow;
  size_t size = (size_t)n * (t == FE_I64 ? 8 : 4);
  MlirValue c = fe_constant(ir, "folded", t, d.rank, dims,
                            fe_memdup(ir->arena, data, size));
  if (fe_is_null(c))
    return false;
  fe_replace(r, c);
  return true;
}

/// Key of an op for merging: name, operands, attributes, result types.
static const char *key_of(fe_ir *ir, MlirOperation op) {
  fe_buf b = {0};
  MlirStringRef n = mlirIdentifierStr(mlirOperationGetName(op));
  fe_buf_add(ir->arena, &b, n.data, n.length);
  for (unsigned i = 0; i < fe_n_operands(op); i++)
    fe_buf_printf(ir->arena, &b, " %p", (void *)fe_operand(op, i).ptr);
  // attributes and types are uniqued by the context: addresses identify them
  for (intptr_t i = 0; i < mlirOperationGetNumAttributes(op); i++) {
    MlirNamedAttribute a = mlirOperationGetAttribute(op, i);
    fe_buf_printf(ir->arena, &b, " %p=%p", (void *)a.name.ptr,
                  (void *)a.attribute.ptr);
  }
  for (unsigned i = 0; i < fe_n_results(op); i++)
    fe_buf_printf(ir->arena, &b, " >%p",
                  (void *)mlirValueGetType(fe_result(op, i)).ptr);
  return b.at;
}

static bool merge(fe_ir *ir, fe_map *seen, MlirOperation op) {
  if (!is_pure(op) || !fe_n_results(op) || mlirOperationGetNumRegions(op))
    return false;
  const char *key = key_of(ir, op);
  MlirOperation first = {fe_map_get(seen, key)};
  if (mlirOperationIsNull(first)) {
    fe_map_set(ir->arena, seen, key, op.ptr);
    return false;
  }
  // a pattern may have changed an operand of the first since
  for (unsigned i = 0; i < fe_n_operands(op); i++)
    if (!fe_same(fe_operand(op, i), fe_operand(first, i)))
      return false;
  for (unsigned i = 0; i < fe_n_results(op); i++)
    fe_replace(fe_result(op, i), fe_result(first, i));
  return true;
}

static bool try_patterns(fe_sweep *s, MlirOperation op) {
  fe_candidates *c = fe_map_get(&s->patterns, full_name(s->ir, op));
  for (size_t i = 0; c && i < c->list.n; i++)
    if (c->list.at[i]->apply(s->ir, op))
      return true;
  return false;
}

/// From the end on: a chain of ops of which only the last has no user goes at
/// once.
static void drop_dead(fe_ir *ir, MlirBlock block) {
  fe_vec(MlirOperation) ops = {0};
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    fe_push(ir->arena, &ops, op);
  while (ops.n) {
    MlirOperation op = ops.at[--ops.n];
    if (is_dead(op)) {
      fe_erase(op);
      continue;
    }
    for (unsigned r = 0; r < (unsigned)mlirOperationGetNumRegions(op); r++) {
      MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
      if (!mlirBlockIsNull(inner))
        drop_dead(ir, inner);
    }
  }
}

static void sweep(fe_sweep *s, MlirBlock block) {
  fe_ir *ir = s->ir;
  fe_map seen = {0};
  MlirOperation next;
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = next) {
    next = mlirOperationGetNextInBlock(op);
    for (unsigned r = 0; r < (unsigned)mlirOperationGetNumRegions(op); r++) {
      MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
      if (!mlirBlockIsNull(inner))
        sweep(s, inner);
    }
    if (is_dead(op)) {
      fe_erase(op);
      s->changed = true;
      continue;
    }
    ir->loc = mlirOperationGetLocation(op);
    fe_point_before(ir, op);
    if (fold_contents(ir, op) || try_patterns(s, op) || merge(ir, &seen, op))
      s->changed = true;
    if (is_dead(op))
      fe_erase(op);
  }
}

/// Bounds the work on a pattern set that would not settle.
enum { MAX_SWEEPS = 16 };

fe_status fe_pass_canonicalize(fe_ir *ir, MlirModule *module,
                               const fe_pass_options *o) {
  (void)o;
  fe_sweep s = {.ir = ir};
  MlirOperation main_op = fe_func_find(*module, "main");
  if (mlirOperationIsNull(main_op))
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "the module has no function @main");
  index_patterns(&s);
  fe_point saved = fe_point_save(ir);
  drop_dead(ir, fe_func_block(main_op));
  for (unsigned i = 0; i < MAX_SWEEPS; i++) {
    s.changed = false;
    sweep(&s, fe_func_block(main_op));
    if (!s.changed)
      break;
  }
  fe_point_restore(ir, saved);
  fe_symbols_store(ir, *module);
  return FE_OK;
}
