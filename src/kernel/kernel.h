//===- kernel.h - what the kernel generators share ---------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A generator replaces a kernel in tensor form (docs/architecture.md, "group"),
// whose body is one krnl root and a chain of elementwise linalg.generic, by a
// function of the same name in memref form: loops and vectors, tile sizes from
// the target.
//
//===----------------------------------------------------------------------===//
#ifndef FE_KERNEL_H
#define FE_KERNEL_H

#include "ir/ir.h"
#include "target/target.h"

typedef fe_status (*fe_generate_fn)(fe_ir *ir, const fe_target *target,
                                    MlirModule module, MlirOperation func);
typedef struct fe_generator {
  const char *root; // attribute krnl.root: the name of the op, "contract"
  fe_generate_fn generate;
} fe_generator;
extern const fe_generator fe_generators[]; // ends with a NULL root
const fe_generator *fe_generator_find(const char *root); // NULL: none

fe_status fe_generate_generic(fe_ir *ir, const fe_target *target,
                              MlirModule module, MlirOperation func);
fe_status fe_generate_contract(fe_ir *ir, const fe_target *target,
                               MlirModule module, MlirOperation func);
fe_status fe_generate_row(fe_ir *ir, const fe_target *target, MlirModule module,
                          MlirOperation func);
fe_status fe_generate_attention(fe_ir *ir, const fe_target *target,
                                MlirModule module, MlirOperation func);
fe_status fe_generate_transpose(fe_ir *ir, const fe_target *target,
                                MlirModule module, MlirOperation func);

//===-- The function --------------------------------------------------------//

/// A kernel on its way from tensor to memref form. The insertion point is in
/// the new function between fe_gen_begin and fe_gen_end.
typedef struct fe_gen {
  fe_ir *ir;
  const fe_target *target;
  MlirModule module;
  MlirOperation tensors; // the function being replaced
  MlirOperation root;    // its krnl op
  MlirOperation func;    // the new one
  MlirValue begin, end;  // this call's part of the items
  unsigned n_args;       // tensor arguments: inputs, then the destination
  MlirValue *arg;        // their memrefs
  MlirValue *flat;       // the same as one-dimensional memrefs
  MlirValue dest;        // = arg[n_args - 1]
  unsigned n_scalars;
  MlirValue *scalar;
  unsigned rank; // of the result
  fe_point outer;
} fe_gen;
/// Reports and fails when `func` is not a root with one destination.
FE_NODISCARD fe_status fe_gen_begin(fe_gen *g, fe_ir *ir,
                                    const fe_target *target, MlirModule module,
                                    MlirOperation func);
/// Number of the argument that operand i of the root is; reports otherwise.
FE_NODISCARD fe_status fe_gen_operand(fe_gen *g, unsigned i, unsigned *arg);
/// Dim d of tensor argument a, for the extent.
MlirAffineExpr fe_gen_dim(const fe_gen *g, unsigned a, unsigned d);
/// Sets the extent (null: 1) and erases the tensor form. Where the generator
/// has reported an error, call fe_gen_abandon: the new function goes instead.
void fe_gen_end(fe_gen *g, MlirAffineExpr items, MlirAffineExpr cost);
fe_status fe_gen_abandon(fe_gen *g);

//===-- Choices -------------------------------------------------------------//

/// A number that a generator has chosen, of those in kernel/schedules.h. The
/// kernel shows all of them in its attribute `krnl.schedule = {rows = 8 : i64,
/// ...}`; put on the tensor form (in a dump of the phase `group`, or by a
/// schedule file), the attribute overrides the choice.
typedef struct fe_knob {
  const char *name;
  int64_t *value;
} fe_knob;
/// Reports names that are not known and values that are not admitted.
FE_NODISCARD fe_status fe_schedule(fe_gen *g, unsigned n, const fe_knob *knobs);
/// Whether anything is overridden; reports that it cannot be done so.
bool fe_schedule_given(const fe_gen *g);
fe_status fe_schedule_refuse(fe_gen *g, const char *why);

/// What --explain says of the kernel: attributes `krnl.algorithm` (of a word or
/// two) and `krnl.plan`.
void fe_gen_explain(fe_gen *g, const char *algorithm, const char *plan);

//===-- The epilogue --------------------------------------------------------//

