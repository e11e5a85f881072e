//===- pool.c - maxima and averages over packed images -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: as depthwise.c with a maximum or a sum in place of the product. An
// average's count is the number of rows times the number of columns that the
// window has in the image (or in image and padding), so only borders compute
// it. A window that is the whole image is a reduction with several
// accumulators.
//
//===----------------------------------------------------------------------===//
#include "kernel/conv.h"
#include "kernel/image.h"

#include <math.h>
#include <string.h>

#define WHOLE_ACC 8 // accumulators of a whole image

typedef struct pool {
  fe_image image;
  bool max, padded;
  bool bytes, is_signed; // maxima of bytes
  const fe_tile *tile;
  MlirValue origin;
} pool;

static MlirValue start(pool *p) {
  fe_ir *ir = p->image.g.ir;
  if (p->bytes)
    return fe_int(ir, fe_vector_type(ir, p->image.lanes, ir->i8),
                  p->is_signed ? INT8_MIN : 0);
  MlirType t = fe_vector_type(ir, p->image.lanes, ir->f32);
  return fe_float(ir, t, p->max ? -INFINITY : 0);
}

static MlirValue combine(pool *p, MlirValue acc, MlirValue x) {
  fe_ir *ir = p->image.g.ir;
  if (p->bytes)
    return p->is_signed ? fe_max(ir, acc, x) : fe_maxu(ir, acc, x);
  // One maximum instruction, unlike arith.maximumf.
  return p->max ? fe_select(ir, fe_cmp(ir, FE_GT, x, acc), x, acc)
                : fe_add(ir, acc, x);
}

static void tap(void *user, MlirValue r, MlirValue s, uint32_t mask,
                MlirValue *acc) {
  pool *p = user;
  fe_image *m = &p->image;
  fe_ir *ir = m->g.ir;
  MlirValue at = fe_add(
      ir, p->origin,
      fe_mul(ir, fe_window_tap(ir, &m->win, r, s), fe_index(ir, m->lanes)));
  for (unsigned i = 0; i < p->tile->m; ++i) {
    if (!(mask >> i & 1))
      continue;
    int64_t pixel = fe_window_pixel(&m->win, p->tile, i) * m->lanes;
    MlirValue x = fe_vload(ir, m->lanes, m->in,
                           FE_IDX(fe_add(ir, at, fe_index(ir, pixel))));
    acc[i] = combine(p, acc[i], x);
  }
}

/// Elements that pixel i averages over, as index.
static MlirValue count_of(pool *p, const fe_tile *t, unsigned i) {
  fe_image *m = &p->image;
  fe_ir *ir = m->g.ir;
  const fe_window *w = &m->win;
  if (p->padded) {
    MlirValue x = fe_add(ir, t->x, fe_index(ir, i));
    return fe_mul(ir, fe_window_padded_taps(ir, w, 0, t->y),
                  fe_window_padded_taps(ir, w, 1, x));
  }
  MlirValue rows = fe_sub(ir, t->r1, t->r0), columns;
  if (!fe_is_null(t->s0)) {
    columns = fe_sub(ir, t->s1, t->s0);
  } else {
    int64_t n = t->mask ? 0 : w->kernel[1];
    for (int64_t s = 0; t->mask && s < w->kernel[1]; ++s)
      n += t->mask[s] >> i & 1;
    columns = fe_index(ir, n);
  }
  return fe_mul(ir, rows, columns);
}

/// Whether windows may reach beyond the padding (sizes rounded up).
static bool beyond_padding(const fe_window *w) {
  for (unsigned i = 0; i < 2; ++i) {
    if (w->in[i] == FE_DYN || w->out[i] == FE_DYN) {
      if (w->stride[i] > 1)
        return true;
    } else if ((w->out[i] - 1) * w->stride[i] +
                   (w->kernel[i] - 1) * w->dilation[i] + 1 >
               w->in[i] + w->pad[i] + w->pad[2 + i]) {
      return true;
    }
  }
  return false;
}

static MlirValue average(pool *p, MlirValue sum, MlirValue count) {
  fe_ir *ir = p->image.g.ir;
  count = fe_max(ir, count, fe_index(ir, 1)); // of nothing: 0
  MlirValue n = fe_convert(ir, count, ir->f32, false, false);
  MlirValue factor = fe_div(ir, fe_float(ir, ir->f32, 1), n);
  return fe_mul(ir, sum, fe_splat(ir, factor, p->image.lanes));
}

