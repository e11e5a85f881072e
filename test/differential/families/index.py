"""Slices, pads, gathers, scatters: elements by computed places."""
import numpy as np

from draw import COMPLEX, FLOATS, T

ENDS = -2**63, 2**63 - 1


def node(d, inputs, **how):
    return d.node(inputs, spread="exact", **how)


def places(d, limit, shape, number=T.INT64, negative=True):
    """Indices into a dim of size `limit`."""
    return d.given(d.rng.integers(-limit if negative else 0, limit, shape),
                   number)


def slicing(d):
    t, shape = d.type(), d.shape(min_rank=1)
    rank = len(shape)
    x = d.tensor(t, shape)
    axes = d.axes(rank, 1) if d.chance(.7) else list(range(d.integer(1, rank)))
    if d.version < 10:
        axes = [a % rank for a in axes]
    starts, ends, steps = [], [], []
    for a in axes:
        n = shape[a]
        step = d.pick(1, 1, 1, 2, 3, -1, -1, -2, -5) if d.version >= 10 else 1
        bound = lambda: d.integer(-n - 3, n + 3)
        starts.append(bound())
        ends.append(bound() if d.chance(.8) else ENDS[step > 0])
        if d.chance(.05):
            starts[-1] = ENDS[step < 0]
        if d.chance(.03):
            step = d.pick(2**40, -2**40)
        steps.append(step)
    given = axes if d.chance(.8) or axes != list(range(len(axes))) else None
    if "axes" in d.attributes:
        return node(d, [x], starts=starts, ends=ends, axes=given)
    u = d.type("Tind")
    clip = lambda v: np.clip(v, -2**31, 2**31 - 1) if u == T.INT32 else v
    parts = [starts, ends, given,
             steps if set(steps) != {1} or d.chance(.3) else None]
    return node(d, [x] + [None if p is None else d.integers(clip(p), u)
                          for p in parts])


