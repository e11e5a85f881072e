//===- plan_fuzz.c - random programs through plan and emit -------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of calls, branches and loops over tensors of sizes that are known,
// follow from an input, depend on data, or change in loops. Each is written
// twice: as IR, which is planned, compiled and run, and as a tree, which is
// interpreted here with a fresh array per value. Memory is filled with rubbish
// before and after its life, so memory shared wrongly or freed too early shows
// as a wrong number.
//
//===----------------------------------------------------------------------===//
#include "emit/emit.h"
#include "pass/pass.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char fe_krnl_irdl[];

enum { MAX_VALUES = 2000, MAX_SCOPE = 400, MAX_CARRIED = 3, FIXED = 5 };
enum { N_FLAGS = 8, N_OUT = 3, MAX_JOINED = 5, MAX_FIXED = 400 };

typedef enum size_kind {
  SIZE_FIXED, // 5
  SIZE_N,     // of input 0
  SIZE_N3,    // that plus 3
  SIZE_M,     // the last flag
  SIZE_DIM,   // of a value
  SIZE_GROW,  // that plus 1
  N_SIZES
} size_kind;

typedef struct stmt {
  enum { MIX, VIEW, JOIN, IF, FOR, WHILE } op;
  unsigned in[MAX_JOINED], n_in, out;
  size_kind size;
  unsigned of;
  unsigned flag;        // IF: taken when not 0; loops: count
  unsigned n, n_passed; // results or carried; WHILE: forwarded
  unsigned init[MAX_CARRIED], arg[MAX_CARRIED], passed[MAX_CARRIED];
  unsigned after[MAX_CARRIED], yield[2][MAX_CARRIED], result[MAX_CARRIED];
  struct block *block[2];
} stmt;

typedef struct block {
  fe_vec(stmt *) at;
} block;

typedef struct program {
  unit *u;
  fe_buf text;
  uint64_t seed;
  unsigned n_values, n_names;
  const char *name[MAX_VALUES];
  unsigned fixed[MAX_VALUES]; // type tensor<Nxi32>; 0: tensor<?xi32>
  unsigned scope[MAX_SCOPE], n_scope;
  unsigned left; // statements that may still be made
  block *body;
  unsigned out[N_OUT];
  const stmt *join; // the last one
} program;

//===-- Writing programs ----------------------------------------------------//

static unsigned pick(program *p, unsigned n) {
  p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(p->seed >> 33) % n;
}

#define say(p, ...) fe_buf_printf((p)->u->arena, &(p)->text, __VA_ARGS__)

static const char *type(program *p, unsigned v) {
  return p->fixed[v] ? fe_printf(p->u->arena, "tensor<%uxi32>", p->fixed[v])
                     : "tensor<?xi32>";
}

static unsigned value(program *p, const char *name, unsigned fixed) {
  assert_true(p->n_values < MAX_VALUES);
  p->name[p->n_values] = name;
  p->fixed[p->n_values] = fixed;
  return p->n_values++;
}

static const char *fresh(program *p, const char *letter) {
  return fe_printf(p->u->arena, "%%%s%u", letter, p->n_names++);
}

static void see(program *p, unsigned v) {
  if (p->n_scope < MAX_SCOPE)
    p->scope[p->n_scope++] = v;
}

/// A value in scope, recent ones rather.
static unsigned any(program *p) {
  unsigned back = pick(p, 2) ? pick(p, p->n_scope)
                             : pick(p, p->n_scope < 6 ? p->n_scope : 6);
  return p->scope[p->n_scope - 1 - back];
}

static unsigned any_of_type(program *p, unsigned like) {
  for (unsigned i = 0; i < 30; i++) {
    unsigned v = any(p);
    if (p->fixed[v] == p->fixed[like])
      return v;
  }
  return like;
}

static void say_list(program *p, unsigned n, const unsigned *v, bool types) {
  for (unsigned i = 0; i < n; i++)
    say(p, "%s%s", i ? ", " : "", types ? type(p, v[i]) : p->name[v[i]]);
}

