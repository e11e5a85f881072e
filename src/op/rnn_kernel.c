//===- rnn_kernel.c - lowering of recurrent layers ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: the part that does not depend on the state, X * W^T with biases, is
// one matrix product over all time steps, with the biases as its epilogue. Then
// one kernel walks through time. R lies in panels: some vectors of units, of
// all gates, transposed, so that a step is a stream through R with the sums of
// a panel in registers, and the gates of a panel's units are computed while the
// processor already loads the next one. Every second step goes backwards
// through R, which finds in the nearer cache what the step before has left
// there. Constant R is put into panels when compiling. Sequences of a batch and
// directions are independent: they are the parallel extent, and a panel stays
// in cache for all sequences of a part.
//
// GRU's hidden gate needs the reset gate: it has panels of its own, a second
// stage of a step, unless the reset comes behind its product.
// The state lives in the outputs Y_h and Y_c; `next` holds what the state will
// be while panels still read it.
//
//===----------------------------------------------------------------------===//
#include "op/rnn.h"
#include "target/target.h"

#include <string.h>

#define PANEL_VECTORS 8
#define TILE_ROWS 4 // sequences that share the loads of R
#define MAX_SUMS 32

typedef struct stage { // gates that are computed together
  unsigned first_gate, gates;
  int64_t vectors; // of units in a panel
  MlirValue first_panel, panels;
} stage;

typedef struct rnn {
  const fe_rnn *n;
  const fe_rnn_operands *o;
  fe_lower *l;
  fe_kernel k;
  fe_dtype t;
  int64_t lanes, width; // of a panel, all gates
  stage stages[2];
  unsigned n_stages;
  bool reset_first; // GRU: the reset state goes into the second product
  bool in_place;    // nothing reads the state when it is written
  bool back_and_forth;
  MlirValue hidden; // index value of main, then of the kernel; so in stages
  // memrefs in the kernel; null: absent
  MlirValue gates, panels, bias, lengths, h0, c0, peep; // inputs
  MlirValue sums, h, c, next, y;                        // outputs
  MlirValue time, batch;
  // of the direction and sequence at hand
  unsigned d;
  MlirValue b, step, at;     // at: the time step in X and Y
  MlirValue from, direction; // of the walk through K: 0 and 1, or the reverse
  MlirValue start;           // the first unit of the panel at hand
} rnn;

static MlirValue idx(rnn *r, int64_t v) { return fe_index(r->l->ir, v); }

//===-- Panels of R ---------------------------------------------------------//

static MlirValue times(rnn *r, int64_t n, MlirValue v) {
  return fe_mul(r->l->ir, idx(r, n), v);
}

static int64_t known(MlirValue size) { // FE_DYN: only the run knows
  int64_t n;
  return fe_size_known(size, &n) ? n : FE_DYN;
}

static int64_t vectors_of(const rnn *r) { // of all units, which are known
  return (known(r->hidden) + r->lanes - 1) / r->lanes;
}

static MlirValue n_panels(const rnn *r) {
  const stage *last = &r->stages[r->n_stages - 1];
  return fe_add(r->l->ir, last->first_panel, last->panels);
}

/// Numbers of panels, where they are written now.
static void count_panels(rnn *r, MlirValue hidden) {
  fe_ir *ir = r->l->ir;
  MlirValue panels = idx(r, 0);
  r->hidden = hidden;
  for (unsigned i = 0; i < r->n_stages; ++i) {
    stage *s = &r->stages[i];
    int64_t units = s->vectors * r->lanes;
    s->first_panel = panels;
    s->panels =
        fe_divu(ir, fe_add(ir, hidden, idx(r, units - 1)), idx(r, units));
    panels = fe_add(ir, panels, s->panels);
  }
}

