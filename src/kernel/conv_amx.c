//===- conv_amx.c - convolutions of bytes by tiles of AMX
//-------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// krnl.conv_tiles. Method: a strip, some rows of the result, is done for all
// panels of 32 output channels. What its windows see is first copied to scratch
// memory, 64 channels of a pixel side by side (in the packed image they are
// four blocks apart), zeros where there is no image; rows and columns that a
// window of one pixel leaves out are not copied. A row of a tile of A is then a
// pixel, and a tap is an offset.
//
// With stride 1 the strip is one run of pixels, rows one behind the other with
// what windows reach beyond them between: some sums are of no pixel of the
// result and not looked at, but tiles are full. With other strides each row is
// a run of its own. The last tile of a run is moved back.
//
// All sums of a panel wait in scratch memory for the epilogue, which takes four
// pixels of a block at a time.
//
// Weights: [panel][tap][64 channels][2][16 rows][16][4], as tiles of B are.
//
//===----------------------------------------------------------------------===//
#include "kernel/amx.h"
#include "kernel/conv.h"
#include "kernel/cost.h"
#include "kernel/window.h"

#define WIDTH (2 * FE_AMX_ROWS) // output channels of a panel
#define BLOCK 16                // channels of a block of the image
#define TILE (FE_AMX_ROWS * FE_AMX_BYTES)
#define A_TILES 4 // registers: four of sums, two of A, two of B
#define B_TILES 6
#define MAX_SCRATCH (160 << 10) // bytes of pixels
#define STRIP 256               // pixels: the sums of a panel stay in L1
#define LEAST_CHANNELS 32
#define TILE_CYCLES 32

typedef struct strips {
  int64_t rows, count;  // of the result in one; of an image
  int64_t groups;       // of panels, each an item
  int64_t in_rows, row; // rows of the input in one, pixels of a row
  int64_t step[2];   // pixels of the input that a pixel in scratch stands for
  int64_t stride[2]; // of the window, in pixels in scratch
  int64_t plane, pixels; // in scratch: of 64 channels; sums
  int64_t deep, panels;  // 64 channels; panels
  bool run;              // one for the whole strip
} strips;

typedef struct conv {
  fe_gen g;
  fe_epilogue epilogue;
  fe_window win;
  strips s;
  bool flip, prefetch;
  int64_t blocks, in_blocks;
  MlirValue in, weights, bias; // flat memrefs
  MlirValue image, sums, buffer, shape;
  // Of the item:
  MlirValue number, block; // of the image; of the panel's output
  MlirValue y, rows;       // of the strip
  MlirValue w_base;        // of the panel
  MlirValue height;        // of tiles
  int64_t panel_blocks;
} conv;

static int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// For rows of the result in a strip.
static void size_strip(strips *s, const int64_t *kernel,
                       const int64_t *dilation, const int64_t *out,
                       int64_t rows) {
  s->rows = rows;
  s->count = ceil_of(out[0], rows);
  s->in_rows = (rows - 1) * s->stride[0] + (kernel[0] - 1) * dilation[0] + 1;
  s->row = (out[1] - 1) * s->stride[1] + (kernel[1] - 1) * dilation[1] + 1;
  // Behind the last row too, since tiles may take pixels of no result.
  s->plane = (s->in_rows * s->row + FE_AMX_ROWS) * FE_AMX_BYTES;
  s->pixels = (s->run ? rows * s->row : rows * out[1]) + FE_AMX_ROWS;
}

