//===- op.h - the operator table and what its rows are written in *- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One file in src/op/onnx/ per operator or family; each defines
//   const fe_op_row fe_family_<file name>[] = { {...}, ..., {0} };
// and the build collects the families into the table. The importer, the IRDL
// text, shape inference, folding, lowering, docs/operators.md and the
// messages about what is unsupported all read these rows.
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_H
#define FE_OP_H

#include "ir/ir.h"

typedef struct fe_op_row fe_op_row;
struct fe_target;

//===-- Import: one node on its way to the canonical form -------------------//

typedef enum fe_attr_kind {
  FE_A_INT,
  FE_A_FLOAT,
  FE_A_STRING,
  FE_A_INTS,
  FE_A_FLOATS,
  FE_A_STRINGS,
  FE_A_TENSOR, // becomes an operand-free constant; `value` in fe_node_attr
  FE_A_GRAPH,
  FE_A_TYPE // a TypeAttr; its default is the type none
} fe_attr_kind;

typedef struct fe_attr_def {
  const char *name;
  fe_attr_kind kind;
  /// Default as text: "1", "0.5", "NOTSET", "" (empty list or string), "0,1".
  /// NULL: the attribute is required. IRDL has no optional attributes, so an
  /// optional one without default gets a default that means absent (see row).
  /// Of an enumeration all values, the default first: "mean|sum|none", "0|1|2",
  /// "2|1.." (that and above); "|TF|IDF": one of these, required.
  const char *def;
} fe_attr_def;

typedef struct fe_node_attr {
  const char *name;
  fe_attr_kind kind;
  int64_t i;
  double f;
  const char *s; // NUL-terminated; size in n
  size_t n;      // elements of a list
  const int64_t *ints;
  const float *floats;
  const char *const *strings;
  MlirValue value; // FE_A_TENSOR: an onnx.constant
  MlirType type;   // FE_A_TYPE
} fe_node_attr;

#define FE_MAX_OPERANDS 32
/// IRDL gives all members of a variadic operand one type, so such an operand
/// is declared as this many optional ones (hence operandSegmentSizes).
#define FE_MAX_VARIADIC 32

/// A node as read from the file, before its op is made. An `upgrade` function
/// edits it from `opset`'s form to the row's canonical (newest) form.
typedef struct fe_node {
  fe_ir *ir;
  const fe_op_row *row;
  fe_where where;
  int opset;            // of the node's domain in this model
  fe_vec(MlirValue) in; // null value: absent
  unsigned n_out;
  fe_vec(fe_node_attr) attrs;
} fe_node;
fe_node_attr *fe_node_attr_find(fe_node *n, const char *name); // or NULL
void fe_node_attr_remove(fe_node *n, const char *name);
void fe_node_set_int(fe_node *n, const char *name, int64_t v);
void fe_node_set_ints(fe_node *n, const char *name, unsigned count,
                      const int64_t *v);
void fe_node_set_str(fe_node *n, const char *name, const char *v);
/// Puts a 1-D int64 constant (or scalar float) in as operand `index`.
void fe_node_input_ints(fe_node *n, unsigned index, unsigned count,
                        const int64_t *v);
void fe_node_input_scalar(fe_node *n, unsigned index, fe_dtype t, double v);
/// Moves attribute `name` (INT, INTS, FLOAT) to operand `index`, the usual
/// change between opsets; does nothing when the attribute is absent.
void fe_node_attr_to_input(fe_node *n, const char *name, unsigned index,
                           fe_dtype t);

/// Does the whole import of one node: upgrade, expansion of a function row, or
/// else its op. Gives n->n_out results; null where the operator has fewer.
FE_NODISCARD fe_status fe_node_make(fe_node *n, MlirValue *results);

//===-- Inference -----------------------------------------------------------//

/// State of one op whose result types are to be found. Operands are values of
/// the onnx phase; an absent optional one is null.
typedef struct fe_infer {
  fe_ir *ir;
  const fe_op_row *row;
  fe_where where;
  MlirOperation attrs; // detached op carrying the attributes: use fe_attr_*
  unsigned n_in;
  const MlirValue *in;
  unsigned n_out;
  MlirType *out; // to be set; outputs that are not asked for are ignored
} fe_infer;
/// Dims of operand i; reports and fails when it is not a tensor.
FE_NODISCARD fe_status fe_in_dims(fe_infer *f, unsigned i, fe_dims *out);
fe_dtype fe_in_dtype(const fe_infer *f, unsigned i); // UNDEFINED when absent
void fe_out_tensor(fe_infer *f, unsigned i, fe_dtype t, const fe_dims *d);
/// A dim only known at run time, from data: a fresh symbol.
MlirAffineExpr fe_fresh_dim(fe_infer *f);
/// Reports that the result's rank depends on dim `dim` of operand `i`, which is
/// not known.
fe_status fe_need_size(fe_infer *f, unsigned i, unsigned dim);
/// The same for something else that must be known: "the size of a state".
fe_status fe_need_known(fe_infer *f, unsigned i, unsigned dim,
                        const char *what);
