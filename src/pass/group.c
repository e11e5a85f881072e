//===- group.c - outline computation into kernel functions ----------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: each block of main is walked in order. A computation joins the
// group of a producer when that saves a trip through memory:
//   - a pointwise generic follows a krnl root as its epilogue (the only use of
//     the root's result; or several do, if what all of them compute comes to
//     one value: x * sigmoid(x)), or
//   - a generic follows pointwise generics over the same iteration space.
// A group runs where its last member stands, so it may not have a user before
// that. Groups become functions in destination-passing style; generics of one
// group are merged into a single linalg.generic. Equal functions are shared.
// Needs: the `lower` form. Leaves: the `group` form of docs/architecture.md.
// Cost: linear in the number of ops and uses.
//
//===----------------------------------------------------------------------===//
#include "op/op.h"
#include "pass/generic.h"
#include "pass/pass.h"

#include <stdio.h>
#include <string.h>

typedef struct fe_member {
  MlirOperation op;
  int group;        // -1: host code
  bool is_root;     // krnl root
  bool is_generic;  // linalg.generic
  bool is_parallel; // all iterators
} fe_member;

typedef fe_vec(int) fe_ints;

typedef struct fe_group {
  fe_ints members; // indices, ascending
  int root;        // index of the krnl root, -1
  bool closed;     // ends in a reduction or takes no epilogue
} fe_group;

typedef struct fe_grouping {
  fe_ir *ir;
  MlirModule module;
  fe_map kernels; // printed text -> symbol name
  unsigned n_kernels;
  // of the current block
  MlirBlock block;
  fe_vec(fe_member) ops;
  fe_vec(fe_group) groups;
  fe_map index; // op -> 1 + position in ops
} fe_grouping;

/// Roots whose generators apply an epilogue.
static const char *const takes_epilogue[] = {"krnl.conv",
                                             "krnl.contract",
                                             "krnl.depthwise",
                                             "krnl.pool",
                                             "krnl.winograd",
                                             "krnl.interleave",
                                             "krnl.widen",
                                             "krnl.conv_bytes",
                                             "krnl.integer_contract",
                                             "krnl.depthwise_bytes",
                                             "krnl.conv_tiles"};
/// Those whose results are sums of integers.
static const char *const gives_integers[] = {
    "krnl.conv_bytes", "krnl.conv_tiles", "krnl.depthwise_bytes",
    "krnl.integer_contract"};
/// krnl ops that are host code.
static const char *const host_ops[] = {"krnl.weight", "krnl.reshape",
                                       "krnl.check"};

enum {
  MAX_EPILOGUE = 16,  // ops; see kernel.h
  MAX_INPUTS = 8,     // of each
  DIAMOND_WINDOW = 64 // positions of the block that are looked at
};

static bool is_one_of(MlirOperation op, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (fe_op_is(op, names[i]))
      return true;
  return false;
}

static int position(const fe_grouping *g, MlirOperation op) {
  return (int)(intptr_t)fe_map_get_ptr(&g->index, op.ptr) - 1;
}

/// The op of the current block that contains `op` (itself or by nesting).
static int position_of_user(const fe_grouping *g, MlirOperation op) {
  while (!mlirOperationIsNull(op)) {
    int i = position(g, op);
    if (i >= 0)
      return i;
    op = mlirOperationGetParentOperation(op);
  }
  return -1;
}

//===-- Deciding ------------------------------------------------------------//

/// Group `gi` moves to position `at`: every user of its results that is not a
/// member must come later.
static bool may_move(const fe_grouping *g, int gi, int also, int at) {
  const fe_group *group = &g->groups.at[gi];
  for (size_t m = 0; m < group->members.n; m++) {
    MlirOperation op = g->ops.at[group->members.at[m]].op;
    for (unsigned r = 0; r < fe_n_results(op); r++) {
      MlirOpOperand u = mlirValueGetFirstUse(fe_result(op, r));
      for (; !mlirOpOperandIsNull(u); u = mlirOpOperandGetNextUse(u)) {
        int p = position_of_user(g, mlirOpOperandGetOwner(u));
        if (p < 0 || p >= at)
          continue;
        int ug = g->ops.at[p].group;
        if (ug != gi && ug != also)
          return false;
      }
    }
  }
  return true;
}

/// The body reads no tensor by computed subscripts and no iterator.
static bool body_is_plain(MlirOperation op) {
  MlirBlock body = fe_region_block(op, 0);
  for (MlirOperation b = mlirBlockGetFirstOperation(body);
       !mlirOperationIsNull(b); b = mlirOperationGetNextInBlock(b))
    if (fe_op_is(b, "tensor.extract") || fe_op_is(b, "linalg.index") ||
        mlirOperationGetNumRegions(b))
      return false;
  return true;
}

