"""ONNX Runtime's own operators on integers that stand for numbers, and on
weights of few bits."""
import ml_dtypes
import numpy as np
from onnx import numpy_helper

from draw import CONTRIB, T, numpy_type
from families import window
from families.contrib import standing
from families.quantize import linear_conv

DOMAIN = CONTRIB
WIDE = dict(spread="exact", wide=False)


def scale(d, low=.01, high=.6, shape=()):
    return d.tensor(T.FLOAT, list(shape), low, high)


def zero(d, t, shape=(), absent=0.):
    return None if d.chance(absent) else d.tensor(t, list(shape), -128, 255)


def byte(d, t, shape):
    return d.tensor(t, shape, -128, 255)


def pair(d):
    t = d.type()
    a, b = d.broadcasts(2, max_rank=4)
    return d.node([byte(d, t, a), scale(d), zero(d, t),
                   byte(d, t, b), scale(d), zero(d, t),
                   scale(d), zero(d, t, (), .1)], **WIDE)


def single(high=.3, **attributes):
    """`high`: largest scale of the result."""
    def generate(d):
        t = d.type()
        given = {k: draw(d) for k, draw in attributes.items()}
        return d.node([byte(d, t, d.shape()), scale(d), zero(d, t),
                       scale(d, high / 10, high), zero(d, t)],
                      **WIDE, **given)
    return generate


def softmax(d):
    t = d.type()
    low = ml_dtypes.iinfo(numpy_type(t)).min
    shape = d.shape(min_rank=1, max_rank=4, empty=0)
    return d.node([byte(d, t, shape), scale(d, .01, .2), zero(d, t),
                   d.given(np.array(1 / 256, np.float32)),
                   d.given(np.array(low), t)], axis=d.axis(len(shape)),
                  **WIDE, **{"opset": 13})


def images(d, last):
    front, sizes = window.image(d, 2)
    front[0] = max(1, front[0])
    return front, sizes


def average(d):
    t, last = d.type(), d.pick(None, 0, 1)
    front, sizes = images(d, last)
    kernel = [d.integer(1, 3) for _ in sizes]
    given = window.placing(d, sizes, kernel)
    shape = front[:1] + sizes + front[1:] if last else front + sizes
    return d.node([byte(d, t, shape), scale(d), zero(d, t), scale(d),
                   zero(d, t, (), .1)], kernel_shape=kernel, channels_last=last,
                  count_include_pad=d.pick(None, 0, 1),
                  ceil_mode=d.pick(None, 0, 1), **given, **WIDE)


def global_average(d):
    t, last = d.type(), d.pick(0, 1)
    front, sizes = images(d, last)
    shape = front[:1] + sizes + front[1:] if last else front + sizes
    return d.node([byte(d, t, shape), scale(d), zero(d, t), scale(d),
                   zero(d, t)], channels_last=last, **WIDE)


def concat(d):
    t = d.type("T8")
    d.types["TV"] = t
    shape = d.shape(min_rank=1, max_rank=4, empty=0)
    axis = d.axis(len(shape))
    inputs = [scale(d), zero(d, t)]
    for _ in range(d.integer(1, 4)):
        part = list(shape)
        part[axis] = d.integer(0 if d.chance(.1) else 1, 5)
        inputs += [byte(d, t, part), scale(d), zero(d, t)]
    return d.node(inputs, axis=axis, **WIDE)


def where(d):
    t = d.type()
    c, x, y = d.broadcasts(3, max_rank=4)
    return d.node([d.tensor(T.BOOL, c), byte(d, t, x), scale(d), zero(d, t),
                   byte(d, t, y), scale(d), zero(d, t), scale(d), zero(d, t)],
                  **WIDE)


def mean(d):
    t = d.type()
    shape = d.shape(min_rank=1, empty=0)
    axes = d.axes(len(shape), 1)
    x, keep = byte(d, t, shape), d.integer(0, 1)
    given = [x, scale(d), zero(d, t), scale(d), zero(d, t)]

    def formula(x, s, z, r, w):
        m = s * (x - z).mean(tuple(axes), keepdims=bool(keep)) / r
        info = ml_dtypes.iinfo(numpy_type(t))
        return np.clip(np.rint(m) + w, int(info.min), int(info.max))
    return d.node(given, axes=axes, keepdims=keep, spread="cut", wide=False,
                  formula=formula)


