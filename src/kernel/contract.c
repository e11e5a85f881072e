//===- contract.c - matrix products ---------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: an item of the parallel extent is one panel of B (some columns of the
// result) and one block of rows. Within it register tiles of rows x panel width
// run over all of K, outer products in registers, A read in place row-major, B
// from a panel: made at compile time (constant B), copied to scratch memory on
// the way (B computed at run time), or, for few rows, B where it lies. While a
// tile computes, it prefetches its share of the next constant panel.
//
// Where A is bf16, a step of K is a pair of its elements, which the processor's
// dot product multiplies by a pair of every column and adds to f32. Where only
// B has 16 bits, it is widened: few rows do so as they read it, more rows copy
// the block of a panel first. Panels in fixed point (fixed.c) are for few rows.
//
// Rows that do not fill tiles: tiles of about equal height when their number is
// known, else tiles of half heights, the last ones overlapping rows that are
// done already (computing an element twice is harmless). Columns that do not
// fill vectors are masked. So no element is ever computed by scalar code.
//
// Products of integers (krnl.integer_contract) are the same with elements of 32
// bits that hold several numbers along K: a multiply-add is then a dot product
// of those (dot.c).
//
// Where A and a panel do not fit into the cache, K is cut into blocks. A few
// panels take a block each before the next one's turn, so that the part of A is
// read from cache; accumulators wait in scratch memory, apart for every tile,
// so that overlapping tiles stay right.
//
//===----------------------------------------------------------------------===//
#include "kernel/contract.h"
#include "kernel/amx.h"

#include <string.h>

#define FE_TILE_CYCLES 8   // to begin and end a tile, beside its results
#define FE_WIDENED_ROWS 32 // from here on panels are widened before
#define FE_MAX_SCRATCH (512 << 10) // bytes of stack that a schedule may ask for

static bool always_one(MlirValue memref, unsigned d) {
  return fe_static_dim(memref, d) == 1;
}

//===-- The register tile ---------------------------------------------------//

typedef struct tile {
  unsigned height, vectors; // vectors: of all groups
  MlirValue row;            // first one
  MlirValue number;         // of the tile in its block; for `waiting`
  MlirValue *acc;           // [height][vectors]
} tile;

/// Element offset of accumulator vector j within a row of panels.
static int64_t vector_offset(const fe_contract *c, const fe_tile_place *p,
                             unsigned j) {
  return (int64_t)(j / p->vectors) * c->width +
         (int64_t)(j % p->vectors) * c->p.lanes;
}

/// Lines ahead: with several tiles each fetches its share of the next panel,
/// with one alone the same panel some rows ahead. The next panel is fetched as
/// `lines` * `turns` parts at once, since a core follows several streams of
/// memory faster than one: a step takes the next line of `lines` parts, and
/// `turns` steps take all.
typedef struct ahead {
  unsigned lines;  // per step of k; 0: none
  unsigned turns;  // 1 where many tiles ask for little at a time
  bool own;        // the same panel
  MlirValue start; // element
  MlirValue step;  // elements per step of k; per `turns` steps of a part
  MlirValue line;  // distance of the lines, in elements
} ahead;

#define FE_ROWS_AHEAD 24
#define FE_FEW_TILES 3
#define FE_ROWS_TO_L1 16
#define FE_FEW_ROWS 64

/// Bytes of a step of one column of constant B.
static int64_t step_bytes(const fe_contract *c) {
  int64_t element = fe_dtype_bytes(fe_dtype_of_elem(c->b_elem));
  return c->dots ? 4 : c->fixed ? FE_FIXED_BYTES : element;
}

/// Lines of the cache to be fetched for a row of a panel.
static unsigned lines_of_row(const fe_contract *c, const fe_tile_place *p) {
  int64_t row = (int64_t)p->vectors * c->p.lanes * step_bytes(c);
  bool narrow = step_bytes(c) < c->elem_bytes;
  return narrow ? (unsigned)((row + 63) / 64) : p->vectors;
}

static ahead plan_ahead(fe_contract *c, const fe_tile_place *p, const tile *t) {
  fe_ir *ir = c->g.ir;
  int64_t line = 64 / step_bytes(c);
  ahead f = {.line = fe_index(ir, line)};
  if (c->form != FE_B_PANELS)
    return f;
  int64_t rows = p->static_rows;
  if (!c->p.pack_b && rows != FE_DYN && rows <= c->p.rows) {
    int64_t rows_ahead = FE_ROWS_AHEAD * (c->elem_bytes / step_bytes(c));
    f.own = true;
    f.lines = lines_of_row(c, p) * p->groups;
    f.start = fe_add_static(ir, p->b_start, rows_ahead * c->width);
    f.step = fe_index(ir, c->width);
    return f;
  }
  f.turns = rows != FE_DYN && rows <= FE_FEW_TILES * c->p.rows ? 4 : 1;
  if (rows != FE_DYN) {
    int64_t share = (c->width * t->height + rows - 1) / rows;
    f.lines = (unsigned)((share + line - 1) / line);
    f.step = fe_index(ir, (share + f.lines - 1) / f.lines);
  } else {
    // As many lines as one tile alone needs; more tiles take smaller steps.
    MlirValue share =
        fe_ceildiv(ir, fe_index(ir, c->width * t->height), p->rows);
    f.lines = (unsigned)((c->width + line - 1) / line);
    f.step = fe_min(ir, fe_ceildiv(ir, share, fe_index(ir, f.lines)), f.line);
  }
  MlirValue count = p->k_count;
  MlirValue panel = fe_mul(ir, count, fe_index(ir, c->width));
  f.line = fe_divu(ir, panel, fe_index(ir, (int64_t)f.lines * f.turns));
  // Tiles of this height before this one, each K steps.
  MlirValue before =
      fe_divu(ir, fe_sub(ir, t->row, p->row), fe_index(ir, t->height));
  MlirValue steps = fe_divu(ir, count, fe_index(ir, f.turns));
  f.start =
      fe_add(ir, p->b_next, fe_mul(ir, before, fe_mul(ir, steps, f.step)));
  return f;
}