static bool plan(strips *s, const fe_conv_shape *shape,
                 const int64_t *dilation) {
  const int64_t *kernel = shape->kernel, *out = shape->out;
  for (unsigned i = 0; i < 2; ++i) {
    s->step[i] = kernel[i] == 1 ? shape->stride[i] : 1;
    s->stride[i] = kernel[i] == 1 ? 1 : shape->stride[i];
  }
  s->run = s->stride[0] == 1 && s->stride[1] == 1;
  s->deep = ceil_of(shape->channels, FE_AMX_BYTES);
  s->panels = ceil_of(shape->out_channels, WIDTH);
  size_strip(s, kernel, dilation, out, 1);
  if (s->plane * s->deep > MAX_SCRATCH || s->pixels > 4 * STRIP)
    return false;
  int64_t rows = 1;
  while (rows < out[0]) {
    strips more = *s;
    size_strip(&more, kernel, dilation, out, rows + 1);
    if (more.plane * s->deep > MAX_SCRATCH || more.pixels > STRIP + FE_AMX_ROWS)
      break;
    ++rows;
  }
  rows = ceil_of(out[0], ceil_of(out[0], rows));
  // Two items at least, for threads: halves of an image, where they share no
  // rows, or of the panels.
  if (rows == out[0] && kernel[0] == 1 && rows >= FE_FEW_ITEMS)
    rows = (rows + 1) / 2;
  size_strip(s, kernel, dilation, out, rows);
  s->groups = s->count == 1 && s->panels >= 2 ? 2 : 1;
  return true;
}

bool fe_conv_takes_tiles(const fe_target *t, const fe_conv_shape *s,
                         const int64_t *dilation) {
  strips ignored;
  return t->amx_bytes && s->dot == FE_DOT_U8S8 && s->groups == 1 && !s->plain &&
         fe_conv_block(t) == BLOCK && s->channels >= LEAST_CHANNELS &&
         s->out_channels >= FE_AMX_ROWS && s->out[0] > 0 && s->out[1] > 0 &&
         s->out[0] * s->out[1] >= FE_AMX_ROWS && plan(&ignored, s, dilation);
}

int64_t fe_conv_tiled_words(const fe_conv_shape *s) {
  return ceil_of(s->out_channels, WIDTH) * s->kernel[0] * s->kernel[1] *
         ceil_of(s->channels, FE_AMX_BYTES) * 2 * TILE / 4;
}

void fe_conv_tile_weights(const fe_conv_shape *s, const fe_float_at *from,
                          int8_t *out) {
  int64_t taps = s->kernel[0] * s->kernel[1];
  int64_t deep = ceil_of(s->channels, FE_AMX_BYTES);
  for (int64_t k = 0; k < s->out_channels; ++k)
    for (int64_t c = 0; c < s->channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t tile = ((k / WIDTH * taps + tap) * deep + c / FE_AMX_BYTES) * 2;
        tile += k % WIDTH / FE_AMX_ROWS;
        int64_t row = c % FE_AMX_BYTES / 4;
        int64_t column = k % FE_AMX_ROWS * 4 + c % 4;
        out[tile * TILE + row * FE_AMX_BYTES + column] =
            (int8_t)from[(k * s->channels + c) * taps + tap];
      }
}

//===-- Pixels --------------------------------------------------------------//

static MlirValue times(fe_ir *ir, MlirValue a, int64_t k) {
  return k == 1 ? a : fe_mul(ir, a, fe_index(ir, k));
}

/// Zeros for pixels [first, end) of a row.
static void clear(conv *c, MlirValue to, MlirValue first, MlirValue end) {
  fe_ir *ir = c->g.ir;
  MlirValue zero = fe_int(ir, fe_vector_type(ir, FE_AMX_BYTES, ir->i8), 0);
  fe_region r = fe_for_begin(ir, first, end, fe_index(ir, 1), 0, NULL);
  fe_vstore(ir, zero, c->image,
            FE_IDX(fe_add(ir, to, times(ir, r.iv, FE_AMX_BYTES))));
  fe_for_end(ir, &r, 0, NULL);
}

