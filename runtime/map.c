//===- map.c - maps -------------------------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map is two tensors of one dim. Taking one apart gives them as they are, in
// the map's order; nothing here looks at keys.
//
//===----------------------------------------------------------------------===//
#include "run.h"

#include <string.h>

static const ferrule_map *map_of(const ferrule_tensor *value) {
  return *(const ferrule_map *const *)value->data;
}

static bool copy(fe_run *run, const ferrule_tensor *from, const void *data,
                 int64_t n, ferrule_tensor *to) {
  int64_t bytes = fe_rt_bytes(from->dtype, n);
  *to = (ferrule_tensor){.dtype = from->dtype, .rank = 1, .dims = {n}};
  to->data = fe_rt_object(run, bytes);
  if (to->data && bytes)
    memcpy(to->data, data, (size_t)bytes);
  return to->data;
}

/// args: keys, values, destination.
int32_t fe_rt_map_make(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)numbers;
  ferrule_map *m = fe_rt_object(run, sizeof *m);
  int64_t n = args[0].dims[0];
  if (!m || !copy(run, &args[0], args[0].data, n, &m->keys) ||
      !copy(run, &args[1], args[1].data, n, &m->values))
    return FE_RUN_STATUS;
  *(ferrule_map **)args[2].data = m;
  return 0;
}

/// A sequence of maps, one for each row of the values. args: keys [m], values
/// [n, m], destination.
int32_t fe_rt_map_rows(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)numbers;
  const ferrule_tensor *keys = &args[0], *values = &args[1];
  int64_t m = keys->dims[0], n = values->dims[0];
  ferrule_sequence *s = fe_rt_object(run, sizeof *s);
  int64_t bytes;
  if (__builtin_mul_overflow(n, (int64_t)sizeof(ferrule_tensor), &bytes))
    bytes = INT64_MAX;
  ferrule_tensor *items = s ? fe_rt_object(run, bytes) : NULL, shared;
  ferrule_map *maps =
      items ? fe_rt_object(run, n * (int64_t)sizeof *maps) : NULL;
  const ferrule_map **place =
      maps ? fe_rt_object(run, n * (int64_t)sizeof *place) : NULL;
  if (!place || !copy(run, keys, keys->data, m, &shared))
    return FE_RUN_STATUS;
  for (int64_t i = 0; i < n; i++) {
    maps[i].keys = shared;
    const char *row =
        (const char *)values->data + i * fe_rt_bytes(values->dtype, m);
    if (!copy(run, values, row, m, &maps[i].values))
      return FE_RUN_STATUS;
    place[i] = &maps[i];
    items[i] = (ferrule_tensor){
        .data = &place[i], .capacity = -1, .dtype = FERRULE_MAP};
  }
  *s = (ferrule_sequence){n, items};
  *(ferrule_sequence **)args[2].data = s;
  return 0;
}

/// Result: how many keys. args: map.
int32_t fe_rt_map_count(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)run;
  numbers[0] = map_of(&args[0])->keys.dims[0];
  return 0;
}

/// args: map, keys, values, the last two of its count.
int32_t fe_rt_map_take(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)run;
  (void)numbers;
  const ferrule_map *m = map_of(&args[0]);
  const ferrule_tensor *from[2] = {&m->keys, &m->values};
  for (int i = 0; i < 2; i++) {
    int64_t bytes = fe_rt_bytes(from[i]->dtype, from[i]->dims[0]);
    if (bytes)
      memcpy(args[1 + i].data, from[i]->data, (size_t)bytes);
  }
  return 0;
}
