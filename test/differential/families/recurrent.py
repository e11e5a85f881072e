"""RNN, GRU, LSTM, and what the standard says of them in numpy: ONNX Runtime has
neither all types nor layout 1, and onnx's evaluator little else."""
import numpy as np

from draw import T

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
# Functions of a cell, and how many of its results each kind has.
FUNCTIONS = {"Tanh": (), "Sigmoid": (), "Relu": (), "Softsign": (),
             "Softplus": (), "HardSigmoid": ("alpha", "beta"),
             "Elu": ("alpha",), "LeakyRelu": ("alpha",),
             "ThresholdedRelu": ("alpha",), "ScaledTanh": ("alpha", "beta"),
             "Affine": ("alpha", "beta")}


def function(name, alpha, beta):
    return {
        "Tanh": np.tanh, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "Relu": lambda x: np.maximum(x, 0),
        "Softsign": lambda x: x / (1 + np.abs(x)),
        "Softplus": lambda x: np.logaddexp(0, x),
        "HardSigmoid": lambda x: np.clip(alpha * x + beta, 0, 1),
        "Elu": lambda x: np.where(x < 0, alpha * np.expm1(x), x),
        "LeakyRelu": lambda x: np.where(x < 0, alpha * x, x),
        "ThresholdedRelu": lambda x: np.where(x > alpha, x, 0),
        "ScaledTanh": lambda x: alpha * np.tanh(beta * x),
        "Affine": lambda x: alpha * x + beta}[name]


class Cell:
    """One direction. clip bounds what goes into an activation."""

    def __init__(self, op, w, r, b, p, functions, clip, linear, coupled):
        self.op, self.w, self.r, self.linear = op, w, r, linear
        self.hidden, self.coupled = r.shape[-1], coupled
        self.wb, self.rb = np.split(b, 2)
        self.p = np.split(p, 3) if p is not None else [0, 0, 0]
        bound = (lambda x: np.clip(x, -clip, clip)) if clip else lambda x: x
        # Not what goes into h: the cell has been bounded already.
        self.f, self.g, self.h = [
            (lambda x, f=f: f(bound(x))) for f in functions[:2]] + \
            [None] * (2 - len(functions)) + (functions[2:] or [None])

    def step(self, x, h, c):
        n = self.hidden
        a = x @ self.w.T + self.wb
        if self.op == "RNN":
            return self.f(a + h @ self.r.T + self.rb), c
        if self.op == "GRU":
            z = self.f((a + h @ self.r.T + self.rb)[:, :n])
            r = self.f((a + h @ self.r.T + self.rb)[:, n:2 * n])
            last, bias = self.r[2 * n:], self.rb[2 * n:]
            inner = r * (h @ last.T + bias) if self.linear else \
                (r * h) @ last.T + bias
            return (1 - z) * self.g(a[:, 2 * n:] + inner) + z * h, c
        i, o, f, g = np.split(a + h @ self.r.T + self.rb, 4, 1)
        i = self.f(i + self.p[0] * c)
        f = 1 - i if self.coupled else self.f(f + self.p[2] * c)
        c = f * c + i * self.g(g)
        return self.f(o + self.p[1] * c) * self.h(c), c


