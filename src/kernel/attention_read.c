//===- attention_read.c - what krnl.attention says ------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "kernel/attention.h"

#include <string.h>

static fe_status bad(fe_attention *a, const char *what) {
  fe_error(a->g.ir->diags, (fe_where){0}, NULL, "krnl.attention: %s", what);
  return fe_gen_abandon(&a->g);
}

/// Distances of an operand with the given layout, one letter per dim: b, s, h,
/// d, and t for a dim of which index `pick` is taken.
static bool read_layout(fe_attention *a, fe_access *x, const char *layout,
                        int64_t pick, int dims[5]) {
  fe_ir *ir = a->g.ir;
  MlirValue m = a->g.arg[x->arg], step = fe_index(ir, 1);
  unsigned rank = fe_rank(m);
  static const char letters[] = "bshdt";
  MlirValue *to[] = {&x->batch, &x->seq, &x->head, &x->depth};
  for (unsigned i = 0; i < 5; ++i)
    dims[i] = -1;
  x->start = fe_index(ir, 0);
  if (strlen(layout) != rank)
    return false;
  for (unsigned i = rank; i-- > 0;) {
    const char *letter = strchr(letters, layout[i]);
    if (!letter || dims[letter - letters] >= 0)
      return false;
    dims[letter - letters] = (int)i;
    if (*letter == 't')
      x->start = fe_mul(ir, step, fe_index(ir, pick));
    else
      *to[letter - letters] = step;
    step = fe_mul(ir, step, fe_dim(ir, m, i));
  }
  return dims[0] >= 0 && dims[1] >= 0 && dims[2] >= 0 && dims[3] >= 0;
}

/// No key lies behind the mask's last.
static void limit_keys(fe_attention *a) {
  fe_ir *ir = a->g.ir;
  MlirValue m = a->g.arg[a->mask.arg];
  unsigned last = fe_rank(m) - 1;
  int64_t n = fe_static_dim(m, last);
  if (fe_is_null(a->mask.depth) || (n != FE_DYN && n == a->n_keys))
    return;
  a->keys = fe_min(ir, a->keys, fe_dim(ir, m, last));
  a->n_keys = FE_DYN;
}

static MlirValue size_of(fe_attention *a, const fe_access *x, int dim) {
  return fe_dim(a->g.ir, a->g.arg[x->arg], (unsigned)dim);
}
static int64_t fixed_size(fe_attention *a, const fe_access *x, int dim) {
  return fe_static_dim(a->g.arg[x->arg], (unsigned)dim);
}

/// Dims of size 1 of the mask are broadcast.
static void read_mask(fe_attention *a) {
  fe_ir *ir = a->g.ir;
  MlirValue m = a->g.arg[a->mask.arg], step = fe_index(ir, 1);
  unsigned rank = fe_rank(m);
  MlirValue *to[] = {&a->mask.depth, &a->mask.seq, &a->mask.head,
                     &a->mask.batch};
  a->mask.start = fe_index(ir, 0);
  for (unsigned i = 0; i < rank && i < 4; ++i) {
    unsigned d = rank - 1 - i;
    int64_t fixed = fe_static_dim(m, d);
    MlirValue size = fe_dim(ir, m, d);
    if (fixed == FE_DYN && i > 0)
      *to[i] = fe_select(ir, fe_cmp(ir, FE_EQ, size, fe_index(ir, 1)),
                         fe_index(ir, 0), step);
    else if (fixed != 1)
      *to[i] = step;
    step = fe_mul(ir, step, size);
  }
}

/// Arguments of the operands; reports one that is missing.
static fe_status read_operands(fe_attention *a) {
  fe_gen *g = &a->g;
  int64_t mask = 3, sink = 4;
  a->cached = fe_op_is(g->root, "krnl.attention_cached");
  a->masked = fe_op_is(g->root, "krnl.attention_masked");
  if (a->cached) { // q, k, v, frontiers, mask?, sinks?
    a->masked = fe_attr_i64(g->root, "masked", 0) != 0;
    a->has_sink = fe_attr_i64(g->root, "sink", 0) != 0;
    mask = 4;
    sink = mask + a->masked;
    if (fe_gen_operand(g, 3, &a->frontiers))
      return FE_FAILED;
  }
  a->out.arg = g->n_args - 1;
  return fe_gen_operand(g, 0, &a->q.arg) || fe_gen_operand(g, 1, &a->k.arg) ||
                 fe_gen_operand(g, 2, &a->v.arg) ||
                 (a->masked &&
                  fe_gen_operand(g, (unsigned)mask, &a->mask.arg)) ||
                 (a->has_sink && fe_gen_operand(g, (unsigned)sink, &a->sinks))
             ? FE_FAILED
             : FE_OK;
}

static bool is_half(fe_attention *a, const fe_access *x) {
  MlirType t = fe_elem_of(a->g.arg[x->arg]);
  return mlirTypeEqual(t, a->g.ir->f16) || mlirTypeEqual(t, a->g.ir->bf16);
}

