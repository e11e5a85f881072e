"""Mixtures of experts against ONNX Runtime; what its CPU provider lacks, against
the same computation in parts."""
import numpy as np
from harness import Family

f = Family("contrib_experts", rtol=1e-3, atol=2e-4)
n = f.normal
EXPERTS, HIDDEN, INNER, TOKENS = 4, 8, 16, 5


def case(op, inputs, **options):
    f.case(op, inputs, domain="com.microsoft", **options)


def layers(fused=1, third=False):
    w = [n(EXPERTS, fused * INNER, HIDDEN), n(EXPERTS, fused * INNER),
         n(EXPERTS, HIDDEN, INNER), n(EXPERTS, HIDDEN)]
    return w + ([n(EXPERTS, INNER, HIDDEN), n(EXPERTS, INNER)] if third else [])


for kind in "relu", "gelu", "silu", "identity":
    for normalized in 0, 1:
        x = n(1, TOKENS, HIDDEN) if normalized else n(TOKENS, HIDDEN)
        inputs = [x, n(TOKENS, EXPERTS)] + layers()
        if kind == "silu":
            inputs[3] = inputs[5] = None
        case("MoE", inputs, k=1 + normalized, activation_type=kind,
             normalize_routing_weights=normalized, constants=[2, 4])
for more in {}, dict(activation_alpha=1.5, activation_beta=1.0, swiglu_limit=1.0):
    case("MoE", [n(TOKENS, HIDDEN), n(TOKENS, EXPERTS)] + layers(2), k=2,
         activation_type="swiglu", swiglu_fusion=1, dynamic=[1], **more)


def wanted(x, router, w, two):
    p = np.exp(router) / np.exp(router).sum(1, keepdims=True)
    y = np.zeros_like(x)
    for t in range(TOKENS):
        for e in np.argsort(-router[t])[:2]:
            y[t] += p[t, e] * (w[2][e] @ two(e, x[t]) + w[3][e])
    return [y]


swish = lambda h: h / (1 + np.exp(-h))
x, router = n(TOKENS, HIDDEN), n(TOKENS, EXPERTS)
w = layers(2)
first = lambda e, v: w[0][e] @ v + w[1][e]
case("MoE", [x, router] + w, k=2, activation_type="swiglu", swiglu_fusion=2,
     want=wanted(x, router, w, lambda e, v: swish(first(e, v)[:INNER]) *
                 first(e, v)[INNER:]))
w = layers(1, True)
two = lambda e, v: swish(first(e, v)) * (w[4][e] @ v + w[5][e])
for kind in "swiglu", "silu":
    case("MoE", [x, router] + w, k=2, activation_type=kind,
         want=wanted(x, router, w, two))
for bad in dict(activation_type="tanh"), dict(activation_type="swiglu"), \
        dict(k=0), dict(swiglu_limit_after_activation=1):
    f.refused("MoE", [x, router] + layers(), domain="com.microsoft", **bad)


def numbers(packed, bits, count):
    per = 8 // bits
    q = np.stack([packed >> (bits * i) & ((1 << bits) - 1) for i in range(per)], -1)
    return q.reshape(*packed.shape[:-1], -1)[..., :count].astype(np.float32)


# Weights of integers, a scale for each row or block: as MoE with their values.
u8 = lambda *s: f.integers(0, 256, *s).astype(np.uint8)
HIDDEN, INNER = 32, 64
for bits in 4, 8:
    for size in 0, 16:
        for zeros in False, True:
            inputs, plain = [n(TOKENS, HIDDEN), n(TOKENS, EXPERTS)], []
            zero_points = []
            for rows, k in (INNER, HIDDEN), (HIDDEN, INNER):
                count = k // size if size else 1
                q = u8(EXPERTS, rows, k * bits // 8)
                s = np.abs(n(EXPERTS, rows, count)) * (.1 if bits == 4 else .01)
                shape = (EXPERTS, rows, -(-count * bits // 8)) if size else \
                    (EXPERTS, -(-rows * bits // 8))
                z = u8(*shape)
                zv = np.full((EXPERTS, rows, count), 1 << (bits - 1), np.float32)
                if zeros:
                    zv = numbers(z, bits, count) if size else \
                        numbers(z, bits, rows)[..., None]
                real = (numbers(q, bits, k).reshape(EXPERTS, rows, count, -1) -
                        zv[..., None]) * s[..., None]
                b = n(EXPERTS, rows)
                inputs += [q, s.astype(np.float32) if size else
                           s[..., 0].astype(np.float32), b]
                plain += [real.reshape(EXPERTS, rows, k), b]
                zero_points.append(z)
            if zeros:
                inputs += [None] * 3 + zero_points
            case("QMoE", inputs, k=2, activation_type="silu",
                 expert_weight_bits=bits, **({"block_size": size} if size else {}),
                 want=wanted(inputs[0], inputs[1], plain, lambda e, v: swish(
                     plain[0][e] @ v + plain[1][e])), rtol=1e-2, atol=1e-2)
# Experts by one tensor, what they count by another.
for normalized in 0, 1:
    for free in False, [0, 1]:
        mixing = np.abs(n(TOKENS, EXPERTS)) + .1
        more = inputs + [None] * (14 - len(inputs))
        best = np.argsort(-inputs[1], 1)[:, :2]
        p = np.take_along_axis(mixing, best, 1)
        p /= p.sum(1, keepdims=True) if normalized else 1
        y = np.zeros_like(inputs[0])
        for t in range(TOKENS):
            for e, count in zip(best[t], p[t]):
                h = swish(plain[0][e] @ inputs[0][t] + plain[1][e])
                y[t] += count * (plain[2][e] @ h + plain[3][e])
        case("QMoE", more + [mixing], k=2, activation_type="silu", want=[y],
             expert_weight_bits=8, block_size=16, rtol=1e-2, atol=1e-2,
             normalize_routing_weights=normalized, dynamic=free)
f.refused("QMoE", inputs, domain="com.microsoft", k=2, quant_type="fp8")
f.done()
