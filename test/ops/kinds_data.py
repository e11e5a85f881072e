"""Kinds of operators that move, scatter or select, each as a whole: every
combination of what makes it hard, against the standard written out in numpy.
Each model is compiled with sizes and again with symbols."""
import itertools
import sys

import numpy as np
import onnx
from batch import Batch
from harness import Family

f = Family("kinds_data")
MIN, MAX = -2**63, 2**63 - 1
i64 = lambda *v: np.array(v, np.int64)


def ramp(*shape, dtype=np.float32):
    """No two elements are equal."""
    return np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape).astype(
        dtype)


def sliced(n, start, end, step):
    """Indices into a dim of n, by the words of the standard."""
    low, high = (0, n) if step > 0 else (0, n - 1)
    start = min(max(start + n if start < 0 else start, low), high)
    low, high = (0, n) if step > 0 else (-1, n - 1)
    end = min(max(end + n if end < 0 else end, low), high)
    return [i for i in range(start, end, step)]


def slices():
    """Every kind of bound with every step; sizes 0, 1, 5; all constant, or all
    of the run; of one and of two axes at once."""
    ends = MIN, MIN + 1, -9, -5, -4, -1, 0, 1, 4, 5, 9, MAX - 1, MAX
    steps = 1, 3, MAX, -1, -2, -MAX, MIN
    x = {n: ramp(n, 2) for n in (0, 1, 5)}
    for step in steps:
        for n in x:
            b = Batch(f, f"Slice of {n} by {step}")
            for start, end in itertools.product(ends, ends):
                # The last of nothing, [-1:], may end the run.
                if n == 0 and start == -1 and end >= MAX - 1:
                    continue
                b.add("Slice", [x[n], i64(start), i64(end), i64(0), i64(step)],
                      [x[n][sliced(n, start, end, step)]],
                      constants=[1, 2, 3, 4])
            b.run()
    of_run = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["": 22]>
        g (float[n, m] x, int64[1] s, int64[1] e, int64[1] by) => (y) {
          a = Constant<value_ints = [0]>()
          y = Slice(x, s, e, a, by)
        }""")
    sets = list(itertools.product(x, ends, ends, steps))
    f.runs("Slice with bounds of the run", of_run,
           [dict(x=x[n], s=i64(s), e=i64(e), by=i64(t))
            for n, s, e, t in sets],
           want=[[x[n][sliced(n, s, e, t)]] for n, s, e, t in sets])
    b = Batch(f, "Slice of two axes")
    y = ramp(4, 3, 5)
    for (s, e, t), (u, v, w) in itertools.product(
            [(0, 4, 1), (MAX, MIN, -2), (-1, -9, -1), (3, 1, 1), (-3, MAX, 2)],
            [(0, MAX, 2), (-1, MIN, -1), (5, 0, -3), (2, 2, 1)]):
        rows, columns = sliced(4, s, e, t), sliced(5, u, v, w)
        for axes in (0, 2), (-3, -1), (2, 0), (-1, 0):
            swap = axes[0] in (2, -1)
            pick = lambda a, b: i64(b, a) if swap else i64(a, b)
            b.add("Slice", [y, pick(s, u), pick(e, v), i64(*axes), pick(t, w)],
                  [y[rows][:, :, columns]], constants=[1, 2, 3, 4])
    b.run()


def padded(x, low, high, mode, value=0):
    """Cut first where pads are negative."""
    part = tuple(slice(max(-a, 0), n - max(-b, 0))
                 for a, b, n in zip(low, high, x.shape))
    width = [(max(a, 0), max(b, 0)) for a, b in zip(low, high)]
    more = {"constant_values": value} if mode == "constant" else {}
    return np.pad(x[part], width, mode, **more)


def pads():
    """All modes; both sides cut, kept or filled; subsets of axes in any order;
    as far as a reflection goes, and further where it may repeat."""
    x, far = ramp(5, 4), {"constant": 9, "edge": 9, "reflect": 2, "wrap": 3}
    for mode, most in far.items():
        numpy_mode = mode
        b = Batch(f, f"Pad {mode}")
        for low, high in itertools.product((-2, -1, 0, 1, most), repeat=2):
            if mode in ("reflect", "wrap") and \
                    5 - max(-low, 0) - max(-high, 0) <= max(low, high) - (
                        mode == "wrap"):
                continue
            for axes in [0], [-2], [0, 1], [1, 0], [-1, 0]:
                at = [a % 2 for a in axes]
                lows, highs = [0, 0], [0, 0]
                lows[0], highs[0] = low, high
                if len(at) > 1:
                    lows[1], highs[1] = 1, -1
                given = [lows[a] for a in at] + [highs[a] for a in at]
                value = np.float32(7) if mode == "constant" else None
                b.add("Pad", [x, i64(*given), value, i64(*axes)],
                      [padded(x, lows, highs, numpy_mode, 7)],
                      constants=[1, 2, 3], mode=mode)
            lows, highs = [low, 1], [high, 0]
            b.add("Pad", [x, i64(*lows, *highs)],
                  [padded(x, lows, highs, numpy_mode)], constants=[1],
                  mode=mode)
        b.run()
        b = Batch(f, f"Pad {mode}, pads of the run", fixed=[1])
        for low, high in (0, 1), (2, 2), (-1, 1), (-2, 0), (1, -1):
            b.add("Pad", [x, i64(low, 0, high, 1)],
                  [padded(x, [low, 0], [high, 1], mode)], mode=mode)
        b.run()


REDUCE = {"none": lambda old, new: new, "add": lambda old, new: old + new,
          "mul": lambda old, new: old * new, "max": max, "min": min}


def scatters():
    """Every reduction with indices that occur often, also negative ones, for
    every axis and length of tuples; types of all kinds of arithmetic."""
    for t in np.float32, np.float64, np.int64, np.uint8, np.float16:
        b = Batch(f, f"scatter of {np.dtype(t)}", rtol=1e-5)
        make = lambda *s: f.integers(0 if t == np.uint8 else -3, 4, *s).astype(t)
        for how in REDUCE:
            unique = how == "none"
            for axis in range(-3, 3):
                x, count = make(3, 4, 5), [2, 3, 2]
                n = x.shape[axis]
                count[axis] = n if unique else 9
                at = f.integers(-n, n, *count)
                if unique:
                    at = np.argsort(f.random.random(count), axis) - n * (
                        f.random.random(count) < .3)
                new, want = make(*count), x.copy()
                for where in np.ndindex(*count):
                    to = list(where)
                    to[axis] = at[where] % n
                    with np.errstate(over="ignore"):
                        want[tuple(to)] = REDUCE[how](want[tuple(to)],
                                                      new[where])
                b.add("ScatterElements", [x, at, new], [want], reduction=how,
                      axis=axis)
            for length in 1, 2, 3:
                x = make(2, 3, 4)
                total = int(np.prod(x.shape[:length]))
                rows = f.random.permutation(total)[:max(1, total // 2)] \
                    if unique else f.integers(0, total, 4 * total)
                at = np.stack(np.unravel_index(rows, x.shape[:length]), -1)
                at = at - (f.random.random(at.shape) < .3) * np.array(
                    x.shape[:length])
                new, want = make(len(rows), *x.shape[length:]), x.copy()
                for row, update in zip(at, new):
                    old = want[tuple(row)]
                    combine = np.vectorize(REDUCE[how], otypes=[t])
                    with np.errstate(over="ignore"):
                        want[tuple(row)] = combine(old, update)
                b.add("ScatterND", [x, at, new], [want], reduction=how,
                      fixed=[1])
        b.run()


def cumulative():
    """Sum and product: every axis, exclusive and reverse, integers too."""
    for op, what in ("CumSum", np.cumsum), ("CumProd", np.cumprod):
        for t in np.float32, np.float64, np.int32, np.int64:
            b = Batch(f, f"{op} {np.dtype(t)}", opset=26, rtol=1e-5)
            for shape in (7,), (3, 5), (2, 3, 4), (2, 0, 3), (1, 1):
                x = f.integers(1, 4, *shape).astype(t)
                for axis, exclusive, reverse, constant in itertools.product(
                        range(-len(shape), len(shape)), (0, 1), (0, 1), (0, 1)):
                    v = np.flip(x, axis) if reverse else x
                    want = what(v, axis, dtype=t)
                    if exclusive and x.size:
                        one = np.full_like(np.take(v, [0], axis),
                                           op == "CumProd")
                        want = np.concatenate([one, np.take(
                            want, range(v.shape[axis] - 1), axis)], axis)
                    want = np.flip(want, axis) if reverse else want
                    number = np.int32 if axis % 2 else np.int64
                    b.add(op, [x, np.array(axis, number)], [want],
                          exclusive=exclusive, reverse=reverse,
                          constants=[1] * constant)
            b.run()


def einsums():
    """Ellipses on every side, also of several ranks, and indices that occur
    more than once in a term; against numpy's own."""
    sizes = dict(zip("abcdij", (2, 3, 4, 5, 3, 4)))
    b = Batch(f, "Einsum", rtol=1e-4)
    for equation, ranks in (
            ("...ii->...i", [2]), ("...ii->...", [1]), ("ii...->i...", [1]),
            ("i...i->...i", [2]), ("i...i->...", [0]), ("iijj->ij", [0]),
            ("iji->j", [0]), ("iii->i", [0]), ("iji,jj->ij", [0, 0]),
            ("...ij,...jk->...ik", [2, 2]), ("...ij,...jk->...ik", [1, 2]),
            ("...ij,jk->...ik", [2, 0]), ("ij,...jk->...ik", [0, 2]),
            ("...i,...i->...", [2, 2]), ("i...,i...->...", [1, 2]),
            ("a...b,b...c->a...c", [1, 1]), ("...a,...b->...ab", [2, 1]),
            ("...->...", [3]), ("...a->a...", [2]), ("a...->...", [2]),
            ("...aab,...bc->...ac", [1, 0]), ("...a,a...,...->...a", [1, 1, 1]),
            ("...ij,...ij", [1, 1]), ("...ba", [1]), ("...ii", [1])):
        inputs = []
        for term, rank in zip(equation.split("->")[0].split(","), ranks):
            front = [6, 7, 2][3 - rank:] if rank else []
            shape, rest = [], term
            while rest:
                if rest.startswith("..."):
                    shape, rest = shape + front, rest[3:]
                else:
                    shape, rest = shape + [sizes.get(rest[0], 5)], rest[1:]
            inputs.append(f.normal(*shape))
        b.add("Einsum", inputs, [np.einsum(equation, *inputs)],
              equation=equation)
        if len(ranks) > 1 and ranks[0] and ranks[1]:
            at = equation.index("...")  # of size 1 in the first, which must
            # be known when compiling
            ones = inputs[0].take([0], at)
            b.add("Einsum", [ones] + inputs[1:],
                  [np.einsum(equation, ones, *inputs[1:])], equation=equation,
                  fixed=[0])
    b.run()


