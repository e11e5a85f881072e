"""Gradient of the operators of networks, against central differences in
float64: convolutions, pools, normalizations, what moves elements, losses."""
import numpy as np
from harness import Family, helper

import gradients
from gradients import node

f = Family("gradient_layers", rtol=1e-5, atol=1e-6)


def normal(*shape):
    return np.asarray(f.random.standard_normal(shape))


def ints(name, values):
    return helper.make_node("Constant", [], [name], value=helper.make_tensor(
        name, 7, [len(values)], values))


def check(op, feeds, by=None, before=(), more=(), both=True, forward=None,
          inputs=None, **attributes):
    """Of tanh of the op's result, with sizes known and not."""
    by = by or [n for n, a in feeds.items() if a.dtype == np.float64]
    nodes = [*before, node(op, inputs or [*feeds, *more], "made", **attributes),
             node("Tanh", ["made"])]
    ask = forward and (lambda d: np.tanh(forward(d)))
    for free in (False, True) if both else (False,):
        gradients.check(f, nodes, feeds, by, free=free, forward=ask)


# Convolutions: 1 to 3 dims, steps that leave a rest, distances, groups.
for dims, w, how in (
        ((2, 3, 7), (4, 3, 3), {}),
        ((2, 3, 8), (4, 3, 3), dict(strides=[3], pads=[1, 0])),
        ((1, 2, 6, 5), (3, 2, 3, 2), dict(pads=[1, 0, 1, 1])),
        ((2, 4, 7, 6), (6, 2, 3, 2), dict(group=2, strides=[2, 1],
                                          dilations=[1, 2])),
        ((2, 3, 6, 6), (3, 1, 3, 3), dict(group=3, pads=[1, 1, 1, 1])),
        ((1, 2, 6, 7), (2, 2, 3, 3), dict(auto_pad="SAME_UPPER",
                                          strides=[2, 2])),
        ((1, 2, 6, 7), (2, 2, 2, 4), dict(auto_pad="SAME_LOWER",
                                          strides=[1, 3])),
        ((1, 2, 4, 3, 4), (2, 2, 2, 1, 3), dict(strides=[1, 2, 1]))):
    feeds = {"x": normal(*dims), "w": normal(*w), "b": normal(w[0])}
    check("Conv", feeds, **how)
def conv_transpose(d, group=1, strides=None, dilations=None, pads=None,
                   output_padding=None):
    """The reference cannot do groups."""
    x, w = d["x"], d["w"]
    n = x.ndim - 2
    steps, far = strides or [1] * n, dilations or [1] * n
    pads, more = pads or [0] * 2 * n, output_padding or [0] * n
    size = [(x.shape[2 + i] - 1) * steps[i] + (w.shape[2 + i] - 1) * far[i] + 1
            for i in range(n)]
    out = np.zeros([x.shape[0], w.shape[1] * group,
                    *(a + b for a, b in zip(size, more))])
    each, made = x.shape[1] // group, w.shape[1]
    for g in range(group):
        for tap in np.ndindex(*w.shape[2:]):
            at = tuple(slice(t * f, t * f + (x.shape[2 + i] - 1) * s + 1, s)
                       for i, (t, f, s) in enumerate(zip(tap, far, steps)))
            out[(slice(None), slice(g * made, g * made + made), *at)] += \
                np.einsum("nc...,co->no...", x[:, g * each:(g + 1) * each],
                          w[(slice(g * each, (g + 1) * each), slice(None),
                             *tap)])
    out = out[(slice(None), slice(None), *(
        slice(pads[i], out.shape[2 + i] - pads[n + i]) for i in range(n)))]
    return out + d["b"].reshape(-1, *[1] * n)


for dims, w, how in (
        ((2, 3, 5), (3, 4, 3), {}),
        ((1, 4, 3, 4), (4, 2, 3, 2), dict(group=2, strides=[2, 3],
                                          pads=[1, 0, 0, 1])),
        ((1, 2, 3, 3), (2, 3, 3, 3), dict(strides=[2, 2], dilations=[2, 1],
                                          output_padding=[1, 1]))):
    out = w[1] * how.get("group", 1)
    feeds = {"x": normal(*dims), "w": normal(*w), "b": normal(out)}
    check("ConvTranspose", feeds,
          forward=lambda d: conv_transpose(d, **how), **how)
# Pools.
for op, more in ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1}), \
        ("MaxPool", {}), ("LpPool", {"p": 2}), ("LpPool", {"p": 3}):
    for dims, how in (
            ((2, 3, 9), dict(kernel_shape=[3], strides=[2])),
            ((1, 2, 6, 7), dict(kernel_shape=[3, 2], pads=[1, 1, 1, 0])),
            ((2, 2, 7, 8), dict(kernel_shape=[2, 3], strides=[2, 3]))):
        check(op, {"x": normal(*dims)}, **how, **more)
    if op != "LpPool":
        check(op, {"x": normal(1, 2, 6, 6)}, kernel_shape=[3, 3],
              strides=[2, 2], ceil_mode=1, **more)
