//===- generic.c - loops for a linalg.generic -----------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: iterators that run together through every operand are collapsed into
// one (a contiguous elementwise chain becomes a single loop); unit iterators
// go. Loops stand in iteration order. The first parallel one covers this
// call's part of the items. Where the innermost loops are reductions the
// accumulators stay in registers, otherwise in the destination, set by a nest
// of its own first. LLVM's vectorizer does the rest: memory is noalias, and
// reductions may reassociate.
// Needs: a kernel in tensor form whose body is one linalg.generic, its
// destinations arguments or linalg.fill of arguments.
// Why not one-shot bufferization and convert-linalg-to-loops: they accumulate
// in memory, know no part of an extent, and take longer than this.
//
//===----------------------------------------------------------------------===//
#include "pass/generic.h"
#include "kernel/kernel.h"

#include <string.h>

enum { MAX_ITERS = FE_MAX_RANK * 2 };

typedef struct fe_nest {
  fe_ir *ir;
  MlirOperation tensors, func, generic;
  unsigned n_args; // tensors: inputs, then destinations
  unsigned n_operands, n_in;
  int *arg_of;        // operand -> argument
  MlirAffineMap *map; // of each operand, over the collapsed iterators
  MlirValue *memref;  // of each operand, collapsed
  MlirValue *init;    // of each output: value of its fill, or null
  unsigned n_iters;
  bool parallel[MAX_ITERS];
  MlirValue size[MAX_ITERS];
  MlirAffineExpr extent[MAX_ITERS]; // the same, over the arguments' dims
  int split;                        // iterator that covers the items, -1
  MlirValue begin, end;
  MlirValue iv[MAX_ITERS];
  fe_map local; // value of the tensor form -> value in the function
} fe_nest;

//===-- Collapsing ----------------------------------------------------------//

typedef struct fe_dim_run { // one dim of a map's result: iterators a..b
  unsigned first, n;
} fe_dim_run;

/// Position of iterator d among the map's results, -1 when absent.
static int result_of(MlirAffineMap map, unsigned d) {
  for (intptr_t i = 0; i < mlirAffineMapGetNumResults(map); i++) {
    MlirAffineExpr e = mlirAffineMapGetResult(map, i);
    if (mlirAffineExprIsADim(e) && mlirAffineDimExprGetPosition(e) == d)
      return (int)i;
  }
  return -1;
}

static bool occurs_twice(MlirAffineMap map, unsigned d) {
  unsigned count = 0;
  for (intptr_t i = 0; i < mlirAffineMapGetNumResults(map); i++) {
    MlirAffineExpr e = mlirAffineMapGetResult(map, i);
    count += mlirAffineExprIsADim(e) && mlirAffineDimExprGetPosition(e) == d;
  }
  return count > 1;
}

/// Maps with constants (broadcast of a unit dim) collapse as well as others:
/// only where the two iterators stand matters. Not on a diagonal.
static bool runs_together(const fe_nest *n, const MlirAffineMap *maps,
                          unsigned d) {
  for (unsigned k = 0; k < n->n_operands; k++) {
    int a = result_of(maps[k], d), b = result_of(maps[k], d + 1);
    if ((a < 0) != (b < 0) || (a >= 0 && b != a + 1) ||
        occurs_twice(maps[k], d) || occurs_twice(maps[k], d + 1))
      return false;
  }
  return true;
}

