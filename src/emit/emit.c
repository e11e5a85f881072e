//===- emit.c - from a planned module to artifacts ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits the module into units of some kernels and one for main, and lets
// threads take them, each thread with an MLIR context of its own (units travel
// as bytecode) and a large stack, as LLVM recurses. The split does not depend
// on the number of threads, so the artifact does not either. Messages of the
// threads are kept apart and given in the order of the units.
//
//===----------------------------------------------------------------------===//
#include "emit/parts.h"

#include <limits.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Large units share the fixed cost of a module, small ones share the work
// among threads. Measured in operations of a unit's kernels.
#define UNIT_OPS 1500
#define UNIT_KERNELS 50
#define MAX_THREADS 64
#define STACK_BYTES ((size_t)64 << 20)

bool fe_artifact_of(const char *path, fe_artifact *out) {
  static const struct {
    const char *end;
    fe_artifact artifact;
  } ends[] = {{".so", FE_ARTIFACT_SO},
              {".o", FE_ARTIFACT_OBJECT},
              {".a", FE_ARTIFACT_ARCHIVE},
              {".ll", FE_ARTIFACT_LLVM},
              {".s", FE_ARTIFACT_ASM}};
  size_t n = strlen(path);
  for (size_t i = 0; i < FE_COUNT(ends); i++) {
    size_t m = strlen(ends[i].end);
    if (n > m && !strcmp(path + n - m, ends[i].end)) {
      *out = ends[i].artifact;
      return true;
    }
  }
  return false;
}

//===-- Splitting
//----------------------------------------------------------===//

static void count_op(MlirOperation op, void *user) {
  (void)op;
  ++*(unsigned *)user;
}

static unsigned count_ops(MlirOperation func) {
  unsigned n = 0;
  fe_walk(fe_func_block(func), count_op, &n);
  return n;
}

/// Where the units of a level go.
typedef struct splitting {
  fe_ir *ir;
  fe_emission *to;
  const fe_unit_job *job;
} splitting;

static void add_unit(const splitting *s, unsigned kinds, MlirModule module) {
  fe_ir *ir = s->ir;
  fe_printed b = {.arena = ir->arena};
  mlirOperationWriteBytecode(mlirModuleGetOperation(module), fe_printed_add,
                             &b);
  fe_unit unit = {.job = s->job,
                  .kinds = kinds,
                  .bytecode = b.buf.at,
                  .bytecode_size = b.buf.n};
  fe_push(ir->arena, &s->to->units, unit);
}

/// Attributes of earlier phases mean nothing from here on, and their dialects
/// are not loaded in the threads' contexts.
static void drop_attributes(MlirOperation op) {
  for (intptr_t i = mlirOperationGetNumDiscardableAttributes(op); i-- > 0;) {
    MlirStringRef name =
        mlirIdentifierStr(mlirOperationGetDiscardableAttribute(op, i).name);
    bool kernel = name.length == strlen("krnl.kernel") &&
                  !memcmp(name.data, "krnl.kernel", name.length);
    if (memchr(name.data, '.', name.length) && !kernel)
      mlirOperationRemoveDiscardableAttributeByName(op, name);
  }
}

static void split(const splitting *s, MlirModule module, bool whole) {
  fe_ir *ir = s->ir;
  MlirBlock body = mlirModuleGetBody(module);
  MlirModule part = {NULL};
  unsigned kernels = 0, ops = 0;
  drop_attributes(mlirModuleGetOperation(module));
  MlirOperation op = mlirBlockGetFirstOperation(body);
  for (MlirOperation next; !mlirOperationIsNull(op); op = next) {
    next = mlirOperationGetNextInBlock(op);
    drop_attributes(op);
    if (mlirOperationIsNull(op) || !fe_op_is(op, "func.func"))
      continue;
    mlirOperationRemoveAttributeByName(op, fe_str("arg_attrs"));
    mlirOperationRemoveAttributeByName(op, fe_str("res_attrs"));
    if (whole || !fe_has_attr(op, "krnl.kernel"))
      continue;
    if (mlirModuleIsNull(part))
      part = mlirModuleCreateEmpty(ir->loc);
    ops += count_ops(op);
    mlirOperationRemoveFromParent(op);
    mlirBlockAppendOwnedOperation(mlirModuleGetBody(part), op);
    if (++kernels < UNIT_KERNELS && ops < UNIT_OPS)
      continue;
    add_unit(s, FE_UNIT_KERNELS, part);
    mlirModuleDestroy(part);
    part = (MlirModule){NULL};
    kernels = ops = 0;
  }
  if (!mlirModuleIsNull(part)) {
    add_unit(s, FE_UNIT_KERNELS, part);
    mlirModuleDestroy(part);
  }
  add_unit(s, whole ? FE_UNIT_MAIN | FE_UNIT_KERNELS : FE_UNIT_MAIN, module);
}

