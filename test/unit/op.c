//===- op.c - tests of the operator table ------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "op/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fixture {
  unit *u;
  fe_ir ir;
  fe_blobs blobs;
  MlirModule module;
} fixture;

static fixture *begin(void) {
  unit *u = unit_begin();
  fixture *f = FE_NEW(u->arena, fixture);
  f->u = u;
  f->blobs.arena = u->arena;
  const char *irdl[] = {fe_onnx_irdl(u->arena), fe_krnl_irdl};
  MlirContext ctx = fe_context_create(&u->diags, irdl, 2);
  assert_false(mlirContextIsNull(ctx));
  fe_ir_init(&f->ir, ctx, u->arena, &u->diags, &f->blobs);
  f->module = mlirModuleCreateEmpty(mlirLocationUnknownGet(ctx));
  fe_point_at_end(&f->ir, mlirModuleGetBody(f->module));
  f->ir.loc = fe_loc_name(&f->ir, "node");
  return f;
}

static void end(fixture *f) {
  mlirModuleDestroy(f->module);
  mlirContextDestroy(f->ir.ctx);
  unit_end(f->u);
}

/// Function arguments of these types; ops go to its body.
static MlirBlock arguments(fixture *f, unsigned n, const char *const *types) {
  MlirType t[8];
  for (unsigned i = 0; i < n; ++i) {
    t[i] = mlirTypeParseGet(f->ir.ctx, fe_str(types[i]));
    assert_false(mlirTypeIsNull(t[i]));
  }
  return fe_func_block(fe_func_begin(&f->ir, f->module, "main", false, n, t));
}
#define ARGS(f, ...)                                                           \
  arguments((f), sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),       \
            (const char *[]){__VA_ARGS__})

static void print_to(MlirStringRef s, void *user) {
  fe_buf *b = user;
  size_t n = s.length < b->cap - b->n ? s.length : b->cap - b->n;
  memcpy(b->at + b->n, s.data, n);
  b->n += n;
}

static void assert_type(fixture *f, MlirValue v, const char *expected) {
  if (fe_is_null(v)) {
    print_error("%s", f->u->messages->at);
    fail();
  }
  MlirType t = mlirTypeParseGet(f->ir.ctx, fe_str(expected));
  if (mlirTypeEqual(t, mlirValueGetType(v)))
    return;
  fe_buf b = {.at = fe_alloc(f->u->arena, 4096), .cap = 4095};
  mlirTypePrint(mlirValueGetType(v), print_to, &b);
  print_error("got      %s\nexpected %s\n", b.at, expected);
  fail();
}

static void assert_message(fixture *f, const char *part) {
  if (!strstr(f->u->messages->at, part)) {
    print_error("no '%s' in\n%s", part, f->u->messages->at);
    fail();
  }
}

static void assert_ok(fixture *f) {
  fe_func_end(&f->ir, fe_func_find(f->module, "main"), 0, NULL);
  if (fe_ir_ok(&f->ir, "test", f->module) || f->u->diags.errors) {
    print_error("%s", f->u->messages->at);
    fail();
  }
}

//===-- The table -----------------------------------------------------------//

static void finds_rows(void **state) {
  (void)state;
  const fe_op_row *row = fe_op_find("", "LeakyRelu", 13);
  assert_non_null(row);
  assert_string_equal(row->name, "LeakyRelu");
  assert_ptr_equal(fe_op_find("ai.onnx", "LeakyRelu", 1), row);
  assert_null(fe_op_find("", "Gelu", 19));
  assert_non_null(fe_op_find("", "Gelu", 20));
  assert_null(fe_op_find("ai.onnx.ml", "Relu", 1));
  assert_null(fe_op_find("", "NoSuchOperator", 20));
  unit *u = unit_begin();
  assert_string_equal(fe_op_ir_name(u->arena, row), "leaky_relu");
  static const struct {
    const char *domain, *name, *ir;
  } names[] = {{"", "LRN", "lrn"},
               {"", "IsNaN", "is_nan"},
               {"", "GatherND", "gather_nd"},
               {"", "RMSNormalization", "rms_normalization"},
               {"ai.onnx.ml", "Scaler", "ml_scaler"}};
  for (size_t i = 0; i < FE_COUNT(names); ++i) {
    fe_op_row r = {.domain = names[i].domain, .name = names[i].name};
    assert_string_equal(fe_op_ir_name(u->arena, &r), names[i].ir);
  }
  unit_end(u);
}

