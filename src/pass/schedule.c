//===- schedule.c - kernels in tensor form to loops over memory -----------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kernel that `group` outlined is handed to the generator of its root,
// with what a schedule file says of kernels like it.
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"
#include "pass/pass.h"

#include <string.h>

/// A hash of the kernel as text, without name and schedule.
static uint64_t key_of(fe_ir *ir, MlirOperation func) {
  MlirAttribute given = fe_attr(func, "krnl.schedule");
  MlirAttribute name = fe_attr(func, "sym_name");
  if (!mlirAttributeIsNull(given))
    mlirOperationRemoveAttributeByName(func, fe_str("krnl.schedule"));
  fe_set_attr(ir, func, fe_at_str(ir, "sym_name", "k"));
  const char *text = fe_print(ir->arena, func);
  fe_set_attr(ir, func, fe_named(ir, "sym_name", name));
  if (!mlirAttributeIsNull(given))
    fe_set_attr(ir, func, fe_named(ir, "krnl.schedule", given));
  return fe_hash(text, strlen(text), 0);
}

/// What the file says becomes the kernel's attribute, unless it has one.
static void use_file(fe_ir *ir, const fe_pass_options *o, MlirOperation func,
                     const char *root, uint64_t key) {
  const fe_schedule_line *l =
      fe_schedules_find(o->schedules, o->target, root, key);
  if (!l || fe_has_attr(func, "krnl.schedule"))
    return;
  MlirNamedAttribute all[FE_MAX_KNOBS];
  for (unsigned i = 0; i < l->n; i++)
    all[i] = fe_at_i64(ir, l->knob[i].name, l->knob[i].value);
  fe_set_attr(ir, func,
              fe_named(ir, "krnl.schedule",
                       mlirDictionaryAttrGet(ir->ctx, (intptr_t)l->n, all)));
  fe_set_attr(
      ir, func,
      fe_at_str(ir, "krnl.schedule_from", fe_schedule_place(o->schedules, l)));
}

static void note(fe_ir *ir, const fe_pass_options *o, const char *name,
                 MlirOperation func, const char *root, uint64_t key) {
  const fe_knob_info *info = fe_knob_info_find(root, NULL);
  MlirAttribute shown = fe_attr(func, "krnl.schedule");
  fe_chosen c = {.root = info->root, .key = key, .kernel = name};
  intptr_t n =
      mlirAttributeIsNull(shown) ? 0 : mlirDictionaryAttrGetNumElements(shown);
  if (n == 0)
    return; // a kernel of the root without choices
  for (intptr_t i = 0; i < n && i < FE_MAX_KNOBS; i++) {
    MlirNamedAttribute a = mlirDictionaryAttrGetElement(shown, i);
    MlirStringRef s = mlirIdentifierStr(a.name);
    c.knob[c.n++] = (fe_knob_value){fe_strndup(ir->arena, s.data, s.length),
                                    mlirIntegerAttrGetValueInt(a.attribute)};
  }
  fe_schedules_note(o->schedules, &c);
}

static fe_status generate(fe_ir *ir, const fe_pass_options *o,
                          MlirModule module, MlirOperation func,
                          const fe_generator *g) {
  bool keyed = o->schedules && fe_knob_info_find(g->root, NULL);
  uint64_t key = keyed ? key_of(ir, func) : 0;
  const char *name = fe_attr_str(ir->arena, func, "sym_name", "");
  if (keyed)
    use_file(ir, o, func, g->root, key);
  fe_status status = g->generate(ir, o->target, module, func);
  if (keyed && status == FE_OK)
    note(ir, o, name, fe_func_find(module, name), g->root, key);
  return status;
}

fe_status fe_pass_schedule(fe_ir *ir, MlirModule *module,
                           const fe_pass_options *o) {
  fe_status status = FE_OK;
  fe_point saved = fe_point_save(ir);
  MlirOperation next;
  for (MlirOperation op =
           mlirBlockGetFirstOperation(mlirModuleGetBody(*module));
       !mlirOperationIsNull(op); op = next) {
    next = mlirOperationGetNextInBlock(op);
    const char *root = fe_attr_str(ir->arena, op, "krnl.root", NULL);
    if (!fe_has_attr(op, "krnl.kernel") || !root)
      continue;
    const fe_generator *g = fe_generator_find(root);
    ir->loc = mlirOperationGetLocation(op);
    if (!g) {
      fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
                "no generator for kernels of krnl.%s", root);
      status = FE_FAILED;
    } else if (generate(ir, o, *module, op, g) != FE_OK) {
      status = FE_FAILED;
    }
  }
  fe_point_restore(ir, saved);
  return status;
}