for op in "GlobalAveragePool", "GlobalMaxPool":
    check(op, {"x": normal(2, 3, 4, 5)})
check("GlobalLpPool", {"x": normal(2, 3, 4)}, p=2, forward=lambda d: np.sqrt(
    (d["x"] ** 2).sum(2, keepdims=True)))

# Normalizations.
x = normal(2, 4, 3, 5)
four = {"x": x, "scale": normal(4), "b": normal(4)}
check("BatchNormalization", four | {
    "mean": normal(4), "var": np.abs(normal(4)) + .5})


def over(axes, v, e=1e-5):
    return (v - v.mean(axes, keepdims=True)) / np.sqrt(
        v.var(axes, keepdims=True) + e)


def channels(v):
    return v.reshape(-1, 1, 1)


nothing = {"mean": np.zeros(4), "var": np.ones(4)}
check("BatchNormalization", four | nothing, by=["x", "scale", "b"],
      training_mode=1, forward=lambda d: over((0, 2, 3), d["x"])
      * channels(d["scale"]) + channels(d["b"]))
check("InstanceNormalization", four, forward=lambda d: over((2, 3), d["x"])
      * channels(d["scale"]) + channels(d["b"]))
check("GroupNormalization", four, num_groups=2,
      forward=lambda d: over(2, d["x"].reshape(2, 2, -1)).reshape(x.shape)
      * channels(d["scale"]) + channels(d["b"]))
for axis in -1, 2, 1:
    shape = x.shape[axis % 4:]
    axes = tuple(range(axis % 4, 4))
    part = {"x": x, "scale": normal(*shape)}
    check("LayerNormalization", part | {"b": normal(*shape)}, axis=axis,
          forward=lambda d: over(axes, d["x"]) * d["scale"] + d["b"])
    check("RMSNormalization", part, axis=axis,
          forward=lambda d: d["x"] * d["scale"] / np.sqrt(
              (d["x"] ** 2).mean(axes, keepdims=True) + 1e-5))


