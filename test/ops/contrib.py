"""Quantized products and normalizations of ONNX Runtime's domain, against
ONNX Runtime."""
import numpy as np
import onnx
from harness import Family, ferrule
from onnx import helper

f = Family("contrib", rtol=1e-3, atol=1e-4)
n = f.normal


def case(op, inputs, **options):
    f.case(op, inputs, domain="com.microsoft", **options)


def run_model(op, inputs, outputs, **attributes):
    """What this gives for the outputs that have a name."""
    names = [f"in{i}" for i in range(len(inputs))]
    node = helper.make_node(op, names, outputs, domain="com.microsoft",
                            **attributes)
    graph = helper.make_graph(
        [node], "test",
        [helper.make_tensor_value_info(k, 1, a.shape)
         for k, a in zip(names, inputs)],
        [helper.make_tensor_value_info(o, 1, None) for o in outputs if o])
    model = helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 22), helper.make_opsetid("com.microsoft", 1)])
    onnx.save(model, f.path)
    return ferrule.load(f.path).run(dict(zip(names, inputs)))


u8 = lambda *s: f.integers(0, 256, *s).astype(np.uint8)
i8 = lambda *s: f.integers(-128, 128, *s).astype(np.int8)
scalar = lambda v, t=np.float32: np.array(v, t)
case("MatMulIntegerToFloat", [u8(3, 8), i8(8, 5), scalar(0.1), scalar(0.2)])
case("MatMulIntegerToFloat", [u8(3, 8), u8(8, 5), scalar(0.1), n(5), scalar(7, np.uint8),
                              u8(5), n(5)], constants=[1, 3, 5, 6])
case("DynamicQuantizeMatMul", [n(3, 8), i8(8, 5), scalar(0.2)], constants=[1],
     dynamic=[0])
case("DynamicQuantizeMatMul", [n(3, 8), u8(8, 5), n(5), u8(5), n(5)],
     constants=[1, 2, 3, 4])

# Normalizations of a sum, with what is optional.
for t in np.float32, np.float16:
    x, g = n(2, 3, 8, dtype=t), n(8, dtype=t)
    for skip in n(2, 3, 8, dtype=t), n(1, 3, 8, dtype=t), n(3, 8, dtype=t):
        for bias in None, n(8, dtype=t):
            case("SkipSimplifiedLayerNormalization", [x, skip, g, bias],
                 epsilon=1e-4)
            case("SkipLayerNormalization", [x, skip, g, n(8, dtype=t), bias],
                 epsilon=1e-4, dynamic=[0, 1])
# Without epsilon it is next to nothing, which small numbers show.
x, g = n(2, 3, 8) / 1000, n(8)
case("SkipSimplifiedLayerNormalization", [x, x, g], rtol=1e-5)
case("SkipLayerNormalization", [x, n(2, 3, 8) / 1000, g, n(8)], rtol=1e-5,
     dynamic=True)
for op, more in ("SkipLayerNormalization", [n(8)]), \
        ("SkipSimplifiedLayerNormalization", []):
    x, skip, g, bias = n(2, 3, 8), n(2, 3, 8), n(8), n(8)
    s = x + skip + bias
    simple = not more
    mean = s.mean(2, keepdims=True)
    inverse = 1 / np.sqrt(((s if simple else s - mean) ** 2).mean(
        2, keepdims=True) + 1e-4)
    y = (s if simple else s - mean) * inverse * g + (more[0] if more else 0)
    # ONNX Runtime's CPU provider leaves mean and deviation out.
    inputs = [x, skip, g] + more + [bias]
    got = run_model(op, inputs, ["y", "", "inverse", "sum"], epsilon=1e-4)
    if f.agree(op, (y, inverse, s), got, 1e-3, 1e-4):
        f.passed += 1
f.done()
