"""Gradient of RNN, GRU, LSTM, against central differences in float64 of their
formulas in numpy."""
import numpy as np
from harness import Family, helper

import gradients
from gradients import node

f = Family("gradient_recurrent", rtol=1e-5, atol=1e-6)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
NAMES = ["x", "w", "r", "b", "lens", "h", "c", "p"]


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


ALPHA, BETA = float(np.float32(.7)), float(np.float32(.2))  # as in attributes
FUNCTIONS = {
    "Sigmoid": sigmoid, "Tanh": np.tanh, "Relu": lambda v: np.maximum(v, 0),
    "Affine": lambda v: ALPHA * v + BETA, "LeakyRelu": lambda v: np.where(
        v < 0, ALPHA * v, v), "Elu": lambda v: np.where(
        v < 0, ALPHA * np.expm1(v), v),
    "ScaledTanh": lambda v: ALPHA * np.tanh(BETA * v),
    "HardSigmoid": lambda v: np.clip(ALPHA * v + BETA, 0, 1),
    "ThresholdedRelu": lambda v: np.where(v > ALPHA, v, 0),
    "Softsign": lambda v: v / (1 + np.abs(v)),
    "Softplus": lambda v: np.log1p(np.exp(v))}
DEFAULT = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"],
           "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def layer(op, d, direction="forward", activations=None, clip=0, layout=0,
          linear_before_reset=0, input_forget=0, **_):
    x = d["x"].swapaxes(0, 1) if layout else d["x"]
    time, batch = x.shape[:2]
    n, hidden, g = d["r"].shape[0], d["r"].shape[2], GATES[op]
    names = activations or DEFAULT[op] * n
    per = len(names) // n
    lens = d.get("lens", np.full(batch, time))
    y = np.zeros((time, n, batch, hidden))
    last = np.zeros((n, batch, hidden)), np.zeros((n, batch, hidden))
    state = lambda name: d[name].swapaxes(0, 1) if layout else d[name]
    for k in range(n):
        f1, f2, f3 = (FUNCTIONS[names[min(k * per + i, k * per + per - 1)]]
                      for i in range(3))
        cut = (lambda v: np.clip(v, -clip, clip)) if clip else lambda v: v
        w, r = d["w"][k].reshape(g, hidden, -1), d["r"][k].reshape(
            g, hidden, hidden)
        b = (d["b"][k] if "b" in d else np.zeros(2 * g * hidden)).reshape(
            2, g, hidden)
        p = (d["p"][k] if "p" in d else np.zeros(3 * hidden)).reshape(3, -1)
        for s in range(batch):
            h = state("h")[k, s] if "h" in d else np.zeros(hidden)
            c = state("c")[k, s] if "c" in d else np.zeros(hidden)
            steps = range(lens[s])
            if direction == "reverse" or k == 1:
                steps = reversed(steps)
            for t in steps:
                a = [w[i] @ x[t, s] + b[0, i] for i in range(g)]
                z = [r[i] @ h + b[1, i] for i in range(g)]
                if op == "RNN":
                    h = f1(cut(a[0] + z[0]))
                elif op == "GRU":
                    u, e = f1(cut(a[0] + z[0])), f1(cut(a[1] + z[1]))
                    v = e * z[2] if linear_before_reset else \
                        r[2] @ (e * h) + b[1, 2]
                    h = (1 - u) * f2(cut(a[2] + v)) + u * h
                else:
                    i = f1(cut(a[0] + z[0] + p[0] * c))
                    o = 1 - i if input_forget else \
                        f1(cut(a[2] + z[2] + p[2] * c))
                    c = o * c + i * f2(cut(a[3] + z[3]))
                    h = f1(cut(a[1] + z[1] + p[1] * c)) * f3(c)
                y[t, k, s] = h
            last[0][k, s], last[1][k, s] = h, c
    if layout:
        return [y.transpose(2, 0, 1, 3), *(v.swapaxes(0, 1) for v in last)]
    return [y, *last]


def check(op, T=3, B=2, I=2, H=2, bias=True, lens=None, initial=True,
          peep=False, free=False, outs=(0, 1, 2), **how):
    D = 2 if how.get("direction") == "bidirectional" else 1
    normal = lambda *s: .8 * np.asarray(f.random.standard_normal(s))
    g, layout = GATES[op] * H, how.get("layout", 0)
    state = (B, D, H) if layout else (D, B, H)
    feeds = {"x": normal(B, T, I) if layout else normal(T, B, I),
             "w": normal(D, g, I), "r": normal(D, g, H)}
    if bias:
        feeds["b"] = normal(D, 2 * g)
    if lens:
        feeds["lens"] = np.array(lens, np.int32)
    if initial:
        feeds["h"] = normal(*state)
    if initial and op == "LSTM":
        feeds["c"] = normal(*state)
    if peep:
        feeds["p"] = normal(D, 3 * H)
    end = max(NAMES.index(n) for n in feeds)
    outs = [i for i in outs if i < (3 if op == "LSTM" else 2)]
    made = [f"o{i}" if i in outs else "" for i in range(max(outs) + 1)]
    nodes = [helper.make_node(op, [n if n in feeds else ""
                                   for n in NAMES[:end + 1]], made,
                              hidden_size=H, **how)]
    for i in outs:
        nodes += [node("Sin", [f"o{i}"], f"s{i}"),
                  node("ReduceSumSquare", [f"s{i}"], f"t{i}", keepdims=0)]
    nodes.append(node("Sum", [f"t{i}" for i in outs]))
    gradients.check(
        f, nodes, feeds, [n for n in feeds if n != "lens"], free=free,
        forward=lambda d: sum((np.sin(layer(op, d, **how)[i]) ** 2).sum()
                              for i in outs))


for op in GATES:
    check(op)
    check(op, free=True, direction="bidirectional", lens=[1, 3])
    check(op, direction="reverse", initial=False, bias=False, outs=[0])
    check(op, direction="reverse", lens=[2, 3], free=True, outs=[1])
    check(op, layout=1, direction="bidirectional", clip=.9)
    check(op, free=True, layout=1, lens=[3, 2], T=4)
    # In pairs and triples, every function in some place.
    for names in (["Relu", "Sigmoid", "Elu"], ["LeakyRelu", "Affine", "Tanh"],
                  ["HardSigmoid", "ScaledTanh", "Softsign"],
                  ["Softplus", "ThresholdedRelu", "LeakyRelu"],
                  ["Affine", "Softsign", "Softplus"], ["Elu", "Relu", "Affine"],
                  ["ScaledTanh", "LeakyRelu", "HardSigmoid"]):
        names = names[:len(DEFAULT[op])]
        alpha = {"LeakyRelu", "Elu", "Affine", "ScaledTanh", "HardSigmoid",
                 "ThresholdedRelu"}
        beta = {"Affine", "ScaledTanh", "HardSigmoid"}
        given = {"activation_alpha": [ALPHA] * len(alpha.intersection(names)),
                 "activation_beta": [BETA] * len(beta.intersection(names))}
        check(op, T=2, activations=names, outs=[0],
              **{n: v for n, v in given.items() if v})
check("GRU", linear_before_reset=1)
check("GRU", linear_before_reset=1, bias=False, free=True, direction="reverse")
check("LSTM", peep=True)
check("LSTM", peep=True, free=True, direction="bidirectional", lens=[2, 1])
check("LSTM", input_forget=1, peep=True)
check("LSTM", outs=[2])
f.done()