def formula(op, hidden, layout, direction, names, alphas, betas, clip, linear,
            coupled, present, outputs):
    """Results from the inputs that are `present`."""

    def run(*given):
        given = iter(given)
        x, w, r, b, lengths, h0, c0, p = [next(given) if there else None
                                          for there in present]
        if layout:
            x, h0, c0 = [v if v is None else v.swapaxes(0, 1)
                         for v in (x, h0, c0)]
        length, batch, _ = x.shape
        ways, gates = w.shape[0], GATES[op]
        each = len(names) // ways
        functions, a, b_ = [], iter(alphas or ()), iter(betas or ())
        for n in names:
            need = FUNCTIONS[n]
            functions.append(function(n, next(a) if "alpha" in need else None,
                                      next(b_) if "beta" in need else None))
        zeros = np.zeros((ways, batch, hidden))
        h0, c0 = (zeros if v is None else v for v in (h0, c0))
        y, h_last, c_last = np.zeros((length, ways, batch, hidden)), [], []
        ends = np.full(batch, length) if lengths is None else \
            lengths.astype(int)
        for k in range(ways):
            cell = Cell(op, w[k], r[k], np.zeros(2 * gates * hidden)
                        if b is None else b[k], None if p is None else p[k],
                        functions[k * each:(k + 1) * each], clip, linear,
                        coupled)
            h, c = h0[k], c0[k]
            back = direction == "reverse" or k == 1
            for t in reversed(range(length)) if back else range(length):
                now, cell_now = cell.step(x[t], h, c)
                live = (t < ends)[:, None]
                h, c = np.where(live, now, h), np.where(live, cell_now, c)
                y[t, k] = np.where(live, now, 0)
            h_last.append(h)
            c_last.append(c)
        results = [y, np.stack(h_last), np.stack(c_last)]
        if layout:
            results = [y.transpose(2, 0, 1, 3)] + [v.swapaxes(0, 1)
                                                   for v in results[1:]]
        return [v for v, wanted in zip(results, outputs) if wanted]
    return run


DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"),
            "LSTM": ("Sigmoid", "Tanh", "Tanh")}


def activations(d, count):
    """Names, and alphas and betas of those that take them."""
    names = [d.pick(*FUNCTIONS) for _ in range(count)]
    alphas = [d.number(.2, 1.2) for n in names if "alpha" in FUNCTIONS[n]]
    betas = [d.number(.2, 1) for n in names if "beta" in FUNCTIONS[n]]
    return names, alphas or None, betas or None


def recurrent(d):
    t, gates = d.type(), GATES[d.op]
    length, batch, size = d.integer(1, 5), d.integer(1, 3), d.integer(1, 6)
    hidden = d.pick(1, 2, 3, 5, 8, 16)
    direction = d.pick(None, "forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    layout = 1 if "layout" in d.attributes and d.chance(.3) else None
    turn = (lambda a, b, *rest: [b, a, *rest]) if layout else \
        (lambda a, b, *rest: [a, b, *rest])
    small = dict(low=-.7, high=.7)
    x = d.tensor(t, turn(length, batch, size), -2, 2)
    w = d.tensor(t, [ways, gates * hidden, size], **small)
    r = d.tensor(t, [ways, gates * hidden, hidden], **small)
    b = d.tensor(t, [ways, 2 * gates * hidden], **small) if d.chance(.6) \
        else None
    lengths = d.given(d.rng.integers(1, length + 1, batch), T.INT32) \
        if d.chance(.4) else None
    state = lambda: d.tensor(t, turn(ways, batch, hidden), **small) \
        if d.chance(.5) else None
    inputs = [x, w, r, b, lengths, state()]
    count = 2
    if d.op == "LSTM":
        inputs += [state(), d.tensor(t, [ways, 3 * hidden], **small)
                   if d.chance(.4) else None]
        count = 3
    outputs = [d.chance(.7) for _ in range(count)]
    outputs[0] = outputs[0] or not any(outputs)
    given, names, alphas, betas = {}, DEFAULTS[d.op] * ways, None, None
    if d.chance(.4):
        names, alphas, betas = activations(
            d, ways * len(DEFAULTS[d.op]))
        given = dict(activations=names, activation_alpha=alphas,
                     activation_beta=betas)
    if d.version < 7 and "output_sequence" in d.attributes:
        given["output_sequence"] = 1
    clip = d.pick(None, None, d.number(.3, 2))
    linear = d.pick(None, 0, 1) if d.op == "GRU" and d.version > 1 else None
    coupled = d.pick(None, None, 1) if d.op == "LSTM" else None
    present = [v is not None for v in inputs] + [False] * (8 - len(inputs))
    return d.node(inputs, outputs=outputs, spread="sum", hidden_size=hidden,
                  direction=direction, layout=layout, clip=clip,
                  linear_before_reset=linear, input_forget=coupled,
                  formula=formula(d.op, hidden, layout, direction, names,
                                  alphas, betas, clip, linear, coupled,
                                  present, outputs), **given)


OPS = dict.fromkeys(GATES, recurrent)
