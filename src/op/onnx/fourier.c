//===- fourier.c - DFT, STFT -------------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fast transforms of the runtime (runtime/fourier.c); all combinations of
// inverse and onesided, real and complex input. Tables of a length that is
// known are constants, else the run makes them. Frames of STFT are cut out and
// weighted by a generic first.
//
//===----------------------------------------------------------------------===//
#include "../../../runtime/fourier.h"
#include "op/common.h"
#include "op/sliding.h"

#include <inttypes.h>

// The tables are made for single lines.
#define FE_INLINE static inline
#define FE_APART
#define FE_PASTE(a, b) a##b
#define REAL float
#define VALUE float
#define FE_NAME(x) FE_PASTE(f32_, x)
#include "../../../runtime/fourier_passes.h"
#include "../../../runtime/fourier_tables.h"
#undef FE_NAME
#undef VALUE
#undef REAL
#define REAL double
#define VALUE double
#define FE_NAME(x) FE_PASTE(f64_, x)
#include "../../../runtime/fourier_passes.h"
#include "../../../runtime/fourier_tables.h"
#undef FE_NAME
#undef VALUE
#undef REAL

typedef struct transform {
  bool inverse, onesided, is_complex; // of the input
  fe_dtype type;
  MlirValue length; // index in main
} transform;

/// Tables of longer lines are made by the run: no model should be that large.
enum { LONGEST_TABLE = 1 << 22 };

/// The tables of a known length as a constant.
static MlirValue constant_tables(fe_lower *l, const fe_fft *fft, fe_dtype t) {
  fe_ir *ir = l->ir;
  size_t size = t == FE_F64 ? sizeof(double) : sizeof(float);
  int64_t n = fe_fft_tables_size(fft);
  const char *name = fe_printf(ir->arena, "dft.%d.%" PRId64, (int)size, fft->n);
  const fe_blob *blob = fe_blob_find(ir->blobs, name);
  if (!blob) {
    void *tables = fe_alloc(ir->arena, (size_t)n * size);
    void *room = fe_alloc(ir->arena, (size_t)fe_fft_fill_room(fft) * size + 1);
    if (t == FE_F64)
      f64_fill_tables(fft, tables, room);
    else
      f32_fill_tables(fft, tables, room);
    blob = fe_blob_add(ir->blobs, name, tables, (size_t)n * size, NULL, 0);
  }
  MlirType type = fe_tensor_plain(ir, t == FE_F64 ? ir->f64 : ir->f32, 1, &n);
  return fe_first(FE_OP(ir, "krnl.weight", FE_TYPES(type),
                        FE_ATTRS(fe_at_str(ir, "blob", blob->name))));
}

static const char *part_of(fe_lower *l, fe_dtype t, const char *function) {
  return fe_printf(l->ir->arena, "fourier%d_%s", t == FE_F64 ? 64 : 32,
                   function);
}

/// The tables, and how much room a run of so many lines takes.
static MlirValue tables_of(fe_lower *l, const transform *f, fe_dtype t,
                           MlirValue lines, MlirValue *room) {
  static const char *const messages[] = {"the length is not positive",
                                         "the length is too large"};
  fe_ir *ir = l->ir;
  int64_t length, bytes = t == FE_F64 ? sizeof(double) : sizeof(float);
  int64_t n_lines = FE_FFT_MAX;
  if (fe_size_known(f->length, &length) && length >= 1 &&
      length <= FE_FFT_MAX) {
    fe_fft fft = fe_fft_of(length);
    fe_size_known(lines, &n_lines);
    if (fe_fft_tables_size(&fft) <= LONGEST_TABLE) {
      *room = fe_index(ir, fe_fft_room(&fft, n_lines, bytes));
      return constant_tables(l, &fft, t);
    }
  }
  MlirValue numbers[2] = {f->length, lines}, sizes[3];
  fe_runtime ask = {.name = part_of(l, t, "sizes"),
                    .n_numbers = 2,
                    .numbers = numbers,
                    .n_results = 3,
                    .n_messages = FE_COUNT(messages),
                    .messages = messages};
  fe_runtime_call(l, &ask, NULL, sizes);
  MlirValue out[2] = {fe_tensor_empty(l, t, 1, &sizes[0]),
                      fe_tensor_empty(l, t, 1, &sizes[1])};
  MlirValue made[2];
  fe_runtime fill = {.name = part_of(l, t, "tables"),
                     .n_out = 2,
                     .out = out,
                     .n_numbers = 1,
                     .numbers = numbers};
  fe_runtime_call(l, &fill, made, NULL);
  *room = sizes[2];
  return made[0];
}