def selected(boxes, scores, most, overlap, least, centered):
    """NonMaxSuppression, box by box."""
    def corners(box):
        if centered:
            x, y, w, h = box
            return y - h / 2, x - w / 2, y + h / 2, x + w / 2
        y1, x1, y2, x2 = box
        return min(y1, y2), min(x1, x2), max(y1, y2), max(x1, x2)

    def shared(a, b):
        (a0, a1, a2, a3), (b0, b1, b2, b3) = corners(a), corners(b)
        both = max(min(a2, b2) - max(a0, b0), 0) * max(
            min(a3, b3) - max(a1, b1), 0)
        union = (a2 - a0) * (a3 - a1) + (b2 - b0) * (b3 - b1) - both
        return both / union if union > 0 else 0
    found = []
    for n, c in np.ndindex(scores.shape[:2]):
        kept = []
        order = sorted(range(scores.shape[2]), key=lambda i: -scores[n, c, i])
        for i in order:
            if len(kept) < most and (least is None or scores[n, c, i] > least) \
                    and all(shared(boxes[n, i], boxes[n, k]) <= overlap
                            for k in kept):
                kept.append(i)
        found += [[n, c, k] for k in kept]
    return np.array(found, np.int64).reshape(-1, 3)


def suppressions():
    """Batches and classes; corners in all four orders in one list; thresholds
    given or not; none, some and all that fit."""
    b = Batch(f, "NonMaxSuppression", fixed=[2, 3, 4])
    for batch, classes, count in (1, 1, 30), (3, 2, 25), (2, 4, 1), (2, 2, 0):
        a = f.random.uniform(0, 4, (batch, count, 2))
        c = a + f.random.uniform(.5, 2, (batch, count, 2))
        flips = f.random.random((batch, count, 2)) < .5
        given = {0: np.concatenate([np.where(flips, c, a),
                                    np.where(flips, a, c)], -1),
                 1: np.concatenate([(a + c) / 2, c - a], -1)}
        scores = f.random.permutation(batch * classes * count).reshape(
            batch, classes, count).astype(np.float32) / 100
        for centered, most, overlap, least in itertools.product(
                (0, 1), (0, 3, 99), (None, 0., .2, .7), (None, .3)):
            boxes = given[centered].astype(np.float32)
            want = selected(boxes, scores, most, overlap or 0, least, centered)
            inputs = [boxes, scores, i64(most)]
            for v in overlap, least:
                inputs.append(None if v is None else np.array([v], np.float32))
            b.add("NonMaxSuppression", inputs, [want],
                  center_point_box=centered)
        b.add("NonMaxSuppression", [given[0].astype(np.float32), scores],
              [np.zeros((0, 3), np.int64)])
    b.run()


for kind in slices, pads, scatters, cumulative, einsums, suppressions:
    if len(sys.argv) < 2 or kind.__name__ in sys.argv[1:]:
        kind()
f.done()
