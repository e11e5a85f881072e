//===- label_encoder.c - LabelEncoder, CategoryMapper ------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables from keys to values, of numbers or texts: the number of the first key
// that an element equals (of CategoryMapper the last one), then the value with
// that number; the default lies behind the values.
//
//===----------------------------------------------------------------------===//
#include "op/ml.h"
#include "op/text.h"

#include <string.h>

/// One side of a table.
typedef struct column {
  fe_dtype type; // UNDEFINED: the node has none
  int64_t n;
  const fe_text *texts; // of strings
  const void *data;     // of numbers
} column;

/// Attributes that a side may be in, by type; NULL: not in that form.
typedef struct forms {
  const char *tensor, *floats, *ints, *strings;
} forms;

static column of_strings(fe_arena *arena, const fe_node_attr *a) {
  fe_text *t = FE_NEW_N(arena, fe_text, a->n + 1);
  for (size_t i = 0; i < a->n; ++i)
    t[i] = fe_text_of(a->strings[i]);
  return (column){.type = FE_STRING, .n = (int64_t)a->n, .texts = t};
}

static column of_tensor(fe_ir *ir, const fe_node_attr *a) {
  fe_const c;
  if (!fe_const_of(ir, a->value, &c))
    return (column){0};
  column out = {.type = c.dtype, .n = c.count, .data = c.data};
  if (c.dtype != FE_STRING)
    return out;
  fe_text *t = FE_NEW_N(ir->arena, fe_text, c.count + 1);
  const char *at = (const char *)c.data + 8 * c.count;
  for (int64_t i = 0; i < c.count; ++i) {
    int64_t size;
    memcpy(&size, (const char *)c.data + 8 * i, sizeof size);
    t[i] = (fe_text){at, (size_t)size};
    at += size;
  }
  out.texts = t;
  return out;
}

static column read_column(fe_node *n, const forms *f) {
  const fe_node_attr *a;
  if (f->tensor && (a = fe_ml_attr(n, f->tensor)))
    return of_tensor(n->ir, a);
  if (f->strings && (a = fe_ml_attr(n, f->strings)))
    return of_strings(n->ir->arena, a);
  if (f->ints && (a = fe_ml_attr(n, f->ints)))
    return (column){.type = FE_I64, .n = (int64_t)a->n, .data = a->ints};
  if (f->floats && (a = fe_ml_attr(n, f->floats)))
    return (column){.type = FE_F32, .n = (int64_t)a->n, .data = a->floats};
  return (column){0};
}

static MlirValue constant_of(fe_ir *ir, const column *c) {
  if (c->type == FE_STRING)
    return fe_constant_strings(ir, NULL, 1, &c->n, c->texts);
  size_t bytes = (size_t)c->n * (fe_dtype_bits(c->type) / 8);
  return fe_constant(ir, NULL, c->type, 1, &c->n,
                     fe_memdup(ir->arena, c->data, bytes));
}

/// Number of the first key that an element of x equals, of texts with `last`
/// the last one; how many there are when it is none of them. NaN is a key like
/// others.
static MlirValue find_key(fe_ir *ir, MlirValue x, const column *keys,
                          bool last) {
  return keys->type == FE_STRING
             ? fe_text_find(ir, x, (size_t)keys->n, keys->texts, last)
             : fe_number_find(ir, x, constant_of(ir, keys));
}

/// The value for each number; `absent` [1] behind them.
static MlirValue look_up(fe_ir *ir, const column *values, MlirValue absent,
                         MlirValue number) {
  MlirValue all[2] = {constant_of(ir, values), absent};
  MlirNamedAttribute axis = fe_at_i64(ir, "axis", 0);
  MlirValue table = fe_first(fe_onnx(ir, "concat", 2, all, 1, 1, &axis));
  return fe_onnx1(ir, "Gather", table, number);
}

