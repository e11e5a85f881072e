"""DFT of all kinds of lengths against numpy in double precision."""
import itertools

import numpy as np
import onnx
from onnx import TensorProto, helper
from harness import Family
import ferrule

f = Family("fourier")
# Products of 2, 3, 4, 5; odd factors; primes, for which no passes are made;
# what is done as a matrix, also with a large odd factor.
SMALL = [*range(1, 34), 35, 36, 49, 60, 77, 100, 121, 127, 131, 143, 169, 210,
         225, 256, 258, 262, 385, 400, 509, 512, 625, 1009, 1024, 1155]
LARGE = [4096, 4099, 4100, 5000, 6561, 7 * 11 * 13 * 5, 8192, 10007, 46656,
         3 * 20011, 1 << 16]


def model(t, length, **attributes):
    """All sizes open; length: None, a number, or "?" for an input."""
    inputs = [helper.make_tensor_value_info(
        "x", t, ["a", "n", "b", attributes.pop("parts")])]
    constants = [helper.make_tensor("axis", TensorProto.INT64, [], [1])]
    if length == "?":
        inputs.append(helper.make_tensor_value_info(
            "length", TensorProto.INT64, []))
    elif length:
        constants.append(
            helper.make_tensor("length", TensorProto.INT64, [], [length]))
    node = helper.make_node("DFT", ["x", "length" if length else "", "axis"],
                            ["y"], **attributes)
    graph = helper.make_graph(
        [node], "g", inputs, [helper.make_empty_tensor_value_info("y")],
        constants)
    onnx.save(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9),
        f.path)
    return ferrule.load(f.path)


def expected(z, n, inverse, onesided):
    z = z.astype(complex)
    if inverse and onesided:
        return np.fft.irfft(z, n, 1)[..., None]
    y = (np.fft.ifft if inverse else np.fft.fft)(z, n, 1)
    y = y[:, :n // 2 + 1] if onesided else y
    return np.stack([y.real, y.imag], -1)


def check(what, got, want, t):
    # The error of a fast transform grows with the logarithm of the length.
    limit = 4 * np.finfo(t).eps * (2 + np.log2(max(2, want.size)))
    size = np.sqrt((want ** 2).sum()) or 1
    error = np.sqrt(((got - want) ** 2).sum()) / size
    f.passed += error < limit and got.shape == want.shape
    if not (error < limit and got.shape == want.shape):
        f.fail(what, f"relative error {error}, at most {limit}: {got.shape}")


def run(loaded, what, t, shape, n, inverse, onesided, given):
    x = f.normal(*shape).astype(t)
    z = x[..., 0] + 1j * x[..., 1] if shape[-1] == 2 else x[..., 0]
    feeds = {"x": x}
    if given:
        feeds["length"] = np.array(n, np.int64)
    got = loaded.run(feeds)["y"]
    check(f"{what} {shape} {n}", got, expected(z, n, inverse, onesided), t)


types = {TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64}
# Sizes that the run gives; lines that are few, many, apart.
for (t, numpy_type), inverse, onesided in itertools.product(
        types.items(), (0, 1), (0, 1)):
    parts = 2 if inverse or not onesided else 1
    loaded = model(t, "?", inverse=inverse, onesided=onesided, parts=parts)
    what = f"{numpy_type.__name__} inverse={inverse} onesided={onesided}"
    for k, n in enumerate(SMALL + (LARGE if inverse == onesided else [])):
        lines = [(1, 1), (2, 3), (1, 17), (33, 1)][k % 4 if n < 2000 else k % 2]
        rows = n // 2 + 1 if inverse and onesided else n
        for rows in {rows, max(1, rows - k % 3), rows + k % 2}:
            run(loaded, what, numpy_type, (lines[0], rows, lines[1], parts), n,
                inverse, onesided, True)
# Lengths that the model gives: their tables are constants.
for n in 1, 10, 77, 131, 400, 4096, 10007, 46656:
    t = types[TensorProto.FLOAT]
    loaded = model(TensorProto.FLOAT, n, parts=1)
    for lines in (1, 1), (40, 1), (3, 5):
        run(loaded, "known", t, (lines[0], n, lines[1], 1), n, 0, 0, False)
# The order of all additions is that of numpy, whose inverse transform of f32
# is computed in f32 (the other one in double precision).
loaded = model(TensorProto.FLOAT, None, inverse=1, parts=2)
for n in 2, 3, 5, 9, 10, 12, 15, 20, 27, 36, 60, 75, 100, 180, 300:
    x = f.normal(2, n, 9, 2)
    want = np.fft.ifft(x[..., 0] + 1j * x[..., 1], axis=1)
    got = loaded.run({"x": x})["y"]
    same = (got[..., 0] + 1j * got[..., 1] == want).all()
    f.passed += same
    if not same:
        f.fail(f"bits of {n}", "not those of numpy")
# What is no number stays in its line.
x = np.ones((3, 12, 20, 2), np.float32)
x[1, 3, 4, 0] = np.nan
bad = np.isnan(loaded.run({"x": x})["y"]).any((1, 3))
f.passed += bad.sum() == 1
if bad.sum() != 1:
    f.fail("NaN", f"in {bad.sum()} lines")
f.done()
