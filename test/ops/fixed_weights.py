"""Weights of 24 bits: constant matrices that a product of few rows waits for.

The reference is computed in f64. A sum of K products in f32 is off by at most
K * 2^-24 of the sum of the magnitudes; a weight by 2^-23 of the largest of the
128 of its column that have one scale, rounded up to a power of two. Whether
weights were stored so is told by --precision=strict, which has them as they are:
the results are the same then or they are not.
"""
import os
import sys
import tempfile

import numpy as np
import onnx

from harness import ferrule, model_of, runs_here

F32 = np.float32
random = np.random.default_rng(24)
folder = tempfile.TemporaryDirectory()
PATH = os.path.join(folder.name, "model.onnx")
TARGETS = [b"native", b"x86-64-v4", b"x86-64-v3", b"x86-64-v2"]
passed = failed = 0


def normal(*shape):
    return random.standard_normal(shape).astype(F32)


def largest(b):
    """For each element, the largest of those it shares a scale with."""
    out = np.empty(b.shape)
    for k in range(0, b.shape[-2], 128):
        block = b[..., k:k + 128, :]
        out[..., k:k + 128, :] = np.abs(block).max(axis=-2, keepdims=True)
    return out


def run(a, target, precision):
    compiled = ferrule.load(PATH, target=target, precision=precision,
                            opt_level=1)
    return next(iter(compiled.run({"in0": a}).values()))


def check(what, a, b, target, fixed, op="MatMul", bias=None, **attributes):
    """fixed: whether the weights are to have 24 bits."""
    global passed, failed
    inputs = [a, b] + ([] if bias is None else [bias])
    onnx.save(model_of(op, inputs, constants=list(range(1, len(inputs))),
                       **attributes), PATH)
    got, strict = (run(a, target, p) for p in (None, b"strict"))
    if attributes.get("transB"):
        b = np.swapaxes(b, -1, -2)
    wide = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        want = wide[0] @ wide[1] + (0 if bias is None else bias)
        bound = (a.shape[-1] + 2) * 2.0 ** -24 * (
            np.abs(wide[0]) @ np.abs(wide[1]) + np.abs(want))
        if fixed:
            bound += np.abs(wide[0]) @ largest(b) * 2.0 ** -23
        off = np.abs(got - want)
    good = np.isfinite(want)
    why = None
    if got.shape != want.shape:
        why = f"shape {got.shape}"
    elif not np.array_equal(np.isnan(got), np.isnan(want)):
        why = "NaN elsewhere"
    elif not np.array_equal(got[~good & ~np.isnan(want)],
                            want[~good & ~np.isnan(want)]):
        why = "infinities"
    elif not (off[good] <= bound[good] + 1e-44).all():
        why = f"off by {np.max(off[good] / bound[good]):.3g} of what it may be"
    elif fixed == np.array_equal(got, strict, equal_nan=True):
        why = "not stored in 24 bits" if fixed else "stored in 24 bits"
    if why:
        failed += 1
        print(f"FAILED {what} {op} {a.shape} {b.shape} {target.decode()} "
              f"{attributes}: {why}")
    else:
        passed += 1


for target in filter(runs_here, TARGETS):
    # Depths that end within a block of 128, columns within a panel or vector.
    for rows, k, n in (1, 1000, 777), (3, 1000, 777), (2, 130, 4801), \
            (1, 128, 5000), (1, 1, 600000), (4, 4099, 160):
        check("sizes", normal(rows, k), normal(k, n), target, True)
    if target == b"x86-64-v4":
        for rows, fixed in (5, True), (8, True), (9, False), (64, False):
            check("rows", normal(rows, 1024), normal(1024, 700), target, fixed)
    b = normal(1024, 700)
    check("all dims but one", normal(2, 1, 2, 1024), b, target, True)
    check("matrices", normal(3, 2, 1024), normal(3, 1024, 700), target, True)
    check("transposed", normal(2, 1024), normal(700, 1024), target, True,
          op="Gemm", transB=1, bias=normal(700))
    check("small", normal(1, 128), normal(128, 130), target, False)

    # What the numbers are.
    x = normal(2, 1024)
    pruned = np.where(random.random(b.shape) < 0.95, 0, b).astype(F32)
    check("zeros", x, pruned, target, True)
    check("a column of zeros", x, b * (np.arange(700) != 13).astype(F32), target,
          True)
    scales = np.exp2(random.integers(-40, 40, 700)).astype(F32)
    check("columns of all sizes", x, b * scales, target, True)
    steps = np.exp2(np.arange(1024) // 128 * 3 - 12).astype(F32)[:, None]
    check("blocks of all sizes", x, b * steps, target, True)
    outlier = b.copy()
    outlier[777, 5] = 30
    check("an outlier among small ones", x, outlier, target, True)
    check("large inputs", x * F32(1e37), b * F32(1e-3), target, True)
    infinite = x.copy()
    infinite[0, 5] = np.inf
    check("infinite inputs", infinite, b, target, True)
    tiny = b * F32(1e-36)
    check("tiny weights", x, tiny, target, False)
    for odd in np.inf, np.nan:
        weights = b.copy()
        weights[3, 3] = odd
        check(f"{odd} in the weights", x, weights, target, False)
    # However much of the others it takes, also where nothing is multiplied by it.
    unseen = x.copy()
    unseen[:, 777] = 0
    for large in 1e3, 1e10, 1e17, 1e30, np.finfo(F32).max:
        weights = b.copy()
        weights[777, 5] = large
        check(f"one of {large}", unseen, weights, target, False)
    # One column that does not fit keeps the matrix as it is.
    for large in np.finfo(F32).max, 100:
        weights = b.copy()
        weights[::64, 9] = large  # 24 bits of it leave the others few
        check(f"{large} among small ones", x * F32(1e-6), weights, target, False)

print(f"fixed_weights: {passed} passed, {failed} failed")
sys.exit(failed != 0)
