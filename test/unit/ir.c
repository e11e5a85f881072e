//===- ir.c - tests of the checked layer over MLIR ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every helper is used on good operands, in functions that are verified,
// lowered, run, and compared with the same computation in C; and on null
// operands, which must not crash.
//
//===----------------------------------------------------------------------===//
#include "jit.h"

#include <math.h>
#include <pthread.h>

//===-- Element types and dims ----------------------------------------------//

static void element_types(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  assert_string_equal(fe_dtype_name(FE_F8E4M3FNUZ), "float8e4m3fnuz");
  assert_string_equal(fe_dtype_short(FE_I64), "i64");
  assert_string_equal(fe_dtype_name((fe_dtype)99), "undefined");
  assert_int_equal(fe_dtype_bits(FE_BOOL), 8);
  assert_int_equal(fe_dtype_bits(FE_I4), 4);
  assert_int_equal(fe_dtype_bytes(FE_I4), 1);
  assert_true(fe_dtype_is_int(FE_U4) && fe_dtype_is_unsigned(FE_U4));
  assert_false(fe_dtype_is_int(FE_BOOL) || fe_dtype_is_float(FE_C64));
  for (int t = 1; t < FE_DTYPE_COUNT; t++) {
    MlirType type = fe_elem_type(ir, (fe_dtype)t);
    assert_int_equal(fe_dtype_of_elem(type), t);
    fe_tensor_static(ir, type, 1, (int64_t[]){3});
    fe_memref_type(ir, fe_storage_type(ir, (fe_dtype)t), 1, (int64_t[]){3});
  }
  assert_true(mlirTypeEqual(fe_storage_type(ir, FE_BOOL), ir->i8));
  assert_true(mlirTypeEqual(fe_storage_type(ir, FE_U8), ir->i8));
  expect_ok(f, fe_ir_ok(ir, "test", f->m));
  assert_null(fe_elem_type(ir, FE_UNDEFINED).ptr);
  assert_true(ir->failed);
  end(f);
}

static void dims(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  MlirAffineExpr s = fe_dim_symbol(ir, 0), t = fe_dim_symbol(ir, 1);
#define C(v) fe_dim_const(ir, (v))
  assert_true(fe_dim_same(fe_dim_floordiv(fe_dim_mul(s, C(4)), C(4)), s));
  assert_true(fe_dim_same(fe_dim_sub(ir, s, s), C(0)));
  assert_true(fe_dim_same(fe_dim_sub(ir, fe_dim_add(s, t), t), s));
  assert_true(fe_dim_same(fe_dim_add(s, C(0)), s));
  assert_true(fe_dim_same(fe_dim_mul(C(1), s), s));
  assert_true(fe_dim_same(fe_dim_mul(s, t), fe_dim_mul(t, s)));
  assert_true(fe_dim_same(fe_dim_add(s, t), fe_dim_add(t, s)));
  assert_true(fe_dim_same(fe_dim_mod(fe_dim_mul(s, C(6)), C(3)), C(0)));
  MlirAffineExpr n = fe_dim_mul(fe_dim_mul(s, t), C(12));
  assert_true(fe_dim_same(fe_dim_floordiv(n, fe_dim_mul(t, C(3))),
                          fe_dim_mul(s, C(4))));
  assert_true(fe_dim_same(fe_dim_floordiv(n, n), C(1)));
  assert_true(fe_dim_same(fe_dim_ceildiv(n, fe_dim_mul(t, s)), C(12)));
  assert_true(fe_dim_same(fe_dim_mod(n, fe_dim_mul(t, s)), C(0)));
  // ((s + 1) * 2 + 2 * t) - 2 * t - 2 = 2 * s
  MlirAffineExpr e =
      fe_dim_add(fe_dim_mul(fe_dim_add(s, C(1)), C(2)), fe_dim_mul(t, C(2)));
  e = fe_dim_sub(ir, fe_dim_sub(ir, e, fe_dim_mul(t, C(2))), C(2));
  assert_true(fe_dim_same(e, fe_dim_mul(s, C(2))));
  static const int64_t cases[][4] = {
      {7, 2, 3, 4}, {-7, 2, -4, -3}, {6, 3, 2, 2}, {0, 5, 0, 0}};
  for (unsigned i = 0; i < FE_COUNT(cases); i++) {
    MlirAffineExpr a = C(cases[i][0]), b = C(cases[i][1]);
    assert_int_equal(fe_dim_static(fe_dim_floordiv(a, b)), cases[i][2]);
    assert_int_equal(fe_dim_static(fe_dim_ceildiv(a, b)), cases[i][3]);
  }
  assert_int_equal(fe_dim_static(fe_dim_mod(C(-7), C(2))), 1);
  assert_int_equal(fe_dim_static(s), FE_DYN);
  // What does not exist is null, and null stays null.
  MlirAffineExpr null = {0};
  assert_null(fe_dim_floordiv(s, C(0)).ptr);
  assert_null(fe_dim_mod(C(1), C(0)).ptr);
  assert_null(fe_dim_mul(C(INT64_MAX), C(2)).ptr);
  assert_null(fe_dim_add(C(INT64_MAX), C(1)).ptr);
  assert_null(fe_dim_add(null, s).ptr);
  assert_null(fe_dim_sub(ir, s, null).ptr);
  assert_null(fe_dim_ceildiv(null, null).ptr);
  assert_false(fe_dim_same(null, null));
  assert_int_equal(fe_dim_static(null), FE_DYN);
  // Division by a product of symbols that does not cancel.
  fe_dim_floordiv(fe_dim_add(s, C(3)), fe_dim_mul(s, t));
  fe_dim_mod(fe_dim_mul(s, t), fe_dim_add(s, t));

  fe_dims d = {.rank = 3, .d = {fe_dim_mul(s, C(2)), C(3), t}}, back;
  MlirType type = fe_tensor_type(ir, ir->f32, &d);
  fe_func_begin(ir, f->m, "g", true, 1, &type);
  MlirValue v = fe_block_arg(ir->block, 0);
  assert_true(fe_dims_of(ir, v, &back));
  assert_int_equal(back.rank, 3);
  for (unsigned i = 0; i < 3; i++)
    assert_true(fe_dim_same(back.d[i], d.d[i]));
  assert_int_equal(fe_static_dim(v, 1), 3);
  assert_int_equal(fe_static_dim(v, 2), FE_DYN);
  assert_int_equal(fe_static_dim(v, 3), FE_DYN);
  assert_int_equal(fe_rank(v), 3);
  d.d[0] = d.d[2] = C(5);
  assert_true(
      mlirTypeEqual(fe_tensor_type(ir, ir->f32, &d),
                    fe_tensor_static(ir, ir->f32, 3, (int64_t[]){5, 3, 5})));
  assert_false(ir->failed);
  d.d[0] = null;
  assert_null(fe_tensor_type(ir, ir->f32, &d).ptr);
  assert_true(ir->failed);
#undef C
  end(f);
}

