//===- value.c - values of test data files --------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: the decoder has bounded the nesting, so plain recursion is safe.
//
//===----------------------------------------------------------------------===//
#include "import/tensor.h"

static fe_status from_sequence(fe_source *s, const onnx_SequenceProto *p,
                               fe_value *out);
static fe_status from_optional(fe_source *s, const onnx_OptionalProto *p,
                               fe_value *out);

static fe_status from_tensor(fe_source *s, const onnx_TensorProto *p,
                             fe_value *out) {
  *out = (fe_value){.kind = FE_VALUE_TENSOR};
  return fe_tensor_read(s, (fe_where){0}, p, &out->tensor);
}

static fe_status from_sequence(fe_source *s, const onnx_SequenceProto *p,
                               fe_value *out) {
  *out = (fe_value){.kind = FE_VALUE_SEQUENCE};
  size_t n = p->tensor_values.n + p->sequence_values.n + p->optional_values.n;
  out->items = FE_NEW_N(s->arena, fe_value, n);
  fe_status ok = FE_OK;
  for (size_t i = 0; ok == FE_OK && i < p->tensor_values.n; i++)
    ok = from_tensor(s, FE_PROTO_AT(TensorProto, p->tensor_values, i),
                     &out->items[out->n++]);
  for (size_t i = 0; ok == FE_OK && i < p->sequence_values.n; i++)
    ok = from_sequence(s, FE_PROTO_AT(SequenceProto, p->sequence_values, i),
                       &out->items[out->n++]);
  for (size_t i = 0; ok == FE_OK && i < p->optional_values.n; i++)
    ok = from_optional(s, FE_PROTO_AT(OptionalProto, p->optional_values, i),
                       &out->items[out->n++]);
  return ok;
}

static fe_status from_optional(fe_source *s, const onnx_OptionalProto *p,
                               fe_value *out) {
  *out = (fe_value){.kind = FE_VALUE_OPTIONAL};
  out->n = p->tensor_value || p->sequence_value || p->optional_value;
  if (!out->n)
    return FE_OK;
  out->items = FE_NEW(s->arena, fe_value);
  return p->tensor_value     ? from_tensor(s, p->tensor_value, out->items)
         : p->sequence_value ? from_sequence(s, p->sequence_value, out->items)
                             : from_optional(s, p->optional_value, out->items);
}

fe_status fe_value_read(fe_source *s, fe_value_kind kind, fe_value *out) {
  *out = (fe_value){.kind = kind};
  const uint8_t *data = s->bytes.data;
  size_t size = s->bytes.size;
  if (kind == FE_VALUE_SEQUENCE) {
    onnx_SequenceProto *p;
    return fe_proto_sequence(s->diags, s->arena, s->path, data, size, &p)
               ? FE_FAILED
               : from_sequence(s, p, out);
  }
  if (kind == FE_VALUE_OPTIONAL) {
    onnx_OptionalProto *p;
    return fe_proto_optional(s->diags, s->arena, s->path, data, size, &p)
               ? FE_FAILED
               : from_optional(s, p, out);
  }
  onnx_TensorProto *p;
  return fe_proto_tensor(s->diags, s->arena, s->path, data, size, &p)
             ? FE_FAILED
             : from_tensor(s, p, out);
}
