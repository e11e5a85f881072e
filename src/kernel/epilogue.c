//===- epilogue.c - elementwise ops behind a root -------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: the scalar bodies of the generics are copied, op by op, either with
// vector types onto the accumulators, or as they are into a loop over rows that
// have just been stored. The loop is for bodies that would need more registers
// than the accumulators leave (measured: inlined over 24 accumulators an erf
// spills and costs 5 %), and for functions without a vector instruction: LLVM
// vectorizes the loop together with the inlined math library.
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"

#include <string.h>

/// More ops than this on accumulators begin to cost registers. Those of
/// integers are converted, scaled, rounded and limited, one after the other;
/// constants are then operands in memory, and cheaper than another loop.
#define FE_CHEAP_OPS 20
#define FE_CHEAP_OPS_INTEGER 80

static const char *const vector_math[] = {"math.absf",  "math.ceil",
                                          "math.floor", "math.sqrt",
                                          "math.trunc", "math.roundeven"};

//===-- Reading the tensor form ---------------------------------------------//

static fe_status bad(fe_gen *g, const char *what) {
  return fe_error(g->ir->diags, (fe_where){0}, NULL,
                  "epilogue of kernel '%s': %s",
                  fe_attr_str(g->ir->arena, g->tensors, "sym_name", ""), what);
}

static MlirAffineMap indexing_map(MlirOperation op, unsigned i) {
  MlirAttribute maps = fe_attr(op, "indexing_maps");
  return mlirAffineMapAttrGetValue(mlirArrayAttrGetElement(maps, i));
}

/// Whether every result is 0 or a dim; `runs`: the last dim, if there, is in
/// the last place, so that vectors along it can be loaded.
static bool is_projection(MlirAffineMap map, bool *runs) {
  intptr_t n = mlirAffineMapGetNumResults(map);
  intptr_t dims = mlirAffineMapGetNumDims(map);
  *runs = true;
  for (intptr_t i = 0; i < n; ++i) {
    MlirAffineExpr x = mlirAffineMapGetResult(map, i);
    if (mlirAffineExprIsAConstant(x)) {
      if (mlirAffineConstantExprGetValue(x) != 0)
        return false;
      continue;
    }
    if (!mlirAffineExprIsADim(x))
      return false;
    *runs &= i == n - 1 || mlirAffineDimExprGetPosition(x) != dims - 1;
  }
  return true;
}

static MlirOperation def_of(MlirValue v, const char *name) {
  MlirOperation op = fe_is_null(v) ? (MlirOperation){NULL} : fe_def(v);
  return !mlirOperationIsNull(op) && fe_op_is(op, name) ? op
                                                        : (MlirOperation){NULL};
}

static bool number_of(MlirValue v, double *out) {
  MlirOperation op = def_of(v, "arith.constant");
  if (mlirOperationIsNull(op))
    return false;
  MlirAttribute a = fe_attr(op, "value");
  if (!mlirAttributeIsAFloat(a))
    return false;
  *out = mlirFloatAttrGetValueDouble(a);
  return true;
}

/// select(compare(v, bound), v, bound): gives v.
static MlirValue limited_by(MlirValue v, double *bound) {
  MlirOperation op = def_of(v, "arith.select");
  if (mlirOperationIsNull(op) || !number_of(fe_operand(op, 2), bound))
    return (MlirValue){NULL};
  MlirOperation compare = def_of(fe_operand(op, 0), "arith.cmpf");
  if (mlirOperationIsNull(compare) ||
      !fe_same(fe_operand(compare, 0), fe_operand(op, 1)) ||
      !fe_same(fe_operand(compare, 1), fe_operand(op, 2)))
    return (MlirValue){NULL};
  return fe_operand(op, 1);
}

