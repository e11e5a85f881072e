//===- link.c - artifacts from objects ---------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The units' objects are given to LLVM's linker in unnamed files in memory; it
// writes a temporary file beside the artifact, which gets the weights and is
// then renamed. Whatever goes wrong, nothing is left behind.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "emit/parts.h"
#include "ferrule_config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/// One run of the linker.
typedef struct linking {
  fe_diags *diags;
  const fe_emit_options *options;
  const fe_model_info *info;
  fe_vec(const char *) args;
  fe_vec(int) files; // to be passed on
} linking;

static void add_arg(linking *l, const char *arg) {
  fe_push(l->diags->arena, &l->args, arg);
}

static fe_status io_error(linking *l, const char *path, const char *what) {
  return fe_file_error(l->diags, path, what, errno);
}

/// A file in memory, whose number is none that a standard stream has in the
/// linker, even where this process has closed its own.
static int memory_file(const char *name) {
  int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0 || fd > 2)
    return fd;
  int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  close(fd);
  return higher;
}

/// A file in memory as an input of the linker.
static fe_status add_input(linking *l, const void *data, size_t size) {
  int fd = memory_file("unit");
  if (fd < 0)
    return io_error(l, l->options->path, "make a file in memory");
  fe_push(l->diags->arena, &l->files, fd);
  for (const char *p = data; size;) {
    ssize_t n = write(fd, p, size);
    if (n < 0)
      return io_error(l, l->options->path, "write a file in memory");
    p += n;
    size -= (size_t)n;
  }
  add_arg(l, fe_printf(l->diags->arena, "/proc/self/fd/%d", fd));
  return FE_OK;
}

static const char *find_linker(fe_arena *arena) {
  static const char configured[] = FERRULE_LLVM_BIN "/ld.lld";
  if (!access(configured, X_OK))
    return configured;
  const char *path = getenv("PATH");
  for (const char *p = path ? path : "", *end; *p; p = *end ? end + 1 : end) {
    end = strchrnul(p, ':');
    const char *file = fe_printf(arena, "%.*s/ld.lld-22", (int)(end - p), p);
    if (!access(file, X_OK))
      return file;
  }
  return NULL;
}

/// What the linker said, from the file that was its standard error. That there
/// is no room for its output is not its fault, nor ours.
static fe_status report_failure(linking *l, int fd) {
  static const int theirs[] = {ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, EIO};
  char text[2000];
  ssize_t n = pread(fd, text, sizeof text - 1, 0);
  text[n > 0 ? n : 0] = 0;
  for (size_t i = 0; i < FE_COUNT(theirs); i++)
    if (strstr(text, strerror(theirs[i])))
      return fe_file_error(l->diags, l->options->path, "write the file",
                           theirs[i]);
  fe_report(l->diags, FE_SEV_INTERNAL, (fe_where){.file = l->options->path},
            NULL, "the linker failed: %s", text);
  return FE_FAILED;
}

static fe_status run_linker(linking *l) {
  const char *linker = find_linker(l->diags->arena);
  if (!linker)
    return fe_error(l->diags, (fe_where){.file = l->options->path},
                    "install the package lld-22", "there is no ld.lld-22");
  add_arg(l, NULL);
  l->args.at[0] = linker;
  int messages = memory_file("messages");
  if (messages < 0)
    return io_error(l, l->options->path, "make a file in memory");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, messages, 2);
  // Onto itself: clears the close-on-exec flag, in the child only.
  for (size_t i = 0; i < l->files.n; i++)
    posix_spawn_file_actions_adddup2(&actions, l->files.at[i], l->files.at[i]);
  int end;
  int error = fe_program_run(&end, linker, &actions, (char *const *)l->args.at);
  posix_spawn_file_actions_destroy(&actions);
  fe_status status = FE_OK;
  if (error) {
    errno = error;
    status = io_error(l, linker, "run the linker");
  } else {
    if (!WIFEXITED(end) || WEXITSTATUS(end))
      status = report_failure(l, messages);
  }
  close(messages);
  return status;
}

static void end_linking(linking *l) {
  for (size_t i = 0; i < l->files.n; i++)
    close(l->files.at[i]);
}

//===-- Temporary files -----------------------------------------------------//

/// A name beside `path` that nobody else has; NULL: reported.
static char *temporary(fe_diags *diags, const char *path) {
  int fd;
  char *name = fe_temporary(path, &fd);
  if (!name) {
    fe_file_error(diags, path, "create the file", errno);
    return NULL;
  }
  // Only the name is wanted: whoever writes gives the usual permissions.
  close(fd);
  unlink(name);
  return name;
}

fe_status fe_link_possible(fe_diags *diags, const fe_emit_options *options) {
  struct stat st;
  if (!stat(options->path, &st) && S_ISDIR(st.st_mode))
    return fe_file_error(diags, options->path, "write the file", EISDIR);
  char *name = temporary(diags, options->path);
  if (!name)
    return FE_FAILED;
  fe_temporary_settle(name, NULL);
  return FE_OK;
}

