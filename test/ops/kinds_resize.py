"""Resize as a whole: every way to transform coordinates with every way to round
them, to interpolate, to antialias, to keep the aspect; regions, axes, scales
that are no integers. The expected values are the standard's formulas in numpy.

Coordinates are computed in f32, as ONNX Runtime does: in f64, as onnx's
reference has them, they fall on the other side of a half in places, where
`nearest` and `floor` tell them apart. Sums are f64 here."""
import itertools

import numpy as np
from batch import Batch
from harness import Family

f = Family("kinds_resize")
pick = lambda some: some[f.random.integers(len(some))]
F = np.float32
COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
               "align_corners", "asymmetric", "tf_crop_and_resize")
ROUNDED = {
    "round_prefer_floor": lambda x: np.ceil(x - F(.5)),
    "round_prefer_ceil": lambda x: np.floor(x + F(.5)),
    "floor": np.floor, "ceil": np.ceil}
SCALES = (.3, .4, .5, .75, .8, 1.2, 1.5, 2, 2.6, 3.25)


def coordinates(how, n, m, scale, given, start, end):
    """Places in n elements of m results, f32. The length of the result that
    formulas speak of is a fraction where scales are given, as in onnx's
    reference; where sizes are, it is the result's, as in ONNX Runtime: with a
    policy, too, so that corners meet."""
    x, n, one = np.arange(m, dtype=F), F(n), F(1)
    width = scale * n if given else F(m)
    half = (x + F(.5)) / scale - F(.5)
    if how == "half_pixel":
        return half
    if how == "half_pixel_symmetric":
        return n / F(2) * (one - F(m) / width) + half
    if how == "pytorch_half_pixel":
        return half if m > 1 else np.zeros(1, F)
    if how == "tf_half_pixel_for_nn":
        return (x + F(.5)) / scale
    if how == "asymmetric":
        return x / scale
    if how == "align_corners":
        return x * (n - one) / (width - one) if width != 1 \
            else np.zeros(m, F)
    if width == 1:
        return np.full(m, F(.5) * (start + end) * (n - one), F)
    return start * (n - one) + x * ((end - start) * (n - one)) / (width - one)


def cubic(a, d):
    return np.where(d <= 1, ((a + 2) * d - (a + 3)) * d * d + 1, np.where(
        d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0))


def matrix(n, m, scale, given, start, end, mode, how, rounding, a, antialias,
           exclude):
    """[m, n] weights, and which of the m are outside."""
    x = coordinates(how, n, m, F(scale), given, F(start), F(end))
    outside = (x < 0) | (x > n - 1) if how.startswith("tf_crop") \
        else np.zeros(m, bool)
    w = np.zeros((m, n))
    shrink = min(1., float(F(scale))) if antialias else 1.
    reach = int(np.ceil((2 if mode == "cubic" else 1) / shrink)) + 1
    for o in range(m):
        if mode == "nearest":
            w[o, int(np.clip(ROUNDED[rounding](x[o]), 0, n - 1))] = 1
            continue
        at = np.arange(int(np.floor(x[o])) - reach,
                       int(np.floor(x[o])) + reach + 1)
        d = np.abs(at - float(x[o])) * shrink
        part = cubic(a, d) if mode == "cubic" else np.clip(1 - d, 0, None)
        if exclude:
            part = np.where((at < 0) | (at >= n), 0, part)
        if exclude or antialias:
            part = part / part.sum()
        np.add.at(w[o], np.clip(at, 0, n - 1), part)
    return w, outside


def resized(x, axes, scales=None, sizes=None, roi=None, mode="nearest",
            coordinate_transformation_mode="half_pixel",
            nearest_mode="round_prefer_floor", cubic_coeff_a=-.75, antialias=0,
            exclude_outside=0, extrapolation_value=0.,
            keep_aspect_ratio_policy="stretch"):
    given = sizes is None
    if not given:
        scales = [F(s) / F(x.shape[k]) for s, k in zip(sizes, axes)]
        if keep_aspect_ratio_policy != "stretch":
            most = keep_aspect_ratio_policy == "not_larger"
            scales = [(min if most else max)(scales)] * len(axes)
            sizes = [int(np.floor(float(s) * x.shape[k] + .5))
                     for s, k in zip(scales, axes)]
    else:
        sizes = [int(np.floor(F(x.shape[k]) * F(s)))
                 for s, k in zip(scales, axes)]
    y, none = x.astype(np.float64), np.zeros((), bool)
    for i, k in enumerate(axes):
        w, outside = matrix(
            x.shape[k], sizes[i], scales[i], given,
            roi[i] if roi is not None else 0,
            roi[len(axes) + i] if roi is not None else 1, mode,
            coordinate_transformation_mode, nearest_mode, cubic_coeff_a,
            antialias, exclude_outside)
        if x.shape[k] == sizes[i] and F(scales[i]) == 1 and \
                not coordinate_transformation_mode.startswith("tf_crop"):
            continue
        y = np.moveaxis(np.tensordot(y, w, (k, 1)), -1, k)
        none = none | outside.reshape(
            [-1 if d == k else 1 for d in range(x.ndim)])
    return np.where(none, extrapolation_value, y).astype(x.dtype)


