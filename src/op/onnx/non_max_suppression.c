//===- non_max_suppression.c - NonMaxSuppression -----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: classes of images are independent, so they are the parallel extent.
// The candidates form a heap of keys (score, then number); the best one that is
// left is taken unless it overlaps one taken before, until there are enough.
// Those taken are kept as planes of sides and areas, to compare with 16 at
// once. Equal scores: the first one. What is chosen goes to a scratch list per
// class; main reads the total, and a second kernel writes the rows of the
// result.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/sliding.h"

#include <inttypes.h>

static fe_status infer_nms(fe_infer *f) {
  fe_dims boxes, scores;
  if (fe_in_dims(f, 0, &boxes) || fe_in_dims(f, 1, &scores))
    return FE_FAILED;
  if (boxes.rank != 3 || scores.rank != 3 ||
      (fe_dim_static(boxes.d[2]) != 4 && fe_dim_static(boxes.d[2]) != FE_DYN))
    return fe_infer_error(f, NULL,
                          "boxes must be [batch][boxes][4], scores "
                          "[batch][classes][boxes]");
  for (unsigned i = 0; i < 2; ++i) {
    int64_t a = fe_dim_static(boxes.d[i]), b = fe_dim_static(scores.d[2 * i]);
    if (a != FE_DYN && b != FE_DYN && a != b)
      return fe_infer_error(f, NULL,
                            "boxes and scores do not fit together: %" PRId64
                            " and %" PRId64,
                            a, b);
  }
  fe_dims out = {.rank = 2, .d = {fe_fresh_dim(f), fe_dim_const(f->ir, 3)}};
  fe_out_tensor(f, 0, FE_I64, &out);
  return FE_OK;
}

typedef struct box {
  MlirValue low[2], high[2], area;
} box;

#define FE_AT_ONCE 16   // boxes that are compared with one
enum { FE_PLANES = 5 }; // lows, highs, area

/// Box i of image b of the kernel's input.
static box read_box(fe_kernel *k, MlirValue b, MlirValue i, bool centered) {
  fe_ir *ir = k->l->ir;
  box out;
  for (unsigned d = 0; d < 2; ++d) {
    MlirValue first[3] = {b, i, fe_index(ir, d)};
    MlirValue second[3] = {b, i, fe_index(ir, 2 + d)};
    MlirValue p = fe_load(ir, k->in[0], 3, first);
    MlirValue q = fe_load(ir, k->in[0], 3, second);
    if (centered) {
      MlirValue half = fe_mul(ir, q, fe_float(ir, ir->f32, 0.5));
      out.low[d] = fe_sub(ir, p, half);
      out.high[d] = fe_add(ir, p, half);
    } else {
      out.low[d] = fe_min(ir, p, q);
      out.high[d] = fe_max(ir, p, q);
    }
  }
  out.area = fe_mul(ir, fe_sub(ir, out.high[0], out.low[0]),
                    fe_sub(ir, out.high[1], out.low[1]));
  return out;
}

/// Intersection over union above the threshold; never for boxes without area.
/// Numbers, or vectors of them.
static MlirValue overlaps(fe_ir *ir, const box *a, const box *b,
                          MlirValue threshold) {
  MlirValue zero = fe_float(ir, mlirValueGetType(a->area), 0), side[2];
  for (unsigned d = 0; d < 2; ++d)
    side[d] = fe_max(ir, zero,
                     fe_sub(ir, fe_min(ir, a->high[d], b->high[d]),
                            fe_max(ir, a->low[d], b->low[d])));
  MlirValue common = fe_mul(ir, side[0], side[1]);
  MlirValue all = fe_sub(ir, fe_add(ir, a->area, b->area), common);
  MlirValue sound = fe_and(ir, fe_cmp(ir, FE_GT, a->area, zero),
                           fe_cmp(ir, FE_GT, b->area, zero));
  sound = fe_and(ir, sound, fe_cmp(ir, FE_GT, common, zero));
  return fe_and(ir, sound,
                fe_cmp(ir, FE_GT, fe_div(ir, common, all), threshold));
}

