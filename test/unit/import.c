//===- import.c - tests of the importer ---------------------------*- C -*-===//
//
// Part of Ferrule, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each kind of wrong model is told, and the forms that graphs, functions
// and loops take.
//
//===----------------------------------------------------------------------===//
#include "unit.h"

#include "../onnx_writer.h"
#include "import/onnx.h"
#include "op/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct fixture {
  unit *u;
  fe_arena *a;
  fe_blobs blobs;
  fe_ir ir;
  fe_source source;
} fixture;

static fixture *begin(void) {
  unit *u = unit_begin();
  fixture *f = FE_NEW(u->arena, fixture);
  f->u = u;
  f->a = u->arena;
  f->blobs.arena = u->arena;
  const char *irdl[] = {fe_onnx_irdl(u->arena), fe_krnl_irdl};
  fe_ir_init(&f->ir, fe_context_create(&u->diags, irdl, 2), u->arena, &u->diags,
             &f->blobs);
  return f;
}

static void end(fixture *f) {
  fe_source_close(&f->source);
  mlirContextDestroy(f->ir.ctx);
  unit_end(f->u);
}

/// Text of the module; NULL when the model is refused.
static const char *import_bytes(fixture *f, const char *path, const void *data,
                                size_t size, const fe_import_options *o) {
  MlirModule m;
  fe_source_init(&f->source, &f->u->diags, f->a, path, data, size);
  if (fe_import_onnx(&f->ir, &f->source, o, &m) != FE_OK) {
    assert_true(mlirModuleIsNull(m));
    return NULL;
  }
  const char *text = fe_print(f->a, mlirModuleGetOperation(m));
  mlirModuleDestroy(m);
  return text;
}

static const char *import(fixture *f, pb model) {
  return import_bytes(f, NULL, model.b.at, model.b.n, NULL);
}

/// Imports, expecting just these messages.
static void refused(fixture *f, pb model, const char *messages) {
  assert_null(import(f, model));
  assert_string_equal(f->u->messages->at, messages);
  end(f);
}

static void assert_contains(const char *text, const char *part) {
  assert_non_null(text);
  if (!strstr(text, part))
    fail_msg("no '%s' in\n%s", part, text);
}

/// A graph x -> y of floats [2], to which nodes are added.
static pb graph_xy(fixture *f, const char *first_node) {
  pb g = pb_new(f->a);
  if (first_node)
    pb_sub(&g, G_NODE, onnx_node(f->a, first_node));
  pb_sub(&g, G_INPUT, onnx_value(f->a, "x", FE_F32, "2"));
  pb_sub(&g, G_OUTPUT, onnx_value(f->a, "y", FE_F32, "2"));
  return g;
}

static pb model_xy(fixture *f, const char *first_node) {
  return onnx_model(graph_xy(f, first_node), 8, 18);
}

//===-- Files ---------------------------------------------------------------//

static void empty_file(void **state) {
  (void)state;
  fixture *f = begin();
  assert_null(import_bytes(f, "m.onnx", "", 0, NULL));
  assert_string_equal(f->u->messages->at, "error: the file is empty\n");
  end(f);
}

static void other_format(void **state) {
  (void)state;
  fixture *f = begin();
  const char text[] = "version: 7\nlayers { name: 'data' }\n";
  assert_null(import_bytes(f, "m.onnx", text, sizeof(text), NULL));
  assert_contains(f->u->messages->at, "error: not an ONNX model: it ");
  end(f);
}

// Every proper prefix of a model gives one message, or is a model itself.
static void truncated(void **state) {
  (void)state;
  fixture *f = begin();
  pb m = model_xy(f, "Relu x -> y");
  end(f);
  for (size_t n = 1; n < m.b.n; n++) {
    f = begin();
    m = model_xy(f, "Relu x -> y");
    assert_null(import_bytes(f, "m.onnx", m.b.at, n, NULL));
    assert_int_equal(f->u->diags.errors, 1);
    end(f);
  }
}

