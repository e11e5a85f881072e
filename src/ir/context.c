//===- context.c - contexts, diagnostics, passes, text -----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes MLIR contexts and carries what MLIR says about errors to the one sink
// of the session, with the model's node name taken from the location. Keeps
// nothing but MLIR's own process-wide list of passes, filled once.
//
//===----------------------------------------------------------------------===//
#include "ir/ir.h"

#include <mlir-c/Diagnostics.h>
#include <mlir-c/Dialect/IRDL.h>
#include <mlir-c/Dialect/LLVM.h>
#include <mlir-c/Pass.h>
#include <mlir-c/RegisterEverything.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

//===-- Locations -----------------------------------------------------------//

static MlirStringRef loc_name(MlirLocation loc) {
  MlirStringRef none = {0};
  if (mlirLocationIsNull(loc))
    return none;
  if (mlirLocationIsAName(loc)) {
    MlirStringRef s = mlirIdentifierStr(mlirLocationNameGetName(loc));
    return s.length ? s : loc_name(mlirLocationNameGetChildLoc(loc));
  }
  if (mlirLocationIsACallSite(loc))
    return loc_name(mlirLocationCallSiteGetCallee(loc));
  if (mlirLocationIsAFused(loc)) {
    MlirLocation parts[16];
    unsigned n = mlirLocationFusedGetNumLocations(loc);
    if (n > FE_COUNT(parts))
      return none;
    mlirLocationFusedGetLocations(loc, parts);
    for (unsigned i = 0; i < n; i++) {
      MlirStringRef s = loc_name(parts[i]);
      if (s.length)
        return s;
    }
  }
  return none;
}

/// The place in a text file; false when the location has none.
static bool loc_place(MlirLocation loc, int *line, int *column) {
  if (mlirLocationIsAName(loc))
    return loc_place(mlirLocationNameGetChildLoc(loc), line, column);
  if (!mlirLocationIsAFileLineColRange(loc))
    return false;
  *line = mlirLocationFileLineColRangeGetStartLine(loc);
  *column = mlirLocationFileLineColRangeGetStartColumn(loc);
  return true;
}

MlirLocation fe_loc_name(fe_ir *ir, const char *node) {
  MlirLocation unknown = mlirLocationUnknownGet(ir->ctx);
  return node && *node ? mlirLocationNameGet(ir->ctx, fe_str(node), unknown)
                       : unknown;
}

const char *fe_loc_node(fe_ir *ir, MlirLocation loc) {
  MlirStringRef s = loc_name(loc);
  return s.length ? fe_strndup(ir->arena, s.data, s.length) : NULL;
}

//===-- Diagnostics ---------------------------------------------------------//

/// Notes of MLIR often print a whole function.
#define NOTE_LIMIT 400

typedef struct sink {
  fe_diags *diags;
  const char *file; // of the text being parsed; NULL: not parsing
} sink;

void fe_printed_add(MlirStringRef s, void *user) {
  fe_printed *t = user;
  fe_buf_add(t->arena, &t->buf, s.data, s.length);
}

static const char *diag_text(fe_arena *arena, MlirDiagnostic d) {
  fe_printed t = {.arena = arena};
  mlirDiagnosticPrint(d, fe_printed_add, &t);
  return t.buf.n ? t.buf.at : "";
}

static MlirLogicalResult on_diagnostic(MlirDiagnostic d, void *user) {
  const sink *to = user;
  fe_diags *diags = to->diags;
  fe_severity severity = FE_SEV_NOTE;
  // While a text is read the text is at fault, otherwise what we built.
  if (mlirDiagnosticGetSeverity(d) == MlirDiagnosticError)
    severity = to->file ? FE_SEV_ERROR : FE_SEV_INTERNAL;
  else if (mlirDiagnosticGetSeverity(d) == MlirDiagnosticWarning)
    severity = FE_SEV_WARNING;
  MlirLocation loc = mlirDiagnosticGetLocation(d);
  MlirStringRef node = loc_name(loc);
  fe_where where = {.file = to->file};
  if (node.length)
    where.node = fe_strndup(diags->arena, node.data, node.length);
  const char *message = diag_text(diags->arena, d);
  int line, column;
  if (to->file && loc_place(loc, &line, &column))
    fe_report(diags, severity, where, NULL, "%d:%d: %s", line, column, message);
  else
    fe_report(diags, severity, where, NULL, "%s", message);
  for (intptr_t i = 0; i < mlirDiagnosticGetNumNotes(d); i++) {
    const char *note = diag_text(diags->arena, mlirDiagnosticGetNote(d, i));
    if (*note)
      fe_report(diags, FE_SEV_NOTE, where, NULL, "%.*s", NOTE_LIMIT, note);
  }
  return mlirLogicalResultSuccess();
}

