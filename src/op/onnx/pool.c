//===- pool.c - MaxPool, AveragePool, LpPool ---------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: see op/sliding.h; the accumulators of a piece of a row lie on the
// stack. First everything above, below, before and behind is combined, column
// by column of the input, so in whole rows; then columns are. Where the columns
// of a piece are too many for that, every tap is added to the results by
// itself. An average divides by the elements of the window that lie in the
// image or, with count_include_pad, in the image and its padding; what
// ceil_mode adds behind the padding never counts.
//
//===----------------------------------------------------------------------===//
#include "op/sliding.h"
#include "target/target.h"

#include <math.h>

static fe_status upgrade_pool(fe_node *n) {
  fe_node_attr *p = fe_node_attr_find(n, "p"); // a float in LpPool-1
  if (p && p->kind == FE_A_FLOAT)
    fe_node_set_int(n, "p", (int64_t)p->f);
  return fe_sliding_upgrade(n, -1);
}

static fe_status infer_pool(fe_infer *f) {
  fe_dims x;
  fe_sliding win;
  if (fe_in_dims(f, 0, &x) ||
      fe_sliding_read(f->ir, f->where, f->attrs, &x, NULL, &win))
    return FE_FAILED;
  for (unsigned i = 0; i < win.n; ++i) {
    int64_t extent = (win.kernel[i] - 1) * win.dilation[i] + 1;
    if (win.begin[i] < 0 || win.end[i] < 0 || win.begin[i] >= extent ||
        win.end[i] >= extent)
      return fe_infer_error(f, NULL,
                            "the padding in spatial dimension %u is not "
                            "smaller than the kernel",
                            i);
  }
  fe_dims out = {.rank = x.rank, .d = {x.d[0], x.d[1]}};
  for (unsigned i = 0; i < win.n; ++i)
    if (fe_sliding_out(f, &win, i, x.d[2 + i], &out.d[2 + i]))
      return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  fe_out_tensor(f, 1, FE_I64, &out);
  return FE_OK;
}

//===-- Lowering ------------------------------------------------------------//

typedef struct pool pool;
typedef struct pool_kind {
  MlirValue (*start)(pool *p);
  MlirValue (*step)(pool *p, MlirValue sum, MlirValue x);
  MlirValue (*join)(pool *p, MlirValue a, MlirValue b); // two sums
  MlirValue (*finish)(pool *p, MlirValue sum);
} pool_kind;

struct pool {
  fe_lower *l;
  fe_ir *ir;
  fe_dtype type;
  MlirType compute;
  fe_kernel k;
  fe_sweep s;
  fe_sliding win;
  MlirValue sizes[FE_MAX_RANK], pads[FE_MAX_RANK];
  MlirValue sums;
  MlirValue count; // average: taps of the outer dims
  int64_t lanes;   // of vectors for columns; 0: none
};

static MlirValue lowest(pool *p) {
  if (fe_dtype_is_float(p->type))
    return fe_float(p->ir, p->compute, -INFINITY);
  bool is_unsigned = fe_dtype_is_unsigned(p->type);
  int64_t least = INT64_MIN >> (64 - fe_dtype_bits(p->type));
  return fe_int(p->ir, p->compute, is_unsigned ? 0 : least);
}
static MlirValue nothing(pool *p) { return fe_number(p->ir, p->compute, 0); }

/// One instruction for floats, which passes over NaN.
static MlirValue step_max(pool *p, MlirValue sum, MlirValue x) {
  if (fe_dtype_is_float(p->type))
    return fe_select(p->ir, fe_cmp(p->ir, FE_GT, x, sum), x, sum);
  return fe_dtype_is_unsigned(p->type) ? fe_maxu(p->ir, sum, x)
                                       : fe_max(p->ir, sum, x);
}
static MlirValue step_sum(pool *p, MlirValue sum, MlirValue x) {
  return fe_add(p->ir, sum, x);
}
static MlirValue step_power(pool *p, MlirValue sum, MlirValue x) {
  int64_t power = fe_attr_i64(p->l->op, "p", 2);
  MlirValue v = fe_math(p->ir, "absf", x);
  if (power == 2)
    v = fe_mul(p->ir, v, v);
  else if (power != 1)
    v = fe_math2(p->ir, "powf", v, fe_float(p->ir, p->compute, (double)power));
  return fe_add(p->ir, sum, v);
}

