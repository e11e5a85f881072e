//===- winograd.c - products of minimal filtering, back to images -*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: items are (block of tiles, some panels of output channels). For each
// of the (t + 2)^2 products a small matrix product, tiles by channels times
// channels by panels, with the register tiles of conv.c, into a buffer on the
// stack; several panels where neither they nor the input stay in cache. Then
// tile by tile the output transform, bias and epilogue. Tiles at the right and
// lower border may reach beyond the image: they go through a buffer, and only
// pixels of the image are written.
//
//===----------------------------------------------------------------------===//
#include "kernel/winograd.h"
#include "kernel/cost.h"

#define MAX_ACC 32
#define LINE 16 // elements of a line of the cache

/// What is fetched ahead, `step` elements at each step of a product.
typedef struct fe_stream {
  MlirValue memref, at;
  int64_t step;
} fe_stream;

typedef struct winograd {
  fe_gen g;
  fe_epilogue epilogue;
  int64_t tile, n, lanes, channels, blocks, block, row;
  bool panels_outside;
  bool prefetch, prefetch_input; // of the next product
  int64_t many;                  // panels of an item
  fe_panels panels;
  bool fused; // the input is an image
  fe_winograd_source source;
  MlirValue in, weights, bias, dest; // flat
  MlirValue products; // buffer [product][panel block][tile][lane] and a gap
  MlirValue raw;      // buffer [pixel][lane], before the epilogue
  MlirValue scratch;  // buffer [pixel][lane] of the epilogue's loop
  MlirValue height, width, n_blocks, n_panels;
  fe_winograd_grid grid;
  // Of the item being emitted:
  int64_t panel, count; // blocks of a panel, panels
  MlirValue group, first_block, in_base, w_base;
  // Of the product and panel being emitted:
  MlirValue number, number_of_panel;
  MlirValue w_step; // from its weights to those to be used next
  fe_stream stream[2];
  unsigned n_streams;
  // Of the output tile:
  MlirValue image, out_block, y, x, valid_columns;
} winograd;

static MlirValue times(fe_ir *ir, MlirValue a, int64_t k) {
  return fe_mul(ir, a, fe_index(ir, k));
}
static MlirValue plus(fe_ir *ir, MlirValue a, int64_t k) {
  return fe_add(ir, a, fe_index(ir, k));
}

//===-- Products ------------------------------------------------------------//

static fe_region acc_loop(winograd *w, int64_t count, unsigned n,
                          MlirValue *acc) {
  fe_ir *ir = w->g.ir;
  fe_region r = fe_for_begin(ir, fe_index(ir, 0), fe_index(ir, count),
                             fe_index(ir, 1), n, acc);
  fe_set_attr(ir, r.op,
              fe_named(ir, "llvm.loop_annotation",
                       fe_attr_parse(ir, "#llvm.loop_annotation<unroll = "
                                         "<disable = true>>")));
  for (unsigned i = 0; i < n; ++i)
    acc[i] = fe_block_arg(r.body, 1 + i);
  return r;
}

static void acc_loop_end(winograd *w, fe_region *r, unsigned n,
                         MlirValue *acc) {
  fe_for_end(w->g.ir, r, n, acc);
  for (unsigned i = 0; i < n; ++i)
    acc[i] = fe_result(r->op, i);
}

/// The one number `share` of `shares` of `size` elements, in `count` steps.
static fe_stream share_of(winograd *w, MlirValue memref, MlirValue at,
                          int64_t size, MlirValue share, int64_t shares,
                          int64_t count) {
  fe_ir *ir = w->g.ir;
  int64_t step = (size + shares * count - 1) / (shares * count);
  return (fe_stream){memref, fe_add(ir, at, times(ir, share, step * count)),
                     step};
}

/// Register tile `tile` of `tiles` fetches its share of `count` channels of the
/// next product. `weights`, `in`: the same ones of this product, of its block.
static void prefetch(winograd *w, int64_t count, MlirValue weights,
                     MlirValue in, MlirValue tile, int64_t tiles) {
  fe_ir *ir = w->g.ir;
  w->n_streams = 0;
  if (w->prefetch)
    w->stream[w->n_streams++] =
        share_of(w, w->weights, fe_add(ir, weights, w->w_step),
                 count * w->panel * w->lanes, tile, tiles, count);
  if (w->prefetch_input)
    w->stream[w->n_streams++] =
        share_of(w, w->in, plus(ir, in, w->row), w->block * w->lanes,
                 fe_add(ir, times(ir, w->number_of_panel, tiles), tile),
                 tiles * w->count, count);
}

