//===- text.c - operators on strings -----------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StringConcat, StringSplit, StringNormalizer, RegexFullMatch, and what other
// operators need for strings. Their constants (separators, words, programs) are
// operands of operators of Ferrule's own, Text*, which call the runtime.
//
//===----------------------------------------------------------------------===//
#include "op/text.h"
#include "op/compose.h"
#include "op/regex.h"
#include "unicode.h"

#include <stdlib.h>
#include <string.h>

//===-- Helpers -------------------------------------------------------------//

bool fe_is_text(MlirValue v) {
  return !fe_is_null(v) && fe_dtype_of_elem(fe_elem_of(v)) == FE_STRING;
}

fe_text fe_text_of(const char *s) { return (fe_text){s, strlen(s)}; }

/// Strings [n].
static MlirValue texts(fe_ir *ir, size_t n, const fe_text *t) {
  int64_t dim = (int64_t)n;
  return fe_constant_strings(ir, NULL, 1, &dim, t);
}

/// Brings both to their common shape.
static void broadcast(fe_ir *ir, MlirValue *a, MlirValue *b) {
  fe_dims x, y;
  bool same =
      fe_dims_of(ir, *a, &x) && fe_dims_of(ir, *b, &y) && x.rank == y.rank;
  for (unsigned i = 0; same && i < x.rank; ++i)
    same = fe_dim_same(x.d[i], y.d[i]);
  if (same)
    return;
  MlirValue old[2] = {*a, *b};
  *a =
      fe_onnx1(ir, "Where", fe_constant_scalar(ir, FE_BOOL, 1), old[0], old[1]);
  *b =
      fe_onnx1(ir, "Where", fe_constant_scalar(ir, FE_BOOL, 0), old[0], old[1]);
}

MlirValue fe_text_equal(fe_ir *ir, MlirValue a, MlirValue b) {
  broadcast(ir, &a, &b);
  return fe_onnx1(ir, "TextEqual", a, b);
}

MlirValue fe_text_rank(fe_ir *ir, MlirValue x) {
  return fe_onnx1(ir, "TextRank", x);
}

/// The type by way of which numbers of type t become texts and back.
static fe_dtype by_way_of(fe_dtype t, bool print) {
  if (t == FE_F32 && print)
    return FE_F32;
  if (fe_dtype_is_float(t))
    return t == FE_F64 || !print ? FE_F64 : FE_F32;
  return fe_dtype_is_unsigned(t) || t == FE_BOOL ? FE_U64 : FE_I64;
}

MlirValue fe_text_print(fe_ir *ir, MlirValue v, int64_t digits) {
  MlirNamedAttribute a = fe_at_i64(ir, "digits", digits);
  v = fe_x_cast(ir, v, by_way_of(fe_dtype_of_elem(fe_elem_of(v)), true));
  return fe_first(fe_onnx(ir, "text_print", 1, &v, 1, 1, &a));
}

MlirValue fe_text_cast(fe_ir *ir, MlirValue v, fe_dtype to) {
  fe_dtype from = fe_dtype_of_elem(fe_elem_of(v));
  if (from == to)
    return v;
  if (to == FE_STRING)
    return fe_text_print(ir, v, -1);
  MlirNamedAttribute a = fe_at_i64(ir, "to", by_way_of(to, false));
  return fe_x_cast(ir, fe_first(fe_onnx(ir, "text_parse", 1, &v, 1, 1, &a)),
                   to);
}

//===-- Sorted keys ---------------------------------------------------------//

typedef struct key {
  fe_text text;
  int64_t number;
} key;

static int compare_keys(const void *a, const void *b) {
  const key *x = a, *y = b;
  ferrule_string s = {x->text.data, (int64_t)x->text.size};
  ferrule_string t = {y->text.data, (int64_t)y->text.size};
  int c = fe_string_compare(&s, &t);
  return c ? c : x->number < y->number ? -1 : x->number > y->number;
}