//===-- Arithmetic ----------------------------------------------------------//

/// f(in, out): out[k] = op k of in[0], in[1].
static void arithmetic_int(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  MlirType args[] = {flat(ir, ir->i32), flat(ir, ir->i32)};
  MlirOperation func = fe_func_begin(ir, f->m, "k", false, 2, args);
  MlirBlock entry = ir->block;
  MlirValue in = fe_block_arg(entry, 0), out = fe_block_arg(entry, 1);
  MlirValue a = fe_load(ir, in, FE_IDX(fe_index(ir, 0)));
  MlirValue b = fe_load(ir, in, FE_IDX(fe_index(ir, 1)));
  MlirValue (*const ops[])(fe_ir *, MlirValue, MlirValue) = {
      fe_add,      fe_sub,     fe_mul, fe_div,  fe_divu, fe_rem,  fe_remu,
      fe_floordiv, fe_ceildiv, fe_min, fe_max,  fe_minu, fe_maxu, fe_and,
      fe_or,       fe_xor,     fe_shl, fe_shru, fe_shrs};
  unsigned n = 0;
  for (; n < FE_COUNT(ops); n++) {
    MlirValue v = ops[n](ir, a, b);
    fe_store(ir, v, out, FE_IDX(fe_index(ir, n)));
    // A vector works like its elements, a scalar is broadcast.
    MlirValue w = ops[n](ir, fe_splat(ir, a, 4), b);
    assert_int_equal(fe_static_dim(w, 0), 4);
    v = fe_vreduce(ir, "maxsi", ops[n](ir, a, fe_splat(ir, b, 4)));
    fe_store(ir, v, out, FE_IDX(fe_index(ir, 64 + n)));
  }
  fe_store(ir, fe_neg(ir, a), out, FE_IDX(fe_index(ir, n++)));
  fe_store(ir, fe_not(ir, a), out, FE_IDX(fe_index(ir, n++)));
  for (unsigned k = FE_EQ; k <= FE_GE; k++)
    for (unsigned u = 0; u < 2; u++) {
      MlirValue c = u ? fe_cmpu(ir, (fe_cmp_kind)k, a, b)
                      : fe_cmp(ir, (fe_cmp_kind)k, a, b);
      MlirValue v = fe_select(ir, fe_not(ir, c), fe_int(ir, ir->i32, 10),
                              fe_int(ir, ir->i32, 11));
      fe_store(ir, v, out, FE_IDX(fe_index(ir, n++)));
    }
  fe_func_end(ir, func, 0, NULL);
  void (*k)(FLAT_PARAMS, FLAT_PARAMS) =
      (void (*)(FLAT_PARAMS, FLAT_PARAMS))compile(f, "k");
  static const int32_t pairs[][2] = {{7, 3}, {-7, 3}, {8, 4}, {5, 5}, {-1, 2}};
  for (unsigned i = 0; i < FE_COUNT(pairs); i++) {
    int32_t got[128], x = pairs[i][0], y = pairs[i][1];
    uint32_t ux = (uint32_t)x, uy = (uint32_t)y;
    int32_t want[] = {
        x + y,
        x - y,
        x * y,
        x / y,
        (int32_t)(ux / uy),
        x % y,
        (int32_t)(ux % uy),
        (int32_t)floor((double)x / y),
        (int32_t)ceil((double)x / y),
        x < y ? x : y,
        x > y ? x : y,
        (int32_t)(ux < uy ? ux : uy),
        (int32_t)(ux > uy ? ux : uy),
        x & y,
        x | y,
        x ^ y,
        (int32_t)(ux << y),
        (int32_t)(ux >> y),
        x >> y,
        -x,
        ~x,
        10 + (x == y),
        10 + (ux == uy),
        10 + (x != y),
        10 + (ux != uy),
        10 + (x < y),
        10 + (ux < uy),
        10 + (x <= y),
        10 + (ux <= uy),
        10 + (x > y),
        10 + (ux > uy),
        10 + (x >= y),
        10 + (ux >= uy),
    };
    k(FLAT((void *)pairs[i], 2), FLAT(got, 128));
    assert_int_equal(n, FE_COUNT(want));
    for (unsigned j = 0; j < n; j++)
      assert_int_equal(got[j], want[j]);
    for (unsigned j = 0; j < FE_COUNT(ops); j++)
      assert_int_equal(got[64 + j], want[j]);
  }
  end(f);
}