/// Finds the parts of fe_saturated (src/op/quantized.c) at a body's end.
static void find_bytes(fe_epilogue_step *s) {
  MlirBlock body = fe_region_block(s->op, 0);
  MlirOperation op =
      def_of(fe_operand(mlirBlockGetTerminator(body), 0), "arith.trunci");
  if (mlirOperationIsNull(op) ||
      fe_dtype_bits(fe_dtype_of_elem(mlirValueGetType(fe_result(op, 0)))) != 8)
    return;
  op = def_of(fe_operand(op, 0), "arith.fptosi");
  if (mlirOperationIsNull(op))
    return;
  double low, high;
  MlirValue limited = fe_operand(op, 0), v = limited_by(limited, &high);
  if (fe_is_null(v) || fe_is_null(v = limited_by(v, &low)) ||
      high - low != 255 || (low != 0 && low != -128))
    return;
  MlirValue zero = {NULL};
  op = def_of(v, "arith.addf");
  if (!mlirOperationIsNull(op)) {
    v = fe_operand(op, 0);
    zero = fe_operand(op, 1);
  }
  op = def_of(v, "math.roundeven");
  if (mlirOperationIsNull(op) ||
      fe_dtype_of_elem(mlirValueGetType(v)) != FE_F32)
    return;
  s->number = fe_operand(op, 0);
  s->zero = zero;
  s->limited = limited;
  s->is_signed = low != 0;
}

static fe_status parse_step(fe_epilogue *e, MlirOperation op) {
  fe_gen *g = e->gen;
  MlirBlock old = fe_func_block(g->tensors);
  if (!fe_op_is(op, "linalg.generic") || fe_n_results(op) != 1)
    return bad(g, "an op other than linalg.generic with one result");
  if (e->n == FE_EPILOGUE_STEPS)
    return bad(g, "too many ops");
  unsigned n = fe_n_operands(op) - 1; // one destination
  if (n > FE_EPILOGUE_INPUTS)
    return bad(g, "too many operands");
  fe_epilogue_step *s = &e->step[e->n];
  *s = (fe_epilogue_step){.op = op, .n_in = n};
  if (!mlirAffineMapIsIdentity(indexing_map(op, n)))
    return bad(g, "a result that is permuted or reduced");
  for (unsigned i = 0; i < n; ++i) {
    MlirValue v = fe_operand(op, i);
    fe_epilogue_input *in = &s->in[i];
    in->map = indexing_map(op, i);
    in->is_chain = fe_same(v, fe_result(g->root, 0));
    for (unsigned k = 0; k < e->n && !in->is_chain; ++k) {
      in->is_chain = fe_same(v, fe_result(e->step[k].op, 0));
      in->number = k + 1;
    }
    if (in->is_chain) {
      if (!mlirAffineMapIsIdentity(in->map))
        return bad(g, "a broadcast or permuted intermediate result");
      continue;
    }
    unsigned a = 0;
    while (a < g->n_args && !fe_same(fe_block_arg(old, a), v))
      ++a;
    bool runs;
    if (a == g->n_args || !is_projection(in->map, &runs))
      return bad(g, "an operand that is not a broadcast argument");
    in->number = a;
    s->scattered |= !runs;
  }
  find_bytes(s);
  ++e->n;
  return FE_OK;
}

/// Whether the body can run on vectors; counts its ops.
static bool is_cheap(MlirOperation generic, unsigned *ops) {
  MlirOperation op = mlirBlockGetFirstOperation(fe_region_block(generic, 0));
  for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (fe_op_is(op, "linalg.yield") || fe_op_is(op, "arith.constant"))
      continue;
    bool known = fe_op_in(op, "arith") && fe_n_results(op) == 1 &&
                 !mlirTypeIsAIndex(mlirValueGetType(fe_result(op, 0)));
    for (unsigned i = 0; i < fe_n_operands(op) && known; ++i)
      known = !mlirTypeIsAIndex(mlirValueGetType(fe_operand(op, i)));
    for (unsigned i = 0; i < FE_COUNT(vector_math) && !known; ++i)
      known = fe_op_is(op, vector_math[i]);
    if (!known || mlirOperationGetNumRegions(op))
      return false;
    ++*ops;
  }
  return true;
}

