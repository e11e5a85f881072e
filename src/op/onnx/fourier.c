//===- fourier.c - DFT, STFT -------------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: a table of the roots of unity, computed once in double precision,
// and for every frequency the sum over the signal; the root's number is kept
// modulo the length, so the precision does not fall with it. Where the length
// is known and not large, the transform is a matrix product; a large power of
// two is done by Stockham's FFT. Frames of STFT are cut out and weighted by a
// generic first. All combinations of inverse and onesided, real and complex
// input.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/sliding.h"

#include <inttypes.h>
#include <math.h>

#define PI 3.14159265358979323846

static MlirValue as_f64(fe_ir *ir, MlirValue index) {
  return fe_convert(ir, fe_convert(ir, index, ir->i64, false, false), ir->f64,
                    false, false);
}

/// [n][2]: cos and sin of 2 pi i / n.
static MlirValue roots_of_unity(fe_lower *l, fe_dtype t, MlirValue n) {
  fe_ir *ir = l->ir;
  MlirType f64 = ir->f64, type = fe_compute_type(ir, t);
  MlirValue sizes[2] = {n, fe_index(ir, 2)};
  fe_generic *g = fe_generic_begin(l, 2, sizes, 0, NULL, NULL, NULL);
  MlirValue x =
      fe_mul(ir, as_f64(ir, fe_iter(g, 0)), fe_float(ir, f64, 2 * PI));
  x = fe_div(ir, x, as_f64(ir, n));
  MlirValue is_cos = fe_cmp(ir, FE_EQ, fe_iter(g, 1), fe_index(ir, 0));
  MlirValue v =
      fe_select(ir, is_cos, fe_math(ir, "cos", x), fe_math(ir, "sin", x));
  return fe_generic_end(g, t, fe_convert(ir, v, type, false, false));
}

typedef struct transform {
  bool inverse, onesided, is_complex; // of the input
  fe_dtype type;
  MlirValue length; // index in main
} transform;

/// A transform of known length is a product with the matrix of its roots, as
/// long as that has at most so many elements.
enum { MATRIX = 1 << 20 };

/// [rows * parts of the input][columns * parts of the result].
static float *matrix_of(fe_lower *l, const transform *f, int64_t length,
                        int64_t rows, int64_t columns) {
  bool to_real = f->inverse && f->onesided;
  int64_t in = f->is_complex ? 2 : 1, out = to_real ? 1 : 2;
  int64_t used = to_real ? length / 2 + 1 : length;
  double scale = f->inverse ? 1.0 / (double)length : 1;
  float *m = fe_alloc(l->ir->arena,
                      (size_t)(rows * in * columns * out) * sizeof *m + 1);
  for (int64_t i = 0; i < rows && i < used; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double angle = 2 * PI * (double)(i * j % length) / (double)length;
      double weight = to_real && i && 2 * i != length ? 2 * scale : scale;
      double c = weight * cos(angle);
      double s = weight * (f->inverse ? sin(angle) : -sin(angle));
      float *re = m + i * in * columns * out + j * out;
      re[0] = (float)c;
      if (!to_real)
        re[1] = (float)s;
      if (!f->is_complex)
        continue;
      float *im = re + columns * out;
      im[0] = (float)-s;
      if (!to_real)
        im[1] = (float)c;
    }
  return m;
}

