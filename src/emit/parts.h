//===- parts.h - inside src/emit ----------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A planned module is split into units: main, and kernels in groups. A unit
// goes to a thread as bytecode and comes back as an object file in memory.
//
//===----------------------------------------------------------------------===//
#ifndef FE_EMIT_PARTS_H
#define FE_EMIT_PARTS_H

#include "emit/emit.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

//===-- What the module's attributes say: info.c
//---------------------------===//

typedef struct fe_placed_blob {
  fe_blob *blob;
  uint64_t offset; // in the weights
} fe_placed_blob;

typedef struct fe_model_info {
  const char *name, *prefix, *compiler, *cpu;
  const char *weights; // symbol: of all levels
  unsigned n_inputs, n_outputs, n_symbols, n_messages, n_blobs;
  ferrule_value_info *inputs, *outputs;
  const char **symbols, **messages;
  fe_placed_blob *blobs; // by offset
  uint64_t weight_bytes; // up to the end of what this level added
  uint64_t own_bytes;    // that it uses
  int64_t arena_bytes;   // -1: depends on the symbols
  bool heap;             // some sizes are known only during the run
  size_t n_profile;      // of fe_profile_instrument
  const ferrule_profile_entry *profile;
} fe_model_info;

/// That of the public symbols.
static inline const char *fe_prefix(const fe_emit_options *o) {
  return o->prefix ? o->prefix : "ferrule";
}
/// Text of a C header for the model: what it takes and gives, sizes.
char *fe_model_header(fe_arena *arena, const fe_model_info *info);
/// Everything but the messages. Reports when the attributes are malformed.
FE_NODISCARD fe_status fe_model_info_read(fe_ir *ir, MlirModule module,
                                          const fe_emit_options *options,
                                          fe_model_info *out);

//===-- MLIR to MLIR: abi.c, checks.c
//--------------------------------------===//

/// What the name of a thin function ends with: where main declares it, and
/// where it is defined, until both are LLVM IR.
#define FE_PART ".part"
#define FE_PART_DEFINITION ".part.defined"
/// Kernel @k from memref form to pointers, and @k.part which loads them.
void fe_abi_kernel(fe_ir *ir, MlirModule module, MlirOperation func);
/// krnl.check to a call of @fe.check(condition, status); gives the messages
/// and whether memory is allocated during the run.
void fe_checks_number(fe_ir *ir, MlirModule module, fe_model_info *info);
/// After structured control flow has become branches: false checks and failed
/// allocations return from the function.
void fe_checks_branch(fe_ir *ir, MlirModule module);

//===-- profile.c
//-----------------------------------------------------------===//

#define FE_PROFILE_TABLE "fe_profile"
/// Puts a clock around every kernel; gives the table's entries, all zero.
void fe_profile_instrument(fe_ir *ir, MlirModule module, fe_model_info *info);

//===-- One unit: unit.c, mathlib.c, model.c
//-------------------------------===//

typedef enum fe_unit_kind {
  FE_UNIT_MAIN = 1,
  FE_UNIT_KERNELS = 2
} fe_unit_kind;

/// What units of a level share; constant while the threads run.
typedef struct fe_unit_job {
  const fe_emit_options *options;
  const fe_model_info *info;
} fe_unit_job;

typedef struct fe_unit {
  const fe_unit_job *job;
  unsigned kinds;       // FE_UNIT_*, both in a module of its own
  const char *bytecode; // of the MLIR module
  size_t bytecode_size;
  LLVMMemoryBufferRef object; // object file, text of LLVM IR, or assembly
  unsigned natives;           // what it calls of fe_native_*, a bit each
} fe_unit;

FE_NODISCARD fe_status fe_unit_emit(fe_ir *ir, fe_unit *unit);
/// The code generator, for which the module is made ready. NULL: reported.
LLVMTargetMachineRef fe_unit_machine(fe_diags *diags, const fe_emit_options *o,
                                     LLVMModuleRef m);
/// From LLVM IR to what the artifact is made of; `kinds` of a fe_unit.
FE_NODISCARD fe_status fe_unit_generate(fe_diags *diags, LLVMModuleRef m,
                                        LLVMTargetMachineRef machine,
                                        const fe_emit_options *o,
                                        unsigned kinds,
                                        LLVMMemoryBufferRef *out);
/// Replaces operations of the math dialect on f32 and vectors of it by calls of
/// @fe.math.*, where the library has the function.
void fe_mathlib_calls(fe_ir *ir, MlirModule module);
/// Links what the module calls of the math library into it, in the place of
/// those functions, of LLVM's intrinsics and of libm's functions.
FE_NODISCARD fe_status fe_mathlib_link(fe_diags *diags, LLVMModuleRef module);
/// After LLVM's optimizer: keeps its code generator from spreading the sums of
/// addresses over loops.
void fe_addresses_freeze(fe_arena *arena, LLVMModuleRef module);
/// Masked stores of one element become plain ones.
void fe_lone_stores_make(LLVMModuleRef module);
/// Makes a main of thousands of instructions ready for code generation.
void fe_long_main(fe_arena *arena, LLVMModuleRef module);
/// Links bitcode of the runtime into the module.
FE_NODISCARD fe_status fe_bitcode_link(fe_diags *diags, LLVMModuleRef module,
                                       const unsigned char *data, size_t size);
