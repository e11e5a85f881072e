//===- case.c - one official case --------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: compile the model in this process for the host, run it on every data
// set of the case, compare all outputs. The light cases come without inputs:
// theirs is arange(n)/n in the shape of the first graph input. A run must give
// back every block that it takes but the outputs; under the sanitizers,
// compiling, running and what destroys a program must leave nothing behind.
//
//===----------------------------------------------------------------------===//
#include "conformance.h"

#include "ferrule/compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

typedef struct session {
  bool by_chance; // a value differs that the standard leaves to chance
  fe_arena *arena;
  fe_diags diags;
  const char *first; // message of the first error
  const onnx_ModelProto *proto;
  const ferrule_model *model;
  fe_vec(void *) inputs; // their memory
  size_t live;           // blocks that runs have taken and not given back
} session;

/// The operator of a model with one node, or "(several)".
static const char *subject(const test_case *c, const onnx_GraphProto *g) {
  if (c->light)
    return "(network)";
  if (strstr(c->name, "_expanded"))
    return "(expanded)";
  const char *op = NULL;
  for (size_t i = 0; i < g->node.n; i++) {
    const onnx_NodeProto *n = FE_PROTO_AT(NodeProto, g->node, i);
    if (!n->op_type || strcmp(n->op_type, "Constant") == 0)
      continue;
    if (op && strcmp(op, n->op_type) != 0)
      return "(several)";
    op = n->op_type;
  }
  return op ? op : "Constant";
}

static void keep_first(void *user, const ferrule_diagnostic *d) {
  session *s = user;
  if (d->severity < FERRULE_ERROR || s->first)
    return;
  s->first = fe_printf(s->arena, "%s%s%s%s%s", d->op ? d->op : "",
                       d->op ? ": " : "", d->message, d->attribute ? ": " : "",
                       d->attribute ? d->attribute : "");
}

static fe_value_kind kind_of(const onnx_ValueInfoProto *v) {
  if (v->type && v->type->sequence_type)
    return FE_VALUE_SEQUENCE;
  if (v->type && v->type->optional_type)
    return FE_VALUE_OPTIONAL;
  return FE_VALUE_TENSOR;
}

/// Reads DIR/STEM_K.pb. An absent file: false.
static bool read_value(session *s, const char *path,
                       const onnx_ValueInfoProto *info, fe_value *out) {
  fe_file file;
  fe_source *source = FE_NEW(s->arena, fe_source);
  if (access(path, R_OK) || fe_file_map(&s->diags, path, &file))
    return false;
  fe_source_init(source, &s->diags, s->arena, path, file.data, file.size);
  if (fe_value_read(source, kind_of(info), out))
    return false;
  // The older data has bfloat16 as its bits.
  const onnx_TensorType *t = info->type ? info->type->tensor_type : NULL;
  if (out->kind == FE_VALUE_TENSOR && t && t->elem_type == FE_BF16 &&
      out->tensor.dtype == FE_U16)
    out->tensor.dtype = FE_BF16;
  return true;
}

/// Memory for an input.
static void *input_room(session *s, size_t size) {
  void *p = aligned_alloc(64, (size / 64 + 1) * 64);
  fe_push(s->arena, &s->inputs, p);
  return p;
}

/// The value as the model takes it.
static void to_run(session *s, const fe_value *v, ferrule_tensor *out) {
  if (v->kind == FE_VALUE_TENSOR) {
    const fe_tensor *t = &v->tensor;
    *out =
        (ferrule_tensor){.dtype = (int32_t)t->dtype, .rank = (int32_t)t->rank};
    memcpy(out->dims, t->dims, t->rank * sizeof *t->dims);
    if (t->dtype != FE_STRING) {
      out->data = input_room(s, t->size);
      if (out->data && t->size)
        memcpy(out->data, t->data, t->size);
      return;
    }
    ferrule_string *texts =
        FE_NEW_N(s->arena, ferrule_string, (size_t)t->count + 1);
    for (int64_t i = 0; i < t->count; i++)
      texts[i] =
          (ferrule_string){(const char *)t->text[i].at, (int64_t)t->text[i].n};
    out->data = texts;
    return;
  }
  ferrule_tensor *items = FE_NEW_N(s->arena, ferrule_tensor, v->n + 1);
  for (size_t i = 0; i < v->n; i++)
    to_run(s, &v->items[i], &items[i]);
  const void **place = FE_NEW(s->arena, const void *);
  bool sequence = v->kind == FE_VALUE_SEQUENCE;
  *out = (ferrule_tensor){
      .data = place, .dtype = sequence ? FERRULE_SEQUENCE : FERRULE_OPTIONAL};
  *place = v->n ? items : NULL;
  if (sequence) {
    ferrule_sequence *all = FE_NEW(s->arena, ferrule_sequence);
    *all = (ferrule_sequence){(int64_t)v->n, items};
    *place = all;
  }
}