/// The elementwise ops behind the root. Chain value 0 is the root's result,
/// value k + 1 the result of step k.
#define FE_EPILOGUE_STEPS 16
#define FE_EPILOGUE_INPUTS 8
typedef struct fe_epilogue_input {
  bool is_chain;
  unsigned number;   // of the chain value or the tensor argument
  MlirAffineMap map; // from the result's dims to the argument's
} fe_epilogue_input;
typedef struct fe_epilogue_step {
  MlirOperation op; // linalg.generic
  bool scattered;   // an operand is permuted: cannot be loaded as vectors
  /// Where the result is bytes made by fe_saturated: values of the body, the
  /// number in f32 before it is rounded, what is added then (null: 0), and the
  /// limited number. Null otherwise.
  MlirValue number, zero, limited;
  bool is_signed;
  unsigned n_in;
  fe_epilogue_input in[FE_EPILOGUE_INPUTS];
} fe_epilogue_step;
typedef struct fe_epilogue {
  fe_gen *gen;
  unsigned n;
  fe_epilogue_step step[FE_EPILOGUE_STEPS];
  /// Steps [0, n_vector) are cheap: fe_epilogue_vector does them on vectors.
  /// The others are for fe_epilogue_loop, which starts from chain value
  /// n_vector, left by the generator in a small buffer.
  unsigned n_vector;
  MlirType mid;  // element type of chain value n_vector
  MlirType elem; // of the destination
} fe_epilogue;
/// Reads what stands between the root and the return. Reports and fails when
/// it is not of the form that `group` makes.
FE_NODISCARD fe_status fe_epilogue_parse(fe_epilogue *e, fe_gen *g);
/// Whether steps are left for fe_epilogue_loop.
static inline bool fe_epilogue_has_loop(const fe_epilogue *e) {
  return e->n_vector < e->n;
}

/// Position of an element of the result: its subscripts and its number in
/// row-major order.
typedef struct fe_coords {
  MlirValue at[FE_MAX_RANK];
  MlirValue flat;
} fe_coords;
/// Applies the cheap steps to `v`, `width` elements along the last dim from
/// position `c` on. Only lanes below `active` are valid (null: all are), and no
/// memory is read for the others. Gives chain value n_vector.
MlirValue fe_epilogue_vector(const fe_epilogue *e, MlirValue v, int64_t width,
                             MlirValue active, const fe_coords *c);
/// Where step n_vector - 1 makes bytes and is the last one: its number before
/// rounding, and *zero, which is to be added then, or null.
bool fe_epilogue_makes_bytes(const fe_epilogue *e);
static inline bool fe_epilogue_signed(const fe_epilogue *e) {
  return e->step[e->n - 1].is_signed;
}
MlirValue fe_epilogue_number(const fe_epilogue *e, MlirValue v, int64_t width,
                             const fe_coords *c, MlirValue *zero);
/// Applies the other steps to a buffer [row][column] of chain values n_vector
/// and stores the results to the destination. `place` gives the position of
/// column 0 of a row; the columns run along the last dim.
typedef void (*fe_place_fn)(void *user, MlirValue row, fe_coords *out);
void fe_epilogue_loop(const fe_epilogue *e, MlirValue buffer, MlirValue rows,
                      MlirValue columns, fe_place_fn place, void *user);

//===-- Vectors -------------------------------------------------------------//

/// a * b + c: one instruction where the target has it.
MlirValue fe_vfma(const fe_gen *g, MlirValue a, MlirValue b, MlirValue c);
/// An intrinsic function of LLVM.
MlirValue fe_intrinsic(fe_ir *ir, const char *name, unsigned n,
                       const MlirValue *operands, MlirType type);
/// Multiply-adds of elements of 32 bits that hold several numbers: what a * b
/// is.
typedef enum fe_dot {
  FE_DOT_NONE, // one number: fe_vfma
  FE_DOT_U8S8, // four bytes of a, unsigned, times four of b, signed
  FE_DOT_S16   // two numbers of 16 bits of each, signed
} fe_dot;
/// By the attribute `dot`: "bytes", "pairs"; FE_DOT_NONE: unknown.
fe_dot fe_dot_named(const char *name);
const char *fe_dot_name(fe_dot dot);
const char *fe_dot_explain(fe_dot dot);
/// a * b + c of vectors. Sums of 32 bits wrap around, nothing saturates.
MlirValue fe_vdot(const fe_gen *g, fe_dot dot, MlirValue a, MlirValue b,
                  MlirValue c);

