//===- non_max_suppression.c - NonMaxSuppression -----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: classes of images are independent, so they are the parallel extent.
// The candidates form a heap; the best one that is left is taken unless it
// overlaps one taken before, until there are enough. Equal scores: the first
// one. What is chosen goes to a scratch list per class; main reads the total,
// and a second kernel writes the rows of the result.
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
static MlirValue overlaps(fe_ir *ir, const box *a, const box *b,
                          MlirValue threshold) {
  MlirValue zero = fe_float(ir, ir->f32, 0), side[2];
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

/// The heap of one class: box numbers in out[2][batch][class][..].
typedef struct heap {
  fe_kernel *k;
  MlirValue at[2]; // batch, class
} heap;

static MlirValue entry(const heap *h, MlirValue i) {
  MlirValue at[3] = {h->at[0], h->at[1], i};
  return fe_load(h->k->l->ir, h->k->out[2], 3, at);
}

static void set_entry(const heap *h, MlirValue i, MlirValue box) {
  MlirValue at[3] = {h->at[0], h->at[1], i};
  fe_store(h->k->l->ir, box, h->k->out[2], 3, at);
}

static MlirValue score_of(const heap *h, MlirValue box) {
  fe_ir *ir = h->k->l->ir;
  MlirValue at[3] = {h->at[0], h->at[1], fe_to_index(ir, box)};
  return fe_load(ir, h->k->in[1], 3, at);
}

/// Whether box a is to be taken before box b.
static MlirValue before(const heap *h, MlirValue a, MlirValue b) {
  fe_ir *ir = h->k->l->ir;
  MlirValue x = score_of(h, a), y = score_of(h, b);
  return fe_or(ir, fe_cmp(ir, FE_GT, x, y),
               fe_and(ir, fe_cmp(ir, FE_EQ, x, y), fe_cmp(ir, FE_LT, a, b)));
}

/// Lets the entry at `start` sink until no child is before it.
static void sift(const heap *h, MlirValue start, MlirValue size) {
  fe_ir *ir = h->k->l->ir;
  MlirValue one = fe_index(ir, 1);
  fe_region w = fe_while_begin(ir, 1, &start);
  MlirValue i = fe_block_arg(w.body, 0);
  MlirValue left = fe_add(ir, fe_add(ir, i, i), one);
  fe_while_do(ir, &w, fe_cmp(ir, FE_LT, left, size), 1, &i);
  i = fe_block_arg(w.body, 0);
  left = fe_add(ir, fe_add(ir, i, i), one);
  MlirValue right = fe_add(ir, left, one), first = entry(h, left);
  fe_region two =
      fe_if_begin(ir, fe_cmp(ir, FE_LT, right, size), 1, &ir->i1, true);
  MlirValue is_right = before(h, entry(h, right), first);
  fe_if_else(ir, &two, 1, &is_right);
  MlirValue no = fe_int(ir, ir->i1, 0);
  fe_if_end(ir, &two, 1, &no);
  MlirValue child = fe_select(ir, fe_result(two.op, 0), right, left);
  MlirValue mine = entry(h, i), other = entry(h, child);
  MlirValue sinks = before(h, other, mine);
  fe_region swap = fe_if_begin(ir, sinks, 1, &ir->index, true);
  set_entry(h, i, other);
  set_entry(h, child, mine);
  fe_if_else(ir, &swap, 1, &child);
  fe_if_end(ir, &swap, 1, &size); // ends the loop
  MlirValue next = fe_result(swap.op, 0);
  fe_while_end(ir, &w, 1, &next);
}

/// Puts the boxes above the least score into the heap; gives their number.
static MlirValue fill(const heap *h, MlirValue least) {
  fe_ir *ir = h->k->l->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  MlirValue n = fe_dim(ir, h->k->in[1], 2);
  fe_region all = fe_for_begin(ir, zero, n, one, 1, &zero);
  MlirValue size = fe_block_arg(all.body, 1);
  MlirValue box = fe_convert(ir, all.iv, ir->i64, false, false);
  set_entry(h, size, box); // overwritten when it does not count
  MlirValue next = fe_add(ir, size, one);
  if (!fe_is_null(least))
    next =
        fe_select(ir, fe_cmp(ir, FE_GT, score_of(h, box), least), next, size);
  fe_for_end(ir, &all, 1, &next);
  size = fe_result(all.op, 0);
  MlirValue parents = fe_divu(ir, size, fe_index(ir, 2));
  fe_region order = fe_loop(ir, parents);
  sift(h, fe_sub(ir, fe_sub(ir, parents, order.iv), one), size);
  fe_loop_end(ir, &order);
  return size;
}

/// Whether the box overlaps one of the first `count` that are chosen.
static MlirValue is_covered(const heap *h, MlirValue box_number,
                            MlirValue count, MlirValue threshold,
                            bool centered) {
  fe_kernel *k = h->k;
  fe_ir *ir = k->l->ir;
  MlirValue zero = fe_index(ir, 0), one = fe_index(ir, 1);
  box mine = read_box(k, h->at[0], fe_to_index(ir, box_number), centered);
  MlirValue init[2] = {zero, fe_int(ir, ir->i1, 0)};
  fe_region w = fe_while_begin(ir, 2, init);
  MlirValue state[2] = {fe_block_arg(w.body, 0), fe_block_arg(w.body, 1)};
  MlirValue go =
      fe_and(ir, fe_cmp(ir, FE_LT, state[0], count), fe_not(ir, state[1]));
  fe_while_do(ir, &w, go, 2, state);
  MlirValue i = fe_block_arg(w.body, 0);
  MlirValue at[3] = {h->at[0], h->at[1], i};
  MlirValue other = fe_to_index(ir, fe_load(ir, k->out[0], 3, at));
  box theirs = read_box(k, h->at[0], other, centered);
  MlirValue next[2] = {fe_add(ir, i, one),
                       overlaps(ir, &theirs, &mine, threshold)};
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
  MlirValue taken = entry(h, zero);
  set_entry(h, zero, entry(h, left));
  sift(h, zero, left);
  MlirValue at[3] = {h->at[0], h->at[1], count};
  fe_store(ir, taken, k->out[0], 3, at); // overwritten when it is covered
  MlirValue covered = is_covered(h, taken, count, threshold, centered);
  MlirValue next[2] = {left,
                       fe_select(ir, covered, count, fe_add(ir, count, one))};
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
  // chosen boxes, their number, and the heap
  MlirValue out[3] = {fe_tensor_empty(l, FE_I64, 3, scores),
                      fe_tensor_empty(l, FE_I64, 2, scores),
                      fe_tensor_empty(l, FE_I64, 3, scores)};
  fe_kernel k;
  fe_kernel_begin(&k, l, "non_max_suppression", n_in, in, 3, out, 0, NULL);
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
  heap h = {.k = &k};
  fe_region classes = fe_for_begin(ir, k.begin, k.end, one, 0, NULL);
  fe_unravel(ir, classes.iv, 2, dims, h.at);
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

static const fe_attr_def attrs[] = {{"center_point_box", FE_A_INT, "0"}, {0}};

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
