//===- evaluate.c - running a module when compiling -----------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "api/session.h"

#include "emit/emit.h"

#include <string.h>

static void *allocate(void *user, size_t bytes) {
  return fe_alloc(user, bytes);
}

static void release(void *user, void *block) {
  (void)user; // goes with the arena
  (void)block;
}

static fe_status run(fe_ir *ir, const ferrule_model *m, unsigned n,
                     const void **data) {
  ferrule_tensor *out = FE_NEW_N(ir->arena, ferrule_tensor, n);
  ferrule_run_options options = {
      .allocate = allocate, .release = release, .user = ir->arena};
  int64_t none = 0, size = m->arena_size(&none);
  // fe_alloc aligns to 16
  char *arena = fe_alloc(ir->arena, (size_t)size + FERRULE_ARENA_ALIGN);
  arena += -(uintptr_t)arena % FERRULE_ARENA_ALIGN;
  int status = m->n_outputs == n
                   ? ferrule_model_run(m, NULL, out, arena, &options)
                   : FERRULE_RUN_BAD_INPUT;
  if (status != FERRULE_RUN_OK)
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "computing the model's constants failed: %s",
                    ferrule_model_message(m, status));
  for (unsigned i = 0; i < n; i++)
    data[i] = out[i].data;
  return FE_OK;
}

fe_status fe_evaluate(fe_ir *ir, MlirModule module, const fe_pass_options *o,
                      unsigned n, const void **data) {
  (void)o;
  fe_target storage;
#ifdef __x86_64__
  const fe_target *target = fe_target_find("x86-64-v2", &storage);
#else
  const fe_target *target = fe_target_find("native", &storage);
#endif
  fe_pass_options options = {.target = target, .opt_level = 1};
  // the small module has a state of its own in these
  fe_ir outer = *ir;
  ir->soft_half = !target->half;
  memset(&ir->symbols, 0, sizeof ir->symbols);
  fe_emit_options emit = {.target = target,
                          .artifact = FE_ARTIFACT_JIT,
                          .compiler = "ferrule " FERRULE_VERSION,
                          .opt = 1,
                          .threads = 1};
  fe_jit *jit = NULL;
  fe_status status =
      fe_run_phases(ir, &module, &options, "optimize", NULL, NULL, NULL);
  if (status == FE_OK)
    status = fe_emit(ir, module, &emit, &jit);
  if (status == FE_OK)
    status = run(ir, fe_jit_model(jit), n, data);
  if (jit)
    fe_jit_destroy(jit);
  if (!mlirModuleIsNull(module))
    mlirModuleDestroy(module);
  ir->soft_half = outer.soft_half;
  memcpy(&ir->symbols, &outer.symbols, sizeof ir->symbols);
  return status;
}