static void mix(program *p, stmt *s) {
  s->in[0] = any(p);
  s->in[1] = any(p);
  s->size = (size_kind)pick(p, N_SIZES);
  s->of = any_of_type(p, 0);
  s->out = value(p, fresh(p, "v"), s->size == SIZE_FIXED ? FIXED : 0);
  const char *dim = s->size == SIZE_N    ? "%n"
                    : s->size == SIZE_N3 ? "%n3"
                                         : "%m";
  if (s->size >= SIZE_DIM) {
    dim = fresh(p, "d");
    say(p, "%s = tensor.dim %s, %%c0 : tensor<?xi32>\n", dim, p->name[s->of]);
  }
  if (s->size == SIZE_GROW) {
    const char *old = dim;
    dim = fresh(p, "d");
    say(p, "%s = arith.addi %s, %%c1 : index\n", dim, old);
  }
  const char *e = fresh(p, "e"), *t = type(p, s->out);
  say(p, "%s = tensor.empty(%s) : %s\n", e, s->size == SIZE_FIXED ? "" : dim,
      t);
  say(p,
      "%s = \"kernel.call\"(%s, %s, %s) {callee = @mix, ins = 2, outs = 1} : "
      "(%s, %s, %s) -> %s\n",
      p->name[s->out], p->name[s->in[0]], p->name[s->in[1]], e,
      type(p, s->in[0]), type(p, s->in[1]), t, t);
}

/// The same data under another type.
static void view(program *p, stmt *s) {
  s->in[0] = any(p);
  unsigned fixed = p->fixed[s->in[0]];
  s->out = value(p, fresh(p, "v"), 0);
  const char *d = fresh(p, "d");
  if (fixed)
    say(p, "%s = arith.constant %u : index\n", d, fixed);
  else
    say(p, "%s = tensor.dim %s, %%c0 : tensor<?xi32>\n", d, p->name[s->in[0]]);
  if (fixed && pick(p, 2))
    say(p, "%s = tensor.cast %s : %s to tensor<?xi32>\n", p->name[s->out],
        p->name[s->in[0]], type(p, s->in[0]));
  else
    say(p, "%s = \"krnl.reshape\"(%s, %s) : (%s, index) -> tensor<?xi32>\n",
        p->name[s->out], p->name[s->in[0]], d, type(p, s->in[0]));
}

static bool visible(const program *p, unsigned v) {
  for (unsigned i = 0; i < p->n_scope; i++)
    if (p->scope[i] == v)
      return true;
  return false;
}

/// Mostly of known sizes, which plan computes in place; often again of what was
/// joined before.
static void join(program *p, stmt *s) {
  s->n_in = 2 + pick(p, MAX_JOINED - 1);
  unsigned total = 0;
  bool fixed = pick(p, 8) != 0;
  unsigned again = pick(p, 3);
  for (unsigned i = 0; i < s->n_in; i++) {
    s->in[i] = fixed ? any_of_type(p, 1) : any(p);
    for (unsigned k = 0; k < 10 && fixed && !p->fixed[s->in[i]]; k++)
      s->in[i] = any(p);
    unsigned k = again == 1 ? i : pick(p, MAX_JOINED);
    if (fixed && p->join && again && k < p->join->n_in &&
        visible(p, p->join->in[k]))
      s->in[i] = p->join->in[k];
    if (fixed &&
        (!p->fixed[s->in[i]] || total + p->fixed[s->in[i]] > MAX_FIXED))
      s->in[i] = 1;
    total += p->fixed[s->in[i]];
  }
  for (unsigned i = 0; i < s->n_in; i++)
    fixed = fixed && p->fixed[s->in[i]] && total <= MAX_FIXED;
  s->out = value(p, fresh(p, "v"), fixed ? total : 0);
  p->join = s;
  const char *flat[MAX_JOINED], *types[MAX_JOINED], *sum = NULL;
  for (unsigned i = 0; i < s->n_in; i++) {
    unsigned n = p->fixed[s->in[i]];
    const char *d = fresh(p, "d"), *next = fresh(p, "d");
    flat[i] = fresh(p, "t");
    if (n)
      say(p, "%s = arith.constant %u : index\n", d, n);
    else
      say(p, "%s = tensor.dim %s, %%c0 : tensor<?xi32>\n", d,
          p->name[s->in[i]]);
    types[i] =
        n ? fe_printf(p->u->arena, "tensor<1x%uxi32>", n) : "tensor<1x?xi32>";
    say(p, "%s = \"krnl.reshape\"(%s, %%c1, %s) : (%s, index, index) -> %s\n",
        flat[i], p->name[s->in[i]], d, type(p, s->in[i]), types[i]);
    if (sum)
      say(p, "%s = arith.addi %s, %s : index\n", next, sum, d);
    sum = sum ? next : d;
  }
  const char *e = fresh(p, "e"), *r = fresh(p, "t"),
             *t = fixed ? fe_printf(p->u->arena, "tensor<1x%uxi32>", total)
                        : "tensor<1x?xi32>";
  say(p, "%s = tensor.empty(%s) : %s\n%s = \"kernel.call\"(", e,
      fixed ? "" : sum, t, r);
  for (unsigned i = 0; i < s->n_in; i++)
    say(p, "%s, ", flat[i]);
  say(p, "%s) {callee = @cat%u, ins = %u, outs = 1} : (", e, s->n_in, s->n_in);
  for (unsigned i = 0; i < s->n_in; i++)
    say(p, "%s, ", types[i]);
  say(p, "%s) -> %s\n%s = \"krnl.reshape\"(%s, %s) : (%s, index) -> %s\n", t, t,
      p->name[s->out], r, sum, t, type(p, s->out));
}

