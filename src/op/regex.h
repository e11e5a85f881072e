//===- regex.h - regular expressions when compiling --------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The syntax of RE2 to an automaton over the bytes of UTF-8: a table with one
// state per step where that stays small, else the nodes that the table would
// be made of. runtime/regex.c walks either.
//
//===----------------------------------------------------------------------===//
#ifndef FE_OP_REGEX_H
#define FE_OP_REGEX_H

#include "base/base.h"
#include "regex_program.h"

/// A set of characters: ranges that rise and do not touch.
typedef struct fe_range {
  uint32_t first, last;
} fe_range;
typedef fe_vec(fe_range) fe_charset;

/// The syntax tree.
typedef enum fe_regex_kind {
  FE_REGEX_EMPTY,
  FE_REGEX_SET,
  FE_REGEX_BYTE, // any byte
  FE_REGEX_ASSERT,
  FE_REGEX_CONCAT,
  FE_REGEX_EITHER,
  FE_REGEX_REPEAT
} fe_regex_kind;
typedef struct fe_regex {
  fe_regex_kind kind;
  fe_charset set;
  unsigned assertion;     // FE_REGEX_TEXT_BEGIN, ...
  int least, most;        // of a repetition; most -1: no limit
  struct fe_regex *a, *b; // b: of concat, either
} fe_regex;

/// NULL: `*error` says what is wrong.
fe_regex *fe_regex_parse(fe_arena *arena, const char *pattern, size_t size,
                         const char **error);
/// The program as runtime/regex.c reads it, in the arena; its size in `*size`.
/// NULL: the expression is too large.
void *fe_regex_compile(fe_arena *arena, const fe_regex *r, size_t *size);

//===-- Sets: charset.c
//---------------------------------------------------------===//

void fe_charset_add(fe_arena *arena, fe_charset *s, uint32_t first,
                    uint32_t last);
/// Brings the ranges into order; the others give such sets.
void fe_charset_order(fe_charset *s);
void fe_charset_negate(fe_arena *arena, fe_charset *s);
/// Adds what differs from members by case only.
void fe_charset_fold(fe_arena *arena, fe_charset *s);
/// A category or script of Unicode, or "Any". False: there is none.
bool fe_charset_class(fe_arena *arena, fe_charset *s, const char *name,
                      size_t n);

#endif
