"""ArgMax, ArgMin, TopK against ONNX Runtime."""
import numpy as np
from harness import Family

f = Family("order")
n = f.normal
for op in "ArgMax", "ArgMin":
    for shape in (7,), (3, 5), (2, 21, 300), (4, 1, 3), (3, 0, 2)[:2]:
        for axis in {0, -1, len(shape) // 2}:
            if 0 in (shape[axis], len(shape)):
                continue
            f.case(op, [f.integers(0, 4, *shape, dtype=np.float32)], axis=axis,
                   keepdims=axis % 2, select_last_index=len(shape) % 2,
                   dynamic=axis < 0)
    for t in np.float16, np.float64, np.int8, np.uint8, np.int32:
        f.case(op, [f.integers(-99, 99, 4, 9).astype(t)], axis=1,
               reference="onnx")
    f.case(op, [n(2, 3, 0)], axis=1)
f.refused("ArgMax", [n(2, 0)], axis=1)
f.refused("ArgMax", [n(2, 0)], axis=1, dynamic=True, run_time=True)

k = lambda v: np.array([v], np.int64)
for shape, axis, count in ((10,), 0, 4), ((3, 50), 1, 50), ((3, 50), 0, 2), \
        ((2, 7, 9), 1, 5), ((4, 6), -1, 1), ((4, 6), -1, 0), ((0, 6), 1, 3):
    for largest in 0, 1:
        x = f.integers(0, 20, *shape, dtype=np.float32)
        f.case("TopK", [x, k(count)], axis=axis, largest=largest, outputs=2,
               constants=[1] if largest else (), dynamic=[0])
for t in np.float64, np.int64, np.int32, np.float16:
    f.case("TopK", [f.integers(-50, 50, 5, 30).astype(t), k(7)], outputs=2,
           reference="onnx" if t == np.float16 else None)
f.case("TopK", [np.array([200, 3, 255, 9], np.uint8), k(2)], outputs=2,
       reference="onnx")
f.case("TopK", [n(1, 3000), k(3000)], outputs=2)
# Many of a long row are sorted by their bytes: equal elements, both zeros,
# bytes that are all the same, K known and not, rows along memory and across it.
signed_zeros = np.where(f.integers(0, 2, 3, 700), 0.0, -0.0).astype(np.float32)
signed_zeros[:, ::3] = f.integers(-2, 3, 3, 234)
for largest in 0, 1:
    for x, axis, count in (n(3, 700), 1, 100), (n(700, 3), 0, 700), \
            (n(2, 300, 5), 1, 10), (signed_zeros, 1, 400), \
            (f.integers(-5, 5, 2, 999, dtype=np.float32), 1, 500), \
            (n(130, 256), 1, 8), (n(1, 257) * 1e-42, 1, 200), \
            (np.full((2, 300), 7, np.float32), 1, 300):
        for constants in ((), [1]):
            f.case("TopK", [x.astype(np.float32), k(count)], axis=axis,
                   largest=largest, outputs=2, constants=constants,
                   dynamic=[0])
    for t in np.float64, np.int64, np.int32:
        f.case("TopK", [(f.integers(-9999, 9999, 2, 500) * 100003).astype(t),
                        k(333)], outputs=2, largest=largest)
    for t in np.float16, np.uint8, np.int8, np.uint16, np.int16, np.uint32:
        f.case("TopK", [f.integers(-9999, 9999, 2, 500).astype(t), k(333)],
               outputs=2, largest=largest, reference="onnx")
f.case("TopK", [n(4, 9)], opset=9, k=3, outputs=2)
f.refused("TopK", [n(4, 9), k(10)], outputs=2, constants=[1])
f.refused("TopK", [n(4, 9), k(10)], outputs=2, run_time=True)
f.refused("TopK", [n(4, 9), k(-1)], outputs=2, run_time=True)
f.done()
