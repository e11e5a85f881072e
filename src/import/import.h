//===- import.h - state of an import, shared by its files ---------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph and a function's body are both a list of nodes between named inputs
// and outputs (fe_body). Importing one needs a scope: what names mean there.
//
//===----------------------------------------------------------------------===//
#ifndef FE_IMPORT_IMPORT_H
#define FE_IMPORT_IMPORT_H

#include "import/onnx.h"
#include "op/op.h"

/// Nodes made in one import, those of inlined functions and repeated bodies
/// included: what a hostile model can make of nested calls.
#define FE_IMPORT_MAX_NODES 250000
/// Calls within calls; graphs within graphs are bounded by the decoder.
#define FE_IMPORT_MAX_CALLS 64

typedef struct fe_import {
  fe_ir *ir;
  fe_arena *arena;
  fe_diags *diags;
  fe_source *source;
  const onnx_ModelProto *model;
  fe_map functions;      // by name; see function.c
  fe_map loops;          // by fe_model_loop.key; see loop.c
  fe_map named;          // what attributes name: see fe_note_named
  const MlirValue *args; // main's
  size_t n_args;
  size_t nodes;    // made so far
  unsigned calls;  // functions being inlined
  unsigned errors; // of the sink when the import began
} fe_import;

/// What a name stands for. A null value after its node was made: something was
/// reported about it, so its users keep quiet.
typedef struct fe_slot {
  MlirValue value;
  const onnx_TensorProto *tensor; // an initializer, made a value when used
  const onnx_SparseTensorProto *sparse;
  bool used;
  bool absent; // an optional input of a function that its call leaves out
} fe_slot;

/// An attribute as a node has it, references to a function's attributes
/// resolved; a graph in it belongs to `scope`.
typedef struct fe_scope fe_scope;
typedef struct fe_call_site fe_call_site;
typedef struct fe_bound_attr {
  const char *name;
  const onnx_AttributeProto *attr;
  fe_scope *scope;
} fe_bound_attr;

struct fe_scope {
  fe_import *im;
  fe_scope *outer;       // of the enclosing graph; NULL for a function's body
  const fe_list *opsets; // OperatorSetIdProto
  fe_vec(fe_bound_attr) attrs; // of the call, in a function's body
  const char *prefix;          // of node names: "call/"
  fe_map values;               // fe_slot
  // The body being made, and where in it: see fe_rest_make.
  const struct fe_body *body;
  const struct fe_order *order;
  size_t at;
  MlirValue *rest; // results of the body when a node took all that follows it
  fe_call_site *inlined_in; // the node in whose place the body is made, without
                            // a region of its own; NULL: none
};

typedef struct fe_body {
  const char *what; // "graph" or "function", for messages
  const char *name;
  fe_list nodes;                // NodeProto
  size_t n_in, n_out;           //
  const char **in, **out;       // names
  const onnx_GraphProto *graph; // its initializers; NULL for functions
} fe_body;
fe_body fe_body_of_graph(fe_import *im, const onnx_GraphProto *g);
fe_body fe_body_of_function(const onnx_FunctionProto *f);

/// Nodes of a body that its outputs need, each after those it depends on; in
/// the file's order as far as that is one.
typedef struct fe_order {
  uint32_t *at;
  size_t n;
} fe_order;
/// Declares the body's inputs and initializers in `s` (values still null),
/// marks those that are used, and orders the nodes. Reports what is undefined,
/// defined twice or cyclic.
FE_NODISCARD fe_status fe_body_order(fe_scope *s, const fe_body *b,
                                     fe_order *out);
/// Makes the nodes of a body. `s` is a fresh scope.
FE_NODISCARD fe_status fe_body_make(fe_scope *s, const fe_body *b,
                                    const MlirValue *in, MlirValue *out);
