//===- levels.c - one model for several levels of a processor ----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every level is a model by itself, hidden, whose symbols carry its name too
// (`ferrule.x86-64-v3.conv.1`). The public model's two functions look for the
// best level that the machine has (runtime/dispatch.c) and call its own. They,
// and all else that every machine comes by, are in a unit for the least
// processor of the kind. See docs/design/emit.md.
//
//===----------------------------------------------------------------------===//
#include "emit/parts.h"

#include <string.h>

extern const unsigned char fe_runtime_dispatch_bc[], fe_runtime_model_bc[],
    fe_runtime_half_bc[];
extern const size_t fe_runtime_dispatch_bc_size, fe_runtime_model_bc_size,
    fe_runtime_half_bc_size;

//===-- What they have in common --------------------------------------------//

static bool same_value(const ferrule_value_info *a,
                       const ferrule_value_info *b) {
  if (strcmp(a->name, b->name) || a->dtype != b->dtype || a->rank != b->rank)
    return false;
  unsigned held = a->dtype < FERRULE_SEQUENCE ? 0
                  : a->dtype == FERRULE_MAP   ? 2
                                              : 1;
  for (unsigned i = 0; i < held; i++)
    if (!same_value(&a->element[i], &b->element[i]))
      return false;
  return true;
}

static bool same_texts(unsigned n, const char **a, unsigned m, const char **b) {
  for (unsigned i = 0; n == m && i < n; i++)
    if (strcmp(a[i], b[i]))
      return false;
  return n == m;
}

static bool same_interface(const fe_model_info *a, const fe_model_info *b) {
  if (a->n_inputs != b->n_inputs || a->n_outputs != b->n_outputs ||
      !same_texts(a->n_symbols, a->symbols, b->n_symbols, b->symbols))
    return false;
  for (unsigned i = 0; i < a->n_inputs; i++)
    if (!same_value(&a->inputs[i], &b->inputs[i]))
      return false;
  for (unsigned i = 0; i < a->n_outputs; i++)
    if (!same_value(&a->outputs[i], &b->outputs[i]))
      return false;
  return true;
}

/// A size that one level knows before the run and another does not is one that
/// is known only after it.
static void merge_dims(fe_arena *arena, unsigned n, ferrule_value_info *to,
                       const ferrule_value_info *from) {
  for (unsigned i = 0; i < n; i++) {
    size_t rank = to[i].rank < 0 ? 0 : (size_t)to[i].rank;
    int64_t *dims = FE_NEW_N(arena, int64_t, rank + 1);
    for (size_t d = 0; d < rank; d++)
      dims[d] = to[i].dims[d] == from[i].dims[d] ? to[i].dims[d] : INT64_MIN;
    if (to[i].rank >= 0)
      to[i].dims = dims;
  }
}

/// Messages of a level follow those of the one below it, unless they are the
/// same.
static void add_messages(fe_arena *arena, fe_model_info *to, fe_level *l,
                         const fe_level *below) {
  const fe_model_info *from = &l->info;
  if (below && same_texts(from->n_messages, from->messages,
                          below->info.n_messages, below->info.messages)) {
    l->first_message = below->first_message;
    return;
  }
  l->first_message = to->n_messages;
  const char **all =
      FE_NEW_N(arena, const char *, to->n_messages + from->n_messages + 2);
  memcpy(all, to->messages, to->n_messages * sizeof *all);
  if (from->n_messages)
    memcpy(all + to->n_messages, from->messages,
           from->n_messages * sizeof *all);
  to->messages = all;
  to->n_messages += from->n_messages;
}

static void add_blobs(fe_arena *arena, fe_model_info *to,
                      const fe_model_info *from) {
  fe_placed_blob *all =
      FE_NEW_N(arena, fe_placed_blob, to->n_blobs + from->n_blobs + 1);
  memcpy(all, to->blobs, to->n_blobs * sizeof *all);
  memcpy(all + to->n_blobs, from->blobs, from->n_blobs * sizeof *all);
  to->blobs = all;
  to->n_blobs += from->n_blobs;
  to->weight_bytes = from->weight_bytes; // it lies behind those below
}

fe_status fe_levels_merge(fe_ir *ir, const fe_emission *e,
                          const fe_emit_options *options, fe_model_info *out) {
  fe_arena *arena = ir->arena;
  const fe_level *lowest = e->levels.at[0];
  *out = lowest->info;
  out->prefix = fe_prefix(options);
  out->messages = FE_NEW_N(arena, const char *, 2);
  out->n_messages = out->n_blobs = 0;
  out->outputs = FE_NEW_N(arena, ferrule_value_info, out->n_outputs + 1);
  memcpy(out->outputs, lowest->info.outputs,
         out->n_outputs * sizeof *out->outputs);
  fe_buf cpu = {0};
  for (size_t i = 0; i < e->levels.n; i++) {
    fe_level *l = e->levels.at[i];
    const fe_model_info *from = &l->info;
    if (!same_interface(out, from)) {
      fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
                "the model's interface is another one for %s than for %s",
                l->target->name, lowest->target->name);
      return FE_FAILED;
    }
    fe_buf_printf(arena, &cpu, "%s%s", i ? "," : "", l->target->name);
    merge_dims(arena, out->n_outputs, out->outputs, from->outputs);
    add_messages(arena, out, l, i ? e->levels.at[i - 1] : NULL);
    add_blobs(arena, out, from);
    out->heap |= from->heap;
    out->arena_bytes = out->arena_bytes < 0 || from->arena_bytes < 0 ? -1
                       : out->arena_bytes > from->arena_bytes
                           ? out->arena_bytes
                           : from->arena_bytes;
  }
  // Whether outputs may come from malloc is the same at all levels.
  for (unsigned i = 0; i < out->n_outputs; i++)
    for (int32_t d = 0; d < out->outputs[i].rank; d++)
      out->heap |= out->outputs[i].dims[d] == INT64_MIN;
  for (size_t i = 0; i < e->levels.n; i++)
    e->levels.at[i]->info.heap = out->heap;
  out->messages[out->n_messages++] =
      fe_printf(arena,
                "this machine's processor lacks what %s has, the least that "
                "the model was compiled for",
                lowest->target->name);
  out->cpu = cpu.at;
  return FE_OK;
}

