"""Fused operators of ONNX Runtime's domain, against ONNX Runtime; those its CPU
provider lacks, against the formula or the operators they are made of."""
import os

import numpy as np
from harness import Family, by_runtime, model_of

f = Family("contrib_fused", rtol=1e-3, atol=1e-4)
n = f.normal
pick = lambda *of: of[f.random.integers(len(of))]
COUNT = int(os.environ.get("FERRULE_CASES", 4))


def case(op, inputs, **options):
    f.case(op, inputs, domain="com.microsoft", **options)


def standard(op, inputs, **options):
    """What the standard's operator gives in ONNX Runtime."""
    return by_runtime(model_of(op, inputs, **options),
                      {f"in{i}": a for i, a in enumerate(inputs)
                       if a is not None})[0]


last = lambda x: np.ascontiguousarray(np.moveaxis(x, 1, -1))
case("Gelu", [n(3, 4)])
case("FastGelu", [n(3, 4)])
case("FastGelu", [n(3, 4), n(4)], dynamic=True)
case("BiasGelu", [n(3, 4), n(4)])
case("QuickGelu", [n(3, 4)], alpha=1.5)

for name, given in ("Relu", []), ("Tanh", []), ("Sigmoid", []), \
        ("LeakyRelu", [0.2]), ("Clip", [-0.3, 0.5]), ("HardSigmoid", [0.3, 0.4]):
    more = dict(activation_params=given) if given else {}
    free = pick(False, [0])
    x, w = n(2, 4, 6, 5), n(3, 4, 3, 3)
    case("FusedConv", [x, w, n(3)], activation=name, pads=[1, 1, 1, 1],
         dynamic=free, constants=[1, 2], **more)
    case("FusedConv", [x, w, n(3), n(2, 3, 4, 3)], activation=name,
         constants=pick((), (1,)), **more)
    if name not in ("Clip", "HardSigmoid"):
        alpha = dict(activation_alpha=given[0]) if given else {}
        case("FusedGemm", [n(3, 4), n(5, 4), n(5)], activation=name, transB=1,
             alpha=0.5, dynamic=free, **alpha)
case("FusedGemm", [n(4, 3), n(4, 5)], activation="HardSigmoid", transA=1,
     activation_alpha=0.1, activation_beta=0.6)
f.refused("FusedConv", [n(1, 2, 5, 5), n(3, 2, 3, 3)], activation="Foo",
          domain="com.microsoft")
f.refused("FusedConv", [n(1, 2, 5, 5), n(3, 2, 3, 3)], activation="Clip",
          domain="com.microsoft")

for free in False, True:
    x, w, b = n(2, 4, 7, 6), n(6, 2, 3, 3), n(6)
    options = dict(group=2, strides=[2, 1], pads=[1, 0, 1, 0])
    want = standard("Conv", [x, w, b], **options)
    case("NhwcConv", [last(x), w, b], want=[last(want)], dynamic=free and [0],
         **options)
    z = n(*want.shape)
    case("NhwcFusedConv", [last(x), w, b, last(z)], activation="Relu",
         want=[last(np.maximum(want + z, 0))], dynamic=free and [0], **options)
    for kind in np.int8, np.uint8:
        x = f.integers(0, 120, 2, 7, 6, 5).astype(kind)
        case("NhwcMaxPool", [x], kernel_shape=[3, 2], strides=[2, 1],
             pads=[1, 0, 1, 1], dynamic=free)
    x, w = n(1, 3, 5, 4), n(3, 2, 3, 3)
    case("ConvTransposeWithDynamicPads", [x, w, np.array([1, 0, 1, 1])],
         constants=[2], strides=[2, 2], dynamic=free and [0])
    # GroupNorm
    groups, scale, bias = 2, n(6), n(6)
    x = n(2, 6, 4, 5)
    y = x.reshape(2, groups, -1)
    y = (y - y.mean(2, keepdims=True)) / np.sqrt(
        y.var(2, keepdims=True) + 1e-5)
    y = y.reshape(x.shape) * scale[:, None, None] + bias[:, None, None]
    silu = y / (1 + np.exp(-y))
    case("GroupNorm", [last(x), scale, bias], groups=2, activation=1,
         want=[last(silu).astype(np.float32)], dynamic=free and [0])
    case("GroupNorm", [x, scale, bias], groups=2, activation=0,
         channels_last=0, want=[y.astype(np.float32)], dynamic=free and [0])
    skip, more = n(2, 6), n(6)
    s = x + skip[:, :, None, None] + more[:, None, None]
    y = s.reshape(2, groups, -1)
    y = (y - y.mean(2, keepdims=True)) / np.sqrt(
        y.var(2, keepdims=True) + 1e-5)
    y = y.reshape(x.shape) * scale[:, None, None] + bias[:, None, None]
    case("SkipGroupNorm", [last(x), scale, bias, skip, more], groups=2,
         activation=0, outputs=2, dynamic=free and [0],
         want=[last(y).astype(np.float32), last(s)])
    x, b, skip = n(2, 5, 8), n(8), n(2, 5, 8)
    case("BiasAdd", [x, b, skip], want=[x + b + skip], dynamic=free)
    left, right = np.split(x + b, 2, 2)
    case("BiasSplitGelu", [x, b], dynamic=free,
         want=[left * standard("Gelu", [right], opset=20)])
    for mode in "bilinear", "nearest", "bicubic":
        case("GridSample", [n(1, 2, 5, 6), n(1, 3, 4, 2)], mode=mode,
             padding_mode=pick("zeros", "border", "reflection"),
             align_corners=pick(0, 1), dynamic=free)
