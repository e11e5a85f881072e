"""Networks of convolutions, as layout assignment sees them, against ONNX Runtime.

Each case is a small graph with channel counts that blocks divide or not, with
static sizes and with dynamic ones, for this processor and ones with narrower
vectors, with weights transformed at once or in every run.
"""
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import ferrule

RNG = np.random.default_rng(1)


class Net:
    """Nodes behind one another; every method gives the name of its result."""

    def __init__(self):
        self.nodes, self.consts, self.n = [], [], 0

    def const(self, array):
        self.n += 1
        self.consts.append(numpy_helper.from_array(np.asarray(array), f"c{self.n}"))
        return f"c{self.n}"

    def op(self, kind, *inputs, **attributes):
        self.n += 1
        self.nodes.append(helper.make_node(
            kind, list(inputs), [f"t{self.n}"], f"n{self.n}", **attributes))
        return f"t{self.n}"

    def floats(self, *shape, scale=1.0):
        return self.const((RNG.standard_normal(shape) * scale).astype(np.float32))

    def conv(self, x, c, k, *kernel, group=1, bias=True, **attributes):
        scale = 1 / np.sqrt(c // group * np.prod(kernel))
        inputs = [x, self.floats(k, c // group, *kernel, scale=scale)]
        if bias:
            inputs.append(self.floats(k))
        return self.op("Conv", *inputs, group=group, **attributes)

    def transposed(self, x, c, k, *kernel, bias=True, **attributes):
        inputs = [x, self.floats(c, k, *kernel, scale=1 / np.sqrt(c))]
        if bias:
            inputs.append(self.floats(k))
        return self.op("ConvTranspose", *inputs, **attributes)


def residual(n, x):
    a = n.op("Relu", n.conv(x, 24, 40, 3, 3, pads=[1, 1, 1, 1]))
    b = n.conv(a, 40, 40, 3, 3, pads=[1, 1, 1, 1], bias=False)
    return n.op("Relu", n.op("Add", n.op("Sub", b, a), n.conv(x, 24, 40, 1, 1)))


def squeeze_excite(n, x):
    a = n.op("HardSwish", n.conv(x, 24, 48, 1, 1))
    s = n.op("GlobalAveragePool", a)
    s = n.op("Relu", n.conv(s, 48, 12, 1, 1))
    s = n.op("Sigmoid", n.conv(s, 12, 48, 1, 1))
    return n.conv(n.op("Mul", a, s), 48, 24, 1, 1)


def attention_of_pixels(n, x):
    a = n.conv(x, 24, 32, 1, 1)
    m = n.op("Sigmoid", n.conv(a, 32, 1, 3, 3, pads=[1, 1, 1, 1]))
    b = n.op("Mul", a, m)
    b = n.op("Add", b, n.floats(32, 1, 1))
    b = n.op("Mul", b, n.floats(1, 1, 1, 1))
    return n.op("Clip", b, n.const(np.float32(-1)), n.const(np.float32(1)))


def dense(n, x):
    parts = [n.conv(x, 24, 32, 1, 1)]
    for i in range(3):
        c = 32 + 16 * i
        y = parts[0] if i == 0 else n.op("Concat", *parts, axis=1)
        y = n.op("BatchNormalization", y, n.floats(c), n.floats(c), n.floats(c),
                 n.const(RNG.random(c).astype(np.float32) + 0.5), epsilon=1e-3)
        parts.append(n.conv(n.op("Relu", y), c, 16, 3, 3, pads=[1, 1, 1, 1]))
    return n.op("Concat", *parts, axis=1)


def odd_concat(n, x):
    a, b = n.conv(x, 24, 20, 1, 1), n.conv(x, 24, 12, 1, 1)
    y = n.op("Concat", a, b, axis=1)
    return n.conv(y, 32, 20, 1, 1)


def joined(n, x):
    """Channels that are no whole blocks, several images in one block."""
    a, b, c = (n.conv(x, 24, k, 1, 1) for k in (3, 24, 50))
    d = n.op("Resize", n.op("MaxPool", b, kernel_shape=[2, 2], strides=[2, 2]),
             "", n.const(np.array([1, 1, 2, 2], np.float32)), mode="nearest")
    y = n.op("Concat", a, a, b, c, a, d, n.conv(x, 24, 16, 1, 1), axis=1)
    z = n.op("Concat", n.op("Relu", y), n.conv(y, 123, 5, 3, 3, pads=[1] * 4),
             axis=1)
    return n.op("Add", n.conv(z, 128, 9, 1, 1), n.conv(z, 128, 9, 1, 1))


def groups(n, x):
    a = n.conv(x, 24, 64, 1, 1)
    for group, k in [(4, 64), (16, 64), (2, 32)]:
        a = n.op("Relu", n.conv(a, 64 if k == 64 or group == 2 else 32, k, 3, 3,
                                group=group, pads=[1, 1, 1, 1]))
    a = n.conv(a, 32, 32, 3, 3, group=32, pads=[1, 1, 1, 1], strides=[2, 2])
    return n.conv(a, 32, 36, 5, 5, group=4, pads=[2, 2, 2, 2])


def pools(n, x):
    a = n.conv(x, 24, 20, 3, 3, strides=[2, 2])
    b = n.op("MaxPool", a, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    c = n.op("AveragePool", a, kernel_shape=[3, 3], strides=[2, 2],
             pads=[1, 1, 1, 1])
    d = n.op("AveragePool", n.op("Relu", c), kernel_shape=[2, 2],
             pads=[0, 1, 1, 0], count_include_pad=1)
    m = n.op("ReduceMean", n.conv(b, 20, 30, 1, 1), n.const(np.array([2, 3])),
             keepdims=0)
    return n.op("Add", n.op("GlobalMaxPool", d),
                n.op("Unsqueeze", n.op("MatMul", m, n.floats(30, 20)),
                     n.const(np.array([2, 3]))))


def averages(n, x):
    """Of what a 1x1 convolution gives: with a bias or not, of padding or not."""
    def pool(a, kernel, strides, **attributes):
        return n.op("AveragePool", a, kernel_shape=[kernel] * 2,
                    strides=[strides] * 2, **attributes)
    a = pool(n.conv(n.op("Relu", x), 24, 40, 1, 1), 2, 2)
    b = pool(n.conv(a, 40, 32, 1, 1, group=2), 3, 2, pads=[1, 1, 1, 1])
    c = pool(n.conv(a, 40, 32, 1, 1), 3, 2, pads=[1, 1, 1, 1],
             count_include_pad=1)
    d = pool(n.conv(a, 40, 32, 1, 1, bias=False), 3, 2, pads=[1, 1, 1, 1],
             count_include_pad=1)
    e = n.op("Add", n.op("Add", b, c), d)
    f = pool(n.conv(e, 32, 16, 1, 1), 2, 1)
    g = pool(n.conv(f, 16, 24, 1, 1), 3, 2, ceil_mode=1)
    # Not of one pixel each, or used twice: these stay.
    h = n.conv(n.op("Relu", g), 24, 20, 1, 1, pads=[1, 1, 1, 1])
    i = n.op("Add", pool(h, 2, 2), pool(n.op("Neg", h), 2, 2))
    return n.op("Add", n.op("GlobalAveragePool", n.conv(g, 24, 20, 1, 1)),
                n.op("Add", i, pool(h, 2, 2)))


def spelled(n, x):
    """Activations in several nodes, which use what a convolution gives twice."""
    def hard_swish(a, *order):
        b = n.op("Add", a, n.const(np.float32(3)))
        b = n.op("Clip", b, n.const(np.float32(0)), n.const(np.float32(6)))
        b = n.op("Mul", *((b, a) if order else (a, b)))
        return n.op("Div", b, n.const(np.float32(6)))
    a = hard_swish(n.conv(x, 24, 40, 3, 3, pads=[1, 1, 1, 1]))
    a = n.op("Add", n.op("Mul", a, n.floats(40, 1, 1)), n.floats(1))
    b = n.conv(a, 40, 40, 3, 3, group=40, pads=[1, 1, 1, 1])
    b = hard_swish(b, 1)
    c = n.conv(b, 40, 36, 1, 1)
    c = n.op("Mul", c, n.op("Sigmoid", c))          # a loop over stored rows
    d = n.op("Add", n.conv(c, 36, 36, 1, 1), c)
    d = n.op("Mul", n.op("Add", d, n.op("Relu", d)), n.op("Tanh", d))
    # Used by something else too: no epilogue, or one of several results.
    e = n.conv(d, 36, 32, 1, 1)
    f = n.op("Mul", e, n.op("Sigmoid", n.op("Neg", e)))
    f = n.op("Add", f, n.op("GlobalAveragePool", e))
    # Both uses in one op; and more ops than an epilogue has.
    h = n.conv(f, 32, 32, 1, 1)
    h = n.op("Mul", h, h)
    k = n.conv(h, 32, 32, 1, 1)
    y = k
    for i in range(9):
        y = n.op("Add", n.op("Mul", y, n.floats(32, 1, 1, scale=0.3)), k)
    m = n.conv(k, 32, 32, 1, 1)
    for i in range(20):
        m = n.op("Abs" if i % 2 else "Sub", *([m] if i % 2 else
                                              [m, n.floats(32, 1, 1)]))
    return n.op("Add", y, m)


def same(n, x):
    a = n.conv(x, 24, 16, 4, 4, auto_pad="SAME_UPPER")
    b = n.conv(a, 16, 16, 3, 2, auto_pad="SAME_LOWER")
    return n.conv(b, 16, 8, 3, 3, auto_pad="VALID")


def upsample(n, x):
    a = n.op("Relu", n.conv(x, 24, 32, 3, 3, pads=[1, 1, 1, 1]))
    a = n.op("Resize", a, "", n.const(np.array([1, 1, 2, 2], np.float32)),
             mode="nearest", coordinate_transformation_mode="asymmetric",
             nearest_mode="floor")
    a = n.conv(a, 32, 20, 3, 3, pads=[1, 1, 1, 1])
    b = n.op("Relu", n.transposed(a, 20, 24, 2, 2, strides=[2, 2]))
    c = n.transposed(b, 24, 16, 3, 3, strides=[2, 2], pads=[1, 1, 1, 1],
                     output_padding=[1, 1], bias=False)
    d = n.transposed(c, 16, 20, 4, 3, strides=[2, 1], pads=[1, 1, 1, 1])
    return n.op("Sigmoid", d)


def spread(n, x):
    """Transposed convolutions whose kernel is their stride."""
    a = n.conv(x, 24, 24, 1, 1)
    b = n.transposed(a, 24, 24, 2, 2, strides=[2, 2])
    b = n.op("Mul", b, n.op("Erf", b))
    c = n.op("MaxPool", b, kernel_shape=[3, 3], strides=[3, 3])
    c = n.transposed(c, 24, 24, 3, 3, strides=[3, 3], bias=False)
    d = n.op("Relu", n.op("Add", c, b))
    d = n.op("Mul", n.transposed(d, 24, 36, 1, 3, strides=[1, 3]),
             n.floats(36, 1, 1))
    return n.transposed(d, 36, 16, 1, 1)


def spread_row(n, x):
    a = n.transposed(n.conv(x, 24, 40, 3), 40, 20, 4, strides=[4])
    return n.op("Sigmoid", a)


def rows(n, x):
    a = n.op("Relu", n.conv(x, 24, 40, 3, pads=[1, 1]))
    b = n.conv(a, 40, 40, 5, group=40, pads=[2, 2], strides=[2])
    c = n.op("MaxPool", b, kernel_shape=[3], strides=[2])
    c = n.op("Mul", c, n.floats(40, 1))
    return n.op("Concat", n.conv(c, 40, 16, 1), n.conv(c, 40, 32, 1), axis=1)


def yolo(n, x):
    a = n.conv(x, 24, 48, 3, 3, strides=[2, 2], pads=[1, 1, 1, 1])
    a = n.op("Mul", a, n.op("Sigmoid", a))
    axis = n.const(np.array([1]))
    left = n.op("Slice", a, n.const(np.array([0])), n.const(np.array([16])),
                axis)
    right = n.op("Slice", a, n.const(np.array([-32])), n.const(np.array([999])),
                 axis)
    p = [n.op("MaxPool", right, kernel_shape=[k, k], pads=[k // 2] * 4)
         for k in (5, 9)]
    b = n.op("Concat", left, right, *p, axis=1)
    b = n.op("Slice", b, n.const(np.array([1, 2])), n.const(np.array([-1, 99])),
             n.const(np.array([2, 3])), n.const(np.array([1, 2])))
    return n.conv(b, 112, 30, 1, 1)


def widened(n, x):
    a = n.conv(x, 24, 24, 3, 3, strides=[2, 2], pads=[1, 1, 1, 1])
    a = n.op("Log", n.op("Abs", a))  # infinite beyond the channels
    zeros = n.const(np.zeros((2, 12, 11, 8), np.float32))
    b = n.op("Concat", a, zeros, axis=1)
    c = n.conv(n.op("Relu", n.op("Add", b, n.floats(36, 1, 1))), 36, 24, 1, 1)
    return n.op("Concat", c, zeros, zeros, axis=1)


CASES = [
    (widened, 24, (21, 16)),
    (yolo, 24, (23, 26)),
    (residual, 24, (19, 30)), (squeeze_excite, 24, (9, 14)),
    (attention_of_pixels, 24, (11, 20)), (dense, 24, (15, 16)),
    (odd_concat, 24, (8, 33)), (joined, 24, (12, 18)), (groups, 24, (14, 14)), (pools, 24, (33, 29)),
    (averages, 24, (38, 45)), (spelled, 24, (13, 22)),
    (same, 24, (13, 31)), (upsample, 24, (7, 9)),
    (spread, 24, (6, 21)), (spread, 24, (3, 3)), (spread_row, 24, (31,)), (rows, 24, (50,)),
]


def build(body, channels, size, dynamic, path):
    net = Net()
    y = body(net, "x")
    shape = [2, channels, *size]
    if dynamic:
        shape = ["n", channels, *[f"d{i}" for i in range(len(size))]]
    graph = helper.make_graph(
        net.nodes, body.__name__,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], net.consts)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 8
    onnx.save(model, path)


def main():
    failed = 0
    names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for body, channels, size in CASES:
            if names and body.__name__ not in names:
                continue
            for dynamic in (False, True):
                path = f"{folder}/{body.__name__}.onnx"
                build(body, channels, size, dynamic, path)
                x = RNG.standard_normal((2, channels, *size)).astype(np.float32)
                session = ort.InferenceSession(
                    path, providers=["CPUExecutionProvider"])
                want = session.run(None, {"x": x})[0]
                for target, prepack in ((b"native", None),
                                        (b"x86-64-v3", b"run"),
                                        (b"x86-64-v2", None)):
                    model = ferrule.load(path, target=target, prepack=prepack)
                    got = next(iter(model.run({"x": x}).values()))
                    error = np.abs(got - want).max() / np.abs(want).max()
                    ok = got.shape == want.shape and error < 2e-5
                    failed += not ok
                    print(f"{body.__name__:20} {'dynamic' if dynamic else ''} "
                          f"{target.decode()} {got.shape} error {error:.1e} "
                          f"{'' if ok else 'FAILED'}", flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
