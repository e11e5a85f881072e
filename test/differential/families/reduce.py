"""Reductions, softmax, and what runs along an axis."""
import dataclasses

import numpy as np
from onnx import helper

from draw import FLOATS, T


def reduction(low=None, high=None, spread="sum", whole=None):
    """Of elements in [low, high], integers in [-whole, whole]: squares,
    exponentials and sums of a mean that do not fit are unspecified."""

    def generate(d):
        t = d.type()
        shape = d.shape(empty=.02)
        rank = len(shape)
        x = d.tensor(t, shape, *((low, high) if t in FLOATS else
                                 (whole and -whole, whole)), special=.02)
        keep = d.pick(None, 0, 1)
        axes = d.axes(rank) if d.chance(.8) else None
        if d.version < 11 and axes:
            axes = [a % rank for a in axes]
        noop = None

        def formula(x, *_):
            """ONNX Runtime rounds each exponential of integers."""
            if not axes and noop:
                return x
            over = dict(axis=tuple(axes) if axes else None,
                        keepdims=keep != 0)
            top = x.max(initial=-np.inf)
            top = top if np.isfinite(top) else 0
            return np.log(np.exp(x - top).sum(**over)) + top
        how = dict(keepdims=keep, spread=spread,
                   formula=formula if d.op == "ReduceLogSumExp" else None)
        if "axes" in d.attributes:
            return d.node([x], axes=axes or None, **how)
        given = None if axes is None else d.integers(axes)
        noop = d.pick(None, 0, 1)
        return d.node([x, given], noop_with_empty_axes=noop, **how)
    return generate


def best(d):
    t = d.type()
    shape = d.shape(min_rank=1, empty=0)
    x = d.tensor(t, shape, *(() if d.chance(.5) else (-3, 3)), special=0)
    if d.chance(.4):  # equal ones
        x.array = x.array.astype(np.float32).round().astype(x.array.dtype)
    axis = d.axis(len(shape))
    return d.node([x], axis=d.pick(None, axis if d.version >= 11
                                   else axis % len(shape)),
                  keepdims=d.pick(None, 0, 1),
                  select_last_index=d.pick(None, 0, 1))


def along_axis(spread="sum", **attributes):
    """Of one tensor and an axis in an attribute."""

    def generate(d):
        t = d.type()
        shape = d.shape(min_rank=1)
        axis = d.axis(len(shape))
        if d.version < 11:
            axis %= len(shape)
        if d.op in TO_THE_END and d.version < 13 and len(shape) == 1:
            axis = 0
        x = d.tensor(t, shape, *((-8, 8) if t in FLOATS else ()))
        given = {k: draw(d) for k, draw in attributes.items() if d.chance(.67)}
        case = d.node([x], axis=axis if d.chance(.8) or len(shape) < 2 else None,
                      spread=spread,
                      **given)
        if d.op in TO_THE_END and d.version < 13:
            case.stand_in = flattened(d, case)
        return case
    return generate


# Before opset 13 these were along all dims from `axis` on.
TO_THE_END = "Softmax", "LogSoftmax", "Hardmax"


def flattened(d, case):
    x, flat, done = case.values[0], d.name("flat"), d.name("done")
    axis = case.attributes().get("axis", 1)
    sizes = dataclasses.replace(x, name=d.name("sizes"), type=T.INT64,
                                array=np.array(x.array.shape), dims=None)
    nodes = [helper.make_node("Flatten", [x.name], [flat], axis=axis),
             helper.make_node(d.op, [flat], [done]),
             helper.make_node("Reshape", [done, sizes.name], case.outputs,
                              allowzero=1)]
    return dataclasses.replace(case, opset=21, nodes=nodes, values=[x, sizes])


def running(d):
    """CumSum, CumProd."""
    t = d.type()
    shape = d.shape(min_rank=1)
    x = d.tensor(t, shape, -2, 2)
    axis = d.given(np.array(d.axis(len(shape))), d.type("T2", (T.INT32, T.INT64)))
    return d.node([x, axis], exclusive=d.pick(None, 0, 1),
                  reverse=d.pick(None, 0, 1), spread="sum")


OPS = {
    "ReduceSum": reduction(), "ReduceMean": reduction(whole=2**20),
    "ReduceMax": reduction(spread="exact"),
    "ReduceMin": reduction(spread="exact"),
    "ReduceProd": reduction(.5, 1.6), "ReduceL1": reduction(whole=99),
    "ReduceL2": reduction(whole=99), "ReduceLogSum": reduction(.1, 5, whole=9),
    "ReduceLogSumExp": reduction(-8, 8, whole=9), "ReduceSumSquare": reduction(whole=99),
    "ArgMax": best, "ArgMin": best,
    "Softmax": along_axis(), "LogSoftmax": along_axis(),
    "Hardmax": along_axis("exact"),
    "CumSum": running, "CumProd": running,
    "LpNormalization": along_axis(p=lambda d: d.pick(1, 2)),
}
