//===- model.h - the ABI of compiled models ----------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compiled model is one constant, `<prefix>_model` (default prefix:
// `ferrule`), with everything to query and run it. It has no mutable state:
// any number of threads may run it at once, each with its own arena.
//
//   extern const ferrule_model mnist_model;
//   ferrule_tensor in = {.data = image, .rank = 4, .dims = {1, 1, 28, 28}, ..};
//   int64_t dims[FERRULE_MAX_SYMBOLS];
//   int e = ferrule_model_symbols(&mnist_model, &in, dims);
//   void *arena = ...mnist_model.arena_size(dims) bytes, 64-byte aligned...;
//   e = ferrule_model_run(&mnist_model, &in, &out, arena, NULL);
//
//===----------------------------------------------------------------------===//
#ifndef FERRULE_MODEL_H
#define FERRULE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FERRULE_ABI_VERSION 3
#define FERRULE_MAX_RANK 16
#define FERRULE_MAX_SYMBOLS 64
#define FERRULE_ARENA_ALIGN 64

/// Element types, numbered as in the ONNX standard (TensorProto.DataType); the
/// last three, which have no number there, are of values that are not tensors.
typedef enum ferrule_dtype {
  FERRULE_F32 = 1,
  FERRULE_U8 = 2,
  FERRULE_I8 = 3,
  FERRULE_U16 = 4,
  FERRULE_I16 = 5,
  FERRULE_I32 = 6,
  FERRULE_I64 = 7,
  FERRULE_STRING = 8,
  FERRULE_BOOL = 9, // one byte, 0 or 1
  FERRULE_F16 = 10,
  FERRULE_F64 = 11,
  FERRULE_U32 = 12,
  FERRULE_U64 = 13,
  FERRULE_C64 = 14, // real part, imaginary part
  FERRULE_C128 = 15,
  FERRULE_BF16 = 16,
  FERRULE_F8E4M3FN = 17,
  FERRULE_F8E4M3FNUZ = 18,
  FERRULE_F8E5M2 = 19,
  FERRULE_F8E5M2FNUZ = 20,
  // Types below 8 bits have a byte per element, as in Python's ml_dtypes: the
  // value in the low bits. What an input has above them is ignored; results of
  // a computation are extended by their sign, floats by zeros.
  FERRULE_U4 = 21,
  FERRULE_I4 = 22,
  FERRULE_F4E2M1 = 23,
  FERRULE_F8E8M0 = 24,
  FERRULE_U2 = 25,
  FERRULE_I2 = 26,
  FERRULE_F6E2M3 = 27,
  FERRULE_F6E3M2 = 28,
  FERRULE_SEQUENCE = 1000,
  FERRULE_OPTIONAL = 1001,
  FERRULE_MAP = 1002
} ferrule_dtype;

#ifdef __cplusplus
#define FERRULE_ALIGN16 alignas(16)
#else
#define FERRULE_ALIGN16 _Alignas(16)
#endif

/// An element of a tensor of strings: `size` bytes of UTF-8 at `data`, without
/// a zero behind them. Arrays of it must be aligned to 16 bytes, as malloc and
/// declared variables are.
typedef struct ferrule_string {
  FERRULE_ALIGN16 const char *data; // may be NULL when size is 0
  int64_t size;
} ferrule_string;

/// A dense row-major tensor, aligned for its element type (complex128: 16
/// bytes). Inputs: the caller fills in everything. Outputs:
/// the caller gives `data` with room for `capacity` bytes, or data NULL, then
/// the model allocates through the run options' allocator (ownership goes to
/// the caller; without an allocator only models with sizes known only during
/// the run do so, others give FERRULE_RUN_SMALL_OUTPUT). Rank and dims of
/// outputs are written by the model.
///
/// Also any other value: then dtype is one of the last three, rank is 0, and
/// data points to one pointer, to the ferrule_sequence, the ferrule_map, or the
/// ferrule_tensor that an optional holds (NULL: it holds nothing). An output of
/// strings or with a value that is no tensor has all that it points to in its
/// own memory at `data`, so one release of that is enough.
typedef struct ferrule_tensor {
  void *data;
  int64_t capacity; // bytes at data; outputs only
  int32_t dtype;    // ferrule_dtype
  int32_t rank;
  int64_t dims[FERRULE_MAX_RANK];
} ferrule_tensor;

/// Items are tensors, or again values of another kind.
typedef struct ferrule_sequence {
  int64_t count;
  const ferrule_tensor *items;
} ferrule_sequence;