/// Null when the lengths are not known, or the matrix would be too large.
static MlirValue by_matrix(fe_lower *l, const transform *f, MlirValue x,
                           const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  int64_t length, columns, rows = fe_static_dim(x, 1);
  int64_t in = f->is_complex ? 2 : 1, out = f->inverse && f->onesided ? 1 : 2;
  if (f->type != FE_F32 || rows == FE_DYN || fe_static_dim(x, 2) != 1 ||
      !fe_size_known(f->length, &length) ||
      !fe_size_known(sizes[1], &columns) || rows < 1 || columns < 1 ||
      rows > MATRIX || columns > MATRIX || rows * in * columns * out > MATRIX)
    return (MlirValue){0};
  const char *name =
      fe_printf(ir->arena, "dft.%d%d%d.%" PRId64 ".%" PRId64 ".%" PRId64,
                f->inverse, f->onesided, f->is_complex, length, rows, columns);
  const fe_blob *blob = fe_blob_find(ir->blobs, name);
  if (!blob)
    blob = fe_blob_add(ir->blobs, name, matrix_of(l, f, length, rows, columns),
                       (size_t)(rows * in * columns * out) * sizeof(float),
                       NULL, 0);
  int64_t dims[2] = {rows * in, columns * out};
  MlirType type = fe_tensor_plain(ir, ir->f32, 2, dims);
  MlirValue m = fe_first(FE_OP(ir, "krnl.weight", FE_TYPES(type),
                               FE_ATTRS(fe_at_str(ir, "blob", blob->name))));
  MlirValue from[2] = {sizes[0], fe_index(ir, dims[0])};
  MlirValue to[2] = {sizes[0], fe_index(ir, dims[1])};
  MlirValue v = fe_reshape(l, x, ir->f32, 2, from);
  v = fe_lower_contract(l, v, false, m, false, FE_F32, 2, to);
  return fe_reshape(l, v, ir->f32, 4, sizes);
}

/// Reads a line of x into the scratch out[1] [line][re, im][..]: zero where
/// there is none, the conjugate of the mirrored element where a onesided
/// spectrum ends.
static void load_line(fe_kernel *k, const transform *f, int64_t length,
                      MlirValue line, const MlirValue *outer_inner) {
  fe_ir *ir = k->l->ir;
  fe_dtype t = f->type;
  MlirType type = fe_compute_type(ir, fe_work_type(t));
  bool mirrored = f->inverse && f->onesided;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue none = fe_float(ir, type, 0), rows = fe_dim(ir, k->in[0], 1);
  fe_region each = fe_loop(ir, fe_index(ir, length));
  MlirValue source = each.iv, flip = {0};
  if (mirrored) {
    MlirValue half = fe_index(ir, length / 2);
    flip = fe_cmp(ir, FE_GT, each.iv, half);
    source =
        fe_select(ir, flip, fe_sub(ir, fe_index(ir, length), each.iv), each.iv);
  }
  MlirType pair[2] = {type, type};
  fe_region here =
      fe_if_begin(ir, fe_cmp(ir, FE_LT, source, rows), 2, pair, true);
  MlirValue at[4] = {outer_inner[0], source, outer_inner[1], zero};
  MlirValue v[2] = {fe_get(k, k->in[0], t, 4, at), none};
  if (f->is_complex) {
    at[3] = one;
    v[1] = fe_get(k, k->in[0], t, 4, at);
  }
  if (mirrored) {
    MlirValue ends = fe_or(ir, fe_cmp(ir, FE_EQ, source, zero),
                           fe_cmp(ir, FE_EQ, source, fe_index(ir, length / 2)));
    v[1] =
        fe_select(ir, ends, none, fe_select(ir, flip, fe_neg(ir, v[1]), v[1]));
  }
  fe_if_else(ir, &here, 2, v);
  v[0] = v[1] = none;
  fe_if_end(ir, &here, 2, v);
  for (unsigned i = 0; i < 2; ++i) {
    MlirValue to[3] = {line, fe_index(ir, i), each.iv};
    fe_store(ir, fe_result(here.op, i), k->out[1], 3, to);
  }
  fe_loop_end(ir, &each);
}

