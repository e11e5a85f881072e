//===- deconv.c - transposed convolutions as convolutions --------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: places of the result that are equal modulo the stride form a phase,
// and a phase is an ordinary convolution of the input with every stride-th tap
// of the kernel, turned round. The phases become output channels and are put in
// their places by DepthToSpace. Phases that look at the same elements are one
// convolution; zeros are added to a kernel only where a padding would be
// negative.
//
// With d = place + padding = q * stride + r, tap r + stride * j adds element
// q - j. Place u * stride + v of phase v has r = (v + padding) mod stride and
// q = u + shift, shift = (v + padding) / stride.
//
// Needs: f32, constant weights, one group, no dilation. A kernel that is a
// multiple of the stride in a network of packed images is left to layout
// assignment, which makes one convolution of it; others stay and are lowered
// as they are.
//
//===----------------------------------------------------------------------===//
#include "kernel/conv.h"
#include "op/sliding.h"
#include "pass/pass.h"

#include <string.h>

enum { MAX_PHASES = 16 };

/// One spatial dim.
typedef struct axis {
  int64_t stride, kernel, padding;
  int64_t more; // places per phase beyond the size of the input
  int64_t cut;  // places of the last phases that the result does not have
  int64_t low[MAX_PHASES], high[MAX_PHASES]; // elements seen, relative to u
} axis;

typedef struct deconv {
  fe_ir *ir;
  MlirOperation op;
  unsigned n; // spatial dims
  axis axis[2];
  int64_t in, out; // channels
  const float *weights, *bias;
} deconv;

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/// Elements that phase v sees.
static void see(axis *a, int64_t v) {
  int64_t r = (v + a->padding) % a->stride;
  int64_t shift = (v + a->padding) / a->stride;
  int64_t taps = r < a->kernel ? (a->kernel - r - 1) / a->stride + 1 : 1;
  int64_t low = shift - taps + 1, high = shift;
  a->low[v] = low < 0 ? low : 0;                  // padding before: -low
  a->high[v] = high > -a->more ? high : -a->more; // behind: more + high
}

static bool read_axis(const fe_unsliding *s, unsigned i, MlirAffineExpr in,
                      MlirAffineExpr out, axis *a) {
  const fe_sliding *w = &s->win;
  *a = (axis){
      .stride = w->stride[i], .kernel = w->kernel[i], .padding = w->begin[i]};
  if (w->dilation[i] != 1 || s->late[i] || a->kernel == FE_DYN ||
      a->stride > MAX_PHASES || a->padding < 0 || a->kernel > 1024)
    return false;
  // out = in * stride + extra
  int64_t extra = s->extra[i] + a->kernel - a->padding - w->end[i] - a->stride;
  int64_t n_in = fe_dim_static(in), n_out = fe_dim_static(out);
  if (s->want[i] != FE_DYN &&
      (n_in == FE_DYN || n_out != n_in * a->stride + extra))
    return false;
  a->more = -floor_div(-extra, a->stride);
  a->cut = a->more * a->stride - extra;
  for (int64_t v = 0; v < a->stride; ++v)
    see(a, v);
  return n_in == FE_DYN || n_in + a->more > 0;
}

static bool read_deconv(fe_ir *ir, MlirOperation op, deconv *d) {
  fe_dims x, w, y;
  fe_const weights, bias;
  fe_unsliding s;
  *d = (deconv){.ir = ir, .op = op};
  MlirValue b = fe_operand(op, 2);
  if (!fe_op_is(op, "onnx.conv_transpose") ||
      fe_attr_i64(op, "group", 1) != 1 ||
      !fe_const_of(ir, fe_operand(op, 1), &weights) ||
      weights.dtype != FE_F32 || !fe_dims_of(ir, fe_operand(op, 0), &x) ||
      !fe_dims_of(ir, fe_operand(op, 1), &w) ||
      !fe_dims_of(ir, fe_result(op, 0), &y) || x.rank < 3 || x.rank > 4)
    return false;
  if (!fe_is_null(b) && !mlirTypeIsANone(mlirValueGetType(b))) {
    if (!fe_const_of(ir, b, &bias))
      return false;
    d->bias = bias.data;
  }
  if (fe_unsliding_read(ir, (fe_where){0}, op, &x, &w, &s))
    return false;
  d->n = x.rank - 2;
  d->weights = weights.data;
  d->in = fe_dim_static(w.d[0]);
  d->out = fe_dim_static(w.d[1]);
  int64_t phases = 1;
  for (unsigned i = 0; i < d->n; ++i) {
    if (!read_axis(&s, i, x.d[2 + i], y.d[2 + i], &d->axis[i]))
      return false;
    phases *= d->axis[i].stride;
  }
  if (d->n == 1) // a second dim that does nothing
    d->axis[1] = (axis){.stride = 1, .kernel = 1};
  // DepthToSpace has one block size.
  return weights.count > 0 && phases <= MAX_PHASES &&
         (d->n == 1 || d->axis[0].stride == d->axis[1].stride);
}

