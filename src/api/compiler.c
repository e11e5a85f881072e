//===- compiler.c - the public API ----------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ferrule/compiler.h"

#include "api/session.h"
#include "emit/emit.h"

#include <stdlib.h>
#include <string.h>

struct ferrule_program {
  fe_jit *jit;
};

const char *ferrule_version(void) { return FERRULE_VERSION; }

/// What a call wants: exactly one of output, phase with output, program.
typedef struct fe_request {
  bool memory, print; // which call it is
  const char *path;
  const void *data; // NULL: read the file
  size_t size;
  const char *phase;
  const char *output;
  ferrule_program **program;
} fe_request;

static ferrule_status read_model(fe_session *s, const fe_request *r) {
  return r->memory ? fe_session_read_memory(s, r->data, r->size, r->path)
                   : fe_session_read(s, r->path);
}

/// "dir/mnist8.onnx" -> "mnist8"
static const char *stem(fe_arena *arena, const char *path) {
  const char *slash = strrchr(path, '/');
  const char *base = slash ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  return fe_strndup(arena, base,
                    dot && dot != base ? (size_t)(dot - base) : strlen(base));
}

static fe_emit_options emit_options(const fe_session *s, const fe_request *r) {
  return (fe_emit_options){.target = s->pass.target,
                           .artifact = FE_ARTIFACT_JIT,
                           .path = r->output,
                           .prefix = s->options.prefix,
                           .name = s->options.name ? s->options.name
                                   : *r->path      ? stem(s->arena, r->path)
                                                   : "model",
                           .compiler = "ferrule " FERRULE_VERSION,
                           .opt = s->pass.opt_level,
                           .threads = (unsigned)s->options.threads,
                           .weights_beside = s->options.weights_beside,
                           .header = s->options.header,
                           .profile = s->options.profile};
}

static ferrule_status emit(fe_session *s, const fe_request *r) {
  fe_emit_options o = emit_options(s, r);
  if (r->output && !fe_artifact_of(r->output, &o.artifact))
    return FERRULE_USAGE; // reported before
  if (s->options.progress)
    s->options.progress(s->options.user, "emit");
  fe_jit *jit = NULL;
  if (fe_emit(&s->ir, s->module, &o, &jit) != FE_OK)
    return fe_session_failed(s);
  if (!r->program)
    return FERRULE_OK;
  *r->program = malloc(sizeof **r->program);
  if (!*r->program) {
    fe_jit_destroy(jit);
    longjmp(s->oom, 1);
  }
  (*r->program)->jit = jit;
  return FERRULE_OK;
}

//===-- Several levels ------------------------------------------------------//

typedef struct fe_ladder {
  const fe_request *request;
  fe_emission *emission;
} fe_ladder;

static ferrule_status add_level(fe_session *s, void *user) {
  fe_ladder *l = user;
  const fe_request *r = l->request;
  fe_emit_options o = emit_options(s, r);
  o.level = true;
  if (!fe_artifact_of(r->output, &o.artifact))
    return FERRULE_USAGE;
  ferrule_status status = read_model(s, r);
  if (status == FERRULE_OK)
    status = fe_session_run(s, NULL);
  if (status == FERRULE_OK &&
      fe_emission_add(l->emission, &s->ir, s->module, &o) != FE_OK)
    status = fe_session_failed(s);
  return status;
}

static ferrule_status emit_levels(fe_session *s, void *user) {
  fe_ladder *l = user;
  fe_emit_options o = emit_options(s, l->request);
  if (!fe_artifact_of(l->request->output, &o.artifact))
    return FERRULE_USAGE;
  if (s->options.progress)
    s->options.progress(s->options.user, "emit");
  return fe_emission_end(l->emission, &s->ir, &o) == FE_OK
             ? FERRULE_OK
             : fe_session_failed(s);
}

static ferrule_status compile_levels(fe_session *s, const fe_request *r) {
  fe_emit_options o = emit_options(s, r);
  fe_request once = *r; // the file is mapped once
  if (!r->memory) {
    if (fe_file_map(&s->diags, r->path, &s->file) != FE_OK)
      return FERRULE_REFUSED;
    once.memory = true;
    once.data = s->file.data;
    once.size = s->file.size;
  }
  fe_ladder l = {.request = &once};
  if (fe_emission_begin(&s->ir, &o, &l.emission) != FE_OK)
    return fe_session_failed(s);
  ferrule_status status = fe_session_levels(
      s, &(fe_levels_work){r->path, add_level, emit_levels, &l});
  fe_emission_drop(l.emission);
  return status;
}

//===-- Requests ------------------------------------------------------------//

/// Reports, before the work is done, what cannot be written.
static ferrule_status check_kind(fe_session *s, const fe_request *r) {
  fe_artifact kind;
  if (r->phase && s->n_levels) {
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.attr = "target"},
              "name one level", "a phase is of one level at a time");
    return FERRULE_USAGE;
  }
  if (r->phase || !r->output)
    return FERRULE_OK;
  if (!fe_artifact_of(r->output, &kind))
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.file = r->output},
              "end its name in .so, .o, .a, .ll or .s",
              "cannot tell what kind of file to write");
  else if (s->n_levels && (kind == FE_ARTIFACT_LLVM || kind == FE_ARTIFACT_ASM))
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.file = r->output},
              "name one level, or write a .so, .o or .a",
              "LLVM IR and assembly are for one level of a processor");
  return s->diags.errors ? FERRULE_USAGE : FERRULE_OK;
}

