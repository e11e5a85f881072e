//===- sliding.c - windows: attributes and sizes ------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "op/sliding.h"
#include "op/compose.h"

#include <inttypes.h>
#include <string.h>

//===-- Attributes ----------------------------------------------------------//

/// The attributes as given: lists may be empty.
typedef struct given {
  const int64_t *kernel, *strides, *dilations, *pads;
  size_t n_kernel, n_strides, n_dilations, n_pads;
  const char *auto_pad;
} given;

static int64_t same_padding(const fe_sliding *w, unsigned i, int64_t in) {
  int64_t out = in / w->stride[i] + (in % w->stride[i] != 0);
  int64_t total =
      (out - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 - in;
  return total < 0 ? 0 : total;
}

static fe_status check_list(fe_ir *ir, fe_where where, const char *name,
                            size_t n, size_t want, const int64_t *v,
                            int64_t least) {
  where.attr = name;
  if (n && n != want)
    return fe_error(ir->diags, where, NULL,
                    "attribute '%s' has %zu numbers but the input needs %zu",
                    name, n, want);
  for (size_t i = 0; i < n; ++i)
    if (v[i] < least || v[i] > INT32_MAX)
      return fe_error(ir->diags, where, NULL,
                      "attribute '%s' holds %" PRId64 ", which is out of range",
                      name, v[i]);
  return FE_OK;
}

/// Padding that is known when compiling becomes explicit.
static void resolve_same(fe_sliding *w, const fe_dims *x) {
  for (unsigned i = 0; i < w->n; ++i)
    if (fe_dim_static(x->d[2 + i]) == FE_DYN || w->kernel[i] == FE_DYN)
      return;
  for (unsigned i = 0; i < w->n; ++i) {
    int64_t total = same_padding(w, i, fe_dim_static(x->d[2 + i]));
    w->begin[i] = (total + (w->same == FE_SAME_LOWER)) / 2;
    w->end[i] = total - w->begin[i];
  }
  w->same = FE_SAME_NO;
}

static fe_status complete(fe_ir *ir, fe_where where, const given *g,
                          const fe_dims *x, const fe_dims *weights,
                          fe_sliding *w) {
  if (x->rank < 3)
    return fe_error(ir->diags, where, NULL,
                    "the input has rank %u but must have a batch, a channel "
                    "and at least one more dimension",
                    x->rank);
  if (weights && weights->rank != x->rank)
    return fe_error(ir->diags, where, NULL,
                    "the input has rank %u but the weights have rank %u",
                    x->rank, weights->rank);
  unsigned n = w->n = x->rank - 2;
  if (check_list(ir, where, "kernel_shape", g->n_kernel, n, g->kernel, 1) ||
      check_list(ir, where, "strides", g->n_strides, n, g->strides, 1) ||
      check_list(ir, where, "dilations", g->n_dilations, n, g->dilations, 1) ||
      check_list(ir, where, "pads", g->n_pads, 2 * n, g->pads, -INT32_MAX))
    return FE_FAILED;
  if (!g->n_kernel && !weights) {
    where.attr = "kernel_shape";
    return fe_error(ir->diags, where, NULL,
                    "the required attribute 'kernel_shape' is missing");
  }
  for (unsigned i = 0; i < n; ++i) {
    int64_t in = fe_dim_static(x->d[2 + i]);
    if (in > INT32_MAX)
      return fe_error(ir->diags, where, NULL,
                      "dimension %u of the input, %" PRId64 ", is too large",
                      2 + i, in);
    w->size[i] = weights ? weights->d[2 + i] : fe_dim_const(ir, g->kernel[i]);
    w->kernel[i] = fe_dim_static(w->size[i]);
    if (weights && g->n_kernel && w->kernel[i] != FE_DYN &&
        w->kernel[i] != g->kernel[i])
      return fe_error(ir->diags, where, NULL,
                      "kernel_shape says %" PRId64 " in dimension %u but the "
                      "weights have %" PRId64,
                      g->kernel[i], i, w->kernel[i]);
    if ((w->kernel[i] < 1 && w->kernel[i] != FE_DYN) ||
        w->kernel[i] > INT32_MAX)
      return fe_error(ir->diags, where, NULL,
                      "the kernel has size %" PRId64 " in dimension %u",
                      w->kernel[i], i);
    w->stride[i] = g->n_strides ? g->strides[i] : 1;
    w->dilation[i] = g->n_dilations ? g->dilations[i] : 1;
    w->begin[i] = g->n_pads ? g->pads[i] : 0;
    w->end[i] = g->n_pads ? g->pads[n + i] : 0;
  }
  const char *mode = g->auto_pad;
  if (!mode || !*mode || !strcmp(mode, "NOTSET"))
    return FE_OK;
  memset(w->begin, 0, sizeof w->begin);
  memset(w->end, 0, sizeof w->end);
  if (!strcmp(mode, "VALID"))
    return FE_OK;
  w->same = !strcmp(mode, "SAME_UPPER")   ? FE_SAME_UPPER
            : !strcmp(mode, "SAME_LOWER") ? FE_SAME_LOWER
                                          : FE_SAME_NO;
  where.attr = "auto_pad";
  if (w->same == FE_SAME_NO)
    return fe_error(ir->diags, where, NULL, "auto_pad cannot be '%s'", mode);
  resolve_same(w, x);
  return FE_OK;
}

/// What only the run knows of the kernel.
static void check_weights(fe_node *n, int weights, const fe_sliding *win,
                          const given *g) {
  fe_ir *ir = n->ir;
  for (unsigned i = 0; i < win->n; ++i) {
    if (win->kernel[i] != FE_DYN)
      continue;
    MlirValue size = fe_x_size(ir, n->in.at[weights], 2 + i);
    size = fe_extract_scalar(ir, fe_x_reshape(ir, size, 0, NULL));
    MlirValue said = fe_int(ir, ir->i64, g->n_kernel ? g->kernel[i] : 1);
    fe_node_check(n, fe_cmp(ir, g->n_kernel ? FE_EQ : FE_GE, size, said),
                  g->n_kernel
                      ? "the weights have another size than kernel_shape says"
                      : "the kernel has no elements");
  }
}

fe_status fe_sliding_upgrade(fe_node *n, int weights) {
  fe_where where = n->where;
  where.op = n->row->name;
  fe_dims x, w;
  bool has_weights = weights >= 0;
  // Missing operands are reported by the check of the signature.
  if (n->in.n < 1 || !fe_dims_of(n->ir, n->in.at[0], &x) ||
      (has_weights && ((size_t)weights >= n->in.n ||
                       !fe_dims_of(n->ir, n->in.at[weights], &w))))
    return FE_OK;
  given g = {0};
  const struct {
    const char *name;
    const int64_t **list;
    size_t *count;
  } lists[] = {{"kernel_shape", &g.kernel, &g.n_kernel},
               {"strides", &g.strides, &g.n_strides},
               {"dilations", &g.dilations, &g.n_dilations},
               {"pads", &g.pads, &g.n_pads}};
  for (size_t i = 0; i < FE_COUNT(lists); ++i) {
    fe_node_attr *a = fe_node_attr_find(n, lists[i].name);
    if (!a || a->kind != FE_A_INTS)
      continue;
    *lists[i].list = a->ints;
    *lists[i].count = a->n;
  }
  fe_node_attr *mode = fe_node_attr_find(n, "auto_pad");
  g.auto_pad = mode ? mode->s : NULL;
  fe_sliding win = {0};
  if (complete(n->ir, where, &g, &x, has_weights ? &w : NULL, &win))
    return FE_FAILED;
  int64_t pads[2 * FE_MAX_RANK];
  bool kernel_known = true;
  for (unsigned i = 0; i < win.n; ++i) {
    pads[i] = win.begin[i];
    pads[win.n + i] = win.end[i];
    kernel_known &= win.kernel[i] != FE_DYN;
  }
  if (has_weights)
    check_weights(n, weights, &win, &g);
  if (kernel_known)
    fe_node_set_ints(n, "kernel_shape", win.n, win.kernel);
  fe_node_set_ints(n, "strides", win.n, win.stride);
  fe_node_set_ints(n, "dilations", win.n, win.dilation);
  fe_node_set_ints(n, "pads", 2 * win.n, pads);
  if (win.same == FE_SAME_NO)
    fe_node_set_str(n, "auto_pad", "NOTSET");
  return FE_OK;
}

fe_status fe_sliding_read(fe_ir *ir, fe_where where, MlirOperation attrs,
                          const fe_dims *x, const fe_dims *w, fe_sliding *out) {
  int64_t lists[4][2 * FE_MAX_RANK];
  given g = {.kernel = lists[0],
             .strides = lists[1],
             .dilations = lists[2],
             .pads = lists[3]};
  unsigned cap = 2 * FE_MAX_RANK;
  g.n_kernel = fe_attr_i64s(attrs, "kernel_shape", lists[0], cap);
  g.n_strides = fe_attr_i64s(attrs, "strides", lists[1], cap);
  g.n_dilations = fe_attr_i64s(attrs, "dilations", lists[2], cap);
  g.n_pads = fe_attr_i64s(attrs, "pads", lists[3], cap);
  g.auto_pad = fe_attr_str(ir->arena, attrs, "auto_pad", "NOTSET");
  memset(out, 0, sizeof *out);
  out->ceil = fe_attr_i64(attrs, "ceil_mode", 0);
  return complete(ir, where, &g, x, w, out);
}

//===-- ConvTranspose -------------------------------------------------------//

/// Padding of dim i for an input of that size, where the size of the result is
/// given or SAME asks for stride times the input.
static int64_t total_padding(const fe_unsliding *s, unsigned i, int64_t in,
                             int64_t out) {
  const fe_sliding *w = &s->win;
  int64_t total = (in - 1) * w->stride[i] + s->extra[i] +
                  (w->kernel[i] - 1) * w->dilation[i] + 1 - out;
  return total < 0 ? 0 : total;
}

static void split_padding(fe_unsliding *s, unsigned i, int64_t total) {
  s->win.begin[i] = s->upper ? total / 2 : total - total / 2;
  s->win.end[i] = total - s->win.begin[i];
}

fe_status fe_unsliding_read(fe_ir *ir, fe_where where, MlirOperation op,
                            const fe_dims *x, const fe_dims *w,
                            fe_unsliding *s) {
  memset(s, 0, sizeof *s);
  if (fe_sliding_read(ir, where, op, x, w, &s->win))
    return FE_FAILED;
  fe_sliding *win = &s->win;
  int64_t extra[FE_MAX_RANK], want[FE_MAX_RANK];
  unsigned n_extra = fe_attr_i64s(op, "output_padding", extra, FE_MAX_RANK);
  unsigned n_want = fe_attr_i64s(op, "output_shape", want, FE_MAX_RANK);
  const char *mode = fe_attr_str(ir->arena, op, "auto_pad", "NOTSET");
  bool same = !strncmp(mode, "SAME", 4);
  s->upper = !strcmp(mode, "SAME_UPPER");
  win->same = FE_SAME_NO;
  // Some exporters put batch and channels in front.
  unsigned skip = n_want == win->n + 2 ? 2 : 0;
  if ((n_extra && n_extra != win->n) || (n_want && n_want != win->n + skip))
    return fe_error(ir->diags, where, NULL,
                    "output_padding and output_shape must have one number per "
                    "spatial dimension");
  for (unsigned i = 0; i < win->n; ++i) {
    s->extra[i] = n_extra ? extra[i] : 0;
    s->want[i] = n_want ? want[skip + i] : FE_DYN;
    if (s->extra[i] < 0 || s->extra[i] > INT32_MAX ||
        (n_want && (s->want[i] < 0 || s->want[i] > INT32_MAX)))
      return fe_error(ir->diags, where, NULL,
                      "output_padding or output_shape is out of range");
    int64_t in = fe_dim_static(x->d[2 + i]);
    s->late[i] = n_want ? in == FE_DYN || win->kernel[i] == FE_DYN
                        : same && win->kernel[i] == FE_DYN;
    if (s->late[i])
      continue;
    if (n_want)
      split_padding(s, i, total_padding(s, i, in, s->want[i]));
    else if (same) // does not depend on the input's size
      split_padding(s, i, total_padding(s, i, 1, win->stride[i]));
  }
  return FE_OK;
}

//===-- Sizes ---------------------------------------------------------------//

/// Whether rounding up would give windows that start behind the image and the
/// padding before it; those do not count.
static bool ceil_is_clipped(const fe_sliding *w, unsigned i) {
  int64_t extent = (w->kernel[i] - 1) * w->dilation[i] + 1;
  return w->kernel[i] == FE_DYN || w->stride[i] + w->end[i] > extent;
}

fe_status fe_sliding_out(fe_infer *f, const fe_sliding *w, unsigned i,
                         MlirAffineExpr in, MlirAffineExpr *out) {
  fe_ir *ir = f->ir;
  MlirAffineExpr stride = fe_dim_const(ir, w->stride[i]);
  MlirAffineExpr one = fe_dim_const(ir, 1);
  if (w->same != FE_SAME_NO) {
    *out = fe_dim_ceildiv(in, stride);
    return FE_OK;
  }
  // in + padding - ((kernel - 1) * dilation + 1)
  MlirAffineExpr extent = fe_dim_mul(fe_dim_sub(ir, w->size[i], one),
                                     fe_dim_const(ir, w->dilation[i]));
  MlirAffineExpr room = fe_dim_sub(
      ir, fe_dim_add(in, fe_dim_const(ir, w->begin[i] + w->end[i] - 1)),
      extent);
  int64_t fixed = fe_dim_static(room);
  if (fixed < 0 && fixed != FE_DYN)
    return fe_infer_error(f, NULL,
                          "the kernel is larger than the input with its "
                          "padding in spatial dimension %u",
                          i);
  MlirAffineExpr last;
  if (!w->ceil)
    last = fe_dim_floordiv(room, stride);
  else if (ceil_is_clipped(w, i))
    last = fe_dim_floordiv(fe_dim_add(in, fe_dim_const(ir, w->begin[i] - 1)),
                           stride);
  else
    last = fe_dim_ceildiv(room, stride);
  *out = fe_dim_add(last, one);
  return FE_OK;
}

static MlirValue kernel_size(fe_lower *l, const fe_sliding *win, MlirValue w,
                             unsigned i) {
  return win->kernel[i] != FE_DYN ? fe_index(l->ir, win->kernel[i])
                                  : fe_size(l, w, 2 + i);
}

void fe_sliding_sizes(fe_lower *l, const fe_sliding *win, MlirValue x,
                      MlirValue w, MlirValue *sizes) {
  fe_ir *ir = l->ir;
  MlirValue one = fe_index(ir, 1);
  for (unsigned i = 0; i < win->n; ++i) {
    bool fixed = fe_static_dim(x, 2 + i) != FE_DYN &&
                 win->kernel[i] != FE_DYN && !fe_is_null(sizes[2 + i]);
    if (fixed || (win->same != FE_SAME_NO && !fe_is_null(sizes[2 + i])))
      continue;
    MlirValue in = fe_size(l, x, 2 + i), stride = fe_index(ir, win->stride[i]);
    if (win->same != FE_SAME_NO) {
      sizes[2 + i] = fe_ceildiv(ir, in, stride);
      continue;
    }
    MlirValue extent = fe_mul(ir, fe_sub(ir, kernel_size(l, win, w, i), one),
                              fe_index(ir, win->dilation[i]));
    MlirValue padding = fe_index(ir, win->begin[i] + win->end[i] - 1);
    MlirValue room = fe_sub(ir, fe_add(ir, in, padding), extent);
    fe_check(l, fe_cmp(ir, FE_GE, room, fe_index(ir, 0)),
             "the kernel is larger than the input with its padding");
    if (!fe_is_null(sizes[2 + i]))
      continue;
    MlirValue last =
        !win->ceil ? fe_floordiv(ir, room, stride)
        : ceil_is_clipped(win, i)
            ? fe_floordiv(ir, fe_add(ir, in, fe_index(ir, win->begin[i] - 1)),
                          stride)
            : fe_ceildiv(ir, room, stride);
    sizes[2 + i] = fe_add(ir, last, one);
  }
}

void fe_sliding_pads(fe_lower *l, const fe_sliding *win, MlirValue x,
                     MlirValue w, const MlirValue *sizes, MlirValue *pads) {
  fe_ir *ir = l->ir;
  MlirValue one = fe_index(ir, 1);
  for (unsigned i = 0; i < win->n; ++i) {
    if (win->same == FE_SAME_NO) {
      pads[i] = fe_index(ir, win->begin[i]);
      continue;
    }
    MlirValue covered =
        fe_mul(ir, fe_sub(ir, sizes[2 + i], one), fe_index(ir, win->stride[i]));
    MlirValue extent = fe_mul(ir, fe_sub(ir, kernel_size(l, win, w, i), one),
                              fe_index(ir, win->dilation[i]));
    MlirValue total = fe_sub(ir, fe_add(ir, fe_add(ir, covered, extent), one),
                             fe_size(l, x, 2 + i));
    total = fe_max(ir, total, fe_index(ir, 0));
    if (win->same == FE_SAME_LOWER)
      total = fe_add(ir, total, one);
    pads[i] = fe_divu(ir, total, fe_index(ir, 2));
  }
}
