//===- emit.c - artifacts from a planned module ------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hand-written model of test/emit/dense.mlir in every kind of artifact,
// run and compared with loops in C and libm.
//
//===----------------------------------------------------------------------===//
#include "emit/emit.h"
#include "emit/parts.h"
#include "ferrule_config.h"
#include "unit.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char fe_krnl_irdl[];

static float weights[8 * 16], bias[16];

static float number(unsigned *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (float)((double)*seed / 0x1p31 - 1.0);
}

/// The model on n rows, compared with the reference; gives the run's status.
static int run(const ferrule_model *m, int64_t n,
               const ferrule_run_options *options) {
  float *x = calloc((size_t)n * 8 + 1, 4), *y = calloc((size_t)n * 16 + 1, 4);
  unsigned seed = 7;
  for (int64_t i = 0; i < n * 8; i++)
    x[i] = number(&seed);
  ferrule_tensor in = {
      .data = x, .dtype = FERRULE_F32, .rank = 2, .dims = {n, 8}};
  ferrule_tensor out = {.data = y, .capacity = n * 64};
  int64_t symbols[FERRULE_MAX_SYMBOLS];
  assert_int_equal(ferrule_model_symbols(m, &in, symbols), 0);
  assert_int_equal(symbols[0], n);
  size_t bytes = (size_t)m->arena_size(symbols);
  assert_int_equal(bytes, (size_t)n * 64);
  void *arena = aligned_alloc(FERRULE_ARENA_ALIGN, bytes + 64);
  int status = ferrule_model_run(m, &in, &out, arena, options);
  if (status == 0) {
    assert_int_equal(out.rank, 2);
    assert_int_equal(out.dims[0], n);
    assert_int_equal(out.dims[1], 16);
    for (int64_t i = 0; i < n; i++)
      for (int j = 0; j < 16; j++) {
        double s = bias[j];
        for (int k = 0; k < 8; k++)
          s += (double)x[i * 8 + k] * weights[k * 16 + j];
        assert_true(fabs(tanh(s) - y[i * 16 + j]) < 1e-6);
      }
  }
  free(arena);
  free(x);
  free(y);
  return status;
}

static void check_model(const ferrule_model *m) {
  assert_non_null(m);
  assert_string_equal(m->name, "dense");
  assert_int_equal(m->abi_version, FERRULE_ABI_VERSION);
  assert_int_equal(m->n_inputs, 1);
  assert_string_equal(m->inputs[0].name, "x");
  assert_int_equal(m->inputs[0].dims[0], -1);
  assert_string_equal(m->symbols[0], "batch");
  assert_int_equal(run(m, 1, NULL), 0);
  assert_int_equal(run(m, 37, NULL), 0);
  assert_int_equal(run(m, 0, NULL), 0);
  int status = run(m, 1001, NULL);
  assert_true(status > 0);
  assert_string_equal(ferrule_model_message(m, status), "more than 1000 rows");
  ferrule_pool *pool = ferrule_pool_create(3);
  ferrule_run_options options = ferrule_pool_options(pool);
  assert_int_equal(run(m, 500, &options), 0);
  ferrule_pool_destroy(pool);
  // Wrong inputs and outputs.
  float x[8] = {0}, y[16];
  ferrule_tensor in = {
      .data = x, .dtype = FERRULE_F32, .rank = 2, .dims = {1, 8}};
  ferrule_tensor out = {.data = y, .capacity = 60};
  char *arena = aligned_alloc(64, 64);
  assert_int_equal(ferrule_model_run(m, &in, &out, arena, NULL),
                   FERRULE_RUN_SMALL_OUTPUT);
  in.dims[1] = 9;
  assert_int_equal(ferrule_model_run(m, &in, &out, arena, NULL),
                   FERRULE_RUN_BAD_INPUT);
  in.dims[1] = 8;
  in.dtype = FERRULE_F64;
  assert_int_equal(ferrule_model_run(m, &in, &out, arena, NULL),
                   FERRULE_RUN_BAD_INPUT);
  free(arena);
}

typedef struct emitted {
  unit *u;
  char folder[32];
  fe_jit *jit;
  bool profile, header;
  unsigned threads; // another number every time
} emitted;

