//===- main.c - all official cases, each in a process of its own --*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DATA holds node/, simple/, light/, ... of the official backend test data.
// Every case runs in a child with a time and a memory limit, so a crash is one
// row of the table and no more: as the model is, and with the dims of all its
// inputs open. Prints a table per folder and per operator and every case that
// failed.
//
// Exit code 1 when a case crashed, or failed without being listed in the
// --known file (one name a line), or passed though listed.
//
//===----------------------------------------------------------------------===//

#include "conformance.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

// Of the processor; by the clock, a machine with other work may take longer.
enum { SECONDS = 60, CLOCK_SECONDS = 900, MAX_JOBS = 64 };
#define MEMORY_LIMIT ((rlim_t)8 << 30)

typedef struct job {
  size_t index; // of the case
  pid_t pid;
  int fd;
  double start;
} job;

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/// Names in a folder, sorted; none when it is not there.
static size_t names_in(fe_arena *arena, const char *path, char ***out) {
  fe_vec(char *) names = {0};
  DIR *dir = opendir(path);
  for (struct dirent *e; dir && (e = readdir(dir));)
    if (e->d_name[0] != '.')
      fe_push(arena, &names, fe_strdup(arena, e->d_name));
  if (dir)
    closedir(dir);
  if (names.n)
    qsort(names.at, names.n, sizeof *names.at, by_name);
  *out = names.at;
  return names.n;
}

static void find_cases(fe_arena *arena, const char *root, const char *folder,
                       const char *filter, case_list *out) {
  const char *path = fe_printf(arena, "%s/%s", root, folder);
  bool light = strcmp(folder, "light") == 0;
  char **names;
  size_t n = names_in(arena, path, &names);
  for (size_t i = 0; i < n; i++) {
    size_t length = strlen(names[i]);
    test_case c = {.folder = folder, .name = names[i], .light = light};
    if (light) {
      if (length < 5 || strcmp(names[i] + length - 5, ".onnx") != 0)
        continue;
      c.name = fe_strndup(arena, names[i], length - 5);
      c.model = fe_printf(arena, "%s/%s", path, names[i]);
      c.data = fe_printf(arena, "%s/%s_output_0.pb", path, c.name);
    } else {
      c.data = fe_printf(arena, "%s/%s", path, names[i]);
      c.model = fe_printf(arena, "%s/model.onnx", c.data);
      if (access(c.model, R_OK))
        continue;
    }
    if (!filter || strstr(c.name, filter))
      fe_push(arena, out, c);
  }
}

/// The child: runs the case and sends the result.
static _Noreturn void child(const test_case *c, int fd) {
#ifndef __SANITIZE_ADDRESS__ // which reserves terabytes
  setrlimit(RLIMIT_AS, &(struct rlimit){MEMORY_LIMIT, MEMORY_LIMIT});
#endif
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS, SECONDS + 1});
  alarm(CLOCK_SECONDS);
  fe_arena *arena = fe_arena_create(NULL);
  result r = {0};
  case_run(arena, c, &r);
  for (char *p = r.why; *p; p++)
    if (*p == '\n')
      *p = ' ';
  _exit(write(fd, &r, sizeof r) == sizeof r ? 0 : 1);
}

static void start(job *j, size_t index, const test_case *c) {
  int fds[2];
  fflush(NULL);
  if (pipe(fds)) {
    perror("pipe");
    exit(2);
  }
  *j = (job){.index = index, .fd = fds[0], .start = fe_now()};
  j->pid = fork();
  if (j->pid < 0) {
    perror("fork");
    exit(2);
  }
  if (j->pid == 0) {
    close(fds[0]);
    child(c, fds[1]);
  }
  close(fds[1]);
}

/// The pipe has a result or its end: the child is done or dead.
static void finish(job *j, result *r) {
  ssize_t n = read(j->fd, r, sizeof *r);
  int status = 0;
  close(j->fd);
  waitpid(j->pid, &status, 0);
  j->pid = 0;
  if (n == (ssize_t)sizeof *r)
    return;
  *r = (result){.outcome = CRASHED, .op = "(crashed)"};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    snprintf(r->why, sizeof r->why, "took longer than %d s", CLOCK_SECONDS);
  else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    snprintf(r->why, sizeof r->why, "took more than %d s of the processor",
             SECONDS);
  else if (WIFSIGNALED(status))
    snprintf(r->why, sizeof r->why, "%s", strsignal(WTERMSIG(status)));
  else
    snprintf(r->why, sizeof r->why, "exit code %d", WEXITSTATUS(status));
}

static void run_all(const case_list *cases, result *results, int jobs) {
  job running[MAX_JOBS] = {0};
  size_t next = 0, done = 0;
  bool terminal = isatty(STDERR_FILENO);
  while (done < cases->n) {
    struct pollfd fds[MAX_JOBS];
    for (int k = 0; k < jobs; k++) {
      if (!running[k].pid && next < cases->n) {
        start(&running[k], next, &cases->at[next]);
        next++;
      }
      fds[k] = (struct pollfd){.fd = running[k].pid ? running[k].fd : -1,
                               .events = POLLIN};
    }
    poll(fds, (nfds_t)jobs, -1);
    for (int k = 0; k < jobs; k++)
      if (fds[k].revents) {
        finish(&running[k], &results[running[k].index]);
        done++;
      }
    if (terminal)
      fprintf(stderr, "\r%zu of %zu", done, cases->n);
  }
  if (terminal)
    fputs("\r\033[K", stderr);
}

