//===- regex_program.h - compiled regular expressions ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What src/op writes into a model and regex.c reads. Numbers are int32, little
// endian as everything in a model; the program begins with a header.
//
// A table (FE_REGEX_TABLE): classes[256], the column of every byte; then for
// each state whether the text may end there and, per column, the next state;
// -1: nothing matches any more. State 0 is the first.
//
// Nodes (FE_REGEX_NODES): fe_regex_node each, node 0 is the first.
//
//===----------------------------------------------------------------------===//
#ifndef FE_REGEX_PROGRAM_H
#define FE_REGEX_PROGRAM_H

#include <stdint.h>

enum { FE_REGEX_TABLE, FE_REGEX_NODES };

typedef struct fe_regex_header {
  int32_t form;
  int32_t count;   // of states or nodes
  int32_t columns; // of a table
  int32_t reserved;
} fe_regex_header;

/// What is asked between two bytes.
enum {
  FE_REGEX_TEXT_BEGIN = 1,
  FE_REGEX_TEXT_END = 2,
  FE_REGEX_LINE_BEGIN = 4,
  FE_REGEX_LINE_END = 8,
  FE_REGEX_WORD_EDGE = 16,
  FE_REGEX_NO_WORD_EDGE = 32
};

enum { FE_REGEX_RANGE, FE_REGEX_SPLIT, FE_REGEX_ASK, FE_REGEX_ACCEPT };

typedef struct fe_regex_node {
  int32_t kind;
  int32_t next, other; // other: of splits
  uint8_t first, last; // of ranges
  uint16_t ask;        // one of the above
} fe_regex_node;

/// Bytes on both sides of a place; -1: there is none.
static inline unsigned fe_regex_facts(int before, int after) {
  unsigned word[2] = {0, 0}, side = 0;
  for (int c = before; side < 2; c = after, side++)
    word[side] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                 (c >= '0' && c <= '9') || c == '_';
  return (before < 0 ? FE_REGEX_TEXT_BEGIN | FE_REGEX_LINE_BEGIN : 0u) |
         (after < 0 ? FE_REGEX_TEXT_END | FE_REGEX_LINE_END : 0u) |
         (before == '\n' ? FE_REGEX_LINE_BEGIN : 0u) |
         (after == '\n' ? FE_REGEX_LINE_END : 0u) |
         (word[0] != word[1] ? FE_REGEX_WORD_EDGE : FE_REGEX_NO_WORD_EDGE);
}

#endif