def gemm(d):
    t = d.type("TA")
    u = d.type("TB")
    if t == T.INT8:  # ONNX Runtime has no signed by unsigned
        u = d.types["TB"] = T.INT8
    m, k, n = d.size(), d.size(), d.size()
    ta, tb = d.pick(None, 0, 1), d.pick(None, 0, 1)
    per = d.pick((), (1,), (n,))
    c = d.tensor(T.INT32, d.pick([m, n], [n], [1, n], [m, 1], [1]), -999, 999) \
        if d.chance(.6) else None
    inputs = [byte(d, t, [k, m] if ta else [m, k]), scale(d), zero(d, t),
              byte(d, u, [n, k] if tb else [k, n]), scale(d, .001, .02, per),
              zero(d, u, per), c]
    quantized = d.chance(.6)
    d.types["TY"] = d.types["TYZ"] = t if quantized else T.FLOAT
    if quantized:
        inputs += [scale(d, .5, 4), zero(d, t)]
    return d.node(inputs, transA=ta, transB=tb, alpha=d.pick(None, 1.0, .5),
                  spread="exact" if quantized else "function", wide=False)


def to_float(d):
    t, u = d.type("T1"), d.type("T2")
    if t == T.INT8:  # ONNX Runtime has no signed by unsigned
        u = d.types["T2"] = t
    v = d.type("T3", (T.FLOAT,))
    m, k, n = d.size(), d.size(), d.size()
    batch = d.shape(max_rank=2, empty=0, largest=6)
    per = d.pick((), (1,), (n,))
    return d.node([byte(d, t, batch + [m, k]), byte(d, u, [k, n]),
                   d.tensor(v, [], .01, .1), d.tensor(v, per, .01, .1),
                   zero(d, t, (), .4), zero(d, u, per, .4),
                   d.tensor(v, [n], -1, 1) if d.chance(.5) else None],
                  spread="sum")


def dynamic_matmul(d):
    u = d.type("T2")
    m, k, n = d.size(), d.size(), d.size()
    batch = d.shape(max_rank=2, empty=0, largest=6)
    per = d.pick((), (1,), (n,))
    return d.node([d.tensor(T.FLOAT, batch + [m, k], -3, 5), byte(d, u, [k, n]),
                   scale(d, .01, .1, per), zero(d, u, per, .4),
                   d.tensor(T.FLOAT, [n], -1, 1) if d.chance(.5) else None],
                  spread="sum")


def lstm(d):
    """What is multiplied is not rounded here, as it is in ONNX Runtime: the
    formula, with weights as floats."""
    u = d.type("T2", (T.UINT8, T.INT8))
    way = d.pick(None, "forward", "reverse", "bidirectional")
    n = 2 if way == "bidirectional" else 1
    length, batch, width, hidden = d.integer(1, 4), d.integer(1, 3), \
        d.integer(1, 4), d.integer(1, 4)
    per = d.pick((n,), (n, 4 * hidden))
    x = d.tensor(T.FLOAT, [length, batch, width], -2, 2)
    w, r = byte(d, u, [n, width, 4 * hidden]), byte(d, u, [n, hidden, 4 * hidden])
    bias = d.tensor(T.FLOAT, [n, 8 * hidden], -1, 1) if d.chance(.6) else None
    lens = d.given(d.rng.integers(1, length + 1, batch), T.INT32) \
        if d.chance(.3) else None
    start = [d.tensor(T.FLOAT, [n, batch, hidden], -1, 1)
             if d.chance(.4) else None for _ in range(2)]
    numbers = [scale(d, .002, .01, per), zero(d, u, per), scale(d, .002, .01, per),
               zero(d, u, per)]
    for v in (w, r, *numbers):
        v.constant = True
    case = d.node([x, w, r, bias, lens, *start, None, *numbers], outputs=3,
                  spread="sum", hidden_size=hidden, direction=way)
    steps = []
    for k, name in enumerate("wr"):
        full = lambda v: np.broadcast_to(v.array.reshape(n, 1, -1),
                                         (n, 1, 4 * hidden)).astype(np.float32)
        s, z = full(numbers[2 * k]), full(numbers[2 * k + 1])
        value = ((w, r)[k].array.astype(np.float32) - z) * s
        steps.append(("Constant", [], name, {"value": numpy_helper.from_array(
            np.ascontiguousarray(value.swapaxes(1, 2)))}))
    given = case.nodes[0].input
    keep = [0, "w", "r"] + [k if given[k] else "" for k in (3, 4, 5, 6)]
    case = standing(case, *steps, ("LSTM", keep, case.outputs[0],
                                   case.attributes()))
    del case.stand_in.nodes[-1].output[:]
    case.stand_in.nodes[-1].output.extend(case.outputs)
    return case


