//===- values.h - values of any kind, from and to files ----------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor is a .npy file; of strings one of NumPy's 'U' or 'S'. Other values
// are several, named after it: of NAME.npy the items of a sequence are
// NAME.0.npy, NAME.1.npy and so on, what an optional holds is NAME.npy where
// there is one, a map is NAME.keys.npy and NAME.values.npy.
//
//===----------------------------------------------------------------------===//
#ifndef FE_CLI_VALUES_H
#define FE_CLI_VALUES_H

#include "base/base.h"
#include "ferrule/model.h"

/// "sequence of float32[?,3]"; `symbols`: names of symbolic dims. In `arena`.
const char *fe_value_text(fe_arena *arena, const ferrule_value_info *info,
                          const char *const *symbols);
/// Reads a value of that type. NULL, or what is wrong, in `arena` like all that
/// the value points to.
const char *fe_value_from_files(fe_arena *arena, const char *path,
                                const ferrule_value_info *info,
                                ferrule_tensor *out);
/// Writes it; calls `written` with each path. NULL, or what is wrong.
const char *fe_value_to_files(fe_arena *arena, const char *path,
                              const ferrule_tensor *value,
                              void (*written)(const char *path));
/// Calls fn for each tensor in a value, with its name: "x", "x.0", "x.keys".
void fe_value_tensors(fe_arena *arena, const char *name,
                      const ferrule_tensor *value,
                      void (*fn)(const char *name, const ferrule_tensor *tensor,
                                 void *user),
                      void *user);
/// Makes one up. `fill` gives a tensor of known dims its elements, `dim` sizes.
typedef struct fe_value_maker {
  bool (*fill)(struct fe_value_maker *m, ferrule_tensor *t);
  int64_t (*dim)(struct fe_value_maker *m, int64_t dim); // of the info
  fe_arena *arena;
  void *user;
} fe_value_maker;
bool fe_value_make(fe_value_maker *m, const ferrule_value_info *info,
                   ferrule_tensor *out);
/// An object in a tensor, as the interface has it.
void fe_value_object(fe_arena *arena, int dtype, const void *object,
                     ferrule_tensor *out);

#endif