static block *statements(program *p, unsigned depth, unsigned n);

static block *region(program *p, unsigned depth, unsigned n_yield,
                     const unsigned *like, unsigned *yield) {
  block *b = statements(p, depth + 1, 1 + pick(p, 4));
  for (unsigned k = 0; k < n_yield; k++)
    yield[k] = any_of_type(p, like[k]);
  return b;
}

static void results(program *p, stmt *s, const char *base, unsigned n,
                    unsigned first) {
  for (unsigned k = 0; k < n; k++)
    p->name[s->result[k]] = fe_printf(p->u->arena, "%s#%u", base, k + first);
}

static void branch(program *p, stmt *s, unsigned depth) {
  s->n = 1 + pick(p, 2);
  s->flag = pick(p, N_FLAGS - 1);
  unsigned like[MAX_CARRIED];
  for (unsigned k = 0; k < s->n; k++) {
    like[k] = any(p);
    s->result[k] = value(p, NULL, p->fixed[like[k]]);
  }
  const char *c = fresh(p, "q"), *r = fresh(p, "r");
  say(p, "%s = arith.cmpi ne, %%f%u, %%c0 : index\n%s:%u = scf.if %s -> (", c,
      s->flag, r, s->n, c);
  say_list(p, s->n, s->result, true);
  for (unsigned i = 0; i < 2; i++) {
    unsigned scope = p->n_scope;
    say(p, i ? "} else {\n" : ") {\n");
    s->block[i] = region(p, depth, s->n, like, s->yield[i]);
    say(p, "scf.yield ");
    say_list(p, s->n, s->yield[i], false);
    say(p, " : ");
    say_list(p, s->n, s->yield[i], true);
    say(p, "\n");
    p->n_scope = scope;
  }
  say(p, "}\n");
  results(p, s, r, s->n, 0);
}

static void carry(program *p, stmt *s) {
  s->n = 1 + pick(p, MAX_CARRIED);
  s->flag = pick(p, N_FLAGS - 1);
  for (unsigned k = 0; k < s->n; k++) {
    s->init[k] = any(p);
    s->arg[k] = value(p, fresh(p, "a"), p->fixed[s->init[k]]);
    say(p, "%s%s = %s", k ? ", " : "", p->name[s->arg[k]], p->name[s->init[k]]);
  }
}

static void for_loop(program *p, stmt *s, unsigned depth) {
  const char *r = fresh(p, "r");
  fe_buf outer = p->text;
  p->text = (fe_buf){0};
  carry(p, s);
  const char *list = p->text.at;
  p->text = outer;
  say(p, "%s:%u = scf.for %s = %%c0 to %%f%u step %%c1 iter_args(%s) -> (", r,
      s->n, fresh(p, "i"), s->flag, list);
  say_list(p, s->n, s->arg, true);
  say(p, ") {\n");
  unsigned scope = p->n_scope;
  for (unsigned k = 0; k < s->n; k++) {
    see(p, s->arg[k]);
    s->result[k] = value(p, NULL, p->fixed[s->arg[k]]);
  }
  s->block[0] = region(p, depth, s->n, s->init, s->yield[0]);
  say(p, "scf.yield ");
  say_list(p, s->n, s->yield[0], false);
  say(p, " : ");
  say_list(p, s->n, s->yield[0], true);
  say(p, "\n}\n");
  p->n_scope = scope;
  results(p, s, r, s->n, 0);
}