static MlirValue finish_same(pool *p, MlirValue sum) {
  (void)p;
  return sum;
}
static MlirValue finish_root(pool *p, MlirValue sum) {
  int64_t power = fe_attr_i64(p->l->op, "p", 2);
  if (power == 1)
    return sum;
  if (power == 2)
    return fe_math(p->ir, "sqrt", sum);
  return fe_math2(p->ir, "powf", sum,
                  fe_float(p->ir, p->compute, 1.0 / (double)power));
}

/// Elements of the window that count, in dim i at result index `o`.
static MlirValue taps(pool *p, unsigned i, MlirValue o) {
  fe_ir *ir = p->ir;
  fe_sweep *s = &p->s;
  MlirValue before = fe_index(ir, 0), limit = s->in[i], first, last;
  int64_t counts = fe_attr_i64(p->l->op, "count_include_pad", 0);
  if (counts) {
    // SAME padding covers every window.
    int64_t behind = p->win.same == FE_SAME_NO && counts != FE_COUNT_WINDOW
                         ? p->win.end[i]
                         : p->win.kernel[i] * p->win.dilation[i];
    before = fe_sub(ir, before, s->pad[i]);
    limit = fe_add(ir, limit, fe_index(ir, behind));
  }
  fe_sliding_taps(ir, &p->win, i, o, s->pad[i], s->kernel[i], before, limit,
                  &first, &last);
  return fe_sub(ir, last, first);
}

static MlirValue finish_average(pool *p, MlirValue sum) {
  fe_ir *ir = p->ir;
  MlirValue n = fe_mul(ir, p->count, taps(p, p->win.n - 1, p->s.x));
  n = fe_max(ir, n, fe_index(ir, 1));
  return fe_div(ir, sum, fe_convert(ir, n, p->compute, false, false));
}

static fe_status pool_begin(pool *p, fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dims x;
  *p = (pool){.l = l, .ir = ir, .type = l->in_type[0]};
  p->compute = fe_compute_type(ir, p->type);
  if (!fe_dims_of(ir, fe_operand(l->op, 0), &x) ||
      fe_sliding_read(ir, l->where, l->op, &x, NULL, &p->win))
    return FE_FAILED;
  fe_out_sizes(l, 0, p->sizes);
  p->sizes[0] = fe_size(l, l->in[0], 0);
  p->sizes[1] = fe_size(l, l->in[0], 1);
  fe_sliding_sizes(l, &p->win, l->in[0], (MlirValue){0}, p->sizes);
  fe_sliding_pads(l, &p->win, l->in[0], (MlirValue){0}, p->sizes, p->pads);
  return FE_OK;
}

/// Opens the kernel with outputs `out` and the loops over pieces.
static void open_kernel(pool *p, const char *name, unsigned n_out,
                        const MlirValue *out) {
  fe_ir *ir = p->ir;
  fe_kernel_begin(&p->k, p->l, name, 1, &p->l->in[0], n_out, out, p->win.n,
                  p->pads);
  for (unsigned i = 0; i < p->win.n; ++i)
    p->pads[i] = p->win.same == FE_SAME_NO ? fe_index(ir, p->win.begin[i])
                                           : p->k.scalar[i];
  int64_t tile = FE_TILE;
  p->sums = fe_alloca(ir, fe_memref_type(ir, p->compute, 1, &tile));
}