/// Where the number of units is known, panels are of one size, if possible.
static void plan(rnn *r) {
  const fe_rnn *n = r->n;
  r->hidden = r->o->hidden;
  r->lanes = r->l->target->vector_bits / fe_dtype_bits(r->t);
  r->reset_first = n->cell == FE_GRU && !n->linear_before_reset;
  r->n_stages = r->reset_first ? 2 : 1;
  r->stages[0].gates = r->reset_first ? 2 : n->gates;
  r->stages[1] = (stage){.first_gate = 2, .gates = 1};
  bool open = known(r->hidden) == FE_DYN;
  for (unsigned i = 0; i < r->n_stages; ++i) {
    stage *s = &r->stages[i];
    s->vectors = (PANEL_VECTORS + s->gates - 1) / s->gates;
    if (!open) {
      int64_t all = vectors_of(r), panels = (all + s->vectors - 1) / s->vectors;
      s->vectors = (all + panels - 1) / panels;
    }
    int64_t width = s->gates * s->vectors * r->lanes;
    r->width = width > r->width ? width : r->width;
  }
  count_panels(r, r->hidden);
  int64_t panels = known(n_panels(r));
  r->in_place = r->reset_first || panels == 1;
  int64_t row = r->width * fe_dtype_bits(r->t) / 8;
  r->back_and_forth =
      open || 2 * panels * row * known(r->hidden) > r->l->target->l1_bytes;
}

/// Row of R that column j of panel p is; -1: padding. All sizes are known.
static int64_t row_of(const rnn *r, int64_t p, int64_t j) {
  const stage *s = &r->stages[0];
  if (r->n_stages > 1 && p >= known(r->stages[1].first_panel))
    s = &r->stages[1];
  int64_t hidden = known(r->hidden), first = known(s->first_panel);
  int64_t span = s->vectors * r->lanes, gate = j / r->lanes % s->gates;
  int64_t vector = j / (s->gates * r->lanes);
  int64_t unit = (p - first) * span + vector * r->lanes + j % r->lanes;
  return vector < s->vectors && unit < hidden
             ? (s->first_gate + gate) * hidden + unit
             : -1;
}

/// [D][panels][H][width] of constant R.
static MlirValue constant_panels(rnn *r, const char *data) {
  fe_ir *ir = r->l->ir;
  const fe_rnn *n = r->n;
  size_t elem = fe_dtype_bits(r->t) / 8, h = (size_t)known(r->hidden);
  int64_t dims[4] = {n->directions, known(n_panels(r)), (int64_t)h, r->width};
  size_t size = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]) * elem;
  char *out = fe_alloc(ir->arena, size), *to = out;
  for (int64_t d = 0; d < dims[0]; ++d)
    for (int64_t p = 0; p < dims[1]; ++p)
      for (size_t k = 0; k < h; ++k)
        for (int64_t j = 0; j < r->width; ++j, to += elem) {
          int64_t row = row_of(r, p, j);
          size_t from = ((size_t)(d * n->gates) * h + (size_t)row) * h + k;
          if (row >= 0)
            memcpy(to, data + from * elem, elem);
        }
  const fe_blob *blob =
      fe_blob_add(ir->blobs, "recurrence.panels", out, size, NULL, 0);
  MlirType type = fe_tensor_plain(ir, fe_storage_type(ir, r->t), 4, dims);
  return fe_first(FE_OP(ir, "krnl.weight", FE_TYPES(type),
                        FE_ATTRS(fe_at_str(ir, "blob", blob->name))));
}

/// Row of R for column j of panel p, which is of stage s; padding repeats the
/// last one.
static MlirValue row_at(rnn *r, const stage *s, MlirValue p, MlirValue j) {
  fe_ir *ir = r->l->ir;
  int64_t span = s->vectors * r->lanes;
  MlirValue gate =
      fe_remu(ir, fe_divu(ir, j, idx(r, r->lanes)), idx(r, s->gates));
  MlirValue first = fe_mul(ir, fe_sub(ir, p, s->first_panel), idx(r, span));
  MlirValue vector = fe_divu(ir, j, idx(r, s->gates * r->lanes));
  MlirValue unit = fe_add(ir, first, fe_mul(ir, vector, idx(r, r->lanes)));
  unit = fe_add(ir, unit, fe_remu(ir, j, idx(r, r->lanes)));
  unit = fe_min(ir, unit, fe_sub(ir, r->hidden, idx(r, 1)));
  gate = fe_add(ir, gate, idx(r, s->first_gate));
  return fe_add(ir, fe_mul(ir, gate, r->hidden), unit);
}

