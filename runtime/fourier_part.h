//===- fourier_part.h - fast Fourier transforms of one type ------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the runtime for REAL; fe_rt_ and PART begin the names of its
// functions. Lines are transformed as many at a time as a vector has lanes,
// where there are that many; a long one is a matrix whose columns, then rows,
// are such lines (fourier_lines.h). A line takes one pass for each factor of
// its length (fourier_passes.h). The order of all additions is that of FFTPACK.
//
//===----------------------------------------------------------------------===//
#include "fourier.h"

#include "run.h"

#define FE_INLINE __attribute__((always_inline)) static inline
#define FE_APART __attribute__((noinline))
#define FE_PASTE(a, b) a##b
#define FE_NAMED(a, b) FE_PASTE(a, b)

#define VALUE REAL
#define FE_NAME(x) FE_PASTE(one_, x)
#include "fourier_passes.h"
#include "fourier_tables.h"
#undef FE_NAME
#undef VALUE
typedef REAL many_lanes __attribute__((vector_size(FE_FFT_LANES)));
enum { LANES = FE_FFT_LANES / sizeof(REAL) };
#define VALUE many_lanes
#define FE_NAME(x) FE_PASTE(many_, x)
#include "fourier_passes.h"
#undef FE_NAME
#undef VALUE

#include "fourier_lines.h"

/// numbers: length, lines; gives how many numbers its tables, the room for
/// making these, and the room for a run have.
int32_t FE_NAMED(PART, sizes)(fe_run *run, ferrule_tensor *args,
                              int64_t *numbers) {
  (void)run;
  (void)args;
  int64_t n = numbers[0];
  if (n < 1)
    return 1;
  if (n > FE_FFT_MAX)
    return 2;
  fe_fft f = fe_fft_of(n);
  numbers[2] = fe_fft_tables_size(&f);
  numbers[3] = fe_fft_fill_room(&f);
  numbers[4] = fe_fft_room(&f, numbers[1], sizeof(REAL));
  return 0;
}

/// args: tables, room. numbers: length.
int32_t FE_NAMED(PART, tables)(fe_run *run, ferrule_tensor *args,
                               int64_t *numbers) {
  (void)run;
  fe_fft f = fe_fft_of(numbers[0]);
  one_fill_tables(&f, args[0].data, args[1].data);
  return 0;
}
