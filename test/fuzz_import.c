//===- fuzz_import.c - the importer against damaged models --------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   fuzz_import [-n RUNS] [-s SEED] [-1 RUN] [-p PHASE] [-t SECONDS] MODEL...
//
// Damages each model in turn, deterministically from the seed, and imports it.
// Every second time bytes are damaged, which mostly makes no model; else
// fields: what comes out can be read, but numbers, names and types in it are
// wrong. Whatever comes out, a refusal must have said why, and a module must
// print. A crash, a run of more than 10 seconds (-t) of the processor or a
// memory above 2 GiB ends the program; the number of the run is printed, and
// `-1` repeats that one alone (`-d FILE` with it writes the damaged model).
// With `-p`, what imports goes on through the phases up to that one (`emit`:
// until it could be run). Models with control flow and functions are built in,
// see seeds below.
//
//===----------------------------------------------------------------------===//
#include "onnx_writer.h"

#include "ferrule/compiler.h"
#include "import/onnx.h"
#include "op/op.h"
#include "pass/pass.h"
#include "target/target.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

//===-- Seeds ---------------------------------------------------------------//

static pb graph_of(fe_arena *a, const char *const *nodes, const char *in,
                   const char *out) {
  pb g = pb_new(a);
  for (; *nodes; nodes++)
    pb_sub(&g, G_NODE, onnx_node(a, *nodes));
  if (in)
    pb_sub(&g, G_INPUT, onnx_value(a, in, FE_F32, "2,N"));
  pb_sub(&g, G_OUTPUT, onnx_value(a, out, FE_F32, NULL));
  return g;
}

static pb seed_if(fe_arena *a) {
  pb yes = graph_of(a, (const char *const[]){"Relu x -> y", NULL}, NULL, "y");
  pb no =
      graph_of(a, (const char *const[]){"Concat x x -> z", NULL}, NULL, "z");
  pb n = onnx_node(a, "If c -> y");
  onnx_attr_graph(&n, "then_branch", yes);
  onnx_attr_graph(&n, "else_branch", no);
  pb g = graph_of(a, (const char *const[]){"Greater x x -> c", NULL}, "x", "y");
  pb_sub(&g, G_NODE, n);
  return onnx_model(g, 8, 18);
}

static pb seed_loop(fe_arena *a) {
  pb body = graph_of(a,
                     (const char *const[]){"Add v x -> w", "Relu w -> s",
                                           "Identity go -> on", NULL},
                     NULL, "on");
  pb_sub(&body, G_INPUT, onnx_value(a, "i", FE_I64, ""));
  pb_sub(&body, G_INPUT, onnx_value(a, "go", FE_BOOL, ""));
  pb_sub(&body, G_INPUT, onnx_value(a, "v", FE_F32, "2,1"));
  pb_sub(&body, G_OUTPUT, onnx_value(a, "w", FE_F32, NULL));
  pb_sub(&body, G_OUTPUT, onnx_value(a, "s", FE_F32, NULL));
  pb n = onnx_node(a, "Loop ten - x -> y stack");
  onnx_attr_graph(&n, "body", body);
  pb g = graph_of(a, (const char *const[]){"Abs stack -> z", NULL}, "x", "y");
  pb_sub(&g, G_OUTPUT, onnx_value(a, "z", FE_F32, NULL));
  pb_sub(&g, G_NODE, n);
  pb_sub(&g, G_INITIALIZER, onnx_scalar_i64(a, "ten", 10));
  return onnx_model(g, 8, 18);
}

static pb seed_scan(fe_arena *a) {
  pb body = graph_of(
      a, (const char *const[]){"Add s e -> t", "Neg t -> o", NULL}, "s", "t");
  pb_sub(&body, G_INPUT, onnx_value(a, "e", FE_F32, "N"));
  pb_sub(&body, G_OUTPUT, onnx_value(a, "o", FE_F32, NULL));
  pb n = onnx_node(a, "Scan x x -> y z");
  onnx_attr_graph(&n, "body", body);
  onnx_attr_int(&n, "num_scan_inputs", 1);
  pb g = graph_of(a, (const char *const[]){NULL}, "x", "y");
  pb_sub(&g, G_OUTPUT, onnx_value(a, "z", FE_F32, NULL));
  pb_sub(&g, G_NODE, n);
  return onnx_model(g, 8, 18);
}

