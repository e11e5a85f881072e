"""ONNX Runtime's own operators: activations, products, convolutions,
normalizations, and small ones."""
import dataclasses
import math

import numpy as np
import onnx
from onnx import helper

from draw import CONTRIB, FLOATS, T
from families import image as images
from families import index, window
from families.products import matrices

DOMAIN = CONTRIB
erf = np.vectorize(math.erf, otypes=[float])


def standing(case, *steps):
    """The case with the standard's operators instead of its own, for what ONNX
    Runtime declares but does not have; a step: (operator, inputs, output,
    attributes). Inputs may be numbers: those of the case's node."""
    given = case.nodes[0].input
    name = lambda x: given[x] if isinstance(x, int) else x
    nodes = [helper.make_node(op, [name(x) for x in inputs], [output],
                              **attributes)
             for op, inputs, output, attributes in steps]
    case.stand_in = dataclasses.replace(
        case, nodes=nodes, domain="", opset=onnx.defs.onnx_opset_version() - 2)
    return case


def gelu(x):
    return .5 * x * (1 + erf(x / np.sqrt(2)))


def fast_gelu(x):
    return .5 * x * (1 + np.tanh(.7978845608028654 * (x + .044715 * x ** 3)))


def unary(formula, **attributes):
    def generate(d):
        given = {k: draw(d) for k, draw in attributes.items()}
        x = d.tensor(d.type(), d.shape(), special=0)
        return d.node([x], spread="cancel",
                      formula=lambda x: formula(x, **given), **given)
    return generate


def quick(x, alpha):
    alpha = float(np.float32(1.702 if alpha is None else alpha))  # as stored
    return x / (1 + np.exp(-alpha * x))


def biased(formula, always):
    def generate(d):
        t, shape = d.type(), d.shape(min_rank=1)
        x = d.tensor(t, shape, special=0)
        b = d.tensor(t, shape[-1:], special=0) if always or d.chance(.6) \
            else None
        return d.node([x, b], spread="cancel",
                      formula=lambda x, b=0.: formula(x + b))
    return generate


def bias_add(d):
    t = d.type()
    shape = [d.integer(1, 3), d.size(), d.size()]
    x, b = d.tensor(t, shape, special=0), d.tensor(t, shape[-1:], special=0)
    return d.node([x, b, d.tensor(t, shape, special=0)], spread="sum",
                  formula=lambda x, b, skip: x + b + skip)


def split_gelu(d):
    t = d.type()
    shape = [d.integer(1, 3), d.size(), 2 * d.size()]
    x, b = d.tensor(t, shape, special=0), d.tensor(t, shape[-1:], special=0)

    def formula(x, b):
        left, right = np.split(x + b, 2, -1)
        return left * gelu(right)
    return d.node([x, b], spread="sum", formula=formula)


# Products.
def fused_matmul(d):
    t = d.type()
    a, b = matrices(d)
    flags = dict.fromkeys(("transA", "transB"))
    moved = d.chance(.25) and "transBatchA" in d.attributes
    if moved:  # batch dims of one size, of which the first is moved
        rank = d.integer(3, 4)
        batch = [d.integer(1, 4) for _ in range(rank - 2)]
        a, b = batch + a[-2:], batch + b[-2:]
        if len(a) < rank or len(b) < rank or a[-1] != b[-2]:
            a, b = batch + [3, 5], batch + [5, 2]
        for name, shape in ("transBatchA", a), ("transBatchB", b):
            flags[name] = d.pick(None, 0, 1)
            if flags[name]:
                shape[:] = [shape[-2]] + shape[:-2] + shape[-1:]
    for name, shape in ("transA", a), ("transB", b):
        flags[name] = d.pick(None, 0, 1)
        if flags[name] and len(shape) > 1 and not (
                moved and flags.get("transBatch" + name[-1])):
            shape[-2:] = shape[:-3:-1]
        elif flags[name] and len(shape) > 1:
            # [M, batch.., K] of which [batch.., K, M] is taken
            shape[0], shape[-1] = shape[-1], shape[0]
    alpha = d.pick(None, .5, d.number(-2, 2))

    def side(x, name):
        if flags.get("transBatch" + name):
            x = np.moveaxis(x, 0, -2)
        return x.swapaxes(-1, -2) if flags["trans" + name] and x.ndim > 1 else x
    return d.node([d.tensor(t, a, special=0), d.tensor(t, b, special=0)],
                  spread="sum", alpha=alpha, **flags,
                  formula=lambda x, y: (1 if alpha is None else alpha) *
                  (side(x, "A") @ side(y, "B")))


