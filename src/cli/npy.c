//===- npy.c - NumPy's array files ----------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cli/npy.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fe_element {
  int dtype;
  size_t size;
  const char *descr; // of the header, without byte order
  const char *name;
} fe_element;

static const fe_element elements[] = {
    {FERRULE_F32, 4, "f4", "float32"},
    {FERRULE_U8, 1, "u1", "uint8"},
    {FERRULE_I8, 1, "i1", "int8"},
    {FERRULE_U16, 2, "u2", "uint16"},
    {FERRULE_I16, 2, "i2", "int16"},
    {FERRULE_I32, 4, "i4", "int32"},
    {FERRULE_I64, 8, "i8", "int64"},
    {FERRULE_BOOL, 1, "b1", "bool"},
    {FERRULE_F16, 2, "f2", "float16"},
    {FERRULE_F64, 8, "f8", "float64"},
    {FERRULE_U32, 4, "u4", "uint32"},
    {FERRULE_U64, 8, "u8", "uint64"},
    {FERRULE_C64, 8, "c8", "complex64"},
    {FERRULE_C128, 16, "c16", "complex128"},
    // Those that NumPy lacks come last, as the integers of their size.
    {FERRULE_BF16, 2, "u2", "bfloat16"},
    {FERRULE_F8E4M3FN, 1, "u1", "float8e4m3fn"},
    {FERRULE_F8E4M3FNUZ, 1, "u1", "float8e4m3fnuz"},
    {FERRULE_F8E5M2, 1, "u1", "float8e5m2"},
    {FERRULE_F8E5M2FNUZ, 1, "u1", "float8e5m2fnuz"},
    {FERRULE_F8E8M0, 1, "u1", "float8e8m0"},
    {FERRULE_F6E2M3, 1, "u1", "float6e2m3"},
    {FERRULE_F6E3M2, 1, "u1", "float6e3m2"},
    {FERRULE_F4E2M1, 1, "u1", "float4e2m1"},
    {FERRULE_U4, 1, "u1", "uint4"},
    {FERRULE_I4, 1, "i1", "int4"},
    {FERRULE_U2, 1, "u1", "uint2"},
    {FERRULE_I2, 1, "i1", "int2"},
};

static const fe_element *element(int dtype) {
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
    if (elements[i].dtype == dtype)
      return &elements[i];
  return NULL;
}

size_t fe_element_size(int dtype) {
  const fe_element *e = element(dtype);
  return e ? e->size : 0;
}

const char *fe_element_name(int dtype) {
  const fe_element *e = element(dtype);
  return e ? e->name : "?";
}

int64_t fe_tensor_elements(const ferrule_tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] < 0 || __builtin_mul_overflow(n, t->dims[i], &n))
      return -1;
  return n;
}

/// The value behind 'key': in the header's dictionary.
static const char *value_of(const char *header, const char *key) {
  const char *at = strstr(header, key);
  if (!at || !(at = strchr(at, ':')))
    return NULL;
  do
    at++;
  while (*at == ' ');
  return at;
}

/// "1, 28, 28)"; what is not a tuple of sizes must not pass for one.
static const char *parse_shape(const char *at, ferrule_tensor *out) {
  out->rank = 0;
  for (at += strspn(at, " "); *at != ')'; at += strspn(at, " ")) {
    if (*at < '0' || *at > '9')
      return "its shape is not a tuple of sizes";
    if (out->rank == FERRULE_MAX_RANK)
      return "its rank is too high";
    char *end;
    out->dims[out->rank++] = strtoll(at, &end, 10);
    at = end + strspn(end, "L "); // Python 2 wrote 3L
    if (*at == ',')
      at++;
    else if (*at != ')')
      return "its shape is not a tuple of sizes";
  }
  return NULL;
}