/// Sorts; of equal keys the first, or last, number stays. Gives how many do.
static size_t sort_keys(key *keys, size_t n, bool last) {
  size_t unique = 0;
  qsort(keys, n, sizeof *keys, compare_keys);
  for (size_t i = 0; i < n; ++i) {
    bool same = unique && keys[unique - 1].text.size == keys[i].text.size &&
                !memcmp(keys[unique - 1].text.data, keys[i].text.data,
                        keys[i].text.size);
    if (!same)
      keys[unique++] = keys[i];
    else if (last)
      keys[unique - 1].number = keys[i].number;
  }
  return unique;
}

static key *make_keys(fe_arena *arena, size_t n, const fe_text *t) {
  key *keys = FE_NEW_N(arena, key, n + 1);
  for (size_t i = 0; i < n; ++i)
    keys[i] = (key){t[i], (int64_t)i};
  return keys;
}

static MlirValue sorted_texts(fe_ir *ir, size_t n, const key *keys) {
  fe_text *sorted = FE_NEW_N(ir->arena, fe_text, n + 1);
  for (size_t i = 0; i < n; ++i)
    sorted[i] = keys[i].text;
  return texts(ir, n, sorted);
}

MlirValue fe_text_find(fe_ir *ir, MlirValue x, size_t n, const fe_text *t,
                       bool last) {
  key *keys = make_keys(ir->arena, n, t);
  size_t unique = sort_keys(keys, n, last);
  int64_t *numbers = FE_NEW_N(ir->arena, int64_t, unique + 1);
  for (size_t i = 0; i < unique; ++i)
    numbers[i] = keys[i].number;
  numbers[unique] = (int64_t)n;
  MlirValue place = fe_onnx1(ir, "TextFind", x, sorted_texts(ir, unique, keys));
  return fe_onnx1(ir, "Gather",
                  fe_constant_i64s(ir, (unsigned)unique + 1, numbers), place);
}

//===-- What becomes of a text alone ----------------------------------------//

/// The dims of operand 0.
static fe_status infer_same(fe_infer *f, fe_dtype t) {
  fe_dims d;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  fe_out_tensor(f, 0, t, &d);
  return FE_OK;
}

static fe_status infer_bool(fe_infer *f) { return infer_same(f, FE_BOOL); }
static fe_status infer_i64(fe_infer *f) { return infer_same(f, FE_I64); }
static fe_status infer_text(fe_infer *f) { return infer_same(f, FE_STRING); }
static fe_status infer_parse(fe_infer *f) {
  int64_t to = fe_attr_i64(f->attrs, "to", 0);
  if (to != FE_F64 && to != FE_I64 && to != FE_U64)
    return fe_infer_error(f, NULL, "cannot read such numbers");
  return infer_same(f, (fe_dtype)to);
}

/// A call of all operands, with one result of operand 0's sizes.
static fe_status call_same(fe_lower *l, const char *name, const char *message,
                           unsigned n_numbers, const MlirValue *numbers) {
  MlirValue sizes[FE_MAX_RANK];
  int types[4];
  fe_sizes_of(l, l->in[0], sizes);
  MlirValue out = fe_out_empty(l, 0, sizes);
  for (unsigned i = 0; i < l->n_in; ++i)
    types[i] = (int)l->in_type[i];
  types[l->n_in] = (int)l->out_type[0];
  fe_runtime call = {.name = name,
                     .n_in = l->n_in,
                     .in = l->in,
                     .n_out = 1,
                     .out = &out,
                     .types = types,
                     .n_numbers = n_numbers,
                     .numbers = numbers,
                     .n_messages = message != NULL,
                     .messages = &message};
  fe_runtime_call(l, &call, l->out, NULL);
  return FE_OK;
}

static fe_status call_pair(fe_lower *l, const char *name) {
  for (unsigned i = 0; i < fe_rank(l->in[0]); ++i)
    fe_check_dims(l, 0, i, 1, i, "the operands have different sizes");
  return call_same(l, name, NULL, 0, NULL);
}

