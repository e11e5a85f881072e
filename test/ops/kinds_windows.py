"""Kinds of pools, convolutions, quantization and sampling, each as a whole: every
combination of what makes it hard, against the standard written out in numpy;
GridSample against onnx's reference. Each model is compiled with sizes and again
with symbols."""
import itertools
import sys

import ml_dtypes
import numpy as np
from batch import Batch
from harness import Family, by_reference, model_of

f = Family("kinds_windows")
pick = lambda some: some[f.random.integers(len(some))]
number = lambda low, high: int(f.random.integers(low, high + 1))


def placing(size, kernel, stride, apart, low, high, how, ceil=0):
    """(number of windows, pads before, behind) of one dim."""
    reach = (kernel - 1) * apart + 1
    if how.startswith("SAME"):
        n = -(-size // stride)
        total = max((n - 1) * stride + reach - size, 0)
        low = total // 2 if how == "SAME_UPPER" else total - total // 2
        return n, low, total - low
    if how == "VALID":
        low = high = 0
    free = size + low + high - reach
    n = (-(-free // stride) if ceil else free // stride) + 1
    if ceil and (n - 1) * stride >= size + low:  # begins behind the image
        n -= 1
    return n, low, high


def pooled(x, kernel, strides, apart, pads, how, ceil, include, column):
    """(largest, places, means)."""
    sizes, n = x.shape[2:], len(kernel)
    where = [placing(*a, how, ceil) for a in zip(
        sizes, kernel, strides, apart, pads[:n], pads[n:])]
    out = x.shape[:2] + tuple(w[0] for w in where)
    largest, places = np.zeros(out, x.dtype), np.zeros(out, np.int64)
    means = np.zeros(out, x.dtype)
    order = "F" if column else "C"
    for o in np.ndindex(*out[2:]):
        taps, count = [], 1
        for d in range(n):
            at = [o[d] * strides[d] - where[d][1] + k * apart[d]
                  for k in range(kernel[d])]
            taps.append([i for i in at if 0 <= i < sizes[d]])
            count *= sum(-where[d][1] <= i < sizes[d] + where[d][2]
                         for i in at) if include else len(taps[-1])
        part = x[(...,) + np.ix_(*taps)].reshape(*x.shape[:2], -1)
        flat = np.ravel_multi_index(np.meshgrid(*taps, indexing="ij"), sizes,
                                    order=order).reshape(-1)
        to = (slice(None), slice(None)) + o
        best = part.argmax(-1)
        largest[to] = part.max(-1)
        places[to] = flat[best] + np.arange(
            x.shape[0] * x.shape[1]).reshape(x.shape[:2]) * np.prod(sizes)
        means[to] = part.astype(np.float64).sum(-1) / count
    return largest, places, means


def pools():
    """Rounding up, gaps, pads of both sides, automatic ones, pads that count or
    not, indices in both orders; one to three dims."""
    grid = list(itertools.product((1, 2, 3), (1, 2, 3), (1, 2), (0, 1),
                                  ("NOTSET", "SAME_UPPER", "SAME_LOWER",
                                   "VALID")))
    cases = [((k,), (s,), (a,), c, h) for k, s, a, c, h in grid]
    for n in 2, 2, 2, 3:
        for _ in range(24):
            dims = [pick(grid) for _ in range(n)]
            cases.append((*zip(*[d[:3] for d in dims]), dims[0][3], dims[0][4]))
    b = Batch(f, "pool", rtol=1e-5)
    for kernel, strides, apart, ceil, how in cases:
        n = len(kernel)
        reach = [(k - 1) * a + 1 for k, a in zip(kernel, apart)]
        pads = [number(0, r - 1) for r in reach * 2] if how == "NOTSET" \
            else [0] * 2 * n
        sizes = [r + number(0, 6 if n < 3 else 3) for r in reach]
        x = f.random.permutation(2 * int(np.prod(sizes))).reshape(
            1, 2, *sizes).astype(np.float32)
        given = dict(kernel_shape=kernel, strides=strides, dilations=apart,
                     ceil_mode=ceil)
        given.update({"pads": pads} if how == "NOTSET" else {"auto_pad": how})
        column, include = number(0, 1), number(0, 1)
        largest, places, means = pooled(x, kernel, strides, apart, pads, how,
                                        ceil, include, column)
        b.add("MaxPool", [x], [largest, places], storage_order=column, **given)
        b.add("AveragePool", [x], [means], count_include_pad=include, **given)
    b.run()


def transposed(x, w, group, strides, apart, low, out):
    each, filters = x.shape[1] // group, w.shape[1]
    y = np.zeros((x.shape[0], group * filters, *out))
    for i in np.ndindex(*x.shape[2:]):
        for k in np.ndindex(*w.shape[2:]):
            o = tuple(a * s + b * d - p for a, s, b, d, p in zip(
                i, strides, k, apart, low))
            if all(0 <= a < n for a, n in zip(o, out)):
                for g in range(group):
                    c = slice(g * each, (g + 1) * each)
                    y[(slice(None), slice(g * filters, (g + 1) * filters)) + o] \
                        += x[(slice(None), c) + i] @ w[(c, slice(None)) + k]
    return y


def transposed_convolutions():
    """Shapes that are asked for, extra rows, groups, gaps, automatic pads."""
    b = Batch(f, "ConvTranspose", rtol=1e-4)
    for n, what in itertools.product(
            (1, 2, 2, 3), ("pads", "shape", "SAME_UPPER", "SAME_LOWER",
                           "shape SAME_UPPER", "shape SAME_LOWER", "VALID")):
        for group in 1, 2, 3:
            sizes, kernel = [number(1, 5) for _ in range(n)], \
                [number(1, 3) for _ in range(n)]
            strides, apart = [number(1, 3) for _ in range(n)], \
                [number(1, 2) for _ in range(n)]
            if "SAME" in what:  # nothing may be missing
                strides = [min(s, (k - 1) * a + 1) for s, k, a in zip(
                    strides, kernel, apart)]
            extra = [number(0, s - 1) for s in strides] \
                if what in ("pads", "shape") else [0] * n
            reach = [(k - 1) * a + 1 for k, a in zip(kernel, apart)]
            full = [s * (i - 1) + e + r for s, i, e, r in zip(
                strides, sizes, extra, reach)]
            given = dict(strides=strides, dilations=apart, group=group)
            low = [0] * n
            if what == "pads":
                low = [number(0, (r - 1) // 2) for r in reach]
                high = [number(0, (r - 1) // 2) for r in reach]
                out = [max(m - a - c, 1) for m, a, c in zip(full, low, high)]
                high = [m - a - o for m, a, o in zip(full, low, out)]
                given["pads"] = low + high
            elif what == "VALID":
                out, given["auto_pad"] = full, "VALID"
            else:
                out = [i * s for i, s in zip(sizes, strides)]
                if "shape" in what:
                    out = [m - number(0, min(r - 1, m - 1))
                           for m, r in zip(full, reach)]
                    given["output_shape"] = out
                if "SAME" in what:
                    given["auto_pad"] = what.split()[-1]
                total = [m - o for m, o in zip(full, out)]
                low = [t // 2 if "UPPER" in what else t - t // 2 for t in total]
            if any(extra):
                given["output_padding"] = extra
            x = f.normal(2, 2 * group, *sizes)
            w, bias = f.normal(2 * group, 2, *kernel), f.normal(2 * group)
            want = transposed(x, w, group, strides, apart, low, out)
            want += bias.reshape(-1, *[1] * n)
            b.add("ConvTranspose", [x, w, bias], [want.astype(np.float32)],
                  constants=pick([[1, 2], []]), fixed=[1, 2], **given)
    b.run()


def convolved(x, w, group, strides, apart, where):
    """Exact sums of products of integers; where: (windows, before, behind)."""
    n, share = x.ndim - 2, w.shape[1]
    x = np.pad(x, [(0, 0)] * 2 + [(low, max(high, 0)) for _, low, high in where])
    y = np.zeros((x.shape[0], w.shape[0], *[p[0] for p in where]), np.int64)
    of = w.shape[0] // group
    for o in np.ndindex(*y.shape[2:]):
        taps = tuple(slice(o[d] * strides[d], o[d] * strides[d]
                           + (w.shape[2 + d] - 1) * apart[d] + 1, apart[d])
                     for d in range(n))
        for m in range(w.shape[0]):
            first = m // of * share
            part = x[(slice(None), slice(first, first + share)) + taps]
            y[(slice(None), m) + o] = (part * w[m]).reshape(len(x), -1).sum(1)
    return y


def quantized_convolutions():
    """One, two and three dims; bytes of all signs; zero points and scales of the
    tensor or of each filter. Scales are powers of two, so that the result is
    one number whoever rounds."""
    b = Batch(f, "QLinearConv", fixed=range(1, 9))
    for n, kinds, per, how in itertools.product(
            (1, 2, 3), itertools.product((np.uint8, np.int8), repeat=2),
            (False, True), ("NOTSET", "NOTSET", "SAME_LOWER")):
        group = pick((1, 1, 2, 4))
        share, filters = number(1, 3), group * number(1, 3)
        sizes = [number(3, 6) for _ in range(n)]
        kernel = [number(1, 3) for _ in range(n)]
        apart = [number(1, 2) if how == "NOTSET" else 1 for _ in range(n)]
        strides = [number(1, 3) for _ in range(n)]
        pads = [number(0, 2) for _ in range(2 * n)]
        for d in range(n):  # at least one window
            sizes[d] = max(sizes[d], (kernel[d] - 1) * apart[d] + 1)
        byte = lambda t, shape: f.random.integers(
            np.iinfo(t).min, np.iinfo(t).max, shape, t, endpoint=True)
        t, u = kinds
        x = byte(t, (2, group * share, *sizes))
        w = byte(u, (filters, share, *kernel))
        each = [filters] if per else []
        x_zero, w_zero = byte(t, ()), byte(u, each)
        w_scale = np.exp2(f.random.integers(-8, -3, each)).astype(np.float32)
        x_scale, y_scale = np.float32([2. ** number(-4, -2), 2. ** number(-3, 2)])
        y_zero = byte(t, ())
        bias = f.random.integers(-999, 999, filters, np.int32) \
            if number(0, 1) else None
        ones = lambda v: v.reshape(-1, *[1] * (n + 1)) if per else v
        where = [placing(*a, how) for a in zip(
            sizes, kernel, strides, apart, pads[:n], pads[n:])]
        y = convolved(x.astype(np.int64) - int(x_zero),
                      w.astype(np.int64) - ones(w_zero.astype(np.int64)),
                      group, strides, apart, where)
        if bias is not None:
            y = y + bias.reshape(-1, *[1] * n)
        factor = w_scale.astype(np.float64) * x_scale / y_scale
        y = np.rint(y * (factor.reshape(-1, *[1] * n) if per else factor))
        y = np.clip(y + int(y_zero), np.iinfo(t).min, np.iinfo(t).max)
        given = dict(auto_pad=how) if how != "NOTSET" else dict(pads=pads)
        b.add("QLinearConv", [x, np.array(x_scale), x_zero, w, np.array(w_scale),
                              w_zero, np.array(y_scale), y_zero, bias],
              [y.astype(t)], constants=pick(([], [3, 4, 5], range(1, 9))),
              strides=strides, dilations=apart, group=group, **given)
    b.run()


def grains():
    """Scales and zero points of a tensor, of each axis, of blocks along each
    axis, whole ones and with a rest."""
    b = Batch(f, "quantization", opset=25)
    for name in ("int8", "uint8", "int16", "uint16", "int4", "uint4"):
        t = np.dtype(getattr(ml_dtypes, name, name))
        info = ml_dtypes.iinfo(t)
        x = f.normal(4, 6, 5) * 40
        for axis, block in itertools.product((None, *range(-3, 3)),
                                             (0, 1, 2, 3)):
            if axis is None and block:
                continue
            shape, fit, given = [], lambda v: v, {}
            if axis is not None:
                given["axis"] = axis
                ones = [1] * 3
                ones[axis] = -1
                shape = [x.shape[axis]]
                fit = lambda v: v.reshape(ones)
            if block:
                given["block_size"] = block
                shape = list(x.shape)
                shape[axis] = -(-shape[axis] // block)
                fit = lambda v: np.repeat(v, block, axis).take(
                    range(x.shape[axis]), axis)
            scale = f.random.uniform(.5, 4, shape).astype(np.float32)
            zero = np.asarray(f.random.integers(
                max(int(info.min), -3), min(int(info.max), 5), shape)).astype(t)
            q = np.rint(x / fit(scale)) + fit(zero.astype(np.int64))
            q = np.clip(q, int(info.min), int(info.max)).astype(t)
            back = (q.astype(np.int64) - fit(zero.astype(np.int64))).astype(
                np.float32) * fit(scale)
            for known in [], [1, 2]:
                b.add("QuantizeLinear", [x, scale, zero], [q], constants=known,
                      **given)
                b.add("DequantizeLinear", [q, scale, zero], [back],
                      constants=known, **given)
    b.run()


def by_onnx(b, op, inputs, **attributes):
    """A case whose result is that of onnx's reference."""
    feeds = {f"in{i}": a for i, a in enumerate(inputs) if a is not None}
    want = by_reference(model_of(op, inputs, opset=b.opset, **attributes), feeds)
    b.add(op, inputs, want, **attributes)


def grid_samples():
    """Every mode with every way to pad and both meanings of the corners, in two
    and three dims, far outside too."""
    b = Batch(f, "GridSample", opset=20, rtol=1e-3, atol=1e-4)
    for n, mode, pad, corners in itertools.product(
            (2, 3), ("nearest", "linear", "cubic"),
            ("zeros", "border", "reflection"), (0, 1)):
        sizes = [4, 3, 5][:n]
        x = f.normal(2, 2, *sizes)
        grid = f.random.uniform(-2.5, 2.5, (2, *[3, 2, 4][:n], n)).astype(
            np.float32)
        by_onnx(b, "GridSample", [x, grid], mode=mode, padding_mode=pad,
                align_corners=corners)
    # So many dims that the elements around a place are thousands.
    for n, mode in (5, "cubic"), (9, "linear"):
        grid = f.random.uniform(-1, 1, (1, *[1] * (n - 1), 2, n))
        by_onnx(b, "GridSample", [f.normal(1, 2, *[2] * n),
                                  grid.astype(np.float32)], mode=mode)
    b.run()


for kind in (pools, transposed_convolutions, quantized_convolutions, grains,
             grid_samples):
    if len(sys.argv) < 2 or kind.__name__ in sys.argv[1:]:
        kind()
f.done()
