//===- common.h - what several operator families share -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_COMMON_H
#define FE_OP_COMMON_H

#include "op/op.h"

//===-- Expressions ---------------------------------------------------------//

/// Surely not negative, whatever the symbols are (they are sizes).
bool fe_dim_nonneg(MlirAffineExpr e);
/// Whether a dim is n, as far as can be told when compiling.
bool fe_dim_may_be(MlirAffineExpr e, int64_t n);
/// As text, which is equal for equal ones.
const char *fe_dims_text(fe_ir *ir, unsigned n, MlirAffineExpr *e);
/// A size that is `whole` unless the dim that it is taken from is too short for
/// it: a symbol named after `whole` and what it depends on, so that equal ones
/// are the same. Its value is what the run's tensor has. Where it meets `whole`
/// in a broadcast, the result is `whole` again.
MlirAffineExpr fe_cut_dim(fe_ir *ir, MlirAffineExpr whole, unsigned n,
                          MlirAffineExpr *by);
bool fe_dim_is_cut(fe_ir *ir, MlirAffineExpr e, MlirAffineExpr whole);
/// Product of dims [from, to).
MlirAffineExpr fe_dims_product(fe_ir *ir, const fe_dims *d, unsigned from,
                               unsigned to);

//===-- Symbolic contents ---------------------------------------------------//

/// Binary operation with broadcasting; fn gives null for "not known" and is
/// not called on unknown elements.
typedef MlirAffineExpr (*fe_expr_fn)(fe_ir *ir, MlirAffineExpr a,
                                     MlirAffineExpr b);
bool fe_contents_binary(fe_ir *ir, MlirOperation op, fe_contents *out,
                        fe_expr_fn fn);
/// Those of operand 0, element by element in row-major order: reshapes.
bool fe_contents_first(fe_ir *ir, MlirOperation op, fe_contents *out);
/// Contents of a value rounded down (or up) to integers: sees through a float
/// division of integers.
bool fe_contents_rounded(fe_ir *ir, MlirValue v, bool up, fe_contents *out);
/// Row-major element of `from` that broadcasting puts at element i of `to`.
/// Both shapes static.
unsigned fe_broadcast_element(const fe_dims *to, const fe_dims *from,
                              unsigned i);

//===-- Upgrades ------------------------------------------------------------//

/// `axis` and `broadcast` of opsets below 7: operand 1 gets trailing dims.
fe_status fe_upgrade_broadcast(fe_node *n);
/// x with dims of size 1 put in at `axes` (of the result).
MlirValue fe_unsqueezed(fe_ir *ir, MlirValue x, unsigned n,
                        const int64_t *axes);
/// Reduces n->in pairwise by the binary op `name`; one input: itself.
fe_status fe_expand_pairwise(fe_node *n, const char *name, MlirValue *result);

//===-- Lowering ------------------------------------------------------------//

/// Product of the sizes of dims [from, to), in main.
MlirValue fe_sizes_product(fe_lower *l, MlirValue tensor, unsigned from,
                           unsigned to);
/// The attribute `name`, an axis whose range inference has checked, counted
/// from the front.
unsigned fe_attr_axis(MlirOperation op, const char *name, int64_t absent,
                      unsigned rank);
/// What `axis` is where the model gives none: of all elements in one row.
enum { FE_FLAT = INT32_MIN };
/// Operand 0, as a vector where its `axis` is FE_FLAT; *axis: along which.
MlirValue fe_flat_or_axis(fe_lower *l, unsigned *axis);
/// Checks, at run time unless it is clear, that dim i of operand a and dim j of
/// operand b are equal.
void fe_check_dims(fe_lower *l, unsigned a, unsigned i, unsigned b, unsigned j,
                   const char *message);
/// Checks that two index values of main are equal.
void fe_check_equal(fe_lower *l, MlirValue a, MlirValue b, const char *message);
/// Element i of a list that the run gives, as an index value of main;
/// `otherwise` where the list is shorter.
MlirValue fe_list_element(fe_lower *l, MlirValue list, MlirValue i,
                          MlirValue otherwise);
/// Its length: of a scalar 1.
MlirValue fe_list_length(fe_lower *l, MlirValue list);
/// An index of the model for a dim: negative ones count from the end; then
/// moved into the dim, so that nothing outside is read.
MlirValue fe_wrapped_index(fe_ir *ir, MlirValue index, MlirValue dim);
/// Operand i repeated along dims of size 1 to `sizes`; checks that it fits.
MlirValue fe_broadcast_to(fe_lower *l, unsigned i, unsigned rank,
                          const MlirValue *sizes);
