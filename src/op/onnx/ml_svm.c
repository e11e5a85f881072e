//===- ml_svm.c - SVMRegressor, SVMClassifier --------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "op/ml.h"

#include <string.h>

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
  MlirValue dot = fe_ml_products(ir, x, rows, columns, v);
  MlirValue s =
      fe_onnx1(ir, "Add", fe_onnx1(ir, "Mul", dot, fe_ml_number(ir, gamma)),
               fe_ml_number(ir, coef0));
  if (!strcmp(kind, "LINEAR")) {
    *out = dot;
  } else if (!strcmp(kind, "POLY")) {
    *out = fe_onnx1(ir, "Pow", s, fe_ml_number(ir, degree));
  } else if (!strcmp(kind, "SIGMOID")) {
    *out = fe_onnx1(ir, "Tanh", s);
  } else if (!strcmp(kind, "RBF")) {
    int64_t middle = 1, last = -1;
    MlirValue wide =
        fe_onnx1(ir, "Unsqueeze", x, fe_constant_i64s(ir, 1, &middle));
    MlirValue d = fe_onnx1(ir, "Sub", wide, fe_ml_matrix(ir, rows, columns, v));
    MlirValue in[2] = {d, fe_constant_i64s(ir, 1, &last)};
    d = fe_ml_with(ir, "reduce_sum_square", 2, in, "keepdims", 0);
    *out =
        fe_onnx1(ir, "Exp", fe_onnx1(ir, "Mul", d, fe_ml_number(ir, -gamma)));
  } else {
    return fe_node_refuse(n, "kernel_type", "there is no such kernel");
  }
  return fe_is_null(*out) ? FE_FAILED : FE_OK;
}

/// What both operators have. Without vectors the coefficients are a plane.
typedef struct machine {
  fe_node *n;
  MlirValue x;
  int64_t vectors, columns;
  const float *support, *coefficients, *rho;
  size_t n_coefficients, n_rho;
} machine;

/// Reads the attributes that are always needed, with `vectors` support vectors;
/// `rows`: of the coefficients when there are none.
static fe_status read_machine(machine *m, int64_t vectors, int64_t rows) {
  fe_node *n = m->n;
  const fe_node_attr *c = fe_ml_attr(n, "coefficients");
  const fe_node_attr *rho = fe_ml_attr(n, "rho");
  const fe_node_attr *sv = fe_ml_attr(n, "support_vectors");
  if (!c || !rho)
    return fe_node_refuse(n, NULL, "coefficients and rho are required");
  if (vectors ? !sv || sv->n % (size_t)vectors : c->n % (size_t)rows != 0)
    return fe_node_refuse(n, vectors ? "support_vectors" : "coefficients",
                          "vectors and coefficients do not fit together");
  m->vectors = vectors;
  m->columns = vectors ? (int64_t)sv->n / vectors : (int64_t)c->n / rows;
  m->support = vectors ? sv->floats : NULL;
  m->coefficients = c->floats;
  m->n_coefficients = c->n;
  m->rho = rho->floats;
  m->n_rho = rho->n;
  m->x = fe_ml_features(n, m->columns);
  return fe_is_null(m->x) ? FE_FAILED : FE_OK;
}

static fe_status expand_regressor(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  machine m = {.n = n};
  const fe_node_attr *supports = fe_ml_attr(n, "n_supports");
  const fe_node_attr *one_class = fe_ml_attr(n, "one_class");
  int64_t vectors = supports && supports->i > 0 ? supports->i : 0;
  MlirValue score;
  if (read_machine(&m, vectors, 1))
    return FE_FAILED;
  score = m.x;
  if (vectors && ((int64_t)m.n_coefficients != vectors ||
                  kernel_values(n, m.x, vectors, m.columns, m.support, &score)))
    return fe_node_refuse(n, "coefficients", "there is not one per vector");
  score =
      fe_ml_products(ir, score, 1, (int64_t)m.n_coefficients, m.coefficients);
  score = fe_onnx1(ir, "Add", score, fe_ml_number(ir, m.rho[0]));
  if (one_class && one_class->i)
    score = fe_onnx1(ir, "Where",
                     fe_onnx1(ir, "Greater", score, fe_ml_number(ir, 0)),
                     fe_ml_number(ir, 1), fe_ml_number(ir, -1));
  results[0] = score;
  return fe_ml_post(n, fe_ml_text(n, "post_transform", "NONE"), &results[0]);
}

