//===- lower.c - onnx to linalg, krnl and imperative kernels --------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: one forward walk builds a new main in a new module; each onnx op is
// lowered by its row, everything else (control flow, host arithmetic, krnl
// roots) is made again over the lowered operands, regions included.
// Needs: an `onnx` phase module. Leaves: the `lower` form of
// docs/architecture.md. All ops without a lowering are reported at once.
//
//===----------------------------------------------------------------------===//
#include "ir/value_type.h"
#include "op/lowering.h"
#include "pass/pass.h"

#include <string.h>

typedef struct fe_lower_pass {
  fe_ir *ir;
  const fe_target *target;
  fe_lowering state;
  fe_map values; // old value -> new value
} fe_lower_pass;

static MlirValue mapped(fe_lower_pass *p, MlirValue v) {
  return (MlirValue){fe_map_get_ptr(&p->values, v.ptr)};
}

static void map_value(fe_lower_pass *p, MlirValue from, MlirValue to) {
  fe_map_set_ptr(p->ir->arena, &p->values, from.ptr, (void *)to.ptr);
}

/// Plain storage type of an onnx-phase tensor type; other types unchanged.
/// Sequences, optionals and maps are handles.
static MlirType plain_type(fe_ir *ir, MlirType t) {
  if (fe_type_is_object(t))
    return fe_tensor_plain(ir, ir->i64, 0, NULL);
  if (!mlirTypeIsARankedTensor(t))
    return t;
  int64_t dims[FE_MAX_RANK];
  unsigned rank = fe_type_dims(t, dims);
  fe_dtype d = fe_dtype_of_elem(mlirShapedTypeGetElementType(t));
  return fe_tensor_plain(ir, fe_storage_type(ir, d), rank, dims);
}

/// The lowered value with exactly the type that the onnx type promises.
static MlirValue as_type(fe_ir *ir, MlirValue v, MlirType want) {
  if (fe_is_null(v) || mlirTypeEqual(mlirValueGetType(v), want))
    return v;
  return fe_first(FE_OP(ir, "tensor.cast", FE_VALUES(v), FE_TYPES(want)));
}

static fe_where where_of(fe_ir *ir, MlirOperation op, const fe_op_row *row) {
  return (fe_where){.node = fe_loc_node(ir, mlirOperationGetLocation(op)),
                    .op = row ? row->name : NULL};
}

//===-- Pointwise rows ------------------------------------------------------//

static bool is_one(MlirAffineExpr e) { return fe_dim_static(e) == 1; }

/// Size of out dim i when inference gave a fresh symbol: the operand's dim
/// that is not 1; all others must be 1 or equal.
static MlirValue broadcast_size(fe_lower *l, unsigned rank, unsigned i) {
  fe_ir *ir = l->ir;
  MlirValue size = {0};
  MlirValue one = fe_index(ir, 1);
  for (unsigned k = 0; k < l->n_in; k++) {
    if (fe_is_null(l->in[k]))
      continue;
    unsigned r = fe_rank(l->in[k]);
    if (i + r < rank)
      continue;
    MlirValue s = fe_size(l, l->in[k], i + r - rank);
    if (fe_is_null(size)) {
      size = s;
      continue;
    }
    if (fe_same(size, s))
      continue;
    MlirValue size_is_one = fe_cmp(ir, FE_EQ, size, one);
    MlirValue ok = fe_or(ir, fe_or(ir, size_is_one, fe_cmp(ir, FE_EQ, s, one)),
                         fe_cmp(ir, FE_EQ, s, size));
    fe_check(l, ok, "the operands' shapes do not broadcast");
    size = fe_select(ir, size_is_one, s, size);
  }
  return size;
}

