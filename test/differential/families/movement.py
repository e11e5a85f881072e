"""What moves elements about, or says their shapes."""
import numpy as np

from draw import FLOATS, T

I64 = np.int64


def node(d, inputs, **how):
    return d.node(inputs, spread="exact", **how)


def transpose(d):
    shape = d.shape()
    return node(d, [d.tensor(d.type(), shape)],
                perm=[int(a) for a in d.rng.permutation(len(shape))]
                if d.chance(.85) and shape else None)


def regrouped(d, shape):
    """A shape of as many elements."""
    count, parts = int(np.prod(shape)), []
    while count > 1 and len(parts) < 5:
        some = [n for n in range(1, count + 1) if count % n == 0]
        parts.append(int(d.rng.choice(some)))
        count //= parts[-1]
    return parts + [count] if count != 1 or not parts else parts


def reshape(d):
    shape = d.shape(empty=.06)
    x = d.tensor(d.type(), shape)
    if 0 in shape:
        to = [int(n) for n in d.rng.permutation(shape)]
        zero = 1
    else:
        to, zero = regrouped(d, shape), None
        if d.chance(.4) and to:
            to[d.integer(0, len(to) - 1)] = -1
        if d.chance(.3):
            for k in range(min(len(to), len(shape))):
                if to[k] == shape[k] and d.chance(.5):
                    to[k] = 0
        if to == [1] and d.chance(.5) and "shape" not in d.attributes:
            to = []
    if "shape" in d.attributes:
        return node(d, [x], shape=to)
    return node(d, [x, d.integers(to)],
                allowzero=zero or (0 if d.chance(.2) else None))


def squeeze(d):
    shape = [1 if d.chance(.4) else n for n in d.shape()]
    ones = [k for k, n in enumerate(shape) if n == 1]
    axes = [k - (len(shape) if d.version >= 11 and d.chance(.3) else 0)
            for k in ones if d.chance(.6)]
    # Without axes, the sizes decide on the number of dims of the result.
    without = d.chance(.2)
    x = d.tensor(d.type(), shape, shape_fixed=without or not axes)
    if without:
        return node(d, [x])
    if "axes" in d.attributes:
        return node(d, [x], axes=axes or None)
    return node(d, [x, d.integers(axes)])


def unsqueeze(d):
    shape = d.shape(max_rank=4)
    count = d.integer(1, 3)
    rank = len(shape) + count
    axes = [int(a) - (rank if d.version >= 11 and d.chance(.3) else 0)
            for a in d.rng.permutation(rank)[:count]]
    x = d.tensor(d.type(), shape)
    result = list(shape)
    for a in sorted(a % rank for a in axes):
        result.insert(a, 1)
    how = dict(known=lambda x, *_: [x.reshape(result)])  # onnx: one by one
    if "axes" in d.attributes:
        return node(d, [x], axes=axes, **how)
    return node(d, [x, d.integers(axes)], **how)


def flatten(d):
    shape = d.shape(min_rank=0 if d.version >= 9 else 1)
    rank = len(shape)
    low = -rank if d.version >= 11 else 0
    return node(d, [d.tensor(d.type(), shape)],
                axis=d.pick(None, d.integer(low, rank)) if rank else 0)


def concat(d):
    t, shape = d.type(), d.shape(min_rank=1)
    axis = d.axis(len(shape)) if d.version >= 11 else \
        d.integer(0, len(shape) - 1)
    parts = []
    for _ in range(d.integer(1, 5)):
        part = list(shape)
        part[axis] = 0 if d.chance(.05) else d.size()
        parts.append(d.tensor(t, part))
    return node(d, parts, axis=axis)