//===-- Pairs of classes ----------------------------------------------------//

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
  MlirValue s = fe_ml_products(ir, kernels, pairs, vectors, rows);
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
  MlirValue won = fe_x_cast(
      ir, fe_onnx1(ir, "Greater", scores, fe_ml_number(ir, 0)), FE_F32);
  MlirValue lost = fe_onnx1(ir, "Sub", fe_ml_number(ir, 1), won);
  return fe_onnx1(ir, "Add", fe_ml_products(ir, won, classes, pairs, first),
                  fe_ml_products(ir, lost, classes, pairs, second));
}

/// Probabilities of the classes: each pair's by a logistic function of its
/// score, and those that fit these best.
static fe_status probabilities(fe_node *n, int64_t classes, MlirValue *scores) {
  fe_ir *ir = n->ir;
  const fe_node_attr *a = fe_ml_attr(n, "prob_a");
  const fe_node_attr *b = fe_ml_attr(n, "prob_b");
  size_t pairs = (size_t)(classes * (classes - 1) / 2);
  if (!a || !b || a->n != pairs || b->n != pairs)
    return fe_node_refuse(n, "prob_a", "there is not one per pair of classes");
  MlirValue v =
      fe_onnx1(ir, "Mul", *scores, fe_ml_floats(ir, pairs, a->floats));
  v = fe_onnx1(ir, "Add", v, fe_ml_floats(ir, pairs, b->floats));
  v = fe_onnx1(ir, "Sigmoid", fe_onnx1(ir, "Neg", v));
  v = fe_onnx1(ir, "Clip", v, fe_ml_number(ir, 1e-7),
               fe_ml_number(ir, 1 - 1e-7));
  *scores = fe_ml_with(ir, "ml_pair_coupling", 1, &v, "classes", classes);
  return fe_is_null(*scores) ? FE_FAILED : FE_OK;
}

/// A plane per class. Of two, the second is chosen when a score is large.
static fe_status by_planes(machine *m, const fe_ml_labels *labels,
                           MlirValue *scores, MlirValue *label) {
  fe_ir *ir = m->n->ir;
  *scores =
      fe_ml_products(ir, m->x, (int64_t)labels->n, m->columns, m->coefficients);
  *scores = fe_onnx1(ir, "Add", *scores, fe_ml_number(ir, m->rho[0]));
  if (labels->n != 2) {
    *label = fe_ml_best(ir, *scores, labels);
    return fe_is_null(*label) ? FE_FAILED : FE_OK;
  }
  bool positive = true;
  for (size_t i = 0; i < m->n_coefficients; ++i)
    positive &= m->coefficients[i] >= 0;
  int64_t columns[3] = {0, 1, 2};
  MlirValue one = fe_constant_i64s(ir, 1, columns + 1);
  MlirValue first = fe_onnx1(ir, "Slice", *scores,
                             fe_constant_i64s(ir, 1, columns), one, one);
  MlirValue second = fe_onnx1(ir, "Slice", *scores, one,
                              fe_constant_i64s(ir, 1, columns + 2), one);
  MlirValue large = fe_onnx1(ir, positive ? "GreaterOrEqual" : "Greater",
                             fe_onnx1(ir, "Max", first, second),
                             fe_ml_number(ir, positive ? 0.5 : 0));
  large = fe_onnx1(ir, "Or", large, fe_onnx1(ir, "Greater", second, first));
  *label = fe_ml_choose(ir, large, labels, 1, 0);
  return fe_is_null(*label) ? FE_FAILED : FE_OK;
}

