//===- base.h - memory, strings, diagnostics, files -------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that has nothing to do with neural networks or MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef FE_BASE_H
#define FE_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FE_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define FE_NODISCARD __attribute__((warn_unused_result))
#define FE_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/// FE_FAILED always means that a diagnostic has been given.
typedef enum fe_status { FE_OK = 0, FE_FAILED = 1 } fe_status;

/// A float at any address: constants lie in the model's file unaligned.
typedef float fe_float_at __attribute__((aligned(1)));

//===-- Arena ---------------------------------------------------------------//

/// Bump allocator; everything of one compile session lives in one. Memory is
/// zeroed. When the system has no memory left, control goes to the `oom` jump
/// buffer (set by the public API), so callers never see NULL; with a NULL `oom`
/// (tests, tools) it waits for memory.
typedef struct fe_arena fe_arena;
fe_arena *fe_arena_create(jmp_buf *oom);
void fe_arena_destroy(fe_arena *arena);
/// Frees a large object early, when it has memory of its own; nothing may refer
/// to any part of it. Otherwise it stays.
void fe_arena_give_back(fe_arena *arena, const void *p, size_t size);
void *fe_alloc(fe_arena *arena, size_t size);
void *fe_memdup(fe_arena *arena, const void *data, size_t size);
char *fe_strdup(fe_arena *arena, const char *s);
char *fe_strndup(fe_arena *arena, const char *s, size_t n);
char *fe_printf(fe_arena *arena, const char *fmt, ...) FE_PRINTF(2, 3);
#define FE_NEW(arena, T) ((T *)fe_alloc((arena), sizeof(T)))
#define FE_NEW_N(arena, T, n) ((T *)fe_alloc((arena), (n) * sizeof(T)))

/// Growable array in an arena: `fe_vec(int) v = {0}; fe_push(arena, &v, 3);`.
#define fe_vec(T)                                                              \
  struct {                                                                     \
    T *at;                                                                     \
    size_t n, cap;                                                             \
  }
void *fe_vec_grow(fe_arena *arena, void *at, size_t *cap, size_t size);
#define fe_push(arena, v, x)                                                   \
  ((v)->n == (v)->cap                                                          \
       ? (void)((v)->at = fe_vec_grow((arena), (v)->at, &(v)->cap,             \
                                      sizeof(*(v)->at)))                       \
       : (void)0,                                                              \
   (v)->at[(v)->n++] = (x))

//===-- Maps ----------------------------------------------------------------//

/// Hash map from a byte string or a pointer to a pointer; insertion order is
/// kept for iteration (determinism). Zero-initialised is empty.
typedef struct fe_map_entry {
  const void *key;
  size_t key_size; // 0: the key is the pointer itself
  void *value;
} fe_map_entry;
typedef struct fe_map {
  fe_map_entry *entries;
  size_t n, cap;
  uint32_t *slots;
  size_t n_slots;
} fe_map;
void *fe_map_get(const fe_map *m, const char *key); // NULL when absent
void fe_map_set(fe_arena *arena, fe_map *m, const char *key, void *value);
/// Keys of n > 0 bytes, which are not mixed with text in one map.
void *fe_map_get_bytes(const fe_map *m, const void *key, size_t n);
void fe_map_set_bytes(fe_arena *arena, fe_map *m, const void *key, size_t n,
                      void *value);
void *fe_map_get_ptr(const fe_map *m, const void *key);
void fe_map_set_ptr(fe_arena *arena, fe_map *m, const void *key, void *value);
uint64_t fe_hash(const void *data, size_t n, uint64_t seed);

//===-- Text buffer ---------------------------------------------------------//

typedef struct fe_buf {
  char *at; // NUL-terminated once anything was added
  size_t n, cap;
} fe_buf;
void fe_buf_add(fe_arena *arena, fe_buf *b, const char *s, size_t n);
void fe_buf_printf(fe_arena *arena, fe_buf *b, const char *fmt, ...)
    FE_PRINTF(3, 4);
void fe_buf_vprintf(fe_arena *arena, fe_buf *b, const char *fmt, va_list args)
    FE_PRINTF(3, 0);

//===-- Diagnostics ---------------------------------------------------------//

typedef enum fe_severity {
  FE_SEV_NOTE,
  FE_SEV_WARNING,
  FE_SEV_ERROR,   // the model or the request is at fault
  FE_SEV_INTERNAL // Ferrule is at fault
} fe_severity;