static void fetch_ahead(fe_contract *c, const fe_tile_place *p, const ahead *f,
                        MlirValue k) {
  fe_ir *ir = c->g.ir;
  if (!f->lines)
    return;
  MlirValue at = f->start;
  unsigned each = lines_of_row(c, p);
  if (f->own) {
    at = fe_add(ir, at, fe_mul(ir, k, f->step));
  } else {
    MlirValue turns = fe_index(ir, f->turns), turn = fe_remu(ir, k, turns);
    MlirValue parts = fe_mul(ir, turn, fe_index(ir, f->lines));
    at = fe_add(ir, at, fe_mul(ir, fe_divu(ir, k, turns), f->step));
    at = fe_add(ir, at, fe_mul(ir, parts, f->line));
  }
  for (unsigned i = 0; i < f->lines; ++i) {
    MlirValue line = at;
    unsigned number = f->own ? i % each : i;
    if (f->own && i / each) // of a panel beside
      line = fe_add(
          ir, at, fe_mul(ir, c->panel_rows, fe_index(ir, i / each * c->width)));
    line = fe_add(ir, line, fe_mul(ir, fe_index(ir, number), f->line));
    fe_prefetch(ir, c->g.flat[c->b], fe_contract_b_element(c, line), 2);
  }
}

/// The rows of the panel that come next, from L2 into L1. Among many tiles it
/// makes no difference, and costs where more is fetched ahead than needed.
static void fetch_rows(fe_contract *c, const fe_tile_place *p, const ahead *f,
                       MlirValue k) {
  fe_ir *ir = c->g.ir;
  bool many = p->static_rows == FE_DYN || p->static_rows > FE_FEW_ROWS;
  if (!f->lines || f->own || c->p.pack_b || many)
    return;
  MlirValue at = fe_add(ir, p->b_start, fe_mul(ir, k, p->b_row));
  at = fe_add_static(ir, at, FE_ROWS_TO_L1 * c->width);
  int64_t line = 64 / step_bytes(c);
  for (unsigned i = 0; i < lines_of_row(c, p); ++i)
    fe_prefetch(ir, c->g.flat[c->b],
                fe_contract_b_element(c, fe_add_static(ir, at, i * line)), 3);
}

/// Step k (from 0, within the block of K) on the accumulators.
static void step(fe_contract *c, const fe_tile_place *p, const tile *t,
                 const ahead *f, MlirValue k, MlirValue *acc) {
  fe_ir *ir = c->g.ir;
  fetch_ahead(c, p, f, k);
  fetch_rows(c, p, f, k);
  MlirValue b[32];
  for (unsigned j = 0; j < t->vectors; ++j)
    b[j] = fe_contract_load_b(c, p, k, j);
  MlirValue in_k = fe_add(ir, k, p->k_first);
  for (unsigned i = 0; i < t->height; ++i) {
    MlirValue row = fe_add_static(ir, t->row, i), at;
    if (c->trans_a)
      at = fe_add(ir, fe_mul(ir, in_k, c->M), row);
    else
      at = fe_add(ir, fe_mul(ir, row, c->K), in_k);
    at = fe_add(ir, p->a, fe_contract_element(c, at));
    MlirValue x = fe_contract_splat_a(c, at);
    for (unsigned j = 0; j < t->vectors; ++j) {
      MlirValue *to = &acc[i * t->vectors + j];
      *to = fe_contract_product(c, x, b[j], *to);
    }
  }
}

static MlirValue waiting_at(fe_contract *c, const fe_tile_place *p,
                            const tile *t, unsigned i, unsigned j) {
  fe_ir *ir = c->g.ir;
  int64_t size = (int64_t)c->p.rows * c->width;
  MlirValue at = fe_mul(ir, t->number, fe_index(ir, size));
  at = fe_add(ir, at, p->waits_at);
  return fe_add_static(ir, at, i * c->width + (int64_t)j * c->p.lanes);
}

