//===- compose.h - nodes rewritten at import ---------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `expand` functions of rows are written in: the node's inputs and
// attributes, and operators of the standard made from them. A null operand is
// one whose making has been reported already: it gives null, so that only
// results need be looked at. An absent optional operand is fe_x_absent.
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_COMPOSE_H
#define FE_OP_COMPOSE_H

#include "op/common.h"

//===-- The node ------------------------------------------------------------//

MlirValue fe_node_in(const fe_node *n, size_t i); // null: absent
int64_t fe_node_int(fe_node *n, const char *name, int64_t absent);
double fe_node_float(fe_node *n, const char *name, double absent);
const char *fe_node_str(fe_node *n, const char *name, const char *absent);
/// The node with its operator's name, for messages.
fe_where fe_node_where(const fe_node *n);
#define fe_node_error(n, hint, ...)                                            \
  fe_error((n)->ir->diags, fe_node_where(n), (hint), __VA_ARGS__)
/// The same for one of its attributes; NULL: none.
fe_status fe_node_refuse(const fe_node *n, const char *attr,
                         const char *message);
/// Fails when one of the first `least` inputs is absent.
FE_NODISCARD fe_status fe_node_require(const fe_node *n, unsigned least);
/// Dims of an input that must be there with `rank` dims.
FE_NODISCARD fe_status fe_node_dims(const fe_node *n, unsigned i, unsigned rank,
                                    fe_dims *out);
/// What the row says of sizes that inputs have in common.
FE_NODISCARD fe_status fe_node_check_sizes(fe_node *n);
/// Ends the run unless `condition` (i1), saying why.
void fe_node_check(fe_node *n, MlirValue condition, const char *what);
/// Sets the only result.
FE_NODISCARD fe_status fe_node_done(MlirValue v, MlirValue *results);
/// The node does what operator `name` of the standard does with the same
/// operands; attributes that one does not know are left off.
FE_NODISCARD fe_status fe_node_as(fe_node *n, const char *name,
                                  MlirValue *results);
/// The same with other operands.
FE_NODISCARD fe_status fe_node_over(fe_node *n, const char *name, unsigned n_in,
                                    const MlirValue *in, unsigned n_out,
                                    MlirValue *results);

/// A row of com.microsoft that `expand_` rewrites; its other members follow.
#define FE_MS_ROW(name_, in_, out_, types_, expand_, ...)                      \
  {.name = name_,                                                              \
   .domain = "com.microsoft",                                                  \
   .since = 1,                                                                 \
   .inputs = in_,                                                              \
   .outputs = out_,                                                            \
   .types = types_,                                                            \
   .flags = FE_FUNCTION,                                                       \
   .expand = expand_,                                                          \
   __VA_ARGS__}

//===-- Operators -----------------------------------------------------------//

/// First result of operator `name`, also of one that is expanded itself.
MlirValue fe_compose(fe_ir *ir, const char *name, const fe_op_args *args);
#define FE_COMPOSE(ir, name, ...)                                              \
  fe_compose((ir), (name), &(fe_op_args){__VA_ARGS__})
#define FE_X(ir, name, ...) FE_COMPOSE(ir, name, FE_VALUES(__VA_ARGS__))

fe_dtype fe_x_type(MlirValue v); // UNDEFINED for null
MlirValue fe_x_absent(fe_ir *ir);
MlirValue fe_x_ints(fe_ir *ir, unsigned n, const int64_t *v); // 1-D
MlirValue fe_x_int(fe_ir *ir, int64_t v);                     // 1-D, one
MlirValue fe_x_cast(fe_ir *ir, MlirValue v, fe_dtype t);
/// v + bias; no bias: v.
MlirValue fe_x_plus(fe_ir *ir, MlirValue v, MlirValue bias);
/// Elements [from, to) of an axis; bounds 1-D of one element.
MlirValue fe_x_slice(fe_ir *ir, MlirValue v, int64_t axis, MlirValue from,
                     MlirValue to);
MlirValue fe_x_part(fe_ir *ir, MlirValue v, int64_t axis, int64_t from,
                    int64_t to);
/// Element `at` of an axis, which goes.
MlirValue fe_x_pick(fe_ir *ir, MlirValue v, int64_t axis, int64_t at);
/// Size of dim i, 1-D of one element.
MlirValue fe_x_size(fe_ir *ir, MlirValue v, unsigned i);
/// 0 copies a dim, -1 is what remains.
MlirValue fe_x_reshape(fe_ir *ir, MlirValue v, unsigned n, const int64_t *dims);
MlirValue fe_x_transpose(fe_ir *ir, MlirValue v, unsigned n,
                         const int64_t *permutation);
MlirValue fe_x_unsqueeze(fe_ir *ir, MlirValue v, int64_t axis);
MlirValue fe_x_concat(fe_ir *ir, int64_t axis, unsigned n, const MlirValue *in);
/// Zeros of a 1-D shape.
MlirValue fe_x_zeros(fe_ir *ir, fe_dtype t, MlirValue shape);
/// 0, 1, .. count - 1; count 1-D of one element.
MlirValue fe_x_range(fe_ir *ir, MlirValue count);
/// Bytes of packed numbers of 2, 4 or 8 bits, one number per byte: the last dim
/// grows.
MlirValue fe_x_unpacked(fe_ir *ir, MlirValue v, int64_t bits);
/// v as [rows][1][1].. with `behind` dims put behind.
MlirValue fe_x_behind(fe_ir *ir, MlirValue v, unsigned behind);

#endif
