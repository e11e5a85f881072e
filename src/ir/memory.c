//===- memory.c - loads, stores, views ---------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Access to memrefs, by element and by vector.
//
//===----------------------------------------------------------------------===//
#include "ir/ir.h"

#include "ir/shape.h"

static const MlirValue null_value = {0};

static bool is_memref(fe_ir *ir, const char *what, MlirValue v) {
  bool ok = !mlirValueIsNull(v) && mlirTypeIsAMemRef(mlirValueGetType(v));
  if (!ok)
    fe_ir_fail(ir, "%s: not a memref", what);
  return ok;
}

static bool indices_ok(fe_ir *ir, const char *what, MlirValue memref,
                       unsigned n) {
  if (!is_memref(ir, what, memref))
    return false;
  if (n == fe_rank(memref) && n <= FE_MAX_RANK)
    return true;
  fe_ir_fail(ir, "%s: %u subscripts for rank %u", what, n, fe_rank(memref));
  return false;
}

/// Operands of a memory op: first, memref, subscripts, then two more.
typedef struct access {
  unsigned n;
  MlirValue at[FE_MAX_RANK + 4];
} access;

static void put(access *a, MlirValue v) { a->at[a->n++] = v; }

static void put_place(access *a, MlirValue memref, unsigned n,
                      const MlirValue *idx) {
  put(a, memref);
  for (unsigned i = 0; i < n; i++)
    put(a, idx[i]);
}

MlirValue fe_load(fe_ir *ir, MlirValue memref, unsigned n,
                  const MlirValue *idx) {
  if (!indices_ok(ir, "memref.load", memref, n))
    return null_value;
  access a = {0};
  put_place(&a, memref, n, idx);
  return fe_first(FE_OP(ir, "memref.load", .n_operands = a.n, .operands = a.at,
                        FE_TYPES(fe_elem_of(memref))));
}

void fe_store(fe_ir *ir, MlirValue v, MlirValue memref, unsigned n,
              const MlirValue *idx) {
  if (!indices_ok(ir, "memref.store", memref, n))
    return;
  access a = {0};
  put(&a, v);
  put_place(&a, memref, n, idx);
  FE_OP(ir, "memref.store", .n_operands = a.n, .operands = a.at);
}

//===-- Vectors -------------------------------------------------------------//

MlirValue fe_vload(fe_ir *ir, int64_t width, MlirValue memref, unsigned n,
                   const MlirValue *idx) {
  if (!indices_ok(ir, "vector.load", memref, n))
    return null_value;
  access a = {0};
  put_place(&a, memref, n, idx);
  MlirType t = fe_vector_type(ir, width, fe_elem_of(memref));
  return fe_first(FE_OP(ir, "vector.load", .n_operands = a.n, .operands = a.at,
                        FE_TYPES(t)));
}

void fe_vstore(fe_ir *ir, MlirValue v, MlirValue memref, unsigned n,
               const MlirValue *idx) {
  if (!indices_ok(ir, "vector.store", memref, n))
    return;
  access a = {0};
  put(&a, v);
  put_place(&a, memref, n, idx);
  FE_OP(ir, "vector.store", .n_operands = a.n, .operands = a.at);
}

static MlirValue lane_mask(fe_ir *ir, int64_t width, MlirValue active) {
  // The mask is computed in 32 bits; the rest of a dim may need more.
  active = fe_min(ir, active, fe_index(ir, width));
  return fe_first(FE_OP(ir, "vector.create_mask", FE_VALUES(active),
                        FE_TYPES(fe_vector_type(ir, width, ir->i1))));
}

MlirValue fe_vload_masked_or(fe_ir *ir, int64_t width, MlirValue active,
                             MlirValue memref, unsigned n, const MlirValue *idx,
                             double otherwise) {
  if (!indices_ok(ir, "vector.maskedload", memref, n))
    return null_value;
  MlirType t = fe_vector_type(ir, width, fe_elem_of(memref));
  if (mlirTypeIsNull(t))
    return null_value;
  access a = {0};
  put_place(&a, memref, n, idx);
  put(&a, lane_mask(ir, width, active));
  put(&a, fe_number(ir, t, otherwise));
  return fe_first(FE_OP(ir, "vector.maskedload", .n_operands = a.n,
                        .operands = a.at, FE_TYPES(t)));
}