/// A tensor that the body reads by subscripts must not come from group gi.
static bool body_reads_group(const fe_grouping *g, MlirOperation op, int gi) {
  MlirBlock body = fe_region_block(op, 0);
  for (MlirOperation b = mlirBlockGetFirstOperation(body);
       !mlirOperationIsNull(b); b = mlirOperationGetNextInBlock(b))
    for (unsigned i = 0; i < fe_n_operands(b); i++) {
      int p = position(g, fe_def(fe_operand(b, i)));
      if (p >= 0 && g->ops.at[p].group == gi)
        return true;
    }
  return false;
}

static bool same_dims(MlirValue a, MlirValue b) {
  int64_t x[FE_MAX_RANK], y[FE_MAX_RANK];
  unsigned rank = fe_type_dims(mlirValueGetType(a), x);
  return rank == fe_type_dims(mlirValueGetType(b), y) &&
         !memcmp(x, y, rank * sizeof *x);
}

/// Elements that an epilogue may have.
static bool admitted(fe_ir *ir, MlirType t, bool integer) {
  return mlirTypeEqual(t, ir->f32) ||
         (integer && (mlirTypeEqual(t, ir->i32) || mlirTypeEqual(t, ir->i8)));
}

/// A matrix product may end by rounding its result.
static bool rounds(const fe_grouping *g, MlirOperation root, MlirType t) {
  return fe_op_is(root, "krnl.contract") &&
         (mlirTypeEqual(t, g->ir->bf16) || mlirTypeEqual(t, g->ir->f16));
}

/// Epilogue of a root: pointwise, over the root's result, other operands read
/// at (a subset of) the same subscripts.
static bool fits_epilogue(const fe_grouping *g, const fe_member *m,
                          unsigned operand, int gi) {
  const fe_group *group = &g->groups.at[gi];
  if (group->root < 0 || group->closed || !m->is_parallel ||
      !body_is_plain(m->op))
    return false;
  if (!is_one_of(g->ops.at[group->root].op, takes_epilogue,
                 FE_COUNT(takes_epilogue)))
    return false;
  MlirValue v = fe_operand(m->op, operand);
  // Sums of integers become bytes or floats on the way; others are f32.
  bool integer = is_one_of(g->ops.at[group->root].op, gives_integers,
                           FE_COUNT(gives_integers));
  MlirType to = fe_elem_of(fe_result(m->op, 0));
  if (group->members.n > MAX_EPILOGUE || fe_n_uses(v) != 1 ||
      !same_dims(v, fe_result(m->op, 0)) ||
      !(admitted(g->ir, to, integer) ||
        rounds(g, g->ops.at[group->root].op, to)))
    return false;
  unsigned n_in = fe_n_operands(m->op) - 1;
  for (unsigned i = 0; i < n_in; i++) {
    MlirAffineMap map = fe_generic_map(m->op, i);
    if (i == operand ? !mlirAffineMapIsIdentity(map)
                     : !fe_map_is_projection(map))
      return false;
    if (!admitted(g->ir, fe_elem_of(fe_operand(m->op, i)), integer))
      return false;
  }
  return true;
}

/// Merging into one loop nest: read at the same subscripts, producer pointwise.
static bool fits_merge(const fe_grouping *g, const fe_member *m,
                       unsigned operand, int gi) {
  const fe_group *group = &g->groups.at[gi];
  if (group->root >= 0 || group->closed)
    return false;
  return mlirAffineMapIsIdentity(fe_generic_map(m->op, operand)) &&
         !body_reads_group(g, m->op, gi);
}

/// Iterators that are a dim of an operand from outside of groups gi and other.
static uint64_t sized_iterators(const fe_grouping *g, MlirOperation op,
                                unsigned n_operands, int gi, int other) {
  uint64_t seen = 0;
  for (unsigned i = 0; i < n_operands; i++) {
    int p = position(g, fe_def(fe_operand(op, i)));
    int own = p < 0 ? -1 : g->ops.at[p].group;
    if (own >= 0 && (own == gi || own == other))
      continue;
    MlirAffineMap map = fe_generic_map(op, i);
    for (intptr_t r = 0; r < mlirAffineMapGetNumResults(map); r++) {
      MlirAffineExpr e = mlirAffineMapGetResult(map, r);
      if (mlirAffineExprIsADim(e))
        seen |= 1ull << mlirAffineDimExprGetPosition(e);
    }
  }
  return seen;
}