/// Images of bytes are multiplied by words, four channels or taps each.
#define FE_DOT_BYTES 4
/// How that is best done where all weights are signed bytes, or else have 16
/// bits; FE_DOT_NONE: floats of the same numbers are faster.
fe_dot fe_dot_choose_bytes(const fe_target *t, bool signed_bytes);
/// Words of weights for one of the image: FE_DOT_U8S8 takes one of four signed
/// bytes; FE_DOT_S16 two of two numbers of 16 bits, those for bytes 0 and 2
/// before those for 1 and 3.
static inline unsigned fe_dot_words(fe_dot dot) {
  return dot == FE_DOT_S16 ? 2 : 1;
}
/// Writes the weight for byte `i` in lane `lane` to rows of `width` words, one
/// behind the other.
void fe_dot_put(fe_dot dot, int32_t *rows, int64_t width, int64_t lane,
                unsigned i, int value);
/// `word`, of a memref of bytes, in all lanes, signed bytes with their sign
/// bits flipped (so they are unsigned, 128 more).
MlirValue fe_dot_word(const fe_gen *g, MlirValue bytes, MlirValue word,
                      unsigned lanes, bool flip);
/// acc + the products of four unsigned bytes in every lane of x with those of
/// fe_dot_words words of weights.
MlirValue fe_dot_four(const fe_gen *g, fe_dot dot, MlirValue acc, MlirValue x,
                      const MlirValue *w);
/// Whether fe_limited_bytes is to be had for vectors of so many lanes.
bool fe_limits_bytes(const fe_gen *g, unsigned lanes);
/// The bytes of n (1 to 4) vectors of f32, one behind the other: rounded to
/// even, plus `zero` (one number in all lanes; null: 0), limited.
MlirValue fe_limited_bytes(const fe_gen *g, unsigned n, const MlirValue *v,
                           MlirValue zero, bool is_signed);
/// To bf16 by the processor's instruction, which takes denormals as zero; for
/// operands of products where the target has dot products of bf16.
MlirValue fe_round_bf16(fe_ir *ir, MlirValue v);
/// A vector of two bf16, again and again: `lanes` pairs.
MlirValue fe_splat_pair(fe_ir *ir, MlirValue pair, unsigned lanes);
/// acc + the products of both members of every pair, in f32.
MlirValue fe_dot_bf16(const fe_gen *g, MlirValue acc, MlirValue a, MlirValue b);
/// Lanes of `elem` in a vector register.
unsigned fe_gen_lanes(const fe_gen *g, MlirType elem);
/// Transposes n vectors of n lanes (n a power of two) by shuffles, in place.
void fe_vtranspose(fe_ir *ir, unsigned n, MlirValue *rows);
/// Four vectors of n lanes: 4 x 4 blocks inside groups of four lanes.
void fe_vtranspose_quads(fe_ir *ir, unsigned n, MlirValue *rows);
/// A square of 16 vectors of 16 bytes (channels; or, four vectors in one, of 64
/// bytes, pixels) to one of the others: channels[16] to pixels[4] and back.
void fe_bytes_to_pixels(fe_ir *ir, const MlirValue *channels,
                        MlirValue *pixels);
void fe_bytes_to_channels(fe_ir *ir, const MlirValue *pixels,
                          MlirValue *channels);
/// Lanes of a, then those of b, of as many.
MlirValue fe_joined(fe_ir *ir, MlirValue a, MlirValue b);
/// vector.shuffle of a and b.
MlirValue fe_shuffle(fe_ir *ir, MlirValue a, MlirValue b, unsigned n,
                     const int64_t *lanes);
/// a > b ? a : b; one instruction, b where a is NaN.
MlirValue fe_vmax(fe_ir *ir, MlirValue a, MlirValue b);
/// The same over all lanes, as a scalar.
MlirValue fe_vmax_lanes(fe_ir *ir, MlirValue v);
/// 2^x of f32 vectors, x at most 127, by a polynomial: 2 ULP, exactly 0 from
/// x = -127 down, NaN stays. Softmax: 2^((x - max) * log2(e)).
MlirValue fe_vexp2(const fe_gen *g, MlirValue x);
/// The same, whose constants stay in the loop where `zero`, an i32 that is 0
/// and that LLVM does not know, is computed: they would take registers from
/// loops beside it.
MlirValue fe_vexp2_in(const fe_gen *g, MlirValue x, MlirValue zero);
/// memref.prefetch for reading; `level` 3: L1, 2: L2.
void fe_prefetch(fe_ir *ir, MlirValue memref, MlirValue index, int level);
/// The same for what will be written.
void fe_prefetch_write(fe_ir *ir, MlirValue memref, MlirValue index);

