//===- symbols.c - names of the symbolic dimensions --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: a list in fe_ir while ops are made, the module attribute
// onnx.symbols in printed form. Symbols made by inference are called d<n>,
// with underscores put in front until the name is free.
//
//===----------------------------------------------------------------------===//
#include "ir/ir.h"

#include <string.h>

static bool find(const fe_ir *ir, const char *name, unsigned *out) {
  for (unsigned i = 0; i < ir->symbols.n; ++i)
    if (!strcmp(ir->symbols.at[i], name)) {
      *out = i;
      return true;
    }
  return false;
}

unsigned fe_symbol(fe_ir *ir, const char *name) {
  unsigned number = (unsigned)ir->symbols.n, old;
  if (name && find(ir, name, &old))
    return old;
  const char *own =
      name ? fe_strdup(ir->arena, name) : fe_printf(ir->arena, "d%u", number);
  while (!name && find(ir, own, &old))
    own = fe_printf(ir->arena, "_%s", own);
  fe_push(ir->arena, &ir->symbols, own);
  return number;
}

void fe_symbols_load(fe_ir *ir, MlirModule m) {
  ir->symbols.n = 0;
  MlirAttribute a = mlirOperationGetDiscardableAttributeByName(
      mlirModuleGetOperation(m), fe_str("onnx.symbols"));
  if (mlirAttributeIsNull(a) || !mlirAttributeIsAArray(a))
    return;
  for (intptr_t i = 0, n = mlirArrayAttrGetNumElements(a); i < n; ++i) {
    MlirAttribute e = mlirArrayAttrGetElement(a, i);
    if (!mlirAttributeIsAString(e))
      continue;
    MlirStringRef s = mlirStringAttrGetValue(e);
    const char *name = fe_strndup(ir->arena, s.data, s.length);
    fe_push(ir->arena, &ir->symbols, name);
  }
}

void fe_symbols_store(fe_ir *ir, MlirModule m) {
  MlirNamedAttribute a =
      fe_at_strs(ir, "onnx.symbols", (unsigned)ir->symbols.n, ir->symbols.at);
  mlirOperationSetDiscardableAttributeByName(
      mlirModuleGetOperation(m), fe_str("onnx.symbols"), a.attribute);
}