static bool uses_iterators(MlirOperation generic) {
  MlirBlock body = fe_region_block(generic, 0);
  for (MlirOperation op = mlirBlockGetFirstOperation(body);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    if (fe_op_is(op, "linalg.index"))
      return true;
  return false;
}

/// Argument and dim whose size iterator d has; every iterator has one.
static bool find_size(const fe_nest *n, const MlirAffineMap *maps, unsigned d,
                      unsigned *operand, unsigned *dim) {
  for (unsigned k = n->n_operands; k-- > 0;) {
    int r = result_of(maps[k], d);
    if (r < 0)
      continue;
    *operand = k;
    *dim = (unsigned)r;
    return true;
  }
  return false;
}

static MlirAffineExpr arg_dim(const fe_nest *n, MlirBlock block, unsigned arg,
                              unsigned d) {
  unsigned position = 0;
  for (unsigned i = 0; i < arg; i++)
    position += fe_rank(fe_block_arg(block, 2 + i));
  int64_t fixed = fe_static_dim(fe_block_arg(block, 2 + arg), d);
  return fixed != FE_DYN
             ? fe_dim_const(n->ir, fixed)
             : mlirAffineSymbolExprGet(n->ir->ctx, (intptr_t)(position + d));
}

/// Sets iterators, sizes, maps and memrefs of the collapsed nest.
static fe_status collapse(fe_nest *n) {
  fe_ir *ir = n->ir;
  MlirBlock block = fe_func_block(n->func);
  unsigned old_n = fe_generic_n_iters(n->generic);
  MlirAffineMap *maps = FE_NEW_N(ir->arena, MlirAffineMap, n->n_operands + 1);
  for (unsigned k = 0; k < n->n_operands; k++)
    maps[k] = fe_generic_map(n->generic, k);
  bool keep = uses_iterators(n->generic);
  unsigned new_of[MAX_ITERS];
  fe_dim_run run[MAX_ITERS];
  for (unsigned d = 0; d < old_n; d++) {
    bool parallel = fe_generic_iter_parallel(ir, n->generic, d);
    bool joins = d > 0 && !keep && n->parallel[n->n_iters - 1] == parallel &&
                 runs_together(n, maps, d - 1);
    unsigned operand, dim;
    if (!find_size(n, maps, d, &operand, &dim))
      return fe_error(ir->diags, (fe_where){0}, NULL,
                      "a linalg.generic has an iterator without operand");
    unsigned arg = (unsigned)n->arg_of[operand];
    MlirValue size = fe_dim(ir, fe_block_arg(block, 2 + arg), dim);
    MlirAffineExpr extent = arg_dim(n, block, arg, dim);
    if (joins) {
      unsigned at = n->n_iters - 1;
      n->size[at] = fe_mul(ir, n->size[at], size);
      n->extent[at] = fe_dim_mul(n->extent[at], extent);
      run[at].n++;
    } else {
      n->parallel[n->n_iters] = parallel;
      n->size[n->n_iters] = size;
      n->extent[n->n_iters] = extent;
      run[n->n_iters++] = (fe_dim_run){d, 1};
    }
    new_of[d] = n->n_iters - 1;
  }
  for (unsigned k = 0; k < n->n_operands; k++) {
    MlirValue memref = fe_block_arg(block, 2 + (unsigned)n->arg_of[k]);
    unsigned rank = (unsigned)mlirAffineMapGetNumResults(maps[k]);
    MlirAffineExpr e[FE_MAX_RANK];
    int64_t dims[FE_MAX_RANK];
    MlirValue sizes[FE_MAX_RANK];
    unsigned out = 0;
    for (unsigned i = 0; i < rank; i++) {
      MlirAffineExpr old = mlirAffineMapGetResult(maps[k], i);
      dims[out] = fe_static_dim(memref, i);
      sizes[out] = fe_dim(ir, memref, i);
      if (mlirAffineExprIsADim(old)) {
        unsigned d = (unsigned)mlirAffineDimExprGetPosition(old);
        e[out] = mlirAffineDimExprGet(ir->ctx, new_of[d]);
        for (unsigned q = 1; q < run[new_of[d]].n; q++) {
          int64_t more = fe_static_dim(memref, i + q);
          dims[out] =
              dims[out] == FE_DYN || more == FE_DYN ? FE_DYN : dims[out] * more;
          sizes[out] = fe_mul(ir, sizes[out], fe_dim(ir, memref, i + q));
        }
        i += run[new_of[d]].n - 1;
      } else if (mlirAffineExprIsAConstant(old)) {
        e[out] = old;
      } else {
        return fe_error(ir->diags, (fe_where){0}, NULL,
                        "a linalg.generic reads at a computed subscript");
      }
      out++;
    }
    n->map[k] = mlirAffineMapGet(ir->ctx, n->n_iters, 0, out, e);
    n->memref[k] = out == rank
                       ? memref
                       : fe_view(ir, memref, fe_index(ir, 0), out, dims, sizes);
  }
  return FE_OK;
}

//===-- Bodies --------------------------------------------------------------//

static MlirValue local_value(fe_nest *n, MlirValue v) {
  MlirValue in = {fe_map_get_ptr(&n->local, v.ptr)};
  MlirOperation def = fe_def(v);
  if (!fe_is_null(in) || !fe_op_is(def, "arith.constant"))
    return in;
  MlirType t = mlirValueGetType(v);
  return fe_first(
      FE_OP(n->ir, "arith.constant", FE_TYPES(t),
            FE_ATTRS(fe_named(n->ir, "value", fe_attr(def, "value")))));
}

static void set_local(fe_nest *n, MlirValue from, MlirValue to) {
  fe_map_set_ptr(n->ir->arena, &n->local, from.ptr, (void *)to.ptr);
}

static unsigned subscripts(fe_nest *n, unsigned operand, MlirValue *idx) {
  MlirAffineMap map = n->map[operand];
  unsigned rank = (unsigned)mlirAffineMapGetNumResults(map);
  for (unsigned i = 0; i < rank; i++) {
    MlirAffineExpr e = mlirAffineMapGetResult(map, i);
    idx[i] = mlirAffineExprIsADim(e)
                 ? n->iv[mlirAffineDimExprGetPosition(e)]
                 : fe_index(n->ir, mlirAffineConstantExprGetValue(e));
  }
  return rank;
}

static void copy_op(fe_nest *n, MlirOperation op) {
  fe_ir *ir = n->ir;
  if (fe_op_is(op, "linalg.index")) {
    int64_t d = fe_attr_i64(op, "dim", 0);
    set_local(n, fe_result(op, 0), n->iv[d]);
    return;
  }
  unsigned k = fe_n_operands(op), r = fe_n_results(op);
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, k + 1);
  for (unsigned i = 0; i < k; i++)
    operands[i] = local_value(n, fe_operand(op, i));
  if (fe_op_is(op, "tensor.extract")) {
    set_local(n, fe_result(op, 0),
              fe_load(ir, operands[0], k - 1, operands + 1));
    return;
  }
  MlirOperation made = fe_op_is(op, "tensor.dim")
                           ? FE_OP(ir, "memref.dim", .n_operands = k,
                                   .operands = operands, FE_TYPES(ir->index))
                           : fe_op_like(ir, op, operands, NULL);
  for (unsigned i = 0; i < r; i++)
    set_local(n, fe_result(op, i), fe_result(made, i));
}