//===-- Rows in tiles -------------------------------------------------------//

/// Covers `rows` rows (also given as `fixed`, FE_DYN when unknown) by tiles of
/// at most `tallest` rows: of about equal height when their number is known,
/// else of heights H, H/2, .. 1, the last ones moved back over rows that are
/// done already. `number` counts the tiles.
typedef void (*fe_rows_fn)(void *user, unsigned height, MlirValue row,
                           MlirValue number);
void fe_tiles(fe_ir *ir, unsigned tallest, int64_t fixed, MlirValue rows,
              fe_rows_fn emit, void *user);
/// Most tiles that at most `rows` rows can need.
int64_t fe_tiles_most(unsigned tallest, int64_t rows);
/// v + c as index.
MlirValue fe_add_static(fe_ir *ir, MlirValue v, int64_t c);

//===-- Contractions --------------------------------------------------------//

/// Register tile and cache blocks of a contraction.
typedef struct fe_contract_plan {
  unsigned lanes;    // elements in a vector
  unsigned rows;     // of the register tile: `rows` x `vectors` accumulators
  unsigned vectors;  // along N; the panels of B are vectors * lanes wide
  int64_t row_block; // rows of A that stay in L2 while panels pass by
  int64_t k_block;   // of K, so that A stays in cache; 0: all of K
  int64_t items;     // that take a block of K each before the next block
  unsigned panels;   // done at once when there are few rows; dynamic: is one
  bool pack_b;       // B is copied into panels in scratch memory first
} fe_contract_plan;
/// Sizes may be FE_DYN. `packed`: B is in constant panels.
fe_contract_plan fe_contract_choose(const fe_target *t, unsigned elem_bits,
                                    int64_t m, int64_t n, int64_t k,
                                    bool packed, bool trans_b);
/// One line for --explain.
char *fe_contract_explain(fe_arena *arena, const fe_contract_plan *p);
/// Width of the panels [P][K][width] that krnl.contract takes as constant B of
/// n columns (attribute b = "panels") on this target.
unsigned fe_contract_panel(const fe_target *t, unsigned elem_bits, int64_t n);
/// How krnl.integer_contract is best done; *numbers: in an element of 32 bits.
fe_dot fe_dot_choose(const fe_target *t, unsigned *numbers);
/// B [batch][K][N], or [batch][N][K] when `transposed`, of f32 or f64, as
/// panels [batch][ceil(N / width)][K][width], zero-padded: a new blob, named
/// after that of B.
fe_blob *fe_contract_pack(fe_ir *ir, const fe_target *t, unsigned elem_bits,
                          const fe_blob *b, int64_t batch, int64_t k, int64_t n,
                          bool transposed);
/// The same in elements of 16 bits: of f32 rounded to bf16, f16 and bf16 as
/// they are. `pairs`: [..][ceil(K / 2)][width][2], as dot products take them.
fe_blob *fe_contract_pack_half(fe_ir *ir, const fe_target *t, fe_dtype from,
                               bool pairs, const fe_blob *b, int64_t batch,
                               int64_t k, int64_t n, bool transposed);

/// The same in fixed point of 24 bits (fixed.c), for krnl.contract with b =
/// "fixed": i8 [batch][ceil(N / width)][rows][3 * width].
#define FE_FIXED_BYTES 3
/// Rows of such a panel: K, and those that hold scales.
int64_t fe_fixed_rows(int64_t k);
fe_blob *fe_fixed_pack(fe_ir *ir, const fe_target *t, const fe_blob *b,
                       int64_t batch, int64_t k, int64_t n, bool transposed);
/// Whether that saves time for m rows (FE_DYN: unknown), which then wait for
/// memory; whether it is near enough to the matrices, of f32.
bool fe_fixed_pays(const fe_target *t, int64_t m, int64_t n, int64_t k);
bool fe_fixed_fits(const fe_target *t, const void *b, int64_t batch, int64_t k,
                   int64_t n, bool transposed);

#endif