/// Where a message points to. Any member may be NULL.
typedef struct fe_where {
  const char *file; // default: the sink's file
  const char *node; // the model's own name of the node
  const char *op;   // operator, in the standard's spelling
  const char *attr; // attribute, input or field
} fe_where;

typedef struct fe_diag {
  fe_severity severity;
  fe_where where;
  const char *message;
  const char *hint; // the next step, or NULL
} fe_diag;

typedef void (*fe_diag_fn)(void *user, const fe_diag *diag);

/// The one sink of a session. Every problem goes through it; passes go on
/// after an error where they can, so that all problems are listed at once.
typedef struct fe_diags {
  fe_arena *arena;
  fe_diag_fn fn;
  void *user;
  const char *file;
  unsigned errors;   // ERROR and INTERNAL so far
  unsigned internal; // INTERNAL so far
} fe_diags;
void fe_report(fe_diags *d, fe_severity severity, fe_where where,
               const char *hint, const char *fmt, ...) FE_PRINTF(5, 6);
/// `return fe_error(d, where, hint, fmt, ...)` reports and gives FE_FAILED.
fe_status fe_error(fe_diags *d, fe_where where, const char *hint,
                   const char *fmt, ...) FE_PRINTF(4, 5);

//===-- Files ---------------------------------------------------------------//

typedef struct fe_file {
  const uint8_t *data;
  size_t size;
  bool mapped;
} fe_file;
/// Maps a file read-only; reports and fails when it cannot be read.
FE_NODISCARD fe_status fe_file_map(fe_diags *d, const char *path, fe_file *out);
void fe_file_unmap(fe_file *f);
/// Writes to a temporary beside `path`, then renames: nothing half-written.
FE_NODISCARD fe_status fe_file_write(fe_diags *d, const char *path,
                                     const void *data, size_t size);
/// Reports "cannot <what>: <error>", with a next step; gives FE_FAILED.
fe_status fe_file_error(fe_diags *d, const char *path, const char *what,
                        int error);

/// Opens a regular file, and nothing that could make this wait or has no end.
/// NULL, or what is wrong.
FE_NODISCARD const char *fe_regular_open(const char *path, int *fd,
                                         uint64_t *size);

/// Adds a hash of the file's bytes behind them, FE_SEAL_SIZE bytes. 0, or an
/// errno.
enum { FE_SEAL_SIZE = 16 };
FE_NODISCARD int fe_seal_add(int fd);
typedef enum fe_seal { FE_SEAL_NONE, FE_SEAL_WHOLE, FE_SEAL_BROKEN } fe_seal;
/// Whether a file still has what it was sealed with.
fe_seal fe_seal_of(const void *data, size_t size);

/// Both are there, and the same.
bool fe_same_file(const char *a, const char *b);

/// A file that is written piece by piece, and is there when it is whole. A path
/// to what is no regular file is written to directly.
typedef struct fe_output {
  const char *path;
  char *temp; // NULL: written to directly
  int fd, mode;
} fe_output;
/// These give 0, or what errno says. What is open must be closed; `error`
/// other than 0: as nothing that was ever there.
FE_NODISCARD int fe_output_open(fe_output *o, const char *path);
FE_NODISCARD int fe_output_write(const fe_output *o, const void *data,
                                 size_t size);
FE_NODISCARD int fe_output_close(fe_output *o, int error);

/// A new file beside `path`, open in *fd: its name, to be settled. NULL: see
/// errno.
char *fe_temporary(const char *path, int *fd);
/// Renames it to `path` (NULL: removes it), and frees the name. 0, or what
/// errno says: then it is removed.
int fe_temporary_settle(char *name, const char *path);
/// Both or none; `b` first (NULL: there is none). What one was is gone when the
/// other cannot be written.
int fe_temporary_settle_pair(char *a, const char *path_a, char *b,
                             const char *path_b);
/// Runs a program that writes such a file, and that no signal disturbs (a file
/// that gets too large is an error for it), to its end; `actions` is a
/// posix_spawn_file_actions_t. 0 with its status as of waitpid, or an errno.
FE_NODISCARD int fe_program_run(int *status, const char *path,
                                const void *actions, char *const *args);
/// For handlers of signals that end the process: waits for those programs, and
/// removes all temporary files.
void fe_output_abandon(void);

double fe_now(void); // monotonic seconds

#endif