/// The default of the values' type, [1]; null: there is none that fits.
static MlirValue default_of(fe_node *n, fe_dtype t) {
  fe_ir *ir = n->ir;
  const fe_node_attr *a = fe_ml_attr(n, "default_tensor");
  int64_t one = 1;
  if (a) {
    column c = of_tensor(ir, a);
    return c.n == 1 && c.type == t ? constant_of(ir, &c) : (MlirValue){0};
  }
  if (t == FE_STRING) {
    a = fe_node_attr_find(n, "default_string");
    fe_text text = fe_text_of(a && a->s ? a->s : "_Unused");
    return fe_constant_strings(ir, NULL, 1, &one, &text);
  }
  bool is_float = fe_dtype_is_float(t);
  a = fe_ml_attr(n, is_float ? "default_float" : "default_int64");
  if (is_float)
    return fe_x_cast(ir, fe_ml_floats(ir, 1, &(float){a ? (float)a->f : -0.0f}),
                     t);
  int64_t v = a ? a->i : -1;
  return fe_x_cast(ir, fe_constant_i64s(ir, 1, &v), t);
}

static bool one_input(const fe_node *n) {
  return n->in.n == 1 && fe_x_type(n->in.at[0]) != FE_UNDEFINED;
}

//===-- LabelEncoder --------------------------------------------------------//

static fe_status expand_encoder(fe_node *n, MlirValue *results) {
  static const forms key_forms = {"keys_tensor", "keys_floats", "keys_int64s",
                                  "keys_strings"};
  static const forms value_forms = {"values_tensor", "values_floats",
                                    "values_int64s", "values_strings"};
  fe_ir *ir = n->ir;
  if (!one_input(n))
    return fe_node_refuse(n, NULL, "the input must be one tensor");
  column keys = read_column(n, &key_forms);
  column values = read_column(n, &value_forms);
  if (!keys.type || !values.type || keys.n != values.n)
    return fe_node_refuse(n, NULL, "there must be as many keys as values");
  if (keys.type != fe_x_type(n->in.at[0]))
    return fe_node_refuse(n, NULL, "the keys have not the type of the input");
  MlirValue absent = default_of(n, values.type);
  if (fe_is_null(absent))
    return fe_node_refuse(
        n, "default_tensor",
        "the default must be one element of the values' type");
  return fe_node_done(
      look_up(ir, &values, absent, find_key(ir, n->in.at[0], &keys, false)),
      results);
}

/// Numbers [0, n) of elements in [0, n), n for all others.
static MlirValue in_range(fe_ir *ir, MlirValue x, int64_t n) {
  int64_t *limits = FE_NEW_N(ir->arena, int64_t, 2);
  limits[0] = 0;
  limits[1] = n;
  MlirValue zero = fe_constant(ir, NULL, FE_I64, 0, NULL, limits);
  MlirValue end = fe_constant(ir, NULL, FE_I64, 0, NULL, limits + 1);
  MlirValue inside =
      fe_onnx1(ir, "And", fe_onnx1(ir, "GreaterOrEqual", x, zero),
               fe_onnx1(ir, "Less", x, end));
  return fe_onnx1(ir, "Where", inside, x, end);
}

/// Of the first opset: between classes and their numbers.
static fe_status expand_classes(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  const fe_node_attr *a = fe_ml_attr(n, "classes_strings");
  fe_dtype t = one_input(n) ? fe_x_type(n->in.at[0]) : FE_UNDEFINED;
  if (!a)
    return fe_node_refuse(n, "classes_strings", "there are no classes");
  column classes = of_strings(ir->arena, a);
  if (t == FE_I64)
    return fe_node_done(look_up(ir, &classes, default_of(n, FE_STRING),
                                in_range(ir, n->in.at[0], classes.n)),
                        results);
  if (t != FE_STRING)
    return fe_node_refuse(n, NULL, "the input must be strings or int64");
  int64_t *numbers = FE_NEW_N(ir->arena, int64_t, classes.n);
  for (int64_t i = 0; i < classes.n; ++i)
    numbers[i] = i;
  column values = {.type = FE_I64, .n = classes.n, .data = numbers};
  return fe_node_done(look_up(ir, &values, default_of(n, FE_I64),
                              find_key(ir, n->in.at[0], &classes, false)),
                      results);
}