/// Product of sizes, a constant where all of them are.
MlirValue fe_known_product(fe_ir *ir, unsigned n, const MlirValue *sizes);
/// int64 tensors [n] and scalar from index values of main.
MlirValue fe_index_list(fe_lower *l, unsigned n, const MlirValue *values);
MlirValue fe_index_scalar(fe_lower *l, MlirValue value);

/// Value of a size that is constant.
bool fe_size_known(MlirValue size, int64_t *out);
/// 64 bits that, unsigned, grow from the best entry to the worst: value v of
/// type t, then index, of 32 bits. NaN is the worst, both zeros are equal.
MlirValue fe_order_key(fe_ir *ir, fe_dtype t, MlirValue v, MlirValue index,
                       bool largest);
bool fe_order_has_key(fe_dtype t);                  // whether there is room
MlirValue fe_order_index(fe_ir *ir, MlirValue key); // i64
/// All sizes of a lowered tensor.
void fe_sizes_of(fe_lower *l, MlirValue v, MlirValue *sizes);
/// tensor.empty of t's storage type.
MlirValue fe_tensor_empty(fe_lower *l, fe_dtype t, unsigned rank,
                          const MlirValue *sizes);
/// Reshaped to [dims before axis][axis][dims behind].
MlirValue fe_around_axis(fe_lower *l, MlirValue v, unsigned axis);

/// x (f32, f64) such that storing it as float8 gives what `saturate` says of
/// numbers that are too large; other types are left alone.
MlirValue fe_limit_float8(fe_ir *ir, fe_dtype t, bool saturate, MlirValue x);

//===-- Elementwise functions and reductions --------------------------------//

/// Function of one element of each operand, compute types.
typedef MlirValue (*fe_element_fn)(fe_ir *ir, const MlirValue *x,
                                   const void *user);
#define FE_MAX_ELEMENT 8 // operands
/// fn over `sizes`; operands are broadcast, checked at run time where needed.
MlirValue fe_pointwise(fe_lower *l, unsigned rank, const MlirValue *sizes,
                       unsigned n, const MlirValue *in, const fe_dtype *types,
                       fe_dtype result, fe_element_fn fn, const void *user);
MlirValue fe_map1(fe_lower *l, MlirValue v, fe_dtype t, fe_dtype result,
                  fe_element_fn fn, const void *user);
/// Of a's shape; b is broadcast; both and the result of type t.
MlirValue fe_map2(fe_lower *l, MlirValue a, MlirValue b, fe_dtype t,
                  fe_element_fn fn, const void *user);
/// Numbers converted as in C.
MlirValue fe_to_type(fe_lower *l, MlirValue v, fe_dtype from, fe_dtype to);
/// In which sums of t are kept: f32 for halves.
fe_dtype fe_work_type(fe_dtype t);

/// combine({accumulator, x}) over elements x = element(..) of compute type of
/// `type`, which the result has.
typedef struct fe_reduction {
  fe_dtype type;
  fe_element_fn element; // NULL: as it is
  fe_element_fn combine;
  double init;
  int64_t init_int; // for integers
  const void *user;
} fe_reduction;
/// Over the dims whose bit in `reduced` is set.
MlirValue fe_reduce(fe_lower *l, MlirValue v, fe_dtype t, uint32_t reduced,
                    bool keep, const fe_reduction *r);

MlirValue fe_element_add(fe_ir *ir, const MlirValue *x, const void *user);
MlirValue fe_element_sub(fe_ir *ir, const MlirValue *x, const void *user);
MlirValue fe_element_mul(fe_ir *ir, const MlirValue *x, const void *user);
MlirValue fe_element_div(fe_ir *ir, const MlirValue *x, const void *user);
MlirValue fe_element_max(fe_ir *ir, const MlirValue *x, const void *user);
MlirValue fe_element_square(fe_ir *ir, const MlirValue *x, const void *user);
MlirValue fe_element_log(fe_ir *ir, const MlirValue *x, const void *user);

//===-- Attention -----------------------------------------------------------//

/// Operands of krnl.attention_cached (src/op/krnl.irdl.mlir), lowered tensors.
/// The layout of the result is that of `sizes`.
typedef struct fe_attention_call {
  MlirValue q, k, v, frontiers;
  MlirValue mask, sinks; // null: none
  const char *layouts[4];
  MlirValue sizes[4]; // of the result
  double scale, softcap;
  int64_t window;
  bool causal;
} fe_attention_call;
MlirValue fe_lower_attention(fe_lower *l, const fe_attention_call *c);

#endif
