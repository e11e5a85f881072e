//===- scan_axis.c - CumSum, CumProd -----------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass along the axis, which may be known at run time only: then the sizes
// of [outer][axis][inner] are. Where the axis is not the last one, CHUNK
// columns go together, their sums on the stack. Halves are summed in f32.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"

#include <string.h>

static fe_status infer_scan(fe_infer *f) {
  fe_dims d;
  int64_t axis;
  unsigned at;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  if (fe_const_ints(f->ir, f->in[1], &axis, 1) == 1 &&
      fe_axis(f, axis, d.rank, &at))
    return FE_FAILED;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0), &d);
  return FE_OK;
}

/// Sizes before, of and behind the axis.
static void sizes_around(fe_lower *l, MlirValue flat[3]) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  int64_t fixed;
  if (fe_const_ints(ir, fe_operand(l->op, 1), &fixed, 1) == 1) {
    unsigned axis = (unsigned)(fixed < 0 ? fixed + rank : fixed);
    flat[0] = fe_sizes_product(l, l->in[0], 0, axis);
    flat[1] = fe_size(l, l->in[0], axis);
    flat[2] = fe_sizes_product(l, l->in[0], axis + 1, rank);
    return;
  }
  MlirValue one = fe_index(ir, 1), zero = fe_index(ir, 0),
            n = fe_index(ir, rank);
  MlirValue axis = fe_read_index(l, l->in[1], 0);
  axis =
      fe_select(ir, fe_cmp(ir, FE_LT, axis, zero), fe_add(ir, axis, n), axis);
  fe_check(
      l, fe_and(ir, fe_cmp(ir, FE_GE, axis, zero), fe_cmp(ir, FE_LT, axis, n)),
      "the axis is out of range");
  flat[0] = flat[1] = flat[2] = one;
  for (unsigned i = 0; i < rank; ++i) {
    MlirValue d = fe_index(ir, i), size = fe_size(l, l->in[0], i);
    const fe_cmp_kind kinds[3] = {FE_LT, FE_EQ, FE_GT};
    for (unsigned k = 0; k < 3; ++k)
      flat[k] = fe_mul(ir, flat[k],
                       fe_select(ir, fe_cmp(ir, kinds[k], d, axis), size, one));
  }
}

enum { CHUNK = 64 };

typedef struct scan {
  fe_ir *ir;
  fe_kernel k;
  fe_dtype t;
  bool product, exclusive, reverse;
  MlirValue n, inner;
} scan;

/// Place of step `a` along the axis.
static MlirValue place_of(const scan *s, MlirValue a) {
  fe_ir *ir = s->ir;
  return s->reverse ? fe_sub(ir, fe_sub(ir, s->n, fe_index(ir, 1)), a) : a;
}

/// Takes the element at o, at, i; gives the sum behind it.
static MlirValue take(scan *s, MlirValue o, MlirValue at, MlirValue i,
                      MlirValue before) {
  fe_ir *ir = s->ir;
  MlirValue v = fe_get(&s->k, s->k.in[0], s->t, FE_IDX(o, at, i));
  MlirValue after = s->product ? fe_mul(ir, before, v) : fe_add(ir, before, v);
  fe_put(&s->k, s->exclusive ? before : after, s->k.out[0], s->t,
         FE_IDX(o, at, i));
  return after;
}

/// Columns [first, first + width) of item o.
static void scan_columns(scan *s, MlirValue sums, MlirValue o, MlirValue first,
                         MlirValue width) {
  fe_ir *ir = s->ir;
  MlirValue start = fe_number(ir, fe_compute_type(ir, s->t), s->product);
  fe_region clear = fe_loop(ir, width);
  fe_store(ir, start, sums, 1, &clear.iv);
  fe_loop_end(ir, &clear);
  fe_region a = fe_loop(ir, s->n);
  MlirValue at = place_of(s, a.iv);
  fe_region i = fe_loop(ir, width);
  MlirValue before = fe_load(ir, sums, 1, &i.iv);
  MlirValue after = take(s, o, at, fe_add(ir, first, i.iv), before);
  fe_store(ir, after, sums, 1, &i.iv);
  fe_loop_end(ir, &i);
  fe_loop_end(ir, &a);
}