//===-- Threads
//------------------------------------------------------------===//

typedef struct report {
  fe_severity severity;
  fe_where where;
  const char *message, *hint;
} report;

typedef struct crew {
  fe_unit *units;
  unsigned n;
  atomic_uint next;
} crew;

typedef struct hand {
  crew *crew;
  pthread_t thread;
  bool started;
  fe_arena *arena; // outlives the thread: the reports lie in it
  fe_vec(report) reports;
  atomic_bool failed;
} hand;

static void keep_report(void *user, const fe_diag *d) {
  hand *h = user;
  // What the strings lie in is this thread's arena or constant.
  report r = {d->severity, d->where, fe_strdup(h->arena, d->message), d->hint};
  fe_push(h->arena, &h->reports, r);
}

static void work(hand *h) {
  crew *c = h->crew;
  fe_diags diags = {.arena = h->arena, .fn = keep_report, .user = h};
  MlirContext ctx = fe_context_create(&diags, NULL, 0);
  mlirContextSetAllowUnregisteredDialects(ctx, true);
  fe_blobs blobs = {.arena = h->arena};
  for (unsigned i; (i = atomic_fetch_add(&c->next, 1)) < c->n;) {
    fe_ir ir;
    fe_ir_init(&ir, ctx, h->arena, &diags, &blobs);
    // main is the last unit and often the longest: it goes first.
    if (fe_unit_emit(&ir, &c->units[c->n - 1 - i]) == FE_FAILED)
      atomic_store(&h->failed, true);
  }
  mlirContextDestroy(ctx);
}

static void *hand_main(void *arg) {
  hand *h = arg;
  jmp_buf oom;
  if (setjmp(oom)) {
    atomic_store(&h->failed, true);
    return NULL;
  }
  fe_arena *arena = fe_arena_create(&oom);
  h->arena = arena;
  work(h);
  return NULL;
}

static void initialize_llvm(void) {
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
  LLVMInitializeAllAsmParsers();
}

static unsigned thread_count(unsigned wanted, unsigned units) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  unsigned n = wanted ? wanted : cores > 0 ? (unsigned)cores : 1;
  n = n < units ? n : units;
  return n < MAX_THREADS ? n : MAX_THREADS;
}

static fe_status emit_units(fe_ir *ir, unsigned threads, fe_emission *e) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initialize_llvm);
  crew c = {.units = e->units.at, .n = (unsigned)e->units.n};
  unsigned n = thread_count(threads, c.n);
  hand *hands = FE_NEW_N(ir->arena, hand, n);
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, STACK_BYTES);
  unsigned started = 0;
  // The program's signals are for the program's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  for (unsigned i = 0; i < n; i++) {
    hands[i].crew = &c;
    hands[i].started =
        !pthread_create(&hands[i].thread, &attr, hand_main, &hands[i]);
    started += hands[i].started;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  fe_status status = FE_OK;
  for (unsigned i = 0; i < n; i++) {
    hand *h = &hands[i];
    if (!h->started)
      continue;
    pthread_join(h->thread, NULL);
    for (size_t k = 0; k < h->reports.n; k++) {
      const report *r = &h->reports.at[k];
      fe_report(ir->diags, r->severity, r->where, r->hint, "%s", r->message);
    }
    if (atomic_load(&h->failed)) {
      status = FE_FAILED;
      if (!h->reports.n)
        fe_error(ir->diags, (fe_where){0}, NULL, "out of memory");
    }
    if (h->arena)
      fe_arena_destroy(h->arena);
  }
  if (!started)
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "no thread could be started");
  return status;
}

