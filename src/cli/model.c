//===- model.c - a model to run, from any file ----------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cli/model.h"

#include "base/base.h"
#include "cli/npy.h"
#include "cli/values.h"
#include "ir/ir.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int fe_loaded_open(fe_cli *c, const char *path, fe_loaded *m) {
  memset(m, 0, sizeof *m);
  if (fe_is_library(path)) {
    int code = fe_library_open(c, path, &m->library, &m->model);
    if (!code)
      code = fe_library_fits(c, path, &m->model);
    if (code)
      return code;
  } else {
    double start = fe_now();
    ferrule_status s = ferrule_load(path, &c->options, &m->program);
    fe_cli_done(c);
    if (s != FERRULE_OK)
      return (int)s;
    m->compile_seconds = fe_now() - start;
    m->model = ferrule_program_model(m->program);
  }
  m->inputs = calloc(m->model->n_inputs + 1, sizeof *m->inputs);
  m->outputs = calloc(m->model->n_outputs + 1, sizeof *m->outputs);
  m->values = fe_arena_create(NULL);
  if (m->inputs && m->outputs)
    return 0;
  fe_cli_error(c, "out of memory");
  return EXIT_REFUSED;
}

void fe_loaded_close(fe_loaded *m) {
  for (unsigned i = 0; m->model && m->outputs && i < m->model->n_outputs; i++)
    free(m->outputs[i].data);
  if (m->values)
    fe_arena_destroy(m->values);
  free(m->inputs);
  free(m->outputs);
  free(m->arena);
  if (m->pool)
    ferrule_pool_destroy(m->pool);
  ferrule_program_destroy(m->program);
  if (m->library)
    dlclose(m->library);
  memset(m, 0, sizeof *m);
}

//===-- Inputs --------------------------------------------------------------//

int fe_loaded_input(fe_cli *c, fe_loaded *m, const char *name, unsigned i,
                    const char *path) {
  if (name) {
    for (i = 0; i < m->model->n_inputs; i++)
      if (!strcmp(m->model->inputs[i].name, name))
        break;
    if (i == m->model->n_inputs) {
      fe_cli_error(c, "the model has no input '%s'; 'ferrule info' lists them",
                   name);
      return EXIT_USAGE;
    }
  }
  const char *wrong =
      fe_value_from_files(m->values, path, &m->model->inputs[i], &m->inputs[i]);
  if (!wrong)
    return 0;
  fe_cli_error(c, "%s", wrong);
  return EXIT_REFUSED;
}

int fe_loaded_input_option(fe_cli *c, fe_loaded *m, const char *text) {
  const char *eq = strchr(text, '=');
  if (!eq && m->model->n_inputs == 1)
    return fe_loaded_input(c, m, NULL, 0, text);
  if (!eq)
    return fe_cli_usage(c, "--input wants NAME=FILE, not '%s'", text);
  char *name = strndup(text, (size_t)(eq - text));
  int code = name ? fe_loaded_input(c, m, name, 0, eq + 1) : EXIT_REFUSED;
  free(name);
  return code;
}

int64_t fe_symbol_option(const fe_cli *c, const char *symbol) {
  for (size_t i = 0; i < c->options.n_dims; i++)
    if (!strcmp(c->dims[i].name, symbol))
      return c->dims[i].value;
  return -1;
}

/// A value for symbol s that the inputs already set or --dim imply.
static int64_t symbol_value(const fe_cli *c, const fe_loaded *m, int64_t s) {
  for (unsigned i = 0; i < m->model->n_inputs; i++) {
    const ferrule_value_info *v = &m->model->inputs[i];
    for (int d = 0; m->inputs[i].data && d < v->rank; d++)
      if (v->dims[d] == -1 - s && d < m->inputs[i].rank)
        return m->inputs[i].dims[d];
  }
  int64_t value = fe_symbol_option(c, m->model->symbols[s]);
  return value < 0 ? 1 : value;
}

/// xorshift64*, so that runs can be repeated.
static double next_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return (double)(*state * 2685821657736338717ull >> 11) / 9007199254740992.0;
}