/// A reduction's extent must still be that of an operand when it is merged
/// with what makes its input: a producer without inputs of that size (a gather,
/// which reads by subscripts) would take the extent with it. other: a group, or
/// -1, that becomes one with gi.
static bool keeps_extent(const fe_grouping *g, const fe_member *m, int gi,
                         int other) {
  if (m->is_parallel)
    return true;
  uint64_t all = (1ull << fe_generic_n_iters(m->op)) - 1;
  uint64_t seen = sized_iterators(g, m->op, fe_n_operands(m->op), gi, other);
  const int both[] = {gi, other};
  for (unsigned i = 0; i < 2 && both[i] >= 0; i++) {
    const fe_group *group = &g->groups.at[both[i]];
    for (size_t k = 0; k < group->members.n; k++) {
      MlirOperation op = g->ops.at[group->members.at[k]].op;
      seen |= sized_iterators(g, op, fe_n_operands(op) - 1, gi, other);
    }
  }
  return (seen & all) == all;
}

static void join(fe_grouping *g, int at, int gi) {
  fe_push(g->ir->arena, &g->groups.at[gi].members, at);
  g->ops.at[at].group = gi;
}

/// All members of group `from` go to group `to`, kept in order.
static void unite(fe_grouping *g, int to, int from) {
  fe_ints merged = {0};
  fe_ints *a = &g->groups.at[to].members, *b = &g->groups.at[from].members;
  for (size_t i = 0, k = 0; i < a->n || k < b->n;) {
    bool first = k == b->n || (i < a->n && a->at[i] < b->at[k]);
    int m = first ? a->at[i++] : b->at[k++];
    fe_push(g->ir->arena, &merged, m);
    g->ops.at[m].group = to;
  }
  *a = merged;
  b->n = 0;
}

//===-- Epilogues that use a result several times ---------------------------//

/// Ops that use the result of a group, or each other's.
typedef struct fe_diamond {
  MlirValue top;
  fe_ints taken;
} fe_diamond;

static bool is_taken(const fe_diamond *d, int position) {
  for (size_t i = 0; i < d->taken.n; i++)
    if (d->taken.at[i] == position)
      return true;
  return false;
}

/// Whether v is the top or the result of an op taken.
static bool is_inner(const fe_grouping *g, const fe_diamond *d, MlirValue v) {
  return fe_same(v, d->top) || is_taken(d, position(g, fe_def(v)));
}

static bool all_uses_taken(const fe_grouping *g, const fe_diamond *d,
                           MlirValue v) {
  MlirOpOperand u = mlirValueGetFirstUse(v);
  for (; !mlirOpOperandIsNull(u); u = mlirOpOperandGetNextUse(u))
    if (!is_taken(d, position_of_user(g, mlirOpOperandGetOwner(u))))
      return false;
  return true;
}

/// Whether only the result of the last op is used by others.
static bool is_closed(const fe_grouping *g, const fe_diamond *d) {
  if (!all_uses_taken(g, d, d->top))
    return false;
  for (size_t i = 0; i + 1 < d->taken.n; i++)
    if (!all_uses_taken(g, d, fe_result(g->ops.at[d->taken.at[i]].op, 0)))
      return false;
  return true;
}

/// Pointwise and f32, inner values at the same subscripts, others broadcast.
static bool fits_diamond(const fe_grouping *g, const fe_diamond *d,
                         const fe_member *m) {
  if (!m->is_generic || !m->is_parallel || m->group >= 0 ||
      fe_n_results(m->op) != 1 || !body_is_plain(m->op) ||
      !same_dims(d->top, fe_result(m->op, 0)) ||
      !admitted(g->ir, fe_elem_of(fe_result(m->op, 0)), false))
    return false;
  unsigned n_in = fe_n_operands(m->op) - 1;
  if (n_in > MAX_INPUTS || is_inner(g, d, fe_operand(m->op, n_in)) ||
      !mlirAffineMapIsIdentity(fe_generic_map(m->op, n_in)))
    return false;
  for (unsigned i = 0; i < n_in; i++) {
    MlirValue v = fe_operand(m->op, i);
    MlirAffineMap map = fe_generic_map(m->op, i);
    if (is_inner(g, d, v) ? !mlirAffineMapIsIdentity(map)
                          : !fe_map_is_projection(map))
      return false;
    if (!admitted(g->ir, fe_elem_of(v), false))
      return false;
  }
  return true;
}

