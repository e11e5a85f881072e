"""Grouped convolutions against ONNX Runtime: groups of every size beside blocks
of channels, whole and not, with what may stand between them and behind them; in
several sizes, with sizes that only the run knows, for processors of all widths."""
import numpy as np
import onnx
from onnx import helper, numpy_helper
from harness import Family, by_runtime, ferrule

f = Family("grouped", rtol=1e-4, atol=2e-5)
pick = lambda some: some[f.random.integers(len(some))]
number = lambda low, high: int(f.random.integers(low, high + 1))
TARGETS = b"native", b"x86-64-v3", b"x86-64-v2"


def model(x, w, bias, tail, free, **given):
    """A convolution before another one, so that both are in blocks."""
    o = w.shape[0]
    nodes = [helper.make_node("Conv", ["in0", "w", "b"][:2 + (bias is not None)],
                              ["c"], **given)]
    params = {"w": w, "one": f.normal(8, o, 1, 1) / np.float32(np.sqrt(o))}
    if bias is not None:
        params["b"] = bias
    if tail:
        nodes.append(helper.make_node(tail, ["c"], ["t"]))
    nodes.append(helper.make_node("Conv", ["t" if tail else "c", "one"], ["y"]))
    dims = [f"d{i}" if i in free else n for i, n in enumerate(x.shape)]
    results = [helper.make_empty_tensor_value_info(n) for n in ("c", "y")]
    return helper.make_model(helper.make_graph(
        nodes, "grouped", [helper.make_tensor_value_info("in0", 1, dims)],
        results, [numpy_helper.from_array(a, k) for k, a in params.items()]),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def check(c, o, group, kernel, size, batch=1, free=(), bias=True, tail=None,
          **given):
    w = f.normal(o, c // group, *kernel) / np.float32(
        np.sqrt(c // group * np.prod(kernel)))
    x = f.normal(batch, c, *size)
    made = model(x, w, f.normal(o) if bias else None, tail, free, group=group,
                 **given)
    what = f"{c} -> {o} in {group}, {kernel} at {size}, free {free}, {given}"
    want = by_runtime(made, {"in0": x})
    onnx.save(made, f.path)
    for target in TARGETS:
        if f.agree(f"{what} {target}", want,
                   ferrule.load(f.path, target=target).run({"in0": x})):
            f.passed += 1


def every_size():
    """Groups of 1 to 70 channels."""
    for _ in range(40):
        group = number(2, 9)
        inner, outer = number(1, 70), number(1, 70)
        k = pick((1, 1, 3))
        check(group * inner, group * outer, group, (k, pick((1, k))),
              (number(k, 15), number(k, 15)), pick((1, 1, 2)),
              pick(((), (0, 2, 3))), number(0, 1),
              pick((None, "Relu", "Sigmoid")),
              strides=[number(1, 2), number(1, 2)],
              pads=[number(0, k // 2) for _ in range(2)] + [0, 0])


def networks():
    """Those of ShuffleNet and the like, and one dim."""
    for c, o, group in (136, 136, 4), (272, 272, 4), (544, 544, 4), \
            (24, 112, 4), (240, 240, 3), (200, 200, 2), (40, 40, 5):
        check(c, o, group, (1, 1), (14, 14), tail="Relu")
        check(c, o, group, (3, 3), (7, 9), pads=[1, 1, 1, 1])
    x, w = f.normal(2, 60, 31), f.normal(90, 20, 3)
    f.case("Conv", [x, w], constants=(1,), group=3)


def without_pixels():
    """Empty batches, and no columns, of kernels that differ for either."""
    for kernel, group in (1, 1), (3, 1), (3, 4), (3, 64):
        check(64, 64, group, (kernel, kernel), (8, 8), batch=0,
              pads=[kernel // 2] * 4)
    for kernel in 2, 3:
        f.case("ConvTranspose", [f.normal(1, 64, 8, 0),
                                 f.normal(64, 24, kernel, kernel)],
               constants=(1,), strides=[2, 2], output_padding=[kernel % 2] * 2,
               pads=[kernel // 3] * 4, want=[np.zeros((1, 24, 16, 0), "f")])


every_size()
networks()
without_pixels()
f.done()
