"""Products with packed weights, in all shapes of tile, against numpy."""
import os
import subprocess
import tempfile

import ml_dtypes
import numpy as np
import onnx
from harness import Family, IR_VERSION, ferrule
from onnx import TensorProto, helper, numpy_helper

f = Family("block_product")
CPUS = [None, "x86-64-v3", "x86-64-v2"]


def packed(numbers, bits):
    """[.., n] of small numbers, the first in the lowest bits."""
    per = 8 // bits
    parts = numbers.reshape(*numbers.shape[:-1], -1, per).astype(np.uint8)
    return np.bitwise_or.reduce(
        parts << (bits * np.arange(per, dtype=np.uint8)), axis=-1)


def check(what, nodes, x, weights, want, rows=None, domain="com.microsoft"):
    """All processors; rows: a symbol's name in place of the first dim."""
    info = helper.make_tensor_value_info(
        "x", TensorProto.FLOAT, [rows or x.shape[0], *x.shape[1:]])
    graph = helper.make_graph(
        nodes, "test", [info], [helper.make_empty_tensor_value_info("y")],
        [w if isinstance(w, onnx.TensorProto) else
         numpy_helper.from_array(w, k) for k, w in weights.items()])
    onnx.save(helper.make_model(graph, ir_version=IR_VERSION, opset_imports=[
        helper.make_opsetid("", 25), helper.make_opsetid(domain, 1)]), f.path)
    for cpu in CPUS:
        options = dict(target=cpu.encode()) if cpu else {}
        got = ferrule.load(f.path, **options).run({"x": x})
        # Sums in single precision: relative to the largest.
        atol = 2e-6 * np.abs(want).max(initial=0)
        if f.agree(f"{what} {cpu}", [want], got, 0, atol):
            f.passed += 1


def kept_packed(yes=True):
    """The model last checked multiplies with the weights as they are."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "m.mlir")
        subprocess.run([os.path.join(ferrule.BUILD, "bin", "ferrule"),
                        "compile", f.path, "-o", out,
                        "--stop-after=optimize"], check=True,
                       capture_output=True)
        if ("onnx.ms_block_product" in open(out).read()) == yes:
            f.passed += 1
        else:
            f.fail(f.path, "weights are " + ("not packed" if yes else "packed"))


# Tiles of rows of both ways, groups of columns that are not full, panels.
SHAPES = [(1, 64, 32), (2, 64, 33), (3, 96, 70), (5, 256, 31), (7, 64, 1),
          (15, 64, 64), (16, 2080, 40), (29, 1056, 96), (0, 64, 32)]
for bits in 2, 4, 8:
    for i, (M, K, N) in enumerate(SHAPES):
        for size in (16, 32):
            q = f.integers(0, 1 << bits, N, K // size, size)
            scales = f.normal(N, K // size)
            if i % 3 == 0:
                zeros = None
                z = np.full((N, K // size), 1 << (bits - 1))
            elif i % 3 == 1:
                z = f.integers(0, 1 << bits, N, K // size)
                odd = -(K // size) % (8 // bits)
                zeros = packed(np.pad(z, [(0, 0), (0, odd)]), bits)
            else:
                zeros = z = f.normal(N, K // size) * 3
            w = ((q - z[..., None]) * scales[..., None]).reshape(N, K)
            x = f.normal(M, K)
            node = helper.make_node(
                "MatMulNBits", ["x", "b", "s"] + ["z"] * (zeros is not None),
                ["y"], domain="com.microsoft", K=K, N=N, bits=bits,
                block_size=size)
            weights = {"b": packed(q, bits), "s": scales.reshape(-1)}
            if zeros is not None:
                weights["z"] = zeros
            want = (x.astype(np.float64) @ w.T).astype(np.float32)
            check(f"{bits} bits {M}x{K}x{N} of {size}", [node], x, weights,
                  want, rows="rows" if i % 2 else None)
            if M:
                kept_packed()

# What DequantizeLinear makes of blocks, with and without a transpose.
TYPES = {ml_dtypes.int4: (-8, 8), ml_dtypes.uint4: (0, 16),
         np.int8: (-128, 128), np.uint8: (0, 256), ml_dtypes.int2: (-2, 2),
         ml_dtypes.uint2: (0, 4)}
for t, (low, high) in TYPES.items():
    for across in False, True:
        for has_zeros in False, True:
            K, N, size = 96, 37, 32
            q = f.integers(low, high, K // size, size, N)
            s = f.normal(K // size, N)
            z = f.integers(low, high, K // size, N) * has_zeros
            w = ((q - z[:, None]) * s[:, None]).reshape(K, N)
            x = f.normal(2, 3, K)
            turn = (lambda a: np.ascontiguousarray(a.T)) if across \
                else lambda a: a
            weights = {"w": turn(q.reshape(K, N)).astype(t), "s": turn(s)}
            if has_zeros:
                weights["z"] = turn(z).astype(t)
            nodes = [helper.make_node("DequantizeLinear", list(weights), ["d"],
                                      axis=int(across), block_size=size)]
            if across:
                nodes.append(helper.make_node("Transpose", ["d"], ["e"],
                                              perm=[1, 0]))
            nodes.append(helper.make_node(
                "MatMul", ["x", "e" if across else "d"], ["y"]))
            want = (x.astype(np.float64) @ w).astype(np.float32)
            check(f"DequantizeLinear {t.__name__} {across} {has_zeros}", nodes,
                  x, weights, want, rows=None if across else "rows")
            kept_packed()

# Blocks along the other axis share no scale along k: floats.
q, s = f.integers(-8, 8, 32, 64), f.normal(32, 2)
x = f.normal(3, 32)
w = q * np.repeat(s, 32, axis=1)
check("blocks of columns", [
    helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=1,
                     block_size=32), helper.make_node("MatMul", ["x", "d"],
                                                      ["y"])],
      x, {"w": q.astype(ml_dtypes.int4), "s": s},
      (x.astype(np.float64) @ w).astype(np.float32))
kept_packed(False)
f.done()
