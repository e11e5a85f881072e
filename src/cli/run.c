//===- run.c - ferrule run ------------------------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "base/base.h"
#include "cli/model.h"
#include "cli/npy.h"
#include "cli/values.h"
#include "ir/ir.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { INPUT, OUTPUT, VERIFY, RANDOM, SEED, THREADS, RTOL, ATOL };
const fe_cli_option fe_run_options[] = {
    [INPUT] = {"input", 'i', "NAME=FILE", "a .npy file for an input"},
    [OUTPUT] = {"output", 'o', "DIR", "write the outputs there as .npy"},
    [VERIFY] = {"verify", 0, "DIR",
                "read DIR/input_N.npy, compare with DIR/output_N.npy"},
    [RANDOM] = {"random", 0, NULL, "make up the inputs that are not given"},
    [SEED] = {"seed", 0, "N", "of the random numbers (default 0)"},
    [THREADS] = {"threads", 't', "N", "threads of the run (default 1)"},
    [RTOL] = {"rtol", 0, "X", "relative tolerance of --verify (default 1e-3)"},
    [ATOL] = {"atol", 0, "X", "absolute tolerance of --verify (default 1e-4)"},
    {0}};

typedef struct fe_run_request {
  const char *inputs[64];
  int n_inputs;
  const char *output, *verify;
  bool random;
  uint64_t seed;
  int threads;
  double rtol, atol;
} fe_run_request;

//===-- Values --------------------------------------------------------------//

static double half_to_double(uint16_t h) {
  int exponent = h >> 10 & 31, mantissa = h & 1023;
  double v = exponent == 31 ? (mantissa ? NAN : INFINITY)
                            : ldexp(exponent ? mantissa + 1024 : mantissa,
                                    (exponent ? exponent : 1) - 25);
  return h >> 15 ? -v : v;
}

static double element(const ferrule_tensor *t, int64_t i) {
  switch (t->dtype) {
  case FERRULE_F32:
    return ((const float *)t->data)[i];
  case FERRULE_F64:
    return ((const double *)t->data)[i];
  case FERRULE_F16:
    return half_to_double(((const uint16_t *)t->data)[i]);
  case FERRULE_BF16: {
    uint32_t bits = (uint32_t)((const uint16_t *)t->data)[i] << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
  }
  case FERRULE_I8:
    return ((const int8_t *)t->data)[i];
  case FERRULE_I16:
    return ((const int16_t *)t->data)[i];
  case FERRULE_U16:
    return ((const uint16_t *)t->data)[i];
  case FERRULE_I32:
    return ((const int32_t *)t->data)[i];
  case FERRULE_U32:
    return ((const uint32_t *)t->data)[i];
  case FERRULE_I64:
    return (double)((const int64_t *)t->data)[i];
  case FERRULE_U64:
    return (double)((const uint64_t *)t->data)[i];
  default: {
    uint8_t byte = ((const uint8_t *)t->data)[i];
    fe_dtype type = (fe_dtype)t->dtype;
    if (fe_dtype_is_float(type))
      return fe_small_value(type, byte);
    unsigned high = 8 - fe_dtype_bits(type); // bits that do not count
    return fe_dtype_is_signed(type) ? (int8_t)(byte << high) >> high
                                    : (uint8_t)(byte << high) >> high;
  }
  }
}

static bool is_float(int dtype) { return fe_dtype_is_float((fe_dtype)dtype); }

/// The numbers of a tensor: of complex ones real and imaginary part each.
static ferrule_tensor numbers_of(const ferrule_tensor *t, int64_t *n) {
  ferrule_tensor out = *t;
  bool is_complex = t->dtype == FERRULE_C64 || t->dtype == FERRULE_C128;
  if (is_complex)
    out.dtype = t->dtype == FERRULE_C64 ? FERRULE_F32 : FERRULE_F64;
  *n = fe_tensor_elements(t) * (is_complex ? 2 : 1);
  return out;
}

static void print_shape(const ferrule_tensor *t) {
  printf("%s[", fe_element_name(t->dtype));
  for (int d = 0; d < t->rank; d++)
    printf("%s%lld", d ? "," : "", (long long)t->dims[d]);
  printf("]");
}

