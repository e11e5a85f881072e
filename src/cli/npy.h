//===- npy.h - NumPy's array files -------------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Format: NumPy Enhancement Proposal 1, versions 1 to 3. Little endian, C
// order. Types that NumPy lacks are its integers of the same size: bfloat16 is
// uint16, float8 and uint4 are uint8, int4 is int8.
//
//===----------------------------------------------------------------------===//
#ifndef FE_NPY_H
#define FE_NPY_H

#include "ferrule/model.h"

/// Reads a file into *out (data: malloc, the caller's; strings have their
/// characters in it too). NULL, or what is wrong.
const char *fe_npy_read(const char *path, ferrule_tensor *out);
/// The same data as a type that NumPy lacks, when that is written so.
void fe_npy_as(ferrule_tensor *t, int dtype);
/// NULL, or what went wrong.
const char *fe_npy_write(const char *path, const ferrule_tensor *t);
/// A tensor of strings as read, of which `data` is a copy of `old`.
void fe_npy_moved(ferrule_tensor *t, const void *old);
/// Bytes of one element; 0 for types without a fixed size.
size_t fe_element_size(int dtype);
const char *fe_element_name(int dtype); // "float32"
/// Number of elements; -1 when negative or too large.
int64_t fe_tensor_elements(const ferrule_tensor *t);

#endif