/// By the votes of all pairs.
static fe_status by_pairs(machine *m, const fe_ml_labels *labels,
                          const int64_t *per_class, MlirValue *scores,
                          MlirValue *label) {
  fe_node *n = m->n;
  fe_ir *ir = n->ir;
  int64_t classes = (int64_t)labels->n;
  const char *post = fe_ml_text(n, "post_transform", "NONE");
  if ((int64_t)m->n_rho != classes * (classes - 1) / 2 ||
      (int64_t)m->n_coefficients != (classes - 1) * m->vectors)
    return fe_node_refuse(n, "coefficients",
                          "vectors, coefficients and rho do not fit together");
  MlirValue kernels;
  if (kernel_values(n, m->x, m->vectors, m->columns, m->support, &kernels))
    return FE_FAILED;
  *scores = pair_scores(n, kernels, classes, m->vectors, per_class,
                        m->coefficients, m->rho);
  *label = fe_ml_best(ir, votes(ir, *scores, classes), labels);
  if (fe_ml_attr(n, "prob_a"))
    return probabilities(n, classes, scores) || fe_ml_post(n, post, scores)
               ? FE_FAILED
               : FE_OK;
  if (classes != 2)
    return fe_ml_post(n, post, scores);
  return fe_ml_two_classes(n, !strcmp(post, "NONE"), scores);
}

static fe_status expand_classifier(fe_node *n, MlirValue *results) {
  machine m = {.n = n};
  fe_ml_labels labels;
  const fe_node_attr *per_class = fe_ml_attr(n, "vectors_per_class");
  int64_t vectors = 0;
  MlirValue scores, label;
  if (fe_ml_read_labels(n, "classlabels_ints", "classlabels_strings", &labels))
    return FE_FAILED;
  for (size_t i = 0; per_class && i < per_class->n; ++i) {
    if (per_class->ints[i] < 0 || per_class->ints[i] > INT32_MAX)
      return fe_node_refuse(n, "vectors_per_class", "a number is out of range");
    vectors += per_class->ints[i];
  }
  if (vectors && (labels.n < 2 || per_class->n != labels.n))
    return fe_node_refuse(n, "vectors_per_class", "there is not one per class");
  if (read_machine(&m, vectors, (int64_t)labels.n))
    return FE_FAILED;
  if (vectors
          ? by_pairs(&m, &labels, per_class->ints, &scores, &label)
          : by_planes(&m, &labels, &scores, &label) ||
                fe_ml_post(n, fe_ml_text(n, "post_transform", "NONE"), &scores))
    return FE_FAILED;
  return fe_ml_classified(n, label, scores, results);
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def regressor_attrs[] = {
    {"coefficients", FE_A_FLOATS, ""},
    {"kernel_params", FE_A_FLOATS, ""},
    {"kernel_type", FE_A_STRING, "LINEAR|POLY|RBF|SIGMOID"},
    {"n_supports", FE_A_INT, "0"},
    {"one_class", FE_A_INT, "0"},
    {"post_transform", FE_A_STRING,
     "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT"},
    {"rho", FE_A_FLOATS, ""},
    {"support_vectors", FE_A_FLOATS, ""},
    {0}};
static const fe_attr_def classifier_attrs[] = {
    {"classlabels_ints", FE_A_INTS, ""},
    {"classlabels_strings", FE_A_STRINGS, ""},
    {"coefficients", FE_A_FLOATS, ""},
    {"kernel_params", FE_A_FLOATS, ""},
    {"kernel_type", FE_A_STRING, "LINEAR|POLY|RBF|SIGMOID"},
    {"post_transform", FE_A_STRING,
     "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT"},
    {"prob_a", FE_A_FLOATS, ""},
    {"prob_b", FE_A_FLOATS, ""},
    {"rho", FE_A_FLOATS, ""},
    {"support_vectors", FE_A_FLOATS, ""},
    {"vectors_per_class", FE_A_INTS, ""},
    {0}};

const fe_op_row fe_family_ml_svm[] = {
    FE_ML_ROW("SVMRegressor", 1, "X:T", "Y:Z", FE_ML_SCORES, regressor_attrs,
              expand_regressor, NULL),
    FE_ML_ROW("SVMClassifier", 1, "X:T", "Y:Y, Z:Z", FE_ML_SCORES,
              classifier_attrs, expand_classifier, NULL),
    {0}};
