"""Matrix products of f16, bf16, and of f32 with --precision=bf16.

The reference is computed in f64, of operands rounded as the compiled model may
round them. A sum of K products in f32, in any order, is off by at most
K * 2^-24 of the sum of the magnitudes; a result of 16 bits is rounded once more.
With --precision=bf16 the result must also be far nearer to that of the operands
that this way of computing it has (rounded or not) than to the other one.
"""
import os
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx

from harness import ferrule, model_of, runs_here

BF16, F16, F32 = ml_dtypes.bfloat16, np.float16, np.float32
random = np.random.default_rng(7)
folder = tempfile.TemporaryDirectory()
PATH = os.path.join(folder.name, "model.onnx")
passed = failed = 0

# Names of targets: with dot products of bf16, with tiles, without either, and
# each kind of vectors.
DOTS = b"x86-64-v4-bf16"
TARGETS = [DOTS, b"sapphirerapids", b"x86-64-v4", b"x86-64-v3", b"x86-64-v2"]


def rounded(x):
    return x.astype(BF16).astype(np.float64)


def products(a, b, round_to):
    """The product, and the sum of the magnitudes, in f64."""
    a, b = (round_to(x) for x in (a, b))
    return a @ b, np.abs(a) @ np.abs(b)


def fail(what, why):
    global failed
    failed += 1
    print(f"FAILED {what}\n    {why}")


def wide(x):
    return x.astype(np.float64)


def check(op, a, b, constant, dynamic, target, precision=b"bf16", finish=None,
          expect=None, **attributes):
    """expect: "f32" or "bf16" where either could be chosen; finish: what the
    graph does behind the product."""
    global passed
    what = (f"{op} {a.dtype} {a.shape} {b.shape} constant={constant} "
            f"dynamic={dynamic} {target} {precision} {attributes}")
    model = model_of(op, [a, b], constants=[1] if constant else [],
                     dynamic=dynamic, **attributes)
    if finish:
        finish[0](model)
    onnx.save(model, PATH)
    try:
        compiled = ferrule.load(PATH, target=target, precision=precision,
                                opt_level=1)
        feeds = {"in0": a} if constant else {"in0": a, "in1": b}
        got = next(iter(compiled.run(feeds).values()))
    except ferrule.Error as e:
        fail(what, e)
        return
    if attributes.get("transA"):
        a = np.swapaxes(a, -1, -2)
    if attributes.get("transB"):
        b = np.swapaxes(b, -1, -2)
    if got.dtype == np.uint16:
        got = got.view(BF16)
    got = wide(got)
    alpha = attributes.get("alpha", 1.0)
    best, size = products(a, b, wide)
    near, near_size = products(a, b, rounded)
    steps = a.shape[-1] + 8
    ends = 2.0 ** -8 if a.dtype == BF16 else 2.0 ** -10 if a.dtype == F16 else 0
    if a.dtype != F32:
        expect = "f32"  # the operands are as they are
    off = {}
    for name, want, magnitude in ("f32", best, size), ("bf16", near, near_size):
        want, magnitude = want * alpha, magnitude * abs(alpha)
        if finish:
            want = finish[1](want)
        bound = magnitude * steps * 2.0 ** -24 + np.abs(want) * ends + 1e-30
        off[name] = np.max(np.abs(got - want) / bound, initial=0)
    other = "f32" if expect == "bf16" else "bf16"
    if got.shape != best.shape or not off[expect] <= 1:
        fail(what, f"off by {off[expect]:.2g} of what {expect} may be off")
    elif (a.dtype == F32 and not finish and
          off[expect] * 2 > off[other] and best.size > 8):
        fail(what, f"as near to {other} as to {expect}: {off}")
    else:
        passed += 1


def normal(*shape, dtype=F32):
    return random.standard_normal(shape).astype(dtype)


def way(target, m, k, n, constant, dynamic):
    """What --precision=bf16 is to round; sizes that are not known may be large."""
    if not constant and dynamic:
        k = n = 16
    if k < 16 or n < 16:
        return "f32"
    many = dynamic or m >= 16
    return "bf16" if constant or (target == DOTS and many) else "f32"


# M, K, N: single rows, odd K, tails of every kind, several blocks of K.
SIZES = [(1, 64, 100), (1, 63, 210), (2, 128, 300), (7, 65, 50), (16, 64, 64),
         (33, 100, 100), (40, 511, 97), (17, 31, 16), (20, 1030, 49),
         (3, 4100, 20), (5, 15, 40), (5, 40, 15), (47, 96, 130), (300, 64, 48)]
targets = [t for t in TARGETS if runs_here(t)]
if not targets:
    targets = [None]
