//===- string.c - texts compared, joined, taken apart ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of texts point to the texts they are of: whatever is in a run stays
// until its end.
//
//===----------------------------------------------------------------------===//
#include "run.h"
#include "unicode.h"

#include <stdlib.h>
#include <string.h>

/// args: a, b, result (bool), as many elements each.
int32_t fe_rt_string_equal(fe_run *run, ferrule_tensor *args,
                           int64_t *numbers) {
  (void)run, (void)numbers;
  const ferrule_string *a = args[0].data, *b = args[1].data;
  uint8_t *out = args[2].data;
  int64_t n = fe_rt_count(&args[2]);
  for (int64_t i = 0; i < n; i++)
    out[i] = fe_rt_same_text(&a[i], &b[i]);
  return 0;
}

/// args: a, b, result, as many elements each.
int32_t fe_rt_string_concat(fe_run *run, ferrule_tensor *args,
                            int64_t *numbers) {
  (void)numbers;
  const ferrule_string *a = args[0].data, *b = args[1].data;
  ferrule_string *out = args[2].data;
  int64_t n = fe_rt_count(&args[2]), bytes = 0;
  for (int64_t i = 0; i < n; i++)
    bytes += a[i].size + b[i].size;
  char *at = fe_rt_object(run, bytes);
  if (!at)
    return FE_RUN_STATUS;
  for (int64_t i = 0; i < n; i++) {
    // Where one is empty, its address may be none.
    out[i] = (ferrule_string){at, a[i].size + b[i].size};
    if (a[i].size)
      memcpy(at, a[i].data, (size_t)a[i].size);
    at += a[i].size;
    if (b[i].size)
      memcpy(at, b[i].data, (size_t)b[i].size);
    at += b[i].size;
  }
  return 0;
}

//===-- Splitting -----------------------------------------------------------//

static int64_t find(const char *at, int64_t n, const ferrule_string *what) {
  for (int64_t i = 0; i + what->size <= n; i++)
    if (at[i] == what->data[0] &&
        !memcmp(at + i, what->data, (size_t)what->size))
      return i;
  return -1;
}

/// Pieces between separators, at most `limit` separators; written when `out`
/// is there. An empty text has none.
static int64_t split_at(const ferrule_string *s, const ferrule_string *by,
                        int64_t limit, ferrule_string *out) {
  const char *at = s->data;
  int64_t left = s->size, n = 0;
  if (!left)
    return 0;
  for (int64_t k; n < limit && (k = find(at, left, by)) >= 0; n++) {
    if (out)
      out[n] = (ferrule_string){at, k};
    at += k + by->size;
    left -= k + by->size;
  }
  if (out)
    out[n] = (ferrule_string){at, left};
  return n + 1;
}

/// Bytes of white space at the start of a text.
static int64_t skip_space(const char *at, int64_t n) {
  int64_t k = 0;
  while (k < n) {
    uint32_t c;
    int64_t size = fe_utf8_decode(at + k, n - k, &c);
    if (!size || !fe_is_space(c))
      break;
    k += size;
  }
  return k;
}

/// Bytes up to the next white space.
static int64_t skip_word(const char *at, int64_t n) {
  int64_t k = 0;
  while (k < n) {
    uint32_t c;
    int64_t size = fe_utf8_decode(at + k, n - k, &c);
    if (size && fe_is_space(c))
      break;
    k += size ? size : 1; // what is not UTF-8 is no white space
  }
  return k;
}

static int64_t without_end_space(const char *at, int64_t n) {
  int64_t end = 0;
  for (int64_t k = 0; k < n;) {
    k += skip_space(at + k, n - k);
    int64_t word = skip_word(at + k, n - k);
    k += word;
    if (word)
      end = k;
  }
  return end;
}

static int64_t split_words(const ferrule_string *s, int64_t limit,
                           ferrule_string *out) {
  const char *at = s->data;
  int64_t left = s->size, n = 0;
  for (;; n++) {
    int64_t space = skip_space(at, left);
    at += space;
    left -= space;
    if (!left)
      return n;
    int64_t word =
        n < limit ? skip_word(at, left) : without_end_space(at, left);
    if (out)
      out[n] = (ferrule_string){at, word};
    at += word;
    left -= word;
  }
}

