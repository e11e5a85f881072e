//===- onnx.c - ONNX models to the onnx dialect ---------------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Method: versions are checked, the operators surveyed, then @main is built
// from the graph. Shapes declared for values inside the graph are not used:
// inference derives them, and what a file claims about them may be wrong.
//
//===----------------------------------------------------------------------===//
#include "import/import.h"
#include "ir/value_type.h"

#include <inttypes.h>
#include <string.h>

//===-- Versions ------------------------------------------------------------//

static fe_status check_versions(fe_import *im) {
  const onnx_ModelProto *m = im->model;
  fe_where none = {0};
  if (!m->graph)
    return fe_error(im->diags, none,
                    "it is damaged, cut off or of another format; get it again",
                    "the file holds no graph");
  if (m->ir_version < 1)
    return fe_error(im->diags, none,
                    "it is damaged or of another format; get it again",
                    "the file has no version of the ONNX format");
  if (m->ir_version > FE_ONNX_MAX_IR)
    return fe_error(im->diags, none, "save the model in an older format",
                    "version %" PRId64 " of the ONNX format is newer than %d, "
                    "the newest known",
                    m->ir_version, FE_ONNX_MAX_IR);
  if (!m->opset_import.n)
    return fe_error(im->diags, none, "it is damaged or cut off; get it again",
                    "the model does not say which opset it uses");
  for (size_t i = 0; i < m->opset_import.n; i++) {
    const onnx_OperatorSetIdProto *o =
        FE_PROTO_AT(OperatorSetIdProto, m->opset_import, i);
    bool standard = !o->domain || !*o->domain || !strcmp(o->domain, "ai.onnx");
    if (standard && o->version > FE_ONNX_MAX_OPSET)
      return fe_error(im->diags, none,
                      "convert the model with onnx.version_converter",
                      "opset %" PRId64 " is newer than %d, the newest known",
                      o->version, FE_ONNX_MAX_OPSET);
  }
  return FE_OK;
}

//===-- Inputs --------------------------------------------------------------//

typedef struct inputs {
  fe_import *im;
  fe_given_dims *given;
  size_t n;
  const char **names;
  MlirType *types;
} inputs;

static const char *kind_of(const onnx_TypeProto *t) {
  return !t                      ? "a value without type"
         : t->sparse_tensor_type ? "a sparse tensor"
         : t->opaque_type        ? "an opaque value"
                                 : "a value without type";
}

static bool known_dtype(int t) {
  return t > FE_UNDEFINED && t < FE_DTYPE_COUNT;
}

MlirType fe_import_type(fe_ir *ir, const onnx_TypeProto *p) {
  const MlirType none = {0};
  if (!p)
    return none;
  if (p->sequence_type)
    return fe_type_sequence(ir,
                            fe_import_type(ir, p->sequence_type->elem_type));
  if (p->optional_type)
    return fe_type_optional(ir,
                            fe_import_type(ir, p->optional_type->elem_type));
  if (p->map_type) {
    const onnx_TypeProto *v = p->map_type->value_type;
    int key = p->map_type->key_type,
        value = v && v->tensor_type ? v->tensor_type->elem_type : 0;
    return known_dtype(key) && known_dtype(value)
               ? fe_type_map(ir, (fe_dtype)key, (fe_dtype)value)
               : none;
  }
  const onnx_TensorType *t = p->tensor_type;
  if (!t || !known_dtype(t->elem_type) ||
      (t->shape && t->shape->dim.n > FE_MAX_RANK))
    return none;
  MlirType elem = fe_elem_type(ir, (fe_dtype)t->elem_type);
  if (!t->shape)
    return mlirUnrankedTensorTypeGet(elem);
  int64_t dims[FE_MAX_RANK];
  for (size_t i = 0; i < t->shape->dim.n; i++) {
    const onnx_Dimension *d = FE_PROTO_AT(Dimension, t->shape->dim, i);
    dims[i] = d->has_dim_value && d->dim_value >= 0 ? d->dim_value : FE_DYN;
  }
  return fe_tensor_plain(ir, elem, (unsigned)t->shape->dim.n, dims);
}

