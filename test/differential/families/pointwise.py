"""Functions of single elements."""
import copy
import dataclasses
import math

import ml_dtypes
import numpy as np

from draw import FLOATS, T, numpy_type

INTEGERS = (T.INT8, T.INT16, T.INT32, T.INT64, T.UINT8, T.UINT16, T.UINT32,
            T.UINT64)


def one(low=None, high=None, spread="function", formula=None, **attributes):
    """Of one tensor with elements in [low, high]. attributes: what draws each
    of them; a third are left to their default. formula(x, **given), in f64."""

    def generate(d):
        t = d.type(d.schema.inputs[0].type_str)
        x = d.tensor(t, d.shape(), *((low, high) if t in FLOATS else ()))
        given = {k: draw(d) for k, draw in attributes.items()
                 if d.chance(.67)}
        return d.node([x], spread=spread, **given, formula=formula
                      and t in FLOATS and (lambda x: formula(x, **given)))
    return generate


def selu(d):
    t = d.type()
    given = {k: d.number(.5, 2) for k in ("alpha", "gamma") if d.chance(.67)}
    alpha, gamma = (np.float32(given.get(
        k, d.schema.attributes[k].default_value.f)) for k in ("alpha", "gamma"))
    return d.node([d.tensor(t, d.shape())], spread="cancel", **given,
                  formula=lambda x: gamma * np.where(
                      x > 0, x, alpha * np.expm1(np.minimum(x, 0))))


def aligned(case):
    """The broadcast of opsets below 7 as one of today."""
    node = copy.deepcopy(case.nodes[0])
    axis = case.attributes().get("axis")
    del node.attribute[:]
    x, y = case.values
    if axis is not None:
        ones = [1] * (x.array.ndim - axis - y.array.ndim)
        y = dataclasses.replace(y, array=y.array.reshape(y.array.shape
                                                         + tuple(ones)))
        y.dims = None if y.dims is None else list(y.array.shape)
    return dataclasses.replace(case, opset=13, nodes=[node], values=[x, y])


def two(spread="function", low=None, high=None, positive=False, **attributes):
    """Of two tensors that broadcast; `positive`: the second is not zero."""

    def generate(d):
        types = [d.type(p.type_str) for p in d.schema.inputs]
        given = {k: draw(d) for k, draw in attributes.items()
                 if d.chance(.67)}
        if "broadcast" in d.attributes:  # opsets below 7
            shape = d.shape(min_rank=1)
            shapes = [shape, shape]
            if d.chance(.6):
                at = d.integer(0, len(shape) - 1)
                to = d.integer(at + 1, len(shape))
                shapes[1] = shape[at:to]
                given["broadcast"] = 1
                if to < len(shape) or d.chance(.5):
                    given["axis"] = at
        else:
            shapes = d.broadcasts(2)
            if d.chance(.5):
                shapes.reverse()
        x = d.tensor(types[0], shapes[0], low, high)
        y = d.tensor(types[1], shapes[1], low, high)
        if positive and types[1] in INTEGERS:
            y.array[y.array == 0] = 3
        case = d.node([x, y], spread=spread, **given)
        if "broadcast" in d.attributes:
            case.stand_in = aligned(case)
        return case
    return generate


def shift(d):
    t = d.type()
    a, b = d.broadcasts(2)
    bits = np.dtype(d.array(t, ()).dtype).itemsize * 8
    return d.node([d.tensor(t, a, 0, 255), d.tensor(t, b, 0, bits - 1)],
                  direction=d.pick("LEFT", "RIGHT"))


def power(d):
    t = d.type()
    u = d.type("T1") if "T1" in d.constraints else t
    if "broadcast" in d.attributes:
        shape = d.shape(min_rank=1)
        return d.node([d.tensor(t, shape, .1, 4), d.tensor(u, shape, 0, 3)])
    a, b = d.broadcasts(2)
    low = .1 if t in FLOATS else 1
    return d.node([d.tensor(t, a, low, 4), d.tensor(u, b, 0, 3)])


def modulo(d):
    t = d.type()
    a, b = d.broadcasts(2)
    x, y = d.tensor(t, a), d.tensor(t, b)
    if t in FLOATS:
        x.array = d.array(t, tuple(a), -20, 20)
        y.array = d.array(t, tuple(b), 1, 5)
    else:
        y.array[y.array == 0] = 3
    return d.node([x, y], spread="exact",
                  fmod=1 if t in FLOATS or d.chance(.5) else d.pick(None, 0))


def several(spread="function"):
    """Of any number of tensors."""

    def generate(d):
        count = d.integer(1, 5)
        if d.version < 8:
            shape = d.shape()
            shapes = [shape] * count
        else:
            shapes = d.broadcasts(count)
        t = d.type()
        return d.node([d.tensor(t, s, special=.05) for s in shapes],
                      spread=spread)
    return generate


