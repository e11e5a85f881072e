"""Quantized networks drawn at random: layers between DequantizeLinear and
QuantizeLinear, with branches, sums and joins, against ONNX Runtime node by node.

A result may lie half way between two integers, where the sums of floats decide;
what differs by that is 1, seldom, and goes through what follows.
"""
import os

import numpy as np
import onnx
import onnxruntime
from harness import Family, ferrule
from onnx import TensorProto as T
from onnx import helper, numpy_helper

f = Family("qdq_graphs")
COUNT = int(os.environ.get("FERRULE_CASES", 6))
SEED = int(os.environ.get("FERRULE_SEED", 0))
options = onnxruntime.SessionOptions()
options.graph_optimization_level = \
    onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
options.intra_op_num_threads = 1


class Graph:
    """`values`: (name of the dequantized value, its array)."""

    def __init__(self, seed):
        self.rng = np.random.default_rng([SEED, seed])
        self.kind = self.pick(np.uint8, np.int8)
        self.nodes, self.constants, self.values, self.made = [], [], [], 0
        self.scales = {}  # of values
        channels = self.pick(3, 8, 16, 20)
        self.batch, size = self.pick(1, 2), self.pick(6, 9, 14)
        self.x = self.rng.standard_normal(
            (self.batch, channels, size, size + self.pick(0, 1))).astype("f")
        self.add(*self.pair("x", self.x))

    def pick(self, *of):
        return of[self.rng.integers(len(of))]

    def chance(self, p):
        return self.rng.random() < p

    def name(self, stem="t"):
        self.made += 1
        return f"{stem}{self.made}"

    def const(self, array):
        name = self.name("c")
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def op(self, kind, inputs, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def add(self, name, array):
        self.values.append((name, array))

    def pair(self, x, array):
        """x as bytes and back, in the range that it has."""
        low, high = min(array.min(), 0.), max(array.max(), 1e-3)
        info = np.iinfo(self.kind)
        # Not a multiple of another scale: no sums of both lie half way.
        high = high * self.rng.uniform(1, 1.07)
        scale = np.float32((high - low) / 255)
        zero = int(np.clip(np.rint(info.min - low / scale), info.min, info.max))
        if self.kind == np.int8 and self.chance(.5):
            scale, zero = np.float32(max(high, -low) / 127), 0
        both = [self.const(scale), self.const(np.array(zero, self.kind))]
        q = self.op("QuantizeLinear", [x] + both)
        real = np.clip(np.rint(array / scale) + zero, info.min, info.max)
        y = self.op("DequantizeLinear", [q] + both)
        self.scales[y] = scale
        return y, ((real - zero) * scale).astype("f")

    def weights(self, shape, axis, fan):
        w = self.rng.integers(-127, 128, shape).astype(np.int8)
        count = shape[axis] if self.chance(.7) else 1
        scale = (self.rng.uniform(.5, 1.5, count) / 80 / np.sqrt(fan))
        scale = scale.astype("f") if count > 1 else np.float32(scale[0])
        zero = np.zeros(np.shape(scale), np.int8)
        # Read back as [..., axis at its place, ...].
        return self.op("DequantizeLinear", [
            self.const(w), self.const(scale), self.const(zero)],
            **(dict(axis=axis) if count > 1 else {})), scale

    def layer(self, x, nodes_from):
        """Runs what was added since, and quantizes."""
        known = {n: a for n, a in self.values}
        used = [n for n in self.nodes[nodes_from:]]
        graph = helper.make_graph(
            used, "g", [helper.make_tensor_value_info(n, T.FLOAT, a.shape)
                        for n, a in known.items()],
            [helper.make_empty_tensor_value_info(x)], self.constants)
        (array,) = run(graph, known)
        self.add(*self.pair(x, array))

    def images(self):
        return [v for v in self.values if v[1].ndim == 4 and v[1].shape[2] > 1]

    def conv(self):
        x, a = self.pick(*self.images()[-3:])
        channels, start = a.shape[1], len(self.nodes)
        groups = self.pick(1, 1, 1, channels, 2 if channels % 2 == 0 else 1)
        out = channels if groups == channels else groups * self.pick(4, 5, 8, 16)
        k = min(self.pick(1, 1, 3, 3, 5), *a.shape[2:])
        w, scale = self.weights([out, channels // groups, k, k], 0,
                                k * k * channels // groups)
        inputs = [x, w]
        if self.chance(.7):
            bias = self.rng.integers(-900, 900, out).astype(np.int32)
            s = np.broadcast_to(scale, out).astype("f") * self.pick(
                self.scales[x], self.scales[x], np.float32(.02))
            inputs.append(self.op("DequantizeLinear", [
                self.const(bias), self.const(s),
                self.const(np.zeros(out, np.int32))], axis=0))
        y = self.op("Conv", inputs, group=int(groups),
                    strides=[self.pick(1, 1, 2)] * 2,
                    pads=[self.pick(0, k // 2)] * 4, kernel_shape=[k, k])
        self.layer(self.activated(y), start)

    def activated(self, y):
        kind = self.pick(None, "Relu", "Relu", "Clip", "LeakyRelu", "HardSwish",
                         "Sigmoid")
        if not kind:
            return y
        if kind == "Clip":
            return self.op("Clip", [y, self.const(np.float32(0)),
                                    self.const(np.float32(2.5))])
        return self.op(kind, [y])

    def both(self):
        """A sum or product of two, or parts side by side."""
        start = len(self.nodes)
        x, a = self.pick(*self.values)
        alike = [v for v in self.values if v[1].shape == a.shape]
        kind = self.pick("Add", "Add", "Mul", "Concat")
        if kind == "Concat":
            alike = [v for v in self.values if v[1].ndim == a.ndim and all(
                m == n for i, (m, n) in enumerate(zip(v[1].shape, a.shape))
                if i != 1)]
        other = self.pick(*alike)
        y = self.op(kind, [x, other[0]], **(
            dict(axis=1) if kind == "Concat" else {}))
        self.layer(self.op("Relu", [y]) if self.chance(.3) else y, start)

    def pool(self):
        x, a = self.pick(*self.images())
        start = len(self.nodes)
        kind = self.pick("MaxPool", "AveragePool", "GlobalAveragePool", "gate")
        if kind == "gate":  # each channel by a factor of its own
            m = self.op("GlobalAveragePool", [x])
            y = self.op("Mul", [x, self.op("Sigmoid", [m])])
        elif kind == "GlobalAveragePool":
            y = self.op(kind, [x])
        else:
            k = min(self.pick(2, 3), *a.shape[2:])
            y = self.op(kind, [x], kernel_shape=[k, k],
                        strides=[self.pick(1, 2)] * 2)
        self.layer(y, start)

    def product(self):
        x, a = min(self.values[-self.pick(1, 2, 3):],
                   key=lambda v: v[1][0].size)
        start, wide = len(self.nodes), a[0].size
        y = x if a.ndim == 2 else self.op("Flatten", [x])
        out, turned = self.pick(5, 10, 32), self.chance(.5)
        if turned:
            w, _ = self.weights([out, wide], 0, wide)
            y = self.op("Gemm", [y, w], transB=1)
        else:
            w, _ = self.weights([wide, out], 1, wide)
            y = self.op("MatMul", [y, w])
        self.layer(self.activated(y), start)


def run(graph, feeds):
    model = helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 19)])
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options,
        providers=["CPUExecutionProvider"]).run(None, {
            i.name: feeds[i.name] for i in model.graph.input})


for seed in range(COUNT):
    g = Graph(seed)
    layers = g.pick(3, 5, 8)
    for _ in range(layers):
        getattr(g, g.pick("conv", "conv", "conv", "both", "both", "pool",
                          "product"))()
    read = {name for node in g.nodes for name in node.input}
    ends = [name for name, _ in g.values if name not in read]
    for free in False, True:
        shape = [f"d{i}" if free and i != 1 else n
                 for i, n in enumerate(g.x.shape)]
        graph = helper.make_graph(
            g.nodes, "quantized",
            [helper.make_tensor_value_info("x", T.FLOAT, shape)],
            [helper.make_empty_tensor_value_info(e) for e in ends],
            g.constants)
        wanted = run(graph, {"x": g.x})
        onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[
            helper.make_opsetid("", 19)]), f.path)
        try:
            got = list(ferrule.load(f.path).run({"x": g.x}).values())
        except ferrule.Error as e:
            got = None
            print("REFUSED", seed, free, e, flush=True)
        ok = got is not None and len(got) == len(wanted)
        for end, y, w in zip(ends, got or [], wanted):
            if y.shape != w.shape or y.dtype != w.dtype:
                ok = False
                print("FAILED seed", seed, "free", free, end, y.dtype, y.shape,
                      w.dtype, w.shape, flush=True)
                continue
            steps = np.abs(y - w) / g.scales[end]
            good = steps.max() <= layers + .01 \
                and steps.mean() < .01 * layers
            ok &= bool(good)
            if not good:
                print("FAILED seed", seed, "free", free, end, y.shape, w.shape,
                      steps.max(), steps.mean(),
                      [n.op_type for n in g.nodes if "quant" not in n.op_type.lower()],
                      flush=True)
        f.passed += ok
        f.failed += not ok
f.done()