def pad(d):
    t = d.type()
    shape = d.shape(min_rank=1, empty=.02, largest=1000)
    rank = len(shape)
    mode = d.pick(None, "constant", "reflect", "edge", *(
        ("wrap",) if d.version >= 19 else ()))
    axes = list(range(rank))
    if d.version >= 18 and d.chance(.4):
        axes = d.axes(rank, 1)
    low = []
    for a in axes * 2:
        n = shape[a]
        most = {"reflect": min(3, n - 1), "edge": 3 if n else 0,
                "wrap": min(3, n)}.get(mode, 3)
        least = -min(2, (n - 1) // 2) if d.chance(.3) else 0
        if mode == "reflect" or d.version < 2:
            least = 0
        low.append(d.integer(min(least, 0), max(most, 0)))
    x = d.tensor(t, shape)
    if d.version < 11:
        key = "paddings" if d.version < 2 else "pads"
        return node(d, [x], mode=mode, value=d.pick(None, 1.5), **{key: low})
    value = d.tensor(t, [], -9, 9) if d.chance(.5) else None
    given = d.integers(axes, d.type("Tind")) \
        if axes != list(range(rank)) or (d.version >= 18 and d.chance(.2)) \
        else None
    return node(d, [x, d.integers(low), value, given], mode=mode)


def gather(d):
    shape = d.shape(min_rank=1, max_rank=4, empty=0, largest=500)
    axis = d.axis(len(shape))
    x = d.tensor(d.type(), shape)
    at = places(d, shape[axis], d.shape(max_rank=3, largest=20), d.type("Tind"),
                d.version >= 11)
    return node(d, [x, at], axis=d.pick(None, axis) if axis == 0 else axis)


def gather_elements(d):
    shape = d.shape(min_rank=1, max_rank=4, empty=0, largest=500)
    axis = d.axis(len(shape))
    to = [d.integer(1, n) for n in shape]
    to[axis] = 0 if d.chance(.03) else d.size()
    x = d.tensor(d.type(), shape)
    return node(d, [x, places(d, shape[axis], to, d.type("Tind"))],
                axis=d.pick(None, axis) if axis == 0 else axis)


def reduction(d, number):
    if "reduction" not in d.attributes or number in (T.BOOL, T.STRING):
        return None
    if number in COMPLEX:
        return d.pick(None, "none", "add")
    return d.pick(None, "none", "add", "mul",
                  *(("max", "min") if d.version >= 18
                    and number not in COMPLEX else ()))


def scatter_elements(d):
    t = d.type()
    shape = d.shape(min_rank=1, max_rank=4, empty=0, largest=500)
    axis = d.axis(len(shape))
    how = reduction(d, t)
    to = [d.integer(1, n) for n in shape]
    if how in (None, "none"):  # the order of equal ones is not said
        along = np.apply_along_axis(
            lambda row: d.rng.permutation(shape[axis])[:to[axis]], axis,
            np.zeros(to, np.int64))
        along -= (d.rng.random(along.shape) < .3) * shape[axis]
        if d.version < 11:
            along %= shape[axis]
        at = d.given(along, d.type("Tind"))
    else:
        to[axis] = d.size()
        at = places(d, shape[axis], to, d.type("Tind"))
    x = d.tensor(t, shape, special=0)
    updates = d.tensor(t, to, *((-2, 2) if how == "mul" else ()), special=0)
    return d.node([x, at, updates], reduction=how,
                  spread="exact" if how in (None, "none", "max", "min")
                  else "sum", axis=d.pick(None, axis) if axis == 0 else axis)


def indices(d, array):
    """The size of the last dim decides the rank of the result."""
    return d.given(array, static=(-1,))


def tuples(d, shape, length, batch, rows, distinct=False):
    limits = shape[batch:batch + length]
    if distinct:
        count, total = int(np.prod(rows)), int(np.prod(limits))
        flat = d.rng.permutation(total)[:count].reshape(rows)
        parts = np.stack(np.unravel_index(flat, limits), -1) \
            if length else np.zeros(rows + [0], np.int64)
        return parts - (d.rng.random(parts.shape) < .3) * np.array(limits)
    if not length:
        return np.zeros(rows + [0], np.int64)
    return np.stack([d.rng.integers(-n, n, rows) for n in limits], -1)


def gather_nd(d):
    shape = d.shape(min_rank=1, max_rank=4, empty=0, largest=500)
    batch = d.integer(0, len(shape) - 1) if d.version >= 12 and d.chance(.4) \
        else 0
    length = d.integer(1, len(shape) - batch)
    rows = shape[:batch] + d.shape(max_rank=2, empty=.03, largest=20)
    at = tuples(d, shape, length, batch, rows)
    if d.version < 11:
        at = np.abs(at) % np.array(shape[:length])
    return node(d, [d.tensor(d.type(), shape), indices(d, at)],
                batch_dims=batch or None)


def scatter_nd(d):
    t = d.type()
    shape = d.shape(min_rank=1, max_rank=4, empty=0, largest=500)
    length = d.integer(1, len(shape))
    how = reduction(d, t)
    rows = d.shape(max_rank=2, empty=.03, largest=20)
    single = how in (None, "none")
    if single:
        total = int(np.prod(shape[:length]))
        while int(np.prod(rows)) > total:
            rows = [max(1, n // 2) for n in rows]
    at = tuples(d, shape, length, 0, rows, distinct=single)
    x = d.tensor(t, shape, special=0)
    updates = d.tensor(t, rows + shape[length:],
                       *((-2, 2) if how == "mul" else ()), special=0)
    return d.node([x, indices(d, at), updates], reduction=how,
                  spread="exact" if how not in ("add", "mul") else "sum")


def tensor_scatter(d):
    t = d.type()
    n, h, length, width = d.integer(1, 3), d.integer(1, 3), d.integer(2, 9), \
        d.integer(1, 5)
    steps = d.integer(1, length)
    shape, part = d.pick(([n, length, width], [n, steps, width]),
                         ([n, h, length, width], [n, h, steps, width]))
    axis = len(shape) - 2
    mode = d.pick(None, "linear", "circular")
    top = length - 1 if mode == "circular" else length - steps
    at = d.given(d.rng.integers(0, top + 1, n)) if d.chance(.8) else None
    return node(d, [d.tensor(t, shape), d.tensor(t, part), at], mode=mode,
                axis=d.pick(None, axis - len(shape)))


def one_hot(d):
    shape = d.shape(max_rank=4, largest=200)
    depth = d.integer(1, 9)
    t, u, v = d.type("T1"), d.type("T2"), d.type("T3")
    x = d.tensor(t, shape, -depth - 2 if d.version >= 11 else 0,
                 depth + 2 if d.version >= 11 else depth - 1)
    if t in FLOATS:
        x.array = np.round(x.array.astype(np.float32)).astype(x.array.dtype)
    axis = d.pick(None, d.axis(len(shape) + 1))

    count = d.given(np.array(depth if d.chance(.7) else [depth]), u)
    held = d.tensor(v, [2], shape_fixed=True)

    def formula(x, depth, _):
        at = np.expand_dims(x, -1 if axis is None else axis)
        to = [1] * at.ndim
        to[-1 if axis is None else axis] = -1
        n = int(depth.reshape(-1)[0])
        hot = np.where(at < 0, at + n, at) == np.arange(n).reshape(to)
        return np.where(hot, held.array[1], held.array[0])
    return node(d, [x, count, held], wide=False, axis=axis, formula=formula)


def compress(d):
    shape = d.shape(min_rank=1, max_rank=4, empty=.03)
    axis = d.axis(len(shape)) if d.chance(.7) else None
    n = int(np.prod(shape)) if axis is None else shape[axis]
    if d.version < 11 and axis is not None:
        axis %= len(shape)
    condition = d.given(d.rng.random(d.integer(0, n)) < .5)
    return node(d, [d.tensor(d.type(), shape), condition], axis=axis)


def reverse_sequence(d):
    t = d.type()
    shape = d.shape(min_rank=2, max_rank=4, empty=0)
    batch = d.pick(None, 0, 1)
    if batch is None:
        batch_at, time_at = 1, 0
        time = d.pick(None, 0)
    else:
        batch_at, time_at = batch, 1 - batch
        time = time_at
    lengths = d.given(d.rng.integers(1, shape[time_at] + 1, shape[batch_at]))
    return node(d, [d.tensor(t, shape), lengths], batch_axis=batch,
                time_axis=time)


OPS = {
    "Slice": slicing, "Pad": pad, "Gather": gather,
    "GatherElements": gather_elements, "ScatterElements": scatter_elements,
    "Scatter": scatter_elements, "GatherND": gather_nd,
    "ScatterND": scatter_nd, "TensorScatter": tensor_scatter,
    "OneHot": one_hot, "Compress": compress,
    "ReverseSequence": reverse_sequence,
}