/// The same of R computed at run time.
static MlirValue computed_panels(rnn *r, MlirValue weights) {
  fe_lower *l = r->l;
  fe_ir *ir = l->ir;
  const fe_rnn *n = r->n;
  MlirValue sizes[4] = {idx(r, n->directions), n_panels(r), r->hidden,
                        idx(r, r->width)};
  fe_generic *g = fe_generic_begin(l, 4, sizes, 0, NULL, NULL, NULL);
  MlirValue p = fe_iter(g, 1), j = fe_iter(g, 3);
  MlirValue row = row_at(r, &r->stages[0], p, j);
  if (r->n_stages > 1) {
    const stage *last = &r->stages[1];
    MlirValue before = fe_cmp(ir, FE_LT, p, last->first_panel);
    MlirValue q = fe_max(ir, p, last->first_panel);
    row = fe_select(ir, before, row, row_at(r, last, q, j));
  }
  MlirValue at[3] = {fe_iter(g, 0), row, fe_iter(g, 2)};
  return fe_generic_end(g, r->t, fe_at(g, weights, r->t, 3, at));
}

//===-- What does not depend on the state -----------------------------------//

/// Biases [D][gates * H] of W and R; R's bias of GRU's hidden gate is apart
/// when it is added before the reset.
static MlirValue sum_of_biases(rnn *r) {
  fe_lower *l = r->l;
  fe_ir *ir = l->ir;
  const fe_rnn *n = r->n;
  MlirValue rows = times(r, n->gates, r->hidden);
  MlirValue sizes[2] = {idx(r, n->directions), rows};
  fe_generic *g = fe_generic_begin(l, 2, sizes, 0, NULL, NULL, NULL);
  MlirValue d = fe_iter(g, 0), i = fe_iter(g, 1);
  MlirValue first[2] = {d, i}, second[2] = {d, fe_add(ir, i, rows)};
  MlirValue w = fe_at(g, r->o->bias, r->t, 2, first);
  MlirValue v = fe_add(ir, w, fe_at(g, r->o->bias, r->t, 2, second));
  if (n->cell == FE_GRU && n->linear_before_reset) {
    MlirValue hidden = fe_cmp(ir, FE_GE, i, times(r, 2, r->hidden));
    v = fe_select(ir, hidden, w, v);
  }
  return fe_generic_end(g, r->t, v);
}

/// [D][T * B][gates * H], or [D][B * T][..] when X is batch first.
static MlirValue input_part(rnn *r) {
  fe_lower *l = r->l;
  fe_ir *ir = l->ir;
  const fe_rnn *n = r->n;
  MlirValue x = r->o->x;
  MlirValue flat[3] = {idx(r, 1), fe_sizes_product(l, x, 0, 2),
                       fe_size(l, x, 2)};
  x = fe_reshape(l, x, fe_elem_of(x), 3, flat);
  MlirValue sizes[3] = {idx(r, n->directions), flat[1],
                        times(r, n->gates, r->hidden)};
  MlirValue v = fe_lower_contract(l, x, false, r->o->w, true, r->t, 3, sizes);
  if (fe_is_null(r->o->bias))
    return v;
  MlirAffineExpr e[2] = {mlirAffineDimExprGet(ir->ctx, 0),
                         mlirAffineDimExprGet(ir->ctx, 2)};
  MlirAffineMap maps[2] = {mlirAffineMapMultiDimIdentityGet(ir->ctx, 3),
                           mlirAffineMapGet(ir->ctx, 3, 0, 2, e)};
  MlirValue in[2] = {v, sum_of_biases(r)};
  fe_dtype types[2] = {r->t, r->t};
  fe_generic *g = fe_generic_begin(l, 3, sizes, 2, in, types, maps);
  return fe_generic_end(g, r->t, fe_add(ir, fe_arg(g, 0), fe_arg(g, 1)));
}

//===-- Element access in the kernel ----------------------------------------//

static MlirValue load_state(rnn *r, MlirValue m, MlirValue j) {
  MlirValue d = idx(r, r->d);
  MlirValue at[3] = {d, r->b, j}, swapped[3] = {r->b, d, j};
  return fe_load(r->l->ir, m, 3, r->n->batch_first ? swapped : at);
}
static void store_state(rnn *r, MlirValue v, MlirValue m, MlirValue j) {
  MlirValue d = idx(r, r->d);
  MlirValue at[3] = {d, r->b, j}, swapped[3] = {r->b, d, j};
  fe_store(r->l->ir, v, m, 3, r->n->batch_first ? swapped : at);
}
static void store_y(rnn *r, MlirValue v, MlirValue j) {
  if (fe_is_null(r->y))
    return;
  MlirValue d = idx(r, r->d);
  MlirValue at[4] = {r->at, d, r->b, j}, swapped[4] = {r->b, r->at, d, j};
  fe_store(r->l->ir, v, r->y, 4, r->n->batch_first ? swapped : at);
}

