//===- values.c - values of any kind, from and to files -------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cli/values.h"

#include "cli/npy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_text(fe_arena *arena, fe_buf *b, const ferrule_value_info *v,
                     const char *const *symbols) {
  if (v->dtype >= FERRULE_SEQUENCE) {
    fe_buf_printf(arena, b, "%s",
                  v->dtype == FERRULE_SEQUENCE   ? "sequence of "
                  : v->dtype == FERRULE_OPTIONAL ? "optional "
                                                 : "map from ");
    add_text(arena, b, v->element, symbols);
    if (v->dtype == FERRULE_MAP) {
      fe_buf_printf(arena, b, " to ");
      add_text(arena, b, v->element + 1, symbols);
    }
    return;
  }
  fe_buf_printf(arena, b, "%s[%s", fe_element_name(v->dtype),
                v->rank < 0 ? "..." : "");
  for (int d = 0; d < v->rank; d++) {
    int64_t dim = v->dims[d];
    fe_buf_printf(arena, b, d ? "," : "");
    if (dim >= 0)
      fe_buf_printf(arena, b, "%lld", (long long)dim);
    else
      fe_buf_printf(arena, b, "%s", dim == INT64_MIN ? "?" : symbols[-1 - dim]);
  }
  fe_buf_printf(arena, b, "]");
}

const char *fe_value_text(fe_arena *arena, const ferrule_value_info *info,
                          const char *const *symbols) {
  fe_buf b = {0};
  add_text(arena, &b, info, symbols);
  return b.at;
}

void fe_value_object(fe_arena *arena, int dtype, const void *object,
                     ferrule_tensor *out) {
  const void **place = FE_NEW(arena, const void *);
  *place = object;
  *out = (ferrule_tensor){.data = place, .dtype = dtype};
}

/// "a/x.npy" and "0": "a/x.0.npy".
static const char *part_path(fe_arena *arena, const char *path,
                             const char *part) {
  size_t n = strlen(path);
  bool npy = n >= 4 && !strcmp(path + n - 4, ".npy");
  return fe_printf(arena, "%.*s.%s%s", (int)(npy ? n - 4 : n), path, part,
                   npy ? ".npy" : "");
}

static const char *item_path(fe_arena *arena, const char *path, int64_t i) {
  return part_path(arena, path, fe_printf(arena, "%lld", (long long)i));
}

/// Whether the first file of a value is there.
static bool is_there(fe_arena *arena, const char *path,
                     const ferrule_value_info *info) {
  if (info->dtype == FERRULE_SEQUENCE)
    return is_there(arena, item_path(arena, path, 0), info->element);
  if (info->dtype == FERRULE_OPTIONAL)
    return is_there(arena, path, info->element);
  if (info->dtype == FERRULE_MAP)
    path = part_path(arena, path, "keys");
  return !access(path, R_OK);
}

const char *fe_value_from_files(fe_arena *arena, const char *path,
                                const ferrule_value_info *info,
                                ferrule_tensor *out) {
  const char *wrong = NULL;
  if (info->dtype < FERRULE_SEQUENCE) {
    ferrule_tensor t;
    wrong = fe_npy_read(path, &t);
    if (wrong)
      return fe_printf(arena, "%s: %s", path, wrong);
    // strings have their characters behind them, in the same memory; what is
    // empty is there, too
    *out = t;
    out->data = fe_alloc(arena, (size_t)t.capacity + 1);
    memcpy(out->data, t.data, (size_t)t.capacity);
    fe_npy_moved(out, t.data);
    fe_npy_as(out, info->dtype);
    free(t.data);
    return NULL;
  }
  if (info->dtype == FERRULE_OPTIONAL) {
    ferrule_tensor *held = NULL;
    if (*path && is_there(arena, path, info->element)) {
      held = FE_NEW(arena, ferrule_tensor);
      wrong = fe_value_from_files(arena, path, info->element, held);
    }
    fe_value_object(arena, info->dtype, held, out);
    return wrong;
  }
  if (info->dtype == FERRULE_MAP) {
    ferrule_map *m = FE_NEW(arena, ferrule_map);
    wrong = fe_value_from_files(arena, part_path(arena, path, "keys"),
                                &info->element[0], &m->keys);
    if (!wrong)
      wrong = fe_value_from_files(arena, part_path(arena, path, "values"),
                                  &info->element[1], &m->values);
    fe_value_object(arena, info->dtype, m, out);
    return wrong;
  }
  fe_vec(ferrule_tensor) items = {0};
  for (;;) {
    const char *at = item_path(arena, path, (int64_t)items.n);
    ferrule_tensor t;
    if (!is_there(arena, at, info->element))
      break;
    wrong = fe_value_from_files(arena, at, info->element, &t);
    if (wrong)
      return wrong;
    fe_push(arena, &items, t);
  }
  ferrule_sequence *s = FE_NEW(arena, ferrule_sequence);
  *s = (ferrule_sequence){(int64_t)items.n, items.at};
  fe_value_object(arena, info->dtype, s, out);
  return NULL;
}