static void while_loop(program *p, stmt *s, unsigned depth) {
  const char *r = fresh(p, "r"), *i = fresh(p, "i"), *j = fresh(p, "i"),
             *c = fresh(p, "q"), *next = fresh(p, "i");
  s->n_passed = 1 + pick(p, MAX_CARRIED);
  fe_buf outer = p->text;
  p->text = (fe_buf){0};
  carry(p, s);
  const char *list = p->text.at;
  p->text = outer;
  unsigned like[MAX_CARRIED];
  for (unsigned k = 0; k < s->n_passed; k++) {
    like[k] = s->init[pick(p, s->n)];
    s->after[k] = value(p, fresh(p, "b"), p->fixed[like[k]]);
    s->result[k] = value(p, NULL, p->fixed[like[k]]);
  }
  say(p, "%s:%u = scf.while (%s = %%c0, %s) : (index, ", r, s->n_passed + 1, i,
      list);
  say_list(p, s->n, s->arg, true);
  say(p, ") -> (index, ");
  say_list(p, s->n_passed, s->result, true);
  say(p, ") {\n");
  unsigned scope = p->n_scope;
  for (unsigned k = 0; k < s->n; k++)
    see(p, s->arg[k]);
  s->block[0] = region(p, depth, s->n_passed, like, s->passed);
  say(p, "%s = arith.cmpi slt, %s, %%f%u : index\nscf.condition(%s) %s, ", c, i,
      s->flag, c, i);
  say_list(p, s->n_passed, s->passed, false);
  say(p, " : index, ");
  say_list(p, s->n_passed, s->passed, true);
  say(p, "\n} do {\n^bb0(%s: index", j);
  p->n_scope = scope;
  for (unsigned k = 0; k < s->n_passed; k++) {
    say(p, ", %s: %s", p->name[s->after[k]], type(p, s->after[k]));
    see(p, s->after[k]);
  }
  say(p, "):\n");
  s->block[1] = region(p, depth, s->n, s->init, s->yield[1]);
  say(p, "%s = arith.addi %s, %%c1 : index\nscf.yield %s, ", next, j, next);
  say_list(p, s->n, s->yield[1], false);
  say(p, " : index, ");
  say_list(p, s->n, s->yield[1], true);
  say(p, "\n}\n");
  p->n_scope = scope;
  results(p, s, r, s->n_passed, 1);
}

static block *statements(program *p, unsigned depth, unsigned n) {
  block *b = FE_NEW(p->u->arena, block);
  for (unsigned i = 0; i < n && p->left; i++) {
    stmt *s = FE_NEW(p->u->arena, stmt);
    unsigned op = depth < 3 ? pick(p, 14) : pick(p, 8);
    p->left--;
    s->op = op < 5    ? MIX
            : op < 6  ? VIEW
            : op < 8  ? JOIN
            : op < 10 ? IF
            : op < 12 ? FOR
                      : WHILE;
    if (s->op <= JOIN) {
      (s->op == MIX ? mix : s->op == VIEW ? view : join)(p, s);
      see(p, s->out);
    } else {
      (s->op == IF    ? branch
       : s->op == FOR ? for_loop
                      : while_loop)(p, s, depth);
      for (unsigned k = 0; k < (s->op == WHILE ? s->n_passed : s->n); k++)
        see(p, s->result[k]);
    }
    fe_push(p->u->arena, &b->at, s);
  }
  return b;
}