static void lower_pointwise(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_out_rank(l, 0);
  MlirValue sizes[FE_MAX_RANK] = {{0}};
  fe_dims out;
  fe_dims_of(ir, fe_result(l->op, 0), &out);
  fe_out_sizes(l, 0, sizes);
  bool checked[FE_MAX_RANK] = {false}; // that the operands fit the size
  for (unsigned i = 0; i < rank; i++)
    if (fe_is_null(sizes[i])) {
      sizes[i] = broadcast_size(l, rank, i);
      checked[i] = true;
    }
  MlirAffineMap *maps = FE_NEW_N(ir->arena, MlirAffineMap, l->n_in + 1);
  double *constant = FE_NEW_N(ir->arena, double, l->n_in + 1);
  bool *is_constant = FE_NEW_N(ir->arena, bool, l->n_in + 1);
  for (unsigned k = 0; k < l->n_in; k++) {
    if (fe_is_null(l->in[k]))
      continue;
    // integers above 2^53 would not survive as double
    fe_const c;
    if (fe_const_of(ir, fe_operand(l->op, k), &c) && c.count == 1 &&
        fe_dtype_bits(l->in_type[k]) <= 32 &&
        fe_const_scalar(ir, fe_operand(l->op, k), &constant[k])) {
      is_constant[k] = true;
      continue;
    }
    fe_dims d;
    fe_dims_of(ir, fe_operand(l->op, k), &d);
    MlirAffineExpr e[FE_MAX_RANK];
    bool known = true;
    for (unsigned j = 0; j < d.rank; j++) {
      unsigned i = rank - d.rank + j;
      if (is_one(d.d[j]) && !is_one(out.d[i]))
        e[j] = mlirAffineConstantExprGet(ir->ctx, 0);
      else if (fe_dim_same(d.d[j], out.d[i]) || fe_dim_static(d.d[j]) != FE_DYN)
        e[j] = mlirAffineDimExprGet(ir->ctx, i);
      else { // 1 or equal: only run time knows
        known = false;
        MlirValue s = fe_size(l, l->in[k], j);
        if (!checked[i])
          fe_check(l,
                   fe_or(ir, fe_cmp(ir, FE_EQ, s, fe_index(ir, 1)),
                         fe_cmp(ir, FE_EQ, s, sizes[i])),
                   "the operands' shapes do not broadcast");
      }
    }
    if (known)
      maps[k] = mlirAffineMapGet(ir->ctx, rank, 0, d.rank, e);
  }
  fe_generic *g =
      fe_generic_begin(l, rank, sizes, l->n_in, l->in, l->in_type, maps);
  MlirValue *x = FE_NEW_N(ir->arena, MlirValue, l->n_in + 1);
  for (unsigned k = 0; k < l->n_in; k++) {
    if (fe_is_null(l->in[k]))
      continue;
    if (is_constant[k]) {
      x[k] = fe_number(ir, fe_compute_type(ir, l->in_type[k]), constant[k]);
      continue;
    }
    if (!mlirAffineMapIsNull(maps[k])) {
      x[k] = fe_arg(g, k);
      continue;
    }
    unsigned r = fe_rank(l->in[k]);
    MlirValue idx[FE_MAX_RANK], zero = fe_index(ir, 0);
    for (unsigned j = 0; j < r; j++) {
      MlirValue one = fe_index(ir, 1);
      idx[j] = fe_select(ir, fe_cmp(ir, FE_EQ, fe_size(l, l->in[k], j), one),
                         zero, fe_iter(g, rank - r + j));
    }
    x[k] = fe_at(g, l->in[k], l->in_type[k], r, idx);
  }
  MlirValue y =
      l->row->scalar(ir, l->op, l->in_type[0], l->out_type[0], l->n_in, x);
  l->out[0] = fe_generic_end(g, l->out_type[0], y);
}

//===-- One op --------------------------------------------------------------//

static void lower_onnx(fe_lower_pass *p, MlirOperation op) {
  fe_ir *ir = p->ir;
  const fe_op_row *row = fe_op_row_of(op);
  fe_where where = where_of(ir, op, row);
  if (!row || (!row->lower && !row->scalar)) {
    where.op = row ? row->name : fe_op_name(ir->arena, op);
    fe_report(ir->diags, FE_SEV_ERROR, where,
              "replace the operator in the exported model",
              "the operator cannot be compiled yet");
    return;
  }
  unsigned n_in = fe_n_operands(op), n_out = fe_n_results(op);
  fe_lower l = {.ir = ir,
                .module = p->state.module,
                .op = op,
                .row = row,
                .where = where,
                .target = p->target,
                .n_in = n_in,
                .in = FE_NEW_N(ir->arena, MlirValue, n_in + 1),
                .in_type = FE_NEW_N(ir->arena, fe_dtype, n_in + 1),
                .n_out = n_out,
                .out = FE_NEW_N(ir->arena, MlirValue, n_out + 1),
                .out_type = FE_NEW_N(ir->arena, fe_dtype, n_out + 1),
                .state = &p->state};
  for (unsigned i = 0; i < n_in; i++) {
    MlirValue v = fe_operand(op, i);
    if (mlirTypeIsANone(mlirValueGetType(v)))
      continue;
    l.in[i] = mapped(p, v);
    if (fe_is_null(l.in[i]))
      return; // its producer was refused
    l.in_type[i] = fe_dtype_of_elem(fe_elem_of(v));
  }
  for (unsigned i = 0; i < n_out; i++)
    l.out_type[i] = fe_dtype_of_elem(fe_elem_of(fe_result(op, i)));
  unsigned errors = ir->diags->errors;
  if (row->lower) {
    if (row->lower(&l) != FE_OK)
      return;
  } else {
    lower_pointwise(&l);
  }
  for (unsigned i = 0; i < n_out; i++) {
    MlirValue r = fe_result(op, i);
    if (fe_is_null(l.out[i])) {
      if (fe_n_uses(r) && errors == ir->diags->errors)
        fe_report(ir->diags, FE_SEV_INTERNAL, where, NULL,
                  "lowering left output %u of %s undefined (%s)", i, row->name,
                  ir->failure ? ir->failure : "no construction failed");
      continue;
    }
    fe_bind_local(&p->state, r, l.out[i]);
    map_value(p, r, as_type(ir, l.out[i], plain_type(ir, mlirValueGetType(r))));
  }
}

