//===- plan_model.c - what the model looks like from outside -----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbols that the arguments bind, weights and their offsets, and the module's
// attributes that describe all of it (krnl.inputs and so on).
//
// Every dynamic dim of an argument is a symbol of the compiled model; equal
// expressions (onnx.type of the argument) are one. A dim that is more than a
// symbol, like 2 * s0, is a symbol of its own.
//
//===----------------------------------------------------------------------===//
#include "pass/plan.h"

#include "ferrule/model.h"
#include "ir/value_type.h"

#include <string.h>

//===-- Types as the model had them -----------------------------------------//

/// Attribute `name` of argument (list "arg_attrs") or result ("res_attrs") i.
static MlirAttribute side_attr(fe_plan_state *s, const char *list, unsigned i,
                               const char *name) {
  MlirAttribute a = fe_attr(s->func, list), none = {NULL};
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAArray(a) ||
      i >= mlirArrayAttrGetNumElements(a))
    return none;
  a = mlirArrayAttrGetElement(a, i);
  return mlirAttributeIsADictionary(a)
             ? mlirDictionaryAttrGetElementByName(a, fe_str(name))
             : none;
}

static const char *side_name(fe_plan_state *s, const char *list, unsigned i,
                             const char *prefix) {
  MlirAttribute a = side_attr(s, list, i, "onnx.name");
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAString(a))
    return fe_printf(s->ir->arena, "%s%u", prefix, i);
  MlirStringRef r = mlirStringAttrGetValue(a);
  return fe_strndup(s->ir->arena, r.data, r.length);
}

/// What the model said about a value; its own type when nothing is known.
static MlirType side_type(fe_plan_state *s, const char *list, unsigned i,
                          MlirValue v) {
  MlirAttribute a = side_attr(s, list, i, "onnx.type");
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAType(a))
    return mlirValueGetType(v);
  MlirType t = mlirTypeAttrGetValue(a);
  bool fits = mlirTypeIsARankedTensor(t)
                  ? mlirShapedTypeGetRank(t) == (int64_t)fe_rank(v)
                  : fe_type_is_object(t) && fe_rank(v) == 0 &&
                        mlirTypeEqual(fe_elem_of(v), s->ir->i64);
  return fits ? t : mlirValueGetType(v);
}

/// Expression of dim d in the type's encoding; null: none.
static MlirAffineExpr side_dim(MlirType t, unsigned d) {
  if (!mlirTypeIsARankedTensor(t))
    return (MlirAffineExpr){NULL};
  MlirAttribute e = mlirRankedTensorTypeGetEncoding(t);
  if (mlirAttributeIsNull(e) || !mlirAttributeIsAAffineMap(e))
    return (MlirAffineExpr){NULL};
  MlirAffineMap map = mlirAffineMapAttrGetValue(e);
  return d < mlirAffineMapGetNumResults(map) ? mlirAffineMapGetResult(map, d)
                                             : (MlirAffineExpr){NULL};
}

//===-- Symbols -------------------------------------------------------------//

/// Number of the symbol that stands for this expression, or -1.
static int find_symbol(const fe_plan_state *s, MlirAffineExpr e) {
  for (size_t i = 0; e.ptr && i < s->symbols.n; ++i)
    if (mlirAffineExprEqual(s->symbols.at[i], e))
      return (int)i;
  return -1;
}

static bool name_taken(const fe_plan_state *s, const char *name) {
  for (size_t i = 0; i < s->symbol_names.n; ++i)
    if (!strcmp(s->symbol_names.at[i], name))
      return true;
  return false;
}

static unsigned bind(fe_plan_state *s, MlirAffineExpr e, unsigned input,
                     unsigned d) {
  fe_arena *arena = s->ir->arena;
  const char *name = NULL;
  if (e.ptr && mlirAffineExprIsASymbol(e)) {
    intptr_t n = mlirAffineSymbolExprGetPosition(e);
    if (n < (intptr_t)s->ir->symbols.n)
      name = s->ir->symbols.at[n];
  }
  if (!name)
    name =
        fe_printf(arena, "%s.%u", side_name(s, "arg_attrs", input, "input"), d);
  while (name_taken(s, name))
    name = fe_printf(arena, "%s_", name);
  fe_push(arena, &s->symbols, e);
  fe_push(arena, &s->symbol_names, name);
  fe_push(arena, &s->symbol_input, input);
  fe_push(arena, &s->symbol_dim, d);
  return (unsigned)s->symbols.n - 1;
}