static fe_status infer_pair(fe_infer *f, fe_dtype t) {
  fe_dims a, b;
  if (fe_in_dims(f, 0, &a) || fe_in_dims(f, 1, &b))
    return FE_FAILED;
  if (a.rank != b.rank)
    return fe_infer_error(f, NULL, "the operands have different ranks");
  return infer_same(f, t);
}

static fe_status infer_equal(fe_infer *f) { return infer_pair(f, FE_BOOL); }
static fe_status infer_concat(fe_infer *f) { return infer_pair(f, FE_STRING); }
static fe_status lower_equal(fe_lower *l) {
  return call_pair(l, "string_equal");
}
static fe_status lower_concat(fe_lower *l) {
  return call_pair(l, "string_concat");
}
static fe_status lower_find(fe_lower *l) {
  return call_same(l, "string_find", NULL, 0, NULL);
}
static fe_status lower_rank(fe_lower *l) {
  return call_same(l, "string_rank", NULL, 0, NULL);
}
static fe_status lower_print(fe_lower *l) {
  MlirValue digits = fe_index(l->ir, fe_attr_i64(l->op, "digits", -1));
  return call_same(l, "number_print", NULL, 1, &digits);
}
static fe_status lower_parse(fe_lower *l) {
  return call_same(l, "number_parse",
                   l->out_type[0] == FE_F64
                       ? "a text is not a number"
                       : "a text is not an integer of 64 bits",
                   0, NULL);
}
static fe_status lower_match(fe_lower *l) {
  return call_same(l, "regex_match", NULL, 0, NULL);
}
static fe_status lower_case(fe_lower *l) {
  MlirValue to = fe_index(l->ir, fe_attr_i64(l->op, "to", FE_CASE_AS_IS));
  return call_same(l, "words_case", "a text is not valid UTF-8", 1, &to);
}

/// Brings the operands to the same shape, then makes the operator itself.
static fe_status expand_concat(fe_node *n, MlirValue *results) {
  (void)results;
  if (n->in.n == 2 && fe_is_text(n->in.at[0]) && fe_is_text(n->in.at[1]))
    broadcast(n->ir, &n->in.at[0], &n->in.at[1]);
  return FE_OK;
}

//===-- StringSplit ---------------------------------------------------------//

/// The only input, of strings.
static bool one_text(const fe_node *n) {
  return n->in.n == 1 && fe_is_text(n->in.at[0]);
}

#define NEEDS_ONE_TEXT(n)                                                      \
  if (!one_text(n))                                                            \
  return fe_node_refuse((n), NULL, "the input must be one tensor of strings")

static fe_status expand_split(fe_node *n, MlirValue *results) {
  NEEDS_ONE_TEXT(n);
  fe_ir *ir = n->ir;
  const fe_node_attr *a = fe_node_attr_find(n, "delimiter");
  fe_text by = {a && a->s ? a->s : "", a && a->s ? a->n : 0};
  a = fe_node_attr_find(n, "maxsplit");
  MlirValue in[2] = {n->in.at[0], fe_constant_strings(ir, NULL, 0, NULL, &by)};
  MlirNamedAttribute most =
      fe_at_i64(ir, "maxsplit", a && a->i >= 0 ? a->i : INT64_MAX);
  MlirOperation op = fe_onnx(ir, "text_split", 2, in, 2, 1, &most);
  for (unsigned i = 0; i < n->n_out && i < 2; ++i)
    results[i] = fe_result(op, i);
  return mlirOperationIsNull(op) ? FE_FAILED : FE_OK;
}

static fe_status infer_split(fe_infer *f) {
  fe_dims d;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  if (d.rank == FE_MAX_RANK)
    return fe_infer_error(f, NULL, "the input has too many dimensions");
  fe_out_tensor(f, 1, FE_I64, &d);
  d.d[d.rank++] = fe_fresh_dim(f);
  fe_out_tensor(f, 0, FE_STRING, &d);
  return FE_OK;
}