/// Of gate g, unit j: what the product gave. Sums are ordered by gates, so that
/// the units of one lie side by side.
static MlirValue sum_at(rnn *r, unsigned g, MlirValue j) {
  fe_ir *ir = r->l->ir;
  const stage *s = &r->stages[r->n_stages > 1 && g >= 2];
  int64_t column = (g - s->first_gate) * s->vectors * r->lanes;
  MlirValue at = fe_add(ir, fe_sub(ir, j, r->start), idx(r, column));
  return fe_load(ir, r->sums, FE_IDX(idx(r, r->d), r->b, at));
}
/// What waits for the next stage or step. GRU with two stages: the update gate,
/// then the reset state; else the state.
static MlirValue next_at(rnn *r, MlirValue column, MlirValue j) {
  fe_ir *ir = r->l->ir;
  return fe_load(ir, r->next,
                 FE_IDX(idx(r, r->d), r->b, fe_add(ir, j, column)));
}
static void set_next(rnn *r, MlirValue v, MlirValue column, MlirValue j) {
  fe_ir *ir = r->l->ir;
  fe_store(ir, v, r->next, FE_IDX(idx(r, r->d), r->b, fe_add(ir, j, column)));
}
/// The new state.
static void set_h(rnn *r, MlirValue v, MlirValue j) {
  if (r->in_place)
    store_state(r, v, r->h, j);
  else
    set_next(r, v, idx(r, 0), j);
  store_y(r, v, j);
}
static MlirValue input_at(rnn *r, unsigned gate, MlirValue j) {
  fe_ir *ir = r->l->ir;
  MlirValue row = r->n->batch_first
                      ? fe_add(ir, fe_mul(ir, r->b, r->time), r->at)
                      : fe_add(ir, fe_mul(ir, r->at, r->batch), r->b);
  MlirValue column = fe_add(ir, j, times(r, gate, r->hidden));
  return fe_load(ir, r->gates, FE_IDX(idx(r, r->d), row, column));
}
static MlirValue peephole(rnn *r, MlirValue v, unsigned which, MlirValue c,
                          MlirValue j) {
  fe_ir *ir = r->l->ir;
  if (fe_is_null(r->peep))
    return v;
  MlirValue column = fe_add(ir, j, times(r, which, r->hidden));
  MlirValue p = fe_load(ir, r->peep, FE_IDX(idx(r, r->d), column));
  return fe_add(ir, v, fe_mul(ir, p, c));
}

static MlirValue activate(rnn *r, unsigned f, MlirValue v) {
  fe_ir *ir = r->l->ir;
  if (r->n->clip > 0) {
    MlirType t = mlirValueGetType(v);
    MlirValue high = fe_float(ir, t, r->n->clip);
    MlirValue low = fe_float(ir, t, -r->n->clip);
    v = fe_select(ir, fe_cmp(ir, FE_GT, low, v), low, v);
    v = fe_select(ir, fe_cmp(ir, FE_LT, high, v), high, v);
  }
  return fe_rnn_apply(ir, &r->n->f[r->d][f], v);
}

//===-- Products with R -----------------------------------------------------//

/// `rows` sequences from r->b on, of every gate the vectors [first, first + n)
/// of a panel: sums = state (or the reset state) * R.
static void tile(rnn *r, const stage *s, MlirValue panel, unsigned rows,
                 unsigned first, unsigned n) {
  fe_ir *ir = r->l->ir;
  MlirType vec = fe_vector_type(ir, r->lanes, fe_storage_type(ir, r->t));
  MlirValue acc[MAX_SUMS], sum[MAX_SUMS];
  MlirValue d = idx(r, r->d), base = r->b, w[PANEL_VECTORS + 3];
  unsigned each = s->gates * n; // sums of a sequence
  for (unsigned i = 0; i < rows * each; ++i)
    acc[i] = fe_float(ir, vec, 0);
  fe_region loop =
      fe_for_begin(ir, idx(r, 0), r->hidden, idx(r, 1), rows * each, acc);
  MlirValue k = fe_add(ir, r->from, fe_mul(ir, loop.iv, r->direction));
  for (unsigned v = 0; v < each; ++v) {
    MlirValue column = idx(r, (first * s->gates + v) * r->lanes);
    w[v] = fe_vload(ir, r->lanes, r->panels, FE_IDX(d, panel, k, column));
  }
  for (unsigned i = 0; i < rows; ++i) {
    r->b = fe_add(ir, base, idx(r, i));
    MlirValue h =
        s->first_gate ? next_at(r, r->hidden, k) : load_state(r, r->h, k);
    MlirValue wide = fe_splat(ir, h, r->lanes);
    for (unsigned v = 0; v < each; ++v) {
      MlirValue before = fe_block_arg(loop.body, 1 + i * each + v);
      sum[i * each + v] = r->l->target->fma
                              ? fe_fma(ir, wide, w[v], before)
                              : fe_add(ir, fe_mul(ir, wide, w[v]), before);
    }
  }
  fe_for_end(ir, &loop, rows * each, sum);
  for (unsigned i = 0; i < rows * each; ++i) {
    MlirValue b = fe_add(ir, base, idx(r, i / each));
    int64_t gate = i % each % s->gates, vector = first + i % each / s->gates;
    MlirValue column = idx(r, (gate * s->vectors + vector) * r->lanes);
    fe_vstore(ir, fe_result(loop.op, i), r->sums, FE_IDX(d, b, column));
  }
  r->b = base;
}

