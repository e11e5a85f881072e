//===- rnn_kernel.c - lowering of recurrent layers ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: the part that does not depend on the state, X * W^T with biases, is
// one matrix product over all time steps, with the biases as its epilogue. Then
// one kernel walks through time. R lies in panels of some vectors of its rows,
// transposed, so that a step is a stream through R with the sums of a panel in
// registers; constant R is put into panels when compiling. Sequences of a batch
// and directions are independent: they are the parallel extent, and a panel
// stays in cache for all sequences of a part.
//
// Gates are computed in two groups, as GRU's hidden gate needs the reset gate.
// The state lives in the outputs Y_h and Y_c; `pre` holds the sums of a step.
//
//===----------------------------------------------------------------------===//
#include "op/rnn.h"
#include "target/target.h"

#include <string.h>

#define PANEL_VECTORS 8
#define TILE_ROWS 4 // sequences that share the loads of R

typedef struct group { // of gates, computed together
  unsigned first_gate, gates;
  int64_t first_panel, panels;
} group;

typedef struct rnn {
  const fe_rnn *n;
  const fe_rnn_operands *o;
  fe_lower *l;
  fe_kernel k;
  fe_dtype t;
  int64_t lanes, vectors, width;
  group groups[2];
  unsigned n_groups;
  int64_t row;      // elements of `pre` per sequence
  bool reset_first; // GRU: the reset state goes into the second product
  // memrefs in the kernel; null: absent
  MlirValue gates, panels, bias, lengths, h0, c0, peep; // inputs
  MlirValue pre, h, c, y;                               // outputs
  MlirValue time, batch;
  // of the direction and sequence at hand
  unsigned d;
  MlirValue b, step, at; // at: the time step in X and Y
} rnn;

static MlirValue idx(rnn *r, int64_t v) { return fe_index(r->l->ir, v); }

//===-- Panels of R ---------------------------------------------------------//

static void plan(rnn *r) {
  const fe_rnn *n = r->n;
  unsigned bits = fe_dtype_bits(r->t);
  r->lanes = r->l->target->vector_bits / bits;
  bool two = n->cell == FE_GRU;
  r->groups[0] = (group){.gates = two ? 2 : n->gates};
  r->groups[1] = (group){.first_gate = 2, .gates = 1};
  r->n_groups = two ? 2 : 1;
  int64_t rows = r->groups[0].gates * n->hidden;
  r->vectors = (rows + r->lanes - 1) / r->lanes;
  r->vectors = r->vectors > PANEL_VECTORS ? PANEL_VECTORS : r->vectors;
  r->width = r->vectors * r->lanes;
  int64_t panels = 0;
  for (unsigned i = 0; i < r->n_groups; ++i) {
    group *g = &r->groups[i];
    g->first_panel = panels;
    g->panels = (g->gates * n->hidden + r->width - 1) / r->width;
    panels += g->panels;
  }
  r->reset_first = two && !n->linear_before_reset;
  r->row = panels * r->width + (r->reset_first ? n->hidden : 0);
}

static int64_t n_panels(const rnn *r) {
  const group *last = &r->groups[r->n_groups - 1];
  return last->first_panel + last->panels;
}

/// Row of R that column j of panel p is; -1: padding.
static int64_t row_of(const rnn *r, int64_t p, int64_t j) {
  const group *g = &r->groups[0];
  if (r->n_groups > 1 && p >= r->groups[1].first_panel)
    g = &r->groups[1];
  int64_t i = (p - g->first_panel) * r->width + j;
  return i < g->gates * r->n->hidden ? g->first_gate * r->n->hidden + i : -1;
}

