//===- info.c - ferrule info ----------------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "api/session.h"
#include "cli/model.h"
#include "cli/values.h"
#include "import/count.h"
#include "ir/value_type.h"
#include "op/flops.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

//===-- A model -------------------------------------------------------------//

typedef struct fe_totals {
  fe_session *s;
  const int64_t *symbols;
  unsigned n_symbols;
  double flops, parameters, bytes;
} fe_totals;

static void total(MlirOperation op, void *user) {
  fe_totals *t = user;
  fe_const c;
  if (!fe_op_is(op, "onnx.constant"))
    t->flops += fe_op_flops(&t->s->ir, op, t->symbols, t->n_symbols);
  else if (fe_const_of(&t->s->ir, fe_result(op, 0), &c) &&
           fe_dtype_is_float(c.dtype)) {
    t->parameters += (double)c.count;
    t->bytes += (double)c.size;
  }
}

static void print_value(fe_session *s, const char *what, MlirType type,
                        MlirAttribute attrs, unsigned i) {
  MlirAttribute dict =
      mlirAttributeIsNull(attrs) ? attrs : mlirArrayAttrGetElement(attrs, i);
  MlirAttribute name =
      mlirAttributeIsNull(dict)
          ? dict
          : mlirDictionaryAttrGetElementByName(dict, fe_str("onnx.name"));
  MlirStringRef text =
      mlirAttributeIsNull(name) ? fe_str("?") : mlirStringAttrGetValue(name);
  printf("%-8s %.*s: ", what, (int)text.length, text.data);
  if (!mlirTypeIsARankedTensor(type)) {
    puts(fe_type_text(&s->ir, type));
    return;
  }
  printf("%s[",
         fe_dtype_name(fe_dtype_of_elem(mlirShapedTypeGetElementType(type))));
  MlirAttribute map = mlirRankedTensorTypeGetEncoding(type);
  for (intptr_t d = 0; d < mlirShapedTypeGetRank(type); d++) {
    if (d)
      putchar(',');
    if (!mlirShapedTypeIsDynamicDim(type, d)) {
      printf("%lld", (long long)mlirShapedTypeGetDimSize(type, d));
      continue;
    }
    MlirAffineExpr e =
        mlirAttributeIsNull(map)
            ? (MlirAffineExpr){0}
            : mlirAffineMapGetResult(mlirAffineMapAttrGetValue(map), d);
    if (!mlirAffineExprIsNull(e) && mlirAffineExprIsASymbol(e) &&
        (size_t)mlirAffineSymbolExprGetPosition(e) < s->ir.symbols.n)
      printf("%s", s->ir.symbols.at[mlirAffineSymbolExprGetPosition(e)]);
    else
      putchar('?');
  }
  puts("]");
}

static void print_interface(fe_session *s) {
  MlirOperation f = fe_func_find(s->module, "main");
  MlirType type = mlirTypeAttrGetValue(fe_attr(f, "function_type"));
  for (intptr_t i = 0; i < mlirFunctionTypeGetNumInputs(type); i++)
    print_value(s, "input", mlirFunctionTypeGetInput(type, i),
                fe_attr(f, "arg_attrs"), (unsigned)i);
  for (intptr_t i = 0; i < mlirFunctionTypeGetNumResults(type); i++)
    print_value(s, "output", mlirFunctionTypeGetResult(type, i),
                fe_attr(f, "res_attrs"), (unsigned)i);
}

static void print_totals(fe_session *s) {
  unsigned n = (unsigned)s->ir.symbols.n;
  int64_t *ones = FE_NEW_N(s->arena, int64_t, n + 1);
  for (unsigned i = 0; i < n; i++)
    ones[i] = 1;
  fe_totals t = {.s = s, .symbols = ones, .n_symbols = n};
  fe_walk(fe_func_block(fe_func_find(s->module, "main")), total, &t);
  printf("parameters %.0f (%.1f MB)\n", t.parameters, t.bytes / 1e6);
  printf("arithmetic %.3f GFLOP a run%s\n", t.flops / 1e9,
         n ? ", with 1 for the open dimensions; --dim sets them" : "");
}

/// Bytes of the arena when all sizes are known.
static void print_memory(fe_session *s) {
  if (fe_session_run(s, "plan") != FERRULE_OK)
    return;
  MlirOperation f = fe_func_find(s->module, "arena_size");
  if (mlirOperationIsNull(f))
    return;
  MlirOperation ret = mlirBlockGetTerminator(fe_func_block(f));
  MlirOperation def = fe_def(fe_operand(ret, 0));
  if (fe_op_is(def, "arith.constant"))
    printf("memory     %.2f MB of arena a run\n",
           (double)mlirIntegerAttrGetValueInt(fe_attr(def, "value")) / 1e6);
  else
    puts("memory     depends on the open dimensions");
}