static void nested_too_deep(void **state) {
  (void)state;
  fixture *f = begin();
  pb g = graph_xy(f, "Relu x -> y");
  for (int i = 0; i < 40; i++) {
    pb outer = graph_xy(f, NULL);
    pb n = onnx_node(f->a, "If x -> y");
    onnx_attr_graph(&n, "then_branch", g);
    pb_sub(&outer, G_NODE, n);
    g = outer;
  }
  assert_null(import(f, onnx_model(g, 8, 18)));
  assert_contains(f->u->messages->at, "is nested more than 100 levels deep");
  end(f);
}

//===-- Versions ------------------------------------------------------------//

static void newer_format(void **state) {
  (void)state;
  fixture *f = begin();
  refused(f, onnx_model(graph_xy(f, "Relu x -> y"), 99, 18),
          "error: version 99 of the ONNX format is newer than 14, the newest "
          "known\n");
}

static void newer_opset(void **state) {
  (void)state;
  fixture *f = begin();
  refused(f, onnx_model(graph_xy(f, "Relu x -> y"), 8, 400),
          "error: opset 400 is newer than 28, the newest known\n");
}

static void no_opset(void **state) {
  (void)state;
  fixture *f = begin();
  pb m = pb_new(f->a);
  pb_int(&m, M_IR, 8);
  pb_sub(&m, M_GRAPH, graph_xy(f, "Relu x -> y"));
  refused(f, m, "error: the model does not say which opset it uses\n");
}

static void no_graph(void **state) {
  (void)state;
  fixture *f = begin();
  pb m = pb_new(f->a);
  pb_int(&m, M_IR, 8);
  refused(f, m, "error: the file holds no graph\n");
}

//===-- Graphs --------------------------------------------------------------//

static void undefined_input(void **state) {
  (void)state;
  fixture *f = begin();
  refused(f, model_xy(f, "Add x z -> y"),
          "error: y: the input 'z' is made by no node and is no input of the "
          "graph\n");
}

static void undefined_output(void **state) {
  (void)state;
  fixture *f = begin();
  refused(f, model_xy(f, "Relu x -> z"),
          "error: the output 'y' of the graph is made by no node\n");
}

static void cycle(void **state) {
  (void)state;
  fixture *f = begin();
  pb g = graph_xy(f, "Add x c -> a");
  pb_sub(&g, G_NODE, onnx_node(f->a, "Relu a -> b"));
  pb_sub(&g, G_NODE, onnx_node(f->a, "Relu b -> c"));
  pb_sub(&g, G_NODE, onnx_node(f->a, "Relu c -> y"));
  refused(f, onnx_model(g, 8, 18),
          "error: a: the nodes form a cycle: a -> b -> c -> a\n");
}

static void defined_twice(void **state) {
  (void)state;
  fixture *f = begin();
  pb g = graph_xy(f, "Relu x -> y");
  pb_sub(&g, G_NODE, onnx_node(f->a, "Abs x -> y"));
  refused(f, onnx_model(g, 8, 18),
          "error: y: the value 'y' is defined twice\n");
}

static void unsorted_nodes(void **state) {
  (void)state;
  fixture *f = begin();
  pb g = graph_xy(f, "Relu a -> y");
  pb_sub(&g, G_NODE, onnx_node(f->a, "Abs x -> a"));
  const char *text = import(f, onnx_model(g, 8, 18));
  assert_contains(text, "onnx.relu");
  assert_true(strstr(text, "onnx.abs") < strstr(text, "onnx.relu"));
  end(f);
}

// All at once, with counts; what no output needs does not matter.
static void unsupported_operators(void **state) {
  (void)state;
  fixture *f = begin();
  pb g = graph_xy(f, "Frobnicate x -> a");
  pb_sub(&g, G_NODE, onnx_node(f->a, "Frobnicate a -> b"));
  pb_sub(&g, G_NODE, onnx_node(f->a, "Defrost b -> y"));
  pb_sub(&g, G_NODE, onnx_node(f->a, "Useless x -> nothing"));
  refused(f, onnx_model(g, 8, 18),
          "error: a: the operator is not supported (domain ai.onnx, opset 18): "
          "2 nodes, 'a', 'b'\n"
          "error: y: the operator is not supported (domain ai.onnx, opset 18): "
          "1 node, 'y'\n");
}