static const char kernel[] =
    "func.func private @mix(%begin: index, %end: index, %x: memref<?xi32>, "
    "%y: memref<?xi32>, %z: memref<?xi32>) attributes {krnl.kernel, "
    "krnl.outs = 1 : i64, krnl.extent = affine_map<()[s0, s1, s2] -> "
    "(s2, 30000)>} {\n"
    "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
    "%c2 = arith.constant 2 : index\n%one = arith.constant 1 : i32\n%three = "
    "arith.constant 3 : i32\n"
    "%five = arith.constant 5 : i32\n%zero = arith.constant 0 : i32\n"
    "%nx = memref.dim %x, %c0 : memref<?xi32>\n"
    "%ny = memref.dim %y, %c0 : memref<?xi32>\n"
    "%px = arith.cmpi sgt, %nx, %c0 : index\n"
    "%py = arith.cmpi sgt, %ny, %c0 : index\n"
    "scf.for %i = %begin to %end step %c1 {\n"
    "%a = scf.if %px -> i32 {\n%j = arith.addi %i, %c2 : index\n%k = "
    "arith.remui %j, %nx : index\n"
    "%v = memref.load %x[%k] : memref<?xi32>\nscf.yield %v : i32\n"
    "} else {\nscf.yield %zero : i32\n}\n"
    "%b = scf.if %py -> i32 {\n%j = arith.addi %i, %c2 : index\n%k = "
    "arith.remui %j, %ny : index\n"
    "%v = memref.load %y[%k] : memref<?xi32>\nscf.yield %v : i32\n"
    "} else {\nscf.yield %zero : i32\n}\n"
    "%a3 = arith.muli %a, %three : i32\n%b5 = arith.muli %b, %five : i32\n"
    "%s = arith.addi %a3, %b5 : i32\n%t = arith.addi %s, %one : i32\n"
    "memref.store %t, %z[%i] : memref<?xi32>\n}\nreturn\n}\n";

static program *write_program(unit *u, uint64_t seed) {
  program *p = FE_NEW(u->arena, program);
  p->u = u;
  p->seed = seed;
  p->left = 40;
  see(p, value(p, "%x0", 0));
  see(p, value(p, "%x1", FIXED));
  // The results are known last, but stand first.
  fe_buf body = {0};
  p->text = body;
  p->body = statements(p, 0, 4 + pick(p, 10));
  body = p->text;
  p->text = (fe_buf){0};
  for (unsigned i = 0; i < N_OUT; i++)
    p->out[i] = any(p);
  for (unsigned n = 2; n <= MAX_JOINED; n++) {
    say(p, "func.func private @cat%u(%%begin: index, %%end: index, ", n);
    for (unsigned i = 0; i < n; i++)
      say(p, "%%x%u: memref<1x?xi32>, ", i);
    say(p, "%%z: memref<1x?xi32>) attributes {krnl.kernel, krnl.concat, "
           "krnl.outs = 1 : i64, krnl.extent = affine_map<()[s0, s1] -> (s0, "
           "s1)>} {\nreturn\n}\n");
  }
  say(p,
      "%sfunc.func @main(%%x0: tensor<?xi32>, %%x1: tensor<5xi32>, "
      "%%flags: tensor<8xi32>) -> (",
      kernel);
  say_list(p, N_OUT, p->out, true);
  say(p, ") {\n%%c3 = arith.constant 3 : index\n%%c5 = arith.constant 5 : "
         "index\n");
  for (unsigned i = 0; i < N_FLAGS; i++)
    say(p,
        "%%k%u = arith.constant %u : index\n"
        "%%g%u = tensor.extract %%flags[%%k%u] : tensor<8xi32>\n"
        "%%f%u = arith.index_cast %%g%u : i32 to index\n",
        i, i, i, i, i, i);
  say(p, "%%c0 = arith.constant 0 : index\n%%c1 = arith.constant 1 : index\n"
         "%%n = tensor.dim %%x0, %%c0 : tensor<?xi32>\n"
         "%%n3 = arith.addi %%n, %%c3 : index\n"
         "%%m = arith.addi %%f7, %%c0 : index\n");
  fe_buf_add(u->arena, &p->text, body.at, body.n);
  say(p, "return ");
  say_list(p, N_OUT, p->out, false);
  say(p, " : ");
  say_list(p, N_OUT, p->out, true);
  say(p, "\n}\n");
  return p;
}

//===-- The reference -------------------------------------------------------//

typedef struct array {
  int64_t n;
  const uint32_t *at;
} array;

typedef struct machine {
  program *p;
  array v[MAX_VALUES];
  int32_t flags[N_FLAGS];
} machine;

/// Not element i, so that writing in place would be seen.
static uint32_t element(array a, int64_t i) {
  return a.n ? a.at[(i + 2) % a.n] : 0;
}

static void interpret(machine *m, const block *b);

