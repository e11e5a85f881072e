//===- plan.h - state shared by the files of plan ----------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order of work: plan_size.c says what every dim of main follows from,
// plan_live.c which memory each tensor lies in and how long it is needed,
// plan_memory.c where in the arena; plan_emit.c writes the new main.
//
//===----------------------------------------------------------------------===//
#ifndef FE_PASS_PLAN_H
#define FE_PASS_PLAN_H

#include "ir/ir.h"
#include "pass/pass.h"

/// Of everything in the arena and among the weights.
#define FE_PLAN_ALIGN 64

//===-- plan_memory.c: packing ----------------------------------------------//

/// Something that needs memory from position `first` to `last` inclusive.
typedef struct fe_plan_item {
  double size;          // bytes; of slots an estimate
  unsigned first, last; // last >= first
  int64_t offset;       // result of fe_plan_pack
  unsigned slot;        // result of fe_plan_slots
} fe_plan_item;
/// Offsets (multiples of `align`) such that items alive at the same time do
/// not overlap; gives the total. Sizes below 2^53.
int64_t fe_plan_pack(fe_arena *arena, unsigned n, fe_plan_item *items,
                     int64_t align);
/// Slots such that no two items of one slot are alive at the same time; gives
/// the number of slots.
unsigned fe_plan_slots(fe_arena *arena, unsigned n, fe_plan_item *items);

//===-- Dims ----------------------------------------------------------------//

typedef enum fe_pdim_kind {
  FE_PDIM_CONST, // `c`
  FE_PDIM_VALUE, // index value `v` of the old main
  FE_PDIM_OF     // dim `d` of tensor `v`, which is what binds it
} fe_pdim_kind;
typedef struct fe_pdim {
  fe_pdim_kind kind;
  int64_t c;
  MlirValue v;
  unsigned d;
} fe_pdim;

/// Bytes of tensors: element size times dims. Equal ones are shared.
typedef struct fe_psize {
  unsigned elem; // bytes
  unsigned rank;
  const fe_pdim *dims;
  bool fixed;    // `bytes` is known
  int64_t bytes; // not rounded
  bool entry;    // follows from main's arguments
  bool always;   // needed on every run, not only in some branch
  double estimate;
  const char *node; // first with a result of this size; NULL: none has a name
  MlirValue now;    // in the new main: i64, -1 when negative or too large
} fe_psize;

//===-- Memory --------------------------------------------------------------//

typedef enum fe_place {
  FE_IN_ARENA,
  FE_IN_HEAP,
  FE_IN_OUTPUT, // the caller's memory of output `output`
  FE_GIVEN,     // heap, pointer comes from elsewhere (loops, branches)
  FE_SWAPPED,   // the one of a loop's two buffers that is not carried
  FE_FOREIGN    // inputs and weights; never written
} fe_place;
typedef struct fe_buffer {
  fe_place place;
  unsigned size; // number in `sizes`
  fe_pdim dims[FE_MAX_RANK];
  MlirBlock block;      // of the old main, where it comes into being
  unsigned first, last; // positions
  MlirOperation until;  // op of `block` that is or holds the last use
  bool kept;            // heap: nobody frees it before the end of the run
  bool moved;           // heap: handed over at the end of its block
  bool top;             // block is main's
  bool joined;          // parts of it are buffers too
  bool swaps;           // with another one: FE_CARRY_SWAP
  unsigned output;
  unsigned parent; // it is a part of this one, at byte `delta`; or none
  int64_t delta;
  unsigned slot;
  int64_t offset; // arena: -1 when in a slot
  MlirValue ptr;  // in the new main
} fe_buffer;
#define FE_NO_BUFFER (~0u)

/// A tensor value of the old main.
typedef struct fe_pvalue {
  unsigned n; // memory it may lie in; FE_FOREIGN ones are buffer 0
  unsigned *at;
  MlirValue ptr;               // in the new main
  MlirValue dims[FE_MAX_RANK]; // where fe_pdim_of gives FE_PDIM_OF itself
} fe_pvalue;

typedef enum fe_carry {
  FE_CARRY_SCALAR,
  FE_CARRY_SAME,  // never changes: stands for its initial value
  FE_CARRY_FIXED, // sizes never change: one buffer, copied into
  FE_CARRY_SWAP,  // the same, but two buffers take turns
  FE_CARRY_HEAP   // new memory each time
} fe_carry;
typedef struct fe_carried {
  fe_carry kind;
  MlirValue init, arg, yield;
  unsigned buffer; // FIXED: it; SWAP: stands for both; HEAP: the one of the
                   // current iteration
  unsigned spare;  // SWAP: the second one
  unsigned made;   // SWAP: what the body yields, which lies in one of the two
  MlirValue now, other; // SWAP: in the new main, pointers of this iteration
  unsigned temp;        // FIXED: staging of a parallel copy, or none
  unsigned exit;        // HEAP: after the loop
} fe_carried;
typedef struct fe_ploop {
  MlirOperation op;
  bool is_while;
  MlirBlock first, body;   // while: before and after; for: body twice
  MlirOperation condition; // while
  unsigned n;
  fe_carried *at;
} fe_ploop;

