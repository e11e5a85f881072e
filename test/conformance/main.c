//===- main.c - all official cases, each in a process of its own --*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: conformance [--jobs N] [--filter TEXT] [--known FILE] [--list FILE]
//                    [--verbose] DATA
//
// DATA holds node/, simple/, light/, ... of the official backend test data.
// Every case runs in a child with a time and a memory limit, so a crash is one
// row of the table and no more. Prints a table per folder and per operator and
// every case that failed. --list writes one line per case.
//
// Exit code 1 when a case crashed, or failed without being listed in the
// --known file (one name a line), or passed though listed.
//
//===----------------------------------------------------------------------===//
#define _DEFAULT_SOURCE
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

enum { SECONDS = 60, MAX_JOBS = 64, TEXT = 512 };
#define MEMORY_LIMIT ((rlim_t)8 << 30)
static const char *const outcome_names[OUTCOMES] = {"passed", "refused",
                                                    "failed", "crashed"};

typedef struct result {
  outcome outcome;
  char op[64];
  char why[TEXT];
} result;

typedef struct job {
  size_t index; // of the case
  pid_t pid;
  int fd;
  double start;
} job;

typedef fe_vec(test_case) case_list;

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
  alarm(SECONDS);
  fe_arena *arena = fe_arena_create(NULL);
  const char *op = "", *why = NULL;
  result r = {.outcome = case_run(arena, c, &op, &why)};
  snprintf(r.op, sizeof r.op, "%s", op);
  snprintf(r.why, sizeof r.why, "%s", why ? why : "");
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
    snprintf(r->why, TEXT, "took longer than %d s", SECONDS);
  else if (WIFSIGNALED(status))
    snprintf(r->why, TEXT, "%s", strsignal(WTERMSIG(status)));
  else
    snprintf(r->why, TEXT, "exit code %d", WEXITSTATUS(status));
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

//===-- Tables --------------------------------------------------------------//

typedef struct row {
  const char *name;
  unsigned n[OUTCOMES];
} row;

static int by_row_name(const void *a, const void *b) {
  return strcmp((*(row *const *)a)->name, (*(row *const *)b)->name);
}

static void count(fe_arena *arena, fe_map *rows, const char *key, outcome o) {
  row *r = fe_map_get(rows, key);
  if (!r) {
    r = FE_NEW(arena, row);
    r->name = fe_strdup(arena, key);
    fe_map_set(arena, rows, key, r);
  }
  r->n[o]++;
}

static void print_table(fe_arena *arena, const char *title, const fe_map *rows,
                        bool sorted) {
  row **all = FE_NEW_N(arena, row *, rows->n);
  row total = {.name = "total"};
  for (size_t i = 0; i < rows->n; i++) {
    all[i] = rows->entries[i].value;
    for (int o = 0; o < OUTCOMES; o++)
      total.n[o] += all[i]->n[o];
  }
  if (sorted)
    qsort(all, rows->n, sizeof *all, by_row_name);
  printf("\n%-28s", title);
  for (int o = 0; o < OUTCOMES; o++)
    printf("%9s", outcome_names[o]);
  putchar('\n');
  for (size_t i = 0; i <= rows->n; i++) {
    const row *r = i < rows->n ? all[i] : &total;
    printf("%-28s", r->name);
    for (int o = 0; o < OUTCOMES; o++)
      printf("%9u", r->n[o]);
    putchar('\n');
  }
}

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

static void write_list(const char *path, const case_list *cases,
                       const result *results) {
  FILE *f = fopen(path, "w");
  if (!f) {
    perror(path);
    exit(2);
  }
  for (size_t i = 0; i < cases->n; i++)
    fprintf(f, "%s\t%s\t%s\t%s\t%s\n", outcome_names[results[i].outcome],
            cases->at[i].folder, cases->at[i].name, results[i].op,
            results[i].why);
  fclose(f);
}

static int report(fe_arena *arena, const case_list *cases,
                  const result *results, const fe_map *known, bool verbose) {
  fe_map folders = {0}, ops = {0};
  int bad = 0;
  for (size_t i = 0; i < cases->n; i++) {
    const test_case *c = &cases->at[i];
    const result *r = &results[i];
    count(arena, &folders, c->folder, r->outcome);
    count(arena, &ops, r->op, r->outcome);
    bool listed = fe_map_get(known, c->name);
    const char *note = "";
    if (r->outcome == CRASHED || (r->outcome == FAILED && !listed))
      bad++;
    else if (r->outcome == FAILED)
      note = " (known)";
    else if (listed && r->outcome == PASSED) {
      printf("%s passes: take it off the list\n", c->name);
      bad++;
    }
    if (r->outcome >= FAILED || (verbose && r->outcome == REFUSED))
      printf("%s%s: %s/%s: %s\n", outcome_names[r->outcome], note, c->folder,
             c->name, r->why);
  }
  print_table(arena, "operator", &ops, true);
  print_table(arena, "folder", &folders, false);
  return bad;
}

int main(int argc, char **argv) {
  static const char *const folders[] = {"node", "simple", "pytorch-converted",
                                        "pytorch-operator", "light"};
  const char *filter = NULL, *known_path = NULL, *list_path = NULL;
  int jobs = 2, least = 0;
  bool verbose = false;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; i++) {
    if (strcmp(argv[i], "--verbose") == 0)
      verbose = true;
    else if (i + 1 == argc)
      break;
    else if (strcmp(argv[i], "--jobs") == 0)
      jobs = atoi(argv[++i]);
    else if (strcmp(argv[i], "--least") == 0)
      least = atoi(argv[++i]);
    else if (strcmp(argv[i], "--filter") == 0)
      filter = argv[++i];
    else if (strcmp(argv[i], "--known") == 0)
      known_path = argv[++i];
    else if (strcmp(argv[i], "--list") == 0)
      list_path = argv[++i];
    else
      break;
  }
  if (i + 1 != argc || jobs < 1 || jobs > MAX_JOBS) {
    fprintf(stderr, "usage: conformance [--jobs N] [--filter TEXT] "
                    "[--known FILE] [--list FILE] [--least N] "
                    "[--verbose] DATA\n"
                    "--least: fails when fewer cases pass\n");
    return 2;
  }
  fe_arena *arena = fe_arena_create(NULL);
  fe_map known = {0};
  case_list cases = {0};
  if (known_path)
    read_names(arena, known_path, &known);
  for (size_t f = 0; f < FE_COUNT(folders); f++)
    find_cases(arena, argv[i], folders[f], filter, &cases);
  if (!cases.n) {
    fprintf(stderr, "%s: no cases\n", argv[i]);
    return 2;
  }
  result *results = FE_NEW_N(arena, result, cases.n);
  double begin = fe_now();
  run_all(&cases, results, jobs);
  double seconds = fe_now() - begin;
  if (list_path)
    write_list(list_path, &cases, results);
  int bad = report(arena, &cases, results, &known, verbose);
  int passed = 0;
  for (size_t k = 0; k < cases.n; k++)
    passed += results[k].outcome == PASSED;
  if (passed < least) {
    printf("only %d cases pass; it were %d\n", passed, least);
    bad++;
  }
  printf("\n%zu cases in %.1f s\n", cases.n, seconds);
  fe_arena_destroy(arena);
  return bad ? 1 : 0;
}
