//===- map.c - hash map that keeps insertion order ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: entries lie in an array in the order they came; beside it an open
// addressing table (linear probing, a power of two, at most half full) holds
// entry numbers plus one. String keys are copied into the arena with their
// NUL, so the entries can be read as C strings.
//
// Keeps: pointer keys hash by value, which differs between runs; only the
// table's layout depends on it, never the order of iteration.
//
//===----------------------------------------------------------------------===//
#include "base/base.h"

#include <string.h>

// MurmurHash64A (Austin Appleby, public domain), bytes read one at a time at
// the tail and by memcpy before it, so that alignment does not matter.
uint64_t fe_hash(const void *data, size_t n, uint64_t seed) {
  const uint64_t mul = 0xc6a4a7935bd1e995u;
  const unsigned char *p = data;
  uint64_t h = seed ^ (n * mul);
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t k;
    memcpy(&k, p, 8);
    k *= mul;
    k ^= k >> 47;
    k *= mul;
    h = (h ^ k) * mul;
  }
  if (n) {
    uint64_t k = 0;
    for (size_t i = n; i-- > 0;)
      k = k << 8 | p[i];
    h = (h ^ k) * mul;
  }
  h ^= h >> 47;
  h *= mul;
  return h ^ h >> 47;
}

static uint64_t hash_of(const void *key, size_t size) {
  return size ? fe_hash(key, size, 0) : fe_hash(&key, sizeof key, 1);
}

static bool same(const fe_map_entry *e, const void *key, size_t size) {
  if (e->key_size != size)
    return false;
  return size ? memcmp(e->key, key, size) == 0 : e->key == key;
}

// Slot of the key, or the empty slot where it belongs.
static size_t probe(const fe_map *m, const void *key, size_t size) {
  size_t mask = m->n_slots - 1, i = hash_of(key, size) & mask;
  while (m->slots[i] && !same(&m->entries[m->slots[i] - 1], key, size))
    i = (i + 1) & mask;
  return i;
}

static void *get(const fe_map *m, const void *key, size_t size) {
  if (!m->n)
    return NULL;
  uint32_t e = m->slots[probe(m, key, size)];
  return e ? m->entries[e - 1].value : NULL;
}

static void rehash(fe_arena *arena, fe_map *m) {
  m->n_slots = m->n_slots ? m->n_slots * 2 : 16;
  m->slots = FE_NEW_N(arena, uint32_t, m->n_slots);
  for (size_t i = 0; i < m->n; i++) {
    const fe_map_entry *e = &m->entries[i];
    m->slots[probe(m, e->key, e->key_size)] = (uint32_t)(i + 1);
  }
}

static void set(fe_arena *arena, fe_map *m, const void *key, size_t size,
                void *value) {
  if ((m->n + 1) * 2 > m->n_slots)
    rehash(arena, m);
  size_t slot = probe(m, key, size);
  if (m->slots[slot]) {
    m->entries[m->slots[slot] - 1].value = value;
    return;
  }
  if (m->n == m->cap)
    m->entries = fe_vec_grow(arena, m->entries, &m->cap, sizeof *m->entries);
  m->entries[m->n++] =
      (fe_map_entry){size ? fe_memdup(arena, key, size) : key, size, value};
  m->slots[slot] = (uint32_t)m->n;
}

// The NUL is part of a string key, so the empty string is no pointer key.
void *fe_map_get(const fe_map *m, const char *key) {
  return get(m, key, strlen(key) + 1);
}

void fe_map_set(fe_arena *arena, fe_map *m, const char *key, void *value) {
  set(arena, m, key, strlen(key) + 1, value);
}

void *fe_map_get_bytes(const fe_map *m, const void *key, size_t n) {
  return get(m, key, n);
}

void fe_map_set_bytes(fe_arena *arena, fe_map *m, const void *key, size_t n,
                      void *value) {
  set(arena, m, key, n, value);
}

void *fe_map_get_ptr(const fe_map *m, const void *key) {
  return get(m, key, 0);
}

void fe_map_set_ptr(fe_arena *arena, fe_map *m, const void *key, void *value) {
  set(arena, m, key, 0, value);
}
