//===- ml_linear.c - LinearRegressor, LinearClassifier, SVM* -----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewritten at import into matrix products and elementwise operators. Where
// the standard is silent (two classes with one score, votes) they do as ONNX
// Runtime does. Classes named by texts are refused.
//
//===----------------------------------------------------------------------===//
#include "op/ml.h"

#include <string.h>

static MlirValue number(fe_ir *ir, double v) {
  return fe_constant_scalar(ir, FE_F32, v);
}

static MlirValue matrix(fe_ir *ir, int64_t rows, int64_t columns,
                        const float *v) {
  int64_t dims[2] = {rows, columns};
  return fe_constant(
      ir, NULL, FE_F32, 2, dims,
      fe_memdup(ir->arena, v, (size_t)(rows * columns) * sizeof *v));
}

/// x times the transpose of `rows` vectors in `v`, plus `bias` when it fits.
static MlirValue products(fe_ir *ir, MlirValue x, int64_t rows, int64_t columns,
                          const float *v) {
  float *t = FE_NEW_N(ir->arena, float, (size_t)(rows * columns) + 1);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      t[j * rows + i] = v[i * columns + j];
  return fe_onnx1(ir, "MatMul", x, matrix(ir, columns, rows, t));
}

static MlirValue with_attr(fe_ir *ir, const char *op, unsigned n,
                           const MlirValue *in, const char *name, int64_t v) {
  MlirNamedAttribute a = fe_at_i64(ir, name, v);
  return fe_first(fe_onnx(ir, op, n, in, 1, 1, &a));
}

/// Columns side by side.
static MlirValue beside(fe_ir *ir, MlirValue a, MlirValue b) {
  MlirValue in[2] = {a, b};
  return with_attr(ir, "concat", 2, in, "axis", 1);
}

static MlirValue last_axis(fe_ir *ir) {
  int64_t last = -1;
  return fe_constant_i64s(ir, 1, &last);
}

//===-- What follows the scores ---------------------------------------------//

static MlirValue softmax_zero(fe_ir *ir, MlirValue v) {
  MlirValue most = fe_onnx1(ir, "ReduceMax", v, last_axis(ir));
  MlirValue large = fe_onnx1(ir, "Exp", fe_onnx1(ir, "Sub", v, most));
  MlirValue small =
      fe_onnx1(ir, "Mul", v, fe_onnx1(ir, "Exp", fe_onnx1(ir, "Neg", most)));
  MlirValue counts =
      fe_onnx1(ir, "Greater", fe_onnx1(ir, "Abs", v), number(ir, 1e-7));
  MlirValue e = fe_onnx1(ir, "Where", counts, large, small);
  return fe_onnx1(ir, "Div", e, fe_onnx1(ir, "ReduceSum", e, last_axis(ir)));
}

/// sqrt(2) times the inverse of erf at 2 v - 1, by Winitzki's approximation.
static MlirValue probit(fe_ir *ir, MlirValue v) {
  MlirValue x =
      fe_onnx1(ir, "Sub", fe_onnx1(ir, "Mul", v, number(ir, 2)), number(ir, 1));
  MlirValue rest =
      fe_onnx1(ir, "Sub", number(ir, 1), fe_onnx1(ir, "Mul", x, x));
  MlirValue log = fe_onnx1(ir, "Log", rest);
  MlirValue a = fe_onnx1(ir, "Add", number(ir, 2 / (3.14159265358979 * 0.147)),
                         fe_onnx1(ir, "Mul", log, number(ir, 0.5)));
  MlirValue b = fe_onnx1(ir, "Mul", log, number(ir, 1 / 0.147));
  MlirValue root =
      fe_onnx1(ir, "Sqrt", fe_onnx1(ir, "Sub", fe_onnx1(ir, "Mul", a, a), b));
  MlirValue y = fe_onnx1(ir, "Sqrt", fe_onnx1(ir, "Sub", root, a));
  y = fe_onnx1(ir, "Mul", fe_onnx1(ir, "Sign", x), y);
  return fe_onnx1(ir, "Mul", y, number(ir, 1.41421356));
}

const char *fe_ml_text(fe_node *n, const char *name, const char *absent) {
  const fe_node_attr *a = fe_ml_attr(n, name);
  return a && a->kind == FE_A_STRING ? a->s : absent;
}

