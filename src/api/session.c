//===- session.c - one compilation, from file to planned module -----------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "api/session.h"
#include "target/processors.h"

#include "op/op.h"

#include <stdlib.h>
#include <string.h>

static const ferrule_severity severity_of[] = {
    [FE_SEV_NOTE] = FERRULE_NOTE,
    [FE_SEV_WARNING] = FERRULE_WARNING,
    [FE_SEV_ERROR] = FERRULE_ERROR,
    [FE_SEV_INTERNAL] = FERRULE_BUG,
};

static void forward(void *user, const fe_diag *d) {
  const fe_session *s = user;
  if (!s->options.diagnostic)
    return;
  ferrule_diagnostic out = {.severity = severity_of[d->severity],
                            .file = d->where.file,
                            .node = d->where.node,
                            .op = d->where.op,
                            .attribute = d->where.attr,
                            .message = d->message,
                            .hint = d->hint};
  s->options.diagnostic(s->options.user, &out);
}

ferrule_status fe_session_failed(const fe_session *s) {
  return s->diags.internal ? FERRULE_INTERNAL : FERRULE_REFUSED;
}

/// The prefix begins the names of C variables and functions.
static bool is_identifier(const char *s) {
  if (*s >= '0' && *s <= '9')
    return false;
  size_t n = strlen(s);
  return n > 0 && n < 200 &&
         strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                   "0123456789") == n;
}

static ferrule_status read_schedule(fe_session *s) {
  const char *path = s->options.schedule;
  fe_file file;
  if (!path)
    return FERRULE_OK;
  if (fe_file_map(&s->diags, path, &file) != FE_OK)
    return FERRULE_REFUSED;
  fe_status status =
      fe_schedules_read(&s->schedules, &s->diags, s->arena,
                        fe_strdup(s->arena, path), file.data, file.size);
  fe_file_unmap(&file);
  s->pass.schedules = &s->schedules;
  return status == FE_OK ? FERRULE_OK : FERRULE_REFUSED;
}

static bool read_precision(fe_session *s) {
  const char *name = s->options.precision ? s->options.precision : "f32";
  s->pass.bf16 = !strcmp(name, "bf16");
  s->pass.strict = !strcmp(name, "strict");
  if (s->pass.bf16 || s->pass.strict || !strcmp(name, "f32"))
    return true;
  fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.attr = "precision"},
            "choose one of: f32 bf16 strict",
            "there is no precision called '%s'", name);
  return false;
}

static ferrule_status session_open(fe_session *s,
                                   const ferrule_options *options) {
  static const ferrule_options defaults = {0};
  s->options = options ? *options : defaults;
  s->arena = fe_arena_create(&s->oom);
  s->diags = (fe_diags){.arena = s->arena, .fn = forward, .user = s};
  s->blobs = (fe_blobs){.arena = s->arena};
  const char *name = s->options.target ? s->options.target : "native";
  if (!fe_session_find_levels(s, name))
    return FERRULE_USAGE;
  if (s->n_levels) { // what runs in this process, or is only looked at
    unsigned i = s->n_levels;
    while (--i && !fe_target_runs_here(s->levels[i]))
      ;
    name = s->levels[i]->name;
    if (s->n_levels == 1)
      s->n_levels = 0; // a list of one is that one
  }
  s->pass.target = fe_target_find(name, &s->target_storage);
  s->pass.evaluate = fe_evaluate;
  s->pass.opt_level = s->options.opt_level ? s->options.opt_level : 3;
  if (!s->pass.target) {
    fe_buf known = {0};
    for (unsigned i = 0; fe_targets[i]; i++)
      fe_buf_printf(s->arena, &known, " %s", fe_targets[i]->name);
    for (const fe_processor *p = fe_processors; p->name; p++)
      fe_buf_printf(s->arena, &known, " %s", p->name);
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.attr = "target"},
              fe_printf(s->arena, "choose one of: native multi%s", known.at),
              "there is no target called '%s'", name);
    return FERRULE_USAGE;
  }
  if (!read_precision(s))
    return FERRULE_USAGE;
  if (s->options.prefix && !is_identifier(s->options.prefix)) {
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.attr = "prefix"},
              "use letters, digits and _, no digit first",
              "'%s' cannot begin a name in C", s->options.prefix);
    return FERRULE_USAGE;
  }
  const char *prepack = s->options.prepack;
  s->pass.small_weights = prepack && !strcmp(prepack, "run");
  if (prepack && !s->pass.small_weights && strcmp(prepack, "compile")) {
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.attr = "prepack"},
              "choose one of: compile run",
              "weights are not transformed at a time called '%s'", prepack);
    return FERRULE_USAGE;
  }
  const char *irdl[] = {fe_onnx_irdl(s->arena), fe_krnl_irdl};
  MlirContext ctx = fe_context_create(&s->diags, irdl, FE_COUNT(irdl));
  fe_ir_init(&s->ir, ctx, s->arena, &s->diags, &s->blobs);
  s->ir.soft_half = !s->pass.target->half;
  return s->diags.errors ? fe_session_failed(s) : read_schedule(s);
}

static void session_close(fe_session *s) {
  if (!mlirModuleIsNull(s->module))
    mlirModuleDestroy(s->module);
  if (s->ir.ctx.ptr)
    mlirContextDestroy(s->ir.ctx);
  if (s->source.arena)
    fe_source_close(&s->source);
  fe_file_unmap(&s->file);
  for (size_t i = 0; i < s->side_files.n; i++)
    fe_file_unmap(&s->side_files.at[i]);
  if (s->arena)
    fe_arena_destroy(s->arena);
  memset(s, 0, sizeof *s);
}

