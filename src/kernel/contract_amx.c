//===- contract_amx.c - matrix products by tiles of AMX -------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: of a panel of constant B, up to three tiles of 16 columns, and two
// tiles of rows of A, in place. Six tiles are sums; one holds A and one B, in
// an order in which seven loads serve six products. Sums then go through memory
// to the epilogue, a row at a time: it is what vectors do.
//
// A last tile that is not whole is moved back over rows that are done already;
// fewer rows than 16 make lower tiles. Each pair of tiles fetches its share of
// the next panel into L2.
//
//===----------------------------------------------------------------------===//
#include "kernel/amx.h"
#include "kernel/contract.h"

#define STEPS (FE_AMX_BYTES / 4) // of K at once
#define A_TILE 6                 // behind the sums
#define B_TILE 7
#define MAX_COLUMNS 3
#define PAIR (2 * FE_AMX_ROWS) // rows
#define LEAST_ROWS 4 // fewer wait for B's bytes, and vectors read A but once
#define TILE_CYCLES 16

bool fe_contract_takes_tiles(const fe_contract *c) {
  const fe_target *t = c->g.target;
  bool kind = c->dots ? t->amx_bf16 : c->dot == FE_DOT_U8S8 && t->amx_bytes;
  return kind && c->form == FE_B_PANELS && !c->trans_a && c->k != FE_DYN &&
         c->k > 0 && c->k % STEPS == 0 &&
         (c->m == FE_DYN || c->m >= LEAST_ROWS);
}

void fe_contract_plan_tiles(fe_contract *c) {
  fe_contract_plan *p = &c->p;
  int64_t l2 = c->g.target->l2_bytes ? c->g.target->l2_bytes : 256 << 10;
  int64_t rows = l2 / 4 / (4 * c->k) / PAIR * PAIR;
  rows = rows < PAIR ? PAIR : rows;
  if (c->m != FE_DYN && c->m <= 2 * rows)
    rows = c->m;
  p->rows = PAIR;
  p->row_block = rows;
  p->k_block = 0;
  p->items = 1;
  p->panels = 1;
  p->pack_b = false;
}

/// Two tiles of rows, or one.
typedef struct pair {
  unsigned n;
  MlirValue row[2];
  MlirValue number; // of the pair in its block
} pair;

/// Lines of a step's rows of the next panel: all pairs together fetch them.
static void fetch(fe_contract *c, const fe_tile_place *p, const pair *t,
                  MlirValue step) {
  fe_ir *ir = c->g.ir;
  int64_t all = STEPS * c->width * 4 / 64, pairs = 4;
  if (p->static_rows != FE_DYN)
    pairs = (p->static_rows + PAIR - 1) / PAIR;
  int64_t lines = (all + pairs - 1) / pairs;
  MlirValue share = fe_remu(ir, t->number, fe_index(ir, pairs));
  MlirValue at = fe_add(ir, fe_mul(ir, step, fe_index(ir, STEPS * c->width)),
                        fe_mul(ir, share, fe_index(ir, lines * 16)));
  at = fe_add(ir, p->b_next, at);
  for (int64_t i = 0; i < lines; ++i)
    fe_prefetch(ir, c->g.flat[c->b],
                fe_contract_b_element(c, fe_add_static(ir, at, i * 16)), 2);
}

static void load_a(fe_contract *c, const fe_tile_place *p, MlirValue row,
                   MlirValue k) {
  fe_ir *ir = c->g.ir;
  MlirValue at = fe_add(ir, fe_mul(ir, row, c->K), k);
  at = fe_add(ir, p->a, fe_contract_element(c, at));
  fe_amx_load(ir, A_TILE, c->g.flat[c->a], at,
              fe_mul(ir, c->K, fe_index(ir, 4)));
}

static void load_b(fe_contract *c, const fe_tile_place *p, unsigned j,
                   MlirValue k) {
  fe_ir *ir = c->g.ir;
  MlirValue at = fe_mul(ir, k, fe_index(ir, c->width));
  at = fe_add_static(ir, fe_add(ir, p->b_start, at), j * FE_AMX_ROWS);
  fe_amx_load(ir, B_TILE, c->g.flat[c->b], fe_contract_b_element(c, at),
              fe_index(ir, 4 * c->width));
}