static void print_string(const ferrule_string *s) {
  printf(" \"%.*s%s\"", (int)(s->size < 60 ? s->size : 60),
         s->data ? s->data : "", s->size < 60 ? "" : "...");
}

static void print_output(const char *name, const ferrule_tensor *tensor,
                         void *user) {
  (void)user;
  int64_t n;
  ferrule_tensor numbers = numbers_of(tensor, &n), *t = &numbers;
  int64_t shown = n < 8 ? n : 8;
  printf("%s: ", name);
  print_shape(tensor);
  printf(" =");
  for (int64_t i = 0; i < shown; i++)
    if (t->dtype == FERRULE_STRING)
      print_string((const ferrule_string *)t->data + i);
    else
      printf(" %.6g", element(t, i));
  if (shown < n && t->dtype == FERRULE_STRING) {
    printf(" ...");
  } else if (shown < n) {
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) {
      double v = element(t, i);
      low = v < low ? v : low;
      high = v > high ? v : high;
      sum += v;
    }
    printf(" ... (min %.6g, max %.6g, mean %.6g)", low, high, sum / (double)n);
  }
  printf("\n");
}

//===-- Comparison ----------------------------------------------------------//

static bool compare_strings(const char *name, const ferrule_tensor *got,
                            const ferrule_tensor *want) {
  const ferrule_string *a = got->data, *b = want->data;
  int64_t n = fe_tensor_elements(got), wrong = 0, first = 0;
  for (int64_t i = n; i-- > 0;)
    if (a[i].size != b[i].size ||
        (a[i].size && memcmp(a[i].data, b[i].data, (size_t)a[i].size))) {
      wrong++;
      first = i;
    }
  printf("%s: ", name);
  print_shape(got);
  if (!wrong) {
    printf(" matches\n");
    return true;
  }
  printf(" differs in %lld of %lld elements; first at %lld:", (long long)wrong,
         (long long)n, (long long)first);
  print_string(&a[first]);
  printf(", should be");
  print_string(&b[first]);
  printf("\n");
  return false;
}

/// Says how `got` differs from `want`; true when it does not.
static bool compare(const fe_run_request *r, const char *name,
                    const ferrule_tensor *got, const ferrule_tensor *want) {
  bool same = got->rank == want->rank &&
              fe_element_size(got->dtype) == fe_element_size(want->dtype);
  for (int d = 0; same && d < got->rank; d++)
    same = got->dims[d] == want->dims[d];
  if (!same) {
    printf("%s: ", name);
    print_shape(got);
    printf(" should be ");
    print_shape(want);
    printf("\n");
    return false;
  }
  if (got->dtype == FERRULE_STRING)
    return compare_strings(name, got, want);
  int64_t n, wrong = 0, worst = 0;
  ferrule_tensor have = numbers_of(got, &n), need = numbers_of(want, &n);
  double max_error = 0;
  for (int64_t i = 0; i < n; i++) {
    double a = element(&have, i), b = element(&need, i), error = fabs(a - b);
    bool equal = a == b || (isnan(a) && isnan(b));
    if (equal)
      continue;
    if (isnan(error)) // one is NaN
      error = INFINITY;
    if (error > max_error) {
      max_error = error;
      worst = i;
    }
    if (!is_float(have.dtype) || !(error <= r->atol + r->rtol * fabs(b)))
      wrong++;
  }
  printf("%s: ", name);
  print_shape(got);
  if (wrong)
    printf(" differs in %lld of %lld elements; worst at %lld: %.9g, should be "
           "%.9g\n",
           (long long)wrong, (long long)n, (long long)worst,
           element(&have, worst), element(&need, worst));
  else
    printf(" matches, largest difference %.3g\n", max_error);
  return !wrong;
}

/// The tensors of a value, in order.
typedef struct tensor_list {
  fe_arena *arena;
  fe_vec(const ferrule_tensor *) tensors;
  fe_vec(const char *) names;
} tensor_list;

