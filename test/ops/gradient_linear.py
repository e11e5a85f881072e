"""Gradient of what is linear in an operand, against central differences in
float64: Einsum, Resize that interpolates, DequantizeLinear, DFT,
AffineGrid."""
import numpy as np
from harness import Family, helper

import gradients
from gradients import node

f = Family("gradient_linear", rtol=1e-5, atol=1e-6)


def normal(*shape):
    return np.asarray(f.random.standard_normal(shape))


def check(op, feeds, before=(), inputs=None, by=None, forward=None,
          open_only=False, **how):
    by = by or [n for n, a in feeds.items() if a.dtype == np.float64]
    nodes = [*before, node(op, inputs or [*feeds], "made", **how),
             node("Tanh", ["made"])]
    ask = forward and (lambda d: np.tanh(forward(d)))
    for free in (True,) if open_only else (False, True):
        gradients.check(f, nodes, feeds, by, free=free, forward=ask)


# Einsum: products, sums over one operand, diagonals, ellipses, sizes of 1.
for equation, *shapes in (
        ("ij,jk->ik", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("ij->", (2, 3)),
        ("ii->i", (3, 3)), ("ii", (3, 3)), ("iij->j", (2, 2, 3)),
        ("iii->i", (2, 2, 2)), ("i,j->ij", (2,), (3,)),
        ("bij,bjk->bik", (2, 3, 2), (2, 2, 3)), ("ij,ij->", (2, 3), (2, 3)),
        ("ij,jk,kl->il", (2, 3), (3, 2), (2, 4)), ("ij,k->k", (2, 3), (2,)),
        ("...ij,...jk->...ik", (2, 3, 2), (2, 2, 3)),
        ("...ij,...jk", (2, 1, 3, 2), (3, 2, 3)), ("...ii->...i", (2, 3, 3)),
        ("i...,i->...", (2, 3, 2), (2,)), ("ij,ij->i", (2, 1), (2, 3)),
        ("ij,jk->ik", (2, 1), (3, 4)), ("ii,ij->j", (2, 2), (2, 3)),
        ("ba,c", (2, 3), (2,)), ("i,i,i->i", (3,), (3,), (3,))):
    feeds = {n: normal(*s) for n, s in zip("abc", shapes)}
    check("Einsum", feeds, equation=equation,
          forward=lambda d: np.einsum(equation, *d.values()))


# Resize.
def floats(name, values):
    return helper.make_node("Constant", [], [name],
                            value=helper.make_tensor(
                                name, 1, [len(values)], values))


def sizes(values):
    return helper.make_node("Constant", [], ["sizes"], value_ints=values)


x = {"x": normal(1, 2, 4, 5)}
for mode in "linear", "cubic":
    for where in ("half_pixel", "asymmetric", "align_corners",
                  "pytorch_half_pixel", "half_pixel_symmetric"):
        check("Resize", x, before=[floats("s", [1, 1, 1.5, .6])],
              inputs=["x", "", "s"], mode=mode, open_only=True,
              coordinate_transformation_mode=where)
    check("Resize", x, before=[sizes([3, 7])], axes=[2, 3],
          inputs=["x", "", "", "sizes"], mode=mode)
    check("Resize", x, before=[floats("s", [.5, .7])], axes=[3, 2],
          inputs=["x", "", "s"], mode=mode, antialias=1)
check("Resize", x, before=[floats("s", [1, 1, 2.3, .8])], mode="cubic",
      inputs=["x", "", "s"], exclude_outside=1, cubic_coeff_a=-.5)
check("Resize", {"x": normal(2, 3, 4)}, before=[sizes([3, 5, 2])],
      inputs=["x", "", "", "sizes"], mode="linear")
for mode in "linear", "nearest":
    check("Resize", x, before=[sizes([3, 4]), floats(
        "roi", [.1, -.3, .8, 1.2])], axes=[2, 3], mode=mode,
        inputs=["x", "roi", "", "sizes"], extrapolation_value=.5,
        coordinate_transformation_mode="tf_crop_and_resize")


# DequantizeLinear by its scale.
def dequantized(q, zero, spread):
    return lambda d: (q.astype(np.float64) - zero) * spread(d["s"])


q = f.integers(-8, 8, 3, 5, dtype=np.int8)
for shape, zero, spread, how in (
        ((), np.int8(2), lambda s: s, {}),
        ((1,), None, lambda s: s, {}),
        ((3,), np.array([1, -2, 3], np.int8), lambda s: s[:, None],
         {"axis": 0}),
        ((5,), None, lambda s: s, {"axis": -1}),
        ((3, 2), None, lambda s: np.repeat(s, 3, 1)[:, :5],
         {"axis": 1, "block_size": 3})):
    feeds = {"q": q, "s": np.asarray(.1 + np.abs(normal(*shape)))}
    if zero is not None:
        feeds["z"] = np.asarray(zero)
    by = zero[:, None] if np.ndim(zero) else zero or 0
    # The scale is of float32 at most.
    nodes = [helper.make_node("Cast", ["s"], ["s32"], to=1),
             node("DequantizeLinear", ["q", "s32", *list(feeds)[2:]], "made",
                  **how),
             helper.make_node("Cast", ["made"], ["wide"], to=11),
             node("Tanh", ["wide"])]
    made = dequantized(q, by, spread)
    for free in False, True:
        gradients.check(f, nodes, feeds, ["s"], free=free,
                        forward=lambda d: np.tanh(made(d)))
# Rounding has steps.
both = [node("QuantizeLinear", ["x", "s"], "q"),
        node("DequantizeLinear", ["q", "s"])]
gradients.check(f, both, {"x": normal(3).astype(np.float32),
                          "s": np.float32(.3)}, ["x"],
                forward=lambda d: np.zeros(3))
# DFT: real and complex, both ways, one side of it, other lengths.
def transformed(x, axis, n=None, inverse=0, onesided=0):
    z = x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]
    if inverse and onesided:
        return np.fft.irfft(z, n, axis)[..., None]
    z = (np.fft.ifft if inverse else np.fft.fft)(z, n, axis)
    if onesided:
        z = np.take(z, range((n or x.shape[axis]) // 2 + 1), axis)
    return np.stack([z.real, z.imag], -1)


for shape, axis, n, how in (
        ((2, 5, 1), 1, None, {}), ((2, 6, 1), 1, None, {"onesided": 1}),
        ((2, 5, 1), 1, None, {"onesided": 1}), ((2, 4, 2), 1, None, {}),
        ((2, 4, 2), 1, None, {"inverse": 1}), ((3, 2, 1), 0, 5, {}),
        ((3, 4, 2), 1, 3, {"inverse": 1}), ((3, 5, 1), 1, 4, {"onesided": 1}),
        ((2, 4, 2), 1, None, {"inverse": 1, "onesided": 1}),
        ((2, 4, 2), 1, 7, {"inverse": 1, "onesided": 1}),
        ((5, 2, 2), 0, 6, {"inverse": 1, "onesided": 1})):
    number = lambda name, v: helper.make_node("Constant", [], [name],
                                              value_int=v)
    before = [number("axis", axis)] + ([number("n", n)] if n else [])
    check("DFT", {"x": normal(*shape)}, before=before,
          inputs=["x", "n" if n else "", "axis"],
          forward=lambda d: transformed(d["x"], axis, n, **how), **how)
# AffineGrid, in two and three dims (the reference computes it in float32).
def placed(theta, sizes, corners):
    ends = [np.linspace(-1, 1, n) if corners else (2 * np.arange(n) + 1) / n - 1
            for n in sizes]
    at = np.stack([*np.meshgrid(*ends, indexing="ij")][::-1]
                  + [np.ones(sizes)], -1)
    return np.einsum("nij,...j->n...i", theta, at)


for size in [2, 3, 4, 5], [1, 2, 2, 3, 4]:
    dims = len(size) - 2
    for corners in 0, 1:
        check("AffineGrid", {"theta": normal(size[0], dims, dims + 1)},
              before=[helper.make_node("Constant", [], ["size"],
                                       value_ints=size)],
              inputs=["theta", "size"], align_corners=corners,
              forward=lambda d: placed(d["theta"], size[2:], corners))
f.done()
