//===- import_tensor.c - tests of reading tensors -----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every encoding that the standard has for the elements of a tensor; test data
// files with tensors, sequences and optionals.
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "../onnx_writer.h"
#include "import/tensor.h"

enum {
  T_FLOAT_DATA = 4,
  T_INT32_DATA,
  T_STRING_DATA,
  T_DOUBLE_DATA = 10,
  T_UINT64_DATA
};

/// A tensor of dims [n] without its data.
static pb head(unit *u, int type, int64_t n) {
  pb t = pb_new(u->arena);
  pb_int(&t, T_DIMS, n);
  pb_int(&t, T_TYPE, type);
  return t;
}

static fe_status read(unit *u, pb t, fe_tensor *out) {
  fe_source s;
  fe_value v;
  fe_source_init(&s, &u->diags, u->arena, "t.pb", (const uint8_t *)t.b.at,
                 t.b.n);
  fe_status ok = fe_value_read(&s, FE_VALUE_TENSOR, &v);
  fe_source_close(&s);
  *out = v.tensor;
  return ok;
}

/// Reads it and compares the bytes of the elements.
static void holds(unit *u, pb t, const void *want, size_t size) {
  fe_tensor got;
  assert_int_equal(read(u, t, &got), FE_OK);
  assert_int_equal(got.size, size);
  assert_memory_equal(got.data, want, size);
}

/// Numbers in a packed field, or each on its own.
static void add_ints(pb *t, unsigned field, bool packed, size_t n,
                     const int64_t *v) {
  pb run = pb_new(t->arena);
  for (size_t i = 0; i < n; i++)
    if (packed)
      pb_raw_varint(&run, (uint64_t)v[i]);
    else
      pb_int(t, field, v[i]);
  if (packed)
    pb_sub(t, field, run);
}

static void integers(void **state) {
  (void)state;
  unit *u = unit_begin();
  const int64_t v[] = {-1, 0, 127};
  const int8_t as8[] = {-1, 0, 127};
  const int16_t as16[] = {-1, 0, 127};
  const int32_t as32[] = {-1, 0, 127};
  static const struct {
    int type;
    unsigned field;
    size_t width;
  } forms[] = {{FE_I8, T_INT32_DATA, 1},    {FE_U8, T_INT32_DATA, 1},
               {FE_I16, T_INT32_DATA, 2},   {FE_U16, T_INT32_DATA, 2},
               {FE_F16, T_INT32_DATA, 2},   {FE_BF16, T_INT32_DATA, 2},
               {FE_I32, T_INT32_DATA, 4},   {FE_U32, T_UINT64_DATA, 4},
               {FE_I64, T_INT64_DATA, 8},   {FE_U64, T_UINT64_DATA, 8},
               {FE_F8E5M2, T_INT32_DATA, 1}};
  for (size_t i = 0; i < FE_COUNT(forms); i++)
    for (int packed = 0; packed < 2; packed++) {
      pb t = head(u, forms[i].type, 3);
      add_ints(&t, forms[i].field, packed, 3, v);
      const void *want = forms[i].width == 1   ? (const void *)as8
                         : forms[i].width == 2 ? (const void *)as16
                         : forms[i].width == 4 ? (const void *)as32
                                               : (const void *)v;
      holds(u, t, want, 3 * forms[i].width);
    }
  unit_end(u);
}

static void floats(void **state) {
  (void)state;
  unit *u = unit_begin();
  const float f[] = {1.5f, -0.0f, 3e38f, 1e-45f};
  const double d[] = {1.5, -1e300};
  pb t = head(u, FE_F32, 4);
  pb_bytes(&t, T_FLOAT_DATA, f, sizeof(f));
  holds(u, t, f, sizeof(f));
  t = head(u, FE_F32, 4); // in two runs and one alone
  pb_bytes(&t, T_FLOAT_DATA, f, 8);
  pb_float(&t, T_FLOAT_DATA, f[2]);
  pb_bytes(&t, T_FLOAT_DATA, f + 3, 4);
  holds(u, t, f, sizeof(f));
  t = head(u, FE_C64, 2); // real, imaginary
  pb_bytes(&t, T_FLOAT_DATA, f, sizeof(f));
  holds(u, t, f, sizeof(f));
  t = head(u, FE_F64, 2);
  pb_bytes(&t, T_DOUBLE_DATA, d, sizeof(d));
  holds(u, t, d, sizeof(d));
  t = head(u, FE_C128, 1);
  pb_bytes(&t, T_DOUBLE_DATA, d, sizeof(d));
  holds(u, t, d, sizeof(d));
  unit_end(u);
}