fe_status fe_plan_inputs(fe_plan_state *s) {
  fe_symbols_load(s->ir, s->module);
  s->input_symbol =
      FE_NEW_N(s->ir->arena, unsigned, s->n_inputs *FE_MAX_RANK + 1);
  // Plain symbols first: another argument may have an expression of one.
  for (unsigned pass = 0; pass < 2; ++pass)
    for (unsigned i = 0; i < s->n_inputs; ++i) {
      MlirValue v = fe_block_arg(s->top, i);
      if (!fe_is_tensor(v) || fe_rank(v) > FERRULE_MAX_RANK)
        return fe_error(s->ir->diags, (fe_where){0}, NULL,
                        "input %u of main is not a tensor of rank %u or less",
                        i, FERRULE_MAX_RANK);
      MlirType t = side_type(s, "arg_attrs", i, v);
      for (unsigned d = 0; d < fe_rank(v); ++d) {
        if (fe_static_dim(v, d) != FE_DYN)
          continue;
        MlirAffineExpr e = side_dim(t, d);
        if ((e.ptr && mlirAffineExprIsASymbol(e)) != (pass == 0))
          continue;
        int n = find_symbol(s, e);
        s->input_symbol[i * FE_MAX_RANK + d] =
            n >= 0 ? (unsigned)n : bind(s, e, i, d);
      }
    }
  if (s->symbols.n > FERRULE_MAX_SYMBOLS)
    return fe_error(s->ir->diags, (fe_where){0},
                    "fix some of them, for instance with --dim",
                    "the inputs have %zu different dynamic sizes; %d are "
                    "possible",
                    s->symbols.n, FERRULE_MAX_SYMBOLS);
  return FE_OK;
}

//===-- Weights -------------------------------------------------------------//

/// Splats up to this size lie among the weights.
#define MAX_SPLAT 4096

bool fe_plan_filled(MlirOperation op) {
  MlirAttribute a = fe_attr(op, "value");
  if (mlirAttributeIsNull(a) || !mlirAttributeIsADenseElements(a) ||
      !mlirDenseElementsAttrIsSplat(a))
    return false;
  MlirType t = mlirAttributeGetType(a);
  return mlirElementsAttrGetNumElements(a) *
             (int64_t)fe_elem_bytes(mlirShapedTypeGetElementType(t)) >
         MAX_SPLAT;
}

int64_t fe_plan_constant(fe_plan_state *s, MlirOperation op) {
  fe_ir *ir = s->ir;
  MlirAttribute a = fe_attr(op, "value");
  if (mlirAttributeIsNull(a) || !mlirAttributeIsADenseElements(a)) {
    fe_report(ir->diags, FE_SEV_INTERNAL, fe_plan_where(s, op), NULL,
              "constant tensor in a form that has no bytes");
    s->bad = true;
    return 0;
  }
  MlirType elem = mlirShapedTypeGetElementType(mlirAttributeGetType(a));
  size_t n = (size_t)mlirElementsAttrGetNumElements(a);
  size_t size = fe_elem_bytes(elem);
  bool splat = mlirDenseElementsAttrIsSplat(a);
  bool bits = mlirTypeIsAInteger(elem) && mlirIntegerTypeGetWidth(elem) == 1;
  uint8_t *data = fe_alloc(ir->arena, n * size + 1);
  const uint8_t *raw = mlirDenseElementsAttrGetRawData(a);
  for (size_t i = 0; i < n; ++i)
    if (bits)
      data[i] = splat ? mlirDenseElementsAttrGetBoolSplatValue(a)
                      : mlirDenseElementsAttrGetBoolValue(a, (intptr_t)i);
    else
      memcpy(data + i * size, raw + (splat ? 0 : i * size), size);
  const fe_blob *blob =
      fe_blob_add(ir->blobs, "constant", data, n * size, NULL, 0);
  return fe_plan_blob(s, blob->name, (int64_t)(n * size));
}

//===-- The description -----------------------------------------------------//

static MlirAttribute array(fe_ir *ir, unsigned n, const MlirAttribute *at) {
  return mlirArrayAttrGet(ir->ctx, (intptr_t)n, at);
}

static MlirAttribute text(fe_ir *ir, const char *s) {
  return mlirStringAttrGet(ir->ctx, fe_str(s));
}

/// What an object holds, as ferrule_value_info.element; null for tensors.
static MlirAttribute describe_held(fe_ir *ir, MlirType t);

