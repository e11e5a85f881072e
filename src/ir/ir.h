//===- ir.h - the checked layer over the MLIR C API --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The MLIR C API crashes on malformed calls, so all op construction goes
// through here: a null operand, type or attribute sets `failed` and yields a
// null value, which every further call accepts; callers check once at the end
// of a phase (fe_ir_ok).
//
// Conventions: functions append at the builder's insertion point and use its
// location. `*_begin` / `*_end` pairs move the insertion point into a region
// and back.
//
//===----------------------------------------------------------------------===//
#ifndef FE_IR_H
#define FE_IR_H

#include "base/base.h"

#include <mlir-c/AffineExpr.h>
#include <mlir-c/AffineMap.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <mlir-c/IR.h>
#include <mlir-c/Support.h>

/// Ranks above this are refused by the importer.
#define FE_MAX_RANK 16

//===-- Element types -------------------------------------------------------//

/// Numbers of the ONNX standard (TensorProto.DataType).
typedef enum fe_dtype {
  FE_UNDEFINED = 0,
  FE_F32 = 1,
  FE_U8 = 2,
  FE_I8 = 3,
  FE_U16 = 4,
  FE_I16 = 5,
  FE_I32 = 6,
  FE_I64 = 7,
  FE_STRING = 8,
  FE_BOOL = 9,
  FE_F16 = 10,
  FE_F64 = 11,
  FE_U32 = 12,
  FE_U64 = 13,
  FE_C64 = 14,
  FE_C128 = 15,
  FE_BF16 = 16,
  FE_F8E4M3FN = 17,
  FE_F8E4M3FNUZ = 18,
  FE_F8E5M2 = 19,
  FE_F8E5M2FNUZ = 20,
  FE_U4 = 21,
  FE_I4 = 22,
  FE_F4E2M1 = 23,
  FE_F8E8M0 = 24,
  FE_U2 = 25,
  FE_I2 = 26,
  FE_F6E2M3 = 27,
  FE_F6E3M2 = 28,
  FE_DTYPE_COUNT
} fe_dtype;
const char *fe_dtype_name(fe_dtype t);  // "float", "int64", ... (standard)
const char *fe_dtype_short(fe_dtype t); // "f32", "i64", ...
unsigned fe_dtype_bits(fe_dtype t); // of an element: bool 8, i4 4, string 128
/// Bytes of an element in memory: types below 8 bits have one each, integers
/// extended to it by their sign, floats by zeros.
unsigned fe_dtype_bytes(fe_dtype t);
/// Number that a code of a float type of at most 8 bits stands for.
double fe_small_value(fe_dtype t, uint8_t code);
/// Code of the number nearest to v, the even one of two; too large: the
/// largest.
uint8_t fe_small_code(fe_dtype t, double v);
bool fe_dtype_is_float(fe_dtype t);
bool fe_dtype_is_signed(fe_dtype t);   // signed integers
bool fe_dtype_is_unsigned(fe_dtype t); // unsigned integers, not bool
static inline bool fe_dtype_is_int(fe_dtype t) {
  return fe_dtype_is_signed(t) || fe_dtype_is_unsigned(t);
}

//===-- Blobs: constant data too large for IR text --------------------------//

/// Writes one of the equal parts of a promised blob; `at` has the size of a
/// part and is zeroed.
typedef void (*fe_blob_fill)(const void *recipe, size_t part, void *at);
/// Bytes of one constant, little endian, dense row-major. They stay in the
/// mapped model file, or in the blobs' arena when computed by the compiler. A
/// promised blob is made where it is needed: rearranged weights go to the
/// artifact one after the other and are never in memory together.
typedef struct fe_blob {
  const char *name; // unique; `onnx.constant {blob = "name"}` refers to it
  const void *data; // NULL: promised; see fe_blob_data, fe_blob_put
  size_t size;
  const char *file; // the file it lies in, NULL when computed
  uint64_t offset;
  fe_blob_fill fill; // of a promised one
  const void *recipe;
  size_t parts;
} fe_blob;
typedef struct fe_blobs {
  fe_arena *arena;
  fe_map by_name;
  unsigned next; // for fresh names
} fe_blobs;
fe_blob *fe_blob_find(const fe_blobs *b, const char *name);
/// `name` is made unique when taken. The data must outlive the session.
fe_blob *fe_blob_add(fe_blobs *b, const char *name, const void *data,
                     size_t size, const char *file, uint64_t offset);
