//===- gradient.c - Gradient of ai.onnx.preview.training ---------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The node names a value y of its graph and values x that y depends on; its
// inputs are where to take the derivatives. Method: reverse accumulation over
// the ops between them, which have been made already; they are made again where
// the node's inputs are other values than those named. A table has, for each
// operator, the derivatives by its operands, written in operators: so they
// fuse, fold and are differentiated like any others. The sum of y is
// differentiated when y is more than one number.
//
//===----------------------------------------------------------------------===//
#include "import/import.h"

#include <math.h>
#include <string.h>

typedef struct gradient {
  fe_call_site *c;
  fe_ir *ir;
  fe_arena *arena;
  size_t n_x, n_z;
  MlirValue *named;          // x, then z
  fe_map needs;              // op or named value -> itself: y may vary with it
  fe_map visited;            // ops
  fe_map copies;             // ops that depend on a named value
  fe_map sums;               // value -> derivative of y by it
  fe_vec(MlirOperation) ops; // each after those it depends on
} gradient;

/// One op whose derivatives are wanted.
typedef struct step {
  gradient *g;
  MlirOperation op;
  MlirValue x[3], y, dy;
} step;

bool fe_names_values(const onnx_NodeProto *n) {
  return n->op_type && !strcmp(n->op_type, "Gradient") &&
         !strcmp(fe_domain(n), "ai.onnx.preview.training");
}

//===-- Writing operators ---------------------------------------------------//

static fe_dtype type_of(MlirValue v) { return fe_dtype_of_elem(fe_elem_of(v)); }

static MlirValue one(const step *s, const char *op, MlirValue a) {
  return fe_onnx1(s->g->ir, op, a);
}

static MlirValue two(const step *s, const char *op, MlirValue a, MlirValue b) {
  return fe_onnx1(s->g->ir, op, a, b);
}

static MlirValue mul(const step *s, MlirValue a, MlirValue b) {
  return two(s, "Mul", a, b);
}

static MlirValue number(const step *s, double v) {
  return fe_constant_scalar(s->g->ir, type_of(s->dy), v);
}

static MlirValue scaled(const step *s, double by, MlirValue v) {
  return mul(s, number(s, by), v);
}

/// v in this shape, of as many elements; sizes of 0 are meant.
static MlirValue in_shape(const step *s, MlirValue v, MlirValue shape) {
  MlirValue in[2] = {v, shape};
  MlirNamedAttribute zero = fe_at_i64(s->g->ir, "allowzero", 1);
  return fe_first(fe_onnx(s->g->ir, "Reshape", 2, in, 1, 1, &zero));
}

static MlirValue reshaped(const step *s, MlirValue v, MlirValue like) {
  return in_shape(s, v, one(s, "Shape", like));
}

static MlirValue expanded(const step *s, MlirValue v, MlirValue like) {
  return two(s, "Expand", v, one(s, "Shape", like));
}

static MlirValue summed(const step *s, MlirValue v, unsigned n,
                        const int64_t *axes, bool keep) {
  fe_ir *ir = s->g->ir;
  if (!n)
    return v;
  MlirValue in[2] = {v, fe_constant_i64s(ir, n, axes)};
  MlirNamedAttribute attr = fe_at_i64(ir, "keepdims", keep);
  return fe_first(fe_onnx(ir, "ReduceSum", 2, in, 1, 1, &attr));
}

static MlirValue transposed(const step *s, MlirValue v, unsigned rank,
                            const int64_t *perm) {
  MlirNamedAttribute attr = fe_at_i64s(s->g->ir, "perm", rank, perm);
  return fe_first(fe_onnx(s->g->ir, "Transpose", 1, &v, 1, 1, &attr));
}

/// The last two dims exchanged.
static MlirValue flipped(const step *s, MlirValue v) {
  int64_t perm[FE_MAX_RANK];
  unsigned rank = fe_rank(v);
  for (unsigned i = 0; i < rank; i++)
    perm[i] = i + 2 < rank ? i : 2 * (int64_t)rank - 3 - i;
  return transposed(s, v, rank, perm);
}

