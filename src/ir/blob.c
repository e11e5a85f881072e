//===- blob.c - constant data too large for IR text --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of named byte ranges. Data is referred to, never copied.
//
//===----------------------------------------------------------------------===//
#include "ir/ir.h"

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
