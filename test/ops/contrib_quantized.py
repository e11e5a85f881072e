"""Quantized operators of ONNX Runtime's domain: every integer as it has them."""
import os

import numpy as np
from harness import Family, by_runtime, model_of

f = Family("contrib_quantized")
n = f.normal
pick = lambda *of: of[f.random.integers(len(of))]
COUNT = int(os.environ.get("FERRULE_CASES", 3))
scale = lambda: np.array(pick(0.25, 0.5, 0.02, 0.1, 0.013), np.float32)


def case(op, inputs, **options):
    f.case(op, inputs, domain="com.microsoft", **options)


def number(kind):
    low = np.iinfo(kind).min
    return np.array(f.integers(low, low + 256), kind)


def q(kind, *shape):
    low = np.iinfo(kind).min
    return np.asarray(f.integers(low, low + 256, *shape)).astype(kind)


for i in range(COUNT):
    kind = pick(np.uint8, np.int8)
    zero = lambda: number(kind)
    free = pick(False, True)
    for op in "QLinearAdd", "QLinearMul":
        a, b = pick(((3, 40), (3, 40)), ((5, 7, 16), (16,)), ((4, 1, 9), (3, 1)),
                    ((1,), (33,)), ((33,), ()), ((2, 0), (2, 1)))
        case(op, [q(kind, *a), scale(), zero(), q(kind, *b), scale(), zero(),
                  scale(), zero()], dynamic=free and [0, 3],
             constants=pick((), (1, 4, 6)))
    x = q(kind, pick(3, 17), 16)
    case("QLinearLeakyRelu", [x, scale(), zero(), scale(), zero()],
         alpha=pick(0.01, 0.3), dynamic=free and [0])
    case("QLinearSigmoid", [x, scale(), zero(), np.array(1 / 256, np.float32),
                            zero()], dynamic=free and [0])
    # Softmax: the result's zero point is the type's smallest number.
    low = np.array(np.iinfo(kind).min, kind)
    for axis in -1, 1:
        case("QLinearSoftmax", [q(kind, 3, 5, 7), np.array(0.05, np.float32),
                                number(kind), np.array(1 / 256, np.float32),
                                low], axis=axis, more={"opset": 13},
             dynamic=free and [0])
    image = q(kind, 2, 3, pick(5, 8), pick(6, 7))
    last = pick(0, 1)
    case("QLinearGlobalAveragePool", [image, scale(), number(kind), scale(),
                                      number(kind)], channels_last=last,
         dynamic=free and [0])
    case("QLinearAveragePool", [image, scale(), zero(), scale(), zero()],
         kernel_shape=[3, 2], strides=[pick(1, 2), 1], pads=[1, 0, 1, 1],
         count_include_pad=pick(0, 1), dynamic=free and [0])
    case("QLinearAveragePool", [image, scale(), zero(), scale(), zero()],
         kernel_shape=[2, 2], channels_last=1, ceil_mode=pick(0, 1))
    parts = []
    for size in 3, 1, 4:
        parts += [q(kind, 2, size, 5), scale(), number(kind)]
    case("QLinearConcat", [scale(), number(kind)] + parts, axis=1,
         dynamic=free and [2, 5, 8])
    case("QLinearWhere", [f.integers(0, 2, 4, 1).astype(bool), q(kind, 4, 6),
                          scale(), number(kind), q(kind, 6), scale(),
                          number(kind), scale(), number(kind)],
         dynamic=free and [0, 1, 4])
    # QGemm
    M, K, N = pick(1, 5, 16), pick(3, 64), pick(4, 17)
    ta, tb = pick(0, 1), pick(0, 1)
    b_kind = pick(np.uint8, np.int8) if kind == np.uint8 else np.int8
    per = pick((), (N,))
    a = q(kind, *((K, M) if ta else (M, K)))
    b = q(b_kind, *((N, K) if tb else (K, N)))
    scales = np.asarray(f.random.uniform(0.001, 0.02, per), np.float32)
    c = pick(None, f.integers(-1000, 1000, pick(1, M), N, dtype=np.int32),
             f.integers(-1000, 1000, N, dtype=np.int32))
    out = pick([], [scale(), number(kind)])
    case("QGemm", [a, scale(), number(kind), b, scales, q(b_kind, *per), c] +
         out, transA=ta, transB=tb, alpha=pick(1.0, 0.5), rtol=1e-6,
         constants=pick((), (3, 4, 5)), dynamic=free and [0])

