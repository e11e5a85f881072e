//===- blobs.c - weights on their way into files ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blobs are copied from where they are in other files, or made and written part
// by part. Weights that are to be mapped with large pages are written in whole
// aligned pieces of that size: Linux then keeps them in such pages.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "emit/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)1 << 20) // blobs from here on are read from files

bool fe_read_at(int fd, void *to, size_t n, uint64_t at) {
  char *p = to;
  while (n) {
    ssize_t r = pread(fd, p, n, (off_t)at);
    if (r <= 0)
      return false;
    p += r;
    at += (uint64_t)r;
    n -= (size_t)r;
  }
  return true;
}

bool fe_write_at(int fd, const void *from, size_t n, uint64_t at) {
  const char *p = from;
  while (n) {
    ssize_t r = pwrite(fd, p, n, (off_t)at);
    if (r < 0)
      return false;
    p += r;
    at += (uint64_t)r;
    n -= (size_t)r;
  }
  return true;
}

/// Where data goes: straight to a file, or to pieces of it.
typedef struct sink {
  int fd;
  char *piece;    // FE_HUGE_PAGE bytes; NULL: straight to the file
  uint64_t first; // place of the piece in the file
  size_t used;    // bytes of it; 0: it has no place
} sink;

static bool flush(sink *s) {
  bool done = !s->used || fe_write_at(s->fd, s->piece, s->used, s->first);
  s->used = 0;
  return done;
}

/// Room in the piece that `to` is in, *n bytes at most; what it skips is zero.
static char *room(sink *s, size_t *n, uint64_t to) {
  uint64_t first = to / FE_HUGE_PAGE * FE_HUGE_PAGE;
  if (s->used && first != s->first && !flush(s))
    return NULL;
  s->first = first;
  size_t in = (size_t)(to - first);
  memset(s->piece + s->used, 0, in - s->used);
  *n = *n < FE_HUGE_PAGE - in ? *n : FE_HUGE_PAGE - in;
  s->used = in + *n;
  return s->piece + in;
}

/// A blob's data, from a file (-1: there is none) where that can be read: what
/// a mapping gives stays in memory.
static bool put(sink *s, const fe_blob *b, int file, uint64_t to) {
  if (!s->piece)
    return fe_write_at(s->fd, b->data, b->size, to);
  for (size_t done = 0, size; done < b->size; done += size) {
    size = b->size - done;
    char *at = room(s, &size, to + done);
    if (!at)
      return false;
    if (file < 0 || !fe_read_at(file, at, size, b->offset + done))
      memcpy(at, (const char *)b->data + done, size);
  }
  return true;
}

/// From file to file inside the kernel; false: some bytes are left to write.
static bool copy_file(const fe_blob *b, int from, int fd, uint64_t to) {
  off_t in = (off_t)b->offset, out = (off_t)to;
  for (size_t left = b->size; left;) {
    ssize_t n = copy_file_range(from, &in, fd, &out, left, 0);
    if (n <= 0)
      return false;
    left -= (size_t)n;
  }
  return true;
}

static bool write_data(sink *s, const fe_blob *b, uint64_t to) {
  bool large = b->file && b->size >= COPY_BYTES;
  int file = large ? open(b->file, O_RDONLY | O_CLOEXEC) : -1;
  bool done = (file >= 0 && !s->piece && copy_file(b, file, s->fd, to)) ||
              put(s, b, file, to);
  int error = errno;
  if (file >= 0)
    close(file);
  errno = error;
  return done;
}

static bool write_promised(sink *s, const fe_blob *b, uint64_t to) {
  size_t part = b->size / b->parts, at_once = COPY_BYTES / part + 1;
  at_once = at_once < b->parts ? at_once : b->parts;
  char *data = malloc(at_once * part);
  if (!data) {
    errno = ENOMEM;
    return false;
  }
  bool done = true;
  for (size_t i = 0, n = at_once; i < b->parts && done;
       i += n, to += n * part) {
    n = b->parts - i < at_once ? b->parts - i : at_once;
    memset(data, 0, n * part);
    for (size_t k = 0; k < n; k++)
      b->fill(b->recipe, i + k, data + k * part);
    done = put(s, &(fe_blob){.data = data, .size = n * part}, -1, to);
  }
  int error = errno;
  free(data);
  errno = error;
  return done;
}

static bool write_blob(sink *s, const fe_blob *b, uint64_t to) {
  if (!b->data && b->size)
    return write_promised(s, b, to);
  return write_data(s, b, to);
}

bool fe_blob_write(const fe_blob *b, int fd, uint64_t to) {
  sink s = {.fd = fd};
  return write_blob(&s, b, to);
}

static bool write_all(sink *s, const fe_model_info *info, uint64_t at) {
  for (unsigned i = 0; i < info->n_blobs; i++)
    if (!write_blob(s, info->blobs[i].blob, at + info->blobs[i].offset))
      return false;
  return flush(s);
}

bool fe_blobs_write(const fe_model_info *info, int fd, uint64_t at) {
  sink s = {.fd = fd};
  return write_all(&s, info, at);
}

bool fe_blobs_write_huge(const fe_model_info *info, int fd, uint64_t at) {
  sink s = {.fd = fd, .piece = aligned_alloc(4096, FE_HUGE_PAGE)};
  if (!s.piece) {
    errno = ENOMEM;
    return false;
  }
  bool done = write_all(&s, info, at);
  int error = errno;
  free(s.piece);
  errno = error;
  return done;
}