/// The same where the order is known.
FE_NODISCARD fe_status fe_body_make_ordered(fe_scope *s, const fe_body *b,
                                            const fe_order *order,
                                            const MlirValue *in,
                                            MlirValue *out);

/// Makes what follows the node being made in its body, at the insertion point,
/// with the node's outputs bound to `values`; gives the body's results.
FE_NODISCARD fe_status fe_rest_make(const fe_call_site *c,
                                    const MlirValue *values, MlirValue *out);

fe_slot *fe_scope_find(const fe_scope *s, const char *name); // outer ones too
fe_slot *fe_scope_add(fe_scope *s, const char *name);
/// Version of a domain in this scope; 0: not imported.
int fe_scope_opset(const fe_scope *s, const char *domain);
const char *fe_domain(const onnx_NodeProto *n); // "" for ai.onnx

/// The type of what a sequence or optional holds, or of an object; null: not
/// one of those that are supported. Names of dims mean nothing there.
MlirType fe_import_type(fe_ir *ir, const onnx_TypeProto *p);

/// Constant with the contents of a tensor, blobs staying in their file.
MlirValue fe_import_tensor(fe_import *im, const fe_tensor *t);

//===-- Dims of the inputs --------------------------------------------------//

/// What the user says about them, and what became of it.
typedef struct fe_given_dims {
  fe_ir *ir;
  const fe_import_options *options;
  bool *found;    // which of options->open, then ->dims, fit a dim
  bool may_close; // some were opened by a name with '*'
  fe_map opened;  // those, by the symbol's name: lists
  fe_map closed;  // those that are to stay as the model has them, by name
} fe_given_dims;
void fe_given_dims_init(fe_given_dims *g, fe_ir *ir,
                        const fe_import_options *options);
/// Dim i of an input as it is to be. `list`: it is the length of a list of
/// integers.
FE_NODISCARD fe_status fe_given_dim(fe_given_dims *g, const char *input,
                                    size_t i, const onnx_Dimension *d,
                                    bool list, MlirAffineExpr *out);
/// After all inputs: reports names that fit none.
FE_NODISCARD fe_status fe_given_dims_check(const fe_given_dims *g);
/// Leaves out of '*' what ir->decisive names, or else the lists of integers: a
/// rank may depend on what is computed of them. False: there is nothing in it
/// that was not left out already.
bool fe_given_dims_close(fe_given_dims *g);

//===-- Nodes ---------------------------------------------------------------//

/// One node being made: its resolved inputs and attributes.
struct fe_call_site {
  fe_scope *scope;
  const onnx_NodeProto *node;
  fe_where where;
  size_t n_in;
  MlirValue *in; // null: absent
  size_t n_out;
  MlirValue *out; // to be set
  size_t n_attrs;
  fe_bound_attr *attrs;
};
const fe_bound_attr *fe_site_attr(const fe_call_site *c, const char *name);
int64_t fe_site_int(const fe_call_site *c, const char *name, int64_t absent);
/// An INTS attribute; `absent` (NULL: zeros) when it is not there. Reports
/// when there are not `n` numbers.
FE_NODISCARD fe_status fe_site_ints(const fe_call_site *c, const char *name,
                                    size_t n, const int64_t **out);
/// The graph of an attribute, which must be there with `n_in` inputs and at
/// least `n_out` outputs, and a fresh scope for its body; reports otherwise.
FE_NODISCARD fe_status fe_site_graph(const fe_call_site *c, const char *name,
                                     size_t n_in, size_t n_out, fe_body *out,
                                     fe_scope **scope);
/// Another fresh scope like `s`, for making the same body again.
fe_scope *fe_scope_again(const fe_scope *s);
fe_status fe_too_many_nodes(const fe_call_site *c); // reports
/// `v`, where it holds tensors of any rank, as holding ones of the rank that
/// the graph declares for `name`, less `less`.
MlirValue fe_with_rank(fe_call_site *c, MlirValue v, const onnx_GraphProto *g,
                       const char *name, int less);