/// Element i of a list of sizes, as a list.
static MlirValue size_at(const step *s, MlirValue sizes, int64_t i) {
  return two(s, "Gather", sizes, fe_constant_i64s(s->g->ir, 1, &i));
}

/// Summed over those of the marked dims that `like` has one of, where only the
/// run knows which: each is taken for its repetitions and `like`'s size.
static MlirValue sum_open(const step *s, MlirValue v, MlirValue like,
                          unsigned rank, const bool *open) {
  fe_ir *ir = s->g->ir;
  MlirValue have = one(s, "Shape", v), want = one(s, "Shape", like);
  MlirValue parts[2 * FE_MAX_RANK];
  int64_t axes[FE_MAX_RANK], least = 1;
  unsigned n = 0, n_axes = 0;
  for (unsigned i = 0; i < rank; i++) {
    MlirValue size = size_at(s, want, i);
    if (open[i]) {
      MlirValue some = two(s, "Max", size, fe_constant_i64s(ir, 1, &least));
      axes[n_axes++] = n;
      parts[n++] = two(s, "Div", size_at(s, have, i), some);
    }
    parts[n++] = size;
  }
  MlirNamedAttribute axis = fe_at_i64(ir, "axis", 0);
  v = in_shape(s, v, fe_first(fe_onnx(ir, "Concat", n, parts, 1, 1, &axis)));
  return reshaped(s, summed(s, v, n_axes, axes, false), like);
}

/// Summed over the dims along which `like` was broadcast.
static MlirValue sum_to(const step *s, MlirValue v, MlirValue like) {
  fe_dims d, to;
  fe_ir *ir = s->g->ir;
  if (fe_is_null(v) || !fe_dims_of(ir, v, &d) || !fe_dims_of(ir, like, &to) ||
      d.rank < to.rank)
    return (MlirValue){0};
  int64_t front[FE_MAX_RANK], ones[FE_MAX_RANK];
  bool open[FE_MAX_RANK] = {0}, any = false;
  unsigned lead = d.rank - to.rank, n = 0;
  for (unsigned i = 0; i < lead; i++)
    front[i] = i;
  for (unsigned i = 0; i < to.rank; i++) {
    if (fe_dim_same(d.d[lead + i], to.d[i]))
      continue;
    if (fe_dim_static(to.d[i]) == 1)
      ones[n++] = i;
    else
      any = open[i] = true;
  }
  v = summed(s, summed(s, v, lead, front, false), n, ones, true);
  return any ? sum_open(s, v, like, to.rank, open) : v;
}

//===-- Derivatives ---------------------------------------------------------//

typedef MlirValue (*derivative)(const step *s);