/// Zeros, or what the tile had after the block of K before.
static void start_values(fe_contract *c, const fe_tile_place *p, tile *t) {
  fe_ir *ir = c->g.ir;
  unsigned n = t->height * t->vectors;
  MlirType vec = fe_vector_type(ir, c->p.lanes, c->elem);
  MlirValue zero = fe_number(ir, vec, 0);
  for (unsigned i = 0; i < n; ++i)
    t->acc[i] = zero;
  if (fe_is_null(p->is_first))
    return;
  MlirType *types = FE_NEW_N(ir->arena, MlirType, n);
  MlirValue *old = FE_NEW_N(ir->arena, MlirValue, n);
  for (unsigned i = 0; i < n; ++i)
    types[i] = vec;
  fe_region r = fe_if_begin(ir, p->is_first, n, types, true);
  fe_if_else(ir, &r, n, t->acc);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue at = waiting_at(c, p, t, i / t->vectors, i % t->vectors);
    old[i] = fe_vload(ir, c->p.lanes, c->waiting, 1, &at);
  }
  fe_if_end(ir, &r, n, old);
  for (unsigned i = 0; i < n; ++i)
    t->acc[i] = fe_result(r.op, i);
}

typedef struct row_place {
  fe_contract *c;
  const fe_tile_place *p;
  const tile *t;
} row_place;

/// Position of the tile's row `row` in the result, first column of the panel.
static void place_row(void *user, MlirValue row, fe_coords *out) {
  const row_place *r = user;
  fe_contract *c = r->c;
  fe_ir *ir = c->g.ir;
  unsigned rank = c->g.rank;
  MlirValue m = fe_add(ir, r->t->row, row);
  out->flat =
      fe_add(ir, r->p->dest, fe_add(ir, fe_mul(ir, m, c->N), r->p->column));
  out->at[rank - 1] = r->p->column;
  if (!c->collapsed) {
    for (unsigned d = 0; d < c->n_batch; ++d)
      out->at[d] = r->p->batch[d];
    out->at[rank - 2] = m;
    return;
  }
  for (unsigned d = rank - 1; d-- > 0;) {
    MlirValue size = fe_dim(ir, c->g.dest, d);
    out->at[d] = d ? fe_remu(ir, m, size) : m;
    m = d ? fe_divu(ir, m, size) : m;
  }
}

/// Cheap part of the epilogue, then the destination, or the buffer for a loop.
static void finish(fe_contract *c, const fe_tile_place *p, tile *t) {
  fe_ir *ir = c->g.ir;
  bool loop = fe_epilogue_has_loop(&c->e);
  MlirValue dest = c->g.flat[c->g.n_args - 1];
  row_place r = {c, p, t};
  for (unsigned i = 0; i < t->height; ++i) {
    fe_coords row;
    place_row(&r, fe_index(ir, i), &row);
    for (unsigned j = 0; j < t->vectors; ++j) {
      fe_coords at = row;
      int64_t offset = vector_offset(c, p, j);
      at.flat = fe_add_static(ir, row.flat, offset);
      at.at[c->g.rank - 1] = fe_add_static(ir, row.at[c->g.rank - 1], offset);
      MlirValue active = fe_contract_active(c, p, j);
      MlirValue *v = &t->acc[i * t->vectors + j];
      *v = fe_epilogue_vector(&c->e, *v, c->p.lanes, active, &at);
      if (loop) {
        fe_vstore(ir, *v, c->buffer,
                  FE_IDX(fe_index(ir, i), fe_index(ir, offset)));
      } else if (fe_is_null(active)) {
        fe_vstore(ir, *v, dest, 1, &at.flat);
      } else {
        fe_vstore_masked(ir, *v, active, dest, 1, &at.flat);
      }
    }
  }
  if (!loop)
    return;
  MlirValue columns =
      fe_is_null(p->active) ? fe_index(ir, c->width * p->groups) : p->active;
  fe_epilogue_loop(&c->e, c->buffer, fe_index(ir, t->height), columns,
                   place_row, &r);
}

void fe_contract_finish_row(fe_contract *c, const fe_tile_place *p,
                            MlirValue row, MlirValue *sums) {
  tile t = {.height = 1, .vectors = p->vectors, .row = row, .acc = sums};
  finish(c, p, &t);
}

static void emit_tile(fe_contract *c, const fe_tile_place *p, unsigned height,
                      MlirValue row, MlirValue number) {
  fe_ir *ir = c->g.ir;
  tile t = {.height = height,
            .vectors = p->vectors * p->groups,
            .row = row,
            .number = number};
  unsigned n = height * t.vectors;
  t.acc = FE_NEW_N(ir->arena, MlirValue, n);
  start_values(c, p, &t);
  ahead f = plan_ahead(c, p, &t);
  fe_region r =
      fe_for_begin(ir, fe_index(ir, 0), p->k_count, fe_index(ir, 1), n, t.acc);
  MlirValue *acc = FE_NEW_N(ir->arena, MlirValue, n);
  for (unsigned i = 0; i < n; ++i)
    acc[i] = fe_block_arg(r.body, 1 + i);
  step(c, p, &t, &f, r.iv, acc);
  fe_for_end(ir, &r, n, acc);
  for (unsigned i = 0; i < n; ++i)
    t.acc[i] = fe_result(r.op, i);
  if (fe_is_null(p->is_last)) {
    finish(c, p, &t);
    return;
  }
  fe_region last = fe_if_begin(ir, p->is_last, 0, NULL, true);
  MlirValue *raw = fe_memdup(ir->arena, t.acc, n * sizeof *raw);
  finish(c, p, &t);
  fe_if_else(ir, &last, 0, NULL);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue at = waiting_at(c, p, &t, i / t.vectors, i % t.vectors);
    fe_vstore(ir, raw[i], c->waiting, 1, &at);
  }
  fe_if_end(ir, &last, 0, NULL);
}