static void move(machine *m, unsigned n, const unsigned *to,
                 const unsigned *from) {
  array old[MAX_CARRIED];
  for (unsigned k = 0; k < n; k++)
    old[k] = m->v[from[k]];
  for (unsigned k = 0; k < n; k++)
    m->v[to[k]] = old[k];
}

static void interpret_mix(machine *m, const stmt *s) {
  int64_t n = m->v[0].n, sizes[N_SIZES] = {FIXED,         n,
                                           n + 3,         m->flags[N_FLAGS - 1],
                                           m->v[s->of].n, m->v[s->of].n + 1};
  int64_t count = sizes[s->size];
  uint32_t *z = FE_NEW_N(m->p->u->arena, uint32_t, (size_t)count + 1);
  for (int64_t i = 0; i < count; i++)
    z[i] = element(m->v[s->in[0]], i) * 3 + element(m->v[s->in[1]], i) * 5 + 1;
  m->v[s->out] = (array){count, z};
}

static void interpret_join(machine *m, const stmt *s) {
  int64_t n = 0, at = 0;
  for (unsigned i = 0; i < s->n_in; i++)
    n += m->v[s->in[i]].n;
  uint32_t *z = FE_NEW_N(m->p->u->arena, uint32_t, (size_t)n + 1);
  for (unsigned i = 0; i < s->n_in; at += m->v[s->in[i++]].n)
    for (int64_t k = 0; k < m->v[s->in[i]].n; k++)
      z[at + k] = m->v[s->in[i]].at[k];
  m->v[s->out] = (array){n, z};
}

static void interpret_loop(machine *m, const stmt *s) {
  move(m, s->n, s->arg, s->init);
  for (int32_t i = 0;; i++) {
    if (s->op == WHILE) {
      interpret(m, s->block[0]);
      move(m, s->n_passed, s->after, s->passed);
      if (i >= m->flags[s->flag])
        break;
      interpret(m, s->block[1]);
      move(m, s->n, s->arg, s->yield[1]);
    } else {
      if (i >= m->flags[s->flag])
        break;
      interpret(m, s->block[0]);
      move(m, s->n, s->arg, s->yield[0]);
    }
  }
  if (s->op == WHILE)
    move(m, s->n_passed, s->result, s->after);
  else
    move(m, s->n, s->result, s->arg);
}

static void interpret(machine *m, const block *b) {
  for (size_t i = 0; i < b->at.n; i++) {
    const stmt *s = b->at.at[i];
    if (s->op == MIX) {
      interpret_mix(m, s);
    } else if (s->op == VIEW) {
      m->v[s->out] = m->v[s->in[0]];
    } else if (s->op == JOIN) {
      interpret_join(m, s);
    } else if (s->op == IF) {
      unsigned k = m->flags[s->flag] ? 0 : 1;
      interpret(m, s->block[k]);
      move(m, s->n, s->result, s->yield[k]);
    } else {
      interpret_loop(m, s);
    }
  }
}

//===-- Running
//-------------------------------------------------------------//

/// Memory with its size in front, filled with rubbish before and after.
typedef struct heap {
  int live;
} heap;

static void *take(void *user, size_t bytes) {
  ((heap *)user)->live++;
  char *p = malloc(bytes + 16);
  memcpy(p, &bytes, sizeof bytes);
  memset(p + 16, 0xAB, bytes);
  return p + 16;
}

static void give(void *user, void *block) {
  ((heap *)user)->live--;
  char *p = (char *)block - 16;
  size_t bytes;
  memcpy(&bytes, p, sizeof bytes);
  memset(block, 0xCD, bytes);
  free(p);
}