static bool uses_inner(const fe_grouping *g, const fe_diamond *d,
                       MlirOperation op) {
  for (unsigned i = 0; i < fe_n_operands(op); i++)
    if (is_inner(g, d, fe_operand(op, i)))
      return true;
  return false;
}

/// The op at `at` is the first of several that use `top`, the result of group
/// gi with a root: all that is computed from it until one value is left follows
/// the root, or nothing does.
static bool take_diamond(fe_grouping *g, int at, MlirValue top, int gi) {
  fe_group *group = &g->groups.at[gi];
  if (group->root < 0 || group->closed || fe_n_uses(top) < 2 ||
      !is_one_of(g->ops.at[group->root].op, takes_epilogue,
                 FE_COUNT(takes_epilogue)) ||
      !admitted(g->ir, fe_elem_of(top), false))
    return false;
  fe_diamond d = {.top = top};
  for (int p = at; p < (int)g->ops.n && p < at + DIAMOND_WINDOW; p++) {
    const fe_member *m = &g->ops.at[p];
    if (!uses_inner(g, &d, m->op))
      continue;
    if (!fits_diamond(g, &d, m) || group->members.n + d.taken.n > MAX_EPILOGUE)
      return false;
    fe_push(g->ir->arena, &d.taken, p);
    if (!is_closed(g, &d))
      continue;
    for (size_t i = 0; i < d.taken.n; i++)
      join(g, d.taken.at[i], gi);
    return true;
  }
  return false;
}

/// More operands than this in one kernel cost more than they save.
enum { MAX_GROUP = 24 };

static void decide(fe_grouping *g, int at) {
  fe_member *m = &g->ops.at[at];
  int chosen = -1;
  if (m->is_generic) {
    unsigned n_in = fe_n_operands(m->op) - 1;
    for (unsigned i = 0; i < n_in; i++) {
      MlirValue v = fe_operand(m->op, i);
      int p = position(g, fe_def(v));
      if (p >= 0 && g->ops.at[p].group >= 0 &&
          take_diamond(g, at, v, g->ops.at[p].group))
        return;
    }
    // the latest root that can take this as epilogue
    for (unsigned i = 0; i < n_in; i++) {
      int p = position(g, fe_def(fe_operand(m->op, i)));
      int gi = p < 0 ? -1 : g->ops.at[p].group;
      if (gi > chosen && fits_epilogue(g, m, i, gi) && may_move(g, gi, gi, at))
        chosen = gi;
    }
    for (unsigned i = 0;
         i < n_in && (chosen < 0 || g->groups.at[chosen].root < 0); i++) {
      int p = position(g, fe_def(fe_operand(m->op, i)));
      int gi = p < 0 ? -1 : g->ops.at[p].group;
      if (gi < 0 || gi == chosen || !fits_merge(g, m, i, gi) ||
          !keeps_extent(g, m, gi, chosen))
        continue;
      if (!may_move(g, gi, chosen < 0 ? gi : chosen, at))
        continue;
      if (chosen < 0) {
        if (g->groups.at[gi].members.n < MAX_GROUP)
          chosen = gi;
      } else if (may_move(g, chosen, gi, at) &&
                 !body_reads_group(g, m->op, gi) &&
                 g->groups.at[chosen].members.n + g->groups.at[gi].members.n <
                     MAX_GROUP) {
        // the second group's bodies must not read the first by subscripts
        bool ok = true;
        for (size_t k = 0; k < g->groups.at[gi].members.n && ok; k++)
          ok = !body_reads_group(
              g, g->ops.at[g->groups.at[gi].members.at[k]].op, chosen);
        for (size_t k = 0; k < g->groups.at[chosen].members.n && ok; k++)
          ok = !body_reads_group(
              g, g->ops.at[g->groups.at[chosen].members.at[k]].op, gi);
        if (ok)
          unite(g, chosen, gi);
      }
    }
  }
  if (chosen < 0) {
    fe_group fresh = {.root = m->is_root ? at : -1};
    fe_push(g->ir->arena, &g->groups, fresh);
    chosen = (int)g->groups.n - 1;
  }
  join(g, at, chosen);
  if (m->is_generic && !m->is_parallel)
    g->groups.at[chosen].closed = true;
}

//===-- Outlining -----------------------------------------------------------//

typedef struct fe_outline {
  fe_grouping *g;
  int group;
  fe_vec(MlirValue) tensors; // captured, inputs
  fe_vec(MlirValue) scalars; // captured, any scalar type
  fe_vec(MlirValue) outs;    // results used elsewhere
  fe_map inside;             // outer value -> value in the kernel
} fe_outline;

