"""Sequences and optionals."""
import numpy as np
from onnx import helper

from draw import T, mapped
from families.control import Body

EXACT = dict(spread="exact", wide=False)


def tensor_type(number, shape=None):
    return helper.make_tensor_type_proto(number, shape)


def items(d, t, count, min_rank=0, alike=None):
    """Arrays: of one shape, of one rank, or (not `alike`) of any."""
    how = d.pick("shape", "rank", "any") if alike is None else alike
    shape = d.shape(min_rank=min_rank, max_rank=3, largest=60)
    shapes = []
    for _ in range(count):
        if how == "rank":
            shape = [d.size() if d.chance(.5) else n for n in shape]
        elif how == "any":
            shape = d.shape(min_rank=min_rank, max_rank=3, largest=60)
        shapes.append(shape)
    return [d.array(t, tuple(s)) for s in shapes]


def sequence(d, t, least=0, **options):
    """A sequence, of which the model may say nothing but the type."""
    found = items(d, t, d.integer(least, 5), **options)
    return d.held(found, t, "sequence", free=d.chance(.15))


def undeclared(v):
    """Nobody can know the rank of an item."""
    return v.free or len({a.ndim for a in v.array}) > 1


def position(d, low, high):
    return d.given(np.array(d.integer(low, high)),
                   d.type("I", (T.INT32, T.INT64)))


def at(d):
    t = d.type("S")
    v = sequence(d, t, least=1)
    n = len(v.array)
    where = position(d, -n, n - 1)
    item = v.array[int(where.array)]
    return d.node([v, where], declared=[
        tensor_type(t, [None] * item.ndim)] if undeclared(v) else [], **EXACT)


def construct(d):
    t = d.type("T")
    some = items(d, t, d.integer(1, 6))
    return d.node([d.given(a, t) for a in some], **EXACT)


def empty(d):
    return d.node([], dtype=d.pick(None, d.type("S")), **EXACT)


def insert(d):
    t = d.type("S")
    v = sequence(d, t)
    n = len(v.array)
    shape = d.pick(*[a.shape for a in v.array], d.shape(max_rank=3, largest=60))
    x = d.tensor(t, shape)
    where = position(d, -n, n) if d.chance(.8) else None

    def inserted(items, item, k=None):  # onnx puts the last first
        k = len(items) if k is None else int(k)
        k += len(items) if k < 0 else 0
        return [items[:k] + [item] + items[k:]]
    return d.node([v, x, where], known=inserted, **EXACT)


def erase(d):
    v = sequence(d, d.type("S"), least=1)
    n = len(v.array)
    return d.node([v, position(d, -n, n - 1) if d.chance(.8) else None], **EXACT)


def length(d):
    return d.node([sequence(d, d.type("S"))], **EXACT)


def split(d):
    t, shape = d.type("T"), d.shape(min_rank=1, empty=.02)
    axis = d.axis(len(shape))
    how = d.pick("none", "one", "list")
    parts = None
    if how == "one":
        parts = d.given(np.array(d.integer(1, shape[axis] + 2)),
                        d.type("I", (T.INT32, T.INT64)))
    elif how == "list":
        sizes = [d.integer(0 if d.chance(.2) else 1, 4)
                 for _ in range(d.integer(1, 4))]
        shape[axis] = sum(sizes)
        parts = d.given(np.array(sizes), d.type("I", (T.INT32, T.INT64)))
    x = d.tensor(t, shape)
    return d.node([x, parts], axis=d.pick(None, axis) if axis == 0 else axis,
                  keepdims=d.pick(None, 0, 1), **EXACT)


def concat(d):
    t, new = d.type("S"), d.chance(.4)
    found = items(d, t, d.integer(1, 5), min_rank=0 if new else 1, alike="shape")
    rank = found[0].ndim
    axis = d.integer(-rank - 1, rank) if new else d.axis(rank)
    if not new:  # sizes there may differ
        shape = list(found[0].shape)
        for k in range(len(found)):
            shape[axis] = d.size() if d.chance(.5) else shape[axis]
            found[k] = d.array(t, tuple(shape))
    v = d.held(found, t, "sequence", free=d.chance(.15))
    return d.node([v], axis=axis, new_axis=1 if new else d.pick(None, 0),
                  declared=[tensor_type(t, [None] * (rank + new))]
                  if v.free else [], **EXACT)


