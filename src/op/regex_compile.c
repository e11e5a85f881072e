//===- regex_compile.c - from the tree to a program --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes over bytes are made from the end of the expression to its beginning, so
// that each knows what follows it. Then the sets of nodes that a text can have
// led to become the states of a table, unless there are too many.
//
//===----------------------------------------------------------------------===//
#include "op/regex.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NODES 200000
#define MAX_STATES 2000
#define MAX_CELLS (1 << 18)
#define MAX_WORK 20000000
#define MAX_DEPTH 5000

typedef struct compiler {
  fe_arena *arena;
  fe_vec(fe_regex_node) nodes;
  bool too_large;
  unsigned depth;
} compiler;

static int32_t add_node(compiler *c, fe_regex_node n) {
  if (c->nodes.n >= MAX_NODES) {
    c->too_large = true;
    return 0;
  }
  fe_push(c->arena, &c->nodes, n);
  return (int32_t)c->nodes.n - 1;
}

//===-- Characters to bytes -------------------------------------------------//

/// One set on its way: equal endings are shared.
typedef struct sequences {
  compiler *c;
  fe_map known;
  int32_t next, all; // what follows; the alternatives so far, or -1
} sequences;

static int32_t range_node(sequences *s, uint8_t first, uint8_t last,
                          int32_t next) {
  struct {
    int32_t next;
    uint8_t first, last;
  } key;
  memset(&key, 0, sizeof key);
  key.next = next;
  key.first = first;
  key.last = last;
  intptr_t known = (intptr_t)fe_map_get_bytes(&s->known, &key, sizeof key);
  if (known)
    return (int32_t)(known - 1);
  int32_t n = add_node(s->c, (fe_regex_node){.kind = FE_REGEX_RANGE,
                                             .next = next,
                                             .first = first,
                                             .last = last});
  fe_map_set_bytes(s->c->arena, &s->known, &key, sizeof key,
                   (void *)((intptr_t)n + 1));
  return n;
}

static unsigned encode(uint32_t c, uint8_t out[4]) {
  unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
  for (unsigned i = more; i > 0; --i, c >>= 6)
    out[i] = (uint8_t)(0x80 | (c & 0x3f));
  out[0] = (uint8_t)(lead[more] | c);
  return more + 1;
}

/// Characters whose encodings differ in any byte by a whole range.
static void add_sequence(sequences *s, uint32_t first, uint32_t last) {
  uint8_t low[4], high[4];
  unsigned n = encode(first, low);
  encode(last, high);
  int32_t at = s->next;
  for (unsigned i = n; i-- > 0;)
    at = range_node(s, low[i], high[i], at);
  s->all = s->all < 0 ? at
                      : add_node(s->c, (fe_regex_node){.kind = FE_REGEX_SPLIT,
                                                       .next = at,
                                                       .other = s->all});
}

static void add_range(sequences *s, uint32_t first, uint32_t last) {
  // Also where surrogates begin and end: they are no characters.
  static const uint32_t lengths[] = {0x7f, 0x7ff, 0xd7ff, 0xdfff, 0xffff};
  if (s->c->too_large || (first >= 0xd800 && last <= 0xdfff))
    return;
  for (size_t i = 0; i < FE_COUNT(lengths); ++i)
    if (first <= lengths[i] && last > lengths[i]) {
      add_range(s, first, lengths[i]);
      add_range(s, lengths[i] + 1, last);
      return;
    }
  for (unsigned i = 1; last > 0x7f && i < 4; ++i) {
    uint32_t low = (1u << (6 * i)) - 1;
    if ((first & ~low) == (last & ~low))
      continue;
    uint32_t cut = first & low           ? first | low
                   : (last & low) != low ? (last & ~low) - 1
                                         : last;
    if (cut < last) {
      add_range(s, first, cut);
      add_range(s, cut + 1, last);
      return;
    }
  }
  add_sequence(s, first, last);
}

static int32_t compile_set(compiler *c, const fe_charset *set, int32_t next) {
  sequences s = {.c = c, .next = next, .all = -1};
  for (size_t i = set->n; i-- > 0;)
    add_range(&s, set->at[i].first, set->at[i].last);
  if (s.all < 0) // no character at all: a range that no byte is in
    s.all = add_node(
        c, (fe_regex_node){
               .kind = FE_REGEX_RANGE, .next = next, .first = 1, .last = 0});
  return s.all;
}

//===-- The tree to nodes ---------------------------------------------------//

static int32_t compile(compiler *c, const fe_regex *r, int32_t next);

static int32_t split(compiler *c, int32_t next, int32_t other) {
  return add_node(
      c, (fe_regex_node){.kind = FE_REGEX_SPLIT, .next = next, .other = other});
}

