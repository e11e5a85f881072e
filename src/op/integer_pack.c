//===- integer_pack.c - B of integer products in panels ----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// [K][N] becomes [ceil(N / width)][ceil(K / numbers)][width][numbers], filled
// up with zeros, so that what stands beside them in A does not matter. At run
// time rows are interleaved in registers, and the sums of the columns are added
// up on the way.
//
//===----------------------------------------------------------------------===//
#include "op/integer_product.h"
#include "op/lowering.h"
#include "target/target.h"

#include <string.h>

//===-- When compiling ------------------------------------------------------//

typedef struct recipe {
  fe_integer_constant c;
  unsigned numbers;
  bool flip;
  int64_t width, panels, steps;
} recipe;

/// A part is a panel.
static void fill(const void *how, size_t part, void *out) {
  const recipe *r = how;
  const fe_integer_constant *c = &r->c;
  int64_t first = (int64_t)part % r->panels * r->width;
  int64_t base = (int64_t)part / r->panels * c->k * c->n;
  int64_t left = c->n - first, columns = left < r->width ? left : r->width;
  bool is_unsigned = c->data.dtype == FE_U8;
  const uint8_t *from = c->data.data;
  int8_t *bytes = out;
  int16_t *pairs = out;
  size_t count = (size_t)(r->steps * r->width) * r->numbers;
  memset(out, 0, count * (r->numbers == 4 ? 1 : 2));
  for (int64_t j = 0; j < columns; ++j) {
    int64_t y = first + j, zero = 0;
    if (c->zero.count)
      zero = fe_const_i64(&c->zero, c->zero.count == 1 ? 0 : y);
    zero += r->flip ? 128 : 0;
    for (int64_t x = 0; x < c->k; ++x) {
      uint8_t raw = from[base + x * c->n + y];
      int64_t v = (is_unsigned ? (int64_t)raw : (int64_t)(int8_t)raw) - zero;
      int64_t at =
          (x / r->numbers * r->width + j) * r->numbers + x % r->numbers;
      if (r->numbers == 4)
        bytes[at] = (int8_t)v;
      else
        pairs[at] = (int16_t)v;
    }
  }
}

void fe_integer_pack_constant(fe_lower *l, fe_integer_panels *p,
                              const fe_integer_constant *c, unsigned rank,
                              const int64_t *dims) {
  fe_ir *ir = l->ir;
  recipe r = {.c = *c, .numbers = p->numbers, .flip = p->flip};
  r.width = fe_contract_panel(l->target, 32, c->n);
  r.panels = (c->n + r.width - 1) / r.width;
  r.steps = (c->k + p->numbers - 1) / p->numbers;
  int64_t size[FE_MAX_RANK + 1];
  memcpy(size, dims, (rank - 2) * sizeof *size);
  size[rank - 2] = r.panels;
  size[rank - 1] = r.steps;
  size[rank] = r.width;
  size_t parts = (size_t)(c->batch * r.panels);
  const fe_blob *blob = fe_blob_promise(
      ir->blobs, "integer.panels", parts * (size_t)(r.steps * r.width) * 4,
      parts, fill, fe_memdup(ir->arena, &r, sizeof r));
  MlirType type = fe_tensor_plain(ir, ir->i32, rank + 1, size);
  p->panels = fe_first(FE_OP(ir, "krnl.weight", FE_TYPES(type),
                             FE_ATTRS(fe_at_str(ir, "blob", blob->name))));
}

//===-- At run time ---------------------------------------------------------//

typedef struct packing {
  fe_gen g; // of which ir and target are set
  const fe_integer_panels *p;
  MlirType elem;
  unsigned lanes, vectors;
  MlirValue b, panels, sums; // flat memrefs
  MlirValue K, N, steps;
  MlirValue from, to, sum;  // of the item, in elements
  MlirValue column, active; // active: null where the panel is full
} packing;