static ferrule_status inform(fe_session *s, void *user) {
  const char *path = user;
  s->diags.file = path;
  if (fe_file_map(&s->diags, path, &s->file) != FE_OK)
    return FERRULE_REFUSED;
  fe_model_counts counts;
  if (fe_count_ops(&s->diags, s->arena, path, s->file.data, s->file.size,
                   &counts) != FE_OK)
    return fe_session_failed(s);
  printf("%s: ONNX, IR version %lld%s%s\n", path, (long long)counts.ir_version,
         *counts.producer ? ", from " : "", counts.producer);
  bool all = true;
  for (size_t i = 0; i < counts.ops.n; i++)
    all &= counts.ops.at[i].supported;
  // without all operators, what flows between them is not known
  ferrule_status status = FERRULE_REFUSED;
  if (all)
    status = fe_session_read_memory(s, s->file.data, s->file.size, path);
  if (status == FERRULE_OK)
    print_interface(s);
  printf("\n%-24s %-14s %5s %6s  %s\n", "operator", "domain", "opset", "nodes",
         "");
  for (size_t i = 0; i < counts.ops.n; i++) {
    const fe_op_count *o = &counts.ops.at[i];
    printf("%-24s %-14s %5d %6zu  %s\n", o->name,
           *o->domain ? o->domain : "ai.onnx", o->opset, o->count,
           o->supported ? "supported" : "NOT SUPPORTED");
  }
  putchar('\n');
  if (status == FERRULE_OK) {
    print_totals(s);
    print_memory(s);
  }
  return status;
}

//===-- A compiled model ----------------------------------------------------//

static void print_library_values(const ferrule_model *m, const char *what,
                                 unsigned n, const ferrule_value_info *v) {
  fe_arena *arena = fe_arena_create(NULL);
  for (unsigned i = 0; i < n; i++)
    printf("%-10s %s: %s\n", what, v[i].name,
           fe_value_text(arena, &v[i], m->symbols));
  fe_arena_destroy(arena);
}

/// Bytes of the arena for the sizes that --dim gives.
static void print_arena(fe_cli *c, const ferrule_model *m) {
  int64_t *symbols = calloc(m->n_symbols + 1, sizeof *symbols);
  bool known = symbols;
  for (unsigned s = 0; known && s < m->n_symbols; s++)
    known = (symbols[s] = fe_symbol_option(c, m->symbols[s])) >= 0;
  int64_t size = known ? m->arena_size(symbols) : 0;
  free(symbols);
  if (!known)
    puts("memory     depends on the open dimensions; --dim sets them");
  else if (size == INT64_MAX)
    puts("memory     the model cannot take inputs of these sizes");
  else
    printf("memory     %.2f MB of arena a run\n", (double)size / 1e6);
}

static void print_levels(const ferrule_model *m) {
  const char *here = fe_library_level(m);
  for (uint32_t i = 0; i < m->n_levels; i++) {
    const ferrule_model *l = m->levels[i];
    printf("level      %s: %.2f MB of the weights%s\n", l->cpu,
           (double)l->weight_bytes / 1e6,
           here && !strcmp(here, l->cpu) ? ", taken here" : "");
  }
}

static int library_info(fe_cli *c, const char *path) {
  void *library;
  const ferrule_model *m;
  int code = fe_library_open(c, path, &library, &m);
  if (!code) {
    printf("%s: compiled model '%s', interface version %u\n", path, m->name,
           m->abi_version);
    print_library_values(m, "input", m->n_inputs, m->inputs);
    print_library_values(m, "output", m->n_outputs, m->outputs);
    for (unsigned s = 0; s < m->n_symbols; s++)
      printf("%-10s %s\n", "open", m->symbols[s]);
    printf("compiler   %s\nprocessor  %s\n", m->compiler, m->cpu);
    print_levels(m);
    printf("weights    %.2f MB\n", (double)m->weight_bytes / 1e6);
    code = fe_library_fits(c, path, &m);
    if (!code)
      print_arena(c, m);
  }
  if (library)
    dlclose(library);
  return code;
}

int fe_cmd_info(fe_cli *c) {
  const char *value;
  if (fe_cli_next(c, &value) == -2)
    return EXIT_USAGE;
  if (c->n_positional != 1)
    return fe_cli_usage(c, "one model is wanted");
  const char *path = c->positional[0];
  if (fe_is_library(path))
    return library_info(c, path);
  return (int)fe_session_do(&c->options, path, inform, (void *)path);
}