typedef struct fe_opinfo {
  unsigned pos, end; // end: of the last position inside
  fe_ploop *loop;
  unsigned *buffer;      // calls: one per result; others: one
  unsigned *merge;       // scf.if: heap buffer a result is put into, or none
  fe_vec(unsigned) dies; // heap buffers whose last use this is
} fe_opinfo;

typedef struct fe_plan_state {
  fe_ir *ir;
  MlirModule module;
  MlirOperation func; // the old main
  MlirBlock top;
  MlirOperation ret;
  fe_map kernels; // name -> func.func op
  fe_map ops;     // old op -> fe_opinfo
  fe_map values;  // old tensor value -> fe_pvalue
  fe_map scalars; // old scalar value -> new value (ptr of MlirValue)
  fe_map dim_memo, index_memo, entry_memo, size_memo;
  fe_vec(fe_ploop *) loops;
  fe_vec(fe_buffer *) buffers;
  fe_vec(fe_psize *) sizes;
  unsigned positions;
  bool bad; // reported

  // Symbols bound by the arguments; see plan_model.c.
  unsigned n_inputs, n_outputs;
  fe_vec(MlirAffineExpr) symbols; // what arguments' dims are
  fe_vec(const char *) symbol_names;
  fe_vec(unsigned) symbol_input; // which argument and dim binds it
  fe_vec(unsigned) symbol_dim;
  unsigned *input_symbol; // [input * FE_MAX_RANK + d]: symbol number

  // Weights.
  fe_vec(const char *) blob_names;
  fe_vec(int64_t) blob_offsets;
  fe_map blobs; // name -> offset + 1
  fe_weights *weights;

  // The arena.
  int64_t fixed_bytes;
  unsigned n_slots;
  unsigned max_slots;               // of calls' arguments
  unsigned max_values, max_numbers; // of calls of the runtime

  // The new main.
  MlirValue inputs, outputs, arena, run, slots;
  MlirValue call_values, call_numbers; // on the stack
  MlirValue *slot_offsets;
  fe_map declared;
} fe_plan_state;

//===-- plan_size.c ---------------------------------------------------------//

/// Dim d of tensor v of the old main.
fe_pdim fe_pdim_of(fe_plan_state *s, MlirValue v, unsigned d);
bool fe_pdim_same(fe_pdim a, fe_pdim b);
/// True when an old value or dim follows from main's arguments' dims only.
bool fe_pdim_entry(fe_plan_state *s, fe_pdim d);
/// Number of the size of tensors like v. FE_NO_BUFFER: too large, reported.
unsigned fe_psize_of(fe_plan_state *s, MlirValue v);
/// Finds out which loops carry tensors whose sizes never change.
void fe_plan_loops(fe_plan_state *s);
/// Sizes that follow from the arguments, computed at the insertion point.
/// `symbols`: pointer to int64 values; null: taken from the inputs.
/// Gives the total of the arena; *ok: that and what is needed always are not
/// too large. In main the run ends where one of the latter is.
MlirValue fe_plan_arena(fe_plan_state *s, MlirValue symbols, MlirValue *ok);
/// An index as i64.
MlirValue fe_plan_i64(fe_ir *ir, MlirValue v);
/// i64 bytes of a tensor with these dims (index values); -1: negative or above
/// 2^62.
MlirValue fe_plan_bytes(fe_ir *ir, unsigned elem, unsigned rank,
                        const MlirValue *dims);

//===-- plan_join.c ---------------------------------------------------------//

/// The call joins tensors whose bytes follow each other in the result.
bool fe_plan_is_join(fe_plan_state *s, MlirOperation op);
/// Puts what is joined where it will be joined.
void fe_plan_join(fe_plan_state *s);
void fe_plan_emit_join(fe_plan_state *s, MlirOperation op);

//===-- plan_live.c ---------------------------------------------------------//

fe_status fe_plan_live(fe_plan_state *s);
fe_pvalue *fe_pvalue_of(fe_plan_state *s, MlirValue v);
fe_opinfo *fe_opinfo_of(fe_plan_state *s, MlirOperation op);

//===-- plan_model.c --------------------------------------------------------//