/// Two tensors of rank 1 and the same length; no key is there twice.
typedef struct ferrule_map {
  ferrule_tensor keys, values;
} ferrule_map;

/// What an input or output of the model looks like.
typedef struct ferrule_value_info ferrule_value_info;
struct ferrule_value_info {
  const char *name;
  int32_t dtype;
  int32_t rank; // -1: any (of what a sequence or optional holds)
  /// >= 0: fixed size; -1-s: symbol s; INT64_MIN: known only after the run.
  const int64_t *dims;
  /// What a sequence or optional holds; of a map keys, then values. Their dims
  /// are numbers or INT64_MIN. NULL for tensors.
  const ferrule_value_info *element;
};

typedef enum ferrule_run_status {
  FERRULE_RUN_OK = 0,
  FERRULE_RUN_BAD_INPUT = -1,   // wrong type, rank or size of an input
  FERRULE_RUN_NO_MEMORY = -2,   // the allocator gave NULL
  FERRULE_RUN_SMALL_OUTPUT = -3 // an output's capacity is too small
  // > 0: a check of the model failed; see ferrule_model.messages
} ferrule_run_status;

/// Does body(context, begin, end) for disjoint parts that cover [0, n), in any
/// order, at once or not; returns when all are done.
typedef void (*ferrule_body)(void *context, int64_t begin, int64_t end);

/// How to run; every member may be zero. One such struct may be shared by
/// concurrent runs if its functions may be called concurrently.
typedef struct ferrule_run_options {
  /// Caller's threads: splits [0, n) among `threads` threads. NULL: the
  /// calling thread does all.
  void (*parallel_for)(void *user, ferrule_body body, void *context, int64_t n);
  /// For tensors whose size is known only during the run, strings, and values
  /// that are not tensors. NULL: malloc, free (models without such values do
  /// not refer to them).
  void *(*allocate)(void *user, size_t bytes);
  void (*release)(void *user, void *block);
  void *user;
  int32_t threads; // how many parallel_for uses, for splitting
} ferrule_run_options;

typedef struct ferrule_model ferrule_model;
struct ferrule_model {
  uint32_t abi_version;
  const char *name;
  const char *compiler; // "ferrule 0.1.0"
  const char *cpu;      // what it was compiled for
  uint32_t n_inputs, n_outputs, n_symbols, n_messages;
  const ferrule_value_info *inputs, *outputs;
  const char *const *symbols;  // names of the symbolic dims
  const char *const *messages; // of run status 1, 2, ...
  uint64_t weight_bytes;
  /// Bytes of arena that a run with these symbol values needs.
  /// INT64_MAX: the model cannot take inputs of these sizes; a run, which then
  /// looks at no arena, gives the status that says why.
  int64_t (*arena_size)(const int64_t *symbols);
  /// Low level; use ferrule_model_run, which checks the inputs.
  int32_t (*run)(const ferrule_tensor *inputs, ferrule_tensor *outputs,
                 void *arena, const ferrule_run_options *options);
  /// Compiled for several levels of a processor (`cpu` lists them): each as a
  /// model by itself, the lowest first. The two functions above are those of
  /// the best that this machine has; where it has none, arena_size is INT64_MAX
  /// and the run's status says so.
  const ferrule_model *const *levels;
  uint32_t n_levels; // 0: for one only
};

/// Values of the symbolic dims for these inputs; checks type, rank and dims of
/// every input. Gives a ferrule_run_status. `symbols`: room for n_symbols.
int ferrule_model_symbols(const ferrule_model *model,
                          const ferrule_tensor *inputs, int64_t *symbols);
/// Runs the model. `arena`: FERRULE_ARENA_ALIGN-aligned, arena_size bytes; it
/// may be reused by the next run. `options` may be NULL. Kernels keep blocks on
/// the stack, up to 1.1 MB in convolution networks: threads that call this, or
/// that parallel_for uses, need 2 MB of it where the system gives them less.
int ferrule_model_run(const ferrule_model *model, const ferrule_tensor *inputs,
                      ferrule_tensor *outputs, void *arena,
                      const ferrule_run_options *options);
/// Text for any status of a run. Never NULL.
const char *ferrule_model_message(const ferrule_model *model, int status);

/// A pool of threads that spin briefly, then sleep. `ferrule_pool_options`
/// gives run options that use it. Pools are not shared by concurrent runs.
typedef struct ferrule_pool ferrule_pool;
ferrule_pool *ferrule_pool_create(int threads); // NULL: no memory
void ferrule_pool_destroy(ferrule_pool *pool);
ferrule_run_options ferrule_pool_options(ferrule_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