/// What step `number` of all fetches.
static void prefetch_step(const winograd *w, MlirValue number) {
  fe_ir *ir = w->g.ir;
  for (unsigned i = 0; i < w->n_streams; ++i) {
    const fe_stream *s = &w->stream[i];
    MlirValue at = fe_add(ir, s->at, times(ir, number, s->step));
    for (int64_t k = 0; k < s->step; k += LINE)
      fe_prefetch(ir, s->memref, plus(ir, at, k), 2);
  }
}

/// `count` channels from elements `in` and `weights` on, for m tiles.
static void multiply(winograd *w, unsigned m, int64_t count, MlirValue in,
                     MlirValue weights, MlirValue *acc) {
  fe_ir *ir = w->g.ir;
  unsigned nk = (unsigned)w->panel, n = m * nk;
  fe_region r = acc_loop(w, count, n, acc);
  prefetch_step(w, r.iv);
  MlirValue at = fe_add(ir, weights, times(ir, r.iv, w->panel * w->lanes));
  MlirValue b[MAX_ACC], from = fe_add(ir, in, r.iv);
  for (unsigned k = 0; k < nk; ++k)
    b[k] =
        fe_vload(ir, w->lanes, w->weights, FE_IDX(plus(ir, at, k * w->lanes)));
  for (unsigned i = 0; i < m; ++i) {
    MlirValue x = fe_load(ir, w->in, FE_IDX(plus(ir, from, i * w->lanes)));
    x = fe_splat(ir, x, w->lanes);
    for (unsigned k = 0; k < nk; ++k)
      acc[i * nk + k] = fe_vfma(&w->g, x, b[k], acc[i * nk + k]);
  }
  acc_loop_end(w, &r, n, acc);
}

/// Elements of the buffer for one product, `wide` blocks of channels.
static int64_t product_size(const winograd *w, int64_t wide) {
  return (wide * w->block + 1) * w->lanes;
}

/// Elements of a product's weights in a panel; in all products.
static int64_t weights_size(const winograd *w) {
  return (w->channels * w->panel + 1) * w->lanes;
}
static int64_t panel_size(const winograd *w) {
  return w->n * w->n * weights_size(w);
}

/// Register tile `tile` of `tiles`: tiles [first, first + m) of the block.
static void product(winograd *w, MlirValue first, unsigned m, MlirValue tile,
                    int64_t tiles) {
  fe_ir *ir = w->g.ir;
  unsigned nk = (unsigned)w->panel;
  int64_t width = w->panel * w->lanes, full = w->channels / w->lanes;
  int64_t rest = w->channels % w->lanes;
  MlirValue acc[MAX_ACC];
  MlirValue zero = fe_float(ir, fe_vector_type(ir, w->lanes, ir->f32), 0);
  for (unsigned i = 0; i < m * nk; ++i)
    acc[i] = zero;
  MlirValue of_block = fe_add(ir, w->in_base, times(ir, w->number, w->row));
  MlirValue in = fe_add(ir, of_block, times(ir, first, w->lanes));
  MlirValue weights =
      fe_add(ir, w->w_base, times(ir, w->number, weights_size(w)));
  weights = fe_add(ir, weights, times(ir, w->number_of_panel, panel_size(w)));
  if (full) {
    fe_region r = acc_loop(w, full, m * nk, acc);
    MlirValue at = fe_add(ir, weights, times(ir, r.iv, w->lanes * width));
    MlirValue block = times(ir, r.iv, w->block * w->lanes);
    prefetch(w, w->lanes, at, fe_add(ir, of_block, block), tile, tiles);
    multiply(w, m, w->lanes, fe_add(ir, in, block), at, acc);
    acc_loop_end(w, &r, m * nk, acc);
  }
  if (rest) {
    MlirValue at = plus(ir, weights, full * w->lanes * width);
    int64_t block = full * w->block * w->lanes;
    prefetch(w, rest, at, plus(ir, of_block, block), tile, tiles);
    multiply(w, m, rest, plus(ir, in, block), at, acc);
  }
  int64_t wide = w->panel * w->count;
  MlirValue to = fe_add(ir, times(ir, w->number, product_size(w, wide)),
                        times(ir, first, w->lanes));
  to = fe_add(ir, to,
              times(ir, w->number_of_panel, w->panel * w->block * w->lanes));
  for (unsigned k = 0; k < nk; ++k)
    for (unsigned i = 0; i < m; ++i)
      fe_vstore(ir, acc[i * nk + k], w->products,
                FE_IDX(plus(ir, to, (k * w->block + i) * w->lanes)));
}