/// A blob that `fill` makes of `recipe`, which must outlive the session too.
fe_blob *fe_blob_promise(fe_blobs *b, const char *name, size_t size,
                         size_t parts, fe_blob_fill fill, const void *recipe);
/// The bytes; those of a promised blob are made and kept.
const void *fe_blob_data(const fe_blobs *b, fe_blob *blob);
/// The first n bytes, n at most the size; only the parts that have them are
/// made. `at` is zeroed.
void fe_blob_begin(const fe_blobs *b, const fe_blob *blob, size_t n, void *at);
/// Whether the bytes are the same, one part at a time in memory.
bool fe_blob_same(const fe_blobs *b, const fe_blob *x, const fe_blob *y);
/// Puts the bytes into zeroed memory.
void fe_blob_put(const fe_blob *blob, void *at);

//===-- The builder ---------------------------------------------------------//

typedef struct fe_ir {
  MlirContext ctx;
  fe_arena *arena;
  fe_diags *diags;
  fe_blobs *blobs;
  MlirLocation loc;
  MlirBlock block;                   // insertion block
  MlirOperation before;              // insert before this op; null: append
  bool failed;                       // a malformed construction was attempted
  const char *failure;               // what was wrong with the first one
  MlirAttribute contract;            // #arith.fastmath<contract>
  MlirAttribute parallel, reduction; // iterator types of linalg
  bool soft_half; // no instructions between f16 and f32; set by caller
  MlirType index, i1, i8, i16, i32, i64, f16, bf16, f32, f64, none, ptr;
  fe_vec(const char *) symbols;  // names of symbolic dims; see fe_symbol
  fe_vec(const char *) decisive; // symbols on which ranks were found to depend
  const char *expanding;         // operator that is made of others just now
  unsigned errors_before;        // when that began
  int64_t draws;           // random ops that have numbers (gradient_region.c)
  unsigned contents_depth; // state of fe_contents_of
  fe_map contents_memo;
} fe_ir;

/// A context with all upstream dialects plus `onnx` and `krnl` (the caller
/// passes their IRDL text), MLIR's own diagnostics redirected to `diags`.
MlirContext fe_context_create(fe_diags *diags, const char *const *irdl,
                              unsigned n_irdl);
void fe_ir_init(fe_ir *ir, MlirContext ctx, fe_arena *arena, fe_diags *diags,
                fe_blobs *blobs);
/// Reports an internal error naming `phase` when a construction failed or the
/// module does not verify.
FE_NODISCARD fe_status fe_ir_ok(fe_ir *ir, const char *phase,
                                MlirModule module);
/// Runs a textual pass pipeline ("builtin.module(...)") on `op`.
FE_NODISCARD fe_status fe_run_passes(fe_ir *ir, MlirOperation op,
                                     const char *pipeline);
/// Marks a malformed construction; only the first `fmt` is kept.
void fe_ir_fail(fe_ir *ir, const char *fmt, ...) FE_PRINTF(2, 3);
/// Text of an op without locations. Deterministic. In `arena`.
char *fe_print(fe_arena *arena, MlirOperation op);
/// The same with locations, so that fe_parse gets the nodes' names back.
char *fe_print_full(fe_arena *arena, MlirOperation op);
/// Parses a module; diagnostics go to the sink; null on failure.
MlirModule fe_parse(fe_ir *ir, const char *text, const char *file);

typedef struct fe_point { // a saved insertion point
  MlirBlock block;
  MlirOperation before;
} fe_point;
fe_point fe_point_save(const fe_ir *ir);
void fe_point_restore(fe_ir *ir, fe_point p);
void fe_point_at_end(fe_ir *ir, MlirBlock block);
void fe_point_at_start(fe_ir *ir, MlirBlock block);
void fe_point_before(fe_ir *ir, MlirOperation op);
void fe_point_after(fe_ir *ir, MlirOperation op);

/// Location of a model node; `fe_loc_node` reads the name back (NULL: none).
MlirLocation fe_loc_name(fe_ir *ir, const char *node);
const char *fe_loc_node(fe_ir *ir, MlirLocation loc);

//===-- Generic construction ------------------------------------------------//