//===-- The whole
//----------------------------------------------------------===//

static bool is_text(const fe_emit_options *o) {
  return o->artifact == FE_ARTIFACT_LLVM || o->artifact == FE_ARTIFACT_ASM;
}

static void drop_objects(fe_emission *e) {
  for (size_t i = 0; i < e->units.n; i++)
    if (e->units.at[i].object)
      LLVMDisposeMemoryBuffer(e->units.at[i].object);
}

fe_status fe_emission_begin(fe_ir *ir, const fe_emit_options *options,
                            fe_emission **out) {
  *out = FE_NEW(ir->arena, fe_emission);
  return fe_link_possible(ir->diags, options);
}

fe_status fe_emission_add(fe_emission *e, fe_ir *ir, MlirModule module,
                          const fe_emit_options *options) {
  fe_level *l = FE_NEW(ir->arena, fe_level);
  fe_model_info *info = &l->info;
  l->target = options->target;
  l->options = *options;
  l->job = (fe_unit_job){&l->options, info};
  if (fe_model_info_read(ir, module, options, info) == FE_FAILED)
    return FE_FAILED;
  fe_checks_number(ir, module, info);
  if (options->artifact == FE_ARTIFACT_JIT && options->profile)
    fe_profile_instrument(ir, module, info);
  for (unsigned i = 0; i < info->n_outputs; i++)
    for (int32_t d = 0; d < info->outputs[i].rank; d++)
      info->heap |= info->outputs[i].dims[d] == INT64_MIN;
  if (fe_ir_ok(ir, "emit", module) == FE_FAILED)
    return FE_FAILED;
  split(&(splitting){ir, e, &l->job}, module, is_text(options));
  fe_push(ir->arena, &e->levels, l);
  return options->level ? fe_spill_level(&e->spill, ir, options->path, info)
                        : FE_OK;
}

void fe_emission_drop(fe_emission *e) { fe_spill_end(&e->spill); }

/// From the units, compiled, to the artifact with its header.
static fe_status finish(fe_ir *ir, const fe_emission *e,
                        const fe_emit_options *options,
                        const fe_model_info *info, fe_jit **jit) {
  unsigned n = (unsigned)e->units.n;
  if (options->header) {
    const char *text = fe_model_header(ir->arena, info);
    if (fe_file_write(ir->diags, options->header, text, strlen(text)) ==
        FE_FAILED)
      return FE_FAILED;
  }
  fe_status status = options->artifact == FE_ARTIFACT_JIT
                         ? fe_jit_load(ir->diags, info, n, e->units.at, jit)
                         : fe_link(ir->diags, options, info, n, e->units.at);
  if (options->header && status == FE_FAILED)
    unlink(options->header);
  return status;
}

fe_status fe_emission_end(fe_emission *e, fe_ir *ir,
                          const fe_emit_options *options) {
  fe_model_info info;
  if (fe_levels_merge(ir, e, options, &info) == FE_FAILED)
    return FE_FAILED;
  fe_status status = emit_units(ir, options->threads, e);
  if (status == FE_OK) {
    fe_unit unit = {0};
    status = fe_levels_unit(ir->diags, e, options, &info, &unit);
    fe_push(ir->arena, &e->units, unit);
  }
  if (status == FE_OK)
    status = finish(ir, e, options, &info, NULL);
  drop_objects(e);
  return status;
}

fe_status fe_emit(fe_ir *ir, MlirModule module, const fe_emit_options *options,
                  fe_jit **jit) {
  fe_emission e = {0};
  if (options->artifact != FE_ARTIFACT_JIT &&
      fe_link_possible(ir->diags, options) == FE_FAILED)
    return FE_FAILED;
  if (fe_emission_add(&e, ir, module, options) == FE_FAILED)
    return FE_FAILED;
  fe_status status = emit_units(ir, options->threads, &e);
  if (status == FE_OK)
    status = finish(ir, &e, options, &e.levels.at[0]->info, jit);
  drop_objects(&e);
  return status;
}
