//===- complex.c - operators on complex numbers ------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No kernel computes with complex numbers. What the standard has of them is
// linear, and done for real and imaginary parts; these lie side by side in
// memory, so that taking a number apart is only another shape of it.
//
//===----------------------------------------------------------------------===//
#include "op/complex.h"
#include "op/common.h"

bool fe_is_complex(MlirValue v) {
  fe_dtype t = fe_is_null(v) ? FE_UNDEFINED : fe_dtype_of_elem(fe_elem_of(v));
  return t == FE_C64 || t == FE_C128;
}

static fe_status infer_parts(fe_infer *f) {
  fe_dims d;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  if (d.rank == FE_MAX_RANK)
    return fe_infer_error(f, NULL, "there are too many dimensions");
  d.d[d.rank++] = fe_dim_const(f->ir, 2);
  fe_out_tensor(f, 0, fe_in_dtype(f, 0) == FE_C64 ? FE_F32 : FE_F64, &d);
  return FE_OK;
}

static fe_status infer_of_parts(fe_infer *f) {
  fe_dims d;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  if (!d.rank || fe_dim_static(d.d[d.rank - 1]) != 2)
    return fe_infer_error(f, NULL, "the last dimension must be the two parts");
  --d.rank;
  fe_out_tensor(f, 0, fe_in_dtype(f, 0) == FE_F32 ? FE_C64 : FE_C128, &d);
  return FE_OK;
}

static fe_status lower_same_memory(fe_lower *l) {
  MlirValue sizes[FE_MAX_RANK];
  unsigned from = fe_rank(l->in[0]), to = fe_out_rank(l, 0);
  fe_sizes_of(l, l->in[0], sizes);
  if (to > from)
    sizes[from] = fe_index(l->ir, 2);
  l->out[0] = fe_reshape(l, l->in[0], fe_out_elem(l, 0), to, sizes);
  return FE_OK;
}

MlirValue fe_complex_parts(fe_ir *ir, MlirValue v) {
  return fe_onnx1(ir, "ComplexParts", v);
}

MlirValue fe_complex_of_parts(fe_ir *ir, MlirValue v) {
  return fe_onnx1(ir, "ComplexOfParts", v);
}

fe_status fe_expand_complex(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  if (!n->in.n || !fe_is_complex(n->in.at[0]))
    return FE_OK;
  MlirValue *both = FE_NEW_N(ir->arena, MlirValue, n->in.n), done[2];
  for (size_t k = 0; k < n->in.n; ++k)
    if (fe_is_complex(n->in.at[k]) &&
        fe_is_null(both[k] = fe_complex_parts(ir, n->in.at[k])))
      return FE_FAILED;
  int64_t last = -1;
  MlirValue behind = fe_constant_i64s(ir, 1, &last);
  MlirNamedAttribute axis = fe_at_i64(ir, "axis", -1);
  for (unsigned i = 0; i < 2; ++i) {
    fe_node part = *n;      // the lists are its own: making it may change them
    part.opset = INT16_MAX; // it is in the newest form already
    part.in.at = fe_memdup(ir->arena, n->in.at, n->in.n * sizeof *n->in.at);
    part.in.cap = n->in.n;
    part.attrs.at =
        fe_memdup(ir->arena, n->attrs.at, n->attrs.n * sizeof *n->attrs.at);
    part.attrs.cap = n->attrs.n;
    part.n_out = 1;
    for (size_t k = 0; k < n->in.n; ++k) {
      if (fe_is_null(both[k]))
        continue;
      MlirValue take[2] = {both[k], fe_constant_scalar(ir, FE_I64, i)};
      part.in.at[k] = fe_first(fe_onnx(ir, "gather", 2, take, 1, 1, &axis));
      if (fe_is_null(part.in.at[k]))
        return FE_FAILED;
    }
    if (fe_node_make(&part, &done[i]))
      return FE_FAILED;
    done[i] = fe_onnx1(ir, "Unsqueeze", done[i], behind);
    if (fe_is_null(done[i]))
      return FE_FAILED;
  }
  MlirValue joined = fe_first(fe_onnx(ir, "concat", 2, done, 1, 1, &axis));
  if (!fe_is_null(joined))
    results[0] = fe_complex_of_parts(ir, joined);
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

const fe_op_row fe_family_complex[] = {
    {.name = "ComplexParts",
     .since = 1,
     .inputs = "X:T",
     .outputs = "Y:U",
     .types = "T=c64,c128;U=f32,f64",
     .flags = FE_INTERNAL,
     .infer = infer_parts,
     .lower = lower_same_memory,
     .limits = "internal: what operators on complex numbers become"},
    {.name = "ComplexOfParts",
     .since = 1,
     .inputs = "X:T",
     .outputs = "Y:U",
     .types = "T=f32,f64;U=c64,c128",
     .flags = FE_INTERNAL,
     .infer = infer_of_parts,
     .lower = lower_same_memory,
     .limits = "internal: what operators on complex numbers become"},
    {0}};