static MlirValue inside_of(fe_outline *o, MlirValue v) {
  return (MlirValue){fe_map_get_ptr(&o->inside, v.ptr)};
}

static void set_inside(fe_outline *o, MlirValue outer, MlirValue inner) {
  fe_map_set_ptr(o->g->ir->arena, &o->inside, outer.ptr, (void *)inner.ptr);
}

/// Notes what the group needs from outside. Constants are cloned, a fill or
/// empty destination is made again.
static void capture(fe_outline *o, MlirValue v) {
  fe_grouping *g = o->g;
  MlirOperation def = fe_def(v);
  if (!mlirOperationIsNull(def)) {
    int p = position(g, def);
    if (p >= 0 && g->ops.at[p].group == o->group)
      return;
    if (fe_op_is(def, "arith.constant"))
      return;
    if (fe_op_is(def, "linalg.fill")) {
      capture(o, fe_operand(def, 0));
      return;
    }
    if (fe_op_is(def, "tensor.empty"))
      return;
  }
  bool is_tensor = mlirTypeIsARankedTensor(mlirValueGetType(v));
  size_t n = is_tensor ? o->tensors.n : o->scalars.n;
  MlirValue *at = is_tensor ? o->tensors.at : o->scalars.at;
  for (size_t i = 0; i < n; i++)
    if (fe_same(at[i], v))
      return;
  if (is_tensor)
    fe_push(g->ir->arena, &o->tensors, v);
  else
    fe_push(g->ir->arena, &o->scalars, v);
}

static void capture_op(fe_outline *o, MlirOperation op) {
  unsigned n = fe_n_operands(op);
  bool generic = fe_op_is(op, "linalg.generic");
  for (unsigned i = 0; i < n; i++)
    capture(o, fe_operand(op, i));
  if (!generic)
    return;
  MlirBlock body = fe_region_block(op, 0);
  for (MlirOperation b = mlirBlockGetFirstOperation(body);
       !mlirOperationIsNull(b); b = mlirOperationGetNextInBlock(b))
    for (unsigned i = 0; i < fe_n_operands(b); i++) {
      MlirValue v = fe_operand(b, i);
      if (mlirValueIsABlockArgument(v) &&
          mlirBlockEqual(mlirBlockArgumentGetOwner(v), body))
        continue;
      MlirOperation def = fe_def(v);
      if (!mlirOperationIsNull(def) &&
          mlirBlockEqual(mlirOperationGetBlock(def), body))
        continue;
      capture(o, v);
    }
}

/// Whether result r of a member is needed outside of the group.
static bool escapes(const fe_grouping *g, MlirValue r, int gi) {
  MlirOpOperand u = mlirValueGetFirstUse(r);
  for (; !mlirOpOperandIsNull(u); u = mlirOpOperandGetNextUse(u)) {
    int p = position_of_user(g, mlirOpOperandGetOwner(u));
    if (p < 0 || g->ops.at[p].group != gi)
      return true;
  }
  return false;
}

/// A scalar of main as an index value, since kernels take index scalars.
static MlirValue to_index_bits(fe_ir *ir, MlirValue v) {
  MlirType t = mlirValueGetType(v);
  if (mlirTypeEqual(t, ir->index))
    return v;
  if (fe_type_is_float(t)) {
    MlirType bits = mlirTypeEqual(t, ir->f64) ? ir->i64 : ir->i32;
    v = fe_bitcast(ir, v, bits);
  }
  return fe_convert(ir, v, ir->index, true, true);
}

static MlirValue from_index_bits(fe_ir *ir, MlirValue v, MlirType t) {
  if (mlirTypeEqual(t, ir->index))
    return v;
  if (!fe_type_is_float(t))
    return fe_convert(ir, v, t, true, true);
  MlirType bits = mlirTypeEqual(t, ir->f64) ? ir->i64 : ir->i32;
  return fe_bitcast(ir, fe_convert(ir, v, bits, true, true), t);
}

static MlirValue clone_constant(fe_ir *ir, MlirOperation def) {
  MlirType t = mlirValueGetType(fe_result(def, 0));
  return fe_first(
      FE_OP(ir, "arith.constant", FE_TYPES(t),
            FE_ATTRS(fe_named(ir, "value", fe_attr(def, "value")))));
}

