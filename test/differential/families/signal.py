"""Windows, spectra, losses, random numbers, constants."""
import numpy as np
from onnx import numpy_helper

from draw import FLOATS, WORDS, T


WINDOWS = {"HannWindow": (.5, .5), "HammingWindow": (25 / 46, 21 / 46),
           "BlackmanWindow": (.42, .5, .08)}


def window(d):
    t = d.type("T1")
    periodic = d.pick(None, 0, 1)

    def formula(size):
        """ONNX Runtime computes f64 in f32, onnx divides 0 by 0 for one."""
        n = int(size.reshape(-1)[0])
        around = n if periodic != 0 else max(n - 1, 1)
        x = 2 * np.pi * np.arange(n) / around
        return sum(sign * a * np.cos(k * x) for k, (sign, a) in enumerate(
            zip((1, -1, 1), WINDOWS[d.op])))
    return d.node([d.given(np.array(d.integer(1, 40)), t)], spread="cancel",
                  formula=formula,
                  wide=False, output_datatype=d.type("T2", FLOATS)
                  if d.chance(.5) else None, periodic=periodic)


def dft(d):
    t = d.type("T1")
    shape = d.shape(min_rank=2, max_rank=4, empty=0, largest=300)
    last = len(shape) - 1
    axis = d.integer(0, last - 1)
    inverse = d.pick(None, 0, 1)
    complex_parts = d.pick(1, 2)
    onesided = d.pick(None, 0, 1) if not inverse and complex_parts == 1 \
        else None
    shape[-1] = complex_parts
    length = d.given(np.array(d.integer(1, 20)), d.type("T2"),
                     shape_fixed=True) if d.chance(.4) else None
    x = d.tensor(t, shape, special=0, static=(-1,))
    how = dict(spread="sum", inverse=inverse, onesided=onesided)
    signed = axis - len(shape) if d.chance(.4) else axis
    if d.version < 20:
        return d.node([x, length], axis=axis if axis != 1 or d.chance(.5)
                      else None, **how)
    return d.node([x, length, d.given(np.array(signed))
                   if signed != -2 or d.chance(.5) else None], **how)


def stft(d):
    t, u = d.type("T1"), d.type("T2")
    frame = d.integer(1, 16)
    length = frame + d.integer(0, 30)
    complex_parts = d.pick(1, 1, 2)
    x = d.tensor(t, [d.integer(1, 3), length, complex_parts], special=0,
                 static=(-1,))
    step = d.given(np.array(d.integer(1, 8)), u)
    has_window = d.chance(.6)
    w = d.tensor(t, [frame], 0, 1) if has_window else None
    size = d.given(np.array(frame), u) if not has_window or d.chance(.5) \
        else None
    return d.node([x, step, w, size], spread="sum",
                  onesided=0 if complex_parts == 2 else d.pick(None, 0, 1))


