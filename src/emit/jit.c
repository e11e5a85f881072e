//===- jit.c - models in this process ----------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The units' objects are the same as for files; LLVM's ORC links them here.
// The weights are copied to pages of their own, read-only afterwards, and
// their symbol is bound to that address.
//
//===----------------------------------------------------------------------===//
#define _GNU_SOURCE
#include "emit/parts.h"

#include <errno.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct fe_jit {
  LLVMOrcLLJITRef engine;
  void *weights;
  size_t weight_bytes;
  const ferrule_model *model;
  ferrule_profile_entry *profile; // its strings lie behind it
  size_t n_profile;
};

static fe_status llvm_error(fe_diags *d, const char *what, LLVMErrorRef error) {
  if (!error)
    return FE_OK;
  char *text = LLVMGetErrorMessage(error);
  fe_report(d, FE_SEV_INTERNAL, (fe_where){0}, NULL, "%s: %s", what, text);
  LLVMDisposeErrorMessage(text);
  return FE_FAILED;
}

/// Gives a symbol that the objects refer to its address.
static fe_status bind(fe_diags *d, fe_jit *jit, const char *name, void *at) {
  LLVMOrcCSymbolMapPair symbol = {
      .Name = LLVMOrcLLJITMangleAndIntern(jit->engine, name),
      .Sym = {.Address = (LLVMOrcExecutorAddress)(uintptr_t)at,
              .Flags = {.GenericFlags = LLVMJITSymbolGenericFlagsExported}}};
  LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(&symbol, 1);
  LLVMErrorRef error =
      LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(jit->engine), unit);
  if (error)
    LLVMOrcDisposeMaterializationUnit(unit);
  return llvm_error(d, "a symbol cannot be bound", error);
}

static fe_status place_weights(fe_diags *d, fe_jit *jit,
                               const fe_model_info *info) {
  if (!info->weight_bytes)
    return FE_OK;
  void *at = mmap(NULL, info->weight_bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    return fe_error(d, (fe_where){0}, NULL, "no memory for the weights: %s",
                    strerror(errno));
  jit->weights = at;
  jit->weight_bytes = info->weight_bytes;
  madvise(at, info->weight_bytes, MADV_HUGEPAGE); // a hint: may fail
  fe_weights_copy(info, at);
  mprotect(at, info->weight_bytes, PROT_READ);
  return bind(d, jit, info->weights, at);
}

static fe_status place_profile(fe_diags *d, fe_jit *jit,
                               const fe_model_info *info) {
  size_t n = info->n_profile, text = 0;
  const ferrule_profile_entry *e = info->profile;
  if (!n)
    return FE_OK;
  for (size_t i = 0; i < n; i++)
    text += strlen(e[i].kernel) + strlen(e[i].node) + 2;
  jit->profile = malloc(n * sizeof *e + text);
  if (!jit->profile)
    return fe_error(d, (fe_where){0}, NULL, "out of memory");
  jit->n_profile = n;
  char *at = (char *)(jit->profile + n);
  for (size_t i = 0; i < n; i++) {
    jit->profile[i] = (ferrule_profile_entry){.kernel = at};
    at = stpcpy(at, e[i].kernel) + 1;
    jit->profile[i].node = at;
    at = stpcpy(at, e[i].node) + 1;
  }
  return bind(d, jit, FE_PROFILE_TABLE, jit->profile);
}

/// Packaged libraries are in this process already.
static fe_status place_natives(fe_diags *d, fe_jit *jit, unsigned n,
                               const fe_unit *units) {
  unsigned used = 0;
  for (unsigned i = 0; i < n; i++)
    used |= units[i].natives;
  for (unsigned i = 0; used >> i; i++)
    if ((used >> i & 1) &&
        bind(d, jit, fe_native_symbol(i), fe_native_address(i)) == FE_FAILED)
      return FE_FAILED;
  return FE_OK;
}

static fe_status load(fe_diags *d, fe_jit *jit, const fe_model_info *info,
                      unsigned n, fe_unit *units) {
  LLVMOrcJITDylibRef dylib = LLVMOrcLLJITGetMainJITDylib(jit->engine);
  LLVMOrcDefinitionGeneratorRef process;
  if (llvm_error(d, "the C library cannot be searched",
                 LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                     &process, LLVMOrcLLJITGetGlobalPrefix(jit->engine), NULL,
                     NULL)) == FE_FAILED)
    return FE_FAILED;
  LLVMOrcJITDylibAddGenerator(dylib, process);
  if (place_weights(d, jit, info) == FE_FAILED ||
      place_profile(d, jit, info) == FE_FAILED ||
      place_natives(d, jit, n, units) == FE_FAILED)
    return FE_FAILED;
  for (unsigned i = 0; i < n; i++) {
    LLVMMemoryBufferRef object = units[i].object;
    units[i].object = NULL; // the engine's now
    if (llvm_error(d, "an object cannot be loaded",
                   LLVMOrcLLJITAddObjectFile(jit->engine, dylib, object)) ==
        FE_FAILED)
      return FE_FAILED;
  }
  LLVMOrcExecutorAddress address;
  fe_status status = llvm_error(
      d, "the model cannot be linked",
      LLVMOrcLLJITLookup(jit->engine, &address,
                         fe_printf(d->arena, "%s_model", info->prefix)));
  if (status == FE_OK)
    jit->model = (const ferrule_model *)(uintptr_t)address;
  return status;
}

fe_status fe_jit_load(fe_diags *d, const fe_model_info *info, unsigned n,
                      fe_unit *units, fe_jit **out) {
  fe_jit *jit = calloc(1, sizeof *jit);
  if (!jit)
    return fe_error(d, (fe_where){0}, NULL, "out of memory");
  fe_status status = llvm_error(d, "the machine cannot run code made here",
                                LLVMOrcCreateLLJIT(&jit->engine, NULL));
  if (status == FE_OK)
    status = load(d, jit, info, n, units);
  if (status == FE_OK)
    *out = jit;
  else
    fe_jit_destroy(jit);
  return status;
}

const ferrule_model *fe_jit_model(const fe_jit *jit) { return jit->model; }

ferrule_profile_entry *fe_jit_profile(const fe_jit *jit, size_t *n) {
  *n = jit->n_profile;
  return jit->profile;
}

void fe_jit_destroy(fe_jit *jit) {
  if (!jit)
    return;
  if (jit->engine) {
    LLVMErrorRef error = LLVMOrcDisposeLLJIT(jit->engine);
    if (error) // nobody is left to be told
      LLVMConsumeError(error);
  }
  if (jit->weights)
    munmap(jit->weights, jit->weight_bytes);
  free(jit->profile);
  free(jit);
}
