//===- gradient_linear.c - derivatives of what is linear ---------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators linear in an operand, whose derivative is the transposed map: an
// Einsum of another equation; where the map is a matrix along one dim, that
// matrix is what the operator makes of the unit vectors.
//
//===----------------------------------------------------------------------===//
#include "import/gradient.h"
#include "op/einsum.h"

#include <string.h>

/// The size of dim i as a list.
static MlirValue size_of(const fe_step *s, MlirValue v, unsigned i) {
  return fe_d_size_at(s, fe_d_one(s, "Shape", v), i);
}
static MlirValue unit_vectors(const fe_step *s, MlirValue size) {
  MlirValue shape[2] = {size, size};
  return fe_d_one(
      s, "EyeLike",
      fe_d_two(s, "Expand", fe_d_number(s, 0), fe_d_concat(s, 2, shape, 0)));
}

//===-- Einsum --------------------------------------------------------------//

/// An equation being written.
typedef struct writing {
  char text[(FE_MAX_VARIADIC + 1) * (FE_MAX_RANK + 2)];
  size_t n_text;
  MlirValue in[FE_MAX_VARIADIC];
  unsigned n;
  unsigned letter[FE_EINSUM_LABELS]; // of each label of the other equation
  unsigned n_letters;
} writing;

static void put(writing *w, char c) { w->text[w->n_text++] = c; }
static void put_letter(writing *w, unsigned i) {
  put(w, (char)(i < 26 ? 'a' + i : 'A' + (i - 26)));
}
/// Begins another operand; false: there are too many.
static bool begin(writing *w, MlirValue v) {
  if (w->n == FE_COUNT(w->in))
    return false;
  if (w->n)
    put(w, ',');
  w->in[w->n++] = v;
  return true;
}
static bool put_term(writing *w, MlirValue v, const fe_einsum_term *t) {
  if (!begin(w, v))
    return false;
  for (unsigned i = 0; i < t->rank; i++)
    put_letter(w, w->letter[t->label[i]]);
  return true;
}

/// Is there a tensor besides operand k whose dim of this label is as large as
/// dim i of it?
static bool covered(const fe_step *s, const fe_equation *q, unsigned i) {
  fe_dims own, d;
  unsigned label = q->in[s->operand].label[i];
  if (fe_einsum_has(&q->out, label))
    return true;
  if (!fe_dims_of(s->ir, fe_d_operand(s, s->operand), &own))
    return false;
  for (unsigned k = 0; k < q->n; k++)
    for (unsigned j = 0; k != s->operand && j < q->in[k].rank; j++)
      if (q->in[k].label[j] == label &&
          fe_dims_of(s->ir, fe_d_operand(s, k), &d) &&
          fe_dim_same(d.d[j], own.d[i]))
        return true;
  return false;
}

/// The result's and the other operands' terms make the operand's. What no other
/// has is repeated, as a product with ones; a diagonal one with unit vectors.
static MlirValue d_einsum(const fe_step *s) {
  fe_equation q;
  unsigned rank[FE_MAX_VARIADIC], n = fe_n_operands(s->op);
  writing w = {.n_letters = 0};
  if (n > FE_COUNT(rank))
    return (MlirValue){0};
  for (unsigned i = 0; i < n; i++)
    rank[i] = fe_rank(fe_d_operand(s, i));
  if (!fe_einsum_parse(s->ir->arena,
                       fe_attr_str(s->ir->arena, s->op, "equation", ""), n,
                       rank, &q))
    return (MlirValue){0};
  for (unsigned label = 0; label < FE_EINSUM_LABELS; label++) {
    bool used = false;
    for (unsigned i = 0; i < n; i++)
      used = used || fe_einsum_has(&q.in[i], label);
    if (used)
      w.letter[label] = w.n_letters++;
  }
  const fe_einsum_term *mine = &q.in[s->operand];
  MlirValue x = fe_d_operand(s, s->operand);
  unsigned letters[FE_MAX_RANK];
  if (w.n_letters + mine->rank > FE_EINSUM_LETTERS ||
      !put_term(&w, s->dy, &q.out))
    return (MlirValue){0};
  for (unsigned i = 0; i < n; i++)
    if (i != s->operand && !put_term(&w, fe_d_operand(s, i), &q.in[i]))
      return (MlirValue){0};
  for (unsigned i = 0; i < mine->rank; i++) {
    letters[i] = w.letter[mine->label[i]];
    unsigned first = 0;
    while (mine->label[first] != mine->label[i])
      first++;
    MlirValue size = size_of(s, x, i), more = {0};
    if (first != i)
      more = unit_vectors(s, size);
    else if (!covered(s, &q, i))
      more = fe_d_two(s, "Expand", fe_d_number(s, 1), size);
    if (fe_is_null(more))
      continue;
    if (!begin(&w, more))
      return (MlirValue){0};
    put_letter(&w, letters[i]);
    if (first != i)
      put_letter(&w, letters[i] = w.n_letters++);
  }
  put(&w, '-');
  put(&w, '>');
  for (unsigned i = 0; i < mine->rank; i++)
    put_letter(&w, letters[i]);
  put(&w, 0);
  MlirNamedAttribute equation = fe_at_str(s->ir, "equation", w.text);
  return fe_first(fe_onnx(s->ir, "Einsum", w.n, w.in, 1, 1, &equation));
}