def clip(d):
    t = d.type()
    x = d.tensor(t, d.shape())
    ends = sorted(d.integer(0 if "uint" in str(x.array.dtype) else -5, 5)
                  for _ in range(2))
    ends = [e if d.chance(.7) else None for e in ends]

    def formula(x, *_):
        """Without a limit it is the type's own, of f32 below opset 11."""
        kind = T.FLOAT if d.version < 11 else t
        most = float(ml_dtypes.finfo(numpy_type(kind)).max) \
            if t in FLOATS and d.version >= 6 else np.inf
        return np.clip(x, -most if ends[0] is None else ends[0],
                       most if ends[1] is None else ends[1])
    if "min" in d.attributes:
        ends = [e if e is None else float(e) for e in ends]
        return d.node([x], min=ends[0], max=ends[1], formula=formula)
    bounds = [None if e is None else d.given(np.array(e), t) for e in ends]
    return d.node([x, *bounds], spread="exact", wide=False,
                  formula=formula)


def prelu(d):
    t = d.type()
    shape = d.shape(min_rank=1)
    if d.version < 7:
        slope = d.pick([1], [shape[1]] if len(shape) > 1 else [1])
    else:
        slope = d.broadcast(shape)
    x, y = d.tensor(t, shape), d.tensor(t, slope)
    case = d.node([x, y])
    if d.version < 7 and len(shape) > 1:  # one for each channel
        wide = dataclasses.replace(y, array=y.array.reshape(
            [-1] + [1] * (len(shape) - 2)))
        wide.dims = None if y.dims is None else list(wide.array.shape)
        case.stand_in = dataclasses.replace(case, opset=9, values=[x, wide])
    return case


def infinite(d):
    t = d.type("T1")
    x = d.tensor(t, d.shape(), special=.8)
    return d.node([x], detect_positive=d.pick(None, 0, 1),
                  detect_negative=d.pick(None, 0, 1))


def not_a_number(d):
    return d.node([d.tensor(d.type("T1"), d.shape(), special=.8)])


def where(d):
    c, a, b = d.broadcasts(3)
    t = d.type()
    return d.node([d.tensor(T.BOOL, c), d.tensor(t, a), d.tensor(t, b)],
                  spread="exact")


def swiglu(d):
    t = d.type()
    shape = d.shape()
    return d.node([d.tensor(t, shape), d.tensor(t, shape)], spread="cancel",
                  alpha=d.pick(None, d.number(.2, 2)))


erf = np.vectorize(math.erf, otypes=[np.float64])


def gelu(x, approximate="none"):
    inner = math.sqrt(2 / math.pi) * (x + .044715 * x**3)
    return .5 * x * (1 + (np.tanh(inner) if approximate == "tanh"
                          else erf(x / math.sqrt(2))))


number = lambda low, high: lambda d: d.number(low, high)
flag = lambda d: d.pick(0, 1)
word = lambda *words: lambda d: d.pick(*words)
EXACT, NEAR = {"spread": "exact"}, {"spread": "cancel"}

OPS = {
    "Abs": one(**EXACT), "Acos": one(-1, 1), "Acosh": one(1, 50),
    "Asin": one(-1, 1), "Asinh": one(), "Atan": one(), "Atanh": one(-.99, .99),
    "BitwiseNot": one(**EXACT), "Ceil": one(**EXACT), "Cos": one(-30, 30, **NEAR),
    "Cosh": one(-8, 8), "Erf": one(formula=erf), "Exp": one(-10, 10),
    "Floor": one(**EXACT), "HardSwish": one(**NEAR, formula=lambda x: x * np.clip(x / 6 + .5, 0, 1)),
    "Log": one(1e-3, 100),
    "Mish": one(**NEAR, formula=lambda x: x * np.tanh(np.logaddexp(x, 0))), "Neg": one(**EXACT), "Not": one(**EXACT),
    "Reciprocal": one(), "Relu": one(**EXACT), "Round": one(-9, 9, **EXACT),
    "Sigmoid": one(**NEAR), "Sign": one(**EXACT), "Sin": one(-30, 30, **NEAR),
    "Sinh": one(-8, 8), "Softplus": one(**NEAR), "Softsign": one(),
    "Sqrt": one(0, 100), "Tan": one(-1.5, 1.5), "Tanh": one(),
    "Celu": one(**NEAR, alpha=number(.1, 3)), "Elu": one(**NEAR, alpha=number(-2, 3)),
    "Gelu": one(**NEAR, formula=gelu, approximate=word("none", "tanh")),
    "HardSigmoid": one(**NEAR, alpha=number(.05, 1), beta=number(-.5, 1)),
    "LeakyRelu": one(alpha=number(-1, 2)),
    "Selu": selu,
    "Shrink": one(bias=number(-1, 1), lambd=number(0, 2)),
    "Swish": one(**NEAR, alpha=number(-1, 2)),
    "ThresholdedRelu": one(alpha=number(-1, 2)),
    "IsInf": infinite, "IsNaN": not_a_number,
    "Identity": one(**EXACT),
    "Add": two(), "Sub": two(), "Mul": two(), "Div": two(positive=True),
    "And": two("exact"), "Or": two("exact"), "Xor": two("exact"),
    "BitwiseAnd": two("exact"), "BitwiseOr": two("exact"),
    "BitwiseXor": two("exact"), "BitShift": shift,
    "Equal": two("exact"), "Greater": two("exact"),
    "GreaterOrEqual": two("exact"), "Less": two("exact"),
    "LessOrEqual": two("exact"), "Pow": power, "Mod": modulo,
    "Max": several("exact"), "Min": several("exact"), "Mean": several(),
    "Sum": several("sum"), "Clip": clip, "PRelu": prelu, "Where": where,
    "SwiGLU": swiglu,
}