typedef struct span { // sequences of this part, of one direction
  MlirValue first, last;
} span;

/// Loop over the sequences that have not ended; sets r->b and r->at.
typedef struct sequences {
  fe_region loop, alive;
  bool guarded;
} sequences;

static sequences each_sequence(rnn *r, span s, bool has_else) {
  fe_ir *ir = r->l->ir;
  sequences q = {.guarded = !fe_is_null(r->lengths)};
  q.loop = fe_for_begin(ir, s.first, s.last, idx(r, 1), 0, NULL);
  r->b = q.loop.iv;
  bool reverse = r->n->directions == 2 ? r->d == 1 : r->n->reverse;
  MlirValue length = r->time;
  if (q.guarded) {
    length = fe_to_index(ir, fe_load(ir, r->lengths, 1, &r->b));
    length = fe_min(ir, length, r->time);
  }
  r->at = r->step;
  if (reverse)
    r->at = fe_sub(ir, fe_sub(ir, length, idx(r, 1)), r->step);
  if (q.guarded)
    q.alive =
        fe_if_begin(ir, fe_cmp(ir, FE_LT, r->step, length), 0, NULL, has_else);
  return q;
}
static void end_sequence(rnn *r, sequences *q) {
  if (q->guarded)
    fe_if_end(r->l->ir, &q->alive, 0, NULL);
  fe_loop_end(r->l->ir, &q->loop);
}

/// For the `units` of the panel at hand.
static void elements(rnn *r, MlirValue units, void (*cell)(rnn *, MlirValue)) {
  fe_region j = fe_loop(r->l->ir, units);
  cell(r, fe_add(r->l->ir, r->start, j.iv));
  fe_loop_end(r->l->ir, &j);
}
static void no_result(rnn *r, MlirValue j) {
  store_y(r, fe_float(r->l->ir, fe_storage_type(r->l->ir, r->t), 0), j);
}

/// The first `n` vectors of a panel for all sequences of the part; what those
/// that have ended get is not used. Several at once share the loads of R.
static void panel_product(rnn *r, span s, const stage *g, MlirValue panel,
                          unsigned n) {
  fe_ir *ir = r->l->ir;
  bool many = r->l->target->vector_registers >= 32; // accumulators: 16, or 8
  unsigned together = many || g->gates < 3 ? TILE_ROWS : TILE_ROWS / 2;
  unsigned wide = (many ? 16 : 8) / (together * g->gates);
  MlirValue rest = s.first;
  int64_t batch = fe_static_dim(r->sums, 1);
  if (batch == FE_DYN || batch >= together) {
    MlirValue rows = idx(r, together), count = fe_sub(ir, s.last, s.first);
    count = fe_max(ir, count, idx(r, 0));
    rest = fe_sub(ir, s.last, fe_remu(ir, count, rows));
    fe_region b = fe_for_begin(ir, s.first, rest, rows, 0, NULL);
    r->b = b.iv;
    for (unsigned v = 0; v < n; v += wide)
      tile(r, g, panel, together, v, n - v < wide ? n - v : wide);
    fe_loop_end(ir, &b);
  }
  fe_region b = fe_for_begin(ir, rest, s.last, idx(r, 1), 0, NULL);
  r->b = b.iv;
  tile(r, g, panel, 1, 0, n);
  fe_loop_end(ir, &b);
}