/// Operand i in the kernel's inputs from `at` on, or the default.
static MlirValue setting(fe_kernel *k, const MlirValue *place, unsigned i,
                         MlirValue absent) {
  fe_ir *ir = k->l->ir;
  if (fe_is_null(place[i]))
    return absent;
  MlirValue zero = fe_index(ir, 0);
  return fe_load(ir, place[i], 1, &zero);
}

/// What is kept of one class: its keys in out[2][batch][class][..], and the
/// planes of boxes that are taken in out[3][batch][class][..].
typedef struct heap {
  fe_kernel *k;
  MlirValue at[2]; // batch, class
  MlirValue plane; // elements
} heap;

static MlirValue entry(const heap *h, MlirValue i) {
  return fe_load(h->k->l->ir, h->k->out[2], FE_IDX(h->at[0], h->at[1], i));
}

static void set_entry(const heap *h, MlirValue i, MlirValue key) {
  fe_store(h->k->l->ir, key, h->k->out[2], FE_IDX(h->at[0], h->at[1], i));
}

/// Puts the key, which belongs at `start` or below, where it belongs in the
/// heap of `size`.
static void sift(const heap *h, MlirValue start, MlirValue size,
                 MlirValue key) {
  fe_ir *ir = h->k->l->ir;
  MlirValue one = fe_index(ir, 1), zero = fe_index(ir, 0);
  MlirValue end = fe_max(ir, fe_sub(ir, size, one), zero);
  fe_region w = fe_while_begin(ir, 1, &start);
  MlirValue at = fe_block_arg(w.body, 0);
  MlirValue child = fe_add(ir, fe_add(ir, at, at), one);
  MlirValue left = fe_min(ir, child, end);
  MlirValue right = fe_min(ir, fe_add(ir, child, one), end);
  MlirValue a = entry(h, left), b = entry(h, right);
  MlirValue take = fe_cmpu(ir, FE_LT, b, a), first = fe_minu(ir, a, b);
  MlirValue to[3] = {at, fe_select(ir, take, right, left), first};
  fe_while_do(ir, &w,
              fe_and(ir, fe_cmp(ir, FE_LT, child, size),
                     fe_cmpu(ir, FE_LT, first, key)),
              3, to);
  set_entry(h, fe_block_arg(w.body, 0), fe_block_arg(w.body, 2));
  MlirValue next = fe_block_arg(w.body, 1);
  fe_while_end(ir, &w, 1, &next);
  set_entry(h, fe_result(w.op, 0), key);
}

/// Puts the boxes above the least score into the heap; gives their number.
static MlirValue fill(const heap *h, MlirValue least) {
  fe_ir *ir = h->k->l->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue n = fe_dim(ir, h->k->in[1], 2);
  fe_region all = fe_for_begin(ir, zero, n, one, 1, &zero);
  MlirValue size = fe_block_arg(all.body, 1);
  MlirValue score =
      fe_load(ir, h->k->in[1], FE_IDX(h->at[0], h->at[1], all.iv));
  // overwritten when it does not count
  set_entry(h, size, fe_order_key(ir, FE_F32, score, all.iv, true));
  MlirValue next = fe_add(ir, size, one);
  if (!fe_is_null(least))
    next = fe_select(ir, fe_cmp(ir, FE_GT, score, least), next, size);
  fe_for_end(ir, &all, 1, &next);
  size = fe_result(all.op, 0);
  MlirValue parents = fe_divu(ir, size, fe_index(ir, 2));
  fe_region order = fe_loop(ir, parents);
  MlirValue from = fe_sub(ir, fe_sub(ir, parents, order.iv), one);
  sift(h, from, size, entry(h, from));
  fe_loop_end(ir, &order);
  return size;
}

