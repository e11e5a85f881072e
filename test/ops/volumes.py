"""Convolutions over three dims against ONNX Runtime: kernels, strides, gaps, pads
of both sides, groups; sizes known, unknown but for the channels, all unknown; a
batch of none; a chain of them with what stands between."""
import numpy as np
from onnx import helper, numpy_helper
from harness import Family, model_of

f = Family("volumes", rtol=1e-4, atol=2e-5)
pick = lambda some: some[f.random.integers(len(some))]
number = lambda low, high: int(f.random.integers(low, high + 1))


def model(x, w, bias, free, **given):
    """`free`: dims of x that are symbols."""
    made = model_of("Conv", [x, w] + ([bias] if bias is not None else []),
                    dynamic=[0], constants=(1, 2), **given)
    dims = made.graph.input[0].type.tensor_type.shape.dim
    for i, n in enumerate(x.shape):
        if i not in free:
            dims[i].Clear()
            dims[i].dim_value = n
    return made


def convolutions():
    for i in range(60):
        kernel = [pick((1, 1, 2, 3, 4)) for _ in range(3)]
        stride = [pick((1, 1, 2, 3)) for _ in range(3)]
        apart = [pick((1, 1, 2)) for _ in range(3)]
        pads = [number(0, k - 1) for k in kernel * 2]
        if i % 6 == 0:  # one of the kinds that are images
            for d in (1, 2) if i % 12 else (0, 1):
                kernel[d], stride[d], pads[d], pads[3 + d] = 1, 1, 0, 0
        group = pick((1, 1, 1, 2, 3))
        c, o = group * pick((1, 3, 8, 17)), group * pick((1, 5, 16, 33))
        reach = [(k - 1) * a + 1 for k, a in zip(kernel, apart)]
        size = [r + number(0, 9) for r in reach]
        if group > 1 and i % 4 == 0:  # a filter for each channel
            c, o = group, group * pick((1, 2))
        w = f.normal(o, c // group, *kernel) / np.float32(
            np.sqrt(c // group * np.prod(kernel)))
        x = f.normal(pick((1, 1, 2, 3)), c, *size)
        bias = f.normal(o) if number(0, 1) else None
        given = dict(strides=stride, dilations=apart, group=group)
        if i % 10 == 3:
            given.update(auto_pad=pick(("SAME_UPPER", "SAME_LOWER", "VALID")),
                         dilations=[1, 1, 1])
        else:
            given["pads"] = pads
        larger = f.normal(2, c, *(s + number(1, 4) for s in size))
        for free in (), (0, 2, 3, 4), (2,), (0, 1, 2, 3, 4):
            sets = [{"in0": x}, {"in0": larger}] if len(free) > 3 else \
                [{"in0": x}]
            f.runs(f"Conv {x.shape} {w.shape} {given} free {free}",
                   model(x, w, bias, free, **given), sets)


def no_batch():
    x, w = f.normal(0, 4, 5, 6, 7), f.normal(8, 4, 3, 3, 3)
    f.runs("no batch", model(x, w, None, (0, 2, 3, 4), pads=[1] * 6),
           [{"in0": x}], want=[[np.zeros((0, 8, 5, 6, 7), np.float32)]])


def too_small():
    """Weights of the run stay what they were; a volume that is too small."""
    x, w = f.normal(1, 4, 5, 6, 7), f.normal(8, 4, 3, 3, 3)
    f.case("Conv", [x, w], dynamic=True)
    f.refused("Conv", [f.normal(1, 4, 2, 6, 7), w], constants=(1,))


def transposed():
    """Kernels as deep as the stride, anything in the other dims."""
    for i in range(24):
        deep = pick((1, 2, 3))
        kernel = [deep, pick((1, 2, 3, 4)), pick((1, 2, 3))]
        stride = [deep if i % 6 else 1, pick((1, 2)), pick((1, 2))]
        pads = [0] + [number(0, (k - 1) // 2) for k in kernel[1:]]
        given = dict(strides=stride, pads=pads * 2, output_padding=[
            0, *(number(0, s - 1) for s in stride[1:])])
        c, o = pick((1, 3, 16, 17)), pick((1, 5, 16, 20))
        w = f.normal(c, o, *kernel) / np.float32(np.sqrt(c * np.prod(kernel)))
        x = f.normal(pick((1, 2)), c, *(number(2, 6) for _ in range(3)))
        inputs = [x, w] + ([f.normal(o)] if number(0, 1) else [])
        for dynamic in False, [0]:
            f.case("ConvTranspose", inputs, dynamic=dynamic, constants=(1, 2),
                   **given)


def chain():
    """Convolution, normalization, activation, pool, sum."""
    x = f.normal(2, 3, 6, 9, 10)
    params = {"w1": f.normal(16, 3, 3, 3, 3) * 0.1, "w2": f.normal(
        16, 16, 3, 3, 3) * 0.05, "s": f.normal(16), "b": f.normal(16),
        "m": f.normal(16), "v": abs(f.normal(16)) + np.float32(0.5)}
    node = helper.make_node
    nodes = [node("Conv", ["in0", "w1"], ["c1"], pads=[1] * 6),
             node("BatchNormalization", ["c1", "s", "b", "m", "v"], ["n"]),
             node("Relu", ["n"], ["r"]),
             node("Conv", ["r", "w2"], ["c2"], pads=[1] * 6),
             node("Add", ["c2", "r"], ["a"]),
             node("MaxPool", ["a"], ["p"], kernel_shape=[2, 3, 3],
                  strides=[2, 2, 2], pads=[0, 1, 1, 1, 1, 1]),
             node("AveragePool", ["p"], ["q"], kernel_shape=[2, 2, 2])]
    for free in False, True:
        dims = [2, 3, 6, 9, 10]
        if free:
            dims = ["n", 3, "d", "h", "w"]
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes, "chain", [info("in0", 1, dims)],
            [helper.make_empty_tensor_value_info("q")],
            [numpy_helper.from_array(a, k) for k, a in params.items()])
        f.runs(f"chain, symbols: {free}", helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
            [{"in0": x}])


convolutions()
no_batch()
too_small()
transposed()
chain()
f.done()
