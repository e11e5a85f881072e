//===- plan.c - tile sizes of contractions --------------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The register tile takes three vectors of B and as many rows of A as leave a
// few registers free: 8 x 3 of 32 registers, 4 x 3 of 16. One broadcast of A is
// then used three times and one vector of B eight times, which keeps two
// multiply-add units busy with less than one and a half loads each.
//
//===----------------------------------------------------------------------===//
#include "kernel/kernel.h"

#define FE_K_BLOCK 1024
#define FE_K_LEAST 256         // steps that are worth keeping sums in memory
#define FE_ROW_BLOCK 128       // rows that are worth reading all panels again
#define FE_WAITING (128 << 10) // bytes of sums that wait between blocks of K

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

static int64_t round_up(int64_t v, int64_t unit) {
  return (v + unit - 1) / unit * unit;
}

/// The size of equal parts that are at most `most`.
static int64_t even_parts(int64_t all, int64_t most) {
  int64_t parts = (all + most - 1) / most;
  return (all + parts - 1) / parts;
}

/// Blocks for constant panels. All of K, if that fits into L2 with all rows or
/// with so many that reading the panels again for others does not matter; else
/// blocks of K.
static void block_panels(fe_contract_plan *p, int64_t l2, int64_t bytes,
                         int64_t m, int64_t k) {
  int64_t few = m == FE_DYN || m > FE_ROW_BLOCK ? FE_ROW_BLOCK : m;
  // Beside rows of A: a panel, and the next one, which is fetched meanwhile.
  int64_t columns = 2 * (int64_t)p->vectors * p->lanes;
  int64_t fitting = l2 / 4 * 3 / (k * bytes) - columns;
  if (fitting >= few || few <= p->rows) {
    p->row_block = clamp(fitting, few, 4 * FE_ROW_BLOCK);
    if (m != FE_DYN)
      p->row_block = even_parts(m, p->row_block);
    return;
  }
  int64_t blocks = m / FE_ROW_BLOCK; // not below that many rows
  p->row_block = m == FE_DYN ? FE_ROW_BLOCK
                 : blocks    ? (m + blocks - 1) / blocks
                             : m;
  int64_t depth = l2 / 2 / ((p->row_block + columns) * bytes);
  p->k_block = even_parts(k, depth < FE_K_LEAST ? FE_K_LEAST : depth);
  p->k_block = p->k_block < k ? round_up(p->k_block, p->lanes) : 0;
  int64_t waiting = p->row_block * p->vectors * p->lanes * bytes;
  p->items = clamp(FE_WAITING / waiting, 1, 8);
}

fe_contract_plan fe_contract_choose(const fe_target *t, unsigned elem_bits,
                                    int64_t m, int64_t n, int64_t k,
                                    bool packed, bool trans_b) {
  m = m == 0 ? 1 : m; // nothing to do, but no division by it
  k = k == 0 ? 1 : k;
  fe_contract_plan p = {.lanes = t->vector_bits / elem_bits,
                        .rows = t->vector_registers >= 32 ? 8 : 4,
                        .vectors = 3,
                        .items = 1,
                        .panels = 1};
  if (n != FE_DYN)
    p.vectors = fe_contract_panel(t, elem_bits, n) / p.lanes;
  bool small = m != FE_DYN && m < 2 * (int64_t)p.rows;
  int64_t bytes = elem_bits / 8, l2 = t->l2_bytes ? t->l2_bytes : 256 << 10;
  p.pack_b = !packed && (trans_b || !small);
  if (packed && k != FE_DYN) {
    block_panels(&p, l2, bytes, m, k);
    // Few rows: memory is the limit, and several streams of it are faster.
    p.panels = m == FE_DYN || m <= 2 ? 4 : m * 2 <= p.rows ? 2 : 1;
    p.row_block = m == p.row_block ? m : round_up(p.row_block, p.rows);
    return p;
  }
  if (p.pack_b && (k == FE_DYN || k > FE_K_BLOCK))
    p.k_block = FE_K_BLOCK;
  // A block of A that stays in L2 beside a panel of B. Where A as a whole is
  // not much larger than L2, one block is better: B passes only once.
  int64_t block = k == FE_DYN ? 256 : clamp(2 * l2 / (k * bytes), 128, 512);
  if (p.k_block)
    block = clamp(block, 128, 256);
  if (m != FE_DYN && !p.k_block && k != FE_DYN && m * k * bytes <= 4 * l2)
    block = m;
  if (m != FE_DYN) // blocks of about the same size
    block = even_parts(m, block);
  p.row_block = m != FE_DYN && block >= m ? m : round_up(block, p.rows);
  return p;
}

char *fe_contract_explain(fe_arena *arena, const fe_contract_plan *p) {
  return fe_printf(arena,
                   "register tile %ux%u (%u vectors of %u), rows in blocks of "
                   "%lld, K %s%.0lld, B %s",
                   p->rows, p->vectors * p->lanes, p->rows * p->vectors,
                   p->lanes, (long long)p->row_block,
                   p->k_block ? "in blocks of " : "whole",
                   (long long)p->k_block,
                   p->pack_b ? "packed at run time" : "read in place");
}

unsigned fe_contract_panel(const fe_target *t, unsigned elem_bits, int64_t n) {
  unsigned lanes = t->vector_bits / elem_bits;
  int64_t vectors = (n + lanes - 1) / lanes;
  vectors = vectors < 1 ? 1 : vectors > 3 ? 3 : vectors;
  return (unsigned)vectors * lanes;
}