FE_NODISCARD fe_status fe_node_import(fe_scope *s, const onnx_NodeProto *n);
/// The value of a name in messages: "node 'x'" where it has a name, else what
/// it makes.
const char *fe_node_label(const onnx_NodeProto *n);

/// Operators that are not rows of the table.
typedef fe_status (*fe_site_fn)(fe_call_site *c);
fe_site_fn fe_site_builtin(const char *domain, const char *op_type);
fe_status fe_import_constant(fe_call_site *c);
fe_status fe_import_if(fe_call_site *c);
fe_status fe_import_loop(fe_call_site *c);
fe_status fe_import_scan(fe_call_site *c);
fe_status fe_import_sequence_map(fe_call_site *c);
fe_status fe_import_flex_attention(fe_call_site *c);
fe_status fe_import_gradient(fe_call_site *c);
/// Whether the node names values of its graph in the attributes xs, zs and y.
bool fe_names_values(const onnx_NodeProto *n);
/// Notes these names in im->named; what has one is apart from all other values,
/// even where its node gives what it gets.
void fe_note_named(fe_import *im, const onnx_NodeProto *n);
MlirValue fe_named_apart(const fe_import *im, const char *name, MlirValue v);

//===-- Loops ---------------------------------------------------------------//

/// What Loop and Scan have in common. Values are tensors: the iteration number
/// and the condition are scalar tensors of int64 and bool.
typedef struct fe_model_loop fe_model_loop;
struct fe_model_loop {
  fe_call_site *site;
  MlirValue trip;       // tensor with the number of iterations; null: none
  MlirAffineExpr trips; // the same as a dim, where it is known; or null
  MlirValue cond;       // of the first iteration; null: true
  size_t n_carried;
  const MlirValue *init;
  size_t n_scan;
  const int64_t *scan_axis; // where results are stacked; NULL: 0
  const bool *prepend;      // stacked in reverse order; NULL: false
  const void *user;
  const void *key; // says that it is the same loop again; NULL: never is
  /// Makes one iteration. *go_on stays null where there is no condition.
  fe_status (*body)(fe_model_loop *l, MlirValue iter, MlirValue cond,
                    const MlirValue *carried, MlirValue *go_on,
                    MlirValue *carried_out, MlirValue *scan_out);
};
/// Results: the carried values after the last iteration, then the stacked ones.
FE_NODISCARD fe_status fe_model_loop_make(fe_model_loop *l, MlirValue *out);

typedef fe_vec(MlirAffineExpr) fe_dim_list;
/// Joins the types of two values that meet: dims that differ become fresh
/// symbols. Reports different ranks or element types; `what` names the value.
/// `open` (or NULL): dims of `a` that stand for any size already; the fresh
/// ones are added.
FE_NODISCARD fe_status fe_join_types(fe_call_site *c, const char *what,
                                     MlirValue a, MlirValue b,
                                     fe_dim_list *open, MlirType *out);
/// Reports unless v is a tensor of `t` that may have one element.
FE_NODISCARD fe_status fe_check_scalar(const fe_call_site *c, const char *what,
                                       MlirValue v, fe_dtype t);
/// The same element as a tensor of rank 0.
MlirValue fe_scalar_tensor(fe_ir *ir, MlirValue v);

//===-- Functions -----------------------------------------------------------//

FE_NODISCARD fe_status fe_functions_index(fe_import *im);
const onnx_FunctionProto *fe_function_find(const fe_import *im,
                                           const onnx_NodeProto *n);
FE_NODISCARD fe_status fe_function_inline(fe_call_site *c,
                                          const onnx_FunctionProto *f);

/// Reports every operator without a row among the ordered nodes of the main
/// graph and all that they contain or call.
FE_NODISCARD fe_status fe_import_survey(fe_scope *s, const fe_body *b,
                                        const fe_order *order);

#endif