# Weights of few bits.
def unpacked(b, bits):
    """The numbers in bytes, the low ones first; along the last axis."""
    parts = [b >> (bits * i) & ((1 << bits) - 1) for i in range(8 // bits)]
    return np.stack(parts, -1).reshape(b.shape[:-1] + (-1,))


def nbits(d):
    t = d.type("T1")
    bits = d.pick(2, 4, 4, 8)
    size = d.pick(16, 16, 32, 64, 128)
    k, n = d.pick(16, 32, 40, 64, 100), d.pick(1, 2, 5, 16, 17)
    count = -(-k // size)
    batch = d.shape(max_rank=2, empty=.02, largest=6)
    a = d.tensor(t, batch + [d.integer(1, 5), k], -2, 2)
    const = dict(constant=True)
    byte = lambda *s: d.tensor(T.UINT8, s, 0, 255, **const)
    b = byte(n, count, size * bits // 8)
    scales = d.tensor(t, d.pick([n * count], [n, count]), -.1, .1, **const)
    kind = d.pick("none", "packed", "packed", "real")
    zeros = None
    if kind == "packed":
        d.types["T3"] = T.UINT8
        row = -(-count * bits // 8)
        zeros = byte(*d.pick((n * row,), (n, row)))
    elif kind == "real":
        d.types["T3"] = t
        zeros = d.tensor(t, [n * count], 0, 1 << bits, **const)
    groups = d.given(d.rng.integers(0, count, k), T.INT32, **const) \
        if d.chance(.25) else None
    bias = d.tensor(t, [n], -1, 1, **const) if d.chance(.4) else None
    order = [v for v in (zeros, groups, bias)]

    def formula(a, b, scales, *more):
        more = dict(zip([i for i, v in enumerate(order) if v], more))
        q = unpacked(b.astype(np.uint8), bits).reshape(n, -1)[:, :k]
        z = np.full((n, count), 1 << (bits - 1))
        if kind == "packed":
            z = unpacked(more[0].astype(np.uint8).reshape(n, -1),
                         bits)[:, :count]
        elif kind == "real":
            z = more[0].reshape(n, count)
        at = more[1].astype(int) if 1 in more else np.arange(k) // size
        w = (q - z[:, at].astype(float)) * scales.reshape(n, count)[:, at]
        return a @ w.T + more.get(2, 0)
    return d.node([a, b, scales, zeros, groups, bias], K=k, N=n, bits=bits,
                  block_size=size, accuracy_level=d.pick(None, 0, 1),
                  spread="sum", formula=formula)


def bnb4(d):
    t = d.type("T1")
    size = d.pick(16, 32, 64)
    k, n = d.pick(16, 32, 48, 64), d.pick(1, 5, 8, 17)
    a = d.tensor(t, d.shape(max_rank=1, largest=4, empty=0) +
                 [d.integer(1, 5), k], -2, 2)
    b = d.tensor(T.UINT8, [(k * n + 1) // 2], 0, 255, constant=True)
    absmax = d.tensor(t, [-(-k * n // size)], .1, 1, constant=True)
    return d.node([a, b, absmax], K=k, N=n, block_size=size,
                  quant_type=d.integer(0, 1), transB=1, spread="sum")


def gather_blocks(d):
    t = d.type("T1", (T.INT4, T.UINT4, T.UINT8))
    u = d.type("T2")
    bits = d.pick(4, 8) if t == T.UINT8 else 4
    per = 8 // bits if t == T.UINT8 else 1
    size = d.pick(16, 32)
    rank = d.integer(2, 3)
    shape = [d.integer(1, 5) for _ in range(rank - 1)] + [
        d.pick(16, 32, 48, 64)]
    quantized, gathered = rank - 1, d.integer(0, rank - 1)
    if t == T.UINT8:
        gathered = 0
    count = -(-shape[-1] // size)
    const = dict(constant=d.chance(.5))
    data = d.tensor(t, shape[:-1] + [shape[-1] // per],
                    *((0, 255) if t == T.UINT8 else (-8, 15)), **const)
    limit = shape[gathered]
    at = d.given(d.rng.integers(-limit, limit, d.shape(
        max_rank=2, largest=6, empty=0)), d.type("Tind"))
    scales = d.tensor(u, shape[:-1] + [count], -1, 1, **const)
    zeros = None
    if d.chance(.6):
        part = -(-count // per) if t == T.UINT8 else count
        zeros = d.tensor(t, shape[:-1] + [part],
                         *((0, 255) if t == T.UINT8 else (-8, 15)), **const)

    def formula(data, at, scales, zeros=None):
        q = data
        if t == T.UINT8:
            q = unpacked(data.astype(np.uint8), bits).astype(float)
        z = 0 if t != T.UINT8 else 1 << (bits - 1)
        if zeros is not None:
            z = zeros if t != T.UINT8 else unpacked(
                zeros.astype(np.uint8), bits)[..., :count].astype(float)
            z = np.repeat(z, size, -1)[..., :shape[-1]]
        w = (q - z) * np.repeat(scales, size, -1)[..., :shape[-1]]
        return np.take(w, at.astype(int), gathered)
    return d.node([data, at, scales, zeros], block_size=size, bits=bits,
                  gather_axis=d.pick(None, gathered) if gathered == 0
                  else gathered, quantize_axis=quantized, spread="function",
                  formula=formula)


def old_quantize(d):
    """Scales: one, or one for each place of an axis."""
    t, u = d.type("T1"), d.type("T2", (T.INT8, T.UINT8, T.INT16, T.UINT16))
    shape = d.shape(min_rank=1, empty=.02)
    axis = d.axis(len(shape)) if d.chance(.5) else None
    part = [] if axis is None else [shape[axis]]
    return d.node([d.tensor(t, shape, -300, 300), d.tensor(t, part, .5, 4),
                   d.tensor(u, part, -128, 255)], axis=axis, **WIDE)


def old_dequantize(d):
    t = d.type("T1", (T.INT8, T.UINT8, T.INT16, T.UINT16, T.INT32))
    u = d.type("T2")
    shape = d.shape(min_rank=1, empty=.02)
    axis = d.axis(len(shape)) if d.chance(.5) else None
    part = [] if axis is None else [shape[axis]]
    z = d.tensor(t, part, -128, 255)
    if t == T.INT32:
        z.array[...] = 0
    return d.node([d.tensor(t, shape, -1000, 1000), d.tensor(u, part, .01, 2),
                   z], axis=axis)


OPS = {
    "QLinearAdd": pair, "QLinearMul": pair,
    "QLinearLeakyRelu": single(.6, alpha=lambda d: d.pick(None, .1, .3)),
    "QLinearSigmoid": single(.02), "QLinearSoftmax": softmax,
    "QLinearAveragePool": average, "QLinearGlobalAveragePool": global_average,
    "QLinearConcat": concat, "QLinearWhere": where, "QLinearReduceMean": mean,
    "QLinearConv": linear_conv, "QGemm": gemm, "MatMulIntegerToFloat": to_float,
    "DynamicQuantizeMatMul": dynamic_matmul, "DynamicQuantizeLSTM": lstm,
    "MatMulNBits": nbits, "MatMulBnb4": bnb4,
    "GatherBlockQuantized": gather_blocks, "QuantizeLinear": old_quantize,
    "DequantizeLinear": old_dequantize,
}
