"""Products between DequantizeLinear and QuantizeLinear, against ONNX Runtime,
are products of integers; products of floats of 8 bits, against numpy."""
import os
import subprocess

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from harness import Family, ferrule, model_of
from onnx import TensorProto, helper, numpy_helper

f = Family("qdq_product")
f32 = np.float32


def numbers(t, *shape):
    low = np.iinfo(t).min
    return f.random.integers(low, low + 256, shape).astype(t)


def optimized():
    """Names of operators of the model last saved, when it is optimized."""
    out = f.path + ".mlir"
    subprocess.run([os.path.join(ferrule.BUILD, "bin", "ferrule"), "compile",
                    f.path, "-o", out, "--stop-after=optimize"], check=True,
                   capture_output=True)
    return open(out).read()


class Graph:
    def __init__(self):
        self.nodes, self.constants, self.inputs = [], [], []

    def const(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def dequantized(self, x, scale, zero=None, **attributes):
        zero = [] if zero is None else [self.const(zero)]
        return self.op("DequantizeLinear", x, self.const(f32(scale)), *zero,
                       **attributes)

    def check(self, what, y, feeds, want_op, steps=0, dynamic=(),
              plain=False):
        infos = [helper.make_tensor_value_info(
            k, helper.np_dtype_to_tensor_dtype(v.dtype),
            [f"{k}{i}" if i in dynamic else n for i, n in enumerate(v.shape)])
            for k, v in feeds.items()]
        model = helper.make_model(helper.make_graph(
            self.nodes, "test", infos,
            [helper.make_empty_tensor_value_info(y)], self.constants),
            opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        onnx.save(model, f.path)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        if plain:
            options.graph_optimization_level = \
                onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        want = onnxruntime.InferenceSession(
            model.SerializeToString(), options,
            providers=["CPUExecutionProvider"]).run(None, feeds)
        try:
            got = ferrule.load(f.path).run(feeds)
        except ferrule.Error as error:
            f.fail(what, error)
            return
        if steps:  # halfway between two numbers, where sums are rounded elsewhere
            got = {k: np.where(abs(v.astype(int) - w) <= steps, w, v)
                   .astype(w.dtype)
                   for (k, v), w in zip(got.items(), want, strict=True)}
        scale = np.abs(want[0].astype(f32)).max()
        if not f.agree(what, want, got, 1e-5, 1e-6 * scale):
            return
        if want_op not in optimized():
            f.fail(what, f"{want_op} is not there")
        else:
            f.passed += 1


for m, k, n, ta, tb in ((7, 33, 50, np.uint8, np.int8),
                        (16, 64, 20, np.int8, np.int8),
                        (1, 8, 100, np.uint8, np.uint8)):
    for per_column, act, last in ((False, None, True), (True, None, True),
                                  (True, "Relu", True), (True, None, False)):
        a, b = numbers(ta, 2, m, k), numbers(tb, k, n)
        scale = f.random.uniform(.01, .03, n if per_column else ())
        zero = numbers(tb, 1)[0]
        g = Graph()
        if per_column:
            zero = np.full(n, zero)
        x = g.dequantized("a", .02, numbers(ta, 1)[0])
        y = g.op("MatMul", x, g.dequantized(g.const(b), scale, zero, axis=1))
        if act:
            y = g.op(act, y)
        if last:
            y = g.op("QuantizeLinear", y, g.const(f32(.7)),
                     g.const(np.uint8(99)))
        g.check(f"MatMul {m} {k} {n} {per_column} {act} {last}", y, {"a": a},
                "onnx.q_linear_mat_mul" if last and not act
                else "onnx.mat_mul_integer", steps=last, dynamic=(1,))
    # both computed at run time, as in attention
    a, b = numbers(ta, 2, m, k), numbers(ta, 2, k, n)
    g = Graph()
    y = g.op("MatMul", g.dequantized("a", .02, numbers(ta, 1)[0]),
             g.dequantized("b", .01))
    y = g.op("QuantizeLinear", y, g.const(f32(.3)), g.const(ta(9)))
    g.check(f"MatMul {m} {k} {n} at run time", y, {"a": a, "b": b},
            "onnx.q_linear_mat_mul", steps=1, dynamic=(0,))
    for trans_b, bias, last in (1, True, True), (0, True, False), \
            (1, False, True):
        a = numbers(ta, m, k)
        b = numbers(tb, *((n, k) if trans_b else (k, n)))
        scale = f.random.uniform(.01, .03, n).astype(f32)
        g = Graph()
        c = [g.dequantized(g.const(numbers(np.int16, n).astype(np.int32)),
                           f32(.02) * scale, axis=0)] if bias else []
        y = g.op("Gemm", g.dequantized("a", .02, numbers(ta, 1)[0]),
                 g.dequantized(g.const(b), scale, np.zeros(n, tb),
                               axis=0 if trans_b else 1), *c, transB=trans_b,
                 alpha=1.0 if last else .5)
        if last:
            y = g.op("QuantizeLinear", y, g.const(f32(.7)),
                     g.const(np.uint8(99)))
        g.check(f"Gemm {m} {k} {n} {trans_b} {bias} {last}", y, {"a": a},
                "onnx.mat_mul_integer", steps=last, dynamic=(0,))

# A scale per row of B stays in floats (ONNX Runtime refuses it as it stands).
g = Graph()
y = g.op("MatMul", g.dequantized("a", .02), g.dequantized(
    g.const(numbers(np.int8, 5, 6)), np.arange(1, 6), axis=0))
g.check("scale per row", y, {"a": numbers(np.uint8, 3, 5)},
        "onnx.mat_mul\"", plain=True)

for t in ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2:
    for dynamic in False, True:
        a, b = f.normal(4, 6).astype(t), f.normal(6, 5).astype(t)
        scales, zero = f.random.uniform(.5, 2, 5).astype(f32), np.zeros((), t)
        value = (a.astype(f32) * f32(.5)) @ (b.astype(f32) * scales)
        want = (value / f32(.25)).astype(t)
        inputs = [a, f32(.5), zero, b, scales, np.zeros(5, t), f32(.25), zero]
        inputs = [np.asarray(v) for v in inputs]
        f.case("QLinearMatMul", inputs, want=[want], opset=21,
               constants=[1, 2, 3, 4, 5, 6, 7], dynamic=[0] if dynamic else False)
f.done()