/// All products of the block, in near-equal register tiles.
static void all_products(winograd *w) {
  fe_ir *ir = w->g.ir;
  int64_t most = fe_conv_rows(w->g.target, FE_DOT_NONE, w->panel);
  int64_t parts = (w->block + most - 1) / most;
  int64_t big = (w->block + parts - 1) / parts;
  int64_t n_big = w->block - (big - 1) * parts;
  fe_region r = fe_loop(ir, fe_index(ir, w->n * w->n));
  w->number = r.iv;
  // The last product is followed by the first one of the panels behind these.
  int64_t next = weights_size(w), last = w->n * w->n - 1;
  MlirValue is_last = fe_cmp(ir, FE_EQ, r.iv, fe_index(ir, last));
  w->w_step = fe_select(ir, is_last,
                        fe_index(ir, w->count * panel_size(w) - last * next),
                        fe_index(ir, next));
  fe_region q = fe_loop(ir, fe_index(ir, w->count));
  w->number_of_panel = q.iv;
  for (unsigned small = 0; small < 2; ++small) {
    int64_t n = small ? parts - n_big : n_big, m = small ? big - 1 : big;
    if (!n || !m)
      continue;
    fe_region p = fe_loop(ir, fe_index(ir, n));
    MlirValue first = plus(ir, times(ir, p.iv, m), small ? n_big * big : 0);
    product(w, first, (unsigned)m, plus(ir, p.iv, small ? n_big : 0), parts);
    fe_loop_end(ir, &p);
  }
  fe_loop_end(ir, &q);
  fe_loop_end(ir, &r);
}

//===-- Output --------------------------------------------------------------//

static fe_coords coords_of(const winograd *w, MlirValue y, MlirValue x) {
  fe_ir *ir = w->g.ir;
  fe_coords at = {{w->image, w->out_block, y, x, fe_index(ir, 0)}, {NULL}};
  MlirValue flat = fe_add(ir, times(ir, w->image, w->blocks), w->out_block);
  flat = fe_add(ir, fe_mul(ir, flat, w->height), y);
  flat = fe_add(ir, fe_mul(ir, flat, w->width), x);
  at.flat = times(ir, flat, w->lanes);
  return at;
}

static void place(void *user, MlirValue row, fe_coords *out) {
  winograd *w = user;
  fe_ir *ir = w->g.ir;
  *out = coords_of(w, fe_add(ir, w->y, fe_divu(ir, row, w->valid_columns)),
                   fe_add(ir, w->x, fe_remu(ir, row, w->valid_columns)));
}

/// One pixel, i down and j right in the tile, row `row` of the epilogue's
/// buffer.
static void pixel(winograd *w, MlirValue v, MlirValue i, MlirValue j,
                  MlirValue row) {
  fe_ir *ir = w->g.ir;
  fe_coords at = coords_of(w, fe_add(ir, w->y, i), fe_add(ir, w->x, j));
  v = fe_epilogue_vector(&w->epilogue, v, w->lanes, (MlirValue){NULL}, &at);
  if (fe_epilogue_has_loop(&w->epilogue))
    fe_vstore(ir, v, w->scratch, FE_IDX(row, fe_index(ir, 0)));
  else
    fe_vstore(ir, v, w->dest, FE_IDX(at.flat));
}

static void finish(winograd *w, MlirValue rows) {
  if (fe_epilogue_has_loop(&w->epilogue))
    fe_epilogue_loop(&w->epilogue, w->scratch, rows,
                     fe_index(w->g.ir, w->lanes), place, w);
}

