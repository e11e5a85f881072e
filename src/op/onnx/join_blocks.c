//===- join_blocks.c - packed images, channels one behind the other -------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JoinBlocks is an operator of Ferrule's own, which a concatenation of packed
// images becomes (src/pass/layout_follow.c) whose channels are not whole
// blocks: of [N][blocks][H][W][lanes] with `channels` of each. Every block of
// the result has its own code: which blocks of the inputs hold its channels,
// and how their vectors are put together, is known.
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"
#include "op/common.h"
#include "op/sliding.h"

static fe_status infer_join(fe_infer *f) {
  fe_ir *ir = f->ir;
  fe_dims x, y = {0};
  int64_t channels[FE_MAX_VARIADIC], sum = 0;
  unsigned n = fe_attr_i64s(f->attrs, "channels", channels, FE_MAX_VARIADIC);
  if (n != f->n_in)
    return fe_infer_error(f, NULL, "the channels of each input must be given");
  for (unsigned i = 0; i < n; ++i) {
    if (fe_in_dims(f, i, &x))
      return FE_FAILED;
    int64_t blocks = x.rank == 5 ? fe_dim_static(x.d[1]) : 0;
    int64_t lanes = x.rank == 5 ? fe_dim_static(x.d[4]) : 0;
    if (lanes < 1 || (i && lanes != fe_dim_static(y.d[4])) || channels[i] < 1 ||
        blocks != (channels[i] + lanes - 1) / lanes)
      return fe_infer_error(f, NULL, "input %u is no image in blocks", i);
    y = i ? y : x;
    sum += channels[i];
  }
  int64_t lanes = fe_dim_static(y.d[4]);
  y.d[1] = fe_dim_const(ir, (sum + lanes - 1) / lanes);
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &y);
  return FE_OK;
}

typedef struct join {
  fe_kernel k;
  unsigned n;
  int64_t lanes, channels[FE_MAX_VARIADIC];
  MlirValue image, y, x; // of the pixel being emitted
} join;

/// Where channel `c` of the result is: false: nowhere.
static bool find(const join *j, int64_t c, unsigned *input, int64_t *at) {
  for (unsigned i = 0; i < j->n; c -= j->channels[i++])
    if (c < j->channels[i]) {
      *input = i;
      *at = c;
      return true;
    }
  return false;
}

/// The vector of block `block` of the result.
static MlirValue block_of(join *j, int64_t block) {
  fe_ir *ir = j->k.l->ir;
  int64_t lanes = j->lanes, at, from[64];
  unsigned input;
  MlirValue v = {NULL};
  for (int64_t lane = 0; lane < lanes;) {
    if (!find(j, block * lanes + lane, &input, &at))
      break;
    // What the input's block has for the lanes from this one on.
    int64_t first = at % lanes, run = lanes - first;
    int64_t left = j->channels[input] - at;
    run = run < left ? run : left;
    run = run < lanes - lane ? run : lanes - lane;
    MlirValue next = fe_vload(ir, lanes, j->k.in[input],
                              FE_IDX(j->image, fe_index(ir, at / lanes), j->y,
                                     j->x, fe_index(ir, 0)));
    bool whole = !lane && !first;
    for (int64_t k = 0; k < lanes; ++k)
      from[k] = k >= lane && k < lane + run ? lanes + first + k - lane : k;
    v = whole           ? next
        : fe_is_null(v) ? fe_shuffle(ir, next, next, (unsigned)lanes, from)
                        : fe_shuffle(ir, v, next, (unsigned)lanes, from);
    lane += run;
  }
  return v;
}

static fe_status lower_join(fe_lower *l) {
  fe_ir *ir = l->ir;
  join j = {.n = l->n_in, .lanes = fe_static_dim(l->in[0], 4)};
  fe_attr_i64s(l->op, "channels", j.channels, FE_MAX_VARIADIC);
  int64_t sum = 0;
  for (unsigned i = 0; i < j.n; ++i) {
    sum += j.channels[i];
    for (unsigned d = 0; i && d < 4; ++d)
      if (d != 1)
        fe_check_dims(l, 0, d, i, d, "the inputs differ beside the axis");
  }
  int64_t blocks = (sum + j.lanes - 1) / j.lanes;
  MlirValue sizes[5];
  fe_sizes_of(l, l->in[0], sizes);
  sizes[1] = fe_index(ir, blocks);
  MlirValue dest = fe_tensor_empty(l, l->in_type[0], 5, sizes);
  fe_kernel_begin(&j.k, l, "join_blocks", j.n, l->in, 1, &dest, 0, NULL);
  MlirValue zero = fe_index(ir, 0), at[3], counts[3];
  for (unsigned d = 0; d < 3; ++d)
    counts[d] = fe_dim(ir, j.k.out[0], d);
  fe_region item =
      fe_for_begin(ir, j.k.begin, j.k.end, fe_index(ir, 1), 0, NULL);
  fe_unravel(ir, item.iv, 3, counts, at);
  j.image = at[0];
  j.y = at[2];
  for (int64_t b = 0; b < blocks; ++b) {
    MlirValue block = fe_index(ir, b);
    fe_region own =
        fe_if_begin(ir, fe_cmp(ir, FE_EQ, at[1], block), 0, NULL, false);
    fe_region row = fe_loop(ir, fe_dim(ir, j.k.out[0], 3));
    j.x = row.iv;
    fe_vstore(ir, block_of(&j, b), j.k.out[0],
              FE_IDX(j.image, block, j.y, j.x, zero));
    fe_loop_end(ir, &row);
    fe_if_end(ir, &own, 0, NULL);
  }
  fe_for_end(ir, &item, 0, NULL);
  MlirAffineExpr items = fe_dim_const(ir, blocks);
  items = fe_dim_mul(items, fe_kernel_dim(&j.k, j.n, 0));
  items = fe_dim_mul(items, fe_kernel_dim(&j.k, j.n, 2));
  fe_kernel_end(
      &j.k, items,
      fe_dim_mul(fe_kernel_dim(&j.k, j.n, 3), fe_dim_const(ir, j.lanes)));
  l->out[0] = j.k.result[0];
  return FE_OK;
}

static const fe_attr_def attrs[] = {{"channels", FE_A_INTS, NULL}, {0}};

const fe_op_row fe_family_join_blocks[] = {{.name = "JoinBlocks",
                                            .domain = "com.microsoft",
                                            .since = 1,
                                            .flags = FE_INTERNAL,
                                            .inputs = "X*:T",
                                            .outputs = "Y:T",
                                            .types = "T=f32",
                                            .attrs = attrs,
                                            .infer = infer_join,
                                            .lower = lower_join},
                                           {0}};
