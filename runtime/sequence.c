//===- sequence.c - sequences ---------------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sequence never changes: what changes one makes another. Items are copied in
// once; sequences made from each other share them. A loop that appends would
// still copy the list of items each time, so lists are made with room behind
// their end, which the first to append there takes. Such lists are in a table
// of the run; the first item's `capacity`, otherwise without meaning, is the
// list's number (a caller's sequence may have anything there, so the table is
// asked).
//
//===----------------------------------------------------------------------===//
#include "run.h"

#include <string.h>

/// What calls may give back: see the messages in src/op/onnx/sequence.c.
enum { BAD_POSITION = 1, BAD_RANK = 2 };
enum { NO_ITEMS = 1, BAD_ITEM = 2 };
enum { BAD_SIZE = 1, BAD_SUM = 2 };

typedef struct fe_list {
  const ferrule_tensor *items;
  int64_t used, room;
} fe_list;

static const ferrule_sequence *sequence_of(const ferrule_tensor *value) {
  return *(const ferrule_sequence *const *)value->data;
}

static int32_t give(fe_run *run, ferrule_tensor *dest, int64_t count,
                    const ferrule_tensor *items) {
  ferrule_sequence *s = fe_rt_object(run, sizeof *s);
  if (!s)
    return FE_RUN_STATUS;
  *s = (ferrule_sequence){count, items};
  *(ferrule_sequence **)dest->data = s;
  return 0;
}

/// A list with room, in the table; NULL: no memory.
static ferrule_tensor *make_list(fe_run *run, int64_t used, int64_t room) {
  if (run->n_lists == run->list_room) {
    int64_t more = run->list_room ? 2 * run->list_room : 16;
    fe_list *lists = fe_rt_object(run, more * (int64_t)sizeof *lists);
    if (!lists)
      return NULL;
    if (run->n_lists)
      memcpy(lists, run->lists, (size_t)run->n_lists * sizeof *lists);
    run->lists = lists;
    run->list_room = more;
  }
  int64_t bytes;
  if (__builtin_mul_overflow(room, (int64_t)sizeof(ferrule_tensor), &bytes))
    bytes = INT64_MAX;
  ferrule_tensor *items = fe_rt_object(run, bytes);
  if (items)
    run->lists[run->n_lists++] = (fe_list){items, used, room};
  return items;
}

static fe_list *list_of(fe_run *run, const ferrule_sequence *s) {
  int64_t k = s->count ? s->items[0].capacity : -1;
  return k >= 0 && k < run->n_lists && run->lists[k].items == s->items
             ? &run->lists[k]
             : NULL;
}

/// From the end when negative; false: outside of [0, limit).
static bool resolve(int64_t *at, int64_t count, int64_t limit) {
  if (*at < 0)
    *at += count;
  return *at >= 0 && *at < limit;
}

/// numbers: of items. args: these, destination.
int32_t fe_rt_sequence_make(fe_run *run, ferrule_tensor *args,
                            int64_t *numbers) {
  int64_t n = numbers[0];
  ferrule_tensor *items = make_list(run, n, n ? n : 1);
  if (!items)
    return FE_RUN_STATUS;
  for (int64_t i = 0; i < n; i++)
    if (!fe_rt_copy(run, &args[i], &items[i]))
      return FE_RUN_STATUS;
  if (n)
    items[0].capacity = run->n_lists - 1;
  return give(run, &args[n], n, items);
}

/// Result: the length. args: sequence.
int32_t fe_rt_sequence_length(fe_run *run, ferrule_tensor *args,
                              int64_t *numbers) {
  (void)run;
  numbers[0] = sequence_of(&args[0])->count;
  return 0;
}

/// numbers: position, rank. Results: the item's dims. args: sequence.
int32_t fe_rt_sequence_dims(fe_run *run, ferrule_tensor *args,
                            int64_t *numbers) {
  (void)run;
  const ferrule_sequence *s = sequence_of(&args[0]);
  int64_t at = numbers[0], rank = numbers[1];
  if (!resolve(&at, s->count, s->count))
    return BAD_POSITION;
  if (s->items[at].rank != rank)
    return BAD_RANK;
  memcpy(numbers + 2, s->items[at].dims, (size_t)rank * sizeof *numbers);
  return 0;
}