static int32_t compile_repeat(compiler *c, const fe_regex *r, int32_t next) {
  if (r->most < 0) {
    int32_t loop = split(c, 0, next);
    int32_t body = compile(c, r->a, loop);
    c->nodes.at[loop].next = body;
    next = loop;
  }
  int32_t behind = next;
  for (int i = r->least; i < r->most && !c->too_large; ++i)
    next = split(c, compile(c, r->a, next), behind);
  for (int i = 0; i < r->least && !c->too_large; ++i)
    next = compile(c, r->a, next);
  return next;
}

/// First node of r before `next`.
static int32_t compile(compiler *c, const fe_regex *r, int32_t next) {
  if (c->too_large || ++c->depth > MAX_DEPTH) {
    c->too_large = true;
    return 0;
  }
  int32_t first = next;
  // Chains lean to the left: from right to left without recursion.
  for (; r->kind == FE_REGEX_CONCAT; r = r->a)
    first = compile(c, r->b, first);
  int32_t behind = first;
  switch (r->kind) {
  case FE_REGEX_SET:
    first = compile_set(c, &r->set, first);
    break;
  case FE_REGEX_BYTE:
    first = add_node(
        c, (fe_regex_node){.kind = FE_REGEX_RANGE, .next = first, .last = 255});
    break;
  case FE_REGEX_ASSERT:
    first = add_node(c, (fe_regex_node){.kind = FE_REGEX_ASK,
                                        .next = first,
                                        .ask = (uint16_t)r->assertion});
    break;
  case FE_REGEX_EITHER: {
    int32_t all = -1;
    for (; r->kind == FE_REGEX_EITHER; r = r->a) {
      int32_t one = compile(c, r->b, behind);
      all = all < 0 ? one : split(c, one, all);
    }
    first = split(c, compile(c, r, behind), all);
    break;
  }
  case FE_REGEX_REPEAT:
    first = compile_repeat(c, r, first);
    break;
  default: // empty
    break;
  }
  --c->depth;
  return first;
}

//===-- Nodes to a table ----------------------------------------------------//

typedef struct state {
  const int32_t *nodes; // rising: where bytes have led to
  size_t n;
  int before; // a byte like the last one; -1: none
} state;

typedef struct table {
  const compiler *c;
  int32_t first;
  bool asks;
  int32_t classes[256];
  int columns;
  uint8_t byte_of[256]; // of a column
  fe_vec(state) states;
  fe_map known;
  fe_vec(int32_t) cells;
  uint8_t *seen;
  int32_t *stack, *closed;
  uint64_t work;
} table;

static void find_columns(table *t) {
  static const uint8_t edges[] = {'\n',    '\n' + 1, '0',     '9' + 1, 'A',
                                  'Z' + 1, '_',      '_' + 1, 'a',     'z' + 1};
  bool begins[257] = {[0] = true};
  for (size_t i = 0; i < t->c->nodes.n; ++i) {
    const fe_regex_node *n = &t->c->nodes.at[i];
    t->asks |= n->kind == FE_REGEX_ASK;
    if (n->kind != FE_REGEX_RANGE || n->first > n->last)
      continue;
    begins[n->first] = true;
    begins[n->last + 1] = true;
  }
  for (size_t i = 0; t->asks && i < sizeof edges; ++i)
    begins[edges[i]] = true;
  for (int b = 0; b < 256; ++b) {
    if (begins[b])
      t->byte_of[t->columns++] = (uint8_t)b;
    t->classes[b] = t->columns - 1;
  }
}

/// All nodes that are reached from the state's without a byte, when `after`
/// comes next. Gives their number; whether the end is among them.
static size_t close_over(table *t, const state *s, int after, bool *accepts) {
  unsigned facts = fe_regex_facts(s->before, after);
  size_t n = 0, top = 0;
  *accepts = false;
  for (size_t i = s->n; i-- > 0;)
    if (!t->seen[s->nodes[i]]) {
      t->seen[s->nodes[i]] = 1;
      t->stack[top++] = s->nodes[i];
    }
  while (top) {
    int32_t at = t->stack[--top];
    const fe_regex_node *node = &t->c->nodes.at[at];
    t->closed[n++] = at;
    *accepts |= node->kind == FE_REGEX_ACCEPT;
    int32_t to[2] = {node->next, node->other};
    int ways = node->kind == FE_REGEX_SPLIT                        ? 2
               : node->kind == FE_REGEX_ASK && (node->ask & facts) ? 1
                                                                   : 0;
    for (int k = 0; k < ways; ++k)
      if (!t->seen[to[k]]) {
        t->seen[to[k]] = 1;
        t->stack[top++] = to[k];
      }
  }
  for (size_t i = 0; i < n; ++i)
    t->seen[t->closed[i]] = 0;
  t->work += n;
  return n;
}