/// Whether steps from `first` on use only chain value `first` and later ones.
static bool is_cut(const fe_epilogue *e, unsigned first) {
  for (unsigned s = first; s < e->n; ++s)
    for (unsigned i = 0; i < e->step[s].n_in; ++i)
      if (e->step[s].in[i].is_chain && e->step[s].in[i].number < first)
        return false;
  return true;
}

static MlirType elem_after(const fe_epilogue *e, unsigned n) {
  return fe_elem_of(n ? fe_result(e->step[n - 1].op, 0)
                      : fe_result(e->gen->root, 0));
}

fe_status fe_epilogue_parse(fe_epilogue *e, fe_gen *g) {
  *e = (fe_epilogue){.gen = g};
  MlirOperation op = mlirOperationGetNextInBlock(g->root);
  for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (fe_op_is(op, "arith.constant") || fe_op_is(op, "tensor.empty") ||
        fe_op_is(op, "tensor.dim"))
      continue;
    if (fe_op_is(op, "func.return"))
      break;
    if (parse_step(e, op))
      return FE_FAILED;
  }
  MlirValue last =
      e->n ? fe_result(e->step[e->n - 1].op, 0) : fe_result(g->root, 0);
  if (mlirOperationIsNull(op) || fe_n_operands(op) != 1 ||
      !fe_same(fe_operand(op, 0), last))
    return bad(g, "the last op does not give the result");
  unsigned cheap = 0, ops = 0;
  unsigned most =
      fe_type_is_float(elem_after(e, 0)) ? FE_CHEAP_OPS : FE_CHEAP_OPS_INTEGER;
  while (cheap < e->n && !e->step[cheap].scattered &&
         is_cheap(e->step[cheap].op, &ops) && ops <= most)
    ++cheap;
  e->n_vector = cheap;
  while (e->n_vector && !is_cut(e, e->n_vector))
    --e->n_vector;
  e->mid = elem_after(e, e->n_vector);
  e->elem = elem_after(e, e->n);
  return FE_OK;
}

//===-- Copying bodies ------------------------------------------------------//

/// A body being copied: `width` lanes, 0 for scalars.
typedef struct copy {
  const fe_epilogue *e;
  int64_t width;
  const fe_coords *c;
  fe_map values; // MlirValue.ptr to MlirValue.ptr
  /// Bytes that steps made before, to the same numbers in f32; NULL: unknown.
  /// Of signed and unsigned ones.
  const fe_map *floats[2];
} copy;

static MlirType widen(copy *y, MlirType t) {
  return y->width ? fe_vector_type(y->e->gen->ir, y->width, t) : t;
}

static MlirValue copy_constant(copy *y, MlirOperation op) {
  fe_ir *ir = y->e->gen->ir;
  MlirType t = mlirValueGetType(fe_result(op, 0));
  MlirAttribute value = fe_attr(op, "value");
  MlirType wide = t;
  if (y->width && !mlirTypeIsAIndex(t)) {
    wide = widen(y, t);
    value = mlirDenseElementsAttrSplatGet(wide, value);
  }
  return fe_first(FE_OP(ir, "arith.constant", FE_TYPES(wide),
                        FE_ATTRS(fe_named(ir, "value", value))));
}

/// A value of the body, or one from around it, in the copy.
static MlirValue copy_value(copy *y, MlirValue v) {
  fe_gen *g = y->e->gen;
  MlirValue known = {fe_map_get_ptr(&y->values, v.ptr)};
  if (known.ptr)
    return known;
  MlirOperation def = fe_def(v);
  if (fe_op_is(def, "arith.constant"))
    known = copy_constant(y, def);
  MlirBlock old = fe_func_block(g->tensors);
  for (unsigned i = 0; i < g->n_scalars && !known.ptr; ++i)
    if (fe_same(v, fe_block_arg(old, g->n_args + i)))
      known = g->scalar[i];
  fe_map_set_ptr(g->ir->arena, &y->values, v.ptr, (void *)known.ptr);
  return known;
}