/// One iteration: `acc` are current values of the outputs (null: read memory
/// when the body uses them). Gives the yielded values in `out`.
static void body(fe_nest *n, const MlirValue *acc, MlirValue *out) {
  MlirBlock from = fe_region_block(n->generic, 0);
  MlirValue idx[FE_MAX_RANK];
  for (unsigned k = 0; k < n->n_operands; k++) {
    MlirValue arg = fe_block_arg(from, k);
    if (!fe_n_uses(arg))
      continue;
    if (k >= n->n_in && acc && !fe_is_null(acc[k - n->n_in])) {
      set_local(n, arg, acc[k - n->n_in]);
      continue;
    }
    unsigned rank = subscripts(n, k, idx);
    set_local(n, arg, fe_load(n->ir, n->memref[k], rank, idx));
  }
  for (MlirOperation op = mlirBlockGetFirstOperation(from);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (!fe_op_is(op, "linalg.yield")) {
      copy_op(n, op);
      continue;
    }
    for (unsigned k = 0; k < n->n_operands - n->n_in; k++)
      out[k] = local_value(n, fe_operand(op, k));
  }
}

static void store_output(fe_nest *n, unsigned k, MlirValue v) {
  MlirValue idx[FE_MAX_RANK];
  unsigned rank = subscripts(n, n->n_in + k, idx);
  fe_store(n->ir, v, n->memref[n->n_in + k], rank, idx);
}

