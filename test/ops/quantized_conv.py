"""Quantized convolutions: every integer exact, against ONNX Runtime and, for
what it refuses, against the sums in 64 bits."""
import os

import numpy as np
from harness import Family

# With dot products of four bytes (where this machine has them) and of pairs, in
# vectors of every width.
f = Family("quantized_conv", targets=(b"native", b"x86-64-v4", b"x86-64-v3",
                                    b"x86-64-v2"))
pick = lambda *of: of[f.random.integers(len(of))]
COUNT = int(os.environ.get("FERRULE_CASES", 4))


def q(kind, *shape):
    low = np.iinfo(kind).min
    return np.asarray(f.integers(low, low + 256, *shape)).astype(kind)


def sums(x, x_zero, w, w_zero, group=1, pads=(0, 0, 0, 0), strides=(1, 1)):
    """[batch][filters][height][width] in int64."""
    x = x.astype(np.int64) - int(x_zero)
    w = w.astype(np.int64) - np.asarray(w_zero, np.int64).reshape(-1, 1, 1, 1)
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    kh, kw = w.shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(x, (kh, kw), (2, 3))
    windows = windows[:, :, ::strides[0], ::strides[1]]
    each, filters = w.shape[1], w.shape[0] // group
    return np.concatenate([
        np.einsum("bchwij,kcij->bkhw", windows[:, g * each:(g + 1) * each],
                  w[g * filters:(g + 1) * filters]) for g in range(group)], 1)


def requantized(total, factor, zero, kind):
    low = np.iinfo(kind).min
    factor = np.asarray(factor, np.float32).reshape(-1, 1, 1)
    v = np.rint(total.astype(np.int32).astype(np.float32) * factor)
    return np.clip(v + int(zero), low, low + 255).astype(kind)


scalar = lambda v, t=np.float32: np.array(v, t)
# Sums far beyond 2^24: many channels, or all weights of one sign.
for x_kind, w_kind in ((np.uint8, np.int8), (np.uint8, np.uint8),
                       (np.int8, np.int8)):
    for channels, kernel in (600, 3), (1300, 1):
        x = np.maximum(q(x_kind, 1, channels, 4, 4), np.iinfo(x_kind).max - 40)
        w = np.maximum(q(w_kind, 3, channels, kernel, kernel),
                       np.iinfo(w_kind).max - 30)
        x_zero, w_zero = (scalar(np.iinfo(t).min, t) for t in (x_kind, w_kind))
        top = channels * kernel ** 2 * 255.0 * 255
        bias = f.integers(-2 ** 25, 2 ** 25, 3, dtype=np.int32)
        total = sums(x, x_zero, w, w_zero)
        assert np.abs(total).max() > 1 << 24
        f.case("ConvInteger", [x, w, x_zero, w_zero], constants=[1, 3],
               want=[total.astype(np.int32)], dynamic=pick(False, [0]))
        scales = np.float32(0.25), np.float32(0.5), np.float32(top / 4096)
        out = scalar(np.iinfo(x_kind).min, x_kind)
        want = requantized(total + bias[:, None, None],
                           scales[0] * scales[1] / scales[2], out, x_kind)
        f.case("QLinearConv", [x, scalar(scales[0]), x_zero, w,
                               scalar(scales[1]), w_zero, scalar(scales[2]),
                               out, bias], constants=[3, 4, 5, 8],
               want=[want], dynamic=pick(False, [0]))

