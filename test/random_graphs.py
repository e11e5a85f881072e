"""usage: random_graphs.py [--seed N] [--count N] [--keep FOLDER]

Random graphs against ONNX Runtime. A graph grows node by node: ONNX Runtime
evaluates every node by itself, for several sizes of the symbolic dims, and what
it refuses, or what gets too large, is not taken. A twin of every value with
small relative errors goes along: how far it gets off says how exact a result
can be. Then Ferrule compiles the whole, with symbolic dims and with fixed ones,
for this processor and a narrower one, and runs it with one thread and with
three. --seed N --count 1 repeats one graph, --keep writes the failing ones.
"""
import argparse
import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import ferrule

OPSET, IR = 20, 9
F32, I64, I32 = np.float32, np.int64, np.int32
FLOATS = (np.float32, np.float64)
TARGETS = ["native", "x86-64-v3", "x86-64-v2"]
LARGEST, MOST = 1e4, 60000
quiet = ort.SessionOptions()
quiet.log_severity_level = 4
quiet.intra_op_num_threads = quiet.inter_op_num_threads = 1
quiet.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL


class Rejected(Exception):
    """The node that was tried does not fit."""


class Value:
    """arrays, twins: one per choice of sizes. A constant has one array."""

    def __init__(self, name, arrays, twins, constant=False):
        self.name, self.arrays, self.twins = name, arrays, twins
        self.constant = constant
        self.dtype, self.rank = arrays[0].dtype, arrays[0].ndim
        self.shapes = [a.shape for a in arrays]
        self.dims = [tuple(s[i] for s in self.shapes)
                     for i in range(self.rank)]

    def fixed(self, axis):
        """The dim's size; None: not the same for all sizes."""
        d = self.dims[axis]
        return d[0] if len(set(d)) == 1 else None

    @property
    def low(self):
        return min([a.min() for a in self.arrays if a.size] + [np.inf])

    @property
    def nearest(self):
        return min([np.abs(a).min() for a in self.arrays if a.size] + [np.inf])


def info(name, array, shape=None):
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(array.dtype), shape)


def evaluate(node, outputs, values, arrays):
    """One node in ONNX Runtime. Values that are constant are initializers."""
    constants = [numpy_helper.from_array(a, v.name)
                 for v, a in zip(values, arrays) if v.constant]
    feeds = {v.name: a for v, a in zip(values, arrays) if not v.constant}
    graph = helper.make_graph(
        [node], "g", [info(n, a) for n, a in feeds.items()],
        [onnx.ValueInfoProto(name=o) for o in outputs], constants)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = IR
    try:
        session = ort.InferenceSession(model.SerializeToString(), quiet,
                                       providers=["CPUExecutionProvider"])
        return session, feeds
    except Exception as e:
        raise Rejected(str(e))