/// Columns of vector j of rows k .. k + numbers - 1, interleaved.
static MlirValue together(packing *y, MlirValue k, unsigned j) {
  fe_ir *ir = y->g.ir;
  unsigned lanes = y->lanes, n = y->p->numbers;
  MlirValue row[4], last = fe_add_static(ir, y->K, -1);
  MlirType type = fe_vector_type(ir, lanes, y->elem);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue x = fe_add_static(ir, k, i);
    MlirValue at = fe_mul(ir, fe_min(ir, x, last), y->N);
    at = fe_add_static(ir, fe_add(ir, y->from, at), (int64_t)j * lanes);
    if (fe_is_null(y->active)) {
      row[i] = fe_vload(ir, lanes, y->b, 1, &at);
    } else {
      MlirValue active = fe_add_static(ir, y->active, -(int64_t)j * lanes);
      row[i] = fe_vload_masked(ir, lanes, active, y->b, 1, &at);
    }
    if (y->p->flip)
      row[i] = fe_xor(ir, row[i], fe_int(ir, type, -128));
    MlirValue inside = fe_cmp(ir, FE_LE, x, last);
    row[i] = fe_select(ir, inside, row[i], fe_int(ir, type, 0));
  }
  for (; n > 1; n /= 2) { // rows n / 2 apart: 0 2, 1 3, then those
    unsigned wide = (unsigned)fe_static_dim(row[0], 0);
    int64_t mask[128];
    for (unsigned i = 0; i < wide; ++i) {
      mask[2 * i] = i;
      mask[2 * i + 1] = wide + i;
    }
    for (unsigned i = 0; i < n / 2; ++i)
      row[i] = fe_shuffle(ir, row[i], row[i + n / 2], 2 * wide, mask);
  }
  return row[0];
}

static void panel(packing *y) {
  fe_ir *ir = y->g.ir;
  unsigned numbers = y->p->numbers, lanes = y->lanes;
  bool sums = !fe_is_null(y->sums);
  MlirType words = fe_vector_type(ir, lanes, ir->i32);
  MlirValue acc[8];
  for (unsigned j = 0; j < y->vectors; ++j)
    acc[j] = fe_int(ir, words, 0);
  unsigned n = sums ? y->vectors : 0;
  fe_region s =
      fe_for_begin(ir, fe_index(ir, 0), y->steps, fe_index(ir, 1), n, acc);
  MlirValue k = fe_mul(ir, s.iv, fe_index(ir, numbers));
  int64_t line = (int64_t)lanes * numbers;
  MlirValue to = fe_mul(ir, s.iv, fe_index(ir, line * y->vectors));
  to = fe_add(ir, y->to, to);
  MlirValue ones = fe_int(ir, words, 0x01010101);
  for (unsigned j = 0; j < y->vectors; ++j) {
    MlirValue v = together(y, k, j), at = fe_add_static(ir, to, j * line);
    fe_vstore(ir, v, y->panels, 1, &at);
    if (!sums)
      continue;
    v = fe_first(FE_OP(ir, "vector.bitcast", FE_VALUES(v), FE_TYPES(words)));
    acc[j] = fe_vdot(&y->g, y->p->dot, ones, v, fe_block_arg(s.body, 1 + j));
  }
  fe_for_end(ir, &s, n, acc);
  for (unsigned j = 0; j < n; ++j) {
    MlirValue at = fe_add_static(ir, y->sum, (int64_t)j * lanes);
    if (fe_is_null(y->active))
      fe_vstore(ir, fe_result(s.op, j), y->sums, 1, &at);
    else
      fe_vstore_masked(ir, fe_result(s.op, j),
                       fe_add_static(ir, y->active, -(int64_t)j * lanes),
                       y->sums, 1, &at);
  }
}

static void one_item(packing *y, MlirValue item, MlirValue panels) {
  fe_ir *ir = y->g.ir;
  MlirValue batch = fe_divu(ir, item, panels);
  int64_t width = (int64_t)y->lanes * y->vectors;
  y->column = fe_mul(ir, fe_remu(ir, item, panels), fe_index(ir, width));
  y->sum = fe_add(ir, fe_mul(ir, batch, y->N), y->column);
  y->from = fe_mul(ir, batch, fe_mul(ir, y->K, y->N));
  y->from = fe_add(ir, y->from, y->column);
  y->to = fe_mul(ir, y->steps, fe_index(ir, width * y->p->numbers));
  y->to = fe_mul(ir, item, y->to);
  MlirValue left = fe_sub(ir, y->N, y->column);
  MlirValue full = fe_cmp(ir, FE_GE, left, fe_index(ir, width));
  fe_region r = fe_if_begin(ir, full, 0, NULL, true);
  packing whole = *y;
  panel(&whole);
  fe_if_else(ir, &r, 0, NULL);
  y->active = left;
  panel(y);
  y->active = (MlirValue){0};
  fe_if_end(ir, &r, 0, NULL);
}

