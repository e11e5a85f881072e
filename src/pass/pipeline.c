//===- pipeline.c - the phases of the compiler in one table ---------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "pass/pass.h"

#include <string.h>

static fe_status run_plan(fe_ir *ir, MlirModule *module,
                          const fe_pass_options *o) {
  return fe_plan(ir, *module, o->weights);
}

static const fe_pass optimize[] = {
    {"canonicalize", fe_pass_canonicalize,
     "fold, merge and drop onnx ops, rewrite patterns"},
    {"fold", fe_pass_fold, "compute what depends on constants only"},
    {"canonicalize", fe_pass_canonicalize, "again, with those constants"},
    {"quantized", fe_pass_quantized,
     "convolutions of integers that no kernel is for, in floats"},
    {"volume", fe_pass_volume, "convolutions of volumes as those of images"},
    {"deconv", fe_pass_deconv, "transposed convolutions as convolutions"},
    {"layout", fe_pass_layout, "convolution networks in blocks of channels"},
    {0}};
static const fe_pass lower[] = {
    {"lower", fe_pass_lower, "onnx to linalg, krnl and kernels"}, {0}};
static const fe_pass group[] = {
    {"group", fe_pass_group, "outline computation into kernel functions"}, {0}};
static const fe_pass schedule[] = {
    {"schedule", fe_pass_schedule, "kernels to loops over memory"}, {0}};
static const fe_pass plan[] = {
    {"plan", run_plan, "tensors of main to places in the arena"}, {0}};

const fe_phase fe_phases[] = {{"optimize", optimize}, {"lower", lower},
                              {"group", group},       {"schedule", schedule},
                              {"plan", plan},         {0}};

const fe_pass *fe_pass_find(const char *name) {
  for (const fe_phase *p = fe_phases; p->name; p++)
    for (const fe_pass *q = p->passes; q->name; q++)
      if (!strcmp(q->name, name))
        return q;
  return NULL;
}

fe_status fe_run_phases(fe_ir *ir, MlirModule *module, const fe_pass_options *o,
                        const char *from, const char *until,
                        void (*progress)(void *user, const char *phase),
                        void *user) {
  if (until && !strcmp(until, "import"))
    return FE_OK;
  bool active = !from || !strcmp(from, "import");
  for (const fe_phase *p = fe_phases; p->name; p++) {
    if (!active) {
      active = !strcmp(p->name, from);
      continue;
    }
    if (progress)
      progress(user, p->name);
    for (const fe_pass *q = p->passes; q->name; q++) {
      if (q->run(ir, module, o) != FE_OK || ir->diags->errors)
        return FE_FAILED;
      if (fe_ir_ok(ir, q->name, *module) != FE_OK)
        return FE_FAILED;
    }
    if (until && !strcmp(p->name, until))
      return FE_OK;
  }
  return FE_OK;
}