/// Pixels [first, end) of a row, `n` blocks of channels of each. `from`: where
/// pixel 0 would be in the first block.
static void copy(conv *c, unsigned n, MlirValue from, MlirValue to,
                 MlirValue first, MlirValue end) {
  fe_ir *ir = c->g.ir;
  MlirValue plane =
      times(ir, fe_mul(ir, c->win.in_size[0], c->win.in_size[1]), BLOCK);
  MlirValue zero = fe_int(ir, fe_vector_type(ir, BLOCK, ir->i8), 0), part[4];
  fe_region r = fe_for_begin(ir, first, end, fe_index(ir, 1), 0, NULL);
  MlirValue at = fe_add(ir, from, times(ir, r.iv, c->s.step[1] * BLOCK));
  for (unsigned i = 0; i < 4; ++i) {
    part[i] = i < n ? fe_vload(ir, BLOCK, c->in, FE_IDX(at)) : zero;
    at = fe_add(ir, at, plane);
  }
  MlirValue all = fe_joined(ir, fe_joined(ir, part[0], part[1]),
                            fe_joined(ir, part[2], part[3]));
  if (c->flip)
    all = fe_xor(ir, all, fe_int(ir, mlirValueGetType(all), -128));
  fe_vstore(ir, all, c->image,
            FE_IDX(fe_add(ir, to, times(ir, r.iv, FE_AMX_BYTES))));
  fe_for_end(ir, &r, 0, NULL);
}

/// 64 channels, of `n` blocks, number `deep` of them, of the strip's pixels.
static void gather(conv *c, unsigned n, MlirValue deep) {
  fe_ir *ir = c->g.ir;
  const strips *s = &c->s;
  const fe_window *w = &c->win;
  MlirValue zero = fe_index(ir, 0), all = fe_index(ir, s->row);
  // The pixels of a row of scratch that the image has.
  MlirValue step = fe_index(ir, s->step[1]);
  int64_t left = ceil_of(w->pad[1], s->step[1]);
  MlirValue first = fe_index(ir, left < s->row ? left : s->row);
  MlirValue end =
      fe_ceildiv(ir, fe_add_static(ir, w->in_size[1], w->pad[1]), step);
  end = fe_max(ir, fe_min(ir, end, all), first);
  MlirValue block =
      fe_add(ir, times(ir, c->number, c->in_blocks), times(ir, deep, 4));
  MlirValue plane = times(ir, deep, s->plane);
  fe_region r = fe_loop(ir, fe_index(ir, s->in_rows));
  MlirValue y =
      fe_add(ir, times(ir, c->y, s->stride[0] * s->step[0]),
             fe_sub(ir, times(ir, r.iv, s->step[0]), fe_index(ir, w->pad[0])));
  MlirValue to = fe_add(ir, plane, times(ir, r.iv, s->row * FE_AMX_BYTES));
  MlirValue inside = fe_and(ir, fe_cmp(ir, FE_GE, y, zero),
                            fe_cmp(ir, FE_LT, y, w->in_size[0]));
  fe_region hit = fe_if_begin(ir, inside, 0, NULL, true);
  MlirValue from = fe_add(ir, fe_mul(ir, block, w->in_size[0]), y);
  from = fe_sub(ir, fe_mul(ir, from, w->in_size[1]), fe_index(ir, w->pad[1]));
  clear(c, to, zero, first);
  copy(c, n, times(ir, from, BLOCK), to, first, end);
  clear(c, to, end, all);
  fe_if_else(ir, &hit, 0, NULL);
  clear(c, to, zero, all);
  fe_if_end(ir, &hit, 0, NULL);
  fe_loop_end(ir, &r);
}

//===-- Tiles ---------------------------------------------------------------//

/// Lines of the next panel, as many of each step as the tiles of a strip need
/// to fetch all of it.
static void fetch(conv *c, MlirValue at, MlirValue pair) {
  fe_ir *ir = c->g.ir;
  if (!c->prefetch)
    return;
  int64_t all = 2 * TILE / 64, pairs = ceil_of(c->s.pixels, WIDTH);
  int64_t lines = ceil_of(all, pairs);
  int64_t panel = fe_static_dim(c->weights, 0) / c->s.panels;
  at = fe_add(ir, fe_add_static(ir, at, panel),
              times(ir, fe_remu(ir, pair, fe_index(ir, pairs)), lines * 16));
  for (int64_t i = 0; i < lines; ++i)
    fe_prefetch(ir, c->weights, fe_add_static(ir, at, i * 16), 2);
}