//===-- The command line --------------------------------------------------//

/// Names in a file, one a line; '#' starts a comment.
static void read_names(fe_arena *arena, const char *path, fe_map *out) {
  FILE *f = fopen(path, "r");
  char line[256];
  if (!f) {
    perror(path);
    exit(2);
  }
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, " #\n")] = 0;
    if (*line)
      fe_map_set(arena, out, line, out);
  }
  fclose(f);
}

/// All cases of a data folder, [LABEL=]PATH, in one mode.
static void find_all(fe_arena *arena, const char *data, const char *filter,
                     mode m, case_list *out) {
  static const char *const folders[] = {"node", "simple", "pytorch-converted",
                                        "pytorch-operator", "light"};
  const char *eq = strchr(data, '=');
  size_t first = out->n;
  for (size_t f = 0; f < FE_COUNT(folders); f++)
    find_cases(arena, eq ? eq + 1 : data, folders[f], filter, out);
  for (size_t i = first; i < out->n; i++) {
    test_case *c = &out->at[i];
    c->mode = m;
    if (eq)
      c->folder =
          fe_printf(arena, "%.*s/%s", (int)(eq - data), data, c->folder);
  }
}

static const char usage[] =
    "usage: conformance [option ...] [LABEL=]DATA ...\n"
    "  --static, --dynamic  only with the dims of the model, or only with all "
    "dims open\n"
    "  --filter TEXT        cases with this in their name\n"
    "  --every N            only one case of N\n"
    "  --known FILE         cases that may fail; --known-dynamic: those that "
    "may fail\n"
    "                       with open dims, too\n"
    "  --least N            fails when fewer cases pass, of each mode\n"
    "  --list FILE          writes a line per case\n"
    "  --jobs N             cases at a time\n"
    "  --verbose            shows those that were refused\n";

int main(int argc, char **argv) {
  const char *filter = NULL, *list_path = NULL;
  int jobs = 2, least = 0, every = 1;
  bool verbose = false, on[MODES] = {true, true};
  fe_arena *arena = fe_arena_create(NULL);
  fe_map known[MODES] = {0};
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    if (strcmp(argv[i], "--verbose") == 0)
      verbose = true;
    else if (strcmp(argv[i], "--static") == 0)
      on[DYNAMIC] = false;
    else if (strcmp(argv[i], "--dynamic") == 0)
      on[STATIC] = false;
    else if (i + 1 == argc)
      break;
    else if (strcmp(argv[i], "--jobs") == 0)
      jobs = atoi(argv[++i]);
    else if (strcmp(argv[i], "--least") == 0)
      least = atoi(argv[++i]);
    else if (strcmp(argv[i], "--filter") == 0)
      filter = argv[++i];
    else if (strcmp(argv[i], "--every") == 0)
      every = atoi(argv[++i]);
    else if (strcmp(argv[i], "--known") == 0) {
      read_names(arena, argv[++i], &known[STATIC]);
      read_names(arena, argv[i], &known[DYNAMIC]);
    } else if (strcmp(argv[i], "--known-dynamic") == 0)
      read_names(arena, argv[++i], &known[DYNAMIC]);
    else if (strcmp(argv[i], "--list") == 0)
      list_path = argv[++i];
    else
      break;
  }
  if (i >= argc || argv[i][0] == '-' || jobs < 1 || jobs > MAX_JOBS) {
    fputs(usage, stderr);
    return 2;
  }
  case_list cases = {0};
  for (int m = 0; m < MODES; m++)
    for (int k = i; on[m] && k < argc; k++)
      find_all(arena, argv[k], filter, (mode)m, &cases);
  if (every > 1) {
    size_t n = 0;
    for (size_t k = 0; k < cases.n; k += (size_t)every)
      cases.at[n++] = cases.at[k];
    cases.n = n;
  }
  if (!cases.n) {
    fprintf(stderr, "%s: no cases\n", argv[i]);
    return 2;
  }
  result *results = FE_NEW_N(arena, result, cases.n);
  double begin = fe_now();
  run_all(&cases, results, jobs);
  double seconds = fe_now() - begin;
  if (list_path)
    report_list(list_path, &cases, results);
  int bad = report(arena, &cases, results, known, verbose);
  int passed[MODES] = {0};
  for (size_t k = 0; k < cases.n; k++)
    passed[cases.at[k].mode] += results[k].outcome == PASSED;
  for (int m = 0; m < MODES; m++)
    if (on[m] && passed[m] < least) {
      printf("only %d cases pass (%s); it were %d\n", passed[m], mode_names[m],
             least);
      bad++;
    }
  struct rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  printf("%zu cases in %.1f s, %ld s of the processor\n", cases.n, seconds,
         (long)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec));
  fe_arena_destroy(arena);
  return bad ? 1 : 0;
}