static void close_kernel(pool *p) {
  MlirAffineExpr per = fe_dim_const(p->ir, 1), items, cost;
  for (unsigned i = 0; i < p->win.n; ++i)
    per = fe_dim_mul(per, fe_dim_const(p->ir, p->win.kernel[i]));
  fe_sweep_extent(&p->k, 1, per, &items, &cost);
  fe_kernel_end(&p->k, items, cost);
}

/// Numbers that can be vectors as they are, where parts of vectors are cheap.
static int64_t lanes_of(const pool *p, const pool_kind *kind) {
  const fe_target *t = p->l->target;
  if (!t->masks || kind->step != kind->join || // LpPool's functions
      (p->type != FE_F32 && p->type != FE_F64))
    return 0;
  return t->vector_bits / (p->type == FE_F32 ? 32 : 64);
}

/// The place of the current tap, at column source[last] of the input.
static unsigned tap_at(const pool *p, MlirValue *at) {
  const fe_sweep *s = &p->s;
  at[0] = s->at[0];
  at[1] = s->at[1];
  for (unsigned i = 0; i < p->win.n; ++i)
    at[2 + i] = s->source[i];
  return 2 + p->win.n;
}

static MlirValue load_tap(pool *p) {
  MlirValue at[FE_MAX_RANK];
  unsigned n = tap_at(p, at);
  return fe_get(&p->k, p->k.in[0], p->type, n, at);
}

/// Columns of the input that a piece sees.
static int64_t columns_of(const fe_sliding *w) {
  unsigned last = w->n - 1;
  return (FE_TILE - 1) * w->stride[last] +
         (w->kernel[last] - 1) * w->dilation[last] + 1;
}

/// Beyond this many columns (of the stack) each tap goes to the results.
enum { MAX_COLUMNS = 4096, MAX_UNROLLED = 16 };

/// Adds `lanes` columns of the row at hand from `column` on, those below
/// `active` (null: all).
static void add_vector(pool *p, const pool_kind *kind, MlirValue line,
                       MlirValue column, MlirValue base, MlirValue active) {
  fe_ir *ir = p->ir;
  MlirValue at[FE_MAX_RANK];
  p->s.source[p->win.n - 1] = fe_add(ir, base, column);
  unsigned n = tap_at(p, at);
  bool all = fe_is_null(active);
  MlirValue x =
      all ? fe_vload(ir, p->lanes, p->k.in[0], n, at)
          : fe_vload_masked_or(ir, p->lanes, active, p->k.in[0], n, at,
                               kind->start == lowest ? -INFINITY : 0);
  MlirValue sum = fe_vload(ir, p->lanes, line, 1, &column);
  // Whole vectors also there: what is loaded next is what has been stored.
  fe_vstore(ir, kind->step(p, sum, x), line, 1, &column);
}

/// Adds columns [low, high) of the row at hand.
static void add_row(pool *p, const pool_kind *kind, MlirValue line,
                    MlirValue base, MlirValue low, MlirValue high) {
  fe_ir *ir = p->ir;
  MlirValue one = fe_index(ir, 1), none = {0};
  if (p->lanes) {
    MlirValue lanes = fe_index(ir, p->lanes);
    MlirValue count = fe_max(ir, fe_sub(ir, high, low), fe_index(ir, 0));
    MlirValue rest = fe_remu(ir, count, lanes);
    MlirValue whole = fe_sub(ir, fe_add(ir, low, count), rest);
    fe_region v = fe_for_begin(ir, low, whole, lanes, 0, NULL);
    add_vector(p, kind, line, v.iv, base, none);
    fe_loop_end(ir, &v);
    fe_region more = fe_if_begin(ir, fe_cmp(ir, FE_GT, rest, fe_index(ir, 0)),
                                 0, NULL, false);
    add_vector(p, kind, line, whole, base, rest);
    fe_if_end(ir, &more, 0, NULL);
    return;
  }
  fe_region column = fe_for_begin(ir, low, high, one, 0, NULL);
  p->s.source[p->win.n - 1] = fe_add(ir, base, column.iv);
  MlirValue sum = fe_load(ir, line, 1, &column.iv);
  fe_store(ir, kind->step(p, sum, load_tap(p)), line, 1, &column.iv);
  fe_loop_end(ir, &column);
}