typedef struct tile_user {
  fe_contract *c;
  const fe_tile_place *p;
} tile_user;

static void one_tile(void *user, unsigned height, MlirValue row,
                     MlirValue number) {
  tile_user *u = user;
  emit_tile(u->c, u->p, height, fe_add(u->c->g.ir, u->p->row, row), number);
}

//===-- Items ---------------------------------------------------------------//

/// Elements that wait between blocks of K, of one item; or of tiles of AMX.
static int64_t waiting_size(const fe_contract *c) {
  if (c->tiles)
    return c->p.rows * c->width;
  return fe_tiles_most(c->p.rows, c->p.row_block) * c->p.rows * c->width;
}

/// Which part of K there is to do, and what is needed after it: the same part
/// of the next panel or, behind the last item, the next part of the first one's
/// panel.
static void place_in_k(fe_contract *c, fe_tile_place *p) {
  fe_ir *ir = c->g.ir;
  MlirValue panel = fe_mul(ir, c->panel_rows, fe_index(ir, c->width));
  MlirValue next = fe_add(ir, p->b_start, panel);
  p->k_first = fe_index(ir, 0);
  p->k_count = c->K;
  p->b_next = next;
  if (!p->part)
    return;
  MlirValue size = fe_index(ir, c->p.k_block);
  MlirValue left = fe_sub(ir, c->K, p->part->first);
  p->k_first = p->part->first;
  p->k_count = fe_min(ir, left, size);
  p->is_first = fe_cmp(ir, FE_EQ, p->k_first, fe_index(ir, 0));
  p->is_last = fe_cmp(ir, FE_LE, left, size);
  p->waits_at = fe_mul(ir, p->part->slot, fe_index(ir, waiting_size(c)));
  MlirValue offset = fe_mul(ir, p->k_first, p->b_row);
  p->b_start = fe_add(ir, p->b_start, offset);
  MlirValue first = fe_sub(ir, p->b_start, fe_mul(ir, p->part->slot, panel));
  first = fe_add(ir, first, fe_mul(ir, p->k_count, fe_index(ir, c->width)));
  p->b_next =
      fe_select(ir, p->part->is_end, fe_select(ir, p->is_last, next, first),
                fe_add(ir, p->b_start, panel));
}

/// All of K, or one block of it, for one panel and block of rows.
static void all_of_k(fe_contract *c, fe_tile_place *p) {
  fe_ir *ir = c->g.ir;
  MlirValue zero = fe_index(ir, 0), width = fe_index(ir, c->width);
  p->b_memref = c->g.flat[c->b];
  p->b_row = c->form == FE_B_PANELS || c->p.pack_b ? width : c->N;
  if (c->form == FE_B_PANELS) {
    MlirValue element = fe_contract_b_element(c, fe_index(ir, 1));
    p->b_start = fe_add(ir, fe_divu(ir, p->b, element),
                        fe_mul(ir, p->panel, fe_mul(ir, c->panel_rows, width)));
  } else {
    p->b_start = fe_add(ir, p->b, p->column);
  }
  place_in_k(c, p);
  if (c->p.pack_b) {
    fe_contract_copy_b(c, p);
    p->b_memref = c->scratch;
    p->b_start = zero;
  }
  if (c->tiles) {
    fe_contract_tiles(c, p);
    return;
  }
  tile_user u = {c, p};
  fe_tiles(ir, c->p.rows, p->static_rows, p->rows, one_tile, &u);
}

/// A panel with all columns, or the last one with `columns` (FE_DYN: as many
/// as there are).
static void one_panel(fe_contract *c, fe_tile_place p, bool full) {
  fe_ir *ir = c->g.ir;
  p.vectors = c->p.vectors;
  p.columns = c->width * p.groups;
  if (!full) {
    p.columns = c->n == FE_DYN ? FE_DYN : c->n % c->width;
    p.active = fe_sub(ir, c->N, p.column);
    if (p.columns != FE_DYN) {
      p.active = fe_index(ir, p.columns);
      p.vectors = (unsigned)((p.columns + c->p.lanes - 1) / c->p.lanes);
      if (p.columns % c->p.lanes == 0 && !fe_epilogue_has_loop(&c->e))
        p.active = (MlirValue){0};
    }
  }
  all_of_k(c, &p);
}

/// Chooses between the two at run time where both are possible.
static void any_panel(fe_contract *c, const fe_tile_place *p) {
  fe_ir *ir = c->g.ir;
  bool some_full = c->n == FE_DYN || c->n >= c->width;
  bool some_rest = c->n == FE_DYN || c->n % c->width;
  if (!some_full || !some_rest) {
    one_panel(c, *p, some_full);
    return;
  }
  MlirValue end = fe_add_static(ir, p->column, c->width);
  fe_region r = fe_if_begin(ir, fe_cmp(ir, FE_LE, end, c->N), 0, NULL, true);
  one_panel(c, *p, true);
  fe_if_else(ir, &r, 0, NULL);
  one_panel(c, *p, false);
  fe_if_end(ir, &r, 0, NULL);
}

