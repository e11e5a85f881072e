//===- seal.c - whether a file is as it was written --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: behind what the file's format knows of come a mark and the hash of
// all before it, 16 bytes. Programs that rightly change such a file (strip)
// write what the format knows of, so that nothing false is left.
//
// Needs: little endian.
//
//===----------------------------------------------------------------------===//
#define _POSIX_C_SOURCE 200809L
#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char mark[] = {'F', 'e', 'r', 'r', 'u', 'l', 'e', '\1'};

typedef struct fe_seal_bytes {
  char mark[sizeof mark];
  uint64_t hash;
} fe_seal_bytes;
_Static_assert(sizeof(fe_seal_bytes) == FE_SEAL_SIZE, "");

// What one call of the hash sees; each goes on from the one before, so that who
// writes needs no memory for the whole.
#define PIECE ((size_t)1 << 16)

/// The bytes of the file from `at` on, up to PIECE of them. 0, or an errno.
static int read_piece(int fd, off_t at, char *piece, size_t *n) {
  *n = 0;
  for (ssize_t got = 1; *n < PIECE && got; *n += (size_t)got) {
    do
      got = pread(fd, piece + *n, PIECE - *n, at + (off_t)*n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
      return errno;
  }
  return 0;
}

int fe_seal_add(int fd) {
  fe_seal_bytes seal = {.hash = 0};
  memcpy(seal.mark, mark, sizeof mark);
  char *piece = malloc(PIECE);
  int error = piece ? 0 : ENOMEM;
  off_t at = 0;
  for (size_t n = 1; !error && n; at += (off_t)n) {
    error = read_piece(fd, at, piece, &n);
    if (!error && n)
      seal.hash = fe_hash(piece, n, seal.hash);
  }
  free(piece);
  if (!error && lseek(fd, at, SEEK_SET) < 0)
    error = errno;
  return error ? error
               : fe_output_write(&(fe_output){.fd = fd}, &seal, sizeof seal);
}

fe_seal fe_seal_of(const void *data, size_t size) {
  fe_seal_bytes seal;
  if (size < sizeof seal)
    return FE_SEAL_NONE;
  size -= sizeof seal;
  memcpy(&seal, (const char *)data + size, sizeof seal);
  if (memcmp(seal.mark, mark, sizeof mark))
    return FE_SEAL_NONE;
  uint64_t hash = 0;
  for (size_t at = 0; at < size; at += PIECE)
    hash = fe_hash((const char *)data + at,
                   size - at < PIECE ? size - at : PIECE, hash);
  return hash == seal.hash ? FE_SEAL_WHOLE : FE_SEAL_BROKEN;
}