// Raw data is used where it lies; the file and the place in it are known.
static void raw(void **state) {
  (void)state;
  unit *u = unit_begin();
  float big[20000];
  for (size_t i = 0; i < FE_COUNT(big); i++)
    big[i] = (float)i;
  pb t = head(u, FE_F32, FE_COUNT(big));
  pb_bytes(&t, T_RAW, big, sizeof(big));
  fe_tensor got;
  assert_int_equal(read(u, t, &got), FE_OK);
  assert_memory_equal(got.data, big, sizeof(big));
  assert_string_equal(got.file, "t.pb");
  assert_ptr_equal(got.data, t.b.at + got.offset);
  unit_end(u);
}

static void small_types(void **state) {
  (void)state;
  unit *u = unit_begin();
  pb t = head(u, FE_I4, 3); // packed two in a byte, the first one low
  const int64_t packed4[] = {0x7f, 0x08};
  add_ints(&t, T_INT32_DATA, true, 2, packed4);
  holds(u, t, "\xff\x07\xf8", 3);
  t = head(u, FE_U2, 5);
  pb_bytes(&t, T_RAW, "\xe4\x02", 2);
  holds(u, t, "\0\1\2\3\2", 5);
  t = head(u, FE_F6E2M3, 3); // raw data are packed, numbers are not
  pb_bytes(&t, T_RAW, "\x41\x30\x3f", 3);
  holds(u, t, "\x01\x01\x33", 3);
  t = head(u, FE_F6E2M3, 3);
  const int64_t single6[] = {1, 1, 0x33};
  add_ints(&t, T_INT32_DATA, true, 3, single6);
  holds(u, t, "\x01\x01\x33", 3);
  t = head(u, FE_BOOL, 4); // anything but 0 is true
  pb_bytes(&t, T_RAW, "\x00\x01\x02\xff", 4);
  holds(u, t, "\0\1\1\1", 4);
  unit_end(u);
}

static void strings(void **state) {
  (void)state;
  unit *u = unit_begin();
  pb t = head(u, FE_STRING, 2);
  pb_bytes(&t, T_STRING_DATA, "a\0b", 3);
  pb_str(&t, T_STRING_DATA, "");
  fe_tensor got;
  assert_int_equal(read(u, t, &got), FE_OK);
  assert_int_equal(got.text[0].n, 3);
  assert_memory_equal(got.text[0].at, "a\0b", 3);
  assert_int_equal(got.text[1].n, 0);
  unit_end(u);
}

static void empty_and_scalar(void **state) {
  (void)state;
  unit *u = unit_begin();
  fe_tensor got;
  assert_int_equal(read(u, head(u, FE_F32, 0), &got), FE_OK);
  assert_int_equal(got.count, 0);
  pb t = pb_new(u->arena);
  pb_int(&t, T_TYPE, FE_I64);
  const int64_t seven = 7;
  add_ints(&t, T_INT64_DATA, false, 1, &seven);
  assert_int_equal(read(u, t, &got), FE_OK);
  assert_int_equal(got.rank, 0);
  assert_memory_equal(got.data, &seven, 8);
  unit_end(u);
}

static void wrong_count(void **state) {
  (void)state;
  unit *u = unit_begin();
  fe_tensor got;
  pb t = head(u, FE_I8, 3);
  const int64_t v[] = {1, 2};
  add_ints(&t, T_INT32_DATA, true, 2, v);
  assert_int_equal(read(u, t, &got), FE_FAILED);
  assert_string_equal(u->messages->at,
                      "error: the tensor has 2 numbers in int32_data, its "
                      "shape and type need 3\n");
  unit_end(u);
}