/// x: [outer][n][inner][1 or 2] to `sizes` [outer][n'][inner][1 or 2].
/// Elements beyond the length are cut off, missing ones are zeros. A onesided
/// spectrum has the frequencies up to the half.
static MlirValue transformed(fe_lower *l, const transform *f, MlirValue x,
                             const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  // Forward in f64, as the standard's evaluator does: frequencies that a signal
  // does not have are differences of large sums. Back in the type's own sums.
  fe_dtype work = f->inverse ? fe_work_type(f->type) : FE_F64;
  MlirValue room, lines = fe_mul(ir, sizes[0], sizes[2]);
  MlirValue tables = tables_of(l, f, work, lines, &room);
  MlirValue in[2] = {f->type == work ? x : fe_to_type(l, x, f->type, work),
                     tables};
  MlirValue out[2] = {fe_tensor_empty(l, work, 4, sizes),
                      fe_tensor_empty(l, work, 1, &room)};
  MlirValue numbers[3] = {f->length, fe_index(ir, f->inverse),
                          fe_index(ir, f->inverse && f->onesided)};
  MlirValue result[2];
  fe_runtime run = {.name = part_of(l, work, "run"),
                    .n_in = 2,
                    .n_out = 2,
                    .in = in,
                    .out = out,
                    .n_numbers = 3,
                    .numbers = numbers};
  fe_runtime_call(l, &run, result, NULL);
  return f->type == work ? result[0] : fe_to_type(l, result[0], work, f->type);
}

/// A size that a scalar operand gives, as far as it is known.
static MlirAffineExpr known_size(fe_infer *f, unsigned operand) {
  fe_contents c;
  bool known = fe_contents_of(f->ir, f->in[operand], &c) && c.n == 1;
  return known ? c.at[0] : (MlirAffineExpr){0};
}

static bool has(unsigned n_in, const MlirValue *in, unsigned i) {
  return i < n_in && !fe_is_null(in[i]);
}

/// n / 2 + 1
static MlirAffineExpr half_of(fe_ir *ir, MlirAffineExpr n) {
  return fe_dim_add(fe_dim_floordiv(n, fe_dim_const(ir, 2)),
                    fe_dim_const(ir, 1));
}

static fe_status check_parts(fe_infer *f, const fe_dims *x) {
  if (x->rank < 2 || !(fe_dim_may_be(x->d[x->rank - 1], 1) ||
                       fe_dim_may_be(x->d[x->rank - 1], 2)))
    return fe_infer_error(f, NULL,
                          "the last dimension must be 1 (real) or 2 (complex)");
  return FE_OK;
}

/// The signal, of parts that are known: where only the run knows how many there
/// are, complex, with zeros for the second one.
static MlirValue known_parts(fe_lower *l, bool *is_complex) {
  fe_ir *ir = l->ir;
  MlirValue x = l->in[0];
  unsigned rank = fe_rank(x);
  int64_t parts = fe_static_dim(x, rank - 1);
  *is_complex = parts != 1;
  if (parts != FE_DYN)
    return x;
  MlirValue sizes[FE_MAX_RANK], at[FE_MAX_RANK];
  MlirValue one = fe_index(ir, 1), two = fe_index(ir, 2);
  fe_sizes_of(l, x, sizes);
  MlirValue given = sizes[rank - 1];
  fe_check(
      l,
      fe_or(ir, fe_cmp(ir, FE_EQ, given, one), fe_cmp(ir, FE_EQ, given, two)),
      "the last dimension must be 1 (real) or 2 (complex)");
  sizes[rank - 1] = two;
  fe_generic *g = fe_generic_begin(l, rank, sizes, 0, NULL, NULL, NULL);
  for (unsigned i = 0; i < rank; ++i)
    at[i] = fe_iter(g, i);
  MlirValue there = fe_cmp(ir, FE_LT, at[rank - 1], given);
  at[rank - 1] = fe_select(ir, there, at[rank - 1], fe_index(ir, 0));
  MlirValue v = fe_at(g, x, l->in_type[0], rank, at);
  MlirValue none = fe_float(ir, fe_compute_type(ir, l->in_type[0]), 0);
  return fe_generic_end(g, l->in_type[0], fe_select(ir, there, v, none));
}