static void dialect_is_accepted_by_mlir_opt(void **state) {
  (void)state;
  unit *u = unit_begin();
  FILE *irdl = fopen("onnx.irdl.mlir", "w"), *ir = fopen("onnx.mlir", "w");
  assert_non_null(irdl);
  assert_non_null(ir);
  fputs(fe_onnx_irdl(u->arena), irdl);
  fputs("func.func @main(%x: tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>)\n"
        "    -> tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>> {\n"
        "  %c = \"onnx.constant\"() {value = dense<1.0> : tensor<f32>}\n"
        "    : () -> tensor<f32>\n"
        "  %y = \"onnx.add\"(%x, %c)\n"
        "    : (tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>, tensor<f32>)\n"
        "    -> tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>\n"
        "  return %y : tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>\n"
        "}\n",
        ir);
  fclose(irdl);
  fclose(ir);
  assert_int_equal(
      system(MLIR_OPT " --irdl-file=onnx.irdl.mlir onnx.mlir > /dev/null"), 0);
  unit_end(u);
}

//===-- Making ops ----------------------------------------------------------//

static void infers_broadcast(void **state) {
  (void)state;
  fixture *f = begin();
  MlirBlock b = ARGS(f, "tensor<2x1x4xf32>", "tensor<3x1xf32>",
                     "tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>",
                     "tensor<?x1xf32, affine_map<()[s0] -> (s0, 1)>>",
                     "tensor<?x1xf32, affine_map<()[s0, s1] -> (s1, 1)>>");
  fe_symbol(&f->ir, "batch");
  fe_symbol(&f->ir, "other");
  MlirValue x[5];
  for (unsigned i = 0; i < 5; ++i)
    x[i] = fe_block_arg(b, i);
  assert_type(f, fe_onnx1(&f->ir, "Add", x[0], x[1]), "tensor<2x3x4xf32>");
  assert_type(f, fe_onnx1(&f->ir, "add", x[2], x[3]),
              "tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>");
  assert_type(f, fe_onnx1(&f->ir, "mul", x[2], x[4]),
              "tensor<?x3xf32, affine_map<()[s0, s1, s2] -> (s2, 3)>>");
  assert_int_equal(f->ir.symbols.n, 3);
  assert_type(f, fe_onnx1(&f->ir, "leaky_relu", x[2]),
              "tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>");
  assert_ok(f);
  end(f);
}

static void refuses_with_names(void **state) {
  (void)state;
  fixture *f = begin();
  MlirBlock b = ARGS(f, "tensor<2x3xf32>", "tensor<4xf32>", "tensor<2x3xi64>",
                     "tensor<2xui8>");
  MlirValue x = fe_block_arg(b, 0), y = fe_block_arg(b, 1),
            i = fe_block_arg(b, 2), u8 = fe_block_arg(b, 3);
  assert_true(fe_is_null(fe_onnx1(&f->ir, "Add", x, y)));
  assert_message(f, "node: sizes 3 and 4 in dimension 1");
  assert_true(fe_is_null(fe_onnx1(&f->ir, "Add", x, i)));
  assert_message(f, "input 'B' has element type int64 but input 'A' has float");
  assert_true(fe_is_null(fe_onnx1(&f->ir, "Relu", u8)));
  assert_message(f, "input 'X' has element type uint8; admitted are float, "
                    "int8");
  assert_true(fe_is_null(fe_onnx1(&f->ir, "Add", x)));
  assert_message(f, "has 1 inputs but takes 2");
  MlirValue absent = {0};
  assert_true(fe_is_null(fe_onnx1(&f->ir, "Add", x, absent)));
  assert_message(f, "input 'B' is missing");
  assert_int_equal(f->u->diags.errors, 5);
  assert_int_equal(f->u->diags.internal, 0);
  assert_true(fe_is_null(fe_onnx1(&f->ir, "Blorp", x)));
  assert_int_equal(f->u->diags.internal, 1);
  end(f);
}