static fe_status read_type(inputs *in, const onnx_ValueInfoProto *v,
                           MlirType *out) {
  fe_ir *ir = in->im->ir;
  const char *name = v->name ? v->name : "";
  fe_where where = {.attr = name};
  const onnx_TensorType *t = v->type ? v->type->tensor_type : NULL;
  if (v->type && !t) {
    *out = fe_import_type(ir, v->type);
    if (!mlirTypeIsNull(*out))
      return FE_OK;
    if (v->type->sequence_type || v->type->optional_type || v->type->map_type)
      return fe_error(ir->diags, where, NULL,
                      "the type of the input '%s' says not completely what it "
                      "holds, or that this is neither tensor, sequence, "
                      "optional nor map",
                      name);
  }
  if (!t)
    return fe_error(ir->diags, where, NULL,
                    "the input '%s' is %s, which is not supported", name,
                    kind_of(v->type));
  if (!known_dtype(t->elem_type))
    return fe_error(ir->diags, where, NULL,
                    "the input '%s' has elements of type %d, which is not "
                    "supported",
                    name, t->elem_type);
  if (!t->shape)
    return fe_error(ir->diags, where,
                    "declare a shape, with names for unknown sizes",
                    "the input '%s' has no shape; its number of dimensions "
                    "must be known",
                    name);
  fe_dims d = {.rank = (unsigned)t->shape->dim.n};
  if (t->shape->dim.n > FE_MAX_RANK)
    return fe_error(ir->diags, where, NULL,
                    "the input '%s' has %zu dimensions; at most %d are "
                    "supported",
                    name, t->shape->dim.n, FE_MAX_RANK);
  int64_t sizes[FE_MAX_RANK], count;
  for (unsigned i = 0; i < d.rank; i++) {
    if (fe_given_dim(
            in->given, name, i, FE_PROTO_AT(Dimension, t->shape->dim, i),
            d.rank == 1 && (t->elem_type == FE_I32 || t->elem_type == FE_I64),
            &d.d[i]) != FE_OK)
      return FE_FAILED;
    sizes[i] = fe_dim_static(d.d[i]);
    sizes[i] = sizes[i] == FE_DYN ? 1 : sizes[i];
  }
  if (!fe_tensor_count(d.rank, sizes, 128, &count))
    return fe_error(ir->diags, where, NULL,
                    "the dimensions of the input '%s' are too large to be "
                    "real",
                    name);
  *out = fe_tensor_type(ir, fe_elem_type(ir, (fe_dtype)t->elem_type), &d);
  return FE_OK;
}

/// Graph inputs without those that have an initializer (their default, before
/// IR version 4 the only way to have constants), which are constants here.
static fe_status read_inputs(inputs *in) {
  fe_import *im = in->im;
  const onnx_GraphProto *g = im->model->graph;
  fe_map constants = {0};
  for (size_t i = 0; i < g->initializer.n; i++) {
    const onnx_TensorProto *t = FE_PROTO_AT(TensorProto, g->initializer, i);
    if (t->name)
      fe_map_set(im->arena, &constants, t->name, in);
  }
  in->names = FE_NEW_N(im->arena, const char *, g->input.n);
  in->types = FE_NEW_N(im->arena, MlirType, g->input.n);
  fe_status ok = FE_OK;
  for (size_t i = 0; i < g->input.n; i++) {
    const onnx_ValueInfoProto *v = FE_PROTO_AT(ValueInfoProto, g->input, i);
    const char *name = v->name ? v->name : "";
    if (fe_map_get(&constants, name))
      continue;
    if (read_type(in, v, &in->types[in->n]) != FE_OK)
      ok = FE_FAILED;
    in->names[in->n++] = name;
  }
  return ok;
}

