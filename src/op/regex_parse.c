//===- regex_parse.c - the syntax of RE2 -------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only whether a whole text matches is asked, so groups capture nothing and it
// does not matter which of several ways is preferred.
//
//===----------------------------------------------------------------------===//
#include "op/regex.h"

#include <stdlib.h>
#include <string.h>

#define MAX_REPEAT 1000
#define MAX_DEPTH 500

enum { FOLD = 1, MULTI_LINE = 2, DOT_NEWLINE = 4, SWAP_GREED = 8 };

typedef struct parser {
  fe_arena *arena;
  const char *at, *end;
  unsigned flags, depth;
  const char *error; // the first one
} parser;

static fe_regex *fail(parser *p, const char *error) {
  if (!p->error)
    p->error = error;
  return NULL;
}

static bool next_is(const parser *p, const char *text) {
  size_t n = strlen(text);
  return (size_t)(p->end - p->at) >= n && !memcmp(p->at, text, n);
}

static bool skip(parser *p, const char *text) {
  if (!next_is(p, text))
    return false;
  p->at += strlen(text);
  return true;
}

/// The next character, decoded and passed by.
static bool read_char(parser *p, uint32_t *out) {
  static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  const unsigned char *s = (const unsigned char *)p->at;
  size_t left = (size_t)(p->end - p->at);
  if (!left) {
    fail(p, "it ends too early");
    return false;
  }
  unsigned more = s[0] < 0x80   ? 0
                  : s[0] < 0xc0 ? 4
                  : s[0] < 0xe0 ? 1
                  : s[0] < 0xf0 ? 2
                  : s[0] < 0xf8 ? 3
                                : 4;
  uint32_t c = more ? s[0] & (0x3fu >> more) : s[0];
  bool ok = more < 4 && left > more;
  for (unsigned i = 1; ok && i <= more; ++i) {
    ok = (s[i] & 0xc0) == 0x80;
    c = c << 6 | (s[i] & 0x3f);
  }
  if (!ok || c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
    fail(p, "it is not UTF-8");
    return false;
  }
  p->at += more + 1;
  *out = c;
  return true;
}

//===-- Nodes ---------------------------------------------------------------//

static fe_regex *node(parser *p, fe_regex_kind kind, fe_regex *a, fe_regex *b) {
  fe_regex *r = FE_NEW(p->arena, fe_regex);
  *r = (fe_regex){.kind = kind, .a = a, .b = b};
  return r;
}

static fe_regex *set_node(parser *p, fe_charset set) {
  if (p->flags & FOLD)
    fe_charset_fold(p->arena, &set);
  fe_regex *r = node(p, FE_REGEX_SET, NULL, NULL);
  r->set = set;
  return r;
}

static fe_regex *char_node(parser *p, uint32_t c) {
  fe_charset set = {0};
  fe_charset_add(p->arena, &set, c, c);
  return set_node(p, set);
}

static fe_regex *ask(parser *p, unsigned assertion) {
  fe_regex *r = node(p, FE_REGEX_ASSERT, NULL, NULL);
  r->assertion = assertion;
  return r;
}

//===-- Classes -------------------------------------------------------------//

/// Pairs of first and last, ended by a zero.
static const struct {
  const char *name, *ranges;
} classes[] = {
    {"alnum", "09AZaz"},
    {"alpha", "AZaz"},
    {"ascii", "\x01\x7f"}, // and NUL, see add_named
    {"blank", "\t\t  "},
    {"cntrl", "\x01\x1f\x7f\x7f"},
    {"digit", "09"},
    {"graph", "!~"},
    {"lower", "az"},
    {"print", " ~"},
    {"punct", "!/:@[`{~"},
    {"space", "\t\r  "},
    {"upper", "AZ"},
    {"word", "09AZ__az"},
    {"xdigit", "09AFaf"},
    // By one letter, as in \d; \s has no vertical tab.
    {"d", "09"},
    {"s", "\t\n\f\r  "},
    {"w", "09AZ__az"},
};

/// Adds `own`, or all that is not in it.
static void add_class(parser *p, fe_charset *s, fe_charset *own, bool negated) {
  if (p->flags & FOLD)
    fe_charset_fold(p->arena, own);
  if (negated)
    fe_charset_negate(p->arena, own);
  for (size_t k = 0; k < own->n; ++k)
    fe_charset_add(p->arena, s, own->at[k].first, own->at[k].last);
}

