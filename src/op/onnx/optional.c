//===- optional.c - values that may be absent --------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known when compiling is gone after import; the rest are calls of
// runtime/optional.c. An optional is a pointer, null when it holds nothing.
//
//===----------------------------------------------------------------------===//
#include "op/sequence.h"

#include "ir/value_type.h"
#include "op/common.h"

static MlirValue behind_casts(MlirValue v) {
  while (fe_op_is(fe_def(v), "builtin.unrealized_conversion_cast"))
    v = fe_operand(fe_def(v), 0);
  return v;
}

static bool is_absent(MlirValue v) {
  return fe_is_null(v) || fe_op_is(fe_def(v), "onnx.none");
}

/// What the optional was made of; null: not known. *empty: nothing, surely.
static MlirValue made_of(MlirValue v, bool *empty) {
  MlirOperation op = fe_def(behind_casts(v));
  *empty = false;
  if (!fe_op_is(op, "onnx.optional"))
    return (MlirValue){0};
  MlirValue held = fe_operand(op, 0);
  *empty = is_absent(held);
  return *empty ? (MlirValue){0} : held;
}

//===-- Optional ------------------------------------------------------------//

static fe_status infer_optional(fe_infer *f) {
  MlirType t = fe_type_of(f->in[0]);
  if (is_absent(f->in[0])) {
    MlirAttribute a = fe_attr(f->attrs, "type");
    t = mlirAttributeIsNull(a) || !mlirAttributeIsAType(a)
            ? f->ir->none
            : mlirTypeAttrGetValue(a);
  }
  f->out[0] = fe_type_optional(f->ir, t);
  return mlirTypeIsNull(f->out[0])
             ? fe_infer_error(f, NULL,
                              "values are too deeply within each other")
             : FE_OK;
}

static fe_status lower_optional(fe_lower *l) {
  fe_ir *ir = l->ir;
  MlirType type = fe_tensor_plain(ir, ir->i64, 0, NULL);
  if (fe_is_null(l->in[0])) {
    MlirAttribute zero = mlirIntegerAttrGet(ir->i64, 0);
    l->out[0] = fe_first(
        FE_OP(ir, "arith.constant", FE_TYPES(type),
              FE_ATTRS(fe_named(ir, "value",
                                mlirDenseElementsAttrSplatGet(type, zero)))));
    return FE_OK;
  }
  MlirValue dest = fe_tensor_empty(l, FE_I64, 0, NULL);
  fe_runtime_op(
      l,
      (fe_runtime){
          .name = "optional_make", .n_in = 1, .n_out = 1, .out = &dest},
      &l->out[0], NULL);
  return FE_OK;
}

//===-- OptionalHasElement --------------------------------------------------//

static fe_status expand_has(fe_node *n, MlirValue *results) {
  MlirValue v = n->in.n ? n->in.at[0] : (MlirValue){0};
  bool empty = is_absent(v), has = false;
  if (!empty)
    has =
        !fe_type_is_optional(fe_type_of(v)) || !fe_is_null(made_of(v, &empty));
  if (has || empty)
    results[0] = fe_constant_scalar(n->ir, FE_BOOL, has);
  return FE_OK;
}

static fe_status infer_has(fe_infer *f) {
  fe_dims scalar = {0};
  fe_out_tensor(f, 0, FE_BOOL, &scalar);
  return FE_OK;
}

static fe_status lower_has(fe_lower *l) {
  fe_ir *ir = l->ir;
  fe_dtype type = FE_I64;
  MlirAffineMap map = mlirAffineMapEmptyGet(ir->ctx);
  fe_generic *g = fe_generic_begin(l, 0, NULL, 1, l->in, &type, &map);
  MlirValue has = fe_cmp(ir, FE_NE, fe_arg(g, 0), fe_int(ir, ir->i64, 0));
  l->out[0] = fe_generic_end(g, FE_BOOL, has);
  return FE_OK;
}

//===-- OptionalGetElement --------------------------------------------------//

static fe_status expand_get(fe_node *n, MlirValue *results) {
  MlirValue v = n->in.n == 1 ? n->in.at[0] : (MlirValue){0};
  bool empty;
  if (!is_absent(v))
    results[0] = fe_type_is_optional(fe_type_of(v)) ? made_of(v, &empty) : v;
  return FE_OK;
}

static fe_status infer_get(fe_infer *f) {
  if (!fe_type_is_optional(fe_type_of(f->in[0])))
    return fe_infer_error(f, NULL, "the input is %s but must be an optional",
                          fe_type_text(f->ir, fe_type_of(f->in[0])));
  return fe_item_type(f, f->in[0], &f->out[0]);
}

static fe_status lower_get(fe_lower *l) {
  static const char *const messages[] = {
      "the optional holds nothing",
      "what the optional holds has another number of dimensions than its type "
      "says"};
  fe_ir *ir = l->ir;
  MlirValue r = fe_result(l->op, 0), dest, sizes[FE_MAX_RANK];
  if (fe_type_is_object(fe_type_of(r))) {
    dest = fe_tensor_empty(l, FE_I64, 0, NULL);
  } else {
    unsigned n = fe_rank(r);
    MlirValue rank = fe_index(ir, n);
    fe_runtime_op(l,
                  (fe_runtime){.name = "optional_dims",
                               .n_in = 1,
                               .n_numbers = 1,
                               .numbers = &rank,
                               .n_results = n,
                               .n_messages = 2,
                               .messages = messages},
                  NULL, sizes);
    fe_sizes_as_typed(
        l, sizes,
        "what the optional holds has another size than its type says");
    dest = fe_out_empty(l, 0, sizes);
  }
  fe_runtime_op(l,
                (fe_runtime){.name = "optional_get",
                             .n_in = 1,
                             .n_out = 1,
                             .out = &dest,
                             .n_messages = 1,
                             .messages = messages},
                &l->out[0], NULL);
  return FE_OK;
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def optional_attrs[] = {{"type", FE_A_TYPE, ""}, {0}};

const fe_op_row fe_family_optional[] = {{.name = "Optional",
                                         .since = 15,
                                         .inputs = "input?:V",
                                         .outputs = "output:O",
                                         .types = "V=any;O=any",
                                         .attrs = optional_attrs,
                                         .infer = infer_optional,
                                         .lower = lower_optional},
                                        {.name = "OptionalHasElement",
                                         .since = 15,
                                         .inputs = "input?:O",
                                         .outputs = "output:B",
                                         .types = "O=any;B=bool",
                                         .flags = FE_FUNCTION,
                                         .expand = expand_has,
                                         .infer = infer_has,
                                         .lower = lower_has},
                                        {.name = "OptionalGetElement",
                                         .since = 15,
                                         .inputs = "input:O",
                                         .outputs = "output:V",
                                         .types = "O=any;V=any",
                                         .flags = FE_FUNCTION,
                                         .expand = expand_get,
                                         .infer = infer_get,
                                         .lower = lower_get},
                                        {0}};
