"""ONNX Runtime's own operators: mixtures of experts and what is gated."""
import numpy as np

from draw import CONTRIB, T
from families.contrib_quantized import unpacked

DOMAIN = CONTRIB
ACTIVATIONS = "relu", "gelu", "silu", "identity", "swiglu"
sigmoid = lambda x: 1 / (1 + np.exp(-x))


def routing(d):
    """What both have; the sizes of a token and of an expert's inner layer."""
    kind = d.pick(*ACTIVATIONS)
    fused = d.pick(1, 1, 2) if kind == "swiglu" and d.chance(.8) else 0
    third = kind == "swiglu" and not fused or kind == "silu" and d.chance(.3)
    experts = d.integer(1, 5)
    given = dict(k=d.integer(1, experts), activation_type=kind,
                 swiglu_fusion=fused or None,
                 normalize_routing_weights=d.pick(None, 0, 1))
    if kind == "swiglu":
        given.update(activation_alpha=d.pick(None, 1.5),
                     activation_beta=d.pick(None, 1.0),
                     swiglu_limit=d.pick(None, .75))
    return given, experts, 2 if fused else 1, third


def mixture(x, router, weights, biases, k, activation_type, swiglu_fusion=None,
            normalize_routing_weights=0, activation_alpha=None,
            activation_beta=None, swiglu_limit=None, mixing=None):
    """Every token by its own experts."""
    def glu(gate, linear):
        limit = np.inf if swiglu_limit is None else swiglu_limit
        gate, linear = np.minimum(gate, limit), np.clip(linear, -limit, limit)
        alpha = 1 if activation_alpha is None else activation_alpha
        return gate * sigmoid(alpha * gate) * (linear + (activation_beta or 0))

    simple = dict(
        relu=lambda h: np.maximum(h, 0), silu=lambda h: h * sigmoid(h),
        identity=lambda h: h, gelu=lambda h: .5 * h * (1 + np.tanh(
            np.sqrt(2 / np.pi) * (h + .044715 * h ** 3))))

    def expert(e, token):
        layer = lambda i, v: weights[i][e] @ v + (
            0 if biases[i] is None else biases[i][e])
        h = layer(0, token)
        if activation_type != "swiglu":
            h = simple[activation_type](h)
            h = h * layer(2, token) if weights[2] is not None else h
        elif weights[2] is not None:
            h = glu(h, layer(2, token))
        else:
            parts = (h[::2], h[1::2]) if swiglu_fusion == 1 else np.split(h, 2)
            h = glu(*parts)
        return layer(1, h)

    tokens = x.reshape(-1, x.shape[-1])
    p = np.exp(router - router.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    y = np.zeros((len(tokens), weights[1].shape[1]))
    for t, token in enumerate(tokens):
        best = np.argsort(-p[t], kind="stable")[:k]
        count = (p if mixing is None else mixing)[t]
        whole = count[best].sum() if normalize_routing_weights else 1
        for e in best:
            y[t] += count[e] / whole * expert(e, token)
    return y.reshape(x.shape)


def tokens(d, t, hidden, experts):
    count = 0 if d.chance(.03) else d.integer(1, 4)
    shape = d.pick([count], [d.integer(1, 3), count])
    x = d.tensor(t, shape + [hidden], -1, 1)
    return x, d.tensor(t, [int(np.prod(shape)), experts], -3, 3)


def in_order(d, arrays, values):
    """Of arrays in the order in which they were drawn, those of `values`."""
    by_name = dict(zip([v.name for v in d.values], arrays))
    return [by_name[v.name] if v is not None else None for v in values]


def moe(d):
    t = d.type()
    given, experts, wide, third = routing(d)
    hidden, inner = d.pick(4, 8, 16), d.pick(6, 12, 32)
    x, router = tokens(d, t, hidden, experts)
    shapes = [(wide * inner, hidden), (hidden, inner), (inner, hidden)]
    layers = []
    for rows, columns in shapes[:3 if third else 2]:
        layers += [d.tensor(t, [experts, rows, columns], -1, 1),
                   d.tensor(t, [experts, rows], -1, 1) if d.chance(.7) else None]

    def formula(*arrays):
        x_, router_, *full = in_order(d, arrays, [x, router, *layers])
        full += [None] * (6 - len(full))
        return mixture(x_, router_, full[::2], full[1::2], **given)
    return d.node([x, router, *layers], spread="sum", formula=formula, **given)


def quantized_moe(d):
    t = d.type()
    d.types["T1"], d.types["T2"] = T.UINT8, t
    given, experts, wide, third = routing(d)
    hidden, inner = d.pick(16, 32, 64), d.pick(32, 64)
    bits, size = d.pick(4, 4, 8), d.pick(None, 16, 32)
    if size and hidden % size:
        size = 16
    x, router = tokens(d, t, hidden, experts)
    shapes = [(wide * inner, hidden), (hidden, inner), (inner, hidden)]
    shapes = shapes[:3 if third else 2]
    const = dict(constant=d.chance(.6))
    byte = lambda *s: d.tensor(T.UINT8, s, 0, 255, **const)
    layers, zeros, has_zeros = [], [], d.chance(.4)
    for rows, columns in shapes:
        count = columns // size if size else 1
        bias = d.tensor(t, [experts, rows], -1, 1) if d.chance(.6) else None
        scale = [experts, rows] + ([count] if size else [])
        high = .15 if bits == 4 else .01
        layers += [byte(experts, rows, columns * bits // 8),
                   d.tensor(t, scale, high / 10, high, **const), bias]
        shape = (experts, rows, -(-count * bits // 8)) if size else \
            (experts, -(-rows * bits // 8))
        zeros.append(byte(*shape) if has_zeros else None)
    layers += [None] * (9 - len(layers))

    zeros += [None] * (3 - len(zeros))
    mixing = d.tensor(t, router.array.shape, .1, 1) if d.chance(.2) else None

    def formula(*arrays):
        x_, router_, *full, mixing_ = in_order(
            d, arrays, [x, router, *layers, *zeros, mixing])
        weights, biases = [None] * 3, [None] * 3
        for i, (rows, columns) in enumerate(shapes):
            q, scale, biases[i] = full[3 * i:3 * i + 3]
            q = unpacked(q.astype(np.uint8), bits)[..., :columns].astype(float)
            z = float(1 << (bits - 1))
            if has_zeros:
                z = unpacked(full[9 + i].astype(np.uint8), bits).astype(float)
                z = z[..., :scale.shape[-1]]
            times = columns // scale.shape[2] if size else columns
            spread = lambda v: np.repeat(
                v if v.ndim == 3 else v[..., None], times, 2)
            weights[i] = (q - (spread(z) if has_zeros else z)) * spread(scale)
        return mixture(x_, router_, weights, biases, mixing=mixing_, **given)
    return d.node([x, router, *layers, *zeros, mixing], spread="sum", formula=formula,
                  expert_weight_bits=d.pick(None, 4) if bits == 4 else bits,
                  block_size=size, weights_prepacked=0, **given)


def gated_norm(d):
    t, size = d.type(), d.size()
    shape = d.shape(min_rank=1, max_rank=4, largest=600)
    shape[-1] = size * d.pick(1, 1, 2, 3)
    x = d.tensor(t, shape, -4, 4)
    scale = d.tensor(t, [size], -2, 2)
    gate = d.tensor(t, shape, -4, 4)
    name, epsilon = d.pick(None, "silu", "swish", "sigmoid"), d.pick(1e-5, .1)

    def formula(x, scale, gate):
        rows = x.reshape(-1, size)
        y = rows / np.sqrt((rows ** 2).mean(1, keepdims=True) + epsilon) * scale
        factor = sigmoid(gate) * (1 if name == "sigmoid" else gate)
        return y.reshape(x.shape) * factor
    return d.node([x, scale, gate], activation=name, epsilon=epsilon,
                  formula=formula)


def gated_add(d):
    t = d.type()
    shape = d.shape(min_rank=1, largest=600)
    x, y = (d.tensor(t, shape, -4, 4) for _ in range(2))
    if d.chance(.5):
        return d.node([x, y, d.tensor(t, shape[:-1] + [1], -2, 2)],
                      spread="cancel", formula=lambda x, y, gate: x + y * gate)
    wide = d.integer(1, 9)
    gate = d.tensor(t, shape[:-1] + [wide], -1, 1)
    weight = d.tensor(t, [wide, 1], -1, 1)
    return d.node([x, y, gate, weight], spread="sum",
                  formula=lambda x, y, gate, weight:
                  x + y * sigmoid(gate @ weight))


OPS = {"MoE": moe, "QMoE": quantized_moe, "GatedRMSNorm": gated_norm,
       "GatedAdd": gated_add}