static void list_tensor(const char *name, const ferrule_tensor *t, void *user) {
  tensor_list *l = user;
  fe_push(l->arena, &l->tensors, t);
  fe_push(l->arena, &l->names, name);
}

static bool compare_values(const fe_run_request *r, fe_arena *arena,
                           const char *name, const ferrule_tensor *got,
                           const ferrule_tensor *want) {
  tensor_list a = {.arena = arena}, b = {.arena = arena};
  fe_value_tensors(arena, name, got, list_tensor, &a);
  fe_value_tensors(arena, name, want, list_tensor, &b);
  bool same = a.tensors.n == b.tensors.n;
  if (!same)
    printf("%s: has %zu tensors, should have %zu\n", name, a.tensors.n,
           b.tensors.n);
  for (size_t i = 0; i < a.tensors.n && i < b.tensors.n; i++)
    same &= compare(r, a.names.at[i], a.tensors.at[i], b.tensors.at[i]);
  return same;
}

static int verify(fe_cli *c, const fe_run_request *r, fe_loaded *m) {
  int code = 0;
  for (unsigned i = 0; i < m->model->n_outputs; i++) {
    const ferrule_value_info *info = &m->model->outputs[i];
    const char *path = fe_printf(m->values, "%s/output_%u.npy", r->verify, i);
    ferrule_tensor want;
    const char *wrong = fe_value_from_files(m->values, path, info, &want);
    if (wrong) {
      fe_cli_error(c, "%s", wrong);
      code = EXIT_REFUSED;
    } else if (!compare_values(r, m->values, info->name, &m->outputs[i],
                               &want)) {
      code = EXIT_REFUSED;
    }
  }
  return code;
}

//===-- The command ---------------------------------------------------------//

static int read_inputs(fe_cli *c, const fe_run_request *r, fe_loaded *m) {
  int code = 0;
  for (unsigned i = 0; r->verify && i < m->model->n_inputs && !code; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/input_%u.npy", r->verify, i);
    code = fe_loaded_input(c, m, NULL, i, path);
  }
  for (int i = 0; i < r->n_inputs && !code; i++)
    code = fe_loaded_input_option(c, m, r->inputs[i]);
  if (!code && r->random)
    code = fe_loaded_randomize(c, m, r->seed);
  const char *missing = code ? NULL : fe_loaded_missing(m);
  if (missing)
    return fe_cli_usage(c,
                        "input '%s' is missing: give --input %s=FILE.npy, "
                        "or --random",
                        missing, missing);
  return code;
}