/// The rank that a 1-D operand, a list of sizes, stands for.
FE_NODISCARD fe_status fe_rank_from(fe_infer *f, unsigned i, unsigned *out);
/// Numpy broadcasting of a and b into out (may be a). Two different symbols
/// give a fresh one; contradictory sizes are reported.
FE_NODISCARD fe_status fe_broadcast_dims(fe_infer *f, const fe_dims *a,
                                         const fe_dims *b, fe_dims *out);
/// Axis in [-rank, rank) to [0, rank); reports when out of range.
FE_NODISCARD fe_status fe_axis(fe_infer *f, int64_t axis, unsigned rank,
                               unsigned *out);
/// That indices with one number per element are, but for `axis`, nowhere larger
/// than the data.
FE_NODISCARD fe_status fe_need_fitting(fe_infer *f, const fe_dims *data,
                                       const fe_dims *indices, unsigned axis);
/// reports against this op: return fe_infer_error(f, "hint", "fmt", ...)
#define fe_infer_error(f, hint, ...)                                           \
  fe_error((f)->ir->diags, (f)->where, (hint), __VA_ARGS__)

/// Known contents of a small integer tensor (shapes, axes, sizes), each an
/// expression over symbols. False when not known at compile time.
#define FE_MAX_CONTENTS 256
typedef struct fe_contents {
  unsigned n;
  fe_dims dims; // shape of the tensor itself
  MlirAffineExpr at[FE_MAX_CONTENTS];
} fe_contents;
bool fe_contents_of(fe_ir *ir, MlirValue v, fe_contents *out);
/// The same, but single elements may be unknown: null expressions. The
/// `contents` functions of rows use and give these.
bool fe_contents_partial(fe_ir *ir, MlirValue v, fe_contents *out);
/// All contents are plain numbers: writes up to cap, gives the count; -1: not.
int fe_const_ints(fe_ir *ir, MlirValue v, int64_t *out, unsigned cap);
/// Scalar constant of any numeric type.
bool fe_const_scalar(fe_ir *ir, MlirValue v, double *out);
/// Characters, not terminated.
typedef struct fe_text {
  const char *data;
  size_t size;
} fe_text;
/// Bytes of an onnx.constant (row-major, storage layout); false: not constant.
/// Of strings: the sizes of all as int64, then their characters.
typedef struct fe_const {
  fe_dtype dtype;
  const void *data;
  size_t size; // bytes
  int64_t count;
} fe_const;
bool fe_const_of(fe_ir *ir, MlirValue v, fe_const *out);
/// Element i as a number; 0 for types without one (strings, complex).
double fe_const_f64(const fe_const *c, int64_t i);
int64_t fe_const_i64(const fe_const *c, int64_t i);
/// New onnx.constant: inline when small, else a blob. The data is taken over
/// when it lies in ir->arena, so allocate it there. Strings: data is an array
/// of fe_text.
MlirValue fe_constant(fe_ir *ir, const char *name, fe_dtype t, unsigned rank,
                      const int64_t *dims, const void *data);
/// One whose bytes are made where they are needed; see fe_blob_promise.
MlirValue fe_constant_promise(fe_ir *ir, const char *name, fe_dtype t,
                              unsigned rank, const int64_t *dims, size_t parts,
                              fe_blob_fill fill, const void *recipe);
MlirValue fe_constant_i64s(fe_ir *ir, unsigned n, const int64_t *v);
MlirValue fe_constant_strings(fe_ir *ir, const char *name, unsigned rank,
                              const int64_t *dims, const fe_text *text);
MlirValue fe_constant_scalar(fe_ir *ir, fe_dtype t, double v);

/// Makes an onnx op: fills in default attributes, checks the signature, infers
/// the result types. The one way to make onnx ops, for importer and rewrites.
/// `name` in the standard's spelling or the IR's. Absent optional operands:
/// null values or left off at the end. The op gets all results of the row, the
/// optional ones too; n_out is how many the caller wants, for the check.
/// Null op when anything was reported.
MlirOperation fe_onnx(fe_ir *ir, const char *name, unsigned n_in,
                      const MlirValue *in, unsigned n_out, unsigned n_attrs,
                      const MlirNamedAttribute *attrs);