/// Tile `t` of the block and block `k` of the panels.
static void output_tile(winograd *w, MlirValue t, MlirValue k) {
  fe_ir *ir = w->g.ir;
  int64_t n = w->n, size = w->tile, wide = w->panel * w->count;
  MlirValue at = times(ir, fe_add(ir, times(ir, k, w->block), t), w->lanes);
  MlirValue columns[FE_WINOGRAD_MAX][FE_WINOGRAD_MAX];
  for (int64_t j = 0; j < n; ++j) {
    MlirValue p[FE_WINOGRAD_MAX], o[FE_WINOGRAD_MAX];
    for (int64_t i = 0; i < n; ++i)
      p[i] =
          fe_vload(ir, w->lanes, w->products,
                   FE_IDX(plus(ir, at, (i * n + j) * product_size(w, wide))));
    fe_winograd_out(&w->g, size, p, o);
    for (int64_t i = 0; i < size; ++i)
      columns[i][j] = o[i];
  }
  w->out_block = fe_add(ir, w->first_block, k);
  MlirValue bias = fe_vload(ir, w->lanes, w->bias,
                            FE_IDX(times(ir, w->out_block, w->lanes)));
  MlirValue y[FE_WINOGRAD_MAX][FE_WINOGRAD_MAX];
  for (int64_t i = 0; i < size; ++i) {
    fe_winograd_out(&w->g, size, columns[i], y[i]);
    for (int64_t j = 0; j < size; ++j)
      y[i][j] = fe_add(ir, y[i][j], bias);
  }
  MlirValue tile = fe_index(ir, size);
  MlirValue rows = fe_min(ir, fe_sub(ir, w->height, w->y), tile);
  MlirValue cols = fe_min(ir, fe_sub(ir, w->width, w->x), tile);
  MlirValue whole =
      fe_and(ir, fe_cmp(ir, FE_EQ, rows, tile), fe_cmp(ir, FE_EQ, cols, tile));
  fe_region c = fe_if_begin(ir, whole, 0, NULL, true);
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j)
      pixel(w, y[i][j], fe_index(ir, i), fe_index(ir, j),
            fe_index(ir, i * size + j));
  w->valid_columns = tile;
  finish(w, fe_index(ir, size * size));
  fe_if_else(ir, &c, 0, NULL);
  MlirValue zero = fe_index(ir, 0);
  for (int64_t i = 0; i < size; ++i)
    for (int64_t j = 0; j < size; ++j)
      fe_vstore(ir, y[i][j], w->raw, FE_IDX(fe_index(ir, i * size + j), zero));
  fe_region down = fe_loop(ir, rows);
  fe_region right = fe_loop(ir, cols);
  MlirValue from = fe_add(ir, times(ir, down.iv, size), right.iv);
  MlirValue to = fe_add(ir, fe_mul(ir, down.iv, cols), right.iv);
  pixel(w, fe_vload(ir, w->lanes, w->raw, FE_IDX(from, zero)), down.iv,
        right.iv, to);
  fe_loop_end(ir, &right);
  fe_loop_end(ir, &down);
  w->valid_columns = cols;
  finish(w, fe_mul(ir, rows, cols));
  fe_if_end(ir, &c, 0, NULL);
}

static void output(winograd *w) {
  fe_ir *ir = w->g.ir;
  MlirValue first = times(ir, w->group, w->block);
  MlirValue count =
      fe_min(ir, fe_index(ir, w->block), fe_sub(ir, w->grid.total, first));
  fe_region k = fe_loop(ir, fe_index(ir, w->panel * w->count));
  fe_region t = fe_loop(ir, count);
  fe_winograd_place(ir, &w->grid, w->tile, fe_add(ir, first, t.iv), &w->image,
                    &w->y, &w->x);
  output_tile(w, t.iv, k.iv);
  fe_loop_end(ir, &t);
  fe_loop_end(ir, &k);
}

//===-- Items ---------------------------------------------------------------//

/// `count` panels from `number` on, of `blocks` each.
static void panels(winograd *w, MlirValue number, int64_t count,
                   int64_t blocks) {
  fe_ir *ir = w->g.ir;
  int64_t x = w->n * w->n;
  w->panel = w->panels.panel;
  // Panels before the last have all the same width.
  w->first_block = times(ir, number, w->panel);
  w->w_base = times(ir, number, panel_size(w));
  w->panel = blocks;
  w->count = count;
  w->in_base = w->fused ? fe_index(ir, 0) : times(ir, w->group, x * w->row);
  all_products(w);
  output(w);
}