//===-- DFT -----------------------------------------------------------------//

static fe_status upgrade_dft(fe_node *n) {
  if (n->opset >= 20)
    return FE_OK;
  if (!fe_node_attr_find(n, "axis"))
    fe_node_set_int(n, "axis", 1);
  fe_node_attr_to_input(n, "axis", 2, FE_I64);
  return FE_OK;
}

/// The axis as a number, -1 when only run time knows; false when it is wrong.
static bool axis_of(fe_ir *ir, MlirValue operand, unsigned rank, int *out) {
  int64_t axis = -2;
  *out = -1;
  if (!fe_is_null(operand) && fe_const_ints(ir, operand, &axis, 1) != 1)
    return true;
  axis = axis < 0 ? axis + rank : axis;
  *out = (int)axis;
  return axis >= 0 && axis < (int64_t)rank - 1;
}

static fe_status infer_dft(fe_infer *f) {
  fe_ir *ir = f->ir;
  fe_dims x;
  int axis;
  if (fe_in_dims(f, 0, &x) || check_parts(f, &x))
    return FE_FAILED;
  if (!axis_of(ir, has(f->n_in, f->in, 2) ? f->in[2] : (MlirValue){0}, x.rank,
               &axis))
    return fe_infer_error(f, NULL, "the axis is none of the signal's");
  bool inverse = fe_attr_i64(f->attrs, "inverse", 0) != 0;
  bool onesided = fe_attr_i64(f->attrs, "onesided", 0) != 0;
  bool given = has(f->n_in, f->in, 1);
  MlirAffineExpr length = {0};
  if (given)
    length = known_size(f, 1);
  else if (axis >= 0 && inverse && onesided)
    length = fe_dim_mul(fe_dim_add(x.d[axis], fe_dim_const(ir, -1)),
                        fe_dim_const(ir, 2));
  else if (axis >= 0)
    length = x.d[axis];
  if (mlirAffineExprIsNull(length))
    length = fe_fresh_dim(f);
  if (fe_dim_static(length) <= 0 && fe_dim_static(length) != FE_DYN)
    return fe_infer_error(f, NULL, "the length is not positive");
  if (axis >= 0)
    x.d[axis] = onesided && !inverse ? half_of(ir, length) : length;
  else if (given || onesided) // some dim changes
    for (unsigned i = 0; i + 1 < x.rank; ++i)
      x.d[i] = fe_fresh_dim(f);
  x.d[x.rank - 1] = fe_dim_const(ir, onesided && inverse ? 1 : 2);
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &x);
  return FE_OK;
}

/// A dim of the signal in main, relative to the axis.
typedef struct place {
  int known;      // axis; -1: `axis` is
  MlirValue axis; // index value
} place;

/// `yes` when dim i is the axis (or before it, behind it: -1, 1), else `no`.
static MlirValue choose(fe_ir *ir, const place *p, int side, unsigned i,
                        MlirValue yes, MlirValue no) {
  if (p->known >= 0) {
    int at = (int)i < p->known ? -1 : (int)i > p->known;
    return at == side ? yes : no;
  }
  fe_cmp_kind kind = side < 0 ? FE_LT : side ? FE_GT : FE_EQ;
  return fe_select(ir, fe_cmp(ir, kind, fe_index(ir, i), p->axis), yes, no);
}

/// Product of the dims but the last on one side of the axis, or the axis' own.
static MlirValue product_at(fe_ir *ir, const place *p, int side,
                            const MlirValue *sizes, unsigned n) {
  MlirValue one = fe_index(ir, 1), v = one;
  for (unsigned i = 0; i < n; ++i) {
    MlirValue size = choose(ir, p, side, i, sizes[i], one);
    v = fe_same(size, one) ? v : fe_same(v, one) ? size : fe_mul(ir, v, size);
  }
  return v;
}