/// One step of Stockham's algorithm: from runs of `s` to runs of 2 s.
static void fft_step(fe_kernel *k, const transform *f, int64_t length,
                     int64_t s, MlirValue from, MlirValue to, MlirValue line) {
  fe_ir *ir = k->l->ir;
  int64_t m = length / s / 2;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue run = fe_index(ir, s), far = fe_index(ir, m * s);
  fe_region p = fe_loop(ir, fe_index(ir, m));
  MlirValue first = fe_mul(ir, p.iv, run);
  MlirValue at_cos[2] = {first, zero}, at_sin[2] = {first, one};
  MlirValue c = fe_load(ir, k->in[1], 2, at_cos);
  MlirValue w = fe_load(ir, k->in[1], 2, at_sin);
  if (!f->inverse)
    w = fe_neg(ir, w);
  fe_region q = fe_loop(ir, run);
  MlirValue near = fe_add(ir, first, q.iv), v[2][2];
  MlirValue target = fe_add(ir, near, first);
  for (unsigned part = 0; part < 2; ++part) {
    MlirValue plane = part ? one : zero;
    MlirValue at_a[3] = {line, plane, near};
    MlirValue at_b[3] = {line, plane, fe_add(ir, near, far)};
    MlirValue a = fe_load(ir, from, 3, at_a), b = fe_load(ir, from, 3, at_b);
    v[0][part] = fe_add(ir, a, b);
    v[1][part] = fe_sub(ir, a, b);
  }
  MlirValue re = fe_sub(ir, fe_mul(ir, v[1][0], c), fe_mul(ir, v[1][1], w));
  MlirValue im = fe_add(ir, fe_mul(ir, v[1][0], w), fe_mul(ir, v[1][1], c));
  const MlirValue results[2][2] = {{v[0][0], v[0][1]}, {re, im}};
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned part = 0; part < 2; ++part) {
      MlirValue at[3] = {line, part ? one : zero,
                         half ? fe_add(ir, target, run) : target};
      fe_store(ir, results[half][part], to, 3, at);
    }
  fe_loop_end(ir, &q);
  fe_loop_end(ir, &p);
}

/// Null when the length is not known or no power of two.
static MlirValue by_fft(fe_lower *l, const transform *f, MlirValue x,
                        const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  int64_t length;
  if (!fe_size_known(f->length, &length) || length < 2 || length > INT32_MAX ||
      length & (length - 1))
    return (MlirValue){0};
  fe_dtype t = f->type, work = fe_work_type(t);
  MlirType type = fe_compute_type(ir, work);
  MlirValue in[2] = {x, roots_of_unity(l, work, f->length)};
  MlirValue planes[3] = {fe_mul(ir, sizes[0], sizes[2]), fe_index(ir, 2),
                         f->length};
  MlirValue out[3] = {fe_tensor_empty(l, t, 4, sizes),
                      fe_tensor_empty(l, work, 3, planes),
                      fe_tensor_empty(l, work, 3, planes)};
  fe_kernel k;
  fe_kernel_begin(&k, l, "fft", 2, in, 3, out, 0, NULL);
  MlirValue one = fe_index(ir, 1), at[2];
  MlirValue dims[2] = {fe_dim(ir, k.out[0], 0), fe_dim(ir, k.out[0], 2)};
  fe_region lines = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_unravel(ir, lines.iv, 2, dims, at);
  load_line(&k, f, length, lines.iv, at);
  unsigned from = 1, steps = 0;
  for (int64_t s = 1; s < length; s *= 2, from = 3 - from, ++steps)
    fft_step(&k, f, length, s, k.out[from], k.out[3 - from], lines.iv);
  MlirValue scale = fe_float(ir, type, f->inverse ? 1.0 / (double)length : 1);
  fe_region each = fe_loop(ir, fe_dim(ir, k.out[0], 1));
  for (unsigned i = 0; i < (f->inverse && f->onesided ? 1u : 2u); ++i) {
    MlirValue part = fe_index(ir, i);
    MlirValue source[3] = {lines.iv, part, each.iv};
    MlirValue to[4] = {at[0], each.iv, at[1], part};
    MlirValue v = fe_load(ir, k.out[from], 3, source);
    fe_put(&k, f->inverse ? fe_mul(ir, v, scale) : v, k.out[0], t, 4, to);
  }
  fe_loop_end(ir, &each);
  fe_loop_end(ir, &lines);
  fe_kernel_end(&k, fe_kernel_dim(&k, 3, 0),
                fe_dim_const(ir, length * (6 * steps + 8)));
  return k.result[0];
}