ACTIVATIONS = (("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [.2]),
               ("Clip", [-.3, .5]), ("HardSigmoid", [.3, .4]))


def fused_gemm(d):
    t = d.type()
    if t not in FLOATS:
        t = d.types["T"] = T.FLOAT
    name, given = d.pick(*[a for a in ACTIVATIONS if a[0] != "Clip"])
    m, k, n = d.size(), d.size(), d.size()
    ta, tb = d.pick(None, 0, 1), d.pick(None, 0, 1)
    c = d.tensor(t, d.pick([m, n], [n], [1, n], [m, 1], [1]), special=0) \
        if d.chance(.7) else None
    more = dict(zip(("activation_alpha", "activation_beta"), given))
    a = d.tensor(t, [k, m] if ta else [m, k], special=0)
    b = d.tensor(t, [n, k] if tb else [k, n], special=0)
    case = d.node([a, b, c], spread="sum", transA=ta, transB=tb, alpha=d.pick(
        None, .5), beta=d.pick(None, -1.5), activation=name, **more)
    plain = {k: v for k, v in case.attributes().items()
             if not k.startswith("activation")}
    return standing(case, ("Gemm", list(range(len(case.nodes[0].input))), "z",
                           plain),
                    *activated({"activation": name, "activation_params": given},
                               t, case.outputs[0]))


# Convolutions.
def acted(d):
    name, given = d.pick(*ACTIVATIONS)
    return {"activation": name, "activation_params": given or None}


def convolved(d, last, fused):
    """Sizes of a convolution's arguments; `last`: channels are the last dim."""
    t = d.type()
    group, each = d.pick(1, 1, 2, 3), d.pick(1, 2, 5, 16)
    out = group * d.pick(1, 2, 8)
    front, sizes = window.image(d, 2 if last else None, group * each)
    front[0] = max(1, front[0])
    kernel = [d.integer(1, 3) for _ in sizes]
    given = window.placing(d, sizes, kernel)
    shape = front[:1] + sizes + front[1:] if last else front + sizes
    x = d.tensor(t, shape, special=0)
    w = d.tensor(t, [out, each] + kernel, special=0)
    b = d.tensor(t, [out], special=0) if d.chance(.5) else None
    more = acted(d) if fused else {}
    case = d.node([x, w, b], spread="sum", group=group if group > 1 else None,
                  kernel_shape=d.pick(None, kernel), **given, **more)
    attributes = {k: v for k, v in (window.explicit(
        case, sizes, kernel) or case).attributes().items()
        if not k.startswith("activation")}
    if not last:
        inputs = list(range(len(case.nodes[0].input)))
        return standing(case, ("Conv", inputs, "z", attributes),
                        *activated(more, t, case.outputs[0]))
    inputs = ["x"] + [i + 1 for i in range(len(case.nodes[0].input) - 1)]
    steps = [("Transpose", [0], "x", {"perm": [0, 3, 1, 2]}),
             ("Conv", inputs, "y", attributes),
             ("Transpose", ["y"], "z", {"perm": [0, 2, 3, 1]})]
    return standing(case, *steps, *activated(more, t, case.outputs[0]))


def activated(given, t, output):
    """Steps from z to the output."""
    name, p = given.get("activation", "Identity"), \
        given.get("activation_params") or []
    if name != "Clip":
        names = ("alpha", "beta") if name in ("LeakyRelu", "HardSigmoid") else ()
        return [(name, ["z"], output, dict(zip(names, p)))]
    bounds = [("Constant", [], n, {"value_float": v}) for n, v in zip("lh", p)]
    return bounds + [("CastLike", [n, "z"], n + "t", {}) for n in "lh"] + [
        ("Clip", ["z", "lt", "ht"], output, {})]


def nhwc_pool(d):
    t = d.type()
    front, sizes = window.image(d, 2)
    front[0] = max(1, front[0])
    kernel = [d.integer(1, 3) for _ in sizes]
    given = window.placing(d, sizes, kernel)
    x = d.tensor(t, front[:1] + sizes + front[1:], -128, 255)
    case = d.node([x], spread="exact", kernel_shape=kernel,
                  ceil_mode=d.pick(None, 0, 1), **given)
    return standing(case, ("Transpose", [0], "x", {"perm": [0, 3, 1, 2]}),
                    ("MaxPool", ["x"], "y", (window.explicit(
                        case, sizes, kernel) or case).attributes()),
                    ("Transpose", ["y"], case.outputs[0],
                     {"perm": [0, 2, 3, 1]}))


def dynamic_pads(d):
    t = d.type()
    channels, out = d.pick(1, 3), d.pick(1, 4)
    sizes = [d.integer(2, 6), d.integer(2, 6)]
    kernel = [d.integer(1, 4), d.integer(1, 4)]
    pads = [min(d.integer(0, 1), k - 1) for k in kernel * 2]
    x = d.tensor(t, [d.integer(1, 2), channels] + sizes, special=0)
    w = d.tensor(t, [channels, out] + kernel, special=0)
    b = d.tensor(t, [out], special=0) if d.chance(.5) else None
    strides = [d.integer(1, 2) for _ in sizes] if d.chance(.5) else None
    p = d.integers(pads, constant=True)
    case = d.node([x, w, p, b], spread="sum", strides=strides,
                  kernel_shape=d.pick(None, kernel))
    given = case.attributes() | {"pads": pads}
    return standing(case, ("ConvTranspose", [0, 1] + ([3] if b else []),
                           case.outputs[0], given))


def crop(d):
    t = d.type("T1", (T.FLOAT, T.FLOAT16))
    n, c = d.integer(1, 2), d.integer(1, 3)
    shape = [n, c, d.integer(1, 8), d.integer(1, 8)]
    count = d.integer(1, 4)
    x = d.tensor(t, shape, special=0)
    rois = d.tensor(t, [count, 4], -.2, 1.2)
    at = d.given(d.rng.integers(0, n, count), T.INT32)
    size = d.integers([d.integer(1, 4), d.integer(1, 4)], T.INT32)
    return d.node([x, rois, at, size], spread="sum",
                  mode=d.pick(None, "bilinear", "nearest"),
                  extrapolation_value=d.pick(None, .5))


# Normalizations.
def skip_norm(simple):
    def generate(d):
        t = d.type()
        shape = [d.integer(1, 3), d.integer(1, 7), d.size()]
        if d.chance(.3):
            shape = shape[1:]
        x = d.tensor(t, shape, special=0)
        skip = d.tensor(t, d.pick(shape, shape, [1] + shape[1:], shape[1:])
                        if len(shape) == 3 else shape, special=0)
        more = lambda: d.tensor(t, shape[-1:], special=0)
        inputs = [x, skip, more()]
        beta = more() if d.chance(.7) else None
        bias = more() if d.chance(.5) else None
        epsilon = d.pick(None, 1e-5, 1e-2)

        def formula(*given):
            given = iter(given)
            x, skip, gamma = next(given), next(given), next(given)
            shift = next(given) if beta and not simple else 0
            s = x + skip + (next(given) if bias else 0)
            moved = s if simple else s - s.mean(-1, keepdims=True)
            v = (moved ** 2).mean(-1, keepdims=True)
            y = moved / np.sqrt(v + (epsilon or 1e-12)) * gamma + shift
            return [y, s] if summed else [y]
        summed = d.chance(.4)
        inputs += [bias] if simple else [beta, bias]
        return d.node(inputs, outputs=[True, False, False, summed],
                      spread="sum", epsilon=epsilon, formula=formula)
    return generate


def group_norm(skipped):
    def generate(d):
        t, m = d.type(), d.type("M")
        groups = d.integer(1, 4)
        n, c = d.integer(1, 3), groups * d.integer(1, 5)
        sizes = [d.integer(1, 6), d.integer(1, 6)]
        last, act = d.pick(None, 0, 1), d.integer(0, 1)
        first = last == 0
        shape = [n, c] + sizes if first else [n] + sizes + [c]
        x = d.tensor(t, shape, special=0)
        gamma, beta = (d.tensor(m, [c], special=0) for _ in range(2))
        epsilon = d.pick(None, 1e-3)
        inputs, summed = [x, gamma, beta], 1
        if skipped:
            broad = [n] + ([c, 1, 1] if first else [1, 1, c])
            inputs += [d.tensor(t, d.pick(shape, broad, [n, c]), special=0),
                       d.tensor(t, [c], special=0) if d.chance(.6) else None]
            summed = d.pick(1, 2)

        def formula(x, gamma, beta, skip=None, bias=None):
            to = lambda v: v.reshape(v.shape + (1, 1)) if first else \
                v[:, None, None] if v.ndim == 2 else v
            if skip is not None:
                x = x + (to(skip) if skip.ndim == 2 else skip)
            if bias is not None:
                x = x + to(bias)
            v = x if first else np.moveaxis(x, -1, 1)
            g = v.reshape(n, groups, -1)
            g = (g - g.mean(2, keepdims=True)) / np.sqrt(
                g.var(2, keepdims=True) + (epsilon or 1e-5))
            y = g.reshape(v.shape) * gamma[:, None, None] + beta[:, None, None]
            y = y if first else np.moveaxis(y, 1, -1)
            y = y / (1 + np.exp(-y)) if act else y
            return [y, x][:summed]
        return d.node(inputs, outputs=summed, spread="sum", groups=groups,
                      channels_last=last, activation=act, epsilon=epsilon,
                      formula=formula)
    return generate


# Small ones.
def cdist(d):
    t = d.type()
    k = d.size()
    a, b = d.tensor(t, [d.size(), k], -3, 3), d.tensor(t, [d.size(), k], -3, 3)
    metric = d.pick(None, "euclidean", "sqeuclidean")

    def formula(x, y):
        v = ((x[:, None] - y) ** 2).sum(2)
        return np.sqrt(v) if metric == "euclidean" else v
    return d.node([a, b], spread="sum", metric=metric, formula=formula)


def inverse(d):
    t = d.type()
    n = d.integer(1, 6)
    x = d.tensor(t, d.shape(max_rank=2, largest=20) + [n, n], -1, 1)
    x.array = (x.array + n * np.eye(n)).astype(x.array.dtype)
    return d.node([x], spread="sum", formula=np.linalg.inv)


def fourier(d):
    n = d.integer(1, 2)
    shape = d.shape(max_rank=2, empty=0, largest=6) + [
        d.pick(2, 3, 4, 7, 8, 12) for _ in range(n)]
    pair = lambda z: np.stack([z.real, z.imag], -1)
    axes = tuple(range(-n, 0))
    return d.node([d.tensor(d.type(), shape, special=0)], spread="sum",
                  signal_ndim=n, onesided=1, normalized=0,
                  formula=lambda x: pair(np.fft.rfftn(x, axes=axes)))


def inverse_fourier(d):
    n = d.integer(1, 2)
    sizes = [d.pick(2, 4, 6, 8, 12) for _ in range(n)]
    shape = d.shape(max_rank=2, empty=0, largest=6) + sizes
    axes = tuple(range(-n, 0))
    z = np.fft.rfftn(d.rng.standard_normal(shape), axes=axes)
    x = d.given(np.stack([z.real, z.imag], -1), d.type())
    return d.node([x], spread="sum", signal_ndim=n, onesided=1, normalized=0,
                  formula=lambda x: np.fft.irfftn(x[..., 0] + 1j * x[..., 1],
                                                  axes=axes))


def expand_dims(d):
    x = d.tensor(d.type(), d.shape(max_rank=4))
    axis = d.integer(-x.array.ndim - 1, x.array.ndim)
    return d.node([x, d.given(np.array(axis), T.INT32, constant=True)],
                  spread="exact")


def pad(d):
    shape = d.shape(min_rank=1, max_rank=3, empty=0)
    mode = d.pick(None, "constant", "edge", "reflect")
    top = 3 if mode != "reflect" else 10
    pads = [min(d.integer(0, top), s - 1 if mode == "reflect" else top)
            for s in shape * 2]
    if mode in (None, "constant") and d.chance(.2):
        pads = [min(0, -d.integer(0, s // 2)) for s in shape] + \
            pads[len(shape):]
    t = d.type()
    value = d.tensor(t, [1]) if mode in (None, "constant") and d.chance(.6) \
        else None
    given = d.integers(pads if d.chance(.5) else [pads])
    return d.node([d.tensor(t, shape), given, value], mode=mode, spread="exact")


def numbers_range(d):
    t = d.type(among=(T.FLOAT, T.DOUBLE, T.INT16, T.INT32, T.INT64))
    start, count = d.integer(-9, 9), d.integer(0, 12)
    step = d.pick(1, 2, -3) if d.chance(.7) else None
    limit = start + count * (step or 1)
    shape = d.pick([], [1])
    given = [d.given(np.full(shape, v), t) for v in (start, limit)]
    if step:
        given.append(d.given(np.full(shape, step), t))
    return d.node(given, spread="exact")


def trilu(d):
    x = d.tensor(d.type(), d.shape(min_rank=2, max_rank=4))
    k = d.given(np.array(d.integer(-4, 4))) if d.chance(.7) else None
    return d.node([x, k], spread="exact", upper=d.pick(None, 0, 1))


def unique(d):
    t = d.type(among=(T.FLOAT,))
    return d.node([d.given(d.rng.integers(-3, 4, d.integer(0, 20)) / 2, t)],
                  outputs=3, spread="exact")


def murmur(d):
    t = d.type("T1")
    positive = d.pick(None, 0, 1)
    d.types["T2"] = T.INT32 if positive == 0 else T.UINT32
    return d.node([d.tensor(t, d.shape(max_rank=3), special=0)],
                  positive=positive, seed=d.pick(None, 0, 42), spread="exact")


def sample(d):
    """Image, places and result of one type."""
    d.types["T2"] = d.type("T1", (T.FLOAT, T.DOUBLE, T.FLOAT16))
    return images.grid_sample(d)


def ngram(d):
    vocabulary, rows = d.integer(3, 9), d.integer(1, 3)
    ids = d.given(d.rng.integers(0, vocabulary, (rows, d.integer(1, 15))))
    return d.node([ids, d.tensor(T.FLOAT, [rows, vocabulary], special=0)],
                  ngram_size=d.integer(1, 4), spread="exact")


def bifurcation(d):
    source = d.rng.integers(0, 4, d.integer(4, 14))
    start = d.integer(0, len(source) - 1)
    inputs = [d.given(source), d.given(d.rng.integers(0, 4, d.integer(1, 6))),
              d.given(np.array(start))]
    if d.chance(.7):
        guess = np.append(source[start:], 2)
        at = d.integer(0, len(guess) - 1)
        if d.chance(.7):
            guess[at] += 1
        inputs.append(d.given(guess))
    low = d.integer(1, 2)
    return d.node(inputs, outputs=2, spread="exact", min_ngram_size=low,
                  max_ngram_size=low + d.integer(0, 3))


def word_conv(d):
    size, count, width, out = d.integer(2, 5), d.integer(4, 8), \
        d.integer(1, 3), d.integer(1, 5)
    words = d.rng.integers(1, 6, (d.integer(1, 4), count))
    for row in words:
        row[d.integer(1, count):] = 0
    small = lambda *s: d.tensor(T.FLOAT, s, -1, 1, shape_fixed=True)
    return d.node([d.given(words, T.INT32), small(
        out, 1, width, size), small(out), small(7, size)], spread="sum")


OPS = {
    "GatherND": index.gather_nd, "GridSample": sample,
    "Gelu": unary(gelu), "FastGelu": biased(fast_gelu, False),
    "BiasGelu": biased(gelu, True),
    "QuickGelu": unary(quick, alpha=lambda d: d.pick(None, 1.0, .7)),
    "BiasAdd": bias_add, "BiasSplitGelu": split_gelu,
    "FusedMatMul": fused_matmul, "TransposeMatMul": fused_matmul,
    "FusedGemm": fused_gemm,
    "FusedConv": lambda d: convolved(d, False, True),
    "NhwcConv": lambda d: convolved(d, True, False),
    "NhwcFusedConv": lambda d: convolved(d, True, True),
    "NhwcMaxPool": nhwc_pool, "ConvTransposeWithDynamicPads": dynamic_pads,
    "CropAndResize": crop, "SkipLayerNormalization": skip_norm(False),
    "SkipSimplifiedLayerNormalization": skip_norm(True),
    "GroupNorm": group_norm(False), "SkipGroupNorm": group_norm(True),
    "CDist": cdist, "Inverse": inverse, "Rfft": fourier,
    "Irfft": inverse_fourier, "ExpandDims": expand_dims, "Pad": pad,
    "Range": numbers_range, "Trilu": trilu, "Unique": unique,
    "MurmurHash3": murmur, "NGramRepeatBlock": ngram,
    "BifurcationDetector": bifurcation, "WordConvEmbedding": word_conv,
}