static MlirValue d_same(const step *s) { return s->dy; }
static MlirValue d_minus(const step *s) { return one(s, "Neg", s->dy); }
static MlirValue d_mul_0(const step *s) { return mul(s, s->dy, s->x[1]); }
static MlirValue d_mul_1(const step *s) { return mul(s, s->dy, s->x[0]); }
static MlirValue d_div_0(const step *s) {
  return two(s, "Div", s->dy, s->x[1]);
}
static MlirValue d_div_1(const step *s) {
  return one(s, "Neg", two(s, "Div", mul(s, s->dy, s->y), s->x[1]));
}
static MlirValue d_pow_0(const step *s) {
  MlirValue less =
      two(s, "Sub", s->x[1], fe_constant_scalar(s->g->ir, type_of(s->x[1]), 1));
  MlirValue by = s->x[1];
  if (type_of(by) != type_of(s->dy)) {
    MlirNamedAttribute to = fe_at_i64(s->g->ir, "to", type_of(s->dy));
    by = fe_first(fe_onnx(s->g->ir, "Cast", 1, &by, 1, 1, &to));
  }
  return mul(s, mul(s, s->dy, by), two(s, "Pow", s->x[0], less));
}
static MlirValue d_pow_1(const step *s) {
  return mul(s, mul(s, s->dy, s->y), one(s, "Log", s->x[0]));
}
static MlirValue d_exp(const step *s) { return mul(s, s->dy, s->y); }
static MlirValue d_log(const step *s) { return two(s, "Div", s->dy, s->x[0]); }
static MlirValue d_sqrt(const step *s) {
  return two(s, "Div", scaled(s, 0.5, s->dy), s->y);
}
static MlirValue d_reciprocal(const step *s) {
  return one(s, "Neg", mul(s, s->dy, mul(s, s->y, s->y)));
}
static MlirValue d_sin(const step *s) {
  return mul(s, s->dy, one(s, "Cos", s->x[0]));
}
static MlirValue d_cos(const step *s) {
  return one(s, "Neg", mul(s, s->dy, one(s, "Sin", s->x[0])));
}
static MlirValue d_sinh(const step *s) {
  return mul(s, s->dy, one(s, "Cosh", s->x[0]));
}
static MlirValue d_cosh(const step *s) {
  return mul(s, s->dy, one(s, "Sinh", s->x[0]));
}
static MlirValue d_tanh(const step *s) {
  return mul(s, s->dy, two(s, "Sub", number(s, 1), mul(s, s->y, s->y)));
}
static MlirValue d_sigmoid(const step *s) {
  return mul(s, s->dy, mul(s, s->y, two(s, "Sub", number(s, 1), s->y)));
}
static MlirValue d_softplus(const step *s) {
  return mul(s, s->dy, one(s, "Sigmoid", s->x[0]));
}
static MlirValue d_abs(const step *s) {
  return mul(s, s->dy, one(s, "Sign", s->x[0]));
}
static MlirValue d_erf(const step *s) {
  MlirValue bell = one(s, "Exp", one(s, "Neg", mul(s, s->x[0], s->x[0])));
  return mul(s, s->dy, scaled(s, 2 / sqrt(3.14159265358979323846), bell));
}
static MlirValue picked(const step *s, MlirValue condition, MlirValue yes,
                        MlirValue no) {
  return fe_onnx1(s->g->ir, "Where", condition, yes, no);
}
static MlirValue d_relu(const step *s) {
  return picked(s, two(s, "Greater", s->x[0], number(s, 0)), s->dy,
                number(s, 0));
}
static MlirValue d_leaky_relu(const step *s) {
  double alpha = fe_attr_f64(s->op, "alpha", 0.01);
  return picked(s, two(s, "Less", s->x[0], number(s, 0)),
                scaled(s, alpha, s->dy), s->dy);
}
/// Of equal operands the first counts.
static MlirValue d_max_0(const step *s) {
  return picked(s, two(s, "GreaterOrEqual", s->x[0], s->x[1]), s->dy,
                number(s, 0));
}
static MlirValue d_max_1(const step *s) {
  return picked(s, two(s, "GreaterOrEqual", s->x[0], s->x[1]), number(s, 0),
                s->dy);
}
static MlirValue d_min_0(const step *s) {
  return picked(s, two(s, "LessOrEqual", s->x[0], s->x[1]), s->dy,
                number(s, 0));
}
static MlirValue d_min_1(const step *s) {
  return picked(s, two(s, "LessOrEqual", s->x[0], s->x[1]), number(s, 0),
                s->dy);
}
static MlirValue d_where_1(const step *s) {
  return picked(s, s->x[0], s->dy, number(s, 0));
}
static MlirValue d_where_2(const step *s) {
  return picked(s, s->x[0], number(s, 0), s->dy);
}
static MlirValue d_cast(const step *s) {
  MlirNamedAttribute to = fe_at_i64(s->g->ir, "to", type_of(s->x[0]));
  return fe_first(fe_onnx(s->g->ir, "Cast", 1, &s->dy, 1, 1, &to));
}
static MlirValue d_reshape(const step *s) {
  return reshaped(s, s->dy, s->x[0]);
}
static MlirValue d_transpose(const step *s) {
  int64_t perm[FE_MAX_RANK], back[FE_MAX_RANK] = {0};
  unsigned rank = fe_rank(s->y);
  unsigned n = fe_attr_i64s(s->op, "perm", perm, FE_MAX_RANK);
  for (unsigned i = 0; i < rank; i++)
    back[n ? perm[i] : rank - 1 - i] = i;
  return transposed(s, s->dy, rank, back);
}

/// A vector as a matrix: one row (operand 0) or one column (operand 1).
static MlirValue as_matrix(const step *s, MlirValue v, unsigned operand) {
  int64_t axis = operand;
  if (fe_rank(v) != 1)
    return v;
  return two(s, "Unsqueeze", v, fe_constant_i64s(s->g->ir, 1, &axis));
}