static MlirValue copy_op(copy *y, MlirOperation op) {
  fe_ir *ir = y->e->gen->ir;
  if (fe_op_is(op, "arith.constant"))
    return copy_constant(y, op);
  if (fe_op_is(op, "linalg.index"))
    return y->c->at[fe_attr_i64(op, "dim", 0)];
  unsigned n = fe_n_operands(op);
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, n + 1);
  for (unsigned i = 0; i < n; ++i)
    operands[i] = copy_value(y, fe_operand(op, i));
  bool is_signed = fe_op_is(op, "arith.sitofp");
  if ((is_signed || fe_op_is(op, "arith.uitofp")) && y->floats[is_signed]) {
    MlirValue known = {fe_map_get_ptr(y->floats[is_signed], operands[0].ptr)};
    if (known.ptr)
      return known;
  }
  MlirType type = widen(y, mlirValueGetType(fe_result(op, 0)));
  unsigned n_attrs = (unsigned)mlirOperationGetNumAttributes(op);
  MlirNamedAttribute *attrs =
      FE_NEW_N(ir->arena, MlirNamedAttribute, n_attrs + 1);
  for (unsigned i = 0; i < n_attrs; ++i)
    attrs[i] = mlirOperationGetAttribute(op, i);
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  return fe_first(FE_OP(ir, fe_strndup(ir->arena, name.data, name.length),
                        .n_operands = n, .operands = operands, FE_TYPES(type),
                        .n_attrs = n_attrs, .attrs = attrs));
}

/// Steps being applied one after the other.
typedef struct chain {
  const fe_epilogue *e;
  int64_t width;
  MlirValue active;
  const fe_coords *c;
  fe_map floats[2];
  bool wants_number; // of the last step: and its zero
  MlirValue zero;
} chain;

/// Applies step s to the values of its inputs.
static MlirValue apply(chain *h, unsigned s, const MlirValue *in, bool last) {
  const fe_epilogue *e = h->e;
  copy y = {.e = e, .width = h->width, .c = h->c};
  y.floats[0] = &h->floats[0];
  y.floats[1] = &h->floats[1];
  const fe_epilogue_step *step = &e->step[s];
  fe_arena *arena = e->gen->ir->arena;
  MlirBlock body = fe_region_block(e->step[s].op, 0);
  for (unsigned i = 0; i < e->step[s].n_in; ++i)
    fe_map_set_ptr(arena, &y.values, fe_block_arg(body, i).ptr,
                   (void *)in[i].ptr);
  MlirOperation op = mlirBlockGetFirstOperation(body);
  while (!fe_op_is(op, "linalg.yield") && !mlirOperationIsNull(op)) {
    MlirValue v = copy_op(&y, op);
    fe_map_set_ptr(arena, &y.values, fe_result(op, 0).ptr, (void *)v.ptr);
    op = mlirOperationGetNextInBlock(op);
  }
  if (last && h->wants_number) {
    if (!fe_is_null(step->zero))
      h->zero = copy_value(&y, step->zero);
    return copy_value(&y, step->number);
  }
  MlirValue v = copy_value(&y, fe_operand(op, 0));
  if (!fe_is_null(step->limited) && h->width)
    fe_map_set_ptr(arena, &h->floats[step->is_signed], v.ptr,
                   (void *)copy_value(&y, step->limited).ptr);
  return v;
}

//===-- Operands ------------------------------------------------------------//

