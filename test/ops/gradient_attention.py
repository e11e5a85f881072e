"""Gradient of Attention, against central differences in float64 of its formula
in numpy: masks, frontiers, shared heads, pasts, heads side by side."""
import numpy as np
from harness import Family, helper

import gradients
from gradients import node

f = Family("gradient_attention", rtol=1e-5, atol=1e-6)
NAMES = ["q", "k", "v", "mask", "pk", "pv", "nonpad"]


def normal(*shape):
    return np.asarray(f.random.standard_normal(shape))


def heads(x, n):
    return x if x.ndim == 4 else x.reshape(
        *x.shape[:2], n, -1).transpose(0, 2, 1, 3)


def attended(d, q_num_heads=0, kv_num_heads=0, is_causal=0, scale=None,
             softcap=0, left_window_size=-1, right_window_size=-1):
    q, k, v = (heads(d[n], h) for n, h in zip(
        "qkv", (q_num_heads, kv_num_heads, kv_num_heads)))
    past = 0
    if "pk" in d:
        past = d["pk"].shape[2]
        k, v = (np.concatenate([d[p], x], 2)
                for p, x in (("pk", k), ("pv", v)))
    share = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, share, 1), np.repeat(v, share, 1)
    x = q @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -.5)
    x = softcap * np.tanh(x / softcap) if softcap else x
    j = np.arange(k.shape[2])
    at = np.arange(q.shape[2])[:, None] + past + np.zeros((q.shape[0], 1, 1, 1))
    ok = np.ones(x.shape, bool)
    if "nonpad" in d:
        n = d["nonpad"].reshape(-1, 1, 1, 1)
        ok &= j < n
        at = at + (0 if past else n - q.shape[2])
    if is_causal:
        ok &= j <= at
    if left_window_size >= 0:
        ok &= j + left_window_size >= at
    if right_window_size >= 0:
        ok &= j <= at + right_window_size
    if "mask" in d:
        m = d["mask"]
        wide = [(0, 0)] * (m.ndim - 1) + [(0, x.shape[3] - m.shape[-1])]
        if m.dtype == bool:
            ok &= np.pad(m, wide)
        else:
            x = x + np.pad(m, wide, constant_values=-np.inf)
    x = np.where(ok, x, -np.inf)
    top = np.maximum(x.max(3, keepdims=True), -1e300)
    e = np.exp(x - top)
    s = e.sum(3, keepdims=True)
    y = e / np.where(s, s, 1) @ v
    return y if d["q"].ndim == 4 else y.transpose(0, 2, 1, 3).reshape(
        *d["q"].shape[:2], -1)


def check(feeds, **how):
    by = [n for n, a in feeds.items() if a.dtype == np.float64]
    last = max(NAMES.index(n) for n in feeds)
    inputs = [n if n in feeds else "" for n in NAMES[:last + 1]]
    nodes = [node("Attention", inputs, "made", **how), node("Tanh", ["made"])]
    for free in False, True:
        gradients.check(f, nodes, feeds, by, free=free,
                        forward=lambda d: np.tanh(attended(d, **how)))


def three(b=2, hq=2, hk=2, rows=3, keys=4, size=3, v_size=2):
    return {"q": normal(b, hq, rows, size), "k": normal(b, hk, keys, size),
            "v": normal(b, hk, keys, v_size)}


check(three())
check(three(hq=4), scale=.7, softcap=1.5)
check(three(keys=3), is_causal=1)
check(three() | {"pk": normal(2, 2, 2, 3), "pv": normal(2, 2, 2, 2)},
      is_causal=1)
check(three() | {"mask": f.random.random((3, 4)) < .6})
check(three() | {"mask": np.array([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1]],
                                  bool)})
mask = normal(2, 1, 3, 4)
check(three() | {"mask": mask})
check(three() | {"mask": normal(3, 3)})
check(three(hq=4) | {"mask": normal(4, 3, 4)}, is_causal=1)
check(three(keys=6), left_window_size=1, right_window_size=1)
check(three(rows=2, keys=5) | {"nonpad": np.array([5, 3])}, is_causal=1)
check({"q": normal(2, 3, 8), "k": normal(2, 4, 4), "v": normal(2, 4, 6)},
      q_num_heads=4, kv_num_heads=2)

# What is not attended at all, as numbers.
where = np.array([[0, -np.inf, 0, 0], [-np.inf] * 4, [0, 0, -np.inf, .5]])
shut = helper.make_node("Constant", [], ["mask"], value=helper.make_tensor(
    "mask", 11, where.shape, where.ravel()))
feeds = three()
gradients.check(f, [shut, node("Attention", [*"qkv", "mask"])], feeds,
                [*"qkv"], forward=lambda d: attended(d | {"mask": where}))
# By way of the keys and values that come out.
feeds = three() | {"pk": normal(2, 2, 2, 3), "pv": normal(2, 2, 2, 2)}
more = helper.make_node("Attention", [*"qkv", "", "pk", "pv"],
                        ["made", "keys", "values"])
gradients.check(
    f, [more, node("ReduceSumSquare", ["keys"], "a", keepdims=0),
        node("Exp", ["values"], "e"), node("ReduceSum", ["e"], "b", keepdims=0),
        node("ReduceSum", ["made"], "c", keepdims=0),
        node("Sum", ["a", "b", "c"])], feeds, list(feeds), free=True,
    forward=lambda d: attended(d).sum() +
    sum((d[n] ** 2).sum() for n in ("k", "pk")) +
    sum(np.exp(d[n]).sum() for n in ("v", "pv")))
f.done()