//===-- Contexts ------------------------------------------------------------//

static void register_passes(void) { mlirRegisterAllPasses(); }

static bool load_irdl(MlirContext ctx, fe_diags *diags, const char *irdl) {
  MlirModule m = mlirModuleCreateParse(ctx, fe_str(irdl));
  bool ok = !mlirModuleIsNull(m) &&
            !mlirLogicalResultIsFailure(mlirLoadIRDLDialects(m));
  if (!mlirModuleIsNull(m))
    mlirModuleDestroy(m);
  if (!ok)
    fe_report(diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
              "the definition of a dialect was rejected");
  return ok;
}

MlirContext fe_context_create(fe_diags *diags, const char *const *irdl,
                              unsigned n_irdl) {
  // The list of passes belongs to the process, and threads make contexts.
  static pthread_once_t passes_once = PTHREAD_ONCE_INIT;
  pthread_once(&passes_once, register_passes);
  MlirContext ctx = mlirContextCreateWithThreading(false);
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterAllDialects(registry);
  mlirContextAppendDialectRegistry(ctx, registry);
  mlirDialectRegistryDestroy(registry);
  mlirRegisterAllLLVMTranslations(ctx);
  // for kernel.call (docs/architecture.md); fe_op refuses all other names
  mlirContextSetAllowUnregisteredDialects(ctx, true);
  sink *to = FE_NEW(diags->arena, sink);
  to->diags = diags;
  mlirContextAttachDiagnosticHandler(ctx, on_diagnostic, to, NULL);
  for (unsigned i = 0; i < n_irdl; i++)
    if (!load_irdl(ctx, diags, irdl[i])) {
      mlirContextDestroy(ctx);
      return (MlirContext){0};
    }
  return ctx;
}

void fe_ir_init(fe_ir *ir, MlirContext ctx, fe_arena *arena, fe_diags *diags,
                fe_blobs *blobs) {
  // Dialects are loaded on first use (see fe_op and MLIR's parser); types and
  // attributes made through C functions need theirs now.
  static const char *const dialects[] = {"func", "arith", "scf", "memref",
                                         "llvm", "math",  "cf",  "vector"};
  *ir = (fe_ir){.ctx = ctx, .arena = arena, .diags = diags, .blobs = blobs};
  for (unsigned i = 0; i < FE_COUNT(dialects); i++)
    mlirContextGetOrLoadDialect(ctx, fe_str(dialects[i]));
  ir->loc = mlirLocationUnknownGet(ctx);
  ir->contract =
      mlirAttributeParseGet(ctx, fe_str("#arith.fastmath<contract>"));
  mlirContextGetOrLoadDialect(ctx, fe_str("linalg"));
  ir->parallel =
      mlirAttributeParseGet(ctx, fe_str("#linalg.iterator_type<parallel>"));
  ir->reduction =
      mlirAttributeParseGet(ctx, fe_str("#linalg.iterator_type<reduction>"));
  ir->index = mlirIndexTypeGet(ctx);
  ir->i1 = mlirIntegerTypeGet(ctx, 1);
  ir->i8 = mlirIntegerTypeGet(ctx, 8);
  ir->i16 = mlirIntegerTypeGet(ctx, 16);
  ir->i32 = mlirIntegerTypeGet(ctx, 32);
  ir->i64 = mlirIntegerTypeGet(ctx, 64);
  ir->f16 = mlirF16TypeGet(ctx);
  ir->bf16 = mlirBF16TypeGet(ctx);
  ir->f32 = mlirF32TypeGet(ctx);
  ir->f64 = mlirF64TypeGet(ctx);
  ir->none = mlirNoneTypeGet(ctx);
  ir->ptr = mlirLLVMPointerTypeGet(ctx, 0);
}

void fe_ir_fail(fe_ir *ir, const char *fmt, ...) {
  if (ir->failed)
    return;
  ir->failed = true;
  va_list args;
  char message[256];
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  const char *node = fe_loc_node(ir, ir->loc);
  ir->failure = node ? fe_printf(ir->arena, "%s (at %s)", message, node)
                     : fe_strdup(ir->arena, message);
}

fe_status fe_ir_ok(fe_ir *ir, const char *phase, MlirModule module) {
  if (ir->failed) {
    // A null value usually follows from an error that was reported already.
    if (!ir->diags->errors)
      fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
                "malformed operation in phase %s: %s", phase, ir->failure);
    return FE_FAILED;
  }
  if (mlirModuleIsNull(module))
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "there is no module after phase %s", phase);
  if (mlirOperationVerify(mlirModuleGetOperation(module)))
    return FE_OK;
  fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
            "the module is not valid after phase %s", phase);
  return FE_FAILED;
}

