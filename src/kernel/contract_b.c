//===- contract_b.c - how a matrix product reads B ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B is read in place, or a block of a panel is first copied to scratch memory:
// rows of it one after the other, columns of it by transposing squares. On the
// way elements get the type that products take: those of 16 bits are widened;
// where A is bf16, two rows of B become pairs, rounded when they were f32.
//
//===----------------------------------------------------------------------===//
#include "kernel/contract.h"

MlirValue fe_contract_element(const fe_contract *c, MlirValue at) {
  return c->dots ? fe_mul(c->g.ir, at, fe_index(c->g.ir, 2)) : at;
}

MlirValue fe_contract_b_element(const fe_contract *c, MlirValue at) {
  fe_ir *ir = c->g.ir;
  return c->fixed ? fe_mul(ir, at, fe_index(ir, FE_FIXED_BYTES))
                  : fe_contract_element(c, at);
}

MlirValue fe_contract_active(fe_contract *c, const fe_tile_place *p,
                             unsigned j) {
  fe_ir *ir = c->g.ir;
  unsigned in_panel = j % p->vectors;
  int64_t first = (int64_t)in_panel * c->p.lanes;
  if (fe_is_null(p->active) ||
      (p->columns != FE_DYN && p->columns >= first + c->p.lanes))
    return (MlirValue){0};
  return fe_sub(ir, p->active, fe_index(ir, first));
}

static MlirValue as_type(fe_contract *c, MlirValue v, MlirType elem) {
  if (c->g.target->bf16 && mlirTypeEqual(elem, c->g.ir->bf16))
    return fe_round_bf16(c->g.ir, v);
  return fe_convert(c->g.ir, v, elem, false, false);
}

MlirValue fe_contract_load_b(fe_contract *c, const fe_tile_place *p,
                             MlirValue k, unsigned j) {
  fe_ir *ir = c->g.ir;
  unsigned group = j / p->vectors, in_panel = j % p->vectors;
  int64_t column = (int64_t)in_panel * c->p.lanes;
  MlirValue start = p->b_start;
  if (group)
    start = fe_add(
        ir, start,
        fe_mul(ir, c->panel_rows, fe_index(ir, (int64_t)group * c->width)));
  if (c->fixed) {
    MlirValue before = fe_mul(ir, p->k_first, p->b_row);
    MlirValue panel = fe_contract_b_element(c, fe_sub(ir, start, before));
    return fe_fixed_load(ir, p->b_memref, panel, fe_add(ir, p->k_first, k),
                         c->K, c->width, column, c->p.lanes);
  }
  MlirValue at = fe_add(ir, start, fe_mul(ir, k, p->b_row));
  at = fe_add_static(ir, at, column);
  if (c->dots) {
    at = fe_contract_element(c, at);
    return fe_vload(ir, 2 * c->p.lanes, p->b_memref, 1, &at);
  }
  MlirValue active = fe_contract_active(c, p, j);
  bool padded = c->form == FE_B_PANELS || c->p.pack_b;
  MlirValue v =
      padded || fe_is_null(active)
          ? fe_vload(ir, c->p.lanes, p->b_memref, 1, &at)
          : fe_vload_masked(ir, c->p.lanes, active, p->b_memref, 1, &at);
  return as_type(c, v, c->elem);
}

MlirValue fe_contract_splat_a(fe_contract *c, MlirValue at) {
  fe_ir *ir = c->g.ir;
  MlirValue a = c->g.flat[c->a];
  if (c->dots)
    return fe_splat_pair(ir, fe_vload(ir, 2, a, 1, &at), c->p.lanes);
  return fe_splat(ir, fe_load(ir, a, 1, &at), c->p.lanes);
}

MlirValue fe_contract_product(fe_contract *c, MlirValue a, MlirValue b,
                              MlirValue acc) {
  return c->dots ? fe_dot_bf16(&c->g, acc, a, b)
                 : fe_vdot(&c->g, c->dot, a, b, acc);
}

//===-- Rows ----------------------------------------------------------------//

/// Vector j of row k of the panel, `from` being its first element.
static MlirValue row_vector(fe_contract *c, const fe_tile_place *p,
                            MlirValue from, unsigned j) {
  fe_ir *ir = c->g.ir;
  MlirValue at = fe_add_static(ir, from, (int64_t)j * c->p.lanes);
  MlirValue b = c->g.flat[c->b], active = {0};
  if (c->form != FE_B_PANELS)
    active = fe_contract_active(c, p, j);
  return fe_is_null(active)
             ? fe_vload(ir, c->p.lanes, b, 1, &at)
             : fe_vload_masked(ir, c->p.lanes, active, b, 1, &at);
}

/// Lanes of two rows in turns; `high`: the second row is there (null: it is).
static MlirValue pairs_of(fe_contract *c, MlirValue even, MlirValue odd,
                          MlirValue high) {
  fe_ir *ir = c->g.ir;
  int64_t lanes[128], n = c->p.lanes;
  even = as_type(c, even, ir->bf16);
  odd = as_type(c, odd, ir->bf16);
  if (!fe_is_null(high))
    odd = fe_select(ir, high, odd, fe_float(ir, mlirValueGetType(odd), 0));
  for (int64_t i = 0; i < n; ++i) {
    lanes[2 * i] = i;
    lanes[2 * i + 1] = n + i;
  }
  return fe_shuffle(ir, even, odd, (unsigned)(2 * n), lanes);
}