def mel(d):
    t, u = d.type("T1"), d.type("T2")
    rate = d.pick(8000, 16000, 22050)
    if t == T.INT32 or t == T.INT64:
        one = lambda v: d.given(np.array(v), t)
    edge = lambda v: d.given(np.array(v, np.float32), u)

    def formula(bins, length, rate, low, high):
        """Triangles over the places of frequencies; onnx's evaluator computes
        them in the type of the edges."""
        bins = int(bins)
        mel = lambda hertz: 2595 * np.log10(1 + hertz / 700)
        at = np.arange(bins + 2) * (mel(high) - mel(low)) / (bins + 2) + mel(low)
        hertz = 700 * (10**(at / 2595) - 1)
        at = np.floor((length + 1) * hertz / rate).astype(int)
        weights = np.zeros((int(length) // 2 + 1, bins))
        for k in range(bins):
            first, top, last = at[k:k + 3]
            if first == top:
                weights[top, k] = 1
            for j in range(first, top + 1 if top > first else top):
                weights[j, k] = (j - first) / (top - first)
            for j in range(top, last):
                weights[j, k] = (last - j) / (last - top)
        return weights
    return d.node([one(d.integer(1, 20)), one(d.pick(16, 64, 100, 256)),
                   one(rate), edge(d.pick(0, 20, 125)),
                   edge(d.pick(2000, 3800, 4000))], spread="sum", wide=False,
                  formula=formula, output_datatype=d.type("T3", FLOATS)
                  if d.chance(.5) else None)


def loss(d):
    t, u = d.type(), d.type("Tind")
    n, c = d.integer(1, 6), d.integer(1, 8)
    rest = d.shape(max_rank=2, empty=0, largest=30)
    x = d.tensor(t, [n, c] + rest, -4, 4)
    target = d.tensor(u, [n] + rest, 0, c - 1)
    ignore = None
    if d.chance(.4):
        ignore = d.pick(d.integer(0, c - 1), -1, 255)
        target.array[d.rng.random(target.array.shape) < .3] = ignore
        if (target.array == ignore).all():
            target.array.flat[0] = (ignore + 1) % c if ignore >= 0 else 0
            if c == 1:
                ignore = None
                target.array[...] = 0
    weight = d.tensor(t, [c], .3, 2) if d.chance(.5) else None
    both = d.op.startswith("Softmax") and d.chance(.4)
    return d.node([x, target, weight], outputs=1 + both, spread="sum",
                  ignore_index=ignore,
                  reduction=d.pick(None, "none", "sum", "mean"))


def random_of(like):
    def generate(d):
        number = d.type(d.schema.outputs[0].type_str, FLOATS)
        given = {k: d.number(.5, 2) for k in ("scale", "mean", "low")
                 if d.chance(.4)}
        given["dtype"] = number if d.chance(.7) else None
        if d.chance(.4):
            given["high"] = 3.5
        how = dict(random=True, wide=False, seed=d.pick(None, 3.0))
        if not like:
            return d.node([], shape=d.shape(min_rank=1), **given, **how)
        t = d.type("T1")
        if given["dtype"] is None and t not in FLOATS:
            given["dtype"] = number
        return d.node([d.tensor(t, d.shape())], **given, **how)
    return generate


def bernoulli(d):
    t = d.type("T1")
    return d.node([d.tensor(t, d.shape(), 0, 1)], random=True, wide=False,
                  dtype=d.type("T2") if d.chance(.6) else None,
                  seed=d.pick(None, 3.0))


def multinomial(d):
    t = d.type("T1")
    return d.node([d.tensor(t, [d.integer(1, 4), d.integer(1, 9)], -2, 2)],
                  random=True, wide=False, sample_size=d.pick(None, 1, 7),
                  dtype=d.pick(None, T.INT32, T.INT64), seed=d.pick(None, 3.0))


def constant(d):
    shape = d.shape()
    t = d.type("T", [u for u in d.allowed("T") if u != T.STRING])
    # it packs the types of less than a byte
    kinds = {"value": lambda: numpy_helper.from_array(
                 d.array(t, tuple(shape)), "v")}
    if "value_int" in d.attributes:
        kinds.update(value_int=lambda: d.integer(-99, 99),
                     value_float=lambda: d.number(-9, 9),
                     value_ints=lambda: [d.integer(-9, 9) for _ in range(3)],
                     value_floats=lambda: [d.number(-9, 9) for _ in range(3)],
                     value_string=lambda: d.pick(*WORDS),
                     value_strings=lambda: [d.pick(*WORDS) for _ in range(3)])
    kind = d.pick("value", *kinds)
    return d.node([], spread="exact", wide=False, **{kind: kinds[kind]()})


OPS = {
    "HannWindow": window, "HammingWindow": window, "BlackmanWindow": window,
    "DFT": dft, "STFT": stft, "MelWeightMatrix": mel,
    "NegativeLogLikelihoodLoss": loss, "SoftmaxCrossEntropyLoss": loss,
    "RandomNormal": random_of(False), "RandomUniform": random_of(False),
    "RandomNormalLike": random_of(True), "RandomUniformLike": random_of(True),
    "Bernoulli": bernoulli, "Multinomial": multinomial, "Constant": constant,
}
