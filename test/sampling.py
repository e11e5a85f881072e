"""What the standard says of GridSample and DeformConv, in numpy and f64: onnx's
evaluator has coordinates in single precision and weights in the type of the
image, and deforms images of two dimensions only."""
import itertools
import math

import numpy as np


def reflected(v, low, high):
    if high <= low:
        return np.full_like(v, low)
    beyond = np.where(v < low, low - v, v - high)
    times = np.floor(beyond / (high - low))
    rest = beyond - times * (high - low)
    up = (times % 2 == 0) == (v < low)
    return np.where((v >= low) & (v <= high), v,
                    np.where(up, low + rest, high - rest))


def weights(mode, r):
    """Of the taps from the first one on, as pairs of offset and weight."""
    if mode == "nearest":
        return [(0, np.ones_like(r))]
    if mode == "linear":
        return [(0, 1 - r), (1, r)]
    a = -.75
    near = lambda q: ((a + 2) * q - (a + 3)) * q * q + 1
    far = lambda q: ((a * q - 5 * a) * q + 8 * a) * q - 4 * a
    return [(-1, far(r + 1)), (0, near(r)), (1, near(1 - r)), (2, far(2 - r))]


def taps(v, size, mode, padding, aligned):
    """Of one dim: subscript, whether it is in the image, weight."""
    low, high = (0, size - 1) if aligned else (-.5, size - .5)
    x = (v + 1) / 2 * (size - 1) if aligned else ((v + 1) * size - 1) / 2
    if mode == "nearest":
        x = np.rint(x)
    if padding == "border":
        x = np.where((x < low) | (x > high), np.clip(x, 0, size - 1), x)
    elif padding == "reflection":
        x = reflected(x, low, high)
    base = np.trunc(x) if mode == "nearest" else np.floor(x)
    for offset, weight in weights(mode, x - base):
        at = base + offset
        if padding == "reflection":
            at = np.trunc(reflected(at, low, high))
        inside = (at >= 0) & (at <= size - 1) if padding == "zeros" else True
        yield np.clip(at, 0, size - 1).astype(int), inside, weight


def grid_sample(x, grid, mode="linear", padding="zeros", aligned=0):
    """x: [N, C, ...], of floats; grid: [N, ..., dims], the last dim first."""
    grid = np.asarray(grid, np.float64)
    sizes, (batch, channels) = x.shape[2:], x.shape[:2]
    rows = np.arange(batch).reshape(-1, *[1] * len(sizes))
    result = np.zeros((*grid.shape[:-1], channels), x.dtype)
    each = [list(taps(grid[..., len(sizes) - 1 - d], n, mode, padding, aligned))
            for d, n in enumerate(sizes)]
    for some in itertools.product(*each):
        weight, inside = 1., True
        for _, there, w in some:
            weight, inside = weight * w, inside & np.asarray(there)
        picked = np.moveaxis(x, 1, -1)[(rows, *[at for at, _, _ in some])]
        picked = np.where(np.asarray(inside)[..., None], picked, 0)
        result += picked * weight[..., None]
    return np.moveaxis(result, -1, 1)


def _linear(image, at):
    """Linear in every dim, 0 outside."""
    low, total = [math.floor(v) for v in at], 0.
    for corner in itertools.product((0, 1), repeat=len(at)):
        place = [a + c for a, c in zip(low, corner)]
        if all(0 <= p < n for p, n in zip(place, image.shape)):
            total += image[tuple(place)] * math.prod(
                1 - abs(v - p) for v, p in zip(at, place))
    return total


def deform_conv(x, w, offset, b=None, mask=None, group=1, offset_group=1,
                strides=None, dilations=None, pads=None):
    n = x.ndim - 2
    strides, dilations = strides or [1] * n, dilations or [1] * n
    pads, kernel = pads or [0] * 2 * n, w.shape[2:]
    places = offset.shape[2:]
    offset = offset.reshape(x.shape[0], offset_group, *kernel, n, *places)
    if mask is not None:
        mask = mask.reshape(x.shape[0], offset_group, *kernel, *places)
    out = np.zeros((x.shape[0], w.shape[0], *places))
    each, made = x.shape[1] // group, w.shape[0] // group
    for i, c in np.ndindex(x.shape[:2]):
        field = c // (x.shape[1] // offset_group)
        filters = slice(c // each * made, c // each * made + made)
        for tap in np.ndindex(*kernel):
            for p in np.ndindex(*places):
                at = [p[d] * strides[d] - pads[d] + tap[d] * dilations[d]
                      + offset[(i, field, *tap, d, *p)] for d in range(n)]
                v = _linear(x[i, c], at)
                if mask is not None:
                    v *= mask[(i, field, *tap, *p)]
                out[(i, filters, *p)] += v * w[(filters, c % each, *tap)]
    return out if b is None else out + b.reshape(-1, *[1] * n)