static void copy_rows(fe_contract *c, const fe_tile_place *p) {
  fe_ir *ir = c->g.ir;
  bool panels = c->form == FE_B_PANELS;
  MlirValue row = panels ? fe_index(ir, c->width) : c->N;
  MlirValue start = panels ? p->b_start : fe_add(ir, p->b, p->column);
  fe_region r = fe_loop(ir, p->k_count);
  // A block of panels begins at b_start, the rows of a matrix at K's first.
  MlirValue k = panels ? r.iv : fe_add(ir, p->k_first, r.iv), odd = {0},
            high = {0};
  k = fe_contract_element(c, k);
  MlirValue from = fe_add(ir, start, fe_mul(ir, k, row));
  if (c->dots) {
    MlirValue next = fe_add_static(ir, k, 1);
    if (c->k_elements == FE_DYN || c->k_elements % 2) {
      high = fe_cmp(ir, FE_LT, next, c->K_elements);
      next = fe_min(ir, next, fe_add_static(ir, c->K_elements, -1));
    }
    odd = fe_add(ir, start, fe_mul(ir, next, row));
  }
  MlirValue to = fe_mul(ir, r.iv, fe_index(ir, c->width));
  for (unsigned j = 0; j < p->vectors; ++j) {
    MlirValue v = row_vector(c, p, from, j);
    v = c->dots ? pairs_of(c, v, row_vector(c, p, odd, j), high)
                : as_type(c, v, c->elem);
    MlirValue at = fe_add_static(ir, to, (int64_t)j * c->p.lanes);
    at = fe_contract_element(c, at);
    fe_vstore(ir, v, c->scratch, 1, &at);
  }
  fe_loop_end(ir, &r);
}

//===-- Columns -------------------------------------------------------------//

/// A square of transposed B: lanes columns from j on, lanes steps of k from
/// `k` on, of which `count` elements (null: all) are wanted. Columns that are
/// not there repeat the last one: results of those are not stored, and masked
/// loads are very slow where no memory is.
static void copy_square(fe_contract *c, const fe_tile_place *p, MlirValue j,
                        MlirValue k, MlirValue count) {
  fe_ir *ir = c->g.ir;
  unsigned n = c->p.lanes;
  int64_t elements = c->dots ? 2 * n : n;
  MlirType words = fe_vector_type(ir, n, ir->i32);
  MlirType halves = fe_vector_type(ir, elements, ir->bf16);
  MlirValue rows[64], m = c->g.flat[c->b];
  for (unsigned i = 0; i < n; ++i) {
    MlirValue column = fe_add(ir, p->column, fe_add_static(ir, j, i));
    if (!fe_is_null(p->active))
      column = fe_min(ir, column, fe_add_static(ir, c->N, -1));
    MlirValue at = fe_mul(ir, column, c->K_elements);
    at = fe_add(ir, fe_add(ir, p->b, at),
                fe_contract_element(c, fe_add(ir, p->k_first, k)));
    MlirValue v = fe_is_null(count)
                      ? fe_vload(ir, elements, m, 1, &at)
                      : fe_vload_masked(ir, elements, count, m, 1, &at);
    rows[i] = c->dots ? fe_bitcast(ir, as_type(c, v, ir->bf16), words)
                      : as_type(c, v, c->elem);
  }
  fe_vtranspose(ir, n, rows);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue at = fe_mul(ir, fe_add_static(ir, k, i), fe_index(ir, c->width));
    at = fe_contract_element(c, fe_add(ir, at, j));
    MlirValue v = c->dots ? fe_bitcast(ir, rows[i], halves) : rows[i];
    fe_vstore(ir, v, c->scratch, 1, &at);
  }
}

static void copy_columns(fe_contract *c, const fe_tile_place *p) {
  fe_ir *ir = c->g.ir;
  MlirValue n = fe_index(ir, c->p.lanes), first = p->k_first;
  int64_t step = c->dots ? 2 : 1;
  bool whole = c->k_elements != FE_DYN &&
               c->k_elements % (step * (int64_t)c->p.lanes) == 0;
  // Elements of K from the block's first on, and whole squares among them.
  MlirValue count = fe_contract_element(c, p->k_count);
  if (!whole && c->dots)
    count = fe_min(ir, count,
                   fe_sub(ir, c->K_elements, fe_contract_element(c, first)));
  MlirValue squares = fe_divu(ir, count, fe_contract_element(c, n));
  fe_region outer = fe_loop(ir, fe_index(ir, p->vectors));
  MlirValue j = fe_mul(ir, outer.iv, n);
  fe_region inner = fe_loop(ir, squares);
  copy_square(c, p, j, fe_mul(ir, inner.iv, n), (MlirValue){0});
  fe_loop_end(ir, &inner);
  if (!whole) {
    MlirValue done = fe_mul(ir, squares, n);
    MlirValue left = fe_sub(ir, count, fe_contract_element(c, done));
    fe_region rest = fe_if_begin(ir, fe_cmp(ir, FE_GT, left, fe_index(ir, 0)),
                                 0, NULL, false);
    copy_square(c, p, j, done, left);
    fe_if_end(ir, &rest, 0, NULL);
  }
  fe_loop_end(ir, &outer);
}

void fe_contract_copy_b(fe_contract *c, const fe_tile_place *p) {
  if (c->form == FE_B_COLUMNS)
    copy_columns(c, p);
  else
    copy_rows(c, p);
}
