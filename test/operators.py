"""usage: operators.py

Operators in the forms that the official cases leave out: old opsets, dynamic
dims, constant operands, unusual element types. All cases of one opset are one
model, with all sizes fixed and again with symbolic dims. References: ONNX
Runtime, or numpy where it no longer knows the opset.
"""
import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import ferrule

random = np.random.default_rng(1)
I64 = np.int64


def f(*shape):
    return random.uniform(-2, 2, shape).astype(np.float32)


def ints(dtype, low, high, *shape):
    return random.integers(low, high, shape).astype(dtype)


def i64(*values):
    return np.array(values, I64)


class Case:
    """inputs: arrays; Const(array) is an initializer; None is absent. want:
    gives the results, instead of ONNX Runtime."""

    def __init__(self, op, *inputs, want=None, outputs=1, **attrs):
        self.op, self.inputs, self.attrs = op, inputs, attrs
        self.want, self.outputs = want, outputs


class Const:
    def __init__(self, array):
        self.array = np.asarray(array)


def unsqueeze(a, *axes):
    return np.expand_dims(a, axes)


# Opsets before 7: what they said, in numpy.
x234, x34, x3, x24 = f(2, 3, 4), f(3, 4), f(3), f(2, 4)
positive = np.abs(x234) + np.float32(0.5)
b34, b24 = x34 > 0, x24 > 0
OLD = {
    1: [
        Case("Add", x234, x3, broadcast=1, axis=1,
             want=lambda: x234 + unsqueeze(x3, 1)),
        Case("Add", x234, x34, broadcast=1, want=lambda: x234 + x34),
        Case("Mul", x234, x234, want=lambda: x234 * x234),
        Case("Relu", x234, consumed_inputs=[0],
             want=lambda: np.maximum(x234, 0)),
        Case("Cast", x234, to="INT32", want=lambda: x234.astype(np.int32)),
        Case("Clip", x234, min=-0.5, max=0.7,
             want=lambda: np.clip(x234, np.float32(-0.5), np.float32(0.7))),
        Case("Reshape", x234, shape=[0, -1], want=lambda: x234.reshape(2, 12)),
        Case("Concat", x34, x24, axis=0,
             want=lambda: np.concatenate([x34, x24])),
        Case("Concat", x34, x34, want=lambda: np.concatenate([x34, x34], 1)),
        Case("Slice", x234, starts=[1, -2], ends=[3, 1000], axes=[1, 2],
             want=lambda: x234[:, 1:3, -2:]),
        Case("Split", x234, split=[1, 2], axis=1, outputs=2,
             want=lambda: [x234[:, :1], x234[:, 1:]]),
        Case("Tile", x34, Const(np.array(3, I64)), Const(np.array(1, I64)),
             want=lambda: np.tile(x34, (1, 3))),
        Case("PRelu", x234, Const(x3), want=lambda: np.where(
            x234 < 0, x234 * unsqueeze(x3, 1), x234)),
        Case("Selu", x34, want=lambda: np.float32(1.0507) * np.where(
            x34 > 0, x34, np.float32(1.6732) * np.expm1(x34))),
        Case("Squeeze", x234[:, :1], axes=[1], want=lambda: x234[:, 0]),
        Case("Unsqueeze", x34, axes=[0, 3],
             want=lambda: x34.reshape(1, 3, 4, 1)),
        Case("Max", x34, x34 * 2, x34 + 1,
             want=lambda: np.maximum(np.maximum(x34, x34 * 2), x34 + 1)),
        Case("Mean", x34, x34 * 2, x34 + 1,
             want=lambda: (x34 + x34 * 2 + x34 + 1) / np.float32(3)),
        Case("Sum", x34, want=lambda: x34),
        Case("And", np.stack([b34, b34]), b34[0], broadcast=1,
             want=lambda: np.stack([b34, b34]) & b34[0]),
        Case("Gather", x34, i64(2, 0), axis=0, want=lambda: x34[[2, 0]]),
    ],
    6: [
        Case("Pow", positive, x34[:, 0], broadcast=1, axis=1,
             want=lambda: positive ** unsqueeze(x34[:, 0], 1)),
        Case("Div", x234, positive, want=lambda: x234 / positive),
        Case("Greater", x234, x34, broadcast=1, want=lambda: x234 > x34),
        Case("Equal", b34, b34[::-1].copy(),
             want=lambda: b34 == b34[::-1]),
        Case("Clip", x34, want=lambda: x34),
        Case("Tile", x34, i64(2, 1), want=lambda: np.tile(x34, (2, 1))),
        Case("Elu", x34, alpha=0.5, want=lambda: np.where(
            x34 > 0, x34, np.float32(0.5) * np.expm1(x34))),
        Case("Selu", x34, want=lambda: np.float32(1.0507009873554805) *
             np.where(x34 > 0, x34,
                      np.float32(1.6732632423543772) * np.expm1(x34))),
    ],
}