static fe_status lower_split(fe_lower *l) {
  unsigned rank = fe_rank(l->in[0]);
  MlirValue sizes[FE_MAX_RANK], most;
  MlirValue limit = fe_index(l->ir, fe_attr_i64(l->op, "maxsplit", INT64_MAX));
  fe_sizes_of(l, l->in[0], sizes);
  MlirValue counts = fe_tensor_empty(l, FE_I64, rank, sizes);
  fe_runtime call = {.name = "string_count_pieces",
                     .n_in = 2,
                     .in = l->in,
                     .n_out = 1,
                     .out = &counts,
                     .n_numbers = 1,
                     .numbers = &limit,
                     .n_results = 1};
  fe_runtime_call(l, &call, &l->out[1], &most);
  sizes[rank] = most;
  MlirValue out = fe_tensor_empty(l, FE_STRING, rank + 1, sizes);
  call.name = "string_split";
  call.out = &out;
  call.n_results = 0;
  fe_runtime_call(l, &call, &l->out[0], NULL);
  return FE_OK;
}

//===-- StringNormalizer ----------------------------------------------------//

static fe_status read_case(fe_node *n, fe_case *out) {
  static const char *const names[] = {"NONE", "LOWER", "UPPER"};
  const fe_node_attr *a = fe_node_attr_find(n, "case_change_action");
  *out = FE_CASE_AS_IS;
  for (size_t i = 0; i < FE_COUNT(names); ++i)
    if (!a || !a->s || !*a->s || !strcmp(a->s, names[i])) {
      *out = a && a->s && *a->s ? (fe_case)i : FE_CASE_AS_IS;
      return FE_OK;
    }
  return fe_node_refuse(n, "case_change_action",
                        "the action must be NONE, LOWER or UPPER");
}

/// The words to leave out, as texts are when they are compared.
static fe_status read_stopwords(fe_node *n, fe_case comparison, key **keys,
                                size_t *count) {
  fe_arena *arena = n->ir->arena;
  const fe_node_attr *a = fe_node_attr_find(n, "stopwords");
  size_t n_words = a ? a->n : 0;
  fe_text *words = FE_NEW_N(arena, fe_text, n_words + 1);
  for (size_t i = 0; i < n_words; ++i) {
    ferrule_string s = {a->strings[i], (int64_t)strlen(a->strings[i])};
    char *data = fe_alloc(arena, 2 * (size_t)s.size + 1);
    int64_t size = fe_text_change_case(&s, comparison, data);
    if (size < 0)
      return fe_node_refuse(n, "stopwords", "a word is not valid UTF-8");
    words[i] = (fe_text){data, (size_t)size};
  }
  *keys = make_keys(arena, n_words, words);
  *count = sort_keys(*keys, n_words, false);
  return FE_OK;
}

static fe_status expand_normalizer(fe_node *n, MlirValue *results) {
  NEEDS_ONE_TEXT(n);
  fe_ir *ir = n->ir;
  fe_dims d;
  fe_case to, comparison;
  key *words = NULL;
  size_t n_words = 0;
  const fe_node_attr *sensitive = fe_node_attr_find(n, "is_case_sensitive");
  if (!fe_dims_of(ir, n->in.at[0], &d) || d.rank < 1 || d.rank > 2)
    return fe_node_refuse(n, NULL,
                          "the input must have the shape [C] or [1, C]");
  if (read_case(n, &to) == FE_FAILED)
    return FE_FAILED;
  comparison = sensitive && sensitive->i ? FE_CASE_AS_IS
               : to == FE_CASE_UPPER     ? FE_CASE_UPPER
                                         : FE_CASE_LOWER;
  if (read_stopwords(n, comparison, &words, &n_words) == FE_FAILED)
    return FE_FAILED;
  MlirNamedAttribute attrs[] = {fe_at_i64(ir, "to", to),
                                fe_at_i64(ir, "compare", comparison)};
  if (!n_words)
    return fe_node_done(
        to == FE_CASE_AS_IS
            ? n->in.at[0]
            : fe_first(fe_onnx(ir, "text_case", 1, n->in.at, 1, 1, attrs)),
        results);
  MlirValue in[2] = {n->in.at[0], sorted_texts(ir, n_words, words)};
  return fe_node_done(
      fe_first(fe_onnx(ir, "text_normalize", 2, in, 1, 2, attrs)), results);
}

