//===- winograd_transform.c - into the domain of products --------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: F(2x2, 3x3) with the points 0, 1, -1, infinity and F(4x4, 3x3) with
// 0, +-a, +-b, infinity, a = 0.625 and b = 1.5: as fast as the usual 1 and 2,
// with a quarter of the rounding error (1e-6 to 3e-6 of the largest element).
// Lavin and Gray, "Fast algorithms for convolutional neural networks", 2015.
// Weights are transformed when the model is compiled (winograd_weights.c), or
// in every run where that is asked for (krnl.winograd_weights, below).
//
//===----------------------------------------------------------------------===//
#include "kernel/winograd.h"

static const double a = FE_WINOGRAD_A, b = FE_WINOGRAD_B;
#define A2 (a * a)
#define B2 (b * b)

typedef struct math {
  const fe_gen *g;
  MlirType type;
} math;

static MlirValue constant(const math *m, double v) {
  return fe_float(m->g->ir, m->type, v);
}
/// k * x + y
static MlirValue madd(const math *m, double k, MlirValue x, MlirValue y) {
  return fe_vfma(m->g, constant(m, k), x, y);
}
static MlirValue scale(const math *m, double k, MlirValue x) {
  return fe_mul(m->g->ir, constant(m, k), x);
}

void fe_winograd_in(const fe_gen *g, int64_t tile, const MlirValue *d,
                    MlirValue *o) {
  fe_ir *ir = g->ir;
  math m = {g, mlirValueGetType(d[0])};
  if (tile == 2) {
    o[0] = fe_sub(ir, d[0], d[2]);
    o[1] = fe_add(ir, d[1], d[2]);
    o[2] = fe_sub(ir, d[2], d[1]);
    o[3] = fe_sub(ir, d[3], d[1]);
    return;
  }
  o[0] = madd(&m, A2 * B2, d[0], madd(&m, -(A2 + B2), d[2], d[4]));
  o[5] = madd(&m, A2 * B2, d[1], madd(&m, -(A2 + B2), d[3], d[5]));
  MlirValue even = madd(&m, -B2, d[2], d[4]), odd = madd(&m, -B2, d[1], d[3]);
  o[1] = madd(&m, a, odd, even);
  o[2] = madd(&m, -a, odd, even);
  even = madd(&m, -A2, d[2], d[4]);
  odd = madd(&m, -A2, d[1], d[3]);
  o[3] = madd(&m, b, odd, even);
  o[4] = madd(&m, -b, odd, even);
}

void fe_winograd_taps(const fe_gen *g, int64_t tile, const MlirValue *w,
                      MlirValue *o) {
  fe_ir *ir = g->ir;
  math m = {g, mlirValueGetType(w[0])};
  if (tile == 2) {
    MlirValue ends = scale(&m, 0.5, fe_add(ir, w[0], w[2]));
    o[0] = w[0];
    o[1] = madd(&m, 0.5, w[1], ends);
    o[2] = madd(&m, -0.5, w[1], ends);
    o[3] = w[2];
    return;
  }
  double na = 2 * A2 * (A2 - B2), nb = 2 * B2 * (B2 - A2);
  o[0] = scale(&m, 1 / (A2 * B2), w[0]);
  MlirValue even = madd(&m, 1 / na, w[0], scale(&m, A2 / na, w[2]));
  o[1] = madd(&m, a / na, w[1], even);
  o[2] = madd(&m, -a / na, w[1], even);
  even = madd(&m, 1 / nb, w[0], scale(&m, B2 / nb, w[2]));
  o[3] = madd(&m, b / nb, w[1], even);
  o[4] = madd(&m, -b / nb, w[1], even);
  o[5] = w[2];
}

void fe_winograd_out(const fe_gen *g, int64_t tile, const MlirValue *p,
                     MlirValue *o) {
  fe_ir *ir = g->ir;
  math m = {g, mlirValueGetType(p[0])};
  MlirValue s1 = fe_add(ir, p[1], p[2]), d1 = fe_sub(ir, p[1], p[2]);
  if (tile == 2) {
    o[0] = fe_add(ir, p[0], s1);
    o[1] = fe_add(ir, d1, p[3]);
    return;
  }
  MlirValue s2 = fe_add(ir, p[3], p[4]), d2 = fe_sub(ir, p[3], p[4]);
  o[0] = fe_add(ir, p[0], fe_add(ir, s1, s2));
  o[1] = madd(&m, b, d2, scale(&m, a, d1));
  o[2] = madd(&m, B2, s2, scale(&m, A2, s1));
  o[3] = madd(&m, B2 * b, d2, madd(&m, A2 * a, d1, p[5]));
}