/// Combines all rows that the current piece sees in `line`.
static void sum_columns(pool *p, const pool_kind *kind, MlirValue line) {
  fe_ir *ir = p->ir;
  fe_sweep *s = &p->s;
  unsigned last = p->win.n - 1;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue stride = fe_index(ir, p->win.stride[last]);
  MlirValue extent =
      fe_index(ir, (p->win.kernel[last] - 1) * p->win.dilation[last] + 1);
  MlirValue base = fe_sub(ir, fe_mul(ir, s->piece, stride), s->pad[last]);
  MlirValue length =
      fe_add(ir, fe_mul(ir, fe_sub(ir, s->width, one), stride), extent);
  MlirValue low = fe_max(ir, zero, fe_sub(ir, zero, base));
  MlirValue high = fe_min(ir, length, fe_sub(ir, s->in[last], base));
  MlirValue start = kind->start(p);
  fe_region fill = fe_loop(ir, length);
  fe_store(ir, start, line, 1, &fill.iv);
  fe_loop_end(ir, &fill);
  fe_region taps[FE_MAX_RANK];
  for (unsigned i = 0; i < last; ++i) {
    taps[i] = fe_for_begin(ir, s->first[i], s->last[i], one, 0, NULL);
    MlirValue at =
        fe_add(ir, fe_mul(ir, s->at[2 + i], fe_index(ir, p->win.stride[i])),
               fe_mul(ir, taps[i].iv, fe_index(ir, p->win.dilation[i])));
    s->source[i] = fe_sub(ir, at, s->pad[i]);
  }
  add_row(p, kind, line, base, low, high);
  for (unsigned i = last; i-- > 0;)
    fe_loop_end(ir, &taps[i]);
}

/// Sum of the columns that element s->i of the piece sees.
static MlirValue sum_window(pool *p, const pool_kind *kind, MlirValue line) {
  fe_ir *ir = p->ir;
  fe_sweep *s = &p->s;
  unsigned last = p->win.n - 1;
  int64_t kernel = p->win.kernel[last], step = p->win.dilation[last];
  MlirValue at = fe_mul(ir, s->i, fe_index(ir, p->win.stride[last]));
  MlirValue sum = fe_load(ir, line, 1, &at);
  if (kernel <= MAX_UNROLLED) {
    for (int64_t t = 1; t < kernel; ++t) {
      MlirValue column = fe_add(ir, at, fe_index(ir, t * step));
      sum = kind->join(p, sum, fe_load(ir, line, 1, &column));
    }
    return sum;
  }
  fe_region t = fe_for_begin(ir, fe_index(ir, 1), fe_index(ir, kernel),
                             fe_index(ir, 1), 1, &sum);
  MlirValue column = fe_add(ir, at, fe_mul(ir, t.iv, fe_index(ir, step)));
  sum = kind->join(p, fe_block_arg(t.body, 1), fe_load(ir, line, 1, &column));
  fe_for_end(ir, &t, 1, &sum);
  return fe_result(t.op, 0);
}

/// Adds every tap to the results by itself.
static void sum_taps(pool *p, const pool_kind *kind) {
  fe_ir *ir = p->ir;
  fe_sweep *s = &p->s;
  MlirValue start = kind->start(p);
  fe_piece_begin(s);
  fe_store(ir, start, p->sums, 1, &s->i);
  fe_piece_end(s);
  fe_taps_begin(s);
  fe_tap_begin(s);
  MlirValue sum = fe_load(ir, p->sums, 1, &s->i);
  fe_store(ir, kind->step(p, sum, load_tap(p)), p->sums, 1, &s->i);
  fe_tap_end(s);
  fe_taps_end(s);
}