static pb seed_function(fe_arena *a) {
  pb f = pb_new(a), n = onnx_node(a, "LeakyRelu a -> b");
  pb ref = pb_new(a), call = onnx_node(a, "Mine x -> h"), slope = pb_new(a);
  pb_str(&ref, A_REF, "slope");
  onnx_attr(&n, "alpha", 1, ref);
  pb_str(&f, F_NAME, "Mine");
  pb_str(&f, F_DOMAIN, "local");
  pb_words(&f, F_INPUT, "a");
  pb_words(&f, F_OUTPUT, "b");
  pb_words(&f, F_ATTRIBUTE, "slope");
  pb_sub(&f, F_NODE, n);
  pb_sub(&f, F_OPSET, onnx_opset(a, "", 18));
  pb_float(&slope, A_F, 0.5f);
  onnx_attr(&call, "slope", 1, slope);
  pb_str(&call, N_DOMAIN, "local");
  pb g = graph_of(a, (const char *const[]){"Add h w -> y", NULL}, "x", "y");
  pb_sub(&g, G_NODE, call);
  int64_t dims[] = {2, 1};
  pb_sub(&g, G_INITIALIZER,
         onnx_tensor(a, "w", FE_F32, 2, dims, "12345678", 8));
  pb m = onnx_model(g, 8, 18);
  pb_sub(&m, M_OPSET, onnx_opset(a, "local", 1));
  pb_sub(&m, M_FUNCTION, f);
  return m;
}

//===-- Damage --------------------------------------------------------------//

typedef struct model {
  const uint8_t *data;
  size_t size;
} model;

/// splitmix64
static uint64_t next(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t n) {
  return n ? (size_t)(next(state) % n) : 0;
}

/// Mostly near the ends: weights in between are less interesting.
static size_t position(uint64_t *r, size_t size) {
  size_t end = size < 4096 ? size : 4096;
  switch (below(r, 4)) {
  case 0:
    return below(r, size);
  case 1:
    return size - 1 - below(r, end);
  default:
    return below(r, end);
  }
}

/// Room for the largest model and what is spliced into it.
static uint8_t *work, *spare;
static size_t room;

static size_t damage(uint64_t *r, const model *models, size_t n, size_t which) {
  size_t size = models[which].size;
  memcpy(work, models[which].data, size);
  static const uint8_t values[] = {0,    1,    2,    8,    10,   0x12, 0x22,
                                   0x7f, 0x80, 0xff, 0x3a, 0x42, 0x4a, 0x18};
  for (size_t k = 1 + below(r, 1 + below(r, 5)); k > 0 && size > 1; k--) {
    size_t at = position(r, size), length = 1 + below(r, 48);
    length = length < size - at ? length : size - at;
    const model *other = &models[below(r, n)];
    size_t from = position(r, other->size);
    size_t taken = length < other->size - from ? length : other->size - from;
    switch (below(r, 9)) {
    case 0:
    case 1:
      work[at] ^= (uint8_t)(1u << below(r, 8));
      break;
    case 2:
      work[at] = values[below(r, sizeof(values))];
      break;
    case 3:
      work[at] = (uint8_t)(work[at] + (below(r, 2) ? 1 : -1));
      break;
    case 4: // cut off
      if (below(r, 8) == 0)
        size = at + 1;
      break;
    case 5: // a piece removed
      memmove(work + at, work + at + length, size - at - length);
      size -= length;
      break;
    case 6: // a piece twice
      if (size + length > room)
        break;
      memmove(work + at + length, work + at, size - at);
      size += length;
      break;
    case 7: // a piece of another model over this one
      if (taken < size - at)
        memcpy(work + at, other->data + from, taken);
      break;
    case 8: // or in between
      if (size + taken > room)
        break;
      memmove(work + at + taken, work + at, size - at);
      memcpy(work + at, other->data + from, taken);
      size += taken;
      break;
    }
  }
  return size;
}

//===-- Damage of fields -----------------------------------------------------//

/// A field of a message: its number and wire type come first.
typedef struct field {
  const uint8_t *at, *body, *end;
  unsigned wire; // 0 varint, 1 of 8 bytes, 2 with a length, 5 of 4 bytes
} field;