static void arithmetic_float(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  MlirType args[] = {flat(ir, ir->f32), flat(ir, ir->f32)};
  MlirOperation func = fe_func_begin(ir, f->m, "k", false, 2, args);
  MlirBlock entry = ir->block;
  MlirValue in = fe_block_arg(entry, 0), out = fe_block_arg(entry, 1);
  MlirValue a = fe_load(ir, in, FE_IDX(fe_index(ir, 0)));
  MlirValue b = fe_load(ir, in, FE_IDX(fe_index(ir, 1)));
  MlirValue (*const ops[])(fe_ir *, MlirValue, MlirValue) = {
      fe_add, fe_sub, fe_mul, fe_div, fe_rem, fe_min, fe_max};
  unsigned n = 0;
  for (; n < FE_COUNT(ops); n++)
    fe_store(ir, ops[n](ir, a, b), out, FE_IDX(fe_index(ir, n)));
  fe_store(ir, fe_neg(ir, a), out, FE_IDX(fe_index(ir, n++)));
  fe_store(ir, fe_math(ir, "absf", a), out, FE_IDX(fe_index(ir, n++)));
  fe_store(ir, fe_math(ir, "floor", a), out, FE_IDX(fe_index(ir, n++)));
  fe_store(ir, fe_math2(ir, "copysign", a, b), out, FE_IDX(fe_index(ir, n++)));
  fe_store(ir, fe_fma(ir, a, b, a), out, FE_IDX(fe_index(ir, n++)));
  MlirValue w = fe_fma(ir, fe_splat(ir, a, 8), b, a);
  fe_store(ir, fe_vreduce(ir, "maximumf", w), out, FE_IDX(fe_index(ir, n++)));
  fe_store(ir, fe_vreduce(ir, "add", fe_splat(ir, a, 8)), out,
           FE_IDX(fe_index(ir, n++)));
  MlirValue one = fe_float(ir, ir->f32, 1), zero = fe_number(ir, ir->f32, 0);
  for (unsigned k = FE_EQ; k <= FE_GE; k++)
    fe_store(ir, fe_select(ir, fe_cmp(ir, (fe_cmp_kind)k, a, b), one, zero),
             out, FE_IDX(fe_index(ir, n++)));
  fe_store(ir, fe_select(ir, fe_math(ir, "isnan", a), one, zero), out,
           FE_IDX(fe_index(ir, n++)));
  // A vector condition on scalars gives a vector.
  MlirValue c = fe_cmp(ir, FE_LT, fe_splat(ir, a, 4), b);
  fe_store(ir, fe_vreduce(ir, "minimumf", fe_select(ir, c, one, zero)), out,
           FE_IDX(fe_index(ir, n++)));
  fe_func_end(ir, func, 0, NULL);
  void (*k)(FLAT_PARAMS, FLAT_PARAMS) =
      (void (*)(FLAT_PARAMS, FLAT_PARAMS))compile(f, "k");
  static const float pairs[][2] = {{7, 3},   {-2.5f, 4}, {NAN, 1},
                                   {1, NAN}, {2, 2},     {INFINITY, 1}};
  for (unsigned i = 0; i < FE_COUNT(pairs); i++) {
    float got[32], x = pairs[i][0], y = pairs[i][1];
    bool unordered = isnan(x) || isnan(y);
    float want[] = {
        x + y,
        x - y,
        x * y,
        x / y,
        fmodf(x, y),
        unordered ? NAN : fminf(x, y),
        unordered ? NAN : fmaxf(x, y),
        -x,
        fabsf(x),
        floorf(x),
        copysignf(x, y),
        x * y + x,
        x * y + x,
        8 * x,
        x == y,
        x != y,
        x<y, x <= y, x>
            y,
        x >= y,
        isnan(x),
        x < y,
    };
    k(FLAT((void *)pairs[i], 2), FLAT(got, 32));
    assert_int_equal(n, FE_COUNT(want));
    for (unsigned j = 0; j < n; j++)
      if (isnan(want[j]))
        assert_true(isnan(got[j]));
      else
        assert_true(got[j] == want[j]);
  }
  end(f);
}

//===-- Control flow --------------------------------------------------------//

static void control_flow(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  // Steps of Collatz's sequence of n, and in out[0] the largest member.
  MlirType args[] = {ir->i64, flat(ir, ir->i64)};
  MlirOperation func = fe_func_begin(ir, f->m, "k", false, 2, args);
  MlirBlock entry = ir->block;
  MlirValue n = fe_block_arg(entry, 0), out = fe_block_arg(entry, 1);
  MlirValue zero = fe_index(ir, 0), one = fe_int(ir, ir->i64, 1);
  MlirValue init[] = {n, zero};
  fe_region w = fe_while_begin(ir, 2, init);
  // The condition passes on other types than it gets.
  MlirValue v = fe_block_arg(w.body, 0), steps = fe_block_arg(w.body, 1);
  MlirValue more = fe_cmp(ir, FE_NE, v, one);
  MlirValue pass[] = {v, steps, fe_convert(ir, v, ir->f64, false, false)};
  fe_while_do(ir, &w, more, 3, pass);
  v = fe_block_arg(w.body, 0);
  MlirValue old = fe_load(ir, out, FE_IDX(zero));
  fe_region g = fe_if_begin(ir, fe_cmp(ir, FE_GT, v, old), 0, NULL, false);
  fe_store(ir, v, out, FE_IDX(zero));
  fe_if_end(ir, &g, 0, NULL);
  MlirValue two = fe_int(ir, ir->i64, 2);
  MlirValue even = fe_cmp(ir, FE_EQ, fe_rem(ir, v, two), fe_sub(ir, one, one));
  fe_region c = fe_if_begin(ir, even, 1, &ir->i64, true);
  MlirValue half = fe_div(ir, v, two);
  fe_if_else(ir, &c, 1, &half);
  MlirValue up = fe_add(ir, fe_mul(ir, v, fe_int(ir, ir->i64, 3)), one);
  fe_if_end(ir, &c, 1, &up);
  MlirValue next[] = {fe_result(c.op, 0),
                      fe_add(ir, fe_block_arg(w.body, 1), fe_index(ir, 1))};
  fe_while_end(ir, &w, 2, next);
  assert_int_equal(fe_n_results(w.op), 3);
  // The same count by a loop with an iteration argument.
  fe_region l = fe_for_begin(ir, zero, fe_result(w.op, 1), fe_index(ir, 1), 1,
                             (MlirValue[]){fe_int(ir, ir->i64, 0)});
  MlirValue sum = fe_add(ir, fe_block_arg(l.body, 1), one);
  fe_for_end(ir, &l, 1, &sum);
  MlirValue result = fe_result(l.op, 0);
  fe_func_end(ir, func, 1, &result);
  int64_t (*k)(int64_t, FLAT_PARAMS) =
      (int64_t (*)(int64_t, FLAT_PARAMS))compile(f, "k");
  int64_t top = 0;
  assert_int_equal(k(27, FLAT(&top, 1)), 111);
  assert_int_equal(top, 9232);
  end(f);
}