//===-- The main function ---------------------------------------------------//

/// [{onnx.name = "x"}, ...], as arg_attrs or res_attrs of the function.
static void name_values(fe_ir *ir, MlirOperation func, const char *attr,
                        size_t n, const char *const *names) {
  MlirAttribute *all = FE_NEW_N(ir->arena, MlirAttribute, n);
  for (size_t i = 0; i < n; i++) {
    MlirNamedAttribute name = fe_at_str(ir, "onnx.name", names[i]);
    all[i] = mlirDictionaryAttrGet(ir->ctx, 1, &name);
  }
  fe_set_attr(ir, func,
              fe_named(ir, attr, mlirArrayAttrGet(ir->ctx, (intptr_t)n, all)));
}

/// What the file declares about an output must at least have the right kind.
static fe_status check_output(fe_import *im, const onnx_ValueInfoProto *v,
                              MlirValue *out) {
  fe_where where = {.attr = v->name};
  MlirValue value = *out;
  MlirType type = mlirValueGetType(value);
  const onnx_TypeProto *p = v->type;
  bool typed = p && (p->tensor_type || p->sequence_type || p->optional_type ||
                     p->map_type);
  // What is always there, or never may be absent, need not be of that type.
  if (typed && fe_type_is_optional(type) != !!p->optional_type) {
    *out = fe_type_is_optional(type)
               ? fe_onnx1(im->ir, "OptionalGetElement", value)
               : fe_onnx1(im->ir, "Optional", value);
    if (fe_is_null(*out))
      return FE_FAILED;
    value = *out;
    type = mlirValueGetType(value);
  }
  bool tensor = mlirTypeIsARankedTensor(type);
  if (!tensor && !fe_type_is_object(type))
    return fe_error(im->diags, where, NULL,
                    "the output '%s' is neither tensor, sequence, optional nor "
                    "map",
                    v->name);
  if (typed && (tensor != !!p->tensor_type ||
                fe_type_is_sequence(type) != !!p->sequence_type))
    return fe_error(im->diags, where, NULL,
                    "the output '%s' is declared as another kind of value than "
                    "the %s that it is",
                    v->name, fe_type_text(im->ir, type));
  if (!tensor)
    return FE_OK;
  const onnx_TensorType *t = v->type ? v->type->tensor_type : NULL;
  fe_dtype have = fe_dtype_of_elem(fe_elem_of(value));
  if (t && t->elem_type && t->elem_type != (int)have)
    return fe_error(im->diags, where, NULL,
                    "the output '%s' is declared with element type %s, but is "
                    "%s",
                    v->name,
                    t->elem_type > 0 && t->elem_type < FE_DTYPE_COUNT
                        ? fe_dtype_name((fe_dtype)t->elem_type)
                        : fe_printf(im->arena, "%d", t->elem_type),
                    fe_dtype_name(have));
  return FE_OK;
}

