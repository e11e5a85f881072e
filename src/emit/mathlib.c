//===- mathlib.c - math functions inlined into kernels -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library (runtime/math.c) is scalar code in bitcode. Calls of scalars are
// bound to it and inlined, then vectorized with their loop. For calls on
// vectors the scalar function, which is one basic block, is rebuilt on vectors
// of that length, instruction by instruction: one source for every width.
//
//===----------------------------------------------------------------------===//
#include "emit/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char fe_runtime_math_bc[];
extern const size_t fe_runtime_math_bc_size;

#define PREFIX "fe.math."
#define MAX_ARGS 2

typedef struct row {
  const char *op;       // of the math dialect, without "math."
  const char *libm;     // the function of libm
  const char *function; // in runtime/math.c
} row;

static const row rows[] = {
    {"exp", "expf", "fe_expf"},       {"exp2", "exp2f", "fe_exp2f"},
    {"exp10", "exp10f", "fe_exp10f"}, {"expm1", "expm1f", "fe_expm1f"},
    {"log", "logf", "fe_logf"},       {"log2", "log2f", "fe_log2f"},
    {"log10", "log10f", "fe_log10f"}, {"log1p", "log1pf", "fe_log1pf"},
    {"powf", "powf", "fe_powf"},      {"tanh", "tanhf", "fe_tanhf"},
    {"erf", "erff", "fe_erff"},       {"sin", "sinf", "fe_sinf"},
    {"cos", "cosf", "fe_cosf"},       {"tan", "tanf", "fe_tanf"},
};

//===-- MLIR: operations to calls -------------------------------------------//

typedef struct calls {
  fe_ir *ir;
  MlirModule module;
  fe_map declared;
} calls;

static const row *row_of_op(MlirOperation op) {
  for (size_t i = 0; i < FE_COUNT(rows); i++) {
    char name[32] = "math.";
    strcat(name, rows[i].op);
    if (fe_op_is(op, name))
      return &rows[i];
  }
  return NULL;
}

/// log1p and expm1 of doubles from log and exp, as exact as those are: what
/// 1 + x and exp(x) were rounded by is a factor of the result (Kahan). Upstream
/// leaves it out, and with it all digits of small results.
static bool exactly(fe_ir *ir, MlirOperation op, const row *r, MlirType type) {
  bool log = strcmp(r->op, "log1p") == 0;
  MlirType elem =
      mlirTypeIsAVector(type) ? mlirShapedTypeGetElementType(type) : type;
  if ((!log && strcmp(r->op, "expm1")) || !mlirTypeEqual(elem, ir->f64))
    return false;
  fe_point_before(ir, op);
  MlirValue x = fe_operand(op, 0), one = fe_float(ir, type, 1);
  MlirValue infinite = fe_float(ir, type, INFINITY), v, u;
  if (log) {
    u = fe_add(ir, one, x);
    v = fe_mul(ir, fe_math(ir, "log", u), fe_div(ir, x, fe_sub(ir, u, one)));
  } else {
    u = fe_math(ir, "exp", x);
    MlirValue least = fe_float(ir, type, -1), less = fe_sub(ir, u, one);
    v = fe_mul(ir, less, fe_div(ir, x, fe_math(ir, "log", u)));
    v = fe_select(ir, fe_cmp(ir, FE_EQ, less, least), least, v);
  }
  v = fe_select(ir, fe_cmp(ir, FE_EQ, u, infinite), infinite, v);
  v = fe_select(ir, fe_cmp(ir, FE_EQ, u, one), x, v);
  fe_replace(fe_result(op, 0), v);
  fe_erase(op);
  return true;
}