/// One result, no attributes beyond the defaults.
#define fe_onnx1(ir, name, ...)                                                \
  fe_first(fe_onnx((ir), (name),                                               \
                   sizeof((MlirValue[]){__VA_ARGS__}) / sizeof(MlirValue),     \
                   (MlirValue[]){__VA_ARGS__}, 1, 0, NULL))

//===-- Lowering: onnx -> linalg, krnl, kernels -----------------------------//

/// State of one op being lowered. `in` are tensors of plain types (no symbol
/// encoding) with storage element types (signless, bool as i8); null: absent.
/// The callback sets out[k].
typedef struct fe_lower {
  fe_ir *ir;
  MlirModule module; // where kernels go
  MlirOperation op;  // the onnx op: attributes, and types with symbols
  const fe_op_row *row;
  fe_where where;
  const struct fe_target *target;
  unsigned n_in;
  MlirValue *in;
  fe_dtype *in_type;
  unsigned n_out;
  MlirValue *out;
  fe_dtype *out_type;
  void *state; // of the lowering pass
} fe_lower;
#define fe_lower_error(l, hint, ...)                                           \
  fe_error((l)->ir->diags, (l)->where, (hint), __VA_ARGS__)

/// Size of dim i of a lowered tensor, as an index value in main (constant when
/// static; shared with the function's inputs when it follows from them).
MlirValue fe_size(fe_lower *l, MlirValue tensor, unsigned i);
/// Sizes of result k: what inference found, evaluated. Null members where only
/// run time knows; the callback computes those itself.
void fe_out_sizes(fe_lower *l, unsigned k, MlirValue *sizes);
unsigned fe_out_rank(const fe_lower *l, unsigned k);
MlirType fe_out_elem(const fe_lower *l, unsigned k); // storage type
/// tensor.empty of result k's type; sizes: rank index values.
MlirValue fe_out_empty(fe_lower *l, unsigned k, const MlirValue *sizes);
/// Element [i] (or scalar when rank 0) of a small integer tensor as index, in
/// main: for run-time bounds, sizes, axes.
MlirValue fe_read_index(fe_lower *l, MlirValue tensor, int64_t i);
/// Scalar element of any tensor in main (compute type).
MlirValue fe_read_scalar(fe_lower *l, unsigned operand);
/// Makes the model return an error at run time unless `cond` (i1, in main).
void fe_check(fe_lower *l, MlirValue cond, const char *message);
/// Same data, other shape (contiguous). sizes: index values of the new dims.
MlirValue fe_reshape(fe_lower *l, MlirValue tensor, MlirType elem,
                     unsigned rank, const MlirValue *sizes);

/// --- Fusable computation: a linalg.generic over an iteration space.
/// `dims` of the space: index values, one per iterator. Inputs come with maps
/// from the space to their subscripts (NULL map: use fe_at in the body).
/// Between begin and end the insertion point is in the body, and values are
/// scalars of compute type: bool as i1, f16/bf16/float8 as f32, others as
/// stored; fe_arg, fe_at and end convert.
typedef struct fe_generic fe_generic;
fe_generic *fe_generic_begin(fe_lower *l, unsigned n_iters,
                             const MlirValue *dims, unsigned n_in,
                             const MlirValue *in, const fe_dtype *types,
                             const MlirAffineMap *maps);
MlirValue fe_arg(fe_generic *g, unsigned i);  // current element of input i
MlirValue fe_iter(fe_generic *g, unsigned i); // current index of iterator i
/// Element of any tensor in scope at computed subscripts.
MlirValue fe_at(fe_generic *g, MlirValue tensor, fe_dtype t, unsigned n,
                const MlirValue *idx);
/// All iterators parallel; result has the space's dims, element type `t`.
MlirValue fe_generic_end(fe_generic *g, fe_dtype t, MlirValue value);
/// Reduction: iterators whose bit in `reduced` is set are summed over. The
/// accumulator starts at `init` (compute type); call fe_acc before end.
/// Result dims: the remaining iterators, in order, or with size 1 kept when
/// `keep`. `name` of kind is free: the body combines fe_acc(g) itself.
void fe_generic_reduce(fe_generic *g, uint32_t reduced, bool keep, fe_dtype t,
                       MlirValue init);