static void unknown_domain(void **state) {
  (void)state;
  fixture *f = begin();
  pb g = graph_xy(f, NULL);
  pb n = onnx_node(f->a, "Relu x -> y");
  pb_str(&n, N_DOMAIN, "com.example");
  pb_sub(&g, G_NODE, n);
  refused(f, onnx_model(g, 8, 18),
          "error: y: the model imports no opset of its domain 'com.example' "
          "(domain com.example, opset 0): 1 node, 'y'\n");
}

//===-- Tensors -------------------------------------------------------------//

static pb model_with_tensor(fixture *f, pb tensor) {
  pb g = graph_xy(f, "Add x w -> y");
  pb_sub(&g, G_INITIALIZER, tensor);
  return onnx_model(g, 8, 18);
}

static void tensor_too_short(void **state) {
  (void)state;
  fixture *f = begin();
  int64_t dim = 2;
  refused(f,
          model_with_tensor(
              f, onnx_tensor(f->a, "w", FE_F32, 1, &dim, "1234567", 7)),
          "error: the tensor has 7 bytes in raw_data, its shape and type need "
          "8\n");
}

static void tensor_negative_dim(void **state) {
  (void)state;
  fixture *f = begin();
  int64_t dim = -2;
  refused(f,
          model_with_tensor(f, onnx_tensor(f->a, "w", FE_F32, 1, &dim, "", 0)),
          "error: dimension 0 of the tensor is negative (-2)\n");
}

static void tensor_huge_dims(void **state) {
  (void)state;
  fixture *f = begin();
  int64_t dims[] = {INT64_C(1) << 40, INT64_C(1) << 40};
  refused(f,
          model_with_tensor(f, onnx_tensor(f->a, "w", FE_F32, 2, dims, "", 0)),
          "error: the tensor's dimensions are too large to be real\n");
}

static void tensor_unknown_type(void **state) {
  (void)state;
  fixture *f = begin();
  int64_t dim = 2;
  refused(f, model_with_tensor(f, onnx_tensor(f->a, "w", 77, 1, &dim, "", 0)),
          "error: the tensor's element type 77 is not supported\n");
}

static void huge_input(void **state) {
  (void)state;
  fixture *f = begin();
  pb g = pb_new(f->a);
  pb_sub(&g, G_NODE, onnx_node(f->a, "Relu x -> y"));
  pb_sub(&g, G_INPUT, onnx_value(f->a, "x", FE_F32, "4611686018427387904,4"));
  pb_sub(&g, G_OUTPUT, onnx_value(f->a, "y", FE_F32, NULL));
  refused(f, onnx_model(g, 8, 18),
          "error: the dimensions of the input 'x' are too large to be real\n");
}

static void input_without_shape(void **state) {
  (void)state;
  fixture *f = begin();
  pb g = pb_new(f->a);
  pb_sub(&g, G_NODE, onnx_node(f->a, "Relu x -> y"));
  pb_sub(&g, G_INPUT, onnx_value(f->a, "x", FE_F32, NULL));
  pb_sub(&g, G_OUTPUT, onnx_value(f->a, "y", FE_F32, NULL));
  refused(f, onnx_model(g, 8, 18),
          "error: the input 'x' has no shape; its number of dimensions must be "
          "known\n");
}

//===-- External data -------------------------------------------------------//

static pb external_tensor(fixture *f, const char *location, const char *offset,
                          const char *length) {
  const char *pairs[][2] = {
      {"location", location}, {"offset", offset}, {"length", length}};
  pb t = pb_new(f->a);
  pb_int(&t, T_DIMS, 2);
  pb_int(&t, T_TYPE, FE_F32);
  pb_str(&t, T_NAME, "w");
  for (size_t i = 0; i < 3; i++) {
    if (!pairs[i][1])
      continue;
    pb e = pb_new(f->a);
    pb_str(&e, 1, pairs[i][0]);
    pb_str(&e, 2, pairs[i][1]);
    pb_sub(&t, T_EXTERNAL, e);
  }
  pb_int(&t, T_LOCATION, 1);
  return t;
}