static void emit_for(emitted *e, const char *target, const char *model,
                     const char *prefix, const char *file, fe_artifact artifact,
                     bool beside) {
  fe_ir ir;
  const char *irdl[] = {fe_krnl_irdl};
  MlirContext ctx = fe_context_create(&e->u->diags, irdl, 1);
  fe_blobs blobs = {.arena = e->u->arena};
  unsigned seed = 1;
  for (int i = 0; i < 8 * 16; i++)
    weights[i] = number(&seed);
  for (int i = 0; i < 16; i++)
    bias[i] = number(&seed);
  fe_blob_add(&blobs, "w", weights, sizeof weights, NULL, 0);
  fe_blob_add(&blobs, "b", bias, sizeof bias, NULL, 0);
  fe_ir_init(&ir, ctx, e->u->arena, &e->u->diags, &blobs);
  char path[600];
  const char *source = getenv("FERRULE_SOURCE");
  snprintf(path, sizeof path, "%s/test/emit/%s.mlir", source ? source : ".",
           model);
  fe_file text;
  assert_int_equal(fe_file_map(&e->u->diags, path, &text), FE_OK);
  MlirModule m = fe_parse(
      &ir, fe_strndup(e->u->arena, (const char *)text.data, text.size), path);
  fe_file_unmap(&text);
  assert_false(mlirModuleIsNull(m));
  snprintf(path, sizeof path, "%s/%s", e->folder, file);
  fe_target native;
  const char *header = fe_printf(e->u->arena, "%s/%s.h", e->folder, prefix);
  fe_emit_options o = {.target = fe_target_find(target, &native),
                       .artifact = artifact,
                       .path = path,
                       .prefix = prefix,
                       .compiler = "ferrule test",
                       .opt = 3,
                       .threads = ++e->threads,
                       .weights_beside = beside,
                       .profile = e->profile,
                       .header = e->header ? header : NULL};
  if (fe_emit(&ir, m, &o, &e->jit) == FE_FAILED)
    fail_msg("%s", e->u->messages->at);
  mlirModuleDestroy(m);
  mlirContextDestroy(ctx);
}

static void emit_as(emitted *e, const char *prefix, const char *file,
                    fe_artifact artifact, bool beside) {
  emit_for(e, "native", "dense", prefix, file, artifact, beside);
}

static void emit(emitted *e, const char *file, fe_artifact artifact,
                 bool beside) {
  emit_as(e, "dense", file, artifact, beside);
}

static emitted begin(void) {
  emitted e = {.u = unit_begin(), .folder = "/tmp/ferrule_emit_XXXXXX"};
  assert_non_null(mkdtemp(e.folder));
  return e;
}

static void end(emitted *e) {
  char command[100];
  snprintf(command, sizeof command, "rm -r %s", e->folder);
  assert_int_equal(system(command), 0);
  unit_end(e->u);
}

static void *open_model(const emitted *e, const char *file) {
  char path[100];
  snprintf(path, sizeof path, "%s/%s", e->folder, file);
  void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!so)
    fail_msg("%s", dlerror());
  return so;
}

static void shared_object(void **state) {
  (void)state;
  emitted e = begin();
  emit(&e, "dense.so", FE_ARTIFACT_SO, false);
  void *so = open_model(&e, "dense.so");
  check_model(dlsym(so, "dense_model"));
  dlclose(so);
  end(&e);
}

static void shared_object_and_weights(void **state) {
  (void)state;
  emitted e = begin();
  emit(&e, "dense.so", FE_ARTIFACT_SO, true);
  void *so = open_model(&e, "dense.so");
  check_model(dlsym(so, "dense_model"));
  dlclose(so);
  end(&e);
}

/// Compiles test/emit/program.c with these files in the folder, and runs it.
static void run_program(const emitted *e, const char *files) {
  const char *source = getenv("FERRULE_SOURCE");
  char command[1000];
  source = source ? source : ".";
  snprintf(command, sizeof command,
           "cd %s && ${CC:-cc} -o program -I %s/include %s/test/emit/program.c "
           "%s -lm && ./program",
           e->folder, source, source, files);
  assert_int_equal(system(command), 0);
}