//===-- The unit that chooses -----------------------------------------------//

/// The hidden constant of a level, as fe_model_build calls it there.
static LLVMValueRef level_model(fe_arena *arena, LLVMModuleRef m,
                                LLVMTypeRef type, const fe_level *l) {
  const char *name = fe_printf(arena, "%s_model", l->info.prefix);
  LLVMValueRef g = LLVMAddGlobal(m, type, name);
  LLVMSetVisibility(g, LLVMHiddenVisibility);
  LLVMSetGlobalConstant(g, true);
  return g;
}

/// fe_rt_levels, see runtime/dispatch.h.
static void add_table(LLVMModuleRef m, const fe_emission *e,
                      LLVMValueRef *models, uint32_t none) {
  LLVMContextRef c = LLVMGetModuleContext(m);
  LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
  size_t n = e->levels.n;
  LLVMValueRef rows[FE_MAX_LEVELS + 1];
  for (size_t k = 0; k <= n; k++) { // the best first
    const fe_level *l = k < n ? e->levels.at[n - 1 - k] : NULL;
    LLVMValueRef fields[] = {
        l ? models[n - 1 - k] : LLVMConstNull(LLVMPointerTypeInContext(c, 0)),
        LLVMConstInt(i32, l ? l->target->needs : 0, false),
        LLVMConstInt(i32, l ? l->first_message : none, false)};
    rows[k] = LLVMConstStructInContext(c, fields, FE_COUNT(fields), false);
  }
  LLVMValueRef table = LLVMConstArray2(LLVMTypeOf(rows[0]), rows, n + 1);
  LLVMValueRef g = LLVMAddGlobal(m, LLVMTypeOf(table), "fe_rt_levels");
  LLVMSetInitializer(g, table);
  LLVMSetGlobalConstant(g, true);
}

static fe_status fill(fe_diags *diags, LLVMModuleRef m, const fe_emission *e,
                      const fe_emit_options *options,
                      const fe_model_info *info) {
  fe_arena *arena = diags->arena;
  LLVMTypeRef byte = LLVMInt8TypeInContext(LLVMGetModuleContext(m));
  LLVMValueRef models[FE_MAX_LEVELS];
  for (size_t i = 0; i < e->levels.n; i++)
    models[i] = level_model(arena, m, byte, e->levels.at[i]);
  add_table(m, e, models, info->n_messages);
  bool linkable = options->artifact != FE_ARTIFACT_SO;
  if (fe_bitcode_link(diags, m, fe_runtime_dispatch_bc,
                      fe_runtime_dispatch_bc_size) == FE_FAILED ||
      fe_bitcode_link(diags, m, fe_runtime_half_bc, fe_runtime_half_bc_size) ==
          FE_FAILED ||
      (linkable && fe_bitcode_link(diags, m, fe_runtime_model_bc,
                                   fe_runtime_model_bc_size) == FE_FAILED))
    return FE_FAILED;
  fe_runtime_bind(m);
  LLVMSetLinkage(LLVMGetNamedGlobal(m, "fe_rt_levels"), LLVMInternalLinkage);
  fe_model_add(arena, m, info, LLVMGetNamedFunction(m, "fe_rt_dispatch_run"),
               LLVMGetNamedFunction(m, "fe_rt_dispatch_arena_size"),
               (unsigned)e->levels.n, models);
  return FE_OK;
}

fe_status fe_levels_unit(fe_diags *diags, const fe_emission *e,
                         const fe_emit_options *options,
                         const fe_model_info *info, fe_unit *out) {
  fe_target least = *e->levels.at[0]->target;
  least.name = least.cpu = least.least;
  least.features = "";
  fe_emit_options o = *options;
  o.target = &least;
  LLVMContextRef c = LLVMContextCreate();
  LLVMModuleRef m = LLVMModuleCreateWithNameInContext("levels", c);
  LLVMTargetMachineRef machine = fe_unit_machine(diags, &o, m);
  fe_status status = machine ? fill(diags, m, e, options, info) : FE_FAILED;
  if (status == FE_OK)
    status =
        fe_unit_generate(diags, m, machine, &o, FE_UNIT_MAIN, &out->object);
  if (machine)
    LLVMDisposeTargetMachine(machine);
  LLVMDisposeModule(m);
  LLVMContextDispose(c);
  return status;
}