/// Names may hold what file names may not: anything but [A-Za-z0-9._-] is '_'.
static void file_name(const char *name, char *out, size_t size) {
  size_t n = 0;
  for (; name[n] && n + 1 < size; n++) {
    char ch = name[n];
    bool plain = (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') ||
                 (ch >= 'A' && ch <= 'Z') || ch == '_' || ch == '-' ||
                 (ch == '.' && n);
    out[n] = plain ? ch : '_';
  }
  if (!n)
    out[n++] = '_';
  out[n] = 0;
}

static void print_written(const char *path) { printf("wrote %s\n", path); }

typedef char fe_file_name[200];

/// Whether name i is among the first n.
static bool is_among(const fe_file_name *names, unsigned n, unsigned i) {
  for (unsigned j = 0; j < n; j++)
    if (j != i && !strcmp(names[j], names[i]))
      return true;
  return false;
}

/// One for each output, all different: where names become the same, the later
/// ones get the output's number. NULL: no memory.
static fe_file_name *file_names(const ferrule_model *m) {
  unsigned n = m->n_outputs;
  fe_file_name *names = calloc(n + 1, sizeof *names);
  for (unsigned i = 0; names && i < n; i++)
    file_name(m->outputs[i].name, names[i], 160);
  for (unsigned i = 1; names && i < n; i++) {
    if (!is_among(names, i, i))
      continue;
    size_t end = strlen(names[i]);
    for (unsigned k = i; is_among(names, n, i); k += n)
      snprintf(names[i] + end, sizeof *names - end, ".%u", k);
  }
  return names;
}

static int write_outputs(fe_cli *c, const char *folder, fe_loaded *m) {
  if (mkdir(folder, 0777) && errno != EEXIST) {
    fe_cli_error(c, "%s: %s", folder, strerror(errno));
    return EXIT_REFUSED;
  }
  fe_file_name *names = file_names(m->model);
  if (!names) {
    fe_cli_error(c, "out of memory");
    return EXIT_REFUSED;
  }
  const char *wrong = NULL;
  for (unsigned i = 0; i < m->model->n_outputs && !wrong; i++) {
    const char *path = fe_printf(m->values, "%s/%s.npy", folder, names[i]);
    wrong = fe_value_to_files(m->values, path, &m->outputs[i], print_written);
  }
  free(names);
  if (wrong)
    fe_cli_error(c, "%s", wrong);
  return wrong ? EXIT_REFUSED : 0;
}

static void print_value(const fe_loaded *m, unsigned i) {
  const ferrule_value_info *info = &m->model->outputs[i];
  const ferrule_tensor *v = &m->outputs[i];
  if (v->dtype >= FERRULE_SEQUENCE) {
    const void *object = *(const void *const *)v->data;
    printf("%s: %s", info->name,
           fe_value_text(m->values, info, m->model->symbols));
    if (v->dtype == FERRULE_SEQUENCE)
      printf(", %lld items\n",
             (long long)((const ferrule_sequence *)object)->count);
    else
      printf("%s\n", object ? "" : ", nothing");
  }
  fe_value_tensors(m->values, info->name, v, print_output, NULL);
}

static int run_loaded(fe_cli *c, const fe_run_request *r, fe_loaded *m) {
  int code = read_inputs(c, r, m);
  if (!code)
    code = fe_loaded_prepare(c, m, r->threads);
  double start = fe_now();
  if (!code)
    code = fe_loaded_run(c, m);
  double seconds = fe_now() - start;
  if (code)
    return code;
  if (r->verify) {
    code = verify(c, r, m);
  } else {
    for (unsigned i = 0; i < m->model->n_outputs; i++)
      print_value(m, i);
  }
  if (!c->quiet)
    fprintf(stderr, "%s%.3f ms\n", m->program ? "compiled, ran in " : "ran in ",
            1e3 * seconds);
  if (r->output) {
    int written = write_outputs(c, r->output, m);
    code = code ? code : written;
  }
  return code;
}

static bool number(fe_cli *c, const char *text, double *out) {
  char *end;
  *out = strtod(text, &end);
  if (*text && !*end && *out >= 0)
    return true;
  fe_cli_usage(c, "'%s' is not a number from 0 on", text);
  return false;
}

int fe_cmd_run(fe_cli *c) {
  fe_run_request r = {.threads = 1, .rtol = 1e-3, .atol = 1e-4};
  const char *value;
  double x;
  int o;
  while ((o = fe_cli_next(c, &value)) >= 0) {
    switch (o) {
    case INPUT:
      if (r.n_inputs == (int)FE_COUNT(r.inputs))
        return fe_cli_usage(c, "more than %zu --input", FE_COUNT(r.inputs));
      r.inputs[r.n_inputs++] = value;
      break;
    case OUTPUT:
      r.output = value;
      break;
    case VERIFY:
      r.verify = value;
      break;
    case RANDOM:
      r.random = true;
      break;
    case SEED:
    case THREADS:
      if (!number(c, value, &x))
        return EXIT_USAGE;
      if (o == SEED)
        r.seed = (uint64_t)x;
      else
        r.threads = x < 1 ? 1 : x > 256 ? 256 : (int)x;
      break;
    case RTOL:
    case ATOL:
      if (!number(c, value, o == RTOL ? &r.rtol : &r.atol))
        return EXIT_USAGE;
      break;
    }
  }
  if (o == -2)
    return EXIT_USAGE;
  if (c->n_positional != 1)
    return fe_cli_usage(c, "one model is wanted");
  fe_loaded m;
  int code = fe_loaded_open(c, c->positional[0], &m);
  if (!code)
    code = run_loaded(c, &r, &m);
  fe_loaded_close(&m);
  return code;
}