static fe_status infer_normalize(fe_infer *f) {
  fe_dims d;
  if (fe_in_dims(f, 0, &d))
    return FE_FAILED;
  int64_t rows = d.rank == 2 ? fe_dim_static(d.d[0]) : 1;
  if (d.rank < 1 || d.rank > 2 || (rows != 1 && rows != FE_DYN))
    return fe_infer_error(f, NULL, "the input must have shape [C] or [1, C]");
  if (d.rank == 2)
    d.d[0] = fe_dim_const(f->ir, 1);
  d.d[d.rank - 1] = fe_fresh_dim(f);
  fe_out_tensor(f, 0, FE_STRING, &d);
  return FE_OK;
}

static fe_status lower_normalize(fe_lower *l) {
  fe_ir *ir = l->ir;
  unsigned rank = fe_rank(l->in[0]);
  MlirValue sizes[2], left, some, one = fe_index(ir, 1);
  fe_sizes_of(l, l->in[0], sizes);
  if (rank == 2)
    fe_check_equal(l, sizes[0], one, "the input must have shape [C] or [1, C]");
  MlirValue room = fe_tensor_empty(l, FE_STRING, rank, sizes);
  static const char *const message = "a text is not valid UTF-8";
  MlirValue cases[2] = {fe_index(ir, fe_attr_i64(l->op, "to", 0)),
                        fe_index(ir, fe_attr_i64(l->op, "compare", 0))};
  fe_runtime call = {.name = "words_normalize",
                     .n_in = 2,
                     .in = l->in,
                     .n_out = 1,
                     .out = &room,
                     .n_numbers = 2,
                     .numbers = cases,
                     .n_results = 1,
                     .n_messages = 1,
                     .messages = &message};
  fe_runtime_call(l, &call, &some, &left);
  MlirValue shape[2] = {one, one};
  shape[rank - 1] = fe_max(ir, left, one);
  MlirValue out = fe_tensor_empty(l, FE_STRING, rank, shape);
  fe_runtime take = {.name = "words_take",
                     .n_in = 1,
                     .in = &some,
                     .n_out = 1,
                     .out = &out,
                     .n_numbers = 1,
                     .numbers = &left};
  fe_runtime_call(l, &take, l->out, NULL);
  return FE_OK;
}

//===-- RegexFullMatch ------------------------------------------------------//

