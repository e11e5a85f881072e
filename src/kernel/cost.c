//===- cost.c - what a kernel should take ---------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: a roofline whose roof is lowered by the inner loop. Arithmetic and
// memory overlap, because kernels prefetch; the slower one counts.
//
//===----------------------------------------------------------------------===//
#include "kernel/cost.h"

#include "op/flops.h"

// Not in the target's description, as they differ little from one processor to
// the next.
#define LATENCY 4.0      // cycles of a multiply-add
#define LOADS 2.0        // vectors or scalars loaded per cycle
#define POINTWISE 0.25   // of the peak, where there is no register tile
#define PARALLEL 65536   // operations in a register tile: some 2000 cycles
#define L3_BYTES 16.0    // per cycle
#define MEMORY_BYTES 8.0 // per cycle, of one core

const char *const fe_cost_limit_names[] = {[FE_LIMIT_ARITHMETIC] = "arithmetic",
                                           [FE_LIMIT_LOADS] = "loads",
                                           [FE_LIMIT_LATENCY] = "latency",
                                           [FE_LIMIT_L2] = "L2",
                                           [FE_LIMIT_L3] = "L3",
                                           [FE_LIMIT_MEMORY] = "memory"};

void fe_gen_tile(fe_gen *g, fe_cost_tile t) {
  int64_t v[5] = {t.rows, t.vectors, t.steps, t.extra, t.products};
  unsigned n = t.products > 1 ? 5 : 4;
  fe_set_attr(g->ir, g->func, fe_at_i64s(g->ir, "krnl.tile", n, v));
}

int64_t fe_cost_least_parallel(MlirOperation func) {
  return fe_cost_tile_of(func).rows ? PARALLEL
                                    : (int64_t)(PARALLEL * POINTWISE);
}

fe_cost_tile fe_cost_tile_of(MlirOperation func) {
  int64_t v[5] = {0};
  if (fe_attr_i64s(func, "krnl.tile", v, 5) < 4)
    return (fe_cost_tile){0};
  return (fe_cost_tile){v[0], v[1], v[2], v[3], v[4]};
}

/// Whether no symbol in it is unknown.
static bool is_known(MlirAffineExpr e, const int64_t *symbols) {
  if (mlirAffineExprIsASymbol(e))
    return symbols[mlirAffineSymbolExprGetPosition(e)] != FE_DYN;
  return !mlirAffineExprIsABinary(e) ||
         (is_known(mlirAffineBinaryOpExprGetLHS(e), symbols) &&
          is_known(mlirAffineBinaryOpExprGetRHS(e), symbols));
}

bool fe_cost_work_of(fe_ir *ir, MlirOperation func, fe_cost_work *out) {
  *out = (fe_cost_work){.tile = fe_cost_tile_of(func), .elem_bits = 32};
  MlirAttribute extent = fe_attr(func, "krnl.extent");
  if (mlirAttributeIsNull(extent) || !mlirAttributeIsAAffineMap(extent))
    return false;
  MlirAffineMap map = mlirAffineMapAttrGetValue(extent);
  unsigned n = (unsigned)mlirAffineMapGetNumSymbols(map), at = 0;
  int64_t *symbols = FE_NEW_N(ir->arena, int64_t, n + 1);
  bool known = mlirAffineMapGetNumResults(map) == 2;
  MlirBlock block = fe_func_block(func);
  for (intptr_t i = 2; i < mlirBlockGetNumArguments(block); i++) {
    MlirValue v = fe_block_arg(block, (unsigned)i);
    if (!mlirTypeIsAMemRef(mlirValueGetType(v))) {
      symbols[at < n ? at++ : n] = FE_DYN; // a scalar
      continue;
    }
    unsigned bits = fe_dtype_bits(fe_dtype_of_elem(fe_elem_of(v)));
    double count = 1;
    for (unsigned d = 0; d < fe_rank(v); d++) {
      int64_t size = fe_static_dim(v, d);
      symbols[at < n ? at++ : n] = size;
      known &= size != FE_DYN;
      count *= (double)size;
    }
    out->bytes += count * ((bits + 7) / 8);
    if (i + 1 == mlirBlockGetNumArguments(block))
      out->elem_bits = bits;
  }
  for (intptr_t r = 0; known && r < 2; r++)
    known = is_known(mlirAffineMapGetResult(map, r), symbols);
  if (!known)
    return false;
  out->operations = 1;
  for (intptr_t r = 0; r < 2; r++)
    out->operations *=
        (double)fe_dim_evaluate(mlirAffineMapGetResult(map, r), symbols, n);
  return true;
}

double fe_cost_peak(const fe_target *t, unsigned elem_bits) {
  unsigned bits = elem_bits == 64 ? 64 : 32;
  double lanes = t->vector_bits / bits;
  return lanes * t->fma_units * (t->fma ? 2 : 1);
}

double fe_cost_products(const fe_cost_work *work) {
  return work->tile.products > 1 ? (double)work->tile.products : 1;
}

/// Part of the peak that the inner loop reaches.
static double efficiency(const fe_target *t, const fe_cost_tile *tile,
                         fe_cost_limit *limit) {
  if (!tile->rows) {
    *limit = FE_LIMIT_ARITHMETIC;
    return POINTWISE;
  }
  double products = (double)(tile->rows * tile->vectors) / t->fma_units;
  if (!t->fma) // two instructions each
    products *= 2;
  double loads = (double)(tile->rows + tile->vectors) / LOADS;
  double step = products;
  *limit = FE_LIMIT_ARITHMETIC;
  if (loads > step) {
    step = loads;
    *limit = FE_LIMIT_LOADS;
  }
  if (LATENCY > step) {
    step = LATENCY;
    *limit = FE_LIMIT_LATENCY;
  }
  double extra = tile->steps ? (double)tile->extra / (double)tile->steps : 0;
  return products / (step + extra);
}

/// Cycles that the call's data takes, from where all of it fits.
static double transfer(const fe_target *t, double bytes, fe_cost_limit *limit) {
  if (bytes <= t->l1_bytes)
    return 0;
  *limit = bytes <= t->l2_bytes   ? FE_LIMIT_L2
           : bytes <= t->l3_bytes ? FE_LIMIT_L3
                                  : FE_LIMIT_MEMORY;
  double rate = *limit == FE_LIMIT_L2   ? t->vector_bits / 16.0
                : *limit == FE_LIMIT_L3 ? L3_BYTES
                                        : MEMORY_BYTES;
  return bytes / rate;
}

fe_cost fe_cost_expected(const fe_target *t, const fe_cost_work *work) {
  fe_cost c = {0};
  double peak = fe_cost_peak(t, work->elem_bits) * fe_cost_products(work);
  double arithmetic =
      work->operations / (peak * efficiency(t, &work->tile, &c.limit));
  fe_cost_limit level = FE_LIMIT_L2;
  double moved = transfer(t, work->bytes, &level);
  c.cycles = arithmetic;
  if (moved > arithmetic) {
    c.cycles = moved;
    c.limit = level;
  }
  c.share = c.cycles > 0 ? work->operations / c.cycles / peak : 0;
  return c;
}
