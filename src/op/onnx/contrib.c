//===- contrib.c - ONNX Runtime's operators for transformers -----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ONNX Runtime's optimizer and quantizer write into models (domain
// com.microsoft), rewritten at import into operators of the standard. Weights
// of 2, 4 and 8 bits in blocks (MatMulNBits) are written out as f32.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static MlirValue in_of(const fe_node *n, size_t i) {
  return i < n->in.n ? n->in.at[i] : (MlirValue){0};
}

static int64_t int_of(fe_node *n, const char *name, int64_t absent) {
  const fe_node_attr *a = fe_node_attr_find(n, name);
  return a ? a->i : absent;
}

static double float_of(fe_node *n, const char *name, double absent) {
  const fe_node_attr *a = fe_node_attr_find(n, name);
  return a ? a->f : absent;
}

static fe_where where_of(const fe_node *n) {
  fe_where where = n->where;
  where.op = n->row->name;
  return where;
}

/// Fails when one of the first `least` inputs is absent.
static fe_status require(const fe_node *n, unsigned least) {
  for (unsigned i = 0; i < least; ++i)
    if (fe_is_null(in_of(n, i)))
      return fe_error(n->ir->diags, where_of(n), NULL, "input %u is missing",
                      i);
  return FE_OK;
}

static fe_dtype type_of(MlirValue v) { return fe_dtype_of_elem(fe_elem_of(v)); }

/// These give null for null operands: the error has been reported.
static MlirValue binary(fe_ir *ir, const char *name, MlirValue a, MlirValue b) {
  return fe_is_null(a) || fe_is_null(b) ? (MlirValue){0}
                                        : fe_onnx1(ir, name, a, b);
}

static MlirValue plus(fe_ir *ir, MlirValue v, MlirValue bias) {
  return fe_is_null(bias) ? v : binary(ir, "Add", v, bias);
}

static MlirValue cast(fe_ir *ir, MlirValue v, fe_dtype t) {
  if (fe_is_null(v) || type_of(v) == t)
    return v;
  MlirNamedAttribute to = fe_at_i64(ir, "to", t);
  return fe_first(fe_onnx(ir, "Cast", 1, &v, 1, 1, &to));
}

static fe_status done(MlirValue v, MlirValue *results) {
  results[0] = v;
  return fe_is_null(v) ? FE_FAILED : FE_OK;
}

//===-- Gelu ----------------------------------------------------------------//

static MlirValue gelu(fe_ir *ir, MlirValue x, const char *approximate) {
  MlirNamedAttribute a = fe_at_str(ir, "approximate", approximate);
  return fe_is_null(x) ? x : fe_first(fe_onnx(ir, "Gelu", 1, &x, 1, 1, &a));
}

static fe_status expand_gelu(fe_node *n, MlirValue *results) {
  bool biased = !strcmp(n->row->name, "BiasGelu");
  if (require(n, biased ? 2 : 1))
    return FE_FAILED;
  MlirValue x = plus(n->ir, in_of(n, 0), in_of(n, 1));
  bool fast = !strcmp(n->row->name, "FastGelu");
  return done(gelu(n->ir, x, fast ? "tanh" : "none"), results);
}

/// x * sigmoid(alpha * x)
static fe_status expand_quick_gelu(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (require(n, 1))
    return FE_FAILED;
  MlirValue x = in_of(n, 0);
  MlirValue alpha =
      fe_constant_scalar(ir, type_of(x), float_of(n, "alpha", 1.702));
  MlirValue v = binary(ir, "Mul", x, alpha);
  v = fe_is_null(v) ? v : fe_onnx1(ir, "Sigmoid", v);
  return done(binary(ir, "Mul", x, v), results);
}

//===-- Quantized products --------------------------------------------------//