static bool add_named(parser *p, fe_charset *s, const char *name, size_t n,
                      bool negated) {
  for (size_t i = 0; i < FE_COUNT(classes); ++i) {
    if (strlen(classes[i].name) != n || memcmp(classes[i].name, name, n) != 0)
      continue;
    fe_charset own = {0};
    for (const char *r = classes[i].ranges; *r; r += 2)
      fe_charset_add(p->arena, &own, (unsigned char)r[0], (unsigned char)r[1]);
    if (!strncmp(name, "ascii", n) || !strncmp(name, "cntrl", n))
      fe_charset_add(p->arena, &own, 0, 0);
    fe_charset_order(&own);
    add_class(p, s, &own, negated);
    return true;
  }
  return false;
}

/// \d \s \w \pN \p{Greek} and their opposites. False: something else, or
/// reported.
static bool read_group(parser *p, fe_charset *s) {
  if (p->end - p->at < 2 || p->at[0] != '\\')
    return false;
  char c = p->at[1], lower = (char)(c | 0x20);
  bool negated = c != lower;
  if (lower == 'd' || lower == 's' || lower == 'w') {
    p->at += 2;
    return add_named(p, s, &lower, 1, negated);
  }
  if (lower != 'p')
    return false;
  p->at += 2;
  const char *name = p->at;
  size_t n = 1;
  if (skip(p, "{")) {
    name = p->at;
    const char *close = memchr(name, '}', (size_t)(p->end - name));
    if (!close) {
      fail(p, "a Unicode class has no }");
      return false;
    }
    n = (size_t)(close - name);
    p->at = close + 1;
    if (n && *name == '^') {
      negated = !negated;
      ++name, --n;
    }
  } else if (p->at < p->end) {
    ++p->at;
  } else {
    n = 0;
  }
  fe_charset own = {0};
  if (!fe_charset_class(p->arena, &own, name, n)) {
    fail(p, "a Unicode class is not known");
    return false;
  }
  add_class(p, s, &own, negated);
  return true;
}

static int digit(const parser *p, int base) {
  if (p->at == p->end)
    return -1;
  char c = *p->at, l = (char)(c | 0x20);
  int v = c >= '0' && c <= '9'   ? c - '0'
          : l >= 'a' && l <= 'f' ? l - 'a' + 10
                                 : 99;
  return v < base ? v : -1;
}

/// A number of at most `most` digits.
static unsigned read_digits(parser *p, int base, unsigned most,
                            uint32_t *value) {
  unsigned n = 0;
  for (int d; n < most && (d = digit(p, base)) >= 0; ++n, ++p->at)
    *value = *value * (uint32_t)base + (uint32_t)d;
  return n;
}

/// Behind a backslash.
static bool read_escape(parser *p, uint32_t *out) {
  static const char letters[] = "afnrtv", values[] = "\a\f\n\r\t\v";
  if (p->at == p->end) {
    fail(p, "it ends with a backslash");
    return false;
  }
  uint32_t c;
  if (!read_char(p, &c))
    return false;
  *out = 0;
  const char *letter = c && c < 128 ? strchr(letters, (int)c) : NULL;
  if (letter) {
    *out = (uint32_t)values[letter - letters];
    return true;
  }
  if (c == '0' || (c >= '1' && c <= '7' && digit(p, 8) >= 0)) {
    *out = c - '0';
    read_digits(p, 8, 2, out);
    return true;
  }
  if (c == 'x') {
    bool ok = skip(p, "{") ? read_digits(p, 16, 6, out) && skip(p, "}") &&
                                 *out <= 0x10ffff
                           : read_digits(p, 16, 2, out) == 2;
    if (!ok)
      fail(p, "a number behind \\x is wrong");
    return ok;
  }
  bool alnum = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  if (c < 128 && !alnum) {
    *out = c;
    return true;
  }
  fail(p, c >= '1' && c <= '9' ? "it refers back to a group"
                               : "the letter behind a backslash means nothing");
  return false;
}

static bool read_member(parser *p, uint32_t *out) {
  return skip(p, "\\") ? read_escape(p, out) : read_char(p, out);
}

/// [:alpha:]. False: something else, or reported.
static bool read_posix(parser *p, fe_charset *s) {
  const char *name = p->at + 2, *close = NULL;
  for (const char *c = name; !close && c + 1 < p->end; ++c)
    if (c[0] == ':' && c[1] == ']')
      close = c;
  if (!close)
    return false;
  size_t n = (size_t)(close - name);
  bool negated = n && *name == '^';
  if (n - negated < 2 ||
      !add_named(p, s, name + negated, n - negated, negated)) {
    fail(p, "the name of a class is not known");
    return false;
  }
  p->at = close + 2;
  return true;
}

