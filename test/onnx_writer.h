//===- onnx_writer.h - small ONNX models written by tests ---------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A protobuf encoder and, on it, just enough of ONNX to write models down in
// tests, wrong ones too. Independent of the decoder under test.
//
//===----------------------------------------------------------------------===//
#ifndef FE_TEST_ONNX_WRITER_H
#define FE_TEST_ONNX_WRITER_H

#include "base/base.h"

#include <string.h>

/// A message being written; its bytes are at `b`.
typedef struct pb {
  fe_arena *arena;
  fe_buf b;
} pb;

static inline pb pb_new(fe_arena *arena) {
  pb m = {.arena = arena};
  fe_buf_add(arena, &m.b, "", 0);
  return m;
}

static inline void pb_raw_varint(pb *m, uint64_t v) {
  do {
    char byte = (char)((v & 127) | (v > 127 ? 128 : 0));
    fe_buf_add(m->arena, &m->b, &byte, 1);
    v >>= 7;
  } while (v);
}

static inline void pb_int(pb *m, unsigned field, int64_t v) {
  pb_raw_varint(m, field << 3);
  pb_raw_varint(m, (uint64_t)v);
}

static inline void pb_float(pb *m, unsigned field, float v) {
  pb_raw_varint(m, field << 3 | 5);
  fe_buf_add(m->arena, &m->b, (const char *)&v, 4);
}

static inline void pb_bytes(pb *m, unsigned field, const void *data, size_t n) {
  pb_raw_varint(m, field << 3 | 2);
  pb_raw_varint(m, n);
  fe_buf_add(m->arena, &m->b, data, n);
}

static inline void pb_str(pb *m, unsigned field, const char *s) {
  pb_bytes(m, field, s, strlen(s));
}

static inline void pb_sub(pb *m, unsigned field, pb sub) {
  pb_bytes(m, field, sub.b.at, sub.b.n);
}

//===-- ONNX ----------------------------------------------------------------//

/// Field numbers of NodeProto, GraphProto, ... as in the standard.
enum {
  G_NODE = 1,
  G_NAME = 2,
  G_INITIALIZER = 5,
  G_INPUT = 11,
  G_OUTPUT = 12,
  N_INPUT = 1,
  N_OUTPUT = 2,
  N_NAME = 3,
  N_OP = 4,
  N_ATTRIBUTE = 5,
  N_DOMAIN = 7,
  A_NAME = 1,
  A_F = 2,
  A_I = 3,
  A_T = 5,
  A_G = 6,
  A_INTS = 8,
  A_TYPE = 20,
  A_REF = 21,
  T_DIMS = 1,
  T_TYPE = 2,
  T_INT64_DATA = 7,
  T_NAME = 8,
  T_RAW = 9,
  T_EXTERNAL = 13,
  T_LOCATION = 14,
  M_IR = 1,
  M_GRAPH = 7,
  M_OPSET = 8,
  M_FUNCTION = 25,
  F_NAME = 1,
  F_INPUT = 4,
  F_OUTPUT = 5,
  F_ATTRIBUTE = 6,
  F_NODE = 7,
  F_OPSET = 9,
  F_DOMAIN = 10
};

/// Adds words of a list separated by spaces; "-" is the empty name.
static inline void pb_words(pb *m, unsigned field, const char *words) {
  while (*words) {
    size_t n = strcspn(words, " ");
    bool absent = n == 1 && *words == '-';
    if (n)
      pb_bytes(m, field, words, absent ? 0 : n);
    words += n + (words[n] == ' ');
  }
}

/// A node "Op in1 in2 -> out1 out2", to which attributes may be added.
static inline pb onnx_node(fe_arena *arena, const char *text) {
  pb n = pb_new(arena);
  const char *op_end = strchr(text, ' '), *arrow = strstr(text, "->");
  pb_words(&n, N_INPUT,
           fe_strndup(arena, op_end + 1, (size_t)(arrow - op_end - 1)));
  pb_words(&n, N_OUTPUT, arrow + 3);
  pb_bytes(&n, N_OP, text, (size_t)(op_end - text));
  return n;
}

static inline void onnx_attr(pb *node, const char *name, int type, pb value) {
  pb a = pb_new(node->arena);
  pb_str(&a, A_NAME, name);
  pb_int(&a, A_TYPE, type);
  fe_buf_add(a.arena, &a.b, value.b.at, value.b.n);
  pb_sub(node, N_ATTRIBUTE, a);
}

static inline void onnx_attr_int(pb *node, const char *name, int64_t v) {
  pb value = pb_new(node->arena);
  pb_int(&value, A_I, v);
  onnx_attr(node, name, 2, value);
}

static inline void onnx_attr_graph(pb *node, const char *name, pb graph) {
  pb value = pb_new(node->arena);
  pb_sub(&value, A_G, graph);
  onnx_attr(node, name, 5, value);
}

/// "x" of element type and dims "2,3,N,?" ("": scalar; NULL: no shape).
static inline pb onnx_value(fe_arena *arena, const char *name, int type,
                            const char *dims) {
  pb shape = pb_new(arena), tensor = pb_new(arena), t = pb_new(arena),
     v = pb_new(arena);
  while (dims && *dims) {
    size_t n = strcspn(dims, ",");
    pb dim = pb_new(arena);
    if ((*dims >= '0' && *dims <= '9') || *dims == '-') {
      int64_t size = 0;
      for (size_t i = *dims == '-'; i < n; i++)
        size = size * 10 + dims[i] - '0';
      pb_int(&dim, 1, *dims == '-' ? -size : size);
    } else if (*dims != '?') {
      pb_bytes(&dim, 2, dims, n);
    }
    pb_sub(&shape, 1, dim);
    dims += n + (dims[n] == ',');
  }
  pb_int(&tensor, 1, type);
  if (dims)
    pb_sub(&tensor, 2, shape);
  pb_sub(&t, 1, tensor);
  pb_str(&v, 1, name);
  pb_sub(&v, 2, t);
  return v;
}

static inline pb onnx_tensor(fe_arena *arena, const char *name, int type,
                             size_t rank, const int64_t *dims, const void *data,
                             size_t size) {
  pb t = pb_new(arena);
  for (size_t i = 0; i < rank; i++)
    pb_int(&t, T_DIMS, dims[i]);
  pb_int(&t, T_TYPE, type);
  pb_str(&t, T_NAME, name);
  pb_bytes(&t, T_RAW, data, size);
  return t;
}

static inline pb onnx_scalar_i64(fe_arena *arena, const char *name, int64_t v) {
  return onnx_tensor(arena, name, 7, 0, NULL, &v, 8);
}

static inline pb onnx_opset(fe_arena *arena, const char *domain, int version) {
  pb o = pb_new(arena);
  pb_str(&o, 1, domain);
  pb_int(&o, 2, version);
  return o;
}

static inline pb onnx_model(pb graph, int ir, int opset) {
  pb m = pb_new(graph.arena);
  pb_int(&m, M_IR, ir);
  pb_sub(&m, M_OPSET, onnx_opset(graph.arena, "", opset));
  pb_sub(&m, M_GRAPH, graph);
  return m;
}

#endif
