//===- values_test.c - sequences, optionals and maps of a run -----*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's functions on random sequences, compared with arrays that are
// changed in place; built with the sanitizers. Everything that a run takes is
// released at its end, whatever that is, and each output with one release.
//
//===----------------------------------------------------------------------===//
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int32_t fe_rt_sequence_make(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_sequence_length(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_sequence_dims(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_sequence_at(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_sequence_insert(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_sequence_append(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_sequence_erase(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_sequence_split(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_sequence_concat_dims(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_sequence_concat(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_optional_make(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_optional_dims(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_optional_get(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_stack_list(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_stack_append(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_stack_sizes(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_stack_tensor(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_map_rows(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_map_count(fe_run *, ferrule_tensor *, int64_t *);
int32_t fe_rt_map_take(fe_run *, ferrule_tensor *, int64_t *);

static int failures;
#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition) && failures++ < 20)                                       \
      printf("line %d: %s\n", __LINE__, #condition);                           \
  } while (0)

static uint64_t state = 1;
static int64_t below(int64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((state >> 33) % (uint64_t)n);
}

//===-- An allocator that counts, and runs out ------------------------------//

static int64_t blocks, until_none = -1; // -1: never

static void *take(void *user, size_t bytes) {
  (void)user;
  if (until_none == 0)
    return NULL;
  until_none -= until_none > 0;
  void *p = malloc(bytes);
  memset(p, 0xa5, bytes);
  blocks++;
  return p;
}

static void give_back(void *user, void *p) {
  (void)user;
  blocks--;
  free(p);
}

//===-- Values --------------------------------------------------------------//

/// An int64 tensor of one dim in the test's memory.
typedef struct row {
  int64_t n, at[8];
} row;

static row random_row(void) {
  row r = {.n = below(6)};
  for (int64_t i = 0; i < r.n; i++)
    r.at[i] = below(1000);
  return r;
}

static ferrule_tensor tensor_of(const row *r) {
  return (ferrule_tensor){.data = (void *)r->at,
                          .capacity = below(3), // means nothing here
                          .dtype = FERRULE_I64,
                          .rank = 1,
                          .dims = {r->n}};
}

static bool is_row(const ferrule_tensor *t, const row *r) {
  return t->dtype == FERRULE_I64 && t->rank == 1 && t->dims[0] == r->n &&
         (!r->n || !memcmp(t->data, r->at, (size_t)r->n * 8));
}

enum { MOST = 64, KEPT = 8 };
typedef struct list {
  int64_t n;
  row at[MOST];
} list;

static ferrule_tensor handle(void *const *place) {
  return (ferrule_tensor){.data = (void *)place, .dtype = FERRULE_SEQUENCE};
}

static bool is_list(const ferrule_sequence *s, const list *l) {
  bool same = s->count == l->n;
  for (int64_t i = 0; same && i < l->n; i++)
    same = is_row(&s->items[i], &l->at[i]);
  return same;
}

//===-- Random changes ------------------------------------------------------//

/// Several sequences that are made from each other, each with what it must be.
static list kept[KEPT];

static int32_t change(fe_run *run, void **places) {
  int64_t from = below(KEPT), to = below(KEPT), numbers[20];
  list next = kept[from];
  void *made = NULL;
  row r = random_row();
  ferrule_tensor args[3] = {handle(&places[from])};
  int64_t n = next.n, at = below(2 * n + 3) - n - 1; // one too far each way
  numbers[0] = at;
  int32_t status;
  switch (n >= MOST - 1 ? 2 : below(3)) {
  case 0:
    args[1] = tensor_of(&r);
    args[2] = handle(&made);
    status = fe_rt_sequence_append(run, args, numbers);
    at = n;
    break;
  case 1:
    args[1] = tensor_of(&r);
    args[2] = handle(&made);
    status = fe_rt_sequence_insert(run, args, numbers);
    EXPECT((status == 1) == (at < -n || at > n));
    at += at < 0 ? n : 0;
    break;
  default:
    args[1] = handle(&made);
    status = fe_rt_sequence_erase(run, args, numbers);
    EXPECT((status == 1) == (at < -n || at >= n));
    at += at < 0 ? n : 0;
    if (status == 0) {
      memmove(&next.at[at], &next.at[at + 1],
              (size_t)(n - at - 1) * sizeof(row));
      next.n--;
    }
    if (status == 0)
      goto keep;
  }
  if (status)
    return status < 0 ? status : 0;
  memmove(&next.at[at + 1], &next.at[at], (size_t)(n - at) * sizeof(row));
  next.at[at] = r;
  next.n++;
keep:
  places[to] = made;
  kept[to] = next;
  return 0;
}

static int32_t look(fe_run *run, void **places) {
  int64_t k = below(KEPT), n = kept[k].n, numbers[20];
  row got = {0};
  ferrule_tensor args[2] = {handle(&places[k])};
  int32_t status = fe_rt_sequence_length(run, args, numbers);
  EXPECT(status == 0 && numbers[0] == n);
  int64_t at = numbers[0] = below(2 * n + 2) - n - 1;
  numbers[1] = 1;
  status = fe_rt_sequence_dims(run, args, numbers);
  EXPECT((status == 1) == (at < -n || at >= n));
  if (status)
    return 0;
  const row *want = &kept[k].at[at < 0 ? at + n : at];
  EXPECT(numbers[2] == want->n);
  got.n = numbers[2];
  args[1] = tensor_of(&got);
  numbers[0] = at;
  EXPECT(!fe_rt_sequence_at(run, args, numbers));
  EXPECT(is_row(&args[1], want));
  numbers[1] = 2;
  EXPECT(fe_rt_sequence_dims(run, args, numbers) == 2);
  return 0;
}

static int32_t join(fe_run *run, void **places) {
  int64_t k = below(KEPT), total = 0, numbers[20] = {0, 0, 1};
  int64_t out[8 * MOST];
  ferrule_tensor args[2] = {handle(&places[k])};
  for (int64_t i = 0; i < kept[k].n; i++)
    total += kept[k].at[i].n;
  int32_t status = fe_rt_sequence_concat_dims(run, args, numbers);
  EXPECT(kept[k].n ? status == 0 && numbers[3] == total : status == 1);
  if (status)
    return 0;
  args[1] = (ferrule_tensor){
      .data = out, .dtype = FERRULE_I64, .rank = 1, .dims = {total}};
  EXPECT(!fe_rt_sequence_concat(run, args, numbers));
  for (int64_t i = 0, at = 0; i < kept[k].n; at += kept[k].at[i++].n)
    EXPECT(!memcmp(out + at, kept[k].at[i].at, (size_t)kept[k].at[i].n * 8));
  return 0;
}

//===-- Other values --------------------------------------------------------//

static ferrule_string words[] = {{"a", 1}, {NULL, 0}, {"longer", 6}, {"z", 1}};
static float scores[8] = {0, 1, 2, 3, 4, 5, 6, 7};

static ferrule_tensor word_tensor(void) {
  return (ferrule_tensor){
      .data = words, .dtype = FERRULE_STRING, .rank = 1, .dims = {4}};
}

static bool are_words(const ferrule_tensor *t, int64_t n) {
  const ferrule_string *s = t->data;
  bool same = t->dtype == FERRULE_STRING && t->rank == 1 && t->dims[0] == n;
  for (int64_t i = 0; same && i < n; i++)
    same = s[i].size == words[i].size && s[i].data != words[i].data &&
           (!s[i].size || !memcmp(s[i].data, words[i].data, (size_t)s[i].size));
  return same || !n;
}

/// A sequence of two maps from words to scores, in an optional.
static int32_t nest(fe_run *run, ferrule_tensor *out) {
  void *maps = NULL, *held = NULL;
  ferrule_tensor args[4] = {word_tensor()};
  args[1] = (ferrule_tensor){
      .data = scores, .dtype = FERRULE_F32, .rank = 2, .dims = {2, 4}};
  args[2] = handle(&maps);
  int32_t status = fe_rt_map_rows(run, args, NULL);
  if (status)
    return status;
  int64_t numbers[2];
  ferrule_tensor map = ((ferrule_sequence *)maps)->items[1];
  ferrule_string keys[4];
  float values[4];
  EXPECT(!fe_rt_map_count(run, &map, numbers) && numbers[0] == 4);
  args[0] = map;
  args[1] = word_tensor();
  args[1].data = keys;
  args[2] = (ferrule_tensor){
      .data = values, .dtype = FERRULE_F32, .rank = 1, .dims = {4}};
  EXPECT(!fe_rt_map_take(run, args, numbers));
  EXPECT(!memcmp(keys, words, sizeof words) && values[3] == 7);
  args[0] = handle(&maps);
  args[1] = handle(&held);
  status = fe_rt_optional_make(run, args, NULL);
  if (status)
    return status;
  ferrule_tensor value = handle(&held);
  value.dtype = FERRULE_OPTIONAL;
  void *again = NULL;
  args[0] = value;
  args[1] = handle(&again);
  EXPECT(!fe_rt_optional_get(run, args, NULL) && again == maps);
  return fe_rt_values_output(run, out, &value);
}

static void check_nested(const ferrule_tensor *t) {
  const ferrule_tensor *held = *(ferrule_tensor *const *)t->data;
  EXPECT(held->dtype == FERRULE_SEQUENCE && held->rank == 0);
  const ferrule_sequence *s = *(ferrule_sequence *const *)held->data;
  EXPECT(s->count == 2);
  for (int64_t i = 0; i < s->count; i++) {
    const ferrule_map *m = *(ferrule_map *const *)s->items[i].data;
    EXPECT(s->items[i].dtype == FERRULE_MAP && are_words(&m->keys, 4));
    EXPECT(!memcmp(m->values.data, scores + 4 * i, 16));
  }
}

//===-- Runs ----------------------------------------------------------------//

/// An input, in memory that is gone before the outputs are looked at.
static ferrule_tensor *input;

static int32_t random_run(const ferrule_tensor *inputs, ferrule_tensor *outputs,
                          void *arena, fe_run *run) {
  (void)inputs;
  (void)arena;
  void *places[KEPT];
  int32_t status = 0;
  for (int64_t k = 0; k < KEPT && !status; k++) {
    row r[2] = {random_row(), random_row()};
    kept[k] = (list){.n = k % 3, .at = {r[0], r[1]}};
    ferrule_tensor args[3];
    for (int64_t i = 0; i < kept[k].n; i++)
      args[i] = tensor_of(&kept[k].at[i]);
    args[kept[k].n] = handle(&places[k]);
    int64_t n = kept[k].n;
    status = fe_rt_sequence_make(run, args, &n);
  }
  places[0] = *(void **)input->data; // one is the caller's
  kept[0] = (list){.n = 2, .at = {{2, {5, 6}}, {1, {7}}}};
  for (int i = 0; i < 400 && !status; i++)
    status = below(3)   ? change(run, places)
             : below(2) ? look(run, places)
                        : join(run, places);
  for (int64_t k = 0; k < KEPT && !status; k++) {
    ferrule_tensor value = handle(&places[k]);
    EXPECT(is_list(places[k], &kept[k]));
    status = fe_rt_values_output(run, &outputs[k], &value);
  }
  ferrule_tensor text = word_tensor();
  if (!status)
    status = fe_rt_values_output(run, &outputs[KEPT], &text);
  if (!status)
    status = nest(run, &outputs[KEPT + 1]);
  return status;
}

/// Gives the number of blocks that the run took.
static void run_once(int64_t limit) {
  ferrule_tensor out[KEPT + 2] = {0};
  int64_t first[] = {5, 6}, second[] = {7};
  ferrule_tensor items[2] = {{first, 0, FERRULE_I64, 1, {2}},
                             {second, 1, FERRULE_I64, 1, {1}}};
  ferrule_sequence *s = malloc(sizeof *s);
  *s = (ferrule_sequence){2, items};
  void *place = s;
  ferrule_tensor given = handle(&place);
  input = &given;
  ferrule_run_options options = {.allocate = take, .release = give_back};
  until_none = limit;
  int32_t status = fe_rt_enter_heap(random_run, NULL, out, NULL, &options);
  free(s);
  int64_t left = 0;
  for (int k = 0; k < KEPT + 2; k++)
    left += out[k].data != NULL;
  EXPECT(blocks == left);
  EXPECT(limit < 0 ? status == 0
                   : status == 0 || status == FERRULE_RUN_NO_MEMORY);
  if (status == 0) {
    for (int64_t k = 0; k < KEPT; k++)
      EXPECT(is_list(*(ferrule_sequence **)out[k].data, &kept[k]));
    EXPECT(are_words(&(ferrule_tensor){.data = out[KEPT].data,
                                       .dtype = FERRULE_STRING,
                                       .rank = 1,
                                       .dims = {4}},
                     4));
    check_nested(&out[KEPT + 1]);
  }
  for (int k = 0; k < KEPT + 2; k++)
    if (out[k].data)
      give_back(NULL, out[k].data);
  EXPECT(blocks == 0);
}

//===-- Splits --------------------------------------------------------------//

static int32_t split_run(const ferrule_tensor *inputs, ferrule_tensor *outputs,
                         void *arena, fe_run *run) {
  (void)inputs;
  (void)outputs;
  (void)arena;
  int16_t data[2 * 5 * 3];
  for (int i = 0; i < 30; i++)
    data[i] = (int16_t)i;
  int64_t sizes[] = {1, 0, 4}, numbers[3] = {1, 1, 1};
  void *made = NULL;
  ferrule_tensor args[3] = {{data, 0, FERRULE_I16, 3, {2, 5, 3}},
                            {sizes, 0, FERRULE_I64, 1, {3}},
                            handle(&made)};
  EXPECT(!fe_rt_sequence_split(run, args, numbers));
  const ferrule_sequence *s = made;
  EXPECT(s->count == 3 && s->items[1].dims[1] == 0);
  EXPECT(s->items[2].dims[1] == 4 && ((int16_t *)s->items[2].data)[12] == 18);
  sizes[2] = 3;
  EXPECT(fe_rt_sequence_split(run, args, numbers) == 2);
  sizes[0] = INT64_MAX;
  EXPECT(fe_rt_sequence_split(run, args, numbers) == 2);
  sizes[0] = -1;
  EXPECT(fe_rt_sequence_split(run, args, numbers) == 1);
  args[1].rank = 0;
  sizes[0] = 2;
  EXPECT(!fe_rt_sequence_split(run, args, numbers));
  s = made;
  EXPECT(s->count == 3 && s->items[2].dims[1] == 1);
  sizes[0] = 0;
  EXPECT(fe_rt_sequence_split(run, args, numbers) == 1);
  numbers[1] = numbers[2] = 0;
  args[1] = handle(&made);
  EXPECT(!fe_rt_sequence_split(run, args, numbers));
  s = made;
  EXPECT(s->count == 5 && s->items[4].rank == 2 && s->items[4].dims[1] == 3);
  EXPECT(((int16_t *)s->items[4].data)[3] == 27);
  return 0;
}

//===-- Stacks --------------------------------------------------------------//

/// `n` elements of `size` numbers, in order or in the opposite one.
static int32_t stack_of(fe_run *run, int64_t n, int64_t size, bool reverse) {
  int16_t element[5], result[5 * 3000];
  void *list = &list, *longer;
  ferrule_tensor dest = handle(&list);
  int32_t status = fe_rt_stack_list(run, &dest, NULL);
  EXPECT(!status && !list);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < size; k++)
      element[k] = (int16_t)(i * size + k);
    ferrule_tensor args[3] = {handle(&list),
                              {element, 0, FERRULE_I16, 2, {1, size}},
                              handle(&longer)};
    status = fe_rt_stack_append(run, args, NULL);
    if (status)
      return status;
    list = longer;
    args[0] = handle(&list);
    args[1].dims[1]++;
    EXPECT(fe_rt_stack_append(run, args, NULL) == 1);
  }
  int64_t numbers[6] = {2, 7, 8, -1, -1, -1};
  ferrule_tensor args[2] = {handle(&list),
                            {result, 0, FERRULE_I16, 3, {n, 1, size}}};
  EXPECT(!fe_rt_stack_sizes(run, args, numbers));
  EXPECT(numbers[3] == n && numbers[4] == (n ? 1 : 7) &&
         numbers[5] == (n ? size : 8));
  numbers[0] = reverse;
  EXPECT(!fe_rt_stack_tensor(run, args, numbers));
  bool same = true;
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < size; k++) {
      int64_t at = reverse ? n - 1 - i : i;
      same = same && result[at * size + k] == (int16_t)(i * size + k);
    }
  EXPECT(same);
  return 0;
}

static int32_t stacks_run(const ferrule_tensor *inputs, ferrule_tensor *outputs,
                          void *arena, fe_run *run) {
  (void)inputs;
  (void)outputs;
  (void)arena;
  static const int64_t counts[] = {0, 1, 2, 100, 3000};
  int64_t before = blocks;
  for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
    for (int64_t size = 0; size < 6; size++)
      for (int reverse = 0; reverse < 2; reverse++) {
        int32_t status = stack_of(run, counts[i], size, reverse);
        if (status)
          return status;
        EXPECT(blocks == before); // a list is gone with its tensor
      }
  return 0;
}

int main(void) {
  for (int i = 0; i < 300; i++)
    run_once(-1);
  for (int64_t limit = 0; limit < 60; limit++)
    run_once(limit);
  until_none = -1;
  ferrule_run_options options = {.allocate = take, .release = give_back};
  EXPECT(!fe_rt_enter_heap(split_run, NULL, NULL, NULL, &options));
  EXPECT(blocks == 0);
  EXPECT(!fe_rt_enter_heap(stacks_run, NULL, NULL, NULL, &options));
  EXPECT(blocks == 0);
  for (int64_t limit = 0; limit < 40; limit++) {
    until_none = limit;
    EXPECT(fe_rt_enter_heap(stacks_run, NULL, NULL, NULL, &options) ==
           FERRULE_RUN_NO_MEMORY);
    EXPECT(blocks == 0);
  }
  printf("%d failures\n", failures);
  return failures != 0;
}