fe_status fe_ml_post(fe_node *n, const char *name, MlirValue *v) {
  fe_ir *ir = n->ir;
  if (!strcmp(name, "SOFTMAX"))
    *v = with_attr(ir, "softmax", 1, v, "axis", -1);
  else if (!strcmp(name, "LOGISTIC"))
    *v = fe_onnx1(ir, "Sigmoid", *v);
  else if (!strcmp(name, "SOFTMAX_ZERO"))
    *v = softmax_zero(ir, *v);
  else if (!strcmp(name, "PROBIT"))
    *v = probit(ir, *v);
  else if (strcmp(name, "NONE"))
    return fe_ml_error(n, "post_transform", "there is no such transform");
  return fe_is_null(*v) ? FE_FAILED : FE_OK;
}

MlirValue fe_ml_best(fe_ir *ir, MlirValue scores, const int64_t *labels,
                     size_t n) {
  MlirNamedAttribute attrs[2] = {fe_at_i64(ir, "axis", 1),
                                 fe_at_i64(ir, "keepdims", 0)};
  MlirValue index = fe_first(fe_onnx(ir, "arg_max", 1, &scores, 1, 2, attrs));
  return fe_onnx1(ir, "Gather", fe_constant_i64s(ir, (unsigned)n, labels),
                  index);
}

MlirValue fe_ml_above(fe_ir *ir, MlirValue score, double threshold,
                      bool or_equal, int64_t yes, int64_t no) {
  int64_t flat = -1, *values = FE_NEW_N(ir->arena, int64_t, 2);
  values[0] = yes;
  values[1] = no;
  MlirValue row =
      fe_onnx1(ir, "Reshape", score, fe_constant_i64s(ir, 1, &flat));
  MlirValue above = fe_onnx1(ir, or_equal ? "GreaterOrEqual" : "Greater", row,
                             number(ir, threshold));
  return fe_onnx1(ir, "Where", above,
                  fe_constant(ir, NULL, FE_I64, 0, NULL, values),
                  fe_constant(ir, NULL, FE_I64, 0, NULL, values + 1));
}

//===-- Linear --------------------------------------------------------------//

/// The input as a float matrix; null after a report.
static MlirValue features(fe_node *n, int64_t columns) {
  fe_dims d;
  MlirValue x = n->in.n == 1 ? n->in.at[0] : (MlirValue){0};
  if (fe_is_null(x) || !fe_dims_of(n->ir, x, &d) || d.rank < 1 || d.rank > 2) {
    (void)fe_ml_error(n, NULL, "the input must be a matrix");
    return (MlirValue){0};
  }
  int64_t shape[2] = {1, -1}, given = fe_dim_static(d.d[d.rank - 1]);
  if (given != FE_DYN && given != columns) {
    (void)fe_ml_error(n, "coefficients",
                      "the coefficients do not fit the number of features");
    return (MlirValue){0};
  }
  x = fe_ml_cast(n->ir, x, FE_F32);
  if (d.rank == 1)
    x = fe_onnx1(n->ir, "Reshape", x, fe_constant_i64s(n->ir, 2, shape));
  return x;
}

/// X C^T + b for `rows` vectors of coefficients.
static fe_status linear_scores(fe_node *n, int64_t rows, MlirValue *out) {
  const fe_node_attr *c = fe_ml_attr(n, "coefficients");
  const fe_node_attr *b = fe_ml_attr(n, "intercepts");
  if (!c || rows < 1 || c->n % (size_t)rows)
    return fe_ml_error(n, "coefficients", "there are no rows of coefficients");
  if (b && b->n != (size_t)rows && b->n != 1)
    return fe_ml_error(n, "intercepts", "there is not one per row");
  int64_t columns = (int64_t)c->n / rows;
  MlirValue x = features(n, columns);
  if (fe_is_null(x))
    return FE_FAILED;
  *out = products(n->ir, x, rows, columns, c->floats);
  if (b)
    *out = fe_onnx1(n->ir, "Add", *out, fe_ml_floats(n->ir, b->n, b->floats));
  return fe_is_null(*out) ? FE_FAILED : FE_OK;
}

static fe_status expand_regressor(fe_node *n, MlirValue *results) {
  const fe_node_attr *targets = fe_ml_attr(n, "targets");
  if (linear_scores(n, targets ? targets->i : 1, &results[0]))
    return FE_FAILED;
  return fe_ml_post(n, fe_ml_text(n, "post_transform", "NONE"), &results[0]);
}