static void external_refused(const char *location, const char *offset,
                             const char *length, const char *message) {
  fixture *f = begin();
  pb m = model_with_tensor(f, external_tensor(f, location, offset, length));
  assert_null(import_bytes(f, "folder/m.onnx", m.b.at, m.b.n, NULL));
  assert_string_equal(f->u->messages->at, message);
  end(f);
}

static void external_outside(void **state) {
  (void)state;
  static const char *const places[] = {
      "../w.bin",     "a/../../w.bin", "/etc/passwd", "..",
      "a\\..\\w.bin", "C:\\w.bin",     "\\\\host\\w"};
  for (size_t i = 0; i < FE_COUNT(places); i++) {
    char message[200];
    snprintf(message, sizeof(message),
             "error: external data in '%s' is refused\n", places[i]);
    external_refused(places[i], NULL, NULL, message);
  }
}

static void external_wrong(void **state) {
  (void)state;
  external_refused("w.bin", NULL, NULL,
                   "error: data lies in the file 'w.bin', which is missing\n");
  external_refused("w.bin", "-8", NULL,
                   "error: the external data's offset '-8' is not a number\n");
  external_refused("w.bin", NULL, "12",
                   "error: external data has 12 bytes, its shape and type need "
                   "8\n");
  external_refused(NULL, NULL, NULL,
                   "error: external data without the name of a file\n");
}

static void external_data(void **state) {
  (void)state;
  char folder[] = "/tmp/ferrule-import-XXXXXX";
  assert_non_null(mkdtemp(folder));
  char data_path[64], model_path[64];
  snprintf(data_path, sizeof(data_path), "%s/w.bin", folder);
  snprintf(model_path, sizeof(model_path), "%s/m.onnx", folder);
  const float data[] = {0, 1.5f, -2.5f};
  fixture *f = begin();
  assert_int_equal(fe_file_write(&f->u->diags, data_path, data, sizeof(data)),
                   FE_OK);
  pb m = model_with_tensor(f, external_tensor(f, "w.bin", "4", "8"));
  assert_contains(import_bytes(f, model_path, m.b.at, m.b.n, NULL),
                  "dense<[1.500000e+00, -2.500000e+00]>");
  end(f);
  f = begin();
  m = model_with_tensor(f, external_tensor(f, "w.bin", "8", NULL));
  assert_null(import_bytes(f, model_path, m.b.at, m.b.n, NULL));
  assert_string_equal(f->u->messages->at,
                      "error: data at bytes 8 to 16 of 'w.bin', which has only "
                      "12 bytes\n");
  end(f);
  unlink(data_path);
  rmdir(folder);
}

//===-- Dims ----------------------------------------------------------------//

static pb model_dims(fixture *f) {
  pb g = pb_new(f->a);
  pb_sub(&g, G_NODE, onnx_node(f->a, "Relu x -> y"));
  pb_sub(&g, G_INPUT, onnx_value(f->a, "x", FE_F32, "N,3,?"));
  pb_sub(&g, G_OUTPUT, onnx_value(f->a, "y", FE_F32, NULL));
  return onnx_model(g, 8, 18);
}

static void symbolic_dims(void **state) {
  (void)state;
  fixture *f = begin();
  const char *text = import(f, model_dims(f));
  assert_contains(text, "onnx.symbols = [\"N\", \"x.dim2\"]");
  assert_contains(text, "tensor<?x3x?xf32");
  end(f);
}

static void given_dims(void **state) {
  (void)state;
  fixture *f = begin();
  pb m = model_dims(f);
  const fe_dim_value dims[] = {{"N", 4}, {"x.dim2", 5}};
  fe_import_options o = {.dims = dims, .n_dims = 2};
  assert_contains(import_bytes(f, NULL, m.b.at, m.b.n, &o),
                  "tensor<4x3x5xf32> {onnx.name = \"x\"}");
  end(f);
}