/// MatMulInteger of a and b, times both scales, plus bias.
static MlirValue scaled_product(fe_ir *ir, const MlirValue in[4],
                                MlirValue a_scale, MlirValue b_scale,
                                MlirValue bias) {
  MlirValue v = fe_first(fe_onnx(ir, "MatMulInteger", 4, in, 1, 0, NULL));
  if (fe_is_null(v))
    return v;
  v = cast(ir, v, type_of(b_scale));
  v = binary(ir, "Mul", v, binary(ir, "Mul", a_scale, b_scale));
  return plus(ir, v, bias);
}

static fe_status expand_integer_to_float(fe_node *n, MlirValue *results) {
  if (require(n, 4))
    return FE_FAILED;
  const MlirValue in[4] = {in_of(n, 0), in_of(n, 1), in_of(n, 4), in_of(n, 5)};
  return done(scaled_product(n->ir, in, in_of(n, 2), in_of(n, 3), in_of(n, 6)),
              results);
}

static fe_status expand_dynamic_product(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (require(n, 3))
    return FE_FAILED;
  const fe_op_row *row = fe_op_find("", "DynamicQuantizeLinear", 0);
  MlirValue a[3] = {{0}};
  fe_node q = {
      .ir = ir, .row = row, .where = n->where, .opset = 11, .n_out = 3};
  fe_push(ir->arena, &q.in, in_of(n, 0));
  if (!row || fe_node_make(&q, a))
    return FE_FAILED;
  const MlirValue in[4] = {a[0], in_of(n, 1), a[2], in_of(n, 3)};
  return done(scaled_product(ir, in, a[1], in_of(n, 2), in_of(n, 4)), results);
}

//===-- MatMulNBits ---------------------------------------------------------//

typedef struct blocks {
  int64_t n, k, size, bits; // size: elements of a block
  int64_t per_row;          // blocks
  fe_const data, scales, zeros;
  bool has_zeros, packed_zeros;
} blocks;

/// Number i of a row of packed numbers.
static unsigned unpack(const uint8_t *row, int64_t i, int64_t bits) {
  int64_t bit = i * bits;
  return (unsigned)(row[bit / 8] >> bit % 8) & ((1u << bits) - 1);
}

static fe_status read_blocks(fe_node *n, blocks *b) {
  fe_ir *ir = n->ir;
  b->n = int_of(n, "N", 0);
  b->k = int_of(n, "K", 0);
  b->bits = int_of(n, "bits", 4);
  b->size = int_of(n, "block_size", 0);
  if (b->n <= 0 || b->k <= 0 || b->size <= 0 ||
      (b->bits != 2 && b->bits != 4 && b->bits != 8))
    return fe_error(ir->diags, where_of(n), NULL,
                    "N, K and block_size must be positive, bits 2, 4 or 8");
  if (!fe_is_null(in_of(n, 4)) || int_of(n, "weight_prepacked", 0))
    return fe_error(ir->diags, where_of(n), NULL,
                    "g_idx and packed weights are not supported");
  MlirValue zeros = in_of(n, 3);
  b->has_zeros = !fe_is_null(zeros);
  if (!fe_const_of(ir, in_of(n, 1), &b->data) ||
      !fe_const_of(ir, in_of(n, 2), &b->scales) ||
      (b->has_zeros && !fe_const_of(ir, zeros, &b->zeros)))
    return fe_error(ir->diags, where_of(n), NULL,
                    "the weights must be constants");
  b->per_row = (b->k + b->size - 1) / b->size;
  int64_t row = b->per_row * ((b->size * b->bits + 7) / 8);
  int64_t zero_row = (b->per_row * b->bits + 7) / 8;
  b->packed_zeros = b->has_zeros && b->zeros.dtype == FE_U8;
  if (b->data.count != b->n * row || b->scales.count != b->n * b->per_row ||
      (b->has_zeros &&
       b->zeros.count != b->n * (b->packed_zeros ? zero_row : b->per_row)))
    return fe_error(ir->diags, where_of(n), NULL,
                    "the weights do not have the size that N and K demand");
  return FE_OK;
}