/// Index of the model's input or output called `name`, or `position`.
static uint32_t value_index(const ferrule_value_info *infos, uint32_t n,
                            const char *name, uint32_t position) {
  for (uint32_t i = 0; i < n; i++)
    if (strcmp(infos[i].name, name) == 0)
      return i;
  return position;
}

static void *allocate(void *user, size_t bytes) {
  session *s = user;
  void *block = aligned_alloc(64, (bytes / 64 + 1) * 64);
  s->live += block != NULL;
  return block;
}

static void release(void *user, void *block) {
  session *s = user;
  s->live -= block != NULL;
  free(block);
}

/// The light cases' input: arange(n) / n, in the shape that the file declares.
static void fill_light(session *s, ferrule_tensor *in,
                       const onnx_ValueInfoProto *info) {
  int64_t n = 1;
  const fe_list *dims = &info->type->tensor_type->shape->dim;
  in->dtype = info->type->tensor_type->elem_type;
  in->rank = (int32_t)dims->n;
  for (int32_t d = 0; d < in->rank; d++) {
    const onnx_Dimension *dim = FE_PROTO_AT(Dimension, *dims, (size_t)d);
    n *= in->dims[d] = dim->dim_value > 0 ? dim->dim_value : 1;
  }
  float *data = input_room(s, (size_t)n * sizeof *data);
  for (int64_t i = 0; i < n; i++)
    data[i] = (float)i / (float)n;
  in->data = data;
}

/// Whether operators of the model make numbers that the standard, even where
/// they have a seed, does not determine.
static bool is_random(const onnx_GraphProto *g) {
  static const char *const ops[] = {"Bernoulli",     "Multinomial",
                                    "RandomNormal",  "RandomNormalLike",
                                    "RandomUniform", "RandomUniformLike"};
  for (size_t i = 0; i < g->node.n; i++) {
    const onnx_NodeProto *n = FE_PROTO_AT(NodeProto, g->node, i);
    for (size_t k = 0; k < FE_COUNT(ops); k++)
      if (n->op_type && strcmp(n->op_type, ops[k]) == 0)
        return true;
  }
  return false;
}

