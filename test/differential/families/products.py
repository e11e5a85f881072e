"""Matrix products, and what matrices are asked for."""
import numpy as np

from draw import FLOATS


def matrices(d, largest=2000):
    """Shapes of two operands as numpy.matmul takes them."""
    m, k, n = (0 if d.chance(.02) else d.size() for _ in range(3))
    batch = d.shape(max_rank=3, empty=.02, largest=12)
    a, b = ([1 if d.chance(.2) else s for s in batch] for _ in range(2))
    if d.chance(.4):
        a = a[d.integer(0, len(a)):]
    elif d.chance(.5):
        b = b[d.integer(0, len(b)):]
    a, b = a + [m, k], b + [k, n]
    if d.chance(.1):
        a = [k]
    if d.chance(.1):
        b = [k]
    return a, b


def matmul(d):
    t = d.type()
    a, b = matrices(d)
    return d.node([d.tensor(t, a, special=0), d.tensor(t, b, special=0)],
                  spread="sum")


def matmul_integer(d):
    a, b = matrices(d)
    t, u = d.type("T1"), d.type("T2")
    x, y = d.tensor(t, a, -128, 255), d.tensor(u, b, -128, 255)
    # One number, or one per row of the first and column of the second.
    az = d.tensor(t, [] if len(a) != 2 or d.chance(.6) else [a[-2]], -128, 255) \
        if d.chance(.6) else None
    bz = d.tensor(u, [] if len(b) != 2 or d.chance(.6) else [b[-1]], -128, 255) \
        if d.chance(.6) else None

    def formula(x, y, *zero):
        zero = list(zero)
        if az:
            one = zero.pop(0)
            x = x - (one.reshape(-1, 1) if one.ndim else one)
        return np.matmul(x, y - zero.pop() if bz else y)
    return d.node([x, y, az, bz], formula=formula)


def gemm(d):
    t = d.type()
    m, k, n = (0 if d.chance(.02) else d.size() for _ in range(3))
    ta, tb = d.pick(None, 0, 1), d.pick(None, 0, 1)
    a, b = [k, m] if ta else [m, k], [n, k] if tb else [k, n]
    shape = d.pick([m, n], [n], [1, n], [m, 1], [], [1], [1, 1])
    broadcast = None
    if d.version < 7 and shape != [m, n]:
        # From the right, as today.
        broadcast = 1
    domain = (-9, 9) if t not in FLOATS else ()  # the scales are floats
    c = d.tensor(t, shape, *domain, special=0) \
        if d.version < 11 or d.chance(.7) else None
    whole = t not in FLOATS
    scale = lambda: d.pick(None, 2.0 if whole else d.number(-2, 2))
    alpha, beta = scale(), scale()

    def formula(c, a, b):  # as they are drawn
        a, b = a.T if ta else a, b.T if tb else b
        return np.float32(1 if alpha is None else alpha) * (a @ b) + \
            np.float32(1 if beta is None else beta) * c
    return d.node([d.tensor(t, a, *domain, special=0),
                   d.tensor(t, b, *domain, special=0), c],
                  spread="sum", transA=ta, transB=tb, alpha=alpha,
                  beta=beta, broadcast=broadcast,
                  # onnx forgets beta where nothing is broadcast.
                  formula=formula if d.version < 7 else None)


def einsum(d):
    """Terms over letters, some repeated in a term, with an ellipsis or not."""
    t = d.type()
    letters = "ijklmn"[:d.integer(2, 5)]
    size = {c: d.integer(1, 5) for c in letters}
    more = d.shape(max_rank=2, empty=0, largest=12)
    dots = d.chance(.3)
    terms, shapes, used = [], [], set()
    for _ in range(d.integer(1, 3)):
        term = [d.pick(*letters) for _ in range(d.integer(1, 3))]
        if not d.chance(.25):
            term = list(dict.fromkeys(term))
        shape = [size[c] for c in term]
        text = "".join(term)
        if dots and d.chance(.7):
            at = d.integer(0, len(term))
            own = d.broadcast(more)
            shape[at:at] = own
            text = text[:at] + "..." + text[at:]
        used.update(term)
        terms.append(text)
        shapes.append(shape)
    equation = ",".join(terms)
    if d.chance(.75):
        kept = [c for c in letters if c in used and d.chance(.5)]
        d.rng.shuffle(kept)
        result = "".join(kept)
        if "..." in equation:
            at = d.integer(0, len(result))
            result = result[:at] + "..." + result[at:]
        equation += "->" + result
    if d.chance(.2):
        equation = equation.replace(",", " , ").replace("->", " -> ")
    return d.node([d.tensor(t, s, -2 if t in FLOATS else None,
                            2 if t in FLOATS else None) for s in shapes],
                  spread="sum", equation=equation)


def determinant(d):
    n = d.integer(1, 5)
    batch = d.shape(max_rank=3, largest=20)
    return d.node([d.tensor(d.type(), batch + [n, n], -2, 2)], spread="sum")


OPS = {"MatMul": matmul, "MatMulInteger": matmul_integer, "Gemm": gemm,
       "Einsum": einsum, "Det": determinant}