/// x: [outer][n][inner][1 or 2] to `sizes` [outer][n'][inner][1 or 2].
static MlirValue transformed(fe_lower *l, const transform *f, MlirValue x,
                             const MlirValue *sizes) {
  fe_ir *ir = l->ir;
  MlirValue product = by_matrix(l, f, x, sizes);
  if (fe_is_null(product))
    product = by_fft(l, f, x, sizes);
  if (!fe_is_null(product))
    return product;
  fe_dtype t = f->type, work = fe_work_type(t);
  MlirType type = fe_compute_type(ir, work);
  MlirValue in[2] = {x, roots_of_unity(l, work, f->length)};
  MlirValue out = fe_tensor_empty(l, t, 4, sizes);
  bool to_real = f->inverse && f->onesided;
  fe_kernel k;
  fe_kernel_begin(&k, l, "dft", 2, in, 1, &out, 0, NULL);
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1),
            two = fe_index(ir, 2);
  MlirValue none = fe_float(ir, type, 0), at[4], to[4];
  MlirValue n = fe_dim(ir, k.in[1], 0), dims[3];
  for (unsigned i = 0; i < 3; ++i)
    dims[i] = fe_dim(ir, k.out[0], i);
  // Elements beyond the length are cut off, missing ones are zeros. A onesided
  // spectrum has the frequencies up to the half.
  MlirValue used = n, half = fe_divu(ir, n, two);
  if (to_real)
    used = fe_add(ir, half, one);
  used = fe_min(ir, used, fe_dim(ir, k.in[0], 1));
  MlirValue even = fe_cmp(ir, FE_EQ, fe_mul(ir, half, two), n);
  MlirValue scale = fe_float(ir, type, 1);
  if (f->inverse)
    scale = fe_div(
        ir, scale,
        fe_convert(ir, as_f64(ir, fe_max(ir, n, one)), type, false, false));
  fe_region each = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_unravel(ir, each.iv, 3, dims, to);
  MlirValue frequency = to[1];
  for (unsigned i = 0; i < 3; ++i)
    at[i] = to[i];
  MlirValue init[3] = {none, none, zero};
  fe_region sum = fe_for_begin(ir, zero, used, one, 3, init);
  at[1] = sum.iv;
  at[3] = zero;
  MlirValue re = fe_get(&k, k.in[0], t, 4, at), im = none;
  at[3] = one;
  if (f->is_complex)
    im = fe_get(&k, k.in[0], t, 4, at);
  if (to_real) { // all but the first and the middle one stand for two
    MlirValue once = fe_or(ir, fe_cmp(ir, FE_EQ, sum.iv, zero),
                           fe_and(ir, even, fe_cmp(ir, FE_EQ, sum.iv, half)));
    MlirValue weight =
        fe_select(ir, once, fe_float(ir, type, 1), fe_float(ir, type, 2));
    re = fe_mul(ir, re, weight);
    im = fe_mul(ir, im, weight);
  }
  MlirValue root = fe_block_arg(sum.body, 3);
  MlirValue at_cos[2] = {root, zero}, at_sin[2] = {root, one};
  MlirValue c = fe_load(ir, k.in[1], 2, at_cos);
  MlirValue s = fe_load(ir, k.in[1], 2, at_sin);
  if (!f->inverse)
    s = fe_neg(ir, s);
  MlirValue acc[2] = {fe_block_arg(sum.body, 1), fe_block_arg(sum.body, 2)};
  MlirValue real = fe_mul(ir, re, c), imaginary = fe_mul(ir, re, s);
  if (f->is_complex) {
    real = fe_sub(ir, real, fe_mul(ir, im, s));
    imaginary = fe_add(ir, imaginary, fe_mul(ir, im, c));
  }
  MlirValue next_root = fe_add(ir, root, frequency);
  next_root = fe_select(ir, fe_cmp(ir, FE_GE, next_root, n),
                        fe_sub(ir, next_root, n), next_root);
  MlirValue next[3] = {fe_add(ir, acc[0], real), fe_add(ir, acc[1], imaginary),
                       next_root};
  fe_for_end(ir, &sum, 3, next);
  for (unsigned i = 0; i < (to_real ? 1u : 2u); ++i) {
    to[3] = i ? one : zero;
    MlirValue v = fe_mul(ir, fe_result(sum.op, i), scale);
    fe_put(&k, v, k.out[0], t, 4, to);
  }
  fe_loop_end(ir, &each);
  MlirAffineExpr items = fe_dim_const(ir, 1);
  for (unsigned i = 0; i < 3; ++i)
    items = fe_dim_mul(items, fe_kernel_dim(&k, 2, i));
  fe_kernel_end(&k, items,
                fe_dim_mul(fe_kernel_dim(&k, 0, 1), fe_dim_const(ir, 6)));
  return k.result[0];
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
