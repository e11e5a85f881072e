//===- dynamic_quantize.c - DynamicQuantizeLinear ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The range of x and 0 spread over 0..255. Two passes over x: the least and the
// largest number, in parts that threads share, then the quotients. NaN is both.
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"
#include "op/common.h"
#include "op/quantized.h"
#include "target/target.h"

#define PART 16384 // elements of an item
#define TOGETHER 4 // vectors, so that no maximum waits for the one before

static fe_status infer_dynamic(fe_infer *f) {
  fe_dims x, scalar = {0};
  if (fe_in_dims(f, 0, &x))
    return FE_FAILED;
  fe_out_tensor(f, 0, FE_U8, &x);
  fe_out_tensor(f, 1, FE_F32, &scalar);
  fe_out_tensor(f, 2, FE_U8, &scalar);
  return FE_OK;
}

//===-- The range -----------------------------------------------------------//

typedef struct range {
  fe_ir *ir;
  unsigned lanes;
  MlirValue x;                 // memref
  MlirValue acc[3 * TOGETHER]; // least, largest, whether any is NaN
} range;

/// Vector j of the accumulators takes x.
static void take(range *r, unsigned j, MlirValue x, MlirValue *acc) {
  fe_ir *ir = r->ir;
  MlirValue least = acc[3 * j], most = acc[3 * j + 1];
  acc[3 * j] = fe_select(ir, fe_cmp(ir, FE_LT, x, least), x, least);
  acc[3 * j + 1] = fe_vmax(ir, x, most);
  acc[3 * j + 2] = fe_or(ir, acc[3 * j + 2], fe_cmp(ir, FE_NE, x, x));
}

/// Elements from `at` on, `count` vectors of them; `active`: of the only one.
static void step(range *r, MlirValue at, unsigned count, MlirValue active,
                 MlirValue *acc) {
  fe_ir *ir = r->ir;
  for (unsigned j = 0; j < count; ++j) {
    MlirValue from = fe_add_static(ir, at, (int64_t)j * r->lanes);
    MlirValue x = fe_is_null(active)
                      ? fe_vload(ir, r->lanes, r->x, 1, &from)
                      : fe_vload_masked(ir, r->lanes, active, r->x, 1, &from);
    take(r, j, x, acc);
  }
}

/// Loop over [first, last) by `count` vectors; the last one may be masked.
static void loop(range *r, MlirValue first, MlirValue last, unsigned count) {
  fe_ir *ir = r->ir;
  unsigned n = 3 * count;
  fe_region l = fe_for_begin(
      ir, first, last, fe_index(ir, (int64_t)count * r->lanes), n, r->acc);
  MlirValue acc[3 * TOGETHER];
  for (unsigned i = 0; i < n; ++i)
    acc[i] = fe_block_arg(l.body, 1 + i);
  MlirValue left = count == 1 ? fe_sub(ir, last, l.iv) : (MlirValue){0};
  step(r, l.iv, count, left, acc);
  fe_for_end(ir, &l, n, acc);
  for (unsigned i = 0; i < n; ++i)
    r->acc[i] = fe_result(l.op, i);
}

/// The larger, or smaller, of two numbers; NaN if one is.
static MlirValue extreme(fe_ir *ir, bool least, MlirValue a, MlirValue b) {
  MlirValue better = fe_cmp(ir, least ? FE_LT : FE_GT, a, b);
  return fe_select(ir, fe_or(ir, better, fe_cmp(ir, FE_NE, a, a)), a, b);
}

/// Least and largest of every part, and 0: [parts][2].
static MlirValue ranges(fe_lower *l, MlirValue x, MlirValue parts) {
  fe_ir *ir = l->ir;
  MlirValue sizes[2] = {parts, fe_index(ir, 2)};
  MlirValue dest = fe_tensor_empty(l, FE_F32, 2, sizes);
  fe_kernel k;
  fe_kernel_begin(&k, l, "range", 1, &x, 1, &dest, 0, NULL);
  range r = {.ir = ir, .lanes = l->target->vector_bits / 32, .x = k.in[0]};
  MlirType vec = fe_vector_type(ir, r.lanes, ir->f32);
  MlirType bits = fe_vector_type(ir, r.lanes, ir->i1);
  fe_region item = fe_for_begin(ir, k.begin, k.end, fe_index(ir, 1), 0, NULL);
  for (unsigned i = 0; i < 3 * TOGETHER; ++i)
    r.acc[i] = i % 3 == 2 ? fe_int(ir, bits, 0) : fe_float(ir, vec, 0);
  MlirValue first = fe_mul(ir, item.iv, fe_index(ir, PART));
  MlirValue last =
      fe_min(ir, fe_add_static(ir, first, PART), fe_dim(ir, k.in[0], 0));
  MlirValue wide = fe_index(ir, (int64_t)TOGETHER * r.lanes);
  MlirValue middle =
      fe_mul(ir, fe_divu(ir, fe_sub(ir, last, first), wide), wide);
  middle = fe_add(ir, first, middle);
  loop(&r, first, middle, TOGETHER);
  for (unsigned j = 1; j < TOGETHER; ++j) {
    take(&r, 0, r.acc[3 * j], r.acc);
    take(&r, 0, r.acc[3 * j + 1], r.acc);
    r.acc[2] = fe_or(ir, r.acc[2], r.acc[3 * j + 2]);
  }
  loop(&r, middle, last, 1);
  MlirValue nan = fe_first(FE_OP(
      ir, "vector.reduction", FE_VALUES(r.acc[2]), FE_TYPES(ir->i1),
      FE_ATTRS(fe_named(ir, "kind", fe_attr_parse(ir, "#vector.kind<or>")))));
  MlirValue no_number =
      fe_div(ir, fe_float(ir, ir->f32, 0), fe_float(ir, ir->f32, 0));
  MlirValue most = fe_vmax_lanes(ir, r.acc[1]);
  MlirValue least = fe_neg(ir, fe_vmax_lanes(ir, fe_neg(ir, r.acc[0])));
  MlirValue found[2] = {least, most};
  for (unsigned i = 0; i < 2; ++i)
    fe_store(ir, fe_select(ir, nan, no_number, found[i]), k.out[0],
             FE_IDX(item.iv, fe_index(ir, i)));
  fe_loop_end(ir, &item);
  fe_kernel_end(&k, fe_kernel_dim(&k, 1, 0), fe_dim_const(ir, PART / 4));
  return k.result[0];
}

