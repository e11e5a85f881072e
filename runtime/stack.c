//===- stack.c - results of loops, element by element ---------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of one size each, of which nobody knows how many there will be. They
// lie in pieces, each as large as all before it, so that none is copied before
// the tensor is made. A list that has nothing yet is a null pointer.
//
//===----------------------------------------------------------------------===//
#include "run.h"

/// What calls may give back: see the message in src/op/onnx/stack.c.
enum { BAD_SIZE = 1 };

enum { MOST_PIECES = 64, FIRST_BYTES = 4096 };

typedef struct fe_piece {
  char *data;
  int64_t count;
} fe_piece;

typedef struct fe_stack {
  int64_t count, bytes; // of an element
  int64_t left;         // room in the last piece
  int32_t rank, pieces;
  int64_t dims[FERRULE_MAX_RANK];
  fe_piece piece[MOST_PIECES];
} fe_stack;

static fe_stack *stack_of(const ferrule_tensor *value) {
  return *(fe_stack *const *)value->data;
}

/// args: destination.
int32_t fe_rt_stack_list(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)run;
  (void)numbers;
  *(fe_stack **)args[0].data = NULL;
  return 0;
}

static fe_stack *make(fe_run *run, const ferrule_tensor *element) {
  fe_stack *s = fe_rt_alloc(run, sizeof *s);
  if (!s)
    return NULL;
  s->count = s->left = s->pieces = 0;
  s->bytes = fe_rt_bytes(element->dtype, fe_rt_count(element));
  s->rank = element->rank;
  for (int32_t i = 0; i < element->rank; i++)
    s->dims[i] = element->dims[i];
  return s;
}

static bool add_piece(fe_run *run, fe_stack *s) {
  int64_t n = s->count, bytes;
  if (!n)
    n = s->bytes && s->bytes < FIRST_BYTES ? FIRST_BYTES / s->bytes : 1;
  if (s->pieces == MOST_PIECES || __builtin_mul_overflow(n, s->bytes, &bytes))
    bytes = INT64_MAX;
  char *data = fe_rt_alloc(run, bytes);
  if (!data)
    return false;
  s->piece[s->pieces++] = (fe_piece){data, n};
  s->left = n;
  return true;
}

/// args: list, element, destination.
int32_t fe_rt_stack_append(fe_run *run, ferrule_tensor *args,
                           int64_t *numbers) {
  (void)numbers;
  const ferrule_tensor *element = &args[1];
  fe_stack *s = stack_of(&args[0]);
  if (!s && !(s = make(run, element)))
    return FE_RUN_STATUS;
  for (int32_t i = 0; i < s->rank; i++)
    if (s->dims[i] != element->dims[i])
      return BAD_SIZE;
  if (!s->left && !add_piece(run, s))
    return FE_RUN_STATUS;
  const fe_piece *p = &s->piece[s->pieces - 1];
  if (s->bytes)
    memcpy(p->data + (p->count - s->left) * s->bytes, element->data,
           (size_t)s->bytes);
  s->left--;
  s->count++;
  *(fe_stack **)args[2].data = s;
  return 0;
}

/// numbers: rank of the elements, their dims if there is none. Results: how
/// many there are, their dims. args: list.
int32_t fe_rt_stack_sizes(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)run;
  const fe_stack *s = stack_of(&args[0]);
  int64_t rank = numbers[0];
  int64_t *result = numbers + 1 + rank;
  result[0] = s ? s->count : 0;
  for (int64_t i = 0; i < rank; i++)
    result[1 + i] = s ? s->dims[i] : numbers[1 + i];
  return 0;
}

/// The list is gone afterwards. numbers: whether the last element comes first.
/// args: list, destination.
int32_t fe_rt_stack_tensor(fe_run *run, ferrule_tensor *args,
                           int64_t *numbers) {
  fe_stack *s = stack_of(&args[0]);
  if (!s)
    return 0;
  char *to = args[1].data;
  int64_t left = s->count, bytes = s->bytes;
  for (int32_t i = 0; i < s->pieces; i++) {
    const fe_piece *p = &s->piece[i];
    int64_t n = p->count < left ? p->count : left;
    if (numbers[0])
      for (int64_t k = 0; bytes && k < n; k++)
        memcpy(to + (left - 1 - k) * bytes, p->data + k * bytes, (size_t)bytes);
    else if (bytes && n)
      memcpy(to + (s->count - left) * bytes, p->data, (size_t)(n * bytes));
    left -= n;
    fe_rt_free(run, p->data);
  }
  fe_rt_free(run, s);
  return 0;
}