//===-- Nests ---------------------------------------------------------------//

/// Loop over iterator d: all of it, or this call's part.
static fe_region open_loop(fe_nest *n, unsigned d, unsigned n_iter,
                           const MlirValue *init) {
  fe_ir *ir = n->ir;
  bool part = (int)d == n->split;
  fe_region r =
      fe_for_begin(ir, part ? n->begin : fe_index(ir, 0),
                   part ? n->end : n->size[d], fe_index(ir, 1), n_iter, init);
  n->iv[d] = r.iv;
  // A short inner loop of whole vectors (blocks of channels): unrolled, it
  // would hide the vectors from LLVM, which then gathers along outer loops.
  int64_t size = fe_op_is(fe_def(n->size[d]), "arith.constant")
                     ? fe_attr_i64(fe_def(n->size[d]), "value", 0)
                     : 0;
  if (d + 1 == n->n_iters && n->parallel[d] && size && size <= 64 &&
      size % 4 == 0)
    fe_set_attr(ir, r.op,
                fe_named(ir, "llvm.loop_annotation",
                         fe_attr_parse(ir, "#llvm.loop_annotation<unroll = "
                                           "<disable = true>>")));
  return r;
}

/// Whether output k is written once per iteration of all iterators.
static bool reduces(const fe_nest *n, unsigned k) {
  for (unsigned d = 0; d < n->n_iters; d++)
    if (!n->parallel[d] && result_of(n->map[n->n_in + k], d) < 0)
      return true;
  return false;
}

/// Sets the destinations that are accumulated into to their initial values.
static void initial_nest(fe_nest *n, unsigned k) {
  fe_region open[MAX_ITERS];
  unsigned depth = 0;
  for (unsigned d = 0; d < n->n_iters; d++)
    if (result_of(n->map[n->n_in + k], d) >= 0)
      open[depth++] = open_loop(n, d, 0, NULL);
  store_output(n, k, n->init[k]);
  while (depth-- > 0)
    fe_loop_end(n->ir, &open[depth]);
}