static MlirValue d_matmul(const step *s, unsigned operand) {
  MlirValue a = as_matrix(s, s->x[0], 0), b = as_matrix(s, s->x[1], 1);
  MlirValue dy = s->dy;
  int64_t column = -1, row = -2;
  if (fe_rank(s->x[1]) == 1)
    dy = two(s, "Unsqueeze", dy, fe_constant_i64s(s->g->ir, 1, &column));
  if (fe_rank(s->x[0]) == 1)
    dy = two(s, "Unsqueeze", dy, fe_constant_i64s(s->g->ir, 1, &row));
  MlirValue d = operand ? two(s, "MatMul", flipped(s, a), dy)
                        : two(s, "MatMul", dy, flipped(s, b));
  d = sum_to(s, d, operand ? b : a);
  MlirValue like = s->x[operand];
  return fe_rank(like) == 1 ? reshaped(s, d, like) : d;
}
static MlirValue d_matmul_0(const step *s) { return d_matmul(s, 0); }
static MlirValue d_matmul_1(const step *s) { return d_matmul(s, 1); }

static MlirValue d_gemm(const step *s, unsigned operand) {
  bool trans[2] = {fe_attr_i64(s->op, "transA", 0),
                   fe_attr_i64(s->op, "transB", 0)};
  MlirValue dy = scaled(s, fe_attr_f64(s->op, "alpha", 1), s->dy);
  MlirValue other = s->x[!operand];
  // The other factor transposed, unless it is so already.
  if (!trans[!operand])
    other = flipped(s, other);
  MlirValue d =
      operand ? two(s, "MatMul", other, dy) : two(s, "MatMul", dy, other);
  return trans[operand] ? flipped(s, d) : d;
}
static MlirValue d_gemm_0(const step *s) { return d_gemm(s, 0); }
static MlirValue d_gemm_1(const step *s) { return d_gemm(s, 1); }
static MlirValue d_gemm_2(const step *s) {
  return scaled(s, fe_attr_f64(s->op, "beta", 1), s->dy);
}

static MlirValue d_sum(const step *s) {
  MlirValue dy = s->dy;
  bool all = fe_is_null(s->x[1]) || mlirTypeIsANone(mlirValueGetType(s->x[1]));
  if (all && fe_attr_i64(s->op, "noop_with_empty_axes", 0))
    return dy;
  if (!all && !fe_attr_i64(s->op, "keepdims", 1))
    dy = two(s, "Unsqueeze", dy, s->x[1]);
  return expanded(s, dy, s->x[0]);
}
static MlirValue d_mean(const step *s) {
  MlirNamedAttribute to = fe_at_i64(s->g->ir, "to", type_of(s->dy));
  MlirValue n[2] = {one(s, "Size", s->x[0]), one(s, "Size", s->y)};
  for (unsigned i = 0; i < 2; i++)
    n[i] = fe_first(fe_onnx(s->g->ir, "Cast", 1, &n[i], 1, 1, &to));
  return two(s, "Div", d_sum(s), two(s, "Div", n[0], n[1]));
}
static MlirValue d_softmax(const step *s) {
  int64_t axis = fe_attr_i64(s->op, "axis", -1);
  MlirValue sum = summed(s, mul(s, s->dy, s->y), 1, &axis, true);
  return mul(s, two(s, "Sub", s->dy, sum), s->y);
}
static MlirValue d_log_softmax(const step *s) {
  int64_t axis = fe_attr_i64(s->op, "axis", -1);
  MlirValue sum = summed(s, s->dy, 1, &axis, true);
  return two(s, "Sub", s->dy, mul(s, one(s, "Exp", s->y), sum));
}