//===-- Tiles ---------------------------------------------------------------//

fe_winograd_grid fe_winograd_grid_of(fe_ir *ir, int64_t tile, MlirValue images,
                                     MlirValue height, MlirValue width) {
  MlirValue t = fe_index(ir, tile);
  fe_winograd_grid grid = {.rows = fe_ceildiv(ir, height, t),
                           .columns = fe_ceildiv(ir, width, t)};
  grid.total = fe_mul(ir, images, fe_mul(ir, grid.rows, grid.columns));
  return grid;
}

void fe_winograd_place(fe_ir *ir, const fe_winograd_grid *grid, int64_t tile,
                       MlirValue id, MlirValue *image, MlirValue *y,
                       MlirValue *x) {
  MlirValue row = fe_divu(ir, id, grid->columns);
  *x = fe_mul(ir, fe_remu(ir, id, grid->columns), fe_index(ir, tile));
  *y = fe_mul(ir, fe_remu(ir, row, grid->rows), fe_index(ir, tile));
  *image = fe_divu(ir, row, grid->rows);
}

int64_t fe_winograd_input_row(unsigned lanes, int64_t channels, int64_t block) {
  return ((channels + lanes - 1) / lanes * block + 1) * lanes;
}

int64_t fe_winograd_weights_size(unsigned lanes, int64_t tile, int64_t channels,
                                 int64_t out_channels, int64_t panel) {
  int64_t blocks = (out_channels + lanes - 1) / lanes;
  fe_panels p = fe_conv_panels(blocks, panel);
  return fe_winograd_products(tile) * lanes *
         (channels * blocks + p.main + (p.last ? 1 : 0));
}

/// Cycles per vector (or per transformed weight) of the transforms, measured.
#define INPUT_CYCLES 4.5
#define OUTPUT_CYCLES 3.0
#define WEIGHT_CYCLES 0.65
/// Bytes of stored weights that memory, and the last cache, give in a cycle.
#define WEIGHT_BYTES 3.0
#define CACHED_BYTES 8.0
/// Tiles of a block: the more, the less often weights are read, but so much
/// larger is the buffer for products.
#define MAX_BLOCK 56
/// Taken for sizes that only a run knows.
#define USUAL_SIZE 56
/// Bytes for transformed input on a kernel's stack: what the caches admit,
/// between these.
#define MIN_STACK (384 * 1024)
#define MAX_STACK (768 * 1024)

static double cost(const fe_conv_shape *s, int64_t lanes, int64_t images,
                   int64_t tile, fe_winograd_weights from) {
  double products = (double)fe_winograd_products(tile);
  double tiles = (double)(images * ((s->out[0] + tile - 1) / tile) *
                          ((s->out[1] + tile - 1) / tile));
  double c = (double)s->channels, k = (double)s->out_channels;
  double multiply = tiles * products * c * k / (double)(2 * lanes);
  double weights = products * c * k;
  double transforms =
      tiles * products * (INPUT_CYCLES * c + OUTPUT_CYCLES * k) / (double)lanes;
  if (from == FE_WEIGHTS_MADE)
    return multiply + transforms + weights * WEIGHT_CYCLES;
  // Stored weights come while others are multiplied.
  double fetch = weights * sizeof(float) /
                 (from == FE_WEIGHTS_CACHED ? CACHED_BYTES : WEIGHT_BYTES);
  return (multiply > fetch ? multiply : fetch) + transforms;
}

/// Sizes that are not known become usual ones; whether all are known.
static bool usual_sizes(fe_conv_shape *s, int64_t *images) {
  bool known = s->out[0] != FE_DYN && s->out[1] != FE_DYN && *images != FE_DYN;
  if (*images == FE_DYN)
    *images = 1;
  for (unsigned i = 0; i < 2; ++i)
    if (s->out[i] == FE_DYN)
      s->out[i] = USUAL_SIZE;
  return known;
}

