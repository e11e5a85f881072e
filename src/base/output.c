//===- output.c - files that are whole or not there --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: what is written has another name in the same folder until it is
// whole. The names of now, and the programs that write them, are kept in two
// short lists of atomics, so that a signal's handler can clear up: it lets the
// programs end, which takes a moment, as they have temporary files of their
// own. A process that is killed outright leaves something behind, or a signal
// when the lists were full.
//
// Needs: POSIX.
//
//===----------------------------------------------------------------------===//
#define _POSIX_C_SOURCE 200809L
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static _Atomic(char *) names[64];
static atomic_int programs[16];

static void remember(char *name) {
  for (size_t i = 0; i < FE_COUNT(names); i++) {
    char *none = NULL;
    if (atomic_compare_exchange_strong(&names[i], &none, name))
      return;
  }
}

static void forget(char *name) {
  for (size_t i = 0; i < FE_COUNT(names); i++) {
    char *it = name;
    if (atomic_compare_exchange_strong(&names[i], &it, NULL))
      break;
  }
  free(name);
}

/// No signal comes between two steps that belong together.
static sigset_t hold_signals(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  return before;
}

static void release_signals(sigset_t before) {
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

char *fe_temporary(const char *path, int *fd) {
  // as much of its name as leaves room for more, also that of the linker
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  size_t shown = strnlen(base, 200) + (size_t)(base - path);
  size_t size = shown + sizeof ".XXXXXX";
  char *name = malloc(size);
  if (!name) {
    errno = ENOMEM;
    return NULL;
  }
  snprintf(name, size, "%.*s.XXXXXX", (int)shown, path);
  sigset_t before = hold_signals();
  *fd = mkstemp(name);
  int error = *fd < 0 ? errno : 0;
  if (!error)
    remember(name);
  release_signals(before);
  if (error) {
    free(name);
    errno = error;
    return NULL;
  }
  fcntl(*fd, F_SETFD, FD_CLOEXEC);
  return name;
}

int fe_temporary_settle(char *name, const char *path) {
  return fe_temporary_settle_pair(name, path, NULL, NULL);
}

int fe_temporary_settle_pair(char *a, const char *path_a, char *b,
                             const char *path_b) {
  sigset_t before = hold_signals();
  int error = b && path_b && rename(b, path_b) ? errno : 0;
  bool moved = b && path_b && !error;
  if (!error && path_a && rename(a, path_a)) {
    error = errno;
    if (moved)
      unlink(path_b);
    moved = false;
  }
  if (!path_a || error)
    unlink(a);
  if (b && !moved)
    unlink(b);
  forget(a);
  if (b)
    forget(b);
  release_signals(before);
  return error;
}

//===-- Whole files ---------------------------------------------------------//

int fe_output_open(fe_output *o, const char *path) {
  struct stat st;
  bool exists = stat(path, &st) == 0;
  *o = (fe_output){.path = path,
                   .mode = exists ? (int)(st.st_mode & 07777) : -1};
  // Devices and pipes (/dev/stdout) are written to, not replaced.
  if (exists && !S_ISREG(st.st_mode))
    o->fd = open(path, O_WRONLY | O_CLOEXEC);
  else if (!(o->temp = fe_temporary(path, &o->fd)))
    o->fd = -1;
  return o->fd < 0 ? errno : 0;
}

int fe_output_close(fe_output *o, int error) {
  if (o->temp && !error && o->mode < 0) {
    // mkstemp makes the file private; give it the usual permissions
    mode_t mask = umask(0);
    umask(mask);
    o->mode = 0666 & ~(int)mask;
  }
  if (o->temp && !error && fchmod(o->fd, (mode_t)o->mode))
    error = errno;
  if (close(o->fd) && !error)
    error = errno;
  if (!o->temp)
    return error;
  int moved = fe_temporary_settle(o->temp, error ? NULL : o->path);
  return error ? error : moved;
}

int fe_output_write(const fe_output *o, const void *data, size_t size) {
  for (const char *p = data; size;) {
    ssize_t put = write(o->fd, p, size);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return errno;
    p += put;
    size -= (size_t)put;
  }
  return 0;
}

//===-- When a signal ends the process --------------------------------------//

int fe_program_run(int *status, const char *path, const void *actions,
                   char *const *args) {
  posix_spawnattr_t attributes;
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &all);
  pid_t pid = 0;
  size_t at = 0;
  sigset_t before = hold_signals();
  int error = posix_spawn(&pid, path, actions, &attributes, args, environ);
  for (; !error && at < FE_COUNT(programs); at++) {
    int none = 0;
    if (atomic_compare_exchange_strong(&programs[at], &none, pid))
      break;
  }
  release_signals(before);
  posix_spawnattr_destroy(&attributes);
  if (error)
    return error;
  // Its number is not given to another process before it is forgotten here.
  siginfo_t info;
  while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR)
    ;
  if (at < FE_COUNT(programs))
    atomic_store(&programs[at], 0);
  *status = -1;
  while (waitpid(pid, status, 0) < 0 && errno == EINTR)
    ;
  return 0;
}

void fe_output_abandon(void) {
  for (size_t i = 0; i < FE_COUNT(programs); i++) {
    pid_t pid = (pid_t)atomic_exchange(&programs[i], 0);
    if (pid > 0)
      waitpid(pid, NULL, 0);
  }
  for (size_t i = 0; i < FE_COUNT(names); i++) {
    char *name = atomic_load(&names[i]);
    if (name)
      unlink(name);
  }
}