static int compare(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/// Number of the state, a new one or not.
static int32_t state_of(table *t, int32_t *nodes, size_t n, int before) {
  fe_arena *arena = t->c->arena;
  size_t unique = 0;
  if (!n)
    return -1;
  qsort(nodes, n, sizeof *nodes, compare);
  for (size_t i = 0; i < n; ++i)
    if (!i || nodes[i] != nodes[i - 1])
      nodes[unique++] = nodes[i];
  nodes[unique] = before; // there is room for one more
  size_t size = (unique + 1) * sizeof *nodes;
  intptr_t known = (intptr_t)fe_map_get_bytes(&t->known, nodes, size);
  if (known)
    return (int32_t)known - 1;
  int32_t *own = fe_memdup(arena, nodes, size);
  fe_map_set_bytes(arena, &t->known, own, size,
                   (void *)(intptr_t)(t->states.n + 1));
  fe_push(arena, &t->states, ((state){own, unique, before}));
  return (int32_t)t->states.n - 1;
}

/// A byte that stands for all with the same facts.
static int kind_of(const table *t, int byte) {
  if (!t->asks)
    return 0;
  unsigned word = fe_regex_facts(' ', byte) & FE_REGEX_WORD_EDGE;
  return byte == '\n' ? '\n' : word ? 'a' : ' ';
}

/// False: too much work for a table.
static bool fill_row(table *t, size_t number, int32_t *nodes) {
  fe_arena *arena = t->c->arena;
  state s = t->states.at[number];
  bool accepts, other;
  close_over(t, &s, -1, &accepts);
  fe_push(arena, &t->cells, accepts);
  int closed_for = -2;
  size_t n = 0;
  for (int column = 0; column < t->columns; ++column) {
    int byte = t->byte_of[column], after = kind_of(t, byte);
    if (after != closed_for)
      n = close_over(t, &s, after, &other);
    closed_for = after;
    size_t count = 0;
    for (size_t i = 0; i < n; ++i) {
      const fe_regex_node *node = &t->c->nodes.at[t->closed[i]];
      if (node->kind == FE_REGEX_RANGE && byte >= node->first &&
          byte <= node->last)
        nodes[count++] = node->next;
    }
    t->work += n;
    fe_push(arena, &t->cells, state_of(t, nodes, count, after));
    if (t->states.n > MAX_STATES || t->cells.n > MAX_CELLS ||
        t->work > MAX_WORK)
      return false;
  }
  return true;
}

static bool make_table(table *t) {
  fe_arena *arena = t->c->arena;
  size_t n = t->c->nodes.n;
  int32_t *nodes = FE_NEW_N(arena, int32_t, n + 1);
  t->seen = FE_NEW_N(arena, uint8_t, n);
  memset(t->seen, 0, n);
  t->stack = FE_NEW_N(arena, int32_t, n);
  t->closed = FE_NEW_N(arena, int32_t, n);
  find_columns(t);
  nodes[0] = t->first;
  state_of(t, nodes, 1, t->asks ? -1 : 0);
  for (size_t i = 0; i < t->states.n; ++i)
    if (!fill_row(t, i, nodes))
      return false;
  return true;
}

static void *program(fe_arena *arena, fe_regex_header header, const void *a,
                     size_t a_size, const void *b, size_t b_size,
                     size_t *size) {
  *size = sizeof header + a_size + b_size;
  char *out = fe_alloc(arena, *size);
  memcpy(out, &header, sizeof header);
  if (a_size)
    memcpy(out + sizeof header, a, a_size);
  memcpy(out + sizeof header + a_size, b, b_size);
  return out;
}

void *fe_regex_compile(fe_arena *arena, const fe_regex *r, size_t *size) {
  compiler c = {.arena = arena};
  // Node 0 is the first one: it is made when all others are there.
  int32_t start = add_node(&c, (fe_regex_node){.kind = FE_REGEX_SPLIT});
  int32_t end = add_node(&c, (fe_regex_node){.kind = FE_REGEX_ACCEPT});
  int32_t first = compile(&c, r, end);
  if (c.too_large)
    return NULL;
  c.nodes.at[start].next = c.nodes.at[start].other = first;
  table t = {.c = &c, .first = start};
  if (make_table(&t))
    return program(
        arena,
        (fe_regex_header){FE_REGEX_TABLE, (int32_t)t.states.n, t.columns, 0},
        t.classes, sizeof t.classes, t.cells.at, t.cells.n * sizeof *t.cells.at,
        size);
  return program(arena,
                 (fe_regex_header){FE_REGEX_NODES, (int32_t)c.nodes.n, 0, 0},
                 NULL, 0, c.nodes.at, c.nodes.n * sizeof *c.nodes.at, size);
}