static bool has_form(const fe_conv_shape *s) {
  return s->kernel[0] == 3 && s->kernel[1] == 3 && s->stride[0] == 1 &&
         s->stride[1] == 1 && s->groups == 1 && !s->plain;
}

fe_winograd_plan fe_winograd_plan_for(const fe_target *t,
                                      const fe_conv_shape *shape,
                                      int64_t images, int64_t tile,
                                      int64_t *most) {
  static const fe_winograd_plan none = {0, 0, false};
  fe_conv_shape s = *shape;
  if (!has_form(&s) || (tile != 2 && tile != 4))
    return none;
  bool known = usual_sizes(&s, &images);
  int64_t lanes = fe_conv_block(t);
  int64_t tiles =
      images * ((s.out[0] + tile - 1) / tile) * ((s.out[1] + tile - 1) / tile);
  if (!tiles) // images without pixels
    return none;
  // A block's products on the stack, if all of them exceed the cache (or the
  // memory for all is not known).
  int64_t products = fe_winograd_products(tile) * 4;
  int64_t each = products * lanes * ((s.channels + lanes - 1) / lanes);
  int64_t weights = products * s.channels * s.out_channels;
  int64_t l2 = (int64_t)t->l2_bytes, rows = fe_conv_rows(t, FE_DOT_NONE, 2);
  int64_t stack = l2 * 2 / 5 > MAX_STACK   ? MAX_STACK
                  : l2 * 2 / 5 < MIN_STACK ? MIN_STACK
                                           : l2 * 2 / 5;
  // Few tiles, which have to read many weights each, are worse than an input
  // that comes from outside of the cache.
  int64_t least = !known ? rows / 2 : weights > l2 / 2 ? MAX_BLOCK / 2 : rows;
  bool fits = each * least <= stack;
  bool fused = fits && (!known || tiles * each > l2 / 2);
  if (!known && !fits)
    return none;
  *most = fused && MAX_BLOCK > stack / each ? stack / each : MAX_BLOCK;
  int64_t blocks = (tiles + *most - 1) / *most;
  // Two threads, and one item more for one of them: not of few.
  int64_t panels = (s.out_channels + 2 * lanes - 1) / (2 * lanes);
  if (blocks * panels % 2 && blocks * panels < FE_FEW_ITEMS &&
      tiles / (blocks + 1) >= rows * 3 / 4)
    blocks++;
  return (fe_winograd_plan){tile, known ? (tiles + blocks - 1) / blocks : *most,
                            fused};
}

fe_winograd_plan fe_winograd_choose(const fe_target *t,
                                    const fe_conv_shape *shape, int64_t images,
                                    fe_winograd_weights weights) {
  fe_winograd_plan best = {0, 0, false};
  fe_conv_shape s = *shape;
  int64_t lanes = fe_conv_block(t), usual = images, most;
  if (!has_form(&s))
    return best;
  usual_sizes(&s, &usual);
  double pixels = (double)(usual * s.out[0] * s.out[1]);
  double direct =
      pixels * 9 * (double)(s.channels * s.out_channels) / (double)(2 * lanes);
  double least = direct * 0.9; // rounding errors have to pay
  for (int64_t tile = 2; tile <= 4; tile += 2) {
    double c = cost(&s, lanes, usual, tile, weights);
    fe_winograd_plan p = fe_winograd_plan_for(t, shape, images, tile, &most);
    if (c >= least || !p.tile)
      continue;
    best = p;
    least = c;
  }
  return best;
}

//===-- Input ---------------------------------------------------------------//