//===-- CategoryMapper ------------------------------------------------------//

static fe_status expand_mapper(fe_node *n, MlirValue *results) {
  fe_ir *ir = n->ir;
  fe_dtype t = one_input(n) ? fe_x_type(n->in.at[0]) : FE_UNDEFINED;
  column ints = read_column(n, &(forms){.ints = "cats_int64s"});
  column strings = read_column(n, &(forms){.strings = "cats_strings"});
  if (!ints.type || !strings.type || ints.n != strings.n)
    return fe_node_refuse(n, NULL, "there must be as many numbers as strings");
  if (t != FE_STRING && t != FE_I64)
    return fe_node_refuse(n, NULL, "the input must be strings or int64");
  // Of equal keys the last counts: numbers from the end.
  bool text = t == FE_STRING;
  column keys = text ? strings : ints, values = text ? ints : strings;
  if (!text) {
    int64_t *turned = FE_NEW_N(ir->arena, int64_t, ints.n);
    fe_text *words = FE_NEW_N(ir->arena, fe_text, ints.n);
    for (int64_t i = 0; i < ints.n; ++i) {
      turned[i] = ((const int64_t *)ints.data)[ints.n - 1 - i];
      words[i] = strings.texts[ints.n - 1 - i];
    }
    keys.data = turned;
    values.texts = words;
  }
  return fe_node_done(look_up(ir, &values, default_of(n, values.type),
                              find_key(ir, n->in.at[0], &keys, true)),
                      results);
}

//===-- Rows ----------------------------------------------------------------//

static const fe_attr_def encoder_attrs[] = {
    {"default_float", FE_A_FLOAT, "-0"},
    {"default_int64", FE_A_INT, "-1"},
    {"default_string", FE_A_STRING, "_Unused"},
    {"default_tensor", FE_A_TENSOR, NULL},
    {"keys_floats", FE_A_FLOATS, ""},
    {"keys_int64s", FE_A_INTS, ""},
    {"keys_strings", FE_A_STRINGS, ""},
    {"keys_tensor", FE_A_TENSOR, NULL},
    {"values_floats", FE_A_FLOATS, ""},
    {"values_int64s", FE_A_INTS, ""},
    {"values_strings", FE_A_STRINGS, ""},
    {"values_tensor", FE_A_TENSOR, NULL},
    {0}};
static const fe_attr_def classes_attrs[] = {
    {"classes_strings", FE_A_STRINGS, ""},
    {"default_int64", FE_A_INT, "-1"},
    {"default_string", FE_A_STRING, "_Unused"},
    {0}};
static const fe_attr_def mapper_attrs[] = {
    {"cats_int64s", FE_A_INTS, ""},
    {"cats_strings", FE_A_STRINGS, ""},
    {"default_int64", FE_A_INT, "-1"},
    {"default_string", FE_A_STRING, "_Unused"},
    {0}};

const fe_op_row fe_family_label_encoder[] = {
    {.name = "LabelEncoder",
     .domain = "ai.onnx.ml",
     .since = 2,
     .inputs = "X:T1",
     .outputs = "Y:T2",
     .types = "T1=f32,f64,i64,i32,i16,str;T2=f32,f64,i64,i32,i16,str",
     .attrs = encoder_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_encoder},
    {.name = "LabelEncoder",
     .domain = "ai.onnx.ml",
     .since = 1,
     .until = 1,
     .inputs = "X:T1",
     .outputs = "Y:T2",
     .types = "T1=i64,str;T2=i64,str",
     .attrs = classes_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_classes},
    {.name = "CategoryMapper",
     .domain = "ai.onnx.ml",
     .since = 1,
     .inputs = "X:T1",
     .outputs = "Y:T2",
     .types = "T1=i64,str;T2=i64,str",
     .attrs = mapper_attrs,
     .flags = FE_FUNCTION,
     .expand = expand_mapper},
    {0}};