MIN32 = np.iinfo(np.int32).min
special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5, 3.5],
                   np.float32)
halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1e9], np.float32)
NEW = {
    9: [
        Case("Where", x34 > 0, x34, f(4)),
        Case("Expand", f(3, 1), Const(i64(2, 1, 4))),
        Case("ConstantOfShape", Const(i64(2, 3)),
             value=helper.make_tensor("v", TensorProto.INT64, [1], [7])),
        Case("Flatten", x234, axis=2),
        Case("Flatten", x234, axis=0),
    ],
    11: [
        Case("Clip", x34, Const(np.float32(-0.5)), Const(np.float32(0.5))),
        Case("Clip", x34, None, Const(np.float32(0.5))),
        Case("Split", f(2, 7), axis=1, split=[1, 4, 2], outputs=3),
        Case("Split", f(6, 2), axis=-2, outputs=3),
        Case("Squeeze", f(1, 3, 1, 4), axes=[-2]),
        Case("Squeeze", f(1, 3, 1, 4)),
        Case("Unsqueeze", x34, axes=[-1, 0]),
        Case("BitShift", ints(np.uint8, 0, 255, 9), ints(np.uint8, 0, 7, 9),
             direction="RIGHT"),
        Case("BitShift", ints(np.uint32, 0, 2**32, 9),
             ints(np.uint32, 0, 31, 9), direction="LEFT"),
        Case("Range", Const(I64(2)), Const(I64(20)), Const(I64(3))),
        Case("Range", np.float32(1), np.float32(-2), np.float32(-0.4)),
    ],
    17: [
        Case("Clip", ints(np.int32, -9, 9, 5), Const(np.int32(-3)), None),
        Case("Div", ints(np.int32, -50, 50, 4, 5),
             Const(np.array([3, -3, 7, -7, 1], np.int32))),
        Case("Div", ints(np.uint8, 0, 255, 4, 5), ints(np.uint8, 1, 9, 5)),
        Case("Div", ints(np.int64, -2**40, 2**40, 5), ints(I64, 1, 99, 5)),
        Case("Mod", ints(np.int64, -50, 50, 4, 5), i64(3, -3, 7, -7, 1)),
        Case("Mod", ints(np.int32, -50, 50, 4, 5),
             Const(np.array([3, -3, 7, -7, 1], np.int32)), fmod=1),
        Case("Mod", f(4, 5), f(5), fmod=1),
        Case("Mod", ints(np.uint8, 0, 255, 7), ints(np.uint8, 1, 9, 7)),
        Case("Pow", ints(np.int64, -9, 9, 7), ints(I64, 0, 7, 7)),
        Case("Pow", positive, Const(np.float32(2))),
        Case("Pow", positive, Const(np.float32(-0.5))),
        Case("Pow", f(3, 4), Const(I64(3))),
        Case("Pow", positive.astype(np.float64), x234.astype(np.float64)),
        Case("Abs", ints(np.int8, -128, 127, 50)),
        Case("Abs", ints(np.uint8, 0, 255, 50)),
        Case("Sign", special[:4]),
        Case("Sign", ints(np.int64, -3, 3, 20)),
        Case("Round", halves),
        Case("Floor", halves),
        Case("Ceil", halves.astype(np.float64)),
        Case("Max", special, f(8)),
        Case("Min", special[::-1].copy(), f(8), f(1)),
        Case("Max", ints(np.uint32, 0, 2**32, 9), ints(np.uint32, 0, 2**32, 9)),
        Case("Min", ints(np.int64, -9, 9, 9), ints(np.int64, -9, 9, 1)),
        Case("Relu", special),
        Case("IsInf", special),
        Case("IsInf", special, detect_positive=0),
        Case("IsNaN", special),
        Case("Equal", special, special),
        Case("Less", ints(np.int32, -9, 9, 3, 4), ints(np.int32, -9, 9, 4)),
        Case("GreaterOrEqual", special, special[::-1].copy()),
        Case("Not", b34),
        Case("Xor", b34, b34[0]),
        Case("Cast", special[[0, 1, 5, 6, 7]], to=TensorProto.BOOL),
        Case("Cast", f(9) * 50, to=TensorProto.INT8),
        Case("Cast", f(9) * 9e4, to=TensorProto.INT32),
        Case("Cast", np.abs(f(9)) * 100, to=TensorProto.UINT8),
        Case("Cast", f(9) * 9e4, to=TensorProto.FLOAT16),
        Case("Cast", f(9).astype(np.float64) / 3, to=TensorProto.FLOAT16),
        Case("Cast", b34, to=TensorProto.FLOAT),
        Case("Cast", ints(np.uint64, 0, 2**63, 9), to=TensorProto.FLOAT),
        Case("Cast", ints(np.int64, -2**60, 2**60, 9), to=TensorProto.DOUBLE),
        Case("Cast", ints(np.int32, -999, 999, 9), to=TensorProto.UINT8),
        Case("LeakyRelu", f(3, 4).astype(np.float16), alpha=0.3),
        Case("HardSigmoid", f(9) * 3, alpha=0.3, beta=0.4),
        Case("HardSwish", f(9) * 4),
        Case("Elu", f(9)), Case("Selu", f(9)), Case("Celu", f(9), alpha=2.0),
        Case("Softplus", f(9) * 40), Case("Softsign", f(9)),
        Case("Sigmoid", f(9) * 40), Case("Tanh", f(9) * 5),
        Case("ThresholdedRelu", f(9), alpha=0.5), Case("Erf", f(9)),
        Case("PRelu", f(2, 3, 4), f(3, 1)),
        Case("Shrink", f(9), bias=0.2, lambd=0.7),
        Case("Sin", f(9) * 9), Case("Cos", f(9) * 9), Case("Tan", f(9)),
        Case("Asin", f(9) / 2), Case("Acos", f(9) / 2), Case("Atan", f(9)),
        Case("Sinh", f(9)), Case("Cosh", f(9)), Case("Asinh", f(9)),
        Case("Acosh", np.abs(f(9)) + 1), Case("Atanh", f(9) / 2.1),
        Case("Exp", f(9)), Case("Log", np.abs(f(9))), Case("Sqrt", np.abs(f(9))),
        Case("Reciprocal", f(9)), Case("Neg", ints(np.int8, -128, 127, 9)),
        Case("Shape", x234, start=-2), Case("Shape", x234, start=1, end=2),
        Case("Size", x234),
        Case("Reshape", x234, Const(i64(4, -1))),
        Case("Reshape", x234, i64(0, 0, 2, 2)),
        Case("Reshape", f(0, 3), Const(i64(3, 0)), allowzero=1),
        Case("Squeeze", f(3, 1, 4, 1), Const(i64(-1, 1))),
        Case("Unsqueeze", x34, i64(3, 0)),
        Case("Transpose", x234), Case("Transpose", x234, perm=[0, 2, 1]),
        Case("Transpose", f(2, 1, 3), perm=[1, 0, 2]),
        Case("Transpose", f(40, 70)),
        Case("Transpose", ints(np.int8, -9, 9, 3, 33, 20), perm=[2, 0, 1]),
        Case("Concat", f(2, 3), f(2, 5), f(2, 1), axis=1),
        Case("Concat", f(2, 3), f(0, 3), f(4, 3), axis=-2),
        Case("Concat", *[f(1, i % 3 + 1) for i in range(40)], axis=1),
        Case("Slice", x234, Const(i64(0, -3)), Const(i64(2, 2**62)),
             Const(i64(1, 2)), Const(i64(1, 2))),
        Case("Slice", x234, Const(i64(-1)), Const(i64(-2**63)), Const(i64(2)),
             Const(i64(-1))),
        Case("Slice", x234, i64(3, 1), i64(0, 3), i64(-1, 1), i64(-2, 1)),
        Case("Slice", x234, Const(i64(1)), Const(i64(100)), Const(i64(1))),
        Case("Slice", x234, Const(i64(5)), Const(i64(9)), Const(i64(2))),
        Case("Split", f(5, 2), Const(i64(2, 3)), outputs=2),
        Case("Gather", f(5, 3), np.array([[0, -1], [2, 4]], np.int32)),
        Case("Gather", f(5, 3), Const(I64(-2)), axis=1),
        Case("Gather", f(2, 5, 3), i64(4, 1), axis=-2),
        Case("Expand", f(3, 1), i64(1, 5)),
        Case("Expand", f(3, 4), Const(i64(1))),
        Case("Expand", np.float32(2.5), Const(i64(2, 2))),
        Case("Tile", f(2, 3), Const(i64(2, 2))), Case("Tile", f(2, 3), i64(1, 3)),
        Case("Tile", f(2, 1, 3), Const(i64(1, 4, 1))),
        Case("Where", b34, Const(np.float32(1)), x34),
        Case("Where", b34[:, :1], ints(I64, -9, 9, 4), ints(I64, -9, 9, 3, 4)),
        Case("Mean", f(3, 1), f(1, 4), f(3, 4)),
        Case("Sum", f(3, 1), f(1, 4)),
        Case("Identity", x34),
    ],
    20: [
        Case("Gelu", f(9)), Case("Gelu", f(9), approximate="tanh"),
        Case("Mish", f(9)),
        Case("Split", f(7, 2), num_outputs=3, outputs=3),
        Case("BitwiseAnd", ints(np.int32, -99, 99, 3, 4),
             ints(np.int32, -99, 99, 4)),
        Case("BitwiseNot", ints(np.uint8, 0, 255, 9)),
        Case("IsInf", special.astype(np.float16)),
    ],
}


