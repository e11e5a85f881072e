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
  char buffer[1 << 16];
  off_t at = 0;
  while (n) {
    ssize_t r = pread(from, buffer, n < sizeof buffer ? n : sizeof buffer, at);
    if (r <= 0 || !write_all(to, buffer, (size_t)r))
      return false;
    at += r;
    n -= (uint64_t)r;
  }
  return true;
}

fe_status fe_archive_write(fe_diags *d, int fd, const char *path, int object,
                           const char *member, const char *const *symbols,
                           unsigned n_symbols, const fe_model_info *info) {
  fe_arena *arena = d->arena;
  struct stat st;
  if (fstat(object, &st))
    return fe_file_error(d, path, "write the file", errno);
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
  uint64_t base = b.n + HEADER_BYTES;
  if (!write_all(fd, b.at, b.n) || lseek(fd, (off_t)base, SEEK_SET) < 0 ||
      !copy_all(fd, object, (uint64_t)st.st_size))
    return fe_file_error(d, path, "write the file", errno);
  if (fe_weights_fill(d, fd, path, base, info) == FE_FAILED)
    return FE_FAILED;
  // Now its size is known. Members start at even offsets.
  if (fstat(fd, &st))
    return fe_file_error(d, path, "write the file", errno);
  uint64_t size = (uint64_t)st.st_size - base;
  b.n = 0;
  add_header(arena, &b, member, size);
  if (pwrite(fd, b.at, b.n, (off_t)(base - HEADER_BYTES)) != (ssize_t)b.n ||
      ((size & 1) && pwrite(fd, "\n", 1, st.st_size) != 1))
    return fe_file_error(d, path, "write the file", errno);
  return FE_OK;
}