static void report_no_memory(const ferrule_options *options, const char *path) {
  if (!options || !options->diagnostic)
    return;
  ferrule_diagnostic d = {.severity = FERRULE_ERROR,
                          .file = path,
                          .message = "out of memory",
                          .hint = "compile on a machine with more memory"};
  options->diagnostic(options->user, &d);
}

ferrule_status fe_session_do(const ferrule_options *options, const char *path,
                             ferrule_status (*work)(fe_session *s, void *user),
                             void *user) {
  fe_session *s = calloc(1, sizeof *s);
  // read behind a longjmp
  volatile ferrule_status status = FERRULE_REFUSED;
  if (!s || setjmp(s->oom)) {
    report_no_memory(options, path);
    status = FERRULE_REFUSED;
  } else {
    status = session_open(s, options);
    if (status == FERRULE_OK)
      status = work(s, user);
  }
  if (s)
    session_close(s);
  free(s);
  return status;
}

/// Place of a phase in the order of phases; -1: there is no such phase.
static int phase_index(const char *name) {
  if (!strcmp(name, "import"))
    return 0;
  for (int i = 0; fe_phases[i].name; i++)
    if (!strcmp(fe_phases[i].name, name))
      return i + 1;
  return -1;
}

static const char *phase_list(fe_arena *arena) {
  fe_buf b = {0};
  fe_buf_printf(arena, &b, "import");
  for (int i = 0; fe_phases[i].name; i++)
    fe_buf_printf(arena, &b, ", %s", fe_phases[i].name);
  return b.at;
}

bool fe_is_dump(const char *path) {
  size_t n = strlen(path);
  return n >= 5 && !strcmp(path + n - 5, ".mlir");
}

static ferrule_status read_dump(fe_session *s, const void *data, size_t size,
                                const char *path) {
  const char *text = fe_strndup(s->arena, data, size);
  s->module = fe_parse(&s->ir, text, path);
  if (mlirModuleIsNull(s->module))
    return fe_session_failed(s);
  MlirOperation op = mlirModuleGetOperation(s->module);
  s->phase = fe_attr_str(s->arena, op, "ferrule.phase", NULL);
  if (!s->phase) {
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.attr = "ferrule.phase"},
              "write the file with --stop-after",
              "the module does not say which phase it comes from");
    return FERRULE_REFUSED;
  }
  if (phase_index(s->phase) < 0) {
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.attr = "ferrule.phase"},
              fe_printf(s->arena, "the phases are %s", phase_list(s->arena)),
              "there is no phase '%s'", s->phase);
    return FERRULE_REFUSED;
  }
  fe_symbols_load(&s->ir, s->module);
  return fe_dump_blobs(s) == FE_OK && fe_dump_check(s) == FE_OK
             ? FERRULE_OK
             : fe_session_failed(s);
}

ferrule_status fe_session_read_memory(fe_session *s, const void *data,
                                      size_t size, const char *path) {
  s->diags.file = *path ? fe_strdup(s->arena, path) : "model in memory";
  if (s->options.progress)
    s->options.progress(s->options.user, "import");
  if (fe_is_dump(path))
    return read_dump(s, data, size, path);
  fe_dim_value *dims = FE_NEW_N(s->arena, fe_dim_value, s->options.n_dims + 1);
  for (size_t i = 0; i < s->options.n_dims; i++)
    dims[i] = (fe_dim_value){s->options.dims[i].name, s->options.dims[i].value};
  fe_open_dim *open = FE_NEW_N(s->arena, fe_open_dim, s->options.n_open_dims);
  for (size_t i = 0; i < s->options.n_open_dims; i++)
    open[i] = (fe_open_dim){s->options.open_dims[i].name,
                            s->options.open_dims[i].symbol};
  fe_import_options o = {.dims = dims,
                         .n_dims = s->options.n_dims,
                         .open = open,
                         .n_open = s->options.n_open_dims};
  fe_source_init(&s->source, &s->diags, s->arena, *path ? path : NULL, data,
                 size);
  if (fe_import_onnx(&s->ir, &s->source, &o, &s->module) != FE_OK ||
      s->diags.errors)
    return fe_session_failed(s);
  fe_symbols_store(&s->ir, s->module);
  s->phase = "import";
  return fe_ir_ok(&s->ir, "import", s->module) == FE_OK ? FERRULE_OK
                                                        : FERRULE_INTERNAL;
}

ferrule_status fe_session_read(fe_session *s, const char *path) {
  s->diags.file = fe_strdup(s->arena, path);
  if (fe_file_map(&s->diags, path, &s->file) != FE_OK)
    return FERRULE_REFUSED;
  return fe_session_read_memory(s, s->file.data, s->file.size, path);
}

ferrule_status fe_session_check_phase(fe_session *s, const char *phase) {
  if (!phase || phase_index(phase) >= 0)
    return FERRULE_OK;
  fe_report(&s->diags, FE_SEV_ERROR, (fe_where){0},
            fe_printf(s->arena, "the phases are %s", phase_list(s->arena)),
            "there is no phase '%s'", phase);
  return FERRULE_USAGE;
}

ferrule_status fe_session_run(fe_session *s, const char *phase) {
  if (phase && !strcmp(phase, s->phase))
    return FERRULE_OK;
  if (phase && phase_index(phase) < phase_index(s->phase)) {
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){0},
              "start from the model, or from the dump of an earlier phase",
              "the file is past '%s' already: it is what '%s' left", phase,
              s->phase);
    return FERRULE_USAGE;
  }
  if (fe_run_phases(&s->ir, &s->module, &s->pass, s->phase, phase,
                    s->options.progress, s->options.user) != FE_OK)
    return fe_session_failed(s);
  if (phase)
    s->phase = phase;
  return FERRULE_OK;
}