/// The kernel's value for an operand of a member.
static MlirValue resolve(fe_outline *o, MlirValue v) {
  MlirValue in = inside_of(o, v);
  if (!fe_is_null(in))
    return in;
  MlirOperation def = fe_def(v);
  if (fe_op_is(def, "arith.constant")) {
    in = clone_constant(o->g->ir, def);
    set_inside(o, v, in);
  }
  return in;
}

/// `dest`, or where a member's elements are of another type, an empty tensor of
/// its sizes.
static MlirValue dest_like(fe_ir *ir, MlirValue dest, MlirValue member) {
  MlirType elem = fe_elem_of(member);
  if (mlirTypeEqual(fe_elem_of(dest), elem))
    return dest;
  int64_t dims[FE_MAX_RANK];
  unsigned rank = fe_type_dims(mlirValueGetType(member), dims), n = 0;
  MlirValue sizes[FE_MAX_RANK];
  for (unsigned i = 0; i < rank; i++)
    if (dims[i] == FE_DYN)
      sizes[n++] = fe_dim(ir, dest, i);
  MlirType type = fe_tensor_plain(ir, elem, rank, dims);
  return fe_first(FE_OP(ir, "tensor.empty", .n_operands = n, .operands = sizes,
                        FE_TYPES(type)));
}

/// One krnl root (and later its epilogue generics), made again in the kernel.
static void copy_member(fe_outline *o, MlirOperation op, MlirValue dest) {
  fe_ir *ir = o->g->ir;
  unsigned n = fe_n_operands(op);
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, n + 1);
  for (unsigned i = 0; i < n; i++) {
    MlirOperation def = fe_def(fe_operand(op, i));
    bool is_dest = i + 1 == n && fe_op_is(def, "tensor.empty");
    operands[i] = is_dest ? dest_like(ir, dest, fe_result(op, 0))
                          : resolve(o, fe_operand(op, i));
  }
  MlirRegion region = {0};
  bool has_region = mlirOperationGetNumRegions(op) > 0;
  if (has_region)
    region = fe_generic_clone_body(ir, op);
  MlirOperation made =
      fe_op_like(ir, op, operands, has_region ? &region : NULL);
  set_inside(o, fe_result(op, 0), fe_first(made));
}

static const char *root_name(fe_grouping *g, const fe_group *group) {
  if (group->root < 0)
    return "generic";
  return fe_op_name(g->ir->arena, g->ops.at[group->root].op);
}

/// Symbol of an equal kernel seen before, or NULL after remembering this one.
static const char *seen_before(fe_grouping *g, MlirOperation func) {
  fe_ir *ir = g->ir;
  MlirStringRef name = mlirStringAttrGetValue(fe_attr(func, "sym_name"));
  const char *symbol = fe_strndup(ir->arena, name.data, name.length);
  fe_set_attr(ir, func, fe_at_str(ir, "sym_name", "k"));
  char *text = fe_print(ir->arena, func);
  fe_set_attr(ir, func, fe_at_str(ir, "sym_name", symbol));
  const char *known = fe_map_get(&g->kernels, text);
  if (!known)
    fe_map_set(ir->arena, &g->kernels, text, (void *)symbol);
  return known;
}

/// Locations of all members, that of the root (or the first) in front.
static MlirLocation location_of(fe_grouping *g, const fe_group *group) {
  fe_ir *ir = g->ir;
  MlirLocation *all = FE_NEW_N(ir->arena, MlirLocation, group->members.n + 1);
  size_t n = 0;
  if (group->root >= 0)
    all[n++] = mlirOperationGetLocation(g->ops.at[group->root].op);
  for (size_t i = 0; i < group->members.n; i++)
    if (group->members.at[i] != group->root)
      all[n++] = mlirOperationGetLocation(g->ops.at[group->members.at[i]].op);
  return n == 1 ? all[0]
                : mlirLocationFusedGet(ir->ctx, (intptr_t)n, all,
                                       (MlirAttribute){0});
}