def lrn(v, size, alpha=.1, beta=.7, bias=1.5):
    out = np.zeros_like(v)
    for c in range(v.shape[1]):
        low, high = max(0, c - (size - 1) // 2), c + size // 2 + 1
        out[:, c] = alpha / size * (v[:, low:high] ** 2).sum(1)
    return v / (bias + out) ** beta


for size in 1, 2, 3:
    check("LRN", {"x": x}, size=size, alpha=.1, beta=.7, bias=1.5,
          forward=lambda d: lrn(d["x"], size))
for p in 1, 2:
    check("LpNormalization", {"x": normal(3, 4)}, p=p, axis=1,
          forward=lambda d: d["x"] / np.linalg.norm(
              d["x"], p, 1, keepdims=True))

# Activations, on both sides of their kinks.
x = {"x": np.concatenate([normal(9), [-4.2, 4.2, .4, -.4, 40.3, -40.3]])}
for op, how in (("Elu", {"alpha": .7}), ("Selu", {}), ("Celu", {"alpha": 1.3}),
                ("ThresholdedRelu", {"alpha": .6}), ("HardSigmoid", {}),
                ("HardSwish", {}), ("Softsign", {}), ("Mish", {}),
                ("Gelu", {"approximate": "tanh"}), ("Floor", {}),
                ("Ceil", {}), ("Round", {}), ("Sign", {}),
                ("Shrink", {"bias": .3, "lambd": .6})):
    check(op, x, both=False, **how)
inside = {"x": f.random.uniform(-.8, .8, 7)}
for op in "Asin", "Acos", "Atan", "Asinh", "Atanh", "Tan":
    check(op, inside, both=False)
check("Acosh", {"x": f.random.uniform(1.2, 3, 7)}, both=False)
check("PRelu", {"x": normal(2, 3, 4), "slope": normal(3, 1)})
for low, high in (-.5, .7), (.5, -.5):
    check("Clip", {"x": normal(3, 5), "low": np.array(low),
                   "high": np.array(high)})
check("Clip", {"x": normal(3, 5), "high": np.array(.3)},
      inputs=["x", "", "high"])

# Reductions.
check("Mod", {"x": 5 * normal(3, 5), "by": np.array([[.7], [-1.3], [2.1]])},
      fmod=1)
check("Hardmax", {"x": normal(3, 5)}, axis=1)
x = {"x": normal(2, 3, 4)}
for op in ("ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
           "ReduceSumSquare", "ReduceLogSumExp"):
    for keep in 0, 1:
        check(op, x, before=[ints("axes", [0, 2])], more=["axes"],
              keepdims=keep)
    check(op, x, keepdims=0, both=False)
check("ReduceLogSum", {"x": np.abs(normal(2, 3)) + .2}, keepdims=0)
zeros = np.array([[1., 2, 3], [0, 2, 3], [0, 0, 3], [0, 0, 0]])
check("ReduceProd", {"x": zeros}, before=[ints("axes", [1])], more=["axes"])

# Parts.
a, b = {"x": normal(2, 3, 4)}, {"x": normal(2, 3), "v": normal(2, 4),
                                "w": normal(2, 1)}
check("Concat", b, axis=1)
check("Concat", b, axis=-1, by=["v"])
check("Concat", {"x": normal(2, 3)}, axis=0, inputs=["x", "x"])
for starts, ends, axes, steps in (
        ([1], [3], [1], None), ([0, -3], [1, 99], [0, 2], [1, 1]),
        ([-1, 3], [-99, 0], [1, 2], [-1, -2]), ([2, 1], [0, 3], [1, 2], None)):
    given = {"starts": starts, "ends": ends, "axes": axes}
    given |= {"steps": steps} if steps else {}
    check("Slice", a, before=[ints(n, v) for n, v in given.items()],
          more=list(given))
parts = helper.make_node("Split", ["x"], ["p", "q"], axis=1, num_outputs=2)
feeds = {"x": normal(3, 5)}
for free in False, True:
    gradients.check(f, [parts, node("Exp", ["q"], "e"),
                        node("Concat", ["e", "p", "q"], axis=1)], feeds, ["x"],
                    free=free)
for rows in ([0, 2, 2, 1],), ([[0, -1], [1, 1]],):
    for axis in 0, 1, -1:
        feeds = dict(a) | {"i": np.array(rows[0]) % (2 if axis == 0 else 3)}
        check("Gather", feeds, axis=axis)
check("Gather", dict(a) | {"i": np.array(1)}, axis=1)
check("GatherElements", dict(a) | {"i": f.integers(-3, 3, 2, 5, 4)}, axis=1)
check("GatherND", dict(a) | {"i": np.array([[0, 1], [1, 2], [0, 1]])},
      both=False)
check("GatherND", dict(a) | {"i": np.array([[1], [0]])}, batch_dims=1,
      both=False)
for how in "none", "add":
    check("ScatterElements", dict(a) | {"i": np.array([[[0], [2]], [[1], [0]]]),
                                        "u": normal(2, 2, 1)}, axis=1,
          reduction=how)
    check("ScatterND", dict(a) | {"i": np.array([[0, 1], [1, 2]]),
                                  "u": normal(2, 4)}, reduction=how,
          both=False)
for mode in "constant", "edge", "reflect", "wrap":
    check("Pad", a, before=[ints("pads", [0, 1, 2, 1, 0, 1])], more=["pads"],
          mode=mode)
check("Pad", dict(a) | {"v": np.array(.3)},
      before=[ints("pads", [0, -1, 2, 1, 0, -1])], inputs=["x", "pads", "v"],
      forward=lambda d: np.pad(d["x"][:, 1:, :-1], ((0, 1), (0, 0), (2, 0)),
                               constant_values=d["v"]))
check("Tile", a, before=[ints("times", [2, 1, 3])], more=["times"])
check("Expand", {"x": normal(3, 1)}, before=[ints("to", [2, 3, 4])],
      more=["to"])
check("DepthToSpace", {"x": normal(1, 8, 2, 3)}, blocksize=2, mode="DCR")
check("DepthToSpace", {"x": normal(1, 8, 2, 3)}, blocksize=2, mode="CRD")
check("SpaceToDepth", {"x": normal(1, 2, 4, 6)}, blocksize=2)
check("Trilu", {"x": normal(3, 4, 5)}, upper=0)
for exclusive in 0, 1:
    check("CumSum", {"x": normal(3, 4)},
          before=[helper.make_node("Constant", [], ["axis"], value_int=1)],
          more=["axis"], exclusive=exclusive, reverse=exclusive)
top = helper.make_node("TopK", ["x", "k"], ["t", "i"], axis=1)
for free in False, True:
    gradients.check(f, [ints("k", [2]), top, node("Exp", ["t"])],
                    {"x": normal(3, 5)}, ["x"], free=free)

# Losses.
feeds = {"x": normal(4, 3, 2), "t": f.integers(0, 3, 4, 2)}
for how in "none", "sum", "mean":
    check("NegativeLogLikelihoodLoss", feeds, reduction=how, both=how == "mean")
    check("SoftmaxCrossEntropyLoss", feeds | {"w": np.abs(normal(3)) + .3},
          by=["x"], reduction=how, ignore_index=1, both=how == "mean")
f.done()