static void call_of_op(MlirOperation op, void *user) {
  calls *c = user;
  fe_ir *ir = c->ir;
  const row *r = fe_op_in(op, "math") ? row_of_op(op) : NULL;
  if (!r)
    return;
  MlirType type = mlirValueGetType(fe_result(op, 0));
  if (exactly(ir, op, r, type))
    return;
  int64_t lanes = 0;
  if (mlirTypeIsAVector(type)) {
    if (mlirShapedTypeGetRank(type) != 1 || mlirVectorTypeIsScalable(type) ||
        !mlirTypeEqual(mlirShapedTypeGetElementType(type), ir->f32))
      return;
    lanes = mlirShapedTypeGetDimSize(type, 0);
  } else if (!mlirTypeEqual(type, ir->f32)) {
    return;
  }
  unsigned n = fe_n_operands(op);
  MlirType types[MAX_ARGS] = {type, type};
  MlirValue args[MAX_ARGS];
  for (unsigned i = 0; i < n; i++)
    args[i] = fe_operand(op, i);
  const char *name =
      fe_printf(ir->arena, PREFIX "%s.%lld", r->op, (long long)lanes);
  if (!fe_map_get(&c->declared, name)) {
    fe_map_set(ir->arena, &c->declared, name, (void *)r);
    fe_func_declare(ir, c->module, name, n, types, 1, &type);
  }
  fe_point_before(ir, op);
  fe_replace(fe_result(op, 0), fe_first(fe_call(ir, name, n, args, 1, &type)));
  fe_erase(op);
}

void fe_mathlib_calls(fe_ir *ir, MlirModule module) {
  calls c = {.ir = ir, .module = module};
  fe_point outer = fe_point_save(ir);
  fe_walk(mlirModuleGetBody(module), call_of_op, &c);
  fe_point_restore(ir, outer);
}

//===-- LLVM: scalar code to vectors ----------------------------------------//

typedef struct widening {
  fe_diags *diags;
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  unsigned lanes;
  unsigned n;
  LLVMValueRef *from, *to; // n each: what stands for what
} widening;

static LLVMTypeRef wide_type(const widening *w, LLVMTypeRef t) {
  return LLVMVectorType(t, w->lanes);
}

static LLVMValueRef wide(const widening *w, LLVMValueRef v) {
  for (unsigned i = w->n; i-- > 0;)
    if (w->from[i] == v)
      return w->to[i];
  LLVMValueRef *all = malloc(w->lanes * sizeof *all);
  if (!all)
    return NULL;
  for (unsigned i = 0; i < w->lanes; i++)
    all[i] = v;
  LLVMValueRef splat = LLVMConstVector(all, w->lanes);
  free(all);
  return splat;
}

/// Overloaded on the type of their first operand, all that the library uses.
static LLVMValueRef widen_call(widening *w, LLVMValueRef call) {
  LLVMValueRef callee = LLVMGetCalledValue(call);
  unsigned id = LLVMGetIntrinsicID(callee);
  unsigned n = LLVMGetNumArgOperands(call);
  if (!id || n > 4)
    return NULL;
  LLVMTypeRef over = wide_type(w, LLVMTypeOf(LLVMGetOperand(call, 0)));
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(w->module, id, &over, 1);
  LLVMTypeRef type = LLVMGlobalGetValueType(f), params[4];
  LLVMGetParamTypes(type, params);
  LLVMValueRef args[4];
  for (unsigned i = 0; i < n; i++) {
    LLVMValueRef a = LLVMGetOperand(call, i);
    bool is_vector = LLVMGetTypeKind(params[i]) == LLVMVectorTypeKind;
    args[i] = is_vector ? wide(w, a) : a; // immediates stay
  }
  return LLVMBuildCall2(w->builder, type, f, args, n, "");
}

static LLVMValueRef widen_load(widening *w, LLVMValueRef load) {
  LLVMTypeRef type = LLVMTypeOf(load),
              i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(w->module));
  LLVMValueRef pointers = wide(w, LLVMGetOperand(load, 0));
  LLVMValueRef all = LLVMGetPoison(wide_type(w, type));
  for (unsigned i = 0; i < w->lanes; i++) {
    LLVMValueRef lane = LLVMConstInt(i32, i, false);
    LLVMValueRef p = LLVMBuildExtractElement(w->builder, pointers, lane, "");
    LLVMValueRef v = LLVMBuildLoad2(w->builder, type, p, "");
    all = LLVMBuildInsertElement(w->builder, all, v, lane, "");
  }
  return all;
}