/// [D][panels][H][width] of constant R.
static MlirValue constant_panels(rnn *r, const char *data) {
  fe_ir *ir = r->l->ir;
  const fe_rnn *n = r->n;
  size_t elem = fe_dtype_bits(r->t) / 8, h = (size_t)n->hidden;
  int64_t dims[4] = {n->directions, n_panels(r), n->hidden, r->width};
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

/// The same of R computed at run time. Padding repeats the last row.
static MlirValue computed_panels(rnn *r, MlirValue weights) {
  fe_lower *l = r->l;
  fe_ir *ir = l->ir;
  const fe_rnn *n = r->n;
  MlirValue sizes[4] = {idx(r, n->directions), idx(r, n_panels(r)),
                        idx(r, n->hidden), idx(r, r->width)};
  fe_generic *g = fe_generic_begin(l, 4, sizes, 0, NULL, NULL, NULL);
  MlirValue p = fe_iter(g, 1), width = idx(r, r->width);
  MlirValue row = fe_add(ir, fe_mul(ir, p, width), fe_iter(g, 3));
  row = fe_min(ir, row, idx(r, r->groups[0].gates * n->hidden - 1));
  if (r->n_groups > 1) {
    int64_t first = r->groups[1].first_panel;
    MlirValue q = fe_sub(ir, p, idx(r, first));
    MlirValue other = fe_add(ir, fe_mul(ir, q, width), fe_iter(g, 3));
    other = fe_add(ir, other, idx(r, r->groups[1].first_gate * n->hidden));
    other = fe_min(ir, other, idx(r, n->gates * n->hidden - 1));
    row = fe_select(ir, fe_cmp(ir, FE_LT, p, idx(r, first)), row, other);
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
  int64_t rows = n->gates * n->hidden;
  MlirValue sizes[2] = {idx(r, n->directions), idx(r, rows)};
  fe_generic *g = fe_generic_begin(l, 2, sizes, 0, NULL, NULL, NULL);
  MlirValue d = fe_iter(g, 0), i = fe_iter(g, 1);
  MlirValue first[2] = {d, i}, second[2] = {d, fe_add(ir, i, idx(r, rows))};
  MlirValue w = fe_at(g, r->o->bias, r->t, 2, first);
  MlirValue v = fe_add(ir, w, fe_at(g, r->o->bias, r->t, 2, second));
  if (n->cell == FE_GRU && n->linear_before_reset) {
    MlirValue hidden = fe_cmp(ir, FE_GE, i, idx(r, 2 * n->hidden));
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
                        idx(r, n->gates * n->hidden)};
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

/// Column of `pre` where gate g begins.
static int64_t column_of(const rnn *r, unsigned g) {
  const group *in = &r->groups[0];
  if (r->n_groups > 1 && g >= r->groups[1].first_gate)
    in = &r->groups[1];
  return in->first_panel * r->width + (g - in->first_gate) * r->n->hidden;
}
static MlirValue pre_at(rnn *r, int64_t column, MlirValue j) {
  fe_ir *ir = r->l->ir;
  return fe_load(ir, r->pre,
                 FE_IDX(idx(r, r->d), r->b, fe_add(ir, j, idx(r, column))));
}
static void set_pre(rnn *r, MlirValue v, int64_t column, MlirValue j) {
  fe_ir *ir = r->l->ir;
  fe_store(ir, v, r->pre,
           FE_IDX(idx(r, r->d), r->b, fe_add(ir, j, idx(r, column))));
}
static MlirValue input_at(rnn *r, unsigned gate, MlirValue j) {
  fe_ir *ir = r->l->ir;
  MlirValue row = r->n->batch_first
                      ? fe_add(ir, fe_mul(ir, r->b, r->time), r->at)
                      : fe_add(ir, fe_mul(ir, r->at, r->batch), r->b);
  MlirValue column = fe_add(ir, j, idx(r, gate * r->n->hidden));
  return fe_load(ir, r->gates, FE_IDX(idx(r, r->d), row, column));
}
static MlirValue peephole(rnn *r, MlirValue v, unsigned which, MlirValue c,
                          MlirValue j) {
  fe_ir *ir = r->l->ir;
  if (fe_is_null(r->peep))
    return v;
  MlirValue column = fe_add(ir, j, idx(r, which * r->n->hidden));
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

/// `rows` sequences from r->b on, vectors [first, first + n) of a panel:
/// `pre` = state (or the reset state) * R.
static void tile(rnn *r, MlirValue panel, bool from_reset, unsigned rows,
                 unsigned first, unsigned n) {
  fe_ir *ir = r->l->ir;
  MlirType vec = fe_vector_type(ir, r->lanes, fe_storage_type(ir, r->t));
  MlirValue acc[TILE_ROWS * PANEL_VECTORS], next[TILE_ROWS * PANEL_VECTORS];
  MlirValue d = idx(r, r->d), base = r->b, w[PANEL_VECTORS];
  for (unsigned i = 0; i < rows * n; ++i)
    acc[i] = fe_float(ir, vec, 0);
  fe_region k = fe_for_begin(ir, idx(r, 0), idx(r, r->n->hidden), idx(r, 1),
                             rows * n, acc);
  for (unsigned v = 0; v < n; ++v) {
    MlirValue at = idx(r, (first + v) * r->lanes);
    w[v] = fe_vload(ir, r->lanes, r->panels, FE_IDX(d, panel, k.iv, at));
  }
  for (unsigned i = 0; i < rows; ++i) {
    r->b = fe_add(ir, base, idx(r, i));
    MlirValue h = from_reset ? pre_at(r, n_panels(r) * r->width, k.iv)
                             : load_state(r, r->h, k.iv);
    MlirValue wide = fe_splat(ir, h, r->lanes);
    for (unsigned v = 0; v < n; ++v) {
      MlirValue sum = fe_block_arg(k.body, 1 + i * n + v);
      next[i * n + v] = r->l->target->fma
                            ? fe_fma(ir, wide, w[v], sum)
                            : fe_add(ir, fe_mul(ir, wide, w[v]), sum);
    }
  }
  fe_for_end(ir, &k, rows * n, next);
  MlirValue column = fe_mul(ir, panel, idx(r, r->width));
  for (unsigned i = 0; i < rows * n; ++i) {
    MlirValue at = fe_add(ir, column, idx(r, (first + i % n) * r->lanes));
    MlirValue b = fe_add(ir, base, idx(r, i / n));
    fe_vstore(ir, fe_result(k.op, i), r->pre, FE_IDX(d, b, at));
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

/// A panel for all sequences of the part; what those that have ended get is
/// not used. Several at once share the loads of R.
static void panel_product(rnn *r, span s, MlirValue panel, bool from_reset) {
  fe_ir *ir = r->l->ir;
  unsigned n = (unsigned)r->vectors;
  unsigned wide = r->l->target->vector_registers >= 32 ? 4 : 2;
  MlirValue rest = s.first;
  int64_t batch = fe_static_dim(r->pre, 1);
  if (batch == FE_DYN || batch >= TILE_ROWS) {
    MlirValue rows = idx(r, TILE_ROWS), count = fe_sub(ir, s.last, s.first);
    count = fe_max(ir, count, idx(r, 0));
    rest = fe_sub(ir, s.last, fe_remu(ir, count, rows));
    fe_region b = fe_for_begin(ir, s.first, rest, rows, 0, NULL);
    r->b = b.iv;
    for (unsigned v = 0; v < n; v += wide)
      tile(r, panel, from_reset, TILE_ROWS, v, n - v < wide ? n - v : wide);
    fe_loop_end(ir, &b);
  }
  fe_region b = fe_for_begin(ir, rest, s.last, idx(r, 1), 0, NULL);
  r->b = b.iv;
  tile(r, panel, from_reset, 1, 0, n);
  fe_loop_end(ir, &b);
}

static void product(rnn *r, span s, const group *g, bool from_reset) {
  fe_ir *ir = r->l->ir;
  fe_region p =
      fe_for_begin(ir, idx(r, g->first_panel),
                   idx(r, g->first_panel + g->panels), idx(r, 1), 0, NULL);
  panel_product(r, s, p.iv, from_reset);
  fe_loop_end(ir, &p);
}

//===-- Cells ---------------------------------------------------------------//

static MlirValue gate(rnn *r, unsigned g, MlirValue j) {
  return fe_add(r->l->ir, pre_at(r, column_of(r, g), j), input_at(r, g, j));
}

static void simple_cell(rnn *r, MlirValue j) {
  MlirValue h = activate(r, 0, gate(r, 0, j));
  store_state(r, h, r->h, j);
  store_y(r, h, j);
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
  store_state(r, h, r->h, j);
  store_y(r, h, j);
}

/// GRU, first half: the update gate, and the reset gate or the reset state.
static void gru_gates(rnn *r, MlirValue j) {
  MlirValue z = activate(r, 0, gate(r, 0, j));
  MlirValue reset = activate(r, 0, gate(r, 1, j));
  set_pre(r, z, column_of(r, 0), j);
  if (r->reset_first)
    set_pre(r, fe_mul(r->l->ir, reset, load_state(r, r->h, j)),
            n_panels(r) * r->width, j);
  else
    set_pre(r, reset, column_of(r, 1), j);
}

static void gru_cell(rnn *r, MlirValue j) {
  fe_ir *ir = r->l->ir;
  MlirValue z = pre_at(r, column_of(r, 0), j), v;
  if (r->reset_first) {
    v = gate(r, 2, j);
  } else {
    MlirValue rest = pre_at(r, column_of(r, 2), j);
    if (!fe_is_null(r->bias)) {
      MlirValue at = fe_add(ir, j, idx(r, 5 * r->n->hidden));
      rest = fe_add(ir, rest, fe_load(ir, r->bias, FE_IDX(idx(r, r->d), at)));
    }
    MlirValue reset = pre_at(r, column_of(r, 1), j);
    v = fe_add(ir, fe_mul(ir, reset, rest), input_at(r, 2, j));
  }
  v = activate(r, 1, v);
  MlirValue h = load_state(r, r->h, j);
  // (1 - z) * v + z * h
  h = fe_add(ir, v, fe_mul(ir, z, fe_sub(ir, h, v)));
  store_state(r, h, r->h, j);
  store_y(r, h, j);
}

static void elements(rnn *r, void (*cell)(rnn *r, MlirValue j)) {
  fe_region j = fe_loop(r->l->ir, idx(r, r->n->hidden));
  cell(r, j.iv);
  fe_loop_end(r->l->ir, &j);
}

/// The last pass of a step; sequences that have ended give zeros.
static void finish(rnn *r, span s) {
  static void (*const cells[])(rnn *, MlirValue) = {simple_cell, gru_cell,
                                                    lstm_cell};
  fe_ir *ir = r->l->ir;
  bool zeros = !fe_is_null(r->y);
  sequences q = each_sequence(r, s, zeros);
  elements(r, cells[r->n->cell]);
  if (q.guarded && zeros) {
    fe_if_else(ir, &q.alive, 0, NULL);
    r->at = r->step;
    fe_region j = fe_loop(ir, idx(r, r->n->hidden));
    store_y(r, fe_float(ir, fe_storage_type(ir, r->t), 0), j.iv);
    fe_loop_end(ir, &j);
  }
  end_sequence(r, &q);
}

static void one_step(rnn *r, span s) {
  product(r, s, &r->groups[0], false);
  if (r->n_groups > 1) {
    if (!r->reset_first)
      product(r, s, &r->groups[1], false);
    sequences q = each_sequence(r, s, false);
    elements(r, gru_gates);
    end_sequence(r, &q);
    if (r->reset_first)
      product(r, s, &r->groups[1], true);
  }
  finish(r, s);
}

//===-- The kernel ----------------------------------------------------------//

static void start_states(rnn *r, span s) {
  fe_ir *ir = r->l->ir;
  MlirValue zero = fe_float(ir, fe_storage_type(ir, r->t), 0);
  fe_region b = fe_for_begin(ir, s.first, s.last, idx(r, 1), 0, NULL);
  r->b = b.iv;
  fe_region j = fe_loop(ir, idx(r, r->n->hidden));
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
  MlirValue D = idx(&r, n->directions), H = idx(&r, n->hidden);
  MlirValue gates = input_part(&r);
  MlirValue panels =
      o->r_data ? constant_panels(&r, o->r_data) : computed_panels(&r, o->r);
  MlirValue y_sizes[4] = {T, D, B, H}, s_sizes[3] = {D, B, H};
  if (n->batch_first) {
    y_sizes[0] = s_sizes[0] = B;
    y_sizes[1] = T;
    y_sizes[2] = s_sizes[1] = D;
  }
  MlirValue pre_sizes[3] = {D, B, idx(&r, r.row)};
  MlirValue in[8], outs[4], *in_at[8], *out_at[4], none = {0};
  unsigned n_in = 0, n_out = 0;
  argument(gates, &r.gates, in, in_at, &n_in);
  argument(panels, &r.panels, in, in_at, &n_in);
  argument(n->linear_before_reset ? o->bias : none, &r.bias, in, in_at, &n_in);
  argument(o->lengths, &r.lengths, in, in_at, &n_in);
  argument(o->h, &r.h0, in, in_at, &n_in);
  argument(o->c, &r.c0, in, in_at, &n_in);
  argument(o->p, &r.peep, in, in_at, &n_in);
  argument(fe_tensor_empty(l, r.t, 3, pre_sizes), &r.pre, outs, out_at, &n_out);
  argument(fe_tensor_empty(l, r.t, 3, s_sizes), &r.h, outs, out_at, &n_out);
  if (n->cell == FE_LSTM)
    argument(fe_tensor_empty(l, r.t, 3, s_sizes), &r.c, outs, out_at, &n_out);
  if (o->wants_y)
    argument(fe_tensor_empty(l, r.t, 4, y_sizes), &r.y, outs, out_at, &n_out);
  fe_kernel_begin(&r.k, l, "recurrence", n_in, in, n_out, outs, 1, &T);
  for (unsigned i = 0; i < n_in; ++i)
    *in_at[i] = r.k.in[i];
  for (unsigned i = 0; i < n_out; ++i)
    *out_at[i] = r.k.out[i];
  r.time = r.k.scalar[0];
  r.batch = fe_dim(ir, r.pre, 1);
  for (unsigned d = 0; d < n->directions; ++d)
    direction(&r, d);
  MlirAffineExpr items =
      fe_dim_mul(fe_kernel_dim(&r.k, n_in, 1), fe_dim_const(ir, n->directions));
  MlirAffineExpr work = fe_dim_const(ir, r.row * n->hidden);
  fe_kernel_end(&r.k, items, fe_dim_mul(fe_kernel_scalar(&r.k, 0), work));
  MlirValue *result = r.k.result;
  out[0] = o->wants_y ? result[n_out - 1] : none;
  out[1] = result[1];
  out[2] = n->cell == FE_LSTM ? result[2] : none;
}
