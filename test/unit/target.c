//===- target.c - tests of the descriptions of processors ---------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every row must be a processor that LLVM knows.
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "target/processors.h"

#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <string.h>

/// LLVM takes another processor's description, with a warning, when it does
/// not know one: then it does not say "+avx512f" and the like of itself.
static void known_to_llvm(const fe_target *t) {
  LLVMTargetRef target;
  char *message = NULL;
  assert_int_equal(LLVMGetTargetFromTriple(t->triple, &target, &message), 0);
  LLVMTargetMachineRef tm = LLVMCreateTargetMachine(
      target, t->triple, t->cpu, t->features, LLVMCodeGenLevelDefault,
      LLVMRelocPIC, LLVMCodeModelDefault);
  assert_non_null(tm);
  LLVMDisposeTargetMachine(tm);
}

/// The machine has what its widest row needs, or not; never a wider one.
static void runs_here(void **state) {
  (void)state;
  fe_target storage, other;
  const fe_target *host = fe_target_find("native", &storage);
  if (!host)
    return;
  assert_true(fe_target_runs_here(host));
  for (const fe_processor *p = fe_processors; p->name; p++) {
    const fe_target *t = fe_target_find(p->name, &other);
    bool same = strncmp(t->triple, host->triple, 6) == 0;
    bool can = fe_target_runs_here(t);
    assert_false(can && !same);
    assert_false(can && t->vector_bits > host->vector_bits);
    assert_false(can && t->dot_u8s8 && !host->dot_u8s8);
  }
}

static void targets(void **state) {
  (void)state;
  fe_target storage;
  assert_null(fe_target_find("nosuch", &storage));
  assert_null(fe_target_find(NULL, &storage));
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  for (unsigned i = 0; fe_targets[i]; i++) {
    const fe_target *t = fe_target_find(fe_targets[i]->name, &storage);
    assert_ptr_equal(t, fe_targets[i]);
    assert_true(fe_lanes_f32(t) >= 4 && t->vector_registers >= 16);
    assert_true(t->l1_bytes < t->l2_bytes && t->l2_bytes < t->l3_bytes);
    known_to_llvm(t);
  }
  for (const fe_processor *p = fe_processors; p->name; p++) {
    const fe_target *t = fe_target_find(p->name, &storage);
    assert_ptr_equal(t, &storage);
    assert_string_equal(t->cpu, p->name);
    assert_int_equal(t->dot_u8s8, strstr(p->has, "avx512vnni") != NULL ||
                                      !strcmp(p->name, "alderlake"));
    known_to_llvm(t);
  }
  const fe_target *host = fe_target_find("native", &storage);
  if (!host) // an architecture without a row
    return;
  assert_ptr_equal(host, &storage);
  assert_string_equal(host->name, "native");
  assert_true(strlen(host->cpu) > 0 && strlen(host->features) > 0);
  fe_target again;
  assert_string_equal(fe_target_find("native", &again)->features,
                      host->features);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(targets),
                                     cmocka_unit_test(runs_here)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
