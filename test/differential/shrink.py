"""The smallest case that still differs: a reproducer to read."""
import copy

import numpy as np

from draw import leaves, mapped

TRIES = 30


def _without_attributes(case):
    for i in range(len(case.nodes[0].attribute)):
        c = copy.deepcopy(case)
        del c.nodes[0].attribute[i]
        yield c


def _without_last_input(case):
    node = case.nodes[0]
    if len(case.nodes) == 1 and len(node.input) > 1:
        c = copy.deepcopy(case)
        name = c.nodes[0].input.pop()
        c.values = [v for v in c.values if v.name != name]
        yield c


def _static(case):
    plain = [v for v in case.values if not v.of]
    if any(isinstance(d, str) for v in plain for d in v.dims or []):
        c = copy.deepcopy(case)
        for v in c.values:
            if v.dims is not None and not v.of:
                v.dims = list(v.array.shape)
        yield c


def _fewer_items(case):
    for i, v in enumerate(case.values):
        for k in range(len(v.array) if isinstance(v.array, list) else 0):
            c = copy.deepcopy(case)
            del c.values[i].array[k]
            yield c


def _no_constants(case):
    for i, v in enumerate(case.values):
        if v.dims is None:
            c = copy.deepcopy(case)
            c.values[i].dims = list(v.array.shape)
            yield c


def _smaller_sizes(case):
    """One size, wherever it occurs, becomes a smaller one."""
    sizes = sorted({n for v in case.values for a in leaves(v.array)
                    for n in a.shape if n > 1}, reverse=True)

    def cut(a, size, to):
        part = tuple(slice(0, to if n == size else n) for n in a.shape)
        return np.ascontiguousarray(a[part]).reshape(a[part].shape)
    for size in sizes:
        for to in {1, 2, size // 2}:
            if to >= size:
                continue
            c = copy.deepcopy(case)
            for v in c.values:
                v.array = mapped(v.array, lambda a: cut(a, size, to))
                if isinstance(v.dims, list):
                    v.dims = [to if d == size else d for d in v.dims]
            yield c


STEPS = (_static, _no_constants, _without_attributes, _without_last_input,
         _fewer_items, _smaller_sizes)


def smaller(case, fails):
    """`fails(case)`: None, or what the results should be, as a pair."""
    found = fails(case) or (None, None)
    tries, going = TRIES if found[0] else 0, True
    while going and tries > 0:
        going = False
        for step in STEPS:
            for candidate in step(case):
                tries -= 1
                if tries < 0:
                    break
                try:
                    again = fails(candidate)
                except Exception:  # not a valid case any more
                    continue
                if again:
                    case, found, going = candidate, again, True
                    break
    return case, *found