typedef struct fe_op_args {
  unsigned n_operands;
  const MlirValue *operands;
  unsigned n_results;
  const MlirType *results;
  unsigned n_attrs;
  const MlirNamedAttribute *attrs;
  unsigned n_regions; // created empty; each gets one block when `blocks` > 0
  const MlirRegion *regions; // or given (owned by the op afterwards)
  unsigned blocks;
} fe_op_args;
/// Without an insertion block the op stays detached; the caller destroys it.
MlirOperation fe_op(fe_ir *ir, const char *name, const fe_op_args *args);
/// The same op (name, attributes, result types) over other operands, as many as
/// `op` has. `region`: its region, when it has one (owned); else NULL.
MlirOperation fe_op_like(fe_ir *ir, MlirOperation op, const MlirValue *operands,
                         const MlirRegion *region);
#define FE_OP(ir, name, ...) fe_op((ir), (name), &(fe_op_args){__VA_ARGS__})
/// FE_OP(ir, "arith.addi", FE_VALUES(a, b), FE_TYPES(t)).
#define FE_VALUES(...)                                                         \
  .n_operands = sizeof((MlirValue[]){__VA_ARGS__}) / sizeof(MlirValue),        \
  .operands = (MlirValue[]) {                                                  \
    __VA_ARGS__                                                                \
  }
#define FE_TYPES(...)                                                          \
  .n_results = sizeof((MlirType[]){__VA_ARGS__}) / sizeof(MlirType),           \
  .results = (MlirType[]) {                                                    \
    __VA_ARGS__                                                                \
  }
#define FE_ATTRS(...)                                                          \
  .n_attrs = sizeof((MlirNamedAttribute[]){__VA_ARGS__}) /                     \
             sizeof(MlirNamedAttribute),                                       \
  .attrs = (MlirNamedAttribute[]) {                                            \
    __VA_ARGS__                                                                \
  }
MlirValue fe_first(MlirOperation op); // first result; null for a null op

MlirStringRef fe_str(const char *s);
/// What MLIR prints: fe_printed_add is the callback, this its user data.
typedef struct fe_printed {
  fe_arena *arena;
  fe_buf buf;
} fe_printed;
void fe_printed_add(MlirStringRef s, void *user);
MlirNamedAttribute fe_named(fe_ir *ir, const char *name, MlirAttribute a);
MlirAttribute fe_attr_parse(fe_ir *ir, const char *text);
MlirNamedAttribute fe_at_unit(fe_ir *ir, const char *name);
MlirNamedAttribute fe_at_i64(fe_ir *ir, const char *name, int64_t v);
MlirNamedAttribute fe_at_f32(fe_ir *ir, const char *name, double v);
MlirNamedAttribute fe_at_str(fe_ir *ir, const char *name, const char *v);
MlirNamedAttribute fe_at_type(fe_ir *ir, const char *name, MlirType t);
/// array<i64: ...>
MlirNamedAttribute fe_at_i64s(fe_ir *ir, const char *name, unsigned n,
                              const int64_t *v);
/// array<f32: ...>
MlirNamedAttribute fe_at_f32s(fe_ir *ir, const char *name, unsigned n,
                              const float *v);
/// ["a", "b"]
MlirNamedAttribute fe_at_strs(fe_ir *ir, const char *name, unsigned n,
                              const char *const *v);

//===-- Reading IR ----------------------------------------------------------//

bool fe_op_is(MlirOperation op, const char *name); // false for a null op
/// Name without the dialect ("conv" of krnl.conv), NUL-terminated, in arena.
const char *fe_op_name(fe_arena *arena, MlirOperation op);
bool fe_op_in(MlirOperation op, const char *dialect); // "onnx", "linalg", ...
unsigned fe_n_operands(MlirOperation op);
unsigned fe_n_results(MlirOperation op);
MlirValue fe_operand(MlirOperation op, unsigned i); // null out of range
MlirValue fe_result(MlirOperation op, unsigned i);
MlirOperation fe_def(MlirValue v); // null for block arguments
unsigned fe_n_uses(MlirValue v);
void fe_replace(MlirValue old_value, MlirValue new_value); // all uses
void fe_erase(MlirOperation op); // refuses (sets nothing) while it has uses
bool fe_is_null(MlirValue v);
bool fe_same(MlirValue a, MlirValue b);

bool fe_has_attr(MlirOperation op, const char *name);
MlirAttribute fe_attr(MlirOperation op, const char *name); // null: absent
int64_t fe_attr_i64(MlirOperation op, const char *name, int64_t absent);
double fe_attr_f64(MlirOperation op, const char *name, double absent);
const char *fe_attr_str(fe_arena *arena, MlirOperation op, const char *name,
                        const char *absent);