def dims(array, dynamic):
    # Lists of sizes and axes give the rank of results: their length is fixed.
    dynamic = dynamic and not (array.dtype == I64 and array.ndim == 1)
    return [f"d{n}" if dynamic and n > 1 else n for n in array.shape]


def build(opset, cases, dynamic):
    """The model, its inputs, and the names of each case's outputs."""
    nodes, inputs, initializers, outputs, feeds = [], [], [], [], {}
    names = []
    for k, case in enumerate(cases):
        if case is None:
            continue
        args = []
        for i, value in enumerate(case.inputs):
            name = f"x{k}_{i}"
            if value is None:
                args.append("")
                continue
            args.append(name)
            if isinstance(value, Const):
                initializers.append(numpy_helper.from_array(value.array, name))
                continue
            value = np.asarray(value)
            feeds[name] = value
            inputs.append(helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(value.dtype),
                dims(value, dynamic)))
        results = [f"y{k}_{i}" for i in range(case.outputs)]
        names.append(results)
        nodes.append(helper.make_node(case.op, args, results,
                                      name=f"{case.op}_{k}", **case.attrs))
        outputs += [onnx.ValueInfoProto(name=r) for r in results]
    graph = helper.make_graph(nodes, "operators", inputs, outputs, initializers)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return model, feeds, names