/// Transforms the input of this block of tiles unless the item before did.
static void transform_input(winograd *w, MlirValue last) {
  fe_ir *ir = w->g.ir;
  fe_region c =
      fe_if_begin(ir, fe_cmp(ir, FE_NE, w->group, last), 0, NULL, false);
  fe_region r = fe_loop(ir, fe_index(ir, w->source.blocks));
  fe_winograd_input_block(&w->source, w->group, r.iv, fe_index(ir, 0));
  fe_loop_end(ir, &r);
  fe_if_end(ir, &c, 0, NULL);
}

/// `last`: block of tiles of the item before.
static void item(winograd *w, MlirValue number, MlirValue last) {
  fe_ir *ir = w->g.ir;
  const fe_panels *p = &w->panels;
  MlirValue inner = w->panels_outside ? w->n_blocks : w->n_panels;
  MlirValue low = fe_remu(ir, number, inner), high = fe_divu(ir, number, inner);
  MlirValue id = w->panels_outside ? high : low;
  w->group = w->panels_outside ? low : high;
  if (w->fused)
    transform_input(w, last);
  if (!p->last || !p->main) {
    if (p->last)
      panels(w, id, 1, p->last);
    else
      panels(w, times(ir, id, w->many), w->many, p->panel);
    return;
  }
  MlirValue main = fe_index(ir, p->main / w->many);
  fe_region c = fe_if_begin(ir, fe_cmp(ir, FE_LT, id, main), 0, NULL, true);
  panels(w, times(ir, id, w->many), w->many, p->panel);
  fe_if_else(ir, &c, 0, NULL);
  panels(w, fe_index(ir, p->main), 1, p->last);
  fe_if_end(ir, &c, 0, NULL);
}

static MlirValue buffer(winograd *w, int64_t rows, bool flat) {
  fe_ir *ir = w->g.ir;
  int64_t dims[2] = {rows, w->lanes}, all = rows * w->lanes;
  return fe_alloca(ir, flat ? fe_memref_type(ir, ir->f32, 1, &all)
                            : fe_memref_type(ir, ir->f32, 2, dims));
}

static void explain(winograd *w) {
  fe_ir *ir = w->g.ir;
  int64_t nk = w->panels.main ? w->panels.panel : w->panels.last;
  int64_t most = fe_conv_rows(w->g.target, FE_DOT_NONE, nk);
  int64_t tiles = (w->block + most - 1) / most;
  int64_t rows = (w->block + tiles - 1) / tiles;
  fe_gen_explain(
      &w->g,
      fe_printf(ir->arena, "Winograd F(%lldx%lld)", (long long)w->tile,
                (long long)w->tile),
      fe_printf(ir->arena,
                "register tile %lld x %lld channels, blocks of %lld tiles x "
                "%lld channels, input transformed %s, from outside: %s",
                (long long)rows, (long long)(nk * w->lanes),
                (long long)w->block, (long long)(nk * w->many * w->lanes),
                w->fused ? "block by block" : "before",
                w->panels_outside ? "panels, blocks" : "blocks, panels"));
  // Products are stored, and taken apart again.
  fe_gen_tile(&w->g, (fe_cost_tile){.rows = rows,
                                    .vectors = nk,
                                    .steps = w->channels,
                                    .extra = rows * nk * 4});
}

//===-- Choices -------------------------------------------------------------//

/// Bytes of products on the stack, where an item has more than one panel.
#define MAX_PRODUCTS (512 * 1024)

/// Of the buffer for `many` panels.
static int64_t products_bytes(const winograd *w, int64_t many) {
  int64_t wide = w->panels.panel * many;
  return w->n * w->n * 4 *
         product_size(w, w->panels.last > wide ? w->panels.last : wide);
}

/// Panels of an item where the input comes from outside of the cache for each
/// item: as many as the buffer admits.
static int64_t choose_many(const winograd *w, int64_t groups) {
  int64_t best = 1;
  for (int64_t many = 2; many <= w->panels.main; ++many)
    if (w->panels.main % many == 0 && products_bytes(w, many) <= MAX_PRODUCTS &&
        groups * w->panels.main / many >= FE_FEW_ITEMS)
      best = many;
  return best;
}