MlirValue fe_vload_masked(fe_ir *ir, int64_t width, MlirValue active,
                          MlirValue memref, unsigned n, const MlirValue *idx) {
  return fe_vload_masked_or(ir, width, active, memref, n, idx, 0);
}

void fe_vstore_masked(fe_ir *ir, MlirValue v, MlirValue active,
                      MlirValue memref, unsigned n, const MlirValue *idx) {
  if (!indices_ok(ir, "vector.maskedstore", memref, n))
    return;
  access a = {0};
  put_place(&a, memref, n, idx);
  put(&a, lane_mask(ir, fe_static_dim(v, 0), active));
  put(&a, v);
  FE_OP(ir, "vector.maskedstore", .n_operands = a.n, .operands = a.at);
}

MlirValue fe_vreduce(fe_ir *ir, const char *kind, MlirValue v) {
  MlirAttribute k =
      fe_attr_parse(ir, fe_printf(ir->arena, "#vector.kind<%s>", kind));
  MlirNamedAttribute attrs[2] = {fe_named(ir, "kind", k)};
  unsigned n = 1;
  // In order is an order of magnitude slower than as a tree.
  if (fe_type_is_float(fe_elem_of(v)))
    attrs[n++] = fe_named(
        ir, "fastmath", fe_attr_parse(ir, "#arith.fastmath<reassoc,contract>"));
  return fe_first(FE_OP(ir, "vector.reduction", FE_VALUES(v),
                        FE_TYPES(fe_elem_of(v)), .n_attrs = n, .attrs = attrs));
}

//===-- Shapes and views ----------------------------------------------------//

MlirValue fe_dim(fe_ir *ir, MlirValue shaped, unsigned i) {
  if (i >= fe_rank(shaped)) {
    fe_ir_fail(ir, "size of dim %u of a value of rank %u", i, fe_rank(shaped));
    return null_value;
  }
  int64_t size = fe_static_dim(shaped, i);
  if (size != FE_DYN)
    return fe_index(ir, size);
  bool tensor = mlirTypeIsATensor(mlirValueGetType(shaped));
  return fe_first(FE_OP(ir, tensor ? "tensor.dim" : "memref.dim",
                        FE_VALUES(shaped, fe_index(ir, i)),
                        FE_TYPES(ir->index)));
}

static MlirBlock entry_block(MlirBlock block) {
  while (!mlirBlockIsNull(block)) {
    MlirOperation op = mlirBlockGetParentOperation(block);
    if (fe_op_is(op, "func.func") || fe_op_is(op, "llvm.func"))
      return fe_func_block(op);
    if (mlirOperationIsNull(op))
      break;
    block = mlirOperationGetBlock(op);
  }
  return (MlirBlock){0};
}

MlirValue fe_alloca(fe_ir *ir, MlirType memref_type) {
  if (mlirTypeIsNull(memref_type) || !mlirTypeIsAMemRef(memref_type) ||
      !mlirShapedTypeHasStaticShape(memref_type)) {
    fe_ir_fail(ir, "memref.alloca: not a static memref type");
    return null_value;
  }
  fe_point here = fe_point_save(ir);
  MlirBlock entry = entry_block(ir->block);
  // In a loop the stack would grow with every iteration.
  if (!mlirBlockIsNull(entry))
    fe_point_at_start(ir, entry);
  int32_t segments[] = {0, 0};
  MlirAttribute sizes = mlirDenseI32ArrayGet(ir->ctx, 2, segments);
  MlirValue v =
      fe_first(FE_OP(ir, "memref.alloca", FE_TYPES(memref_type),
                     FE_ATTRS(fe_at_i64(ir, "alignment", 64),
                              fe_named(ir, "operandSegmentSizes", sizes))));
  fe_point_restore(ir, here);
  return v;
}

/// Offset of a memref's first element from its base, in elements.
static MlirValue base_offset(fe_ir *ir, MlirValue memref) {
  unsigned rank = fe_rank(memref);
  int64_t strides[FE_MAX_RANK], offset;
  if (rank > FE_MAX_RANK ||
      mlirLogicalResultIsFailure(mlirMemRefTypeGetStridesAndOffset(
          mlirValueGetType(memref), strides, &offset))) {
    fe_ir_fail(ir, "view of a memref without strides");
    return null_value;
  }
  if (offset != mlirShapedTypeGetDynamicStrideOrOffset())
    return fe_index(ir, offset);
  MlirType types[2 * FE_MAX_RANK + 2] = {
      mlirMemRefTypeContiguousGet(fe_elem_of(memref), 0, NULL,
                                  mlirAttributeGetNull()),
      ir->index};
  for (unsigned i = 0; i < 2 * rank; i++)
    types[2 + i] = ir->index;
  return fe_result(FE_OP(ir, "memref.extract_strided_metadata",
                         FE_VALUES(memref), .n_results = 2 * rank + 2,
                         .results = types),
                   1);
}

