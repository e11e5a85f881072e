"""Quantization, and conversion between types."""
import ml_dtypes
import numpy as np
from onnx import numpy_helper

from draw import BYTES, FLOATS, NAMES, SMALL, Impossible, T, numpy_type

WIDE = dict(spread="exact", wide=False)


def scales(d, t, shape, low=.05, high=2):
    s = d.tensor(t, shape, low, high)
    return s


def grain(d, shape):
    """Shape of scales and the attributes: one, one per axis, or blocks."""
    how = d.pick("one", "axis", "blocks" if d.version >= 21 else "axis")
    if how == "one" or not shape or d.version < 13:
        return [], {}
    axis = d.axis(len(shape))
    if how == "axis":
        return [shape[axis]], {"axis": axis}
    block = d.integer(1, max(1, shape[axis]))
    if shape[axis] % block:
        block = 1
    part = list(shape)
    part[axis] = shape[axis] // block
    return part, {"axis": axis, "block_size": block}


def quantize(d):
    t = d.type("T1")
    zero = d.schema.inputs[2].type_str
    scale_type = d.schema.inputs[1].type_str
    u = d.type(zero)
    s = d.type(scale_type, FLOATS) if scale_type in d.constraints \
        and not scale_type.startswith("tensor") else T.FLOAT
    if s == T.DOUBLE:
        s = d.types[scale_type] = T.FLOAT
    shape = d.shape(min_rank=1, empty=.02)
    part, how = grain(d, shape)
    x = d.tensor(t, shape, -300, 300)
    y = d.tensor(s, part, 1 if s == T.INT32 else .5, 4)
    given = d.tensor(u, part, -128, 255) if d.chance(.7) else None
    if u not in (T.INT8, T.UINT8) and given is not None:
        if "float" in NAMES[u] or d.chance(.3):
            given.array = np.zeros(part, given.array.dtype)
    if given is None and "output_dtype" in d.attributes and d.chance(.7):
        how["output_dtype"] = u
    to = u if given is not None or "output_dtype" in how else T.UINT8
    axis, block = how.get("axis", 1), how.get("block_size")

    def formula(x, scale, zero=None):
        """The division is one of the scale's type."""
        def fit(v):
            if not part:
                return v
            if len(part) == 1 and not block:
                ones = [1] * x.ndim
                ones[axis] = -1
                return v.reshape(ones)
            return np.repeat(v, block, axis)
        kind = numpy_type(s) if s != T.INT32 else np.float32
        v = x.astype(kind) / fit(scale.astype(kind))
        zero = 0. if zero is None else fit(zero)
        if "float" in NAMES[to]:
            v = (v + zero).astype(np.float64)
            if to == T.FLOAT4E2M1:
                return np.clip(v, -6, 6).astype(numpy_type(to))
            return numpy_helper.saturate_cast(v, numpy_type(to))
        v = np.rint(v.astype(np.float64)) + zero
        info = ml_dtypes.iinfo(numpy_type(to))
        return np.clip(v, int(info.min), int(info.max))
    return d.node([x, y, given], **how, **WIDE, formula=formula)


def dequantize(d):
    t = d.type(d.schema.inputs[0].type_str)
    scale_type = d.schema.inputs[1].type_str
    s = T.FLOAT if scale_type.startswith("tensor") else \
        d.type(scale_type, (T.FLOAT, T.FLOAT16, T.BFLOAT16))
    shape = d.shape(min_rank=1, empty=.02)
    part, how = grain(d, shape)
    x = d.tensor(t, shape, -1000, 1000)
    y = d.tensor(s, part, .01, 2)
    given = d.tensor(t, part, -128, 255) if d.chance(.7) else None
    if given is not None and (t == T.INT32 or "float" in NAMES[t]):
        given.array[...] = 0
    if "output_dtype" in d.attributes and d.chance(.2):
        how["output_dtype"] = d.pick(T.FLOAT, T.FLOAT16, T.BFLOAT16)
    return d.node([x, y, given], **how)


def dynamic(d):
    return d.node([d.tensor(T.FLOAT, d.shape(empty=0), *d.pick(
        (-3, 9), (0, 5), (-5, -1), (2, 3)))], outputs=3, **WIDE)


def number(d, t, low, high, shape=()):
    return d.tensor(t, list(shape), low, high)


def linear_matmul(d):
    t = {v: d.type(v) for v in ("T1", "T2", "T3")}
    for v in t:  # 8-bit integers
        if t[v] not in (T.INT8, T.UINT8):
            t[v] = d.types[v] = T.UINT8
    s = d.type("TS", (T.FLOAT,)) if "TS" in d.constraints else T.FLOAT
    m, k, n = d.size(), d.size(), d.size()
    batch = d.shape(max_rank=2, empty=0, largest=6)
    rows = [m] if d.chance(.2) and len(batch) == 0 else []
    a = d.tensor(t["T1"], batch + [m, k], -128, 255)
    b = d.tensor(t["T2"], (batch if d.chance(.4) else []) + [k, n], -128, 255)
    inputs = [a, number(d, s, .01, .1, rows), number(d, t["T1"], -128, 255, rows),
              b, number(d, s, .01, .1), number(d, t["T2"], -128, 255),
              number(d, s, .5, 4), number(d, t["T3"], -128, 255)]
    return d.node(inputs, **WIDE)


