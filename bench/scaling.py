"""usage: scaling.py [--sizes 1,2,4] [--seconds S] [--json FILE] [KIND ...]

How time and memory of `ferrule compile` grow with the model: synthetic models of
n, 2n and 4n parts of many kinds; processor seconds of one thread and peak memory,
and by which power of n they grow between them, from (t(4n) - t(2n)) /
(t(2n) - t(n)), so that what every compilation takes does not count. '-' where
the growth is too small to tell. A model that takes more than S seconds (60) is
the last of its kind.
"""
import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper

import models
from make_models import FLOAT, INT64, Graph, info

KINDS = {}
SHAPE = [4, 64]
BOOL = TensorProto.BOOL


def kind(least):
    """A function (graph, n) -> (inputs, outputs[, functions]); n is least at first."""
    def add(function):
        KINDS[function.__name__] = (least, function)
        return function
    return add


def xy(y, shape=SHAPE, dtype=FLOAT, of=SHAPE):
    return [info("x", of)], [info(y, shape, dtype)]


# -- Chains ------------------------------------------------------------

@kind(250)
def chain_binary(g, n):
    """x + c, * c, ... with x each time."""
    v = "x"
    for i in range(n):
        v = g.op(("Add", "Mul", "Sub")[i % 3], [v, "x"])
    return xy(v)


@kind(250)
def chain_unary(g, n):
    v = "x"
    for i in range(n):
        v = g.op(("Sin", "Abs", "Sqrt", "Tanh", "Neg", "Sigmoid")[i % 6], [v])
    return xy(v)


@kind(250)
def chain_products(g, n):
    v = "x"
    for i in range(n):
        v = g.op("Mul", [v, g.const(1 + i / n, np.float32) if i % 5 == 4 else "x"])
    return xy(v)


@kind(250)
def chain_of_one(g, n):
    """Values of one element."""
    v = "x"
    for i in range(n):
        v = g.op(("Mul", "Sub", "Add")[i % 3], [v, "x"])
    return xy(v, [1], of=[1])


@kind(250)
def chain_of_int(g, n):
    """One integer, which might be a size."""
    v = "x"
    for i in range(n):
        v = g.op(("Mul", "Sub", "Add")[i % 3], [v, "x"])
    return [info("x", [1], INT64)], [info(v, [1], INT64)]


@kind(250)
def chain_constants(g, n):
    """Adds a constant of its own each time."""
    v = "x"
    for i in range(n):
        v = g.op(("Add", "Mul")[i % 2], [v, g.weight(64)])
    return xy(v)


@kind(250)
def chain_inputs(g, n):
    """An input of its own each time."""
    v, inputs = "x", [info("x", SHAPE)]
    for i in range(n):
        inputs.append(info(f"x{i}", SHAPE))
        v = g.op(("Add", "Mul")[i % 2], [v, f"x{i}"])
    return inputs, [info(v, SHAPE)]


@kind(250)
def chain_outputs(g, n):
    """Each value is an output."""
    v, outputs = "x", []
    for i in range(n):
        v = g.op(("Sin", "Tanh")[i % 2], [v])
        outputs.append(info(v, SHAPE))
    return [info("x", SHAPE)], outputs


@kind(250)
def chain_skips(g, n):
    """Each value is used by the next eight."""
    values = ["x"]
    for i in range(n):
        values.append(g.op(("Add", "Mul", "Sub")[i % 3],
                           [values[-1], values[-min(len(values), 8)]]))
    return xy(values[-1])


@kind(250)
def chain_squares(g, n):
    v = "x"
    for i in range(n):
        v = g.op("Mul", [v, v])
    return xy(v)