static void follows_shapes(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  MlirBlock b =
      ARGS(f, "tensor<?x8x?xf32, affine_map<()[s0, s1] -> (s0, 8, s1)>>");
  fe_symbol(ir, "batch");
  fe_symbol(ir, "length");
  MlirValue x = fe_block_arg(b, 0);
  MlirValue shape = fe_constant_i64s(ir, 3, (int64_t[]){0, 4, -1});
  assert_type(f, fe_onnx1(ir, "Reshape", x, shape),
              "tensor<?x4x?xf32, affine_map<()[s0, s1] -> (s0, 4, s1 * 2)>>");
  shape = fe_constant_i64s(ir, 1, (int64_t[]){-1});
  MlirValue flat = fe_onnx1(ir, "Reshape", x, shape);
  assert_type(f, flat,
              "tensor<?xf32, affine_map<()[s0, s1] -> (s0 * s1 * 8)>>");
  assert_type(f, fe_onnx1(ir, "Reshape", flat, fe_onnx1(ir, "Shape", x)),
              "tensor<?x8x?xf32, affine_map<()[s0, s1] -> (s0, 8, s1)>>");
  assert_type(f, fe_onnx1(ir, "Flatten", x),
              "tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1 * 8)>>");
  MlirValue axes = fe_constant_i64s(ir, 2, (int64_t[]){0, -1});
  MlirValue more = fe_onnx1(ir, "Unsqueeze", x, axes);
  assert_type(
      f, more,
      "tensor<1x?x8x?x1xf32, affine_map<()[s0, s1] -> (1, s0, 8, s1, 1)>>");
  assert_type(f, fe_onnx1(ir, "Squeeze", more, axes),
              "tensor<?x8x?xf32, affine_map<()[s0, s1] -> (s0, 8, s1)>>");
  assert_type(f, fe_onnx1(ir, "Squeeze", more),
              "tensor<?x8x?xf32, affine_map<()[s0, s1] -> (s0, 8, s1)>>");
  fe_contents c;
  MlirValue size = fe_onnx1(ir, "Size", x);
  assert_true(fe_contents_of(ir, size, &c));
  assert_int_equal(c.n, 1);
  MlirAffineExpr s0 = fe_dim_symbol(ir, 0), s1 = fe_dim_symbol(ir, 1);
  assert_true(fe_dim_same(c.at[0],
                          fe_dim_mul(fe_dim_mul(s0, s1), fe_dim_const(ir, 8))));
  assert_int_equal(fe_const_ints(ir, size, NULL, 0), -1);
  assert_true(fe_is_null(
      fe_onnx1(ir, "Squeeze", more, fe_constant_i64s(ir, 1, (int64_t[]){2}))));
  assert_message(f, "dimension 2 has size 8, not 1");
  f->u->diags.errors = 0;
  assert_ok(f);
  end(f);
}

static MlirValue ints(fixture *f, unsigned n, const int64_t *v) {
  return fe_constant_i64s(&f->ir, n, v);
}
#define INTS(f, ...)                                                           \
  ints((f), sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                \
       (int64_t[]){__VA_ARGS__})

static MlirValue with_axis(fixture *f, const char *name, unsigned n,
                           const MlirValue *in, int64_t axis) {
  MlirNamedAttribute a = fe_at_i64(&f->ir, "axis", axis);
  return fe_first(fe_onnx(&f->ir, name, n, in, 1, 1, &a));
}