static void calls(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  fe_func_declare(ir, f->m, "sqrtf", 1, &ir->f32, 1, &ir->f32);
  MlirOperation func = fe_func_begin(ir, f->m, "k", false, 1, &ir->f32);
  MlirValue x = fe_block_arg(ir->block, 0);
  MlirValue y = fe_first(fe_call(ir, "sqrtf", 1, &x, 1, &ir->f32));
  fe_func_end(ir, func, 1, &y);
  assert_false(mlirOperationIsNull(fe_func_find(f->m, "k")));
  assert_true(mlirOperationIsNull(fe_func_find(f->m, "none")));
  assert_true(mlirBlockIsNull(fe_func_block(fe_func_find(f->m, "sqrtf"))));
  assert_true(((float (*)(float))compile(f, "k"))(9) == 3);
  end(f);
}

//===-- Memory --------------------------------------------------------------//

static void memory(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  // out[0..16) = in[0..16); out[16..26) = in[16..26) masked, through the stack;
  // then views: element (1, 2, 3) of in[4..] seen as ? x 3 x 5.
  MlirType args[] = {flat(ir, ir->f32), flat(ir, ir->f32), ir->index,
                     ir->index};
  MlirOperation func = fe_func_begin(ir, f->m, "k", false, 4, args);
  MlirBlock entry = ir->block;
  MlirValue in = fe_block_arg(entry, 0), out = fe_block_arg(entry, 1);
  MlirValue active = fe_block_arg(entry, 2), off = fe_block_arg(entry, 3);
  MlirValue zero = fe_index(ir, 0), c16 = fe_index(ir, 16);
  fe_vstore(ir, fe_vload(ir, 16, in, FE_IDX(zero)), out, FE_IDX(zero));
  MlirValue tail = fe_vload_masked(ir, 16, active, in, FE_IDX(c16));
  fe_region l = fe_loop(ir, fe_index(ir, 1));
  MlirType stack_type = fe_memref_type(ir, ir->f32, 2, (int64_t[]){2, 16});
  MlirValue stack = fe_alloca(ir, stack_type);
  assert_true(mlirBlockEqual(mlirOperationGetBlock(fe_def(stack)), entry));
  fe_vstore(ir, tail, stack, FE_IDX(l.iv, zero));
  tail = fe_vload(ir, 16, stack, FE_IDX(l.iv, zero));
  fe_vstore_masked(ir, tail, active, out, FE_IDX(c16));
  fe_loop_end(ir, &l);
  MlirValue i1 = fe_index(ir, 1), i2 = fe_index(ir, 2), i3 = fe_index(ir, 3);
  MlirValue sizes[4] = {i2};
  int64_t shape[] = {FE_DYN, 3, 5};
  MlirValue view = fe_view(ir, in, fe_index(ir, 4), 3, shape, sizes);
  fe_store(ir, fe_load(ir, view, FE_IDX(i1, i2, i3)), out,
           FE_IDX(fe_index(ir, 32)));
  // The same place by a view with run-time sizes, and a view of that view.
  int64_t open[] = {FE_DYN, FE_DYN, FE_DYN};
  MlirValue all[] = {i2, i3, fe_add(ir, off, i1)};
  MlirValue moved = fe_view(ir, in, off, 3, open, all);
  fe_store(ir, fe_load(ir, moved, FE_IDX(i1, i2, i3)), out,
           FE_IDX(fe_index(ir, 33)));
  MlirValue again = fe_view(ir, moved, off, 1, open, &i2);
  fe_store(ir, fe_load(ir, again, FE_IDX(i1)), out, FE_IDX(fe_index(ir, 34)));
  fe_vstore(ir, fe_vload(ir, 2, moved, FE_IDX(i1, i2, i3)), out,
            FE_IDX(fe_index(ir, 35)));
  // Offset 0 has identity layout.
  MlirValue whole = fe_view(ir, stack, zero, 1, (int64_t[]){32}, NULL);
  assert_true(mlirTypeEqual(mlirValueGetType(whole),
                            fe_memref_type(ir, ir->f32, 1, (int64_t[]){32})));
  fe_store(ir, fe_load(ir, whole, FE_IDX(i3)), out, FE_IDX(fe_index(ir, 37)));
  MlirValue scalar = fe_view(ir, in, off, 0, NULL, NULL);
  fe_store(ir, fe_load(ir, scalar, 0, NULL), out, FE_IDX(fe_index(ir, 38)));
  MlirValue huge = fe_mul(ir, active, fe_index(ir, (int64_t)1 << 40));
  fe_vstore_masked(ir, fe_vload_masked(ir, 16, huge, in, FE_IDX(zero)), huge,
                   out, FE_IDX(fe_index(ir, 48)));
  fe_func_end(ir, func, 0, NULL);
  void (*k)(FLAT_PARAMS, FLAT_PARAMS, int64_t, int64_t) =
      (void (*)(FLAT_PARAMS, FLAT_PARAMS, int64_t, int64_t))compile(f, "k");
  float x[64], y[64] = {0};
  for (unsigned i = 0; i < 64; i++)
    x[i] = (float)i + 1;
  k(FLAT(x, 64), FLAT(y, 64), 10, 4);
  assert_memory_equal(x, y, 26 * sizeof *x);
  for (unsigned i = 26; i < 32; i++)
    assert_true(y[i] == 0);
  unsigned place = 4 + 1 * 15 + 2 * 5 + 3;
  assert_true(y[32] == x[place]);
  assert_true(y[33] == x[place]);
  assert_true(y[34] == x[4 + 4 + 1]);
  assert_true(y[35] == x[place] && y[36] == x[place + 1]);
  assert_true(y[37] == x[16 + 3]);
  assert_true(y[38] == x[4]);
  assert_memory_equal(y + 48, x, 16 * sizeof *x);
  end(f);
}