# Sums of halves that are nearly equal, as their rounding would be magnified.
x, skip, more = (f.normal(*s).astype(np.float16) for s in (
    (2, 4, 5, 6), (2, 6), (6,)))
x = (x / 64).astype(np.float16)
skip[:], more[:] = skip[:1, :1] * 8, 0.3
s = x.astype(np.float64) + skip[:, None, None].astype(np.float64) \
    + more.astype(np.float64)
y = s.reshape(2, 20, 3, 2).transpose(0, 2, 1, 3)
y = (y - y.mean((2, 3), keepdims=True)) / np.sqrt(
    y.var((2, 3), keepdims=True) + 1e-5)
y = y.transpose(0, 2, 1, 3).reshape(s.shape)
for free in False, [0, 3, 4]:
    f.case("SkipGroupNorm", [x, np.ones(6, np.float32),
                             np.zeros(6, np.float32), skip, more],
           domain="com.microsoft", groups=3, activation=0, outputs=2,
           dynamic=free, want=[y.astype(np.float16), s.astype(np.float16)])

for kind in "silu", "swish", "sigmoid":
    for epsilon in {}, {"epsilon": 1e-2}:
        f.case("GatedRMSNorm", [f.normal(2, 3, 24), f.normal(8),
                                f.normal(2, 3, 24)], domain="com.microsoft",
               activation=kind, dynamic=[0, 2] if epsilon else False, **epsilon)
f.case("GatedRMSNorm", [f.normal(2, 3, 24), f.normal(8), f.normal(2, 3, 24)],
       domain="com.microsoft")
for free in False, True:
    f.case("GatedAdd", [f.normal(2, 3, 7), f.normal(2, 3, 7), f.normal(2, 3, 1)],
           domain="com.microsoft", dynamic=free)
    x, y, gate, weight = (f.normal(*s) for s in ((2, 3, 7), (2, 3, 7),
                                                 (2, 3, 5), (5, 1)))
    f.case("GatedAdd", [x, y, gate, weight], domain="com.microsoft",
           dynamic=free, want=[x + y / (1 + np.exp(-(gate @ weight)))])
    for shape in (2, 0, 16), (0, 3, 16), (2, 3, 0):
        f.case("GatedRMSNorm", [f.normal(*shape), f.normal(8),
                                f.normal(*shape)], domain="com.microsoft",
               dynamic=free)
# Rows of no size, by which the last dim would be divided.
f.refused("GatedRMSNorm", [f.normal(2, 3, 8), f.normal(0), f.normal(2, 3, 8)],
          domain="com.microsoft", dynamic=True, run_time=True)
f.done()