/// The row of item o, which lies together.
static void scan_row(scan *s, MlirValue o) {
  fe_ir *ir = s->ir;
  MlirValue start = fe_number(ir, fe_compute_type(ir, s->t), s->product);
  fe_region a =
      fe_for_begin(ir, fe_index(ir, 0), s->n, fe_index(ir, 1), 1, &start);
  MlirValue after =
      take(s, o, place_of(s, a.iv), fe_index(ir, 0), fe_block_arg(a.body, 1));
  fe_for_end(ir, &a, 1, &after);
}

static fe_status lower_scan(fe_lower *l) {
  fe_ir *ir = l->ir;
  scan s = {.ir = ir,
            .t = l->in_type[0],
            .product = !strcmp(l->row->name, "CumProd"),
            .exclusive = fe_attr_i64(l->op, "exclusive", 0),
            .reverse = fe_attr_i64(l->op, "reverse", 0)};
  MlirValue flat[3], sizes[FE_MAX_RANK];
  sizes_around(l, flat);
  fe_sizes_of(l, l->in[0], sizes);
  MlirValue x = fe_reshape(l, l->in[0], fe_elem_of(l->in[0]), 3, flat);
  MlirValue dest = fe_tensor_empty(l, s.t, 3, flat);
  fe_kernel *k = &s.k;
  fe_kernel_begin(k, l, "scan", 1, &x, 1, &dest, 0, NULL);
  s.n = fe_dim(ir, k->in[0], 1);
  s.inner = fe_dim(ir, k->in[0], 2);
  int64_t chunk = CHUNK, inner = fe_static_dim(k->in[0], 2);
  MlirValue sums = {0}, one = fe_index(ir, 1);
  if (inner != 1)
    sums =
        fe_alloca(ir, fe_memref_type(ir, fe_compute_type(ir, s.t), 1, &chunk));
  MlirValue size = fe_index(ir, CHUNK);
  MlirValue chunks = fe_ceildiv(ir, s.inner, size);
  fe_region item = fe_for_begin(ir, k->begin, k->end, one, 0, NULL);
  if (inner == 1) {
    scan_row(&s, item.iv);
  } else {
    MlirValue o = fe_divu(ir, item.iv, chunks);
    MlirValue first = fe_mul(ir, fe_remu(ir, item.iv, chunks), size);
    fe_region row = {0};
    if (inner == FE_DYN) {
      row = fe_if_begin(ir, fe_cmp(ir, FE_EQ, s.inner, one), 0, NULL, true);
      scan_row(&s, o);
      fe_if_else(ir, &row, 0, NULL);
    }
    MlirValue width = fe_min(ir, size, fe_sub(ir, s.inner, first));
    scan_columns(&s, sums, o, first, width);
    if (inner == FE_DYN)
      fe_if_end(ir, &row, 0, NULL);
  }
  fe_loop_end(ir, &item);
  MlirAffineExpr per =
      fe_dim_ceildiv(fe_kernel_dim(k, 0, 2), fe_dim_const(ir, CHUNK));
  int64_t width = inner == FE_DYN || inner > CHUNK ? CHUNK : inner;
  fe_kernel_end(k, fe_dim_mul(fe_kernel_dim(k, 0, 0), per),
                fe_dim_mul(fe_kernel_dim(k, 0, 1),
                           fe_dim_const(ir, 4 * (width < 1 ? 1 : width))));
  l->out[0] =
      fe_reshape(l, k->result[0], fe_out_elem(l, 0), fe_rank(l->in[0]), sizes);
  return FE_OK;
}

static const fe_attr_def scan_attrs[] = {
    {"exclusive", FE_A_INT, "0"}, {"reverse", FE_A_INT, "0"}, {0}};

#define ALONG_AXIS(op_name, first)                                             \
  {.name = op_name,                                                            \
   .since = first,                                                             \
   .inputs = "x:T, axis:T2",                                                   \
   .outputs = "y:T",                                                           \
   .types = "T=real;T2=i32,i64",                                               \
   .attrs = scan_attrs,                                                        \
   .infer = infer_scan,                                                        \
   .lower = lower_scan}

const fe_op_row fe_family_scan_axis[] = {
    ALONG_AXIS("CumSum", 11), ALONG_AXIS("CumProd", 26), {0}};