static const char *parse_header(const char *header, ferrule_tensor *out) {
  const char *descr = value_of(header, "'descr'"),
             *order = value_of(header, "'fortran_order'"),
             *shape = value_of(header, "'shape'");
  if (!descr || !order || !shape || *descr != '\'' || *shape != '(')
    return "its header is not that of an array";
  if (strncmp(order, "False", 5))
    return "it is in Fortran order; save numpy.ascontiguousarray(x)";
  descr++;
  if (*descr == '>')
    return "it is big endian";
  if (*descr == '<' || *descr == '|' || *descr == '=')
    descr++;
  out->dtype = 0;
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
    size_t n = strlen(elements[i].descr);
    if (!strncmp(descr, elements[i].descr, n) && descr[n] == '\'') {
      out->dtype = elements[i].dtype;
      break;
    }
  }
  if (!out->dtype)
    return "its element type is not a number";
  return parse_shape(shape + 1, out);
}

static const char *read_open(FILE *f, ferrule_tensor *out) {
  unsigned char start[12];
  if (fread(start, 1, 10, f) != 10 || memcmp(start, "\x93NUMPY", 6))
    return "it is not a .npy file";
  size_t length = start[8] | (size_t)start[9] << 8;
  if (start[6] >= 2) {
    if (fread(start + 10, 1, 2, f) != 2)
      return "it is truncated";
    length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
  }
  if (length > 1 << 20)
    return "its header is too long";
  char *header = malloc(length + 1);
  if (!header)
    return "out of memory";
  const char *wrong = "it is truncated";
  if (fread(header, 1, length, f) == length) {
    header[length] = 0;
    wrong = parse_header(header, out);
  }
  free(header);
  if (wrong)
    return wrong;
  int64_t n = fe_tensor_elements(out);
  size_t size = fe_element_size(out->dtype);
  if (n < 0 || (uint64_t)n > SIZE_MAX / 2 / size)
    return "its shape is too large";
  size *= (size_t)n;
  // a claimed size that the file does not have must not be allocated
  long here = ftell(f);
  if (here < 0 || fseek(f, 0, SEEK_END) || (uint64_t)ftell(f) < here + size ||
      fseek(f, here, SEEK_SET))
    return "it is truncated";
  out->data = malloc(size ? size : 1);
  if (!out->data)
    return "out of memory";
  out->capacity = (int64_t)size;
  if (fread(out->data, 1, size, f) == size)
    return NULL;
  free(out->data);
  out->data = NULL;
  return "it cannot be read";
}

const char *fe_npy_read(const char *path, ferrule_tensor *out) {
  memset(out, 0, sizeof *out);
  FILE *f = fopen(path, "rb");
  if (!f)
    return "it cannot be opened";
  const char *wrong = read_open(f, out);
  fclose(f);
  return wrong;
}

void fe_npy_as(ferrule_tensor *t, int dtype) {
  const fe_element *have = element(t->dtype), *want = element(dtype);
  if (have && want && !strcmp(have->descr, want->descr))
    t->dtype = dtype;
}

const char *fe_npy_write(const char *path, const ferrule_tensor *t) {
  const fe_element *e = element(t->dtype);
  if (!e)
    return "its element type has no NumPy equivalent";
  char shape[FERRULE_MAX_RANK * 22 + 4], header[sizeof shape + 128];
  int at = 0;
  for (int i = 0; i < t->rank; i++)
    at += snprintf(shape + at, sizeof shape - (size_t)at, "%lld,%s",
                   (long long)t->dims[i], i + 1 < t->rank ? " " : "");
  shape[at] = 0;
  int n = snprintf(header, sizeof header,
                   "{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }",
                   e->size == 1 ? "|" : "<", e->descr, shape);
  int padded = (10 + n + 1 + 63) / 64 * 64 - 10;
  unsigned char start[10] = "\x93NUMPY\1";
  start[8] = (unsigned char)padded;
  start[9] = (unsigned char)(padded >> 8);
  FILE *f = fopen(path, "wb");
  if (!f)
    return "it cannot be created";
  fwrite(start, 1, sizeof start, f);
  fprintf(f, "%s%*s\n", header, padded - n - 1, "");
  size_t size = e->size * (size_t)fe_tensor_elements(t);
  bool ok = fwrite(t->data, 1, size, f) == size;
  ok &= !fclose(f);
  return ok ? NULL : "it cannot be written";
}
