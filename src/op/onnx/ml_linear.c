//===- ml_linear.c - LinearRegressor, LinearClassifier -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "op/ml.h"

/// X C^T + b for `rows` vectors of coefficients.
static fe_status linear_scores(fe_node *n, int64_t rows, MlirValue *out) {
  const fe_node_attr *c = fe_ml_attr(n, "coefficients");
  const fe_node_attr *b = fe_ml_attr(n, "intercepts");
  if (!c || rows < 1 || c->n % (size_t)rows)
    return fe_node_refuse(n, "coefficients",
                          "there are no rows of coefficients");
  if (b && b->n != (size_t)rows && b->n != 1)
    return fe_node_refuse(n, "intercepts", "there is not one per row");
  int64_t columns = (int64_t)c->n / rows;
  MlirValue x = fe_ml_features(n, columns);
  if (fe_is_null(x))
    return FE_FAILED;
  *out = fe_ml_products(n->ir, x, rows, columns, c->floats);
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
  fe_ml_labels labels;
  const fe_node_attr *b = fe_ml_attr(n, "intercepts");
  MlirValue scores, label;
  if (fe_ml_read_labels(n, "classlabels_ints", "classlabels_strings", &labels))
    return FE_FAILED;
  int64_t rows = b ? (int64_t)b->n : (int64_t)labels.n;
  if (rows != 1 && rows != (int64_t)labels.n)
    return fe_node_refuse(n, "intercepts", "there is not one per class");
  if (linear_scores(n, rows, &scores))
    return FE_FAILED;
  if (rows == 1 && labels.n == 2) {
    label = fe_ml_above(ir, scores, 0, &labels);
    if (fe_ml_two_classes(n, false, &scores))
      return FE_FAILED;
  } else {
    label = fe_ml_best(ir, scores, &labels);
    if (fe_ml_post(n, fe_ml_text(n, "post_transform", "NONE"), &scores))
      return FE_FAILED;
  }
  return fe_ml_classified(n, label, scores, results);
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def regressor_attrs[] = {
    {"coefficients", FE_A_FLOATS, ""},
    {"intercepts", FE_A_FLOATS, ""},
    {"post_transform", FE_A_STRING,
     "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT"},
    {"targets", FE_A_INT, "1"},
    {0}};
static const fe_attr_def classifier_attrs[] = {
    {"classlabels_ints", FE_A_INTS, ""},
    {"classlabels_strings", FE_A_STRINGS, ""},
    {"coefficients", FE_A_FLOATS, ""},
    {"intercepts", FE_A_FLOATS, ""},
    {"multi_class", FE_A_INT, "0"},
    {"post_transform", FE_A_STRING,
     "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT"},
    {0}};

const fe_op_row fe_family_ml_linear[] = {
    FE_ML_ROW("LinearRegressor", 1, "X:T", "Y:Z", FE_ML_SCORES, regressor_attrs,
              expand_regressor, NULL),
    FE_ML_ROW("LinearClassifier", 1, "X:T", "Y:Y, Z:Z", FE_ML_SCORES,
              classifier_attrs, expand_classifier, NULL),
    {0}};