//===-- Resize --------------------------------------------------------------//

/// v with dim `dim` multiplied by `matrix` [its size, the new one].
static MlirValue along(const fe_step *s, MlirValue v, unsigned dim,
                       MlirValue matrix) {
  int64_t perm[FE_MAX_RANK];
  unsigned rank = fe_rank(v);
  for (unsigned i = 0; i < rank; i++)
    perm[i] = i;
  perm[dim] = rank - 1;
  perm[rank - 1] = dim;
  bool last = dim == rank - 1;
  v = last ? v : fe_d_transposed(s, v, rank, perm);
  v = fe_d_two(s, "MatMul", v, matrix);
  return last ? v : fe_d_transposed(s, v, rank, perm);
}

/// Element i of a list that is there.
static MlirValue entry(const fe_step *s, unsigned operand, unsigned i) {
  MlirValue v = fe_d_operand(s, operand);
  return fe_is_null(v) ? v : fe_d_size_at(s, v, i);
}

/// What the op makes of the unit vectors of dim `dim`, number i of those that
/// it resizes.
static MlirValue resized(const fe_step *s, unsigned dim, unsigned i, unsigned n,
                         bool by_sizes) {
  static const char *const kept[] = {"mode", "coordinate_transformation_mode",
                                     "nearest_mode"};
  fe_ir *ir = s->ir;
  MlirNamedAttribute how[8];
  unsigned n_how = 0;
  int64_t axis = 1;
  for (unsigned k = 0; k < FE_COUNT(kept); k++)
    how[n_how++] =
        fe_at_str(ir, kept[k], fe_attr_str(ir->arena, s->op, kept[k], ""));
  how[n_how++] = fe_at_i64(ir, "antialias", fe_attr_i64(s->op, "antialias", 0));
  how[n_how++] = fe_at_i64(ir, "exclude_outside",
                           fe_attr_i64(s->op, "exclude_outside", 0));
  how[n_how++] = fe_at_f32(ir, "cubic_coeff_a",
                           fe_attr_f64(s->op, "cubic_coeff_a", -0.75));
  how[n_how++] = fe_at_i64s(ir, "axes", 1, &axis);
  MlirValue in[4] = {unit_vectors(s, size_of(s, s->x[0], dim))};
  if (!strcmp(fe_attr_str(ir->arena, s->op, kept[1], ""),
              "tf_crop_and_resize")) {
    MlirValue ends[2] = {entry(s, 1, i), entry(s, 1, n + i)};
    in[1] = fe_d_concat(s, 2, ends, 0);
  }
  in[by_sizes ? 3 : 2] = entry(s, by_sizes ? 3 : 2, i);
  return fe_first(fe_onnx(ir, "Resize", 4, in, 1, n_how, how));
}

static bool has_elements(const fe_step *s, unsigned operand) {
  fe_dims d;
  MlirValue v = fe_d_operand(s, operand);
  return !fe_is_null(v) && fe_dims_of(s->ir, v, &d) && d.rank == 1 &&
         fe_dim_static(d.d[0]) != 0;
}

MlirValue fe_d_resize(const fe_step *s) {
  fe_ir *ir = s->ir;
  int64_t axes[FE_MAX_RANK];
  fe_dims from, to;
  unsigned rank = fe_rank(s->x[0]);
  unsigned n = fe_attr_i64s(s->op, "axes", axes, FE_MAX_RANK);
  bool by_sizes = has_elements(s, 3);
  if (!fe_dims_of(ir, s->x[0], &from) || !fe_dims_of(ir, s->y, &to) ||
      strcmp(
          fe_attr_str(ir->arena, s->op, "keep_aspect_ratio_policy", "stretch"),
          "stretch"))
    return (MlirValue){0};
  if (!n)
    for (n = 0; n < rank; n++)
      axes[n] = n;
  fe_const scales = {0};
  bool crops = !strcmp(
      fe_attr_str(ir->arena, s->op, "coordinate_transformation_mode", ""),
      "tf_crop_and_resize");
  bool known = !by_sizes && fe_const_of(ir, fe_d_operand(s, 2), &scales);
  MlirValue d = s->dy;
  for (unsigned i = 0; i < n; i++) {
    unsigned dim = (unsigned)(axes[i] + (axes[i] < 0 ? rank : 0));
    bool same =
        by_sizes ? fe_dim_same(from.d[dim], to.d[dim])
                 : known && i < scales.count && fe_const_f64(&scales, i) == 1;
    if (same && !crops)
      continue;
    MlirValue matrix = resized(s, dim, i, n, by_sizes);
    if (fe_is_null(matrix))
      return matrix;
    d = along(s, d, dim, fe_d_flipped(s, matrix));
  }
  return fe_d_reshaped(s, d, s->x[0]);
}