/// What exporters make of x.view(x.shape[0], x.shape[1] // 2, -1) and so on.
static void follows_shape_computations(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  MlirBlock b =
      ARGS(f, "tensor<?x?x8xf32, affine_map<()[s0, s1] -> (s0, s1, 8)>>",
           "tensor<1x512xi64>");
  fe_symbol(ir, "batch");
  fe_symbol(ir, "length");
  MlirValue x = fe_block_arg(b, 0), table = fe_block_arg(b, 1);
  MlirValue shape = fe_onnx1(ir, "Shape", x);
  MlirValue batch =
      with_axis(f, "Gather", 2, (MlirValue[]){shape, INTS(f, 0)}, 0);
  MlirValue length =
      fe_onnx1(ir, "Slice", shape, INTS(f, 1), INTS(f, 2), INTS(f, 0));
  MlirValue half = fe_onnx1(ir, "Div", length, INTS(f, 2));
  MlirValue wanted =
      with_axis(f, "Concat", 3, (MlirValue[]){batch, half, INTS(f, -1)}, 0);
  fe_contents c;
  assert_true(fe_contents_of(ir, wanted, &c));
  assert_int_equal(c.n, 3);
  assert_int_equal(fe_dim_static(c.at[2]), -1);
  assert_type(
      f,
      fe_onnx1(ir, "Reshape", x,
               with_axis(f, "Concat", 2, (MlirValue[]){batch, INTS(f, -1)}, 0)),
      "tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1 * 8)>>");
  assert_type(f,
              fe_onnx1(ir, "Expand", fe_constant_scalar(ir, FE_F32, 1), shape),
              "tensor<?x?x8xf32, affine_map<()[s0, s1] -> (s0, s1, 8)>>");
  // Position embeddings: the first `length` columns of a table, or what it has
  // of them; with what has that length, the length again.
  MlirValue axis1 = INTS(f, 1);
  MlirValue columns = fe_onnx1(ir, "Slice", table, INTS(f, 0), length, axis1);
  assert_type(f, columns,
              "tensor<1x?xi64, affine_map<()[s0, s1, s2] -> (1, s2)>>");
  MlirValue places = fe_onnx1(
      ir, "Expand", fe_constant_scalar(ir, FE_I64, 1),
      fe_onnx1(ir, "Slice", shape, INTS(f, 0), INTS(f, 2), INTS(f, 0)));
  assert_type(f, fe_onnx1(ir, "Add", places, columns),
              "tensor<?x?xi64, affine_map<()[s0, s1] -> (s0, s1)>>");
  // What a short one would have less of is a symbol.
  assert_type(
      f, fe_onnx1(ir, "Slice", x, INTS(f, 1), INTS(f, INT64_MAX), axis1),
      "tensor<?x?x8xf32, affine_map<()[s0, s1, s2, s3] -> (s0, s3, 8)>>");
  assert_type(
      f, fe_onnx1(ir, "Slice", x, INTS(f, 0), INTS(f, -1), axis1, INTS(f, 2)),
      "tensor<?x?x8xf32, affine_map<()[s0, s1, s2, s3, s4] -> (s0, s4, 8)>>");
  assert_type(f, with_axis(f, "Concat", 2, (MlirValue[]){x, x}, 1),
              "tensor<?x?x8xf32, affine_map<()[s0, s1] -> (s0, s1 * 2, 8)>>");
  assert_type(f, fe_onnx1(ir, "Tile", x, INTS(f, 1, 3, 2)),
              "tensor<?x?x16xf32, affine_map<()[s0, s1] -> (s0, s1 * 3, 16)>>");
  // Only the run knows how many: a new symbol.
  assert_type(f, fe_onnx1(ir, "Slice", x, INTS(f, 0), INTS(f, 5), axis1),
              "tensor<?x?x8xf32, affine_map<()[s0, s1, s2, s3, s4, s5] -> "
              "(s0, s5, 8)>>");
  // torch's expand: where(shape == -1, ones, shape).
  MlirValue is_minus = fe_onnx1(ir, "Equal", shape, INTS(f, -1));
  MlirValue chosen = fe_onnx1(ir, "Where", is_minus, INTS(f, 1, 1, 1), shape);
  assert_true(fe_contents_of(ir, chosen, &c));
  assert_true(fe_dim_same(c.at[1], fe_dim_symbol(ir, 1)));
  // Half of it, through floats.
  MlirNamedAttribute to_float = fe_at_i64(ir, "to", FE_F32),
                     to_int = fe_at_i64(ir, "to", FE_I64);
  MlirValue number = fe_first(fe_onnx(ir, "Cast", 1, &length, 1, 1, &to_float));
  MlirValue two = fe_constant_scalar(ir, FE_F32, 2);
  number = fe_onnx1(ir, "Floor", fe_onnx1(ir, "Div", number, two));
  number = fe_first(fe_onnx(ir, "Cast", 1, &number, 1, 1, &to_int));
  assert_true(fe_contents_of(ir, number, &c));
  assert_true(fe_dim_same(
      c.at[0], fe_dim_floordiv(fe_dim_symbol(ir, 1), fe_dim_const(ir, 2))));
  assert_ok(f);
  end(f);
}

/// Sums of sums: evaluated once each, not 2^60 times.
static void shares_contents(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  ARGS(f, "tensor<f32>");
  MlirValue v = INTS(f, 1);
  for (int i = 0; i < 60; ++i)
    v = fe_onnx1(ir, "Add", v, v);
  int64_t n = 0;
  assert_int_equal(fe_const_ints(ir, v, &n, 1), 1);
  assert_true(n == (int64_t)1 << 60);
  assert_ok(f);
  end(f);
}

//===-- Import --------------------------------------------------------------//