static fe_status lower_dft(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]), n = rank - 1;
  MlirValue operand = fe_operand(l->op, 2), one = fe_index(ir, 1);
  bool has_axis = has(l->n_in, l->in, 2);
  place p = {0};
  if (!axis_of(ir, has_axis ? operand : (MlirValue){0}, rank, &p.known))
    return fe_lower_error(l, NULL, "the axis is none of the signal's");
  if (p.known < 0) {
    MlirValue given = fe_read_index(l, l->in[2], 0), zero = fe_index(ir, 0);
    p.axis = fe_select(ir, fe_cmp(ir, FE_LT, given, zero),
                       fe_add(ir, given, fe_index(ir, rank)), given);
    fe_check(l,
             fe_and(ir, fe_cmp(ir, FE_GE, p.axis, zero),
                    fe_cmp(ir, FE_LT, p.axis, fe_index(ir, n))),
             "the axis is none of the signal's");
  }
  transform f = {.inverse = fe_attr_i64(l->op, "inverse", 0) != 0,
                 .onesided = fe_attr_i64(l->op, "onesided", 0) != 0,
                 .type = l->in_type[0]};
  MlirValue signal = known_parts(l, &f.is_complex);
  MlirType elem = fe_out_elem(l, 0);
  MlirValue x[FE_MAX_RANK], sizes[FE_MAX_RANK] = {{0}}, two = fe_index(ir, 2);
  fe_sizes_of(l, l->in[0], x);
  x[n] = fe_index(ir, f.is_complex ? 2 : 1);
  fe_out_sizes(l, 0, sizes);
  MlirValue extent = product_at(ir, &p, 0, x, n);
  bool half = f.onesided && !f.inverse;
  int64_t known;
  if (!half && p.known >= 0 && !fe_is_null(sizes[p.known]))
    f.length = sizes[p.known];
  else if (has(l->n_in, l->in, 1))
    f.length = fe_read_index(l, l->in[1], 0);
  else
    f.length = f.inverse && f.onesided
                   ? fe_mul(ir, fe_sub(ir, extent, one), two)
                   : extent;
  if (!fe_size_known(f.length, &known))
    fe_check(l, fe_cmp(ir, FE_GE, f.length, one), "the length is not positive");
  MlirValue result =
      half ? fe_add(ir, fe_divu(ir, f.length, two), one) : f.length;
  for (unsigned i = 0; i < n; ++i)
    if (fe_is_null(sizes[i]))
      sizes[i] = choose(ir, &p, 0, i, result, x[i]);
  if (p.known >= 0)
    result = sizes[p.known];
  MlirValue outer = product_at(ir, &p, -1, x, n);
  MlirValue inner = product_at(ir, &p, 1, x, n);
  MlirValue from[4] = {outer, extent, inner, x[n]};
  MlirValue to[4] = {outer, result, inner, sizes[n]};
  MlirValue v = transformed(l, &f, fe_reshape(l, signal, elem, 4, from), to);
  l->out[0] = fe_reshape(l, v, elem, rank, sizes);
  return FE_OK;
}

//===-- STFT ----------------------------------------------------------------//

/// Frame length: the operand, or the window's, or the whole signal.
static fe_status infer_stft(fe_infer *f) {
  fe_ir *ir = f->ir;
  fe_dims x, window;
  if (fe_in_dims(f, 0, &x))
    return FE_FAILED;
  if (x.rank == 2)
    x.d[x.rank++] = fe_dim_const(ir, 1);
  if (check_parts(f, &x))
    return FE_FAILED;
  if (x.rank != 3)
    return fe_infer_error(f, NULL, "the signal must have rank 3");
  MlirAffineExpr length = x.d[1], step = known_size(f, 1);
  if (has(f->n_in, f->in, 2)) {
    if (fe_in_dims(f, 2, &window))
      return FE_FAILED;
    if (window.rank != 1)
      return fe_infer_error(f, NULL, "the window must have rank 1");
    length = window.d[0];
  }
  if (has(f->n_in, f->in, 3))
    length = known_size(f, 3);
  if (mlirAffineExprIsNull(length))
    length = fe_fresh_dim(f);
  int64_t n = fe_dim_static(length), m = fe_dim_static(x.d[1]);
  int64_t by = mlirAffineExprIsNull(step) ? FE_DYN : fe_dim_static(step);
  if ((n < 1 && n != FE_DYN) || (by < 1 && by != FE_DYN))
    return fe_infer_error(f, NULL,
                          "frame_step and frame_length must be "
                          "positive");
  bool known = n != FE_DYN && m != FE_DYN && by != FE_DYN;
  fe_dims out = {.rank = 4};
  out.d[0] = x.d[0];
  out.d[1] =
      known ? fe_dim_const(ir, m < n ? 0 : (m - n) / by + 1) : fe_fresh_dim(f);
  out.d[2] =
      fe_attr_i64(f->attrs, "onesided", 1) ? half_of(ir, length) : length;
  out.d[3] = fe_dim_const(ir, 2);
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &out);
  return FE_OK;
}