static fe_status lower_kind(fe_lower *l, const char *name,
                            const pool_kind *kind) {
  fe_ir *ir = l->ir;
  pool p;
  if (pool_begin(&p, l))
    return FE_FAILED;
  fe_sweep *s = &p.s;
  MlirValue out = fe_out_empty(l, 0, p.sizes);
  open_kernel(&p, name, 1, &out);
  int64_t columns = columns_of(&p.win);
  MlirValue line = {0};
  if (columns <= MAX_COLUMNS) {
    p.lanes = lanes_of(&p, kind);
    columns += p.lanes; // vectors may end behind the last one
    line = fe_alloca(ir, fe_memref_type(ir, p.compute, 1, &columns));
  }
  fe_sweep_begin(s, &p.k, &p.win, p.k.in[0], p.k.out[0], (MlirValue){0},
                 p.pads);
  if (fe_is_null(line))
    sum_taps(&p, kind);
  else
    sum_columns(&p, kind, line);
  if (kind->finish == finish_average) {
    p.count = fe_index(ir, 1);
    for (unsigned i = 0; i + 1 < p.win.n; ++i)
      p.count = fe_mul(ir, p.count, taps(&p, i, s->at[2 + i]));
  }
  fe_piece_begin(s);
  s->at[1 + p.win.n] = s->x;
  MlirValue sum = fe_is_null(line) ? fe_load(ir, p.sums, 1, &s->i)
                                   : sum_window(&p, kind, line);
  fe_put(&p.k, kind->finish(&p, sum), p.k.out[0], p.type, 2 + p.win.n, s->at);
  fe_piece_end(s);
  fe_sweep_end(s);
  close_kernel(&p);
  l->out[0] = p.k.result[0];
  return FE_OK;
}

/// Place of the current tap in the whole input, as the Indices count it.
static MlirValue place(pool *p) {
  fe_ir *ir = p->ir;
  fe_sweep *s = &p->s;
  unsigned n = p->win.n;
  MlirValue channels = fe_dim(ir, p->k.in[0], 1), size = fe_index(ir, 1);
  bool columns = fe_attr_i64(p->l->op, "storage_order", 0);
  MlirValue at = fe_index(ir, 0);
  for (unsigned j = 0; j < n; ++j) {
    unsigned i = columns ? n - 1 - j : j;
    at = fe_add(ir, fe_mul(ir, at, s->in[i]), s->source[i]);
    size = fe_mul(ir, size, s->in[i]);
  }
  MlirValue image = fe_add(ir, fe_mul(ir, s->at[0], channels), s->at[1]);
  return fe_add(ir, fe_mul(ir, image, size), at);
}