static void nest(fe_nest *n) {
  fe_ir *ir = n->ir;
  unsigned n_out = n->n_operands - n->n_in;
  // innermost run of reduction iterators
  unsigned outer = n->n_iters;
  while (outer > 0 && !n->parallel[outer - 1])
    outer--;
  bool earlier = false; // a reduction outside of a parallel iterator
  for (unsigned d = 0; d < outer; d++)
    earlier |= !n->parallel[d];
  bool in_registers = outer < n->n_iters;
  if (!in_registers || earlier)
    for (unsigned k = 0; k < n_out; k++)
      if (reduces(n, k) && !fe_is_null(n->init[k]))
        initial_nest(n, k);

  fe_region open[MAX_ITERS];
  MlirValue *acc = FE_NEW_N(ir->arena, MlirValue, n_out + 1);
  MlirValue *out = FE_NEW_N(ir->arena, MlirValue, n_out + 1);
  for (unsigned d = 0; d < outer; d++)
    open[d] = open_loop(n, d, 0, NULL);
  if (!in_registers) {
    body(n, NULL, out);
    for (unsigned k = 0; k < n_out; k++)
      store_output(n, k, out[k]);
  } else {
    // accumulators of the outputs that reduce are loop-carried
    MlirValue *start = FE_NEW_N(ir->arena, MlirValue, n_out + 1);
    unsigned *which = FE_NEW_N(ir->arena, unsigned, n_out + 1);
    unsigned n_acc = 0;
    MlirValue idx[FE_MAX_RANK];
    for (unsigned k = 0; k < n_out; k++) {
      if (!reduces(n, k))
        continue;
      which[n_acc] = k;
      start[n_acc++] = !fe_is_null(n->init[k]) && !earlier
                           ? n->init[k]
                           : fe_load(ir, n->memref[n->n_in + k],
                                     subscripts(n, n->n_in + k, idx), idx);
    }
    MlirValue *carried = FE_NEW_N(ir->arena, MlirValue, n_acc + 1);
    memcpy(carried, start, n_acc * sizeof *carried);
    for (unsigned d = outer; d < n->n_iters; d++) {
      open[d] = open_loop(n, d, n_acc, carried);
      for (unsigned i = 0; i < n_acc; i++)
        carried[i] = fe_block_arg(open[d].body, 1 + i);
    }
    for (unsigned i = 0; i < n_acc; i++)
      acc[which[i]] = carried[i];
    body(n, acc, out);
    for (unsigned k = 0; k < n_out; k++)
      if (!reduces(n, k))
        store_output(n, k, out[k]);
    for (unsigned i = 0; i < n_acc; i++)
      carried[i] = out[which[i]];
    for (unsigned d = n->n_iters; d-- > outer;) {
      fe_for_end(ir, &open[d], n_acc, carried);
      for (unsigned i = 0; i < n_acc; i++)
        carried[i] = fe_result(open[d].op, i);
    }
    for (unsigned i = 0; i < n_acc; i++)
      store_output(n, which[i], carried[i]);
  }
  for (unsigned d = outer; d-- > 0;)
    fe_loop_end(ir, &open[d]);
}

//===-- The function --------------------------------------------------------//

static int argument_of(MlirBlock block, MlirValue v) {
  for (unsigned i = 0; i < (unsigned)mlirBlockGetNumArguments(block); i++)
    if (fe_same(fe_block_arg(block, i), v))
      return (int)i;
  return -1;
}

static fe_status open_function(fe_nest *n, MlirModule module) {
  fe_ir *ir = n->ir;
  MlirBlock from = fe_func_block(n->tensors);
  unsigned n_old = (unsigned)mlirBlockGetNumArguments(from);
  MlirType *types = FE_NEW_N(ir->arena, MlirType, n_old + 2);
  types[0] = types[1] = ir->index;
  for (unsigned i = 0; i < n_old; i++) {
    MlirValue a = fe_block_arg(from, i);
    bool tensor = mlirTypeIsARankedTensor(mlirValueGetType(a));
    types[2 + i] = tensor ? fe_memref_of(ir, a) : mlirValueGetType(a);
    n->n_args += tensor;
  }
  MlirStringRef name = mlirStringAttrGetValue(fe_attr(n->tensors, "sym_name"));
  n->func =
      fe_func_begin(ir, module, fe_strndup(ir->arena, name.data, name.length),
                    true, 2 + n_old, types);
  fe_set_attr(ir, n->func, fe_at_unit(ir, "krnl.kernel"));
  fe_set_attr(
      ir, n->func,
      fe_at_i64(ir, "krnl.outs", fe_attr_i64(n->tensors, "krnl.outs", 1)));
  MlirBlock block = fe_func_block(n->func);
  fe_point_at_end(ir, block);
  n->begin = fe_block_arg(block, 0);
  n->end = fe_block_arg(block, 1);
  for (unsigned i = 0; i < n_old; i++)
    set_local(n, fe_block_arg(from, i), fe_block_arg(block, 2 + i));
  return FE_OK;
}