/// Number of the operand's element at position c; sets whether the operand
/// runs along the last dim.
static MlirValue place_of(const fe_epilogue *e, const fe_epilogue_input *in,
                          const fe_coords *c, bool *runs) {
  fe_ir *ir = e->gen->ir;
  unsigned rank = (unsigned)mlirAffineMapGetNumResults(in->map);
  *runs = true;
  if (mlirAffineMapIsIdentity(in->map))
    return c->flat;
  MlirValue at = fe_index(ir, 0);
  *runs = false;
  for (unsigned d = 0; d < rank; ++d) {
    MlirAffineExpr x = mlirAffineMapGetResult(in->map, d);
    at = fe_mul(ir, at, fe_dim(ir, e->gen->arg[in->number], d));
    if (!mlirAffineExprIsADim(x))
      continue;
    unsigned p = (unsigned)mlirAffineDimExprGetPosition(x);
    at = fe_add(ir, at, c->at[p]);
    *runs |= p == e->gen->rank - 1;
  }
  return at;
}

static MlirValue load(const fe_epilogue *e, const fe_epilogue_input *in,
                      int64_t width, MlirValue active, const fe_coords *c) {
  fe_ir *ir = e->gen->ir;
  bool runs;
  MlirValue at = place_of(e, in, c, &runs);
  MlirValue memref = e->gen->flat[in->number];
  if (!width || !runs) {
    MlirValue v = fe_load(ir, memref, 1, &at);
    return width ? fe_splat(ir, v, width) : v;
  }
  return fe_is_null(active)
             ? fe_vload(ir, width, memref, 1, &at)
             : fe_vload_masked(ir, width, active, memref, 1, &at);
}

/// Runs steps [first, last) on chain value `first`.
static MlirValue run(chain *h, unsigned first, unsigned last, MlirValue v) {
  MlirValue values[FE_EPILOGUE_STEPS + 1] = {{0}};
  values[first] = v;
  for (unsigned s = first; s < last; ++s) {
    const fe_epilogue_step *step = &h->e->step[s];
    MlirValue in[FE_EPILOGUE_INPUTS];
    for (unsigned i = 0; i < step->n_in; ++i)
      in[i] = step->in[i].is_chain
                  ? values[step->in[i].number]
                  : load(h->e, &step->in[i], h->width, h->active, h->c);
    values[s + 1] = apply(h, s, in, s + 1 == last);
  }
  return values[last];
}

MlirValue fe_epilogue_vector(const fe_epilogue *e, MlirValue v, int64_t width,
                             MlirValue active, const fe_coords *c) {
  chain h = {.e = e, .width = width, .active = active, .c = c};
  return run(&h, 0, e->n_vector, v);
}

bool fe_epilogue_makes_bytes(const fe_epilogue *e) {
  return e->n && e->n_vector == e->n && !fe_is_null(e->step[e->n - 1].number);
}

MlirValue fe_epilogue_number(const fe_epilogue *e, MlirValue v, int64_t width,
                             const fe_coords *c, MlirValue *zero) {
  chain h = {.e = e, .width = width, .c = c, .wants_number = true};
  v = run(&h, 0, e->n_vector, v);
  *zero = h.zero;
  return v;
}

void fe_epilogue_loop(const fe_epilogue *e, MlirValue buffer, MlirValue rows,
                      MlirValue columns, fe_place_fn place, void *user) {
  fe_gen *g = e->gen;
  fe_ir *ir = g->ir;
  fe_region outer = fe_loop(ir, rows);
  fe_coords c = {{{0}}, {0}};
  place(user, outer.iv, &c);
  fe_region inner = fe_loop(ir, columns);
  fe_coords at = c;
  at.at[g->rank - 1] = fe_add(ir, c.at[g->rank - 1], inner.iv);
  at.flat = fe_add(ir, c.flat, inner.iv);
  MlirValue v = fe_load(ir, buffer, FE_IDX(outer.iv, inner.iv));
  chain h = {.e = e, .c = &at};
  v = run(&h, e->n_vector, e->n, v);
  fe_store(ir, v, g->flat[g->n_args - 1], 1, &at.flat);
  fe_loop_end(ir, &inner);
  fe_loop_end(ir, &outer);
}