//===-- Reading, text, diagnostics ------------------------------------------//

static void erase_adds(MlirOperation op, void *user) {
  unsigned *n = user;
  ++*n;
  if (fe_op_is(op, "arith.addi"))
    fe_erase(op);
}

static void reading(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  MlirOperation func = fe_func_begin(ir, f->m, "k", true, 1, &ir->index);
  MlirBlock entry = ir->block;
  MlirValue x = fe_block_arg(entry, 0);
  assert_true(mlirOperationIsNull(fe_def(x)));
  MlirValue sum = fe_add(ir, x, x);
  fe_region l = fe_loop(ir, x);
  MlirValue inner = fe_add(ir, l.iv, sum);
  fe_loop_end(ir, &l);
  fe_func_end(ir, func, 0, NULL);
  assert_int_equal(fe_n_uses(sum), 1);
  fe_erase(fe_def(sum)); // refused
  assert_int_equal(fe_n_uses(x), 3);
  fe_replace(sum, x);
  assert_true(fe_same(fe_operand(fe_def(inner), 1), x));
  assert_true(fe_is_null(fe_operand(fe_def(inner), 2)));
  assert_true(fe_op_in(fe_def(inner), "arith"));
  assert_false(fe_op_in(fe_def(inner), "ari"));
  assert_string_equal(fe_op_name(ir->arena, fe_def(inner)), "addi");
  unsigned n = 0;
  fe_walk(mlirModuleGetBody(f->m), erase_adds, &n);
  // add, two constants, add, yield, for, return, func
  assert_int_equal(n, 8);
  assert_int_equal(fe_n_uses(x), 1);

  fe_set_attr(ir, func, fe_at_i64(ir, "t.a", -5));
  fe_set_attr(ir, func, fe_at_f32(ir, "t.b", 0.5));
  fe_set_attr(ir, func, fe_at_str(ir, "t.c", "text"));
  fe_set_attr(ir, func, fe_at_i64s(ir, "t.d", 3, (int64_t[]){1, -2, 3}));
  fe_set_attr(ir, func, fe_at_f32s(ir, "t.e", 2, (float[]){1, 2}));
  fe_set_attr(ir, func, fe_at_unit(ir, "t.f"));
  fe_set_attr(ir, func, fe_at_strs(ir, "t.g", 1, (const char *[]){"x"}));
  fe_set_attr(ir, func, fe_named(ir, "t.h", fe_attr_parse(ir, "true")));
  fe_set_attr(ir, func, fe_at_i64s(ir, "t.i", 0, NULL));
  assert_int_equal(fe_attr_i64(func, "t.a", 0), -5);
  assert_int_equal(fe_attr_i64(func, "t.none", 7), 7);
  assert_int_equal(fe_attr_i64(func, "t.h", 0), 1);
  assert_true(fe_attr_f64(func, "t.b", 0) == 0.5);
  assert_true(fe_attr_f64(func, "t.a", 0) == -5);
  assert_string_equal(fe_attr_str(ir->arena, func, "t.c", ""), "text");
  assert_string_equal(fe_attr_str(ir->arena, func, "sym_name", ""), "k");
  assert_null(fe_attr_str(ir->arena, func, "t.none", NULL));
  int64_t ints[2];
  float floats[4];
  assert_int_equal(fe_attr_i64s(func, "t.d", ints, 2), 2);
  assert_int_equal(ints[1], -2);
  assert_int_equal(fe_attr_i64s(func, "t.i", ints, 2), 0);
  assert_int_equal(fe_attr_i64s(func, "t.c", ints, 2), 0);
  assert_int_equal(fe_attr_f32s(func, "t.e", floats, 4), 2);
  assert_true(fe_has_attr(func, "t.f") && !fe_has_attr(func, "t.z"));
  expect_ok(f, fe_ir_ok(ir, "test", f->m));
  end(f);
}

static void text(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  ir->loc = fe_loc_name(ir, "node \"7\"");
  MlirType t = fe_tensor_static(ir, ir->f32, 1, (int64_t[]){4});
  MlirOperation func = fe_func_begin(ir, f->m, "k", false, 1, &t);
  MlirValue x = fe_block_arg(ir->block, 0);
  x = fe_first(FE_OP(ir, "onnx.relu", FE_VALUES(x), FE_TYPES(t)));
  fe_func_end(ir, func, 1, &x);
  expect_ok(f, fe_ir_ok(ir, "test", f->m));
  MlirOperation op = mlirModuleGetOperation(f->m);
  const char *plain = fe_print(ir->arena, op);
  assert_null(strstr(plain, "loc("));
  const char *full = fe_print_full(ir->arena, op);
  MlirModule back = fe_parse(ir, full, "dump.mlir");
  assert_false(mlirModuleIsNull(back));
  assert_string_equal(fe_print(ir->arena, mlirModuleGetOperation(back)), plain);
  MlirBlock b = fe_func_block(fe_func_find(back, "k"));
  MlirOperation relu = mlirBlockGetFirstOperation(b);
  assert_true(fe_op_is(relu, "onnx.relu"));
  assert_string_equal(fe_loc_node(ir, mlirOperationGetLocation(relu)),
                      "node \"7\"");
  MlirLocation fused[] = {mlirLocationUnknownGet(ir->ctx), ir->loc};
  assert_string_equal(
      fe_loc_node(
          ir, mlirLocationFusedGet(ir->ctx, 2, fused, mlirAttributeGetNull())),
      "node \"7\"");
  assert_null(fe_loc_node(ir, mlirLocationUnknownGet(ir->ctx)));
  mlirModuleDestroy(back);
  end(f);
}