/// Reads the tensor form: the one generic, its destinations, and scalar ops
/// before it (casts of scalar arguments), which are made again.
static fe_status read_body(fe_nest *n) {
  fe_ir *ir = n->ir;
  MlirBlock from = fe_func_block(n->tensors);
  for (MlirOperation op = mlirBlockGetFirstOperation(from);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    if (fe_op_is(op, "linalg.generic"))
      n->generic = op;
    else if (!fe_op_is(op, "linalg.fill") && !fe_op_is(op, "func.return"))
      copy_op(n, op);
  }
  if (mlirOperationIsNull(n->generic))
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "a generic kernel without linalg.generic");
  n->n_operands = fe_n_operands(n->generic);
  n->n_in = n->n_operands - fe_n_results(n->generic);
  n->arg_of = FE_NEW_N(ir->arena, int, n->n_operands + 1);
  n->map = FE_NEW_N(ir->arena, MlirAffineMap, n->n_operands + 1);
  n->memref = FE_NEW_N(ir->arena, MlirValue, n->n_operands + 1);
  n->init = FE_NEW_N(ir->arena, MlirValue, n->n_operands + 1);
  for (unsigned k = 0; k < n->n_operands; k++) {
    MlirValue v = fe_operand(n->generic, k);
    MlirOperation fill = fe_def(v);
    if (fe_op_is(fill, "linalg.fill")) {
      if (k >= n->n_in)
        n->init[k - n->n_in] = local_value(n, fe_operand(fill, 0));
      v = fe_operand(fill, 1);
    }
    n->arg_of[k] = argument_of(from, v);
    if (n->arg_of[k] < 0)
      return fe_error(ir->diags, (fe_where){0}, NULL,
                      "operand %u of a generic kernel is not an argument", k);
  }
  return FE_OK;
}

static unsigned body_size(MlirOperation generic) {
  unsigned size = 0;
  MlirBlock block = fe_region_block(generic, 0);
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    size += fe_op_in(op, "math") ? 16 : 1; // a function is some 16 operations
  return size;
}

fe_status fe_generate_generic(fe_ir *ir, const fe_target *target,
                              MlirModule module, MlirOperation func) {
  (void)target;
  fe_nest n = {.ir = ir, .tensors = func, .split = -1};
  fe_point saved = fe_point_save(ir);
  if (open_function(&n, module) != FE_OK || read_body(&n) != FE_OK ||
      collapse(&n) != FE_OK) {
    fe_point_restore(ir, saved);
    return FE_FAILED;
  }
  // the first parallel iterator that is not of size 1 is shared out
  MlirAffineExpr items = fe_dim_const(ir, 1);
  MlirAffineExpr cost = fe_dim_const(ir, body_size(n.generic));
  for (unsigned d = 0; d < n.n_iters && n.split < 0; d++) {
    bool everywhere = n.parallel[d] && fe_dim_static(n.extent[d]) != 1;
    for (unsigned k = n.n_in; k < n.n_operands; k++)
      everywhere &= result_of(n.map[k], d) >= 0;
    if (everywhere)
      n.split = (int)d;
  }
  for (unsigned d = 0; d < n.n_iters; d++)
    if ((int)d == n.split)
      items = n.extent[d];
    else
      cost = fe_dim_mul(cost, n.extent[d]);
  nest(&n);
  fe_func_end(ir, n.func, 0, NULL);
  MlirBlock block = fe_func_block(n.func);
  unsigned n_symbols = 0;
  for (unsigned i = 2; i < (unsigned)mlirBlockGetNumArguments(block); i++) {
    MlirValue a = fe_block_arg(block, i);
    n_symbols += i < 2 + n.n_args ? fe_rank(a) : 1;
  }
  MlirAffineExpr results[2] = {items, cost};
  fe_set_attr(ir, n.func,
              fe_named(ir, "krnl.extent",
                       mlirAffineMapAttrGet(mlirAffineMapGet(
                           ir->ctx, 0, n_symbols, 2, results))));
  fe_point_restore(ir, saved);
  mlirOperationDestroy(func);
  return FE_OK;
}