/// Reads array<i64: ...>; gives the count (0 when absent), at most `cap`.
unsigned fe_attr_i64s(MlirOperation op, const char *name, int64_t *out,
                      unsigned cap);
unsigned fe_attr_f32s(MlirOperation op, const char *name, float *out,
                      unsigned cap);
void fe_set_attr(fe_ir *ir, MlirOperation op, MlirNamedAttribute a);

/// Calls fn for each op below `block` in order, nested ones before the op that
/// holds them; the current op (no other) may be erased by fn.
void fe_walk(MlirBlock block, void (*fn)(MlirOperation op, void *user),
             void *user);
/// The function called `name` in the module, if it has a body; null when
/// absent.
MlirOperation fe_func_find(MlirModule m, const char *name);
MlirBlock fe_func_block(MlirOperation func);
MlirBlock fe_region_block(MlirOperation op, unsigned region);

//===-- Functions -----------------------------------------------------------//

/// func.func with an entry block; the insertion point moves to that block
/// (save and restore yourself). Result types are set by fe_func_end, which
/// appends func.return with `results` and fixes the function type.
MlirOperation fe_func_begin(fe_ir *ir, MlirModule m, const char *name,
                            bool is_private, unsigned n_args,
                            const MlirType *args);
void fe_func_end(fe_ir *ir, MlirOperation func, unsigned n,
                 const MlirValue *results);
/// External declaration.
MlirOperation fe_func_declare(fe_ir *ir, MlirModule m, const char *name,
                              unsigned n_args, const MlirType *args,
                              unsigned n_results, const MlirType *results);
MlirValue fe_block_arg(MlirBlock b, unsigned i);
MlirOperation fe_call(fe_ir *ir, const char *callee, unsigned n,
                      const MlirValue *operands, unsigned n_results,
                      const MlirType *results);

//===-- Types ---------------------------------------------------------------//

/// Standard element type: unsigned as ui8..., bool as i1. A string is i128, the
/// bytes of a ferrule_string, in all phases: no number has that type.
MlirType fe_elem_type(fe_ir *ir, fe_dtype t);
/// As computed with and stored after lowering: signless; bool and what has less
/// than 8 bits is i8; complex is an integer of its size, as no operator
/// computes with it.
MlirType fe_storage_type(fe_ir *ir, fe_dtype t);
fe_dtype fe_dtype_of_elem(MlirType elem);
MlirType fe_elem_of(MlirValue v);  // element type of tensor/memref/vector
bool fe_type_is_float(MlirType t); // element, vector or scalar
MlirType fe_vector_type(fe_ir *ir, int64_t n, MlirType elem);
/// `elem` in the shape of `shape` (a scalar or a vector type).
MlirType fe_type_like(fe_ir *ir, MlirType shape, MlirType elem);
MlirType fe_memref_type(fe_ir *ir, MlirType elem, unsigned rank,
                        const int64_t *dims); // identity layout
/// The memref type of a tensor's elements and dims.
MlirType fe_memref_of(fe_ir *ir, MlirValue tensor);
#define FE_DYN INT64_MIN                        // kDynamic in MLIR types
int64_t fe_static_dim(MlirValue v, unsigned i); // FE_DYN when dynamic
unsigned fe_rank(MlirValue v);
/// The dims of a ranked type, FE_DYN where dynamic; gives the rank.
unsigned fe_type_dims(MlirType t, int64_t *dims);

//===-- Symbolic dimensions (types of the onnx phase) -----------------------//

/// Dims are affine expressions over symbols (uniqued: compare with
/// mlirAffineExprEqual). A type with a dynamic dim carries them as encoding:
///   tensor<?x3xf32, affine_map<()[s0] -> (s0 * 2, 3)>>
/// The module attribute `onnx.symbols = ["batch", ...]` names the symbols.
/// fe_ir carries that list while ops are made: load it after parsing a module,
/// store it at the end of each phase.
typedef struct fe_dims {
  unsigned rank;
  MlirAffineExpr d[FE_MAX_RANK];
} fe_dims;
/// Number of the symbol called `name`, new or not; NULL: always a new one.
unsigned fe_symbol(fe_ir *ir, const char *name);
void fe_symbols_load(fe_ir *ir, MlirModule m);
void fe_symbols_store(fe_ir *ir, MlirModule m);
MlirType fe_tensor_type(fe_ir *ir, MlirType elem, const fe_dims *dims);
MlirType fe_tensor_static(fe_ir *ir, MlirType elem, unsigned rank,
                          const int64_t *dims);