static bool read_varint(const uint8_t **p, const uint8_t *end, uint64_t *out) {
  *out = 0;
  for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
    uint8_t byte = *(*p)++;
    *out |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80)
      return true;
  }
  return false;
}

static uint8_t *write_varint(uint8_t *out, uint64_t v) {
  for (; v > 0x7f; v >>= 7)
    *out++ = (uint8_t)(v | 0x80);
  *out++ = (uint8_t)v;
  return out;
}

static bool read_field(const uint8_t **p, const uint8_t *end, field *f) {
  uint64_t tag, size = 0;
  f->at = *p;
  if (!read_varint(p, end, &tag) || tag >> 3 == 0 || tag >> 3 > 100)
    return false;
  f->wire = tag & 7;
  f->body = *p;
  if (f->wire == 0)
    return read_varint(p, end, &size) && (f->end = *p, true);
  if (f->wire == 2) {
    if (!read_varint(p, end, &size))
      return false;
    f->body = *p;
  } else if (f->wire == 1 || f->wire == 5)
    size = f->wire == 1 ? 8 : 4;
  else
    return false;
  if (size > (uint64_t)(end - *p))
    return false;
  f->end = *p += size;
  return true;
}

enum { MAX_FIELDS = 1 << 14, MAX_DEPTH = 16 };
static field fields[MAX_FIELDS];

/// Appends the fields of a message and of those in it; false, and none: the
/// bytes are no message.
static bool find_fields(const uint8_t *at, const uint8_t *end, size_t *n,
                        int depth) {
  size_t first = *n;
  field f;
  for (const uint8_t *p = at; p < end;)
    if (!read_field(&p, end, &f)) {
      *n = first;
      return false;
    }
  for (const uint8_t *p = at; p < end && *n < MAX_FIELDS;) {
    read_field(&p, end, &f);
    fields[(*n)++] = f;
    if (f.wire == 2 && depth < MAX_DEPTH)
      find_fields(f.body, f.end, n, depth + 1);
  }
  return true;
}

static uint8_t *copy(uint8_t *out, const uint8_t *at, const uint8_t *end) {
  memcpy(out, at, (size_t)(end - at));
  return out + (end - at);
}

static uint64_t odd_number(uint64_t *r, uint64_t old) {
  static const uint64_t odd[] = {
      0,         1,          2,          3,          (uint64_t)-1, (uint64_t)-2,
      INT64_MAX, INT64_MIN,  INT32_MAX,  UINT32_MAX, 1u << 31,     1ull << 32,
      1 << 16,   1ull << 40, 1ull << 61, 7};
  switch (below(r, 4)) {
  case 0:
    return old + 1;
  case 1:
    return old - 1;
  case 2:
    return below(r, 30); // a type, an axis
  default:
    return odd[below(r, FE_COUNT(odd))];
  }
}

/// The field, changed or replaced by what is in another of its kind.
static uint8_t *write_changed(uint64_t *r, const field *f, const field *other,
                              uint8_t *out) {
  static const uint32_t floats[] = {0,          0x80000000, 0x7f800000,
                                    0xff800000, 0x7fc00000, 0xbf800000,
                                    0x7f7fffff, 0x00000001, 0x4f000000};
  const uint8_t *p = f->body;
  uint64_t value;
  switch (below(r, 6)) {
  case 0: // gone
    return out;
  case 1: // twice
    return copy(copy(out, f->at, f->end), f->at, f->end);
  case 2:
    if (f->wire == other->wire) {
      const uint8_t *tag = f->at;
      read_varint(&tag, f->end, &value);
      out = copy(out, f->at, tag);
      tag = other->at;
      read_varint(&tag, other->end, &value);
      return copy(out, tag, other->end);
    }
    break;
  }
  out = copy(out, f->at, f->body);
  if (f->wire == 0) {
    read_varint(&p, f->end, &value);
    return write_varint(out, odd_number(r, value));
  }
  copy(out, f->body, f->end);
  size_t size = (size_t)(f->end - f->body);
  if (f->wire == 5)
    memcpy(out, &floats[below(r, FE_COUNT(floats))], 4);
  else if (size)
    out[below(r, size)] ^= (uint8_t)(1u << below(r, 8));
  return out + size;
}

