//===- ml.h - what the ai.onnx.ml families share -----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_ML_H
#define FE_OP_ML_H

#include "op/compose.h"

/// The attribute; NULL when it is absent or an empty list or text.
const fe_node_attr *fe_ml_attr(fe_node *n, const char *name);
/// A string attribute.
const char *fe_ml_text(fe_node *n, const char *name, const char *absent);

/// 1-D constants, and a scalar.
MlirValue fe_ml_floats(fe_ir *ir, size_t count, const float *v);
MlirValue fe_ml_number(fe_ir *ir, double v);
/// [count], or its first element with rank 0.
MlirValue fe_ml_strings(fe_ir *ir, unsigned rank, size_t count,
                        const char *const *v);
/// An op with one attribute that is not its default.
MlirValue fe_ml_with(fe_ir *ir, const char *op, unsigned n, const MlirValue *in,
                     const char *name, int64_t v);
/// Columns side by side.
MlirValue fe_ml_beside(fe_ir *ir, MlirValue a, MlirValue b);
/// [1, elements].
MlirValue fe_ml_as_row(fe_ir *ir, MlirValue v);

/// Which of `keys` [n], of x's type, an element is: bool [dims of x][n].
MlirValue fe_ml_matches(fe_ir *ir, MlirValue x, MlirValue keys);
/// Number of the first of `keys`, a constant of x's type, that an element of x
/// equals, NaN like others; how many there are when it is none of them.
MlirValue fe_number_find(fe_ir *ir, MlirValue x, MlirValue keys);

/// [rows][columns].
MlirValue fe_ml_matrix(fe_ir *ir, int64_t rows, int64_t columns,
                       const float *v);
/// x times the transpose of `rows` vectors in `v`.
MlirValue fe_ml_products(fe_ir *ir, MlirValue x, int64_t rows, int64_t columns,
                         const float *v);
/// The only input as a matrix of floats with so many columns; null after a
/// report.
MlirValue fe_ml_features(fe_node *n, int64_t columns);
/// Applies the post_transform `name` to scores [batch][classes].
fe_status fe_ml_post(fe_node *n, const char *name, MlirValue *v);

/// Of two classes the second has a score, [batch][1]: adds that of the first,
/// which is the negative of a distance and what is left of a probability. Then
/// only LOGISTIC and PROBIT transform, as in ONNX Runtime.
fe_status fe_ml_two_classes(fe_node *n, bool distance, MlirValue *v);

/// Names of classes: numbers or strings.
typedef struct fe_ml_labels {
  size_t n;
  const int64_t *ints;
  const char *const *strings;
} fe_ml_labels;
fe_status fe_ml_read_labels(fe_node *n, const char *ints, const char *strings,
                            fe_ml_labels *out);
/// Labels of the highest scores of [batch][classes].
MlirValue fe_ml_best(fe_ir *ir, MlirValue scores, const fe_ml_labels *labels);
/// For each element of cond label `yes` or `no`.
MlirValue fe_ml_choose(fe_ir *ir, MlirValue cond, const fe_ml_labels *labels,
                       size_t yes, size_t no);
/// The second label where the score is above the threshold, else the first.
MlirValue fe_ml_above(fe_ir *ir, MlirValue score, double threshold,
                      const fe_ml_labels *labels);

/// Sets the results of a classifier.
FE_NODISCARD fe_status fe_ml_classified(const fe_node *n, MlirValue label,
                                        MlirValue scores, MlirValue *results);

/// Types of labels Y and scores Z.
#define FE_ML_SCORES "T=f32,f64,i64,i32;Y=i64,str;Z=f32"
/// A row of the table that `expand_` rewrites.
#define FE_ML_ROW(name_, since_, in_, out_, types_, attrs_, expand_, limits_)  \
  {.name = name_,                                                              \
   .domain = "ai.onnx.ml",                                                     \
   .since = since_,                                                            \
   .inputs = in_,                                                              \
   .outputs = out_,                                                            \
   .types = types_,                                                            \
   .attrs = attrs_,                                                            \
   .flags = FE_FUNCTION,                                                       \
   .expand = expand_,                                                          \
   .limits = limits_}

/// Where TreeWalk finds the weights of a leaf: in the leaf (one target), one
/// per target in `weights`, or those of its entries.
enum { FE_TREE_IN_LEAVES, FE_TREE_DENSE, FE_TREE_SPARSE };

#endif