static LLVMValueRef widen_gep(widening *w, LLVMValueRef gep) {
  LLVMValueRef index[4];
  unsigned n = LLVMGetNumIndices(gep);
  if (n > 4)
    return NULL;
  for (unsigned i = 0; i < n; i++)
    index[i] = wide(w, LLVMGetOperand(gep, i + 1));
  return LLVMBuildGEP2(w->builder, LLVMGetGEPSourceElementType(gep),
                       wide(w, LLVMGetOperand(gep, 0)), index, n, "");
}

/// NULL: not an instruction that can be widened.
static LLVMValueRef widen(widening *w, LLVMValueRef in) {
  LLVMBuilderRef b = w->builder;
  LLVMOpcode op = LLVMGetInstructionOpcode(in);
  LLVMTypeRef type = LLVMTypeOf(in);
  unsigned n = (unsigned)LLVMGetNumOperands(in);
  LLVMValueRef x[3] = {NULL};
  if (op == LLVMCall)
    return widen_call(w, in);
  if (op == LLVMLoad)
    return widen_load(w, in);
  if (op == LLVMGetElementPtr)
    return widen_gep(w, in);
  for (unsigned i = 0; i < n && i < 3; i++)
    x[i] = wide(w, LLVMGetOperand(in, i));
  if (LLVMIsABinaryOperator(in))
    return LLVMBuildBinOp(b, op, x[0], x[1], "");
  if (LLVMIsACastInst(in))
    return LLVMBuildCast(b, op, x[0], wide_type(w, type), "");
  switch (op) {
  case LLVMFNeg:
    return LLVMBuildFNeg(b, x[0], "");
  case LLVMICmp:
    return LLVMBuildICmp(b, LLVMGetICmpPredicate(in), x[0], x[1], "");
  case LLVMFCmp:
    return LLVMBuildFCmp(b, LLVMGetFCmpPredicate(in), x[0], x[1], "");
  case LLVMSelect:
    return LLVMBuildSelect(b, x[0], x[1], x[2], "");
  case LLVMFreeze:
    return LLVMBuildFreeze(b, x[0], "");
  case LLVMRet:
    return LLVMBuildRet(b, x[0]);
  default:
    return NULL;
  }
}

static fe_status widen_body(widening *w, LLVMValueRef scalar,
                            LLVMValueRef vector) {
  LLVMBasicBlockRef block = LLVMGetEntryBasicBlock(scalar);
  unsigned n = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i;
       i = LLVMGetNextInstruction(i))
    n++;
  w->from = calloc(n + MAX_ARGS, 2 * sizeof *w->from);
  if (!w->from)
    return fe_error(w->diags, (fe_where){0}, NULL, "out of memory");
  w->to = w->from + n + MAX_ARGS;
  for (unsigned i = 0; i < LLVMCountParams(scalar); i++) {
    w->from[w->n] = LLVMGetParam(scalar, i);
    w->to[w->n++] = LLVMGetParam(vector, i);
  }
  fe_status status = FE_OK;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i && status == FE_OK;
       i = LLVMGetNextInstruction(i)) {
    LLVMValueRef v = widen(w, i);
    if (!v) {
      fe_report(w->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
                "an instruction of the math library has no vector form");
      status = FE_FAILED;
      break;
    }
    if (LLVMCanValueUseFastMathFlags(i) && LLVMCanValueUseFastMathFlags(v))
      LLVMSetFastMathFlags(v, LLVMGetFastMathFlags(i));
    w->from[w->n] = i;
    w->to[w->n++] = v;
  }
  free(w->from);
  return status;
}

static void make_inline(LLVMModuleRef m, LLVMValueRef f) {
  static const char name[] = "alwaysinline";
  LLVMSetLinkage(f, LLVMInternalLinkage);
  LLVMAddAttributeAtIndex(
      f, LLVMAttributeFunctionIndex,
      LLVMCreateEnumAttribute(
          LLVMGetModuleContext(m),
          LLVMGetEnumAttributeKindForName(name, sizeof name - 1), 0));
}