/// The weights as [K][N].
static MlirValue written_out(fe_ir *ir, const blocks *b) {
  float *out = FE_NEW_N(ir->arena, float, (size_t)(b->n * b->k));
  int64_t blob = (b->size * b->bits + 7) / 8;
  int64_t zero_row = (b->per_row * b->bits + 7) / 8;
  const uint8_t *data = b->data.data, *zeros = b->zeros.data;
  for (int64_t y = 0; y < b->n; ++y)
    for (int64_t x = 0; x < b->k; ++x) {
      int64_t block = y * b->per_row + x / b->size;
      double q = unpack(data + block * blob, x % b->size, b->bits);
      double zero = (double)(1 << (b->bits - 1));
      if (b->packed_zeros)
        zero = unpack(zeros + y * zero_row, x / b->size, b->bits);
      else if (b->has_zeros)
        zero = fe_const_f64(&b->zeros, block);
      out[x * b->n + y] = (float)((q - zero) * fe_const_f64(&b->scales, block));
    }
  const int64_t dims[2] = {b->k, b->n};
  return fe_constant(ir, "weights", FE_F32, 2, dims, out);
}

static fe_status expand_n_bits(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  blocks b = {0};
  if (require(n, 3) || read_blocks(n, &b))
    return FE_FAILED;
  MlirValue a = in_of(n, 0);
  fe_dtype t = type_of(a);
  MlirValue v = binary(ir, "MatMul", cast(ir, a, FE_F32), written_out(ir, &b));
  return done(plus(ir, cast(ir, v, t), in_of(n, 5)), results);
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def quick_attrs[] = {{"alpha", FE_A_FLOAT, "1.702"}, {0}};
static const fe_attr_def n_bits_attrs[] = {{"K", FE_A_INT, NULL},
                                           {"N", FE_A_INT, NULL},
                                           {"bits", FE_A_INT, "4"},
                                           {"block_size", FE_A_INT, NULL},
                                           {"accuracy_level", FE_A_INT, "0"},
                                           {"weight_prepacked", FE_A_INT, "0"},
                                           {0}};
#define CONTRIB(op_name, ins, outs, fn, ...)                                   \
  {.name = op_name,                                                            \
   .domain = "com.microsoft",                                                  \
   .since = 1,                                                                 \
   .inputs = ins,                                                              \
   .outputs = outs,                                                            \
   .flags = FE_FUNCTION,                                                       \
   .expand = fn,                                                               \
   __VA_ARGS__}

const fe_op_row fe_family_contrib[] = {
    CONTRIB("Gelu", "X:T", "Y:T", expand_gelu, .types = "T=float"),
    CONTRIB("FastGelu", "X:T, bias?:T", "Y:T", expand_gelu, .types = "T=float"),
    CONTRIB("BiasGelu", "A:T, B:T", "C:T", expand_gelu, .types = "T=float"),
    CONTRIB("QuickGelu", "X:T", "Y:T", expand_quick_gelu, .types = "T=float",
            .attrs = quick_attrs),
    CONTRIB("MatMulIntegerToFloat",
            "A:T1, B:T2, a_scale:T3, b_scale:T3, a_zero_point?:T1, "
            "b_zero_point?:T2, bias?:T3",
            "Y:T3", expand_integer_to_float,
            .types = "T1=i8,u8;T2=i8,u8;T3=f32,f16"),
    CONTRIB("DynamicQuantizeMatMul",
            "A:T1, B:T2, b_scale:T1, b_zero_point?:T2, bias?:T1", "Y:T1",
            expand_dynamic_product, .types = "T1=f32;T2=i8,u8"),
    CONTRIB("MatMulNBits",
            "A:T1, B:T2, scales:T1, zero_points?:T3, g_idx?:T4, bias?:T1",
            "Y:T1", expand_n_bits,
            .types = "T1=f32,f16;T2=u8;T3=u8,f32,f16;T4=i32",
            .attrs = n_bits_attrs,
            .limits = "constant weights, which are written out as f32"),
    {0}};