/// What was linked in of the runtime becomes internal, what is public weak.
void fe_runtime_bind(LLVMModuleRef m);
/// Adds <prefix>_model; `levels`: addresses of models.
LLVMValueRef fe_model_add(fe_arena *arena, LLVMModuleRef m,
                          const fe_model_info *info, LLVMValueRef run,
                          LLVMValueRef arena_size, unsigned n_levels,
                          LLVMValueRef *levels);
/// Adds <prefix>_model, with the functions it points to.
FE_NODISCARD fe_status fe_model_build(fe_diags *diags, LLVMModuleRef module,
                                      const fe_unit_job *job);
/// <prefix>.<name>, what symbols shared between units are called.
char *fe_symbol_name(fe_arena *arena, const char *prefix, const char *name);
/// Whether the n bytes of s end in `end`.
bool fe_name_ends(const char *s, size_t n, const char *end);

//===-- Several levels: levels.c
//-------------------------------------------===//

typedef struct fe_level {
  const fe_target *target;
  fe_emit_options options;
  fe_model_info info;
  fe_unit_job job;
  unsigned first_message; // of its own among all
} fe_level;

/// See spill.c. Lives until the artifact is written.
typedef struct fe_spill {
  char *path; // NULL: there is no file
  int fd;
  uint64_t end;
  unsigned n;
  void *map[FE_MAX_LEVELS];
  uint64_t bytes[FE_MAX_LEVELS];
} fe_spill;
/// Moves what was packed for the level to a file beside `path`, if it is much.
FE_NODISCARD fe_status fe_spill_level(fe_spill *s, fe_ir *ir, const char *path,
                                      const fe_model_info *info);
void fe_spill_end(fe_spill *s);

struct fe_emission {
  fe_spill spill;
  fe_vec(fe_level *) levels;
  fe_vec(fe_unit) units; // of all levels
};

/// What holds for all levels; *out has their weights. Also settles what they
/// have to have in common.
FE_NODISCARD fe_status fe_levels_merge(fe_ir *ir, const fe_emission *e,
                                       const fe_emit_options *options,
                                       fe_model_info *out);
/// The public model.
FE_NODISCARD fe_status fe_levels_unit(fe_diags *diags, const fe_emission *e,
                                      const fe_emit_options *options,
                                      const fe_model_info *info, fe_unit *out);

//===-- Packaged libraries: native.c
//------------------------------------------------------------------===//

/// Which of them the module calls, a bit each.
unsigned fe_native_used(LLVMModuleRef m);
/// NULL: there is no number i.
const char *fe_native_symbol(unsigned i);
void *fe_native_address(unsigned i);

//===-- Files: object.c, archive.c, link.c
//---------------------------------===//

typedef struct fe_bytes {
  const void *data;
  size_t size;
} fe_bytes;

/// The relocatable object with native i, see fe_native_used.
fe_bytes fe_native_object(unsigned i);

/// A relocatable object that reserves the section of the weights under the
/// symbol <prefix>.weights, without contents. `shared`: for a shared object;
/// `machine`: of ELF.
fe_bytes fe_weights_object(fe_arena *arena, const fe_model_info *info,
                           bool hidden, bool shared, uint16_t machine);
/// Gives the reserved section of the ELF file that starts at `base` in `fd`
/// (relocatable or shared; the last thing in the file) its contents, written
/// behind everything else.
FE_NODISCARD fe_status fe_weights_fill(fe_diags *diags, int fd,
                                       const char *path, uint64_t base,
                                       const fe_model_info *info);
/// Writes a blob at a place of a file; false: errno. One that is promised is
/// never in memory as a whole, unless it has one part.
bool fe_blob_write(const fe_blob *b, int fd, uint64_t at);
/// All blobs, from `at` on; in pieces of large pages, `at` being the start of
/// one.
bool fe_blobs_write(const fe_model_info *info, int fd, uint64_t at);
bool fe_blobs_write_huge(const fe_model_info *info, int fd, uint64_t at);
#define FE_HUGE_PAGE ((size_t)2 << 20)
/// Reads or writes all of it; false: errno, or the file ends before.
bool fe_read_at(int fd, void *to, size_t n, uint64_t at);
bool fe_write_at(int fd, const void *from, size_t n, uint64_t at);
/// Copies all blobs to their places; `at` has weight_bytes zero bytes.
void fe_weights_copy(const fe_model_info *info, void *at);
/// Makes symbols of a relocatable object local, but for those of the public
/// interface.
FE_NODISCARD fe_status fe_object_localize(fe_diags *diags, int fd,
                                          const char *path, const char *prefix);
/// An archive at `fd` with the one member `object` (a file), to be filled in.
FE_NODISCARD fe_status fe_archive_write(
    fe_diags *diags, int fd, const char *path, int object, const char *member,
    const char *const *symbols, unsigned n_symbols, const fe_model_info *info);
/// Reports, before the work is done, when the artifact cannot be written.
FE_NODISCARD fe_status fe_link_possible(fe_diags *diags,
                                        const fe_emit_options *options);
/// Artifact from the units' objects.
FE_NODISCARD fe_status fe_link(fe_diags *diags, const fe_emit_options *options,
                               const fe_model_info *info, unsigned n,
                               const fe_unit *units);

//===-- In this process: jit.c
//---------------------------------------------===//

/// Takes the units' objects over.
FE_NODISCARD fe_status fe_jit_load(fe_diags *diags, const fe_model_info *info,
                                   unsigned n, fe_unit *units, fe_jit **out);

#endif
