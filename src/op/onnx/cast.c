//===- cast.c - Cast, CastLike -----------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As C converts. Floats outside a small integer type wrap around, as with a
// conversion through int; outside int64 the result is unspecified. What is too
// large for a float of 8 bits becomes the largest one, infinities included, or
// without `saturate` infinity where the type has it and else NaN.
//
//===----------------------------------------------------------------------===//
#include "op/common.h"
#include "op/scalar.h"
#include "op/text.h"

#include <float.h>
#include <math.h>
#include <string.h>

/// Admitted by operand and result.
#define CAST_TYPES "bool,real,f8e4m3fn,f8e4m3fnuz,f8e5m2,f8e5m2fnuz,f8e8m0"
#define CAST_MASK                                                              \
  (1u << FE_BOOL | 1u << FE_F16 | 1u << FE_BF16 | 1u << FE_F32 |               \
   1u << FE_F64 | 1u << FE_I8 | 1u << FE_I16 | 1u << FE_I32 | 1u << FE_I64 |   \
   1u << FE_U8 | 1u << FE_U16 | 1u << FE_U32 | 1u << FE_U64 |                  \
   1u << FE_F8E4M3FN | 1u << FE_F8E4M3FNUZ | 1u << FE_F8E5M2 |                 \
   1u << FE_F8E5M2FNUZ | 1u << FE_F8E8M0)

/// Opset 1 has the type as text, "FLOAT16".
static fe_status upgrade_cast(fe_node *n) {
  fe_node_attr *a = fe_node_attr_find(n, "to");
  if (!a || a->kind != FE_A_STRING)
    return FE_OK;
  static const struct {
    const char *name;
    fe_dtype t;
  } names[] = {{"FLOAT", FE_F32},    {"FLOAT16", FE_F16}, {"DOUBLE", FE_F64},
               {"INT8", FE_I8},      {"INT16", FE_I16},   {"INT32", FE_I32},
               {"INT64", FE_I64},    {"UINT8", FE_U8},    {"UINT16", FE_U16},
               {"UINT32", FE_U32},   {"UINT64", FE_U64},  {"BOOL", FE_BOOL},
               {"STRING", FE_STRING}};
  for (size_t i = 0; i < FE_COUNT(names); ++i)
    if (!strcmp(a->s, names[i].name)) {
      fe_node_set_int(n, "to", names[i].t);
      return FE_OK;
    }
  fe_where where = n->where;
  where.op = n->row->name;
  where.attr = "to";
  return fe_error(n->ir->diags, where, NULL, "there is no type '%s'", a->s);
}

/// Texts are read and written by the runtime.
static fe_status expand_cast(fe_node *n, MlirValue *results) {
  const fe_node_attr *to = fe_node_attr_find(n, "to");
  if (n->in.n != 1 || fe_is_null(n->in.at[0]) || !to)
    return FE_OK; // reported when the operator is made
  bool known = to->i > 0 && to->i < FE_DTYPE_COUNT &&
               ((CAST_MASK | 1u << FE_STRING) >> to->i & 1);
  if (known && (to->i == FE_STRING || fe_is_text(n->in.at[0])))
    results[0] = fe_text_cast(n->ir, n->in.at[0], (fe_dtype)to->i);
  return FE_OK;
}

static fe_status infer_cast(fe_infer *f) {
  fe_dims d;
  int64_t to = fe_attr_i64(f->attrs, "to", 0);
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  if (to <= 0 || to >= FE_DTYPE_COUNT || !(CAST_MASK >> to & 1) ||
      fe_in_dtype(f, 0) == FE_STRING)
    return fe_infer_error(f, NULL, "cannot convert to %s",
                          to > 0 && to < FE_DTYPE_COUNT
                              ? fe_dtype_name((fe_dtype)to)
                              : "an unknown type");
  if (to == FE_F8E8M0 &&
      strcmp(fe_attr_str(f->ir->arena, f->attrs, "round_mode", "up"), "up"))
    return fe_infer_error(f, NULL, "only 'round_mode' \"up\" is supported");
  fe_out_tensor(f, 0, (fe_dtype)to, &d);
  return FE_OK;
}

static MlirValue float_to_int(fe_ir *ir, MlirValue x, fe_dtype out,
                              MlirType to) {
  unsigned bits = fe_dtype_bits(out);
  if (bits == 64)
    return fe_convert(ir, x, to, false, fe_dtype_is_unsigned(out));
  // Wider, then cut off; int32 itself goes directly, as processors have it.
  bool direct = out == FE_I32;
  MlirType wide = direct || bits < 32 ? ir->i32 : ir->i64;
  MlirValue v = fe_convert(ir, x, wide, false, false);
  return direct ? v : fe_convert(ir, v, to, false, false);
}

/// Types of 8 bits: from which magnitude on a number is too large.
static const struct {
  fe_dtype t;
  double too_large; // half a step above the largest number
  bool itself;      // also that one: the largest is odd
  bool inf;
} small[] = {{FE_F8E4M3FN, 464, false, false},
             {FE_F8E4M3FNUZ, 248, true, false},
             {FE_F8E5M2, 61440, true, true},
             {FE_F8E5M2FNUZ, 61440, true, false}};