/// The weights have sizes and characters; what points to them is made in each
/// run.
static MlirValue lower_strings(fe_lower_pass *p, MlirOperation op,
                               MlirValue bytes) {
  MlirValue r = fe_result(op, 0), sizes[FE_MAX_RANK];
  fe_dtype type = FE_STRING;
  fe_lower l = {.ir = p->ir,
                .module = p->state.module,
                .op = op,
                .where = where_of(p->ir, op, NULL),
                .target = p->target,
                .n_out = 1,
                .out_type = &type,
                .state = &p->state};
  for (unsigned i = 0; i < fe_rank(r); i++)
    sizes[i] = fe_index(p->ir, fe_static_dim(r, i));
  MlirValue dest = fe_out_empty(&l, 0, sizes), result = {0};
  fe_runtime_call(&l,
                  &(fe_runtime){.name = "values_strings",
                                .n_in = 1,
                                .in = &bytes,
                                .n_out = 1,
                                .out = &dest},
                  &result, NULL);
  return result;
}

static void lower_constant(fe_lower_pass *p, MlirOperation op) {
  fe_ir *ir = p->ir;
  MlirValue r = fe_result(op, 0);
  MlirType type = plain_type(ir, mlirValueGetType(r));
  const char *blob = fe_attr_str(ir->arena, op, "blob", NULL);
  if (!blob || !*blob) {
    fe_const c;
    if (!fe_const_of(ir, r, &c)) {
      fe_report(ir->diags, FE_SEV_INTERNAL, where_of(ir, op, NULL), NULL,
                "constant without data");
      return;
    }
    blob = fe_blob_add(ir->blobs, "constant", c.data, c.size, NULL, 0)->name;
  }
  bool strings = fe_dtype_of_elem(fe_elem_of(r)) == FE_STRING;
  if (strings) {
    fe_const c;
    if (!fe_const_of(ir, r, &c)) {
      fe_error(ir->diags, where_of(ir, op, NULL), NULL,
               "the data of a constant of strings is malformed");
      return;
    }
    type = fe_tensor_plain(ir, ir->i8, 1, (int64_t[]){(int64_t)c.size});
  }
  MlirValue v = fe_first(FE_OP(ir, "krnl.weight", FE_TYPES(type),
                               FE_ATTRS(fe_at_str(ir, "blob", blob))));
  map_value(p, r, strings ? lower_strings(p, op, v) : v);
}

static void lower_block(fe_lower_pass *p, MlirBlock block);

