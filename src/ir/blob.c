//===- blob.c - constant data too large for IR text --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of named byte ranges. Data is referred to, never copied, or made by a
// function when somebody asks for it.
//
//===----------------------------------------------------------------------===//
#include "ir/ir.h"

#include <stdlib.h>
#include <string.h>

fe_blob *fe_blob_find(const fe_blobs *b, const char *name) {
  return name ? fe_map_get(&b->by_name, name) : NULL;
}

fe_blob *fe_blob_add(fe_blobs *b, const char *name, const void *data,
                     size_t size, const char *file, uint64_t offset) {
  const char *unique = name && *name ? name : "constant";
  while (fe_blob_find(b, unique))
    unique = fe_printf(b->arena, "%s_%u", name && *name ? name : "constant",
                       b->next++);
  fe_blob *blob = FE_NEW(b->arena, fe_blob);
  *blob = (fe_blob){.name = fe_strdup(b->arena, unique),
                    .data = data,
                    .size = size,
                    .file = file ? fe_strdup(b->arena, file) : NULL,
                    .offset = offset};
  fe_map_set(b->arena, &b->by_name, blob->name, blob);
  return blob;
}

fe_blob *fe_blob_promise(fe_blobs *b, const char *name, size_t size,
                         size_t parts, fe_blob_fill fill, const void *recipe) {
  fe_blob *blob = fe_blob_add(b, name, NULL, size, NULL, 0);
  blob->parts = parts;
  blob->fill = fill;
  blob->recipe = recipe;
  return blob;
}

void fe_blob_put(const fe_blob *blob, void *at) {
  if (blob->data)
    memcpy(at, blob->data, blob->size);
  else
    for (size_t i = 0; i < blob->parts; i++)
      blob->fill(blob->recipe, i, (char *)at + i * (blob->size / blob->parts));
}

const void *fe_blob_data(const fe_blobs *b, fe_blob *blob) {
  if (!blob->data && blob->fill) {
    void *at = fe_alloc(b->arena, blob->size); // zeroed
    fe_blob_put(blob, at);
    blob->data = at;
  }
  return blob->data;
}

/// Room for a part of a promised blob; to be freed.
static char *part_room(const fe_blobs *b, const fe_blob *blob) {
  size_t size = blob->size / blob->parts;
  char *at = malloc(size);
  return at ? at : fe_alloc(b->arena, SIZE_MAX); // runs out of memory
}

static void make_part(const fe_blob *blob, size_t part, char *at) {
  memset(at, 0, blob->size / blob->parts);
  blob->fill(blob->recipe, part, at);
}

void fe_blob_begin(const fe_blobs *b, const fe_blob *blob, size_t n, void *at) {
  if (blob->data || !blob->fill) {
    if (n)
      memcpy(at, blob->data, n);
    return;
  }
  size_t size = blob->size / blob->parts;
  char *part = part_room(b, blob);
  for (size_t i = 0, done = 0; done < n; i++, done += size) {
    make_part(blob, i, part);
    memcpy((char *)at + done, part, n - done < size ? n - done : size);
  }
  free(part);
}

/// `x` is promised, `y` has data.
static bool same_as_data(const fe_blobs *b, const fe_blob *x, const char *y) {
  size_t size = x->size / x->parts;
  char *part = part_room(b, x);
  bool same = true;
  for (size_t i = 0; i < x->parts && same; i++) {
    make_part(x, i, part);
    same = !memcmp(part, y + i * size, size);
  }
  free(part);
  return same;
}

/// Both are promised, with parts of one size or not.
static bool same_promises(const fe_blobs *b, const fe_blob *x,
                          const fe_blob *y) {
  if (x->fill == y->fill && x->recipe == y->recipe)
    return true;
  size_t nx = x->size / x->parts, ny = y->size / y->parts;
  char *px = part_room(b, x), *py = part_room(b, y);
  bool same = true;
  size_t have_x = 0, have_y = 0; // number of the part that is there, and one
  for (size_t at = 0, n; at < x->size && same; at += n) {
    if (have_x != at / nx + 1)
      make_part(x, (have_x = at / nx + 1) - 1, px);
    if (have_y != at / ny + 1)
      make_part(y, (have_y = at / ny + 1) - 1, py);
    size_t ox = at % nx, oy = at % ny;
    n = nx - ox < ny - oy ? nx - ox : ny - oy;
    same = !memcmp(px + ox, py + oy, n);
  }
  free(px);
  free(py);
  return same;
}

bool fe_blob_same(const fe_blobs *b, const fe_blob *x, const fe_blob *y) {
  if (x->size != y->size)
    return false;
  if (!x->size)
    return true;
  if (!x->data && !y->data)
    return same_promises(b, x, y);
  if (!x->data)
    return same_as_data(b, x, y->data);
  return y->data ? !memcmp(x->data, y->data, x->size)
                 : same_as_data(b, y, x->data);
}