/// A stage of a step: panel by panel the product, then `cell` for its units.
static void run_stage(rnn *r, span s, const stage *g, bool last,
                      void (*cell)(rnn *r, MlirValue j)) {
  fe_ir *ir = r->l->ir;
  fe_region p = fe_loop(ir, g->panels);
  MlirValue back = fe_cmp(ir, FE_LT, r->direction, idx(r, 0));
  MlirValue end = fe_sub(ir, g->panels, idx(r, 1));
  MlirValue q = fe_select(ir, back, fe_sub(ir, end, p.iv), p.iv);
  MlirValue panel = fe_add(ir, q, g->first_panel);
  unsigned n = (unsigned)g->vectors, less = n;
  int64_t hidden = known(r->hidden), panels = known(g->panels);
  if (panels != FE_DYN)
    less = (unsigned)(vectors_of(r) - (panels - 1) * n);
  if (less < n) {
    fe_region full = fe_if_begin(ir, fe_cmp(ir, FE_LT, q, end), 0, NULL, true);
    panel_product(r, s, g, panel, n);
    fe_if_else(ir, &full, 0, NULL);
    panel_product(r, s, g, panel, less);
    fe_if_end(ir, &full, 0, NULL);
  } else {
    panel_product(r, s, g, panel, n);
  }
  int64_t span = n * r->lanes;
  r->start = fe_mul(ir, q, idx(r, span));
  MlirValue units = idx(r, span);
  if (hidden == FE_DYN || hidden % span)
    units = fe_min(ir, units, fe_sub(ir, r->hidden, r->start));
  bool zeros = last && !fe_is_null(r->y);
  sequences each = each_sequence(r, s, zeros);
  elements(r, units, cell);
  if (each.guarded && zeros) { // sequences that have ended give zeros
    fe_if_else(ir, &each.alive, 0, NULL);
    r->at = r->step;
    elements(r, units, no_result);
  }
  end_sequence(r, &each);
  fe_loop_end(ir, &p);
}

//===-- Cells ---------------------------------------------------------------//

static MlirValue gate(rnn *r, unsigned g, MlirValue j) {
  return fe_add(r->l->ir, sum_at(r, g, j), input_at(r, g, j));
}

static void simple_cell(rnn *r, MlirValue j) {
  set_h(r, activate(r, 0, gate(r, 0, j)), j);
}

static void lstm_cell(rnn *r, MlirValue j) {
  fe_ir *ir = r->l->ir;
  enum { I, O, F, G };
  MlirValue c = load_state(r, r->c, j);
  MlirValue i = activate(r, 0, peephole(r, gate(r, I, j), 0, c, j));
  MlirValue one = fe_float(ir, mlirValueGetType(i), 1);
  MlirValue f = r->n->input_forget
                    ? fe_sub(ir, one, i)
                    : activate(r, 0, peephole(r, gate(r, F, j), 2, c, j));
  MlirValue g = activate(r, 1, gate(r, G, j));
  c = fe_add(ir, fe_mul(ir, f, c), fe_mul(ir, i, g));
  MlirValue o = activate(r, 0, peephole(r, gate(r, O, j), 1, c, j));
  MlirValue h = fe_mul(ir, o, fe_rnn_apply(ir, &r->n->f[r->d][2], c));
  store_state(r, c, r->c, j);
  set_h(r, h, j);
}

/// (1 - z) * v + z * h
static void gru_state(rnn *r, MlirValue z, MlirValue v, MlirValue j) {
  fe_ir *ir = r->l->ir;
  MlirValue h = load_state(r, r->h, j);
  set_h(r, fe_add(ir, v, fe_mul(ir, z, fe_sub(ir, h, v))), j);
}

/// GRU in two stages: the update gate and the reset state, then the state.
static void gru_gates(rnn *r, MlirValue j) {
  set_next(r, activate(r, 0, gate(r, 0, j)), idx(r, 0), j);
  MlirValue reset = activate(r, 0, gate(r, 1, j));
  set_next(r, fe_mul(r->l->ir, reset, load_state(r, r->h, j)), r->hidden, j);
}
static void gru_hidden(rnn *r, MlirValue j) {
  MlirValue v = activate(r, 1, gate(r, 2, j));
  gru_state(r, next_at(r, idx(r, 0), j), v, j);
}