//===-- DequantizeLinear ----------------------------------------------------//

/// v with dim `axis`, in blocks of so many, as the sums of the blocks.
static MlirValue sum_of_blocks(const fe_step *s, MlirValue v, unsigned axis,
                               int64_t block) {
  unsigned rank = fe_rank(v), n = 0;
  int64_t within = axis + 1;
  MlirValue size = size_of(s, v, axis), count = size_of(s, s->x[1], axis);
  MlirValue shape = fe_d_one(s, "Shape", v), parts[FE_MAX_RANK + 1];
  MlirValue whole = fe_d_mul(s, count, fe_d_int(s, block));
  MlirValue pads[2] = {fe_d_int(s, 0), fe_d_two(s, "Sub", whole, size)};
  MlirValue in[4] = {v, fe_d_concat(s, 2, pads, 0), {0}, fe_d_int(s, axis)};
  v = fe_first(fe_onnx(s->ir, "Pad", 4, in, 1, 0, NULL));
  for (unsigned i = 0; i < rank; i++) {
    parts[n++] = i == axis ? count : fe_d_size_at(s, shape, i);
    if (i == axis)
      parts[n++] = fe_d_int(s, block);
  }
  v = fe_d_in_shape(s, v, fe_d_concat(s, n, parts, 0));
  return fe_d_summed(s, v, 1, &within, false);
}

/// By the scale: what the op makes with scales of 1, summed.
static MlirValue d_dequantize(const fe_step *s) {
  MlirValue in[2] = {
      s->x[0],
      fe_d_expanded(s, fe_constant_scalar(s->ir, fe_d_type(s->x[1]), 1),
                    s->x[1])};
  int64_t axis = fe_attr_i64(s->op, "axis", 1), axes[FE_MAX_RANK];
  int64_t block = fe_attr_i64(s->op, "block_size", 0);
  unsigned rank = fe_rank(s->y), n = 0;
  MlirValue d = fe_d_again(s, 2, in);
  if (fe_is_null(d) || fe_d_type(d) != fe_d_type(s->dy))
    return (MlirValue){0};
  d = fe_d_mul(s, s->dy, d);
  axis += axis < 0 ? rank : 0;
  if (block) {
    d = sum_of_blocks(s, d, (unsigned)axis, block);
  } else {
    fe_dims scale;
    bool one = !fe_dims_of(s->ir, s->x[1], &scale) || !scale.rank ||
               fe_dim_static(scale.d[0]) == 1;
    for (unsigned i = 0; i < rank; i++)
      if (one || i != axis)
        axes[n++] = i;
    d = fe_d_summed(s, d, n, axes, false);
    d = one ? fe_d_reshaped(s, d, s->x[1]) : d;
  }
  return fe_d_type(d) == fe_d_type(s->x[1])
             ? d
             : fe_d_cast(s, d, fe_d_type(s->x[1]));
}

//===-- AffineGrid ----------------------------------------------------------//

/// The places by the matrix that leaves them where they are, each with a 1
/// behind, are what theta is multiplied with.
static MlirValue d_affine_grid(const fe_step *s) {
  MlirNamedAttribute start = fe_at_i64(s->ir, "start", 1);
  MlirValue shape = fe_first(fe_onnx(s->ir, "Shape", 1, s->x, 1, 1, &start));
  MlirValue unit =
      fe_d_one(s, "EyeLike", fe_d_two(s, "Expand", fe_d_number(s, 0), shape));
  unit = fe_d_expanded(s, unit, s->x[0]);
  MlirValue at = fe_d_again(s, 1, &unit);
  if (fe_is_null(at))
    return at;
  MlirValue parts[3] = {size_of(s, at, 0), fe_d_int(s, -1),
                        size_of(s, at, fe_rank(at) - 1)};
  MlirValue rows = fe_d_concat(s, 3, parts, 0);
  at = fe_d_in_shape(s, at, rows);
  MlirValue one = fe_onnx1(s->ir, "Slice", at, fe_d_int(s, 0), fe_d_int(s, 1),
                           fe_d_int(s, 2));
  MlirValue both[2] = {at, fe_d_expanded(s, fe_d_number(s, 1), one)};
  MlirValue dy = fe_d_flipped(s, fe_d_in_shape(s, s->dy, rows));
  return fe_d_two(s, "MatMul", dy, fe_d_concat(s, 2, both, 2));
}