/// Opened dims keep the names that they have; those of one name are one; what
/// is fixed then is fixed.
static void opened_dims(void **state) {
  (void)state;
  fixture *f = begin();
  pb m = model_dims(f);
  const fe_open_dim all[] = {{"*", NULL}}, two[] = {{"x.dim*", "n"}};
  fe_import_options o = {.open = all, .n_open = 1};
  assert_contains(import_bytes(f, NULL, m.b.at, m.b.n, &o),
                  "onnx.symbols = [\"N\", \"x.dim1\", \"x.dim2\"]");
  end(f);
  f = begin();
  m = model_dims(f);
  o = (fe_import_options){.open = two, .n_open = 1};
  const char *text = import_bytes(f, NULL, m.b.at, m.b.n, &o);
  assert_contains(text, "onnx.symbols = [\"n\"]");
  assert_contains(text, "affine_map<()[s0] -> (s0, s0, s0)>");
  end(f);
  f = begin();
  m = model_dims(f);
  const fe_dim_value dims[] = {{"x.dim1", 7}};
  o.dims = dims;
  o.n_dims = 1;
  text = import_bytes(f, NULL, m.b.at, m.b.n, &o);
  assert_contains(text, "tensor<?x7x?xf32");
  end(f);
}

static void given_unknown_dim(void **state) {
  (void)state;
  fixture *f = begin();
  pb m = model_dims(f);
  const fe_dim_value dims[] = {{"batch", 4}};
  fe_import_options o = {.dims = dims, .n_dims = 1};
  assert_null(import_bytes(f, NULL, m.b.at, m.b.n, &o));
  assert_string_equal(f->u->messages->at,
                      "error: no input has a dimension called 'batch'\n");
  end(f);
}

// Before IR version 4 every initializer is a graph input too.
static void initializer_as_input(void **state) {
  (void)state;
  fixture *f = begin();
  int64_t dim = 2;
  const float w[] = {1, 2};
  pb g = graph_xy(f, "Add x w -> y");
  pb_sub(&g, G_INPUT, onnx_value(f->a, "w", FE_F32, "2"));
  pb_sub(&g, G_INITIALIZER,
         onnx_tensor(f->a, "w", FE_F32, 1, &dim, w, sizeof(w)));
  const char *text = import(f, onnx_model(g, 3, 8));
  assert_contains(text, "@main(%arg0: tensor<2xf32> {onnx.name = \"x\"})");
  assert_contains(text, "dense<[1.000000e+00, 2.000000e+00]>");
  end(f);
}

//===-- Functions -----------------------------------------------------------//

static pb function(fixture *f, const char *name, const char *node) {
  pb fn = pb_new(f->a);
  pb_str(&fn, F_NAME, name);
  pb_str(&fn, F_DOMAIN, "local");
  pb_words(&fn, F_INPUT, "a");
  pb_words(&fn, F_OUTPUT, "b");
  pb_words(&fn, F_ATTRIBUTE, "slope");
  pb n = onnx_node(f->a, node);
  if (strstr(node, "LeakyRelu")) {
    pb ref = pb_new(f->a);
    pb_str(&ref, A_REF, "slope");
    onnx_attr(&n, "alpha", 1, ref);
  } else {
    pb_str(&n, N_DOMAIN, "local");
    pb ref = pb_new(f->a);
    pb_str(&ref, A_REF, "slope");
    onnx_attr(&n, "slope", 1, ref);
  }
  pb_sub(&fn, F_NODE, n);
  pb_sub(&fn, F_OPSET, onnx_opset(f->a, "", 18));
  pb_sub(&fn, F_OPSET, onnx_opset(f->a, "local", 1));
  return fn;
}

static pb model_functions(fixture *f, const char *inner) {
  pb g = graph_xy(f, NULL);
  pb n = onnx_node(f->a, "Outer x -> y");
  pb_str(&n, N_DOMAIN, "local");
  pb_str(&n, N_NAME, "call");
  pb slope = pb_new(f->a);
  pb_float(&slope, A_F, 0.25f);
  onnx_attr(&n, "slope", 1, slope);
  pb_sub(&g, G_NODE, n);
  pb m = onnx_model(g, 8, 18);
  pb_sub(&m, M_OPSET, onnx_opset(f->a, "local", 1));
  pb_sub(&m, M_FUNCTION, function(f, "Outer", "Inner a -> b"));
  pb_sub(&m, M_FUNCTION, function(f, "Inner", inner));
  return m;
}