static void outline(fe_grouping *g, int gi) {
  fe_ir *ir = g->ir;
  fe_group *group = &g->groups.at[gi];
  fe_outline o = {.g = g, .group = gi};
  MlirOperation last = {0};
  for (size_t i = 0; i < group->members.n; i++) {
    last = g->ops.at[group->members.at[i]].op;
    capture_op(&o, last);
    for (unsigned r = 0; r < fe_n_results(last); r++)
      if (escapes(g, fe_result(last, r), gi))
        fe_push(ir->arena, &o.outs, fe_result(last, r));
  }
  if (!o.outs.n) { // dead: nothing reads it
    for (size_t i = group->members.n; i-- > 0;)
      fe_erase(g->ops.at[group->members.at[i]].op);
    return;
  }
  ir->loc = mlirOperationGetLocation(
      g->ops.at[group->root >= 0 ? group->root : group->members.at[0]].op);
  // the function
  unsigned n_in = (unsigned)o.tensors.n, n_out = (unsigned)o.outs.n,
           n_scalar = (unsigned)o.scalars.n, n = n_in + n_out + n_scalar;
  MlirType *types = FE_NEW_N(ir->arena, MlirType, n + 1);
  for (unsigned i = 0; i < n_in; i++)
    types[i] = mlirValueGetType(o.tensors.at[i]);
  for (unsigned i = 0; i < n_out; i++)
    types[n_in + i] = mlirValueGetType(o.outs.at[i]);
  for (unsigned i = 0; i < n_scalar; i++)
    types[n_in + n_out + i] = ir->index;
  const char *root = root_name(g, group);
  const char *symbol = fe_printf(ir->arena, "%s.%u", root, g->n_kernels++);
  MlirOperation func = fe_func_begin(ir, g->module, symbol, true, n, types);
  fe_set_attr(ir, func, fe_at_unit(ir, "krnl.kernel"));
  fe_set_attr(ir, func, fe_at_i64(ir, "krnl.outs", n_out));
  fe_set_attr(ir, func, fe_at_str(ir, "krnl.root", root));
  MlirBlock body = fe_func_block(func);
  fe_point_at_end(ir, body);
  for (unsigned i = 0; i < n_in; i++)
    set_inside(&o, o.tensors.at[i], fe_block_arg(body, i));
  for (unsigned i = 0; i < n_scalar; i++)
    set_inside(&o, o.scalars.at[i],
               from_index_bits(ir, fe_block_arg(body, n_in + n_out + i),
                               mlirValueGetType(o.scalars.at[i])));
  MlirValue *results = FE_NEW_N(ir->arena, MlirValue, n_out + 1);
  if (group->root >= 0) {
    for (size_t i = 0; i < group->members.n; i++)
      copy_member(&o, g->ops.at[group->members.at[i]].op,
                  fe_block_arg(body, n_in));
    for (unsigned i = 0; i < n_out; i++)
      results[i] = inside_of(&o, o.outs.at[i]);
  } else {
    fe_generic_merge merge = {.n = (unsigned)group->members.n,
                              .n_outs = n_out,
                              .outs = o.outs.at,
                              .dest = FE_NEW_N(ir->arena, MlirValue, n_out + 1),
                              .inside = &o.inside};
    MlirOperation *members = FE_NEW_N(ir->arena, MlirOperation, merge.n + 1);
    for (unsigned i = 0; i < merge.n; i++)
      members[i] = g->ops.at[group->members.at[i]].op;
    merge.ops = members;
    for (unsigned i = 0; i < n_out; i++)
      merge.dest[i] = fe_block_arg(body, n_in + i);
    MlirOperation merged = fe_generic_merge_ops(ir, &merge);
    for (unsigned i = 0; i < n_out; i++)
      results[i] = fe_result(merged, i);
  }
  fe_func_end(ir, func, n_out, results);

  // the call stands for all members; their names come root first
  ir->loc = location_of(g, group);
  fe_point_before(ir, last);
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, n + 1);
  MlirType *result_types = FE_NEW_N(ir->arena, MlirType, n_out + 1);
  for (unsigned i = 0; i < n_in; i++)
    operands[i] = o.tensors.at[i];
  for (unsigned i = 0; i < n_out; i++) {
    // the destination that the member had, possibly behind a fill
    MlirOperation member = fe_def(o.outs.at[i]);
    MlirValue dest = fe_operand(member, fe_n_operands(member) - 1);
    if (fe_op_is(fe_def(dest), "linalg.fill"))
      dest = fe_operand(fe_def(dest), 1);
    operands[n_in + i] = dest;
    result_types[i] = mlirValueGetType(o.outs.at[i]);
  }
  for (unsigned i = 0; i < n_scalar; i++)
    operands[n_in + n_out + i] = to_index_bits(ir, o.scalars.at[i]);
  const char *known = seen_before(g, func);
  if (known) {
    mlirOperationDestroy(func);
    symbol = known;
  }
  MlirOperation call = FE_OP(
      ir, "kernel.call", .n_operands = n, .operands = operands,
      .n_results = n_out, .results = result_types,
      FE_ATTRS(fe_named(ir, "callee",
                        mlirFlatSymbolRefAttrGet(ir->ctx, fe_str(symbol))),
               fe_at_i64(ir, "ins", n_in), fe_at_i64(ir, "outs", n_out)));
  for (unsigned i = 0; i < n_out; i++)
    fe_replace(o.outs.at[i], fe_result(call, i));
  for (size_t i = group->members.n; i-- > 0;)
    fe_erase(g->ops.at[group->members.at[i]].op);
}

