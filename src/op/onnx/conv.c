//===- conv.c - Conv, ConvInteger, QLinearConv -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The general lowering: any rank, type and weights. Networks on f32 with
// constant weights rarely get here: layout assignment takes those.
//
// Method: of f32 and f64, a product of matrices where the memory for that is
// known to be moderate and every channel is used by several filters. Otherwise
// sums of a piece of a row of the result are kept on the stack, in f32
// for half precision and i32 for quantized types, while input channels and taps
// go by. Quantized operands are loaded minus their zero points, so padding adds
// nothing.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/quantized.h"
#include "op/sliding.h"

#include <inttypes.h>

/// Which operand is what; -1: the operator has none.
typedef struct roles {
  int x, w, bias, x_zero, w_zero, x_scale, w_scale, y_scale, y_zero;
} roles;

static const roles conv_roles = {0, 1, 2, -1, -1, -1, -1, -1, -1};
static const roles integer_roles = {0, 1, -1, 2, 3, -1, -1, -1, -1};
static const roles linear_roles = {0, 3, 8, 2, 5, 1, 4, 6, 7};

//===-- Import, inference ---------------------------------------------------//

static fe_status upgrade_conv(fe_node *n) { return fe_sliding_upgrade(n, 1); }
static fe_status upgrade_linear(fe_node *n) { return fe_sliding_upgrade(n, 3); }

static fe_status infer_as(fe_infer *f, const roles *r, fe_dtype type) {
  fe_dims x, w, out;
  if (fe_in_dims(f, (unsigned)r->x, &x) || fe_in_dims(f, (unsigned)r->w, &w))
    return FE_FAILED;
  fe_sliding win;
  if (fe_sliding_read(f->ir, f->where, f->attrs, &x, &w, &win))
    return FE_FAILED;
  int64_t group = fe_attr_i64(f->attrs, "group", 1);
  int64_t channels = fe_dim_static(x.d[1]), each = fe_dim_static(w.d[1]),
          filters = fe_dim_static(w.d[0]);
  if (group < 1 || group > INT32_MAX || (filters != FE_DYN && filters % group))
    return fe_infer_error(
        f, NULL, "%" PRId64 " filters cannot be cut into %" PRId64 " groups",
        filters, group);
  if (channels != FE_DYN && each != FE_DYN &&
      (each > INT32_MAX || channels != each * group))
    return fe_infer_error(f, NULL,
                          "the input has %" PRId64 " channels but the weights "
                          "are for %" PRId64 " in each of %" PRId64 " groups",
                          channels, each, group);
  fe_dims bias;
  if (r->bias >= 0 && (unsigned)r->bias < f->n_in &&
      !fe_is_null(f->in[r->bias])) {
    if (fe_in_dims(f, (unsigned)r->bias, &bias))
      return FE_FAILED;
    int64_t n = bias.rank == 1 ? fe_dim_static(bias.d[0]) : -1;
    if (n != FE_DYN && n != filters && (filters != FE_DYN || n < 0))
      return fe_infer_error(f, NULL,
                            "the bias must have one dimension of the "
                            "number of filters");
  }
  const int parameters[] = {r->x_zero,  r->w_zero,  r->x_scale,
                            r->w_scale, r->y_scale, r->y_zero};
  for (unsigned i = 0; i < FE_COUNT(parameters); ++i) {
    int k = parameters[i];
    fe_dims p;
    if (k < 0 || (unsigned)k >= f->n_in || fe_is_null(f->in[k]))
      continue;
    if (fe_in_dims(f, (unsigned)k, &p))
      return FE_FAILED;
    if (p.rank > 1)
      return fe_infer_error(f, NULL,
                            "input %d must be a number or a list: of rank 0 "
                            "or 1, not %u",
                            k, p.rank);
  }
  out = (fe_dims){.rank = x.rank, .d = {x.d[0], w.d[0]}};
  for (unsigned i = 0; i < win.n; ++i)
    if (fe_sliding_out(f, &win, i, x.d[2 + i], &out.d[2 + i]))
      return FE_FAILED;
  fe_out_tensor(f, 0, type, &out);
  return FE_OK;
}

static fe_status infer_conv(fe_infer *f) {
  return infer_as(f, &conv_roles, fe_in_dtype(f, 0));
}
static fe_status infer_integer(fe_infer *f) {
  return infer_as(f, &integer_roles, FE_I32);
}
static fe_status infer_linear(fe_infer *f) {
  return infer_as(f, &linear_roles, fe_in_dtype(f, 7));
}

//===-- Lowering ------------------------------------------------------------//

