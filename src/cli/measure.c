//===- measure.c - what kernels take on this machine ----------------------===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cli/measure.h"

//===-- What the machine can do ---------------------------------------------//

enum { CHAINS = 12, STEPS = 200000 };

/// GFLOP/s of independent chains of multiply-adds on vectors of `bytes`.
/// Assembly, so that each is the one instruction that is meant.
#define FE_PEAK(name, isa, bytes, fma)                                         \
  __attribute__((target(isa))) static double name(void) {                      \
    typedef float lanes __attribute__((vector_size(bytes)));                   \
    lanes acc[CHAINS] = {{0}}, x = {0}, y = {0};                               \
    double best = 0;                                                           \
    for (int round = 0; round < 10; round++) {                                 \
      double start = fe_now();                                                 \
      for (int i = 0; i < STEPS; i++) {                                        \
        _Pragma("GCC unroll 12") for (int k = 0; k < CHAINS;                   \
                                      k++) __asm__ volatile(fma :              \
                                                            "+v"(acc[k]) :     \
                                                            "v"(x), "v"(y));   \
      }                                                                        \
      double took = fe_now() - start;                                          \
      double rate = 2.0 * STEPS * CHAINS * (bytes / 4) / took / 1e9;           \
      best = rate > best ? rate : best;                                        \
    }                                                                          \
    return best;                                                               \
  }

#ifdef __x86_64__
FE_PEAK(peak_avx512, "avx512f", 64, "vfmadd231ps %1, %2, %0")
FE_PEAK(peak_avx2, "avx2,fma", 32, "vfmadd231ps %1, %2, %0")
FE_PEAK(peak_sse, "sse4.2", 16, "mulps %1, %0\n\taddps %2, %0")

double fe_measure_peak(const fe_target *target) {
  if (target->vector_bits >= 512 && __builtin_cpu_supports("avx512f"))
    return peak_avx512();
  if (target->vector_bits >= 256 && __builtin_cpu_supports("avx2") &&
      __builtin_cpu_supports("fma"))
    return peak_avx2();
  return peak_sse();
}
#else
double fe_measure_peak(const fe_target *target) {
  (void)target;
  return 0;
}
#endif

const fe_target *fe_measure_target(const fe_cli *c, fe_target *storage) {
  return fe_target_find(c->options.target ? c->options.target : "native",
                        storage);
}

//===-- Runs ----------------------------------------------------------------//

int fe_measure_open(fe_cli *c, const char *path, const char *const *inputs,
                    int n_inputs, int threads, fe_loaded *m) {
  bool before = c->options.profile;
  c->options.profile = true;
  int code = fe_loaded_open(c, path, m);
  c->options.profile = before;
  for (int i = 0; i < n_inputs && !code; i++)
    code = fe_loaded_input_option(c, m, inputs[i]);
  if (!code)
    code = fe_loaded_randomize(c, m, 0);
  return code ? code : fe_loaded_prepare(c, m, threads);
}

void fe_measure_clear(fe_loaded *m) {
  size_t n;
  ferrule_profile_entry *entries = ferrule_program_profile(m->program, &n);
  for (size_t i = 0; i < n; i++) {
    ferrule_profile_entry *e = &entries[i];
    e->calls = e->nanoseconds = e->operations = e->bytes = 0;
    e->best_nanoseconds = e->best_operations = 0;
  }
}

int fe_measure_runs(fe_cli *c, fe_loaded *m, int *runs) {
  int wanted = *runs, code = fe_loaded_run(c, m); // warm
  fe_measure_clear(m);
  double end = fe_now() + 1;
  for (*runs = 0;
       !code && (wanted ? *runs < wanted : *runs < 3 || fe_now() < end);
       ++*runs)
    code = fe_loaded_run(c, m);
  return code;
}