static fe_status check_types(fe_attention *a) {
  for (unsigned i = 0; i < a->g.n_args; ++i) {
    bool store = i == a->k.arg || i == a->v.arg;
    if (mlirTypeEqual(fe_elem_of(a->g.arg[i]), a->g.ir->f32) ||
        (a->cached && i == a->frontiers))
      continue;
    if (!a->cached || !store || !is_half(a, i == a->k.arg ? &a->k : &a->v))
      return bad(a, "element type is not f32");
  }
  return FE_OK;
}

static fe_status read_layouts(fe_attention *a, int dims[4][5]) {
  fe_gen *g = &a->g;
  int64_t pick[3] = {0};
  fe_attr_i64s(g->root, "pick", pick, 3);
  MlirAttribute layouts = fe_attr(g->root, "layouts");
  fe_access *x[] = {&a->q, &a->k, &a->v, &a->out};
  if (mlirAttributeIsNull(layouts) || !mlirAttributeIsAArray(layouts) ||
      mlirArrayAttrGetNumElements(layouts) != 4)
    return bad(a, "no layouts");
  for (unsigned i = 0; i < 4; ++i) {
    MlirAttribute l = mlirArrayAttrGetElement(layouts, i);
    if (!mlirAttributeIsAString(l))
      return bad(a, "no layouts");
    MlirStringRef s = mlirStringAttrGetValue(l);
    const char *text = fe_strndup(g->ir->arena, s.data, s.length);
    if (!s.length || text[s.length - 1] != 'd' ||
        !read_layout(a, x[i], text, i < 3 ? pick[i] : 0, dims[i]))
      return bad(a, "unknown layout");
  }
  return FE_OK;
}

/// Heads that share K and V are one item, where their number is known.
static void group_heads(fe_attention *a, int64_t heads, int64_t heads_kv) {
  a->group = 1;
  if (heads != FE_DYN && heads_kv != FE_DYN && heads_kv > 0 &&
      heads % heads_kv == 0)
    a->group = heads / heads_kv;
}

fe_status fe_attention_read(fe_attention *a, MlirAffineExpr *items,
                            MlirAffineExpr *cost) {
  fe_gen *g = &a->g;
  fe_ir *ir = g->ir;
  fe_epilogue none;
  int dims[4][5];
  if (read_operands(a) || fe_epilogue_parse(&none, g))
    return fe_gen_abandon(g);
  if (none.n)
    return bad(a, "an epilogue");
  if (check_types(a) || read_layouts(a, dims))
    return FE_FAILED;
  a->scale = fe_attr_f64(g->root, "scale", 1);
  a->cap = fe_attr_f64(g->root, "softcap", 0);
  a->window = fe_attr_i64(g->root, "window", 0);
  a->causal = fe_attr_i64(g->root, "causal", 0) != 0;
  a->limited = a->causal || a->cached;
  a->batches = size_of(a, &a->q, dims[0][0]);
  a->queries = size_of(a, &a->q, dims[0][1]);
  a->heads = size_of(a, &a->q, dims[0][2]);
  a->keys = size_of(a, &a->k, dims[1][1]);
  a->heads_kv = size_of(a, &a->k, dims[1][2]);
  a->n_keys = fixed_size(a, &a->k, dims[1][1]);
  a->depth = fixed_size(a, &a->q, dims[0][3]);
  if (a->depth == FE_DYN)
    a->depth = fixed_size(a, &a->k, dims[1][3]);
  a->depth_v = fixed_size(a, &a->v, dims[2][3]);
  if (a->depth == FE_DYN || a->depth_v == FE_DYN)
    return bad(a, "heads of unknown size");
  group_heads(a, fixed_size(a, &a->q, dims[0][2]),
              fixed_size(a, &a->k, dims[1][2]));
  int64_t queries = fixed_size(a, &a->q, dims[0][1]);
  a->n_rows = queries == FE_DYN ? FE_DYN : queries * a->group;
  if (a->masked)
    read_mask(a);
  if (a->cached && a->masked) // which may have fewer keys than the cache
    limit_keys(a);
  a->query_block =
      a->n_rows < 1 || a->n_rows > FE_QUERIES ? FE_QUERIES : a->n_rows;
  a->pack_v =
      dims[2][1] != dims[2][3] - 1 ||
      (is_half(a, &a->v) && (a->n_rows == FE_DYN || a->n_rows > FE_ROWS));
  MlirAffineExpr group = fe_dim_const(ir, a->group);
  MlirAffineExpr heads = fe_gen_dim(g, a->q.arg, (unsigned)dims[0][2]);
  MlirAffineExpr rows = fe_gen_dim(g, a->q.arg, (unsigned)dims[0][1]);
  MlirAffineExpr keys = fe_gen_dim(g, a->k.arg, (unsigned)dims[1][1]);
  MlirAffineExpr block = fe_dim_const(ir, a->query_block);
  *items = fe_dim_mul(fe_gen_dim(g, a->q.arg, (unsigned)dims[0][0]),
                      fe_dim_floordiv(heads, group));
  *items = fe_dim_mul(*items, fe_dim_ceildiv(fe_dim_mul(rows, group), block));
  int64_t each = a->query_block * (2 * (a->depth + a->depth_v) + 16);
  *cost = fe_dim_mul(keys, fe_dim_const(ir, each));
  return FE_OK;
}