typedef struct conv {
  fe_lower *l;
  fe_ir *ir;
  const roles *r;
  fe_kernel k;
  fe_sweep s;
  MlirValue arg[FE_MAX_OPERANDS]; // memrefs by operand
  fe_dtype sum;                   // type of the sums
} conv;

static bool present(const fe_lower *l, int i) {
  return i >= 0 && (unsigned)i < l->n_in && !fe_is_null(l->in[i]);
}

/// A parameter that is one number or one per filter.
static MlirValue parameter(conv *c, int operand, MlirValue filter) {
  fe_ir *ir = c->ir;
  MlirValue m = c->arg[operand], at = filter;
  fe_dtype t = c->l->in_type[operand];
  if (fe_rank(m) == 0)
    return fe_get(&c->k, m, t, 0, NULL);
  int64_t n = fe_static_dim(m, 0);
  MlirValue zero = fe_index(ir, 0);
  if (n == 1)
    at = zero;
  else if (n == FE_DYN)
    at = fe_select(ir, fe_cmp(ir, FE_EQ, fe_dim(ir, m, 0), fe_index(ir, 1)),
                   zero, filter);
  return fe_get(&c->k, m, t, 1, &at);
}

/// Loads an element of x or w as number of the sum's type.
static MlirValue operand_at(conv *c, int operand, MlirValue zero,
                            const MlirValue *at) {
  fe_dtype t = c->l->in_type[operand];
  MlirValue v = fe_get(&c->k, c->arg[operand], t, fe_rank(c->arg[operand]), at);
  v = fe_convert(c->ir, v, fe_compute_type(c->ir, c->sum),
                 fe_dtype_is_unsigned(t), false);
  return fe_is_null(zero) ? v : fe_sub(c->ir, v, zero);
}

static MlirValue zero_point(conv *c, int operand, MlirValue filter) {
  if (!present(c->l, operand))
    return (MlirValue){0};
  MlirValue v = parameter(c, operand, filter);
  return fe_convert(c->ir, v, c->ir->i32,
                    fe_dtype_is_unsigned(c->l->in_type[operand]), false);
}

/// Sum to element of the result: rounded to even, saturated.
static MlirValue requantize(conv *c, MlirValue sum, MlirValue scale,
                            MlirValue zero) {
  fe_ir *ir = c->ir;
  MlirValue v = fe_convert(ir, sum, ir->f32, false, false);
  v = fe_math(ir, "roundeven", fe_mul(ir, v, scale));
  v = fe_add(ir, v, fe_convert(ir, zero, ir->f32, false, false));
  return fe_saturated(ir, c->l->out_type[0], v);
}

static void write_kernel(conv *c, const fe_sliding *win, int64_t group,
                         MlirValue output, const MlirValue *pads) {
  fe_ir *ir = c->ir;
  fe_lower *l = c->l;
  const roles *r = c->r;
  fe_sweep *s = &c->s;
  MlirValue x = c->arg[r->x], w = c->arg[r->w];
  MlirType sum_type = fe_compute_type(ir, c->sum);
  int64_t tile = FE_TILE;
  MlirValue sums = fe_alloca(ir, fe_memref_type(ir, sum_type, 1, &tile));
  fe_sweep_begin(s, &c->k, win, x, output, w, pads);
  MlirValue filter = s->at[1], each = fe_dim(ir, w, 1);
  MlirValue first = fe_index(ir, 0);
  if (group > 1)
    first = fe_mul(
        ir,
        fe_divu(ir, filter, fe_divu(ir, fe_dim(ir, w, 0), fe_index(ir, group))),
        each);
  MlirValue none = fe_index(ir, 0);
  MlirValue x_zero = zero_point(c, r->x_zero, none);
  MlirValue w_zero = zero_point(c, r->w_zero, filter);
  MlirValue bias = present(l, r->bias) ? parameter(c, r->bias, filter)
                                       : fe_number(ir, sum_type, 0);
  fe_piece_begin(s);
  fe_store(ir, bias, sums, 1, &s->i);
  fe_piece_end(s);
  fe_region channels = fe_loop(ir, each);
  fe_taps_begin(s);
  MlirValue w_at[FE_MAX_RANK] = {filter, channels.iv};
  MlirValue x_at[FE_MAX_RANK] = {s->at[0], fe_add(ir, first, channels.iv)};
  for (unsigned i = 0; i < win->n; ++i)
    w_at[2 + i] = s->tap[i];
  MlirValue weight = operand_at(c, r->w, w_zero, w_at);
  fe_tap_begin(s);
  for (unsigned i = 0; i < win->n; ++i)
    x_at[2 + i] = s->source[i];
  MlirValue product = fe_mul(ir, operand_at(c, r->x, x_zero, x_at), weight);
  fe_store(ir, fe_add(ir, fe_load(ir, sums, 1, &s->i), product), sums, 1,
           &s->i);
  fe_tap_end(s);
  fe_taps_end(s);
  fe_loop_end(ir, &channels);
  MlirValue scale = {0}, y_zero = {0};
  if (present(l, r->y_scale)) {
    scale = fe_mul(ir, parameter(c, r->x_scale, none),
                   parameter(c, r->w_scale, filter));
    scale = fe_div(ir, scale, parameter(c, r->y_scale, none));
    y_zero = zero_point(c, r->y_zero, none);
  }
  fe_piece_begin(s);
  s->at[1 + win->n] = s->x;
  MlirValue v = fe_load(ir, sums, 1, &s->i);
  if (!fe_is_null(scale))
    v = requantize(c, v, scale, y_zero);
  fe_put(&c->k, v, output, l->out_type[0], 2 + win->n, s->at);
  fe_piece_end(s);
  fe_sweep_end(s);
}