static void diagnostics(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  assert_true(mlirModuleIsNull(fe_parse(ir, "\nfunc.func @f(", "bad.mlir")));
  assert_int_equal(f->u->diags.errors, 1);
  assert_int_equal(f->u->diags.internal, 0);
  assert_non_null(strstr(f->u->messages->at, "error: 2:"));
  assert_true(mlirModuleIsNull(fe_parse(ir, "nothing", "bad.mlir")));
  assert_int_equal(fe_run_passes(ir, mlirModuleGetOperation(f->m),
                                 "builtin.module(nosuchpass)"),
                   FE_FAILED);
  assert_non_null(strstr(f->u->messages->at, "nosuchpass"));
  end(f);
  // The verifier's message names the node.
  f = begin();
  ir = &f->ir;
  ir->loc = fe_loc_name(ir, "Conv_12");
  fe_func_begin(ir, f->m, "k", false, 1, &ir->f32);
  FE_OP(ir, "onnx.relu", FE_TYPES(ir->f32));
  assert_int_equal(fe_run_passes(ir, mlirModuleGetOperation(f->m),
                                 "builtin.module(canonicalize)"),
                   FE_FAILED);
  assert_int_equal(fe_ir_ok(ir, "optimize", f->m), FE_FAILED);
  assert_non_null(strstr(f->u->messages->at, "internal: Conv_12: "));
  assert_non_null(strstr(f->u->messages->at, "optimize"));
  end(f);
  // So does the message about a malformed construction.
  f = begin();
  ir = &f->ir;
  ir->loc = fe_loc_name(ir, "Conv_12");
  FE_OP(ir, "onnx.nosuch", FE_TYPES(ir->f32));
  assert_int_equal(fe_ir_ok(ir, "optimize", f->m), FE_FAILED);
  assert_non_null(strstr(f->u->messages->at, "onnx.nosuch"));
  assert_non_null(strstr(f->u->messages->at, "Conv_12"));
  end(f);
  // A dialect that IRDL rejects.
  unit *u = unit_begin();
  const char *broken = "irdl.dialect @x { irdl.operation @Y { irdl.oops } }";
  assert_null(fe_context_create(&u->diags, &broken, 1).ptr);
  assert_true(u->diags.errors > 0);
  unit_end(u);
}

static void blobs(void **state) {
  (void)state;
  fixture *f = begin();
  const char *a = fe_blob_add(&f->blobs, "w", "abc", 3, NULL, 0)->name;
  const char *b = fe_blob_add(&f->blobs, "w", "de", 2, "model", 8)->name;
  const char *c = fe_blob_add(&f->blobs, NULL, "", 0, NULL, 0)->name;
  assert_string_equal(a, "w");
  assert_string_not_equal(a, b);
  assert_string_not_equal(c, "");
  assert_int_equal(fe_blob_find(&f->blobs, b)->size, 2);
  assert_null(fe_blob_find(&f->blobs, "none"));
  assert_null(fe_blob_find(&f->blobs, NULL));
  end(f);
}

static void two_letters(const void *recipe, size_t part, void *at) {
  const char *word = recipe;
  ((char *)at)[0] = word[2 * part]; // the other one stays zero
}

static void three_letters(const void *recipe, size_t part, void *at) {
  const char *word = recipe;
  for (size_t i = 0; i < 3; i++)
    if ((3 * part + i) % 2 == 0)
      ((char *)at)[i] = word[3 * part + i];
}

/// What is promised is made when it is asked for, once, from its parts.
static void promised_blobs(void **state) {
  (void)state;
  fixture *f = begin();
  fe_blob *b = fe_blob_promise(&f->blobs, "w", 6, 3, two_letters, "abcdef");
  char at[6] = {0};
  assert_null(b->data);
  fe_blob_put(b, at);
  assert_memory_equal(at, "a\0c\0e", 6);
  assert_null(b->data);
  const void *data = fe_blob_data(&f->blobs, b);
  assert_memory_equal(data, at, 6);
  assert_ptr_equal(fe_blob_data(&f->blobs, b), data);
  // Beginnings and comparisons make parts, whatever their size.
  fe_blob *c = fe_blob_promise(&f->blobs, "w", 6, 3, two_letters, "abcdef");
  fe_blob *d = fe_blob_promise(&f->blobs, "w", 6, 2, three_letters, "a-c-e-");
  fe_blob *e = fe_blob_promise(&f->blobs, "w", 6, 3, two_letters, "abcdxf");
  char first[4] = {0};
  fe_blob_begin(&f->blobs, c, 3, first);
  assert_memory_equal(first, "a\0c", 4);
  fe_blob_begin(&f->blobs, b, 3, first);
  assert_memory_equal(first, "a\0c", 4);
  assert_true(fe_blob_same(&f->blobs, b, c));
  assert_true(fe_blob_same(&f->blobs, c, b));
  assert_true(fe_blob_same(&f->blobs, c, c));
  assert_true(fe_blob_same(&f->blobs, c, d));
  assert_false(fe_blob_same(&f->blobs, c, e));
  assert_false(fe_blob_same(&f->blobs, e, b));
  assert_null(c->data);
  memset(at, 0, sizeof at);
  fe_blob_put(b, at);
  assert_memory_equal(data, at, 6);
  end(f);
}