/// GRU in one, the reset behind the product.
static void gru_cell(rnn *r, MlirValue j) {
  fe_ir *ir = r->l->ir;
  MlirValue z = activate(r, 0, gate(r, 0, j));
  MlirValue reset = activate(r, 0, gate(r, 1, j)), v = sum_at(r, 2, j);
  if (!fe_is_null(r->bias)) {
    MlirValue at = fe_add(ir, j, times(r, 5, r->hidden));
    v = fe_add(ir, v, fe_load(ir, r->bias, FE_IDX(idx(r, r->d), at)));
  }
  v = fe_add(ir, fe_mul(ir, reset, v), input_at(r, 2, j));
  gru_state(r, z, activate(r, 1, v), j);
}

static void take_vector(rnn *r, MlirValue j) {
  fe_ir *ir = r->l->ir;
  MlirValue d = idx(r, r->d);
  bool swapped = r->n->batch_first;
  MlirValue v = fe_vload(ir, r->lanes, r->next, FE_IDX(d, r->b, j));
  fe_vstore(ir, v, r->h, FE_IDX(swapped ? r->b : d, swapped ? d : r->b, j));
}

/// The state becomes the new one: 8 vectors at a time, as LLVM makes a call of
/// a loop of one, for which all that is in registers has to be stored.
static void take_next(rnn *r) {
  fe_ir *ir = r->l->ir;
  MlirValue eight = idx(r, 8 * r->lanes);
  MlirValue whole = fe_sub(ir, r->hidden, fe_remu(ir, r->hidden, eight));
  fe_region loop = fe_for_begin(ir, idx(r, 0), whole, eight, 0, NULL);
  for (int i = 0; i < 8; ++i)
    take_vector(r, fe_add(ir, loop.iv, idx(r, i * r->lanes)));
  fe_loop_end(ir, &loop);
  int64_t hidden = known(r->hidden), done = known(whole);
  for (; hidden != FE_DYN && hidden - done >= r->lanes; done += r->lanes)
    take_vector(r, idx(r, done));
  if (hidden != FE_DYN)
    whole = idx(r, done);
  fe_region rest = fe_for_begin(ir, whole, r->hidden, idx(r, 1), 0, NULL);
  store_state(r, next_at(r, idx(r, 0), rest.iv), r->h, rest.iv);
  fe_loop_end(ir, &rest);
}

static void one_step(rnn *r, span s) {
  static void (*const cells[])(rnn *, MlirValue) = {simple_cell, gru_cell,
                                                    lstm_cell};
  fe_ir *ir = r->l->ir;
  MlirValue one = idx(r, 1);
  r->from = idx(r, 0);
  r->direction = one;
  if (r->back_and_forth) {
    MlirValue odd = fe_cmp(ir, FE_EQ, fe_and(ir, r->step, one), one);
    r->from = fe_select(ir, odd, fe_sub(ir, r->hidden, one), idx(r, 0));
    r->direction = fe_select(ir, odd, idx(r, -1), one);
  }
  if (r->n_stages > 1) {
    run_stage(r, s, &r->stages[0], false, gru_gates);
    run_stage(r, s, &r->stages[1], true, gru_hidden);
  } else {
    run_stage(r, s, &r->stages[0], true, cells[r->n->cell]);
  }
  if (r->in_place)
    return;
  sequences each = each_sequence(r, s, false);
  take_next(r);
  end_sequence(r, &each);
}

//===-- The kernel ----------------------------------------------------------//

static void start_states(rnn *r, span s) {
  fe_ir *ir = r->l->ir;
  MlirValue zero = fe_float(ir, fe_storage_type(ir, r->t), 0);
  fe_region b = fe_for_begin(ir, s.first, s.last, idx(r, 1), 0, NULL);
  r->b = b.iv;
  fe_region j = fe_loop(ir, r->hidden);
  store_state(r, fe_is_null(r->h0) ? zero : load_state(r, r->h0, j.iv), r->h,
              j.iv);
  if (!fe_is_null(r->c))
    store_state(r, fe_is_null(r->c0) ? zero : load_state(r, r->c0, j.iv), r->c,
                j.iv);
  fe_loop_end(ir, &j);
  fe_loop_end(ir, &b);
}

static void direction(rnn *r, unsigned d) {
  fe_ir *ir = r->l->ir;
  r->d = d;
  MlirValue start = fe_mul(ir, r->batch, idx(r, d)), zero = idx(r, 0);
  span s = {fe_max(ir, fe_sub(ir, r->k.begin, start), zero),
            fe_min(ir, fe_sub(ir, r->k.end, start), r->batch)};
  start_states(r, s);
  fe_region t = fe_loop(ir, r->time);
  r->step = t.iv;
  one_step(r, s);
  fe_loop_end(ir, &t);
}