/// x (f32) such that encoding it gives what `saturate` says.
static MlirValue limit_small(fe_ir *ir, fe_dtype t, bool saturate,
                             MlirValue x) {
  MlirType f32 = mlirValueGetType(x);
  for (size_t i = 0; i < FE_COUNT(small); ++i) {
    if (small[i].t != t)
      continue;
    MlirValue a = fe_math(ir, "absf", x);
    if (saturate) {
      MlirValue largest =
          fe_math2(ir, "copysign", fe_float(ir, f32, FLT_MAX), x);
      return fe_select(ir, fe_cmp(ir, FE_GT, a, fe_float(ir, f32, FLT_MAX)),
                       largest, x);
    }
    MlirValue over = fe_float(ir, f32, small[i].inf ? INFINITY : NAN);
    if (small[i].inf)
      over = fe_math2(ir, "copysign", over, x);
    return fe_select(ir,
                     fe_cmp(ir, small[i].itself ? FE_GE : FE_GT, a,
                            fe_float(ir, f32, small[i].too_large)),
                     over, x);
  }
  return x;
}

FE_SCALAR(cast) {
  FE_UNUSED;
  MlirType to = fe_compute_type(ir, out);
  if (fe_dtype_bits(out) == 8 && fe_dtype_is_float(out)) {
    MlirValue v = fe_convert(ir, x[0], to,
                             fe_dtype_is_unsigned(in) || in == FE_BOOL, false);
    return limit_small(ir, out, fe_attr_i64(op, "saturate", 1), v);
  }
  if (fe_type_is_float(mlirValueGetType(x[0])) && fe_dtype_is_int(out))
    return float_to_int(ir, x[0], out, to);
  return fe_convert(ir, x[0], to, fe_dtype_is_unsigned(in) || in == FE_BOOL,
                    fe_dtype_is_unsigned(out));
}

static bool contents_cast(fe_ir *ir, MlirOperation op, fe_contents *out) {
  fe_dtype to = fe_dtype_of_elem(fe_elem_of(fe_result(op, 0)));
  unsigned n = out->n;
  fe_dims dims = out->dims;
  bool known = fe_dtype_is_int(to)
                   ? fe_contents_rounded(ir, fe_operand(op, 0), false, out)
                   : fe_contents_partial(ir, fe_operand(op, 0), out);
  if (!known || out->n != n)
    return false;
  out->dims = dims;
  for (unsigned i = 0; i < n && to == FE_BOOL; ++i) {
    int64_t v =
        mlirAffineExprIsNull(out->at[i]) ? FE_DYN : fe_dim_static(out->at[i]);
    out->at[i] = v == FE_DYN ? (MlirAffineExpr){0} : fe_dim_const(ir, v != 0);
  }
  return true;
}

static fe_status expand_cast_like(fe_node *n, MlirValue *results) {
  if (n->in.n != 2 || fe_is_null(n->in.at[0]) || fe_is_null(n->in.at[1])) {
    fe_where where = n->where;
    where.op = n->row->name;
    return fe_error(n->ir->diags, where, NULL, "takes 2 inputs");
  }
  fe_dtype to = fe_dtype_of_elem(fe_elem_of(n->in.at[1]));
  if (to == FE_STRING || fe_is_text(n->in.at[0])) {
    results[0] = fe_text_cast(n->ir, n->in.at[0], to);
    return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
  }
  fe_node_attr *saturate = fe_node_attr_find(n, "saturate");
  MlirNamedAttribute attrs[] = {
      fe_at_i64(n->ir, "to", to),
      fe_at_i64(n->ir, "saturate", saturate ? saturate->i : 1)};
  results[0] =
      fe_first(fe_onnx(n->ir, "Cast", 1, n->in.at, 1, FE_COUNT(attrs), attrs));
  return fe_is_null(results[0]) ? FE_FAILED : FE_OK;
}

static const fe_attr_def cast_attrs[] = {{"to", FE_A_INT, NULL},
                                         {"saturate", FE_A_INT, "1"},
                                         {"round_mode", FE_A_STRING, "up"},
                                         {0}};
static const fe_attr_def cast_like_attrs[] = {
    {"saturate", FE_A_INT, "1"}, {"round_mode", FE_A_STRING, "up"}, {0}};

const fe_op_row fe_family_cast[] = {
    {.name = "Cast",
     .since = 1,
     .inputs = "input:T1",
     .outputs = "output:T2",
     .types = "T1=" CAST_TYPES ",str;T2=" CAST_TYPES ",str",
     .attrs = cast_attrs,
     .flags = FE_POINTWISE | FE_FUNCTION,
     .upgrade = upgrade_cast,
     .expand = expand_cast,
     .infer = infer_cast,
     .contents = contents_cast,
     .scalar = cast},
    {.name = "CastLike",
     .since = 15,
     .inputs = "input:T1, target_type:T2",
     .outputs = "output:T2",
     .types = "T1=" CAST_TYPES ",str;T2=" CAST_TYPES ",str",
     .attrs = cast_like_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_cast_like},
    {0}};