/// The message with its field `f`, or one in a message in it, changed.
static uint8_t *write_message(uint64_t *r, const uint8_t *at,
                              const uint8_t *end, const field *f,
                              const field *other, uint8_t *out) {
  field g;
  for (const uint8_t *p = at; p < end;) {
    read_field(&p, end, &g);
    if (g.at == f->at)
      out = write_changed(r, f, other, out);
    else if (g.at < f->at && f->at < g.end) {
      const uint8_t *tag = g.at;
      uint64_t value;
      read_varint(&tag, g.end, &value);
      out = copy(out, g.at, tag);
      enum { LENGTH = 10 };
      uint8_t *body = out + LENGTH;
      size_t size =
          (size_t)(write_message(r, g.body, g.end, f, other, body) - body);
      out = write_varint(out, size);
      memmove(out, body, size);
      out += size;
    } else
      out = copy(out, g.at, g.end);
  }
  return out;
}

static size_t damage_fields(uint64_t *r, const model *m) {
  size_t size = m->size;
  memcpy(work, m->data, size);
  for (size_t k = 1 + below(r, 1 + below(r, 3)); k > 0; k--) {
    size_t n = 0;
    find_fields(work, work + size, &n, 0);
    if (!n)
      break;
    const field *f = &fields[below(r, n)], *other = &fields[below(r, n)];
    for (int i = 0; i < 20 && other->wire != f->wire; i++)
      other = &fields[below(r, n)];
    size_t more = (size_t)(f->end - f->at) + (size_t)(other->end - other->at);
    if (size + more + 10 * MAX_DEPTH > room)
      continue;
    size =
        (size_t)(write_message(r, work, work + size, f, other, spare) - spare);
    memcpy(work, spare, size);
  }
  return size;
}

//===-- Running -------------------------------------------------------------//

/// The number of the run, for messages and the signal handler.
static volatile sig_atomic_t current;

static void receive(void *user, const fe_diag *diag) {
  if (diag->severity == FE_SEV_INTERNAL)
    fprintf(stderr, "run %zu: internal: %s: %s\n", *(size_t *)user,
            diag->where.op ? diag->where.op : "", diag->message);
}

static void count_error(void *user, const ferrule_diagnostic *d) {
  size_t *counts = user; // all, internal
  counts[0] += d->severity >= FERRULE_ERROR;
  counts[1] += d->severity == FERRULE_BUG;
  if (d->severity == FERRULE_BUG)
    fprintf(stderr, "run %ld: internal: %s\n", (long)current, d->message);
}

/// The whole way to code in this process. Gives the internal errors.
static unsigned compile(size_t size, size_t run, bool *good) {
  size_t counts[2] = {0};
  ferrule_options o = {
      .opt_level = 1, .diagnostic = count_error, .user = counts};
  ferrule_program *program = NULL;
  ferrule_status status = ferrule_load_memory(work, size, NULL, &o, &program);
  if ((status == FERRULE_OK) != (counts[0] == 0)) {
    fprintf(stderr, "run %zu: status %d with %zu errors\n", run, (int)status,
            counts[0]);
    *good = false;
  }
  ferrule_program_destroy(program);
  return (unsigned)counts[1];
}

/// False when the importer broke its promises.
static bool import(MlirContext ctx, fe_diags *d, size_t size, size_t run,
                   const char *until, size_t *modules) {
  fe_arena *arena = fe_arena_create(NULL);
  unsigned errors = d->errors;
  d->arena = arena;
  fe_blobs blobs = {.arena = arena};
  fe_ir ir;
  fe_ir_init(&ir, ctx, arena, d, &blobs);
  fe_source s;
  fe_source_init(&s, d, arena, "fuzz/model.onnx", work, size);
  MlirModule m;
  fe_status status = fe_import_onnx(&ir, &s, NULL, &m);
  bool good = (status == FE_OK) == (d->errors == errors);
  if (!good)
    fprintf(stderr, "run %zu: %s\n", run,
            status == FE_OK ? "a module in spite of errors"
                            : "refused without a message");
  if (status == FE_OK) {
    ++*modules;
    fe_print(arena, mlirModuleGetOperation(m));
    d->errors = 0;
    fe_target storage;
    fe_pass_options o = {.target = fe_target_find("x86-64-v3", &storage),
                         .opt_level = 2};
    if (until && !strcmp(until, "emit"))
      d->internal += compile(size, run, &good);
    else if (until &&
             fe_run_phases(&ir, &m, &o, NULL, until, NULL, NULL) != FE_OK &&
             !d->errors) {
      fprintf(stderr, "run %zu: a phase failed without a message\n", run);
      good = false;
    }
    mlirModuleDestroy(m);
  }
  fe_source_close(&s);
  fe_arena_destroy(arena);
  return good;
}