/// Puts a present tensor on the list; its memref goes to *memref later.
static void argument(MlirValue tensor, MlirValue *memref, MlirValue *list,
                     MlirValue **where, unsigned *n) {
  if (fe_is_null(tensor))
    return;
  where[*n] = memref;
  list[(*n)++] = tensor;
}

void fe_rnn_lower(fe_lower *l, const fe_rnn *n, const fe_rnn_operands *o,
                  MlirValue out[3]) {
  fe_ir *ir = l->ir;
  rnn r = {.n = n, .o = o, .l = l, .t = o->type};
  plan(&r);
  unsigned time = n->batch_first;
  MlirValue T = fe_size(l, o->x, time), B = fe_size(l, o->x, !time);
  MlirValue D = idx(&r, n->directions), H = o->hidden;
  MlirValue gates = input_part(&r);
  MlirValue panels =
      o->r_data ? constant_panels(&r, o->r_data) : computed_panels(&r, o->r);
  MlirValue y_sizes[4] = {T, D, B, H}, s_sizes[3] = {D, B, H};
  if (n->batch_first) {
    y_sizes[0] = s_sizes[0] = B;
    y_sizes[1] = T;
    y_sizes[2] = s_sizes[1] = D;
  }
  MlirValue sum_sizes[3] = {D, B, idx(&r, r.width)};
  MlirValue next_sizes[3] = {D, B, times(&r, r.n_stages, H)};
  MlirValue in[8], outs[5], *in_at[8], *out_at[5], none = {0};
  unsigned n_in = 0, n_out = 0;
  argument(gates, &r.gates, in, in_at, &n_in);
  argument(panels, &r.panels, in, in_at, &n_in);
  argument(n->linear_before_reset ? o->bias : none, &r.bias, in, in_at, &n_in);
  argument(o->lengths, &r.lengths, in, in_at, &n_in);
  argument(o->h, &r.h0, in, in_at, &n_in);
  argument(o->c, &r.c0, in, in_at, &n_in);
  argument(o->p, &r.peep, in, in_at, &n_in);
  argument(fe_tensor_empty(l, r.t, 3, sum_sizes), &r.sums, outs, out_at,
           &n_out);
  argument(fe_tensor_empty(l, r.t, 3, s_sizes), &r.h, outs, out_at, &n_out);
  if (n->cell == FE_LSTM)
    argument(fe_tensor_empty(l, r.t, 3, s_sizes), &r.c, outs, out_at, &n_out);
  if (r.reset_first || !r.in_place)
    argument(fe_tensor_empty(l, r.t, 3, next_sizes), &r.next, outs, out_at,
             &n_out);
  if (o->wants_y)
    argument(fe_tensor_empty(l, r.t, 4, y_sizes), &r.y, outs, out_at, &n_out);
  fe_kernel_begin(&r.k, l, "recurrence", n_in, in, n_out, outs, 2,
                  (MlirValue[]){T, H});
  for (unsigned i = 0; i < n_in; ++i)
    *in_at[i] = r.k.in[i];
  for (unsigned i = 0; i < n_out; ++i)
    *out_at[i] = r.k.out[i];
  r.time = r.k.scalar[0];
  int64_t hidden = known(H);
  count_panels(&r, hidden == FE_DYN ? r.k.scalar[1] : idx(&r, hidden));
  r.batch = fe_dim(ir, r.sums, 1);
  for (unsigned d = 0; d < n->directions; ++d)
    direction(&r, d);
  MlirAffineExpr items =
      fe_dim_mul(fe_kernel_dim(&r.k, n_in, 1), fe_dim_const(ir, n->directions));
  MlirAffineExpr work = fe_kernel_dim(&r.k, 1, 1); // of panels
  for (unsigned i = 2; i < 4; ++i)
    work = fe_dim_mul(work, fe_kernel_dim(&r.k, 1, i));
  fe_kernel_end(&r.k, items, fe_dim_mul(fe_kernel_scalar(&r.k, 0), work));
  MlirValue *result = r.k.result;
  out[0] = o->wants_y ? result[n_out - 1] : none;
  out[1] = result[1];
  out[2] = n->cell == FE_LSTM ? result[2] : none;
}
