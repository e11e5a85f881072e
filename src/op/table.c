//===- table.c - finding rows of the operator table --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: the build lists the files of src/op/onnx in op_families.inc. An
// index by hash of the name is made once from the constant rows, under
// call_once, and never changes afterwards. Case and underscores do not count
// in names, so the standard's spelling and the IR's find the same row.
//
//===----------------------------------------------------------------------===//
#include "op/signature.h"

#include <ctype.h>
#include <string.h>
#include <threads.h>

#define FE_FAMILY(stem) extern const fe_op_row fe_family_##stem[];
#include "op_families.inc"
#undef FE_FAMILY

const fe_op_row *const fe_op_families[] = {
#define FE_FAMILY(stem) fe_family_##stem,
#include "op_families.inc"
#undef FE_FAMILY
    NULL};

static const struct {
  const char *domain, *prefix;
} domains[] = {
    {"ai.onnx.ml", "ml_"},
    {"com.microsoft", "ms_"},
    {"ai.onnx.preview.training", "training_"},
};

enum { SLOTS = 4096 }; // a power of two, well above the number of rows
static const fe_op_row *slots[SLOTS];
static once_flag slots_once = ONCE_FLAG_INIT;

static uint32_t name_hash(const char *name) {
  uint32_t h = 2166136261u;
  for (; *name; ++name)
    if (*name != '_')
      h = (h ^ (uint32_t)tolower((unsigned char)*name)) * 16777619u;
  return h ^ h >> 15;
}

static bool name_equal(const char *a, const char *b) {
  for (;; ++a, ++b) {
    while (*a == '_')
      ++a;
    while (*b == '_')
      ++b;
    if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
      return false;
    if (!*a)
      return true;
  }
}

static void make_index(void) {
  for (unsigned f = 0; fe_op_families[f]; ++f)
    for (const fe_op_row *row = fe_op_families[f]; row->name; ++row) {
      uint32_t i = name_hash(row->name) % SLOTS;
      while (slots[i])
        i = (i + 1) % SLOTS;
      slots[i] = row;
    }
}

static const char *plain_domain(const char *domain) {
  return !domain || !strcmp(domain, "ai.onnx") ? "" : domain;
}

/// The newest row that serves `opset`; opset 0: the newest one.
static const fe_op_row *find(const char *domain, const char *name, int opset) {
  call_once(&slots_once, make_index);
  const fe_op_row *best = NULL;
  for (uint32_t i = name_hash(name) % SLOTS; slots[i]; i = (i + 1) % SLOTS) {
    const fe_op_row *row = slots[i];
    if (!name_equal(row->name, name) ||
        strcmp(plain_domain(row->domain), domain))
      continue;
    if (opset && (row->flags & FE_INTERNAL))
      continue;
    if (opset && (opset < row->since || (row->until && opset > row->until)))
      continue;
    if (!best || row->since > best->since)
      best = row;
  }
  return best;
}

const fe_op_row *fe_op_find(const char *domain, const char *name, int opset) {
  return find(plain_domain(domain), name, opset > 0 ? opset : 0);
}

const fe_op_row *fe_op_row_of(MlirOperation op) {
  if (mlirOperationIsNull(op))
    return NULL;
  MlirStringRef full = mlirIdentifierStr(mlirOperationGetName(op));
  char name[64];
  if (full.length < 5 || memcmp(full.data, "onnx.", 5) ||
      full.length - 5 >= sizeof name)
    return NULL;
  memcpy(name, full.data + 5, full.length - 5);
  name[full.length - 5] = 0;
  return fe_op_row_named(name);
}

const fe_op_row *fe_op_row_named(const char *name) {
  for (size_t i = 0; i < FE_COUNT(domains); ++i) {
    size_t n = strlen(domains[i].prefix);
    if (!strncmp(name, domains[i].prefix, n))
      return find(domains[i].domain, name + n, 0);
  }
  return find("", name, 0);
}

const char *fe_op_ir_name(fe_arena *arena, const fe_op_row *row) {
  char out[96];
  size_t n = 0;
  for (size_t i = 0; i < FE_COUNT(domains); ++i)
    if (!strcmp(domains[i].domain, plain_domain(row->domain)))
      for (const char *p = domains[i].prefix; *p; ++p)
        out[n++] = *p;
  // A capital starts a word after a small letter (but for the last letter:
  // IsNaN) and where a small letter follows a capital: LRN, RMSNorm.
  const char *s = row->name;
  for (size_t i = 0; s[i] && n + 2 < sizeof out; ++i) {
    bool upper = isupper((unsigned char)s[i]);
    if (upper && i && s[i + 1] &&
        (islower((unsigned char)s[i - 1]) ||
         (isupper((unsigned char)s[i - 1]) &&
          islower((unsigned char)s[i + 1]))))
      out[n++] = '_';
    out[n++] = (char)tolower((unsigned char)s[i]);
  }
  out[n] = 0;
  return fe_strdup(arena, out);
}