/// Behind the bracket.
static fe_regex *read_class(parser *p) {
  fe_charset s = {0};
  bool negated = skip(p, "^");
  for (bool first = true; first || !next_is(p, "]"); first = false) {
    if (p->at == p->end)
      return fail(p, "a [ has no ]");
    if (next_is(p, "[:") && read_posix(p, &s))
      continue;
    if (p->error)
      return NULL;
    if (read_group(p, &s))
      continue;
    uint32_t low, high;
    if (p->error || !read_member(p, &low))
      return NULL;
    high = low;
    if (next_is(p, "-") && p->end - p->at >= 2 && p->at[1] != ']') {
      ++p->at;
      if (!read_member(p, &high))
        return NULL;
      if (high < low)
        return fail(p, "a range of characters runs backwards");
    }
    fe_charset_add(p->arena, &s, low, high);
  }
  ++p->at;
  fe_charset_order(&s);
  if (p->flags & FOLD)
    fe_charset_fold(p->arena, &s);
  if (negated)
    fe_charset_negate(p->arena, &s);
  fe_regex *r = node(p, FE_REGEX_SET, NULL, NULL);
  r->set = s;
  return r;
}

//===-- Expressions ---------------------------------------------------------//

static fe_regex *read_either(parser *p);

/// Flags behind "(?", up to and with the : or ). False: not flags.
static bool read_flags(parser *p, bool *group) {
  static const char letters[] = "imsU";
  unsigned flags = p->flags;
  bool off = false, any = false;
  for (; p->at < p->end; ++p->at) {
    char c = *p->at;
    const char *letter = c ? strchr(letters, c) : NULL;
    if (letter) {
      unsigned bit = 1u << (letter - letters);
      flags = off ? flags & ~bit : flags | bit;
      any = true;
    } else if (c == '-' && !off) {
      off = true;
      any = false;
    } else if ((c == ':' || c == ')') && (any || !off)) {
      *group = c == ':';
      ++p->at;
      p->flags = flags;
      return true;
    } else {
      return false;
    }
  }
  return false;
}