/// The function on vectors that `declaration` stands for.
static fe_status widen_function(fe_diags *diags, LLVMModuleRef m,
                                LLVMValueRef declaration, LLVMValueRef scalar,
                                LLVMValueRef *out) {
  LLVMTypeRef type = LLVMGlobalGetValueType(declaration);
  *out = LLVMAddFunction(m, "fe.math.wide", type);
  make_inline(m, *out);
  LLVMContextRef c = LLVMGetModuleContext(m);
  widening w = {.diags = diags, .module = m};
  w.lanes = LLVMGetVectorSize(LLVMGetReturnType(type));
  w.builder = LLVMCreateBuilderInContext(c);
  LLVMPositionBuilderAtEnd(w.builder,
                           LLVMAppendBasicBlockInContext(c, *out, ""));
  fe_status status = widen_body(&w, scalar, *out);
  LLVMDisposeBuilder(w.builder);
  return status;
}

//===-- LLVM: binding calls to the library ----------------------------------//

static bool is_prefix(const char *prefix, const char *s) {
  return !strncmp(s, prefix, strlen(prefix));
}

/// "fe.math.exp.16", "llvm.exp.v16f32", "expf"; LLVM says pow, not powf.
static bool names_row(const char *name, const row *r) {
  const char *op = r->op;
  size_t n = strlen(op);
  if (!strcmp(name, r->libm))
    return true;
  if (is_prefix(PREFIX, name)) {
    name += strlen(PREFIX);
  } else if (is_prefix("llvm.", name)) {
    name += strlen("llvm.");
    if (!strcmp(op, "powf"))
      n--;
  } else {
    return false;
  }
  return !strncmp(name, op, n) && name[n] == '.';
}

static bool is_f32(LLVMTypeRef t, bool *vector) {
  *vector = LLVMGetTypeKind(t) == LLVMVectorTypeKind;
  if (*vector)
    t = LLVMGetElementType(t);
  return LLVMGetTypeKind(t) == LLVMFloatTypeKind;
}

typedef struct binding {
  LLVMValueRef declaration;
  const row *row;
  bool vector;
} binding;
#define MAX_BINDINGS 128

static unsigned find_bindings(LLVMModuleRef m, binding *out) {
  unsigned n = 0;
  for (LLVMValueRef f = LLVMGetFirstFunction(m); f;
       f = LLVMGetNextFunction(f)) {
    size_t length;
    const char *name = LLVMGetValueName2(f, &length);
    bool vector;
    if (!LLVMIsDeclaration(f) || n == MAX_BINDINGS ||
        !is_f32(LLVMGetReturnType(LLVMGlobalGetValueType(f)), &vector))
      continue;
    for (size_t i = 0; i < FE_COUNT(rows); i++)
      if (names_row(name, &rows[i])) {
        out[n++] = (binding){f, &rows[i], vector};
        break;
      }
  }
  return n;
}

fe_status fe_mathlib_link(fe_diags *diags, LLVMModuleRef m) {
  binding bindings[MAX_BINDINGS];
  unsigned n = find_bindings(m, bindings);
  if (!n)
    return FE_OK;
  if (fe_bitcode_link(diags, m, fe_runtime_math_bc, fe_runtime_math_bc_size) ==
      FE_FAILED)
    return FE_FAILED;
  for (unsigned i = 0; i < n; i++) {
    binding *b = &bindings[i];
    LLVMValueRef f = LLVMGetNamedFunction(m, b->row->function);
    if (b->vector &&
        widen_function(diags, m, b->declaration, f, &f) == FE_FAILED)
      return FE_FAILED;
    LLVMReplaceAllUsesWith(b->declaration, f);
    LLVMDeleteFunction(b->declaration);
  }
  for (size_t i = 0; i < FE_COUNT(rows); i++)
    make_inline(m, LLVMGetNamedFunction(m, rows[i].function));
  return FE_OK;
}
