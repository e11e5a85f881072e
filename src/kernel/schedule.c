//===- schedule.c - choices that can be read and changed ------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"
#include "kernel/schedules.h"

#include <inttypes.h>
#include <string.h>

/// The attribute, or the line of a file that it comes from.
static fe_where where_of(const fe_gen *g) {
  const char *file =
      fe_attr_str(g->ir->arena, g->tensors, "krnl.schedule_from", NULL);
  return file ? (fe_where){.file = file} : (fe_where){.attr = "krnl.schedule"};
}

static fe_status override(fe_gen *g, const char *name, MlirAttribute value,
                          unsigned n, const fe_knob *knobs) {
  fe_ir *ir = g->ir;
  const char *root = fe_op_name(ir->arena, g->root);
  const fe_knob_info *k = fe_knob_info_find(root, name);
  unsigned i = 0;
  while (i < n && strcmp(knobs[i].name, name))
    i++;
  if (!k || i == n)
    return fe_error(
        ir->diags, where_of(g),
        fe_printf(ir->arena, "it has:%s", fe_knob_names(ir->arena, root)),
        "kernels of krnl.%s have no '%s'", root, name);
  int64_t v = mlirAttributeIsAInteger(value) ? mlirIntegerAttrGetValueInt(value)
                                             : k->low - 1;
  if (v < k->low || v > k->high)
    return fe_error(ir->diags, where_of(g), NULL,
                    "'%s' must be a number from %" PRId64 " to %" PRId64, name,
                    k->low, k->high);
  *knobs[i].value = v;
  return FE_OK;
}

fe_status fe_schedule_refuse(fe_gen *g, const char *why) {
  return fe_error(g->ir->diags, where_of(g), "leave it to the compiler", "%s",
                  why);
}

bool fe_schedule_given(const fe_gen *g) {
  return fe_has_attr(g->tensors, "krnl.schedule");
}

fe_status fe_schedule(fe_gen *g, unsigned n, const fe_knob *knobs) {
  fe_ir *ir = g->ir;
  MlirAttribute given = fe_attr(g->tensors, "krnl.schedule");
  intptr_t count =
      mlirAttributeIsNull(given) || !mlirAttributeIsADictionary(given)
          ? 0
          : mlirDictionaryAttrGetNumElements(given);
  for (intptr_t i = 0; i < count; i++) {
    MlirNamedAttribute a = mlirDictionaryAttrGetElement(given, i);
    MlirStringRef name = mlirIdentifierStr(a.name);
    if (override(g, fe_strndup(ir->arena, name.data, name.length), a.attribute,
                 n, knobs) != FE_OK)
      return FE_FAILED;
  }
  MlirNamedAttribute *all = FE_NEW_N(ir->arena, MlirNamedAttribute, n + 1);
  for (unsigned i = 0; i < n; i++)
    all[i] = fe_at_i64(ir, knobs[i].name, *knobs[i].value);
  fe_set_attr(ir, g->func,
              fe_named(ir, "krnl.schedule",
                       mlirDictionaryAttrGet(ir->ctx, (intptr_t)n, all)));
  return FE_OK;
}
