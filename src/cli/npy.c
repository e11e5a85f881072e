//===- npy.c - NumPy's array files ----------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cli/npy.h"

#include "base/base.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    {FERRULE_STRING, sizeof(ferrule_string), NULL, "string"},
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

/// What lies in the file for each element.
typedef struct fe_stored {
  size_t size;
  bool wide; // of strings: UTF-32, else bytes
} fe_stored;

static const char *parse_header(const char *header, ferrule_tensor *out,
                                fe_stored *stored) {
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
    size_t n = elements[i].descr ? strlen(elements[i].descr) : 0;
    if (n && !strncmp(descr, elements[i].descr, n) && descr[n] == '\'') {
      out->dtype = elements[i].dtype;
      stored->size = elements[i].size;
      break;
    }
  }
  if (*descr == 'U' || *descr == 'S') {
    char *end;
    unsigned long n = strtoul(descr + 1, &end, 10);
    if (end > descr + 1 && *end == '\'' && n <= UINT32_MAX / 4) {
      out->dtype = FERRULE_STRING;
      *stored = (fe_stored){*descr == 'U' ? 4 * n : n, *descr == 'U'};
    }
  }
  if (*descr == 'O')
    return "it has Python objects; save strings as x.astype('U')";
  if (!out->dtype)
    return "its element type is neither a number nor a string";
  return parse_shape(shape + 1, out);
}

/// Writes a code point as UTF-8 at `to` (NULL: only counts); gives the bytes.
static size_t put_utf8(uint32_t c, char *to) {
  size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = n; to && i-- > 1; c >>= 6)
    to[i] = (char)(0x80 | (c & 0x3f));
  if (to)
    to[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xf0) | c);
  return n;
}

/// Reads a code point; what is no UTF-8 counts byte by byte.
static uint32_t get_utf8(const ferrule_string *s, int64_t *at) {
  unsigned char c = (unsigned char)s->data[(*at)++];
  int more = c >= 0xf0 && c < 0xf8   ? 3
             : c >= 0xe0 && c < 0xf0 ? 2
             : c >= 0xc2 && c < 0xe0 ? 1
                                     : 0;
  if (!more || s->size - *at < more)
    return c;
  uint32_t code = c & (0x3f >> more);
  for (int i = 0; i < more; i++) {
    unsigned char next = (unsigned char)s->data[*at + i];
    if ((next & 0xc0) != 0x80)
      return c;
    code = code << 6 | (next & 0x3f);
  }
  *at += more;
  return code;
}

/// Characters of one stored string, without the zeros that pad it.
static size_t decode(const char *from, const fe_stored *stored, char *to) {
  size_t unit = stored->wide ? 4 : 1, n = stored->size / unit, bytes = 0;
  for (uint32_t c = 0; n; n--) {
    memcpy(&c, from + (n - 1) * unit, unit);
    if (c)
      break;
  }
  for (size_t i = 0; i < n; i++) {
    uint32_t c = 0;
    memcpy(&c, from + i * unit, unit);
    if (stored->wide)
      bytes += put_utf8(c, to ? to + bytes : NULL);
    else if (to)
      to[bytes++] = (char)c;
    else
      bytes++;
  }
  return bytes;
}

/// Stored strings at out->data become those of the interface.
static const char *to_strings(ferrule_tensor *out, const fe_stored *stored) {
  char *raw = out->data;
  size_t n = (size_t)fe_tensor_elements(out), bytes = n * 16;
  for (size_t i = 0; i < n; i++)
    bytes += decode(raw + i * stored->size, stored, NULL);
  ferrule_string *s = aligned_alloc(16, (bytes / 16 + 1) * 16);
  if (!s) {
    free(raw);
    out->data = NULL;
    return "out of memory";
  }
  char *text = (char *)(s + n);
  for (size_t i = 0; i < n; i++) {
    size_t k = decode(raw + i * stored->size, stored, text);
    s[i] = (ferrule_string){text, (int64_t)k};
    text += k;
  }
  free(raw);
  out->data = s;
  out->capacity = (int64_t)bytes;
  return NULL;
}

void fe_npy_moved(ferrule_tensor *t, const void *old) {
  ferrule_string *s = t->data;
  for (int64_t i = 0; t->dtype == FERRULE_STRING && i < fe_tensor_elements(t);
       i++)
    s[i].data = (char *)t->data + (s[i].data - (const char *)old);
}