/// What is not given though it has to be, or is out of range; NULL: nothing.
static const char *what_is_wrong(const fe_request *r,
                                 const ferrule_options *o) {
  if (!r->path)
    return "path is NULL";
  if (r->memory && !r->data)
    return "model is NULL";
  if (!r->output && !r->program)
    return "output is NULL";
  if (r->print && !r->phase)
    return "phase is NULL";
  if (o->opt_level < 0 || o->opt_level > 3)
    return "options.opt_level is not from 0 to 3";
  if (o->threads < 0)
    return "options.threads is negative";
  if ((o->n_dims && !o->dims) || (o->n_open_dims && !o->open_dims))
    return "options say how many dims, not which";
  for (size_t i = 0; i < o->n_dims; i++)
    if (!o->dims[i].name)
      return "a name in options.dims is NULL";
  for (size_t i = 0; i < o->n_open_dims; i++)
    if (!o->open_dims[i].name)
      return "a name in options.open_dims is NULL";
  return NULL;
}

static ferrule_status check_request(fe_session *s, const fe_request *r) {
  const char *wrong = what_is_wrong(r, &s->options);
  if (wrong)
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){0}, NULL, "%s", wrong);
  else if (r->program && !fe_target_runs_here(s->pass.target))
    fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.attr = "target"},
              "compile it to a .so, and run that on such a machine",
              "this machine cannot run code for %s", s->pass.target->name);
  return s->diags.errors ? FERRULE_USAGE : FERRULE_OK;
}

/// What is written must not be what is read, nor be written twice. A dump may
/// take the place of the dump that it goes on from.
static ferrule_status check_places(fe_session *s, const fe_request *r) {
  const char *header = s->options.header, *twice = NULL;
  bool dump = r->phase && fe_is_dump(r->path);
  if (r->output && !dump && fe_same_file(r->output, r->path))
    twice = r->output;
  if (header && r->output &&
      (fe_same_file(header, r->path) || !strcmp(header, r->output) ||
       fe_same_file(header, r->output)))
    twice = header;
  if (!twice)
    return FERRULE_OK;
  fe_report(&s->diags, FE_SEV_ERROR, (fe_where){.file = twice},
            "give it a name of its own",
            "the model or another output has this name");
  return FERRULE_USAGE;
}

static ferrule_status work(fe_session *s, void *user) {
  const fe_request *r = user;
  ferrule_status status = check_request(s, r);
  if (status != FERRULE_OK)
    return status;
  if ((status = check_kind(s, r)) != FERRULE_OK)
    return status;
  if ((status = fe_session_check_phase(s, r->phase)) != FERRULE_OK)
    return status;
  if ((status = check_places(s, r)) != FERRULE_OK)
    return status;
  if (s->n_levels && !r->phase && !r->program)
    return compile_levels(s, r);
  if ((status = read_model(s, r)) != FERRULE_OK)
    return status;
  if ((status = fe_session_run(s, r->phase)) != FERRULE_OK)
    return status;
  if (!r->phase)
    return emit(s, r);
  return fe_dump_write(s, r->output) == FE_OK ? FERRULE_OK
                                              : fe_session_failed(s);
}

static ferrule_status serve(fe_request r, const ferrule_options *options) {
  return fe_session_do(options, r.path, work, &r);
}

ferrule_status ferrule_compile(const char *path, const char *output,
                               const ferrule_options *options) {
  return serve((fe_request){.path = path, .output = output}, options);
}

ferrule_status ferrule_compile_memory(const void *model, size_t size,
                                      const char *path, const char *output,
                                      const ferrule_options *options) {
  return serve((fe_request){.memory = true,
                            .path = path ? path : "",
                            .data = model,
                            .size = size,
                            .output = output},
               options);
}

ferrule_status ferrule_print(const char *path, const char *phase,
                             const char *output,
                             const ferrule_options *options) {
  return serve(
      (fe_request){
          .print = true, .path = path, .phase = phase, .output = output},
      options);
}

ferrule_status ferrule_load(const char *path, const ferrule_options *options,
                            ferrule_program **out) {
  if (out)
    *out = NULL;
  return serve((fe_request){.path = path, .program = out}, options);
}

ferrule_status ferrule_load_memory(const void *model, size_t size,
                                   const char *path,
                                   const ferrule_options *options,
                                   ferrule_program **out) {
  if (out)
    *out = NULL;
  return serve((fe_request){.memory = true,
                            .path = path ? path : "",
                            .data = model,
                            .size = size,
                            .program = out},
               options);
}

const ferrule_model *ferrule_program_model(const ferrule_program *program) {
  return fe_jit_model(program->jit);
}

ferrule_profile_entry *ferrule_program_profile(const ferrule_program *program,
                                               size_t *n) {
  return fe_jit_profile(program->jit, n);
}

void ferrule_program_destroy(ferrule_program *program) {
  if (!program)
    return;
  fe_jit_destroy(program->jit);
  free(program);
}