//===-- One convolution -----------------------------------------------------//

/// Phases [first, last) of each dim, which see the same elements.
typedef struct group {
  int64_t first[2], last[2];
} group;

static void fill_phase(const deconv *d, const group *g, const int64_t v[2],
                       float *to) {
  const axis *a = d->axis;
  int64_t low[2], size[2], r[2], shift[2];
  for (unsigned i = 0; i < 2; ++i) {
    low[i] = a[i].low[g->first[i]];
    size[i] = a[i].high[g->first[i]] - low[i] + 1;
    r[i] = (v[i] + a[i].padding) % a[i].stride;
    shift[i] = (v[i] + a[i].padding) / a[i].stride;
  }
  for (int64_t m = 0; m < d->out; ++m)
    for (int64_t c = 0; c < d->in; ++c)
      for (int64_t y = 0; y < size[0]; ++y)
        for (int64_t x = 0; x < size[1]; ++x, ++to) {
          int64_t j = shift[0] - low[0] - y, i = shift[1] - low[1] - x;
          int64_t ky = r[0] + a[0].stride * j, kx = r[1] + a[1].stride * i;
          *to = 0;
          if (j >= 0 && i >= 0 && ky < a[0].kernel && kx < a[1].kernel)
            *to =
                d->weights[((c * d->out + m) * a[0].kernel + ky) * a[1].kernel +
                           kx];
        }
}

static MlirValue make_conv(const deconv *d, const group *g) {
  fe_ir *ir = d->ir;
  int64_t size[2], pads[4];
  unsigned skip = 2 - d->n; // of two dims the second one is not there
  for (unsigned i = 0; i < 2; ++i) {
    const axis *a = &d->axis[i];
    int64_t low = a->low[g->first[i]], high = a->high[g->first[i]];
    size[i] = high - low + 1;
    pads[i] = -low;
    pads[d->n + i] = a->more + high;
  }
  if (skip)
    pads[1] = d->axis[0].more + d->axis[0].high[g->first[0]];
  int64_t rows = g->last[0] - g->first[0], columns = g->last[1] - g->first[1];
  int64_t filters = rows * columns * d->out;
  int64_t per_phase = d->out * d->in * size[0] * size[1];
  float *w = FE_NEW_N(ir->arena, float, (size_t)(rows * columns * per_phase));
  float *b = FE_NEW_N(ir->arena, float, (size_t)filters);
  for (int64_t k = 0; k < rows * columns; ++k) {
    int64_t v[2] = {g->first[0] + k / columns, g->first[1] + k % columns};
    fill_phase(d, g, v, w + k * per_phase);
    for (int64_t m = 0; d->bias && m < d->out; ++m)
      b[k * d->out + m] = d->bias[m];
  }
  int64_t dims[4] = {filters, d->in, size[0], size[1]}, ones[2] = {1, 1};
  MlirValue in[3] = {fe_operand(d->op, 0),
                     fe_constant(ir, "phase.weight", FE_F32, 2 + d->n, dims, w),
                     fe_constant(ir, "phase.bias", FE_F32, 1, &filters, b)};
  MlirNamedAttribute attrs[] = {fe_at_i64s(ir, "kernel_shape", d->n, size),
                                fe_at_i64s(ir, "pads", 2 * d->n, pads),
                                fe_at_i64s(ir, "strides", d->n, ones),
                                fe_at_i64s(ir, "dilations", d->n, ones)};
  return fe_first(fe_onnx(ir, "Conv", 3, in, 1, FE_COUNT(attrs), attrs));
}

/// End of the run of phases from `first` on that see the same elements.
static int64_t run_end(const axis *a, int64_t first) {
  int64_t v = first + 1;
  while (v < a->stride && a->low[v] == a->low[first] &&
         a->high[v] == a->high[first])
    ++v;
  return v;
}