# Parameters of one element, and zero points that are absent: the same.
def same(op, inputs, zeros, **options):
    plain = list(inputs)
    for i in zeros:
        plain[i] = np.zeros((), inputs[0].dtype)
    model = model_of(op, plain, domain="com.microsoft", **options)
    want = by_runtime(model, {f"in{i}": a for i, a in enumerate(plain)})
    inputs = [a.reshape(1) if a is not None and a.ndim == 0 else a
              for a in inputs]
    case(op, inputs, want=want, **options)


x, y = q(np.int8, 3, 20), q(np.int8, 20)
same("QLinearAdd", [x, scale(), None, y, scale(), None, scale(), None],
     [2, 5, 7])
same("QLinearMul", [x, scale(), None, y, scale(), None, scale()], [2, 5])
image = q(np.uint8, 1, 2, 6, 5)
same("QLinearAveragePool", [image, scale(), None, scale()], [2],
     kernel_shape=[2, 2])

# The standard's operators of before.
for kind in np.uint8, np.int8, np.uint16, np.int16:
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    for per in (), (5,):
        zero = np.asarray(f.integers(low, high, *per)).astype(kind)
        s = np.asarray(f.random.uniform(0.01, 0.1, per), np.float32)
        axis = {} if per == () else dict(axis=-1)
        case("QuantizeLinear", [n(3, 5), s, zero], **axis)
        x = f.integers(low, high, 3, 5).astype(kind)
        case("DequantizeLinear", [x, s, zero], dynamic=True, **axis)

# What only other providers have: the documented formula.
x, zero = q(np.uint8, 3, 4, 5), 7
for axes, keep in ([1], 1), ([0, 2], 0), ([], 1):
    real = 0.1 * (x.astype(np.float64) - zero)
    m = real.mean(tuple(axes) or None, keepdims=bool(keep))
    want = np.clip(np.rint(m / 0.0317) + 3, 0, 255).astype(np.uint8)
    case("QLinearReduceMean", [x, np.array(0.1, np.float32),
                               np.array(zero, np.uint8),
                               np.array(0.0317, np.float32),
                               np.array(3, np.uint8)], keepdims=keep,
         want=[want], **(dict(axes=axes) if axes else {}))
f.refused("QLinearAdd", [q(np.uint8, 3), np.ones(2, np.float32), None,
                         q(np.uint8, 3), scale(), None, scale()],
          domain="com.microsoft")
f.refused("QLinearConcat", [scale(), number(np.uint8), q(np.uint8, 3),
                            scale()], domain="com.microsoft", axis=0)
# What ceil_mode adds behind the padding counts with count_include_pad.
for channels, last, free in (3, 0, False), (3, 1, False), (32, 0, True):
    shape = (1, 5, 8, channels) if last else (1, channels, 5, 8)
    for pads, strides in (([0, 0, 0, 0], [3, 3]), ([1, 0, 1, 1], [2, 3])):
        scales = np.array(.0131, np.float32), np.array(.0217, np.float32)
        case("QLinearAveragePool", [q(np.uint8, *shape), scales[0],
                                    number(np.uint8), scales[1]], kernel_shape=[2, 3], pads=pads,
             strides=strides, ceil_mode=1, count_include_pad=1,
             channels_last=last, dynamic=free and [0])
f.done()