/// The header compiles and says what the model is like.
static void header(void **state) {
  (void)state;
  emitted e = begin();
  e.header = true;
  emit(&e, "dense.o", FE_ARTIFACT_OBJECT, false);
  emit_as(&e, "other", "other.o", FE_ARTIFACT_OBJECT, false);
  char path[100];
  snprintf(path, sizeof path, "%s/dense.h", e.folder);
  fe_file text;
  assert_int_equal(fe_file_map(&e.u->diags, path, &text), FE_OK);
  const char *s = fe_strndup(e.u->arena, (const char *)text.data, text.size);
  fe_file_unmap(&text);
  assert_non_null(strstr(s, "inputs[0] \"x\": float[batch,8]"));
  assert_non_null(strstr(s, "#define DENSE_INPUTS 1"));
  assert_null(strstr(s, "DENSE_ARENA_BYTES")); // depends on the batch
  run_program(&e, "-include dense.h dense.o other.o");
  end(&e);
}

static void objects(void **state) {
  (void)state;
  emitted e = begin();
  emit(&e, "dense.o", FE_ARTIFACT_OBJECT, false);
  emit_as(&e, "other", "other.o", FE_ARTIFACT_OBJECT, true);
  run_program(&e, "dense.o other.o other.weights.o");
  end(&e);
}

static void archive_and_assembly(void **state) {
  (void)state;
  emitted e = begin();
  emit(&e, "dense.a", FE_ARTIFACT_ARCHIVE, false);
  emit_as(&e, "other", "other.s", FE_ARTIFACT_ASM, false);
  run_program(&e, "dense.a other.s other.weights.o");
  end(&e);
}

static void llvm_ir(void **state) {
  (void)state;
  emitted e = begin();
  emit(&e, "dense.ll", FE_ARTIFACT_LLVM, false);
  emit_as(&e, "other", "other.o", FE_ARTIFACT_OBJECT, false);
  char command[200];
  snprintf(command, sizeof command,
           FERRULE_LLVM_BIN "/llc -relocation-model=pic -filetype=obj "
                            "-o %s/dense_ll.o %s/dense.ll",
           e.folder, e.folder);
  if (system(command))
    fail_msg("llc rejects the IR");
  run_program(&e, "dense_ll.o dense.weights.o other.o");
  end(&e);
}

/// Same input, same bytes, whatever the number of threads.
static void same_bytes(void **state) {
  (void)state;
  emitted e = begin();
  emit(&e, "a.so", FE_ARTIFACT_SO, false);
  char command[200];
  snprintf(command, sizeof command, "mv %s/a.so %s/b", e.folder, e.folder);
  assert_int_equal(system(command), 0);
  emit(&e, "a.so", FE_ARTIFACT_SO, false);
  snprintf(command, sizeof command, "cmp %s/a.so %s/b", e.folder, e.folder);
  assert_int_equal(system(command), 0);
  end(&e);
}

static void jit(void **state) {
  (void)state;
  emitted e = begin();
  emit(&e, "", FE_ARTIFACT_JIT, false);
  check_model(fe_jit_model(e.jit));
  fe_jit_destroy(e.jit);
  end(&e);
}

static void profile(void **state) {
  (void)state;
  emitted e = begin();
  e.profile = true;
  emit(&e, "", FE_ARTIFACT_JIT, false);
  size_t n;
  ferrule_profile_entry *entries = fe_jit_profile(e.jit, &n);
  assert_int_equal(n, 2);
  assert_string_equal(entries[0].kernel, "matmul");
  assert_string_equal(entries[1].kernel, "act");
  assert_int_equal(run(fe_jit_model(e.jit), 10, NULL), 0);
  assert_int_equal(run(fe_jit_model(e.jit), 5, NULL), 0);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(entries[i].calls, 2);
    assert_int_equal(entries[i].operations, 15 * 100000);
    assert_true(entries[i].nanoseconds < 1000000000);
  }
  // x, w, y: rows * 8, 8 * 16, rows * 16 floats; and rows * 16 twice, 16.
  assert_int_equal(entries[0].bytes, 15 * 32 + 2 * 512 + 15 * 64);
  assert_int_equal(entries[1].bytes, 15 * 64 + 2 * 64 + 15 * 64);
  fe_jit_destroy(e.jit);
  end(&e);
}

