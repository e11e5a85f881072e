//===- map.c - maps -------------------------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map is two tensors of one dim. Taking one apart gives them as they are, in
// the map's order. Keys are strings or int64.
//
//===----------------------------------------------------------------------===//
#include "run.h"

#include <string.h>

static const ferrule_map *map_of(const ferrule_tensor *value) {
  return *(const ferrule_map *const *)value->data;
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
  if (!place || !fe_rt_copy(run, keys, &shared))
    return FE_RUN_STATUS;
  for (int64_t i = 0; i < n; i++) {
    maps[i].keys = shared;
    const ferrule_tensor row = {.data = (char *)values->data +
                                        i * fe_rt_bytes(values->dtype, m),
                                .dtype = values->dtype,
                                .rank = 1,
                                .dims = {m}};
    if (!fe_rt_copy(run, &row, &maps[i].values))
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

//===-- Looking up keys -----------------------------------------------------//

static uint64_t hash_of(const ferrule_tensor *keys, int64_t i) {
  if (keys->dtype != FERRULE_STRING) {
    uint64_t v = (uint64_t)((const int64_t *)keys->data)[i];
    return (v ^ v >> 32) * UINT64_C(0x9e3779b97f4a7c15);
  }
  const ferrule_string *s = (const ferrule_string *)keys->data + i;
  uint64_t h = UINT64_C(0xcbf29ce484222325); // FNV-1a
  for (int64_t k = 0; k < s->size; k++)
    h = (h ^ (unsigned char)s->data[k]) * UINT64_C(0x100000001b3);
  return h * UINT64_C(0x9e3779b97f4a7c15);
}

static bool same_key(const ferrule_tensor *a, int64_t i,
                     const ferrule_tensor *b, int64_t j) {
  if (a->dtype != FERRULE_STRING)
    return ((const int64_t *)a->data)[i] == ((const int64_t *)b->data)[j];
  return fe_rt_same_text((const ferrule_string *)a->data + i,
                         (const ferrule_string *)b->data + j);
}

/// The values of keys, the third argument where the map has not got them. args:
/// keys, map, one value, destination of as many values as keys.
int32_t fe_rt_map_find(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)numbers;
  const ferrule_map *m = map_of(&args[1]);
  int64_t n = m->keys.dims[0], wanted = args[0].dims[0], size = 16;
  int64_t width = fe_rt_bytes(args[3].dtype, 1);
  while (size < 2 * n)
    size *= 2;
  // Positions of the map's keys by hash, each 1 more; 0: free.
  int64_t *table = fe_rt_object(run, size * (int64_t)sizeof *table);
  if (!table)
    return FE_RUN_STATUS;
  memset(table, 0, (size_t)size * sizeof *table);
  for (int64_t i = 0; i < n; i++) {
    uint64_t at = hash_of(&m->keys, i) >> 20 & (uint64_t)(size - 1);
    while (table[at])
      at = (at + 1) & (uint64_t)(size - 1);
    table[at] = i + 1;
  }
  for (int64_t i = 0; i < wanted; i++) {
    uint64_t at = hash_of(&args[0], i) >> 20 & (uint64_t)(size - 1);
    while (table[at] && !same_key(&args[0], i, &m->keys, table[at] - 1))
      at = (at + 1) & (uint64_t)(size - 1);
    const char *from = args[2].data;
    if (table[at])
      from = (const char *)m->values.data + (table[at] - 1) * width;
    memcpy((char *)args[3].data + i * width, from, (size_t)width);
  }
  return 0;
}
