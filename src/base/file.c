//===- file.c - files and time -----------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: regular files are mapped, so gigabytes of weights cost nothing until
// they are touched. What cannot be mapped (a pipe) is read into memory; devices
// are refused, since /dev/zero has no end.
// How they are written: output.c.
//
// Needs: POSIX.
//
//===----------------------------------------------------------------------===//
#define _POSIX_C_SOURCE 200809L
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

fe_status fe_file_error(fe_diags *d, const char *path, const char *what,
                        int error) {
  const char *hint = error == ENOENT    ? "check the path"
                     : error == EACCES  ? "check the permissions"
                     : error == ENOSPC  ? "make room on the disk"
                     : error == EDQUOT  ? "make room on the disk"
                     : error == EFBIG   ? "allow larger files (ulimit -f)"
                     : error == EROFS   ? "give a path that can be written to"
                     : error == ENOTSUP ? "give a file or a pipe"
                                        : NULL;
  return fe_error(d, (fe_where){.file = path}, hint, "cannot %s: %s", what,
                  strerror(error));
}

// More than any model that is one message of protobuf.
#define LARGEST_PIPE ((size_t)4 << 30)

// Everything up to the end, for what has no known size. 0 or an errno.
static int read_all(int fd, fe_file *out) {
  uint8_t *data = NULL;
  size_t n = 0, cap = 0;
  for (;;) {
    if (n == cap) {
      size_t bigger = cap ? cap * 2 : 1 << 16;
      uint8_t *p = bigger > LARGEST_PIPE ? NULL : realloc(data, bigger);
      if (!p) {
        free(data);
        return bigger > LARGEST_PIPE ? EFBIG : ENOMEM;
      }
      data = p;
      cap = bigger;
    }
    ssize_t got = read(fd, data + n, cap - n);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0) {
      int error = errno;
      free(data);
      return error;
    }
    if (!got)
      break;
    n += (size_t)got;
  }
  *out = (fe_file){data, n, false};
  return 0;
}

static int map_or_read(int fd, fe_file *out) {
  struct stat st;
  if (fstat(fd, &st))
    return errno;
  if (S_ISDIR(st.st_mode))
    return EISDIR;
  if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
    return ENOTSUP;
  if (S_ISREG(st.st_mode) && st.st_size > 0) {
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p != MAP_FAILED) {
      *out = (fe_file){p, (size_t)st.st_size, true};
      return 0;
    }
  }
  return read_all(fd, out);
}

fe_status fe_file_map(fe_diags *d, const char *path, fe_file *out) {
  *out = (fe_file){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fe_file_error(d, path, "open the file", errno);
  int error = map_or_read(fd, out);
  close(fd);
  return error ? fe_file_error(d, path, "read the file", error) : FE_OK;
}

const char *fe_regular_open(const char *path, int *fd, uint64_t *size) {
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd < 0)
    return strerror(errno);
  struct stat st;
  const char *wrong = fstat(*fd, &st)        ? strerror(errno)
                      : !S_ISREG(st.st_mode) ? "it is not a regular file"
                                             : NULL;
  if (wrong)
    close(*fd);
  else
    *size = (uint64_t)st.st_size;
  return wrong;
}

void fe_file_unmap(fe_file *f) {
  // Both calls take a pointer without const; nothing is written.
  if (f->mapped)
    munmap((void *)(uintptr_t)f->data, f->size);
  else
    free((void *)(uintptr_t)f->data);
  *f = (fe_file){0};
}

fe_status fe_file_write(fe_diags *d, const char *path, const void *data,
                        size_t size) {
  fe_output o;
  int error = fe_output_open(&o, path);
  if (error)
    return fe_file_error(d, path, "create the file", error);
  error = fe_output_close(&o, fe_output_write(&o, data, size));
  return error ? fe_file_error(d, path, "write the file", error) : FE_OK;
}

bool fe_same_file(const char *a, const char *b) {
  struct stat x, y;
  return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

double fe_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