static void upgrades_and_expands_nodes(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  MlirBlock b = ARGS(f, "tensor<2x3x4xf32>", "tensor<3xf32>");
  fe_node n = {.ir = ir, .row = fe_op_find("", "Add", 6), .opset = 6};
  n.n_out = 1;
  fe_push(f->u->arena, &n.in, fe_block_arg(b, 0));
  fe_push(f->u->arena, &n.in, fe_block_arg(b, 1));
  fe_node_set_int(&n, "axis", 1);
  fe_node_set_int(&n, "broadcast", 1);
  MlirValue results[3];
  assert_int_equal(fe_node_make(&n, results), FE_OK);
  assert_type(f, results[0], "tensor<2x3x4xf32>");
  assert_type(f, fe_operand(fe_def(results[0]), 1), "tensor<3x1xf32>");

  fe_node split = {.ir = ir, .row = fe_op_find("", "Split", 11), .opset = 11};
  split.n_out = 2;
  fe_push(f->u->arena, &split.in, fe_block_arg(b, 0));
  fe_node_set_int(&split, "axis", -1);
  fe_node_set_ints(&split, "split", 2, (int64_t[]){1, 3});
  assert_int_equal(fe_node_make(&split, results), FE_OK);
  assert_type(f, results[0], "tensor<2x3x1xf32>");
  assert_type(f, results[1], "tensor<2x3x3xf32>");

  fe_node wrong = {.ir = ir, .row = fe_op_find("", "Relu", 13), .opset = 13};
  wrong.n_out = 1;
  fe_push(f->u->arena, &wrong.in, fe_block_arg(b, 0));
  fe_node_set_int(&wrong, "slope", 1);
  assert_int_equal(fe_node_make(&wrong, results), FE_FAILED);
  assert_message(f, "the operator has no attribute 'slope'");
  f->u->diags.errors = 0;
  assert_ok(f);
  end(f);
}

//===-- Constants -----------------------------------------------------------//

static void constants_keep_their_bytes(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  ARGS(f, "tensor<f32>");
  static const fe_dtype types[] = {FE_F32, FE_U8,  FE_I8,   FE_U16,   FE_I16,
                                   FE_I32, FE_I64, FE_BOOL, FE_F16,   FE_F64,
                                   FE_U32, FE_U64, FE_BF16, FE_F8E5M2};
  static const int64_t counts[] = {0, 1, 5, 64, 200};
  for (size_t i = 0; i < FE_COUNT(types); ++i)
    for (size_t k = 0; k < FE_COUNT(counts); ++k)
      for (int splat = 0; splat < 2; ++splat) {
        size_t width = fe_dtype_bits(types[i]) / 8;
        size_t size = width * (size_t)counts[k];
        uint8_t *bytes = fe_alloc(f->u->arena, size);
        for (size_t b = 0; b < size; ++b)
          bytes[b] = types[i] == FE_BOOL ? (splat ? 1 : b % 3 == 0)
                                         : (uint8_t)(splat ? b % width : b * 7);
        MlirValue v = fe_constant(ir, NULL, types[i], 1, &counts[k], bytes);
        fe_const c;
        assert_false(fe_is_null(v));
        assert_true(fe_const_of(ir, v, &c));
        assert_int_equal(c.dtype, types[i]);
        assert_int_equal(c.count, counts[k]);
        assert_int_equal(c.size, size);
        assert_memory_equal(c.data, bytes, size);
      }
  static const fe_dtype exact[] = {FE_F32, FE_F16, FE_BF16, FE_F64,
                                   FE_I8,  FE_I32, FE_I64,  FE_I16};
  for (size_t i = 0; i < FE_COUNT(exact); ++i) {
    double v = 0;
    assert_true(fe_const_scalar(ir, fe_constant_scalar(ir, exact[i], -3), &v));
    assert_float_equal(v, -3, 0);
  }
  double half = 0;
  assert_true(fe_const_scalar(ir, fe_constant_scalar(ir, FE_F16, 0.1), &half));
  assert_float_equal(half, 0.0999755859375, 0); // numpy.float16(0.1)
  assert_true(fe_const_scalar(ir, fe_constant_scalar(ir, FE_BOOL, 1), &half));
  assert_float_equal(half, 1, 0);
  assert_ok(f);
  end(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_rows),
      cmocka_unit_test(dialect_is_accepted_by_mlir_opt),
      cmocka_unit_test(infers_broadcast),
      cmocka_unit_test(refuses_with_names),
      cmocka_unit_test(follows_shapes),
      cmocka_unit_test(follows_shape_computations),
      cmocka_unit_test(shares_contents),
      cmocka_unit_test(upgrades_and_expands_nodes),
      cmocka_unit_test(constants_keep_their_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