/// A krnl root of the optimize phase gets its destination.
static void lower_root(fe_lower_pass *p, MlirOperation op, unsigned n,
                       MlirValue *operands) {
  fe_ir *ir = p->ir;
  MlirValue r = fe_result(op, 0);
  fe_dtype type = fe_dtype_of_elem(fe_elem_of(r));
  fe_lower l = {.ir = ir,
                .module = p->state.module,
                .op = op,
                .where = where_of(ir, op, NULL),
                .target = p->target,
                .n_in = n,
                .in = operands,
                .n_out = 1,
                .out_type = &type,
                .state = &p->state};
  MlirValue sizes[FE_MAX_RANK] = {{0}};
  fe_out_sizes(&l, 0, sizes);
  for (unsigned i = 0; i < fe_rank(r); i++)
    if (fe_is_null(sizes[i])) {
      fe_report(ir->diags, FE_SEV_INTERNAL, l.where, NULL,
                "dim %u of a krnl root does not follow from its operands", i);
      return;
    }
  MlirValue *with_dest = FE_NEW_N(ir->arena, MlirValue, n + 1);
  memcpy(with_dest, operands, n * sizeof *operands);
  with_dest[n] = fe_out_empty(&l, 0, sizes);
  unsigned n_attrs = (unsigned)mlirOperationGetNumAttributes(op);
  MlirNamedAttribute *attrs =
      FE_NEW_N(ir->arena, MlirNamedAttribute, n_attrs + 1);
  for (unsigned i = 0; i < n_attrs; i++)
    attrs[i] = mlirOperationGetAttribute(op, i);
  MlirType made_type = mlirValueGetType(with_dest[n]);
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  MlirOperation made =
      FE_OP(ir, fe_strndup(ir->arena, name.data, name.length),
            .n_operands = n + 1, .operands = with_dest, .n_results = 1,
            .results = &made_type, .n_attrs = n_attrs, .attrs = attrs);
  fe_note_sizes(&p->state, fe_first(made), fe_rank(r), sizes);
  map_value(p, r,
            as_type(ir, fe_first(made), plain_type(ir, mlirValueGetType(r))));
}

/// Any other op, made again over lowered operands and types.
static void lower_other(fe_lower_pass *p, MlirOperation op) {
  fe_ir *ir = p->ir;
  unsigned n = fe_n_operands(op), n_res = fe_n_results(op);
  MlirValue *operands = FE_NEW_N(ir->arena, MlirValue, n + 1);
  for (unsigned i = 0; i < n; i++) {
    operands[i] = mapped(p, fe_operand(op, i));
    if (fe_is_null(operands[i]))
      return;
  }
  // tensor.extract of a bool gives i8 now: back to i1
  if (fe_op_is(op, "tensor.extract")) {
    MlirValue t = fe_operand(op, 0);
    MlirType elem = fe_elem_of(operands[0]);
    MlirValue v = fe_first(FE_OP(ir, "tensor.extract", .n_operands = n,
                                 .operands = operands, FE_TYPES(elem)));
    map_value(p, fe_result(op, 0),
              fe_dtype_of_elem(fe_elem_of(t)) == FE_BOOL
                  ? fe_to_compute(ir, FE_BOOL, v)
                  : v);
    return;
  }
  // a sequence or optional of a wider type: the same handle
  if (fe_op_is(op, "builtin.unrealized_conversion_cast")) {
    map_value(p, fe_result(op, 0), operands[0]);
    return;
  }
  if (fe_op_is(op, "tensor.from_elements")) {
    MlirType type = plain_type(ir, mlirValueGetType(fe_result(op, 0)));
    fe_dtype t = fe_dtype_of_elem(fe_elem_of(fe_result(op, 0)));
    for (unsigned i = 0; i < n; i++)
      operands[i] = fe_to_storage(ir, t, operands[i]);
    map_value(p, fe_result(op, 0),
              fe_first(FE_OP(ir, "tensor.from_elements", .n_operands = n,
                             .operands = operands, FE_TYPES(type))));
    return;
  }
  if (fe_op_in(op, "krnl") && n_res == 1) {
    lower_root(p, op, n, operands);
    return;
  }
  // yields and returns: exactly the type that the parent declares
  MlirType *types = FE_NEW_N(ir->arena, MlirType, n_res + 1);
  for (unsigned i = 0; i < n_res; i++)
    types[i] = plain_type(ir, mlirValueGetType(fe_result(op, i)));
  for (unsigned i = 0; i < n; i++)
    operands[i] = as_type(ir, operands[i],
                          plain_type(ir, mlirValueGetType(fe_operand(op, i))));
  unsigned n_attrs = (unsigned)mlirOperationGetNumAttributes(op);
  MlirNamedAttribute *attrs =
      FE_NEW_N(ir->arena, MlirNamedAttribute, n_attrs + 1);
  for (unsigned i = 0; i < n_attrs; i++)
    attrs[i] = mlirOperationGetAttribute(op, i);
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  unsigned n_regions = (unsigned)mlirOperationGetNumRegions(op);
  MlirRegion *regions = FE_NEW_N(ir->arena, MlirRegion, n_regions + 1);
  for (unsigned i = 0; i < n_regions; i++) {
    regions[i] = mlirRegionCreate();
    MlirBlock from = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, i));
    if (mlirBlockIsNull(from))
      continue;
    MlirBlock to = mlirBlockCreate(0, NULL, NULL);
    for (intptr_t k = 0; k < mlirBlockGetNumArguments(from); k++) {
      MlirValue a = mlirBlockGetArgument(from, k);
      map_value(p, a,
                mlirBlockAddArgument(to, plain_type(ir, mlirValueGetType(a)),
                                     ir->loc));
    }
    mlirRegionAppendOwnedBlock(regions[i], to);
  }
  MlirOperation made =
      FE_OP(ir, fe_strndup(ir->arena, name.data, name.length), .n_operands = n,
            .operands = operands, .n_results = n_res, .results = types,
            .n_attrs = n_attrs, .attrs = attrs, .n_regions = n_regions,
            .regions = regions);
  if (mlirOperationIsNull(made))
    return;
  for (unsigned i = 0; i < n_res; i++)
    map_value(p, fe_result(op, i), fe_result(made, i));
  // what is bound in a region is not in scope behind it
  MlirValue *outside = p->state.local;
  for (unsigned i = 0; i < n_regions; i++) {
    MlirBlock from = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, i));
    if (mlirBlockIsNull(from))
      continue;
    p->state.local = fe_memdup(ir->arena, outside,
                               (p->state.n_symbols + 1) * sizeof *outside);
    fe_point saved = fe_point_save(ir);
    fe_point_at_end(ir,
                    mlirRegionGetFirstBlock(mlirOperationGetRegion(made, i)));
    for (unsigned k = 0; k < (unsigned)mlirBlockGetNumArguments(from); k++)
      fe_bind_local(&p->state, fe_block_arg(from, k),
                    mapped(p, fe_block_arg(from, k)));
    lower_block(p, from);
    fe_point_restore(ir, saved);
  }
  p->state.local = outside;
  for (unsigned i = 0; i < n_res; i++)
    fe_bind_local(&p->state, fe_result(op, i), fe_result(made, i));
}