/// `n` tiles of pixels, from pixel[i] in scratch, to sums from to[i] on.
static void multiply(conv *c, unsigned n, const MlirValue *pixel,
                     const MlirValue *to, MlirValue pair) {
  fe_ir *ir = c->g.ir;
  const strips *s = &c->s;
  const fe_window *w = &c->win;
  MlirValue row = fe_index(ir, s->stride[1] * FE_AMX_BYTES);
  MlirValue line = fe_index(ir, FE_AMX_BYTES);
  for (unsigned i = 0; i < 2 * n; ++i)
    fe_amx_zero(ir, i);
  fe_region r = fe_loop(ir, fe_index(ir, w->kernel[0]));
  fe_region t = fe_loop(ir, fe_index(ir, w->kernel[1]));
  fe_region d = fe_loop(ir, fe_index(ir, s->deep));
  MlirValue tap = fe_add(ir, times(ir, r.iv, w->kernel[1]), t.iv);
  MlirValue weights = fe_add(ir, times(ir, tap, s->deep), d.iv);
  weights = fe_add(ir, c->w_base, times(ir, weights, 2 * TILE / 4));
  MlirValue offset = fe_add(ir, times(ir, r.iv, w->dilation[0] * s->row),
                            times(ir, t.iv, w->dilation[1]));
  offset =
      fe_add(ir, times(ir, offset, FE_AMX_BYTES), times(ir, d.iv, s->plane));
  fetch(c, weights, pair);
  for (unsigned j = 0; j < 2; ++j)
    fe_amx_load(ir, B_TILES + j, c->weights,
                fe_add_static(ir, weights, j * TILE / 4), line);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue at = fe_add(ir, offset, times(ir, pixel[i], FE_AMX_BYTES));
    fe_amx_load(ir, A_TILES + i, c->image, at, row);
    for (unsigned j = 0; j < 2; ++j)
      fe_amx_product(ir, FE_AMX_U8S8, 2 * i + j, A_TILES + i, B_TILES + j);
  }
  fe_loop_end(ir, &d);
  fe_loop_end(ir, &t);
  fe_loop_end(ir, &r);
  for (unsigned i = 0; i < n; ++i)
    for (unsigned j = 0; j < 2; ++j)
      fe_amx_store(ir, 2 * i + j, c->sums,
                   fe_add_static(ir, times(ir, to[i], WIDTH), j * FE_AMX_ROWS),
                   fe_index(ir, 4 * WIDTH));
}

/// `length` results, from `pixel` in scratch and `to` in the sums on.
static void one_run(conv *c, MlirValue length, MlirValue pixel, MlirValue to,
                    MlirValue pair) {
  fe_ir *ir = c->g.ir;
  int64_t step = c->s.stride[1];
  MlirValue two = fe_index(ir, 2), sixteen = fe_index(ir, FE_AMX_ROWS);
  MlirValue last = fe_sub(ir, length, c->height);
  MlirValue tiles = fe_ceildiv(ir, length, sixteen);
  MlirValue pairs = fe_divu(ir, tiles, two);
  fe_region r = fe_loop(ir, pairs);
  MlirValue first = times(ir, r.iv, WIDTH);
  MlirValue second = fe_min(ir, fe_add(ir, first, sixteen), last);
  multiply(c, 2,
           (MlirValue[]){fe_add(ir, pixel, times(ir, first, step)),
                         fe_add(ir, pixel, times(ir, second, step))},
           (MlirValue[]){fe_add(ir, to, first), fe_add(ir, to, second)},
           fe_add(ir, pair, r.iv));
  fe_loop_end(ir, &r);
  MlirValue odd = fe_cmp(ir, FE_EQ, fe_remu(ir, tiles, two), fe_index(ir, 1));
  fe_region rest = fe_if_begin(ir, odd, 0, NULL, false);
  MlirValue at = fe_add(ir, pixel, times(ir, last, step));
  to = fe_add(ir, to, last);
  multiply(c, 1, &at, &to, fe_add(ir, pair, pairs));
  fe_if_end(ir, &rest, 0, NULL);
}