// An attribute of the call goes through two functions to the operator.
static void nested_functions(void **state) {
  (void)state;
  fixture *f = begin();
  assert_contains(import(f, model_functions(f, "LeakyRelu a -> b")),
                  "\"onnx.leaky_relu\"(%arg0) {alpha = 2.500000e-01 : f32}");
  end(f);
}

static void recursive_function(void **state) {
  (void)state;
  fixture *f = begin();
  refused(f, model_functions(f, "Outer a -> b"),
          "error: b: the function 'Outer' calls itself\n");
}

//===-- Control flow --------------------------------------------------------//

static pb branch(fixture *f, const char *node, const char *out) {
  pb g = pb_new(f->a);
  if (node)
    pb_sub(&g, G_NODE, onnx_node(f->a, node));
  pb_sub(&g, G_OUTPUT, onnx_value(f->a, out, FE_F32, NULL));
  return g;
}

static pb model_if(fixture *f, const char *in_dims, pb yes, pb no) {
  pb g = pb_new(f->a);
  pb n = onnx_node(f->a, "If c -> y");
  onnx_attr_graph(&n, "then_branch", yes);
  onnx_attr_graph(&n, "else_branch", no);
  pb_sub(&g, G_NODE, n);
  pb_sub(&g, G_INPUT, onnx_value(f->a, "c", FE_BOOL, ""));
  pb_sub(&g, G_INPUT, onnx_value(f->a, "x", FE_F32, "2"));
  pb_sub(&g, G_INPUT, onnx_value(f->a, "z", FE_F32, in_dims));
  pb_sub(&g, G_OUTPUT, onnx_value(f->a, "y", FE_F32, NULL));
  return onnx_model(g, 8, 18);
}

static void if_captures(void **state) {
  (void)state;
  fixture *f = begin();
  const char *text = import(f, model_if(f, "2", branch(f, "Relu x -> y", "y"),
                                        branch(f, "Abs z -> r", "r")));
  assert_contains(text, "scf.if %extracted -> (tensor<2xf32>)");
  assert_contains(text, "\"onnx.relu\"(%arg1)");
  assert_contains(text, "\"onnx.abs\"(%arg2)");
  end(f);
}

static void if_other_size(void **state) {
  (void)state;
  fixture *f = begin();
  const char *text =
      import(f, model_if(f, "3", branch(f, NULL, "x"), branch(f, NULL, "z")));
  assert_contains(text, "tensor.cast %arg1 : tensor<2xf32> to tensor<?xf32, ");
  assert_contains(text, "tensor.cast %arg2 : tensor<3xf32> to tensor<?xf32, ");
  end(f);
}

static void if_other_rank(void **state) {
  (void)state;
  fixture *f = begin();
  refused(f, model_if(f, "3,1", branch(f, NULL, "x"), branch(f, NULL, "z")),
          "error: y: output 0 of the branches has 1 dimensions here and 2 "
          "there, which is not supported\n");
}