static void lower_block(fe_lower_pass *p, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block);
       !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
    p->ir->loc = mlirOperationGetLocation(op);
    if (fe_op_is(op, "onnx.none"))
      continue;
    if (fe_op_is(op, "onnx.constant"))
      lower_constant(p, op);
    else if (fe_op_in(op, "onnx"))
      lower_onnx(p, op);
    else
      lower_other(p, op);
  }
}

//===-- The function --------------------------------------------------------//

/// A symbol is bound where an argument has it alone as a dim. Every other
/// argument dim over bound symbols is checked by whoever calls the model.
static void bind_symbols(fe_lower_pass *p, MlirBlock from, MlirBlock to) {
  fe_ir *ir = p->ir;
  for (unsigned i = 0; i < (unsigned)mlirBlockGetNumArguments(from); i++) {
    fe_dims d;
    if (!fe_dims_of(ir, fe_block_arg(from, i), &d))
      continue;
    for (unsigned k = 0; k < d.rank; k++) {
      if (!mlirAffineExprIsASymbol(d.d[k]))
        continue;
      unsigned s = (unsigned)mlirAffineSymbolExprGetPosition(d.d[k]);
      if (s < p->state.n_symbols && fe_is_null(p->state.symbols[s]))
        p->state.symbols[s] = fe_dim(ir, fe_block_arg(to, i), k);
    }
  }
}

static unsigned count_symbols(MlirModule m) {
  MlirAttribute a = mlirOperationGetAttributeByName(mlirModuleGetOperation(m),
                                                    fe_str("onnx.symbols"));
  return mlirAttributeIsNull(a) || !mlirAttributeIsAArray(a)
             ? 0
             : (unsigned)mlirArrayAttrGetNumElements(a);
}

