//===- pool.c - threads for running models
//-----------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: a job is split into one range per thread, so that a thread meets the
// same part of the data kernel after kernel; a thread that is through takes
// pieces of the others' ranges. Workers enter a job through a gate and the
// caller closes it when nothing is left, so a worker that wakes up late is not
// waited for. Idle workers spin for some 30 microseconds (the time between two
// kernels of a model), then sleep on a condition variable.
//
//===----------------------------------------------------------------------===//
#define _POSIX_C_SOURCE 200809L
#include "ferrule/model.h"

#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define SPIN_NS 30000
#define PIECES 16 // a range is taken in that many pieces

// gate = job number << 16 | workers inside << 1 | open
#define GATE_OPEN UINT64_C(1)
#define GATE_WORKER UINT64_C(2)
#define GATE_WORKERS UINT64_C(0xfffe)
#define GATE_JOB UINT64_C(0x10000)
#define MAX_THREADS 1024

typedef struct range {
  alignas(64) atomic_int_fast64_t next;
  int64_t end, piece;
} range;

typedef struct worker {
  ferrule_pool *pool;
  pthread_t thread;
  int index;
} worker;

struct ferrule_pool {
  alignas(64) atomic_uint_fast64_t gate;
  alignas(64) atomic_int sleepers;
  atomic_bool stop;
  ferrule_body body;
  void *context;
  int threads;
  range *ranges;   // one per thread, 0 is the caller's
  worker *workers; // threads - 1
  pthread_mutex_t mutex;
  pthread_cond_t wake;
};

static void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void work(ferrule_pool *p, int self) {
  for (int i = 0; i < p->threads; i++) {
    range *r = &p->ranges[(self + i) % p->threads];
    for (;;) {
      if (atomic_load_explicit(&r->next, memory_order_relaxed) >= r->end)
        break;
      int64_t begin =
          atomic_fetch_add_explicit(&r->next, r->piece, memory_order_relaxed);
      if (begin >= r->end)
        break;
      int64_t end = begin + r->piece < r->end ? begin + r->piece : r->end;
      p->body(p->context, begin, end);
    }
  }
}

/// True when inside job `*job`, which is not the one before.
static bool try_enter(ferrule_pool *p, uint64_t *job) {
  uint_fast64_t gate = atomic_load(&p->gate);
  while ((gate & GATE_OPEN) && gate / GATE_JOB != *job)
    if (atomic_compare_exchange_weak(&p->gate, &gate, gate + GATE_WORKER)) {
      *job = gate / GATE_JOB;
      return true;
    }
  return false;
}

static bool job_waits(ferrule_pool *p, uint64_t job) {
  uint_fast64_t gate = atomic_load(&p->gate);
  return (gate & GATE_OPEN) && gate / GATE_JOB != job;
}

static void sleep_until_job(ferrule_pool *p, uint64_t job) {
  pthread_mutex_lock(&p->mutex);
  atomic_fetch_add(&p->sleepers, 1);
  while (!atomic_load(&p->stop) && !job_waits(p, job))
    pthread_cond_wait(&p->wake, &p->mutex);
  atomic_fetch_sub(&p->sleepers, 1);
  pthread_mutex_unlock(&p->mutex);
}

static void *worker_main(void *arg) {
  worker *w = arg;
  ferrule_pool *p = w->pool;
  uint64_t job = 0;
  int64_t idle_since = now_ns();
  for (unsigned spins = 1; !atomic_load(&p->stop); spins++) {
    if (try_enter(p, &job)) {
      work(p, w->index);
      atomic_fetch_sub(&p->gate, GATE_WORKER);
      idle_since = now_ns();
      continue;
    }
    pause_cpu();
    if (spins % 32 == 0 && now_ns() - idle_since > SPIN_NS) {
      sleep_until_job(p, job);
      idle_since = now_ns();
    }
  }
  return NULL;
}

static void pool_for(void *user, ferrule_body body, void *context, int64_t n) {
  ferrule_pool *p = user;
  p->body = body;
  p->context = context;
  for (int t = 0; t < p->threads; t++) {
    range *r = &p->ranges[t];
    // n / threads each, the first n % threads one more: no overflow.
    int64_t share = n / p->threads, rest = n % p->threads;
    int64_t begin = share * t + (t < rest ? t : rest);
    r->end = begin + share + (t < rest);
    r->piece = (r->end - begin + PIECES - 1) / PIECES;
    atomic_store_explicit(&r->next, begin, memory_order_relaxed);
  }
  uint_fast64_t gate = atomic_load(&p->gate);
  atomic_store(&p->gate, (gate / GATE_JOB + 1) * GATE_JOB | GATE_OPEN);
  if (atomic_load(&p->sleepers) > 0) {
    pthread_mutex_lock(&p->mutex);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
  }
  work(p, 0);
  atomic_fetch_and(&p->gate, ~GATE_OPEN);
  for (unsigned spins = 1; atomic_load(&p->gate) & GATE_WORKERS; spins++) {
    pause_cpu();
    if (spins % 4096 == 0)
      sched_yield(); // more threads than processors
  }
}

void ferrule_pool_destroy(ferrule_pool *pool) {
  if (!pool)
    return;
  pthread_mutex_lock(&pool->mutex);
  atomic_store(&pool->stop, true);
  pthread_cond_broadcast(&pool->wake);
  pthread_mutex_unlock(&pool->mutex);
  for (int t = 0; t < pool->threads - 1; t++)
    pthread_join(pool->workers[t].thread, NULL);
  pthread_cond_destroy(&pool->wake);
  pthread_mutex_destroy(&pool->mutex);
  free(pool->ranges);
  free(pool->workers);
  free(pool);
}

ferrule_pool *ferrule_pool_create(int threads) {
  if (threads < 1)
    threads = 1;
  if (threads > MAX_THREADS)
    threads = MAX_THREADS;
  ferrule_pool *p = aligned_alloc(64, sizeof *p);
  if (!p)
    return NULL;
  *p = (ferrule_pool){.threads = 1};
  p->ranges = aligned_alloc(64, (size_t)threads * sizeof *p->ranges);
  p->workers = calloc((size_t)threads, sizeof *p->workers);
  if (!p->ranges || !p->workers) {
    free(p->ranges);
    free(p->workers);
    free(p);
    return NULL;
  }
  pthread_mutex_init(&p->mutex, NULL);
  pthread_cond_init(&p->wake, NULL);
  // Workers read `threads` only inside a job, so it may grow here.
  for (int t = 1; t < threads; t++) {
    worker *w = &p->workers[t - 1];
    *w = (worker){.pool = p, .index = t};
    if (pthread_create(&w->thread, NULL, worker_main, w))
      break; // fewer threads than asked for
    p->threads++;
  }
  return p;
}

ferrule_run_options ferrule_pool_options(ferrule_pool *pool) {
  ferrule_run_options o = {.parallel_for = pool_for, .user = pool};
  o.threads = pool->threads;
  return o;
}