//===-- Threads ------------------------------------------------------------//

static void *one_thread(void *user) {
  (void)user;
  for (unsigned i = 0; i < 3; i++) {
    fixture *f = begin();
    fe_ir *ir = &f->ir;
    MlirOperation func = fe_func_begin(ir, f->m, "k", false, 1, &ir->f32);
    MlirValue x = fe_block_arg(ir->block, 0);
    x = fe_math(ir, "exp", fe_add(ir, x, x));
    fe_func_end(ir, func, 1, &x);
    expect_ok(f, fe_ir_ok(ir, "test", f->m));
    expect_ok(f,
              fe_run_passes(ir, mlirModuleGetOperation(f->m), unit_lowering));
    end(f);
  }
  return NULL;
}

/// Each thread has its own context; the first ones race to register passes.
static void threads(void **state) {
  (void)state;
  pthread_t t[4];
  for (unsigned i = 0; i < FE_COUNT(t); i++)
    assert_int_equal(pthread_create(&t[i], NULL, one_thread, NULL), 0);
  for (unsigned i = 0; i < FE_COUNT(t); i++)
    assert_int_equal(pthread_join(t[i], NULL), 0);
}

//===-- Null operands -------------------------------------------------------//

/// One helper at a time, each in a fresh builder state: no crash, `failed`.
static void nulls(void **state) {
  (void)state;
  fixture *f = begin();
  fe_ir *ir = &f->ir;
  MlirType none = {0};
  MlirValue v = {0};
  MlirValue two[2] = {{0}, {0}};
  MlirOperation op = {0};
  MlirBlock block = {0};
  MlirAttribute attr = {0};
  int64_t n = 4;
  int64_t bad = -3;
  fe_func_begin(ir, f->m, "k", false, 1, &ir->index);
  MlirValue x = fe_block_arg(ir->block, 0);
#define FAILS(...)                                                             \
  do {                                                                         \
    ir->failed = false;                                                        \
    __VA_ARGS__;                                                               \
    assert_true(ir->failed);                                                   \
  } while (0)
  MlirValue (*const binary[])(fe_ir *, MlirValue, MlirValue) = {
      fe_add, fe_sub,      fe_mul,     fe_div,  fe_divu, fe_rem,  fe_remu,
      fe_min, fe_floordiv, fe_ceildiv, fe_max,  fe_minu, fe_maxu, fe_and,
      fe_or,  fe_xor,      fe_shl,     fe_shru, fe_shrs};
  for (unsigned i = 0; i < FE_COUNT(binary); i++) {
    FAILS(assert_true(fe_is_null(binary[i](ir, v, x))));
    FAILS(assert_true(fe_is_null(binary[i](ir, x, v))));
    FAILS(assert_true(fe_is_null(binary[i](ir, v, v))));
  }
  FAILS(fe_add(ir, x, fe_int(ir, ir->i32, 1))); // types differ
  FAILS(fe_shl(ir, fe_float(ir, ir->f32, 1), fe_float(ir, ir->f32, 1)));
  FAILS(fe_cmpu(ir, FE_LT, fe_float(ir, ir->f32, 1), fe_float(ir, ir->f32, 1)));
  FAILS(fe_neg(ir, v));
  FAILS(fe_not(ir, v));
  FAILS(fe_cmp(ir, FE_LT, v, x));
  FAILS(fe_cmpu(ir, FE_LT, x, v));
  FAILS(fe_select(ir, v, x, x));
  FAILS(fe_select(ir, x, v, x));
  FAILS(fe_math(ir, "exp", v));
  FAILS(fe_math(ir, "nosuch", fe_float(ir, ir->f32, 1)));
  FAILS(fe_math2(ir, "powf", v, v));
  FAILS(fe_fma(ir, v, x, x));
  FAILS(fe_fma(ir, x, x, v));
  FAILS(fe_convert(ir, v, ir->f32, false, false));
  FAILS(fe_convert(ir, x, none, false, false));
  FAILS(fe_convert(ir, x, ir->ptr, false, false));
  FAILS(fe_to_index(ir, v));
  FAILS(fe_bitcast(ir, v, ir->f32));
  FAILS(fe_bitcast(ir, x, none));
  FAILS(fe_splat(ir, v, 4));
  FAILS(fe_splat(ir, x, 0));
  FAILS(fe_int(ir, none, 1));
  FAILS(fe_int(ir, ir->f32, 1));
  FAILS(fe_float(ir, none, 1));
  FAILS(fe_float(ir, ir->i32, 1));
  FAILS(fe_number(ir, none, 1));
  FAILS(fe_vector_type(ir, 4, none));
  FAILS(fe_memref_type(ir, none, 1, &n));
  FAILS(fe_memref_type(ir, ir->f32, 1, &bad));
  FAILS(fe_tensor_static(ir, none, 1, &n));
  FAILS(fe_tensor_static(ir, ir->f32, 1, &bad));
  FAILS(fe_tensor_plain(ir, ir->f32, 1, &bad));
  FAILS(fe_load(ir, v, FE_IDX(x)));
  FAILS(fe_load(ir, x, FE_IDX(x)));
  FAILS(fe_store(ir, v, v, FE_IDX(x)));
  FAILS(fe_vload(ir, 4, v, FE_IDX(x)));
  FAILS(fe_vstore(ir, v, v, FE_IDX(x)));
  FAILS(fe_vload_masked(ir, 4, x, v, FE_IDX(x)));
  FAILS(fe_vstore_masked(ir, x, x, v, FE_IDX(x)));
  MlirValue mem = fe_alloca(ir, fe_memref_type(ir, ir->f32, 1, &n));
  FAILS(fe_load(ir, mem, FE_IDX(v)));
  FAILS(fe_load(ir, mem, 0, NULL));
  FAILS(fe_store(ir, v, mem, FE_IDX(x)));
  FAILS(fe_vload(ir, -1, mem, FE_IDX(x)));
  FAILS(fe_vload_masked(ir, 0, x, mem, FE_IDX(x)));
  FAILS(fe_vstore_masked(ir, v, x, mem, FE_IDX(x)));
  FAILS(fe_vreduce(ir, "add", v));
  FAILS(fe_vreduce(ir, "nosuch", fe_splat(ir, x, 4)));
  FAILS(fe_dim(ir, v, 0));
  FAILS(fe_dim(ir, mem, 3));
  FAILS(fe_alloca(ir, none));
  FAILS(fe_alloca(ir, ir->f32));
  FAILS(fe_view(ir, v, x, 1, &n, NULL));
  FAILS(fe_view(ir, mem, v, 1, &n, NULL));
  FAILS(fe_view(ir, mem, x, 1, (int64_t[]){FE_DYN}, &v));
  FAILS(fe_view(ir, mem, x, 1, (int64_t[]){FE_DYN}, NULL));
  FAILS(fe_named(ir, "a", attr));
  FAILS(fe_attr_parse(ir, "dense<[1, 2]> : tensor<3xf32>"));
  FAILS(fe_at_type(ir, "a", none));
  FAILS(fe_set_attr(ir, op, fe_at_unit(ir, "a")));
  FAILS(fe_call(ir, "k", 1, &v, 0, NULL));
  FAILS(fe_func_begin(ir, f->m, "b", false, 1, &none));
  FAILS(fe_func_begin(ir, (MlirModule){0}, "b", false, 0, NULL));
  FAILS(fe_func_declare(ir, f->m, "b", 0, NULL, 1, &none));
  FAILS(fe_func_end(ir, op, 0, NULL));
  FAILS(fe_point_before(ir, op));
  FAILS(fe_point_after(ir, op));
  FAILS(fe_op(ir, "nodialect", &(fe_op_args){0}));
  FAILS(fe_op(ir, "nosuch.op", &(fe_op_args){0}));
  FAILS(fe_op(ir, "arith.addi", &(fe_op_args){FE_VALUES(x, v)}));
  FAILS(fe_op(ir, "scf.if",
              &(fe_op_args){FE_VALUES(v), .n_regions = 2,
                            .regions = (MlirRegion[]){mlirRegionCreate(),
                                                      mlirRegionCreate()}}));
  // Regions of a loop that could not be made.
  FAILS(fe_region r = fe_for_begin(ir, v, x, x, 1, two);
        fe_add(ir, fe_block_arg(r.body, 1), r.iv); fe_for_end(ir, &r, 1, two));
  FAILS(fe_region r = fe_loop(ir, v); fe_loop_end(ir, &r));
  FAILS(fe_region r = fe_if_begin(ir, v, 1, &none, true);
        fe_if_else(ir, &r, 1, two); fe_if_end(ir, &r, 1, two));
  FAILS(fe_region r = fe_while_begin(ir, 2, two);
        fe_while_do(ir, &r, v, 2, two); fe_while_end(ir, &r, 2, two));
  FAILS(fe_region r = fe_while_begin(ir, 1, &x); fe_while_do(ir, &r, v, 2, two);
        fe_while_end(ir, &r, 2, two));
  FAILS(fe_region r = fe_if_begin(ir, fe_cmp(ir, FE_EQ, x, x), 0, NULL, false);
        fe_if_else(ir, &r, 0, NULL); fe_if_end(ir, &r, 0, NULL));
#undef FAILS
  // Readers have nothing to fail: they give nothing.
  assert_false(fe_op_is(op, "arith.addi"));
  assert_false(fe_op_in(op, "arith"));
  assert_string_equal(fe_op_name(ir->arena, op), "");
  assert_int_equal(fe_n_operands(op) + fe_n_results(op), 0);
  assert_true(fe_is_null(fe_operand(op, 0)) && fe_is_null(fe_result(op, 0)));
  assert_true(fe_is_null(fe_first(op)));
  assert_int_equal(fe_n_uses(v), 0);
  fe_replace(v, x);
  fe_replace(x, v);
  fe_erase(op);
  fe_walk(block, erase_adds, NULL);
  assert_false(fe_same(v, v));
  assert_null(fe_attr(op, "a").ptr);
  assert_int_equal(fe_attr_i64(op, "a", 3), 3);
  assert_null(fe_elem_of(v).ptr);
  assert_false(fe_type_is_float(none));
  assert_int_equal(fe_dtype_of_elem(none), FE_UNDEFINED);
  assert_int_equal(fe_rank(v), 0);
  assert_int_equal(fe_static_dim(v, 0), FE_DYN);
  assert_null(fe_region_block(op, 0).ptr);
  assert_true(fe_is_null(fe_block_arg(block, 0)));
  assert_string_equal(fe_print(ir->arena, op), "");
  assert_int_equal(fe_run_passes(ir, op, "builtin.module(cse)"), FE_FAILED);
  fe_dims d;
  assert_false(fe_dims_of(ir, v, &d));
  assert_null(fe_loc_node(ir, (MlirLocation){0}));
  ir->failed = false;
  assert_int_equal(fe_ir_ok(ir, "test", (MlirModule){0}), FE_FAILED);
  end(f);
}

int main(void) {
  jit_init();
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads),
                                     cmocka_unit_test(element_types),
                                     cmocka_unit_test(dims),
                                     cmocka_unit_test(arithmetic_int),
                                     cmocka_unit_test(arithmetic_float),
                                     cmocka_unit_test(control_flow),
                                     cmocka_unit_test(calls),
                                     cmocka_unit_test(memory),
                                     cmocka_unit_test(reading),
                                     cmocka_unit_test(text),
                                     cmocka_unit_test(diagnostics),
                                     cmocka_unit_test(blobs),
                                     cmocka_unit_test(promised_blobs),
                                     cmocka_unit_test(nulls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