/// Functions of the math library on vectors: runtime/math_test.c has the limits
/// of the scalar ones.
static void vector_math(void **state) {
  (void)state;
  static double (*const reference[])(double) = {exp, tanh, erf, expm1, log1p,
                                                log, NULL, sin, cos,   tan};
  static const char *const targets[] = {"x86-64-v2", "x86-64-v3", "native"};
  for (size_t t = 0; t < FE_COUNT(targets); t++) {
    emitted e = begin();
    emit_for(&e, targets[t], "vectors", "vectors", "", FE_ARTIFACT_JIT, false);
    float x[64], y[10 * 64];
    for (int i = 0; i < 64; i++)
      x[i] = (float)(i - 31) * 0.21f;
    ferrule_tensor in = {
        .data = x, .dtype = FERRULE_F32, .rank = 1, .dims = {64}};
    ferrule_tensor out = {.data = y, .capacity = sizeof y};
    const ferrule_model *m = fe_jit_model(e.jit);
    assert_int_equal(ferrule_model_run(m, &in, &out, NULL, NULL), 0);
    for (int f = 0; f < 10; f++)
      for (int i = 0; i < 64; i++) {
        double a = f >= 4 && f <= 6 ? fabs(x[i]) : x[i];
        double want = reference[f] ? reference[f](a) : pow(a, 1.7f);
        assert_true(y[f * 64 + i] == want || // -inf
                    fabs(y[f * 64 + i] - want) <= 3e-7 * fabs(want));
      }
    fe_jit_destroy(e.jit);
    end(&e);
  }
}

/// A blob's file that ends too early: the rest comes from memory, and what lies
/// before the blob stays.
static void short_file(void **state) {
  (void)state;
  enum { FIRST = 1000, PLACE = 1024, SIZE = 5 << 20 };
  char *data = malloc(SIZE), *got = malloc(PLACE + SIZE);
  unsigned seed = 3;
  for (size_t i = 0; i < SIZE; i++)
    data[i] = (char)(number(&seed) * 100);
  const size_t there[] = {0, 1 << 20, 3 << 20, SIZE};
  for (unsigned i = 0; i < sizeof there / sizeof *there; i++) {
    char from[] = "/tmp/ferrule_emit_XXXXXX", to[] = "/tmp/ferrule_emit_XXXXXX";
    int in = mkstemp(from), out = mkstemp(to);
    assert_int_equal(write(in, data, there[i]), there[i]);
    fe_blob first = {.data = data, .size = FIRST};
    fe_blob large = {.data = data, .size = SIZE, .file = from};
    fe_placed_blob blobs[] = {{&first, 0}, {&large, PLACE}};
    fe_model_info info = {.n_blobs = 2, .blobs = blobs};
    assert_true(fe_blobs_write_huge(&info, out, 0));
    assert_int_equal(pread(out, got, PLACE + SIZE, 0), PLACE + SIZE);
    assert_memory_equal(got, data, FIRST);
    assert_memory_equal(got + PLACE, data, SIZE);
    assert_true(fe_blobs_write(&info, out, 0));
    assert_int_equal(pread(out, got, PLACE + SIZE, 0), PLACE + SIZE);
    assert_memory_equal(got, data, FIRST);
    assert_memory_equal(got + PLACE, data, SIZE);
    close(in);
    close(out);
    unlink(from);
    unlink(to);
  }
  free(data);
  free(got);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shared_object),
      cmocka_unit_test(shared_object_and_weights),
      cmocka_unit_test(header),
      cmocka_unit_test(objects),
      cmocka_unit_test(archive_and_assembly),
      cmocka_unit_test(llvm_ir),
      cmocka_unit_test(same_bytes),
      cmocka_unit_test(jit),
      cmocka_unit_test(profile),
      cmocka_unit_test(vector_math),
      cmocka_unit_test(short_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