/// Plain tensor type (no encoding), FE_DYN for dynamic.
MlirType fe_tensor_plain(fe_ir *ir, MlirType elem, unsigned rank,
                         const int64_t *dims);
bool fe_dims_of(fe_ir *ir, MlirValue v, fe_dims *out); // false: not a tensor
MlirAffineExpr fe_dim_const(fe_ir *ir, int64_t v);
MlirAffineExpr fe_dim_symbol(fe_ir *ir, unsigned s);
int64_t fe_dim_static(MlirAffineExpr e); // FE_DYN when symbolic
bool fe_dim_same(MlirAffineExpr a, MlirAffineExpr b);
MlirAffineExpr fe_dim_add(MlirAffineExpr a, MlirAffineExpr b); // simplified
MlirAffineExpr fe_dim_sub(fe_ir *ir, MlirAffineExpr a, MlirAffineExpr b);
MlirAffineExpr fe_dim_mul(MlirAffineExpr a, MlirAffineExpr b);
MlirAffineExpr fe_dim_floordiv(MlirAffineExpr a, MlirAffineExpr b);
MlirAffineExpr fe_dim_ceildiv(MlirAffineExpr a, MlirAffineExpr b);
MlirAffineExpr fe_dim_mod(MlirAffineExpr a, MlirAffineExpr b);

//===-- Scalars and vectors -------------------------------------------------//