/// `inside`: all of the tile's input lies in the image.
static void input_tile(fe_winograd_source *p, bool inside) {
  fe_ir *ir = p->g->ir;
  MlirValue d[FE_WINOGRAD_MAX][FE_WINOGRAD_MAX], zero = fe_index(ir, 0);
  MlirValue lanes = fe_index(ir, p->lanes), one = fe_index(ir, 1);
  MlirValue column[FE_WINOGRAD_MAX], has_column[FE_WINOGRAD_MAX];
  MlirType type = fe_vector_type(ir, p->lanes, ir->f32);
  MlirValue nothing = fe_float(ir, type, 0);
  for (int64_t j = 0; j < p->n; ++j) {
    column[j] = fe_add(ir, p->x, fe_index(ir, j));
    if (inside)
      continue;
    has_column[j] = fe_and(ir, fe_cmp(ir, FE_GE, column[j], zero),
                           fe_cmp(ir, FE_LT, column[j], p->width));
    column[j] =
        fe_min(ir, fe_max(ir, column[j], zero), fe_sub(ir, p->width, one));
  }
  for (int64_t i = 0; i < p->n; ++i) {
    MlirValue row = fe_add(ir, p->y, fe_index(ir, i)), has_row = {NULL};
    if (!inside) {
      has_row = fe_and(ir, fe_cmp(ir, FE_GE, row, zero),
                       fe_cmp(ir, FE_LT, row, p->height));
      row = fe_min(ir, fe_max(ir, row, zero), fe_sub(ir, p->height, one));
    }
    MlirValue start = fe_mul(ir, row, p->width);
    for (int64_t j = 0; j < p->n; ++j) {
      MlirValue at = fe_mul(ir, fe_add(ir, start, column[j]), lanes);
      d[i][j] = fe_vload(ir, p->lanes, p->in, FE_IDX(fe_add(ir, p->plane, at)));
      if (!inside)
        d[i][j] =
            fe_select(ir, fe_and(ir, has_row, has_column[j]), d[i][j], nothing);
    }
  }
  MlirValue t[FE_WINOGRAD_MAX][FE_WINOGRAD_MAX];
  for (int64_t j = 0; j < p->n; ++j) {
    MlirValue in[FE_WINOGRAD_MAX], out[FE_WINOGRAD_MAX];
    for (int64_t i = 0; i < p->n; ++i)
      in[i] = d[i][j];
    fe_winograd_in(p->g, p->tile, in, out);
    for (int64_t i = 0; i < p->n; ++i)
      t[i][j] = out[i];
  }
  for (int64_t i = 0; i < p->n; ++i) {
    MlirValue out[FE_WINOGRAD_MAX];
    fe_winograd_in(p->g, p->tile, t[i], out);
    for (int64_t j = 0; j < p->n; ++j)
      fe_vstore(
          ir, out[j], p->out,
          FE_IDX(fe_add(ir, p->at, fe_index(ir, (i * p->n + j) * p->row))));
  }
}

void fe_winograd_input_block(fe_winograd_source *p, MlirValue block,
                             MlirValue channels, MlirValue base) {
  fe_ir *ir = p->g->ir;
  MlirValue blocks = fe_index(ir, p->blocks), tiles = fe_index(ir, p->block);
  MlirValue first = fe_mul(ir, block, tiles);
  MlirValue count = fe_min(ir, tiles, fe_sub(ir, p->grid.total, first));
  base =
      fe_add(ir, base, fe_mul(ir, channels, fe_index(ir, p->block * p->lanes)));
  MlirValue size =
      fe_mul(ir, fe_mul(ir, p->height, p->width), fe_index(ir, p->lanes));
  fe_region r = fe_loop(ir, count);
  MlirValue image, y, x;
  fe_winograd_place(ir, &p->grid, p->tile, fe_add(ir, first, r.iv), &image, &y,
                    &x);
  p->plane = fe_mul(ir, fe_add(ir, fe_mul(ir, image, blocks), channels), size);
  p->y = fe_sub(ir, y, fe_index(ir, p->pad[0]));
  p->x = fe_sub(ir, x, fe_index(ir, p->pad[1]));
  p->at = fe_add(ir, base, fe_mul(ir, r.iv, fe_index(ir, p->lanes)));
  MlirValue zero = fe_index(ir, 0), n = fe_index(ir, p->n);
  MlirValue inside = fe_and(
      ir,
      fe_and(ir, fe_cmp(ir, FE_GE, p->y, zero), fe_cmp(ir, FE_GE, p->x, zero)),
      fe_and(ir, fe_cmp(ir, FE_LE, fe_add(ir, p->y, n), p->height),
             fe_cmp(ir, FE_LE, fe_add(ir, p->x, n), p->width)));
  fe_region c = fe_if_begin(ir, inside, 0, NULL, true);
  input_tile(p, true);
  fe_if_else(ir, &c, 0, NULL);
  input_tile(p, false);
  fe_if_end(ir, &c, 0, NULL);
  fe_loop_end(ir, &r);
}