static void run(program *p, const ferrule_model *model, int64_t n,
                bool in_place, unsigned salt) {
  machine *m = FE_NEW(p->u->arena, machine);
  m->p = p;
  uint32_t *x0 = FE_NEW_N(p->u->arena, uint32_t, (size_t)n + 1), x1[FIXED];
  for (int64_t i = 0; i < n; i++)
    x0[i] = (uint32_t)(i * 7 + salt);
  for (unsigned i = 0; i < FIXED; i++)
    x1[i] = i * 1000 + salt;
  for (unsigned i = 0; i < N_FLAGS; i++)
    m->flags[i] = (int32_t)((salt >> (2 * i)) % 4);
  m->flags[N_FLAGS - 1] *= 5;
  ferrule_tensor in[3] = {
      {.data = x0, .dtype = FERRULE_I32, .rank = 1, .dims = {n}},
      {.data = x1, .dtype = FERRULE_I32, .rank = 1, .dims = {FIXED}},
      {.data = m->flags, .dtype = FERRULE_I32, .rank = 1, .dims = {N_FLAGS}}};
  heap h = {0};
  ferrule_run_options options = {.allocate = take, .release = give, .user = &h};
  ferrule_tensor out[N_OUT] = {0};
  for (unsigned i = 0; in_place && i < N_OUT; i++) {
    out[i].capacity = 400000;
    out[i].data = take(&h, 400000);
  }
  int64_t symbols[FERRULE_MAX_SYMBOLS];
  assert_int_equal(ferrule_model_symbols(model, in, symbols), 0);
  size_t size = (size_t)model->arena_size(symbols);
  char *arena = aligned_alloc(64, size + 64);
  memset(arena, 0xEF, size + 64);
  assert_int_equal(ferrule_model_run(model, in, out, arena, &options), 0);
  assert_int_equal(h.live, N_OUT); // the outputs; all else is released
  for (unsigned i = 0; i < 64; i++)
    assert_int_equal((unsigned char)arena[size + i], 0xEF);
  m->v[0] = (array){n, x0};
  m->v[1] = (array){FIXED, x1};
  interpret(m, p->body);
  for (unsigned i = 0; i < N_OUT; i++) {
    array want = m->v[p->out[i]];
    assert_int_equal(out[i].rank, 1);
    assert_int_equal(out[i].dtype, FERRULE_I32);
    assert_int_equal(out[i].dims[0], want.n);
    const uint32_t *got = out[i].data;
    for (int64_t k = 0; k < want.n; k++)
      if (got[k] != want.at[k])
        fail_msg("output %u [%lld] is %u, not %u", i, (long long)k, got[k],
                 want.at[k]);
    give(&h, out[i].data);
  }
  free(arena);
}

static void try_program(uint64_t seed, bool show) {
  unit *u = unit_begin();
  program *p = write_program(u, seed);
  if (show)
    puts(p->text.at);
  const char *irdl[] = {fe_krnl_irdl};
  MlirContext ctx = fe_context_create(&u->diags, irdl, 1);
  fe_blobs blobs = {.arena = u->arena};
  fe_ir ir;
  fe_ir_init(&ir, ctx, u->arena, &u->diags, &blobs);
  MlirModule m = fe_parse(&ir, p->text.at, "program");
  if (mlirModuleIsNull(m) || fe_plan(&ir, m, NULL) != FE_OK ||
      fe_ir_ok(&ir, "plan", m) != FE_OK)
    fail_msg("%s", u->messages->at);
  if (show)
    puts(fe_print(u->arena, mlirModuleGetOperation(m)));
  fe_target native;
  fe_emit_options o = {.target = fe_target_find("native", &native),
                       .artifact = FE_ARTIFACT_JIT,
                       .compiler = "test",
                       .opt = 1,
                       .threads = 1};
  fe_jit *jit = NULL;
  if (fe_emit(&ir, m, &o, &jit) != FE_OK)
    fail_msg("%s", u->messages->at);
  const ferrule_model *model = fe_jit_model(jit);
  static const int64_t sizes[] = {4, 0, 9};
  for (unsigned k = 0; k < FE_COUNT(sizes); k++)
    for (unsigned round = 0; round < 3; round++)
      run(p, model, sizes[k], round != 1,
          (unsigned)(seed * 40503u + round * 65599u + k * 12345u) & 0xFFFF);
  fe_jit_destroy(jit);
  mlirModuleDestroy(m);
  mlirContextDestroy(ctx);
  unit_end(u);
}

static uint64_t first = 1, count = 25;
static bool show;

static void random_programs(void **state) {
  (void)state;
  for (uint64_t seed = first; seed < first + count; seed++) {
    print_message("program %llu\n", (unsigned long long)seed);
    try_program(seed, show);
  }
}

/// plan_fuzz [FIRST COUNT]: one program is shown.
int main(int argc, char **argv) {
  if (argc > 2) {
    first = strtoull(argv[1], NULL, 10);
    count = strtoull(argv[2], NULL, 10);
    show = count == 1;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