//===-- Sparse tensors ------------------------------------------------------//

static fe_status read_sparse(unit *u, size_t rank, const int64_t *index_dims,
                             const int64_t *indices, fe_tensor *out) {
  fe_source s;
  onnx_TensorProto *values, *where;
  const float v[] = {5, 6};
  const int64_t two = 2;
  int64_t n = index_dims[0] * (rank == 2 ? index_dims[1] : 1);
  pb pv = onnx_tensor(u->arena, "v", FE_F32, 1, &two, v, sizeof(v));
  pb pi = onnx_tensor(u->arena, "i", FE_I64, rank, index_dims, indices,
                      (size_t)n * 8);
  fe_source_init(&s, &u->diags, u->arena, NULL, NULL, 0);
  assert_int_equal(fe_proto_tensor(&u->diags, u->arena, NULL,
                                   (const uint8_t *)pv.b.at, pv.b.n, &values),
                   FE_OK);
  assert_int_equal(fe_proto_tensor(&u->diags, u->arena, NULL,
                                   (const uint8_t *)pi.b.at, pi.b.n, &where),
                   FE_OK);
  const uint8_t dims[] = {2, 3};
  onnx_SparseTensorProto p = {
      .values = values, .indices = where, .dims = {.at = dims, .n = 2}};
  return fe_tensor_read_sparse(&s, (fe_where){0}, &p, out);
}

static void sparse(void **state) {
  (void)state;
  unit *u = unit_begin();
  const float want[] = {0, 5, 0, 0, 0, 6};
  fe_tensor got;
  const int64_t two = 2, flat[] = {1, 5};
  assert_int_equal(read_sparse(u, 1, &two, flat, &got), FE_OK);
  assert_memory_equal(got.data, want, sizeof(want));
  const int64_t dims[] = {2, 2}, pairs[] = {0, 1, 1, 2};
  assert_int_equal(read_sparse(u, 2, dims, pairs, &got), FE_OK);
  assert_memory_equal(got.data, want, sizeof(want));
  const int64_t outside[] = {0, 1, 2, 0};
  assert_int_equal(read_sparse(u, 2, dims, outside, &got), FE_FAILED);
  assert_string_equal(u->messages->at, "error: an index of the sparse tensor "
                                       "is outside its shape\n");
  unit_end(u);
}

//===-- Test data -----------------------------------------------------------//

static void sequences(void **state) {
  (void)state;
  unit *u = unit_begin();
  const int64_t one = 1;
  pb t = onnx_tensor(u->arena, "", FE_U8, 1, &one, "x", 1);
  pb list = pb_new(u->arena), some = pb_new(u->arena), none = pb_new(u->arena);
  pb_sub(&list, 3, t);
  pb_sub(&list, 3, t);
  pb_sub(&some, 5, list); // OptionalProto.sequence_value
  fe_source s;
  fe_value v;
  fe_source_init(&s, &u->diags, u->arena, "v.pb", (const uint8_t *)some.b.at,
                 some.b.n);
  assert_int_equal(fe_value_read(&s, FE_VALUE_OPTIONAL, &v), FE_OK);
  assert_int_equal(v.n, 1);
  assert_int_equal(v.items[0].kind, FE_VALUE_SEQUENCE);
  assert_int_equal(v.items[0].n, 2);
  assert_memory_equal(v.items[0].items[1].tensor.data, "x", 1);
  fe_source_init(&s, &u->diags, u->arena, "v.pb", (const uint8_t *)none.b.at,
                 none.b.n);
  assert_int_equal(fe_value_read(&s, FE_VALUE_OPTIONAL, &v), FE_OK);
  assert_int_equal(v.n, 0);
  unit_end(u);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers),    cmocka_unit_test(floats),
      cmocka_unit_test(raw),         cmocka_unit_test(small_types),
      cmocka_unit_test(strings),     cmocka_unit_test(empty_and_scalar),
      cmocka_unit_test(wrong_count), cmocka_unit_test(sparse),
      cmocka_unit_test(sequences),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
