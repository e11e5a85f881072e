//===- pack.c - constant matrices in panels -------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// [K][N] becomes [ceil(N / width)][K][width], zero-padded: the register tile of
// a contraction then reads B strictly forwards.
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"

#include <string.h>

/// One panel of `columns` valid columns, starting at b.
static void pack_rows(char *out, const char *b, size_t elem, int64_t k,
                      int64_t n, int64_t columns, int64_t width) {
  for (int64_t i = 0; i < k; ++i)
    memcpy(out + i * width * elem, b + i * n * elem, columns * elem);
}

/// Along the panel, so that the lines of b that are read stay in the cache.
static inline void columns_of(char *out, const char *b, size_t elem, int64_t k,
                              int64_t columns, int64_t width) {
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < columns; ++j)
      memcpy(out + (i * width + j) * elem, b + (j * k + i) * elem, elem);
}

static void pack_columns(char *out, const char *b, size_t elem, int64_t k,
                         int64_t columns, int64_t width) {
  if (elem == 4) // known to the compiler: no calls of memcpy
    columns_of(out, b, 4, k, columns, width);
  else
    columns_of(out, b, elem, k, columns, width);
}

typedef struct recipe {
  const void *b;
  size_t elem;
  bool half, pairs; // to 16 bits
  int64_t k, n, width;
  bool transposed;
} recipe;

static int64_t panels_of(const recipe *r) {
  return (r->n + r->width - 1) / r->width;
}

//===-- 16 bits -------------------------------------------------------------//

/// Nearest bf16, the even one of two; NaN stays one.
static uint16_t bf16_of(const char *at) {
  uint32_t bits;
  memcpy(&bits, at, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (uint16_t)(bits >> 16 | 64);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Distances of b in bytes. A row of pairs has two of b.
static void pack_half(uint16_t *out, const char *b, const recipe *r, size_t row,
                      size_t column, int64_t columns) {
  for (int64_t i = 0; i < r->k; ++i) {
    const char *from = b + (size_t)i * row;
    uint16_t *to =
        r->pairs ? out + i / 2 * 2 * r->width + i % 2 : out + i * r->width;
    int64_t step = r->pairs ? 2 : 1;
    for (int64_t j = 0; j < columns; ++j, from += column, to += step)
      if (r->elem == 4)
        *to = bf16_of(from);
      else
        memcpy(to, from, sizeof *to);
  }
}

/// A part is a panel.
static void pack(const void *how, size_t part, void *out) {
  const recipe *r = how;
  int64_t panels = panels_of(r), k = r->k, n = r->n;
  int64_t first = (int64_t)part % panels * r->width, left = n - first;
  int64_t columns = left < r->width ? left : r->width;
  const char *from =
      (const char *)r->b + (size_t)((int64_t)part / panels * k * n) * r->elem;
  if (r->half && r->transposed)
    pack_half(out, from + (size_t)(first * k) * r->elem, r, r->elem,
              (size_t)k * r->elem, columns);
  else if (r->half)
    pack_half(out, from + (size_t)first * r->elem, r, (size_t)n * r->elem,
              r->elem, columns);
  else if (r->transposed)
    pack_columns(out, from + first * k * r->elem, r->elem, k, columns,
                 r->width);
  else
    pack_rows(out, from + first * r->elem, r->elem, k, n, columns, r->width);
}

fe_blob *fe_contract_pack(fe_ir *ir, const fe_target *t, unsigned elem_bits,
                          const fe_blob *b, int64_t batch, int64_t k, int64_t n,
                          bool transposed) {
  recipe r = {.b = b->data,
              .elem = elem_bits / 8,
              .k = k,
              .n = n,
              .width = fe_contract_panel(t, elem_bits, n),
              .transposed = transposed};
  size_t parts = (size_t)(batch * panels_of(&r));
  return fe_blob_promise(ir->blobs, fe_printf(ir->arena, "%s.panels", b->name),
                         parts * (size_t)(k * r.width) * r.elem, parts, pack,
                         fe_memdup(ir->arena, &r, sizeof r));
}

fe_blob *fe_contract_pack_half(fe_ir *ir, const fe_target *t, fe_dtype from,
                               bool pairs, const fe_blob *b, int64_t batch,
                               int64_t k, int64_t n, bool transposed) {
  recipe r = {.b = b->data,
              .elem = fe_dtype_bytes(from),
              .half = true,
              .pairs = pairs,
              .k = k,
              .n = n,
              .width = fe_contract_panel(t, 32, n), // of f32 accumulators
              .transposed = transposed};
  size_t parts = (size_t)(batch * panels_of(&r));
  size_t rows = (size_t)(pairs ? (k + 1) / 2 * 2 : k);
  return fe_blob_promise(ir->blobs, fe_printf(ir->arena, "%s.panels", b->name),
                         parts * rows * (size_t)r.width * 2, parts, pack,
                         fe_memdup(ir->arena, &r, sizeof r));
}