/// Floats in [-1, 1); integers in {0, 1}, which are valid as indices, too.
static void fill(ferrule_tensor *t, int64_t n, uint64_t *state) {
  for (int64_t i = 0; i < n; i++) {
    double u = next_random(state);
    float f = (float)(2 * u - 1);
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    switch (t->dtype) {
    case FERRULE_STRING:
      ((ferrule_string *)t->data)[i] = (ferrule_string){u < 0.5 ? "a" : "b", 1};
      break;
    case FERRULE_F32:
      ((float *)t->data)[i] = f;
      break;
    case FERRULE_F64:
      ((double *)t->data)[i] = 2 * u - 1;
      break;
    case FERRULE_BF16:
      ((uint16_t *)t->data)[i] = (uint16_t)(bits >> 16);
      break;
    case FERRULE_F16: { // sign, 5 bits of exponent, 10 of mantissa
      int exponent = (int)(bits >> 23 & 255) - 112;
      uint32_t half =
          exponent <= 0 ? 0 : (uint32_t)exponent << 10 | (bits >> 13 & 1023);
      ((uint16_t *)t->data)[i] = (uint16_t)(half | (bits >> 16 & 0x8000));
      break;
    }
    default: {
      size_t size = fe_element_size(t->dtype);
      char *at = (char *)t->data + (size_t)i * size;
      int64_t one = u < 0.5;
      float parts[2] = {f, -f};
      double wide[2] = {2 * u - 1, 1 - 2 * u};
      if (fe_dtype_is_float((fe_dtype)t->dtype)) // of at most 8 bits
        *at = (char)fe_small_code((fe_dtype)t->dtype, 2 * u - 1);
      else if (t->dtype == FERRULE_C64)
        memcpy(at, parts, sizeof parts);
      else if (t->dtype == FERRULE_C128)
        memcpy(at, wide, sizeof wide);
      else
        memcpy(at, &one, size); // little endian
    }
    }
  }
}

typedef struct fe_random {
  const fe_cli *cli;
  fe_loaded *m;
  uint64_t state;
} fe_random;

static bool random_tensor(fe_value_maker *maker, ferrule_tensor *t) {
  fe_random *r = maker->user;
  int64_t n = fe_tensor_elements(t);
  size_t size = fe_element_size(t->dtype);
  if (n < 0 || !size || (uint64_t)n > SIZE_MAX / 4 / size)
    return false;
  t->data = fe_alloc(maker->arena, (size_t)n * size + 1);
  t->capacity = (int64_t)((size_t)n * size);
  fill(t, n, &r->state);
  return true;
}

static int64_t random_dim(fe_value_maker *maker, int64_t dim) {
  fe_random *r = maker->user;
  return dim >= 0           ? dim
         : dim == INT64_MIN ? 1
                            : symbol_value(r->cli, r->m, -1 - dim);
}

int fe_loaded_randomize(fe_cli *c, fe_loaded *m, uint64_t seed) {
  fe_random r = {c, m, seed * 2654435769u + 88172645463325252ull};
  fe_value_maker maker = {random_tensor, random_dim, m->values, &r};
  for (unsigned i = 0; i < m->model->n_inputs; i++) {
    const ferrule_value_info *v = &m->model->inputs[i];
    if (m->inputs[i].data)
      continue;
    ferrule_tensor made;
    if (!fe_value_make(&maker, v, &made)) {
      fe_cli_error(c, "input '%s' cannot be made up; give --input", v->name);
      return EXIT_REFUSED;
    }
    m->inputs[i] = made;
  }
  return 0;
}

const char *fe_loaded_missing(const fe_loaded *m) {
  for (unsigned i = 0; i < m->model->n_inputs; i++)
    if (!m->inputs[i].data)
      return m->model->inputs[i].name;
  return NULL;
}

static void *take_memory(void *user, size_t bytes) {
  (void)user;
  return malloc(bytes);
}

static void give_memory(void *user, void *block) {
  (void)user;
  free(block);
}