MlirValue fe_acc(fe_generic *g);
/// Type in which elements of t are computed (bool i1, f16 f32, ...).
MlirType fe_compute_type(fe_ir *ir, fe_dtype t);
MlirValue fe_to_compute(fe_ir *ir, fe_dtype t, MlirValue stored);
MlirValue fe_to_storage(fe_ir *ir, fe_dtype t, MlirValue computed);

/// --- Imperative kernels: a function over memrefs written out with loops,
/// for whatever is not a generic. Between begin and end the insertion point is
/// in the kernel. `in` tensors, `out` destinations (from fe_out_empty), both
/// contiguous; scalars are index values of main.
typedef struct fe_kernel {
  fe_lower *l;
  MlirOperation func;
  MlirValue *in, *out, *scalar; // memrefs, memrefs, index
  MlirValue begin, end;         // this call's part of the parallel extent
  unsigned n_in, n_out, n_scalar;
  fe_point outer;
  MlirValue *result; // after end: tensors in main
  const MlirValue *call_in, *call_out, *call_scalar;
} fe_kernel;
void fe_kernel_begin(fe_kernel *k, fe_lower *l, const char *name, unsigned n_in,
                     const MlirValue *in, unsigned n_out, const MlirValue *out,
                     unsigned n_scalar, const MlirValue *scalar);
/// Dim d of argument a (inputs first, then outputs) as expression for end;
/// fe_kernel_scalar: a scalar argument.
MlirAffineExpr fe_kernel_dim(const fe_kernel *k, unsigned a, unsigned d);
MlirAffineExpr fe_kernel_scalar(const fe_kernel *k, unsigned i);
/// `items`: the parallel extent, iterations of a loop from k->begin to k->end
/// that may run in any order at once; null expression: one, not parallel.
/// `cost`: scalar operations per item, for the decision to use threads.
void fe_kernel_end(fe_kernel *k, MlirAffineExpr items, MlirAffineExpr cost);
/// Element access with conversion between storage and compute type.
MlirValue fe_get(fe_kernel *k, MlirValue memref, fe_dtype t, unsigned n,
                 const MlirValue *idx);
void fe_put(fe_kernel *k, MlirValue v, MlirValue memref, fe_dtype t, unsigned n,
            const MlirValue *idx);

/// --- Functions of the runtime, for what kernels cannot do: strings,
/// sequences, maps. main calls fe_rt_<name> of runtime/<part>.c, `name` being
/// "<part>_...", once, on its own thread (fe_part_fn in runtime/run.h).
typedef struct fe_runtime {
  const char *name;
  unsigned n_in, n_out;
  const MlirValue *in;  // lowered tensors
  const MlirValue *out; // destinations (fe_out_empty); as in a kernel
  /// ferrule_dtype of each input, then destination; NULL: by the storage type,
  /// which does not tell bool and unsigned.
  const int *types;
  unsigned n_numbers;
  const MlirValue *numbers; // index
  unsigned n_results;       // index, written behind the numbers
  unsigned n_messages;      // what it means that 1, 2, ... comes back
  const char *const *messages;
} fe_runtime;
/// `result`: n_out tensors; `numbers`: n_results index values; or NULL.
void fe_runtime_call(fe_lower *l, const fe_runtime *call, MlirValue *result,
                     MlirValue *numbers);
/// The same with `types` of the op's first operands, then of its results:
/// where inputs and destinations are these.
void fe_runtime_op(fe_lower *l, fe_runtime call, MlirValue *result,
                   MlirValue *numbers);
/// fe_runtime_op with one destination, which becomes the op's result 0: `name`
/// takes the first n_in operands and `numbers`, and says `messages`.
void fe_runtime_result(fe_lower *l, const char *name, unsigned n_in,
                       MlirValue dest, unsigned n_numbers,
                       const MlirValue *numbers, unsigned n_messages,
                       const char *const *messages);
/// Sizes that the run gave for result 0 become those that its type says, which
/// is checked.
void fe_sizes_as_typed(fe_lower *l, MlirValue *sizes, const char *message);

/// --- Roots of kernels with generators of their own (src/kernel).
/// Matrix product of the last two dims, a: [.., M, K], or [.., K, M] when
/// `trans_a`; b: [.., K, N], or [.., N, K]; ranks of at least two, batch dims
/// broadcast. Result of type t and sizes [rank]: batch dims, M, N. Constant b
/// is packed at compile time. All numeric types.
MlirValue fe_lower_contract(fe_lower *l, MlirValue a, bool trans_a, MlirValue b,
                            bool trans_b, fe_dtype t, unsigned rank,
                            const MlirValue *sizes);