/// All phases, [phase][channel] in dim 1.
static MlirValue make_phases(const deconv *d) {
  MlirValue parts[MAX_PHASES];
  unsigned n = 0;
  const axis *a = d->axis;
  bool whole_rows = run_end(&a[1], 0) == a[1].stride;
  group g;
  for (int64_t y = 0; y < a[0].stride; y = g.last[0]) {
    g.first[0] = y;
    g.last[0] = whole_rows ? run_end(&a[0], y) : y + 1;
    for (int64_t x = 0; x < a[1].stride; x = g.last[1]) {
      g.first[1] = x;
      g.last[1] = run_end(&a[1], x);
      parts[n++] = make_conv(d, &g);
    }
  }
  if (n == 1)
    return parts[0];
  MlirNamedAttribute at = fe_at_i64(d->ir, "axis", 1);
  return fe_first(fe_onnx(d->ir, "Concat", n, parts, 1, 1, &at));
}

//===-- The result ----------------------------------------------------------//

static MlirValue interleave(const deconv *d, MlirValue v) {
  fe_ir *ir = d->ir;
  int64_t stride = d->axis[0].stride;
  if (stride == 1)
    return v;
  if (d->n == 2) {
    MlirNamedAttribute at[] = {fe_at_i64(ir, "blocksize", stride)};
    return fe_first(fe_onnx(ir, "DepthToSpace", 1, &v, 1, 1, at));
  }
  const int64_t apart[] = {0, stride, d->out, -1}, together[] = {0, d->out, -1};
  const int64_t perm[] = {0, 2, 3, 1};
  v = fe_onnx1(ir, "Reshape", v, fe_constant_i64s(ir, 4, apart));
  MlirNamedAttribute at = fe_at_i64s(ir, "perm", 4, perm);
  v = fe_first(fe_onnx(ir, "Transpose", 1, &v, 1, 1, &at));
  return fe_onnx1(ir, "Reshape", v, fe_constant_i64s(ir, 3, together));
}

static MlirValue without_rest(const deconv *d, MlirValue v) {
  fe_ir *ir = d->ir;
  int64_t starts[2] = {0}, ends[2], axes[2];
  unsigned n = 0;
  for (unsigned i = 0; i < d->n; ++i)
    if (d->axis[i].cut) {
      ends[n] = -d->axis[i].cut;
      axes[n++] = 2 + i;
    }
  if (!n)
    return v;
  return fe_onnx1(ir, "Slice", v, fe_constant_i64s(ir, n, starts),
                  fe_constant_i64s(ir, n, ends), fe_constant_i64s(ir, n, axes));
}

/// What fe_layout_conv_transpose does as well without needless taps.
static bool is_left_to_layout(const deconv *d, unsigned lanes) {
  int64_t unused[2];
  const char *how = fe_attr_str(d->ir->arena, d->op, "auto_pad", "NOTSET");
  bool strided = false, fits = true;
  for (unsigned i = 0; i < d->n; ++i) {
    strided |= d->axis[i].stride > 1;
    fits &= d->axis[i].kernel % d->axis[i].stride == 0;
  }
  return strided && fits && d->in >= lanes / 2 && d->out >= lanes / 2 &&
         !strcmp(how, "NOTSET") &&
         !fe_attr_i64s(d->op, "output_shape", unused, 2);
}

typedef struct rewriter {
  fe_ir *ir;
  unsigned lanes; // of a block of channels
} rewriter;

static void rewrite(MlirOperation op, void *user) {
  const rewriter *r = user;
  fe_ir *ir = r->ir;
  deconv d;
  if (!read_deconv(ir, op, &d) || is_left_to_layout(&d, r->lanes))
    return;
  ir->loc = mlirOperationGetLocation(op);
  fe_point_before(ir, op);
  MlirValue v = without_rest(&d, interleave(&d, make_phases(&d)));
  if (fe_is_null(v) ||
      !mlirTypeEqual(mlirValueGetType(v), mlirValueGetType(fe_result(op, 0))))
    return;
  fe_replace(fe_result(op, 0), v);
  fe_erase(op);
}

fe_status fe_pass_deconv(fe_ir *ir, MlirModule *module,
                         const fe_pass_options *o) {
  MlirOperation func = fe_func_find(*module, "main");
  if (mlirOperationIsNull(func))
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "the module has no function @main");
  fe_point saved = fe_point_save(ir);
  rewriter r = {.ir = ir, .lanes = (unsigned)fe_conv_block(o->target)};
  fe_walk(fe_func_block(func), rewrite, &r);
  fe_point_restore(ir, saved);
  fe_symbols_store(ir, *module);
  return FE_OK;
}