/// Arguments or results keep their attributes, and get the type they had.
static void describe(fe_ir *ir, MlirOperation to, MlirOperation from,
                     const char *name, unsigned n, MlirType type,
                     MlirType (*nth)(MlirType, intptr_t)) {
  MlirAttribute old = fe_attr(from, name);
  MlirAttribute *dicts = FE_NEW_N(ir->arena, MlirAttribute, n + 1);
  for (unsigned i = 0; i < n; i++) {
    MlirAttribute was =
        mlirAttributeIsNull(old) ? old : mlirArrayAttrGetElement(old, i);
    intptr_t k =
        mlirAttributeIsNull(was) ? 0 : mlirDictionaryAttrGetNumElements(was);
    MlirNamedAttribute *members =
        FE_NEW_N(ir->arena, MlirNamedAttribute, (size_t)k + 1);
    for (intptr_t e = 0; e < k; e++)
      members[e] = mlirDictionaryAttrGetElement(was, e);
    members[k] = fe_at_type(ir, "onnx.type", nth(type, i));
    dicts[i] = mlirDictionaryAttrGet(ir->ctx, k + 1, members);
  }
  fe_set_attr(ir, to, fe_named(ir, name, mlirArrayAttrGet(ir->ctx, n, dicts)));
}

fe_status fe_pass_lower(fe_ir *ir, MlirModule *module,
                        const fe_pass_options *o) {
  MlirOperation old_op = mlirModuleGetOperation(*module);
  MlirOperation old_main = fe_func_find(*module, "main");
  if (mlirOperationIsNull(old_main))
    return fe_error(ir->diags, (fe_where){0}, NULL,
                    "the module has no function @main");
  MlirBlock old_block = fe_func_block(old_main);
  MlirModule made = mlirModuleCreateEmpty(ir->loc);
  MlirOperation made_op = mlirModuleGetOperation(made);
  for (intptr_t i = 0; i < mlirOperationGetNumAttributes(old_op); i++)
    fe_set_attr(ir, made_op, mlirOperationGetAttribute(old_op, i));

  fe_lower_pass p = {.ir = ir, .target = o->target};
  fe_lowering *s = &p.state;
  s->ir = ir;
  s->module = made;
  s->bf16 = o->bf16;
  s->strict = o->strict;
  s->n_symbols = count_symbols(*module);
  s->symbols = FE_NEW_N(ir->arena, MlirValue, s->n_symbols + 1);
  s->local = FE_NEW_N(ir->arena, MlirValue, s->n_symbols + 1);

  unsigned n_args = (unsigned)mlirBlockGetNumArguments(old_block);
  MlirType *args = FE_NEW_N(ir->arena, MlirType, n_args + 1);
  for (unsigned i = 0; i < n_args; i++)
    args[i] = plain_type(ir, mlirValueGetType(fe_block_arg(old_block, i)));
  fe_point saved = fe_point_save(ir);
  MlirOperation main_op = fe_func_begin(ir, made, "main", false, n_args, args);
  s->entry = fe_func_block(main_op);
  fe_point_at_end(ir, s->entry);
  for (unsigned i = 0; i < n_args; i++)
    map_value(&p, fe_block_arg(old_block, i), fe_block_arg(s->entry, i));
  bind_symbols(&p, old_block, s->entry);
  // dims over symbols are inserted before this marker, which stays
  fe_index(ir, 0);
  s->prologue = mlirBlockGetFirstOperation(s->entry);
  for (MlirOperation op = s->prologue; !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op))
    s->prologue = op;
  lower_block(&p, old_block);
  // func.return was made again by the walk: take its operand types
  MlirOperation ret = mlirBlockGetTerminator(s->entry);
  if (!mlirOperationIsNull(ret) && fe_op_is(ret, "func.return")) {
    unsigned n_results = fe_n_operands(ret);
    MlirType *results = FE_NEW_N(ir->arena, MlirType, n_results + 1);
    for (unsigned i = 0; i < n_results; i++)
      results[i] = mlirValueGetType(fe_operand(ret, i));
    MlirType type =
        mlirFunctionTypeGet(ir->ctx, n_args, args, n_results, results);
    fe_set_attr(ir, main_op, fe_at_type(ir, "function_type", type));
  }
  MlirType old_type = mlirTypeAttrGetValue(fe_attr(old_main, "function_type"));
  describe(ir, main_op, old_main, "arg_attrs", n_args, old_type,
           mlirFunctionTypeGetInput);
  describe(ir, main_op, old_main, "res_attrs",
           (unsigned)mlirFunctionTypeGetNumResults(old_type), old_type,
           mlirFunctionTypeGetResult);
  fe_point_restore(ir, saved);
  if (ir->diags->errors) {
    mlirModuleDestroy(made);
    return FE_FAILED;
  }
  mlirModuleDestroy(*module);
  *module = made;
  return FE_OK;
}