//===-- DFT -----------------------------------------------------------------//

/// Frequencies of a real signal stand for two, but for the first and, of an
/// even length, the last.
static MlirValue doubled(const fe_step *s, MlirValue v, MlirValue length,
                         int64_t axis) {
  fe_ir *ir = s->ir;
  int64_t axes[FE_MAX_RANK];
  unsigned n = 0;
  MlirValue zero = fe_constant_scalar(ir, FE_I64, 0);
  MlirValue one = fe_constant_scalar(ir, FE_I64, 1);
  MlirValue two = fe_constant_scalar(ir, FE_I64, 2);
  MlirValue end = fe_d_two(s, "Add", fe_d_two(s, "Div", length, two), one);
  MlirValue k = fe_onnx1(ir, "Range", zero, end, one);
  MlirValue once = fe_d_two(s, "Or", fe_d_two(s, "Equal", k, zero),
                            fe_d_two(s, "Equal", fe_d_mul(s, k, two), length));
  MlirValue by = fe_d_where(s, once, fe_d_number(s, 1), fe_d_number(s, 2));
  for (int64_t i = axis + 1; i < (int64_t)fe_rank(v); i++)
    axes[n++] = i - axis;
  return fe_d_mul(s, v,
                  fe_d_two(s, "Unsqueeze", by, fe_constant_i64s(ir, n, axes)));
}

/// The transposed map of a transform is the other one, but for the factor.
static MlirValue d_dft(const fe_step *s) {
  fe_ir *ir = s->ir;
  bool inverse = fe_attr_i64(s->op, "inverse", 0);
  bool half = fe_attr_i64(s->op, "onesided", 0);
  int64_t axis = -2, rank = fe_rank(s->x[0]);
  MlirValue given = fe_d_operand(s, 2), length = fe_d_operand(s, 1);
  if (!fe_is_null(given) && fe_const_ints(ir, given, &axis, 1) != 1)
    return (MlirValue){0};
  axis += axis < 0 ? rank : 0;
  MlirValue size = size_of(s, s->x[0], (unsigned)axis);
  MlirValue none = fe_constant_i64s(ir, 0, NULL);
  if (!fe_is_null(length)) {
    length = fe_d_in_shape(s, fe_d_cast(s, length, FE_I64), none);
  } else { // a onesided inverse cannot know whether it was odd
    length = size;
    if (inverse && half)
      length =
          fe_d_mul(s, fe_d_int(s, 2), fe_d_two(s, "Sub", size, fe_d_int(s, 1)));
    length = fe_d_in_shape(s, length, none);
  }
  MlirValue many = fe_d_cast(s, length, fe_d_type(s->dy));
  MlirValue in[3] = {s->dy, length,
                     fe_constant_scalar(ir, FE_I64, (double)axis)};
  MlirNamedAttribute how[2] = {fe_at_i64(ir, "inverse", !inverse),
                               fe_at_i64(ir, "onesided", inverse && half)};
  MlirValue v = fe_first(fe_onnx(ir, "DFT", 3, in, 1, 2, how));
  if (inverse && half)
    v = doubled(s, v, length, axis);
  v = inverse ? fe_d_two(s, "Div", v, many) : fe_d_mul(s, v, many);
  // Of a real signal the real part.
  v = fe_onnx1(ir, "Slice", v, fe_d_int(s, 0),
               size_of(s, s->x[0], (unsigned)rank - 1), fe_d_int(s, rank - 1));
  MlirValue pads[2] = {fe_d_int(s, 0),
                       fe_d_two(s, "Sub", size, size_of(s, v, (unsigned)axis))};
  MlirValue to[4] = {v, fe_d_concat(s, 2, pads, 0), {0}, fe_d_int(s, axis)};
  v = fe_first(fe_onnx(ir, "Pad", 4, to, 1, 0, NULL));
  return fe_d_reshaped(s, v, s->x[0]);
}

const fe_derivative fe_d_linear[] = {
    {"Einsum", .all = d_einsum},
    {"DFT", .by = {d_dft}},
    {"AffineGrid", .by = {d_affine_grid}},
    {"DequantizeLinear", .by = {NULL, d_dequantize}},
    {0}};