def split(d):
    t, shape = d.type(), d.shape(min_rank=1, empty=0)
    rank = len(shape)
    axis = d.axis(rank) if d.version >= 11 else d.integer(0, rank - 1)
    count = d.integer(1, 4)
    sizes = [d.integer(0 if d.chance(.2) else 1, 5) for _ in range(count)]
    even = d.chance(.4)
    if even and not (d.version >= 18 and d.chance(.6)):
        sizes = [sizes[0] or 1] * count
        shape[axis] = sum(sizes)
        given = None
    elif even:  # num_outputs: the last may be smaller
        size = d.integer(1, 5)
        shape[axis] = size * count - d.integer(0, size - 1)
        if -(-shape[axis] // count) * (count - 1) >= shape[axis]:
            shape[axis] = size * count
        given = None
    else:
        shape[axis], given = sum(sizes), sizes
    x = d.tensor(t, shape)
    how = dict(axis=d.pick(None, axis) if axis == 0 else axis, outputs=count)
    if "split" in d.attributes:
        return node(d, [x], split=given, **how)
    if d.version < 13:  # 1: an optional input
        return node(d, [x, given and d.given(np.array(given), d.type("T"))],
                    **how)
    return node(d, [x, given and d.integers(given)],
                num_outputs=None if given else count, **how)


def expand(d):
    whole = d.shape()
    part = d.broadcast(whole)
    to = [1 if d.chance(.2) and k >= len(whole) - len(part)
          and part[k - len(whole) + len(part)] == n else n
          for k, n in enumerate(whole)]
    if d.chance(.2) and len(part) >= len(to):
        to = to[d.integer(0, len(to)):] if part == whole else to
    return node(d, [d.tensor(d.type(), part), d.integers(to)])


def tile(d):
    shape = d.shape(largest=200)
    times = [d.integer(0 if d.chance(.05) else 1, 3) for _ in shape]
    x = d.tensor(d.type(), shape)
    if d.version < 6:
        axis = d.integer(0, len(shape) - 1) if shape else 0
        t = x.type
        return node(d, [x, d.given(np.array(2), t), d.given(np.array(axis), t)])
    return node(d, [x, d.integers(times)])


def shape_of(d):
    rank = len(shape := d.shape())
    bound = lambda: d.pick(None, d.integer(-rank - 2, rank + 2)) \
        if "start" in d.attributes else None
    start, end = bound(), bound()
    # onnx's evaluator counts an end before the first dim from the last one.
    return node(d, [d.tensor(d.type(), shape)], start=start, end=end,
                wide=False, formula=lambda _: np.array(shape)[
                    max(0, start + rank if start < 0 else start)
                    if start else 0:max(0, end + rank if end < 0 else end)
                    if end is not None else None])


def size_of(d):
    return node(d, [d.tensor(d.type(), d.shape())])


def trilu(d):
    shape = d.shape(min_rank=2)
    k = d.given(np.array(d.integer(-9, 9))) if d.chance(.7) else None
    return node(d, [d.tensor(d.type(), shape), k], upper=d.pick(None, 0, 1))


def eye_like(d):
    shape = d.shape(min_rank=2, max_rank=2)
    return node(d, [d.tensor(d.type("T1"), shape)], wide=False,
                k=d.pick(None, d.integer(-9, 9)),
                dtype=d.type("T2") if d.chance(.6) else None)


def blocks(d):
    b = d.integer(1, 4)
    shape = d.shape(4, 4, largest=300)
    if d.op == "DepthToSpace":
        shape[1] *= b * b
    else:
        shape[2], shape[3] = shape[2] * b, shape[3] * b
    return node(d, [d.tensor(d.type(), shape)], blocksize=b,
                mode=d.pick(None, "DCR", "CRD"))


def range_of(d):
    t = d.type()
    start, step = d.integer(-9, 9), d.pick(1, 2, 3, -1, -2)
    stop = start + step * d.integer(-1, 30) + d.pick(0, 0, 1, -1)
    if t in FLOATS and d.chance(.6):
        step /= 4
    return node(d, [d.given(np.array(v), t) for v in (start, stop, step)])


def constant_of_shape(d):
    from onnx import helper
    t = d.type("T2")
    value = helper.make_tensor("v", t, [1], d.array(t, (1,), 0, 5)) \
        if d.chance(.7) else None
    return node(d, [d.integers(d.shape())], value=value)


def center(d):
    shape = d.shape(min_rank=1)
    rank = len(shape)
    axes = d.axes(rank, 1) if d.chance(.6) else None
    to = [d.size() for _ in (axes if axes is not None else shape)]
    return node(d, [d.tensor(d.type(), shape),
                    d.integers(to, d.type("Tind"))], axes=axes)


OPS = {
    "Transpose": transpose, "Reshape": reshape, "Squeeze": squeeze,
    "Unsqueeze": unsqueeze, "Flatten": flatten, "Concat": concat,
    "Split": split, "Expand": expand, "Tile": tile, "Shape": shape_of,
    "Size": size_of, "Trilu": trilu, "EyeLike": eye_like,
    "DepthToSpace": blocks, "SpaceToDepth": blocks, "Range": range_of,
    "ConstantOfShape": constant_of_shape, "CenterCropPad": center,
}