def typed(model, results):
    """ONNX Runtime wants types on outputs; ranks suffice."""
    for info, array in zip(model.graph.output, results):
        info.CopyFrom(helper.make_tensor_value_info(
            info.name, helper.np_dtype_to_tensor_dtype(array.dtype),
            [None] * array.ndim))


def reference(model, feeds):
    inferred = onnx.shape_inference.infer_shapes(model)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = \
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        inferred.SerializeToString(), options, ["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def wanted(opset, cases):
    want = {}
    for k, case in enumerate(cases):
        if case.want:
            values = case.want()
            values = values if isinstance(values, list) else [values]
            want.update({f"y{k}_{i}": np.asarray(v)
                         for i, v in enumerate(values)})
    rest = [None if case.want else case for case in cases]
    if any(rest):
        model, feeds, _ = build(opset, rest, dynamic=False)
        want.update(reference(model, feeds))
    return want


def differs(got, want):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if want.dtype.kind != "f":
        return None if np.array_equal(got, want) else f"{got}, not {want}"
    tolerance = 2e-3 if want.dtype == np.float16 else 1e-5
    # Sums that cancel out are as exact as their terms.
    finite = np.abs(want[np.isfinite(want)])
    absolute = tolerance / 4 * max(0.4, finite.max(initial=0))
    close = np.isclose(got, want, tolerance, absolute, equal_nan=True)
    return None if close.all() else f"{got[~close]}, not {want[~close]}"


def check(cases_of_opsets):
    """Number of failures, which are printed."""
    failures = 0
    for opset, cases in sorted(cases_of_opsets.items()):
        want = wanted(opset, cases)
        for dynamic in (False, True):
            model, feeds, names = build(opset, cases, dynamic)
            with tempfile.TemporaryDirectory() as scratch:
                path = os.path.join(scratch, "model.onnx")
                onnx.save(model, path)
                try:
                    got = ferrule.load(path).run(feeds)
                except ferrule.Error as e:
                    print(f"opset {opset}, dynamic {dynamic}: {e}")
                    failures += 1
                    continue
            for case, results in zip(cases, names):
                for name in results:
                    text = differs(got[name], want[name])
                    if text:
                        failures += 1
                        print(f"opset {opset}, dynamic {dynamic}: {case.op} "
                              f"{name}: {text}")
    print(f"{failures} failures")
    return failures


if __name__ == "__main__":
    sys.exit(check({**OLD, **NEW}) > 0)