/// Results of a row that belong to one run.
static MlirValue run_length(conv *c) {
  fe_ir *ir = c->g.ir;
  int64_t columns = c->win.out[1];
  if (!c->s.run)
    return fe_index(ir, columns);
  MlirValue before = fe_add_static(ir, c->rows, -1);
  return fe_add_static(ir, times(ir, before, c->s.row), columns);
}

static void runs(conv *c) {
  fe_ir *ir = c->g.ir;
  const strips *s = &c->s;
  MlirValue zero = fe_index(ir, 0), length = run_length(c);
  if (s->run) {
    one_run(c, length, zero, zero, zero);
    return;
  }
  fe_region r = fe_loop(ir, c->rows);
  one_run(c, length, times(ir, r.iv, s->stride[0] * s->row),
          times(ir, r.iv, c->win.out[1]),
          times(ir, r.iv, ceil_of(c->win.out[1], WIDTH)));
  fe_loop_end(ir, &r);
}

//===-- Results -------------------------------------------------------------//

static fe_coords coords_of(conv *c, MlirValue block, MlirValue y, MlirValue x) {
  fe_ir *ir = c->g.ir;
  fe_coords at = {{c->number, block, y, x, fe_index(ir, 0)}, {NULL}};
  MlirValue flat = fe_add(ir, times(ir, c->number, c->blocks), block);
  flat = fe_add(ir, times(ir, flat, c->win.out[0]), y);
  flat = fe_add(ir, times(ir, flat, c->win.out[1]), x);
  at.flat = times(ir, flat, BLOCK);
  return at;
}

/// Where the loop of the epilogue writes, which does a pixel at a time.
static void place(void *user, MlirValue row, fe_coords *out) {
  (void)row;
  *out = *(const fe_coords *)user;
}

/// `n` pixels of a row: block `block` of the panel's.
static void some_pixels(conv *c, unsigned n, MlirValue block, MlirValue row,
                        MlirValue x) {
  fe_ir *ir = c->g.ir;
  const fe_epilogue *e = &c->epilogue;
  MlirValue dest = c->g.flat[c->g.n_args - 1], zero = {NULL}, v[4];
  MlirValue channel = fe_add(ir, c->block, block), y = fe_add(ir, c->y, row);
  bool bytes = fe_epilogue_makes_bytes(e) && fe_limits_bytes(&c->g, BLOCK);
  MlirValue bias =
      fe_vload(ir, BLOCK, c->bias, FE_IDX(times(ir, channel, BLOCK)));
  MlirValue at = times(ir, row, c->s.run ? c->s.row : c->win.out[1]);
  at = fe_add(ir, times(ir, fe_add(ir, at, x), WIDTH), times(ir, block, BLOCK));
  fe_coords first = coords_of(c, channel, y, x);
  for (unsigned i = 0; i < n; ++i) {
    fe_coords here = first;
    here.at[3] = fe_add_static(ir, x, i);
    here.flat = fe_add_static(ir, first.flat, i * BLOCK);
    MlirValue sum =
        fe_vload(ir, BLOCK, c->sums, FE_IDX(fe_add_static(ir, at, i * WIDTH)));
    sum = fe_add(ir, sum, bias);
    if (bytes) {
      v[i] = fe_epilogue_number(e, sum, BLOCK, &here, &zero);
      continue;
    }
    MlirValue none = {NULL}, nought = fe_index(ir, 0);
    sum = fe_epilogue_vector(e, sum, BLOCK, none, &here);
    if (!fe_epilogue_has_loop(e)) {
      fe_vstore(ir, sum, dest, FE_IDX(here.flat));
      continue;
    }
    fe_vstore(ir, sum, c->buffer, FE_IDX(nought, nought));
    fe_epilogue_loop(e, c->buffer, fe_index(ir, 1), fe_index(ir, BLOCK), place,
                     &here);
  }
  if (bytes)
    fe_vstore(ir, fe_limited_bytes(&c->g, n, v, zero, fe_epilogue_signed(e)),
              dest, FE_IDX(first.flat));
}