//===-- Scale and zero point ------------------------------------------------//

static void parameters(fe_lower *l, MlirValue parts, MlirValue result[2]) {
  fe_ir *ir = l->ir;
  MlirValue dest[2] = {fe_tensor_empty(l, FE_F32, 0, NULL),
                       fe_tensor_empty(l, FE_U8, 0, NULL)};
  fe_kernel k;
  fe_kernel_begin(&k, l, "range_scale", 1, &parts, 2, dest, 0, NULL);
  MlirValue zero = fe_float(ir, ir->f32, 0), start[2] = {zero, zero};
  fe_region r = fe_for_begin(ir, fe_index(ir, 0), fe_dim(ir, k.in[0], 0),
                             fe_index(ir, 1), 2, start);
  MlirValue next[2];
  for (unsigned i = 0; i < 2; ++i)
    next[i] =
        extreme(ir, i == 0, fe_load(ir, k.in[0], FE_IDX(r.iv, fe_index(ir, i))),
                fe_block_arg(r.body, 1 + i));
  fe_for_end(ir, &r, 2, next);
  MlirValue least = fe_result(r.op, 0), most = fe_result(r.op, 1);
  MlirValue width = fe_sub(ir, most, least);
  MlirValue scale = fe_div(ir, width, fe_float(ir, ir->f32, 255));
  scale = fe_select(ir, fe_cmp(ir, FE_EQ, width, zero),
                    fe_float(ir, ir->f32, 1), scale);
  MlirValue point = fe_div(ir, fe_sub(ir, zero, least), scale);
  point = fe_saturated(ir, FE_U8, fe_math(ir, "roundeven", point));
  fe_store(ir, scale, k.out[0], 0, NULL);
  fe_store(ir, point, k.out[1], 0, NULL);
  fe_kernel_end(&k, (MlirAffineExpr){0}, (MlirAffineExpr){0});
  result[0] = k.result[0];
  result[1] = k.result[1];
}

static MlirValue quantized(fe_ir *ir, const MlirValue *x, const void *user) {
  const fe_target *target = user;
  MlirValue v = fe_quotient(ir, target, x[0], x[1]);
  v = fe_math(ir, "roundeven", v);
  v = fe_add(ir, v, fe_convert(ir, x[2], ir->f32, true, false));
  return fe_saturated(ir, FE_U8, v);
}

static fe_status lower_dynamic(fe_lower *l) {
  fe_ir *ir = l->ir;
  MlirValue x = l->in[0], sizes[FE_MAX_RANK], in[3] = {x};
  unsigned rank = fe_rank(x);
  fe_sizes_of(l, x, sizes);
  MlirValue n = fe_sizes_product(l, x, 0, rank);
  MlirValue flat = fe_reshape(l, x, ir->f32, 1, &n);
  parameters(l, ranges(l, flat, fe_ceildiv(ir, n, fe_index(ir, PART))), in + 1);
  static const fe_dtype types[3] = {FE_F32, FE_F32, FE_U8};
  l->out[0] =
      fe_pointwise(l, rank, sizes, 3, in, types, FE_U8, quantized, l->target);
  l->out[1] = in[1];
  l->out[2] = in[2];
  return FE_OK;
}

const fe_op_row fe_family_dynamic_quantize[] = {
    {.name = "DynamicQuantizeLinear",
     .since = 11,
     .inputs = "x:T1",
     .outputs = "y:T2, y_scale:T1, y_zero_point:T2",
     .types = "T1=f32;T2=u8",
     .infer = infer_dynamic,
     .lower = lower_dynamic},
    {0}};