/// Binds symbols, lists weights, sets the attributes that describe the model.
fe_status fe_plan_inputs(fe_plan_state *s);
int64_t fe_plan_constant(fe_plan_state *s, MlirOperation constant);
/// A large splat, which main writes into memory of its own.
bool fe_plan_filled(MlirOperation constant);
/// As in ferrule_tensor.
int fe_plan_output_dtype(fe_plan_state *s, unsigned i);
/// Whether it points to other memory, which must be copied too.
bool fe_plan_output_points(fe_plan_state *s, unsigned i);
void fe_plan_describe(fe_plan_state *s);

//===-- plan_weights.c ------------------------------------------------------//

/// Offset among the weights.
int64_t fe_plan_blob(fe_plan_state *s, const char *name, int64_t bytes);

//===-- plan_emit.c ---------------------------------------------------------//

/// dims[d] of input i, an index, loaded at the insertion point.
MlirValue fe_plan_input_dim(fe_plan_state *s, unsigned i, unsigned d);
void fe_plan_emit_block(fe_plan_state *s, MlirBlock block);
MlirValue fe_plan_dim(fe_plan_state *s, MlirValue v, unsigned d); // index
MlirValue fe_plan_scalar(fe_plan_state *s, MlirValue v);
void fe_plan_set_scalar(fe_plan_state *s, MlirValue v, MlirValue now);
MlirValue fe_plan_tensor_bytes(fe_plan_state *s, MlirValue v); // i64
/// The run ends where `bytes` is -1, with a message that names the node of z
/// (NULL: none).
void fe_plan_check_bytes(fe_ir *ir, MlirValue bytes, const fe_psize *z);
/// Declares a function of the runtime, or a kernel's part, once.
void fe_plan_declare(fe_plan_state *s, const char *name, const char *type);
/// Memory of a buffer, from here on.
MlirValue fe_plan_open(fe_plan_state *s, unsigned buffer);
MlirValue fe_plan_alloc(fe_plan_state *s, MlirValue bytes);
void fe_plan_free(fe_plan_state *s, MlirValue p);
/// Frees the heap buffers whose last use is `op`.
void fe_plan_free_after(fe_plan_state *s, MlirOperation op);

//===-- plan_control.c ------------------------------------------------------//

void fe_plan_emit_if(fe_plan_state *s, MlirOperation op);
void fe_plan_emit_for(fe_plan_state *s, MlirOperation op);
void fe_plan_emit_while(fe_plan_state *s, MlirOperation op);

//===-- plan_call.c ---------------------------------------------------------//

/// 8-byte slots that a call needs.
unsigned fe_plan_call_slots(fe_plan_state *s, MlirOperation op);
void fe_plan_emit_call(fe_plan_state *s, MlirOperation op);
/// Memory of the results. A destination with contents is copied there.
void fe_plan_open_results(fe_plan_state *s, MlirOperation op, unsigned ins,
                          unsigned outs);

//===-- plan_runtime.c ------------------------------------------------------//

/// Notes how much room on the stack the call needs.
void fe_plan_count_runtime(fe_plan_state *s, MlirOperation op);
void fe_plan_emit_runtime(fe_plan_state *s, MlirOperation op);
/// Copies a value that points to other memory to the output at `out`.
void fe_plan_emit_value_output(fe_plan_state *s, MlirValue out, MlirValue v,
                               int dtype);

fe_status fe_plan_emit(fe_plan_state *s);

//===-- plan_llvm.c: the few LLVM operations that main needs ----------------//

MlirValue fe_llvm_at(fe_ir *ir, MlirValue base, int64_t offset); // bytes
MlirValue fe_llvm_at_value(fe_ir *ir, MlirValue base, MlirValue offset); // i64
MlirValue fe_llvm_load(fe_ir *ir, MlirType t, MlirValue p);
void fe_llvm_store(fe_ir *ir, MlirValue v, MlirValue p);
/// bytes: i64.
void fe_llvm_copy(fe_ir *ir, MlirValue to, MlirValue from, MlirValue bytes);
MlirValue fe_llvm_stack(fe_ir *ir, int64_t n_i64);
MlirValue fe_llvm_address(fe_ir *ir, const char *symbol);
/// llvm.func without body; `type` as in "!llvm.func<void (ptr, i64)>".
void fe_llvm_declare(fe_ir *ir, MlirModule m, const char *name,
                     const char *type);
void fe_llvm_global(fe_ir *ir, MlirModule m, const char *name, int64_t bytes);
/// The result, or null when the type is.
MlirValue fe_llvm_call(fe_ir *ir, const char *name, unsigned n,
                       const MlirValue *operands, MlirType result);

//===-- Small things --------------------------------------------------------//

bool fe_is_tensor(MlirValue v);
unsigned fe_elem_bytes(MlirType elem);
int64_t fe_const_index(MlirValue v, bool *is); // arith.constant integer
MlirOperation fe_terminator(MlirBlock b);
fe_where fe_plan_where(fe_plan_state *s, MlirOperation op);

#endif