for number, (m, k, n) in enumerate(SIZES):
    for i, target in enumerate(targets):
        for constant in True, False:
            # Half of the kinds on the first target, else one.
            for kind in range(4):
                if (number + i + kind) % (4 if i else 2):
                    continue
                trans, dynamic = kind % 2, kind // 2 == 1
                b = normal(n, k) if trans else normal(k, n)
                expect = way(target, m, k, n, constant, dynamic)
                check("Gemm", normal(m, k), b, constant, dynamic, target,
                      expect=expect, transB=trans)

# Batches, broadcast operands, transposed A, factors, vectors.
for target in targets:
    dots = target == DOTS
    for a, b in (((2, 3, 20, 33), (33, 48)), ((3, 20, 32), (3, 32, 50)),
                 ((1, 20, 32), (4, 32, 50)), ((4, 20, 32), (1, 32, 50))):
        for constant in True, False:
            if not constant and target != targets[0]:
                continue
            check("MatMul", normal(*a), normal(*b), constant,
                  [0] if a[0] == 3 and constant else False, target,
                  expect="bf16" if constant or dots else "f32")
    check("Gemm", normal(33, 20), normal(33, 70), True, False, target,
          expect="bf16", transA=1)
    check("FusedMatMul", normal(2, 33, 20), normal(33, 70), True, True, target,
          expect="bf16", transA=1, alpha=0.5, domain="com.microsoft")
    check("MatMul", normal(64), normal(64, 80), True, False, target,
          expect="bf16")

# Tensors of 16 bits, whatever --precision says: nothing is rounded but results.
for target in targets:
    for dtype in BF16, F16:
        for m, k, n in (1, 64, 100), (7, 33, 50), (40, 130, 33), (20, 64, 15):
            for constant in True, False:
                dynamic = (m + n) % 2 == 0
                check("Gemm" if m == 7 else "MatMul", normal(m, k, dtype=dtype),
                      normal(k, n, dtype=dtype), constant, dynamic, target,
                      precision=None if constant else b"bf16")
    check("Gemm", normal(20, 64, dtype=BF16), normal(70, 64, dtype=BF16), False,
          True, target, precision=None, transB=1)
    check("MatMul", normal(2, 20, 64, dtype=BF16),
          normal(2, 64, 70, dtype=BF16), False, False, target, precision=None)


# One operand of several products, each done its own way.
for target in targets:
    for dtype in F32, BF16:
        a = normal(20, 33, dtype=dtype)
        bs = [normal(33, n, dtype=dtype) for n in (8, 64, 8, 50)]
        model = model_of("MatMul", [a, bs[0]], constants=[1])
        del model.graph.node[:], model.graph.output[:]
        del model.graph.initializer[:]
        for i, b in enumerate(bs):
            model.graph.node.append(onnx.helper.make_node(
                "MatMul", ["in0", f"b{i}"], [f"out{i}"]))
            model.graph.initializer.append(
                onnx.numpy_helper.from_array(b, f"b{i}"))
            model.graph.output.append(
                onnx.helper.make_empty_tensor_value_info(f"out{i}"))
        onnx.save(model, PATH)
        got = ferrule.load(PATH, target=target, precision=b"bf16",
                           opt_level=1).run({"in0": a})
        for i, (b, g) in enumerate(zip(bs, got.values(), strict=True)):
            g = wide(g.view(BF16) if g.dtype == np.uint16 else g)
            want, size = products(a, b, rounded if b.shape[1] > 16 else wide)
            assert g.shape == want.shape, g.shape
            bound = size * 2.0 ** -18 + np.abs(want) * (
                2.0 ** -8 if dtype == BF16 else 0)
            if np.all(np.abs(g - want) <= bound):
                passed += 1
            else:
                fail(f"product {i} of {dtype} {target}",
                     np.max(np.abs(g - want) / bound))


def with_relu(model):
    """Behind the product; its kernel does it."""
    node = model.graph.node[0]
    node.output[0] = "product"
    model.graph.node.append(onnx.helper.make_node("Relu", ["product"],
                                                  ["out0"]))


for target in targets:
    for dtype in F32, BF16:
        check("MatMul", normal(40, 64, dtype=dtype), normal(64, 70, dtype=dtype),
              True, False, target, expect="bf16",
              finish=(with_relu, lambda x: np.maximum(x, 0)))

# Without --precision products of f32 are not rounded; other names are refused.
check("MatMul", normal(20, 64), normal(64, 64), True, False, None,
      precision=None, expect="f32")
check("MatMul", normal(20, 64), normal(64, 64), True, False, None,
      precision=b"f32", expect="f32")
try:
    ferrule.load(PATH, precision=b"f8")
    fail("precision f8", "was accepted")
except ferrule.Error as e:
    if e.status == 2 and "f32 bf16" in str(e):
        passed += 1
    else:
        fail("precision f8", e)

print(f"half_product: {passed} passed, {failed} failed")
sys.exit(failed != 0)