/// These dispatch on the operand type: float (fastmath<contract>), integer or
/// index; a vector works like its elements; a scalar meets a vector by
/// broadcast. Integers are signless: signedness is in the function's name.
MlirValue fe_index(fe_ir *ir, int64_t v);
MlirValue fe_int(fe_ir *ir, MlirType t, int64_t v);   // also vectors (splat)
MlirValue fe_float(fe_ir *ir, MlirType t, double v);  // also vectors (splat)
MlirValue fe_number(fe_ir *ir, MlirType t, double v); // float or integer
MlirValue fe_add(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_sub(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_mul(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_div(fe_ir *ir, MlirValue a, MlirValue b);  // float, signed
MlirValue fe_divu(fe_ir *ir, MlirValue a, MlirValue b); // unsigned
MlirValue fe_rem(fe_ir *ir, MlirValue a, MlirValue b);  // float, signed
MlirValue fe_remu(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_floordiv(fe_ir *ir, MlirValue a, MlirValue b); // signed, index
MlirValue fe_ceildiv(fe_ir *ir, MlirValue a, MlirValue b);
/// Floats: a NaN operand propagates. Integers: signed.
MlirValue fe_min(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_max(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_minu(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_maxu(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_neg(fe_ir *ir, MlirValue a);
MlirValue fe_and(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_or(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_xor(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_not(fe_ir *ir, MlirValue a); // i1: logical; else bitwise
MlirValue fe_shl(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_shru(fe_ir *ir, MlirValue a, MlirValue b);
MlirValue fe_shrs(fe_ir *ir, MlirValue a, MlirValue b);
typedef enum fe_cmp_kind {
  FE_EQ,
  FE_NE,
  FE_LT,
  FE_LE,
  FE_GT,
  FE_GE
} fe_cmp_kind;
MlirValue fe_cmp(fe_ir *ir, fe_cmp_kind k, MlirValue a, MlirValue b);
MlirValue fe_cmpu(fe_ir *ir, fe_cmp_kind k, MlirValue a, MlirValue b);
MlirValue fe_select(fe_ir *ir, MlirValue c, MlirValue a, MlirValue b);
MlirValue fe_math(fe_ir *ir, const char *op, MlirValue a); // "exp" -> math.exp
MlirValue fe_math2(fe_ir *ir, const char *op, MlirValue a, MlirValue b);
MlirValue fe_fma(fe_ir *ir, MlirValue a, MlirValue b,
                 MlirValue c); // vector.fma
/// Value conversion between any two numeric scalar/vector types, index too.
/// `from_unsigned`/`to_unsigned` say how signless integers are read. Float to
/// integer saturates? no: as C (undefined outside); see docs/semantics.md.
MlirValue fe_convert(fe_ir *ir, MlirValue v, MlirType to, bool from_unsigned,
                     bool to_unsigned);
/// A float type of less than 8 bits: f32 from its byte in memory, and back from
/// f32 or f64.
MlirValue fe_float_of_byte(fe_ir *ir, fe_dtype t, MlirValue v);
MlirValue fe_byte_of_float(fe_ir *ir, fe_dtype t, MlirValue v);
MlirValue fe_to_index(fe_ir *ir, MlirValue v); // from a signed integer
MlirValue fe_bitcast(fe_ir *ir, MlirValue v, MlirType to);
MlirValue fe_splat(fe_ir *ir, MlirValue scalar, int64_t n); // vector.broadcast

//===-- Control flow --------------------------------------------------------//

typedef struct fe_region {
  MlirOperation op;
  MlirValue iv;   // loops: the induction variable
  MlirBlock body; // iteration arguments: fe_block_arg(body, 1 + k)
  fe_point outer;
} fe_region;
fe_region fe_for_begin(fe_ir *ir, MlirValue lb, MlirValue ub, MlirValue step,
                       unsigned n_iter, const MlirValue *init);
void fe_for_end(fe_ir *ir, fe_region *r, unsigned n, const MlirValue *yield);
/// `for i in [0, n)` with step 1 and no iteration arguments.
fe_region fe_loop(fe_ir *ir, MlirValue n);
void fe_loop_end(fe_ir *ir, fe_region *r);
fe_region fe_if_begin(fe_ir *ir, MlirValue cond, unsigned n_results,
                      const MlirType *results, bool has_else);
void fe_if_else(fe_ir *ir, fe_region *r, unsigned n, const MlirValue *yield);
void fe_if_end(fe_ir *ir, fe_region *r, unsigned n, const MlirValue *yield);
/// scf.while: `before` block gets the init types; end it with
/// fe_while_do(cond, args), then fill the `after` block, then fe_while_end.
/// body is the current block: fe_block_arg(body, k). The op is r->op after
/// fe_while_do; its results have the types of `args`.
fe_region fe_while_begin(fe_ir *ir, unsigned n, const MlirValue *init);
void fe_while_do(fe_ir *ir, fe_region *r, MlirValue cond, unsigned n,
                 const MlirValue *args);
void fe_while_end(fe_ir *ir, fe_region *r, unsigned n, const MlirValue *yield);

/// The one element of a tensor, as a scalar.
MlirValue fe_extract_scalar(fe_ir *ir, MlirValue v);

//===-- Memory --------------------------------------------------------------//

MlirValue fe_load(fe_ir *ir, MlirValue memref, unsigned n,
                  const MlirValue *idx);
void fe_store(fe_ir *ir, MlirValue v, MlirValue memref, unsigned n,
              const MlirValue *idx);
#define FE_IDX(...)                                                            \
  sizeof((MlirValue[]){__VA_ARGS__}) / sizeof(MlirValue), (MlirValue[]) {      \
    __VA_ARGS__                                                                \
  }
/// n elements from the innermost dim: vector.load / vector.store.
MlirValue fe_vload(fe_ir *ir, int64_t width, MlirValue memref, unsigned n,
                   const MlirValue *idx);
void fe_vstore(fe_ir *ir, MlirValue v, MlirValue memref, unsigned n,
               const MlirValue *idx);
/// Masked forms: lanes at or above `active` (index) are zero / not written.
MlirValue fe_vload_masked(fe_ir *ir, int64_t width, MlirValue active,
                          MlirValue memref, unsigned n, const MlirValue *idx);
/// The other lanes are `otherwise`.
MlirValue fe_vload_masked_or(fe_ir *ir, int64_t width, MlirValue active,
                             MlirValue memref, unsigned n, const MlirValue *idx,
                             double otherwise);
void fe_vstore_masked(fe_ir *ir, MlirValue v, MlirValue active,
                      MlirValue memref, unsigned n, const MlirValue *idx);
/// kind: "add" "mul" "minimumf" "maxnumf" "maxsi" ...; reassociates.
MlirValue fe_vreduce(fe_ir *ir, const char *kind, MlirValue v);
MlirValue fe_dim(fe_ir *ir, MlirValue shaped, unsigned i); // const if static
/// Stack memory in the function's entry block (small, static).
MlirValue fe_alloca(fe_ir *ir, MlirType memref_type);
/// Flat or reshaped view of a contiguous memref: `offset` in elements from its
/// start. dims may mix static and FE_DYN (then taken from sizes[i]; the other
/// members of sizes are not read, it may be NULL when all are static). The
/// result has identity layout when `offset` is the constant 0, else a strided
/// one with unit inner stride, good for every load and store above.
MlirValue fe_view(fe_ir *ir, MlirValue memref, MlirValue offset, unsigned rank,
                  const int64_t *dims, const MlirValue *sizes);

#endif