/// Parameters per filter must have as many numbers as there are filters.
static void check_parameters(conv *c, MlirValue filters) {
  fe_lower *l = c->l;
  const roles *r = c->r;
  const int list[] = {r->bias,    r->w_zero,  r->w_scale, r->x_zero,
                      r->x_scale, r->y_scale, r->y_zero};
  enum { PER_FILTER = 3 }; // so many of these
  for (unsigned i = 0; i < FE_COUNT(list); ++i) {
    if (!present(l, list[i]) || fe_rank(l->in[list[i]]) != 1)
      continue;
    MlirValue n = fe_size(l, l->in[list[i]], 0);
    int64_t fixed = fe_static_dim(l->in[list[i]], 0);
    if (fixed == 1 || (i < PER_FILTER && fixed != FE_DYN &&
                       fixed == fe_static_dim(l->in[r->w], 0)))
      continue;
    MlirValue ok = fe_cmp(c->ir, FE_EQ, n, fe_index(c->ir, 1));
    if (i < PER_FILTER)
      ok = fe_or(c->ir, ok, fe_cmp(c->ir, FE_EQ, n, filters));
    fe_check(l, ok, "a parameter has a wrong number of elements");
  }
}

enum { MAX_COLUMNS = 64 << 20, MIN_FILTERS = 4 };

/// Whether the product of matrices is the better way.
static bool suits_columns(const fe_lower *l, const fe_sliding *win,
                          int64_t group) {
  fe_dtype t = l->in_type[0];
  int64_t filters = fe_static_dim(l->in[1], 0), size = fe_dtype_bits(t) / 8;
  if ((t != FE_F32 && t != FE_F64) || filters < MIN_FILTERS * group)
    return false;
  int64_t channels = fe_static_dim(l->in[0], 1);
  if (channels < 0 || __builtin_mul_overflow(size, channels, &size))
    return false;
  for (unsigned i = 0; i < win->n; ++i) {
    int64_t out = fe_static_dim(fe_result(l->op, 0), 2 + i);
    if (out < 0 || win->kernel[i] == FE_DYN ||
        __builtin_mul_overflow(size, out, &size) ||
        __builtin_mul_overflow(size, win->kernel[i], &size))
      return false;
  }
  return size <= MAX_COLUMNS;
}

/// A 1x1 convolution: the image is its matrix.
static bool is_product(const fe_sliding *win) {
  for (unsigned i = 0; i < win->n; ++i)
    if (win->kernel[i] != 1 || win->stride[i] != 1 || win->begin[i] ||
        win->end[i] || win->same != FE_SAME_NO)
      return false;
  return true;
}