fe_status fe_generate_winograd(fe_ir *ir, const fe_target *target,
                               MlirModule module, MlirOperation func) {
  winograd *w = FE_NEW(ir->arena, winograd);
  fe_gen *g = &w->g;
  if (fe_gen_begin(g, ir, target, module, func))
    return FE_FAILED;
  unsigned in, weights, bias;
  if (fe_gen_operand(g, 0, &in) || fe_gen_operand(g, 1, &weights) ||
      fe_gen_operand(g, 2, &bias) || fe_epilogue_parse(&w->epilogue, g))
    return fe_gen_abandon(g);
  w->tile = fe_attr_i64(g->root, "tile", 4);
  w->block = fe_attr_i64(g->root, "block", 1);
  w->channels = fe_attr_i64(g->root, "channels", 1);
  w->n = w->tile + 2;
  w->lanes = fe_static_dim(g->dest, 4);
  w->blocks = fe_static_dim(g->dest, 1);
  w->fused = fe_rank(g->arg[in]) == 5;
  w->panels = fe_conv_panels(w->blocks, fe_attr_i64(g->root, "panel", 1));
  w->in = g->flat[in];
  w->weights = g->flat[weights];
  w->bias = g->flat[bias];
  w->dest = g->flat[g->n_args - 1];
  w->height = fe_dim(ir, g->dest, 2);
  w->width = fe_dim(ir, g->dest, 3);
  w->grid = fe_winograd_grid_of(ir, w->tile, fe_dim(ir, g->dest, 0), w->height,
                                w->width);
  int64_t in_blocks = (w->channels + w->lanes - 1) / w->lanes;
  w->row = (in_blocks * w->block + 1) * w->lanes;
  w->n_blocks = fe_ceildiv(ir, w->grid.total, fe_index(ir, w->block));
  // What is larger is read only once.
  int64_t groups = w->fused ? FE_DYN : fe_static_dim(g->arg[in], 0);
  int64_t outside =
      groups != FE_DYN && groups * w->block < w->blocks * w->lanes;
  int64_t fetch = 1, all = groups == FE_DYN ? 0 : groups * w->n * w->n * w->row;
  bool streams = all * 4 > (int64_t)target->l2_bytes / 2;
  w->many = streams ? choose_many(w, groups) : 1;
  const fe_knob knobs[] = {
      {"order", &outside}, {"prefetch", &fetch}, {"panels", &w->many}};
  if (fe_schedule(g, FE_COUNT(knobs), knobs) != FE_OK)
    return fe_gen_abandon(g);
  if (w->panels.main % w->many ||
      (w->many > 1 && products_bytes(w, w->many) > MAX_PRODUCTS)) {
    (void)fe_schedule_refuse(
        g, "so many panels do not divide all, or need too much stack");
    return fe_gen_abandon(g);
  }
  w->panels_outside = outside;
  w->prefetch = fetch;
  w->prefetch_input = fetch && streams;
  int64_t n_panels = w->panels.main / w->many + (w->panels.last ? 1 : 0);
  w->n_panels = fe_index(ir, n_panels);
  explain(w);
  w->products = buffer(w, products_bytes(w, w->many) / 4 / w->lanes, true);
  w->raw = buffer(w, w->tile * w->tile, false);
  if (fe_epilogue_has_loop(&w->epilogue))
    w->scratch = buffer(w, w->tile * w->tile, false);
  if (w->fused) {
    w->in = buffer(w, w->n * w->n * w->row / w->lanes, true);
    fe_winograd_source_of(&w->source, g, g->arg[in], g->flat[in], w->in);
  }
  MlirValue none = fe_index(ir, -1);
  fe_region r = fe_for_begin(ir, g->begin, g->end, fe_index(ir, 1), 1, &none);
  item(w, r.iv, fe_block_arg(r.body, 1));
  fe_for_end(ir, &r, 1, &w->group);
  unsigned dest = g->n_args - 1;
  MlirAffineExpr tile = fe_dim_const(ir, w->tile),
                 tiles = fe_gen_dim(g, dest, 0);
  for (unsigned i = 2; i < 4; ++i)
    tiles = fe_dim_mul(tiles, fe_dim_ceildiv(fe_gen_dim(g, dest, i), tile));
  MlirAffineExpr items =
      fe_dim_mul(fe_dim_ceildiv(tiles, fe_dim_const(ir, w->block)),
                 fe_dim_const(ir, n_panels));
  fe_gen_end(g, items,
             fe_dim_const(ir, 2 * w->n * w->n * w->block * w->channels *
                                  w->panels.panel * w->many * w->lanes));
  return FE_OK;
}
