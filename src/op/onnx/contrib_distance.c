//===- contrib_distance.c - CDist --------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Distances of each row of A to each of B, as scipy.spatial.distance.cdist has
// them: by matrix products where they are made of those, else element by
// element and reduced, which fuses.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"

#include <string.h>

typedef MlirValue (*distance)(fe_ir *ir, MlirValue a, MlirValue b);

static MlirValue number(fe_ir *ir, MlirValue like, double v) {
  return fe_constant_scalar(ir, fe_x_type(like), v);
}

//===-- By products ---------------------------------------------------------//

static MlirValue turned(fe_ir *ir, MlirValue v) {
  static const int64_t swap[2] = {1, 0};
  return fe_x_transpose(ir, v, 2, swap);
}

static MlirValue products(fe_ir *ir, MlirValue a, MlirValue b) {
  return FE_X(ir, "MatMul", a, turned(ir, b));
}

static MlirValue squared(fe_ir *ir, MlirValue a, MlirValue b) {
  MlirValue axis = fe_x_int(ir, 1);
  MlirValue aa = FE_X(ir, "ReduceSumSquare", a, axis);
  MlirValue bb = turned(ir, FE_X(ir, "ReduceSumSquare", b, axis));
  MlirValue v = FE_X(ir, "Mul", products(ir, a, b), number(ir, a, -2));
  v = FE_X(ir, "Add", FE_X(ir, "Add", v, aa), bb);
  return FE_X(ir, "Max", v, number(ir, a, 0));
}

static MlirValue euclidean(fe_ir *ir, MlirValue a, MlirValue b) {
  return FE_X(ir, "Sqrt", squared(ir, a, b));
}

static MlirValue cosine(fe_ir *ir, MlirValue a, MlirValue b) {
  MlirValue axis = fe_x_int(ir, 1);
  MlirValue norms = FE_X(ir, "Mul", FE_X(ir, "ReduceL2", a, axis),
                         turned(ir, FE_X(ir, "ReduceL2", b, axis)));
  return FE_X(ir, "Sub", number(ir, a, 1),
              FE_X(ir, "Div", products(ir, a, b), norms));
}

static MlirValue centered(fe_ir *ir, MlirValue v) {
  return FE_X(ir, "Sub", v, FE_X(ir, "ReduceMean", v, fe_x_int(ir, 1)));
}

static MlirValue correlation(fe_ir *ir, MlirValue a, MlirValue b) {
  return cosine(ir, centered(ir, a), centered(ir, b));
}

//===-- By elements ---------------------------------------------------------//

/// [rows of A][rows of B], reduced over the columns.
static MlirValue over_columns(fe_ir *ir, const char *reduce, MlirValue v) {
  return FE_COMPOSE(ir, reduce, FE_VALUES(v, fe_x_int(ir, 2)),
                    FE_ATTRS(fe_at_i64(ir, "keepdims", 0)));
}

static MlirValue pairs(fe_ir *ir, const char *op, MlirValue a, MlirValue b) {
  return FE_X(ir, op, fe_x_unsqueeze(ir, a, 1), fe_x_unsqueeze(ir, b, 0));
}

static MlirValue apart(fe_ir *ir, MlirValue a, MlirValue b) {
  return FE_X(ir, "Abs", pairs(ir, "Sub", a, b));
}

static MlirValue cityblock(fe_ir *ir, MlirValue a, MlirValue b) {
  return over_columns(ir, "ReduceSum", apart(ir, a, b));
}

static MlirValue chebyshev(fe_ir *ir, MlirValue a, MlirValue b) {
  return over_columns(ir, "ReduceMax", apart(ir, a, b));
}

static MlirValue canberra(fe_ir *ir, MlirValue a, MlirValue b) {
  MlirValue size = pairs(ir, "Add", FE_X(ir, "Abs", a), FE_X(ir, "Abs", b));
  MlirValue zero = number(ir, a, 0); // of two zeros
  MlirValue v = FE_X(ir, "Where", FE_X(ir, "Equal", size, zero), zero,
                     FE_X(ir, "Div", apart(ir, a, b), size));
  return over_columns(ir, "ReduceSum", v);
}

static MlirValue braycurtis(fe_ir *ir, MlirValue a, MlirValue b) {
  MlirValue size = FE_X(ir, "Abs", pairs(ir, "Add", a, b));
  return FE_X(ir, "Div", cityblock(ir, a, b),
              over_columns(ir, "ReduceSum", size));
}

static MlirValue hamming(fe_ir *ir, MlirValue a, MlirValue b) {
  MlirValue other = FE_X(ir, "Not", pairs(ir, "Equal", a, b));
  return over_columns(ir, "ReduceMean", fe_x_cast(ir, other, fe_x_type(a)));
}

static const struct {
  const char *name;
  distance of;
} metrics[] = {{"sqeuclidean", squared}, {"euclidean", euclidean},
               {"cosine", cosine},       {"correlation", correlation},
               {"cityblock", cityblock}, {"chebyshev", chebyshev},
               {"canberra", canberra},   {"braycurtis", braycurtis},
               {"hamming", hamming}};

#define METRICS                                                                \
  "sqeuclidean, euclidean, cosine, correlation, cityblock, chebyshev, "        \
  "canberra, braycurtis, hamming"

static fe_status expand_cdist(fe_node *n, MlirValue *results) {
  fe_dims d;
  const char *metric = fe_node_str(n, "metric", "sqeuclidean");
  if (fe_node_dims(n, 0, 2, &d) || fe_node_dims(n, 1, 2, &d))
    return FE_FAILED;
  for (unsigned i = 0; i < FE_COUNT(metrics); ++i)
    if (!strcmp(metrics[i].name, metric))
      return fe_node_done(metrics[i].of(n->ir, n->in.at[0], n->in.at[1]),
                          results);
  return fe_node_error(n, "use one of " METRICS,
                       "the metric '%s' is not supported", metric);
}

static const fe_attr_def cdist_attrs[] = {
    {"metric", FE_A_STRING,
     "sqeuclidean|euclidean|cosine|correlation|cityblock|"
     "chebyshev|canberra|braycurtis|hamming"},
    {0}};

const fe_op_row fe_family_contrib_distance[] = {
    FE_MS_ROW("CDist", "A:T, B:T", "C:T", "T=float", expand_cdist,
              .attrs = cdist_attrs, .limits = "the metrics " METRICS),
    {0}};
