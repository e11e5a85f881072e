"""Sorting and selecting by contents."""
import numpy as np

from draw import COMPLEX, FLOATS, T


def top_k(d):
    t = d.type()
    shape = d.shape(min_rank=1, max_rank=4, empty=.02)
    axis = d.axis(len(shape)) if d.version >= 11 else \
        d.integer(0, len(shape) - 1)
    k = d.integer(0 if d.chance(.05) else min(1, shape[axis]), shape[axis])
    x = d.tensor(t, shape, special=0)
    if d.chance(.3):  # equal ones
        x.array = np.round(x.array.astype(np.float32)).astype(x.array.dtype)
    how = dict(outputs=d.pick(2, [True, False], [False, True]), spread="exact",
               largest=d.pick(None, 0, 1),
               axis=d.pick(None, axis) if axis == -1 else axis)
    if d.version < 10:
        return d.node([x], k=max(k, 1) if shape[axis] else k, **how)
    return d.node([x, d.integers([k])], **how)


def unique(d):
    t = d.type()
    shape = d.shape(min_rank=1, max_rank=3, empty=.02, largest=300)
    x = d.tensor(t, shape, -3, 3)
    if t in FLOATS:
        x.array = np.round(x.array.astype(np.float32)).astype(x.array.dtype)
    elif t in COMPLEX:
        x.array = np.round(x.array)
    wanted = [d.chance(.8) for _ in range(4)]
    wanted[0] = wanted[0] or not any(wanted)
    axis = d.axis(len(shape)) if d.chance(.5) else None
    ordered = d.pick(None, 0, 1)

    def formula(x):
        """onnx's evaluator takes from another axis where it is not sorted."""
        found = np.unique(x, True, True, True, axis=axis)
        y, at, back, count = found[0], *(v.reshape(-1) for v in found[1:])
        if ordered == 0:
            order = np.argsort(at)
            y = np.take(y, order, axis or 0)
            at, back, count = at[order], np.argsort(order)[back], count[order]
        return [v for v, w in zip((y, at, back, count), wanted) if w]
    return d.node([x], outputs=wanted, spread="exact", axis=axis,
                  sorted=ordered, formula=formula)


def non_zero(d):
    t = d.type()
    x = d.tensor(t, d.shape(min_rank=1), -1, 1)
    if t in FLOATS:
        x.array = np.round(x.array.astype(np.float32)).astype(x.array.dtype)
    elif t in COMPLEX:
        x.array = np.round(x.array)
    return d.node([x], spread="exact")


def suppression(d):
    n, classes, count = d.integer(1, 2), d.integer(1, 3), d.integer(1, 30)
    centers = d.rng.uniform(0, 1, (n, count, 2))
    sizes = d.rng.uniform(.1, .6, (n, count, 2))
    centered = d.pick(None, 0, 1)
    if centered == 1:
        boxes = np.concatenate([centers, sizes], -1)
    else:
        a, b = centers - sizes / 2, centers + sizes / 2
        flip = d.rng.random((n, count, 2)) < .3  # any two corners
        boxes = np.concatenate([np.where(flip, b, a), np.where(flip, a, b)], -1)
    scores = d.rng.permutation(n * classes * count).reshape(
        n, classes, count) / (n * classes * count)
    number = lambda v, t: d.given(np.array(v if d.chance(.5) else [v]), t)
    most = number(d.integer(0, count), T.INT64) if d.chance(.9) else None
    overlap = number(d.number(0, 1), T.FLOAT) if d.chance(.8) else None
    least = number(d.number(0, .6), T.FLOAT) if d.chance(.6) else None
    return d.node([d.given(boxes, T.FLOAT), d.given(scores, T.FLOAT), most,
                   overlap, least], spread="exact", center_point_box=centered)


OPS = {"TopK": top_k, "Unique": unique, "NonZero": non_zero,
       "NonMaxSuppression": suppression}