static bool memory_is_fine(size_t run) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  if (use.ru_maxrss < 2 << 20)
    return true;
  fprintf(stderr, "run %zu: %ld MiB of memory\n", run, use.ru_maxrss >> 10);
  return false;
}

static void too_slow(int signal) {
  (void)signal;
  char text[] = "run ........: too slow\n";
  for (long i = 11, n = current; i > 3; i--, n /= 10)
    text[i] = (char)('0' + n % 10);
  (void)!write(2, text, sizeof(text) - 1);
  _exit(1);
}

/// Of the processor, so that a busy machine is no slow importer.
static void limit_time(long seconds) {
  setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = seconds}, NULL);
}

static void dump(const char *path, size_t size) {
  FILE *f = fopen(path, "wb");
  if (f) {
    fwrite(work, 1, size, f);
    fclose(f);
  }
}

int main(int argc, char **argv) {
  size_t runs = 1000, only = SIZE_MAX, n = 0, modules = 0, internal = 0;
  uint64_t seed = 1;
  const char *dump_path = NULL, *until = NULL;
  long limit = 10;
  int option;
  while ((option = getopt(argc, argv, "n:s:1:d:p:t:")) != -1) {
    if (option == 'n')
      runs = strtoull(optarg, NULL, 10);
    else if (option == 's')
      seed = strtoull(optarg, NULL, 10);
    else if (option == '1')
      only = strtoull(optarg, NULL, 10);
    else if (option == 'p')
      until = optarg;
    else if (option == 't')
      limit = strtol(optarg, NULL, 10);
    else if (option == 'd')
      dump_path = optarg;
    else
      return 2;
  }
  fe_arena *arena = fe_arena_create(NULL);
  fe_diags diags = {.arena = arena, .fn = receive};
  model *models = FE_NEW_N(arena, model, 4 + (size_t)(argc - optind));
  const pb seeds[] = {seed_if(arena), seed_loop(arena), seed_scan(arena),
                      seed_function(arena)};
  for (; n < 4; n++)
    models[n] = (model){(const uint8_t *)seeds[n].b.at, seeds[n].b.n};
  for (int i = optind; i < argc; i++) {
    fe_file file;
    if (fe_file_map(&diags, argv[i], &file) != FE_OK) {
      fprintf(stderr, "cannot read %s\n", argv[i]);
      return 2;
    }
    models[n++] = (model){file.data, file.size};
  }
  for (size_t i = 0; i < n; i++)
    room = room > models[i].size ? room : models[i].size;
  room += 4096;
  work = malloc(room);
  spare = malloc(room);
  if (!work || !spare)
    return 2;
  signal(SIGPROF, too_slow);
  bool good = true;
  MlirContext ctx = {0};
  const char *irdl[] = {fe_onnx_irdl(arena), fe_krnl_irdl};
  size_t run = 0;
  diags.user = &run;
  for (; run < runs && good; run++) {
    if (run % 200 == 0 || !ctx.ptr) { // what it has interned goes with it
      if (ctx.ptr)
        mlirContextDestroy(ctx);
      diags.arena = arena;
      ctx = fe_context_create(&diags, irdl, 2);
    }
    if (only != SIZE_MAX && run != only)
      continue;
    uint64_t r = seed * 0x100000001b3 + run;
    size_t which = run % n;
    size_t size = run / n % 2 ? damage_fields(&r, &models[which])
                              : damage(&r, models, n, which);
    if (dump_path)
      dump(dump_path, size);
    current = (sig_atomic_t)run;
    limit_time(limit);
    unsigned before = diags.internal;
    good =
        import(ctx, &diags, size, run, until, &modules) && memory_is_fine(run);
    internal += diags.internal != before;
    limit_time(0);
  }
  printf("%zu runs on %zu models: %zu gave a module, the others were refused; "
         "%zu internal errors\n",
         run, n, modules, internal);
  mlirContextDestroy(ctx);
  free(work);
  free(spare);
  fe_arena_destroy(arena);
  return good && !internal ? 0 : 1;
}