def map_of(d):
    """A body of some nodes over an item of each sequence and other tensors."""
    t = d.pick(T.FLOAT, T.DOUBLE)
    count = d.integer(0, 4)
    first = items(d, t, count, alike=d.pick("shape", "rank"))
    more = [mapped(first, lambda a: d.array(t, a.shape, -2, 2))
            for _ in range(d.integer(0, 2))]
    rank = first[0].ndim if first else 1
    values = [d.held(held, t, "sequence", rank=rank) for held in [first] + more]
    if d.chance(.4):  # the same for every item
        values.append(d.tensor(t, [1] * rank, -2, 2))
    body = Body(d)
    names = [d.name("item") for _ in values]
    results = [body.mix(names, d.integer(0, 3)) for _ in range(d.integer(1, 2))]
    shapes = d.chance(.2)
    if shapes:
        results.append(body.add("Shape", names[0]))
    types = [t] * (len(results) - shapes) + [T.INT64] * shapes
    graph = body.graph(
        [(n, t, [None] * rank) for n in names],
        [(r, u, [None] * rank if u == t else [rank])
         for r, u in zip(results, types)])
    outputs = [d.name("out") for _ in results]
    node = helper.make_node(d.op, [v.name for v in values], outputs,
                            name=f"k{d.index}_{d.op}", body=graph)
    return d.case([node], values, outputs, spread="sum", wide=False)


def wrapped(d, t, present=None):
    """An optional: of a tensor or a sequence, or of nothing."""
    there = d.chance(.75) if present is None else present
    if d.chance(.4):
        held = items(d, t, d.integer(0, 4)) if there else None
        return d.held(held, t, "optional", "sequence", free=d.chance(.15))
    held = d.array(t, tuple(d.shape(max_rank=3))) if there else None
    return d.held(held, t, "optional", free=d.chance(.15))


def optional(d):
    t = d.type("V")
    how = d.pick("tensor", "sequence", "nothing")  # onnx makes a list of it
    if how == "nothing":
        kind = tensor_type(t, d.pick(None, d.shape(max_rank=3)))
        if d.chance(.4):
            kind = helper.make_sequence_type_proto(kind)
        return d.node([], type=kind, known=lambda: [None], **EXACT)
    v = d.tensor(t, d.shape(max_rank=3)) if how == "tensor" else sequence(d, t)
    return d.node([v], known=lambda x: [x], **EXACT)


def plain(d, t):
    """From 18 on what is no optional may be asked too."""
    return d.tensor(t, d.shape(max_rank=3)) if d.chance(.5) else sequence(d, t)


def has_element(d):
    t = d.type("O")
    if d.version >= 18 and d.chance(.15):
        return d.node([], **EXACT)
    if d.version >= 18 and d.chance(.3):
        return d.node([plain(d, t)], **EXACT)
    return d.node([wrapped(d, t)], **EXACT)


def get_element(d):
    t = d.type("O")
    if d.version >= 18 and d.chance(.25):
        return d.node([plain(d, t)], **EXACT)
    v = wrapped(d, t, present=True)
    if v.of == ("optional",) and v.free:
        return d.node([v], declared=[tensor_type(t, [None] * v.array.ndim)],
                      **EXACT)
    return d.node([v], **EXACT)


OPS = {
    "SequenceAt": at, "SequenceConstruct": construct, "SequenceEmpty": empty,
    "SequenceInsert": insert, "SequenceErase": erase, "SequenceLength": length,
    "SplitToSequence": split, "ConcatFromSequence": concat,
    "SequenceMap": map_of, "Optional": optional,
    "OptionalHasElement": has_element, "OptionalGetElement": get_element,
}