//===-- Passes --------------------------------------------------------------//

fe_status fe_run_passes(fe_ir *ir, MlirOperation op, const char *pipeline) {
  unsigned before = ir->diags->errors;
  // Passes crash on IR that is not valid. What comes out of them is trusted
  // until the end of the phase: checking after each pass doubles their time.
  bool failed = mlirOperationIsNull(op) || !mlirOperationVerify(op);
  if (!failed) {
    MlirPassManager pm = mlirPassManagerCreate(ir->ctx);
    mlirPassManagerEnableVerifier(pm, false);
    fe_printed t = {.arena = ir->arena};
    failed = mlirLogicalResultIsFailure(
        mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(pm),
                              fe_str(pipeline), fe_printed_add, &t));
    if (failed && t.buf.n)
      fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL, "%s",
                t.buf.at);
    if (!failed)
      failed = mlirLogicalResultIsFailure(mlirPassManagerRunOnOp(pm, op));
    mlirPassManagerDestroy(pm);
  }
  if (failed && ir->diags->errors == before)
    fe_report(ir->diags, FE_SEV_INTERNAL, (fe_where){0}, NULL,
              "the passes %.200s failed", pipeline);
  return failed ? FE_FAILED : FE_OK;
}

//===-- Text ----------------------------------------------------------------//

static char *print(fe_arena *arena, MlirOperation op, bool locations) {
  fe_printed t = {.arena = arena};
  if (!mlirOperationIsNull(op)) {
    MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
    mlirOpPrintingFlagsEnableDebugInfo(flags, locations, false);
    // else every print verifies first; phases end with fe_ir_ok
    mlirOpPrintingFlagsAssumeVerified(flags);
    // else the whole module is numbered to print one function of it
    if (!mlirOperationIsNull(mlirOperationGetParentOperation(op)))
      mlirOpPrintingFlagsUseLocalScope(flags);
    mlirOperationPrintWithFlags(op, flags, fe_printed_add, &t);
    mlirOpPrintingFlagsDestroy(flags);
  }
  return t.buf.n ? t.buf.at : fe_strdup(arena, "");
}

char *fe_print(fe_arena *arena, MlirOperation op) {
  return print(arena, op, false);
}

char *fe_print_full(fe_arena *arena, MlirOperation op) {
  return print(arena, op, true);
}

/// MLIR's parser recurses: what is nested deeper than any model would end the
/// process by overrunning the stack.
static bool nested_too_deep(const char *s) {
  enum { DEEPEST = 200, LONGEST = 5000 };
  unsigned depth = 0, angles = 0, signs = 0;
  for (; *s; s++) {
    if (*s == '"') {
      for (s++; *s && *s != '"'; s++)
        s += *s == '\\' && s[1];
      if (!*s)
        return false;
    } else if (strchr("([{", *s)) {
      depth++;
    } else if (strchr(")]}", *s)) {
      depth -= depth > 0;
    } else if (*s == '<') {
      angles++;
    } else if (*s == '>') {
      angles -= angles > 0 && s[-1] != '-';
    }
    // Operators in a line: a long sum in an affine map recurses too. Those of
    // numbers (-1, 1e+2) are no operators.
    bool sign =
        (*s == '+' || *s == '-' || *s == '*') && !strchr(">0123456789", s[1]);
    signs = *s == '\n' ? 0 : signs + sign;
    if (depth > DEEPEST || angles > DEEPEST || signs > LONGEST)
      return true;
  }
  return false;
}

MlirModule fe_parse(fe_ir *ir, const char *source, const char *file) {
  unsigned before = ir->diags->errors;
  static const char bytecode[] = "ML\xefR"; // its reader trusts what it reads
  const char *wrong = !strncmp(source, bytecode, strlen(bytecode))
                          ? "MLIR's bytecode is not read, only its text form"
                      : nested_too_deep(source) ? "nested too deep to be read"
                                                : NULL;
  if (wrong) {
    fe_report(ir->diags, FE_SEV_ERROR, (fe_where){.file = file}, NULL, "%s",
              wrong);
    return (MlirModule){0};
  }
  // Handlers are asked newest first.
  sink to = {.diags = ir->diags, .file = file ? file : "<text>"};
  MlirDiagnosticHandlerID id =
      mlirContextAttachDiagnosticHandler(ir->ctx, on_diagnostic, &to, NULL);
  MlirModule m = mlirModuleCreateParse(ir->ctx, fe_str(source));
  mlirContextDetachDiagnosticHandler(ir->ctx, id);
  if (mlirModuleIsNull(m) && ir->diags->errors == before)
    fe_report(ir->diags, FE_SEV_ERROR, (fe_where){.file = to.file}, NULL,
              "this is not a module in MLIR's text form");
  return m;
}