void fe_winograd_source_of(fe_winograd_source *p, const fe_gen *g,
                           MlirValue image, MlirValue in, MlirValue out) {
  fe_ir *ir = g->ir;
  *p = (fe_winograd_source){.g = g, .in = in, .out = out};
  p->tile = fe_attr_i64(g->root, "tile", 4);
  p->block = fe_attr_i64(g->root, "block", 1);
  fe_attr_i64s(g->root, "pads", p->pad, 4);
  p->n = p->tile + 2;
  p->lanes = fe_static_dim(image, 4);
  p->blocks = fe_static_dim(image, 1);
  p->row = (p->blocks * p->block + 1) * p->lanes;
  p->height = fe_dim(ir, image, 2);
  p->width = fe_dim(ir, image, 3);
  MlirValue size[2] = {p->height, p->width};
  for (unsigned i = 0; i < 2; ++i)
    size[i] = fe_add(ir, size[i], fe_index(ir, p->pad[i] + p->pad[2 + i] - 2));
  p->grid =
      fe_winograd_grid_of(ir, p->tile, fe_dim(ir, image, 0), size[0], size[1]);
}

fe_status fe_generate_winograd_input(fe_ir *ir, const fe_target *target,
                                     MlirModule module, MlirOperation func) {
  fe_gen gen, *g = &gen;
  if (fe_gen_begin(g, ir, target, module, func))
    return FE_FAILED;
  unsigned in;
  if (fe_gen_operand(g, 0, &in))
    return fe_gen_abandon(g);
  fe_winograd_source p;
  fe_winograd_source_of(&p, g, g->arg[in], g->flat[in], g->flat[g->n_args - 1]);
  MlirValue blocks = fe_index(ir, p.blocks);
  fe_region r = fe_for_begin(ir, g->begin, g->end, fe_index(ir, 1), 0, NULL);
  MlirValue block = fe_divu(ir, r.iv, blocks);
  fe_winograd_input_block(&p, block, fe_remu(ir, r.iv, blocks),
                          fe_mul(ir, block, fe_index(ir, p.n * p.n * p.row)));
  fe_for_end(ir, &r, 0, NULL);
  MlirAffineExpr items =
      fe_dim_mul(fe_gen_dim(g, g->n_args - 1, 0), fe_dim_const(ir, p.blocks));
  fe_gen_end(g, items, fe_dim_const(ir, p.block * p.n * p.n * 4 * p.lanes));
  return FE_OK;
}

//===-- Weights -------------------------------------------------------------//

/// Panel `number` of `wide` blocks, input channels of one block.
typedef struct weights {
  fe_gen g;
  int64_t tile, n, lanes, channels;
  fe_panels panels;
  MlirValue in, out;
} weights;

