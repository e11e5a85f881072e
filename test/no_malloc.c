//===- no_malloc.c - a program that must not allocate -------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linked with -Wl,--wrap=NAME for each of these: a call from the program or a
// model ends it. The C library's own calls are not affected.
//
//===----------------------------------------------------------------------===//
#include <stddef.h>
#include <stdlib.h>

#define FORBIDDEN(name)                                                        \
  void *__wrap_##name(void);                                                   \
  void *__wrap_##name(void) { abort(); }
FORBIDDEN(malloc)
FORBIDDEN(calloc)
FORBIDDEN(realloc)
FORBIDDEN(free)
FORBIDDEN(aligned_alloc)
FORBIDDEN(posix_memalign)