class Graph:
    def __init__(self, seed):
        self.r = np.random.default_rng(seed)
        r = self.r
        self.nodes, self.values, self.constants = [], [], []
        self.inputs, self.n, self.used = {}, 0, set()
        zero = 0 if r.random() < 0.3 else 1
        self.symbols = {"N": (2, 1, zero), "S": (5, 1, 18), "H": (9, 6, 13),
                        "W": (8, 7, 16)}
        if r.random() < 0.3:
            self.symbols["S"] = (3, 16, 0)
        self.sizes = 3

    # -- what exists -------------------------------------------------------

    def name(self):
        self.n += 1
        return f"v{self.n}"

    def random_array(self, shape, dtype):
        if dtype == F32:  # quarters: sums and comparisons are exact
            return (self.r.integers(-8, 9, shape) / 4).astype(F32)
        if dtype == np.uint8:
            return self.r.integers(0, 5, shape).astype(dtype)
        if dtype == np.bool_:
            return self.r.integers(0, 2, shape).astype(bool)
        return self.r.integers(-4, 5, shape).astype(dtype)

    def input(self, dims, dtype=F32):
        name = f"x{len(self.inputs)}"
        arrays = []
        for i in range(self.sizes):
            shape = [self.symbols[d][i] if isinstance(d, str) else d
                     for d in dims]
            arrays.append(self.random_array(shape, dtype))
        self.inputs[name] = dims
        self.values.append(Value(name, arrays, arrays))
        return self.values[-1]

    def const(self, array):
        array = np.asarray(array)
        v = Value(self.name(), [array], [array], constant=True)
        self.constants.append(v)
        return v

    def weights(self, *shape, scale=None):
        n = np.prod(shape[1:]) if scale is None else 1
        scale = scale or 1 / np.sqrt(max(n, 1))
        return self.const((self.r.standard_normal(shape) * scale).astype(F32))

    def op(self, kind, *inputs, outputs=1, captured=(), **attributes):
        """Adds a node; raises Rejected if ONNX Runtime does."""
        names = [self.name() for _ in range(outputs)]
        node = helper.make_node(
            kind, [v.name if v else "" for v in inputs], names,
            f"{kind}_{self.n}", **attributes)
        values = list({v.name: v for v in (*inputs, *captured) if v}.values())
        if any(v.constant for v in captured):
            raise Rejected("captured constant")
        arrays = [[] for _ in names]
        twins = [[] for _ in names]
        session = None
        if "Reduce" in kind and 0 in sum(inputs[0].shapes, ()):
            raise Rejected("the standard leaves open what comes out")
        for i in range(self.sizes):
            for into, which in ((arrays, "arrays"), (twins, "twins")):
                now = [getattr(v, which)[0 if v.constant else i]
                       for v in values]
                if session is None:
                    session, _ = evaluate(node, names, values, now)
                try:
                    results = session.run(None, {
                        v.name: a for v, a in zip(values, now)
                        if not v.constant})
                except Exception as e:
                    raise Rejected(str(e))
                for k, a in enumerate(results):
                    a = np.asarray(a)
                    if a.size > MOST:
                        raise Rejected("large")
                    if a.dtype in FLOATS:
                        if a.size and not np.abs(a).max() < LARGEST:
                            raise Rejected("large or NaN")
                        if into is twins:
                            a = a * (1 + 1e-6 * self.r.uniform(-1, 1, a.shape)
                                     ).astype(a.dtype)
                    into[k].append(a)
        made = [Value(n, a, t) for n, a, t in zip(names, arrays, twins)]
        for v in made:
            for a, t in zip(v.arrays, v.twins):
                if a.shape != t.shape or (
                        a.dtype not in FLOATS and not np.array_equal(a, t)):
                    raise Rejected("not exact")
                if a.dtype in FLOATS and a.size and (
                        np.abs(a - t).max() > 1e-3 * (np.abs(a).max() + 0.1)):
                    raise Rejected("ill-conditioned")
        self.nodes.append(node)
        self.values += made
        self.used |= {v.name for v in values}
        return made[0] if outputs == 1 else made

    def pick(self, condition=lambda v: True, dtype=F32):
        """A value, mostly a late one."""
        good = [v for v in self.values if v.dtype == dtype and condition(v)]
        if not good:
            raise Rejected("none")
        if self.r.random() < 0.6:
            good = good[-4:]
        return good[self.r.integers(len(good))]

    def one(self, *choices):
        return choices[self.r.integers(len(choices))]

    def axis(self, v, condition=lambda a: True):
        good = [a for a in range(v.rank) if condition(a)]
        if not good:
            raise Rejected("no axis")
        return int(good[self.r.integers(len(good))])

    # -- steps: each adds a node or a few ----------------------------------

    def unary(self, v=None):
        v = v or self.pick()
        kinds = ["Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh", "Exp", "Neg",
                 "Abs", "Softplus", "HardSigmoid", "HardSwish", "Erf", "Gelu",
                 "Selu", "Mish", "Softsign", "Sin", "Cos", "Identity", "Floor",
                 "Round", "Sign", "Ceil", "Celu", "ThresholdedRelu"]
        if v.low > 0.01:
            kinds += ["Sqrt", "Log"] * 5
        if v.nearest > 0.05:
            kinds += ["Reciprocal"] * 10
        return self.op(self.one(*kinds), v)

    def clip(self):
        low, high = sorted(self.r.uniform(-2, 2, 2).astype(F32))
        return self.op("Clip", self.pick(),
                       self.const(low) if self.r.random() < 0.8 else None,
                       self.const(high))

    def operand(self, v):
        """What can be broadcast with v."""
        how = self.r.integers(4)
        if how == 0:
            return self.const(F32(self.r.integers(-8, 9) / 4))
        if how == 1:
            first = int(self.r.integers(v.rank + 1))
            shape = [v.fixed(a) if v.fixed(a) is not None
                     and self.r.random() < 0.7 else 1
                     for a in range(first, v.rank)]
            return self.const(self.random_array(shape, v.dtype))

        def fits(w):
            try:
                for s, t in zip(v.shapes, w.shapes):
                    np.broadcast_shapes(s, t)
                return True
            except ValueError:
                return False
        return self.pick(fits, v.dtype)

    def binary(self, v=None):
        v = v or self.pick()
        w = self.operand(v)
        if w.dtype != v.dtype:
            raise Rejected("dtype")
        kinds = ["Add", "Sub", "Mul", "Max", "Min", "Add", "Mul"]
        if w.nearest > 0.05:
            kinds += ["Div"] * 6
        if v.low > 0.05:
            kinds += ["Pow"]
        if self.r.random() < 0.3:
            v, w = w, v
            kinds = ["Add", "Sub", "Mul", "Max", "Min"]
        return self.op(self.one(*kinds), v, w)

    def integers(self):
        v = self.pick(dtype=self.one(I64, I32))
        w = self.pick(lambda w: w.shapes == v.shapes, v.dtype)
        return self.op(self.one("Add", "Sub", "Mul"), v, w)

    def select(self):
        v = self.pick()
        w = self.operand(v)
        c = self.op(self.one("Greater", "Less", "GreaterOrEqual", "Equal"),
                    v, w)
        if self.r.random() < 0.3:
            c = self.op("Not", c)
        if self.r.random() < 0.2:
            return self.op("Cast", c, to=TensorProto.FLOAT)
        return self.op("Where", c, v, self.operand(v))

    def prelu(self):
        v = self.pick(lambda v: v.rank == 4 and v.fixed(1))
        return self.op("PRelu", v, self.weights(v.fixed(1), 1, 1, scale=1))

    def image(self):
        return self.pick(lambda v: v.rank in (3, 4) and v.fixed(1))

    def conv(self, v=None, out=None, same=None):
        v = v or self.image()
        c, n = v.fixed(1), v.rank - 2
        kernel = [int(self.one(1, 3, 3, 2, 5)) for _ in range(n)]
        if self.r.random() < 0.7:
            kernel = kernel[:1] * n
        out = out or int(self.one(c, 3, 8, 16, 17, 20, 32, 33, 1, 48))
        group = 1
        if self.r.random() < 0.25:
            group, out = c, c * int(self.one(1, 1, 1, 2))
        elif self.r.random() < 0.15:
            group = self.one(*[g for g in (1, 2, 3, 4, 5, 8, 16) if c % g == 0])
            out = max(1, out // group) * group
        a = {"group": group}
        if same or (same is None and self.r.random() < 0.6):
            kernel = [k | 1 for k in kernel]
            a["pads"] = [k // 2 for k in kernel] * 2
        else:
            if self.r.random() < 0.4:
                a["strides"] = [int(self.one(1, 2, 2, 3)) for _ in range(n)]
            if self.r.random() < 0.3:
                a["dilations"] = [int(self.one(1, 2)) for _ in range(n)]
            if self.r.random() < 0.5:
                a["pads"] = [int(self.one(0, 1, 2)) for _ in range(2 * n)]
            elif self.r.random() < 0.3:
                a["auto_pad"] = self.one("SAME_UPPER", "SAME_LOWER", "VALID")
                a.pop("dilations", 0)
        w = self.weights(out, c // group, *kernel)
        b = None
        if self.r.random() < 0.7:
            far = self.one(0, 0, 5)  # 5: positive, but for padded channels
            b = self.const((self.r.standard_normal(out) * 0.2 + far)
                           .astype(F32))
            if far:
                w.arrays[0] *= F32(0.1)
        y = self.op("Conv", v, w, b, **a)
        if y.low > 0.05 and self.r.random() < 0.8:
            y = self.op(self.one("Log", "Reciprocal", "Sqrt", "Exp"), y)
            if self.r.random() < 0.6:
                y = self.conv(y)
        return y

    def batch_norm(self):
        v = self.image()
        c = v.fixed(1)
        return self.op("BatchNormalization", v, *[
            self.weights(c, scale=1) for _ in range(3)],
            self.const(self.r.uniform(0.5, 2, c).astype(F32)))

    def transposed(self):
        v = self.image()
        c, n = v.fixed(1), v.rank - 2
        k, s = int(self.one(2, 3, 4)), int(self.one(1, 2, 2))
        group = c if self.r.random() < 0.15 else 1
        out = 1 if group > 1 else int(self.one(3, 8, 16, 20))
        return self.op("ConvTranspose", v, self.weights(c, out, *[k] * n),
                       strides=[s] * n, group=group,
                       pads=[int(self.one(0, 1)) for _ in range(2 * n)])

    def pool(self):
        v = self.image()
        if min(map(min, v.dims[2:])) < 3:
            raise Rejected("small")
        n = v.rank - 2
        kind = self.one("MaxPool", "AveragePool", "GlobalAveragePool",
                        "GlobalMaxPool", "LpPool")
        if kind.startswith("Global"):
            return self.op(kind, v)
        k = [int(self.one(2, 3)) for _ in range(n)]
        a = {"kernel_shape": k, "strides": [int(self.one(1, 2))] * n,
             "ceil_mode": int(self.r.random() < 0.3)}
        if self.r.random() < 0.5:
            a["pads"] = [int(self.one(0, 1)) for _ in range(2 * n)]
        if kind == "AveragePool" and self.r.random() < 0.5:
            a["count_include_pad"] = 1
        return self.op(kind, v, **a)

    def resize(self):
        v = self.pick(lambda v: v.rank == 4)
        return self.op(
            "Resize", v, None,
            self.const(np.array([1, 1, self.one(1, 2, 3), 2], F32)),
            mode=self.one("nearest", "linear"),
            coordinate_transformation_mode=self.one("asymmetric",
                                                    "half_pixel"),
            nearest_mode="floor")

    def residual(self):
        v = self.image()
        c = v.fixed(1)
        y = self.op(self.one("Relu", "Sigmoid", "HardSwish"),
                    self.conv(v, same=True))
        y = self.op("Conv", y, self.weights(c, y.fixed(1), *[1] * (v.rank - 2)))
        if self.r.random() < 0.5:
            s = self.op("GlobalAveragePool", y)
            s = self.op("Sigmoid", self.conv(s, c, True))
            y = self.op("Mul", y, s)
        return self.op("Relu", self.op("Add", *self.one((y, v), (v, y))))

    def matmul(self):
        v = self.pick(lambda v: v.rank >= 1 and v.fixed(v.rank - 1))
        k = v.fixed(v.rank - 1)
        shape = [k, int(self.one(1, 3, 8, 16, 17, 40))]
        if v.rank > 2 and v.fixed(v.rank - 3) and self.r.random() < 0.2:
            shape.insert(0, v.fixed(v.rank - 3))
        y = self.op("MatMul", v, self.weights(*shape, scale=1 / np.sqrt(k)))
        if self.r.random() < 0.5:
            y = self.op("Add", y, self.weights(shape[-1], scale=1))
        if self.r.random() < 0.4:
            y = self.op(self.one("Relu", "Gelu", "Sigmoid", "Tanh"), y)
        return y

    def gemm(self):
        v = self.pick(lambda v: v.rank == 2)
        t = int(self.r.random() < 0.3)
        k = v.fixed(0 if t else 1)
        if not k:
            raise Rejected("no k")
        n = int(self.one(1, 5, 16, 33))
        u = int(self.r.random() < 0.5)
        c = self.one(None, self.weights(n), self.weights(1, 1),
                     self.const(F32(0.5)))
        return self.op("Gemm", v, self.weights(*((n, k) if u else (k, n))), c,
                       alpha=self.one(1.0, 0.5), beta=self.one(1.0, 2.0),
                       transA=t, transB=u)

    def product(self):
        v = self.pick(lambda v: v.rank >= 2)
        w = self.pick(lambda w: w.rank >= 2
                      and w.dims[-1] == v.dims[-1])
        perm = list(range(w.rank))
        perm[-2:] = perm[-1], perm[-2]
        return self.op("MatMul", v, self.op("Transpose", w, perm=perm))

    def attention(self):
        v = self.pick(lambda v: v.rank == 3 and v.fixed(2))
        e, h, d = v.fixed(2), int(self.one(1, 2, 3)), int(self.one(4, 7, 16, 5))
        parts = []
        for i in range(3):
            x = self.op("MatMul", v, self.weights(e, h * d,
                                                  scale=1 / np.sqrt(e)))
            x = self.op("Reshape", x, self.const(np.array([0, -1, h, d])
                                                 if self.r.random() < 0
                                                 else np.array([0, 0, h, d])))
            perm = [0, 2, 3, 1] if i == 1 else [0, 2, 1, 3]
            parts.append(self.op("Transpose", x, perm=perm))
        q, k, v = parts
        s = self.op("MatMul", q, k)
        s = self.op(self.one("Div", "Mul"), s, self.const(F32(self.one(
            np.sqrt(d), 0.5, 2))))
        if self.r.random() < 0.5:
            mask = self.one(
                lambda: self.pick(lambda m: m.rank == 4 and all(
                    x[2:] == y[2:] and x[0] in (1, y[0]) and x[1] in (1, y[1])
                    for x, y in zip(m.shapes, s.shapes))),
                lambda: self.const(F32(0.25)),
                lambda: self.weights(1, h, 1, 1))()
            s = self.op("Add", s, mask)
        s = self.op("Softmax", s, axis=self.one(-1, -1, -1, 3, 2))
        y = self.op("MatMul", s, v)
        y = self.op("Transpose", y, perm=[0, 2, 1, 3])
        return self.op("Reshape", y, self.const(np.array([0, 0, h * d])))

    def normalized(self):
        v = self.pick(lambda v: v.rank >= 2)
        kind = self.r.integers(5)
        axis = self.axis(v)
        if kind == 0:
            return self.op(self.one("Softmax", "LogSoftmax"), v, axis=axis)
        if kind == 1:
            shape = [v.fixed(a) for a in range(axis, v.rank)]
            if None in shape or 0 in shape:
                raise Rejected("no axis")
            return self.op("LayerNormalization", v,
                           self.weights(*shape, scale=1),
                           self.one(None, self.weights(*shape, scale=1)),
                           axis=axis)
        axes = self.const(np.array([axis]))
        if kind == 2:  # softmax, written out
            m = self.op("ReduceMax", v, axes)
            e = self.op("Exp", self.op("Sub", v, m))
            return self.op("Div", e, self.op("ReduceSum", e, axes))
        m = v
        if kind == 3:  # layer norm, written out
            m = self.op("Sub", v, self.op("ReduceMean", v, axes))
        s = self.op("Pow", m, self.const(F32(2))) if self.r.random() < 0.5 \
            else self.op("Mul", m, m)
        s = self.op("Add", self.op("ReduceMean", s, axes), self.const(F32(0.1)))
        y = self.op("Div", m, self.op("Sqrt", s))
        n = v.fixed(v.rank - 1)
        if n and self.r.random() < 0.7:
            y = self.op("Mul", y, self.one(self.weights(n, scale=1),
                                           self.const(F32(2))))
            y = self.op("Add", y, self.weights(n, scale=1))
        return y

    def activation(self):
        """Written out: SiLU, GELU, hard swish; and nearly so."""
        v = self.pick()
        kind = self.r.integers(4)
        w = v if self.r.random() < 0.8 else self.operand(v)
        if kind == 0:
            return self.op("Mul", w, self.op("Sigmoid", v))
        if kind == 1:
            e = self.op("Erf", self.op("Div", v, self.const(F32(np.sqrt(2)))))
            e = self.op("Add", e, self.const(F32(1)))
            return self.op("Mul", self.op("Mul", w, e), self.const(F32(0.5)))
        if kind == 2:
            c = self.op("Clip", self.op("Add", v, self.const(F32(3))),
                        self.const(F32(0)), self.const(F32(6)))
            return self.op("Div", self.op("Mul", w, c), self.const(F32(6)))
        return self.op("Mul", w, self.op("Tanh", self.op("Softplus", v)))

    def instance(self):
        v = self.image()
        c = v.fixed(1)
        if min(np.prod(s[2:]) for s in v.shapes) < 4:
            raise Rejected("ONNX Runtime is not exact for one element")
        return self.op("InstanceNormalization", v, self.weights(c, scale=1),
                       self.weights(c, scale=1))

    # -- shapes

    def transpose(self):
        v = self.pick(lambda v: v.rank >= 2, self.one(F32, F32, I64))
        return self.op("Transpose", v, perm=self.r.permutation(v.rank).tolist())

    def reshape(self):
        v = self.pick(lambda v: v.rank >= 1)
        how = self.r.integers(4)
        if how == 0:
            return self.op("Flatten", v, axis=int(self.r.integers(v.rank + 1)))
        axis = self.axis(v)
        shape = [0] * v.rank
        if how == 1 and v.fixed(axis):  # one into two
            n = v.fixed(axis)
            d = self.one(*[d for d in range(1, n + 1) if n % d == 0])
            shape[axis:] = [n // d, d]
            if axis + 1 < v.rank:
                if None in (f := [v.fixed(a) for a in
                                  range(axis + 1, v.rank)]):
                    raise Rejected("open")
                shape += f
        else:  # neighbours into one
            shape = shape[:axis] + [-1]
            shape += [v.fixed(a) or 1 for a in range(axis + 2, v.rank)]
        return self.op("Reshape", v, self.const(np.array(shape, I64)))

    def shape(self):
        """Shape, Gather, arithmetic, Concat, Reshape or Expand."""
        # where a size is 0 at run time, Reshape means another by it
        v = self.pick(lambda v: v.rank >= 2 and 0 not in sum(v.dims, ()))
        s = self.op("Shape", v)
        axis = self.axis(v, lambda a: a + 1 < v.rank)
        parts = [self.op("Gather", s, self.const(np.array(a)))
                 for a in range(v.rank)]
        merged = self.op("Mul", parts[axis], parts[axis + 1])
        parts[axis:axis + 2] = [merged]
        if self.r.random() < 0.3:
            parts[self.r.integers(len(parts))] = self.const(np.array(-1))
        zero = self.const(np.array([0]))
        parts = [self.const(p.arrays[0].reshape(1)) if p.constant
                 else self.op("Unsqueeze", p, zero) for p in parts]
        y = self.op("Reshape", v, self.op("Concat", *parts, axis=0))
        if self.r.random() < 0.5:
            y = self.unary(y)
            y = self.op("Reshape", y, s)
        return y

    def dynamic_slice(self):
        v = self.pick(lambda v: v.rank >= 1)
        axis = self.axis(v)
        n = self.op("Slice", self.op("Shape", v), self.const(np.array([axis])),
                    self.const(np.array([axis + 1])))
        half = self.op("Div", n, self.const(np.array([2])))
        ends = self.one((half, n), (self.const(np.array([0])), half))
        return self.op("Slice", v, *ends, self.const(np.array([axis])))

    def ranged(self):
        v = self.pick(lambda v: v.rank >= 1)
        n = self.op("Gather", self.op("Shape", v),
                    self.const(np.array(v.rank - 1)))
        y = self.op("Range", self.const(np.array(0)), n,
                    self.const(np.array(1)))
        y = self.op("Cast", y, to=TensorProto.FLOAT)
        y = self.op("Mul", y, self.const(F32(0.125)))
        return self.op("Add", v, y)

    def expand(self):
        v = self.pick()
        w = self.pick(lambda w: w.rank >= v.rank)
        return self.op("Expand", v, self.op("Shape", w))

    def slice(self):
        v = self.pick(lambda v: v.rank >= 1, dtype=self.one(F32, F32, I64))
        axis = self.axis(v)
        start, end, step = self.one((0, 3, 1), (1, 2**40, 1), (-3, 2**40, 1),
                                    (-1, -2**40, -1), (1, -1, 2), (0, -2, 1))
        return self.op("Slice", v, *[self.const(np.array([x])) for x in
                                     (start, end, axis, step)])

    def gather(self):
        v = self.pick(lambda v: v.rank >= 1)
        axis = self.axis(v, lambda a: min(v.dims[a]) > 0)
        n = min(v.dims[axis])
        shape = self.one((), (1,), (3,), (2, 2), (0,))
        if self.r.random() < 0.2:
            i = self.pick(lambda i: i.low >= -n and max(
                [a.max() for a in i.arrays if a.size] + [0]) < n, I64)
        else:
            i = self.const(self.r.integers(-n, n, shape))
        return self.op("Gather", v, i, axis=axis)

    def concat(self):
        v = self.pick(lambda v: v.rank >= 1)
        axis = 1 if v.rank == 4 and self.r.random() < 0.8 else self.axis(v)
        parts = [v]
        for _ in range(self.r.integers(1, 4)):
            parts.append(self.pick(lambda w: w.rank == v.rank and all(
                w.dims[a] == v.dims[a] for a in range(v.rank) if a != axis)))
        if self.r.random() < 0.2 and all(
                v.fixed(a) for a in range(v.rank) if a != axis):
            parts.append(self.weights(*[v.fixed(a) if a != axis else 3
                                        for a in range(v.rank)], scale=1))
        self.r.shuffle(parts)
        return self.op("Concat", *parts, axis=axis)

    def split(self):
        v = self.pick(lambda v: v.rank >= 1)
        axis = self.axis(v, lambda a: (v.fixed(a) or 0) > 1)
        n = v.fixed(axis)
        k = int(self.r.integers(1, n))
        return self.op("Split", v, self.const(np.array([k, n - k])),
                       axis=axis, outputs=2)

    def squeeze(self):
        v = self.pick()
        if self.r.random() < 0.6 and v.rank < 5:
            return self.op("Unsqueeze", v, self.const(np.array(
                [int(self.r.integers(v.rank + 1))])))
        return self.op("Squeeze", v, self.const(np.array(
            [self.axis(v, lambda a: v.fixed(a) == 1)])))

    def pad(self):
        v = self.pick(lambda v: v.rank >= 1)
        pads = self.r.integers(-1 if self.r.random() < 0.2 else 0, 3,
                               2 * v.rank)
        return self.op("Pad", v, self.const(pads), self.const(F32(
            self.one(0, 0.5))), mode=self.one("constant", "constant", "edge",
                                              "reflect"))

    def tile(self):
        v = self.pick(lambda v: v.rank >= 1)
        return self.op("Tile", v, self.const(self.r.integers(1, 3, v.rank)))

    def reduce(self):
        v = self.pick(lambda v: v.rank >= 1)
        kind = self.one("Sum", "Mean", "Max", "Min", "L2", "SumSquare", "L1",
                        "LogSumExp", "Prod")
        axes = self.r.permutation(v.rank)[:self.r.integers(1, v.rank + 1)]
        if self.r.random() < 0.2:
            return self.op("Reduce" + kind, v, keepdims=self.one(0, 1))
        return self.op("Reduce" + kind, v, self.const(np.sort(axes)),
                       keepdims=self.one(0, 1))

    def search(self):
        v = self.pick(lambda v: v.rank >= 1)
        axis = self.axis(v)
        kind = self.r.integers(4)
        if kind == 0 and min(v.dims[axis]) > 0:
            return self.op("ArgMax", v, axis=axis, keepdims=self.one(0, 1))
        if kind == 1:
            k = min(2, min(v.dims[axis]))
            return self.op("TopK", v, self.const(np.array([k])), axis=axis,
                           outputs=2)
        if kind == 2:
            return self.op("CumSum", v, self.const(np.array(axis)),
                           reverse=self.one(0, 1), exclusive=self.one(0, 1))
        return self.op("NonZero", v)

    def scatter(self):
        v = self.pick(lambda v: v.rank >= 1)
        axis = self.axis(v, lambda a: min(v.dims[a]) >= 2)
        shape = [2 if a == axis else 1 for a in range(v.rank)]
        if any(min(d) < 1 for d in v.dims):
            raise Rejected("empty")
        i = self.const(self.r.permutation(2).reshape(shape))
        return self.op("ScatterElements", v, i,
                       self.weights(*shape, scale=1), axis=axis)

    def cast(self):
        v = self.pick()
        f = self.op("Floor", v)
        i = self.op("Cast", f, to=self.one(TensorProto.INT64,
                                           TensorProto.INT32))
        return i if self.r.random() < 0.5 else self.op(
            "Cast", i, to=TensorProto.FLOAT)

    def typed(self):
        """Another element type for a while."""
        v = self.pick()
        to = self.one(*(helper.np_dtype_to_tensor_dtype(np.dtype(t)) for t in (
            np.int8, np.uint8, np.int16, np.int32, np.int64, np.float64)))
        if to != TensorProto.DOUBLE:
            v = self.op("Clip", self.op("Round", v),
                        self.const(F32(self.one(-9, 0))), self.const(F32(9)))
        w = v = self.op("Cast", v, to=to)
        for _ in range(self.r.integers(1, 4)):
            c = self.const(self.one(
                np.array(self.one(1, 2, 3, 7), v.dtype),
                np.full([v.fixed(v.rank - 1) or 1] if v.rank else [], 3,
                        v.dtype)))
            step = self.one(
                lambda: self.op(self.one("Add", "Sub", "Mul", "Max", "Min"),
                                v, self.one(c, w)),
                lambda: self.op(self.one("Div", "Div", "Mod", "BitwiseAnd",
                                         "BitwiseXor"), v, c),
                lambda: self.op(self.one("Abs", "Neg", "Sign", "Identity",
                                         "Relu"), v),
                lambda: self.op("Where", self.op("Greater", v, c), v, w),
                lambda: self.op(self.one("ReduceSum", "ReduceMax", "ReduceMin",
                                         "ReduceProd", "ReduceMean"), v,
                                self.const(np.array([self.axis(v)]))),
                lambda: self.op("Concat", v, v, axis=self.axis(v)),
                lambda: self.op("Transpose", v,
                                perm=self.r.permutation(v.rank).tolist())
                if v.rank > 1 else v,
                lambda: self.op("CumSum", v,
                                self.const(np.array(self.axis(v)))),
                lambda: self.op("Softmax", v, axis=self.axis(v)),
                lambda: self.op("MatMul", v, self.const(
                    self.random_array((v.fixed(v.rank - 1) or 1, 3), v.dtype)
                    if v.rank else np.array(0))),
                lambda: self.op("Pad", v, self.const(np.array(
                    [1] * 2 * v.rank))))
            try:
                v = step()
            except Rejected:
                pass
        return self.op("Cast", v, to=TensorProto.FLOAT)

    # -- control flow

    def body(self, start, captured, inputs=()):
        """A few pointwise nodes on names."""
        nodes, now = [], start
        for _ in range(self.r.integers(1, 4)):
            name = self.name()
            if self.r.random() < 0.5:
                nodes.append(helper.make_node(
                    self.one("Relu", "Sigmoid", "Neg", "Tanh"), [now], [name]))
            else:
                nodes.append(helper.make_node(
                    self.one("Add", "Max", "Min"), [now, captured], [name]))
            now = name
        return nodes, now

    def condition(self):
        v = self.pick()
        s = self.op("ReduceSum", v, keepdims=0)
        return self.op("Greater", s, self.const(F32(self.one(0, 1e9))))

    def branch(self):
        v = self.pick()
        w = self.pick(lambda w: w.shapes == v.shapes)
        c = self.condition()
        graphs = []
        for _ in range(2):
            nodes, last = self.body(v.name, w.name)
            if self.r.random() < 0.2:
                nodes, last = [], self.name()
                nodes = [helper.make_node("Identity", [w.name], [last])]
            graphs.append(helper.make_graph(
                nodes, self.name(), [], [info(last, v.arrays[0])]))
        return self.op("If", c, captured=(v, w), then_branch=graphs[0],
                       else_branch=graphs[1])

    def loop(self):
        v = self.pick()
        w = self.pick(lambda w: w.shapes == v.shapes)
        i, go, x, on = (self.name() for _ in range(4))
        nodes, last = self.body(x, w.name)
        nodes.append(helper.make_node("Identity", [go], [on]))
        outputs = [info(on, np.array(True)), info(last, v.arrays[0])]
        scan = self.r.random() < 0.5
        if scan:
            out = self.name()
            nodes.append(helper.make_node("Abs", [x], [out]))
            outputs.append(info(out, v.arrays[0]))
        body = helper.make_graph(
            nodes, self.name(), [info(i, np.array(0), ()),
                                 info(go, np.array(True), ()),
                                 info(x, v.arrays[0])], outputs)
        # ONNX Runtime does not know the shape of an empty stack
        trips = self.const(np.array(int(self.one(1 if scan else 0, 1, 3))))
        go = self.const(np.array(True))
        return self.op("Loop", trips, go, v, captured=(w,),
                       outputs=1 + scan, body=body)

    # -- whole graphs ------------------------------------------------------

    def grow(self):
        r = self.r
        style = self.one("image", "image", "sequence", "sequence", "mixed")
        if style in ("image", "mixed"):
            c = int(self.one(3, 5, 16, 20, 32))
            if r.random() < 0.15:
                self.input(["N", c, "W"])
            elif r.random() < 0.3:
                self.input([1, c, 9, 10])
            else:
                self.input(["N", c, "H", "W"])
        if style in ("sequence", "mixed"):
            self.input(["N", "S", int(self.one(1, 8, 12, 16, 24))])
        if r.random() < 0.5:
            self.input(self.one(["N", 1, "S", "S"], ["N", 1, 1, "S"], ["S"],
                                ["N"], [], ["N", "S"], [4, 0]))
        if r.random() < 0.3:
            self.input(self.one(["N", "S"], [3]), I64)
        common = [self.unary, self.binary, self.binary, self.activation,
                  self.clip, self.transpose, self.reshape, self.shape,
                  self.slice, self.gather, self.concat, self.split,
                  self.squeeze, self.reduce, self.select, self.expand,
                  self.pad, self.tile, self.dynamic_slice, self.ranged,
                  self.search, self.scatter, self.cast, self.branch, self.loop,
                  self.normalized, self.integers, self.typed, self.typed]
        image = [self.conv, self.conv, self.residual, self.batch_norm,
                 self.pool, self.transposed, self.resize, self.prelu,
                 self.unary, self.binary, self.concat, self.activation,
                 self.instance, self.clip]
        sequence = [self.matmul, self.matmul, self.gemm, self.product,
                    self.attention, self.normalized, self.unary, self.binary,
                    self.activation, self.transpose]
        special = {"image": image, "sequence": sequence,
                   "mixed": image + sequence}[style]
        focus = self.one(0.5, 0.9, 1.0)
        target = int(self.one(5, 8, 12, 20, 32))
        tries = 0
        while len(self.nodes) < target and tries < 120:
            tries += 1
            step = self.one(*(special if r.random() < focus else common))
            try:
                step()
            except Rejected:
                pass

    def results(self):
        outputs = [v for v in self.values if v.name not in self.used
                   and v.name not in self.inputs]
        middle = [v for v in self.values if v not in outputs]
        n = self.r.integers(4) if middle else 0
        outputs += [middle[i] for i in sorted(
            {int(self.r.integers(len(middle))) for _ in range(n)})]
        if self.constants and self.r.random() < 0.1:
            outputs.append(self.constants[0])
        return outputs

    def model(self, outputs, fixed=None):
        def shape(dims):
            return [self.symbols[d][fixed] if isinstance(d, str)
                    and fixed is not None else d for d in dims]
        by_name = {v.name: v for v in self.values}
        graph = helper.make_graph(
            self.nodes, "random",
            [info(n, by_name[n].arrays[0], shape(d))
             for n, d in self.inputs.items()],
            [info(v.name, v.arrays[0],
                  [f"{v.name}_{i}" for i in range(v.rank)]
                  if not v.constant else v.shapes[0]) for v in outputs],
            [numpy_helper.from_array(v.arrays[0], v.name)
             for v in self.constants])
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR
        return model


def difference(got, v, i):
    """What is wrong with an output; None: nothing."""
    i = 0 if v.constant else i
    want, twin = v.arrays[i], v.twins[i]
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if got.dtype != want.dtype:
        return f"type {got.dtype}, not {want.dtype}"
    if want.dtype not in FLOATS:
        wrong = got != want
    else:
        error = np.abs(got.astype(np.float64) - want)
        scale = np.abs(want).max() if want.size else 0
        off = np.abs(want - twin).max() if want.size else 0
        wrong = ~(error <= 30 * off + 2e-5 * scale + 1e-6)
    if not wrong.any():
        return None
    k = tuple(int(x[0]) for x in np.nonzero(wrong))
    return (f"{np.count_nonzero(wrong)} of {want.size} wrong, at {k}: "
            f"{got[k]}, not {want[k]}")


def check(seed, folder, keep):
    """Number of compilations, list of failures."""
    g = Graph(seed)
    g.grow()
    outputs = g.results()
    if not outputs:
        return 0, []
    inputs = {n: v for v in g.values for n in [v.name] if n in g.inputs}
    failures = []
    done = 0
    for fixed in (None, 0):
        path = os.path.join(folder, "m.onnx")
        onnx.save(g.model(outputs, fixed), path)
        target = TARGETS[(seed + (fixed is not None)) % len(TARGETS)]
        wrong = []
        try:
            model = ferrule.load(path, target=target.encode(), threads=1,
                                 opt_level=1 if seed % 4 else 3)
            done += 1
            for i in range(g.sizes) if fixed is None else [0]:
                arrays = {n: v.arrays[i] for n, v in inputs.items()}
                got = {}
                for threads in (1, 3):
                    model.set_threads(threads)
                    got[threads] = model.run(arrays)
                for v in outputs:
                    d = difference(got[1][v.name], v, i)
                    if d:
                        wrong.append(f"sizes {i}, {v.name}: {d}")
                    if got[1][v.name].tobytes() != got[3][v.name].tobytes():
                        wrong.append(f"sizes {i}, {v.name}: threads differ")
        except ferrule.Error as e:
            wrong.append(f"status {e.status}: {e}")
        if wrong:
            kind = "symbolic" if fixed is None else "fixed"
            failures += [f"seed {seed}, {kind}, {target}: {w}" for w in wrong]
            if keep:
                os.replace(path, os.path.join(keep, f"{seed}_{kind}.onnx"))
    return done, failures


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=60)
    p.add_argument("--keep")
    args = p.parse_args()
    done, failures = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.seed, args.seed + args.count):
            print(f"seed {seed}", end="\r", flush=True)
            n, wrong = check(seed, folder, args.keep)
            for line in wrong:
                print(line, flush=True)
            failures += wrong
            done += n
    print(f"{done} models, {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