def add(batch, x, axes, listed=None, scales=None, sizes=None, **attributes):
    """listed: axes as the attribute says them."""
    roi = None
    if attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        roi = np.array([pick((0, .1, .3)) for _ in axes] +
                       [pick((.6, .9, 1, 1.2)) for _ in axes], F)
    want = resized(x, axes, scales, sizes, roi, **attributes)
    if listed:
        attributes["axes"] = listed
    else:  # one for each dim
        full = np.ones(x.ndim, F) if sizes is None else np.array(x.shape)
        full[list(axes)] = scales if sizes is None else sizes
        scales, sizes = (full, None) if sizes is None else (None, full)
        if roi is not None:
            whole = np.repeat(np.array([0, 1], F), x.ndim)
            whole[[*axes, *(x.ndim + k for k in axes)]] = roi
            roi = whole
    if scales is not None:
        scales = np.array(scales, F)
    if sizes is not None:
        sizes = np.array(sizes, np.int64)
    constants = pick(((), (1, 2, 3)))
    batch.add("Resize", [x, roi, scales, sizes], [want], constants=constants,
              fixed=(1, 2, 3), **attributes)


image = f.normal(1, 2, 6, 7)
b = Batch(f, "nearest", rtol=1e-5, atol=1e-5)
for how, rounding in itertools.product(COORDINATES, ROUNDED):
    for scales in ((pick(SCALES), pick(SCALES)) for _ in range(3)):
        add(b, image, (2, 3), scales=scales, mode="nearest",
            nearest_mode=rounding,
            coordinate_transformation_mode=how, extrapolation_value=5.)
b.run()
b = Batch(f, "weighted", rtol=1e-4, atol=1e-4)
for how, mode, antialias, exclude in itertools.product(
        COORDINATES, ("linear", "cubic"), (0, 1), (0, 1)):
    if exclude and mode == "linear":
        continue
    # Antialiasing of a region is not said to be of its scale or of the image's.
    antialias = antialias and not how.startswith("tf_crop")
    for scales in ((pick(SCALES), pick(SCALES)) for _ in range(2)):
        more = {"exclude_outside": exclude} if mode == "cubic" else {}
        if mode == "cubic" and f.random.integers(2):
            more["cubic_coeff_a"] = -.5
        add(b, image, (2, 3), scales=scales, mode=mode, antialias=antialias,
            coordinate_transformation_mode=how, extrapolation_value=5., **more)
b.run()
# Axes in any order and counted from the end, one to three of them; sizes, with
# every policy.
b = Batch(f, "axes and sizes", rtol=1e-4, atol=1e-4)
for axes in (1,), (3,), (3, 2), (2, 3), (0, 2), (1, 2, 3), (3, 1, 2):
    for mode, policy, how in itertools.product(
            ("nearest", "linear", "cubic"), ("stretch", "not_larger",
                                             "not_smaller"),
            ("half_pixel", "align_corners", "asymmetric")):
        if mode == "cubic" and len(axes) > 2:
            continue
        listed = [k - 4 if f.random.integers(2) else k for k in axes]
        if policy == "stretch":
            add(b, image, axes, listed, scales=[pick(SCALES) for _ in axes]
                if 1 not in axes and 0 not in axes else
                [pick((1.5, 2, 2.6)) for _ in axes], mode=mode,
                coordinate_transformation_mode=how)
        add(b, image, axes, listed, sizes=[int(f.random.integers(1, 12))
                                           for _ in axes], mode=mode,
            coordinate_transformation_mode=how,
            keep_aspect_ratio_policy=policy)
b.run()
# Lines, volumes, f64, f16.
b = Batch(f, "ranks and types", rtol=1e-2, atol=1e-2)
for x, axes in (f.normal(9), (0,)), (f.normal(2, 3, 4, 5, 3), (2, 3, 4)), \
        (f.normal(5, 6).astype(np.float64), (0, 1)), \
        (f.normal(5, 6).astype(np.float16), (0, 1)):
    for how, mode in itertools.product(COORDINATES, ("nearest", "linear")):
        add(b, x, axes, scales=[pick(SCALES[2:]) for _ in axes], mode=mode,
            coordinate_transformation_mode=how)
b.run()
# What opset 13 took away.
b = Batch(f, "opset 11", opset=11, rtol=1e-5, atol=1e-5)
for rounding in ROUNDED:
    for scales in ((pick(SCALES), pick(SCALES)) for _ in range(3)):
        how = dict(mode="nearest", nearest_mode=rounding,
                   coordinate_transformation_mode="tf_half_pixel_for_nn")
        want = resized(image, (2, 3), scales, **how)
        b.add("Resize", [image, np.zeros(0, F),
                         np.array([1, 1, *scales], F)], [want],
              constants=(1, 2), **how)
b.run()
f.done()
