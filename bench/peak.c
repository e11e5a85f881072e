//===- peak.c - multiply-adds of several threads at once ------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing here touches memory: what two threads give over one is what the
// machine's cores give at that moment, and no model can scale better. bench.py
// loads this and measures it in the same rounds as the models.
//
//===----------------------------------------------------------------------===//
#define _POSIX_C_SOURCE 200809L
#include "chains.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

#define MOST 64

static void *chains(void *result) {
  *(float *)result = run_chains();
  return NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/// Seconds that `threads` threads take for the same work each; 0: no threads.
double peak_seconds(int threads) {
  pthread_t thread[MOST];
  float result[MOST];
  if (threads < 1 || threads > MOST)
    return 0;
  double start = now();
  int started = 1;
  while (started < threads &&
         !pthread_create(&thread[started], NULL, chains, &result[started]))
    ++started;
  chains(&result[0]);
  for (int i = 1; i < started; ++i)
    pthread_join(thread[i], NULL);
  return started == threads ? now() - start : 0;
}