/// Offset of the matrix with the given batch subscripts in argument `arg`,
/// whose matrices have the last `inner` dims; dims of size 1 are broadcast.
static MlirValue matrix_start(fe_contract *c, unsigned arg, unsigned inner,
                              const MlirValue *batch) {
  fe_ir *ir = c->g.ir;
  MlirValue m = c->g.arg[arg], at = fe_index(ir, 0);
  unsigned rank = fe_rank(m), own = rank - inner;
  for (unsigned d = 0; d < rank; ++d) {
    MlirValue size = fe_dim(ir, m, d);
    at = fe_mul(ir, at, size);
    if (d >= own || always_one(m, d))
      continue;
    MlirValue i = batch[c->n_batch - own + d];
    if (fe_static_dim(m, d) == FE_DYN)
      i = fe_select(ir, fe_cmp(ir, FE_EQ, size, fe_index(ir, 1)),
                    fe_index(ir, 0), i);
    at = fe_add(ir, at, i);
  }
  return at;
}

/// Takes the number of an item apart and does it; `part`: of K, null: all.
static void one_item(fe_contract *c, MlirValue item, unsigned groups,
                     const fe_part_of_k *part) {
  fe_ir *ir = c->g.ir;
  fe_tile_place p = {.groups = groups, .part = part};
  p.panel = fe_remu(ir, item, c->n_panels);
  MlirValue rest = fe_divu(ir, item, c->n_panels);
  MlirValue block = fe_remu(ir, rest, c->n_blocks);
  rest = fe_divu(ir, rest, c->n_blocks);
  for (unsigned d = c->n_batch; d-- > 0;) {
    MlirValue size = fe_dim(ir, c->g.dest, d);
    p.batch[d] = d ? fe_remu(ir, rest, size) : rest;
    rest = d ? fe_divu(ir, rest, size) : rest;
  }
  p.column = fe_mul(ir, p.panel, fe_index(ir, c->width));
  p.a = c->collapsed ? fe_index(ir, 0) : matrix_start(c, c->a, 2, p.batch);
  p.b = matrix_start(c, c->b, c->form == FE_B_PANELS ? 3 : 2, p.batch);
  p.dest = c->collapsed ? fe_index(ir, 0)
                        : matrix_start(c, c->g.n_args - 1, 2, p.batch);
  MlirValue size = fe_index(ir, c->p.row_block);
  p.row = fe_mul(ir, block, size);
  p.rows = fe_min(ir, size, fe_sub(ir, c->M, p.row));
  p.static_rows = FE_DYN;
  if (c->m != FE_DYN && c->m % c->p.row_block == 0) {
    p.static_rows = c->p.row_block;
    p.rows = size;
  }
  if (groups > 1)
    one_panel(c, p, true);
  else
    any_panel(c, &p);
}

static void items(fe_contract *c, MlirValue first, MlirValue last) {
  fe_ir *ir = c->g.ir;
  MlirValue one = fe_index(ir, 1);
  if (!c->p.k_block) {
    fe_region r = fe_for_begin(ir, first, last, one, 0, NULL);
    one_item(c, r.iv, 1, NULL);
    fe_for_end(ir, &r, 0, NULL);
    return;
  }
  // Some items take a block of K each before the next block's turn, so that
  // the columns of A that it needs stay in cache.
  MlirValue some = fe_index(ir, c->p.items);
  fe_region r = fe_for_begin(ir, first, last, some, 0, NULL);
  MlirValue end = fe_min(ir, fe_add(ir, r.iv, some), last);
  // Once even if K is 0: the result is then the epilogue of zeros.
  fe_region blocks = fe_for_begin(ir, fe_index(ir, 0), fe_max(ir, c->K, one),
                                  fe_index(ir, c->p.k_block), 0, NULL);
  fe_region each = fe_for_begin(ir, r.iv, end, one, 0, NULL);
  fe_part_of_k part = {blocks.iv, fe_sub(ir, each.iv, r.iv),
                       fe_cmp(ir, FE_EQ, fe_add(ir, each.iv, one), end)};
  one_item(c, each.iv, 1, &part);
  fe_for_end(ir, &each, 0, NULL);
  fe_for_end(ir, &blocks, 0, NULL);
  fe_for_end(ir, &r, 0, NULL);
}

/// `rows` rows only: several panels at once, as many streams from memory.
static void few_rows(fe_contract *c, int64_t rows) {
  fe_ir *ir = c->g.ir;
  fe_contract few = *c;
  few.m = few.p.row_block = rows;
  few.M = fe_index(ir, rows);
  few.n_blocks = fe_index(ir, 1);
  few.p.k_block = 0;
  if (few.form == FE_B_PANELS) // read once: no copy
    few.p.pack_b = false;
  MlirValue full = fe_index(ir, c->n / c->width);
  MlirValue last = fe_min(ir, c->g.end, full);
  MlirValue step = fe_index(ir, c->p.panels), zero = fe_index(ir, 0);
  MlirValue count = fe_max(ir, zero, fe_sub(ir, last, c->g.begin));
  count = fe_sub(ir, count, fe_remu(ir, count, step));
  MlirValue middle = fe_add(ir, c->g.begin, count);
  fe_region r = fe_for_begin(ir, c->g.begin, middle, step, 0, NULL);
  one_item(&few, r.iv, c->p.panels, NULL);
  fe_for_end(ir, &r, 0, NULL);
  items(&few, middle, c->g.end);
}

