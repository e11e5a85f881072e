//===- processors.h - processors known by name -------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processors one may compile for without having one: a row of the table in
// target.c with caches and abilities of its own.
//
//===----------------------------------------------------------------------===//
#ifndef FE_PROCESSORS_H
#define FE_PROCESSORS_H

#include "target/target.h"

typedef struct fe_processor {
  const char *name;    // LLVM's
  const char *like;    // name of a row of fe_targets
  unsigned l1, l2, l3; // KiB of data, per core; l3 of what shares it
  const char *has;     // beyond that row: "+a,+b"
} fe_processor;

extern const fe_processor fe_processors[]; // the last one has no name

#endif