static int64_t split(const ferrule_string *s, const ferrule_string *by,
                     int64_t limit, ferrule_string *out) {
  return by->size ? split_at(s, by, limit, out) : split_words(s, limit, out);
}

/// args: texts, separator (empty: white space), numbers of pieces. numbers: the
/// most separators; result the most pieces.
int32_t fe_rt_string_count_pieces(fe_run *run, ferrule_tensor *args,
                                  int64_t *numbers) {
  (void)run;
  const ferrule_string *in = args[0].data, *by = args[1].data;
  int64_t *out = args[2].data, n = fe_rt_count(&args[0]), most = 0;
  for (int64_t i = 0; i < n; i++) {
    out[i] = split(&in[i], by, numbers[0], NULL);
    most = out[i] > most ? out[i] : most;
  }
  numbers[1] = most;
  return 0;
}

/// args: texts, separator, result [.., most pieces]. numbers: as before.
int32_t fe_rt_string_split(fe_run *run, ferrule_tensor *args,
                           int64_t *numbers) {
  (void)run;
  const ferrule_string *in = args[0].data, *by = args[1].data;
  ferrule_string *out = args[2].data;
  int64_t n = fe_rt_count(&args[0]), most = args[2].dims[args[2].rank - 1];
  for (int64_t i = 0; i < n; i++, out += most)
    for (int64_t k = split(&in[i], by, numbers[0], out); k < most; k++)
      out[k] = (ferrule_string){"", 0};
  return 0;
}

//===-- Order ---------------------------------------------------------------//

/// args: texts, keys (rising), result: int64 number of the key, or how many
/// there are.
int32_t fe_rt_string_find(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)run, (void)numbers;
  const ferrule_string *in = args[0].data, *keys = args[1].data;
  int64_t *out = args[2].data, n = fe_rt_count(&args[0]);
  int64_t n_keys = fe_rt_count(&args[1]);
  for (int64_t i = 0; i < n; i++)
    out[i] = fe_string_find(&in[i], keys, n_keys);
  return 0;
}

typedef struct item {
  ferrule_string text;
  int64_t place;
} item;

static int compare(const void *a, const void *b) {
  return fe_string_compare(&((const item *)a)->text, &((const item *)b)->text);
}

/// args: texts, result: int64 number of different smaller texts.
int32_t fe_rt_string_rank(fe_run *run, ferrule_tensor *args, int64_t *numbers) {
  (void)numbers;
  const ferrule_string *in = args[0].data;
  int64_t *out = args[1].data, n = fe_rt_count(&args[0]), rank = 0;
  item *items = fe_rt_object(run, n * (int64_t)sizeof *items);
  if (!items)
    return FE_RUN_STATUS;
  for (int64_t i = 0; i < n; i++)
    items[i] = (item){in[i], i};
  qsort(items, (size_t)n, sizeof *items, compare);
  for (int64_t i = 0; i < n; i++) {
    rank += i && compare(&items[i - 1], &items[i]) != 0;
    out[items[i].place] = rank;
  }
  return 0;
}

//===-- Hashes --------------------------------------------------------------//

static uint32_t turned(uint32_t v, unsigned bits) {
  return v << bits | v >> (32 - bits);
}

/// MurmurHash3 of 32 bits. args: texts, result (32 bits); numbers: the seed.
int32_t fe_rt_string_murmur(fe_run *run, ferrule_tensor *args,
                            int64_t *numbers) {
  (void)run;
  const ferrule_string *x = args[0].data;
  uint32_t *out = args[1].data;
  int64_t n = fe_rt_count(&args[1]);
  for (int64_t i = 0; i < n; i++) {
    const unsigned char *at = (const unsigned char *)x[i].data;
    uint32_t hash = (uint32_t)numbers[0];
    for (int64_t left = x[i].size; left > 0; left -= 4, at += 4) {
      uint32_t k = 0;
      for (int64_t b = left < 4 ? left : 4; b-- > 0;)
        k = k << 8 | at[b];
      hash ^= turned(k * 0xcc9e2d51u, 15) * 0x1b873593u;
      if (left >= 4) // what is left over is not mixed any further
        hash = turned(hash, 13) * 5 + 0xe6546b64u;
    }
    hash ^= (uint32_t)x[i].size;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    out[i] = hash ^ hash >> 16;
  }
  return 0;
}
