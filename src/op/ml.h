//===- ml.h - what the ai.onnx.ml families share -----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_ML_H
#define FE_OP_ML_H

#include "op/common.h"

/// Reports against the node.
fe_status fe_ml_error(const fe_node *n, const char *attr, const char *message);
/// The attribute; NULL when it is absent or an empty list or text.
const fe_node_attr *fe_ml_attr(fe_node *n, const char *name);
/// 1-D constant.
MlirValue fe_ml_floats(fe_ir *ir, size_t count, const float *v);
MlirValue fe_ml_cast(fe_ir *ir, MlirValue v, fe_dtype t);
fe_dtype fe_ml_type(MlirValue v);

/// A string attribute.
const char *fe_ml_text(fe_node *n, const char *name, const char *absent);
/// Applies the post_transform `name` to scores [batch][classes].
fe_status fe_ml_post(fe_node *n, const char *name, MlirValue *v);
/// Labels of the highest scores.
MlirValue fe_ml_best(fe_ir *ir, MlirValue scores, const int64_t *labels,
                     size_t n);
/// Labels by one score per row.
MlirValue fe_ml_above(fe_ir *ir, MlirValue score, double threshold,
                      bool or_equal, int64_t yes, int64_t no);

/// Where TreeWalk finds the weights of a leaf: in the leaf (one target), one
/// per target in `weights`, or those of its entries.
enum { FE_TREE_IN_LEAVES, FE_TREE_DENSE, FE_TREE_SPARSE };

#endif