/// Whether few rows are done with several panels at once.
static bool several_panels(const fe_contract *c) {
  bool one_matrix = c->collapsed || c->n_batch == 0;
  bool whole = c->m == FE_DYN || !c->p.k_block;
  return c->p.panels > 1 && whole && one_matrix &&
         c->n >= c->width * c->p.panels;
}

static void all_items(fe_contract *c) {
  fe_ir *ir = c->g.ir;
  if (!several_panels(c)) {
    items(c, c->g.begin, c->g.end);
    return;
  }
  if (c->m != FE_DYN) {
    few_rows(c, c->m);
    return;
  }
  MlirValue one = fe_cmp(ir, FE_EQ, c->M, fe_index(ir, 1));
  fe_region r = fe_if_begin(ir, one, 0, NULL, true);
  few_rows(c, 1);
  fe_if_else(ir, &r, 0, NULL);
  items(c, c->g.begin, c->g.end);
  fe_if_end(ir, &r, 0, NULL);
}

//===-- The kernel ----------------------------------------------------------//

static fe_status bad(fe_contract *c, const char *what) {
  fe_error(c->g.ir->diags, (fe_where){0}, NULL, "krnl.contract: %s", what);
  return fe_gen_abandon(&c->g);
}

/// All f64, or sums of f32: of f32 by f32, f16 or bf16, or of bf16 by bf16 or
/// f32, which is rounded to it. Or integers, several to an element.
static bool read_types(fe_contract *c, MlirType a) {
  fe_ir *ir = c->g.ir;
  if (fe_op_is(c->g.root, "krnl.integer_contract")) {
    c->dot = fe_dot_named(fe_attr_str(ir->arena, c->g.root, "dot", ""));
    return c->dot != FE_DOT_NONE && mlirTypeEqual(a, ir->i32) &&
           mlirTypeEqual(c->b_elem, ir->i32) && mlirTypeEqual(c->elem, ir->i32);
  }
  c->dots = mlirTypeEqual(a, ir->bf16);
  if (mlirTypeEqual(c->elem, ir->f64))
    return mlirTypeEqual(a, ir->f64) && mlirTypeEqual(c->b_elem, ir->f64);
  bool f32 = mlirTypeEqual(c->b_elem, ir->f32);
  bool bf16 = mlirTypeEqual(c->b_elem, ir->bf16);
  bool f16 = mlirTypeEqual(c->b_elem, ir->f16);
  if (!mlirTypeEqual(c->elem, ir->f32))
    return false;
  if (c->fixed)
    return mlirTypeEqual(a, ir->f32) && mlirTypeEqual(c->b_elem, ir->i8);
  if (!c->dots)
    return mlirTypeEqual(a, ir->f32) && (f32 || bf16 || f16);
  return c->g.target->bf16 && !c->trans_a &&
         (bf16 || (f32 && c->form != FE_B_PANELS));
}

/// K of both operands; a pair of elements is one step.
static void read_depth(fe_contract *c) {
  fe_ir *ir = c->g.ir;
  MlirValue a = c->g.arg[c->a], b = c->g.arg[c->b];
  unsigned k_dim = fe_rank(a) - (c->trans_a ? 2 : 1), b_rank = fe_rank(b);
  c->k = fe_static_dim(a, k_dim);
  c->K = fe_dim(ir, a, k_dim);
  if (c->dots) {
    c->k = c->k == FE_DYN ? FE_DYN : c->k / 2;
    c->K = fe_divu(ir, c->K, fe_index(ir, 2));
  }
  if (c->form == FE_B_PANELS) { // of constants, a's size may be unknown
    c->k = fe_static_dim(b, b_rank - 2);
    c->K = fe_dim(ir, b, b_rank - 2);
    c->panel_rows = c->K;
    if (c->fixed) { // rows with scales are behind them
      c->k = fe_attr_i64(c->g.root, "depth", 0);
      c->K = fe_index(ir, c->k);
    }
    return;
  }
  c->panel_rows = c->K;
  unsigned d = b_rank - (c->form == FE_B_ROWS ? 2 : 1);
  c->k_elements = c->dots ? fe_static_dim(b, d) : c->k;
  c->K_elements = c->dots ? fe_dim(ir, b, d) : c->K;
}