# The largest products there are, alike in sign, as many as 32 bits hold:
# neither a pair nor a sum of four may saturate.
for x_kind, w_kind in ((np.uint8, np.int8), (np.uint8, np.uint8),
                       (np.int8, np.int8)):
    for channels, filters, group, kernel in (
            (2048, 9, 1, 1), (512, 17, 1, 3), (96, 24, 3, 3), (20, 20, 20, 5)):
        x = np.full((1, channels, 6, 7), np.iinfo(x_kind).max, x_kind)
        x[..., 3:] = np.iinfo(x_kind).min
        w = np.full((filters, channels // group, kernel, kernel),
                    np.iinfo(w_kind).min, w_kind)
        w[1::2] = np.iinfo(w_kind).max
        x_zero = pick(*(scalar(v, x_kind) for v in (x.min(), x.max(), 3)))
        w_zero = pick(*(scalar(v, w_kind) for v in (w.min(), w.max(), 0)))
        total = sums(x, x_zero, w, w_zero, group)
        f.case("ConvInteger", [x, w, x_zero, w_zero], constants=[1, 2, 3],
               want=[total.astype(np.int32)], group=group,
               dynamic=pick(False, [0]))

for i in range(COUNT):
    x_kind = pick(np.uint8, np.int8)
    w_kind = pick(np.uint8, np.int8) if x_kind == np.uint8 else np.int8
    group = pick(1, 1, 2, 8)
    channels, filters = 8, pick(8, 24)
    options = dict(group=group, pads=[pick(0, 1)] * 4,
                   strides=[pick(1, 2)] * 2)
    x = q(x_kind, 2, channels, 7, 6)
    w = q(w_kind, filters, channels // group, pick(1, 3), 3)
    w_scale = np.asarray(f.random.uniform(0.001, 0.01, pick((), (filters,))),
                         np.float32)
    bias = pick(None, f.integers(-9000, 9000, filters, dtype=np.int32))
    inputs = [x, scalar(0.25), q(x_kind), w, w_scale, q(w_kind), scalar(0.125),
              q(x_kind), bias]
    constants = [1, 2, 3, 4, 5, 6, 7] + ([8] if bias is not None else [])
    f.case("QLinearConv", inputs, constants=pick(constants, [], [3, 4, 5]),
           dynamic=pick(False, [0]), **options)
    last = [np.ascontiguousarray(np.moveaxis(x, 1, -1))] + inputs[1:]
    f.case("QLinearConv", last, constants=constants, domain="com.microsoft",
           channels_last=1, **options)
    # Zero points per filter, which ONNX Runtime refuses unless all are equal.
    zeros = q(w_kind, filters)
    total = sums(x, inputs[2], w, zeros, **options)
    if bias is not None:
        total += bias[:, None, None]
    want = requantized(total, np.float32(0.25) * w_scale / np.float32(0.125),
                       inputs[7], x_kind)
    per_filter = np.broadcast_to(w_scale, (filters,)).copy()
    for constant in constants, []:
        f.case("QLinearConv", inputs[:4] + [per_filter, zeros] + inputs[6:],
               want=[want], constants=constant, **options)

# Weights that are bytes less their zero points: of 1 to 3 dims, by the kernels
# of bytes where the processor has one.
for i in range(4 * COUNT):
    x_kind = pick(np.uint8, np.int8)
    w_kind = pick(np.uint8, np.int8) if x_kind == np.uint8 else np.int8
    n = pick(1, 2, 2, 2, 3)
    group = pick(1, 1, 1, 2, 3)
    channels, filters = (int(f.integers(1, k)) * group for k in (40, 50))
    if i % 3 == 1:  # tiles of 64 channels, where the processor has them
        group, n = 1, pick(1, 2, 2, 2)
        channels, filters = pick(32, 33, 64, 100, 130), int(f.integers(16, 100))
    if i % 3 == 2:  # a filter per channel
        group = channels = filters = int(f.integers(2, 40))
    kernel = [int(v) for v in f.integers(1, 5, n)]
    dilations = [pick(1, 1, 2) for _ in kernel]
    reach = [(k - 1) * d for k, d in zip(kernel, dilations)]
    options = dict(group=group, dilations=dilations,
                   strides=[pick(1, 1, 2, 3) for _ in kernel],
                   pads=[int(f.integers(0, r + 1)) for r in reach * 2])
    if pick(0, 0, 0, 1):
        del options["pads"]
        options.update(auto_pad=pick("SAME_UPPER", "SAME_LOWER", "VALID"),
                       dilations=[1] * n)
    sizes = [[2, channels] + [int(r + v) for r, v in
                              zip(reach, f.integers(1, 30 if n == 2 else 12, n))]
             for _ in range(2)]
    w = q(w_kind, filters, channels // group, *kernel)
    w_zero = scalar(128 if w_kind == np.uint8 else 0, w_kind)
    w_scale = np.asarray(f.random.uniform(.002, .005, pick((), (filters,)))
                         / np.sqrt(channels), np.float32)
    bias = pick(None, f.integers(-9000, 9000, filters, dtype=np.int32))
    x_zero = pick(q(x_kind), scalar(np.iinfo(x_kind).min, x_kind))
    rest = [scalar(0.25), x_zero, w, w_scale, w_zero, scalar(0.25), q(x_kind),
            bias]
    sets = [[q(x_kind, *size)] + rest for size in sizes]
    constants = [i for i, a in enumerate(sets[0]) if i and a is not None]
    f.case("QLinearConv", sets[0], constants=constants, **options)
    f.sizes("QLinearConv", sets, fixed=constants, constants=constants,
            **options)
    if x_kind == np.uint8:
        integer = [[s[0], w, x_zero, w_zero] for s in sets]
        f.case("ConvInteger", integer[0], constants=[1, 2, 3], **options)
        f.sizes("ConvInteger", integer, fixed=[1, 2, 3], constants=[1, 2, 3],
                **options)
f.done()