/// Where plane p has box i.
static MlirValue in_plane(const heap *h, unsigned p, MlirValue i) {
  fe_ir *ir = h->k->l->ir;
  return fe_add(ir, fe_mul(ir, h->plane, fe_index(ir, p)), i);
}

/// Boxes that are not there have no area and so overlap nothing.
static void clear_areas(const heap *h) {
  fe_ir *ir = h->k->l->ir;
  fe_region r = fe_loop(ir, h->plane);
  fe_store(ir, fe_float(ir, ir->f32, 0), h->k->out[3],
           FE_IDX(h->at[0], h->at[1], in_plane(h, FE_PLANES - 1, r.iv)));
  fe_loop_end(ir, &r);
}

static void members(box *b, MlirValue *member[FE_PLANES]) {
  MlirValue *all[FE_PLANES] = {&b->low[0], &b->low[1], &b->high[0], &b->high[1],
                               &b->area};
  for (unsigned i = 0; i < FE_PLANES; ++i)
    member[i] = all[i];
}

/// Whether the box overlaps one of the first `count` that are chosen.
static MlirValue is_covered(const heap *h, const box *one_box, MlirValue count,
                            MlirValue threshold) {
  fe_kernel *k = h->k;
  fe_ir *ir = k->l->ir;
  box mine = *one_box, theirs;
  MlirValue *my[FE_PLANES], *their[FE_PLANES];
  members(&mine, my);
  members(&theirs, their);
  for (unsigned p = 0; p < FE_PLANES; ++p)
    *my[p] = fe_splat(ir, *my[p], FE_AT_ONCE);
  threshold = fe_splat(ir, threshold, FE_AT_ONCE);
  MlirValue init[2] = {fe_index(ir, 0), fe_int(ir, ir->i1, 0)};
  fe_region w = fe_while_begin(ir, 2, init);
  MlirValue state[2] = {fe_block_arg(w.body, 0), fe_block_arg(w.body, 1)};
  MlirValue go =
      fe_and(ir, fe_cmp(ir, FE_LT, state[0], count), fe_not(ir, state[1]));
  fe_while_do(ir, &w, go, 2, state);
  MlirValue i = fe_block_arg(w.body, 0);
  for (unsigned p = 0; p < FE_PLANES; ++p)
    *their[p] = fe_vload(ir, FE_AT_ONCE, k->out[3],
                         FE_IDX(h->at[0], h->at[1], in_plane(h, p, i)));
  MlirValue which = overlaps(ir, &theirs, &mine, threshold);
  MlirValue next[2] = {fe_add(ir, i, fe_index(ir, FE_AT_ONCE)),
                       fe_vreduce(ir, "or", which)};
  fe_while_end(ir, &w, 2, next);
  return fe_result(w.op, 1);
}

/// Takes boxes until the heap is empty or there are enough; gives their number.
static MlirValue choose(const heap *h, MlirValue size, MlirValue most,
                        MlirValue threshold, bool centered) {
  fe_kernel *k = h->k;
  fe_ir *ir = k->l->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue start[2] = {size, zero};
  fe_region w = fe_while_begin(ir, 2, start);
  MlirValue state[2] = {fe_block_arg(w.body, 0), fe_block_arg(w.body, 1)};
  MlirValue go = fe_and(ir, fe_cmp(ir, FE_GT, state[0], zero),
                        fe_cmp(ir, FE_LT, state[1], most));
  fe_while_do(ir, &w, go, 2, state);
  MlirValue count = fe_block_arg(w.body, 1);
  MlirValue left = fe_sub(ir, fe_block_arg(w.body, 0), one);
  MlirValue taken = fe_order_index(ir, entry(h, zero));
  sift(h, zero, left, entry(h, left));
  box mine = read_box(k, h->at[0], fe_to_index(ir, taken), centered);
  MlirValue covered = is_covered(h, &mine, count, threshold);
  fe_region c = fe_if_begin(ir, covered, 1, &ir->index, true);
  fe_if_else(ir, &c, 1, &count);
  fe_store(ir, taken, k->out[0], FE_IDX(h->at[0], h->at[1], count));
  MlirValue *my[FE_PLANES];
  members(&mine, my);
  for (unsigned p = 0; p < FE_PLANES; ++p)
    fe_store(ir, *my[p], k->out[3],
             FE_IDX(h->at[0], h->at[1], in_plane(h, p, count)));
  MlirValue more = fe_add(ir, count, one);
  fe_if_end(ir, &c, 1, &more);
  MlirValue next[2] = {left, fe_result(c.op, 0)};
  fe_while_end(ir, &w, 2, next);
  return fe_result(w.op, 1);
}