/// Attributes, forms and sizes.
static fe_status read_shapes(fe_contract *c) {
  fe_gen *g = &c->g;
  fe_ir *ir = g->ir;
  static const char *const forms[] = {"rows", "columns", "panels", "fixed"};
  if (fe_gen_operand(g, 0, &c->a) || fe_gen_operand(g, 1, &c->b) ||
      fe_epilogue_parse(&c->e, g))
    return fe_gen_abandon(g);
  bool integers = fe_op_is(g->root, "krnl.integer_contract");
  const char *form =
      fe_attr_str(ir->arena, g->root, "b", integers ? "panels" : "");
  unsigned f = 0;
  while (f < FE_COUNT(forms) && strcmp(forms[f], form))
    ++f;
  if (f == FE_COUNT(forms))
    return bad(c, "unknown form of b");
  c->fixed = !strcmp(form, "fixed");
  c->form = c->fixed ? FE_B_PANELS : (fe_b_form)f;
  c->trans_a = fe_attr_i64(g->root, "trans_a", 0) != 0;
  MlirValue a = g->arg[c->a], b = g->arg[c->b];
  c->elem = fe_elem_of(fe_result(g->root, 0));
  c->b_elem = fe_elem_of(b);
  c->elem_bytes = fe_dtype_bytes(fe_dtype_of_elem(c->elem));
  if (!read_types(c, fe_elem_of(a)))
    return bad(c, "these element types do not go together");
  unsigned a_rank = fe_rank(a), b_rank = fe_rank(b);
  unsigned inner = c->form == FE_B_PANELS ? 3 : 2;
  if (g->rank < 2 || a_rank < 2 || b_rank < inner || a_rank > g->rank ||
      b_rank - inner > g->rank - 2)
    return bad(c, "ranks do not fit");
  c->collapsed = !c->trans_a && a_rank == g->rank;
  for (unsigned d = 0; d + inner < b_rank; ++d)
    c->collapsed &= always_one(b, d);
  for (unsigned d = 0; d + 2 < a_rank; ++d) // a may be broadcast against dest
    c->collapsed &= !always_one(a, d) || always_one(g->dest, d);
  c->n_batch = c->collapsed ? 0 : g->rank - 2;
  c->m = 1;
  c->M = fe_index(ir, 1);
  for (unsigned d = c->n_batch; d + 1 < g->rank; ++d) {
    int64_t size = fe_static_dim(g->dest, d);
    c->m = size == FE_DYN || c->m == FE_DYN ? FE_DYN : c->m * size;
    c->M = fe_mul(ir, c->M, fe_dim(ir, g->dest, d));
  }
  read_depth(c);
  c->n = fe_static_dim(g->dest, g->rank - 1);
  c->N = fe_dim(ir, g->dest, g->rank - 1);
  if (c->dot == FE_DOT_NONE && c->form == FE_B_PANELS &&
      (c->n == FE_DYN || c->k == FE_DYN))
    return bad(c, "constant panels of unknown size");
  if (c->fixed &&
      fe_static_dim(b, b_rank - 2) != fe_fixed_rows(c->k > 0 ? c->k : 0))
    return bad(c, "panels in fixed point are not of the depth");
  return FE_OK;
}

/// Elements of the packed block of B.
static int64_t scratch_size(const fe_contract *c) {
  int64_t k = c->p.k_block ? c->p.k_block : c->k;
  return (k + c->p.lanes) * c->width;
}

/// Scratch memory of the plan, on the stack.
static void allocate(fe_contract *c) {
  fe_ir *ir = c->g.ir;
  int64_t rows = c->p.rows;
  if (fe_epilogue_has_loop(&c->e)) {
    int64_t wide = c->width * c->p.panels;
    int64_t size[2] = {rows, wide};
    c->buffer = fe_alloca(ir, fe_memref_type(ir, c->e.mid, 2, size));
  }
  if (c->p.pack_b) {
    int64_t size = scratch_size(c) * (c->dots ? 2 : 1);
    MlirType elem = c->dots ? ir->bf16 : c->elem;
    c->scratch = fe_alloca(ir, fe_memref_type(ir, elem, 1, &size));
  }
  if (c->p.k_block || c->tiles) {
    int64_t size = waiting_size(c) * c->p.items;
    c->waiting = fe_alloca(ir, fe_memref_type(ir, c->elem, 1, &size));
  }
}