def linear_conv(d):
    from families.window import placing
    t, u, v = d.type("T1"), d.type("T2"), d.type("T3")
    if d.chance(.8):  # what ONNX Runtime has
        v = d.types["T3"] = t
    group, each = d.pick(1, 1, 2, 3), d.pick(1, 2, 5)
    out = group * d.pick(1, 2, 5)
    n = d.integer(1, 2)
    sizes = [d.integer(1, 8) for _ in range(n)]
    kernel = [d.integer(1, 3) for _ in sizes]
    given = placing(d, sizes, kernel)
    per = [out] if d.chance(.5) else []
    zero = d.tensor(u, per, -128, 255)
    if per and u == T.INT8:
        zero.array[...] = 0
    inputs = [d.tensor(t, [d.integer(1, 2), group * each] + sizes, -128, 255),
              number(d, T.FLOAT, .01, .1), number(d, t, -128, 255),
              d.tensor(u, [out, each] + kernel, -128, 255),
              d.tensor(T.FLOAT, per, .01, .1), zero,
              number(d, T.FLOAT, .2, 2), number(d, v, -128, 255),
              d.tensor(T.INT32, [out], -999, 999) if d.chance(.5) else None]
    return d.node(inputs, group=group if group > 1 else None,
                  kernel_shape=d.pick(None, kernel), **given, **WIDE)


def fitting(d, t, u, shape):
    """Numbers of type t that type u can hold; what others become is open."""
    if T.STRING in (t, u):  # numbers as text
        if t == u:
            return d.tensor(t, shape)
        if t == T.STRING:
            x = d.tensor(u, shape, -20, 20, special=0)
            if u == T.BOOL:
                raise Impossible("the standard does not say it")
            if u in FLOATS:
                x.array = np.round(x.array.astype(np.float32) * 8) / 8
            x.array = np.array([str(v) for v in x.array.ravel()],
                               object).reshape(shape)
            x.type = t
            return x
        x = d.tensor(t, shape, special=0)
        if t in FLOATS:
            x.array = (np.round(x.array.astype(np.float32) * 8) / 8).astype(
                x.array.dtype)
        return x
    if t in SMALL or u in SMALL:
        low = 0 if NAMES[u].startswith("uint") else -2
        return d.tensor(t, shape, low, 1 if u == T.INT2 else 2)
    if t == T.BOOL or u in FLOATS + (T.BOOL,):
        return d.tensor(t, shape, special=.1 if u in FLOATS else 0)
    info = ml_dtypes.iinfo(numpy_type(u))
    low, high = max(int(info.min), -2**31), min(int(info.max), 2**31 - 1)
    if t in FLOATS:
        low, high = max(low, -2**20), min(high, 2**20)
    elif d.chance(.3):  # of integers the low bits are kept
        return d.tensor(t, shape)
    return d.tensor(t, shape, low, high)


def cast(d):
    t, u = d.type("T1"), d.type("T2")
    x = fitting(d, t, u, d.shape())
    if d.version < 6:
        return d.node([x], to=NAMES[u].upper(), **WIDE)
    return d.node([x], to=u, **WIDE)


def cast_like(d):
    t, u = d.type("T1"), d.type("T2")
    return d.node([fitting(d, t, u, d.shape()), d.tensor(u, d.shape(max_rank=1))],
                  **WIDE)


def bits(number):
    """Of an element: 8, or less than the byte that numpy has for it."""
    digits = [c for c in NAMES[number] if c.isdigit()]
    if number in SMALL and number not in BYTES:
        return int(digits[0])
    return 8 * np.dtype(numpy_type(number)).itemsize


def bit_cast(d):
    t = d.type("T1")
    x = d.tensor(t, d.shape(), special=0)
    to = d.pick(*[u for u in d.allowed("T2") if bits(u) == bits(t)])
    if to == T.BOOL and t != T.BOOL:  # other bits are none of its values
        x.array = d.rng.integers(0, 2, x.array.shape).astype(
            np.uint8).view(numpy_type(t))

    def formula(_):
        """onnx's evaluator takes the types of its bytes for those of the bits."""
        codes = x.array.view(np.uint8) if bits(t) < 8 else x.array
        if bits(t) < 8:
            codes = codes & (2**bits(t) - 1)
            if to in (T.INT2, T.INT4):
                codes = ((codes << (8 - bits(t))).astype(np.int8)
                         >> (8 - bits(t))).view(np.uint8)
        return codes.view(numpy_type(to))
    return d.node([x], to=to, formula=formula, **WIDE)


OPS = {"QuantizeLinear": quantize, "DequantizeLinear": dequantize,
       "DynamicQuantizeLinear": dynamic, "QLinearMatMul": linear_matmul,
       "QLinearConv": linear_conv, "Cast": cast, "CastLike": cast_like,
       "BitCast": bit_cast}