/// Sizes, offsets or strides of a view, split as MLIR wants them.
typedef struct mixed {
  unsigned n, n_values;
  int64_t numbers[FE_MAX_RANK];
  MlirValue values[FE_MAX_RANK];
} mixed;

static void add_mixed(mixed *m, int64_t number, MlirValue value) {
  m->numbers[m->n++] = number;
  if (number == FE_DYN)
    m->values[m->n_values++] = value;
}

MlirValue fe_view(fe_ir *ir, MlirValue memref, MlirValue offset, unsigned rank,
                  const int64_t *dims, const MlirValue *sizes) {
  if (!is_memref(ir, "view", memref))
    return null_value;
  bool ok = rank <= FE_MAX_RANK && !mlirValueIsNull(offset);
  for (unsigned i = 0; ok && i < rank; i++)
    ok = dims[i] >= 0 ||
         (dims[i] == FE_DYN && sizes && !mlirValueIsNull(sizes[i]));
  if (!ok) {
    fe_ir_fail(ir, "view: malformed sizes or offset");
    return null_value;
  }
  // reinterpret_cast counts from the base of the allocation.
  int64_t at, base;
  MlirValue from = base_offset(ir, memref);
  if (!fe_const_int(from, &base) || base != 0)
    offset = fe_add(ir, from, offset);
  if (!fe_const_int(offset, &at) || at < 0)
    at = FE_DYN;

  mixed offsets = {0}, shape = {0}, strides = {0};
  add_mixed(&offsets, at, offset);
  for (unsigned i = 0; i < rank; i++)
    add_mixed(&shape, dims[i], dims[i] == FE_DYN ? sizes[i] : null_value);
  // Strides from the innermost dim outward, kept in order of the dims.
  int64_t number[FE_MAX_RANK], step = 1;
  MlirValue value[FE_MAX_RANK], step_value = null_value;
  for (unsigned i = rank; i-- > 0;) {
    number[i] = step;
    value[i] = step_value;
    if (i == 0)
      break;
    if (step != FE_DYN && dims[i] != FE_DYN) {
      if (__builtin_mul_overflow(step, dims[i], &step)) {
        fe_ir_fail(ir, "view: too large");
        return null_value;
      }
      continue;
    }
    MlirValue size = dims[i] == FE_DYN ? sizes[i] : fe_index(ir, dims[i]);
    if (step == FE_DYN)
      step_value = fe_mul(ir, step_value, size);
    else
      step_value = step == 1 ? size : fe_mul(ir, fe_index(ir, step), size);
    step = FE_DYN;
  }
  for (unsigned i = 0; i < rank; i++)
    add_mixed(&strides, number[i], value[i]);

  MlirType elem = fe_elem_of(memref), type;
  if (at == 0)
    type = fe_memref_type(ir, elem, rank, dims);
  else
    type = mlirMemRefTypeGetChecked(
        ir->loc, elem, rank, dims,
        mlirStridedLayoutAttrGet(ir->ctx, at, rank, strides.numbers),
        mlirAttributeGetNull());
  MlirValue operands[2 + 2 * FE_MAX_RANK] = {memref};
  unsigned n = 1;
  const mixed *parts[] = {&offsets, &shape, &strides};
  int32_t segments[4] = {1};
  for (unsigned p = 0; p < 3; p++) {
    segments[p + 1] = (int32_t)parts[p]->n_values;
    for (unsigned i = 0; i < parts[p]->n_values; i++)
      operands[n++] = parts[p]->values[i];
  }
  return fe_first(
      FE_OP(ir, "memref.reinterpret_cast", .n_operands = n,
            .operands = operands, FE_TYPES(type),
            FE_ATTRS(fe_named(ir, "operandSegmentSizes",
                              mlirDenseI32ArrayGet(ir->ctx, 4, segments)),
                     fe_at_i64s(ir, "static_offsets", 1, offsets.numbers),
                     fe_at_i64s(ir, "static_sizes", rank, shape.numbers),
                     fe_at_i64s(ir, "static_strides", rank, strides.numbers))));
}