/// Behind "(". An empty one is the result of flags alone.
static fe_regex *read_group_expression(parser *p, bool *is_flags) {
  unsigned flags = p->flags;
  *is_flags = false;
  if (skip(p, "?P<") || (next_is(p, "?<") && !next_is(p, "?<=") &&
                         !next_is(p, "?<!") && skip(p, "?<"))) {
    const char *name = p->at;
    while (p->at < p->end && *p->at != '>')
      ++p->at;
    if (p->at == name || !skip(p, ">"))
      return fail(p, "the name of a group is wrong");
    for (const char *c = name; c < p->at - 1; ++c)
      if (!((*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
            (*c >= 'a' && *c <= 'z') || *c == '_' || *c < 0))
        return fail(p, "the name of a group is wrong");
  } else if (skip(p, "?")) {
    bool group;
    if (!read_flags(p, &group))
      return fail(p, "what follows (? is not known: there is no looking ahead "
                     "or behind");
    if (!group) {
      *is_flags = true;
      return node(p, FE_REGEX_EMPTY, NULL, NULL);
    }
  }
  fe_regex *r = read_either(p);
  if (r && !skip(p, ")"))
    return fail(p, "a ( has no )");
  p->flags = flags;
  return r;
}

/// \A \z \b \B \C \Q..\E; NULL: something else.
static fe_regex *read_special(parser *p) {
  static const struct {
    char letter;
    unsigned assertion;
  } asks[] = {{'A', FE_REGEX_TEXT_BEGIN},
              {'z', FE_REGEX_TEXT_END},
              {'b', FE_REGEX_WORD_EDGE},
              {'B', FE_REGEX_NO_WORD_EDGE}};
  if (p->end - p->at < 2)
    return NULL;
  char c = p->at[1];
  for (size_t i = 0; i < FE_COUNT(asks); ++i)
    if (asks[i].letter == c) {
      p->at += 2;
      return ask(p, asks[i].assertion);
    }
  if (c == 'C') {
    p->at += 2;
    return node(p, FE_REGEX_BYTE, NULL, NULL);
  }
  return NULL;
}

/// NULL without an error: the end of this expression. `is_flags`: not an atom.
static fe_regex *read_atom(parser *p, bool *is_flags) {
  uint32_t c;
  *is_flags = false;
  if (p->at == p->end || *p->at == '|' || *p->at == ')')
    return NULL;
  if (*p->at == '\\') {
    fe_charset s = {0};
    fe_regex *special = read_special(p);
    if (special)
      return special;
    if (read_group(p, &s)) {
      fe_charset_order(&s);
      fe_regex *r = node(p, FE_REGEX_SET, NULL, NULL);
      r->set = s;
      return r;
    }
    ++p->at;
    return p->error || !read_escape(p, &c) ? NULL : char_node(p, c);
  }
  if (skip(p, "("))
    return read_group_expression(p, is_flags);
  if (skip(p, "["))
    return read_class(p);
  if (skip(p, "^"))
    return ask(p, p->flags & MULTI_LINE ? FE_REGEX_LINE_BEGIN
                                        : FE_REGEX_TEXT_BEGIN);
  if (skip(p, "$"))
    return ask(p,
               p->flags & MULTI_LINE ? FE_REGEX_LINE_END : FE_REGEX_TEXT_END);
  if (skip(p, ".")) {
    fe_charset s = {0};
    if (!(p->flags & DOT_NEWLINE))
      fe_charset_add(p->arena, &s, '\n', '\n');
    fe_charset_negate(p->arena, &s);
    fe_regex *r = node(p, FE_REGEX_SET, NULL, NULL);
    r->set = s;
    return r;
  }
  return read_char(p, &c) ? char_node(p, c) : NULL;
}

/// * + ? {n} {n,} {n,m}. False: none of them.
static bool read_repeat(parser *p, int *least, int *most) {
  if (p->at == p->end)
    return false;
  static const char signs[] = "*+?";
  const char *sign = *p->at ? strchr(signs, *p->at) : NULL;
  if (sign) {
    ++p->at;
    *least = *sign == '+';
    *most = *sign == '?' ? 1 : -1;
    return true;
  }
  const char *start = p->at;
  uint32_t low = 0, high = 0;
  if (skip(p, "{") && read_digits(p, 10, 5, &low)) {
    high = low;
    bool open = false;
    if (skip(p, ","))
      open = !read_digits(p, 10, 5, (high = 0, &high));
    if (skip(p, "}")) {
      *least = (int)low;
      *most = open ? -1 : (int)high;
      return true;
    }
  }
  p->at = start;
  return false;
}

static fe_regex *repeated(parser *p, fe_regex *a, int least, int most) {
  if (least > MAX_REPEAT || most > MAX_REPEAT || (most >= 0 && most < least))
    return fail(p, "a repetition is too large, or runs backwards");
  fe_regex *r = node(p, FE_REGEX_REPEAT, a, NULL);
  r->least = least;
  r->most = most;
  return r;
}

/// What has been read of a chain; a repetition takes the last of it.
typedef struct chain {
  fe_regex *before, *last;
} chain;

static fe_regex *whole(parser *p, const chain *c) {
  if (!c->last)
    return node(p, FE_REGEX_EMPTY, NULL, NULL);
  return c->before ? node(p, FE_REGEX_CONCAT, c->before, c->last) : c->last;
}

static void append(parser *p, chain *c, fe_regex *r) {
  if (c->last)
    c->before = whole(p, c);
  c->last = r;
}

/// \Q..\E: the characters as they are.
static void read_quoted(parser *p, chain *c) {
  uint32_t one;
  p->at += 2;
  while (p->at < p->end && !skip(p, "\\E") && read_char(p, &one))
    append(p, c, char_node(p, one));
}

static fe_regex *read_concat(parser *p) {
  chain c = {0};
  // Flags and quoted texts may stand between something and its repetition, but
  // not between two repetitions.
  bool repeated_now = false, is_flags = false;
  while (!p->error) {
    int least, most;
    if (read_repeat(p, &least, &most)) {
      skip(p, "?"); // the shortest way first: the same texts match
      if (!c.last)
        return fail(p, "there is nothing to repeat");
      if (repeated_now)
        return fail(p, "a repetition is repeated");
      c.last = repeated(p, c.last, least, most);
      repeated_now = true;
      continue;
    }
    repeated_now = false;
    if (next_is(p, "\\Q")) {
      read_quoted(p, &c);
      continue;
    }
    fe_regex *r = read_atom(p, &is_flags);
    if (!r)
      break;
    if (!is_flags)
      append(p, &c, r);
  }
  return p->error ? NULL : whole(p, &c);
}

static fe_regex *read_either(parser *p) {
  if (++p->depth > MAX_DEPTH)
    return fail(p, "groups are nested too deeply");
  fe_regex *r = read_concat(p);
  while (r && skip(p, "|")) {
    fe_regex *other = read_concat(p);
    r = other ? node(p, FE_REGEX_EITHER, r, other) : NULL;
  }
  --p->depth;
  return r;
}

fe_regex *fe_regex_parse(fe_arena *arena, const char *pattern, size_t size,
                         const char **error) {
  parser p = {.arena = arena, .at = pattern, .end = pattern + size};
  fe_regex *r = read_either(&p);
  if (r && p.at < p.end)
    r = fail(&p, "a ) has no (");
  *error = p.error;
  return r;
}
