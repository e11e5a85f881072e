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
// waited for.
//
// Who waits spins for some 30 microseconds (the time between two kernels of a
// model), then sleeps on a condition variable. To wake it takes about 10
// microseconds of the one that does, and some 50 until it runs, so a worker
// whose next job came soon after it fell asleep spins longer the next time, as
// long as nobody else wants its processor. sched_yield would cost it its turn.
//
// A scheduler that finds no idle processor likes to put a thread that wakes up
// on the processor of the one that woke it: the caller, which computes. There
// it would wait until the job is done, and then take turns with the caller. So
// workers may not run where the caller does, if there is room elsewhere.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE // processors of a thread
#include "ferrule/model.h"

#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define SPIN_NS 30000
#define MAX_SPIN_NS 500000 // of a worker whose jobs come that soon
#define PREEMPTED_NS 50000 // between two looks at the clock: others run here
#define PIECES 16          // a range is taken in that many pieces

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
  alignas(64) atomic_bool sleepers;
  atomic_bool stop, caller_sleeps;
  ferrule_body body;
  void *context;
  int threads;
#ifdef __linux__
  cpu_set_t processors; // that workers may run on
  int processor; // the caller's at its last job; -1: workers may be there
#endif
  range *ranges;   // one per thread, 0 is the caller's
  worker *workers; // threads - 1
  pthread_mutex_t mutex;
  pthread_cond_t wake, left; // a job; the workers
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

/// Until about the next job: it may be over before this thread runs.
static void sleep_until_job(ferrule_pool *p, uint64_t job) {
  pthread_mutex_lock(&p->mutex);
  atomic_store(&p->sleepers, true);
  if (!atomic_load(&p->stop) && !job_waits(p, job))
    pthread_cond_wait(&p->wake, &p->mutex);
  pthread_mutex_unlock(&p->mutex);
}

static void leave(ferrule_pool *p) {
  uint_fast64_t gate = atomic_fetch_sub(&p->gate, GATE_WORKER);
  if ((gate & GATE_WORKERS) == GATE_WORKER && atomic_load(&p->caller_sleeps)) {
    pthread_mutex_lock(&p->mutex);
    pthread_cond_signal(&p->left);
    pthread_mutex_unlock(&p->mutex);
  }
}

static void wait_for_workers(ferrule_pool *p) {
  int64_t since = 0;
  for (unsigned spins = 0; atomic_load(&p->gate) & GATE_WORKERS; spins++) {
    pause_cpu();
    if (spins % 32)
      continue;
    int64_t now = now_ns();
    since = since ? since : now;
    if (now - since < SPIN_NS)
      continue;
    // Somebody else has a worker's processor, or wants this one.
    pthread_mutex_lock(&p->mutex);
    atomic_store(&p->caller_sleeps, true);
    while (atomic_load(&p->gate) & GATE_WORKERS)
      pthread_cond_wait(&p->left, &p->mutex);
    atomic_store(&p->caller_sleeps, false);
    pthread_mutex_unlock(&p->mutex);
  }
}

static void *worker_main(void *arg) {
  worker *w = arg;
  ferrule_pool *p = w->pool;
  uint64_t job = 0;
  int64_t idle_since = now_ns(), last = idle_since, spin = SPIN_NS;
  for (unsigned spins = 1; !atomic_load(&p->stop); spins++) {
    if (try_enter(p, &job)) {
      work(p, w->index);
      leave(p);
      idle_since = last = now_ns();
      continue;
    }
    pause_cpu();
    if (spins % 32)
      continue;
    int64_t now = now_ns();
    bool preempted = now - last > PREEMPTED_NS;
    last = now;
    if (!preempted && now - idle_since < spin)
      continue;
    sleep_until_job(p, job);
    last = now_ns();
    bool soon = !preempted && last - idle_since < MAX_SPIN_NS;
    spin = !soon ? SPIN_NS : 2 * spin < MAX_SPIN_NS ? 2 * spin : MAX_SPIN_NS;
    idle_since = last;
  }
  return NULL;
}

#ifdef __linux__
/// Keeps workers off the caller's processor.
static void leave_processor(ferrule_pool *p) {
  int processor = sched_getcpu();
  if (p->processor < 0 || processor < 0 || processor == p->processor)
    return;
  p->processor = processor;
  cpu_set_t others = p->processors;
  if (processor < CPU_SETSIZE)
    CPU_CLR((size_t)processor, &others);
  for (int t = 0; t < p->threads - 1; t++)
    pthread_setaffinity_np(p->workers[t].thread, sizeof others, &others);
}
#else
static void leave_processor(ferrule_pool *p) { (void)p; }
#endif

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
  leave_processor(p);
  uint_fast64_t gate = atomic_load(&p->gate);
  atomic_store(&p->gate, (gate / GATE_JOB + 1) * GATE_JOB | GATE_OPEN);
  if (atomic_load(&p->sleepers)) {
    pthread_mutex_lock(&p->mutex);
    atomic_store(&p->sleepers, false); // until one falls asleep again
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
  }
  work(p, 0);
  atomic_fetch_and(&p->gate, ~GATE_OPEN);
  wait_for_workers(p);
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
  pthread_cond_destroy(&pool->left);
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
  pthread_cond_init(&p->left, NULL);
  // Workers read `threads` only inside a job, so it may grow here.
  for (int t = 1; t < threads; t++) {
    worker *w = &p->workers[t - 1];
    *w = (worker){.pool = p, .index = t};
    if (pthread_create(&w->thread, NULL, worker_main, w))
      break; // fewer threads than asked for
    p->threads++;
  }
#ifdef __linux__
  // One each, and the caller's.
  bool room = !sched_getaffinity(0, sizeof p->processors, &p->processors) &&
              CPU_COUNT(&p->processors) >= p->threads;
  p->processor = room ? CPU_SETSIZE : -1;
#endif
  return p;
}

ferrule_run_options ferrule_pool_options(ferrule_pool *pool) {
  ferrule_run_options o = {.parallel_for = pool_for, .user = pool};
  o.threads = pool->threads;
  return o;
}