static void set_extent(fe_contract *c) {
  fe_gen *g = &c->g;
  fe_ir *ir = g->ir;
  unsigned dest = g->n_args - 1, a_rank = fe_rank(g->arg[c->a]);
  MlirAffineExpr count = fe_dim_const(ir, 1), m = count;
  for (unsigned d = 0; d + 1 < g->rank; ++d) {
    MlirAffineExpr *to = d < c->n_batch ? &count : &m;
    *to = fe_dim_mul(*to, fe_gen_dim(g, dest, d));
  }
  MlirAffineExpr n = fe_gen_dim(g, dest, g->rank - 1);
  MlirAffineExpr k = fe_gen_dim(g, c->a, c->trans_a ? a_rank - 2 : a_rank - 1);
  MlirAffineExpr block = fe_dim_const(ir, c->p.row_block);
  MlirAffineExpr width = fe_dim_const(ir, c->width);
  count = fe_dim_mul(count, fe_dim_ceildiv(m, block));
  count = fe_dim_mul(count, fe_dim_ceildiv(n, width));
  MlirAffineExpr rows = c->m == FE_DYN ? m : block;
  const char *plan = fe_contract_explain(ir->arena, &c->p);
  if (c->fixed)
    plan = fe_printf(ir->arena, "%s in 24 bits", plan);
  if (c->tiles)
    fe_contract_explain_tiles(c);
  else
    fe_gen_explain(g, c->dots ? "dot products" : fe_dot_explain(c->dot), plan);
  // What is not whole tiles makes all of them a little lower.
  int64_t height = c->p.rows, tiles = (c->p.row_block + height - 1) / height;
  if (c->m != FE_DYN && tiles && c->m % c->p.row_block == 0)
    height = c->p.row_block / tiles;
  int64_t vectors =
      (int64_t)c->p.vectors * (several_panels(c) ? c->p.panels : 1);
  if (c->tiles)
    fe_contract_tile_cost(c);
  else
    fe_gen_tile(g, (fe_cost_tile){.rows = height,
                                  .vectors = vectors,
                                  .steps = c->p.k_block     ? c->p.k_block
                                           : c->k == FE_DYN ? 0
                                                            : c->k,
                                  .extra = height * vectors + FE_TILE_CYCLES,
                                  .products = c->dots ? 2 : 1});
  MlirAffineExpr cost = fe_dim_mul(fe_dim_mul(rows, k), width);
  fe_gen_end(g, count, fe_dim_mul(cost, fe_dim_const(g->ir, 2)));
}

/// The plan as knobs. A block of rows is made of whole tiles where the number
/// of rows is not known.
static fe_status schedule(fe_contract *c) {
  int64_t rows = c->p.rows, row_block = c->p.row_block, k_block = c->p.k_block;
  const fe_knob knobs[] = {
      {"rows", &rows}, {"row_block", &row_block}, {"k_block", &k_block}};
  if (fe_schedule(&c->g, FE_COUNT(knobs), knobs) != FE_OK)
    return FE_FAILED;
  if (c->tiles && (rows != c->p.rows || k_block))
    return fe_schedule_refuse(&c->g, "tiles of AMX have 32 rows, and all of K");
  if (c->m == FE_DYN || row_block < c->m)
    row_block = (row_block + rows - 1) / rows * rows;
  if (c->m > 0 && row_block > c->m)
    row_block = c->m;
  c->p.rows = (unsigned)rows;
  c->p.row_block = row_block;
  c->p.k_block = k_block;
  if (!fe_schedule_given(&c->g))
    return FE_OK;
  if (c->p.pack_b && !k_block && c->k == FE_DYN)
    return fe_schedule_refuse(&c->g, "K is not known when compiling and B is "
                                     "packed: k_block must not be 0");
  int64_t bytes = c->elem_bytes;
  int64_t stack = (c->p.pack_b ? scratch_size(c) : 0) +
                  (k_block ? waiting_size(c) * c->p.items : 0);
  if (stack > FE_MAX_SCRATCH / bytes)
    return fe_schedule_refuse(&c->g, "these blocks need more memory than a "
                                     "kernel has on its stack");
  return FE_OK;
}

/// Whether blocks of B are copied for other reasons than where they lie: rows
/// become pairs, panels are widened for more than a few rows of A.
static bool is_copied(const fe_contract *c) {
  if (c->form != FE_B_PANELS)
    return c->dots;
  return !c->dots && !c->fixed && !mlirTypeEqual(c->b_elem, c->elem) &&
         (c->m == FE_DYN || c->m >= FE_WIDENED_ROWS);
}

fe_status fe_generate_contract(fe_ir *ir, const fe_target *target,
                               MlirModule module, MlirOperation func) {
  fe_contract c = {0};
  if (fe_gen_begin(&c.g, ir, target, module, func) || read_shapes(&c))
    return FE_FAILED;
  unsigned bits = 8 * c.elem_bytes;
  bool copied = is_copied(&c);
  c.p = fe_contract_choose(target, bits, c.m, c.n, c.k,
                           c.form == FE_B_PANELS && !copied,
                           c.form == FE_B_COLUMNS || copied);
  if (copied && c.form == FE_B_PANELS && c.m == FE_DYN)
    c.p.panels = 4; // as where nothing is copied; see few_rows
  c.width = (int64_t)c.p.vectors * c.p.lanes;
  c.tiles = fe_contract_takes_tiles(&c);
  if (c.tiles)
    fe_contract_plan_tiles(&c);
  if (schedule(&c) != FE_OK)
    return fe_gen_abandon(&c.g);
  MlirValue b = c.g.arg[c.b];
  int64_t width_of_b = c.width * (c.dots ? 2 : c.fixed ? FE_FIXED_BYTES : 1);
  if (c.form == FE_B_PANELS && fe_static_dim(b, fe_rank(b) - 1) != width_of_b)
    return bad(&c, "panels are not of the width of this target");
  MlirValue width = fe_index(ir, c.width);
  c.n_panels = fe_ceildiv(ir, c.N, width);
  c.n_blocks = fe_ceildiv(ir, c.M, fe_index(ir, c.p.row_block));
  allocate(&c);
  if (c.tiles)
    c.shape = fe_amx_begin(&c.g);
  all_items(&c);
  if (c.tiles)
    fe_amx_end(ir);
  set_extent(&c);
  return FE_OK;
}