static const char *read_open(FILE *f, uint64_t file_size, ferrule_tensor *out) {
  fe_stored stored = {0};
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
    wrong = parse_header(header, out, &stored);
  }
  free(header);
  if (wrong)
    return wrong;
  int64_t n = fe_tensor_elements(out);
  size_t size = stored.size;
  if (n < 0 || (size && (uint64_t)n > SIZE_MAX / 4 / size) ||
      (uint64_t)n > SIZE_MAX / 64)
    return "its shape is too large";
  size *= (size_t)n;
  // a claimed size that the file does not have must not be allocated
  long here = ftell(f);
  if (here < 0 || file_size < (uint64_t)here + size)
    return "it is truncated";
  out->data = malloc(size ? size : 1);
  if (!out->data)
    return "out of memory";
  out->capacity = (int64_t)size;
  if (fread(out->data, 1, size, f) == size)
    return out->dtype == FERRULE_STRING ? to_strings(out, &stored) : NULL;
  free(out->data);
  out->data = NULL;
  return "it cannot be read";
}

const char *fe_npy_read(const char *path, ferrule_tensor *out) {
  memset(out, 0, sizeof *out);
  int fd;
  uint64_t size;
  const char *wrong = fe_regular_open(path, &fd, &size);
  if (wrong)
    return wrong;
  FILE *f = fdopen(fd, "rb");
  if (!f) {
    wrong = strerror(errno);
    close(fd);
    return wrong;
  }
  wrong = read_open(f, size, out);
  fclose(f);
  return wrong;
}

void fe_npy_as(ferrule_tensor *t, int dtype) {
  const fe_element *have = element(t->dtype), *want = element(dtype);
  if (have && want && have->descr && want->descr &&
      !strcmp(have->descr, want->descr))
    t->dtype = dtype;
}

/// As code points, each string padded to the same length; gives that length.
static size_t widest(const ferrule_tensor *t) {
  const ferrule_string *s = t->data;
  size_t most = 1; // NumPy has no 'U0' in files
  for (int64_t i = 0; i < fe_tensor_elements(t); i++) {
    size_t n = 0;
    for (int64_t at = 0; at < s[i].size; n++)
      get_utf8(&s[i], &at);
    most = n > most ? n : most;
  }
  return most;
}

static bool write_strings(FILE *f, const ferrule_tensor *t, size_t width) {
  const ferrule_string *s = t->data;
  bool ok = true;
  for (int64_t i = 0; ok && i < fe_tensor_elements(t); i++) {
    size_t n = 0;
    for (int64_t at = 0; ok && n < width; n++) {
      uint32_t c = at < s[i].size ? get_utf8(&s[i], &at) : 0;
      ok = fwrite(&c, 1, sizeof c, f) == sizeof c;
    }
  }
  return ok;
}

const char *fe_npy_write(const char *path, const ferrule_tensor *t) {
  const fe_element *e = element(t->dtype);
  if (!e)
    return "its element type has no NumPy equivalent";
  bool strings = t->dtype == FERRULE_STRING;
  size_t width = strings ? widest(t) : 0;
  char descr[32];
  if (strings)
    snprintf(descr, sizeof descr, "U%zu", width);
  else
    snprintf(descr, sizeof descr, "%s", e->descr);
  char shape[FERRULE_MAX_RANK * 22 + 4], header[sizeof shape + 256];
  int at = 0;
  for (int i = 0; i < t->rank; i++)
    at += snprintf(shape + at, sizeof shape - (size_t)at, "%lld,%s",
                   (long long)t->dims[i], i + 1 < t->rank ? " " : "");
  shape[at] = 0;
  // ten bytes, then the dictionary and blanks up to a multiple of 64
  int n = snprintf(header, sizeof header,
                   "          {'descr': '%s%s', 'fortran_order': False, "
                   "'shape': (%s), }",
                   e->size == 1 ? "|" : "<", descr, shape);
  int padded = (n + 1 + 63) / 64 * 64;
  memset(header + n, ' ', (size_t)(padded - n));
  header[padded - 1] = '\n';
  memcpy(header, "\x93NUMPY\1\0", 8);
  header[8] = (char)((padded - 10) & 255);
  header[9] = (char)((padded - 10) >> 8);
  fe_output o;
  int error = fe_output_open(&o, path);
  if (error)
    return strerror(error);
  int copy = dup(o.fd);
  FILE *f = copy < 0 ? NULL : fdopen(copy, "wb");
  size_t size = e->size * (size_t)fe_tensor_elements(t);
  errno = 0;
  bool ok = f && fwrite(header, 1, (size_t)padded, f) == (size_t)padded &&
            (strings ? write_strings(f, t, width)
                     : fwrite(t->data, 1, size, f) == size);
  if (f ? fclose(f) : copy >= 0 && close(copy))
    ok = false;
  error = fe_output_close(&o, ok ? 0 : errno ? errno : EIO);
  return error ? strerror(error) : NULL;
}