/// By operand. Derivatives are summed to the operand's shape where operators
/// broadcast.
static const struct {
  const char *op;
  derivative by[3];
} table[] = {
    {"Add", {d_same, d_same}},
    {"Sub", {d_same, d_minus}},
    {"Mul", {d_mul_0, d_mul_1}},
    {"Div", {d_div_0, d_div_1}},
    {"Pow", {d_pow_0, d_pow_1}},
    {"Max", {d_max_0, d_max_1}},
    {"Min", {d_min_0, d_min_1}},
    {"Where", {NULL, d_where_1, d_where_2}},
    {"Neg", {d_minus}},
    {"Exp", {d_exp}},
    {"Log", {d_log}},
    {"Sqrt", {d_sqrt}},
    {"Reciprocal", {d_reciprocal}},
    {"Sin", {d_sin}},
    {"Cos", {d_cos}},
    {"Sinh", {d_sinh}},
    {"Cosh", {d_cosh}},
    {"Tanh", {d_tanh}},
    {"Sigmoid", {d_sigmoid}},
    {"Softplus", {d_softplus}},
    {"Relu", {d_relu}},
    {"LeakyRelu", {d_leaky_relu}},
    {"Abs", {d_abs}},
    {"Erf", {d_erf}},
    {"Cast", {d_cast}},
    {"Reshape", {d_reshape}},
    {"Squeeze", {d_reshape}},
    {"Unsqueeze", {d_reshape}},
    {"Flatten", {d_reshape}},
    {"Expand", {d_same}},
    {"Transpose", {d_transpose}},
    {"MatMul", {d_matmul_0, d_matmul_1}},
    {"Gemm", {d_gemm_0, d_gemm_1, d_gemm_2}},
    {"ReduceSum", {d_sum}},
    {"ReduceMean", {d_mean}},
    {"Softmax", {d_softmax}},
    {"LogSoftmax", {d_log_softmax}},
};

static derivative derivative_of(MlirOperation op, unsigned operand) {
  const fe_op_row *row = fe_op_row_of(op);
  for (size_t i = 0; row && i < FE_COUNT(table); i++)
    if (!strcmp(table[i].op, row->name) && (!row->domain || !*row->domain))
      return operand < 3 ? table[i].by[operand] : NULL;
  return NULL;
}

//===-- The graph between x and y -------------------------------------------//

static bool needs(const gradient *g, MlirValue v) {
  if (fe_is_null(v) || !mlirTypeIsARankedTensor(mlirValueGetType(v)) ||
      !fe_dtype_is_float(type_of(v)))
    return false;
  if (fe_map_get_ptr(&g->needs, v.ptr))
    return true;
  MlirOperation def = fe_def(v);
  return !mlirOperationIsNull(def) && fe_map_get_ptr(&g->needs, def.ptr);
}

static bool is_named(const gradient *g, MlirValue v) {
  for (size_t i = 0; i < g->n_x + g->n_z; i++)
    if (fe_same(g->named[i], v))
      return true;
  return false;
}

/// Puts the ops that `y` comes from into order; the graph may be deep, so with
/// a stack of its own. None behind named values.
static void collect(gradient *g, MlirValue y) {
  fe_vec(MlirOperation) stack = {0};
  MlirOperation def = fe_def(y);
  if (!mlirOperationIsNull(def) && !is_named(g, y))
    fe_push(g->arena, &stack, def);
  while (stack.n) {
    MlirOperation op = stack.at[stack.n - 1];
    if (fe_map_get_ptr(&g->visited, op.ptr)) {
      stack.n--;
      continue;
    }
    size_t before = stack.n;
    for (unsigned i = 0; i < fe_n_operands(op); i++) {
      MlirValue v = fe_operand(op, i);
      def = fe_def(v);
      if (!mlirOperationIsNull(def) && !is_named(g, v) &&
          !fe_map_get_ptr(&g->visited, def.ptr))
        fe_push(g->arena, &stack, def);
    }
    if (stack.n > before)
      continue;
    stack.n--;
    fe_map_set_ptr(g->arena, &g->visited, op.ptr, op.ptr);
    bool used = false, varies = false;
    for (unsigned i = 0; i < fe_n_operands(op); i++) {
      MlirValue v = fe_operand(op, i);
      def = fe_def(v);
      used = used || is_named(g, v) ||
             (!mlirOperationIsNull(def) && fe_map_get_ptr(&g->copies, def.ptr));
      varies = varies || needs(g, v);
    }
    if (!used)
      continue;
    fe_push(g->arena, &g->ops, op);
    fe_map_set_ptr(g->arena, &g->copies, op.ptr, op.ptr); // to be made again
    if (varies)
      fe_map_set_ptr(g->arena, &g->needs, op.ptr, op.ptr);
  }
}