@kind(250)
def chain_first_last(g, n):
    """Values of the chain's first half are used in its second, turned around."""
    values = ["x"]
    for i in range(n // 2):
        values.append(g.op(("Sin", "Tanh")[i % 2], [values[-1]]))
    v = values[-1]
    for other in reversed(values):
        v = g.op("Add", [v, other])
    return xy(v)


@kind(250)
def chain_dynamic(g, n):
    """Elementwise, open sizes, broadcasting."""
    v = "x"
    for i in range(n):
        v = g.op(("Add", "Mul", "Sub")[i % 3], [v, ("x", "z")[i % 2]])
    return [info("x", ["a", "b"]), info("z", ["b"])], [info(v, ["a", "b"])]


@kind(100)
def chain_unknown_sizes(g, n):
    """Broadcasts of inputs of sizes of their own."""
    v, inputs = "x", [info("x", ["a", "b"])]
    for i in range(n):
        inputs.append(info(f"x{i}", [f"p{i % 16}", f"q{i % 16}"]))
        v = g.op("Add", [v, f"x{i}"])
    return inputs, [info(v, [None, None])]


@kind(60)
def chain_matmul(g, n):
    v = "x"
    for i in range(n):
        v = g.op("MatMul", [v, g.weight(64, 64)])
    return xy(v)


@kind(40)
def chain_gemm_sizes(g, n):
    """Products each of sizes of its own."""
    v, last = "x", 64
    for i in range(n):
        size = 64 + i % 160
        v = g.op("Relu", [g.op("MatMul", [v, g.weight(last, size)])])
        last = size
    return xy(v, [4, last])


@kind(60)
def chain_conv(g, n):
    v = "x"
    for i in range(n):
        v = g.op("Relu", [g.op("Conv", [v, g.weight(16, 16, 3, 3)],
                               kernel_shape=[3, 3], pads=[1] * 4)])
    return xy(v, [1, 16, 8, 8], of=[1, 16, 8, 8])


@kind(60)
def chain_dense(g, n):
    """Concats of all values so far, as in DenseNet."""
    v, channels = "x", 16
    for i in range(n):
        new = g.op("Conv", [g.op("Relu", [v]), g.weight(16, channels, 1, 1)])
        v, channels = g.op("Concat", [v, new], axis=1), channels + 16
        if channels > 256:
            v, channels = g.op("Conv", [v, g.weight(16, channels, 1, 1)]), 16
    return xy(v, [1, channels, 8, 8], of=[1, 16, 8, 8])


@kind(60)
def chain_layer_norm(g, n):
    v = "x"
    for i in range(n):
        v = g.op("LayerNormalization", [v, g.weight(64), g.weight(64)])
    return xy(v)


@kind(60)
def chain_norm_parts(g, n):
    v = "x"
    for i in range(n):
        mean = g.op("ReduceMean", [v], axes=[1])
        d = g.op("Sub", [v, mean])
        var = g.op("ReduceMean", [g.op("Mul", [d, d])], axes=[1])
        v = g.op("Div", [d, g.op("Sqrt", [g.op("Add", [
            var, g.const(1e-5, np.float32)])])])
    return xy(v)


@kind(60)
def chain_softmax(g, n):
    v = "x"
    for i in range(n):
        v = g.op("Softmax", [g.op("Add", [v, "x"])])
    return xy(v)


@kind(60)
def chain_reduce(g, n):
    v = "x"
    for i in range(n):
        v = g.op("Sub", [v, g.op("ReduceMax", [v], axes=[1])])
    return xy(v)


@kind(10)
def chain_transformer(g, n):
    """Layers of one width, ten nodes each."""
    v = "x"
    for i in range(n):
        h = g.op("LayerNormalization", [v, g.weight(64), g.weight(64)])
        q, k, w = (g.op("MatMul", [h, g.weight(64, 64)]) for _ in range(3))
        s = g.op("Softmax", [g.op("MatMul", [q, g.op(
            "Transpose", [k], perm=[1, 0])])])
        v = g.op("Add", [v, g.op("MatMul", [g.op("MatMul", [s, w]),
                                            g.weight(64, 64)])])
    return xy(v)


@kind(500)
def chain_identity(g, n):
    v = "x"
    for i in range(n):
        v = g.op("Identity", [v])
    return xy(g.op("Neg", [v]))


@kind(200)
def chain_moves(g, n):
    """Reshape, Transpose, Cast, Identity, Unsqueeze, Squeeze."""
    v = "x"
    for i in range(n // 4):
        v = g.op("Reshape", [v, g.const([8, 32] if i % 2 == 0 else SHAPE, np.int64)])
        v = g.op("Transpose", [v], perm=[1, 0])
        v = g.op("Transpose", [g.op("Identity", [v])], perm=[1, 0])
        v = g.op("Cast", [v], to=TensorProto.DOUBLE)
        v = g.op("Cast", [v], to=FLOAT)
    return xy(g.op("Reshape", [v, g.const(SHAPE, np.int64)]))


@kind(100)
def chain_transpose(g, n):
    """Transposes with something in between."""
    v = "x"
    for i in range(n):
        v = g.op("Relu", [g.op("Transpose", [v], perm=[1, 2, 0])])
    return xy(v, [8, 8, 8], of=[8, 8, 8])


@kind(100)
def chain_shapes(g, n):
    """Reshapes to a size that is computed from the value's own."""
    v = "x"
    for i in range(n):
        s = g.op("Shape", [v])
        a, b = (g.op("Gather", [s, g.const([k], np.int64)]) for k in (0, 1))
        v = g.op("Neg", [g.op("Reshape", [v, g.op("Concat", [b, a], axis=0)])])
    return [info("x", ["a", "b"])], [info(v, [None, None])]


@kind(100)
def chain_shape_sums(g, n):
    """Sizes that grow: each value is longer than the one before."""
    v = "x"
    for i in range(n):
        v = g.op("Concat", [v, "z"], axis=0)
    return [info("x", ["a"]), info("z", ["b"])], [info(v, [None])]


@kind(100)
def chain_shape_arithmetic(g, n):
    """A long computation with one size."""
    s = g.op("Shape", ["x"])
    a = g.op("Gather", [s, g.const([0], np.int64)])
    v = a
    for i in range(n):
        v = g.op(("Add", "Mul", "Div", "Sub")[i % 4],
                 [v, g.const([2], np.int64) if i % 4 else a])
    return [info("x", ["a", "b"])], [info(v, [1], INT64)]


@kind(60)
def chain_data_dependent(g, n):
    """Sizes that only the run knows."""
    v = "x"
    for i in range(n):
        v = g.op("Transpose", [g.op("NonZero", [v])], perm=[1, 0])
    return [info("x", ["a", "b"])], [info(v, [None, None], INT64)]


@kind(60)
def chain_slices(g, n):
    """Pads and cuts."""
    v = "x"
    for i in range(n):
        v = g.op("Pad", [v, g.const([0, 1, 0, 0], np.int64)])
        v = g.op("Slice", [v, g.const([1], np.int64), g.const([65], np.int64),
                           g.const([1], np.int64)])
        v = g.op("Neg", [v])
    return xy(v)


@kind(60)
def chain_quantized(g, n):
    v, scale, zero = "x", g.const(.1, np.float32), g.const(3, np.uint8)
    for i in range(n):
        v = g.op("DequantizeLinear", [g.op("QuantizeLinear", [v, scale, zero]),
                                      scale, zero])
        v = g.op("Add", [v, g.weight(64)])
    return xy(v)


@kind(100)
def chain_gather(g, n):
    v = "x"
    for i in range(n):
        v = g.op("Gather", [v, g.const([(k + i) % 4 for k in range(4)], np.int64)])
    return xy(v)


@kind(60)
def chain_where(g, n):
    v = "x"
    for i in range(n):
        v = g.op("Where", [g.op("Less", [v, "x"]), g.op("Exp", [v]), v])
    return xy(v)


# -- Breadth -----------------------------------------------------------

def branches(g, n):
    return [g.op("Mul", ["x", g.weight(64)]) for _ in range(n)]


@kind(250)
def wide_concat(g, n):
    return xy(g.op("Concat", branches(g, n), axis=0), [4 * n, 64])


@kind(250)
def wide_concat_inner(g, n):
    return xy(g.op("Concat", branches(g, n), axis=1), [4, 64 * n])


@kind(250)
def wide_sum(g, n):
    return xy(g.op("Sum", branches(g, n)))


@kind(250)
def wide_max(g, n):
    return xy(g.op("Max", branches(g, n)))


@kind(250)
def wide_outputs(g, n):
    return [info("x", SHAPE)], [info(b, SHAPE) for b in branches(g, n)]


@kind(250)
def wide_reduced(g, n):
    """Branches that end in a reduction of their own."""
    parts = [g.op("ReduceSum", [b], keepdims=1) for b in branches(g, n)]
    return xy(g.op("Concat", parts, axis=0), [n, 1])


@kind(60)
def wide_matmul(g, n):
    return xy(g.op("Concat", [g.op("MatMul", ["x", g.weight(64, 64)])
                              for _ in range(n)], axis=0), [4 * n, 64])


@kind(250)
def wide_dynamic(g, n):
    parts = branches(g, n)
    return [info("x", ["a", 64])], [info(g.op("Concat", parts, axis=0), [None, 64])]


@kind(250)
def many_inputs(g, n):
    inputs = [info(f"x{i}", SHAPE) for i in range(n)]
    return inputs, [info(g.op("Sum", [i.name for i in inputs]), SHAPE)]


@kind(250)
def many_pairs(g, n):
    """Inputs with an output each."""
    pairs = [(f"x{i}", g.op("Neg", [f"x{i}"])) for i in range(n)]
    return [info(a, SHAPE) for a, _ in pairs], [info(b, SHAPE) for _, b in pairs]


@kind(2500)
def many_initializers(g, n):
    """Of which only the last is used."""
    for i in range(n):
        g.weight(8)
    return xy(g.op("Mul", ["x", g.weight(64)]))


@kind(250)
def many_constants(g, n):
    """Nodes Constant."""
    v = "x"
    for i in range(n):
        v = g.op("Add", [v, g.op("Constant", [], value_float=float(i))])
    return xy(v)


@kind(100)
def many_slices(g, n):
    x = [info("x", [n, 64])]
    parts = [g.op("Slice", ["x", g.const([n - 1 - i], np.int64),
                            g.const([n - i], np.int64), g.const([0], np.int64)])
             for i in range(n)]
    return x, [info(g.op("Concat", parts, axis=0), [n, 64])]


@kind(100)
def many_gathers(g, n):
    x = [info("x", ["a", 64])]
    parts = [g.op("Gather", ["x", g.const([n - i], np.int64)]) for i in range(n)]
    return x, [info(g.op("Concat", parts, axis=1), [1, 64 * n])]


@kind(250)
def wide_split(g, n):
    names = [f"p{i}" for i in range(n)]
    g.nodes.append(helper.make_node("Split", ["x", g.const([1] * n, np.int64)],
                                    names, axis=0))
    return [info("x", [n, 64])], [info(g.op("Concat", names[::-1], axis=0), [n, 64])]


@kind(50)
def many_concats(g, n):
    """One tensor grows by Concat, element by element."""
    v = "x"
    for i in range(n):
        v = g.op("Concat", [v, g.op("Neg", ["x"])], axis=0)
    return xy(v, [4 * (n + 1), 64])


@kind(20)
def scatter_rows(g, n):
    v = "x"
    for i in range(n):
        v = g.op("ScatterND", [v, g.const([[i % 4]], np.int64), g.weight(1, 64)])
    return xy(v)


# -- Constants ---------------------------------------------------------

@kind(100)
def folded_chain(g, n):
    """Operators on large constants."""
    v = g.weight(256, 64)
    for i in range(n):
        v = g.op(("Add", "Mul")[i % 2], [v, g.weight(64)])
    return xy(g.op("MatMul", ["x", v]), [256, 64], of=[256, 256])


@kind(100)
def folded_each(g, n):
    """Operators on constants of which each is used by others."""
    v = "x"
    for i in range(n):
        v = g.op("Add", [v, g.op("Neg", [g.weight(64)])])
    return xy(v)


@kind(100)
def folded_shapes(g, n):
    v = "x"
    for i in range(n):
        s = g.op("Concat", [g.op("Gather", [g.op("Shape", [v]), g.const([k], np.int64)])
                            for k in (0, 1)], axis=0)
        v = g.op("Sin", [g.op("Expand", [v, s])])
    return xy(v)


# -- Control flow and functions ----------------------------------------

def graph_of(g, name, inputs, outputs):
    return helper.make_graph(g.nodes, name, inputs, outputs, g.inits)


def inner(g):
    """A graph inside of g, whose names are others."""
    part = Graph()
    part.rng = g.rng
    part.name = g.name
    return part


@kind(5)
def nested_if(g, n):
    def level(depth):
        part = inner(g)
        y = part.op("Add", ["x", part.weight(64)])
        if depth:
            then, other = level(depth - 1), inner(g)
            z = other.op("Neg", ["x"])
            y = part.op("If", ["c"], then_branch=then, else_branch=graph_of(
                other, g.name("g"), [], [info(z, SHAPE)]))
        return graph_of(part, g.name("g"), [], [info(y, SHAPE)])
    body = level(n)
    other = inner(g)
    z = other.op("Abs", ["x"])
    y = g.op("If", ["c"], then_branch=body, else_branch=graph_of(
        other, g.name("g"), [], [info(z, SHAPE)]))
    return [info("x", SHAPE), info("c", [], BOOL)], [info(y, SHAPE)]


@kind(50)
def many_ifs(g, n):
    v = "x"
    for i in range(n):
        a, b = inner(g), inner(g)
        p, q = a.op("Add", [v, a.weight(64)]), b.op("Mul", [v, v])
        v = g.op("If", ["c"], then_branch=graph_of(a, g.name("g"), [], [info(p, SHAPE)]),
                 else_branch=graph_of(b, g.name("g"), [], [info(q, SHAPE)]))
    return [info("x", SHAPE), info("c", [], BOOL)], [info(v, SHAPE)]


@kind(20)
def ifs_of_rank(g, n):
    """If that squeezes or does not: where ranks differ, as exporters write it."""
    v = "x"
    for i in range(n):
        a, b = inner(g), inner(g)
        s = g.op("Gather", [g.op("Shape", [v]), g.const(1, np.int64)])
        c = g.op("Equal", [s, g.const(1, np.int64)])
        p = a.op("Squeeze", [v, a.const([1], np.int64)])
        q = b.op("Identity", [v])
        w = g.op("If", [c], then_branch=graph_of(a, g.name("g"), [], [info(p, None)]),
                 else_branch=graph_of(b, g.name("g"), [], [info(q, None)]))
        v = g.op("Reshape", [g.op("Sin", [w]), g.const([-1, 64], np.int64)])
    return [info("x", ["a", "b"])], [info(v, [None, 64])]


def loop(g, v, body, trip=3, shape=SHAPE):
    part = inner(g)
    inp, i, c = g.name("in"), g.name("i"), g.name("c")
    y = body(part, inp)
    cond = part.op("Identity", [c])
    graph = graph_of(part, g.name("g"),
                     [info(i, [], INT64), info(c, [], BOOL), info(inp, shape)],
                     [info(cond, [], BOOL), info(y, shape)])
    return g.op("Loop", [g.const(trip, np.int64), "", v], body=graph)


@kind(5)
def nested_loop(g, n):
    def body(depth):
        def make(part, v):
            w = part.op("Add", [v, part.weight(64)])
            return loop(part, w, body(depth - 1)) if depth else w
        return make
    return xy(loop(g, "x", body(n)))


@kind(200)
def long_loop(g, n):
    def body(part, v):
        first = v
        for i in range(n):
            v = part.op(("Add", "Mul", "Sin")[i % 3], [v, first][:2 if i % 3 < 2 else 1])
        return v
    return xy(loop(g, "x", body))


@kind(50)
def long_loop_matmul(g, n):
    def body(part, v):
        for i in range(n):
            v = part.op("Tanh", [part.op("MatMul", [v, part.weight(64, 64)])])
        return v
    return xy(loop(g, "x", body))


@kind(30)
def many_loops(g, n):
    v = "x"
    for i in range(n):
        v = loop(g, v, lambda part, w: part.op("Tanh", [part.op("Add", [w, "x"])]))
    return xy(v)


@kind(30)
def loop_carries(g, n):
    """One loop with n values carried around and n stacks."""
    part = inner(g)
    ins = [info(f"in{k}", SHAPE) for k in range(n)]
    outs = [info(part.op("Sin", [v.name]), SHAPE) for v in ins]
    scans = [info(part.op("Neg", [v.name]), SHAPE) for v in ins]
    cond = part.op("Identity", ["cc"])
    graph = graph_of(part, "body", [info("ii", [], INT64), info("cc", [], BOOL)] + ins,
                     [info(cond, [], BOOL)] + outs + scans)
    names = [f"o{k}" for k in range(2 * n)]
    g.nodes.append(helper.make_node(
        "Loop", [g.const(3, np.int64), ""] + ["x"] * n, names, body=graph))
    return [info("x", SHAPE)], ([info(o, SHAPE) for o in names[:n]] +
                                [info(o, [None] + SHAPE) for o in names[n:]])


@kind(50)
def many_lstms(g, n):
    v = "x"
    for i in range(n):
        y = g.op("LSTM", [v, g.weight(1, 64, 16), g.weight(1, 64, 16)], hidden_size=16)
        v = g.op("Squeeze", [y, g.const([1], np.int64)])
    return xy(v, [4, 1, 16], of=[4, 1, 16])


@kind(100)
def sequence_long(g, n):
    """SequenceInsert, one by one, then a Concat of all."""
    s = g.op("SequenceConstruct", ["x"])
    for i in range(n):
        s = g.op("SequenceInsert", [s, "x"])
    return xy(g.op("ConcatFromSequence", [s], axis=0), [None, 64])


@kind(100)
def sequence_wide(g, n):
    s = g.op("SequenceConstruct", branches(g, n))
    parts = [g.op("SequenceAt", [s, g.const(i, np.int64)]) for i in range(n)]
    return xy(g.op("Sum", parts))


def function(name, nodes, opset=17):
    return helper.make_function("local", name, ["a"], ["b"], nodes,
                                [helper.make_opsetid("", opset),
                                 helper.make_opsetid("local", 1)])


@kind(15)
def functions_nested(g, n):
    """Each calls the one before and adds a node; 64 deep is allowed."""
    functions = [function("f0", [helper.make_node("Sin", ["a"], ["b"])])]
    for i in range(1, n + 1):
        functions.append(function(f"f{i}", [
            helper.make_node(f"f{i - 1}", ["a"], ["t"], domain="local"),
            helper.make_node("Sigmoid", ["t"], ["b"])]))
    y = g.op(f"f{n}", ["x"], domain="local")
    return *xy(y), functions


@kind(100)
def functions_many(g, n):
    """Functions, each called once."""
    v, functions = "x", []
    for i in range(n):
        functions.append(function(f"f{i}", [
            helper.make_node("MatMul", ["a", "a"], ["t"]),
            helper.make_node("Sigmoid", ["t"], ["b"])]))
        v = g.op(f"f{i}", [v], domain="local")
    return *xy(v, [8, 8], of=[8, 8]), functions


# -- Derivatives -------------------------------------------------------

def gradient(g, by, y):
    names = [f"d_{b}" for b in by]
    g.nodes.append(helper.make_node(
        "Gradient", by, names, domain="ai.onnx.preview.training", xs=by, y=y))
    return names


@kind(100)
def gradient_chain(g, n):
    v = "x"
    for i in range(n):
        v = g.op(("Sin", "Mul", "Sigmoid", "Add")[i % 4], [v, "x"][:1 + i % 2])
    return xy(*gradient(g, ["x"], v))


@kind(30)
def gradient_layers(g, n):
    """By all weights of a network."""
    v, weights, inputs = "x", [], [info("x", SHAPE)]
    for i in range(n):
        weights.append(f"w{i}")
        inputs.append(info(f"w{i}", [64, 64]))
        v = g.op("Tanh", [g.op("MatMul", [v, f"w{i}"])])
    return inputs, [info(d, [64, 64]) for d in gradient(g, weights, v)]


@kind(30)
def gradient_loop(g, n):
    """Of a loop with n carried values, each of which becomes the one before."""
    part = inner(g)
    ins = [info(f"in{k}", SHAPE) for k in range(n)]
    outs = [info(part.op("Sin", [ins[max(k - 1, 0)].name]), SHAPE) for k in range(n)]
    cond = part.op("Identity", ["cc"])
    graph = graph_of(part, "body", [info("ii", [], INT64), info("cc", [], BOOL)] + ins,
                     [info(cond, [], BOOL)] + outs)
    names = [f"o{k}" for k in range(n)]
    g.nodes.append(helper.make_node("Loop", [g.const(n, np.int64), "", "x"] +
                                    [g.weight(*SHAPE) for _ in range(n - 1)],
                                    names, body=graph))
    return xy(*gradient(g, ["x"], names[-1]))


@kind(50)
def gradient_loop_body(g, n):
    def body(part, v):
        for i in range(n):
            v = part.op(("Sin", "Sigmoid")[i % 2], [v])
        return v
    return xy(*gradient(g, ["x"], loop(g, "x", body)))


# -- Large operators ---------------------------------------------------

@kind(5)
def einsum_operands(g, n):
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    terms = [letters[i:i + 2] for i in range(n)]
    y = g.op("Einsum", ["x"] * n, equation=f"{','.join(terms)}->a{letters[n]}")
    return xy(y, [4, 4], of=[4, 4])


@kind(100)
def tree_ensemble(g, n):
    """Trees of depth 6."""
    nodes = 2 ** 7 - 1
    rng = g.rng
    leaf = np.arange(nodes) >= 63
    ids = np.arange(nodes)
    each = lambda a: np.tile(a, n)
    y = g.op("TreeEnsembleRegressor", ["x"], domain="ai.onnx.ml", n_targets=1,
             nodes_treeids=np.repeat(np.arange(n), nodes).tolist(),
             nodes_nodeids=each(ids).tolist(),
             nodes_featureids=rng.integers(0, 64, n * nodes).tolist(),
             nodes_modes=["LEAF" if b else "BRANCH_LEQ" for b in each(leaf)],
             nodes_values=rng.standard_normal(n * nodes).tolist(),
             nodes_truenodeids=each(np.where(leaf, 0, 2 * ids + 1)).tolist(),
             nodes_falsenodeids=each(np.where(leaf, 0, 2 * ids + 2)).tolist(),
             target_treeids=np.repeat(np.arange(n), 64).tolist(),
             target_nodeids=each(ids[leaf]).tolist(),
             target_ids=[0] * (64 * n),
             target_weights=rng.standard_normal(64 * n).tolist())
    return xy(y, [4, 1])


@kind(2000)
def label_encoder(g, n):
    y = g.op("LabelEncoder", ["x"], domain="ai.onnx.ml",
             keys_int64s=list(range(n)), values_int64s=list(range(n, 0, -1)))
    return [info("x", SHAPE, INT64)], [info(y, SHAPE, INT64)]


@kind(20000)
def label_strings(g, n):
    y = g.op("LabelEncoder", ["x"], domain="ai.onnx.ml",
             keys_strings=[f"key {i}" for i in range(n)],
             values_int64s=list(range(n)))
    return [info("x", SHAPE, TensorProto.STRING)], [info(y, SHAPE, INT64)]


@kind(500)
def tf_idf(g, n):
    y = g.op("TfIdfVectorizer", ["x"], mode="TF", min_gram_length=1,
             max_gram_length=2, max_skip_count=0, ngram_counts=[0, n],
             ngram_indexes=list(range(2 * n)),
             pool_int64s=list(range(n)) + [k for i in range(n) for k in (i, i + 1)])
    return [info("x", SHAPE, INT64)], [info(y, [4, 2 * n])]


@kind(20000)
def gather_table(g, n):
    return [info("x", SHAPE, INT64)], [info(g.op("Gather", [
        g.weight(n, 64), "x"]), [*SHAPE, 64])]


@kind(8)
def high_rank(g, n):
    """Tensors of high rank."""
    rank = min(n // 2, 16)
    v = g.op("Reshape", ["x", g.const([2] * rank, np.int64)])
    v = g.op("Transpose", [v], perm=list(range(rank))[::-1])
    return xy(g.op("ReduceSum", [g.op("Sin", [v])], keepdims=0), [], of=[2 ** rank])


# -- Measuring ---------------------------------------------------------

def compiled(path, timeout):
    """(processor seconds, peak bytes), or what stands in their way."""
    process = subprocess.Popen(
        [f"{models.BUILD}/bin/ferrule", "compile", path, "-q", "-j1", "-o",
         f"{path}.so"], stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_CPU, (timeout, timeout)))
    text = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code:
        raise RuntimeError((text.strip().splitlines() or [f"status {code}"])[0])
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def power(values, least):
    """k where the values grow by n^k; None: too little to tell."""
    if len(values) < 3 or values[-1] - values[0] < least:
        return None
    a, b = values[-2] - values[-3], values[-1] - values[-2]
    return math.log2(b / a) if a > 0 and b > 0 else None


def measure(name, sizes, timeout):
    least, function = KINDS[name]
    row = {"kind": name, "n": [], "seconds": [], "memory": []}
    for times in sizes:
        n, g = times * least, Graph()
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/model.onnx"
            inputs, outputs, *functions = function(g, n)
            g.save(path, inputs, outputs, ml=3 if any(
                node.domain == "ai.onnx.ml" for node in g.nodes) else None,
                functions=functions[0] if functions else [])
            try:
                seconds, memory = compiled(path, timeout)
            except RuntimeError as error:
                row["error"] = str(error)
                break
        row["n"].append(n)
        row["seconds"].append(seconds)
        row["memory"].append(memory)
    row["power"] = power(row["seconds"], .15)
    row["memory_power"] = power(row["memory"], 20e6)
    return row


def shown(value):
    return "-" if value is None else f"{value:.1f}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1,2,4")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--json", default=f"{models.BUILD}/bench.scaling.json")
    parser.add_argument("kinds", nargs="*")
    args = parser.parse_args()
    print("| kind | n | seconds | power | peak MB | power | |\n|" + "---|" * 7)
    rows = []
    for name in args.kinds or KINDS:
        row = measure(name, [int(s) for s in args.sizes.split(",")], args.seconds)
        rows.append(row)
        print(f"| {name} | {' '.join(map(str, row['n']))} | "
              f"{' '.join(f'{s:.2f}' for s in row['seconds'])} | "
              f"{shown(row['power'])} | "
              f"{' '.join(f'{m / 1e6:.0f}' for m in row['memory'])} | "
              f"{shown(row['memory_power'])} | {row.get('error', '')} |", flush=True)
    with open(args.json, "w") as file:
        json.dump(rows, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
