//===- archive.c - static libraries ------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes an archive in the System V format with one member and an index of its
// public symbols, which linkers ask for. No dates or owners: equal models give
// equal bytes.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "emit/parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES 60

static void add_header(fe_arena *arena, fe_buf *b, const char *name,
                       uint64_t size) {
  fe_buf_printf(arena, b, "%-16s%-12d%-6d%-6d%-8o%-10llu`\n", name, 0, 0, 0,
                0644u, (unsigned long long)size);
}

static void add_big_endian(fe_arena *arena, fe_buf *b, uint32_t v) {
  char c[] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};
  fe_buf_add(arena, b, c, sizeof c);
}

static bool write_all(int fd, const char *p, size_t n) {
  while (n) {
    ssize_t w = write(fd, p, n);
    if (w < 0)
      return false;
    p += w;
    n -= (size_t)w;
  }
  return true;
}

static bool copy_all(int to, int from, uint64_t n) {
  static const size_t piece = 1 << 16;
  off_t at = 0;
  while (n) {
    ssize_t c = copy_file_range(from, &at, to, NULL, n, 0);
    if (c <= 0)
      break;
    n -= (uint64_t)c;
  }
  char buffer[1 << 16];
  while (n) {
    ssize_t r = pread(from, buffer, n < piece ? n : piece, at);
    if (r <= 0 || !write_all(to, buffer, (size_t)r))
      return false;
    at += r;
    n -= (uint64_t)r;
  }
  return true;
}

fe_status fe_archive_write(fe_diags *d, int fd, const char *path, int object,
                           const char *member, const char *const *symbols,
                           unsigned n_symbols) {
  fe_arena *arena = d->arena;
  struct stat st;
  if (fstat(object, &st))
    return fe_error(d, (fe_where){.file = path}, NULL, "cannot be written: %s",
                    strerror(errno));
  // Index: count, offsets of the member with each symbol, names.
  uint64_t index = 4 + 4 * (uint64_t)n_symbols;
  for (unsigned i = 0; i < n_symbols; i++)
    index += strlen(symbols[i]) + 1;
  uint64_t padded = index + (index & 1);
  fe_buf b = {0};
  fe_buf_printf(arena, &b, "!<arch>\n");
  uint32_t offset = (uint32_t)(b.n + HEADER_BYTES + padded);
  add_header(arena, &b, "/", padded);
  add_big_endian(arena, &b, n_symbols);
  for (unsigned i = 0; i < n_symbols; i++)
    add_big_endian(arena, &b, offset);
  for (unsigned i = 0; i < n_symbols; i++)
    fe_buf_add(arena, &b, symbols[i], strlen(symbols[i]) + 1);
  if (index & 1)
    fe_buf_add(arena, &b, "", 1);
  add_header(arena, &b, member, (uint64_t)st.st_size);
  if (!write_all(fd, b.at, b.n) ||
      !copy_all(fd, object, (uint64_t)st.st_size) ||
      ((st.st_size & 1) && !write_all(fd, "\n", 1)))
    return fe_error(d, (fe_where){.file = path}, NULL, "cannot be written: %s",
                    strerror(errno));
  return FE_OK;
}