static fe_status expand_classifier(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  const fe_node_attr *labels = fe_ml_attr(n, "classlabels_ints");
  const fe_node_attr *b = fe_ml_attr(n, "intercepts");
  const char *post = fe_ml_text(n, "post_transform", "NONE");
  if (!labels)
    return fe_ml_error(n, "classlabels_ints", "only integer classes compile");
  int64_t rows = b ? (int64_t)b->n : (int64_t)labels->n;
  MlirValue scores, label;
  if (linear_scores(n, rows, &scores))
    return FE_FAILED;
  if (rows == 1 && labels->n == 2)
    scores = beside(ir, fe_onnx1(ir, "Neg", scores), scores);
  if (rows == 1 && labels->n != 2)
    label = fe_ml_above(ir, scores, strcmp(post, "NONE") ? 0.5 : 0, false,
                        labels->ints[0], 0);
  else
    label = fe_ml_best(ir, scores, labels->ints, labels->n);
  if (fe_ml_post(n, post, &scores))
    return FE_FAILED;
  if (n->n_out > 1)
    results[1] = scores;
  results[0] = label;
  return fe_is_null(label) ? FE_FAILED : FE_OK;
}

//===-- Support vectors -----------------------------------------------------//

/// Kernel function of x and each of `rows` vectors: [batch][rows].
static fe_status kernel_values(fe_node *n, MlirValue x, int64_t rows,
                               int64_t columns, const float *v,
                               MlirValue *out) {
  fe_ir *ir = n->ir;
  const char *kind = fe_ml_text(n, "kernel_type", "LINEAR");
  const fe_node_attr *p = fe_ml_attr(n, "kernel_params");
  double gamma = p && p->n > 0 ? p->floats[0] : 0;
  double coef0 = p && p->n > 1 ? p->floats[1] : 0;
  double degree = p && p->n > 2 ? p->floats[2] : 0;
  MlirValue dot = products(ir, x, rows, columns, v);
  MlirValue s = fe_onnx1(ir, "Add", fe_onnx1(ir, "Mul", dot, number(ir, gamma)),
                         number(ir, coef0));
  if (!strcmp(kind, "LINEAR")) {
    *out = dot;
  } else if (!strcmp(kind, "POLY")) {
    *out = fe_onnx1(ir, "Pow", s, number(ir, degree));
  } else if (!strcmp(kind, "SIGMOID")) {
    *out = fe_onnx1(ir, "Tanh", s);
  } else if (!strcmp(kind, "RBF")) {
    int64_t middle = 1, last = -1;
    MlirValue wide =
        fe_onnx1(ir, "Unsqueeze", x, fe_constant_i64s(ir, 1, &middle));
    MlirValue d = fe_onnx1(ir, "Sub", wide, matrix(ir, rows, columns, v));
    MlirValue in[2] = {d, fe_constant_i64s(ir, 1, &last)};
    d = with_attr(ir, "reduce_sum_square", 2, in, "keepdims", 0);
    *out = fe_onnx1(ir, "Exp", fe_onnx1(ir, "Mul", d, number(ir, -gamma)));
  } else {
    return fe_ml_error(n, "kernel_type", "there is no such kernel");
  }
  return fe_is_null(*out) ? FE_FAILED : FE_OK;
}

static fe_status expand_svm_regressor(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  const fe_node_attr *c = fe_ml_attr(n, "coefficients");
  const fe_node_attr *rho = fe_ml_attr(n, "rho");
  const fe_node_attr *supports = fe_ml_attr(n, "n_supports");
  const fe_node_attr *sv = fe_ml_attr(n, "support_vectors");
  const fe_node_attr *one_class = fe_ml_attr(n, "one_class");
  int64_t rows = supports ? supports->i : 0;
  if (!c || !rho)
    return fe_ml_error(n, NULL, "coefficients and rho are required");
  MlirValue score, x;
  if (rows > 0) {
    if (!sv || sv->n % (size_t)rows || (int64_t)c->n != rows)
      return fe_ml_error(n, "support_vectors",
                         "vectors and coefficients do not fit together");
    int64_t columns = (int64_t)sv->n / rows;
    x = features(n, columns);
    if (fe_is_null(x) || kernel_values(n, x, rows, columns, sv->floats, &score))
      return FE_FAILED;
    score = products(ir, score, 1, rows, c->floats);
  } else {
    x = features(n, (int64_t)c->n);
    if (fe_is_null(x))
      return FE_FAILED;
    score = products(ir, x, 1, (int64_t)c->n, c->floats);
  }
  score = fe_onnx1(ir, "Add", score, number(ir, rho->floats[0]));
  if (one_class && one_class->i)
    score = fe_onnx1(ir, "Where", fe_onnx1(ir, "Greater", score, number(ir, 0)),
                     number(ir, 1), number(ir, -1));
  results[0] = score;
  return fe_ml_post(n, fe_ml_text(n, "post_transform", "NONE"), &results[0]);
}