/// Channels [from, from + count) of a block of input channels in a panel.
static void weights_block(weights *p, MlirValue panel, int64_t wide,
                          MlirValue first, int64_t count) {
  fe_ir *ir = p->g.ir;
  int64_t width = wide * p->lanes, row = p->channels * width + p->lanes;
  // Panels before this one are all of the common width.
  MlirValue in = fe_mul(
      ir, panel, fe_index(ir, p->panels.panel * p->lanes * p->channels * 9));
  MlirValue out = fe_mul(
      ir, panel,
      fe_index(ir, p->n * p->n *
                       (p->channels * p->panels.panel * p->lanes + p->lanes)));
  in = fe_add(ir, in, fe_mul(ir, first, fe_index(ir, 9 * width)));
  out = fe_add(ir, out, fe_mul(ir, first, fe_index(ir, width)));
  fe_region r = fe_loop(ir, fe_index(ir, count * wide));
  MlirValue at = fe_mul(ir, r.iv, fe_index(ir, p->lanes));
  MlirValue t[FE_WINOGRAD_MAX][3];
  for (int64_t j = 0; j < 3; ++j) {
    MlirValue w[3], o[FE_WINOGRAD_MAX];
    for (int64_t i = 0; i < 3; ++i) {
      MlirValue from =
          fe_add(ir, at, fe_index(ir, (i * 3 + j) * count * width));
      w[i] = fe_vload(ir, p->lanes, p->in, FE_IDX(fe_add(ir, in, from)));
    }
    fe_winograd_taps(&p->g, p->tile, w, o);
    for (int64_t i = 0; i < p->n; ++i)
      t[i][j] = o[i];
  }
  for (int64_t i = 0; i < p->n; ++i) {
    MlirValue o[FE_WINOGRAD_MAX];
    fe_winograd_taps(&p->g, p->tile, t[i], o);
    for (int64_t j = 0; j < p->n; ++j) {
      MlirValue to = fe_add(ir, at, fe_index(ir, (i * p->n + j) * row));
      fe_vstore(ir, o[j], p->out, FE_IDX(fe_add(ir, out, to)));
    }
  }
  fe_loop_end(ir, &r);
}

static void weights_panel(weights *p, MlirValue panel, int64_t wide,
                          MlirValue block) {
  fe_ir *ir = p->g.ir;
  int64_t full = p->channels / p->lanes, rest = p->channels % p->lanes;
  MlirValue first = fe_mul(ir, block, fe_index(ir, p->lanes));
  if (!rest) {
    weights_block(p, panel, wide, first, p->lanes);
    return;
  }
  MlirValue inner = fe_cmp(ir, FE_LT, block, fe_index(ir, full));
  fe_region c = fe_if_begin(ir, inner, 0, NULL, true);
  weights_block(p, panel, wide, first, p->lanes);
  fe_if_else(ir, &c, 0, NULL);
  weights_block(p, panel, wide, first, rest);
  fe_if_end(ir, &c, 0, NULL);
}

fe_status fe_generate_winograd_weights(fe_ir *ir, const fe_target *target,
                                       MlirModule module, MlirOperation func) {
  weights p = {0};
  fe_gen *g = &p.g;
  if (fe_gen_begin(g, ir, target, module, func))
    return FE_FAILED;
  unsigned in;
  if (fe_gen_operand(g, 0, &in))
    return fe_gen_abandon(g);
  p.tile = fe_attr_i64(g->root, "tile", 4);
  p.n = p.tile + 2;
  p.lanes = fe_conv_block(target);
  p.channels = fe_attr_i64(g->root, "channels", 1);
  int64_t k_blocks = fe_static_dim(g->arg[in], 0) / (9 * p.channels * p.lanes);
  p.panels = fe_conv_panels(k_blocks, fe_attr_i64(g->root, "panel", 1));
  p.in = g->flat[in];
  p.out = g->flat[g->n_args - 1];
  int64_t blocks = (p.channels + p.lanes - 1) / p.lanes;
  int64_t n_panels = p.panels.main + (p.panels.last ? 1 : 0);
  fe_region r = fe_for_begin(ir, g->begin, g->end, fe_index(ir, 1), 0, NULL);
  MlirValue block = fe_remu(ir, r.iv, fe_index(ir, blocks));
  MlirValue panel = fe_divu(ir, r.iv, fe_index(ir, blocks));
  if (!p.panels.last || !p.panels.main) {
    weights_panel(&p, panel, p.panels.last ? p.panels.last : p.panels.panel,
                  block);
  } else {
    MlirValue inner = fe_cmp(ir, FE_LT, panel, fe_index(ir, p.panels.main));
    fe_region c = fe_if_begin(ir, inner, 0, NULL, true);
    weights_panel(&p, panel, p.panels.panel, block);
    fe_if_else(ir, &c, 0, NULL);
    weights_panel(&p, panel, p.panels.last, block);
    fe_if_end(ir, &c, 0, NULL);
  }
  fe_for_end(ir, &r, 0, NULL);
  fe_gen_end(
      g, fe_dim_const(ir, n_panels * blocks),
      fe_dim_const(ir, p.n * p.n * 3 * p.lanes * p.lanes * p.panels.panel));
  return FE_OK;
}