static fe_status make_main(fe_import *im, MlirModule module, const inputs *in) {
  fe_ir *ir = im->ir;
  const onnx_GraphProto *g = im->model->graph;
  fe_body b = fe_body_of_graph(im, g);
  b.n_in = in->n;
  b.in = in->names;
  fe_scope s = {.im = im, .opsets = &im->model->opset_import, .prefix = ""};
  fe_order order;
  if (!b.n_out)
    return fe_error(im->diags, (fe_where){0}, NULL, "the model has no output");
  if (fe_body_order(&s, &b, &order) != FE_OK ||
      fe_import_survey(&s, &b, &order) != FE_OK)
    return FE_FAILED;
  MlirOperation func =
      fe_func_begin(ir, module, "main", false, (unsigned)in->n, in->types);
  MlirBlock entry = fe_func_block(func);
  MlirValue *args = FE_NEW_N(im->arena, MlirValue, in->n);
  MlirValue *out = FE_NEW_N(im->arena, MlirValue, b.n_out);
  for (size_t i = 0; i < in->n; i++)
    args[i] = fe_block_arg(entry, (unsigned)i);
  im->args = args;
  im->n_args = in->n;
  if (fe_body_make_ordered(&s, &b, &order, args, out) != FE_OK)
    return FE_FAILED;
  for (size_t i = 0; i < b.n_out; i++)
    if (check_output(im, FE_PROTO_AT(ValueInfoProto, g->output, i), &out[i]) !=
        FE_OK)
      return FE_FAILED;
  ir->loc = mlirLocationUnknownGet(ir->ctx);
  fe_func_end(ir, func, (unsigned)b.n_out, out);
  name_values(ir, func, "arg_attrs", in->n, in->names);
  name_values(ir, func, "res_attrs", b.n_out, b.out);
  fe_symbols_store(ir, module);
  return fe_ir_ok(ir, "import", module);
}

/// One attempt: the module with the inputs' dims as `given` leaves them.
static fe_status make_module(fe_import *im, fe_given_dims *given,
                             MlirModule *out) {
  fe_ir *ir = im->ir;
  inputs in = {.im = im, .given = given};
  if (read_inputs(&in) != FE_OK || fe_given_dims_check(given) != FE_OK)
    return FE_FAILED;
  ir->loc = mlirLocationUnknownGet(ir->ctx);
  MlirModule module = mlirModuleCreateEmpty(ir->loc);
  fe_point before = fe_point_save(ir);
  fe_status ok = make_main(im, module, &in);
  fe_point_restore(ir, before);
  if (ok != FE_OK)
    mlirModuleDestroy(module);
  else
    *out = module;
  return ok;
}

/// An attempt whose messages are not shown when another one is worth making,
/// because dims were opened on which a rank depends. Gives false then.
static bool attempt(fe_import *im, fe_given_dims *given, MlirModule *out,
                    fe_status *ok) {
  fe_ir *ir = im->ir;
  fe_diags before = *ir->diags;
  fe_import fresh = *im;
  bool failed = ir->failed;
  const char *failure = ir->failure;
  if (given->may_close)
    ir->diags->fn = NULL;
  *ok = make_module(im, given, out);
  ir->diags->fn = before.fn;
  if (*ok == FE_OK || !given->may_close)
    return true;
  // Once more: to close dims, or else to show what is wrong.
  given->may_close = fe_given_dims_close(given);
  *ir->diags = before;
  *im = fresh;
  ir->failed = failed;
  ir->failure = failure;
  ir->symbols.n = 0;
  ir->contents_memo = (fe_map){0};
  return false;
}

fe_status fe_import_onnx(fe_ir *ir, fe_source *source,
                         const fe_import_options *options, MlirModule *out) {
  static const fe_import_options none;
  fe_import im = {.ir = ir,
                  .arena = ir->arena,
                  .diags = ir->diags,
                  .source = source,
                  .errors = ir->diags->errors};
  onnx_ModelProto *model;
  *out = (MlirModule){0};
  if (fe_proto_model(ir->diags, ir->arena, source->path, source->bytes.data,
                     source->bytes.size, &model) != FE_OK)
    return FE_FAILED;
  im.model = model;
  if (check_versions(&im) != FE_OK || fe_functions_index(&im) != FE_OK)
    return FE_FAILED;
  fe_given_dims given;
  fe_given_dims_init(&given, ir, options ? options : &none);
  fe_status ok;
  while (!attempt(&im, &given, out, &ok)) {
  }
  for (size_t i = 0; ok == FE_OK && i < given.closed.n; i++)
    fe_report(ir->diags, FE_SEV_NOTE, (fe_where){0}, NULL,
              "the size '%s' stays as it is in the model: the number of "
              "dimensions of a value depends on it",
              (const char *)given.closed.entries[i].key);
  return ok;
}