static void results(conv *c) {
  fe_ir *ir = c->g.ir;
  int64_t fours = c->win.out[1] / 4;
  unsigned rest = (unsigned)(c->win.out[1] % 4);
  fe_region b = fe_loop(ir, fe_index(ir, c->panel_blocks));
  fe_region r = fe_loop(ir, c->rows);
  fe_region x = fe_loop(ir, fe_index(ir, fours));
  some_pixels(c, 4, b.iv, r.iv, times(ir, x.iv, 4));
  fe_loop_end(ir, &x);
  if (rest)
    some_pixels(c, rest, b.iv, r.iv, fe_index(ir, 4 * fours));
  fe_loop_end(ir, &r);
  fe_loop_end(ir, &b);
}

//===-- Items ---------------------------------------------------------------//

static void panel(conv *c, MlirValue number, int64_t blocks) {
  fe_ir *ir = c->g.ir;
  c->panel_blocks = blocks;
  c->block = times(ir, number, WIDTH / BLOCK);
  c->w_base = times(ir, number, fe_static_dim(c->weights, 0) / c->s.panels);
  runs(c);
  results(c);
}

static void item(conv *c, MlirValue number) {
  fe_ir *ir = c->g.ir;
  const strips *s = &c->s;
  MlirValue groups = fe_index(ir, s->groups), count = fe_index(ir, s->count);
  MlirValue group = fe_remu(ir, number, groups);
  number = fe_divu(ir, number, groups);
  c->number = fe_divu(ir, number, count);
  c->y = times(ir, fe_remu(ir, number, count), s->rows);
  c->rows = fe_min(ir, fe_index(ir, s->rows),
                   fe_sub(ir, fe_index(ir, c->win.out[0]), c->y));
  c->height = fe_min(ir, run_length(c), fe_index(ir, FE_AMX_ROWS));
  fe_amx_shape(ir, c->shape, c->height, B_TILES);
  int64_t whole = c->in_blocks / 4, rest = c->in_blocks % 4;
  fe_region d = fe_loop(ir, fe_index(ir, whole));
  gather(c, 4, d.iv);
  fe_loop_end(ir, &d);
  if (rest)
    gather(c, (unsigned)rest, fe_index(ir, whole));
  // Panels of the group; the last of all may be half of one.
  int64_t each = ceil_of(s->panels, s->groups);
  int64_t full = c->blocks / (WIDTH / BLOCK);
  MlirValue first = times(ir, group, each);
  MlirValue end =
      fe_min(ir, fe_add_static(ir, first, each), fe_index(ir, s->panels));
  fe_region p = fe_for_begin(ir, first, fe_min(ir, end, fe_index(ir, full)),
                             fe_index(ir, 1), 0, NULL);
  panel(c, p.iv, WIDTH / BLOCK);
  fe_for_end(ir, &p, 0, NULL);
  if (full == s->panels)
    return;
  MlirValue here = fe_cmp(ir, FE_EQ, end, fe_index(ir, s->panels));
  fe_region half = fe_if_begin(ir, here, 0, NULL, false);
  panel(c, fe_index(ir, full), 1);
  fe_if_end(ir, &half, 0, NULL);
}

static void allocate(conv *c) {
  fe_ir *ir = c->g.ir;
  int64_t image = c->s.plane * c->s.deep, sums = c->s.pixels * WIDTH;
  int64_t buffer[2] = {1, BLOCK};
  c->shape = fe_amx_begin(&c->g);
  c->image = fe_alloca(ir, fe_memref_type(ir, ir->i8, 1, &image));
  c->sums = fe_alloca(ir, fe_memref_type(ir, ir->i32, 1, &sums));
  if (fe_epilogue_has_loop(&c->epilogue))
    c->buffer = fe_alloca(ir, fe_memref_type(ir, c->epilogue.mid, 2, buffer));
}

