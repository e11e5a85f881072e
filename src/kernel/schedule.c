//===- schedule.c - choices that can be read and changed ------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"

#include <inttypes.h>
#include <string.h>

static fe_status override(fe_gen *g, const char *name, MlirAttribute value,
                          unsigned n, const fe_knob *knobs) {
  fe_ir *ir = g->ir;
  fe_where where = {.attr = "krnl.schedule"};
  for (unsigned i = 0; i < n; i++) {
    const fe_knob *k = &knobs[i];
    if (strcmp(k->name, name))
      continue;
    int64_t v = mlirAttributeIsAInteger(value)
                    ? mlirIntegerAttrGetValueInt(value)
                    : k->low - 1;
    if (v < k->low || v > k->high)
      return fe_error(ir->diags, where, NULL,
                      "'%s' must be a number from %" PRId64 " to %" PRId64,
                      name, k->low, k->high);
    *k->value = v;
    return FE_OK;
  }
  fe_buf known = {0};
  for (unsigned i = 0; i < n; i++)
    fe_buf_printf(ir->arena, &known, " %s", knobs[i].name);
  return fe_error(ir->diags, where,
                  fe_printf(ir->arena, "it has:%s", known.at ? known.at : ""),
                  "kernels of krnl.%s have no '%s'",
                  fe_op_name(ir->arena, g->root), name);
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