static fe_status lower_stft(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  bool windowed = has(l->n_in, l->in, 2);
  transform f = {.onesided = fe_attr_i64(l->op, "onesided", 1) != 0,
                 .type = l->in_type[0]};
  MlirValue samples = rank == 3 ? known_parts(l, &f.is_complex) : l->in[0];
  fe_dtype t = f.type;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue batch = fe_size(l, l->in[0], 0), signal = fe_size(l, l->in[0], 1);
  MlirValue step = fe_read_index(l, l->in[1], 0);
  MlirValue width = windowed ? fe_size(l, l->in[2], 0) : (MlirValue){0};
  f.length = has(l->n_in, l->in, 3) ? fe_read_index(l, l->in[3], 0)
             : windowed             ? width
                                    : signal;
  fe_check(l,
           fe_and(ir, fe_cmp(ir, FE_GE, step, one),
                  fe_cmp(ir, FE_GE, f.length, one)),
           "frame_step and frame_length must be positive");
  if (windowed)
    fe_check(l, fe_cmp(ir, FE_GE, width, one), "the window is empty");
  MlirValue sizes[4] = {{0}};
  fe_out_sizes(l, 0, sizes);
  if (fe_is_null(sizes[1])) {
    MlirValue room = fe_sub(ir, signal, f.length);
    MlirValue frames = fe_add(
        ir, fe_divu(ir, fe_max(ir, room, zero), fe_max(ir, step, one)), one);
    sizes[1] = fe_select(ir, fe_cmp(ir, FE_LT, room, zero), zero, frames);
  }
  if (fe_is_null(sizes[2]))
    sizes[2] = f.onesided
                   ? fe_add(ir, fe_divu(ir, f.length, fe_index(ir, 2)), one)
                   : f.length;
  sizes[3] = fe_index(ir, 2);
  MlirValue space[4] = {batch, sizes[1], f.length,
                        fe_index(ir, f.is_complex ? 2 : 1)};
  fe_generic *g = fe_generic_begin(l, 4, space, 0, NULL, NULL, NULL);
  MlirValue i = fe_iter(g, 2), at[3];
  at[0] = fe_iter(g, 0);
  at[1] = fe_add(ir, fe_mul(ir, fe_iter(g, 1), step), i);
  at[1] = fe_min(ir, at[1], fe_sub(ir, signal, one));
  at[2] = fe_iter(g, 3);
  MlirValue v = fe_at(g, samples, t, rank, at);
  if (windowed) {
    MlirValue none = fe_float(ir, fe_compute_type(ir, t), 0);
    MlirValue inside = fe_cmp(ir, FE_LT, i, width);
    MlirValue place = fe_max(ir, fe_min(ir, i, fe_sub(ir, width, one)), zero);
    MlirValue w = fe_at(g, l->in[2], l->in_type[2], 1, &place);
    v = fe_select(ir, inside, fe_mul(ir, v, w), none);
  }
  MlirValue frames = fe_generic_end(g, t, v);
  MlirType elem = fe_out_elem(l, 0);
  MlirValue count = fe_mul(ir, batch, sizes[1]);
  MlirValue from[4] = {count, f.length, one, space[3]};
  MlirValue to[4] = {count, sizes[2], one, sizes[3]};
  v = transformed(l, &f, fe_reshape(l, frames, elem, 4, from), to);
  l->out[0] = fe_reshape(l, v, elem, 4, sizes);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def dft_attrs[] = {
    {"inverse", FE_A_INT, "0"}, {"onesided", FE_A_INT, "0"}, {0}};
static const fe_attr_def stft_attrs[] = {{"onesided", FE_A_INT, "1"}, {0}};

const fe_op_row fe_family_fourier[] = {
    {.name = "DFT",
     .since = 17,
     .inputs = "input:T1, dft_length?:T2, axis?:T3",
     .outputs = "output:T1",
     .types = "T1=float;T2=i32,i64;T3=i64",
     .attrs = dft_attrs,
     .upgrade = upgrade_dft,
     .infer = infer_dft,
     .lower = lower_dft},
    {.name = "STFT",
     .since = 17,
     .inputs = "signal:T1, frame_step:T2, window?:T1, frame_length?:T2",
     .outputs = "output:T1",
     .types = "T1=float;T2=i32,i64",
     .attrs = stft_attrs,
     .infer = infer_stft,
     .lower = lower_stft},
    {0}};