static MlirAttribute describe_inner(fe_ir *ir, MlirType t) {
  MlirNamedAttribute at[3] = {fe_at_i64(ir, "dtype", fe_type_number(t))};
  unsigned n = 1;
  if (fe_type_is_object(t)) {
    at[n++] = fe_at_i64s(ir, "dims", 0, NULL);
    at[n++] = fe_named(ir, "element", describe_held(ir, t));
  } else if (mlirTypeIsARankedTensor(t)) { // else no dims: any rank
    int64_t dims[FE_MAX_RANK];
    at[n++] = fe_at_i64s(ir, "dims", fe_type_dims(t, dims), dims);
  }
  return mlirDictionaryAttrGet(ir->ctx, n, at);
}

static MlirAttribute describe_held(fe_ir *ir, MlirType t) {
  MlirAttribute parts[2];
  unsigned n = fe_type_is_map(t) ? 2 : 1;
  for (unsigned i = 0; i < n; ++i)
    parts[i] =
        describe_inner(ir, n == 2 ? fe_type_map_part(t, i) : fe_type_held(t));
  return array(ir, n, parts);
}

/// As in ferrule_value_info.
static MlirAttribute describe(fe_plan_state *s, const char *list, unsigned i,
                              const char *prefix, MlirValue v) {
  fe_ir *ir = s->ir;
  MlirType t = side_type(s, list, i, v);
  int64_t dims[FE_MAX_RANK];
  bool input = mlirValueIsABlockArgument(v) && !strcmp(list, "arg_attrs");
  unsigned rank = fe_rank(v);
  for (unsigned d = 0; d < rank; ++d) {
    dims[d] = fe_static_dim(v, d);
    if (dims[d] != FE_DYN)
      continue;
    int n = input ? (int)s->input_symbol[i * FE_MAX_RANK + d]
                  : find_symbol(s, side_dim(t, d));
    dims[d] = n >= 0 ? -1 - (int64_t)n : INT64_MIN;
  }
  MlirNamedAttribute at[4] = {
      fe_at_str(ir, "name", side_name(s, list, i, prefix)),
      fe_at_i64(ir, "dtype", fe_type_number(t)),
      fe_at_i64s(ir, "dims", rank, dims)};
  bool object = fe_type_is_object(t);
  if (object)
    at[3] = fe_named(ir, "element", describe_held(ir, t));
  return mlirDictionaryAttrGet(ir->ctx, 3 + object, at);
}

int fe_plan_output_dtype(fe_plan_state *s, unsigned i) {
  return fe_type_number(side_type(s, "res_attrs", i, fe_operand(s->ret, i)));
}

bool fe_plan_output_points(fe_plan_state *s, unsigned i) {
  int t = fe_plan_output_dtype(s, i);
  return t == FERRULE_STRING || t >= FERRULE_SEQUENCE;
}

void fe_plan_describe(fe_plan_state *s) {
  fe_ir *ir = s->ir;
  size_t n = s->n_inputs + s->n_outputs + s->blob_names.n;
  MlirAttribute *at = FE_NEW_N(ir->arena, MlirAttribute, n + 1);
  MlirOperation module = mlirModuleGetOperation(s->module);
  for (unsigned i = 0; i < s->n_inputs; ++i)
    at[i] = describe(s, "arg_attrs", i, "input", fe_block_arg(s->top, i));
  fe_set_attr(ir, module,
              fe_named(ir, "krnl.inputs", array(ir, s->n_inputs, at)));
  for (unsigned i = 0; i < s->n_outputs; ++i)
    at[i] = describe(s, "res_attrs", i, "output", fe_operand(s->ret, i));
  fe_set_attr(ir, module,
              fe_named(ir, "krnl.outputs", array(ir, s->n_outputs, at)));
  for (size_t i = 0; i < s->blob_names.n; ++i) {
    MlirAttribute pair[] = {text(ir, s->blob_names.at[i]),
                            mlirIntegerAttrGet(ir->i64, s->blob_offsets.at[i])};
    at[i] = array(ir, 2, pair);
  }
  fe_set_attr(
      ir, module,
      fe_named(ir, "krnl.blobs", array(ir, (unsigned)s->blob_names.n, at)));
  if (s->weights->below)
    fe_set_attr(ir, module,
                fe_at_i64(ir, "krnl.own_bytes", s->weights->own_bytes));
  fe_set_attr(ir, module,
              fe_at_i64(ir, "krnl.weight_bytes", s->weights->bytes));
  fe_set_attr(ir, module,
              fe_at_strs(ir, "krnl.symbols", (unsigned)s->symbol_names.n,
                         s->symbol_names.at));
}