static fe_status lower_as(fe_lower *l, const roles *r, fe_dtype sum) {
  fe_ir *ir = l->ir;
  conv c = {.l = l, .ir = ir, .r = r, .sum = sum};
  fe_dims xd, wd;
  fe_sliding win;
  if (!fe_dims_of(ir, fe_operand(l->op, (unsigned)r->x), &xd) ||
      !fe_dims_of(ir, fe_operand(l->op, (unsigned)r->w), &wd) ||
      fe_sliding_read(ir, l->where, l->op, &xd, &wd, &win))
    return FE_FAILED;
  MlirValue x = l->in[r->x], w = l->in[r->w];
  int64_t group = fe_attr_i64(l->op, "group", 1);
  MlirValue sizes[FE_MAX_RANK] = {{0}}, pads[FE_MAX_RANK];
  fe_out_sizes(l, 0, sizes);
  sizes[0] = fe_size(l, x, 0);
  sizes[1] = fe_size(l, w, 0);
  fe_sliding_sizes(l, &win, x, w, sizes);
  fe_sliding_pads(l, &win, x, w, sizes, pads);
  if (fe_static_dim(x, 1) == FE_DYN || fe_static_dim(w, 1) == FE_DYN)
    fe_check(l,
             fe_cmp(ir, FE_EQ, fe_size(l, x, 1),
                    fe_mul(ir, fe_size(l, w, 1), fe_index(ir, group))),
             "the weights are for another number of channels");
  if (fe_static_dim(w, 0) == FE_DYN && group > 1)
    fe_check(l,
             fe_cmp(ir, FE_EQ, fe_remu(ir, sizes[1], fe_index(ir, group)),
                    fe_index(ir, 0)),
             "the filters cannot be cut into groups");
  check_parameters(&c, sizes[1]);
  if (r == &conv_roles && suits_columns(l, &win, group)) {
    MlirValue columns = is_product(&win) ? x : fe_columns(l, &win, pads, sizes);
    int bias = present(l, r->bias) ? r->bias : -1;
    l->out[0] = fe_columns_product(l, columns, 1, bias, group, sum, sizes);
    return FE_OK;
  }
  MlirValue out = fe_out_empty(l, 0, sizes), in[FE_MAX_OPERANDS];
  unsigned n_in = 0, number[FE_MAX_OPERANDS];
  for (unsigned i = 0; i < l->n_in; ++i)
    if (!fe_is_null(l->in[i])) {
      number[n_in] = i;
      in[n_in++] = l->in[i];
    }
  fe_kernel_begin(&c.k, l, "conv", n_in, in, 1, &out, win.n, pads);
  for (unsigned i = 0; i < n_in; ++i)
    c.arg[number[i]] = c.k.in[i];
  // Padding that is known is better a constant in the kernel.
  for (unsigned i = 0; i < win.n; ++i)
    pads[i] =
        win.same == FE_SAME_NO ? fe_index(ir, win.begin[i]) : c.k.scalar[i];
  write_kernel(&c, &win, group, c.k.out[0], pads);
  MlirAffineExpr per = fe_dim_const(ir, 1), items, cost;
  unsigned w_arg = 0;
  while (number[w_arg] != (unsigned)r->w)
    ++w_arg;
  for (unsigned i = 1; i < 2 + win.n; ++i)
    per = fe_dim_mul(per, fe_kernel_dim(&c.k, w_arg, i));
  fe_sweep_extent(&c.k, n_in, per, &items, &cost);
  fe_kernel_end(&c.k, items, cost);
  l->out[0] = c.k.result[0];
  return FE_OK;
}

static fe_status lower_conv(fe_lower *l) {
  return lower_as(l, &conv_roles, l->in_type[0]);
}
static fe_status lower_integer(fe_lower *l) {
  return lower_as(l, &integer_roles, FE_I32);
}
static fe_status lower_linear(fe_lower *l) {
  return lower_as(l, &linear_roles, FE_I32);
}

static const fe_attr_def conv_attrs[] = {{"auto_pad", FE_A_STRING, "NOTSET"},
                                         {"dilations", FE_A_INTS, ""},
                                         {"group", FE_A_INT, "1"},
                                         {"kernel_shape", FE_A_INTS, ""},
                                         {"pads", FE_A_INTS, ""},
                                         {"strides", FE_A_INTS, ""},
                                         {0}};

const fe_op_row fe_family_conv[] = {
    {.name = "Conv",
     .since = 1,
     .inputs = "X:T, W:T, B?:T",
     .outputs = "Y:T",
     .types = "T=float",
     .attrs = conv_attrs,
     .upgrade = upgrade_conv,
     .infer = infer_conv,
     .lower = lower_conv},
    {.name = "ConvInteger",
     .since = 10,
     .inputs = "x:T1, w:T2, x_zero_point?:T1, w_zero_point?:T2",
     .outputs = "y:T3",
     .types = "T1=i8,u8;T2=i8,u8;T3=i32",
     .attrs = conv_attrs,
     .upgrade = upgrade_conv,
     .infer = infer_integer,
     .lower = lower_integer},
    {.name = "QLinearConv",
     .since = 10,
     .inputs = "x:T1, x_scale:S, x_zero_point:T1, w:T2, w_scale:S, "
               "w_zero_point:T2, y_scale:S, y_zero_point:T3, B?:T4",
     .outputs = "y:T3",
     .types = "S=f32;T1=i8,u8;T2=i8,u8;T3=i8,u8;T4=i32",
     .attrs = conv_attrs,
     .upgrade = upgrade_linear,
     .infer = infer_linear,
     .lower = lower_linear},
    {0}};
