//===- values.c - strings, sequences, optionals, maps: what all need ------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values in a run may point to memory that goes with it, so what leaves the run
// is copied, into one piece: first everything of fixed layout, 16-byte aligned,
// in the order in which it is met; strings' characters follow their tensor.
//
//===----------------------------------------------------------------------===//
#include "run.h"

#include <string.h>

/// Where a copy is put. Without memory yet: only `used` counts.
typedef struct packing {
  char *base;
  int64_t used;
} packing;

static void *take(packing *p, int64_t bytes) {
  int64_t at = p->used;
  p->used += (bytes + 15) & ~INT64_C(15);
  return p->base ? p->base + at : NULL;
}

static void pack_data(packing *p, const ferrule_tensor *from,
                      ferrule_tensor *to);

/// A copy of *from, with all that it points to, at `to` (NULL: only counted).
static void pack(packing *p, const ferrule_tensor *from, ferrule_tensor *to) {
  ferrule_tensor copy = *from;
  pack_data(p, from, &copy);
  if (p->base)
    *to = copy;
}

static const void *pack_object(packing *p, int32_t dtype, const void *object) {
  if (!object)
    return NULL;
  if (dtype == FERRULE_OPTIONAL) {
    ferrule_tensor *to = take(p, sizeof *to);
    pack(p, object, to);
    return to;
  }
  if (dtype == FERRULE_MAP) {
    const ferrule_map *from = object;
    ferrule_map *to = take(p, sizeof *to);
    pack(p, &from->keys, p->base ? &to->keys : NULL);
    pack(p, &from->values, p->base ? &to->values : NULL);
    return to;
  }
  const ferrule_sequence *from = object;
  ferrule_sequence *to = take(p, sizeof *to);
  ferrule_tensor *items = take(p, from->count * (int64_t)sizeof *items);
  for (int64_t i = 0; i < from->count; i++)
    pack(p, &from->items[i], p->base ? &items[i] : NULL);
  if (p->base)
    *to = (ferrule_sequence){from->count, items};
  return to;
}

/// What from->data points to; sets to->data and capacity.
static void pack_data(packing *p, const ferrule_tensor *from,
                      ferrule_tensor *to) {
  int64_t n = fe_rt_count(from), bytes = fe_rt_bytes(from->dtype, n);
  void *data = take(p, bytes);
  to->data = data;
  to->capacity = bytes;
  if (from->dtype >= FERRULE_SEQUENCE) {
    const void *object =
        pack_object(p, from->dtype, *(const void *const *)from->data);
    if (p->base)
      *(const void **)data = object;
    return;
  }
  if (p->base && bytes)
    memcpy(data, from->data, (size_t)bytes);
  if (from->dtype != FERRULE_STRING)
    return;
  const ferrule_string *s = from->data;
  int64_t total = 0;
  for (int64_t i = 0; i < n; i++)
    total += s[i].size;
  char *text = take(p, total);
  for (int64_t i = 0; p->base && i < n; i++) {
    ((ferrule_string *)data)[i].data = text;
    if (s[i].size)
      memcpy(text, s[i].data, (size_t)s[i].size);
    text += s[i].size;
  }
}

int32_t fe_rt_values_output(fe_run *run, ferrule_tensor *out,
                            const ferrule_tensor *value) {
  packing p = {0};
  ferrule_tensor copy = *value;
  pack_data(&p, value, &copy);
  p.base = fe_rt_output(run, out, p.used);
  if (!p.base)
    return FE_RUN_STATUS;
  p.used = 0;
  pack_data(&p, value, &copy);
  return 0;
}

/// Strings of a constant: args[0] is bytes, the sizes as int64 of all strings,
/// then their characters; args[1] the tensor.
int32_t fe_rt_values_strings(fe_run *run, ferrule_tensor *args,
                             int64_t *numbers) {
  (void)run;
  (void)numbers;
  const int64_t *sizes = args[0].data;
  int64_t n = fe_rt_count(&args[1]);
  const char *text = (const char *)args[0].data + n * 8;
  ferrule_string *out = args[1].data;
  for (int64_t i = 0; i < n; i++) {
    out[i] = (ferrule_string){text, sizes[i]};
    text += sizes[i];
  }
  return 0;
}
