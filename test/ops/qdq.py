"""Operators between DequantizeLinear and QuantizeLinear, as ONNX Runtime fuses
them: the same bytes."""
import os

import numpy as np
import onnx
import onnxruntime
from harness import Family
from onnx import helper, numpy_helper

# With dot products of four bytes (where this machine has them) and of pairs, in
# vectors of every width.
f = Family("qdq", targets=(b"native", b"x86-64-v4", b"x86-64-v3",
                         b"x86-64-v2"))
pick = lambda *of: of[f.random.integers(len(of))]
COUNT = int(os.environ.get("FERRULE_CASES", 4))


class Graph:
    def __init__(self, kind):
        self.kind, self.nodes, self.constants, self.count = kind, [], [], 0
        self.low = np.iinfo(kind).min

    def const(self, value, dtype):
        self.constants.append(numpy_helper.from_array(
            np.asarray(value, dtype), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def op(self, kind, inputs, **attributes):
        self.count += 1
        self.nodes.append(helper.make_node(kind, inputs, [f"t{self.count}"],
                                           **attributes))
        return f"t{self.count}"

    def pair(self, x, scale, zero):
        """x rounded to bytes and back."""
        both = [self.const(scale, np.float32), self.const(zero, self.kind)]
        return self.op("DequantizeLinear",
                       [self.op("QuantizeLinear", [x] + both)] + both)

    def conv(self, x, x_scale, channels, filters, kernel, act=None,
             per_filter=True, bias=True, **attributes):
        n = attributes.get("group", 1)
        w = f.integers(-127, 128, filters, channels // n, *kernel)
        scale = f.random.uniform(.5, 1, filters if per_filter else ())
        scale = (scale / 127 / np.sqrt(w[0].size)).astype(np.float32)
        inputs = [x, self.op("DequantizeLinear", [
            self.const(w, np.int8), self.const(scale, np.float32),
            self.const(np.zeros(scale.shape), np.int8)], axis=0)]
        if bias:
            b = np.float32(x_scale) * scale
            inputs.append(self.op("DequantizeLinear", [
                self.const(f.integers(-3000, 3000, filters), np.int32),
                self.const(np.broadcast_to(b, filters), np.float32)], axis=0))
        y = self.op("Conv", inputs, kernel_shape=kernel, **attributes)
        if act == "Relu":
            y = self.op("Relu", [y])
        elif act == "Clip":
            y = self.op("Clip", [y, self.const(-.3, np.float32),
                                 self.const(1.5, np.float32)])
        return y

    def check(self, what, x, y, sizes, free):
        """By one compiled model with the images of all sizes."""
        shape = [f"d{i}" if i in free else n for i, n in enumerate(sizes[0])]
        model = helper.make_model(helper.make_graph(
            self.nodes, "test",
            [helper.make_tensor_value_info(x, onnx.TensorProto.FLOAT, shape)],
            [helper.make_empty_tensor_value_info(y)], self.constants),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.add_session_config_entry("session.qdqisint8allowed", "1")
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options,
            providers=["CPUExecutionProvider"])
        feeds = [{x: f.normal(*size)} for size in sizes]
        f.runs(what, model, feeds,
               want=[session.run(None, feed) for feed in feeds])


for i in range(3 * COUNT):
    g = Graph(pick(np.uint8, np.int8))
    zero = g.low + pick(0, 128, 60)
    c, k = (int(v) for v in f.integers(1, 40, 2))
    dynamic = pick((), (0,), (0, 2, 3))
    sizes = [[2, c, 11, 17]] + ([[2 if not dynamic else 1, c, 11, 17]
                                 if 2 not in dynamic else [3, c, 6, 20]]
                                if dynamic else [])
    act = pick(None, "Relu", "Clip")
    x = g.pair("x", .03, zero)
    # A convolution, one behind it and a sum of both, a maximum, another.
    a = g.pair(g.conv(x, .03, c, k, [3, 3], act, pick(True, False),
                      pick(True, False), pads=[1] * 4), .02, g.low)
    b = g.pair(g.conv(a, .02, k, k, pick([1, 1], [3, 3], [5, 3]), None,
                      auto_pad="SAME_UPPER"), .05, g.low + 128)
    y = g.op("Add", pick([a, b], [b, a]))
    if pick(True, False):
        y = g.op("Relu", [y])
    # Not a scale that puts sums halfway between two results.
    y = g.pair(y, .0413, g.low + pick(0, 100))
    y = g.pair(g.op("MaxPool", [y], kernel_shape=[3, 3], strides=[2, 2],
                    pads=[1] * 4), .0413, zero) if pick(True, False) else y
    last = f.integers(1, 4)
    y = g.pair(g.conv(y, .0413, k, 5, [int(last)] * 2, strides=[2, 2]), .03, zero)
    g.check(f"network {i} of {g.kind.__name__}, {act}, {c} to {k} channels, "
            f"{dynamic}", "x", y, sizes, dynamic)

# Concatenations of equal and of unequal scales; movement.
for i in range(COUNT):
    g = Graph(pick(np.uint8, np.int8))
    x = g.pair("x", .03, g.low + 128)
    scales = pick((.02, .02), (.02, .03))
    parts = [g.pair(g.conv(x, .03, 8, n, [1, 1]), s, g.low + 128)
             for n, s in zip(pick((16, 32), (5, 16)), scales)]
    y = g.pair(g.op("Concat", parts, axis=1), scales[0], g.low + 128)
    y = g.pair(g.op("Transpose", [y], perm=[0, 2, 3, 1]), scales[0],
               g.low + 128)
    g.check(f"concat {i} of {g.kind.__name__}, {scales}", "x", y,
            [[1, 8, 5, 9]], ())
f.done()