/// A loop over v, at first "x": `node` makes "w" from "v" and the constant
/// "two" of shape [2].
static pb model_loop(fixture *f, const char *trip, const char *dims,
                     const char *node) {
  int64_t dim = 2;
  const float two[] = {1, 2};
  pb body = pb_new(f->a);
  pb_sub(&body, G_NODE, onnx_node(f->a, "Identity go -> on"));
  pb_sub(&body, G_INITIALIZER,
         onnx_tensor(f->a, "two", FE_F32, 1, &dim, two, sizeof(two)));
  pb_sub(&body, G_NODE, onnx_node(f->a, node));
  pb_sub(&body, G_INPUT, onnx_value(f->a, "i", FE_I64, ""));
  pb_sub(&body, G_INPUT, onnx_value(f->a, "go", FE_BOOL, ""));
  pb_sub(&body, G_INPUT, onnx_value(f->a, "v", FE_F32, NULL));
  pb_sub(&body, G_OUTPUT, onnx_value(f->a, "on", FE_BOOL, ""));
  pb_sub(&body, G_OUTPUT, onnx_value(f->a, "w", FE_F32, NULL));
  pb g = pb_new(f->a);
  pb n = onnx_node(f->a, fe_printf(f->a, "Loop %s - x -> y", trip));
  onnx_attr_graph(&n, "body", body);
  pb_sub(&g, G_NODE, n);
  pb_sub(&g, G_INITIALIZER, onnx_scalar_i64(f->a, "ten", 10));
  pb_sub(&g, G_INPUT, onnx_value(f->a, "x", FE_F32, dims));
  pb_sub(&g, G_OUTPUT, onnx_value(f->a, "y", FE_F32, NULL));
  return onnx_model(g, 8, 18);
}

// The condition is always true, so only the count and the value are carried.
static void loop_keeps_type(void **state) {
  (void)state;
  fixture *f = begin();
  const char *text = import(f, model_loop(f, "ten", "2", "Relu v -> w"));
  assert_contains(text, ": (tensor<i64>, tensor<2xf32>) -> (tensor<i64>, "
                        "tensor<2xf32>)");
  assert_contains(text, "arith.cmpi slt");
  end(f);
}

// The first iteration broadcasts [1] to [2]: the type is [any] throughout.
static void loop_widens_type(void **state) {
  (void)state;
  fixture *f = begin();
  const char *text = import(f, model_loop(f, "ten", "1", "Add v two -> w"));
  assert_contains(text, "tensor.cast %arg0 : tensor<1xf32> to tensor<?xf32, ");
  end(f);
}

static void loop_without_end(void **state) {
  (void)state;
  fixture *f = begin();
  refused(f, model_loop(f, "-", "2", "Relu v -> w"),
          "error: y: the loop never ends: it has no trip count and its "
          "condition is always true\n");
}

static void loop_changes_element_type(void **state) {
  (void)state;
  fixture *f = begin();
  refused(f, model_loop(f, "ten", "2", "Shape v -> w"),
          "error: y: value 0 carried by the loop is of type float here and "
          "int64 there\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(empty_file),
      cmocka_unit_test(other_format),
      cmocka_unit_test(truncated),
      cmocka_unit_test(nested_too_deep),
      cmocka_unit_test(newer_format),
      cmocka_unit_test(newer_opset),
      cmocka_unit_test(no_opset),
      cmocka_unit_test(no_graph),
      cmocka_unit_test(undefined_input),
      cmocka_unit_test(undefined_output),
      cmocka_unit_test(cycle),
      cmocka_unit_test(defined_twice),
      cmocka_unit_test(unsorted_nodes),
      cmocka_unit_test(unsupported_operators),
      cmocka_unit_test(unknown_domain),
      cmocka_unit_test(tensor_too_short),
      cmocka_unit_test(tensor_negative_dim),
      cmocka_unit_test(tensor_huge_dims),
      cmocka_unit_test(tensor_unknown_type),
      cmocka_unit_test(huge_input),
      cmocka_unit_test(input_without_shape),
      cmocka_unit_test(external_outside),
      cmocka_unit_test(external_wrong),
      cmocka_unit_test(external_data),
      cmocka_unit_test(symbolic_dims),
      cmocka_unit_test(given_dims),
      cmocka_unit_test(opened_dims),
      cmocka_unit_test(given_unknown_dim),
      cmocka_unit_test(initializer_as_input),
      cmocka_unit_test(nested_functions),
      cmocka_unit_test(recursive_function),
      cmocka_unit_test(if_captures),
      cmocka_unit_test(if_other_size),
      cmocka_unit_test(if_other_rank),
      cmocka_unit_test(loop_keeps_type),
      cmocka_unit_test(loop_widens_type),
      cmocka_unit_test(loop_without_end),
      cmocka_unit_test(loop_changes_element_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