static fe_status lower_nms(fe_lower *l) {
  fe_ir *ir = l->ir;
  bool centered = fe_attr_i64(l->op, "center_point_box", 0) != 0;
  fe_check_dims(l, 0, 0, 1, 0, "boxes and scores do not fit together");
  fe_check_dims(l, 0, 1, 1, 2, "boxes and scores do not fit together");
  fe_check_equal(l, fe_size(l, l->in[0], 2), fe_index(ir, 4),
                 "a box must have four numbers");
  MlirValue single = fe_index(ir, 1), scores[3], in[5] = {l->in[0], l->in[1]};
  unsigned n_in = 2;
  for (unsigned i = 2; i < l->n_in && i < 5; ++i) {
    if (fe_is_null(l->in[i]))
      continue;
    MlirValue n = fe_sizes_product(l, l->in[i], 0, fe_rank(l->in[i]));
    fe_check_equal(l, n, single, "a threshold must be one number");
    in[n_in++] =
        fe_reshape(l, l->in[i], i == 2 ? ir->i64 : ir->f32, 1, &single);
  }
  fe_sizes_of(l, l->in[1], scores);
  fe_check(l, fe_cmp(ir, FE_LE, scores[2], fe_index(ir, UINT32_MAX)),
           "there are more boxes than 32 bits can number");
  // chosen boxes, their number, the heap, and the planes of chosen boxes
  MlirValue whole = fe_index(ir, FE_AT_ONCE);
  MlirValue plane = fe_mul(ir, fe_ceildiv(ir, scores[2], whole), whole);
  MlirValue planes[3] = {scores[0], scores[1],
                         fe_mul(ir, plane, fe_index(ir, FE_PLANES))};
  MlirValue out[4] = {fe_tensor_empty(l, FE_I64, 3, scores),
                      fe_tensor_empty(l, FE_I64, 2, scores),
                      fe_tensor_empty(l, FE_I64, 3, scores),
                      fe_tensor_empty(l, FE_F32, 3, planes)};
  fe_kernel k;
  fe_kernel_begin(&k, l, "non_max_suppression", n_in, in, 4, out, 0, NULL);
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue place[3] = {{0}};
  for (unsigned i = 2, next = 2; i < l->n_in && i < 5; ++i)
    if (!fe_is_null(l->in[i]))
      place[i - 2] = k.in[next++];
  MlirValue most =
      fe_to_index(ir, setting(&k, place, 0, fe_int(ir, ir->i64, 0)));
  MlirValue threshold = setting(&k, place, 1, fe_float(ir, ir->f32, 0));
  MlirValue least = setting(&k, place, 2, (MlirValue){0});
  MlirValue dims[2] = {fe_dim(ir, k.in[1], 0), fe_dim(ir, k.in[1], 1)}, at[3];
  heap h = {.k = &k,
            .plane =
                fe_divu(ir, fe_dim(ir, k.out[3], 2), fe_index(ir, FE_PLANES))};
  fe_region classes = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_unravel(ir, classes.iv, 2, dims, h.at);
  clear_areas(&h);
  MlirValue size = fill(&h, least);
  MlirValue chosen = choose(&h, size, most, threshold, centered);
  fe_store(ir, fe_convert(ir, chosen, ir->i64, false, false), k.out[1], 2,
           h.at);
  fe_loop_end(ir, &classes);
  fe_kernel_end(&k,
                fe_dim_mul(fe_kernel_dim(&k, 1, 0), fe_kernel_dim(&k, 1, 1)),
                fe_dim_mul(fe_kernel_dim(&k, 1, 2), fe_dim_const(ir, 30)));

  // The total.
  MlirValue lists[2] = {k.result[0], k.result[1]};
  MlirValue sum = fe_tensor_empty(l, FE_I64, 1, &single);
  fe_kernel c;
  fe_kernel_begin(&c, l, "sum_counts", 1, &lists[1], 1, &sum, 0, NULL);
  zero = fe_index(ir, 0);
  fe_store(ir, fe_int(ir, ir->i64, 0), c.out[0], 1, &zero);
  fe_region b = fe_loop(ir, fe_dim(ir, c.in[0], 0));
  fe_region s = fe_loop(ir, fe_dim(ir, c.in[0], 1));
  at[0] = b.iv;
  at[1] = s.iv;
  MlirValue more =
      fe_add(ir, fe_load(ir, c.out[0], 1, &zero), fe_load(ir, c.in[0], 2, at));
  fe_store(ir, more, c.out[0], 1, &zero);
  fe_loop_end(ir, &s);
  fe_loop_end(ir, &b);
  fe_kernel_end(&c, (MlirAffineExpr){0}, fe_kernel_dim(&c, 0, 1));
  MlirValue total = fe_read_index(l, c.result[0], 0);

  MlirValue sizes[2] = {total, fe_index(ir, 3)};
  MlirValue result = fe_out_empty(l, 0, sizes);
  fe_kernel r;
  fe_kernel_begin(&r, l, "selected_boxes", 2, lists, 1, &result, 0, NULL);
  zero = fe_index(ir, 0);
  one = fe_index(ir, 1);
  fe_region b0 = fe_for_begin(ir, zero, fe_dim(ir, r.in[0], 0), one, 1, &zero);
  MlirValue row = fe_block_arg(b0.body, 1);
  fe_region c0 = fe_for_begin(ir, zero, fe_dim(ir, r.in[0], 1), one, 1, &row);
  at[0] = b0.iv;
  at[1] = c0.iv;
  MlirValue here = fe_to_index(ir, fe_load(ir, r.in[1], 2, at));
  row = fe_block_arg(c0.body, 1);
  fe_region i0 = fe_loop(ir, here);
  at[2] = i0.iv;
  MlirValue line = fe_add(ir, row, i0.iv);
  MlirValue columns[3] = {fe_convert(ir, b0.iv, ir->i64, false, false),
                          fe_convert(ir, c0.iv, ir->i64, false, false),
                          fe_load(ir, r.in[0], 3, at)};
  for (unsigned i = 0; i < 3; ++i) {
    MlirValue to[2] = {line, fe_index(ir, i)};
    fe_store(ir, columns[i], r.out[0], 2, to);
  }
  fe_loop_end(ir, &i0);
  row = fe_add(ir, row, here);
  fe_for_end(ir, &c0, 1, &row);
  row = fe_result(c0.op, 0);
  fe_for_end(ir, &b0, 1, &row);
  fe_kernel_end(&r, (MlirAffineExpr){0}, fe_kernel_dim(&r, 2, 0));
  l->out[0] = r.result[0];
  return FE_OK;
}

static const fe_attr_def attrs[] = {{"center_point_box", FE_A_INT, "0|1"}, {0}};

const fe_op_row fe_family_non_max_suppression[] = {
    {.name = "NonMaxSuppression",
     .since = 10,
     .inputs = "boxes:T, scores:T, max_output_boxes_per_class?:I, "
               "iou_threshold?:T, score_threshold?:T",
     .outputs = "selected_indices:I",
     .types = "T=f32;I=i64",
     .attrs = attrs,
     .infer = infer_nms,
     .lower = lower_nms},
    {0}};
