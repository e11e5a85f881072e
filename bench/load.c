//===- load.c - how long it takes to open a compiled model ----------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: load MODEL.so. Prints nanoseconds from before dlopen until the model's
// description and the size of its arena are known, which is when it can be run,
// the page faults meanwhile, and the bytes of its weights. One model per
// process: a library that is already there costs nothing.
//
//===----------------------------------------------------------------------===//
#define _POSIX_C_SOURCE 200809L
#include "ferrule/model.h"

#include <dlfcn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static long faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

int main(int n_args, char **args) {
  if (n_args != 2) {
    fprintf(stderr, "usage: load MODEL.so\n");
    return 2;
  }
  long before = faults();
  long long start = now();
  void *library = dlopen(args[1], RTLD_NOW | RTLD_LOCAL);
  const ferrule_model *model = library ? dlsym(library, "ferrule_model") : NULL;
  int64_t symbols[FERRULE_MAX_SYMBOLS] = {0};
  int64_t arena = model ? model->arena_size(symbols) : 0;
  long long end = now();
  if (!model) {
    fprintf(stderr, "load: %s\n", dlerror());
    return 1;
  }
  printf("%lld %ld %llu\n", end - start, faults() - before,
         (unsigned long long)model->weight_bytes);
  return arena < 0;
}