/// Says which input does not fit.
static void show_bad_inputs(fe_cli *c, const fe_loaded *m) {
  for (unsigned i = 0; i < m->model->n_inputs; i++) {
    const ferrule_value_info *v = &m->model->inputs[i];
    const ferrule_tensor *t = &m->inputs[i];
    bool fits = t->dtype == v->dtype && t->rank == v->rank;
    for (int d = 0; fits && d < v->rank; d++)
      fits = v->dims[d] < 0 || v->dims[d] == t->dims[d];
    const char *want = fe_value_text(m->values, v, m->model->symbols);
    if (!fits) {
      ferrule_value_info got = {
          .dtype = t->dtype, .rank = t->rank, .dims = t->dims};
      fe_cli_error(c, "input '%s' is to be %s, not %s", v->name, want,
                   fe_value_text(m->values, &got, m->model->symbols));
      return;
    }
    // what it holds is checked alone, as far as it goes without symbols
    int64_t symbols[FERRULE_MAX_SYMBOLS];
    ferrule_model one = *m->model;
    one.n_inputs = 1;
    one.inputs = v;
    if (v->dtype >= FERRULE_STRING && ferrule_model_symbols(&one, t, symbols)) {
      fe_cli_error(c, "what input '%s' holds does not fit its type, %s",
                   v->name, want);
      return;
    }
  }
  fe_cli_error(c, "the sizes of the inputs contradict each other: a dimension "
                  "of one name has different sizes");
}

//===-- Running -------------------------------------------------------------//

/// What is compiled already takes any size: --dim says what the inputs have.
static int check_dims(fe_cli *c, const fe_loaded *m, const int64_t *symbols) {
  for (uint32_t s = 0; m->library && s < m->model->n_symbols; s++) {
    int64_t value = fe_symbol_option(c, m->model->symbols[s]);
    if (value < 0 || value == symbols[s])
      continue;
    fe_cli_error(c, "--dim %s=%lld, but the inputs have %lld there",
                 m->model->symbols[s], (long long)value, (long long)symbols[s]);
    return EXIT_REFUSED;
  }
  return 0;
}

int fe_loaded_prepare(fe_cli *c, fe_loaded *m, int threads) {
  int64_t *symbols = calloc(m->model->n_symbols + 1, sizeof *symbols);
  int status = symbols ? ferrule_model_symbols(m->model, m->inputs, symbols)
                       : FERRULE_RUN_NO_MEMORY;
  if (status == FERRULE_RUN_OK && check_dims(c, m, symbols)) {
    free(symbols);
    return EXIT_REFUSED;
  }
  if (status == FERRULE_RUN_OK) {
    m->arena_size = m->model->arena_size(symbols);
    if (m->arena_size == INT64_MAX)
      status = ferrule_model_run(m->model, m->inputs, m->outputs, NULL, NULL);
    else if (posix_memalign(&m->arena, FERRULE_ARENA_ALIGN,
                            (size_t)m->arena_size + FERRULE_ARENA_ALIGN))
      status = FERRULE_RUN_NO_MEMORY;
  }
  free(symbols);
  if (status != FERRULE_RUN_OK) {
    if (m->arena_size == INT64_MAX)
      fe_cli_error(c, "the model cannot take inputs of these sizes: %s",
                   ferrule_model_message(m->model, status));
    else if (status == FERRULE_RUN_BAD_INPUT)
      show_bad_inputs(c, m);
    else
      fe_cli_error(c, "%s", ferrule_model_message(m->model, status));
    return EXIT_REFUSED;
  }
  if (threads > 1) {
    m->pool = ferrule_pool_create(threads);
    if (m->pool)
      m->options = ferrule_pool_options(m->pool);
  }
  // a model of static size has no allocator of its own for the outputs
  m->options.allocate = take_memory;
  m->options.release = give_memory;
  return 0;
}

int fe_loaded_run(fe_cli *c, fe_loaded *m) {
  int status =
      ferrule_model_run(m->model, m->inputs, m->outputs, m->arena, &m->options);
  if (status == FERRULE_RUN_OK)
    return 0;
  fe_cli_error(c, "the run failed: %s",
               ferrule_model_message(m->model, status));
  return EXIT_REFUSED;
}
