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

static void pack_columns(char *out, const char *b, size_t elem, int64_t k,
                         int64_t columns, int64_t width) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < k; ++i)
      memcpy(out + (i * width + j) * elem, b + (j * k + i) * elem, elem);
}

void *fe_contract_pack(fe_ir *ir, const fe_target *t, unsigned elem_bits,
                       const void *b, int64_t batch, int64_t k, int64_t n,
                       bool transposed, size_t *size) {
  size_t elem = elem_bits / 8;
  int64_t width = fe_contract_panel(t, elem_bits, n);
  int64_t panels = (n + width - 1) / width;
  *size = (size_t)(batch * panels * k * width) * elem;
  char *out = fe_alloc(ir->arena, *size); // zeroed
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t p = 0; p < panels; ++p) {
      int64_t first = p * width, left = n - first;
      int64_t columns = left < width ? left : width;
      char *to = out + (i * panels + p) * k * width * elem;
      const char *from = (const char *)b + i * k * n * elem;
      if (transposed)
        pack_columns(to, from + first * k * elem, elem, k, columns, width);
      else
        pack_rows(to, from + first * elem, elem, k, n, columns, width);
    }
  return out;
}