/// What stands for v where the derivatives are taken.
static MlirValue current(const gradient *g, MlirValue v) {
  const void *copy = fe_is_null(v) ? NULL : fe_map_get_ptr(&g->sums, v.ptr);
  return copy ? (MlirValue){copy} : v;
}

/// The ops again, from the node's inputs; named values, ops and what needs them
/// are then the new ones.
static fe_status repeat(gradient *g, MlirValue *y) {
  for (size_t i = 0; i < g->n_x + g->n_z; i++)
    fe_map_set_ptr(g->arena, &g->sums, g->named[i].ptr,
                   (void *)g->c->in[i].ptr);
  for (size_t i = 0; i < g->ops.n; i++) {
    MlirOperation op = g->ops.at[i];
    if (!fe_op_in(op, "onnx"))
      return fe_error(g->ir->diags, g->c->where,
                      "give the node the values that it names",
                      "control flow between '%s' and the variables cannot be "
                      "repeated for other inputs",
                      "y");
    unsigned n = fe_n_operands(op);
    MlirValue *in = FE_NEW_N(g->arena, MlirValue, n + 1);
    for (unsigned k = 0; k < n; k++)
      in[k] = current(g, fe_operand(op, k));
    MlirOperation copy = fe_op_like(g->ir, op, in, NULL);
    for (unsigned k = 0; k < fe_n_results(op); k++)
      fe_map_set_ptr(g->arena, &g->sums, fe_result(op, k).ptr,
                     (void *)fe_result(copy, k).ptr);
    if (fe_map_get_ptr(&g->needs, op.ptr))
      fe_map_set_ptr(g->arena, &g->needs, copy.ptr, copy.ptr);
    g->ops.at[i] = copy;
  }
  *y = current(g, *y);
  g->sums = (fe_map){0};
  for (size_t i = 0; i < g->n_x + g->n_z; i++) {
    g->named[i] = g->c->in[i];
    if (i < g->n_x)
      fe_map_set_ptr(g->arena, &g->needs, g->named[i].ptr, g->ir);
  }
  return FE_OK;
}

//===-- Accumulation --------------------------------------------------------//

static fe_status add(gradient *g, MlirValue v, MlirValue d) {
  if (fe_is_null(d))
    return FE_FAILED;
  const void *had = fe_map_get_ptr(&g->sums, v.ptr);
  if (had)
    d = fe_onnx1(g->ir, "Add", (MlirValue){had}, d);
  fe_map_set_ptr(g->arena, &g->sums, v.ptr, (void *)d.ptr);
  return fe_is_null(d) ? FE_FAILED : FE_OK;
}

static fe_status propagate(gradient *g, MlirOperation op) {
  const void *dy = NULL;
  unsigned result = 0;
  for (unsigned i = 0; i < fe_n_results(op); i++)
    if (fe_map_get_ptr(&g->sums, fe_result(op, i).ptr)) {
      dy = fe_map_get_ptr(&g->sums, fe_result(op, i).ptr);
      result = i;
    }
  if (!dy || !fe_map_get_ptr(&g->needs, op.ptr))
    return FE_OK;
  step s = {.g = g, .op = op, .y = fe_result(op, 0), .dy = {dy}};
  unsigned n = fe_n_operands(op);
  for (unsigned i = 0; i < n && i < 3; i++)
    s.x[i] = fe_operand(op, i);
  for (unsigned i = 0; i < n; i++) {
    MlirValue v = fe_operand(op, i);
    if (!needs(g, v))
      continue;
    derivative by = result ? NULL : derivative_of(op, i);
    if (!by) {
      const fe_op_row *row = fe_op_row_of(op);
      const char *node = fe_loc_node(g->ir, mlirOperationGetLocation(op));
      return fe_error(g->ir->diags, g->c->where,
                      "export the model with the derivatives written out",
                      "the derivative of %s (node '%s') by input %u is not "
                      "known",
                      row ? row->name : "control flow", node ? node : "", i);
    }
    MlirValue d = by(&s);
    if (fe_is_null(d) || add(g, v, sum_to(&s, d, v)) != FE_OK)
      return FE_FAILED;
  }
  return FE_OK;
}

