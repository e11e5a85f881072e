//===- signature.c - the text fields of a row, parsed ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows say their signature as text, near to how the standard prints it; here
// it is taken apart, each time anew: it is short.
//
//===----------------------------------------------------------------------===//
#include "op/signature.h"

#include <string.h>

/// Copies [from, to) without spaces; cuts what does not fit.
static void copy_word(char *out, size_t cap, const char *from, const char *to) {
  size_t n = 0;
  for (; from < to && n + 1 < cap; ++from)
    if (*from != ' ')
      out[n++] = *from;
  out[n] = 0;
}

void fe_sig_parse(const char *text, fe_sig *out) {
  memset(out, 0, sizeof *out);
  for (const char *p = text; p && *p && out->n < FE_MAX_OPERANDS;) {
    const char *end = p + strcspn(p, ","), *colon = memchr(p, ':', end - p);
    fe_sig_arg *a = &out->at[out->n++];
    const char *name_end = colon ? colon : end;
    if (name_end > p && (name_end[-1] == '?' || name_end[-1] == '*')) {
      --name_end;
      a->optional = *name_end == '?';
      a->variadic = *name_end == '*';
    }
    copy_word(a->name, sizeof a->name, p, name_end);
    copy_word(a->var, sizeof a->var, colon ? colon + 1 : end, end);
    p = *end ? end + 1 : end;
  }
}

#define BIT(t) (1u << FE_##t)
#define FLOATS (BIT(F16) | BIT(BF16) | BIT(F32) | BIT(F64))
#define SINTS (BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64))
#define UINTS (BIT(U8) | BIT(U16) | BIT(U32) | BIT(U64))
#define COMPLEXES (BIT(C64) | BIT(C128))
#define FLOAT8S                                                                \
  (BIT(F8E4M3FN) | BIT(F8E4M3FNUZ) | BIT(F8E5M2) | BIT(F8E5M2FNUZ))
#define NARROW                                                                 \
  (BIT(F8E8M0) | BIT(U4) | BIT(I4) | BIT(F4E2M1) | BIT(U2) | BIT(I2) |         \
   BIT(F6E2M3) | BIT(F6E3M2))

static const struct {
  const char *name;
  uint32_t mask;
} sets[] = {
    {"all", FLOATS | SINTS | UINTS | COMPLEXES | FLOAT8S | NARROW | BIT(BOOL) |
                BIT(STRING)},
    {"numeric", FLOATS | SINTS | UINTS | COMPLEXES},
    {"real", FLOATS | SINTS | UINTS},
    {"float", FLOATS},
    {"int", SINTS | UINTS},
    {"sint", SINTS},
    {"uint", UINTS},
    {"float8", FLOAT8S},
    {"small", FLOAT8S | NARROW},
    {"any", FE_SIG_ANY},
};

static uint32_t word_mask(const char *word, size_t n) {
  for (size_t i = 0; i < FE_COUNT(sets); ++i)
    if (strlen(sets[i].name) == n && !memcmp(sets[i].name, word, n))
      return sets[i].mask;
  for (int t = 1; t < FE_DTYPE_COUNT; ++t) {
    const char *name = fe_dtype_short((fe_dtype)t);
    if (strlen(name) == n && !memcmp(name, word, n))
      return 1u << t;
  }
  return 0;
}

uint32_t fe_sig_types(const char *types, const char *var) {
  size_t n = strlen(var);
  for (const char *p = types; p && *p;) {
    size_t length = strcspn(p, ";");
    if (length > n && p[n] == '=' && !memcmp(p, var, n)) {
      uint32_t mask = 0;
      for (const char *w = p + n + 1, *end = p + length; w < end;) {
        size_t k = strcspn(w, ",;");
        mask |= word_mask(w, k);
        w += k + 1;
      }
      return mask;
    }
    p += length + (p[length] == ';');
  }
  return FE_SIG_ANY; // a variable that is not described is not restricted
}

const char *fe_sig_types_text(fe_arena *arena, uint32_t mask) {
  fe_buf b = {0};
  for (int t = 1; t < FE_DTYPE_COUNT; ++t)
    if (mask >> t & 1)
      fe_buf_printf(arena, &b, "%s%s", b.n ? ", " : "",
                    fe_dtype_name((fe_dtype)t));
  return b.n ? b.at : "any type";
}

bool fe_row_has_op(const fe_op_row *row) {
  return !(row->flags & FE_FUNCTION) || row->infer ||
         (row->flags & FE_POINTWISE);
}