static fe_status lower_max_indices(fe_lower *l) {
  fe_ir *ir = l->ir;
  pool p;
  if (pool_begin(&p, l))
    return FE_FAILED;
  fe_sweep *s = &p.s;
  MlirValue out[2] = {fe_out_empty(l, 0, p.sizes), fe_out_empty(l, 1, p.sizes)};
  open_kernel(&p, "max_pool_indices", 2, out);
  int64_t tile = FE_TILE;
  MlirValue places = fe_alloca(ir, fe_memref_type(ir, ir->i64, 1, &tile));
  fe_sweep_begin(s, &p.k, &p.win, p.k.in[0], p.k.out[0], (MlirValue){0},
                 p.pads);
  MlirValue start = lowest(&p), none = fe_int(ir, ir->i64, -1);
  fe_piece_begin(s);
  fe_store(ir, start, p.sums, 1, &s->i);
  fe_store(ir, none, places, 1, &s->i);
  fe_piece_end(s);
  fe_taps_begin(s);
  fe_tap_begin(s);
  MlirValue best = fe_load(ir, p.sums, 1, &s->i), x = load_tap(&p);
  MlirValue old = fe_load(ir, places, 1, &s->i);
  MlirValue more = fe_dtype_is_unsigned(p.type) ? fe_cmpu(ir, FE_GT, x, best)
                                                : fe_cmp(ir, FE_GT, x, best);
  more = fe_or(ir, more, fe_cmp(ir, FE_LT, old, fe_int(ir, ir->i64, 0)));
  MlirValue here = fe_convert(ir, place(&p), ir->i64, false, false);
  fe_store(ir, fe_select(ir, more, x, best), p.sums, 1, &s->i);
  fe_store(ir, fe_select(ir, more, here, old), places, 1, &s->i);
  fe_tap_end(s);
  fe_taps_end(s);
  fe_piece_begin(s);
  s->at[1 + p.win.n] = s->x;
  fe_put(&p.k, fe_load(ir, p.sums, 1, &s->i), p.k.out[0], p.type, 2 + p.win.n,
         s->at);
  fe_put(&p.k, fe_load(ir, places, 1, &s->i), p.k.out[1], FE_I64, 2 + p.win.n,
         s->at);
  fe_piece_end(s);
  fe_sweep_end(s);
  close_kernel(&p);
  l->out[0] = p.k.result[0];
  l->out[1] = p.k.result[1];
  return FE_OK;
}

static fe_status lower_max(fe_lower *l) {
  static const pool_kind kind = {lowest, step_max, step_max, finish_same};
  if (fe_n_uses(fe_result(l->op, 1)))
    return lower_max_indices(l);
  return lower_kind(l, "max_pool", &kind);
}
static fe_status lower_average(fe_lower *l) {
  static const pool_kind kind = {nothing, step_sum, step_sum, finish_average};
  return lower_kind(l, "average_pool", &kind);
}
static fe_status lower_lp(fe_lower *l) {
  static const pool_kind kind = {nothing, step_power, step_sum, finish_root};
  return lower_kind(l, "lp_pool", &kind);
}

//===-- Rows ----------------------------------------------------------------//

#define WINDOW_ATTRS                                                           \
  {"auto_pad", FE_A_STRING, "NOTSET"}, {"ceil_mode", FE_A_INT, "0"},           \
      {"dilations", FE_A_INTS, ""}, {"kernel_shape", FE_A_INTS, NULL},         \
      {"pads", FE_A_INTS, ""}, {"strides", FE_A_INTS, ""}

static const fe_attr_def max_attrs[] = {
    WINDOW_ATTRS, {"storage_order", FE_A_INT, "0|1"}, {0}};
static const fe_attr_def average_attrs[] = {
    WINDOW_ATTRS, {"count_include_pad", FE_A_INT, "0"}, {0}};
static const fe_attr_def lp_attrs[] = {
    WINDOW_ATTRS, {"p", FE_A_INT, "2|1.."}, {0}};

const fe_op_row fe_family_pool[] = {{.name = "MaxPool",
                                     .since = 1,
                                     .inputs = "X:T",
                                     .outputs = "Y:T, Indices?:I",
                                     .types = "T=float,i8,u8;I=i64",
                                     .attrs = max_attrs,
                                     .upgrade = upgrade_pool,
                                     .infer = infer_pool,
                                     .lower = lower_max},
                                    {.name = "AveragePool",
                                     .since = 1,
                                     .inputs = "X:T",
                                     .outputs = "Y:T",
                                     .types = "T=float",
                                     .attrs = average_attrs,
                                     .upgrade = upgrade_pool,
                                     .infer = infer_pool,
                                     .lower = lower_average},
                                    {.name = "LpPool",
                                     .since = 1,
                                     .inputs = "X:T",
                                     .outputs = "Y:T",
                                     .types = "T=float",
                                     .attrs = lp_attrs,
                                     .upgrade = upgrade_pool,
                                     .infer = infer_pool,
                                     .lower = lower_lp},
                                    {0}};