//===-- Blocks --------------------------------------------------------------//

static void group_block(fe_grouping *g, MlirBlock block) {
  fe_ir *ir = g->ir;
  // regions first: they are blocks of their own
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
    if (fe_op_in(op, "scf"))
      for (unsigned r = 0; r < (unsigned)mlirOperationGetNumRegions(op); r++) {
        MlirBlock inner =
            mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
        if (!mlirBlockIsNull(inner))
          group_block(g, inner);
      }
  g->block = block;
  g->ops.n = 0;
  g->groups.n = 0;
  g->index = (fe_map){0};
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    fe_member m = {.op = op, .group = -1};
    m.is_root =
        fe_op_in(op, "krnl") && !is_one_of(op, host_ops, FE_COUNT(host_ops));
    m.is_generic = fe_op_is(op, "linalg.generic");
    m.is_parallel = m.is_generic && fe_generic_is_parallel(ir, op);
    fe_push(ir->arena, &g->ops, m);
    fe_map_set_ptr(ir->arena, &g->index, op.ptr, (void *)(intptr_t)g->ops.n);
  }
  for (size_t i = 0; i < g->ops.n; i++)
    if ((g->ops.at[i].is_root || g->ops.at[i].is_generic) &&
        g->ops.at[i].group < 0)
      decide(g, (int)i);
  for (size_t i = 0; i < g->groups.n; i++)
    if (g->groups.at[i].members.n)
      outline(g, (int)i);
  // what only the members needed
  for (size_t i = g->ops.n; i-- > 0;) {
    MlirOperation op = g->ops.at[i].op;
    if (g->ops.at[i].group < 0 &&
        (fe_op_is(op, "linalg.fill") || fe_op_is(op, "tensor.empty") ||
         fe_op_is(op, "arith.constant") || fe_op_is(op, "krnl.weight") ||
         fe_op_is(op, "krnl.reshape")) &&
        !fe_n_uses(fe_result(op, 0)))
      fe_erase(op);
  }
}

typedef struct fe_renames {
  fe_ir *ir;
  fe_map names; // symbol -> symbol of the equal kernel kept
} fe_renames;

static void rename_callee(MlirOperation op, void *user) {
  fe_renames *r = user;
  if (!fe_op_is(op, "kernel.call"))
    return;
  MlirStringRef s = mlirFlatSymbolRefAttrGetValue(fe_attr(op, "callee"));
  const char *to =
      fe_map_get(&r->names, fe_strndup(r->ir->arena, s.data, s.length));
  if (to)
    fe_set_attr(r->ir, op,
                fe_named(r->ir, "callee",
                         mlirFlatSymbolRefAttrGet(r->ir->ctx, fe_str(to))));
}

/// Kernels that lowering wrote out are shared too.
static void share_imperative(fe_grouping *g, MlirBlock main_block) {
  fe_renames r = {.ir = g->ir};
  MlirBlock top = mlirModuleGetBody(g->module);
  MlirOperation next;
  for (MlirOperation op = mlirBlockGetFirstOperation(top);
       !mlirOperationIsNull(op); op = next) {
    next = mlirOperationGetNextInBlock(op);
    if (!fe_has_attr(op, "krnl.kernel"))
      continue;
    MlirStringRef s = mlirStringAttrGetValue(fe_attr(op, "sym_name"));
    const char *name = fe_strndup(g->ir->arena, s.data, s.length);
    const char *known = seen_before(g, op);
    if (known) {
      fe_map_set(g->ir->arena, &r.names, name, (void *)known);
      mlirOperationDestroy(op);
    }
  }
  if (r.names.n)
    fe_walk(main_block, rename_callee, &r);
}

fe_status fe_pass_group(fe_ir *ir, MlirModule *module,
                        const fe_pass_options *options) {
  (void)options;
  fe_grouping g = {.ir = ir, .module = *module};
  MlirOperation main_op = fe_func_find(*module, "main");
  if (mlirOperationIsNull(main_op))
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "the module has no function @main");
  fe_point saved = fe_point_save(ir);
  MlirBlock block = fe_func_block(main_op);
  share_imperative(&g, block);
  group_block(&g, block);
  fe_point_restore(ir, saved);
  return FE_OK;
}
