"""MaxPool and AveragePool against ONNX Runtime: rows of every length beside the
pieces and vectors they are done in, windows up to wider than that, types, for
processors of all widths, with sizes that only the run knows."""
import numpy as np
import onnx
from harness import Family, by_runtime, ferrule, model_of

f = Family("pools", rtol=1e-5, atol=1e-6)
pick = lambda some: some[f.random.integers(len(some))]
number = lambda low, high: int(f.random.integers(low, high + 1))
TARGETS = b"native", b"x86-64-v3", b"x86-64-v2"


def check(op, x, dynamic, **given):
    made = model_of(op, [x], opset=19, dynamic=dynamic, **given)
    want = by_runtime(made, {"in0": x})
    onnx.save(made, f.path)
    for target in TARGETS:
        if f.agree(f"{op} {x.dtype}{x.shape} {given} {target}", want,
                   ferrule.load(f.path, target=target).run({"in0": x})):
            f.passed += 1


def rows():
    widths = [1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 255, 256, 257, 300, 513]
    for width in widths:
        for op in "MaxPool", "AveragePool":
            kernel = number(1, min(width, pick((3, 5, 24))))
            n = number(1, 3)
            sizes = [number(1, 5) for _ in range(n - 1)] + [width]
            kernels = [number(1, s) for s in sizes[:-1]] + [kernel]
            strides = [number(1, 3) for _ in range(n)]
            pads = [number(0, k // 2) for k in kernels * 2]
            given = {"count_include_pad": number(0, 1)} \
                if op == "AveragePool" else {}
            x = f.normal(pick((1, 2)), 3, *sizes,
                         dtype=np.float64 if op == "MaxPool" and width % 2 else
                         np.float32)
            check(op, x, bool(number(0, 1)), kernel_shape=kernels,
                  strides=strides, pads=pads, **given)


def others():
    """Far strides, which are done tap by tap; bytes."""
    x = f.normal(1, 2, 5000)
    check("MaxPool", x, True, kernel_shape=[700], strides=[700])
    check("AveragePool", x, False, kernel_shape=[400], strides=[37])
    for t in np.uint8, np.int8:
        check("MaxPool", f.integers(0, 127, 1, 3, 9, 40, dtype=t), False,
              kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])


rows()
others()
f.done()