static fe_status expand_match(fe_node *n, MlirValue *results) {
  NEEDS_ONE_TEXT(n);
  fe_ir *ir = n->ir;
  const fe_node_attr *a = fe_node_attr_find(n, "pattern");
  const char *error = NULL;
  if (!a)
    return fe_node_refuse(n, "pattern", "there is no pattern");
  fe_regex *r = fe_regex_parse(ir->arena, a->s ? a->s : "", a->n, &error);
  size_t size = 0;
  void *program = r ? fe_regex_compile(ir->arena, r, &size) : NULL;
  if (!program)
    return fe_node_refuse(n, "pattern",
                          fe_printf(ir->arena,
                                    "the regular expression is wrong: %s",
                                    r ? "it is too large" : error));
  int64_t bytes = (int64_t)size;
  return fe_node_done(
      fe_onnx1(ir, "TextMatch", n->in.at[0],
               fe_constant(ir, NULL, FE_U8, 1, &bytes, program)),
      results);
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def split_attrs[] = {
    {"delimiter", FE_A_STRING, ""}, {"maxsplit", FE_A_INT, "-1"}, {0}};
static const fe_attr_def own_split_attrs[] = {{"maxsplit", FE_A_INT, NULL},
                                              {0}};
static const fe_attr_def normalizer_attrs[] = {
    {"case_change_action", FE_A_STRING, "NONE"},
    {"is_case_sensitive", FE_A_INT, "0"},
    {"locale", FE_A_STRING, ""},
    {"stopwords", FE_A_STRINGS, ""},
    {0}};
static const fe_attr_def case_attrs[] = {{"to", FE_A_INT, NULL}, {0}};
static const fe_attr_def normalize_attrs[] = {
    {"compare", FE_A_INT, NULL}, {"to", FE_A_INT, NULL}, {0}};
static const fe_attr_def match_attrs[] = {{"pattern", FE_A_STRING, NULL}, {0}};
static const fe_attr_def print_attrs[] = {{"digits", FE_A_INT, "-1"}, {0}};
static const fe_attr_def parse_attrs[] = {{"to", FE_A_INT, NULL}, {0}};

/// What the others become.
#define OWN(op_name, in, out, types_, infer_, lower_, ...)                     \
  {.name = op_name,                                                            \
   .since = 1,                                                                 \
   .inputs = in,                                                               \
   .outputs = out,                                                             \
   .types = types_,                                                            \
   .infer = infer_,                                                            \
   .lower = lower_,                                                            \
   .limits = "internal: what operators on strings become",                     \
   __VA_ARGS__}

const fe_op_row fe_family_text[] = {
    {.name = "StringConcat",
     .since = 20,
     .inputs = "X:T, Y:T",
     .outputs = "Z:T",
     .types = "T=str",
     .flags = FE_FUNCTION,
     .expand = expand_concat,
     .infer = infer_concat,
     .lower = lower_concat},
    {.name = "StringSplit",
     .since = 20,
     .inputs = "X:T",
     .outputs = "Y:T, Z:I",
     .types = "T=str;I=i64",
     .attrs = split_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_split},
    {.name = "StringNormalizer",
     .since = 10,
     .inputs = "X:T",
     .outputs = "Y:T",
     .types = "T=str",
     .attrs = normalizer_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_normalizer},
    {.name = "RegexFullMatch",
     .since = 20,
     .inputs = "X:T",
     .outputs = "Y:B",
     .types = "T=str;B=bool",
     .attrs = match_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_match},
    OWN("TextEqual", "A:T, B:T", "C:B", "T=str;B=bool", infer_equal,
        lower_equal, ),
    OWN("TextSplit", "X:T, delimiter:T", "Y:T, Z:I", "T=str;I=i64", infer_split,
        lower_split, .attrs = own_split_attrs),
    OWN("TextCase", "X:T", "Y:T", "T=str", infer_text, lower_case,
        .attrs = case_attrs),
    OWN("TextNormalize", "X:T, stopwords:T", "Y:T", "T=str", infer_normalize,
        lower_normalize, .attrs = normalize_attrs),
    OWN("TextMatch", "X:T, program:P", "Y:B", "T=str;P=u8;B=bool", infer_bool,
        lower_match, ),
    OWN("TextFind", "X:T, keys:T", "Y:I", "T=str;I=i64", infer_i64,
        lower_find, ),
    OWN("TextRank", "X:T", "Y:I", "T=str;I=i64", infer_i64, lower_rank, ),
    OWN("TextPrint", "X:N", "Y:T", "N=f32,f64,i64,u64;T=str", infer_text,
        lower_print, .attrs = print_attrs),
    OWN("TextParse", "X:T", "Y:N", "T=str;N=f64,i64,u64", infer_parse,
        lower_parse, .attrs = parse_attrs),
    {0}};