static const char *text_of(const gradient *g, fe_raw raw) {
  return fe_strndup(g->arena, (const char *)raw.at, raw.n);
}

static fe_status find_named(gradient *g, const char *attr, size_t at,
                            size_t n) {
  const fe_bound_attr *a = fe_site_attr(g->c, attr);
  for (size_t i = 0; i < n; i++) {
    const char *name = text_of(g, FE_RAW_AT(a->attr->strings, i));
    const fe_slot *slot = fe_scope_find(g->c->scope, name);
    g->named[at + i] = slot ? slot->value : (MlirValue){0};
    if (fe_is_null(g->named[at + i]))
      return fe_error(g->ir->diags, g->c->where, NULL,
                      "'%s' in %s is no value of the graph", name, attr);
    if (at + i >= g->c->n_in || fe_is_null(g->c->in[at + i]))
      return fe_error(g->ir->diags, g->c->where, NULL,
                      "there is no input for '%s' in %s", name, attr);
    if (!mlirTypeEqual(mlirValueGetType(g->named[at + i]),
                       mlirValueGetType(g->c->in[at + i])))
      return fe_error(g->ir->diags, g->c->where, NULL,
                      "the input for '%s' in %s has another type or shape",
                      name, attr);
  }
  return FE_OK;
}

fe_status fe_import_gradient(fe_call_site *c) {
  fe_ir *ir = c->scope->im->ir;
  gradient g = {.c = c, .ir = ir, .arena = c->scope->im->arena};
  const fe_bound_attr *xs = fe_site_attr(c, "xs"), *zs = fe_site_attr(c, "zs"),
                      *target = fe_site_attr(c, "y");
  if (!xs || !target)
    return fe_error(ir->diags, c->where, NULL,
                    "the attributes xs and y are required");
  g.n_x = xs->attr->strings.n;
  g.n_z = zs ? zs->attr->strings.n : 0;
  g.named = FE_NEW_N(g.arena, MlirValue, g.n_x + g.n_z + 1);
  const char *name = text_of(&g, target->attr->s);
  const fe_slot *slot = fe_scope_find(c->scope, name);
  if (!slot || fe_is_null(slot->value))
    return fe_error(ir->diags, c->where, NULL,
                    "'%s' in y is no value of the "
                    "graph",
                    name);
  if (find_named(&g, "xs", 0, g.n_x) || find_named(&g, "zs", g.n_x, g.n_z))
    return FE_FAILED;
  MlirValue y = slot->value;
  bool same = true;
  for (size_t i = 0; i < g.n_x + g.n_z; i++) {
    same = same && fe_same(g.named[i], c->in[i]);
    if (i < g.n_x && !fe_dtype_is_float(type_of(g.named[i])))
      return fe_error(ir->diags, c->where, NULL,
                      "derivatives are by tensors of floats only");
    if (i < g.n_x)
      fe_map_set_ptr(g.arena, &g.needs, g.named[i].ptr, ir);
  }
  collect(&g, y);
  if (!same && repeat(&g, &y) != FE_OK)
    return FE_FAILED;
  if (!needs(&g, y) && !fe_dtype_is_float(type_of(y)))
    return fe_error(ir->diags, c->where, NULL, "'%s' is no tensor of floats",
                    name);
  step s = {.g = &g, .dy = y};
  fe_map_set_ptr(g.arena, &g.sums, y.ptr,
                 (void *)expanded(&s, number(&s, 1), y).ptr);
  for (size_t i = g.ops.n; i-- > 0;)
    if (propagate(&g, g.ops.at[i]) != FE_OK)
      return FE_FAILED;
  for (size_t i = 0; i < g.n_x && i < c->n_out; i++) {
    const void *d = fe_map_get_ptr(&g.sums, g.named[i].ptr);
    s.dy = g.named[i];
    c->out[i] = d ? (MlirValue){d} : expanded(&s, number(&s, 0), g.named[i]);
    if (fe_is_null(c->out[i]))
      return FE_FAILED;
  }
  return FE_OK;
}
