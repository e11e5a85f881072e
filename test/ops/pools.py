"""MaxPool and AveragePool against ONNX Runtime: rows of every length beside the
pieces and vectors they are done in, windows up to wider than that, types, for
processors of all widths, with sizes that only the run knows."""
import numpy as np
import onnx
from onnx import helper
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


def nothing():
    """Windows whose taps all lie in the padding give 0: alone, and
    in blocks of channels behind a convolution."""
    x = f.normal(1, 16, 7, 1)
    pads, apart = (1, 4, 3, 3), 2
    padded = [np.pad(a, [(0, 0)] * 2 + [pads[::2], pads[1::2]])
              for a in (x, np.ones_like(x))]
    out = [size - 2 * apart for size in padded[0].shape[2:]]
    total, count = [
        sum(a[..., apart * i:apart * i + out[0], apart * j:apart * j + out[1]]
            for i in range(3) for j in range(3)) for a in padded]
    assert (count == 0).any()
    pool = helper.make_node("AveragePool", ["c"], ["y"], kernel_shape=[3, 3],
                            dilations=[apart] * 2, pads=pads)
    conv = helper.make_node("Conv", ["x", "w"], ["c"])
    for first in conv, helper.make_node("Identity", ["x"], ["c"]):
        for shape in x.shape, [1, 16, "h", "w"]:
            info = [helper.make_tensor_value_info(n, 1, s)
                    for n, s in (("x", shape), ("y", None))]
            w = onnx.numpy_helper.from_array(
                np.eye(16, dtype=np.float32)[..., None, None], "w")
            graph = helper.make_graph([first, pool], "g", info[:1], info[1:],
                                      [w])
            onnx.save(helper.make_model(
                graph, opset_imports=[helper.make_opsetid("", 19)],
                ir_version=9), f.path)
            for target in TARGETS:
                if f.agree(f"nothing {first.op_type} {shape} {target}",
                           [total / np.maximum(count, 1)],
                           ferrule.load(f.path, target=target).run({"x": x})):
                    f.passed += 1


rows()
others()
nothing()
f.done()