/// Scores of the pairs of classes: [batch][pairs]. Coefficients of the pair
/// (i, j) lie in row j - 1 at the vectors of i and in row i at those of j.
static MlirValue pair_scores(fe_node *n, MlirValue kernels, int64_t classes,
                             int64_t vectors, const int64_t *per_class,
                             const float *c, const float *rho) {
  fe_ir *ir = n->ir;
  int64_t pairs = classes * (classes - 1) / 2, pair = 0;
  float *rows = FE_NEW_N(ir->arena, float, (size_t)(pairs * vectors) + 1);
  int64_t *start = FE_NEW_N(ir->arena, int64_t, (size_t)classes + 1);
  for (int64_t i = 0; i < classes; ++i)
    start[i + 1] = start[i] + per_class[i];
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      for (int64_t k = start[i]; k < start[i + 1]; ++k)
        rows[pair * vectors + k] = c[(j - 1) * vectors + k];
      for (int64_t k = start[j]; k < start[j + 1]; ++k)
        rows[pair * vectors + k] = c[i * vectors + k];
    }
  MlirValue s = products(ir, kernels, pairs, vectors, rows);
  return fe_onnx1(ir, "Add", s, fe_ml_floats(ir, (size_t)pairs, rho));
}

/// One vote per pair: [batch][classes].
static MlirValue votes(fe_ir *ir, MlirValue scores, int64_t classes) {
  int64_t pairs = classes * (classes - 1) / 2, pair = 0;
  size_t size = (size_t)(pairs * classes);
  float *first = FE_NEW_N(ir->arena, float, size + 1);
  float *second = FE_NEW_N(ir->arena, float, size + 1);
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      first[i * pairs + pair] = 1;
      second[j * pairs + pair] = 1;
    }
  MlirValue won =
      fe_ml_cast(ir, fe_onnx1(ir, "Greater", scores, number(ir, 0)), FE_F32);
  MlirValue lost = fe_onnx1(ir, "Sub", number(ir, 1), won);
  return fe_onnx1(ir, "Add", products(ir, won, classes, pairs, first),
                  products(ir, lost, classes, pairs, second));
}