static void explain(conv *c) {
  fe_ir *ir = c->g.ir;
  const strips *s = &c->s;
  fe_gen_explain(
      &c->g, "tiles of bytes",
      fe_printf(
          ir->arena,
          "AMX: tiles of 2x16 pixels x %d channels, strips of %lld rows%s",
          WIDTH, (long long)s->rows,
          s->groups > 1 ? ", panels in two groups" : ""));
  fe_gen_tile(&c->g, (fe_cost_tile){.rows = WIDTH,
                                    .vectors = 2,
                                    .steps = s->deep * 16 * c->win.kernel[0] *
                                             c->win.kernel[1],
                                    .extra = 8 * (4 * WIDTH + TILE_CYCLES),
                                    .products = 8});
}

static void end(conv *c, unsigned in, int64_t channels) {
  fe_ir *ir = c->g.ir;
  const strips *s = &c->s;
  MlirAffineExpr items = fe_dim_mul(fe_gen_dim(&c->g, in, 0),
                                    fe_dim_const(ir, s->count * s->groups));
  int64_t words =
      ceil_of(channels, FE_DOT_BYTES) * c->win.kernel[0] * c->win.kernel[1];
  int64_t each = 2 * words * s->rows * c->win.out[1] * c->blocks * BLOCK;
  fe_gen_end(&c->g, items, fe_dim_const(ir, each / s->groups));
}

fe_status fe_generate_conv_tiles(fe_ir *ir, const fe_target *target,
                                 MlirModule module, MlirOperation func) {
  conv *c = FE_NEW(ir->arena, conv);
  fe_gen *g = &c->g;
  if (fe_gen_begin(g, ir, target, module, func))
    return FE_FAILED;
  unsigned in, weights, bias;
  if (fe_gen_operand(g, 0, &in) || fe_gen_operand(g, 1, &weights) ||
      fe_gen_operand(g, 2, &bias) || fe_epilogue_parse(&c->epilogue, g))
    return fe_gen_abandon(g);
  c->in = g->flat[in];
  c->weights = g->flat[weights];
  c->bias = g->flat[bias];
  c->flip = fe_attr_i64(g->root, "signed", 0);
  c->blocks = fe_static_dim(g->dest, 1);
  c->in_blocks = fe_static_dim(g->arg[in], 1);
  fe_window_read(ir, g->root, g->arg[in], g->dest, &c->win);
  const fe_window *w = &c->win;
  const fe_conv_shape shape = {.out_channels = c->blocks * BLOCK,
                               .channels = fe_attr_i64(g->root, "channels", 0),
                               .groups = 1,
                               .kernel = {w->kernel[0], w->kernel[1]},
                               .stride = {w->stride[0], w->stride[1]},
                               .out = {w->out[0], w->out[1]},
                               .dot = FE_DOT_U8S8};
  if (!fe_conv_takes_tiles(target, &shape, w->dilation) ||
      fe_static_dim(c->weights, 0) != fe_conv_tiled_words(&shape) ||
      c->in_blocks != ceil_of(shape.channels, BLOCK)) {
    fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
              "krnl.conv_tiles that no tiles fit");
    return fe_gen_abandon(g);
  }
  plan(&c->s, &shape, w->dilation);
  c->prefetch = 4 * fe_conv_tiled_words(&shape) > target->l2_bytes / 4;
  allocate(c);
  explain(c);
  fe_region r = fe_for_begin(ir, g->begin, g->end, fe_index(ir, 1), 0, NULL);
  item(c, r.iv);
  fe_for_end(ir, &r, 0, NULL);
  fe_amx_end(ir);
  end(c, in, shape.channels);
  return FE_OK;
}