void fe_value_tensors(fe_arena *arena, const char *name,
                      const ferrule_tensor *v,
                      void (*fn)(const char *name, const ferrule_tensor *tensor,
                                 void *user),
                      void *user) {
  if (v->dtype < FERRULE_SEQUENCE) {
    fn(name, v, user);
    return;
  }
  const void *object = *(const void *const *)v->data;
  if (v->dtype == FERRULE_OPTIONAL) {
    if (object)
      fe_value_tensors(arena, name, object, fn, user);
    return;
  }
  if (v->dtype == FERRULE_MAP) {
    const ferrule_map *m = object;
    fn(part_path(arena, name, "keys"), &m->keys, user);
    fn(part_path(arena, name, "values"), &m->values, user);
    return;
  }
  const ferrule_sequence *s = object;
  for (int64_t i = 0; i < s->count; i++)
    fe_value_tensors(arena, item_path(arena, name, i), &s->items[i], fn, user);
}

typedef struct writing {
  fe_arena *arena;
  const char *wrong;
  void (*written)(const char *path);
} writing;

static void write_tensor(const char *path, const ferrule_tensor *t,
                         void *user) {
  writing *w = user;
  if (w->wrong)
    return;
  const char *wrong = fe_npy_write(path, t);
  if (wrong)
    w->wrong = fe_printf(w->arena, "%s: %s", path, wrong);
  else if (w->written)
    w->written(path);
}

const char *fe_value_to_files(fe_arena *arena, const char *path,
                              const ferrule_tensor *value,
                              void (*written)(const char *path)) {
  writing w = {.arena = arena, .written = written};
  fe_value_tensors(arena, path, value, write_tensor, &w);
  return w.wrong;
}

bool fe_value_make(fe_value_maker *m, const ferrule_value_info *info,
                   ferrule_tensor *out) {
  enum { ITEMS = 2 };
  if (info->dtype < FERRULE_SEQUENCE) {
    *out = (ferrule_tensor){.dtype = info->dtype,
                            .rank = info->rank < 0 ? 1 : info->rank};
    for (int d = 0; d < out->rank; d++)
      out->dims[d] = m->dim(m, info->rank < 0 ? INT64_MIN : info->dims[d]);
    return m->fill(m, out);
  }
  if (info->dtype == FERRULE_OPTIONAL) {
    ferrule_tensor *held = FE_NEW(m->arena, ferrule_tensor);
    fe_value_object(m->arena, info->dtype, held, out);
    return fe_value_make(m, info->element, held);
  }
  if (info->dtype == FERRULE_MAP) {
    ferrule_map *map = FE_NEW(m->arena, ferrule_map);
    fe_value_object(m->arena, info->dtype, map, out);
    return fe_value_make(m, &info->element[0], &map->keys) &&
           fe_value_make(m, &info->element[1], &map->values);
  }
  ferrule_tensor *items = FE_NEW_N(m->arena, ferrule_tensor, ITEMS);
  ferrule_sequence *s = FE_NEW(m->arena, ferrule_sequence);
  *s = (ferrule_sequence){ITEMS, items};
  fe_value_object(m->arena, info->dtype, s, out);
  for (int i = 0; i < ITEMS; i++)
    if (!fe_value_make(m, info->element, &items[i]))
      return false;
  return true;
}
