"""Products of integers of 8 bits, exact on every kind of processor, and what
their kernels do behind them, against numpy."""
import itertools

import numpy as np
import onnx
from harness import Family, ferrule, model_of
from onnx import TensorProto, helper

f = Family("integer_product")
# With dot products of bytes where this machine has them, of pairs, of neither.
CPUS = ["x86-64-v3", "x86-64-v2"]
if " avx512bw" in open("/proc/cpuinfo").read():
    CPUS.append("x86-64-v4")
turn = itertools.cycle(CPUS)


def run(what, model, feeds, want, exact=True):
    onnx.save(model, f.path)
    for cpu in None, next(turn):
        options = dict(target=cpu.encode()) if cpu else {}
        try:
            got = ferrule.load(f.path, **options).run(feeds)
        except ferrule.Error as error:
            f.fail(f"{what} {cpu}", error)
            continue
        if f.agree(f"{what} {cpu}", want, got, 0 if exact else 1e-6,
                   0 if exact else 1e-5):
            f.passed += 1


def numbers(t, *shape):
    low = np.iinfo(t).min
    v = f.random.integers(low, low + 256, shape)
    edge = f.random.integers(0, 2, shape) * 255 + low  # sums that would saturate
    return np.where(f.random.random(shape) < .3, edge, v).astype(t)


KINDS = list(itertools.product((np.uint8, np.int8), repeat=2))
SHAPES = [((1, 7), (7, 100)), ((9, 64), (64, 49)), ((33, 130), (130, 7)),
          ((2, 3, 10), (10, 17)), ((2, 3, 8), (2, 8, 50)),
          ((2, 1, 5, 6), (3, 6, 33)), ((6,), (6, 5)), ((4, 5), (5,)),
          ((4, 0), (0, 3)), ((3, 1), (1, 1))]
for i, (sa, sb) in enumerate(SHAPES):
    for j, (ta, tb) in enumerate(KINDS):
        if i > 4 and (i + j) % 2:
            continue
        a, b = numbers(ta, *sa), numbers(tb, *sb)
        rows = sa[-2] if len(sa) == 2 else 1
        columns = sb[-1] if len(sb) > 1 else 1
        zeros = [(None, None), (numbers(ta, 1)[0], None),
                 (None, numbers(tb, 1)[0]),
                 (numbers(ta, 1)[0], numbers(tb, columns))]
        if len(sa) == 2:
            zeros.append((numbers(ta, rows), numbers(tb, columns)))
        za, zb = zeros[(i + j) % len(zeros)]
        wide = a.astype(np.int32), b.astype(np.int32)
        less = [w - (0 if z is None else z.astype(np.int32)[..., None]
                     if z.ndim and w is wide[0] else z.astype(np.int32))
                for w, z in zip(wide, (za, zb))]
        want = [np.matmul(*less)]
        inputs = [a, b, za, zb]
        while inputs[-1] is None:
            inputs.pop()
        for constants, dynamic in (([1, 2, 3], False), ([1], [0]), ([], True)):
            model = model_of("MatMulInteger", inputs, dynamic=dynamic,
                             constants=[k for k in constants
                                        if k < len(inputs)
                                        and inputs[k] is not None])
            feeds = {f"in{k}": v for k, v in enumerate(inputs)
                     if v is not None and k not in constants}
            run(f"{sa} {sb} {ta.__name__} {tb.__name__} zeros "
                f"{[None if z is None else z.shape for z in (za, zb)]} "
                f"constants {constants}", model, feeds, want)

# Rows, columns and depths of every kind for tiles of 16 rows of 64 bytes, which
# native code uses where the processor has them.
ROWS, COLUMNS = (1, 4, 5, 15, 16, 17, 31, 33, 48, 100, 700), (1, 16, 33, 48, 70)
for i, (m, n) in enumerate(itertools.product(ROWS, COLUMNS)):
    k = (64, 192, 4096, 128)[i % 4]
    ta, tb = KINDS[i % 4]
    a, b = numbers(ta, m, k), numbers(tb, k, n)
    za = numbers(ta, 1)[0]
    want = [(a.astype(np.int32) - za) @ b.astype(np.int32)]
    run(f"tiles {m} {k} {n} {ta.__name__} {tb.__name__}",
        model_of("MatMulInteger", [a, b, za], dynamic=[0] if i % 2 else False,
                 constants=[1, 2]), {"in0": a}, want)

# Scaled, with bias, activation and residual, which the product's kernel does.
for m, k, n in (1, 16, 40), (20, 70, 100), (41, 128, 100):
    x, w = numbers(np.uint8, 1, m, k), numbers(np.int8, k, n)
    zero, scale = np.uint8(111), np.float32(.003)
    bias, rest = f.normal(n), f.normal(1, m, n)
    value = (x.astype(np.int32) - 111) @ w.astype(np.int32)
    value = np.maximum(value.astype(np.float32) * scale + bias, 0) + rest
    tensor = onnx.numpy_helper.from_array
    nodes = [helper.make_node("MatMulInteger", ["x", "w", "zero"], ["sum"]),
             helper.make_node("Cast", ["sum"], ["float"], to=TensorProto.FLOAT),
             helper.make_node("Mul", ["float", "scale"], ["scaled"]),
             helper.make_node("Add", ["scaled", "bias"], ["biased"]),
             helper.make_node("Relu", ["biased"], ["positive"]),
             helper.make_node("Add", ["positive", "rest"], ["y"])]
    for dynamic in False, True:
        dims = ["b", "m", k] if dynamic else list(x.shape)
        graph = helper.make_graph(
            nodes, "test",
            [helper.make_tensor_value_info("x", TensorProto.UINT8, dims),
             helper.make_tensor_value_info("rest", TensorProto.FLOAT,
                                           [*dims[:2], n])],
            [helper.make_empty_tensor_value_info("y")],
            [tensor(w, "w"), tensor(zero, "zero"), tensor(scale, "scale"),
             tensor(bias, "bias")])
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
        run(f"chain {m} {k} {n} {dynamic}", model, {"x": x, "rest": rest},
            [value], exact=False)
f.done()
