//===- model.c - checks around a compiled model
//-----------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of ferrule/model.h that work on any model. They are in every
// .o and .a, weak, so that several models can be linked into one program, and
// in libferrule.
//
//===----------------------------------------------------------------------===//
#include "ferrule/model.h"

#define WEAK __attribute__((weak))

/// Binds or compares one dim. Symbols not met so far are INT64_MIN.
static int match_dim(int64_t expected, int64_t actual, int64_t *symbols) {
  if (actual < 0)
    return FERRULE_RUN_BAD_INPUT;
  if (expected == INT64_MIN)
    return FERRULE_RUN_OK;
  if (expected < 0) {
    int64_t *symbol = &symbols[-1 - expected];
    if (*symbol == INT64_MIN)
      *symbol = actual;
    expected = *symbol;
  }
  return expected == actual ? FERRULE_RUN_OK : FERRULE_RUN_BAD_INPUT;
}

/// Type, rank and dims of a value, and of all that it holds.
static int match_value(const ferrule_value_info *info, const ferrule_tensor *in,
                       int64_t *symbols) {
  if (in->dtype != info->dtype || (info->rank >= 0 && in->rank != info->rank) ||
      in->rank < 0 || in->rank > FERRULE_MAX_RANK)
    return FERRULE_RUN_BAD_INPUT;
  int64_t n = 1;
  for (int32_t d = 0; d < in->rank; d++) {
    if (in->dims[d] < 0 ||
        (info->rank >= 0 && match_dim(info->dims[d], in->dims[d], symbols)) ||
        __builtin_mul_overflow(n, in->dims[d], &n))
      return FERRULE_RUN_BAD_INPUT;
  }
  if (!in->data)
    return n ? FERRULE_RUN_BAD_INPUT : FERRULE_RUN_OK;
  if (in->dtype == FERRULE_STRING) {
    const ferrule_string *s = in->data;
    for (int64_t i = 0; i < n; i++)
      if (s[i].size < 0 || (!s[i].data && s[i].size))
        return FERRULE_RUN_BAD_INPUT;
  }
  if (in->dtype < FERRULE_SEQUENCE)
    return FERRULE_RUN_OK;
  const void *object = *(const void *const *)in->data;
  if (!object)
    return in->dtype == FERRULE_OPTIONAL ? FERRULE_RUN_OK
                                         : FERRULE_RUN_BAD_INPUT;
  if (in->dtype == FERRULE_OPTIONAL)
    return match_value(info->element, object, symbols);
  if (in->dtype == FERRULE_MAP) {
    const ferrule_map *map = object;
    return match_value(&info->element[0], &map->keys, symbols) ||
                   match_value(&info->element[1], &map->values, symbols) ||
                   map->keys.dims[0] != map->values.dims[0]
               ? FERRULE_RUN_BAD_INPUT
               : FERRULE_RUN_OK;
  }
  const ferrule_sequence *sequence = object;
  if (sequence->count < 0 || (sequence->count && !sequence->items))
    return FERRULE_RUN_BAD_INPUT;
  for (int64_t i = 0; i < sequence->count; i++)
    if (match_value(info->element, &sequence->items[i], symbols))
      return FERRULE_RUN_BAD_INPUT;
  return FERRULE_RUN_OK;
}

WEAK int ferrule_model_symbols(const ferrule_model *model,
                               const ferrule_tensor *inputs, int64_t *symbols) {
  for (uint32_t s = 0; s < model->n_symbols; s++)
    symbols[s] = INT64_MIN;
  for (uint32_t i = 0; i < model->n_inputs; i++)
    if (match_value(&model->inputs[i], &inputs[i], symbols))
      return FERRULE_RUN_BAD_INPUT;
  for (uint32_t s = 0; s < model->n_symbols; s++)
    if (symbols[s] == INT64_MIN)
      symbols[s] = 0; // in no input: nothing depends on it
  return FERRULE_RUN_OK;
}

WEAK int ferrule_model_run(const ferrule_model *model,
                           const ferrule_tensor *inputs,
                           ferrule_tensor *outputs, void *arena,
                           const ferrule_run_options *options) {
  int64_t symbols[FERRULE_MAX_SYMBOLS];
  if (model->n_symbols > FERRULE_MAX_SYMBOLS)
    return FERRULE_RUN_BAD_INPUT;
  int status = ferrule_model_symbols(model, inputs, symbols);
  return status ? status : model->run(inputs, outputs, arena, options);
}

WEAK const char *ferrule_model_message(const ferrule_model *model, int status) {
  switch (status) {
  case FERRULE_RUN_OK:
    return "ok";
  case FERRULE_RUN_BAD_INPUT:
    return "an input has the wrong type, rank or size";
  case FERRULE_RUN_NO_MEMORY:
    return "out of memory";
  case FERRULE_RUN_SMALL_OUTPUT:
    return "the memory given for an output is too small";
  default:
    if (status > 0 && (uint32_t)status <= model->n_messages)
      return model->messages[status - 1];
    return "unknown status";
  }
}