static uint16_t elf_machine(const fe_target *target) {
  return !strncmp(target->triple, "aarch64", 7) ? EM_AARCH64 : EM_X86_64;
}

static linking begin(fe_diags *diags, const fe_emit_options *options,
                     const fe_model_info *info) {
  linking l = {.diags = diags, .options = options, .info = info};
  add_arg(&l, "");
  return l;
}

/// Of weights beside the model: "m.so" -> "m.weights.so", "m.s" ->
/// "m.weights.o".
static char *weights_path(fe_arena *arena, const fe_emit_options *options) {
  const char *path = options->path, *dot = strrchr(path, '.');
  return fe_printf(arena, "%.*s.weights%s", (int)(dot - path), path,
                   options->artifact == FE_ARTIFACT_SO ? ".so" : ".o");
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

//===-- The kinds -----------------------------------------------------------//

static fe_status add_units(linking *l, unsigned n, const fe_unit *units) {
  unsigned natives = 0;
  for (unsigned i = 0; i < n; i++) {
    natives |= units[i].natives;
    if (add_input(l, LLVMGetBufferStart(units[i].object),
                  LLVMGetBufferSize(units[i].object)) == FE_FAILED)
      return FE_FAILED;
  }
  for (unsigned i = 0; natives >> i; i++) {
    fe_bytes object = fe_native_object(i);
    if ((natives >> i & 1) &&
        add_input(l, object.data, object.size) == FE_FAILED)
      return FE_FAILED;
  }
  return FE_OK;
}

static fe_status add_weights(linking *l, bool hidden, bool shared) {
  if (!l->info->weight_bytes)
    return FE_OK;
  fe_bytes object = fe_weights_object(l->diags->arena, l->info, hidden, shared,
                                      elf_machine(l->options->target));
  return add_input(l, object.data, object.size);
}

enum { LOCALIZE = 1, FILL = 2, SEAL = 4 };

/// Runs the linker, then works on its output in `temp`.
static fe_status link_and(linking *l, const char *temp, unsigned then) {
  const char *path = l->options->path;
  if (run_linker(l) == FE_FAILED)
    return FE_FAILED;
  int fd = open(temp, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return io_error(l, path, "open the linker's output");
  fe_status status = FE_OK;
  if (then & LOCALIZE)
    status = fe_object_localize(l->diags, fd, path, l->info->prefix);
  if (status == FE_OK && (then & FILL))
    status = fe_weights_fill(l->diags, fd, path, 0, l->info);
  int error = status == FE_OK && (then & SEAL) ? fe_seal_add(fd) : 0;
  if (error)
    status = fe_file_error(l->diags, path, "write the file", error);
  if (close(fd) && status == FE_OK)
    status = io_error(l, path, "write the file");
  return status;
}

/// The C library's files, where the system for this target keeps them.
static void add_libraries(linking *l) {
  bool arm = elf_machine(l->options->target) == EM_AARCH64;
  static const char *const x86_dirs[] = {"/lib/x86_64-linux-gnu", "/lib64",
                                         "/usr/lib64", "/usr/lib", NULL};
  static const char *const arm_dirs[] = {"/lib/aarch64-linux-gnu",
                                         "/usr/aarch64-linux-gnu/lib", NULL};
  // The loader, part of the C library, has what thread-local variables need.
  static const char *const libraries[] = {"libm.so.6", "libc.so.6"};
  const char *loader = arm ? "ld-linux-aarch64.so.1" : "ld-linux-x86-64.so.2";
  for (const char *const *dir = arm ? arm_dirs : x86_dirs; *dir; dir++) {
    const char *m = fe_printf(l->diags->arena, "%s/%s", *dir, libraries[0]);
    const char *c = fe_printf(l->diags->arena, "%s/%s", *dir, libraries[1]);
    if (access(m, R_OK) || access(c, R_OK))
      continue;
    add_arg(l, "--as-needed");
    add_arg(l, m);
    add_arg(l, c);
    const char *ld = fe_printf(l->diags->arena, "%s/%s", *dir, loader);
    if (!access(ld, R_OK))
      add_arg(l, ld);
    add_arg(l, "-zdefs"); // whatever is left is our mistake
    return;
  }
}

/// Common to the model and its weights.
static void add_shared(linking *l, const char *temp, const char *path) {
  static const char *const args[] = {
      "-shared", "--gc-sections", "--build-id=sha1", "--hash-style=gnu",
      "-znow",   "-znoexecstack", "--threads=1",     "-soname"};
  for (size_t i = 0; i < FE_COUNT(args); i++)
    add_arg(l, args[i]);
  add_arg(l, base_name(path));
  add_arg(l, "-o");
  add_arg(l, temp);
}

static fe_status link_weights(fe_diags *diags, const fe_emit_options *options,
                              const fe_model_info *info, const char *temp) {
  bool shared = options->artifact == FE_ARTIFACT_SO;
  linking l = begin(diags, options, info);
  if (shared) {
    add_shared(&l, temp, weights_path(diags->arena, options));
  } else {
    add_arg(&l, "-r");
    add_arg(&l, "-o");
    add_arg(&l, temp);
  }
  fe_status status = add_weights(&l, !shared, shared);
  if (status == FE_OK)
    status = link_and(&l, temp, shared ? FILL | SEAL : FILL);
  end_linking(&l);
  return status;
}

static fe_status link_shared(linking *l, const char *temp, const char *weights,
                             unsigned n, const fe_unit *units) {
  add_shared(l, temp, l->options->path);
  if (add_units(l, n, units) == FE_FAILED)
    return FE_FAILED;
  if (weights) {
    add_arg(l, "-rpath");
    add_arg(l, "$ORIGIN");
    add_arg(l, weights);
  } else if (add_weights(l, true, true) == FE_FAILED) {
    return FE_FAILED;
  }
  add_libraries(l);
  return link_and(l, temp, FILL | SEAL);
}

static fe_status link_object(linking *l, const char *temp, unsigned then,
                             unsigned n, const fe_unit *units) {
  add_arg(l, "-r");
  add_arg(l, "--threads=1");
  add_arg(l, "-o");
  add_arg(l, temp);
  if (add_units(l, n, units) == FE_FAILED ||
      (!l->options->weights_beside && add_weights(l, true, false) == FE_FAILED))
    return FE_FAILED;
  return link_and(l, temp, then);
}

static fe_status link_archive(linking *l, const char *temp, unsigned n,
                              const fe_unit *units) {
  fe_arena *arena = l->diags->arena;
  char *member = temporary(l->diags, l->options->path);
  if (!member)
    return FE_FAILED;
  fe_status status = link_object(l, member, LOCALIZE, n, units);
  if (status == FE_OK) {
    const char *symbols[] = {fe_printf(arena, "%s_model", l->info->prefix),
                             "ferrule_model_symbols", "ferrule_model_run",
                             "ferrule_model_message"};
    int from = open(member, O_RDONLY | O_CLOEXEC);
    int to = open(temp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    status =
        from < 0 || to < 0
            ? io_error(l, l->options->path, "write the file")
            : fe_archive_write(l->diags, to, l->options->path, from, "model.o/",
                               symbols, FE_COUNT(symbols), l->info);
    if (from >= 0)
      close(from);
    if (to >= 0 && close(to) && status == FE_OK)
      status = io_error(l, l->options->path, "write the file");
  }
  fe_temporary_settle(member, NULL);
  return status;
}

/// `weights`: where those beside are for now; NULL: there are none.
static fe_status link_model(fe_diags *diags, const fe_emit_options *options,
                            const fe_model_info *info, const char *temp,
                            const char *weights, unsigned n,
                            const fe_unit *units) {
  linking l = begin(diags, options, info);
  fe_status status = options->artifact == FE_ARTIFACT_SO
                         ? link_shared(&l, temp, weights, n, units)
                     : options->artifact == FE_ARTIFACT_OBJECT
                         ? link_object(&l, temp, LOCALIZE | FILL, n, units)
                         : link_archive(&l, temp, n, units);
  end_linking(&l);
  return status;
}

/// Text is written at `temp`; messages name `path`.
static fe_status write_text(fe_diags *diags, const char *temp, const char *path,
                            const fe_unit *unit) {
  fe_output o;
  int error = fe_output_open(&o, temp);
  if (!error)
    error = fe_output_close(
        &o, fe_output_write(&o, LLVMGetBufferStart(unit->object),
                            LLVMGetBufferSize(unit->object)));
  return error ? fe_file_error(diags, path, "write the file", error) : FE_OK;
}

fe_status fe_link(fe_diags *diags, const fe_emit_options *options,
                  const fe_model_info *info, unsigned n, const fe_unit *units) {
  bool text = options->artifact == FE_ARTIFACT_LLVM ||
              options->artifact == FE_ARTIFACT_ASM;
  bool apart = (text || options->weights_beside) && info->weight_bytes;
  const char *path = options->path, *beside = NULL;
  char *temp = temporary(diags, path), *weights = NULL;
  fe_status status = temp ? FE_OK : FE_FAILED;
  if (status == FE_OK && apart) {
    beside = weights_path(diags->arena, options);
    weights = temporary(diags, beside);
    status = weights ? link_weights(diags, options, info, weights) : FE_FAILED;
  }
  if (status == FE_OK)
    status = text ? write_text(diags, temp, path, &units[0])
                  : link_model(diags, options, info, temp, weights, n, units);
  if (!temp)
    return FE_FAILED;
  // The model and its weights belong together.
  bool done = status == FE_OK;
  int error = fe_temporary_settle_pair(temp, done ? path : NULL, weights,
                                       done ? beside : NULL);
  return error ? fe_file_error(diags, path, "write the file", error) : status;
}