/// numbers: position. args: sequence, destination of the item's size.
int32_t fe_rt_sequence_at(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)run;
  const ferrule_sequence *s = sequence_of(&args[0]);
  int64_t at = numbers[0];
  if (!resolve(&at, s->count, s->count))
    return BAD_POSITION;
  int64_t bytes = fe_rt_bytes(args[1].dtype, fe_rt_count(&args[1]));
  if (bytes)
    memcpy(args[1].data, s->items[at].data, (size_t)bytes);
  return 0;
}

static int32_t append(fe_run *run, const ferrule_sequence *s,
                      const ferrule_tensor *item, ferrule_tensor *dest) {
  fe_list *list = list_of(run, s);
  if (list && list->used == s->count && list->used < list->room) {
    ferrule_tensor *items = (ferrule_tensor *)list->items;
    if (!fe_rt_copy(run, item, &items[s->count]))
      return FE_RUN_STATUS;
    list->used++;
    return give(run, dest, s->count + 1, items);
  }
  ferrule_tensor *items =
      make_list(run, s->count + 1, s->count < 4 ? 8 : 2 * s->count);
  if (!items || !fe_rt_copy(run, item, &items[s->count]))
    return FE_RUN_STATUS;
  if (s->count)
    memcpy(items, s->items, (size_t)s->count * sizeof *items);
  items[0].capacity = run->n_lists - 1;
  return give(run, dest, s->count + 1, items);
}

/// numbers: position. args: sequence, item, destination.
int32_t fe_rt_sequence_insert(fe_run *run, ferrule_tensor *args,
                              int64_t *numbers) {
  const ferrule_sequence *s = sequence_of(&args[0]);
  int64_t at = numbers[0];
  if (!resolve(&at, s->count, s->count + 1))
    return BAD_POSITION;
  if (at == s->count)
    return append(run, s, &args[1], &args[2]);
  ferrule_tensor *items = make_list(run, s->count + 1, s->count + 1);
  if (!items || !fe_rt_copy(run, &args[1], &items[at]))
    return FE_RUN_STATUS;
  memcpy(items, s->items, (size_t)at * sizeof *items);
  memcpy(items + at + 1, s->items + at,
         (size_t)(s->count - at) * sizeof *items);
  items[0].capacity = run->n_lists - 1;
  return give(run, &args[2], s->count + 1, items);
}

/// Appends. args: sequence, item, destination.
int32_t fe_rt_sequence_append(fe_run *run, ferrule_tensor *args,
                              int64_t *numbers) {
  (void)numbers;
  return append(run, sequence_of(&args[0]), &args[1], &args[2]);
}

/// numbers: position. args: sequence, destination.
int32_t fe_rt_sequence_erase(fe_run *run, ferrule_tensor *args,
                             int64_t *numbers) {
  const ferrule_sequence *s = sequence_of(&args[0]);
  int64_t at = numbers[0], n = s->count - 1;
  if (!resolve(&at, s->count, s->count))
    return BAD_POSITION;
  if (at == n)
    return give(run, &args[1], n, s->items);
  ferrule_tensor *items = make_list(run, n, n);
  if (!items)
    return FE_RUN_STATUS;
  memcpy(items, s->items, (size_t)at * sizeof *items);
  memcpy(items + at, s->items + at + 1, (size_t)(n - at) * sizeof *items);
  items[0].capacity = run->n_lists - 1;
  return give(run, &args[1], n, items);
}

//===-- Split and concat ----------------------------------------------------//

/// Bytes of what lies behind dim `axis`, and how often that dim occurs.
static int64_t inner_bytes(const ferrule_tensor *t, int64_t axis) {
  int64_t n = 1;
  for (int64_t d = axis + 1; d < t->rank; d++)
    n *= t->dims[d];
  return fe_rt_bytes(t->dtype, n);
}

static int64_t outer_count(const ferrule_tensor *t, int64_t axis) {
  int64_t n = 1;
  for (int64_t d = 0; d < axis; d++)
    n *= t->dims[d];
  return n;
}

/// [from, from + size) of dim `axis`; without that dim unless `keep`.
static bool cut(fe_run *run, const ferrule_tensor *t, int64_t axis,
                int64_t from, int64_t size, bool keep, ferrule_tensor *to) {
  int64_t inner = inner_bytes(t, axis), outer = outer_count(t, axis);
  char *data = fe_rt_object(run, outer * size * inner);
  if (!data)
    return false;
  *to = *t;
  to->data = data;
  to->capacity = -1;
  to->dims[axis] = size;
  if (!keep) {
    to->rank--;
    for (int64_t d = axis; d < to->rank; d++)
      to->dims[d] = t->dims[d + 1];
  }
  const char *at = (const char *)t->data + from * inner;
  for (int64_t i = 0; i < outer && size > 0 && inner > 0; i++)
    memcpy(data + i * size * inner, at + i * t->dims[axis] * inner,
           (size_t)(size * inner));
  return true;
}

