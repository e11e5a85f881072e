"""usage: transformer.py

Pieces of transformers as exporters write them: they must be recognized (the
fused op is in the optimized form) and give what ONNX Runtime gives, with fixed
sizes and with symbolic ones.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import ferrule

random = np.random.default_rng(3)
B, S, H, D = 2, 21, 3, 16
E = H * D


class Graph:
    def __init__(self, opset=17):
        self.nodes, self.constants, self.opset, self.n = [], [], opset, 0

    def const(self, value, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(
            numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def weight(self, *shape, scale=0.3):
        return self.const(random.standard_normal(shape) * scale)

    def __getattr__(self, op):
        def make(*inputs, **attrs):
            self.n += 1
            name = f"v{self.n}"
            self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
            return name
        return make

    def model(self, result, inputs, shapes):
        values = [helper.make_tensor_value_info(
            n, helper.np_dtype_to_tensor_dtype(a.dtype), shapes.get(n, a.shape))
            for n, a in inputs.items()]
        graph = helper.make_graph(
            self.nodes, "g", values,
            [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)],
            self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 8
        return model


def heads(g, x, rows, perm=(0, 2, 1, 3)):
    shape = g.const([0, rows, H, D], np.int64)
    return g.Transpose(g.Reshape(x, shape), perm=perm)


def merged(g, y):
    return g.Reshape(g.Transpose(y, perm=[0, 2, 1, 3]),
                     g.const([0, 0, E], np.int64))


def linear(g, x, n=E):
    return g.Add(g.MatMul(x, g.weight(E, n)), g.weight(n))


def bert(g):
    q, k, v = (linear(g, "x") for _ in range(3))
    s = g.MatMul(heads(g, q, 0), heads(g, k, 0, (0, 2, 3, 1)))
    s = g.Add(g.Div(s, g.const(4.0)), "mask")
    return linear(g, merged(g, g.MatMul(g.Softmax(s, axis=-1), heads(g, v, 0))))


def scaled_queries(g):
    q, k, v = (heads(g, linear(g, "x"), 0) for _ in range(3))
    k = g.Transpose(g.Mul(k, g.const(0.5)), perm=[0, 1, 3, 2])
    s = g.MatMul(g.Mul(q, g.const(0.5)), k)
    return merged(g, g.MatMul(g.Softmax(g.Add("mask", s), axis=3), v))


def causal_where(g):
    q, k, v = (heads(g, linear(g, "x"), 0) for _ in range(3))
    s = g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2]))
    s = g.Where("allowed", g.Mul(s, g.const(0.25)),
                g.const(np.finfo(np.float32).min))
    return merged(g, g.MatMul(g.Softmax(s, axis=-1), v))


def used_scores(g):
    # The probabilities are used twice: no attention, but the right result.
    q, k, v = (heads(g, linear(g, "x"), 0) for _ in range(3))
    p = g.Softmax(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), axis=-1)
    return g.Add(g.MatMul(p, v), g.ReduceMean(p, axes=[3], keepdims=1))


def gelu_erf(g):
    x = linear(g, "x")
    e = g.Add(g.Erf(g.Div(x, g.const(2 ** 0.5))), g.const(1))
    return g.Mul(g.Mul(x, e), g.const(0.5))


def gelu_half_first(g):
    x = linear(g, "x")
    e = g.Add(g.const(1), g.Erf(g.Mul(x, g.const(0.5 ** 0.5))))
    return g.Mul(g.Mul(x, g.const(0.5)), e)


def gelu_half_last(g):
    x = linear(g, "x")
    e = g.Add(g.Erf(g.Div(x, g.const(2 ** 0.5))), g.const(1))
    return g.Mul(x, g.Mul(e, g.const(0.5)))


def gelu_tanh(g):
    x = linear(g, "x")
    cube = g.Mul(g.Pow(x, g.const(3)), g.const(0.044715))
    t = g.Tanh(g.Mul(g.Add(x, cube), g.const((2 / np.pi) ** 0.5)))
    return g.Mul(g.Mul(x, g.const(0.5)), g.Add(t, g.const(1)))


def gelu_fast(g):
    x = linear(g, "x")
    inner = g.Add(g.const(1), g.Mul(g.Mul(x, g.const(0.044715)), x))
    t = g.Tanh(g.Mul(g.Mul(x, g.const(0.7978845608)), inner))
    return g.Mul(g.Mul(g.const(0.5), x), g.Add(t, g.const(1)))


def not_gelu(g):
    x = linear(g, "x")
    e = g.Add(g.Erf(g.Div(x, g.const(1.5))), g.const(1))
    return g.Mul(g.Mul(x, e), g.const(0.5))


def swish(g):
    x = linear(g, "x")
    return g.Mul(x, g.Sigmoid(x))


def hard_swish(g):
    x = linear(g, "x")
    ramp = g.Clip(g.Add(x, g.const(3)), g.const(0), g.const(6))
    return g.Div(g.Mul(x, ramp), g.const(6))


def hard_swish_factor(g):
    x = linear(g, "x")
    ramp = g.Clip(g.Add(g.const(3), x), g.const(0), g.const(6))
    return g.Mul(g.Mul(ramp, g.const(1 / 6)), x)


def not_hard_swish(g):
    x = linear(g, "x")
    ramp = g.Clip(g.Add(x, g.const(3)), g.const(0), g.const(5))
    return g.Div(g.Mul(x, ramp), g.const(6))


def quick_gelu(g):
    x = linear(g, "x")
    return g.Mul(g.Sigmoid(g.Mul(x, g.const(1.702))), x)


def layer_norm(g):
    d = g.Sub("x", g.ReduceMean("x", axes=[-1]))
    variance = g.ReduceMean(g.Pow(d, g.const(2)), axes=[-1])
    unit = g.Div(d, g.Sqrt(g.Add(variance, g.const(1e-5))))
    return g.Add(g.Mul(unit, g.weight(E)), g.weight(E))


def rms_norm(g):
    mean = g.ReduceMean(g.Pow("x", g.const(2)), axes=[-1])
    r = g.Div(g.const(1), g.Sqrt(g.Add(mean, g.const(1e-6))))
    return g.Mul(g.weight(E), g.Mul("x", r))


def feed_forward(g):
    y = g.Add(linear(g, "x"), "x")
    return g.LayerNormalization(y, g.weight(E), g.weight(E), axis=-1)


CASES = [
    (bert, "krnl.attention_masked"), (scaled_queries, "krnl.attention_masked"),
    (causal_where, "krnl.attention_masked"), (used_scores, None),
    (gelu_erf, "onnx.gelu"), (gelu_half_first, "onnx.gelu"),
    (gelu_half_last, "onnx.gelu"), (gelu_tanh, "onnx.gelu"),
    (gelu_fast, "onnx.gelu"), (not_gelu, "onnx.erf"), (swish, "onnx.swish"),
    (quick_gelu, "onnx.swish"), (hard_swish, "onnx.hard_swish"),
    (hard_swish_factor, "onnx.hard_swish"), (not_hard_swish, "onnx.clip"),
    (layer_norm, "onnx.layer_normalization"),
    (rms_norm, "onnx.rms_normalization"),
    (feed_forward, "onnx.layer_normalization"),
]
FERRULE = os.path.join(ferrule.BUILD, "bin", "ferrule")


def optimized(path):
    out = path + ".mlir"
    subprocess.run([FERRULE, "compile", "-q", path, "--stop-after=optimize",
                    "-o", out], check=True)
    with open(out) as f:
        return f.read()


def check(make, want, symbolic, folder):
    inputs = {
        "x": random.standard_normal((B, S, E)).astype(np.float32),
        "mask": np.where(random.random((B, 1, 1, S)) < 0.3, -1e4,
                         0).astype(np.float32),
        "allowed": np.tril(np.ones((S, S), bool))[None, None],
    }
    g = Graph()
    result = make(g)
    used = {i for n in g.nodes for i in n.input}
    inputs = {n: a for n, a in inputs.items() if n in used}
    shapes = {"x": ["b", "s", E], "mask": ["b", 1, 1, "s"],
              "allowed": [1, 1, "s", "s"]} if symbolic else {}
    model = g.model(result, inputs, shapes)
    path = os.path.join(folder, make.__name__ + ".onnx")
    onnx.save(model, path)
    reference = onnxruntime.InferenceSession(
        path, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    got = ferrule.load(path).run(inputs)[result]
    assert got.shape == reference.shape and got.dtype == reference.dtype
    error = np.abs(got - reference).max() / (1 + np.abs(reference).max())
    found = symbolic or want is None or want in optimized(path)
    if error > 2e-6 or not found:
        print(f"{make.__name__} {'symbolic' if symbolic else 'fixed'}: error "
              f"{error:.2g}, {want} {'found' if found else 'missing'}")
        return False
    return True


def main():
    with tempfile.TemporaryDirectory() as folder:
        results = [check(make, want, symbolic, folder)
                   for make, want in CASES for symbolic in (False, True)]
    print(f"{sum(results)} of {len(results)} as ONNX Runtime")
    return 0 if all(results) else 1


sys.exit(main())