/// The same elements as a memref of one dim.
static MlirValue flat(fe_ir *ir, MlirValue memref) {
  int64_t size = 1;
  MlirValue product = fe_index(ir, 1);
  for (unsigned i = 0; i < fe_rank(memref); ++i) {
    int64_t d = fe_static_dim(memref, i);
    size = d == FE_DYN || size == FE_DYN ? FE_DYN : size * d;
    product = fe_mul(ir, product, fe_dim(ir, memref, i));
  }
  return fe_view(ir, memref, fe_index(ir, 0), 1, &size, &product);
}

void fe_integer_pack(fe_lower *l, fe_integer_panels *p, MlirValue b) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(b);
  MlirValue sizes[FE_MAX_RANK + 1], sums[FE_MAX_RANK], out[2];
  fe_sizes_of(l, b, sizes);
  MlirValue k = sizes[rank - 2], n = sizes[rank - 1];
  int64_t known = FE_DYN;
  fe_size_known(n, &known);
  packing y = {.g = {.ir = ir, .target = l->target},
               .p = p,
               .elem = fe_elem_of(b),
               .lanes = l->target->vector_bits / 32,
               .vectors = 3};
  if (known != FE_DYN)
    y.vectors = fe_contract_panel(l->target, 32, known) / y.lanes;
  int64_t width = (int64_t)y.lanes * y.vectors;
  memcpy(sums, sizes, (rank - 2) * sizeof *sums);
  sums[rank - 2] = fe_index(ir, 1);
  sums[rank - 1] = n;
  sizes[rank - 2] = fe_ceildiv(ir, n, fe_index(ir, width));
  sizes[rank - 1] = fe_ceildiv(ir, k, fe_index(ir, p->numbers));
  sizes[rank] = fe_index(ir, width * p->numbers);
  bool has_sums = p->dot == FE_DOT_U8S8;
  out[0] = fe_tensor_empty(l, has_sums ? FE_I8 : FE_I16, rank + 1, sizes);
  if (has_sums)
    out[1] = fe_tensor_empty(l, FE_I32, rank, sums);
  fe_kernel kernel;
  fe_kernel_begin(&kernel, l, "integer_panels", 1, &b, 1 + has_sums, out, 0,
                  NULL);
  y.b = flat(ir, kernel.in[0]);
  y.panels = flat(ir, kernel.out[0]);
  if (has_sums)
    y.sums = flat(ir, kernel.out[1]);
  y.K = fe_dim(ir, kernel.in[0], rank - 2);
  y.N = fe_dim(ir, kernel.in[0], rank - 1);
  y.steps = fe_dim(ir, kernel.out[0], rank - 1);
  MlirValue panels = fe_dim(ir, kernel.out[0], rank - 2);
  fe_region i =
      fe_for_begin(ir, kernel.begin, kernel.end, fe_index(ir, 1), 0, NULL);
  one_item(&y, i.iv, panels);
  fe_loop_end(ir, &i);
  MlirAffineExpr items = fe_dim_const(ir, 1);
  for (unsigned d = 0; d + 1 < rank; ++d)
    items = fe_dim_mul(items, fe_kernel_dim(&kernel, 1, d));
  fe_kernel_end(&kernel, items,
                fe_dim_mul(fe_kernel_dim(&kernel, 1, rank - 1),
                           fe_dim_const(ir, width / 2)));
  sizes[rank] = fe_index(ir, width);
  p->panels = fe_reshape(l, kernel.result[0], ir->i32, rank + 1, sizes);
  if (has_sums)
    p->sums = kernel.result[1];
}