static fe_status expand_svm_classifier(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  const fe_node_attr *labels = fe_ml_attr(n, "classlabels_ints");
  const fe_node_attr *c = fe_ml_attr(n, "coefficients");
  const fe_node_attr *rho = fe_ml_attr(n, "rho");
  const fe_node_attr *sv = fe_ml_attr(n, "support_vectors");
  const fe_node_attr *per_class = fe_ml_attr(n, "vectors_per_class");
  const char *post = fe_ml_text(n, "post_transform", "NONE");
  if (!labels)
    return fe_ml_error(n, "classlabels_ints", "only integer classes compile");
  if (fe_ml_attr(n, "prob_a"))
    return fe_ml_error(n, "prob_a",
                       "probabilities of support vector machines are not "
                       "compiled; export the model without them");
  if (!c || !rho)
    return fe_ml_error(n, NULL, "coefficients and rho are required");
  int64_t classes = (int64_t)labels->n, vectors = 0;
  MlirValue scores, x, label;
  for (size_t i = 0; per_class && i < per_class->n; ++i) {
    if (per_class->ints[i] < 0 || per_class->ints[i] > INT32_MAX)
      return fe_ml_error(n, "vectors_per_class", "a number is out of range");
    vectors += per_class->ints[i];
  }
  if (!vectors) { // one vector of coefficients per class
    if (c->n % (size_t)classes)
      return fe_ml_error(n, "coefficients", "there is not one row per class");
    int64_t columns = (int64_t)c->n / classes;
    x = features(n, columns);
    if (fe_is_null(x))
      return FE_FAILED;
    scores = products(ir, x, classes, columns, c->floats);
    scores = fe_onnx1(ir, "Add", scores, number(ir, rho->floats[0]));
    label = fe_ml_best(ir, scores, labels->ints, labels->n);
  } else {
    int64_t pairs = classes * (classes - 1) / 2;
    if (classes < 2 || (int64_t)per_class->n != classes ||
        (int64_t)rho->n != pairs || !sv || sv->n % (size_t)vectors ||
        (int64_t)c->n != (classes - 1) * vectors)
      return fe_ml_error(n, "support_vectors",
                         "vectors, coefficients and rho do not fit together");
    int64_t columns = (int64_t)sv->n / vectors;
    MlirValue kernels;
    x = features(n, columns);
    if (fe_is_null(x) ||
        kernel_values(n, x, vectors, columns, sv->floats, &kernels))
      return FE_FAILED;
    scores = pair_scores(n, kernels, classes, vectors, per_class->ints,
                         c->floats, rho->floats);
    label = fe_ml_best(ir, votes(ir, scores, classes), labels->ints, labels->n);
    if (classes == 2) // one score: the second class is its negative
      scores = beside(ir, fe_onnx1(ir, "Neg", scores), scores);
  }
  if (fe_ml_post(n, post, &scores))
    return FE_FAILED;
  if (n->n_out > 1)
    results[1] = scores;
  results[0] = label;
  return fe_is_null(label) ? FE_FAILED : FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def regressor_attrs[] = {
    {"coefficients", FE_A_FLOATS, ""},
    {"intercepts", FE_A_FLOATS, ""},
    {"post_transform", FE_A_STRING, "NONE"},
    {"targets", FE_A_INT, "1"},
    {0}};
static const fe_attr_def classifier_attrs[] = {
    {"classlabels_ints", FE_A_INTS, ""},
    {"classlabels_strings", FE_A_STRINGS, ""},
    {"coefficients", FE_A_FLOATS, ""},
    {"intercepts", FE_A_FLOATS, ""},
    {"multi_class", FE_A_INT, "0"},
    {"post_transform", FE_A_STRING, "NONE"},
    {0}};
static const fe_attr_def svm_regressor_attrs[] = {
    {"coefficients", FE_A_FLOATS, ""},
    {"kernel_params", FE_A_FLOATS, ""},
    {"kernel_type", FE_A_STRING, "LINEAR"},
    {"n_supports", FE_A_INT, "0"},
    {"one_class", FE_A_INT, "0"},
    {"post_transform", FE_A_STRING, "NONE"},
    {"rho", FE_A_FLOATS, ""},
    {"support_vectors", FE_A_FLOATS, ""},
    {0}};
static const fe_attr_def svm_classifier_attrs[] = {
    {"classlabels_ints", FE_A_INTS, ""},
    {"classlabels_strings", FE_A_STRINGS, ""},
    {"coefficients", FE_A_FLOATS, ""},
    {"kernel_params", FE_A_FLOATS, ""},
    {"kernel_type", FE_A_STRING, "LINEAR"},
    {"post_transform", FE_A_STRING, "NONE"},
    {"prob_a", FE_A_FLOATS, ""},
    {"prob_b", FE_A_FLOATS, ""},
    {"rho", FE_A_FLOATS, ""},
    {"support_vectors", FE_A_FLOATS, ""},
    {"vectors_per_class", FE_A_INTS, ""},
    {0}};

#define ML(name_, out_, attrs_, expand_, limits_)                              \
  {.name = name_,                                                              \
   .domain = "ai.onnx.ml",                                                     \
   .since = 1,                                                                 \
   .inputs = "X:T",                                                            \
   .outputs = out_,                                                            \
   .types = "T=f32,f64,i64,i32;Y=i64;Z=f32",                                   \
   .attrs = attrs_,                                                            \
   .flags = FE_FUNCTION,                                                       \
   .expand = expand_,                                                          \
   .limits = limits_}

const fe_op_row fe_family_ml_linear[] = {
    ML("LinearRegressor", "Y:Z", regressor_attrs, expand_regressor, NULL),
    ML("LinearClassifier", "Y:Y, Z:Z", classifier_attrs, expand_classifier,
       "no texts"),
    ML("SVMRegressor", "Y:Z", svm_regressor_attrs, expand_svm_regressor, NULL),
    ML("SVMClassifier", "Y:Y, Z:Z", svm_classifier_attrs, expand_svm_classifier,
       "no texts, no probabilities"),
    {0}};