/// 64 bytes of K. The second tile of rows takes the columns backwards, from the
/// one that is loaded.
static void step(fe_contract *c, const fe_tile_place *p, const pair *t,
                 MlirValue number) {
  fe_ir *ir = c->g.ir;
  fe_amx_kind kind = c->dots ? FE_AMX_BF16 : FE_AMX_U8S8;
  MlirValue k = fe_mul(ir, number, fe_index(ir, STEPS));
  unsigned n = p->vectors;
  fetch(c, p, t, number);
  for (unsigned i = 0; i < t->n; ++i) {
    load_a(c, p, t->row[i], k);
    for (unsigned j = 0; j < n; ++j) {
      unsigned column = i ? n - 1 - j : j;
      if (!i || j)
        load_b(c, p, column, k);
      fe_amx_product(ir, kind, i * MAX_COLUMNS + column, A_TILE, B_TILE);
    }
  }
}

/// The epilogue on `count` rows of sums from row `first` of these on.
static void finish(fe_contract *c, const fe_tile_place *p, MlirValue row,
                   MlirValue count, int64_t first) {
  fe_ir *ir = c->g.ir;
  MlirValue sums[MAX_COLUMNS];
  fe_region r = fe_loop(ir, count);
  MlirValue at =
      fe_mul(ir, fe_add_static(ir, r.iv, first), fe_index(ir, c->width));
  for (unsigned j = 0; j < p->vectors; ++j)
    sums[j] = fe_vload(ir, c->p.lanes, c->waiting,
                       FE_IDX(fe_add_static(ir, at, j * c->p.lanes)));
  fe_contract_finish_row(c, p, fe_add(ir, row, r.iv), sums);
  fe_loop_end(ir, &r);
}

static void rows_of(fe_contract *c, const fe_tile_place *p, const pair *t,
                    MlirValue height) {
  fe_ir *ir = c->g.ir;
  unsigned n = p->vectors;
  for (unsigned i = 0; i < t->n * n; ++i)
    fe_amx_zero(ir, i / n * MAX_COLUMNS + i % n);
  fe_region r = fe_loop(ir, fe_index(ir, c->k / STEPS));
  step(c, p, t, r.iv);
  fe_loop_end(ir, &r);
  for (unsigned i = 0; i < t->n; ++i)
    for (unsigned j = 0; j < n; ++j)
      fe_amx_store(ir, i * MAX_COLUMNS + j, c->waiting,
                   fe_index(ir, (i * c->width + j) * FE_AMX_ROWS),
                   fe_index(ir, 4 * c->width));
  for (unsigned i = 0; i < t->n; ++i)
    finish(c, p, t->row[i], height, i * FE_AMX_ROWS);
}

void fe_contract_tiles(fe_contract *c, const fe_tile_place *p) {
  fe_ir *ir = c->g.ir;
  MlirValue sixteen = fe_index(ir, FE_AMX_ROWS), one = fe_index(ir, 1);
  MlirValue height = fe_min(ir, p->rows, sixteen);
  fe_amx_shape(ir, c->shape, height, B_TILE);
  // The last tile, moved back to end with the rows.
  MlirValue last = fe_sub(ir, fe_add(ir, p->row, p->rows), height);
  MlirValue tiles = fe_ceildiv(ir, p->rows, sixteen);
  MlirValue pairs = fe_divu(ir, tiles, fe_index(ir, 2));
  fe_region r = fe_loop(ir, pairs);
  MlirValue row = fe_add(ir, p->row, fe_mul(ir, r.iv, fe_index(ir, PAIR)));
  MlirValue next = fe_min(ir, fe_add(ir, row, sixteen), last);
  rows_of(c, p, &(pair){2, {row, next}, r.iv}, height);
  fe_loop_end(ir, &r);
  MlirValue odd = fe_cmp(ir, FE_EQ, fe_remu(ir, tiles, fe_index(ir, 2)), one);
  fe_region rest = fe_if_begin(ir, odd, 0, NULL, false);
  rows_of(c, p, &(pair){1, {last}, pairs}, height);
  fe_if_end(ir, &rest, 0, NULL);
}

void fe_contract_explain_tiles(fe_contract *c) {
  fe_ir *ir = c->g.ir;
  int64_t vectors = c->p.vectors;
  fe_gen_explain(&c->g, c->dots ? "tiles of bf16" : "tiles of bytes",
                 fe_printf(ir->arena,
                           "AMX: tiles of 2x16 rows x %lld columns, rows in "
                           "blocks of %lld",
                           (long long)(vectors * FE_AMX_ROWS),
                           (long long)c->p.row_block));
}

/// A product takes 16 cycles and does what vectors need as many times longer
/// for; so does, counted in their steps, what is to be done behind it.
void fe_contract_tile_cost(fe_contract *c) {
  int64_t times = c->dots ? 16 : 8, vectors = c->p.vectors;
  fe_gen_tile(
      &c->g, (fe_cost_tile){.rows = PAIR,
                            .vectors = vectors,
                            .steps = c->k,
                            .extra = times * (2 * PAIR * vectors + TILE_CYCLES),
                            .products = times});
}
