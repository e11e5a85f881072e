//===- quiet.c - what packaged libraries find around them --------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The archives of the distribution are made for programs, not for shared
// objects: they take the addresses of the C library's streams directly, which
// only a definition beside them can satisfy. As a library in a model has
// nothing to say, whatever it prints goes nowhere. The build makes all of this
// local to the object with the libraries; nothing else sees it.
//
//===----------------------------------------------------------------------===//
#include <stdarg.h>
#include <stddef.h>

void *stderr, *stdout;

int __fprintf_chk(void *stream, int flag, const char *format, ...);
int __vfprintf_chk(void *stream, int flag, const char *format, va_list args);
int fflush(void *stream);
int fputc(int c, void *stream);
size_t fwrite(const void *data, size_t size, size_t n, void *stream);
int __popcountdi2(unsigned long long v);

int __fprintf_chk(void *stream, int flag, const char *format, ...) {
  (void)stream, (void)flag, (void)format;
  return 0;
}

int __vfprintf_chk(void *stream, int flag, const char *format, va_list args) {
  (void)stream, (void)flag, (void)format, (void)args;
  return 0;
}

int fflush(void *stream) {
  (void)stream;
  return 0;
}

int fputc(int c, void *stream) {
  (void)stream;
  return c;
}

size_t fwrite(const void *data, size_t size, size_t n, void *stream) {
  (void)data, (void)size, (void)stream;
  return n;
}

/// Of the compiler's library, which a model is not linked with.
int __popcountdi2(unsigned long long v) {
  int n = 0;
  for (; v; v &= v - 1)
    n++;
  return n;
}
