//===- spill.c - weights of a level out of memory ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// While the next level of a processor is planned, what the compiler has packed
// for this one is not needed, but for comparing it. So it goes to a temporary
// file beside the artifact, and its memory back: the weights of one level are
// in memory, whatever the number of levels. The linker's file gets them from
// there as it gets constants from the model's file.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "emit/parts.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEAST (UINT64_C(32) << 20) // of a level; less is not worth a file
#define BLOB ((size_t)1 << 20)     // likewise
#define PAGE UINT64_C(4096)

static bool is_packed(const fe_blob *b) { return !b->file && b->size >= BLOB; }

static uint64_t pages(uint64_t bytes) {
  return (bytes + PAGE - 1) / PAGE * PAGE;
}

fe_status fe_spill_level(fe_spill *s, fe_ir *ir, const char *path,
                         const fe_model_info *info) {
  uint64_t bytes = 0;
  for (unsigned i = 0; i < info->n_blobs; i++)
    if (is_packed(info->blobs[i].blob))
      bytes += pages(info->blobs[i].blob->size);
  if (bytes < LEAST || s->n == FE_MAX_LEVELS)
    return FE_OK;
  if (!s->path && !(s->path = fe_temporary(path, &s->fd)))
    return fe_file_error(ir->diags, path, "create the file", errno);
  uint64_t begin = s->end, at = begin;
  for (unsigned i = 0; i < info->n_blobs; i++) {
    const fe_blob *b = info->blobs[i].blob;
    if (!is_packed(b))
      continue;
    if (!fe_blob_write(b, s->fd, at))
      return fe_file_error(ir->diags, path, "write a temporary file beside it",
                           errno);
    at += pages(b->size);
  }
  char *map =
      ftruncate(s->fd, (off_t)at)
          ? MAP_FAILED
          : mmap(NULL, bytes, PROT_READ, MAP_SHARED, s->fd, (off_t)begin);
  if (map == MAP_FAILED)
    return fe_file_error(ir->diags, path, "read a temporary file beside it",
                         errno);
  s->map[s->n] = map;
  s->bytes[s->n++] = bytes;
  s->end = at;
  // All are written before any is given back: some are parts of others, or what
  // others are made from.
  for (unsigned i = 0; i < info->n_blobs; i++)
    if (!is_packed(info->blobs[i].blob))
      fe_blob_data(ir->blobs, info->blobs[i].blob);
  for (unsigned i = 0; i < info->n_blobs; i++) {
    fe_blob *b = info->blobs[i].blob;
    if (!is_packed(b))
      continue;
    const void *old = b->data;
    b->data = map + (begin - (s->end - bytes));
    b->file = fe_strdup(ir->arena, s->path);
    b->offset = begin;
    begin += pages(b->size);
    if (old)
      fe_arena_give_back(ir->blobs->arena, old, b->size);
  }
  return FE_OK;
}

void fe_spill_end(fe_spill *s) {
  for (unsigned i = 0; i < s->n; i++)
    munmap(s->map[i], s->bytes[i]);
  if (!s->path)
    return;
  close(s->fd);
  fe_temporary_settle(s->path, NULL);
}
