//===- api.c - the public API, called wrongly ---------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever is missing or out of range is refused with a message, and a model
// that is run by many threads at once gives each of them the same.
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "../onnx_writer.h"
#include "ferrule/compiler.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, THREADS = 4, RUNS = 50 };

static void *model_data;
static size_t model_size;

static void count(void *user, const ferrule_diagnostic *d) {
  assert_non_null(d->message);
  ++*(unsigned *)user;
}

static ferrule_options counting(unsigned *messages) {
  *messages = 0;
  return (ferrule_options){.diagnostic = count, .user = messages};
}

#define REFUSED(call)                                                          \
  do {                                                                         \
    unsigned messages;                                                         \
    ferrule_options o = counting(&messages);                                   \
    assert_int_equal(call, FERRULE_USAGE);                                     \
    assert_int_equal(messages, 1);                                             \
  } while (0)

static void test_missing(void **state) {
  (void)state;
  ferrule_program *p = NULL;
  REFUSED(ferrule_compile(NULL, "x.so", &o));
  REFUSED(ferrule_compile("absent.onnx", NULL, &o));
  REFUSED(ferrule_compile_memory(NULL, 10, NULL, "x.so", &o));
  REFUSED(ferrule_compile_memory(model_data, model_size, NULL, NULL, &o));
  REFUSED(ferrule_print(NULL, "import", "x.mlir", &o));
  REFUSED(ferrule_print("absent.onnx", NULL, "x.mlir", &o));
  REFUSED(ferrule_print("absent.onnx", "import", NULL, &o));
  REFUSED(ferrule_load(NULL, &o, &p));
  REFUSED(ferrule_load("absent.onnx", &o, NULL));
  REFUSED(ferrule_load_memory(NULL, 0, NULL, &o, &p));
  REFUSED(ferrule_load_memory(model_data, model_size, NULL, &o, NULL));
  assert_null(p);
  assert_int_equal(ferrule_compile(NULL, NULL, NULL), FERRULE_USAGE);
  ferrule_program_destroy(NULL);
}

static void test_options(void **state) {
  (void)state;
  ferrule_program *p = NULL;
  static const ferrule_dim no_name = {NULL, 1};
  static const ferrule_open_dim no_open_name = {NULL, "n"};
#define REFUSED_WITH(...)                                                      \
  do {                                                                         \
    unsigned messages;                                                         \
    ferrule_options o = counting(&messages);                                   \
    __VA_ARGS__;                                                               \
    assert_int_equal(                                                          \
        ferrule_load_memory(model_data, model_size, NULL, &o, &p),             \
        FERRULE_USAGE);                                                        \
    assert_int_equal(messages, 1);                                             \
    assert_null(p);                                                            \
  } while (0)
  REFUSED_WITH(o.opt_level = 4);
  REFUSED_WITH(o.opt_level = -1);
  REFUSED_WITH(o.threads = -1);
  REFUSED_WITH(o.n_dims = 1);
  REFUSED_WITH(o.n_open_dims = 1);
  REFUSED_WITH(o.dims = &no_name, o.n_dims = 1);
  REFUSED_WITH(o.open_dims = &no_open_name, o.n_open_dims = 1);
  REFUSED_WITH(o.target = "pdp11");
  REFUSED_WITH(o.prefix = "1");
  REFUSED_WITH(o.prepack = "never");
#ifdef __x86_64__
  REFUSED_WITH(o.target = "aarch64");
#endif
}

//===-- Many threads --------------------------------------------------------//

typedef struct running {
  pthread_t thread;
  const ferrule_model *model;
  bool wrong;
} running;

static float at(int64_t i) { return (float)(i % 7) - 3; }

static void *run(void *user) {
  running *r = user;
  float *in = malloc(N * sizeof *in), *out = malloc(N * sizeof *out);
  int64_t n = N;
  void *arena = aligned_alloc(
      FERRULE_ARENA_ALIGN,
      ((size_t)r->model->arena_size(&n) / FERRULE_ARENA_ALIGN + 1) *
          FERRULE_ARENA_ALIGN);
  ferrule_pool *pool = ferrule_pool_create(2);
  ferrule_run_options options = ferrule_pool_options(pool);
  for (int64_t i = 0; i < N; i++)
    in[i] = at(i);
  ferrule_tensor x = {.data = in, .dtype = FERRULE_F32, .rank = 1, .dims = {N}};
  ferrule_tensor y = {.data = out, .capacity = N * sizeof *out};
  for (int k = 0; k < RUNS; k++) {
    memset(out, 0, N * sizeof *out);
    r->wrong |= ferrule_model_run(r->model, &x, &y, arena,
                                  k % 2 ? &options : NULL) != FERRULE_RUN_OK;
    for (int64_t i = 0; i < N; i++)
      r->wrong |= out[i] != (at(i) > 0 ? 2 * at(i) : 0);
  }
  ferrule_pool_destroy(pool);
  free(arena);
  free(in);
  free(out);
  return NULL;
}

/// Each compiles the model, and runs the one that all share.
static void *compile_and_run(void *user) {
  running *r = user;
  ferrule_program *own = NULL;
  r->wrong |= ferrule_load_memory(model_data, model_size, NULL, NULL, &own) !=
              FERRULE_OK;
  ferrule_program_destroy(own);
  return run(user);
}

static void test_threads(void **state) {
  (void)state;
  ferrule_program *p = NULL;
  assert_int_equal(ferrule_load_memory(model_data, model_size, NULL, NULL, &p),
                   FERRULE_OK);
  running all[THREADS] = {0};
  for (int i = 0; i < THREADS; i++) {
    all[i].model = ferrule_program_model(p);
    assert_int_equal(
        pthread_create(&all[i].thread, NULL, compile_and_run, &all[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(all[i].thread, NULL);
    assert_false(all[i].wrong);
  }
  ferrule_program_destroy(p);
}

/// y = relu(x) + relu(x)
static fe_arena *make_model(jmp_buf *oom) {
  fe_arena *a = fe_arena_create(oom);
  pb g = pb_new(a);
  pb_sub(&g, G_NODE, onnx_node(a, "Relu x -> r"));
  pb_sub(&g, G_NODE, onnx_node(a, "Add r r -> y"));
  pb_sub(&g, G_INPUT, onnx_value(a, "x", FERRULE_F32, "N"));
  pb_sub(&g, G_OUTPUT, onnx_value(a, "y", FERRULE_F32, NULL));
  pb m = onnx_model(g, 8, 18);
  model_data = m.b.at;
  model_size = m.b.n;
  return a;
}

int main(void) {
  jmp_buf oom;
  if (setjmp(oom))
    return 1;
  fe_arena *a = make_model(&oom);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_missing),
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_threads),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fe_arena_destroy(a);
  return failed;
}