static int64_t integer(const ferrule_tensor *t, int64_t i) {
  return t->dtype == FERRULE_I32 ? ((const int32_t *)t->data)[i]
                                 : ((const int64_t *)t->data)[i];
}

/// numbers: axis, whether sizes are given, whether the dim of pieces of size 1
/// is kept. args: tensor, sizes (one for all: rank 0) where given, destination.
int32_t fe_rt_sequence_split(fe_run *run, ferrule_tensor *args,
                             int64_t *numbers) {
  const ferrule_tensor *t = &args[0], *sizes = numbers[1] ? &args[1] : NULL;
  ferrule_tensor *dest = &args[sizes ? 2 : 1];
  int64_t axis = numbers[0], dim = t->dims[axis], n, each = 1;
  bool keep = sizes || numbers[2];
  if (sizes && sizes->rank == 1) {
    int64_t sum = 0;
    each = 0;
    n = sizes->dims[0];
    for (int64_t i = 0; i < n; i++) {
      int64_t size = integer(sizes, i);
      if (size < 0)
        return BAD_SIZE;
      if (size > dim - sum)
        return BAD_SUM;
      sum += size;
    }
    if (sum != dim)
      return BAD_SUM;
  } else {
    if (sizes)
      each = integer(sizes, 0);
    if (each <= 0)
      return BAD_SIZE;
    n = dim / each + (dim % each != 0);
  }
  ferrule_tensor *items = make_list(run, n, n ? n : 1);
  if (!items)
    return FE_RUN_STATUS;
  for (int64_t i = 0, from = 0; i < n; i++) {
    int64_t size = each ? each : integer(sizes, i);
    if (size > dim - from)
      size = dim - from;
    if (!cut(run, t, axis, from, size, keep, &items[i]))
      return FE_RUN_STATUS;
    from += size;
  }
  if (n)
    items[0].capacity = run->n_lists - 1;
  return give(run, dest, n, items);
}

/// numbers: axis, whether it is a new dim, rank of the items. Results: dims of
/// the result. args: sequence.
int32_t fe_rt_sequence_concat_dims(fe_run *run, ferrule_tensor *args,
                                   int64_t *numbers) {
  (void)run;
  const ferrule_sequence *s = sequence_of(&args[0]);
  int64_t axis = numbers[0], fresh = numbers[1], rank = numbers[2];
  int64_t *out = numbers + 3, along = 0;
  if (!s->count)
    return NO_ITEMS;
  const ferrule_tensor *first = &s->items[0];
  for (int64_t i = 0; i < s->count; i++) {
    const ferrule_tensor *t = &s->items[i];
    if (t->rank != rank)
      return BAD_ITEM;
    for (int64_t d = 0; d < rank; d++)
      if ((fresh || d != axis) && t->dims[d] != first->dims[d])
        return BAD_ITEM;
    if (__builtin_add_overflow(along, fresh ? 1 : t->dims[axis], &along))
      return BAD_ITEM;
  }
  for (int64_t d = 0; d < rank + fresh; d++)
    out[d] = d == axis           ? along
             : fresh && d > axis ? first->dims[d - 1]
                                 : first->dims[d];
  return 0;
}

/// numbers: axis, whether it is a new dim. args: sequence, destination.
int32_t fe_rt_sequence_concat(fe_run *run, ferrule_tensor *args,
                              int64_t *numbers) {
  (void)run;
  const ferrule_sequence *s = sequence_of(&args[0]);
  ferrule_tensor *to = &args[1];
  int64_t axis = numbers[0], fresh = numbers[1];
  int64_t inner = inner_bytes(to, axis), outer = outer_count(to, axis);
  int64_t row = to->dims[axis] * inner;
  char *at = to->data;
  for (int64_t k = 0; k < s->count; k++) {
    const ferrule_tensor *t = &s->items[k];
    int64_t piece = (fresh ? 1 : t->dims[axis]) * inner;
    for (int64_t i = 0; i < outer && piece; i++)
      memcpy(at + i * row, (const char *)t->data + i * piece, (size_t)piece);
    at += piece;
  }
  return 0;
}
