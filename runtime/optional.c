//===- optional.c - optionals ---------------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An optional that holds nothing is a null pointer.
//
//===----------------------------------------------------------------------===//
#include "run.h"

#include <string.h>

/// What calls may give back: see the messages in src/op/onnx/optional.c.
enum { EMPTY = 1, BAD_RANK = 2 };

static const ferrule_tensor *held_by(const ferrule_tensor *value) {
  return *(const ferrule_tensor *const *)value->data;
}

/// args: value, destination.
int32_t fe_rt_optional_make(fe_run *run, ferrule_tensor *args,
                            int64_t *numbers) {
  (void)numbers;
  ferrule_tensor *held = fe_rt_object(run, sizeof *held);
  if (!held || !fe_rt_copy(run, &args[0], held))
    return FE_RUN_STATUS;
  *(ferrule_tensor **)args[1].data = held;
  return 0;
}

/// numbers: rank. Results: dims of what is held. args: optional.
int32_t fe_rt_optional_dims(fe_run *run, ferrule_tensor *args,
                            int64_t *numbers) {
  (void)run;
  const ferrule_tensor *held = held_by(&args[0]);
  int64_t rank = numbers[0];
  if (!held)
    return EMPTY;
  if (held->rank != rank)
    return BAD_RANK;
  memcpy(numbers + 1, held->dims, (size_t)rank * sizeof *numbers);
  return 0;
}

/// args: optional, destination of the size of what it holds.
int32_t fe_rt_optional_get(fe_run *run, ferrule_tensor *args,
                           int64_t *numbers) {
  (void)run;
  (void)numbers;
  const ferrule_tensor *held = held_by(&args[0]);
  if (!held)
    return EMPTY;
  int64_t bytes = fe_rt_bytes(args[1].dtype, fe_rt_count(&args[1]));
  if (bytes)
    memcpy(args[1].data, held->data, (size_t)bytes);
  return 0;
}
