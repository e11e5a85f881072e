"""MatMul, Gemm, FusedMatMul against ONNX Runtime."""
import numpy as np
from harness import Family

f = Family("matmul")
n = f.normal

# Ranks, broadcasting, constant and computed B, known and symbolic dims.
SHAPES = [
    ((3, 4), (4, 5)), ((1, 7), (7, 1)), ((17, 33), (33, 65)),
    ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((1, 3, 4), (6, 4, 5)),
    ((6, 3, 4), (1, 4, 5)), ((2, 1, 3, 4), (5, 4, 7)), ((3, 4), (2, 3, 4, 5)),
    ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (2, 4, 5)),
    ((2, 3, 4), (4,)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((3, 4), (4, 0)),
    ((0, 3, 4), (0, 4, 5)), ((1, 130), (130, 200)), ((5, 1500), (1500, 3)),
]
for i, (a, b) in enumerate(SHAPES):
    f.case("MatMul", [n(*a), n(*b)], dynamic=i % 2 == 0)
    f.case("MatMul", [n(*a), n(*b)], constants=[1], dynamic=[0])
TYPES = np.float64, np.float16, np.int32, np.uint64
for i, (a, b) in enumerate(SHAPES[3:8]):
    for k, t in enumerate(TYPES):
        x = f.integers(0, 9, *a).astype(t), f.integers(0, 9, *b).astype(t)
        f.case("MatMul", x, dynamic=(i + k) % 2 == 0)
f.refused("MatMul", [n(3, 4), n(5, 6)])
f.refused("MatMul", [n(3, 4), n(5, 6)], run_time=True, dynamic=True)
f.refused("MatMul", [n(2, 3, 4), n(3, 4, 6)], run_time=True, dynamic=True)

for trans_a in 0, 1:
    for trans_b in 0, 1:
        a = n(*((13, 7) if trans_a else (7, 13)))
        b = n(*((50, 13) if trans_b else (13, 50)))
        for c in None, n(50), n(7, 50), n(7, 1), n(1, 50), n(1), n():
            inputs = [a, b] + ([] if c is None else [c])
            options = {"transA": trans_a, "transB": trans_b, "alpha": 0.5,
                       "beta": 2.0}
            if trans_a == trans_b:
                f.case("Gemm", inputs, dynamic=True, **options)
            else:
                f.case("Gemm", inputs, constants=[1, 2][:len(inputs) - 1],
                       **options)
f.case("Gemm", [n(3, 4), n(4, 5), n(5)], opset=7)
f.case("Gemm", [n(3, 4), n(4, 5), n(5)], opset=6, broadcast=1, reference="onnx",
       want=[np.zeros((3, 5), np.float32)], alpha=0.0, beta=0.0)
f.case("Gemm", [n(3, 4, dtype=np.float64), n(4, 5, dtype=np.float64)])
f.case("Gemm", [n(0, 4), n(4, 5), n(5)])
# Whether C has the one column that the product has, only the run knows.
for c in n(1), n(3, 1), n(1, 1):
    f.case("Gemm", [n(3, 4), n(4, 1), c], dynamic=[2])
for c in n(3), n(3, 2):
    f.refused("Gemm", [n(3, 4), n(4, 1), c], dynamic=[2], run_time=True)

for options in ({"alpha": 0.25}, {"transA": 1}, {"transB": 1},
                {"transBatchA": 1}, {"transBatchB": 1},
                {"transBatchA": 1, "transA": 1, "transBatchB": 1}):
    a, b = (2, 3, 4, 5), (2, 3, 5, 6)
    a = (4, 2, 3, 5) if "transBatchA" in options else a
    b = (5, 2, 3, 6) if "transBatchB" in options else b
    if "transA" in options:
        a = a[:-1] + (5,) if "transBatchA" in options else (2, 3, 5, 4)
        a = (5, 2, 3, 4) if "transBatchA" in options else a
    if "transB" in options:
        b = (2, 3, 6, 5)
    f.case("FusedMatMul", [n(*a), n(*b)], domain="com.microsoft", **options)
f.done()