static void tile(void *user, const fe_tile *t) {
  pool *p = user;
  fe_image *m = &p->image;
  fe_ir *ir = m->g.ir;
  MlirValue acc[FE_WINDOW_TILE];
  for (unsigned i = 0; i < t->m; ++i)
    acc[i] = start(p);
  p->tile = t;
  p->origin = fe_image_origin(m, t);
  fe_window_taps(ir, &m->win, t, t->m, acc, tap, p);
  if (!p->max) {
    const fe_window *w = &m->win;
    bool same = p->padded ? !beyond_padding(w)
                          : t->all_rows && !t->mask && fe_is_null(t->s0);
    MlirType type = fe_vector_type(ir, m->lanes, ir->f32);
    MlirValue factor =
        fe_float(ir, type, 1.0 / (double)(w->kernel[0] * w->kernel[1]));
    for (unsigned i = 0; i < t->m; ++i)
      acc[i] = same ? fe_mul(ir, acc[i], factor)
                    : average(p, acc[i], count_of(p, t, i));
  }
  fe_image_store(m, t, acc);
}

/// acc op= pixels [from, to), `n` at a time.
static void sweep(pool *p, MlirValue base, MlirValue from, MlirValue to,
                  unsigned n, MlirValue *acc) {
  fe_image *m = &p->image;
  fe_ir *ir = m->g.ir;
  fe_region r = fe_for_begin(ir, from, to, fe_index(ir, n), n, acc);
  for (unsigned i = 0; i < n; ++i) {
    MlirValue pixel = fe_add(ir, r.iv, fe_index(ir, i));
    MlirValue at = fe_mul(ir, fe_add(ir, base, pixel), fe_index(ir, m->lanes));
    acc[i] = combine(p, fe_block_arg(r.body, 1 + i),
                     fe_vload(ir, m->lanes, m->in, FE_IDX(at)));
  }
  fe_for_end(ir, &r, n, acc);
  for (unsigned i = 0; i < n; ++i)
    acc[i] = fe_result(r.op, i);
}

static void whole_image(pool *p) {
  fe_image *m = &p->image;
  fe_gen *g = &m->g;
  fe_ir *ir = g->ir;
  MlirValue zero = fe_index(ir, 0), blocks = fe_index(ir, m->blocks);
  MlirValue size = fe_mul(ir, m->win.in_size[0], m->win.in_size[1]);
  fe_region item = fe_for_begin(ir, g->begin, g->end, fe_index(ir, 1), 0, NULL);
  m->image = fe_divu(ir, item.iv, blocks);
  m->block = fe_remu(ir, item.iv, blocks);
  MlirValue base = fe_mul(ir, item.iv, size);
  MlirValue even = fe_sub(ir, size, fe_remu(ir, size, fe_index(ir, WHOLE_ACC)));
  MlirValue acc[WHOLE_ACC];
  for (unsigned i = 0; i < WHOLE_ACC; ++i)
    acc[i] = start(p);
  sweep(p, base, zero, even, WHOLE_ACC, acc);
  sweep(p, base, even, size, 1, acc);
  for (unsigned d = WHOLE_ACC / 2; d; d /= 2)
    for (unsigned i = 0; i < d; ++i)
      acc[i] = combine(p, acc[i], acc[i + d]);
  if (!p->max)
    acc[0] = average(p, acc[0], size);
  fe_tile t = {.m = 1, .y = zero, .x = zero};
  fe_image_store(m, &t, acc);
  fe_for_end(ir, &item, 0, NULL);
  unsigned in;
  MlirAffineExpr items =
      fe_dim_mul(fe_gen_dim(g, g->n_args - 1, 0), fe_dim_const(ir, m->blocks));
  MlirAffineExpr cost = fe_dim_const(ir, 1000);
  if (!fe_gen_operand(g, 0, &in))
    cost = fe_dim_mul(fe_dim_mul(fe_gen_dim(g, in, 2), fe_gen_dim(g, in, 3)),
                      fe_dim_const(ir, m->lanes));
  fe_gen_end(g, items, cost);
}

fe_status fe_generate_pool(fe_ir *ir, const fe_target *target,
                           MlirModule module, MlirOperation func) {
  pool *p = FE_NEW(ir->arena, pool);
  fe_image *m = &p->image;
  if (fe_image_begin(m, ir, target, module, func))
    return FE_FAILED;
  const char *kind = fe_attr_str(ir->arena, m->g.root, "kind", "max");
  p->is_signed = !strcmp(kind, "max_i8");
  p->bytes = p->is_signed || !strcmp(kind, "max_u8");
  p->max = p->bytes || !strcmp(kind, "max");
  p->padded = !strcmp(kind, "average_padded");
  fe_window *w = &m->win;
  for (unsigned i = 0; i < 2; ++i)
    w->reach[i] += w->stride[i] - 1; // the size may have been rounded up
  if (w->kernel[0] == 0) {
    whole_image(p);
    return FE_OK;
  }
  fe_gen_explain(&m->g, "pool",
                 fe_printf(ir->arena, "register tile %lld pixels x %u channels",
                           (long long)fe_image_tile_pixels(m), m->lanes));
  fe_image_rows(m, w->kernel[0] * w->kernel[1], tile, p);
  return FE_OK;
}