/// Runs one data set; NULL, or what is wrong.
static const char *run_set(session *s, const test_case *c, const char *dir) {
  const ferrule_model *m = s->model;
  const onnx_GraphProto *g = s->proto->graph;
  ferrule_tensor *in = FE_NEW_N(s->arena, ferrule_tensor, m->n_inputs);
  ferrule_tensor *out = FE_NEW_N(s->arena, ferrule_tensor, m->n_outputs);
  for (uint32_t i = 0; !c->light && i < g->input.n; i++) {
    const onnx_ValueInfoProto *info = FE_PROTO_AT(ValueInfoProto, g->input, i);
    uint32_t k = value_index(m->inputs, m->n_inputs, info->name, UINT32_MAX);
    fe_value v;
    if (k == UINT32_MAX)
      continue; // an unused input
    if (!read_value(s, fe_printf(s->arena, "%s/input_%u.pb", dir, i), info, &v))
      return fe_printf(s->arena, "input %u cannot be read", i);
    to_run(s, &v, &in[k]);
  }
  if (c->light)
    for (uint32_t i = 0; i < g->input.n; i++) {
      const onnx_ValueInfoProto *v = FE_PROTO_AT(ValueInfoProto, g->input, i);
      if (strcmp(v->name, m->inputs->name) == 0)
        fill_light(s, in, v);
    }

  int64_t symbols[FERRULE_MAX_SYMBOLS];
  int status = ferrule_model_symbols(m, in, symbols);
  if (status)
    return fe_printf(s->arena, "inputs: %s", ferrule_model_message(m, status));
  void *memory = allocate(s, (size_t)m->arena_size(symbols));
  ferrule_run_options options = {
      .allocate = allocate, .release = release, .user = s};
  status = ferrule_model_run(m, in, out, memory, &options);
  if (status)
    return fe_printf(s->arena, "run: %s", ferrule_model_message(m, status));

  for (uint32_t i = 0; i < g->output.n; i++) {
    const onnx_ValueInfoProto *info = FE_PROTO_AT(ValueInfoProto, g->output, i);
    uint32_t k = value_index(m->outputs, m->n_outputs, info->name, i);
    fe_value want;
    const char *path =
        c->light ? c->data : fe_printf(s->arena, "%s/output_%u.pb", dir, i);
    if (!read_value(s, path, info, &want))
      return fe_printf(s->arena, "expected output %u cannot be read", i);
    const char *why = compare_values(s->arena, &out[k], &want);
    if (why && is_random(g) && want.kind == FE_VALUE_TENSOR &&
        admissible(&out[k], &want.tensor))
      s->by_chance = true;
    else if (why)
      return fe_printf(s->arena, "%s: %s", info->name, why);
  }
  release(s, memory);
  for (uint32_t i = 0; i < m->n_outputs; i++)
    release(s, out[i].data);
  for (size_t i = 0; i < s->inputs.n; i++)
    free(s->inputs.at[i]);
  s->inputs.n = 0;
  return s->live ? fe_printf(s->arena, "%zu blocks were not given back by runs",
                             s->live)
                 : NULL;
}

/// Memory that nothing points to any more; where it came from is on stderr.
static bool leaks(void) {
#ifdef __SANITIZE_ADDRESS__
  return __lsan_do_recoverable_leak_check() != 0;
#else
  return false;
#endif
}

static double processor_seconds(const struct rusage *u) {
  return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
         (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1e-6;
}

/// As case_run; *why is set where the outcome is not PASSED.
static outcome compile_and_run(session *s, const test_case *c, result *out,
                               const char **why) {
  fe_file file;
  onnx_ModelProto *proto;
  *why = "the model cannot be read";
  snprintf(out->op, sizeof out->op, "(unread)");
  if (fe_file_map(&s->diags, c->model, &file) ||
      fe_proto_model(&s->diags, s->arena, c->model, file.data, file.size,
                     &proto) ||
      !proto->graph)
    return FAILED;
  s->proto = proto;
  snprintf(out->op, sizeof out->op, "%s", subject(c, proto->graph));

  static const ferrule_open_dim all = {"*", NULL};
  ferrule_program *program;
  ferrule_options options = {.opt_level = 1,
                             .threads = 1,
                             .diagnostic = keep_first,
                             .user = s,
                             .open_dims = &all,
                             .n_open_dims = c->mode == DYNAMIC};
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  ferrule_status status = ferrule_load(c->model, &options, &program);
  getrusage(RUSAGE_SELF, &after);
  out->seconds = processor_seconds(&after) - processor_seconds(&before);
  out->peak = (int64_t)after.ru_maxrss * 1024;
  if (status != FERRULE_OK) {
    *why = s->first ? s->first : "no diagnostic";
    return status == FERRULE_REFUSED && s->first ? REFUSED : FAILED;
  }
  s->model = ferrule_program_model(program);
  unsigned sets = 0;
  for (;; sets++) {
    const char *dir = fe_printf(s->arena, "%s/test_data_set_%u", c->data, sets);
    if (c->light ? sets : access(dir, R_OK) != 0)
      break;
    *why = run_set(s, c, dir);
    if (*why)
      return FAILED;
  }
  ferrule_program_destroy(program);
  *why = !sets     ? "the case has no data"
         : leaks() ? "memory was not given back"
                   : "";
  if (**why)
    return FAILED;
  return s->by_chance ? RANDOM : PASSED;
}

void case_run(fe_arena *arena, const test_case *c, result *out) {
  session s = {.arena = arena};
  const char *why;
  s.diags = (fe_diags){.arena = arena, .file = c->model};
  out->outcome = compile_and_run(&s, c, out, &why);
  snprintf(out->why, sizeof out->why, "%s", why);
}
