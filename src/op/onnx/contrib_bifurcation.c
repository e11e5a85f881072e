//===- contrib_bifurcation.c - BifurcationDetector ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Aggressive decoding of ONNX Runtime: predicted tokens are taken as long as
// they are those of the source, and one more; then the last tokens are looked
// for in the source, n-grams of growing size until one is found in one place
// only.
//
//===----------------------------------------------------------------------===//
#include "op/compose.h"

enum { SOURCE, CURRENT, PREVIOUS, PREDICTED };
enum { MAX_GRAM = 64 };

typedef struct detector {
  fe_ir *ir;
  MlirValue source, tokens;    // one number that is no token behind them
  MlirValue source_size, size; // without it, 1-D
  MlirValue found, done;       // what has been found, whether that is all; 1-D
} detector;

static MlirValue number(detector *d, int64_t v) { return fe_x_int(d->ir, v); }

/// Current tokens, then predicted ones.
static MlirValue taken(fe_node *n) {
  fe_ir *ir = n->ir;
  MlirValue current = fe_node_in(n, CURRENT), all = fe_node_in(n, PREDICTED);
  const int64_t one = 1;
  if (fe_is_null(all))
    return current;
  MlirValue from = fe_x_reshape(ir, fe_node_in(n, PREVIOUS), 1, &one);
  MlirValue rest = fe_x_slice(ir, fe_node_in(n, SOURCE), 0, from,
                              fe_x_size(ir, fe_node_in(n, SOURCE), 0));
  MlirValue guess =
      fe_x_slice(ir, all, 0, fe_x_int(ir, 0), fe_x_size(ir, rest, 0));
  MlirValue differs = fe_x_cast(ir, FE_X(ir, "Equal", rest, guess), FE_I64);
  differs = FE_X(ir, "Sub", fe_constant_scalar(ir, FE_I64, 1), differs);
  MlirValue so_far =
      FE_X(ir, "CumSum", differs, fe_constant_scalar(ir, FE_I64, 0));
  MlirValue same = FE_X(ir, "Equal", so_far, fe_constant_scalar(ir, FE_I64, 0));
  MlirValue count =
      FE_X(ir, "ReduceSum", fe_x_cast(ir, same, FE_I64), fe_x_int(ir, 0));
  MlirValue to = FE_X(ir, "Add", count, fe_x_int(ir, 1));
  const MlirValue parts[2] = {current,
                              fe_x_slice(ir, all, 0, fe_x_int(ir, 0), to)};
  return fe_x_concat(ir, 0, 2, parts);
}

/// i64 for each place of the source: 1 where the last `gram` tokens are.
static MlirValue matches(detector *d, int64_t gram) {
  fe_ir *ir = d->ir;
  MlirValue places = fe_x_range(ir, fe_x_size(ir, d->source, 0));
  MlirValue fits =
      FE_X(ir, "LessOrEqual", FE_X(ir, "Add", places, number(d, gram)),
           d->source_size);
  for (int64_t i = 0; i < gram; ++i) {
    MlirValue at =
        FE_X(ir, "Min", FE_X(ir, "Add", places, number(d, i)), d->source_size);
    MlirValue own = FE_X(
        ir, "Max", FE_X(ir, "Add", d->size, number(d, i - gram)), number(d, 0));
    MlirValue equal = FE_X(ir, "Equal", FE_X(ir, "Gather", d->source, at),
                           FE_X(ir, "Gather", d->tokens, own));
    fits = FE_X(ir, "And", fits, equal);
  }
  return fe_x_cast(ir, fits, FE_I64);
}

static void look_for(detector *d, int64_t gram) {
  fe_ir *ir = d->ir;
  MlirValue hits = matches(d, gram), zero = number(d, 0);
  MlirValue count = FE_X(ir, "ReduceSum", hits, fe_x_int(ir, 0));
  MlirValue first = FE_COMPOSE(ir, "ArgMax", FE_VALUES(hits),
                               FE_ATTRS(fe_at_i64(ir, "axis", 0)));
  MlirValue end = FE_X(ir, "Add", first, number(d, gram));
  MlirValue too_long = FE_X(ir, "Less", d->size, number(d, gram));
  d->done = FE_X(ir, "Or", d->done, too_long);
  MlirValue none = FE_X(ir, "Equal", count, zero);
  MlirValue at_end = FE_X(ir, "GreaterOrEqual", end, d->source_size);
  MlirValue several = FE_X(ir, "And", FE_X(ir, "Greater", count, number(d, 1)),
                           FE_X(ir, "Not", at_end));
  MlirValue next = FE_X(ir, "Where", several, number(d, -1), end);
  MlirValue keep = FE_X(ir, "Or", d->done, none);
  d->found = FE_X(ir, "Where", keep, d->found, next);
  d->done = FE_X(ir, "Or", keep, at_end);
}

static fe_status expand_bifurcation(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_dims dims;
  int64_t least = fe_node_int(n, "min_ngram_size", 1);
  int64_t most = fe_node_int(n, "max_ngram_size", 3);
  if (fe_node_require(n, 3) || fe_node_dims(n, SOURCE, 1, &dims) ||
      fe_node_dims(n, CURRENT, 1, &dims))
    return FE_FAILED;
  if (least < 1 || most < least || most > MAX_GRAM)
    return fe_node_error(n, NULL,
                         "1 <= min_ngram_size <= max_ngram_size <= %d must "
                         "hold",
                         MAX_GRAM);
  results[0] = taken(n);
  if (fe_is_null(results[0]))
    return FE_FAILED;
  if (n->n_out < 2)
    return FE_OK;
  detector d = {.ir = ir};
  const MlirValue source[2] = {fe_node_in(n, SOURCE), fe_x_int(ir, -1)};
  const MlirValue tokens[2] = {results[0], fe_x_int(ir, -1)};
  d.source_size = fe_x_size(ir, source[0], 0);
  d.size = fe_x_size(ir, tokens[0], 0);
  d.source = fe_x_concat(ir, 0, 2, source);
  d.tokens = fe_x_concat(ir, 0, 2, tokens);
  d.found = fe_x_int(ir, -1);
  d.done = FE_X(ir, "Less", d.size, fe_x_int(ir, 0)); // no
  for (int64_t i = least; i <= most; ++i)
    look_for(&d, i);
  results[1] =
      FE_X(ir, "Reshape", d.found, FE_X(ir, "Shape", fe_node_in(n, PREVIOUS)));
  return fe_is_null(results[1]) ? FE_FAILED : FE_OK;
}

static const fe_attr_def attrs[] = {
    {"max_ngram_size", FE_A_INT, "3"}, {"min_ngram_size", FE_A_INT, "1"}, {0}};

const fe_op_row fe_family_contrib_bifurcation[] = {
    {.name = "BifurcationDetector",
     .domain = "com.microsoft",
     .since = 1,
     .inputs = "src_tokens:T, cur_tokens:T, prev_suffix_match_idx:T, "
               "pred_tokens?:T",
     .outputs = "tokens:T, suffix_match_idx:T",
     .types = "T=i64",
     .attrs = attrs,
     .flags = FE_FUNCTION,
     .expand = expand_bifurcation},
    {0}};