/// The same for what the model calls a matrix product, whose f32 operands the
/// compilation may round to bf16 (--precision).
MlirValue fe_lower_product(fe_lower *l, MlirValue a, bool trans_a, MlirValue b,
                           bool trans_b, fe_dtype t, unsigned rank,
                           const MlirValue *sizes);
/// Dim i of the result is dim permutation[i] of `in`; sizes: of the result.
MlirValue fe_lower_transpose(fe_lower *l, MlirValue in, unsigned rank,
                             const unsigned *permutation,
                             const MlirValue *sizes);
/// kind: "softmax", "log_softmax", "layer_norm", "rms_norm"; see krnl.row for
/// the parameters. f32.
MlirValue fe_lower_row(fe_lower *l, const char *kind, MlirValue x,
                       unsigned axis, unsigned n_parameters,
                       const MlirValue *parameters, double epsilon);

//===-- The row -------------------------------------------------------------//

enum {
  FE_POINTWISE = 1, // result = f(operands broadcast); `scalar` does it all
  FE_IMPURE = 2,    // not to be merged or dropped (random numbers)
  FE_INTERNAL = 8,  // not an operator of models: what expansions are made of
  FE_FUNCTION = 4   // `expand` rewrites it into other ops at import; where it
                    // leaves results[0] null, the op itself is made
};

struct fe_op_row {
  const char *name;   // the standard's spelling
  const char *domain; // "" is ai.onnx
  int since;          // first opset that has the operator
  int until;          // last one, 0: still there
  /// Signature: "X:T, W:T, B?:T2" ; '?' optional, '*' variadic (one, last, at
  /// most FE_MAX_VARIADIC operands, of one element type).
  const char *inputs;
  const char *outputs; // e.g. "Y:T"
  /// Admitted element types per variable: "T=f32,f64;T2=i64", by short names
  /// (fe_dtype_short) or sets: all, numeric, real (numeric without complex),
  /// float (f16, bf16, f32, f64), int, uint, sint, float8, small (those, 4 and
  /// 2 bits), any (also types that are not tensors). Checked by fe_onnx;
  /// operands of one variable must have the same type. NULL: anything.
  const char *types;
  /// Sizes of inputs that must agree, which nothing else says: "A:b m $K, B:b
  /// $K _" (of one name; those of an attribute that is there; a number; any; of
  /// a name or 1: "n?", which is not the first of its name). For inputs with so
  /// many dims; several lists of one input are alternatives.
  const char *sizes;
  const fe_attr_def *attrs; // terminated by a NULL name; may be NULL
  unsigned flags;
  fe_status (*upgrade)(fe_node *n);
  fe_status (*infer)(fe_infer *f); // NULL for pointwise: broadcast, type of T
  /// Symbolic contents of result 0 from those of the operands. On entry
  /// out->dims and out->n hold its shape, which is static.
  bool (*contents)(fe_ir *ir, MlirOperation op, fe_contents *out);
  /// Result values from simpler onnx ops, at import, when FE_FUNCTION.
  fe_status (*expand)(fe_node *n, MlirValue *results);
  fe_status (*lower)(fe_lower *l);
  /// Pointwise: scalar result of `out` type from compute-type scalars.
  MlirValue (*scalar)(fe_ir *ir, MlirOperation op, fe_dtype in, fe_dtype out,
                      unsigned n, const MlirValue *x);
  /// Result element type when it is not the first operand's; 0: the same.
  fe_dtype result;
  const char *limits; // for docs/operators.md; NULL: none
};

extern const fe_op_row *const fe_op_families[]; // NULL-terminated
/// Row that serves `name` of `domain` ("" or "ai.onnx") at `opset`; NULL.
const fe_op_row *fe_op_find(const char *domain, const char *name, int opset);
/// Row of an op in the IR (onnx.leaky_relu); NULL for other ops.
const fe_op_row *fe_op_row_of(MlirOperation op);
/// "LeakyRelu" -> "leaky_relu"; ai.onnx.ml gets the prefix "ml_",
/// com.microsoft "ms_", ai.onnx.preview.training "training_".
const char *fe_op_ir_name(fe_arena *arena, const fe_op_row *row);
/// IRDL text of the `onnx` dialect, printed from the table.
char *fe_onnx_irdl(fe_arena *arena);
/// IRDL text of the `krnl` dialect (hand-written, src/op/krnl.irdl.mlir).
extern const char fe_krnl_irdl[];

#endif
